/* What a program asked to be told of waits that block (hk_wait_hooks_set): one object for each wait, which begins where it turns
 * out that the thread has to block. */
#ifndef HOCKET_ENGINE_WAIT_BLOCKING_H
#define HOCKET_ENGINE_WAIT_BLOCKING_H

#include <hocket/runtime.h>

#include <stdatomic.h>

enum {
    HKI_LOOK_NS =
        20000000 /* between two looks for an interrupt; the header promises 50 ms at most */
};

typedef struct hki_blocking {
    const hk_wait_hooks *hooks; /* NULL until it begins, and where there are none */
    int64_t next_look_ns;
    bool is_interrupted;
} hki_blocking;

extern _Atomic(const hk_wait_hooks *) hki_wait_hooks;

/* False, usually: nobody is told of anything. */
static inline bool hki_blocking_is_told(void)
{
    return atomic_load_explicit(&hki_wait_hooks, memory_order_acquire) != NULL;
}

/* The program is not told of this thread's waits: it does not know the thread. */
void hki_blocking_thread_is_of_library(void);
/* Idempotent. The thread may have what others wait for, but not a lock that they wait for without hooks of their own. */
void hki_blocking_begin(hki_blocking *self);
/* Asks whether the wait is to end, now and then: false where it has not begun. Once true, always true. */
bool hki_blocking_look(hki_blocking *self, int64_t now_ns);
/* The thread has nothing that others wait for. */
void hki_blocking_end(hki_blocking *self);
/* The record of a wait that was interrupted; counted. */
const hk_status *hki_interrupted(const char *operation);

#endif
