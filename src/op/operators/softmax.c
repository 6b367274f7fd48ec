/* softmax and log_softmax along one axis. */
#include "op/operators/softmax.h"

#include "base/integer.h"
#include "op/kernels/reduce/softmax_rows.h"
#include "op/operators/line.h"
#include "op/operators/reduce.h"

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
static hk_array *sum_along(hki_grad_call *call, hk_array *x)
{
    hki_sum_options options = {.axes = HKI_SHAPE(0), .keepdims = true};
    options.axes.dims[0] = axis_of(call->options, call->input_shape[0].ndim);
    return hki_op_call1(&hki_op_sum, x, &options);
}

static void softmax_grad(hki_grad_call *call)
{
    hk_array *y = call->output, *dy = call->dy;
    hk_array *mean = sum_along(call, hki_op_call2(&hki_op_multiply, y, dy, NULL));
    hk_array *rest = hki_op_call2(&hki_op_subtract, dy, mean, NULL);
    call->dx[0] = hki_op_call2(&hki_op_multiply, y, rest, NULL);
}

static void log_softmax_grad(hki_grad_call *call)
{
    hk_array *p = hki_op_call1(&hki_op_exp, call->output, NULL);
    hk_array *share = hki_op_call2(&hki_op_multiply, p, sum_along(call, call->dy), NULL);
    call->dx[0] = hki_op_call2(&hki_op_subtract, call->dy, share, NULL);
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

#define AXIS(value)                                                                                \
    &(const hki_softmax_options)                                                                   \
    {                                                                                              \
        .axis = value                                                                              \
    }

static hki_batch_kind softmax_batch(hki_batch *batch)
{
    return hki_lines_batch(batch, ((const hki_softmax_options *)batch->options)->axis);
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
