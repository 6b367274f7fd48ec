/* Axes as callers name them: from the front, or, negative, from behind. */
#ifndef HOCKET_ARRAY_AXIS_H
#define HOCKET_ARRAY_AXIS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether an array of so many axes has that one. */
static inline bool hki_axis_exists(int64_t axis, int ndim)
{
    return axis >= -ndim && axis < ndim;
}

/* The same axis, from the front; it exists. */
static inline int hki_axis_from_front(int64_t axis, int ndim)
{
    return (int)(axis < 0 ? axis + ndim : axis);
}

#endif
