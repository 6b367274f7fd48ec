/* Operators. Written by tools/opgen from src/op/op_table.def: do not edit; `make generate`.
 *
 * Every function returns at once; its result belongs to the innermost scope. What cannot be done gives
 * a failed array. The form with _into overwrites `out`, an array or view of the result's shape and
 * dtype, which may be one of the inputs; a call that cannot be made fails it; it is not recorded on
 * the tape. Inputs are broadcast by NumPy's rules where two of them meet element by element, and
 * their dtypes are promoted: see hk_dtype. In C an x or a y that meet so may be a number:
 * see hocket/number.h. Integers wrap around. Options may be NULL for the defaults, and so may
 * be each field: HK_ZERO. The structs
 * hk_<operator>_arguments are for hk_call alone. Of several results each is put where its pointer says; the
 * pointer may be NULL for one that is not wanted. A call that cannot be done fails all of them. */
/* clang-format off */
#ifndef HOCKET_OPS_H
#define HOCKET_OPS_H

#include <hocket/array.h>

HK_BEGIN_DECLS

/* y = sum of x over axes. Sum of the elements along axes (all by default); 0 for none. float32
 * is added up in double precision, four elements first in pairs; along the first axis, which may
 * be a batch, 16 entries at a time, then in pairs (16 single elements in pairs, too); unsigned
 * integers give uint64, others and bool int64, which wrap around. */
typedef struct hk_sum_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_sum_options;
HK_API hk_array *hk_sum(hk_array *x, const hk_sum_options *options);

/* y = sum of x over axes / how many they are. Mean of the elements along axes (all by default);
 * NaN for none. Integers and bool give float64. */
typedef struct hk_mean_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_mean_options;
HK_API hk_array *hk_mean(hk_array *x, const hk_mean_options *options);

/* Largest element along axes (all by default); NaN when one is NaN. Of no elements: an error.
 * The gradient is shared equally by elements that are equal. */
typedef struct hk_max_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_max_options;
HK_API hk_array *hk_max(hk_array *x, const hk_max_options *options);

/* Smallest element along axes (all by default); NaN when one is NaN. Of no elements: an error.
 * The gradient is shared equally by elements that are equal. */
typedef struct hk_min_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_min_options;
HK_API hk_array *hk_min(hk_array *x, const hk_min_options *options);

/* y = product of x over axes. Product of the elements along axes (all by default); 1 for none.
 * float32 is multiplied in double precision; unsigned integers give uint64, others and bool
 * int64, which wrap around. */
typedef struct hk_prod_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_prod_options;
HK_API hk_array *hk_prod(hk_array *x, const hk_prod_options *options);

/* y = sqrt(sum of x * x over axes). Euclidean (Frobenius) norm along axes (all by default); 0
 * for none. The gradient is 0 where the norm is. */
typedef struct hk_norm_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_norm_options;
HK_API hk_array *hk_norm(hk_array *x, const hk_norm_options *options);

/* y = how many of x over axes are not 0. How many elements along axes (all by default) are not
 * 0, as int64; a NaN is not. No gradient: its result does not vary smoothly. */
typedef struct hk_count_nonzero_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_count_nonzero_options;
HK_API hk_array *hk_count_nonzero(hk_array *x, const hk_count_nonzero_options *options);

/* Whether any element along axes (all by default) is not 0, as bool; false for none. NaN is not
 * 0. No gradient: its result does not vary smoothly. */
typedef struct hk_any_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_any_options;
HK_API hk_array *hk_any(hk_array *x, const hk_any_options *options);

/* Whether all elements along axes (all by default) are not 0, as bool; true for none. NaN is not
 * 0. No gradient: its result does not vary smoothly. */
typedef struct hk_all_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_all_options;
HK_API hk_array *hk_all(hk_array *x, const hk_all_options *options);

/* y = sum of (x - mean)^2 over axes / (how many they are - correction). Variance along axes (all
 * by default): squared distances from the mean, divided by how many they are less correction.
 * Integers and bool give float64. */
typedef struct hk_var_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
    double correction; /* taken from the number of elements; 1 for a sample's variance (default:
                          0) */
} hk_var_options;
HK_API hk_array *hk_var(hk_array *x, const hk_var_options *options);

/* y = sqrt(sum of (x - mean)^2 over axes / (how many they are - correction)). Standard deviation
 * along axes (all by default): the square root of hk_var, rounded after the root. The gradient
 * is 0 where the deviation is. */
typedef struct hk_std_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
    double correction; /* taken from the number of elements; 1 for a sample's variance (default:
                          0) */
} hk_std_options;
HK_API hk_array *hk_std(hk_array *x, const hk_std_options *options);

/* variance = sum of (x - mean)^2 over axes / (how many they are - correction). Variance and mean
 * along axes (all by default): hk_var, and the mean that it is about, which hk_mean gives.
 * Integers and bool give float64. Results: variance, mean. */
typedef struct hk_var_mean_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
    double correction; /* taken from the number of elements; 1 for a sample's variance (default:
                          0) */
} hk_var_mean_options;
HK_API void hk_var_mean(hk_array *x, const hk_var_mean_options *options, hk_array **variance,
                        hk_array **mean);

/* y = ln(sum of e ** x over axes). Logarithm of the sum of exponentials along axes (all by
 * default), without overflow; -inf for none. Where all are -inf the gradient is 0. */
typedef struct hk_logsumexp_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_logsumexp_options;
HK_API hk_array *hk_logsumexp(hk_array *x, const hk_logsumexp_options *options);

/* x + y. Sum. */
HK_API hk_array *hk_add(hk_array *x, hk_array *y);
HK_API void hk_add_into(hk_array *out, hk_array *x, hk_array *y);

/* x - y. Difference. */
HK_API hk_array *hk_subtract(hk_array *x, hk_array *y);
HK_API void hk_subtract_into(hk_array *out, hk_array *x, hk_array *y);

/* x * y. Product. */
HK_API hk_array *hk_multiply(hk_array *x, hk_array *y);
HK_API void hk_multiply_into(hk_array *out, hk_array *x, hk_array *y);

/* x / y. Quotient. Integers are rounded towards zero; an integer divisor of 0 fails the result. */
HK_API hk_array *hk_divide(hk_array *x, hk_array *y);
HK_API void hk_divide_into(hk_array *out, hk_array *x, hk_array *y);

/* max(x, y). The larger one; NaN if either is. Where both are equal, each gets half of the
 * gradient. */
HK_API hk_array *hk_maximum(hk_array *x, hk_array *y);
HK_API void hk_maximum_into(hk_array *out, hk_array *x, hk_array *y);

/* min(x, y). The smaller one; NaN if either is. Where both are equal, each gets half of the
 * gradient. */
HK_API hk_array *hk_minimum(hk_array *x, hk_array *y);
HK_API void hk_minimum_into(hk_array *out, hk_array *x, hk_array *y);

/* x ** y. x to the power of y. A negative integer y fails the result. Where x is 0 the gradient
 * of y >= 0 is 0, and where y is 0 that of x. */
HK_API hk_array *hk_power(hk_array *x, hk_array *y);
HK_API void hk_power_into(hk_array *out, hk_array *x, hk_array *y);

/* x - y floor(x / y). Remainder, of the divisor's sign. An integer divisor of 0 fails the
 * result; of floats it gives NaN. */
HK_API hk_array *hk_remainder(hk_array *x, hk_array *y);
HK_API void hk_remainder_into(hk_array *out, hk_array *x, hk_array *y);

/* floor(x / y). Quotient rounded down. An integer divisor of 0 fails the result; no gradient
 * flows. */
HK_API hk_array *hk_floor_divide(hk_array *x, hk_array *y);
HK_API void hk_floor_divide_into(hk_array *out, hk_array *x, hk_array *y);

/* atan2(x, y). Angle of the point (y, x), from -pi to pi: of x / y, in the quadrant that the
 * signs tell. The gradient at (0, 0) is 0. */
HK_API hk_array *hk_atan2(hk_array *x, hk_array *y);
HK_API void hk_atan2_into(hk_array *out, hk_array *x, hk_array *y);

/* sqrt(x * x + y * y). Length of the hypotenuse, without overflow on the way. The gradient at 0
 * is 0. */
HK_API hk_array *hk_hypot(hk_array *x, hk_array *y);
HK_API void hk_hypot_into(hk_array *out, hk_array *x, hk_array *y);

/* |x| sign(y). x with the sign of y, also of its zeros and NaNs. */
HK_API hk_array *hk_copysign(hk_array *x, hk_array *y);
HK_API void hk_copysign_into(hk_array *out, hk_array *x, hk_array *y);

/* the number next to x towards y. The number of the dtype that is next to x in the direction of
 * y; y where they are equal. */
HK_API hk_array *hk_nextafter(hk_array *x, hk_array *y);
HK_API void hk_nextafter_into(hk_array *out, hk_array *x, hk_array *y);

/* ln(e ** x + e ** y). Logarithm of the sum of exponentials, without overflow on the way. Where
 * both are -inf the gradient is 0. */
HK_API hk_array *hk_logaddexp(hk_array *x, hk_array *y);
HK_API void hk_logaddexp_into(hk_array *out, hk_array *x, hk_array *y);

/* x >= 0 ? x : y x. Rectified linear unit with a slope y below 0, broadcast to x as any input
 * is. */
HK_API hk_array *hk_prelu(hk_array *x, hk_array *y);
HK_API void hk_prelu_into(hk_array *out, hk_array *x, hk_array *y);

/* -x. The opposite. */
HK_API hk_array *hk_negative(hk_array *x);
HK_API void hk_negative_into(hk_array *out, hk_array *x);

/* e ** x. Exponential function. */
HK_API hk_array *hk_exp(hk_array *x);
HK_API void hk_exp_into(hk_array *out, hk_array *x);

/* ln(x). Natural logarithm: -inf for 0, NaN below. */
HK_API hk_array *hk_log(hk_array *x);
HK_API void hk_log_into(hk_array *out, hk_array *x);

/* sqrt(x). Square root; NaN below 0. */
HK_API hk_array *hk_sqrt(hk_array *x);
HK_API void hk_sqrt_into(hk_array *out, hk_array *x);

/* |x|. Absolute value. The gradient at 0 is 0. */
HK_API hk_array *hk_abs(hk_array *x);
HK_API void hk_abs_into(hk_array *out, hk_array *x);

/* x * x. Square. */
HK_API hk_array *hk_square(hk_array *x);
HK_API void hk_square_into(hk_array *out, hk_array *x);

/* 1 / (1 + e ** -x). Logistic function. */
HK_API hk_array *hk_sigmoid(hk_array *x);
HK_API void hk_sigmoid_into(hk_array *out, hk_array *x);

/* tanh(x). Hyperbolic tangent. */
HK_API hk_array *hk_tanh(hk_array *x);
HK_API void hk_tanh_into(hk_array *out, hk_array *x);

/* max(x, 0). Rectified linear unit; NaN for NaN. The gradient at 0 is 0. */
HK_API hk_array *hk_relu(hk_array *x);
HK_API void hk_relu_into(hk_array *out, hk_array *x);

/* 1 / x. Reciprocal. */
HK_API hk_array *hk_reciprocal(hk_array *x);
HK_API void hk_reciprocal_into(hk_array *out, hk_array *x);

/* 1 / sqrt(x). Reciprocal square root: infinite for 0, NaN below. */
HK_API hk_array *hk_rsqrt(hk_array *x);
HK_API void hk_rsqrt_into(hk_array *out, hk_array *x);

/* e ** x - 1. Exponential function less 1, precise near 0. */
HK_API hk_array *hk_expm1(hk_array *x);
HK_API void hk_expm1_into(hk_array *out, hk_array *x);

/* ln(1 + x). Natural logarithm of 1 + x, precise near 0. */
HK_API hk_array *hk_log1p(hk_array *x);
HK_API void hk_log1p_into(hk_array *out, hk_array *x);

/* log2(x). Logarithm to base 2: -inf for 0, NaN below. */
HK_API hk_array *hk_log2(hk_array *x);
HK_API void hk_log2_into(hk_array *out, hk_array *x);

/* log10(x). Logarithm to base 10: -inf for 0, NaN below. */
HK_API hk_array *hk_log10(hk_array *x);
HK_API void hk_log10_into(hk_array *out, hk_array *x);

/* sin(x). Sine. */
HK_API hk_array *hk_sin(hk_array *x);
HK_API void hk_sin_into(hk_array *out, hk_array *x);

/* cos(x). Cosine. */
HK_API hk_array *hk_cos(hk_array *x);
HK_API void hk_cos_into(hk_array *out, hk_array *x);

/* tan(x). Tangent. */
HK_API hk_array *hk_tan(hk_array *x);
HK_API void hk_tan_into(hk_array *out, hk_array *x);

/* asin(x). Arc sine, from -pi / 2 to pi / 2; NaN outside of [-1, 1]. */
HK_API hk_array *hk_asin(hk_array *x);
HK_API void hk_asin_into(hk_array *out, hk_array *x);

/* acos(x). Arc cosine, from 0 to pi; NaN outside of [-1, 1]. */
HK_API hk_array *hk_acos(hk_array *x);
HK_API void hk_acos_into(hk_array *out, hk_array *x);

/* atan(x). Arc tangent, from -pi / 2 to pi / 2. */
HK_API hk_array *hk_atan(hk_array *x);
HK_API void hk_atan_into(hk_array *out, hk_array *x);

/* sinh(x). Hyperbolic sine. */
HK_API hk_array *hk_sinh(hk_array *x);
HK_API void hk_sinh_into(hk_array *out, hk_array *x);

/* cosh(x). Hyperbolic cosine. */
HK_API hk_array *hk_cosh(hk_array *x);
HK_API void hk_cosh_into(hk_array *out, hk_array *x);

/* asinh(x). Inverse hyperbolic sine. */
HK_API hk_array *hk_asinh(hk_array *x);
HK_API void hk_asinh_into(hk_array *out, hk_array *x);

/* acosh(x). Inverse hyperbolic cosine; NaN below 1. */
HK_API hk_array *hk_acosh(hk_array *x);
HK_API void hk_acosh_into(hk_array *out, hk_array *x);

/* atanh(x). Inverse hyperbolic tangent; NaN outside of [-1, 1]. */
HK_API hk_array *hk_atanh(hk_array *x);
HK_API void hk_atanh_into(hk_array *out, hk_array *x);

/* 2 / sqrt(pi) integral of e ** -t**2 from 0 to x. Error function. */
HK_API hk_array *hk_erf(hk_array *x);
HK_API void hk_erf_into(hk_array *out, hk_array *x);

/* ceil(x). Rounded up to a whole number; integers stay. */
HK_API hk_array *hk_ceil(hk_array *x);
HK_API void hk_ceil_into(hk_array *out, hk_array *x);

/* floor(x). Rounded down to a whole number; integers stay. */
HK_API hk_array *hk_floor(hk_array *x);
HK_API void hk_floor_into(hk_array *out, hk_array *x);

/* trunc(x). Rounded towards 0 to a whole number; integers stay. */
HK_API hk_array *hk_trunc(hk_array *x);
HK_API void hk_trunc_into(hk_array *out, hk_array *x);

/* round(x). Rounded to the nearest whole number, halves to the even one; integers stay. */
HK_API hk_array *hk_round(hk_array *x);
HK_API void hk_round_into(hk_array *out, hk_array *x);

/* sign(x). -1, 0 or 1; NaN for NaN. */
HK_API hk_array *hk_sign(hk_array *x);
HK_API void hk_sign_into(hk_array *out, hk_array *x);

/* x (1 + erf(x / sqrt(2))) / 2. Gaussian error linear unit: x times the normal distribution
 * function. */
HK_API hk_array *hk_gelu(hk_array *x);
HK_API void hk_gelu_into(hk_array *out, hk_array *x);

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) / 2. An approximation of hk_gelu by tanh. */
HK_API hk_array *hk_gelu_tanh(hk_array *x);
HK_API void hk_gelu_tanh_into(hk_array *out, hk_array *x);

/* x sigmoid(x). Sigmoid linear unit. */
HK_API hk_array *hk_silu(hk_array *x);
HK_API void hk_silu_into(hk_array *out, hk_array *x);

/* ln(1 + e ** x). Softplus, a smooth form of hk_relu. */
HK_API hk_array *hk_softplus(hk_array *x);
HK_API void hk_softplus_into(hk_array *out, hk_array *x);

/* x tanh(softplus(x)). Mish. */
HK_API hk_array *hk_mish(hk_array *x);
HK_API void hk_mish_into(hk_array *out, hk_array *x);

/* min(max(x + 3, 0), 6) / 6. A sigmoid of three lines. */
HK_API hk_array *hk_hard_sigmoid(hk_array *x);
HK_API void hk_hard_sigmoid_into(hk_array *out, hk_array *x);

/* x hard_sigmoid(x). x times hk_hard_sigmoid of it. */
HK_API hk_array *hk_hard_swish(hk_array *x);
HK_API void hk_hard_swish_into(hk_array *out, hk_array *x);

/* x > 0 ? x : value (e ** x - 1). Exponential linear unit; value is what it tends to below,
 * usually 1, with the other sign. */
typedef struct hk_elu_arguments {
    double value; /* the number */
} hk_elu_arguments;
HK_API hk_array *hk_elu(hk_array *x, double value);
HK_API void hk_elu_into(hk_array *out, hk_array *x, double value);

/* x > 0 ? x : value x. Rectified linear unit with a slope, value, below 0, usually 0.01. */
typedef struct hk_leaky_relu_arguments {
    double value; /* the number */
} hk_leaky_relu_arguments;
HK_API hk_array *hk_leaky_relu(hk_array *x, double value);
HK_API void hk_leaky_relu_into(hk_array *out, hk_array *x, double value);

/* min(max(x, min), max). x between two numbers, either of which may be infinite for none; others
 * must be integers in range for integer arrays. */
typedef struct hk_clip_arguments {
    double min; /* the least result; -INFINITY: none */
    double max; /* the largest result, which goes first; INFINITY: none */
} hk_clip_arguments;
HK_API hk_array *hk_clip(hk_array *x, double min, double max);
HK_API void hk_clip_into(hk_array *out, hk_array *x, double min, double max);

/* x == y. Whether x and y are equal, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_equal(hk_array *x, hk_array *y);
HK_API void hk_equal_into(hk_array *out, hk_array *x, hk_array *y);

/* x != y. Whether x and y differ, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_not_equal(hk_array *x, hk_array *y);
HK_API void hk_not_equal_into(hk_array *out, hk_array *x, hk_array *y);

/* x < y. Whether x is less than y, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_less(hk_array *x, hk_array *y);
HK_API void hk_less_into(hk_array *out, hk_array *x, hk_array *y);

/* x <= y. Whether x is at most y, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_less_equal(hk_array *x, hk_array *y);
HK_API void hk_less_equal_into(hk_array *out, hk_array *x, hk_array *y);

/* x > y. Whether x is greater than y, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_greater(hk_array *x, hk_array *y);
HK_API void hk_greater_into(hk_array *out, hk_array *x, hk_array *y);

/* x >= y. Whether x is at least y, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_greater_equal(hk_array *x, hk_array *y);
HK_API void hk_greater_equal_into(hk_array *out, hk_array *x, hk_array *y);

/* condition ? x : y. Elements of x where condition, a bool array, holds, of y elsewhere. */
HK_API hk_array *hk_where(hk_array *condition, hk_array *x, hk_array *y);
HK_API void hk_where_into(hk_array *out, hk_array *condition, hk_array *x, hk_array *y);

