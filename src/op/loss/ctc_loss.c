/* Connectionist temporal classification (Graves et al. 2006): labels without knowing where in a sequence each of them stands. Of
 * logarithms, step by step, made of other operators. */
#include "array/integer_element.h"
#include "op/call/composed.h"
#include "op/reduce/reduce.h"

#include <hocket/nn.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define CTC_LOSS_OPTIONS(F, op)                                                                    \
    F(op, INT, blank, "0", "the class that is no label")                                           \
    F(op, INT, reduction, "HK_LOSS_MEAN",                                                          \
      "an hk_loss_reduction; the mean is of losses by labels of a target")                         \
    F(op, BOOL, zero_infinity, "false", "0 for infinite losses, of targets that do not fit")
HKI_OPTIONS(ctc_loss, CTC_LOSS_OPTIONS)

enum { LOG_PROBS, TARGETS, INPUT_LENGTHS, TARGET_LENGTHS };

/* The logarithm of what is impossible: finite, so that differences of two are, and beyond all sums of others. */
static const double impossible = -1e30, least_loss_of_impossible = 1e29;

static bool check_integers(hki_call *call, int input, int ndim, int64_t samples)
{
    const hki_shape_view *x = call->inputs[input];
    char name[64], text[256];
    hki_op_input_name(call->op, input, name, sizeof name);
    hki_shape_view_describe(x, text, sizeof text);
    return (hki_dtype_is_integer(x->dtype) && x->shape.ndim == ndim &&
            x->shape.dims[0] == samples) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "%s is %s, but must be of integers and have %s, the first of %" PRId64
                           ": one for each sample",
                           name, text, ndim == 1 ? "one axis" : "2 axes", samples);
}

static bool infer(hki_call *call)
{
    const hki_ctc_loss_options *o = call->options;
    const hki_shape_view *x = call->inputs[LOG_PROBS];
    char text[256];
    hki_dims_describe(&x->shape, text, sizeof text);
    if (x->shape.ndim != 3)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "log_probs is %s, but needs 3 axes: steps, samples, classes", text);
    const int64_t samples = x->shape.dims[1];
    if (!check_integers(call, TARGETS, 2, samples) ||
        !check_integers(call, INPUT_LENGTHS, 1, samples) ||
        !check_integers(call, TARGET_LENGTHS, 1, samples))
        return false;
    if (o->blank < 0 || o->blank >= x->shape.dims[2])
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "blank is %" PRId64 ", but must be one of the %" PRId64
                               " classes of log_probs %s",
                               o->blank, x->shape.dims[2], text);
    if (o->reduction < HK_LOSS_MEAN || o->reduction > HK_LOSS_NONE)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "reduction is %" PRId64
                               ", but must be HK_LOSS_MEAN, HK_LOSS_SUM or HK_LOSS_NONE",
                               o->reduction);
    call->out_shape[0] = (hk_dims){.ndim = 0};
    if (o->reduction == HK_LOSS_NONE)
        call->out_shape[0] = (hk_dims){.ndim = 1, .dims = {samples}};
    call->out_dtype[0] = x->dtype;
    return true;
}

/* ---- composed ------------------------------------------------------------------------------------------- */

static hk_array *before(hk_array *x, int64_t count, double value)
{
    return hki_padded(x, 1, count, 0, value);
}

static hk_array *columns(hk_array *x, int64_t begin, int64_t end)
{
    return (hk_slice)(x, 1, begin, end);
}

static hk_array *as_column(hk_array *x)
{
    return hki_expanded(x, 1);
}

/* int64, of which negative ones, which count from an end elsewhere, are as wrong as large ones. */
static hk_array *whole(const hki_call *call, int input)
{
    hk_array *x = hki_as(call->arrays[input], HK_I64);
    hk_array *is_wrong = hki_op_call2(&hki_op_less, x, hki_number(call, 0, HK_I64), NULL);
    return hki_op_call3(&hki_op_where, is_wrong, hki_number(call, INT32_MAX, HK_I64), x, NULL);
}

