/* Losses of two arrays of one shape, element by element, then their mean, their sum, or each. Made of other operators; a further
 * one is a term, its reference, and a line at the end. */
#include "base/option.h"
#include "op/elementwise/elementwise.h"
#include "op/reduce/reduce.h"
#include "op/shape/copy.h"

#include <hocket/nn.h>

#include <inttypes.h>
#include <math.h>

#define REDUCTION(F, op) F(op, INT, reduction, "HK_LOSS_MEAN", "an hk_loss_reduction")
#define WITH_DELTA(F, op)                                                                          \
    REDUCTION(F, op)                                                                               \
    F(op, F64, delta, "1", "from where on the loss is a straight line, > 0")

/* What all their options begin with. */
HKI_OPTIONS_STRUCT(loss, REDUCTION)

static bool loss_infer(hki_call *call)
{
    const hki_loss_options *o = call->options;
    const hki_shape_view *x = call->inputs[0], *target = call->inputs[1];
    char a[224], b[224];
    hki_shape_view_describe(x, a, sizeof a);
    hki_shape_view_describe(target, b, sizeof b);
    if (!hki_dims_equal(&x->shape, &target->shape))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s and target %s: both must have one shape; nothing is "
                               "broadcast",
                               a, b);
    if (!hk_dtype_promote(x->dtype, target->dtype, &call->out_dtype[0]))
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "x is %s and target %s: no dtype of one kind holds both; use hk_cast", a, b);
    if (o->reduction < HK_LOSS_MEAN || o->reduction > HK_LOSS_NONE)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "reduction is %" PRId64
                               ", but must be HK_LOSS_MEAN, HK_LOSS_SUM or HK_LOSS_NONE",
                               o->reduction);
    if (o->reduction == HK_LOSS_NONE)
        call->out_shape[0] = x->shape;
    else
        call->out_shape[0] = (hk_dims){.ndim = 0};
    return true;
}

static hk_array *reduced(const hki_call *call, hk_array *terms)
{
    const hki_loss_options *o = call->options;
    const hki_sum_options all = {.axes = {.ndim = 0}};
    if (o->reduction == HK_LOSS_NONE)
        return terms;
    return hki_op_call1(o->reduction == HK_LOSS_SUM ? &hki_op_sum : &hki_op_mean, terms, &all);
}

/* ---- terms ---------------------------------------------------------------------------------------------- */

static hk_array *mse_term(const hki_call *call, hk_array *x, hk_array *target)
{
    (void)call;
    return hki_op_call1(&hki_op_square, hki_op_call2(&hki_op_subtract, x, target, NULL), NULL);
}

static hk_array *l1_term(const hki_call *call, hk_array *x, hk_array *target)
{
    (void)call;
    return hki_op_call1(&hki_op_abs, hki_op_call2(&hki_op_subtract, x, target, NULL), NULL);
}

HKI_OPTIONS(huber_loss, WITH_DELTA)

static double huber_delta(const hki_huber_loss_options *o)
{
    return hki_option_or(o->delta, 1);
}

static bool huber_infer(hki_call *call)
{
    const hki_huber_loss_options *o = call->options;
    if (!isfinite(o->delta) || !(huber_delta(o) > 0))
        return hki_call_refuse(call, HK_OUT_OF_RANGE, "delta is %g, but must be finite and above 0",
                               o->delta + 0.0);
    return loss_infer(call);
}

/* With e = |x - target| and c = min(e, delta): c (e - c / 2), of which neither branch overflows where the other is meant. */
static hk_array *huber_term(const hki_call *call, hk_array *x, hk_array *target)
{
    const hki_huber_loss_options *o = call->options;
    hk_array *error = l1_term(call, x, target);
    hk_array *near = hki_op_call_number(&hki_op_minimum_scalar, error, huber_delta(o));
    hk_array *rest = hki_op_call2(&hki_op_subtract, error,
                                  hki_op_call_number(&hki_op_multiply_scalar, near, 0.5), NULL);
    return hki_op_call2(&hki_op_multiply, near, rest, NULL);
}

/* softplus(x) - x target: ln(1 + e^x) does not overflow. */
static hk_array *logits_term(const hki_call *call, hk_array *x, hk_array *target)
{
    (void)call;
    return hki_op_call2(&hki_op_subtract, hki_op_call1(&hki_op_softplus, x, NULL),
                        hki_op_call2(&hki_op_multiply, x, target, NULL), NULL);
}

