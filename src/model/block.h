/* The sentences that model files are written in: typed builders of ops, activations that are made
 * in the form their consumers want, and the blocks that families share. Only this file's code
 * chooses between fused and plain ops. */
#ifndef MODEL_BLOCK_H
#define MODEL_BLOCK_H

#include "model/model.h"

struct build {
    struct prog *p;
    bool exact;
};

/* An activation not yet in memory: a plain value, a norm of one, or a gated product. Its f32 and A8
 * forms are recorded when first asked for. */
struct act {
    enum act_kind { ACT_PLAIN, ACT_NORM, ACT_SWIGLU, ACT_GEGLU } kind;
    struct ref x, y; /* sources; y: second operand or the norm's weight */
    f32 eps;
    struct ref f32_form, a8_form; /* REF_ABSENT until made */
};

struct act block_plain(struct ref x);
struct act block_norm(struct build *b, struct ref x, const struct weight *w, f32 eps);
struct act block_gated(enum act_kind kind, struct ref gate, struct ref up);
/* The f32 form. */
struct ref block_value(struct build *b, struct act *a);

struct ref block_embed(struct build *b, const struct weight *table, f32 scale); /* [T,D] */
/* x W^T + bias (NULL: none); A8 activations where the arithmetic is fast and W is quantised. */
struct ref block_linear(struct build *b, struct act *x, const struct weight *w,
                        const struct weight *bias);
struct ref block_rope_angles(struct build *b, const struct rope *r);
struct ref block_add(struct build *b, struct ref x, struct ref y, f32 scale); /* x + scale y */
struct ref block_scale(struct build *b, struct ref x, f32 scale);             /* scale x */
struct ref block_softcap(struct build *b, struct ref x, f32 cap);
struct ref block_pick(struct build *b, struct ref x); /* rows whose logits are wanted */
void block_draw(struct build *b);                     /* a token from the program's output */

/* Attention weights of a layer; NULL where the family has none. */
struct attention {
    u32 head_dim;                         /* E */
    const struct weight *q;               /* [H E, D] */
    const struct weight *k, *v;           /* [K E, D] */
    const struct weight *o;               /* [D, H E] */
    const struct weight *q_bias, *k_bias; /* [H E], [K E] */
    const struct weight *v_bias;          /* [K E] */
    const struct weight *q_norm, *k_norm; /* [E], applied per head before rope */
};
enum {
    ATTENTION_BIAS = 1,
    ATTENTION_NORM = 2,
    ATTENTION_QUERY = 4,  /* no keys and values: the layer reads another's cache */
    ATTENTION_K_AS_V = 8, /* v may be absent: it is k before its norm and rope */
};
/* Binds blk.I.attn_*; with: how the family differs from plain q, k, v and output. */
void block_bind_attention(struct model *m, struct attention *a, u32 layer, u32 head_dim, u32 with);

/* How a layer attends. */
struct attend_how {
    u32 layer;         /* of the cache */
    struct ref angles; /* of rope */
    bool neox;         /* pairs (j, j + n/2); else (2j, 2j + 1) */
    f32 scale;         /* of the scores */
    u32 window;        /* 0: all earlier positions */
    bool value_norm;   /* v is normalised per head, without a weight */
    bool narrow;       /* go on with the rows whose logits are wanted only */
};
/* The attention's output after its projection [T or R, D]; y is the normalised input. */
struct ref block_attention(struct build *b, const struct model *m, struct act *y,
                           const struct attention *w, const struct attend_how *how);

/* RMSNorm of each `width` columns; w [width] may be NULL. */
struct ref block_head_norm(struct build *b, struct ref x, u32 width, const struct weight *w,
                           f32 eps);

/* LFM2's short convolution: bcx [T, 3 D] holds the gate before, the gate after and the input. */
struct ref block_conv(struct build *b, struct ref bcx, const struct weight *taps, u32 layer,
                      bool narrow);

/* A gated feed-forward. */
struct ffn {
    const struct weight *gate, *up; /* [F, D] */
    const struct weight *down;      /* [D, F] */
};
void block_bind_ffn(struct model *m, struct ffn *f, u32 layer); /* blk.I.ffn_* */
struct ref block_ffn(struct build *b, struct act *y, const struct ffn *w, enum act_kind gate);

/* A mixture of gated feed-forwards. */
struct experts {
    u32 n, used, ff;                /* experts, of which a token uses some; F of each */
    const struct weight *score;     /* [experts, D] */
    const struct weight *bias;      /* [experts] added for the choice only, or NULL */
    const struct weight *scale;     /* [experts] of the weights, or NULL */
    const struct weight *gate, *up; /* [experts * stride, D] */
    u32 stride, up_first;           /* rows per expert; gate is the first F, up those from here */
    const struct weight *down;      /* [experts * D, F] */
};
/* Binds blk.I.ffn_*_exps, gate and up apart or as one, and ffn_gate_inp. */
void block_bind_experts(struct model *m, struct experts *x, u32 layer);
/* scores: the router's input; y: the experts'. */
struct ref block_experts(struct build *b, struct act *scores, struct act *y,
                         const struct experts *w, enum route_gate gate, enum act_kind kind);

#endif