/* x is NaN. Whether x is NaN, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_isnan(hk_array *x);
HK_API void hk_isnan_into(hk_array *out, hk_array *x);

/* x is infinite. Whether x is infinite, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_isinf(hk_array *x);
HK_API void hk_isinf_into(hk_array *out, hk_array *x);

/* x is neither NaN nor infinite. Whether x is a finite number, as bool. No gradient: its result
 * is a truth value. */
HK_API hk_array *hk_isfinite(hk_array *x);
HK_API void hk_isfinite_into(hk_array *out, hk_array *x);

/* x has the sign -. Whether the sign of x is -, as bool; also of -0 and of NaN. No gradient: its
 * result is a truth value. */
HK_API hk_array *hk_signbit(hk_array *x);
HK_API void hk_signbit_into(hk_array *out, hk_array *x);

/* x and y. Whether both hold, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_logical_and(hk_array *x, hk_array *y);
HK_API void hk_logical_and_into(hk_array *out, hk_array *x, hk_array *y);

/* x or y. Whether one of them holds, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_logical_or(hk_array *x, hk_array *y);
HK_API void hk_logical_or_into(hk_array *out, hk_array *x, hk_array *y);

/* either x or y. Whether just one of them holds, as bool. No gradient: its result is a truth
 * value. */
HK_API hk_array *hk_logical_xor(hk_array *x, hk_array *y);
HK_API void hk_logical_xor_into(hk_array *out, hk_array *x, hk_array *y);

/* not x. Whether x does not hold, as bool. No gradient: its result is a truth value. */
HK_API hk_array *hk_logical_not(hk_array *x);
HK_API void hk_logical_not_into(hk_array *out, hk_array *x);

/* x & y. Bits that are set in both. No gradient: it is of integers. */
HK_API hk_array *hk_bitwise_and(hk_array *x, hk_array *y);
HK_API void hk_bitwise_and_into(hk_array *out, hk_array *x, hk_array *y);

/* x | y. Bits that are set in one of them. No gradient: it is of integers. */
HK_API hk_array *hk_bitwise_or(hk_array *x, hk_array *y);
HK_API void hk_bitwise_or_into(hk_array *out, hk_array *x, hk_array *y);

/* x ^ y. Bits that are set in just one of them. No gradient: it is of integers. */
HK_API hk_array *hk_bitwise_xor(hk_array *x, hk_array *y);
HK_API void hk_bitwise_xor_into(hk_array *out, hk_array *x, hk_array *y);

/* ~x. Bits that are not set; the other truth value for bool. No gradient: it is of integers. */
HK_API hk_array *hk_bitwise_invert(hk_array *x);
HK_API void hk_bitwise_invert_into(hk_array *out, hk_array *x);

/* x << y. Bits moved up by y places, those above lost; 0 where there are no more. A negative y
 * fails the result. No gradient: it is of integers. */
HK_API hk_array *hk_bitwise_left_shift(hk_array *x, hk_array *y);
HK_API void hk_bitwise_left_shift_into(hk_array *out, hk_array *x, hk_array *y);

/* x >> y. Bits moved down by y places, filled with the sign: x over 2 ** y, rounded down. A
 * negative y fails the result. No gradient: it is of integers. */
HK_API hk_array *hk_bitwise_right_shift(hk_array *x, hk_array *y);
HK_API void hk_bitwise_right_shift_into(hk_array *out, hk_array *x, hk_array *y);

/* The same values in new memory, C order. */
HK_API hk_array *hk_copy(hk_array *x);
HK_API void hk_copy_into(hk_array *out, hk_array *x);

/* The same values as another dtype; a view of x when it has that dtype. Integers from floats are
 * rounded towards zero, and one that the dtype does not have, NaN included, fails the result.
 * Floats are rounded to the nearest, ties to even, and to an infinity beyond the largest. To
 * bool: whether the value is not 0. Complex numbers become complex ones or bool alone. */
typedef struct hk_cast_arguments {
    hk_dtype dtype; /* dtype of the result */
} hk_cast_arguments;
HK_API hk_array *hk_cast(hk_array *x, hk_dtype dtype);

/* Integers as another dtype of integers, to which they wrap around: the low bits stay, where
 * hk_cast refuses what the dtype does not have. No gradient: it is of integers. */
typedef struct hk_wrap_arguments {
    hk_dtype dtype; /* dtype of the result, of integers */
} hk_wrap_arguments;
HK_API hk_array *hk_wrap(hk_array *x, hk_dtype dtype);

/* The same values on another device, C order; a view of x when it is there already. What comes
 * from an accelerator to the host is in pinned memory, see hk_pin. */
HK_API hk_array *hk_to_device(hk_array *x, hk_device device);

/* The same values in page-locked memory of the host, C order: accelerators copy from and to it
 * at full speed, from other memory by way of a buffer. A view of x where it is pinned already,
 * on an accelerator, and where there are no accelerators. */
HK_API hk_array *hk_pin(hk_array *x);

/* An array of one number. */
typedef struct hk_full_arguments {
    hk_dims shape; /* shape of the result */
    double value; /* what every element is; of integers beyond 2^53 hk_scalar is exact */
    hk_dtype dtype; /* dtype of the result */
} hk_full_arguments;
HK_API hk_array *hk_full(hk_dims shape, double value, hk_dtype dtype, hk_device device);
HK_API void hk_full_into(hk_array *out, hk_dims shape, double value, hk_dtype dtype);

/* An array of zeros. */
typedef struct hk_zeros_arguments {
    hk_dims shape; /* shape of the result */
    hk_dtype dtype; /* dtype of the result */
} hk_zeros_arguments;
HK_API hk_array *hk_zeros(hk_dims shape, hk_dtype dtype, hk_device device);
HK_API void hk_zeros_into(hk_array *out, hk_dims shape, hk_dtype dtype);

/* An array of ones. */
typedef struct hk_ones_arguments {
    hk_dims shape; /* shape of the result */
    hk_dtype dtype; /* dtype of the result */
} hk_ones_arguments;
HK_API hk_array *hk_ones(hk_dims shape, hk_dtype dtype, hk_device device);
HK_API void hk_ones_into(hk_array *out, hk_dims shape, hk_dtype dtype);

/* start, start + step, … up to stop, which is not included; shape (ceil((stop - start) /
 * step),). Of integers beyond 2^53, which doubles round, hk_sequence is exact. */
typedef struct hk_arange_arguments {
    double start; /* the first element */
    double stop; /* where to stop, not included */
    double step; /* from one element to the next, not 0 */
    hk_dtype dtype; /* dtype of the result */
} hk_arange_arguments;
HK_API hk_array *hk_arange(double start, double stop, double step, hk_dtype dtype,
                           hk_device device);

/* first, first + step, …: so many whole numbers, exact where hk_arange's doubles are not; floats
 * are rounded once. uint64 above INT64_MAX: add a number to it. */
typedef struct hk_sequence_arguments {
    int64_t first; /* the first element */
    int64_t step; /* from one element to the next */
    int64_t count; /* how many they are */
    hk_dtype dtype; /* dtype of the result, of real numbers */
} hk_sequence_arguments;
HK_API hk_array *hk_sequence(int64_t first, int64_t step, int64_t count, hk_dtype dtype,
                             hk_device device);

/* Numbers from start to stop at even distances. */
typedef struct hk_linspace_arguments {
    double start; /* the first element */
    double stop; /* where the elements end */
    int64_t count; /* how many they are */
    bool endpoint; /* true: stop is the last element; false: it would be the next one */
    hk_dtype dtype; /* dtype of the result, of floats */
} hk_linspace_arguments;
HK_API hk_array *hk_linspace(double start, double stop, int64_t count, bool endpoint,
                             hk_dtype dtype, hk_device device);

/* A matrix of ones on a diagonal, and of zeros elsewhere. */
typedef struct hk_eye_arguments {
    int64_t rows; /* of the matrix */
    int64_t columns; /* of the matrix */
    int64_t offset; /* 0: the main diagonal; above it where positive, below where negative */
    hk_dtype dtype; /* dtype of the result */
} hk_eye_arguments;
HK_API hk_array *hk_eye(int64_t rows, int64_t columns, int64_t offset, hk_dtype dtype,
                        hk_device device);

/* One number, of x's shape and dtype, on its device. No gradient: it does not depend on the
 * values of x. */
typedef struct hk_full_like_arguments {
    double value; /* what every element is; of integers beyond 2^53 hk_scalar is exact */
} hk_full_like_arguments;
HK_API hk_array *hk_full_like(hk_array *x, double value);

/* Zeros of x's shape and dtype, on its device. No gradient: it does not depend on the values of
 * x. */
HK_API hk_array *hk_zeros_like(hk_array *x);

/* 1. Ones of x's shape and dtype. No gradient: it does not depend on the values of x. */
HK_API hk_array *hk_ones_like(hk_array *x);
HK_API void hk_ones_like_into(hk_array *out, hk_array *x);

/* A new last axis with 1 at the place that each integer of x names, and 0 elsewhere: all zeros
 * where x is negative or not below classes. No gradient: x is of integers. */
typedef struct hk_one_hot_arguments {
    int64_t classes; /* size of the new axis */
    hk_dtype dtype; /* dtype of the result */
} hk_one_hot_arguments;
HK_API hk_array *hk_one_hot(hk_array *x, int64_t classes, hk_dtype dtype);

/* Matrices in the last two axes, with zeros above a diagonal. */
typedef struct hk_tril_arguments {
    int64_t offset; /* 0: the main diagonal; above it where positive, below where negative */
} hk_tril_arguments;
HK_API hk_array *hk_tril(hk_array *x, int64_t offset);

/* Matrices in the last two axes, with zeros below a diagonal. */
typedef struct hk_triu_arguments {
    int64_t offset; /* 0: the main diagonal; above it where positive, below where negative */
} hk_triu_arguments;
HK_API hk_array *hk_triu(hk_array *x, int64_t offset);

/* The elements of x in C order under another shape: a view when x is contiguous, else a copy. */
typedef struct hk_reshape_arguments {
    hk_dims shape; /* as many elements as x has; one size may be -1: what is left */
} hk_reshape_arguments;
HK_API hk_array *hk_reshape(hk_array *x, hk_dims shape);

/* y[i,j] = sum over l of a[i,l] * b[l,j]. Matrix product of a (m,k) and b (k,n): (m,n), of their
 * dtype; halves are summed in float32, which is the result's dtype, and give gradients of their
 * own dtype, computed from dy rounded to it. Further axes in front are batches of matrices,
 * which broadcast. A vector is a row on the left and a column on the right, and its axis of size
 * 1 is not in the result: (k) times (k,n) is (n), (k) times (k) a scalar. Transposed views are
 * read in place. Integers wrap around. */
HK_API hk_array *hk_matmul(hk_array *a, hk_array *b);

/* Sums of products over the last axes of x and the first ones of y; hk_permute_dims brings
 * others there. 0 axes: all products. */
typedef struct hk_tensordot_arguments {
    int64_t axes; /* how many of the last axes of x and of the first ones of y go */
} hk_tensordot_arguments;
HK_API hk_array *hk_tensordot(hk_array *x, hk_array *y, int64_t axes);

/* sum of x y along the last axis. Dot products of vectors, which lie along the last axes; the
 * other axes are broadcast. Integers as in hk_sum; complex x are conjugated. */
HK_API hk_array *hk_vecdot(hk_array *x, hk_array *y);

/* result[i][j] = x[i] y[j]. The products of each element of the vector x with each of the vector
 * y, as a matrix. */
HK_API hk_array *hk_outer(hk_array *x, hk_array *y);

/* Sums of the diagonals of matrices in the last two axes. Integers as in hk_sum. */
typedef struct hk_matrix_trace_arguments {
    int64_t offset; /* 0: the main diagonal; above it where positive, below where negative */
} hk_matrix_trace_arguments;
HK_API hk_array *hk_matrix_trace(hk_array *x, int64_t offset);

/* What each element along an axis is more than the one before: one less than x has. */
typedef struct hk_diff_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_diff_arguments;
HK_API hk_array *hk_diff(hk_array *x, int64_t axis);

/* y = x weight^T + bias. Fully connected layer: x (...,inputs) times the transpose of weight
 * (outputs,inputs), plus bias (outputs): (...,outputs), of the dtype of all three. Of halves x
 * and weight, bias and result are float32; see matmul. bias may be NULL. */
HK_API hk_array *hk_linear(hk_array *x, hk_array *weight, hk_array *bias);

/* y[i] = log(sum over j of exp(logits[i,j])) - logits[i,labels[i]]. Loss of each sample: minus
 * the logarithm of the probability that softmax(logits) gives to its label. logits (n,classes),
 * labels (n) of int32, int64 or uint8: (n). A label that is not in [0, classes) fails the result
 * when it is computed. */
HK_API hk_array *hk_softmax_cross_entropy(hk_array *logits, hk_array *labels);

/* y = exp(x) / sum of exp(x) along axis. Exponentials of the elements divided by their sum along
 * an axis, without overflow: probabilities. */
typedef struct hk_softmax_arguments {
    int64_t axis; /* the axis along which the result adds up to 1 */
} hk_softmax_arguments;
HK_API hk_array *hk_softmax(hk_array *x, int64_t axis);

/* y = x - log(sum of exp(x) along axis). Logarithm of softmax, right also where softmax is 0 to
 * rounding. */
typedef struct hk_log_softmax_arguments {
    int64_t axis; /* the axis along which the result adds up to 1 */
} hk_log_softmax_arguments;
HK_API hk_array *hk_log_softmax(hk_array *x, int64_t axis);

/* y = argmax of x along axis. Index of the largest element along an axis, as int64: the first
 * where several are equal, and the first NaN where there is one. Of all elements: of
 * hk_reshape(x, hk_shape(-1)). No gradient: its result is an index. */
typedef struct hk_argmax_arguments {
    int64_t axis; /* the axis to search along, which disappears */
} hk_argmax_arguments;
HK_API hk_array *hk_argmax(hk_array *x, int64_t axis);

/* y = argmin of x along axis. Index of the smallest element along an axis, as int64: the first
 * where several are equal, and the first NaN where there is one. Of all elements: of
 * hk_reshape(x, hk_shape(-1)). No gradient: its result is an index. */
typedef struct hk_argmin_arguments {
    int64_t axis; /* the axis to search along, which disappears */
} hk_argmin_arguments;
HK_API hk_array *hk_argmin(hk_array *x, int64_t axis);

/* y[i] = sum of x[j] for j <= i. Sums of all elements up to each along an axis. float32 is added
 * up in double precision; unsigned integers give uint64, others and bool int64, which wrap
 * around. */
typedef struct hk_cumulative_sum_arguments {
    int64_t axis; /* the axis along which elements are gathered */
} hk_cumulative_sum_arguments;
HK_API hk_array *hk_cumulative_sum(hk_array *x, int64_t axis);

/* y[i] = product of x[j] for j <= i. Products of all elements up to each along an axis. float32
 * is multiplied in double precision; unsigned integers give uint64, others and bool int64, which
 * wrap around. */
typedef struct hk_cumulative_prod_arguments {
    int64_t axis; /* the axis along which elements are gathered */
} hk_cumulative_prod_arguments;
HK_API hk_array *hk_cumulative_prod(hk_array *x, int64_t axis);

/* Elements in order along an axis; equal ones stay in theirs. A NaN counts as larger than all
 * numbers. */
typedef struct hk_sort_arguments {
    int64_t axis; /* the axis along which elements are sorted */
    bool descending; /* the largest first */
} hk_sort_arguments;
HK_API hk_array *hk_sort(hk_array *x, int64_t axis, bool descending);

/* Indices along an axis that put its elements in order, as int64; equal ones stay in theirs. A
 * NaN counts as larger than all numbers. No gradient: its result is an index. */
typedef struct hk_argsort_arguments {
    int64_t axis; /* the axis along which elements are sorted */
    bool descending; /* the largest first */
} hk_argsort_arguments;
HK_API hk_array *hk_argsort(hk_array *x, int64_t axis, bool descending);

/* Where each element of x would be put into sorted, of one axis in rising order, to keep its
 * order: an index from 0 to its size, as int64. A NaN counts as larger than all numbers. No
 * gradient: its result is an index. */
typedef struct hk_searchsorted_arguments {
    bool right; /* behind elements that are equal, not before them */
} hk_searchsorted_arguments;
HK_API hk_array *hk_searchsorted(hk_array *sorted, hk_array *x, bool right);

/* The k largest or smallest elements along an axis, in that order, and where they are, as int64;
 * of equal ones the first. A NaN counts as larger than all numbers. Results: values, indices. */
typedef struct hk_topk_arguments {
    int64_t k; /* how many */
    int64_t axis; /* a negative one counts from the last */
    bool largest; /* the largest, not the smallest */
} hk_topk_arguments;
HK_API void hk_topk(hk_array *x, int64_t k, int64_t axis, bool largest, hk_array **values,
                    hk_array **indices);

/* Whether each element of x is equal to one of elements, of any shape, as bool. A NaN is not. No
 * gradient: its result does not vary smoothly. */
HK_API hk_array *hk_isin(hk_array *x, hk_array *elements);

/* How many elements of x lie in each of so many bins of one width from low to high, as int64. A
 * bin has its lower edge, the last one both; what lies outside, NaN included, is not counted.
 * hk_linspace gives the edges. No gradient: its result does not vary smoothly. */
typedef struct hk_histogram_arguments {
    int64_t bins; /* how many, of one width */
    double low; /* where the first begins */
    double high; /* where the last ends */
} hk_histogram_arguments;
HK_API hk_array *hk_histogram(hk_array *x, int64_t bins, double low, double high);

/* values[i] = max of x[j] for j <= i. The largest of all elements up to each along an axis, and
 * where it is, as int64; of equal ones the last. From a NaN on it is that. Results: values,
 * indices. Not on GPUs yet. */
typedef struct hk_cumulative_max_arguments {
    int64_t axis; /* the axis along which elements are gathered */
} hk_cumulative_max_arguments;
HK_API void hk_cumulative_max(hk_array *x, int64_t axis, hk_array **values, hk_array **indices);

/* values[i] = min of x[j] for j <= i. The smallest of all elements up to each along an axis, and
 * where it is, as int64; of equal ones the last. From a NaN on it is that. Results: values,
 * indices. Not on GPUs yet. */
typedef struct hk_cumulative_min_arguments {
    int64_t axis; /* the axis along which elements are gathered */
} hk_cumulative_min_arguments;
HK_API void hk_cumulative_min(hk_array *x, int64_t axis, hk_array **values, hk_array **indices);

