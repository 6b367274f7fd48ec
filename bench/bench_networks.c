/* Any network of examples/models/ by itself: memory, training steps, inference, losses. bench/models and bench/loss_curves run it
 * beside networks_pytorch.py, which takes the same options and commands.
 *
 *     bench_networks MODEL [NAME VALUE]...
 *
 *     classes, width, depth     as in model_options
 *     batch, channels, size     of the input (batch, channels, size, size); of tokens (batch, size)
 *     optimizer, lr, momentum, nesterov, decay     sgd is hk_sgd
 *     seed                      of the initial values
 *     he 1                      weights begin as He et al. have it; default: as each layer has it
 *     double 1                  float64, of images
 *     calls 1                   issue the calls of each step; default: capture the first, replay the others
 *     exact 1                   replays give the bytes of the calls
 *     evaluate 1                train as if predicting: no dropout, batch norm by its averages
 *     device NAME               such as cuda:0; default: the one that a program gets that names none
 *     together N                training steps between one wait and the next (default 1)
 *
 * Commands come on stdin, a line each, answers go to stdout, a line of JSON each:
 *
 *     memory STEPS         bytes that making the network and so many steps take at most: of the process, or of the device's arrays
 *     train SECONDS        seconds of a step: as many as fit, after two; and their processor time, each
 *     infer SECONDS        seconds from the call until the scores of one sample are in host memory, likewise
 *     calls KIND           what a replay of train or infer does, as text; behind that command
 *     save FILE            parameters and buffers, npz: p0 …, in the order of parameters
 *     load FILE            the same back; before any step
 *     curve FILE STEPS     losses of steps on the batches of an npz (x, y, of those with pairs also w; each with a leading axis that is
 *                          gone through again and again), and last that of predicting on the first batch */
#include "bench_util.h"
#include "resident.h"

#include "models/models.h"
#include <hocket/hocket.h>

#include <stdio.h>
#include <string.h>

enum { MOST = 1024, MOST_TIMES = 100000, MOST_INPUTS = 2, PATH_BYTES = 1024 };

typedef struct settings {
    model_options model;
    int64_t batch, channels, size, seed, together;
    const char *optimizer;
    hk_device device;
    hk_optimizer_options options;
    bool he, double_precision, calls, exact, evaluate;
} settings;

static const settings default_settings = {.model = {.classes = 10},
                                          .batch = 16,
                                          .channels = 1,
                                          .size = 28,
                                          .together = 1,
                                          .optimizer = "sgd",
                                          .options = {.lr = 0.01}};

typedef struct network {
    const model_kind *kind;
    settings with;
    hk_module *module;
    int input_count;
    hk_array *inputs[MOST_INPUTS], *labels; /* of a batch, counted */
    hk_array *params[MOST];
    int param_count;
    hk_optimizer *optimizer;
    hk_graph *step, *predict; /* counted, once captured */
    hk_array *loss, *scores;  /* counted, what they write */
} network;

/* ---- making it ----------------------------------------------------------------------------------------- */

static void make_inputs(network *self)
{
    HK_SCOPE;
    const settings *with = &self->with;
    const int64_t n = with->batch, side = with->size;
    const bool language = self->kind->is_language;
    const hk_device device = with->device;
    self->input_count = self->kind->has_pairs ? 2 : 1;
    for (int i = 0; i < self->input_count; i++)
        self->inputs[i] = hk_take(
            language ? hk_random_int(0, with->model.classes, hk_shape(n, side), HK_I32, device)
                     : hk_random_uniform(hk_shape(n, with->channels, side, side),
                                         with->double_precision ? HK_F64 : HK_F32, device));
    self->labels = hk_take(
        hk_random_int(0, with->model.classes, hk_shape(language ? n * side : n), HK_I32, device));
}

/* (rows, classes): a row for each label. */
static hk_array *scores_of(const network *self, hk_array *const *inputs)
{
    hk_array *scores = hk_forward_all(self->module, inputs, self->input_count);
    return self->kind->is_language ? hk_reshape(scores, hk_shape(-1, self->with.model.classes))
                                   : scores;
}

