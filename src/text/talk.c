/* Turns after the first: the whole conversation is rendered, and compared with the context. */
#include "text/talk.h"

#include <string.h>
#include <time.h>

#include "text/jbuf.h"
#include "text/json.h"

void talk_open(struct talk *t, const glim_alloc *alloc) {
    *t = (struct talk){.messages = jval_undefined(), .tools = jval_undefined()};
    arena_init(&t->arena, alloc);
}

void talk_close(struct talk *t) {
    arena_free(&t->arena);
}

static void talk_reset(struct talk *t) {
    const glim_alloc *alloc = t->arena.alloc;
    arena_free(&t->arena);
    talk_open(t, alloc);
}

static u64 talk_count(const struct talk *t) {
    return t->messages.kind == JVAL_LIST ? t->messages.l->n : 0;
}

void talk_drop(struct talk *t, u64 n) {
    if (n < talk_count(t)) t->messages.l->n = n;
}

/* The talk's own memory for one more piece of work; what is said may be long, but is no program. */
static struct jmem *talk_memory(struct talk *t, glim_err *e) {
    struct jmem left = t->m;
    jmem_init(&t->m, &t->arena, UINT64_MAX, UINT64_MAX, e);
    t->m.at = left.at;
    t->m.left = left.left;
    t->m.where = "messages";
    return &t->m;
}

/* start counts along with the list, which knows no more than its values. */
static int push_message(struct talk *t, struct jmem *m, struct jval message, u32 start) {
    u64 n = talk_count(t);
    if (t->messages.kind != JVAL_LIST) {
        struct jval list = jval_list(m, JLIST_LIST);
        if (m->rc) return m->rc;
        t->messages = list;
    }
    if (n >= t->n_start) {
        u64 room = 2 * n + 8;
        u32 *grown = jmem_get(m, room, sizeof *grown);
        if (!grown) return m->rc;
        if (n) memcpy(grown, t->start, n * sizeof *grown);
        t->start = grown;
        t->n_start = room;
    }
    jlist_push(m, t->messages.l, message);
    if (m->rc) return m->rc;
    t->start[n] = start;
    return GLIM_OK;
}

/* Then there is nothing to add: it was queued as part of the conversation. */
static bool last_is_answer(const struct talk *t) {
    u64 n = talk_count(t);
    const struct jval *role = n ? jdict_find(t->messages.l->v[n - 1].d, "role") : NULL;
    return role && role->kind == JVAL_STR && str_is(role->s->t, "assistant");
}

/* The answer as the model wrote it: its control tokens are the model's own doing, nobody forged
 * them, and so they may become control tokens again. */
static int add_answer(struct talk *t, const struct session *s, const struct vocab *v, glim_err *e) {
    struct jmem *m = talk_memory(t, e);
    struct jbuf b = {0};
    u64 n = talk_count(t);
    const struct jval *begun =
        t->went_on && n ? jdict_find(t->messages.l->v[n - 1].d, "content") : NULL;
    if (begun && begun->kind == JVAL_STR) jbuf_str(m, &b, begun->s);
    for (u32 i = t->queued; i < s->n_ids && !m->rc; i++) {
        struct str piece = vocab_piece(v, s->ids[i], VOCAB_SPECIAL);
        jbuf_put(m, &b, piece.p, piece.n, !vocab_is_plain(v, s->ids[i]));
    }
    struct str role = {"assistant", 9};
    struct jval message = chat_message(m, role, jbuf_done(m, &b));
    if (m->rc) return m->rc;
    if (begun) talk_drop(t, n - 1);
    t->went_on = false;
    return push_message(t, m, message, t->queued);
}

bool talk_rewind(struct talk *t, u64 n_ids) {
    u64 all = talk_count(t), n = all;
    while (n && t->start[n - 1] >= n_ids)
        n--;
    talk_drop(t, n);
    if (n_ids < t->queued || n < all) {
        t->queued = 0;
        t->went_on = false;
    }
    return n < all;
}

int talk_follow(struct talk *t, const struct session *s, const struct vocab *v, bool answered,
                glim_err *e) {
    if (s->n_ids == 0) {
        talk_reset(t);
        return GLIM_OK;
    }
    if (talk_count(t) == 0) {
        return fail(e, GLIM_ARG,
                    "the session holds text that is no conversation; rewind it to 0 first");
    }
    if (t->queued == 0 || !answered || (last_is_answer(t) && !t->went_on)) return GLIM_OK;
    return add_answer(t, s, v, e);
}

int talk_add(struct talk *t, const struct session *s, struct str role, struct str text,
             glim_err *e) {
    struct jmem *m = talk_memory(t, e);
    struct jval message = chat_message(m, role, jval_str(m, text, false));
    return m->rc ? m->rc : push_message(t, m, message, s->n_ids);
}

/* All of it is read before anything is queued; a mistake in it leaves an empty talk. */
int talk_replace(struct talk *t, struct str messages, struct str tools, struct str more,
                 glim_err *e) {
    talk_reset(t);
    struct jmem *m = talk_memory(t, e);
    struct jval list = json_parse(m, messages), others = jval_undefined();
    m->where = "tools";
    if (!m->rc && tools.n) t->tools = json_parse(m, tools);
    m->where = "variables";
    if (!m->rc && more.n) others = json_parse(m, more);
    if (m->rc) return m->rc;
    if (tools.n && t->tools.kind != JVAL_LIST)
        return fail(e, GLIM_ARG, "tools must be a JSON list");
    if (more.n && others.kind != JVAL_DICT)
        return fail(e, GLIM_ARG, "variables must be a JSON object");
    if (more.n) t->more = others.d;
    for (u64 i = 0; list.kind == JVAL_LIST && i < list.l->n; i++) {
        if (list.l->v[i].kind != JVAL_DICT || push_message(t, m, list.l->v[i], 0)) break;
        chat_trust(m, list.l->v[i]);
    }
    if (m->rc) return m->rc;
    if (list.kind != JVAL_LIST || list.l->n == 0 || talk_count(t) < list.l->n)
        return fail(e, GLIM_ARG, "messages must be a JSON list of objects, of one at least");
    return GLIM_OK;
}

