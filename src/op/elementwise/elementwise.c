/* The operators of elementwise.def: what is the same for all, and the expansion of the rows. */
#include "op/elementwise/elementwise.h"
#include "op/elementwise/elementwise_gradient.h"
#include "op/elementwise/elementwise_samples.h"
#include "op/elementwise/scalar_math.h"
#include "op/shape/copy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The gradient of one input. */
typedef struct row_gradient {
    enum { GRADIENT_ZERO, GRADIENT_SAME, GRADIENT_CALL } form;
    enum {
        KEPT_none,
        KEPT_a = 1,
        KEPT_angle = KEPT_a,
        KEPT_b = 2,
        KEPT_y = 4,
        KEPT_ab = 3,
        KEPT_ay = 5,
        KEPT_known = KEPT_ay,
        KEPT_by = 6
    } kept;
    const hk_op *op; /* of dy and what is kept */
} row_gradient;

/* What hk_op.data points to. */
typedef struct row_data {
    hki_element element;
    double ns;
    row_gradient gradient[2];
    const char *refusal; /* text for what a checked loop refuses */
    double (*reference)(const double *in, hki_numbers numbers);
} row_data;

/* ---- infer ---------------------------------------------------------------------------------------------- */

bool hki_infer_same(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    call->like = call->inputs[0];
    return true;
}

/* Apart, so that what goes well needs no room for texts. */
static __attribute__((noinline)) bool refuse_broadcast(hki_call *call, int index)
{
    const hk_dims *shape = &call->inputs[index]->shape;
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

/* Of shapes that differ. */
static bool broadcast_others(hki_call *call, int index)
{
    call->like = NULL;
    return hki_dims_broadcast(&call->out_shape[0], &call->inputs[index]->shape,
                              &call->out_shape[0]) ||
           refuse_broadcast(call, index);
}

/* Broadcasts input `index` into out_shape[0]. */
static bool broadcast(hki_call *call, int index)
{
    const hk_dims *shape = &call->inputs[index]->shape;
    return shape->ndim == 0 || hki_dims_equal(&call->out_shape[0], shape) ||
           broadcast_others(call, index);
}

static __attribute__((noinline)) bool refuse_dtypes(hki_call *call, int first, int index)
{
    char first_name[64], name[64];
    hki_op_input_name(call->op, first, first_name, sizeof first_name);
    hki_op_input_name(call->op, index, name, sizeof name);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "%s is %s and %s %s: no dtype of one kind holds both; use hk_cast",
                           first_name, hk_dtype_name(call->inputs[first]->dtype), name,
                           hk_dtype_name(call->inputs[index]->dtype));
}

/* The dtype of inputs 0 and more becomes one that holds input `index` too. `first`: of the inputs before, one of values. */
static bool same_dtype(hki_call *call, int first, int index)
{
    const hk_dtype dtype = call->inputs[index]->dtype;
    return dtype == call->out_dtype[0] ||
           hk_dtype_promote(call->out_dtype[0], dtype, &call->out_dtype[0]) ||
           refuse_dtypes(call, first, index);
}

static bool infer_unary(hki_call *call)
{
    return hki_infer_same(call);
}

bool hki_infer_test(hki_call *call)
{
    hki_infer_same(call);
    call->out_dtype[0] = HK_BOOL;
    return true;
}

bool hki_infer_binary(hki_call *call)
{
    hki_infer_same(call);
    return same_dtype(call, 0, 1) && broadcast(call, 1);
}

static bool infer_ternary(hki_call *call)
{
    return hki_infer_binary(call) && same_dtype(call, 0, 2) && broadcast(call, 2);
}

bool hki_infer_compare(hki_call *call)
{
    if (!hki_infer_binary(call))
        return false;
    call->out_dtype[0] = HK_BOOL;
    return true;
}

bool hki_infer_where(hki_call *call)
{
    hki_infer_same(call);
    call->out_dtype[0] = call->inputs[1]->dtype; /* input 0 is a condition */
    return same_dtype(call, 1, 2) && broadcast(call, 1) && broadcast(call, 2);
}

