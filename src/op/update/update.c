/* The operators of update.def: x, grad, state, coefficients → x, state, in place. */
#include "op/update/update.h"

#include "op/elementwise/elementwise.h"
#include "op/elementwise/share.h"

#include <math.h>
#include <string.h>

HKI_OPTIONS_TABLE(update, UPDATE_OPTIONS)

typedef struct constants {
    double k0, k1, k2, k3, k4, eps, share;
} constants;

/* What sets the operators apart; hk_op.data. */
typedef struct update {
    int slots;
    constants (*prepare)(const hki_update_options *options, const double *coefficients);
    void (*run_f32)(const constants *given, float *x, const float *grad, float *state,
                    int64_t stride, int64_t begin, int64_t end);
    void (*run_f64)(const constants *given, double *x, const double *grad, double *state,
                    int64_t stride, int64_t begin, int64_t end);
} update;

int hki_update_slots(const hk_op *op)
{
    return ((const update *)op->data)->slots;
}

static bool refuse_shape(hki_call *call, const char *what, const hki_shape_view *x,
                         const char *wants)
{
    char has[224];
    hki_shape_view_describe(x, has, sizeof has);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT, "the %s is %s, but must be %s", what, has,
                           wants);
}

static bool infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0], *grad = call->inputs[1], *state = call->inputs[2],
                         *coefficients = call->inputs[3];
    char wants[224];
    hk_dims packed = {.ndim = x->shape.ndim + 1, .dims = {hki_update_slots(call->op)}};
    hki_shape_view_describe(x, wants, sizeof wants);
    if (grad->dtype != x->dtype || !hki_dims_equal(&grad->shape, &x->shape))
        return refuse_shape(call, "gradient", grad, wants);
    if (packed.ndim > HK_MAX_NDIM)
        return hki_call_refuse(call, HK_UNSUPPORTED, "x has %d axes; at most %d can be updated",
                               x->shape.ndim, HK_MAX_NDIM - 1);
    for (int i = 0; i < x->shape.ndim; i++)
        packed.dims[i + 1] = x->shape.dims[i];
    if (state->dtype != x->dtype || !hki_dims_equal(&state->shape, &packed)) {
        hki_dims_describe(&packed, wants, sizeof wants);
        return refuse_shape(call, "state", state, wants);
    }
    if (coefficients->dtype != HK_F64 || coefficients->shape.ndim != 1 ||
        coefficients->size != HKI_UPDATE_COEFFICIENTS)
        return refuse_shape(call, "coefficients' array", coefficients, "float64(2,)");
    call->out_shape[0] = x->shape;
    call->out_shape[1] = packed;
    call->out_dtype[0] = call->out_dtype[1] = x->dtype;
    return true;
}

static void plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 1);
}

/* Elements [begin, end) of the input, where it is not updated in place. */
static void bring(const hki_tensor *in, const hki_tensor *out, int64_t begin, int64_t end)
{
    const size_t bytes = hki_dtype_bytes(out->dtype);
    if (in->data != out->data)
        memcpy((char *)out->data + (size_t)begin * bytes,
               (const char *)in->data + (size_t)begin * bytes, (size_t)(end - begin) * bytes);
}

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const update *self = call->op->data;
    bring(&call->in[0], &call->out[0], begin, end);
    for (int i = 0; i < self->slots; i++) {
        const int64_t slot = i * call->out[0].size;
        bring(&call->in[2], &call->out[1], slot + begin, slot + end);
    }
    const constants given = self->prepare(call->options, call->in[3].data);
    const hki_tensor *x = &call->out[0];
    if (x->dtype == HK_F32)
        self->run_f32(&given, x->data, call->in[1].data, call->out[1].data, x->size, begin, end);
    else
        self->run_f64(&given, x->data, call->in[1].data, call->out[1].data, x->size, begin, end);
}

/* The rows' own loops in double, element by element; unit tests of the optimisers have formulas of their own. */
static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const update *self = call->op->data;
    const constants given = self->prepare(call->options, in[3]);
    const int64_t size = call->inputs[0]->size;
    for (int64_t i = 0; i < size; i++)
        out[0][i] = in[0][i];
    for (int64_t i = 0; i < size * self->slots; i++)
        out[1][i] = in[2][i];
    for (int64_t i = 0; i < size; i++)
        self->run_f64(&given, out[0], in[1], out[1], size, i, i + 1);
}

/* Of the element type. */
#define ROOT(value) _Generic((value), float : sqrtf, double : sqrt)(value)