/* A first call on one sample makes the parameters. */
static bool make_module(network *self)
{
    HK_SCOPE;
    hk_array *first[MOST_INPUTS];
    self->module =
        self->kind ? self->kind->create(&self->with.model) : model_seq2seq(&self->with.model);
    for (int i = 0; i < self->input_count; i++)
        first[i] = hk_slice(self->inputs[i], 0, 0, 1);
    if (self->with.he)
        hk_module_initialize(self->module, &(hk_init){.kind = HK_INIT_HE_NORMAL});
    hk_module_set_training(self->module, false);
    const hk_status *status = hk_wait(scores_of(self, first));
    hk_module_set_training(self->module, !self->with.evaluate);
    self->param_count = hk_module_parameters(self->module, self->params, MOST);
    return !hk_status_print(status, stderr) && self->param_count < MOST;
}

static bool make(network *self)
{
    if (self->module)
        return true;
    hk_seed((uint64_t)self->with.seed);
    make_inputs(self);
    if (!make_module(self))
        return false;
    if (strcmp(self->with.optimizer, "sgd") != 0)
        self->optimizer = hk_optimizer_create(self->with.optimizer, self->params, self->param_count,
                                              &self->with.options);
    return !self->optimizer || !hk_status_print(hk_optimizer_status(self->optimizer), stderr);
}

static void unmake(network *self)
{
    hk_graph_release(self->step);
    hk_graph_release(self->predict);
    hk_array_release(self->loss);
    hk_array_release(self->scores);
    hk_optimizer_release(self->optimizer);
    hk_module_release(self->module);
    for (int i = 0; i < self->input_count; i++)
        hk_array_release(self->inputs[i]);
    hk_array_release(self->labels);
}

/* ---- steps ----------------------------------------------------------------------------------------------- */

/* The mean loss, counted. */
static hk_array *issue_step(network *self, hk_array *const *inputs, hk_array *labels)
{
    HK_SCOPE;
    const hk_optimizer_options *of = &self->with.options;
    hk_record_begin();
    hk_array *loss = hk_mean(hk_softmax_cross_entropy(scores_of(self, inputs), labels), NULL);
    hk_record_end();
    hk_backward(loss);
    if (self->optimizer)
        hk_optimizer_step(self->optimizer);
    else
        hk_sgd(self->params, self->param_count,
               &(hk_sgd_options){.lr = of->lr, .weight_decay = of->weight_decay});
    return hk_take(loss);
}

/* Inputs and labels side by side, as a capture binds them. */
static void bind(hk_array **bound, const network *self, hk_array *const *inputs, hk_array *labels)
{
    memcpy(bound, inputs, (size_t)self->input_count * sizeof *bound);
    bound[self->input_count] = labels;
}

/* The loss is in self->loss, until the next one. */
static void step(network *self, hk_array *const *inputs, hk_array *labels)
{
    hk_array *bound[MOST_INPUTS + 1];
    bind(bound, self, inputs, labels);
    if (self->step) {
        hk_replay(self->step, bound, self->input_count + 1);
        return;
    }
    hk_array_release(self->loss);
    if (!self->with.calls)
        hk_capture_begin(bound, self->input_count + 1);
    self->loss = issue_step(self, inputs, labels);
    if (!self->with.calls)
        self->step = hk_capture_end(&(hk_capture_options){.exact = self->with.exact});
}

static hk_array *predict_one(network *self, hk_array *const *inputs)
{
    HK_SCOPE;
    return hk_take(scores_of(self, inputs));
}

static bool step_and_wait(network *self)
{
    step(self, self->inputs, self->labels);
    return !hk_status_print(hk_wait_all(), stderr);
}

/* ---- commands -------------------------------------------------------------------------------------------- */

/* Steps of small networks: the runtime and its threads are there, and the code that most networks need is in memory. */
static bool warm_up(void)
{
    static const char *const names[] = {"lenet5", "gru"};
    static network small; /* large */
    bool is_good = true;
    for (int i = 0; i < 2 && is_good; i++) {
        small = (network){.kind = model_find(names[i]), .with = default_settings};
        small.with.model.width = 0.1;
        small.with.batch = 2;
        is_good = make(&small) && step_and_wait(&small);
        unmake(&small);
    }
    return is_good;
}

/* What the device's pool keeps of the warm-up counts like memory that is new, for arrays are made in it. */
static bool memory(network *self, int steps)
{
    if (!warm_up())
        return false;
    settle_memory();
    if (!forget_peak())
        return false;
    const int64_t before =
        status_bytes("VmRSS") - (int64_t)hk_device_get_memory(hk_device_default()).cached_bytes;
    bool is_good = make(self);
    for (int i = 0; i < steps && is_good; i++)
        is_good = step_and_wait(self);
    const int64_t own = self->with.device.handle
                            ? (int64_t)hk_device_get_memory(self->with.device).peak_bytes
                            : status_bytes("VmHWM") - before;
    printf("{\"bytes\": %lld}\n", (long long)own);
    return is_good;
}

