/* Powers of runs of floats, by blocks of elements: see power_blocks.inc.c. */
#ifndef HOCKET_OP_POWER_BLOCKS_H
#define HOCKET_OP_POWER_BLOCKS_H

#include "op/elementwise/elementwise.h"

enum { HKI_POWER_BLOCK = 32 }; /* a run of ten elements pays for it, too */
typedef void (*hki_power_block_fn)(const float *x, const float *y, float *out);

/* Input 0 to the power of y, a step of which is 0 or a float. Returns -1, as loops do. */
int64_t hki_power_run(const hki_run *run, const void *y, int64_t y_step, hki_power_block_fn block);

#endif
