/* What kernels of sorting share: options, and the first elements of a line in order, without sorting all of it. */
#ifndef HOCKET_OP_SORT_H
#define HOCKET_OP_SORT_H

#include "op/kernel.h"
#include "op/reduce/line.h"

#define SORT_ARGUMENTS(F, op)                                                                      \
    F(op, INT, axis, "", "the axis along which elements are sorted")                               \
    F(op, BOOL, descending, "", "the largest first")
HKI_OPTIONS_STRUCT(sort, SORT_ARGUMENTS)

#define TOPK_ARGUMENTS(F, op)                                                                      \
    F(op, INT, k, "", "how many")                                                                  \
    F(op, INT, axis, "", "a negative one counts from the last")                                    \
    F(op, BOOL, largest, "", "the largest, not the smallest")
HKI_OPTIONS_STRUCT(topk, TOPK_ARGUMENTS)

#define SEARCHSORTED_ARGUMENTS(F, op)                                                              \
    F(op, BOOL, right, "", "behind elements that are equal, not before them")
HKI_OPTIONS_STRUCT(searchsorted, SEARCHSORTED_ARGUMENTS)

enum { HKI_PAIR_BYTES = 16 };

/* Writes as many of a line of so many elements as a line of `out` has, one at least, and where they were. Of equal ones the first; a NaN
 * counts as larger than all numbers. scratch: HKI_PAIR_BYTES for each of these. */
typedef void (*hki_select_fn)(const void *from, void *to, int64_t *indices, void *scratch,
                              const hki_lines *lines, const hki_lines *out, bool descending);
extern const hki_select_fn hki_select_of[HK_DTYPE_COUNT];

#endif
