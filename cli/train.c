/* hocket train: networks on several devices. */
#include "commands.h"
#include "device_list.h"
#include "interrupt.h"
#include "output_file.h"
#include "saved_training.h"
#include "train_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Steps that are issued before the losses of the oldest are read: enough that no device runs dry. Several at a time, for
 * this thread takes a core from a device whenever it wakes. */
enum { LOOK_BACK = 20, READ_STEPS = 5, DEVICES_TEXT_BYTES = MAX_DEVICES * (DEVICE_NAME_BYTES + 2) };

typedef struct train_options {
    const char *devices, *data, *plot, *trace, *init, *dump_init, *loss_log, *order_log;
    const char *text, *optimizer, *schedule, *save, *resume;
    int64_t batch_size, epochs, seed, steps, size, length; /* 0: not given */
    double lr, width;                                      /* lr -1: not given */
    bool json, no_shuffle, no_capture;
} train_options;

static const char *schedule_at(int index)
{
    static const char *const names[] = {"constant", "cosine", "step", "warm-up", NULL};
    return names[index]; /* in the order of lr_schedule */
}

#define FLAG(name, field, help)        OPTION_FLAG_ROW(name, train_options, field, help)
#define TEXT(name, field, value, help) OPTION_TEXT_ROW(name, train_options, field, value, help)
#define INT(name, field, low, high, help)                                                          \
    OPTION_INT_ROW(name, train_options, field, low, high, help)
#define NUMBER(name, field, low, high, help)                                                       \
    OPTION_NUMBER_ROW(name, train_options, field, low, high, help)

/* clang-format off */
static const option_row rows[] = {
    TEXT("devices", devices, "LIST",
         "devices to train on, such as cpu:0,cpu:1 or sim:0,sim:1: as many are\n"
         "made as it takes; CPU devices split the cores, simulated ones are of\n"
         "the default kind or as HOCKET_SIM says (default: the CPU devices that\n"
         "HOCKET_CPUS says, else cpu:0 with all cores)"),
    INT("batch-size", batch_size, 1, 1e9,
        "samples of a batch, on all devices together (default 256; texts: 64)"),
    OPTION_WORD_ROW("optimizer", train_options, optimizer, hk_optimizer_method_at,
                    "\n(default sgd: plain gradient descent)"),
    NUMBER("lr", lr, 0, 1e6,
           "learning rate (default: lenet 0.2; of sgd what the model does well\n"
           "with; of others theirs)"),
    OPTION_WORD_ROW("lr-schedule", train_options, schedule, schedule_at,
                    "\n(default constant; cosine: to 0; step: a tenth after each third of all\n"
                    "steps; warm-up: a line up, in the first twentieth)"),
    INT("epochs", epochs, 1, 100000, "passes over the training part (default 10)"),
    INT("seed", seed, 0, 9007199254740991.0,
        "of the initial parameters and of the order of samples (default 0)"),
    TEXT("data", data, "DIR",
         "folder with the four idx files of MNIST, plain or .gz (default:\n"
         "HOCKET_DATA_DIR, else Debian's package dataset-fashion-mnist)"),
    TEXT("save", save, "FILE",
         "write the whole training there after each epoch, and when it is\n"
         "interrupted, as safetensors"),
    TEXT("resume", resume, "FILE", "go on from such a file, as if it had never stopped: with its seed, and\n"
         "its learning rate unless --lr says another"),
    OPTION_HEADING("models but lenet"),
    INT("size", size, 1, 4096,
        "rows and columns that images are resized to (default: those of hocket\n"
        "models)"),
    NUMBER("width", width, 0.01, 1,
           "how wide the network is beside the published one (default 1)"),
    TEXT("text", text, "FILE",
         "what language models read: letters, and blanks for the rest; the last\n"
         "tenth is the test part (default " DEFAULT_TEXT ")"),
    INT("length", length, 1, 4096, "letters of a sample (default 32)"),
    OPTION_HEADING("output"),
    FLAG("json", json,
         "one JSON object per epoch on standard output, all else on\n"
         "standard error"),
    TEXT("plot", plot, "FILE", "write the curves there, as SVG"),
    TEXT("trace", trace, "FILE",
         "record what ran where and when, and write it there, for hocket\n"
         "trace FILE, Perfetto or chrome://tracing"),
    OPTION_HEADING("to compare runs"),
    INT("steps", steps, 1, 1e9,
        "stop after N steps in all; with --resume those that FILE has done count"),
    FLAG("no-shuffle", no_shuffle, "take the samples in the order of the files"),
    FLAG("no-capture", no_capture, "issue the calls of every step, instead of replaying the first one's"),
    TEXT("loss-log", loss_log, "FILE", "write the mean loss of each step there, one a line"),
    TEXT("order-log", order_log, "FILE",
         "write the samples of each epoch there, in their order: int64 indices\n"
         "into the training part, of this machine's byte order"),
    TEXT("init", init, "DIR",
         "begin with the parameters in DIR/p0.bin to p7.bin, raw float32,\n"
         "little-endian, C order: conv1.weight (20,1,3,3), conv1.bias (20),\n"
         "conv2.weight (50,20,5,5), conv2.bias (50), fc1.weight (128,800),\n"
         "fc1.bias (128), fc2.weight (10,128), fc2.bias (10); or book: drawn as the\n"
         "book does, normal with deviation 0.01, which learns from epoch 2 on\n"
         "(default: Glorot's uniform ones)"),
    TEXT("dump-init", dump_init, "DIR", "write the initial parameters there, like that"),
};
/* clang-format on */