/* Of all threads of the process. */
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* processor: seconds of all of them together. */
static bool print_times(double *times, int count, double processor)
{
    const bench_spread spread = bench_spread_of(times, count);
    printf(
        "{\"seconds\": %.9g, \"min\": %.9g, \"max\": %.9g, \"processor\": %.9g, \"count\": %d}\n",
        spread.median, spread.min, spread.max, processor / count, count);
    return true;
}

static bool train(network *self, double seconds)
{
    static double times[MOST_TIMES];
    bool is_good = make(self) && step_and_wait(self) && step_and_wait(self);
    const double begun = bench_seconds(), processor = processor_seconds();
    int count = 0;
    do {
        const double at = bench_seconds();
        for (int64_t i = 1; i < self->with.together; i++)
            step(self, self->inputs, self->labels);
        is_good = is_good && step_and_wait(self);
        times[count++] = (bench_seconds() - at) / (double)self->with.together;
    } while (is_good && count < MOST_TIMES && bench_seconds() - begun < seconds);
    return is_good && print_times(times, count, processor_seconds() - processor);
}

static bool infer(network *self, double seconds)
{
    HK_SCOPE;
    static double times[MOST_TIMES];
    hk_array *first[MOST_INPUTS];
    if (!make(self))
        return false;
    for (int i = 0; i < self->input_count; i++)
        first[i] = hk_slice(self->inputs[i], 0, 0, 1);
    hk_module_set_training(self->module, false);
    hk_wait_all();
    if (!self->predict) {
        hk_capture_begin(first, self->input_count);
        self->scores = predict_one(self, first);
        self->predict = hk_capture_end(NULL);
    }
    const size_t bytes =
        (size_t)hk_size(self->scores) * hk_dtype_bytes(hk_array_dtype(self->scores));
    float *out = malloc(bytes);
    bool is_good = out != NULL;
    double begun = 0, processor = 0;
    int count = -2;
    do {
        const double at = bench_seconds();
        hk_replay(self->predict, first, self->input_count);
        is_good = is_good && !hk_status_print(hk_to_host(self->scores, out, bytes), stderr);
        if (count >= 0)
            times[count] = bench_seconds() - at;
        else
            begun = bench_seconds(), processor = processor_seconds();
    } while (is_good && ++count < MOST_TIMES && (count < 1 || bench_seconds() - begun < seconds));
    processor = processor_seconds() - processor;
    free(out);
    hk_module_set_training(self->module, !self->with.evaluate);
    return is_good && print_times(times, count, processor);
}

/* Parameters by number. */
static bool save(network *self, const char *path)
{
    static char names[MOST][16];
    static hk_save_entry entries[MOST];
    if (!make(self))
        return false;
    for (int i = 0; i < self->param_count; i++) {
        snprintf(names[i], sizeof names[i], "p%d", i);
        entries[i] = (hk_save_entry){names[i], self->params[i]};
    }
    printf("{}\n");
    return !hk_status_print(hk_save(path, entries, (size_t)self->param_count, NULL), stderr);
}

static bool load(network *self, const char *path)
{
    HK_SCOPE;
    hk_archive *archive = hk_load(path, self->with.device, NULL);
    bool is_good = make(self);
    for (int i = 0; i < self->param_count && is_good; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        hk_assign(self->params[i], hk_archive_get(archive, name));
        is_good = !hk_status_print(hk_wait(self->params[i]), stderr);
    }
    hk_archive_release(archive);
    printf("{}\n");
    return is_good;
}

/* Batch i of what the archive has under that name. */
static hk_array *batch_of(hk_array *all, int i)
{
    return hk_index(all, 0, i % hk_dim(all, 0));
}

static double loss_of_prediction(network *self, hk_array *const *inputs, hk_array *labels)
{
    HK_SCOPE;
    hk_module_set_training(self->module, false);
    const double loss =
        hk_item(hk_mean(hk_softmax_cross_entropy(scores_of(self, inputs), labels), NULL), NULL);
    hk_module_set_training(self->module, !self->with.evaluate);
    return loss;
}

