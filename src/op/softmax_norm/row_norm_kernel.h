/* Normalisation of rows on one core: layer norm, RMS norm and group norm on raw contiguous arrays
   [rows][size]. Every function is reentrant, allocates nothing, and works on rows [begin, end) of
   the whole arrays (pointers are to row 0).

   Element j of row r is scaled and shifted by element (r % groups) * (size / inner) + j / inner of
   gamma and beta: those of a layer norm lie side by side (groups 1, inner 1), those of a group norm
   are a channel's (inner: its positions).

   statistics are [rows][3]: mean, 0 where it is not taken away; 1 / sqrt(variance + eps), of the
   mean square where it is not; and what rounding the mean lost, or 0 where that is little beside
   the deviation. Elements go by both parts of the mean. Sums over a row add four elements of its
   type, and then in double, in an order that follows from size and inner: a row's bytes do not
   depend on the range that it is in. Sources: Ba et al. 2016; Zhang, Sennrich 2019 (RMS); Wu, He
   2018 (groups). */
#ifndef HOCKET_OP_KERNELS_ROW_NORM_KERNEL_H
#define HOCKET_OP_KERNELS_ROW_NORM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hki_row_norm_shape {
    int64_t rows, size, inner, groups;
    bool is_centred; /* the mean is taken away */
} hki_row_norm_shape;

#define HKI_ROW_NORM(T, DT)                                                                        \
    /* y = (x - mean) * inverse * gamma + beta; gamma and beta may be NULL. size >= 1. */          \
    void hki_row_norm_forward_##DT(const hki_row_norm_shape *shape, double eps, const T *x,        \
                                   const T *gamma, const T *beta, T *y, T *statistics,             \
                                   int64_t begin, int64_t end);                                    \
    /* Overwrites those rows of dx. */                                                             \
    void hki_row_norm_backward_##DT(const hki_row_norm_shape *shape, const T *x, const T *dy,      \
                                    const T *gamma, const T *statistics, T *dx, int64_t begin,     \
                                    int64_t end);                                                  \
    /* Adds what those rows give to the gradients of gamma, then of beta, to sums, row by row. */  \
    void hki_row_norm_weigh_##DT(const hki_row_norm_shape *shape, const T *x, const T *dy,         \
                                 const T *statistics, T *sums, int64_t begin, int64_t end);

HKI_ROW_NORM(float, f32)
HKI_ROW_NORM(double, f64)

#undef HKI_ROW_NORM

#endif
