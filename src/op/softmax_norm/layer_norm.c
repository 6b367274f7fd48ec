/* Normalisation of each sample by itself: layer norm, RMS norm, group norm. The loops are in row_norm_kernel.h. */
#include "op/softmax_norm/layer_norm.h"

#include "base/sum_tree.h"
#include "op/call/plan.h"
#include "op/shape/reshape.h"

#include <math.h>
#include <string.h>

HKI_OPTIONS_TABLE(layer_norm, LAYER_NORM_OPTIONS)
HKI_OPTIONS_TABLE(group_norm, GROUP_NORM_OPTIONS)
HKI_ARGUMENTS_TABLE(layer_norm_backward, LAYER_NORM_BACKWARD_ARGUMENTS)
#define rms_norm_params         layer_norm_params
#define layer_norm_weigh_params layer_norm_backward_params

enum { X, GAMMA, BETA };                          /* inputs */
enum { BACK_X, BACK_DY, BACK_SAVED, BACK_GAMMA }; /* inputs of the gradient */

/* ---- shapes -------------------------------------------------------------------------------------------- */

static int64_t product(const int64_t *dims, int count)
{
    int64_t size = 1;
    for (int i = 0; i < count; i++)
        size *= dims[i];
    return size;
}

/* Of gamma and beta: the normalised axes, or the channels. */
static hk_dims affine_shape(const hk_dims *x, const hki_layer_norm_backward_options *of)
{
    hk_dims shape = {.ndim = of->groups ? 1 : (int)of->axes};
    memcpy(shape.dims, x->dims + (of->groups ? 1 : x->ndim - of->axes),
           (size_t)shape.ndim * sizeof *shape.dims);
    return shape;
}

static bool check_affine(hki_call *call, const char *name, const hki_shape_view *values,
                         const hki_layer_norm_backward_options *of)
{
    const hki_shape_view *x = call->inputs[X];
    const hk_dims wanted = affine_shape(&x->shape, of);
    char text[256], wanted_text[256], x_text[256];
    if (values && values->dtype != x->dtype)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is %s, x is %s; hk_cast converts",
                               name, hk_dtype_name(values->dtype), hk_dtype_name(x->dtype));
    if (!values || hki_dims_equal(&values->shape, &wanted))
        return true;
    hki_dims_describe(&values->shape, text, sizeof text);
    hki_dims_describe(&wanted, wanted_text, sizeof wanted_text);
    hki_dims_describe(&x->shape, x_text, sizeof x_text);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "%s is %s, but must be %s: one for each %s "
                           "of x %s",
                           name, text, wanted_text, of->groups ? "channel" : "normalised element",
                           x_text);
}

/* Whether there is something to normalise: the options fit x. */
static bool check_axes(hki_call *call, const hki_layer_norm_backward_options *of)
{
    const hki_shape_view *x = call->inputs[X];
    char text[256];
    hki_dims_describe(&x->shape, text, sizeof text);
    if (of->groups && x->shape.ndim < 2)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s, but needs 2 axes or more: samples, channels, …", text);
    if (of->groups && (of->groups < 1 || x->shape.dims[1] % of->groups ||
                       (x->shape.dims[1] == 0 && of->groups > 1)))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "groups is %lld; it must divide the %lld channels of x %s, or be 0 "
                               "for the default, 1",
                               (long long)of->groups, (long long)x->shape.dims[1], text);
    if (!of->groups && (of->axes < 1 || of->axes > x->shape.ndim))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "axes is %lld, but x is %s; it may be from 1 to %d, or 0 for the "
                               "default, 1",
                               (long long)of->axes, text, x->shape.ndim);
    const hki_row_norm_shape shape = hki_layer_norm_shape(x->shape.ndim, x->shape.dims, of);
    return shape.rows == 0 || shape.size > 0 ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "x is %s: there are no elements to be normalised", text);
}

