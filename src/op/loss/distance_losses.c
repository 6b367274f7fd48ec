/* How vectors lie to each other, and losses of that: cosines and triplets. Vectors lie along an axis. Made of other operators. */
#include "array/axis.h"
#include "base/option.h"
#include "op/elementwise/elementwise.h"
#include "op/reduce/reduce.h"
#include "op/reduce/sum_products.h"

#include <hocket/nn.h>

#include <inttypes.h>
#include <math.h>

#define COSINE_ARGUMENTS(F, op) F(op, INT, axis, "", "a negative one counts from the last")
#define COSINE_EMBEDDING_OPTIONS(F, op)                                                            \
    F(op, INT, reduction, "HK_LOSS_MEAN", "an hk_loss_reduction")                                  \
    F(op, F64, margin, "0", "a cosine that vectors apart may have; -1 … 1")
#define TRIPLET_OPTIONS(F, op)                                                                     \
    F(op, INT, reduction, "HK_LOSS_MEAN", "an hk_loss_reduction")                                  \
    F(op, F64, margin, "1", "by how much the negative is to be farther, >= 0")
HKI_ARGUMENTS(cosine_similarity, COSINE_ARGUMENTS)
HKI_OPTIONS(cosine_embedding_loss, COSINE_EMBEDDING_OPTIONS)
HKI_OPTIONS(triplet_margin_loss, TRIPLET_OPTIONS)

static const double least_norm = 1e-8, /* that is divided by */
    apart = 1e-6; /* what differences are kept from 0 by, where a distance has no gradient */

/* ---- shapes ----------------------------------------------------------------------------------------------- */

/* Inputs 0 to count - 1 are alike. */
static bool check_alike(hki_call *call, int count)
{
    const hki_shape_view *x = call->inputs[0];
    for (int i = 1; i < count; i++) {
        const hki_shape_view *y = call->inputs[i];
        char name[64], text[224], first[64], first_text[224];
        if (y->dtype == x->dtype && hki_dims_equal(&y->shape, &x->shape))
            continue;
        hki_op_input_name(call->op, 0, first, sizeof first);
        hki_op_input_name(call->op, i, name, sizeof name);
        hki_shape_view_describe(x, first_text, sizeof first_text);
        hki_shape_view_describe(y, text, sizeof text);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "%s is %s, but must be like %s, %s; nothing is broadcast", name,
                               text, first, first_text);
    }
    return true;
}

/* The result has no axis that was `axis`. */
static void infer_without(hki_call *call, int64_t axis)
{
    const hk_dims *x = &call->inputs[0]->shape;
    call->out_shape[0] = (hk_dims){.ndim = x->ndim - 1};
    for (int i = 0; i < x->ndim - 1; i++)
        call->out_shape[0].dims[i] = x->dims[i < axis ? i : i + 1];
    call->out_dtype[0] = call->inputs[0]->dtype;
}

static bool cosine_infer(hki_call *call)
{
    int64_t axis = ((const hki_cosine_similarity_options *)call->options)->axis;
    if (!check_alike(call, 2) ||
        !hki_call_take_axis(call, "axis", &axis, call->inputs[0]->shape.ndim))
        return false;
    infer_without(call, axis);
    return true;
}

/* Of losses of vectors along the last axis. */
static bool loss_infer(hki_call *call, int count, int64_t reduction)
{
    char text[224];
    hki_shape_view_describe(call->inputs[0], text, sizeof text);
    if (!check_alike(call, count))
        return false;
    if (call->inputs[0]->shape.ndim == 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "the inputs are %s, but need an axis, along which vectors lie",
                               text);
    if (reduction < HK_LOSS_MEAN || reduction > HK_LOSS_NONE)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "reduction is %" PRId64
                               ", but must be HK_LOSS_MEAN, HK_LOSS_SUM or HK_LOSS_NONE",
                               reduction);
    infer_without(call, call->inputs[0]->shape.ndim - 1);
    return true;
}

