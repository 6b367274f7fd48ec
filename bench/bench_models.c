/* Models whole: training steps, inference, memory. bench/models runs it beside PyTorch.
 *
 *     bench_models                    each of these once, briefly
 *     bench_models train MODEL        seconds of training steps
 *     bench_models infer MODEL        microseconds from the call until the scores are in host memory
 *     bench_models memory MODEL       bytes that training steps, those after --warm-up, take at most
 *
 *     --devices cpu:0,cpu:1  --batch N  --steps N  --warm-up N  --lr X  --data FOLDER
 *     --wait         after each step; default: at the end
 *     --calls        issue the calls of each step anew; default: capture the first, replay the others
 *     --shuffle      else samples come in the order of the files
 *     --init FOLDER  initial values, p0.bin … ; --dump FOLDER writes them and does no more
 *     --losses FILE  the mean loss of each step, one a line, and last that of inference on the first batch
 *
 * MODEL: mlp, lenet, resnet18 (models.h). One line of JSON for each part on stdout. */
#include "bench_util.h"
#include "models.h"
#include "resident.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 8, MAX_STEPS = 1000000, CLASSES = 10 };

typedef struct settings {
    const model_kind *kind;
    const char *devices, *data, *init, *dump, *losses;
    int64_t batch;
    int steps, warm_up;
    double lr;
    bool wait, shuffle, calls;
} settings;

typedef struct training {
    const settings *settings;
    int device_count;
    hk_device devices[MAX_DEVICES];
    model models[MAX_DEVICES];
    hk_data_set *set;
    hk_loader *loader;
    hk_array *losses[MAX_DEVICES]; /* each step's sum, counted */
    int64_t *samples;              /* of each step */
    int issued;
    hk_graph *graph; /* counted; of a step, or of inference; NULL: not captured yet */
} training;

/* ---- training ------------------------------------------------------------------------------------------ */

static bool find_devices(training *self)
{
    char names[256];
    int commas = 0;
    snprintf(names, sizeof names, "%s", self->settings->devices);
    for (const char *at = names; *at; at++)
        commas += *at == ',';
    /* cpu:0,cpu:1 split the cores; nothing has started the runtime then */
    if (commas &&
        hk_status_print(hk_runtime_init(&(hk_runtime_options){.cpu_devices = commas + 1}), stderr))
        return false;
    for (char *rest = names, *name;
         (name = strsep(&rest, ",")) && self->device_count < MAX_DEVICES;) {
        hk_device device = hk_device_named(name);
        if (hk_status_print(hk_device_status(device), stderr))
            return false;
        self->devices[self->device_count++] = device;
    }
    return true;
}

/* Devices and data. */
static bool training_open(training *self, const settings *with)
{
    self->settings = with;
    if (!find_devices(self))
        return false;
    self->set = hk_data_set_open(with->data, HK_DATA_TRAIN, NULL);
    self->loader =
        hk_loader_create(self->set, &(hk_loader_options){.batch_size = with->batch,
                                                         .shuffle = with->shuffle,
                                                         .drop_last = true,
                                                         .devices = self->devices,
                                                         .device_count = self->device_count});
    return !hk_status_print(hk_loader_status(self->loader), stderr);
}

/* Models, and room for results. */
static bool training_build(training *self)
{
    HK_SCOPE;
    const int steps = self->settings->warm_up + self->settings->steps;
    self->samples = calloc((size_t)steps, sizeof *self->samples);
    for (int d = 0; d < self->device_count; d++) {
        if (!model_init(&self->models[d], self->settings->kind, self->devices[d],
                        self->settings->init))
            return false;
        self->losses[d] = hk_take(hk_zeros(hk_shape(steps), HK_F32, self->devices[d]));
    }
    return self->samples != NULL;
}

static void training_close(training *self)
{
    for (int d = 0; d < self->device_count; d++) {
        model_deinit(&self->models[d]);
        hk_array_release(self->losses[d]);
    }
    hk_graph_release(self->graph);
    hk_loader_release(self->loader);
    hk_data_set_release(self->set);
    free(self->samples);
}

