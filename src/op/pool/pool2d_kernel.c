#include "op/pool/pool2d_kernel.h"

#include "base/kernel_isa.h"
#include "op/pool/pool2d_lanes.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- the gradient's gradient, of any kernel, stride and padding ---- */

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

#define WINS(v, m) (!((v) <= (m)) && (m) == (m))

#define PICK_MAX(T, DT)                                                                            \
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
    }

PICK_MAX(float, f32)
PICK_MAX(double, f64)

#define ROWS(T, DT)                                                                                \
    /* The passes for 2 x 2 windows in vectors, from some output width on. */                      \
    typedef struct rows_##DT {                                                                     \
        int64_t width;                                                                             \
        void (*max_forward)(const hki_pool2d_geometry *, const T *, T *, int64_t);                 \
        void (*max_backward)(const hki_pool2d_geometry *, const T *, const T *, T *, int64_t);     \
        void (*average_forward)(const hki_pool2d_geometry *, const T *, T *, int64_t);             \
        void (*average_backward)(const hki_pool2d_geometry *, const T *, T *, int64_t);            \
    } rows_##DT;

ROWS(float, f32)
ROWS(double, f64)

/* ---- 2 x 2 at stride 2 ---- */

#define POOL_T         float
#define POOL_I         int32_t
#define POOL_ROWS_TYPE rows_f32

#define POOL_TARGET
#define POOL_N        4
#define POOL_FN(name) name##_portable_f32_4
#include "op/pool/pool2d_rows.inc.c"
#undef POOL_TARGET

#if HKI_HAVE_X86_ISAS
#define POOL_TARGET   HKI_TARGET_AVX2
#define POOL_N        8
#define POOL_FN(name) name##_avx2_f32_8
#include "op/pool/pool2d_rows.inc.c"
#define POOL_N        4
#define POOL_FN(name) name##_avx2_f32_4
#include "op/pool/pool2d_rows.inc.c"
#undef POOL_TARGET

#define POOL_TARGET   HKI_TARGET_AVX512
#define POOL_N        16
#define POOL_FN(name) name##_avx512_f32_16
#include "op/pool/pool2d_rows.inc.c"
#define POOL_N        8
#define POOL_FN(name) name##_avx512_f32_8
#include "op/pool/pool2d_rows.inc.c"
#define POOL_N        4
#define POOL_FN(name) name##_avx512_f32_4
#include "op/pool/pool2d_rows.inc.c"
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
#include "op/pool/pool2d_rows.inc.c"
#undef POOL_TARGET

#if HKI_HAVE_X86_ISAS
#define POOL_TARGET   HKI_TARGET_AVX2
#define POOL_N        4
#define POOL_FN(name) name##_avx2_f64_4
#include "op/pool/pool2d_rows.inc.c"
#define POOL_N        2
#define POOL_FN(name) name##_avx2_f64_2
#include "op/pool/pool2d_rows.inc.c"
#undef POOL_TARGET

#define POOL_TARGET   HKI_TARGET_AVX512
#define POOL_N        8
#define POOL_FN(name) name##_avx512_f64_8
#include "op/pool/pool2d_rows.inc.c"
#define POOL_N        4
#define POOL_FN(name) name##_avx512_f64_4
#include "op/pool/pool2d_rows.inc.c"
#define POOL_N        2
#define POOL_FN(name) name##_avx512_f64_2
#include "op/pool/pool2d_rows.inc.c"
#undef POOL_TARGET
#endif

#undef POOL_T
#undef POOL_I
#undef POOL_ROWS_TYPE

/* Widest first; NULL: none, so that planes go in lanes. */
static const rows_f32 *const choices_portable_f32[] = {&rows_2x2_portable_f32_4, NULL};
static const rows_f64 *const choices_portable_f64[] = {&rows_2x2_portable_f64_2, NULL};
#if HKI_HAVE_X86_ISAS
static const rows_f32 *const choices_avx2_f32[] = {&rows_2x2_avx2_f32_8, &rows_2x2_avx2_f32_4,
                                                   NULL};
static const rows_f32 *const choices_avx512_f32[] = {
    &rows_2x2_avx512_f32_16, &rows_2x2_avx512_f32_8, &rows_2x2_avx512_f32_4, NULL};
static const rows_f64 *const choices_avx2_f64[] = {&rows_2x2_avx2_f64_4, &rows_2x2_avx2_f64_2,
                                                   NULL};
static const rows_f64 *const choices_avx512_f64[] = {&rows_2x2_avx512_f64_8, &rows_2x2_avx512_f64_4,
                                                     &rows_2x2_avx512_f64_2, NULL};