static bool forward_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[X];
    const double eps = ((const hki_layer_norm_options *)call->options)->eps;
    const hki_layer_norm_backward_options of = hki_layer_norm_of(call->op->id, call->options);
    if (!check_axes(call, &of) || !check_affine(call, "gamma", call->inputs[GAMMA], &of) ||
        (call->input_count > BETA && !check_affine(call, "beta", call->inputs[BETA], &of)))
        return false;
    if (!isfinite(eps) || eps < 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "eps is %g, but must be finite and not below 0", eps);
    hk_dims *saved = &call->out_shape[1];
    call->out_shape[0] = *saved = x->shape;
    saved->ndim = of.groups ? 3 : x->shape.ndim - (int)of.axes + 1;
    if (of.groups)
        saved->dims[1] = of.groups;
    saved->dims[saved->ndim - 1] = 3;
    call->out_dtype[0] = call->out_dtype[1] = x->dtype;
    return true;
}

/* Internal operators: what the others have accepted needs no text for people. */
static bool check_backward(hki_call *call)
{
    const hki_shape_view *x = call->inputs[BACK_X], *dy = call->inputs[BACK_DY];
    return (hki_dims_equal(&x->shape, &dy->shape) && x->dtype == dy->dtype &&
            check_axes(call, call->options)) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "dy does not belong to x");
}

static bool backward_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[BACK_X]->shape;
    call->out_dtype[0] = call->inputs[BACK_X]->dtype;
    return check_backward(call);
}

static bool weigh_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[BACK_X];
    if (!check_backward(call))
        return false;
    const hk_dims affine = affine_shape(&x->shape, call->options);
    call->out_shape[0] = (hk_dims){.ndim = 2, .dims = {2, product(affine.dims, affine.ndim)}};
    call->out_dtype[0] = x->dtype;
    return true;
}

/* ---- pieces and kernels ---------------------------------------------------------------------------------- */

enum { GRAIN_ELEMENTS = 4096 };

static hki_row_norm_shape shape_of(const hk_op *op, const hk_dims *x, const void *options)
{
    const bool is_gradient = op == &hki_op_layer_norm_backward || op == &hki_op_layer_norm_weigh;
    const hki_layer_norm_backward_options of =
        is_gradient ? *(const hki_layer_norm_backward_options *)options
                    : hki_layer_norm_of(op->id, options);
    return hki_layer_norm_shape(x->ndim, x->dims, &of);
}

static void plan(const hki_call *call, hki_plan *plan)
{
    const hki_row_norm_shape shape = shape_of(call->op, &call->inputs[X]->shape, call->options);
    const double elements = (double)shape.rows * (double)shape.size;
    plan->extent = shape.rows;
    plan->grain = shape.size > 0 && shape.size < GRAIN_ELEMENTS ? GRAIN_ELEMENTS / shape.size : 1;
    plan->work_ns = 100 + elements * (call->out_dtype[0] == HK_F32 ? 0.6 : 0.9);
    plan->flops = 8 * elements;
}

/* Rows are added up by base/sum_tree.h, as samples are: halves of a batch are halves of its rows. A piece has room for the sums
 * that are at work at once, of the result's dtype. */
static void weigh_plan(const hki_call *call, hki_plan *its)
{
    enum { PARTIALS_MAX_BYTES = 16 << 20, MAX_PIECES = 64 };
    const hki_shape_view *x = call->inputs[BACK_X];
    const int64_t rows = shape_of(call->op, &x->shape, call->options).rows;
    const int64_t sums = hki_max(1, 2 * call->out_shape[0].dims[1]);
    plan(call, its);
    its->partial_bytes = (size_t)hki_sum_live(hki_sum_runs(rows)) * (size_t)sums *
                         hk_dtype_bytes(call->out_dtype[0]);
    /* joining is to be less work than summing */
    int64_t most = hki_min(PARTIALS_MAX_BYTES / (int64_t)its->partial_bytes, MAX_PIECES);
    most = hki_min(most, (int64_t)(its->work_ns / HKI_PLAN_PIECE_NS));
    its->extent = hki_sum_cut_to(rows, hki_max(1, most)).pieces;
    its->grain = 1;
}

