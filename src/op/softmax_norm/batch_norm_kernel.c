#include "op/softmax_norm/batch_norm_kernel.h"

#include "base/kernel_isa.h"
#include "op/reduce/row_sums.h"

#include <math.h>
#include <string.h>

/* Positions of a tile: its sums and coefficients stay in L1. */
enum { TILE = 512 };

int64_t hki_batch_norm_block_channels(const hki_batch_norm_shape *shape)
{
    return shape->inner < 1 ? TILE : shape->inner < TILE ? TILE / shape->inner : 1;
}

/* The next multiple of `unit` after p, at most end. */
static int64_t tile_end(int64_t p, int64_t end, int64_t unit)
{
    int64_t next = (p / unit + 1) * unit;
    return next < end ? next : end;
}

/* Adds what belongs to positions [begin, end), counted from the block's first, to its channels' sums. */
static void fold(const double *at, int64_t inner, int64_t begin, int64_t end, double *channel)
{
    for (int64_t p = begin, stop; p < end; p = stop) {
        stop = tile_end(p, end, inner);
        channel[p / inner] += hki_row_sum_f64(at + (p - begin), stop - p);
    }
}

/* at[p - begin] = the value of the channel that position p, counted from the block's first, belongs to. */
#define SPREAD(name, T)                                                                            \
    static void spread_##name(const double *channel, int64_t inner, int64_t begin, int64_t end,    \
                              T *at)                                                               \
    {                                                                                              \
        for (int64_t p = begin, stop; p < end; p = stop) {                                         \
            const T value = (T)channel[p / inner];                                                 \
            stop = tile_end(p, end, inner);                                                        \
            for (int64_t i = p; i < stop; i++)                                                     \
                at[i - begin] = value;                                                             \
        }                                                                                          \
    }

SPREAD(f32, float)
SPREAD(f64, double)

/* ---- the loops, for each dtype and instruction set ---- */

#define NORM_T      float
#define NORM_SPREAD spread_f32

#define NORM_TARGET
#define NORM_FN(name) name##_portable_f32
#include "op/softmax_norm/batch_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN

#if HKI_HAVE_X86_ISAS
#define NORM_TARGET   HKI_TARGET_AVX2
#define NORM_FN(name) name##_avx2_f32
#include "op/softmax_norm/batch_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN

#define NORM_TARGET   HKI_TARGET_AVX512
#define NORM_FN(name) name##_avx512_f32
#include "op/softmax_norm/batch_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN
#endif

#undef NORM_T
#undef NORM_SPREAD

#define NORM_T      double
#define NORM_SPREAD spread_f64

#define NORM_TARGET
#define NORM_FN(name) name##_portable_f64
#include "op/softmax_norm/batch_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN

#if HKI_HAVE_X86_ISAS
#define NORM_TARGET   HKI_TARGET_AVX2
#define NORM_FN(name) name##_avx2_f64
#include "op/softmax_norm/batch_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN

#define NORM_TARGET   HKI_TARGET_AVX512
#define NORM_FN(name) name##_avx512_f64
#include "op/softmax_norm/batch_norm_loops.inc.c"
#undef NORM_TARGET
#undef NORM_FN
#endif

#undef NORM_T
#undef NORM_SPREAD

#define PASSES(T, DT)                                                                              \
    void hki_batch_norm_forward_##DT(const hki_batch_norm_shape *shape, double eps, const T *x,    \
                                     const T *gamma, const T *beta, const T *given_mean,           \
                                     const T *given_variance, T *y, T *statistics, int64_t begin,  \
                                     int64_t end)                                                  \
    {                                                                                              \
        const int64_t block = hki_batch_norm_block_channels(shape);                                \
        for (int64_t c = begin; c < end; c += block)                                               \
            HKI_OF_ISA(forward_block, _##DT)                                                       \
        (shape, eps, x, gamma, beta, given_mean, given_variance, y, statistics, c,                 \
         c + block < end ? c + block : end);                                                       \
    }                                                                                              \
    void hki_batch_norm_backward_##DT(const hki_batch_norm_shape *shape, bool given, const T *x,   \
                                      const T *dy, const T *gamma, const T *statistics, T *dx,     \
                                      T *sums, int64_t begin, int64_t end)                         \
    {                                                                                              \
        const int64_t block = hki_batch_norm_block_channels(shape);                                \
        for (int64_t c = begin; c < end; c += block)                                               \
            HKI_OF_ISA(backward_block, _##DT)                                                      \
        (shape, given, x, dy, gamma, statistics, dx, sums, c, c + block < end ? c + block : end);  \
    }

PASSES(float, f32)
PASSES(double, f64)
