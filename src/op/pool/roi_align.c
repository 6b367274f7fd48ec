/* Regions of images as images of one size: what lies at a grid of places in each part of a region, their mean or the largest. How
 * many places there are may follow from the regions' sizes, so that it is one kernel. */
#include "array/integer_element.h"
#include "base/option.h"
#include "op/op.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROI_ALIGN_OPTIONS(F, op)                                                                   \
    F(op, INT2, size, "{1, 1}", "rows and columns of the result")                                  \
    F(op, F64, scale, "1", "from the numbers of regions to elements of x")                         \
    F(op, INT, samples, "0", "places along each side of a part; 0: as many as elements")           \
    F(op, BOOL, aligned, "false",                                                                  \
      "an element's middle is at half a number; else it is at a whole one, and sides are 1 at "    \
      "least")                                                                                     \
    F(op, BOOL, largest, "false", "the largest share of an element, not the mean of places")
#define ROI_ALIGN_BACKWARD_ARGUMENTS(F, op)                                                        \
    ROI_ALIGN_OPTIONS(F, op)                                                                       \
    F(op, DIMS, shape, "", "that of x")
HKI_OPTIONS(roi_align, ROI_ALIGN_OPTIONS)
HKI_ARGUMENTS(roi_align_backward, ROI_ALIGN_BACKWARD_ARGUMENTS)

enum { X, ROIS, BATCH, MOST_SAMPLES = 1024 };

/* ---- shapes -------------------------------------------------------------------------------------------- */

static double scale_of(const hki_roi_align_options *o)
{
    return hki_option_or(o->scale, 1);
}

static int64_t parts_along(const hki_roi_align_options *o, int axis)
{
    return o->size[axis] ? o->size[axis] : 1;
}

static bool check_regions(hki_call *call)
{
    const hki_shape_view *x = call->inputs[X], *rois = call->inputs[ROIS];
    const hki_shape_view *batch = call->inputs[BATCH];
    char has[256], of_rois[256], of_batch[256];
    hki_shape_view_describe(x, has, sizeof has);
    hki_shape_view_describe(rois, of_rois, sizeof of_rois);
    hki_shape_view_describe(batch, of_batch, sizeof of_batch);
    if (x->shape.ndim != 4)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s, but needs 4 axes: samples, channels, height, width", has);
    if (rois->shape.ndim != 2 || rois->shape.dims[1] != 4 || rois->dtype != x->dtype)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "rois is %s, but must be %s(regions, 4): left, top, right, bottom",
                               of_rois, hk_dtype_name(x->dtype));
    if (batch->shape.ndim != 1 || batch->shape.dims[0] != rois->shape.dims[0] ||
        !hki_dtype_is_integer(batch->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "batch is %s, but must be of integers and (%" PRId64
                               ",): of which sample each region of rois %s is",
                               of_batch, rois->shape.dims[0], of_rois);
    return (x->shape.dims[2] > 0 && x->shape.dims[3] > 0) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "x is %s, but must have a row and a column",
                           has);
}

static bool infer(hki_call *call)
{
    const hki_roi_align_options *o = call->options;
    if (!check_regions(call))
        return false;
    for (int i = 0; i < 2; i++)
        if (parts_along(o, i) < 1 || parts_along(o, i) > INT32_MAX)
            return hki_call_refuse(call, HK_OUT_OF_RANGE,
                                   "size[%d] is %" PRId64 ", but must be from 1 to %d", i,
                                   o->size[i], INT32_MAX);
    if (o->samples < 0 || o->samples > MOST_SAMPLES)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "samples is %" PRId64 ", but must be from 1 to %d, or 0: by size",
                               o->samples, MOST_SAMPLES);
    if (!isfinite(scale_of(o)))
        return hki_call_refuse(call, HK_OUT_OF_RANGE, "scale is %g, but must be finite",
                               scale_of(o));
    call->out_shape[0] =
        (hk_dims){.ndim = 4,
                  .dims = {call->inputs[ROIS]->shape.dims[0], call->inputs[X]->shape.dims[1],
                           parts_along(o, 0), parts_along(o, 1)}};
    call->out_dtype[0] = call->inputs[X]->dtype;
    return true;
}

