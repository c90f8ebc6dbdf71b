/* A model: hyper-parameters and weights bound by name and shape, for one row of the table of
 * architectures. Everything is checked here, before any arithmetic, so that later code may trust
 * it: a missing or mis-shaped tensor is an error that says which. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "file/gguf.h"
#include "model/prog.h"

/* Common hyper-parameters; key names without the architecture's prefix in brackets. */
struct hparams {
    u32 n_layers;    /* [block_count] */
    u32 n_ctx;       /* [context_length] the longest sequence it was trained for */
    u32 d;           /* [embedding_length] D */
    u32 vocab;       /* V: rows of token_embd */
    u32 n_heads;     /* [attention.head_count] H */
    u32 head_dim;    /* [attention.key_length] E, else D / H */
    u32 *n_kv_heads; /* [attention.head_count_kv] per layer, K */
    u32 *ff;         /* [feed_forward_length] per layer, F */
    u32 window;      /* [attention.sliding_window], 0: none */
    f32 eps;         /* [attention.layer_norm_rms_epsilon] */
};

struct build;
struct model;

enum {
    ARCH_KV_ZERO = 1, /* head_count_kv may be 0: a layer without attention */
    ARCH_TOWERS = 2,  /* the file may hold vision and audio towers, which are left alone */
};

/* One row per architecture: a file in this folder. */
struct arch {
    const char *name; /* general.architecture */
    u32 flags;        /* ARCH_* */
    f32 eps;          /* of norms where a file has no key for it */
    /* Binds weights; what it returns is handed to build as m->weights. */
    int (*bind)(struct model *m, glim_err *e);
    /* Appends the forward pass to b->p. */
    void (*build)(struct build *b, const struct model *m);
};

struct model {
    const char *name; /* for messages: the path */
    const struct arch *arch;
    struct arena arena; /* all of the model's own memory */
    struct gguf gguf;
    struct hparams hp;
    struct kv_layer *kv; /* per layer that owns a cache; offsets are set by kv_layout_init */
    u32 n_kv;
    u32 windows[KV_KINDS]; /* positions that layers of a kind see; of KV_FULL unused */
    const void *weights;   /* the architecture's struct */
    u64 weight_bytes;      /* of the tensors that are bound */
    u64 idle_bytes;        /* of them, what decoding a token does not read */
    u64 bytes_per_token;   /* the difference */
    u64 table_bytes;       /* of weight_bytes, tables of which only tokens' rows are read */
    const struct weight *tables[2]; /* these */
    u32 n_tables;
    char note[320]; /* of model_note; empty if there is nothing to tell */
    /* while binding */
    bool *used;
    u32 n_wrong;
    char wrong[160];
};

/* Opens the file (or split set) and binds its weights. On failure nothing is left to close. */
int model_open(struct model *m, const char *path, const glim_alloc *a, glim_err *e);
void model_close(struct model *m);

/* Rows read so far of model_reads_by_id's tables may leave memory: where a file's pages are cached,
 * each row brings its neighbours along, and in time all of the table would count as this
 * process's. */
void model_drop_rows(const struct model *m);

/* Names of supported architectures, comma-separated. */
const char *model_archs(void);

/* The program of the whole forward pass, planned. exact: f32 activations throughout; otherwise
 * int8 activations in front of quantised weights, and fused ops. p->draws adds choosing a token;
 * p->host_tables marks the ops that read the tables of model_reads_by_id. */
int model_build(const struct model *m, struct prog *p, bool exact, glim_err *e);

/* --- for architecture files --- */

/* The tensor of that name with that shape, y[rows] = W[rows,cols] x[cols]; vectors have rows 1 and
 * must be F32. A wrong one is noted (model_bound reports) and gives NULL. */
__attribute__((format(printf, 4, 5))) const struct weight *
model_weight(struct model *m, u32 rows, u32 cols, const char *fmt, ...);
/* The same, but NULL without complaint where the file has no such tensor. */
__attribute__((format(printf, 4, 5))) const struct weight *
model_weight_opt(struct model *m, u32 rows, u32 cols, const char *fmt, ...);
/* A tensor that some files hold and nothing reads: nobody complains of it. True if it was there. */
__attribute__((format(printf, 2, 3))) bool model_unread(struct model *m, const char *fmt, ...);
/* Matrices of n experts one after the other: [n * rows, cols], from a tensor of three dimensions.
 */
__attribute__((format(printf, 5, 6))) const struct weight *
model_experts(struct model *m, u32 n, u32 rows, u32 cols, const char *fmt, ...);
__attribute__((format(printf, 5, 6))) const struct weight *
model_experts_opt(struct model *m, u32 n, u32 rows, u32 cols, const char *fmt, ...);
/* A constant made at load, [rows, cols] of F32 to be filled in; NULL when out of memory. */
struct weight *model_constant(struct model *m, const char *name, u32 rows, u32 cols, f32 **data);
/* Notes something that a person should hear. Said twice, it is noted once. */
__attribute__((format(printf, 2, 3))) void model_note(struct model *m, const char *fmt, ...);
/* A decoded token reads this many rows of w, not all (experts). NULL is fine. */
void model_reads(struct model *m, const struct weight *w, u32 rows);
/* w is a table of which only the rows of tokens are ever read (an embedding that is not also the
 * output): it is counted apart, and not kept in memory. At most two; NULL is fine. */
void model_reads_by_id(struct model *m, const struct weight *w);
/* After the last: GLIM_SHAPE naming what was missing or mis-shaped, or a tensor nobody asked for.
 */
int model_bound(struct model *m, glim_err *e);

/* Rotary embedding of heads: angle j at position p is p * inv_freq[j]. */
struct rope {
    const struct weight *inv_freq; /* [n/2], n = rope.dimension_count, else the head width */
    f32 factor;                    /* multiplies cos and sin */
};
enum {
    ROPE_SCALED = 1,  /* the file's rope.scaling.* apply */
    ROPE_FACTORS = 2, /* so does its rope_freqs tensor, if it has one */
};
/* For heads of head_dim. suffix: of the keys rope.freq_base and rope.dimension_count ("" or
 * "_swa"); base: where the file has none. */
int model_rope(struct model *m, struct rope *r, const char *suffix, u32 head_dim, f32 base,
               u32 flags, glim_err *e);

/* Typed metadata under the architecture's prefix: required, or with a default when absent; out of
 * [lo, hi] is an error naming the key. */
int model_u32(struct model *m, const char *key, u32 lo, u32 hi, u32 *out, glim_err *e);
int model_u32_or(struct model *m, const char *key, u32 lo, u32 hi, u32 def, u32 *out, glim_err *e);
int model_f32_or(struct model *m, const char *key, f32 def, f32 *out, glim_err *e);

extern const struct arch llama_arch, qwen2_arch, qwen3_arch, granite_arch, gemma3_arch, gemma4_arch,
    lfm2_arch, lfm2moe_arch;

#endif
