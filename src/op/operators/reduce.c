/* Reductions over axes: sum, mean, max, min. Loops and their order are in reduce_kernel.c. */
#include "op/operators/reduce.h"

#include "op/kernels/elementwise/elementwise.h"
#include "op/kernels/reduce/reduce_kernel.h"

#include <math.h>

/* What sets the operators apart; hk_op.data. */
typedef struct reduction {
    hki_reduce_kind kind;
    bool mean;
    /* For the reference: what no elements give, and how one more is joined. */
    double start;
    double (*join)(double a, double b);
} reduction;

static double add(double a, double b)
{
    return a + b;
}

static const reduction sum_reduction = {HKI_REDUCE_SUM, false, 0, add};
static const reduction mean_reduction = {HKI_REDUCE_SUM, true, 0, add};
static const reduction max_reduction = {HKI_REDUCE_MAX, false, -INFINITY, fmax};
static const reduction min_reduction = {HKI_REDUCE_MIN, false, INFINITY, fmin};

HKI_OPTIONS_TABLE(sum, REDUCE_OPTIONS)
#define mean_params              sum_params
#define max_params               sum_params
#define min_params               sum_params
#define extremum_backward_params sum_params

/* ---- axes and shapes --------------------------------------------------------------------------------- */

bool hki_reduce_mask(hki_call *call, const hki_sum_options *options, int ndim, unsigned *mask)
{
    const hk_dims *axes = &options->axes;
    if (axes->ndim < 0 || axes->ndim > HK_MAX_NDIM)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "axes holds %d axes; it may hold 0 … %d",
                               axes->ndim, HK_MAX_NDIM);
    unsigned bits = 0;
    for (int i = 0; i < axes->ndim; i++) {
        int64_t axis = axes->dims[i];
        if (!hki_axis_exists(axis, ndim))
            return hki_call_refuse(call, HK_OUT_OF_RANGE,
                                   "axes[%d] is %lld; the input has %d axes, so that an axis is in "
                                   "[%d, %d)",
                                   i, (long long)axis, ndim, -ndim, ndim);
        unsigned bit = 1u << hki_axis_from_front(axis, ndim);
        if (bits & bit)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "axes[%d] is %lld, an axis that stands in axes before", i,
                                   (long long)axis);
        bits |= bit;
    }
    *mask = axes->ndim ? bits : (1u << ndim) - 1;
    return true;
}

hk_dims hki_reduce_shape(const hk_dims *shape, unsigned mask, bool keepdims)
{
    hk_dims out = {0};
    for (int i = 0; i < shape->ndim; i++) {
        bool goes = mask >> i & 1;
        if (!goes || keepdims)
            out.dims[out.ndim++] = goes ? 1 : shape->dims[i];
    }
    return out;
}

hk_array *hki_reduce_stretch(hk_array *y, const hk_dims *shape, const hki_sum_options *options)
{
    unsigned mask = hki_reduce_mask_of(options, shape->ndim);
    int64_t strides[HK_MAX_NDIM] = {0};
    hk_dims kept = hki_reduce_shape(shape, mask, true);
    if (y->failed)
        return y;
    hki_reduce_spread(shape->ndim, mask, options->keepdims, y->strides, strides);
    return (hk_broadcast_to)(hki_array_view(y, kept, strides, y->offset), *shape);
}

static bool is_float(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_F64;
}

static bool reduce_infer(hki_call *call)
{
    const reduction *what = call->op->data;
    const hki_sum_options *options = call->options;
    const hki_shape_view *x = call->inputs[0];
    unsigned mask;
    if (!hki_reduce_mask(call, options, x->shape.ndim, &mask))
        return false;
    call->out_shape[0] = hki_reduce_shape(&x->shape, mask, options->keepdims);
    call->out_dtype[0] = x->dtype;
    if (what->kind == HKI_REDUCE_SUM && !is_float(x->dtype))
        call->out_dtype[0] = what->mean ? HK_F64 : HK_I64;
    int64_t size = 0;
    hki_dims_size(&call->out_shape[0], &size);
    if (what->kind != HKI_REDUCE_SUM && x->size == 0 && size > 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "the %s of no elements is not defined: an axis to reduce has size 0",
                               call->op->name);
    return true;
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

static void reduce_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    const int64_t no_strides[HK_MAX_NDIM] = {0};
    hki_reduce_geometry geometry;
    hki_reduce_geometry_init(&geometry, x->shape.ndim, x->shape.dims, x->strides,
                             hki_reduce_mask_of(call->options, x->shape.ndim), no_strides);
    plan->work_ns = 0.25 * (double)geometry.kept.count * (double)geometry.gone.count;
    if (geometry.parts) {
        plan->extent = geometry.gone.count;
        plan->grain = geometry.rows ? 16 : HKI_REDUCE_BLOCK;
        plan->partial_bytes = (size_t)geometry.kept.count * sizeof(hki_reduce_word);
    } else {
        plan->extent = geometry.kept.count;
        plan->grain = geometry.rows ? 64 : 1;
    }
}

