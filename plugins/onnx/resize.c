/* Resize: one axis after the other, by tables of the entries that each entry of the result is
 * made of, and their weights. */
#include "compute.h"
#include "image.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum place_mode {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_HALF_PIXEL,
    TF_CROP,
    PLACE_MODES
} place_mode;

typedef enum round_mode { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, ROUND_MODES } round_mode;

typedef struct resize {
    onnx_between between;
    place_mode place;
    round_mode rounding;
    bool antialias, excludes;
    double cubic, extrapolation;
    int ndim;
    int64_t out[HK_MAX_NDIM];
    double scale[HK_MAX_NDIM], start[HK_MAX_NDIM], end[HK_MAX_NDIM]; /* start and end: of roi */
} resize;

/* One axis: `count` entries for each of the result's, and weights. */
typedef struct table {
    int64_t out, count;
    int64_t *entries;
    double *weights;
    bool *is_beyond; /* the result is the extrapolation value; NULL: never */
} table;

/* ---- attributes ------------------------------------------------------------------------------ */

/* Which of the texts the attribute is; -1 after refusing. */
static int choice(onnx_call *call, const char *name, const char *const *texts, int count,
                  const char *otherwise)
{
    for (int i = 0; i < count; i++)
        if (onnx_text_is(call, name, texts[i], otherwise))
            return i;
    const Onnx__AttributeProto *found = onnx_attribute(call, name);
    onnx_refuse(call, HK_UNSUPPORTED, "%s is %.*s; known are %s to %s", name,
                found ? (int)(found->s.len < 60 ? found->s.len : 60) : 0,
                found ? (const char *)found->s.data : "", texts[0], texts[count - 1]);
    return -1;
}

static bool read_mode(onnx_call *call, resize *self)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear"};
    static const char *const places[PLACE_MODES] = {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
    static const char *const roundings[ROUND_MODES] = {"round_prefer_floor", "round_prefer_ceil",
                                                       "floor", "ceil"};
    const int mode = choice(call, "mode", modes, 4, "nearest");
    const int place =
        choice(call, "coordinate_transformation_mode", places, PLACE_MODES, "half_pixel");
    const int nearest = choice(call, "nearest_mode", roundings, ROUND_MODES, "round_prefer_floor");
    if (mode < 0 || place < 0 || nearest < 0)
        return false;
    self->between = mode == 3 ? ONNX_LINEAR : (onnx_between)mode;
    self->place = (place_mode)place;
    self->rounding = (round_mode)nearest;
    if (onnx_opset(call) < 11) {
        self->place = ASYMMETRIC;
        self->rounding = FLOOR;
    }
    self->antialias = onnx_int(call, "antialias", 0) != 0;
    self->excludes = onnx_int(call, "exclude_outside", 0) != 0;
    self->cubic = onnx_float(call, "cubic_coeff_a", -.75);
    self->extrapolation = onnx_float(call, "extrapolation_value", 0);
    if (self->antialias && self->between == ONNX_NEAREST)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "antialias with mode nearest");
    return true;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* The axes that scales and sizes are of. How many; -1 after refusing. */
static int read_axes(onnx_call *call, int ndim, int64_t *axes)
{
    int count = onnx_ints(call, "axes", axes, HK_MAX_NDIM);
    bool seen[HK_MAX_NDIM] = {false};
    if (count == -1)
        for (count = 0; count < ndim; count++)
            axes[count] = count;
    for (int i = 0; i < count; i++) {
        if ((axes[i] = onnx_axis(call, axes[i], ndim)) < 0)
            return -1;
        if (seen[axes[i]])
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "axes has %" PRId64 " twice", axes[i]),
                   -1;
        seen[axes[i]] = true;
    }
    return count < 0 ? -1 : count;
}

static bool fits_axes(onnx_call *call, const char *name, int found, int count)
{
    return found < 0 ? false
                     : found == count ||
                           onnx_refuse(call, HK_INVALID_ARGUMENT,
                                       "%s has %d values, but must have %d", name, found, count);
}