static hki_row_norm_shape shape_of_kernel(const hki_kernel_call *call)
{
    hk_dims x = {.ndim = call->in[X].ndim};
    memcpy(x.dims, call->in[X].dims, sizeof x.dims);
    return shape_of(call->op, &x, call->options);
}

static void forward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *in = call->in, *out = call->out;
    const hki_row_norm_shape shape = shape_of_kernel(call);
    const double eps = hki_layer_norm_eps(call->options);
    const void *beta = call->input_count > BETA ? in[BETA].data : NULL;
    (void)piece;
    if (in[X].dtype == HK_F32)
        hki_row_norm_forward_f32(&shape, eps, in[X].data, in[GAMMA].data, beta, out[0].data,
                                 out[1].data, begin, end);
    else
        hki_row_norm_forward_f64(&shape, eps, in[X].data, in[GAMMA].data, beta, out[0].data,
                                 out[1].data, begin, end);
}

static void backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *in = call->in;
    const hki_row_norm_shape shape = shape_of_kernel(call);
    (void)piece;
    if (in[X].dtype == HK_F32)
        hki_row_norm_backward_f32(&shape, in[BACK_X].data, in[BACK_DY].data, in[BACK_GAMMA].data,
                                  in[BACK_SAVED].data, call->out[0].data, begin, end);
    else
        hki_row_norm_backward_f64(&shape, in[BACK_X].data, in[BACK_DY].data, in[BACK_GAMMA].data,
                                  in[BACK_SAVED].data, call->out[0].data, begin, end);
}

static void weigh_rows(const hki_kernel_call *call, void *sums, int64_t begin, int64_t end)
{
    const hki_tensor *in = call->in;
    const hki_row_norm_shape shape = shape_of_kernel(call);
    if (in[X].dtype == HK_F32)
        hki_row_norm_weigh_f32(&shape, in[BACK_X].data, in[BACK_DY].data, in[BACK_SAVED].data, sums,
                               begin, end);
    else
        hki_row_norm_weigh_f64(&shape, in[BACK_X].data, in[BACK_DY].data, in[BACK_SAVED].data, sums,
                               begin, end);
}

static hki_sum_cut weigh_cut(const hki_kernel_call *call)
{
    return hki_sum_cut_to(shape_of_kernel(call).rows, call->piece_count);
}

/* The sum over the rows of a piece, run after run, into its partials. */
static void weigh_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *out = &call->out[0];
    const hki_sum_cut cut = weigh_cut(call);
    const size_t bytes = (size_t)out->size * hk_dtype_bytes(out->dtype);
    char *parts = hki_partials_of(call, piece);
    int live = 0;
    hki_sum_piece(&cut, piece - call->first_piece, &begin, &end);
    const int64_t runs = hki_max(1, hki_sum_runs(end - begin));
    for (int64_t run = 0; run < runs; run++) {
        const int64_t first = begin + run * HKI_SUM_RUN;
        void *sums = parts + (size_t)live * bytes;
        memset(sums, 0, bytes);
        weigh_rows(call, sums, first, hki_min(first + HKI_SUM_RUN, end));
        live = hki_sum_join(out->dtype, out->size, parts, parts + bytes, bytes, live + 1,
                            hki_sum_pairs(runs, run));
    }
}

static void weigh_join(const hki_kernel_call *call)
{
    const hki_tensor *out = &call->out[0];
    const hki_sum_cut cut = weigh_cut(call);
    hki_sum_join_pieces(&cut, out->dtype, out->size, call->partials, call->partial_bytes);
    memcpy(out->data, call->partials, (size_t)out->size * hk_dtype_bytes(out->dtype));
}

/* ---- gradients ------------------------------------------------------------------------------------------ */

