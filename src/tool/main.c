/* The glim program: one command per file of this folder. */
#include "tool/options.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
    &run_command,      &chat_command,   &list_command,    &show_command,  &tokenize_command,
    &template_command, &logits_command, &inspect_command, &bench_command, &devices_command,
};

static void usage(FILE *f) {
    fprintf(f, "usage: glim COMMAND [FLAGS]\n\nRuns language models on this machine.\n\n");
    for (size_t i = 0; i < COUNT(commands); i++)
        fprintf(f, "  %-11s %s\n", commands[i]->name, commands[i]->about);
    fprintf(f, "\nglim COMMAND --help explains each. For a start:\n"
               "  glim run model.gguf \"Why is the sky blue?\"\n"
               "  glim chat model.gguf\n");
}

static int unknown(const char *name) {
    const char *names[COUNT(commands)];
    for (size_t i = 0; i < COUNT(commands); i++)
        names[i] = commands[i]->name;
    const char *near = options_nearest(name, names, COUNT(names));
    const char *kind = name[0] == '-' ? "flag" : "command";
    if (near)
        options_say("unknown %s '%.60s' (did you mean %s?); see `glim --help`", kind, name, near);
    else
        options_say("unknown %s '%.60s'; see `glim --help`", kind, name);
    return TOOL_MISUSED;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        usage(stderr);
        return TOOL_MISUSED;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        usage(stdout);
        return TOOL_FINE;
    }
    if (strcmp(name, "--version") == 0) {
        printf("glim %s\n", GLIM_VERSION);
        return TOOL_FINE;
    }
    bool help = strcmp(name, "help") == 0;
    if (help && argc == 2) {
        usage(stdout);
        return TOOL_FINE;
    }
    if (help) name = argv[2]; /* "glim help run" is "glim run --help" */
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (strcmp(name, commands[i]->name) != 0) continue;
        char flag[] = "--help", *ask[] = {argv[0], flag, NULL};
        return help ? commands[i]->main(commands[i], 2, ask)
                    : commands[i]->main(commands[i], argc - 1, argv + 1);
    }
    return unknown(name);
}

int main(int argc, char **argv) {
    int code = dispatch(argc, argv);
    /* What was printed but not written is a failure of its own; one that was already reported is
     * not said twice. */
    if (code == TOOL_FINE && !options_flush()) code = TOOL_FAILED;
    return code;
}
