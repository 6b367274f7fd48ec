#include "op/pool/pool2d_lanes.h"

#include "base/integer.h"
#include "base/kernel_isa.h"
#include "base/sync.h"

#include <math.h>
#include <string.h>

/* Of a band of rows in lanes: with what is found in them they fit an L2, and most planes are one band. */
enum { BAND_BYTES = 48 * 1024 };

/* One axis of a window: its kernel positions [begin, end) that are no padding. Of an element: the windows that it is in. */
typedef struct pool_span {
    int32_t begin, end;
} pool_span;

typedef struct pool_plan {
    const hki_pool2d_geometry *g;
    bool average;
    int64_t band;                        /* rows of y, or of dx, that are done at a time */
    const pool_span *rows, *columns;     /* of windows */
    const pool_span *of_row, *of_column; /* of elements */
    const int32_t *row_count,
        *column_count; /* what means are divided by, of each axis of windows */
    void *source, *target, *value, *place,
        *where; /* vectors: of x or dx; of y or dy; of what is found */
} pool_plan;

typedef struct pool_lanes {
    int64_t lanes;
    void (*forward)(const pool_plan *, const void *x, void *y, int64_t begin, int64_t end);
    void (*backward)(const pool_plan *, const void *x, const void *dy, void *dx, int64_t begin,
                     int64_t end);
} pool_lanes;

/* ---- one axis ---- */

static pool_span span_of_window(int64_t out, int64_t stride, int64_t pad, int64_t kernel,
                                int64_t size)
{
    const int64_t start = out * stride - pad;
    const int64_t begin = start < 0 ? -start : 0, end = hki_min(kernel, size - start);
    return begin < end ? (pool_span){(int32_t)begin, (int32_t)end} : (pool_span){0, 0};
}

static pool_span span_of_element(int64_t at, int64_t stride, int64_t pad, int64_t kernel,
                                 int64_t out)
{
    const int64_t before = at + pad - kernel + 1;
    const int64_t begin = before <= 0 ? 0 : hki_divide_up(before, stride);
    const int64_t end = hki_min(out, (at + pad) / stride + 1);
    return begin < end ? (pool_span){(int32_t)begin, (int32_t)end} : (pool_span){0, 0};
}

/* Of window `out`: elements, padding too, but not what is beyond; or those that are no padding. */
static int32_t count_of_window(int64_t out, int64_t stride, int64_t pad, int64_t kernel,
                               int64_t size, bool include_pad)
{
    const pool_span span = span_of_window(out, stride, pad, kernel, size);
    const int64_t count =
        include_pad ? hki_min(kernel, size + 2 * pad - out * stride) : span.end - span.begin;
    return (int32_t)hki_max(count, 1);
}

/* ---- both ---- */

static double window_count(const pool_plan *plan, int64_t oy, int64_t ox)
{
    return (double)plan->row_count[oy] * (double)plan->column_count[ox];
}

/* The rows of x that rows [first, last) of windows have. */
static void source_rows(const hki_pool2d_geometry *g, int64_t first, int64_t last, int64_t *top,
                        int64_t *bottom)
{
    *top = hki_min(hki_max(0, first * g->stride_height - g->pad_height), g->in_height);
    *bottom =
        hki_min(g->in_height, (last - 1) * g->stride_height - g->pad_height + g->kernel_height);
    *bottom = hki_max(*top, *bottom);
}

/* The rows of windows that rows [row, end) of x are in. */
static void window_rows(const pool_plan *plan, int64_t row, int64_t end, int64_t *first,
                        int64_t *last)
{
    *first = *last = 0;
    for (int64_t i = row; i < end; i++) {
        const pool_span span = plan->of_row[i];
        if (span.begin < span.end && *first == *last)
            *first = span.begin;
        if (span.begin < span.end)
            *last = span.end;
    }
}

/* Rows that are done at a time, on either side. */
typedef struct pool_band {
    int64_t step;             /* rows of y forward, of dx backward */
    int64_t sources, windows; /* rows of x (or dx), and of y (or dy), at most */
} pool_band;

