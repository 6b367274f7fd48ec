/* Shared by the files of this room. */
#ifndef HOCKET_SPLIT_INTERNAL_H
#define HOCKET_SPLIT_INTERNAL_H

#include "op/op.h"

#include <hocket/split.h>

enum { HKI_SPLIT_MAX = 64 /* devices, as many as a function on the tape has inputs */ };

/* The sum of n arrays of one shape and dtype, on `device`, in the order of base/sum_tree.h: halves are added up where their first
 * array is, so that n arrays take n - 1 copies. Of the scope; calls that are recorded where the thread records. */
hk_array *hki_sum_on(hk_array *const *xs, int n, hk_device device);

/* NULL, or why the arrays of a list cannot be used together, in `why`; *code says what kind of mistake it is. */
const char *hki_split_check(hk_array *const *xs, int n, char *why, size_t bytes);

/* A list of results by which a call is refused, each failed by one record; of the scope. */
HK_PRINTF(6, 7)
void hki_split_refuse(const char *operation, hk_array *const *xs, int n, hk_array **out,
                      int out_count, const char *format, ...);

#endif
