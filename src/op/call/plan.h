/* How a call is cut into pieces, and what it is expected to cost. */
#ifndef HOCKET_OP_PLAN_H
#define HOCKET_OP_PLAN_H

#include "op/op.h"

enum { HKI_PLAN_MAX_PIECES = 64, HKI_PLAN_PIECE_NS = 30000 };

/* The plan of a call whose infer has succeeded: a pure function of operator, shapes, dtypes and the
 * device's cores, complete with defaults. Returns the number of pieces, at least 1, and 1 when there is nothing to do. */
int64_t hki_plan_make(const hki_call *call, hki_plan *plan);

/* The most pieces of a call of which each piece prepares what others prepare, too, and of which the bytes do not depend on how
 * it is cut: one of a single core, else enough for cores to end at about the same time. */
static inline int64_t hki_plan_pieces_for(const hki_call *call)
{
    const int64_t cores = call->device->core_count;
    return cores <= 1 ? 1 : cores < 16 ? 4 * cores : HKI_PLAN_MAX_PIECES;
}

/* The range of a piece: multiples of grain but for the last end; sizes differ by one grain at most. */
static inline void hki_piece_range(const hki_kernel_call *call, int64_t piece, int64_t *begin,
                                   int64_t *end)
{
    if (call->piece_count == 1) {
        *begin = 0;
        *end = call->extent;
        return;
    }
    int64_t blocks = (call->extent - 1) / call->grain + 1;
    int64_t size = blocks / call->piece_count, longer = blocks % call->piece_count;
    *begin = (piece * size + (piece < longer ? piece : longer)) * call->grain;
    *end = *begin + (size + (piece < longer)) * call->grain;
    if (*end > call->extent)
        *end = call->extent;
}

/* What the plan's work takes in nanoseconds on one core, by what earlier calls of the operator took. It
 * decides where a call runs, never how it is cut. */
int64_t hki_plan_expect(const hk_op *op, double work_ns);
/* Notes that work_ns of the plan took measured_ns. */
void hki_plan_learn(const hk_op *op, double work_ns, int64_t measured_ns);

#endif
