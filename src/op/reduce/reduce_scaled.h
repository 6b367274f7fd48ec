/* Means and norms whose sum left the range of its dtype. */
#ifndef HOCKET_OP_REDUCE_SCALED_H
#define HOCKET_OP_REDUCE_SCALED_H

#include "op/reduce/reduce_kernel.h"

/* Mends words of kept elements from `begin` on, which are means or norms of x: one that is not
 * finite, or a norm whose squares were no precise doubles, is computed once more, from elements that
 * are first divided by the largest one. It stays where that is 0 or not finite. */
void hki_reduce_mend(const hki_tensor *x, const hki_reduce_geometry *geometry, bool is_mean,
                     hki_reduce_word *words, int64_t begin, int64_t count);

#endif