static bool backward_infer(hki_call *call)
{
    call->out_shape[0] = ((const hki_roi_align_backward_options *)call->options)->shape;
    call->out_dtype[0] = call->inputs[X]->dtype;
    return true;
}

static double places_ns(const hki_call *call, const hk_dims *y)
{
    const int64_t samples = ((const hki_roi_align_options *)call->options)->samples;
    return (double)(y->dims[0] * y->dims[1]) * (double)(y->dims[2] * y->dims[3]) * 5 *
           (samples ? (double)(samples * samples) : 4);
}

static void plan(const hki_call *call, hki_plan *plan)
{
    plan->work_ns = 100 + places_ns(call, &call->out_shape[0]);
}

/* By planes of x, each of which gathers from all regions of its sample. */
static void backward_plan(const hki_call *call, hki_plan *plan)
{
    const int64_t *x = call->out_shape[0].dims;
    plan->extent = x[0] * x[1];
    plan->grain = 8;
    plan->work_ns = 100 + places_ns(call, &call->inputs[0]->shape) +
                    (double)plan->extent * (double)(x[2] * x[3]) * 0.25;
}

/* ---- places ------------------------------------------------------------------------------------------- */

/* Where a region begins, how large a part of it is, and how many places there are in a part: rows, then columns. */
typedef struct region {
    double start[2], part[2];
    int64_t places[2], sample;
} region;

/* With what is wrong, or NULL; numbers: left, top, right, bottom. */
static const char *region_read(const hki_roi_align_options *o, const double *numbers, region *self)
{
    for (int axis = 0; axis < 2; axis++) {
        const double less = o->aligned ? 0.5 : 0;
        const double begin = numbers[1 - axis] * scale_of(o) - less;
        const double end = numbers[3 - axis] * scale_of(o) - less;
        const double size = o->aligned ? end - begin : fmax(end - begin, 1);
        self->start[axis] = begin;
        self->part[axis] = size / (double)parts_along(o, axis);
        const double places = o->samples ? (double)o->samples : ceil(self->part[axis]);
        if (!isfinite(begin) || !isfinite(end))
            return "is not finite";
        if (places > MOST_SAMPLES)
            return "is too large for a number of places by size";
        self->places[axis] = places < 0 ? 0 : (int64_t)places;
    }
    return NULL;
}

/* The four elements around a place, and their shares; none outside of the image. */
typedef struct around {
    int64_t at[4];
    double share[4];
} around;

static double between(double place, int64_t size, int64_t at[2])
{
    place = place < 0 ? 0 : place;
    at[0] = (int64_t)place;
    at[1] = at[0] + 1;
    if (at[0] < size - 1)
        return place - (double)at[0];
    at[0] = at[1] = size - 1;
    return 0;
}

static around around_of(double row, double column, int64_t height, int64_t width)
{
    around self = {{0}, {0}};
    int64_t rows[2], columns[2];
    if (!(row >= -1 && row <= (double)height && column >= -1 && column <= (double)width))
        return self;
    const double down = between(row, height, rows), along = between(column, width, columns);
    for (int i = 0; i < 4; i++) {
        self.at[i] = rows[i / 2] * width + columns[i % 2];
        self.share[i] = (i / 2 ? down : 1 - down) * (i % 2 ? along : 1 - along);
    }
    return self;
}

