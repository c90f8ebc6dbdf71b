/* Binding of tensors by name and shape. What is wrong is collected, so that one message names the
 * first few. */
#include "model/model.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Notes a wrong tensor. */
__attribute__((format(printf, 2, 3))) static void misfit(struct model *m, const char *fmt, ...) {
    size_t n = strlen(m->wrong);
    if (m->n_wrong++ && n + 2 < sizeof m->wrong) n += (size_t)sprintf(m->wrong + n, "; ");
    va_list args;
    va_start(args, fmt);
    vsnprintf(m->wrong + n, sizeof m->wrong - n, fmt, args);
    va_end(args);
}

void model_note(struct model *m, const char *fmt, ...) {
    char text[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t n = strlen(m->note);
    if (strstr(m->note, text)) return;
    snprintf(m->note + n, sizeof m->note - n, "%s%s", n ? "; " : "", text);
}

/* What is asked of a tensor: n matrices, one after the other. */
struct want {
    bool required;
    u32 n, rows, cols;
};

static bool fits(struct model *m, const struct gguf_tensor *t, const char *name,
                 const struct want *want) {
    u32 dims[4] = {want->cols, want->rows, want->n, 1};
    for (u32 i = 0; i < 4; i++) {
        if (t->dims[i] == dims[i]) continue;
        char has[80], needs[40];
        int n = snprintf(has, sizeof has, "%llu, %llu", (unsigned long long)t->dims[0],
                         (unsigned long long)t->dims[1]);
        if (t->n_dims > 2 && n > 0) {
            snprintf(has + n, sizeof has - (size_t)n, ", %llu", (unsigned long long)t->dims[2]);
        }
        n = snprintf(needs, sizeof needs, "%u, %u", dims[0], dims[1]);
        if (want->n > 1 && n > 0) snprintf(needs + n, sizeof needs - (size_t)n, ", %u", dims[2]);
        misfit(m, "'%s' is [%s], expected [%s]", name, has, needs);
        return false;
    }
    if (want->n == 1 && want->rows == 1 && t->type != QUANT_F32) {
        misfit(m, "'%s' has type %s, expected F32", name, quant_find(t->type)->name);
        return false;
    }
    if (!t->data) misfit(m, "'%s' is not in mapped memory", name);
    return t->data != NULL;
}

__attribute__((format(printf, 3, 0))) static const struct weight *
bind(struct model *m, struct want want, const char *fmt, va_list args) {
    char name[64];
    vsnprintf(name, sizeof name, fmt, args);
    const struct gguf_tensor *t = gguf_tensor(&m->gguf, name);
    if (!t) {
        if (want.required) misfit(m, "'%s' is missing", name);
        return NULL;
    }
    m->used[t - m->gguf.tensors] = true;
    u64 rows;
    if (!fits(m, t, name, &want)) return NULL;
    if (!mul_ok(want.n, want.rows, &rows) || rows > UINT32_MAX) {
        misfit(m, "'%s' has too many rows", name);
        return NULL;
    }
    struct weight *w = arena_get(&m->arena, sizeof *w);
    char *copy = arena_text(&m->arena, t->name);
    if (!w || !copy) {
        misfit(m, "out of memory");
        return NULL;
    }
    *w = (struct weight){.name = copy,
                         .data = t->data,
                         .type = t->type,
                         .rows = (u32)rows,
                         .cols = want.cols,
                         .pitch = t->bytes / rows,
                         .source = m->gguf.parts[t->part]};
    m->weight_bytes += t->bytes;
    return w;
}

/* The four spellings of bind. */
#define BIND(want_required, want_n)                                                                \
    va_list args;                                                                                  \
    va_start(args, fmt);                                                                           \
    const struct weight *w = bind(m, (struct want){want_required, want_n, rows, cols}, fmt, args); \
    va_end(args);                                                                                  \
    return w

const struct weight *model_weight(struct model *m, u32 rows, u32 cols, const char *fmt, ...) {
    BIND(true, 1);
}

const struct weight *model_weight_opt(struct model *m, u32 rows, u32 cols, const char *fmt, ...) {
    BIND(false, 1);
}

const struct weight *model_experts(struct model *m, u32 n, u32 rows, u32 cols, const char *fmt,
                                   ...) {
    BIND(true, n);
}

const struct weight *model_experts_opt(struct model *m, u32 n, u32 rows, u32 cols, const char *fmt,
                                       ...) {
    BIND(false, n);
}

bool model_unread(struct model *m, const char *fmt, ...) {
    char name[64];
    va_list args;
    va_start(args, fmt);
    vsnprintf(name, sizeof name, fmt, args);
    va_end(args);
    const struct gguf_tensor *t = gguf_tensor(&m->gguf, name);
    if (t) m->used[t - m->gguf.tensors] = true;
    return t != NULL;
}

struct weight *model_constant(struct model *m, const char *name, u32 rows, u32 cols, f32 **data) {
    struct weight *w = arena_get(&m->arena, sizeof *w);
    *data = arena_array(&m->arena, (u64)rows * cols, sizeof **data);
    if (!w || !*data) return NULL;
    *w = (struct weight){.name = name,
                         .data = (const u8 *)*data,
                         .type = QUANT_F32,
                         .rows = rows,
                         .cols = cols,
                         .pitch = (u64)cols * sizeof **data};
    return w;
}

void model_reads(struct model *m, const struct weight *w, u32 rows) {
    if (w) m->idle_bytes += w->pitch * (w->rows - MIN(rows, w->rows));
}

/* The hint for a table's bytes. */
static void hint(const struct weight *w, enum source_hint hint) {
    source_hint(w->source, w->data, w->pitch * w->rows, hint);
}

void model_reads_by_id(struct model *m, const struct weight *w) {
    if (!w) return;
    assert(m->n_tables < COUNT(m->tables));
    m->tables[m->n_tables++] = w;
    m->table_bytes += w->pitch * w->rows;
    model_reads(m, w, 1);
    hint(w, SOURCE_SCATTERED);
}

void model_drop_rows(const struct model *m) {
    for (u32 i = 0; i < m->n_tables; i++)
        hint(m->tables[i], SOURCE_DROP);
}

/* Whether a tensor belongs to a vision or audio tower. */
static bool is_tower(struct str name) {
    static const char *const prefixes[] = {"v.", "a.", "mm."};
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        if (name.n >= n && memcmp(name.p, prefixes[i], n) == 0) return true;
    }
    return false;
}

int model_bound(struct model *m, glim_err *e) {
    if (m->n_wrong) {
        int code = strstr(m->wrong, "out of memory") ? GLIM_NOMEM : GLIM_SHAPE;
        return fail(e, code, "%s: %u of the tensors that %s needs: %s", m->name, m->n_wrong,
                    m->arch->name, m->wrong);
    }
    /* A tensor that the forward pass would leave out (a bias, say) would make it silently wrong. */
    u32 n_towers = 0;
    for (u64 i = 0; i < m->gguf.n_tensors; i++) {
        if (m->used[i]) continue;
        struct str name = m->gguf.tensors[i].name;
        if ((m->arch->flags & ARCH_TOWERS) && is_tower(name)) {
            n_towers++;
            continue;
        }
        return fail(e, GLIM_UNSUPPORTED,
                    "%s: tensor '%.*s' is not part of %s as this glim knows it", m->name, STR(name),
                    m->arch->name);
    }
    if (n_towers) model_note(m, "%u tensors of vision and audio towers are not used", n_towers);
    m->bytes_per_token = m->weight_bytes - m->idle_bytes;
    return GLIM_OK;
}
