/* What chains ask of a pooling. */
#ifndef HOCKET_OP_POOL2D_H
#define HOCKET_OP_POOL2D_H

#include "op/op.h"

/* Whether windows lie side by side from the first element on, without padding; their height and width. Of
 * max_pool2d, avg_pool2d and their gradients. */
bool hki_pool2d_tiles(const void *options, int64_t window[2]);

#endif