typedef struct training {
    train_options options;
    const char *name;          /* of what is trained */
    bool has_lr, has_seed;     /* they were given */
    const model_kind *network; /* NULL: lenet */
    model_options model;       /* how it is made */
    lr_schedule schedule;
    trainer trainer;
    training_data data;
    train_report report;
    char devices_text[DEVICES_TEXT_BYTES]; /* "cpu:0, cpu:1" */
    char ranks_text[32];                   /* " on each of 4 ranks", or "" */
    bool is_simulated;                     /* some of them are */
    FILE *plot, *loss_log, *order_log;
    bool is_silent;       /* another rank speaks */
    bool is_recording;    /* a trace */
    epoch_row *epochs;    /* epoch_count of them are done */
    int64_t sample_count; /* of the training part */
    int64_t first_epoch;  /* that this run does, from 0 */
    int64_t epoch_count, whole_epochs;
    int64_t step_count; /* of this run and those that it goes on from */
    double whole_seconds;
} training;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- one epoch ------------------------------------------------------------------------------------- */

/* Prints a failure, below no bar. True when there was none. */
static bool good(training *self, const hk_status *status)
{
    if (hk_ok(status))
        return true;
    train_report_clear(&self->report);
    hk_status_print(status, stderr);
    return false;
}

static bool read_step(training *self)
{
    double loss;
    if (!good(self, trainer_read_step(&self->trainer, &loss)))
        return false;
    if (self->loss_log)
        fprintf(self->loss_log, "%.9g\n", loss);
    return true;
}

static bool may_step(const training *self)
{
    return !trainer_signal(&self->trainer) &&
           (!self->options.steps || self->step_count < self->options.steps);
}

static void log_order(training *self)
{
    const int64_t *order = hk_loader_order(self->trainer.train);
    for (int64_t i = 0; i < self->sample_count; i++)
        fwrite(order ? &order[i] : &i, sizeof i, 1, self->order_log);
}

/* Issues the steps of an epoch; looks at losses some steps back, so that it never runs far ahead of a
 * failure, and waits for the end of what it issued. False when something failed. */
