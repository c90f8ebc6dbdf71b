/* glim: a local language-model engine. The one public header.
 *
 * Who owns what: an engine is a device and its threads; it opens models. A model is a file's
 * weights, read in place; it opens sessions. A session is one sequence of tokens with its KV cache,
 * sampling state and output; all mutable state is here. Close in the opposite order.
 *
 * Threads: one engine may be used by one thread at a time, with everything opened from it.
 *
 * Errors: functions that can fail return a status: 0 is success, negative values are errors,
 * positive ones tell what to do next (GLIM_AGAIN, GLIM_DONE). Functions that open something fill a
 * glim_err that the caller owns; later errors of a session are kept in it (glim_session_error).
 * The library never prints, exits, aborts, or reads the environment.
 *
 * Nothing here waits: a step does a bounded amount of work (about 50 ms on a CPU) and says
 * GLIM_AGAIN while there is more; glim_wait is the blocking form.
 *
 * All text is UTF-8. All sizes are in bytes unless a comment says otherwise. Zeroed parameter
 * structs mean defaults. */
#ifndef GLIM_H
#define GLIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GLIM_API __attribute__((visibility("default")))
#else
#define GLIM_API
#endif

/* ---- Status ---------------------------------------------------------------------------------- */

/* X(value, NAME, text) */
#define GLIM_STATUS(X)                                                                             \
    X(2, DONE, "finished")                                                                         \
    X(1, AGAIN, "more work is pending; call again")                                                \
    X(0, OK, "success")                                                                            \
    X(-1, NOMEM, "out of memory")                                                                  \
    X(-2, IO, "cannot read or write")                                                              \
    X(-3, NOT_FOUND, "no such thing")                                                              \
    X(-4, FORMAT, "malformed file")                                                                \
    X(-5, UNSUPPORTED, "not supported")                                                            \
    X(-6, SHAPE, "missing or mis-shaped tensor")                                                   \
    X(-7, ARG, "bad argument")                                                                     \
    X(-8, FULL, "the context is full")                                                             \
    X(-9, NUMERIC, "a result is not finite")                                                       \
    X(-10, DEVICE, "device error")

enum glim_status {
#define X(value, name, text) GLIM_##name = value,
    GLIM_STATUS(X)
#undef X
};

/* A status and its one-line explanation. Caller-owned; zero it before the first use. The first
 * failure wins: later ones do not overwrite it. */
typedef struct {
    int code;      /* enum glim_status */
    char msg[240]; /* names the thing, the place and, where there is one, the way out */
} glim_err;

/* The name of a status ("GLIM_NOMEM" gives "NOMEM") and its general text. Never NULL. */
GLIM_API const char *glim_status_name(int status);
GLIM_API const char *glim_status_text(int status);

/* The one allocation function: new_size 0 frees, ptr NULL allocates, otherwise resizes. Returns
 * NULL when it cannot. old_size is what ptr was last given. Memory is aligned as by malloc. */
typedef struct {
    void *(*fn)(void *ud, void *ptr, size_t old_size, size_t new_size);
    void *ud;
} glim_alloc;

/* ---- Engine: a device and its threads -------------------------------------------------------- */

typedef struct glim_engine glim_engine;

typedef struct {
    uint32_t n_threads; /* the calling thread included; 0: one per processor this process may use */
    /* NULL or "auto": a real GPU if there is one, else the CPU; "cpu"; "gpu" or "gpu:N", also one
     * that is only software. */
    const char *device;
    const char *isa;  /* NULL: the best; else the most to use: "scalar", "avx2", "avx512" */
    glim_alloc alloc; /* fn NULL: the C library's */
    /* Path of the WebGPU library (Dawn's); NULL: libwebgpu_dawn.so where the system looks. */
    const char *gpu_library;
    /* What a GPU's kernels use beyond what every WebGPU device has (subgroups). NULL or "all": all
     * that it offers; "none": to compare, or where a driver gets it wrong. */
    const char *gpu_features;
    /* Notes worth telling a person, as of a GPU that "auto" cannot use for want of its library; one
     * line each without a newline. NULL: dropped. */
    void (*log)(void *ud, const char *message);
    void *log_ud;
} glim_engine_params;

/* params may be NULL. On success *out is owned by the caller. */
GLIM_API int glim_engine_open(glim_engine **out, const glim_engine_params *params, glim_err *err);
GLIM_API void glim_engine_close(glim_engine *engine); /* NULL is fine */
/* What computes, for people: "cpu (avx512, 2 threads)", "gpu (NVIDIA H200, subgroups)". Valid until
 * close. */
