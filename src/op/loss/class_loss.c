/* Losses of class labels: cross entropy of logits, and minus the logarithms of probabilities, with weights of classes, labels
 * that are ignored, and smoothing. The classes of a sample are a row of an internal operator, which does both in one pass. */
#include "op/loss/class_loss.h"

#include "array/axis.h"
#include "array/integer_element.h"
#include "op/reduce/reduce.h"
#include "op/reduce/row_sums.h"
#include "op/shape/reshape.h"
#include "op/softmax_norm/softmax_rows.h"

#include <hocket/nn.h>

#include <inttypes.h>
#include <math.h>

#define NLL_LOSS_OPTIONS(F, op)                                                                    \
    F(op, INT, axis, "1", "of the classes; -1 is the last, HK_FIRST_AXIS the first")               \
    F(op, INT, reduction, "HK_LOSS_MEAN", "an hk_loss_reduction")                                  \
    F(op, BOOL, ignores, "false", "labels that are `ignored` count nothing")                       \
    F(op, INT, ignored, "0", "the label that `ignores` means")
#define CROSS_ENTROPY_LOSS_OPTIONS(F, op)                                                          \
    NLL_LOSS_OPTIONS(F, op)                                                                        \
    F(op, F64, label_smoothing, "0", "of a target's weight, shared among all classes; 0 … 1")
HKI_ARGUMENTS_TABLE(class_loss, CLASS_LOSS_ARGUMENTS)
HKI_OPTIONS(nll_loss, NLL_LOSS_OPTIONS)
HKI_OPTIONS(cross_entropy_loss, CROSS_ENTROPY_LOSS_OPTIONS)
#define class_loss_backward_params class_loss_params

enum {
    X = HKI_CLASS_LOSS_X,
    LABELS = HKI_CLASS_LOSS_LABELS,
    WEIGHT = HKI_CLASS_LOSS_WEIGHT,
    DY = HKI_CLASS_LOSS_DY
};

/* ---- rows ------------------------------------------------------------------------------------------------- */

static bool rows_infer(hki_call *call)
{
    call->out_shape[0] = call->out_shape[1] = call->inputs[LABELS]->shape;
    call->out_dtype[0] = call->out_dtype[1] = call->inputs[X]->dtype;
    return true;
}

static bool rows_backward_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[X]->shape;
    call->out_dtype[0] = call->inputs[X]->dtype;
    return true;
}

static void rows_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[X];
    const double ns = x->dtype == HK_F32 ? 2 : 8;
    plan->grain = 8;
    plan->work_ns = (double)x->shape.dims[0] * (30 + ns * (double)x->shape.dims[1]);
}

enum { IGNORED = -1, WRONG = -2 };

/* The label of a row, or one of the above; WRONG: the task has been failed for it. */
static int64_t label_of(const hki_kernel_call *call, int64_t piece, int64_t row)
{
    const hki_class_loss_options *o = call->options;
    const hki_tensor *labels = &call->in[LABELS];
    const int64_t classes = call->in[X].dims[1];
    const int64_t label = hki_index_load(labels->dtype, labels->data, row);
    if (o->ignores && label == o->ignored)
        return IGNORED;
    if (label >= 0 && label < classes)
        return label;
    hki_task_fail(call->task, piece, HK_OUT_OF_RANGE,
                  "label %" PRId64 " of labels, in C order, is %" PRId64 ", but there are %" PRId64
                  " classes, so that a label is in [0, %" PRId64 ")",
                  call->first_index + row, label, classes, classes);
    return WRONG;
}

/* With p of softmax(x), w the weights of classes and s the smoothing, of C classes:
 * (1 - s) w[y] (-ln p[y]) + s / C sum of w[c] (-ln p[c]).
 * What weighs 0 does not count: where it is NaN or infinite nothing becomes NaN. */