static bool train_epoch(training *self, epoch_row *row)
{
    trainer *steps = &self->trainer;
    double start = now();
    trainer_start_epoch(steps, row->epoch - 1);
    if (self->order_log)
        log_order(self);
    while (may_step(self) && trainer_step(steps)) {
        self->step_count++;
        if (steps->issued - steps->read <= LOOK_BACK)
            continue;
        trainer_wait(steps, READ_STEPS);
        for (int i = 0; i < READ_STEPS; i++)
            if (!read_step(self))
                return false;
        double time = now();
        row->steps = steps->read;
        row->samples = steps->samples_read;
        row->loss = steps->loss_sum / (double)steps->samples_read;
        row->seconds = time - start;
        train_report_step(&self->report, row, time);
    }
    while (steps->read < steps->issued)
        if (!read_step(self))
            return false;
    if (!good(self, hk_wait_all()))
        return false;
    row->seconds = now() - start;
    row->steps = steps->read;
    row->samples = steps->samples_read;
    row->loss = steps->loss_sum / (double)steps->samples_read;
    return good(self, trainer_read_accuracy(steps, &row->train_accuracy));
}

/* What was trained is saved already. */
static void say_interrupted_between(const training *self)
{
    if (self->is_silent)
        return;
    if (self->epoch_count > self->first_epoch)
        fprintf(stderr, "hocket: interrupted after epoch %" PRId64 "\n", self->epoch_count);
    else
        fprintf(stderr, "hocket: interrupted before the first step\n");
}

static bool save(const training *self)
{
    return !self->options.save || saved_training_write(self->options.save, self->name,
                                                       &self->trainer, &self->data, &self->model);
}

/* Trains and tests epoch after epoch. Returns the exit status. */
static int train_epochs(training *self)
{
    const train_options *options = &self->options;
    while (self->epoch_count < options->epochs && may_step(self)) {
        epoch_row *row = &self->epochs[self->epoch_count];
        *row = (epoch_row){.epoch = self->epoch_count + 1};
        if (!train_epoch(self, row))
            return 1;
        if (!trainer_signal(&self->trainer)) {
            train_report_testing(&self->report, row->epoch);
            if (!good(self, trainer_test(&self->trainer, &row->test_accuracy)))
                return 1;
        }
        if (trainer_signal(&self->trainer)) {
            if (!self->is_silent)
                train_report_interrupted(&self->report, row);
            return save(self) ? EXIT_SIGNAL + trainer_signal(&self->trainer) : 1;
        }
        if (row->steps == self->report.steps) {
            self->whole_epochs++;
            self->whole_seconds += row->seconds;
        }
        self->epoch_count++;
        train_report_epoch(&self->report, row);
        if (!self->is_silent)
            train_report_guessing(row, hk_data_set_class_count(self->data.train), self->name,
                                  options->init);
        if (!save(self))
            return 1;
        if (!isfinite(row->loss))
            fprintf(stderr, "hocket: the loss is no number any more; make --lr smaller\n");
    }
    if (trainer_signal(&self->trainer)) {
        say_interrupted_between(self);
        return EXIT_SIGNAL + trainer_signal(&self->trainer);
    }
    train_report_end(&self->report, &self->epochs[self->epoch_count - 1], self->whole_epochs,
                     self->whole_seconds);
    return 0;
}

/* ---- before and after ------------------------------------------------------------------------------ */

static bool start_trace(training *self)
{
    const char *path = self->options.trace;
    if (path)
        self->is_recording =
            may_write("trace", path) && !hk_status_print(hk_trace_start(NULL), stderr);
    return !path || self->is_recording;
}

/* Waits for what runs, ends the recording and writes it. */
static bool write_trace(training *self)
{
    if (!self->is_recording)
        return true;
    hk_trace *trace = hk_trace_stop();
    const bool is_written =
        !hk_status_print(hk_trace_write(trace, HK_TRACE_CHROME, self->options.trace), stderr);
    hk_trace_release(trace);
    return is_written;
}

