/* Philox4x32-10, a counter-based random generator: the same bits on every machine, and any part of
 * a stream without what stands before it.
 *
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
 *
 * Users of one seed keep apart by the last counter word, which names the purpose:
 * HKI_PHILOX_SHUFFLE here, another constant for every other user.
 *
 * Threads: pure functions. */
#ifndef HOCKET_BASE_PHILOX_H
#define HOCKET_BASE_PHILOX_H

#include "base/everywhere.h"

#include <stdbool.h>
#include <stdint.h>

/* counter[3] of the draws that shuffle a data set. */
#define HKI_PHILOX_SHUFFLE 0x73687566u

enum { HKI_PHILOX_ROUNDS = 10 };
/* What keys grow by from round to round. */
#define HKI_PHILOX_STEP0 0x9E3779B9u
#define HKI_PHILOX_STEP1 0xBB67AE85u

/* One round, in place. */
HKI_EVERYWHERE void hki_philox_round(uint32_t k0, uint32_t k1, uint32_t *c0, uint32_t *c1,
                                     uint32_t *c2, uint32_t *c3)
{
    uint64_t product0 = (uint64_t)0xD2511F53u * *c0;
    uint64_t product1 = (uint64_t)0xCD9E8D57u * *c2;
    uint32_t first = (uint32_t)(product1 >> 32) ^ *c1 ^ k0;
    uint32_t third = (uint32_t)(product0 >> 32) ^ *c3 ^ k1;
    *c0 = first;
    *c1 = (uint32_t)product1;
    *c2 = third;
    *c3 = (uint32_t)product0;
}

/* Writes the four random words of (counter, key); out may be counter. */
HKI_EVERYWHERE void hki_philox4x32(const uint32_t counter[4], const uint32_t key[2],
                                   uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < HKI_PHILOX_ROUNDS; round++) {
        hki_philox_round(k0, k1, &c0, &c1, &c2, &c3);
        k0 += HKI_PHILOX_STEP0;
        k1 += HKI_PHILOX_STEP1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Maps 64 uniform bits to [0, bound) without bias, bound >= 1. False, with *value untouched, for
 * the bits that stand in the last, incomplete run of bound values: draw again. */
static inline bool hki_bits_below(uint64_t bits, uint64_t bound, uint64_t *value)
{
    uint64_t rest = bits % bound;

    if (bits - rest > UINT64_MAX - (bound - 1))
        return false;
    *value = rest;
    return true;
}

#endif
