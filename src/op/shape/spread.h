/* Elements that are repeated, each n times: the rows of a column that is broadcast. Threads: pure functions. */
#ifndef HOCKET_OP_SPREAD_H
#define HOCKET_OP_SPREAD_H

#include <stdint.h>

enum {
    HKI_SPREAD_ROOM =
        32, /* bytes that may be read behind the elements, and stored behind the result */
    HKI_SPREAD_VECTORS = 16 /* of eight words, after which places repeat */
};

typedef struct hki_spread {
    int64_t bytes, n;
    /* Vectors of words of four bytes take words `at` of those from `first` on; `advance` words further places repeat. vectors: 0
     * where elements are stored one by one. */
    int64_t vectors, advance;
    int32_t first[HKI_SPREAD_VECTORS], at[HKI_SPREAD_VECTORS][8];
} hki_spread;

/* bytes: of an element, 1, 4, 8 or 16. */
void hki_spread_init(hki_spread *self, int64_t bytes, int64_t n);
/* Dense elements, to dense rows of n each. */
void hki_spread_run(const hki_spread *self, int64_t elements, const void *from, void *to);

/* By instruction set. NULL: there is none. */
typedef void (*hki_spread_fn)(const hki_spread *self, int64_t elements, const void *from, void *to);
extern const hki_spread_fn hki_spread_avx2;

#endif
