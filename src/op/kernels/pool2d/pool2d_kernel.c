#include "op/kernels/pool2d/pool2d_kernel.h"

#include "base/kernel_isa.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- any kernel, stride and padding ---- */

/* Of window `out` on one axis: the kernel positions [begin, end) that are not padding. */
static void window(int64_t out, int64_t stride, int64_t pad, int64_t kernel, int64_t size,
                   int64_t *begin, int64_t *end)
{
    int64_t start = out * stride - pad;
    *begin = start < 0 ? -start : 0;
    *end = size - start < kernel ? size - start : kernel;
    if (*begin > *end)
        *begin = *end = 0;
}

/* The outputs [begin, end) of an axis for which kernel position k is not padding. */
static void reach(int64_t k, int64_t stride, int64_t pad, int64_t out, int64_t size, int64_t *begin,
                  int64_t *end)
{
    int64_t first = pad > k ? (pad - k + stride - 1) / stride : 0;
    int64_t last = size - 1 + pad - k < 0 ? -1 : (size - 1 + pad - k) / stride;
    *end = last + 1 < out ? last + 1 : out;
    *begin = first < *end ? first : *end;
}

/* Of window `out` on one axis: elements, padding too, but not what is beyond. */
static int64_t padded_count(int64_t out, int64_t stride, int64_t pad, int64_t kernel, int64_t size)
{
    const int64_t left = size + 2 * pad - out * stride;
    return left < kernel ? left : kernel;
}

static int64_t window_count(const hki_pool2d_geometry *g, int64_t oy, int64_t ox)
{
    if (g->count_include_pad)
        return padded_count(oy, g->stride_height, g->pad_height, g->kernel_height, g->in_height) *
               padded_count(ox, g->stride_width, g->pad_width, g->kernel_width, g->in_width);
    int64_t ky0, ky1, kx0, kx1;
    window(oy, g->stride_height, g->pad_height, g->kernel_height, g->in_height, &ky0, &ky1);
    window(ox, g->stride_width, g->pad_width, g->kernel_width, g->in_width, &kx0, &kx1);
    int64_t count = (ky1 - ky0) * (kx1 - kx0);
    return count > 0 ? count : 1;
}

#define WINS(v, m) (!((v) <= (m)) && (m) == (m))

