/* 2 x 2 windows at stride 2 without padding, POOL_N outputs at a time. The includer defines POOL_T,
   POOL_I (an integer as wide), POOL_N, POOL_TARGET, POOL_FN(name). A row's last step goes back to
   overlap the one before it; out_width is at least POOL_N. */

#include "op/simd/vector_zip.h"

typedef POOL_T POOL_FN(vec) __attribute__((vector_size(sizeof(POOL_T) * POOL_N)));
typedef POOL_I POOL_FN(mask) __attribute__((vector_size(sizeof(POOL_T) * POOL_N)));
typedef POOL_T POOL_FN(vec_unaligned)
    __attribute__((vector_size(sizeof(POOL_T) * POOL_N), aligned(sizeof(POOL_T)), may_alias));
#define T  POOL_T
#define V  POOL_FN(vec)
#define M  POOL_FN(mask)
#define VU POOL_FN(vec_unaligned)

#if POOL_N == 16
#define EVEN(a, b)                                                                                 \
    __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(a, b)                                                                                  \
    __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#elif POOL_N == 8
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#elif POOL_N == 4
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7)
#elif POOL_N == 2
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ODD(a, b)  __builtin_shufflevector(a, b, 1, 3)
#endif

#define LOAD(p)     (*(const VU *)(p))
#define STORE(p, v) (*(VU *)(p) = (v))
/* Where v takes over from the running maximum m: greater, or the first NaN. */
#define TAKES(v, m)   (~(M)((v) <= (m)) & (M)((m) == (m)))
#define PICK(t, v, m) ((V)(((t) & (M)(v)) | (~(t) & (M)(m))))
/* The four corners of POOL_N windows from column 2 j of two rows. */
#define CORNERS(row0, row1, j)                                                                     \
    const V a0 = LOAD((row0) + 2 * (j)), a1 = LOAD((row0) + 2 * (j) + POOL_N);                     \
    const V b0 = LOAD((row1) + 2 * (j)), b1 = LOAD((row1) + 2 * (j) + POOL_N);                     \
    const V c0 = EVEN(a0, a1), c1 = ODD(a0, a1), c2 = EVEN(b0, b1), c3 = ODD(b0, b1)
#define FOR_STEPS(j, width)                                                                        \
    for (int64_t step = 0, j; step < (width); step += POOL_N)                                      \
        if (j = step + POOL_N <= (width) ? step : (width)-POOL_N, true)

POOL_TARGET static void POOL_FN(max_forward_2x2)(const hki_pool2d_geometry *g, const T *x, T *y,
                                                 int64_t planes)
{
    for (int64_t p = 0; p < planes; p++, x += g->in_height * g->in_width) {
        for (int64_t r = 0; r < g->out_height; r++, y += g->out_width) {
            const T *row0 = x + 2 * r * g->in_width, *row1 = row0 + g->in_width;
            FOR_STEPS(j, g->out_width)
            {
                CORNERS(row0, row1, j);
                V m = c0;
                m = PICK(TAKES(c1, m), c1, m);
                m = PICK(TAKES(c2, m), c2, m);
                m = PICK(TAKES(c3, m), c3, m);
                STORE(y + j, m);
            }
        }
    }
}

/* Zeroes what no window covers. */
static void POOL_FN(clear_rest_2x2)(const hki_pool2d_geometry *g, T *dx)
{
    int64_t covered = 2 * g->out_width;
    if (covered < g->in_width)
        for (int64_t r = 0; r < 2 * g->out_height; r++)
            for (int64_t c = covered; c < g->in_width; c++)
                dx[r * g->in_width + c] = 0;
    for (int64_t i = 2 * g->out_height * g->in_width; i < g->in_height * g->in_width; i++)
        dx[i] = 0;
}

