#include "op/shape/spread.h"

#include "base/kernel_isa.h"

#include <hocket/base.h>

/* Each element n times. What is stored behind a row is stored again by the next one. */
#define SPREAD(type)                                                                               \
    case sizeof(type):                                                                             \
        for (int64_t row = 0; row < elements; row++) {                                             \
            enum { TOGETHER = HKI_SPREAD_ROOM / sizeof(type) };                                    \
            const type one = ((const type *)from)[row];                                            \
            type *out = (type *)to + row * n;                                                      \
            for (int64_t i = 0; i < n; i += TOGETHER)                                              \
                for (int j = 0; j < TOGETHER; j++)                                                 \
                    out[i + j] = one;                                                              \
        }                                                                                          \
        break;
static void spread(const hki_spread *self, int64_t elements, const void *from, void *to)
{
    const int64_t n = self->n;
    switch (self->bytes) {
        SPREAD(uint8_t)
        SPREAD(uint32_t)
        SPREAD(uint64_t)
        SPREAD(hk_complex)
    }
}

void hki_spread_init(hki_spread *self, int64_t bytes, int64_t n)
{
    const int64_t words = bytes / 4, row = n * words;
    self->bytes = bytes;
    self->n = n;
    self->vectors = 0;
    if (words == 0 || row > HKI_SPREAD_VECTORS || !hki_spread_avx2 ||
        hki_kernel_isa_get() == HKI_ISA_PORTABLE)
        return;
    do {
        const int64_t begin = 8 * self->vectors, first = begin / row * words;
        int32_t *at = self->at[self->vectors];
        self->first[self->vectors++] = (int32_t)first;
        for (int64_t i = 0; i < 8; i++)
            at[i] = (int32_t)((begin + i) / row * words + (begin + i) % words - first);
    } while (8 * self->vectors % row);
    self->advance = 8 * self->vectors / row * words;
}

void hki_spread_run(const hki_spread *self, int64_t elements, const void *from, void *to)
{
    (self->vectors ? hki_spread_avx2 : spread)(self, elements, from, to);
}
