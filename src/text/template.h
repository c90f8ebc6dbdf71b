/* Chat templates in a normal form, in which programs that differ in spelling alone are equal. */
#ifndef TEXT_TEMPLATE_H
#define TEXT_TEMPLATE_H

#include "base/mem.h"

/* Around literal text in a normal form. */
#define TEMPLATE_LITERAL "\x01"
#define TEMPLATE_END     "\x02"

/* Statements as {%words%}; outputs as a sequence of literals between the marks, neighbours joined,
 * and of [names], those that are more than a sum of these as {{words}}; x['y'] as x.y. Text outside
 * of tags is output like any other; comments are gone. Templates of one form do the same for any
 * conversation under the settings that chat templates are run with (trim_blocks, lstrip_blocks). */
struct template_form {
    struct str text;
    char *owned; /* text's memory */
    size_t size;
};

/* 1: *out holds the form, until template_free with the same allocator; 0: the template is outside
 * of what is understood, *out is empty; GLIM_NOMEM. */
int template_normal(struct template_form *out, struct str template, const glim_alloc *alloc,
                    glim_err *e);
void template_free(struct template_form *f, const glim_alloc *alloc);

#endif