/* y = (1 - t) * s[floor(p)] + t * s[ceil(p)], of s = x in order, p = q * (n - 1), t = p -
 * floor(p). A quantile along axes (all by default), the median if q is not given: of n elements
 * in order what lies at place q (n - 1), counted from 0. Where that is between two, method says
 * what it is. NaN where an element is; integers and bool give float64. Of no elements there is
 * none. Its gradient goes to the elements that it is made of. */
typedef struct hk_quantile_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
    double q; /* which quantile, from 0, the least, to 1, the largest (default: 0.5) */
    int64_t method; /* an hk_quantile_method (default: HK_QUANTILE_LINEAR) */
} hk_quantile_options;
HK_API hk_array *hk_quantile(hk_array *x, const hk_quantile_options *options);

/* y = (s[floor((n - 1) / 2)] + s[ceil((n - 1) / 2)]) / 2, of s = x in order. The median along
 * axes (all by default): of elements in order the one in the middle, or the mean of the two that
 * are. As hk_quantile for 0.5. */
typedef struct hk_median_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_median_options;
HK_API hk_array *hk_median(hk_array *x, const hk_median_options *options);

/* y = (1 - t) * s[floor(p)] + t * s[ceil(p)], of s = x in order, p = q * (numbers - 1), t = p -
 * floor(p). As hk_quantile of the elements that are no NaN, however many these are: where all
 * are NaN, the result is. */
typedef struct hk_nanquantile_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
    double q; /* which quantile, from 0, the least, to 1, the largest (default: 0.5) */
    int64_t method; /* an hk_quantile_method (default: HK_QUANTILE_LINEAR) */
} hk_nanquantile_options;
HK_API hk_array *hk_nanquantile(hk_array *x, const hk_nanquantile_options *options);

/* y = (s[floor((n - 1) / 2)] + s[ceil((n - 1) / 2)]) / 2, of s = the n numbers of x in order.
 * The median of the elements that are no NaN, along axes (all by default): NaN where all are. As
 * hk_nanquantile for 0.5. */
