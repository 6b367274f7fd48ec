/* How messages name an element of a tensor. */
#ifndef HOCKET_OP_ELEMENT_TEXT_H
#define HOCKET_OP_ELEMENT_TEXT_H

#include "array/tensor.h"

#include <inttypes.h>
#include <stdio.h>

enum { HKI_ELEMENT_TEXT_BYTES = HK_MAX_NDIM * 22 + 3 };

/* "[1, 0, 2]" for the element with that number in C order, which may lie behind the last along the first axis. */
static inline void hki_element_describe(const hki_tensor *tensor, int64_t element, char *text,
                                        size_t bytes)
{
    int64_t index[HK_MAX_NDIM];
    for (int axis = tensor->ndim - 1; axis > 0; axis--) {
        index[axis] = element % tensor->dims[axis];
        element /= tensor->dims[axis];
    }
    index[0] = element;
    size_t used = (size_t)snprintf(text, bytes, "[");
    for (int axis = 0; axis < tensor->ndim && used < bytes; axis++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%" PRId64, axis ? ", " : "",
                                 index[axis]);
    if (used < bytes)
        snprintf(text + used, bytes - used, "]");
}

#endif
