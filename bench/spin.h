/* What a task does that is to take time: computing in registers, alike in all programs. Also for C++. */
#ifndef HOCKET_BENCH_SPIN_H
#define HOCKET_BENCH_SPIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One multiplication and addition after another. */
void spin_loop(int64_t iterations);

static inline void spin(int64_t iterations)
{
    if (iterations > 0)
        spin_loop(iterations);
}

/* Nanoseconds that an iteration takes on a core of its own: the least of several measurements. */
double spin_iteration_ns(void);

#ifdef __cplusplus
}
#endif

#endif
