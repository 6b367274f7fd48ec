/* Losses where conformance does not look: far off, at the edges, and refused. */
#include "check.h"
#include "op/operator_fixture.h"

#include <math.h>

static hk_array *values(const float *x, int64_t count)
{
    return hk_from_host(x, hk_shape(count), HK_F32, (hk_device){NULL});
}

/* Neither the loss nor its gradient overflows. */
static void test_far_logits(void)
{
    HK_SCOPE;
    hk_array *x = values((const float[]){1e4f, -1e4f, 1e4f, 0}, 4);
    hk_array *target = values((const float[]){1, 0, 0, 0.5f}, 4);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_binary_cross_entropy_with_logits(
        x, target, &(hk_binary_cross_entropy_with_logits_options){.reduction = HK_LOSS_NONE});
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    float got[4], grad[4];
    CHECK(hk_ok(hk_to_host(loss, got, sizeof got)));
    CHECK(hk_ok(hk_to_host(hk_grad(x), grad, sizeof grad)));
    const float wanted[] = {0, 0, 1e4f, 0.6931472f}, slopes[] = {0, 0, 1, 0};
    for (int i = 0; i < 4; i++)
        CHECK(fabsf(got[i] - wanted[i]) < 1e-5f && fabsf(grad[i] - slopes[i]) < 1e-6f);
}

/* Both sides of delta, and squares that float32 does not hold. */
static void test_huber(void)
{
    HK_SCOPE;
    hk_array *x = values((const float[]){0.5f, 3, -1e30f}, 3);
    hk_array *zeros = values((const float[]){0, 0, 0}, 3);
    float got[3];
    hk_array *loss =
        hk_huber_loss(x, zeros, &(hk_huber_loss_options){.reduction = HK_LOSS_NONE, .delta = 2});
    CHECK(hk_ok(hk_to_host(loss, got, sizeof got)));
    CHECK(got[0] == 0.125f && got[1] == 4 && got[2] == 2e30f);
    CHECK(hk_item(hk_huber_loss(hk_slice(x, 0, 0, 2), hk_slice(zeros, 0, 0, 2), NULL), NULL) ==
          (0.125 + 2.5) / 2);
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = values((const float[]){1, 2, 3}, 3);
    CHECK(is_refused(hk_mse_loss(x, hk_reshape(x, hk_shape(3, 1)), NULL), "nothing is broadcast"));
    CHECK(fails_with(hk_l1_loss(x, x, &(hk_l1_loss_options){.reduction = 3}), HK_OUT_OF_RANGE,
                     "reduction is 3"));
    CHECK(fails_with(hk_huber_loss(x, x, &(hk_huber_loss_options){.delta = -1}), HK_OUT_OF_RANGE,
                     "delta is -1"));
    CHECK(is_refused(hk_hinge_loss(x, hk_cast(x, HK_I32), NULL), "int32"));
    CHECK(hk_array_dtype(hk_mse_loss(x, hk_cast(x, HK_F64), NULL)) == HK_F64);
}

static hk_array *labels_of(const int32_t *values, int64_t count)
{
    return hk_from_host(values, hk_shape(count), HK_I32, (hk_device){NULL});
}

static bool near(hk_array *x, double wanted)
{
    return fabs(hk_item(hk_cast(x, HK_F64), NULL) - wanted) < 1e-6;
}

