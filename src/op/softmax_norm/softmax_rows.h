/* What softmax and its losses need of lines: extremes, exponentials, their sums. Exponentials of float32 within 2 ulp, of float64
 * the C library's; sums in double, in lanes that are joined in a fixed order: the same bytes on each instruction set. Threads:
 * pure functions. */
#ifndef HOCKET_OP_SOFTMAX_ROWS_H
#define HOCKET_OP_SOFTMAX_ROWS_H

#include <stdbool.h>
#include <stdint.h>

enum { HKI_SOFTMAX_TILE = 64 };

/* max: of size >= 1 elements side by side; a NaN may or may not win.
 * exp_sum: the sum of exp(x - shift), where no element is above shift; of exps likewise.
 * exps: y = exp(x - shift) * scale.
 * line: softmax of elements side by side, or its logarithm.
 * tile: the same of up to HKI_SOFTMAX_TILE neighbouring lines, their elements `inner` apart.
 * back: the gradient of softmax, from its result y: dx = y (dy - sum of y dy). */
#define HKI_SOFTMAX_ROWS(T, name)                                                                  \
    T (*max_##name)(const T *x, int64_t size);                                                     \
    double (*exp_sum_##name)(const T *x, int64_t size, T shift);                                   \
    void (*exps_##name)(const T *x, int64_t size, T shift, T scale, T *y);                         \
    void (*line_##name)(const T *x, T *y, int64_t size, bool log_of);                              \
    void (*tile_##name)(const T *x, T *y, int64_t size, int64_t inner, int64_t width,              \
                        bool log_of);                                                              \
    void (*back_##name)(const T *y, const T *dy, T *dx, int64_t size);

typedef struct hki_softmax_rows {
    HKI_SOFTMAX_ROWS(float, f32)
    HKI_SOFTMAX_ROWS(double, f64)
} hki_softmax_rows;

/* Those of the best instruction set that this processor has. */
const hki_softmax_rows *hki_softmax_rows_get(void);

/* Not all are compiled for every processor. */
extern const hki_softmax_rows hki_softmax_rows_portable, hki_softmax_rows_avx2,
    hki_softmax_rows_avx512;

#endif
