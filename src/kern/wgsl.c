/* Composes kernels.
 *
 * The step record, in words: [0] T, [1] R, [2] where the rows are, [3] where the wanted rows are,
 * [4] where the sequences are; what struct draw has: [5] n (0: nothing is drawn), [6] least, [7] u,
 * [8] steps, [9..] kind and value of each. A row is {id, position, sequence}; an id with the top
 * bit is where in the activations it stands, as DRAW left it. A sequence has for each kind of layer
 * {where its pages are, how many slots}; position p is in page pages[p / KV_PAGE % slots]. */
#include "kern/wgsl.h"
#include "kern/cpu.h"
#include "kern/quant.h"

#include <stdarg.h>
#include <stdio.h>

/* Sizes that kernels and wgsl_groups share. */
enum {
    GROUP = 64,   /* threads of a workgroup */
    FEW_ROWS = 4, /* rows of weights per workgroup, in the form for few rows */
    TILE_N = 64,  /* and in the form for many: weight rows */
    TILE_T = 32,  /* by rows of activations */
};

_Static_assert(TOP_MOST == 256, "top.wgsl has a thread for each, and for each value of a byte");
_Static_assert(DRAW_BETA == 0 && DRAW_TOP_K == 1 && DRAW_TOP_P == 2, "draw.wgsl has these numbers");
_Static_assert(FEW_ROWS == 4, "product_few.wgsl sums by quarters of a workgroup");

/* How work is cut into workgroups. */
enum cut {
    CUT_ELEMENTS, /* GROUP elements of operand 0 each */
    CUT_ROWS,     /* one per row */
    CUT_WIDTH,    /* one per `width` columns of a row */
    CUT_HEADS,    /* one per head and row */
    CUT_MATMUL,
    CUT_EXPERT,
};
/* Bodies with an `each` say a value by row and column only, and get their main from there. */
static const struct {
    const char *body;
    enum cut cut;
    const char *each;
} kernels[OP_COUNT] = {
    [OP_EMBED] = {"embed", CUT_ROWS, NULL},
    [OP_RMS_NORM] = {"rms_norm", CUT_WIDTH, NULL},
    [OP_QUANTIZE] = {"quantize", CUT_ROWS, "each_block"},
    [OP_RMS_NORM_Q] = {"rms_norm_q", CUT_ROWS, NULL},
    [OP_MATMUL] = {"matmul", CUT_MATMUL, NULL},
    [OP_ROPE_ANGLES] = {"rope_angles", CUT_ELEMENTS, "each_element"},
    [OP_ROPE] = {"rope", CUT_ELEMENTS, "each_element"},
    [OP_KV_STORE] = {"kv_store", CUT_ELEMENTS, NULL},
    [OP_ATTEND] = {"attend", CUT_HEADS, NULL},
    [OP_ADD] = {"add", CUT_ELEMENTS, "each_element"},
    [OP_SCALE] = {"scale", CUT_ELEMENTS, "each_element"},
    [OP_SOFTCAP] = {"softcap", CUT_ELEMENTS, "each_element"},
    [OP_SWIGLU] = {"swiglu", CUT_ELEMENTS, "each_element"},
    [OP_SWIGLU_Q] = {"swiglu", CUT_ROWS, "each_block"},
    [OP_GEGLU] = {"geglu", CUT_ELEMENTS, "each_element"},
    [OP_GEGLU_Q] = {"geglu", CUT_ROWS, "each_block"},
    [OP_CONV_STORE] = {"conv_store", CUT_ELEMENTS, NULL},
    [OP_CONV] = {"conv", CUT_ELEMENTS, "each_element"},
    [OP_ROUTE] = {"route", CUT_ROWS, NULL},
    [OP_EXPERT] = {"expert", CUT_EXPERT, NULL},
    [OP_MIX] = {"mix", CUT_ELEMENTS, "each_element"},
    [OP_PICK] = {"pick", CUT_ELEMENTS, "each_element"},
    [OP_TOP] = {"top", CUT_ROWS, NULL},
    [OP_DRAW] = {"draw", CUT_ROWS, NULL},
};

static u64 parts(u64 n, u64 size) {
    return (n + size - 1) / size;
}