static void forward_grad(hki_grad_call *call)
{
    const hki_layer_norm_backward_options of = hki_layer_norm_of(call->op->id, call->options);
    hk_array *const inputs[] = {call->inputs[X], call->dy, call->saved, call->inputs[GAMMA]};
    if (call->wanted[X])
        call->dx[X] =
            hki_op_call(&hki_op_layer_norm_backward, inputs, 4, &of, (hk_device){NULL}, NULL);
    if (!call->wanted[GAMMA] && !(call->input_count > BETA && call->wanted[BETA]))
        return;
    const hki_reshape_options shape = {.shape = affine_shape(&call->input_shape[X], &of)};
    hk_array *sums =
        hki_op_call3(&hki_op_layer_norm_weigh, call->inputs[X], call->dy, call->saved, &of);
    for (int i = GAMMA; i < call->input_count; i++)
        if (call->wanted[i])
            call->dx[i] = hki_op_call1(&hki_op_reshape, (hk_index)(sums, 0, i - GAMMA), &shape);
}

/* ---- batches -------------------------------------------------------------------------------------------- */

/* Samples lie along the first axis, unless that is normalised, too. */
static hki_batch_kind forward_batch(hki_batch *batch)
{
    const hki_layer_norm_options *o = batch->options;
    const int64_t axes = o->axes ? o->axes : 1;
    return axes < batch->in[X]->shape.ndim ? hki_batch_first(batch) : HKI_BATCH_NONE;
}

static hki_batch_kind group_batch(hki_batch *batch)
{
    return hki_batch_first(batch);
}

static bool has_samples(const hki_batch *batch)
{
    const hki_layer_norm_backward_options *of = batch->options;
    return of->groups || of->axes < batch->in[BACK_X]->shape.ndim;
}

static hki_batch_kind backward_batch(hki_batch *batch)
{
    batch->first = 1u << BACK_X | 1u << BACK_DY | 1u << BACK_SAVED;
    return has_samples(batch) ? HKI_BATCH_EACH : HKI_BATCH_NONE;
}

