/* OpenBLAS's packing memory, one buffer per thread instead of its shared pool.
 *
 * A product packs its operands into a buffer from blas_memory_alloc(). In a serial OpenBLAS (Debian
 * 12's 0.3.21 among them) that function searches a table of buffers without a lock: two threads get
 * one buffer and wrong numbers. openblas_memory.c takes the place of OpenBLAS's memory.c at link
 * time: it defines what the rest of the static library wants of that file, so that the linker never
 * takes it; were OpenBLAS to want more of it one day, both would be linked and the link would fail.
 * With the pool go its spin locks, so that a child of a fork can compute whatever other threads
 * did.
 *
 * Of the kernels, those of three instruction sets are linked, SSE3, AVX2 and AVX-512, and
 * kernel_isa.h says which runs: 5 MB in place of 25, one switch (HOCKET_ISA) for all of hocket's
 * kernels, and no slow ones on a processor whose name OpenBLAS has not heard yet. OPENBLAS_CORETYPE
 * has no effect.
 *
 * Threads: thread-safe, no locks. */
#ifndef HOCKET_OP_KERNELS_OPENBLAS_MEMORY_H
#define HOCKET_OP_KERNELS_OPENBLAS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Reserves this thread's buffer: 128 MiB of addresses, of which a product touches what it packs;
 * the thread's end gives it back. False if there are no addresses left. Required before any BLAS
 * call that may pack, which has no way to report that. */
bool hki_blas_memory_reserve(void);

/* How often this thread's products took a buffer: whether this file is the one that serves
 * OpenBLAS. */
uint64_t hki_blas_memory_taken_count(void);

/* OpenBLAS's own line on its version, configuration and the kernels that run. */
const char *hki_blas_library(void);

#endif
