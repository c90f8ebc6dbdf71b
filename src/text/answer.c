/* Prompts and the streaming of answers. */
#include "text/answer.h"

#include <assert.h>
#include <string.h>

#include "text/declared.h"

/* Marks that are no control tokens of this vocabulary can only come spelled out. */
static u32 answer_spelled(const struct vocab *v, enum stream_family family) {
    const struct stream_mark *mark = stream_styles[family].mark;
    u32 spelled = 0;
    for (u32 i = 0; i < STREAM_MARKS && mark[i].text; i++) {
        i32 id = vocab_find(v, (struct str){mark[i].text, strlen(mark[i].text)});
        spelled |= (u32)(id < 0 || v->kind[id] != VOCAB_CONTROL) << i;
    }
    return spelled;
}

static bool is_token(const void *vocab, struct str mark) {
    return vocab_find(vocab, mark) >= 0;
}

/* What closes a thought, in tokens. */
static int answer_close_mark(struct answer *a, enum stream_family family, glim_err *e) {
    char text[STREAM_CLOSE_BYTES];
    stream_thought_close(family, is_token, a->v, text);
    i64 n = vocab_encode(a->v, (struct str){text, strlen(text)}, VOCAB_SPECIAL, a->close,
                         COUNT(a->close), a->arena.alloc, e);
    if (n < 0) return (int)n;
    assert((u64)n <= COUNT(a->close)); /* no more than bytes */
    a->n_close = (u32)n;
    return GLIM_OK;
}

int answer_open(struct answer *a, struct session *s, const struct vocab *v,
                enum stream_family family, glim_err *e) {
    *a = (struct answer){.s = s, .v = v};
    arena_init(&a->arena, &s->loaded->engine->alloc);
    talk_open(&a->talk, a->arena.alloc);
    stream_open(&a->stream, family, answer_spelled(v, family), a->arena.alloc);
    int rc = answer_close_mark(a, family, e);
    return rc < 0 ? rc : stop_open(&a->stop, NULL, 0, &a->arena, e);
}

void answer_close(struct answer *a) {
    arena_free(&a->arena);
    talk_close(&a->talk);
    stream_close(&a->stream);
}

int answer_set(struct answer *a, const glim_generation *gen, glim_err *e) {
    if (gen->max_thought < -1)
        return fail(e, GLIM_ARG, "max_thought is %d; at least -1", gen->max_thought);
    struct arena fresh;
    arena_init(&fresh, a->arena.alloc);
    struct stop *stop = NULL;
    struct str *strings = arena_array(&fresh, gen->n_stops, sizeof *strings);
    int rc = strings ? GLIM_OK : fail(e, GLIM_NOMEM, "out of memory (stop strings)");
    for (size_t i = 0; rc == GLIM_OK && i < gen->n_stops; i++) {
        if (!gen->stops || !gen->stops[i]) {
            rc = fail(e, GLIM_ARG, "stop string %zu is NULL", i);
        } else {
            strings[i] = (struct str){gen->stops[i], strlen(gen->stops[i])};
        }
    }
    if (rc == GLIM_OK) rc = stop_open(&stop, strings, (u32)gen->n_stops, &fresh, e);
    if (rc < 0) {
        arena_free(&fresh);
        return rc;
    }
    arena_free(&a->arena);
    a->arena = fresh;
    a->stop = stop;
    a->max_tokens = gen->max_tokens;
    a->max_thought = gen->max_thought;
    return GLIM_OK;
}

/* Whether the prompt's last tokens open a thought. */
static bool answer_in_thought(const struct answer *a, const i32 *ids, u64 n) {
    char tail[128];
    size_t at = sizeof tail;
    while (n && at) {
        struct str piece = vocab_piece(a->v, ids[--n], VOCAB_SPECIAL);
        size_t kept = MIN(piece.n, at);
        at -= kept;
        if (kept) memcpy(tail + at, piece.p + piece.n - kept, kept);
    }
    return stream_opens_thought(a->stream.family, (struct str){tail + at, sizeof tail - at});
}

