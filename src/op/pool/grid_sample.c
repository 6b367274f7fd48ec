/* Elements of images at places that a grid names: between rows and columns, of operators. */
#include "op/pool/places.h"

#include <inttypes.h>
#include <math.h>

#define GRID_SAMPLE_OPTIONS(F, op)                                                                 \
    F(op, INT, mode, "HK_SAMPLE_LINEAR", "an hk_sampling")                                         \
    F(op, INT, beyond, "HK_BEYOND_ZEROS", "an hk_beyond")                                          \
    F(op, BOOL, align_corners, "false",                                                            \
      "-1 and 1 are the middles of the first and the last element, not their outer edges")
HKI_OPTIONS(grid_sample, GRID_SAMPLE_OPTIONS)

static bool infer(hki_call *call)
{
    const hki_grid_sample_options *o = call->options;
    const hki_shape_view *x = call->inputs[0], *grid = call->inputs[1];
    char has[256], other[256];
    hki_dims_describe(&x->shape, has, sizeof has);
    hki_dims_describe(&grid->shape, other, sizeof other);
    if (x->shape.ndim != 4)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s, but needs 4 axes: samples, channels, height, width", has);
    if (grid->shape.ndim != 4 || grid->shape.dims[3] != 2 ||
        grid->shape.dims[0] != x->shape.dims[0])
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "grid is %s, but must be (%" PRId64
                               ", rows, columns, 2) for x %s: samples, and where each element of "
                               "the result is, across and down",
                               other, x->shape.dims[0], has);
    if (grid->dtype != x->dtype)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "grid is %s, but x %s; use hk_cast",
                               hk_dtype_name(grid->dtype), hk_dtype_name(x->dtype));
    if (o->mode < HK_SAMPLE_LINEAR || o->mode > HK_SAMPLE_CUBIC)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "mode is %" PRId64 ", but must be an hk_sampling, 0 to 2", o->mode);
    if (o->beyond < HK_BEYOND_ZEROS || o->beyond > HK_BEYOND_REFLECTION)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "beyond is %" PRId64 ", but must be an hk_beyond, 0 to 2",
                               o->beyond);
    if (x->shape.dims[2] == 0 || x->shape.dims[3] == 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s, but must have a row and a column", has);
    call->out_shape[0] = (hk_dims){
        .ndim = 4,
        .dims = {x->shape.dims[0], x->shape.dims[1], grid->shape.dims[1], grid->shape.dims[2]}};
    call->out_dtype[0] = x->dtype;
    return true;
}

/* ---- by operators ---------------------------------------------------------------------------------------- */

/* Places turned back at the ends, as often as need be, and then held within. */
static hk_array *reflected(hk_array *at, const hki_grid_sample_options *o, int64_t size)
{
    const double low = o->align_corners ? 0 : -0.5;
    const double span = o->align_corners ? (double)(size - 1) : (double)size;
    if (span == 0)
        return hki_clipped(at, 0, 0);
    hk_array *from = hki_plus(at, -low);
    hk_array *turns = hki_op_call1(&hki_op_floor, hki_times(from, 0.5 / span), NULL);
    from = hki_op_call2(&hki_op_subtract, from, hki_times(turns, 2 * span), NULL);
    from = hki_op_call1(&hki_op_abs, hki_plus(from, -span), NULL);
    return hki_clipped(hki_less(span + low, from), 0, (double)(size - 1));
}

static hk_array *within(hk_array *at, const hki_grid_sample_options *o, int64_t size)
{
    return o->beyond == HK_BEYOND_BORDER       ? hki_clipped(at, 0, (double)(size - 1))
           : o->beyond == HK_BEYOND_REFLECTION ? reflected(at, o, size)
                                               : at;
}

enum { MOST_TAPS = 4 };

/* Along one axis: which rows or columns, as float numbers within, and their weights; NULL: 1. */
typedef struct taps {
    int count;
    hk_array *at[MOST_TAPS], *weights[MOST_TAPS];
} taps;

/* grid: what of it is along this axis, one for each element of a plane of the result. */
static taps taps_of(const hki_grid_sample_options *o, hk_array *grid, int64_t size)
{
    const double n = (double)size;
    taps all = {.count = o->mode == HK_SAMPLE_NEAREST ? 1 : o->mode == HK_SAMPLE_LINEAR ? 2 : 4};
    hk_array *place = o->align_corners ? hki_times(hki_plus(grid, 1), (n - 1) / 2)
                                       : hki_plus(hki_times(hki_plus(grid, 1), n / 2), -0.5);
    /* what is far away is as far as it matters, so that differences are exact */
    place = o->beyond == HK_BEYOND_ZEROS ? hki_clipped(place, -4, n + 3)
                                         : hki_clipped(place, -0x1p22, 0x1p22);
    if (o->mode != HK_SAMPLE_CUBIC)
        place = within(place, o, size);
    hk_array *first =
        hki_op_call1(o->mode == HK_SAMPLE_NEAREST ? &hki_op_round : &hki_op_floor, place, NULL);
    hk_array *along = all.count > 1 ? hki_op_call2(&hki_op_subtract, place, first, NULL) : NULL;
    for (int k = 0; k < all.count; k++) {
        const int shift = all.count == 4 ? k - 1 : k;
        hk_array *at = hki_plus(first, shift);
        if (o->mode == HK_SAMPLE_CUBIC)
            at = within(at, o, size);
        hk_array *inside = hki_clipped(at, 0, n - 1);
        hk_array *weight = NULL;
        if (all.count == 2)
            weight = k ? along : hki_less(1, along);
        if (all.count == 4)
            weight = hki_cubic_tap(along, k);
        if (o->beyond == HK_BEYOND_ZEROS) {
            hk_array *is_inside =
                hki_as(hki_op_call2(&hki_op_equal, at, inside, NULL), grid->dtype);
            weight = weight ? hki_product(weight, is_inside) : is_inside;
        }
        all.at[k] = inside;
        all.weights[k] = weight;
    }
    return all;
}

