/* Gradients of reductions that look at each element again: of max and min, prod, norm. */
#include "op/reduce/prod_gradients.h"
#include "op/reduce/reduce.h"
#include "op/reduce/reduce_kernel.h"

#include <math.h>

HKI_OPTIONS_TABLE(sum, REDUCE_OPTIONS)

static bool backward_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void backward_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    unsigned mask = hki_reduce_mask_of(call->options, x->shape.ndim);
    plan->extent = 1;
    for (int i = 0; i < x->shape.ndim; i++)
        plan->extent *= mask >> i & 1 ? 1 : x->shape.dims[i];
    plan->work_ns = 15 * (double)x->size;
}

/* Of the elements that gave y: dx from x and g, y's gradient, and from v, if there is one, an array like x. hk_op.data of what
 * computes it. */
typedef struct backward_loops {
    void (*f32)(const hki_reduce_axes *gone, const float *x, const float *v, float y, float g,
                float *dx);
    void (*f64)(const hki_reduce_axes *gone, const double *x, const double *v, double y, double g,
                double *dx);
} backward_loops;

#define X_AT(i)  x[hki_reduce_offset(gone, gone->in_strides, i)]
#define V_AT(i)  v[hki_reduce_offset(gone, gone->in_strides, i)]
#define DX_AT(i) dx[hki_reduce_offset(gone, gone->out_strides, i)]

/* Shares g among the elements equal to y: two passes over what goes. */
#define EXTREMUM(name, T)                                                                          \
    static void extremum_##name(const hki_reduce_axes *gone, const T *x, const T *v, T y, T g,     \
                                T *dx)                                                             \
    {                                                                                              \
        int64_t ties = 0;                                                                          \
        (void)v;                                                                                   \
        for (int64_t i = 0; i < gone->count; i++) {                                                \
            T at = X_AT(i);                                                                        \
            ties += at == y || (at != at && y != y);                                               \
        }                                                                                          \
        for (int64_t i = 0; i < gone->count; i++) {                                                \
            T at = X_AT(i);                                                                        \
            bool tie = at == y || (at != at && y != y);                                            \
            DX_AT(i) = tie ? g / (T)ties : 0;                                                      \
        }                                                                                          \
    }

/* g times the product of the others, which is not y / x where one of them is 0. */
#define PROD(name, T)                                                                              \
    static void prod_##name(const hki_reduce_axes *gone, const T *x, const T *v, T y, T g, T *dx)  \
    {                                                                                              \
        int64_t zeros = 0;                                                                         \
        double others = 1;                                                                         \
        (void)y, (void)v;                                                                          \
        for (int64_t i = 0; i < gone->count; i++) {                                                \
            T at = X_AT(i);                                                                        \
            zeros += at == 0;                                                                      \
            others *= at == 0 ? 1 : (double)at;                                                    \
        }                                                                                          \
        for (int64_t i = 0; i < gone->count; i++) {                                                \
            T at = X_AT(i);                                                                        \
            double share = zeros > (at == 0) ? 0 : at == 0 ? others : others / (double)at;         \
            DX_AT(i) = (T)((double)g * share);                                                     \
        }                                                                                          \
    }

#define NORM(name, T)                                                                              \
    static void norm_##name(const hki_reduce_axes *gone, const T *x, const T *v, T y, T g, T *dx)  \
    {                                                                                              \
        const double share = y == 0 ? 0 : (double)g / (double)y;                                   \
        const bool is_line =                                                                       \
            gone->ndim == 1 && gone->in_strides[0] == 1 && gone->out_strides[0] == 1;              \
        (void)v;                                                                                   \
        if (isinf(share) || (share != 0 && fabs(share) < 0x1p-1022)) { /* neither is g / y */      \
            for (int64_t i = 0; i < gone->count; i++)                                              \
                DX_AT(i) = X_AT(i) / y * g;                                                        \
        } else if (is_line) {                                                                      \
            for (int64_t i = 0; i < gone->count; i++)                                              \
                dx[i] = y == 0 ? 0 : (T)((double)x[i] * share);                                    \
        } else {                                                                                   \
            for (int64_t i = 0; i < gone->count; i++)                                              \
                DX_AT(i) = y == 0 ? 0 : (T)((double)X_AT(i) * share);                              \
        }                                                                                          \
    }

EXTREMUM(f32, float)
EXTREMUM(f64, double)
PROD(f32, float)
PROD(f64, double)
NORM(f32, float)
NORM(f64, double)
HKI_PROD_SECOND(static, prod_second_f32, float, hki_reduce_axes)
HKI_PROD_SECOND(static, prod_second_f64, double, hki_reduce_axes)

static const backward_loops extremum_loops = {extremum_f32, extremum_f64};
static const backward_loops prod_loops = {prod_f32, prod_f64};
static const backward_loops prod_second_loops = {prod_second_f32, prod_second_f64};
static const backward_loops norm_loops = {norm_f32, norm_f64};

