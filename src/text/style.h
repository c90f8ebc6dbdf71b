/* How models write turns: the formats that are built in, and the templates known to be them. */
#ifndef TEXT_STYLE_H
#define TEXT_STYLE_H

#include "base/base.h"

/* In a style's texts: where the begin and the end token are written. */
#define STYLE_BEGIN "\x01"
#define STYLE_END   "\x02"

enum style_system {
    STYLE_SYSTEM_TURN,   /* a system message is a turn like others */
    STYLE_SYSTEM_WITHIN, /* it goes into the first turn, between system[0] and system[1] */
    STYLE_SYSTEM_NONE,   /* there is no place for it, or none that stays the same in later turns */
};

struct style {
    const char *name;
    /* Text before and after each turn's text, by whose turn it is. A turn with a head has its role
     * between head[0] and head[1] after the first text: user[0] head[0] ROLE head[1]. */
    const char *start;   /* of a conversation */
    const char *head[2]; /* NULL: no role is written */
    const char *user[2], *model[2];
    const char *reply;      /* opens the answer */
    const char *model_role; /* what the role "assistant" is called */
    const char *end;        /* the token that closes an answer, in model[1] */
    const char *marks[3];   /* further control tokens that the vocabulary must have */
    enum style_system system;
    const char *system_text[2];
    const char *default_system; /* said where a conversation brings none, or NULL */
    bool trim_user, trim_model; /* texts lose white space at both ends */
    bool trim_within; /* a text that follows a system message loses it at its end only, and where
                       * nothing is left system_text[1] loses it, too */
    bool alternate;   /* user and other turns must take turns, as the template insists */
    bool named_roles; /* only system, user and assistant are turns */
    bool one_answer;  /* answers that follow each other would be one turn: refused */
    bool drop_empty_system; /* a system message without text is no turn */
    const char *think[2];   /* switches thinking on: before the system message's text, and as a turn
                             * where there is none; NULL: there is no switch */
};

/* ChatML, for templates that chatml.c proves to be it. */
extern const struct style style_chatml;

/* The style of the template with that normal form, if it is one of those known, else NULL. */
const struct style *style_find(struct str form);
/* The same by the form's hash, which is how styles know templates. */
u64 style_hash(struct str form);
const struct style *style_by_hash(u64 hash);
/* What models of that general.architecture are known to write where a file brings no template, or
 * NULL. */
const struct style *style_of_family(struct str architecture);

#endif
