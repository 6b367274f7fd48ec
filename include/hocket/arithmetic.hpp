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
    hk_operand value;
    hk_source at;
    operand(const array &x, hk_source line = here()) noexcept : value(operand_of(x)), at(line) {}
    template <class T, if_number<T> = 0>
    operand(T number, hk_source line = here()) noexcept : value(operand_of(number)), at(line)
    {
    }
};

#define HKI_SIGN(sign, name)                                                                       \
    inline array operator sign(const operand &x, const operand &y) noexcept                        \
    {                                                                                              \
        return array::take(hk_##name##_operands_at(x.at, x.value, y.value));                       \
    }
#define HKI_SIGN_IN_PLACE(sign, name)                                                              \
    inline const array &operator sign(const array &x, const operand &y) noexcept                   \
    {                                                                                              \
        hk_##name##_operands_into_at(y.at, x.get(), operand_of(x), y.value);                       \
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
HKI_SIGN_IN_PLACE(+=, add)
HKI_SIGN_IN_PLACE(-=, subtract)
HKI_SIGN_IN_PLACE(*=, multiply)
HKI_SIGN_IN_PLACE(/=, divide)
#undef HKI_SIGN
#undef HKI_SIGN_IN_PLACE

/* Of one array; never of a number alone. */
inline array operator-(const operand &x) noexcept
{
    return array::take(hk_negative_at(x.at, x.value.array));
}
inline array operator~(const operand &x) noexcept
{
    return array::take(hk_bitwise_invert_at(x.at, x.value.array));
}

/* Blocks: the text of array::to_string. */
inline std::ostream &operator<<(std::ostream &stream, const array &x)
{
    return stream << x.to_string();
}

} // namespace hk

#endif
