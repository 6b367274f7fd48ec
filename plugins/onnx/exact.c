#include "exact.h"
#include "shapes.h"

#include <inttypes.h>

/* ---- products of matrices -------------------------------------------------------------------- */

/* So many products of 255 and 255 add up to what a float holds: 255 * 255 * 258 < 2^24. */
enum { MOST_IN_FLOATS = 258 };

/* The axis in parts of `size`, zeros behind the last, which are counted by a new first axis; ones
 * in front of other axes, up to ndim. */
static hk_array *in_parts(hk_array *x, int axis, int64_t parts, int64_t size, int ndim)
{
    const hk_dims has = hk_dims_get(x);
    hk_dims cut = {.ndim = has.ndim + 1}, to = {.ndim = ndim + 1};
    x = onnx_surround(x, axis, (const int64_t[]){0, parts * size - has.dims[axis]},
                      onnx_number_like(0, x));
    for (int i = 0; i < cut.ndim; i++)
        cut.dims[i] = i == axis ? parts : i == axis + 1 ? size : has.dims[i - (i > axis)];
    x = hk_moveaxis(hk_reshape(x, cut), axis, 0);
    for (int i = 0; i <= ndim; i++) {
        const int from = i - (ndim - has.ndim);
        to.dims[i] = i == 0 ? parts : from < 1 ? 1 : hk_dim(x, from);
    }
    return hk_reshape(x, to);
}

hk_array *onnx_exact_matmul(hk_array *a, hk_array *b)
{
    const int64_t depth = hk_dim(a, -1), parts = (depth + MOST_IN_FLOATS - 1) / MOST_IN_FLOATS;
    const int ndim = hk_ndim(a) > hk_ndim(b) ? hk_ndim(a) : hk_ndim(b);
    if (parts <= 1 || depth != hk_dim(b, -2))
        return hk_cast(hk_matmul(a, b), HK_I64);
    if (ndim == HK_MAX_NDIM)
        return hk_cast(hk_matmul(hk_cast(a, HK_F64), hk_cast(b, HK_F64)), HK_I64);
    const int64_t size = (depth + parts - 1) / parts;
    a = in_parts(a, hk_ndim(a) - 1, parts, size, ndim);
    b = in_parts(b, hk_ndim(b) - 2, parts, size, ndim);
    const hk_sum_options sum = {.axes = hk_shape(0)};
    return hk_sum(hk_cast(hk_matmul(a, b), HK_I32), &sum);
}

/* ---- convolutions: windows become the columns of a matrix ------------------------------------ */

enum { MOST_AXES = 3 };

/* By axis of the image. */
typedef struct windows {
    int axes;
    int64_t groups;
    int64_t kernel[MOST_AXES], stride[MOST_AXES], dilation[MOST_AXES], pads[MOST_AXES][2];
    int64_t out[MOST_AXES];
} windows;

/* So many values of an attribute, which are at least 1; ones where it is not there. */
static bool ones_or(onnx_call *call, const char *name, int64_t *values, int count)
{
    int64_t given[MOST_AXES];
    const int has = onnx_ints(call, name, given, MOST_AXES);
    if (has < -1)
        return false;
    for (int i = 0; i < count; i++) {
        values[i] = has == -1 ? 1 : i < has ? given[i] : 0;
        if ((has != -1 && has != count) || values[i] < 1 || values[i] > INT32_MAX)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "%s has %d values for %d axes, or one that is less than 1", name,
                               has, count);
    }
    return true;
}

