/* Elements found by a number each along one axis, where no two lie side by side: see indexed_walk.h for those that do. */
#ifndef HOCKET_OP_INDEXED_GATHER_H
#define HOCKET_OP_INDEXED_GATHER_H

#include "op/op.h"

/* Elements [begin, end) of the output, of the shape of indices and dense, from those of x that indices names along the axis.
 * An index out of range fails the task. */
void hki_indexed_gather(const hki_kernel_call *call, int64_t piece, int axis, int64_t begin,
                        int64_t end);

#endif
