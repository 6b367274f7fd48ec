/* Caches give what the whole forward pass gives; a step's tokens are those that the whole pass
 * would sample; sampling by its options. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

enum { CLASSES = 23, FEATURES = 16, HEADS = 4 };

static const hk_device here = {NULL};

static hk_module *block(void)
{
    return hk_sequential(
        hk_residual_layer(
            hk_sequential(hk_layer_norm_layer(0), hk_attention_layer(FEATURES, HEADS, true)), NULL),
        hk_residual_layer(hk_sequential(hk_layer_norm_layer(0), hk_linear_layer(FEATURES, NULL),
                                        hk_operator_layer("gelu", NULL, 0), hk_dropout_layer(0.5)),
                          NULL));
}

static hk_module *network(bool is_learned)
{
    hk_seed(7);
    hk_module *net =
        hk_sequential(hk_embedding_layer(CLASSES, FEATURES),
                      is_learned ? hk_learned_positions_layer(64) : hk_sinusoidal_positions_layer(),
                      block(), block(), hk_linear_layer(CLASSES, NULL));
    hk_module_initialize(net, &(hk_init){.kind = HK_INIT_NORMAL, .value = 0.3});
    hk_module_set_training(net, false);
    return net;
}

static void read(hk_array *x, float *to, int64_t count)
{
    CHECK(hk_size(x) == count);
    CHECK(hk_ok(hk_to_host(x, to, (size_t)count * sizeof *to)));
}

static double distance(const float *a, const float *b, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* ---- caches ---------------------------------------------------------------------------------- */

/* Rows of 5, 3 and 1 tokens, which all go on for 6. */
static void test_same_as_whole(bool is_learned)
{
    enum { ROWS = 3, FIRST = 5, MORE = 6, ALL = FIRST + MORE };
    static const int32_t lengths[ROWS] = {5, 3, 1};
    HK_SCOPE;
    hk_module *net = network(is_learned);
    hk_cache *cache = hk_cache_create(ALL);
    int32_t rows[ROWS][ALL], prompts[ROWS][FIRST];
    float whole[ROWS][ALL][CLASSES], first[ROWS][FIRST][CLASSES], next[ROWS][CLASSES];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ALL; j++) {
            rows[i][j] = (i * 7 + j * 5) % CLASSES;
            if (j < FIRST)
                prompts[i][j] = j < lengths[i] ? rows[i][j] : 0; /* padding */
        }
    read(hk_forward(net, hk_from_host(rows, hk_shape(ROWS, ALL), HK_I32, here)), &whole[0][0][0],
         ROWS * ALL * CLASSES);
    read(hk_forward_cached(net, hk_from_host(prompts, hk_shape(ROWS, FIRST), HK_I32, here), cache,
                           hk_from_host(lengths, hk_shape(ROWS), HK_I32, here)),
         &first[0][0][0], ROWS * FIRST * CLASSES);
    for (int i = 0; i < ROWS; i++)
        CHECK(distance(whole[i][0], first[i][0], lengths[i] * CLASSES) < 1e-5);
    for (int step = 0; step < MORE; step++) {
        int32_t token[ROWS];
        for (int i = 0; i < ROWS; i++)
            token[i] = rows[i][lengths[i] + step];
        read(hk_forward_cached(net, hk_from_host(token, hk_shape(ROWS, 1), HK_I32, here), cache,
                               NULL),
             &next[0][0], ROWS * CLASSES);
        for (int i = 0; i < ROWS; i++)
            CHECK(distance(whole[i][lengths[i] + step], next[i], CLASSES) < 1e-5);
    }
    /* The first row is full. */
    hk_array *x = hk_forward_cached(net, hk_zeros(hk_shape(ROWS, 1), HK_I32, here), cache, NULL);
    CHECK(hk_status_code(hk_wait(x)) == HK_OUT_OF_RANGE);
    hk_failures_clear();
    hk_cache_clear(cache);
    x = hk_forward_cached(net, hk_zeros(hk_shape(1, 2), HK_I32, here), cache, NULL);
    CHECK(hk_ok(hk_wait(x)) && hk_dim(x, 0) == 1);
    hk_cache_release(cache);
    hk_module_release(net);
}