typedef struct hk_nanmedian_options {
    hk_dims axes; /* axes to reduce, such as hk_shape(0, -1) (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_nanmedian_options;
HK_API hk_array *hk_nanmedian(hk_array *x, const hk_nanmedian_options *options);

/* y[n,o,i,j] = bias[o] + sum over c, u, v of weight[o,c,u,v] *
 * x[n,c,i*stride-padding+u*dilation,j*stride-padding+v*dilation]. Two-dimensional convolution
 * (cross-correlation, as in every framework) of x (n,channels,height,width) with weight
 * (outputs,channels/groups,rows,columns), plus bias (outputs): (n,outputs,height',width'), of
 * the dtype of all three, where height' = (height + 2 padding - dilation (rows - 1) - 1) /
 * stride + 1, rounded down, and width' likewise. Windows of 3 x 3 and 5 x 5 at stride 1, with 16
 * channels or more, are done 4 or 16 at a time by Winograd's method: there an infinity or NaN in
 * x makes NaN of neighbouring results too. bias may be NULL. */
typedef struct hk_conv2d_options {
    int64_t stride[2]; /* rows and columns from one window to the next (default: {1, 1}) */
    int64_t padding[2]; /* rows of zeros above and below, columns left and right (default: {0,
                           0}) */
    int64_t dilation[2]; /* rows and columns between the elements of a window (default: {1, 1}) */
    int64_t groups; /* parts of the channels, each seen by as large a part of the outputs
                       (default: 1) */
} hk_conv2d_options;
HK_API hk_array *hk_conv2d(hk_array *x, hk_array *weight, hk_array *bias,
                           const hk_conv2d_options *options);

/* y[n,o,i*stride-padding+u*dilation,j*stride-padding+v*dilation] += weight[c,o,u,v] *
 * x[n,c,i,j]. Transposed convolution (fractionally strided; Zeiler et al. 2010): the gradient of
 * hk_conv2d with respect to its x, done to x (n,channels,height,width). weight is
 * (channels,outputs/groups,rows,columns), bias (outputs), the result (n,outputs,height',width'),
 * where height' = (height - 1) stride - 2 padding + dilation (rows - 1) + 1 + output_padding,
 * and width' likewise: the size of an x from which a convolution with these options makes
 * (height,width). bias may be NULL. */
typedef struct hk_conv2d_transpose_options {
    int64_t stride[2]; /* rows and columns from one window to the next (default: {1, 1}) */
    int64_t padding[2]; /* rows of zeros above and below, columns left and right (default: {0,
                           0}) */
    int64_t dilation[2]; /* rows and columns between the elements of a window (default: {1, 1}) */
    int64_t groups; /* parts of the channels, each seen by as large a part of the outputs
                       (default: 1) */
    int64_t output_padding[2]; /* rows added below, columns to the right; less than stride
                                  (default: {0, 0}) */
} hk_conv2d_transpose_options;
HK_API hk_array *hk_conv2d_transpose(hk_array *x, hk_array *weight, hk_array *bias,
                                     const hk_conv2d_transpose_options *options);

/* y[n,o,i] = bias[o] + sum over c, v of weight[o,c,v] * x[n,c,i*stride-padding+v*dilation].
 * One-dimensional convolution (cross-correlation) of x (n,channels,length) with weight
 * (outputs,channels/groups,size), plus bias (outputs): (n,outputs,length'), where length' =
 * (length + 2 padding - dilation (size - 1) - 1) / stride + 1, rounded down. As hk_conv2d of
 * images of one row. bias may be NULL. */
typedef struct hk_conv1d_options {
    int64_t stride; /* elements from one window to the next (default: 1) */
    int64_t padding; /* zeros at either end (default: 0) */
    int64_t dilation; /* elements between those of a window (default: 1) */
    int64_t groups; /* parts of the channels, each seen by as large a part of the outputs
                       (default: 1) */
} hk_conv1d_options;
HK_API hk_array *hk_conv1d(hk_array *x, hk_array *weight, hk_array *bias,
                           const hk_conv1d_options *options);

/* y[n,o,h,i,j] = bias[o] + sum over c, t, u, v of weight[o,c,t,u,v] *
 * x[n,c,h*stride-padding+t*dilation,i*stride-padding+u*dilation,j*stride-padding+v*dilation].
 * Three-dimensional convolution (cross-correlation) of x (n,channels,depth,height,width) with
 * weight (outputs,channels/groups,slices,rows,columns), plus bias (outputs):
 * (n,outputs,depth',height',width'), of the dtype of all three, where depth' = (depth + 2
 * padding - dilation (slices - 1) - 1) / stride + 1, rounded down, and height' and width'
 * likewise. Made of one hk_conv2d, whose images have the slices of a window as channels: memory
 * for x grows by their number, for the time of the call. bias may be NULL. */
typedef struct hk_conv3d_options {
    int64_t stride[3]; /* from one window to the next, along depth, rows and columns (default:
                          {1, 1, 1}) */
    int64_t padding[3]; /* zeros at either end of the three axes (default: {0, 0, 0}) */
    int64_t dilation[3]; /* from one element of a window to the next (default: {1, 1, 1}) */
    int64_t groups; /* parts of the channels, each seen by as large a part of the outputs
                       (default: 1) */
} hk_conv3d_options;
HK_API hk_array *hk_conv3d(hk_array *x, hk_array *weight, hk_array *bias,
                           const hk_conv3d_options *options);

/* y[n,o,h*stride-padding+t*dilation,i*stride-padding+u*dilation,j*stride-padding+v*dilation] +=
 * weight[c,o,t,u,v] * x[n,c,h,i,j]. Transposed convolution of volumes: the gradient of hk_conv3d
 * with respect to its x, done to x (n,channels,depth,height,width). weight is
 * (channels,outputs/groups,slices,rows,columns), bias (outputs), the result
 * (n,outputs,depth',height',width'), where depth' = (depth - 1) stride - 2 padding + dilation
 * (slices - 1) + 1 + output_padding, and height' and width' likewise. Made of one
 * hk_conv2d_transpose. bias may be NULL. */
typedef struct hk_conv3d_transpose_options {
    int64_t stride[3]; /* from one window to the next, along depth, rows and columns (default:
                          {1, 1, 1}) */
    int64_t padding[3]; /* zeros at either end of the three axes (default: {0, 0, 0}) */
    int64_t dilation[3]; /* from one element of a window to the next (default: {1, 1, 1}) */
    int64_t groups; /* parts of the channels, each seen by as large a part of the outputs
                       (default: 1) */
    int64_t output_padding[3]; /* added at the far end of the three axes; less than stride
                                  (default: {0, 0, 0}) */
} hk_conv3d_transpose_options;
HK_API hk_array *hk_conv3d_transpose(hk_array *x, hk_array *weight, hk_array *bias,
                                     const hk_conv3d_transpose_options *options);

/* y[n,c,i,j] = max over u, v of x[n,c,i*stride-padding+u,j*stride-padding+v]. Largest element of
 * each window of x (n,channels,height,width): (n,channels,height',width') with height' = (height
 * + 2 padding - kernel) / stride + 1, rounded down unless ceil_mode, and width' likewise.
 * Padding is never the largest; NaN always is. The gradient goes to the first of the largest. */
typedef struct hk_max_pool2d_options {
    int64_t kernel[2]; /* rows and columns of a window (default: {2, 2}) */
    int64_t stride[2]; /* rows and columns from one window to the next (default: kernel) */
    int64_t padding[2]; /* rows above and below, columns left and right, that no element comes
                           from; less than kernel (default: {0, 0}) */
    bool ceil_mode; /* sizes are rounded up: a last window that begins within x or the padding
                       before it counts (default: false) */
} hk_max_pool2d_options;
HK_API hk_array *hk_max_pool2d(hk_array *x, const hk_max_pool2d_options *options);

/* y[n,c,i,j] = mean over u, v of x[n,c,i*stride-padding+u,j*stride-padding+v]. Mean of each
 * window of x (n,channels,height,width): (n,channels,height',width') with height' = (height + 2
 * padding - kernel) / stride + 1, rounded down unless ceil_mode, and width' likewise. The mean
 * is that of the elements in x, unless count_include_pad. */
typedef struct hk_avg_pool2d_options {
    int64_t kernel[2]; /* rows and columns of a window (default: {2, 2}) */
    int64_t stride[2]; /* rows and columns from one window to the next (default: kernel) */
    int64_t padding[2]; /* rows above and below, columns left and right, that no element comes
                           from; less than kernel (default: {0, 0}) */
    bool ceil_mode; /* sizes are rounded up: a last window that begins within x or the padding
                       before it counts (default: false) */
    bool count_include_pad; /* padding counts as zeros, not as absent (default: false) */
} hk_avg_pool2d_options;
HK_API hk_array *hk_avg_pool2d(hk_array *x, const hk_avg_pool2d_options *options);

/* y[n,c,i] = max over v of x[n,c,i*stride-padding+v]. Largest element of each window of x
 * (n,channels,length): (n,channels,length'), where length' = (length + 2 padding - kernel) /
 * stride + 1, rounded down unless ceil_mode. As hk_max_pool2d of images of one row. */
typedef struct hk_max_pool1d_options {
    int64_t kernel; /* elements of a window (default: 2) */
    int64_t stride; /* elements from one window to the next (default: kernel) */
    int64_t padding; /* at either end, that no element comes from; less than kernel (default: 0) */
    bool ceil_mode; /* the length is rounded up: a last window that begins within x or the
                       padding before it counts (default: false) */
} hk_max_pool1d_options;
HK_API hk_array *hk_max_pool1d(hk_array *x, const hk_max_pool1d_options *options);

/* y[n,c,i] = mean over v of x[n,c,i*stride-padding+v]. Mean of each window of x
 * (n,channels,length): (n,channels,length'), where length' = (length + 2 padding - kernel) /
 * stride + 1, rounded down unless ceil_mode. As hk_avg_pool2d of images of one row. */
typedef struct hk_avg_pool1d_options {
    int64_t kernel; /* elements of a window (default: 2) */
    int64_t stride; /* elements from one window to the next (default: kernel) */
    int64_t padding; /* at either end, that no element comes from; less than kernel (default: 0) */
    bool ceil_mode; /* the length is rounded up: a last window that begins within x or the
                       padding before it counts (default: false) */
    bool count_include_pad; /* padding counts as zeros, not as absent (default: false) */
} hk_avg_pool1d_options;
HK_API hk_array *hk_avg_pool1d(hk_array *x, const hk_avg_pool1d_options *options);

/* y[n,c,i,j] = mean of x[n,c,i's rows,j's columns]. Mean of each window of x
 * (n,channels,height,width), where windows are such that there are `size`:
 * (n,channels,size[0],size[1]). Window i of an axis of h elements goes from i h / size, rounded
 * down, to (i + 1) h / size, rounded up; of more windows than elements several have the same
 * ones. Sizes that divide x's are one call of pooling, others two of each row and column. */
typedef struct hk_adaptive_avg_pool2d_options {
    int64_t size[2]; /* rows and columns of the result (default: {1, 1}) */
} hk_adaptive_avg_pool2d_options;
HK_API hk_array *hk_adaptive_avg_pool2d(hk_array *x, const hk_adaptive_avg_pool2d_options *options);

/* y[n,c,i,j] = max of x[n,c,i's rows,j's columns]. Largest element of each window of x
 * (n,channels,height,width), where windows are such that there are `size`:
 * (n,channels,size[0],size[1]). Window i of an axis of h elements goes from i h / size, rounded
 * down, to (i + 1) h / size, rounded up; of more windows than elements several have the same
 * ones. Sizes that divide x's are one call of pooling, others two of each row and column. */
typedef struct hk_adaptive_max_pool2d_options {
    int64_t size[2]; /* rows and columns of the result (default: {1, 1}) */
} hk_adaptive_max_pool2d_options;
HK_API hk_array *hk_adaptive_max_pool2d(hk_array *x, const hk_adaptive_max_pool2d_options *options);

/* y[n,c,i] = mean of x[n,c,i's elements]. Mean of each window of x (n,channels,length), where
 * windows are such that there are `size`: (n,channels,size). As of images of one row. */
typedef struct hk_adaptive_avg_pool1d_options {
    int64_t size; /* the length of the result (default: 1) */
} hk_adaptive_avg_pool1d_options;
HK_API hk_array *hk_adaptive_avg_pool1d(hk_array *x, const hk_adaptive_avg_pool1d_options *options);

/* y[n,c,i] = max of x[n,c,i's elements]. Largest element of each window of x
 * (n,channels,length), where windows are such that there are `size`: (n,channels,size). As of
 * images of one row. */
typedef struct hk_adaptive_max_pool1d_options {
    int64_t size; /* the length of the result (default: 1) */
} hk_adaptive_max_pool1d_options;
HK_API hk_array *hk_adaptive_max_pool1d(hk_array *x, const hk_adaptive_max_pool1d_options *options);

/* y[n,c,i,j] = sum over a, b of weight(i,a) weight(j,b) x[n,c,a,b]. x (n,channels,height,width),
 * or of one or three axes behind the channels, made larger or smaller:
 * (n,channels,size[0],size[1]), or by scale. An element is made of the nearest one of x, or of 2
 * or 4 along each axis, by mode; coordinates says where in x it lies. Beyond the ends x has the
 * entries at its ends. The nearest one is, with half pixels, that in which the middle of the
 * element lies; with corners aligned, of two the first; asymmetric, the one before. */
typedef struct hk_interpolate_options {
    hk_dims size; /* sizes of the result's axes behind samples and channels (default: by scale) */
    double scale; /* where no size is given: that of the result for each of x, rounded down
                     (default: 1) */
    int64_t mode; /* an hk_interpolation (default: HK_INTERPOLATE_NEAREST) */
    int64_t coordinates; /* an hk_coordinates (default: HK_COORDINATES_HALF_PIXEL) */
} hk_interpolate_options;
HK_API hk_array *hk_interpolate(hk_array *x, const hk_interpolate_options *options);

/* y[n,c,i,j] = x[n,c] at row grid[n,i,j,1], column grid[n,i,j,0]. Elements of images x
 * (n,channels,height,width) at places that grid (n,rows,columns,2) names:
 * (n,channels,rows,columns). grid[…,0] is where across, from -1, the left edge, to 1, the right
 * one, and grid[…,1] where down. Between elements mode says what there is, and outside beyond
 * does. Of grid the same dtype as x. */
typedef struct hk_grid_sample_options {
    int64_t mode; /* an hk_sampling (default: HK_SAMPLE_LINEAR) */
    int64_t beyond; /* an hk_beyond (default: HK_BEYOND_ZEROS) */
    bool align_corners; /* -1 and 1 are the middles of the first and the last element, not their
                           outer edges (default: false) */
} hk_grid_sample_options;
HK_API hk_array *hk_grid_sample(hk_array *x, hk_array *grid, const hk_grid_sample_options *options);

/* y[r,c,i,j] = mean over places p in part (i,j) of rois[r] of x[batch[r],c] at p. Regions of
 * images x (n,channels,height,width) as images of one size: (regions,channels,size[0],size[1]).
 * rois (regions,4), of x's dtype, has left, top, right and bottom of each, which scale
 * multiplies, and batch (regions), of integers, of which sample it is: one that is not there
 * fails the call as HK_OUT_OF_RANGE. A region is cut into parts, and a part is the mean of
 * samples times samples places in it, between the four elements around each; what is more than
 * an element outside is 0. As ONNX's RoiAlign, and torchvision's roi_align. The mean's gradient
 * flows to x alone, the largest share has none. Not on GPUs. Not on GPUs yet. */
typedef struct hk_roi_align_options {
    int64_t size[2]; /* rows and columns of the result (default: {1, 1}) */
    double scale; /* from the numbers of regions to elements of x (default: 1) */
    int64_t samples; /* places along each side of a part; 0: as many as elements (default: 0) */
    bool aligned; /* an element's middle is at half a number; else it is at a whole one, and
                     sides are 1 at least (default: false) */
    bool largest; /* the largest share of an element, not the mean of places (default: false) */
} hk_roi_align_options;
HK_API hk_array *hk_roi_align(hk_array *x, hk_array *rois, hk_array *batch,
                              const hk_roi_align_options *options);

/* Channels become squares of an image: x (n,c*block*block,h,w) gives (n,c,h*block,w*block). The
 * channels that make a square go along its rows. */
typedef struct hk_depth_to_space_arguments {
    int64_t block; /* height and width of a square, 1 at least */
    bool crd; /* the channels of a square lie together, as in PyTorch's pixel_shuffle; else as
                 many apart as the result has, as in ONNX's mode DCR */
} hk_depth_to_space_arguments;
HK_API hk_array *hk_depth_to_space(hk_array *x, int64_t block, bool crd);

/* Squares of an image become channels: x (n,c,h,w) gives (n,c*block*block,h/block,w/block), what
 * hk_depth_to_space turns back. */
typedef struct hk_space_to_depth_arguments {
    int64_t block; /* height and width of a square, 1 at least */
    bool crd; /* the channels of a square lie together, as in PyTorch's pixel_shuffle; else as
                 many apart as the result has, as in ONNX's mode DCR */
} hk_space_to_depth_arguments;
HK_API hk_array *hk_space_to_depth(hk_array *x, int64_t block, bool crd);

/* y = (x - mean) / sqrt(variance + eps) * gamma + beta. Each channel of x (n,channels,…)
 * normalised, then scaled by gamma and shifted by beta (channels), all of one dtype. Without
 * mean and variance, by those of the batch: over all axes but the channels', of 2 elements or
 * more, the variance biased; the gradient goes through them. With both, (channels), as at
 * inference, by these, which get no gradient. hk_batch_norm_train keeps moving averages of the
 * batch's for that. mean may be NULL. variance may be NULL. */
typedef struct hk_batch_norm_options {
    double eps; /* added to the variance, so that nothing is divided by 0 (default: 1e-5) */
} hk_batch_norm_options;
HK_API hk_array *hk_batch_norm(hk_array *x, hk_array *gamma, hk_array *beta, hk_array *mean,
                               hk_array *variance, const hk_batch_norm_options *options);

/* y = (x - mean) / sqrt(variance + eps) * gamma + beta. Layer norm (Ba et al. 2016): x
 * (…,features) shifted and scaled to mean 0 and variance 1 along its last axis, or several, each
 * row by itself, then scaled by gamma and shifted by beta, of the shape of these axes. The
 * variance is biased. gamma may be NULL. beta may be NULL. */
typedef struct hk_layer_norm_options {
    int64_t axes; /* how many of the last axes are normalised together (default: 1) */
    double eps; /* added to the variance, > 0 (default: 1e-5) */
} hk_layer_norm_options;
HK_API hk_array *hk_layer_norm(hk_array *x, hk_array *gamma, hk_array *beta,
                               const hk_layer_norm_options *options);

/* y = x / sqrt(mean of x**2 + eps) * gamma. RMS norm (Zhang, Sennrich 2019): x divided by the
 * root of its mean square along the last axis, or several, then scaled by gamma, of the shape of
 * these axes. gamma may be NULL. */
typedef struct hk_rms_norm_options {
    int64_t axes; /* how many of the last axes are normalised together (default: 1) */
    double eps; /* added to the variance, > 0 (default: 1e-5) */
} hk_rms_norm_options;
HK_API hk_array *hk_rms_norm(hk_array *x, hk_array *gamma, const hk_rms_norm_options *options);

/* y = (x - mean) / sqrt(variance + eps) * gamma + beta. Group norm (Wu, He 2018): of each sample
 * of x (n,channels,…) each group of channels, with all its positions, shifted and scaled to mean
 * 0 and variance 1, then each channel scaled by gamma and shifted by beta (channels). As many
 * groups as channels: instance norm (Ulyanov et al. 2016). The variance is biased. gamma may be
 * NULL. beta may be NULL. */
typedef struct hk_group_norm_options {
    int64_t groups; /* parts of the channels, normalised each with all its positions (default: 1) */
    double eps; /* added to the variance, > 0 (default: 1e-5) */
} hk_group_norm_options;
HK_API hk_array *hk_group_norm(hk_array *x, hk_array *gamma, hk_array *beta,
                               const hk_group_norm_options *options);

/* mean of (x - target)**2. Squared error of x and a target of its shape. */
typedef struct hk_mse_loss_options {
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
} hk_mse_loss_options;
HK_API hk_array *hk_mse_loss(hk_array *x, hk_array *target, const hk_mse_loss_options *options);

/* mean of |x - target|. Absolute error of x and a target of its shape. */
typedef struct hk_l1_loss_options {
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
} hk_l1_loss_options;
HK_API hk_array *hk_l1_loss(hk_array *x, hk_array *target, const hk_l1_loss_options *options);

/* mean of e**2 / 2 where e = |x - target| <= delta, else of delta (e - delta / 2). Squared error
 * near the target, absolute error further off (Huber 1964). Divided by delta it is the smooth L1
 * loss. */
typedef struct hk_huber_loss_options {
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
    double delta; /* from where on the loss is a straight line, > 0 (default: 1) */
} hk_huber_loss_options;
HK_API hk_array *hk_huber_loss(hk_array *x, hk_array *target, const hk_huber_loss_options *options);

/* mean of softplus(x) - x target. Cross entropy of a probability, sigmoid(x), and a target from
 * 0 to 1. Large x overflow nothing. */
typedef struct hk_binary_cross_entropy_with_logits_options {
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
} hk_binary_cross_entropy_with_logits_options;
HK_API hk_array *hk_binary_cross_entropy_with_logits(hk_array *x, hk_array *target,
                                                     const hk_binary_cross_entropy_with_logits_options *options);

/* mean of max(0, 1 - x target). How far x is from being on the target's side of a margin;
 * targets are -1 and 1. */
typedef struct hk_hinge_loss_options {
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
} hk_hinge_loss_options;
HK_API hk_array *hk_hinge_loss(hk_array *x, hk_array *target, const hk_hinge_loss_options *options);

/* mean of target (ln(target) - x). Part of the divergence (Kullback, Leibler 1951) of target,
 * probabilities, from e**x: x holds logarithms, as hk_log_softmax gives. A target of 0 counts
 * nothing. The divergence of rows is their sum; the mean of all is less by the number of
 * classes. */
typedef struct hk_kl_divergence_loss_options {
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
} hk_kl_divergence_loss_options;
HK_API hk_array *hk_kl_divergence_loss(hk_array *x, hk_array *target,
                                       const hk_kl_divergence_loss_options *options);

/* mean of -target ln(x) - (1 - target) ln(1 - x). Cross entropy of a probability x and a target
 * from 0 to 1. Of probabilities below e**-85 that is taken, without a gradient;
 * hk_binary_cross_entropy_with_logits has no such bound. */
typedef struct hk_binary_cross_entropy_options {
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
} hk_binary_cross_entropy_options;
HK_API hk_array *hk_binary_cross_entropy(hk_array *x, hk_array *target,
                                         const hk_binary_cross_entropy_options *options);

/* mean of -weight[label] ln(softmax(x)[label]). Cross entropy of softmax(x) along an axis of
 * classes against integer labels, of x's shape without that axis; weight (classes) is of x's
 * dtype. With smoothing s a target is 1 - s for the label and s / classes for each class
 * (Szegedy et al. 2016). The mean is weighted by the labels' weights, ignored ones left out, and
 * NaN where all are. A label that is none of the classes fails the result. weight has no
 * gradient. For rows without any of this, hk_softmax_cross_entropy is as fast. weight may be
 * NULL. */
typedef struct hk_cross_entropy_loss_options {
    int64_t axis; /* of the classes; -1 is the last, HK_FIRST_AXIS the first (default: 1) */
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
    bool ignores; /* labels that are `ignored` count nothing (default: false) */
    int64_t ignored; /* the label that `ignores` means (default: 0) */
    double label_smoothing; /* of a target's weight, shared among all classes; 0 … 1 (default: 0) */
} hk_cross_entropy_loss_options;
HK_API hk_array *hk_cross_entropy_loss(hk_array *x, hk_array *labels, hk_array *weight,
                                       const hk_cross_entropy_loss_options *options);

/* mean of -weight[label] x[label]. Minus x at the labels, x being logarithms of probabilities,
 * as hk_log_softmax gives; all else is as in hk_cross_entropy_loss. weight may be NULL. */
typedef struct hk_nll_loss_options {
    int64_t axis; /* of the classes; -1 is the last, HK_FIRST_AXIS the first (default: 1) */
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
    bool ignores; /* labels that are `ignored` count nothing (default: false) */
    int64_t ignored; /* the label that `ignores` means (default: 0) */
} hk_nll_loss_options;
HK_API hk_array *hk_nll_loss(hk_array *x, hk_array *labels, hk_array *weight,
                             const hk_nll_loss_options *options);

/* z = sum of x y / (|x| |y|) along axis. Cosine of the angle between vectors of x and y, of one
 * shape, along an axis, which goes: -1 to 1. Norms below 1e-8 count as that. */
typedef struct hk_cosine_similarity_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_cosine_similarity_arguments;
HK_API hk_array *hk_cosine_similarity(hk_array *x, hk_array *y, int64_t axis);

/* mean of 1 - cos where target > 0, else of max(0, cos - margin). Loss of the cosine between
 * vectors of x and y (…,features): 1 less it where target (…) is above 0, mostly 1; else, mostly
 * -1, how far it is above margin. No gradient with respect to target. */
typedef struct hk_cosine_embedding_loss_options {
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
    double margin; /* a cosine that vectors apart may have; -1 … 1 (default: 0) */
} hk_cosine_embedding_loss_options;
HK_API hk_array *hk_cosine_embedding_loss(hk_array *x, hk_array *y, hk_array *target,
                                          const hk_cosine_embedding_loss_options *options);

/* mean of max(0, |anchor - positive| - |anchor - negative| + margin). By how much less than
 * margin the negative is farther from the anchor than the positive is: vectors along the last
 * axis of three arrays of one shape, (…,features) to (…) (Schroff et al. 2015, without squares).
 * 1e-6 is added to differences. */
typedef struct hk_triplet_margin_loss_options {
    int64_t reduction; /* an hk_loss_reduction (default: HK_LOSS_MEAN) */
    double margin; /* by how much the negative is to be farther, >= 0 (default: 1) */
} hk_triplet_margin_loss_options;
HK_API hk_array *hk_triplet_margin_loss(hk_array *anchor, hk_array *positive, hk_array *negative,
                                        const hk_triplet_margin_loss_options *options);

/* y[n] = -ln sum over paths of prod over t of exp(log_probs[t,n,path[t]]). Connectionist
 * temporal classification: minus the logarithm of the probability that a sequence gives its
 * labels, one after the other, with blanks and repetitions anywhere between them. log_probs
 * (steps,n,classes) are hk_log_softmax of scores; targets (n,labels), input_lengths (n) and
 * target_lengths (n) are integers: of a sample the first input_lengths steps and target_lengths
 * labels count. One loss for each sample (n), their sum, or the mean of each by its number of
 * labels. Infinite where a target does not fit into its steps; such a loss has no gradient.
 * Computed in float64. A length or label beyond its axis fails the call as HK_OUT_OF_RANGE. */
typedef struct hk_ctc_loss_options {
    int64_t blank; /* the class that is no label (default: 0) */
    int64_t reduction; /* an hk_loss_reduction; the mean is of losses by labels of a target
                          (default: HK_LOSS_MEAN) */
    bool zero_infinity; /* 0 for infinite losses, of targets that do not fit (default: false) */
} hk_ctc_loss_options;
HK_API hk_array *hk_ctc_loss(hk_array *log_probs, hk_array *targets, hk_array *input_lengths,
                             hk_array *target_lengths, const hk_ctc_loss_options *options);

/* softmax(query key^T scale + mask) value. Attention (Vaswani et al. 2017) of queries (…,n,d) to
 * keys (…,m,d) with values (…,m,e): (…,n,e). mask broadcasts to (…,n,m): bool, true where a
 * query sees a key, or numbers that are added to the scores, -inf where it does not. A query
 * that sees no key gives 0. What no query sees does not count, be it NaN. mask may be NULL. */
typedef struct hk_scaled_dot_product_attention_options {
    bool causal; /* query i sees keys 0 to i alone; as many queries as keys (default: false) */
    double scale; /* what scores are multiplied by, >= 0 (default: 1 / sqrt(d)) */
} hk_scaled_dot_product_attention_options;
HK_API hk_array *hk_scaled_dot_product_attention(hk_array *query, hk_array *key, hk_array *value,
                                                 hk_array *mask,
                                                 const hk_scaled_dot_product_attention_options *options);

/* x[begin:end:step] along one axis: a view. Unlike Python, an index out of range is refused. */
typedef struct hk_slice_step_arguments {
    int64_t axis; /* a negative one counts from the last */
    int64_t begin; /* the first index; a negative one counts from the end */
    int64_t end; /* where to stop, not included; -size - 1 means before index 0, for negative
                    steps */
    int64_t step; /* from one index to the next, not 0 */
} hk_slice_step_arguments;
HK_API hk_array *hk_slice_step(hk_array *x, int64_t axis, int64_t begin, int64_t end, int64_t step);

/* x with the order of its elements along an axis reversed: a view. */
typedef struct hk_flip_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_flip_arguments;
HK_API hk_array *hk_flip(hk_array *x, int64_t axis);

/* x with an axis of size 1 added: a view. */
typedef struct hk_expand_dims_arguments {
    int64_t axis; /* where the axis is in the result; a negative one counts from its last */
} hk_expand_dims_arguments;
HK_API hk_array *hk_expand_dims(hk_array *x, int64_t axis);

/* x without an axis of size 1: a view. */
typedef struct hk_squeeze_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_squeeze_arguments;
HK_API hk_array *hk_squeeze(hk_array *x, int64_t axis);

/* x with two axes exchanged: a view. */
typedef struct hk_swapaxes_arguments {
    int64_t axis1; /* a negative one counts from the last */
    int64_t axis2; /* a negative one counts from the last */
} hk_swapaxes_arguments;
HK_API hk_array *hk_swapaxes(hk_array *x, int64_t axis1, int64_t axis2);

/* x with an axis moved to another place, the others in order: a view. */
typedef struct hk_moveaxis_arguments {
    int64_t source; /* a negative one counts from the last */
    int64_t destination; /* a negative one counts from the last */
} hk_moveaxis_arguments;
HK_API hk_array *hk_moveaxis(hk_array *x, int64_t source, int64_t destination);

/* x with its axes in another order: a view. */
typedef struct hk_permute_dims_arguments {
    hk_dims axes; /* for each axis of the result, which of x's it is; each one once */
} hk_permute_dims_arguments;
HK_API hk_array *hk_permute_dims(hk_array *x, hk_dims axes);

/* The diagonals of the last two axes, as a last axis: a view. */
typedef struct hk_diagonal_arguments {
    int64_t offset; /* 0: the main diagonal; above it where positive, below where negative */
} hk_diagonal_arguments;
HK_API hk_array *hk_diagonal(hk_array *x, int64_t offset);

/* Windows along an axis, one behind the other: the axis counts them, and a last axis has the
 * entries of each. A view, into which nobody may write where windows overlap. Its gradient adds
 * up what the windows of an element get. */
typedef struct hk_sliding_window_arguments {
    int64_t axis; /* a negative one counts from the last */
    int64_t size; /* entries of a window, 1 at least */
    int64_t step; /* from one window to the next, 1 at least */
} hk_sliding_window_arguments;
HK_API hk_array *hk_sliding_window(hk_array *x, int64_t axis, int64_t size, int64_t step);

/* The arrays one behind the other along an axis, in new memory. Their dtypes and other axes are
 * the same. `arrays` points to `count` of them. */
typedef struct hk_concat_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_concat_arguments;
HK_API hk_array *hk_concat(hk_array *const *arrays, int count, int64_t axis);

/* Arrays of one shape and dtype along a new axis, which is `axis` of the result. `arrays` points
 * to `count` of them. */
typedef struct hk_stack_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_stack_arguments;
HK_API hk_array *hk_stack(hk_array *const *arrays, int count, int64_t axis);

/* x shifted along an axis: what falls off the end comes in at the front. */
typedef struct hk_roll_arguments {
    int64_t shift; /* places towards the end; negative: towards the front */
    int64_t axis; /* a negative one counts from the last */
} hk_roll_arguments;
HK_API hk_array *hk_roll(hk_array *x, int64_t shift, int64_t axis);

/* Each entry of an axis several times in a row. */
typedef struct hk_repeat_arguments {
    int64_t repeats; /* how often */
    int64_t axis; /* a negative one counts from the last */
} hk_repeat_arguments;
HK_API hk_array *hk_repeat(hk_array *x, int64_t repeats, int64_t axis);

/* x several times, one behind the other along an axis. */
typedef struct hk_tile_arguments {
    int64_t repeats; /* how often */
    int64_t axis; /* a negative one counts from the last */
} hk_tile_arguments;
HK_API hk_array *hk_tile(hk_array *x, int64_t repeats, int64_t axis);

/* x with entries added at both ends of an axis. */
typedef struct hk_pad_arguments {
    int64_t axis; /* a negative one counts from the last */
    int64_t width[2]; /* entries added in front and behind */
    int64_t mode; /* an hk_pad_mode */
    double value; /* what HK_PAD_CONSTANT adds */
} hk_pad_arguments;
HK_API hk_array *hk_pad(hk_array *x, int64_t axis, const int64_t *width, int64_t mode,
                        double value);

/* For each element of indices the entry of x that it names along the axis, at the same place
 * along the others. indices has x's shape but for the axis. A negative index counts from the
 * end; one out of range fails the result. */
typedef struct hk_take_along_axis_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_take_along_axis_arguments;
HK_API hk_array *hk_take_along_axis(hk_array *x, hk_array *indices, int64_t axis);

/* x, and to the entry that each element of indices names, as in hk_take_along_axis, the same
 * element of updates added. Where several name one entry they are added in their order, halves
 * as float32; in pairs, as samples are, where they are whole rows of floats along axis 0.
 * updates has the shape of indices. */
typedef struct hk_scatter_add_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_scatter_add_arguments;
HK_API hk_array *hk_scatter_add(hk_array *x, hk_array *indices, hk_array *updates, int64_t axis);

/* x, but at the entry that each element of indices names, as in hk_take_along_axis, the same
 * element of updates. Where several name one entry the last one stays, and gets the gradient.
 * updates has the shape of indices. */
typedef struct hk_scatter_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_scatter_arguments;
HK_API hk_array *hk_scatter(hk_array *x, hk_array *indices, hk_array *updates, int64_t axis);

/* The entries of an axis that indices names, such as rows of a table: NumPy's take along an
 * axis. The axes of indices, any number of them, stand in place of that axis. A negative index
 * counts from the end; one out of range fails the result. */
typedef struct hk_index_select_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_index_select_arguments;
HK_API hk_array *hk_index_select(hk_array *x, hk_array *indices, int64_t axis);

/* x = y y^T. The lower triangle L of symmetric, positive definite matrices: L times its
 * transpose is x. Of complex ones transposes are conjugated, here and where one is Hermitian.
 * Matrices lie along the last two axes; one that is not symmetric counts as the mean of it and
 * its transpose, unless one triangle alone is read. One that is not positive definite fails the
 * result, as does a NaN or an infinity. x may be overwritten in place; views, blocks of a larger
 * matrix among them, are read and written as they lie. Not on GPUs yet. */
typedef struct hk_cholesky_options {
    bool upper; /* the transpose of L instead (default: false) */
    bool one_triangle; /* of x only the triangle that the result has is read (default: false) */
} hk_cholesky_options;
HK_API hk_array *hk_cholesky(hk_array *x, const hk_cholesky_options *options);
HK_API void hk_cholesky_into(hk_array *out, hk_array *x, const hk_cholesky_options *options);

/* x y = b. y, where x times y is b, by factors with partial pivoting. Square matrices x lie
 * along the last two axes. b has matrices (n,k) there, or is one vector (n). The axes before are
 * broadcast. A matrix with a pivot of exactly 0 fails the result. Not on GPUs yet. */
HK_API hk_array *hk_solve(hk_array *x, hk_array *b);

/* t y = b. y, where t times y is b, or, from the right, y times t. Of the square matrices t,
 * which lie along the last two axes, one triangle is read. b has matrices there, or is one
 * vector. The axes before are broadcast. A 0 on the diagonal fails the result. b may be
 * overwritten in place; views, blocks of a larger matrix among them, are read and written as
 * they lie where the elements of rows or of columns lie side by side. Not on GPUs yet. */
typedef struct hk_solve_triangular_options {
    bool upper; /* the upper triangle of t is read, not the lower one (default: false) */
    bool unit_diagonal; /* the diagonal of t counts as 1 and is not read (default: false) */
    bool transposed; /* the transpose of t in its place (default: false) */
    bool conjugated; /* of complex t: its conjugate (default: false) */
    bool right; /* t on the right: y t = b (default: false) */
} hk_solve_triangular_options;
HK_API hk_array *hk_solve_triangular(hk_array *t, hk_array *b,
                                     const hk_solve_triangular_options *options);
HK_API void hk_solve_triangular_into(hk_array *out, hk_array *t, hk_array *b,
                                     const hk_solve_triangular_options *options);

/* y = alpha a b + beta c. alpha times the matrix product of a (m,k) and b (k,n), added to beta
 * times c, which broadcasts to it. Further axes in front are batches of matrices, which
 * broadcast. Where alpha is 0, a and b are not read; where beta is 0, c is not. c may be
 * overwritten in place; transposed views and blocks of a larger matrix are read and written as
 * they lie. Not on GPUs yet. */
typedef struct hk_addmm_options {
    double alpha; /* what the product is multiplied by; HK_ZERO: 0 (default: 1) */
    double beta; /* what c is multiplied by; HK_ZERO: 0 (default: 1) */
} hk_addmm_options;
HK_API hk_array *hk_addmm(hk_array *c, hk_array *a, hk_array *b, const hk_addmm_options *options);
HK_API void hk_addmm_into(hk_array *out, hk_array *c, hk_array *a, hk_array *b,
                          const hk_addmm_options *options);

/* y = alpha a a^T + beta c. c, of which one triangle, the lower one, and the diagonal become
 * alpha times the product of a (n,k) and its transpose, added to beta times c; the other
 * triangle stays as it is. c broadcasts to (n,n). Of complex numbers the transpose is
 * conjugated, and the diagonal becomes real. Further axes in front are batches of matrices.
 * Where alpha is 0, a is not read; where beta is 0, what is written is not. c may be overwritten
 * in place; transposed views and blocks of a larger matrix are read and written as they lie. Not
 * on GPUs yet. */
typedef struct hk_syrk_options {
    double alpha; /* what the product is multiplied by; HK_ZERO: 0 (default: 1) */
    double beta; /* what c is multiplied by; HK_ZERO: 0 (default: 1) */
    bool upper; /* the upper triangle is written, not the lower one (default: false) */
} hk_syrk_options;
HK_API hk_array *hk_syrk(hk_array *c, hk_array *a, const hk_syrk_options *options);
HK_API void hk_syrk_into(hk_array *out, hk_array *c, hk_array *a, const hk_syrk_options *options);

/* Factors with partial pivoting of matrices x (m,n), which lie along the last two axes: L U is x
 * after row i of it was swapped with row pivots[i], for each i from 0. lu has U in its upper
 * triangle, and below that L without its diagonal of ones. pivots are int32, min(m,n) for each
 * matrix. A pivot of 0 stays in U and fails nothing. x may be overwritten by lu in place.
 * Results: lu, pivots. Not on GPUs yet. No gradient: packed factors have none; hk_solve, hk_inv
 * and hk_det have. */
HK_API void hk_lu_factor(hk_array *x, hk_array **lu, hk_array **pivots);
HK_API void hk_lu_factor_into(hk_array *lu, hk_array *pivots, hk_array *x);

/* x y = b. y, where x times y is b, for the matrices x (n,n) that lu_factor made lu and pivots
 * of. b has matrices (n,k), or is one vector (n). The axes before are broadcast. A pivot of 0 in
 * lu fails the result. b may be overwritten in place. Not on GPUs yet. */
typedef struct hk_lu_solve_options {
    bool transposed; /* the transpose of x in its place (default: false) */
    bool conjugated; /* of complex x: its conjugate (default: false) */
} hk_lu_solve_options;
HK_API hk_array *hk_lu_solve(hk_array *lu, hk_array *pivots, hk_array *b,
                             const hk_lu_solve_options *options);
HK_API void hk_lu_solve_into(hk_array *out, hk_array *lu, hk_array *pivots, hk_array *b,
                             const hk_lu_solve_options *options);

/* x y = identity. Inverses of square matrices, which lie along the last two axes. One with a
 * pivot of exactly 0 fails the result. hk_solve is faster and closer than a product with an
 * inverse. Not on GPUs yet. */
HK_API hk_array *hk_inv(hk_array *x);

/* Determinants of square matrices, which lie along the last two axes; 1 of those without
 * elements. The product of pivots is formed in double; hk_slogdet does not overflow. Not on GPUs
 * yet. */
HK_API hk_array *hk_det(hk_array *x);

/* det = sign e ** logabsdet. Signs of determinants, and logarithms of their absolute values,
 * which do not overflow: 0 and -infinity of singular matrices, whose gradient fails. The sign of
 * a complex one is det / |det|. Results: sign, logabsdet. Not on GPUs yet. */
HK_API void hk_slogdet(hk_array *x, hk_array **sign, hk_array **logabsdet);

/* Eigenvalues of symmetric matrices, or complex Hermitian ones, (..., n, n) in rising order:
 * (..., n), which are real. One that is not symmetric counts as the mean of it and its
 * transpose. A NaN or an infinity fails the result. Not on GPUs yet. */
HK_API hk_array *hk_eigvalsh(hk_array *x);

/* Singular values of matrices (..., m, n) in falling order: (..., min(m, n)). A NaN or an
 * infinity fails the result. Not on GPUs yet. */
HK_API hk_array *hk_svdvals(hk_array *x);

/* Pseudo-inverses (Moore and Penrose) of matrices (..., m, n), by singular values: (..., n, m).
 * The gradient holds where small changes do not change the rank. Not on GPUs yet. */
typedef struct hk_pinv_options {
    double rtol; /* singular values up to this share of the largest count as 0 (default: the
                    larger size times the dtype's epsilon) */
} hk_pinv_options;
HK_API hk_array *hk_pinv(hk_array *x, const hk_pinv_options *options);

/* Ranks of matrices, as int64: how many singular values are more than rtol times the largest.
 * Not on GPUs yet. No gradient: its result does not vary smoothly. */
typedef struct hk_matrix_rank_options {
    double rtol; /* singular values up to this share of the largest count as 0 (default: the
                    larger size times the dtype's epsilon) */
} hk_matrix_rank_options;
HK_API hk_array *hk_matrix_rank(hk_array *x, const hk_matrix_rank_options *options);

/* x = vectors diag(values) vectors^T. Eigenvalues of symmetric matrices (..., n, n) in rising
 * order, (..., n), and their vectors, the columns of (..., n, n), of length 1, whose largest
 * element in size is positive. Of complex matrices Hermitian ones are meant, values are real,
 * and x is vectors diag(values) vectors^H. One that is not symmetric counts as the mean of it
 * and its transpose. The gradient by vectors of equal values is not finite. A NaN or an infinity
 * fails the results. Results: values, vectors. Not on GPUs yet. */
HK_API void hk_eigh(hk_array *x, hk_array **values, hk_array **vectors);

/* x vectors = vectors diag(values). Eigenvalues of square matrices (..., n, n), (..., n), and
 * their vectors, the columns of (..., n, n), of length 1, whose largest element in size is real
 * and positive. Both are complex, of the dtype's precision, and in no order. Computed as
 * doubles. The gradient by vectors of equal values is not finite, and fails where the vectors
 * are dependent. A NaN or an infinity fails the results. Results: values, vectors. Not on GPUs
 * yet. */
HK_API void hk_eig(hk_array *x, hk_array **values, hk_array **vectors);

/* Eigenvalues of square matrices (..., n, n), complex, in no order: (..., n). Computed as
 * doubles. A NaN or an infinity fails the result. Not on GPUs yet. */
HK_API hk_array *hk_eigvals(hk_array *x);

/* x = u diag(s) vh. Singular values s of matrices (..., m, n) in falling order, (..., k), k =
 * min(m, n), and their vectors, the columns of u (..., m, k) and the rows of vh (..., k, n). The
 * largest element in size of each column of u is positive, of complex ones, too. The gradient is
 * not finite by vectors of equal values, or of 0. A NaN or an infinity fails the results.
 * Results: u, s, vh. Not on GPUs yet. */
typedef struct hk_svd_options {
    bool full_matrices; /* u (m, m) and vh (n, n) in place of the first min(m, n) (default:
                           false) */
} hk_svd_options;
HK_API void hk_svd(hk_array *x, const hk_svd_options *options, hk_array **u, hk_array **s,
                   hk_array **vh);

/* x = q r. Matrices (..., m, n) as products of q (..., m, k), k = min(m, n), whose columns are
 * of length 1 and at right angles, and r (..., k, n), with zeros below the diagonal and nothing
 * negative on it, where r is real, also of complex matrices. The gradient is that of full rank;
 * another fails it. Results: q, r. Not on GPUs yet. */
typedef struct hk_qr_options {
    bool complete; /* q (m, m) and r (m, n) in place of the first min(m, n) (default: false) */
} hk_qr_options;
HK_API void hk_qr(hk_array *x, const hk_qr_options *options, hk_array **q, hk_array **r);

/* Factors Q R, by reflections, of matrices x (m,n), which lie along the last two axes. qr has R
 * in its upper triangle, whose diagonal may be negative. Below that, column i has the rest of
 * the vector v of reflection i, which begins with a 1 on the diagonal; the reflection is I -
 * tau[i] v v^H. Q is their product in order. hk_qr_multiply multiplies by it. x may be
 * overwritten by qr in place. Results: qr, tau. Not on GPUs yet. No gradient: packed factors
 * have none; hk_qr has one. */
HK_API void hk_qr_factor(hk_array *x, hk_array **qr, hk_array **tau);
HK_API void hk_qr_factor_into(hk_array *qr, hk_array *tau, hk_array *x);

/* y = Q b. Q times b, for the square Q (m,m) of the factors that qr_factor made of matrices
 * (m,n). b has matrices (m,k), or (k,m) from the right, or is one vector (m). The axes before
 * are broadcast. b may be overwritten in place. Not on GPUs yet. */
typedef struct hk_qr_multiply_options {
    bool adjoint; /* the adjoint of Q in its place: its transpose, conjugated (default: false) */
    bool right; /* b times Q, not Q times b (default: false) */
} hk_qr_multiply_options;
HK_API hk_array *hk_qr_multiply(hk_array *qr, hk_array *tau, hk_array *b,
                                const hk_qr_multiply_options *options);
HK_API void hk_qr_multiply_into(hk_array *out, hk_array *qr, hk_array *tau, hk_array *b,
                                const hk_qr_multiply_options *options);

/* Square matrices, which lie along the last two axes, to the power of a whole number; 0 gives
 * the identity. A negative power of a singular matrix fails the result. Not on GPUs yet. */
typedef struct hk_matrix_power_arguments {
    int64_t n; /* a negative one: powers of the inverse */
} hk_matrix_power_arguments;
HK_API hk_array *hk_matrix_power(hk_array *x, int64_t n);

/* Norms of matrices, which lie along the last two axes: Frobenius, nuclear, 1, 2, infinite, or
 * the smallest in place of the largest. Of complex matrices they are real. Not on GPUs yet. */
typedef struct hk_matrix_norm_options {
    int64_t ord; /* an hk_norm_order (default: HK_NORM_FRO) */
    bool keepdims; /* keep the two axes, with size 1 (default: false) */
} hk_matrix_norm_options;
HK_API hk_array *hk_matrix_norm(hk_array *x, const hk_matrix_norm_options *options);

/* (sum of |x| ** ord over axes) ** (1 / ord). The p-norm of vectors along axes. Where the norm
 * is 0 its gradient is 0. Of complex vectors it is real. */
typedef struct hk_vector_norm_options {
    double ord; /* p: 1, INFINITY, -INFINITY, any other; HK_ZERO: how many are not 0 (default: 2) */
    hk_dims axes; /* axes to reduce (default: all axes) */
    bool keepdims; /* keep the reduced axes, with size 1 (default: false) */
} hk_vector_norm_options;
HK_API hk_array *hk_vector_norm(hk_array *x, const hk_vector_norm_options *options);

/* Cross products of vectors of 3 elements, which lie along an axis of the result; the other axes
 * are broadcast. */
typedef struct hk_cross_arguments {
    int64_t axis; /* a negative one counts from the last */
} hk_cross_arguments;
HK_API hk_array *hk_cross(hk_array *x, hk_array *y, int64_t axis);

/* Kronecker product: each element of x times all of y, as blocks. The one with fewer axes, 4 at
 * most, has axes of size 1 in front. */
HK_API hk_array *hk_kron(hk_array *x, hk_array *y);

/* Real parts of complex numbers, as float32 or float64; a view of x where it is real. */
HK_API hk_array *hk_real(hk_array *x);

/* Imaginary parts of complex numbers, as float32 or float64; zeros where x is real. */
HK_API hk_array *hk_imag(hk_array *x);

/* Complex conjugates: imaginary parts with the other sign; a view of x where it is real. */
HK_API hk_array *hk_conj(hk_array *x);

/* Angles of complex numbers, from -pi to pi, as float32 or float64: atan2 of both parts. */
HK_API hk_array *hk_angle(hk_array *x);

/* real + i imag. Complex numbers of these parts, which are broadcast: complex64 of float32,
 * complex128 where one is float64. Not on GPUs yet. */
HK_API hk_array *hk_complex_of(hk_array *real, hk_array *imag);
HK_API void hk_complex_of_into(hk_array *out, hk_array *real, hk_array *imag);

/* y[k] = sum of x[j] e ** (-2 pi i j k / n). Discrete Fourier transforms of lines along an axis;
 * a real x counts as complex. Computed in double precision, in time n log n for all lengths. Not
 * on GPUs yet. */
typedef struct hk_fft_arguments {
    int64_t n; /* length of the transform, to which lines are cut or filled up; 0: as it is */
    int64_t axis; /* a negative one counts from the last */
    int64_t norm; /* an hk_fft_norm */
} hk_fft_arguments;
HK_API hk_array *hk_fft(hk_array *x, int64_t n, int64_t axis, int64_t norm);

/* y[k] = sum of x[j] e ** (2 pi i j k / n) / n. The reverse of hk_fft. Not on GPUs yet. */
typedef struct hk_ifft_arguments {
    int64_t n; /* length of the transform, to which lines are cut or filled up; 0: as it is */
    int64_t axis; /* a negative one counts from the last */
    int64_t norm; /* an hk_fft_norm */
} hk_ifft_arguments;
HK_API hk_array *hk_ifft(hk_array *x, int64_t n, int64_t axis, int64_t norm);

/* The first n / 2 + 1 elements of hk_fft of a real x: the others are their conjugates. Not on
 * GPUs yet. */
typedef struct hk_rfft_arguments {
    int64_t n; /* length of the transform, to which lines are cut or filled up; 0: as it is */
    int64_t axis; /* a negative one counts from the last */
    int64_t norm; /* an hk_fft_norm */
} hk_rfft_arguments;
HK_API hk_array *hk_rfft(hk_array *x, int64_t n, int64_t axis, int64_t norm);

/* The reverse of hk_rfft, real: x has the first n / 2 + 1 elements of a spectrum. n is 2 (size -
 * 1) by default; give odd ones. Not on GPUs yet. */
typedef struct hk_irfft_arguments {
    int64_t n; /* length of the transform, to which lines are cut or filled up; 0: as it is */
    int64_t axis; /* a negative one counts from the last */
    int64_t norm; /* an hk_fft_norm */
} hk_irfft_arguments;
HK_API hk_array *hk_irfft(hk_array *x, int64_t n, int64_t axis, int64_t norm);

/* hk_fft of a signal with a real spectrum: x has its first n / 2 + 1 elements. n is 2 (size - 1)
 * by default; give odd ones. Not on GPUs yet. */
typedef struct hk_hfft_arguments {
    int64_t n; /* length of the transform, to which lines are cut or filled up; 0: as it is */
    int64_t axis; /* a negative one counts from the last */
    int64_t norm; /* an hk_fft_norm */
} hk_hfft_arguments;
HK_API hk_array *hk_hfft(hk_array *x, int64_t n, int64_t axis, int64_t norm);

/* The reverse of hk_hfft: the first n / 2 + 1 elements of hk_ifft of a real x. Not on GPUs yet. */
typedef struct hk_ihfft_arguments {
    int64_t n; /* length of the transform, to which lines are cut or filled up; 0: as it is */
    int64_t axis; /* a negative one counts from the last */
    int64_t norm; /* an hk_fft_norm */
} hk_ihfft_arguments;
HK_API hk_array *hk_ihfft(hk_array *x, int64_t n, int64_t axis, int64_t norm);

/* hk_fft along several axes, one after the other. Not on GPUs yet. */
typedef struct hk_fftn_arguments {
    hk_dims sizes; /* lengths along the axes, as n of hk_fft; hk_shape(): as they are */
    hk_dims axes; /* the axes; hk_shape(): the last ones, as many as sizes, or all */
    int64_t norm; /* an hk_fft_norm */
} hk_fftn_arguments;
HK_API hk_array *hk_fftn(hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm);

/* The reverse of hk_fftn. Not on GPUs yet. */
typedef struct hk_ifftn_arguments {
    hk_dims sizes; /* lengths along the axes, as n of hk_fft; hk_shape(): as they are */
    hk_dims axes; /* the axes; hk_shape(): the last ones, as many as sizes, or all */
    int64_t norm; /* an hk_fft_norm */
} hk_ifftn_arguments;
HK_API hk_array *hk_ifftn(hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm);

/* hk_rfft along the last one of several axes, then hk_fft along the others. Not on GPUs yet. */
typedef struct hk_rfftn_arguments {
    hk_dims sizes; /* lengths along the axes, as n of hk_fft; hk_shape(): as they are */
    hk_dims axes; /* the axes; hk_shape(): the last ones, as many as sizes, or all */
    int64_t norm; /* an hk_fft_norm */
} hk_rfftn_arguments;
HK_API hk_array *hk_rfftn(hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm);

/* The reverse of hk_rfftn: the last size is 2 (size - 1) by default; give odd ones. Not on GPUs
 * yet. */
typedef struct hk_irfftn_arguments {
    hk_dims sizes; /* lengths along the axes, as n of hk_fft; hk_shape(): as they are */
    hk_dims axes; /* the axes; hk_shape(): the last ones, as many as sizes, or all */
    int64_t norm; /* an hk_fft_norm */
} hk_irfftn_arguments;
HK_API hk_array *hk_irfftn(hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm);

/* Frequencies of the elements of hk_fft, in cycles per unit of the distance: positive ones, then
 * negative ones. */
typedef struct hk_fftfreq_arguments {
    int64_t n; /* length of the transform */
    double distance; /* between samples, such as 1 */
    hk_dtype dtype; /* dtype of the result, of floats */
} hk_fftfreq_arguments;
HK_API hk_array *hk_fftfreq(int64_t n, double distance, hk_dtype dtype, hk_device device);

/* Frequencies of the elements of hk_rfft, in cycles per unit of the distance. */
typedef struct hk_rfftfreq_arguments {
    int64_t n; /* length of the transform */
    double distance; /* between samples, such as 1 */
    hk_dtype dtype; /* dtype of the result, of floats */
} hk_rfftfreq_arguments;
HK_API hk_array *hk_rfftfreq(int64_t n, double distance, hk_dtype dtype, hk_device device);

/* Axes rolled by half their size, so that frequency 0 comes to the middle. */
typedef struct hk_fftshift_arguments {
    hk_dims axes; /* the axes; hk_shape(): all */
} hk_fftshift_arguments;
HK_API hk_array *hk_fftshift(hk_array *x, hk_dims axes);

/* The reverse of hk_fftshift. */
typedef struct hk_ifftshift_arguments {
    hk_dims axes; /* the axes; hk_shape(): all */
} hk_ifftshift_arguments;
HK_API hk_array *hk_ifftshift(hk_array *x, hk_dims axes);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_OPTIONS(hk_array *, hk_sum, hk_sum_options, (hk_source at, hk_array *x,
                                                   const hk_sum_options *options),
      (x, options))
#define hk_sum(...) hk_sum_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_mean, hk_mean_options, (hk_source at, hk_array *x,
                                                     const hk_mean_options *options),
      (x, options))