/* Processor time of the process, in seconds: says little of waiting, and little of what else runs. */
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What a step reads and writes that is not the model's, of each device. */
enum { IMAGES, LABELS, LOSS, STEP_ARRAYS };

static void issue_step(training *self, hk_array *const *arrays, double samples)
{
    HK_SCOPE;
    hk_array *loss[MAX_DEVICES], *grads[MAX_DEVICES];
    const int n = self->device_count;
    hk_record_begin();
    for (int d = 0; d < n; d++) {
        hk_array *const *its = arrays + d * STEP_ARRAYS;
        loss[d] = hk_softmax_cross_entropy(
            self->settings->kind->forward(&self->models[d], its[IMAGES], true), its[LABELS]);
    }
    hk_record_end();
    for (int d = 0; d < n; d++)
        hk_backward(loss[d]);
    for (int i = 0; i < self->models[0].count && n > 1; i++) {
        for (int d = 0; d < n; d++)
            grads[d] = hk_grad(self->models[d].params[i]);
        hk_all_reduce(grads, n);
    }
    for (int d = 0; d < n; d++) {
        hk_sgd(self->models[d].params, self->models[d].count,
               &(hk_sgd_options){.lr = self->settings->lr, .batch = samples});
        hk_assign(arrays[d * STEP_ARRAYS + LOSS], hk_sum(loss[d], NULL));
    }
}

/* Issues one step, or replays the first. Batches are all of one size. */
static void training_step(training *self)
{
    HK_SCOPE;
    hk_array *images[MAX_DEVICES], *labels[MAX_DEVICES], *arrays[MAX_DEVICES * STEP_ARRAYS];
    const int n = self->device_count, step = self->issued++;
    while (!hk_loader_next(self->loader, images, labels))
        ; /* the next epoch */
    self->samples[step] = hk_loader_batch_samples(self->loader);
    for (int d = 0; d < n; d++) {
        hk_array **its = arrays + d * STEP_ARRAYS;
        its[IMAGES] = images[d];
        its[LABELS] = labels[d];
        its[LOSS] = hk_index(self->losses[d], 0, step);
    }
    if (self->graph) {
        hk_replay(self->graph, arrays, n * STEP_ARRAYS);
        return;
    }
    if (!self->settings->calls)
        hk_capture_begin(arrays, n * STEP_ARRAYS);
    issue_step(self, arrays, (double)self->samples[step]);
    if (!self->settings->calls)
        self->graph = hk_capture_end(NULL);
}

/* Mean loss of a step, of all devices. Blocks. */
static double step_loss(const training *self, int step)
{
    HK_SCOPE;
    double sum = 0;
    for (int d = 0; d < self->device_count; d++)
        sum += hk_item(hk_index(self->losses[d], 0, step), NULL);
    return sum / (double)self->samples[step];
}

/* Mean loss of the first batch, by inference on the first device. Blocks. */
static double inference_loss(training *self)
{
    HK_SCOPE;
    hk_array *images[MAX_DEVICES], *labels[MAX_DEVICES];
    hk_loader_start_epoch(self->loader, 0);
    hk_loader_next(self->loader, images, labels);
    hk_array *scores = self->settings->kind->forward(&self->models[0], images[0], false);
    return hk_item(hk_mean(hk_softmax_cross_entropy(scores, labels[0]), NULL), NULL);
}

static bool write_losses(training *self)
{
    FILE *file = fopen(self->settings->losses, "w");
    for (int i = 0; file && i < self->issued; i++)
        fprintf(file, "%.9g\n", step_loss(self, i));
    if (file)
        fprintf(file, "%.9g\n", inference_loss(self));
    if (!file || fclose(file)) {
        perror(self->settings->losses);
        return false;
    }
    return true;
}

