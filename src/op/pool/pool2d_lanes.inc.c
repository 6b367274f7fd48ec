/* Windows of any size, with a plane in each lane. The includer defines what lanes.inc.c asks for, and may define, where
   comparisons make bits: LANES_K, their type; LANES_TAKES(v, m), where v takes over from the running maximum m; LANES_SAME(i, j)
   of integers; LANES_PICK(k, a, b), a where a bit is set, else b; LANES_ADD(k, a, d), a + d where a bit is set, else a.

   Some rows of up to LANES_N planes are transposed at a time. Windows are searched by rows first: the first of the largest
   columns of the first of the largest rows is the first of the largest. Gradients are gathered by each element of x, from the
   windows that it is in, in their order. */

#include "op/simd/lanes.inc.c"

#ifndef LANES_K
#define LANES_K             M
#define LANES_TAKES(v, m)   (~(M)((v) <= (m)) & (M)((m) == (m)))
#define LANES_SAME(i, j)    ((i) == (j))
#define LANES_PICK(k, a, b) ((V)(((k) & (M)(a)) | (~(k) & (M)(b))))
#define LANES_ADD(k, a, d)  ((a) + (V)((k) & (M)(d)))
#endif

/* elements of each lane to count <= L rows, `row` apart. */
LANES_TARGET static void LANES_FN(lanes_to_rows)(const T *lanes, int64_t elements, int64_t count,
                                                 int64_t row, T *rows)
{
    for (int64_t p = 0; p < elements; p += L) {
        /* the last step overlaps the one before it */
        int64_t at = p + L <= elements || elements < L ? p : elements - L;
        int64_t run = elements < L ? elements : L;
        V v[L];
        UNROLL for (int i = 0; i < L; i++) v[i] =
            i < run ? *(const V *)(lanes + (at + i) * L) : (V){0};
        LANES_FN(transpose)(v);
        if (count == L && run == L) {
            UNROLL for (int s = 0; s < L; s++) * (VU *)(rows + s * row + at) = v[s];
            continue;
        }
        V copy[L]; /* v itself stays in registers */
        UNROLL for (int s = 0; s < L; s++) copy[s] = v[s];
        for (int64_t s = 0; s < count; s++) {
            if (run == L)
                *(VU *)(rows + s * row + at) = copy[s];
            else
                LANES_FN(copy_short)(rows + s * row, (const T *)&copy[s], run);
        }
    }
}

/* Of the rows of a band, the largest of each window's columns, and which column that is. */
LANES_INLINE void LANES_FN(search_columns)(const pool_plan *plan, const T *x, int64_t rows,
                                           T *value, M *place)
{
    const hki_pool2d_geometry *g = plan->g;
    for (int64_t r = 0; r < rows; r++, x += g->in_width * L)
        for (int64_t ox = 0; ox < g->out_width; ox++, value += L) {
            const pool_span span = plan->columns[ox];
            const int64_t shift = ox * g->stride_width - g->pad_width;
            const T *from = x + shift * L;
            if (span.begin == span.end)
                continue;
            V best = *(const V *)(from + span.begin * L);
            M which = (M){0} + span.begin;
            for (int32_t k = span.begin + 1; k < span.end; k++) {
                const V v = *(const V *)(from + k * L);
                const LANES_K takes = LANES_TAKES(v, best);
                best = LANES_PICK(takes, v, best);
                if (place)
                    which = (M)LANES_PICK(takes, (V)((M){0} + k), (V)which);
            }
            *(V *)value = best;
            if (place)
                *place++ = which;
        }
}

/* Of a row of windows, from what search_columns found in theirs: row by row, the first is that of kernel row span.begin. */
LANES_INLINE void LANES_FN(search_rows)(const pool_plan *plan, pool_span span, const T *value,
                                        const M *place, T *largest, M *where)
{
    const hki_pool2d_geometry *g = plan->g;
    for (int64_t ox = 0; ox < g->out_width; ox++) {
        V best = (V){0} - (T)INFINITY;
        M which = (M){0} - 1;
        if (span.begin < span.end && plan->columns[ox].begin < plan->columns[ox].end) {
            best = *(const V *)(value + ox * L);
            if (where)
                which = place[ox] + span.begin * (int32_t)g->kernel_width;
            for (int32_t k = 1; k < span.end - span.begin; k++) {
                const V v = *(const V *)(value + (k * g->out_width + ox) * L);
                const LANES_K takes = LANES_TAKES(v, best);
                best = LANES_PICK(takes, v, best);
                if (where)
                    which = (M)LANES_PICK(takes,
                                          (V)(place[k * g->out_width + ox] +
                                              (k + span.begin) * (int32_t)g->kernel_width),
                                          (V)which);
            }
        }
        if (largest)
            *(V *)(largest + ox * L) = best;
        if (where)
            where[ox] = which;
    }
}