static hk_array *hinge_term(const hki_call *call, hk_array *x, hk_array *target)
{
    (void)call;
    hk_array *margin = hki_op_call2(&hki_op_multiply, x, target, NULL);
    return hki_op_call1(&hki_op_relu,
                        hki_op_call_number(&hki_op_add_scalar,
                                           hki_op_call_number(&hki_op_multiply_scalar, margin, -1),
                                           1),
                        NULL);
}

enum { LEAST_LOG = -85 }; /* of the least number that logarithms are taken of */

static double least(void)
{
    return exp(LEAST_LOG);
}

/* x holds logarithms. Where target is 0 so is its part. */
static hk_array *kl_term(const hki_call *call, hk_array *x, hk_array *target)
{
    (void)call;
    hk_array *own = hki_op_call1(&hki_op_log,
                                 hki_op_call_number(&hki_op_maximum_scalar, target, least()), NULL);
    return hki_op_call2(&hki_op_multiply, target, hki_op_call2(&hki_op_subtract, own, x, NULL),
                        NULL);
}

/* -target ln p. */
static hk_array *surprise(hk_array *p, hk_array *target)
{
    hk_array *log =
        hki_op_call1(&hki_op_log, hki_op_call_number(&hki_op_maximum_scalar, p, least()), NULL);
    return hki_op_call_number(&hki_op_multiply_scalar,
                              hki_op_call2(&hki_op_multiply, target, log, NULL), -1);
}

static hk_array *one_less(hk_array *x)
{
    return hki_op_call_number(&hki_op_add_scalar,
                              hki_op_call_number(&hki_op_multiply_scalar, x, -1), 1);
}

static hk_array *binary_term(const hki_call *call, hk_array *x, hk_array *target)
{
    (void)call;
    return hki_op_call2(&hki_op_add, surprise(x, target), surprise(one_less(x), one_less(target)),
                        NULL);
}

/* ---- references ----------------------------------------------------------------------------------------- */

static double mse_of(double x, double target, double delta)
{
    (void)delta;
    return (x - target) * (x - target);
}

static double l1_of(double x, double target, double delta)
{
    (void)delta;
    return fabs(x - target);
}

static double huber_of(double x, double target, double delta)
{
    const double e = fabs(x - target);
    return e <= delta ? e * e / 2 : delta * (e - delta / 2);
}

static double logits_of(double x, double target, double delta)
{
    (void)delta;
    return fmax(x, 0) - x * target + log1p(exp(-fabs(x)));
}

static double hinge_of(double x, double target, double delta)
{
    (void)delta;
    return fmax(0, 1 - x * target);
}

static double kl_of(double x, double target, double delta)
{
    (void)delta;
    return target * (log(fmax(target, least())) - x);
}

static double binary_of(double x, double target, double delta)
{
    (void)delta;
    return -target * log(fmax(x, least())) - (1 - target) * log(fmax(1 - x, least()));
}

static void reference(const hki_call *call, const double *const *in, double *const *out,
                      double (*of)(double x, double target, double delta), double delta)
{
    const hki_loss_options *o = call->options;
    const int64_t count = call->inputs[0]->size;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const double term = of(in[0][i], in[1][i], delta);
        sum += term;
        if (o->reduction == HK_LOSS_NONE)
            out[0][i] = term;
    }
    if (o->reduction != HK_LOSS_NONE)
        out[0][0] = o->reduction == HK_LOSS_MEAN ? sum / (double)count : sum;
}

/* ---- the operators -------------------------------------------------------------------------------------- */