/* Place i of a part of a region. */
static around place_of(const region *self, int64_t part, int64_t columns, int64_t i,
                       const int64_t *image)
{
    const double row = (double)(i / self->places[1]) + 0.5;
    const double column = (double)(i % self->places[1]) + 0.5;
    return around_of(
        self->start[0] + ((double)(part / columns) + row / (double)self->places[0]) * self->part[0],
        self->start[1] +
            ((double)(part % columns) + column / (double)self->places[1]) * self->part[1],
        image[0], image[1]);
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

/* What all pieces of a call have in common; x: the shape of the images. */
typedef struct work {
    const hki_kernel_call *call;
    const hki_roi_align_options *o;
    const int64_t *x;
    int64_t columns, parts;
} work;

static work work_of(const hki_kernel_call *call, const int64_t *x)
{
    const hki_roi_align_options *o = call->options;
    const int64_t columns = parts_along(o, 1);
    return (work){call, o, x, columns, parts_along(o, 0) * columns};
}

/* False: it cannot be read, which fails the task. */
static bool region_of(const work *self, int64_t piece, int64_t r, region *it)
{
    const hki_kernel_call *call = self->call;
    const hki_tensor *rois = &call->in[ROIS], *batch = &call->in[BATCH];
    double numbers[4];
    for (int i = 0; i < 4; i++)
        numbers[i] = rois->dtype == HK_F64 ? ((const double *)rois->data)[4 * r + i]
                                           : (double)((const float *)rois->data)[4 * r + i];
    const char *wrong = region_read(self->o, numbers, it);
    it->sample = hki_index_load(batch->dtype, batch->data, r);
    if (it->sample < 0 || it->sample >= self->x[0]) {
        hki_task_fail(call->task, piece, HK_OUT_OF_RANGE,
                      "batch[%" PRId64 "] is %" PRId64 ", but x has %" PRId64 " samples", r,
                      it->sample, self->x[0]);
        return false;
    }
    if (wrong)
        hki_task_fail(call->task, piece, HK_BAD_DATA, "rois[%" PRId64 "], (%g, %g, %g, %g), %s", r,
                      numbers[0], numbers[1], numbers[2], numbers[3], wrong);
    return !wrong;
}

/* So many places at a time, for all channels. */
enum { PLACES = 64 };

static int64_t next_places(const work *self, const region *it, int64_t part, int64_t first,
                           around *places)
{
    int64_t count = it->places[0] * it->places[1] - first;
    count = count < PLACES ? count : PLACES;
    for (int64_t i = 0; i < count; i++)
        places[i] = place_of(it, part, self->columns, first + i, self->x + 2);
    return count;
}

#define KERNELS(name, T)                                                                           \
    static double gather_##name(const T *plane, const around *places, int64_t count, bool largest, \
                                double sum)                                                        \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            for (int j = 0; j < 4; j++) {                                                          \
                const double share = places[i].share[j];                                           \
                const double value = share != 0 ? share * (double)plane[places[i].at[j]] : 0;      \
                if (!largest)                                                                      \
                    sum += value;                                                                  \
                else if (value > sum || isnan(value))                                              \
                    sum = value;                                                                   \
            }                                                                                      \
        return sum;                                                                                \
    }                                                                                              \
    static void align_##name(const work *self, const region *it, int64_t part, T *y)               \
    {                                                                                              \
        const int64_t channels = self->x[1], plane = self->x[2] * self->x[3];                      \
        const int64_t count = it->places[0] * it->places[1];                                       \
        const T *x = (const T *)self->call->in[X].data + it->sample * channels * plane;            \
        const double start = self->o->largest && count > 0 ? -INFINITY : 0;                        \
        around places[PLACES];                                                                     \
        const int64_t some = next_places(self, it, part, 0, places);                               \
        for (int64_t c = 0; c < channels; c++) {                                                   \
            double sum = gather_##name(x + c * plane, places, some, self->o->largest, start);      \
            around more[PLACES];                                                                   \
            for (int64_t first = some; first < count; first += PLACES)                             \
                sum = gather_##name(x + c * plane, more, next_places(self, it, part, first, more), \
                                    self->o->largest, sum);                                        \
            y[c * self->parts + part] =                                                            \
                (T)(self->o->largest || count == 0 ? sum : sum / (double)count);                   \
        }                                                                                          \
    }                                                                                              \
    /* Channels [begin, end) of the region's sample. */                                            \
    static void spread_##name(const work *self, const region *it, int64_t part, const T *dy,       \
                              int64_t begin, int64_t end)                                          \
    {                                                                                              \
        const int64_t channels = self->x[1], plane = self->x[2] * self->x[3];                      \
        const int64_t count = it->places[0] * it->places[1];                                       \
        T *dx = (T *)self->call->out[0].data + it->sample * channels * plane;                      \
        around places[PLACES];                                                                     \
        for (int64_t first = 0; first < count; first += PLACES) {                                  \
            const int64_t some = next_places(self, it, part, first, places);                       \
            for (int64_t c = begin; c < end; c++) {                                                \
                const double each = (double)dy[c * self->parts + part] / (double)count;            \
                for (int64_t i = 0; i < 4 * some; i++)                                             \
                    dx[c * plane + places[i / 4].at[i % 4]] +=                                     \
                        (T)(places[i / 4].share[i % 4] * each);                                    \
            }                                                                                      \
        }                                                                                          \
    }

