/* The models of examples/models/, small ones: shapes, known numbers of parameters, a step that lowers the loss, replicas. */
#include "models/models.h"
#include "base/sanitizer.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 512, BATCH = 4, TOKENS = 20 };

static const model_options tiny = {.classes = 10, .width = 0.125, .depth = 2, .steps = 8};

static int64_t count_parameters(hk_module *net)
{
    hk_array *params[MOST];
    int64_t sum = 0;
    const int count = hk_module_parameters(net, params, MOST);
    CHECK(count < MOST);
    for (int i = 0; i < count; i++)
        sum += hk_size(params[i]);
    return sum;
}

/* Of a network of the published width, for images of that size. */
static void check_parameters(const char *name, int64_t classes, int64_t channels, int64_t side,
                             int64_t expected)
{
    HK_SCOPE;
    hk_module *net = model_find(name)->create(&(model_options){.classes = classes});
    hk_module_initialize(net, &(hk_init){.kind = HK_INIT_CONSTANT});
    hk_module_set_training(net, false);
    hk_array *scores =
        hk_forward(net, hk_zeros(hk_shape(1, channels, side, side), HK_F32, (hk_device){0}));
    CHECK(!hk_status_print(hk_wait(scores), stderr));
    CHECK_EQ_I64(hk_dim(scores, 1), classes);
    CHECK_EQ_I64(count_parameters(net), expected);
    hk_module_release(net);
}

static void test_counts(void)
{
    check_parameters("softmax", 10, 1, 28, 7850);
    check_parameters("mlp", 10, 1, 28, 203530);
    check_parameters("lenet5", 10, 1, 28, 61706);
    check_parameters("nin", 10, 1, 67, 1992166);     /* the book's */
    check_parameters("densenet", 10, 1, 32, 758226); /* the book's */
    check_parameters("googlenet", 1000, 3, 32,
                     6998552); /* the paper's, without outputs in between */
    check_parameters("resnet18", 1000, 3, 32, 11689512); /* torchvision's */
    check_parameters("vit", 1000, 3, 224, 5717416);      /* ViT-Ti/16, as in timm */
    hk_wait_all();
}

/* Tokens or images that can be told apart, and their classes. */
static hk_array *input_of(const model_kind *kind, hk_array **labels)
{
    static const int32_t classes[BATCH] = {1, 3, 5, 7};
    *labels = hk_from_host(classes, hk_shape(BATCH), HK_I32, (hk_device){0});
    if (!kind->is_language) {
        const int64_t side = kind->least_size < 28 ? 28 : kind->least_size;
        return hk_random_uniform(hk_shape(BATCH, 1, side, side), HK_F32, (hk_device){0});
    }
    *labels = hk_random_int(0, 10, hk_shape(BATCH * 6), HK_I32, (hk_device){0});
    if (kind->has_pairs)
        return hk_random_int(0, 10, hk_shape(BATCH, 2, 6), HK_I32, (hk_device){0});
    return hk_random_int(0, 10, hk_shape(BATCH, 6), HK_I32, (hk_device){0});
}

static hk_array *loss_of(const model_kind *kind, hk_module *net, hk_array *x, hk_array *labels)
{
    hk_array *scores = hk_forward(net, x);
    CHECK_EQ_I64(hk_dim(scores, -1), 10);
    CHECK_EQ_I64(hk_ndim(scores), kind->is_language ? 3 : 2);
    if (kind->is_language)
        scores = hk_reshape(scores, hk_shape(-1, 10));
    return hk_mean(hk_softmax_cross_entropy(scores, labels), NULL);
}

/* What the network says of x where nothing is random. */
static double loss_at(const model_kind *kind, hk_module *net, hk_array *x, hk_array *labels)
{
    HK_SCOPE;
    const hk_status *status;
    hk_module_set_training(net, false);
    const double loss = hk_item(loss_of(kind, net, x, labels), &status);
    CHECK(!hk_status_print(status, stderr));
    hk_module_set_training(net, true);
    return loss;
}

static void test_learns(const model_kind *kind)
{
    HK_SCOPE;
    hk_seed(2);
    hk_array *labels, *x = input_of(kind, &labels), *params[MOST];
    hk_module *net = kind->create(&tiny);
    const double before = loss_at(kind, net, x, labels);
    hk_optimizer *adam =
        hk_optimizer_create("adam", params, hk_module_parameters(net, params, MOST),
                            &(hk_optimizer_options){.lr = 0.003});
    for (int step = 0; step < 12; step++) {
        HK_SCOPE;
        hk_record_begin();
        hk_array *loss = loss_of(kind, net, x, labels);
        hk_record_end();
        hk_backward(loss);
        hk_optimizer_step(adam);
    }
    const double after = loss_at(kind, net, x, labels);
    CHECK(before > 1 && before < 6 && after < before);
    if (!(after < before))
        fprintf(stderr, "%s: loss %.4f, then %.4f\n", kind->name, before, after);

    hk_module *replica = hk_module_replicate(net, hk_device_named("cpu:1"));
    hk_array *there = hk_to_device(x, hk_device_named("cpu:1"));
    hk_module_set_training(net, false);
    hk_module_set_training(replica, false);
    hk_array *scores = hk_to_device(hk_forward(replica, there), hk_device_default());
    CHECK(hk_item(hk_all(hk_equal(hk_forward(net, x), scores), NULL), NULL) == 1);
    hk_module_release(replica);
    hk_optimizer_release(adam);
    hk_module_release(net);
}

