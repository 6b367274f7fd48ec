/* Element by element: one function of Hocket's, or a few. */
#include "rows.h"

#include <math.h>
#include <string.h>

/* ---- one input, one function ----------------------------------------------------------------- */

#define UNARY(name, function)                                                                      \
    static bool run_##name(onnx_call *call)                                                        \
    {                                                                                              \
        hk_array *x = onnx_in(call, 0);                                                            \
        return onnx_out(call, 0, x ? function(x) : NULL);                                          \
    }
UNARY(abs, hk_abs)
UNARY(acos, hk_acos)
UNARY(acosh, hk_acosh)
UNARY(asin, hk_asin)
UNARY(asinh, hk_asinh)
UNARY(atan, hk_atan)
UNARY(atanh, hk_atanh)
UNARY(bitwise_not, hk_bitwise_invert)
UNARY(ceil, hk_ceil)
UNARY(cos, hk_cos)
UNARY(cosh, hk_cosh)
UNARY(erf, hk_erf)
UNARY(exp, hk_exp)
UNARY(floor, hk_floor)
UNARY(is_nan, hk_isnan)
UNARY(log, hk_log)
UNARY(mish, hk_mish)
UNARY(neg, hk_negative)
UNARY(not, hk_logical_not)
UNARY(reciprocal, hk_reciprocal)
UNARY(relu, hk_relu)
UNARY(round, hk_round)
UNARY(sigmoid, hk_sigmoid)
UNARY(sign, hk_sign)
UNARY(sin, hk_sin)
UNARY(sinh, hk_sinh)
UNARY(softplus, hk_softplus)
UNARY(sqrt, hk_sqrt)
UNARY(tan, hk_tan)
UNARY(tanh, hk_tanh)

/* ---- two inputs ------------------------------------------------------------------------------ */

/* Until opset 6 y's axes were put where the attribute axis says. */
static hk_array *second(onnx_call *call, hk_array *x)
{
    hk_array *y = onnx_in(call, 1);
    if (!x || !y || onnx_opset(call) >= 7 || !onnx_int(call, "broadcast", 0))
        return y;
    const hk_dims to = hk_dims_get(x);
    hk_dims shape = hk_dims_get(y);
    const int64_t axis = onnx_int(call, "axis", to.ndim - shape.ndim);
    const int behind = (int)(to.ndim - (axis < 0 ? axis + to.ndim : axis) - shape.ndim);
    for (int i = 0; i < behind && shape.ndim < HK_MAX_NDIM; i++)
        shape.dims[shape.ndim++] = 1;
    return hk_reshape(y, shape);
}

#define BINARY(name, function)                                                                     \
    static bool run_##name(onnx_call *call)                                                        \
    {                                                                                              \
        hk_array *x = onnx_in(call, 0), *y = second(call, x);                                      \
        return onnx_out(call, 0, x && y ? function(x, y) : NULL);                                  \
    }
BINARY(add, hk_add)
BINARY(and, hk_logical_and)
BINARY(bitwise_and, hk_bitwise_and)
BINARY(bitwise_or, hk_bitwise_or)
BINARY(bitwise_xor, hk_bitwise_xor)
BINARY(equal, hk_equal)
BINARY(greater, hk_greater)
BINARY(greater_or_equal, hk_greater_equal)
BINARY(less, hk_less)
BINARY(less_or_equal, hk_less_equal)
BINARY(mul, hk_multiply)
BINARY(or, hk_logical_or)
BINARY(sub, hk_subtract)
BINARY(xor, hk_logical_xor)

static bool is_integer(const hk_array *x)
{
    const hk_dtype dtype = hk_array_dtype(x);
    return dtype == HK_I8 || dtype == HK_I16 || dtype == HK_I32 || dtype == HK_I64 ||
           dtype == HK_U8 || dtype == HK_U16 || dtype == HK_U32 || dtype == HK_U64;
}

static bool is_unsigned(const hk_array *x)
{
    const hk_dtype dtype = hk_array_dtype(x);
    return dtype == HK_U8 || dtype == HK_U16 || dtype == HK_U32 || dtype == HK_U64;
}

