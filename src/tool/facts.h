/* What a GGUF file says about itself, in a few words: for lists of models, and to tell a model from
 * what may lie beside it in a store. */
#ifndef TOOL_FACTS_H
#define TOOL_FACTS_H

#include "run/sample_meta.h"

enum facts_role { FACTS_MODEL, FACTS_PROJECTOR, FACTS_ADAPTER };

struct facts {
    enum facts_role role; /* by general.type and general.architecture */
    char arch[64];        /* general.architecture; empty: not said */
    char quant[24];       /* "Q4_K_M": of general.file_type, else the type with the most bytes */
    u32 n_ctx;            /* ARCH.context_length; 0: not said */
    u64 n_params;         /* of all tensors */
    bool has_template;    /* it brings a chat template */
    struct sample_meta sampling;
};

/* Reads the header only; works for architectures that cannot be run. */
int facts_read(struct facts *f, const char *path, glim_err *e);

/* Bytes that new programs may use without swapping, 0 where the system does not tell. */
u64 facts_free_memory(void);

#endif
