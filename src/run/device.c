/* Pipelines and weights on a GPU. */
#include "run/device.h"
#include "file/source.h"
#include "kern/quant.h"

#include <string.h>

/* ---- Pipelines ------------------------------------------------------------------------------- */

struct device_pipeline {
    struct device_pipeline *next;
    struct gpu_pipeline pipeline;
    char *text; /* owned; the key */
    size_t size;
};

int device_open(struct device **out, const struct gpu_choice *c, const glim_alloc *a, glim_err *e) {
    *out = NULL;
    struct device *d = mem_get(a, sizeof *d);
    if (!d) return fail(e, GLIM_NOMEM, "out of memory (GPU)");
    *d = (struct device){.alloc = a};
    int rc = gpu_open(&d->gpu, c, a, e);
    if (rc < 0) {
        mem_put(a, d, sizeof *d);
        return rc;
    }
    if (gpu_info(d->gpu)->subgroups) d->subgroups.are = SUBGROUPS_NATIVE;
    *out = d;
    return GLIM_OK;
}

void device_close(struct device *d) {
    if (!d) return;
    gpu_wait(d->gpu, NULL); /* pipelines being made are written to when they are done */
    while (d->pipelines) {
        struct device_pipeline *p = d->pipelines;
        d->pipelines = p->next;
        gpu_pipeline_free(d->gpu, &p->pipeline);
        mem_put(d->alloc, p->text, p->size);
        mem_put(d->alloc, p, sizeof *p);
    }
    gpu_buffer_free(d->gpu, &d->grids);
    gpu_close(d->gpu);
    mem_put(d->alloc, d, sizeof *d);
}

int device_pipeline(struct device *d, const struct wgsl_variant *v, const struct gpu_pipeline **out,
                    glim_err *e) {
    size_t size = wgsl_compose(v, NULL, 0) + 1;
    char *text = mem_get(d->alloc, size);
    if (!text) return fail(e, GLIM_NOMEM, "out of memory (kernels)");
    wgsl_compose(v, text, size);
    for (struct device_pipeline *p = d->pipelines; p; p = p->next) {
        if (p->pipeline.failed) continue; /* tried again, so that its error is told again */
        if (p->size != size || memcmp(p->text, text, size) != 0) continue;
        mem_put(d->alloc, text, size);
        *out = &p->pipeline;
        return GLIM_OK;
    }
    struct device_pipeline *p = mem_get(d->alloc, sizeof *p);
    if (!p) {
        mem_put(d->alloc, text, size);
        return fail(e, GLIM_NOMEM, "out of memory (kernels)");
    }
    *p = (struct device_pipeline){.next = d->pipelines, .text = text, .size = size};
    d->pipelines = p;
    *out = &p->pipeline;
    enum gpu_access slots[GPU_SLOTS] = {GPU_PARAMS,
                                        [WGSL_STEP] = GPU_READ,
                                        [WGSL_ACT] = GPU_READ_WRITE,
                                        [WGSL_W] = GPU_READ,
                                        [WGSL_V1] = GPU_READ,
                                        [WGSL_V2] = GPU_READ,
                                        [WGSL_KV] = GPU_READ_WRITE,
                                        [WGSL_GRIDS] = GPU_READ};
    for (u32 i = 0; i < GPU_SLOTS; i++) {
        if (!(wgsl_bindings(v) >> i & 1)) slots[i] = GPU_UNUSED;
    }
    return gpu_pipeline_begin(d->gpu, &p->pipeline, op_info(v->op)->name, text, slots, e);
}

/* ---- Weights --------------------------------------------------------------------------------- */

static void free_weight(struct device_model *m, struct device_weight *w) {
    for (u32 i = 0; i < w->n; i++)
        gpu_buffer_free(m->device->gpu, &w->pieces[i].buffer);
    mem_put(m->device->alloc, w->pieces, w->n * sizeof *w->pieces);
    mem_put(m->device->alloc, w, sizeof *w);
}

void device_model_free(struct device_model *m) {
    while (m->list) {
        struct device_weight *w = m->list;
        m->list = w->next;
        free_weight(m, w);
    }
}

/* Any number of bytes at a multiple of 4; a buffer's size is one too. */
static int write_bytes(struct gpu *g, const struct gpu_buffer *b, u64 at, const u8 *from, u64 n,
                       glim_err *e) {
    u64 whole = n & ~(u64)3;
    u8 rest[4] = {0};
    int rc = gpu_write(g, b, at, from, whole, e);
    if (rc < 0 || whole == n) return rc;
    memcpy(rest, from + whole, (size_t)(n - whole));
    return gpu_write(g, b, at + whole, rest, sizeof rest, e);
}

/* Rows of a file's weight, a part at a time: while one is written the system may read the next, and
 * what was written leaves this process, of which the file would become a part otherwise. */
