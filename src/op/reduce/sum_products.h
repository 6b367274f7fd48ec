/* Dot products along last axes. */
#ifndef HOCKET_OP_SUM_PRODUCTS_H
#define HOCKET_OP_SUM_PRODUCTS_H

#include "op/op.h"

/* The sums of x y along the last axis, in the current scope: in one pass where there is a kernel for it. */
hk_array *hki_sum_products(hk_array *x, hk_array *y);

#endif