/* The largest of rows [first, last) of windows, or where they are; x begins at row `top`. */
LANES_TARGET static void LANES_FN(search)(const pool_plan *plan, const T *x, int64_t top,
                                          int64_t rows, int64_t first, int64_t last, T *value,
                                          M *place, T *largest, M *where)
{
    const hki_pool2d_geometry *g = plan->g;
    if (where)
        LANES_FN(search_columns)(plan, x, rows, value, place);
    else
        LANES_FN(search_columns)(plan, x, rows, value, NULL);
    for (int64_t oy = first; oy < last; oy++) {
        const pool_span span = plan->rows[oy];
        const int64_t row =
            (oy * g->stride_height - g->pad_height + span.begin - top) * g->out_width;
        if (where)
            LANES_FN(search_rows)
        (plan, span, value + row * L, place + row, NULL, where + (oy - first) * g->out_width);
        else LANES_FN(search_rows)(plan, span, value + row * L, NULL,
                                   largest + (oy - first) * g->out_width * L, NULL);
    }
}

/* Averages that are not finite because their sum was too large: from elements that were first made
 * smaller by a power of two, which changes no digit. */
LANES_TARGET static void LANES_FN(mend_average)(const pool_plan *plan, int64_t oy, const T *x, T *y)
{
    const hki_pool2d_geometry *g = plan->g;
    const pool_span rows = plan->rows[oy];
    for (int64_t ox = 0; ox < g->out_width; ox++) {
        const pool_span columns = plan->columns[ox];
        const int64_t shift = ox * g->stride_width - g->pad_width;
        const T count = (T)window_count(plan, oy, ox);
        T share = 1;
        while (share * count > 1)
            share /= 2;
        for (int64_t l = 0; l < L; l++) {
            T sum = 0;
            for (int32_t k = rows.begin; k < rows.end; k++)
                for (int32_t j = columns.begin; j < columns.end; j++)
                    sum += x[(k * g->in_width + shift + j) * L + l] * share;
            if (!isfinite(y[ox * L + l]))
                y[ox * L + l] = sum / (count * share);
        }
    }
}

/* The means of a row of windows; x is at kernel row 0 of it. */
LANES_TARGET static void LANES_FN(average)(const pool_plan *plan, int64_t oy, const T *x, T *y)
{
    const hki_pool2d_geometry *g = plan->g;
    const pool_span rows = plan->rows[oy];
    V odd = {0}; /* NaN once a mean is not finite */
    bool any_odd = false;
    for (int64_t ox = 0; ox < g->out_width; ox++) {
        const pool_span columns = plan->columns[ox];
        const int64_t shift = ox * g->stride_width - g->pad_width;
        V sum = {0};
        for (int32_t k = rows.begin; k < rows.end; k++)
            for (int32_t j = columns.begin; j < columns.end; j++)
                sum = sum + *(const V *)(x + (k * g->in_width + shift + j) * L);
        sum = sum / (T)window_count(plan, oy, ox);
        odd = odd + (sum - sum);
        *(V *)(y + ox * L) = sum;
    }
    for (int64_t l = 0; l < L; l++)
        any_odd |= odd[l] != odd[l];
    if (any_odd)
        LANES_FN(mend_average)(plan, oy, x, y);
}

LANES_TARGET static void LANES_FN(forward)(const pool_plan *plan, const void *x, void *y,
                                           int64_t begin, int64_t end)
{
    const hki_pool2d_geometry *g = plan->g;
    const int64_t in = g->in_height * g->in_width, out = g->out_height * g->out_width;
    T *source = plan->source, *target = plan->target;
    for (int64_t p = begin; p < end; p += L) {
        const int64_t count = end - p < L ? end - p : L;
        for (int64_t o = 0, next; o < g->out_height; o = next) {
            next = hki_min(g->out_height, o + plan->band);
            int64_t top, bottom;
            source_rows(g, o, next, &top, &bottom);
            LANES_FN(rows_to_lanes)
            ((const T *)x + p * in + top * g->in_width, in, count, (bottom - top) * g->in_width, L,
             source);
            if (!plan->average)
                LANES_FN(search)
            (plan, source, top, bottom - top, o, next, plan->value, NULL, target, NULL);
            for (int64_t oy = o; plan->average && oy < next; oy++)
                LANES_FN(average)
            (plan, oy, source + (oy * g->stride_height - g->pad_height - top) * g->in_width * L,
             target + (oy - o) * g->out_width * L);
            LANES_FN(lanes_to_rows)
            (target, (next - o) * g->out_width, count, out, (T *)y + p * out + o * g->out_width);
        }
    }
}