#define hk_mean(...) hk_mean_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_max, hk_max_options, (hk_source at, hk_array *x,
                                                   const hk_max_options *options),
      (x, options))
#define hk_max(...) hk_max_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_min, hk_min_options, (hk_source at, hk_array *x,
                                                   const hk_min_options *options),
      (x, options))
#define hk_min(...) hk_min_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_prod, hk_prod_options, (hk_source at, hk_array *x,
                                                     const hk_prod_options *options),
      (x, options))
#define hk_prod(...) hk_prod_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_norm, hk_norm_options, (hk_source at, hk_array *x,
                                                     const hk_norm_options *options),
      (x, options))
#define hk_norm(...) hk_norm_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_count_nonzero, hk_count_nonzero_options,
      (hk_source at, hk_array *x, const hk_count_nonzero_options *options),
      (x, options))
#define hk_count_nonzero(...) hk_count_nonzero_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_any, hk_any_options, (hk_source at, hk_array *x,
                                                   const hk_any_options *options),
      (x, options))
#define hk_any(...) hk_any_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_all, hk_all_options, (hk_source at, hk_array *x,
                                                   const hk_all_options *options),
      (x, options))
#define hk_all(...) hk_all_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_var, hk_var_options, (hk_source at, hk_array *x,
                                                   const hk_var_options *options),
      (x, options))
