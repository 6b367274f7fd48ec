/* Quantiles and medians: elements of lines that are sorted, and what lies between them. Of those that leave NaNs out each line has
 * a number of elements of its own. */
#include "base/option.h"
#include "op/call/composed.h"
#include "op/elementwise/elementwise.h"
#include "op/reduce/reduce.h"
#include "op/sort/sort.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define QUANTILE_OPTIONS(F, op)                                                                    \
    F(op, DIMS, axes, "all axes", "axes to reduce, such as hk_shape(0, -1)")                       \
    F(op, BOOL, keepdims, "false", "keep the reduced axes, with size 1")                           \
    F(op, F64, q, "0.5", "which quantile, from 0, the least, to 1, the largest")                   \
    F(op, INT, method, "HK_QUANTILE_LINEAR", "an hk_quantile_method")
HKI_OPTIONS(quantile, QUANTILE_OPTIONS)
HKI_OPTIONS_STRUCT(median, REDUCE_OPTIONS)
HKI_OPTIONS_TABLE(median, REDUCE_OPTIONS)
typedef hki_quantile_options hki_nanquantile_options;
typedef hki_median_options hki_nanmedian_options;
#define nanquantile_params quantile_params
#define nanmedian_params   median_params

static bool skips_nan(const hki_call *call)
{
    return call->op->id == HKI_OP_ID_nanquantile || call->op->id == HKI_OP_ID_nanmedian;
}

/* What they are asked for; options of medians have no more than the axes. */
static hki_quantile_options asked(const hki_call *call)
{
    if (call->op->id == HKI_OP_ID_quantile || call->op->id == HKI_OP_ID_nanquantile)
        return *(const hki_quantile_options *)call->options;
    const hki_median_options *o = call->options;
    return (hki_quantile_options){.axes = o->axes, .keepdims = o->keepdims};
}

static double fraction_of(const hki_quantile_options *o)
{
    return hki_option_or(o->q, 0.5) + 0.0;
}

static unsigned mask_of(const hki_quantile_options *o, int ndim)
{
    const hki_sum_options over = {.axes = o->axes};
    return hki_reduce_mask_of(&over, ndim);
}

static int64_t count_of(const hk_dims *shape, unsigned mask)
{
    int64_t count = 1;
    for (int i = 0; i < shape->ndim; i++)
        count *= mask >> i & 1 ? shape->dims[i] : 1;
    return count;
}

static bool infer(hki_call *call)
{
    const hki_quantile_options o = asked(call);
    const hki_shape_view *x = call->inputs[0];
    const hki_sum_options over = {.axes = o.axes, .keepdims = o.keepdims};
    const double q = fraction_of(&o);
    unsigned mask;
    if (!hki_reduce_mask(call, &over, x->shape.ndim, &mask))
        return false;
    if (!(q >= 0 && q <= 1))
        return hki_call_refuse(call, HK_OUT_OF_RANGE, "q is %g, but must be from 0 to 1", q);
    if (o.method < HK_QUANTILE_LINEAR || o.method > HK_QUANTILE_NEAREST)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "method is %" PRId64 ", but must be an hk_quantile_method, 0 to 4",
                               o.method);
    if (count_of(&x->shape, mask) == 0) {
        char text[256];
        hki_dims_describe(&x->shape, text, sizeof text);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s: along the axes there are no elements, but one is needed",
                               text);
    }
    call->out_shape[0] = hki_reduce_shape(&x->shape, mask, o.keepdims);
    call->out_dtype[0] = hki_dtype_is_real(x->dtype) ? x->dtype : HK_F64;
    return true;
}

/* The two elements of a sorted line, and how far from the first to the second. */
typedef struct place {
    int64_t low, high;
    double along;
} place;

static place place_of(const hki_quantile_options *o, int64_t count)
{
    const double at = fraction_of(o) * (double)(count - 1);
    const int64_t low = (int64_t)floor(at), high = (int64_t)ceil(at);
    switch (o->method) {
    case HK_QUANTILE_LOWER:
        return (place){low, low, 0};
    case HK_QUANTILE_HIGHER:
        return (place){high, high, 0};
    case HK_QUANTILE_MIDPOINT:
        return (place){low, high, low == high ? 0 : 0.5};
    case HK_QUANTILE_NEAREST:
        return (place){(int64_t)rint(at), (int64_t)rint(at), 0};
    default:
        return (place){low, high, at - (double)low};
    }
}

/* x as rows of what is reduced. */
static hk_array *as_rows(hk_array *x, unsigned mask, int64_t count)
{
    hk_dims order = {.ndim = x->shape.ndim};
    int next = 0;
    for (unsigned goes = 0; goes < 2; goes++)
        for (int i = 0; i < x->shape.ndim; i++)
            if ((mask >> i & 1) == goes)
                order.dims[next++] = i;
    const hki_reshape_options rows = {.shape = {.ndim = 2, .dims = {x->size / count, count}}};
    return hki_op_call1(&hki_op_reshape, hki_op_call1(&hki_op_permute_dims, x, &order), &rows);
}

static hk_array *entry(hk_array *rows, int64_t at)
{
    return (hk_slice)(rows, 1, at, at + 1);
}