#define ROWS(name, T)                                                                              \
    static double log_sum_##name(const T *x, int64_t classes)                                      \
    {                                                                                              \
        const hki_softmax_rows *rows = hki_softmax_rows_get();                                     \
        const T max = rows->max_##name(x, classes);                                                \
        return log(rows->exp_sum_##name(x, classes, max)) + (double)max;                           \
    }                                                                                              \
    static double smooth_##name(const T *x, const T *weight, int64_t classes, double log_sum)      \
    {                                                                                              \
        double sum = 0;                                                                            \
        for (int64_t j = 0; j < classes; j++)                                                      \
            if (!weight || weight[j] != 0)                                                         \
                sum += (log_sum - (double)x[j]) * (weight ? (double)weight[j] : 1);                \
        return sum / (double)classes;                                                              \
    }                                                                                              \
    static void forward_##name(const hki_kernel_call *call, int64_t piece, int64_t begin,          \
                               int64_t end)                                                        \
    {                                                                                              \
        const hki_class_loss_options *o = call->options;                                           \
        const int64_t classes = call->in[X].dims[1];                                               \
        const T *weight = call->in[WEIGHT].data;                                                   \
        T *terms = call->out[0].data, *weights = call->out[1].data;                                \
        for (int64_t i = begin; i < end; i++) {                                                    \
            const T *x = (const T *)call->in[X].data + i * classes;                                \
            const int64_t label = label_of(call, piece, i);                                        \
            terms[i] = weights[i] = 0;                                                             \
            if (label == WRONG)                                                                    \
                return;                                                                            \
            const double own = label != IGNORED && weight ? (double)weight[label] : 1;             \
            if (label == IGNORED || (own == 0 && o->smoothing == 0))                               \
                continue;                                                                          \
            const double log_sum = o->are_logs ? 0 : log_sum_##name(x, classes);                   \
            const double share = (1 - o->smoothing) * own;                                         \
            double term = share != 0 ? share * (log_sum - (double)x[label]) : 0;                   \
            if (o->smoothing > 0)                                                                  \
                term += o->smoothing * smooth_##name(x, weight, classes, log_sum);                 \
            terms[i] = (T)term;                                                                    \
            weights[i] = (T)own;                                                                   \
        }                                                                                          \
    }                                                                                              \
    static void backward_##name(const hki_kernel_call *call, int64_t piece, int64_t begin,         \
                                int64_t end)                                                       \
    {                                                                                              \
        const hki_class_loss_options *o = call->options;                                           \
        const int64_t classes = call->in[X].dims[1];                                               \
        const T *weight = call->in[WEIGHT].data;                                                   \
        const double share = o->smoothing / (double)classes;                                       \
        double all = (double)classes;                                                              \
        if (weight)                                                                                \
            all = hki_row_sum_##name(weight, classes);                                             \
        for (int64_t i = begin; i < end; i++) {                                                    \
            const T *restrict x = (const T *)call->in[X].data + i * classes;                       \
            T *restrict dx = (T *)call->out[0].data + i * classes;                                 \
            const double dy = (double)((const T *)call->in[DY].data)[i];                           \
            const int64_t label = label_of(call, piece, i);                                        \
            if (label == WRONG)                                                                    \
                return;                                                                            \
            const double own =                                                                     \
                label == IGNORED ? 0 : (1 - o->smoothing) * (weight ? (double)weight[label] : 1);  \
            const bool is_nothing =                                                                \
                label == IGNORED || dy == 0 || (own == 0 && o->smoothing == 0);                    \
            if (is_nothing || o->are_logs)                                                         \
                for (int64_t j = 0; j < classes; j++)                                              \
                    dx[j] = 0;                                                                     \
            if (is_nothing)                                                                        \
                continue;                                                                          \
            if (!o->are_logs) {                                                                    \
                const T log_sum = (T)log_sum_##name(x, classes);                                   \
                const T scale = (T)((own + share * all) * dy), less = (T)(share * dy);             \
                hki_softmax_rows_get()->exps_##name(x, classes, log_sum, scale, dx);               \
                for (int64_t j = 0; j < classes; j++)                                              \
                    dx[j] -= weight ? weight[j] * less : less;                                     \
            }                                                                                      \
            dx[label] -= (T)(own * dy);                                                            \
        }                                                                                          \
    }

