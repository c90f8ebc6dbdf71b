/* glim show: what a model of Ollama's store, or a LeapBundle, is made of. */
#include "tool/chosen.h"
#include "tool/format.h"
#include "tool/options.h"
#include "tool/pick.h"

#include "base/plat.h"
#include "text/style.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const char *kind;   /* "model", "projector"; a bundle's role */
    const char *media;  /* NULL: a bundle's */
    const char *digest; /* 64 digits; NULL: a bundle's */
    u64 bytes;          /* as the manifest has it, or the file */
    const char *path;   /* NULL: not there, see why */
    bool verified;
    glim_err why;
    enum layer_kind layer;
    struct str text; /* of layers that are text */
};

struct show {
    char name[512];
    const char *manifest, *store; /* paths; store NULL for a bundle */
    struct arena arena;
    struct part *parts;
    u32 n, n_wrong;
    const char *model; /* path of what would be run; NULL: see why */
    struct facts facts;
    bool has_facts;
    glim_err why;
    struct defaults defaults;
    struct picked picked; /* template and renderer only */
    struct chosen chosen;
    bool verify, json;
};

/* ---- Finding out ----------------------------------------------------------------------------- */

/* What the store says goes above what the model's file says. */
static void settle_generation(struct show *s) {
    glim_generation *to = &s->defaults.gen, gen = s->facts.sampling.gen;
    defaults_over(&s->defaults, &gen);
    gen.stops = to->stops;
    gen.n_stops = to->n_stops;
    *to = gen;
}

static bool is_text(enum layer_kind kind) {
    return kind == LAYER_TEMPLATE || kind == LAYER_PARAMS || kind == LAYER_SYSTEM ||
           kind == LAYER_LICENSE || kind == LAYER_MESSAGES;
}

static void take_layer(struct show *s, struct part *p, const struct store_entry *entry,
                       const struct layer *l) {
    *p = (struct part){.kind = layer_kind_name(l->kind),
                       .media = l->media,
                       .digest = l->hex,
                       .bytes = l->size,
                       .layer = l->kind};
    int rc = store_blob(entry, l, &p->path, &s->arena, &p->why);
    if (rc == GLIM_OK && s->verify) {
        rc = store_verify(p->path, l, &p->why);
        p->verified = rc == GLIM_OK;
    }
    if (rc == GLIM_OK && is_text(l->kind)) rc = store_text(entry, l, &p->text, &s->arena, &p->why);
    if (rc < 0) s->n_wrong++;
}

static int take_entry(struct show *s, const struct store_entry *entry, glim_err *e) {
    struct manifest m;
    const struct layer *layer;
    snprintf(s->name, sizeof s->name, "%.500s", store_name_show(&entry->name).s);
    s->manifest = arena_text(&s->arena, (struct str){entry->path, strlen(entry->path)});
    s->store = arena_text(&s->arena, (struct str){entry->root->path, strlen(entry->root->path)});
    int rc = store_manifest(entry, &m, &s->arena, e);
    if (rc < 0) return rc;
    s->parts = arena_array(&s->arena, m.n, sizeof *s->parts);
    if (!s->manifest || !s->store || !s->parts) return fail(e, GLIM_NOMEM, "out of memory");
    s->n = m.n;
    for (u32 i = 0; i < m.n; i++)
        take_layer(s, &s->parts[i], entry, &m.layers[i]);
    rc = pick_layer(entry, &m, &layer, &s->model, &s->arena, &s->why);
    if (rc < 0) s->model = NULL;
    /* Settings that cannot be read are worth saying, but do not hide the layers. */
    if (rc == GLIM_OK) pick_defaults(entry, &m, &s->defaults, &s->arena, &s->why);
    s->picked.language = GLIM_TEMPLATE_GO;
    pick_template(entry, &m, &s->picked.template, s->picked.renderer, &s->arena,
                  &s->picked.template_why);
    return GLIM_OK;
}

static void take_part(struct show *s, struct part *p, const char *role, const char *written) {
    *p = (struct part){.kind = role, .layer = LAYER_OTHER};
    if (bundle_is_url(written)) {
        fail(&p->why, GLIM_NOT_FOUND, "%.150s: not downloaded", written);
    } else {
        p->path = pick_part(s->manifest, written, &s->arena);
        const u8 *map;
        if (plat_map(p->path, &map, &p->bytes, &p->why) == GLIM_OK) {
            plat_unmap(map, p->bytes);
            return;
        }
        p->path = NULL;
    }
    s->n_wrong++;
}

