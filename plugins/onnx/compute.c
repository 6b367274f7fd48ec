#include "compute.h"

#include <inttypes.h>

/* ---- dtypes ---------------------------------------------------------------------------------- */

bool onnx_is_half(hk_dtype dtype)
{
    return dtype == HK_F16 || dtype == HK_BF16;
}

bool onnx_is_real(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_F64 || onnx_is_half(dtype);
}

hk_array *onnx_wide(hk_array *x)
{
    return x && onnx_is_half(hk_array_dtype(x)) ? hk_cast(x, HK_F32) : x;
}

hk_array *onnx_to(hk_array *x, hk_dtype dtype)
{
    return !x || hk_array_dtype(x) == dtype ? x : hk_cast(x, dtype);
}

bool onnx_has_failed(onnx_call *call, hk_array *x)
{
    if (hk_ndim(x) || hk_size(x))
        return false;
    const hk_status *status = hk_error_now(x);
    if (hk_ok(status)) /* what it was made of may yet tell more */
        status = hk_wait(x);
    onnx_refuse(call, hk_status_code(status), "%s", hk_status_message(status));
    return true;
}

bool onnx_needs_floats(onnx_call *call, hk_array *x, const char *name, int least)
{
    if (!x)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "%s is missing", name);
    if (onnx_has_failed(call, x))
        return false;
    if (!onnx_is_real(hk_array_dtype(x)))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "%s is %s, but must be of floats", name,
                           hk_dtype_name(hk_array_dtype(x)));
    if (hk_ndim(x) < least)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "%s has %d axes, but must have at least %d",
                           name, hk_ndim(x), least);
    return true;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

bool onnx_same_dims(hk_dims x, hk_dims y)
{
    bool same = x.ndim == y.ndim;
    for (int i = 0; i < x.ndim && same; i++)
        same = x.dims[i] == y.dims[i];
    return same;
}

int64_t onnx_product(hk_dims shape, int begin, int end)
{
    int64_t product = 1;
    for (int i = begin; i < end; i++)
        if (__builtin_mul_overflow(product, shape.dims[i], &product))
            return -1;
    return product;
}

hk_dims onnx_along(int64_t size, int axis, int ndim)
{
    hk_dims shape = {.ndim = ndim};
    for (int i = 0; i < ndim; i++)
        shape.dims[i] = i == axis ? size : 1;
    return shape;
}

hk_array *onnx_pad_or_crop(hk_array *x, int axis, int64_t before, int64_t behind)
{
    if (before < 0 || behind < 0)
        x = hk_slice(x, axis, before < 0 ? -before : 0,
                     hk_dim(x, axis) + (behind < 0 ? behind : 0));
    const int64_t width[2] = {before > 0 ? before : 0, behind > 0 ? behind : 0};
    return width[0] || width[1] ? hk_pad(x, axis, width, HK_PAD_CONSTANT, 0) : x;
}

/* ---- windows --------------------------------------------------------------------------------- */

int64_t onnx_window_span(const onnx_windows *windows, int axis)
{
    return (windows->size[axis] - 1) * windows->dilation[axis] + 1;
}

bool onnx_numbers_of_axes(onnx_call *call, const char *name, int64_t *values, int count,
                          int64_t least, int64_t otherwise)
{
    const int found = onnx_ints(call, name, values, count);
    if (found == -2)
        return false;
    for (int i = 0; found <= 0 && i < count; i++)
        values[i] = otherwise;
    if (found > 0 && found != count)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "%s has %d values, but must have %d", name,
                           found, count);
    for (int i = 0; i < count; i++)
        if (values[i] < least || values[i] > INT32_MAX)
            return onnx_refuse(call, HK_OUT_OF_RANGE,
                               "%s[%d] is %" PRId64 ", but must be from %" PRId64 " to %d", name, i,
                               values[i], least, INT32_MAX);
    return true;
}

