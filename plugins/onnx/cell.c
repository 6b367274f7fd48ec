#include "cell.h"

#include <math.h>
#include <string.h>

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* By an exponential that does not overflow; errs by some 1e-7. */
static float hyperbolic(float x)
{
    const float e = expf(-2 * fabsf(x));
    return copysignf((1 - e) / (1 + e), x);
}

static void lstm_cell(hk_task_call *call)
{
    const hk_task_view x = hk_task_view_of(call, 0), h = hk_task_view_of(call, 1);
    const hk_task_view c = hk_task_view_of(call, 2), y = hk_task_view_of(call, 3);
    const int64_t samples = y.shape.dims[1], size = y.shape.dims[2];
    for (int64_t n = hk_task_begin(call); n < hk_task_end(call); n++) {
        const float *from_x = (const float *)x.data + n * 4 * size;
        const float *from_h = (const float *)h.data + n * 4 * size;
        const float *before = (const float *)c.data + n * size;
        float *hidden = (float *)y.data + n * size;
        float *after = (float *)y.data + (samples + n) * size;
        for (int64_t k = 0; k < size; k++) {
            const float i = sigmoid(from_x[k] + from_h[k]);
            const float o = sigmoid(from_x[size + k] + from_h[size + k]);
            const float f = sigmoid(from_x[2 * size + k] + from_h[2 * size + k]);
            const float g = hyperbolic(from_x[3 * size + k] + from_h[3 * size + k]);
            after[k] = f * before[k] + i * g;
            hidden[k] = o * hyperbolic(after[k]);
        }
    }
}

static int64_t count_samples(const hk_task_call *call)
{
    return hk_task_view_of(call, 3).shape.dims[1];
}

static double cell_cost(const hk_task_call *call)
{
    const hk_dims shape = hk_task_view_of(call, 3).shape;
    return 35 * (double)shape.dims[1] * (double)shape.dims[2];
}

static const hk_kernel lstm_kernel = {
    .name = "lstm_cell", .cpu = lstm_cell, .extent = count_samples, .cost_ns = cell_cost};

bool onnx_has_cell(onnx_call *call, hk_dtype dtype)
{
    return dtype == HK_F32 && !hk_is_recording() &&
           !strncmp(hk_device_name(call->device), "cpu", 3);
}

hk_array *onnx_lstm_cell(hk_array *from_x, hk_array *from_h, hk_array *c)
{
    from_x = hk_contiguous(from_x);
    from_h = hk_contiguous(from_h);
    c = hk_contiguous(c);
    return hk_run_new(&lstm_kernel, hk_shape(2, hk_dim(c, 0), hk_dim(c, 1)), HK_F32,
                      HK_ACCESS(hk_reads(from_x), hk_reads(from_h), hk_reads(c)), NULL, 0, NULL);
}