KERNELS(f32, float)
KERNELS(f64, double)

static void forward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const work self = work_of(call, call->in[X].dims);
    const int64_t size = self.x[1] * self.parts;
    region it;
    for (int64_t r = begin; r < end && region_of(&self, piece, r, &it); r++)
        for (int64_t part = 0; part < self.parts; part++)
            if (call->out[0].dtype == HK_F32)
                align_f32(&self, &it, part, (float *)call->out[0].data + r * size);
            else
                align_f64(&self, &it, part, (double *)call->out[0].data + r * size);
}

static void backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const work self = work_of(call, call->out[0].dims);
    const int64_t channels = self.x[1], size = channels * self.parts;
    const size_t plane = (size_t)(self.x[2] * self.x[3]) * hki_dtype_bytes(call->out[0].dtype);
    region it;
    memset((char *)call->out[0].data + (size_t)begin * plane, 0, (size_t)(end - begin) * plane);
    for (int64_t r = 0; r < call->in[ROIS].dims[0] && region_of(&self, piece, r, &it); r++) {
        const int64_t first = begin - it.sample * channels, last = end - it.sample * channels;
        const int64_t from = first > 0 ? first : 0, to = last < channels ? last : channels;
        for (int64_t part = 0; part < self.parts && from < to; part++)
            if (call->out[0].dtype == HK_F32)
                spread_f32(&self, &it, part, (const float *)call->in[X].data + r * size, from, to);
            else
                spread_f64(&self, &it, part, (const double *)call->in[X].data + r * size, from, to);
    }
}

/* ---- gradients ------------------------------------------------------------------------------------------ */

static void grad(hki_grad_call *call)
{
    const hki_roi_align_options *o = call->options;
    if (o->largest) {
        call->dx[X] = hki_array_create_failed(call->dy->storage->device, call->op->name, &call->dy,
                                              1, HK_UNSUPPORTED,
                                              "the largest share of an element has no gradient");
        return;
    }
    hki_roi_align_backward_options backward = {.shape = call->input_shape[X]};
    memcpy(&backward, o, sizeof *o);
    call->dx[X] = hki_op_call3(&hki_op_roi_align_backward, call->dy, call->inputs[ROIS],
                               call->inputs[BATCH], &backward);
}

static void backward_grad(hki_grad_call *call)
{
    hki_roi_align_options forward;
    memcpy(&forward, call->options, sizeof forward);
    call->dx[X] = hki_op_call3(&hki_op_roi_align, call->dy, call->inputs[ROIS], call->inputs[BATCH],
                               &forward);
}

/* ---- plainly -------------------------------------------------------------------------------------------- */