GLIM_API const char *glim_engine_device(const glim_engine *engine);
/* The driver of a GPU, with its version; NULL on the CPU. Valid until close. */
GLIM_API const char *glim_engine_driver(const glim_engine *engine);

/* ---- Model: weights, vocabulary, chat format ------------------------------------------------- */

typedef struct glim_model glim_model;

/* Opens a GGUF file, or the split set that it is a member of. Weights stay in the file, mapped;
 * the file must not change while the model is open. engine must outlive the model. */
GLIM_API int glim_model_open(glim_model **out, glim_engine *engine, const char *path,
                             glim_err *err);
GLIM_API void glim_model_close(glim_model *model); /* NULL is fine; close its sessions first */

typedef struct {
    const char *arch;         /* general.architecture; valid until the model is closed */
    uint32_t n_layers;        /* transformer blocks */
    uint32_t n_embd;          /* model width */
    uint32_t n_vocab;         /* tokens; a row of logits has as many floats */
    uint32_t n_ctx_train;     /* the longest sequence the model was trained for */
    uint64_t weight_bytes;    /* of the tensors that are used */
    uint64_t bytes_per_token; /* weight bytes that decoding one token reads */
    bool has_template;        /* the file brings a chat template */
} glim_model_info;
GLIM_API void glim_model_get_info(const glim_model *model, glim_model_info *info);

enum glim_template {
    GLIM_TEMPLATE_JINJA, /* as in model files */
    GLIM_TEMPLATE_GO     /* as in Ollama's store, with its functions and variables */
};
/* Has turns written by this template (copied) whether or not the file brings one, and answers read
 * by the marks that it mentions; for sessions that are opened afterwards. GLIM_FORMAT,
 * GLIM_UNSUPPORTED: it cannot be used, with its line; nothing has changed. */
GLIM_API int glim_model_set_template(glim_model *model, enum glim_template language,
                                     const char *text, size_t len, glim_err *err);

/* ---- Tokens ---------------------------------------------------------------------------------- */

enum {
    /* Names of control tokens in the text become those tokens. Without it they stay text: right
     * for anything that a user typed. */
    GLIM_TOKENIZE_SPECIAL = 1,
    /* The beginning-of-text token first, if the model's metadata asks for one. */
    GLIM_TOKENIZE_BOS = 2,
};

/* Writes at most cap ids and returns how many there are in all, which may be more than cap (call
 * again with more room), or a negative status. text need not be valid UTF-8. */
GLIM_API int64_t glim_tokenize(const glim_model *model, const char *text, size_t len,
                               unsigned flags, int32_t *ids, size_t cap, glim_err *err);

/* The bytes of a token, which may be a part of a character; control tokens give their name. Not
 * zero-terminated; valid until the model is closed. NULL if there is no such id. */
GLIM_API const char *glim_token_text(const glim_model *model, int32_t id, size_t *len);

/* Whether the model ends its answer with this token. */
GLIM_API bool glim_token_is_end(const glim_model *model, int32_t id);

/* ---- Session: one sequence of tokens --------------------------------------------------------- */

typedef struct glim_session glim_session;

enum { GLIM_KV_AUTO, GLIM_KV_F16, GLIM_KV_F32 };
enum { GLIM_TABLES_AUTO, GLIM_TABLES_DEVICE, GLIM_TABLES_FILE };

typedef struct {
    uint32_t n_ctx;      /* most tokens; 0: the model's own limit, at most 8192 */
    uint32_t n_batch;    /* tokens per forward pass of a prompt; 0: 512 */
    uint32_t max_logits; /* rows of logits that one pass may give; 0: 1 */
    bool exact; /* f32 activations (reproduces references); else int8 ones, which is faster */
    int kv;     /* GLIM_KV_AUTO: f16, or f32 when exact */
    /* Where a GPU has the model's tables, embeddings of which only the rows of tokens are read: its
     * own memory, or the file, from which the host looks rows up before each pass (slower: the next
     * pass cannot begin before a token is known here). GLIM_TABLES_AUTO: in the file only where the
     * GPU lacks memory for them, which is said to log. The CPU always reads them from the file. */
    int tables;
} glim_session_params;

/* params may be NULL. model must outlive the session. */
GLIM_API int glim_session_open(glim_session **out, glim_model *model,
                               const glim_session_params *params, glim_err *err);
