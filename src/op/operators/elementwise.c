/* The operators of elementwise.def: what is the same for all, and the expansion of the rows. */
#include "op/kernels/elementwise/elementwise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What hk_op.data points to. */
typedef struct row_data {
    hki_element element;
    double ns;
    const hk_op *grad_op;
    const char *refusal; /* text for what a checked loop refuses */
    double (*reference)(double a, double b, double c, double s);
} row_data;

/* ---- infer ---------------------------------------------------------------------------------------------- */

bool hki_infer_same(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

/* Broadcasts input `index` into out_shape[0]. */
static bool broadcast(hki_call *call, int index)
{
    const hk_dims *shape = &call->inputs[index]->shape;
    if (shape->ndim == 0 || hki_dims_equal(&call->out_shape[0], shape) ||
        hki_dims_broadcast(&call->out_shape[0], shape, &call->out_shape[0]))
        return true;
    char has[256], others[256], name[64];
    hki_dims_describe(shape, has, sizeof has);
    hki_dims_describe(&call->out_shape[0], others, sizeof others);
    hki_op_input_name(call->op, index, name, sizeof name);
    return hki_call_refuse(
        call, HK_INVALID_ARGUMENT,
        "%s of shape %s does not go with %s: aligned at the last axis, sizes must "
        "be equal or 1",
        name, has, others);
}

static bool same_dtype(hki_call *call, int first, int index)
{
    hk_dtype expected = call->inputs[first]->dtype, dtype = call->inputs[index]->dtype;
    if (dtype == expected)
        return true;
    char first_name[64], name[64];
    hki_op_input_name(call->op, first, first_name, sizeof first_name);
    hki_op_input_name(call->op, index, name, sizeof name);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "%s is %s and %s %s: inputs are not converted; use hk_cast", first_name,
                           hk_dtype_name(expected), name, hk_dtype_name(dtype));
}

static bool infer_unary(hki_call *call)
{
    return hki_infer_same(call);
}

static bool infer_binary(hki_call *call)
{
    hki_infer_same(call);
    return same_dtype(call, 0, 1) && broadcast(call, 1);
}

static bool infer_ternary(hki_call *call)
{
    return infer_binary(call) && same_dtype(call, 0, 2) && broadcast(call, 2);
}

static bool infer_compare(hki_call *call)
{
    if (!infer_binary(call))
        return false;
    call->out_dtype[0] = HK_BOOL;
    return true;
}

static bool infer_where(hki_call *call)
{
    hki_infer_same(call);
    call->out_dtype[0] = call->inputs[1]->dtype;
    return same_dtype(call, 1, 2) && broadcast(call, 1) && broadcast(call, 2);
}

/* An integer array takes only numbers that its dtype has. */
static bool check_scalar(hki_call *call)
{
    double value = ((const hki_scalar_options *)call->options)->value;
    hk_dtype dtype = call->inputs[0]->dtype;
    int64_t stored;
    if (dtype == HK_F32 || dtype == HK_F64 ||
        (value == trunc(value) && hki_dtype_store(dtype, &stored, value)))
        return true;
    return hki_call_refuse(call, HK_INVALID_ARGUMENT, "value %g is not %s; use hk_cast on x first",
                           value, hk_dtype_name(dtype));
}

static bool infer_scalar(hki_call *call)
{
    return hki_infer_same(call) && check_scalar(call);
}

static bool infer_binary_scalar(hki_call *call)
{
    return infer_binary(call) && check_scalar(call);
}

/* ---- kernels -------------------------------------------------------------------------------------------- */

void hki_plan_elements(const hki_call *call, hki_plan *plan, double ns)
{
    plan->grain = 1024;
    plan->work_ns *= ns * (double)hki_dtype_bytes(call->out_dtype[0]) / 4;
}

static void plan(const hki_call *call, hki_plan *plan)
{
    const row_data *row = call->op->data;
    hki_plan_elements(call, plan, row->ns);
}