/* Calls of walk for every element that a place of a part has a share of: y: the part's index in a plane of the result. */
typedef void (*walk_fn)(void *context, const region *it, int64_t r, int64_t part, int64_t element,
                        double share);

static void walk(const hki_call *call, const double *const *in, const int64_t *x, walk_fn each,
                 void *context)
{
    const hki_roi_align_options *o = call->options;
    const int64_t rows = parts_along(o, 0), columns = parts_along(o, 1);
    region it;
    for (int64_t r = 0; r < call->inputs[ROIS]->shape.dims[0]; r++) {
        if (region_read(o, in[ROIS] + 4 * r, &it))
            continue;
        it.sample = (int64_t)in[BATCH][r];
        for (int64_t i = 0; i < rows * columns * it.places[0] * it.places[1]; i++) {
            const int64_t count = it.places[0] * it.places[1], part = i / count;
            const double down = (double)(part / columns * it.places[0] + i % count / it.places[1]);
            const double along = (double)(part % columns * it.places[1] + i % count % it.places[1]);
            double row = it.start[0] + (down + 0.5) * it.part[0] / (double)it.places[0];
            double column = it.start[1] + (along + 0.5) * it.part[1] / (double)it.places[1];
            if (row < -1 || row > (double)x[2] || column < -1 || column > (double)x[3])
                continue;
            row = fmin(fmax(row, 0), (double)(x[2] - 1));
            column = fmin(fmax(column, 0), (double)(x[3] - 1));
            for (int64_t at = 0; at < x[2] * x[3]; at++) {
                const double share = fmax(1 - fabs((double)(at / x[3]) - row), 0) *
                                     fmax(1 - fabs((double)(at % x[3]) - column), 0);
                each(context, &it, r, part, at, share);
            }
        }
    }
}

typedef struct plain {
    const hki_roi_align_options *o;
    const double *from;
    double *to;
    const int64_t *x;
    int64_t parts;
} plain;

static void add_to_y(void *context, const region *it, int64_t r, int64_t part, int64_t element,
                     double share)
{
    const plain *self = context;
    for (int64_t c = 0; c < self->x[1]; c++) {
        const double value =
            share * self->from[(it->sample * self->x[1] + c) * self->x[2] * self->x[3] + element];
        double *y = &self->to[(r * self->x[1] + c) * self->parts + part];
        if (!self->o->largest)
            *y += value / (double)(it->places[0] * it->places[1]);
        else if (share > 0 && value > *y)
            *y = value;
    }
}

static void add_to_x(void *context, const region *it, int64_t r, int64_t part, int64_t element,
                     double share)
{
    const plain *self = context;
    for (int64_t c = 0; c < self->x[1]; c++)
        self->to[(it->sample * self->x[1] + c) * self->x[2] * self->x[3] + element] +=
            share / (double)(it->places[0] * it->places[1]) *
            self->from[(r * self->x[1] + c) * self->parts + part];
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const bool is_backward = call->op == &hki_op_roi_align_backward;
    const hk_dims *x = is_backward ? &call->out_shape[0] : &call->inputs[X]->shape;
    const hki_roi_align_options *o = call->options;
    plain self = {o, in[X], out[0], x->dims, parts_along(o, 0) * parts_along(o, 1)};
    int64_t size = 0;
    hki_dims_size(&call->out_shape[0], &size);
    for (int64_t i = 0; i < size; i++)
        out[0][i] = o->largest ? -INFINITY : 0;
    walk(call, in, x->dims, is_backward ? add_to_x : add_to_y, &self);
}

#define REGIONS                                                                                    \
    .own = {[2] = {.set = true, .dtype = HK_I64, .low = 0, .high = 2}}, .low = -2, .high = 7
