/* Manifests of Ollama's store and of LeapBundles, out of JSON. */
#include "tool/manifest.h"

#include <stdio.h>
#include <string.h>

/* ---- Ollama ---------------------------------------------------------------------------------- */

/* More layers than a model has parts; a model whose tensors are layers has thousands, and is none
 * that can be run. */
enum { MOST_LAYERS = 1 << 16 };

static const char media_prefix[] = "application/vnd.ollama.image.";

/* What follows the prefix. */
static const struct {
    const char *name;
    enum layer_kind kind;
} medias[] = {
    {"model", LAYER_MODEL},       {"projector", LAYER_PROJECTOR}, {"adapter", LAYER_ADAPTER},
    {"draft", LAYER_DRAFT},       {"template", LAYER_TEMPLATE},   {"prompt", LAYER_TEMPLATE},
    {"params", LAYER_PARAMS},     {"system", LAYER_SYSTEM},       {"license", LAYER_LICENSE},
    {"messages", LAYER_MESSAGES},
};

const char *layer_kind_name(enum layer_kind kind) {
    if (kind == LAYER_CONFIG) return "config";
    for (size_t i = 0; i < COUNT(medias); i++) {
        if (medias[i].kind == kind) return medias[i].name;
    }
    return "other";
}

static enum layer_kind kind_of(const char *media) {
    size_t prefix = sizeof media_prefix - 1;
    if (strncmp(media, media_prefix, prefix) != 0) return LAYER_OTHER;
    /* Parameters may follow: "...template; name=chat". */
    size_t n = strcspn(media + prefix, "; ");
    for (size_t i = 0; i < COUNT(medias); i++) {
        if (strlen(medias[i].name) == n && strncmp(medias[i].name, media + prefix, n) == 0)
            return medias[i].kind;
    }
    return LAYER_OTHER;
}

/* sha256:HEX or sha256-HEX with 64 digits. The digest becomes a file's name: whatever else it says,
 * "../" above all, must not get through. */
static bool read_digest(const json_t *j, char hex[65]) {
    const char *s = json_string_value(j);
    if (!s || json_string_length(j) != 7 + 64 || strncmp(s, "sha256", 6) != 0) return false;
    if (s[6] != ':' && s[6] != '-') return false;
    for (size_t i = 0; i < 64; i++) {
        char c = s[7 + i];
        if (c >= 'A' && c <= 'F') c = (char)(c + 32);
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
        hex[i] = c;
    }
    hex[64] = 0;
    return true;
}

/* what: for messages, "layer 3". */
static int read_layer(struct layer *l, const json_t *j, const char *what, struct arena *arena,
                      glim_err *e) {
    const json_t *media = json_object_get(j, "mediaType"), *digest = json_object_get(j, "digest"),
                 *size = json_object_get(j, "size");
    if (!json_is_object(j)) return fail(e, GLIM_FORMAT, "manifest: %s is not an object", what);
    if (!json_is_string(media))
        return fail(e, GLIM_FORMAT, "manifest: %s has no text as its mediaType", what);
    if (!read_digest(digest, l->hex)) {
        const char *s = json_is_string(digest) ? json_string_value(digest) : "not a text";
        return fail(e, GLIM_FORMAT,
                    "manifest: %s: the digest (%.80s) is not sha256: and 64 hexadecimal digits",
                    what, s);
    }
    if (!json_is_integer(size) || json_integer_value(size) < 0)
        return fail(e, GLIM_FORMAT, "manifest: %s: the size is not a count of bytes", what);
    l->size = (u64)json_integer_value(size);
    l->media = arena_text(arena, (struct str){json_string_value(media), json_string_length(media)});
    if (!l->media) return fail(e, GLIM_NOMEM, "manifest: out of memory");
    l->kind = kind_of(l->media);
    return GLIM_OK;
}

static int read_layers(struct manifest *m, const json_t *root, struct arena *arena, glim_err *e) {
    const json_t *version = json_object_get(root, "schemaVersion");
    const json_t *layers = json_object_get(root, "layers"),
                 *config = json_object_get(root, "config");
    if (!json_is_object(root)) return fail(e, GLIM_FORMAT, "manifest: not a JSON object");
    if (version && (!json_is_integer(version) || json_integer_value(version) != 2))
        return fail(e, GLIM_FORMAT, "manifest: schemaVersion is not 2, the only one known");
    if (!json_is_array(layers)) return fail(e, GLIM_FORMAT, "manifest: no list of layers");
    size_t n = json_array_size(layers);
    if (n > MOST_LAYERS)
        return fail(e, GLIM_FORMAT, "manifest: %zu layers; at most %d are read", n, MOST_LAYERS);
    bool has_config = config && !json_is_null(config);
    m->layers = arena_array(arena, n + 1, sizeof *m->layers);
    if (!m->layers) return fail(e, GLIM_NOMEM, "manifest: no memory for %zu layers", n);
    for (size_t i = 0; i < n + has_config; i++) {
        char what[32] = "the config";
        if (i < n) snprintf(what, sizeof what, "layer %zu", i + 1);
        int rc =
            read_layer(&m->layers[i], i < n ? json_array_get(layers, i) : config, what, arena, e);
        if (rc < 0) return rc;
        if (i == n) m->layers[i].kind = LAYER_CONFIG;
    }
    m->n = (u32)(n + has_config);
    return GLIM_OK;
}