static void call_geometry(const hki_kernel_call *call, hki_reduce_geometry *geometry)
{
    const hki_sum_options *options = call->options;
    const hki_tensor *x = &call->in[0], *y = &call->out[0];
    unsigned mask = hki_reduce_mask_of(options, x->ndim);
    int64_t strides[HK_MAX_NDIM];
    hki_reduce_spread(x->ndim, mask, options->keepdims, y->strides, strides);
    hki_reduce_geometry_init(geometry, x->ndim, x->dims, x->strides, mask, strides);
    geometry->parts = call->partial_bytes > 0;
}

/* Writes the results of kept elements [begin, end). */
static void store(const hki_kernel_call *call, const hki_reduce_geometry *geometry,
                  const hki_reduce_word *words, int64_t begin, int64_t end)
{
    const hki_reduce_axes *kept = &geometry->kept;
    const bool mean = ((const reduction *)call->op->data)->mean;
    const bool from_float = is_float(call->in[0].dtype);
    const double count = (double)geometry->gone.count;
    void *out = call->out[0].data;
    for (int64_t k = begin; k < end; k++) {
        hki_reduce_word word = words[k - begin];
        int64_t at = hki_reduce_offset(kept, kept->out_strides, k);
        if (mean)
            word.f = (from_float ? word.f : (double)word.i) / count;
        switch (call->out[0].dtype) {
        case HK_F32:
            ((float *)out)[at] = (float)word.f;
            break;
        case HK_F64:
            ((double *)out)[at] = word.f;
            break;
        case HK_I32:
            ((int32_t *)out)[at] = (int32_t)word.i;
            break;
        case HK_I64:
            ((int64_t *)out)[at] = word.i;
            break;
        case HK_U8:
        case HK_BOOL:
        case HK_F16: /* these are refused */
        case HK_BF16:
            ((uint8_t *)out)[at] = (uint8_t)word.i;
            break;
        }
    }
}

static void reduce_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_reduce_kind kind = ((const reduction *)call->op->data)->kind;
    const hki_tensor *x = &call->in[0];
    hki_reduce_geometry geometry;
    call_geometry(call, &geometry);
    int64_t kept_begin = geometry.parts ? 0 : begin;
    int64_t kept_end = geometry.parts ? geometry.kept.count : end;
    int64_t gone_begin = geometry.parts ? begin : 0;
    int64_t gone_end = geometry.parts ? end : geometry.gone.count;
    for (int64_t k = kept_begin, next; k < kept_end; k = next) {
        hki_reduce_word tile[HKI_REDUCE_TILE], *words = tile;
        next = kept_end - k > HKI_REDUCE_TILE ? k + HKI_REDUCE_TILE : kept_end;
        if (geometry.parts)
            words = (hki_reduce_word *)hki_partials_of(call, piece) + k;
        hki_reduce_words(kind, x->dtype, &geometry, x->data, k, next, gone_begin, gone_end, words);
        if (!geometry.parts)
            store(call, &geometry, words, k, next);
    }
}

