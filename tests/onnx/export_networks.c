/* The networks of examples/models as ONNX files: what hk_model makes of these is what they make.
 *
 * export_networks [FOLDER [published]]: leaves the files in FOLDER, with an input and the result
 * beside each (NAME.in.npy, NAME.out.npy), for tests/onnx/export_tests.py; published: those of
 * published.h, too. */
#include "models/models.h"
#include "models/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed_checks;
#define CHECK(condition)                                                                           \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (void)(failed_checks++, printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition)))

enum { BATCH = 2, MOST = 2048 };

static const model_options tiny = {.classes = 10, .width = 0.125, .depth = 2, .steps = 8};
static const char *folder;
static bool leaves_files;

static hk_array *tokens(hk_dims shape)
{
    return hk_random_int(0, 10, shape, HK_I32, (hk_device){0});
}

static hk_array *input_of(const model_kind *kind)
{
    const int64_t side = kind->least_size < 28 ? 28 : kind->least_size;
    if (kind->has_pairs)
        return tokens(hk_shape(BATCH, 2, 6));
    return kind->is_language
               ? tokens(hk_shape(BATCH, 6))
               : hk_random_uniform(hk_shape(BATCH, 1, side, side), HK_F32, (hk_device){0});
}

/* Weights by which inputs are not lost on the way, and norms that do something. */
static void draw(hk_module *net, hk_array *x)
{
    static hk_module_entry entries[MOST];
    HK_SCOPE;
    hk_module_initialize(net, &(hk_init){.kind = HK_INIT_HE_NORMAL});
    hk_module_set_training(net, false);
    hk_forward(net, x);
    const int count = hk_module_entries(net, entries, MOST);
    CHECK(count <= MOST);
    for (int i = 0; i < count; i++)
        if (hk_ndim(entries[i].array) == 1)
            hk_assign(entries[i].array,
                      hk_add(entries[i].array,
                             hk_multiply(hk_random_uniform(hk_dims_get(entries[i].array), HK_F32,
                                                           (hk_device){0}),
                                         0.5)));
}

static void path_of(char *path, size_t bytes, const char *name, const char *end)
{
    snprintf(path, bytes, "%s/%s%s", folder, name, end);
}

static void save(const char *name, const char *end, hk_array *x)
{
    char path[512];
    path_of(path, sizeof path, name, end);
    CHECK(!hk_status_print(hk_save(path, &(hk_save_entry){.name = "x", .array = x}, 1, NULL),
                           stderr));
}

/* The largest difference, of the largest result. */
static double distance(hk_array *y, hk_array *wanted)
{
    const double most = hk_item(hk_max(hk_abs(wanted), NULL), NULL);
    return hk_item(hk_max(hk_abs(hk_subtract(y, wanted)), NULL), NULL) / most;
}

static void check_network(const char *name, hk_module *net, hk_array *x)
{
    HK_SCOPE;
    char path[512];
    draw(net, x);
    hk_module_set_training(net, true);
    path_of(path, sizeof path, name, ".onnx");
    const hk_model_export_options options = {.input_names = &(const char *){"x"},
                                             .output_names = &(const char *){"scores"},
                                             .batch = "batch"};
    CHECK(!hk_status_print(hk_model_export(path, net, &x, 1, &options), stderr));
    CHECK(hk_module_is_training(net));
    hk_module_set_training(net, false);
    hk_array *wanted = hk_forward(net, x);
    hk_model *model = hk_model_load(path, NULL);
    CHECK(!hk_status_print(hk_model_status(model), stderr));
    CHECK(hk_model_input_count(model) == 1 && !strcmp(hk_model_input(model, 0).name, "x") &&
          hk_model_input(model, 0).dims[0] == -1);
    for (int i = 0; i < 3; i++) {
        hk_array *y;
        hk_model_run(model, &x, 1, &y, 1);
        const double by = distance(y, wanted);
        if (!(by < 1e-4))
            printf("%s differs by %g\n", name, by);
        CHECK(by < 1e-4);
    }
    hk_array *first = hk_slice(x, 0, 0, 1), *y;
    hk_model_run(model, &first, 1, &y, 1);
    CHECK(distance(y, hk_forward(net, first)) < 1e-4);
    hk_model_release(model);
    hk_module_release(net);
    if (leaves_files) {
        save(name, ".in.npy", x);
        save(name, ".out.npy", wanted);
    } else {
        unlink(path);
    }
}

static void check_published(const published_network *kind)
{
    HK_SCOPE;
    static const published_options few = {
        .layers = 2, .vocabulary = 20, .features = 32, .heads = 2, .key_heads = 1, .hidden = 64};
    char name[64];
    snprintf(name, sizeof name, "published_%s", kind->name);
    check_network(name, kind->create(&few),
                  kind->is_language
                      ? tokens(hk_shape(BATCH, 6))
                      : hk_random_uniform(hk_shape(1, 3, 224, 224), HK_F32, (hk_device){0}));
}

int main(int count, char **arguments)
{
    char made[] = "/tmp/hocket-export-XXXXXX";
    hk_seed(3);
    leaves_files = count > 1;
    folder = leaves_files ? arguments[1] : mkdtemp(made);
    for (int i = 0; i < MODEL_COUNT; i++) {
        HK_SCOPE;
        check_network(models[i].name, models[i].create(&tiny), input_of(&models[i]));
    }
    for (int i = 0; i < PUBLISHED_COUNT; i++)
        if (count > 2 || published[i].is_language)
            check_published(&published[i]);
    if (!leaves_files)
        rmdir(folder);
    CHECK(hk_ok(hk_wait_all()));
    return failed_checks > 0;
}