#define hk_var(...) hk_var_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_std, hk_std_options, (hk_source at, hk_array *x,
                                                   const hk_std_options *options),
      (x, options))
#define hk_std(...) hk_std_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_var_mean, hk_var_mean_options, (hk_source at, hk_array *x,
                                                      const hk_var_mean_options *options,
                                                      hk_array **variance, hk_array **mean),
      (x, options, variance, mean))
#define hk_var_mean(...) hk_var_mean_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_logsumexp, hk_logsumexp_options,
      (hk_source at, hk_array *x, const hk_logsumexp_options *options),
      (x, options))
#define hk_logsumexp(...) hk_logsumexp_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_add, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_add_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_add_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_add_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_subtract, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_subtract_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_subtract_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_subtract_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_multiply, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_multiply_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_multiply_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_multiply_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_divide, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_divide_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_divide_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_divide_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_maximum, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_maximum_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_maximum_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_maximum_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_minimum, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_minimum_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_minimum_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_minimum_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_power, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_power_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_power_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_power_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_remainder, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_remainder_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_remainder_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_remainder_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_floor_divide, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_floor_divide_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_floor_divide_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_floor_divide_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                             hk_operand y);
HK_AT(hk_array *, hk_atan2, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_atan2_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_atan2_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_atan2_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_hypot, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_hypot_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_hypot_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_hypot_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_copysign, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_copysign_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_copysign_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_copysign_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_nextafter, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_nextafter_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_nextafter_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_nextafter_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_logaddexp, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_logaddexp_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_logaddexp_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_logaddexp_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_prelu, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_prelu_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_prelu_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_prelu_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_negative, (hk_source at, hk_array *x),
      (x))
#define hk_negative(...) hk_negative_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_negative_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_negative_into(...) hk_negative_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_exp, (hk_source at, hk_array *x),
      (x))
#define hk_exp(...) hk_exp_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_exp_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_exp_into(...) hk_exp_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_log, (hk_source at, hk_array *x),
      (x))
#define hk_log(...) hk_log_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_log_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_log_into(...) hk_log_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_sqrt, (hk_source at, hk_array *x),
      (x))
#define hk_sqrt(...) hk_sqrt_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_sqrt_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_sqrt_into(...) hk_sqrt_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_abs, (hk_source at, hk_array *x),
      (x))
#define hk_abs(...) hk_abs_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_abs_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_abs_into(...) hk_abs_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_square, (hk_source at, hk_array *x),
      (x))
#define hk_square(...) hk_square_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_square_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_square_into(...) hk_square_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_sigmoid, (hk_source at, hk_array *x),
      (x))
#define hk_sigmoid(...) hk_sigmoid_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_sigmoid_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_sigmoid_into(...) hk_sigmoid_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_tanh, (hk_source at, hk_array *x),
      (x))
#define hk_tanh(...) hk_tanh_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_tanh_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_tanh_into(...) hk_tanh_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_relu, (hk_source at, hk_array *x),
      (x))
#define hk_relu(...) hk_relu_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_relu_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_relu_into(...) hk_relu_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_reciprocal, (hk_source at, hk_array *x),
      (x))
#define hk_reciprocal(...) hk_reciprocal_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_reciprocal_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_reciprocal_into(...) hk_reciprocal_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_rsqrt, (hk_source at, hk_array *x),
      (x))
#define hk_rsqrt(...) hk_rsqrt_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_rsqrt_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_rsqrt_into(...) hk_rsqrt_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_expm1, (hk_source at, hk_array *x),
      (x))
#define hk_expm1(...) hk_expm1_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_expm1_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_expm1_into(...) hk_expm1_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_log1p, (hk_source at, hk_array *x),
      (x))
#define hk_log1p(...) hk_log1p_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_log1p_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_log1p_into(...) hk_log1p_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_log2, (hk_source at, hk_array *x),
      (x))
#define hk_log2(...) hk_log2_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_log2_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_log2_into(...) hk_log2_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_log10, (hk_source at, hk_array *x),
      (x))
#define hk_log10(...) hk_log10_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_log10_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_log10_into(...) hk_log10_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_sin, (hk_source at, hk_array *x),
      (x))
#define hk_sin(...) hk_sin_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_sin_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_sin_into(...) hk_sin_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_cos, (hk_source at, hk_array *x),
      (x))
#define hk_cos(...) hk_cos_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_cos_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_cos_into(...) hk_cos_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_tan, (hk_source at, hk_array *x),
      (x))
#define hk_tan(...) hk_tan_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_tan_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_tan_into(...) hk_tan_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_asin, (hk_source at, hk_array *x),
      (x))
#define hk_asin(...) hk_asin_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_asin_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_asin_into(...) hk_asin_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_acos, (hk_source at, hk_array *x),
      (x))
#define hk_acos(...) hk_acos_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_acos_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_acos_into(...) hk_acos_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_atan, (hk_source at, hk_array *x),
      (x))
#define hk_atan(...) hk_atan_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_atan_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_atan_into(...) hk_atan_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_sinh, (hk_source at, hk_array *x),
      (x))
#define hk_sinh(...) hk_sinh_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_sinh_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_sinh_into(...) hk_sinh_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_cosh, (hk_source at, hk_array *x),
      (x))
#define hk_cosh(...) hk_cosh_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_cosh_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_cosh_into(...) hk_cosh_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_asinh, (hk_source at, hk_array *x),
      (x))
#define hk_asinh(...) hk_asinh_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_asinh_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_asinh_into(...) hk_asinh_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_acosh, (hk_source at, hk_array *x),
      (x))
#define hk_acosh(...) hk_acosh_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_acosh_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_acosh_into(...) hk_acosh_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_atanh, (hk_source at, hk_array *x),
      (x))
#define hk_atanh(...) hk_atanh_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_atanh_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_atanh_into(...) hk_atanh_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_erf, (hk_source at, hk_array *x),
      (x))
#define hk_erf(...) hk_erf_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_erf_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_erf_into(...) hk_erf_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_ceil, (hk_source at, hk_array *x),
      (x))
#define hk_ceil(...) hk_ceil_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_ceil_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_ceil_into(...) hk_ceil_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_floor, (hk_source at, hk_array *x),
      (x))
#define hk_floor(...) hk_floor_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_floor_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_floor_into(...) hk_floor_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_trunc, (hk_source at, hk_array *x),
      (x))
#define hk_trunc(...) hk_trunc_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_trunc_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_trunc_into(...) hk_trunc_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_round, (hk_source at, hk_array *x),
      (x))
#define hk_round(...) hk_round_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_round_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_round_into(...) hk_round_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_sign, (hk_source at, hk_array *x),
      (x))
#define hk_sign(...) hk_sign_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_sign_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_sign_into(...) hk_sign_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_gelu, (hk_source at, hk_array *x),
      (x))
#define hk_gelu(...) hk_gelu_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_gelu_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_gelu_into(...) hk_gelu_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_gelu_tanh, (hk_source at, hk_array *x),
      (x))
#define hk_gelu_tanh(...) hk_gelu_tanh_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_gelu_tanh_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_gelu_tanh_into(...) hk_gelu_tanh_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_silu, (hk_source at, hk_array *x),
      (x))
#define hk_silu(...) hk_silu_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_silu_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_silu_into(...) hk_silu_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_softplus, (hk_source at, hk_array *x),
      (x))
#define hk_softplus(...) hk_softplus_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_softplus_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_softplus_into(...) hk_softplus_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_mish, (hk_source at, hk_array *x),
      (x))
#define hk_mish(...) hk_mish_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_mish_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_mish_into(...) hk_mish_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_hard_sigmoid, (hk_source at, hk_array *x),
      (x))
#define hk_hard_sigmoid(...) hk_hard_sigmoid_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_hard_sigmoid_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_hard_sigmoid_into(...) hk_hard_sigmoid_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_hard_swish, (hk_source at, hk_array *x),
      (x))
#define hk_hard_swish(...) hk_hard_swish_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_hard_swish_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_hard_swish_into(...) hk_hard_swish_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_elu, (hk_source at, hk_array *x, double value),
      (x, value))
#define hk_elu(...) hk_elu_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_elu_into, (hk_source at, hk_array *out, hk_array *x, double value),
      (out, x, value))
#define hk_elu_into(...) hk_elu_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_leaky_relu, (hk_source at, hk_array *x, double value),
      (x, value))
#define hk_leaky_relu(...) hk_leaky_relu_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_leaky_relu_into, (hk_source at, hk_array *out, hk_array *x, double value),
      (out, x, value))
#define hk_leaky_relu_into(...) hk_leaky_relu_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_clip, (hk_source at, hk_array *x, double min, double max),
      (x, min, max))
#define hk_clip(...) hk_clip_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_clip_into, (hk_source at, hk_array *out, hk_array *x, double min, double max),
      (out, x, min, max))
#define hk_clip_into(...) hk_clip_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_equal, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_equal_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_equal_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_equal_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_not_equal, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_not_equal_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_not_equal_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_not_equal_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_less, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_less_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_less_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_less_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_less_equal, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_less_equal_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_less_equal_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_less_equal_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_greater, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_greater_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_greater_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_greater_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_greater_equal, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_greater_equal_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_greater_equal_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_greater_equal_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                              hk_operand y);
HK_AT(hk_array *, hk_where, (hk_source at, hk_array *condition, hk_array *x, hk_array *y),
      (condition, x, y))
HK_API hk_array *hk_where_operands_at(hk_source at, hk_array *condition, hk_operand x,
                                      hk_operand y);
HK_AT_VOID(hk_where_into, (hk_source at, hk_array *out, hk_array *condition, hk_array *x,
                           hk_array *y),
      (out, condition, x, y))
HK_API void hk_where_operands_into_at(hk_source at, hk_array *out, hk_array *condition,
                                      hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_isnan, (hk_source at, hk_array *x),
      (x))
#define hk_isnan(...) hk_isnan_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_isnan_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_isnan_into(...) hk_isnan_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_isinf, (hk_source at, hk_array *x),
      (x))
#define hk_isinf(...) hk_isinf_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_isinf_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_isinf_into(...) hk_isinf_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_isfinite, (hk_source at, hk_array *x),
      (x))
#define hk_isfinite(...) hk_isfinite_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_isfinite_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_isfinite_into(...) hk_isfinite_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_signbit, (hk_source at, hk_array *x),
      (x))
#define hk_signbit(...) hk_signbit_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_signbit_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_signbit_into(...) hk_signbit_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_logical_and, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_logical_and_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_logical_and_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_logical_and_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                            hk_operand y);
HK_AT(hk_array *, hk_logical_or, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_logical_or_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_logical_or_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_logical_or_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_logical_xor, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_logical_xor_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_logical_xor_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_logical_xor_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                            hk_operand y);
HK_AT(hk_array *, hk_logical_not, (hk_source at, hk_array *x),
      (x))
#define hk_logical_not(...) hk_logical_not_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_logical_not_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_logical_not_into(...) hk_logical_not_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_bitwise_and, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_bitwise_and_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_bitwise_and_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_bitwise_and_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                            hk_operand y);
HK_AT(hk_array *, hk_bitwise_or, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_bitwise_or_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_bitwise_or_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_bitwise_or_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y);
HK_AT(hk_array *, hk_bitwise_xor, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_bitwise_xor_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_bitwise_xor_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_bitwise_xor_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                            hk_operand y);
HK_AT(hk_array *, hk_bitwise_invert, (hk_source at, hk_array *x),
      (x))
#define hk_bitwise_invert(...) hk_bitwise_invert_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_bitwise_invert_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_bitwise_invert_into(...) hk_bitwise_invert_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_bitwise_left_shift, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_bitwise_left_shift_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_bitwise_left_shift_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_bitwise_left_shift_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                                   hk_operand y);
HK_AT(hk_array *, hk_bitwise_right_shift, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
HK_API hk_array *hk_bitwise_right_shift_operands_at(hk_source at, hk_operand x, hk_operand y);
HK_AT_VOID(hk_bitwise_right_shift_into, (hk_source at, hk_array *out, hk_array *x, hk_array *y),
      (out, x, y))
HK_API void hk_bitwise_right_shift_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                                    hk_operand y);
HK_AT(hk_array *, hk_copy, (hk_source at, hk_array *x),
      (x))
#define hk_copy(...) hk_copy_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_copy_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_copy_into(...) hk_copy_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_cast, (hk_source at, hk_array *x, hk_dtype dtype),
      (x, dtype))
#define hk_cast(...) hk_cast_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_wrap, (hk_source at, hk_array *x, hk_dtype dtype),
      (x, dtype))
#define hk_wrap(...) hk_wrap_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_to_device, (hk_source at, hk_array *x, hk_device device),
      (x, device))
#define hk_to_device(...) hk_to_device_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_pin, (hk_source at, hk_array *x),
      (x))
#define hk_pin(...) hk_pin_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_full, (hk_source at, hk_dims shape, double value, hk_dtype dtype,
                            hk_device device),
      (shape, value, dtype, device))
#define hk_full(...) hk_full_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_full_into, (hk_source at, hk_array *out, hk_dims shape, double value, hk_dtype dtype),
      (out, shape, value, dtype))
#define hk_full_into(...) hk_full_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_zeros, (hk_source at, hk_dims shape, hk_dtype dtype, hk_device device),
      (shape, dtype, device))
#define hk_zeros(...) hk_zeros_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_zeros_into, (hk_source at, hk_array *out, hk_dims shape, hk_dtype dtype),
      (out, shape, dtype))
#define hk_zeros_into(...) hk_zeros_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_ones, (hk_source at, hk_dims shape, hk_dtype dtype, hk_device device),
      (shape, dtype, device))
#define hk_ones(...) hk_ones_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_ones_into, (hk_source at, hk_array *out, hk_dims shape, hk_dtype dtype),
      (out, shape, dtype))
#define hk_ones_into(...) hk_ones_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_arange, (hk_source at, double start, double stop, double step, hk_dtype dtype,
                              hk_device device),
      (start, stop, step, dtype, device))
#define hk_arange(...) hk_arange_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_sequence, (hk_source at, int64_t first, int64_t step, int64_t count,
                                hk_dtype dtype, hk_device device),
      (first, step, count, dtype, device))
#define hk_sequence(...) hk_sequence_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_linspace, (hk_source at, double start, double stop, int64_t count,
                                bool endpoint, hk_dtype dtype, hk_device device),
      (start, stop, count, endpoint, dtype, device))
#define hk_linspace(...) hk_linspace_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_eye, (hk_source at, int64_t rows, int64_t columns, int64_t offset,
                           hk_dtype dtype, hk_device device),
      (rows, columns, offset, dtype, device))
#define hk_eye(...) hk_eye_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_full_like, (hk_source at, hk_array *x, double value),
      (x, value))
#define hk_full_like(...) hk_full_like_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_zeros_like, (hk_source at, hk_array *x),
      (x))
#define hk_zeros_like(...) hk_zeros_like_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_ones_like, (hk_source at, hk_array *x),
      (x))
#define hk_ones_like(...) hk_ones_like_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_ones_like_into, (hk_source at, hk_array *out, hk_array *x),
      (out, x))
#define hk_ones_like_into(...) hk_ones_like_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_one_hot, (hk_source at, hk_array *x, int64_t classes, hk_dtype dtype),
      (x, classes, dtype))
#define hk_one_hot(...) hk_one_hot_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_tril, (hk_source at, hk_array *x, int64_t offset),
      (x, offset))
#define hk_tril(...) hk_tril_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_triu, (hk_source at, hk_array *x, int64_t offset),
      (x, offset))
#define hk_triu(...) hk_triu_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_reshape, (hk_source at, hk_array *x, hk_dims shape),
      (x, shape))
#define hk_reshape(...) hk_reshape_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_matmul, (hk_source at, hk_array *a, hk_array *b),
      (a, b))
#define hk_matmul(...) hk_matmul_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_tensordot, (hk_source at, hk_array *x, hk_array *y, int64_t axes),
      (x, y, axes))