static void reduce_join(const hki_kernel_call *call)
{
    const hki_reduce_kind kind = ((const reduction *)call->op->data)->kind;
    hki_reduce_geometry geometry;
    call_geometry(call, &geometry);
    if (!geometry.parts)
        return;
    hki_reduce_word *words = (hki_reduce_word *)(void *)call->partials;
    for (int64_t piece = 1; piece < call->piece_count; piece++) {
        const void *more = call->partials + piece * (int64_t)call->partial_bytes;
        hki_reduce_join(kind, call->in[0].dtype, words, more, geometry.kept.count);
    }
    store(call, &geometry, words, 0, geometry.kept.count);
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

static void sum_grad(hki_grad_call *call)
{
    call->dx[0] = hki_reduce_stretch(call->dy, &call->input_shape[0], call->options);
}

static void mean_grad(hki_grad_call *call)
{
    const hk_dims *shape = &call->input_shape[0];
    unsigned mask = hki_reduce_mask_of(call->options, shape->ndim);
    double count = 1;
    for (int i = 0; i < shape->ndim; i++)
        count *= mask >> i & 1 ? (double)shape->dims[i] : 1;
    const hki_scalar_options share = {1 / count};
    hk_array *dy = hki_op_call1(&hki_op_multiply_scalar, call->dy, &share);
    call->dx[0] = hki_reduce_stretch(dy, shape, call->options);
}

static void extremum_grad(hki_grad_call *call)
{
    call->dx[0] = hki_op_call3(&hki_op_extremum_backward, call->inputs[0], call->output, call->dy,
                               call->options);
}

static bool extremum_backward_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void extremum_backward_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    unsigned mask = hki_reduce_mask_of(call->options, x->shape.ndim);
    plan->extent = 1;
    for (int i = 0; i < x->shape.ndim; i++)
        plan->extent *= mask >> i & 1 ? 1 : x->shape.dims[i];
    plan->work_ns = 15 * (double)x->size;
}

/* Shares g among the elements equal to value: two passes over what goes. */
#define SHARE(name, T)                                                                             \
    static void share_##name(const hki_reduce_axes *gone, const T *x, T value, T g, T *dx)         \
    {                                                                                              \
        int64_t ties = 0;                                                                          \
        for (int64_t i = 0; i < gone->count; i++) {                                                \
            T at = x[hki_reduce_offset(gone, gone->in_strides, i)];                                \
            ties += at == value || (at != at && value != value);                                   \
        }                                                                                          \
        for (int64_t i = 0; i < gone->count; i++) {                                                \
            T at = x[hki_reduce_offset(gone, gone->in_strides, i)];                                \
            bool tie = at == value || (at != at && value != value);                                \
            dx[hki_reduce_offset(gone, gone->out_strides, i)] = tie ? g / (T)ties : 0;             \
        }                                                                                          \
    }

SHARE(f32, float)
SHARE(f64, double)

