/* The operators of reduce.def. Loops and their order are in reduce_kernel.c. */
#include "op/reduce/reduce.h"

#include "base/dtype.h"
#include "base/half.h"
#include "base/integer_dtypes.h"
#include "base/text.h"
#include "op/call/plan.h"
#include "op/elementwise/elementwise.h"
#include "op/elementwise/elementwise_gradient.h"
#include "op/reduce/reduce_samples.h"
#include "op/reduce/reduce_scaled.h"
#include "op/shape/copy.h"

#include <math.h>

typedef enum reduce_finish {
    FINISH_NONE,
    FINISH_MEAN,
    FINISH_ROOT,
    FINISH_ANY,
    FINISH_EVERY,
    FINISH_FINITE /* 0 for what is infinite */
} reduce_finish;

typedef enum reduce_result {
    RESULT_SAME,
    RESULT_WIDE,
    RESULT_MEAN,
    RESULT_I64,
    RESULT_F64,
    RESULT_BOOL
} reduce_result;

/* What sets the operators apart; hk_op.data. */
typedef struct reduction {
    hki_reduce_kind kind;
    reduce_finish finish;
    reduce_result result;
} reduction;

HKI_OPTIONS_TABLE(sum, REDUCE_OPTIONS)

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
        char name[16];
        hki_format(name, sizeof name, "axes[%d]", i);
        if (!hki_call_take_axis(call, name, &axis, ndim))
            return false;
        const unsigned bit = 1u << axis;
        if (bits & bit)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "axes[%d] is %lld, an axis that stands in axes before", i,
                                   (long long)axes->dims[i]);
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

static hk_dtype result_dtype(reduce_result result, hk_dtype dtype)
{
    switch (result) {
    case RESULT_WIDE:
        return hki_sum_dtype(dtype);
    case RESULT_MEAN:
        return hki_dtype_is_inexact(dtype) ? dtype : HK_F64;
    case RESULT_I64:
        return HK_I64;
    case RESULT_F64:
        return HK_F64;
    case RESULT_BOOL:
        return HK_BOOL;
    case RESULT_SAME:
        break;
    }
    return dtype;
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
    call->out_dtype[0] = result_dtype(what->result, x->dtype);
    int64_t size = 0;
    hki_dims_size(&call->out_shape[0], &size);
    const bool is_extremum = what->kind == HKI_REDUCE_MAX || what->kind == HKI_REDUCE_MIN;
    if (is_extremum && x->size == 0 && size > 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "the %s of no elements is not defined: an axis to reduce has size 0",
                               call->op->name);
    return true;
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

/* Sums of these could wrap around in a word, which a mean does not. */
static hki_reduce_kind kind_of(const hk_op *op, hk_dtype dtype)
{
    const reduction *what = op->data;
    const bool is_long = what->finish == FINISH_MEAN && (dtype == HK_I64 || dtype == HK_U64);
    return is_long ? HKI_REDUCE_TOTAL : what->kind;
}

/* A sum over axis 0 may be one over samples. */
static bool sums_samples(const hk_op *op, hk_dtype dtype, int ndim, unsigned mask)
{
    return ((const reduction *)op->data)->kind == HKI_REDUCE_SUM && ndim > 0 && mask & 1 &&
           (dtype == HK_F32 || dtype == HK_F64);
}

void hki_reduce_plan_samples(int64_t samples, hki_plan *plan)
{
    const double wanted = plan->work_ns / HKI_PLAN_PIECE_NS;
    const int64_t most = wanted < (double)plan->max_pieces ? (int64_t)wanted : plan->max_pieces;
    plan->extent = hki_sum_cut_to(samples, hki_max(1, most)).pieces;
    plan->grain = 1;
}

static void reduce_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    const int64_t no_strides[HK_MAX_NDIM] = {0};
    hki_reduce_geometry geometry;
    const unsigned mask = hki_reduce_mask_of(call->options, x->shape.ndim);
    hki_reduce_geometry_init(&geometry, x->shape.ndim, x->shape.dims, x->strides, mask, no_strides);
    plan->work_ns = 0.25 * (double)geometry.kept.count * (double)geometry.gone.count;
    if (geometry.parts) {
        plan->extent = geometry.gone.count;
        plan->grain = geometry.rows ? 16 : HKI_REDUCE_PART;
        plan->partial_bytes = (size_t)geometry.kept.count * sizeof(hki_reduce_word);
    } else {
        plan->extent = geometry.kept.count;
        plan->grain = geometry.rows ? 64 : 1;
    }
    if (geometry.parts && sums_samples(call->op, x->dtype, x->shape.ndim, mask))
        hki_reduce_plan_samples(x->shape.dims[0], plan);
}