static int write_rows(struct gpu *g, const struct weight *w, const struct device_piece *p,
                      glim_err *e) {
    enum { PART = 8 << 20 };
    const u8 *from = w->data + p->first * w->pitch;
    u64 bytes = p->rows * w->pitch;
    int rc = GLIM_OK;
    source_hint(w->source, from, MIN(bytes, (u64)PART), SOURCE_AHEAD);
    for (u64 at = 0; rc == GLIM_OK && at < bytes; at += PART) {
        u64 n = MIN(bytes - at, (u64)PART), next = MIN(bytes - at - n, (u64)PART);
        source_hint(w->source, from + at + n, next, SOURCE_AHEAD);
        rc = write_bytes(g, &p->buffer, at, from + at, n, e);
        source_hint(w->source, from + at, n, SOURCE_DROP);
    }
    return rc;
}

static int upload(struct device_model *m, struct device_weight *to, glim_err *e) {
    struct gpu *g = m->device->gpu;
    const struct weight *w = to->weight;
    u32 rows = to->pieces[0].rows;
    for (u32 i = 0; i < to->n; i++) {
        struct device_piece *p = &to->pieces[i];
        p->first = i * rows;
        p->rows = MIN(rows, w->rows - p->first);
        int rc = gpu_buffer_init(g, &p->buffer, p->rows * w->pitch, GPU_STORAGE, w->name, e);
        if (rc == GLIM_OK) rc = write_rows(g, w, p, e);
        if (rc < 0) return rc;
    }
    for (u32 i = 0; i < to->n; i++)
        m->bytes += to->pieces[i].buffer.bytes;
    return GLIM_OK;
}

/* f / (2 pi) of each frequency as a fraction with 64 bits, low word first: kernels then find the
 * angle of any position exactly, by integers that wrap at whole turns. */
static int upload_turns(struct device_model *m, struct device_weight *to, glim_err *e) {
    struct gpu *g = m->device->gpu;
    const struct weight *w = to->weight;
    struct gpu_buffer *b = &to->pieces[0].buffer;
    u64 bytes = (u64)w->cols * 8;
    int rc = gpu_buffer_init(g, b, bytes, GPU_STORAGE, w->name, e);
    for (u32 i = 0; rc == GLIM_OK && i < w->cols; i++) {
        f32 f;
        memcpy(&f, w->data + (u64)i * sizeof f, sizeof f);
        f64 turns = (f64)f / 6.283185307179586476925286766559;
        turns -= (f64)(i64)turns;
        f64 high = (f64)(u32)(turns * 0x1p32);
        u32 words[2] = {(u32)((turns * 0x1p32 - high) * 0x1p32), (u32)high};
        rc = gpu_write(g, b, (u64)i * 8, words, sizeof words, e);
    }
    if (rc == GLIM_OK) m->bytes += bytes;
    return rc;
}

static struct device_weight *find_weight(const struct device_model *m, const struct weight *w) {
    struct device_weight *k = m->list;
    while (k && k->weight != w)
        k = k->next;
    return k;
}

bool device_has(const struct device_model *m, const struct weight *w) {
    return find_weight(m, w) != NULL;
}

int device_weight(struct device_model *m, const struct weight *w, bool as_turns,
                  const struct device_weight **out, glim_err *e) {
    *out = find_weight(m, w);
    if (*out) return GLIM_OK;
    const struct gpu_limits *l = &gpu_info(m->device->gpu)->limits;
    u64 most = l->binding / MAX(w->pitch, (u64)1);
    if (most == 0) {
        return fail(e, GLIM_UNSUPPORTED,
                    "tensor '%s': a row of %llu bytes is more than the %llu "
                    "that a binding of this GPU has",
                    w->name, (unsigned long long)w->pitch, (unsigned long long)l->binding);
    }
    u32 rows = (u32)MIN(most, (u64)w->rows), n = (w->rows + rows - 1) / rows;
    struct device_weight *k = mem_get(m->device->alloc, sizeof *k);
    struct device_piece *pieces = mem_get(m->device->alloc, n * sizeof *pieces);
    if (!k || !pieces) {
        mem_put(m->device->alloc, k, sizeof *k);
        mem_put(m->device->alloc, pieces, n * sizeof *pieces);
        return fail(e, GLIM_NOMEM, "out of memory (weights of the GPU)");
    }
    memset(pieces, 0, n * sizeof *pieces);
    pieces[0].rows = rows;
    *k = (struct device_weight){.next = m->list, .weight = w, .pieces = pieces, .n = n};
    int rc = as_turns ? upload_turns(m, k, e) : upload(m, k, e);
    if (rc < 0) {
        free_weight(m, k);
        return rc;
    }
    m->list = k;
    *out = k;
    return GLIM_OK;
}
