/* Any bytes as a chat template: its normal form, and whether it is a known one. */
#include "text/chatml.h"
#include "text/style.h"
#include "text/template.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct template_form form, again;
    glim_err e = {0};
    int is = template_normal(&form, (struct str){(const char *)data, size}, &mem_libc, &e);
    if (is < 0 || (is == 0 && form.text.n)) abort();
    struct chatml c;
    if (is && chatml_match(&c, form.text)) {
        /* What is taken for ChatML at least names its marks. */
        if (!memmem(data, size, CHATML_START, strlen(CHATML_START))) abort();
        if (c.system.n > form.text.n) abort();
    }
    style_find(form.text);
    /* A newline at the end is not part of a template. */
    char *longer = malloc(size + 1);
    if (!longer) abort();
    if (size) memcpy(longer, data, size);
    longer[size] = '\n';
    bool ends = size && data[size - 1] == '\n';
    int is_again = template_normal(&again, (struct str){longer, size + 1}, &mem_libc, &e);
    if (is && !ends) {
        if (!is_again || again.text.n != form.text.n) abort();
        if (form.text.n && memcmp(again.text.p, form.text.p, form.text.n) != 0) abort();
    }
    free(longer);
    template_free(&again, &mem_libc);
    template_free(&form, &mem_libc);
    return 0;
}