/* A row of the gradient: of windows' dy, of which rows begin with `first`. */
LANES_INLINE void LANES_FN(gather_row)(const pool_plan *plan, int64_t iy, int64_t first,
                                       const T *dy, const M *where, T *dx)
{
    const hki_pool2d_geometry *g = plan->g;
    const pool_span rows = plan->of_row[iy];
    for (int64_t ix = 0; ix < g->in_width; ix++) {
        const pool_span columns = plan->of_column[ix];
        V sum = {0};
        for (int32_t oy = rows.begin; oy < rows.end; oy++) {
            const int64_t row = (oy - first) * g->out_width;
            const int64_t ky = iy + g->pad_height - oy * g->stride_height;
            int64_t place =
                ky * g->kernel_width + ix + g->pad_width - columns.begin * g->stride_width;
            for (int32_t ox = columns.begin; ox < columns.end; ox++) {
                const V d = *(const V *)(dy + (row + ox) * L);
                if (where) {
                    const M here = (M){0} + (__typeof__(where[0][0]))place;
                    sum = LANES_ADD(LANES_SAME(where[row + ox], here), sum, d);
                } else {
                    sum = sum + d;
                }
                place -= g->stride_width;
            }
        }
        *(V *)(dx + ix * L) = sum;
    }
}

LANES_TARGET static void LANES_FN(gather_rows)(const pool_plan *plan, int64_t row, int64_t end,
                                               int64_t first, const T *dy, const M *where, T *dx)
{
    const int64_t step = plan->g->in_width * L;
    for (int64_t iy = row; iy < end; iy++, dx += step) {
        if (where)
            LANES_FN(gather_row)(plan, iy, first, dy, where, dx);
        else
            LANES_FN(gather_row)(plan, iy, first, dy, NULL, dx);
    }
}

/* dy of rows [first, last) of windows through the windows' counts. */
LANES_TARGET static void LANES_FN(divide)(const pool_plan *plan, int64_t first, int64_t last, T *dy)
{
    for (int64_t oy = first; oy < last; oy++)
        for (int64_t ox = 0; ox < plan->g->out_width; ox++, dy += L)
            *(V *)dy = *(const V *)dy / (T)window_count(plan, oy, ox);
}

LANES_TARGET static void LANES_FN(backward)(const pool_plan *plan, const void *x, const void *dy,
                                            void *dx, int64_t begin, int64_t end)
{
    const hki_pool2d_geometry *g = plan->g;
    const int64_t in = g->in_height * g->in_width, out = g->out_height * g->out_width;
    T *source = plan->source, *target = plan->target;
    M *where = plan->average ? NULL : plan->where;
    for (int64_t p = begin; p < end; p += L) {
        const int64_t count = end - p < L ? end - p : L;
        for (int64_t i = 0, next; i < g->in_height; i = next) {
            next = hki_min(g->in_height, i + plan->band);
            int64_t first, last, top, bottom;
            window_rows(plan, i, next, &first, &last);
            source_rows(g, first, last, &top, &bottom);
            if (where && first < last) {
                LANES_FN(rows_to_lanes)
                ((const T *)x + p * in + top * g->in_width, in, count, (bottom - top) * g->in_width,
                 L, source);
                LANES_FN(search)
                (plan, source, top, bottom - top, first, last, plan->value, plan->place, NULL,
                 where);
            }
            LANES_FN(rows_to_lanes)
            ((const T *)dy + p * out + first * g->out_width, out, count,
             (last - first) * g->out_width, L, target);
            if (!where)
                LANES_FN(divide)(plan, first, last, target);
            LANES_FN(gather_rows)(plan, i, next, first, target, where, source);
            LANES_FN(lanes_to_rows)
            (source, (next - i) * g->in_width, count, in, (T *)dx + p * in + i * g->in_width);
        }
    }
}

static const pool_lanes LANES_FN(pool_lanes)[] = {{L, LANES_FN(forward), LANES_FN(backward)}};

#undef LANES_K
#undef LANES_TAKES
#undef LANES_SAME
#undef LANES_PICK
#undef LANES_ADD
#include "op/simd/lanes_end.inc.c"