/* Of integers as C has it: towards 0. */
static bool run_div(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *y = second(call, x);
    if (!x || !y)
        return onnx_out(call, 0, NULL);
    if (!is_integer(x))
        return onnx_out(call, 0, hk_divide(x, y));
    hk_array *down = hk_floor_divide(x, y);
    if (is_unsigned(x))
        return onnx_out(call, 0, down);
    /* One more where something is left and the signs differ. */
    hk_array *rest = hk_not_equal(hk_multiply(down, y), x);
    hk_array *differs =
        hk_not_equal(hk_less(x, onnx_number_like(0, x)), hk_less(y, onnx_number_like(0, y)));
    return onnx_out(call, 0,
                    hk_add(down, hk_cast(hk_logical_and(rest, differs), hk_array_dtype(x))));
}

static bool run_pow(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *y = second(call, x);
    if (!x || !y)
        return onnx_out(call, 0, NULL);
    const hk_dtype dtype = hk_array_dtype(x);
    if (hk_array_dtype(y) == dtype)
        return onnx_out(call, 0, hk_power(x, y));
    if (is_integer(x) && !is_integer(y)) /* the result is x's, computed as y's */
        return onnx_out(call, 0, hk_cast(hk_power(hk_cast(x, HK_F64), hk_cast(y, HK_F64)), dtype));
    return onnx_out(call, 0, hk_power(x, hk_cast(y, dtype)));
}

/* x - y trunc(x / y), with the sign of x; or of y. */
static bool run_mod(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *y = onnx_in(call, 1);
    if (!x || !y)
        return onnx_out(call, 0, NULL);
    hk_array *by_y = hk_remainder(x, y);
    if (!onnx_int(call, "fmod", 0) || is_unsigned(x))
        return onnx_out(call, 0, by_y);
    hk_array *zero = onnx_number_like(0, x);
    hk_array *moved = hk_subtract(by_y, y);
    hk_array *differs = hk_logical_and(hk_not_equal(by_y, zero),
                                       hk_not_equal(hk_less(by_y, zero), hk_less(x, zero)));
    return onnx_out(call, 0, hk_where(differs, moved, by_y));
}

/* By as many places as the dtype has, or by a negative number: all bits are lost, or become the
 * sign. */
static bool run_shift(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *y = onnx_in(call, 1);
    const bool left = onnx_text_is(call, "direction", "LEFT", NULL);
    if (!left && !onnx_text_is(call, "direction", "RIGHT", NULL))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "direction is neither LEFT nor RIGHT");
    if (!x || !y)
        return onnx_out(call, 0, NULL);
    if (!is_unsigned(y)) {
        const int bits = 8 * (int)hk_dtype_bytes(hk_array_dtype(y));
        y = hk_where(hk_less(y, 0), bits, y);
    }
    return onnx_out(call, 0, left ? hk_bitwise_left_shift(x, y) : hk_bitwise_right_shift(x, y));
}

/* Until opset 6 slopes of one axis are those of channels. */
static bool run_prelu(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *slope = onnx_in(call, 1);
    if (!x || !slope)
        return onnx_out(call, 0, NULL);
    if (onnx_opset(call) < 7 && hk_ndim(slope) == 1 && hk_ndim(x) > 2) {
        hk_dims shape = {.ndim = hk_ndim(x) - 1, .dims = {hk_dim(slope, 0)}};
        for (int i = 1; i < shape.ndim; i++)
            shape.dims[i] = 1;
        slope = hk_reshape(slope, shape);
    }
    return onnx_out(call, 0,
                    hk_where(hk_less(x, onnx_number_like(0, x)), hk_multiply(x, slope), x));
}

/* ---- many inputs ----------------------------------------------------------------------------- */

static bool fold(onnx_call *call, hk_array *(*join)(hk_array *, hk_array *), bool is_mean)
{
    hk_array *x = onnx_in(call, 0);
    for (int i = 1; x && i < onnx_in_count(call); i++) {
        hk_array *y = onnx_in(call, i);
        x = y ? join(x, y) : NULL;
    }
    if (x && is_mean)
        x = hk_divide(x, onnx_number_like(onnx_in_count(call), x));
    return onnx_out(call, 0, x);
}

static hk_array *add(hk_array *x, hk_array *y)
{
    return hk_add(x, y);
}

static hk_array *larger(hk_array *x, hk_array *y)
{
    return hk_maximum(x, y);
}

static hk_array *smaller(hk_array *x, hk_array *y)
{
    return hk_minimum(x, y);
}

static bool run_sum(onnx_call *call)
{
    return fold(call, add, false);
}

static bool run_mean(onnx_call *call)
{
    return fold(call, add, true);
}

static bool run_max(onnx_call *call)
{
    return fold(call, larger, false);
}

static bool run_min(onnx_call *call)
{
    return fold(call, smaller, false);
}