static void backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const backward_loops *loops = call->op->data;
    const hki_sum_options *options = call->options;
    const hki_tensor *x = &call->in[0], *y = &call->in[1], *dy = &call->in[2], *dx = &call->out[0];
    const void *v = call->input_count > 3 ? call->in[3].data : NULL; /* and x are contiguous then */
    const unsigned mask = hki_reduce_mask_of(options, x->ndim);
    int64_t y_strides[HK_MAX_NDIM], dy_strides[HK_MAX_NDIM];
    hki_reduce_axes kept = {.count = 1}, gone = {.count = 1};
    (void)piece;
    hki_reduce_spread(x->ndim, mask, options->keepdims, y->strides, y_strides);
    hki_reduce_spread(x->ndim, mask, options->keepdims, dy->strides, dy_strides);
    int64_t y_of[HK_MAX_NDIM], dy_of[HK_MAX_NDIM];
    for (int i = 0; i < x->ndim; i++) {
        hki_reduce_axes *axes = mask >> i & 1 ? &gone : &kept;
        if (axes == &kept) {
            y_of[kept.ndim] = y_strides[i];
            dy_of[kept.ndim] = dy_strides[i];
        }
        axes->count *= x->dims[i];
        axes->dims[axes->ndim] = x->dims[i];
        axes->in_strides[axes->ndim] = x->strides[i];
        axes->out_strides[axes->ndim++] = dx->strides[i];
    }
    for (int64_t k = begin; k < end; k++) {
        int64_t x_at = hki_reduce_offset(&kept, kept.in_strides, k);
        int64_t dx_at = hki_reduce_offset(&kept, kept.out_strides, k);
        int64_t y_at = hki_reduce_offset(&kept, y_of, k);
        int64_t dy_at = hki_reduce_offset(&kept, dy_of, k);
        if (x->dtype == HK_F32)
            loops->f32(&gone, (const float *)x->data + x_at, v ? (const float *)v + x_at : NULL,
                       ((const float *)y->data)[y_at], ((const float *)dy->data)[dy_at],
                       (float *)dx->data + dx_at);
        else
            loops->f64(&gone, (const double *)x->data + x_at, v ? (const double *)v + x_at : NULL,
                       ((const double *)y->data)[y_at], ((const double *)dy->data)[dy_at],
                       (double *)dx->data + dx_at);
    }
}
/* ---- their gradients -------------------------------------------------------------------------------------- */

static hk_array *multiply(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

static hk_array *sum_over(hk_array *x, const void *options)
{
    return hki_op_call1(&hki_op_sum, x, options);
}

/* What dy is multiplied by: the gradient of dy = 1. */
static hk_array *factor(const hki_grad_call *call)
{
    hk_array *ones = hki_op_call1(&hki_op_ones_like, call->inputs[2], NULL);
    return hki_op_call3(call->op, call->inputs[0], call->inputs[1], ones, call->options);
}

/* Linear in dy; which elements are the extreme ones changes by jumps. */
static void extremum_grad(hki_grad_call *call)
{
    if (call->wanted[2])
        call->dx[2] = sum_over(multiply(call->dy, factor(call)), call->options);
}

static void prod_grad(hki_grad_call *call)
{
    hk_array *const inputs[] = {call->inputs[0], call->inputs[1], call->inputs[2], call->dy};
    if (call->wanted[0])
        call->dx[0] =
            hki_op_call(&hki_op_prod_second, inputs, 4, call->options, (hk_device){NULL}, NULL);
    if (call->wanted[2])
        call->dx[2] = sum_over(multiply(call->dy, factor(call)), call->options);
}

/* 1 / y, and 0 where y is: it is not negative. */
static hk_array *inverse_or_zero(hk_array *y)
{
    hk_array *sign = hki_op_call1(&hki_op_sign, y, NULL),
             *ones = hki_op_call1(&hki_op_ones_like, y, NULL);
    hk_array *divisor =
        hki_op_call2(&hki_op_add, y, hki_op_call2(&hki_op_subtract, ones, sign, NULL), NULL);
    return hki_op_call2(&hki_op_divide, sign, divisor, NULL);
}

/* Of x dy / y. */
static void norm_grad(hki_grad_call *call)
{
    hk_array *x = call->inputs[0], *y = call->inputs[1], *dy = call->inputs[2];
    hk_array *inverse = inverse_or_zero(y), *share = multiply(dy, inverse);
    hk_array *along = multiply(sum_over(multiply(call->dy, x), call->options), inverse);
    if (call->wanted[0])
        call->dx[0] =
            multiply(call->dy, hki_reduce_stretch(share, &call->input_shape[0], call->options));
    if (call->wanted[1])
        call->dx[1] = hki_op_call1(&hki_op_negative, multiply(along, share), NULL);
    if (call->wanted[2])
        call->dx[2] = along;
}

#define BACKWARD(op, loops, on_gpus, gradient, reads, why, doc_text)                               \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        .params = sum_params,                                                                      \
        .options_bytes = sizeof(hki_sum_options),                                                  \
        .signature = "x, y, dy",                                                                   \
        .doc = doc_text,                                                                           \
        .dtypes = HKI_FLOATS,                                                                      \
        .internal = true,                                                                          \
        .host_only = !(on_gpus),                                                                   \
        .infer = backward_infer,                                                                   \
        .split = HKI_SPLIT_PLAN,                                                                   \
        .plan = backward_plan,                                                                     \
        .kernel = {[HKI_CPU] = backward_cpu},                                                      \
        .grad = gradient,                                                                          \
        .grad_reads = {reads, reads, reads},                                                       \
        .no_grad_why = why,                                                                        \
        .untested = "the gradients that call it test it",                                          \
        .data = &loops,                                                                            \
    };
BACKWARD(extremum_backward, extremum_loops, true, extremum_grad, 7, NULL,
         "Gradient of max and min.")
BACKWARD(prod_backward, prod_loops, true, prod_grad, 7, NULL, "Gradient of prod.")
const hk_op hki_op_prod_second = {
    HKI_OP_NAMED(prod_second),
    .params = sum_params,
    .options_bytes = sizeof(hki_sum_options),
    .signature = "x, y, dy, v",
    .doc = "What the gradient of prod changes by along v.",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .internal = true,
    .infer = backward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = backward_plan,
    .kernel = {[HKI_CPU] = backward_cpu},
    .no_grad_why = "gradients of the third order are not written",
    .untested = "the second gradient of prod tests it",
    .data = &prod_second_loops,
};
BACKWARD(norm_backward, norm_loops, true, norm_grad, 7, NULL, "Gradient of norm.")
