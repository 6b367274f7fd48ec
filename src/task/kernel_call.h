/* A call of a program's own kernel: what kernel.c has checked, and the task that it becomes. */
#ifndef HOCKET_TASK_KERNEL_CALL_H
#define HOCKET_TASK_KERNEL_CALL_H

#include "array/array.h"

#include <hocket/kernel.h>

/* What is to be done, borrowed but for the functions of the kernel. */
typedef struct hki_kernel_run {
    hk_kernel kernel;
    hki_device *device;
    const hk_access *accesses; /* those of the call, and the result's */
    int count;
    bool has_result;  /* the last one is new */
    uint8_t priority; /* 0: the thread's */
    const void *args;
    size_t args_bytes;
} hki_kernel_run;

/* Issues it. False when host memory is short: nothing was issued. */
bool hki_kernel_issue(const hki_kernel_run *run);

/* ---- how long calls take (kernel_time.c) ---------------------------------------------------- */

/* Of a call that moves so many bytes, by earlier ones of the function; long where there were
 * none. */
double hki_kernel_time_expect(void (*function)(hk_task_call *), double bytes);
void hki_kernel_time_learn(void (*function)(hk_task_call *), double bytes, double measured_ns);

/* ---- threads beside the cores (kernel_threads.c) -------------------------------------------- */

/* Calls run(task, argument) on a thread that has nothing else to do. False: there is none, and
 * none can be made. */
bool hki_kernel_thread_run(void (*run)(hki_task *task, void *argument), hki_task *task,
                           void *argument);

#endif
