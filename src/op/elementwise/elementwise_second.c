/* Gradients of the gradients of elementwise.def's rows. Such a gradient is dy h(k), of what it keeps: by dy it is h(k), the same
 * operator of what comes for it, and by k it is dy h'(k), which stands here, made of operators that have gradients themselves. */
#include "op/elementwise/elementwise.h"
#include "op/elementwise/elementwise_gradient.h"

#include <math.h>

/* ---- arithmetic ---------------------------------------------------------------------------------------- */

#define UNARY(name, op)                                                                            \
    static hk_array *name(hk_array *x)                                                             \
    {                                                                                              \
        return hki_op_call1(&hki_op_##op, x, NULL);                                                \
    }
#define BINARY(name, op)                                                                           \
    static hk_array *name(hk_array *x, hk_array *y)                                                \
    {                                                                                              \
        return hki_op_call2(&hki_op_##op, x, y, NULL);                                             \
    }
#define WITH_NUMBER(name, op)                                                                      \
    static hk_array *name(hk_array *x, double value)                                               \
    {                                                                                              \
        return hki_op_call_number(&hki_op_##op, x, value);                                         \
    }
UNARY(negative, negative)
UNARY(square, square)
UNARY(reciprocal, reciprocal)
UNARY(exponential, exp)
UNARY(logarithm, log)
UNARY(sigmoid, sigmoid)
UNARY(tangent, tanh)
UNARY(relu, relu)
UNARY(sign, sign)
BINARY(add, add)
BINARY(subtract, subtract)
BINARY(multiply, multiply)
BINARY(divide, divide)
BINARY(power, power)
WITH_NUMBER(plus, add_scalar)
WITH_NUMBER(times, multiply_scalar)
WITH_NUMBER(to_power, power_scalar)

/* 1 where x > 0, else 0. */
static hk_array *step(hk_array *x)
{
    return relu(sign(x));
}

/* a x + b */
static hk_array *line(hk_array *x, double a, double b)
{
    return plus(times(x, a), b);
}

/* x / y, or 0 where y is. */
static hk_array *share(hk_array *x, hk_array *y)
{
    hk_array *is_zero = line(hki_op_call1(&hki_op_abs, sign(y), NULL), -1, 1);
    return multiply(divide(x, add(y, is_zero)), line(is_zero, -1, 1));
}

/* ---- p h'(k): of p = dy ddx, what is kept, in order, and the row's options --------------------------------------- */

typedef hk_array *(*slope_fn)(hk_array *p, hk_array *const *k, double value);

#define SLOPE(name, ...)                                                                           \
    static hk_array *name(hk_array *p, hk_array *const *k, double value)                           \
    {                                                                                              \
        hk_array *x = k[0], *y = k[1];                                                             \
        (void)x, (void)y, (void)value;                                                             \
        return __VA_ARGS__;                                                                        \
    }

/* Constant but for jumps: nothing flows. */
SLOPE(flat, (void)p, NULL)
SLOPE(twice, times(p, 2))
SLOPE(of_divide_b, divide(multiply(p, y), square(x)))
SLOPE(of_divide_y, negative(divide(p, x)))
SLOPE(of_log_of_sum, negative(share(share(p, x), x)))
SLOPE(of_sqrt, times(divide(p, square(x)), -0.5))
SLOPE(minus_twice_x, times(multiply(p, x), -2))
SLOPE(twice_x, times(multiply(p, x), 2))
SLOPE(of_rsqrt, times(multiply(p, to_power(x, -2.5)), 0.75))
SLOPE(of_expm1, multiply(p, exponential(x)))
SLOPE(of_log1p, negative(divide(p, square(plus(x, 1)))))
SLOPE(of_log2, times(divide(p, square(x)), -1 / log(2)))
SLOPE(of_log10, times(divide(p, square(x)), -1 / log(10)))
SLOPE(of_sin, negative(multiply(p, hki_op_call1(&hki_op_sin, x, NULL))))
SLOPE(of_cos, negative(multiply(p, hki_op_call1(&hki_op_cos, x, NULL))))
SLOPE(of_sinh, multiply(p, hki_op_call1(&hki_op_sinh, x, NULL)))
SLOPE(of_cosh, multiply(p, hki_op_call1(&hki_op_cosh, x, NULL)))
SLOPE(of_asin, multiply(multiply(p, x), to_power(line(square(x), -1, 1), -1.5)))
SLOPE(of_acos, negative(of_asin(p, k, value)))
SLOPE(of_atan, times(divide(multiply(p, x), square(plus(square(x), 1))), -2))
SLOPE(of_asinh, negative(multiply(multiply(p, x), to_power(plus(square(x), 1), -1.5))))
SLOPE(of_acosh, negative(multiply(multiply(p, x), to_power(plus(square(x), -1), -1.5))))
SLOPE(of_atanh, times(divide(multiply(p, x), square(line(square(x), -1, 1))), 2))
SLOPE(of_erf, times(multiply(hki_op_call2(&hki_op_erf_grad, p, x, NULL), x), -2))

/* y (y - 1) x^(y - 2), and 0 where y (y - 1) is. */
SLOPE(of_power_x_a,
      hki_op_call3(&hki_op_where, hki_op_call1(&hki_op_logical_not, y, NULL),
                   hki_op_call1(&hki_op_zeros_like, p, NULL),
                   hki_op_call3(&hki_op_power_grad_x, multiply(p, y), x, plus(y, -1), NULL), NULL))
SLOPE(of_power_x_b,
      multiply(multiply(p, power(x, plus(y, -1))), plus(multiply(y, logarithm(x)), 1)))
SLOPE(of_power_y_a, divide(multiply(p, y), x))
SLOPE(of_power_y_y, multiply(p, logarithm(x)))

/* (x, y) / |(x, y)|^2, twice over */
static hk_array *inverse_square(hk_array *x, hk_array *y)
{
    return square(reciprocal(add(square(x), square(y))));
}
SLOPE(of_atan2_mixed, times(multiply(multiply(p, multiply(x, y)), inverse_square(x, y)), -2))
SLOPE(of_atan2_minus_mixed, negative(of_atan2_mixed(p, k, value)))
SLOPE(of_atan2_own, multiply(multiply(p, subtract(square(x), square(y))), inverse_square(x, y)))

/* With l = hypot(x, y): y^2 / l^3, -x y / l^3, x^2 / l^3. */
static hk_array *hypot_slopes(hk_array *p, hk_array *a, hk_array *b, hk_array *x, hk_array *y)
{
    hk_array *length = hki_op_call2(&hki_op_hypot, x, y, NULL);
    return share(multiply(multiply(p, share(a, length)), share(b, length)), length);
}
SLOPE(of_hypot_xx, hypot_slopes(p, y, y, x, y))
SLOPE(of_hypot_mixed, negative(hypot_slopes(p, x, y, x, y)))
SLOPE(of_hypot_yy, hypot_slopes(p, x, x, x, y))

/* p s (1 - s) of s = sigmoid(x), without what rounding s loses; p (1 - t^2) of t = tanh(x). */
static hk_array *sigmoid_slope(hk_array *p, hk_array *x)
{
    return hki_op_call3(&hki_op_sigmoid_grad, p, x, sigmoid(x), NULL);
}
static hk_array *tanh_slope(hk_array *p, hk_array *x)
{
    return hki_op_call3(&hki_op_tanh_grad, p, x, tangent(x), NULL);
}
/* 2 s - 1 of s = sigmoid(x) */
static hk_array *centred_sigmoid(hk_array *x)
{
    return tangent(times(x, 0.5));
}
SLOPE(of_sigmoid, negative(multiply(sigmoid_slope(p, x), centred_sigmoid(x))))
SLOPE(of_tanh, times(multiply(tanh_slope(p, x), tangent(x)), -2))

SLOPE(of_logaddexp_own, sigmoid_slope(p, subtract(x, y)))
SLOPE(of_logaddexp_other, negative(of_logaddexp_own(p, k, value)))
SLOPE(where_not_positive, subtract(p, multiply(p, step(x))))

/* exp(-x^2 / 2) / sqrt(2 pi) (2 - x^2) */
/* x within a limit, beyond which what it goes into is 0: there powers would be infinite, and times 0 NaN. */
static hk_array *bounded(hk_array *x, double limit)
{
    return hki_op_call_number(&hki_op_minimum_scalar,
                              hki_op_call_number(&hki_op_maximum_scalar, x, -limit), limit);
}

static hk_array *of_gelu(hk_array *p, hk_array *const *k, double value)
{
    hk_array *squares = square(bounded(k[0], 40));
    (void)value;
    return times(multiply(multiply(p, exponential(times(squares, -0.5))), line(squares, -1, 2)),
                 1 / sqrt(2 * M_PI));
}

/* With t = tanh(u), u = c (x + d x^3): (1 - t^2) (u' - x t u'^2 + 3 c d x^2). */
static hk_array *of_gelu_tanh(hk_array *p, hk_array *const *k, double value)
{
    const double c = sqrt(2 / M_PI), d = 0.044715;
    hk_array *x = bounded(k[0], 20), *squares = square(x);
    hk_array *slope = line(squares, 3 * c * d, c);
    hk_array *u = multiply(x, line(squares, c * d, c));
    hk_array *sum = subtract(add(slope, times(squares, 3 * c * d)),
                             multiply(multiply(x, tangent(u)), square(slope)));
    (void)value;
    return multiply(tanh_slope(p, u), sum);
}

SLOPE(of_softplus, sigmoid_slope(p, x))

/* s (1 - s) (2 + x (1 - 2 s)) */
static hk_array *of_silu(hk_array *p, hk_array *const *k, double value)
{
    hk_array *x = k[0];
    (void)value;
    return multiply(sigmoid_slope(p, x), line(multiply(x, centred_sigmoid(x)), -1, 2));
}

/* With w = tanh(softplus(x)): s (1 - w^2) (2 + x (1 - s - 2 w s)). */
static hk_array *of_mish(hk_array *p, hk_array *const *k, double value)
{
    hk_array *x = bounded(k[0], 740), *s = sigmoid(x);
    hk_array *rise = hki_op_call1(&hki_op_softplus, x, NULL), *w = tangent(rise);
    hk_array *inner = subtract(sigmoid(negative(x)), times(multiply(w, s), 2));
    (void)value;
    return multiply(multiply(tanh_slope(p, rise), s), plus(multiply(x, inner), 2));
}

/* A third within (-3, 3). */
SLOPE(of_hard_swish,
      times(multiply(p, step(line(hki_op_call1(&hki_op_abs, x, NULL), -1, 3))), 1.0 / 3))
/* Below 0, where the exponential is that of x. */
SLOPE(of_elu,
      times(multiply(where_not_positive(p, k, value), exponential(negative(relu(negative(x))))),
            value))
SLOPE(of_power_scalar, value == 0 || value == 1
                           ? NULL
                           : times(multiply(p, to_power(x, value - 2)), value *(value - 1)))

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* By each of what an operator keeps, in order. */
static const slope_fn slopes[HKI_OP_COUNT][2] = {
    [HKI_OP_ID_divide_grad_y] = {of_divide_b, of_divide_y},
    [HKI_OP_ID_maximum_grad_x] = {flat, flat},
    [HKI_OP_ID_maximum_grad_y] = {flat, flat},
    [HKI_OP_ID_minimum_grad_x] = {flat, flat},
    [HKI_OP_ID_minimum_grad_y] = {flat, flat},
    [HKI_OP_ID_power_grad_x] = {of_power_x_a, of_power_x_b},
    [HKI_OP_ID_power_grad_y] = {of_power_y_a, of_power_y_y},
    [HKI_OP_ID_remainder_grad_y] = {flat, flat},
    [HKI_OP_ID_atan2_grad_x] = {of_atan2_mixed, of_atan2_own},
    [HKI_OP_ID_atan2_grad_y] = {of_atan2_own, of_atan2_minus_mixed},
    [HKI_OP_ID_hypot_grad_x] = {of_hypot_xx, of_hypot_mixed},
    [HKI_OP_ID_hypot_grad_y] = {of_hypot_mixed, of_hypot_yy},
    [HKI_OP_ID_copysign_grad_x] = {flat, flat},
    [HKI_OP_ID_logaddexp_grad_x] = {of_logaddexp_own, of_logaddexp_other},
    [HKI_OP_ID_logaddexp_grad_y] = {of_logaddexp_other, of_logaddexp_own},
    [HKI_OP_ID_prelu_grad_x] = {flat, where_not_positive},
    [HKI_OP_ID_prelu_grad_y] = {where_not_positive},
    [HKI_OP_ID_log_of_sum_grad] = {of_log_of_sum},
    [HKI_OP_ID_sqrt_grad] = {of_sqrt},
    [HKI_OP_ID_abs_grad] = {flat},
    [HKI_OP_ID_square_grad] = {twice},
    [HKI_OP_ID_sigmoid_grad] = {of_sigmoid},
    [HKI_OP_ID_tanh_grad] = {of_tanh},
    [HKI_OP_ID_relu_grad] = {flat},
    [HKI_OP_ID_reciprocal_grad] = {minus_twice_x},
    [HKI_OP_ID_rsqrt_grad] = {of_rsqrt},
    [HKI_OP_ID_expm1_grad] = {of_expm1},
    [HKI_OP_ID_log1p_grad] = {of_log1p},
    [HKI_OP_ID_log2_grad] = {of_log2},
    [HKI_OP_ID_log10_grad] = {of_log10},
    [HKI_OP_ID_sin_grad] = {of_sin},
    [HKI_OP_ID_cos_grad] = {of_cos},
    [HKI_OP_ID_tan_grad] = {twice_x},
    [HKI_OP_ID_asin_grad] = {of_asin},
    [HKI_OP_ID_acos_grad] = {of_acos},
    [HKI_OP_ID_atan_grad] = {of_atan},
    [HKI_OP_ID_sinh_grad] = {of_sinh},
    [HKI_OP_ID_cosh_grad] = {of_cosh},
    [HKI_OP_ID_asinh_grad] = {of_asinh},
    [HKI_OP_ID_acosh_grad] = {of_acosh},
    [HKI_OP_ID_atanh_grad] = {of_atanh},
    [HKI_OP_ID_erf_grad] = {of_erf},
    [HKI_OP_ID_gelu_grad] = {of_gelu},
    [HKI_OP_ID_gelu_tanh_grad] = {of_gelu_tanh},
    [HKI_OP_ID_silu_grad] = {of_silu},
    [HKI_OP_ID_softplus_grad] = {of_softplus},
    [HKI_OP_ID_mish_grad] = {of_mish},
    [HKI_OP_ID_hard_sigmoid_grad] = {flat},
    [HKI_OP_ID_hard_swish_grad] = {of_hard_swish},
    [HKI_OP_ID_elu_grad] = {of_elu},
    [HKI_OP_ID_leaky_relu_grad] = {flat},
    [HKI_OP_ID_clip_grad] = {flat},
    [HKI_OP_ID_power_scalar_grad] = {of_power_scalar},
    [HKI_OP_ID_maximum_scalar_grad] = {flat},
    [HKI_OP_ID_minimum_scalar_grad] = {flat},
};

/* A row that was added without a line above. */
static hk_array *missing(const hki_grad_call *call)
{
    return hki_array_create_failed(
        call->dy->storage->device, call->op->name, NULL, 0, HK_UNSUPPORTED,
        "%s, of which a gradient is made, has no gradient of its own", call->op->name);
}

static hk_array *by_kept(const hki_grad_call *call, int index, hk_array *p)
{
    hk_array *const kept[2] = {call->inputs[1], call->input_count > 2 ? call->inputs[2] : NULL};
    const slope_fn slope = slopes[call->op->id][index - 1];
    const double value =
        call->op->options_bytes ? ((const hki_scalar_options *)call->options)->value : 0;
    return slope ? slope(p, kept, value) : missing(call);
}

void hki_gradient_of_row_gradient(hki_grad_call *call)
{
    hk_array *inputs[3] = {call->dy};
    for (int i = 1; i < call->input_count; i++)
        inputs[i] = call->inputs[i];
    if (call->wanted[0])
        hki_set_summed(call, 0,
                       hki_op_call(call->op, inputs, call->input_count, call->options,
                                   (hk_device){NULL}, NULL));
    for (int i = 1; i < call->input_count; i++) {
        if (!call->wanted[i])
            continue;
        hk_array *full = by_kept(call, i, multiply(call->inputs[0], call->dy));
        if (full)
            hki_set_summed(call, i, full);
    }
}