static bool apply_scales(onnx_call *call, resize *self, hk_dims shape, const int64_t *axes,
                         const double *scales, int count)
{
    for (int i = 0; i < count; i++) {
        const int64_t axis = axes[i];
        const double size = floor((double)shape.dims[axis] * scales[i]);
        if (!(scales[i] > 0) || !(size <= INT32_MAX))
            return onnx_refuse(call, HK_OUT_OF_RANGE, "scales[%d] is %g, of an axis of %" PRId64, i,
                               scales[i], shape.dims[axis]);
        self->scale[axis] = scales[i];
        self->out[axis] = (int64_t)size;
    }
    return true;
}

/* keep_aspect_ratio_policy: one scale for all, the least or the largest. */
static bool apply_sizes(onnx_call *call, resize *self, hk_dims shape, const int64_t *axes,
                        const int64_t *sizes, int count)
{
    const bool less = onnx_text_is(call, "keep_aspect_ratio_policy", "not_larger", NULL);
    const bool more = onnx_text_is(call, "keep_aspect_ratio_policy", "not_smaller", NULL);
    if (!less && !more && !onnx_text_is(call, "keep_aspect_ratio_policy", "stretch", "stretch"))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "keep_aspect_ratio_policy must be stretch, "
                           "not_larger or not_smaller");
    double one = less ? INFINITY : 0;
    for (int i = 0; i < count; i++) {
        const int64_t in = shape.dims[axes[i]];
        if (sizes[i] < 0 || sizes[i] > INT32_MAX || (in == 0 && sizes[i]))
            return onnx_refuse(call, HK_OUT_OF_RANGE,
                               "sizes[%d] is %" PRId64 ", of an axis of %" PRId64, i, sizes[i], in);
        self->out[axes[i]] = sizes[i];
        self->scale[axes[i]] = in ? (double)sizes[i] / (double)in : 1;
        one = less ? fmin(one, self->scale[axes[i]]) : fmax(one, self->scale[axes[i]]);
    }
    for (int i = 0; (less || more) && i < count; i++) {
        const double size = floor(one * (double)shape.dims[axes[i]] + .5);
        if (!(size <= INT32_MAX))
            return onnx_refuse(call, HK_OUT_OF_RANGE, "sizes that make axis %" PRId64 " too long",
                               axes[i]);
        self->out[axes[i]] = (int64_t)size;
        self->scale[axes[i]] = one;
    }
    return true;
}

static bool read_roi(onnx_call *call, resize *self, const int64_t *axes, int count)
{
    double roi[2 * HK_MAX_NDIM];
    for (int i = 0; i < HK_MAX_NDIM; i++)
        self->end[i] = 1;
    if (self->place != TF_CROP)
        return true;
    const int found = onnx_in_floats(call, 1, roi, 2 * HK_MAX_NDIM);
    if (!fits_axes(call, "roi", found, 2 * count))
        return false;
    for (int i = 0; i < count; i++) {
        if (!isfinite(roi[i]) || !isfinite(roi[count + i]))
            return onnx_refuse(call, HK_OUT_OF_RANGE, "roi has numbers that are not finite");
        self->start[axes[i]] = roi[i];
        self->end[axes[i]] = roi[count + i];
    }
    return true;
}

