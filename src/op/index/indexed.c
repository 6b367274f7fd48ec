/* take_along_axis, index_select, scatter and scatter_add: elements found by whole numbers along one axis. */
#include "array/integer_element.h"
#include "base/half.h"
#include "op/elementwise/elementwise.h"
#include "op/index/indexed_gather.h"
#include "op/index/indexed_walk.h"
#include "op/index/scatter_rows.h"
#include "op/reduce/line.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/reshape.h"

#include <inttypes.h>
#include <string.h>

#define ALONG_ARGUMENTS(F, op) F(op, INT, axis, "", "a negative one counts from the last")
HKI_ARGUMENTS(take_along_axis, ALONG_ARGUMENTS)
HKI_ARGUMENTS(scatter_add, ALONG_ARGUMENTS)
HKI_ARGUMENTS(scatter, ALONG_ARGUMENTS)
HKI_ARGUMENTS(index_select, ALONG_ARGUMENTS)

/* ---- what they share ----------------------------------------------------------------------------------- */

/* The options of all are alike. */
static int axis_of(const void *options, int ndim)
{
    return hki_axis_from_front(((const hki_index_select_options *)options)->axis, ndim);
}

static bool check_indices(hki_call *call)
{
    const hki_shape_view *indices = call->inputs[1];
    if (!hki_call_check_axis(call, ((const hki_index_select_options *)call->options)->axis))
        return false;
    if (!hki_dtype_is_integer(indices->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "indices is %s, but must be of integers; hk_cast converts",
                               hk_dtype_name(indices->dtype));
    return true;
}

/* indices has x's shape but for the axis. */
static bool check_along(hki_call *call)
{
    char has[256], wanted[256];
    if (!check_indices(call))
        return false;
    const hk_dims *indices = &call->inputs[1]->shape;
    hk_dims shape = call->inputs[0]->shape;
    int axis = axis_of(call->options, shape.ndim);
    if (indices->ndim == shape.ndim)
        shape.dims[axis] = indices->dims[axis];
    if (hki_dims_equal(indices, &shape))
        return true;
    hki_dims_describe(indices, has, sizeof has);
    hki_dims_describe(&call->inputs[0]->shape, wanted, sizeof wanted);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "indices is %s, but must have x's shape, %s, but for axis %d", has,
                           wanted, axis);
}

/* Most runs are one element: no call for those. */
static inline void copy_run(char *to, const char *from, size_t bytes)
{
    switch (bytes) {
    case 1:
        *to = *from;
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        memcpy(to, from, bytes);
    }
}

static int64_t reference_place(const hk_dims *shape, const hk_dims *indices, int axis, int64_t i,
                               double index)
{
    int64_t place = 0, stride = 1;
    for (int j = shape->ndim - 1; j >= 0; j--) {
        int64_t at =
            j == axis ? (int64_t)index + (index < 0 ? shape->dims[j] : 0) : i % indices->dims[j];
        place += at * stride;
        stride *= shape->dims[j];
        i /= indices->dims[j];
    }
    return place;
}

/* ---- take_along_axis ------------------------------------------------------------------------------------ */

static bool take_along_infer(hki_call *call)
{
    if (!check_along(call))
        return false;
    call->out_shape[0] = call->inputs[1]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

/* What it costs to walk over all indices; updates: the input of that number has what is moved, 0: it is dense. */
static double walk_ns(const hki_call *call, int updates)
{
    const hki_shape_view *x = call->inputs[0], *indices = call->inputs[1];
    int outer;
    const int64_t run = hki_indexed_run(
        indices->shape.ndim, indices->shape.dims, axis_of(call->options, x->shape.ndim),
        indices->strides, x->strides, updates ? call->inputs[updates]->strides : NULL, &outer);
    return (double)indices->size * (0.1 * (double)hk_dtype_bytes(x->dtype) + (run > 1   ? 0
                                                                              : updates ? 4
                                                                                        : 1.5)) +
           (run > 1 ? (double)indices->size / (double)run * 10 : 0);
}

static void take_along_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 1);
    plan->work_ns = walk_ns(call, 0);
}