/* An answer to a prompt that ends in these ids. */
static void begin(struct answer *a, const i32 *ids, u64 n) {
    u32 flags = a->tools ? STREAM_TOOLS : 0u;
    a->declared = declared_tools(&a->talk.tools);
    a->stream.tools = a->tools ? &a->declared : NULL;
    stream_reset(&a->stream, flags | (answer_in_thought(a, ids, n) ? STREAM_THOUGHT : 0u));
    a->in = a->name = (struct str){0};
    stop_reset(a->stop);
    a->n_tokens = 0;
    a->utf8 = (struct utf8_stream){0};
    a->piece = a->out[0] = a->out[1] = (struct str){0};
    a->end = GLIM_END_NONE;
    a->flushed = a->events = false;
    a->n_thought = 0;
    a->n_unsaid = 0;
}

int answer_feed(struct answer *a, const i32 *ids, u64 n, glim_err *e) {
    struct session *s = a->s;
    bool lead =
        s->n_ids == 0 && a->v->add_begin && a->v->begin >= 0 && (n == 0 || ids[0] != a->v->begin);
    if (n == 0 && !lead && s->n_ids == 0) {
        return fail(e, GLIM_ARG, "the prompt is empty, and the model has no token to begin with");
    }
    begin(a, ids, n);
    a->n_prompt = 0;
    a->begun = a->again = false;
    s->stats.n_cached += s->n_done;
    /* With the begin token they must fit too; the refusal comes before ids are looked at. */
    if (lead && n + 1 > s->n_ctx) return session_feed(s, ids, n + 1, GLIM_LOGITS_LAST);
    if (lead) {
        int rc = session_feed(s, &a->v->begin, 1, n ? GLIM_LOGITS_NONE : GLIM_LOGITS_LAST);
        if (rc < 0) return rc;
    }
    int rc = session_feed(s, ids, n, GLIM_LOGITS_LAST);
    if (rc == GLIM_OK) a->n_prompt = s->n_ids;
    return rc;
}

int answer_again(struct answer *a, glim_err *e) {
    struct session *s = a->s;
    bool fed = !a->begun && s->n_ids != a->n_prompt; /* by hand: its logits were not kept */
    if (a->n_prompt == 0 || a->n_prompt > s->n_ids || fed) {
        return fail(e, GLIM_ARG, "another answer: no prompt was queued since the last rewind");
    }
    s->sampler.gen.seed++;
    begin(a, s->ids, a->n_prompt);
    if (!a->begun) return GLIM_OK; /* the first one had not drawn anything yet */
    a->again = true;
    s->stats.n_cached += a->n_prompt;
    return session_rewind(s, a->n_prompt);
}

/* Encodes spans into ids of their own and queues them. */
static int feed_spans(struct answer *a, const struct vocab_span *spans, u64 n, glim_err *e) {
    const glim_alloc *alloc = a->arena.alloc;
    i64 count = vocab_encode_spans(a->v, spans, n, 0, NULL, 0, alloc, e);
    if (count < 0) return (int)count;
    size_t bytes = (size_t)count * sizeof(i32);
    i32 *ids = mem_get(alloc, bytes);
    if (!ids && count) return fail(e, GLIM_NOMEM, "out of memory (%lld tokens)", (long long)count);
    i64 rc = vocab_encode_spans(a->v, spans, n, 0, ids, (u64)count, alloc, e);
    if (rc >= 0) rc = answer_feed(a, ids, (u64)count, e);
    mem_put(alloc, ids, bytes);
    return (int)rc;
}

int answer_prompt(struct answer *a, struct str text, u32 flags, glim_err *e) {
    struct vocab_span span = {text, flags & VOCAB_SPECIAL};
    return feed_spans(a, &span, text.n > 0, e);
}