static hki_batch_kind weigh_batch(hki_batch *batch)
{
    return backward_batch(batch) == HKI_BATCH_NONE ? HKI_BATCH_NONE : HKI_BATCH_SUM;
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

#define LAYER(...)                                                                                 \
    &(const hki_layer_norm_options)                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define GROUP(...)                                                                                 \
    &(const hki_group_norm_options)                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define BACK(...)                                                                                  \
    &(const hki_layer_norm_backward_options)                                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const hki_sample layer_samples[] = {
    {.inputs = {HKI_SHAPE(5, 7), HKI_SHAPE(7), HKI_SHAPE(7)}},
    {.inputs = {HKI_SHAPE(2, 3, 19), HKI_SHAPE(19), HKI_SHAPE_NONE}, .low = 9, .high = 11},
    {.inputs = {HKI_SHAPE(3, 4, 5), HKI_SHAPE_NONE, HKI_SHAPE(4, 5)},
     .options = LAYER(.axes = 2, .eps = 0.5)},
    {.inputs = {HKI_SHAPE(11), HKI_SHAPE_NONE, HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(3, 1), HKI_SHAPE(1), HKI_SHAPE(1)}},
    {.inputs = {HKI_SHAPE(0, 4), HKI_SHAPE(4), HKI_SHAPE(4)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(4, 9), HKI_SHAPE(9), HKI_SHAPE(9)}},
};
static const hki_sample rms_samples[] = {
    {.inputs = {HKI_SHAPE(5, 7), HKI_SHAPE(7)}},
    {.inputs = {HKI_SHAPE(3, 4, 5), HKI_SHAPE(4, 5)}, .options = LAYER(.axes = 2, .eps = 0.5)},
    {.inputs = {HKI_SHAPE(2, 21), HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(0, 4), HKI_SHAPE(4)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(4, 9), HKI_SHAPE(9)}},
};
static const hki_sample group_samples[] = {
    {.inputs = {HKI_SHAPE(3, 6, 4, 5), HKI_SHAPE(6), HKI_SHAPE(6)}, .options = GROUP(.groups = 3)},
    {.inputs = {HKI_SHAPE(2, 4, 9), HKI_SHAPE(4), HKI_SHAPE_NONE}, .options = GROUP(.groups = 4)},
    {.inputs = {HKI_SHAPE(2, 4, 3), HKI_SHAPE_NONE, HKI_SHAPE(4)}},
    {.inputs = {HKI_SHAPE(3, 8), HKI_SHAPE(8), HKI_SHAPE(8)}, .options = GROUP(.groups = 2)},
    {.inputs = {HKI_SHAPE(2, 4, 3), HKI_SHAPE_NONE, HKI_SHAPE_NONE},
     .options = GROUP(.groups = 2, .eps = 0.1)},
    {.inputs = {HKI_SHAPE(0, 4, 3), HKI_SHAPE(4), HKI_SHAPE(4)}, .options = GROUP(.groups = 2)},
    {.inputs = {HKI_SHAPE(0, 4, 0), HKI_SHAPE(4), HKI_SHAPE(4)}, .options = GROUP(.groups = 2)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(3, 4, 5), HKI_SHAPE(4), HKI_SHAPE(4)},
     .options = GROUP(.groups = 2)},
};
static const hki_sample backward_samples[] = {
    {.inputs = {HKI_SHAPE(5, 21), HKI_SHAPE(5, 21), HKI_SHAPE(5, 3), HKI_SHAPE(21)},
     .options = BACK(.axes = 1, .is_centred = true)},
    {.inputs = {HKI_SHAPE(3, 4, 5), HKI_SHAPE(3, 4, 5), HKI_SHAPE(3, 2, 3), HKI_SHAPE(4)},
     .options = BACK(.groups = 2, .is_centred = true)},
    {.inputs = {HKI_SHAPE(3, 9), HKI_SHAPE(3, 9), HKI_SHAPE(3, 3), HKI_SHAPE_NONE},
     .options = BACK(.axes = 1)},
    {.inputs = {HKI_SHAPE(0, 9), HKI_SHAPE(0, 9), HKI_SHAPE(0, 3), HKI_SHAPE(9)},
     .options = BACK(.axes = 1)},
};
static const hki_sample weigh_samples[] = {
    {.inputs = {HKI_SHAPE(5, 21), HKI_SHAPE(5, 21), HKI_SHAPE(5, 3)},
     .options = BACK(.axes = 1, .is_centred = true)},
    {.inputs = {HKI_SHAPE(3, 4, 5), HKI_SHAPE(3, 4, 5), HKI_SHAPE(3, 2, 3)},
     .options = BACK(.groups = 2, .is_centred = true)},
    {.inputs = {HKI_SHAPE(0, 9), HKI_SHAPE(0, 9), HKI_SHAPE(0, 3)}, .options = BACK(.axes = 1)},
    {.inputs = {HKI_SHAPE(70, 2, 3), HKI_SHAPE(70, 2, 3), HKI_SHAPE(70, 2, 3)},
     .options = BACK(.axes = 1, .is_centred = true)},
    {.inputs = {HKI_SHAPE(900, 50), HKI_SHAPE(900, 50), HKI_SHAPE(900, 3)},
     .options = BACK(.axes = 1)},
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(3, 4), HKI_SHAPE(3)}, .options = BACK(.axes = 2)},
};

/* ---- operators ------------------------------------------------------------------------------------------- */

#define FORWARD                                                                                    \
    .dtypes = HKI_FLOATS, .output_count = 2, .contiguous = true, .infer = forward_infer,           \
    .split = HKI_SPLIT_PLAN, .plan = plan, .kernel = {[HKI_CPU] = forward_cpu},                    \
    .grad = forward_grad,                                                                          \
    .grad_reads = {[X] = 1 << X | 1 << GAMMA, [GAMMA] = 1 << X, [BETA] = 1 << X},                  \
    .reference = hki_layer_norm_reference, .tolerance_f32 = 1e-5

