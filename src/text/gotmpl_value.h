/* Values of Go templates: what Ollama hands to them, with Go's types, as these decide what can be
 * compared and how a value prints. A value is a jval and its type. */
#ifndef TEXT_GOTMPL_VALUE_H
#define TEXT_GOTMPL_VALUE_H

#include "text/jbuf.h"

enum gkind {
    GKIND_ANY, /* as a type: whatever JSON had there; as a value's: an interface that is nil */
    GKIND_BOOL,
    GKIND_INT,
    GKIND_FLOAT,
    GKIND_STR,
    GKIND_LIST,   /* a JVAL_LIST, or none: nil */
    GKIND_MAP,    /* a JVAL_DICT with text keys, or none: nil */
    GKIND_STRUCT, /* a JVAL_LIST of the fields' values in the type's order */
    GKIND_ROOT,   /* the variables: a struct whose fields may be absent, read as a map is */
    GKIND_OPAQUE, /* what templates can only write as JSON, or none: nil */
};

struct gtype;

struct gfield {
    const char *name;         /* Go's */
    const char *json;         /* in JSON; NULL: Go's name */
    bool omit;                /* left out of JSON where empty */
    const struct gtype *type; /* never NULL */
};

enum gshow { GSHOW_FMT, GSHOW_JSON, GSHOW_TYPES }; /* how Go's String() writes it, if it has one */

struct gtype {
    const char *name; /* as Go's messages call it */
    enum gkind kind;
    const struct gtype *elem; /* of lists and maps */
    const struct gfield *field;
    u32 n_field;
    enum gshow show;
    bool pointer; /* to the struct: of interest where a value prints */
    bool ordered; /* JSON keeps the order of keys */
};

struct gval {
    const struct gtype *type; /* NULL: no value at all, which is what nil becomes in a pipeline */
    struct jval v;
};

extern const struct gtype gtype_any, gtype_bool, gtype_int, gtype_float, gtype_str, gtype_byte,
    gtype_list, gtype_map;

static inline struct gval gval_nil(void) {
    return (struct gval){NULL, {.kind = JVAL_NONE}};
}
static inline struct gval gval_bool(bool b) {
    return (struct gval){&gtype_bool, jval_bool(b)};
}
static inline struct gval gval_int(i64 i) {
    return (struct gval){&gtype_int, jval_int(i)};
}
static inline struct gval gval_str(struct jval v) {
    return (struct gval){&gtype_str, v};
}
/* v where a value of that type is: what is any gets the type that JSON gives it. */
struct gval gval_of(const struct gtype *type, struct jval v);
/* A nil interface becomes no value. */
struct gval gval_plain(struct gval v);
bool gval_is_nil(struct gval v);
/* For messages; never NULL. */
const char *gval_type(struct gval v);
bool gval_true(struct gval v);
f64 gval_float(struct gval v);

/* A field, an entry of a map. Fails where there cannot be one. */
struct gval gval_field(struct jmem *m, struct gval v, struct str name);
/* The keys of a map in order, as places in the dictionary. */
u32 *gmap_order(struct jmem *m, const struct jdict *d);

/* As fmt's %v writes it, without value "<nil>". */
void gput_value(struct jmem *m, struct jbuf *b, struct gval v);
/* The same for an argument of print and printf: a struct that others point to shows that. */
void gput_argument(struct jmem *m, struct jbuf *b, struct gval v);
/* As encoding/json writes it. */
void gput_json(struct jmem *m, struct jbuf *b, struct gval v);
struct gval gval_json(struct jmem *m, struct gval v); /* that as text */
/* What TypeScript calls the type of a tool's parameter. */
void gput_typescript(struct jmem *m, struct jbuf *b, struct gval property);
/* The shortest text that reads back: style 'g' as %v writes it, 'j' as JSON. Its length. */
u32 gput_float(f64 f, char style, char out[48]);

/* ---- What Ollama has ------------------------------------------------------------------------- */

extern const struct gtype gtype_root, gtype_messages, gtype_tools, gtype_types, gtype_property;

/* Places of fields in gtype_root's list. */
enum groot {
    GROOT_SYSTEM,
    GROOT_MESSAGES,
    GROOT_TOOLS,
    GROOT_PROMPT,
    GROOT_RESPONSE,
    GROOT_SUFFIX,
    GROOT_THINK,
    GROOT_LEVEL,
    GROOT_THINK_SET,
    GROOT_MORE, /* a dictionary of further variables, or none; not a field */
    GROOT_COUNT
};
/* And of those of a message. */
enum gmessage {
    GMESSAGE_ROLE,
    GMESSAGE_CONTENT,
    GMESSAGE_THINKING,
    GMESSAGE_IMAGES,
    GMESSAGE_CALLS,
    GMESSAGE_TOOL,
    GMESSAGE_CALL_ID,
    GMESSAGE_COUNT
};

/* Messages and tools as programs exchange them (Ollama's members or OpenAI's) as Ollama's types:
 * lists for gtype_messages and gtype_tools. thoughts: those that stand in an answer's text, between
 * <think> and </think>, are apart from it. GLIM_ARG names what is not of the type that it must
 * have. */
struct jval gotmpl_messages(struct jmem *m, struct jval messages, bool thoughts);
struct jval gotmpl_tools(struct jmem *m, struct jval tools);

#endif