static hki_loop_fn find_loop(hki_element element, hk_dtype dtype)
{
    hki_loop_fn loop = NULL;
    switch (hki_kernel_isa_get()) {
    case HKI_ISA_AVX512:
        loop = hki_loops_avx512[element][dtype];
        break;
    case HKI_ISA_AVX2:
        loop = hki_loops_avx2[element][dtype];
        break;
    case HKI_ISA_PORTABLE:
        break;
    }
    return loop ? loop : hki_loops_portable[element][dtype];
}

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const row_data *row = call->op->data;
    hk_dtype dtype = call->in[call->input_count - 1].dtype; /* the first may be a condition */
    int64_t refused = hki_walk(call, begin, end, call->options, find_loop(row->element, dtype));
    if (refused >= 0)
        hki_walk_fail(call, piece, refused, row->refusal);
}

static bool run_dense(const hki_call *call, const hk_array *out)
{
    const row_data *row = call->op->data;
    const int64_t size = out->size;
    hki_run run = {.n = size, .given = call->options};
    bool dense = out->is_contiguous;
    hk_dtype dtype = HK_F32;
    for (int i = 0; i < call->input_count; i++) {
        const hk_array *x = call->arrays[i];
        dtype = x->dtype; /* the last one's: the first may be a condition */
        dense = dense && x->is_contiguous && (x->size == size || x->size == 1);
        run.in[i] = hki_array_kernel_data(x);
        run.in_step[i] = x->size == size ? (int64_t)hki_dtype_bytes(dtype) : 0;
    }
    if (!dense)
        return false;
    run.out = hki_array_kernel_data(out);
    run.out_step = (int64_t)hki_dtype_bytes(out->dtype);
    find_loop(row->element, dtype)(&run);
    return true;
}

/* ---- reference ------------------------------------------------------------------------------------------ */

/* Offset of the element of an input that goes with element `index` of the output. */
static int64_t source_index(const hk_dims *out, const hk_dims *in, int64_t index)
{
    int64_t offset = 0, stride = 1;
    for (int axis = out->ndim - 1; axis >= 0; axis--) {
        int own = axis - (out->ndim - in->ndim);
        if (own >= 0) {
            if (in->dims[own] != 1)
                offset += index % out->dims[axis] * stride;
            stride *= in->dims[own];
        }
        index /= out->dims[axis];
    }
    return offset;
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const row_data *row = call->op->data;
    const hki_scalar_options *options = call->options;
    int64_t size = 0;
    hki_dims_size(&call->out_shape[0], &size);
    for (int64_t i = 0; i < size; i++) {
        double value[HKI_WALK_MAX_INPUTS] = {0};
        for (int j = 0; j < call->input_count; j++)
            value[j] = in[j][source_index(&call->out_shape[0], &call->inputs[j]->shape, i)];
        out[0][i] = row->reference(value[0], value[1], value[2], options ? options->value : 0);
    }
}

/* ---- gradients ------------------------------------------------------------------------------------------ */

static const hk_op *grad_op(const hki_grad_call *call)
{
    return ((const row_data *)call->op->data)->grad_op;
}

static void grad_unary(hki_grad_call *call)
{
    call->dx[0] = hki_op_call1(grad_op(call), call->dy, NULL);
}

static void grad_input(hki_grad_call *call)
{
    call->dx[0] = hki_op_call2(grad_op(call), call->dy, call->inputs[0], NULL);
}

static void grad_output(hki_grad_call *call)
{
    call->dx[0] = hki_op_call2(grad_op(call), call->dy, call->output, NULL);
}

static void grad_scalar(hki_grad_call *call)
{
    call->dx[0] = hki_op_call1(grad_op(call), call->dy, call->options);
}

static void grad_scalar_input(hki_grad_call *call)
{
    call->dx[0] = hki_op_call2(grad_op(call), call->dy, call->inputs[0], call->options);
}

static void grad_add_scalar(hki_grad_call *call)
{
    call->dx[0] = call->dy;
}

/* Sets dx[index] to a gradient of the output's shape, summed to the input's. */
static void set_summed(hki_grad_call *call, int index, hk_array *full)
{
    call->dx[index] = hki_op_sum_to_shape(full, &call->input_shape[index]);
}

static void grad_add(hki_grad_call *call)
{
    for (int i = 0; i < 2; i++) {
        if (call->wanted[i])
            set_summed(call, i, call->dy);
    }
}

