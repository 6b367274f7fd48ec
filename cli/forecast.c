/* hocket forecast: how long a recorded step would take on more devices. */
#include "commands.h"

#include <hocket/forecast.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOW = 64 };

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

static int complain_bad_data(const char *path, const hk_status *status)
{
    if (hk_status_code(status) == HK_BAD_DATA)
        fprintf(stderr, "hocket forecast: %s: %s\n", path, hk_status_message(status));
    else
        hk_status_print(status, stderr);
    return 1;
}

/* "17:1.5,40:2". False where it is none. */
static bool read_slow(const char *text, int devices[MOST_SLOW], double factors[MOST_SLOW],
                      int *count)
{
    *count = 0;
    while (text && *text) {
        char *end;
        const long device = strtol(text, &end, 10);
        if (end == text || *end != ':' || device < 0 || device > 1 << 20 || *count == MOST_SLOW)
            return false;
        text = end + 1;
        factors[*count] = strtod(text, &end);
        if (end == text || (*end && *end != ',') || !isfinite(factors[*count]))
            return false;
        devices[(*count)++] = (int)device;
        text = end + (*end == ',');
        if (*end == ',' && !*text)
            return false;
    }
    return true;
}

static bool write_picture(const hk_trace *trace, hk_trace_format format, const char *path)
{
    return !path || !hk_status_print(hk_trace_write(trace, format, path), stderr);
}

static bool write_pictures(const hk_forecast *forecast, const forecast_options *options)
{
    if (!options->html && !options->svg && !options->trace)
        return true;
    hk_trace *trace = hk_forecast_trace(forecast);
    if (!trace) {
        fprintf(stderr, "hocket forecast: no memory for a picture\n");
        return false;
    }
    bool is_good = write_picture(trace, HK_TRACE_HTML, options->html);
    is_good &= write_picture(trace, HK_TRACE_SVG, options->svg);
    is_good &= write_picture(trace, HK_TRACE_CHROME, options->trace);
    hk_trace_release(trace);
    return is_good;
}

static bool print_text(const hk_forecast *forecast)
{
    char *text = hk_forecast_text(forecast, NULL);
    if (!text) {
        fprintf(stderr, "hocket forecast: no memory for the text\n");
        return false;
    }
    fputs(text, stdout);
    free(text);
    return true;
}

static int forecast(const char *path, const forecast_options *options,
                    const hk_forecast_options *asked)
{
    const hk_status *status;
    hk_topology *topology = hk_topology_read(options->topology, &status);
    if (!topology)
        return complain_bad_data(options->topology, status);
    int result = 0;
    hk_forecast *made = NULL;
    hk_trace *recording = hk_trace_read(path);
    status = hk_trace_status(recording);
    if (hk_ok(status))
        made = hk_forecast_create(recording, topology, asked, &status);
    if (!made)
        result = complain_bad_data(path, status);
    if (made && (!print_text(made) || !write_pictures(made, options)))
        result = 1;
    hk_forecast_release(made);
    hk_trace_release(recording);
    hk_topology_release(topology);
    return result;
}

static int run(int count, char **arguments)
{
    forecast_options options = {0};
    char *operands[1];
    int operand_count, status, slow[MOST_SLOW], slow_count;
    double factors[MOST_SLOW];
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
    if (!read_slow(options.slow, slow, factors, &slow_count))
        return options_complain(
            &forecast_command,
            "--slow is \"%s\"; expected devices and factors, such as 17:1.5,40:2", options.slow);
    return forecast(operands[0], &options,
                    &(hk_forecast_options){.devices = (int)options.devices,
                                           .strong = options.strong,
                                           .jitter = options.jitter,
                                           .seed = (uint64_t)options.seed,
                                           .slow = slow,
                                           .slow_factors = factors,
                                           .slow_count = slow_count});
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
