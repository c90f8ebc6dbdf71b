/* Hand-written pre-tokenizers. Each function walks its expression's alternatives in order; the
 * comments quote the alternative at hand. */
#include "text/split.h"

#include "text/unicode.h"

enum { SPLIT_WORD = UNICODE_LETTER | UNICODE_NUMBER, SPLIT_SOLID = SPLIT_WORD | UNICODE_SPACE };

struct ch {
    u32 code, flags;
    u32 len; /* 0 at the end of the text */
};

static struct ch char_at(struct str t, size_t i) {
    if (i >= t.n) return (struct ch){0, 0, 0};
    struct unicode_char c = unicode_read(t.p + i, t.n - i);
    if (c.state != UNICODE_WHOLE) return (struct ch){UNICODE_BAD, UNICODE_SYMBOL, 1};
    return (struct ch){c.code, unicode_flags(c.code), c.len};
}

static bool is_newline(struct ch c) {
    return c.code == '\r' || c.code == '\n';
}

/* Symbols are what [^\s\p{L}\p{N}] matches: also marks, controls and unassigned code points. */
static bool is_symbol(struct ch c) {
    return c.len && !(c.flags & SPLIT_SOLID);
}

/* End of the run of characters that have one of these flags; i where there is none. */
static size_t run_of(struct str t, size_t i, u32 flags) {
    for (struct ch c; (c = char_at(t, i)).flags & flags;)
        i += c.len;
    return i;
}

static size_t run_of_symbols(struct str t, size_t i) {
    for (struct ch c; is_symbol(c = char_at(t, i));)
        i += c.len;
    return i;
}

/* 's|'t|'re|'ve|'m|'ll|'d: length of the contraction that starts t, or 0. Folding case follows
 * Unicode, where the long s (U+017F) is an s too. */
static size_t contraction(struct str t, bool fold) {
    if (t.n < 2 || t.p[0] != '\'') return 0;
    if (fold && t.n >= 3 && (u8)t.p[1] == 0xc5 && (u8)t.p[2] == 0xbf) return 3;
    char a = t.p[1], b = t.n > 2 ? t.p[2] : 0;
    if (fold) {
        if (a >= 'A' && a <= 'Z') a = (char)(a + 32);
        if (b >= 'A' && b <= 'Z') b = (char)(b + 32);
    }
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if (b == 'e' && (a == 'r' || a == 'v')) return 3;
    return a == 'l' && b == 'l' ? 3 : 0;
}

/* \s+(?!\S)|\s+ on text that starts with white space: the whole run at the end of the text, else
 * the run without its last character (which may lead the next word), else that one character.
 * ends: flags of characters that end the text. */
static size_t blanks(struct str t, u32 ends) {
    size_t end = 0, last = 0;
    struct ch c;
    while ((c = char_at(t, end)).flags & UNICODE_SPACE) {
        last = end;
        end += c.len;
    }
    bool at_end = c.len == 0 || c.flags & ends;
    return at_end || last == 0 ? end : last;
}

/* GPT-2's expression on a text that characters with one of these flags end as well. */
static size_t split_gpt2_until(struct str t, u32 ends) {
    size_t n = contraction(t, false);
    if (n) return n;
    size_t lead = t.p[0] == ' '; /* the " ?" of three alternatives */
    struct ch c = char_at(t, lead);
    if (c.flags & ends) c = (struct ch){0, 0, 0};
    if (c.flags & UNICODE_LETTER) return run_of(t, lead, UNICODE_LETTER);
    if (c.flags & UNICODE_NUMBER) return run_of(t, lead, UNICODE_NUMBER);
    if (is_symbol(c)) return run_of_symbols(t, lead);
    return blanks(t, ends);
}

size_t split_gpt2(struct str t) {
    return split_gpt2_until(t, 0);
}

size_t split_digits_gpt2(struct str t) {
    struct ch c = char_at(t, 0);
    return c.flags & UNICODE_NUMBER ? c.len : split_gpt2_until(t, UNICODE_NUMBER);
}