GLIM_API void glim_session_close(glim_session *session); /* NULL is fine */

/* What a session with these params would take, in bytes, before it is opened: on a CPU of the
 * process's memory, on a GPU of the GPU's. On a CPU, KV memory is touched only as positions are
 * used. */
typedef struct {
    uint32_t n_ctx;       /* as it would be */
    uint64_t weights;     /* mapped from the file, or on the GPU; shared by all sessions */
    uint64_t tables;      /* embeddings of which only the rows of tokens are read */
    uint64_t kv;          /* at n_ctx tokens */
    uint64_t activations; /* of a pass of n_batch tokens, with the logits */
    uint64_t total;       /* of these, tables only if they are on the GPU */
    bool tables_in_file;  /* their rows are read from the file, and not kept in memory */
    bool on_gpu;
    uint64_t gpu_memory; /* that the GPU has in all, used by others or not; 0: not known */
    uint64_t gpu_free;   /* less what this engine has there beyond the plan's weights. A session
                          * whose total is larger is refused */
} glim_plan;
GLIM_API int glim_session_plan(glim_model *model, const glim_session_params *params,
                               glim_plan *plan, glim_err *err);

/* Why the last call on this session failed. Never NULL. Every call clears it. */
GLIM_API const glim_err *glim_session_error(const glim_session *session);

enum { GLIM_LOGITS_LAST, GLIM_LOGITS_ALL, GLIM_LOGITS_NONE, GLIM_LOGITS_DRAW };

/* Queues tokens behind those already there; glim_step processes them. GLIM_FULL: they do not fit
 * in the context, nothing was queued. logits says whose logits are wanted: of the last of these
 * tokens, of all (n at most max_logits and n_batch, and nothing else queued), or of none.
 * GLIM_LOGITS_DRAW: of the last, and only for glim_sample, as glim_next has it. A GPU then draws
 * the token where the samplers allow it, sends back no logits, and goes on with the token while the
 * caller looks at it. */
GLIM_API int glim_feed(glim_session *session, const int32_t *ids, size_t n, int logits);

/* Does a bounded piece of work: GLIM_AGAIN while there is more, 0 when all is processed. */
GLIM_API int glim_step(glim_session *session);
/* Steps until there is nothing left to do. */
GLIM_API int glim_wait(glim_session *session);

/* The logits of the last finished pass: row i of *n_rows rows of n_vocab floats, NULL if there is
 * no such row, as on a GPU behind GLIM_LOGITS_DRAW and glim_next. Valid until the next step. n_rows
 * may be NULL. */
GLIM_API const float *glim_logits(const glim_session *session, size_t i, size_t *n_rows);

/* All tokens so far, processed or queued; valid until the next call. */
GLIM_API const int32_t *glim_tokens(const glim_session *session, size_t *n);
/* Keeps the first n tokens and forgets the rest. In models with sliding windows, going back further
 * than the cache of a window reaches leaves the kept tokens queued: the next steps process them
 * again. Messages that glim_chat queued when there were n tokens or more are forgotten, too, even
 * if the template has shortened the context below n since. */
GLIM_API int glim_rewind(glim_session *session, size_t n);

/* ---- Generation ------------------------------------------------------------------------------ */

/* A number added to a token's logit; -INFINITY forbids the token. */
typedef struct {
    int32_t id;
    float bias; /* -1000 to 1000, or -INFINITY; several for one token add up */
} glim_logit_bias;

/* How tokens are chosen. Logit biases come first, then the samplers in the order that `samplers`
 * names, each on what the one before left; then one token is drawn. src/run/sample.h names the
 * paper or proposal that each formula comes from. */