static bool curve(network *self, const char *path, int steps)
{
    HK_SCOPE;
    hk_archive *archive = hk_load(path, self->with.device, NULL);
    hk_array *x = hk_archive_get(archive, "x"), *y = hk_archive_get(archive, "y");
    hk_array *w = self->kind->has_pairs ? hk_archive_get(archive, "w") : x;
    bool is_good = make(self);
    printf("{\"losses\": [");
    for (int i = 0; i <= steps && is_good; i++) {
        HK_SCOPE;
        const int at = i < steps ? i : 0;
        hk_array *inputs[MOST_INPUTS] = {batch_of(x, at), batch_of(w, at)};
        if (i < steps)
            step(self, inputs, batch_of(y, at));
        const hk_status *status = hk_wait_all();
        is_good = !hk_status_print(status, stderr);
        printf("%.17g%s",
               i < steps ? hk_item(self->loss, NULL)
                         : loss_of_prediction(self, inputs, batch_of(y, at)),
               i < steps ? ", " : "");
    }
    printf("]}\n");
    hk_archive_release(archive);
    return is_good;
}

static bool print_calls(const hk_graph *graph)
{
    char *text = hk_graph_to_string(graph);
    printf("%s\n", text ? text : "");
    free(text);
    return text;
}

static bool obey(network *self, const char *line)
{
    char what[16], path[PATH_BYTES];
    double value = 0;
    int steps = 0;
    if (sscanf(line, "curve %1023s %d", path, &steps) == 2)
        return curve(self, path, steps);
    if (sscanf(line, "save %1023s", path) == 1)
        return save(self, path);
    if (sscanf(line, "load %1023s", path) == 1)
        return load(self, path);
    if (sscanf(line, "calls %15s", what) == 1)
        return print_calls(strcmp(what, "train") == 0 ? self->step : self->predict);
    if (sscanf(line, "%15s %lf", what, &value) == 2 && !strcmp(what, "memory"))
        return memory(self, (int)value);
    if (!strcmp(what, "train"))
        return train(self, value);
    if (!strcmp(what, "infer"))
        return infer(self, value);
    fprintf(stderr, "bench_networks: not a command: %s", line);
    return false;
}

/* ---- the program ----------------------------------------------------------------------------------------- */

static bool set(settings *with, const char *name, const char *value)
{
    const double number = strtod(value, NULL);
    const struct {
        const char *name;
        int64_t *integer;
        double *real;
        bool *flag;
    } rows[] = {{"classes", &with->model.classes, NULL, NULL},
                {"depth", &with->model.depth, NULL, NULL},
                {"batch", &with->batch, NULL, NULL},
                {"channels", &with->channels, NULL, NULL},
                {"size", &with->size, NULL, NULL},
                {"seed", &with->seed, NULL, NULL},
                {"together", &with->together, NULL, NULL},
                {"width", NULL, &with->model.width, NULL},
                {"lr", NULL, &with->options.lr, NULL},
                {"momentum", NULL, &with->options.momentum, NULL},
                {"decay", NULL, &with->options.weight_decay, NULL},
                {"nesterov", NULL, NULL, &with->options.nesterov},
                {"he", NULL, NULL, &with->he},
                {"double", NULL, NULL, &with->double_precision},
                {"calls", NULL, NULL, &with->calls},
                {"exact", NULL, NULL, &with->exact},
                {"evaluate", NULL, NULL, &with->evaluate}};
    if (!strcmp(name, "optimizer"))
        with->optimizer = value;
    else if (!strcmp(name, "device"))
        with->device = hk_device_named(value);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        if (rows[i].integer)
            *rows[i].integer = (int64_t)number;
        else if (rows[i].real)
            *rows[i].real = number;
        else
            *rows[i].flag = number != 0;
        return true;
    }
    return !strcmp(name, "optimizer") || !strcmp(name, "device");
}

int main(int argc, char **argv)
{
    static network self; /* large */
    static char line[2 * PATH_BYTES];
    bool is_good = argc >= 2;
    self.with = default_settings;
    self.kind = is_good ? model_find(argv[1]) : NULL;
    is_good = self.kind != NULL;
    for (int i = 2; i < argc && is_good; i += 2)
        is_good = i + 1 < argc && set(&self.with, argv[i], argv[i + 1]);
    if (!is_good)
        fprintf(stderr, "bench_networks: no such model, or option; see the head of its source\n");
    while (is_good && fgets(line, sizeof line, stdin)) {
        is_good = obey(&self, line);
        fflush(stdout);
    }
    unmake(&self);
    hk_runtime_deinit();
    return !is_good;
}
