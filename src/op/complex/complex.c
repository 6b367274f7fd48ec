/* The operators of complex.def, and those that take complex numbers apart: real, imag, conj, angle; complex_of puts them together. */
#include "op/complex/complex.h"

#include "op/complex/complex_rows.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"

#include <math.h>

typedef struct complex_row {
    hki_loop_fn loop;
    double ns;
    hk_dtype wide, out_wide; /* of inputs that are no condition, and of a result that is not bool */
    hki_element parts; /* what does the same with each part; HKI_ELEMENT_COUNT: nothing does */
} complex_row;

/* ---- calls ---------------------------------------------------------------------------------------------- */

static bool infer_real(hki_call *call)
{
    hki_infer_same(call);
    call->out_dtype[0] = hki_dtype_of_parts(call->out_dtype[0]);
    return true;
}

static bool infer_where(hki_call *call)
{
    const hk_dtype condition = call->inputs[0]->dtype;
    return condition == HK_BOOL ? hki_infer_where(call)
                                : hki_call_refuse(call, HK_UNSUPPORTED,
                                                  "condition is %s, but must be bool; hk_cast "
                                                  "converts",
                                                  hk_dtype_name(condition));
}

static void plan(const hki_call *call, hki_plan *plan)
{
    plan->grain = 512;
    plan->work_ns *= ((const complex_row *)call->op->data)->ns;
}

/* A row, and, where all dtypes are the same, the loop of parts. */
typedef struct row_of_parts {
    hki_row row;
    hki_loop_fn parts; /* NULL: none */
    int64_t bytes;     /* of a part */
} row_of_parts;

/* Dense complex numbers are twice as many real ones. */
static int64_t run_parts(const hki_run *run)
{
    const row_of_parts *self = run->given;
    hki_run part = {.n = 2 * run->n, .out = run->out, .out_step = self->bytes, .given = &self->row};
    bool is_dense = self->parts && run->out_step == 2 * self->bytes;
    for (int i = 0; i < self->row.in_count; i++) {
        part.in[i] = run->in[i];
        part.in_step[i] = self->bytes;
        is_dense &= run->in_step[i] == 2 * self->bytes;
    }
    return is_dense ? self->parts(&part) : hki_row_run(run);
}

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const complex_row *self = call->op->data;
    const hk_dtype out = call->out[0].dtype, part = hki_dtype_of_parts(out);
    hk_dtype in[HKI_WALK_MAX_INPUTS];
    row_of_parts row = {.bytes = (int64_t)hki_dtype_bytes(part)};
    bool is_same = self->parts != HKI_ELEMENT_COUNT;
    (void)piece;
    for (int i = 0; i < call->input_count; i++) {
        in[i] = call->in[i].dtype;
        is_same &= in[i] == out;
    }
    if (is_same)
        row.parts = hki_element_loop(self->parts, part);
    hki_row_init_loop(&row.row, self->loop, hki_element_numbers(call->op, call->options), in,
                      call->input_count, self->wide, out, self->out_wide);
    hki_walk(call, begin, end, &row, run_parts);
}

/* ---- gradients ------------------------------------------------------------------------------------------ */

static hk_array *real_of(hk_array *x)
{
    return hki_op_call1(&hki_op_real, x, NULL);
}

static hk_array *conj_of(hk_array *x)
{
    return hki_op_call1(&hki_op_conj, x, NULL);
}

static hk_array *times(hk_array *x, double number)
{
    return hki_op_call_number(&hki_op_multiply_scalar, x, number);
}

static hk_array *plus(hk_array *x, double number)
{
    return hki_op_call_number(&hki_op_add_scalar, x, number);
}

/* x conj(y), where one is complex */
static hk_array *times_conj(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_complex_multiply_conj, x, y, NULL);
}

/* x / conj(y) */
static hk_array *over_conj(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_divide, x, conj_of(y), NULL);
}

hk_array *hki_gradient_as(hk_array *dy, hk_dtype dtype)
{
    if (!dy->failed && hki_dtype_is_complex(dy->dtype) && !hki_dtype_is_complex(dtype))
        dy = real_of(dy);
    return dy->failed || dy->dtype == dtype
               ? dy
               : hki_op_call1(&hki_op_cast, dy, &(const hki_cast_options){.dtype = dtype});
}

