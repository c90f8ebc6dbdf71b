/* Templates cut into tokens, with Jinja's rules for white space as chat templates are read:
 * trim_blocks and lstrip_blocks on, keep_trailing_newline off. */
#include "text/jinja_node.h"

#include <ctype.h>
#include <string.h>

#include "text/jbuf.h"
#include "text/unicode.h"

struct str jlex_source(struct jmem *m, struct str t) {
    char *p = jmem_get(m, t.n, 1);
    size_t n = 0;
    for (size_t i = 0; p && i < t.n; i++) {
        if (t.p[i] == '\r' && i + 1 < t.n && t.p[i + 1] == '\n') continue;
        p[n++] = t.p[i] == '\r' ? '\n' : t.p[i];
    }
    if (n && p[n - 1] == '\n') n--;
    return (struct str){p ? p : "", n};
}

void jlex_begin(struct jlex *l, struct jmem *m, struct str source) {
    *l = (struct jlex){.m = m, .p = source.p, .n = source.n, .line = 1, .line_start = true};
}

static u32 newlines(const char *p, size_t n) {
    u32 count = 0;
    for (size_t i = 0; i < n; i++)
        count += p[i] == '\n';
    return count;
}

static struct jtoken lex_failed(struct jlex *l, const char *why) {
    l->m->line = l->line;
    jmem_fail(l->m, GLIM_FORMAT, "%s", why);
    return (struct jtoken){.kind = JTOKEN_END, .line = l->line};
}

/* Moves over white space. */
static void skip_space(struct jlex *l) {
    while (l->at < l->n) {
        struct unicode_char c = unicode_read(l->p + l->at, l->n - l->at);
        if (!jstr_is_space(c.code)) return;
        l->line += c.code == '\n';
        l->at += c.len;
    }
}

static size_t trimmed_end(const char *p, size_t n) {
    while (n) {
        size_t i = n - 1;
        while (i > 0 && ((u8)p[i] & 0xc0) == 0x80)
            i--;
        if (!jstr_is_space(unicode_read(p + i, n - i).code)) break;
        n = i;
    }
    return n;
}

/* Where the line's own white space before a tag begins; n where there is something else. */
static size_t line_indent(const struct jlex *l, const char *p, size_t n) {
    size_t i = n;
    while (i > 0 && p[i - 1] != '\n' && jstr_is_space((u8)p[i - 1]) && (u8)p[i - 1] < 0x80)
        i--;
    if (i == 0) return l->line_start ? 0 : n;
    return p[i - 1] == '\n' ? i : n;
}

/* The end of a tag was read: what it does to the text behind. sign: '-', '+' or 0. */
static void close_tag(struct jlex *l, char sign, bool block) {
    l->line_start = false;
    if (sign == '-') {
        size_t from = l->at;
        skip_space(l);
        l->line_start = l->at > from && l->p[l->at - 1] == '\n';
    } else if (block && sign != '+' && l->at < l->n && l->p[l->at] == '\n') {
        l->at++;
        l->line++;
        l->line_start = true;
    }
}

/* Behind "{#": moves over the comment. */
static bool skip_comment(struct jlex *l) {
    const char *end = memmem(l->p + l->at, l->n - l->at, "#}", 2);
    if (!end) return false;
    size_t stop = (size_t)(end - l->p);
    char sign = stop > l->at && (end[-1] == '-' || end[-1] == '+') ? end[-1] : 0;
    l->line += newlines(l->p + l->at, stop - l->at);
    l->at = stop + 2;
    close_tag(l, sign, true);
    return true;
}

/* At "{%", its sign and blanks: whether the word follows and ends the tag; moves behind it. */
static bool eat_word_tag(struct jlex *l, const char *word, char *sign_before, char *sign_after) {
    size_t i = l->at + 2, n = strlen(word);
    *sign_before = *sign_after = 0;
    if (i < l->n && (l->p[i] == '-' || l->p[i] == '+')) *sign_before = l->p[i++];
    while (i < l->n && isspace((u8)l->p[i]))
        i++;
    if (l->n - i < n || memcmp(l->p + i, word, n) != 0) return false;
    i += n;
    while (i < l->n && isspace((u8)l->p[i]))
        i++;
    if (i < l->n && (l->p[i] == '-' || l->p[i] == '+')) *sign_after = l->p[i++];
    if (l->n - i < 2 || memcmp(l->p + i, "%}", 2) != 0) return false;
    l->line += newlines(l->p + l->at, i - l->at);
    l->at = i + 2;
    return true;
}

