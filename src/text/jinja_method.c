/* Methods of Python's str, dict, list and of loops. What changes a list or dictionary is known by
 * name and refused, as the sandbox of chat templates does. */
#include <string.h>

#include "text/jinja_call.h"
#include "text/unicode.h"

/* ---- Text ------------------------------------------------------------------------------------ */

static const struct jstr *me(struct jcall *c) {
    return c->self.s;
}

static struct jval str_upper(struct jcall *c) {
    return jstr_case(c->m, me(c), 'u');
}
static struct jval str_lower(struct jcall *c) {
    return jstr_case(c->m, me(c), 'l');
}
static struct jval str_title(struct jcall *c) {
    return jstr_case(c->m, me(c), 't');
}
static struct jval str_capitalize(struct jcall *c) {
    return jstr_case(c->m, me(c), 'c');
}
static struct jval str_swapcase(struct jcall *c) {
    return jstr_case(c->m, me(c), 's');
}
static struct jval str_strip(struct jcall *c) {
    return jstr_strip(c->m, me(c), jcall_str(c, 0), true, true);
}
static struct jval str_lstrip(struct jcall *c) {
    return jstr_strip(c->m, me(c), jcall_str(c, 0), true, false);
}
static struct jval str_rstrip(struct jcall *c) {
    return jstr_strip(c->m, me(c), jcall_str(c, 0), false, true);
}

/* Text that must be there, for methods that take nothing else. */
static const struct jstr *needed(struct jcall *c, u32 i) {
    const struct jstr *s = jcall_str(c, i);
    if (!s) jmem_fail(c->m, GLIM_ARG, "text is needed, not %s", jval_type(c->a[i]));
    return s;
}

static struct jval str_replace(struct jcall *c) {
    const struct jstr *old = needed(c, 0), *new = needed(c, 1);
    return c->m->rc ? c->self : jstr_replace(c->m, me(c), old, new, jcall_int(c, 2, -1));
}

/* Whether s begins, or ends, with a text. */
static bool begins(struct str s, struct str with, bool at_end) {
    return s.n >= with.n &&
           (with.n == 0 || !memcmp(at_end ? s.p + s.n - with.n : s.p, with.p, with.n));
}

/* startswith and endswith: one text or a tuple of them, within [start, end). */
static struct jval affixed(struct jcall *c, bool at_end) {
    struct jval part = c->self;
    if (c->a[1].kind != JVAL_ABSENT || c->a[2].kind != JVAL_ABSENT) {
        struct jval from = c->a[1].kind == JVAL_ABSENT ? jval_none() : c->a[1];
        struct jval to = c->a[2].kind == JVAL_ABSENT ? jval_none() : c->a[2];
        part = jinja_slice(c->x, c->self, from, to, jval_none());
        if (c->m->rc) return part;
    }
    if (c->a[0].kind == JVAL_LIST && c->a[0].l->flavour == JLIST_TUPLE) {
        for (u64 i = 0; i < c->a[0].l->n; i++) {
            struct jval one = c->a[0].l->v[i];
            if (one.kind == JVAL_STR && begins(part.s->t, one.s->t, at_end)) return jval_bool(true);
        }
        return jval_bool(false);
    }
    const struct jstr *with = needed(c, 0);
    return jval_bool(with && begins(part.s->t, with->t, at_end));
}
static struct jval str_startswith(struct jcall *c) {
    return affixed(c, false);
}
static struct jval str_endswith(struct jcall *c) {
    return affixed(c, true);
}

static struct jval str_removeprefix(struct jcall *c) {
    const struct jstr *with = needed(c, 0);
    if (!with || !begins(me(c)->t, with->t, false)) return c->self;
    return jval_part(c->m, me(c), with->t.n, me(c)->t.n - with->t.n);
}
static struct jval str_removesuffix(struct jcall *c) {
    const struct jstr *with = needed(c, 0);
    if (!with || !begins(me(c)->t, with->t, true)) return c->self;
    return jval_part(c->m, me(c), 0, me(c)->t.n - with->t.n);
}

