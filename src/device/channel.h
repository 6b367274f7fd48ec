/* A channel: by it a device gives bytes of its own memory to devices of other processes, by a library of theirs, without the
 * host's memory between. One device of each rank has a part in it.
 *
 * But for is_there, one thread of the process calls all of it. Nothing blocks for the sake of another process: what takes
 * its time is begun, then asked for. All ranks begin the same on a channel, in the same order.
 *
 * why: HKI_CHANNEL_WHY bytes, for the reason where something fails. */
#ifndef HOCKET_DEVICE_CHANNEL_H
#define HOCKET_DEVICE_CHANNEL_H

#include <hocket/base.h>

typedef struct hki_device hki_device;
typedef struct hki_channel hki_channel;
typedef struct hki_channel_task hki_channel_task;

enum { HKI_CHANNEL_NAME_BYTES = 128, HKI_CHANNEL_WHY = 256 };

/* Bytes of the device's memory. */
typedef struct hki_channel_part {
    const void *from; /* NULL: they come from the peer */
    void *to;         /* NULL: they go to the peer; with `from`: they stay here */
    size_t bytes;     /* not 0 */
    int peer;
} hki_channel_part;

typedef enum hki_channel_state {
    HKI_CHANNEL_FAILED = -1,
    HKI_CHANNEL_BUSY,
    HKI_CHANNEL_DONE
} hki_channel_state;

typedef struct hki_channel_class {
    /* Whether this process has the library. Opens it at the first call, which blocks for a moment. Any thread. */
    bool (*is_there)(void);
    /* By its name ranks find a channel: one of them makes it, and tells the others. */
    bool (*make_name)(hki_device *device, void *name, char *why);
    /* Begins to open it. NULL: failed. */
    hki_channel *(*open)(hki_device *device, const void *name, int size, int rank, char *why);
    /* DONE: it is open, and something may be begun. */
    hki_channel_state (*poll)(hki_channel *self, char *why);
    /* Begins to move all parts at once. Between two ranks they pair in their order. NULL: failed. */
    hki_channel_task *(*move)(hki_channel *self, const hki_channel_part *parts, int count,
                              char *why);
    /* Begins a sum of all ranks' elements, in place, which the library adds in an order of its own. NULL: failed. */
    hki_channel_task *(*sum)(hki_channel *self, hk_dtype dtype, void *data, size_t size, char *why);
    /* Whether what has been begun is over. Unless BUSY, the task is gone. Asked of tasks of a channel in their order. */
    hki_channel_state (*poll_task)(hki_channel *self, hki_channel_task *task, char *why);
    /* What is under way is given up: it may have come to the others or not. Then its tasks are gone, and nobody uses the memory. */
    void (*close)(hki_channel *self);
    /* Without a channel: bytes from the host's memory or the device's to that of either. Blocks until that is done. */
    bool (*copy)(hki_device *device, void *to, const void *from, size_t bytes, char *why);
} hki_channel_class;

#endif