/* ---- what is trained ------------------------------------------------------------------------------- */

static bool open_data(training *self)
{
    const train_options *options = &self->options;
    const model_kind *network = self->network;
    if (network && network->has_pairs)
        return training_data_numbers(&self->data);
    if (network && network->is_language)
        return training_data_text(&self->data, options->text, options->length);
    return training_data_images(&self->data, options->data, options->size);
}

/* What the options leave open. */
static void fill_in(training *self)
{
    train_options *options = &self->options;
    const model_kind *network = self->network;
    const bool is_sgd = !options->optimizer;
    self->has_lr = options->lr >= 0;
    self->has_seed = options->seed >= 0;
    if (!self->has_seed)
        options->seed = 0;
    if (!options->batch_size)
        options->batch_size = network && network->is_language ? 64 : 256;
    if (options->lr < 0)
        options->lr = !is_sgd ? 0 : network ? network->lr : 0.2;
    else if (!is_sgd && options->lr == 0)
        options->lr = HK_ZERO; /* not the method's default */
    if (network && !options->size)
        options->size = network->size;
    if (network && !options->length)
        options->length = network->size;
    self->model = (model_options){.width = options->width, .steps = options->length};
}

static void print_head(const training *self)
{
    const train_options *options = &self->options;
    fprintf(options->json ? stderr : stdout,
            "%s on [%s]%s%s: %" PRId64 " samples of %s, batch size %" PRId64
            ", lr %g, seed %" PRId64 "%s%s%s%s\n",
            self->name, self->devices_text, self->ranks_text,
            self->is_simulated ? " (simulated)" : "", hk_data_set_size(self->data.train),
            self->data.source, options->batch_size, self->trainer.lr, options->seed,
            options->optimizer ? ", " : "", options->optimizer ? options->optimizer : "",
            options->schedule ? ", " : "", options->schedule ? options->schedule : "");
}

/* hk_sgd has its rate from the call; so where that changes, an optimiser is what steps can be captured with. */
static const char *optimizer_of(const training *self)
{
    if (!self->options.optimizer && self->schedule != LR_CONSTANT)
        return "sgd";
    return self->options.optimizer;
}

/* The seed of a training that goes on is that it began with. */
static bool take_seed(training *self)
{
    train_options *options = &self->options;
    const int64_t its = (int64_t)hk_loader_get_position(self->trainer.train).seed;
    if (options->seed != its && self->has_seed) {
        fprintf(stderr, "hocket: %s was trained with --seed %" PRId64 "; go on with that\n",
                options->resume, its);
        return false;
    }
    options->seed = its;
    return true;
}

/* False, and said, where the file of --resume has done all that is asked for. */
static bool has_work_left(const training *self)
{
    const train_options *options = &self->options;
    const bool has_epochs = self->first_epoch < options->epochs;
    if (has_epochs && (!options->steps || self->step_count < options->steps))
        return true;
    fprintf(stderr, "hocket: %s has done %" PRId64 " %s; --%s must be more\n", options->resume,
            has_epochs ? self->step_count : self->first_epoch, has_epochs ? "steps" : "epochs",
            has_epochs ? "steps" : "epochs");
    return false;
}

static bool set_up_trainer(training *self)
{
    const train_options *options = &self->options;
    const double given = options->lr;
    self->model.classes = self->data.classes;
    if (!trainer_init(&self->trainer, &(trainer_options){.network = self->network,
                                                         .size = self->model,
                                                         .optimizer = optimizer_of(self),
                                                         .schedule = self->schedule,
                                                         .epochs = options->epochs,
                                                         .train = self->data.train,
                                                         .test = self->data.test,
                                                         .batch_size = options->batch_size,
                                                         .lr = given,
                                                         .seed = (uint64_t)options->seed,
                                                         .shuffle = !options->no_shuffle,
                                                         .capture = !options->no_capture,
                                                         .group = hk_group_world(),
                                                         .init = options->init}))
        return false;
    if (options->resume && !(saved_training_read(options->resume, self->name, &self->trainer,
                                                 &self->data, self->has_lr, &self->first_epoch) &&
                             take_seed(self)))
        return false;
    self->step_count = self->trainer.steps_done;
    return has_work_left(self);
}