/* Both weighed, not one and a part of what is between them, which infinities have none of. */
static hk_array *between(hk_array *low, hk_array *high, double along)
{
    return hki_op_call2(&hki_op_add, hki_times(low, 1 - along), hki_times(high, along), NULL);
}

/* y, or NaN where the last of the sorted elements is. */
static hk_array *unless_nan(const hki_call *call, hk_array *y, hk_array *last)
{
    return hki_op_call3(&hki_op_where, hki_op_call2(&hki_op_equal, last, last, NULL), y,
                        hki_number(call, NAN, last->dtype), NULL);
}

/* The quantile of each row; NaN where one of its elements is. */
static hk_array *among_all(const hki_call *call, const hki_quantile_options *o, hk_array *rows,
                           int64_t count)
{
    const place at = place_of(o, count);
    hk_array *y = entry(rows, at.low);
    if (at.along > 0)
        y = between(y, entry(rows, at.high), at.along);
    return unless_nan(call, y, entry(rows, count - 1));
}

/* For each row the entry of that number. */
static hk_array *entry_of_each(hk_array *rows, hk_array *at)
{
    return hki_op_call2(&hki_op_take_along_axis, rows, hki_as(at, HK_I64), &(const int64_t){1});
}

/* The quantile of what is no NaN, which stand last, of each row; NaN where there is nothing else. place_of, of a number of elements
 * that each row has for itself. */
static hk_array *among_numbers(const hki_quantile_options *o, hk_array *rows)
{
    const hki_sum_options along_rows = {.axes = {.ndim = 1, .dims = {1}}, .keepdims = true};
    hk_array *count = hki_op_call2(&hki_op_equal, rows, rows, NULL);
    count = hki_op_call1(&hki_op_sum, hki_as(count, HK_F64), &along_rows);
    hk_array *at = hki_times(hki_plus(count, -1), fraction_of(o));
    at = hki_op_call_number(&hki_op_maximum_scalar, at, 0);
    hk_array *low = hki_op_call1(&hki_op_floor, at, NULL);
    hk_array *high = hki_op_call1(&hki_op_ceil, at, NULL);
    if (o->method == HK_QUANTILE_NEAREST)
        low = hki_op_call1(&hki_op_round, at, NULL);
    if (o->method == HK_QUANTILE_HIGHER)
        low = high;
    hk_array *y = entry_of_each(rows, low);
    if (o->method != HK_QUANTILE_LINEAR && o->method != HK_QUANTILE_MIDPOINT)
        return y;
    hk_array *along = o->method == HK_QUANTILE_LINEAR
                          ? hki_op_call2(&hki_op_subtract, at, low, NULL)
                          : hki_times(hki_op_call2(&hki_op_subtract, high, low, NULL), 0.5);
    hk_array *is_between = hki_op_call2(&hki_op_not_equal, low, high, NULL);
    along = hki_as(along, rows->dtype);
    hk_array *mixed = hki_op_call2(&hki_op_add, hki_product(y, hki_less(1, along)),
                                   hki_product(entry_of_each(rows, high), along), NULL);
    return hki_op_call3(&hki_op_where, is_between, mixed, y, NULL);
}

static hk_array *compose(const hki_call *call)
{
    const hki_quantile_options o = asked(call);
    const hk_dtype dtype = call->out_dtype[0];
    const unsigned mask = mask_of(&o, call->inputs[0]->shape.ndim);
    const int64_t count = count_of(&call->inputs[0]->shape, mask);
    const hki_sort_options rising = {.axis = 1};
    const hki_reshape_options shape = {.shape = call->out_shape[0]};
    hk_array *x = hki_as(call->arrays[0], 1u << dtype & HKI_HALVES ? HK_F32 : dtype);
    hk_array *rows = hki_op_call1(&hki_op_sort, as_rows(x, mask, count), &rising);
    hk_array *y = skips_nan(call) ? among_numbers(&o, rows) : among_all(call, &o, rows, count);
    return hki_as(hki_op_call1(&hki_op_reshape, y, &shape), dtype);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_quantile_options o = asked(call);
    const hk_dims *shape = &call->inputs[0]->shape;
    const unsigned mask = mask_of(&o, shape->ndim);
    const int64_t count = count_of(shape, mask);
    int64_t kept = 0;
    hki_dims_size(&call->out_shape[0], &kept);
    double *line = calloc((size_t)count, sizeof *line);
    for (int64_t k = 0; k < kept && line; k++) {
        int64_t found = 0;
        for (int64_t i = 0; i < call->inputs[0]->size; i++) {
            int64_t rest = i, where = 0, scale = 1;
            for (int axis = shape->ndim - 1; axis >= 0; axis--) {
                if (!(mask >> axis & 1)) {
                    where += rest % shape->dims[axis] * scale;
                    scale *= shape->dims[axis];
                }
                rest /= shape->dims[axis];
            }
            if (where == k && !(skips_nan(call) && isnan(in[0][i])))
                line[found++] = in[0][i];
        }
        const place at = place_of(&o, found);
        qsort(line, (size_t)found, sizeof *line, by_value);
        out[0][k] = found ? line[at.low] + at.along * (line[at.high] - line[at.low]) : NAN;
    }
    free(line);
}

