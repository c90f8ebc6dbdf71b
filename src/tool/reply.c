/* Answers to stdout, with progress and speeds on stderr. */
#include "tool/reply.h"

#include "base/plat_cpu.h"
#include "tool/format.h"
#include "tool/interrupt.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void reply_begin(struct reply *r, glim_session *session, const struct generation_options *options) {
    *r = (struct reply){.session = session, .options = options, .start_ns = plat_now_ns()};
    glim_get_stats(session, &r->before);
    r->terminal = isatty(STDOUT_FILENO);
    /* NO_COLOR is about all that colours and the like (no-color.org). */
    const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
    r->dim = r->terminal && !(plain && *plain) && term && strcmp(term, "dumb") != 0;
}

void reply_queued(struct reply *r) {
    glim_stats s;
    glim_tokens(r->session, &r->n_prompt);
    glim_get_stats(r->session, &s);
    r->n_cached = MIN(r->n_prompt, s.n_cached - r->before.n_cached);
}

/* What the session has done for this prompt and its answer. */
static glim_stats spent(const struct reply *r) {
    glim_stats s;
    glim_get_stats(r->session, &s);
    s.n_prompt -= r->before.n_prompt;
    s.prompt_ns -= r->before.prompt_ns;
    s.n_decode -= r->before.n_decode;
    s.decode_ns -= r->before.decode_ns;
    return s;
}

/* ---- Notes ----------------------------------------------------------------------------------- */

/* While nothing can be shown yet. A long prompt is read: how far, how fast, how long still, after a
 * second. Or the answer has begun with what is shown when it is whole, as a tool call. */
static void note_progress(struct reply *r) {
    u64 ns = plat_now_ns() - r->start_ns;
    if (r->options->quiet || !isatty(STDERR_FILENO) || ns < 1000000000u) return;
    glim_stats s = spent(r);
    u64 done = s.n_prompt + s.n_decode, n = r->n_prompt - r->n_cached;
    f64 rate = (f64)done * 1e9 / (f64)ns;
    size_t n_all;
    glim_tokens(r->session, &n_all);
    bool answering = n_all > r->n_prompt;
    fprintf(stderr, "\r\x1b[K%s: ", answering ? "answering" : "reading the prompt");
    if (answering) {
        fprintf(stderr, "%zu tokens", n_all - r->n_prompt);
    } else if (done && done < n) {
        fprintf(stderr, "%llu of %llu tokens, %.0f tokens/s, %.0f s left", (unsigned long long)done,
                (unsigned long long)n, rate, (f64)(n - done) / rate);
    } else {
        fprintf(stderr, "%llu tokens", (unsigned long long)n);
    }
    r->noted = true;
}

static void clear_note(struct reply *r) {
    if (r->noted) fprintf(stderr, "\r\x1b[K");
    r->noted = false;
}

static void put_count(FILE *f, const char *what, size_t n) {
    fprintf(f, "%s %zu token%s", what, n, n == 1 ? "" : "s");
}

static void put_rate(FILE *f, u64 n, u64 ns) {
    if (n && ns) fprintf(f, ", %.1f tokens/s", (f64)n * 1e9 / (f64)ns);
}

void reply_put_speeds(const struct reply *r, bool always, FILE *f) {
    glim_stats s = spent(r);
    size_t n_all;
    glim_tokens(r->session, &n_all);
    put_count(f, "prompt:", r->n_prompt);
    if (always || r->n_cached)
        fprintf(f, " (%zu cached, %zu new)", r->n_cached, r->n_prompt - r->n_cached);
    put_rate(f, s.n_prompt, s.prompt_ns);
    put_count(f, "; answer:", n_all - r->n_prompt);
    put_rate(f, s.n_decode, s.decode_ns);
}

const char *reply_reason(const struct reply *r) {
    static char text[96];
    size_t n_all;
    glim_tokens(r->session, &n_all);
    switch (glim_end_reason(r->session)) {
    case GLIM_END_NONE:
        return r->interrupted ? "; interrupted" : "";
    case GLIM_END_LIMIT:
        snprintf(text, sizeof text, "; cut at -n %d", r->options->n_predict);
        return text;
    case GLIM_END_CONTEXT:
        snprintf(text, sizeof text, "; cut: the context of %zu tokens is full (-c)", n_all);
        return text;
    case GLIM_END_STOP:
        return "; ended by --stop";
    default:
        return "";
    }
}

static void put_logprob(const glim_model *model, const glim_logprob *l) {
    size_t n;
    const char *text = glim_token_text(model, l->id, &n);
    format_quoted((struct str){text, text ? n : 0}, stdout);
}

void reply_put_logprobs(const struct reply *r, const glim_model *model) {
    size_t n_all, n;
    const glim_logprob *row;
    glim_tokens(r->session, &n_all);
    printf("\n");
    for (size_t pos = r->n_prompt; pos <= n_all; pos++) {
        if (!(row = glim_logprobs(r->session, pos, &n))) continue;
        printf("%.4f\t", (f64)row->logprob);
        put_logprob(model, row);
        for (size_t i = 1; i < n; i++) {
            printf("\t%.4f ", (f64)row[i].logprob);
            put_logprob(model, &row[i]);
        }
        printf("\n");
    }
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* Whole characters, as they are; on a terminal without control characters, which a model may have
 * learned or been told to send. */
static void put_answer(const struct reply *r, const char *text, size_t len) {
    if (!r->terminal) {
        fwrite(text, 1, len, stdout);
        return;
    }
    for (size_t i = 0; i < len;) {
        u8 c = (u8)text[i];
        size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4; /* text is sound UTF-8 */
        bool c1 = c == 0xc2 && (u8)text[i + 1] < 0xa0;
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || c1)
            fputs("\xef\xbf\xbd", stdout);
        else
            fwrite(text + i, 1, n, stdout);
        i += n;
    }
}