/* The last place of what in text, or NULL. */
static const char *find_last(struct str text, struct str what) {
    for (size_t i = text.n + 1; i-- > 0;) {
        if (begins((struct str){text.p + i, text.n - i}, what, false)) return text.p + i;
    }
    return NULL;
}

static const char *find_first(struct str text, struct str what) {
    return what.n ? memmem(text.p, text.n, what.p, what.n) : text.p;
}

static i64 chars_before(struct str text, const char *at) {
    struct jstr s = {{text.p, (size_t)(at - text.p)}, NULL, true};
    return jval_len(jval_of_str(&s));
}

/* find, rfind, index, rindex: places in characters, within [start, end). */
static struct jval place_of(struct jcall *c, bool last, bool must) {
    const struct jstr *what = needed(c, 0);
    i64 n = jval_len(c->self), from = jcall_int(c, 1, 0), to = jcall_int(c, 2, n);
    if (c->m->rc || !jmem_step(c->m, 1 + me(c)->t.n / 16)) return jval_undefined();
    from = MAX(0, from < 0 ? from + n : from);
    to = MIN(n, MAX(0, to < 0 ? to + n : to));
    struct jval part = jinja_slice(c->x, c->self, jval_int(from), jval_int(to), jval_none());
    if (c->m->rc) return part;
    const char *at = NULL;
    if (from <= to) at = last ? find_last(part.s->t, what->t) : find_first(part.s->t, what->t);
    if (!at && must) jmem_fail(c->m, GLIM_ARG, "substring not found");
    return jval_int(at ? from + chars_before(part.s->t, at) : -1);
}
static struct jval str_find(struct jcall *c) {
    return place_of(c, false, false);
}
static struct jval str_rfind(struct jcall *c) {
    return place_of(c, true, false);
}
static struct jval str_index(struct jcall *c) {
    return place_of(c, false, true);
}
static struct jval str_rindex(struct jcall *c) {
    return place_of(c, true, true);
}

static struct jval str_count(struct jcall *c) {
    const struct jstr *what = needed(c, 0);
    if (!what) return jval_undefined();
    if (what->t.n == 0) return jval_int(jval_len(c->self) + 1);
    struct str rest = me(c)->t;
    i64 count = 0;
    for (const char *at; (at = memmem(rest.p, rest.n, what->t.p, what->t.n)); count++) {
        rest.n -= (size_t)(at - rest.p) + what->t.n;
        rest.p = at + what->t.n;
        if (!jmem_step(c->m, 1)) break;
    }
    return jval_int(count);
}

/* ---- Splitting ------------------------------------------------------------------------------- */

static void push_part(struct jcall *c, struct jval list, size_t from, size_t to) {
    jlist_push(c->m, list.l, jval_part(c->m, me(c), from, to - from));
}

/* At runs of white space; what is left behind the last split keeps its far end as it is. From the
 * back, parts come in reverse. */
static struct jval split_blank(struct jcall *c, i64 most, bool back) {
    struct jval list = jval_list(c->m, JLIST_LIST);
    struct jval rest = jstr_strip(c->m, me(c), NULL, !back, back);
    size_t from = (size_t)(rest.s->t.p - me(c)->t.p), to = from + rest.s->t.n;
    const char *p = me(c)->t.p;
    if (rest.s->t.n == 0) return list;
    while (from < to && !c->m->rc) {
        size_t word = back ? to : from, i = word;
        bool found = false;
        for (; most != 0 && !found && (back ? i > from : i < to); word = found ? word : i) {
            size_t k = back ? i - 1 : i;
            while (back && k > from && ((u8)p[k] & 0xc0) == 0x80)
                k--;
            struct unicode_char ch = unicode_read(p + k, to - k);
            found = jstr_is_space(ch.code);
            if (!found) i = back ? k : i + ch.len;
        }
        if (!found) {
            push_part(c, list, from, to);
            break;
        }
        if (back)
            push_part(c, list, i, to);
        else
            push_part(c, list, from, i);
        struct jstr left = {back ? (struct str){p + from, i - from} : (struct str){p + i, to - i},
                            NULL, true};
        struct jval next = jstr_strip(c->m, &left, NULL, !back, back);
        from = back ? from : to - next.s->t.n;
        to = back ? from + next.s->t.n : to;
        most--;
    }
    return list;
}