/* ---- What is new ----------------------------------------------------------------------------- */

/* Moves over text in the spans, all of it template text where control is set; false: it is not what
 * follows there. */
static bool eat(const struct vocab_span *span, u64 n, u64 *at, size_t *offset, struct str text,
                bool control) {
    while (text.n) {
        while (*at < n && *offset == span[*at].text.n) {
            ++*at;
            *offset = 0;
        }
        if (*at == n || (control && !span[*at].control)) return false;
        size_t len = MIN(text.n, span[*at].text.n - *offset);
        if (memcmp(text.p, span[*at].text.p + *offset, len) != 0) return false;
        text.p += len;
        text.n -= len;
        *offset += len;
    }
    return true;
}

/* Whether the spans begin with the text of all of the context; then they are cut to the rest. */
static bool cut_context(const struct session *s, const struct vocab *v, struct vocab_span **span,
                        u64 *n) {
    u64 at = 0;
    size_t offset = 0;
    for (u32 i = 0; i < s->n_ids; i++) {
        struct str piece = vocab_piece(v, s->ids[i], VOCAB_SPECIAL);
        if (eat(*span, *n, &at, &offset, piece, !vocab_is_plain(v, s->ids[i]))) continue;
        /* The begin token may be the tokenizer's, not the template's. */
        if (i > 0 || s->ids[0] != v->begin || !v->add_begin || at || offset) return false;
    }
    *span += at;
    *n -= at;
    if (*n && offset) {
        (*span)->text.p += offset;
        (*span)->text.n -= offset;
        if ((*span)->text.n == 0) {
            ++*span;
            --*n;
        }
    }
    return *n > 0;
}

/* Counted first, so that the memory is as large as it must be. */
static int encode(const struct vocab *v, const struct vocab_span *span, u64 n_span, u32 flags,
                  struct arena *a, i32 **ids, u64 *n, glim_err *e) {
    i64 count = vocab_encode_spans(v, span, n_span, flags, NULL, 0, a->alloc, e);
    if (count < 0) return (int)count;
    *ids = arena_array(a, (u64)count, sizeof **ids);
    if (!*ids) return fail(e, GLIM_NOMEM, "out of memory (%lld tokens)", (long long)count);
    *n = (u64)count;
    count = vocab_encode_spans(v, span, n_span, flags, *ids, *n, a->alloc, e);
    return count < 0 ? (int)count : GLIM_OK;
}

static bool is_media(struct jval part) {
    static const char *const types[] = {"image", "image_url", "audio",      "audio_url",
                                        "video", "video_url", "input_audio"};
    const struct jval *type = part.kind == JVAL_DICT ? jdict_find(part.d, "type") : NULL;
    for (size_t i = 0; type && type->kind == JVAL_STR && i < COUNT(types); i++) {
        if (str_is(type->s->t, types[i])) return true;
    }
    return false;
}

/* Templates write marks for pictures and sound; a model that is given nothing behind those would
 * make something up. Members as Ollama (images) and OpenAI (parts of content) have them. */
static int refuse_media(const struct talk *t, glim_err *e) {
    for (u64 i = 0; i < talk_count(t); i++) {
        const struct jdict *message = t->messages.l->v[i].d;
        const struct jval *images = jdict_find(message, "images");
        const struct jval *content = jdict_find(message, "content");
        bool has = images && images->kind == JVAL_LIST && images->l->n;
        for (u64 k = 0; content && content->kind == JVAL_LIST && k < content->l->n; k++)
            has |= is_media(content->l->v[k]);
        if (has) {
            return fail(
                e, GLIM_UNSUPPORTED,
                "message %llu has a picture or sound in it, which no model can be given yet",
                (unsigned long long)i + 1);
        }
    }
    return GLIM_OK;
}

int talk_render(struct talk *t, const struct chat *c, const struct session *s, bool go_on,
                struct arena *a, i32 **ids, u64 *n, u32 *keep, glim_err *e) {
    struct jmem m;
    struct vocab_span *span;
    u64 n_span;
    jmem_init(&m, a, chat_limit(t->arena.total), CHAT_STEPS, e);
    struct chat_request r = {.messages = t->messages,
                             .tools = t->tools,
                             .more = t->more,
                             .reply = true,
                             .go_on = go_on,
                             .now = (i64)time(NULL)};
    int rc = refuse_media(t, e);
    if (rc == GLIM_OK) rc = chat_render(c, &m, &r, &span, &n_span);
    if (rc < 0) return rc;
    *keep = s->n_ids;
    if (s->n_ids && cut_context(s, c->v, &span, &n_span)) {
        rc = encode(c->v, span, n_span, 0, a, ids, n, e);
        if (rc < 0 || *n) return rc;
    }
    rc = encode(c->v, span, n_span, VOCAB_BEGIN, a, ids, n, e);
    if (rc < 0) return rc;
    if (*n == 0) return fail(e, GLIM_ARG, "the conversation has no tokens");
    u32 same = 0; /* the last token is processed again: its logits are wanted */
    while (same < s->n_ids && same + 1 < *n && s->ids[same] == (*ids)[same])
        same++;
    *keep = same;
    *ids += same;
    *n -= same;
    return GLIM_OK;
}
