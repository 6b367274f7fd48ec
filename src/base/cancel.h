/* Cancellation (pthread_cancel) held off while a thread has something that others wait for. */
#ifndef HOCKET_BASE_CANCEL_H
#define HOCKET_BASE_CANCEL_H

#include <pthread.h>

static inline int hki_cancel_hold(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void hki_cancel_allow(const int *before)
{
    int disabled;
    pthread_setcancelstate(*before, &disabled);
}

/* Until the end of the block, however it is left: a cancellation that comes meanwhile acts at the next cancellation point after. */
#define HKI_NO_CANCELLATION                                                                        \
    const int hki_cancel_state __attribute__((cleanup(hki_cancel_allow), unused)) =                \
        hki_cancel_hold()

#endif
