/* Normal form of chat templates: one pass over the text, tags word by word. Blanks that
 * trim_blocks, lstrip_blocks and the tags' own marks remove are removed. */
#include "text/template.h"

#include <string.h>

struct template_scan {
    struct str in; /* what is left of the template */
    char *out;
    size_t n, cap;
    bool bad;        /* outside of what is understood */
    bool line_start; /* in starts a line, as far as lstrip_blocks goes */
};

static bool scan_is(const struct template_scan *s, const char *word) {
    size_t n = strlen(word);
    return s->in.n >= n && memcmp(s->in.p, word, n) == 0;
}

static void scan_skip(struct template_scan *s, size_t n) {
    s->in.p += n;
    s->in.n -= n;
}

static bool scan_eat(struct template_scan *s, const char *word) {
    if (!scan_is(s, word)) return false;
    scan_skip(s, strlen(word));
    return true;
}

static void scan_put(struct template_scan *s, const char *p, size_t n) {
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

static void scan_blanks(struct template_scan *s) {
    while (s->in.n && is_blank(s->in.p[0]))
        scan_skip(s, 1);
}

/* Starts a literal, or goes on with the one that the output ends with. */
static void literal_open(struct template_scan *s) {
    if (s->n && s->out[s->n - 1] == TEMPLATE_END[0])
        s->n--;
    else
        scan_put(s, TEMPLATE_LITERAL, 1);
}

/* One character of a literal; the marks themselves would be ambiguous. */
static void literal_put(struct template_scan *s, char c) {
    if (c == TEMPLATE_LITERAL[0] || c == TEMPLATE_END[0])
        s->bad = true;
    else
        scan_put(s, &c, 1);
}

static void literal_text(struct template_scan *s, struct str text) {
    if (text.n == 0) return;
    literal_open(s);
    for (size_t i = 0; i < text.n; i++)
        literal_put(s, text.p[i]);
    scan_put(s, TEMPLATE_END, 1);
}

/* A quoted string at in: its characters, escapes resolved, through literal_put. */
static void quoted(struct template_scan *s) {
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

/* A name, or a number. */
static void scan_name(struct template_scan *s) {
    while (s->in.n && is_name(s->in.p[0])) {
        scan_put(s, s->in.p, 1);
        scan_skip(s, 1);
    }
}

/* ['key'] as .key, where the key could be written so; false without taking anything elsewhere. */
static bool scan_key(struct template_scan *s) {
    struct template_scan before = *s;
    scan_skip(s, 1);
    scan_blanks(s);
    if (scan_is(s, "'") || scan_is(s, "\"")) {
        char quote = s->in.p[0];
        scan_skip(s, 1);
        scan_put(s, ".", 1);
        size_t start = s->n;
        scan_name(s);
        bool name = s->n > start && !(s->out[start] >= '0' && s->out[start] <= '9');
        if (name && s->in.n && s->in.p[0] == quote) {
            scan_skip(s, 1);
            scan_blanks(s);
            if (scan_eat(s, "]")) return true;
        }
    }
    *s = before;
    return false;
}

/* An expression word by word, up to the tag's end. Words have a blank between them, but for
 * lookups: a.b and a[0] stay together. What is done to one of two expressions of equal form is done
 * to the other. */
static void words(struct template_scan *s) {
    static const char *const pairs[] = {"==", "!=", "<=", ">=", "//", "**"};
    bool value = false, glue = true; /* after something to look up in; no blank before this word */
    for (scan_blanks(s); s->in.n && !s->bad; scan_blanks(s)) {
        if (scan_is(s, "%}") || scan_is(s, "-%}") || scan_is(s, "}}") || scan_is(s, "-}}")) break;
        char c = s->in.p[0];
        if (value && c == '[' && scan_key(s)) continue;
        bool close = c == ')' || c == ']' || c == '}', look = value && (c == '[' || c == '.');
        if (!glue && !look && c != ']') scan_put(s, " ", 1);
        glue = look;
        value = close || is_name(c) || c == '\'' || c == '"';
        if (is_name(c)) {
            scan_name(s);
        } else if (c == '\'' || c == '"') {
            scan_put(s, TEMPLATE_LITERAL, 1);
            quoted(s);
            scan_put(s, TEMPLATE_END, 1);
        } else if (strchr("+-*/%~|()[]{},:.<>=!", c)) {
            size_t n = 1;
            for (size_t i = 0; i < COUNT(pairs); i++)
                n = scan_is(s, pairs[i]) ? 2 : n;
            scan_put(s, s->in.p, n);
            scan_skip(s, n);
        } else {
            s->bad = true;
        }
    }
}

/* A name with what is looked up in it: a, a.b, a['b'], a[0]. */
static void path(struct template_scan *s) {
    scan_name(s);
    for (scan_blanks(s); s->in.n && !s->bad; scan_blanks(s)) {
        if (scan_is(s, "[")) {
            if (scan_key(s)) continue;
            scan_put(s, "[", 1);
            scan_skip(s, 1);
            scan_blanks(s);
            scan_name(s);
            scan_blanks(s);
            scan_put(s, "]", 1);
            if (!scan_eat(s, "]")) s->bad = true;
        } else if (scan_eat(s, ".")) {
            scan_put(s, ".", 1);
            scan_name(s);
        } else {
            break;
        }
    }
}

/* {{ a + 'b' + c }} after its opening mark: as outputs one by one. */
static void output_sum(struct template_scan *s) {
    do {
        scan_blanks(s);
        if (scan_is(s, "'") || scan_is(s, "\"")) {
            literal_open(s);
            quoted(s);
            scan_put(s, TEMPLATE_END, 1);
        } else if (s->in.n && is_name(s->in.p[0])) {
            scan_put(s, "[", 1);
            path(s);
            scan_put(s, "]", 1);
        } else {
            s->bad = true;
        }
        scan_blanks(s);
    } while (!s->bad && scan_eat(s, "+"));
    if (!scan_is(s, "}}") && !scan_is(s, "-}}")) s->bad = true;
}

/* {{ anything }} after its opening mark. */
static void output(struct template_scan *s) {
    struct template_scan before = *s;
    char last = s->n ? s->out[s->n - 1] : 0;
    output_sum(s);
    if (!s->bad) return;
    *s = before;
    if (s->n) s->out[s->n - 1] = last; /* a literal may have been joined to the one before it */
    scan_put(s, "{{", 2);
    words(s);
    scan_put(s, "}}", 2);
}

/* {% words %} after its opening mark, up to its closing one. */
static void statement(struct template_scan *s) {
    scan_put(s, "{%", 2);
    words(s);
    scan_put(s, "%}", 2);
}

/* Text up to the next tag, without the blanks that the tag's mark removes. */
static void text_to_tag(struct template_scan *s) {
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
static void tag(struct template_scan *s) {
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

int template_normal(struct template_form *out, struct str template, const glim_alloc *alloc,
                    glim_err *e) {
    *out = (struct template_form){{"", 0}, NULL, 0};
    /* A tag of 4 bytes can become 6 and a lone character 3; nothing grows by more. */
    u64 cap;
    if (!mul_ok(template.n, 4, &cap) || template.n == 0) return 0;
    struct template_scan s = {.in = template, .cap = (size_t)cap, .line_start = true};
    s.out = mem_get(alloc, s.cap);
    if (!s.out) return fail(e, GLIM_NOMEM, "no memory to read the chat template");
    if (s.in.p[s.in.n - 1] == '\n') s.in.n--; /* templates lose their last newline */
    while (s.in.n && !s.bad) {
        text_to_tag(&s);
        if (s.in.n) tag(&s);
    }
    *out = (struct template_form){{s.out, s.n}, s.out, s.cap};
    if (!s.bad) return 1;
    template_free(out, alloc);
    return 0;
}

void template_free(struct template_form *f, const glim_alloc *alloc) {
    mem_put(alloc, f->owned, f->size);
    *f = (struct template_form){{"", 0}, NULL, 0};
}
