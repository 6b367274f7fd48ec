/* Which elements are among others, and how many lie where: isin, histogram. Made of sorting, searching and adding up. */
#include "op/elementwise/elementwise.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/reshape.h"

#include <inttypes.h>
#include <math.h>

static hk_array *flat(hk_array *x)
{
    const hki_reshape_options line = {.shape = {.ndim = 1, .dims = {-1}}};
    return hki_op_call1(&hki_op_reshape, x, &line);
}

static hk_array *as(hk_array *x, hk_dtype dtype)
{
    return hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){dtype});
}

static hk_array *made(const hk_op *op, const void *options, const hk_array *beside)
{
    return hki_op_call(op, NULL, 0, options, (hk_device){beside->storage->device}, NULL);
}

/* ---- isin --------------------------------------------------------------------------------------------------- */

static bool isin_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0], *elements = call->inputs[1];
    hk_dtype both;
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = HK_BOOL;
    return hk_dtype_promote(x->dtype, elements->dtype, &both) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "x is %s and elements %s: no dtype of one kind holds both; use hk_cast",
                           hk_dtype_name(x->dtype), hk_dtype_name(elements->dtype));
}

static hk_array *isin_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0], *elements = call->arrays[1];
    const hki_zeros_options none = {.shape = x->shape, .dtype = HK_BOOL};
    const struct {
        int64_t axis;
        bool descending;
    } rising = {0, false};
    hk_dtype dtype;
    if (elements->size == 0)
        return made(&hki_op_zeros, &none, x);
    hk_dtype_promote(x->dtype, elements->dtype, &dtype);
    x = as(x, dtype);
    elements = hki_op_call1(&hki_op_sort, flat(as(elements, dtype)), &rising);
    hk_array *places = hki_op_call2(&hki_op_searchsorted, elements, x, &(const bool){false});
    places = hki_op_call_number(&hki_op_minimum_scalar, places, (double)(elements->size - 1));
    hk_array *found = hki_op_call2(&hki_op_index_select, elements, places, &(const int64_t){0});
    return hki_op_call2(&hki_op_equal, found, x, NULL);
}

static void isin_reference(const hki_call *call, const double *const *in, double *const *out)
{
    for (int64_t i = 0; i < call->inputs[0]->size; i++) {
        out[0][i] = 0;
        for (int64_t j = 0; j < call->inputs[1]->size; j++)
            out[0][i] += out[0][i] == 0 && in[0][i] == in[1][j];
    }
}

static const hki_sample isin_samples[] = {
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(5)}},
    {.inputs = {HKI_SHAPE(20), HKI_SHAPE(2, 4)}, .low = 0, .high = 0.5},
    {.inputs = {HKI_SHAPE_0D, HKI_SHAPE_0D}},
    {.inputs = {HKI_SHAPE(3), HKI_SHAPE(0)}},
    {.inputs = {HKI_SHAPE(0, 2), HKI_SHAPE(3)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(4, 3), HKI_SHAPE(3, 2)}},
    {.kind = HKI_SAMPLE_ALIASED, .inputs = {HKI_SHAPE(4), HKI_SHAPE(4)}},
};

const hk_op hki_op_isin = {
    HKI_OP_NAMED(isin),
    HKI_OP_SAMPLES(isin_samples),
    .signature = "x, elements",
    .doc = "Whether each element of x is equal to one of elements, of any shape, as bool. A NaN is "
           "not.",
    .dtypes = HKI_ALL_DTYPES,
    .infer = isin_infer,
    .compose = isin_compose,
    .no_grad_why = "its result does not vary smoothly",
    .reference = isin_reference,
};

/* ---- histogram ------------------------------------------------------------------------------------------------ */

#define HISTOGRAM_ARGUMENTS(F, op)                                                                 \
    F(op, INT, bins, "", "how many, of one width")                                                 \
    F(op, F64, low, "", "where the first begins")                                                  \
    F(op, F64, high, "", "where the last ends")
HKI_ARGUMENTS(histogram, HISTOGRAM_ARGUMENTS)