static bool cosine_embedding_infer(hki_call *call)
{
    const hki_cosine_embedding_loss_options *o = call->options;
    const hki_shape_view *target = call->inputs[2];
    char text[224], wanted[224];
    if (!(o->margin >= -1 && o->margin <= 1))
        return hki_call_refuse(call, HK_OUT_OF_RANGE, "margin is %g, but must be from -1 to 1",
                               o->margin);
    if (!loss_infer(call, 2, o->reduction))
        return false;
    hki_shape_view_describe(target, text, sizeof text);
    hki_dims_describe(&call->out_shape[0], wanted, sizeof wanted);
    if (!hki_dims_equal(&target->shape, &call->out_shape[0]))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "target is %s, but must be of shape %s: one for each vector of x",
                               text, wanted);
    if (o->reduction != HK_LOSS_NONE)
        call->out_shape[0] = (hk_dims){.ndim = 0};
    return true;
}

static double triplet_margin(const hki_call *call)
{
    const double margin = ((const hki_triplet_margin_loss_options *)call->options)->margin;
    return hki_option_or(margin, 1);
}

static bool triplet_infer(hki_call *call)
{
    const hki_triplet_margin_loss_options *o = call->options;
    if (!isfinite(o->margin) || o->margin < 0)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "margin is %g, but must be finite and not below 0", o->margin);
    if (!loss_infer(call, 3, o->reduction))
        return false;
    if (o->reduction != HK_LOSS_NONE)
        call->out_shape[0] = (hk_dims){.ndim = 0};
    return true;
}

/* ---- composition ------------------------------------------------------------------------------------------ */

static hk_array *dot(hk_array *x, hk_array *y, int64_t axis)
{
    const hki_sum_options along = {.axes = {.ndim = 1, .dims = {axis}}};
    if (axis == -1)
        return hki_sum_products(x, y);
    return hki_op_call1(&hki_op_sum, hki_op_call2(&hki_op_multiply, x, y, NULL), &along);
}

static hk_array *norm(hk_array *x, int64_t axis, bool keepdims)
{
    const hki_sum_options along = {.axes = {.ndim = 1, .dims = {axis}}, .keepdims = keepdims};
    return hki_op_call1(&hki_op_norm, x, &along);
}

/* Not so small that nothing could be divided by it; where it is, it has no gradient. */
static hk_array *divided(hk_array *x, hk_array *its_norm)
{
    return hki_op_call2(&hki_op_divide, x,
                        hki_op_call_number(&hki_op_maximum_scalar, its_norm, least_norm), NULL);
}

/* One vector has length 1 before they are multiplied: the products of others may be too large or too small. */
static hk_array *cosine(hk_array *x, hk_array *y, int64_t axis)
{
    return divided(dot(divided(x, norm(x, axis, true)), y, axis), norm(y, axis, false));
}

static hk_array *cosine_compose(const hki_call *call)
{
    return cosine(call->arrays[0], call->arrays[1],
                  ((const hki_cosine_similarity_options *)call->options)->axis);
}

static hk_array *reduced(hk_array *terms, int64_t reduction)
{
    const hki_sum_options all = {.axes = {.ndim = 0}};
    if (reduction == HK_LOSS_NONE)
        return terms;
    return hki_op_call1(reduction == HK_LOSS_SUM ? &hki_op_sum : &hki_op_mean, terms, &all);
}

static hk_array *cosine_embedding_compose(const hki_call *call)
{
    const hki_cosine_embedding_loss_options *o = call->options;
    hk_array *cosines = cosine(call->arrays[0], call->arrays[1], -1), *target = call->arrays[2];
    hk_array *together = hki_op_call_number(
        &hki_op_add_scalar, hki_op_call_number(&hki_op_multiply_scalar, cosines, -1), 1);
    hk_array *far = hki_op_call1(&hki_op_relu,
                                 hki_op_call_number(&hki_op_add_scalar, cosines, -o->margin), NULL);
    hk_array *is_near =
        hki_op_call2(&hki_op_greater, target, hki_op_call1(&hki_op_negative, target, NULL), NULL);
    return reduced(hki_op_call3(&hki_op_where, is_near, together, far, NULL), o->reduction);
}

