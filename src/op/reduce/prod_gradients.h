/* Gradients of products along lines, by one source for the processor and for GPUs: a line is done in one go, in order. */
#ifndef HOCKET_OP_PROD_GRADIENTS_H
#define HOCKET_OP_PROD_GRADIENTS_H

#include <stdint.h>

/* The gradient of cumulative_prod on a line of `size` elements, which are `step` apart: dx_i is the sum over j >= i of
 * dy_j y_j / x_i. From the first 0 on all y are 0: only its own gradient has terms behind it, whose factors are multiplied
 * anew; what comes later has none. A: what gathers T. */
#define HKI_CUMULATIVE_PROD_BACKWARD(QUALIFIER, name, T, A)                                        \
    QUALIFIER void name(const void *xs, const void *ys, const void *dys, void *dxs, int64_t size,  \
                        int64_t step)                                                              \
    {                                                                                              \
        const T *x = (const T *)xs, *y = (const T *)ys, *dy = (const T *)dys;                      \
        T *dx = (T *)dxs;                                                                          \
        int64_t zero = 0;                                                                          \
        while (zero < size && x[zero * step] != 0)                                                 \
            zero++;                                                                                \
        for (int64_t j = zero + 1; j < size; j++)                                                  \
            dx[j * step] = 0;                                                                      \
        A sum = 0;                                                                                 \
        if (zero < size) {                                                                         \
            A others = zero > 0 ? (A)y[(zero - 1) * step] : 1;                                     \
            for (int64_t j = zero; j < size; j++) {                                                \
                others *= j > zero ? (A)x[j * step] : 1;                                           \
                sum += (A)dy[j * step] * others;                                                   \
            }                                                                                      \
            dx[zero * step] = (T)sum;                                                              \
        }                                                                                          \
        sum = 0;                                                                                   \
        for (int64_t j = zero - 1; j >= 0; j--) {                                                  \
            sum += (A)dy[j * step] * (A)y[j * step];                                               \
            dx[j * step] = (T)(sum / (A)x[j * step]);                                              \
        }                                                                                          \
    }

/* What that changes by along v, which is dx, and what y does, which is ddy. With Y the products before each and R the sums of dy_j
 * and the product of what is behind it up to j, the gradient is Y R. Along v these change by dY, which with each one's own factor
 * is what y changes by, the gradient by dy, and by dR. */
#define HKI_CUMULATIVE_PROD_SECOND(QUALIFIER, name, T, A)                                          \
    QUALIFIER void name(const void *xs, const void *ys, const void *dys, const void *vs,           \
                        void *dxs, void *ddys, int64_t size, int64_t step)                         \
    {                                                                                              \
        const T *x = (const T *)xs, *y = (const T *)ys, *dy = (const T *)dys, *v = (const T *)vs;  \
        T *dx = (T *)dxs, *ddy = (T *)ddys;                                                        \
        A slope = 0; /* of y so far */                                                             \
        for (int64_t j = 0; j < size; j++) {                                                       \
            const A before = j > 0 ? (A)y[(j - 1) * step] : 1;                                     \
            slope = slope * (A)x[j * step] + before * (A)v[j * step];                              \
            ddy[j * step] = (T)slope;                                                              \
        }                                                                                          \
        A rest = 0, rest_slope = 0;                                                                \
        for (int64_t j = size - 1; j >= 0; j--) {                                                  \
            const bool is_first = j == 0, is_last = j == size - 1;                                 \
            const A factor = is_last ? 0 : (A)x[(j + 1) * step],                                   \
                    moved = is_last ? 0 : (A)v[(j + 1) * step];                                    \
            rest_slope = moved * rest + factor * rest_slope;                                       \
            rest = (A)dy[j * step] + factor * rest;                                                \
            dx[j * step] = (T)((is_first ? 0 : (A)ddy[(j - 1) * step]) * rest +                    \
                               (is_first ? 1 : (A)y[(j - 1) * step]) * rest_slope);                \
        }                                                                                          \
    }

/* What prod's gradient changes by along v: g times the sum over j of v_j and the product of all but i and j. The lines are those
 * of `gone`, an Axes with their `count`; X_AT(i), V_AT(i) and DX_AT(i) are elements. */
#define HKI_PROD_SECOND(QUALIFIER, name, T, Axes)                                                  \
    QUALIFIER void name(const Axes *gone, const T *x, const T *v, T y, T g, T *dx)                 \
    {                                                                                              \
        int64_t zeros = 0, places[2] = {0, 0};                                                     \
        double others = 1, sum = 0;                                                                \
        (void)y;                                                                                   \
        for (int64_t i = 0; i < gone->count; i++) {                                                \
            const double at = (double)X_AT(i);                                                     \
            if (at != 0) {                                                                         \
                others *= at;                                                                      \
                sum += (double)V_AT(i) / at;                                                       \
            } else if (zeros++ < 2) {                                                              \
                places[1] = i;                                                                     \
                places[0] = zeros == 1 ? i : places[0];                                            \
            }                                                                                      \
        }                                                                                          \
        for (int64_t i = 0; i < gone->count; i++) {                                                \
            const double at = (double)X_AT(i);                                                     \
            double share = 0;                                                                      \
            if (zeros == 0)                                                                        \
                share = others / at * (sum - (double)V_AT(i) / at);                                \
            else if (zeros == 1)                                                                   \
                share = at == 0 ? others * sum : (double)V_AT(places[0]) * (others / at);          \
            else if (zeros == 2 && at == 0)                                                        \
                share = (double)V_AT(i == places[0] ? places[1] : places[0]) * others;             \
            DX_AT(i) = (T)((double)g * share);                                                     \
        }                                                                                          \
    }

#endif