static int run_train(const settings *with)
{
    training self = {0};
    double *seconds = calloc((size_t)with->steps, sizeof *seconds), total = 0, processor_total = 0;
    bool ok = training_open(&self, with) && training_build(&self) && seconds;
    if (ok && with->dump) {
        ok = model_dump(&self.models[0], with->dump);
    } else if (ok) {
        for (int i = 0; i < with->warm_up; i++)
            training_step(&self);
        ok = !hk_status_print(hk_wait_all(), stderr);
        const double begun = bench_seconds(), processor = processor_seconds();
        double last = begun;
        for (int i = 0; i < with->steps && ok; i++) {
            training_step(&self);
            if (with->wait || i + 1 == with->steps)
                ok = !hk_status_print(hk_wait_all(), stderr);
            seconds[i] = bench_seconds() - last;
            last += seconds[i];
        }
        total = last - begun;
        processor_total = processor_seconds() - processor;
        ok = ok && (!with->losses || write_losses(&self));
    }
    if (ok && !with->dump) {
        const bench_spread each = bench_spread_of(seconds, with->steps);
        printf("{\"part\": \"train\", \"model\": \"%s\", \"devices\": \"%s\", \"batch\": %lld, "
               "\"steps\": %d, \"seconds\": %.6f, \"processor_seconds\": %.6f",
               with->kind->name, with->devices, (long long)with->batch, with->steps, total,
               processor_total);
        if (with->wait)
            printf(", \"step_seconds\": {\"median\": %.6f, \"min\": %.6f, \"max\": %.6f}",
                   each.median, each.min, each.max);
        printf("}\n");
    }
    training_close(&self);
    free(seconds);
    return !ok;
}

/* ---- inference ----------------------------------------------------------------------------------------- */

/* The scores, counted; nothing else is left. */
static hk_array *infer(const training *self, hk_array *images)
{
    HK_SCOPE;
    return hk_take(self->settings->kind->forward(&self->models[0], images, false));
}