/* What is ignored may be no class; where all are, there is no mean; gradients of ignored rows are 0. */
static void test_ignored(void)
{
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(4, 3), HK_F64, (hk_device){NULL});
    hk_array *labels = labels_of((const int32_t[]){2, -100, 0, -100}, 4);
    const hk_cross_entropy_loss_options ignoring = {.ignores = true, .ignored = -100};
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_cross_entropy_loss(x, labels, NULL, &ignoring);
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    hk_array *kept = hk_concat(((hk_array *[]){hk_slice(x, 0, 0, 1), hk_slice(x, 0, 2, 3)}), 2, 0);
    hk_array *fast = hk_softmax_cross_entropy(kept, labels_of((const int32_t[]){2, 0}, 2));
    CHECK(near(hk_subtract(loss, hk_mean(fast, NULL)), 0));
    CHECK(near(hk_sum(hk_abs(hk_index(hk_grad(x), 0, 1)), NULL), 0));
    CHECK(near(hk_sum(hk_grad(x), NULL), 0));
    CHECK(!near(hk_sum(hk_abs(hk_index(hk_grad(x), 0, 2)), NULL), 0));
    hk_array *none = labels_of((const int32_t[]){-100, -100, -100, -100}, 4);
    CHECK(isnan(hk_item(hk_cross_entropy_loss(x, none, NULL, &ignoring), NULL)));
    CHECK(fails_with(hk_cross_entropy_loss(x, labels, NULL, NULL), HK_OUT_OF_RANGE,
                     "label 1 of labels, in C order, is -100, but there are 3 classes"));
    hk_failures_clear();
}

/* Whatever stands in a row that is ignored. */
static void test_ignored_second(void)
{
    HK_SCOPE;
    const float logits[] = {1, 2, NAN, INFINITY, 0, 3};
    hk_array *x = hk_reshape(values(logits, 6), hk_shape(3, 2)), *dx, *second;
    hk_array *labels = labels_of((const int32_t[]){0, -1, 1}, 3);
    hk_attach_grad(x, HK_GRAD_TRACK);
    {
        HK_RECORD;
        hk_array *loss =
            hk_cross_entropy_loss(x, labels, NULL,
                                  &(hk_cross_entropy_loss_options){
                                      .reduction = HK_LOSS_SUM, .ignores = true, .ignored = -1});
        hk_gradients(&loss, 1, &x, 1, &(hk_gradients_options){.create_graph = true}, &dx);
        dx = hk_square(dx);
    }
    CHECK(hk_ok(hk_gradients(&dx, 1, &x, 1, NULL, &second)));
    CHECK(near(hk_sum(hk_abs(hk_index(second, 0, 1)), NULL), 0));
    const double s = 1 / (1 + exp(1)); /* 2 (s - 1) s (1 - s), and its opposite */
    CHECK(near(hk_index(hk_index(second, 0, 0), 0, 0), -4 * (1 - s) * (1 - s) * s));
}

/* Nothing overflows, and classes that are ruled out do no harm. */
static void test_far_classes(void)
{
    HK_SCOPE;
    hk_array *x =
        hk_reshape(values((const float[]){1e4f, 0, -INFINITY, 1e4f, -1e4f, 3}, 6), hk_shape(2, 3));
    hk_array *labels = labels_of((const int32_t[]){0, 1}, 2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_cross_entropy_loss(
        x, labels, NULL, &(hk_cross_entropy_loss_options){.reduction = HK_LOSS_SUM});
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    CHECK(near(loss, 2e4));
    float grad[6];
    const float wanted[] = {0, 0, 0, 1, -1, 0};
    CHECK(hk_ok(hk_to_host(hk_grad(x), grad, sizeof grad)));
    for (int i = 0; i < 6; i++)
        CHECK(fabsf(grad[i] - wanted[i]) < 1e-6F);
}

/* Logarithms and logits agree; probabilities of 0 and 1 give numbers. */
static void test_probabilities(void)
{
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(5, 4, 3), HK_F64, (hk_device){NULL});
    hk_array *labels = hk_random_int(0, 4, hk_shape(5, 3), HK_I64, (hk_device){NULL});
    hk_array *logs = hk_log_softmax(x, 1);
    CHECK(near(hk_subtract(hk_nll_loss(logs, labels, NULL, NULL),
                           hk_cross_entropy_loss(x, labels, NULL, NULL)),
               0));
    hk_array *p = values((const float[]){0, 1, 0.25f}, 3), *t = values((const float[]){0, 1, 1}, 3);
    CHECK(near(hk_binary_cross_entropy(p, t, NULL), -log(0.25) / 3));
    CHECK(hk_item(hk_binary_cross_entropy(p, hk_flip(t, 0), NULL), NULL) > 25);
    hk_array *target =
        hk_softmax(hk_random_normal(hk_shape(5, 4, 3), HK_F64, (hk_device){NULL}), 1);
    hk_array *divergence = hk_kl_divergence_loss(
        logs, target, &(hk_kl_divergence_loss_options){.reduction = HK_LOSS_SUM});
    CHECK(hk_item(divergence, NULL) > 0);
    CHECK(near(hk_kl_divergence_loss(hk_log(target), target, NULL), 0));
    CHECK(near(hk_kl_divergence_loss(values((const float[]){-1, -2}, 2),
                                     values((const float[]){0, 1}, 2), NULL),
               1));
}