#endif

static bool is_2x2(const hki_pool2d_geometry *g)
{
    return 2 * g->out_height <= g->in_height && 2 * g->out_width <= g->in_width &&
           g->kernel_height == 2 && g->kernel_width == 2 && g->stride_height == 2 &&
           g->stride_width == 2 && g->pad_height == 0 && g->pad_width == 0;
}

#define PASSES(T, DT, IS_F64)                                                                      \
    static const rows_##DT *choose_##DT(const hki_pool2d_geometry *g)                              \
    {                                                                                              \
        const rows_##DT *const *choice = HKI_OF_ISA(choices, _##DT);                               \
        while (*choice && (!is_2x2(g) || (*choice)->width > g->out_width))                         \
            choice++;                                                                              \
        return *choice;                                                                            \
    }                                                                                              \
    void hki_pool2d_max_forward_##DT(const hki_pool2d_geometry *g, const T *x, T *y,               \
                                     int64_t begin, int64_t end, void *scratch)                    \
    {                                                                                              \
        const rows_##DT *rows = choose_##DT(g);                                                    \
        if (rows)                                                                                  \
            rows->max_forward(g, x + begin * in_plane(g), y + begin * out_plane(g), end - begin);  \
        else                                                                                       \
            hki_pool2d_lanes_forward(&(hki_pool2d_lanes){g, IS_F64, false, begin, end, scratch},   \
                                     x, y);                                                        \
    }                                                                                              \
    void hki_pool2d_max_backward_##DT(const hki_pool2d_geometry *g, const T *x, const T *dy,       \
                                      T *dx, int64_t begin, int64_t end, void *scratch)            \
    {                                                                                              \
        const rows_##DT *rows = choose_##DT(g);                                                    \
        if (rows)                                                                                  \
            rows->max_backward(g, x + begin * in_plane(g), dy + begin * out_plane(g),              \
                               dx + begin * in_plane(g), end - begin);                             \
        else                                                                                       \
            hki_pool2d_lanes_backward(&(hki_pool2d_lanes){g, IS_F64, false, begin, end, scratch},  \
                                      x, dy, dx);                                                  \
    }                                                                                              \
    void hki_pool2d_average_forward_##DT(const hki_pool2d_geometry *g, const T *x, T *y,           \
                                         int64_t begin, int64_t end, void *scratch)                \
    {                                                                                              \
        const rows_##DT *rows = choose_##DT(g);                                                    \
        if (rows)                                                                                  \
            rows->average_forward(g, x + begin * in_plane(g), y + begin * out_plane(g),            \
                                  end - begin);                                                    \
        else                                                                                       \
            hki_pool2d_lanes_forward(&(hki_pool2d_lanes){g, IS_F64, true, begin, end, scratch}, x, \
                                     y);                                                           \
    }                                                                                              \
    void hki_pool2d_average_backward_##DT(const hki_pool2d_geometry *g, const T *dy, T *dx,        \
                                          int64_t begin, int64_t end, void *scratch)               \
    {                                                                                              \
        const rows_##DT *rows = choose_##DT(g);                                                    \
        if (rows)                                                                                  \
            rows->average_backward(g, dy + begin * out_plane(g), dx + begin * in_plane(g),         \
                                   end - begin);                                                   \
        else                                                                                       \
            hki_pool2d_lanes_backward(&(hki_pool2d_lanes){g, IS_F64, true, begin, end, scratch},   \
                                      NULL, dy, dx);                                               \
    }                                                                                              \
    void hki_pool2d_max_pick_##DT(const hki_pool2d_geometry *g, const T *x, const T *v, T *y,      \
                                  int64_t begin, int64_t end)                                      \
    {                                                                                              \
        max_pick_##DT(g, x + begin * in_plane(g), v + begin * in_plane(g),                         \
                      y + begin * out_plane(g), end - begin);                                      \
    }

static int64_t in_plane(const hki_pool2d_geometry *g)
{
    return g->in_height * g->in_width;
}

static int64_t out_plane(const hki_pool2d_geometry *g)
{
    return g->out_height * g->out_width;
}

PASSES(float, f32, false)
PASSES(double, f64, true)

size_t hki_pool2d_scratch_bytes(const hki_pool2d_geometry *g, bool backward, bool f64)
{
    const bool in_rows = f64 ? choose_f64(g) != NULL : choose_f32(g) != NULL;
    return in_rows ? 0 : hki_pool2d_lanes_bytes(g, backward, f64);
}
