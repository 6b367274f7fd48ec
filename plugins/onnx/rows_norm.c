/* Normalisation, and softmax. */
#include "compute.h"
#include "rows.h"

#include <inttypes.h>

/* ---- common ---------------------------------------------------------------------------------- */

/* Last axes from `first` on. */
static hk_dims axes_from(int first, int ndim)
{
    hk_dims axes = {.ndim = ndim - first};
    for (int i = 0; i < axes.ndim; i++)
        axes.dims[i] = first + i;
    return axes;
}

/* 1 / sqrt(variance + epsilon) */
static hk_array *inverse_deviation(hk_array *variance, double epsilon)
{
    return hk_rsqrt(hk_add(variance, onnx_number_like(epsilon, variance)));
}

/* (x - mean) / sqrt(variance + epsilon), for an epsilon that Hocket's operators do not take. */
static hk_array *normalised(hk_array *x, hk_dims axes, double epsilon)
{
    hk_array *variance, *mean;
    hk_var_mean(x, &(hk_var_mean_options){.axes = axes, .keepdims = true}, &variance, &mean);
    return hk_multiply(hk_subtract(x, mean), inverse_deviation(variance, epsilon));
}

/* x * scale + shift, either of which may be NULL. */
static hk_array *scaled(hk_array *x, hk_array *scale, hk_array *shift)
{
    x = scale ? hk_multiply(x, onnx_to(scale, hk_array_dtype(x))) : x;
    return shift ? hk_add(x, onnx_to(shift, hk_array_dtype(x))) : x;
}

/* A number for each channel of x, (n, channels, …), beside x. */
static hk_array *by_channel(hk_array *numbers, hk_array *x)
{
    if (!numbers || hk_ndim(numbers) != 1)
        return numbers;
    return hk_reshape(numbers, onnx_along(hk_dim(numbers, 0), 1, hk_ndim(x)));
}

static bool fits_channels(onnx_call *call, hk_array *x, int first, int last)
{
    static const char *const names[] = {"X", "scale", "B", "mean", "var"};
    for (int i = first; i <= last; i++) {
        hk_array *numbers = onnx_in(call, i);
        if (!onnx_needs_floats(call, numbers, names[i], 1))
            return false;
        if (hk_ndim(numbers) != 1 || hk_dim(numbers, 0) != hk_dim(x, 1))
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "%s must have one axis of %" PRId64 ", as many as X has channels",
                               names[i], hk_dim(x, 1));
    }
    return true;
}

/* ---- BatchNormalization ---------------------------------------------------------------------- */

/* old * momentum + new * (1 - momentum) */
static hk_array *moved(hk_array *old, hk_array *new, double momentum)
{
    const hk_dtype dtype = hk_array_dtype(old);
    old = onnx_wide(old);
    new = onnx_to(new, hk_array_dtype(old));
    return onnx_to(hk_add(hk_multiply(old, onnx_number_like(momentum, old)),
                          hk_multiply(new, onnx_number_like(1 - momentum, new))),
                   dtype);
}

static bool train(onnx_call *call, hk_array *x, double epsilon)
{
    const double momentum = onnx_float(call, "momentum", (double).9f);
    hk_array *wide = onnx_wide(x), *variance, *mean;
    hk_dims axes = axes_from(1, hk_ndim(x));
    axes.dims[0] = 0;
    hk_var_mean(wide, &(hk_var_mean_options){.axes = axes, .keepdims = true}, &variance, &mean);
    hk_array *y = hk_multiply(hk_subtract(wide, mean), inverse_deviation(variance, epsilon));
    y = scaled(y, by_channel(onnx_in(call, 1), x), by_channel(onnx_in(call, 2), x));
    mean = hk_reshape(mean, hk_shape(-1));
    variance = hk_reshape(variance, hk_shape(-1));
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x))) &&
           onnx_out(call, 1, moved(onnx_in(call, 3), mean, momentum)) &&
           onnx_out(call, 2, moved(onnx_in(call, 4), variance, momentum));
}

