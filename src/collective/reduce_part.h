/* The two halves of an all-reduce, for who does something between them. */
#ifndef HOCKET_COLLECTIVE_REDUCE_PART_H
#define HOCKET_COLLECTIVE_REDUCE_PART_H

#include "array/array.h"

/* Elements [begin, end) of array `index` become the sum of those of all, in the order of hk_all_reduce; the others stay as they are.
 * Arrays of one shape and dtype that has a sum, contiguous, none failed at its call, no two of them sharing memory. In program order,
 * by the devices' queues for reductions. May wait for room in the run-ahead window. */
void hki_reduce_part(hk_array *const *arrays, int count, int index, int64_t begin, int64_t end);

/* Elements [begin, end) of the others become those of array `index`. Otherwise the same. */
void hki_spread_part(hk_array *const *arrays, int count, int index, int64_t begin, int64_t end);

#endif
