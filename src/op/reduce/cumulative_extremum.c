/* Cumulative maxima and minima along an axis, and where they are. */
#include "base/half.h"
#include "op/op.h"
#include "op/reduce/line.h"
#include "op/shape/fill.h"

#include <math.h>

#define CUMULATIVE_ARGUMENTS(F, op)                                                                \
    F(op, INT, axis, "", "the axis along which elements are gathered")
HKI_ARGUMENTS(cumulative_max, CUMULATIVE_ARGUMENTS)
typedef hki_cumulative_max_options line_options;

/* One line, whose elements are `step` apart. */
typedef void (*extremum_fn)(const void *x, void *values, int64_t *indices, int64_t size,
                            int64_t step);

/* What sets the operators apart; hk_op.data. */
typedef struct extremum {
    extremum_fn run[HK_DTYPE_COUNT];
    bool is_max; /* for the reference */
} extremum;

static int64_t axis_of(const void *options)
{
    return ((const line_options *)options)->axis;
}

static bool infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    call->out_shape[0] = call->out_shape[1] = x->shape;
    call->out_dtype[0] = x->dtype;
    call->out_dtype[1] = HK_I64;
    return hki_call_check_axis(call, axis_of(call->options));
}

static void plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    const hki_lines lines = hki_lines_of(x->shape.ndim, x->shape.dims, axis_of(call->options));
    plan->extent = lines.size > 0 ? lines.count : 0;
    plan->work_ns = 2 * (double)x->size;
}

static hki_batch_kind batch(hki_batch *batch)
{
    return hki_batch_lines(batch, axis_of(batch->options));
}

/* T elements, of which value_of gives what is compared. Of equal ones the last is named; from a NaN on all are that. */
#define LOOP(name, T, value_of, COMPARES)                                                          \
    static void name(const void *from, void *to, int64_t *indices, int64_t size, int64_t step)     \
    {                                                                                              \
        const T *x = from;                                                                         \
        T *y = to, best = x[0];                                                                    \
        int64_t place = 0;                                                                         \
        for (int64_t j = 0; j < size; j++) {                                                       \
            const T next = x[j * step];                                                            \
            const bool is_best_nan = value_of(best) != value_of(best);                             \
            if (!is_best_nan && !(value_of(best) COMPARES value_of(next))) {                       \
                best = next;                                                                       \
                place = j;                                                                         \
            }                                                                                      \
            y[j * step] = best;                                                                    \
            indices[j * step] = place;                                                             \
        }                                                                                          \
    }
#define SELF(x) (x)
#define LOOPS(name, COMPARES, IS_MAX)                                                              \
    LOOP(name##_f32, float, SELF, COMPARES)                                                        \
    LOOP(name##_f64, double, SELF, COMPARES)                                                       \
    LOOP(name##_f16, uint16_t, hki_f16_to_float, COMPARES)                                         \
    LOOP(name##_bf16, uint16_t, hki_bf16_to_float, COMPARES)                                       \
    LOOP(name##_i8, int8_t, SELF, COMPARES)                                                        \
    LOOP(name##_i16, int16_t, SELF, COMPARES)                                                      \
    LOOP(name##_i32, int32_t, SELF, COMPARES)                                                      \
    LOOP(name##_i64, int64_t, SELF, COMPARES)                                                      \
    LOOP(name##_u8, uint8_t, SELF, COMPARES)                                                       \
    LOOP(name##_u16, uint16_t, SELF, COMPARES)                                                     \
    LOOP(name##_u32, uint32_t, SELF, COMPARES)                                                     \
    LOOP(name##_u64, uint64_t, SELF, COMPARES)                                                     \
    static const extremum name##_extremum = {                                                      \
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
                [HK_U64] = name##_u64,                                                             \
                [HK_BOOL] = name##_u8},                                                            \
        .is_max = IS_MAX,                                                                          \
    };

LOOPS(max, >, true)
LOOPS(min, <, false)

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const extremum *self = call->op->data;
    const hki_tensor *x = &call->in[0], *y = &call->out[0];
    const hki_lines lines = hki_lines_of(x->ndim, x->dims, axis_of(call->options));
    const int64_t bytes = (int64_t)hki_dtype_bytes(x->dtype);
    (void)piece;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = hki_lines_at(&lines, i);
        self->run[x->dtype]((const char *)x->data + at * bytes, (char *)y->data + at * bytes,
                            (int64_t *)call->out[1].data + at, lines.size, lines.inner);
    }
}

static void grad(hki_grad_call *call)
{
    const hki_zeros_options zeros = {.shape = call->input_shape[0], .dtype = call->input_dtype[0]};
    const hk_device device = {call->input_device[0]};
    const int64_t axis = axis_of(call->options);
    call->dx[0] = hki_op_call(&hki_op_zeros, NULL, 0, &zeros, device, NULL);
    if (call->dys[0])
        call->dx[0] =
            hki_op_call3(&hki_op_scatter_add, call->dx[0], call->outputs[1], call->dys[0], &axis);
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const bool is_max = ((const extremum *)call->op->data)->is_max;
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_lines lines = hki_lines_of(shape->ndim, shape->dims, axis_of(call->options));
    for (int64_t i = 0; i < lines.count * lines.size; i++) {
        const int64_t first = hki_lines_at(&lines, i / lines.size), last = i % lines.size;
        int64_t place = 0;
        for (int64_t j = 1; j <= last; j++) {
            const double best = in[0][first + place * lines.inner],
                         next = in[0][first + j * lines.inner];
            place = is_max ? (next >= best ? j : place) : next <= best ? j : place;
        }
        out[0][first + last * lines.inner] = in[0][first + place * lines.inner];
        out[1][first + last * lines.inner] = (double)place;
    }
}

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
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 4)}, .options = AXIS(0)},
};

#define CUMULATIVE(op, of, formula_text, doc_text)                                                 \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_SAMPLES(samples),                                                                   \
        .params = cumulative_max_params,                                                           \
        .options_bytes = sizeof(line_options),                                                     \
        .signature = "x",                                                                          \
        .outputs = "values, indices",                                                              \
        .output_count = 2,                                                                         \
        .doc = doc_text,                                                                           \
        .formula = formula_text,                                                                   \
        .dtypes = HKI_ALL_DTYPES,                                                                  \
        .contiguous = true,                                                                        \
        .host_only = true,                                                                         \
        .infer = infer,                                                                            \
        .split = HKI_SPLIT_PLAN,                                                                   \
        .plan = plan,                                                                              \
        .batch = batch,                                                                            \
        .kernel = {[HKI_CPU] = kernel},                                                            \
        .grad = grad,                                                                              \
        .grad_reads = {HKI_READS_OUTPUT_1},                                                        \
        .reference = reference,                                                                    \
        .data = &of##_extremum,                                                                    \
    };

CUMULATIVE(cumulative_max, max, "values[i] = max of x[j] for j <= i",
           "The largest of all elements up to each along an axis, and where it is, as int64; of "
           "equal ones the last. From a NaN on it is that.")
CUMULATIVE(cumulative_min, min, "values[i] = min of x[j] for j <= i",
           "The smallest of all elements up to each along an axis, and where it is, as int64; of "
           "equal ones the last. From a NaN on it is that.")