/* Labels (n, s) with a blank before and behind each of them: (n, 2 s + 1). What is behind a target's end counts as blanks. */
static hk_array *with_blanks(const hki_call *call, hk_array *lengths, double blank)
{
    const hk_dims shape = call->inputs[TARGETS]->shape;
    hk_array *number = hki_counted(call, shape.dims[1], HK_I64);
    hk_array *is_label = hki_op_call2(&hki_op_less, number, as_column(lengths), NULL);
    hk_array *none = (hk_broadcast_to)(hki_number(call, blank, HK_I64), shape);
    hk_array *labels = hki_op_call3(&hki_op_where, is_label, whole(call, TARGETS), none, NULL);
    hk_array *pairs = hki_op_call(&hki_op_stack, (hk_array *[]){labels, none}, 2,
                                  &(const int64_t){2}, (hk_device){NULL}, NULL);
    const hk_dims line = {.ndim = 2, .dims = {shape.dims[0], 2 * shape.dims[1]}};
    return before(hki_shaped(pairs, line), 1, blank);
}

/* What is added to go on from two places before: 0 from a label to another one, not over a blank between equal ones. */
static hk_array *cost_of_skips(const hki_call *call, hk_array *labels, double blank)
{
    hk_array *older = columns(before(labels, 2, blank), 0, labels->shape.dims[1]);
    hk_array *is_other = hki_op_call2(&hki_op_not_equal, labels, older, NULL);
    return hki_op_call3(&hki_op_where, is_other, hki_number(call, 0, HK_F64),
                        hki_number(call, impossible, HK_F64), NULL);
}

/* The logarithms of the probabilities to be at each place (n, 2 s + 1) after each number of steps from 0: (n, steps + 1, 2 s + 1). */
static hk_array *forward(const hki_call *call, hk_array *labels, double blank)
{
    const int64_t *x = call->inputs[LOG_PROBS]->shape.dims, steps = x[0], samples = x[1];
    const int64_t places = 2 * call->inputs[TARGETS]->shape.dims[1] + 1;
    const hk_dims all = {.ndim = 3, .dims = {steps, samples, places}};
    const hk_dims first = {.ndim = 2, .dims = {samples, 1}};
    hk_array **at = malloc((size_t)(steps + 1) * sizeof(hk_array *));
    if (!at)
        return hki_array_create_failed(call->device, call->operation, call->arrays, 1,
                                       HK_OUT_OF_MEMORY,
                                       "there was no host memory for the list of steps");
    hk_array *skips = cost_of_skips(call, labels, blank);
    hk_array *emitted = hki_op_call2(&hki_op_take_along_axis, call->arrays[LOG_PROBS],
                                     (hk_broadcast_to)(labels, all), &(const int64_t){2});
    emitted = hki_op_call_number(&hki_op_maximum_scalar, hki_as(emitted, HK_F64), impossible);
    emitted = hki_shaped(emitted, (hk_dims){.ndim = 2, .dims = {steps * samples, places}});
    at[0] = hki_padded((hk_broadcast_to)(hki_number(call, 0, HK_F64), first), 1, 0, places - 1,
                       impossible);
    for (int64_t t = 0; t < steps; t++) {
        hk_array *old = before(at[t], 2, impossible);
        hk_array *skipped = hki_op_call2(&hki_op_add, columns(old, 0, places), skips, NULL);
        hk_array *sum = hki_op_call2(&hki_op_logaddexp, at[t], columns(old, 1, places + 1), NULL);
        sum = hki_op_call2(&hki_op_logaddexp, sum, skipped, NULL);
        at[t + 1] = hki_op_call2(&hki_op_add, sum,
                                 (hk_slice)(emitted, 0, t * samples, (t + 1) * samples), NULL);
    }
    hk_array *y = hki_op_call(&hki_op_stack, at, (int)(steps + 1), &(const int64_t){1},
                              (hk_device){NULL}, NULL);
    free(at);
    return y;
}