static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 6, 5), HKI_SHAPE(4, 4), HKI_SHAPE(4)},
     REGIONS,
     HKI_GIVEN(roi_align, .size = {2, 3}, .samples = 2)},
    {.inputs = {HKI_SHAPE(2, 2, 6, 5), HKI_SHAPE(5, 4), HKI_SHAPE(5)},
     REGIONS,
     HKI_GIVEN(roi_align, .size = {2, 1}, .aligned = true, .samples = 1)},
    {.inputs = {HKI_SHAPE(2, 2, 6, 5), HKI_SHAPE(5, 4), HKI_SHAPE(5)},
     REGIONS,
     HKI_GIVEN(roi_align, .size = {1, 2}, .scale = 0.5)},
    {.inputs = {HKI_SHAPE(2, 9, 3, 4), HKI_SHAPE(3, 4), HKI_SHAPE(3)},
     REGIONS,
     HKI_GIVEN(roi_align, .samples = 9, .scale = 2)},
    {.inputs = {HKI_SHAPE(2, 1, 3, 4), HKI_SHAPE(0, 4), HKI_SHAPE(0)}, REGIONS},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 6, 5), HKI_SHAPE(4, 4), HKI_SHAPE(4)},
     REGIONS},
};
static const hki_sample backward_samples[] = {
    {.inputs = {HKI_SHAPE(4, 3, 2, 3), HKI_SHAPE(4, 4), HKI_SHAPE(4)},
     REGIONS,
     HKI_GIVEN(roi_align_backward, .size = {2, 3}, .samples = 2, .shape = HKI_SHAPE(2, 3, 6, 5))},
    {.inputs = {HKI_SHAPE(5, 9, 1, 1), HKI_SHAPE(5, 4), HKI_SHAPE(5)},
     REGIONS,
     HKI_GIVEN(roi_align_backward, .samples = 9, .scale = 2, .shape = HKI_SHAPE(2, 9, 3, 4))},
};

const hk_op hki_op_roi_align = {
    HKI_OP_NAMED(roi_align),
    HKI_OP_PARAMS(roi_align),
    HKI_OP_SAMPLES(samples),
    .signature = "x, rois, batch",
    .doc = "Regions of images x (n,channels,height,width) as images of one size: "
           "(regions,channels,size[0],size[1]). rois (regions,4), of x's dtype, has left, top, "
           "right and bottom of each, which scale multiplies, and batch (regions), of integers, "
           "of which sample it is: one that is not there fails the call as HK_OUT_OF_RANGE. A "
           "region is cut into parts, and a part is the mean of samples times samples places in "
           "it, between the four elements around each; what is more than an element outside is "
           "0. As ONNX's RoiAlign, and torchvision's roi_align. The mean's gradient flows to x "
           "alone, the largest share has none. Not on GPUs.",
    .formula = "y[r,c,i,j] = mean over places p in part (i,j) of rois[r] of x[batch[r],c] at p",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .host_only = true,
    .refuses = true,
    .infer = infer,
    .split = HKI_SPLIT_ROWS,
    .plan = plan,
    .kernel = {[HKI_CPU] = forward_cpu},
    .grad = grad,
    .grad_reads = {1u << ROIS | 1u << BATCH, 0, 0},
    .no_grad_inputs = 1u << ROIS | 1u << BATCH,
    .reference = reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_roi_align_backward = {
    HKI_OP_NAMED(roi_align_backward),
    HKI_OP_PARAMS(roi_align_backward),
    HKI_OP_SAMPLES(backward_samples),
    .signature = "dy, rois, batch",
    .doc = "Gradient of roi_align with respect to x, whose shape is `shape`.",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .host_only = true,
    .internal = true,
    .refuses = true,
    .infer = backward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = backward_plan,
    .kernel = {[HKI_CPU] = backward_cpu},
    .grad = backward_grad,
    .grad_reads = {1u << ROIS | 1u << BATCH, 0, 0},
    .no_grad_inputs = 1u << ROIS | 1u << BATCH,
    .reference = reference,
    .tolerance_f32 = 1e-5,
};
