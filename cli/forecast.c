/* hocket forecast: how long a recorded step would take on more devices. The command checks its
 * options and starts the program in libexec/hocket/forecast, which is in Python (tools/forecast). */
#include "commands.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct forecast_options {
    int64_t devices, seed;
    const char *topology, *slow, *html, *svg, *trace;
    double jitter;
    bool strong;
} forecast_options;

/* clang-format off */
static const option_row rows[] = {
    OPTION_INT_ROW("devices", forecast_options, devices, 1, 1 << 20,
                   "how many devices; as many as were recorded unless given"),
    OPTION_TEXT_ROW("topology", forecast_options, topology, "FILE",
                    "the machines, links and switches, as JSON; must be given.\ndocs/FORECAST.md describes it, examples/topologies has some"),
    OPTION_FLAG_ROW("strong", forecast_options, strong,
                    "divide the recorded batch over the devices; otherwise each\ndevice keeps it"),
    OPTION_HEADING("devices that are not alike"),
    OPTION_NUMBER_ROW("jitter", forecast_options, jitter, 0, 2,
                      "spread of the times of calls, such as 0.05"),
    OPTION_INT_ROW("seed", forecast_options, seed, 0, INT32_MAX, "of that spread; 0 unless given"),
    OPTION_TEXT_ROW("slow", forecast_options, slow, "LIST",
                    "devices that take longer, and how many times: 17:1.5,40:2"),
    OPTION_HEADING("pictures of the step, on the first device and on the slowest"),
    OPTION_TEXT_ROW("html", forecast_options, html, "FILE", "a page, one file that needs no network"),
    OPTION_TEXT_ROW("svg", forecast_options, svg, "FILE", "a picture, for documents"),
    OPTION_TEXT_ROW("trace", forecast_options, trace, "FILE", "a trace, for hocket trace, Perfetto and chrome://tracing"),
};
/* clang-format on */

/* ---- where the program is --------------------------------------------------------------------- */

/* The path of this command; false, with a message, where the system does not say it. */
static bool find_self(char path[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    if (length <= 0)
        fprintf(stderr, "hocket forecast: cannot read /proc/self/exe: %s\n", strerror(errno));
    return length > 0;
}

/* Installed, the program lies in libexec; where it was built, in libexec/ beside the command. False,
 * with a message, where it is missing. */
static bool find_program(const char *self, char path[PATH_MAX])
{
    static const char *const folders[] = {HOCKET_BIN_TO_LIBEXEC, "libexec"};
    const int folder_length = (int)(strrchr(self, '/') - self);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const int length = snprintf(path, PATH_MAX, "%.*s/%s/hocket/forecast/__main__.py",
                                    folder_length, self, folders[i]);
        if (length < PATH_MAX && !access(path, R_OK)) {
            *strrchr(path, '/') = '\0';
            return true;
        }
    }
    fprintf(stderr,
            "hocket forecast: %.*s/%s/hocket/forecast is missing; it is installed with the "
            "command\n",
            folder_length, self, HOCKET_BIN_TO_LIBEXEC);
    return false;
}

/* ---- starting it ------------------------------------------------------------------------------ */

enum { MOST_ARGUMENTS = 20 };

typedef struct argument_list {
    char *items[MOST_ARGUMENTS + 1]; /* ends with NULL */
    int count;
} argument_list;

static void argument_list_deinit(argument_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->items[i]);
}

__attribute__((format(printf, 2, 3))) static void add(argument_list *list, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (list->count < MOST_ARGUMENTS && vasprintf(&list->items[list->count], format, values) >= 0)
        list->count++;
    va_end(values);
}

static void add_text(argument_list *list, const char *name, const char *value)
{
    if (value)
        add(list, "--%s=%s", name, value);
}

/* Does not return where it works. */
static int start(const char *recording, const forecast_options *options)
{
    char self[PATH_MAX], program[PATH_MAX];
    argument_list list = {0};
    if (!find_self(self) || !find_program(self, program))
        return 1;
    add(&list, "python3");
    add(&list, "-IB"); /* neither the user's folders nor files beside the program */
    add(&list, "%s", program);
    add(&list, "--hocket=%s", self);
    if (options->devices)
        add(&list, "--devices=%lld", (long long)options->devices);
    add(&list, "--seed=%lld", (long long)options->seed);
    add(&list, "--jitter=%.17g", options->jitter);
    if (options->strong)
        add(&list, "--strong");
    add_text(&list, "topology", options->topology);
    add_text(&list, "slow", options->slow);
    add_text(&list, "html", options->html);
    add_text(&list, "svg", options->svg);
    add_text(&list, "trace", options->trace);
    add(&list, "--");
    add(&list, "%s", recording);
    execvp("python3", list.items);
    if (errno == ENOENT)
        fprintf(stderr, "hocket forecast: it needs Python 3.11 or later, but there is no python3 "
                        "in PATH: sudo apt-get install python3 (Debian, Ubuntu)\n");
    else
        fprintf(stderr, "hocket forecast: cannot start python3: %s\n", strerror(errno));
    argument_list_deinit(&list);
    return 1;
}

static int run(int count, char **arguments)
{
    forecast_options options = {0};
    char *operands[1];
    int operand_count, status;
    if (!options_parse(&forecast_command, count, arguments, &options, operands, 1, &operand_count,
                       &status))
        return status;
    if (operand_count < 1)
        return options_complain(&forecast_command,
                                "the recording is missing: hocket forecast run.json --devices 64 "
                                "--topology cluster.json; HOCKET_TRACE=run.json before a command "
                                "records one");
    if (!options.topology)
        return options_complain(&forecast_command, "--topology FILE is missing");
    return start(operands[0], &options);
}

const command forecast_command = {
    .name = "forecast",
    .operands = "FILE",
    .summary = "Says how long a recorded step would take on more devices.",
    .description =
        "FILE is a recording, as hocket trace takes it, of a few steps of training on one device,\n"
        "or a few, or of one rank. Its calls are replayed on a model of machines, links and\n"
        "switches; nothing is computed. Prints the time of a step, efficiency, traffic, idle\n"
        "time and the critical path.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