/* All ranks compute; the first one prints and writes. */
static void be_silent(training *self)
{
    train_options *options = &self->options;
    options->plot = options->trace = options->dump_init = options->loss_log = NULL;
    options->order_log = options->save = NULL;
    if (!freopen("/dev/null", "w", stdout))
        fclose(stdout);
}

/* False, and said, where this process should be one of many and cannot. */
static bool start_world(training *self)
{
    if (hk_status_print(hk_world_init(NULL), stderr))
        return false;
    self->is_silent = hk_world_rank() > 0;
    if (self->is_silent)
        be_silent(self);
    return true;
}

/* Devices, data, parameters. */
static bool set_up(training *self, const device_list *list)
{
    lenet *model = &self->trainer.model;
    if (!device_list_find(list, model->devices, &model->device_count) || !start_trace(self))
        return false;
    size_t used = 0;
    for (int d = 0; d < model->device_count; d++) {
        used += (size_t)snprintf(self->devices_text + used, sizeof self->devices_text - used,
                                 "%s%s", d ? ", " : "", hk_device_name(model->devices[d]));
        self->is_simulated |= hk_device_is_simulated(model->devices[d]);
    }
    if (hk_world_size() > 1)
        snprintf(self->ranks_text, sizeof self->ranks_text, " on each of %d ranks",
                 hk_world_size());
    if (!open_data(self) || !set_up_trainer(self))
        return false;
    if (!self->is_silent)
        print_head(self);
    self->sample_count = hk_data_set_size(self->data.train);
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------------- */

static int train(training *self, const device_list *list)
{
    train_options *options = &self->options;
    if (!device_list_start(list))
        return 1;
    if (!start_world(self))
        return EXIT_USAGE;
    if (options->save && !may_replace("save", options->save))
        return 1;
    if (!set_up(self, list) || !open_output("plot", options->plot, &self->plot) ||
        !open_output("loss-log", options->loss_log, &self->loss_log) ||
        !open_output("order-log", options->order_log, &self->order_log) ||
        (options->dump_init && !lenet_dump(&self->trainer.model, options->dump_init)))
        return 1;
    self->epochs = malloc((size_t)options->epochs * sizeof *self->epochs);
    if (!self->epochs) {
        fprintf(stderr, "hocket: no memory for the results of %" PRId64 " epochs\n",
                options->epochs);
        return 1;
    }
    self->report = (train_report){.json = options->json,
                                  .devices = self->devices_text,
                                  .ranks_text = self->ranks_text,
                                  .ranks = hk_world_size(),
                                  .is_simulated = self->is_simulated,
                                  .epochs = options->epochs,
                                  .steps = trainer_step_count(&self->trainer),
                                  .batch_size = options->batch_size,
                                  .seed = (uint64_t)options->seed,
                                  .lr = self->trainer.lr};
    train_report_init(&self->report);
    if (self->is_silent)
        self->report.bar = self->report.json = false;
    self->epoch_count = self->first_epoch;
    int result = train_epochs(self);
    if (self->plot) {
        char title[DEVICES_TEXT_BYTES + 96];
        snprintf(title, sizeof title, "%s on [%s]%s, batch size %" PRId64 ", lr %g",
                 self->network ? self->network->name : "LeNet", self->devices_text,
                 self->is_simulated ? " (simulated)" : "", options->batch_size, self->trainer.lr);
        curves_write(self->plot, self->epochs + self->first_epoch,
                     self->epoch_count - self->first_epoch, title);
    }
    return result;
}

/* Options that say nothing to what is trained are refused. */
static bool check_options(const training *self)
{
    const train_options *options = &self->options;
    const model_kind *network = self->network;
    const bool is_language = network && network->is_language;
    const bool reads_text = is_language && !network->has_pairs;
    const struct {
        const char *name;
        bool is_wrong;
    } checks[] = {
        {"init", network && options->init},
        {"dump-init", network && options->dump_init},
        {"size", (!network || is_language) && options->size},
        {"width", !network && options->width > 0},
        {"text", !reads_text && options->text},
        {"length", !reads_text && options->length},
        {"data", is_language && options->data},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].is_wrong) {
            options_complain(&train_command, "--%s is not for %s", checks[i].name, self->name);
            return false;
        }
    if (!network || is_language || !options->size || options->size >= network->least_size)
        return true;
    options_complain(&train_command, "--size is %" PRId64 "; %s needs %" PRId64 " or more",
                     options->size, self->name, network->least_size);
    return false;
}