POOL_TARGET static void POOL_FN(max_backward_2x2)(const hki_pool2d_geometry *g, const T *x,
                                                  const T *dy, T *dx, int64_t planes)
{
    int64_t plane = g->in_height * g->in_width;
    for (int64_t p = 0; p < planes; p++, x += plane, dx += plane) {
        for (int64_t r = 0; r < g->out_height; r++, dy += g->out_width) {
            int64_t first = 2 * r * g->in_width, second = first + g->in_width;
            FOR_STEPS(j, g->out_width)
            {
                CORNERS(x + first, x + second, j);
                const M d = (M)LOAD(dy + j);
                const M t1 = TAKES(c1, c0);
                V m = PICK(t1, c1, c0);
                const M t2 = TAKES(c2, m);
                m = PICK(t2, c2, m);
                const M t3 = TAKES(c3, m);
                const M d2 = ~t3 & d, d1 = ~t2 & d2;
                const V e0 = (V)(~t1 & d1), e1 = (V)(t1 & d1), e2 = (V)(t2 & d2), e3 = (V)(t3 & d);
                STORE(dx + first + 2 * j, HKI_ZIP_LOW(POOL_N, e0, e1));
                STORE(dx + first + 2 * j + POOL_N, HKI_ZIP_HIGH(POOL_N, e0, e1));
                STORE(dx + second + 2 * j, HKI_ZIP_LOW(POOL_N, e2, e3));
                STORE(dx + second + 2 * j + POOL_N, HKI_ZIP_HIGH(POOL_N, e2, e3));
            }
        }
        POOL_FN(clear_rest_2x2)(g, dx);
    }
}

/* What is not finite because its sum was too large: from quarters, which are exact where that
   happens. */
static void POOL_FN(mend_average_2x2)(const hki_pool2d_geometry *g, const T *x, T *y,
                                      int64_t planes)
{
    for (int64_t p = 0; p < planes; p++, x += g->in_height * g->in_width)
        for (int64_t r = 0; r < g->out_height; r++, y += g->out_width)
            for (int64_t j = 0; j < g->out_width; j++) {
                const T *a = x + 2 * r * g->in_width + 2 * j, *b = a + g->in_width;
                const T share = (T)0.25;
                if (!isfinite(y[j]))
                    y[j] = a[0] * share + a[1] * share + b[0] * share + b[1] * share;
            }
}

POOL_TARGET static void POOL_FN(average_forward_2x2)(const hki_pool2d_geometry *g, const T *x, T *y,
                                                     int64_t planes)
{
    const T *const first_x = x;
    T *const first_y = y;
    V all = {0}; /* is not finite once a mean is not */
    bool any_odd = false;
    for (int64_t p = 0; p < planes; p++, x += g->in_height * g->in_width) {
        for (int64_t r = 0; r < g->out_height; r++, y += g->out_width) {
            const T *row0 = x + 2 * r * g->in_width, *row1 = row0 + g->in_width;
            FOR_STEPS(j, g->out_width)
            {
                CORNERS(row0, row1, j);
                const V mean = (c0 + c1 + c2 + c3) * (T)0.25;
                all += mean;
                STORE(y + j, mean);
            }
        }
    }
    for (int l = 0; l < POOL_N; l++)
        any_odd |= !isfinite(all[l]);
    if (any_odd)
        POOL_FN(mend_average_2x2)(g, first_x, first_y, planes);
}

POOL_TARGET static void POOL_FN(average_backward_2x2)(const hki_pool2d_geometry *g, const T *dy,
                                                      T *dx, int64_t planes)
{
    for (int64_t p = 0; p < planes; p++, dx += g->in_height * g->in_width) {
        for (int64_t r = 0; r < g->out_height; r++, dy += g->out_width) {
            T *row0 = dx + 2 * r * g->in_width, *row1 = row0 + g->in_width;
            FOR_STEPS(j, g->out_width)
            {
                const V d = LOAD(dy + j) * (T)0.25, lo = HKI_ZIP_LOW(POOL_N, d, d),
                        hi = HKI_ZIP_HIGH(POOL_N, d, d);
                STORE(row0 + 2 * j, lo);
                STORE(row0 + 2 * j + POOL_N, hi);
                STORE(row1 + 2 * j, lo);
                STORE(row1 + 2 * j + POOL_N, hi);
            }
        }
        POOL_FN(clear_rest_2x2)(g, dx);
    }
}

static const POOL_ROWS_TYPE POOL_FN(rows_2x2) = {
    POOL_N, POOL_FN(max_forward_2x2), POOL_FN(max_backward_2x2), POOL_FN(average_forward_2x2),
    POOL_FN(average_backward_2x2)};

#undef T
#undef V
#undef M
#undef VU
#undef EVEN
#undef ODD
#undef LOAD
#undef STORE
#undef TAKES
#undef PICK
#undef CORNERS
#undef FOR_STEPS
#undef POOL_N
#undef POOL_FN