ROWS(f32, float)
ROWS(f64, double)

static void forward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (call->in[X].dtype == HK_F32 ? forward_f32 : forward_f64)(call, piece, begin, end);
}

static void backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (call->in[X].dtype == HK_F32 ? backward_f32 : backward_f64)(call, piece, begin, end);
}

static void rows_grad(hki_grad_call *call)
{
    hk_array *const inputs[] = {call->inputs[X], call->inputs[LABELS], call->inputs[WEIGHT],
                                call->dy};
    call->dx[X] =
        hki_op_call(&hki_op_class_loss_backward, inputs, 4, call->options, (hk_device){NULL}, NULL);
}

/* All but the weights of classes. */
static hki_batch_kind rows_batch(hki_batch *batch)
{
    batch->first = 1u << X | 1u << LABELS | (batch->input_count > DY ? 1u << DY : 0);
    return HKI_BATCH_EACH;
}

/* ---- losses ----------------------------------------------------------------------------------------------- */

static int64_t axis_of(const hki_call *call)
{
    const int64_t axis = ((const hki_nll_loss_options *)call->options)->axis;
    return axis == HK_FIRST_AXIS ? 0 : axis ? axis : 1;
}

static bool check_labels(hki_call *call, int64_t axis)
{
    const hki_shape_view *x = call->inputs[X], *labels = call->inputs[LABELS];
    char text[256], labels_text[256], wanted_text[256];
    hk_dims wanted = {.ndim = x->shape.ndim - 1};
    for (int i = 0; i < wanted.ndim; i++)
        wanted.dims[i] = x->shape.dims[i < axis ? i : i + 1];
    if (!hki_dtype_is_integer(labels->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "labels is %s, but must be of integers; hk_cast converts",
                               hk_dtype_name(labels->dtype));
    hki_dims_describe(&x->shape, text, sizeof text);
    hki_dims_describe(&labels->shape, labels_text, sizeof labels_text);
    hki_dims_describe(&wanted, wanted_text, sizeof wanted_text);
    if (!hki_dims_equal(&labels->shape, &wanted))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "labels is %s, but must be %s: x %s without its axis of classes, "
                               "%" PRId64,
                               labels_text, wanted_text, text, axis);
    if (x->shape.dims[axis] == 0 && labels->size > 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "x is %s: there are no classes", text);
    call->out_shape[0] = wanted;
    return true;
}

static bool check_weight(hki_call *call, int64_t classes)
{
    const hki_shape_view *weight = call->inputs[WEIGHT];
    const hk_dtype dtype = call->inputs[X]->dtype;
    char text[256];
    if (!weight)
        return true;
    hki_shape_view_describe(weight, text, sizeof text);
    return (weight->dtype == dtype && weight->shape.ndim == 1 &&
            weight->shape.dims[0] == classes) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "weight is %s, but must be %s(%" PRId64 ",): one for each class", text,
                           hk_dtype_name(dtype), classes);
}

static bool loss_infer(hki_call *call)
{
    const hki_nll_loss_options *o = call->options;
    int64_t axis = axis_of(call);
    if (!hki_call_take_axis(call, "axis", &axis, call->inputs[X]->shape.ndim) ||
        !check_labels(call, axis) || !check_weight(call, call->inputs[X]->shape.dims[axis]))
        return false;
    if (o->reduction < HK_LOSS_MEAN || o->reduction > HK_LOSS_NONE)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "reduction is %" PRId64
                               ", but must be HK_LOSS_MEAN, HK_LOSS_SUM or HK_LOSS_NONE",
                               o->reduction);
    if (o->reduction != HK_LOSS_NONE)
        call->out_shape[0] = (hk_dims){.ndim = 0};
    call->out_dtype[0] = call->inputs[X]->dtype;
    return true;
}

