/* Values of tool calls into JSON; see stream_value.h. */
#include "text/stream_value.h"

#include <stdio.h>
#include <string.h>

/* ---- Text that grows ------------------------------------------------------------------------- */

bool stream_text_open(struct stream_text *t, size_t at, size_t n) {
    if (t->failed) return false;
    u64 need;
    if (!add_ok(t->n, n, &need) || need > SIZE_MAX / 4) {
        t->failed = true;
        return false;
    }
    if (need > t->cap) {
        size_t cap = MAX((size_t)need * 2, 256u);
        char *p = mem_get(t->alloc, cap);
        if (!p) {
            t->failed = true;
            return false;
        }
        if (t->n) memcpy(p, t->p, t->n);
        mem_put(t->alloc, t->p, t->cap);
        t->p = p;
        t->cap = cap;
    }
    if (at < t->n) memmove(t->p + at + n, t->p + at, t->n - at);
    t->n += n;
    return true;
}

void stream_text_put(struct stream_text *t, const char *p, size_t n) {
    if (n && stream_text_open(t, t->n, n)) memcpy(t->p + t->n - n, p, n);
}

void stream_text_free(struct stream_text *t) {
    mem_put(t->alloc, t->p, t->cap);
    *t = (struct stream_text){.alloc = t->alloc};
}

static void value_put(struct value *v, const char *s) {
    stream_text_put(v->out, s, strlen(s));
}

void value_put_content(struct stream_text *out, char c) {
    char escaped[8];
    const char *from = "\"\\\n\r\t\b\f", *to = "\"\\nrtbf", *at = c ? strchr(from, c) : NULL;
    if (at)
        snprintf(escaped, sizeof escaped, "\\%c", to[at - from]);
    else if ((u8)c < 0x20)
        snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)(u8)c);
    else
        snprintf(escaped, sizeof escaped, "%c", c);
    stream_text_put(out, escaped, strlen(escaped));
}

/* ---- Where a value may be -------------------------------------------------------------------- */

enum {
    AT_VALUE, /* a value */
    AT_FIRST, /* a value, or what closes the frame */
    AT_KEY,   /* a key, or } */
    AT_COLON,
    AT_NEXT,   /* a comma, or what closes the frame */
    IN_BARE,   /* a number or word */
    IN_OPEN,   /* behind the quote that opened a string: two more make it a triple one */
    IN_OPEN2,  /* behind the second */
    IN_STRING, /* its content */
    IN_ESCAPE, /* behind a backslash */
    IN_DIGITS, /* of an escape */
    IN_RAW,    /* behind a backslash of a raw string: content, whatever it is */
    IN_QUOTE,  /* behind a quote that closes the string if a separator follows */
    IN_MARKED, /* between Gemma's marks */
};

static enum value_step value_bad(struct value *v, const char *why) {
    v->why = why;
    return VALUE_BAD;
}

static bool value_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void value_begin(struct value *v, enum value_dialect dialect, struct stream_text *out) {
    v->dialect = dialect;
    v->out = out;
    v->state = AT_VALUE;
    v->key = v->raw = v->triple = false;
    v->depth = v->n_bare = v->n_spaces = v->high = v->run = 0;
    v->why = "";
}

bool value_in_string(const struct value *v) {
    return (v->state >= IN_OPEN && v->state <= IN_QUOTE) || v->state == IN_MARKED;
}

size_t value_settled(const struct value *v) {
    for (u32 i = 0; i < v->depth; i++) {
        if (v->frame[i].close == ')' && !v->frame[i].tuple) return v->frame[i].from;
    }
    return v->out->n;
}

/* Before a member of the innermost frame: the comma that separates it from the one before. */
static void value_member(struct value *v) {
    if (v->depth == 0 || (v->frame[v->depth - 1].close == '}' && !v->key)) return;
    if (v->frame[v->depth - 1].some) value_put(v, ",");
    v->frame[v->depth - 1].some = true;
}

/* A value or key has ended. */
static enum value_step value_after(struct value *v) {
    if (v->key) {
        v->key = false;
        v->state = AT_COLON;
        return VALUE_MORE;
    }
    v->state = AT_NEXT;
    return v->depth ? VALUE_MORE : VALUE_DONE;
}

