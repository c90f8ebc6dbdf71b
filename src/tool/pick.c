/* Which file a command's model is. */
#include "tool/pick.h"

#include "base/plat.h"
#include "file/gguf.h"
#include "kern/quant.h"
#include "tool/input.h"
#include "tool/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A command has one model; this is it. */
static struct picked the_model;

int pick_store(struct store *s, glim_err *e) {
    return store_open(s, getenv("OLLAMA_MODELS"), getenv("HOME"), e);
}

/* ---- Names that are not there ---------------------------------------------------------------- */

enum { NEAR_NAMES = 4 };

/* How far a model's name is from the one that was asked for: 0 the same with another tag or from
 * elsewhere, 1 one within the other, 2 a slip of the finger; 3 another name. */
static u32 farness(const struct store_name *it, const struct store_name *want) {
    const char *name = it->model;
    if (strcasecmp(it->model, want->model) == 0) return 0;
    if (strcasestr(it->model, want->model) || strcasestr(want->model, it->model)) return 1;
    return options_nearest(want->model, &name, 1) ? 2 : 3;
}

/* Writes " (did you mean a, b?)". */
static void list_near(const struct store *s, const struct store_name *want, char *list,
                      size_t cap) {
    u32 found = 0;
    size_t n = 0;
    list[0] = 0;
    for (u32 far = 0; far < 3; far++) {
        for (u32 i = 0; i < s->n && found < NEAR_NAMES; i++) {
            if (s->entries[i].hidden || farness(&s->entries[i].name, want) != far) continue;
            n += (size_t)snprintf(list + n, cap - n, "%s%.80s", found ? ", " : " (did you mean ",
                                  store_name_show(&s->entries[i].name).s);
            found++;
        }
    }
    if (found) snprintf(list + n, cap - n, "?)");
}

static void say_missing(const struct store *s, const char *arg, const struct store_name *want) {
    char near[NEAR_NAMES * 84 + 32], where[600];
    size_t n = 0;
    list_near(s, want, near, sizeof near);
    for (u32 i = 0; i < s->n_roots; i++) {
        const struct store_root *r = &s->roots[i];
        char count[32];
        snprintf(count, sizeof count, "%u model%s", r->n, r->n == 1 ? "" : "s");
        n += (size_t)snprintf(where + n, sizeof where - n, "%s%.100s (%.90s)", i ? ", " : "",
                              r->path, *r->why ? r->why : count);
    }
    options_say("no model '%.100s'%s; there is no such file, and it is not in %s", arg, near,
                where);
}

const struct store_entry *pick_entry(const struct store *s, const char *arg) {
    struct store_name name;
    glim_err e = {0};
    const struct store_entry *entry = NULL;
    if (store_name_parse(&name, arg, &e) == GLIM_OK) entry = store_find(s, &name, &e);
    if (entry) return entry;
    if (e.code)
        options_failed(&e);
    else
        say_missing(s, arg, &name);
    return NULL;
}

/* ---- Ollama's models ------------------------------------------------------------------------- */

int pick_layer(const struct store_entry *entry, const struct manifest *m,
               const struct layer **layer, const char **path, struct arena *arena, glim_err *e) {
    u32 n = 0, n_models = 0;
    const struct layer *first = NULL;
    *layer = NULL;
    for (u32 i = 0; i < m->n; i++) {
        if (m->layers[i].kind != LAYER_MODEL) continue;
        if (!n++) first = &m->layers[i];
    }
    if (!n)
        return fail(e, GLIM_UNSUPPORTED,
                    "no GGUF model among its layers (it runs elsewhere, or comes as tensors)");
    if (n == 1) {
        *layer = first;
        return store_blob(entry, first, path, arena, e);
    }
    for (u32 i = 0; i < m->n; i++) {
        const struct layer *l = &m->layers[i];
        const char *at;
        struct facts f;
        if (l->kind != LAYER_MODEL) continue;
        int rc = store_blob(entry, l, &at, arena, e);
        if (rc == GLIM_OK) rc = facts_read(&f, at, e);
        if (rc < 0) return rc;
        if (f.role != FACTS_MODEL) continue;
        if (n_models++)
            return fail(e, GLIM_UNSUPPORTED,
                        "several of its layers are models; which of them to run is not said");
        *layer = l;
        *path = at;
    }
    if (*layer) return GLIM_OK;
    return fail(e, GLIM_UNSUPPORTED, "none of its %u model layers is a language model", n);
}

