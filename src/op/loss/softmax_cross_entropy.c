/* Cross entropy of softmax(logits) against class labels, one loss for each row, and its gradient: both in
 * one pass that neither overflows nor cancels. */
#include "array/integer_element.h"
#include "op/op.h"
#include "op/reduce/reduce.h"
#include "op/shape/copy.h"
#include "op/softmax_norm/softmax.h"
#include "op/softmax_norm/softmax_rows.h"

#include <math.h>
#include <string.h>

static bool check(hki_call *call)
{
    const hki_shape_view *logits = call->inputs[0], *labels = call->inputs[1];
    char text[256];
    hki_dims_describe(&logits->shape, text, sizeof text);
    if (logits->shape.ndim != 2)
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "logits is %s, but needs 2 axes: samples, classes; hk_reshape changes a "
            "shape",
            text);
    if (!hki_dtype_is_integer(labels->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "labels is %s, but must be of integers: a class of each sample; "
                               "hk_cast converts",
                               hk_dtype_name(labels->dtype));
    if (labels->shape.ndim != 1 || labels->shape.dims[0] != logits->shape.dims[0]) {
        char labels_text[256];
        hki_dims_describe(&labels->shape, labels_text, sizeof labels_text);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "labels is %s, but must be (%lld,): one for each row of logits %s",
                               labels_text, (long long)logits->shape.dims[0], text);
    }
    if (logits->shape.dims[0] > 0 && logits->shape.dims[1] == 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "logits is %s: there are no classes",
                               text);
    return true;
}

static bool forward_infer(hki_call *call)
{
    if (!check(call))
        return false;
    call->out_shape[0] = call->inputs[1]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static bool backward_infer(hki_call *call)
{
    if (!check(call))
        return false;
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void row_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *logits = call->inputs[0];
    const double ns = logits->dtype == HK_F32 ? 2 : 8;
    plan->grain = 8;
    plan->work_ns = (double)logits->shape.dims[0] * (20 + ns * (double)logits->shape.dims[1]);
}

/* The label of a row, or -1 after the task has been failed for it. */
static int64_t label_of(const hki_kernel_call *call, int64_t piece, int64_t row)
{
    const hki_tensor *labels = &call->in[1];
    const int64_t classes = call->in[0].dims[1];
    const int64_t label = hki_index_load(labels->dtype, labels->data, row);
    if (label >= 0 && label < classes)
        return label;
    hki_task_fail(
        call->task, piece, HK_OUT_OF_RANGE,
        "labels[%lld] is %lld, but logits has %lld classes, so that a label is in [0, %lld)",
        (long long)(call->first_index + row), (long long)label, (long long)classes,
        (long long)classes);
    return -1;
}

#define ROW_FUNCTIONS(name, T)                                                                     \
    static void forward_##name(const hki_kernel_call *call, int64_t piece, int64_t begin,          \
                               int64_t end)                                                        \
    {                                                                                              \
        const hki_softmax_rows *rows = hki_softmax_rows_get();                                     \
        const int64_t classes = call->in[0].dims[1];                                               \
        for (int64_t i = begin; i < end; i++) {                                                    \
            const T *x = (const T *)call->in[0].data + i * classes;                                \
            int64_t label = label_of(call, piece, i);                                              \
            if (label < 0)                                                                         \
                return;                                                                            \
            const T max = rows->max_##name(x, classes);                                            \
            const double sum = rows->exp_sum_##name(x, classes, max);                              \
            ((T *)call->out[0].data)[i] = (T)(log(sum) + ((double)max - (double)x[label]));        \
        }                                                                                          \
    }                                                                                              \
    static void backward_##name(const hki_kernel_call *call, int64_t piece, int64_t begin,         \
                                int64_t end)                                                       \
    {                                                                                              \
        const hki_softmax_rows *rows = hki_softmax_rows_get();                                     \
        const int64_t classes = call->in[0].dims[1];                                               \
        for (int64_t i = begin; i < end; i++) {                                                    \
            const T *restrict x = (const T *)call->in[0].data + i * classes;                       \
            const T dy = ((const T *)call->in[2].data)[i];                                         \
            T *restrict dx = (T *)call->out[0].data + i * classes;                                 \
            int64_t label = label_of(call, piece, i);                                              \
            if (label < 0)                                                                         \
                return;                                                                            \
            if (dy == 0) { /* what does not count may be NaN */                                    \
                memset(dx, 0, (size_t)classes * sizeof(T));                                        \
                continue;                                                                          \
            }                                                                                      \
            const T max = rows->max_##name(x, classes);                                            \
            const T scale = (T)(1 / rows->exp_sum_##name(x, classes, max));                        \
            rows->exps_##name(x, classes, max, scale, dx);                                         \
            dx[label] -= 1;                                                                        \
            for (int64_t j = 0; j < classes; j++)                                                  \
                dx[j] *= dy;                                                                       \
        }                                                                                          \
    }

ROW_FUNCTIONS(f32, float)
ROW_FUNCTIONS(f64, double)

static void forward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (call->in[0].dtype == HK_F32 ? forward_f32 : forward_f64)(call, piece, begin, end);
}