/* A NaN is no place: element 0 stands for it, and the weights are NaN. In float64, which has all
 * indices of an array. */
static hk_array *as_index(hk_array *at)
{
    hk_array *is_number = hki_op_call2(&hki_op_equal, at, at, NULL);
    hk_array *zero = hki_op_call1(&hki_op_zeros_like, at, NULL);
    return hki_as(hki_op_call3(&hki_op_where, is_number, at, zero, NULL), HK_F64);
}

static hk_array *weighed(hk_array *rows, hk_array *weight, hk_dims shape)
{
    return weight ? hki_product(rows, hki_shaped(weight, shape)) : rows;
}

static hk_array *compose(const hki_call *call)
{
    const hki_grid_sample_options *o = call->options;
    const int64_t *dims = call->inputs[0]->shape.dims;
    const int64_t n = dims[0], c = dims[1], h = dims[2], w = dims[3];
    const hk_dims *out = &call->out_shape[0];
    const int64_t pixels = out->dims[2] * out->dims[3], along = 0;
    const hk_dims channels_last = {.ndim = 4, .dims = {0, 2, 3, 1}};
    const hk_dims channels_second = {.ndim = 4, .dims = {0, 3, 1, 2}};
    const hk_dims column = {.ndim = 2, .dims = {n * pixels, 1}};
    hk_array *x = hki_shaped(hki_op_call1(&hki_op_permute_dims, call->arrays[0], &channels_last),
                             (hk_dims){.ndim = 2, .dims = {n * h * w, c}});
    hk_array *grid = hki_shaped(call->arrays[1], (hk_dims){.ndim = 3, .dims = {n, pixels, 2}});
    const hk_dims plane = {.ndim = 2, .dims = {n, pixels}};
    const taps across = taps_of(o, hki_shaped((hk_slice)(grid, 2, 0, 1), plane), w),
               down = taps_of(o, hki_shaped((hk_slice)(grid, 2, 1, 2), plane), h);
    hk_array *sample = hki_shaped(hki_times(hki_counted(call, n, HK_F64), (double)(h * w)),
                                  (hk_dims){.ndim = 2, .dims = {n, 1}});
    hk_array *y = NULL;
    for (int i = 0; i < down.count; i++) {
        hk_array *row =
            hki_op_call2(&hki_op_add, hki_times(as_index(down.at[i]), (double)w), sample, NULL);
        hk_array *sum = NULL;
        for (int j = 0; j < across.count; j++) {
            hk_array *index = hki_shaped(
                hki_as(hki_op_call2(&hki_op_add, row, as_index(across.at[j]), NULL), HK_I64),
                (hk_dims){.ndim = 1, .dims = {n * pixels}});
            hk_array *taken = weighed(hki_op_call2(&hki_op_index_select, x, index, &along),
                                      across.weights[j], column);
            sum = sum ? hki_op_call2(&hki_op_add, sum, taken, NULL) : taken;
        }
        sum = weighed(sum, down.weights[i], column);
        y = y ? hki_op_call2(&hki_op_add, y, sum, NULL) : sum;
    }
    y = hki_shaped(y, (hk_dims){.ndim = 4, .dims = {n, out->dims[2], out->dims[3], c}});
    return hki_op_call1(&hki_op_permute_dims, y, &channels_second);
}

/* ---- plainly --------------------------------------------------------------------------------------------- */

static double plainly_within(const hki_grid_sample_options *o, double at, double n)
{
    if (o->beyond == HK_BEYOND_ZEROS)
        return at;
    const double low = o->align_corners ? 0 : -0.5, high = o->align_corners ? n - 1 : n - 0.5;
    while (o->beyond == HK_BEYOND_REFLECTION && high > low && (at < low || at > high))
        at = at < low ? 2 * low - at : 2 * high - at;
    return fmin(fmax(at, 0), n - 1);
}