static void check_refused(hk_array *x, hk_code code, const char *text)
{
    const hk_status *status = hk_wait(x);
    if (hk_status_code(status) != code || !strstr(hk_status_message(status), text))
        hk_status_print(status, stderr);
    CHECK(hk_status_code(status) == code);
    CHECK(strstr(hk_status_message(status), text));
    hk_failures_clear();
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_module *net = network(true);
    hk_cache *cache = hk_cache_create(4);
    hk_array *two = hk_zeros(hk_shape(1, 2), HK_I32, here);
    check_refused(hk_forward_cached(net, two, NULL, NULL), HK_INVALID_ARGUMENT, "cache is NULL");
    check_refused(hk_forward_cached(net, hk_zeros(hk_shape(1, 5), HK_I32, here), cache, NULL),
                  HK_OUT_OF_RANGE, "room for 4");
    check_refused(hk_forward_cached(net, two, cache, hk_full(hk_shape(1), 3, HK_I32, here)),
                  HK_OUT_OF_RANGE, "3");
    hk_cache_clear(cache);
    check_refused(hk_forward_cached(net, two, cache, hk_full(hk_shape(1), 0, HK_I32, here)),
                  HK_OUT_OF_RANGE, "");
    hk_cache_clear(cache);
    check_refused(hk_forward_cached(net, two, cache, hk_full(hk_shape(2), 1, HK_I32, here)),
                  HK_INVALID_ARGUMENT, "lengths must be integers (1,)");
    CHECK(hk_ok(hk_wait(hk_forward_cached(net, two, cache, NULL))));
    check_refused(hk_forward_cached(net, two, cache, NULL), HK_INVALID_ARGUMENT, "(1,1,");
    hk_cache *none = hk_cache_create(0);
    CHECK(hk_status_code(hk_cache_status(none)) == HK_INVALID_ARGUMENT);
    check_refused(hk_forward_cached(net, two, none, NULL), HK_INVALID_ARGUMENT, "capacity is 0");
    hk_module *others[] = {
        hk_recurrent_layer(HK_RECURRENT_GRU, 4, false),
        hk_recurrent_stack(HK_RECURRENT_LSTM, 4, NULL),
        hk_attention_layer(4, 2, false),
    };
    hk_array *x = hk_zeros(hk_shape(1, 2, 4), HK_F32, here);
    for (int i = 0; i < 3; i++) {
        hk_cache_clear(cache);
        check_refused(hk_forward_cached(others[i], x, cache, NULL), HK_UNSUPPORTED, "all of them");
        hk_module_release(others[i]);
    }
    hk_cache_release(cache);
    hk_cache_release(none);
    hk_module_release(net);
}

/* ---- sampling -------------------------------------------------------------------------------- */

/* How often each of 4 classes comes, of 4000 rows alike. */
static void count_samples(const hk_sample_options *options, int counts[4])
{
    enum { ROWS = 4000 };
    static const float logits[4] = {0, 1, 2, 3}; /* 0.032 0.087 0.237 0.644 */
    static int64_t samples[ROWS];
    HK_SCOPE;
    hk_array *x =
        hk_broadcast_to(hk_from_host(logits, hk_shape(4), HK_F32, here), hk_shape(ROWS, 4));
    hk_seed(3);
    CHECK(hk_ok(hk_to_host(hk_sample(x, options), samples, sizeof samples)));
    for (int i = 0; i < 4; i++)
        counts[i] = 0;
    for (int i = 0; i < ROWS; i++)
        counts[samples[i]]++;
}

static bool is_near(int count, double chance)
{
    return fabs(count - 4000 * chance) < 150;
}

static void test_sample(void)
{
    HK_SCOPE;
    int counts[4];
    count_samples(NULL, counts);
    CHECK(is_near(counts[0], 0.032) && is_near(counts[1], 0.087) && is_near(counts[2], 0.237));
    count_samples(&(hk_sample_options){.temperature = HK_ZERO}, counts);
    CHECK(counts[3] == 4000);
    count_samples(&(hk_sample_options){.top_k = 2}, counts);
    CHECK(counts[0] == 0 && counts[1] == 0 && is_near(counts[2], 0.269));
    count_samples(&(hk_sample_options){.top_p = 0.7}, counts);
    CHECK(counts[0] == 0 && counts[1] == 0 && is_near(counts[2], 0.269));
    count_samples(&(hk_sample_options){.top_p = 0.01}, counts);
    CHECK(counts[3] == 4000);
    count_samples(&(hk_sample_options){.temperature = 1e6}, counts);
    CHECK(is_near(counts[0], 0.25) && is_near(counts[3], 0.25));
    hk_array *x = hk_zeros(hk_shape(2, 3), HK_F32, here);
    check_refused(hk_sample(x, &(hk_sample_options){.temperature = -1}), HK_OUT_OF_RANGE,
                  "temperature");
    check_refused(hk_sample(x, &(hk_sample_options){.top_p = 2}), HK_OUT_OF_RANGE, "top_p");
    check_refused(hk_sample(x, &(hk_sample_options){.top_k = -1}), HK_OUT_OF_RANGE, "top_k");
    check_refused(hk_sample(hk_zeros(hk_shape(2), HK_I32, here), NULL), HK_INVALID_ARGUMENT,
                  "floats");
}

/* ---- texts ----------------------------------------------------------------------------------- */

enum { ROWS = 3, FIRST = 4, NEW = 12 };

static const int32_t prompts[ROWS][FIRST] = {{1, 2, 3, 4}, {5, 6, 0, 0}, {7, 0, 0, 0}};
static const int32_t lengths[ROWS] = {4, 2, 1};

static void generate(hk_module *const *nets, const hk_device *devices, int count,
                     const hk_generate_options *options, int64_t out[ROWS][NEW])
{
    HK_SCOPE;
    hk_array *x = hk_generate_over(nets, devices, count,
                                   hk_from_host(prompts, hk_shape(ROWS, FIRST), HK_I32, here),
                                   hk_from_host(lengths, hk_shape(ROWS), HK_I32, here), options);
    CHECK(hk_ok(hk_wait(x)));
    CHECK(hk_ok(hk_to_host(x, out, sizeof(int64_t[ROWS][NEW]))));
}