/* Of each sample the loss: a path ends at the last label or at the blank behind it, after its steps. */
static hk_array *losses(const hki_call *call, hk_array *lengths, double blank)
{
    const hki_ctc_loss_options *o = call->options;
    hk_array *labels = with_blanks(call, lengths, blank);
    const int64_t samples = call->inputs[TARGETS]->shape.dims[0];
    const int64_t places = 2 * call->inputs[TARGETS]->shape.dims[1] + 1;
    const hk_dims step = {.ndim = 3, .dims = {samples, 1, places}};
    hk_array *steps = as_column(as_column(whole(call, INPUT_LENGTHS)));
    hk_array *ended = hki_op_call2(&hki_op_take_along_axis, forward(call, labels, blank),
                                   (hk_broadcast_to)(steps, step), &(const int64_t){1});
    ended = hki_squeezed(ended, 1);
    hk_array *end = hki_times(as_column(lengths), 2);
    hk_array *label = hki_op_call_number(&hki_op_maximum_scalar, hki_plus(end, -1), 0);
    hk_array *in_blank = hki_op_call2(&hki_op_take_along_axis, ended, end, &(const int64_t){1});
    hk_array *in_label = hki_op_call2(&hki_op_take_along_axis, ended, label, &(const int64_t){1});
    in_label = hki_op_call3(&hki_op_where, hki_op_call2(&hki_op_equal, end, label, NULL),
                            hki_number(call, impossible, HK_F64), in_label, NULL);
    hk_array *loss =
        hki_times(hki_squeezed(hki_op_call2(&hki_op_logaddexp, in_blank, in_label, NULL), 1), -1);
    hk_array *is_infinite = hki_op_call2(&hki_op_greater, loss,
                                         hki_number(call, least_loss_of_impossible, HK_F64), NULL);
    return hki_op_call3(&hki_op_where, is_infinite,
                        hki_number(call, o->zero_infinity ? 0 : INFINITY, HK_F64), loss, NULL);
}

static hk_array *compose(const hki_call *call)
{
    const hki_ctc_loss_options *o = call->options;
    const hki_sum_options all = {.axes = {.ndim = 0}};
    hk_array *lengths = whole(call, TARGET_LENGTHS);
    hk_array *loss = losses(call, lengths, (double)o->blank);
    if (o->reduction == HK_LOSS_MEAN) {
        hk_array *count = hki_op_call_number(&hki_op_maximum_scalar, hki_as(lengths, HK_F64), 1);
        loss = hki_op_call1(&hki_op_mean, hki_op_call2(&hki_op_divide, loss, count, NULL), &all);
    }
    if (o->reduction == HK_LOSS_SUM)
        loss = hki_op_call1(&hki_op_sum, loss, &all);
    return hki_as(loss, call->out_dtype[0]);
}

/* ---- plainly --------------------------------------------------------------------------------------------- */

/* By probabilities, of one sample. */
static double plain_loss(const hki_call *call, const double *const *in, int64_t n)
{
    const int64_t *x = call->inputs[LOG_PROBS]->shape.dims,
                  s = call->inputs[TARGETS]->shape.dims[1];
    const int64_t blank = ((const hki_ctc_loss_options *)call->options)->blank;
    const int64_t steps = (int64_t)in[INPUT_LENGTHS][n], labels = (int64_t)in[TARGET_LENGTHS][n];
    double *now = calloc((size_t)(2 * (2 * s + 1)), sizeof *now), *next = now + 2 * s + 1,
           sum = NAN;
    for (int64_t t = 0; now && t <= steps; t++) {
        for (int64_t l = 0; l <= 2 * labels; l++) {
            const double *target = in[TARGETS] + n * s + l / 2;
            const int64_t label = l % 2 ? (int64_t)*target : blank;
            const bool skips = l > 1 && l % 2 && target[0] != target[-1];
            const double from = now[l] + (l > 0 ? now[l - 1] : 0) + (skips ? now[l - 2] : 0);
            if (t == 0)
                next[l] = l == 0;
            else
                next[l] = from * exp(in[LOG_PROBS][((t - 1) * x[1] + n) * x[2] + label]);
        }
        for (int64_t l = 0; l <= 2 * labels; l++)
            now[l] = next[l];
    }
    if (now)
        sum = now[2 * labels] + (labels > 0 ? now[2 * labels - 1] : 0);
    free(now);
    return -log(sum);
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_ctc_loss_options *o = call->options;
    const int64_t samples = call->inputs[TARGETS]->shape.dims[0];
    double sum = 0;
    for (int64_t n = 0; n < samples; n++) {
        double loss = plain_loss(call, in, n);
        if (isinf(loss) && o->zero_infinity)
            loss = 0;
        if (o->reduction == HK_LOSS_NONE)
            out[0][n] = loss;
        sum += o->reduction == HK_LOSS_MEAN
                   ? loss / fmax(in[TARGET_LENGTHS][n], 1) / (double)samples
                   : loss;
    }
    if (o->reduction != HK_LOSS_NONE)
        out[0][0] = sum;
}

