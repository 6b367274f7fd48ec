/* Integers: the smaller and the larger of two, quotients and multiples rounded up. */
#ifndef HOCKET_BASE_INTEGER_H
#define HOCKET_BASE_INTEGER_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t hki_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t hki_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a / b, rounded up; b > 0, and a is not negative, or the result is 0 or less. */
static inline int64_t hki_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The least multiple of unit that has room for size; size >= 0, unit > 0. */
static inline int64_t hki_round_up(int64_t size, int64_t unit)
{
    return hki_divide_up(size, unit) * unit;
}

/* The same of bytes. */
static inline size_t hki_round_up_bytes(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

#endif