u64 wgsl_groups(const struct wgsl_variant *v, const struct op *op, u32 rows, u32 w_rows,
                u32 piece_rows) {
    u64 cols = op->args[0].cols;
    switch (kernels[v->op].cut) {
    case CUT_ELEMENTS:
        return parts(rows * cols, GROUP);
    case CUT_ROWS:
        return rows;
    case CUT_WIDTH:
        return rows * (cols / rms_norm_params(op).width);
    case CUT_HEADS:
        return rows * (cols / attend_params(op).head_dim);
    case CUT_MATMUL:
        if (v->tile) return parts(piece_rows, TILE_N) * parts(rows, TILE_T);
        return parts(piece_rows, FEW_ROWS) * rows;
    case CUT_EXPERT: {
        struct expert_params p = expert_params(op);
        if (v->tile) return (w_rows / p.stride) * parts(p.n, TILE_N);
        return parts(p.n, FEW_ROWS) * rows;
    }
    }
    return 0;
}

/* ---- Text ------------------------------------------------------------------------------------ */

struct kernel_text {
    char *out;
    size_t cap, n;
};

__attribute__((format(printf, 2, 3))) static void say(struct kernel_text *t, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    size_t room = t->n < t->cap ? t->cap - t->n : 0;
    t->n += (size_t)vsnprintf(room ? t->out + t->n : NULL, room, fmt, args);
    va_end(args);
}

static const char *yes(bool is) {
    return is ? "true" : "false";
}

static bool has_layer(const struct op_info *info) {
    for (u32 i = 0; i < OP_PARAMS && info->params[i].name; i++) {
        if (strcmp(info->params[i].name, "layer") == 0) return true;
    }
    return false;
}

static bool has_matrix(const struct op_info *info) {
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        if (info->operands[i].role == ROLE_MAT) return true;
    }
    return false;
}

u32 wgsl_bindings(const struct wgsl_variant *v) {
    const struct op_info *info = op_info(v->op);
    u32 mask = 1u << WGSL_PARAMS | 1u << WGSL_STEP | 1u << WGSL_ACT;
    if (has_matrix(info)) mask |= 1u << WGSL_W;
    if (v->has_v1) mask |= 1u << WGSL_V1;
    if (v->has_v2) mask |= 1u << WGSL_V2;
    if (has_layer(info)) mask |= 1u << WGSL_KV;
    if (has_matrix(info) && quant_uses_grids(quant_find(v->type))) mask |= 1u << WGSL_GRIDS;
    return mask;
}

static void put_constants(struct kernel_text *t, const struct wgsl_variant *v) {
    say(t,
        "const GROUP = %uu;\nconst FEW_ROWS = %uu;\nconst TILE_N = %uu;\nconst TILE_T = %uu;\n"
        "const KV_PAGE = %uu;\nconst KV_KINDS = %uu;\nconst KV_F16 = %s;\nconst HEAD_DIM = %uu;\n"
        "const HAS_V1 = %s;\nconst HAS_V2 = %s;\n",
        GROUP, FEW_ROWS, TILE_N, TILE_T, KV_PAGE, KV_KINDS, yes(v->kv_f16), MAX(v->head_dim, 1u),
        yes(v->has_v1), yes(v->has_v2));
}

static bool is_activation(const struct op_operand *o) {
    return o->role == ROLE_OUT || o->role == ROLE_IN;
}

/* The order is that of exec_gpu.c's fill_params. */
static void put_params(struct kernel_text *t, const struct op_info *info) {
    say(t, "struct Params {\n    groups: u32, w_row0: u32, w_rows: u32, w_pitch: u32,\n"
           "    kv_page: u32, kv_v: u32, kv_heads: u32, kv_kind: u32,\n");
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        const char *n = info->operands[i].name;
        if (!is_activation(&info->operands[i])) continue;
        say(t, "    %s_at: u32, %s_pitch: u32, %s_cols: u32, %s_rows: u32, %s_times: u32,\n", n, n,
            n, n, n);
    }
    for (u32 i = 0; i < OP_PARAMS && info->params[i].name; i++)
        say(t, "    %s: %s32,\n", info->params[i].name, info->params[i].kind == 'f' ? "f" : "u");
    say(t, "}\n");
}