static int take_bundle(struct show *s, const char *path, glim_err *e) {
    struct bundle b;
    int rc = pick_bundle(path, &b, &s->arena, e);
    if (rc < 0) return rc;
    snprintf(s->name, sizeof s->name, "%.500s", path);
    s->manifest = path;
    s->defaults = b.defaults;
    if (b.chat_template)
        s->picked.template = (struct str){b.chat_template, strlen(b.chat_template)};
    s->picked.language = GLIM_TEMPLATE_JINJA;
    s->n = b.n_parts + 1;
    s->parts = arena_array(&s->arena, s->n, sizeof *s->parts);
    if (!s->parts) return fail(e, GLIM_NOMEM, "out of memory");
    take_part(s, &s->parts[0], "model", b.model);
    for (u32 i = 0; i < b.n_parts; i++)
        take_part(s, &s->parts[i + 1], b.parts[i].role, b.parts[i].path);
    s->model = s->parts[0].path;
    return GLIM_OK;
}

/* ---- For people ------------------------------------------------------------------------------ */

/* Lines of a text that are shown. */
enum { SOME_LINES = 8, TITLE_LINES = 1 };

/* Some lines of a text, without what could steer a terminal. */
static void put_lines(const char *title, struct str text, u32 most) {
    u32 lines = 0;
    size_t i = 0;
    printf("\n%s\n", title);
    while (i < text.n && lines < most) {
        size_t end = i;
        while (end < text.n && text.p[end] != '\n')
            end++;
        bool blank = true;
        for (size_t k = i; k < end; k++)
            blank = blank && (text.p[k] == ' ' || text.p[k] == '\t' || text.p[k] == '\r');
        if (!blank || lines) {
            printf("  ");
            for (size_t k = i; k < end; k++) {
                u8 c = (u8)text.p[k];
                if (c == '\r') continue;
                putchar((c < 0x20 && c != '\t') || c == 0x7f ? '?' : c);
            }
            printf("\n");
            lines++;
        }
        i = end + 1;
    }
    if (i < text.n) printf("  ... (%zu bytes)\n", text.n);
}

static void put_parts(const struct show *s) {
    printf("\n%s\n", s->store ? "layers" : "parts");
    for (u32 i = 0; i < s->n; i++) {
        const struct part *p = &s->parts[i];
        printf("  %-10s %10s  ", p->kind, p->bytes || p->path ? format_size(p->bytes).s : "-");
        if (p->digest) printf("sha256:%.12s  ", p->digest);
        if (p->why.code)
            printf("%s", p->why.msg);
        else
            printf("%s%s", p->verified ? "verified  " : "", p->path);
        if (p->layer == LAYER_OTHER && p->media) printf("  (not known: %s)", p->media);
        printf("\n");
    }
}

static void put_parameters(const struct show *s) {
    const struct defaults *d = &s->defaults;
    const glim_generation *g = &d->gen;
    if (s->n_wrong || !s->model) return;
    printf("\nparameters of glim run\n");
    printf("  temp %g, top-k %d, top-p %g, min-p %g\n", (f64)g->temp, g->top_k, (f64)g->top_p,
           (f64)g->min_p);
    if (g->repeat_penalty != 1) /* exactly 1 is off */
        printf("  repeat-penalty %g over %u tokens\n", (f64)g->repeat_penalty, g->repeat_last_n);
    if (g->presence_penalty != 0 || g->frequency_penalty != 0)
        printf("  presence-penalty %g, frequency-penalty %g\n", (f64)g->presence_penalty,
               (f64)g->frequency_penalty);
    if (g->typical_p < 1) printf("  typical-p %g\n", (f64)g->typical_p);
    if (g->xtc_probability > 0)
        printf("  xtc-probability %g, xtc-threshold %g\n", (f64)g->xtc_probability,
               (f64)g->xtc_threshold);
    if (g->mirostat)
        printf("  mirostat %d, mirostat-ent %g, mirostat-lr %g\n", g->mirostat,
               (f64)g->mirostat_tau, (f64)g->mirostat_eta);
    if (g->samplers) printf("  samplers %s\n", g->samplers);
    if (*s->facts.sampling.unused) printf("  not used: %s\n", s->facts.sampling.unused);
    if (d->n_ctx) printf("  ctx-size %u\n", d->n_ctx);
    if (d->n_predict > 0) printf("  n-predict %d\n", d->n_predict);
    if (d->seeded) printf("  seed %llu\n", (unsigned long long)g->seed);
    for (size_t i = 0; i < g->n_stops; i++) {
        printf("  stop ");
        format_quoted((struct str){g->stops[i], strlen(g->stops[i])}, stdout);
        printf("\n");
    }
    if (*d->unused) printf("  without effect: %s\n", d->unused);
    if (d->n_messages) printf("  %zu turns go before the first\n", d->n_messages);
}

static void put_template(const struct show *s, const struct part *p) {
    char title[120] = "template";
    if (s->chosen.unused)
        snprintf(title, sizeof title, "template (not used: %s)", s->chosen.unused);
    put_lines(title, p->text, SOME_LINES);
}

