/* Between the readers of calls: stream_call.c keeps what all notations share and hands each byte to
 * the reader of the notation, one file each. A call's state says whose it is. */
#ifndef TEXT_STREAM_CALL_H
#define TEXT_STREAM_CALL_H

#include "text/stream.h"

#include <string.h>

enum {
    AT_START, /* behind the mark */
    AT_END,   /* behind the calls, where the closing mark may be */
    IN_CODE,  /* all that follows */

    /* Objects, stream_call_json.c */
    AT_ITEM,   /* of a list of objects: an object, a comma, the end */
    AT_NAME,   /* of an object's member, or its end */
    IN_NAME,   /* reading it */
    AT_IS,     /* the colon behind it */
    AT_MEMBER, /* its value */
    IN_MEMBER, /* reading it */
    AT_COMMA,  /* behind it */

    /* Python, stream_call_python.c */
    AT_CALLEE,   /* a function's name, or the list's end */
    IN_CALLEE,   /* reading it */
    AT_ARG,      /* a keyword, or the closing parenthesis */
    IN_KEYWORD,  /* reading it */
    IN_ARG,      /* reading the argument's value */
    AT_ARG_END,  /* a comma or the closing parenthesis */
    AT_CALL_END, /* a comma or the list's end */

    /* Names in front of an object, stream_call_name.c */
    IN_GEMMA,      /* call:name */
    IN_MISTRAL,    /* name, before [CALL_ID], [ARGS] or { */
    IN_ID,         /* behind [CALL_ID] */
    AT_ARGS,       /* behind [ARGS] */
    IN_ARGS,       /* the arguments, with nothing around them */
    IN_FENCE_NAME, /* DeepSeek's name behind the mark */
    AT_FENCE,      /* behind it, or within what opens a code fence */
    AT_LIST,       /* between the calls of a list that has marks */

    /* Tags, stream_call_tag.c */
    TAG_OPEN,     /* the tag before the name */
    TAG_NAME,     /* reading it */
    TAG_NAME_END, /* the tag behind it */
    TAG_NEXT,     /* an argument, or the end */
    TAG_KEY,      /* an argument's name */
    TAG_KEY_END,  /* the tag behind it */
    TAG_LINE,     /* a value, whose first line end is the notation's */
    TAG_CDATA,    /* a value, perhaps within <![CDATA[ ]]> */
    TAG_VALUE,    /* reading it */
    TAG_MORE,     /* behind the call: another, or the closing mark */
};

/* What the value of an object's member is for. */
enum { FOR_NAME, FOR_ARGS, FOR_ARGS_TEXT, FOR_ID, FOR_FUNCTION, FOR_NOTHING };

enum { MAX_NAME = 256 };

static inline enum call_step call_bad(struct stream *s, const char *why) {
    s->call.value.why = why;
    return CALL_BAD;
}

static inline enum call_step call_value_step(enum value_step step) {
    return step == VALUE_BAD ? CALL_BAD : CALL_MORE;
}

static inline bool call_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool call_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (u8)c >= 0x80 || c == '_' || c == '.' || c == '-' || c == ':' || c == '/';
}

static inline void call_put(struct stream_text *t, const char *text) {
    stream_text_put(t, text, strlen(text));
}

/* Sets a name that is kept with a zero behind it. */
void call_set(struct stream_text *t, struct str text);
/* Nothing is known of the next call. */
void call_clear(struct stream *s);
/* Whether a call that lacks its family's mark may be of this function: only if it was offered. */
bool call_may_be(const struct stream *s, struct str name);
/* Name and arguments are complete. */
void call_complete(struct stream *s);
/* Begins to read arguments that are an object; its brace has come. */
enum call_step call_read_args(struct stream *s, enum value_dialect dialect, u8 state);

/* The readers: a byte where one of their states is current. */
enum call_step call_object_byte(struct stream *s, char b);
enum call_step call_python_byte(struct stream *s, char b);
enum call_step call_gemma_byte(struct stream *s, char b);
enum call_step call_mistral_byte(struct stream *s, char b);
enum call_step call_fence_byte(struct stream *s, char b);
enum call_step call_tag_byte(struct stream *s, char b);

/* An object begins. */
enum call_step call_open_object(struct stream *s);
/* A member's name has been read, or its value. */
enum call_step call_named(struct stream *s);
enum call_step call_member_done(struct stream *s);
/* [CALL_ID] or [ARGS] has come, or a quote where there is no value. */
enum call_step call_mistral_mark(struct stream *s, enum stream_mark_kind kind);
/* The closing mark has come: whether that ends a call between tags. */
bool call_tag_closed(struct stream *s);

#endif
