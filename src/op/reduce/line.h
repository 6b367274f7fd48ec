/* Work along one axis: geometry. Also for CUDA C++. */
#ifndef HOCKET_OP_LINE_H
#define HOCKET_OP_LINE_H

#include "array/axis.h"

/* A C-order array as outer x size x inner; a line is what lies along the axis, its elements `inner` apart. */
typedef struct hki_lines {
    int64_t size, inner, count;
} hki_lines;

/* The axis exists; negative ones count from behind. */
static inline hki_lines hki_lines_of(int ndim, const int64_t *dims, int64_t axis)
{
    const int at = hki_axis_from_front(axis, ndim);
    hki_lines lines = {dims[at], 1, 1};
    for (int i = 0; i < ndim; i++) {
        lines.inner *= i > at ? dims[i] : 1;
        lines.count *= i != at ? dims[i] : 1;
    }
    return lines;
}

/* Where the first element of a line is. */
static inline int64_t hki_lines_at(const hki_lines *lines, int64_t line)
{
    return line / lines->inner * lines->size * lines->inner + line % lines->inner;
}

/* How many lines from `line` on lie side by side, at most `most`. */
static inline int64_t hki_lines_beside(const hki_lines *lines, int64_t line, int64_t most)
{
    const int64_t left = lines->inner - line % lines->inner;
    return left < most ? left : most;
}

#endif
