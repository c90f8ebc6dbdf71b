/* Recognising ChatML: the template is rewritten into one normal form, which is then compared with
 * the few forms that are known.
 *
 * Normal form: statements as {%words%} with single blanks; outputs as a sequence of <literal bytes>
 * between the marks LITERAL and LITERAL_END, neighbours joined, and of [names]; x['y'] as x.y. Text
 * outside of tags is output like any other. What the rewriting does not know (filters, calls,
 * arithmetic) makes the template unknown. */
#include "text/chatml.h"

#include <string.h>

#define LITERAL     "\x01"
#define LITERAL_END "\x02"

struct chatml_scan {
    struct str in; /* what is left of the template */
    char *out;
    size_t n, cap;
    bool bad;        /* outside of what is understood */
    bool line_start; /* in starts a line, as far as lstrip_blocks goes */
};

static bool scan_is(const struct chatml_scan *s, const char *word) {
    size_t n = strlen(word);
    return s->in.n >= n && memcmp(s->in.p, word, n) == 0;
}

static void scan_skip(struct chatml_scan *s, size_t n) {
    s->in.p += n;
    s->in.n -= n;
}

static bool scan_eat(struct chatml_scan *s, const char *word) {
    if (!scan_is(s, word)) return false;
    scan_skip(s, strlen(word));
    return true;
}