static void take_along_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin,
                              int64_t end)
{
    const hki_tensor *x = &call->in[0], *out = &call->out[0];
    const int64_t bytes = (int64_t)hk_dtype_bytes(x->dtype);
    hki_indexed_walk walk;
    hki_indexed_walk_init(&walk, &call->in[1], x, NULL, axis_of(call->options, x->ndim), begin);
    int64_t skip = walk.run ? begin % walk.run : 0; /* of a run that begins in another piece */
    if (walk.run == 1) {
        hki_indexed_gather(call, piece, walk.axis, begin, end);
        return;
    }
    for (int64_t i = begin, count; i < end; i += count, skip = 0) {
        int64_t from;
        if (!hki_indexed_walk_find(&walk, call, piece, &from))
            return;
        count = walk.run - skip < end - i ? walk.run - skip : end - i;
        copy_run((char *)out->data + i * bytes, (const char *)x->data + (from + skip) * bytes,
                 (size_t)(count * bytes));
        hki_indexed_walk_step(&walk);
    }
}

static void take_along_grad(hki_grad_call *call)
{
    hki_zeros_options zeros = {.shape = call->input_shape[0], .dtype = call->input_dtype[0]};
    hk_device device = {call->dy->storage->device};
    hk_array *none = hki_op_call(&hki_op_zeros, NULL, 0, &zeros, device, NULL);
    call->dx[0] = hki_op_call3(&hki_op_scatter_add, none, call->inputs[1], call->dy, call->options);
}

static void take_along_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *shape = &call->inputs[0]->shape, *indices = &call->inputs[1]->shape;
    int axis = axis_of(call->options, shape->ndim);
    for (int64_t i = 0; i < call->inputs[1]->size; i++)
        out[0][i] = in[0][reference_place(shape, indices, axis, i, in[1][i])];
}

#define INDICES(low_index, high_index)                                                             \
    {                                                                                              \
        .set = true, .dtype = HK_I64, .low = low_index, .high = high_index                         \
    }
#define ALONG(op, value)                                                                           \
    .options = &(const hki_##op##_options)                                                         \
    {                                                                                              \
        .axis = value                                                                              \
    }
static const hki_sample take_along_axis_samples[] = {
    {.inputs = {HKI_SHAPE(5), HKI_SHAPE(8)},
     .own = {[1] = INDICES(-5, 5)},
     ALONG(take_along_axis, 0)},
    {.inputs = {HKI_SHAPE(4, 3), HKI_SHAPE(2, 3)},
     .own = {[1] = INDICES(-4, 4)},
     ALONG(take_along_axis, 0)},
    {.inputs = {HKI_SHAPE(4, 0), HKI_SHAPE(4, 0)},
     .own = {[1] = INDICES(0, 1)},
     ALONG(take_along_axis, -1)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 5, 4)},
     .own = {[1] = INDICES(-3, 3)},
     ALONG(take_along_axis, 1)},
};
const hk_op hki_op_take_along_axis = {
    HKI_OP_NAMED(take_along_axis),
    .refuses = true,
    HKI_OP_PARAMS(take_along_axis),
    HKI_OP_SAMPLES(take_along_axis_samples),
    .signature = "x, indices",
    .doc = "For each element of indices the entry of x that it names along the axis, at the same "
           "place along the others. indices has x's shape but for the axis. A negative index "
           "counts from the end; one out of range fails the result.",
    .is_part = true,
    .dtypes = HKI_ANY_DTYPE,
    .infer = take_along_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = take_along_plan,
    .kernel = {[HKI_CPU] = take_along_kernel},
    .grad = take_along_grad,
    .grad_reads = {2},
    .no_grad_inputs = 1u << 1,
    .reference = take_along_reference,
};

