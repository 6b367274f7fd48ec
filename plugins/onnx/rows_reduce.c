/* Along axes: sums, products, the largest, and running ones. */
#include "rows.h"
#include "shapes.h"

#include <inttypes.h>
#include <math.h>

/* ---- which axes ------------------------------------------------------------------------------ */

typedef struct reduction {
    hk_array *x;
    hk_dims axes; /* none: nothing is gathered */
    bool keepdims;
} reduction;

/* False after refusing. */
static bool reduction_of(onnx_call *call, reduction *self)
{
    int64_t given[HK_MAX_NDIM];
    self->x = onnx_in(call, 0);
    if (!self->x)
        return onnx_out(call, 0, NULL);
    const int count = onnx_ints_or_input(call, "axes", 1, given, HK_MAX_NDIM);
    const int ndim = hk_ndim(self->x);
    self->keepdims = onnx_int(call, "keepdims", 1) != 0;
    self->axes = (hk_dims){.ndim = 0};
    if (count < -1)
        return false;
    if (count > 0)
        return onnx_axes(call, given, count, ndim, &self->axes);
    if (onnx_int(call, "noop_with_empty_axes", 0))
        return true;
    for (int i = 0; i < ndim; i++)
        self->axes.dims[self->axes.ndim++] = i;
    return true;
}

/* What is left; *is_empty: nothing is gathered into it. */
static hk_dims shape_of(const reduction *self, bool *is_empty)
{
    const hk_dims has = hk_dims_get(self->x);
    hk_dims shape = {.ndim = 0};
    *is_empty = false;
    for (int i = 0, next = 0; i < has.ndim; i++) {
        const bool gathered = next < self->axes.ndim && self->axes.dims[next] == i;
        next += gathered;
        *is_empty = *is_empty || (gathered && has.dims[i] == 0);
        if (!gathered || self->keepdims)
            shape.dims[shape.ndim++] = gathered ? 1 : has.dims[i];
    }
    return shape;
}

/* ---- sums and what is made of them ----------------------------------------------------------- */

static hk_array *sum(const reduction *self, hk_array *x)
{
    const hk_sum_options options = {.axes = self->axes, .keepdims = self->keepdims};
    return self->axes.ndim ? hk_sum(x, &options) : x;
}

static hk_array *sum_of_itself(const reduction *self)
{
    return sum(self, self->x);
}

static hk_array *sum_of_sizes(const reduction *self)
{
    return sum(self, onnx_is_unsigned(hk_array_dtype(self->x)) ? self->x : hk_abs(self->x));
}

static hk_array *sum_of_squares(const reduction *self)
{
    return sum(self, hk_square(self->x));
}

static hk_array *length(const reduction *self)
{
    const hk_norm_options options = {.axes = self->axes, .keepdims = self->keepdims};
    hk_array *x = self->x;
    if (!onnx_is_floating(hk_array_dtype(x)))
        x = hk_cast(x, HK_F64);
    return self->axes.ndim ? hk_norm(x, &options) : hk_abs(x);
}

static hk_array *log_of_sum(const reduction *self)
{
    hk_array *x = self->x;
    if (!onnx_is_floating(hk_array_dtype(x)))
        x = hk_cast(x, HK_F64);
    return hk_log(sum(self, x));
}

static hk_array *log_of_sum_of_exps(const reduction *self)
{
    const hk_logsumexp_options options = {.axes = self->axes, .keepdims = self->keepdims};
    hk_array *x = self->x;
    if (!onnx_is_floating(hk_array_dtype(x)))
        x = hk_cast(x, HK_F64);
    return self->axes.ndim ? hk_logsumexp(x, &options) : hk_copy(x);
}

static hk_array *product(const reduction *self)
{
    const hk_prod_options options = {.axes = self->axes, .keepdims = self->keepdims};
    return self->axes.ndim ? hk_prod(self->x, &options) : self->x;
}

/* Of integers rounded towards 0. */
static hk_array *mean(const reduction *self)
{
    const hk_mean_options options = {.axes = self->axes, .keepdims = self->keepdims};
    if (!self->axes.ndim)
        return self->x;
    if (onnx_is_floating(hk_array_dtype(self->x)))
        return hk_mean(self->x, &options);
    const hk_dims has = hk_dims_get(self->x);
    int64_t count = 1;
    for (int i = 0; i < self->axes.ndim; i++)
        count *= has.dims[self->axes.dims[i]];
    return hk_divide(sum_of_itself(self), count);
}

/* The result has the dtype of x. */
static bool reduce(onnx_call *call, hk_array *(*function)(const reduction *))
{
    reduction self;
    if (!reduction_of(call, &self))
        return false;
    return onnx_out(call, 0, onnx_as(function(&self), hk_array_dtype(self.x)));
}

