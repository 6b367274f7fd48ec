/* hocket models: what there is to be trained. */
#include "commands.h"
#include "lenet_model.h"

#include "models/models.h"

#include <inttypes.h>

enum { LETTERS = 28, MOST_PARAMETERS = 512 };

/* Of the published width, for grey images of the book's size and ten classes, or for letters; -1, and printed, when it cannot be
 * made. Zeros take the least time. */
static int64_t count_parameters(const model_kind *kind)
{
    HK_SCOPE;
    const model_options options = {.classes = kind->is_language ? LETTERS : 10};
    const hk_init zeros = {.kind = HK_INIT_CONSTANT};
    hk_module *net = kind->create(&options);
    hk_module_initialize(net, &zeros);
    hk_module_set_training(net, false);
    hk_array *x = kind->is_language
                      ? hk_zeros(hk_shape(1, kind->size), HK_I32, (hk_device){NULL})
                      : hk_zeros(hk_shape(1, 1, kind->size, kind->size), HK_F32, (hk_device){NULL});
    const hk_status *status = hk_wait(hk_forward(net, x));
    hk_array *params[MOST_PARAMETERS];
    const int count = hk_module_parameters(net, params, MOST_PARAMETERS);
    int64_t sum = hk_status_print(status, stderr) ? -1 : 0;
    for (int i = 0; i < count && i < MOST_PARAMETERS && sum >= 0; i++)
        sum += hk_size(params[i]);
    hk_module_release(net);
    return sum;
}

static void print_row(const char *name, const char *input, int64_t parameters, const char *title)
{
    printf("%-10s %-12s %12" PRId64 "  %s\n", name, input, parameters, title);
}

static int run(int count, char **arguments)
{
    int status;
    struct {
        char unused;
    } options;
    if (!options_parse(&models_command, count, arguments, &options, NULL, 0, NULL, &status))
        return status;
    lenet book = {0};
    int64_t of_book = 0;
    lenet_set_shapes(&book, 1, 28, 28, 10);
    for (int i = 0; i < LENET_PARAMETERS; i++) {
        int64_t size = 1;
        for (int axis = 0; axis < book.shapes[i].ndim; axis++)
            size *= book.shapes[i].dims[axis];
        of_book += size;
    }
    printf("%-10s %-12s %12s\n", "model", "input", "parameters");
    print_row("lenet", "1 x 28 x 28", of_book, "LeNet, as the book trains it on several devices");
    for (int i = 0; i < MODEL_COUNT; i++) {
        char input[48];
        const int64_t parameters = count_parameters(&models[i]);
        if (models[i].is_language)
            snprintf(input, sizeof input, "%d letters", (int)models[i].size);
        else
            snprintf(input, sizeof input, "1 x %d x %d", (int)models[i].size, (int)models[i].size);
        if (parameters < 0)
            return 1;
        print_row(models[i].name, input, parameters, models[i].title);
    }
    hk_runtime_deinit();
    return 0;
}

const command models_command = {
    .name = "models",
    .operands = "",
    .summary = "Lists the networks that can be trained, and how many parameters they have.",
    .description =
        "Counted for grey images of the book's size and ten classes, or for the 28 tokens of a\n"
        "text of letters. hocket train takes other sizes, and narrower networks.",
    .rows = NULL,
    .row_count = 0,
    .run = run,
};
