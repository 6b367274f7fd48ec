/* Regions of images: what is in them, and which of them to keep. */
#include "compute.h"
#include "image.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static bool images_fit(onnx_call *call, hk_array *x, hk_array *rois, int64_t numbers)
{
    if (!onnx_needs_floats(call, x, "X", 4) || !onnx_needs_floats(call, rois, "rois", 2))
        return false;
    const hk_dims shape = hk_dims_get(x);
    if (shape.ndim != 4 || shape.dims[2] < 1 || shape.dims[3] < 1 || hk_ndim(rois) != 2 ||
        hk_dim(rois, 1) != numbers)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "X must be (n, channels, height, width) and rois (regions, %" PRId64 ")",
                           numbers);
    return true;
}

static bool size_fits(onnx_call *call, int64_t rows, int64_t columns)
{
    return (rows >= 1 && rows <= INT32_MAX && columns >= 1 && columns <= INT32_MAX) ||
           onnx_refuse(call, HK_OUT_OF_RANGE,
                       "%" PRId64 " rows and %" PRId64 " columns, but must be from 1 to %d", rows,
                       columns, INT32_MAX);
}

/* ---- RoiAlign -------------------------------------------------------------------------------- */

bool onnx_run_roi_align(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *rois = onnx_in(call, 1), *batches = onnx_in(call, 2);
    if (!images_fit(call, x, rois, 4))
        return false;
    if (!batches || hk_ndim(batches) != 1 || hk_dim(batches, 0) != hk_dim(rois, 0))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "batch_indices must have as many numbers as there are rois");
    const bool halves =
        onnx_opset(call) >= 16 &&
        onnx_text_is(call, "coordinate_transformation_mode", "half_pixel", "half_pixel");
    const double scale = onnx_float(call, "spatial_scale", 1);
    const hk_roi_align_options options = {
        .size = {onnx_int(call, "output_height", 1), onnx_int(call, "output_width", 1)},
        .scale = scale == 0 ? HK_ZERO : scale,
        .samples = onnx_int(call, "sampling_ratio", 0),
        .aligned = halves,
        .largest = onnx_text_is(call, "mode", "max", "avg")};
    if (!size_fits(call, options.size[0], options.size[1]))
        return false;
    if (!options.largest && !onnx_text_is(call, "mode", "avg", "avg"))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "mode must be avg or max");
    hk_array *wide = onnx_wide(x);
    hk_array *y =
        hk_roi_align(wide, onnx_to(rois, hk_array_dtype(wide)), onnx_to(batches, HK_I64), &options);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* ---- MaxRoiPool ------------------------------------------------------------------------------ */

typedef struct pool {
    double scale;          /* from regions to elements of x */
    int64_t rows, columns; /* parts of a region */
} pool;

/* float32 or float64, without gaps. */
static double element(const hk_task_view *view, int64_t i)
{
    return view->dtype == HK_F64 ? ((const double *)view->data)[i]
                                 : (double)((const float *)view->data)[i];
}

static void put(const hk_task_view *view, int64_t i, double value)
{
    if (view->dtype == HK_F64)
        ((double *)view->data)[i] = value;
    else
        ((float *)view->data)[i] = (float)value;
}

static int64_t count_regions(const hk_task_call *call)
{
    return hk_task_view_of(call, hk_task_view_count(call) - 1).shape.dims[0];
}

static double pool_cost(const hk_task_call *call)
{
    const hk_dims shape = hk_task_view_of(call, hk_task_view_count(call) - 1).shape;
    double count = 40;
    for (int i = 0; i < shape.ndim; i++)
        count *= (double)shape.dims[i];
    return count;
}

/* The entries of part i of `count`, of an axis from first to last. */
static void part_of(double first, double last, int64_t i, int64_t count, int64_t size,
                    int64_t *begin, int64_t *end)
{
    const double part = fmax(last - first + 1, 1) / (double)count;
    const double low = first + floor((double)i * part);
    const double high = first + ceil((double)(i + 1) * part);
    *begin = (int64_t)fmin(fmax(low, 0), (double)size);
    *end = (int64_t)fmin(fmax(high, 0), (double)size);
}

static double largest(const hk_task_view *x, int64_t plane, const int64_t *begin,
                      const int64_t *end)
{
    const int64_t width = x->shape.dims[3];
    double most = -INFINITY;
    if (end[0] <= begin[0] || end[1] <= begin[1])
        return 0;
    for (int64_t i = begin[0]; i < end[0]; i++)
        for (int64_t j = begin[1]; j < end[1]; j++) {
            const double value = element(x, plane + i * width + j);
            most = value > most || isnan(value) ? value : most;
        }
    return most;
}