/* Until opset 8 there may be numbers for each entry of a sample: then these are its channels. */
static bool run_batch_norm(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *numbers[4];
    const double epsilon = onnx_float(call, "epsilon", (double)1e-5f);
    if (!onnx_needs_floats(call, x, "X", 1))
        return false;
    const hk_dims shape = hk_dims_get(x);
    const bool by_entry = onnx_opset(call) < 9 && !onnx_int(call, "spatial", 1) && shape.ndim > 1;
    hk_array *flat = shape.ndim < 2 ? hk_reshape(x, hk_shape(shape.dims[0], 1)) : x;
    if (by_entry)
        flat = hk_reshape(x, hk_shape(shape.dims[0], onnx_product(shape, 1, shape.ndim)));
    for (int i = 0; i < 4; i++) {
        numbers[i] = onnx_to(onnx_in(call, i + 1), hk_array_dtype(onnx_wide(x)));
        if (numbers[i] && by_entry)
            numbers[i] = hk_reshape(numbers[i], hk_shape(-1));
    }
    if (!by_entry && !fits_channels(call, flat, 1, 4))
        return false;
    const bool trains = onnx_int(call, "training_mode", 0) != 0;
    if (onnx_opset(call) < 14 && (onnx_wants(call, 1) || onnx_wants(call, 2)))
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "training until opset 13; known is that of opset 14 and later");
    if (trains && onnx_opset(call) >= 14)
        return train(call, flat, epsilon);
    if (onnx_wants(call, 1))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "averages without training_mode");
    hk_array *y;
    if (epsilon > 0)
        y = hk_batch_norm(onnx_wide(flat), numbers[0], numbers[1], numbers[2], numbers[3],
                          &(hk_batch_norm_options){.eps = epsilon});
    else
        y = scaled(hk_multiply(hk_subtract(onnx_wide(flat), by_channel(numbers[2], flat)),
                               inverse_deviation(by_channel(numbers[3], flat), epsilon)),
                   by_channel(numbers[0], flat), by_channel(numbers[1], flat));
    return onnx_out(call, 0, onnx_to(hk_reshape(y, shape), hk_array_dtype(x)));
}

/* ---- InstanceNormalization, GroupNormalization ----------------------------------------------- */

/* x (n, channels, …) with numbers for each channel. */
static hk_array *group_norm(hk_array *x, hk_array *scale, hk_array *shift, int64_t groups,
                            double epsilon)
{
    const hk_dims shape = hk_dims_get(x);
    hk_array *wide = onnx_wide(x);
    const hk_dtype dtype = hk_array_dtype(wide);
    if (epsilon > 0)
        return onnx_to(hk_group_norm(wide, onnx_to(scale, dtype), onnx_to(shift, dtype),
                                     &(hk_group_norm_options){.groups = groups, .eps = epsilon}),
                       hk_array_dtype(x));
    hk_array *y = hk_reshape(
        wide, hk_shape(shape.dims[0], groups, onnx_product(shape, 1, shape.ndim) / groups));
    y = hk_reshape(normalised(y, hk_shape(2), epsilon), shape);
    return onnx_to(scaled(y, by_channel(scale, x), by_channel(shift, x)), hk_array_dtype(x));
}

static bool run_instance_norm(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!onnx_needs_floats(call, x, "X", 2) || !fits_channels(call, x, 1, 2))
        return false;
    if (hk_dim(x, 1) < 1)
        return onnx_out(call, 0, x);
    return onnx_out(call, 0,
                    group_norm(x, onnx_in(call, 1), onnx_in(call, 2), hk_dim(x, 1),
                               onnx_float(call, "epsilon", (double)1e-5f)));
}

/* Until opset 20 scale and shift are of groups. */
static bool run_group_norm(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *scale = onnx_in(call, 1), *shift = onnx_in(call, 2);
    if (!onnx_needs_floats(call, x, "X", 2) || !onnx_needs_floats(call, scale, "scale", 1) ||
        !onnx_needs_floats(call, shift, "bias", 1))
        return false;
    const int64_t groups = onnx_int(call, "num_groups", 0), channels = hk_dim(x, 1);
    const int64_t wanted = onnx_opset(call) < 21 ? groups : channels;
    if (groups < 1 || channels % groups || channels < 1 || hk_ndim(scale) != 1 ||
        hk_ndim(shift) != 1 || hk_dim(scale, 0) != wanted || hk_dim(shift, 0) != wanted)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "num_groups is %" PRId64 ", X has %" PRId64 " channels, scale %" PRId64
                           " numbers and bias %" PRId64,
                           groups, channels, hk_dim(scale, 0), hk_dim(shift, 0));
    if (wanted != channels) {
        scale = hk_repeat(scale, channels / groups, 0);
        shift = hk_repeat(shift, channels / groups, 0);
    }
    return onnx_out(
        call, 0, group_norm(x, scale, shift, groups, onnx_float(call, "epsilon", (double)1e-5f)));
}

/* ---- LayerNormalization, RMSNormalization ---------------------------------------------------- */