static enum value_step value_push(struct value *v, char close) {
    value_member(v);
    if (v->depth == VALUE_DEPTH) return value_bad(v, "values nest too deep");
    v->frame[v->depth].close = close;
    v->frame[v->depth].some = v->frame[v->depth].tuple = false;
    v->frame[v->depth].from = v->out->n;
    v->depth++;
    if (close != ')') value_put(v, close == '}' ? "{" : "[");
    v->state = close == '}' ? AT_KEY : AT_FIRST;
    return VALUE_MORE;
}

static enum value_step value_pop(struct value *v, char c) {
    if (v->depth == 0 || v->frame[v->depth - 1].close != c)
        return value_bad(v, "a bracket closes what is not open");
    v->depth--;
    if (c == '}') value_put(v, "}");
    if (c == ']' || v->frame[v->depth].tuple) value_put(v, "]");
    if (c == ')' && !v->frame[v->depth].some) value_put(v, "[]");
    return value_after(v);
}

/* ---- Numbers and words ----------------------------------------------------------------------- */

static size_t value_digits(const char *s, size_t n, size_t at, char *to, size_t *m) {
    size_t begin = at;
    for (; at < n; at++) {
        bool digit = s[at] >= '0' && s[at] <= '9';
        if (!digit && !(s[at] == '_' && at > begin && s[at - 1] != '_')) break;
        if (digit) to[(*m)++] = s[at];
    }
    return at - begin;
}

/* 0x1f, 0o17 and 0b11 in decimal. */
static bool value_based(const char *s, size_t n, bool minus, struct stream_text *out) {
    u64 base = n > 2 && s[0] == '0' ? (s[1] | 32) == 'x'   ? 16
                                      : (s[1] | 32) == 'o' ? 8
                                      : (s[1] | 32) == 'b' ? 2
                                                           : 0
                                    : 0;
    u64 number = 0;
    char text[32];
    if (base == 0) return false;
    for (size_t i = 2; i < n; i++) {
        u64 digit = s[i] >= '0' && s[i] <= '9' ? (u64)(s[i] - '0') : (u64)((s[i] | 32) - 'a') + 10;
        if (digit >= base || !mul_ok(number, base, &number) || !add_ok(number, digit, &number))
            return false;
    }
    snprintf(text, sizeof text, "%s%llu", minus ? "-" : "", (unsigned long long)number);
    stream_text_put(out, text, strlen(text));
    return true;
}

/* A number as JSON writes it; its digits stay as they are. False: it is none, and nothing is put.
 */
static bool value_number(const char *s, size_t n, bool python, struct stream_text *out) {
    char to[VALUE_BARE + 8];
    size_t m = 0, at = 0, whole, part = 0;
    bool minus = n && s[0] == '-';
    if (n && (s[0] == '-' || s[0] == '+')) at = 1;
    if (python && value_based(s + at, n - at, minus, out)) return true;
    if (minus) to[m++] = '-';
    size_t first = m;
    whole = value_digits(s, n, at, to, &m);
    at += whole;
    if (m > first + 1 && to[first] == '0') return false; /* 007 is nobody's number */
    if (m == first) to[m++] = '0';
    if (at < n && s[at] == '.') {
        size_t dot = m;
        to[m++] = '.';
        part = value_digits(s, n, at + 1, to, &m);
        at += 1 + part;
        if (m == dot + 1) to[m++] = '0';
    }
    if (whole + part == 0) return false;
    if (at < n && (s[at] | 32) == 'e') {
        to[m++] = 'e';
        at++;
        if (at < n && (s[at] == '-' || s[at] == '+')) to[m++] = s[at++];
        size_t power = value_digits(s, n, at, to, &m);
        if (power == 0) return false;
        at += power;
    }
    if (at != n) return false;
    stream_text_put(out, to, m);
    return true;
}