static void extremum_backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin,
                                  int64_t end)
{
    const hki_sum_options *options = call->options;
    const hki_tensor *x = &call->in[0], *y = &call->in[1], *dy = &call->in[2], *dx = &call->out[0];
    const unsigned mask = hki_reduce_mask_of(options, x->ndim);
    int64_t y_strides[HK_MAX_NDIM], dy_strides[HK_MAX_NDIM];
    hki_reduce_axes kept = {.count = 1}, gone = {.count = 1};
    (void)piece;
    hki_reduce_spread(x->ndim, mask, options->keepdims, y->strides, y_strides);
    hki_reduce_spread(x->ndim, mask, options->keepdims, dy->strides, dy_strides);
    int64_t y_of[HK_MAX_NDIM], dy_of[HK_MAX_NDIM];
    for (int i = 0; i < x->ndim; i++) {
        hki_reduce_axes *axes = mask >> i & 1 ? &gone : &kept;
        if (axes == &kept) {
            y_of[kept.ndim] = y_strides[i];
            dy_of[kept.ndim] = dy_strides[i];
        }
        axes->count *= x->dims[i];
        axes->dims[axes->ndim] = x->dims[i];
        axes->in_strides[axes->ndim] = x->strides[i];
        axes->out_strides[axes->ndim++] = dx->strides[i];
    }
    for (int64_t k = begin; k < end; k++) {
        int64_t x_at = hki_reduce_offset(&kept, kept.in_strides, k);
        int64_t dx_at = hki_reduce_offset(&kept, kept.out_strides, k);
        int64_t y_at = hki_reduce_offset(&kept, y_of, k);
        int64_t dy_at = hki_reduce_offset(&kept, dy_of, k);
        if (x->dtype == HK_F32)
            share_f32(&gone, (const float *)x->data + x_at, ((const float *)y->data)[y_at],
                      ((const float *)dy->data)[dy_at], (float *)dx->data + dx_at);
        else
            share_f64(&gone, (const double *)x->data + x_at, ((const double *)y->data)[y_at],
                      ((const double *)dy->data)[dy_at], (double *)dx->data + dx_at);
    }
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static hki_batch_kind sum_batch(hki_batch *batch)
{
    if (batch->in[0]->shape.ndim == 0)
        return HKI_BATCH_NONE;
    hki_batch_kind each = hki_batch_first(batch);
    return hki_reduce_mask_of(batch->options, batch->in[0]->shape.ndim) & 1 ? HKI_BATCH_SUM : each;
}

/* Sums, divided at the end. */
static hki_batch_kind mean_batch(hki_batch *batch)
{
    const hki_shape_view *x = batch->in[0];
    hki_batch_kind kind = sum_batch(batch);
    if (kind != HKI_BATCH_SUM)
        return kind;
    unsigned mask = hki_reduce_mask_of(batch->options, x->shape.ndim);
    batch->as = &hki_op_sum;
    batch->divisor = 1;
    for (int i = 0; i < x->shape.ndim; i++)
        batch->divisor *= mask >> i & 1 ? (double)x->shape.dims[i] : 1;
    return x->dtype == HK_F32 || x->dtype == HK_F64 ? HKI_BATCH_SUM : HKI_BATCH_NONE;
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

/* The index in the result of the element at `index` of x, both C-order. */
static int64_t result_index(const hk_dims *shape, unsigned mask, int64_t index)
{
    int64_t result = 0, scale = 1;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        if (!(mask >> i & 1)) {
            result += index % shape->dims[i] * scale;
            scale *= shape->dims[i];
        }
        index /= shape->dims[i];
    }
    return result;
}

static void reduce_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_shape_view *x = call->inputs[0];
    const unsigned mask = hki_reduce_mask_of(call->options, x->shape.ndim);
    const reduction *what = call->op->data;
    int64_t in_size = x->size, out_size = 0;
    hki_dims_size(&call->out_shape[0], &out_size);
    for (int64_t i = 0; i < out_size; i++)
        out[0][i] = what->start;
    for (int64_t i = 0; i < in_size; i++) {
        double *y = &out[0][result_index(&x->shape, mask, i)];
        *y = what->join(*y, in[0][i]);
    }
    for (int64_t i = 0; i < out_size && what->mean; i++)
        out[0][i] /= (double)in_size / (double)out_size;
}

#define AXES(...)                                                                                  \
    &(const hki_sum_options)                                                                       \
    {                                                                                              \
        .axes = HKI_SHAPE(__VA_ARGS__)                                                             \
    }
#define AXES_KEPT(...)                                                                             \
    &(const hki_sum_options)                                                                       \
    {                                                                                              \
        .axes = HKI_SHAPE(__VA_ARGS__), .keepdims = true                                           \
    }

#define NONEMPTY_SAMPLES                                                                           \
    {.inputs = {HKI_SHAPE(2, 3)}}, {.inputs = {HKI_SHAPE_0D}}, {.inputs = {HKI_SHAPE(1)}},         \
        {.inputs = {HKI_SHAPE(7, 5)}, .options = AXES(0)},                                         \
        {.inputs = {HKI_SHAPE(7, 5)}, .options = AXES(1)},                                         \
        {.inputs = {HKI_SHAPE(3, 4, 5)}, .options = AXES(0, 2)},                                   \
        {.inputs = {HKI_SHAPE(3, 4, 5)}, .options = AXES_KEPT(-2)},                                \
        {.inputs = {HKI_SHAPE(2, 3)}, .options = &(const hki_sum_options){.keepdims = true}},      \
        {.inputs = {HKI_SHAPE(0, 3)}, .options = AXES(1)},                                         \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(6, 5)}, .options = AXES(0)},             \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(6, 5)}, .options = AXES(1)},             \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4, 5)}, .options = AXES(0, 2, 3)}, \
        {.inputs = {HKI_SHAPE(1300, 3)}, .options = AXES(0)},                                      \
        {.inputs = {HKI_SHAPE(3, 1300)}, .options = AXES(1)},                                      \
    {                                                                                              \
        .inputs = {HKI_SHAPE(3, 270, 2)}, .options = AXES(0)                                       \
    }