#define hk_tensordot(...) hk_tensordot_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_vecdot, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
#define hk_vecdot(...) hk_vecdot_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_outer, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
#define hk_outer(...) hk_outer_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_matrix_trace, (hk_source at, hk_array *x, int64_t offset),
      (x, offset))
#define hk_matrix_trace(...) hk_matrix_trace_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_diff, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_diff(...) hk_diff_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_linear, (hk_source at, hk_array *x, hk_array *weight, hk_array *bias),
      (x, weight, bias))
#define hk_linear(...) hk_linear_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_softmax_cross_entropy, (hk_source at, hk_array *logits, hk_array *labels),
      (logits, labels))
#define hk_softmax_cross_entropy(...) hk_softmax_cross_entropy_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_softmax, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_softmax(...) hk_softmax_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_log_softmax, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_log_softmax(...) hk_log_softmax_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_argmax, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_argmax(...) hk_argmax_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_argmin, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_argmin(...) hk_argmin_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_cumulative_sum, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_cumulative_sum(...) hk_cumulative_sum_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_cumulative_prod, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_cumulative_prod(...) hk_cumulative_prod_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_sort, (hk_source at, hk_array *x, int64_t axis, bool descending),
      (x, axis, descending))
#define hk_sort(...) hk_sort_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_argsort, (hk_source at, hk_array *x, int64_t axis, bool descending),
      (x, axis, descending))
#define hk_argsort(...) hk_argsort_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_searchsorted, (hk_source at, hk_array *sorted, hk_array *x, bool right),
      (sorted, x, right))
#define hk_searchsorted(...) hk_searchsorted_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_topk, (hk_source at, hk_array *x, int64_t k, int64_t axis, bool largest,
                     hk_array **values, hk_array **indices),
      (x, k, axis, largest, values, indices))
#define hk_topk(...) hk_topk_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_isin, (hk_source at, hk_array *x, hk_array *elements),
      (x, elements))
#define hk_isin(...) hk_isin_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_histogram, (hk_source at, hk_array *x, int64_t bins, double low, double high),
      (x, bins, low, high))
#define hk_histogram(...) hk_histogram_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_cumulative_max, (hk_source at, hk_array *x, int64_t axis, hk_array **values,
                               hk_array **indices),
      (x, axis, values, indices))
#define hk_cumulative_max(...) hk_cumulative_max_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_cumulative_min, (hk_source at, hk_array *x, int64_t axis, hk_array **values,
                               hk_array **indices),
      (x, axis, values, indices))
#define hk_cumulative_min(...) hk_cumulative_min_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_quantile, hk_quantile_options, (hk_source at, hk_array *x,
                                                             const hk_quantile_options *options),
      (x, options))
#define hk_quantile(...) hk_quantile_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_median, hk_median_options, (hk_source at, hk_array *x,
                                                         const hk_median_options *options),
      (x, options))
#define hk_median(...) hk_median_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_nanquantile, hk_nanquantile_options,
      (hk_source at, hk_array *x, const hk_nanquantile_options *options),
      (x, options))
#define hk_nanquantile(...) hk_nanquantile_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_nanmedian, hk_nanmedian_options,
      (hk_source at, hk_array *x, const hk_nanmedian_options *options),
      (x, options))
#define hk_nanmedian(...) hk_nanmedian_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_conv2d, hk_conv2d_options, (hk_source at, hk_array *x,
                                                         hk_array *weight, hk_array *bias,
                                                         const hk_conv2d_options *options),
      (x, weight, bias, options))
#define hk_conv2d(...) hk_conv2d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_conv2d_transpose, hk_conv2d_transpose_options,
      (hk_source at, hk_array *x, hk_array *weight, hk_array *bias,
       const hk_conv2d_transpose_options *options),
      (x, weight, bias, options))
#define hk_conv2d_transpose(...) hk_conv2d_transpose_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_conv1d, hk_conv1d_options, (hk_source at, hk_array *x,
                                                         hk_array *weight, hk_array *bias,
                                                         const hk_conv1d_options *options),
      (x, weight, bias, options))
#define hk_conv1d(...) hk_conv1d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_conv3d, hk_conv3d_options, (hk_source at, hk_array *x,
                                                         hk_array *weight, hk_array *bias,
                                                         const hk_conv3d_options *options),
      (x, weight, bias, options))
#define hk_conv3d(...) hk_conv3d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_conv3d_transpose, hk_conv3d_transpose_options,
      (hk_source at, hk_array *x, hk_array *weight, hk_array *bias,
       const hk_conv3d_transpose_options *options),
      (x, weight, bias, options))
#define hk_conv3d_transpose(...) hk_conv3d_transpose_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_max_pool2d, hk_max_pool2d_options,
      (hk_source at, hk_array *x, const hk_max_pool2d_options *options),
      (x, options))
#define hk_max_pool2d(...) hk_max_pool2d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_avg_pool2d, hk_avg_pool2d_options,
      (hk_source at, hk_array *x, const hk_avg_pool2d_options *options),
      (x, options))
#define hk_avg_pool2d(...) hk_avg_pool2d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_max_pool1d, hk_max_pool1d_options,
      (hk_source at, hk_array *x, const hk_max_pool1d_options *options),
      (x, options))
#define hk_max_pool1d(...) hk_max_pool1d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_avg_pool1d, hk_avg_pool1d_options,
      (hk_source at, hk_array *x, const hk_avg_pool1d_options *options),
      (x, options))
#define hk_avg_pool1d(...) hk_avg_pool1d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_adaptive_avg_pool2d, hk_adaptive_avg_pool2d_options,
      (hk_source at, hk_array *x, const hk_adaptive_avg_pool2d_options *options),
      (x, options))
#define hk_adaptive_avg_pool2d(...) hk_adaptive_avg_pool2d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_adaptive_max_pool2d, hk_adaptive_max_pool2d_options,
      (hk_source at, hk_array *x, const hk_adaptive_max_pool2d_options *options),
      (x, options))
#define hk_adaptive_max_pool2d(...) hk_adaptive_max_pool2d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_adaptive_avg_pool1d, hk_adaptive_avg_pool1d_options,
      (hk_source at, hk_array *x, const hk_adaptive_avg_pool1d_options *options),
      (x, options))
#define hk_adaptive_avg_pool1d(...) hk_adaptive_avg_pool1d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_adaptive_max_pool1d, hk_adaptive_max_pool1d_options,
      (hk_source at, hk_array *x, const hk_adaptive_max_pool1d_options *options),
      (x, options))
#define hk_adaptive_max_pool1d(...) hk_adaptive_max_pool1d_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_interpolate, hk_interpolate_options,
      (hk_source at, hk_array *x, const hk_interpolate_options *options),
      (x, options))
#define hk_interpolate(...) hk_interpolate_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_grid_sample, hk_grid_sample_options,
      (hk_source at, hk_array *x, hk_array *grid, const hk_grid_sample_options *options),
      (x, grid, options))
#define hk_grid_sample(...) hk_grid_sample_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_roi_align, hk_roi_align_options,
      (hk_source at, hk_array *x, hk_array *rois, hk_array *batch,
       const hk_roi_align_options *options),
      (x, rois, batch, options))
#define hk_roi_align(...) hk_roi_align_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_depth_to_space, (hk_source at, hk_array *x, int64_t block, bool crd),
      (x, block, crd))
#define hk_depth_to_space(...) hk_depth_to_space_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_space_to_depth, (hk_source at, hk_array *x, int64_t block, bool crd),
      (x, block, crd))
#define hk_space_to_depth(...) hk_space_to_depth_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_batch_norm, hk_batch_norm_options,
      (hk_source at, hk_array *x, hk_array *gamma, hk_array *beta, hk_array *mean,
       hk_array *variance, const hk_batch_norm_options *options),
      (x, gamma, beta, mean, variance, options))
#define hk_batch_norm(...) hk_batch_norm_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_layer_norm, hk_layer_norm_options,
      (hk_source at, hk_array *x, hk_array *gamma, hk_array *beta,
       const hk_layer_norm_options *options),
      (x, gamma, beta, options))
#define hk_layer_norm(...) hk_layer_norm_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_rms_norm, hk_rms_norm_options, (hk_source at, hk_array *x,
                                                             hk_array *gamma,
                                                             const hk_rms_norm_options *options),
      (x, gamma, options))
#define hk_rms_norm(...) hk_rms_norm_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_group_norm, hk_group_norm_options,
      (hk_source at, hk_array *x, hk_array *gamma, hk_array *beta,
       const hk_group_norm_options *options),
      (x, gamma, beta, options))
#define hk_group_norm(...) hk_group_norm_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_mse_loss, hk_mse_loss_options, (hk_source at, hk_array *x,
                                                             hk_array *target,
                                                             const hk_mse_loss_options *options),
      (x, target, options))
#define hk_mse_loss(...) hk_mse_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_l1_loss, hk_l1_loss_options, (hk_source at, hk_array *x,
                                                           hk_array *target,
                                                           const hk_l1_loss_options *options),
      (x, target, options))
#define hk_l1_loss(...) hk_l1_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_huber_loss, hk_huber_loss_options,
      (hk_source at, hk_array *x, hk_array *target, const hk_huber_loss_options *options),
      (x, target, options))
#define hk_huber_loss(...) hk_huber_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_binary_cross_entropy_with_logits, hk_binary_cross_entropy_with_logits_options,
      (hk_source at, hk_array *x, hk_array *target,
       const hk_binary_cross_entropy_with_logits_options *options),
      (x, target, options))
#define hk_binary_cross_entropy_with_logits(...) hk_binary_cross_entropy_with_logits_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_hinge_loss, hk_hinge_loss_options,
      (hk_source at, hk_array *x, hk_array *target, const hk_hinge_loss_options *options),
      (x, target, options))
#define hk_hinge_loss(...) hk_hinge_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_kl_divergence_loss, hk_kl_divergence_loss_options,
      (hk_source at, hk_array *x, hk_array *target, const hk_kl_divergence_loss_options *options),
      (x, target, options))
#define hk_kl_divergence_loss(...) hk_kl_divergence_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_binary_cross_entropy, hk_binary_cross_entropy_options,
      (hk_source at, hk_array *x, hk_array *target, const hk_binary_cross_entropy_options *options),
      (x, target, options))
#define hk_binary_cross_entropy(...) hk_binary_cross_entropy_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_cross_entropy_loss, hk_cross_entropy_loss_options,
      (hk_source at, hk_array *x, hk_array *labels, hk_array *weight,
       const hk_cross_entropy_loss_options *options),
      (x, labels, weight, options))
#define hk_cross_entropy_loss(...) hk_cross_entropy_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_nll_loss, hk_nll_loss_options, (hk_source at, hk_array *x,
                                                             hk_array *labels, hk_array *weight,
                                                             const hk_nll_loss_options *options),
      (x, labels, weight, options))
#define hk_nll_loss(...) hk_nll_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_cosine_similarity, (hk_source at, hk_array *x, hk_array *y, int64_t axis),
      (x, y, axis))
#define hk_cosine_similarity(...) hk_cosine_similarity_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_cosine_embedding_loss, hk_cosine_embedding_loss_options,
      (hk_source at, hk_array *x, hk_array *y, hk_array *target,
       const hk_cosine_embedding_loss_options *options),
      (x, y, target, options))
#define hk_cosine_embedding_loss(...) hk_cosine_embedding_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_triplet_margin_loss, hk_triplet_margin_loss_options,
      (hk_source at, hk_array *anchor, hk_array *positive, hk_array *negative,
       const hk_triplet_margin_loss_options *options),
      (anchor, positive, negative, options))
#define hk_triplet_margin_loss(...) hk_triplet_margin_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_ctc_loss, hk_ctc_loss_options, (hk_source at, hk_array *log_probs,
                                                             hk_array *targets,
                                                             hk_array *input_lengths,
                                                             hk_array *target_lengths,
                                                             const hk_ctc_loss_options *options),
      (log_probs, targets, input_lengths, target_lengths, options))
#define hk_ctc_loss(...) hk_ctc_loss_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_scaled_dot_product_attention, hk_scaled_dot_product_attention_options,
      (hk_source at, hk_array *query, hk_array *key, hk_array *value, hk_array *mask,
       const hk_scaled_dot_product_attention_options *options),
      (query, key, value, mask, options))
#define hk_scaled_dot_product_attention(...) hk_scaled_dot_product_attention_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_slice_step, (hk_source at, hk_array *x, int64_t axis, int64_t begin,
                                  int64_t end, int64_t step),
      (x, axis, begin, end, step))
#define hk_slice_step(...) hk_slice_step_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_flip, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_flip(...) hk_flip_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_expand_dims, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_expand_dims(...) hk_expand_dims_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_squeeze, (hk_source at, hk_array *x, int64_t axis),
      (x, axis))
#define hk_squeeze(...) hk_squeeze_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_swapaxes, (hk_source at, hk_array *x, int64_t axis1, int64_t axis2),
      (x, axis1, axis2))
#define hk_swapaxes(...) hk_swapaxes_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_moveaxis, (hk_source at, hk_array *x, int64_t source, int64_t destination),
      (x, source, destination))
#define hk_moveaxis(...) hk_moveaxis_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_permute_dims, (hk_source at, hk_array *x, hk_dims axes),
      (x, axes))
#define hk_permute_dims(...) hk_permute_dims_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_diagonal, (hk_source at, hk_array *x, int64_t offset),
      (x, offset))
#define hk_diagonal(...) hk_diagonal_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_sliding_window, (hk_source at, hk_array *x, int64_t axis, int64_t size,
                                      int64_t step),
      (x, axis, size, step))
#define hk_sliding_window(...) hk_sliding_window_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_concat, (hk_source at, hk_array *const *arrays, int count, int64_t axis),
      (arrays, count, axis))
#define hk_concat(...) hk_concat_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_stack, (hk_source at, hk_array *const *arrays, int count, int64_t axis),
      (arrays, count, axis))
#define hk_stack(...) hk_stack_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_roll, (hk_source at, hk_array *x, int64_t shift, int64_t axis),
      (x, shift, axis))
#define hk_roll(...) hk_roll_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_repeat, (hk_source at, hk_array *x, int64_t repeats, int64_t axis),
      (x, repeats, axis))
#define hk_repeat(...) hk_repeat_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_tile, (hk_source at, hk_array *x, int64_t repeats, int64_t axis),
      (x, repeats, axis))
#define hk_tile(...) hk_tile_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_pad, (hk_source at, hk_array *x, int64_t axis, const int64_t *width,
                           int64_t mode, double value),
      (x, axis, width, mode, value))
#define hk_pad(...) hk_pad_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_take_along_axis, (hk_source at, hk_array *x, hk_array *indices, int64_t axis),
      (x, indices, axis))
#define hk_take_along_axis(...) hk_take_along_axis_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_scatter_add, (hk_source at, hk_array *x, hk_array *indices, hk_array *updates,
                                   int64_t axis),
      (x, indices, updates, axis))
#define hk_scatter_add(...) hk_scatter_add_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_scatter, (hk_source at, hk_array *x, hk_array *indices, hk_array *updates,
                               int64_t axis),
      (x, indices, updates, axis))
#define hk_scatter(...) hk_scatter_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_index_select, (hk_source at, hk_array *x, hk_array *indices, int64_t axis),
      (x, indices, axis))
#define hk_index_select(...) hk_index_select_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_cholesky, hk_cholesky_options, (hk_source at, hk_array *x,
                                                             const hk_cholesky_options *options),
      (x, options))
#define hk_cholesky(...) hk_cholesky_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_cholesky_into, hk_cholesky_options, (hk_source at, hk_array *out,
                                                           hk_array *x,
                                                           const hk_cholesky_options *options),
      (out, x, options))
#define hk_cholesky_into(...) hk_cholesky_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_solve, (hk_source at, hk_array *x, hk_array *b),
      (x, b))
#define hk_solve(...) hk_solve_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_solve_triangular, hk_solve_triangular_options,
      (hk_source at, hk_array *t, hk_array *b, const hk_solve_triangular_options *options),
      (t, b, options))
#define hk_solve_triangular(...) hk_solve_triangular_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_solve_triangular_into, hk_solve_triangular_options,
      (hk_source at, hk_array *out, hk_array *t, hk_array *b,
       const hk_solve_triangular_options *options),
      (out, t, b, options))
#define hk_solve_triangular_into(...) hk_solve_triangular_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_addmm, hk_addmm_options, (hk_source at, hk_array *c, hk_array *a,
                                                       hk_array *b,
                                                       const hk_addmm_options *options),
      (c, a, b, options))
#define hk_addmm(...) hk_addmm_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_addmm_into, hk_addmm_options, (hk_source at, hk_array *out, hk_array *c,
                                                     hk_array *a, hk_array *b,
                                                     const hk_addmm_options *options),
      (out, c, a, b, options))
#define hk_addmm_into(...) hk_addmm_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_syrk, hk_syrk_options, (hk_source at, hk_array *c, hk_array *a,
                                                     const hk_syrk_options *options),
      (c, a, options))
#define hk_syrk(...) hk_syrk_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_syrk_into, hk_syrk_options, (hk_source at, hk_array *out, hk_array *c,
                                                   hk_array *a, const hk_syrk_options *options),
      (out, c, a, options))
#define hk_syrk_into(...) hk_syrk_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_lu_factor, (hk_source at, hk_array *x, hk_array **lu, hk_array **pivots),
      (x, lu, pivots))
#define hk_lu_factor(...) hk_lu_factor_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_lu_factor_into, (hk_source at, hk_array *lu, hk_array *pivots, hk_array *x),
      (lu, pivots, x))
#define hk_lu_factor_into(...) hk_lu_factor_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_lu_solve, hk_lu_solve_options, (hk_source at, hk_array *lu,
                                                             hk_array *pivots, hk_array *b,
                                                             const hk_lu_solve_options *options),
      (lu, pivots, b, options))
#define hk_lu_solve(...) hk_lu_solve_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_lu_solve_into, hk_lu_solve_options, (hk_source at, hk_array *out,
                                                           hk_array *lu, hk_array *pivots,
                                                           hk_array *b,
                                                           const hk_lu_solve_options *options),
      (out, lu, pivots, b, options))
#define hk_lu_solve_into(...) hk_lu_solve_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_inv, (hk_source at, hk_array *x),
      (x))
#define hk_inv(...) hk_inv_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_det, (hk_source at, hk_array *x),
      (x))
#define hk_det(...) hk_det_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_slogdet, (hk_source at, hk_array *x, hk_array **sign, hk_array **logabsdet),
      (x, sign, logabsdet))
#define hk_slogdet(...) hk_slogdet_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_eigvalsh, (hk_source at, hk_array *x),
      (x))
#define hk_eigvalsh(...) hk_eigvalsh_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_svdvals, (hk_source at, hk_array *x),
      (x))
#define hk_svdvals(...) hk_svdvals_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_pinv, hk_pinv_options, (hk_source at, hk_array *x,
                                                     const hk_pinv_options *options),
      (x, options))
#define hk_pinv(...) hk_pinv_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_matrix_rank, hk_matrix_rank_options,
      (hk_source at, hk_array *x, const hk_matrix_rank_options *options),
      (x, options))
