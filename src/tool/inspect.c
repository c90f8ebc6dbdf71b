/* glim inspect: what is in a model file and what running it would take. Needs no support of the
 * architecture; only the memory plan does. */
#include "tool/inspect.h"

#include "tool/format.h"
#include "tool/options.h"

#include <stdio.h>
#include <string.h>

const char *inspect_type_name(enum gguf_type type) {
    static const char *const names[] = {
        [GGUF_U8] = "u8",   [GGUF_I8] = "i8",       [GGUF_U16] = "u16", [GGUF_I16] = "i16",
        [GGUF_U32] = "u32", [GGUF_I32] = "i32",     [GGUF_F32] = "f32", [GGUF_BOOL] = "bool",
        [GGUF_STR] = "str", [GGUF_ARRAY] = "array", [GGUF_U64] = "u64", [GGUF_I64] = "i64",
        [GGUF_F64] = "f64",
    };
    return (size_t)type < COUNT(names) && names[type] ? names[type] : "?";
}

/* ---- Finding out ----------------------------------------------------------------------------- */

static void count_tensors(struct inspect *in) {
    for (u64 i = 0; i < in->g.n_tensors; i++) {
        const struct gguf_tensor *t = &in->g.tensors[i];
        u64 values = t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3]; /* checked by the reader */
        struct inspect_type *of[] = {&in->types[t->type], &in->total};
        for (u32 k = 0; k < COUNT(of); k++) {
            of[k]->n++;
            of[k]->values += values;
            of[k]->bytes += t->bytes;
        }
    }
    for (u32 i = 0; i < in->g.n_parts; i++)
        in->file_bytes += in->g.parts[i]->size;
}

/* Opens the model as running it would, to learn what that takes. */
static void make_plan(struct inspect *in, const struct model_options *o,
                      const glim_session_params *p) {
    glim_engine *engine = NULL;
    glim_model *model = NULL;
    int rc = options_engine(o, &engine, &in->why);
    if (rc == GLIM_OK) snprintf(in->device, sizeof in->device, "%s", glim_engine_device(engine));
    if (rc == GLIM_OK) rc = glim_model_open(&model, engine, in->path, &in->why);
    if (rc == GLIM_OK) rc = glim_session_plan(model, p, &in->plan, &in->why);
    in->has_plan = rc == GLIM_OK;
    glim_model_close(model);
    glim_engine_close(engine);
}

/* ---- For people ------------------------------------------------------------------------------ */

/* Items of an array and bytes of a string that are shown. */
enum { ITEMS = 4, TEXT = 72, ITEM_TEXT = 24 };

/* A text's beginning, without cutting a character in two. */
static void put_text(struct str s, size_t most) {
    struct str head = s;
    if (head.n > most) {
        head.n = most;
        while (head.n && ((u8)s.p[head.n] & 0xc0) == 0x80)
            head.n--;
    }
    format_quoted(head, stdout);
    if (head.n < s.n) printf("... (%zu bytes)", s.n);
}

static void put_scalar(const struct gguf_kv *kv) {
    switch (kv->type) {
    case GGUF_STR:
        put_text(kv->s, TEXT);
        break;
    case GGUF_BOOL:
        printf("%s", kv->u ? "true" : "false");
        break;
    case GGUF_F32:
    case GGUF_F64:
        printf("%g", kv->f);
        break;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64:
        printf("%lld", (long long)kv->i);
        break;
    default:
        printf("%llu", (unsigned long long)kv->u);
    }
}

static void put_item(const struct gguf_kv *kv, u64 i) {
    switch (kv->type) {
    case GGUF_STR:
        put_text(kv->strings[i], ITEM_TEXT);
        break;
    case GGUF_BOOL:
        printf("%s", gguf_item_int(kv, i) ? "true" : "false");
        break;
    case GGUF_F32:
    case GGUF_F64:
        printf("%g", gguf_item_real(kv, i));
        break;
    case GGUF_U64:
        printf("%llu", (unsigned long long)gguf_item_int(kv, i));
        break;
    default:
        printf("%lld", (long long)gguf_item_int(kv, i));
    }
}