/* ---- scatter_add ------------------------------------------------------------------------------------------ */

static bool scatter_infer(hki_call *call)
{
    char has[256], wanted[256];
    if (!check_along(call))
        return false;
    const hki_shape_view *x = call->inputs[0], *indices = call->inputs[1],
                         *updates = call->inputs[2];
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = x->dtype;
    if (updates->dtype == x->dtype && hki_dims_equal(&updates->shape, &indices->shape))
        return true;
    hki_shape_view_describe(updates, has, sizeof has);
    hki_dims_describe(&indices->shape, wanted, sizeof wanted);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "updates is %s, but must be %s%s: x's dtype, the shape of indices", has,
                           hk_dtype_name(x->dtype), wanted);
}

/* x is copied, then changed. */
static void scatter_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.5);
    plan->work_ns += walk_ns(call, 2);
}

/* What is done with a run of updates, at its place in the result. */
typedef void run_fn(const hki_tensor *out, int64_t to, const hki_tensor *updates, int64_t from,
                    int64_t count);

/* In the order of indices, so that sums are the same on every run: one piece. to: of the result's shape. */
static inline void scatter_runs(const hki_kernel_call *call, int64_t piece, void *to_data,
                                run_fn *put)
{
    const hki_tensor *indices = &call->in[1], *updates = &call->in[2], *out = &call->out[0];
    hki_tensor target = *out;
    hki_indexed_walk walk;
    target.data = to_data;
    hki_indexed_walk_init(&walk, indices, out, updates, axis_of(call->options, out->ndim), 0);
    for (int64_t i = 0; i < indices->size; i += walk.run) {
        int64_t to;
        if (!hki_indexed_walk_find(&walk, call, piece, &to))
            return;
        put(&target, to, updates, walk.update, walk.run);
        hki_indexed_walk_step(&walk);
    }
}

static inline void change(const hki_kernel_call *call, int64_t piece, run_fn *put)
{
    hki_copy_elements(call, 0, call->out[0].size);
    scatter_runs(call, piece, call->out[0].data, put);
}

static inline void add_run(const hki_tensor *out, int64_t to, const hki_tensor *updates,
                           int64_t from, int64_t count)
{
    switch (out->dtype) {
#define ADD(dtype, T, U, load, store)                                                              \
    case dtype: {                                                                                  \
        T *x = (T *)out->data + to;                                                                \
        const T *y = (const T *)updates->data + from;                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            x[i] = store((U)load(x[i]) + (U)load(y[i]));                                           \
        break;                                                                                     \
    }
        ADD(HK_F32, float, float, , )
        ADD(HK_F64, double, double, , )
        ADD(HK_C64, float _Complex, float _Complex, , )
        ADD(HK_C128, double _Complex, double _Complex, , )
#define ADD_INTEGERS(dtype, name, T, least, most) ADD(dtype, T, uint64_t, , (T))
        HKI_EACH_INTEGER(ADD_INTEGERS)
#undef ADD_INTEGERS
#undef ADD
    case HK_F16:
    case HK_BF16:
    case HK_BOOL:
        break;
    }
}