static pool_band band_of(const hki_pool2d_geometry *g, bool backward, int64_t step)
{
    pool_band band = {.step = step, .windows = step};
    if (backward)
        band.windows = hki_min(g->out_height, (step + g->kernel_height - 2) / g->stride_height + 1);
    band.sources = (band.windows - 1) * g->stride_height + g->kernel_height;
    band.sources = hki_max(hki_min(g->in_height, band.sources), backward ? step : 0);
    return band;
}

static pool_band choose_band(const hki_pool2d_geometry *g, bool backward, int64_t vector)
{
    const int64_t most = hki_max(1, BAND_BYTES / (g->in_width * vector));
    int64_t step = backward ? g->in_height : g->out_height;
    pool_band band = band_of(g, backward, step);
    while (step > 1 && band.sources > most) {
        step = hki_max(1, step - hki_divide_up(band.sources - most, g->stride_height));
        band = band_of(g, backward, step);
    }
    return band;
}

/* ---- for each instruction set and type ---- */

#define LANES_T float
#define LANES_TARGET
#define LANES_N        4
#define LANES_FN(name) name##_portable_f32
#include "op/pool/pool2d_lanes.inc.c"
#undef LANES_N
#undef LANES_FN
#undef LANES_T

#define LANES_T        double
#define LANES_N        2
#define LANES_FN(name) name##_portable_f64
#include "op/pool/pool2d_lanes.inc.c"
#undef LANES_TARGET
#undef LANES_N
#undef LANES_FN
#undef LANES_T

#if HKI_HAVE_X86_ISAS
#include <immintrin.h>

#define LANES_T        float
#define LANES_TARGET   HKI_TARGET_AVX2
#define LANES_N        8
#define LANES_FN(name) name##_avx2_f32
#include "op/pool/pool2d_lanes.inc.c"
#undef LANES_N
#undef LANES_FN
#undef LANES_T

#define LANES_T        double
#define LANES_N        4
#define LANES_FN(name) name##_avx2_f64
#include "op/pool/pool2d_lanes.inc.c"
#undef LANES_TARGET
#undef LANES_N
#undef LANES_FN
#undef LANES_T

#define LANES_T      float
#define LANES_TARGET HKI_TARGET_AVX512
#define LANES_N      16
#define LANES_K      __mmask16
#define LANES_TAKES(v, m)                                                                          \
    _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask((__m512)(m), (__m512)(m), _CMP_ORD_Q), (__m512)(v), \
                            (__m512)(m), _CMP_NLE_UQ)
#define LANES_SAME(i, j)    _mm512_cmpeq_epi32_mask((__m512i)(i), (__m512i)(j))
#define LANES_PICK(k, a, b) ((V)_mm512_mask_mov_ps((__m512)(b), k, (__m512)(a)))
#define LANES_ADD(k, a, d)  ((V)_mm512_mask_add_ps((__m512)(a), k, (__m512)(a), (__m512)(d)))
#define LANES_FN(name)      name##_avx512_f32
#include "op/pool/pool2d_lanes.inc.c"
#undef LANES_N
#undef LANES_FN
#undef LANES_T

#define LANES_T double
#define LANES_N 8
#define LANES_K __mmask8
#define LANES_TAKES(v, m)                                                                          \
    _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask((__m512d)(m), (__m512d)(m), _CMP_ORD_Q),            \
                            (__m512d)(v), (__m512d)(m), _CMP_NLE_UQ)
#define LANES_SAME(i, j)    _mm512_cmpeq_epi64_mask((__m512i)(i), (__m512i)(j))
#define LANES_PICK(k, a, b) ((V)_mm512_mask_mov_pd((__m512d)(b), k, (__m512d)(a)))
#define LANES_ADD(k, a, d)  ((V)_mm512_mask_add_pd((__m512d)(a), k, (__m512d)(a), (__m512d)(d)))
#define LANES_FN(name)      name##_avx512_f64
#include "op/pool/pool2d_lanes.inc.c"
#undef LANES_TARGET
#undef LANES_N
#undef LANES_FN
#undef LANES_T
#endif