static void grad_subtract(hki_grad_call *call)
{
    if (call->wanted[0])
        set_summed(call, 0, call->dy);
    if (call->wanted[1]) { /* the sum first: it may be smaller */
        set_summed(call, 1, call->dy);
        call->dx[1] = hki_op_call1(&hki_op_negative, call->dx[1], NULL);
    }
}

static void grad_multiply(hki_grad_call *call)
{
    for (int i = 0; i < 2; i++) {
        if (call->wanted[i])
            set_summed(call, i,
                       hki_op_call2(&hki_op_multiply, call->dy, call->inputs[1 - i], NULL));
    }
}

static void grad_divide(hki_grad_call *call)
{
    hk_array *divisor = call->inputs[1];
    if (call->wanted[0])
        set_summed(call, 0, hki_op_call2(&hki_op_divide, call->dy, divisor, NULL));
    if (call->wanted[1])
        set_summed(call, 1,
                   hki_op_call3(&hki_op_divide_grad, call->dy, call->output, divisor, NULL));
}

static void grad_maximum(hki_grad_call *call)
{
    for (int i = 0; i < 2; i++) {
        if (call->wanted[i])
            set_summed(call, i,
                       hki_op_call3(&hki_op_greater_grad, call->dy, call->inputs[i],
                                    call->inputs[1 - i], NULL));
    }
}

static void grad_minimum(hki_grad_call *call)
{
    for (int i = 0; i < 2; i++) {
        if (call->wanted[i])
            set_summed(call, i,
                       hki_op_call3(&hki_op_greater_grad, call->dy, call->inputs[1 - i],
                                    call->inputs[i], NULL));
    }
}

static void grad_power(hki_grad_call *call)
{
    hk_array *base = call->inputs[0], *exponent = call->inputs[1];
    if (call->wanted[0])
        set_summed(call, 0, hki_op_call3(&hki_op_power_grad, call->dy, base, exponent, NULL));
    if (call->wanted[1])
        set_summed(call, 1,
                   hki_op_call3(&hki_op_power_log_grad, call->dy, call->output, base, NULL));
}

static void grad_where(hki_grad_call *call)
{
    if (!call->wanted[1] && !call->wanted[2])
        return;
    hk_array *condition = call->inputs[0];
    hk_array *zero = hki_op_call1(&hki_op_multiply_scalar, call->dy, &(hki_scalar_options){0});
    if (call->wanted[1])
        set_summed(call, 1, hki_op_call3(&hki_op_where, condition, call->dy, zero, NULL));
    if (call->wanted[2])
        set_summed(call, 2, hki_op_call3(&hki_op_where, condition, zero, call->dy, NULL));
}

/* ---- samples -------------------------------------------------------------------------------------------- */

#define ANY      .low = -1, .high = 1
#define POSITIVE .low = 0.5, .high = 2
#define VALUE                                                                                      \
    .options = &(const hki_scalar_options)                                                         \
    {                                                                                              \
        3                                                                                          \
    }

#define SAMPLES_1(name, ...)                                                                       \
    static const hki_sample name[] = {                                                             \
        {.inputs = {HKI_SHAPE(37)}, __VA_ARGS__},                                                  \
        {.inputs = {HKI_SHAPE_0D}, __VA_ARGS__},                                                   \
        {.inputs = {HKI_SHAPE(3, 0, 2)}, __VA_ARGS__},                                             \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7)}, __VA_ARGS__},                    \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 1, 4)}, __VA_ARGS__},              \
    };
SAMPLES_1(samples_U1_any, ANY)
SAMPLES_1(samples_U1_positive, POSITIVE)
SAMPLES_1(samples_U1S_any, ANY, VALUE)
SAMPLES_1(samples_U1S_positive, POSITIVE, VALUE)

#define SAMPLES_2(name, ...)                                                                       \
    static const hki_sample name[] = {                                                             \
        {.inputs = {HKI_SHAPE(37), HKI_SHAPE(37)}, __VA_ARGS__},                                   \
        {.inputs = {HKI_SHAPE_0D, HKI_SHAPE_0D}, __VA_ARGS__},                                     \
        {.inputs = {HKI_SHAPE(5, 19), HKI_SHAPE(19)}, __VA_ARGS__},                                \
        {.inputs = {HKI_SHAPE(5, 19), HKI_SHAPE(5, 1)}, __VA_ARGS__},                              \
        {.inputs = {HKI_SHAPE_0D, HKI_SHAPE(3, 4)}, __VA_ARGS__},                                  \
        {.inputs = {HKI_SHAPE(2, 1, 4), HKI_SHAPE(3, 1)}, __VA_ARGS__},                            \
        {.inputs = {HKI_SHAPE(4, 0), HKI_SHAPE(1)}, __VA_ARGS__},                                  \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7), HKI_SHAPE(5, 7)}, __VA_ARGS__},   \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(4)}, __VA_ARGS__},   \
        {.kind = HKI_SAMPLE_ALIASED, .inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 3)}, __VA_ARGS__},   \
    };
