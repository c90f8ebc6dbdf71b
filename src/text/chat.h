/* How a model's conversations are written: by the template in its file or one that was handed in,
 * or without one by the turns of its family. */
#ifndef TEXT_CHAT_H
#define TEXT_CHAT_H

#include "text/gotmpl.h"
#include "text/turns.h"

/* One of the three is there. */
struct chat {
    struct jinja *jinja;
    struct gotmpl *gotmpl;
    const struct turns *turns;
    const struct vocab *v; /* borrowed */
    struct str name;       /* of the model, for messages */
};

/* Reads the file's template; *out lives in a. GLIM_UNSUPPORTED, GLIM_FORMAT: the template cannot be
 * used (line and name are said), or there is none and the family is not known. */
int chat_open(struct chat **out, const struct gguf *g, const struct vocab *v, struct arena *a,
              glim_err *e);

/* The same with a template of that language (enum glim_template), whatever the file has. */
int chat_open_text(struct chat **out, int language, struct str template, const struct gguf *g,
                   const struct vocab *v, struct arena *a, glim_err *e);
/* Whether turns are written by a template that mentions that variable. */
bool chat_reads(const struct chat *c, const char *variable);
/* Whether how turns are written depends on enable_thinking. */
bool chat_can_think(const struct chat *c);

struct chat_request {
    struct jval messages;     /* a list of {"role": text, "content": text or parts, ...} */
    struct jval tools;        /* a list, or anything else for none */
    const struct jdict *more; /* further variables of the template; may be NULL */
    bool reply;               /* the assistant's turn is opened at the end */
    bool go_on;               /* the last message is an answer's beginning: nothing closes it */
    i64 now;                  /* seconds since 1970, for templates that tell the date */
};

/* The conversation as spans for the tokenizer, in m's arena. What the template writes is marked as
 * control text, and what the values mark as the template's own. GLIM_ARG: the template refuses the
 * conversation. */
int chat_render(const struct chat *c, struct jmem *m, const struct chat_request *r,
                struct vocab_span **span, u64 *n);

/* A message with these members, its role trusted as below; and the same for one that was read:
 * templates make control tokens of roles (<|user|>), so the usual names are nobody's content. */
struct jval chat_message(struct jmem *m, struct str role, struct jval content);
void chat_trust(struct jmem *m, struct jval message);

/* What a rendering may take: bytes for content_bytes of messages, and steps. */
u64 chat_limit(u64 content_bytes);
enum { CHAT_STEPS = 200000000 };

#endif
