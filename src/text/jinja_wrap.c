/* The filter wordwrap: what Python's textwrap makes of each line of a text. */
#include <string.h>

#include "text/jinja_call.h"
#include "text/unicode.h"

struct wrap {
    const struct jstr *s; /* one line */
    u32 *code;            /* [n] its characters, */
    u64 *at;              /* [n + 1] and where they begin */
    u64 n, width;
    u64 cut_end; /* where a piece ends of which lines have taken a part */
    bool break_long, break_on_hyphens;
};

/* ---- Words ----------------------------------------------------------------------------------- */

static u32 wrap_code(const struct wrap *w, u64 i) {
    return i < w->n ? w->code[i] : 0;
}

static bool wrap_blank(const struct wrap *w, u64 i) {
    u32 c = wrap_code(w, i);
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool wrap_letter(const struct wrap *w, u64 i) {
    u32 c = wrap_code(w, i);
    return c == '_' || (c && unicode_flags(c) & UNICODE_LETTER);
}

static bool wrap_word(const struct wrap *w, u64 i) {
    u32 c = wrap_code(w, i);
    return c == '_' || (c && unicode_flags(c) & (UNICODE_LETTER | UNICODE_NUMBER));
}

/* Two hyphens or more between words, which stand by themselves: how many. */
static u64 wrap_dashes(const struct wrap *w, u64 i) {
    u64 n = 0;
    u32 before = i ? wrap_code(w, i - 1) : 0;
    bool word = i && (wrap_word(w, i - 1) || (before < 0x80 && strchr("!\"'&.,?", (int)before)));
    while (wrap_code(w, i + n) == '-')
        n++;
    return word && n >= 2 && wrap_word(w, i + n) ? n : 0;
}

/* A hyphen behind which a word may be broken: two letters, or a letter and such a hyphen, stand on
 * both sides. */
static bool wrap_hyphen(const struct wrap *w, u64 i) {
    if (wrap_code(w, i) != '-' || i < 2 || !wrap_letter(w, i - 1)) return false;
    bool before =
        wrap_letter(w, i - 2) || (i >= 3 && w->code[i - 2] == '-' && wrap_letter(w, i - 3));
    bool behind = wrap_letter(w, i + 2) || (wrap_code(w, i + 2) == '-' && wrap_letter(w, i + 3));
    return before && wrap_letter(w, i + 1) && behind;
}

/* The end of the piece that begins at i: blanks, dashes, a word or a part of one. */
static u64 wrap_piece(const struct wrap *w, u64 i) {
    u64 end = i + 1;
    if (i < w->cut_end) return w->cut_end;
    if (wrap_blank(w, i)) {
        while (wrap_blank(w, end))
            end++;
        return end;
    }
    u64 dashes = w->break_on_hyphens ? wrap_dashes(w, i) : 0;
    if (dashes) return i + dashes;
    for (; end < w->n && !wrap_blank(w, end); end++) {
        if (!w->break_on_hyphens) continue;
        if (wrap_hyphen(w, end)) return end + 1;
        if (wrap_dashes(w, end)) return end;
    }
    return end;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool wrap_is_space(const struct wrap *w, u64 from, u64 to) {
    while (from < to && jstr_is_space(w->code[from]))
        from++;
    return from == to;
}

/* Where a piece that is longer than a line is cut, with so much room left. */
static u64 wrap_cut(const struct wrap *w, u64 from, u64 room) {
    if (!w->break_on_hyphens) return from + room;
    for (u64 at = from + room; at-- > from + 1;) {
        if (w->code[at] != '-') continue;
        for (u64 k = from; k < at; k++) {
            if (w->code[k] != '-') return at + 1;
        }
        break;
    }
    return from + room;
}

/* The next line of the wrapped text: *from to *to; false: there is none. *at moves behind it. */
static bool wrap_line(struct wrap *w, u64 *at, bool first, u64 *from, u64 *to) {
    while (*at < w->n) {
        u64 end = wrap_piece(w, *at), last = *at;
        if (!first && wrap_is_space(w, *at, end)) *at = end;
        *from = *at;
        for (; *at < w->n; *at = end) {
            end = wrap_piece(w, *at);
            if (end - *from > w->width) break;
            last = *at;
        }
        bool full = false; /* Python puts an empty piece there, and drops that */
        if (*at < w->n && end - *at > w->width && (w->break_long || *at == *from)) {
            u64 room = w->width - (*at - *from);
            full = w->break_long && room == 0;
            if (!full) last = *at;
            w->cut_end = end;
            *at = w->break_long ? wrap_cut(w, *at, room) : end;
        }
        *to = !full && wrap_is_space(w, last, *at) ? last : *at;
        if (*to > *from) return true;
    }
    return false;
}

static void wrap_text(struct jcall *c, struct wrap *w, const struct jstr *s, struct jbuf *b,
                      const struct jval *between) {
    struct jmem *m = c->m;
    w->s = s;
    w->n = w->cut_end = 0;
    w->code = jmem_get(m, s->t.n + 1, sizeof *w->code);
    w->at = jmem_get(m, s->t.n + 1, sizeof *w->at);
    if (m->rc || !jmem_step(m, s->t.n)) return;
    for (size_t i = 0; i < s->t.n; w->n++) {
        struct unicode_char ch = unicode_read(s->t.p + i, s->t.n - i);
        w->code[w->n] = ch.code;
        w->at[w->n] = i;
        i += ch.len;
    }
    w->at[w->n] = s->t.n;
    u64 at = 0, from, to;
    for (bool first = true; !m->rc && wrap_line(w, &at, first, &from, &to); first = false) {
        if (!first) jbuf_str(m, b, between->s);
        jbuf_str(m, b, jval_part(m, s, w->at[from], w->at[to] - w->at[from]).s);
    }
}

struct jval filter_wordwrap(struct jcall *c) {
    struct jbuf b = {0};
    i64 width = jcall_int(c, 0, 79);
    struct wrap w = {.width = (u64)MAX(width, 1),
                     .break_long = jcall_bool(c, 1, true),
                     .break_on_hyphens = jcall_bool(c, 3, true)};
    struct jval between = c->a[2];
    if (between.kind != JVAL_STR) between = jval_text(c->m, "\n", true);
    if (c->self.kind != JVAL_STR) jmem_fail(c->m, GLIM_ARG, "wordwrap of %s", jval_type(c->self));
    if (c->m->rc) return jval_undefined();
    const struct jspec *split = jspec_method(c->self, (struct str){"splitlines", 10});
    struct jval lines = jcall_run(c->x, split, c->self, NULL, 0, NULL, 0);
    for (u64 i = 0; !c->m->rc && i < lines.l->n; i++) {
        if (width < 1 && lines.l->v[i].s->t.n)
            jmem_fail(c->m, GLIM_ARG, "wordwrap: width %lld is too small", (long long)width);
        if (i) jbuf_str(c->m, &b, between.s);
        wrap_text(c, &w, lines.l->v[i].s, &b, &between);
    }
    return jbuf_done(c->m, &b);
}
