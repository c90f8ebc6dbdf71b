/* Settings by name: shown, changed, kept in files. */
#include "tool/settings.h"

#include "tool/jsontext.h"

#include <stdlib.h>
#include <string.h>

bool settings_has(const struct generation_options *g, const struct option_row *r) {
    const char *to = r->to, *first = (const char *)g;
    /* Settled when the session is opened, or no part of how answers are made. */
    const void *fixed[] = {&g->system, &g->exact,    &g->quiet,
                           &g->n_ctx,  &g->no_think, &g->gen.n_logprobs};
    for (size_t i = 0; i < COUNT(fixed); i++) {
        if (to == fixed[i]) return false;
    }
    return to >= first && to < first + sizeof *g;
}

static const struct option_row *find(const struct option_row *rows,
                                     const struct generation_options *g, const char *name) {
    for (const struct option_row *r = rows; r->name; r++) {
        bool letter = r->letter && name[0] == r->letter && !name[1];
        if (settings_has(g, r) && (letter || strcmp(r->name, name) == 0)) return r;
    }
    return NULL;
}

static int unknown(const struct option_row *rows, const struct generation_options *g,
                   const char *name, glim_err *e) {
    const char *names[80];
    size_t n = 0;
    for (const struct option_row *r = rows; r->name; r++) {
        if (settings_has(g, r) && n < COUNT(names)) names[n++] = r->name;
        if (r->to == &g->n_ctx && (strcmp(name, r->name) == 0 || strcmp(name, "c") == 0))
            return fail(e, GLIM_ARG,
                        "%s: the context has its size once the chat has begun; leave "
                        "and begin with -c",
                        name);
    }
    const char *near = options_nearest(name, names, n);
    return fail(e, GLIM_NOT_FOUND, "there is no setting '%.40s'%s%s%s", name,
                near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static size_t size_of(const struct option_row *r) {
    switch (r->kind) {
    case OPTION_TEXTS:
        return sizeof(struct texts);
    case OPTION_U64:
        return sizeof(u64);
    case OPTION_U32:
    case OPTION_I32:
    case OPTION_F32:
        return 4;
    case OPTION_SWITCH:
        return sizeof(bool);
    default:
        return sizeof(char *);
    }
}

int settings_set(const struct option_row *rows, struct generation_options *g, const char *name,
                 const char *text, glim_err *e) {
    const struct option_row *r = find(rows, g, name);
    struct texts before = {0}; /* the largest there is */
    glim_err same = {0};
    if (!r) return unknown(rows, g, name, e);
    if (r->to == &g->think) g->no_think = false;
    memcpy(&before, r->to, size_of(r));
    int rc = options_set(r, text, e);
    if (rc == GLIM_OK) rc = generate_check(g, e);
    if (rc == GLIM_OK) return GLIM_OK;
    if (r->kind == OPTION_TEXTS) { /* the list may have been moved */
        struct texts *now = r->to;
        now->n = MIN(now->n, before.n);
    } else {
        memcpy(r->to, &before, size_of(r));
    }
    generate_check(g, &same);
    /* A setting is no flag: its name is what was typed. */
    if (strncmp(e->msg, "--", 2) == 0) memmove(e->msg, e->msg + 2, strlen(e->msg + 2) + 1);
    return rc;
}

/* What it does, on one line: for --help it is laid out on several. */
static void put_help(const char *help, FILE *f) {
    for (const char *p = help; *p; p++) {
        if (*p != '\n') {
            fputc(*p, f);
            continue;
        }
        if (p > help && p[-1] != ';') fputc(' ', f);
        p += strspn(p + 1, " ");
    }
    fputc('\n', f);
}

bool settings_show(const struct option_row *rows, const struct generation_options *g,
                   const char *name, FILE *f) {
    bool found = false;
    for (const struct option_row *r = rows; r->name; r++) {
        char *value = NULL;
        size_t n;
        if (!settings_has(g, r) || (name && find(rows, g, name) != r)) continue;
        found = true;
        FILE *m = open_memstream(&value, &n);
        if (m) options_put_value(r, m);
        if (m && fclose(m) == 0) {
            fprintf(f, "  %-21s %-11s ", r->name, value);
            put_help(r->help, f);
        }
        free(value);
    }
    return found;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static json_t *value_json(const struct option_row *r) {
    const struct texts *t = r->to;
    const char *text;
    json_t *list;
    switch (r->kind) {
    case OPTION_U32:
        return json_integer(*(const u32 *)r->to);
    case OPTION_I32:
        return json_integer(*(const i32 *)r->to);
    case OPTION_TEXTS:
        list = json_array();
        for (size_t i = 0; i < t->n; i++)
            json_array_append_new(list, json_string(t->p[i]));
        return list;
    case OPTION_F32:
    case OPTION_U64: {
        char *value = NULL;
        size_t n;
        FILE *m = open_memstream(&value, &n);
        if (m) options_put_value(r, m);
        if (!m || fclose(m) != 0) value = NULL;
        json_t *j = value ? json_loadb(value, n, JSON_DECODE_ANY, NULL) : NULL;
        if (value && !j) j = json_string(value); /* seeds beyond 63 bits */
        free(value);
        return j;
    }
    case OPTION_SWITCH:
        return json_boolean(*(const bool *)r->to);
    default:
        text = *(const char *const *)r->to;
        return text ? json_string(text) : json_null();
    }
}

json_t *settings_json(const struct option_row *rows, const struct generation_options *g) {
    json_t *all = json_object();
    for (const struct option_row *r = rows; all && r->name; r++) {
        if (!settings_has(g, r) || !options_given(r->to)) continue;
        if (json_object_set_new(all, r->name, value_json(r)) == 0) continue;
        json_decref(all);
        return NULL;
    }
    if (all && g->thinking == THINK_OFF) json_object_set_new(all, "think", json_string("off"));
    return all;
}

static int take(const struct option_row *rows, struct generation_options *g, const char *name,
                const json_t *v, glim_err *e) {
    if (json_is_string(v)) return settings_set(rows, g, name, json_string_value(v), e);
    if (!json_is_number(v))
        return fail(e, GLIM_FORMAT, "setting '%.40s' is no number and no text", name);
    char *text = jsontext_make(v);
    int rc = text ? settings_set(rows, g, name, text, e) : fail(e, GLIM_NOMEM, "out of memory");
    free(text);
    return rc;
}

int settings_take(const struct option_row *rows, struct generation_options *g,
                  const json_t *settings, bool below_flags, glim_err *e) {
    const char *name;
    json_t *v, *one;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)settings, name, v) {
        const struct option_row *r = find(rows, g, name);
        if (!r) return unknown(rows, g, name, e);
        bool think = r->to == &g->think && g->no_think;
        if (json_is_null(v) || (below_flags && (options_given(r->to) || think))) continue;
        if (!json_is_array(v)) {
            int rc = take(rows, g, name, v, e);
            if (rc < 0) return rc;
            continue;
        }
        int rc = settings_set(rows, g, name, "off", e);
        json_array_foreach(v, i, one) {
            if (rc == GLIM_OK) rc = take(rows, g, name, one, e);
        }
        if (rc < 0) return rc;
    }
    return GLIM_OK;
}
