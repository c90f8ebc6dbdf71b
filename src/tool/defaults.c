/* Sampling parameters and first turns out of JSON. */
#include "tool/defaults.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void defaults_init(struct defaults *d) {
    *d = (struct defaults){.gen = glim_generation_default(), .n_predict = -1};
}

enum value_kind { VALUE_REAL, VALUE_U32, VALUE_I32, VALUE_MIROSTAT, VALUE_SEED, VALUE_STOPS };

/* Ranges are those of the program's flags, and below them the values that mean "off" or "all" to
 * Ollama, which are brought to ours after reading. */
static const struct key {
    const char *name;
    enum value_kind kind;
    size_t at; /* in struct defaults */
    f64 lo, hi;
} keys[] = {
    {"temperature", VALUE_REAL, offsetof(struct defaults, gen.temp), 0, 1000},
    {"top_k", VALUE_I32, offsetof(struct defaults, gen.top_k), -1, INT32_MAX},
    {"top_p", VALUE_REAL, offsetof(struct defaults, gen.top_p), 0, 1},
    {"min_p", VALUE_REAL, offsetof(struct defaults, gen.min_p), 0, 1},
    {"repeat_penalty", VALUE_REAL, offsetof(struct defaults, gen.repeat_penalty), 0.01, 100},
    {"repetition_penalty", VALUE_REAL, offsetof(struct defaults, gen.repeat_penalty), 0.01, 100},
    {"repeat_last_n", VALUE_U32, offsetof(struct defaults, gen.repeat_last_n), -1, 1 << 28},
    {"typical_p", VALUE_REAL, offsetof(struct defaults, gen.typical_p), 0, 1},
    {"presence_penalty", VALUE_REAL, offsetof(struct defaults, gen.presence_penalty), -100, 100},
    {"frequency_penalty", VALUE_REAL, offsetof(struct defaults, gen.frequency_penalty), -100, 100},
    {"mirostat", VALUE_MIROSTAT, offsetof(struct defaults, gen.mirostat), 0, 2},
    {"mirostat_tau", VALUE_REAL, offsetof(struct defaults, gen.mirostat_tau), 0, 100},
    {"mirostat_eta", VALUE_REAL, offsetof(struct defaults, gen.mirostat_eta), 0, 1},
    {"num_ctx", VALUE_U32, offsetof(struct defaults, n_ctx), 1, 1 << 28},
    {"num_predict", VALUE_I32, offsetof(struct defaults, n_predict), -2, INT32_MAX},
    {"seed", VALUE_SEED, offsetof(struct defaults, gen.seed), -1, 0x1p62},
    {"stop", VALUE_STOPS, 0, 0, 0},
};

static const char *type_name(const json_t *j) {
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "a text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    return names[json_typeof(j)];
}

static const char *copy(struct arena *arena, const json_t *text) {
    return arena_text(arena, (struct str){json_string_value(text), json_string_length(text)});
}

/* One text, or a list of them. Empty ones, which would end every answer at once, are left out. */
static int take_stops(struct defaults *d, const json_t *v, struct arena *arena, glim_err *e) {
    bool list = json_is_array(v);
    size_t n = list ? json_array_size(v) : 1, kept = 0;
    const char **stops = arena_array(arena, n, sizeof *stops);
    if (!stops) return fail(e, GLIM_NOMEM, "no memory for the stop texts");
    for (size_t i = 0; i < n; i++) {
        const json_t *text = list ? json_array_get(v, i) : v;
        if (!json_is_string(text)) {
            return fail(e, GLIM_FORMAT, "parameter 'stop' is %s; a text or a list of texts is due",
                        list ? "a list with something else in it" : type_name(v));
        }
        if (!json_string_length(text)) continue;
        stops[kept] = copy(arena, text);
        if (!stops[kept++]) return fail(e, GLIM_NOMEM, "no memory for the stop texts");
    }
    d->gen.stops = stops;
    d->gen.n_stops = kept;
    return GLIM_OK;
}

static void note_unused(struct defaults *d, const char *name) {
    size_t n = strlen(d->unused);
    snprintf(d->unused + n, sizeof d->unused - n, "%s%.40s", n ? ", " : "", name);
}

