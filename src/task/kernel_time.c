/* How long kernels take: learnt from calls, by function and by the size of what they move. It
 * decides where a call runs, never what it computes. */
#include "task/kernel_call.h"

#include <math.h>
#include <stdatomic.h>

/* Places in a table, each of the latest function and size that came to it: who loses a place
 * learns again. */
enum { PLACES = 1024 };
static const double unknown_ns = 1e6; /* not in the thread that issues it */
static const float most_change =
    4; /* a thread that lost its core must not mislead the next calls */

typedef struct place {
    _Atomic(uintptr_t) key;
    _Atomic(float) ns;
} place;
static place places[PLACES];

/* Sizes of one power of two are taken for one. */
static uintptr_t key_of(void (*function)(hk_task_call *), double bytes)
{
    int exponent = 0;
    frexp(bytes, &exponent);
    return ((uintptr_t)function << 6) ^ (uintptr_t)exponent;
}

static place *place_of(uintptr_t key)
{
    return &places[(uint64_t)key * UINT64_C(0x9E3779B97F4A7C15) >> 54];
}
_Static_assert(PLACES == 1 << (64 - 54), "the table is as large as the hash");

double hki_kernel_time_expect(void (*function)(hk_task_call *), double bytes)
{
    const uintptr_t key = key_of(function, bytes);
    place *at = place_of(key);
    const bool is_known = atomic_load_explicit(&at->key, memory_order_acquire) == key;
    return is_known ? (double)atomic_load_explicit(&at->ns, memory_order_relaxed) : unknown_ns;
}

void hki_kernel_time_learn(void (*function)(hk_task_call *), double bytes, double measured_ns)
{
    const uintptr_t key = key_of(function, bytes);
    place *at = place_of(key);
    float sample = (float)measured_ns;
    if (atomic_load_explicit(&at->key, memory_order_acquire) == key) {
        const float old = atomic_load_explicit(&at->ns, memory_order_relaxed);
        sample = fminf(fmaxf(sample, old / most_change), old * most_change);
        sample = old + (sample - old) / 8;
    }
    atomic_store_explicit(&at->ns, sample, memory_order_relaxed);
    atomic_store_explicit(&at->key, key, memory_order_release);
}
