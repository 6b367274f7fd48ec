/* What softmax and its kin need of a row: its largest element and the sum of its elements. In lanes, of which
 * compilers make vectors, as many as adding waits for; they are joined in a fixed order. Lanes are written in vectors alone: what is
 * written one by one is slow to be read as a vector. */
#ifndef HOCKET_OP_ROW_SUMS_H
#define HOCKET_OP_ROW_SUMS_H

#include <stdint.h>

/* hki_row_max_*: of size >= 1 elements; a NaN may or may not win. hki_row_sum_*: four are added,
 * and then in double. */
#define HKI_ROW_SUMS(name, T)                                                                      \
    static inline T hki_row_max_##name(const T *x, int64_t size)                                   \
    {                                                                                              \
        T lane[32], max = x[0];                                                                    \
        if (size < 32) {                                                                           \
            for (int64_t i = 1; i < size; i++)                                                     \
                max = x[i] > max ? x[i] : max;                                                     \
            return max;                                                                            \
        }                                                                                          \
        for (int l = 0; l < 32; l++)                                                               \
            lane[l] = max;                                                                         \
        for (int64_t i = 0; i + 32 <= size; i += 32)                                               \
            for (int l = 0; l < 32; l++)                                                           \
                lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];                                 \
        for (int l = 0; l < 32; l++)                                                               \
            lane[l] = x[size - 32 + l] > lane[l] ? x[size - 32 + l] : lane[l];                     \
        for (int half = 16; half > 0; half /= 2)                                                   \
            for (int l = 0; l < half; l++)                                                         \
                lane[l] = lane[l + half] > lane[l] ? lane[l + half] : lane[l];                     \
        return lane[0];                                                                            \
    }                                                                                              \
    static inline double hki_row_sum_##name(const T *x, int64_t size)                              \
    {                                                                                              \
        double lane[16] = {0}, rest = 0;                                                           \
        for (int64_t j = size / 16 * 16; j < size; j++)                                            \
            rest += (double)x[j];                                                                  \
        if (size < 16)                                                                             \
            return rest;                                                                           \
        int64_t i = 0;                                                                             \
        for (; i + 64 <= size; i += 64)                                                            \
            for (int l = 0; l < 16; l++)                                                           \
                lane[l] += (double)((x[i + l] + x[i + 16 + l]) + (x[i + 32 + l] + x[i + 48 + l])); \
        for (; i + 16 <= size; i += 16)                                                            \
            for (int l = 0; l < 16; l++)                                                           \
                lane[l] += (double)x[i + l];                                                       \
        for (int half = 8; half > 0; half /= 2)                                                    \
            for (int l = 0; l < half; l++)                                                         \
                lane[l] += lane[l + half];                                                         \
        return lane[0] + rest;                                                                     \
    }

HKI_ROW_SUMS(f32, float)
HKI_ROW_SUMS(f64, double)

#undef HKI_ROW_SUMS

#endif