static hk_array *distance(hk_array *x, hk_array *y)
{
    hk_array *between =
        hki_op_call_number(&hki_op_add_scalar, hki_op_call2(&hki_op_subtract, x, y, NULL), apart);
    return norm(between, -1, false);
}

static hk_array *triplet_compose(const hki_call *call)
{
    const hki_triplet_margin_loss_options *o = call->options;
    hk_array *near = distance(call->arrays[0], call->arrays[1]);
    hk_array *far = distance(call->arrays[0], call->arrays[2]);
    hk_array *excess = hki_op_call2(&hki_op_subtract, near, far, NULL);
    return reduced(
        hki_op_call1(&hki_op_relu,
                     hki_op_call_number(&hki_op_add_scalar, excess, triplet_margin(call)), NULL),
        o->reduction);
}

/* ---- conformance ------------------------------------------------------------------------------------------ */

static double dot_of(const double *x, const double *y, int64_t count, int64_t step)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i * step] * y[i * step];
    return sum;
}

static double cosine_of(const double *x, const double *y, int64_t count, int64_t step)
{
    const double norms = fmax(sqrt(dot_of(x, x, count, step)), least_norm) *
                         fmax(sqrt(dot_of(y, y, count, step)), least_norm);
    return dot_of(x, y, count, step) / norms;
}

static void cosine_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *x = &call->inputs[0]->shape;
    const int64_t given = ((const hki_cosine_similarity_options *)call->options)->axis;
    const int axis = hki_axis_from_front(given, x->ndim);
    int64_t step = 1, size = 0;
    for (int i = axis + 1; i < x->ndim; i++)
        step *= x->dims[i];
    hki_dims_size(&call->out_shape[0], &size);
    for (int64_t i = 0; i < size; i++) {
        const int64_t at = i / step * x->dims[axis] * step + i % step;
        out[0][i] = cosine_of(in[0] + at, in[1] + at, x->dims[axis], step);
    }
}

/* Of the loss of each vector. */
static void reduce(const hki_call *call, int64_t reduction, const double *const *in,
                   double (*of)(const hki_call *call, const double *const *in, int64_t i,
                                int64_t size),
                   double *out)
{
    const hk_dims *x = &call->inputs[0]->shape;
    const int64_t size = x->dims[x->ndim - 1];
    const int64_t count = size ? call->inputs[0]->size / size : 0;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const double term = of(call, in, i, size);
        sum += term;
        if (reduction == HK_LOSS_NONE)
            out[i] = term;
    }
    if (reduction != HK_LOSS_NONE)
        out[0] = reduction == HK_LOSS_SUM ? sum : sum / (double)count;
}

static double cosine_embedding_of(const hki_call *call, const double *const *in, int64_t i,
                                  int64_t size)
{
    const double margin = ((const hki_cosine_embedding_loss_options *)call->options)->margin;
    const double cosine = cosine_of(in[0] + i * size, in[1] + i * size, size, 1);
    return in[2][i] > 0 ? 1 - cosine : fmax(0, cosine - margin);
}

static double triplet_of(const hki_call *call, const double *const *in, int64_t i, int64_t size)
{
    double near = 0, far = 0;
    for (int64_t j = i * size; j < (i + 1) * size; j++) {
        near += pow(in[0][j] - in[1][j] + apart, 2);
        far += pow(in[0][j] - in[2][j] + apart, 2);
    }
    return fmax(0, sqrt(near) - sqrt(far) + triplet_margin(call));
}

static void cosine_embedding_reference(const hki_call *call, const double *const *in,
                                       double *const *out)
{
    reduce(call, ((const hki_cosine_embedding_loss_options *)call->options)->reduction, in,
           cosine_embedding_of, out[0]);
}