/* Halves are added up as floats, which are rounded when all terms are there. */
#define HALF_SUMS(name, to_float, from_float)                                                      \
    static void name##_run(const hki_tensor *sums, int64_t to, const hki_tensor *updates,          \
                           int64_t from, int64_t count)                                            \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            ((float *)sums->data)[to + i] +=                                                       \
                to_float(((const uint16_t *)updates->data)[from + i]);                             \
    }                                                                                              \
    static void name(const hki_kernel_call *call, int64_t piece)                                   \
    {                                                                                              \
        uint16_t *out = call->out[0].data;                                                         \
        float *sums = hki_partials_of(call, piece);                                                \
        hki_copy_elements(call, 0, call->out[0].size);                                             \
        for (int64_t i = 0; i < call->out[0].size; i++)                                            \
            sums[i] = to_float(out[i]);                                                            \
        scatter_runs(call, piece, sums, name##_run);                                               \
        for (int64_t i = 0; i < call->out[0].size; i++)                                            \
            out[i] = from_float(sums[i]);                                                          \
    }
HALF_SUMS(add_f16, hki_f16_to_float, hki_f16_from_float)
HALF_SUMS(add_bf16, hki_bf16_to_float, hki_bf16_from_float)

static void scatter_add_plan(const hki_call *call, hki_plan *plan)
{
    scatter_plan(call, plan);
    plan->partial_bytes = hki_dtype_is_half(call->out_dtype[0])
                              ? (size_t)call->inputs[0]->size * sizeof(float)
                              : hki_scatter_rows_bytes(call);
}

static void scatter_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)begin, (void)end;
    if (call->out[0].dtype == HK_F16)
        add_f16(call, piece);
    else if (call->out[0].dtype == HK_BF16)
        add_bf16(call, piece);
    else if (call->partials && hki_scatter_is_of_rows(call))
        hki_scatter_rows(call, piece);
    else
        change(call, piece, add_run);
}

static void scatter_grad(hki_grad_call *call)
{
    if (call->wanted[0])
        call->dx[0] = call->dy;
    if (call->wanted[2])
        call->dx[2] =
            hki_op_call2(&hki_op_take_along_axis, call->dy, call->inputs[1], call->options);
}

static void scatter_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *shape = &call->inputs[0]->shape, *indices = &call->inputs[1]->shape;
    int axis = axis_of(call->options, shape->ndim);
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][i] = in[0][i];
    for (int64_t i = 0; i < call->inputs[1]->size; i++)
        out[0][reference_place(shape, indices, axis, i, in[1][i])] += in[2][i];
}

static const hki_sample scatter_add_samples[] = {
    {.inputs = {HKI_SHAPE(5), HKI_SHAPE(8), HKI_SHAPE(8)},
     .own = {[1] = INDICES(-5, 5)},
     ALONG(scatter_add, 0)},
    {.inputs = {HKI_SHAPE(4, 3), HKI_SHAPE(6, 3), HKI_SHAPE(6, 3)},
     .own = {[1] = INDICES(0, 4)},
     ALONG(scatter_add, -2)},
    {.inputs = {HKI_SHAPE(4, 3), HKI_SHAPE(4, 0), HKI_SHAPE(4, 0)},
     .own = {[1] = INDICES(0, 1)},
     ALONG(scatter_add, 1)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(2, 5, 4), HKI_SHAPE(2, 5, 4)},
     .own = {[1] = INDICES(-3, 3)},
     ALONG(scatter_add, 1)},
};
const hk_op hki_op_scatter_add = {
    HKI_OP_NAMED(scatter_add),
    .refuses = true,
    HKI_OP_PARAMS(scatter_add),
    HKI_OP_SAMPLES(scatter_add_samples),
    .signature = "x, indices, updates",
    .doc =
        "x, and to the entry that each element of indices names, as in hk_take_along_axis, the "
        "same element of updates added. Where several name one entry they are added in their "
        "order, halves as float32; in pairs, as samples are, where they are whole rows of floats "
        "along axis 0. updates has the shape of indices.",
    .dtypes = HKI_NUMBERS | HKI_COMPLEX,
    .infer = scatter_infer,
    .split = HKI_SPLIT_NONE,
    .plan = scatter_add_plan,
    .kernel = {[HKI_CPU] = scatter_kernel},
    .grad = scatter_grad,
    .grad_reads = {0, 0, 2},
    .no_grad_inputs = 1u << 1,
    .reference = scatter_reference,
    .tolerance_f32 = 1e-5,
    .tolerance_f64 = 1e-14,
};

/* ---- scatter ---------------------------------------------------------------------------------------------- */

