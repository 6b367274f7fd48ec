/* softmax and log_softmax along one axis. */
#include "op/softmax_norm/softmax.h"

#include "base/integer.h"
#include "op/op.h"
#include "op/reduce/line.h"
#include "op/reduce/reduce.h"
#include "op/softmax_norm/softmax_rows.h"

#include <math.h>

HKI_ARGUMENTS_TABLE(softmax, SOFTMAX_ARGUMENTS)
#define log_softmax_params softmax_params

/* What sets the operators apart; hk_op.data. */
typedef struct variant {
    bool log_of;
} variant;

static const variant softmax_variant = {false}, log_softmax_variant = {true};

static int axis_of(const void *options, int ndim)
{
    return hki_axis_from_front(((const hki_softmax_options *)options)->axis, ndim);
}

static bool softmax_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = x->dtype;
    return hki_call_check_axis(call, ((const hki_softmax_options *)call->options)->axis);
}

static hki_lines lines_of(int ndim, const int64_t *dims, const void *options)
{
    return hki_lines_of(ndim, dims, ((const hki_softmax_options *)options)->axis);
}

static void softmax_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    const double ns = x->dtype == HK_F32 ? 1.5 : 8;
    hki_lines lines = lines_of(x->shape.ndim, x->shape.dims, call->options);
    plan->extent = lines.size > 0 ? lines.count : 0;
    plan->grain = lines.inner == 1 ? 1 : HKI_SOFTMAX_TILE;
    plan->work_ns = (double)lines.count * (20 + ns * (double)lines.size);
}

#define LINES(name, T)                                                                             \
    static void lines_##name(const T *x, T *y, const hki_lines *lines, bool log_of, int64_t begin, \
                             int64_t end)                                                          \
    {                                                                                              \
        const hki_softmax_rows *rows = hki_softmax_rows_get();                                     \
        const int64_t size = lines->size, inner = lines->inner;                                    \
        for (int64_t i = begin, width; i < end; i += width) {                                      \
            const int64_t at = hki_lines_at(lines, i);                                             \
            width = hki_lines_beside(lines, i, hki_min(end - i, HKI_SOFTMAX_TILE));                \
            if (inner == 1)                                                                        \
                rows->line_##name(x + at, y + at, size, log_of);                                   \
            else                                                                                   \
                rows->tile_##name(x + at, y + at, size, inner, width, log_of);                     \
        }                                                                                          \
    }

LINES(f32, float)
LINES(f64, double)

static void softmax_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    const bool log_of = ((const variant *)call->op->data)->log_of;
    const hki_lines lines = lines_of(x->ndim, x->dims, call->options);
    (void)piece;
    if (x->dtype == HK_F32)
        lines_f32(x->data, call->out[0].data, &lines, log_of, begin, end);
    else
        lines_f64(x->data, call->out[0].data, &lines, log_of, begin, end);
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

/* x summed along the axis, which stays with size 1. */
static hk_array *sum_of(int axis, hk_array *x)
{
    hki_sum_options options = {.axes = HKI_SHAPE(0), .keepdims = true};
    options.axes.dims[0] = axis;
    return hki_op_call1(&hki_op_sum, x, &options);
}

static hk_array *sum_along(hki_grad_call *call, hk_array *x)
{
    return sum_of(axis_of(call->options, call->input_shape[0].ndim), x);
}

static hk_array *multiply(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

static hk_array *subtract(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_subtract, x, y, NULL);
}

/* On CPUs one operator where lines lie side by side; else made of others. */
static void softmax_grad(hki_grad_call *call)
{
    const int ndim = call->input_shape[0].ndim;
    hk_array *y = call->output, *dy = call->dy;
    if (axis_of(call->options, ndim) == ndim - 1)
        call->dx[0] = hki_op_call2(&hki_op_softmax_backward, y, dy, NULL);
    else
        call->dx[0] = multiply(y, subtract(dy, sum_along(call, multiply(y, dy))));
}

static void log_softmax_grad(hki_grad_call *call)
{
    hk_array *p = hki_op_call1(&hki_op_exp, call->output, NULL);
    call->dx[0] = subtract(call->dy, multiply(p, sum_along(call, call->dy)));
}

/* ---- the gradient as an operator: of lines along the last axis, from their softmax y ---------------------- */

enum { Y, DY };

static bool backward_infer(hki_call *call)
{
    const hki_shape_view *y = call->inputs[Y], *dy = call->inputs[DY];
    call->out_shape[0] = y->shape;
    call->out_dtype[0] = y->dtype;
    return (y->shape.ndim > 0 && hki_dims_equal(&y->shape, &dy->shape) && y->dtype == dy->dtype) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "dy does not belong to y");
}

static void backward_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *y = call->inputs[Y];
    const hki_lines lines = hki_lines_of(y->shape.ndim, y->shape.dims, -1);
    plan->extent = lines.size > 0 ? lines.count : 0;
    plan->work_ns = (double)lines.count * (20 + 0.5 * (double)lines.size);
}

static void backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *y = &call->in[Y];
    const hki_softmax_rows *rows = hki_softmax_rows_get();
    const int64_t size = y->dims[y->ndim - 1];
    const void *dy = call->in[DY].data;
    void *dx = call->out[0].data;
    (void)piece;
    for (int64_t at = begin * size; at < end * size; at += size)
        if (y->dtype == HK_F32)
            rows->back_f32((const float *)y->data + at, (const float *)dy + at, (float *)dx + at,
                           size);
        else
            rows->back_f64((const double *)y->data + at, (const double *)dy + at, (double *)dx + at,
                           size);
}

