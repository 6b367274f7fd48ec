/* In which order arrays are summed that a call names together. */
#ifndef HOCKET_COLLECTIVE_WRITE_ORDER_H
#define HOCKET_COLLECTIVE_WRITE_ORDER_H

#include "array/array.h"

/* order[0] is the first of `count` arrays, each on n devices, that goes into a bucket, and so on:
 * as they are written, where all are gradients and by_write; else as they are listed. False: no
 * memory. */
bool hki_write_order(hk_array *const *arrays, int n, int count, bool by_write, int *order);

#endif