/* Unlike at white space, neighbouring separators have an empty text between them. */
static struct jval split_at(struct jcall *c, const struct jstr *at, i64 most, bool back) {
    struct jval list = jval_list(c->m, JLIST_LIST);
    struct str rest = me(c)->t;
    const char *p = rest.p;
    if (at->t.n == 0) jmem_fail(c->m, GLIM_ARG, "empty separator");
    for (; most != 0 && jmem_step(c->m, 1 + (back ? rest.n / 16 : 0)); most--) {
        const char *hit = back ? find_last(rest, at->t) : find_first(rest, at->t);
        if (!hit) break;
        size_t from = (size_t)(rest.p - p), place = (size_t)(hit - p);
        if (back) {
            push_part(c, list, place + at->t.n, from + rest.n);
            rest.n = place - from;
        } else {
            push_part(c, list, from, place);
            rest.n -= place - from + at->t.n;
            rest.p = hit + at->t.n;
        }
    }
    if (!c->m->rc) push_part(c, list, (size_t)(rest.p - p), (size_t)(rest.p - p) + rest.n);
    return list;
}

static struct jval split(struct jcall *c, bool back) {
    const struct jstr *at = jcall_str(c, 0);
    i64 most = jcall_int(c, 1, -1);
    if (c->m->rc) return jval_undefined();
    struct jval list = at ? split_at(c, at, most, back) : split_blank(c, most, back);
    for (u64 i = 0; back && !c->m->rc && i < list.l->n / 2; i++) {
        struct jval swap = list.l->v[i];
        list.l->v[i] = list.l->v[list.l->n - 1 - i];
        list.l->v[list.l->n - 1 - i] = swap;
    }
    return list;
}
static struct jval str_split(struct jcall *c) {
    return split(c, false);
}
static struct jval str_rsplit(struct jcall *c) {
    return split(c, true);
}

static bool ends_line(u32 code) {
    return (code >= '\n' && code <= '\r') || (code >= 0x1c && code <= 0x1e) || code == 0x85 ||
           code == 0x2028 || code == 0x2029;
}

/* At all the ends of lines that Unicode has; CR LF is one. */
static struct jval str_splitlines(struct jcall *c) {
    struct jval list = jval_list(c->m, JLIST_LIST);
    bool keep = jcall_bool(c, 0, false);
    struct str s = me(c)->t;
    size_t from = 0;
    for (size_t i = 0; i < s.n && !c->m->rc;) {
        struct unicode_char ch = unicode_read(s.p + i, s.n - i);
        size_t end = i;
        i += ch.len;
        if (ch.state != UNICODE_WHOLE || !ends_line(ch.code)) continue;
        if (ch.code == '\r' && i < s.n && s.p[i] == '\n') i++;
        push_part(c, list, from, keep ? i : end);
        from = i;
    }
    if (from < s.n) push_part(c, list, from, s.n);
    return list;
}

/* Always three parts; what is not found leaves two of them empty. */
static struct jval partition(struct jcall *c, bool last) {
    const struct jstr *at = needed(c, 0);
    struct jval list = jval_list(c->m, JLIST_TUPLE), none = jval_text(c->m, "", true);
    if (at && at->t.n == 0) jmem_fail(c->m, GLIM_ARG, "empty separator");
    if (c->m->rc) return list;
    struct str s = me(c)->t;
    const char *hit = last ? find_last(s, at->t) : find_first(s, at->t);
    if (!hit) {
        jlist_push(c->m, list.l, last ? none : c->self);
        jlist_push(c->m, list.l, none);
        jlist_push(c->m, list.l, last ? c->self : none);
        return list;
    }
    size_t place = (size_t)(hit - s.p);
    push_part(c, list, 0, place);
    push_part(c, list, place, place + at->t.n);
    push_part(c, list, place + at->t.n, s.n);
    return list;
}
static struct jval str_partition(struct jcall *c) {
    return partition(c, false);
}
static struct jval str_rpartition(struct jcall *c) {
    return partition(c, true);
}