static void triplet_reference(const hki_call *call, const double *const *in, double *const *out)
{
    reduce(call, ((const hki_triplet_margin_loss_options *)call->options)->reduction, in,
           triplet_of, out[0]);
}

static const hki_sample cosine_samples[] = {
    {.inputs = {HKI_SHAPE(4), HKI_SHAPE(4)}, HKI_GIVEN(cosine_similarity, 0)},
    {.inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 3, 4)}, HKI_GIVEN(cosine_similarity, 1)},
    {.inputs = {HKI_SHAPE(0, 3), HKI_SHAPE(0, 3)}, HKI_GIVEN(cosine_similarity, -1)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(5, 3), HKI_SHAPE(5, 3)},
     HKI_GIVEN(cosine_similarity, -1)},
};
#define COSINE(...)                                                                                \
    .options = &(const hki_cosine_embedding_loss_options)                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define TRIPLET(...)                                                                               \
    .options = &(const hki_triplet_margin_loss_options)                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample cosine_embedding_samples[] = {
    {.inputs = {HKI_SHAPE(9, 4), HKI_SHAPE(9, 4), HKI_SHAPE(9)}},
    {.inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 3)},
     COSINE(.margin = -0.5, .reduction = HK_LOSS_NONE)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(6, 3), HKI_SHAPE(6, 3), HKI_SHAPE(6)},
     COSINE(.reduction = HK_LOSS_SUM)},
};
static const hki_sample triplet_samples[] = {
    {.inputs = {HKI_SHAPE(9, 4), HKI_SHAPE(9, 4), HKI_SHAPE(9, 4)}},
    {.inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 3, 4)},
     TRIPLET(.margin = 0.25, .reduction = HK_LOSS_NONE)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(6, 3), HKI_SHAPE(6, 3), HKI_SHAPE(6, 3)},
     TRIPLET(.reduction = HK_LOSS_SUM)},
};

const hk_op hki_op_cosine_similarity = {
    HKI_OP_NAMED(cosine_similarity),
    HKI_OP_PARAMS(cosine_similarity),
    HKI_OP_SAMPLES(cosine_samples),
    .signature = "x, y",
    .doc = "Cosine of the angle between vectors of x and y, of one shape, along an axis, which "
           "goes: -1 to 1. Norms below 1e-8 count as that.",
    .formula = "z = sum of x y / (|x| |y|) along axis",
    .dtypes = HKI_FLOATS,
    .infer = cosine_infer,
    .compose = cosine_compose,
    .reference = cosine_reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_cosine_embedding_loss = {
    HKI_OP_NAMED(cosine_embedding_loss),
    HKI_OP_PARAMS(cosine_embedding_loss),
    HKI_OP_SAMPLES(cosine_embedding_samples),
    .signature = "x, y, target",
    .doc = "Loss of the cosine between vectors of x and y (…,features): 1 less it where target (…) "
           "is above 0, mostly 1; else, mostly -1, how far it is above margin. No gradient with "
           "respect to target.",
    .formula = "mean of 1 - cos where target > 0, else of max(0, cos - margin)",
    .dtypes = HKI_FLOATS,
    .no_grad_inputs = 1u << 2,
    .infer = cosine_embedding_infer,
    .compose = cosine_embedding_compose,
    .reference = cosine_embedding_reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_triplet_margin_loss = {
    HKI_OP_NAMED(triplet_margin_loss),
    HKI_OP_PARAMS(triplet_margin_loss),
    HKI_OP_SAMPLES(triplet_samples),
    .signature = "anchor, positive, negative",
    .doc = "By how much less than margin the negative is farther from the anchor than the positive "
           "is: vectors along the last axis of three arrays of one shape, (…,features) to (…) "
           "(Schroff et al. 2015, without squares). 1e-6 is added to differences.",
    .formula = "mean of max(0, |anchor - positive| - |anchor - negative| + margin)",
    .dtypes = HKI_FLOATS,
    .infer = triplet_infer,
    .compose = triplet_compose,
    .reference = triplet_reference,
    .tolerance_f32 = 1e-5,
};