static const hki_sample sum_samples[] = {
    NONEMPTY_SAMPLES,
    {.inputs = {HKI_SHAPE(0, 3)}, .options = AXES(0)},
    {.inputs = {HKI_SHAPE(0)}},
};
static const hki_sample mean_samples[] = {NONEMPTY_SAMPLES};
static const hki_sample extremum_samples[] = {NONEMPTY_SAMPLES};

const hk_op hki_op_sum = {
    HKI_OP_NAMED(sum),
    HKI_OP_PARAMS(sum),
    HKI_OP_SAMPLES(sum_samples),
    .signature = "x",
    .doc = "Sum of the elements along axes (all by default); 0 for none. float32 is added up in "
           "double "
           "precision; integers and bool give int64, which wraps around.",
    .formula = "y = sum of x over axes",
    .dtypes = HKI_ALL_DTYPES,
    .infer = reduce_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = reduce_plan,
    .batch = sum_batch,
    .kernel = {[HKI_CPU] = reduce_cpu},
    .join = reduce_join,
    .grad = sum_grad,
    .reference = reduce_reference,
    .tolerance_f32 = 1e-6,
    .data = &sum_reduction,
};

const hk_op hki_op_mean = {
    HKI_OP_NAMED(mean),
    HKI_OP_PARAMS(mean),
    HKI_OP_SAMPLES(mean_samples),
    .signature = "x",
    .doc = "Mean of the elements along axes (all by default); NaN for none. Integers and bool give "
           "float64.",
    .formula = "y = sum of x over axes / how many they are",
    .dtypes = HKI_ALL_DTYPES,
    .infer = reduce_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = reduce_plan,
    .batch = mean_batch,
    .kernel = {[HKI_CPU] = reduce_cpu},
    .join = reduce_join,
    .grad = mean_grad,
    .reference = reduce_reference,
    .tolerance_f32 = 1e-6,
    .data = &mean_reduction,
};

const hk_op hki_op_max = {
    HKI_OP_NAMED(max),
    HKI_OP_PARAMS(max),
    HKI_OP_SAMPLES(extremum_samples),
    .signature = "x",
    .doc = "Largest element along axes (all by default); NaN when one is NaN. Of no elements: an "
           "error. "
           "The gradient is shared equally by elements that are equal.",
    .dtypes = HKI_ALL_DTYPES,
    .infer = reduce_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = reduce_plan,
    .kernel = {[HKI_CPU] = reduce_cpu},
    .join = reduce_join,
    .grad = extremum_grad,
    .grad_keep = HKI_KEEP_INPUTS | HKI_KEEP_OUTPUT,
    .reference = reduce_reference,
    .data = &max_reduction,
};

const hk_op hki_op_min = {
    HKI_OP_NAMED(min),
    HKI_OP_PARAMS(min),
    HKI_OP_SAMPLES(extremum_samples),
    .signature = "x",
    .doc = "Smallest element along axes (all by default); NaN when one is NaN. Of no elements: an "
           "error. The gradient is shared equally by elements that are equal.",
    .dtypes = HKI_ALL_DTYPES,
    .infer = reduce_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = reduce_plan,
    .kernel = {[HKI_CPU] = reduce_cpu},
    .join = reduce_join,
    .grad = extremum_grad,
    .grad_keep = HKI_KEEP_INPUTS | HKI_KEEP_OUTPUT,
    .reference = reduce_reference,
    .data = &min_reduction,
};

const hk_op hki_op_extremum_backward = {
    HKI_OP_NAMED(extremum_backward),
    HKI_OP_PARAMS(extremum_backward),
    .signature = "x, y, dy",
    .doc = "Gradient of max and min.",
    .dtypes = HKI_FLOATS,
    .internal = true,
    .infer = extremum_backward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = extremum_backward_plan,
    .kernel = {[HKI_CPU] = extremum_backward_cpu},
    .no_grad_why = "gradients of gradients are not recorded",
    .untested = "the gradients of max and min test it",
};
