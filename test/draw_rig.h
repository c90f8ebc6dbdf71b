/* Samplers that a GPU can draw with. Include after cmocka.h. */
#ifndef TEST_DRAW_RIG_H
#define TEST_DRAW_RIG_H

#include "glim.h"

#ifdef CMOCKA_H_ /* headers are compiled alone too */
static inline const glim_generation *draw_variants(u32 *n) {
    static glim_generation g[9];
    for (u32 i = 0; i < COUNT(g); i++)
        g[i] = glim_generation_default();
    g[0].temp = 0;
    g[2].top_k = 256, g[2].temp = 2, g[2].min_p = 0;
    g[3].samplers = "temperature;min_p;top_k;top_p";
    g[4].top_p = 1, g[4].min_p = 0;
    g[5].top_k = 1;
    g[6].top_p = 0.1f, g[6].min_keep = 7;
    g[7].samplers = "top_k;top_p;min_p;temperature", g[7].min_p = 0.3f;
    g[8].temp = 0.01f;
    *n = COUNT(g);
    return g;
}
#endif

#endif
