/* Data sets, vocabularies, batches and checkpoints while memory is short: each allocation that fails in turn. What says it went
 * well did; what did not says why, and changed nothing. */
#include "failing_memory.h"
#include "tests/io_fixture.h"

#include <sys/stat.h>

enum { MOST = 3000 }; /* allocations of one call */

/* A white image of 1 x 1. */
static const unsigned char png[] = {137, 80, 78,  71,  13, 10, 26, 10,  0,  0,  0,   13,  73,  72,
                                    68,  82, 0,   0,   0,  1,  0,  0,   0,  1,  8,   0,   0,   0,
                                    0,   58, 126, 155, 85, 0,  0,  0,   10, 73, 68,  65,  84,  120,
                                    218, 99, 248, 15,  0,  1,  1,  1,   0,  28, 176, 140, 153, 0,
                                    0,   0,  0,   73,  69, 78, 68, 174, 66, 96, 130};

static const char text[] = "to be or not to be, that is the question";
static hk_array *values;
static char csv_path[320], cifar_path[320], images_path[320], checkpoint_path[320];

/* ---- data sets ------------------------------------------------------------------------------------------- */

static hk_data_set *of_arrays(void)
{
    return hk_data_set_of_arrays(&values, 1);
}

static hk_data_set *of_csv(void)
{
    return hk_data_set_of_csv(csv_path, 1, NULL);
}

static hk_data_set *of_cifar(void)
{
    const char *paths[] = {cifar_path, cifar_path};
    return hk_data_set_of_cifar(paths, 2, 10);
}

static hk_data_set *of_images(void)
{
    return hk_data_set_of_images(images_path, NULL);
}

static hk_data_set *of_resized(void)
{
    return hk_data_set_of_images(images_path, &(hk_image_folder_options){1, 3, 2});
}

static hk_data_set *of_transform(void)
{
    static const hk_transform list[] = {{.kind = HK_TRANSFORM_RESIZE, .height = 5, .width = 4},
                                        {.kind = HK_TRANSFORM_FLIP}};
    hk_data_set *base = of_images();
    hk_data_set *set = hk_data_set_transform(base, list, 2);
    hk_data_set_release(base);
    return set;
}

static hk_data_set *of_text(void)
{
    HK_SCOPE;
    hk_vocabulary *vocabulary = hk_vocabulary_create(text, sizeof text - 1, NULL);
    hk_vocabulary *again = hk_vocabulary_of_text(hk_vocabulary_text(vocabulary));
    hk_array *tokens = hk_vocabulary_encode(again, text, sizeof text - 1);
    hk_data_set *set = hk_data_set_of_tokens(tokens, &(hk_token_options){.steps = 4});
    hk_vocabulary_release(vocabulary);
    hk_vocabulary_release(again);
    return set;
}

/* Batches of an epoch that are right; those that are not say why. */
static int64_t load_all(hk_data_set *set)
{
    int64_t good = 0;
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 1, .ahead = -1});
    const bool is_ready = hk_ok(hk_loader_status(loader));
    for (;;) {
        HK_SCOPE;
        hk_array *x = NULL;
        if (!hk_loader_next_fields(loader, &x, 1))
            break;
        good += is_ready && hk_ok(hk_wait(x));
    }
    hk_loader_release(loader);
    return good;
}

/* Made, and loaded, with each allocation failing; in the serial engine also those of the tasks are this thread's. */
static void test_set(hk_data_set *(*make)(void), int64_t size, bool all)
{
    int after = 0, failed = 1;
    for (; failed && after < MOST; after++) {
        failing_begin(after, all);
        hk_data_set *set = make();
        const bool is_good = hk_ok(hk_data_set_status(set));
        const int64_t found = hk_data_set_size(set), loaded = is_good ? load_all(set) : 0;
        failed = failing_end();
        CHECK(found == (is_good ? size : 0));
        CHECK(loaded <= size && (failed || (is_good && loaded == size)));
        hk_data_set_release(set);
        hk_wait_all();
        hk_failures_clear();
    }
    CHECK(after > 3 && after < MOST);
}

