#include "op/call/plan.h"

#include <stdatomic.h>

/* Measured time over planned work, by operator; 0 until the first measurement, which stands for 1. Nothing
 * that a program computes depends on it. */
static _Atomic(float) measured_ratio[HKI_OP_COUNT];

/* Nothing is to be computed, however long the axes are. */
static bool has_empty_outputs(const hki_call *call)
{
    const int count = call->op->output_count ? call->op->output_count : 1;
    int64_t size = 0;
    for (int i = 0; i < count; i++)
        if (!hki_dims_size(&call->out_shape[i], &size) || size > 0)
            return false;
    return true;
}

int64_t hki_plan_make(const hki_call *call, hki_plan *plan)
{
    const hk_op *op = call->op;
    const hk_dims *shape = &call->out_shape[0];
    int64_t size = 0;
    if (!hki_dims_size(shape, &size))
        size = 0;
    *plan = (hki_plan){.extent = 1,
                       .grain = 1,
                       .work_ns = (double)size,
                       .flops = (double)size,
                       .max_pieces = HKI_PLAN_MAX_PIECES};
    if (op->split == HKI_SPLIT_ELEMENTS)
        plan->extent = size;
    else if (op->split == HKI_SPLIT_ROWS && shape->ndim > 0)
        plan->extent = shape->dims[0];
    if (op->plan)
        op->plan(call, plan);
    if (has_empty_outputs(call))
        plan->extent = 0;
    if (plan->grain < 1)
        plan->grain = 1;
    if (call->device->class->run_call) { /* the device cuts it as it likes */
        plan->partial_bytes = 0;
        return 1;
    }
    if (plan->extent <= plan->grain || !(plan->work_ns > HKI_PLAN_PIECE_NS))
        return 1;
    int64_t most = (plan->extent - 1) / plan->grain + 1;
    if (plan->max_pieces > 0 && most > plan->max_pieces)
        most = plan->max_pieces;
    double wanted = plan->work_ns / HKI_PLAN_PIECE_NS;
    return wanted < (double)most ? (int64_t)wanted : most;
}

int64_t hki_plan_expect(const hk_op *op, double work_ns)
{
    float ratio = atomic_load_explicit(&measured_ratio[op->id], memory_order_relaxed);
    double expected = work_ns * (ratio > 0 ? (double)ratio : 1);
    return expected < 1e15 ? (int64_t)expected : (int64_t)1e15;
}

void hki_plan_learn(const hk_op *op, double work_ns, int64_t measured_ns)
{
    /* Below this, the clock is most of what is measured. */
    if (!(work_ns >= 100))
        return;
    float old = atomic_load_explicit(&measured_ratio[op->id], memory_order_relaxed);
    if (!(old > 0))
        old = 1;
    float sample = (float)((double)measured_ns / work_ns);
    /* A thread that lost its core in the middle must not mislead the next calls. */
    if (sample > 4 * old)
        sample = 4 * old;
    else if (sample < old / 4)
        sample = old / 4;
    atomic_store_explicit(&measured_ratio[op->id], old + (sample - old) / 8, memory_order_relaxed);
}
