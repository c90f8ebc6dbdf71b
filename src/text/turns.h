/* Turns of a conversation as spans of text for the tokenizer, in the formats of style.c: for files
 * that bring no template. */
#ifndef TEXT_TURNS_H
#define TEXT_TURNS_H

#include "text/token.h"

struct turn {
    struct str role; /* "system", "user", "assistant"; others as the template has it */
    struct str text;
};

enum turns_flag {
    TURNS_REPLY = 1, /* the assistant's turn is opened at the end, for it to answer */
    TURNS_AFTER = 2, /* the turns follow an answer that is in the context: no beginning, and the
                      * answer is closed first */
    TURNS_ENDED = 4, /* with TURNS_AFTER: the answer's last token was turns_end */
    TURNS_THINK = 8, /* thinking is switched on, where the format has a switch */
};

struct turns;
struct style;

/* The format of the model's family; *out lives in a. GLIM_UNSUPPORTED: it is not known (the message
 * names the model and the way out). */
int turns_open(struct turns **out, const struct gguf *g, const struct vocab *v, struct arena *a,
               glim_err *e);
/* That format. */
int turns_open_style(struct turns **out, const struct style *style, const struct vocab *v,
                     struct arena *a, glim_err *e);

/* The spans that turn[0..n) become, for vocab_encode_spans: template text is marked as such, roles
 * and messages are not, so that nobody forges a turn by typing its marks. Writes the first cap
 * spans and returns how many there are. They borrow from t and from turn. With TURNS_AFTER, the
 * context followed by these spans is what the whole conversation would have been rendered as, but
 * for white space that the template takes from the ends of an answer.
 * GLIM_ARG: the template refuses these turns (two users in a row, a role that it does not know). */
i64 turns_spans(const struct turns *t, const struct turn *turn, u64 n, u32 flags,
                struct vocab_span *span, u64 cap, glim_err *e);

/* A line for people where the format was chosen by the model's family, else NULL. */
const char *turns_note(const struct turns *t);
/* Whether the format has a switch for TURNS_THINK. */
bool turns_can_think(const struct turns *t);
/* The token that closes a turn. */
i32 turns_end(const struct turns *t);

#endif