static bool cross_entropy_infer(hki_call *call)
{
    const double smoothing =
        ((const hki_cross_entropy_loss_options *)call->options)->label_smoothing;
    if (!(smoothing >= 0 && smoothing <= 1))
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "label_smoothing is %g, but must be from 0 to 1", smoothing);
    return loss_infer(call);
}

/* x as rows of classes. */
static hk_array *rows_of(hk_array *x, int64_t axis, int64_t count)
{
    const int64_t classes = x->shape.dims[axis], axes[] = {axis, -1};
    const hki_reshape_options rows = {.shape = HKI_SHAPE(count, classes)};
    if (axis + 1 < x->shape.ndim)
        x = hki_op_call1(&hki_op_moveaxis, x, axes);
    return hki_op_call1(&hki_op_reshape, x, &rows);
}

static hk_array *compose(const hki_call *call, const hki_class_loss_options *as)
{
    const hki_nll_loss_options *o = call->options;
    const hki_sum_options all = {.axes = {.ndim = 0}};
    const int64_t axis = hki_axis_from_front(axis_of(call), call->arrays[X]->shape.ndim);
    hk_array *labels = call->arrays[LABELS], *weights = NULL;
    const hki_reshape_options flat = {.shape = HKI_SHAPE(labels->size)},
                              shape = {.shape = labels->shape};
    hk_array *const inputs[] = {rows_of(call->arrays[X], axis, labels->size),
                                hki_op_call1(&hki_op_reshape, labels, &flat), call->arrays[WEIGHT]};
    hk_array *terms = hki_op_call(&hki_op_class_loss, inputs, 3, as, (hk_device){NULL}, &weights);
    if (o->reduction == HK_LOSS_NONE)
        return hki_op_call1(&hki_op_reshape, terms, &shape);
    if (o->reduction == HK_LOSS_MEAN && !as->ignores && !call->arrays[WEIGHT])
        return hki_op_call1(&hki_op_mean, terms, &all);
    hk_array *sum = hki_op_call1(&hki_op_sum, terms, &all);
    if (o->reduction == HK_LOSS_SUM || !weights) /* then terms have failed */
        return sum;
    return hki_op_call2(&hki_op_divide, sum, hki_op_call1(&hki_op_sum, weights, &all), NULL);
}

static hki_class_loss_options rows_options(const hki_call *call)
{
    const hki_nll_loss_options *o = call->options;
    const bool are_logs = call->op == &hki_op_nll_loss;
    return (hki_class_loss_options){
        .are_logs = are_logs,
        .smoothing =
            are_logs ? 0 : ((const hki_cross_entropy_loss_options *)call->options)->label_smoothing,
        .ignores = o->ignores,
        .ignored = o->ignored};
}

static hk_array *loss_compose(const hki_call *call)
{
    const hki_class_loss_options as = rows_options(call);
    return compose(call, &as);
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

/* -ln p[c] of a row whose elements are `step` apart. */
static double minus_log(const hki_class_loss_options *o, const double *x, int64_t classes,
                        int64_t step, int64_t c)
{
    double sum = 0;
    for (int64_t k = 0; k < classes; k++)
        sum += exp(x[k * step] - x[c * step]);
    return o->are_logs ? -x[c * step] : log(sum);
}

/* The loss of a row, and its label's weight. */
static double term_of(const hki_class_loss_options *o, const double *x, const double *weight,
                      int64_t classes, int64_t step, int64_t label, double *own)
{
    double term = 0;
    *own = o->ignores && label == o->ignored ? 0 : weight ? weight[label] : 1;
    if (o->ignores && label == o->ignored)
        return 0;
    for (int64_t c = 0; c < classes; c++)
        term += (o->smoothing / (double)classes + (c == label ? 1 - o->smoothing : 0)) *
                (weight ? weight[c] : 1) * minus_log(o, x, classes, step, c);
    return term;
}

static void rows_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t *dims = call->inputs[X]->shape.dims;
    for (int64_t i = 0; i < dims[0]; i++)
        out[0][i] =
            term_of(call->options, in[X] + i * dims[1], call->inputs[WEIGHT] ? in[WEIGHT] : NULL,
                    dims[1], 1, (int64_t)in[LABELS][i], &out[1][i]);
}