#define GENERAL(T, DT)                                                                             \
    static void max_forward_##DT(const hki_pool2d_geometry *g, const T *x, T *y, int64_t planes)   \
    {                                                                                              \
        int64_t ky0, ky1, begin, end, sw = g->stride_width;                                        \
        for (int64_t p = 0; p < planes; p++, x += g->in_height * g->in_width) {                    \
            for (int64_t oy = 0; oy < g->out_height; oy++, y += g->out_width) {                    \
                for (int64_t ox = 0; ox < g->out_width; ox++)                                      \
                    y[ox] = (T)-INFINITY;                                                          \
                window(oy, g->stride_height, g->pad_height, g->kernel_height, g->in_height, &ky0,  \
                       &ky1);                                                                      \
                for (int64_t ky = ky0; ky < ky1; ky++) {                                           \
                    const T *row = x + (oy * g->stride_height - g->pad_height + ky) * g->in_width; \
                    for (int64_t kx = 0; kx < g->kernel_width; kx++) {                             \
                        reach(kx, sw, g->pad_width, g->out_width, g->in_width, &begin, &end);      \
                        int64_t shift = kx - g->pad_width;                                         \
                        for (int64_t ox = begin; ox < end; ox++) {                                 \
                            T v = row[ox * sw + shift];                                            \
                            y[ox] = WINS(v, y[ox]) ? v : y[ox];                                    \
                        }                                                                          \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The place of the largest in a window that begins at x. */                                   \
    static inline int64_t best_##DT(const T *x, int64_t width, int64_t ky0, int64_t ky1,           \
                                    int64_t kx0, int64_t kx1)                                      \
    {                                                                                              \
        int64_t best = ky0 * width + kx0;                                                          \
        for (int64_t ky = ky0; ky < ky1; ky++) {                                                   \
            for (int64_t kx = kx0; kx < kx1; kx++) {                                               \
                int64_t i = ky * width + kx;                                                       \
                best = WINS(x[i], x[best]) ? i : best;                                             \
            }                                                                                      \
        }                                                                                          \
        return best;                                                                               \
    }                                                                                              \
    static void max_pick_##DT(const hki_pool2d_geometry *g, const T *x, const T *v, T *y,          \
                              int64_t planes)                                                      \
    {                                                                                              \
        int64_t ky0, ky1, kx0, kx1, plane = g->in_height * g->in_width;                            \
        for (int64_t p = 0; p < planes; p++, x += plane, v += plane) {                             \
            for (int64_t oy = 0; oy < g->out_height; oy++, y += g->out_width) {                    \
                window(oy, g->stride_height, g->pad_height, g->kernel_height, g->in_height, &ky0,  \
                       &ky1);                                                                      \
                for (int64_t ox = 0; ox < g->out_width; ox++) {                                    \
                    window(ox, g->stride_width, g->pad_width, g->kernel_width, g->in_width, &kx0,  \
                           &kx1);                                                                  \
                    int64_t corner = (oy * g->stride_height - g->pad_height) * g->in_width +       \
                                     ox * g->stride_width - g->pad_width;                          \
                    y[ox] =                                                                        \
                        ky0 == ky1 || kx0 == kx1                                                   \
                            ? 0                                                                    \
                            : v[best_##DT(x + corner, g->in_width, ky0, ky1, kx0, kx1) + corner];  \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void max_backward_##DT(const hki_pool2d_geometry *g, const T *x, const T *dy, T *dx,    \
                                  int64_t planes)                                                  \
    {                                                                                              \
        int64_t ky0, ky1, kx0, kx1, plane = g->in_height * g->in_width;                            \
        for (int64_t p = 0; p < planes; p++, x += plane, dx += plane) {                            \
            memset(dx, 0, (size_t)plane * sizeof(T));                                              \
            for (int64_t oy = 0; oy < g->out_height; oy++, dy += g->out_width) {                   \
                window(oy, g->stride_height, g->pad_height, g->kernel_height, g->in_height, &ky0,  \
                       &ky1);                                                                      \
                for (int64_t ox = 0; ox < g->out_width; ox++) {                                    \
                    window(ox, g->stride_width, g->pad_width, g->kernel_width, g->in_width, &kx0,  \
                           &kx1);                                                                  \
                    int64_t corner = (oy * g->stride_height - g->pad_height) * g->in_width +       \
                                     ox * g->stride_width - g->pad_width;                          \
                    if (ky0 == ky1 || kx0 == kx1)                                                  \
                        continue;                                                                  \
                    dx[best_##DT(x + corner, g->in_width, ky0, ky1, kx0, kx1) + corner] += dy[ox]; \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void average_forward_##DT(const hki_pool2d_geometry *g, const T *x, T *y,               \
                                     int64_t planes)                                               \
    {                                                                                              \
        int64_t ky0, ky1, begin, end, sw = g->stride_width;                                        \
        for (int64_t p = 0; p < planes; p++, x += g->in_height * g->in_width) {                    \
            for (int64_t oy = 0; oy < g->out_height; oy++, y += g->out_width) {                    \
                memset(y, 0, (size_t)g->out_width * sizeof(T));                                    \
                window(oy, g->stride_height, g->pad_height, g->kernel_height, g->in_height, &ky0,  \
                       &ky1);                                                                      \
                for (int64_t ky = ky0; ky < ky1; ky++) {                                           \
                    const T *row = x + (oy * g->stride_height - g->pad_height + ky) * g->in_width; \
                    for (int64_t kx = 0; kx < g->kernel_width; kx++) {                             \
                        reach(kx, sw, g->pad_width, g->out_width, g->in_width, &begin, &end);      \
                        int64_t shift = kx - g->pad_width;                                         \
                        for (int64_t ox = begin; ox < end; ox++)                                   \
                            y[ox] += row[ox * sw + shift];                                         \
                    }                                                                              \
                }                                                                                  \
                for (int64_t ox = 0; ox < g->out_width; ox++)                                      \
                    y[ox] /= (T)window_count(g, oy, ox);                                           \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void average_backward_##DT(const hki_pool2d_geometry *g, const T *dy, T *dx,            \
                                      int64_t planes)                                              \
    {                                                                                              \
        int64_t ky0, ky1, kx0, kx1, plane = g->in_height * g->in_width;                            \
        for (int64_t p = 0; p < planes; p++, dx += plane) {                                        \
            memset(dx, 0, (size_t)plane * sizeof(T));                                              \
            for (int64_t oy = 0; oy < g->out_height; oy++, dy += g->out_width) {                   \
                window(oy, g->stride_height, g->pad_height, g->kernel_height, g->in_height, &ky0,  \
                       &ky1);                                                                      \
                for (int64_t ox = 0; ox < g->out_width; ox++) {                                    \
                    window(ox, g->stride_width, g->pad_width, g->kernel_width, g->in_width, &kx0,  \
                           &kx1);                                                                  \
                    T share = dy[ox] / (T)window_count(g, oy, ox);                                 \
                    for (int64_t ky = ky0; ky < ky1; ky++) {                                       \
                        int64_t row = (oy * g->stride_height - g->pad_height + ky) * g->in_width;  \
                        for (int64_t kx = kx0; kx < kx1; kx++)                                     \
                            dx[row + ox * g->stride_width - g->pad_width + kx] += share;           \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The passes for 2 x 2 windows in vectors, from some output width on. */                      \
    typedef struct rows_##DT {                                                                     \
        int64_t width;                                                                             \
        void (*max_forward)(const hki_pool2d_geometry *, const T *, T *, int64_t);                 \
        void (*max_backward)(const hki_pool2d_geometry *, const T *, const T *, T *, int64_t);     \
        void (*average_forward)(const hki_pool2d_geometry *, const T *, T *, int64_t);             \
        void (*average_backward)(const hki_pool2d_geometry *, const T *, T *, int64_t);            \
    } rows_##DT;                                                                                   \
    static const rows_##DT rows_general_##DT = {0, max_forward_##DT, max_backward_##DT,            \
                                                average_forward_##DT, average_backward_##DT};

GENERAL(float, f32)
GENERAL(double, f64)

/* ---- 2 x 2 at stride 2 ---- */

#define POOL_T         float
#define POOL_I         int32_t
#define POOL_ROWS_TYPE rows_f32

#define POOL_TARGET
#define POOL_N        4
#define POOL_FN(name) name##_portable_f32_4
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#undef POOL_TARGET

#if HKI_HAVE_X86_ISAS
#define POOL_TARGET   HKI_TARGET_AVX2
#define POOL_N        8
#define POOL_FN(name) name##_avx2_f32_8
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#define POOL_N        4
#define POOL_FN(name) name##_avx2_f32_4
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#undef POOL_TARGET

#define POOL_TARGET   HKI_TARGET_AVX512
#define POOL_N        16
#define POOL_FN(name) name##_avx512_f32_16
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#define POOL_N        8
#define POOL_FN(name) name##_avx512_f32_8
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#define POOL_N        4
#define POOL_FN(name) name##_avx512_f32_4
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#undef POOL_TARGET
#endif

#undef POOL_T
#undef POOL_I
#undef POOL_ROWS_TYPE

#define POOL_T         double
#define POOL_I         int64_t
#define POOL_ROWS_TYPE rows_f64

#define POOL_TARGET
#define POOL_N        2
#define POOL_FN(name) name##_portable_f64_2
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#undef POOL_TARGET

#if HKI_HAVE_X86_ISAS
#define POOL_TARGET   HKI_TARGET_AVX2
#define POOL_N        4
#define POOL_FN(name) name##_avx2_f64_4
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#define POOL_N        2
#define POOL_FN(name) name##_avx2_f64_2
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#undef POOL_TARGET

#define POOL_TARGET   HKI_TARGET_AVX512
#define POOL_N        8
#define POOL_FN(name) name##_avx512_f64_8
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#define POOL_N        4
#define POOL_FN(name) name##_avx512_f64_4
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#define POOL_N        2
#define POOL_FN(name) name##_avx512_f64_2
#include "op/kernels/pool2d/pool2d_rows.inc.c"
#undef POOL_TARGET
#endif

#undef POOL_T
#undef POOL_I
#undef POOL_ROWS_TYPE

/* Widest first; ended by the general one. */
static const rows_f32 *const choices_portable_f32[] = {&rows_2x2_portable_f32_4, &rows_general_f32};
#if HKI_HAVE_X86_ISAS
static const rows_f32 *const choices_avx2_f32[] = {&rows_2x2_avx2_f32_8, &rows_2x2_avx2_f32_4,
                                                   &rows_general_f32};
static const rows_f32 *const choices_avx512_f32[] = {
    &rows_2x2_avx512_f32_16, &rows_2x2_avx512_f32_8, &rows_2x2_avx512_f32_4, &rows_general_f32};
#endif
static const rows_f64 *const choices_portable_f64[] = {&rows_2x2_portable_f64_2, &rows_general_f64};
#if HKI_HAVE_X86_ISAS
static const rows_f64 *const choices_avx2_f64[] = {&rows_2x2_avx2_f64_4, &rows_2x2_avx2_f64_2,
                                                   &rows_general_f64};
static const rows_f64 *const choices_avx512_f64[] = {&rows_2x2_avx512_f64_8, &rows_2x2_avx512_f64_4,
                                                     &rows_2x2_avx512_f64_2, &rows_general_f64};
#endif

static bool is_2x2(const hki_pool2d_geometry *g)
{
    return 2 * g->out_height <= g->in_height && 2 * g->out_width <= g->in_width &&
           g->kernel_height == 2 && g->kernel_width == 2 && g->stride_height == 2 &&
           g->stride_width == 2 && g->pad_height == 0 && g->pad_width == 0;
}

#define PASSES(T, DT)                                                                              \
    static const rows_##DT *choose_##DT(const hki_pool2d_geometry *g)                              \
    {                                                                                              \
        if (!is_2x2(g))                                                                            \
            return &rows_general_##DT;                                                             \
        const rows_##DT *const *choice = HKI_OF_ISA(choices, _##DT);                               \
        while ((*choice)->width > g->out_width)                                                    \
            choice++;                                                                              \
        return *choice;                                                                            \
    }                                                                                              \
    void hki_pool2d_max_forward_##DT(const hki_pool2d_geometry *geometry, const T *x, T *y,        \
                                     int64_t plane_begin, int64_t plane_end)                       \
    {                                                                                              \
        int64_t in = geometry->in_height * geometry->in_width;                                     \
        int64_t out = geometry->out_height * geometry->out_width;                                  \
        choose_##DT(geometry)->max_forward(geometry, x + plane_begin * in, y + plane_begin * out,  \
                                           plane_end - plane_begin);                               \
    }                                                                                              \
    void hki_pool2d_max_backward_##DT(const hki_pool2d_geometry *geometry, const T *x,             \
                                      const T *dy, T *dx, int64_t plane_begin, int64_t plane_end)  \
    {                                                                                              \
        int64_t in = geometry->in_height * geometry->in_width;                                     \
        int64_t out = geometry->out_height * geometry->out_width;                                  \
        choose_##DT(geometry)->max_backward(geometry, x + plane_begin * in,                        \
                                            dy + plane_begin * out, dx + plane_begin * in,         \
                                            plane_end - plane_begin);                              \
    }                                                                                              \
    void hki_pool2d_average_forward_##DT(const hki_pool2d_geometry *geometry, const T *x, T *y,    \
                                         int64_t plane_begin, int64_t plane_end)                   \
    {                                                                                              \
        int64_t in = geometry->in_height * geometry->in_width;                                     \
        int64_t out = geometry->out_height * geometry->out_width;                                  \
        choose_##DT(geometry)->average_forward(geometry, x + plane_begin * in,                     \
                                               y + plane_begin * out, plane_end - plane_begin);    \
    }                                                                                              \
    void hki_pool2d_average_backward_##DT(const hki_pool2d_geometry *geometry, const T *dy, T *dx, \
                                          int64_t plane_begin, int64_t plane_end)                  \
    {                                                                                              \
        int64_t in = geometry->in_height * geometry->in_width;                                     \
        int64_t out = geometry->out_height * geometry->out_width;                                  \
        choose_##DT(geometry)->average_backward(geometry, dy + plane_begin * out,                  \
                                                dx + plane_begin * in, plane_end - plane_begin);   \
    }

PASSES(float, f32)
PASSES(double, f64)

#define PICK(T, DT)                                                                                \
    void hki_pool2d_max_pick_##DT(const hki_pool2d_geometry *g, const T *x, const T *v, T *y,      \
                                  int64_t plane_begin, int64_t plane_end)                          \
    {                                                                                              \
        const int64_t in = plane_begin * g->in_height * g->in_width;                               \
        max_pick_##DT(g, x + in, v + in, y + plane_begin * g->out_height * g->out_width,           \
                      plane_end - plane_begin);                                                    \
    }
PICK(float, f32)
PICK(double, f64)
