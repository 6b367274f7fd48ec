/* Who had to wait for whom: dependencies between calls, found again from what each read and wrote.
 *
 * Calls are added in the order of their sequence numbers. A read depends on the last writers of its bytes, a write on
 * the last writers and on those who read the bytes since. Exact to the byte. A dependency that another one of the same
 * call has as a direct one is left out, unless that one has very many. */
#ifndef HOCKET_TRACE_DEPENDENCIES_H
#define HOCKET_TRACE_DEPENDENCIES_H

#include "base/trace.h"

typedef struct hki_dependencies hki_dependencies;

enum {
    /* Of all calls together; from there on a call keeps the latest few of its dependencies. */
    HKI_DEPENDENCIES_MOST = 1 << 26,
    HKI_DEPENDENCIES_KEPT = 16
};

/* For calls 0 ... call_count - 1; externally synchronised. NULL when host memory is short. */
hki_dependencies *hki_dependencies_create(int call_count);
void hki_dependencies_destroy(hki_dependencies *self);

/* A variable begins: what had its address is gone, together with who used it. */
void hki_dependencies_begin_var(hki_dependencies *self, uint64_t var);

/* The next call, with its accesses (begin < end each; others are passed over). False when host memory is short; the
 * object is then good for nothing but to be destroyed. */
bool hki_dependencies_add(hki_dependencies *self, const hki_trace_access *accesses, int count);

/* How many dependencies there are by now; those of the call added last are at the end. */
int hki_dependencies_count(const hki_dependencies *self);
/* All of them, call by call, ascending within a call; to be freed by the caller. NULL where there are none. */
int *hki_dependencies_take(hki_dependencies *self);

#endif