const hk_op hki_op_layer_norm = {
    HKI_OP_NAMED(layer_norm),
    HKI_OP_PARAMS(layer_norm),
    HKI_OP_SAMPLES(layer_samples),
    .signature = "x, gamma?, beta?",
    .doc = "Layer norm (Ba et al. 2016): x (…,features) shifted and scaled to mean 0 and variance "
           "1 along its last axis, or several, each row by itself, then scaled by gamma and "
           "shifted by beta, of the shape of these axes. The variance is biased.",
    .formula = "y = (x - mean) / sqrt(variance + eps) * gamma + beta",
    .batch = forward_batch,
    FORWARD,
};

const hk_op hki_op_rms_norm = {
    HKI_OP_NAMED(rms_norm),
    HKI_OP_PARAMS(rms_norm),
    HKI_OP_SAMPLES(rms_samples),
    .signature = "x, gamma?",
    .doc = "RMS norm (Zhang, Sennrich 2019): x divided by the root of its mean square along the "
           "last axis, or several, then scaled by gamma, of the shape of these axes.",
    .formula = "y = x / sqrt(mean of x**2 + eps) * gamma",
    .batch = forward_batch,
    FORWARD,
};

const hk_op hki_op_group_norm = {
    HKI_OP_NAMED(group_norm),
    HKI_OP_PARAMS(group_norm),
    HKI_OP_SAMPLES(group_samples),
    .signature = "x, gamma?, beta?",
    .doc = "Group norm (Wu, He 2018): of each sample of x (n,channels,…) each group of channels, "
           "with all its positions, shifted and scaled to mean 0 and variance 1, then each channel "
           "scaled by gamma and shifted by beta (channels). As many groups as channels: "
           "instance norm (Ulyanov et al. 2016). The variance is biased.",
    .formula = "y = (x - mean) / sqrt(variance + eps) * gamma + beta",
    .batch = group_batch,
    FORWARD,
};

#define GRADIENT                                                                                   \
    .dtypes = HKI_FLOATS, .contiguous = true, .internal = true, .split = HKI_SPLIT_PLAN,           \
    .no_grad_inputs = 1u << BACK_SAVED, .gradient_untested = "what is saved depends on x",         \
    .tolerance_f32 = 1e-5

const hk_op hki_op_layer_norm_backward = {
    HKI_OP_NAMED(layer_norm_backward),
    HKI_OP_PARAMS(layer_norm_backward),
    HKI_OP_SAMPLES(backward_samples),
    .signature = "x, dy, saved, gamma?",
    .doc = "Gradient of layer_norm, rms_norm and group_norm with respect to x.",
    .infer = backward_infer,
    .plan = plan,
    .batch = backward_batch,
    .kernel = {[HKI_CPU] = backward_cpu},
    .grad = hki_layer_norm_second,
    .grad_reads = {[BACK_X] = 1 << BACK_X | 1 << BACK_DY | 1 << BACK_GAMMA,
                   [BACK_DY] = 1 << BACK_X | 1 << BACK_GAMMA,
                   [BACK_GAMMA] = 1 << BACK_X | 1 << BACK_DY},
    .reference = hki_layer_norm_backward_reference,
    GRADIENT,
};

const hk_op hki_op_layer_norm_weigh = {
    HKI_OP_NAMED(layer_norm_weigh),
    HKI_OP_PARAMS(layer_norm_weigh),
    HKI_OP_SAMPLES(weigh_samples),
    .signature = "x, dy, saved",
    .doc = "Gradients of layer_norm, rms_norm and group_norm with respect to gamma, then beta.",
    .infer = weigh_infer,
    .plan = weigh_plan,
    .batch = weigh_batch,
    .kernel = {[HKI_CPU] = weigh_cpu},
    .join = weigh_join,
    .grad = hki_layer_norm_weigh_second,
    .grad_reads = {[BACK_X] = 1 << BACK_X | 1 << BACK_DY, [BACK_DY] = 1 << BACK_X},
    .reference = hki_layer_norm_weigh_reference,
    GRADIENT,
};