static bool histogram_infer(hki_call *call)
{
    const hki_histogram_options *o = call->options;
    if (o->bins < 1 || o->bins > INT64_C(1) << 40)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "bins is %" PRId64 ", but must be from 1 to 2^40", o->bins);
    if (!(o->low < o->high) || !isfinite(o->high - o->low))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "low is %g and high is %g; low must be less than high, and their "
                               "difference finite",
                               o->low, o->high);
    call->out_shape[0] = (hk_dims){.ndim = 1, .dims = {o->bins}};
    call->out_dtype[0] = HK_I64;
    return true;
}

/* Place 0 is for what lies below, the last one for what lies above and for NaN. */
static hk_array *places_of(hk_array *x, const hki_histogram_options *o)
{
    const struct {
        double start, stop;
        int64_t count;
        bool endpoint;
        hk_dtype dtype;
    } between = {o->low, o->high, o->bins + 1, true, x->dtype};
    const hki_full_options end = {.value = o->high, .dtype = x->dtype},
                           last = {.value = (double)o->bins, .dtype = HK_I64};
    hk_array *edges = made(&hki_op_linspace, &between, x);
    hk_array *places = hki_op_call2(&hki_op_searchsorted, edges, x, &(const bool){true});
    hk_array *at_end = hki_op_call2(&hki_op_equal, x, made(&hki_op_full, &end, x), NULL);
    return hki_op_call3(&hki_op_where, at_end, made(&hki_op_full, &last, x), places, NULL);
}

static hk_array *histogram_compose(const hki_call *call)
{
    const hki_histogram_options *o = call->options;
    hk_array *x = flat(call->arrays[0]);
    const hki_zeros_options none = {.shape = {.ndim = 1, .dims = {o->bins + 2}}, .dtype = HK_I64},
                            one = {.shape = {.ndim = 0}, .dtype = HK_I64};
    const int64_t strides[] = {0}, inner[] = {0, 1, o->bins + 1, 1};
    if (x->failed)
        return x;
    hk_array *counted = made(&hki_op_ones, &one, x);
    counted = hki_array_view(counted, x->shape, strides, counted->offset);
    hk_array *counts = hki_op_call3(&hki_op_scatter_add, made(&hki_op_zeros, &none, x),
                                    places_of(x, o), counted, &(const int64_t){0});
    return hki_op_call1(&hki_op_copy, hki_op_call1(&hki_op_slice_step, counts, inner), NULL);
}

/* Of samples with no element at an edge but the last. */
static void histogram_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_histogram_options *o = call->options;
    for (int64_t i = 0; i < o->bins; i++)
        out[0][i] = 0;
    for (int64_t i = 0; i < call->inputs[0]->size; i++) {
        const double place = (in[0][i] - o->low) * (double)o->bins / (o->high - o->low);
        if (place >= 0 && place <= (double)o->bins)
            out[0][(int64_t)fmin(place, (double)o->bins - 1)] += 1;
    }
}

static const hki_sample histogram_samples[] = {
    {.inputs = {HKI_SHAPE(100)}, HKI_GIVEN(histogram, 7, -0.5, 0.75)},
    {.inputs = {HKI_SHAPE(3, 4)}, HKI_GIVEN(histogram, 1, -1, 1)},
    {.inputs = {HKI_SHAPE_0D}, HKI_GIVEN(histogram, 3, -1, 1)},
    {.inputs = {HKI_SHAPE(0)}, HKI_GIVEN(histogram, 3, -1, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 6)}, HKI_GIVEN(histogram, 4, -1, 1)},
};

const hk_op hki_op_histogram = {
    HKI_OP_NAMED(histogram),
    HKI_OP_PARAMS(histogram),
    HKI_OP_SAMPLES(histogram_samples),
    .signature = "x",
    .doc =
        "How many elements of x lie in each of so many bins of one width from low to high, as "
        "int64. A bin has its lower edge, the last one both; what lies outside, NaN included, is "
        "not counted. hk_linspace gives the edges.",
    .dtypes = HKI_FLOATS,
    .infer = histogram_infer,
    .compose = histogram_compose,
    .no_grad_why = "its result does not vary smoothly",
    .reference = histogram_reference,
};
