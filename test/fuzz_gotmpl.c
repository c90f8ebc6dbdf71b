/* Any bytes as a template of Ollama's: read, and rendered with a small conversation within tight
 * limits. What comes out has a mark for each byte, and content is never marked as the template's.
 */
#include "text/gotmpl.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char talk[] =
    "[{\"role\": \"\u0430\", \"content\": \"\u0431 \u0432\"}, {\"role\": \"user\", \"content\": "
    "\"\u0432\", \"thinking\": \"\u0433\"}, {\"role\": \"assistant\", \"content\": null, "
    "\"tool_calls\": [{\"function\": {\"name\": \"\u0434\", \"arguments\": {\"\u0435\": [1, 2.5, "
    "true, null, {\"\u0436\": \"\u0437\"}]}}}]}, {\"role\": \"user\", \"content\": \"\u0438\"}]";
static const char tools[] =
    "[{\"type\": \"\u0430\", \"function\": {\"name\": \"\u0431\", \"parameters\": {\"type\": "
    "\"\u0432\", \"required\": [\"\u0433\"], \"properties\": {\"\u0433\": {\"type\": [\"\u0434\", "
    "\"\u0435\"], \"enum\": [\"\u0436\", 1], \"items\": {\"\u0437\": 0}}}}}}]";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct jmem m;
    struct gotmpl *t;
    struct jinja_result r;
    glim_err e = {0};
    arena_init(&a, &mem_libc);
    int rc = gotmpl_open(&t, (struct str){(const char *)data, size}, &a, &e);
    if (rc != e.code || (rc == 0) != (t != NULL)) abort();
    if (rc == 0) {
        jmem_init(&m, &a, 8u << 20, 50000, &e);
        struct gotmpl_request q = {.messages = json_parse(&m, (struct str){talk, strlen(talk)}),
                                   .tools = json_parse(&m, (struct str){tools, strlen(tools)}),
                                   .now = 1700000000};
        if (m.rc) abort();
        rc = gotmpl_render(t, &m, &q, &r);
        if (rc != e.code || (rc && r.text.n)) abort();
        /* The conversation's letters are Cyrillic: a template without non-ASCII bytes and escapes
         * cannot have written their first byte itself, but by the number of a character. */
        bool plain = !memchr(data, '\\', size) && !memmem(data, size, "printf", 6);
        for (size_t i = 0; i < size; i++)
            plain &= data[i] < 0x80;
        for (size_t i = 0; plain && i < r.text.n; i++) {
            bool ours = r.marks ? r.marks[i] : r.ours;
            if (ours && (u8)r.text.p[i] == 0xd0) abort();
        }
    }
    arena_free(&a);
    return 0;
}