#define hk_matrix_rank(...) hk_matrix_rank_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_eigh, (hk_source at, hk_array *x, hk_array **values, hk_array **vectors),
      (x, values, vectors))
#define hk_eigh(...) hk_eigh_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_eig, (hk_source at, hk_array *x, hk_array **values, hk_array **vectors),
      (x, values, vectors))
#define hk_eig(...) hk_eig_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_eigvals, (hk_source at, hk_array *x),
      (x))
#define hk_eigvals(...) hk_eigvals_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_svd, hk_svd_options, (hk_source at, hk_array *x,
                                            const hk_svd_options *options, hk_array **u,
                                            hk_array **s, hk_array **vh),
      (x, options, u, s, vh))
#define hk_svd(...) hk_svd_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_qr, hk_qr_options, (hk_source at, hk_array *x, const hk_qr_options *options,
                                          hk_array **q, hk_array **r),
      (x, options, q, r))
#define hk_qr(...) hk_qr_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_qr_factor, (hk_source at, hk_array *x, hk_array **qr, hk_array **tau),
      (x, qr, tau))
#define hk_qr_factor(...) hk_qr_factor_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_qr_factor_into, (hk_source at, hk_array *qr, hk_array *tau, hk_array *x),
      (qr, tau, x))
#define hk_qr_factor_into(...) hk_qr_factor_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_qr_multiply, hk_qr_multiply_options,
      (hk_source at, hk_array *qr, hk_array *tau, hk_array *b,
       const hk_qr_multiply_options *options),
      (qr, tau, b, options))
#define hk_qr_multiply(...) hk_qr_multiply_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_qr_multiply_into, hk_qr_multiply_options,
      (hk_source at, hk_array *out, hk_array *qr, hk_array *tau, hk_array *b,
       const hk_qr_multiply_options *options),
      (out, qr, tau, b, options))
#define hk_qr_multiply_into(...) hk_qr_multiply_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_matrix_power, (hk_source at, hk_array *x, int64_t n),
      (x, n))
#define hk_matrix_power(...) hk_matrix_power_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_matrix_norm, hk_matrix_norm_options,
      (hk_source at, hk_array *x, const hk_matrix_norm_options *options),
      (x, options))
#define hk_matrix_norm(...) hk_matrix_norm_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_vector_norm, hk_vector_norm_options,
      (hk_source at, hk_array *x, const hk_vector_norm_options *options),
      (x, options))
#define hk_vector_norm(...) hk_vector_norm_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_cross, (hk_source at, hk_array *x, hk_array *y, int64_t axis),
      (x, y, axis))
#define hk_cross(...) hk_cross_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_kron, (hk_source at, hk_array *x, hk_array *y),
      (x, y))
#define hk_kron(...) hk_kron_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_real, (hk_source at, hk_array *x),
      (x))
#define hk_real(...) hk_real_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_imag, (hk_source at, hk_array *x),
      (x))
#define hk_imag(...) hk_imag_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_conj, (hk_source at, hk_array *x),
      (x))
#define hk_conj(...) hk_conj_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_angle, (hk_source at, hk_array *x),
      (x))
#define hk_angle(...) hk_angle_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_complex_of, (hk_source at, hk_array *real, hk_array *imag),
      (real, imag))
#define hk_complex_of(...) hk_complex_of_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_complex_of_into, (hk_source at, hk_array *out, hk_array *real, hk_array *imag),
      (out, real, imag))
#define hk_complex_of_into(...) hk_complex_of_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_fft, (hk_source at, hk_array *x, int64_t n, int64_t axis, int64_t norm),
      (x, n, axis, norm))
#define hk_fft(...) hk_fft_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_ifft, (hk_source at, hk_array *x, int64_t n, int64_t axis, int64_t norm),
      (x, n, axis, norm))
#define hk_ifft(...) hk_ifft_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_rfft, (hk_source at, hk_array *x, int64_t n, int64_t axis, int64_t norm),
      (x, n, axis, norm))
#define hk_rfft(...) hk_rfft_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_irfft, (hk_source at, hk_array *x, int64_t n, int64_t axis, int64_t norm),
      (x, n, axis, norm))
#define hk_irfft(...) hk_irfft_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_hfft, (hk_source at, hk_array *x, int64_t n, int64_t axis, int64_t norm),
      (x, n, axis, norm))
#define hk_hfft(...) hk_hfft_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_ihfft, (hk_source at, hk_array *x, int64_t n, int64_t axis, int64_t norm),
      (x, n, axis, norm))
#define hk_ihfft(...) hk_ihfft_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_fftn, (hk_source at, hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm),
      (x, sizes, axes, norm))
#define hk_fftn(...) hk_fftn_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_ifftn, (hk_source at, hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm),
      (x, sizes, axes, norm))
#define hk_ifftn(...) hk_ifftn_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_rfftn, (hk_source at, hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm),
      (x, sizes, axes, norm))
#define hk_rfftn(...) hk_rfftn_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_irfftn, (hk_source at, hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm),
      (x, sizes, axes, norm))
#define hk_irfftn(...) hk_irfftn_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_fftfreq, (hk_source at, int64_t n, double distance, hk_dtype dtype,
                               hk_device device),
      (n, distance, dtype, device))
#define hk_fftfreq(...) hk_fftfreq_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_rfftfreq, (hk_source at, int64_t n, double distance, hk_dtype dtype,
                                hk_device device),
      (n, distance, dtype, device))
#define hk_rfftfreq(...) hk_rfftfreq_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_fftshift, (hk_source at, hk_array *x, hk_dims axes),
      (x, axes))
#define hk_fftshift(...) hk_fftshift_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_ifftshift, (hk_source at, hk_array *x, hk_dims axes),
      (x, axes))
#define hk_ifftshift(...) hk_ifftshift_at(HK_SOURCE, __VA_ARGS__)

#ifndef __cplusplus
static inline hk_array *hk_add_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_add_at(at, x.array, y.array);
    else
        return hk_add_operands_at(at, x, y);
}
#define hk_add(x, y) \
    hk_add_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_add_mixed_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_add_into_at(at, out, x.array, y.array);
    else
        hk_add_operands_into_at(at, out, x, y);
}
#define hk_add_into(out, x, y) \
    hk_add_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_subtract_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_subtract_at(at, x.array, y.array);
    else
        return hk_subtract_operands_at(at, x, y);
}
#define hk_subtract(x, y) \
    hk_subtract_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_subtract_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                             hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_subtract_into_at(at, out, x.array, y.array);
    else
        hk_subtract_operands_into_at(at, out, x, y);
}
#define hk_subtract_into(out, x, y) \
    hk_subtract_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_multiply_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_multiply_at(at, x.array, y.array);
    else
        return hk_multiply_operands_at(at, x, y);
}
#define hk_multiply(x, y) \
    hk_multiply_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_multiply_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                             hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_multiply_into_at(at, out, x.array, y.array);
    else
        hk_multiply_operands_into_at(at, out, x, y);
}
#define hk_multiply_into(out, x, y) \
    hk_multiply_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_divide_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_divide_at(at, x.array, y.array);
    else
        return hk_divide_operands_at(at, x, y);
}
#define hk_divide(x, y) \
    hk_divide_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_divide_mixed_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_divide_into_at(at, out, x.array, y.array);
    else
        hk_divide_operands_into_at(at, out, x, y);
}
#define hk_divide_into(out, x, y) \
    hk_divide_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_maximum_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_maximum_at(at, x.array, y.array);
    else
        return hk_maximum_operands_at(at, x, y);
}
#define hk_maximum(x, y) \
    hk_maximum_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_maximum_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                            hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_maximum_into_at(at, out, x.array, y.array);
    else
        hk_maximum_operands_into_at(at, out, x, y);
}
#define hk_maximum_into(out, x, y) \
    hk_maximum_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_minimum_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_minimum_at(at, x.array, y.array);
    else
        return hk_minimum_operands_at(at, x, y);
}
#define hk_minimum(x, y) \
    hk_minimum_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_minimum_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                            hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_minimum_into_at(at, out, x.array, y.array);
    else
        hk_minimum_operands_into_at(at, out, x, y);
}
#define hk_minimum_into(out, x, y) \
    hk_minimum_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_power_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_power_at(at, x.array, y.array);
    else
        return hk_power_operands_at(at, x, y);
}
#define hk_power(x, y) \
    hk_power_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_power_mixed_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_power_into_at(at, out, x.array, y.array);
    else
        hk_power_operands_into_at(at, out, x, y);
}
#define hk_power_into(out, x, y) \
    hk_power_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_remainder_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_remainder_at(at, x.array, y.array);
    else
        return hk_remainder_operands_at(at, x, y);
}
#define hk_remainder(x, y) \
    hk_remainder_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_remainder_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                              hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_remainder_into_at(at, out, x.array, y.array);
    else
        hk_remainder_operands_into_at(at, out, x, y);
}
#define hk_remainder_into(out, x, y) \
    hk_remainder_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_floor_divide_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_floor_divide_at(at, x.array, y.array);
    else
        return hk_floor_divide_operands_at(at, x, y);
}
#define hk_floor_divide(x, y) \
    hk_floor_divide_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_floor_divide_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                                 hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_floor_divide_into_at(at, out, x.array, y.array);
    else
        hk_floor_divide_operands_into_at(at, out, x, y);
}
#define hk_floor_divide_into(out, x, y) \
    hk_floor_divide_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_atan2_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_atan2_at(at, x.array, y.array);
    else
        return hk_atan2_operands_at(at, x, y);
}
#define hk_atan2(x, y) \
    hk_atan2_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_atan2_mixed_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_atan2_into_at(at, out, x.array, y.array);
    else
        hk_atan2_operands_into_at(at, out, x, y);
}
#define hk_atan2_into(out, x, y) \
    hk_atan2_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_hypot_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_hypot_at(at, x.array, y.array);
    else
        return hk_hypot_operands_at(at, x, y);
}
#define hk_hypot(x, y) \
    hk_hypot_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_hypot_mixed_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_hypot_into_at(at, out, x.array, y.array);
    else
        hk_hypot_operands_into_at(at, out, x, y);
}
#define hk_hypot_into(out, x, y) \
    hk_hypot_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_copysign_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_copysign_at(at, x.array, y.array);
    else
        return hk_copysign_operands_at(at, x, y);
}
#define hk_copysign(x, y) \
    hk_copysign_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_copysign_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                             hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_copysign_into_at(at, out, x.array, y.array);
    else
        hk_copysign_operands_into_at(at, out, x, y);
}
#define hk_copysign_into(out, x, y) \
    hk_copysign_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_nextafter_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_nextafter_at(at, x.array, y.array);
    else
        return hk_nextafter_operands_at(at, x, y);
}
#define hk_nextafter(x, y) \
    hk_nextafter_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_nextafter_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                              hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_nextafter_into_at(at, out, x.array, y.array);
    else
        hk_nextafter_operands_into_at(at, out, x, y);
}
#define hk_nextafter_into(out, x, y) \
    hk_nextafter_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_logaddexp_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_logaddexp_at(at, x.array, y.array);
    else
        return hk_logaddexp_operands_at(at, x, y);
}
#define hk_logaddexp(x, y) \
    hk_logaddexp_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_logaddexp_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                              hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_logaddexp_into_at(at, out, x.array, y.array);
    else
        hk_logaddexp_operands_into_at(at, out, x, y);
}
#define hk_logaddexp_into(out, x, y) \
    hk_logaddexp_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_prelu_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_prelu_at(at, x.array, y.array);
    else
        return hk_prelu_operands_at(at, x, y);
}
#define hk_prelu(x, y) \
    hk_prelu_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_prelu_mixed_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_prelu_into_at(at, out, x.array, y.array);
    else
        hk_prelu_operands_into_at(at, out, x, y);
}
#define hk_prelu_into(out, x, y) \
    hk_prelu_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_equal_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_equal_at(at, x.array, y.array);
    else
        return hk_equal_operands_at(at, x, y);
}
#define hk_equal(x, y) \
    hk_equal_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_equal_mixed_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_equal_into_at(at, out, x.array, y.array);
    else
        hk_equal_operands_into_at(at, out, x, y);
}
#define hk_equal_into(out, x, y) \
    hk_equal_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_not_equal_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_not_equal_at(at, x.array, y.array);
    else
        return hk_not_equal_operands_at(at, x, y);
}
#define hk_not_equal(x, y) \
    hk_not_equal_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_not_equal_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                              hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_not_equal_into_at(at, out, x.array, y.array);
    else
        hk_not_equal_operands_into_at(at, out, x, y);
}
#define hk_not_equal_into(out, x, y) \
    hk_not_equal_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_less_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_less_at(at, x.array, y.array);
    else
        return hk_less_operands_at(at, x, y);
}
#define hk_less(x, y) \
    hk_less_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_less_mixed_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_less_into_at(at, out, x.array, y.array);
    else
        hk_less_operands_into_at(at, out, x, y);
}
#define hk_less_into(out, x, y) \
    hk_less_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_less_equal_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_less_equal_at(at, x.array, y.array);
    else
        return hk_less_equal_operands_at(at, x, y);
}
#define hk_less_equal(x, y) \
    hk_less_equal_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_less_equal_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                               hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_less_equal_into_at(at, out, x.array, y.array);
    else
        hk_less_equal_operands_into_at(at, out, x, y);
}
#define hk_less_equal_into(out, x, y) \
    hk_less_equal_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_greater_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_greater_at(at, x.array, y.array);
    else
        return hk_greater_operands_at(at, x, y);
}
#define hk_greater(x, y) \
    hk_greater_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_greater_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                            hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_greater_into_at(at, out, x.array, y.array);
    else
        hk_greater_operands_into_at(at, out, x, y);
}
#define hk_greater_into(out, x, y) \
    hk_greater_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_greater_equal_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_greater_equal_at(at, x.array, y.array);
    else
        return hk_greater_equal_operands_at(at, x, y);
}
#define hk_greater_equal(x, y) \
    hk_greater_equal_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_greater_equal_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                                  hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_greater_equal_into_at(at, out, x.array, y.array);
    else
        hk_greater_equal_operands_into_at(at, out, x, y);
}
#define hk_greater_equal_into(out, x, y) \
    hk_greater_equal_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_where_mixed_at(hk_source at, hk_array *condition, hk_operand x,
                                          hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_where_at(at, condition, x.array, y.array);
    else
        return hk_where_operands_at(at, condition, x, y);
}
#define hk_where(condition, x, y) \
    hk_where_mixed_at(HK_SOURCE, condition, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_where_mixed_into_at(hk_source at, hk_array *out, hk_array *condition,
                                          hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_where_into_at(at, out, condition, x.array, y.array);
    else
        hk_where_operands_into_at(at, out, condition, x, y);
}
#define hk_where_into(out, condition, x, y) \
    hk_where_mixed_into_at(HK_SOURCE, out, condition, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_logical_and_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_logical_and_at(at, x.array, y.array);
    else
        return hk_logical_and_operands_at(at, x, y);
}
#define hk_logical_and(x, y) \
    hk_logical_and_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_logical_and_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                                hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_logical_and_into_at(at, out, x.array, y.array);
    else
        hk_logical_and_operands_into_at(at, out, x, y);
}
#define hk_logical_and_into(out, x, y) \
    hk_logical_and_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_logical_or_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_logical_or_at(at, x.array, y.array);
    else
        return hk_logical_or_operands_at(at, x, y);
}
#define hk_logical_or(x, y) \
    hk_logical_or_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_logical_or_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                               hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_logical_or_into_at(at, out, x.array, y.array);
    else
        hk_logical_or_operands_into_at(at, out, x, y);
}
#define hk_logical_or_into(out, x, y) \
    hk_logical_or_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_logical_xor_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_logical_xor_at(at, x.array, y.array);
    else
        return hk_logical_xor_operands_at(at, x, y);
}
#define hk_logical_xor(x, y) \
    hk_logical_xor_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_logical_xor_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                                hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_logical_xor_into_at(at, out, x.array, y.array);
    else
        hk_logical_xor_operands_into_at(at, out, x, y);
}
#define hk_logical_xor_into(out, x, y) \
    hk_logical_xor_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_bitwise_and_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_bitwise_and_at(at, x.array, y.array);
    else
        return hk_bitwise_and_operands_at(at, x, y);
}
#define hk_bitwise_and(x, y) \
    hk_bitwise_and_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_bitwise_and_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                                hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_bitwise_and_into_at(at, out, x.array, y.array);
    else
        hk_bitwise_and_operands_into_at(at, out, x, y);
}
#define hk_bitwise_and_into(out, x, y) \
    hk_bitwise_and_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_bitwise_or_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_bitwise_or_at(at, x.array, y.array);
    else
        return hk_bitwise_or_operands_at(at, x, y);
}
#define hk_bitwise_or(x, y) \
    hk_bitwise_or_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_bitwise_or_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                               hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_bitwise_or_into_at(at, out, x.array, y.array);
    else
        hk_bitwise_or_operands_into_at(at, out, x, y);
}
#define hk_bitwise_or_into(out, x, y) \
    hk_bitwise_or_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_bitwise_xor_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_bitwise_xor_at(at, x.array, y.array);
    else
        return hk_bitwise_xor_operands_at(at, x, y);
}
#define hk_bitwise_xor(x, y) \
    hk_bitwise_xor_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_bitwise_xor_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                                hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_bitwise_xor_into_at(at, out, x.array, y.array);
    else
        hk_bitwise_xor_operands_into_at(at, out, x, y);
}
#define hk_bitwise_xor_into(out, x, y) \
    hk_bitwise_xor_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_bitwise_left_shift_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_bitwise_left_shift_at(at, x.array, y.array);
    else
        return hk_bitwise_left_shift_operands_at(at, x, y);
}
#define hk_bitwise_left_shift(x, y) \
    hk_bitwise_left_shift_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_bitwise_left_shift_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                                       hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_bitwise_left_shift_into_at(at, out, x.array, y.array);
    else
        hk_bitwise_left_shift_operands_into_at(at, out, x, y);
}
#define hk_bitwise_left_shift_into(out, x, y) \
    hk_bitwise_left_shift_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
static inline hk_array *hk_bitwise_right_shift_mixed_at(hk_source at, hk_operand x, hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        return hk_bitwise_right_shift_at(at, x.array, y.array);
    else
        return hk_bitwise_right_shift_operands_at(at, x, y);
}
#define hk_bitwise_right_shift(x, y) \
    hk_bitwise_right_shift_mixed_at(HK_SOURCE, HK_OPERAND(x), HK_OPERAND(y))
static inline void hk_bitwise_right_shift_mixed_into_at(hk_source at, hk_array *out, hk_operand x,
                                                        hk_operand y)
{
    if (hk_operands_are_arrays(x, y))
        hk_bitwise_right_shift_into_at(at, out, x.array, y.array);
    else
        hk_bitwise_right_shift_operands_into_at(at, out, x, y);
}
#define hk_bitwise_right_shift_into(out, x, y) \
    hk_bitwise_right_shift_mixed_into_at(HK_SOURCE, out, HK_OPERAND(x), HK_OPERAND(y))
#endif

HK_END_DECLS

#endif