static void put_bindings(struct kernel_text *t, const struct wgsl_variant *v) {
    static const char *const slots[] = {
        [WGSL_PARAMS] = "var<uniform> P: Params",
        [WGSL_STEP] = "var<storage, read> step_words: array<u32>",
        [WGSL_ACT] = "var<storage, read_write> act: array<u32>",
        [WGSL_W] = "var<storage, read> w: array<u32>",
        [WGSL_V1] = "var<storage, read> v1: array<f32>",
        [WGSL_V2] = "var<storage, read> v2: array<f32>",
        [WGSL_KV] = "var<storage, read_write> kv: array<u32>",
        [WGSL_GRIDS] = "var<storage, read> grids: array<u32>",
    };
    u32 mask = wgsl_bindings(v);
    for (u32 i = 0; i < COUNT(slots); i++) {
        const char *text = slots[i];
        if (i == WGSL_V1 && v->op == OP_ROPE_ANGLES) text = "var<storage, read> v1: array<u32>";
        if (mask >> i & 1) say(t, "@group(0) @binding(%u) %s;\n", i, text);
    }
}

/* Accessors of an operand named n: its values (get), and values as numbers in units of a scale per
 * 32 columns. A8 rows are planes: 4 int8 a word, scales, scaled sums. */
static void put_accessors(struct kernel_text *t, const struct op_operand *o, bool a8) {
    const char *n = o->name;
    say(t, "fn %s_n_rows() -> u32 { return step_words[P.%s_rows] * P.%s_times; }\n", n, n, n);
    if (!a8) {
        say(t,
            "fn %s_get(r: u32, c: u32) -> f32 { return bitcast<f32>(act[P.%s_at + r * "
            "P.%s_pitch + c]); }\n"
            "fn %s_number(r: u32, c: u32) -> f32 { return %s_get(r, c); }\n"
            "fn %s_scale(r: u32, b: u32) -> f32 { return 1.0; }\n",
            n, n, n, n, n, n);
        if (o->role == ROLE_OUT) {
            say(t,
                "fn %s_put(r: u32, c: u32, v: f32) { act[P.%s_at + r * P.%s_pitch + c] = "
                "bitcast<u32>(v); }\n",
                n, n, n);
        }
        return;
    }
    say(t, "fn %s_row(r: u32) -> u32 { return P.%s_at + r * P.%s_pitch; }\n", n, n, n);
    say(t,
        "fn %s_number(r: u32, c: u32) -> f32 {\n"
        "    let word = bitcast<i32>(act[%s_row(r) + c / 4u]);\n"
        "    return f32(extractBits(word, (c & 3u) * 8u, 8u));\n}\n"
        "fn %s_scale(r: u32, b: u32) -> f32 {\n"
        "    return bitcast<f32>(act[%s_row(r) + P.%s_cols / 4u + b]);\n}\n"
        "fn %s_get(r: u32, c: u32) -> f32 { return %s_scale(r, c / 32u) * %s_number(r, c); }\n",
        n, n, n, n, n, n, n, n);
    if (o->role != ROLE_OUT) return;
    say(t,
        "fn %s_put_word(r: u32, i: u32, q: u32) { act[%s_row(r) + i] = q; }\n"
        "fn %s_put_scale(r: u32, b: u32, d: u32, s: u32) {\n"
        "    let at = %s_row(r) + P.%s_cols / 4u + b;\n"
        "    act[at] = d;\n    act[at + P.%s_cols / 32u] = s;\n}\n",
        n, n, n, n, n, n);
}

/* The op's vectors, where they are absent what changes nothing. */
static void put_vectors(struct kernel_text *t, const struct wgsl_variant *v) {
    const char *one = v->has_v1 ? "v1[i]" : v->op == OP_MATMUL || v->op == OP_ROUTE ? "0.0" : "1.0";
    const char *name = v->op == OP_MATMUL ? "bias_at" : v->op == OP_ROUTE ? "bias_of" : "weight_of";
    if (v->op == OP_ROPE_ANGLES) return;
    say(t, "fn %s(i: u32) -> f32 { return %s; }\n", name, one);
    if (v->op == OP_ROUTE)
        say(t, "fn scale_of(i: u32) -> f32 { return %s; }\n", v->has_v2 ? "v2[i]" : "1.0");
}

