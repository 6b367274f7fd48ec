/* Regions of images: what is in them, by kernels of the plug-in's own, and which of them to
 * keep. */
#include "compute.h"
#include "image.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- common ---------------------------------------------------------------------------------- */

typedef struct pool {
    double scale, offset;   /* from regions to elements of x */
    int64_t samples;        /* of an axis of a part; 0: as many as elements */
    int64_t rows, columns;  /* parts of a region */
    bool is_max, is_region; /* sides are at least 1 */
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

/* ---- RoiAlign -------------------------------------------------------------------------------- */

/* The four elements around a place, and their shares. */
typedef struct around {
    int64_t at[4];
    double weight[4];
} around;

static void side_of(double place, int64_t size, int64_t *low, int64_t *high, double *share)
{
    place = place < 0 ? 0 : place;
    *low = (int64_t)place;
    if (*low >= size - 1) {
        *low = *high = size - 1;
        *share = 0;
    } else {
        *high = *low + 1;
        *share = place - (double)*low;
    }
}

static around around_of(double y, double x, int64_t height, int64_t width)
{
    around self = {{0}, {0}};
    int64_t top, bottom, left, right;
    double down, along;
    if (!(y >= -1 && y <= (double)height && x >= -1 && x <= (double)width))
        return self;
    side_of(y, height, &top, &bottom, &down);
    side_of(x, width, &left, &right, &along);
    self.at[0] = top * width + left, self.weight[0] = (1 - down) * (1 - along);
    self.at[1] = top * width + right, self.weight[1] = (1 - down) * along;
    self.at[2] = bottom * width + left, self.weight[2] = down * (1 - along);
    self.at[3] = bottom * width + right, self.weight[3] = down * along;
    return self;
}

/* Where a region begins, how large a part of it is, and how many places are looked at in a part. */
typedef struct region {
    double start[2], part[2];
    int64_t places[2], batch;
} region;

static bool region_of(hk_task_call *call, const pool *self, int64_t r, region *it)
{
    const hk_task_view x = hk_task_view_of(call, 0), rois = hk_task_view_of(call, 1);
    const hk_task_view batches = hk_task_view_of(call, 2);
    it->batch = ((const int64_t *)batches.data)[r];
    if (it->batch < 0 || it->batch >= x.shape.dims[0]) {
        hk_task_refuse(call, "batch_indices[%" PRId64 "] is %" PRId64 ", of %" PRId64 " images", r,
                       it->batch, x.shape.dims[0]);
        return false;
    }
    for (int axis = 0; axis < 2; axis++) { /* rows, then columns; a region has columns first */
        const double begin = element(&rois, 4 * r + 1 - axis) * self->scale - self->offset;
        const double end = element(&rois, 4 * r + 3 - axis) * self->scale - self->offset;
        const double size = self->is_region && !(end - begin >= 1) ? 1 : end - begin;
        it->start[axis] = begin;
        it->part[axis] = size / (double)(axis ? self->columns : self->rows);
        const double places = self->samples ? (double)self->samples : ceil(it->part[axis]);
        if (!(places <= 1024) || !isfinite(begin)) {
            hk_task_refuse(call, "rois[%" PRId64 "] is from %g to %g, which is too large", r, begin,
                           end);
            return false;
        }
        it->places[axis] = places < 0 ? 0 : (int64_t)places;
    }
    return true;
}

/* What a part has at some places, of one channel: their sum, or the largest share of an element. */
static double gather(const pool *self, const hk_task_view *x, int64_t plane, const around *places,
                     int64_t count, double before)
{
    double sum = before;
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < 4; j++) {
            const double weight = places[i].weight[j];
            const double share = weight != 0 ? weight * element(x, plane + places[i].at[j]) : 0;
            if (!self->is_max)
                sum += share;
            else
                sum = share > sum || isnan(share) ? share : sum;
        }
    return sum;
}

enum { PLACES = 64 };

