/* Within the emulation: pools that memory is taken from in the order of streams. */
#ifndef HOCKET_TESTS_EMULATED_POOL_H
#define HOCKET_TESTS_EMULATED_POOL_H

#include "emulated_machine.h"

namespace emulated
{

/* What it has of the system is what was in use at once at most, until it gives some back. Under machine.lock. */
struct pool {
    gpu *device;
    size_t threshold = 0; /* that it keeps */
    bool waits_for_others = true;
    size_t used = 0, reserved = 0;

    void take(size_t bytes);
};

/* The pool behind a handle; NULL: there is none. Takes machine.lock. */
pool *find_pool(cudaMemPool_t handle);
/* The host has waited for a stream of the GPU: pools give back what exceeds their thresholds. Takes machine.lock. */
void release_pools(const gpu &device);

} // namespace emulated

#endif