/* In built-in turns, which continue what is there without looking back. */
static int chat_in_turns(struct answer *a, const struct turns *t, const glim_message *messages,
                         size_t n, glim_err *e) {
    const glim_alloc *alloc = a->arena.alloc;
    size_t bytes = n * sizeof(struct turn);
    struct turn *turn = mem_get(alloc, bytes);
    if (!turn && n) return fail(e, GLIM_NOMEM, "out of memory (%zu messages)", n);
    for (size_t i = 0; i < n; i++) {
        if (!messages[i].role || !messages[i].text) {
            mem_put(alloc, turn, bytes);
            return fail(e, GLIM_ARG, "message %zu: role or text is NULL", i + 1);
        }
        turn[i] = (struct turn){{messages[i].role, strlen(messages[i].role)},
                                {messages[i].text, strlen(messages[i].text)}};
    }
    u32 flags = TURNS_REPLY;
    if (a->s->n_ids > 0) {
        flags |= TURNS_AFTER;
        if (a->s->ids[a->s->n_ids - 1] == turns_end(t)) flags |= TURNS_ENDED;
    }
    i64 count = turns_spans(t, turn, n, flags, NULL, 0, e);
    if (count < 0) {
        mem_put(alloc, turn, bytes);
        return (int)count;
    }
    u64 n_spans = (u64)count;
    size_t span_bytes = n_spans * sizeof(struct vocab_span);
    struct vocab_span *spans = mem_get(alloc, span_bytes);
    int rc;
    if (!spans && n_spans) {
        rc = fail(e, GLIM_NOMEM, "out of memory (%zu messages)", n);
    } else {
        turns_spans(t, turn, n, flags, spans, n_spans, e);
        rc = feed_spans(a, spans, n_spans, e);
    }
    mem_put(alloc, spans, span_bytes);
    mem_put(alloc, turn, bytes);
    return rc;
}

/* Queues what the talk has and the context has not. */
static int feed_talk(struct answer *a, const struct chat *c, bool go_on, glim_err *e) {
    struct session *s = a->s;
    struct talk *t = &a->talk;
    struct arena tmp;
    i32 *ids;
    u64 n;
    u32 keep;
    arena_init(&tmp, a->arena.alloc);
    int rc = talk_render(t, c, s, go_on, &tmp, &ids, &n, &keep, e);
    /* Refused before anything is rewound. */
    if (rc == GLIM_OK && n > s->n_ctx - keep) rc = session_feed(s, ids, n, GLIM_LOGITS_LAST);
    if (rc == GLIM_OK && keep < s->n_ids) {
        /* What was said before stands where the new rendering has it. */
        for (u64 i = 0; i < t->messages.l->n; i++) {
            if (t->start[i] < s->n_ids) t->start[i] = MIN(t->start[i], keep);
        }
        rc = session_rewind(s, keep);
    }
    a->tools = t->tools.kind == JVAL_LIST && t->tools.l->n;
    if (rc == GLIM_OK) rc = answer_feed(a, ids, n, e);
    if (rc == GLIM_OK) {
        t->queued = s->n_ids;
        t->went_on = go_on;
    }
    arena_free(&tmp);
    return rc;
}

int answer_chat(struct answer *a, const struct chat *c, const glim_message *messages, size_t n,
                glim_err *e) {
    if (c->turns) return chat_in_turns(a, c->turns, messages, n, e);
    struct talk *t = &a->talk;
    bool answered = a->n_tokens > 0 || a->end != GLIM_END_NONE;
    int rc = talk_follow(t, a->s, a->v, answered, e);
    u64 before = t->messages.kind == JVAL_LIST ? t->messages.l->n : 0;
    for (size_t i = 0; i < n && rc == GLIM_OK; i++) {
        if (!messages[i].role || !messages[i].text) {
            rc = fail(e, GLIM_ARG, "message %zu: role or text is NULL", i + 1);
            break;
        }
        struct str role = {messages[i].role, strlen(messages[i].role)};
        struct str text = {messages[i].text, strlen(messages[i].text)};
        rc = talk_add(t, a->s, role, text, e);
    }
    if (rc == GLIM_OK) rc = feed_talk(a, c, false, e);
    if (rc < 0) talk_drop(t, before);
    return rc;
}

static struct str text_or_none(const char *text) {
    return (struct str){text ? text : "", text ? strlen(text) : 0};
}

int answer_converse(struct answer *a, const struct chat *c, const glim_conversation *conversation,
                    glim_err *e) {
    int rc =
        talk_replace(&a->talk, text_or_none(conversation->messages),
                     text_or_none(conversation->tools), text_or_none(conversation->variables), e);
    return rc < 0 ? rc : feed_talk(a, c, conversation->go_on, e);
}

/* The token that was queued last becomes the current piece. */
static void answer_say(struct answer *a, i32 id) {
    a->n_tokens++;
    a->piece = vocab_piece(a->v, id, 0);
    a->name =
        a->v->kind[id] == VOCAB_CONTROL ? vocab_piece(a->v, id, VOCAB_SPECIAL) : (struct str){0};
}

/* Whether the thought that the answer is in has taken all that it may. Half a character is ended
 * first. */
