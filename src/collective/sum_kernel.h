/* Sums of several blocks of memory, element by element, written to several blocks. */
#ifndef HOCKET_COLLECTIVE_SUM_KERNEL_H
#define HOCKET_COLLECTIVE_SUM_KERNEL_H

#include <hocket/base.h>

/* Writes the sum of in[0] … in[in_count - 1] to out_count blocks of `size` elements: that of the first half, or one more,
 * plus that of the others, as base/sum_tree.h has it for runs. An output may be one of the inputs, else no two blocks overlap. Integers wrap;
 * complex numbers are pairs of floats. Not for bool and halves, except for in_count 1, which copies. Pure, single-threaded. */
void hki_sum_kernel(hk_dtype dtype, const void *const *in, int in_count, void *const *out,
                    int out_count, size_t size);

#endif
