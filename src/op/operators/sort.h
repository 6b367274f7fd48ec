/* The first elements of a line in order, without sorting all of it. */
#ifndef HOCKET_OP_SORT_H
#define HOCKET_OP_SORT_H

#include "op/operators/line.h"

enum { HKI_PAIR_BYTES = 16 };

/* Writes as many of a line of so many elements as a line of `out` has, one at least, and where they were. Of equal ones the first; a NaN
 * counts as larger than all numbers. scratch: HKI_PAIR_BYTES for each of these. */
typedef void (*hki_select_fn)(const void *from, void *to, int64_t *indices, void *scratch,
                              const hki_lines *lines, const hki_lines *out, bool descending);
extern const hki_select_fn hki_select_of[HK_DTYPE_COUNT];

#endif
