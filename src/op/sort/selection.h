/* What functions that look at values before they know the shape of a result have in common. */
#ifndef HOCKET_OP_SELECTION_H
#define HOCKET_OP_SELECTION_H

#include "op/kernel.h"

#include <inttypes.h>

/* How a mask's places cannot be made; with how many hold, and how many did. */
#define HKI_MASK_CHANGED                                                                           \
    "%" PRId64 " elements hold now, but %" PRId64                                                  \
    " did when they were counted: another thread has changed them"

/* A number that such a function reads: blocks. False after hki_call_refuse, by the record of why. */
bool hki_read_number(hki_call *call, hk_array *x, double *value);
/* Where elements of the mask, of bool and one axis, hold, as int64; *count: how many. NULL after hki_call_refuse; `count` is then
 * among what failed, or NULL. Blocks. */
hk_array *hki_places_of(hki_call *call, hk_array *mask, hk_array **count);

/* x as one axis, in C order. */
hk_array *hki_flattened(hk_array *x);
/* The entries [begin, end) of the first axis. */
hk_array *hki_entries(hk_array *x, int64_t begin, int64_t end);
/* Zeros on x's device. */
hk_array *hki_zeros_beside(const hk_array *x, const hk_dims *shape, hk_dtype dtype);

#endif