static bool sizes_fit(onnx_call *call, const int64_t *sizes, onnx_windows *windows)
{
    if (!sizes && !onnx_attribute(call, "kernel_shape"))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "kernel_shape is missing");
    if (!onnx_numbers_of_axes(call, "kernel_shape", windows->size, windows->ndim, 1, 1))
        return false;
    const bool is_said =
        onnx_ints(call, "kernel_shape", (int64_t[HK_MAX_NDIM]){0}, HK_MAX_NDIM) > 0;
    if (!sizes && !is_said)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "kernel_shape is empty");
    for (int i = 0; sizes && i < windows->ndim; i++) {
        if (is_said && windows->size[i] != sizes[i])
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "kernel_shape[%d] is %" PRId64 ", but the weights have %" PRId64, i,
                               windows->size[i], sizes[i]);
        windows->size[i] = sizes[i];
    }
    return true;
}

/* SAME_UPPER and SAME_LOWER: as many windows as strides in x. */
static void pad_same(onnx_windows *windows, bool is_upper)
{
    for (int i = 0; i < windows->ndim; i++) {
        const int64_t stride = windows->stride[i];
        const int64_t out = (windows->in[i] + stride - 1) / stride;
        int64_t total = (out - 1) * stride + onnx_window_span(windows, i) - windows->in[i];
        total = total < 0 || !out ? 0 : total;
        windows->before[i] = is_upper ? total / 2 : total - total / 2;
        windows->behind[i] = total - windows->before[i];
    }
}

static bool read_pads(onnx_call *call, onnx_windows *windows)
{
    int64_t pads[2 * ONNX_MOST_SPACE];
    if (!onnx_numbers_of_axes(call, "pads", pads, 2 * windows->ndim, 0, 0))
        return false;
    for (int i = 0; i < windows->ndim; i++) {
        windows->before[i] = pads[i];
        windows->behind[i] = pads[windows->ndim + i];
    }
    if (onnx_text_is(call, "auto_pad", "NOTSET", "NOTSET") ||
        onnx_text_is(call, "auto_pad", "", "NOTSET"))
        return true;
    const bool is_upper = onnx_text_is(call, "auto_pad", "SAME_UPPER", NULL);
    if (is_upper || onnx_text_is(call, "auto_pad", "SAME_LOWER", NULL)) {
        pad_same(windows, is_upper);
        return true;
    }
    if (!onnx_text_is(call, "auto_pad", "VALID", NULL))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
    for (int i = 0; i < windows->ndim; i++)
        windows->before[i] = windows->behind[i] = 0;
    return true;
}

/* How many windows fit; of the last ones those count that begin within x or what is before it. */
static bool count_windows(onnx_call *call, onnx_windows *windows)
{
    for (int i = 0; i < windows->ndim; i++) {
        const int64_t room = windows->in[i] + windows->before[i] + windows->behind[i];
        const int64_t rest = room - onnx_window_span(windows, i), stride = windows->stride[i];
        if (rest < 0)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "a window of %" PRId64 " entries, but axis %d has %" PRId64
                               ", with padding",
                               onnx_window_span(windows, i), i + 2, room);
        int64_t out = (rest + (windows->is_ceil ? stride - 1 : 0)) / stride + 1;
        if (windows->is_ceil && (out - 1) * stride >= windows->in[i] + windows->before[i])
            out--;
        windows->out[i] = out;
    }
    return true;
}

bool onnx_windows_read(onnx_call *call, hk_dims x, const int64_t *sizes, onnx_windows *windows)
{
    *windows = (onnx_windows){.ndim = x.ndim - 2, .is_ceil = onnx_int(call, "ceil_mode", 0) != 0};
    if (x.ndim < 3)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "x has %d axes, but must have at least 3: samples, channels, …", x.ndim);
    if (!sizes_fit(call, sizes, windows) ||
        !onnx_numbers_of_axes(call, "strides", windows->stride, windows->ndim, 1, 1) ||
        !onnx_numbers_of_axes(call, "dilations", windows->dilation, windows->ndim, 1, 1))
        return false;
    for (int i = 0; i < windows->ndim; i++) {
        windows->in[i] = x.dims[i + 2];
        if (windows->in[i] > INT32_MAX || windows->size[i] < 1 || windows->size[i] > INT32_MAX ||
            onnx_window_span(windows, i) > INT32_MAX)
            return onnx_refuse(call, HK_UNSUPPORTED,
                               "axis %d has %" PRId64 " entries, and windows of %" PRId64
                               " with dilation %" PRId64 "; known are 1 to %d",
                               i + 2, windows->in[i], windows->size[i], windows->dilation[i],
                               INT32_MAX);
    }
    return read_pads(call, windows) && count_windows(call, windows);
}