/* Returns which axes go. */
static unsigned call_geometry(const hki_kernel_call *call, hki_reduce_geometry *geometry)
{
    const hki_sum_options *options = call->options;
    const hki_tensor *x = &call->in[0], *y = &call->out[0];
    unsigned mask = hki_reduce_mask_of(options, x->ndim);
    int64_t strides[HK_MAX_NDIM];
    hki_reduce_spread(x->ndim, mask, options->keepdims, y->strides, strides);
    hki_reduce_geometry_init(geometry, x->ndim, x->dims, x->strides, mask, strides);
    geometry->parts = call->partial_bytes > 0;
    return mask;
}

/* What becomes of words that gathered `gathered` elements each. */
static void finish(const reduction *what, hki_reduce_kind kind, hk_dtype from, int64_t gathered,
                   hki_reduce_word *words, int64_t count)
{
    const bool is_mean =
        what->finish == FINISH_MEAN && (hki_dtype_is_real(from) || kind == HKI_REDUCE_TOTAL);
    if (is_mean)
        hki_reduce_divide(words, count, (double)gathered);
    for (int64_t k = 0; !is_mean && what->finish != FINISH_NONE && k < count; k++) {
        hki_reduce_word *word = &words[k];
        switch (what->finish) {
        case FINISH_MEAN:
            word->f = (hki_dtype_is_unsigned(from) ? (double)word->u : (double)word->i) /
                      (double)gathered;
            break;
        case FINISH_ROOT:
            word->f = sqrt(word->f);
            break;
        case FINISH_ANY:
            word->i = word->i > 0;
            break;
        case FINISH_EVERY:
            word->i = word->i == gathered;
            break;
        case FINISH_FINITE:
            word->f = isinf(word->f) ? 0 : word->f;
            break;
        case FINISH_NONE:
            break;
        }
    }
}

/* Writes words to places that are `stride` apart. */
static void write_words(hk_dtype dtype, void *out, int64_t stride, const hki_reduce_word *words,
                        int64_t count)
{
#define WRITE(T, value)                                                                            \
    for (int64_t k = 0; k < count; k++)                                                            \
        ((T *)out)[k * stride] = (T)(value);                                                       \
    break;
    switch (dtype) {
    case HK_F32:
        WRITE(float, words[k].f)
    case HK_F64:
        WRITE(double, words[k].f)
    case HK_F16:
        WRITE(uint16_t, hki_f16_from_double(words[k].f))
    case HK_BF16:
        WRITE(uint16_t, hki_bf16_from_double(words[k].f))
    case HK_BOOL:
        WRITE(uint8_t, words[k].u)
#define WRITE_INTEGERS(dtype, name, T, least, most)                                                \
    case dtype:                                                                                    \
        WRITE(T, words[k].u)
        HKI_EACH_INTEGER(WRITE_INTEGERS)
#undef WRITE_INTEGERS
    case HK_C64: /* complex.c */
    case HK_C128:
        break;
    }
#undef WRITE
}

/* Writes the results of kept elements [begin, end), whose words become anything. */
static void store(const hki_kernel_call *call, const hki_reduce_geometry *geometry,
                  hki_reduce_word *words, int64_t begin, int64_t end)
{
    const hki_reduce_axes *kept = &geometry->kept;
    const hk_dtype dtype = call->out[0].dtype;
    const int64_t inner = kept->ndim ? kept->dims[kept->ndim - 1] : 1;
    const int64_t stride = kept->ndim ? kept->out_strides[kept->ndim - 1] : 0;
    finish(call->op->data, kind_of(call->op, call->in[0].dtype), call->in[0].dtype,
           geometry->gone.count, words, end - begin);
    const reduce_finish finished = ((const reduction *)call->op->data)->finish;
    if (finished == FINISH_MEAN || finished == FINISH_ROOT)
        hki_reduce_mend(&call->in[0], geometry, finished == FINISH_MEAN, words, begin, end - begin);
    for (int64_t k = begin, count; k < end; k += count) {
        const int64_t at = hki_reduce_offset(kept, kept->out_strides, k);
        count = hki_min(end - k, inner - k % inner);
        write_words(dtype, (char *)call->out[0].data + at * (int64_t)hki_dtype_bytes(dtype), stride,
                    words + (k - begin), count);
    }
}