/* What a number or word means, put as JSON. */
static enum value_step value_word(struct value *v) {
    static const char *const words[][2] = {{"true", "true"}, {"false", "false"}, {"null", "null"},
                                           {"True", "true"}, {"False", "false"}, {"None", "null"},
                                           {"none", "null"}};
    const char *s = v->bare;
    size_t n = v->n_bare;
    bool gemma = v->dialect == VALUE_GEMMA, known = false;
    while (gemma && n && value_blank(s[n - 1]))
        n--;
    v->n_bare = 0;
    value_member(v);
    if (v->key) value_put(v, "\"");
    if (v->key && v->dialect != VALUE_PYTHON) { /* names without quotes */
        for (size_t i = 0; i < n; i++)
            value_put_content(v->out, s[i]);
        known = n > 0;
    }
    for (size_t i = 0; !known && i < COUNT(words); i++) {
        known = strlen(words[i][0]) == n && memcmp(words[i][0], s, n) == 0;
        if (known) value_put(v, words[i][1]);
    }
    if (!known) known = value_number(s, n, v->dialect == VALUE_PYTHON, v->out);
    if (!known && gemma && n) {
        value_put(v, "\"");
        for (size_t i = 0; i < n; i++)
            value_put_content(v->out, s[i]);
        value_put(v, "\"");
        known = true;
    }
    if (!known) return value_bad(v, "a word that is no value");
    if (v->key) value_put(v, "\"");
    return value_after(v);
}

/* ---- Strings --------------------------------------------------------------------------------- */

static void value_content(struct value *v, char c) {
    if (v->high) value_put(v, "\xef\xbf\xbd"); /* half a pair */
    v->high = 0;
    value_put_content(v->out, c);
}

/* A character that an escape names. Halves of surrogate pairs wait for each other; alone they are
 * no character. */
static void value_character(struct value *v, u32 c) {
    if (v->high && c >= 0xdc00 && c < 0xe000) {
        c = 0x10000 + ((v->high - 0xd800) << 10) + (c - 0xdc00);
        v->high = 0;
    }
    if (v->high) value_put(v, "\xef\xbf\xbd");
    v->high = c >= 0xd800 && c < 0xdc00 ? c : 0;
    if (v->high) return;
    if ((c >= 0xdc00 && c < 0xe000) || c > 0x10ffff) c = 0xfffd;
    if (c < 0x80) {
        value_put_content(v->out, (char)c);
        return;
    }
    u32 more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const u8 lead[] = {0, 0xc0, 0xe0, 0xf0};
    char utf8[4] = {(char)(lead[more] | (c >> (6 * more)))};
    for (u32 i = 1; i <= more; i++)
        utf8[i] = (char)(0x80 | ((c >> (6 * (more - i))) & 0x3f));
    stream_text_put(v->out, utf8, more + 1);
}

static void value_open_string(struct value *v, char quote) {
    value_member(v);
    value_put(v, "\"");
    v->quote = quote;
    v->raw = v->triple = false;
    v->run = 0;
    bool lenient = v->dialect == VALUE_PYTHON || (v->dialect == VALUE_JSON && quote == '\'');
    v->state = lenient ? IN_OPEN : IN_STRING;
}

static enum value_step value_close_string(struct value *v) {
    if (v->high) value_put(v, "\xef\xbf\xbd");
    v->high = 0;
    value_put(v, "\"");
    return value_after(v);
}

static enum value_step value_string_byte(struct value *v, char c) {
    if (v->triple && c == v->quote) {
        if (++v->run < 3) return VALUE_MORE;
        v->run = 0;
        return value_close_string(v);
    }
    for (; v->run; v->run--)
        value_content(v, v->quote);
    if (c == '\\') {
        if (v->raw) value_content(v, c);
        v->state = v->raw ? IN_RAW : IN_ESCAPE;
    } else if (c != v->quote) {
        value_content(v, c);
    } else if (v->dialect == VALUE_PYTHON || c == '\'') {
        v->n_spaces = 0;
        v->state = IN_QUOTE;
    } else {
        return value_close_string(v);
    }
    return VALUE_MORE;
}

