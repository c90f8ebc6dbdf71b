/* Between the files of glim chat: chat.c has the turns, chat_commands.c what begins with "/". */
#ifndef TOOL_CHAT_H
#define TOOL_CHAT_H

#include "tool/message.h"
#include "tool/reply.h"

struct chat {
    struct model_options o;
    struct generation_options g;
    const struct option_row *rows; /* borrowed: the flags */
    const char *messages_file, *tools_file;
    bool stats, no_history;
    u32 n_ctx;
    glim_session *session;
    struct line_reader *in;
    struct message text;  /* what was typed last */
    struct converse talk; /* all that was said: what the model is asked each time */
    bool edited;   /* the session does not hold the talk as it is now, but for the last turn */
    char *file;    /* owned: where the conversation was saved to or loaded from; or NULL */
    char *figures; /* owned: of the last answer, as --stats shows them; or NULL */
    bool told;     /* how the result of a tool is typed */
    bool warned;   /* the last thing was Ctrl-C at an empty prompt */
    bool leaving;
};

/* Whether a person sits there, who sees prompts and can mend what fails. */
bool chat_at_terminal(const struct chat *c);
/* An exit code: what a person can mend is no reason to leave; a script cannot answer for itself. */
int chat_failed(const struct chat *c);
/* Has the model answer what was said last, all of it told anew where it was edited, and asks for
 * the results of tools that it calls. Where that fails before an answer has begun, the messages
 * from number n_before on are taken back. */
int chat_answer(struct chat *c, size_t n_before);
/* Begins anew, with the turns that the model brings along; with_system: and the system text that
 * flags or the model give, in place of the one that there is. */
int chat_begin(struct chat *c, bool with_system, glim_err *e);

/* Carries out a command. An exit code. */
int chat_command_run(struct chat *c, const char *line);
/* What the tab key offers for one: see line_completer. */
bool chat_command_complete(void *chat, const char *line, struct completion *found);

#endif
