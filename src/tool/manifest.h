/* Manifests: what Ollama's store and LeapBundles write about the parts of a model. Bytes to structs
 * only: nothing named in a manifest is opened here, and no name in it becomes a path before its
 * form was checked. */
#ifndef TOOL_MANIFEST_H
#define TOOL_MANIFEST_H

#include "tool/defaults.h"

/* ---- Ollama ---------------------------------------------------------------------------------- */

enum layer_kind {
    LAYER_MODEL,
    LAYER_PROJECTOR,
    LAYER_ADAPTER,
    LAYER_DRAFT,
    LAYER_TEMPLATE,
    LAYER_PARAMS,
    LAYER_SYSTEM,
    LAYER_LICENSE,
    LAYER_MESSAGES,
    LAYER_CONFIG,
    LAYER_OTHER, /* of a media type that says nothing here */
};
/* "model"; never NULL. */
const char *layer_kind_name(enum layer_kind kind);

struct layer {
    enum layer_kind kind;
    const char *media; /* media type, in the arena */
    char hex[65];      /* SHA-256 of the blob: 64 lower-case digits, nothing else */
    u64 size;          /* bytes that the blob must have */
};

struct manifest {
    struct layer *layers; /* in the manifest's order, the config last if there is one; arena */
    u32 n;
};
/* Everything but the text itself is in arena. GLIM_FORMAT names the layer that is wrong: a digest
 * in any form but sha256:HEX or sha256-HEX is refused, for every layer and the config. */
int manifest_parse(struct manifest *m, struct str text, struct arena *arena, glim_err *e);
/* Sum of the layers' sizes, at most UINT64_MAX. */
u64 manifest_bytes(const struct manifest *m);

/* ---- LeapBundles ----------------------------------------------------------------------------- */

struct bundle_part {
    const char *role; /* "multimodal_projector", "audio_decoder", ...; arena */
    const char *path; /* as written; arena */
};

struct bundle {
    const char *inference;     /* inference_type: "llama.cpp/text-to-text"; arena */
    const char *model;         /* path of the GGUF as written; arena */
    const char *chat_template; /* NULL: the model's own; arena */
    struct bundle_part *parts; /* files beside the model */
    u32 n_parts;
    struct defaults defaults; /* of generation_time_parameters.sampling_parameters */
};
/* Whether these are the first bytes of a JSON object. */
bool bundle_begins(struct str text);
/* GLIM_NOT_FOUND: JSON, but not a bundle's manifest. GLIM_UNSUPPORTED: a model part that would have
 * to be downloaded, or a kind of inference that is not known. */
int bundle_parse(struct bundle *b, struct str text, struct arena *arena, glim_err *e);
/* Whether a part is named by a URL. */
bool bundle_is_url(const char *path);

#endif
