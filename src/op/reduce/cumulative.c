/* Cumulative sums and products along an axis. */
#include "base/half.h"
#include "base/integer.h"
#include "op/reduce/line.h"
#include "op/reduce/prod_gradients.h"
#include "op/shape/copy.h"

#define CUMULATIVE_ARGUMENTS(F, op)                                                                \
    F(op, INT, axis, "", "the axis along which elements are gathered")

HKI_ARGUMENTS(cumulative_sum, CUMULATIVE_ARGUMENTS)
typedef hki_cumulative_sum_options line_options;

/* Lines side by side: their gathered values stay in registers or the first cache. Of lines one behind the other so many go
 * together that no addition waits for the last one. */
enum { TILE = 64, APART = 4 };

/* Of `width` lines, of which each begins `beside` elements after the last; inner: from one element of a line to the next. */
typedef void (*cumulate_fn)(const void *x, void *y, int64_t size, int64_t inner, int64_t width,
                            int64_t beside);

/* What sets the operators apart; hk_op.data. */
typedef struct cumulation {
    cumulate_fn run[HK_DTYPE_COUNT];
    bool is_product, is_reverse; /* for the reference */
} cumulation;

static bool infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = hki_sum_dtype(x->dtype);
    return hki_call_check_axis(call, ((const line_options *)call->options)->axis);
}

static void plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    const hki_lines lines =
        hki_lines_of(x->shape.ndim, x->shape.dims, ((const line_options *)call->options)->axis);
    plan->extent = lines.size > 0 ? lines.count : 0;
    plan->grain = lines.inner == 1 ? APART : TILE;
    plan->work_ns = 1.5 * (double)x->size;
}

static hki_batch_kind batch(hki_batch *batch)
{
    return hki_batch_lines(batch, ((const line_options *)batch->options)->axis);
}

