/* Within the emulation: memory of GPUs and pinned memory. */
#ifndef HOCKET_TESTS_EMULATED_MEMORY_H
#define HOCKET_TESTS_EMULATED_MEMORY_H

#include "emulated_machine.h"

namespace emulated
{

enum class place {
    pageable,
    pinned,
    device,
    wild
}; /* wild: of a GPU's addresses, but not allocated */

struct location {
    place where = place::pageable;
    int gpu = -1;
    bool is_whole = true; /* all bytes lie there */
};

/* Takes machine.lock. */
location find(const void *data, size_t bytes);

/* The place behind an address of any GPU; others unchanged. */
void *behind(const void *data);

/* Exchanges device addresses in the aligned words of an argument for the places behind them. */
void exchange_addresses(void *argument, size_t bytes);

/* nullptr: kernels of `which` may use what a pointer among their arguments points to. Otherwise why not. */
const char *why_unusable(const gpu &which, const void *data);

/* For a pool's next allocation: orders `to` behind a stream that will have freed as much, where the pool does that. */
void wait_for_freed(pool &which, size_t bytes, stream &to);

/* All memory goes; streams must be idle. Under machine.lock. */
void forget_memory(machine &machine);
/* Reserves the GPUs' addresses. */
void prepare_memory(machine &machine);

} // namespace emulated

#endif
