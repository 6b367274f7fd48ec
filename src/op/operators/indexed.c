/* take_along_axis, index_select, scatter and scatter_add: elements found by whole numbers along one axis. */
#include "array/integer_element.h"
#include "base/half.h"
#include "op/kernels/elementwise/elementwise.h"
#include "op/operators/copy.h"
#include "op/operators/fill.h"
#include "op/operators/line.h"
#include "op/operators/reshape.h"

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

/* Element i of indices, counted from the front of an axis of so many entries; -1 after the task has been failed. */
static int64_t index_at(const hki_kernel_call *call, int64_t piece, int64_t i, int64_t offset,
                        int64_t size)
{
    int64_t index = hki_index_load(call->in[1].dtype, call->in[1].data, offset);
    if (index >= -size && index < size)
        return index + (index < 0 ? size : 0);
    hki_task_fail(call->task, piece, HK_OUT_OF_RANGE,
                  "indices[%" PRId64 "] is %" PRId64 ", but the axis has %" PRId64
                  " entries, so that an index is in [%" PRId64 ", %" PRId64 ")",
                  i, index, size, -size, size);
    return -1;
}

/* Elements from the first to element i, in C order; without a step along axis `skip` (-1: with all). */
static int64_t offset_of(const hki_tensor *x, const int64_t *dims, int64_t i, int skip)
{
    int64_t offset = 0;
    for (int axis = x->ndim - 1; axis >= 0; axis--) {
        if (axis != skip)
            offset += i % dims[axis] * x->strides[axis];
        i /= dims[axis];
    }
    return offset;
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

static void indexed_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 6);
}

static void take_along_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin,
                              int64_t end)
{
    const hki_tensor *x = &call->in[0], *indices = &call->in[1], *out = &call->out[0];
    const int axis = axis_of(call->options, x->ndim);
    const size_t bytes = hk_dtype_bytes(x->dtype);
    for (int64_t i = begin; i < end; i++) {
        int64_t index =
            index_at(call, piece, i, offset_of(indices, indices->dims, i, -1), x->dims[axis]);
        if (index < 0)
            return;
        int64_t from = offset_of(x, indices->dims, i, axis) + index * x->strides[axis];
        memcpy((char *)out->data + (size_t)i * bytes, (const char *)x->data + from * (int64_t)bytes,
               bytes);
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
    HKI_OP_PARAMS(take_along_axis),
    HKI_OP_SAMPLES(take_along_axis_samples),
    .signature = "x, indices",
    .doc = "For each element of indices the entry of x that it names along the axis, at the same "
           "place along the others. indices has x's shape but for the axis. A negative index "
           "counts from the end; one out of range fails the result.",
    .dtypes = HKI_ANY_DTYPE,
    .host_only = true,
    .infer = take_along_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = indexed_plan,
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

static void scatter_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.5);
    plan->work_ns += 8 * (double)call->inputs[1]->size;
}

/* In the order of indices, so that sums are the same on every run: one piece. */
static void scatter_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *indices = &call->in[1], *updates = &call->in[2], *out = &call->out[0];
    const int axis = axis_of(call->options, out->ndim);
    (void)begin, (void)end;
    hki_copy_elements(call, 0, out->size);
    for (int64_t i = 0; i < indices->size; i++) {
        int64_t index =
            index_at(call, piece, i, offset_of(indices, indices->dims, i, -1), out->dims[axis]);
        if (index < 0)
            return;
        int64_t to = offset_of(out, indices->dims, i, axis) + index * out->strides[axis];
        int64_t from = offset_of(updates, indices->dims, i, -1);
#define ADD(dtype, T, U)                                                                           \
    case dtype:                                                                                    \
        ((T *)out->data)[to] = (T)((U)((T *)out->data)[to] + (U)((const T *)updates->data)[from]); \
        break;
        switch (out->dtype) {
            ADD(HK_F32, float, float)
            ADD(HK_F64, double, double)
            ADD(HK_C64, float _Complex, float _Complex)
            ADD(HK_C128, double _Complex, double _Complex)
#define ADD_INTEGERS(dtype, name, T, least, most) ADD(dtype, T, uint64_t)
            HKI_EACH_INTEGER(ADD_INTEGERS)
        case HK_F16:
            ((uint16_t *)out->data)[to] =
                hki_f16_from_float(hki_f16_to_float(((uint16_t *)out->data)[to]) +
                                   hki_f16_to_float(((const uint16_t *)updates->data)[from]));
            break;
        case HK_BF16:
            ((uint16_t *)out->data)[to] =
                hki_bf16_from_float(hki_bf16_to_float(((uint16_t *)out->data)[to]) +
                                    hki_bf16_to_float(((const uint16_t *)updates->data)[from]));
            break;
        case HK_BOOL:
            break;
        }
#undef ADD
#undef ADD_INTEGERS
    }
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
    HKI_OP_PARAMS(scatter_add),
    HKI_OP_SAMPLES(scatter_add_samples),
    .signature = "x, indices, updates",
    .doc = "x, and to the entry that each element of indices names, as in hk_take_along_axis, the "
           "same element of updates added. Where several name one entry they are added in their "
           "order. updates has the shape of indices.",
    .dtypes = HKI_NUMBERS | HKI_COMPLEX,
    .host_only = true,
    .infer = scatter_infer,
    .split = HKI_SPLIT_NONE,
    .plan = scatter_plan,
    .kernel = {[HKI_CPU] = scatter_kernel},
    .grad = scatter_grad,
    .grad_reads = {0, 0, 2},
    .no_grad_inputs = 1u << 1,
    .reference = scatter_reference,
    .tolerance_f32 = 1e-5,
    .tolerance_f64 = 1e-14,
};

/* ---- scatter ---------------------------------------------------------------------------------------------- */

/* As scatter_add. */
static void set_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *indices = &call->in[1], *updates = &call->in[2], *out = &call->out[0];
    const int axis = axis_of(call->options, out->ndim);
    const size_t bytes = hk_dtype_bytes(out->dtype);
    (void)begin, (void)end;
    hki_copy_elements(call, 0, out->size);
    for (int64_t i = 0; i < indices->size; i++) {
        const int64_t index =
            index_at(call, piece, i, offset_of(indices, indices->dims, i, -1), out->dims[axis]);
        if (index < 0)
            return;
        const int64_t to = offset_of(out, indices->dims, i, axis) + index * out->strides[axis];
        const int64_t from = offset_of(updates, indices->dims, i, -1);
        memcpy((char *)out->data + to * (int64_t)bytes,
               (const char *)updates->data + from * (int64_t)bytes, bytes);
    }
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
    HKI_OP_PARAMS(scatter),
    HKI_OP_SAMPLES(scatter_add_samples),
    .signature = "x, indices, updates",
    .doc = "x, but at the entry that each element of indices names, as in hk_take_along_axis, the "
           "same element of updates. Where several name one entry the last one stays, and gets the "
           "gradient. updates has the shape of indices.",
    .dtypes = HKI_ANY_DTYPE,
    .host_only = true,
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
    HKI_OP_PARAMS(index_select),
    HKI_OP_SAMPLES(take_samples),
    .signature = "x, indices",
    .doc =
        "The entries of an axis that indices names, such as rows of a table: NumPy's take along an "
        "axis. The axes of indices, any number of them, stand in place of that axis. A negative "
        "index counts from the end; one out of range fails the result.",
    .dtypes = HKI_ANY_DTYPE,
    .host_only = true,
    .infer = take_infer,
    .compose = take_compose,
    .no_grad_inputs = 1u << 1,
    .reference = take_reference,
};
