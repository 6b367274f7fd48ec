/* hocket predict: what a trained network sees in images. */
#include "commands.h"
#include "json_text.h"
#include "saved_training.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_IMAGES = 1024, SHOWN = 3 };

typedef struct predict_options {
    const char *load;
} predict_options;

static const option_row rows[] = {
    OPTION_TEXT_ROW("load", predict_options, load, "FILE",
                    "the network, as hocket train --save wrote it; must be given"),
};

/* A network that was loaded. */
typedef struct predictor {
    hk_archive *archive;
    saved_shape shape;
    hk_module *module; /* NULL: book */
    lenet book;
} predictor;

/* ---- loading --------------------------------------------------------------------------------------- */

static bool load_module(predictor *self, const char *path, const model_kind *kind)
{
    self->module = kind->create(&self->shape.options);
    hk_module_set_training(self->module, false);
    hk_checkpoint state = {.module = self->module, .without_stream = true};
    return !hk_status_print(hk_checkpoint_load(path, &state), stderr);
}

static bool load_book(predictor *self, const char *path)
{
    hk_save_entry entries[LENET_PARAMETERS];
    const saved_shape *shape = &self->shape;
    self->book.device_count = 1;
    self->book.devices[0] = hk_device_default();
    if (!lenet_set_shapes(&self->book, shape->channels, shape->height, shape->width,
                          shape->options.classes)) {
        fprintf(stderr, "hocket: %s does not say what its network is like\n", path);
        return false;
    }
    lenet_draw(&self->book, LENET_GLOROT, 0);
    for (int i = 0; i < LENET_PARAMETERS; i++)
        entries[i] = (hk_save_entry){lenet_parameter_name(i), self->book.params[0][i]};
    hk_checkpoint state = {
        .arrays = entries, .array_count = LENET_PARAMETERS, .without_stream = true};
    return !hk_status_print(hk_checkpoint_load(path, &state), stderr);
}

/* kind NULL: the LeNet of lenet_model.h. */
static bool load(predictor *self, const char *path, const char *name, const model_kind *kind)
{
    self->archive =
        hk_load(path, (hk_device){NULL}, &(hk_load_options){.format = HK_FORMAT_SAFETENSORS});
    if (!saved_shape_read(self->archive, path, name, &self->shape))
        return false;
    return kind ? load_module(self, path, kind) : load_book(self, path);
}

static void predictor_deinit(predictor *self)
{
    hk_archive_release(self->archive);
    hk_module_release(self->module);
    lenet_release(&self->book);
}

/* ---- predicting ------------------------------------------------------------------------------------ */

static void print_classes(const predictor *self, const char *path, float *chances, int64_t classes)
{
    printf("%s:", path);
    for (int i = 0; i < SHOWN && i < classes; i++) {
        char room[256];
        int64_t best = 0;
        for (int64_t c = 1; c < classes; c++)
            best = chances[c] > chances[best] ? c : best;
        printf("%s ", i ? "," : "");
        text_print(saved_class_name(self->archive, best, room, sizeof room), 60, stdout);
        printf(" %.1f%%", 100 * (double)chances[best]);
        chances[best] = -1;
    }
    printf("\n");
}

static bool predict(const predictor *self, const char *path)
{
    enum { MOST_CLASSES = 4096 };
    HK_SCOPE;
    float chances[MOST_CLASSES];
    const saved_shape *shape = &self->shape;
    const int64_t classes = shape->options.classes;
    hk_array *x = hk_image_load(path, &(hk_image_folder_options){.channels = (int)shape->channels,
                                                                 .height = shape->height,
                                                                 .width = shape->width});
    x = hk_reshape(x, hk_shape(1, shape->channels, shape->height, shape->width));
    hk_array *scores =
        self->module ? hk_forward(self->module, x) : lenet_forward(&self->book, 0, x);
    hk_array *result = hk_softmax(scores, 1);
    if (hk_status_print(hk_wait(result), stderr) || hk_size(result) > MOST_CLASSES ||
        hk_size(result) != classes)
        return false;
    if (hk_status_print(hk_to_host(result, chances, (size_t)classes * sizeof *chances), stderr))
        return false;
    print_classes(self, path, chances, classes);
    return true;
}

/* hocket predict run.json: a step of training is asked for, not a class. */
static bool names_recording(int count, char **arguments)
{
    static const char suffix[] = ".json";
    const size_t length = count ? strlen(arguments[0]) : 0, its = sizeof suffix - 1;
    return length > its && !strcmp(arguments[0] + length - its, suffix);
}

static int run(int count, char **arguments)
{
    if (names_recording(count, arguments))
        return forecast_command.run(count, arguments);
    char *operands[MOST_IMAGES + 1];
    int operand_count, status;
    predict_options options = {0};
    predictor self = {0};
    if (!options_parse(&predict_command, count, arguments, &options, operands, MOST_IMAGES + 1,
                       &operand_count, &status))
        return status;
    if (operand_count < 2)
        return options_complain(&predict_command,
                                "%s missing: hocket predict MODEL --load FILE IMAGE",
                                operand_count ? "images are" : "a model and images are");
    const model_kind *kind = model_find(operands[0]);
    if (!kind && strcmp(operands[0], "lenet"))
        return complain_model(&predict_command, operands[0]);
    if (kind && kind->is_language)
        return options_complain(&predict_command, "%s reads texts, not images", kind->name);
    if (!options.load)
        return options_complain(&predict_command, "--load FILE is missing");
    bool is_good = load(&self, options.load, operands[0], kind);
    for (int i = 1; i < operand_count && is_good; i++)
        is_good = predict(&self, operands[i]);
    predictor_deinit(&self);
    hk_runtime_deinit();
    return !is_good;
}

const command predict_command = {
    .name = "predict",
    .operands = "MODEL IMAGE...",
    .summary = "Says what a trained network sees in PNG or JPEG images.",
    .description =
        "Images are resized to what the network was trained on, and grey if those were. For each\n"
        "image it prints the three likeliest classes.\n\nhocket predict FILE.json is hocket "
        "forecast FILE.json.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
