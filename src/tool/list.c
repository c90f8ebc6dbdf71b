/* glim list: the models that are already on this machine. */
#include "tool/format.h"
#include "tool/options.h"
#include "tool/pick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of one model; why says why there is not more. */
struct row {
    const struct store_entry *entry;
    u64 bytes; /* of all layers */
    bool readable;
    struct facts facts; /* if readable */
    bool has_plan;
    glim_plan plan;
    glim_err why;
};

/* What a session with the model's own settings would take. */
static void make_plan(struct row *r, const char *path, const struct defaults *d,
                      glim_engine *engine) {
    glim_model *model = NULL;
    glim_session_params p = {.n_ctx = d->n_ctx};
    int rc = glim_model_open(&model, engine, path, &r->why);
    if (rc == GLIM_OK) {
        glim_model_info info;
        glim_model_get_info(model, &info);
        p.n_ctx = MIN(p.n_ctx, info.n_ctx_train);
        rc = glim_session_plan(model, &p, &r->plan, &r->why);
    }
    r->has_plan = rc == GLIM_OK;
    glim_model_close(model);
}

static void fill(struct row *r, const struct store_entry *entry, glim_engine *engine) {
    struct manifest m;
    struct arena arena;
    const struct layer *layer;
    const char *path, *other;
    struct defaults d;
    *r = (struct row){.entry = entry};
    if (entry->hidden) {
        fail(&r->why, GLIM_ARG, "hidden by the model of that name in an earlier store");
        return;
    }
    arena_init(&arena, &mem_libc);
    int rc = store_manifest(entry, &m, &arena, &r->why);
    r->bytes = manifest_bytes(&m);
    if (rc == GLIM_OK) rc = pick_layer(entry, &m, &layer, &path, &arena, &r->why);
    if (rc == GLIM_OK) rc = facts_read(&r->facts, path, &r->why);
    r->readable = rc == GLIM_OK;
    for (u32 i = 0; rc == GLIM_OK && i < m.n; i++)
        rc = store_blob(entry, &m.layers[i], &other, &arena, &r->why);
    if (rc == GLIM_OK) rc = pick_defaults(entry, &m, &d, &arena, &r->why);
    if (rc == GLIM_OK) make_plan(r, path, &d, engine);
    arena_free(&arena);
}

/* ---- For people ------------------------------------------------------------------------------ */

/* Names of files and what files say must not steer a terminal. Padded to width. */
static void put_cell(const char *s, int width) {
    int n = 0;
    for (; *s; s++, n++)
        putchar((u8)*s < 0x20 || *s == 0x7f ? '?' : *s);
    if (width) printf("%*s", MAX(width - n, 0) + 2, ""); /* 0: the last one of a line */
}

static void put_row(const struct row *r, int width, u64 free_bytes) {
    char context[16] = "";
    put_cell(store_name_show(&r->entry->name).s, width);
    if (!r->readable) {
        put_cell("-", 9);
        put_cell("-", 10);
        put_cell("-", 8);
        put_cell("-", 7);
        put_cell(r->why.msg, 0);
        printf("\n");
        return;
    }
    if (r->facts.n_ctx) snprintf(context, sizeof context, "%u", r->facts.n_ctx);
    put_cell(format_size(r->bytes).s, 9);
    put_cell(*r->facts.arch ? r->facts.arch : "-", 10);
    put_cell(*r->facts.quant ? r->facts.quant : "-", 8);
    put_cell(*context ? context : "-", 7);
    if (!r->has_plan) {
        put_cell(r->why.msg, 0);
    } else {
        put_cell(format_size(r->plan.total).s, 0);
        if (free_bytes) printf("  %s", r->plan.total <= free_bytes ? "fits" : "too much");
    }
    printf("\n");
}

static void put_table(const struct row *rows, u32 n, u64 free_bytes) {
    int width = 4;
    for (u32 i = 0; i < n; i++)
        width = MAX(width, (int)strlen(store_name_show(&rows[i].entry->name).s));
    width = MIN(width, 60);
    put_cell("NAME", width);
    put_cell("SIZE", 9);
    put_cell("FAMILY", 10);
    put_cell("QUANT", 8);
    put_cell("CONTEXT", 7);
    printf("MEMORY");
    if (free_bytes) printf(" (of %s free)", format_size(free_bytes).s);
    printf("\n");
    for (u32 i = 0; i < n; i++)
        put_row(&rows[i], width, free_bytes);
}

/* ---- As JSON --------------------------------------------------------------------------------- */

static bool set(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}

static json_t *text(const char *s) {
    return format_string((struct str){s, strlen(s)});
}

