/* For tests of the CPU's kernels: random numbers, the same on every run; memory whose end is guarded; and a run with each
 * instruction set. Include check.h first. */
#ifndef HOCKET_OP_KERNELS_KERNEL_FIXTURE_H
#define HOCKET_OP_KERNELS_KERNEL_FIXTURE_H

#include "base/integer.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t random_state = 1;

/* From -0.5 to 0.5. */
static inline double random_get(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 40) / (double)(1 << 24) - 0.5;
}

/* Both included. */
static inline int64_t random_between(int64_t lo, int64_t hi)
{
    return lo + (int64_t)((random_get() + 0.5) * (double)(hi - lo + 1));
}

/* ---- memory with a guard behind it ---- */

enum { BUFFER_GUARD = 64 };

typedef struct buffer {
    unsigned char *data; /* 64-byte aligned */
    size_t bytes;
} buffer;

static inline buffer buffer_make(size_t bytes)
{
    buffer b = {aligned_alloc(64, hki_round_up_bytes(bytes + BUFFER_GUARD, 64)), bytes};
    if (!b.data)
        abort();
    memset(b.data, 0xff, bytes); /* NaN everywhere */
    memset(b.data + bytes, 0xa5, BUFFER_GUARD);
    return b;
}

static inline void buffer_drop(const buffer *b)
{
    bool kept = true;
    for (size_t i = 0; i < BUFFER_GUARD; i++)
        kept = kept && b->data[b->bytes + i] == 0xa5;
    CHECK(kept);
    free(b->data);
}

/* ---- instruction sets ---- */

/* What main returns: `run` with each, one that the machine lacks being lowered to one that it has. The instruction set is
 * chosen before main, where OpenBLAS is made ready, so each has a program of its own, which this one starts by its own
 * name with an argument. */
static inline int check_each_isa(int argc, char **argv, int (*run)(void))
{
    static const char *const names[] = {"portable", "avx2", "avx512"};
    if (argc > 1)
        return run();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            setenv("HOCKET_ISA", names[i], 1);
            execl("/proc/self/exe", argv[0], names[i], (char *)NULL);
            _exit(1);
        }
        int status = 1;
        CHECK(waitpid(child, &status, 0) == child);
        if (status != 0)
            fprintf(stderr, "with HOCKET_ISA=%s\n", names[i]);
        CHECK(status == 0);
    }
    return check_result();
}

#endif