#define LOSS(its_name, term, its_infer, delta, its_formula, its_doc)                               \
    static hk_array *its_name##_compose(const hki_call *call)                                      \
    {                                                                                              \
        return reduced(call, term##_term(call, call->arrays[0], call->arrays[1]));                 \
    }                                                                                              \
    static void its_name##_reference(const hki_call *call, const double *const *in,                \
                                     double *const *out)                                           \
    {                                                                                              \
        const hki_##its_name##_options *o = call->options;                                         \
        (void)o;                                                                                   \
        reference(call, in, out, term##_of, delta);                                                \
    }                                                                                              \
    static const hki_sample its_name##_samples[] = {                                               \
        {RANGE_##term.inputs = {HKI_SHAPE(5), HKI_SHAPE(5)}},                                      \
        {RANGE_##term.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(3, 4)},                                 \
         .options = &(const hki_##its_name##_options){NONE_##term}},                               \
        {.inputs = {HKI_SHAPE(0, 4), HKI_SHAPE(0, 4)},                                             \
         .options = &(const hki_##its_name##_options){SUM_##term}},                                \
        {RANGE_##term.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(7, 2), HKI_SHAPE(7, 2)},     \
         .options = &(const hki_##its_name##_options){SUM_##term}},                                \
    };                                                                                             \
    const hk_op hki_op_##its_name = {                                                              \
        HKI_OP_NAMED(its_name),                                                                    \
        HKI_OP_PARAMS(its_name),                                                                   \
        HKI_OP_SAMPLES(its_name##_samples),                                                        \
        .signature = "x, target",                                                                  \
        .doc = its_doc,                                                                            \
        .formula = its_formula,                                                                    \
        .dtypes = HKI_FLOATS,                                                                      \
        .infer = its_infer,                                                                        \
        .compose = its_name##_compose,                                                             \
        .reference = its_name##_reference,                                                         \
        .tolerance_f32 = 1e-5,                                                                     \
    };

#define NONE_mse    .reduction = HK_LOSS_NONE
#define SUM_mse     .reduction = HK_LOSS_SUM
#define NONE_l1     NONE_mse
#define SUM_l1      SUM_mse
#define NONE_huber  NONE_mse, .delta = 0.25
#define SUM_huber   SUM_mse, .delta = 1
#define NONE_logits NONE_mse
#define SUM_logits  SUM_mse
#define NONE_hinge  NONE_mse
#define SUM_hinge   SUM_mse

#define NONE_kl     NONE_mse
#define SUM_kl      SUM_mse
#define NONE_binary NONE_mse
#define SUM_binary  SUM_mse
#define RANGE_mse
#define RANGE_l1
#define RANGE_huber
#define RANGE_logits
#define RANGE_hinge
#define RANGE_kl     .low = 0.1, .high = 1,
#define RANGE_binary .low = 0.1, .high = 0.9,

HKI_OPTIONS(mse_loss, REDUCTION)
HKI_OPTIONS(kl_divergence_loss, REDUCTION)
HKI_OPTIONS(binary_cross_entropy, REDUCTION)
HKI_OPTIONS(l1_loss, REDUCTION)
HKI_OPTIONS(binary_cross_entropy_with_logits, REDUCTION)
HKI_OPTIONS(hinge_loss, REDUCTION)

LOSS(mse_loss, mse, loss_infer, 0, "mean of (x - target)**2",
     "Squared error of x and a target of its shape.")
LOSS(l1_loss, l1, loss_infer, 0, "mean of |x - target|",
     "Absolute error of x and a target of its shape.")
LOSS(huber_loss, huber, huber_infer, huber_delta(o),
     "mean of e**2 / 2 where e = |x - target| <= delta, else of delta (e - delta / 2)",
     "Squared error near the target, absolute error further off (Huber 1964). Divided by delta it "
     "is "
     "the smooth L1 loss.")
LOSS(binary_cross_entropy_with_logits, logits, loss_infer, 0, "mean of softplus(x) - x target",
     "Cross entropy of a probability, sigmoid(x), and a target from 0 to 1. Large x overflow "
     "nothing.")
LOSS(hinge_loss, hinge, loss_infer, 0, "mean of max(0, 1 - x target)",
     "How far x is from being on the target's side of a margin; targets are -1 and 1.")
LOSS(kl_divergence_loss, kl, loss_infer, 0, "mean of target (ln(target) - x)",
     "Part of the divergence (Kullback, Leibler 1951) of target, probabilities, from e**x: x holds "
     "logarithms, as hk_log_softmax gives. A target of 0 counts nothing. The divergence of rows is "
     "their sum; the mean of all is less by the number of classes.")
LOSS(binary_cross_entropy, binary, loss_infer, 0, "mean of -target ln(x) - (1 - target) ln(1 - x)",
     "Cross entropy of a probability x and a target from 0 to 1. Of probabilities below e**-85 "
     "that is taken, without a gradient; hk_binary_cross_entropy_with_logits has no such bound.")
