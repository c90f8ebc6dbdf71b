/* Turns as spans. */
#include "text/turns.h"

#include <stdio.h>
#include <string.h>

#include "text/style.h"
#include "text/unicode.h"

struct turns {
    const struct style *style;
    struct str begin; /* text of the begin token; may be empty */
    i32 end;
    char note[120]; /* see turns_note */
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

/* A control token's id by its text. */
static int need_control(const struct vocab *v, struct str text, i32 *id, glim_err *e) {
    *id = vocab_find(v, text);
    if (*id >= 0 && v->kind[*id] == VOCAB_CONTROL) return 0;
    return fail(e, GLIM_UNSUPPORTED,
                "the chat template uses %.*s, which is not a control token of this vocabulary; use "
                "--raw to send plain text",
                STR(text));
}

static struct str text_of_id(const struct vocab *v, i32 id) {
    return id < 0 ? (struct str){"", 0} : vocab_piece(v, id, VOCAB_SPECIAL);
}

static struct str template_text(const char *s) {
    return (struct str){s, strlen(s)};
}

int turns_open_style(struct turns **out, const struct style *style, const struct vocab *v,
                     struct arena *a, glim_err *e) {
    *out = NULL;
    struct turns *t = arena_get(a, sizeof *t);
    if (!t) return fail(e, GLIM_NOMEM, "no memory for the turn format");
    t->style = style;
    t->begin = text_of_id(v, v->begin);
    int status = 0;
    for (size_t i = 0; i < COUNT(style->marks) && style->marks[i] && status == 0; i++)
        status = need_control(v, template_text(style->marks[i]), &t->end, e);
    if (status) return status;
    status = need_control(v, template_text(style->end), &t->end, e);
    if (status == 0) *out = t;
    return status;
}

int turns_open(struct turns **out, const struct gguf *g, const struct vocab *v, struct arena *a,
               glim_err *e) {
    *out = NULL;
    struct str family = {"", 0}, name = beginning(model_name(g), 60);
    gguf_str(g, "general.architecture", &family, NULL);
    const struct style *style = style_of_family(family);
    if (!style) {
        return fail(e, GLIM_UNSUPPORTED,
                    "model '%.*s' has no chat template (tokenizer.chat_template), so how its turns "
                    "are written is unknown; use --raw to send plain text",
                    STR(name));
    }
    int status = turns_open_style(out, style, v, a, e);
    if (status) return status;
    snprintf((*out)->note, sizeof(*out)->note,
             "the file has no chat template; turns are written as %s models have them",
             style->name);
    return 0;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

/* Spans being collected; n counts on past cap. */
struct span_list {
    const struct turns *t;
    struct vocab_span *span;
    u64 cap, n;
};

static void put_span(struct span_list *l, struct str text, bool control) {
    if (text.n == 0) return;
    if (l->n < l->cap) l->span[l->n] = (struct vocab_span){text, control};
    l->n++;
}

/* Template text, with the begin token's text in its place. */
static void put_template(struct span_list *l, struct str s) {
    size_t done = 0;
    for (size_t i = 0; i <= s.n; i++) {
        if (i < s.n && s.p[i] != STYLE_BEGIN[0]) continue;
        put_span(l, (struct str){s.p + done, i - done}, true);
        if (i < s.n) put_span(l, l->t->begin, true);
        done = i + 1;
    }
}

/* What Python's str.strip() removes: white space, and the separators among the controls. */
static bool is_stripped(struct unicode_char c) {
    bool separator = c.code >= 0x1c && c.code <= 0x1f;
    return c.state == UNICODE_WHOLE && (separator || unicode_flags(c.code) & UNICODE_SPACE);
}

static struct str strip(struct str s, bool front, bool back) {
    struct unicode_char c;
    while (front && s.n && is_stripped(c = unicode_read(s.p, s.n))) {
        s.p += c.len;
        s.n -= c.len;
    }
    while (back && s.n) {
        size_t i = s.n - 1;
        while (i > 0 && ((u8)s.p[i] & 0xc0) == 0x80)
            i--;
        c = unicode_read(s.p + i, s.n - i);
        if (i + c.len != s.n || !is_stripped(c)) break;
        s.n = i;
    }
    return s;
}

/* One turn. within: a system message that goes into it, or NULL. before: template text that comes
 * first in it. */
static void put_turn(struct span_list *l, struct turn turn, const struct str *within,
                     const char *before) {
    const struct style *s = l->t->style;
    bool model = str_is(turn.role, "assistant");
    const char *const *around = model ? s->model : s->user;
    put_template(l, template_text(around[0]));
    if (s->head[0]) {
        put_template(l, template_text(s->head[0]));
        if (model)
            put_span(l, template_text(s->model_role), false);
        else
            put_span(l, turn.role, false);
        put_template(l, template_text(s->head[1]));
    }
    struct str text = turn.text;
    if (model ? s->trim_model : s->trim_user) text = strip(text, true, true);
    if (within) {
        put_template(l, template_text(s->system_text[0]));
        put_span(l, *within, false);
        put_template(l, template_text(s->system_text[1]));
    }
    put_template(l, template_text(before));
    put_span(l, text, false);
    put_template(l, template_text(around[1]));
}

/* What closes the answer that is in the context: all of it, or what follows the end token. */
static void put_close(struct span_list *l, bool ended) {
    const struct style *s = l->t->style;
    struct str close = template_text(s->model[1]);
    if (ended) {
        size_t skip = (size_t)(strstr(s->model[1], s->end) - s->model[1]) + strlen(s->end);
        close.p += skip;
        close.n -= skip;
    }
    put_template(l, close);
}

/* Whether the template takes this turn. place: its number without a system message that is no turn;
 * after an answer it counts on from an even one. */
static int check_turn(const struct style *s, struct turn turn, u64 i, u64 place, glim_err *e) {
    bool user = str_is(turn.role, "user"), model = str_is(turn.role, "assistant");
    bool system = str_is(turn.role, "system");
    struct str role = beginning(turn.role, 40);
    if (system && s->system != STYLE_SYSTEM_TURN) {
        return fail(e, GLIM_ARG,
                    "message %llu: the chat template (%s) takes a system message only at the "
                    "beginning",
                    (unsigned long long)i + 1, s->name);
    }
    if (s->named_roles && !user && !model && !system) {
        return fail(e, GLIM_ARG, "message %llu: the chat template (%s) has no role '%.*s'",
                    (unsigned long long)i + 1, s->name, STR(role));
    }
    if (s->alternate && user != (place % 2 == 0)) {
        return fail(e, GLIM_ARG,
                    "message %llu: the chat template (%s) wants user and assistant in turn, and "
                    "this is '%.*s'",
                    (unsigned long long)i + 1, s->name, STR(role));
    }
    return 0;
}

i64 turns_spans(const struct turns *t, const struct turn *turn, u64 n, u32 flags,
                struct vocab_span *span, u64 cap, glim_err *e) {
    const struct style *s = t->style;
    struct span_list l = {t, span, cap, 0};
    u64 first = 0;           /* the first that is a turn */
    const char *before = ""; /* the system message's text, in its turn */
    bool after = flags & TURNS_AFTER, has_system = n && str_is(turn[0].role, "system");
    if (after) {
        put_close(&l, flags & TURNS_ENDED);
    } else {
        put_template(&l, template_text(s->start));
        if (n && !has_system && s->default_system)
            put_template(&l, template_text(s->default_system));
        if (has_system && s->system == STYLE_SYSTEM_WITHIN) first = 1;
        if (flags & TURNS_THINK && s->think[0]) {
            before = s->think[0];
            if (!has_system) put_template(&l, template_text(s->think[1]));
        }
        if (first == n && n) {
            return fail(e, GLIM_ARG, "the chat template (%s) needs a message after the system's",
                        s->name);
        }
    }
    for (u64 i = first; i < n; i++) {
        int status = check_turn(s, turn[i], i, i - first, e);
        if (status) return status;
        if (s->one_answer && i && str_is(turn[i].role, "assistant") &&
            str_is(turn[i - 1].role, "assistant")) {
            return fail(e, GLIM_ARG,
                        "message %llu: the chat template (%s) has one answer at a time",
                        (unsigned long long)i + 1, s->name);
        }
        bool system = i == 0 && has_system;
        if (system && s->drop_empty_system && turn[0].text.n == 0) continue;
        put_turn(&l, turn[i], first && i == first ? &turn[0].text : NULL, system ? before : "");
    }
    if (flags & TURNS_REPLY) put_template(&l, template_text(s->reply));
    return (i64)l.n;
}

const char *turns_note(const struct turns *t) {
    return t->note[0] ? t->note : NULL;
}

i32 turns_end(const struct turns *t) {
    return t->end;
}

bool turns_can_think(const struct turns *t) {
    return t->style->think[0] != NULL;
}