/* decode_group(row, g, cols): hands values 32 g .. of a row of the piece to emit. */
static void put_decoder(struct kernel_text *t, u32 type) {
    const struct quant *q = quant_find(type);
    say(t, "fn weight_word(i: u32) -> u32 { return w[i]; }\n");
    if (quant_uses_grids(q)) say(t, "fn grid_word(i: u32) -> u32 { return grids[i]; }\n");
    size_t room = t->n < t->cap ? t->cap - t->n : 0;
    t->n += quant_wgsl(q, room ? t->out + t->n : NULL, room);
    if (q->block_len == 1) {
        say(t, "fn decode_group(row: u32, g: u32, cols: u32) {\n"
               "    decode(row * P.w_pitch, g, min(32u, cols - 32u * g));\n}\n");
    } else {
        say(t,
            "fn decode_group(row: u32, g: u32, cols: u32) {\n"
            "    let block = g / %uu;\n"
            "    decode((row * P.w_pitch) + (block * %uu), g %% %uu, 32u);\n}\n",
            q->block_len / 32, q->block_bytes, q->block_len / 32);
    }
}

/* The threads of a workgroup, where the kernel uses what is in reduce.wgsl; otherwise 0. */
static u32 reduces(const struct wgsl_variant *v) {
    switch (v->op) {
    case OP_MATMUL:
    case OP_EXPERT:
        return v->tile ? 0 : GROUP;
    case OP_RMS_NORM:
    case OP_RMS_NORM_Q:
    case OP_ATTEND:
    case OP_ROUTE:
        return GROUP;
    case OP_TOP:
        return TOP_MOST;
    default:
        return 0;
    }
}

/* Comes before all else, as `enable` must. */
static void put_reductions(struct kernel_text *t, u32 threads, struct wgsl_subgroups s) {
    u32 round = 1;
    while (round * round < threads)
        round *= 2;
    if (s.are == SUBGROUPS_NATIVE) say(t, "enable subgroups;\n");
    say(t, "const THREADS = %uu;\nconst ROUND = %uu;\n%s", threads, round, wgsl_body("reduce"));
    if (s.are == SUBGROUPS_EMULATED)
        say(t, "const EMULATED = %uu;\n%s", s.lanes, wgsl_body("subgroup_emulated"));
    say(t, "%s", wgsl_body(s.are == SUBGROUPS_NONE ? "reduce_workgroup" : "reduce_subgroup"));
}

size_t wgsl_reductions(u32 threads, struct wgsl_subgroups s, char *out, size_t cap) {
    struct kernel_text t = {.out = out, .cap = cap};
    put_reductions(&t, threads, s);
    if (cap) out[MIN(t.n, cap - 1)] = '\0';
    return t.n;
}

size_t wgsl_compose(const struct wgsl_variant *v, char *out, size_t cap) {
    const struct op_info *info = op_info(v->op);
    struct kernel_text t = {.out = out, .cap = cap};
    bool a8_out = false, decodes = has_matrix(info) && v->op != OP_CONV;
    if (reduces(v)) put_reductions(&t, reduces(v), v->subgroups);
    put_constants(&t, v);
    put_params(&t, info);
    put_bindings(&t, v);
    say(&t, "%s", wgsl_body("common"));
    for (u32 i = 0; i < OP_OPERANDS && info->operands[i].role; i++) {
        const struct op_operand *o = &info->operands[i];
        bool a8 = o->dtype == DT_A8 || (o->dtype == DT_ANY && v->x_a8);
        if (!is_activation(o)) continue;
        put_accessors(&t, o, a8);
        a8_out |= a8 && o->role == ROLE_OUT;
    }
    if (a8_out) say(&t, "%s", wgsl_body("a8"));
    if (has_layer(info)) say(&t, "%s", wgsl_body("pages"));
    put_vectors(&t, v);
    if (decodes) put_decoder(&t, v->type);
    say(&t, "%s", wgsl_body(kernels[v->op].body));
    if (kernels[v->op].each) say(&t, "%s", wgsl_body(kernels[v->op].each));
    if (v->op == OP_MATMUL || v->op == OP_EXPERT)
        say(&t, "%s", wgsl_body(v->tile ? "product_tile" : "product_few"));
    if (v->tile) say(&t, "%s", wgsl_body(v->op == OP_MATMUL ? "tile_rows" : "tile_slots"));
    if (cap) out[MIN(t.n, cap - 1)] = '\0';
    return t.n;
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

static const struct {
    const char *name, *text;
} bodies[] = {
#include "kern/wgsl_bodies.inc"
};

const char *wgsl_body(const char *name) {
    for (u32 i = 0; i < COUNT(bodies); i++) {
        if (strcmp(bodies[i].name, name) == 0) return bodies[i].text;
    }
    return NULL;
}