/* An integer array takes only numbers that its dtype has. */
static bool check_number(hki_call *call, const char *name, double value)
{
    hk_dtype dtype = call->inputs[0]->dtype;
    int64_t stored;
    if (hki_dtype_is_real(dtype) ||
        (value == trunc(value) && hki_dtype_store(dtype, &stored, value)))
        return true;
    return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s %g is not %s; use hk_cast on x first",
                           name, value, hk_dtype_name(dtype));
}

static bool infer_scalar(hki_call *call)
{
    const hki_scalar_options *options = call->options;
    return hki_infer_same(call) && check_number(call, "value", options->value);
}

/* Infinite ends are those of any dtype. */
static bool check_end(hki_call *call, const char *name, double value)
{
    if (isnan(value))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "%s is NaN; give a number, or an infinite one for none", name);
    return isinf(value) || check_number(call, name, value);
}

static bool infer_range(hki_call *call)
{
    const hki_range_options *range = call->options;
    return hki_infer_same(call) && check_end(call, "min", range->min) &&
           check_end(call, "max", range->max);
}

/* ---- kernels -------------------------------------------------------------------------------------------- */

void hki_plan_elements(const hki_call *call, hki_plan *plan, double ns)
{
    size_t bytes = hki_dtype_bytes(call->out_dtype[0]);
    for (int i = 0; i < call->input_count; i++)
        if (call->inputs[i] && hki_dtype_bytes(call->inputs[i]->dtype) > bytes)
            bytes = hki_dtype_bytes(call->inputs[i]->dtype);
    plan->grain = 1024;
    plan->work_ns *= ns * (double)bytes / 4;
}

static void plan(const hki_call *call, hki_plan *plan)
{
    const row_data *row = call->op->data;
    hki_plan_elements(call, plan, row->ns);
}

/* values: what promotion makes of all inputs that are no condition. */
static void row_of(hki_row *row, const hk_op *op, const void *options, const hk_dtype *in,
                   int count, hk_dtype out)
{
    const row_data *data = op->data;
    hk_dtype values = in[count - 1]; /* the first may be a condition */
    if (out != HK_BOOL)
        values = out;
    else if (count > 1)
        hk_dtype_promote(in[count - 2], in[count - 1], &values);
    hki_row_init(row, data->element, hki_element_numbers(op, options), in, count, values, out);
}

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hk_dtype in[HKI_WALK_MAX_INPUTS] = {call->in[0].dtype};
    hki_row row;
    for (int i = 1; i < call->input_count; i++)
        in[i] = call->in[i].dtype;
    row_of(&row, call->op, call->options, in, call->input_count, call->out[0].dtype);
    int64_t refused = hki_walk_rows(call, begin, end, &row, hki_row_run, hki_row_run_rows);
    if (refused >= 0)
        hki_walk_fail(call, piece, refused, ((const row_data *)call->op->data)->refusal);
}

bool hki_row_of(const hk_op *op, const void *options, const hk_dtype *in, int in_count,
                hk_dtype out, hki_row *row)
{
    if (op->kernel[HKI_CPU] != kernel ||
        (((const row_data *)op->data)->refusal && !hki_dtype_is_real(in[in_count - 1])))
        return false;
    row_of(row, op, options, in, in_count, out);
    return true;
}