/* Zeros around an image, so that there are as many windows as steps fit. */
static bool find_pads(onnx_call *call, windows *self, const int64_t *size)
{
    int64_t given[2 * MOST_AXES] = {0};
    const int has = onnx_ints(call, "pads", given, 2 * MOST_AXES);
    const bool upper = onnx_text_is(call, "auto_pad", "SAME_UPPER", "NOTSET");
    const bool lower = onnx_text_is(call, "auto_pad", "SAME_LOWER", "NOTSET");
    const bool valid = onnx_text_is(call, "auto_pad", "VALID", "NOTSET");
    const bool explicit = onnx_text_is(call, "auto_pad", "NOTSET", "NOTSET");
    if (has < -1 || (!upper && !lower && !valid && !explicit))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "auto_pad is none of NOTSET, SAME_UPPER, SAME_LOWER and VALID");
    if (explicit && has != -1 && has != 2 * self->axes)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "%d pads for %d axes; expected two for each",
                           has, self->axes);
    for (int i = 0; i < self->axes; i++) {
        const int64_t span = (self->kernel[i] - 1) * self->dilation[i] + 1;
        int64_t *pads = self->pads[i];
        if (upper || lower) {
            const int64_t count = (size[i] + self->stride[i] - 1) / self->stride[i];
            int64_t all = (count - 1) * self->stride[i] + span - size[i];
            all = all > 0 ? all : 0;
            pads[lower] = all / 2;
            pads[!lower] = all - all / 2;
        } else {
            pads[0] = explicit && has > 0 ? given[i] : 0;
            pads[1] = explicit && has > 0 ? given[self->axes + i] : 0;
        }
        if (pads[0] < 0 || pads[1] < 0 || pads[0] > INT32_MAX || pads[1] > INT32_MAX)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "pads of %" PRId64 " and %" PRId64 " at axis %d", pads[0], pads[1],
                               i);
        const int64_t left = size[i] + pads[0] + pads[1] - span;
        if (left < 0)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "windows of %" PRId64 " entries do not fit axis %d of %" PRId64,
                               span, i, size[i]);
        self->out[i] = left / self->stride[i] + 1;
    }
    return true;
}

static bool windows_of(onnx_call *call, hk_array *x, hk_array *w, windows *self)
{
    const hk_dims image = hk_dims_get(x), kernel = hk_dims_get(w);
    self->axes = image.ndim - 2;
    self->groups = onnx_int(call, "group", 1);
    if (self->axes < 1 || self->axes > MOST_AXES || kernel.ndim != image.ndim)
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "images of %d axes and weights of %d; from 3 to 5 are known, as many of "
                           "both",
                           image.ndim, kernel.ndim);
    if (self->groups < 1 || kernel.dims[0] % self->groups || image.dims[1] % self->groups ||
        kernel.dims[1] != image.dims[1] / self->groups)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "%" PRId64 " groups of %" PRId64 " channels, with weights (%" PRId64
                           ",%" PRId64 ",...)",
                           self->groups, image.dims[1], kernel.dims[0], kernel.dims[1]);
    for (int i = 0; i < self->axes; i++) {
        self->kernel[i] = kernel.dims[2 + i];
        if (self->kernel[i] < 1 || self->kernel[i] > INT32_MAX)
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "weights without elements");
    }
    return ones_or(call, "strides", self->stride, self->axes) &&
           ones_or(call, "dilations", self->dilation, self->axes) &&
           find_pads(call, self, image.dims + 2);
}

/* (channels of all samples, entries of a window…, windows…): a view. */
static hk_array *view_of(hk_array *x, const windows *self)
{
    const hk_dims has = hk_dims_get(x);
    hk_dims shape = {.ndim = 1 + 2 * self->axes};
    int64_t strides[1 + 2 * MOST_AXES], step = 1;
    for (int i = self->axes; i-- > 0; step *= has.dims[2 + i]) {
        shape.dims[1 + i] = self->kernel[i];
        strides[1 + i] = step * self->dilation[i];
        shape.dims[1 + self->axes + i] = self->out[i];
        strides[1 + self->axes + i] = step * self->stride[i];
    }
    shape.dims[0] = has.dims[0] * has.dims[1];
    strides[0] = step;
    return hk_view(x, shape, strides, 0);
}

hk_array *onnx_exact_conv(onnx_call *call, hk_array *x, hk_array *w)
{
    windows self;
    if (!windows_of(call, x, w, &self))
        return NULL;
    const int64_t n = hk_dim(x, 0), channels = hk_dim(x, 1), outputs = hk_dim(w, 0);
    hk_dims to = {.ndim = 2 + self.axes, .dims = {n, outputs}};
    int64_t entries = channels / self.groups, count = 1;
    for (int i = 0; i < self.axes; i++) {
        x = onnx_surround(x, 2 + i, self.pads[i], onnx_number_like(0, x));
        entries *= self.kernel[i];
        count *= self.out[i];
        to.dims[2 + i] = self.out[i];
    }
    if (n == 0 || channels == 0 || outputs == 0)
        return hk_zeros(to, HK_I64, call->device);
    x = view_of(hk_contiguous(x), &self);
    x = hk_reshape(hk_contiguous(x), hk_shape(n, self.groups, entries, count));
    w = hk_reshape(w, hk_shape(self.groups, outputs / self.groups, entries));
    return hk_reshape(onnx_exact_matmul(w, x), to);
}
