/* Any bytes as a manifest of Ollama's store, of a LeapBundle, as parameters and as messages, and as
 * a name. What comes out must keep its promises: digests and names that cannot leave their folder,
 * numbers in range, texts that end. */
#include "tool/store.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) abort();
}

/* An error has a code and a message; success has neither. */
static bool went_well(int rc, const glim_err *e) {
    check(rc == GLIM_OK ? !e->code : rc < 0 && e->code == rc && e->msg[0]);
    return rc == GLIM_OK;
}

static void check_settings(const struct defaults *d) {
    const glim_generation *g = &d->gen;
    check(g->temp >= 0 && g->temp <= 1000 && g->top_k >= 0 && g->repeat_penalty > 0);
    check(g->top_p >= 0 && g->top_p <= 1 && g->min_p >= 0 && g->min_p <= 1);
    check(d->n_ctx <= 1u << 28 && g->repeat_last_n <= 1u << 28);
    check(d->n_predict == -1 || d->n_predict > 0);
    for (size_t i = 0; i < g->n_stops; i++)
        check(g->stops[i][0]);
    for (size_t i = 0; i < d->n_messages; i++)
        check(strlen(d->messages[i].role) + strlen(d->messages[i].text) < SIZE_MAX);
}

static void fuzz_ollama(struct str text, struct arena *arena) {
    struct manifest m;
    glim_err e = {0};
    if (!went_well(manifest_parse(&m, text, arena, &e), &e)) return;
    u64 bytes = manifest_bytes(&m);
    for (u32 i = 0; i < m.n; i++) {
        const struct layer *l = &m.layers[i];
        check(strlen(l->hex) == 64 && strspn(l->hex, "0123456789abcdef") == 64);
        check(l->size <= bytes && strlen(layer_kind_name(l->kind)) > 0 &&
              strlen(l->media) < text.n);
    }
}

static void fuzz_bundle(struct str text, struct arena *arena) {
    struct bundle b;
    glim_err e = {0};
    if (!went_well(bundle_parse(&b, text, arena, &e), &e)) return;
    check(bundle_begins(text) && b.model[0] && !bundle_is_url(b.model) && b.inference);
    for (u32 i = 0; i < b.n_parts; i++)
        check(strlen(b.parts[i].role) + strlen(b.parts[i].path) < text.n);
    check_settings(&b.defaults);
}

static void fuzz_settings(struct str text, struct arena *arena) {
    struct defaults d;
    glim_err params = {0}, messages = {0};
    defaults_init(&d);
    went_well(defaults_params(&d, text, arena, &params), &params);
    if (!params.code) check_settings(&d);
    went_well(defaults_messages(&d, text, arena, &messages), &messages);
    if (!messages.code) check_settings(&d);
}

/* A name that was read reads the same again, and no part of it is a way out of a folder. */
static void fuzz_name(struct str text, struct arena *arena) {
    struct store_name n, again;
    glim_err e = {0};
    char *s = arena_text(arena, text);
    check(s);
    if (!went_well(store_name_parse(&n, s, &e), &e)) return;
    const char *parts[] = {n.host, n.space, n.model, n.tag};
    for (size_t i = 0; i < COUNT(parts); i++)
        check(parts[i][0] && parts[i][0] != '.' && !strchr(parts[i], '/'));
    check(store_name_parse(&again, store_name_show(&n).s, NULL) == GLIM_OK);
    check(store_name_same(&n, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    struct arena arena;
    struct str text = {(const char *)data + 1, size - 1};
    arena_init(&arena, &mem_libc);
    switch (data[0] % 4) {
    case 0:
        fuzz_ollama(text, &arena);
        break;
    case 1:
        fuzz_bundle(text, &arena);
        break;
    case 2:
        fuzz_settings(text, &arena);
        break;
    default:
        fuzz_name(text, &arena);
    }
    arena_free(&arena);
    return 0;
}
