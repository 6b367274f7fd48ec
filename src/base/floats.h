/* The floating-point environment that tasks run in: IEEE's default, or the same with subnormal
 * numbers flushed to zero, where the runtime was asked for that. Each function concerns the calling
 * thread.
 *
 * On x86 the processor also keeps a sticky note of subnormal operands: on some makers' processors
 * these cost a hundred times as much as others. Halves are converted without such a note. */
#ifndef HOCKET_BASE_FLOATS_H
#define HOCKET_BASE_FLOATS_H

#include "base/sync.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    HKI_FLOATS_DEFAULT = 0x1f80, /* rounds to nearest, no exception traps */
    HKI_FLOATS_FLUSHED =
        0x9fc0, /* also: subnormal results become 0 (bit 15), and operands (bit 6) */
    HKI_FLOATS_CONTROL = 0xffc0,   /* the bits of these two; below them are sticky notes */
    HKI_FLOATS_SUBNORMAL = 1 << 1, /* an operand was subnormal */
};

/* Which of the first two: set when a runtime starts, before its threads do. */
extern _Atomic(uint32_t) hki_floats_wanted;

#if defined(__x86_64__)
enum { HKI_FLOATS_CAN_FLUSH = true };
static inline uint32_t hki_floats_get(void)
{
    return __builtin_ia32_stmxcsr();
}
static inline void hki_floats_set(uint32_t word)
{
    __builtin_ia32_ldmxcsr(word);
}
#else
enum { HKI_FLOATS_CAN_FLUSH = false };
static inline uint32_t hki_floats_get(void)
{
    return 0; /* nothing is known of it: no thread is taken for ready */
}
static inline void hki_floats_set(uint32_t word)
{
    (void)word;
}
#endif

/* This thread runs tasks from now on. */
void hki_floats_begin(void);

static inline bool hki_floats_flush(void)
{
    return atomic_load_explicit(&hki_floats_wanted, memory_order_relaxed) == HKI_FLOATS_FLUSHED;
}

bool hki_floats_mend(uint32_t word);
/* Tasks may run in this thread: as it is, or, where tasks flush, between the next two. Forgets what it met before. */
static inline bool hki_floats_are_usual(void)
{
    const uint32_t word = hki_floats_get();
    return HKI_USUALLY((word & (HKI_FLOATS_CONTROL | HKI_FLOATS_SUBNORMAL)) ==
                       HKI_FLOATS_DEFAULT) ||
           hki_floats_mend(word);
}

/* Of a thread whose environment is a usual one: that of tasks from here on, until it is left with what was returned. */
static inline uint32_t hki_floats_enter(void)
{
    const uint32_t word = hki_floats_flush() ? hki_floats_get() : 0;
    if (!HKI_USUALLY(!word))
        hki_floats_set(HKI_FLOATS_FLUSHED);
    return word;
}

static inline void hki_floats_leave(uint32_t word)
{
    if (!HKI_USUALLY(!word))
        hki_floats_set(word);
}

/* Whether an operand was subnormal since this was last forgotten. */
static inline bool hki_floats_met_subnormal(void)
{
    return hki_floats_get() & HKI_FLOATS_SUBNORMAL;
}

static inline void hki_floats_forget(void)
{
    hki_floats_set(hki_floats_get() & ~(uint32_t)HKI_FLOATS_SUBNORMAL);
}

#endif
