/* Operators. Written by tools/opgen from src/op/op_table.def: do not edit; `make generate`.
 *
 * What each does stands in hocket/ops.h. Options have defaults, and inputs that may be NULL there may be {} here
 * or left out. Where x and y meet element by element, one of them may be a number: it takes the other's dtype. */
/* clang-format off */
#ifndef HOCKET_OPS_HPP
#define HOCKET_OPS_HPP

#include <hocket/array.hpp>

namespace hk
{

/* y = sum of x over axes. Sum of the elements along axes (all by default); 0 for none. float32
 * is added up in double precision, four elements first in pairs; along the first axis, which may
 * be a batch, 16 entries at a time, then in pairs (16 single elements in pairs, too); unsigned
 * integers give uint64, others and bool int64, which wrap around. */
struct sum_options {
    HKI_OPTION(sum_options, hk::shape, axes)
    HKI_OPTION(sum_options, bool, keepdims)
    hk_sum_options to_c() const noexcept
    {
        hk_sum_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array sum(const array &x, const sum_options &options = {}, hk_source at = here()) noexcept
{
    const hk_sum_options given = options.to_c();
    return array::take(hk_sum_at(at, x.get(), &given));
}

/* y = sum of x over axes / how many they are. Mean of the elements along axes (all by default);
 * NaN for none. Integers and bool give float64. */
struct mean_options {
    HKI_OPTION(mean_options, hk::shape, axes)
    HKI_OPTION(mean_options, bool, keepdims)
    hk_mean_options to_c() const noexcept
    {
        hk_mean_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array mean(const array &x, const mean_options &options = {}, hk_source at = here()) noexcept
{
    const hk_mean_options given = options.to_c();
    return array::take(hk_mean_at(at, x.get(), &given));
}

/* Largest element along axes (all by default); NaN when one is NaN. Of no elements: an error.
 * The gradient is shared equally by elements that are equal. */
struct max_options {
    HKI_OPTION(max_options, hk::shape, axes)
    HKI_OPTION(max_options, bool, keepdims)
    hk_max_options to_c() const noexcept
    {
        hk_max_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array max(const array &x, const max_options &options = {}, hk_source at = here()) noexcept
{
    const hk_max_options given = options.to_c();
    return array::take(hk_max_at(at, x.get(), &given));
}

/* Smallest element along axes (all by default); NaN when one is NaN. Of no elements: an error.
 * The gradient is shared equally by elements that are equal. */
struct min_options {
    HKI_OPTION(min_options, hk::shape, axes)
    HKI_OPTION(min_options, bool, keepdims)
    hk_min_options to_c() const noexcept
    {
        hk_min_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array min(const array &x, const min_options &options = {}, hk_source at = here()) noexcept
{
    const hk_min_options given = options.to_c();
    return array::take(hk_min_at(at, x.get(), &given));
}

/* y = product of x over axes. Product of the elements along axes (all by default); 1 for none.
 * float32 is multiplied in double precision; unsigned integers give uint64, others and bool
 * int64, which wrap around. */
struct prod_options {
    HKI_OPTION(prod_options, hk::shape, axes)
    HKI_OPTION(prod_options, bool, keepdims)
    hk_prod_options to_c() const noexcept
    {
        hk_prod_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array prod(const array &x, const prod_options &options = {}, hk_source at = here()) noexcept
{
    const hk_prod_options given = options.to_c();
    return array::take(hk_prod_at(at, x.get(), &given));
}

/* y = sqrt(sum of x * x over axes). Euclidean (Frobenius) norm along axes (all by default); 0
 * for none. The gradient is 0 where the norm is. */
struct norm_options {
    HKI_OPTION(norm_options, hk::shape, axes)
    HKI_OPTION(norm_options, bool, keepdims)
    hk_norm_options to_c() const noexcept
    {
        hk_norm_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array norm(const array &x, const norm_options &options = {}, hk_source at = here()) noexcept
{
    const hk_norm_options given = options.to_c();
    return array::take(hk_norm_at(at, x.get(), &given));
}

/* y = how many of x over axes are not 0. How many elements along axes (all by default) are not
 * 0, as int64; a NaN is not. No gradient: its result does not vary smoothly. */
struct count_nonzero_options {
    HKI_OPTION(count_nonzero_options, hk::shape, axes)
    HKI_OPTION(count_nonzero_options, bool, keepdims)
    hk_count_nonzero_options to_c() const noexcept
    {
        hk_count_nonzero_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array count_nonzero(const array &x, const count_nonzero_options &options = {},
                           hk_source at = here()) noexcept
{
    const hk_count_nonzero_options given = options.to_c();
    return array::take(hk_count_nonzero_at(at, x.get(), &given));
}

/* Whether any element along axes (all by default) is not 0, as bool; false for none. NaN is not
 * 0. No gradient: its result does not vary smoothly. */
struct any_options {
    HKI_OPTION(any_options, hk::shape, axes)
    HKI_OPTION(any_options, bool, keepdims)
    hk_any_options to_c() const noexcept
    {
        hk_any_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array any(const array &x, const any_options &options = {}, hk_source at = here()) noexcept
{
    const hk_any_options given = options.to_c();
    return array::take(hk_any_at(at, x.get(), &given));
}

/* Whether all elements along axes (all by default) are not 0, as bool; true for none. NaN is not
 * 0. No gradient: its result does not vary smoothly. */
struct all_options {
    HKI_OPTION(all_options, hk::shape, axes)
    HKI_OPTION(all_options, bool, keepdims)
    hk_all_options to_c() const noexcept
    {
        hk_all_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array all(const array &x, const all_options &options = {}, hk_source at = here()) noexcept
{
    const hk_all_options given = options.to_c();
    return array::take(hk_all_at(at, x.get(), &given));
}

/* y = sum of (x - mean)^2 over axes / (how many they are - correction). Variance along axes (all
 * by default): squared distances from the mean, divided by how many they are less correction.
 * Integers and bool give float64. */
struct var_options {
    HKI_OPTION(var_options, hk::shape, axes)
    HKI_OPTION(var_options, bool, keepdims)
    HKI_OPTION(var_options, double, correction)
    hk_var_options to_c() const noexcept
    {
        hk_var_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        c.correction = correction;
        return c;
    }
};
inline array var(const array &x, const var_options &options = {}, hk_source at = here()) noexcept
{
    const hk_var_options given = options.to_c();
    return array::take(hk_var_at(at, x.get(), &given));
}

/* y = sqrt(sum of (x - mean)^2 over axes / (how many they are - correction)). Standard deviation
 * along axes (all by default): the square root of hk_var, rounded after the root. The gradient
 * is 0 where the deviation is. */
struct std_options {
    HKI_OPTION(std_options, hk::shape, axes)
    HKI_OPTION(std_options, bool, keepdims)
    HKI_OPTION(std_options, double, correction)
    hk_std_options to_c() const noexcept
    {
        hk_std_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        c.correction = correction;
        return c;
    }
};
inline array std(const array &x, const std_options &options = {}, hk_source at = here()) noexcept
{
    const hk_std_options given = options.to_c();
    return array::take(hk_std_at(at, x.get(), &given));
}

/* variance = sum of (x - mean)^2 over axes / (how many they are - correction). Variance and mean
 * along axes (all by default): hk_var, and the mean that it is about, which hk_mean gives.
 * Integers and bool give float64. Results: variance, mean. */
struct var_mean_options {
    HKI_OPTION(var_mean_options, hk::shape, axes)
    HKI_OPTION(var_mean_options, bool, keepdims)
    HKI_OPTION(var_mean_options, double, correction)
    hk_var_mean_options to_c() const noexcept
    {
        hk_var_mean_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        c.correction = correction;
        return c;
    }
};
struct var_mean_results {
    array variance, mean;
};
inline var_mean_results var_mean(const array &x, const var_mean_options &options = {},
                                 hk_source at = here()) noexcept
{
    const hk_var_mean_options given = options.to_c();
    hk_array *results[2];
    hk_var_mean_at(at, x.get(), &given, &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* y = ln(sum of e ** x over axes). Logarithm of the sum of exponentials along axes (all by
 * default), without overflow; -inf for none. Where all are -inf the gradient is 0. */
struct logsumexp_options {
    HKI_OPTION(logsumexp_options, hk::shape, axes)
    HKI_OPTION(logsumexp_options, bool, keepdims)
    hk_logsumexp_options to_c() const noexcept
    {
        hk_logsumexp_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array logsumexp(const array &x, const logsumexp_options &options = {},
                       hk_source at = here()) noexcept
{
    const hk_logsumexp_options given = options.to_c();
    return array::take(hk_logsumexp_at(at, x.get(), &given));
}

/* x + y. Sum. */
inline array add(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_add_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array add(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_add_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array add(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_add_operands_at(at, operand_of(x), operand_of(y)));
}
inline void add_into(const array &out, const array &x, const array &y,
                     hk_source at = here()) noexcept
{
    hk_add_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void add_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_add_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void add_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_add_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x - y. Difference. */
inline array subtract(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_subtract_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array subtract(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_subtract_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array subtract(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_subtract_operands_at(at, operand_of(x), operand_of(y)));
}
inline void subtract_into(const array &out, const array &x, const array &y,
                          hk_source at = here()) noexcept
{
    hk_subtract_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void subtract_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_subtract_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void subtract_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_subtract_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x * y. Product. */
inline array multiply(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_multiply_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array multiply(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_multiply_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array multiply(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_multiply_operands_at(at, operand_of(x), operand_of(y)));
}
inline void multiply_into(const array &out, const array &x, const array &y,
                          hk_source at = here()) noexcept
{
    hk_multiply_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void multiply_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_multiply_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void multiply_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_multiply_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x / y. Quotient. Integers are rounded towards zero; an integer divisor of 0 fails the result. */
inline array divide(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_divide_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array divide(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_divide_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array divide(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_divide_operands_at(at, operand_of(x), operand_of(y)));
}
inline void divide_into(const array &out, const array &x, const array &y,
                        hk_source at = here()) noexcept
{
    hk_divide_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void divide_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_divide_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void divide_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_divide_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* max(x, y). The larger one; NaN if either is. Where both are equal, each gets half of the
 * gradient. */
inline array maximum(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_maximum_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array maximum(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_maximum_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array maximum(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_maximum_operands_at(at, operand_of(x), operand_of(y)));
}
inline void maximum_into(const array &out, const array &x, const array &y,
                         hk_source at = here()) noexcept
{
    hk_maximum_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void maximum_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_maximum_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void maximum_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_maximum_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* min(x, y). The smaller one; NaN if either is. Where both are equal, each gets half of the
 * gradient. */
inline array minimum(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_minimum_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array minimum(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_minimum_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array minimum(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_minimum_operands_at(at, operand_of(x), operand_of(y)));
}
inline void minimum_into(const array &out, const array &x, const array &y,
                         hk_source at = here()) noexcept
{
    hk_minimum_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void minimum_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_minimum_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void minimum_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_minimum_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x ** y. x to the power of y. A negative integer y fails the result. Where x is 0 the gradient
 * of y >= 0 is 0, and where y is 0 that of x. */
inline array power(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_power_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array power(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_power_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array power(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_power_operands_at(at, operand_of(x), operand_of(y)));
}
inline void power_into(const array &out, const array &x, const array &y,
                       hk_source at = here()) noexcept
{
    hk_power_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void power_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_power_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void power_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_power_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x - y floor(x / y). Remainder, of the divisor's sign. An integer divisor of 0 fails the
 * result; of floats it gives NaN. */
inline array remainder(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_remainder_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array remainder(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_remainder_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array remainder(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_remainder_operands_at(at, operand_of(x), operand_of(y)));
}
inline void remainder_into(const array &out, const array &x, const array &y,
                           hk_source at = here()) noexcept
{
    hk_remainder_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void remainder_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_remainder_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void remainder_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_remainder_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* floor(x / y). Quotient rounded down. An integer divisor of 0 fails the result; no gradient
 * flows. */
inline array floor_divide(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_floor_divide_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array floor_divide(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_floor_divide_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array floor_divide(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_floor_divide_operands_at(at, operand_of(x), operand_of(y)));
}
inline void floor_divide_into(const array &out, const array &x, const array &y,
                              hk_source at = here()) noexcept
{
    hk_floor_divide_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void floor_divide_into(const array &out, T x, const array &y,
                              hk_source at = here()) noexcept
{
    hk_floor_divide_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void floor_divide_into(const array &out, const array &x, T y,
                              hk_source at = here()) noexcept
{
    hk_floor_divide_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* atan2(x, y). Angle of the point (y, x), from -pi to pi: of x / y, in the quadrant that the
 * signs tell. The gradient at (0, 0) is 0. */
inline array atan2(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_atan2_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array atan2(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_atan2_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array atan2(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_atan2_operands_at(at, operand_of(x), operand_of(y)));
}
inline void atan2_into(const array &out, const array &x, const array &y,
                       hk_source at = here()) noexcept
{
    hk_atan2_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void atan2_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_atan2_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void atan2_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_atan2_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* sqrt(x * x + y * y). Length of the hypotenuse, without overflow on the way. The gradient at 0
 * is 0. */
inline array hypot(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_hypot_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array hypot(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_hypot_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array hypot(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_hypot_operands_at(at, operand_of(x), operand_of(y)));
}
inline void hypot_into(const array &out, const array &x, const array &y,
                       hk_source at = here()) noexcept
{
    hk_hypot_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void hypot_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_hypot_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void hypot_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_hypot_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* |x| sign(y). x with the sign of y, also of its zeros and NaNs. */
inline array copysign(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_copysign_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array copysign(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_copysign_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array copysign(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_copysign_operands_at(at, operand_of(x), operand_of(y)));
}
inline void copysign_into(const array &out, const array &x, const array &y,
                          hk_source at = here()) noexcept
{
    hk_copysign_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void copysign_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_copysign_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void copysign_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_copysign_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* the number next to x towards y. The number of the dtype that is next to x in the direction of
 * y; y where they are equal. */
inline array nextafter(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_nextafter_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array nextafter(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_nextafter_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array nextafter(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_nextafter_operands_at(at, operand_of(x), operand_of(y)));
}
inline void nextafter_into(const array &out, const array &x, const array &y,
                           hk_source at = here()) noexcept
{
    hk_nextafter_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void nextafter_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_nextafter_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void nextafter_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_nextafter_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* ln(e ** x + e ** y). Logarithm of the sum of exponentials, without overflow on the way. Where
 * both are -inf the gradient is 0. */
inline array logaddexp(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_logaddexp_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array logaddexp(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_logaddexp_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array logaddexp(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_logaddexp_operands_at(at, operand_of(x), operand_of(y)));
}
inline void logaddexp_into(const array &out, const array &x, const array &y,
                           hk_source at = here()) noexcept
{
    hk_logaddexp_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void logaddexp_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_logaddexp_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void logaddexp_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_logaddexp_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x >= 0 ? x : y x. Rectified linear unit with a slope y below 0, broadcast to x as any input
 * is. */
inline array prelu(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_prelu_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array prelu(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_prelu_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array prelu(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_prelu_operands_at(at, operand_of(x), operand_of(y)));
}
inline void prelu_into(const array &out, const array &x, const array &y,
                       hk_source at = here()) noexcept
{
    hk_prelu_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void prelu_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_prelu_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void prelu_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_prelu_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* -x. The opposite. */
inline array negative(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_negative_at(at, x.get()));
}
inline void negative_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_negative_into_at(at, out.get(), x.get());
}

/* e ** x. Exponential function. */
inline array exp(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_exp_at(at, x.get()));
}
inline void exp_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_exp_into_at(at, out.get(), x.get());
}

/* ln(x). Natural logarithm: -inf for 0, NaN below. */
inline array log(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_log_at(at, x.get()));
}
inline void log_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_log_into_at(at, out.get(), x.get());
}

/* sqrt(x). Square root; NaN below 0. */
inline array sqrt(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_sqrt_at(at, x.get()));
}
inline void sqrt_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_sqrt_into_at(at, out.get(), x.get());
}

/* |x|. Absolute value. The gradient at 0 is 0. */
inline array abs(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_abs_at(at, x.get()));
}
inline void abs_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_abs_into_at(at, out.get(), x.get());
}

/* x * x. Square. */
inline array square(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_square_at(at, x.get()));
}
inline void square_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_square_into_at(at, out.get(), x.get());
}

/* 1 / (1 + e ** -x). Logistic function. */
inline array sigmoid(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_sigmoid_at(at, x.get()));
}
inline void sigmoid_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_sigmoid_into_at(at, out.get(), x.get());
}

/* tanh(x). Hyperbolic tangent. */
inline array tanh(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_tanh_at(at, x.get()));
}
inline void tanh_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_tanh_into_at(at, out.get(), x.get());
}

/* max(x, 0). Rectified linear unit; NaN for NaN. The gradient at 0 is 0. */
inline array relu(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_relu_at(at, x.get()));
}
inline void relu_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_relu_into_at(at, out.get(), x.get());
}

/* 1 / x. Reciprocal. */
inline array reciprocal(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_reciprocal_at(at, x.get()));
}
inline void reciprocal_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_reciprocal_into_at(at, out.get(), x.get());
}

/* 1 / sqrt(x). Reciprocal square root: infinite for 0, NaN below. */
inline array rsqrt(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_rsqrt_at(at, x.get()));
}
inline void rsqrt_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_rsqrt_into_at(at, out.get(), x.get());
}

/* e ** x - 1. Exponential function less 1, precise near 0. */
inline array expm1(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_expm1_at(at, x.get()));
}
inline void expm1_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_expm1_into_at(at, out.get(), x.get());
}

/* ln(1 + x). Natural logarithm of 1 + x, precise near 0. */
inline array log1p(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_log1p_at(at, x.get()));
}
inline void log1p_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_log1p_into_at(at, out.get(), x.get());
}

/* log2(x). Logarithm to base 2: -inf for 0, NaN below. */
inline array log2(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_log2_at(at, x.get()));
}
inline void log2_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_log2_into_at(at, out.get(), x.get());
}

/* log10(x). Logarithm to base 10: -inf for 0, NaN below. */
inline array log10(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_log10_at(at, x.get()));
}
inline void log10_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_log10_into_at(at, out.get(), x.get());
}

/* sin(x). Sine. */
inline array sin(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_sin_at(at, x.get()));
}
inline void sin_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_sin_into_at(at, out.get(), x.get());
}

/* cos(x). Cosine. */
inline array cos(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_cos_at(at, x.get()));
}
inline void cos_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_cos_into_at(at, out.get(), x.get());
}

/* tan(x). Tangent. */
inline array tan(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_tan_at(at, x.get()));
}
inline void tan_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_tan_into_at(at, out.get(), x.get());
}

/* asin(x). Arc sine, from -pi / 2 to pi / 2; NaN outside of [-1, 1]. */
inline array asin(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_asin_at(at, x.get()));
}
inline void asin_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_asin_into_at(at, out.get(), x.get());
}

/* acos(x). Arc cosine, from 0 to pi; NaN outside of [-1, 1]. */
inline array acos(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_acos_at(at, x.get()));
}
inline void acos_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_acos_into_at(at, out.get(), x.get());
}

/* atan(x). Arc tangent, from -pi / 2 to pi / 2. */
inline array atan(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_atan_at(at, x.get()));
}
inline void atan_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_atan_into_at(at, out.get(), x.get());
}

/* sinh(x). Hyperbolic sine. */
inline array sinh(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_sinh_at(at, x.get()));
}
inline void sinh_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_sinh_into_at(at, out.get(), x.get());
}

/* cosh(x). Hyperbolic cosine. */
inline array cosh(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_cosh_at(at, x.get()));
}
inline void cosh_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_cosh_into_at(at, out.get(), x.get());
}

/* asinh(x). Inverse hyperbolic sine. */
inline array asinh(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_asinh_at(at, x.get()));
}
inline void asinh_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_asinh_into_at(at, out.get(), x.get());
}

/* acosh(x). Inverse hyperbolic cosine; NaN below 1. */
inline array acosh(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_acosh_at(at, x.get()));
}
inline void acosh_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_acosh_into_at(at, out.get(), x.get());
}

/* atanh(x). Inverse hyperbolic tangent; NaN outside of [-1, 1]. */
inline array atanh(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_atanh_at(at, x.get()));
}
inline void atanh_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_atanh_into_at(at, out.get(), x.get());
}

/* 2 / sqrt(pi) integral of e ** -t**2 from 0 to x. Error function. */
inline array erf(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_erf_at(at, x.get()));
}
inline void erf_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_erf_into_at(at, out.get(), x.get());
}

/* ceil(x). Rounded up to a whole number; integers stay. */
inline array ceil(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_ceil_at(at, x.get()));
}
inline void ceil_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_ceil_into_at(at, out.get(), x.get());
}

