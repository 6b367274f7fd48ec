/* hocket bench: experiments, each a command of its own. */
#include "commands.h"
#include "experiment.h"

#include <string.h>

/* clang-format off */
static const command *const experiments[] = {
    &bench_async_command,
    &bench_parallel_command,
    &bench_overlap_command,
    &bench_graph_command,
    &bench_multi_command,
    &bench_split_command,
    &bench_split_network_command,
};
/* clang-format on */
enum { EXPERIMENT_COUNT = sizeof experiments / sizeof *experiments };

/* "async" of "bench async". */
static const char *short_name(const command *self)
{
    return strchr(self->name, ' ') + 1;
}

static void print_list(void)
{
    printf("usage: hocket bench [NAME [options]]\n\n%s\n\n%s\n\nexperiments:\n",
           bench_command.summary, bench_command.description);
    for (int i = 0; i < EXPERIMENT_COUNT; i++)
        printf("  %-13s %s\n", short_name(experiments[i]), experiments[i]->summary);
    printf("\nhocket bench NAME --help says more of one.\n");
}

static int run(int count, char **arguments)
{
    const char *names[EXPERIMENT_COUNT + 2] = {"--help"};
    if (count < 1 || !strcmp(arguments[0], "--help") || !strcmp(arguments[0], "-h")) {
        print_list();
        return 0;
    }
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        names[i + 1] = short_name(experiments[i]);
        if (!strcmp(arguments[0], names[i + 1]))
            return experiments[i]->run(count - 1, arguments + 1);
    }
    const char *near = nearest_word(arguments[0], names);
    const char *what = arguments[0][0] == '-' ? "option" : "experiment";
    if (near)
        return options_complain(&bench_command, "there is no %s \"%s\"; did you mean %s?", what,
                                arguments[0], near);
    return options_complain(&bench_command, "there is no %s \"%s\"", what, arguments[0]);
}

const command bench_command = {
    .name = "bench",
    .operands = "[NAME]",
    .summary = "Runs an experiment of Dive into Deep Learning, or lists them.",
    .description =
        "Each experiment measures what a chapter of the book on computational performance says,\n"
        "puts the book's figure and the theory's bound beside it, and checks what it claims: PASS\n"
        "or FAIL. Devices called sim:N are accelerators made of software: they really compute,\n"
        "but their times are those of a model. A run in which this machine could not keep up\n"
        "with the model is named as host-bound and fails what is claimed of it.\n"
        "\n"
        "Exit status: 0 everything that is claimed holds, 1 something does not, 2 wrong usage.",
    .run = run,
};
