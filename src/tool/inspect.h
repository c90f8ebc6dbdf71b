/* What glim inspect finds out about a file, for its two ways of telling it. */
#ifndef TOOL_INSPECT_H
#define TOOL_INSPECT_H

#include "file/gguf.h"
#include "kern/quant.h"

/* All tensors of one type. */
struct inspect_type {
    u64 n, values, bytes;
};

struct inspect {
    const char *path;
    struct gguf g;
    struct inspect_type types[QUANT_TYPES], total;
    u64 file_bytes;
    struct str arch;  /* empty: the file does not say */
    bool has_plan;    /* otherwise why says what is missing */
    char device[240]; /* that the plan is for */
    glim_plan plan;
    glim_err why;
};

/* "u32"; never NULL. */
const char *inspect_type_name(enum gguf_type type);

/* As JSON on stdout; returns an exit code. */
int inspect_json(const struct inspect *in);

#endif