SAMPLES_2(samples_U2_any, ANY)
SAMPLES_2(samples_U2_positive, POSITIVE)
SAMPLES_2(samples_G2S_any, ANY, VALUE)
SAMPLES_2(samples_G2S_positive, POSITIVE, VALUE)
#define samples_G2_any      samples_U2_any
#define samples_G2_positive samples_U2_positive
#define samples_C2_any      samples_U2_any

#define SAMPLES_3(name, ...)                                                                       \
    static const hki_sample name[] = {                                                             \
        {.inputs = {HKI_SHAPE(37), HKI_SHAPE(37), HKI_SHAPE(37)}, __VA_ARGS__},                    \
        {.inputs = {HKI_SHAPE_0D, HKI_SHAPE_0D, HKI_SHAPE_0D}, __VA_ARGS__},                       \
        {.inputs = {HKI_SHAPE(5, 1), HKI_SHAPE(9), HKI_SHAPE_0D}, __VA_ARGS__},                    \
        {.inputs = {HKI_SHAPE(0), HKI_SHAPE(0), HKI_SHAPE(1)}, __VA_ARGS__},                       \
        {.kind = HKI_SAMPLE_STRIDED,                                                               \
         .inputs = {HKI_SHAPE(5, 7), HKI_SHAPE(5, 7), HKI_SHAPE(7)},                               \
         __VA_ARGS__},                                                                             \
    };
SAMPLES_3(samples_G3_any, ANY)
SAMPLES_3(samples_G3_positive, POSITIVE)
SAMPLES_3(samples_W3_any, ANY, .own = {{.set = true, .dtype = HK_BOOL, .high = 2}})

/* ---- the operators -------------------------------------------------------------------------------------- */

/* Signature, infer and names of the arguments by kind. */
#define KIND_U1  .signature = "x", .infer = infer_unary
#define KIND_U1S .signature = "x", .infer = infer_scalar
#define KIND_U2  .signature = "x, y", .infer = infer_binary
#define KIND_C2  .signature = "x, y", .infer = infer_compare
#define KIND_W3                                                                                    \
    .signature = "condition, x, y", .infer = infer_where, .no_grad_inputs = 1 /* dtypes: below */
#define KIND_G2  .signature = "dy, kept", .infer = infer_binary, .internal = true
#define KIND_G2S .signature = "dy, kept", .infer = infer_binary_scalar, .internal = true
#define KIND_G3  .signature = "dy, kept, other", .infer = infer_ternary, .internal = true

#define PARAMS_U1(name)
#define PARAMS_U1S(name) HKI_OP_PARAMS(name),
#define PARAMS_U2(name)
#define PARAMS_C2(name)
#define PARAMS_W3(name)
#define PARAMS_G2(name)
#define PARAMS_G2S(name) HKI_OP_PARAMS(name),
#define PARAMS_G3(name)

/* The first input of W3 is a condition. */
#define DTYPES_U1(dtypes)  HKI_##dtypes
#define DTYPES_U1S(dtypes) HKI_##dtypes
#define DTYPES_U2(dtypes)  HKI_##dtypes
#define DTYPES_C2(dtypes)  HKI_##dtypes
#define DTYPES_W3(dtypes)  1u << HK_BOOL
#define DTYPES_G2(dtypes)  HKI_##dtypes
#define DTYPES_G2S(dtypes) HKI_##dtypes
#define DTYPES_G3(dtypes)  HKI_##dtypes

#define WHY_STEPS     "its result is a truth value"
#define WHY_GRADIENTS "it is the gradient of another operator"