/* How its turns are written, in one line. */
static void put_chosen(const struct show *s) {
    struct str arch = {s->facts.arch, strlen(s->facts.arch)};
    const struct style *style = s->chosen.from == CHOSEN_NONE ? style_of_family(arch) : NULL;
    if (s->chosen.from != CHOSEN_NONE)
        printf("  turns by    %s\n", s->chosen.said);
    else if (style)
        printf("  turns by    the program itself, as %s models have them\n", style->name);
    else
        printf("  turns by    nothing that is known; use --raw\n");
    if (s->chosen.built_in) printf("  in Ollama   by its own '%s'\n", s->picked.renderer);
}

static void put_people(const struct show *s) {
    printf("%s\n  manifest    %s\n", s->name, s->manifest);
    if (s->has_facts) {
        printf("  model       %s, %.1f M parameters, %s", *s->facts.arch ? s->facts.arch : "?",
               (f64)s->facts.n_params / 1e6, *s->facts.quant ? s->facts.quant : "?");
        if (s->facts.n_ctx) printf(", context %u", s->facts.n_ctx);
        printf("\n");
    }
    if (s->has_facts) put_chosen(s);
    if (s->why.code) printf("  cannot run  %s\n", s->why.msg);
    put_parts(s);
    put_parameters(s);
    for (u32 i = 0; i < s->n; i++) {
        const struct part *p = &s->parts[i];
        if (!p->text.n) continue;
        if (p->layer == LAYER_TEMPLATE) put_template(s, p);
        if (p->layer == LAYER_SYSTEM) put_lines("system", p->text, SOME_LINES);
        if (p->layer == LAYER_LICENSE) put_lines("license", p->text, TITLE_LINES);
    }
}

/* ---- As JSON --------------------------------------------------------------------------------- */

static bool set(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}
static json_t *text(const char *s) {
    return s ? format_string((struct str){s, strlen(s)}) : json_null();
}

static json_t *part_json(const struct show *s, const struct part *p) {
    json_t *j = json_object();
    bool ok = j && set(j, "kind", text(p->kind)) && set(j, "mediaType", text(p->media)) &&
              set(j, "sha256", text(p->digest)) && set(j, "bytes", format_u64(p->bytes)) &&
              set(j, "path", text(p->path)) &&
              set(j, "verified", s->verify ? json_boolean(p->verified) : json_null()) &&
              set(j, "error", p->why.code ? text(p->why.msg) : json_null());
    if (ok && is_text(p->layer)) ok = set(j, "text", format_string(p->text));
    if (ok) return j;
    json_decref(j);
    return NULL;
}

static json_t *parameters_json(const struct defaults *d) {
    const glim_generation *g = &d->gen;
    json_t *j = json_object(), *stops = json_array();
    bool ok = j && stops;
    for (size_t i = 0; ok && i < g->n_stops; i++)
        ok = json_array_append_new(stops, text(g->stops[i])) == 0;
    ok = ok && set(j, "temp", format_real((f64)g->temp)) &&
         set(j, "top_k", json_integer(g->top_k)) && set(j, "top_p", format_real((f64)g->top_p)) &&
         set(j, "min_p", format_real((f64)g->min_p)) &&
         set(j, "repeat_penalty", format_real((f64)g->repeat_penalty)) &&
         set(j, "repeat_last_n", json_integer(g->repeat_last_n)) &&
         set(j, "presence_penalty", format_real((f64)g->presence_penalty)) &&
         set(j, "frequency_penalty", format_real((f64)g->frequency_penalty)) &&
         set(j, "typical_p", format_real((f64)g->typical_p)) &&
         set(j, "xtc_probability", format_real((f64)g->xtc_probability)) &&
         set(j, "xtc_threshold", format_real((f64)g->xtc_threshold)) &&
         set(j, "mirostat", json_integer(g->mirostat)) &&
         set(j, "mirostat_tau", format_real((f64)g->mirostat_tau)) &&
         set(j, "mirostat_eta", format_real((f64)g->mirostat_eta)) &&
         set(j, "samplers", text(g->samplers)) &&
         set(j, "seed", d->seeded ? format_u64(g->seed) : json_null()) &&
         set(j, "n_ctx", d->n_ctx ? json_integer(d->n_ctx) : json_null()) &&
         set(j, "n_predict", json_integer(d->n_predict)) && set(j, "stop", json_incref(stops));
    json_decref(stops);
    if (ok) return j;
    json_decref(j);
    return NULL;
}

