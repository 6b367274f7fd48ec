/* Sizes that bound memory. None of them decides where or when anything runs: that is policy/tuning.h. */
#ifndef HOCKET_ENGINE_CORE_LIMITS_H
#define HOCKET_ENGINE_CORE_LIMITS_H

enum {
    HKI_TASK_INLINE_WAITS = 12,
    HKI_TASK_KEPT_GATES = 32, /* fresh ones that stay with a slot */
    HKI_TASK_PAYLOAD_BYTES = 1088,
    HKI_TASK_WAITS = 64, /* gates that a task of an accelerator waits for and is launched behind */
    HKI_TASK_MARKS =
        24, /* queues behind whose tasks one is launched: a sum over 16 GPUs, and some */
    HKI_RETURN_BATCH = 31, /* slots given back together with one */
    HKI_FREE_SLOTS = HKI_RETURN_BATCH + 1,
    HKI_FETCHED_SLOTS = 4, /* ahead of the next one */
    HKI_BATCH_TASKS = 16,  /* tasks that a thread takes at once */
    HKI_RING_TASKS = 4096,
    HKI_RECENT_TASKS = 64, /* what calls take of late is a mean of so many */
    HKI_MAX_FAILED_DEVICES = 64
};

#endif
