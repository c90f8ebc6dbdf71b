/* Stop strings by Knuth, Morris and Pratt's automaton (1977), one per string. What is held back is
 * always the beginning of a stop string, so it is read from there and needs no buffer. */
#include "text/stop.h"

#include <string.h>

struct stop_string {
    struct str text;
    u32 *shorter; /* [n] length of the longest proper beginning of text that ends text[0..i] */
    u32 met;      /* bytes of text that the stream ends with */
};

static u32 stop_advance(const struct stop_string *s, u32 met, char byte) {
    while (met && s->text.p[met] != byte)
        met = s->shorter[met - 1];
    return met + (s->text.p[met] == byte);
}

int stop_open(struct stop **out, const struct str *strings, u32 n, struct arena *a, glim_err *e) {
    *out = NULL;
    struct stop *s = arena_get(a, sizeof *s);
    if (s) s->strings = arena_array(a, n, sizeof *s->strings);
    if (!s || !s->strings) return fail(e, GLIM_NOMEM, "no memory for %u stop strings", n);
    s->n = n;
    s->hit = -1;
    for (u32 i = 0; i < n; i++) {
        struct stop_string *x = &s->strings[i];
        if (strings[i].n == 0) return fail(e, GLIM_ARG, "stop string %u is empty", i + 1);
        if (strings[i].n > INT32_MAX) return fail(e, GLIM_ARG, "stop string %u is too long", i + 1);
        x->text = (struct str){arena_text(a, strings[i]), strings[i].n};
        x->shorter = arena_array(a, x->text.n, sizeof *x->shorter);
        if (!x->text.p || !x->shorter) return fail(e, GLIM_NOMEM, "no memory for stop strings");
        for (u32 k = 1; k < x->text.n; k++) {
            x->shorter[k] = stop_advance(x, x->shorter[k - 1], x->text.p[k]);
        }
    }
    *out = s;
    return 0;
}

void stop_reset(struct stop *s) {
    s->hit = -1;
    for (u32 i = 0; i < s->n; i++)
        s->strings[i].met = 0;
}

/* The text held back: the longest beginning of a stop string that the stream ends with. */
static struct str stop_held(const struct stop *s) {
    struct str held = {"", 0};
    for (u32 i = 0; i < s->n; i++) {
        const struct stop_string *x = &s->strings[i];
        if (x->met > held.n) held = (struct str){x->text.p, x->met};
    }
    return held;
}

bool stop_feed(struct stop *s, struct str text, struct str out[2]) {
    out[0] = out[1] = (struct str){"", 0};
    if (s->hit >= 0) return true;
    struct str held = stop_held(s);
    size_t used = 0, keep = 0; /* bytes of text seen; bytes of held + text not to be shown */
    while (used < text.n && s->hit < 0) {
        char byte = text.p[used++];
        keep = 0;
        for (u32 i = 0; i < s->n; i++) {
            struct stop_string *x = &s->strings[i];
            x->met = stop_advance(x, x->met, byte);
            if (x->met < x->text.n) continue;
            if (s->hit < 0 || x->text.n > keep) {
                s->hit = (i32)i;
                keep = x->text.n;
            }
        }
    }
    if (s->hit < 0) keep = stop_held(s).n;
    size_t show = held.n + used - keep;
    out[0] = (struct str){held.p, MIN(show, held.n)};
    out[1] = (struct str){text.p, show - out[0].n};
    return s->hit >= 0;
}

struct str stop_end(struct stop *s) {
    struct str held = s->hit < 0 ? stop_held(s) : (struct str){"", 0};
    for (u32 i = 0; i < s->n; i++)
        s->strings[i].met = 0;
    return held;
}
