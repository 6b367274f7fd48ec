/* Sums by several calls at once: each call adds into zeros of its own, which are added to the array
 * when the call's turn comes. So calls do not wait for each other, and what comes out is what they
 * give one after the other. */
#include "task/kernel_call.h"

#include <hocket/autograd.h>
#include <hocket/ops.h>

/* NULL: no memory. */
static hk_array *zeros_like(const hk_array *x)
{
    hk_array *zeros = (hk_zeros)(x->shape, x->dtype, (hk_device){x->storage->device});
    if (!zeros->failed)
        return hk_take(zeros);
    hk_array_release(hk_take(zeros));
    return NULL;
}

bool hki_kernel_issue(const hki_kernel_run *run)
{
    hk_access accesses[HK_MAX_ACCESSES + 1];
    hki_kernel_run own = *run;
    int count = 0;
    for (int i = 0; i < run->count; i++)
        count += run->accesses[i].mode == HK_ACCUMULATES;
    if (!count)
        return hki_kernel_submit(run);
    hk_pause_begin(); /* what is added up wants no gradient, as has been checked */
    own.accesses = accesses;
    bool works = true;
    for (int i = 0; i < run->count; i++) {
        accesses[i] = run->accesses[i];
        if (accesses[i].mode == HK_ACCUMULATES) {
            accesses[i] = hk_updates(works ? zeros_like(run->accesses[i].x) : NULL);
            works = works && accesses[i].x;
        }
    }
    works = works && hki_kernel_submit(&own);
    for (int i = 0; i < run->count; i++) {
        if (run->accesses[i].mode != HK_ACCUMULATES || !accesses[i].x)
            continue;
        if (works)
            (hk_add_into)(run->accesses[i].x, run->accesses[i].x, accesses[i].x);
        hk_array_release(accesses[i].x);
    }
    hk_pause_end();
    return works;
}