#define WHOLE(from, to)                                                                            \
    {                                                                                              \
        .set = true, .dtype = HK_I64, .low = (from), .high = (to)                                  \
    }
static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(6, 2, 4), HKI_SHAPE(2, 3), HKI_SHAPE(2), HKI_SHAPE(2)},
     .own = {[1] = WHOLE(1, 4), [2] = WHOLE(5, 7), [3] = WHOLE(1, 4)}},
    {.inputs = {HKI_SHAPE(7, 4, 3), HKI_SHAPE(4, 3), HKI_SHAPE(4), HKI_SHAPE(4)},
     .own = {[1] = WHOLE(0, 2), [2] = WHOLE(5, 8), [3] = WHOLE(0, 4)},
     HKI_GIVEN(ctc_loss, .blank = 2, .reduction = HK_LOSS_NONE)},
    {.inputs = {HKI_SHAPE(4, 6, 3), HKI_SHAPE(6, 4), HKI_SHAPE(6), HKI_SHAPE(6)},
     .own = {[1] = WHOLE(1, 3), [2] = WHOLE(0, 5), [3] = WHOLE(0, 5)},
     HKI_GIVEN(ctc_loss, .reduction = HK_LOSS_SUM, .zero_infinity = true)},
    {.inputs = {HKI_SHAPE(3, 2, 3), HKI_SHAPE(2, 0), HKI_SHAPE(2), HKI_SHAPE(2)},
     .own = {[1] = WHOLE(0, 1), [2] = WHOLE(1, 4), [3] = WHOLE(0, 1)}},
    {.inputs = {HKI_SHAPE(3, 0, 3), HKI_SHAPE(0, 2), HKI_SHAPE(0), HKI_SHAPE(0)},
     .own = {[1] = WHOLE(0, 1), [2] = WHOLE(1, 4), [3] = WHOLE(0, 1)},
     HKI_GIVEN(ctc_loss, .reduction = HK_LOSS_NONE)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(6, 2, 4), HKI_SHAPE(2, 3), HKI_SHAPE(2), HKI_SHAPE(2)},
     .own = {[1] = WHOLE(1, 4), [2] = WHOLE(5, 7), [3] = WHOLE(1, 4)}},
};

const hk_op hki_op_ctc_loss = {
    HKI_OP_NAMED(ctc_loss),
    HKI_OP_PARAMS(ctc_loss),
    HKI_OP_SAMPLES(samples),
    .signature = "log_probs, targets, input_lengths, target_lengths",
    .doc = "Connectionist temporal classification: minus the logarithm of the probability that a "
           "sequence gives its labels, one after the other, with blanks and repetitions anywhere "
           "between them. log_probs (steps,n,classes) are hk_log_softmax of scores; targets "
           "(n,labels), input_lengths (n) and target_lengths (n) are integers: of a sample the "
           "first input_lengths steps and target_lengths labels count. One loss for each sample "
           "(n), their sum, or the mean of each by its number of labels. Infinite where a target "
           "does not fit into its steps; such a loss has no gradient. Computed in float64. A "
           "length or label beyond its axis fails the call as HK_OUT_OF_RANGE.",
    .formula = "y[n] = -ln sum over paths of prod over t of exp(log_probs[t,n,path[t]])",
    .dtypes = HKI_FLOATS,
    .infer = infer,
    .compose = compose,
    .reference = reference,
    .no_grad_inputs = 1u << TARGETS | 1u << INPUT_LENGTHS | 1u << TARGET_LENGTHS,
    .tolerance_f32 = 1e-5,
};