/* Sums what was broadcast. */
static void set(hki_grad_call *call, int index, hk_array *full)
{
    call->dx[index] = hki_gradient_as(hki_op_sum_to_shape(full, &call->input_shape[index]),
                                      call->input_dtype[index]);
}

#define READS_add           0
#define READS_subtract      0
#define READS_multiply      2, 1
#define READS_divide        2, 2 | HKI_READS_OUTPUT
#define READS_power         1 | 2, 1 | HKI_READS_OUTPUT
#define READS_multiply_conj 2, 1
#define READS_where         0, 1, 1
#define READS_same          0
#define READS_scalar        0
#define READS_power_scalar  1
#define READS_conj          0
#define READS_abs           1 | HKI_READS_OUTPUT
#define READS_real          0
#define READS_imag          0
#define READS_flat          0
#define READS_angle         1
#define READS_sign          1 | HKI_READS_OUTPUT

static void grad_add(hki_grad_call *call)
{
    for (int i = 0; i < 2; i++)
        if (call->wanted[i])
            set(call, i, call->dy);
}

static void grad_subtract(hki_grad_call *call)
{
    if (call->wanted[0])
        set(call, 0, call->dy);
    if (call->wanted[1])
        set(call, 1, hki_op_call1(&hki_op_negative, call->dy, NULL));
}

static void grad_multiply(hki_grad_call *call)
{
    for (int i = 0; i < 2; i++)
        if (call->wanted[i])
            set(call, i, times_conj(call->dy, call->inputs[1 - i]));
}

/* y = a conj(b): a gets dy b; b, by way of its conjugate, conj(dy) a. */
static void grad_multiply_conj(hki_grad_call *call)
{
    if (call->wanted[0])
        set(call, 0, hki_op_call2(&hki_op_multiply, call->dy, call->inputs[1], NULL));
    if (call->wanted[1])
        set(call, 1, times_conj(call->inputs[0], call->dy));
}

static void grad_divide(hki_grad_call *call)
{
    hk_array *share = over_conj(call->dy, call->inputs[1]);
    if (call->wanted[0])
        set(call, 0, share);
    if (call->wanted[1])
        set(call, 1, hki_op_call1(&hki_op_negative, times_conj(share, call->output), NULL));
}

/* Slopes b a^(b - 1) and y ln(a). */
static void grad_power(hki_grad_call *call)
{
    hk_array *a = call->inputs[0], *b = call->inputs[1];
    if (call->wanted[0]) {
        hk_array *power = hki_op_call2(&hki_op_power, a, plus(b, -1), NULL);
        set(call, 0, times_conj(times_conj(call->dy, power), b));
    }
    if (call->wanted[1]) { /* of a real a below 0 the logarithm is complex */
        hk_array *base =
            hki_op_call1(&hki_op_cast, a, &(const hki_cast_options){call->output->dtype});
        hk_array *slope = hki_op_call1(&hki_op_log, base, NULL);
        set(call, 1, times_conj(times_conj(call->dy, call->output), slope));
    }
}

static void grad_where(hki_grad_call *call)
{
    hk_array *condition = call->inputs[0], *zero = times(call->dy, 0);
    if (call->wanted[1])
        set(call, 1, hki_op_call3(&hki_op_where, condition, call->dy, zero, NULL));
    if (call->wanted[2])
        set(call, 2, hki_op_call3(&hki_op_where, condition, zero, call->dy, NULL));
}

static void grad_same(hki_grad_call *call)
{
    call->dx[0] = call->dy;
}

/* Of negative, and products with real numbers: the public operator itself. */
static void grad_scalar(hki_grad_call *call)
{
    call->dx[0] = hki_op_call1(call->op, call->dy, call->options);
}

static void grad_power_scalar(hki_grad_call *call)
{
    const double exponent = ((const hki_scalar_options *)call->options)->value;
    hk_array *power = hki_op_call_number(&hki_op_power_scalar, call->inputs[0], exponent - 1);
    call->dx[0] = times_conj(call->dy, times(power, exponent));
}

static void grad_conj(hki_grad_call *call)
{
    call->dx[0] = conj_of(call->dy);
}