static void backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (call->in[0].dtype == HK_F32 ? backward_f32 : backward_f64)(call, piece, begin, end);
}

static void forward_grad(hki_grad_call *call)
{
    call->dx[0] = hki_op_call3(&hki_op_softmax_cross_entropy_backward, call->inputs[0],
                               call->inputs[1], call->dy, NULL);
}

/* x of one column, as many as dy has elements. */
static hk_array *as_column(hk_array *dy)
{
    if (dy->failed)
        return dy;
    const hk_dims shape = {.ndim = 2, .dims = {dy->shape.dims[0], 1}};
    return hki_array_view(dy, shape, (const int64_t[HK_MAX_NDIM]){dy->strides[0], 0}, dy->offset);
}

/* Of (p - one_hot(labels)) dy with p = softmax(logits): by dy, its factor; by logits, the gradient of p. */
static void backward_grad(hki_grad_call *call)
{
    hk_array *logits = call->inputs[0], *labels = call->inputs[1], *dy = call->inputs[2];
    const hki_sum_options rows = {.axes = HKI_SHAPE(1)},
                          kept = {.axes = HKI_SHAPE(1), .keepdims = true};
    if (call->wanted[2]) {
        hk_array *ones = hki_op_call1(&hki_op_ones_like, dy, NULL);
        hk_array *factor =
            hki_op_call3(&hki_op_softmax_cross_entropy_backward, logits, labels, ones, NULL);
        call->dx[2] = hki_op_call1(&hki_op_sum,
                                   hki_op_call2(&hki_op_multiply, call->dy, factor, NULL), &rows);
    }
    if (!call->wanted[0])
        return;
    hk_array *p = hki_op_call1(&hki_op_softmax, logits, &(const hki_softmax_options){.axis = 1});
    hk_array *dp = hki_op_call2(&hki_op_multiply, call->dy, as_column(dy), NULL);
    hk_array *mean = hki_op_call1(&hki_op_sum, hki_op_call2(&hki_op_multiply, p, dp, NULL), &kept);
    hk_array *by_logits =
        hki_op_call2(&hki_op_multiply, p, hki_op_call2(&hki_op_subtract, dp, mean, NULL), NULL);
    hk_array *counts =
        hki_op_call1(&hki_op_cast, as_column(dy), &(const hki_cast_options){HK_BOOL});
    hk_array *none = hki_op_call1(&hki_op_zeros_like, by_logits, NULL);
    call->dx[0] = hki_op_call3(&hki_op_where, counts, by_logits, none, NULL);
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

/* log(softmax(x))[j] of a row. */
static double log_softmax_of(const double *x, int64_t classes, int64_t j)
{
    double max = -INFINITY, sum = 0;
    for (int64_t k = 0; k < classes; k++)
        max = fmax(max, x[k]);
    for (int64_t k = 0; k < classes; k++)
        sum += exp(x[k] - max);
    return x[j] - max - log(sum);
}

static void forward_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t *dims = call->inputs[0]->shape.dims;
    for (int64_t i = 0; i < dims[0]; i++)
        out[0][i] = -log_softmax_of(in[0] + i * dims[1], dims[1], (int64_t)in[1][i]);
}