static inline void set_run(const hki_tensor *out, int64_t to, const hki_tensor *updates,
                           int64_t from, int64_t count)
{
    const int64_t bytes = (int64_t)hk_dtype_bytes(out->dtype);
    copy_run((char *)out->data + to * bytes, (const char *)updates->data + from * bytes,
             (size_t)(count * bytes));
}

static void set_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)begin, (void)end;
    change(call, piece, set_run);
}

/* Whether each update is still there: the number that it left behind is its own. */
static hk_array *which_stayed(hk_array *indices, const hk_dims *x, const void *options)
{
    const hk_device device = {indices->storage->device};
    const hki_arange_options count = {0, (double)indices->size, 1, HK_I64};
    const hki_reshape_options shape = {indices->shape};
    const hki_zeros_options zeros = {.shape = *x, .dtype = HK_I64};
    hk_array *numbers = hki_op_call1(
        &hki_op_reshape, hki_op_call(&hki_op_arange, NULL, 0, &count, device, NULL), &shape);
    hk_array *left =
        hki_op_call3(&hki_op_scatter, hki_op_call(&hki_op_zeros, NULL, 0, &zeros, device, NULL),
                     indices, numbers, options);
    left = hki_op_call2(&hki_op_take_along_axis, left, indices, options);
    return hki_op_call2(&hki_op_equal, left, numbers, NULL);
}

static void set_grad(hki_grad_call *call)
{
    const hki_zeros_options zeros = {.shape = call->input_shape[2], .dtype = call->input_dtype[2]};
    hk_array *none =
        hki_op_call(&hki_op_zeros, NULL, 0, &zeros, (hk_device){call->dy->storage->device}, NULL);
    hk_array *indices = call->inputs[1];
    if (call->wanted[0])
        call->dx[0] = hki_op_call3(&hki_op_scatter, call->dy, indices, none, call->options);
    if (call->wanted[2])
        call->dx[2] = hki_op_call3(
            &hki_op_where, which_stayed(indices, &call->input_shape[0], call->options),
            hki_op_call2(&hki_op_take_along_axis, call->dy, indices, call->options), none, NULL);
}

static void set_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *shape = &call->inputs[0]->shape, *indices = &call->inputs[1]->shape;
    const int axis = axis_of(call->options, shape->ndim);
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][i] = in[0][i];
    for (int64_t i = 0; i < call->inputs[1]->size; i++)
        out[0][reference_place(shape, indices, axis, i, in[1][i])] = in[2][i];
}

const hk_op hki_op_scatter = {
    HKI_OP_NAMED(scatter),
    .refuses = true,
    HKI_OP_PARAMS(scatter),
    HKI_OP_SAMPLES(scatter_add_samples),
    .signature = "x, indices, updates",
    .doc = "x, but at the entry that each element of indices names, as in hk_take_along_axis, the "
           "same element of updates. Where several name one entry the last one stays, and gets the "
           "gradient. updates has the shape of indices.",
    .dtypes = HKI_ANY_DTYPE,
    .infer = scatter_infer,
    .split = HKI_SPLIT_NONE,
    .plan = scatter_plan,
    .kernel = {[HKI_CPU] = set_kernel},
    .grad = set_grad,
    .grad_reads = {2, 0, 2},
    .no_grad_inputs = 1u << 1,
    .reference = set_reference,
};

/* ---- index_select -------------------------------------------------------------------------------------------------- */

