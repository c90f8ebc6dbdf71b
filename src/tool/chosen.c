/* Templates of files, stores and flags. */
#include "tool/chosen.h"

#include "tool/input.h"

#include <stdlib.h>
#include <string.h>

/* What Ollama gives to models without a template: the prompt as it is. No turns are written so. */
static bool is_bare(struct str text) {
    static const char bare[] = "{{.Prompt}}";
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (strchr(" \t\r\n-", text.p[i]) && text.p[i]) continue;
        if (n == sizeof bare - 1 || text.p[i] != bare[n]) return false;
        n++;
    }
    return n == sizeof bare - 1;
}

static bool ends_in(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n > k && strcmp(path + n - k, end) == 0;
}

/* Tags tell: {% and {# are Jinja's alone, and in {{ }} only Go begins with a point, a $ or a word
 * like range. */
static bool is_go(const char *path, struct str text) {
    static const char *const words[] = {".",      "$",       "if ",       "range ", "with ",
                                        "block ", "define ", "template ", "/*",     "end"};
    if (ends_in(path, ".gotmpl") || ends_in(path, ".tmpl")) return true;
    if (ends_in(path, ".jinja") || ends_in(path, ".j2")) return false;
    if (memmem(text.p, text.n, "{%", 2) || memmem(text.p, text.n, "{#", 2)) return false;
    const char *end = text.p + text.n, *p = text.p;
    while ((p = memmem(p, (size_t)(end - p), "{{", 2)) != NULL) {
        p += 2;
        while (p < end && strchr("- \t\r\n", *p) && *p)
            p++;
        for (size_t i = 0; i < COUNT(words); i++) {
            size_t n = strlen(words[i]);
            if ((size_t)(end - p) >= n && memcmp(p, words[i], n) == 0) return true;
        }
    }
    return false;
}

static int find_given(struct chosen *c, const char *path, glim_err *e) {
    c->from = CHOSEN_GIVEN;
    int rc = input_read(path, &c->owned, &c->text.n, e);
    if (rc < 0) {
        glim_err why = *e;
        *e = (glim_err){0};
        return fail(e, rc, "--template: %s; it is jinja, ollama or a file", why.msg);
    }
    c->text.p = c->owned;
    bool go = is_go(path, c->text);
    c->language = go ? GLIM_TEMPLATE_GO : GLIM_TEMPLATE_JINJA;
    c->said =
        go ? "the Go template that --template names" : "the Jinja template that --template names";
    return GLIM_OK;
}

static int find_store(struct chosen *c, const struct picked *picked, glim_err *e) {
    if (picked->template_why.code)
        return fail(e, picked->template_why.code, "%s", picked->template_why.msg);
    bool go = picked->language == GLIM_TEMPLATE_GO;
    c->from = CHOSEN_STORE;
    c->language = picked->language;
    c->text = picked->template;
    c->said = go ? "Ollama's template in the store" : "the Jinja template in the bundle";
    return GLIM_OK;
}

int chosen_find(struct chosen *c, const char *flag, const struct picked *picked, bool file_has,
                glim_err *e) {
    bool layer = picked && (picked->template.n || picked->template_why.code);
    *c = (struct chosen){.from = CHOSEN_FILE, .said = "the Jinja template in the model's file"};
    bool jinja = flag && strcmp(flag, "jinja") == 0, ollama = flag && strcmp(flag, "ollama") == 0;
    if (jinja && !file_has)
        return fail(e, GLIM_ARG, "--template jinja: the model's file has no template");
    if (ollama && !(layer && picked->language == GLIM_TEMPLATE_GO))
        return fail(e, GLIM_ARG, "--template ollama: the model has no template of Ollama's");
    if (ollama) return find_store(c, picked, e);
    if (flag && !jinja) return find_given(c, flag, e);
    if (file_has) {
        if (layer) c->unused = "the model's file has its own, which goes first";
        return GLIM_OK;
    }
    c->built_in = picked && picked->renderer[0];
    if (layer && !c->built_in && !is_bare(picked->template)) return find_store(c, picked, e);
    if (layer)
        c->unused = c->built_in ? "Ollama writes these turns by code of its own"
                                : "it is a bare prompt, without turns";
    c->from = CHOSEN_NONE;
    c->said = "the turns of the model's family";
    return GLIM_OK;
}

void chosen_free(struct chosen *c) {
    free(c->owned);
    c->owned = NULL;
}

/* A file's template that cannot be used is an error, not replaced; the store may have another. */
static int say_other(const struct model_options *o, const glim_model *model, glim_err *e) {
    glim_err why = {0};
    bool other = o->picked && o->picked->template.n && o->picked->language == GLIM_TEMPLATE_GO;
    if (!other || glim_chat_check(model, &why) == GLIM_OK) return GLIM_OK;
    return fail(e, why.code, "%s, or --template ollama", why.msg);
}

int chosen_apply(const struct model_options *o, glim_model *model, glim_err *e) {
    struct chosen c;
    glim_model_info info;
    glim_err why = {0};
    glim_model_get_info(model, &info);
    int rc = chosen_find(&c, o->template, o->picked, info.has_template, e);
    if (rc == GLIM_OK && (c.from == CHOSEN_STORE || c.from == CHOSEN_GIVEN)) {
        rc = glim_model_set_template(model, c.language, c.text.p, c.text.n, &why);
        if (rc < 0 && c.from == CHOSEN_GIVEN) fail(e, rc, "%.120s: %s", o->template, why.msg);
        if (rc < 0 && c.from == CHOSEN_STORE) fail(e, rc, "%s", why.msg);
    }
    if (rc == GLIM_OK && c.from == CHOSEN_FILE && !o->template) rc = say_other(o, model, e);
    chosen_free(&c);
    return rc;
}

glim_err chosen_error(const glim_err *why) {
    static const char needed[] = "a template that has is needed";
    glim_err e = *why;
    size_t n = strlen(e.msg);
    if (ends_in(e.msg, needed)) snprintf(e.msg + n, sizeof e.msg - n, ": --template FILE");
    return e;
}