static enum value_step value_escape_byte(struct value *v, char c) {
    bool python = v->dialect == VALUE_PYTHON;
    const char *from = python ? "\"'\\abfnrtv" : "\"'\\/bfnrt";
    const char *to = python ? "\"'\\\a\b\f\n\r\t\v" : "\"'\\/\b\f\n\r\t";
    const char *at = c ? strchr(from, c) : NULL;
    v->state = IN_STRING;
    if (at) {
        value_content(v, to[at - from]);
    } else if (c == 'u' || (python && (c == 'U' || c == 'x' || (c >= '0' && c <= '7')))) {
        bool octal = c >= '0' && c <= '7';
        v->escape = octal ? 0 : c;
        v->code = octal ? (u32)(c - '0') : 0;
        v->n_digits = octal ? 1 : 0;
        v->bare[0] = c;
        v->state = IN_DIGITS;
    } else if (!(python && c == '\n')) { /* Python joins lines there */
        value_content(v, '\\');
        value_content(v, c);
    }
    return VALUE_MORE;
}

/* \u0041, \x41, \101. What lacks digits is no escape, as in "C:\users": it stays what it is. */
static enum value_step value_digit_byte(struct value *v, char c) {
    u32 want = v->escape == 'u' ? 4 : v->escape == 'U' ? 8 : v->escape == 'x' ? 2 : 3;
    char low = (char)(c | 32);
    u32 digit = c >= '0' && c <= '9'       ? (u32)(c - '0')
                : low >= 'a' && low <= 'f' ? (u32)(low - 'a') + 10
                                           : 99;
    bool octal = v->escape == 0, fits = digit < (octal ? 8u : 16u);
    if (fits) {
        v->code = (v->code & 0x0fffffff) * (octal ? 8 : 16) + digit;
        v->bare[v->n_digits++ + !octal] = c;
        if (v->n_digits < want) return VALUE_MORE;
    }
    v->state = IN_STRING;
    if (fits || octal) {
        value_character(v, v->code);
    } else {
        value_content(v, '\\');
        for (u32 i = 0; i < v->n_digits + 1; i++)
            value_content(v, v->bare[i]);
    }
    return fits ? VALUE_MORE : value_string_byte(v, c);
}

/* Behind a quote inside a string. Models forget to escape quotes, and LFM2's own template writes
 * strings without escapes; so a quote closes only where what follows can follow a string. */
static enum value_step value_quote_byte(struct value *v, char c) {
    const char *ends = v->key ? ":" : ",)]}";
    if (value_blank(c) && v->n_spaces < sizeof v->spaces) {
        v->spaces[v->n_spaces++] = c;
        return VALUE_MORE;
    }
    if (c && strchr(ends, c)) {
        enum value_step step = value_close_string(v);
        return step == VALUE_DONE ? VALUE_BEFORE : value_byte(v, c);
    }
    if ((c == '"' || c == '\'') && v->n_spaces) { /* 'two' 'parts' of one string */
        v->quote = c;
        v->state = IN_STRING;
        return VALUE_MORE;
    }
    value_content(v, v->quote);
    for (u32 i = 0; i < v->n_spaces; i++)
        value_content(v, v->spaces[i]);
    v->state = IN_STRING;
    return value_string_byte(v, c);
}

static enum value_step value_open_byte(struct value *v, char c) {
    if (v->state == IN_OPEN && c == v->quote) {
        v->state = IN_OPEN2;
        return VALUE_MORE;
    }
    if (v->state == IN_OPEN) {
        v->state = IN_STRING;
        return value_string_byte(v, c);
    }
    if (c == v->quote) {
        v->triple = true;
        v->state = IN_STRING;
        return VALUE_MORE;
    }
    v->n_spaces = 0; /* the second may have closed an empty string */
    v->state = IN_QUOTE;
    return value_quote_byte(v, c);
}

/* ---- The automaton --------------------------------------------------------------------------- */

