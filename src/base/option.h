/* Options of double: a field that was left 0 has its default; HK_ZERO, which is -0.0, is 0
 * itself. */
#ifndef HOCKET_BASE_OPTION_H
#define HOCKET_BASE_OPTION_H

#include <math.h>
#include <stdbool.h>

static inline bool hki_option_is_set(double value)
{
    return value != 0 || signbit(value);
}

/* The value, or the default. HK_ZERO stays what it is, so that it may be passed on as an option;
 * + 0.0 makes it 0 for who prints it. */
static inline double hki_option_or(double value, double otherwise)
{
    return hki_option_is_set(value) ? value : otherwise;
}

#endif