/* Names come from the file: no control characters reach the terminal. Padded to width. */
static void put_name(struct str s, int width) {
    for (size_t i = 0; i < s.n; i++)
        putchar((u8)s.p[i] < 0x20 || s.p[i] == 0x7f ? '?' : s.p[i]);
    for (int i = (int)MIN(s.n, 1000u); i < width; i++)
        putchar(' ');
}

static int widest(const void *items, size_t stride, u64 n, size_t most) {
    size_t w = 0;
    for (u64 i = 0; i < n; i++) { /* keys and tensors both begin with their name */
        size_t len = ((const struct str *)((const char *)items + i * stride))->n;
        if (len <= most) w = MAX(w, len);
    }
    return (int)w;
}

static void print_metadata(const struct gguf *g) {
    printf("\nmetadata: %llu entries\n", (unsigned long long)g->n_kv);
    int width = widest(g->kv, sizeof *g->kv, g->n_kv, 48);
    for (u64 i = 0; i < g->n_kv; i++) {
        const struct gguf_kv *kv = &g->kv[i];
        char type[40];
        if (kv->is_array)
            snprintf(type, sizeof type, "%s[%llu]", inspect_type_name(kv->type),
                     (unsigned long long)kv->n);
        else
            snprintf(type, sizeof type, "%s", inspect_type_name(kv->type));
        printf("  ");
        put_name(kv->key, width);
        printf("  %-11s ", type);
        if (!kv->is_array) put_scalar(kv);
        for (u64 k = 0; kv->is_array && k < MIN(kv->n, (u64)ITEMS); k++) {
            if (k) printf(", ");
            put_item(kv, k);
        }
        printf("%s\n", kv->is_array && kv->n > ITEMS ? ", ..." : "");
    }
}

static void print_tensors(const struct gguf *g) {
    printf("\ntensors: %llu\n", (unsigned long long)g->n_tensors);
    int width = widest(g->tensors, sizeof *g->tensors, g->n_tensors, 48);
    for (u64 i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        char shape[96];
        size_t n = (size_t)snprintf(shape, sizeof shape, "[%llu", (unsigned long long)t->dims[0]);
        for (u32 k = 1; k < t->n_dims; k++)
            n += (size_t)snprintf(shape + n, sizeof shape - n, ", %llu",
                                  (unsigned long long)t->dims[k]);
        snprintf(shape + n, sizeof shape - n, "]");
        printf("  ");
        put_name(t->name, width);
        printf("  %-8s %-16s %10s\n", quant_find(t->type)->name, shape, format_size(t->bytes).s);
    }
}

/* 134515008 as "134.5 M". */
static void put_count(u64 n) {
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    f64 v = (f64)n;
    u32 i = 0;
    for (; v >= 999.95 && i + 1 < COUNT(units); i++)
        v /= 1000;
    printf(i ? "%.1f%s" : "%.0f%s", v, units[i]);
}

static void print_types(const struct inspect *in) {
    printf("\ntypes\n");
    for (u32 i = 0; i < QUANT_TYPES; i++) {
        const struct inspect_type *t = &in->types[i];
        if (!t->n) continue;
        printf("  %-8s %6llu tensor%s", quant_find(i)->name, (unsigned long long)t->n,
               t->n == 1 ? ",  " : "s, ");
        put_count(t->values);
        printf(" parameters, %s\n", format_size(t->bytes).s);
    }
}

