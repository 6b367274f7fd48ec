/* reshape: the same elements in C order, under other axes. */
#include "op/shape/reshape.h"

#include "op/elementwise/elementwise.h"
#include "op/shape/copy.h"

static bool refuse(hki_call *call, const char *why)
{
    char wanted[256], has[256];
    hki_dims_describe(&((const hki_reshape_options *)call->options)->shape, wanted, sizeof wanted);
    hki_shape_view_describe(call->inputs[0], has, sizeof has);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT, "x is %s, the shape %s: %s", has, wanted,
                           why);
}

/* Replaces a -1. */
static bool reshape_infer(hki_call *call)
{
    hk_dims shape = ((const hki_reshape_options *)call->options)->shape;
    const hki_shape_view *x = call->inputs[0];
    int64_t size = x->size, known = 1;
    int open = -1;
    for (int i = 0; i < shape.ndim && i < HK_MAX_NDIM; i++) {
        if (shape.dims[i] >= 0)
            continue;
        if (shape.dims[i] != -1 || open >= 0)
            return refuse(call, "one size may be -1, no other may be negative");
        open = i;
        shape.dims[i] = 1;
    }
    if (!hki_dims_size(&shape, &known))
        return refuse(call, "that is not a shape");
    if (open >= 0) {
        if (known == 0)
            return refuse(call, "a -1 beside a 0 could be anything");
        shape.dims[open] = size / known;
        known *= shape.dims[open];
    }
    if (known != size)
        return refuse(call, "both must have as many elements");
    call->out_shape[0] = shape;
    call->out_dtype[0] = x->dtype;
    return true;
}

static hk_array *reshape_view(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    if (!hk_is_contiguous(x))
        return NULL;
    int64_t strides[HK_MAX_NDIM];
    hki_dims_strides(&call->out_shape[0], strides);
    return hki_array_view(x, call->out_shape[0], strides, x->offset);
}

/* The output is contiguous, so that it may be walked as if it had x's shape. */
static void reshape_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_kernel_call copy = *call;
    hki_tensor out = call->out[0];
    hk_dims shape = {.ndim = call->in[0].ndim};
    copy.out = &out;
    copy.out[0].ndim = call->in[0].ndim;
    for (int i = 0; i < shape.ndim; i++)
        shape.dims[i] = copy.out[0].dims[i] = call->in[0].dims[i];
    hki_dims_strides(&shape, copy.out[0].strides);
    hki_copy_elements(&copy, begin, end);
}

static void reshape_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.5);
}

static void reshape_grad(hki_grad_call *call)
{
    hki_reshape_options options = {.shape = call->input_shape[0]};
    call->dx[0] = hki_op_call1(&hki_op_reshape, call->dy, &options);
}

static void reshape_reference(const hki_call *call, const double *const *in, double *const *out)
{
    int64_t size = call->inputs[0]->size;
    for (int64_t i = 0; i < size; i++)
        out[0][i] = in[0][i];
}

#define TO(...)                                                                                    \
    .options = &(const hki_reshape_options)                                                        \
    {                                                                                              \
        .shape = HKI_SHAPE(__VA_ARGS__)                                                            \
    }
static const hki_sample reshape_samples[] = {
    {.inputs = {HKI_SHAPE(4, 6)}, TO(2, 12)},
    {.inputs = {HKI_SHAPE(4, 6)}, TO(3, -1, 2)},
    {.inputs = {HKI_SHAPE(1, 1)}, .options = &(const hki_reshape_options){.shape = HKI_SHAPE_0D}},
    {.inputs = {HKI_SHAPE_0D}, TO(1)},
    {.inputs = {HKI_SHAPE(3, 0)}, TO(0, 7)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(4, 6)}, TO(24)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4)}, TO(-1, 2)},
};

HKI_ARGUMENTS_TABLE(reshape, HKI_RESHAPE_ARGUMENTS)
const hk_op hki_op_reshape = {
    HKI_OP_NAMED(reshape),
    HKI_OP_PARAMS(reshape),
    HKI_OP_SAMPLES(reshape_samples),
    .signature = "x",
    .doc = "The elements of x in C order under another shape: a view when x is contiguous, else a "
           "copy.",
    .dtypes = HKI_ANY_DTYPE,
    .gpu_dtypes = HKI_ALL_DTYPES,
    .infer = reshape_infer,
    .view = reshape_view,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = reshape_plan,
    .kernel = {[HKI_CPU] = reshape_kernel},
    .grad = reshape_grad,
    .reference = reshape_reference,
};
