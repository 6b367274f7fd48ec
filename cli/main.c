/* hocket: the command. */
#include "commands.h"

#include <errno.h>
#include <hocket/version.h>
#include <string.h>

static const command *const commands[] = {&train_command,   &predict_command, &generate_command,
                                          &models_command,  &run_command,     &inspect_command,
                                          &bench_command,   &trace_command,   &forecast_command,
                                          &devices_command, &doctor_command};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const command no_command = {.name = ""};

static void print_usage(FILE *stream)
{
    fprintf(stream, "usage: hocket COMMAND [arguments]\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(stream,
            "\nhocket COMMAND --help says more of one; hocket --version prints the version.\n"
            "\nExit status: 0 it worked, 1 it failed, 2 wrong usage, 130 or 143\n"
            "interrupted by Ctrl-C or SIGTERM.\n");
}

static int run_one(int count, char **arguments)
{
    const char *names[COMMAND_COUNT + 3] = {"--help", "--version"};
    if (count < 1) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *name = arguments[0];
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_usage(stdout);
        return 0;
    }
    if (!strcmp(name, "--version")) {
        printf("hocket %s\n", HK_VERSION_STRING);
        return 0;
    }
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (!strcmp(name, commands[i]->name))
            return commands[i]->run(count - 1, arguments + 1);
        names[i + 2] = commands[i]->name;
    }
    const char *near = nearest_word(name, names);
    const char *what = name[0] == '-' ? "option" : "command";
    if (near)
        return options_complain(&no_command, "there is no %s \"%s\"; did you mean %s?", what, name,
                                near);
    return options_complain(&no_command, "there is no %s \"%s\"", what, name);
}

int main(int count, char **arguments)
{
    int result = run_one(count - 1, arguments + 1);
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "hocket: standard output could not be written%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "");
        return result ? result : 1;
    }
    return result;
}
