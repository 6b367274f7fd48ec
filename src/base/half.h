/* Half-precision elements, as bits, and float: IEEE 754's binary16 and bfloat16 (the upper half of a float). Rounded to
 * nearest, ties to even; too large becomes infinite; NaN stays NaN, quiet. Written without branches that depend on
 * values, so that loops over them are vectorised. */
#ifndef HOCKET_BASE_HALF_H
#define HOCKET_BASE_HALF_H

#include "base/everywhere.h"

#include <stdint.h>
#include <string.h>

HKI_EVERYWHERE uint32_t hki_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

HKI_EVERYWHERE float hki_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

HKI_EVERYWHERE float hki_f16_to_float(uint16_t half)
{
    uint32_t magnitude = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
    /* The exponents' biases differ by 112; multiplying also makes subnormals right. */
    uint32_t finite = hki_bits_of_float(hki_float_of_bits(magnitude << 13) * 0x1p112f);
    uint32_t other = 0x7f800000u | (magnitude & 0x3ffu) << 13;
    return hki_float_of_bits(sign | (magnitude >= 0x7c00u ? other : finite));
}

HKI_EVERYWHERE uint16_t hki_f16_from_float(float value)
{
    uint32_t bits = hki_bits_of_float(value), magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    /* Next to 0.5, floats are as far apart as subnormal halves: adding it rounds. */
    uint32_t small = hki_bits_of_float(hki_float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t half = magnitude < 0x38800000u ? small : magnitude < 0x47800000u ? normal : large;
    return (uint16_t)((bits >> 16 & 0x8000u) | half);
}

HKI_EVERYWHERE float hki_bf16_to_float(uint16_t half)
{
    return hki_float_of_bits((uint32_t)half << 16);
}

HKI_EVERYWHERE uint16_t hki_bf16_from_float(float value)
{
    uint32_t bits = hki_bits_of_float(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded);
}

/* The float next to zero, with its last bit set where the value is not that float: rounding it once more gives what
 * rounding the double at once would. */
HKI_EVERYWHERE float hki_float_to_odd(double value)
{
    float nearest = (float)value;
    uint32_t bits = hki_bits_of_float(nearest);
    double difference = value - (double)nearest;
    if (difference == 0 || difference != difference) /* exact, infinite or NaN */
        return nearest;
    if (bits >> 31 ? difference > 0 : difference < 0) /* away from zero; -0 is not below 0 */
        bits--;
    return hki_float_of_bits(bits | 1u);
}

/* The same for integers of more than 53 bits. */
HKI_EVERYWHERE float hki_float_to_odd_i64(int64_t value)
{
    const int64_t most = (int64_t)1 << 53;
    if (value > most || value < -most) /* what is lost is kept as one bit */
        value = value / 2048 * 2048 + (value % 2048 ? (value < 0 ? -1024 : 1024) : 0);
    return hki_float_to_odd((double)value);
}

HKI_EVERYWHERE uint16_t hki_f16_from_double(double value)
{
    return hki_f16_from_float(hki_float_to_odd(value));
}

HKI_EVERYWHERE uint16_t hki_bf16_from_double(double value)
{
    return hki_bf16_from_float(hki_float_to_odd(value));
}

#endif