#define REDUCTION(name, function)                                                                  \
    static bool run_##name(onnx_call *call)                                                        \
    {                                                                                              \
        return reduce(call, function);                                                             \
    }
REDUCTION(sum, sum_of_itself)
REDUCTION(l1, sum_of_sizes)
REDUCTION(l2, length)
REDUCTION(log_sum, log_of_sum)
REDUCTION(log_sum_exp, log_of_sum_of_exps)
REDUCTION(mean, mean)
REDUCTION(prod, product)
REDUCTION(sum_square, sum_of_squares)

/* ---- the largest ----------------------------------------------------------------------------- */

/* The least number of a dtype, or the largest, as an array. */
static hk_array *bound_of(hk_dtype dtype, bool largest, hk_device device)
{
    const int bits = (int)hk_dtype_bytes(dtype) * 8;
    if (dtype == HK_BOOL)
        return hk_full(hk_shape(), largest, dtype, device);
    if (!onnx_is_integer(dtype))
        return hk_full(hk_shape(), largest ? INFINITY : -INFINITY, dtype, device);
    if (onnx_is_unsigned(dtype))
        return hk_scalar(largest ? UINT64_MAX >> (64 - bits) : UINT64_C(0), dtype, device);
    return hk_scalar((largest ? INT64_MAX : INT64_MIN) >> (64 - bits), dtype, device);
}

static bool extreme(onnx_call *call, bool largest)
{
    reduction self;
    bool is_empty;
    if (!reduction_of(call, &self))
        return false;
    const hk_dtype dtype = hk_array_dtype(self.x);
    const hk_dims shape = shape_of(&self, &is_empty);
    if (!self.axes.ndim)
        return onnx_out(call, 0, self.x);
    if (is_empty)
        return onnx_out(call, 0,
                        hk_copy(hk_broadcast_to(bound_of(dtype, !largest, call->device), shape)));
    const hk_max_options max = {.axes = self.axes, .keepdims = self.keepdims};
    const hk_min_options min = {.axes = self.axes, .keepdims = self.keepdims};
    const hk_any_options any = {.axes = self.axes, .keepdims = self.keepdims};
    const hk_all_options all = {.axes = self.axes, .keepdims = self.keepdims};
    if (dtype == HK_BOOL)
        return onnx_out(call, 0, largest ? hk_any(self.x, &any) : hk_all(self.x, &all));
    return onnx_out(call, 0, largest ? hk_max(self.x, &max) : hk_min(self.x, &min));
}

static bool run_max(onnx_call *call)
{
    return extreme(call, true);
}

static bool run_min(onnx_call *call)
{
    return extreme(call, false);
}

/* ---- running sums ---------------------------------------------------------------------------- */

static bool run_along(onnx_call *call, hk_array *(*function)(hk_array *, int), double first)
{
    hk_array *x = onnx_in(call, 0);
    int64_t given = 0;
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dtype dtype = hk_array_dtype(x);
    if (onnx_in_ints(call, 1, &given, 1) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "axis is not one number");
    const int axis = onnx_axis(call, given, hk_ndim(x));
    if (axis < 0)
        return false;
    const bool reverse = onnx_int(call, "reverse", 0) != 0;
    const int64_t size = hk_dim(x, axis);
    if (reverse)
        x = hk_flip(x, axis);
    if (onnx_int(call, "exclusive", 0) && size > 0)
        x = onnx_surround(hk_slice(x, axis, 0, size - 1), axis, (const int64_t[]){1, 0},
                          onnx_number_like(first, x));
    x = onnx_as(function(x, axis), dtype);
    return onnx_out(call, 0, reverse ? hk_flip(x, axis) : x);
}

static hk_array *running_sum(hk_array *x, int axis)
{
    return hk_cumulative_sum(x, axis);
}

static hk_array *running_product(hk_array *x, int axis)
{
    return hk_cumulative_prod(x, axis);
}

static bool run_cumsum(onnx_call *call)
{
    return run_along(call, running_sum, 0);
}

static bool run_cumprod(onnx_call *call)
{
    return run_along(call, running_product, 1);
}

const onnx_row onnx_rows_reduce[] = {
    {"CumProd", run_cumprod, 0},
    {"CumSum", run_cumsum, 0},
    {"ReduceL1", run_l1, 0},
    {"ReduceL2", run_l2, 0},
    {"ReduceLogSum", run_log_sum, 0},
    {"ReduceLogSumExp", run_log_sum_exp, 0},
    {"ReduceMax", run_max, 0},
    {"ReduceMean", run_mean, 0},
    {"ReduceMin", run_min, 0},
    {"ReduceProd", run_prod, 0},
    {"ReduceSum", run_sum, 0},
    {"ReduceSumSquare", run_sum_square, 0},
    {NULL, NULL, 0},
};