static bool thought_is_due(const struct answer *a) {
    if (!a->events || !a->max_thought || !a->n_close || a->utf8.n) return false;
    return stream_in_thought(&a->stream) && a->n_thought >= MAX(a->max_thought, 0);
}

/* Queues the mark that closes it and says its first token; or sets a->end where it does not fit. */
static int close_thought(struct answer *a) {
    struct session *s = a->s;
    if (a->max_tokens && a->n_close > a->max_tokens - a->n_tokens) {
        a->end = GLIM_END_LIMIT;
        return GLIM_OK;
    }
    if (a->n_close > s->n_ctx - s->n_ids) {
        a->end = GLIM_END_CONTEXT;
        return GLIM_OK;
    }
    int rc = session_feed(s, a->close, a->n_close, GLIM_LOGITS_LAST);
    if (rc < 0) return rc;
    a->n_unsaid = a->n_close - 1;
    answer_say(a, a->close[0]);
    return GLIM_OK;
}

/* Draws the next token and makes its bytes the current piece, or sets a->end. */
static int next_token(struct answer *a) {
    struct session *s = a->s;
    if (a->n_unsaid) {
        answer_say(a, a->close[a->n_close - a->n_unsaid--]);
        return GLIM_OK;
    }
    if (a->max_tokens && a->n_tokens == a->max_tokens) {
        a->end = GLIM_END_LIMIT;
        return GLIM_OK;
    }
    int rc = session_step(s);
    if (rc != GLIM_OK) return rc;
    if (s->n_ids == a->n_prompt && a->again) session_recall(s);
    if (s->n_ids == a->n_prompt && !a->begun) {
        session_keep(s);
        a->begun = true;
    }
    if (thought_is_due(a)) return close_thought(a);
    i32 id;
    rc = session_sample(s, &id);
    if (rc < 0) return rc;
    if (vocab_ends(a->v, id)) { /* not queued: what follows closes the turn as the template does */
        a->end = GLIM_END_TOKEN;
        return GLIM_OK;
    }
    if (s->n_ids == s->n_ctx) {
        a->end = GLIM_END_CONTEXT;
        return GLIM_OK;
    }
    rc = session_feed(s, &id, 1, GLIM_LOGITS_DRAW);
    if (rc < 0) return rc;
    a->n_thought += a->events && stream_in_thought(&a->stream);
    answer_say(a, id);
    return GLIM_OK;
}

/* The next stretch of text or, if control is not NULL, perhaps the name of one control token. What
 * was held back before that token comes first. */
static int answer_pull(struct answer *a, struct str *text, bool *control) {
    *text = (struct str){"", 0};
    if (control) *control = false;
    for (;;) {
        for (u32 i = 0; i < 2; i++) {
            if (a->out[i].n == 0) continue;
            *text = a->out[i];
            a->out[i] = (struct str){0};
            return GLIM_OK;
        }
        if (a->flushed || a->end == GLIM_END_STOP) return GLIM_DONE;
        struct str chars = a->piece.n ? utf8_next(&a->utf8, &a->piece) : (struct str){0};
        bool named = control && a->name.n;
        if (!chars.n && !a->piece.n && (a->end != GLIM_END_NONE || named))
            chars = utf8_end(&a->utf8);
        if (chars.n) {
            if (stop_feed(a->stop, chars, a->out)) a->end = GLIM_END_STOP;
            continue;
        }
        if (a->piece.n) continue;
        if (named) {
            a->out[0] = stop_end(a->stop);
            if (a->out[0].n) continue;
            *text = a->name;
            *control = true;
            a->name = (struct str){0};
            return GLIM_OK;
        }
        if (a->end != GLIM_END_NONE) {
            a->out[0] = stop_end(a->stop);
            a->flushed = true;
            continue;
        }
        int rc = next_token(a);
        if (rc != GLIM_OK) return rc;
    }
}

int answer_next(struct answer *a, struct str *text) {
    return answer_pull(a, text, NULL);
}

int answer_event(struct answer *a, glim_event *event) {
    a->events = true;
    for (;;) {
        int rc = stream_next(&a->stream, &a->in, a->in_control, event, &a->s->err);
        if (rc != GLIM_AGAIN) return rc;
        rc = answer_pull(a, &a->in, &a->in_control);
        if (rc == GLIM_DONE)
            stream_end(&a->stream);
        else if (rc != GLIM_OK)
            return rc;
    }
}