/* Of the last axes, whose shape scale and shift have, or to which they broadcast. */
static hk_array *layer_norm(hk_array *x, int axis, hk_array *scale, hk_array *shift, double epsilon,
                            bool is_rms)
{
    const hk_dims shape = hk_dims_get(x);
    hk_dims inner = {.ndim = shape.ndim - axis};
    for (int i = 0; i < inner.ndim; i++)
        inner.dims[i] = shape.dims[axis + i];
    const bool takes_scale = scale && onnx_same_dims(hk_dims_get(scale), inner);
    const bool takes_shift =
        shift && onnx_same_dims(hk_dims_get(shift), inner) && (takes_scale || !scale);
    const hk_dtype dtype = hk_array_dtype(x);
    hk_array *gamma = takes_scale ? onnx_to(scale, dtype) : NULL;
    hk_array *beta = takes_shift ? onnx_to(shift, dtype) : NULL;
    hk_array *y;
    if (epsilon > 0 && is_rms)
        y = hk_rms_norm(x, gamma, &(hk_rms_norm_options){.axes = inner.ndim, .eps = epsilon});
    else if (epsilon > 0)
        y = hk_layer_norm(x, gamma, beta,
                          &(hk_layer_norm_options){.axes = inner.ndim, .eps = epsilon});
    else if (is_rms)
        y = scaled(hk_multiply(x, inverse_deviation(hk_mean(hk_square(x),
                                                            &(hk_mean_options){
                                                                .axes = axes_from(axis, shape.ndim),
                                                                .keepdims = true}),
                                                    epsilon)),
                   gamma, NULL);
    else
        y = scaled(normalised(x, axes_from(axis, shape.ndim), epsilon), gamma, beta);
    const bool adds_beta = is_rms || !takes_shift;
    return scaled(y, takes_scale ? NULL : scale, adds_beta ? shift : NULL);
}

/* The dtype in which means and deviations are given. */
static bool stash_dtype(onnx_call *call, hk_dtype *dtype)
{
    const int64_t stash = onnx_int(call, "stash_type", 1);
    if (stash >= 0 && stash <= INT32_MAX && onnx_dtype_of((int32_t)stash, dtype) &&
        onnx_is_real(*dtype))
        return true;
    return onnx_refuse(call, HK_UNSUPPORTED,
                       "stash_type is %" PRId64 ", but must be that of floats", stash);
}

/* x's mean and 1 / deviation, as outputs from `first` on. */
static bool give_statistics(onnx_call *call, hk_array *x, int axis, double epsilon, int first)
{
    hk_dtype dtype;
    hk_array *variance, *mean;
    if (!onnx_wants(call, first) && !onnx_wants(call, first + 1))
        return true;
    if (!stash_dtype(call, &dtype))
        return false;
    hk_var_mean(x, &(hk_var_mean_options){.axes = axes_from(axis, hk_ndim(x)), .keepdims = true},
                &variance, &mean);
    return onnx_out(call, first, onnx_to(mean, dtype)) &&
           onnx_out(call, first + 1, onnx_to(inverse_deviation(variance, epsilon), dtype));
}

static bool run_layer_norm(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!onnx_needs_floats(call, x, "X", 1))
        return false;
    const int axis = onnx_axis(call, onnx_int(call, "axis", -1), hk_ndim(x));
    const double epsilon = onnx_float(call, "epsilon", (double)1e-5f);
    if (axis < 0)
        return false;
    hk_array *wide = onnx_wide(x);
    hk_array *y = layer_norm(wide, axis, onnx_in(call, 1), onnx_in(call, 2), epsilon, false);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x))) &&
           give_statistics(call, wide, axis, epsilon, 1);
}

static bool run_rms_norm(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!onnx_needs_floats(call, x, "X", 1))
        return false;
    const int axis = onnx_axis(call, onnx_int(call, "axis", -1), hk_ndim(x));
    if (axis < 0)
        return false;
    hk_array *y = layer_norm(onnx_wide(x), axis, onnx_in(call, 1), NULL,
                             onnx_float(call, "epsilon", (double)1e-5f), true);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* ---- com.microsoft:SkipLayerNormalization ---------------------------------------------------- */