/* A part of a region, all channels: some places at a time. */
static void align_part(const pool *self, const hk_task_view *x, const hk_task_view *y,
                       const region *it, int64_t r, int64_t part)
{
    const int64_t channels = x->shape.dims[1], parts = self->rows * self->columns;
    const int64_t height = x->shape.dims[2], width = x->shape.dims[3];
    const int64_t to = r * channels * parts + part, count = it->places[0] * it->places[1];
    const double top = it->start[0] + (double)(part / self->columns) * it->part[0];
    const double left = it->start[1] + (double)(part % self->columns) * it->part[1];
    const double start = self->is_max && count > 0 ? -INFINITY : 0;
    around places[PLACES];
    for (int64_t first = 0; first < count || first == 0; first += PLACES) {
        const int64_t some = count - first < PLACES ? count - first : PLACES;
        for (int64_t i = 0; i < some; i++) {
            const double row = (double)((first + i) / it->places[1]) + .5;
            const double column = (double)((first + i) % it->places[1]) + .5;
            places[i] =
                around_of(top + row * it->part[0] / (double)it->places[0],
                          left + column * it->part[1] / (double)it->places[1], height, width);
        }
        const bool is_last = first + PLACES >= count;
        const double by = is_last && !self->is_max && count > 1 ? (double)count : 1;
        for (int64_t c = 0; c < channels; c++) {
            const int64_t plane = (it->batch * channels + c) * height * width;
            const double before = first ? element(y, to + c * parts) : start;
            put(y, to + c * parts, gather(self, x, plane, places, some, before) / by);
        }
    }
}

static void align(hk_task_call *call)
{
    const pool *self = hk_task_args(call);
    const hk_task_view x = hk_task_view_of(call, 0), y = hk_task_view_of(call, 3);
    region it;
    for (int64_t r = hk_task_begin(call); r < hk_task_end(call); r++) {
        if (!region_of(call, self, r, &it))
            return;
        for (int64_t part = 0; part < self->rows * self->columns; part++)
            align_part(self, &x, &y, &it, r, part);
    }
}

static const hk_kernel align_kernel = {
    .name = "roi_align", .cpu = align, .extent = count_regions, .cost_ns = pool_cost};

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
    const pool self = {.scale = onnx_float(call, "spatial_scale", 1),
                       .offset = halves ? .5 : 0,
                       .samples = onnx_int(call, "sampling_ratio", 0),
                       .rows = onnx_int(call, "output_height", 1),
                       .columns = onnx_int(call, "output_width", 1),
                       .is_max = onnx_text_is(call, "mode", "max", "avg"),
                       .is_region = !halves};
    if (!size_fits(call, self.rows, self.columns))
        return false;
    if (self.samples < 0 || self.samples > 1024)
        return onnx_refuse(call, HK_OUT_OF_RANGE,
                           "sampling_ratio is %" PRId64 ", but must be from 0 to 1024",
                           self.samples);
    if (!self.is_max && !onnx_text_is(call, "mode", "avg", "avg"))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "mode must be avg or max");
    hk_array *wide = hk_contiguous(onnx_wide(x));
    const hk_dtype dtype = hk_array_dtype(wide);
    rois = hk_contiguous(onnx_to(rois, dtype));
    batches = hk_contiguous(onnx_to(batches, HK_I64));
    hk_array *y = hk_run_new(
        &align_kernel, hk_shape(hk_dim(rois, 0), hk_dim(x, 1), self.rows, self.columns), dtype,
        HK_ACCESS(hk_reads(wide), hk_reads(rois), hk_reads(batches)), &self, sizeof self, NULL);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* ---- MaxRoiPool ------------------------------------------------------------------------------ */

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

/* How many there are depends on values: they are looked at here, and the result is what has been
 * found. */
typedef struct suppression {
    int64_t batches, classes, count; /* boxes */
    double *boxes, *scores;
    int64_t most;
    double overlap, least;
    bool has_least, by_center;
    int64_t *found, found_count; /* (batch, class, box) */
} suppression;

typedef struct box {
    double low[2], high[2];
} box;

static box box_of(const suppression *self, int64_t batch, int64_t i)
{
    const double *numbers = self->boxes + (batch * self->count + i) * 4;
    box it;
    for (int axis = 0; axis < 2; axis++) {
        const double a = numbers[axis], b = numbers[axis + 2];
        it.low[axis] = self->by_center ? a - b / 2 : fmin(a, b);
        it.high[axis] = self->by_center ? a + b / 2 : fmax(a, b);
    }
    return it;
}

static double area_of(const box *it)
{
    return (it->high[0] - it->low[0]) * (it->high[1] - it->low[1]);
}

static bool overlap(const suppression *self, const box *a, const box *b)
{
    box both;
    for (int axis = 0; axis < 2; axis++) {
        both.low[axis] = fmax(a->low[axis], b->low[axis]);
        both.high[axis] = fmin(a->high[axis], b->high[axis]);
        if (both.high[axis] <= both.low[axis])
            return false;
    }
    const double common = area_of(&both), all = area_of(a) + area_of(b) - common;
    return area_of(a) > 0 && area_of(b) > 0 && all > 0 && common / all > self->overlap;
}

