/* Recognises the files that people pass by mistake for a GGUF model. */
#include "file/sniff.h"

#include <string.h>

/* Magic numbers that stand at the very start. */
static const struct {
    const char *magic;
    u8 n;
    const char *what;
} magics[] = {
    {"PK\3\4", 4, "a zip archive, perhaps a PyTorch checkpoint; convert it to GGUF"},
    {"\x80\2", 2, "a Python pickle, perhaps an old PyTorch checkpoint; convert it to GGUF"},
    {"\x1f\x8b", 2, "a gzip archive; unpack it first"},
    {"\x28\xb5\x2f\xfd", 4, "a zstd archive; unpack it first"},
    {"\x89HDF", 4, "an HDF5 file; convert it to GGUF"},
    {"version https://git-lfs", 23, "a git-lfs pointer, not the model; run git lfs pull"},
    {"lmgg", 4, "a ggml file from before GGUF; convert it anew"},
    {"fmgg", 4, "a ggmf file from before GGUF; convert it anew"},
    {"tjgg", 4, "a ggjt file from before GGUF; convert it anew"},
};

static bool starts(const u8 *p, u64 n, const char *lower) {
    u64 len = strlen(lower);
    if (n < len) return false;
    for (u64 i = 0; i < len; i++) {
        u8 c = p[i] >= 'A' && p[i] <= 'Z' ? (u8)(p[i] + 32) : p[i];
        if (c != (u8)lower[i]) return false;
    }
    return true;
}

/* A little-endian length and the opening brace of a JSON object. */
static bool is_safetensors(const u8 *p, u64 n, u64 size) {
    if (n < 9 || p[8] != '{') return false;
    u64 len = 0;
    for (u32 i = 0; i < 8; i++)
        len |= (u64)p[i] << 8 * i;
    return len >= 2 && len <= size - 8;
}

const char *sniff(const u8 *p, u64 n, u64 size) {
    for (u32 i = 0; i < COUNT(magics); i++) {
        if (n >= magics[i].n && memcmp(p, magics[i].magic, magics[i].n) == 0) return magics[i].what;
    }
    if (is_safetensors(p, n, size)) return "a safetensors file; convert it to GGUF";
    u64 zeros = 0;
    while (zeros < n && zeros < 4096 && p[zeros] == 0)
        zeros++;
    if (zeros == n || zeros == 4096) return "zeros only, like a download that never got going";
    /* Text may begin with a byte order mark and white space. */
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3, n -= 3;
    while (n && (*p == ' ' || (*p >= '\t' && *p <= '\r')))
        p++, n--;
    if (starts(p, n, "<!doctype") || starts(p, n, "<html") || starts(p, n, "<?xml"))
        return "a web page saved in place of the model; check the link and whether it needs a "
               "login";
    if (n && (*p == '{' || *p == '['))
        return "JSON text, perhaps a server's error message or a model's config";
    return NULL;
}