static int put_json(const struct show *s) {
    json_t *j = json_object(), *parts = json_array();
    const struct facts *f = &s->facts;
    static const char *const from[] = {[CHOSEN_FILE] = "file",
                                       [CHOSEN_STORE] = "store",
                                       [CHOSEN_GIVEN] = "given",
                                       [CHOSEN_NONE] = "none"};
    bool ok = j && parts;
    for (u32 i = 0; ok && i < s->n; i++)
        ok = json_array_append_new(parts, part_json(s, &s->parts[i])) == 0;
    ok = ok && set(j, "name", text(s->name)) && set(j, "manifest", text(s->manifest)) &&
         set(j, "store", text(s->store)) && set(j, "model", text(s->model)) &&
         set(j, "family", *f->arch ? text(f->arch) : json_null()) &&
         set(j, "quant", *f->quant ? text(f->quant) : json_null()) &&
         set(j, "context", f->n_ctx ? json_integer(f->n_ctx) : json_null()) &&
         set(j, "parameters", s->has_facts ? format_u64(f->n_params) : json_null()) &&
         set(j, "generation", parameters_json(&s->defaults)) &&
         set(j, "system", text(s->defaults.system)) &&
         set(j, "template", text(s->has_facts ? from[s->chosen.from] : NULL)) &&
         set(j, "error", s->why.code ? text(s->why.msg) : json_null()) &&
         set(j, "layers", json_incref(parts));
    json_decref(parts);
    if (ok) return format_json(j, 9);
    json_decref(j);
    return format_json(NULL, 0);
}

/* ---- Command line ---------------------------------------------------------------------------- */

/* Fills s from what arg names. An exit code; what is wrong was said. */
static int find(struct show *s, const char *arg) {
    glim_err e = {0};
    defaults_init(&s->defaults);
    if (plat_kind(arg) == PLAT_FILE) {
        int rc = take_bundle(s, arg, &e);
        if (rc == GLIM_NOT_FOUND && !e.code) {
            options_say("%.200s: a file, not a model of a store or a bundle; see `glim inspect`",
                        arg);
            return TOOL_FAILED;
        }
        return rc < 0 ? options_failed(&e) : TOOL_FINE;
    }
    struct store store;
    const struct store_entry *entry = NULL;
    int code = TOOL_FAILED;
    if (pick_store(&store, &e) < 0)
        options_failed(&e);
    else if ((entry = pick_entry(&store, arg))) {
        if (take_entry(s, entry, &e) < 0)
            options_say("%s: %s", s->name, e.msg);
        else
            code = TOOL_FINE;
    }
    store_close(&store);
    return code;
}

static int show(struct show *s, const char *arg) {
    int code = find(s, arg);
    if (code != TOOL_FINE) return code;
    if (s->model) s->has_facts = facts_read(&s->facts, s->model, &s->why) == GLIM_OK;
    if (s->has_facts) {
        settle_generation(s);
        chosen_find(&s->chosen, NULL, &s->picked, s->facts.has_template, &s->why);
    }
    if (s->json) {
        code = put_json(s);
    } else {
        put_people(s);
        code = options_flush() ? TOOL_FINE : TOOL_FAILED;
    }
    if (code == TOOL_FINE && s->n_wrong) {
        options_say("%s: %u of %u %s not as the manifest has %s", s->name, s->n_wrong, s->n,
                    s->n_wrong == 1 ? "parts is" : "parts are", s->n_wrong == 1 ? "it" : "them");
        code = TOOL_FAILED;
    }
    return code;
}

static int show_main(const struct command *c, int argc, char **argv) {
    struct show s = {.verify = false};
    const char *arg = NULL;
    const struct option_row rows[] = {
        {'m', "model", "NAME", OPTION_TEXT, &arg, 0, 0, "the model's name, or a bundle's manifest"},
        {0, "json", NULL, OPTION_SWITCH, &s.json, 0, 0, "everything, texts in full, as JSON"},
        {0, "verify", NULL, OPTION_SWITCH, &s.verify, 0, 0,
         "read all of it and compare the digests"},
        OPTION_END,
    };
    int code;
    if (!options_parse(c, rows, &argc, &argv, &code)) return code;
    if (!arg && argc > 0) {
        arg = argv[0];
        argc--, argv++;
    }
    if (!arg || !*arg) return options_misused(c, "no model; name one that `glim list` shows");
    if (argc > 0) return options_misused(c, "'%.60s': one model at a time", argv[0]);
    arena_init(&s.arena, &mem_libc);
    code = show(&s, arg);
    arena_free(&s.arena);
    return code;
}

const struct command show_command = {
    .name = "show",
    .usage = "NAME",
    .about = "Show the layers, parameters and texts of a model in Ollama's store",
    .detail =
        "Every layer's file must be there with the size that the manifest says; --verify reads\n"
        "them all and compares their SHA-256. The exit status is 1 if a layer is not right.\n"
        "NAME may be the .json manifest of a LeapBundle too.",
    .examples = "examples:\n"
                "  glim show gemma4:e2b\n"
                "  glim show hf.co/LiquidAI/LFM2-350M-GGUF:Q4_K_M --verify\n",
    .main = show_main,
};