#define QUANTILE(...)                                                                              \
    &(const hki_quantile_options)                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample quantile_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}},
    {.inputs = {HKI_SHAPE_0D}, .options = QUANTILE(.q = 0.3)},
    {.inputs = {HKI_SHAPE(7, 5)}, .options = QUANTILE(.axes = HKI_SHAPE(0), .q = 0.3)},
    {.inputs = {HKI_SHAPE(7, 5)}, .options = QUANTILE(.axes = HKI_SHAPE(0), .q = -0.0)},
    {.inputs = {HKI_SHAPE(3, 4, 5)},
     .options = QUANTILE(.axes = HKI_SHAPE(0, -1), .keepdims = true, .q = 1)},
    {.inputs = {HKI_SHAPE(4, 8)},
     .options = QUANTILE(.axes = HKI_SHAPE(1), .q = 0.8, .method = HK_QUANTILE_LOWER)},
    {.inputs = {HKI_SHAPE(4, 8)},
     .options = QUANTILE(.axes = HKI_SHAPE(1), .q = 0.8, .method = HK_QUANTILE_HIGHER)},
    {.inputs = {HKI_SHAPE(4, 8)},
     .options = QUANTILE(.axes = HKI_SHAPE(1), .q = 0.8, .method = HK_QUANTILE_MIDPOINT)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(6, 5)},
     .options = QUANTILE(.axes = HKI_SHAPE(1), .q = 0.9, .method = HK_QUANTILE_NEAREST)},
    {.inputs = {HKI_SHAPE(0, 3)}, .options = QUANTILE(.axes = HKI_SHAPE(1))},
};

#define MEDIAN(...)                                                                                \
    &(const hki_median_options)                                                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample median_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}},
    {.inputs = {HKI_SHAPE(7, 5)}, .options = MEDIAN(.axes = HKI_SHAPE(0))},
    {.inputs = {HKI_SHAPE(3, 4, 5)}, .options = MEDIAN(.axes = HKI_SHAPE(0, 1), .keepdims = true)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(6, 5)},
     .options = MEDIAN(.axes = HKI_SHAPE(1))},
};

const hk_op hki_op_quantile = {
    HKI_OP_NAMED(quantile),
    HKI_OP_PARAMS(quantile),
    HKI_OP_SAMPLES(quantile_samples),
    .signature = "x",
    .doc = "A quantile along axes (all by default), the median if q is not given: of n elements in "
           "order what lies at place q (n - 1), counted from 0. Where that is between two, method "
           "says what it is. NaN where an element is; integers and bool give float64. Of no "
           "elements there is none. Its gradient goes to the elements that it is made of.",
    .formula = "y = (1 - t) * s[floor(p)] + t * s[ceil(p)], of s = x in order, p = q * (n - 1), "
               "t = p - floor(p)",
    .dtypes = HKI_ALL_DTYPES,
    .infer = infer,
    .compose = compose,
    .reference = reference,
    .tolerance_f32 = 1e-6,
};

const hk_op hki_op_median = {
    HKI_OP_NAMED(median),
    HKI_OP_PARAMS(median),
    HKI_OP_SAMPLES(median_samples),
    .signature = "x",
    .doc = "The median along axes (all by default): of elements in order the one in the middle, or "
           "the mean of the two that are. As hk_quantile for 0.5.",
    .formula = "y = (s[floor((n - 1) / 2)] + s[ceil((n - 1) / 2)]) / 2, of s = x in order",
    .dtypes = HKI_ALL_DTYPES,
    .infer = infer,
    .compose = compose,
    .reference = reference,
    .tolerance_f32 = 1e-6,
};

const hk_op hki_op_nanquantile = {
    HKI_OP_NAMED(nanquantile),
    HKI_OP_PARAMS(nanquantile),
    HKI_OP_SAMPLES(quantile_samples),
    .signature = "x",
    .doc = "As hk_quantile of the elements that are no NaN, however many these are: where all are "
           "NaN, the result is.",
    .formula = "y = (1 - t) * s[floor(p)] + t * s[ceil(p)], of s = x in order, p = q * (numbers - "
               "1), t = p - floor(p)",
    .dtypes = HKI_ALL_DTYPES,
    .infer = infer,
    .compose = compose,
    .reference = reference,
    .tolerance_f32 = 1e-6,
};

const hk_op hki_op_nanmedian = {
    HKI_OP_NAMED(nanmedian),
    HKI_OP_PARAMS(nanmedian),
    HKI_OP_SAMPLES(median_samples),
    .signature = "x",
    .doc = "The median of the elements that are no NaN, along axes (all by default): NaN where all "
           "are. As hk_nanquantile for 0.5.",
    .formula = "y = (s[floor((n - 1) / 2)] + s[ceil((n - 1) / 2)]) / 2, of s = the n numbers of x "
               "in order",
    .dtypes = HKI_ALL_DTYPES,
    .infer = infer,
    .compose = compose,
    .reference = reference,
    .tolerance_f32 = 1e-6,
};