/* dy x / |x|, and 0 at 0. */
static void grad_abs(hki_grad_call *call)
{
    hk_array *direction = hki_op_call1(&hki_op_sign, call->inputs[0], NULL);
    call->dx[0] = hki_op_call2(&hki_op_multiply, call->dy, direction, NULL);
}

/* Constant but for jumps. */
static void grad_flat(hki_grad_call *call)
{
    call->dx[0] = hki_op_call1(&hki_op_zeros_like, call->dy, NULL);
}

static hk_array *pair(hk_array *real, hk_array *imag)
{
    return hki_op_call2(&hki_op_complex_of, real, imag, NULL);
}

static void grad_real(hki_grad_call *call)
{
    call->dx[0] = pair(call->dy, hki_op_call1(&hki_op_zeros_like, call->dy, NULL));
}

static void grad_imag(hki_grad_call *call)
{
    call->dx[0] = pair(hki_op_call1(&hki_op_zeros_like, call->dy, NULL), call->dy);
}

/* x, but `other` where x is 0, where no gradient flows. */
static hk_array *never_zero(hk_array *x, hk_array *by_x, double other)
{
    hk_array *none = hki_op_call1(&hki_op_logical_not, x, NULL);
    hk_array *number = plus(hki_op_call1(&hki_op_zeros_like, by_x, NULL), other);
    return hki_op_call3(&hki_op_where, none, number, by_x, NULL);
}

/* i dy / conj(x), and 0 at 0. */
static void grad_angle(hki_grad_call *call)
{
    hk_array *x = call->inputs[0];
    hk_array *turned = pair(hki_op_call1(&hki_op_zeros_like, call->dy, NULL), call->dy);
    call->dx[0] = never_zero(x, over_conj(turned, never_zero(x, x, 1)), 0);
}

/* What of dy is at right angles to y, over |x|; and 0 at 0. */
static void grad_sign(hki_grad_call *call)
{
    hk_array *x = call->inputs[0], *y = call->output;
    hk_array *along = hki_op_call2(&hki_op_multiply, y, real_of(times_conj(call->dy, y)), NULL);
    hk_array *across = hki_op_call2(&hki_op_subtract, call->dy, along, NULL);
    hk_array *length = hki_op_call1(&hki_op_abs, never_zero(x, x, 1), NULL);
    call->dx[0] = never_zero(x, hki_op_call2(&hki_op_divide, across, length, NULL), 0);
}

