/* hocket doctor: whether training would work here, and what to do where it would not. */
#include "commands.h"
#include "lenet_model.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct doctor_options {
    const char *data;
} doctor_options;

static const option_row rows[] = {
    OPTION_TEXT_ROW("data", doctor_options, data, "DIR",
                    "look for the data set there, as hocket train --data would"),
};

static const struct {
    const char *name, *meaning;
} variables[] = {
    {"HOCKET_CPUS", "CPU devices"},
    {"HOCKET_CORES", "cores to use in all"},
    {"HOCKET_SIM", "simulated accelerators"},
    {"HOCKET_CUDA", "NVIDIA GPUs that are devices"},
    {"HOCKET_CUDA_MEMORY", "bytes of arrays on each CUDA device, at most"},
    {"HOCKET_CUDA_PLUGIN", "the plug-in for NVIDIA GPUs"},
    {"HOCKET_CUDA_LIBRARY_PATH", "where NVIDIA's libraries are looked for first"},
    {"HOCKET_TF32", "1: products of float32 on GPUs may be those of TF32"},
    {"HOCKET_NCCL", "0: sums over GPUs are not NCCL's"},
    {"HOCKET_FLUSH_SUBNORMALS", "1: subnormal numbers count as 0"},
    {"HOCKET_ENGINE", "async, or serial: each call runs in place"},
    {"HOCKET_CHECK", "1: uses of released arrays are found"},
    {"HOCKET_RUN_AHEAD", "unfinished calls at most"},
    {"HOCKET_RUN_AHEAD_BYTES", "bytes that only unfinished calls hold, at most"},
    {"HOCKET_INLINE_NS", "a call expected to take this long runs in the caller"},
    {"HOCKET_MEMORY", "bytes of arrays on each CPU device, at most"},
    {"HOCKET_ISA", "instruction set of the kernels: avx512, avx2, portable"},
    {"HOCKET_TUNE", "which kernels were measured to be the fastest: off, measure, or a file"},
    {"HOCKET_DATA_DIR", "folder of the data set"},
    {"HOCKET_TRACE", "the run is recorded into this file"},
    {"NO_COLOR", "no colours"},
};
enum { VARIABLE_COUNT = sizeof variables / sizeof *variables };

extern char **environ;

/* ---- what is there --------------------------------------------------------------------------------- */

static void print_system(void)
{
    printf("hocket %s\n\n", HK_VERSION_STRING);
    printf("libraries    %s, C library %s\n", hk_libraries(), gnu_get_libc_version());
    printf("cores        %ld of this machine are online\n", sysconf(_SC_NPROCESSORS_ONLN));
}