/* Where a value or key may begin. */
static enum value_step value_start_byte(struct value *v, char c) {
    if (value_blank(c)) return VALUE_MORE;
    if (c == '}' || c == ']' || c == ')') {
        if (v->state == AT_VALUE) return value_bad(v, "a value is missing");
        v->key = false;
        return value_pop(v, c);
    }
    v->key = v->state == AT_KEY;
    bool bracket = c == '{' || c == '[' || (c == '(' && v->dialect == VALUE_PYTHON);
    if (bracket && v->key) return value_bad(v, "a bracket in place of a name");
    if (bracket) return value_push(v, c == '{' ? '}' : c == '[' ? ']' : ')');
    if (c == '"' || (c == '\'' && v->dialect != VALUE_GEMMA)) {
        value_open_string(v, c);
        return VALUE_MORE;
    }
    if (c == ',' || c == ':') return value_bad(v, "a value is missing");
    v->bare[0] = c;
    v->n_bare = 1;
    v->state = IN_BARE;
    return VALUE_MORE;
}

static enum value_step value_bare_byte(struct value *v, char c) {
    bool gemma = v->dialect == VALUE_GEMMA;
    const char *ends = gemma ? (v->key ? ":" : ",}]") : " \t\r\n,:)]}";
    if (c && strchr(ends, c)) {
        enum value_step step = value_word(v);
        if (step == VALUE_DONE) return VALUE_BEFORE;
        return step == VALUE_BAD ? step : value_byte(v, c);
    }
    bool quote = c == '"' || c == '\'';
    if (quote && v->dialect == VALUE_PYTHON && v->n_bare == 1 && v->bare[0] &&
        strchr("rRuUbBfF", v->bare[0])) {
        bool raw = (v->bare[0] | 32) == 'r';
        v->n_bare = 0;
        value_open_string(v, c);
        v->raw = raw;
        return VALUE_MORE;
    }
    if (!gemma && (quote || c == '(' || c == '[' || c == '{'))
        return value_bad(v, "a word that is no value");
    if (v->n_bare == VALUE_BARE) return value_bad(v, "a word that does not end");
    v->bare[v->n_bare++] = c;
    return VALUE_MORE;
}

static enum value_step value_next_byte(struct value *v, char c) {
    if (v->depth == 0) return VALUE_BEFORE;
    if (value_blank(c)) return VALUE_MORE;
    if (c == '}' || c == ']' || c == ')') return value_pop(v, c);
    if (c != ',') return value_bad(v, "two values without a comma between");
    v->state = v->frame[v->depth - 1].close == '}' ? AT_KEY : AT_FIRST;
    if (v->frame[v->depth - 1].close == ')' && !v->frame[v->depth - 1].tuple) {
        size_t from = v->frame[v->depth - 1].from;
        v->frame[v->depth - 1].tuple = true;
        if (stream_text_open(v->out, from, 1)) v->out->p[from] = '[';
        /* Parentheses further out move along only if they begin later, which they do not. */
    }
    return VALUE_MORE;
}

enum value_step value_byte(struct value *v, char c) {
    switch (v->state) {
    case AT_VALUE:
    case AT_FIRST:
    case AT_KEY:
        return value_start_byte(v, c);
    case AT_COLON:
        if (value_blank(c)) return VALUE_MORE;
        if (c != ':') return value_bad(v, "a name without a value");
        value_put(v, ":");
        v->state = AT_VALUE;
        return VALUE_MORE;
    case AT_NEXT:
        return value_next_byte(v, c);
    case IN_BARE:
        return value_bare_byte(v, c);
    case IN_OPEN:
    case IN_OPEN2:
        return value_open_byte(v, c);
    case IN_STRING:
        return value_string_byte(v, c);
    case IN_ESCAPE:
        return value_escape_byte(v, c);
    case IN_DIGITS:
        return value_digit_byte(v, c);
    case IN_RAW:
        value_content(v, c);
        v->state = IN_STRING;
        return VALUE_MORE;
    case IN_QUOTE:
        return value_quote_byte(v, c);
    default: /* IN_MARKED */
        value_content(v, c);
        return VALUE_MORE;
    }
}

enum value_step value_mark(struct value *v) {
    if (v->state == IN_MARKED) return value_close_string(v);
    if (v->state > AT_KEY) return value_bad(v, "a string where there should be none");
    v->key = v->state == AT_KEY;
    value_member(v);
    value_put(v, "\"");
    v->state = IN_MARKED;
    return VALUE_MORE;
}
