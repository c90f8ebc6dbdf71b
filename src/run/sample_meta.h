/* Sampling settings that a model's file asks for: the keys general.sampling.*, as llama.cpp writes
 * them. */
#ifndef RUN_SAMPLE_META_H
#define RUN_SAMPLE_META_H

#include "file/gguf.h"
#include "run/sample.h"

struct sample_meta {
    glim_generation gen;              /* the library's defaults, under what the file says */
    char samplers[SAMPLE_ORDER_TEXT]; /* gen.samplers points here */
    char unused[200]; /* what is of a wrong type, out of range or not known here; "" if nothing:
                         "general.sampling.temp: is 2000; must be 0 to 1000" */
};

/* A bad setting is no reason not to run a model: it is left at its default and named in unused. *m
 * must stay where it is. */
void sample_meta(struct sample_meta *m, const struct gguf *g);

#endif