/* Of functions with a derivative: what it is of x, or of the result y. */
#define UNARY(name, op) hki_op_call1(&hki_op_##op, name, NULL)
#define SLOPE(name, reads, expression)                                                             \
    static void grad_##name(hki_grad_call *call)                                                   \
    {                                                                                              \
        hk_array *x = call->inputs[0], *y = call->output, *dy = call->dy;                          \
        (void)x, (void)y;                                                                          \
        call->dx[0] = expression;                                                                  \
    }                                                                                              \
    enum { READS_##name = reads };
SLOPE(square, 1, times_conj(dy, times(x, 2)))
SLOPE(reciprocal, HKI_READS_OUTPUT, times(times_conj(dy, UNARY(y, square)), -1))
SLOPE(sqrt, HKI_READS_OUTPUT, times(over_conj(dy, y), 0.5))
SLOPE(exp, HKI_READS_OUTPUT, times_conj(dy, y))
SLOPE(expm1, HKI_READS_OUTPUT, times_conj(dy, plus(y, 1)))
SLOPE(log, 1, over_conj(dy, x))
SLOPE(log1p, 1, over_conj(dy, plus(x, 1)))
SLOPE(log2, 1, times(over_conj(dy, x), 1 / M_LN2))
SLOPE(log10, 1, times(over_conj(dy, x), 1 / M_LN10))
SLOPE(sin, 1, times_conj(dy, UNARY(x, cos)))
SLOPE(cos, 1, times(times_conj(dy, UNARY(x, sin)), -1))
SLOPE(tan, HKI_READS_OUTPUT, times_conj(dy, plus(UNARY(y, square), 1)))
SLOPE(asin, 1, over_conj(dy, UNARY(plus(times(UNARY(x, square), -1), 1), sqrt)))
SLOPE(acos, 1, times(over_conj(dy, UNARY(plus(times(UNARY(x, square), -1), 1), sqrt)), -1))
SLOPE(atan, 1, over_conj(dy, plus(UNARY(x, square), 1)))
SLOPE(asinh, 1, over_conj(dy, UNARY(plus(UNARY(x, square), 1), sqrt)))
/* Not of x^2 - 1, whose root is the other one where x is negative. */
SLOPE(acosh, 1, over_conj(over_conj(dy, UNARY(plus(x, 1), sqrt)), UNARY(plus(x, -1), sqrt)))
SLOPE(atanh, 1, over_conj(dy, plus(times(UNARY(x, square), -1), 1)))
SLOPE(sinh, 1, times_conj(dy, UNARY(x, cosh)))
SLOPE(cosh, 1, times_conj(dy, UNARY(x, sinh)))
SLOPE(tanh, HKI_READS_OUTPUT, times_conj(dy, plus(times(UNARY(y, square), -1), 1)))

/* ---- the rows ------------------------------------------------------------------------------------------- */

#define SCALAR_ARGUMENTS(F, op) F(op, F64, value, "", "the number")
HKI_ARGUMENTS_TABLE(scalar, SCALAR_ARGUMENTS)

#define KIND_U1 .signature = "x", .infer = hki_infer_same
#define KIND_U1S                                                                                   \
    .signature = "x", .infer = hki_infer_same, .params = scalar_params,                            \
    .options_bytes = sizeof(hki_scalar_options)
#define KIND_R1      .signature = "x", .infer = infer_real
#define KIND_C1      .signature = "x", .infer = hki_infer_test
#define KIND_U2      .signature = "x, y", .infer = hki_infer_binary
#define KIND_C2      .signature = "x, y", .infer = hki_infer_compare
#define KIND_W3      .signature = "condition, x, y", .infer = infer_where, .no_grad_inputs = 1
#define OUT_WIDE_U1  HK_C128
#define OUT_WIDE_U1S HK_C128
#define OUT_WIDE_R1  HK_F64
#define OUT_WIDE_C1  HK_BOOL
#define OUT_WIDE_U2  HK_C128
#define OUT_WIDE_C2  HK_BOOL
#define OUT_WIDE_W3  HK_C128

/* Real numbers may meet complex ones; conditions are bool. */
#define OF_NUMBERS HKI_REALS | HKI_COMPLEX
#define DTYPES_U1  OF_NUMBERS
#define DTYPES_U1S OF_NUMBERS
#define DTYPES_R1  OF_NUMBERS
#define DTYPES_C1  OF_NUMBERS
#define DTYPES_U2  OF_NUMBERS
#define DTYPES_C2  OF_NUMBERS
#define DTYPES_W3  1u << HK_BOOL | HKI_COMPLEX /* values may be; infer_where checks the condition */

#define GRAD(function) .grad = grad_##function, .grad_reads = {READS_##function}
/* The row says `none`. */
#define grad_none  NULL, .no_grad_why = "there is none yet for complex numbers"
#define READS_none 0

#define OPERATOR(kind, op, public_name, cost, element, gradient)                                   \
    static const complex_row op##_row = {.loop = hki_complex_loop_##public_name,                   \
                                         .ns = cost,                                               \
                                         .wide = HK_C128,                                          \
                                         .out_wide = OUT_WIDE_##kind,                              \
                                         .parts = element};                                        \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        KIND_##kind,                                                                               \
        gradient,                                                                                  \
        .doc = "hk_" #public_name " of complex numbers.",                                          \
        .dtypes = DTYPES_##kind,                                                                   \
        .internal = true,                                                                          \
        .host_only = true,                                                                         \
        .elementwise = true,                                                                       \
        .infallible = true,                                                                        \
        .split = HKI_SPLIT_ELEMENTS,                                                               \
        .plan = plan,                                                                              \
        .kernel = {[HKI_CPU] = kernel},                                                            \
        .untested = "complex_test.c tests it",                                                     \
        .data = &op##_row,                                                                         \
    };