/* Unlike the filter it takes texts only. */
static struct jval str_join(struct jcall *c) {
    struct jbuf b = {0};
    struct jlist *all = jval_walk(c->m, c->a[0]);
    for (u64 i = 0; all && i < all->n && !c->m->rc; i++) {
        if (all->v[i].kind != JVAL_STR) {
            jmem_fail(c->m, GLIM_ARG, "sequence item %llu: expected str instance, %s found",
                      (unsigned long long)i, jval_type(all->v[i]));
            break;
        }
        if (i) jbuf_str(c->m, &b, me(c));
        jbuf_str(c->m, &b, all->v[i].s);
    }
    return jbuf_done(c->m, &b);
}

/* ---- Questions and padding ------------------------------------------------------------------- */

/* Whether there is a character, and each has one of the flags. */
static bool all_of(const struct jstr *s, u32 flags) {
    for (size_t i = 0; i < s->t.n;) {
        struct unicode_char ch = unicode_read(s->t.p + i, s->t.n - i);
        bool space = flags == UNICODE_SPACE && jstr_is_space(ch.code);
        if (!space && !(unicode_flags(ch.code) & flags)) return false;
        i += ch.len;
    }
    return s->t.n > 0;
}
static struct jval str_isalpha(struct jcall *c) {
    return jval_bool(all_of(me(c), UNICODE_LETTER));
}
static struct jval str_isalnum(struct jcall *c) {
    return jval_bool(all_of(me(c), UNICODE_LETTER | UNICODE_NUMBER));
}
static struct jval str_isdigit(struct jcall *c) {
    return jval_bool(all_of(me(c), UNICODE_NUMBER));
}
static struct jval str_isspace(struct jcall *c) {
    return jval_bool(all_of(me(c), UNICODE_SPACE));
}
static struct jval str_isupper(struct jcall *c) {
    return jcall_run(c->x, jspec_test((struct str){"upper", 5}), c->self, NULL, 0, NULL, 0);
}
static struct jval str_islower(struct jcall *c) {
    return jcall_run(c->x, jspec_test((struct str){"lower", 5}), c->self, NULL, 0, NULL, 0);
}

/* The limit is far beyond what a template can mean. */
static struct jval padded(struct jcall *c, bool front) {
    struct jbuf b = {0};
    const struct jstr *fill = jcall_str(c, 1);
    i64 pad = MIN(jcall_int(c, 0, 0), 100000) - jval_len(c->self);
    if (!front) jbuf_str(c->m, &b, me(c));
    for (; pad > 0 && !c->m->rc; pad--) {
        if (fill)
            jbuf_str(c->m, &b, fill);
        else
            jbuf_put(c->m, &b, " ", 1, true);
    }
    if (front) jbuf_str(c->m, &b, me(c));
    return jbuf_done(c->m, &b);
}
static struct jval str_ljust(struct jcall *c) {
    return padded(c, false);
}
static struct jval str_rjust(struct jcall *c) {
    return padded(c, true);
}
/* Zeros go behind a sign. */
static struct jval str_zfill(struct jcall *c) {
    struct jbuf b = {0};
    i64 pad = MIN(jcall_int(c, 0, 0), 100000) - jval_len(c->self);
    size_t sign = me(c)->t.n && (me(c)->t.p[0] == '-' || me(c)->t.p[0] == '+');
    jbuf_str(c->m, &b, jval_part(c->m, me(c), 0, sign).s);
    for (; pad > 0 && !c->m->rc; pad--)
        jbuf_put(c->m, &b, "0", 1, true);
    jbuf_str(c->m, &b, jval_part(c->m, me(c), sign, me(c)->t.n - sign).s);
    return jbuf_done(c->m, &b);
}