/* Of one wide dtype, without a row: this is a call's whole way. All arrays are of one device. */
static bool run_dense(const hki_call *call, const hk_array *out)
{
    const row_data *row = call->op->data;
    const int64_t size = out->size;
    const int count = call->input_count;
    const hk_dtype values = call->arrays[count - 1]->dtype;
    const hki_numbers numbers = hki_element_numbers(call->op, call->options);
    const int64_t from_host = call->device->kernel_offset;
    hki_run run; /* field by field: what is for other inputs stays as it is */
    if (!HKI_USUALLY(out->is_contiguous && hki_wide_of(values) == values))
        return false;
    for (int i = 0; i < count; i++) {
        const hk_array *x = call->arrays[i];
        const int64_t bytes = (int64_t)hki_dtype_bytes(x->dtype);
        if (!HKI_USUALLY(x->is_contiguous && (x->dtype == values || x->dtype == HK_BOOL)))
            return false;
        if (x->size != size && (x->size != 1 || !hki_element_takes_one(row->element, count)))
            return false;
        const char *data = atomic_load_explicit(&x->storage->data, memory_order_acquire);
        run.in[i] = data + from_host + x->offset * bytes;
        run.in_step[i] = x->size == size ? bytes : 0;
    }
    run.n = size;
    run.out = hki_array_kernel_data(out);
    run.out_step = (int64_t)hki_dtype_bytes(out->dtype);
    run.given = &numbers;
    hki_element_loop(row->element, values)(&run);
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
    const hki_numbers numbers = hki_element_numbers(call->op, call->options);
    const bool bits =
        call->out_dtype[0] == HK_BOOL && call->inputs[call->input_count - 1]->dtype == HK_BOOL;
    int64_t size = 0;
    hki_dims_size(&call->out_shape[0], &size);
    for (int64_t i = 0; i < size; i++) {
        double value[HKI_WALK_MAX_INPUTS] = {0};
        for (int j = 0; j < call->input_count; j++)
            value[j] = in[j][source_index(&call->out_shape[0], &call->inputs[j]->shape, i)];
        out[0][i] = row->reference(value, numbers);
        if (bits)
            out[0][i] = fmod(fabs(out[0][i]), 2);
    }
}

/* ---- gradients ------------------------------------------------------------------------------------------ */

void hki_set_summed(hki_grad_call *call, int index, hk_array *full)
{
    hk_array *sum = hki_op_sum_to_shape(full, &call->input_shape[index]);
    const hki_cast_options own = {.dtype = call->input_dtype[index]};
    call->dx[index] =
        sum->failed || sum->dtype == own.dtype ? sum : hki_op_call1(&hki_op_cast, sum, &own);
}

static hk_array *input_gradient(const hki_grad_call *call, const row_gradient *gradient)
{
    if (gradient->form == GRADIENT_SAME)
        return call->dy;
    hk_array *inputs[HKI_WALK_MAX_INPUTS] = {call->dy};
    int count = 1;
    if (gradient->kept & KEPT_a)
        inputs[count++] = call->inputs[0];
    if (gradient->kept & KEPT_b)
        inputs[count++] = call->inputs[1];
    if (gradient->kept & KEPT_y)
        inputs[count++] = call->output;
    const void *options = gradient->op->options_bytes ? call->options : NULL;
    return hki_op_call(gradient->op, inputs, count, options, (hk_device){NULL}, NULL);
}

/* What the row's column says. */
static void grad_row(hki_grad_call *call)
{
    const row_data *row = call->op->data;
    for (int i = 0; i < call->input_count; i++) {
        const row_gradient *gradient = &row->gradient[i];
        if (call->wanted[i] && gradient->form != GRADIENT_ZERO)
            hki_set_summed(call, i, input_gradient(call, gradient));
    }
}

static void grad_subtract(hki_grad_call *call)
{
    if (call->wanted[0])
        hki_set_summed(call, 0, call->dy);
    if (call->wanted[1]) { /* the sum first: it may be smaller */
        hki_set_summed(call, 1, call->dy);
        call->dx[1] = hki_op_call1(&hki_op_negative, call->dx[1], NULL);
    }
}

static void grad_where(hki_grad_call *call)
{
    if (!call->wanted[1] && !call->wanted[2])
        return;
    hk_array *condition = call->inputs[0];
    hk_array *zero = hki_op_call1(&hki_op_multiply_scalar, call->dy, &(hki_scalar_options){0});
    if (call->wanted[1])
        hki_set_summed(call, 1, hki_op_call3(&hki_op_where, condition, call->dy, zero, NULL));
    if (call->wanted[2])
        hki_set_summed(call, 2, hki_op_call3(&hki_op_where, condition, zero, call->dy, NULL));
}

/* ---- the operators -------------------------------------------------------------------------------------- */

