/* A GGUF file in a few words, and the memory there is for it. */
#include "tool/facts.h"

#include "file/gguf.h"
#include "kern/quant.h"

#include <stdio.h>
#include <string.h>

/* general.file_type: what mixture of types a quantiser was asked for. Numbers are ggml's; those
 * that were given up are left out. */
static const struct {
    u32 number;
    const char *name;
} file_types[] = {
    {0, "F32"},      {1, "F16"},      {2, "Q4_0"},    {3, "Q4_1"},    {7, "Q8_0"},
    {8, "Q5_0"},     {9, "Q5_1"},     {10, "Q2_K"},   {11, "Q3_K_S"}, {12, "Q3_K_M"},
    {13, "Q3_K_L"},  {14, "Q4_K_S"},  {15, "Q4_K_M"}, {16, "Q5_K_S"}, {17, "Q5_K_M"},
    {18, "Q6_K"},    {19, "IQ2_XXS"}, {20, "IQ2_XS"}, {21, "Q2_K_S"}, {22, "IQ3_XS"},
    {23, "IQ3_XXS"}, {24, "IQ1_S"},   {25, "IQ4_NL"}, {26, "IQ3_S"},  {27, "IQ3_M"},
    {28, "IQ2_S"},   {29, "IQ2_M"},   {30, "IQ4_XS"}, {31, "IQ1_M"},  {32, "BF16"},
};

static void find_quant(struct facts *f, const struct gguf *g) {
    u32 number;
    if (gguf_u32(g, "general.file_type", &number, NULL) == GLIM_OK) {
        for (size_t i = 0; i < COUNT(file_types); i++) {
            if (file_types[i].number != number) continue;
            snprintf(f->quant, sizeof f->quant, "%s", file_types[i].name);
            return;
        }
    }
    u64 bytes[QUANT_TYPES] = {0};
    u32 most = 0;
    for (u64 i = 0; i < g->n_tensors; i++)
        bytes[g->tensors[i].type] += g->tensors[i].bytes;
    for (u32 i = 1; i < QUANT_TYPES; i++) {
        if (bytes[i] > bytes[most]) most = i;
    }
    if (bytes[most]) snprintf(f->quant, sizeof f->quant, "%s", quant_find(most)->name);
}

static void find_facts(struct facts *f, const struct gguf *g) {
    struct str arch = {0}, type = {0};
    char key[sizeof f->arch + 32];
    gguf_str(g, "general.architecture", &arch, NULL);
    gguf_str(g, "general.type", &type, NULL);
    snprintf(f->arch, sizeof f->arch, "%.*s", (int)MIN(arch.n, sizeof f->arch - 1), arch.p);
    /* "clip" is the architecture of what turns pictures and sound into embeddings. */
    if (str_is(type, "adapter"))
        f->role = FACTS_ADAPTER;
    else if (str_is(type, "mmproj") || str_is(arch, "clip"))
        f->role = FACTS_PROJECTOR;
    snprintf(key, sizeof key, "%s.context_length", f->arch);
    gguf_u32(g, key, &f->n_ctx, NULL);
    for (u64 i = 0; i < g->n_tensors; i++) {
        const u64 *d = g->tensors[i].dims;
        f->n_params += d[0] * d[1] * d[2] * d[3]; /* a product that the reader checked */
    }
    f->has_template = gguf_find(g, "tokenizer.chat_template") != NULL;
    find_quant(f, g);
    sample_meta(&f->sampling, g);
}

int facts_read(struct facts *f, const char *path, glim_err *e) {
    struct arena arena;
    struct gguf g;
    *f = (struct facts){.role = FACTS_MODEL};
    arena_init(&arena, &mem_libc);
    int rc = gguf_open(&g, path, &arena, quant_size, e);
    if (rc == GLIM_OK) {
        find_facts(f, &g);
        gguf_close(&g);
    }
    arena_free(&arena);
    return rc;
}

u64 facts_free_memory(void) {
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
    }
    if (f) fclose(f);
    return (u64)kib * 1024;
}
