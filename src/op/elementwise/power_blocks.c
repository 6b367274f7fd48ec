/* Powers of runs of floats, by blocks. */
#include "op/elementwise/power_blocks.h"

/* The next elements of an operand, so many; in `room` where they are no block. */
static const float *power_operand(const float *first, int64_t step, int64_t begin, int64_t count,
                                  float room[HKI_POWER_BLOCK])
{
    if (step && count == HKI_POWER_BLOCK)
        return first + begin;
    if (step)
        memcpy(room, first + begin, (size_t)count * sizeof *room);
    for (int64_t i = step ? count : begin ? HKI_POWER_BLOCK : 0; i < HKI_POWER_BLOCK; i++)
        room[i] = step ? 1 : *first;
    return room;
}

int64_t hki_power_run(const hki_run *run, const void *y, int64_t y_step, hki_power_block_fn block)
{
    const int64_t n = run->n;
    float *out = (float *)(void *)run->out;
    float x_room[HKI_POWER_BLOCK], y_room[HKI_POWER_BLOCK], made[HKI_POWER_BLOCK];
    for (int64_t begin = 0, count; begin < n; begin += count) {
        count = n - begin < HKI_POWER_BLOCK ? n - begin : HKI_POWER_BLOCK;
        block(power_operand((const float *)(const void *)run->in[0], run->in_step[0], begin, count,
                            x_room),
              power_operand(y, y_step, begin, count, y_room), made);
        memcpy(out + begin, made, (size_t)count * sizeof *out);
    }
    return -1;
}