typedef struct {
    float temp;    /* divides logits; 0: always the likeliest token, nothing is cut or drawn */
    int32_t top_k; /* keep the k likeliest; 0: all */
    float top_p;   /* keep the fewest whose probabilities sum to p; 1: all */
    float min_p;   /* keep those at least min_p times as likely as the likeliest; 0: all */
    float repeat_penalty;   /* divides positive and multiplies negative logits of recent tokens; 1:
                               off */
    uint32_t repeat_last_n; /* how many tokens, of prompt and answer, are recent */
    uint64_t seed;          /* the draw at a position is a function of seed and position */
    uint32_t max_tokens;    /* of an answer; 0: as many as fit in the context */
    const char *const *stops; /* strings that end an answer, not part of it; copied */
    size_t n_stops;

    float presence_penalty;  /* taken off the logits of recent tokens; 0: off, -100 to 100 */
    float frequency_penalty; /* the same for each time that they occur */
    float typical_p;         /* keep those whose surprise is nearest to the expected one, the fewest
                                whose probabilities sum to p; 1: all */
    float top_n_sigma;       /* keep logits within n standard deviations of the best; 0: all */
    float xtc_probability; /* how often the choices that reach xtc_threshold are excluded, except */
    float xtc_threshold;   /* for the least likely of them; 0 and any: off */
    /* A token that would go on with a repetition of L tokens (L >= allowed_length) loses multiplier
     * * base^(L - allowed_length); multiplier 0: off. */
    float dry_multiplier, dry_base;
    uint32_t dry_allowed_length;
    int32_t dry_last_n; /* how many tokens are searched; -1: all */
    /* Texts that a repetition does not reach across; copied. NULL: newline, ":", "\"" and "*"; none
     * with n_dry_breakers 0 and any other pointer. */
    const char *const *dry_breakers;
    size_t n_dry_breakers;
    int mirostat; /* 2: instead of all that cuts, hold the surprise of tokens near tau; 0: off */
    float mirostat_tau, mirostat_eta;  /* bits per token; how fast to steer there */
    const glim_logit_bias *logit_bias; /* copied */
    size_t n_logit_bias;
    /* Names with ';' between, as in the default. A sampler that is not named is not used; copied.
     * NULL: "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature". */
    const char *samplers;
    uint32_t min_keep;   /* what cuts leaves at least this many tokens */
    uint32_t n_logprobs; /* keep log-probabilities of the drawn and the n likeliest tokens, at most
                            100: glim_logprobs; 0: none */
    /* Most tokens of an answer that are thought, in answers read by glim_next_event: then the
     * thought is closed by its family's mark, as if the model had written it, and the answer goes
     * on. 0: no limit; -1: a thought is closed as soon as it begins. */
    int32_t max_thought;
} glim_generation;

/* temp 0.8, top_k 40, top_p 0.95, min_p 0.05, no penalties (window 64), seed 0, no limit. All else
 * is off; xtc_threshold 0.1, dry_base 1.75, dry_allowed_length 2, dry_last_n -1, mirostat_tau 5,
 * mirostat_eta 0.1 wait for their samplers to be switched on. */
GLIM_API glim_generation glim_generation_default(void);
/* The same with what the model's file asks for (general.sampling.*): what its sessions begin with.
 * Texts are valid until the model is closed. */
GLIM_API glim_generation glim_model_generation(const glim_model *model);
/* GLIM_ARG names a value out of range (NaN included) and changes nothing. Forgets what
 * glim_logprobs knows; behind GLIM_LOGITS_DRAW the next glim_sample needs another glim_step. */
GLIM_API int glim_set_generation(glim_session *session, const glim_generation *params);

/* Queues a text as it is, with the beginning-of-text token if the session is empty and the model
 * has one. flags: GLIM_TOKENIZE_SPECIAL or 0. */
GLIM_API int glim_prompt(glim_session *session, const char *text, size_t len, unsigned flags);

typedef struct {
    const char *role; /* "system", "user", "assistant" */
    const char *text; /* never becomes control tokens, whatever it says */
} glim_message;
/* Queues turns in the model's own chat format and opens the assistant's turn. A session that
 * already holds turns continues: messages are the new ones, and what the context holds already is
 * not processed again, as far as the model's template writes earlier turns as it did (some leave
 * out thoughts of earlier answers). GLIM_UNSUPPORTED, GLIM_FORMAT: the file's template cannot be
 * used; nothing is guessed. GLIM_ARG: it refuses these turns. On a failure nothing is queued. */
GLIM_API int glim_chat(glim_session *session, const glim_message *messages, size_t n);

/* A whole conversation as JSON, as programs exchange them. */
typedef struct {
    const char *messages;  /* a list of objects: role, content (text, or a list of parts), and what
                            * the model's template knows: tool_calls, name, reasoning_content */
    const char *tools;     /* a list of tools that the model may call, or NULL */
    const char *variables; /* an object of further variables of the template, or NULL:
                            * {"enable_thinking": false} */
    bool go_on; /* the last message is an answer's beginning, and is to be gone on with */
} glim_conversation;
/* As glim_chat, for all of a conversation: the context is taken back to where it differs, and only
 * what is new is processed. glim_chat may continue it. Text of messages and tools never becomes
 * control tokens. GLIM_FORMAT names what is not JSON, and its line. */