int pick_defaults(const struct store_entry *entry, const struct manifest *m, struct defaults *d,
                  struct arena *arena, glim_err *e) {
    int rc = GLIM_OK;
    defaults_init(d);
    for (u32 i = 0; rc == GLIM_OK && i < m->n; i++) {
        const struct layer *l = &m->layers[i];
        struct str text;
        if (l->kind != LAYER_PARAMS && l->kind != LAYER_SYSTEM && l->kind != LAYER_MESSAGES)
            continue;
        rc = store_text(entry, l, &text, arena, e);
        if (rc < 0) break;
        if (l->kind == LAYER_PARAMS) rc = defaults_params(d, text, arena, e);
        if (l->kind == LAYER_MESSAGES) rc = defaults_messages(d, text, arena, e);
        if (l->kind == LAYER_SYSTEM) d->system = text.n ? text.p : NULL;
    }
    return rc;
}

/* Of the config only the name that says that Ollama does not use the template. */
static void take_renderer(struct str config, char renderer[64]) {
    json_t *j = json_loadb(config.p, config.n, 0, NULL);
    const char *name = json_string_value(json_object_get(j, "renderer"));
    if (name) snprintf(renderer, 64, "%s", name);
    json_decref(j);
}

/* Of several templates the last counts, as for Ollama. */
int pick_template(const struct store_entry *entry, const struct manifest *m, struct str *template,
                  char renderer[64], struct arena *arena, glim_err *e) {
    int rc = GLIM_OK;
    struct str config = {0};
    *template = (struct str){0};
    renderer[0] = 0;
    for (u32 i = 0; rc == GLIM_OK && i < m->n; i++) {
        if (m->layers[i].kind == LAYER_TEMPLATE)
            rc = store_text(entry, &m->layers[i], template, arena, e);
    }
    for (u32 i = 0; rc == GLIM_OK && template->n && i < m->n; i++) {
        if (m->layers[i].kind == LAYER_CONFIG)
            rc = store_text(entry, &m->layers[i], &config, arena, e);
    }
    if (rc == GLIM_OK && config.n) take_renderer(config, renderer);
    return rc;
}

/* An adapter changes what a model says: without it, the answer would be another model's. */
static int refuse_adapters(const struct manifest *m, glim_err *e) {
    for (u32 i = 0; i < m->n; i++) {
        if (m->layers[i].kind == LAYER_ADAPTER)
            return fail(e, GLIM_UNSUPPORTED,
                        "it has an adapter, which cannot be applied yet; `glim show` lists the "
                        "file of the model below it");
    }
    return GLIM_OK;
}

static int take_entry(struct picked *p, const struct store_entry *entry, glim_err *e) {
    struct manifest m;
    const struct layer *layer;
    snprintf(p->name, sizeof p->name, "%.500s", store_name_show(&entry->name).s);
    int rc = store_manifest(entry, &m, &p->arena, e);
    if (rc == GLIM_OK) rc = pick_layer(entry, &m, &layer, &p->path, &p->arena, e);
    if (rc == GLIM_OK) rc = refuse_adapters(&m, e);
    if (rc == GLIM_OK) rc = pick_defaults(entry, &m, &p->defaults, &p->arena, e);
    /* Wrong only for those who need it. */
    if (rc == GLIM_OK)
        pick_template(entry, &m, &p->template, p->renderer, &p->arena, &p->template_why);
    p->language = GLIM_TEMPLATE_GO;
    return rc;
}

/* ---- LeapBundles ----------------------------------------------------------------------------- */

const char *pick_part(const char *manifest, const char *part, struct arena *arena) {
    const char *slash = strrchr(manifest, '/');
    size_t folder = slash && part[0] != '/' ? (size_t)(slash - manifest) + 1 : 0;
    size_t n = strlen(part);
    char *path = arena_get(arena, folder + n + 1);
    if (!path) return NULL;
    memcpy(path, manifest, folder);
    memcpy(path + folder, part, n);
    return path;
}

