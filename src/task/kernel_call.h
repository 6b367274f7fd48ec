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
    hk_promise *promise; /* NULL, or it is what the program does itself: see promise.c */
} hki_kernel_run;

/* Issues it. False when host memory is short: it was not issued. */
bool hki_kernel_issue(const hki_kernel_run *run);
/* The same of one that accumulates nothing. */
bool hki_kernel_submit(const hki_kernel_run *run);
/* As hk_run, with the promise (NULL: there was no memory for it) as what the arguments point to. */
void hki_kernel_run_promise(const hk_kernel *kernel, const hk_access *accesses, int count,
                            hk_promise *promise);
/* The array of an access, once the task has begun. */
hk_task_view hki_kernel_view(const void *payload, int index);

/* ---- promises (promise.c) ------------------------------------------------------------------- */

/* The task has begun: the arrays are the program's until it keeps or breaks the promise. */
void hki_promise_begin(hk_promise *promise, hki_task *task, void *payload);
/* One that the library keeps itself: the end of the runtime waits for it. */
hk_promise *hki_promise_of_library(const char *name, hk_array *x);
void hki_promise_break(hk_promise *promise, hk_code code, const char *message);
/* How long a thread waits for an open promise before that is said. */
extern _Atomic(int64_t) hki_promise_patience_ns;

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

/* ---- files beside calls (files.c) ----------------------------------------------------------- */

/* Blocks until none of the runtime's is being read or written any more. let_go, which may be NULL,
 * is called first where some are. */
void hki_files_await(hki_runtime *runtime, void (*let_go)(hki_runtime *));

#endif