/* scales: an input; from opset 11 on sizes may be another one, and scales empty. */
static bool read_sizes(onnx_call *call, resize *self, hk_dims shape)
{
    int64_t axes[HK_MAX_NDIM], sizes[HK_MAX_NDIM];
    double scales[HK_MAX_NDIM];
    const int count = read_axes(call, shape.ndim, axes);
    const bool is_old = onnx_opset(call) < 11;
    const int of_scales = is_old ? 1 : 2;
    self->ndim = shape.ndim;
    for (int i = 0; i < shape.ndim; i++) {
        self->out[i] = shape.dims[i];
        self->scale[i] = 1;
    }
    if (count < 0 || !read_roi(call, self, axes, count))
        return false;
    int found =
        onnx_has(call, of_scales) ? onnx_in_floats(call, of_scales, scales, HK_MAX_NDIM) : 0;
    if (found < 0)
        return false;
    if (found)
        return fits_axes(call, "scales", found, count) &&
               apply_scales(call, self, shape, axes, scales, count);
    if (is_old || !onnx_has(call, 3))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "neither scales nor sizes");
    found = onnx_in_ints(call, 3, sizes, HK_MAX_NDIM);
    return fits_axes(call, "sizes", found, count) &&
           apply_sizes(call, self, shape, axes, sizes, count);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Where entry i of the result lies in the axis, which has `in` entries. In float32, as scales
 * are: so places that are meant to be whole numbers, or halves between them, mostly are. */
static float place_of(const resize *self, int axis, float in, float i)
{
    const float scale = (float)self->scale[axis], out = scale * in, whole = (float)self->out[axis];
    const float start = (float)self->start[axis], end = (float)self->end[axis];
    switch (self->place) {
    case HALF_PIXEL_SYMMETRIC:
        return in / 2 * (1 - whole / out) + (i + .5f) / scale - .5f;
    case PYTORCH_HALF_PIXEL:
        return whole > 1 ? (i + .5f) / scale - .5f : 0;
    case ALIGN_CORNERS:
        return out == 1 ? 0 : i * (in - 1) / (out - 1);
    case ASYMMETRIC:
        return i / scale;
    case TF_HALF_PIXEL:
        return (i + .5f) / scale;
    case TF_CROP:
        return out == 1 ? (start + end) * (in - 1) / 2
                        : start * (in - 1) + i * (end - start) * (in - 1) / (out - 1);
    default:
        return (i + .5f) / scale - .5f;
    }
}

static double rounded(double place, round_mode rounding)
{
    return rounding == FLOOR         ? floor(place)
           : rounding == CEIL        ? ceil(place)
           : rounding == PREFER_CEIL ? floor(place + .5)
                                     : ceil(place - .5);
}

