/* What softmax and its kin need of a row: its largest element and the sum of its elements. Eight lanes, of
 * which compilers make vectors, joined in a fixed order. */
#ifndef HOCKET_OP_ROW_SUMS_H
#define HOCKET_OP_ROW_SUMS_H

#include <stdint.h>

/* hki_row_max_*: of size >= 1 elements; a NaN may or may not win. hki_row_sum_*: in double. */
#define HKI_ROW_SUMS(name, T)                                                                      \
    static inline T hki_row_max_##name(const T *x, int64_t size)                                   \
    {                                                                                              \
        T lane[8];                                                                                 \
        int64_t end = size / 8 * 8;                                                                \
        for (int l = 0; l < 8; l++)                                                                \
            lane[l] = x[0];                                                                        \
        for (int64_t i = 0; i < end; i += 8)                                                       \
            for (int l = 0; l < 8; l++)                                                            \
                lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];                                 \
        for (int64_t i = end; i < size; i++)                                                       \
            lane[i - end] = x[i] > lane[i - end] ? x[i] : lane[i - end];                           \
        for (int half = 4; half > 0; half /= 2)                                                    \
            for (int l = 0; l < half; l++)                                                         \
                lane[l] = lane[l + half] > lane[l] ? lane[l + half] : lane[l];                     \
        return lane[0];                                                                            \
    }                                                                                              \
    static inline double hki_row_sum_##name(const T *x, int64_t size)                              \
    {                                                                                              \
        double lane[8] = {0};                                                                      \
        int64_t end = size / 8 * 8;                                                                \
        for (int64_t i = 0; i < end; i += 8)                                                       \
            for (int l = 0; l < 8; l++)                                                            \
                lane[l] += (double)x[i + l];                                                       \
        for (int64_t i = end; i < size; i++)                                                       \
            lane[i - end] += (double)x[i];                                                         \
        for (int half = 4; half > 0; half /= 2)                                                    \
            for (int l = 0; l < half; l++)                                                         \
                lane[l] += lane[l + half];                                                         \
        return lane[0];                                                                            \
    }

HKI_ROW_SUMS(f32, float)
HKI_ROW_SUMS(f64, double)

#undef HKI_ROW_SUMS

#endif