#define ROW(kind, name, ns, expression, gradient)                                                  \
    OPERATOR(kind, complex_##name, name, ns, HKI_ELEMENT_COUNT, GRAD(gradient))
#define PARTS(kind, name, ns, expression, gradient)                                                \
    OPERATOR(kind, complex_##name, name, ns, HKI_ELEMENT_##name, GRAD(gradient))
#define OWN ROW
#include "op/complex/complex.def"
#undef ROW
#undef OWN
#undef PARTS

/* ---- of real numbers, and complex_of ---------------------------------------------------------------------- */

static hk_array *itself(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    return hki_array_view(x, x->shape, x->strides, x->offset);
}

static hk_array *zeros_like(const hki_call *call)
{
    return hki_op_call1(&hki_op_zeros_like, call->arrays[0], NULL);
}

/* No gradient flows. */
static void grad_zero(hki_grad_call *call)
{
    (void)call;
}

/* Of a point on the real axis: atan2(0, x). */
static hk_array *angle_compose(const hki_call *call)
{
    return hki_op_call2(&hki_op_atan2, zeros_like(call), call->arrays[0], NULL);
}

static void same_reference(const hki_call *call, const double *const *in, double *const *out)
{
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][i] = in[0][i];
}

static void zeros_reference(const hki_call *call, const double *const *in, double *const *out)
{
    (void)in;
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][i] = 0;
}

static void angle_reference(const hki_call *call, const double *const *in, double *const *out)
{
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][i] = in[0][i] < 0 ? acos(-1) : 0;
}

static bool infer_pair(hki_call *call)
{
    if (!hki_infer_binary(call))
        return false;
    if (hki_dtype_is_half(call->inputs[1]->dtype) || !hki_dtype_is_real(call->out_dtype[0]))
        return hki_call_refuse(call, HK_UNSUPPORTED,
                               "imag is %s, but may be float32, float64; hk_cast converts",
                               hk_dtype_name(call->inputs[1]->dtype));
    call->out_dtype[0] = call->out_dtype[0] == HK_F64 ? HK_C128 : HK_C64;
    return true;
}

static void grad_pair(hki_grad_call *call)
{
    if (call->wanted[0])
        set(call, 0, real_of(call->dy));
    if (call->wanted[1])
        set(call, 1, hki_op_call1(&hki_op_imag, call->dy, NULL));
}

static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(37)}},
    {.inputs = {HKI_SHAPE_0D}},
    {.inputs = {HKI_SHAPE(3, 0, 2)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7)}},
};
#define OF_REALS(op, set, how, is, gradient, text)                                                 \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op), HKI_OP_SAMPLES(samples), .signature = "x", .doc = text,                  \
        .dtypes = set,    .infer = hki_infer_same, .compose = how,   .grad = gradient,             \
        .reference = is,  .tolerance_f32 = 1e-6}
OF_REALS(real, HKI_ALL_DTYPES, itself, same_reference, NULL,
         "Real parts of complex numbers, as float32 or float64; a view of x where it is real.");
OF_REALS(imag, HKI_ALL_DTYPES, zeros_like, zeros_reference, grad_zero,
         "Imaginary parts of complex numbers, as float32 or float64; zeros where x is real.");
OF_REALS(conj, HKI_ALL_DTYPES, itself, same_reference, NULL,
         "Complex conjugates: imaginary parts with the other sign; a view of x where it is real.");
OF_REALS(angle, HKI_REALS, angle_compose, angle_reference, NULL,
         "Angles of complex numbers, from -pi to pi, as float32 or float64: atan2 of both parts.");

static const complex_row pair_row = {.loop = hki_complex_loop_pair,
                                     .ns = 2,
                                     .wide = HK_F64,
                                     .out_wide = HK_C128,
                                     .parts = HKI_ELEMENT_COUNT};
const hk_op hki_op_complex_of = {
    HKI_OP_NAMED(complex_of),
    .signature = "real, imag",
    .doc = "Complex numbers of these parts, which are broadcast: complex64 of float32, complex128 "
           "where "
           "one is float64.",
    .formula = "real + i imag",
    .dtypes = HKI_FLOATS,
    .host_only = true,
    .elementwise = true,
    .infallible = true,
    .infer = infer_pair,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = kernel},
    .grad = grad_pair,
    .untested = "complex_test.c tests it",
    .data = &pair_row,
};