/* Behind {% raw %}: text up to {% endraw %}. */
static struct jtoken lex_raw(struct jlex *l) {
    struct jtoken t = {JTOKEN_TEXT, l->line, {l->p + l->at, 0}};
    size_t from = l->at;
    if (l->at == l->n) return t; /* Jinja2 minds only if there is text */
    for (;;) {
        const char *tag = memmem(l->p + l->at, l->n - l->at, "{%", 2);
        if (!tag) return lex_failed(l, "raw without endraw");
        size_t stop = (size_t)(tag - l->p);
        char before, after;
        l->line += newlines(l->p + l->at, stop - l->at);
        l->at = stop;
        if (!eat_word_tag(l, "endraw", &before, &after)) {
            l->at += 2;
            continue;
        }
        t.text.n = stop - from;
        if (before == '-')
            t.text.n = trimmed_end(t.text.p, t.text.n);
        else if (before != '+')
            t.text.n = line_indent(l, t.text.p, t.text.n);
        close_tag(l, after, true);
        return t;
    }
}

/* The next place that may begin a tag, or n. */
static size_t next_tag(const struct jlex *l) {
    for (size_t i = l->at; i + 1 < l->n; i++) {
        if (l->p[i] == '{' && strchr("{%#", l->p[i + 1]) && l->p[i + 1]) return i;
    }
    return l->n;
}

/* One stretch of text and what is behind it: a tag, a comment, raw text. Kind END with something
 * left of the source: there was nothing to give out. */
static struct jtoken lex_stretch(struct jlex *l) {
    size_t tag = next_tag(l);
    struct jtoken text = {JTOKEN_TEXT, l->line, {l->p + l->at, tag - l->at}};
    if (tag == l->n) {
        l->at = l->n;
        if (text.text.n) return text;
        return (struct jtoken){.kind = JTOKEN_END, .line = l->line};
    }
    char kind = l->p[tag + 1], sign = 0;
    if (tag + 2 < l->n && (l->p[tag + 2] == '-' || l->p[tag + 2] == '+')) sign = l->p[tag + 2];
    size_t n = text.text.n;
    if (sign == '-')
        n = trimmed_end(text.text.p, n);
    else if (sign != '+' && kind != '{')
        n = line_indent(l, text.text.p, n);
    l->line += newlines(text.text.p, text.text.n);
    text.text.n = n;
    l->at = tag;
    struct jtoken begun = {.kind = kind == '{' ? JTOKEN_PRINT : JTOKEN_BLOCK,
                           .line = l->line,
                           .text = {l->p + tag, 2}};
    char before, after;
    if (kind == '%' && eat_word_tag(l, "raw", &before, &after)) {
        l->line_start = false;
        if (after == '-') close_tag(l, after, true);
        begun = lex_raw(l);
        if (begun.kind == JTOKEN_TEXT && begun.text.n == 0) begun.kind = JTOKEN_END;
    } else {
        l->at += sign ? 3 : 2;
        if (kind == '#') {
            begun.kind = JTOKEN_END;
            if (!skip_comment(l)) return lex_failed(l, "a comment has no end");
        } else {
            l->inside = kind == '{' ? '}' : '%';
            l->open = 0;
        }
    }
    if (l->m->rc) return (struct jtoken){.kind = JTOKEN_END, .line = l->line};
    if (text.text.n == 0) return begun;
    l->ahead = begun;
    return text;
}

static struct jtoken lex_outside(struct jlex *l) {
    struct jtoken t;
    do
        t = lex_stretch(l);
    while (t.kind == JTOKEN_END && l->at < l->n && !l->m->rc);
    return t;
}

/* ---- Within tags ----------------------------------------------------------------------------- */

static bool is_name_char(u32 code, bool first) {
    if (code < 0x80) return code == '_' || isalpha((int)code) || (!first && isdigit((int)code));
    u32 flags = unicode_flags(code);
    return flags & UNICODE_LETTER || (!first && flags & (UNICODE_NUMBER | UNICODE_MARK));
}

/* Names may be in any script, as in Python. */
static struct jtoken lex_name(struct jlex *l) {
    size_t i = l->at;
    while (i < l->n) {
        struct unicode_char c = unicode_read(l->p + i, l->n - i);
        if (!is_name_char(c.code, i == l->at)) break;
        i += c.len;
    }
    struct jtoken t = {JTOKEN_NAME, l->line, {l->p + l->at, i - l->at}};
    l->at = i;
    return t;
}

