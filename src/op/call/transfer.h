/* Values between memories that are not shared: the host's, and that of each accelerator. */
#ifndef HOCKET_OP_TRANSFER_H
#define HOCKET_OP_TRANSFER_H

#include "array/array.h"

/* True when tasks of neither device can use the other's memory in place, so that bytes must be
 * copied. */
bool hki_transfer_is_needed(const hki_device *a, const hki_device *b);

/* True when one copy does it: one of the two is the host's, or they are linked. Else it goes by
 * way of the host. */
bool hki_transfer_is_direct(hki_device *from, hki_device *to);

enum {
    HKI_TRANSFER_FRESH = 1,      /* `to` has just been made: nobody else has seen it */
    HKI_TRANSFER_COLLECTIVE = 2, /* for the devices' queues for reductions between devices */
    HKI_TRANSFER_LATE = 4        /* to the host: it may be put off until somebody looks at `to` */
};

/* In program order, `to` becomes the values of `from`, of the same shape, converted to its
 * dtype; it fails where `from` has failed. Neither has failed at its call, `to` is not a
 * broadcast view. The tape is neither asked nor told.
 *
 * It is one task where both are contiguous and of one dtype, and the memories are linked (the
 * host's is to all). Else it is several, each with its own place in the order of calls: `from`
 * is made contiguous and converted on its device, what has no link goes through pinned memory of
 * the host, and `to` with gaps is written on its device from a contiguous array. What cannot be
 * issued fails `to`. `operation`: static text, for records and traces.
 *
 * May block like any call (run-ahead window). */
void hki_transfer(hk_array *to, hk_array *from, const char *operation, unsigned flags);

#endif
