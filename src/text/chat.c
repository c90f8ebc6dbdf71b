/* Conversations as spans: variables for the template, and its output cut where the writer changes.
 */
#include "text/chat.h"

#include <string.h>

static struct chat *new_chat(const struct gguf *g, const struct vocab *v, struct arena *a,
                             glim_err *e) {
    struct str name = {"", 0};
    struct chat *c = arena_get(a, sizeof *c);
    if (!c) {
        fail(e, GLIM_NOMEM, "no memory for the chat format");
        return NULL;
    }
    gguf_str(g, "general.name", &name, NULL);
    *c = (struct chat){.v = v, .name = {name.p, MIN(name.n, 60u)}};
    return c;
}

int chat_open_text(struct chat **out, int language, struct str template, const struct gguf *g,
                   const struct vocab *v, struct arena *a, glim_err *e) {
    *out = NULL;
    struct chat *c = new_chat(g, v, a, e);
    if (!c) return GLIM_NOMEM;
    glim_err why = {0};
    int status = language == GLIM_TEMPLATE_GO ? gotmpl_open(&c->gotmpl, template, a, &why)
                                              : jinja_open(&c->jinja, template, a, &why);
    if (status == GLIM_OK && !chat_reads(c, "messages") && !chat_reads(c, "prompt")) {
        status =
            fail(&why, GLIM_FORMAT, "chat template: nothing in it stands for the messages (%s)",
                 c->gotmpl ? ".Messages or .Prompt" : "messages");
    }
    if (status == GLIM_OK) *out = c;
    if (status == GLIM_OK || status == GLIM_NOMEM)
        return status ? fail(e, status, "%s", why.msg) : 0;
    return fail(e, status, "%s; use --raw to send plain text", why.msg);
}

int chat_open(struct chat **out, const struct gguf *g, const struct vocab *v, struct arena *a,
              glim_err *e) {
    *out = NULL;
    struct str template;
    struct turns *turns;
    int status = gguf_str(g, "tokenizer.chat_template", &template, e);
    if (status == GLIM_OK) return chat_open_text(out, GLIM_TEMPLATE_JINJA, template, g, v, a, e);
    if (status != GLIM_NOT_FOUND) return status;
    struct chat *c = new_chat(g, v, a, e);
    if (!c) return GLIM_NOMEM;
    status = turns_open(&turns, g, v, a, e);
    c->turns = turns;
    if (status == GLIM_OK) *out = c;
    return status;
}

bool chat_reads(const struct chat *c, const char *variable) {
    return c->gotmpl  ? gotmpl_reads(c->gotmpl, variable)
           : c->jinja ? jinja_reads(c->jinja, variable)
                      : false;
}

bool chat_can_think(const struct chat *c) {
    if (c->turns) return turns_can_think(c->turns);
    if (c->gotmpl) return chat_reads(c, "think");
    return chat_reads(c, "enable_thinking") || chat_reads(c, "thinking");
}

u64 chat_limit(u64 content_bytes) {
    return (256u << 20) + 64 * MIN(content_bytes, UINT32_MAX);
}

void chat_trust(struct jmem *m, struct jval message) {
    static const char *const usual[] = {"system",      "user",     "assistant", "tool",
                                        "developer",   "function", "ipython",   "model",
                                        "observation", "tools",    "context",   "documents"};
    const struct jval *role = m->rc ? NULL : jdict_find(message.d, "role");
    if (!role || role->kind != JVAL_STR) return;
    for (size_t i = 0; i < COUNT(usual); i++) {
        if (!str_is(role->s->t, usual[i])) continue;
        jdict_set(m, message.d, jval_text(m, "role", true), jval_text(m, usual[i], true));
        return;
    }
}

struct jval chat_message(struct jmem *m, struct str role, struct jval content) {
    struct jval v = jval_dict(m);
    if (m->rc) return v;
    jdict_set(m, v.d, jval_text(m, "role", false), jval_str(m, role, false));
    jdict_set(m, v.d, jval_text(m, "content", false), content);
    chat_trust(m, v);
    return v;
}

/* ---- With a template ------------------------------------------------------------------------- */

/* Empty where the vocabulary names no such token. */
static struct jval token_text(struct jmem *m, const struct vocab *v, i32 id) {
    struct str text = id < 0 ? (struct str){"", 0} : vocab_piece(v, id, VOCAB_SPECIAL);
    return jval_str(m, text, true);
}

/* What transformers gives to templates; None, not undefined, for what there is not. */
static struct jval variables(const struct chat *c, struct jmem *m, const struct chat_request *r) {
    struct jval all = jval_dict(m);
    if (m->rc) return all;
    bool tools = r->tools.kind == JVAL_LIST && r->tools.l->n;
    const struct {
        const char *name;
        struct jval v;
    } given[] = {
        {"messages", r->messages},
        {"tools", tools ? r->tools : jval_none()},
        {"documents", jval_none()},
        {"add_generation_prompt", jval_bool(r->reply && !r->go_on)},
        {"bos_token", token_text(m, c->v, c->v->begin)},
        {"eos_token", token_text(m, c->v, c->v->end)},
    };
    for (size_t i = 0; i < COUNT(given); i++)
        jdict_set(m, all.d, jval_text(m, given[i].name, true), given[i].v);
    for (u64 i = 0; r->more && i < r->more->n; i++)
        jdict_set(m, all.d, r->more->key[i], r->more->val[i]);
    return all;
}