/* By kind: signature and infer; the C expressions for inputs and numbers of a reference; options. */
#define KIND_U1  .signature = "x", .infer = infer_unary
#define KIND_U1S .signature = "x", .infer = infer_scalar
#define KIND_U1N KIND_U1S, .internal = true
#define KIND_U1A KIND_U1
#define KIND_U1R .signature = "x", .infer = infer_range
#define KIND_C1  .signature = "x", .infer = hki_infer_test
#define KIND_U2  .signature = "x, y", .infer = hki_infer_binary
#define KIND_C2  .signature = "x, y", .infer = hki_infer_compare
#define KIND_W3                                                                                    \
    .signature = "condition, x, y", .infer = hki_infer_where,                                      \
    .no_grad_inputs = 1 /* dtypes: below */

#define NAMES_U1  double a = in[0]
#define NAMES_U1S NAMES_U1
#define NAMES_U1N NAMES_U1
#define NAMES_U1A NAMES_U1
#define NAMES_U1R NAMES_U1
#define NAMES_C1  NAMES_U1
#define NAMES_U2  double a = in[0], b = in[1]
#define NAMES_C2  NAMES_U2
#define NAMES_W3  double a = in[0], b = in[1], c = in[2]

#define SCALAR_ARGUMENTS(F, op) F(op, F64, value, "", "the number")
#define RANGE_ARGUMENTS(F, op)                                                                     \
    F(op, F64, min, "", "the least result; -INFINITY: none")                                       \
    F(op, F64, max, "", "the largest result, which goes first; INFINITY: none")
#define ARGUMENTS_U1(name)
#define ARGUMENTS_U1S(name) HKI_ARGUMENTS(name, SCALAR_ARGUMENTS)
#define ARGUMENTS_U1N       ARGUMENTS_U1S
#define ARGUMENTS_U1A(name)
#define ARGUMENTS_U1R(name) HKI_ARGUMENTS(name, RANGE_ARGUMENTS)
#define ARGUMENTS_C1(name)
#define ARGUMENTS_U2(name)
#define ARGUMENTS_C2(name)
#define ARGUMENTS_W3(name)
#define PARAMS_U1(name)
#define PARAMS_U1S(name) HKI_OP_PARAMS(name),
#define PARAMS_U1N       PARAMS_U1S
#define PARAMS_U1A(name)
#define PARAMS_U1R(name) HKI_OP_PARAMS(name),
#define PARAMS_C1(name)
#define PARAMS_U2(name)
#define PARAMS_C2(name)
#define PARAMS_W3(name)

/* Floats of all sizes: halves are computed in float32. The first input of W3 is a condition. */
#define WITH_HALVES(set)   ((set)&HKI_FLOATS ? (set) | HKI_HALVES : (set))
#define DTYPES_U1(dtypes)  WITH_HALVES(HKI_##dtypes)
#define DTYPES_U1S(dtypes) WITH_HALVES(HKI_##dtypes)
#define DTYPES_U1N(dtypes) WITH_HALVES(HKI_##dtypes)
#define DTYPES_U1A(dtypes) WITH_HALVES(HKI_##dtypes)
#define DTYPES_U1R(dtypes) WITH_HALVES(HKI_##dtypes)
#define DTYPES_C1(dtypes)  WITH_HALVES(HKI_##dtypes)
#define DTYPES_U2(dtypes)  WITH_HALVES(HKI_##dtypes)
#define DTYPES_C2(dtypes)  WITH_HALVES(HKI_##dtypes)
#define DTYPES_W3(dtypes)  1u << HK_BOOL

/* Of gradients by what is kept. */
#define KIND_G_none  .signature = "dy", .infer = infer_unary
#define KIND_G_a     .signature = "dy, kept", .infer = hki_infer_binary
#define KIND_G_b     KIND_G_a
#define KIND_G_angle KIND_G_a
#define KIND_G_y     KIND_G_a
#define KIND_G_ab    .signature = "dy, kept, other", .infer = infer_ternary
#define KIND_G_ay    KIND_G_ab
#define KIND_G_by    KIND_G_ab
#define KIND_G_known                                                                               \
    KIND_G_ab, .no_grad_inputs = 1u << 2, .gradient_untested = "what is kept depends on x"

