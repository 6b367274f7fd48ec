/* What the operators' unit tests share; include tests/check.h first. */
#ifndef HOCKET_OP_OPERATOR_FIXTURE_H
#define HOCKET_OP_OPERATOR_FIXTURE_H

#include <hocket/hocket.h>
#include <stdlib.h>

/* x is failed with this code and a message that contains the text. */
static inline bool fails_with(hk_array *x, hk_code code, const char *text)
{
    const hk_status *status = hk_wait(x);
    bool ok = hk_status_code(status) == code && strstr(hk_status_message(status), text);
    if (!ok)
        hk_status_print(status, stderr);
    return ok;
}

static inline bool is_refused(hk_array *x, const char *text)
{
    return fails_with(x, HK_INVALID_ARGUMENT, text);
}

/* Random whole numbers, so that sums are exact in any order. */
static inline hk_array *random_numbers(hk_dims shape, hk_dtype dtype)
{
    return hk_cast(hk_random_int(-4, 5, shape, HK_I32, hk_device_default()), dtype);
}

/* All elements as doubles, in memory that the caller frees. */
static inline double *read_doubles(hk_array *x)
{
    double *values = malloc((size_t)hk_size(x) * sizeof *values + 1);
    CHECK(hk_ok(hk_to_host(hk_cast(x, HK_F64), values, (size_t)hk_size(x) * sizeof *values)));
    return values;
}

#endif