/* What is written follows from the tokens before alone, and from all of what was read. */
static void test_causal(const model_kind *kind)
{
    HK_SCOPE;
    hk_module *net = kind->create(&tiny);
    const int32_t first[] = {3, 1, 4, 1, 5, 9, 1, 2, 3, 4, 5, 6},
                  other[] = {3, 1, 4, 1, 5, 9, 1, 2, 3, 4, 0, 9};
    const hk_dims shape = kind->has_pairs ? hk_shape(1, 2, 6) : hk_shape(1, 6);
    const int from = kind->has_pairs ? 0 : 6;
    hk_array *a = hk_from_host(first + from, shape, HK_I32, (hk_device){0});
    hk_array *b = hk_from_host(other + from, shape, HK_I32, (hk_device){0});
    a = hk_forward(net, a);
    b = hk_forward(net, b);
    CHECK(hk_item(hk_all(hk_equal(hk_slice(a, 1, 0, 4), hk_slice(b, 1, 0, 4)), NULL), NULL) == 1);
    CHECK(hk_item(hk_all(hk_equal(hk_slice(a, 1, 4, 6), hk_slice(b, 1, 4, 6)), NULL), NULL) == 0);
    hk_module_release(net);
}

/* Sequences of letters, to be written backwards behind a 0. */
static void make_pairs(hk_array **source, hk_array **written, hk_array **wanted)
{
    enum { PAIRS = 32, LETTERS = 4 };
    int32_t from[PAIRS][LETTERS], before[PAIRS][LETTERS], after[PAIRS][LETTERS];
    static uint32_t state = 9; /* a linear congruential generator will do */
    for (int i = 0; i < PAIRS; i++)
        for (int j = 0; j < LETTERS; j++) {
            state = state * 1664525u + 1013904223u;
            from[i][j] = 1 + (int32_t)(state >> 16) % 9;
        }
    for (int i = 0; i < PAIRS; i++)
        for (int j = 0; j < LETTERS; j++) {
            after[i][j] = from[i][LETTERS - 1 - j];
            before[i][j] = j ? from[i][LETTERS - j] : 0;
        }
    *source = hk_from_host(from, hk_shape(PAIRS, LETTERS), HK_I32, (hk_device){0});
    *written = hk_from_host(before, hk_shape(PAIRS, LETTERS), HK_I32, (hk_device){0});
    *wanted = hk_from_host(after, hk_shape(PAIRS * LETTERS), HK_I32, (hk_device){0});
}

/* An encoder and a decoder learn to read backwards: new sequences, each step. */
static void test_pairs(const model_kind *kind, double lr)
{
    enum { TRAIN_STEPS = 250 };
    HK_SCOPE;
    hk_seed(4);
    hk_module *net = kind->create(&(model_options){.classes = 10, .width = 0.15});
    hk_array *params[MOST];
    hk_optimizer *adam = NULL;
    double last = 0, first = 0;
    const int steps = HKI_SANITIZED ? 20 : TRAIN_STEPS;
    for (int step = 0; step < steps; step++) {
        HK_SCOPE;
        hk_array *inputs[2], *wanted;
        make_pairs(&inputs[0], &inputs[1], &wanted);
        hk_record_begin();
        hk_array *scores = hk_reshape(hk_forward_all(net, inputs, 2), hk_shape(-1, 10));
        hk_array *loss = hk_mean(hk_softmax_cross_entropy(scores, wanted), NULL);
        hk_record_end();
        hk_backward(loss);
        if (!adam)
            adam = hk_optimizer_create("adam", params, hk_module_parameters(net, params, MOST),
                                       &(hk_optimizer_options){.lr = lr});
        hk_optimizer_step(adam);
        last = hk_item(loss, NULL);
        first = step ? first : last;
    }
    CHECK(first > 2 && last < (HKI_SANITIZED ? first : 0.5));
    if (!(last < 0.5))
        fprintf(stderr, "%s: loss %.3f, then %.3f\n", kind->name, first, last);
    hk_optimizer_release(adam);
    hk_module_release(net);
}

/* What gpt writes is likeliest, step by step, by whole passes: its own positions know of caches. */
static void test_generates(void)
{
    enum { NEW = 6 };
    HK_SCOPE;
    hk_module *net = model_find("gpt")->create(&tiny);
    hk_module_initialize(net, &(hk_init){.kind = HK_INIT_NORMAL, .value = 0.3});
    int32_t tokens[2 + NEW] = {3, 7};
    int64_t made[NEW];
    hk_array *x =
        hk_generate(net, hk_from_host(tokens, hk_shape(1, 2), HK_I32, (hk_device){0}), NULL,
                    &(hk_generate_options){.most_tokens = NEW, .temperature = HK_ZERO});
    CHECK(!hk_status_print(hk_to_host(x, made, sizeof made), stderr));
    for (int i = 0; i < NEW; i++) {
        const int count = 2 + i;
        x = hk_forward(net, hk_from_host(tokens, hk_shape(1, count), HK_I32, (hk_device){0}));
        CHECK_EQ_I64((int64_t)hk_item(hk_argmax(hk_index(x, 1, count - 1), 1), NULL), made[i]);
        tokens[count] = (int32_t)made[i];
    }
    hk_module_release(net);
}

int main(void)
{
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2});
    for (int i = 0; i < MODEL_COUNT; i++) {
        CHECK(model_find(models[i].name) == &models[i]);
        test_learns(&models[i]);
        if (models[i].is_language)
            test_causal(&models[i]);
    }
    test_pairs(model_find("seq2seq"), 0.01);
    test_pairs(model_find("transformer"), 0.003);
    test_generates();
    CHECK(!model_find("lenet6"));
    if (!HKI_SANITIZED) /* networks of full size */
        test_counts();
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