static void rows_backward_reference(const hki_call *call, const double *const *in,
                                    double *const *out)
{
    const int64_t *dims = call->inputs[X]->shape.dims;
    const hki_class_loss_options *o = call->options;
    for (int64_t i = 0; i < dims[0] * dims[1]; i++) {
        const int64_t row = i / dims[1], c = i % dims[1], label = (int64_t)in[LABELS][row];
        const double *weight = call->inputs[WEIGHT] ? in[WEIGHT] : NULL;
        const double *x = in[X] + row * dims[1];
        const double p = exp(-minus_log(o, x, dims[1], 1, c));
        double all = 0, mine = weight ? weight[c] : 1, own;
        term_of(o, x, weight, dims[1], 1, label, &own);
        for (int64_t k = 0; k < dims[1]; k++)
            all += o->smoothing / (double)dims[1] * (weight ? weight[k] : 1);
        const double target =
            (c == label ? (1 - o->smoothing) * own : 0) + o->smoothing / (double)dims[1] * mine;
        const double through = o->are_logs ? 0 : p * ((1 - o->smoothing) * own + all);
        const bool counts = !(o->ignores && label == o->ignored);
        out[0][i] = counts ? in[DY][row] * (through - target) : 0;
    }
}

static void loss_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_shape_view *x = call->inputs[X];
    const int64_t reduction = ((const hki_nll_loss_options *)call->options)->reduction;
    const int64_t axis = hki_axis_from_front(axis_of(call), x->shape.ndim);
    const hki_class_loss_options o = rows_options(call);
    int64_t step = 1;
    double sum = 0, weights = 0;
    for (int i = (int)axis + 1; i < x->shape.ndim; i++)
        step *= x->shape.dims[i];
    for (int64_t i = 0; i < call->inputs[LABELS]->size; i++) {
        const int64_t classes = x->shape.dims[axis];
        double own;
        const double term = term_of(&o, in[X] + i / step * classes * step + i % step,
                                    call->inputs[WEIGHT] ? in[WEIGHT] : NULL, classes, step,
                                    (int64_t)in[LABELS][i], &own);
        sum += term;
        weights += own;
        if (reduction == HK_LOSS_NONE)
            out[0][i] = term;
    }
    if (reduction != HK_LOSS_NONE)
        out[0][0] = reduction == HK_LOSS_SUM ? sum : sum / weights;
}

