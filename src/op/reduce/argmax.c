/* Where the largest or the smallest element along an axis is. */
#include "op/reduce/argmax.h"

#include "base/integer.h"
#include "op/reduce/line.h"
#include "op/reduce/reduce.h"
#include "op/reduce/reduce_kernel.h"

HKI_ARGUMENTS_TABLE(argmax, ARGMAX_ARGUMENTS)
#define argmin_params argmax_params

static int axis_of(const void *options, int ndim)
{
    return hki_axis_from_front(((const hki_argmax_options *)options)->axis, ndim);
}

static bool argmax_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    const int ndim = x->shape.ndim;
    if (!hki_call_check_axis(call, ((const hki_argmax_options *)call->options)->axis))
        return false;
    const int at = axis_of(call->options, ndim);
    hk_dims *out = &call->out_shape[0];
    int64_t size = 1;
    out->ndim = 0;
    for (int i = 0; i < ndim; i++) {
        if (i == at)
            continue;
        out->dims[out->ndim++] = x->shape.dims[i];
        size *= x->shape.dims[i];
    }
    call->out_dtype[0] = HK_I64;
    if (x->shape.dims[at] == 0 && size > 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "axis %d has size 0: among no elements none is the %s", at,
                               call->op == &hki_op_argmin ? "smallest" : "largest");
    return true;
}

static void argmax_plan(const hki_call *call, hki_plan *plan)
{
    plan->work_ns = 0.2 * (double)call->inputs[0]->size;
}

static void argmax_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0], *y = &call->out[0];
    const unsigned mask = 1u << axis_of(call->options, x->ndim);
    const hki_reduce_kind kind = call->op == &hki_op_argmin ? HKI_REDUCE_MIN : HKI_REDUCE_MAX;
    int64_t strides[HK_MAX_NDIM], places[HKI_REDUCE_TILE];
    hki_reduce_geometry geometry;
    (void)piece;
    hki_reduce_spread(x->ndim, mask, false, y->strides, strides);
    hki_reduce_geometry_init(&geometry, x->ndim, x->dims, x->strides, mask, strides);
    for (int64_t k = begin; k < end; k += HKI_REDUCE_TILE) {
        const int64_t next = hki_min(k + HKI_REDUCE_TILE, end);
        hki_reduce_places(kind, x->dtype, &geometry, x->data, k, next, places);
        for (int64_t i = k; i < next; i++)
            ((int64_t *)y->data)[hki_reduce_offset(&geometry.kept, geometry.kept.out_strides, i)] =
                places[i - k];
    }
}

static void argmax_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *shape = &call->inputs[0]->shape;
    const int axis = axis_of(call->options, shape->ndim);
    const double sign = call->op == &hki_op_argmin ? -1 : 1;
    int64_t outer = 1, size = shape->dims[axis], inner = 1;
    for (int i = 0; i < shape->ndim; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : shape->dims[i];
    for (int64_t i = 0; i < outer * inner; i++) {
        const double *x = in[0] + i / inner * size * inner + i % inner;
        double best = 0;
        for (int64_t j = 1; j < size; j++)
            best = sign * x[j * inner] > sign * x[(int64_t)best * inner] ? (double)j : best;
        out[0][i] = best;
    }
}

#define AXIS(value)                                                                                \
    &(const hki_argmax_options)                                                                    \
    {                                                                                              \
        .axis = value                                                                              \
    }

static hki_batch_kind argmax_batch(hki_batch *batch)
{
    return hki_batch_lines(batch, ((const hki_argmax_options *)batch->options)->axis);
}

static const hki_sample argmax_samples[] = {
    {.inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(-1)},
    {.inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(0)},
    {.inputs = {HKI_SHAPE(2, 3, 4)}, .options = AXIS(1)},
    {.inputs = {HKI_SHAPE(7)}, .options = AXIS(0)},
    {.inputs = {HKI_SHAPE(0, 4)}, .options = AXIS(1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(0)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 5, 4)}, .options = AXIS(-1)},
};

const hk_op hki_op_argmax = {
    HKI_OP_NAMED(argmax),
    HKI_OP_PARAMS(argmax),
    HKI_OP_SAMPLES(argmax_samples),
    .signature = "x",
    .doc = "Index of the largest element along an axis, as int64: the first where several are "
           "equal, and "
           "the first NaN where there is one. Of all elements: of hk_reshape(x, hk_shape(-1)).",
    .formula = "y = argmax of x along axis",
    .dtypes = HKI_ALL_DTYPES,
    .infer = argmax_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = argmax_plan,
    .batch = argmax_batch,
    .kernel = {[HKI_CPU] = argmax_cpu},
    .no_grad_why = "its result is an index",
    .reference = argmax_reference,
};

const hk_op hki_op_argmin = {
    HKI_OP_NAMED(argmin),
    .params = argmin_params,
    .options_bytes = sizeof(hki_argmax_options),
    HKI_OP_SAMPLES(argmax_samples),
    .signature = "x",
    .doc = "Index of the smallest element along an axis, as int64: the first where several are "
           "equal, and the first NaN where there is one. Of all elements: of hk_reshape(x, "
           "hk_shape(-1)).",
    .formula = "y = argmin of x along axis",
    .dtypes = HKI_ALL_DTYPES,
    .infer = argmax_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = argmax_plan,
    .batch = argmax_batch,
    .kernel = {[HKI_CPU] = argmax_cpu},
    .no_grad_why = "its result is an index",
    .reference = argmax_reference,
};
