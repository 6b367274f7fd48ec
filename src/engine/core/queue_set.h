/* Some of a runtime's queues, by their number, a bit each. Any thread may change it at any time; what it does and what it
 * sees of the set is in one order with all other sequentially consistent accesses. */
#ifndef HOCKET_ENGINE_QUEUE_SET_H
#define HOCKET_ENGINE_QUEUE_SET_H

#include "base/sync.h"
#include "device/device.h"
#include "engine/core/limits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HKI_QUEUE_SET_WORDS = HKI_MAX_DEVICES * HKI_QUEUE_KIND_COUNT / 64 };

typedef struct hki_queue_set {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) words[HKI_QUEUE_SET_WORDS];
} hki_queue_set;

/* False: it was there already. */
static inline bool hki_queue_set_add(hki_queue_set *set, int number)
{
    const uint64_t bit = (uint64_t)1 << number % 64;
    _Atomic(uint64_t) *word = &set->words[number / 64];
    return !(atomic_load(word) & bit) && !(atomic_fetch_or(word, bit) & bit);
}

static inline void hki_queue_set_remove(hki_queue_set *set, int number)
{
    atomic_fetch_and(&set->words[number / 64], ~((uint64_t)1 << number % 64));
}

/* The least number in the set that is at least `from`; -1: there is none. */
static inline int hki_queue_set_next(hki_queue_set *set, int from)
{
    uint64_t mask = ~(uint64_t)0 << from % 64;
    for (int i = from / 64; i < HKI_QUEUE_SET_WORDS; i++, mask = ~(uint64_t)0) {
        const uint64_t word = atomic_load(&set->words[i]) & mask;
        if (word)
            return 64 * i + __builtin_ctzll(word);
    }
    return -1;
}

#endif