/* ---- checkpoints ----------------------------------------------------------------------------------------- */

typedef struct training {
    hk_module *net;
    hk_optimizer *adam;
    hk_array *params[4];
} training;

static training training_begin(void)
{
    HK_SCOPE;
    training self = {.net = hk_linear_layer(3, NULL)};
    hk_forward(self.net, hk_ones(hk_shape(1, 2), HK_F32, (hk_device){0}));
    const int count = hk_module_parameters(self.net, self.params, 4);
    self.adam = hk_optimizer_create("adam", self.params, count, NULL);
    return self;
}

static double sum_of(const training *self)
{
    HK_SCOPE;
    return hk_item(hk_sum(self->params[0], NULL), NULL);
}

static void test_checkpoint(bool all)
{
    training self = training_begin();
    hk_checkpoint state = {.module = self.net, .optimizer = self.adam};
    int after = 0, failed = 1;
    const double saved = sum_of(&self);
    for (; failed && after < MOST; after++) {
        unlink(checkpoint_path);
        failing_begin(after, all);
        const bool is_good = hk_ok(hk_checkpoint_save(checkpoint_path, &state));
        failed = failing_end();
        CHECK((failed || is_good) && is_good == !access(checkpoint_path, F_OK));
    }
    CHECK(after > 3 && after < MOST);
    failed = 1;
    for (after = 0; failed && after < MOST; after++) {
        HK_SCOPE;
        hk_assign(self.params[0], hk_zeros(hk_shape(3, 2), HK_F32, (hk_device){0}));
        state.step = -1;
        failing_begin(after, all);
        const bool is_good = hk_ok(hk_checkpoint_load(checkpoint_path, &state));
        failed = failing_end();
        const double sum = sum_of(&self);
        CHECK(failed || is_good);
        if (!is_good) /* not begun: nothing is changed */
            CHECK(sum == 0 && state.step == -1);
        else /* what an assignment had no memory for has failed, and says so */
            CHECK(sum == saved || (failed && !hk_ok(hk_wait(self.params[0]))));
        hk_wait_all();
        hk_failures_clear();
    }
    CHECK(after > 3 && after < MOST);
    hk_optimizer_release(self.adam);
    hk_module_release(self.net);
}

int main(void)
{
    static unsigned char cifar[3073];
    static const struct {
        hk_data_set *(*make)(void);
        int64_t size;
    } sets[] = {{of_arrays, 5},  {of_csv, 2},       {of_cifar, 2}, {of_images, 1},
                {of_resized, 1}, {of_transform, 1}, {of_text, 9}};
    if (HKI_SANITIZED)
        return 77;
    fixture_begin();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.engine = HK_ENGINE_SERIAL})));
    snprintf(csv_path, sizeof csv_path, "%s", fixture_path("x.csv"));
    snprintf(cifar_path, sizeof cifar_path, "%s", fixture_path("x.bin"));
    snprintf(images_path, sizeof images_path, "%s", fixture_path("images"));
    snprintf(checkpoint_path, sizeof checkpoint_path, "%s", fixture_path("x.safetensors"));
    fixture_write(csv_path, "1,2,3\n4,5,6\n", 12);
    fixture_write(cifar_path, cifar, sizeof cifar);
    mkdir(images_path, 0700);
    mkdir(fixture_path("images/a"), 0700);
    fixture_write(fixture_path("images/a/x.png"), png, sizeof png);
    values = hk_zeros(hk_shape(5, 2), HK_F32, (hk_device){0});
    for (int all = 0; all < 2; all++) {
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
            test_set(sets[i].make, sets[i].size, all);
        test_checkpoint(all);
    }
    hk_array_release(values);
    hk_runtime_deinit();
    unlink(fixture_path("images/a/x.png"));
    rmdir(fixture_path("images/a"));
    rmdir(images_path);
    fixture_end();
    return check_result();
}
