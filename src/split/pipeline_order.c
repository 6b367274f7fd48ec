/* Orders of issue of a pipeline. */
#include "split/pipeline.h"

#include <limits.h>
#include <stdlib.h>

/* Forward passes that a stage begins with; then they alternate with backward ones, until only those are left. */
static int warm_up(hk_pipeline_order order, int stages, int batches, int stage)
{
    const int most = order == HK_PIPELINE_GPIPE ? batches : stages - 1 - stage;
    return most < batches ? most : batches;
}

hk_pipeline_step hki_pipeline_step_of(hk_pipeline_order order, int stages, int batches, int stage,
                                      int index)
{
    const int warm = warm_up(order, stages, batches, stage), pairs = batches - warm;
    const int behind = index - warm, last = behind - 2 * pairs;
    if (behind < 0)
        return (hk_pipeline_step){stage, index, false};
    if (last >= 0)
        return (hk_pipeline_step){stage, pairs + last, true};
    return (hk_pipeline_step){stage, behind / 2 + (behind % 2 ? 0 : warm), behind % 2};
}

/* How far a stage is. */
typedef struct progress {
    int forward, backward; /* passes that were issued */
} progress;

/* Whether what a step needs was issued in an earlier round. */
static bool is_ready(const progress *before, int stages, hk_pipeline_step step)
{
    if (!step.is_backward)
        return step.stage == 0 || before[step.stage - 1].forward > step.batch;
    return step.stage == stages - 1 || before[step.stage + 1].backward > step.batch;
}

/* In rounds, in each of which a stage does one step: as if all took the same time. */
static void list_steps(hk_pipeline_order order, int stages, int batches, progress *now,
                       progress *before, hk_pipeline_step *steps, int capacity)
{
    for (int count = 0; count < 2 * stages * batches;) {
        for (int s = 0; s < stages; s++)
            before[s] = now[s];
        for (int s = 0; s < stages; s++) {
            const int index = before[s].forward + before[s].backward;
            if (index == 2 * batches)
                continue;
            const hk_pipeline_step step = hki_pipeline_step_of(order, stages, batches, s, index);
            if (!is_ready(before, stages, step))
                continue;
            if (count < capacity)
                steps[count] = step;
            count++;
            step.is_backward ? now[s].backward++ : now[s].forward++;
        }
    }
}

int hk_pipeline_steps(hk_pipeline_order order, int stages, int batches, hk_pipeline_step *steps,
                      int capacity)
{
    if ((order != HK_PIPELINE_GPIPE && order != HK_PIPELINE_1F1B) || stages < 1 || batches < 1 ||
        stages > INT_MAX / 2 / batches)
        return 0;
    if (steps && capacity > 0) {
        progress *now = calloc(2 * (size_t)stages, sizeof *now);
        if (!now)
            return 0;
        list_steps(order, stages, batches, now, now + stages, steps, capacity);
        free(now);
    }
    return 2 * stages * batches;
}