/* "{} and {name}".format(...): plain fields, no formats. */
static struct jval str_format(struct jcall *c) {
    struct jbuf b = {0};
    struct str s = me(c)->t;
    u32 next = 0;
    for (size_t i = 0; i < s.n && !c->m->rc; i++) {
        bool twice = i + 1 < s.n && s.p[i + 1] == s.p[i];
        if ((s.p[i] != '{' && s.p[i] != '}') || twice) {
            jbuf_like(c->m, &b, s.p + i, 1, me(c), i);
            i += (s.p[i] == '{' || s.p[i] == '}');
            continue;
        }
        const char *end = memchr(s.p + i, '}', s.n - i);
        struct str field = {s.p + i + 1, end ? (size_t)(end - s.p) - i - 1 : 0};
        const struct jval *v = NULL;
        if (s.p[i] == '{' && end && field.n == 0 && next < c->n_pos) v = &c->pos[next++];
        if (field.n == 1 && field.p[0] >= '0' && (u32)(field.p[0] - '0') < c->n_pos)
            v = &c->pos[field.p[0] - '0'];
        for (u32 k = 0; k < c->n_key && field.n; k++) {
            struct str name = c->key[k].name;
            if (name.n == field.n && !memcmp(name.p, field.p, field.n)) v = &c->key[k].v;
        }
        if (!v) {
            jmem_fail(c->m, GLIM_ARG, "format: no value for the field '{%.*s}'",
                      (int)MIN(field.n, 40u), field.p);
            break;
        }
        jbuf_value(c->m, &b, *v);
        i += field.n + 1;
    }
    return jbuf_done(c->m, &b);
}

/* ---- Dictionaries, lists, loops -------------------------------------------------------------- */

/* None, not undefined, where there is no such key. */
static struct jval dict_get(struct jcall *c) {
    const struct jval *v = jdict_get(c->self.d, c->a[0]);
    if (v) return *v;
    return c->a[1].kind == JVAL_ABSENT ? jval_none() : c->a[1];
}
static struct jval dict_keys(struct jcall *c) {
    return jdict_view(c->m, c->self.d, JLIST_KEYS);
}
static struct jval dict_values(struct jcall *c) {
    return jdict_view(c->m, c->self.d, JLIST_VALUES);
}
static struct jval dict_items(struct jcall *c) {
    return jdict_view(c->m, c->self.d, JLIST_ITEMS);
}
static struct jval any_copy(struct jcall *c) {
    return c->self; /* values never change */
}

/* The first that is equal. */
static struct jval list_index(struct jcall *c) {
    const struct jlist *l = c->self.l;
    for (u64 i = 0; i < l->n && !c->m->rc; i++) {
        if (jval_equal(c->m, l->v[i], c->a[0])) return jval_int((i64)i);
    }
    jmem_fail(c->m, GLIM_ARG, "the value is not in the list");
    return jval_undefined();
}
static struct jval list_count(struct jcall *c) {
    const struct jlist *l = c->self.l;
    i64 n = 0;
    for (u64 i = 0; i < l->n && !c->m->rc; i++)
        n += jval_equal(c->m, l->v[i], c->a[0]);
    return jval_int(n);
}

/* One after the other, turn by turn. */
static struct jval loop_cycle(struct jcall *c) {
    if (c->n_pos) return c->pos[c->self.loop->at % c->n_pos];
    jmem_fail(c->m, GLIM_ARG, "no items for cycling given");
    return jval_undefined();
}
/* Compared with the last call in the same loop; the first is always a change. */
static struct jval loop_changed(struct jcall *c) {
    struct jval now = jval_list(c->m, JLIST_TUPLE);
    for (u32 i = 0; i < c->n_pos; i++)
        jlist_push(c->m, now.l, c->pos[i]);
    struct jval before = c->self.loop->changed;
    c->self.loop->changed = now;
    return jval_bool(before.kind == JVAL_ABSENT || !jval_equal(c->m, before, now));
}