static int run_infer(const settings *with)
{
    HK_SCOPE;
    training self = {0};
    hk_array *images[MAX_DEVICES], *labels[MAX_DEVICES], *result = NULL;
    double *micros = calloc((size_t)with->steps, sizeof *micros);
    float *scores = calloc((size_t)with->batch * CLASSES, sizeof *scores);
    bool ok = training_open(&self, with) && training_build(&self) && micros && scores;
    if (ok)
        hk_loader_next(self.loader, images, labels);
    ok = ok && !hk_status_print(hk_wait_all(), stderr);
    for (int i = -with->warm_up; i < with->steps && ok; i++) {
        HK_SCOPE;
        if (!with->calls && !self.graph) {
            hk_capture_begin(images, 1);
            result = infer(&self, images[0]);
            self.graph = hk_capture_end(NULL);
        }
        const double begun = bench_seconds();
        if (self.graph)
            hk_replay(self.graph, images, 1);
        const hk_status *status =
            hk_to_host(self.graph ? result : with->kind->forward(&self.models[0], images[0], false),
                       scores, (size_t)with->batch * CLASSES * sizeof *scores);
        const double end = bench_seconds();
        ok = !hk_status_print(status, stderr);
        if (i >= 0)
            micros[i] = 1e6 * (end - begun);
    }
    if (ok) {
        const bench_spread spread = bench_spread_of(micros, with->steps);
        printf("{\"part\": \"infer\", \"model\": \"%s\", \"batch\": %lld, \"runs\": %d, \"us\": "
               "{\"median\": %.2f, \"min\": %.2f, \"p99\": %.2f, \"max\": %.2f}}\n",
               with->kind->name, (long long)with->batch, with->steps, spread.median, spread.min,
               micros[(with->steps - 1) * 99LL / 100], spread.max);
    }
    hk_array_release(result);
    training_close(&self);
    free(micros);
    free(scores);
    return !ok;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static int run_memory(const settings *with)
{
    training self = {0};
    bool ok = training_open(&self, with) && forget_peak();
    const int64_t before = status_bytes("VmRSS");
    ok = ok && training_build(&self);
    for (int i = 0; i < with->warm_up && ok; i++)
        training_step(&self);
    if (with->warm_up && ok)
        ok = !hk_status_print(hk_wait_all(), stderr) && forget_peak();
    for (int i = 0; i < with->steps && ok; i++) {
        training_step(&self);
        if (with->wait || i + 1 == with->steps)
            ok = !hk_status_print(hk_wait_all(), stderr);
    }
    if (ok)
        printf("{\"part\": \"memory\", \"model\": \"%s\", \"batch\": %lld, \"steps\": %d, "
               "\"before_bytes\": %lld, \"resident_bytes\": %lld, \"device_peak_bytes\": %lld}\n",
               with->kind->name, (long long)with->batch, with->steps, (long long)before,
               (long long)(status_bytes("VmHWM") - before),
               (long long)hk_device_get_memory(self.devices[0]).peak_bytes);
    training_close(&self);
    return !ok;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int usage(const char *why, const char *what)
{
    fprintf(
        stderr,
        "bench_models: %s%s\n"
        "usage: bench_models [train|infer|memory mlp|lenet|resnet18 [--devices LIST] [--batch N] "
        "[--steps N] [--warm-up N] [--lr X] [--wait] [--calls] [--shuffle] [--data FOLDER] [--init "
        "FOLDER] "
        "[--dump FOLDER] [--losses FILE]]\n",
        why, what);
    return 2;
}

/* Whether text is a number from low to high, which goes to *value. */
static bool number(const char *text, double low, double high, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && *value >= low && *value <= high;
}

static int run(int argc, char **argv)
{
    settings at = {.devices = "cpu:0", .batch = 256, .steps = 100, .lr = 0.1};
    const struct {
        const char *name;
        const char **text;
    } texts[] = {{"--devices", &at.devices},
                 {"--data", &at.data},
                 {"--init", &at.init},
                 {"--dump", &at.dump},
                 {"--losses", &at.losses}};
    const struct {
        const char *name;
        double low, high;
    } numbers[] = {{"--batch", 1, 60000},
                   {"--steps", 1, MAX_STEPS},
                   {"--warm-up", 0, MAX_STEPS},
                   {"--lr", 0, 1e9}};
    if (argc < 3 || !(at.kind = model_find(argv[2])))
        return usage("there is no model ", argc < 3 ? "named" : argv[2]);
    for (int i = 3; i < argc; i++) {
        const char *text = i + 1 < argc ? argv[i + 1] : "";
        bool known = true;
        size_t t = 0, n = 0;
        double value = 0;
        while (t < sizeof texts / sizeof *texts && strcmp(texts[t].name, argv[i]) != 0)
            t++;
        while (n < sizeof numbers / sizeof *numbers && strcmp(numbers[n].name, argv[i]) != 0)
            n++;
        if (!strcmp(argv[i], "--wait"))
            at.wait = true;
        else if (!strcmp(argv[i], "--calls"))
            at.calls = true;
        else if (!strcmp(argv[i], "--shuffle"))
            at.shuffle = true;
        else if (t < sizeof texts / sizeof *texts && *text)
            *texts[t].text = argv[++i];
        else if (n < sizeof numbers / sizeof *numbers &&
                 number(text, numbers[n].low, numbers[n].high, &value))
            i++;
        else
            known = false;
        if (!known)
            return usage("not an option with a value that it takes: ", argv[i]);
        if (n == 0)
            at.batch = (int64_t)value;
        else if (n == 1)
            at.steps = (int)value;
        else if (n == 2)
            at.warm_up = (int)value;
        else if (n == 3)
            at.lr = value;
    }
    if (!strcmp(argv[1], "train"))
        return run_train(&at);
    if (!strcmp(argv[1], "infer"))
        return run_infer(&at);
    if (!strcmp(argv[1], "memory"))
        return run_memory(&at);
    return usage("there is no part ", argv[1]);
}

int main(int argc, char **argv)
{
    static const settings brief[] = {
        {.kind = &model_lenet,
         .devices = "cpu:0",
         .batch = 256,
         .steps = 5,
         .lr = 0.1,
         .wait = true},
        {.kind = &model_mlp,
         .devices = "cpu:0",
         .batch = 256,
         .steps = 100,
         .warm_up = 5,
         .lr = 0.1},
        {.kind = &model_resnet18,
         .devices = "cpu:0",
         .batch = 32,
         .steps = 2,
         .warm_up = 1,
         .lr = 0.1},
        {.kind = &model_lenet, .devices = "cpu:0", .batch = 1, .steps = 2000, .warm_up = 200},
    };
    if (argc > 1)
        return run(argc, argv);
    return run_memory(&brief[0]) | run_train(&brief[1]) | run_train(&brief[2]) |
           run_infer(&brief[3]);
}
