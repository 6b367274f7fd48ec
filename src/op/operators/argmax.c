/* Where the largest or the smallest element along an axis is. */
#include "op/operators/argmax.h"

#include "base/half.h"
#include "base/integer_dtypes.h"
#include "op/operators/line.h"

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
    plan->work_ns = 1.5 * (double)call->inputs[0]->size;
}

/* The first of the largest; the first NaN when there is one. BEATS: > or <; V: what elements of T are compared as. */
#define FIRST(which, BEATS, name, T, V, value_of)                                                  \
    static int64_t first_##which##_##name(const void *data, int64_t offset, int64_t size,          \
                                          int64_t stride)                                          \
    {                                                                                              \
        const T *x = (const T *)data + offset;                                                     \
        int64_t best = 0;                                                                          \
        for (int64_t i = 1; i < size; i++) {                                                       \
            const V value = value_of(x[i * stride]), other = value_of(x[best * stride]);           \
            if (value BEATS other || (value != value && other == other))                           \
                best = i;                                                                          \
        }                                                                                          \
        return best;                                                                               \
    }

#define SELF(x) (x)
#define OF_INTEGERS(dtype, name, T, least, most)                                                   \
    FIRST(largest, >, name, T, T, SELF) FIRST(smallest, <, name, T, T, SELF)
HKI_EACH_INTEGER(OF_INTEGERS)
#define OF_FLOATS(which, BEATS)                                                                    \
    FIRST(which, BEATS, f32, float, float, SELF)                                                   \
    FIRST(which, BEATS, f64, double, double, SELF)                                                 \
    FIRST(which, BEATS, f16, uint16_t, float, hki_f16_to_float)                                    \
    FIRST(which, BEATS, bf16, uint16_t, float, hki_bf16_to_float)
OF_FLOATS(largest, >)
OF_FLOATS(smallest, <)

typedef int64_t (*first_fn)(const void *data, int64_t offset, int64_t size, int64_t stride);

#define LARGEST(dtype, name, T, least, most)  [dtype] = first_largest_##name,
#define SMALLEST(dtype, name, T, least, most) [dtype] = first_smallest_##name,
#define ENTRIES(which, ENTRY)                                                                      \
    {                                                                                              \
        HKI_EACH_INTEGER(ENTRY)                                                                    \
        [HK_BOOL] = first_##which##_u8, [HK_F32] = first_##which##_f32,                            \
        [HK_F64] = first_##which##_f64, [HK_F16] = first_##which##_f16,                            \
        [HK_BF16] = first_##which##_bf16                                                           \
    }
static const first_fn first_largest[HK_DTYPE_COUNT] = ENTRIES(largest, LARGEST),
                      first_smallest[HK_DTYPE_COUNT] = ENTRIES(smallest, SMALLEST);

static void argmax_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    const int axis = axis_of(call->options, x->ndim);
    const first_fn *first = call->op == &hki_op_argmin ? first_smallest : first_largest;
    (void)piece;
    for (int64_t i = begin; i < end; i++) {
        int64_t offset = 0, rest = i;
        for (int j = x->ndim - 1; j >= 0; j--) {
            if (j == axis)
                continue;
            offset += rest % x->dims[j] * x->strides[j];
            rest /= x->dims[j];
        }
        ((int64_t *)call->out[0].data)[i] =
            first[x->dtype](x->data, offset, x->dims[axis], x->strides[axis]);
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
    return hki_lines_batch(batch, ((const hki_argmax_options *)batch->options)->axis);
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