/* What is wanted: false, and said, where that cannot be. */
static bool find_wanted(training *self, const char *name)
{
    self->name = name;
    self->network = model_find(name);
    if (!self->network && strcmp(name, "lenet")) {
        complain_model(&train_command, name);
        return false;
    }
    if (!check_options(self))
        return false;
    for (int i = 0; self->options.schedule && schedule_at(i); i++)
        if (!strcmp(self->options.schedule, schedule_at(i)))
            self->schedule = (lr_schedule)i;
    if (self->options.optimizer && !strcmp(self->options.optimizer, "sgd"))
        self->options.optimizer = NULL; /* plain gradient descent, without a state */
    fill_in(self);
    return true;
}

static int run(int count, char **arguments)
{
    char *operands[1];
    int operand_count, status;
    device_list list;
    training self = {.options = {.epochs = 10, .lr = -1, .seed = -1}};
    if (!options_parse(&train_command, count, arguments, &self.options, operands, 1, &operand_count,
                       &status))
        return status;
    if (operand_count < 1)
        return options_complain(&train_command, "what to train is missing: hocket train lenet");
    if (!find_wanted(&self, operands[0]) ||
        !device_list_parse(&list, &train_command, self.options.devices))
        return EXIT_USAGE;

    interrupt_watch();
    int result = train(&self, &list);
    interrupt_unwatch();
    bool closed = write_trace(&self);
    if (!close_output("plot", self.options.plot, self.plot))
        closed = false;
    if (!close_output("loss-log", self.options.loss_log, self.loss_log))
        closed = false;
    if (!close_output("order-log", self.options.order_log, self.order_log))
        closed = false;
    trainer_deinit(&self.trainer);
    training_data_deinit(&self.data);
    free(self.epochs);
    hk_runtime_deinit();
    return result ? result : !closed;
}

const command train_command = {
    .name = "train",
    .operands = "MODEL",
    .summary = "Trains a network on one device or several: lenet, or what hocket models lists.",
    .description =
        "The parameters are drawn once and copied to all devices; each batch is split over\n"
        "the devices, and the gradients are summed. So the losses are the same on any number\n"
        "of devices, up to rounding. The accuracy on the test part is computed after each\n"
        "epoch. The last line says the test accuracy and the mean time of an epoch: from its\n"
        "first call until its last one has finished, training only, testing left out.\n"
        "\n"
        "Image models learn MNIST or Fashion-MNIST; lenet is the book's, for several devices.\n"
        "Language models learn to say the next letter of a text: e to the power of the loss is\n"
        "their perplexity. seq2seq and transformer read numbers in words, and write their digits.\n"
        "\n"
        "Under mpirun or srun each process trains on its share: the losses are those of one\n"
        "process with all devices, the first one prints and saves. See docs/MACHINES.md.\n"
        "\n"
        "Ctrl-C and SIGTERM end the run after the steps under way, and save it where --save is\n"
        "given; a second Ctrl-C kills it.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
