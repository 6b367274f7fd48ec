/* DeformConv: a convolution whose windows have each entry at a place of its own. */
#include "compute.h"
#include "image.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct deform {
    onnx_windows windows;
    int64_t samples, channels, outputs, groups, offset_groups;
    int64_t entries, count; /* of a window; windows */
} deform;

static bool read_deform(onnx_call *call, hk_array *x, hk_array *w, hk_array *offset, deform *self)
{
    const hk_dims from = hk_dims_get(x), weights = hk_dims_get(w), moves = hk_dims_get(offset);
    self->samples = from.dims[0];
    self->channels = from.dims[1];
    self->outputs = weights.dims[0];
    self->groups = onnx_int(call, "group", 1);
    self->offset_groups = onnx_int(call, "offset_group", 1);
    if (from.ndim != weights.ndim || from.ndim != moves.ndim || self->groups < 1 ||
        self->offset_groups < 1 || self->channels % self->groups || self->outputs % self->groups ||
        self->channels % self->offset_groups || weights.dims[1] != self->channels / self->groups)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "X has %" PRId64 " channels, W is of (%" PRId64 ", %" PRId64
                           ", …), group is %" PRId64 " and offset_group %" PRId64,
                           self->channels, weights.dims[0], weights.dims[1], self->groups,
                           self->offset_groups);
    if (!onnx_windows_read(call, from, weights.dims + 2, &self->windows))
        return false;
    const int ndim = self->windows.ndim;
    self->entries = onnx_product(weights, 2, weights.ndim);
    self->count = onnx_product(moves, 2, moves.ndim);
    bool fits = self->entries > 0 && self->entries <= INT32_MAX && self->count >= 0 &&
                self->count <= INT32_MAX && moves.dims[0] == self->samples &&
                moves.dims[1] / ndim / self->entries == self->offset_groups &&
                moves.dims[1] % (ndim * self->entries) == 0;
    for (int i = 0; i < ndim; i++)
        fits = fits && moves.dims[i + 2] == self->windows.out[i] && from.dims[i + 2] > 0;
    return fits ||
           onnx_refuse(call, HK_INVALID_ARGUMENT,
                       "offset is of (%" PRId64 ", %" PRId64 ", …), which does not fit X and W",
                       moves.dims[0], moves.dims[1]);
}

/* Where entries of windows are without offsets along an axis: (entries, windows). NULL: after
 * refusing. */
static hk_array *hold_places(onnx_call *call, const deform *self, int axis)
{
    const onnx_windows *windows = &self->windows;
    const int64_t total = self->entries * self->count;
    int64_t entry_step = 1, window_step = 1;
    for (int i = axis + 1; i < windows->ndim; i++) {
        entry_step *= windows->size[i];
        window_step *= windows->out[i];
    }
    double *places = malloc((size_t)total * sizeof *places + 1);
    if (!places) {
        onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    for (int64_t i = 0; i < total; i++) {
        const int64_t entry = i / self->count / entry_step % windows->size[axis];
        const int64_t window = i % self->count / window_step % windows->out[axis];
        places[i] = (double)(window * windows->stride[axis] - windows->before[axis] +
                             entry * windows->dilation[axis]);
    }
    hk_array *held = onnx_held(call, places, hk_shape(1, self->entries, self->count), HK_F64);
    free(places);
    return held;
}

/* What each window has of x: (n, groups, channels of a group times entries, windows). */
static hk_array *columns_of(onnx_call *call, const deform *self, hk_array *x, hk_array *offset,
                            hk_array *mask)
{
    const int64_t rows = self->samples * self->offset_groups;
    const int64_t per_group = self->channels / self->offset_groups;
    const int ndim = self->windows.ndim;
    const hk_dtype dtype = hk_array_dtype(x);
    hk_array *places[ONNX_MOST_SPACE];
    offset = hk_reshape(onnx_to(offset, dtype), hk_shape(rows, self->entries, ndim, self->count));
    for (int i = 0; i < ndim; i++) {
        hk_array *held = hold_places(call, self, i);
        if (!held)
            return NULL;
        places[i] = hk_reshape(hk_add(hk_index(offset, 2, i), onnx_to(held, dtype)),
                               hk_shape(rows, self->entries * self->count));
    }
    hk_dims shape = hk_dims_get(x);
    shape.dims[0] = rows;
    shape.dims[1] = per_group;
    hk_array *y = onnx_sample(hk_reshape(x, shape), places, ONNX_LINEAR, ONNX_ZEROS);
    if (mask)
        y = hk_multiply(
            y, hk_reshape(onnx_to(mask, dtype), hk_shape(rows, 1, self->entries * self->count)));
    return hk_reshape(y, hk_shape(self->samples, self->groups,
                                  self->channels / self->groups * self->entries, self->count));
}

bool onnx_run_deform_conv(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *w = onnx_in(call, 1), *offset = onnx_in(call, 2);
    hk_array *bias = onnx_in(call, 3), *mask = onnx_in(call, 4);
    deform self;
    if (!onnx_needs_floats(call, x, "X", 3) || !onnx_needs_floats(call, w, "W", 3) ||
        !onnx_needs_floats(call, offset, "offset", 3) || !read_deform(call, x, w, offset, &self))
        return false;
    hk_dims shape = hk_dims_get(offset);
    if (mask && (hk_ndim(mask) != shape.ndim ||
                 hk_size(mask) != self.samples * self.offset_groups * self.entries * self.count))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "mask must have a number for each entry of each window");
    const hk_dtype dtype = hk_array_dtype(x);
    hk_array *columns = columns_of(call, &self, onnx_wide(x), offset, mask);
    if (!columns)
        return false;
    w = hk_reshape(onnx_wide(w),
                   hk_shape(self.groups, self.outputs / self.groups, hk_dim(columns, 2)));
    shape.dims[1] = self.outputs;
    hk_array *y = hk_reshape(hk_matmul(w, columns), shape);
    if (bias)
        y = hk_add(y, hk_reshape(onnx_wide(bias), onnx_along(self.outputs, 1, shape.ndim)));
    return onnx_out(call, 0, onnx_to(y, dtype));
}