typedef struct candidate {
    double score;
    int64_t box;
} candidate;

/* The highest score first, of equal ones the first box; a NaN last. */
static int by_score(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    const double x = isnan(a->score) ? -INFINITY : a->score;
    const double y = isnan(b->score) ? -INFINITY : b->score;
    return x != y ? (x > y ? -1 : 1) : (a->box > b->box) - (a->box < b->box);
}

/* The boxes of one class of one image that are kept. */
static void keep_boxes(suppression *self, int64_t batch, int64_t class, candidate *sorted)
{
    const double *scores = self->scores + (batch * self->classes + class) * self->count;
    const int64_t first = self->found_count;
    int64_t count = 0;
    for (int64_t i = 0; i < self->count; i++)
        if (!self->has_least || scores[i] > self->least)
            sorted[count++] = (candidate){scores[i], i};
    qsort(sorted, (size_t)count, sizeof *sorted, by_score);
    for (int64_t i = 0; i < count && self->found_count - first < self->most; i++) {
        const box it = box_of(self, batch, sorted[i].box);
        bool is_free = true;
        for (int64_t j = first; j < self->found_count && is_free; j++) {
            const box kept = box_of(self, batch, self->found[3 * j + 2]);
            is_free = !overlap(self, &it, &kept);
        }
        if (!is_free)
            continue;
        int64_t *row = self->found + 3 * self->found_count++;
        row[0] = batch, row[1] = class, row[2] = sorted[i].box;
    }
}

/* A number that may be left out or empty; false after refusing. */
static bool read_limit(onnx_call *call, int index, double *value, bool *is_there)
{
    const int count = onnx_has(call, index) ? onnx_in_floats(call, index, value, 1) : 0;
    *is_there = count > 0;
    return count >= 0;
}

static bool read_suppression(onnx_call *call, suppression *self)
{
    hk_array *boxes = onnx_in(call, 0), *scores = onnx_in(call, 1);
    double most = 0;
    bool is_there;
    if (!onnx_needs_floats(call, boxes, "boxes", 3) ||
        !onnx_needs_floats(call, scores, "scores", 3))
        return false;
    const hk_dims of_boxes = hk_dims_get(boxes), of_scores = hk_dims_get(scores);
    self->batches = of_boxes.dims[0];
    self->count = of_boxes.dims[1];
    self->classes = of_scores.dims[1];
    if (of_boxes.ndim != 3 || of_scores.ndim != 3 || of_boxes.dims[2] != 4 ||
        of_scores.dims[0] != self->batches || of_scores.dims[2] != self->count)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "boxes must be (n, count, 4) and scores (n, classes, count)");
    if (hk_size(boxes) > INT32_MAX || hk_size(scores) > INT32_MAX)
        return onnx_refuse(call, HK_UNSUPPORTED, "more than %d numbers", INT32_MAX);
    self->by_center = onnx_int(call, "center_point_box", 0) != 0;
    if (!read_limit(call, 2, &most, &is_there) || !read_limit(call, 3, &self->overlap, &is_there) ||
        !read_limit(call, 4, &self->least, &self->has_least))
        return false;
    self->most = most > 0 ? (int64_t)fmin(most, (double)self->count) : 0;
    self->boxes = malloc((size_t)hk_size(boxes) * sizeof(double) + 1);
    self->scores = malloc((size_t)hk_size(scores) * sizeof(double) + 1);
    self->found =
        malloc((size_t)(self->batches * self->classes * self->most) * 3 * sizeof(int64_t) + 1);
    if (!self->boxes || !self->scores || !self->found)
        return onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
    return onnx_in_floats(call, 0, self->boxes, INT32_MAX) >= 0 &&
           onnx_in_floats(call, 1, self->scores, INT32_MAX) >= 0;
}

bool onnx_run_non_max_suppression(onnx_call *call)
{
    suppression self = {0};
    candidate *sorted = NULL;
    bool is_good = read_suppression(call, &self);
    if (is_good) {
        sorted = malloc((size_t)self.count * sizeof *sorted + 1);
        is_good = sorted || onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
    }
    for (int64_t i = 0; is_good && i < self.batches * self.classes; i++)
        keep_boxes(&self, i / self.classes, i % self.classes, sorted);
    hk_array *held =
        is_good ? onnx_held(call, self.found, hk_shape(self.found_count, 3), HK_I64) : NULL;
    is_good = held && onnx_out(call, 0, held);
    free(sorted);
    free(self.found);
    free(self.scores);
    free(self.boxes);
    return is_good;
}
