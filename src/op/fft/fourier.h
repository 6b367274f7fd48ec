/* The operator that all Fourier transforms are made of. */
#ifndef HOCKET_OP_FOURIER_H
#define HOCKET_OP_FOURIER_H

#include "op/op.h"

/* Lines of x along an axis are cut, or filled up with zeros, to n elements, and transformed; the first `out` of what comes are the
 * result, with zeros behind them where there are fewer:
 *
 *     y[k] = scale v[k] sum over j < n of w[j] x[j] exp(sign 2 pi i j k / n)
 *
 * where w or v is 2 but for the elements that are their own mirror image (0, and n / 2 of an even n), if `weights` says so, and
 * 1 otherwise: what half of a symmetric spectrum stands for. The gradient is the same with x and y, w and v, and signs exchanged. */
typedef enum hki_fourier_weights {
    HKI_FOURIER_PLAIN,
    HKI_FOURIER_WEIGH_IN, /* w */
    HKI_FOURIER_WEIGH_OUT /* v */
} hki_fourier_weights;

#define HKI_FOURIER_ARGUMENTS(F, op)                                                               \
    F(op, INT, axis, "", "an axis, from the front")                                                \
    F(op, INT, n, "", "length of the transform, 1 at least")                                       \
    F(op, INT, out, "", "how many elements of each line come out")                                 \
    F(op, INT, sign, "", "of the exponent, -1 or 1")                                               \
    F(op, INT, weights, "", "an hki_fourier_weights")                                              \
    F(op, F64, scale, "", "what the sums are multiplied by")                                       \
    F(op, BOOL, is_real, "", "whether the result is the real part alone")
HKI_OPTIONS_STRUCT(fourier, HKI_FOURIER_ARGUMENTS)

#endif
