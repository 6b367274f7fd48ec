/* Training: the same losses on one device and on several. */
#include "check.h"

#include <hocket/hocket.h>

#include <math.h>

enum { DEVICES = 3, PARAMS = 4, STEPS = 12, BATCH = 32, INPUTS = 10, HIDDEN = 16, CLASSES = 4 };

static hk_array *network(hk_array *x, hk_array *const p[PARAMS])
{
    return hk_linear(hk_tanh(hk_linear(x, p[0], p[1])), p[2], p[3]);
}

/* The losses of each step, summed over the batch. */
static void train(int devices, hk_all_reduce_algorithm algorithm, double losses[STEPS])
{
    static const int64_t shapes[PARAMS][2] = {
        {HIDDEN, INPUTS}, {HIDDEN, 0}, {CLASSES, HIDDEN}, {CLASSES, 0}};
    HK_SCOPE;
    hk_array *params[DEVICES][PARAMS], *grads[PARAMS][DEVICES];
    hk_device list[DEVICES];
    hk_seed(7);
    for (int d = 0; d < devices; d++)
        list[d] = hk_device_at(d);
    for (int i = 0; i < PARAMS; i++) {
        hk_dims shape = hk_dims_of(shapes[i], shapes[i][1] ? 2 : 1);
        hk_array *start = hk_multiply(hk_random_normal(shape, HK_F32, list[0]), 0.3);
        for (int d = 0; d < devices; d++) {
            params[d][i] = hk_to_device(start, list[d]);
            hk_attach_grad(params[d][i], HK_GRAD_WRITE);
            grads[i][d] = hk_grad(params[d][i]);
        }
    }
    for (int step = 0; step < STEPS; step++) {
        HK_SCOPE;
        hk_array *x[DEVICES], *labels[DEVICES], *loss[DEVICES];
        hk_array *batch = hk_random_normal(hk_shape(BATCH, INPUTS), HK_F32, list[0]);
        hk_array *classes = hk_argmax(hk_slice(batch, 1, 0, CLASSES), 1);
        hk_split_and_load(batch, list, devices, NULL, x);
        hk_split_and_load(classes, list, devices, NULL, labels);
        hk_record_begin();
        for (int d = 0; d < devices; d++)
            loss[d] = hk_softmax_cross_entropy(network(x[d], params[d]), labels[d]);
        hk_record_end();
        for (int d = 0; d < devices; d++)
            hk_backward(loss[d]);
        for (int i = 0; i < PARAMS && devices > 1; i++)
            hk_all_reduce_by(grads[i], devices, algorithm);
        for (int d = 0; d < devices; d++)
            hk_sgd(params[d], PARAMS, &(hk_sgd_options){.lr = 0.5, .batch = BATCH});
        losses[step] = 0;
        for (int d = 0; d < devices; d++)
            losses[step] += hk_item(hk_sum(loss[d], NULL), NULL);
    }
    /* All devices have the same parameters, byte for byte. */
    for (int i = 0; i < PARAMS; i++)
        for (int d = 1; d < devices; d++) {
            float first[HIDDEN * HIDDEN], other[HIDDEN * HIDDEN];
            size_t bytes = (size_t)hk_size(params[d][i]) * sizeof(float);
            hk_to_host(params[0][i], first, bytes);
            hk_to_host(params[d][i], other, bytes);
            CHECK(memcmp(first, other, bytes) == 0);
        }
}

/* What cannot be a parameter is told why, and what would be right. */
static void test_wrong_parameters(void)
{
    HK_SCOPE;
    hk_array *whole = hk_ones(hk_shape(2), HK_I32, (hk_device){0});
    hk_array *plain = hk_ones(hk_shape(2), HK_F32, (hk_device){0});
    hk_sgd(&whole, 1, &(hk_sgd_options){.lr = 0.5});
    hk_sgd(&plain, 1, &(hk_sgd_options){.lr = 0.5});
    CHECK(strstr(hk_status_message(hk_wait(whole)), "float32 or float64"));
    CHECK(strstr(hk_status_message(hk_wait(plain)), "hk_attach_grad gives it one"));
    hk_failures_clear();
}

int main(void)
{
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = DEVICES});
    double one[STEPS], losses[STEPS];
    train(1, HK_ALL_REDUCE_DEFAULT, one);
    CHECK(one[STEPS - 1] < 0.8 * one[0]);
    for (int devices = 2; devices <= DEVICES; devices++)
        for (int algorithm = 0; algorithm < 3; algorithm++) {
            train(devices, (hk_all_reduce_algorithm)algorithm, losses);
            for (int step = 0; step < STEPS; step++)
                CHECK(fabs(losses[step] - one[step]) <= 1e-4 * fabs(one[step]));
        }
    CHECK(hk_ok(hk_wait_all()));
    test_wrong_parameters();
    hk_runtime_deinit();
    return check_result();
}