/* Variables that are set; those that look like hocket's and are not. */
static void print_variables(void)
{
    const char *names[VARIABLE_COUNT + 1] = {NULL};
    const char *label = "environment";
    for (int i = 0; i < VARIABLE_COUNT; i++) {
        const char *value = getenv(variables[i].name);
        names[i] = variables[i].name;
        if (!value || !*value)
            continue;
        printf("%-12s %s=%s (%s)\n", label, variables[i].name, value, variables[i].meaning);
        label = "";
    }
    for (char **entry = environ; *entry; entry++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        bool known = strncmp(name, "HOCKET_", 7) != 0;
        for (int i = 0; i < VARIABLE_COUNT && !known; i++)
            known = !strcmp(name, variables[i].name);
        if (known)
            continue;
        const char *near = nearest_word(name, names);
        printf("%-12s %s means nothing to hocket%s%s%s\n", label, name,
               near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        label = "";
    }
    if (*label)
        printf("%-12s no variable of hocket's is set\n", label);
}

static bool check_devices(void)
{
    const hk_status *status = hk_runtime_init(NULL);
    if (!hk_ok(status)) {
        printf("devices      WRONG: %s\n", hk_status_message(status));
        return false;
    }
    for (int i = 0; i < hk_device_count(); i++) {
        hk_device device = hk_device_at(i);
        const char *label = i ? "" : "devices";
        int cores = hk_device_cores(device);
        if (*hk_device_description(device))
            printf("%-12s %s, %s\n", label, hk_device_name(device), hk_device_description(device));
        else
            printf("%-12s %s, %d core%s\n", label, hk_device_name(device), cores,
                   cores == 1 ? "" : "s");
    }
    printf("kernels      by %s\n", hk_kernel_choices());
    return true;
}

/* What there is for NVIDIA GPUs, and what is missing. Nothing of it is wrong: CPU devices need none. */
static void print_cuda(void)
{
    const char *label = "cuda";
    for (const char *line = hk_cuda_describe(); *line;) {
        size_t length = strcspn(line, "\n");
        printf("%-12s %.*s\n", label, (int)length, line);
        label = "";
        line += length + (line[length] == '\n');
    }
}

/* One step of training on each device, on numbers that it makes itself. */
static bool check_training(void)
{
    HK_SCOPE;
    const int rows_each = 4; /* of images */
    const int64_t labels[] = {0, 1, 2, 3};
    lenet model = {.device_count = hk_device_count()};
    if (model.device_count > MAX_DEVICES)
        model.device_count = MAX_DEVICES;
    for (int d = 0; d < model.device_count; d++)
        model.devices[d] = hk_device_at(d);
    lenet_set_shapes(&model, 1, 28, 28, 10);
    lenet_draw(&model, LENET_GLOROT, 0);
    lenet_spread(&model);
    hk_array *loss[MAX_DEVICES];
    hk_record_begin();
    for (int d = 0; d < model.device_count; d++)
        loss[d] = hk_softmax_cross_entropy(
            lenet_forward(
                &model, d,
                hk_random_uniform(hk_shape(rows_each, 1, 28, 28), HK_F32, model.devices[d])),
            hk_from_host(labels, hk_shape(rows_each), HK_I64, model.devices[d]));
    hk_record_end();
    for (int d = 0; d < model.device_count; d++)
        hk_backward(loss[d]);
    for (int i = 0; i < LENET_PARAMETERS; i++)
        hk_all_reduce(model.grads[i], model.device_count);
    for (int d = 0; d < model.device_count; d++)
        hk_sgd(model.params[d], LENET_PARAMETERS, &(hk_sgd_options){.lr = 0.1, .batch = rows_each});
    lenet_release(&model);
    const hk_status *status = hk_wait_all();
    printf("training     %s%s\n", hk_ok(status) ? "one step on each device works" : "WRONG: ",
           hk_ok(status) ? "" : hk_status_message(status));
    return hk_ok(status);
}

static const char *state_text(const hk_data_place *place)
{
    switch (place->state) {
    case HK_DATA_PLACE_UNSET:
        return "not set";
    case HK_DATA_PLACE_NO_FOLDER:
        return "not there";
    case HK_DATA_PLACE_INCOMPLETE:
        return "has no ";
    case HK_DATA_PLACE_COMPLETE:
        break;
    }
    return "has all files";
}

static bool check_part(const char *folder, hk_data_part part, const char *name)
{
    hk_data_set *set = hk_data_set_open(folder, part, NULL);
    const hk_status *status = hk_data_set_status(set);
    bool good = hk_ok(status);
    if (good)
        printf("             %s: %lld samples of %lld x %lld\n", name,
               (long long)hk_data_set_size(set), (long long)hk_data_set_height(set),
               (long long)hk_data_set_width(set));
    else
        printf("             %s: WRONG: %s\n", name, hk_status_message(status));
    hk_data_set_release(set);
    return good;
}

static bool check_data(const char *folder)
{
    hk_data_place places[HK_DATA_PLACE_COUNT];
    bool found = hk_ok(hk_data_set_find(folder, places));
    printf("data         %s; looked in:\n", found ? "found" : "NOT FOUND");
    for (int i = 0; i < HK_DATA_PLACE_COUNT; i++) {
        const hk_data_place *place = &places[i];
        const char *origin = i == 0 ? "--data" : place->origin;
        printf("           %c %s%s%s%s: %s%s\n", place->chosen ? '*' : ' ', origin,
               place->folder ? " (" : "", place->folder ? place->folder : "",
               place->folder ? ")" : "", state_text(place), place->missing ? place->missing : "");
    }
    if (!found)
        return false;
    bool train = check_part(folder, HK_DATA_TRAIN, "training part");
    return check_part(folder, HK_DATA_TEST, "test part") && train;
}

static int run(int count, char **arguments)
{
    doctor_options options = {0};
    int status;
    if (!options_parse(&doctor_command, count, arguments, &options, NULL, 0, NULL, &status))
        return status;
    print_system();
    print_variables();
    bool libraries = !hk_status_print(hk_libraries_check(), stdout);
    bool devices = check_devices();
    if (devices)
        print_cuda();
    bool training = devices && check_training();
    bool data = check_data(options.data);
    printf("\n");
    if (libraries && devices && training && data)
        printf("All is well: hocket train lenet\n");
    if (!devices)
        printf("To do: correct the environment variable named above, or unset it.\n");
    if (devices && !training)
        printf("To do: this should not happen. If HOCKET_MEMORY is set, unset it; else report it, "
               "with what is above.\n");
    if (!data)
        printf(
            "To do: sudo apt-get install dataset-fashion-mnist (Debian, Ubuntu), or put the four "
            "idx files\nof MNIST or Fashion-MNIST into a folder and name it: HOCKET_DATA_DIR=DIR, "
            "or "
            "--data DIR.\n");
    hk_runtime_deinit();
    return libraries && devices && training && data ? 0 : 1;
}

const command doctor_command = {
    .name = "doctor",
    .operands = "",
    .summary = "Says whether training would work here, and what to do where it would not.",
    .description = "Exit status 0 when it would, else 1.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