static double plain_weight(int64_t mode, double t)
{
    const double a = HKI_CUBIC;
    t = fabs(t);
    if (mode == HK_SAMPLE_LINEAR)
        return fmax(1 - t, 0);
    return t <= 1  ? (a + 2) * t * t * t - (a + 3) * t * t + 1
           : t < 2 ? a * (t * t * t - 5 * t * t + 8 * t - 4)
                   : 0;
}

static int plain_taps(const hki_grid_sample_options *o, double grid, int64_t size, double *at,
                      double *weights)
{
    const double n = (double)size;
    double place = o->align_corners ? (grid + 1) / 2 * (n - 1) : ((grid + 1) * n - 1) / 2;
    if (o->mode != HK_SAMPLE_CUBIC)
        place = plainly_within(o, place, n);
    if (o->mode == HK_SAMPLE_NEAREST) {
        at[0] = rint(place);
        weights[0] = 1;
        return 1;
    }
    for (int k = 0; k < 4; k++) {
        const double tap = floor(place) + k - 1;
        weights[k] = plain_weight(o->mode, place - tap);
        at[k] = o->mode == HK_SAMPLE_CUBIC ? plainly_within(o, tap, n) : tap;
    }
    return 4;
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_grid_sample_options *o = call->options;
    const int64_t *x = call->inputs[0]->shape.dims, *y = call->out_shape[0].dims;
    const int64_t pixels = y[2] * y[3];
    for (int64_t i = 0; i < x[0] * x[1] * pixels; i++) {
        const double *plane = in[0] + i / pixels * x[2] * x[3];
        const double *place = in[1] + (i / pixels / x[1] * pixels + i % pixels) * 2;
        double columns[4], rows[4], across[4], down[4], sum = 0;
        const int count = plain_taps(o, place[0], x[3], columns, across);
        plain_taps(o, place[1], x[2], rows, down);
        for (int a = 0; a < count; a++)
            for (int b = 0; b < count; b++)
                if (rows[a] >= 0 && rows[a] < (double)x[2] && columns[b] >= 0 &&
                    columns[b] < (double)x[3])
                    sum +=
                        down[a] * across[b] * plane[(int64_t)rows[a] * x[3] + (int64_t)columns[b]];
        out[0][i] = sum;
    }
}

#define GIVEN(...)                                                                                 \
    .options = &(const hki_grid_sample_options)                                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define FROM(...)                                                                                  \
    .inputs = {HKI_SHAPE(2, 3, 4, 5), HKI_SHAPE(__VA_ARGS__)}, .low = -1.4, .high = 1.4
static const hki_sample samples[] = {
    {FROM(2, 3, 2, 2)},
    {FROM(2, 3, 2, 2), GIVEN(.align_corners = true)},
    {FROM(2, 2, 2, 2), GIVEN(.beyond = HK_BEYOND_BORDER)},
    {FROM(2, 2, 2, 2), GIVEN(.beyond = HK_BEYOND_REFLECTION)},
    {FROM(2, 2, 2, 2), GIVEN(.beyond = HK_BEYOND_REFLECTION, .align_corners = true)},
    {FROM(2, 3, 2, 2), GIVEN(.mode = HK_SAMPLE_NEAREST)},
    {FROM(2, 3, 2, 2), GIVEN(.mode = HK_SAMPLE_NEAREST, .beyond = HK_BEYOND_BORDER)},
    {FROM(2, 2, 2, 2), GIVEN(.mode = HK_SAMPLE_CUBIC)},
    {FROM(2, 2, 2, 2), GIVEN(.mode = HK_SAMPLE_CUBIC, .beyond = HK_BEYOND_BORDER)},
    {FROM(2, 2, 2, 2),
     GIVEN(.mode = HK_SAMPLE_CUBIC, .beyond = HK_BEYOND_REFLECTION, .align_corners = true)},
    {.inputs = {HKI_SHAPE(0, 3, 4, 5), HKI_SHAPE(0, 2, 2, 2)}},
    {.inputs = {HKI_SHAPE(2, 1, 1, 3), HKI_SHAPE(2, 2, 2, 2)},
     GIVEN(.beyond = HK_BEYOND_REFLECTION, .align_corners = true)},
    {.kind = HKI_SAMPLE_STRIDED, FROM(2, 3, 4, 2)},
};

const hk_op hki_op_grid_sample = {
    HKI_OP_NAMED(grid_sample),
    HKI_OP_PARAMS(grid_sample),
    HKI_OP_SAMPLES(samples),
    .signature = "x, grid",
    .doc = "Elements of images x (n,channels,height,width) at places that grid "
           "(n,rows,columns,2) names: (n,channels,rows,columns). grid[…,0] is where across, from "
           "-1, the left edge, to 1, the right one, and grid[…,1] where down. Between elements "
           "mode says what there is, and outside beyond does. Of grid the same dtype as x.",
    .formula = "y[n,c,i,j] = x[n,c] at row grid[n,i,j,1], column grid[n,i,j,0]",
    .dtypes = HKI_FLOATS,
    .infer = infer,
    .compose = compose,
    .reference = reference,
    .tolerance_f32 = 1e-4,
};
