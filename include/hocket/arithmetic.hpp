/* Signs for operators of hocket/ops.hpp. One side may be a number, which takes the other's dtype.
 *
 * Comparisons give arrays of bool. There is no == and no !=, which containers and tests take for one answer about two
 * values: hk::equal, hk::not_equal. << and >> are the streams'. x += y writes into x, for every handle to it, as
 * hk::add_into does; such a call is not recorded. */
#ifndef HOCKET_ARITHMETIC_HPP
#define HOCKET_ARITHMETIC_HPP

#include <hocket/ops.hpp>
#include <ostream>

namespace hk
{

/* An array or a number, with the line that it stands on: signs cannot have default arguments. Lives for one statement. */
struct operand {
    const array *values;
    double number;
    hk_source at;
    operand(const array &x, hk_source line = here()) noexcept : values(&x), number(0), at(line) {}
    operand(double value, hk_source line = here()) noexcept
        : values(nullptr), number(value), at(line)
    {
    }
};

#define HKI_SIGN(sign, name)                                                                       \
    inline array operator sign(const operand &x, const operand &y) noexcept                        \
    {                                                                                              \
        return !x.values   ? name(x.number, *y.values, y.at)                                       \
               : !y.values ? name(*x.values, y.number, x.at)                                       \
                           : name(*x.values, *y.values, x.at);                                     \
    }
#define HKI_SIGN_IN_PLACE(sign, name)                                                              \
    inline const array &operator sign(const array &x, const operand &y) noexcept                   \
    {                                                                                              \
        if (y.values)                                                                              \
            name(x, x, *y.values, y.at);                                                           \
        else                                                                                       \
            name(x, x, y.number, y.at);                                                            \
        return x;                                                                                  \
    }
HKI_SIGN(+, add)
HKI_SIGN(-, subtract)
HKI_SIGN(*, multiply)
HKI_SIGN(/, divide)
HKI_SIGN(%, remainder)
HKI_SIGN(&, bitwise_and)
HKI_SIGN(|, bitwise_or)
HKI_SIGN(^, bitwise_xor)
HKI_SIGN(<, less)
HKI_SIGN(<=, less_equal)
HKI_SIGN(>, greater)
HKI_SIGN(>=, greater_equal)
HKI_SIGN_IN_PLACE(+=, add_into)
HKI_SIGN_IN_PLACE(-=, subtract_into)
HKI_SIGN_IN_PLACE(*=, multiply_into)
HKI_SIGN_IN_PLACE(/=, divide_into)
#undef HKI_SIGN
#undef HKI_SIGN_IN_PLACE

/* Of one array; never of a number alone. */
inline array operator-(const operand &x) noexcept
{
    return negative(*x.values, x.at);
}
inline array operator~(const operand &x) noexcept
{
    return bitwise_invert(*x.values, x.at);
}

/* Blocks: the text of array::to_string. */
inline std::ostream &operator<<(std::ostream &stream, const array &x)
{
    return stream << x.to_string();
}

} // namespace hk

#endif