/* run NULL: out of the sandbox's reach. */
static const struct jspec str_methods[] = {
    {"capitalize", str_capitalize, ""},
    {"casefold", str_lower, ""},
    {"count", str_count, "sub"},
    {"endswith", str_endswith, "suffix start? end?"},
    {"find", str_find, "sub start? end?"},
    {"format", str_format, NULL},
    {"index", str_index, "sub start? end?"},
    {"isalnum", str_isalnum, ""},
    {"isalpha", str_isalpha, ""},
    {"isdecimal", str_isdigit, ""},
    {"isdigit", str_isdigit, ""},
    {"islower", str_islower, ""},
    {"isnumeric", str_isdigit, ""},
    {"isspace", str_isspace, ""},
    {"isupper", str_isupper, ""},
    {"join", str_join, "iterable"},
    {"ljust", str_ljust, "width fillchar?"},
    {"lower", str_lower, ""},
    {"lstrip", str_lstrip, "chars?"},
    {"partition", str_partition, "sep"},
    {"removeprefix", str_removeprefix, "prefix"},
    {"removesuffix", str_removesuffix, "suffix"},
    {"replace", str_replace, "old new count?"},
    {"rfind", str_rfind, "sub start? end?"},
    {"rindex", str_rindex, "sub start? end?"},
    {"rjust", str_rjust, "width fillchar?"},
    {"rpartition", str_rpartition, "sep"},
    {"rsplit", str_rsplit, "sep? maxsplit?"},
    {"rstrip", str_rstrip, "chars?"},
    {"split", str_split, "sep? maxsplit?"},
    {"splitlines", str_splitlines, "keepends?"},
    {"startswith", str_startswith, "prefix start? end?"},
    {"strip", str_strip, "chars?"},
    {"swapcase", str_swapcase, ""},
    {"title", str_title, ""},
    {"upper", str_upper, ""},
    {"zfill", str_zfill, "width"},
};
static const struct jspec dict_methods[] = {
    {"copy", any_copy, ""},  {"get", dict_get, "key default?"}, {"items", dict_items, ""},
    {"keys", dict_keys, ""}, {"values", dict_values, ""},       {"clear", NULL, NULL},
    {"pop", NULL, NULL},     {"popitem", NULL, NULL},           {"setdefault", NULL, NULL},
    {"update", NULL, NULL},
};
static const struct jspec list_methods[] = {
    {"index", list_index, "value"}, {"count", list_count, "value"},
    {"copy", any_copy, ""},         {"append", NULL, NULL},
    {"clear", NULL, NULL},          {"extend", NULL, NULL},
    {"insert", NULL, NULL},         {"pop", NULL, NULL},
    {"remove", NULL, NULL},         {"reverse", NULL, NULL},
    {"sort", NULL, NULL},
};
static const struct jspec loop_methods[] = {
    {"cycle", loop_cycle, NULL},
    {"changed", loop_changed, NULL},
};

static const struct {
    enum jkind kind;
    const struct jspec *spec;
    size_t n;
} methods[] = {
    {JVAL_STR, str_methods, COUNT(str_methods)},
    {JVAL_DICT, dict_methods, COUNT(dict_methods)},
    {JVAL_LIST, list_methods, COUNT(list_methods)},
    {JVAL_LOOP, loop_methods, COUNT(loop_methods)},
};

static const struct jspec *method_in(size_t table, struct str name) {
    for (size_t i = 0; i < methods[table].n; i++) {
        if (str_is(name, methods[table].spec[i].name)) return &methods[table].spec[i];
    }
    return NULL;
}

/* Views and generators have none that templates use. */
const struct jspec *jspec_method(struct jval self, struct str name) {
    if (self.kind == JVAL_LIST && self.l->flavour > JLIST_TUPLE) return NULL;
    for (size_t i = 0; i < COUNT(methods); i++) {
        if (methods[i].kind == self.kind) return method_in(i, name);
    }
    return NULL;
}

bool jspec_is_method(struct str name) {
    for (size_t i = 0; i < COUNT(methods); i++) {
        if (method_in(i, name)) return true;
    }
    return false;
}