#define ADD(a, x)      ((a) + (x))
#define MULTIPLY(a, x) ((a) * (x))
#define SELF(x)        (x)
/* T elements, A what gathers what value_of gives of them (integers wrap around), R those of the result; AT is where step j lies. */
#define LOOP(name, T, A, R, value_of, result_of, START, STEP, AT)                                  \
    static inline void name##_lines(const T *x, R *y, int64_t size, int64_t inner, int64_t width,  \
                                    int64_t beside)                                                \
    {                                                                                              \
        A gathered[TILE];                                                                          \
        for (int64_t i = 0; i < width; i++)                                                        \
            gathered[i] = START;                                                                   \
        for (int64_t j = 0; j < size; j++) {                                                       \
            const int64_t at = (AT)*inner;                                                         \
            for (int64_t i = 0; i < width; i++) {                                                  \
                gathered[i] = STEP(gathered[i], (A)value_of(x[at + i * beside]));                  \
                y[at + i * beside] = (R)result_of(gathered[i]);                                    \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void name(const void *x, void *y, int64_t size, int64_t inner, int64_t width,           \
                     int64_t beside)                                                               \
    {                                                                                              \
        if (beside == 1)                                                                           \
            name##_lines(x, y, size, inner, width, 1);                                             \
        else if (width == APART)                                                                   \
            name##_lines(x, y, size, 1, APART, beside);                                            \
        else                                                                                       \
            name##_lines(x, y, size, 1, width, beside);                                            \
    }
#define INTEGER_LOOP(name, T, START, STEP, AT)                                                     \
    LOOP(name, T, uint64_t, int64_t, SELF, SELF, START, STEP, AT)
#define LOOPS(name, START, STEP, AT, IS_REVERSE)                                                   \
    LOOP(name##_f32, float, double, float, SELF, SELF, START, STEP, AT)                            \
    LOOP(name##_f64, double, double, double, SELF, SELF, START, STEP, AT)                          \
    LOOP(name##_c64, float _Complex, double _Complex, float _Complex, SELF, SELF, START, STEP, AT) \
    LOOP(name##_c128, double _Complex, double _Complex, double _Complex, SELF, SELF, START, STEP,  \
         AT)                                                                                       \
    LOOP(name##_f16, uint16_t, double, uint16_t, hki_f16_to_float, hki_f16_from_double, START,     \
         STEP, AT)                                                                                 \
    LOOP(name##_bf16, uint16_t, double, uint16_t, hki_bf16_to_float, hki_bf16_from_double, START,  \
         STEP, AT)                                                                                 \
    INTEGER_LOOP(name##_i8, int8_t, START, STEP, AT)                                               \
    INTEGER_LOOP(name##_i16, int16_t, START, STEP, AT)                                             \
    INTEGER_LOOP(name##_i32, int32_t, START, STEP, AT)                                             \
    INTEGER_LOOP(name##_i64, int64_t, START, STEP, AT)                                             \
    INTEGER_LOOP(name##_u8, uint8_t, START, STEP, AT)                                              \
    INTEGER_LOOP(name##_u16, uint16_t, START, STEP, AT)                                            \
    INTEGER_LOOP(name##_u32, uint32_t, START, STEP, AT)                                            \
    static const cumulation name##_cumulation = {                                                  \
        .run = {[HK_F32] = name##_f32,                                                             \
                [HK_F64] = name##_f64,                                                             \
                [HK_F16] = name##_f16,                                                             \
                [HK_BF16] = name##_bf16,                                                           \
                [HK_I8] = name##_i8,                                                               \
                [HK_I16] = name##_i16,                                                             \
                [HK_I32] = name##_i32,                                                             \
                [HK_I64] = name##_i64,                                                             \
                [HK_U8] = name##_u8,                                                               \
                [HK_U16] = name##_u16,                                                             \
                [HK_U32] = name##_u32,                                                             \
                [HK_C64] = name##_c64,                                                             \
                [HK_C128] = name##_c128,                                                           \
                [HK_U64] = name##_i64, /* the same bits */                                         \
                [HK_BOOL] = name##_u8},                                                            \
        .is_product = START,                                                                       \
        .is_reverse = IS_REVERSE,                                                                  \
    };

LOOPS(sum, 0, ADD, j, false)
LOOPS(reverse_sum, 0, ADD, size - 1 - j, true)
LOOPS(prod, 1, MULTIPLY, j, false)

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const cumulation *self = call->op->data;
    const hki_tensor *x = &call->in[0], *y = &call->out[0];
    const hki_lines lines =
        hki_lines_of(x->ndim, x->dims, ((const line_options *)call->options)->axis);
    const int64_t x_bytes = (int64_t)hki_dtype_bytes(x->dtype),
                  y_bytes = (int64_t)hki_dtype_bytes(y->dtype);
    (void)piece;
    for (int64_t i = begin, width; i < end; i += width) {
        const int64_t at = hki_lines_at(&lines, i);
        const bool is_apart = lines.inner == 1 && lines.size > 1;
        width = is_apart ? hki_min(end - i, APART)
                         : hki_lines_beside(&lines, i, hki_min(end - i, TILE));
        self->run[x->dtype]((const char *)x->data + at * x_bytes, (char *)y->data + at * y_bytes,
                            lines.size, lines.inner, width, is_apart ? lines.size : 1);
    }
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const cumulation *self = call->op->data;
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_lines lines =
        hki_lines_of(shape->ndim, shape->dims, ((const line_options *)call->options)->axis);
    for (int64_t i = 0; i < lines.count; i++) {
        double gathered = self->is_product ? 1 : 0;
        for (int64_t j = 0; j < lines.size; j++) {
            const int64_t step = self->is_reverse ? lines.size - 1 - j : j;
            const int64_t at = hki_lines_at(&lines, i) + step * lines.inner;
            gathered = self->is_product ? gathered * in[0][at] : gathered + in[0][at];
            out[0][at] = gathered;
        }
    }
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

/* Each element is in all sums from its own on. */
static void sum_grad(hki_grad_call *call)
{
    call->dx[0] = hki_op_call1(&hki_op_reverse_cumulative_sum, call->dy, call->options);
}

static void reverse_sum_grad(hki_grad_call *call)
{
    call->dx[0] = hki_op_call1(&hki_op_cumulative_sum, call->dy, call->options);
}

/* Of complex numbers a gradient is by conjugate slopes, those at the conjugate point. */
static hk_array *conjugate(hk_array *x)
{
    return x && hki_dtype_is_complex(x->dtype) ? hki_op_call1(&hki_op_conj, x, NULL) : x;
}

static void prod_grad(hki_grad_call *call)
{
    hk_array *x = call->inputs[0], *y = call->output;
    if (1u << x->dtype &
        HKI_HALVES) { /* whose products are rounded more than their gradient bears */
        x = hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){.dtype = HK_F32});
        y = hki_op_call1(&hki_op_cumulative_prod, x, call->options);
    }
    hk_array *const inputs[] = {conjugate(x), conjugate(y), call->dy};
    call->dx[0] = hki_op_call_wide(&hki_op_cumulative_prod_backward, inputs, 3, call->options,
                                   call->input_dtype[0]);
}

HKI_CUMULATIVE_PROD_BACKWARD(static, prod_backward_f32, float, double)
HKI_CUMULATIVE_PROD_BACKWARD(static, prod_backward_f64, double, double)
HKI_CUMULATIVE_PROD_BACKWARD(static, prod_backward_c64, float _Complex, double _Complex)
HKI_CUMULATIVE_PROD_BACKWARD(static, prod_backward_c128, double _Complex, double _Complex)

typedef void (*prod_backward_fn)(const void *x, const void *y, const void *dy, void *dx,
                                 int64_t size, int64_t step);
static const prod_backward_fn prod_backward[HK_DTYPE_COUNT] = {[HK_F32] = prod_backward_f32,
                                                               [HK_F64] = prod_backward_f64,
                                                               [HK_C64] = prod_backward_c64,
                                                               [HK_C128] = prod_backward_c128};

static bool backward_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

/* Where element `at` lies. */
static void *element(const hki_tensor *x, int64_t at)
{
    return (char *)x->data + at * (int64_t)hki_dtype_bytes(x->dtype);
}

static void backward_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *in = call->in;
    const hki_lines lines =
        hki_lines_of(in[0].ndim, in[0].dims, ((const line_options *)call->options)->axis);
    (void)piece;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = hki_lines_at(&lines, i);
        prod_backward[in[0].dtype](element(&in[0], at), element(&in[1], at), element(&in[2], at),
                                   element(&call->out[0], at), lines.size, lines.inner);
    }
}

HKI_CUMULATIVE_PROD_SECOND(static, prod_second_f32, float, double)
HKI_CUMULATIVE_PROD_SECOND(static, prod_second_f64, double, double)
HKI_CUMULATIVE_PROD_SECOND(static, prod_second_c64, float _Complex, double _Complex)
HKI_CUMULATIVE_PROD_SECOND(static, prod_second_c128, double _Complex, double _Complex)

/* Of x, y, dy and v: dx and ddy. */
typedef void (*prod_second_fn)(const void *x, const void *y, const void *dy, const void *v,
                               void *dx, void *ddy, int64_t size, int64_t step);
static const prod_second_fn prod_second[HK_DTYPE_COUNT] = {[HK_F32] = prod_second_f32,
                                                           [HK_F64] = prod_second_f64,
                                                           [HK_C64] = prod_second_c64,
                                                           [HK_C128] = prod_second_c128};

static bool second_infer(hki_call *call)
{
    call->out_shape[0] = call->out_shape[1] = call->inputs[0]->shape;
    call->out_dtype[0] = call->out_dtype[1] = call->inputs[0]->dtype;
    return true;
}

static void second_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *in = call->in, *out = call->out;
    const hki_lines lines =
        hki_lines_of(in[0].ndim, in[0].dims, ((const line_options *)call->options)->axis);
    (void)piece;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = hki_lines_at(&lines, i);
        prod_second[in[0].dtype](element(&in[0], at), element(&in[1], at), element(&in[2], at),
                                 element(&in[3], at), element(&out[0], at), element(&out[1], at),
                                 lines.size, lines.inner);
    }
}

/* It reads y as what follows from x, whose gradient has both. */
static void prod_backward_grad(hki_grad_call *call)
{
    hk_array *const inputs[] = {conjugate(call->inputs[0]), conjugate(call->inputs[1]),
                                conjugate(call->inputs[2]), call->dy};
    hk_array *both[2];
    hki_op_call_all(&hki_op_cumulative_prod_second, inputs, 4, call->options, (hk_device){NULL},
                    both, 2);
    if (call->wanted[0])
        call->dx[0] = both[0];
    if (call->wanted[2])
        call->dx[2] = both[1];
}

/* ---- the operators --------------------------------------------------------------------------------------- */

#define AXIS(value)                                                                                \
    &(const line_options)                                                                          \
    {                                                                                              \
        .axis = value                                                                              \
    }
static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(-1)},
    {.inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(0)},
    {.inputs = {HKI_SHAPE(2, 3, 4)}, .options = AXIS(1)},
    {.inputs = {HKI_SHAPE(1)}, .options = AXIS(0)},
    {.inputs = {HKI_SHAPE(0, 4)}, .options = AXIS(1)},
    {.inputs = {HKI_SHAPE(0, 4)}, .options = AXIS(0)},
    {.inputs = {HKI_SHAPE(3, 200)}, .options = AXIS(0)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(0)},
};

#define CUMULATIVE(op, of, gradient, reads, is_internal, why, formula_text, doc_text)              \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_SAMPLES(samples),                                                                   \
        .params = cumulative_sum_params,                                                           \
        .options_bytes = sizeof(line_options),                                                     \
        .signature = "x",                                                                          \
        .doc = doc_text,                                                                           \
        .formula = formula_text,                                                                   \
        .dtypes = HKI_ANY_DTYPE,                                                                   \
        .contiguous = true,                                                                        \
        .internal = is_internal,                                                                   \
        .gpu_dtypes = HKI_GPU_DTYPES | HKI_GPU_SUMS,                                               \
        .infer = infer,                                                                            \
        .split = HKI_SPLIT_PLAN,                                                                   \
        .plan = plan,                                                                              \
        .batch = batch,                                                                            \
        .kernel = {[HKI_CPU] = kernel},                                                            \
        .grad = gradient,                                                                          \
        .grad_reads = {reads},                                                                     \
        .no_grad_why = why,                                                                        \
        .reference = reference,                                                                    \
        .tolerance_f32 = 1e-5,                                                                     \
        .data = &of##_cumulation,                                                                  \
    };

CUMULATIVE(
    cumulative_sum, sum, sum_grad, 0, false, NULL, "y[i] = sum of x[j] for j <= i",
    "Sums of all elements up to each along an axis. float32 is added up in double precision; "
    "unsigned integers give uint64, others and bool int64, which wrap around.")
CUMULATIVE(cumulative_prod, prod, prod_grad, 1 | HKI_READS_OUTPUT, false, NULL,
           "y[i] = product of x[j] for j <= i",
           "Products of all elements up to each along an axis. float32 is multiplied in double "
           "precision; unsigned integers give uint64, others and bool int64, which wrap around.")
CUMULATIVE(reverse_cumulative_sum, reverse_sum, reverse_sum_grad, 0, true, NULL,
           "y[i] = sum of x[j] for j >= i", "Gradient of cumulative_sum.")

const hk_op hki_op_cumulative_prod_backward = {
    HKI_OP_NAMED(cumulative_prod_backward),
    .params = cumulative_sum_params,
    .options_bytes = sizeof(line_options),
    .signature = "x, y, dy",
    .doc = "Gradient of cumulative_prod.",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .internal = true,
    .infer = backward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .kernel = {[HKI_CPU] = backward_kernel},
    .grad = prod_backward_grad,
    .grad_reads = {7, 0, 7},
    .no_grad_inputs = 2,
    .untested = "the gradient of cumulative_prod tests it",
};

const hk_op hki_op_cumulative_prod_second = {
    HKI_OP_NAMED(cumulative_prod_second),
    .params = cumulative_sum_params,
    .options_bytes = sizeof(line_options),
    .signature = "x, y, dy, v",
    .outputs = "dx, ddy",
    .output_count = 2,
    .doc = "What the gradient of cumulative_prod changes by along v, and what y does.",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .internal = true,
    .infer = second_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .kernel = {[HKI_CPU] = second_kernel},
    .no_grad_why = "gradients of the third order are not written",
    .untested = "the second gradient of cumulative_prod tests it",
};
