/* hocket models: what there is to be trained. */
#include "commands.h"
#include "lenet_model.h"
#include "number_words.h"

#include "models/models.h"

#include <inttypes.h>
#include <string.h>

enum { LETTERS = 28 };

/* A row of the list. */
typedef struct entry {
    const char *name, *title;
    char input[48];
    int64_t parameters; /* -1, and printed: it cannot be made */
    double flops;       /* of the scores of one sample */
} entry;

static hk_array *scores_of(hk_array *x, hk_module *net, const lenet *book)
{
    return net ? hk_forward(net, x) : lenet_forward(book, 0, x);
}

/* Of a network that has its parameters: the operations of the calls that it makes. */
static bool count_flops(entry *self, hk_array *x, hk_module *net, const lenet *book)
{
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        scores_of(x, net, book);
    }
    hk_graph *graph = hk_capture_end(NULL);
    const bool is_good = !hk_status_print(hk_graph_status(graph), stderr);
    self->flops = hk_graph_get_facts(graph).flops;
    hk_graph_release(graph);
    return is_good && !hk_status_print(hk_wait_all(), stderr);
}

/* Of the published width, for grey images of the book's size and ten classes, or for letters. Zeros take the least time. */
static entry count_model(const model_kind *kind)
{
    HK_SCOPE;
    entry self = {.name = kind->name, .title = kind->title};
    const model_options options = {.classes = kind->has_pairs     ? NUMBER_WORDS_TOKENS
                                              : kind->is_language ? LETTERS
                                                                  : 10};
    const hk_init zeros = {.kind = HK_INIT_CONSTANT};
    hk_module *net = kind->create(&options);
    hk_module_initialize(net, &zeros);
    hk_module_set_training(net, false);
    const hk_dims shape = kind->has_pairs     ? hk_shape(1, 2, kind->size)
                          : kind->is_language ? hk_shape(1, kind->size)
                                              : hk_shape(1, 1, kind->size, kind->size);
    hk_array *x = hk_zeros(shape, kind->is_language ? HK_I32 : HK_F32, (hk_device){NULL});
    if (kind->has_pairs)
        snprintf(self.input, sizeof self.input, "%d words", (int)kind->size);
    else if (kind->is_language)
        snprintf(self.input, sizeof self.input, "%d letters", (int)kind->size);
    else
        snprintf(self.input, sizeof self.input, "1 x %d x %d", (int)kind->size, (int)kind->size);
    const bool is_good =
        !hk_status_print(hk_wait(hk_forward(net, x)), stderr) && count_flops(&self, x, net, NULL);
    self.parameters = is_good ? hk_module_count(net) : -1;
    hk_module_release(net);
    return self;
}

static entry count_book(void)
{
    HK_SCOPE;
    entry self = {.name = "lenet",
                  .title = "LeNet, as the book trains it on several devices",
                  .input = "1 x 28 x 28"};
    lenet book = {.device_count = 1, .devices = {hk_device_default()}};
    lenet_set_shapes(&book, 1, 28, 28, 10);
    lenet_draw(&book, LENET_GLOROT, 0);
    lenet_spread(&book);
    for (int i = 0; i < LENET_PARAMETERS; i++)
        self.parameters += hk_size(book.params[0][i]);
    if (!count_flops(&self, hk_zeros(hk_shape(1, 1, 28, 28), HK_F32, book.devices[0]), NULL, &book))
        self.parameters = -1;
    lenet_release(&book);
    return self;
}

static bool print_row(const entry *self)
{
    if (self->parameters >= 0)
        printf("%-11s %-12s %12" PRId64 " %9.2f  %s\n", self->name, self->input, self->parameters,
               self->flops * 1e-6, self->title);
    return self->parameters >= 0;
}

int complain_model(const command *self, const char *name)
{
    const char *names[MODEL_COUNT + 2] = {"lenet"}; /* and NULL */
    const char *near = NULL;
    for (int i = 0; i < MODEL_COUNT; i++) {
        names[i + 1] = models[i].name;
        if (*name && !strncmp(models[i].name, name, strlen(name)))
            near = models[i].name;
    }
    near = near ? near : nearest_word(name, names);
    return options_complain(self, "there is no model \"%s\"%s%s; hocket models lists them", name,
                            near ? ", did you mean " : "", near ? near : "");
}

static int run(int count, char **arguments)
{
    int status;
    struct {
        char unused;
    } options;
    if (!options_parse(&models_command, count, arguments, &options, NULL, 0, NULL, &status))
        return status;
    printf("%-11s %-12s %12s %9s\n", "model", "input", "parameters", "MFLOP");
    entry row = count_book();
    bool is_good = print_row(&row);
    for (int i = 0; i < MODEL_COUNT && is_good; i++) {
        row = count_model(&models[i]);
        is_good = print_row(&row);
    }
    hk_runtime_deinit();
    return !is_good;
}

const command models_command = {
    .name = "models",
    .operands = "",
    .summary = "Lists the networks that can be trained, with parameters and operations.",
    .description =
        "Counted for grey images of the book's size and ten classes, or for the 28 tokens of a\n"
        "text of letters: millions of floating-point operations for the scores of one sample, two\n"
        "for each product of a sum. hocket train takes other sizes, and narrower networks.",
    .rows = NULL,
    .row_count = 0,
    .run = run,
};
