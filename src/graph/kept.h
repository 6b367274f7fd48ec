/* What tasks make of parameters, rearranged weights say, and what stays from one replay to the next
 * for as long as nobody has issued a write of them. Variables count writes in the order of calls, so
 * it makes no difference who writes, or through which view. */
#ifndef HOCKET_GRAPH_KEPT_H
#define HOCKET_GRAPH_KEPT_H

#include "array/array.h"
#include "base/sync.h"

/* Immutable once it has been put. */
typedef struct hki_kept {
    atomic_uint refs;
    hki_storage *memory; /* a handle */
    uint64_t versions[]; /* of what it is made of */
} hki_kept;

/* The newest, and of which accesses of a task it is made. Zeroed at first, but for at and count. */
typedef struct hki_keeper {
    hki_lock lock;
    hki_kept *kept; /* counted; NULL: none; under the lock */
    int *at;        /* owned: indices of versions */
    int count;
} hki_keeper;

/* Frees what it holds. */
void hki_keeper_deinit(hki_keeper *self);
/* What is as old as a task's versions (hki_task_spec), counted; NULL: there is none. */
hki_kept *hki_kept_find(hki_keeper *self, const uint64_t *versions);
/* Memory for that of a task, counted. NULL: out of memory. */
hki_kept *hki_kept_create(const hki_keeper *self, hki_device *device, uint64_t bytes,
                          const uint64_t *versions);
/* Keeps it, filled, unless newer ones are kept already. */
void hki_kept_put(hki_keeper *self, hki_kept *kept);
/* NULL is ignored. */
void hki_kept_release(hki_kept *kept);
static inline char *hki_kept_data(const hki_kept *kept)
{
    return hki_storage_kernel_data(kept->memory);
}

#endif
