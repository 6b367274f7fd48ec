/* Whether two arrays hold the same, to the bit. */
#ifndef HOCKET_TESTS_SAME_BYTES_H
#define HOCKET_TESTS_SAME_BYTES_H

#include <hocket/hocket.h>
#include <stdlib.h>
#include <string.h>

/* Waits for both. False, too, where they differ in dtype or size, or one has failed. */
static inline bool same_bytes(hk_array *a, hk_array *b)
{
    const size_t bytes = (size_t)hk_size(a) * hk_dtype_bytes(hk_array_dtype(a));
    char *first = calloc(2, bytes + 1), *second = first + bytes + 1;
    const bool same = first && hk_size(a) == hk_size(b) && hk_array_dtype(a) == hk_array_dtype(b) &&
                      hk_ok(hk_to_host(a, first, bytes)) && hk_ok(hk_to_host(b, second, bytes)) &&
                      !memcmp(first, second, bytes);
    free(first);
    return same;
}

#endif
