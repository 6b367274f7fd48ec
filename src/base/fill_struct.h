/* Structs that the library fills and that may grow: the caller says how large the one is that it knows. */
#ifndef HOCKET_BASE_FILL_STRUCT_H
#define HOCKET_BASE_FILL_STRUCT_H

#include <stddef.h>
#include <string.h>

/* Copies `from` of from_bytes over `to`, which begins with its own size: what both know. What only `to` has is zero. */
static inline void hki_fill_struct(void *to, const void *from, size_t from_bytes)
{
    size_t to_bytes;
    memcpy(&to_bytes, to, sizeof to_bytes);
    const size_t both = to_bytes < from_bytes ? to_bytes : from_bytes;
    if (both <= sizeof to_bytes)
        return;
    memset(to, 0, to_bytes);
    memcpy(to, from, both);
    memcpy(to, &to_bytes, sizeof to_bytes);
}

#endif