static void scan_put(struct chatml_scan *s, const char *p, size_t n) {
    if (s->cap - s->n < n) {
        s->bad = true;
        return;
    }
    if (n) memcpy(s->out + s->n, p, n);
    s->n += n;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void scan_blanks(struct chatml_scan *s) {
    while (s->in.n && is_blank(s->in.p[0]))
        scan_skip(s, 1);
}

/* Starts a literal, or goes on with the one that the output ends with. */
static void literal_open(struct chatml_scan *s) {
    if (s->n && s->out[s->n - 1] == LITERAL_END[0])
        s->n--;
    else
        scan_put(s, LITERAL, 1);
}

/* One character of a literal; the marks themselves would be ambiguous. */
static void literal_put(struct chatml_scan *s, char c) {
    if (c == LITERAL[0] || c == LITERAL_END[0])
        s->bad = true;
    else
        scan_put(s, &c, 1);
}

static void literal_text(struct chatml_scan *s, struct str text) {
    if (text.n == 0) return;
    literal_open(s);
    for (size_t i = 0; i < text.n; i++)
        literal_put(s, text.p[i]);
    scan_put(s, LITERAL_END, 1);
}

/* A quoted string at in: its characters, escapes resolved, through literal_put. */
static void quoted(struct chatml_scan *s) {
    char quote = s->in.p[0];
    scan_skip(s, 1);
    while (s->in.n && s->in.p[0] != quote) {
        char c = s->in.p[0];
        scan_skip(s, 1);
        if (c == '\\' && s->in.n) {
            c = s->in.p[0];
            scan_skip(s, 1);
            if (c == 'n')
                c = '\n';
            else if (c == 't')
                c = '\t';
            else if (c != '\\' && c != '\'' && c != '"')
                s->bad = true;
        }
        literal_put(s, c);
    }
    if (s->in.n)
        scan_skip(s, 1);
    else
        s->bad = true;
}

/* A name with what is looked up in it: a, a.b, a['b'], a[0]. */
static void path(struct chatml_scan *s) {
    while (s->in.n && is_name(s->in.p[0])) {
        scan_put(s, s->in.p, 1);
        scan_skip(s, 1);
    }
    for (; s->in.n && !s->bad; scan_blanks(s)) {
        if (scan_eat(s, "[")) {
            scan_blanks(s);
            bool key = scan_is(s, "'") || scan_is(s, "\"");
            scan_put(s, key ? "." : "[", 1);
            if (key) quoted(s);
            while (!key && s->in.n && is_name(s->in.p[0])) {
                scan_put(s, s->in.p, 1);
                scan_skip(s, 1);
            }
            scan_blanks(s);
            if (!scan_eat(s, "]")) s->bad = true;
            if (!key) scan_put(s, "]", 1);
        } else if (scan_eat(s, ".")) {
            scan_put(s, ".", 1);
            while (s->in.n && is_name(s->in.p[0])) {
                scan_put(s, s->in.p, 1);
                scan_skip(s, 1);
            }
        } else {
            break;
        }
    }
}

/* {{ a + 'b' + c }} after its opening mark. */
static void output(struct chatml_scan *s) {
    do {
        scan_blanks(s);
        if (scan_is(s, "'") || scan_is(s, "\"")) {
            literal_open(s);
            quoted(s);
            scan_put(s, LITERAL_END, 1);
        } else if (s->in.n && is_name(s->in.p[0])) {
            scan_put(s, "[", 1);
            path(s);
            scan_put(s, "]", 1);
        } else {
            s->bad = true;
        }
        scan_blanks(s);
    } while (!s->bad && scan_eat(s, "+"));
}

/* {% words %} after its opening mark, up to its closing one. */
static void statement(struct chatml_scan *s) {
    scan_put(s, "{%", 2);
    for (bool first = true; !s->bad; first = false) {
        scan_blanks(s);
        if (s->in.n == 0 || scan_is(s, "%}") || scan_is(s, "-%}")) break;
        if (!first) scan_put(s, " ", 1);
        if (is_name(s->in.p[0])) {
            path(s);
        } else if (scan_is(s, "'") || scan_is(s, "\"")) {
            scan_put(s, "'", 1);
            quoted(s);
            scan_put(s, "'", 1);
        } else if (scan_eat(s, "!=")) {
            scan_put(s, "!=", 2);
        } else if (scan_eat(s, "==")) {
            scan_put(s, "==", 2);
        } else if (scan_eat(s, "=")) {
            scan_put(s, "=", 1);
        } else {
            s->bad = true;
        }
    }
    scan_put(s, "%}", 2);
}

/* Text up to the next tag, without the blanks that the tag's mark removes. */
static void text_to_tag(struct chatml_scan *s) {
    size_t n = 0;
    while (n < s->in.n &&
           !(s->in.p[n] == '{' && n + 1 < s->in.n &&
             (s->in.p[n + 1] == '{' || s->in.p[n + 1] == '%' || s->in.p[n + 1] == '#'))) {
        n++;
    }
    struct str text = {s->in.p, n};
    bool line_start = s->line_start;
    scan_skip(s, n);
    if (s->in.n == 0) {
        literal_text(s, text);
        return;
    }
    if (s->in.n > 2 && s->in.p[2] == '-') {
        while (text.n && is_blank(text.p[text.n - 1]))
            text.n--;
    } else if (s->in.p[1] != '{') { /* lstrip_blocks: a statement's indentation goes */
        size_t end = text.n;
        while (end && (text.p[end - 1] == ' ' || text.p[end - 1] == '\t'))
            end--;
        if (end ? text.p[end - 1] == '\n' : line_start) text.n = end;
    }
    literal_text(s, text);
}

/* One tag, with what its closing mark removes of the text behind it. */
static void tag(struct chatml_scan *s) {
    char kind = s->in.p[1];
    scan_skip(s, 2);
    if (kind == '#') {
        while (s->in.n && !scan_is(s, "#}") && !scan_is(s, "-#}"))
            scan_skip(s, 1);
    } else {
        if (scan_is(s, "+")) s->bad = true; /* turns lstrip_blocks off; nobody writes it */
        scan_eat(s, "-");
        if (kind == '{')
            output(s);
        else
            statement(s);
    }
    scan_blanks(s);
    bool strip = scan_eat(s, "-");
    if (!scan_eat(s, kind == '{' ? "}}" : kind == '%' ? "%}" : "#}")) s->bad = true;
    s->line_start = false;
    if (strip) {
        scan_blanks(s);
    } else if (kind != '{' && scan_eat(s, "\n")) { /* trim_blocks */
        s->line_start = true;
    }
}

/* Takes word off the front of *s. */
static bool form_eat(struct str *s, const char *word) {
    size_t n = strlen(word);
    if (s->n < n || memcmp(s->p, word, n) != 0) return false;
    s->p += n;
    s->n -= n;
    return true;
}

/* A system message as the output of an if. */
static bool form_system(struct str *s, struct str *system) {
    const char *end = memchr(s->p, LITERAL_END[0], s->n);
    if (!end) return false;
    *system = (struct str){s->p, (size_t)(end - s->p)};
    s->n -= system->n;
    s->p = end;
    return form_eat(s, LITERAL_END "{%endif%}");
}

/* The forms that are ChatML. */
static bool form_match(struct chatml *c, struct str s) {
    form_eat(&s, "{%if not add_generation_prompt is defined%}"
                 "{%set add_generation_prompt = false%}{%endif%}");
    c->begin = form_eat(&s, "[bos_token]");
    if (form_eat(&s, "{%if messages[0].role != 'system'%}" LITERAL) && !form_system(&s, &c->system))
        return false;
    if (!form_eat(&s, "{%for message in messages%}")) return false;
    if (c->system.n == 0 &&
        form_eat(&s, "{%if loop.first and messages[0].role != 'system'%}" LITERAL) &&
        !form_system(&s, &c->system)) {
        return false;
    }
    return form_eat(&s, LITERAL CHATML_START LITERAL_END "[message.role]" LITERAL "\n" LITERAL_END
                                                         "[message.content]" LITERAL CHATML_END
                                                         "\n" LITERAL_END "{%endfor%}") &&
           form_eat(&s, "{%if add_generation_prompt%}" LITERAL CHATML_START
                        "assistant\n" LITERAL_END "{%endif%}") &&
           s.n == 0;
}

int chatml_match(struct chatml *out, struct str template, struct arena *a, glim_err *e) {
    *out = (struct chatml){false, {"", 0}};
    /* A tag of 4 bytes can become 6 and a lone character 3; nothing grows by more. */
    u64 cap;
    if (!mul_ok(template.n, 4, &cap) || template.n == 0) return 0;
    struct chatml_scan s = {.in = template, .cap = (size_t)cap, .line_start = true};
    s.out = mem_get(a->alloc, s.cap);
    if (!s.out) return fail(e, GLIM_NOMEM, "no memory to read the chat template");
    if (s.in.p[s.in.n - 1] == '\n') s.in.n--; /* templates lose their last newline */
    while (s.in.n && !s.bad) {
        text_to_tag(&s);
        if (s.in.n) tag(&s);
    }
    int is = !s.bad && form_match(out, (struct str){s.out, s.n});
    if (is && out->system.n) {
        out->system.p = arena_text(a, out->system);
        if (!out->system.p) is = fail(e, GLIM_NOMEM, "no memory for the system message");
    }
    if (is != 1) out->system = (struct str){"", 0};
    mem_put(a->alloc, s.out, s.cap);
    return is;
}
