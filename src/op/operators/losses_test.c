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

int main(void)
{
    test_far_logits();
    test_huber();
    test_refusals();
    return check_result();
}