/* What is left of a piece: kept elements, and what goes of each, by elements or by samples. */
typedef struct reduce_range {
    int64_t kept_begin, kept_end, gone_begin, gone_end;
} reduce_range;

static reduce_range range_of(const hki_kernel_call *call, const hki_reduce_geometry *geometry,
                             bool by_samples, int64_t piece, int64_t begin, int64_t end)
{
    reduce_range range = {begin, end, 0, by_samples ? call->in[0].dims[0] : geometry->gone.count};
    if (geometry->parts)
        range = (reduce_range){0, geometry->kept.count, begin, end};
    if (geometry->parts && by_samples) {
        const hki_sum_cut cut = hki_sum_cut_to(call->in[0].dims[0], call->piece_count);
        hki_sum_piece(&cut, piece - call->first_piece, &range.gone_begin, &range.gone_end);
    }
    return range;
}

static void reduce_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    const hki_reduce_kind kind = kind_of(call->op, x->dtype);
    hki_reduce_geometry geometry;
    hki_reduce_samples samples;
    const unsigned mask = call_geometry(call, &geometry);
    const bool by_samples = sums_samples(call->op, x->dtype, x->ndim, mask);
    const reduce_range range = range_of(call, &geometry, by_samples, piece, begin, end);
    if (by_samples)
        hki_reduce_samples_init(&samples, x->dtype, x->ndim, x->dims, x->strides, mask);
    for (int64_t k = range.kept_begin, next; k < range.kept_end; k = next) {
        hki_reduce_word tile[HKI_REDUCE_WIDE], *words = tile;
        const int64_t most =
            by_samples ? HKI_REDUCE_TILE : hki_reduce_tile(kind, x->dtype, &geometry, k);
        next = hki_min(k + most, range.kept_end);
        if (geometry.parts)
            words = (hki_reduce_word *)hki_partials_of(call, piece) + k;
        if (by_samples)
            hki_reduce_samples_words(&samples, x->data, k, next, range.gone_begin, range.gone_end,
                                     words);
        else
            hki_reduce_words(kind, x->dtype, &geometry, x->data, k, next, range.gone_begin,
                             range.gone_end, words);
        if (!geometry.parts)
            store(call, &geometry, words, k, next);
    }
}

/* One partial after the other, in the order of pieces. */
static void join_in_order(const hki_kernel_call *call, int64_t count)
{
    const hki_reduce_kind kind = kind_of(call->op, call->in[0].dtype);
    for (int64_t piece = 1; piece < call->piece_count; piece++)
        hki_reduce_join(kind, call->in[0].dtype, (hki_reduce_word *)(void *)call->partials,
                        hki_partials_of(call, call->first_piece + piece), count);
}

static void join_samples(const hki_kernel_call *call, int64_t count)
{
    const hki_sum_cut cut = hki_sum_cut_to(call->in[0].dims[0], call->piece_count);
    hki_reduce_samples_join(&cut, call->in[0].dtype, count, call->partials, call->partial_bytes);
}

