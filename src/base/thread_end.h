/* What a thread leaves when it ends: C's thread-local objects have no destructors. */
#ifndef HOCKET_BASE_THREAD_END_H
#define HOCKET_BASE_THREAD_END_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Static; all but `function` zero. */
typedef struct hki_thread_end {
    void (*function)(void *unused);
    _Atomic(uint64_t) key; /* 1 + pthread's; 0: not made yet */
} hki_thread_end;

/* When this thread ends, the function is called in it, once for all calls of this until then; what it calls may ask for
 * another time. False: the system has no more of what that takes. */
bool hki_thread_end_watch(hki_thread_end *end);

#endif