/* A norm of the sum of two and a bias. Outputs: y, mean, 1 / deviation, sum. */
static bool skip_norm(onnx_call *call, int beta, bool is_rms)
{
    hk_array *x = onnx_in(call, 0), *skip = onnx_in(call, 1);
    hk_array *bias = onnx_in(call, is_rms ? 3 : 4);
    if (!onnx_needs_floats(call, x, "input", 1) || !onnx_needs_floats(call, skip, "skip", 1))
        return false;
    const double epsilon = onnx_float(call, "epsilon", (double)1e-12f);
    const hk_dtype dtype = hk_array_dtype(x);
    hk_array *sum = hk_add(onnx_wide(x), onnx_wide(skip));
    sum = bias ? hk_add(sum, onnx_wide(bias)) : sum;
    if (onnx_has_failed(call, sum))
        return false;
    const int axis = hk_ndim(sum) - 1;
    hk_array *y =
        layer_norm(sum, axis, onnx_in(call, 2), beta ? onnx_in(call, beta) : NULL, epsilon, is_rms);
    if (is_rms && (onnx_wants(call, 1) || onnx_wants(call, 2)))
        return onnx_refuse(call, HK_UNSUPPORTED, "the outputs mean and inv_std_var");
    return onnx_out(call, 0, onnx_to(y, dtype)) &&
           (is_rms || give_statistics(call, sum, axis, epsilon, 1)) &&
           onnx_out(call, 3, onnx_to(sum, dtype));
}

static bool run_skip_layer_norm(onnx_call *call)
{
    return skip_norm(call, 3, false);
}

static bool run_skip_rms_norm(onnx_call *call)
{
    return skip_norm(call, 0, true);
}

/* ---- com.microsoft:EmbedLayerNormalization --------------------------------------------------- */

/* How many of each row of a mask (n, l) are not 0, int32. */
static bool give_mask_index(onnx_call *call, hk_array *ids)
{
    hk_array *mask = onnx_in(call, 7);
    if (!onnx_wants(call, 1))
        return true;
    hk_array *counts =
        mask ? hk_count_nonzero(mask, &(hk_count_nonzero_options){.axes = hk_shape(-1)})
             : hk_zeros(hk_shape(hk_dim(ids, 0)), HK_I64, call->device);
    return onnx_out(call, 1, onnx_to(counts, HK_I32));
}

/* The norm of the sum of a word's, its place's and its segment's rows. */
static bool run_embed_layer_norm(onnx_call *call)
{
    hk_array *ids = onnx_in(call, 0), *segments = onnx_in(call, 1), *places = onnx_in(call, 8);
    hk_array *words = onnx_in(call, 2), *of_places = onnx_in(call, 3),
             *of_segments = onnx_in(call, 4);
    if (!ids || hk_ndim(ids) != 2)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "input_ids must be (n, l)");
    if (!onnx_needs_floats(call, words, "word_embedding", 2) ||
        !onnx_needs_floats(call, of_places, "position_embedding", 2))
        return false;
    if (!places)
        places = hk_sequence(0, 1, hk_dim(ids, 1), HK_I64, call->device);
    hk_array *sum = hk_add(onnx_wide(hk_index_select(words, ids, 0)),
                           onnx_wide(hk_index_select(of_places, places, 0)));
    if (segments && of_segments)
        sum = hk_add(sum, onnx_wide(hk_index_select(of_segments, segments, 0)));
    if (onnx_has_failed(call, sum))
        return false;
    hk_array *y = layer_norm(sum, hk_ndim(sum) - 1, onnx_in(call, 5), onnx_in(call, 6),
                             onnx_float(call, "epsilon", (double)1e-12f), false);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(words))) && give_mask_index(call, ids) &&
           onnx_out(call, 2, onnx_to(sum, hk_array_dtype(words)));
}

/* ---- LRN, LpNormalization, MeanVarianceNormalization ----------------------------------------- */

/* x / (bias + alpha * mean of squares of neighbouring channels) ^ beta */
static bool run_lrn(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int64_t size = onnx_int(call, "size", 0);
    if (!onnx_needs_floats(call, x, "X", 3))
        return false;
    if (size < 1 || size > INT32_MAX)
        return onnx_refuse(call, HK_OUT_OF_RANGE, "size is %" PRId64 ", but must be from 1 to %d",
                           size, INT32_MAX);
    const hk_dims shape = hk_dims_get(x);
    hk_array *wide = onnx_wide(x);
    hk_array *squares = hk_reshape(hk_square(wide), hk_shape(shape.dims[0], 1, shape.dims[1],
                                                             onnx_product(shape, 2, shape.ndim)));
    squares = onnx_pad_or_crop(squares, 2, (size - 1) / 2, size / 2);
    hk_array *means =
        hk_avg_pool2d(squares, &(hk_avg_pool2d_options){.kernel = {size, 1}, .stride = {1, 1}});
    hk_array *base =
        hk_add(hk_multiply(hk_reshape(means, shape),
                           onnx_number_like(onnx_float(call, "alpha", (double)1e-4f), wide)),
               onnx_number_like(onnx_float(call, "bias", 1), wide));
    hk_array *power = hk_power(base, onnx_number_like(onnx_float(call, "beta", .75), wide));
    return onnx_out(call, 0, onnx_to(hk_divide(wide, power), hk_array_dtype(x)));
}