static void max_pool(hk_task_call *call)
{
    const pool *self = hk_task_args(call);
    const hk_task_view x = hk_task_view_of(call, 0), rois = hk_task_view_of(call, 1);
    const hk_task_view y = hk_task_view_of(call, 2);
    const int64_t channels = x.shape.dims[1], parts = self->rows * self->columns;
    const int64_t height = x.shape.dims[2], width = x.shape.dims[3];
    for (int64_t r = hk_task_begin(call); r < hk_task_end(call); r++) {
        double side[4];
        const double batch = element(&rois, 5 * r);
        bool is_fine = batch >= 0 && batch < (double)x.shape.dims[0];
        for (int i = 0; i < 4; i++) {
            side[i] = round(element(&rois, 5 * r + 1 + i) * self->scale);
            is_fine = is_fine && fabs(side[i]) <= INT32_MAX;
        }
        if (!is_fine) {
            hk_task_refuse(
                call, "rois[%" PRId64 "] is of image %g of %" PRId64 ", from (%g, %g) to (%g, %g)",
                r, batch, x.shape.dims[0], side[0], side[1], side[2], side[3]);
            return;
        }
        for (int64_t i = 0; i < channels * parts; i++) {
            int64_t begin[2], end[2];
            const int64_t part = i % parts, plane = (int64_t)batch * channels + i / parts;
            part_of(side[1], side[3], part / self->columns, self->rows, height, begin, end);
            part_of(side[0], side[2], part % self->columns, self->columns, width, begin + 1,
                    end + 1);
            put(&y, r * channels * parts + i, largest(&x, plane * height * width, begin, end));
        }
    }
}

static const hk_kernel max_pool_kernel = {
    .name = "max_roi_pool", .cpu = max_pool, .extent = count_regions, .cost_ns = pool_cost};

bool onnx_run_max_roi_pool(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *rois = onnx_in(call, 1);
    int64_t sizes[2];
    if (!images_fit(call, x, rois, 5))
        return false;
    const int count = onnx_ints(call, "pooled_shape", sizes, 2);
    if (count != 2)
        return count == -2
                   ? false
                   : onnx_refuse(call, HK_INVALID_ARGUMENT, "pooled_shape must have 2 values");
    if (!size_fits(call, sizes[0], sizes[1]))
        return false;
    const pool self = {
        .scale = onnx_float(call, "spatial_scale", 1), .rows = sizes[0], .columns = sizes[1]};
    hk_array *wide = hk_contiguous(onnx_wide(x));
    const hk_dtype dtype = hk_array_dtype(wide);
    rois = hk_contiguous(onnx_to(rois, dtype));
    hk_array *y = hk_run_new(
        &max_pool_kernel, hk_shape(hk_dim(rois, 0), hk_dim(x, 1), self.rows, self.columns), dtype,
        HK_ACCESS(hk_reads(wide), hk_reads(rois)), &self, sizeof self, NULL);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* ---- NonMaxSuppression ----------------------------------------------------------------------- */

/* A number that may be left out or empty; false after refusing. */
static bool read_limit(onnx_call *call, int index, double *value, bool *is_there)
{
    const int count = onnx_has(call, index) ? onnx_in_floats(call, index, value, 1) : 0;
    *is_there = count > 0;
    return count >= 0;
}

bool onnx_run_non_max_suppression(onnx_call *call)
{
    hk_array *boxes = onnx_in(call, 0), *scores = onnx_in(call, 1);
    double most = 0, overlap = 0, least = 0;
    bool is_there, has_least;
    if (!onnx_needs_floats(call, boxes, "boxes", 3) ||
        !onnx_needs_floats(call, scores, "scores", 3) || !read_limit(call, 2, &most, &is_there) ||
        !read_limit(call, 3, &overlap, &is_there) || !read_limit(call, 4, &least, &has_least))
        return false;
    if (most < 1) /* none are kept */
        return onnx_out(call, 0, hk_zeros(hk_shape(0, 3), HK_I64, hk_array_device(boxes)));
    const hk_non_max_suppression_options options = {
        .most = (int64_t)fmin(most, INT32_MAX),
        .least_score = has_least && least == 0 ? HK_ZERO : least,
        .is_centered = onnx_int(call, "center_point_box", 0) != 0};
    return onnx_out(call, 0, hk_non_max_suppression(boxes, scores, overlap, &options));
}