/* Vectors of zeros have no direction, and no distance, and gradients nevertheless. */
static void test_zero_vectors(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(2, 3), HK_F32, (hk_device){NULL}), *y = hk_ones_like(x);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss =
        hk_add(hk_sum(hk_cosine_similarity(x, y, 1), NULL), hk_triplet_margin_loss(x, x, x, NULL));
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)) && near(loss, 1));
    CHECK(hk_item(hk_all(hk_isfinite(hk_grad(x)), NULL), NULL) == 1);
}

static void test_other_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(2, 3), HK_F32, (hk_device){NULL}), *y = hk_sum(x, NULL);
    hk_array *labels = labels_of((const int32_t[]){0, 1}, 2);
    CHECK(is_refused(hk_cross_entropy_loss(x, x, NULL, NULL),
                     "labels is float32, but must be of integers"));
    CHECK(is_refused(hk_cross_entropy_loss(x, labels_of((const int32_t[]){0, 1, 2}, 3), NULL, NULL),
                     "labels is (3,), but must be (2,): x (2,3) without its axis of classes, 1"));
    CHECK(is_refused(hk_nll_loss(x, labels, labels, NULL),
                     "weight is int32(2,), but must be float32(3,)"));
    CHECK(fails_with(hk_nll_loss(x, labels, NULL, &(hk_nll_loss_options){.axis = 2}),
                     HK_OUT_OF_RANGE, "axis is 2"));
    CHECK(fails_with(hk_nll_loss(x, labels, NULL, &(hk_nll_loss_options){.reduction = -1}),
                     HK_OUT_OF_RANGE, "reduction is -1"));
    CHECK(fails_with(hk_cross_entropy_loss(
                         x, labels, NULL, &(hk_cross_entropy_loss_options){.label_smoothing = 1.5}),
                     HK_OUT_OF_RANGE, "label_smoothing is 1.5"));
    CHECK(is_refused(hk_cosine_similarity(x, y, 0), "y is float32(), but must be like x"));
    CHECK(is_refused(hk_cosine_embedding_loss(x, x, x, NULL),
                     "target is float32(2,3), but must be of shape (2,)"));
    CHECK(fails_with(hk_cosine_embedding_loss(x, x, hk_index(x, 1, 0),
                                              &(hk_cosine_embedding_loss_options){.margin = 2}),
                     HK_OUT_OF_RANGE, "margin is 2"));
    CHECK(is_refused(hk_triplet_margin_loss(y, y, y, NULL), "need an axis"));
    CHECK(
        fails_with(hk_triplet_margin_loss(x, x, x, &(hk_triplet_margin_loss_options){.margin = -1}),
                   HK_OUT_OF_RANGE, "margin is -1"));
    hk_failures_clear();
}

int main(void)
{
    hk_seed(4);
    test_ignored();
    test_ignored_second();
    test_far_classes();
    test_probabilities();
    test_zero_vectors();
    test_other_refusals();
    test_far_logits();
    test_huber();
    test_refusals();
    return check_result();
}