/* Underscores may stand between digits. "x.0.1" is two indices, not a fraction. */
static struct jtoken lex_number(struct jlex *l) {
    size_t i = l->at;
    bool is_float = false;
    if (l->p[i] == '0' && i + 1 < l->n && strchr("xXoObB", l->p[i + 1]) && l->p[i + 1]) {
        i += 2;
        while (i < l->n && (isxdigit((u8)l->p[i]) || l->p[i] == '_'))
            i++;
    } else {
        while (i < l->n && (isdigit((u8)l->p[i]) || l->p[i] == '_'))
            i++;
        bool index = l->at > 0 && l->p[l->at - 1] == '.'; /* of x.0.1 */
        if (!index && i + 1 < l->n && l->p[i] == '.' && isdigit((u8)l->p[i + 1])) {
            is_float = true;
            for (i++; i < l->n && (isdigit((u8)l->p[i]) || l->p[i] == '_');)
                i++;
        }
        size_t e = i;
        if (e < l->n && (l->p[e] == 'e' || l->p[e] == 'E')) {
            e++;
            if (e < l->n && (l->p[e] == '+' || l->p[e] == '-')) e++;
            if (e < l->n && isdigit((u8)l->p[e])) {
                is_float = true;
                while (e < l->n && isdigit((u8)l->p[e]))
                    e++;
                i = e;
            }
        }
    }
    struct jtoken t = {is_float ? JTOKEN_FLOAT : JTOKEN_INT, l->line, {l->p + l->at, i - l->at}};
    l->at = i;
    return t;
}

static struct jtoken lex_string(struct jlex *l) {
    char quote = l->p[l->at];
    size_t i = l->at + 1;
    while (i < l->n && l->p[i] != quote)
        i += l->p[i] == '\\' ? 2 : 1;
    if (i >= l->n) return lex_failed(l, "a string has no end");
    struct jtoken t = {JTOKEN_STRING, l->line, {l->p + l->at, i + 1 - l->at}};
    l->line += newlines(t.text.p, t.text.n);
    l->at = i + 1;
    return t;
}

/* Brackets must match, and a tag ends only outside of them: "}}" may close two dictionaries. */
static struct jtoken lex_op(struct jlex *l) {
    static const char *const two[] = {"**", "//", "==", "!=", "<=", ">="};
    struct jtoken t = {JTOKEN_OP, l->line, {l->p + l->at, 1}};
    for (size_t i = 0; i < COUNT(two); i++) {
        if (l->n - l->at >= 2 && !memcmp(l->p + l->at, two[i], 2)) t.text.n = 2;
    }
    char c = l->p[l->at];
    if (!c || !strchr("+-*/%~<>=.:|,;()[]{}!", c) || (c == '!' && t.text.n == 1))
        return lex_failed(l, "a character that has no meaning there");
    if (strchr("([{", c)) {
        if (l->open == sizeof l->brackets) return lex_failed(l, "too many brackets");
        l->brackets[l->open++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (strchr(")]}", c)) {
        if (l->open == 0 || l->brackets[l->open - 1] != c)
            return lex_failed(l, "a bracket closes nothing");
        l->open--;
    }
    l->at += t.text.n;
    return t;
}

/* Within a tag white space only separates. "-" and "+" before the end belong to it. */
static struct jtoken lex_inside(struct jlex *l) {
    skip_space(l);
    if (l->at == l->n) return lex_failed(l, "a tag has no end");
    const char *p = l->p + l->at;
    size_t left = l->n - l->at, sign = (p[0] == '-' || (p[0] == '+' && l->inside == '%')) ? 1 : 0;
    if (l->open == 0 && left >= sign + 2 && p[sign] == l->inside && p[sign + 1] == '}') {
        bool block = l->inside == '%';
        struct jtoken t = {block ? JTOKEN_BLOCK_END : JTOKEN_PRINT_END, l->line, {p, sign + 2}};
        l->at += sign + 2;
        l->inside = 0;
        close_tag(l, sign ? p[0] : 0, block);
        return t;
    }
    if (p[0] == '"' || p[0] == '\'') return lex_string(l);
    if (isdigit((u8)p[0])) return lex_number(l);
    if (is_name_char(unicode_read(p, left).code, true)) return lex_name(l);
    return lex_op(l);
}

struct jtoken jlex_next(struct jlex *l) {
    if (l->m->rc) return (struct jtoken){.kind = JTOKEN_END, .line = l->line};
    struct jtoken t = l->ahead;
    l->ahead.kind = JTOKEN_END;
    if (t.kind != JTOKEN_END) return t;
    return l->inside ? lex_inside(l) : lex_outside(l);
}