#define OWN(classes) .own = {[LABELS] = {.set = true, .dtype = HK_I32, .low = 0, .high = classes}}
#define WEIGHTED     .low = 0.5, .high = 2
#define ROWS_OPTIONS(...)                                                                          \
    .options = &(const hki_class_loss_options)                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const hki_sample rows_samples[] = {
    {.inputs = {HKI_SHAPE(5, 4), HKI_SHAPE(5), HKI_SHAPE_NONE}, OWN(4)},
    {.inputs = {HKI_SHAPE(7, 300), HKI_SHAPE(7), HKI_SHAPE_NONE},
     OWN(200),
     ROWS_OPTIONS(.smoothing = 0.2, .ignores = true, .ignored = 3),
     .low = -3,
     .high = 3},
    {.inputs = {HKI_SHAPE(6, 3), HKI_SHAPE(6), HKI_SHAPE_NONE},
     OWN(3),
     ROWS_OPTIONS(.are_logs = true, .ignores = true, .ignored = 1)},
    {.inputs = {HKI_SHAPE(6, 3), HKI_SHAPE(6), HKI_SHAPE(3)},
     OWN(3),
     WEIGHTED,
     ROWS_OPTIONS(.smoothing = 0.3)},
    {.inputs = {HKI_SHAPE(0, 3), HKI_SHAPE(0), HKI_SHAPE_NONE}, OWN(3)},
};
static const hki_sample rows_backward_samples[] = {
    {.inputs = {HKI_SHAPE(5, 4), HKI_SHAPE(5), HKI_SHAPE_NONE, HKI_SHAPE(5)}, OWN(4)},
    {.inputs = {HKI_SHAPE(6, 9), HKI_SHAPE(6), HKI_SHAPE_NONE, HKI_SHAPE(6)},
     OWN(9),
     ROWS_OPTIONS(.smoothing = 0.2, .ignores = true, .ignored = 3)},
    {.inputs = {HKI_SHAPE(6, 3), HKI_SHAPE(6), HKI_SHAPE_NONE, HKI_SHAPE(6)},
     OWN(3),
     ROWS_OPTIONS(.are_logs = true)},
    {.inputs = {HKI_SHAPE(6, 3), HKI_SHAPE(6), HKI_SHAPE(3), HKI_SHAPE(6)},
     OWN(3),
     WEIGHTED,
     ROWS_OPTIONS(.smoothing = 0.3, .ignores = true)},
};

#define NLL(...)                                                                                   \
    .options = &(const hki_nll_loss_options)                                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define ENTROPY(...)                                                                               \
    .options = &(const hki_cross_entropy_loss_options)                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample nll_samples[] = {
    {.inputs = {HKI_SHAPE(5, 4), HKI_SHAPE(5), HKI_SHAPE_NONE}, OWN(4)},
    {.inputs = {HKI_SHAPE(3, 4, 2), HKI_SHAPE(3, 2), HKI_SHAPE_NONE},
     OWN(4),
     NLL(.reduction = HK_LOSS_NONE, .ignores = true)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(4), HKI_SHAPE_NONE},
     OWN(3),
     NLL(.axis = -2, .reduction = HK_LOSS_SUM)},
    {.inputs = {HKI_SHAPE(9, 4), HKI_SHAPE(9), HKI_SHAPE(4)},
     OWN(4),
     WEIGHTED,
     NLL(.ignores = true, .ignored = 1)},
};
static const hki_sample cross_entropy_samples[] = {
    {.inputs = {HKI_SHAPE(5, 4), HKI_SHAPE(5), HKI_SHAPE_NONE}, OWN(4)},
    {.inputs = {HKI_SHAPE(3, 4, 2), HKI_SHAPE(3, 2), HKI_SHAPE_NONE},
     OWN(4),
     ENTROPY(.label_smoothing = 0.1, .ignores = true, .ignored = 2)},
    {.inputs = {HKI_SHAPE(2, 2, 5), HKI_SHAPE(2, 2), HKI_SHAPE_NONE},
     OWN(5),
     ENTROPY(.axis = -1, .reduction = HK_LOSS_NONE, .label_smoothing = 1)},
    {.inputs = {HKI_SHAPE(4), HKI_SHAPE_0D, HKI_SHAPE_NONE},
     OWN(4),
     ENTROPY(.axis = -1, .reduction = HK_LOSS_SUM)},
    {.inputs = {HKI_SHAPE(3, 4, 5), HKI_SHAPE(3, 5), HKI_SHAPE(4)},
     OWN(4),
     WEIGHTED,
     ENTROPY(.label_smoothing = 0.2, .ignores = true, .ignored = 1)},
    {.inputs = {HKI_SHAPE(9, 4), HKI_SHAPE(9), HKI_SHAPE(4)}, OWN(4), WEIGHTED},
    {.inputs = {HKI_SHAPE(0, 4), HKI_SHAPE(0), HKI_SHAPE_NONE},
     OWN(4),
     ENTROPY(.reduction = HK_LOSS_SUM)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(3, 4, 2), HKI_SHAPE(3, 2), HKI_SHAPE_NONE},
     OWN(4)},
};

