/* The published networks of examples/models/: known numbers of parameters, shapes, names that come back.
 *
 *     published NAME WEIGHTS INPUTS RESULTS [OPTION=NUMBER…]
 *
 * is what tests/torch/networks.py calls: the network of that name with the weights of a file, by PyTorch's names, of the array in
 * INPUTS (npy), into RESULTS (npy). Options are those of published_options. */
#include "models/published.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PARAMETERS = 30000000 }; /* larger ones take longer than they tell */

/* ---- by hand --------------------------------------------------------------------------------------------- */

static bool read_option(published_options *options, const char *text)
{
    const char *equal = strchr(text, '=');
    const struct {
        const char *name;
        int64_t *whole;
        double *real;
    } names[] = {{"classes", &options->classes, NULL},
                 {"layers", &options->layers, NULL},
                 {"features", &options->features, NULL},
                 {"heads", &options->heads, NULL},
                 {"key_heads", &options->key_heads, NULL},
                 {"hidden", &options->hidden, NULL},
                 {"vocabulary", &options->vocabulary, NULL},
                 {"positions", &options->positions, NULL},
                 {"eps", NULL, &options->eps},
                 {"base", NULL, &options->base}};
    for (size_t i = 0; equal && i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == (size_t)(equal - text) &&
            !strncmp(names[i].name, text, (size_t)(equal - text))) {
            if (names[i].whole)
                *names[i].whole = strtoll(equal + 1, NULL, 10);
            else
                *names[i].real = strtod(equal + 1, NULL);
            return true;
        }
    fprintf(stderr, "%s is no option\n", text);
    return false;
}

static int run(int argc, char **argv)
{
    published_options options = {0};
    const published_network *kind = published_find(argv[1]);
    for (int i = 5; i < argc; i++)
        if (!read_option(&options, argv[i]))
            return 2;
    if (!kind)
        return fprintf(stderr, "there is no network %s\n", argv[1]), 2;
    HK_SCOPE;
    hk_module *net = kind->create(&options);
    hk_module_set_training(net, false);
    const hk_status *status = published_load(kind, net, argv[2]);
    hk_archive *inputs = hk_load(argv[3], hk_device_default(), NULL);
    if (hk_ok(status))
        status =
            hk_save(argv[4], &(hk_save_entry){NULL, hk_forward(net, hk_archive_get(inputs, NULL))},
                    1, &(hk_save_options){.format = HK_FORMAT_NPY});
    const int failed = hk_status_print(status, stderr);
    hk_archive_release(inputs);
    hk_module_release(net);
    return failed;
}

/* ---- by the tests ---------------------------------------------------------------------------------------- */

static void check_images(const published_network *kind)
{
    HK_SCOPE;
    hk_module *net = kind->create(NULL);
    hk_module_initialize(net, &(hk_init){.kind = HK_INIT_CONSTANT});
    hk_module_set_training(net, false);
    hk_array *scores = hk_forward(net, hk_zeros(hk_shape(1, 3, 64, 64), HK_F32, (hk_device){0}));
    if (hk_status_print(hk_wait(scores), stderr))
        fprintf(stderr, "  of %s\n", kind->name);
    CHECK(hk_ndim(scores) == 2 && hk_dim(scores, 1) == 1000);
    if (hk_module_count(net) != kind->parameters)
        fprintf(stderr, "%s:\n", kind->name);
    CHECK_EQ_I64(hk_module_count(net), kind->parameters);
    hk_module_release(net);
}

static void check_language(const published_network *kind)
{
    HK_SCOPE;
    const published_options small = {.layers = 2,
                                     .features = 16,
                                     .heads = 4,
                                     .key_heads = 2,
                                     .hidden = 24,
                                     .vocabulary = 11,
                                     .positions = 8};
    hk_module *net = kind->create(&small);
    hk_array *tokens = hk_zeros(hk_shape(2, 5), HK_I64, (hk_device){0});
    hk_array *scores = hk_forward(net, tokens);
    CHECK(!hk_status_print(hk_wait(scores), stderr));
    CHECK(hk_ndim(scores) == 3 && hk_dim(scores, 1) == 5);
    hk_module_release(net);
}

/* Saved by PyTorch's names, and loaded into one that was not called yet. */
static void check_round(void)
{
    HK_SCOPE;
    char path[] = "/tmp/hocket-published-XXXXXX.safetensors";
    const int file = mkstemps(path, 12);
    hk_array *x = hk_random_uniform(hk_shape(1, 3, 32, 32), HK_F32, (hk_device){0});
    hk_module *net = published_find("resnet18")->create(NULL),
              *other = published_find("resnet18")->create(NULL);
    hk_module_set_training(net, false);
    hk_module_set_training(other, false);
    hk_array *scores = hk_forward(net, x);
    CHECK(!hk_status_print(
        hk_module_save(net, path, &(hk_module_save_options){.names = HK_NAMES_TORCH}), stderr));
    CHECK(!hk_status_print(
        hk_module_load(other, path, &(hk_module_load_options){.names = HK_NAMES_TORCH}), stderr));
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    CHECK(hk_archive_has(archive, "layer2.0.downsample.1.running_var"));
    CHECK_EQ_I64(hk_archive_count(archive), 102);
    hk_archive_release(archive);
    CHECK(hk_item(hk_max(hk_abs(hk_subtract(scores, hk_forward(other, x))), NULL), NULL) == 0);
    close(file);
    unlink(path);
    hk_module_release(net);
    hk_module_release(other);
}

int main(int argc, char **argv)
{
    if (argc > 4)
        return run(argc, argv);
    for (int i = 0; i < PUBLISHED_COUNT; i++) {
        if (published[i].is_language)
            check_language(&published[i]);
        else if (published[i].parameters < MOST_PARAMETERS)
            check_images(&published[i]);
    }
    check_round();
    CHECK(!published_find("nothing"));
    return check_result();
}
