/* Work along one axis: geometry, and what the operators of line.c have in common. */
#ifndef HOCKET_OP_LINE_H
#define HOCKET_OP_LINE_H

#include "array/axis.h"
#include "op/op.h"

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

/* A batch may be cut where lines lie inside its samples. */
static inline hki_batch_kind hki_lines_batch(hki_batch *batch, int64_t axis)
{
    const int ndim = batch->in[0]->shape.ndim;
    return ndim > 0 && hki_axis_from_front(axis, ndim) > 0 ? hki_batch_first(batch)
                                                           : HKI_BATCH_NONE;
}

#endif