/* a: what comes for dx. By dy it is the same operator. */
static void backward_grad(hki_grad_call *call)
{
    const int axis = call->input_shape[Y].ndim - 1;
    hk_array *y = call->inputs[Y], *dy = call->inputs[DY], *a = call->dy;
    if (call->wanted[DY])
        call->dx[DY] = hki_op_call2(&hki_op_softmax_backward, y, a, NULL);
    if (call->wanted[Y])
        call->dx[Y] = subtract(multiply(a, subtract(dy, sum_of(axis, multiply(y, dy)))),
                               multiply(dy, sum_of(axis, multiply(y, a))));
}

static hki_batch_kind backward_batch(hki_batch *batch)
{
    return batch->in[Y]->shape.ndim > 1 ? hki_batch_all(batch) : HKI_BATCH_NONE;
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

static void softmax_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *shape = &call->inputs[0]->shape;
    const int axis = axis_of(call->options, shape->ndim);
    const bool log_of = ((const variant *)call->op->data)->log_of;
    int64_t size = 1, step = 1, line = shape->dims[axis];
    for (int i = 0; i < shape->ndim; i++)
        size *= shape->dims[i];
    for (int i = axis + 1; i < shape->ndim; i++)
        step *= shape->dims[i];
    for (int64_t i = 0; i < size; i++) {
        const double *first = in[0] + (i - i / step % line * step);
        double max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < line; j++)
            max = fmax(max, first[j * step]);
        for (int64_t j = 0; j < line; j++)
            sum += exp(first[j * step] - max);
        out[0][i] = in[0][i] - max - log(sum);
        if (!log_of)
            out[0][i] = exp(in[0][i] - max) / sum;
    }
}

static void backward_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *shape = &call->inputs[Y]->shape;
    const hki_lines lines = hki_lines_of(shape->ndim, shape->dims, -1);
    for (int64_t at = 0; at < lines.count * lines.size; at += lines.size) {
        double sum = 0;
        for (int64_t j = at; j < at + lines.size; j++)
            sum += in[Y][j] * in[DY][j];
        for (int64_t j = at; j < at + lines.size; j++)
            out[0][j] = in[Y][j] * (in[DY][j] - sum);
    }
}

#define AXIS(value)                                                                                \
    &(const hki_softmax_options)                                                                   \
    {                                                                                              \
        .axis = value                                                                              \
    }

static hki_batch_kind softmax_batch(hki_batch *batch)
{
    return hki_batch_lines(batch, ((const hki_softmax_options *)batch->options)->axis);
}

static const hki_sample softmax_samples[] = {
    {.inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(-1)},
    {.inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(0), .low = -50, .high = 50},
    {.inputs = {HKI_SHAPE(2, 3, 4)}, .options = AXIS(1)},
    {.inputs = {HKI_SHAPE(300)}, .options = AXIS(0)},
    {.inputs = {HKI_SHAPE(1)}, .options = AXIS(0)},
    {.inputs = {HKI_SHAPE(0, 4)}, .options = AXIS(1)},
    {.inputs = {HKI_SHAPE(0, 4)}, .options = AXIS(0)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(1)},
};

const hk_op hki_op_softmax = {
    HKI_OP_NAMED(softmax),
    HKI_OP_PARAMS(softmax),
    HKI_OP_SAMPLES(softmax_samples),
    .signature = "x",
    .doc = "Exponentials of the elements divided by their sum along an axis, without overflow: "
           "probabilities.",
    .formula = "y = exp(x) / sum of exp(x) along axis",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .infer = softmax_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = softmax_plan,
    .batch = softmax_batch,
    .kernel = {[HKI_CPU] = softmax_cpu},
    .grad = softmax_grad,
    .grad_reads = {HKI_READS_OUTPUT},
    .reference = softmax_reference,
    .tolerance_f32 = 1e-6,
    .data = &softmax_variant,
};

const hk_op hki_op_log_softmax = {
    HKI_OP_NAMED(log_softmax),
    HKI_OP_PARAMS(log_softmax),
    HKI_OP_SAMPLES(softmax_samples),
    .signature = "x",
    .doc = "Logarithm of softmax, right also where softmax is 0 to rounding.",
    .formula = "y = x - log(sum of exp(x) along axis)",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .infer = softmax_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = softmax_plan,
    .batch = softmax_batch,
    .kernel = {[HKI_CPU] = softmax_cpu},
    .grad = log_softmax_grad,
    .grad_reads = {HKI_READS_OUTPUT},
    .reference = softmax_reference,
    .tolerance_f32 = 1e-6,
    .data = &log_softmax_variant,
};

static const hki_sample backward_samples[] = {
    {.inputs = {HKI_SHAPE(5, 21), HKI_SHAPE(5, 21)}},
    {.inputs = {HKI_SHAPE(2, 3, 40), HKI_SHAPE(2, 3, 40)}},
    {.inputs = {HKI_SHAPE(7), HKI_SHAPE(7)}},
    {.inputs = {HKI_SHAPE(0, 9), HKI_SHAPE(0, 9)}},
    {.inputs = {HKI_SHAPE(9, 0), HKI_SHAPE(9, 0)}},
};

const hk_op hki_op_softmax_backward = {
    HKI_OP_NAMED(softmax_backward),
    HKI_OP_SAMPLES(backward_samples),
    .signature = "y, dy",
    .doc = "Gradient of softmax along the last axis, from its result.",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .internal = true,
    .infer = backward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = backward_plan,
    .batch = backward_batch,
    .kernel = {[HKI_CPU] = backward_cpu},
    .grad = backward_grad,
    .grad_reads = {[Y] = 1 << Y | 1 << DY, [DY] = 1 << Y},
    .reference = backward_reference,
    .tolerance_f32 = 1e-5,
};