#define LOOP(name, slots, T, body)                                                                 \
    static void name(const constants *given, T *restrict x_data, const T *restrict grad,           \
                     T *restrict state, int64_t stride, int64_t begin, int64_t end)                \
    {                                                                                              \
        const T k0 = (T)given->k0, k1 = (T)given->k1, k2 = (T)given->k2, k3 = (T)given->k3,        \
                k4 = (T)given->k4, eps = (T)given->eps, share = (T)given->share,                   \
                rest1 = (T)(1 - given->k1), rest2 = (T)(1 - given->k2);                            \
        T *restrict first = state, *restrict second = slots > 1 ? state + stride : state;          \
        (void)k0, (void)k1, (void)k2, (void)k3, (void)k4, (void)eps, (void)rest1, (void)rest2;     \
        for (int64_t i = begin; i < end; i++) {                                                    \
            T x = x_data[i], g = grad[i] * share, s0 = slots > 0 ? first[i] : 0,                   \
              s1 = slots > 1 ? second[i] : 0;                                                      \
            body;                                                                                  \
            x_data[i] = x;                                                                         \
            (void)s0, (void)s1;                                                                    \
            if (slots > 0)                                                                         \
                first[i] = s0;                                                                     \
            if (slots > 1)                                                                         \
                second[i] = s1;                                                                    \
        }                                                                                          \
    }

#define UPDATE(name, slots, setup, body, formula, doc)                                             \
    static constants name##_prepare(const hki_update_options *o, const double *coefficients)       \
    {                                                                                              \
        const double lr = coefficients[HKI_UPDATE_LR], t = coefficients[HKI_UPDATE_STEP];          \
        double k0 = 0, k1 = 0, k2 = 0, k3 = 0, k4 = 0;                                             \
        (void)t;                                                                                   \
        setup;                                                                                     \
        return (constants){k0, k1, k2, k3, k4, o->epsilon, o->batch > 0 ? 1 / o->batch : 1};       \
    }                                                                                              \
    LOOP(name##_f32, slots, float, body)                                                           \
    LOOP(name##_f64, slots, double, body)                                                          \
    static const update name##_data = {slots, name##_prepare, name##_f32, name##_f64};
#include "op/update/update.def"

#define OPTIONS                                                                                    \
    &(const hki_update_options)                                                                    \
    {                                                                                              \
        .batch = 4, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-3              \
    }
#define SAMPLE(slots, ...)                                                                         \
    {                                                                                              \
        .inputs = {HKI_SHAPE(__VA_ARGS__), HKI_SHAPE(__VA_ARGS__), HKI_SHAPE(slots, __VA_ARGS__),  \
                   HKI_SHAPE(2)},                                                                  \
        .options = OPTIONS, .low = 0.5, .high = 2, .own[3] = {                                     \
            true,                                                                                  \
            HK_F64,                                                                                \
            1,                                                                                     \
            3                                                                                      \
        }                                                                                          \
    }

#define UPDATE(op, slots, setup, body, formula_text, doc_text)                                     \
    static const hki_sample op##_samples[] = {                                                     \
        SAMPLE(slots, 3),                                                                          \
        SAMPLE(slots, 0, 3),                                                                       \
        SAMPLE(slots, 70, 1001),                                                                   \
        {.inputs = {HKI_SHAPE_0D, HKI_SHAPE_0D, HKI_SHAPE(slots), HKI_SHAPE(2)},                   \
         .options = OPTIONS,                                                                       \
         .low = 0.5,                                                                               \
         .high = 2,                                                                                \
         .own[3] = {true, HK_F64, 1, 3}},                                                          \
    };                                                                                             \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_SAMPLES(op##_samples),                                                              \
        .params = update_params,                                                                   \
        .options_bytes = sizeof(hki_update_options),                                               \
        .signature = "x, grad, state, coefficients",                                               \
        .doc = doc_text,                                                                           \
        .formula = formula_text,                                                                   \
        .dtypes = HKI_FLOATS,                                                                      \
        .output_count = 2,                                                                         \
        .contiguous = true,                                                                        \
        .infallible = true,                                                                        \
        .internal = true,                                                                          \
        .updates = true,                                                                           \
        .infer = infer,                                                                            \
        .split = HKI_SPLIT_ELEMENTS,                                                               \
        .plan = plan,                                                                              \
        .kernel = {[HKI_CPU] = kernel},                                                            \
        .no_grad_why = "it is what gradients are for",                                             \
        .reference = reference,                                                                    \
        .tolerance_f32 = 1e-5,                                                                     \
        .data = &op##_data,                                                                        \
    };
#include "op/update/update.def"
