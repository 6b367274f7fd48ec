/* Sums of several blocks of memory, element by element, written to several blocks. */
#ifndef HOCKET_COLLECTIVE_SUM_KERNEL_H
#define HOCKET_COLLECTIVE_SUM_KERNEL_H

#include <hocket/base.h>

/* Writes in[0] + in[1] + … + in[in_count - 1], added in this order, to out_count blocks of `size`
 * elements. An output may be one of the inputs, else no two blocks overlap. Integers wrap; not for bool,
 * except for in_count 1, which copies. Pure, single-threaded. */
void hki_sum_kernel(hk_dtype dtype, const void *const *in, int in_count, void *const *out,
                    int out_count, size_t size);

#endif