GLIM_API int glim_converse(glim_session *session, const glim_conversation *conversation);
/* Whether glim_chat knows this model's chat format: 0, or the error that it would give. */
GLIM_API int glim_chat_check(const glim_model *model, glim_err *err);

/* The next piece of the answer to what was queued. 0: *text (*len bytes, whole characters, valid
 * until the next call); GLIM_AGAIN: nothing yet, call again; GLIM_DONE: the answer is complete
 * (glim_end_reason tells why). */
GLIM_API int glim_next(glim_session *session, const char **text, size_t *len);

/* What an answer is made of, in the order in which the model says it. */
enum glim_event_kind {
    GLIM_EVENT_TEXT,      /* text: a piece of the answer */
    GLIM_EVENT_THOUGHT,   /* text: a piece of what the model thinks before it answers */
    GLIM_EVENT_CALL,      /* a tool call begins: name, id (the model's own, or made up) */
    GLIM_EVENT_ARGS,      /* text: a piece of its arguments; joined, a JSON object */
    GLIM_EVENT_CALL_END,  /* the call is complete */
    GLIM_EVENT_CALL_DROP, /* the call that began is none: forget it; it follows as text */
    GLIM_EVENT_NOTE,      /* text: what is wrong with the answer, for people */
    GLIM_EVENT_STOP       /* the answer is complete (glim_end_reason tells why) */
};
typedef struct {
    enum glim_event_kind kind;
    const char *text; /* len bytes, whole characters; "" where there is none */
    size_t len;
    const char *name, *id; /* of GLIM_EVENT_CALL, zero-terminated; else NULL */
} glim_event;
/* As glim_next, but thoughts and tool calls, in the notation of the model's family, are told apart
 * from text. What looks like a call and is none stays text, behind a note. Where tools were offered
 * (glim_converse), a call at an answer's beginning counts without its mark, too, if it names one of
 * them; and where a notation does not tell 3 from "3", a value has the type that its tool declares,
 * or is a string. An answer is read by this function or by glim_next, not by both. Pointers are
 * valid until the next call. */
GLIM_API int glim_next_event(glim_session *session, glim_event *event);

enum glim_end { GLIM_END_NONE, GLIM_END_TOKEN, GLIM_END_STOP, GLIM_END_LIMIT, GLIM_END_CONTEXT };
GLIM_API enum glim_end glim_end_reason(const glim_session *session);

/* Another answer to the prompt of the last one: takes the session back to the prompt's end, whose
 * keys and values are used again, and adds one to the seed. Answer i to a prompt is thus what seed
 * + i gives. GLIM_ARG: no prompt was queued since the session was opened or taken back. */
GLIM_API int glim_next_answer(glim_session *session);

/* The lower-level form: a token drawn from the last row of logits, not yet queued. */
GLIM_API int glim_sample(glim_session *session, int32_t *id);

typedef struct {
    int32_t id;
    float
        logprob; /* natural logarithm of the model's own probability, before any sampler; finite */
} glim_logprob;
/* What was kept when the token at position pos of glim_tokens was drawn: entry 0 is that token, the
 * other *n - 1 are the likeliest ones, best first. pos = number of tokens: the last token drawn, if
 * it was not queued (an end token, or glim_sample's). NULL and *n 0 for tokens that were not drawn.
 * Valid until the next call. */
GLIM_API const glim_logprob *glim_logprobs(const glim_session *session, size_t pos, size_t *n);

/* Tokens processed and the time it took, since the session was opened. */
typedef struct {
    uint64_t n_prompt, prompt_ns;         /* passes of several tokens */
    uint64_t n_decode, decode_ns;         /* passes of one token */
    uint64_t gpu_dispatches, gpu_submits; /* of all passes; 0 on the CPU */
    uint64_t n_cached; /* tokens that prompts found processed already in the context */
} glim_stats;
GLIM_API void glim_get_stats(const glim_session *session, glim_stats *stats);

/* Times each kernel of a GPU from now on, which slows it down; and what they took since, in
 * nanoseconds by name ("matmul"), as many as there are up to cap. On the CPU GLIM_UNSUPPORTED. */
GLIM_API int glim_profile(glim_session *session);
typedef struct {
    const char *name;
    uint64_t ns;
} glim_kernel_time;
GLIM_API size_t glim_get_profile(const glim_session *session, glim_kernel_time *times, size_t cap);

#ifdef __cplusplus
}
#endif
#endif