/* 0 where the norm is. */
static bool run_lp_norm(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int64_t p = onnx_int(call, "p", 2);
    if (!onnx_needs_floats(call, x, "input", 1))
        return false;
    const int axis = onnx_axis(call, onnx_int(call, "axis", -1), hk_ndim(x));
    if (axis < 0)
        return false;
    if (p != 1 && p != 2)
        return onnx_refuse(call, HK_OUT_OF_RANGE, "p is %" PRId64 ", but must be 1 or 2", p);
    hk_array *wide = onnx_wide(x);
    hk_array *norm = hk_vector_norm(
        wide,
        &(hk_vector_norm_options){.ord = (double)p, .axes = hk_shape(axis), .keepdims = true});
    hk_array *zero = onnx_number_like(0, norm);
    hk_array *y = hk_where(hk_equal(norm, zero), zero, hk_divide(wide, norm));
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* (x - mean) / (deviation + 1e-9) */
static bool run_mean_variance_norm(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *variance, *mean;
    if (!onnx_needs_floats(call, x, "X", 1))
        return false;
    hk_dims axes = {0};
    int count = onnx_ints(call, "axes", axes.dims, HK_MAX_NDIM);
    if (count == -1) {
        axes = hk_shape(0, 2, 3);
        count = 3;
    }
    axes.ndim = count;
    for (int i = 0; i < count; i++)
        if ((axes.dims[i] = onnx_axis(call, axes.dims[i], hk_ndim(x))) < 0)
            return false;
    if (count < 1)
        return count == 0 ? onnx_refuse(call, HK_INVALID_ARGUMENT, "axes is empty") : false;
    hk_array *wide = onnx_wide(x);
    hk_var_mean(wide, &(hk_var_mean_options){.axes = axes, .keepdims = true}, &variance, &mean);
    hk_array *deviation = hk_sqrt(variance);
    deviation = hk_add(deviation, onnx_number_like(1e-9, deviation));
    return onnx_out(call, 0,
                    onnx_to(hk_divide(hk_subtract(wide, mean), deviation), hk_array_dtype(x)));
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* Until opset 12 all axes from one on are one row. */
static bool softmax(onnx_call *call, hk_array *(*function)(hk_array *, int64_t))
{
    hk_array *x = onnx_in(call, 0);
    const bool is_old = onnx_opset(call) < 13;
    if (!onnx_needs_floats(call, x, "input", 0))
        return false;
    if (hk_ndim(x) == 0)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "input has no axes");
    const hk_dims shape = hk_dims_get(x);
    const int64_t said = onnx_int(call, "axis", is_old ? 1 : -1);
    const int axis = is_old && said == shape.ndim ? shape.ndim : onnx_axis(call, said, shape.ndim);
    if (axis < 0)
        return false;
    hk_array *wide = onnx_wide(x);
    if (is_old)
        wide = hk_reshape(
            wide, hk_shape(onnx_product(shape, 0, axis), onnx_product(shape, axis, shape.ndim)));
    hk_array *y = function(wide, is_old ? 1 : axis);
    return onnx_out(call, 0, onnx_to(is_old ? hk_reshape(y, shape) : y, hk_array_dtype(x)));
}

static hk_array *plain(hk_array *x, int64_t axis)
{
    return hk_softmax(x, axis);
}

static hk_array *logarithm(hk_array *x, int64_t axis)
{
    return hk_log_softmax(x, axis);
}

static bool run_softmax(onnx_call *call)
{
    return softmax(call, plain);
}

static bool run_log_softmax(onnx_call *call)
{
    return softmax(call, logarithm);
}

const onnx_row onnx_rows_norm[] = {
    {"BatchNormalization", run_batch_norm, 0},
    {"GroupNormalization", run_group_norm, 0},
    {"InstanceNormalization", run_instance_norm, 0},
    {"LRN", run_lrn, 0},
    {"LayerNormalization", run_layer_norm, 0},
    {"LogSoftmax", run_log_softmax, 0},
    {"LpNormalization", run_lp_norm, 0},
    {"MeanVarianceNormalization", run_mean_variance_norm, 0},
    {"RMSNormalization", run_rms_norm, 0},
    {"SimplifiedLayerNormalization", run_rms_norm, 0},
    {"Softmax", run_softmax, 0},
    {"com.microsoft:EmbedLayerNormalization", run_embed_layer_norm, 0},
    {"com.microsoft:SkipLayerNormalization", run_skip_layer_norm, 0},
    {"com.microsoft:SkipSimplifiedLayerNormalization", run_skip_rms_norm, 0},
    {NULL, NULL, 0},
};