#define NAMES_G_none  double g = in[0]
#define NAMES_G_a     double g = in[0], a = in[1]
#define NAMES_G_angle NAMES_G_a
#define NAMES_G_b     double g = in[0], b = in[1]
#define NAMES_G_y     double g = in[0], y = in[1]
#define NAMES_G_ab    double g = in[0], a = in[1], b = in[2]
#define NAMES_G_ay    double g = in[0], a = in[1], y = in[2]
#define NAMES_G_known NAMES_G_ay
#define NAMES_G_by    double g = in[0], b = in[1], y = in[2]

#define WHY_STEPS    "its result is a truth value"
#define WHY_INTEGERS "it is of integers"

/* The gradient column: hk_op's fields, and row_data's. */
#define GRAD_of(kept, ns, expression) .grad = grad_row, .grad_reads = {READS_##kept}
#define GRAD_call(kept, op)           .grad = grad_row, .grad_reads = {READS_##kept}
#define GRAD_same()                   .grad = grad_row
#define GRAD_zero()                   .grad = grad_row
#define GRAD_two(x, y)                .grad = grad_row, .grad_reads = {READS_OF_##x, READS_OF_##y}
#define GRAD_own(op, reads)           .grad = grad_##op, .grad_reads = {READS_##reads}
#define GRAD_none(why)                .no_grad_why = WHY_##why

#define READS_none                        0
#define READS_a                           1
#define READS_angle                       1
#define READS_b                           2
#define READS_y                           HKI_READS_OUTPUT
#define READS_ab                          1 | 2
#define READS_ay                          1 | HKI_READS_OUTPUT
#define READS_known                       READS_ay
#define READS_by                          2 | HKI_READS_OUTPUT
#define READS_nothing                     0
#define READS_condition                   0, 1, 1
#define READS_OF_of(kept, ns, expression) READS_##kept
#define READS_OF_call(kept, op)           READS_##kept
#define READS_OF_same()                   0
#define READS_OF_zero()                   0

#define GRADIENTS(...)                GRADIENTS_(__VA_ARGS__)
#define GRADIENTS_(name, count, x, y) GRADIENTS_##count(name, x, y)
#define GRADIENTS_0(name, x, y)                                                                    \
    {                                                                                              \
        {                                                                                          \
            .form = GRADIENT_ZERO                                                                  \
        }                                                                                          \
    }
#define GRADIENTS_1(name, x, y)                                                                    \
    {                                                                                              \
        GRADIENT(name##_grad, HKI_UNPACK x)                                                        \
    }
#define GRADIENTS_2(name, x, y)                                                                    \
    {                                                                                              \
        GRADIENT(name##_grad_x, HKI_UNPACK x), GRADIENT(name##_grad_y, HKI_UNPACK y)               \
    }
#define GRADIENT(...)                         GRADIENT_(__VA_ARGS__)
#define GRADIENT_(name, form, kept, ns, what) GRADIENT_AS_##form(name, kept, what)
#define GRADIENT_AS_OF(name, kept, expression)                                                     \
    {                                                                                              \
        GRADIENT_CALL, KEPT_##kept, &hki_op_##name                                                 \
    }
#define GRADIENT_AS_CALL(name, kept, op)                                                           \
    {                                                                                              \
        GRADIENT_CALL, KEPT_##kept, &hki_op_##op                                                   \
    }
#define GRADIENT_AS_SAME(name, kept, what)                                                         \
    {                                                                                              \
        GRADIENT_SAME, KEPT_none, NULL                                                             \
    }
#define GRADIENT_AS_ZERO(name, kept, what)                                                         \
    {                                                                                              \
        GRADIENT_ZERO, KEPT_none, NULL                                                             \
    }

/* A row without a role has HKI_FUSE_NONE in the place of one. */
#define ROW(...) ROW_FUSED(__VA_ARGS__, HKI_FUSE_NONE, )
#define ROW_FUSED(kind, op, dtypes, ns, real, integer, expected, samples, gradient, formula, doc,  \
                  role, ...)                                                                       \
    OPERATOR(kind, op, dtypes, ns, expected, samples, gradient, formula, doc, NULL, true, role)
#define CHECKED(kind, op, dtypes, ns, real, integer, expected, samples, gradient, formula, doc,    \
                check, text)                                                                       \
    OPERATOR(kind, op, dtypes, ns, expected, samples, gradient, formula, doc, text, false,         \
             HKI_FUSE_NONE)