/* The likeliest tokens, by whole forward passes of each row alone. */
static void test_likeliest(hk_module *net)
{
    int64_t made[ROWS][NEW];
    const hk_generate_options options = {.most_tokens = NEW, .temperature = HK_ZERO};
    generate(&net, NULL, 1, &options, made);
    for (int row = 0; row < ROWS; row++) {
        int32_t tokens[FIRST + NEW];
        int count = lengths[row];
        memcpy(tokens, prompts[row], sizeof prompts[row]);
        for (int i = 0; i < NEW; i++) {
            HK_SCOPE;
            hk_array *x = hk_forward(net, hk_from_host(tokens, hk_shape(1, count), HK_I32, here));
            int64_t best;
            CHECK(hk_ok(hk_to_host(hk_argmax(hk_slice(x, 1, count - 1, count), -1), &best, 8)));
            CHECK(best == made[row][i]);
            tokens[count++] = (int32_t)best;
        }
    }
}

typedef struct seen {
    int64_t tokens[NEW][ROWS];
    int count, most;
} seen;

static bool note(void *of, const int64_t *tokens, int64_t rows)
{
    seen *self = of;
    CHECK(rows == ROWS);
    memcpy(self->tokens[self->count++], tokens, sizeof self->tokens[0]);
    return self->count < self->most;
}

static void test_seeds(hk_module *net)
{
    int64_t one[ROWS][NEW], same[ROWS][NEW], other[ROWS][NEW];
    hk_generator *generator = hk_generator_create(5);
    hk_generate_options options = {.most_tokens = NEW, .top_k = 9, .generator = generator};
    generate(&net, NULL, 1, &options, one);
    generate(&net, NULL, 1, &options, other);
    CHECK(memcmp(one, other, sizeof one));
    hk_generator_release(generator);
    options.generator = NULL;
    hk_seed(5);
    seen all = {.most = NEW};
    options.each = note;
    options.of = &all;
    hk_module_set_training(net, true); /* dropout would draw */
    generate(&net, NULL, 1, &options, same);
    CHECK(hk_module_is_training(net));
    hk_module_set_training(net, false);
    CHECK(!memcmp(one, same, sizeof one) && all.count == NEW);
    for (int i = 0; i < NEW; i++)
        for (int row = 0; row < ROWS; row++)
            CHECK(all.tokens[i][row] == one[row][i]);
    all.count = 0;
    all.most = 3;
    hk_seed(5);
    generate(&net, NULL, 1, &options, same);
    CHECK(all.count == 3 && same[0][2] == one[0][2] && same[0][3] == -1);
}

/* The same numbers on one device and on two of a kind. */
static void test_devices(hk_module *net, const char *first, const char *second)
{
    int64_t one[ROWS][NEW], two[ROWS][NEW];
    const hk_device devices[] = {hk_device_named(first), hk_device_named(second)};
    hk_module *nets[] = {hk_module_replicate(net, devices[0]),
                         hk_module_replicate(net, devices[1])};
    const hk_generate_options options = {.most_tokens = NEW, .temperature = 0.9};
    hk_seed(11);
    generate(nets, devices, 1, &options, one);
    hk_seed(11);
    generate(nets, devices, 2, &options, two);
    CHECK(!memcmp(one, two, sizeof one));
    hk_module_release(nets[0]);
    hk_module_release(nets[1]);
}

static void test_generate_refusals(hk_module *net)
{
    HK_SCOPE;
    const hk_generate_options options = {.most_tokens = 3};
    hk_array *x = hk_from_host(prompts, hk_shape(ROWS, FIRST), HK_I32, here);
    check_refused(hk_generate(net, x, NULL, NULL), HK_INVALID_ARGUMENT, "most_tokens is 0");
    check_refused(hk_generate(NULL, x, NULL, &options), HK_INVALID_ARGUMENT, "NULL");
    check_refused(hk_generate(net, hk_zeros(hk_shape(3), HK_I32, here), NULL, &options),
                  HK_INVALID_ARGUMENT, "prompts must be");
    check_refused(hk_generate(net, hk_full(hk_shape(1, 2), CLASSES, HK_I32, here), NULL, &options),
                  HK_OUT_OF_RANGE, "");
    check_refused(hk_generate(net, x, NULL, &(hk_generate_options){.most_tokens = 70}),
                  HK_OUT_OF_RANGE, ""); /* the layer of positions knows 64 */
}

int main(void)
{
    hk_runtime_init(&(hk_runtime_options){
        .cpu_devices = 2, .sim = &(const hk_sim_options){.count = 2}, .sim_count = 1});
    test_same_as_whole(true);
    test_same_as_whole(false);
    test_refusals();
    test_sample();
    hk_module *net = network(true);
    test_likeliest(net);
    test_seeds(net);
    test_devices(net, "cpu:0", "cpu:1");
    test_devices(net, "sim:0", "sim:1");
    test_generate_refusals(net);
    hk_module_release(net);
    hk_runtime_deinit();
    return check_result();
}