static void backward_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t *dims = call->inputs[0]->shape.dims;
    for (int64_t i = 0; i < dims[0]; i++) {
        for (int64_t j = 0; j < dims[1]; j++) {
            double p = exp(log_softmax_of(in[0] + i * dims[1], dims[1], j));
            out[0][i * dims[1] + j] = (p - (j == (int64_t)in[1][i])) * in[2][i];
        }
    }
}

#define LABELS(type, classes) .own = {[1] = {.set = true, .dtype = type, .low = 0, .high = classes}}

static const hki_sample forward_samples[] = {
    {.inputs = {HKI_SHAPE(5, 4), HKI_SHAPE(5)}, LABELS(HK_I32, 4)},
    {.inputs = {HKI_SHAPE(5, 4), HKI_SHAPE(5)}, LABELS(HK_I64, 4), .low = -80, .high = 80},
    {.inputs = {HKI_SHAPE(3, 300), HKI_SHAPE(3)}, LABELS(HK_U8, 200)},
    {.inputs = {HKI_SHAPE(2, 1), HKI_SHAPE(2)}, LABELS(HK_I32, 1)},
    {.inputs = {HKI_SHAPE(0, 4), HKI_SHAPE(0)}, LABELS(HK_I32, 4)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 4), HKI_SHAPE(5)}, LABELS(HK_I32, 4)},
};

static const hki_sample backward_samples[] = {
    {.inputs = {HKI_SHAPE(5, 4), HKI_SHAPE(5), HKI_SHAPE(5)}, LABELS(HK_I32, 4)},
    {.inputs = {HKI_SHAPE(0, 4), HKI_SHAPE(0), HKI_SHAPE(0)}, LABELS(HK_I64, 4)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(5, 4), HKI_SHAPE(5), HKI_SHAPE(5)},
     LABELS(HK_U8, 4)},
};

const hk_op hki_op_softmax_cross_entropy = {
    HKI_OP_NAMED(softmax_cross_entropy),
    .refuses = true,
    HKI_OP_SAMPLES(forward_samples),
    .signature = "logits, labels",
    .doc = "Loss of each sample: minus the logarithm of the probability that softmax(logits) gives "
           "to its "
           "label. logits (n,classes), labels (n) of int32, int64 or uint8: (n). A label that is "
           "not in "
           "[0, classes) fails the result when it is computed.",
    .formula = "y[i] = log(sum over j of exp(logits[i,j])) - logits[i,labels[i]]",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .index_input = 1,
    .index_axis = 1,
    .infer = forward_infer,
    .split = HKI_SPLIT_ROWS,
    .plan = row_plan,
    .batch = hki_batch_all,
    .kernel = {[HKI_CPU] = forward_cpu},
    .grad = forward_grad,
    .grad_reads = {1 | 2},
    .no_grad_inputs = 1u << 1,
    .reference = forward_reference,
    .tolerance_f32 = 1e-6,
};

const hk_op hki_op_softmax_cross_entropy_backward = {
    HKI_OP_NAMED(softmax_cross_entropy_backward),
    .refuses = true,
    HKI_OP_SAMPLES(backward_samples),
    .signature = "logits, labels, dy",
    .doc = "Gradient of softmax_cross_entropy: (softmax(logits) - one_hot(labels)) * dy.",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .index_input = 1,
    .index_axis = 1,
    .internal = true,
    .infer = backward_infer,
    .split = HKI_SPLIT_ROWS,
    .plan = row_plan,
    .batch = hki_batch_all,
    .kernel = {[HKI_CPU] = backward_cpu},
    .grad = backward_grad,
    .grad_reads = {7, 0, 7},
    .no_grad_inputs = 1u << 1,
    .reference = backward_reference,
    .tolerance_f32 = 1e-6,
};