/* floor(x). Rounded down to a whole number; integers stay. */
inline array floor(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_floor_at(at, x.get()));
}
inline void floor_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_floor_into_at(at, out.get(), x.get());
}

/* trunc(x). Rounded towards 0 to a whole number; integers stay. */
inline array trunc(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_trunc_at(at, x.get()));
}
inline void trunc_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_trunc_into_at(at, out.get(), x.get());
}

/* round(x). Rounded to the nearest whole number, halves to the even one; integers stay. */
inline array round(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_round_at(at, x.get()));
}
inline void round_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_round_into_at(at, out.get(), x.get());
}

/* sign(x). -1, 0 or 1; NaN for NaN. */
inline array sign(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_sign_at(at, x.get()));
}
inline void sign_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_sign_into_at(at, out.get(), x.get());
}

/* x (1 + erf(x / sqrt(2))) / 2. Gaussian error linear unit: x times the normal distribution
 * function. */
inline array gelu(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_gelu_at(at, x.get()));
}
inline void gelu_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_gelu_into_at(at, out.get(), x.get());
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) / 2. An approximation of hk_gelu by tanh. */
inline array gelu_tanh(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_gelu_tanh_at(at, x.get()));
}
inline void gelu_tanh_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_gelu_tanh_into_at(at, out.get(), x.get());
}

/* x sigmoid(x). Sigmoid linear unit. */
inline array silu(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_silu_at(at, x.get()));
}
inline void silu_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_silu_into_at(at, out.get(), x.get());
}

/* ln(1 + e ** x). Softplus, a smooth form of hk_relu. */
inline array softplus(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_softplus_at(at, x.get()));
}
inline void softplus_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_softplus_into_at(at, out.get(), x.get());
}

/* x tanh(softplus(x)). Mish. */
inline array mish(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_mish_at(at, x.get()));
}
inline void mish_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_mish_into_at(at, out.get(), x.get());
}

/* min(max(x + 3, 0), 6) / 6. A sigmoid of three lines. */
inline array hard_sigmoid(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_hard_sigmoid_at(at, x.get()));
}
inline void hard_sigmoid_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_hard_sigmoid_into_at(at, out.get(), x.get());
}

/* x hard_sigmoid(x). x times hk_hard_sigmoid of it. */
inline array hard_swish(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_hard_swish_at(at, x.get()));
}
inline void hard_swish_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_hard_swish_into_at(at, out.get(), x.get());
}

/* x > 0 ? x : value (e ** x - 1). Exponential linear unit; value is what it tends to below,
 * usually 1, with the other sign. */
inline array elu(const array &x, double value, hk_source at = here()) noexcept
{
    return array::take(hk_elu_at(at, x.get(), value));
}
inline void elu_into(const array &out, const array &x, double value,
                     hk_source at = here()) noexcept
{
    hk_elu_into_at(at, out.get(), x.get(), value);
}

/* x > 0 ? x : value x. Rectified linear unit with a slope, value, below 0, usually 0.01. */
inline array leaky_relu(const array &x, double value, hk_source at = here()) noexcept
{
    return array::take(hk_leaky_relu_at(at, x.get(), value));
}
inline void leaky_relu_into(const array &out, const array &x, double value,
                            hk_source at = here()) noexcept
{
    hk_leaky_relu_into_at(at, out.get(), x.get(), value);
}

/* min(max(x, min), max). x between two numbers, either of which may be infinite for none; others
 * must be integers in range for integer arrays. */
inline array clip(const array &x, double min, double max, hk_source at = here()) noexcept
{
    return array::take(hk_clip_at(at, x.get(), min, max));
}
inline void clip_into(const array &out, const array &x, double min, double max,
                      hk_source at = here()) noexcept
{
    hk_clip_into_at(at, out.get(), x.get(), min, max);
}

