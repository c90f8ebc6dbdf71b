/* Recording of programs: values, ops and their checks. */
#include "model/prog.h"

#include <string.h>

void prog_init(struct prog *p, struct arena *a, u32 max_t, u32 max_r) {
    *p = (struct prog){
        .arena = a, .max_t = max_t, .max_r = max_r, .best = REF_ABSENT, .drawn = REF_ABSENT};
}

/* Room for one more item in a growing array of the arena; old copies stay there until it goes. */
static bool grow(struct prog *p, void *items, u32 n, u32 *cap, size_t size) {
    if (n < *cap) return true;
    u32 want = *cap ? *cap * 2 : 256;
    void *more = arena_array(p->arena, want, size);
    if (!more) {
        fail(&p->err, GLIM_NOMEM, "out of memory (program)");
        return false;
    }
    void *old;
    memcpy(&old, items, sizeof old);
    if (n) memcpy(more, old, n * size);
    memcpy(items, &more, sizeof more);
    *cap = want;
    return true;
}

static struct val *new_val(struct prog *p) {
    if (!grow(p, &p->vals, p->n_vals, &p->cap_vals, sizeof *p->vals)) return NULL;
    return &p->vals[p->n_vals++];
}

struct ref prog_weight(struct prog *p, const struct weight *w) {
    if (!w) return REF_ABSENT;
    struct val *v = new_val(p);
    if (!v) return REF_ABSENT;
    *v = (struct val){.weight = w, .dtype = DT_F32, .times = 1, .cols = w->cols, .pitch = w->pitch};
    return (struct ref){p->n_vals - 1, 0, w->cols};
}

struct ref prog_slice(struct prog *p, struct ref x, u32 col, u32 cols) {
    if (x.val == REF_NONE || col > x.cols || x.cols - col < cols ||
        p->vals[x.val].dtype != DT_F32) {
        fail(&p->err, GLIM_SHAPE, "slice %u+%u of a value of %u columns", col, cols, x.cols);
        return REF_ABSENT;
    }
    return (struct ref){x.val, x.col + col, cols};
}

/* The numbers that shape letters stand for within one op; 0: not yet bound. */
struct letters {
    u32 n[128];
};

static bool bind_letter(struct letters *l, char letter, u32 n) {
    if (letter == '1') return n == 1;
    u32 *slot = &l->n[(unsigned char)letter & 127];
    if (*slot == 0) *slot = n;
    return *slot == n;
}

/* T means the batch's rows; after narrowing they are R, and with experts several per token. As a
 * number that a letter can be bound to: */
static u32 rows_code(enum val_rows rows, u32 times) {
    return times * 2 + (u32)rows;
}

/* Checks operand d (not the output) against its description; returns what is wrong or NULL. */
static const char *check_operand(const struct prog *p, const struct op_operand *d, struct ref r,
                                 struct letters *l) {
    if (r.val == REF_NONE) return d->role == ROLE_OPT_VEC ? NULL : "is missing";
    const struct val *v = &p->vals[r.val];
    bool constant = d->role != ROLE_IN;
    if (constant != (v->weight != NULL)) return constant ? "is no weight" : "is a weight";
    if (!constant) {
        if (d->dtype != DT_ANY && d->dtype != v->dtype) return "has the wrong type";
        if (!bind_letter(l, d->rows, rows_code(v->rows, v->times))) return "has other rows";
    } else {
        if (d->role != ROLE_MAT && v->weight->type != QUANT_F32) return "is not F32";
        if (!bind_letter(l, d->rows, v->weight->rows)) return "has the wrong number of rows";
    }
    return bind_letter(l, d->cols, r.cols) ? NULL : "has the wrong number of columns";
}

static u64 pitch_of(enum dtype dtype, u32 cols) {
    u64 bytes = dtype == DT_A8 ? a8_row_bytes(cols) : (u64)cols * sizeof(f32);
    return (bytes + 63) & ~(u64)63;
}

struct ref prog_op(struct prog *p, enum op_code code, const struct ref *in, u32 out_cols,
                   const void *params) {
    if (p->err.code) return REF_ABSENT;
    const struct op_info *info = op_info(code);
    struct op op = {.code = code};
    struct letters letters = {{0}};
    bool has_out = info->operands[0].role == ROLE_OUT;
    u32 n = 0;
    for (u32 i = has_out; i < OP_OPERANDS && info->operands[i].role; i++, n++) {
        const char *wrong = check_operand(p, &info->operands[i], in[n], &letters);
        if (wrong) {
            fail(&p->err, GLIM_SHAPE, "op %u (%s): operand '%s' %s", p->n_ops, info->name,
                 info->operands[i].name, wrong);
            return REF_ABSENT;
        }
        op.args[i] = in[n];
        if (in[n].val != REF_NONE) p->vals[in[n].val].last = p->n_ops;
    }
    for (u32 i = 0; i < OP_PARAMS && info->params[i].name; i++) {
        memcpy(&op.params[i], (const u8 *)params + 4 * i, 4);
    }
    struct ref out = REF_ABSENT;
    if (has_out) {
        const struct op_operand *d = &info->operands[0];
        u32 cols = letters.n[(unsigned char)d->cols];
        u32 rows = letters.n[(unsigned char)d->rows];
        if (!rows && d->rows == 'S') { /* slots: the first parameter says how many per token */
            rows = rows_code(letters.n['T'] & 1 ? ROWS_R : ROWS_T, op.params[0]);
        }
        if (!rows) rows = rows_code(d->rows == 'R' ? ROWS_R : ROWS_T, 1);
        struct val *v = new_val(p);
        if (!v) return REF_ABSENT;
        *v = (struct val){.dtype = d->dtype,
                          .rows = rows & 1 ? ROWS_R : ROWS_T,
                          .times = rows / 2,
                          .cols = cols ? cols : out_cols,
                          .first = p->n_ops,
                          .last = p->n_ops};
        v->pitch = pitch_of(v->dtype, v->cols);
        out = op.args[0] = (struct ref){p->n_vals - 1, 0, v->cols};
    }
    if (!grow(p, &p->ops, p->n_ops, &p->cap_ops, sizeof *p->ops)) return REF_ABSENT;
    p->ops[p->n_ops++] = op;
    return out;
}