/* The weight of what lies at a distance: Keys' cubic, or a triangle. */
static double weight_at(const resize *self, double distance)
{
    const double x = fabs(distance), a = self->cubic;
    if (self->between == ONNX_LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double clamp(double value, double most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* How many entries there are to each of the result, on both sides as many. */
static double taps_of(const resize *self, int axis)
{
    if (self->between == ONNX_NEAREST)
        return 1;
    const double reach = self->between == ONNX_LINEAR ? 1 : 2;
    const double scale = self->antialias ? fmin(self->scale[axis], 1) : 1;
    return -2 * floor(-reach / scale);
}

static void fill_row(const resize *self, int axis, double in, table *rows, int64_t i)
{
    const double place = (double)place_of(self, axis, (float)in, (float)i), most = in - 1;
    int64_t *entries = rows->entries + i * rows->count;
    double *weights = rows->weights + i * rows->count, sum = 0;
    if (rows->is_beyond)
        rows->is_beyond[i] = place < 0 || place > most;
    if (self->between == ONNX_NEAREST) {
        entries[0] = (int64_t)clamp(rounded(place, self->rounding), most);
        return;
    }
    /* A place on an entry counts to the one before it. */
    const double base = ceil(place) - 1, first = base + 1 - (double)rows->count / 2;
    const double scale = self->antialias ? fmin(self->scale[axis], 1) : 1;
    for (int64_t k = 0; k < rows->count; k++) {
        const double at = first + (double)k;
        const bool is_out = at < 0 || at > most;
        weights[k] = self->excludes && is_out ? 0 : weight_at(self, (at - place) * scale);
        entries[k] = (int64_t)clamp(at, most);
        sum += weights[k];
    }
    for (int64_t k = 0; (self->antialias || self->excludes) && sum != 0 && k < rows->count; k++)
        weights[k] /= sum;
}

static void table_free(table *rows)
{
    free(rows->entries);
    free(rows->weights);
    free(rows->is_beyond);
}

static bool table_make(onnx_call *call, const resize *self, int axis, int64_t in, table *rows)
{
    const double count = taps_of(self, axis);
    *rows = (table){.out = self->out[axis], .count = (int64_t)fmin(count, 1e9)};
    if (count <= 1e9 && (double)rows->out * count < 1e12) {
        const size_t size = (size_t)(rows->out * rows->count);
        rows->entries = malloc(size * sizeof *rows->entries);
        rows->weights = malloc(size * sizeof *rows->weights);
        rows->is_beyond = self->place == TF_CROP ? malloc((size_t)rows->out) : NULL;
    }
    if (!rows->entries || !rows->weights || (self->place == TF_CROP && !rows->is_beyond)) {
        table_free(rows);
        return onnx_refuse(call, HK_OUT_OF_MEMORY,
                           "axis %d is made of %g entries each: out of host memory", axis, count);
    }
    for (int64_t i = 0; i < rows->out; i++)
        fill_row(self, axis, (double)in, rows, i);
    return true;
}

/* ---- an axis --------------------------------------------------------------------------------- */

/* Column k of the table, as an array of its own; NULL: after refusing. */
static hk_array *hold_weights(onnx_call *call, const table *rows, hk_dims shape)
{
    return onnx_held(call, rows->weights, shape, HK_F64);
}

/* The sum of entries times weights: of a few, one after the other; else of all at once. */
static hk_array *weighted(onnx_call *call, hk_array *x, int axis, const table *rows)
{
    const int ndim = hk_ndim(x);
    hk_array *entries = onnx_held(call, rows->entries, hk_shape(rows->out, rows->count), HK_I64);
    hk_array *weights = hold_weights(call, rows, hk_shape(rows->out, rows->count));
    if (!entries || !weights)
        return NULL;
    weights = onnx_to(weights, hk_array_dtype(x));
    if (rows->count > 4 && ndim < HK_MAX_NDIM) {
        hk_dims shape = onnx_along(rows->out, axis, ndim + 1);
        shape.dims[axis + 1] = rows->count;
        x = hk_multiply(hk_index_select(x, entries, axis), hk_reshape(weights, shape));
        return hk_sum(x, &(hk_sum_options){.axes = hk_shape(axis + 1)});
    }
    hk_array *sum = NULL;
    for (int64_t k = 0; k < rows->count; k++) {
        hk_array *part = hk_index_select(x, hk_index(entries, 1, k), axis);
        hk_array *weight = hk_reshape(hk_index(weights, 1, k), onnx_along(rows->out, axis, ndim));
        part = hk_multiply(part, weight);
        sum = sum ? hk_add(sum, part) : part;
    }
    return sum;
}

static hk_array *resize_axis(onnx_call *call, const resize *self, hk_array *x, int axis)
{
    table rows;
    if (!table_make(call, self, axis, hk_dim(x, axis), &rows))
        return NULL;
    hk_array *y;
    if (self->between == ONNX_NEAREST) {
        hk_array *entries = onnx_held(call, rows.entries, hk_shape(rows.out), HK_I64);
        y = entries ? hk_index_select(x, entries, axis) : NULL;
    } else {
        y = weighted(call, x, axis, &rows);
    }
    if (y && rows.is_beyond) {
        hk_array *beyond =
            onnx_held(call, rows.is_beyond, onnx_along(rows.out, axis, hk_ndim(x)), HK_BOOL);
        y = beyond ? hk_where(beyond, onnx_number_like(self->extrapolation, y), y) : NULL;
    }
    table_free(&rows);
    return y;
}

static bool is_same(const resize *self, int axis, int64_t in)
{
    return self->out[axis] == in && fabs(self->scale[axis] - 1) < 1e-9 &&
           (self->place != TF_CROP ||
            (fabs(self->start[axis]) < 1e-9 && fabs(self->end[axis] - 1) < 1e-9));
}

/* ---- the rows -------------------------------------------------------------------------------- */

/* Integers are made of floats that have all their values, or nearly; rounded, within their
 * range. */
static hk_array *back(hk_array *x, hk_dtype dtype)
{
    if (onnx_is_real(dtype))
        return onnx_to(x, dtype);
    static const double high[HK_DTYPE_COUNT] = {
        [HK_I8] = 127,    [HK_U8] = 255,           [HK_I16] = 32767,
        [HK_U16] = 65535, [HK_I32] = 2147483647.0, [HK_U32] = 4294967295.0};
    const bool has_sign = dtype == HK_I8 || dtype == HK_I16 || dtype == HK_I32;
    return hk_cast(hk_clip(hk_round(x), has_sign ? -high[dtype] - 1 : 0, high[dtype]), dtype);
}

static bool fits_dtype(onnx_call *call, const resize *self, hk_dtype dtype)
{
    const bool is_known = onnx_is_real(dtype) || dtype == HK_I8 || dtype == HK_U8 ||
                          dtype == HK_I16 || dtype == HK_U16 || dtype == HK_I32 || dtype == HK_U32;
    return self->between == ONNX_NEAREST || is_known ||
           onnx_refuse(call, HK_UNSUPPORTED, "between elements of %s", hk_dtype_name(dtype));
}

static bool resize_all(onnx_call *call, hk_array *x, const resize *self)
{
    const hk_dims shape = hk_dims_get(x);
    const hk_dtype dtype = hk_array_dtype(x);
    if (!fits_dtype(call, self, dtype))
        return false;
    const bool is_wide = dtype == HK_F64 || dtype == HK_I32 || dtype == HK_U32;
    hk_array *y = self->between == ONNX_NEAREST ? x : onnx_to(x, is_wide ? HK_F64 : HK_F32);
    bool is_empty = false;
    for (int i = 0; i < shape.ndim; i++)
        is_empty = is_empty || self->out[i] == 0;
    if (is_empty)
        return onnx_out(call, 0,
                        hk_zeros(hk_dims_of(self->out, (size_t)shape.ndim), dtype, call->device));
    for (int i = 0; i < shape.ndim; i++) {
        if (is_same(self, i, shape.dims[i]))
            continue;
        if (!(y = resize_axis(call, self, y, i)))
            return false;
    }
    return onnx_out(call, 0, self->between == ONNX_NEAREST ? y : back(y, dtype));
}

bool onnx_run_resize(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    resize self = {0};
    if (!x)
        return onnx_out(call, 0, NULL);
    return !onnx_has_failed(call, x) && read_mode(call, &self) &&
           read_sizes(call, &self, hk_dims_get(x)) && resize_all(call, x, &self);
}

/* Until opset 8 scales are an attribute. */
bool onnx_run_upsample(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    resize self = {0};
    if (!x)
        return onnx_out(call, 0, NULL);
    if (onnx_has_failed(call, x) || !read_mode(call, &self))
        return false;
    self.place = ASYMMETRIC;
    self.rounding = FLOOR;
    if (onnx_has(call, 1))
        return read_sizes(call, &self, hk_dims_get(x)) && resize_all(call, x, &self);
    const Onnx__AttributeProto *scales = onnx_attribute(call, "scales");
    const hk_dims shape = hk_dims_get(x);
    if (!scales || scales->n_floats != (size_t)shape.ndim)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "scales has %zu values, but must have %d",
                           scales ? scales->n_floats : 0, shape.ndim);
    int64_t axes[HK_MAX_NDIM];
    double numbers[HK_MAX_NDIM];
    for (int i = 0; i < shape.ndim; i++) {
        axes[i] = i;
        numbers[i] = (double)scales->floats[i];
    }
    return apply_scales(call, &self, shape, axes, numbers, shape.ndim) &&
           resize_all(call, x, &self);
}
