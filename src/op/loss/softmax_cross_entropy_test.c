/* The loss: labels that are not there, logits beyond what exp can take, refusals. */
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <math.h>

static hk_device device;

static void test_labels(void)
{
    HK_SCOPE;
    enum { ROWS = 20000 };
    int64_t *labels = calloc(ROWS, sizeof *labels);
    hk_array *logits = hk_zeros(hk_shape(ROWS, 10), HK_F32, device);
    hk_array *good = hk_from_host(labels, hk_shape(ROWS), HK_I64, device);
    /* Of several, the first is named, whatever the pieces. */
    labels[19998] = 10;
    labels[123] = -1;
    labels[9000] = INT64_MAX;
    hk_array *bad = hk_from_host(labels, hk_shape(ROWS), HK_I64, device);
    hk_attach_grad(logits, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_softmax_cross_entropy(logits, bad);
    hk_record_end();
    hk_backward(loss);
    CHECK(fails_with(loss, HK_OUT_OF_RANGE, "labels[123] is -1, but logits has 10 classes"));
    CHECK(fails_with(hk_grad(logits), HK_OUT_OF_RANGE, "labels[123] is -1"));
    CHECK(strstr(hk_status_file(hk_wait(loss)), "softmax_cross_entropy_test.c"));
    CHECK(hk_ok(hk_wait(hk_softmax_cross_entropy(logits, good))));
    const uint8_t byte = 200;
    CHECK(fails_with(hk_softmax_cross_entropy(hk_zeros(hk_shape(1, 200), HK_F64, device),
                                              hk_from_host(&byte, hk_shape(1), HK_U8, device)),
                     HK_OUT_OF_RANGE, "labels[0] is 200"));
    free(labels);
    hk_failures_clear();
}

static void test_extremes(void)
{
    HK_SCOPE;
    const float values[] = {1000, -1000, 0, 3e38f, -3e38f, 0, -INFINITY, 0, 0, NAN, 0, 0};
    const int32_t rows[] = {0, 1, 0, 2};
    float loss[4], grad[12];
    hk_array *logits = hk_from_host(values, hk_shape(4, 3), HK_F32, device);
    hk_attach_grad(logits, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_softmax_cross_entropy(logits, hk_from_host(rows, hk_shape(4), HK_I32, device));
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    CHECK(hk_ok(hk_to_host(y, loss, sizeof loss)));
    CHECK(hk_ok(hk_to_host(hk_grad(logits), grad, sizeof grad)));
    CHECK(loss[0] == 0 && loss[1] == INFINITY && loss[2] == INFINITY && isnan(loss[3]));
    CHECK(grad[0] == 0 && grad[1] == 0 && grad[2] == 0);
    CHECK(grad[3] == 1 && grad[4] == -1 && grad[5] == 0);
    CHECK(grad[6] == -1 && grad[7] == 0.5f && grad[8] == 0.5f);
    CHECK(isnan(grad[9]));

    /* softmax keeps its sum, log_softmax its precision. */
    hk_array *p = hk_softmax(logits, 1), *log_p = hk_log_softmax(logits, -1);
    CHECK(hk_item(hk_index(hk_index(p, 0, 0), 0, 0), NULL) == 1);
    CHECK(hk_item(hk_index(hk_index(log_p, 0, 0), 0, 1), NULL) == -2000);
    CHECK(isnan(hk_item(hk_index(hk_index(p, 0, 3), 0, 1), NULL)));
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *logits = hk_zeros(hk_shape(4, 3), HK_F32, device);
    hk_array *labels = hk_zeros(hk_shape(4), HK_I32, device);
    CHECK(fails_with(hk_softmax_cross_entropy(labels, labels), HK_UNSUPPORTED, "logits is int32"));
    CHECK(fails_with(hk_softmax_cross_entropy(logits, logits), HK_INVALID_ARGUMENT,
                     "labels is float32"));
    CHECK(fails_with(hk_softmax_cross_entropy(logits, hk_zeros(hk_shape(3), HK_I32, device)),
                     HK_INVALID_ARGUMENT, "labels is (3,), but must be (4,)"));
    CHECK(fails_with(hk_softmax_cross_entropy(hk_zeros(hk_shape(4), HK_F32, device), labels),
                     HK_INVALID_ARGUMENT, "logits is (4,)"));
    CHECK(fails_with(hk_softmax_cross_entropy(hk_zeros(hk_shape(4, 0), HK_F32, device), labels),
                     HK_INVALID_ARGUMENT, "no classes"));
    hk_failures_clear();
}

int main(void)
{
    device = hk_device_default();
    test_labels();
    test_extremes();
    test_refusals();
    return check_result();
}