#define GRAD_unary(op)        .grad = grad_unary
#define GRAD_input(op)        .grad = grad_input, .grad_keep = HKI_KEEP_INPUTS
#define GRAD_output(op)       .grad = grad_output, .grad_keep = HKI_KEEP_OUTPUT
#define GRAD_scalar(op)       .grad = grad_scalar
#define GRAD_scalar_input(op) .grad = grad_scalar_input, .grad_keep = HKI_KEEP_INPUTS
#define GRAD_plain(op)        .grad = grad_##op
#define GRAD_inputs(op)       .grad = grad_##op, .grad_keep = HKI_KEEP_INPUTS
#define GRAD_both(op)         .grad = grad_##op, .grad_keep = HKI_KEEP_INPUTS | HKI_KEEP_OUTPUT
#define GRAD_none(why)        .no_grad_why = WHY_##why

#define GRAD_OP_unary(op)        &hki_op_##op
#define GRAD_OP_input(op)        &hki_op_##op
#define GRAD_OP_output(op)       &hki_op_##op
#define GRAD_OP_scalar(op)       &hki_op_##op
#define GRAD_OP_scalar_input(op) &hki_op_##op
#define GRAD_OP_plain(op)        NULL
#define GRAD_OP_inputs(op)       NULL
#define GRAD_OP_both(op)         NULL
#define GRAD_OP_none(why)        NULL

#define SCALAR_ARGUMENTS(F, op) F(op, F64, value, "", "the number")
#define ARGUMENTS_U1(name)
#define ARGUMENTS_U1S(name) HKI_ARGUMENTS(name, SCALAR_ARGUMENTS)
#define ARGUMENTS_U2(name)
#define ARGUMENTS_C2(name)
#define ARGUMENTS_W3(name)
#define ARGUMENTS_G2(name)
#define ARGUMENTS_G2S(name) HKI_ARGUMENTS(name, SCALAR_ARGUMENTS)
#define ARGUMENTS_G3(name)

/* A row without a role has HKI_FUSE_NONE in the place of one. */
#define ROW(...) ROW_FUSED(__VA_ARGS__, HKI_FUSE_NONE, )
#define ROW_FUSED(kind, op, dtypes, ns, real, integer, expected, samples, gradient, formula, doc,  \
                  role, ...)                                                                       \
    OPERATOR(kind, op, dtypes, ns, expected, samples, gradient, formula, doc, NULL, true, role)
#define CHECKED(kind, op, dtypes, ns, real, integer, expected, samples, gradient, formula, doc,    \
                check, text)                                                                       \
    OPERATOR(kind, op, dtypes, ns, expected, samples, gradient, formula, doc, text, false,         \
             HKI_FUSE_NONE)

#define OPERATOR(kind, op, dtype_set, cost, expected, sampled, gradient, text, about, why,         \
                 never_fails, role)                                                                \
    ARGUMENTS_##kind(op) static double reference_##op(double a, double b, double c, double s)      \
    {                                                                                              \
        (void)b, (void)c, (void)s;                                                                 \
        return expected;                                                                           \
    }                                                                                              \
    static const row_data data_##op = {.element = HKI_ELEMENT_##op,                                \
                                       .ns = cost,                                                 \
                                       .grad_op = GRAD_OP_##gradient,                              \
                                       .refusal = why,                                             \
                                       .reference = reference_##op};                               \
    const hk_op hki_op_##op = {HKI_OP_NAMED(op),                                                   \
                               PARAMS_##kind(op) HKI_OP_SAMPLES(samples_##kind##_##sampled),       \
                               KIND_##kind,                                                        \
                               GRAD_##gradient,                                                    \
                               .doc = about,                                                       \
                               .formula = text,                                                    \
                               .dtypes = DTYPES_##kind(dtype_set),                                 \
                               .elementwise = true,                                                \
                               .batch = hki_batch_elementwise,                                     \
                               .fuse = role,                                                       \
                               .infallible = never_fails,                                          \
                               .split = HKI_SPLIT_ELEMENTS,                                        \
                               .plan = plan,                                                       \
                               .kernel = {[HKI_CPU] = kernel},                                     \
                               .run_dense = run_dense,                                             \
                               .reference = reference,                                             \
                               .tolerance_f32 = 1e-5,                                              \
                               .data = &data_##op};

#include "op/elementwise.def"