/* ---- Its parts ------------------------------------------------------------------------------- */

static void new_line(struct reply *r) {
    if (r->last && r->last != '\n') printf("\n");
    r->last = '\n';
}

/* Between a thought and what follows it is a blank line. */
static void thought_end(struct reply *r) {
    if (!r->thought) return;
    r->thought = false;
    if (!r->dim) printf("]");
    new_line(r);
    printf("\n");
}

static void put_dimmed(const struct reply *r, const char *text, size_t len) {
    if (r->dim) fputs("\x1b[2m", stdout);
    put_answer(r, text, len);
    if (r->dim) fputs("\x1b[0m", stdout);
}

/* The tool call that is being shown: {"name":NAME,"arguments": and what is still to come. False: no
 * memory. */
static bool call_open(struct reply *r, const char *name) {
    r->call.f = open_memstream(&r->call.p, &r->call.n);
    json_t *quoted = json_string(name);
    bool ok = r->call.f && quoted;
    if (ok && r->terminal) {
        fprintf(r->call.f, "%s%s(", r->dim ? "" : "[tool call: ", name);
    } else if (ok) {
        fputs("{\"name\":", r->call.f);
        ok = json_dumpf(quoted, r->call.f, JSON_ENCODE_ANY) == 0;
        fputs(",\"arguments\":", r->call.f);
    }
    json_decref(quoted);
    return ok;
}

/* Shows it, or, unless it was one, forgets it. */
static bool call_close(struct reply *r, bool is_one) {
    const char *end = !r->terminal ? "}" : r->dim ? ")" : ")]";
    bool ok = fputs(end, r->call.f) >= 0 && fclose(r->call.f) == 0;
    r->call.f = NULL;
    if (ok && is_one) {
        thought_end(r);
        new_line(r);
        put_dimmed(r, r->call.p, r->call.n);
        printf("\n");
    }
    free(r->call.p);
    r->call.p = NULL;
    return ok;
}

static void put_part(struct reply *r, const glim_event *ev) {
    bool thought = ev->kind == GLIM_EVENT_THOUGHT;
    if (thought && !r->terminal) return;
    if (!thought) thought_end(r);
    if (thought && !r->thought && !r->dim) printf("[thought: ");
    r->thought = thought;
    r->last = ev->text[ev->len - 1];
    if (thought)
        put_dimmed(r, ev->text, ev->len);
    else
        put_answer(r, ev->text, ev->len);
}

/* False: no memory. */
static bool put_event(struct reply *r, const glim_event *ev) {
    if (r->parts) parts_take(r->parts, ev);
    switch (ev->kind) {
    case GLIM_EVENT_TEXT:
    case GLIM_EVENT_THOUGHT:
        put_part(r, ev);
        return true;
    case GLIM_EVENT_CALL:
        return call_open(r, ev->name);
    case GLIM_EVENT_ARGS:
        return fwrite(ev->text, 1, ev->len, r->call.f) == ev->len;
    case GLIM_EVENT_CALL_END:
    case GLIM_EVENT_CALL_DROP:
        return call_close(r, ev->kind == GLIM_EVENT_CALL_END);
    case GLIM_EVENT_NOTE:
        if (!r->notes.f) r->notes.f = open_memstream(&r->notes.p, &r->notes.n);
        return r->notes.f && fprintf(r->notes.f, "[%.*s]\n", (int)ev->len, ev->text) >= 0;
    default:
        return true;
    }
}

/* What is left when the answer has ended. */
static void put_notes(struct reply *r) {
    if (r->call.f) fclose(r->call.f); /* interrupted */
    free(r->call.p);
    if (r->notes.f && fclose(r->notes.f) == 0 && !r->options->quiet) fputs(r->notes.p, stderr);
    free(r->notes.p);
    r->call.f = r->notes.f = NULL;
    r->call.p = r->notes.p = NULL;
}

/* glim_next as an event. */
static int next_event(struct reply *r, glim_event *ev) {
    if (!r->raw) return glim_next_event(r->session, ev);
    *ev = (glim_event){.kind = GLIM_EVENT_TEXT};
    return glim_next(r->session, &ev->text, &ev->len);
}

static enum reply_end stream_answer(struct reply *r, bool whole_line) {
    int rc = GLIM_OK;
    reply_queued(r);
    while (!interrupt_seen) {
        glim_event ev;
        rc = next_event(r, &ev);
        if (rc < 0 || rc == GLIM_DONE) break;
        if (rc == GLIM_AGAIN) {
            if (r->last == 0 || r->last == '\n') note_progress(r);
            continue;
        }
        if (ev.kind == GLIM_EVENT_TEXT && ev.len == 0) continue;
        clear_note(r);
        if (!put_event(r, &ev)) {
            options_say("no memory to show a tool call or note");
            return REPLY_UNWRITABLE;
        }
        if (!options_flush()) return REPLY_UNWRITABLE;
    }
    clear_note(r);
    r->interrupted = interrupt_seen;
    if (r->thought && !r->dim) printf("]");
    if (whole_line && r->last != '\n') {
        printf("\n");
        if (!options_flush()) return REPLY_UNWRITABLE;
    }
    return rc < 0 ? REPLY_FAILED : REPLY_DONE;
}

enum reply_end reply_stream(struct reply *r, bool whole_line) {
    enum reply_end end = stream_answer(r, whole_line);
    put_notes(r);
    return end;
}
