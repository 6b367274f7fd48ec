/* Batch normalisation beyond what conformance tests: moving averages, inference, failures, cuts. */
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <math.h>

static hk_array *vector(const float *values, int64_t count)
{
    return hk_from_host(values, hk_shape(count), HK_F32, hk_device_default());
}

static bool holds(hk_array *x, const double *expected, double tolerance)
{
    double *values = read_doubles(x);
    bool same = true;
    for (int64_t i = 0; i < hk_size(x); i++) {
        if (!(fabs(values[i] - expected[i]) <= tolerance)) {
            fprintf(stderr, "[%lld] is %g, not %g\n", (long long)i, values[i], expected[i]);
            same = false;
        }
    }
    free(values);
    return same;
}

/* Two channels of (2,2,2): 1 2 3 6, with mean 3 and unbiased variance 14/3, and four times 5. */
static hk_array *batch(void)
{
    const float values[] = {1, 2, 5, 5, 3, 6, 5, 5};
    return hk_from_host(values, hk_shape(2, 2, 2), HK_F32, hk_device_default());
}

static void test_averages(void)
{
    HK_SCOPE;
    hk_array *gamma = vector((const float[]){2, 3}, 2), *beta = vector((const float[]){-1, 7}, 2);
    hk_array *mean = vector((const float[]){10, 20}, 2);
    hk_array *variance = vector((const float[]){1, 2}, 2);
    hk_array *y = hk_batch_norm_train(batch(), gamma, beta, mean, variance, NULL);
    const double s = 2 / sqrt(3.5 + 1e-5);
    CHECK(holds(y, (const double[]){-2 * s - 1, -s - 1, 7, 7, -1, 3 * s - 1, 7, 7}, 1e-5));
    CHECK(holds(mean, (const double[]){0.9 * 10 + 0.1 * 3, 0.9 * 20 + 0.1 * 5}, 1e-5));
    CHECK(holds(variance, (const double[]){0.9 + 0.1 * 14 / 3, 0.9 * 2}, 1e-5));

    /* A momentum of 1 keeps this batch alone; inference by that. */
    const hk_batch_norm_train_options options = {.momentum = 1, .eps = 0.25};
    hk_batch_norm_train(batch(), gamma, beta, mean, variance, &options);
    CHECK(holds(mean, (const double[]){3, 5}, 1e-6));
    CHECK(holds(variance, (const double[]){14.0 / 3, 0}, 1e-5));
    y = hk_batch_norm(hk_full(hk_shape(1, 2), 4, HK_F32, hk_device_default()), gamma, beta, mean,
                      variance, &(hk_batch_norm_options){.eps = 0.25});
    CHECK(holds(y, (const double[]){2 / sqrt(14.0 / 3 + 0.25) - 1, -3 / 0.5 + 7}, 1e-5));
}

/* The averages are not recorded, and may be updated while the thread records. */
static void test_recording(void)
{
    HK_SCOPE;
    hk_array *x = batch(), *gamma = vector((const float[]){2, 3}, 2);
    hk_array *beta = vector((const float[]){0, 0}, 2), *mean = vector((const float[]){0, 0}, 2);
    hk_array *variance = vector((const float[]){1, 1}, 2);
    hk_attach_grad(gamma, HK_GRAD_WRITE);
    hk_attach_grad(beta, HK_GRAD_WRITE);
    for (int step = 0; step < 2; step++) {
        hk_record_begin();
        hk_array *y = hk_batch_norm_train(x, gamma, beta, mean, variance, NULL);
        hk_record_end();
        CHECK(hk_ok(hk_backward(y)));
    }
    CHECK(holds(hk_grad(gamma), (const double[]){0, 0}, 1e-5));
    CHECK(holds(hk_grad(beta), (const double[]){4, 4}, 1e-6));
    CHECK(holds(mean, (const double[]){0.9 * 0.3 + 0.3, 0.9 * 0.5 + 0.5}, 1e-5));
}

static void test_failures(void)
{
    HK_SCOPE;
    hk_device cpu = hk_device_default();
    hk_array *x = batch(), *two = hk_ones(hk_shape(2), HK_F32, cpu);
    hk_array *three = hk_ones(hk_shape(3), HK_F32, cpu);
    CHECK(is_refused(hk_batch_norm(two, two, two, NULL, NULL, NULL), "2 axes or more"));
    CHECK(is_refused(hk_batch_norm(x, three, two, NULL, NULL, NULL),
                     "gamma is (3,), but must be (2,)"));
    CHECK(is_refused(hk_batch_norm(x, two, hk_ones(hk_shape(2), HK_F64, cpu), NULL, NULL, NULL),
                     "beta is float64"));
    CHECK(is_refused(hk_batch_norm(x, two, two, two, NULL, NULL), "variance is left out"));
    CHECK(is_refused(
        hk_batch_norm(hk_ones(hk_shape(1, 2), HK_F32, cpu), two, two, NULL, NULL, NULL), "need 2"));
    CHECK(is_refused(hk_batch_norm(x, two, two, NULL, NULL, &(hk_batch_norm_options){.eps = -1}),
                     "eps is -1"));

    /* What cannot be normalised does not leave averages that look right; the old ones are kept. */
    hk_array *mean = hk_zeros(hk_shape(2), HK_F32, cpu),
             *variance = hk_ones(hk_shape(2), HK_F32, cpu);
    CHECK(is_refused(hk_batch_norm_train(x, three, two, mean, variance, NULL), "gamma"));
    CHECK(!hk_ok(hk_wait(mean)) && !hk_ok(hk_wait(variance)));
    hk_recover(mean);
    hk_recover(variance);
    CHECK(holds(mean, (const double[]){0, 0}, 0) && holds(variance, (const double[]){1, 1}, 0));
    const hk_batch_norm_train_options wrong = {.momentum = 1.5};
    CHECK(hk_ok(hk_wait(hk_batch_norm_train(x, two, two, mean, variance, &wrong))));
    CHECK(is_refused(mean, "momentum is 1.5"));
    hk_recover(mean);
    hk_recover(variance);
    hk_batch_norm_train(x, two, two, mean, three, NULL);
    CHECK(is_refused(three, "must be float32(2,)"));
    hk_failures_clear();
}

/* A channel's bytes do not depend on which others are there, nor on the pieces that run beside. */
static void test_cuts(void)
{
    HK_SCOPE;
    hk_device cpu = hk_device_default();
    const hk_dims shape = hk_shape(8, 70, 12, 12);
    hk_array *x = hk_random_normal(shape, HK_F32, cpu),
             *gamma = hk_random_normal(hk_shape(70), HK_F32, cpu);
    hk_array *beta = hk_random_normal(hk_shape(70), HK_F32, cpu);
    double *all = read_doubles(hk_batch_norm(x, gamma, beta, NULL, NULL, NULL));
    double *one = read_doubles(hk_batch_norm(hk_slice(x, 1, 33, 34), hk_slice(gamma, 0, 33, 34),
                                             hk_slice(beta, 0, 33, 34), NULL, NULL, NULL));
    int different = 0;
    for (int n = 0; n < 8; n++)
        for (int i = 0; i < 144; i++)
            different += all[(n * 70 + 33) * 144 + i] != one[n * 144 + i];
    CHECK_EQ_I64(different, 0);
    free(all);
    free(one);
}

int main(void)
{
    test_averages();
    test_recording();
    test_failures();
    test_cuts();
    hk_runtime_deinit();
    return check_result();
}
