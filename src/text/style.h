/* How families of models write turns, for files that bring no template. */
#ifndef TEXT_STYLE_H
#define TEXT_STYLE_H

#include "base/base.h"

/* In a style's texts: where the begin token is written. */
#define STYLE_BEGIN "\x01"

enum style_system {
    STYLE_SYSTEM_TURN,   /* a system message is a turn like others */
    STYLE_SYSTEM_WITHIN, /* it goes into the first turn, between system[0] and system[1] */
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
    bool alternate;             /* user and other turns must take turns, as the template insists */
    bool named_roles;           /* only system, user and assistant are turns */
    bool one_answer;            /* answers that follow each other would be one turn: refused */
    bool drop_empty_system;     /* a system message without text is no turn */
    const char *think[2]; /* switches thinking on: before the system message's text, and as a turn
                           * where there is none; NULL: there is no switch */
};

/* What models of that general.architecture are known to write, or NULL. */
const struct style *style_of_family(struct str architecture);

#endif