int pick_bundle(const char *path, struct bundle *b, struct arena *arena, glim_err *e) {
    char head[64];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    if (!bundle_begins((struct str){head, n})) return GLIM_NOT_FOUND;
    struct str text = {0};
    char *bytes;
    glim_err why = {0};
    int rc = input_read(path, &bytes, &text.n, e);
    if (rc < 0) return rc;
    text.p = bytes;
    rc = bundle_parse(b, text, arena, &why);
    free(bytes);
    if (rc == GLIM_OK || rc == GLIM_NOT_FOUND) return rc;
    return fail(e, rc, "%.120s: %s", path, why.msg);
}

/* The bundle's own chat template wins in LEAP; here the file's goes first. Worth a word where they
 * are not the same. */
static int compare_templates(const struct bundle *b, const char *path, glim_err *e) {
    struct arena arena;
    struct gguf g;
    struct str own = {0};
    arena_init(&arena, &mem_libc);
    int rc = gguf_open(&g, path, &arena, quant_size, e);
    if (rc == GLIM_OK) {
        bool has = gguf_str(&g, "tokenizer.chat_template", &own, NULL) == GLIM_OK;
        if (has && !str_is(own, b->chat_template))
            options_say("the bundle's chat template is not the model file's; the file's is used");
        gguf_close(&g);
    }
    arena_free(&arena);
    return rc;
}

static int take_bundle(struct picked *p, const char *manifest, glim_err *e) {
    struct bundle b;
    int rc = pick_bundle(manifest, &b, &p->arena, e);
    if (rc < 0) return rc;
    snprintf(p->name, sizeof p->name, "%.500s", manifest);
    p->path = pick_part(manifest, b.model, &p->arena);
    if (!p->path) return fail(e, GLIM_NOMEM, "out of memory");
    p->defaults = b.defaults;
    if (b.chat_template) p->template = (struct str){b.chat_template, strlen(b.chat_template)};
    p->language = GLIM_TEMPLATE_JINJA;
    if (plat_kind(p->path) == PLAT_NONE)
        return fail(e, GLIM_NOT_FOUND, "%.90s: its model %.110s: no such file", manifest, p->path);
    return b.chat_template ? compare_templates(&b, p->path, e) : GLIM_OK;
}

/* ---- Picking --------------------------------------------------------------------------------- */

/* Whether a name that is in no store was rather meant as a path. */
static bool is_like_path(const char *arg) {
    size_t n = strlen(arg);
    return (n > 5 && strcasecmp(arg + n - 5, ".gguf") == 0) ||
           (n > 5 && strcasecmp(arg + n - 5, ".json") == 0);
}

/* Sets *out if there is such a model in a store. */
static int pick_named(const char *arg, enum plat_kind kind, const struct picked **out) {
    struct store_name name;
    struct store s;
    glim_err e = {0};
    if (store_name_parse(&name, arg, NULL) < 0) return TOOL_FINE;
    int code = TOOL_FINE;
    if (pick_store(&s, &e) < 0) {
        code = options_failed(&e);
    } else {
        bool path = kind == PLAT_DIR || is_like_path(arg);
        const struct store_entry *entry = path ? store_find(&s, &name, NULL) : pick_entry(&s, arg);
        if (entry && take_entry(&the_model, entry, &e) == GLIM_OK) {
            *out = &the_model;
        } else if (entry) {
            options_say("%s: %s", the_model.name, e.msg);
            code = TOOL_FAILED;
        } else {
            code = path ? TOOL_FINE : TOOL_FAILED;
        }
    }
    store_close(&s);
    return code;
}

int pick_model(const char *arg, const struct picked **out) {
    glim_err e = {0};
    enum plat_kind kind = plat_kind(arg);
    *out = NULL;
    arena_free(&the_model.arena);
    the_model = (struct picked){0};
    arena_init(&the_model.arena, &mem_libc);
    if (kind == PLAT_NONE || kind == PLAT_DIR) return pick_named(arg, kind, out);
    if (kind != PLAT_FILE) return TOOL_FINE;
    int rc = take_bundle(&the_model, arg, &e);
    if (rc == GLIM_NOT_FOUND && !e.code) return TOOL_FINE; /* no bundle: a model, or an error */
    if (rc < 0) return options_failed(&e);
    *out = &the_model;
    return TOOL_FINE;
}