static void reduce_join(const hki_kernel_call *call)
{
    const hki_tensor *x = &call->in[0];
    hki_reduce_geometry geometry;
    const unsigned mask = call_geometry(call, &geometry);
    if (!geometry.parts)
        return;
    if (sums_samples(call->op, x->dtype, x->ndim, mask))
        join_samples(call, geometry.kept.count);
    else
        join_in_order(call, geometry.kept.count);
    store(call, &geometry, (hki_reduce_word *)(void *)call->partials, 0, geometry.kept.count);
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

static void mean_wide_grad(hki_grad_call *call)
{
    mean_grad(call);
    hki_set_summed(call, 0, call->dx[0]);
}

/* By an operator that looks at each element again. */
static hk_array *backward(const hki_grad_call *call, const hk_op *op)
{
    hk_array *const inputs[] = {call->inputs[0], call->output, call->dy};
    return hki_op_call_wide(op, inputs, 3, call->options, call->input_dtype[0]);
}

static void extremum_grad(hki_grad_call *call)
{
    call->dx[0] = backward(call, &hki_op_extremum_backward);
}

static void prod_grad(hki_grad_call *call)
{
    call->dx[0] = backward(call, &hki_op_prod_backward);
}

static void norm_grad(hki_grad_call *call)
{
    call->dx[0] = backward(call, &hki_op_norm_backward);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static hki_batch_kind sum_batch(hki_batch *batch)
{
    if (batch->in[0]->shape.ndim == 0)
        return HKI_BATCH_NONE;
    hki_batch_kind each = hki_batch_first(batch);
    return hki_reduce_mask_of(batch->options, batch->in[0]->shape.ndim) & 1 ? HKI_BATCH_SUM : each;
}

/* Where samples are not added up. */
static hki_batch_kind each_batch(hki_batch *batch)
{
    return sum_batch(batch) == HKI_BATCH_EACH ? HKI_BATCH_EACH : HKI_BATCH_NONE;
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

static double add(double a, double b)
{
    return a + b;
}

static double multiply(double a, double b)
{
    return a * b;
}

static double add_square(double a, double b)
{
    return a + b * b;
}

static double add_truth(double a, double b)
{
    return a + (b != 0);
}

/* What no elements give, and how one more is joined. */
typedef struct plain {
    double start;
    double (*join)(double a, double b);
} plain;

static const plain plainly[] = {
    [HKI_REDUCE_SUM] = {0, add},         [HKI_REDUCE_TOTAL] = {0, add},
    [HKI_REDUCE_PROD] = {1, multiply},   [HKI_REDUCE_SQUARES] = {0, add_square},
    [HKI_REDUCE_COUNT] = {0, add_truth}, [HKI_REDUCE_MAX] = {-INFINITY, fmax},
    [HKI_REDUCE_MIN] = {INFINITY, fmin},
};

static void reduce_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_shape_view *x = call->inputs[0];
    const unsigned mask = hki_reduce_mask_of(call->options, x->shape.ndim);
    const reduction *what = call->op->data;
    const plain *rule = &plainly[what->kind];
    int64_t in_size = x->size, out_size = 0;
    hki_dims_size(&call->out_shape[0], &out_size);
    for (int64_t i = 0; i < out_size; i++)
        out[0][i] = rule->start;
    for (int64_t i = 0; i < in_size; i++) {
        double *y = &out[0][result_index(&x->shape, mask, i)];
        *y = rule->join(*y, in[0][i]);
    }
    for (int64_t i = 0; i < out_size; i++) {
        const double count = (double)in_size / (double)out_size, gathered = out[0][i];
        switch (what->finish) {
        case FINISH_MEAN:
            out[0][i] = gathered / count;
            break;
        case FINISH_ROOT:
            out[0][i] = sqrt(gathered);
            break;
        case FINISH_ANY:
            out[0][i] = gathered != 0;
            break;
        case FINISH_EVERY:
            out[0][i] = gathered == count;
            break;
        case FINISH_FINITE:
            out[0][i] = isinf(gathered) ? 0 : gathered;
            break;
        case FINISH_NONE:
            break;
        }
    }
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
static const hki_sample nonempty_samples[] = {NONEMPTY_SAMPLES};

/* Products that neither overflow nor vanish; of integers small ones. */
#define NEAR_ONE .low = 0.9, .high = 1.1
static const hki_sample prod_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}, .options = AXES(1), .low = -2, .high = 2},
    {.inputs = {HKI_SHAPE_0D}},
    {.inputs = {HKI_SHAPE(3, 4, 5)}, .options = AXES_KEPT(0, 2), NEAR_ONE},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(6, 5)}, .options = AXES(0), NEAR_ONE},
    {.inputs = {HKI_SHAPE(0, 3)}, .options = AXES(0)},
};
/* Some are 0 where numbers are whole. */
static const hki_sample truth_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}, .low = -0.1, .high = 0.1},
    {.inputs = {HKI_SHAPE(7, 5)}, .options = AXES(0), .low = -0.1, .high = 0.2},
    {.inputs = {HKI_SHAPE(7, 5)}, .options = AXES_KEPT(1), .low = -0.2, .high = 0.1},
    {.inputs = {HKI_SHAPE_0D}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4, 5)}, .options = AXES(0, 2, 3)},
    {.inputs = {HKI_SHAPE(1300, 3)}, .options = AXES(0)},
    {.inputs = {HKI_SHAPE(0, 3)}, .options = AXES(0)},
};

