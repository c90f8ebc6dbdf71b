/* The sentences that model files are written in: typed builders of ops, and activations that are
 * made in the form their consumers want. Only this file chooses between fused and plain ops. */
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
    enum { ACT_PLAIN, ACT_NORM, ACT_SWIGLU } kind;
    struct ref x, y; /* sources; y: second operand or the norm's weight */
    f32 eps;
    struct ref f32_form, a8_form; /* REF_ABSENT until made */
};

struct ref block_embed(struct build *b, const struct weight *table, f32 scale); /* [T,D] */
struct act block_plain(struct ref x);
struct act block_norm(struct build *b, struct ref x, const struct weight *w, f32 eps);
struct act block_swiglu(struct ref gate, struct ref up);
/* x W^T; A8 activations where the arithmetic is fast and the format is quantised. */
struct ref block_linear(struct build *b, struct act *x, const struct weight *w);
struct ref block_rope_angles(struct build *b, const struct weight *inv_freq, f32 factor);
struct ref block_rope(struct build *b, struct ref x, struct ref angles, u32 head_dim, bool neox);
void block_kv_store(struct build *b, struct ref k, struct ref v, u32 layer);
struct ref block_attend(struct build *b, struct ref q, u32 layer, u32 head_dim, f32 scale,
                        f32 softcap, u32 window);
struct ref block_add(struct build *b, struct ref x, struct ref y);
struct ref block_pick(struct build *b, struct ref x); /* rows whose logits are wanted */

#endif
