/* Shared by the files of this room, and by nobody else: the life of handles. */
#ifndef HOCKET_ARRAY_HANDLE_H
#define HOCKET_ARRAY_HANDLE_H

#include "array/array.h"

/* A handle of the storage (its handle count is taken; NULL: there was no memory for it), contiguous, in
 * no scope yet. NULL when host memory is short. */
hk_array *hki_array_wrap(hki_storage *storage, hk_dims shape, hk_dtype dtype);
/* Frees a handle that has no count left. */
void hki_array_free(hk_array *x);

/* Gives a count of x (taken) to this thread's innermost scope, if there is one. Returns x; the static
 * failed array when x is NULL or host memory is short, x is then released. */
hk_array *hki_scope_add(hk_array *x);
/* Takes x out of this thread's list, if it is there; false when it is not. */
bool hki_scope_forget(hk_array *x);

#endif