/* ---- operators ------------------------------------------------------------------------------------------- */

const hk_op hki_op_class_loss = {
    HKI_OP_NAMED(class_loss),
    .refuses = true,
    HKI_OP_PARAMS(class_loss),
    HKI_OP_SAMPLES(rows_samples),
    .signature = "x, labels, weight?",
    .doc = "Loss of each row of x (n,classes), and the weight of its label.",
    .dtypes = HKI_FLOATS,
    .output_count = 2,
    .contiguous = true,
    .internal = true,
    .is_part = true,
    .infer = rows_infer,
    .split = HKI_SPLIT_ROWS,
    .plan = rows_plan,
    .batch = rows_batch,
    .kernel = {[HKI_CPU] = forward_cpu},
    .grad = rows_grad,
    .grad_reads = {1 << X | 1 << LABELS | 1 << WEIGHT},
    .no_grad_inputs = 1u << LABELS | 1u << WEIGHT,
    .reference = rows_reference,
    .tolerance_f32 = 2e-6,
};

const hk_op hki_op_class_loss_backward = {
    HKI_OP_NAMED(class_loss_backward),
    .refuses = true,
    HKI_OP_PARAMS(class_loss_backward),
    HKI_OP_SAMPLES(rows_backward_samples),
    .signature = "x, labels, weight?, dy",
    .doc = "Gradient of class_loss with respect to x.",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .internal = true,
    .infer = rows_backward_infer,
    .split = HKI_SPLIT_ROWS,
    .plan = rows_plan,
    .batch = rows_batch,
    .kernel = {[HKI_CPU] = backward_cpu},
    .grad = hki_class_loss_second,
    .grad_reads = {[X] = 15, [DY] = 15},
    .no_grad_inputs = 1u << LABELS | 1u << WEIGHT,
    .reference = rows_backward_reference,
    .tolerance_f32 = 2e-6,
};

const hk_op hki_op_cross_entropy_loss = {
    HKI_OP_NAMED(cross_entropy_loss),
    HKI_OP_PARAMS(cross_entropy_loss),
    HKI_OP_SAMPLES(cross_entropy_samples),
    .signature = "x, labels, weight?",
    .doc =
        "Cross entropy of softmax(x) along an axis of classes against integer labels, of x's "
        "shape without that axis; weight (classes) is of x's dtype. With smoothing s a target is "
        "1 - s for the label and s / classes for each class (Szegedy et al. 2016). The mean is "
        "weighted by the labels' weights, ignored ones left out, and NaN where all are. "
        "A label that is none of the classes fails the result. weight has no gradient. "
        "For rows without any of this, hk_softmax_cross_entropy is as fast.",
    .formula = "mean of -weight[label] ln(softmax(x)[label])",
    .dtypes = HKI_FLOATS,
    .no_grad_inputs = 1u << LABELS | 1u << WEIGHT,
    .infer = cross_entropy_infer,
    .compose = loss_compose,
    .reference = loss_reference,
    .tolerance_f32 = 2e-6,
};

const hk_op hki_op_nll_loss = {
    HKI_OP_NAMED(nll_loss),
    HKI_OP_PARAMS(nll_loss),
    HKI_OP_SAMPLES(nll_samples),
    .signature = "x, labels, weight?",
    .doc = "Minus x at the labels, x being logarithms of probabilities, as hk_log_softmax gives; "
           "all else is as in hk_cross_entropy_loss.",
    .formula = "mean of -weight[label] x[label]",
    .dtypes = HKI_FLOATS,
    .no_grad_inputs = 1u << LABELS | 1u << WEIGHT,
    .infer = loss_infer,
    .compose = loss_compose,
    .reference = loss_reference,
    .tolerance_f32 = 2e-6,
};