static const pool_lanes *lanes_of(bool f64)
{
    return f64 ? HKI_OF_ISA(pool_lanes, _f64) : HKI_OF_ISA(pool_lanes, _f32);
}

/* ---- plans ---- */

/* The next so many bytes of scratch, whose size is counted where there is none. */
static void *take(char *scratch, size_t *at, int64_t bytes)
{
    void *here = scratch ? scratch + *at : NULL;
    *at += hki_round_up_bytes((size_t)bytes, HKI_CACHE_LINE);
    return here;
}

/* Returns the bytes of scratch that it takes; NULL: nothing else is wanted. */
static size_t plan_init(pool_plan *plan, const hki_pool2d_geometry *g, bool backward, bool f64,
                        void *scratch)
{
    const int64_t vector = lanes_of(f64)->lanes * (f64 ? 8 : 4);
    const pool_band band = choose_band(g, backward, vector);
    size_t bytes = 0;
    pool_span *spans =
        take(scratch, &bytes,
             (g->out_height + g->out_width + g->in_height + g->in_width) * (int64_t)sizeof *spans);
    int32_t *counts =
        take(scratch, &bytes, (g->out_height + g->out_width) * (int64_t)sizeof *counts);
    const int64_t found = band.sources * g->out_width * vector;
    const int64_t windows = band.windows * g->out_width * vector;
    *plan = (pool_plan){.g = g, .band = band.step, .rows = spans, .row_count = counts};
    plan->source = take(scratch, &bytes, band.sources * g->in_width * vector);
    plan->target = take(scratch, &bytes, windows);
    plan->value = take(scratch, &bytes, found);
    plan->place = take(scratch, &bytes, backward ? found : 0);
    plan->where = take(scratch, &bytes, backward ? windows : 0);
    if (!scratch)
        return bytes;
    plan->columns = spans + g->out_height;
    plan->of_row = plan->columns + g->out_width;
    plan->of_column = plan->of_row + g->in_height;
    plan->column_count = counts + g->out_height;
    for (int64_t i = 0; i < g->out_height; i++, spans++, counts++) {
        *spans = span_of_window(i, g->stride_height, g->pad_height, g->kernel_height, g->in_height);
        *counts = count_of_window(i, g->stride_height, g->pad_height, g->kernel_height,
                                  g->in_height, g->count_include_pad);
    }
    for (int64_t i = 0; i < g->out_width; i++, spans++, counts++) {
        *spans = span_of_window(i, g->stride_width, g->pad_width, g->kernel_width, g->in_width);
        *counts = count_of_window(i, g->stride_width, g->pad_width, g->kernel_width, g->in_width,
                                  g->count_include_pad);
    }
    for (int64_t i = 0; i < g->in_height; i++)
        *spans++ =
            span_of_element(i, g->stride_height, g->pad_height, g->kernel_height, g->out_height);
    for (int64_t i = 0; i < g->in_width; i++)
        *spans++ = span_of_element(i, g->stride_width, g->pad_width, g->kernel_width, g->out_width);
    return bytes;
}

size_t hki_pool2d_lanes_bytes(const hki_pool2d_geometry *g, bool backward, bool f64)
{
    pool_plan plan;
    return plan_init(&plan, g, backward, f64, NULL);
}

void hki_pool2d_lanes_forward(const hki_pool2d_lanes *call, const void *x, void *y)
{
    pool_plan plan;
    plan_init(&plan, call->g, false, call->f64, call->scratch);
    plan.average = call->average;
    lanes_of(call->f64)->forward(&plan, x, y, call->begin, call->end);
}

void hki_pool2d_lanes_backward(const hki_pool2d_lanes *call, const void *x, const void *dy,
                               void *dx)
{
    pool_plan plan;
    plan_init(&plan, call->g, true, call->f64, call->scratch);
    plan.average = call->average;
    lanes_of(call->f64)->backward(&plan, x, dy, dx, call->begin, call->end);
}