static void print_plan(const struct inspect *in) {
    if (!in->has_plan) {
        printf("\nmemory: no plan; %s\n", in->why.msg);
        return;
    }
    const glim_plan *p = &in->plan;
    printf("\nmemory for a context of %u tokens", p->n_ctx);
    if (p->on_gpu) printf(" on %s", in->device);
    printf("\n  %-12s %10s%s\n", "weights", format_size(p->weights).s,
           p->on_gpu ? "" : "  read in place from the file");
    if (p->tables) {
        printf("  %-12s %10s%s\n", "tables", format_size(p->tables).s,
               p->tables_in_file ? "  in the file, rows read as tokens need them; not in the total"
                                 : "  of which only the rows of tokens are read");
    }
    printf("  %-12s %10s%s\n", "KV cache", format_size(p->kv).s,
           p->on_gpu ? "" : "  used as the context fills");
    printf("  %-12s %10s\n", "activations", format_size(p->activations).s);
    printf("  %-12s %10s", "total", format_size(p->total).s);
    if (p->gpu_memory) {
        printf("  %sthe GPU has %s", p->total > p->gpu_free ? "too much: " : "",
               format_size(p->gpu_memory).s);
    }
    printf("\n");
}

static void print_all(const struct inspect *in) {
    const struct gguf *g = &in->g;
    printf("file: GGUF version %u, %s", g->version, format_size(in->file_bytes).s);
    if (g->n_parts > 1) printf(" in %u parts", g->n_parts);
    printf("\narchitecture: ");
    put_name(in->arch.n ? in->arch : (struct str){"not named", 9}, 0);
    printf("\nparameters: ");
    put_count(in->total.values);
    printf("\n");
    print_metadata(g);
    print_tensors(g);
    print_types(in);
    print_plan(in);
}

/* ---- Command line ---------------------------------------------------------------------------- */

static int inspect_main(const struct command *c, int argc, char **argv) {
    struct model_options o = {0};
    glim_session_params p = {0};
    bool json = false;
    const struct option_row rows[] = {
        OPTION_MODEL(o),
        {0, "json", NULL, OPTION_SWITCH, &json, 0, 0, "everything, arrays in full, as JSON"},
        {'c', "ctx-size", "N", OPTION_U32, &p.n_ctx, 1, 1u << 28,
         "memory plan for N tokens (default: as glim run)"},
        {0, "exact", NULL, OPTION_SWITCH, &p.exact, 0, 0, "memory plan for exact arithmetic"},
        OPTION_DEVICE(o),
        OPTION_END,
    };
    int code;
    if (!options_parse(c, rows, &argc, &argv, &code)) return code;
    if (!options_model(c, &o, &argc, &argv, &code)) return code;
    if (argc > 0)
        return options_misused(c, "'%.60s': one argument too many, the model is named already",
                               argv[0]);
    struct inspect in = {.path = o.model};
    o.threads = 1;
    p.tables = options_tables(&o);
    struct arena arena;
    glim_err e = {0};
    arena_init(&arena, &mem_libc);
    if (gguf_open(&in.g, o.model, &arena, quant_size, &e) < 0) {
        code = options_failed_at(o.model, &e);
    } else {
        const struct gguf_kv *arch = gguf_find(&in.g, "general.architecture");
        if (arch && arch->type == GGUF_STR && !arch->is_array) in.arch = arch->s;
        count_tensors(&in);
        make_plan(&in, &o, &p);
        if (json) {
            code = inspect_json(&in);
        } else {
            print_all(&in);
            code = TOOL_FINE;
        }
        gguf_close(&in.g);
    }
    arena_free(&arena);
    return code;
}

const struct command inspect_command = {
    .name = "inspect",
    .usage = "MODEL",
    .about = "Show what is in a model file and the memory it takes",
    .detail =
        "Shapes are in the file's order, the fastest dimension first. Works for any GGUF file;\n"
        "the memory plan needs an architecture that this glim can run.",
    .examples = "examples:\n"
                "  glim inspect model.gguf -c 4096 --device gpu\n"
                "  glim inspect model.gguf --json | jq '.plan.total'\n",
    .main = inspect_main,
};
