/* JSON as text: what jansson's own writing lacks. */
#include "tool/jsontext.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool put_real(double x, FILE *f) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    return fprintf(f, "%s%s", text, strpbrk(text, ".e") ? "" : ".0") > 0;
}

/* What goes before a member and behind the last. */
static void put_gap(FILE *f, int spread, int level) {
    if (spread > 0) fprintf(f, "\n%*s", 2 * level, "");
}

static bool put(const json_t *j, FILE *f, int spread, int level) {
    size_t n = 0;
    bool ok = true;
    if (json_is_real(j)) return put_real(json_real_value(j), f);
    if (json_is_array(j) && json_array_size(j)) {
        fputc('[', f);
        for (; ok && n < json_array_size(j); n++) {
            if (n) fputs(spread > 0 ? "," : ", ", f);
            put_gap(f, spread, level + 1);
            ok = put(json_array_get(j, n), f, spread - 1, level + 1);
        }
        put_gap(f, spread, level);
        fputc(']', f);
    } else if (json_is_object(j) && json_object_size(j)) {
        const char *name;
        json_t *v;
        fputc('{', f);
        /* jansson's iteration wants to be able to change the object. */
        json_object_foreach((json_t *)(uintptr_t)j, name, v) {
            json_t *quoted = json_string(name);
            if (n++) fputs(spread > 0 ? "," : ", ", f);
            put_gap(f, spread, level + 1);
            ok = ok && quoted && json_dumpf(quoted, f, JSON_ENCODE_ANY) == 0;
            fputs(": ", f);
            ok = ok && put(v, f, spread - 1, level + 1);
            json_decref(quoted);
        }
        put_gap(f, spread, level);
        fputc('}', f);
    } else {
        ok = json_dumpf(j, f, JSON_ENCODE_ANY | JSON_COMPACT) == 0;
    }
    return ok && !ferror(f);
}

bool jsontext_write(const json_t *j, FILE *f, int spread) {
    return put(j, f, spread, 0);
}

char *jsontext_make(const json_t *j) {
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    bool ok = f && put(j, f, 0, 0);
    if (f && fclose(f) != 0) ok = false;
    if (ok) return text;
    free(text);
    return NULL;
}
