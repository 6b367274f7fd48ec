/* hocket run, hocket inspect: networks that others made. */
#include "commands.h"

#include <hocket/hocket.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_INPUTS = 64 };

typedef struct run_options {
    const char *input, *output, *device;
    int64_t runs;
} run_options;

static const option_row run_rows[] = {
    OPTION_TEXT_ROW("input", run_options, input, "FILE",
                    "a .npy file with the first input; the others follow the model's name"),
    OPTION_TEXT_ROW("output", run_options, output, "FILE",
                    ".npz or .safetensors: where the outputs go (default: they are printed)"),
    OPTION_TEXT_ROW("device", run_options, device, "NAME", "where it runs (default: cpu:0)"),
    OPTION_INT_ROW("runs", run_options, runs, 1, 1000000,
                   "how often; the median time of one is printed (default: 1, without a time)"),
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first array of a file, of the scope; NULL after a message. */
static hk_array *read_array(const char *path, hk_device device)
{
    hk_archive *archive = hk_load(path, device, NULL);
    hk_array *x = NULL;
    if (!hk_status_print(hk_archive_status(archive), stderr))
        x = hk_archive_get(archive, hk_archive_name(archive, 0));
    hk_archive_release(archive);
    return x && hk_status_print(hk_wait(x), stderr) ? NULL : x;
}

static void print_outputs(const hk_model *model, hk_array *const *outputs, int count)
{
    for (int i = 0; i < count; i++) {
        printf("%s ", hk_model_output(model, i).name);
        hk_print(outputs[i], stdout);
    }
}

static bool save_outputs(const char *path, const hk_model *model, hk_array *const *outputs,
                         int count)
{
    hk_save_entry *entries = calloc((size_t)count + 1, sizeof *entries);
    if (!entries)
        return false;
    for (int i = 0; i < count; i++)
        entries[i] = (hk_save_entry){.name = hk_model_output(model, i).name, .array = outputs[i]};
    const bool is_good = !hk_status_print(hk_save(path, entries, (size_t)count, NULL), stderr);
    free(entries);
    return is_good;
}

/* Runs it so often; false after a message. */
static bool run_model(hk_model *model, hk_array *const *inputs, int input_count,
                      const run_options *options)
{
    const int count = hk_model_output_count(model);
    const int64_t runs = options->runs ? options->runs : 1;
    double *seconds = calloc((size_t)runs, sizeof *seconds);
    hk_array **outputs = calloc((size_t)count + 1, sizeof(hk_array *));
    bool is_good = seconds && outputs;
    for (int64_t i = 0; i < runs && is_good; i++) {
        HK_SCOPE;
        const double begin = now();
        hk_model_run(model, inputs, input_count, outputs, count);
        for (int j = 0; j < count && is_good; j++)
            is_good = !hk_status_print(hk_wait(outputs[j]), stderr);
        seconds[i] = now() - begin;
        if (!is_good || i < runs - 1)
            continue;
        if (options->output)
            is_good = save_outputs(options->output, model, outputs, count);
        else
            print_outputs(model, outputs, count);
    }
    if (is_good && options->runs) {
        qsort(seconds, (size_t)runs, sizeof *seconds, by_value);
        printf("%.4g ms in the median of %" PRId64 " runs, %.4g to %.4g\n", 1e3 * seconds[runs / 2],
               runs, 1e3 * seconds[0], 1e3 * seconds[runs - 1]);
    }
    free(outputs);
    free(seconds);
    return is_good;
}

static int run(int count, char **arguments)
{
    int status, file_count = 0, input_count = 0;
    char *files[MOST_INPUTS + 1];
    run_options options = {.device = NULL};
    if (!options_parse(&run_command, count, arguments, &options, files, MOST_INPUTS + 1,
                       &file_count, &status))
        return status;
    if (!file_count)
        return options_complain(&run_command, "which model? such as hocket run model.onnx x.npy");
    HK_SCOPE;
    hk_array *inputs[MOST_INPUTS + 1];
    const hk_device device = hk_device_named(options.device ? options.device : "cpu:0");
    hk_model *model = hk_model_load(files[0], &(hk_model_options){.device = device});
    bool is_good = !hk_status_print(hk_model_status(model), stderr);
    if (is_good && options.input)
        is_good = (inputs[input_count++] = read_array(options.input, device));
    for (int i = 1; i < file_count && is_good; i++)
        is_good = (inputs[input_count++] = read_array(files[i], device));
    is_good = is_good && run_model(model, inputs, input_count, &options);
    hk_model_release(model);
    return !is_good;
}

const command run_command = {
    .name = "run",
    .operands = "MODEL [FILE]...",
    .summary = "Runs a network that others made (ONNX) on arrays from files.",
    .description =
        "hocket run model.onnx x.npy prints the outputs for one input. hocket inspect says which\n"
        "inputs a model has.",
    .rows = run_rows,
    .row_count = sizeof run_rows / sizeof *run_rows,
    .run = run,
};

static int inspect(int count, char **arguments)
{
    int status, file_count = 0;
    char *path;
    struct {
        char unused;
    } options;
    if (!options_parse(&inspect_command, count, arguments, &options, &path, 1, &file_count,
                       &status))
        return status;
    if (!file_count)
        return options_complain(&inspect_command, "which model? such as hocket inspect model.onnx");
    hk_model *model = hk_model_load(path, NULL);
    const bool has_failed = hk_status_print(hk_model_status(model), stderr);
    char *text = has_failed ? NULL : hk_model_to_string(model);
    if (text)
        fputs(text, stdout);
    free(text);
    hk_model_release(model);
    return has_failed;
}

const command inspect_command = {
    .name = "inspect",
    .operands = "MODEL",
    .summary = "Says what a network that others made takes, gives and is made of.",
    .description = "",
    .rows = NULL,
    .row_count = 0,
    .run = inspect,
};