/* ---- with numbers ---------------------------------------------------------------------------- */

/* The attribute until opset 10, then an input. */
static bool run_clip(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    if (onnx_opset(call) < 11)
        return onnx_out(
            call, 0,
            hk_clip(x, onnx_float(call, "min", -INFINITY), onnx_float(call, "max", INFINITY)));
    if (onnx_has(call, 1))
        x = hk_maximum(x, onnx_in(call, 1));
    if (onnx_has(call, 2))
        x = hk_minimum(x, onnx_in(call, 2));
    return onnx_out(call, 0, hk_copy(x));
}

static bool run_leaky_relu(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    return onnx_out(call, 0, x ? hk_leaky_relu(x, onnx_float(call, "alpha", .01)) : NULL);
}

static bool run_elu(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    return onnx_out(call, 0, x ? hk_elu(x, onnx_float(call, "alpha", 1)) : NULL);
}

/* a * x + b, in [0, 1] */
static bool run_hard_sigmoid(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    x = hk_add(hk_multiply(x, onnx_number_like(onnx_float(call, "alpha", .2), x)),
               onnx_number_like(onnx_float(call, "beta", .5), x));
    return onnx_out(call, 0, hk_clip(x, 0, 1));
}

static bool run_hard_swish(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    return onnx_out(call, 0, x ? hk_hard_swish(x) : NULL);
}

static bool run_gelu(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const bool by_tanh = onnx_text_is(call, "approximate", "tanh", "none");
    return onnx_out(call, 0, !x ? NULL : by_tanh ? hk_gelu_tanh(x) : hk_gelu(x));
}

static bool run_swish(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const double alpha = onnx_float(call, "alpha", 1);
    return onnx_out(call, 0,
                    alpha == 1
                        ? hk_silu(x)
                        : hk_multiply(x, hk_sigmoid(hk_multiply(x, onnx_number_like(alpha, x)))));
}

/* gamma * x, or gamma * alpha * (exp(x) - 1) where x < 0 */
static bool run_selu(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const double alpha = onnx_float(call, "alpha", 1.67326319217681884765625);
    const double gamma = onnx_float(call, "gamma", 1.05070102214813232421875);
    return onnx_out(call, 0, hk_multiply(hk_elu(x, alpha), onnx_number_like(gamma, x)));
}

/* max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) */
static bool run_celu(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    hk_array *alpha = onnx_number_like(onnx_float(call, "alpha", 1), x);
    hk_array *low = hk_multiply(alpha, hk_expm1(hk_divide(x, alpha)));
    return onnx_out(call, 0, hk_add(hk_relu(x), hk_minimum(low, onnx_number_like(0, x))));
}

static bool run_thresholded_relu(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    hk_array *limit = onnx_number_like(onnx_float(call, "alpha", 1), x);
    return onnx_out(call, 0, hk_where(hk_greater(x, limit), x, onnx_number_like(0, x)));
}

/* 1 above a threshold, else 0. */
static bool run_binarizer(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    hk_array *limit = onnx_number_like(onnx_float(call, "threshold", 0), x);
    return onnx_out(call, 0, hk_cast(hk_greater(x, limit), hk_array_dtype(x)));
}

/* x / (1 + |x|) */
static bool run_softsign(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    return onnx_out(call, 0, x ? hk_divide(x, hk_add(hk_abs(x), onnx_number_like(1, x))) : NULL);
}

/* Towards 0 by bias beyond lambd, else 0. */
static bool run_shrink(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const double limit = onnx_float(call, "lambd", .5), bias = onnx_float(call, "bias", 0);
    hk_array *zero = onnx_number_like(0, x), *by = onnx_number_like(bias, x);
    hk_array *low = hk_less(x, onnx_number_like(-limit, x));
    hk_array *high = hk_greater(x, onnx_number_like(limit, x));
    return onnx_out(call, 0,
                    hk_where(low, hk_add(x, by), hk_where(high, hk_subtract(x, by), zero)));
}

static bool run_is_inf(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const bool low = onnx_int(call, "detect_negative", 1),
               high = onnx_int(call, "detect_positive", 1);
    hk_array *found = hk_isinf(x);
    if (!low)
        found = hk_logical_and(found, hk_greater(x, onnx_number_like(0, x)));
    if (!high)
        found = hk_logical_and(found, hk_less(x, onnx_number_like(0, x)));
    return onnx_out(call, 0, found);
}

