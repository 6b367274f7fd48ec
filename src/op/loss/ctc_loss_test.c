/* ctc_loss where conformance does not look: targets that do not fit, long sequences, and what is refused. */
#include "check.h"
#include "op/operator_fixture.h"

#include <math.h>

static hk_device device;

static hk_array *whole(const int64_t *values, hk_dims shape)
{
    return hk_from_host(values, shape, HK_I64, device);
}

/* log_probs (4,2,3). */
static hk_array *scores(void)
{
    hk_array *x = hk_reshape(hk_arange(0, 24, 1, HK_F32, device), hk_shape(4, 2, 3));
    return hk_log_softmax(hk_multiply(hk_sin(x), hk_full(hk_shape(), 2, HK_F32, device)), 2);
}

static hk_array *loss_of(hk_array *x, const int64_t *steps, const int64_t *labels,
                         const hk_ctc_loss_options *options)
{
    return hk_ctc_loss(x, whole((const int64_t[]){1, 2, 2, 1, 1, 0}, hk_shape(2, 3)),
                       whole(steps, hk_shape(2)), whole(labels, hk_shape(2)), options);
}

static bool are_near(hk_array *x, double first, double second)
{
    double *got = read_doubles(x);
    const bool same = (got[0] == first || fabs(got[0] - first) < 1e-5) &&
                      (got[1] == second || fabs(got[1] - second) < 1e-5);
    free(got);
    return same;
}

/* Values of another implementation. A target of n equal labels takes 2 n - 1 steps. */
static void test_values(void)
{
    HK_SCOPE;
    const hk_ctc_loss_options each = {.reduction = HK_LOSS_NONE};
    const int64_t all[] = {4, 4}, mixed[] = {2, 3}, fewer[] = {4, 3}, more[] = {3, 3};
    hk_array *x = scores();
    CHECK(are_near(loss_of(x, all, mixed, &each), 1.1655531, 4.4791522));
    CHECK(are_near(loss_of(x, all, (const int64_t[]){2, 2}, &each), 1.1655531, 3.1879399));
    CHECK(are_near(loss_of(x, fewer, more, &each), 4.9047437, INFINITY));
    CHECK(are_near(loss_of(x, (const int64_t[]){0, 3}, (const int64_t[]){0, 2}, &each), 0,
                   4.2812290));
    CHECK(are_near(loss_of(x, (const int64_t[]){0, 3}, (const int64_t[]){1, 2}, &each), INFINITY,
                   4.2812290));
}

/* An infinite loss has no gradient, and takes none from others. */
static void test_infinite(void)
{
    for (int zero = 0; zero < 2; zero++) {
        HK_SCOPE;
        hk_array *x = hk_copy(scores());
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *loss =
            loss_of(x, (const int64_t[]){4, 2}, (const int64_t[]){2, 2},
                    &(hk_ctc_loss_options){.reduction = HK_LOSS_SUM, .zero_infinity = zero});
        hk_record_end();
        CHECK(hk_ok(hk_backward(loss)));
        const double got = hk_item(loss, NULL);
        CHECK(zero ? fabs(got - 1.1655531) < 1e-5 : isinf(got));
        CHECK(hk_item(hk_count_nonzero(hk_slice(hk_grad(x), 1, 1, 2), NULL), NULL) == 0);
        /* each step is at one place or another: of each the probabilities add up to one */
        CHECK(fabs(hk_item(hk_sum(hk_slice(hk_grad(x), 1, 0, 1), NULL), NULL) + 4) < 1e-5);
    }
}

/* Even probabilities of two classes: paths of T steps that show one label, of 2^T. */
static void test_long(void)
{
    HK_SCOPE;
    enum { STEPS = 300 };
    hk_array *x = hk_full(hk_shape(STEPS, 1, 2), -log(2), HK_F32, device);
    hk_array *one = whole((const int64_t[]){1}, hk_shape(1));
    hk_array *loss = hk_ctc_loss(x, hk_reshape(one, hk_shape(1, 1)),
                                 whole((const int64_t[]){STEPS}, hk_shape(1)), one, NULL);
    CHECK(fabs(hk_item(loss, NULL) - (STEPS * log(2) - log(STEPS * (STEPS + 1) / 2))) < 1e-4);
}

static void test_refusals(void)
{
    HK_SCOPE;
    const int64_t all[] = {4, 4}, two[] = {2, 2};
    hk_array *x = scores(), *lengths = whole(two, hk_shape(2));
    hk_array *targets = whole((const int64_t[]){1, 2, 2, 1}, hk_shape(2, 2));
    CHECK(is_refused(hk_ctc_loss(hk_index(x, 0, 0), targets, lengths, lengths, NULL),
                     "log_probs is (2,3), but needs 3 axes"));
    CHECK(is_refused(hk_ctc_loss(x, lengths, lengths, lengths, NULL),
                     "targets is int64(2,), but must be of integers and have 2 axes"));
    CHECK(is_refused(hk_ctc_loss(x, targets, lengths, hk_cast(lengths, HK_F32), NULL),
                     "target_lengths is float32(2,)"));
    CHECK(fails_with(loss_of(x, all, two, &(hk_ctc_loss_options){.blank = 3}), HK_OUT_OF_RANGE,
                     "blank is 3, but must be one of the 3 classes"));
    CHECK(fails_with(loss_of(x, all, two, &(hk_ctc_loss_options){.reduction = 7}), HK_OUT_OF_RANGE,
                     "reduction is 7"));
    CHECK(fails_with(loss_of(x, (const int64_t[]){4, 5}, two, NULL), HK_OUT_OF_RANGE, "5"));
    CHECK(fails_with(loss_of(x, (const int64_t[]){4, -1}, two, NULL), HK_OUT_OF_RANGE, ""));
    CHECK(fails_with(loss_of(x, all, (const int64_t[]){4, 1}, NULL), HK_OUT_OF_RANGE, "8"));
    hk_array *bad = whole((const int64_t[]){1, 2, 3, 1}, hk_shape(2, 2));
    CHECK(fails_with(hk_ctc_loss(x, bad, whole(all, hk_shape(2)), lengths, NULL), HK_OUT_OF_RANGE,
                     "3"));
    hk_failures_clear();
}

int main(void)
{
    device = hk_device_default();
    test_values();
    test_infinite();
    test_long();
    test_refusals();
    return check_result();
}