static int take_number(struct defaults *d, const struct key *k, const json_t *v, glim_err *e) {
    if (!json_is_number(v)) {
        return fail(e, GLIM_FORMAT, "parameter '%s' is %s; a number is due", k->name, type_name(v));
    }
    f64 x = json_number_value(v);
    if (!(x >= k->lo && x <= k->hi) || (k->kind != VALUE_REAL && x != floor(x))) {
        return fail(e, GLIM_FORMAT, "parameter '%s' is %g; it goes from %.10g to %.10g%s", k->name,
                    x, k->lo, k->hi, k->kind == VALUE_REAL ? "" : " in whole numbers");
    }
    void *to = (char *)d + k->at;
    switch (k->kind) {
    case VALUE_REAL:
        *(f32 *)to = (f32)x;
        break;
    case VALUE_U32: /* -1 is "all of the context" */
        *(u32 *)to = x < 0 ? 1u << 28 : (u32)x;
        break;
    case VALUE_I32:
        *(i32 *)to = (i32)x;
        break;
    case VALUE_MIROSTAT: /* version 1 assumes that words follow Zipf's law; only 2 is built in */
        if (x == 1) note_unused(d, "mirostat 1");
        *(int *)to = x == 2 ? 2 : 0;
        break;
    default: /* a seed below zero is "any" */
        d->seeded = x >= 0;
        if (d->seeded) *(u64 *)to = json_is_integer(v) ? (u64)json_integer_value(v) : (u64)x;
        if (!d->seeded) return GLIM_OK;
    }
    d->set |= 1u << (k - keys);
    return GLIM_OK;
}

_Static_assert(offsetof(struct defaults, gen) == 0, "offsets in keys are those in gen too");
void defaults_over(const struct defaults *d, glim_generation *gen) {
    for (size_t i = 0; i < COUNT(keys); i++) {
        const struct key *k = &keys[i];
        if (!(d->set >> i & 1) || k->at >= sizeof *gen) continue; /* not set, or not of sampling */
        memcpy((char *)gen + k->at, (const char *)d + k->at, k->kind == VALUE_SEED ? 8 : 4);
    }
}

int defaults_take(struct defaults *d, const json_t *params, struct arena *arena, glim_err *e) {
    if (!json_is_object(params)) {
        return fail(e, GLIM_FORMAT, "parameters are %s; an object is due", type_name(params));
    }
    const char *name;
    json_t *v;
    /* jansson's iteration wants to be able to change the object. */
    json_object_foreach((json_t *)(uintptr_t)params, name, v) {
        const struct key *k = keys;
        while (k < keys + COUNT(keys) && strcmp(k->name, name) != 0)
            k++;
        if (json_is_null(v)) continue; /* as if it were not there */
        if (k == keys + COUNT(keys)) {
            note_unused(d, name);
            continue;
        }
        int rc = k->kind == VALUE_STOPS ? take_stops(d, v, arena, e) : take_number(d, k, v, e);
        if (rc < 0) return rc;
    }
    d->gen.top_k = MAX(d->gen.top_k, 0);
    if (d->n_predict <= 0) d->n_predict = -1;
    return GLIM_OK;
}

static int load(json_t **j, struct str text, const char *what, glim_err *e) {
    json_error_t why;
    *j = json_loadb(text.p, text.n, 0, &why);
    if (*j) return GLIM_OK;
    return fail(e, GLIM_FORMAT, "%s: not JSON, line %d: %s", what, why.line, why.text);
}

int defaults_params(struct defaults *d, struct str text, struct arena *arena, glim_err *e) {
    json_t *j;
    int rc = load(&j, text, "parameters", e);
    if (rc < 0) return rc;
    rc = defaults_take(d, j, arena, e);
    json_decref(j);
    return rc;
}

static int take_messages(struct defaults *d, const json_t *j, struct arena *arena, glim_err *e) {
    if (!json_is_array(j)) {
        return fail(e, GLIM_FORMAT, "messages are %s; a list is due", type_name(j));
    }
    size_t n = json_array_size(j);
    glim_message *m = arena_array(arena, n, sizeof *m);
    if (!m) return fail(e, GLIM_NOMEM, "no memory for %zu messages", n);
    for (size_t i = 0; i < n; i++) {
        const json_t *turn = json_array_get(j, i);
        const json_t *role = json_object_get(turn, "role"),
                     *text = json_object_get(turn, "content");
        if (!json_is_string(role) || !json_is_string(text)) {
            return fail(e, GLIM_FORMAT, "message %zu has no role and content", i + 1);
        }
        m[i] = (glim_message){copy(arena, role), copy(arena, text)};
        if (!m[i].role || !m[i].text) return fail(e, GLIM_NOMEM, "no memory for messages");
    }
    d->messages = m;
    d->n_messages = n;
    return GLIM_OK;
}

int defaults_messages(struct defaults *d, struct str text, struct arena *arena, glim_err *e) {
    json_t *j;
    int rc = load(&j, text, "messages", e);
    if (rc < 0) return rc;
    rc = take_messages(d, j, arena, e);
    json_decref(j);
    return rc;
}