/* x == y. Whether x and y are equal, as bool. No gradient: its result is a truth value. */
inline array equal(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_equal_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array equal(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_equal_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array equal(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_equal_operands_at(at, operand_of(x), operand_of(y)));
}
inline void equal_into(const array &out, const array &x, const array &y,
                       hk_source at = here()) noexcept
{
    hk_equal_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void equal_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_equal_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void equal_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_equal_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x != y. Whether x and y differ, as bool. No gradient: its result is a truth value. */
inline array not_equal(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_not_equal_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array not_equal(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_not_equal_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array not_equal(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_not_equal_operands_at(at, operand_of(x), operand_of(y)));
}
inline void not_equal_into(const array &out, const array &x, const array &y,
                           hk_source at = here()) noexcept
{
    hk_not_equal_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void not_equal_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_not_equal_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void not_equal_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_not_equal_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x < y. Whether x is less than y, as bool. No gradient: its result is a truth value. */
inline array less(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_less_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array less(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_less_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array less(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_less_operands_at(at, operand_of(x), operand_of(y)));
}
inline void less_into(const array &out, const array &x, const array &y,
                      hk_source at = here()) noexcept
{
    hk_less_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void less_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_less_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void less_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_less_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x <= y. Whether x is at most y, as bool. No gradient: its result is a truth value. */
inline array less_equal(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_less_equal_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array less_equal(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_less_equal_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array less_equal(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_less_equal_operands_at(at, operand_of(x), operand_of(y)));
}
inline void less_equal_into(const array &out, const array &x, const array &y,
                            hk_source at = here()) noexcept
{
    hk_less_equal_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void less_equal_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_less_equal_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void less_equal_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_less_equal_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x > y. Whether x is greater than y, as bool. No gradient: its result is a truth value. */
inline array greater(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_greater_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array greater(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_greater_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array greater(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_greater_operands_at(at, operand_of(x), operand_of(y)));
}
inline void greater_into(const array &out, const array &x, const array &y,
                         hk_source at = here()) noexcept
{
    hk_greater_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void greater_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_greater_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void greater_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_greater_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x >= y. Whether x is at least y, as bool. No gradient: its result is a truth value. */
inline array greater_equal(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_greater_equal_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array greater_equal(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_greater_equal_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array greater_equal(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_greater_equal_operands_at(at, operand_of(x), operand_of(y)));
}
inline void greater_equal_into(const array &out, const array &x, const array &y,
                               hk_source at = here()) noexcept
{
    hk_greater_equal_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void greater_equal_into(const array &out, T x, const array &y,
                               hk_source at = here()) noexcept
{
    hk_greater_equal_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void greater_equal_into(const array &out, const array &x, T y,
                               hk_source at = here()) noexcept
{
    hk_greater_equal_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* condition ? x : y. Elements of x where condition, a bool array, holds, of y elsewhere. */
inline array where(const array &condition, const array &x, const array &y,
                   hk_source at = here()) noexcept
{
    return array::take(hk_where_at(at, condition.get(), x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array where(const array &condition, T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_where_operands_at(at, condition.get(), operand_of(x),
                                            operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array where(const array &condition, const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_where_operands_at(at, condition.get(), operand_of(x),
                                            operand_of(y)));
}
inline void where_into(const array &out, const array &condition, const array &x, const array &y,
                       hk_source at = here()) noexcept
{
    hk_where_into_at(at, out.get(), condition.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void where_into(const array &out, const array &condition, T x, const array &y,
                       hk_source at = here()) noexcept
{
    hk_where_operands_into_at(at, out.get(), condition.get(), operand_of(x),
                              operand_of(y));
}
template <class T, if_number<T> = 0>
inline void where_into(const array &out, const array &condition, const array &x, T y,
                       hk_source at = here()) noexcept
{
    hk_where_operands_into_at(at, out.get(), condition.get(), operand_of(x),
                              operand_of(y));
}

/* x is NaN. Whether x is NaN, as bool. No gradient: its result is a truth value. */
inline array isnan(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_isnan_at(at, x.get()));
}
inline void isnan_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_isnan_into_at(at, out.get(), x.get());
}

/* x is infinite. Whether x is infinite, as bool. No gradient: its result is a truth value. */
inline array isinf(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_isinf_at(at, x.get()));
}
inline void isinf_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_isinf_into_at(at, out.get(), x.get());
}

/* x is neither NaN nor infinite. Whether x is a finite number, as bool. No gradient: its result
 * is a truth value. */
inline array isfinite(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_isfinite_at(at, x.get()));
}
inline void isfinite_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_isfinite_into_at(at, out.get(), x.get());
}

/* x has the sign -. Whether the sign of x is -, as bool; also of -0 and of NaN. No gradient: its
 * result is a truth value. */
inline array signbit(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_signbit_at(at, x.get()));
}
inline void signbit_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_signbit_into_at(at, out.get(), x.get());
}

/* x and y. Whether both hold, as bool. No gradient: its result is a truth value. */
inline array logical_and(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_logical_and_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array logical_and(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_logical_and_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array logical_and(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_logical_and_operands_at(at, operand_of(x), operand_of(y)));
}
inline void logical_and_into(const array &out, const array &x, const array &y,
                             hk_source at = here()) noexcept
{
    hk_logical_and_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void logical_and_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_logical_and_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void logical_and_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_logical_and_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x or y. Whether one of them holds, as bool. No gradient: its result is a truth value. */
inline array logical_or(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_logical_or_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array logical_or(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_logical_or_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array logical_or(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_logical_or_operands_at(at, operand_of(x), operand_of(y)));
}
inline void logical_or_into(const array &out, const array &x, const array &y,
                            hk_source at = here()) noexcept
{
    hk_logical_or_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void logical_or_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_logical_or_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void logical_or_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_logical_or_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* either x or y. Whether just one of them holds, as bool. No gradient: its result is a truth
 * value. */
inline array logical_xor(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_logical_xor_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array logical_xor(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_logical_xor_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array logical_xor(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_logical_xor_operands_at(at, operand_of(x), operand_of(y)));
}
inline void logical_xor_into(const array &out, const array &x, const array &y,
                             hk_source at = here()) noexcept
{
    hk_logical_xor_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void logical_xor_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_logical_xor_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void logical_xor_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_logical_xor_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* not x. Whether x does not hold, as bool. No gradient: its result is a truth value. */
inline array logical_not(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_logical_not_at(at, x.get()));
}
inline void logical_not_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_logical_not_into_at(at, out.get(), x.get());
}

/* x & y. Bits that are set in both. No gradient: it is of integers. */
inline array bitwise_and(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_and_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array bitwise_and(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_and_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array bitwise_and(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_and_operands_at(at, operand_of(x), operand_of(y)));
}
inline void bitwise_and_into(const array &out, const array &x, const array &y,
                             hk_source at = here()) noexcept
{
    hk_bitwise_and_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void bitwise_and_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_bitwise_and_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void bitwise_and_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_bitwise_and_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x | y. Bits that are set in one of them. No gradient: it is of integers. */
inline array bitwise_or(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_or_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array bitwise_or(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_or_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array bitwise_or(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_or_operands_at(at, operand_of(x), operand_of(y)));
}
inline void bitwise_or_into(const array &out, const array &x, const array &y,
                            hk_source at = here()) noexcept
{
    hk_bitwise_or_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void bitwise_or_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_bitwise_or_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void bitwise_or_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_bitwise_or_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x ^ y. Bits that are set in just one of them. No gradient: it is of integers. */
inline array bitwise_xor(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_xor_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array bitwise_xor(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_xor_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array bitwise_xor(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_xor_operands_at(at, operand_of(x), operand_of(y)));
}
inline void bitwise_xor_into(const array &out, const array &x, const array &y,
                             hk_source at = here()) noexcept
{
    hk_bitwise_xor_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void bitwise_xor_into(const array &out, T x, const array &y, hk_source at = here()) noexcept
{
    hk_bitwise_xor_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void bitwise_xor_into(const array &out, const array &x, T y, hk_source at = here()) noexcept
{
    hk_bitwise_xor_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* ~x. Bits that are not set; the other truth value for bool. No gradient: it is of integers. */
inline array bitwise_invert(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_invert_at(at, x.get()));
}
inline void bitwise_invert_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_bitwise_invert_into_at(at, out.get(), x.get());
}

/* x << y. Bits moved up by y places, those above lost; 0 where there are no more. A negative y
 * fails the result. No gradient: it is of integers. */
inline array bitwise_left_shift(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_left_shift_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array bitwise_left_shift(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_left_shift_operands_at(at, operand_of(x), operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array bitwise_left_shift(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_left_shift_operands_at(at, operand_of(x), operand_of(y)));
}
inline void bitwise_left_shift_into(const array &out, const array &x, const array &y,
                                    hk_source at = here()) noexcept
{
    hk_bitwise_left_shift_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void bitwise_left_shift_into(const array &out, T x, const array &y,
                                    hk_source at = here()) noexcept
{
    hk_bitwise_left_shift_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void bitwise_left_shift_into(const array &out, const array &x, T y,
                                    hk_source at = here()) noexcept
{
    hk_bitwise_left_shift_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* x >> y. Bits moved down by y places, filled with the sign: x over 2 ** y, rounded down. A
 * negative y fails the result. No gradient: it is of integers. */
inline array bitwise_right_shift(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_right_shift_at(at, x.get(), y.get()));
}
template <class T, if_number<T> = 0>
inline array bitwise_right_shift(T x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_right_shift_operands_at(at, operand_of(x),
                                                          operand_of(y)));
}
template <class T, if_number<T> = 0>
inline array bitwise_right_shift(const array &x, T y, hk_source at = here()) noexcept
{
    return array::take(hk_bitwise_right_shift_operands_at(at, operand_of(x),
                                                          operand_of(y)));
}
inline void bitwise_right_shift_into(const array &out, const array &x, const array &y,
                                     hk_source at = here()) noexcept
{
    hk_bitwise_right_shift_into_at(at, out.get(), x.get(), y.get());
}
template <class T, if_number<T> = 0>
inline void bitwise_right_shift_into(const array &out, T x, const array &y,
                                     hk_source at = here()) noexcept
{
    hk_bitwise_right_shift_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}
template <class T, if_number<T> = 0>
inline void bitwise_right_shift_into(const array &out, const array &x, T y,
                                     hk_source at = here()) noexcept
{
    hk_bitwise_right_shift_operands_into_at(at, out.get(), operand_of(x), operand_of(y));
}

/* The same values in new memory, C order. */
inline array copy(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_copy_at(at, x.get()));
}
inline void copy_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_copy_into_at(at, out.get(), x.get());
}

/* The same values as another dtype; a view of x when it has that dtype. Integers from floats are
 * rounded towards zero, and one that the dtype does not have, NaN included, fails the result.
 * Floats are rounded to the nearest, ties to even, and to an infinity beyond the largest. To
 * bool: whether the value is not 0. Complex numbers become complex ones or bool alone. */
inline array cast(const array &x, hk_dtype dtype, hk_source at = here()) noexcept
{
    return array::take(hk_cast_at(at, x.get(), dtype));
}

/* Integers as another dtype of integers, to which they wrap around: the low bits stay, where
 * hk_cast refuses what the dtype does not have. No gradient: it is of integers. */
inline array wrap(const array &x, hk_dtype dtype, hk_source at = here()) noexcept
{
    return array::take(hk_wrap_at(at, x.get(), dtype));
}

/* The same values on another device, C order; a view of x when it is there already. What comes
 * from an accelerator to the host is in pinned memory, see hk_pin. */
inline array to_device(const array &x, const hk::device &device, hk_source at = here()) noexcept
{
    return array::take(hk_to_device_at(at, x.get(), device));
}

/* The same values in page-locked memory of the host, C order: accelerators copy from and to it
 * at full speed, from other memory by way of a buffer. A view of x where it is pinned already,
 * on an accelerator, and where there are no accelerators. */
inline array pin(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_pin_at(at, x.get()));
}

/* An array of one number. */
inline array full(const hk::shape &shape, double value, hk_dtype dtype = HK_F32,
                  const hk::device &device = {}, hk_source at = here()) noexcept
{
    return array::take(hk_full_at(at, shape, value, dtype, device));
}
inline void full_into(const array &out, const hk::shape &shape, double value,
                      hk_dtype dtype = HK_F32, hk_source at = here()) noexcept
{
    hk_full_into_at(at, out.get(), shape, value, dtype);
}

/* An array of zeros. */
inline array zeros(const hk::shape &shape, hk_dtype dtype = HK_F32, const hk::device &device = {},
                   hk_source at = here()) noexcept
{
    return array::take(hk_zeros_at(at, shape, dtype, device));
}
inline void zeros_into(const array &out, const hk::shape &shape, hk_dtype dtype = HK_F32,
                       hk_source at = here()) noexcept
{
    hk_zeros_into_at(at, out.get(), shape, dtype);
}

/* An array of ones. */
inline array ones(const hk::shape &shape, hk_dtype dtype = HK_F32, const hk::device &device = {},
                  hk_source at = here()) noexcept
{
    return array::take(hk_ones_at(at, shape, dtype, device));
}
inline void ones_into(const array &out, const hk::shape &shape, hk_dtype dtype = HK_F32,
                      hk_source at = here()) noexcept
{
    hk_ones_into_at(at, out.get(), shape, dtype);
}

/* start, start + step, … up to stop, which is not included; shape (ceil((stop - start) /
 * step),). Of integers beyond 2^53, which doubles round, hk_sequence is exact. */
inline array arange(double start, double stop, double step, hk_dtype dtype = HK_F32,
                    const hk::device &device = {}, hk_source at = here()) noexcept
{
    return array::take(hk_arange_at(at, start, stop, step, dtype, device));
}

/* first, first + step, …: so many whole numbers, exact where hk_arange's doubles are not; floats
 * are rounded once. uint64 above INT64_MAX: add a number to it. */
inline array sequence(int64_t first, int64_t step, int64_t count, hk_dtype dtype = HK_F32,
                      const hk::device &device = {}, hk_source at = here()) noexcept
{
    return array::take(hk_sequence_at(at, first, step, count, dtype, device));
}

/* Numbers from start to stop at even distances. */
inline array linspace(double start, double stop, int64_t count, bool endpoint,
                      hk_dtype dtype = HK_F32, const hk::device &device = {},
                      hk_source at = here()) noexcept
{
    return array::take(hk_linspace_at(at, start, stop, count, endpoint, dtype, device));
}

/* A matrix of ones on a diagonal, and of zeros elsewhere. */
inline array eye(int64_t rows, int64_t columns, int64_t offset, hk_dtype dtype = HK_F32,
                 const hk::device &device = {}, hk_source at = here()) noexcept
{
    return array::take(hk_eye_at(at, rows, columns, offset, dtype, device));
}

/* One number, of x's shape and dtype, on its device. No gradient: it does not depend on the
 * values of x. */
inline array full_like(const array &x, double value, hk_source at = here()) noexcept
{
    return array::take(hk_full_like_at(at, x.get(), value));
}

/* Zeros of x's shape and dtype, on its device. No gradient: it does not depend on the values of
 * x. */
inline array zeros_like(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_zeros_like_at(at, x.get()));
}

/* 1. Ones of x's shape and dtype. No gradient: it does not depend on the values of x. */
inline array ones_like(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_ones_like_at(at, x.get()));
}
inline void ones_like_into(const array &out, const array &x, hk_source at = here()) noexcept
{
    hk_ones_like_into_at(at, out.get(), x.get());
}

/* A new last axis with 1 at the place that each integer of x names, and 0 elsewhere: all zeros
 * where x is negative or not below classes. No gradient: x is of integers. */
inline array one_hot(const array &x, int64_t classes, hk_dtype dtype,
                     hk_source at = here()) noexcept
{
    return array::take(hk_one_hot_at(at, x.get(), classes, dtype));
}

/* Matrices in the last two axes, with zeros above a diagonal. */
inline array tril(const array &x, int64_t offset, hk_source at = here()) noexcept
{
    return array::take(hk_tril_at(at, x.get(), offset));
}

/* Matrices in the last two axes, with zeros below a diagonal. */
inline array triu(const array &x, int64_t offset, hk_source at = here()) noexcept
{
    return array::take(hk_triu_at(at, x.get(), offset));
}

/* The elements of x in C order under another shape: a view when x is contiguous, else a copy. */
inline array reshape(const array &x, const hk::shape &shape, hk_source at = here()) noexcept
{
    return array::take(hk_reshape_at(at, x.get(), shape));
}

/* y[i,j] = sum over l of a[i,l] * b[l,j]. Matrix product of a (m,k) and b (k,n): (m,n), of their
 * dtype; halves are summed in float32, which is the result's dtype, and give gradients of their
 * own dtype, computed from dy rounded to it. Further axes in front are batches of matrices,
 * which broadcast. A vector is a row on the left and a column on the right, and its axis of size
 * 1 is not in the result: (k) times (k,n) is (n), (k) times (k) a scalar. Transposed views are
 * read in place. Integers wrap around. */
inline array matmul(const array &a, const array &b, hk_source at = here()) noexcept
{
    return array::take(hk_matmul_at(at, a.get(), b.get()));
}

/* Sums of products over the last axes of x and the first ones of y; hk_permute_dims brings
 * others there. 0 axes: all products. */
inline array tensordot(const array &x, const array &y, int64_t axes,
                       hk_source at = here()) noexcept
{
    return array::take(hk_tensordot_at(at, x.get(), y.get(), axes));
}

/* sum of x y along the last axis. Dot products of vectors, which lie along the last axes; the
 * other axes are broadcast. Integers as in hk_sum; complex x are conjugated. */
inline array vecdot(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_vecdot_at(at, x.get(), y.get()));
}

/* result[i][j] = x[i] y[j]. The products of each element of the vector x with each of the vector
 * y, as a matrix. */
inline array outer(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_outer_at(at, x.get(), y.get()));
}

/* Sums of the diagonals of matrices in the last two axes. Integers as in hk_sum. */
inline array matrix_trace(const array &x, int64_t offset, hk_source at = here()) noexcept
{
    return array::take(hk_matrix_trace_at(at, x.get(), offset));
}

/* What each element along an axis is more than the one before: one less than x has. */
inline array diff(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_diff_at(at, x.get(), axis));
}

/* y = x weight^T + bias. Fully connected layer: x (...,inputs) times the transpose of weight
 * (outputs,inputs), plus bias (outputs): (...,outputs), of the dtype of all three. Of halves x
 * and weight, bias and result are float32; see matmul. bias may be NULL. */
inline array linear(const array &x, const array &weight, const array &bias = {},
                    hk_source at = here()) noexcept
{
    return array::take(hk_linear_at(at, x.get(), weight.get(), bias.get()));
}

/* y[i] = log(sum over j of exp(logits[i,j])) - logits[i,labels[i]]. Loss of each sample: minus
 * the logarithm of the probability that softmax(logits) gives to its label. logits (n,classes),
 * labels (n) of int32, int64 or uint8: (n). A label that is not in [0, classes) fails the result
 * when it is computed. */
inline array softmax_cross_entropy(const array &logits, const array &labels,
                                   hk_source at = here()) noexcept
{
    return array::take(hk_softmax_cross_entropy_at(at, logits.get(), labels.get()));
}

/* y = exp(x) / sum of exp(x) along axis. Exponentials of the elements divided by their sum along
 * an axis, without overflow: probabilities. */
inline array softmax(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_softmax_at(at, x.get(), axis));
}

/* y = x - log(sum of exp(x) along axis). Logarithm of softmax, right also where softmax is 0 to
 * rounding. */
inline array log_softmax(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_log_softmax_at(at, x.get(), axis));
}

/* y = argmax of x along axis. Index of the largest element along an axis, as int64: the first
 * where several are equal, and the first NaN where there is one. Of all elements: of
 * hk_reshape(x, hk_shape(-1)). No gradient: its result is an index. */
inline array argmax(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_argmax_at(at, x.get(), axis));
}

/* y = argmin of x along axis. Index of the smallest element along an axis, as int64: the first
 * where several are equal, and the first NaN where there is one. Of all elements: of
 * hk_reshape(x, hk_shape(-1)). No gradient: its result is an index. */
inline array argmin(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_argmin_at(at, x.get(), axis));
}

/* y[i] = sum of x[j] for j <= i. Sums of all elements up to each along an axis. float32 is added
 * up in double precision; unsigned integers give uint64, others and bool int64, which wrap
 * around. */
inline array cumulative_sum(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_cumulative_sum_at(at, x.get(), axis));
}

/* y[i] = product of x[j] for j <= i. Products of all elements up to each along an axis. float32
 * is multiplied in double precision; unsigned integers give uint64, others and bool int64, which
 * wrap around. */
inline array cumulative_prod(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_cumulative_prod_at(at, x.get(), axis));
}

/* Elements in order along an axis; equal ones stay in theirs. A NaN counts as larger than all
 * numbers. */
inline array sort(const array &x, int64_t axis, bool descending, hk_source at = here()) noexcept
{
    return array::take(hk_sort_at(at, x.get(), axis, descending));
}

/* Indices along an axis that put its elements in order, as int64; equal ones stay in theirs. A
 * NaN counts as larger than all numbers. No gradient: its result is an index. */
inline array argsort(const array &x, int64_t axis, bool descending, hk_source at = here()) noexcept
{
    return array::take(hk_argsort_at(at, x.get(), axis, descending));
}

/* Where each element of x would be put into sorted, of one axis in rising order, to keep its
 * order: an index from 0 to its size, as int64. A NaN counts as larger than all numbers. No
 * gradient: its result is an index. */
inline array searchsorted(const array &sorted, const array &x, bool right,
                          hk_source at = here()) noexcept
{
    return array::take(hk_searchsorted_at(at, sorted.get(), x.get(), right));
}

/* The k largest or smallest elements along an axis, in that order, and where they are, as int64;
 * of equal ones the first. A NaN counts as larger than all numbers. Results: values, indices. */
struct topk_results {
    array values, indices;
};
inline topk_results topk(const array &x, int64_t k, int64_t axis, bool largest,
                         hk_source at = here()) noexcept
{
    hk_array *results[2];
    hk_topk_at(at, x.get(), k, axis, largest, &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* Whether each element of x is equal to one of elements, of any shape, as bool. A NaN is not. No
 * gradient: its result does not vary smoothly. */
inline array isin(const array &x, const array &elements, hk_source at = here()) noexcept
{
    return array::take(hk_isin_at(at, x.get(), elements.get()));
}

/* How many elements of x lie in each of so many bins of one width from low to high, as int64. A
 * bin has its lower edge, the last one both; what lies outside, NaN included, is not counted.
 * hk_linspace gives the edges. No gradient: its result does not vary smoothly. */
inline array histogram(const array &x, int64_t bins, double low, double high,
                       hk_source at = here()) noexcept
{
    return array::take(hk_histogram_at(at, x.get(), bins, low, high));
}

/* values[i] = max of x[j] for j <= i. The largest of all elements up to each along an axis, and
 * where it is, as int64; of equal ones the last. From a NaN on it is that. Results: values,
 * indices. Not on GPUs yet. */
struct cumulative_max_results {
    array values, indices;
};
inline cumulative_max_results cumulative_max(const array &x, int64_t axis,
                                             hk_source at = here()) noexcept
{
    hk_array *results[2];
    hk_cumulative_max_at(at, x.get(), axis, &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* values[i] = min of x[j] for j <= i. The smallest of all elements up to each along an axis, and
 * where it is, as int64; of equal ones the last. From a NaN on it is that. Results: values,
 * indices. Not on GPUs yet. */
struct cumulative_min_results {
    array values, indices;
};
inline cumulative_min_results cumulative_min(const array &x, int64_t axis,
                                             hk_source at = here()) noexcept
{
    hk_array *results[2];
    hk_cumulative_min_at(at, x.get(), axis, &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* y = (1 - t) * s[floor(p)] + t * s[ceil(p)], of s = x in order, p = q * (n - 1), t = p -
 * floor(p). A quantile along axes (all by default), the median if q is not given: of n elements
 * in order what lies at place q (n - 1), counted from 0. Where that is between two, method says
 * what it is. NaN where an element is; integers and bool give float64. Of no elements there is
 * none. Its gradient goes to the elements that it is made of. */
struct quantile_options {
    HKI_OPTION(quantile_options, hk::shape, axes)
    HKI_OPTION(quantile_options, bool, keepdims)
    HKI_OPTION(quantile_options, double, q)
    HKI_OPTION(quantile_options, int64_t, method)
    hk_quantile_options to_c() const noexcept
    {
        hk_quantile_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        c.q = q;
        c.method = method;
        return c;
    }
};
inline array quantile(const array &x, const quantile_options &options = {},
                      hk_source at = here()) noexcept
{
    const hk_quantile_options given = options.to_c();
    return array::take(hk_quantile_at(at, x.get(), &given));
}

/* y = (s[floor((n - 1) / 2)] + s[ceil((n - 1) / 2)]) / 2, of s = x in order. The median along
 * axes (all by default): of elements in order the one in the middle, or the mean of the two that
 * are. As hk_quantile for 0.5. */
struct median_options {
    HKI_OPTION(median_options, hk::shape, axes)
    HKI_OPTION(median_options, bool, keepdims)
    hk_median_options to_c() const noexcept
    {
        hk_median_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array median(const array &x, const median_options &options = {},
                    hk_source at = here()) noexcept
{
    const hk_median_options given = options.to_c();
    return array::take(hk_median_at(at, x.get(), &given));
}

/* y = (1 - t) * s[floor(p)] + t * s[ceil(p)], of s = x in order, p = q * (numbers - 1), t = p -
 * floor(p). As hk_quantile of the elements that are no NaN, however many these are: where all
 * are NaN, the result is. */
struct nanquantile_options {
    HKI_OPTION(nanquantile_options, hk::shape, axes)
    HKI_OPTION(nanquantile_options, bool, keepdims)
    HKI_OPTION(nanquantile_options, double, q)
    HKI_OPTION(nanquantile_options, int64_t, method)
    hk_nanquantile_options to_c() const noexcept
    {
        hk_nanquantile_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        c.q = q;
        c.method = method;
        return c;
    }
};
inline array nanquantile(const array &x, const nanquantile_options &options = {},
                         hk_source at = here()) noexcept
{
    const hk_nanquantile_options given = options.to_c();
    return array::take(hk_nanquantile_at(at, x.get(), &given));
}

/* y = (s[floor((n - 1) / 2)] + s[ceil((n - 1) / 2)]) / 2, of s = the n numbers of x in order.
 * The median of the elements that are no NaN, along axes (all by default): NaN where all are. As
 * hk_nanquantile for 0.5. */
struct nanmedian_options {
    HKI_OPTION(nanmedian_options, hk::shape, axes)
    HKI_OPTION(nanmedian_options, bool, keepdims)
    hk_nanmedian_options to_c() const noexcept
    {
        hk_nanmedian_options c = {};
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array nanmedian(const array &x, const nanmedian_options &options = {},
                       hk_source at = here()) noexcept
{
    const hk_nanmedian_options given = options.to_c();
    return array::take(hk_nanmedian_at(at, x.get(), &given));
}

/* y[n,o,i,j] = bias[o] + sum over c, u, v of weight[o,c,u,v] *
 * x[n,c,i*stride-padding+u*dilation,j*stride-padding+v*dilation]. Two-dimensional convolution
 * (cross-correlation, as in every framework) of x (n,channels,height,width) with weight
 * (outputs,channels/groups,rows,columns), plus bias (outputs): (n,outputs,height',width'), of
 * the dtype of all three, where height' = (height + 2 padding - dilation (rows - 1) - 1) /
 * stride + 1, rounded down, and width' likewise. Windows of 3 x 3 and 5 x 5 at stride 1, with 16
 * channels or more, are done 4 or 16 at a time by Winograd's method: there an infinity or NaN in
 * x makes NaN of neighbouring results too. bias may be NULL. */
struct conv2d_options {
    HKI_OPTION(conv2d_options, int_pair, stride)
    HKI_OPTION(conv2d_options, int_pair, padding)
    HKI_OPTION(conv2d_options, int_pair, dilation)
    HKI_OPTION(conv2d_options, int64_t, groups)
    hk_conv2d_options to_c() const noexcept
    {
        hk_conv2d_options c = {};
        c.stride[0] = stride[0], c.stride[1] = stride[1];
        c.padding[0] = padding[0], c.padding[1] = padding[1];
        c.dilation[0] = dilation[0], c.dilation[1] = dilation[1];
        c.groups = groups;
        return c;
    }
};
inline array conv2d(const array &x, const array &weight, const array &bias = {},
                    const conv2d_options &options = {}, hk_source at = here()) noexcept
{
    const hk_conv2d_options given = options.to_c();
    return array::take(hk_conv2d_at(at, x.get(), weight.get(), bias.get(), &given));
}

/* y[n,o,i*stride-padding+u*dilation,j*stride-padding+v*dilation] += weight[c,o,u,v] *
 * x[n,c,i,j]. Transposed convolution (fractionally strided; Zeiler et al. 2010): the gradient of
 * hk_conv2d with respect to its x, done to x (n,channels,height,width). weight is
 * (channels,outputs/groups,rows,columns), bias (outputs), the result (n,outputs,height',width'),
 * where height' = (height - 1) stride - 2 padding + dilation (rows - 1) + 1 + output_padding,
 * and width' likewise: the size of an x from which a convolution with these options makes
 * (height,width). bias may be NULL. */
struct conv2d_transpose_options {
    HKI_OPTION(conv2d_transpose_options, int_pair, stride)
    HKI_OPTION(conv2d_transpose_options, int_pair, padding)
    HKI_OPTION(conv2d_transpose_options, int_pair, dilation)
    HKI_OPTION(conv2d_transpose_options, int64_t, groups)
    HKI_OPTION(conv2d_transpose_options, int_pair, output_padding)
    hk_conv2d_transpose_options to_c() const noexcept
    {
        hk_conv2d_transpose_options c = {};
        c.stride[0] = stride[0], c.stride[1] = stride[1];
        c.padding[0] = padding[0], c.padding[1] = padding[1];
        c.dilation[0] = dilation[0], c.dilation[1] = dilation[1];
        c.groups = groups;
        c.output_padding[0] = output_padding[0], c.output_padding[1] = output_padding[1];
        return c;
    }
};
inline array conv2d_transpose(const array &x, const array &weight, const array &bias = {},
                              const conv2d_transpose_options &options = {},
                              hk_source at = here()) noexcept
{
    const hk_conv2d_transpose_options given = options.to_c();
    return array::take(hk_conv2d_transpose_at(at, x.get(), weight.get(), bias.get(),
                                              &given));
}

/* y[n,o,i] = bias[o] + sum over c, v of weight[o,c,v] * x[n,c,i*stride-padding+v*dilation].
 * One-dimensional convolution (cross-correlation) of x (n,channels,length) with weight
 * (outputs,channels/groups,size), plus bias (outputs): (n,outputs,length'), where length' =
 * (length + 2 padding - dilation (size - 1) - 1) / stride + 1, rounded down. As hk_conv2d of
 * images of one row. bias may be NULL. */
struct conv1d_options {
    HKI_OPTION(conv1d_options, int64_t, stride)
    HKI_OPTION(conv1d_options, int64_t, padding)
    HKI_OPTION(conv1d_options, int64_t, dilation)
    HKI_OPTION(conv1d_options, int64_t, groups)
    hk_conv1d_options to_c() const noexcept
    {
        hk_conv1d_options c = {};
        c.stride = stride;
        c.padding = padding;
        c.dilation = dilation;
        c.groups = groups;
        return c;
    }
};
inline array conv1d(const array &x, const array &weight, const array &bias = {},
                    const conv1d_options &options = {}, hk_source at = here()) noexcept
{
    const hk_conv1d_options given = options.to_c();
    return array::take(hk_conv1d_at(at, x.get(), weight.get(), bias.get(), &given));
}

/* y[n,o,h,i,j] = bias[o] + sum over c, t, u, v of weight[o,c,t,u,v] *
 * x[n,c,h*stride-padding+t*dilation,i*stride-padding+u*dilation,j*stride-padding+v*dilation].
 * Three-dimensional convolution (cross-correlation) of x (n,channels,depth,height,width) with
 * weight (outputs,channels/groups,slices,rows,columns), plus bias (outputs):
 * (n,outputs,depth',height',width'), of the dtype of all three, where depth' = (depth + 2
 * padding - dilation (slices - 1) - 1) / stride + 1, rounded down, and height' and width'
 * likewise. Made of one hk_conv2d, whose images have the slices of a window as channels: memory
 * for x grows by their number, for the time of the call. bias may be NULL. */
struct conv3d_options {
    HKI_OPTION(conv3d_options, int_triple, stride)
    HKI_OPTION(conv3d_options, int_triple, padding)
    HKI_OPTION(conv3d_options, int_triple, dilation)
    HKI_OPTION(conv3d_options, int64_t, groups)
    hk_conv3d_options to_c() const noexcept
    {
        hk_conv3d_options c = {};
        c.stride[0] = stride[0], c.stride[1] = stride[1], c.stride[2] = stride[2];
        c.padding[0] = padding[0], c.padding[1] = padding[1], c.padding[2] = padding[2];
        c.dilation[0] = dilation[0], c.dilation[1] = dilation[1], c.dilation[2] = dilation[2];
        c.groups = groups;
        return c;
    }
};
inline array conv3d(const array &x, const array &weight, const array &bias = {},
                    const conv3d_options &options = {}, hk_source at = here()) noexcept
{
    const hk_conv3d_options given = options.to_c();
    return array::take(hk_conv3d_at(at, x.get(), weight.get(), bias.get(), &given));
}

/* y[n,o,h*stride-padding+t*dilation,i*stride-padding+u*dilation,j*stride-padding+v*dilation] +=
 * weight[c,o,t,u,v] * x[n,c,h,i,j]. Transposed convolution of volumes: the gradient of hk_conv3d
 * with respect to its x, done to x (n,channels,depth,height,width). weight is
 * (channels,outputs/groups,slices,rows,columns), bias (outputs), the result
 * (n,outputs,depth',height',width'), where depth' = (depth - 1) stride - 2 padding + dilation
 * (slices - 1) + 1 + output_padding, and height' and width' likewise. Made of one
 * hk_conv2d_transpose. bias may be NULL. */
struct conv3d_transpose_options {
    HKI_OPTION(conv3d_transpose_options, int_triple, stride)
    HKI_OPTION(conv3d_transpose_options, int_triple, padding)
    HKI_OPTION(conv3d_transpose_options, int_triple, dilation)
    HKI_OPTION(conv3d_transpose_options, int64_t, groups)
    HKI_OPTION(conv3d_transpose_options, int_triple, output_padding)
    hk_conv3d_transpose_options to_c() const noexcept
    {
        hk_conv3d_transpose_options c = {};
        c.stride[0] = stride[0], c.stride[1] = stride[1], c.stride[2] = stride[2];
        c.padding[0] = padding[0], c.padding[1] = padding[1], c.padding[2] = padding[2];
        c.dilation[0] = dilation[0], c.dilation[1] = dilation[1], c.dilation[2] = dilation[2];
        c.groups = groups;
        c.output_padding[0] = output_padding[0], c.output_padding[1] = output_padding[1], c.output_padding[2] = output_padding[2];
        return c;
    }
};
inline array conv3d_transpose(const array &x, const array &weight, const array &bias = {},
                              const conv3d_transpose_options &options = {},
                              hk_source at = here()) noexcept
{
    const hk_conv3d_transpose_options given = options.to_c();
    return array::take(hk_conv3d_transpose_at(at, x.get(), weight.get(), bias.get(),
                                              &given));
}

/* y[n,c,i,j] = max over u, v of x[n,c,i*stride-padding+u,j*stride-padding+v]. Largest element of
 * each window of x (n,channels,height,width): (n,channels,height',width') with height' = (height
 * + 2 padding - kernel) / stride + 1, rounded down unless ceil_mode, and width' likewise.
 * Padding is never the largest; NaN always is. The gradient goes to the first of the largest. */
struct max_pool2d_options {
    HKI_OPTION(max_pool2d_options, int_pair, kernel)
    HKI_OPTION(max_pool2d_options, int_pair, stride)
    HKI_OPTION(max_pool2d_options, int_pair, padding)
    HKI_OPTION(max_pool2d_options, bool, ceil_mode)
    hk_max_pool2d_options to_c() const noexcept
    {
        hk_max_pool2d_options c = {};
        c.kernel[0] = kernel[0], c.kernel[1] = kernel[1];
        c.stride[0] = stride[0], c.stride[1] = stride[1];
        c.padding[0] = padding[0], c.padding[1] = padding[1];
        c.ceil_mode = ceil_mode;
        return c;
    }
};
inline array max_pool2d(const array &x, const max_pool2d_options &options = {},
                        hk_source at = here()) noexcept
{
    const hk_max_pool2d_options given = options.to_c();
    return array::take(hk_max_pool2d_at(at, x.get(), &given));
}

/* y[n,c,i,j] = mean over u, v of x[n,c,i*stride-padding+u,j*stride-padding+v]. Mean of each
 * window of x (n,channels,height,width): (n,channels,height',width') with height' = (height + 2
 * padding - kernel) / stride + 1, rounded down unless ceil_mode, and width' likewise. The mean
 * is that of the elements in x, unless count_include_pad. */
struct avg_pool2d_options {
    HKI_OPTION(avg_pool2d_options, int_pair, kernel)
    HKI_OPTION(avg_pool2d_options, int_pair, stride)
    HKI_OPTION(avg_pool2d_options, int_pair, padding)
    HKI_OPTION(avg_pool2d_options, bool, ceil_mode)
    HKI_OPTION(avg_pool2d_options, bool, count_include_pad)
    hk_avg_pool2d_options to_c() const noexcept
    {
        hk_avg_pool2d_options c = {};
        c.kernel[0] = kernel[0], c.kernel[1] = kernel[1];
        c.stride[0] = stride[0], c.stride[1] = stride[1];
        c.padding[0] = padding[0], c.padding[1] = padding[1];
        c.ceil_mode = ceil_mode;
        c.count_include_pad = count_include_pad;
        return c;
    }
};
inline array avg_pool2d(const array &x, const avg_pool2d_options &options = {},
                        hk_source at = here()) noexcept
{
    const hk_avg_pool2d_options given = options.to_c();
    return array::take(hk_avg_pool2d_at(at, x.get(), &given));
}

/* y[n,c,i] = max over v of x[n,c,i*stride-padding+v]. Largest element of each window of x
 * (n,channels,length): (n,channels,length'), where length' = (length + 2 padding - kernel) /
 * stride + 1, rounded down unless ceil_mode. As hk_max_pool2d of images of one row. */
struct max_pool1d_options {
    HKI_OPTION(max_pool1d_options, int64_t, kernel)
    HKI_OPTION(max_pool1d_options, int64_t, stride)
    HKI_OPTION(max_pool1d_options, int64_t, padding)
    HKI_OPTION(max_pool1d_options, bool, ceil_mode)
    hk_max_pool1d_options to_c() const noexcept
    {
        hk_max_pool1d_options c = {};
        c.kernel = kernel;
        c.stride = stride;
        c.padding = padding;
        c.ceil_mode = ceil_mode;
        return c;
    }
};
inline array max_pool1d(const array &x, const max_pool1d_options &options = {},
                        hk_source at = here()) noexcept
{
    const hk_max_pool1d_options given = options.to_c();
    return array::take(hk_max_pool1d_at(at, x.get(), &given));
}

/* y[n,c,i] = mean over v of x[n,c,i*stride-padding+v]. Mean of each window of x
 * (n,channels,length): (n,channels,length'), where length' = (length + 2 padding - kernel) /
 * stride + 1, rounded down unless ceil_mode. As hk_avg_pool2d of images of one row. */
struct avg_pool1d_options {
    HKI_OPTION(avg_pool1d_options, int64_t, kernel)
    HKI_OPTION(avg_pool1d_options, int64_t, stride)
    HKI_OPTION(avg_pool1d_options, int64_t, padding)
    HKI_OPTION(avg_pool1d_options, bool, ceil_mode)
    HKI_OPTION(avg_pool1d_options, bool, count_include_pad)
    hk_avg_pool1d_options to_c() const noexcept
    {
        hk_avg_pool1d_options c = {};
        c.kernel = kernel;
        c.stride = stride;
        c.padding = padding;
        c.ceil_mode = ceil_mode;
        c.count_include_pad = count_include_pad;
        return c;
    }
};
inline array avg_pool1d(const array &x, const avg_pool1d_options &options = {},
                        hk_source at = here()) noexcept
{
    const hk_avg_pool1d_options given = options.to_c();
    return array::take(hk_avg_pool1d_at(at, x.get(), &given));
}

/* y[n,c,i,j] = mean of x[n,c,i's rows,j's columns]. Mean of each window of x
 * (n,channels,height,width), where windows are such that there are `size`:
 * (n,channels,size[0],size[1]). Window i of an axis of h elements goes from i h / size, rounded
 * down, to (i + 1) h / size, rounded up; of more windows than elements several have the same
 * ones. Sizes that divide x's are one call of pooling, others two of each row and column. */
struct adaptive_avg_pool2d_options {
    HKI_OPTION(adaptive_avg_pool2d_options, int_pair, size)
    hk_adaptive_avg_pool2d_options to_c() const noexcept
    {
        hk_adaptive_avg_pool2d_options c = {};
        c.size[0] = size[0], c.size[1] = size[1];
        return c;
    }
};
inline array adaptive_avg_pool2d(const array &x, const adaptive_avg_pool2d_options &options = {},
                                 hk_source at = here()) noexcept
{
    const hk_adaptive_avg_pool2d_options given = options.to_c();
    return array::take(hk_adaptive_avg_pool2d_at(at, x.get(), &given));
}

/* y[n,c,i,j] = max of x[n,c,i's rows,j's columns]. Largest element of each window of x
 * (n,channels,height,width), where windows are such that there are `size`:
 * (n,channels,size[0],size[1]). Window i of an axis of h elements goes from i h / size, rounded
 * down, to (i + 1) h / size, rounded up; of more windows than elements several have the same
 * ones. Sizes that divide x's are one call of pooling, others two of each row and column. */
struct adaptive_max_pool2d_options {
    HKI_OPTION(adaptive_max_pool2d_options, int_pair, size)
    hk_adaptive_max_pool2d_options to_c() const noexcept
    {
        hk_adaptive_max_pool2d_options c = {};
        c.size[0] = size[0], c.size[1] = size[1];
        return c;
    }
};
inline array adaptive_max_pool2d(const array &x, const adaptive_max_pool2d_options &options = {},
                                 hk_source at = here()) noexcept
{
    const hk_adaptive_max_pool2d_options given = options.to_c();
    return array::take(hk_adaptive_max_pool2d_at(at, x.get(), &given));
}

/* y[n,c,i] = mean of x[n,c,i's elements]. Mean of each window of x (n,channels,length), where
 * windows are such that there are `size`: (n,channels,size). As of images of one row. */
struct adaptive_avg_pool1d_options {
    HKI_OPTION(adaptive_avg_pool1d_options, int64_t, size)
    hk_adaptive_avg_pool1d_options to_c() const noexcept
    {
        hk_adaptive_avg_pool1d_options c = {};
        c.size = size;
        return c;
    }
};
inline array adaptive_avg_pool1d(const array &x, const adaptive_avg_pool1d_options &options = {},
                                 hk_source at = here()) noexcept
{
    const hk_adaptive_avg_pool1d_options given = options.to_c();
    return array::take(hk_adaptive_avg_pool1d_at(at, x.get(), &given));
}

/* y[n,c,i] = max of x[n,c,i's elements]. Largest element of each window of x
 * (n,channels,length), where windows are such that there are `size`: (n,channels,size). As of
 * images of one row. */
struct adaptive_max_pool1d_options {
    HKI_OPTION(adaptive_max_pool1d_options, int64_t, size)
    hk_adaptive_max_pool1d_options to_c() const noexcept
    {
        hk_adaptive_max_pool1d_options c = {};
        c.size = size;
        return c;
    }
};
inline array adaptive_max_pool1d(const array &x, const adaptive_max_pool1d_options &options = {},
                                 hk_source at = here()) noexcept
{
    const hk_adaptive_max_pool1d_options given = options.to_c();
    return array::take(hk_adaptive_max_pool1d_at(at, x.get(), &given));
}

/* y[n,c,i,j] = sum over a, b of weight(i,a) weight(j,b) x[n,c,a,b]. x (n,channels,height,width),
 * or of one or three axes behind the channels, made larger or smaller:
 * (n,channels,size[0],size[1]), or by scale. An element is made of the nearest one of x, or of 2
 * or 4 along each axis, by mode; coordinates says where in x it lies. Beyond the ends x has the
 * entries at its ends. The nearest one is, with half pixels, that in which the middle of the
 * element lies; with corners aligned, of two the first; asymmetric, the one before. */
struct interpolate_options {
    HKI_OPTION(interpolate_options, hk::shape, size)
    HKI_OPTION(interpolate_options, double, scale)
    HKI_OPTION(interpolate_options, int64_t, mode)
    HKI_OPTION(interpolate_options, int64_t, coordinates)
    hk_interpolate_options to_c() const noexcept
    {
        hk_interpolate_options c = {};
        c.size = size;
        c.scale = scale;
        c.mode = mode;
        c.coordinates = coordinates;
        return c;
    }
};
inline array interpolate(const array &x, const interpolate_options &options = {},
                         hk_source at = here()) noexcept
{
    const hk_interpolate_options given = options.to_c();
    return array::take(hk_interpolate_at(at, x.get(), &given));
}

/* y[n,c,i,j] = x[n,c] at row grid[n,i,j,1], column grid[n,i,j,0]. Elements of images x
 * (n,channels,height,width) at places that grid (n,rows,columns,2) names:
 * (n,channels,rows,columns). grid[…,0] is where across, from -1, the left edge, to 1, the right
 * one, and grid[…,1] where down. Between elements mode says what there is, and outside beyond
 * does. Of grid the same dtype as x. */
struct grid_sample_options {
    HKI_OPTION(grid_sample_options, int64_t, mode)
    HKI_OPTION(grid_sample_options, int64_t, beyond)
    HKI_OPTION(grid_sample_options, bool, align_corners)
    hk_grid_sample_options to_c() const noexcept
    {
        hk_grid_sample_options c = {};
        c.mode = mode;
        c.beyond = beyond;
        c.align_corners = align_corners;
        return c;
    }
};
inline array grid_sample(const array &x, const array &grid,
                         const grid_sample_options &options = {}, hk_source at = here()) noexcept
{
    const hk_grid_sample_options given = options.to_c();
    return array::take(hk_grid_sample_at(at, x.get(), grid.get(), &given));
}

/* y[r,c,i,j] = mean over places p in part (i,j) of rois[r] of x[batch[r],c] at p. Regions of
 * images x (n,channels,height,width) as images of one size: (regions,channels,size[0],size[1]).
 * rois (regions,4), of x's dtype, has left, top, right and bottom of each, which scale
 * multiplies, and batch (regions), of integers, of which sample it is: one that is not there
 * fails the call as HK_OUT_OF_RANGE. A region is cut into parts, and a part is the mean of
 * samples times samples places in it, between the four elements around each; what is more than
 * an element outside is 0. As ONNX's RoiAlign, and torchvision's roi_align. The mean's gradient
 * flows to x alone, the largest share has none. Not on GPUs. Not on GPUs yet. */
struct roi_align_options {
    HKI_OPTION(roi_align_options, int_pair, size)
    HKI_OPTION(roi_align_options, double, scale)
    HKI_OPTION(roi_align_options, int64_t, samples)
    HKI_OPTION(roi_align_options, bool, aligned)
    HKI_OPTION(roi_align_options, bool, largest)
    hk_roi_align_options to_c() const noexcept
    {
        hk_roi_align_options c = {};
        c.size[0] = size[0], c.size[1] = size[1];
        c.scale = scale;
        c.samples = samples;
        c.aligned = aligned;
        c.largest = largest;
        return c;
    }
};
inline array roi_align(const array &x, const array &rois, const array &batch,
                       const roi_align_options &options = {}, hk_source at = here()) noexcept
{
    const hk_roi_align_options given = options.to_c();
    return array::take(hk_roi_align_at(at, x.get(), rois.get(), batch.get(), &given));
}

/* Channels become squares of an image: x (n,c*block*block,h,w) gives (n,c,h*block,w*block). The
 * channels that make a square go along its rows. */
inline array depth_to_space(const array &x, int64_t block, bool crd,
                            hk_source at = here()) noexcept
{
    return array::take(hk_depth_to_space_at(at, x.get(), block, crd));
}

/* Squares of an image become channels: x (n,c,h,w) gives (n,c*block*block,h/block,w/block), what
 * hk_depth_to_space turns back. */
inline array space_to_depth(const array &x, int64_t block, bool crd,
                            hk_source at = here()) noexcept
{
    return array::take(hk_space_to_depth_at(at, x.get(), block, crd));
}

/* y = (x - mean) / sqrt(variance + eps) * gamma + beta. Each channel of x (n,channels,…)
 * normalised, then scaled by gamma and shifted by beta (channels), all of one dtype. Without
 * mean and variance, by those of the batch: over all axes but the channels', of 2 elements or
 * more, the variance biased; the gradient goes through them. With both, (channels), as at
 * inference, by these, which get no gradient. hk_batch_norm_train keeps moving averages of the
 * batch's for that. mean may be NULL. variance may be NULL. */
struct batch_norm_options {
    HKI_OPTION(batch_norm_options, double, eps)
    hk_batch_norm_options to_c() const noexcept
    {
        hk_batch_norm_options c = {};
        c.eps = eps;
        return c;
    }
};
inline array batch_norm(const array &x, const array &gamma, const array &beta,
                        const array &mean = {}, const array &variance = {},
                        const batch_norm_options &options = {}, hk_source at = here()) noexcept
{
    const hk_batch_norm_options given = options.to_c();
    return array::take(hk_batch_norm_at(at, x.get(), gamma.get(), beta.get(), mean.get(),
                                        variance.get(), &given));
}

/* y = (x - mean) / sqrt(variance + eps) * gamma + beta. Layer norm (Ba et al. 2016): x
 * (…,features) shifted and scaled to mean 0 and variance 1 along its last axis, or several, each
 * row by itself, then scaled by gamma and shifted by beta, of the shape of these axes. The
 * variance is biased. gamma may be NULL. beta may be NULL. */
struct layer_norm_options {
    HKI_OPTION(layer_norm_options, int64_t, axes)
    HKI_OPTION(layer_norm_options, double, eps)
    hk_layer_norm_options to_c() const noexcept
    {
        hk_layer_norm_options c = {};
        c.axes = axes;
        c.eps = eps;
        return c;
    }
};
inline array layer_norm(const array &x, const array &gamma = {}, const array &beta = {},
                        const layer_norm_options &options = {}, hk_source at = here()) noexcept
{
    const hk_layer_norm_options given = options.to_c();
    return array::take(hk_layer_norm_at(at, x.get(), gamma.get(), beta.get(), &given));
}

/* y = x / sqrt(mean of x**2 + eps) * gamma. RMS norm (Zhang, Sennrich 2019): x divided by the
 * root of its mean square along the last axis, or several, then scaled by gamma, of the shape of
 * these axes. gamma may be NULL. */
struct rms_norm_options {
    HKI_OPTION(rms_norm_options, int64_t, axes)
    HKI_OPTION(rms_norm_options, double, eps)
    hk_rms_norm_options to_c() const noexcept
    {
        hk_rms_norm_options c = {};
        c.axes = axes;
        c.eps = eps;
        return c;
    }
};
inline array rms_norm(const array &x, const array &gamma = {},
                      const rms_norm_options &options = {}, hk_source at = here()) noexcept
{
    const hk_rms_norm_options given = options.to_c();
    return array::take(hk_rms_norm_at(at, x.get(), gamma.get(), &given));
}

/* y = (x - mean) / sqrt(variance + eps) * gamma + beta. Group norm (Wu, He 2018): of each sample
 * of x (n,channels,…) each group of channels, with all its positions, shifted and scaled to mean
 * 0 and variance 1, then each channel scaled by gamma and shifted by beta (channels). As many
 * groups as channels: instance norm (Ulyanov et al. 2016). The variance is biased. gamma may be
 * NULL. beta may be NULL. */
struct group_norm_options {
    HKI_OPTION(group_norm_options, int64_t, groups)
    HKI_OPTION(group_norm_options, double, eps)
    hk_group_norm_options to_c() const noexcept
    {
        hk_group_norm_options c = {};
        c.groups = groups;
        c.eps = eps;
        return c;
    }
};
inline array group_norm(const array &x, const array &gamma = {}, const array &beta = {},
                        const group_norm_options &options = {}, hk_source at = here()) noexcept
{
    const hk_group_norm_options given = options.to_c();
    return array::take(hk_group_norm_at(at, x.get(), gamma.get(), beta.get(), &given));
}

/* mean of (x - target)**2. Squared error of x and a target of its shape. */
struct mse_loss_options {
    HKI_OPTION(mse_loss_options, int64_t, reduction)
    hk_mse_loss_options to_c() const noexcept
    {
        hk_mse_loss_options c = {};
        c.reduction = reduction;
        return c;
    }
};
inline array mse_loss(const array &x, const array &target, const mse_loss_options &options = {},
                      hk_source at = here()) noexcept
{
    const hk_mse_loss_options given = options.to_c();
    return array::take(hk_mse_loss_at(at, x.get(), target.get(), &given));
}

/* mean of |x - target|. Absolute error of x and a target of its shape. */
struct l1_loss_options {
    HKI_OPTION(l1_loss_options, int64_t, reduction)
    hk_l1_loss_options to_c() const noexcept
    {
        hk_l1_loss_options c = {};
        c.reduction = reduction;
        return c;
    }
};
inline array l1_loss(const array &x, const array &target, const l1_loss_options &options = {},
                     hk_source at = here()) noexcept
{
    const hk_l1_loss_options given = options.to_c();
    return array::take(hk_l1_loss_at(at, x.get(), target.get(), &given));
}

/* mean of e**2 / 2 where e = |x - target| <= delta, else of delta (e - delta / 2). Squared error
 * near the target, absolute error further off (Huber 1964). Divided by delta it is the smooth L1
 * loss. */
struct huber_loss_options {
    HKI_OPTION(huber_loss_options, int64_t, reduction)
    HKI_OPTION(huber_loss_options, double, delta)
    hk_huber_loss_options to_c() const noexcept
    {
        hk_huber_loss_options c = {};
        c.reduction = reduction;
        c.delta = delta;
        return c;
    }
};
inline array huber_loss(const array &x, const array &target,
                        const huber_loss_options &options = {}, hk_source at = here()) noexcept
{
    const hk_huber_loss_options given = options.to_c();
    return array::take(hk_huber_loss_at(at, x.get(), target.get(), &given));
}

/* mean of softplus(x) - x target. Cross entropy of a probability, sigmoid(x), and a target from
 * 0 to 1. Large x overflow nothing. */
struct binary_cross_entropy_with_logits_options {
    HKI_OPTION(binary_cross_entropy_with_logits_options, int64_t, reduction)
    hk_binary_cross_entropy_with_logits_options to_c() const noexcept
    {
        hk_binary_cross_entropy_with_logits_options c = {};
        c.reduction = reduction;
        return c;
    }
};
inline array binary_cross_entropy_with_logits(const array &x, const array &target,
                                              const binary_cross_entropy_with_logits_options &options = {},
                                              hk_source at = here()) noexcept
{
    const hk_binary_cross_entropy_with_logits_options given = options.to_c();
    return array::take(hk_binary_cross_entropy_with_logits_at(at, x.get(), target.get(),
                                                              &given));
}

/* mean of max(0, 1 - x target). How far x is from being on the target's side of a margin;
 * targets are -1 and 1. */
struct hinge_loss_options {
    HKI_OPTION(hinge_loss_options, int64_t, reduction)
    hk_hinge_loss_options to_c() const noexcept
    {
        hk_hinge_loss_options c = {};
        c.reduction = reduction;
        return c;
    }
};
inline array hinge_loss(const array &x, const array &target,
                        const hinge_loss_options &options = {}, hk_source at = here()) noexcept
{
    const hk_hinge_loss_options given = options.to_c();
    return array::take(hk_hinge_loss_at(at, x.get(), target.get(), &given));
}

/* mean of target (ln(target) - x). Part of the divergence (Kullback, Leibler 1951) of target,
 * probabilities, from e**x: x holds logarithms, as hk_log_softmax gives. A target of 0 counts
 * nothing. The divergence of rows is their sum; the mean of all is less by the number of
 * classes. */
struct kl_divergence_loss_options {
    HKI_OPTION(kl_divergence_loss_options, int64_t, reduction)
    hk_kl_divergence_loss_options to_c() const noexcept
    {
        hk_kl_divergence_loss_options c = {};
        c.reduction = reduction;
        return c;
    }
};
inline array kl_divergence_loss(const array &x, const array &target,
                                const kl_divergence_loss_options &options = {},
                                hk_source at = here()) noexcept
{
    const hk_kl_divergence_loss_options given = options.to_c();
    return array::take(hk_kl_divergence_loss_at(at, x.get(), target.get(), &given));
}

/* mean of -target ln(x) - (1 - target) ln(1 - x). Cross entropy of a probability x and a target
 * from 0 to 1. Of probabilities below e**-85 that is taken, without a gradient;
 * hk_binary_cross_entropy_with_logits has no such bound. */
struct binary_cross_entropy_options {
    HKI_OPTION(binary_cross_entropy_options, int64_t, reduction)
    hk_binary_cross_entropy_options to_c() const noexcept
    {
        hk_binary_cross_entropy_options c = {};
        c.reduction = reduction;
        return c;
    }
};
inline array binary_cross_entropy(const array &x, const array &target,
                                  const binary_cross_entropy_options &options = {},
                                  hk_source at = here()) noexcept
{
    const hk_binary_cross_entropy_options given = options.to_c();
    return array::take(hk_binary_cross_entropy_at(at, x.get(), target.get(), &given));
}

/* mean of -weight[label] ln(softmax(x)[label]). Cross entropy of softmax(x) along an axis of
 * classes against integer labels, of x's shape without that axis; weight (classes) is of x's
 * dtype. With smoothing s a target is 1 - s for the label and s / classes for each class
 * (Szegedy et al. 2016). The mean is weighted by the labels' weights, ignored ones left out, and
 * NaN where all are. A label that is none of the classes fails the result. weight has no
 * gradient. For rows without any of this, hk_softmax_cross_entropy is as fast. weight may be
 * NULL. */
struct cross_entropy_loss_options {
    HKI_AXIS_OPTION(cross_entropy_loss_options, axis)
    HKI_OPTION(cross_entropy_loss_options, int64_t, reduction)
    HKI_OPTION(cross_entropy_loss_options, bool, ignores)
    HKI_OPTION(cross_entropy_loss_options, int64_t, ignored)
    HKI_OPTION(cross_entropy_loss_options, double, label_smoothing)
    hk_cross_entropy_loss_options to_c() const noexcept
    {
        hk_cross_entropy_loss_options c = {};
        c.axis = axis;
        c.reduction = reduction;
        c.ignores = ignores;
        c.ignored = ignored;
        c.label_smoothing = label_smoothing;
        return c;
    }
};
inline array cross_entropy_loss(const array &x, const array &labels, const array &weight = {},
                                const cross_entropy_loss_options &options = {},
                                hk_source at = here()) noexcept
{
    const hk_cross_entropy_loss_options given = options.to_c();
    return array::take(hk_cross_entropy_loss_at(at, x.get(), labels.get(), weight.get(),
                                                &given));
}

/* mean of -weight[label] x[label]. Minus x at the labels, x being logarithms of probabilities,
 * as hk_log_softmax gives; all else is as in hk_cross_entropy_loss. weight may be NULL. */
struct nll_loss_options {
    HKI_AXIS_OPTION(nll_loss_options, axis)
    HKI_OPTION(nll_loss_options, int64_t, reduction)
    HKI_OPTION(nll_loss_options, bool, ignores)
    HKI_OPTION(nll_loss_options, int64_t, ignored)
    hk_nll_loss_options to_c() const noexcept
    {
        hk_nll_loss_options c = {};
        c.axis = axis;
        c.reduction = reduction;
        c.ignores = ignores;
        c.ignored = ignored;
        return c;
    }
};
inline array nll_loss(const array &x, const array &labels, const array &weight = {},
                      const nll_loss_options &options = {}, hk_source at = here()) noexcept
{
    const hk_nll_loss_options given = options.to_c();
    return array::take(hk_nll_loss_at(at, x.get(), labels.get(), weight.get(), &given));
}

/* z = sum of x y / (|x| |y|) along axis. Cosine of the angle between vectors of x and y, of one
 * shape, along an axis, which goes: -1 to 1. Norms below 1e-8 count as that. */
inline array cosine_similarity(const array &x, const array &y, int64_t axis,
                               hk_source at = here()) noexcept
{
    return array::take(hk_cosine_similarity_at(at, x.get(), y.get(), axis));
}

/* mean of 1 - cos where target > 0, else of max(0, cos - margin). Loss of the cosine between
 * vectors of x and y (…,features): 1 less it where target (…) is above 0, mostly 1; else, mostly
 * -1, how far it is above margin. No gradient with respect to target. */
struct cosine_embedding_loss_options {
    HKI_OPTION(cosine_embedding_loss_options, int64_t, reduction)
    HKI_OPTION(cosine_embedding_loss_options, double, margin)
    hk_cosine_embedding_loss_options to_c() const noexcept
    {
        hk_cosine_embedding_loss_options c = {};
        c.reduction = reduction;
        c.margin = margin;
        return c;
    }
};
inline array cosine_embedding_loss(const array &x, const array &y, const array &target,
                                   const cosine_embedding_loss_options &options = {},
                                   hk_source at = here()) noexcept
{
    const hk_cosine_embedding_loss_options given = options.to_c();
    return array::take(hk_cosine_embedding_loss_at(at, x.get(), y.get(), target.get(),
                                                   &given));
}

/* mean of max(0, |anchor - positive| - |anchor - negative| + margin). By how much less than
 * margin the negative is farther from the anchor than the positive is: vectors along the last
 * axis of three arrays of one shape, (…,features) to (…) (Schroff et al. 2015, without squares).
 * 1e-6 is added to differences. */
struct triplet_margin_loss_options {
    HKI_OPTION(triplet_margin_loss_options, int64_t, reduction)
    HKI_OPTION(triplet_margin_loss_options, double, margin)
    hk_triplet_margin_loss_options to_c() const noexcept
    {
        hk_triplet_margin_loss_options c = {};
        c.reduction = reduction;
        c.margin = margin;
        return c;
    }
};
inline array triplet_margin_loss(const array &anchor, const array &positive, const array &negative,
                                 const triplet_margin_loss_options &options = {},
                                 hk_source at = here()) noexcept
{
    const hk_triplet_margin_loss_options given = options.to_c();
    return array::take(hk_triplet_margin_loss_at(at, anchor.get(), positive.get(), negative.get(),
                                                 &given));
}

/* y[n] = -ln sum over paths of prod over t of exp(log_probs[t,n,path[t]]). Connectionist
 * temporal classification: minus the logarithm of the probability that a sequence gives its
 * labels, one after the other, with blanks and repetitions anywhere between them. log_probs
 * (steps,n,classes) are hk_log_softmax of scores; targets (n,labels), input_lengths (n) and
 * target_lengths (n) are integers: of a sample the first input_lengths steps and target_lengths
 * labels count. One loss for each sample (n), their sum, or the mean of each by its number of
 * labels. Infinite where a target does not fit into its steps; such a loss has no gradient.
 * Computed in float64. A length or label beyond its axis fails the call as HK_OUT_OF_RANGE. */
struct ctc_loss_options {
    HKI_OPTION(ctc_loss_options, int64_t, blank)
    HKI_OPTION(ctc_loss_options, int64_t, reduction)
    HKI_OPTION(ctc_loss_options, bool, zero_infinity)
    hk_ctc_loss_options to_c() const noexcept
    {
        hk_ctc_loss_options c = {};
        c.blank = blank;
        c.reduction = reduction;
        c.zero_infinity = zero_infinity;
        return c;
    }
};
inline array ctc_loss(const array &log_probs, const array &targets, const array &input_lengths,
                      const array &target_lengths, const ctc_loss_options &options = {},
                      hk_source at = here()) noexcept
{
    const hk_ctc_loss_options given = options.to_c();
    return array::take(hk_ctc_loss_at(at, log_probs.get(), targets.get(), input_lengths.get(),
                                      target_lengths.get(), &given));
}

/* softmax(query key^T scale + mask) value. Attention (Vaswani et al. 2017) of queries (…,n,d) to
 * keys (…,m,d) with values (…,m,e): (…,n,e). mask broadcasts to (…,n,m): bool, true where a
 * query sees a key, or numbers that are added to the scores, -inf where it does not. A query
 * that sees no key gives 0. What no query sees does not count, be it NaN. mask may be NULL. */
struct scaled_dot_product_attention_options {
    HKI_OPTION(scaled_dot_product_attention_options, bool, causal)
    HKI_OPTION(scaled_dot_product_attention_options, double, scale)
    hk_scaled_dot_product_attention_options to_c() const noexcept
    {
        hk_scaled_dot_product_attention_options c = {};
        c.causal = causal;
        c.scale = scale;
        return c;
    }
};
inline array scaled_dot_product_attention(const array &query, const array &key, const array &value,
                                          const array &mask = {},
                                          const scaled_dot_product_attention_options &options = {},
                                          hk_source at = here()) noexcept
{
    const hk_scaled_dot_product_attention_options given = options.to_c();
    return array::take(hk_scaled_dot_product_attention_at(at, query.get(), key.get(), value.get(),
                                                          mask.get(), &given));
}

/* x[begin:end:step] along one axis: a view. Unlike Python, an index out of range is refused. */
inline array slice_step(const array &x, int64_t axis, int64_t begin, int64_t end, int64_t step,
                        hk_source at = here()) noexcept
{
    return array::take(hk_slice_step_at(at, x.get(), axis, begin, end, step));
}

/* x with the order of its elements along an axis reversed: a view. */
inline array flip(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_flip_at(at, x.get(), axis));
}

/* x with an axis of size 1 added: a view. */
inline array expand_dims(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_expand_dims_at(at, x.get(), axis));
}

/* x without an axis of size 1: a view. */
inline array squeeze(const array &x, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_squeeze_at(at, x.get(), axis));
}

/* x with two axes exchanged: a view. */
inline array swapaxes(const array &x, int64_t axis1, int64_t axis2, hk_source at = here()) noexcept
{
    return array::take(hk_swapaxes_at(at, x.get(), axis1, axis2));
}

/* x with an axis moved to another place, the others in order: a view. */
inline array moveaxis(const array &x, int64_t source, int64_t destination,
                      hk_source at = here()) noexcept
{
    return array::take(hk_moveaxis_at(at, x.get(), source, destination));
}

/* x with its axes in another order: a view. */
inline array permute_dims(const array &x, const hk::shape &axes, hk_source at = here()) noexcept
{
    return array::take(hk_permute_dims_at(at, x.get(), axes));
}

/* The diagonals of the last two axes, as a last axis: a view. */
inline array diagonal(const array &x, int64_t offset, hk_source at = here()) noexcept
{
    return array::take(hk_diagonal_at(at, x.get(), offset));
}

/* Windows along an axis, one behind the other: the axis counts them, and a last axis has the
 * entries of each. A view, into which nobody may write where windows overlap. Its gradient adds
 * up what the windows of an element get. */
inline array sliding_window(const array &x, int64_t axis, int64_t size, int64_t step,
                            hk_source at = here()) noexcept
{
    return array::take(hk_sliding_window_at(at, x.get(), axis, size, step));
}

/* The arrays one behind the other along an axis, in new memory. Their dtypes and other axes are
 * the same. `arrays` points to `count` of them. */
inline array concat(const arrays &arrays, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_concat_at(at, arrays.data(), arrays.count(), axis));
}

/* Arrays of one shape and dtype along a new axis, which is `axis` of the result. `arrays` points
 * to `count` of them. */
inline array stack(const arrays &arrays, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_stack_at(at, arrays.data(), arrays.count(), axis));
}

/* x shifted along an axis: what falls off the end comes in at the front. */
inline array roll(const array &x, int64_t shift, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_roll_at(at, x.get(), shift, axis));
}

/* Each entry of an axis several times in a row. */
inline array repeat(const array &x, int64_t repeats, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_repeat_at(at, x.get(), repeats, axis));
}

/* x several times, one behind the other along an axis. */
inline array tile(const array &x, int64_t repeats, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_tile_at(at, x.get(), repeats, axis));
}

/* x with entries added at both ends of an axis. */
inline array pad(const array &x, int64_t axis, const int_pair &width, int64_t mode, double value,
                 hk_source at = here()) noexcept
{
    return array::take(hk_pad_at(at, x.get(), axis, width.data(), mode, value));
}

/* For each element of indices the entry of x that it names along the axis, at the same place
 * along the others. indices has x's shape but for the axis. A negative index counts from the
 * end; one out of range fails the result. */
inline array take_along_axis(const array &x, const array &indices, int64_t axis,
                             hk_source at = here()) noexcept
{
    return array::take(hk_take_along_axis_at(at, x.get(), indices.get(), axis));
}

/* x, and to the entry that each element of indices names, as in hk_take_along_axis, the same
 * element of updates added. Where several name one entry they are added in their order, halves
 * as float32; in pairs, as samples are, where they are whole rows of floats along axis 0.
 * updates has the shape of indices. */
inline array scatter_add(const array &x, const array &indices, const array &updates, int64_t axis,
                         hk_source at = here()) noexcept
{
    return array::take(hk_scatter_add_at(at, x.get(), indices.get(), updates.get(), axis));
}

/* x, but at the entry that each element of indices names, as in hk_take_along_axis, the same
 * element of updates. Where several name one entry the last one stays, and gets the gradient.
 * updates has the shape of indices. */
inline array scatter(const array &x, const array &indices, const array &updates, int64_t axis,
                     hk_source at = here()) noexcept
{
    return array::take(hk_scatter_at(at, x.get(), indices.get(), updates.get(), axis));
}

/* The entries of an axis that indices names, such as rows of a table: NumPy's take along an
 * axis. The axes of indices, any number of them, stand in place of that axis. A negative index
 * counts from the end; one out of range fails the result. */
inline array index_select(const array &x, const array &indices, int64_t axis,
                          hk_source at = here()) noexcept
{
    return array::take(hk_index_select_at(at, x.get(), indices.get(), axis));
}

/* x = y y^T. The lower triangle L of symmetric, positive definite matrices: L times its
 * transpose is x. Of complex ones transposes are conjugated, here and where one is Hermitian.
 * Matrices lie along the last two axes; one that is not symmetric counts as the mean of it and
 * its transpose, unless one triangle alone is read. One that is not positive definite fails the
 * result, as does a NaN or an infinity. x may be overwritten in place; views, blocks of a larger
 * matrix among them, are read and written as they lie. Not on GPUs yet. */
struct cholesky_options {
    HKI_OPTION(cholesky_options, bool, upper)
    HKI_OPTION(cholesky_options, bool, one_triangle)
    hk_cholesky_options to_c() const noexcept
    {
        hk_cholesky_options c = {};
        c.upper = upper;
        c.one_triangle = one_triangle;
        return c;
    }
};
inline array cholesky(const array &x, const cholesky_options &options = {},
                      hk_source at = here()) noexcept
{
    const hk_cholesky_options given = options.to_c();
    return array::take(hk_cholesky_at(at, x.get(), &given));
}
inline void cholesky_into(const array &out, const array &x, const cholesky_options &options = {},
                          hk_source at = here()) noexcept
{
    const hk_cholesky_options given = options.to_c();
    hk_cholesky_into_at(at, out.get(), x.get(), &given);
}

/* x y = b. y, where x times y is b, by factors with partial pivoting. Square matrices x lie
 * along the last two axes. b has matrices (n,k) there, or is one vector (n). The axes before are
 * broadcast. A matrix with a pivot of exactly 0 fails the result. Not on GPUs yet. */
inline array solve(const array &x, const array &b, hk_source at = here()) noexcept
{
    return array::take(hk_solve_at(at, x.get(), b.get()));
}

/* t y = b. y, where t times y is b, or, from the right, y times t. Of the square matrices t,
 * which lie along the last two axes, one triangle is read. b has matrices there, or is one
 * vector. The axes before are broadcast. A 0 on the diagonal fails the result. b may be
 * overwritten in place; views, blocks of a larger matrix among them, are read and written as
 * they lie where the elements of rows or of columns lie side by side. Not on GPUs yet. */
struct solve_triangular_options {
    HKI_OPTION(solve_triangular_options, bool, upper)
    HKI_OPTION(solve_triangular_options, bool, unit_diagonal)
    HKI_OPTION(solve_triangular_options, bool, transposed)
    HKI_OPTION(solve_triangular_options, bool, conjugated)
    HKI_OPTION(solve_triangular_options, bool, right)
    hk_solve_triangular_options to_c() const noexcept
    {
        hk_solve_triangular_options c = {};
        c.upper = upper;
        c.unit_diagonal = unit_diagonal;
        c.transposed = transposed;
        c.conjugated = conjugated;
        c.right = right;
        return c;
    }
};
inline array solve_triangular(const array &t, const array &b,
                              const solve_triangular_options &options = {},
                              hk_source at = here()) noexcept
{
    const hk_solve_triangular_options given = options.to_c();
    return array::take(hk_solve_triangular_at(at, t.get(), b.get(), &given));
}
inline void solve_triangular_into(const array &out, const array &t, const array &b,
                                  const solve_triangular_options &options = {},
                                  hk_source at = here()) noexcept
{
    const hk_solve_triangular_options given = options.to_c();
    hk_solve_triangular_into_at(at, out.get(), t.get(), b.get(), &given);
}

/* y = alpha a b + beta c. alpha times the matrix product of a (m,k) and b (k,n), added to beta
 * times c, which broadcasts to it. Further axes in front are batches of matrices, which
 * broadcast. Where alpha is 0, a and b are not read; where beta is 0, c is not. c may be
 * overwritten in place; transposed views and blocks of a larger matrix are read and written as
 * they lie. Not on GPUs yet. */
struct addmm_options {
    HKI_OPTION(addmm_options, double, alpha)
    HKI_OPTION(addmm_options, double, beta)
    hk_addmm_options to_c() const noexcept
    {
        hk_addmm_options c = {};
        c.alpha = alpha;
        c.beta = beta;
        return c;
    }
};
inline array addmm(const array &c, const array &a, const array &b,
                   const addmm_options &options = {}, hk_source at = here()) noexcept
{
    const hk_addmm_options given = options.to_c();
    return array::take(hk_addmm_at(at, c.get(), a.get(), b.get(), &given));
}
inline void addmm_into(const array &out, const array &c, const array &a, const array &b,
                       const addmm_options &options = {}, hk_source at = here()) noexcept
{
    const hk_addmm_options given = options.to_c();
    hk_addmm_into_at(at, out.get(), c.get(), a.get(), b.get(), &given);
}

/* y = alpha a a^T + beta c. c, of which one triangle, the lower one, and the diagonal become
 * alpha times the product of a (n,k) and its transpose, added to beta times c; the other
 * triangle stays as it is. c broadcasts to (n,n). Of complex numbers the transpose is
 * conjugated, and the diagonal becomes real. Further axes in front are batches of matrices.
 * Where alpha is 0, a is not read; where beta is 0, what is written is not. c may be overwritten
 * in place; transposed views and blocks of a larger matrix are read and written as they lie. Not
 * on GPUs yet. */
struct syrk_options {
    HKI_OPTION(syrk_options, double, alpha)
    HKI_OPTION(syrk_options, double, beta)
    HKI_OPTION(syrk_options, bool, upper)
    hk_syrk_options to_c() const noexcept
    {
        hk_syrk_options c = {};
        c.alpha = alpha;
        c.beta = beta;
        c.upper = upper;
        return c;
    }
};
inline array syrk(const array &c, const array &a, const syrk_options &options = {},
                  hk_source at = here()) noexcept
{
    const hk_syrk_options given = options.to_c();
    return array::take(hk_syrk_at(at, c.get(), a.get(), &given));
}
inline void syrk_into(const array &out, const array &c, const array &a,
                      const syrk_options &options = {}, hk_source at = here()) noexcept
{
    const hk_syrk_options given = options.to_c();
    hk_syrk_into_at(at, out.get(), c.get(), a.get(), &given);
}

/* Factors with partial pivoting of matrices x (m,n), which lie along the last two axes: L U is x
 * after row i of it was swapped with row pivots[i], for each i from 0. lu has U in its upper
 * triangle, and below that L without its diagonal of ones. pivots are int32, min(m,n) for each
 * matrix. A pivot of 0 stays in U and fails nothing. x may be overwritten by lu in place.
 * Results: lu, pivots. Not on GPUs yet. No gradient: packed factors have none; hk_solve, hk_inv
 * and hk_det have. */
struct lu_factor_results {
    array lu, pivots;
};
inline lu_factor_results lu_factor(const array &x, hk_source at = here()) noexcept
{
    hk_array *results[2];
    hk_lu_factor_at(at, x.get(), &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* x y = b. y, where x times y is b, for the matrices x (n,n) that lu_factor made lu and pivots
 * of. b has matrices (n,k), or is one vector (n). The axes before are broadcast. A pivot of 0 in
 * lu fails the result. b may be overwritten in place. Not on GPUs yet. */
struct lu_solve_options {
    HKI_OPTION(lu_solve_options, bool, transposed)
    HKI_OPTION(lu_solve_options, bool, conjugated)
    hk_lu_solve_options to_c() const noexcept
    {
        hk_lu_solve_options c = {};
        c.transposed = transposed;
        c.conjugated = conjugated;
        return c;
    }
};
inline array lu_solve(const array &lu, const array &pivots, const array &b,
                      const lu_solve_options &options = {}, hk_source at = here()) noexcept
{
    const hk_lu_solve_options given = options.to_c();
    return array::take(hk_lu_solve_at(at, lu.get(), pivots.get(), b.get(), &given));
}
inline void lu_solve_into(const array &out, const array &lu, const array &pivots, const array &b,
                          const lu_solve_options &options = {}, hk_source at = here()) noexcept
{
    const hk_lu_solve_options given = options.to_c();
    hk_lu_solve_into_at(at, out.get(), lu.get(), pivots.get(), b.get(), &given);
}

/* x y = identity. Inverses of square matrices, which lie along the last two axes. One with a
 * pivot of exactly 0 fails the result. hk_solve is faster and closer than a product with an
 * inverse. Not on GPUs yet. */
inline array inv(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_inv_at(at, x.get()));
}

/* Determinants of square matrices, which lie along the last two axes; 1 of those without
 * elements. The product of pivots is formed in double; hk_slogdet does not overflow. Not on GPUs
 * yet. */
inline array det(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_det_at(at, x.get()));
}

/* det = sign e ** logabsdet. Signs of determinants, and logarithms of their absolute values,
 * which do not overflow: 0 and -infinity of singular matrices, whose gradient fails. The sign of
 * a complex one is det / |det|. Results: sign, logabsdet. Not on GPUs yet. */
struct slogdet_results {
    array sign, logabsdet;
};
inline slogdet_results slogdet(const array &x, hk_source at = here()) noexcept
{
    hk_array *results[2];
    hk_slogdet_at(at, x.get(), &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* Eigenvalues of symmetric matrices, or complex Hermitian ones, (..., n, n) in rising order:
 * (..., n), which are real. One that is not symmetric counts as the mean of it and its
 * transpose. A NaN or an infinity fails the result. Not on GPUs yet. */
inline array eigvalsh(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_eigvalsh_at(at, x.get()));
}

/* Singular values of matrices (..., m, n) in falling order: (..., min(m, n)). A NaN or an
 * infinity fails the result. Not on GPUs yet. */
inline array svdvals(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_svdvals_at(at, x.get()));
}

/* Pseudo-inverses (Moore and Penrose) of matrices (..., m, n), by singular values: (..., n, m).
 * The gradient holds where small changes do not change the rank. Not on GPUs yet. */
struct pinv_options {
    HKI_OPTION(pinv_options, double, rtol)
    hk_pinv_options to_c() const noexcept
    {
        hk_pinv_options c = {};
        c.rtol = rtol;
        return c;
    }
};
inline array pinv(const array &x, const pinv_options &options = {}, hk_source at = here()) noexcept
{
    const hk_pinv_options given = options.to_c();
    return array::take(hk_pinv_at(at, x.get(), &given));
}

/* Ranks of matrices, as int64: how many singular values are more than rtol times the largest.
 * Not on GPUs yet. No gradient: its result does not vary smoothly. */
struct matrix_rank_options {
    HKI_OPTION(matrix_rank_options, double, rtol)
    hk_matrix_rank_options to_c() const noexcept
    {
        hk_matrix_rank_options c = {};
        c.rtol = rtol;
        return c;
    }
};
inline array matrix_rank(const array &x, const matrix_rank_options &options = {},
                         hk_source at = here()) noexcept
{
    const hk_matrix_rank_options given = options.to_c();
    return array::take(hk_matrix_rank_at(at, x.get(), &given));
}

/* x = vectors diag(values) vectors^T. Eigenvalues of symmetric matrices (..., n, n) in rising
 * order, (..., n), and their vectors, the columns of (..., n, n), of length 1, whose largest
 * element in size is positive. Of complex matrices Hermitian ones are meant, values are real,
 * and x is vectors diag(values) vectors^H. One that is not symmetric counts as the mean of it
 * and its transpose. The gradient by vectors of equal values is not finite. A NaN or an infinity
 * fails the results. Results: values, vectors. Not on GPUs yet. */
struct eigh_results {
    array values, vectors;
};
inline eigh_results eigh(const array &x, hk_source at = here()) noexcept
{
    hk_array *results[2];
    hk_eigh_at(at, x.get(), &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* x vectors = vectors diag(values). Eigenvalues of square matrices (..., n, n), (..., n), and
 * their vectors, the columns of (..., n, n), of length 1, whose largest element in size is real
 * and positive. Both are complex, of the dtype's precision, and in no order. Computed as
 * doubles. The gradient by vectors of equal values is not finite, and fails where the vectors
 * are dependent. A NaN or an infinity fails the results. Results: values, vectors. Not on GPUs
 * yet. */
struct eig_results {
    array values, vectors;
};
inline eig_results eig(const array &x, hk_source at = here()) noexcept
{
    hk_array *results[2];
    hk_eig_at(at, x.get(), &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* Eigenvalues of square matrices (..., n, n), complex, in no order: (..., n). Computed as
 * doubles. A NaN or an infinity fails the result. Not on GPUs yet. */
inline array eigvals(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_eigvals_at(at, x.get()));
}

/* x = u diag(s) vh. Singular values s of matrices (..., m, n) in falling order, (..., k), k =
 * min(m, n), and their vectors, the columns of u (..., m, k) and the rows of vh (..., k, n). The
 * largest element in size of each column of u is positive, of complex ones, too. The gradient is
 * not finite by vectors of equal values, or of 0. A NaN or an infinity fails the results.
 * Results: u, s, vh. Not on GPUs yet. */
struct svd_options {
    HKI_OPTION(svd_options, bool, full_matrices)
    hk_svd_options to_c() const noexcept
    {
        hk_svd_options c = {};
        c.full_matrices = full_matrices;
        return c;
    }
};
struct svd_results {
    array u, s, vh;
};
inline svd_results svd(const array &x, const svd_options &options = {},
                       hk_source at = here()) noexcept
{
    const hk_svd_options given = options.to_c();
    hk_array *results[3];
    hk_svd_at(at, x.get(), &given, &results[0], &results[1], &results[2]);
    return {array::take(results[0]), array::take(results[1]), array::take(results[2])};
}

/* x = q r. Matrices (..., m, n) as products of q (..., m, k), k = min(m, n), whose columns are
 * of length 1 and at right angles, and r (..., k, n), with zeros below the diagonal and nothing
 * negative on it, where r is real, also of complex matrices. The gradient is that of full rank;
 * another fails it. Results: q, r. Not on GPUs yet. */
struct qr_options {
    HKI_OPTION(qr_options, bool, complete)
    hk_qr_options to_c() const noexcept
    {
        hk_qr_options c = {};
        c.complete = complete;
        return c;
    }
};
struct qr_results {
    array q, r;
};
inline qr_results qr(const array &x, const qr_options &options = {},
                     hk_source at = here()) noexcept
{
    const hk_qr_options given = options.to_c();
    hk_array *results[2];
    hk_qr_at(at, x.get(), &given, &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* Factors Q R, by reflections, of matrices x (m,n), which lie along the last two axes. qr has R
 * in its upper triangle, whose diagonal may be negative. Below that, column i has the rest of
 * the vector v of reflection i, which begins with a 1 on the diagonal; the reflection is I -
 * tau[i] v v^H. Q is their product in order. hk_qr_multiply multiplies by it. x may be
 * overwritten by qr in place. Results: qr, tau. Not on GPUs yet. No gradient: packed factors
 * have none; hk_qr has one. */
struct qr_factor_results {
    array qr, tau;
};
inline qr_factor_results qr_factor(const array &x, hk_source at = here()) noexcept
{
    hk_array *results[2];
    hk_qr_factor_at(at, x.get(), &results[0], &results[1]);
    return {array::take(results[0]), array::take(results[1])};
}

/* y = Q b. Q times b, for the square Q (m,m) of the factors that qr_factor made of matrices
 * (m,n). b has matrices (m,k), or (k,m) from the right, or is one vector (m). The axes before
 * are broadcast. b may be overwritten in place. Not on GPUs yet. */
struct qr_multiply_options {
    HKI_OPTION(qr_multiply_options, bool, adjoint)
    HKI_OPTION(qr_multiply_options, bool, right)
    hk_qr_multiply_options to_c() const noexcept
    {
        hk_qr_multiply_options c = {};
        c.adjoint = adjoint;
        c.right = right;
        return c;
    }
};
inline array qr_multiply(const array &qr, const array &tau, const array &b,
                         const qr_multiply_options &options = {}, hk_source at = here()) noexcept
{
    const hk_qr_multiply_options given = options.to_c();
    return array::take(hk_qr_multiply_at(at, qr.get(), tau.get(), b.get(), &given));
}
inline void qr_multiply_into(const array &out, const array &qr, const array &tau, const array &b,
                             const qr_multiply_options &options = {},
                             hk_source at = here()) noexcept
{
    const hk_qr_multiply_options given = options.to_c();
    hk_qr_multiply_into_at(at, out.get(), qr.get(), tau.get(), b.get(), &given);
}

/* Square matrices, which lie along the last two axes, to the power of a whole number; 0 gives
 * the identity. A negative power of a singular matrix fails the result. Not on GPUs yet. */
inline array matrix_power(const array &x, int64_t n, hk_source at = here()) noexcept
{
    return array::take(hk_matrix_power_at(at, x.get(), n));
}

/* Norms of matrices, which lie along the last two axes: Frobenius, nuclear, 1, 2, infinite, or
 * the smallest in place of the largest. Of complex matrices they are real. Not on GPUs yet. */
struct matrix_norm_options {
    HKI_OPTION(matrix_norm_options, int64_t, ord)
    HKI_OPTION(matrix_norm_options, bool, keepdims)
    hk_matrix_norm_options to_c() const noexcept
    {
        hk_matrix_norm_options c = {};
        c.ord = ord;
        c.keepdims = keepdims;
        return c;
    }
};
inline array matrix_norm(const array &x, const matrix_norm_options &options = {},
                         hk_source at = here()) noexcept
{
    const hk_matrix_norm_options given = options.to_c();
    return array::take(hk_matrix_norm_at(at, x.get(), &given));
}

/* (sum of |x| ** ord over axes) ** (1 / ord). The p-norm of vectors along axes. Where the norm
 * is 0 its gradient is 0. Of complex vectors it is real. */
struct vector_norm_options {
    HKI_OPTION(vector_norm_options, double, ord)
    HKI_OPTION(vector_norm_options, hk::shape, axes)
    HKI_OPTION(vector_norm_options, bool, keepdims)
    hk_vector_norm_options to_c() const noexcept
    {
        hk_vector_norm_options c = {};
        c.ord = ord;
        c.axes = axes;
        c.keepdims = keepdims;
        return c;
    }
};
inline array vector_norm(const array &x, const vector_norm_options &options = {},
                         hk_source at = here()) noexcept
{
    const hk_vector_norm_options given = options.to_c();
    return array::take(hk_vector_norm_at(at, x.get(), &given));
}

/* Cross products of vectors of 3 elements, which lie along an axis of the result; the other axes
 * are broadcast. */
inline array cross(const array &x, const array &y, int64_t axis, hk_source at = here()) noexcept
{
    return array::take(hk_cross_at(at, x.get(), y.get(), axis));
}

/* Kronecker product: each element of x times all of y, as blocks. The one with fewer axes, 4 at
 * most, has axes of size 1 in front. */
inline array kron(const array &x, const array &y, hk_source at = here()) noexcept
{
    return array::take(hk_kron_at(at, x.get(), y.get()));
}

/* Real parts of complex numbers, as float32 or float64; a view of x where it is real. */
inline array real(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_real_at(at, x.get()));
}

/* Imaginary parts of complex numbers, as float32 or float64; zeros where x is real. */
inline array imag(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_imag_at(at, x.get()));
}

/* Complex conjugates: imaginary parts with the other sign; a view of x where it is real. */
inline array conj(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_conj_at(at, x.get()));
}

/* Angles of complex numbers, from -pi to pi, as float32 or float64: atan2 of both parts. */
inline array angle(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_angle_at(at, x.get()));
}

/* real + i imag. Complex numbers of these parts, which are broadcast: complex64 of float32,
 * complex128 where one is float64. Not on GPUs yet. */
inline array complex_of(const array &real, const array &imag, hk_source at = here()) noexcept
{
    return array::take(hk_complex_of_at(at, real.get(), imag.get()));
}
inline void complex_of_into(const array &out, const array &real, const array &imag,
                            hk_source at = here()) noexcept
{
    hk_complex_of_into_at(at, out.get(), real.get(), imag.get());
}

/* y[k] = sum of x[j] e ** (-2 pi i j k / n). Discrete Fourier transforms of lines along an axis;
 * a real x counts as complex. Computed in double precision, in time n log n for all lengths. Not
 * on GPUs yet. */
inline array fft(const array &x, int64_t n, int64_t axis, int64_t norm,
                 hk_source at = here()) noexcept
{
    return array::take(hk_fft_at(at, x.get(), n, axis, norm));
}

/* y[k] = sum of x[j] e ** (2 pi i j k / n) / n. The reverse of hk_fft. Not on GPUs yet. */
inline array ifft(const array &x, int64_t n, int64_t axis, int64_t norm,
                  hk_source at = here()) noexcept
{
    return array::take(hk_ifft_at(at, x.get(), n, axis, norm));
}

/* The first n / 2 + 1 elements of hk_fft of a real x: the others are their conjugates. Not on
 * GPUs yet. */
inline array rfft(const array &x, int64_t n, int64_t axis, int64_t norm,
                  hk_source at = here()) noexcept
{
    return array::take(hk_rfft_at(at, x.get(), n, axis, norm));
}

/* The reverse of hk_rfft, real: x has the first n / 2 + 1 elements of a spectrum. n is 2 (size -
 * 1) by default; give odd ones. Not on GPUs yet. */
inline array irfft(const array &x, int64_t n, int64_t axis, int64_t norm,
                   hk_source at = here()) noexcept
{
    return array::take(hk_irfft_at(at, x.get(), n, axis, norm));
}

/* hk_fft of a signal with a real spectrum: x has its first n / 2 + 1 elements. n is 2 (size - 1)
 * by default; give odd ones. Not on GPUs yet. */
inline array hfft(const array &x, int64_t n, int64_t axis, int64_t norm,
                  hk_source at = here()) noexcept
{
    return array::take(hk_hfft_at(at, x.get(), n, axis, norm));
}

/* The reverse of hk_hfft: the first n / 2 + 1 elements of hk_ifft of a real x. Not on GPUs yet. */
inline array ihfft(const array &x, int64_t n, int64_t axis, int64_t norm,
                   hk_source at = here()) noexcept
{
    return array::take(hk_ihfft_at(at, x.get(), n, axis, norm));
}

/* hk_fft along several axes, one after the other. Not on GPUs yet. */
inline array fftn(const array &x, const hk::shape &sizes, const hk::shape &axes, int64_t norm,
                  hk_source at = here()) noexcept
{
    return array::take(hk_fftn_at(at, x.get(), sizes, axes, norm));
}

/* The reverse of hk_fftn. Not on GPUs yet. */
inline array ifftn(const array &x, const hk::shape &sizes, const hk::shape &axes, int64_t norm,
                   hk_source at = here()) noexcept
{
    return array::take(hk_ifftn_at(at, x.get(), sizes, axes, norm));
}

/* hk_rfft along the last one of several axes, then hk_fft along the others. Not on GPUs yet. */
inline array rfftn(const array &x, const hk::shape &sizes, const hk::shape &axes, int64_t norm,
                   hk_source at = here()) noexcept
{
    return array::take(hk_rfftn_at(at, x.get(), sizes, axes, norm));
}

/* The reverse of hk_rfftn: the last size is 2 (size - 1) by default; give odd ones. Not on GPUs
 * yet. */
inline array irfftn(const array &x, const hk::shape &sizes, const hk::shape &axes, int64_t norm,
                    hk_source at = here()) noexcept
{
    return array::take(hk_irfftn_at(at, x.get(), sizes, axes, norm));
}

/* Frequencies of the elements of hk_fft, in cycles per unit of the distance: positive ones, then
 * negative ones. */
inline array fftfreq(int64_t n, double distance, hk_dtype dtype = HK_F32,
                     const hk::device &device = {}, hk_source at = here()) noexcept
{
    return array::take(hk_fftfreq_at(at, n, distance, dtype, device));
}

/* Frequencies of the elements of hk_rfft, in cycles per unit of the distance. */
inline array rfftfreq(int64_t n, double distance, hk_dtype dtype = HK_F32,
                      const hk::device &device = {}, hk_source at = here()) noexcept
{
    return array::take(hk_rfftfreq_at(at, n, distance, dtype, device));
}

/* Axes rolled by half their size, so that frequency 0 comes to the middle. */
inline array fftshift(const array &x, const hk::shape &axes, hk_source at = here()) noexcept
{
    return array::take(hk_fftshift_at(at, x.get(), axes));
}

/* The reverse of hk_fftshift. */
inline array ifftshift(const array &x, const hk::shape &axes, hk_source at = here()) noexcept
{
    return array::take(hk_ifftshift_at(at, x.get(), axes));
}

} // namespace hk

#endif
