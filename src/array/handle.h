/* Shared by the files of this room, and by nobody else: the life of handles. */
#ifndef HOCKET_ARRAY_HANDLE_H
#define HOCKET_ARRAY_HANDLE_H

#include "array/array.h"

/* Drops a count; true when it was the last. Who has the only one shares it with nobody who could add to it. */
static inline bool hki_count_drop(atomic_uint *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/* What hki_array_no_memory gives: never counted, and in no scope. */
extern hk_array hki_no_memory_array;

/* The handle that a new storage (NULL: there was no memory for it) has been made with: contiguous, in no
 * scope yet. NULL for NULL. */
hk_array *hki_array_first(hki_storage *storage, const hk_dims *shape, hk_dtype dtype);
/* One more handle, the same. NULL when host memory is short. */
hk_array *hki_array_more(hki_storage *storage, const hk_dims *shape, hk_dtype dtype);
/* C order, no gaps. */
bool hki_dims_contiguous(const int64_t *dims, const int64_t *strides, int ndim);
/* Frees a handle that has no count left. */
void hki_array_free(hk_array *x);

/* Takes x out of this thread's list, if it is there; false when it is not. */
bool hki_scope_forget(hk_array *x);

/* Instead of hki_array_free where HOCKET_CHECK asks for it: x stays, failed by a record that says so, until many others have
 * been released. */
void hki_array_bury(hk_array *x);
/* Somebody uses a released handle, which has this storage: tells so, once. */
void hki_released_is_used(hki_storage *grave);

#endif