static bool is_ours(const struct jinja_result *r, size_t i) {
    return r->marks ? r->marks[i] : r->ours;
}

/* Cut right behind the last message's text: what closes the turn is not to come. */
static int cut_open(struct jmem *m, struct jinja_result *r) {
    size_t n = r->text.n;
    while (n && is_ours(r, n - 1))
        n--;
    if (n == 0) {
        jmem_fail(m, GLIM_ARG, "the last message has no text to go on with");
        return m->rc;
    }
    r->text.n = n;
    return GLIM_OK;
}

/* Neighbours of one writer are one span. */
static int spans_of(struct jmem *m, const struct jinja_result *r, struct vocab_span **span,
                    u64 *n) {
    u64 runs = r->text.n > 0;
    for (size_t i = 1; i < r->text.n; i++)
        runs += is_ours(r, i) != is_ours(r, i - 1);
    *span = jmem_get(m, runs, sizeof **span);
    *n = 0;
    if (!*span) return m->rc;
    for (size_t from = 0, i = 1; i <= r->text.n; i++) {
        if (i < r->text.n && is_ours(r, i) == is_ours(r, from)) continue;
        (*span)[(*n)++] = (struct vocab_span){{r->text.p + from, i - from}, is_ours(r, from)};
        from = i;
    }
    return GLIM_OK;
}

/* Ollama's templates decide by the last message whether they open the assistant's turn. */
static int render_gotmpl(const struct chat *c, struct jmem *m, const struct chat_request *r,
                         struct jinja_result *result) {
    if (!r->reply) {
        return m->rc = fail(m->e, GLIM_UNSUPPORTED,
                            "Ollama's templates have no switch for the assistant's turn: they "
                            "open it where the last message is not its own");
    }
    struct gotmpl_request q = {r->messages, r->tools, r->more, r->now};
    m->where = GOTMPL_NAME;
    return gotmpl_render(c->gotmpl, m, &q, result);
}

static int render_jinja(const struct chat *c, struct jmem *m, const struct chat_request *r,
                        struct jinja_result *result) {
    struct jval all = variables(c, m, r);
    if (m->rc) return m->rc;
    return jinja_render(c->jinja, m, all.d, (struct jinja_clock){r->now}, result);
}

static int render_template(const struct chat *c, struct jmem *m, const struct chat_request *r,
                           struct vocab_span **span, u64 *n) {
    struct jinja_result result;
    int rc = c->gotmpl ? render_gotmpl(c, m, r, &result) : render_jinja(c, m, r, &result);
    if (rc == GLIM_OK && r->go_on) rc = cut_open(m, &result);
    return rc == GLIM_OK ? spans_of(m, &result, span, n) : rc;
}

/* ---- With built-in turns --------------------------------------------------------------------- */

/* What built-in turns have no place for is refused, not left out. */
static int render_turns(const struct chat *c, struct jmem *m, const struct chat_request *r,
                        struct vocab_span **span, u64 *n) {
    u64 count = r->messages.l->n;
    struct turn *turn = jmem_get(m, count, sizeof *turn);
    if (!turn) return m->rc;
    if (r->go_on || (r->tools.kind == JVAL_LIST && r->tools.l->n)) {
        return m->rc =
                   fail(m->e, GLIM_UNSUPPORTED,
                        "the file has no chat template, and built-in turns have no place for %s; a "
                        "template that has is needed",
                        r->go_on ? "an answer that goes on" : "tools");
    }
    for (u64 i = 0; i < count; i++) {
        struct jval message = r->messages.l->v[i];
        const struct jval *role = NULL, *text = NULL;
        if (message.kind == JVAL_DICT) role = jdict_find(message.d, "role");
        if (role) text = jdict_find(message.d, "content");
        if (!role || !text || role->kind != JVAL_STR || text->kind != JVAL_STR) {
            return m->rc = fail(m->e, GLIM_ARG, "message %llu has no role or no text",
                                (unsigned long long)i + 1);
        }
        turn[i] = (struct turn){role->s->t, text->s->t};
    }
    const struct jval *think = r->more ? jdict_find(r->more, "enable_thinking") : NULL;
    u32 flags = (r->reply ? TURNS_REPLY : 0u) | (think && jval_true(*think) ? TURNS_THINK : 0u);
    i64 spans = turns_spans(c->turns, turn, count, flags, NULL, 0, m->e);
    if (spans < 0) return m->rc = (int)spans;
    *span = jmem_get(m, (u64)spans, sizeof **span);
    if (!*span) return m->rc;
    *n = (u64)turns_spans(c->turns, turn, count, flags, *span, (u64)spans, m->e);
    return GLIM_OK;
}

int chat_render(const struct chat *c, struct jmem *m, const struct chat_request *r,
                struct vocab_span **span, u64 *n) {
    *span = NULL;
    *n = 0;
    if (m->rc) return m->rc;
    bool list = r->messages.kind == JVAL_LIST && r->messages.l->n;
    for (u64 i = 0; list && i < r->messages.l->n; i++)
        list = r->messages.l->v[i].kind == JVAL_DICT;
    if (!list) {
        m->rc = fail(m->e, GLIM_ARG, "messages must be a list of objects, of one at least");
        return m->rc;
    }
    return c->turns ? render_turns(c, m, r, span, n) : render_template(c, m, r, span, n);
}