static bool run_where(onnx_call *call)
{
    hk_array *condition = onnx_in(call, 0), *x = onnx_in(call, 1), *y = onnx_in(call, 2);
    return onnx_out(call, 0, condition && x && y ? hk_where(condition, x, y) : NULL);
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static bool is_floating(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_F64 || dtype == HK_F16 || dtype == HK_BF16;
}

static bool cast(onnx_call *call, hk_array *x, hk_dtype dtype)
{
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dtype from = hk_array_dtype(x);
    const bool wraps =
        !is_floating(from) && !is_floating(dtype) && dtype != HK_BOOL && from != HK_BOOL;
    return onnx_out(call, 0, wraps ? hk_wrap(x, dtype) : hk_cast(x, dtype));
}

static bool run_cast(onnx_call *call)
{
    hk_dtype dtype;
    const int64_t to = onnx_int(call, "to", 0);
    if (!onnx_dtype_of((int32_t)to, &dtype))
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "a cast to ONNX's type %d, which Hocket does not have", (int)to);
    return cast(call, onnx_in(call, 0), dtype);
}

static bool run_cast_like(onnx_call *call)
{
    hk_array *like = onnx_in(call, 1);
    return like ? cast(call, onnx_in(call, 0), hk_array_dtype(like)) : onnx_out(call, 0, NULL);
}

const onnx_row onnx_rows_elementwise[] = {
    {"Abs", run_abs, 0},
    {"Acos", run_acos, 0},
    {"Acosh", run_acosh, 0},
    {"Add", run_add, 0},
    {"And", run_and, 0},
    {"Asin", run_asin, 0},
    {"Asinh", run_asinh, 0},
    {"Atan", run_atan, 0},
    {"Atanh", run_atanh, 0},
    {"BitShift", run_shift, 0},
    {"BitwiseAnd", run_bitwise_and, 0},
    {"BitwiseNot", run_bitwise_not, 0},
    {"BitwiseOr", run_bitwise_or, 0},
    {"BitwiseXor", run_bitwise_xor, 0},
    {"Cast", run_cast, 0},
    {"CastLike", run_cast_like, 0},
    {"Ceil", run_ceil, 0},
    {"Celu", run_celu, 0},
    {"Clip", run_clip, 0},
    {"Cos", run_cos, 0},
    {"Cosh", run_cosh, 0},
    {"Div", run_div, 0},
    {"Elu", run_elu, 0},
    {"Equal", run_equal, 0},
    {"Erf", run_erf, 0},
    {"Exp", run_exp, 0},
    {"Floor", run_floor, 0},
    {"Gelu", run_gelu, 0},
    {"Greater", run_greater, 0},
    {"GreaterOrEqual", run_greater_or_equal, 0},
    {"HardSigmoid", run_hard_sigmoid, 0},
    {"HardSwish", run_hard_swish, 0},
    {"IsInf", run_is_inf, 0},
    {"IsNaN", run_is_nan, 0},
    {"LeakyRelu", run_leaky_relu, 0},
    {"Less", run_less, 0},
    {"LessOrEqual", run_less_or_equal, 0},
    {"Log", run_log, 0},
    {"Max", run_max, 0},
    {"Mean", run_mean, 0},
    {"Min", run_min, 0},
    {"Mish", run_mish, 0},
    {"Mod", run_mod, 0},
    {"Mul", run_mul, 0},
    {"Neg", run_neg, 0},
    {"Not", run_not, 0},
    {"Or", run_or, 0},
    {"PRelu", run_prelu, 0},
    {"Pow", run_pow, 0},
    {"Reciprocal", run_reciprocal, 0},
    {"Relu", run_relu, 0},
    {"Round", run_round, 0},
    {"Selu", run_selu, 0},
    {"Shrink", run_shrink, 0},
    {"Sigmoid", run_sigmoid, 0},
    {"Sign", run_sign, 0},
    {"Sin", run_sin, 0},
    {"Sinh", run_sinh, 0},
    {"Softplus", run_softplus, 0},
    {"Softsign", run_softsign, 0},
    {"Sqrt", run_sqrt, 0},
    {"Sub", run_sub, 0},
    {"Sum", run_sum, 0},
    {"Swish", run_swish, 0},
    {"Tan", run_tan, 0},
    {"Tanh", run_tanh, 0},
    {"ThresholdedRelu", run_thresholded_relu, 0},
    {"Where", run_where, 0},
    {"Xor", run_xor, 0},
    {"ai.onnx.ml:Binarizer", run_binarizer, 0},
    {NULL, NULL, 0},
};