/* ---- the operators --------------------------------------------------------------------------------------- */

#define REDUCTION(op, kind, on_gpus, finish_by, allowed, result, gradient, reads, batched,         \
                  sample_list, tolerance, formula_text, doc_text)                                  \
    static const reduction op##_reduction = {HKI_REDUCE_##kind, FINISH_##finish_by,                \
                                             RESULT_##result};                                     \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_SAMPLES(sample_list),                                                               \
        .params = sum_params,                                                                      \
        .options_bytes = sizeof(hki_sum_options),                                                  \
        .signature = "x",                                                                          \
        .doc = doc_text,                                                                           \
        .formula = formula_text,                                                                   \
        .dtypes = HKI_##allowed,                                                                   \
        .host_only = !(on_gpus),                                                                   \
        .gpu_dtypes = HKI_GPU_DTYPES | HKI_GPU_SUMS,                                               \
        .infer = reduce_infer,                                                                     \
        .split = HKI_SPLIT_PLAN,                                                                   \
        .plan = reduce_plan,                                                                       \
        .batch = batched,                                                                          \
        .kernel = {[HKI_CPU] = reduce_cpu},                                                        \
        .join = reduce_join,                                                                       \
        .grad = gradient,                                                                          \
        .grad_reads = {reads},                                                                     \
        .no_grad_why = "its result does not vary smoothly",                                        \
        .reference = reduce_reference,                                                             \
        .tolerance_f32 = tolerance,                                                                \
        .data = &op##_reduction,                                                                   \
    };
#include "op/reduce/reduce.def"
#undef REDUCTION

/* What logsumexp takes from exponents: its result does not depend on it, so that there is no gradient to follow. */
static const reduction exponent_offset_reduction = {HKI_REDUCE_MAX, FINISH_FINITE, RESULT_SAME};
const hk_op hki_op_exponent_offset = {
    HKI_OP_NAMED(exponent_offset),
    HKI_OP_SAMPLES(nonempty_samples),
    .params = sum_params,
    .options_bytes = sizeof(hki_sum_options),
    .signature = "x",
    .doc = "Largest element along axes, or 0 where that is infinite.",
    .dtypes = HKI_FLOATS,
    .internal = true,
    .infer = reduce_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = reduce_plan,
    .kernel = {[HKI_CPU] = reduce_cpu},
    .join = reduce_join,
    .no_grad_inputs = 1,
    .no_grad_why = "what it is taken from does not depend on it",
    .reference = reduce_reference,
    .data = &exponent_offset_reduction,
};

/* For variances: the mean, and the sum of squares, as float64, which round no more than once. */
#define WIDE_REDUCTION(op, kind, finish_by, gradient, doc_text)                                    \
    static const reduction op##_reduction = {HKI_REDUCE_##kind, FINISH_##finish_by, RESULT_F64};   \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_SAMPLES(nonempty_samples),                                                          \
        .params = sum_params,                                                                      \
        .options_bytes = sizeof(hki_sum_options),                                                  \
        .signature = "x",                                                                          \
        .doc = doc_text,                                                                           \
        .dtypes = HKI_FLOATS,                                                                      \
        .internal = true,                                                                          \
        .host_only = true,                                                                         \
        .infer = reduce_infer,                                                                     \
        .split = HKI_SPLIT_PLAN,                                                                   \
        .plan = reduce_plan,                                                                       \
        .batch = each_batch,                                                                       \
        .kernel = {[HKI_CPU] = reduce_cpu},                                                        \
        .join = reduce_join,                                                                       \
        .grad = gradient,                                                                          \
        .no_grad_why = "operators that call it have gradients",                                    \
        .reference = reduce_reference,                                                             \
        .tolerance_f32 = 1e-6,                                                                     \
        .data = &op##_reduction,                                                                   \
    };
WIDE_REDUCTION(mean_wide, TOTAL, MEAN, mean_wide_grad, "Mean along axes as float64.")
WIDE_REDUCTION(squares_wide, SQUARES, NONE, NULL, "Sum of squares along axes as float64.")