int manifest_parse(struct manifest *m, struct str text, struct arena *arena, glim_err *e) {
    *m = (struct manifest){0};
    json_error_t why;
    json_t *root = json_loadb(text.p ? text.p : "", text.n, 0, &why);
    if (!root) return fail(e, GLIM_FORMAT, "manifest: not JSON, line %d: %s", why.line, why.text);
    int rc = read_layers(m, root, arena, e);
    json_decref(root);
    if (rc < 0) *m = (struct manifest){0};
    return rc;
}

u64 manifest_bytes(const struct manifest *m) {
    u64 sum = 0;
    for (u32 i = 0; i < m->n; i++) {
        if (!add_ok(sum, m->layers[i].size, &sum)) return UINT64_MAX;
    }
    return sum;
}

/* ---- LeapBundles ----------------------------------------------------------------------------- */

bool bundle_begins(struct str text) {
    size_t i = 0;
    while (i < text.n && (text.p[i] == ' ' || (text.p[i] >= '\t' && text.p[i] <= '\r')))
        i++;
    return i < text.n && text.p[i] == '{';
}

bool bundle_is_url(const char *path) {
    size_t n = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return n > 1 && strncmp(path + n, "://", 3) == 0;
}

/* A text of an object as a copy without zero bytes; NULL if there is none (e untouched). */
static int text_at(const json_t *object, const char *key, const char **out, struct arena *arena,
                   glim_err *e) {
    const json_t *j = json_object_get(object, key);
    *out = NULL;
    if (!j || json_is_null(j)) return GLIM_OK;
    if (!json_is_string(j)) return fail(e, GLIM_FORMAT, "bundle: '%s' is not a text", key);
    *out = arena_text(arena, (struct str){json_string_value(j), json_string_length(j)});
    return *out ? GLIM_OK : fail(e, GLIM_NOMEM, "bundle: out of memory");
}

/* Every text among the load parameters but the template names a file. */
static int read_parts(struct bundle *b, const json_t *load, struct arena *arena, glim_err *e) {
    b->parts = arena_array(arena, json_object_size(load), sizeof *b->parts);
    if (!b->parts) return fail(e, GLIM_NOMEM, "bundle: out of memory");
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)load, key, v) {
        if (!json_is_string(v) || strcmp(key, "model") == 0 || strcmp(key, "chat_template") == 0)
            continue;
        struct bundle_part *p = &b->parts[b->n_parts];
        p->role = arena_text(arena, (struct str){key, strlen(key)});
        p->path = arena_text(arena, (struct str){json_string_value(v), json_string_length(v)});
        if (!p->role || !p->path) return fail(e, GLIM_NOMEM, "bundle: out of memory");
        b->n_parts++;
    }
    return GLIM_OK;
}

/* The kinds of inference whose model part understands text by itself. */
static bool is_known_inference(const char *s) {
    static const char *const known[] = {"llama.cpp/text-to-text", "llama.cpp/image-to-text",
                                        "llama.cpp/lfm2-audio-v1"};
    for (size_t i = 0; i < COUNT(known); i++) {
        if (strcmp(s, known[i]) == 0) return true;
    }
    return false;
}

static int read_bundle(struct bundle *b, const json_t *root, struct arena *arena, glim_err *e) {
    const json_t *load = json_object_get(root, "load_time_parameters");
    const char *version;
    int rc = text_at(root, "inference_type", &b->inference, arena, e);
    if (rc == GLIM_OK) rc = text_at(root, "schema_version", &version, arena, e);
    if (rc < 0) return rc;
    if (!load && !b->inference)
        return fail(e, GLIM_NOT_FOUND, "JSON, but neither a model nor the manifest of a bundle");
    if (version && strncmp(version, "1.", 2) != 0)
        return fail(e, GLIM_UNSUPPORTED, "bundle: schema_version is %.20s, known is 1", version);
    if (!b->inference) return fail(e, GLIM_FORMAT, "bundle: no inference_type");
    if (!is_known_inference(b->inference))
        return fail(e, GLIM_UNSUPPORTED, "bundle: inference_type '%.60s' is not supported",
                    b->inference);
    if (!json_is_object(load))
        return fail(e, GLIM_FORMAT, "bundle: load_time_parameters is not an object");
    rc = text_at(load, "model", &b->model, arena, e);
    if (rc == GLIM_OK) rc = text_at(load, "chat_template", &b->chat_template, arena, e);
    if (rc == GLIM_OK) rc = read_parts(b, load, arena, e);
    if (rc < 0) return rc;
    if (!b->model || !*b->model)
        return fail(e, GLIM_FORMAT, "bundle: load_time_parameters names no model");
    const json_t *sampling =
        json_object_get(json_object_get(root, "generation_time_parameters"), "sampling_parameters");
    return sampling ? defaults_take(&b->defaults, sampling, arena, e) : GLIM_OK;
}

int bundle_parse(struct bundle *b, struct str text, struct arena *arena, glim_err *e) {
    *b = (struct bundle){0};
    defaults_init(&b->defaults);
    json_error_t why;
    json_t *root = json_loadb(text.p ? text.p : "", text.n, 0, &why);
    if (!root) return fail(e, GLIM_FORMAT, "not JSON, line %d: %s", why.line, why.text);
    int rc = read_bundle(b, root, arena, e);
    json_decref(root);
    if (rc == GLIM_OK && bundle_is_url(b->model)) {
        rc = fail(e, GLIM_UNSUPPORTED,
                  "bundle: the model is at %.100s; this command does not download: fetch it and "
                  "write its path into the manifest",
                  b->model);
    }
    return rc;
}