/* x's shape with that of indices in place of the axis. */
static bool take_infer(hki_call *call)
{
    hk_dims *out = &call->out_shape[0];
    if (!check_indices(call))
        return false;
    const hki_shape_view *x = call->inputs[0], *indices = call->inputs[1];
    const int axis = axis_of(call->options, x->shape.ndim);
    if (x->shape.ndim - 1 + indices->shape.ndim > HK_MAX_NDIM)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x has %d axes and indices %d: the result would have more than %d",
                               x->shape.ndim, indices->shape.ndim, HK_MAX_NDIM);
    out->ndim = 0;
    for (int i = 0; i < x->shape.ndim; i++)
        for (int j = 0; j < (i == axis ? indices->shape.ndim : 1); j++)
            out->dims[out->ndim++] = i == axis ? indices->shape.dims[j] : x->shape.dims[i];
    call->out_dtype[0] = x->dtype;
    return true;
}

/* Each index, of one axis, for the whole entry. */
static hk_array *take_entries(hk_array *x, hk_array *indices, const void *options)
{
    hk_dims shape = x->shape;
    int64_t strides[HK_MAX_NDIM] = {0};
    const int axis = axis_of(options, shape.ndim);
    shape.dims[axis] = indices->size;
    strides[axis] = indices->strides[0];
    hk_array *spread = hki_array_view(indices, shape, strides, indices->offset);
    return hki_op_call2(&hki_op_take_along_axis, x, spread, options);
}

static hk_array *take_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0], *indices = call->arrays[1];
    const hki_reshape_options line = {.shape = {.ndim = 1, .dims = {indices->size}}},
                              all = {.shape = call->out_shape[0]};
    if (indices->shape.ndim == 1)
        return take_entries(x, indices, call->options);
    indices = hki_op_call1(&hki_op_reshape, indices, &line);
    return hki_op_call1(&hki_op_reshape, take_entries(x, indices, call->options), &all);
}

static void take_reference(const hki_call *call, const double *const *in, double *const *out)
{
    hk_dims shape = call->inputs[0]->shape, taken = shape;
    const int axis = axis_of(call->options, shape.ndim);
    taken.dims[axis] = call->inputs[1]->size;
    const hki_lines lines = hki_lines_of(shape.ndim, taken.dims, axis);
    for (int64_t i = 0; i < lines.count * lines.size; i++)
        out[0][i] =
            in[0][reference_place(&shape, &taken, axis, i, in[1][i / lines.inner % lines.size])];
}

static const hki_sample take_samples[] = {
    {.inputs = {HKI_SHAPE(5), HKI_SHAPE(8)}, .own = {[1] = INDICES(-5, 5)}, ALONG(index_select, 0)},
    {.inputs = {HKI_SHAPE(4, 3), HKI_SHAPE(6)},
     .own = {[1] = INDICES(0, 4)},
     ALONG(index_select, 0)},
    {.inputs = {HKI_SHAPE(4, 3), HKI_SHAPE(0)},
     .own = {[1] = INDICES(0, 1)},
     ALONG(index_select, 1)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(5)},
     .own = {[1] = INDICES(-3, 3)},
     ALONG(index_select, -2)},
    {.inputs = {HKI_SHAPE(4, 3), HKI_SHAPE(2, 5)},
     .own = {[1] = INDICES(0, 4)},
     ALONG(index_select, 0)},
    {.inputs = {HKI_SHAPE(2, 3, 2), HKI_SHAPE_0D},
     .own = {[1] = INDICES(-3, 3)},
     ALONG(index_select, 1)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(2, 3)},
     .own = {[1] = INDICES(-4, 4)},
     ALONG(index_select, 1)},
};
const hk_op hki_op_index_select = {
    HKI_OP_NAMED(index_select),
    .refuses = true,
    HKI_OP_PARAMS(index_select),
    HKI_OP_SAMPLES(take_samples),
    .signature = "x, indices",
    .doc =
        "The entries of an axis that indices names, such as rows of a table: NumPy's take along an "
        "axis. The axes of indices, any number of them, stand in place of that axis. A negative "
        "index counts from the end; one out of range fails the result.",
    .dtypes = HKI_ANY_DTYPE,
    .infer = take_infer,
    .compose = take_compose,
    .no_grad_inputs = 1u << 1,
    .reference = take_reference,
};