#define OPERATOR(kind, op, dtype_set, cost, expected, sampled, gradients, text, about, why,        \
                 never_fails, role)                                                                \
    HKI_EACH_GRADIENT(GRADIENT_OPERATOR, (kind, sampled, role), op, gradients)                     \
    ARGUMENTS_##kind(op) REFERENCE(op, NAMES_##kind, expected) static const row_data data_##op = { \
        .element = HKI_ELEMENT_##op,                                                               \
        .ns = cost,                                                                                \
        .gradient = GRADIENTS(op, HKI_COLUMN_##gradients),                                         \
        .refusal = why,                                                                            \
        .reference = reference_##op};                                                              \
    const hk_op hki_op_##op = {HKI_OP_NAMED(op),                                                   \
                               PARAMS_##kind(op) HKI_OP_SAMPLES(samples_##kind##_##sampled),       \
                               KIND_##kind,                                                        \
                               GRAD_##gradients,                                                   \
                               .doc = about,                                                       \
                               .formula = text,                                                    \
                               .dtypes = DTYPES_##kind(dtype_set),                                 \
                               .fuse = role,                                                       \
                               .infallible = never_fails,                                          \
                               SHARED(op)};

#define GRADIENT_OPERATOR(row, kept, op, ns, expression)                                           \
    GRADIENT_OF_ROW(kept, op, ns, expression, HKI_UNPACK row)
#define GRADIENT_OF_ROW(...) GRADIENT_OF_ROW_(__VA_ARGS__)
#define GRADIENT_OF_ROW_(kept, op, cost, expression, row_kind, sampled, role)                      \
    ARGUMENTS_##row_kind(op)                                                                       \
        REFERENCE(op, NAMES_G_##kept, expression) static const row_data data_##op = {              \
            .element = HKI_ELEMENT_##op, .ns = cost, .reference = reference_##op};                 \
    const hk_op hki_op_##op = {HKI_OP_NAMED(op),                                                   \
                               PARAMS_##row_kind(op)                                               \
                                   HKI_OP_SAMPLES(SAMPLES_##row_kind##_##kept(sampled)),           \
                               KIND_G_##kept,                                                      \
                               .grad = hki_gradient_of_row_gradient,                               \
                               .grad_reads = {2 | 4, 1 | 2 | 4, 1 | 2 | 4},                        \
                               .doc = "",                                                          \
                               .dtypes = HKI_REALS,                                                \
                               .fuse = role == HKI_FUSE_RELU ? HKI_FUSE_RELU_GRAD : HKI_FUSE_NONE, \
                               .infallible = true,                                                 \
                               .internal = true,                                                   \
                               SHARED(op)};

static const bool near = false; /* of references, which are of doubles */
#define REFERENCE(op, names, expression)                                                           \
    static double reference_##op(const double *in, hki_numbers numbers)                            \
    {                                                                                              \
        const double s = numbers.s, t = numbers.t;                                                 \
        const names;                                                                               \
        (void)s, (void)t;                                                                          \
        return expression;                                                                         \
    }
#define SHARED(op)                                                                                 \
    .elementwise = true, .batch = hki_batch_elementwise, .split = HKI_SPLIT_ELEMENTS,              \
    .plan = plan, .kernel = {[HKI_CPU] = kernel}, .run_dense = run_dense, .reference = reference,  \
    .tolerance_f32 = 1e-5, .data = &data_##op

#define F(name) hki_##name##_f64
#define V       double
#include "op/elementwise/elementwise.def"
