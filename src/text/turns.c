/* Turns as spans. */
#include "text/turns.h"

#include "text/chatml.h"
#include "text/unicode.h"

struct turns {
    struct chatml form;
    struct str begin; /* text of the begin token, if the template writes it */
    i32 end;
};

/* What a message calls the model by. */
static struct str model_name(const struct gguf *g) {
    struct str name = {"without a name", 14};
    if (gguf_str(g, "general.name", &name, NULL)) gguf_str(g, "general.architecture", &name, NULL);
    return name;
}

/* The first n bytes of text at most, without cutting a character. */
static struct str beginning(struct str text, size_t n) {
    size_t end = 0;
    while (end < text.n) {
        u32 len = unicode_read(text.p + end, text.n - end).len;
        if (end + len > n) break;
        end += len;
    }
    return (struct str){text.p, end};
}

static int need_control(const struct vocab *v, const char *text, size_t n, i32 *id, glim_err *e) {
    *id = vocab_find(v, (struct str){text, n});
    if (*id >= 0 && v->kind[*id] == VOCAB_CONTROL) return 0;
    return fail(e, GLIM_UNSUPPORTED,
                "the chat template uses %s, which is not a control token of this vocabulary; use "
                "--raw to send plain text",
                text);
}

int turns_open(struct turns **out, const struct gguf *g, const struct vocab *v, struct arena *a,
               glim_err *e) {
    *out = NULL;
    struct str name = beginning(model_name(g), 60), template;
    int status = gguf_str(g, "tokenizer.chat_template", &template, e);
    if (status == GLIM_NOT_FOUND) {
        return fail(e, GLIM_UNSUPPORTED,
                    "model '%.*s' has no chat template (tokenizer.chat_template), so how its turns "
                    "are written is unknown; use --raw to send plain text",
                    STR(name));
    }
    if (status) return status;
    struct turns *t = arena_get(a, sizeof *t);
    if (!t) return fail(e, GLIM_NOMEM, "no memory for the turn format");
    int is = chatml_match(&t->form, template, a, e);
    if (is < 0) return is;
    if (is == 0) {
        struct str quote = beginning(template, 60);
        return fail(e, GLIM_UNSUPPORTED,
                    "the chat template of '%.*s' is not built in (only plain ChatML is): \"%.*s\"; "
                    "use --raw to send plain text",
                    STR(name), STR(quote));
    }
    i32 start;
    status = need_control(v, CHATML_START, sizeof CHATML_START - 1, &start, e);
    if (!status) status = need_control(v, CHATML_END, sizeof CHATML_END - 1, &t->end, e);
    if (status) return status;
    if (t->form.begin) t->begin = vocab_piece(v, v->begin, VOCAB_SPECIAL);
    *out = t;
    return 0;
}

/* Spans being collected; n counts on past cap. */
struct span_list {
    struct vocab_span *span;
    u64 cap, n;
};

static void put_span(struct span_list *l, struct str text, bool control) {
    if (text.n == 0) return;
    if (l->n < l->cap) l->span[l->n] = (struct vocab_span){text, control};
    l->n++;
}

#define TEMPLATE_TEXT(s) ((struct str){(s), sizeof(s) - 1})

u64 turns_spans(const struct turns *t, const struct turn *turn, u64 n, u32 flags,
                struct vocab_span *span, u64 cap) {
    struct span_list l = {span, cap, 0};
    if (flags & TURNS_AFTER) {
        if (!(flags & TURNS_ENDED)) put_span(&l, TEMPLATE_TEXT(CHATML_END), true);
        put_span(&l, TEMPLATE_TEXT("\n"), true);
    } else {
        put_span(&l, t->begin, true);
        if (n && !str_is(turn[0].role, "system")) put_span(&l, t->form.system, true);
    }
    for (u64 i = 0; i < n; i++) {
        put_span(&l, TEMPLATE_TEXT(CHATML_START), true);
        put_span(&l, turn[i].role, false);
        put_span(&l, TEMPLATE_TEXT("\n"), true);
        put_span(&l, turn[i].text, false);
        put_span(&l, TEMPLATE_TEXT(CHATML_END "\n"), true);
    }
    if (flags & TURNS_REPLY) put_span(&l, TEMPLATE_TEXT(CHATML_START "assistant\n"), true);
    return l.n;
}

i32 turns_end(const struct turns *t) {
    return t->end;
}