static json_t *row_json(const struct row *r, u64 free_bytes) {
    json_t *j = json_object();
    const struct facts *f = &r->facts;
    bool ok =
        j && set(j, "name", text(store_name_show(&r->entry->name).s)) &&
        set(j, "store", text(r->entry->root->path)) && set(j, "manifest", text(r->entry->path)) &&
        set(j, "bytes", format_u64(r->bytes)) &&
        set(j, "family", *f->arch ? text(f->arch) : json_null()) &&
        set(j, "quant", *f->quant ? text(f->quant) : json_null()) &&
        set(j, "context", f->n_ctx ? format_u64(f->n_ctx) : json_null()) &&
        set(j, "parameters", f->n_params ? format_u64(f->n_params) : json_null()) &&
        set(j, "memory", r->has_plan ? format_u64(r->plan.total) : json_null()) &&
        set(j, "fits",
            r->has_plan && free_bytes ? json_boolean(r->plan.total <= free_bytes) : json_null()) &&
        set(j, "error", r->why.code ? text(r->why.msg) : json_null());
    if (ok) return j;
    json_decref(j);
    return NULL;
}

static int put_json(const struct store *s, const struct row *rows, u64 free_bytes) {
    json_t *j = json_object(), *models = json_array(), *stores = json_array();
    bool ok = j && models && stores;
    for (u32 i = 0; ok && i < s->n; i++)
        ok = json_array_append_new(models, row_json(&rows[i], free_bytes)) == 0;
    for (u32 i = 0; ok && i < s->n_roots; i++) {
        json_t *root = json_object();
        ok = root && set(root, "path", text(s->roots[i].path)) &&
             set(root, "models", json_integer(s->roots[i].n)) &&
             set(root, "error", *s->roots[i].why ? text(s->roots[i].why) : json_null()) &&
             json_array_append_new(stores, json_incref(root)) == 0;
        json_decref(root);
    }
    ok = ok && set(j, "free_bytes", free_bytes ? format_u64(free_bytes) : json_null()) &&
         set(j, "stores", json_incref(stores)) && set(j, "models", json_incref(models));
    json_decref(stores);
    json_decref(models);
    if (ok) return format_json(j, 9);
    json_decref(j);
    return format_json(NULL, 0);
}

/* ---- Command line ---------------------------------------------------------------------------- */

/* Where models were looked for and not found, or not all of them. The last two are there only where
 * Ollama is: not finding them is worth a word only if nothing was found at all. */
static void say_roots(const struct store *s) {
    bool asked = getenv("OLLAMA_MODELS") && *getenv("OLLAMA_MODELS");
    for (u32 i = 0; i < s->n_roots; i++) {
        const struct store_root *r = &s->roots[i];
        if (*r->why && (s->n == 0 || r->n || (asked && i == 0)))
            options_say("%.300s: %s", r->path, r->why);
        else if (s->n == 0)
            options_say("%.300s: no models in it", r->path);
    }
}

static int with_store(const struct store *s, bool json) {
    glim_engine *engine = NULL;
    glim_err e = {0};
    const glim_engine_params one = {.n_threads = 1};
    struct row *rows = calloc(s->n + 1, sizeof *rows);
    int code = TOOL_FAILED;
    if (!rows) {
        options_say("no memory for a list of %u models", s->n);
    } else if (glim_engine_open(&engine, &one, &e) < 0) {
        options_failed(&e);
    } else {
        u64 free_bytes = facts_free_memory();
        for (u32 i = 0; i < s->n; i++)
            fill(&rows[i], &s->entries[i], engine);
        say_roots(s);
        if (json) {
            code = put_json(s, rows, free_bytes);
        } else {
            put_table(rows, s->n, free_bytes);
            code = options_flush() ? TOOL_FINE : TOOL_FAILED;
        }
    }
    glim_engine_close(engine);
    free(rows);
    return code;
}

static int list_main(const struct command *c, int argc, char **argv) {
    bool json = false;
    const struct option_row rows[] = {
        {0, "json", NULL, OPTION_SWITCH, &json, 0, 0, "as JSON, with the folders looked in"},
        OPTION_END,
    };
    int code;
    if (!options_parse(c, rows, &argc, &argv, &code)) return code;
    if (argc > 0) return options_misused(c, "'%.60s': this command takes flags only", argv[0]);
    struct store s;
    glim_err e = {0};
    code = pick_store(&s, &e) < 0 ? options_failed(&e) : with_store(&s, json);
    store_close(&s);
    return code;
}

const struct command list_command = {
    .name = "list",
    .usage = "",
    .about = "List the models in Ollama's store",
    .detail =
        "Looks in $OLLAMA_MODELS, ~/.ollama/models and /usr/share/ollama/.ollama/models. Any\n"
        "command takes these names for its model. MEMORY is what glim run would take, read\n"
        "from the file included. A model that cannot be used is listed with the reason.",
    .examples = "examples:\n"
                "  glim list\n"
                "  glim list --json | jq -r '.models[] | select(.fits) | .name'\n",
    .main = list_main,
};
