/* Pooling to a size that is given: windows of about one size cover the image. */
#include "op/op.h"
#include "op/pool/pool2d.h"
#include "op/reduce/reduce.h"

#include <math.h>
#include <stdlib.h>

HKI_OPTIONS_TABLE(adaptive_avg_pool2d, ADAPTIVE_POOL2D_OPTIONS)
#define adaptive_max_pool2d_params adaptive_avg_pool2d_params

enum { MOST_WINDOWS = 1 << 20 };

/* What sets the two apart; hk_op.data. */
typedef struct kind {
    const hk_op *windows, *reduction;
} kind;

static const kind average = {&hki_op_avg_pool2d, &hki_op_mean},
                  largest = {&hki_op_max_pool2d, &hki_op_max};

static int64_t size_of(const hki_call *call, int axis)
{
    const int64_t size = ((const hki_adaptive_avg_pool2d_options *)call->options)->size[axis];
    return size ? size : 1;
}

/* Window i of `count` on an axis of `size`: [size i / count, size (i + 1) / count), rounded outwards. */
static int64_t window_begin(int64_t size, int64_t count, int64_t i)
{
    return size / count * i + size % count * i / count;
}

static int64_t window_end(int64_t size, int64_t count, int64_t i)
{
    return size / count * (i + 1) + (size % count * (i + 1) + count - 1) / count;
}

static bool adaptive_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    char text[256];
    hki_dims_describe(&x->shape, text, sizeof text);
    if (x->shape.ndim != 4)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s, but needs 4 axes: samples, channels, height, width", text);
    for (int i = 0; i < 2; i++)
        if (size_of(call, i) < 1 || size_of(call, i) > MOST_WINDOWS || x->shape.dims[2 + i] == 0)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "size[%d] is %lld and x %s; it may be from 1 to %d, or 0 for "
                                   "the default, 1, of at least one element",
                                   i, (long long)size_of(call, i), text, MOST_WINDOWS);
    call->out_shape[0] = x->shape;
    call->out_shape[0].dims[2] = size_of(call, 0);
    call->out_shape[0].dims[3] = size_of(call, 1);
    call->out_dtype[0] = x->dtype;
    return true;
}

/* One axis, whose windows may differ in size. */
static hk_array *along(const hki_call *call, hk_array *x, int axis, int64_t count)
{
    const hk_op *reduction = ((const kind *)call->op->data)->reduction;
    const hki_sum_options over = {.axes = {.ndim = 1, .dims = {axis}}, .keepdims = true};
    const int64_t size = x->shape.dims[axis], at = axis;
    hk_array **parts = malloc((size_t)count * sizeof *parts);
    if (!parts)
        return hki_array_create_failed(call->device, call->operation, &x, 1, HK_OUT_OF_MEMORY,
                                       "there was no host memory for the list of windows");
    for (int64_t i = 0; i < count; i++)
        parts[i] = hki_op_call1(
            reduction,
            (hk_slice)(x, axis, window_begin(size, count, i), window_end(size, count, i)), &over);
    hk_array *y =
        count == 1 ? parts[0]
                   : hki_op_call(&hki_op_concat, parts, (int)count, &at, (hk_device){NULL}, NULL);
    free(parts);
    return y;
}

static hk_array *adaptive_compose(const hki_call *call)
{
    const int64_t *in = call->inputs[0]->shape.dims + 2;
    const int64_t rows = size_of(call, 0), columns = size_of(call, 1);
    hk_array *x = call->arrays[0];
    if (in[0] % rows == 0 && in[1] % columns == 0) {
        const hki_avg_pool2d_options even = {.kernel = {in[0] / rows, in[1] / columns}};
        return hki_op_call1(((const kind *)call->op->data)->windows, x, &even);
    }
    return along(call, along(call, x, 3, columns), 2, rows);
}

static void adaptive_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t *x = call->inputs[0]->shape.dims, *y = call->out_shape[0].dims;
    const bool is_average = call->op->data == &average;
    for (int64_t at = 0; at < y[0] * y[1] * y[2] * y[3]; at++) {
        const double *plane = in[0] + at / (y[2] * y[3]) * x[2] * x[3];
        const int64_t i = at / y[3] % y[2], j = at % y[3];
        const int64_t top = i * x[2] / y[2], bottom = ((i + 1) * x[2] + y[2] - 1) / y[2];
        const int64_t left = j * x[3] / y[3], right = ((j + 1) * x[3] + y[3] - 1) / y[3];
        double sum = 0, max = -INFINITY;
        for (int64_t r = top; r < bottom; r++)
            for (int64_t c = left; c < right; c++) {
                sum += plane[r * x[3] + c];
                max = fmax(max, plane[r * x[3] + c]);
            }
        out[0][at] = is_average ? sum / (double)((bottom - top) * (right - left)) : max;
    }
}

#define SIZE(...)                                                                                  \
    &(const hki_adaptive_avg_pool2d_options)                                                       \
    {                                                                                              \
        .size = { __VA_ARGS__ }                                                                    \
    }
static const hki_sample adaptive_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 6, 4)}},
    {.inputs = {HKI_SHAPE(2, 3, 6, 4)}, .options = SIZE(3, 2)},
    {.inputs = {HKI_SHAPE(2, 2, 7, 5)}, .options = SIZE(3, 2)},
    {.inputs = {HKI_SHAPE(1, 2, 7, 4)}, .options = SIZE(5, 4)},
    {.inputs = {HKI_SHAPE(1, 2, 3, 4)}, .options = SIZE(7, 2)},
    {.inputs = {HKI_SHAPE(0, 2, 7, 5)}, .options = SIZE(3, 2)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 7, 5)}, .options = SIZE(2, 3)},
};

#define ADAPTIVE(op, its_kind, text, its_formula)                                                  \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_PARAMS(op),                                                                         \
        HKI_OP_SAMPLES(adaptive_samples),                                                          \
        .signature = "x",                                                                          \
        .doc = text " of each window of x (n,channels,height,width), where windows are such that " \
                    "there are `size`: (n,channels,size[0],size[1]). Window i of an axis of h "    \
                    "elements goes from i h / size, rounded down, to (i + 1) h / size, rounded "   \
                    "up; of more windows than elements several have the same ones. Sizes that "    \
                    "divide x's are one call of pooling, others two of each row "                  \
                    "and column.",                                                                 \
        .formula = its_formula,                                                                    \
        .dtypes = HKI_FLOATS,                                                                      \
        .infer = adaptive_infer,                                                                   \
        .compose = adaptive_compose,                                                               \
        .reference = adaptive_reference,                                                           \
        .tolerance_f32 = 1e-6,                                                                     \
        .data = &(its_kind),                                                                       \
    }

ADAPTIVE(adaptive_avg_pool2d, average, "Mean", "y[n,c,i,j] = mean of x[n,c,i's rows,j's columns]");
ADAPTIVE(adaptive_max_pool2d, largest, "Largest element",
         "y[n,c,i,j] = max of x[n,c,i's rows,j's columns]");
