/* hocket trace: what a recorded run did, as text and as pictures. */
#include "commands.h"

#include <errno.h>
#include <hocket/trace.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

typedef struct trace_options {
    const char *html, *svg, *dot, *graph;
} trace_options;

/* clang-format off */
static const option_row rows[] = {
    OPTION_TEXT_ROW("html", trace_options, html, "FILE",
                    "write a page there to look around in, one file that needs no\nnetwork"),
    OPTION_TEXT_ROW("svg", trace_options, svg, "FILE",
                    "write a picture of the lanes there, for documents"),
    OPTION_TEXT_ROW("dot", trace_options, dot, "FILE",
                    "write the graph of calls there, for Graphviz"),
    OPTION_TEXT_ROW("graph", trace_options, graph, "FILE",
                    "draw that graph there, as SVG; needs Graphviz"),
};
/* clang-format on */

extern char **environ;

/* ---- Graphviz ---------------------------------------------------------------------------------------- */

/* A file without a name that holds the text, to be read from its begin; NULL, with a message. A pipe would need
 * somebody to feed it while dot runs. */
static FILE *text_file(const char *text, size_t bytes)
{
    FILE *file = tmpfile();
    if (file && fwrite(text, 1, bytes, file) == bytes && !fflush(file) && !fseek(file, 0, SEEK_SET))
        return file;
    fprintf(stderr, "hocket trace: --graph: cannot write a temporary file: %s\n", strerror(errno));
    if (file)
        fclose(file);
    return NULL;
}

/* Runs `dot -Tsvg -o path` on the input. False, with a message, when it did not work. */
static bool run_dot(FILE *input, const char *path)
{
    char *const arguments[] = {"dot", "-Tsvg", "-o", (char *)path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, fileno(input), 0);
        if (!error)
            error = posix_spawnp(&child, "dot", &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (error == ENOENT) {
        fprintf(stderr,
                "hocket trace: --graph needs Graphviz, whose dot is not in PATH: sudo apt-get "
                "install graphviz (Debian, Ubuntu); or --dot writes the graph for another "
                "machine\n");
        return false;
    }
    while (!error && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            error = errno;
    if (error)
        fprintf(stderr, "hocket trace: --graph: cannot run dot: %s\n", strerror(error));
    else if (WIFSIGNALED(status))
        fprintf(stderr, "hocket trace: --graph: dot was ended by signal %d\n", WTERMSIG(status));
    else if (WEXITSTATUS(status))
        fprintf(stderr, "hocket trace: --graph: dot could not write %s; its exit status is %d\n",
                path, WEXITSTATUS(status));
    return !error && status == 0;
}

static bool draw_graph(const hk_trace *trace, const char *path)
{
    size_t bytes;
    char *text = hk_trace_text(trace, HK_TRACE_DOT, &bytes);
    if (!text) {
        fprintf(stderr, "hocket trace: --graph: no memory for the graph\n");
        return false;
    }
    FILE *file = text_file(text, bytes);
    bool is_drawn = file && run_dot(file, path);
    if (file)
        fclose(file);
    free(text);
    return is_drawn;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static hk_trace *read_trace(const char *path)
{
    hk_trace *trace = hk_trace_read(path);
    const hk_status *status = hk_trace_status(trace);
    if (hk_ok(status))
        return trace;
    if (hk_status_code(status) == HK_BAD_DATA)
        fprintf(stderr, "hocket trace: %s: %s\n", path, hk_status_message(status));
    else
        hk_status_print(status, stderr);
    hk_trace_release(trace);
    return NULL;
}

/* True when there was nothing to write, too. */
static bool write_file(const hk_trace *trace, hk_trace_format format, const char *path)
{
    return !path || !hk_status_print(hk_trace_write(trace, format, path), stderr);
}

static bool print_summary(const hk_trace *trace)
{
    char *text = hk_trace_text(trace, HK_TRACE_TEXT, NULL);
    if (!text) {
        fprintf(stderr, "hocket trace: no memory for the summary\n");
        return false;
    }
    fputs(text, stdout);
    free(text);
    return true;
}

static int run(int count, char **arguments)
{
    trace_options options = {0};
    char *operands[1];
    int operand_count, status;
    if (!options_parse(&trace_command, count, arguments, &options, operands, 1, &operand_count,
                       &status))
        return status;
    if (operand_count < 1)
        return options_complain(&trace_command,
                                "the file is missing: hocket trace run.json; HOCKET_TRACE=run.json "
                                "before a command records one");
    hk_trace *trace = read_trace(operands[0]);
    if (!trace)
        return 1;
    /* Each of them, whether or not those before could be written. */
    bool is_good = print_summary(trace);
    is_good &= write_file(trace, HK_TRACE_HTML, options.html);
    is_good &= write_file(trace, HK_TRACE_SVG, options.svg);
    is_good &= write_file(trace, HK_TRACE_DOT, options.dot);
    is_good &= !options.graph || draw_graph(trace, options.graph);
    hk_trace_release(trace);
    return is_good ? 0 : 1;
}

const command trace_command = {
    .name = "trace",
    .operands = "FILE",
    .summary = "Says what a recorded run did, and draws it.",
    .description =
        "FILE was written by hocket train --trace, by any program of hocket's with\n"
        "HOCKET_TRACE=FILE set, or by hk_trace_write. Perfetto and chrome://tracing show it\n"
        "too. Prints a summary: how busy each device was, what overlapped, what took the\n"
        "time, what was waited for.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
