/* Any bytes as a chat template: read, and rendered with a small conversation within tight limits.
 * What comes out has a mark for each byte, and content is never marked as the template's. */
#include "text/jinja.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char talk[] =
    "{\"messages\": [{\"role\": \"\u0430\", \"content\": \"\u0431 \u0432\"}, {\"role\": \"\u0433\","
    " \"content\": null, \"tool_calls\": [{\"a\": [1, 2.5, true]}]}], \"tools\": [{\"\u0434\": "
    "{}}],"
    " \"add_generation_prompt\": true}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct jmem m;
    struct jinja *j;
    struct jinja_result r;
    glim_err e = {0};
    arena_init(&a, &mem_libc);
    int rc = jinja_open(&j, (struct str){(const char *)data, size}, &a, &e);
    if (rc != e.code || (rc == 0) != (j != NULL)) abort();
    if (rc == 0) {
        jmem_init(&m, &a, 8u << 20, 50000, &e);
        struct jval v = json_parse(&m, (struct str){talk, strlen(talk)});
        if (v.kind != JVAL_DICT) abort();
        rc = jinja_render(j, &m, v.d, (struct jinja_clock){1700000000}, &r);
        if (rc != e.code || (rc && r.text.n)) abort();
        /* The conversation's letters are Cyrillic: a template without non-ASCII bytes and escapes
         * cannot have written their first byte itself. */
        bool plain = !memchr(data, '\\', size);
        for (size_t i = 0; i < size; i++)
            plain &= data[i] < 0x80;
        for (size_t i = 0; plain && i < r.text.n; i++) {
            bool ours = r.marks ? r.marks[i] : r.ours;
            if (ours && (u8)r.text.p[i] == 0xd0) abort();
        }
    }
    /* The same bytes as JSON. */
    e = (glim_err){0};
    jmem_init(&m, &a, 8u << 20, 50000, &e);
    json_parse(&m, (struct str){(const char *)data, size});
    if (m.rc != e.code) abort();
    arena_free(&a);
    return 0;
}