/* \s*[\r\n]+: to the last newline of the run of white space that starts t, or 0. */
static size_t to_last_newline(struct str t) {
    size_t i = 0, end = 0;
    for (struct ch c; (c = char_at(t, i)).flags & UNICODE_SPACE;) {
        i += c.len;
        if (is_newline(c)) end = i;
    }
    return end;
}

/* \p{N}{1,max} */
static size_t digits_of(struct str t, u32 max) {
    size_t n = 0;
    struct ch c;
    for (u32 i = 0; i < max && (c = char_at(t, n)).flags & UNICODE_NUMBER; i++)
        n += c.len;
    return n;
}

/* The alternatives that begin with none of \p{L}\p{N}, from ?[^\s\p{L}\p{N}]+[\r\n]* on. slash:
 * with [\r\n/]*. */
static size_t symbols_or_blanks(struct str t, bool slash) {
    size_t lead = t.p[0] == ' ', n = run_of_symbols(t, lead);
    if (n > lead) {
        for (struct ch c; is_newline(c = char_at(t, n)) || (slash && c.code == '/' && c.len);)
            n++;
        return n;
    }
    n = to_last_newline(t);
    return n ? n : blanks(t, 0);
}

/* Llama 3's expression with \p{N}{1,max_digits}. */
static size_t split_llama3_digits(struct str t, u32 max_digits) {
    size_t n = contraction(t, true);
    if (n) return n;
    struct ch c = char_at(t, 0);
    /* [^\r\n\p{L}\p{N}]?\p{L}+ */
    if (c.flags & UNICODE_LETTER) return run_of(t, 0, UNICODE_LETTER);
    if (!is_newline(c) && !(c.flags & UNICODE_NUMBER)) {
        n = run_of(t, c.len, UNICODE_LETTER);
        if (n > c.len) return n;
    }
    n = digits_of(t, max_digits);
    return n ? n : symbols_or_blanks(t, false);
}

size_t split_llama3(struct str t) {
    return split_llama3_digits(t, 3);
}

size_t split_qwen2(struct str t) {
    return split_llama3_digits(t, 1);
}

/* U*L+ from i on, or where there is no L U+; i where there is no letter or mark. U takes all it
 * can; L then goes on with lower case, or gets back the last character that both take. */
static size_t cased_word(struct str t, size_t i) {
    size_t end = i, both_end = i;
    struct ch c;
    while ((c = char_at(t, end)).flags & (UNICODE_LETTER | UNICODE_MARK) &&
           !(c.flags & UNICODE_LOWER)) {
        end += c.len;
        if (!(c.flags & UNICODE_UPPER)) both_end = end;
    }
    if (!(c.flags & UNICODE_LOWER)) return both_end > i ? both_end : end;
    while ((c = char_at(t, end)).flags & (UNICODE_LETTER | UNICODE_MARK) &&
           !(c.flags & UNICODE_UPPER))
        end += c.len;
    return end;
}

/* [^\r\n\p{L}\p{N}]?U*L+|[^\r\n\p{L}\p{N}]?U+L*: 0 where neither fits. */
static size_t cased_word_with_lead(struct str t) {
    struct ch c = char_at(t, 0);
    if (c.flags & UNICODE_LETTER) return cased_word(t, 0);
    if (c.flags & UNICODE_NUMBER || is_newline(c)) return 0;
    size_t n = cased_word(t, c.len);
    if (!(c.flags & UNICODE_MARK)) return n > c.len ? n : 0;
    /* A mark may be the lead of a word that has an L in it; failing that it is an L itself. */
    bool has_l = false;
    for (size_t i = c.len; i < n && !has_l; i += c.len)
        has_l = !((c = char_at(t, i)).flags & UNICODE_UPPER);
    return has_l ? n : char_at(t, 0).len;
}

static size_t split_cased(struct str t, u32 max_digits, bool contractions) {
    size_t n = cased_word_with_lead(t);
    if (n) return contractions ? n + contraction((struct str){t.p + n, t.n - n}, true) : n;
    n = digits_of(t, max_digits);
    return n ? n : symbols_or_blanks(t, true);
}

size_t split_tekken(struct str t) {
    return split_cased(t, 1, false);
}

size_t split_o200k(struct str t) {
    return split_cased(t, 3, true);
}
