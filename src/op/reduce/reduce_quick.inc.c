/* Sums and extremes of float32 and float64 in vectors, included once for each instruction set by reduce_loops.inc.c. Sums are of x, or, where
 * y is not NULL, of products, rounded each; compilers make loops for both. */

typedef double doubles __attribute__((vector_size(32)));
typedef float floats __attribute__((vector_size(32)));
typedef float eight_f32 __attribute__((vector_size(32), aligned(4), may_alias));

typedef double four_f64 __attribute__((vector_size(32), aligned(8), may_alias));

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define EIGHT(x)      (*(const eight_f32 *)(const void *)(x))
#define FOUR(x)       (*(const four_f64 *)(const void *)(x))
/* GCC makes one instruction of it, and four of __builtin_convertvector. */
#define FOUR_DOUBLES(x)  ((doubles){(double)(x)[0], (double)(x)[1], (double)(x)[2], (double)(x)[3]})
#define UPPER_DOUBLES(x) ((doubles){(double)(x)[4], (double)(x)[5], (double)(x)[6], (double)(x)[7]})

/* x becomes the elements side by side: a copy of those that are not. */
#define SIDE_BY_SIDE(T, x)                                                                         \
    T near[HKI_REDUCE_BLOCK];                                                                      \
    const T *x = data;                                                                             \
    if (stride != 1) {                                                                             \
        for (int64_t at = 0; at < count; at++)                                                     \
            near[at] = x[at * stride];                                                             \
        x = near;                                                                                  \
    }

/* ---- sums of elements side by side ---------------------------------------------------------------------------------- */

/* Term i, and those from i on that make a vector. */
ALWAYS_INLINE float term_f32(const float *x, const float *y, int64_t i)
{
    return y ? x[i] * y[i] : x[i];
}
ALWAYS_INLINE double term_f64(const double *x, const double *y, int64_t i)
{
    return y ? x[i] * y[i] : x[i];
}
#define EIGHT_TERMS(x, y, i)                                                                       \
    ((y) ? (floats)(EIGHT((x) + (i)) * EIGHT((y) + (i))) : (floats)EIGHT((x) + (i)))
#define FOUR_TERMS(x, y, i)                                                                        \
    ((y) ? (doubles)(FOUR((x) + (i)) * FOUR((y) + (i))) : (doubles)FOUR((x) + (i)))

/* Terms of squared distances from one number. */
ALWAYS_INLINE float about_f32(const float *x, float y, int64_t i)
{
    return (x[i] - y) * (x[i] - y);
}
ALWAYS_INLINE double about_f64(const double *x, double y, int64_t i)
{
    return (x[i] - y) * (x[i] - y);
}
#define EIGHT_ABOUT(x, y, i) ((floats)((EIGHT((x) + (i)) - (y)) * (EIGHT((x) + (i)) - (y))))
#define FOUR_ABOUT(x, y, i)  ((doubles)((FOUR((x) + (i)) - (y)) * (FOUR((x) + (i)) - (y))))

/* The last elements, from i on, less than 16, join sums one vector at a time. */
#define FOUR_LAST(term, i)                                                                         \
    ((doubles){(double)term(x, y, i), (double)term(x, y, (i) + 1), (double)term(x, y, (i) + 2),    \
               (double)term(x, y, (i) + 3)})
#define LAST_FOURS(term)                                                                           \
    if (count - i >= 4)                                                                            \
        a += FOUR_LAST(term, i);                                                                   \
    if (count - i >= 8)                                                                            \
        b += FOUR_LAST(term, i + 4);                                                               \
    if (count - i >= 12)                                                                           \
        c += FOUR_LAST(term, i + 8);                                                               \
    for (i += (count - i) / 4 * 4; i < count; i++)                                                 \
        rest += (double)term(x, y, i);                                                             \
    a = (a + c) + (b + d);                                                                         \
    return ((a[0] + a[2]) + (a[1] + a[3])) + rest;

/* Of what term gives, one by one, and vector. Converting costs more than adding: four elements become one before it is a double, in
 * what is left of 32 two, then one. */
#define BLOCK_SUM_F32(name, Y, vector, term)                                                       \
    ALWAYS_INLINE double name(const float *x, Y y, int64_t count)                                  \
    {                                                                                              \
        doubles a = {0}, b = {0}, c = {0}, d = {0};                                                \
        double rest = 0;                                                                           \
        int64_t i = 0;                                                                             \
        for (; i + 32 <= count; i += 32) {                                                         \
            const floats fours = (vector(x, y, i) + vector(x, y, i + 16)) +                        \
                                 (vector(x, y, i + 8) + vector(x, y, i + 24));                     \
            a += FOUR_DOUBLES(fours);                                                              \
            b += UPPER_DOUBLES(fours);                                                             \
        }                                                                                          \
        if (i + 16 <= count) {                                                                     \
            const floats pairs = vector(x, y, i) + vector(x, y, i + 8);                            \
            c += FOUR_DOUBLES(pairs);                                                              \
            d += UPPER_DOUBLES(pairs);                                                             \
            i += 16;                                                                               \
        }                                                                                          \
        LAST_FOURS(term)                                                                           \
    }
BLOCK_SUM_F32(block_sum_f32, const float *, EIGHT_TERMS, term_f32)
BLOCK_SUM_F32(block_about_f32, float, EIGHT_ABOUT, about_f32)

#define BLOCK_SUM_F64(name, Y, vector, term)                                                       \
    ALWAYS_INLINE double name(const double *x, Y y, int64_t count)                                 \
    {                                                                                              \
        doubles a = {0}, b = {0}, c = {0}, d = {0};                                                \
        double rest = 0;                                                                           \
        int64_t i = 0;                                                                             \
        for (; i + 16 <= count; i += 16) {                                                         \
            a += vector(x, y, i);                                                                  \
            b += vector(x, y, i + 4);                                                              \
            c += vector(x, y, i + 8);                                                              \
            d += vector(x, y, i + 12);                                                             \
        }                                                                                          \
        LAST_FOURS(term)                                                                           \
    }
BLOCK_SUM_F64(sum_of_f64, const double *, FOUR_TERMS, term_f64)
BLOCK_SUM_F64(block_about_f64, double, FOUR_ABOUT, about_f64)

/* Where the sum of a few was beyond float32, that of all need not be. */
#define IN_DOUBLE(term)                                                                            \
    double lane[16] = {0};                                                                         \
    for (int64_t i = 0; i < count; i++)                                                            \
        lane[i % 16] += (double)term(x, y, i);                                                     \
    for (int half = 8; half > 0; half /= 2)                                                        \
        for (int l = 0; l < half; l++)                                                             \
            lane[l] += lane[l + half];                                                             \
    return lane[0];
ALWAYS_INLINE double sum_of_f32(const float *x, const float *y, int64_t count)
{
    const double sum = block_sum_f32(x, y, count);
    if (isfinite(sum))
        return sum;
    if (!y)
        return run_sum_f32(x, count, 1).f;
    IN_DOUBLE(term_f32)
}

ALWAYS_INLINE double sum_about_f32(const float *x, float y, int64_t count)
{
    const double sum = block_about_f32(x, y, count);
    if (isfinite(sum))
        return sum;
    IN_DOUBLE(about_f32)
}

static hki_reduce_word squares_about_f32(const void *data, double about, int64_t count)
{
    return (hki_reduce_word){.f = sum_about_f32(data, (float)about, count)};
}
static hki_reduce_word squares_about_f64(const void *data, double about, int64_t count)
{
    return (hki_reduce_word){.f = block_about_f64(data, about, count)};
}

/* Of columns of at most HKI_REDUCE_TILE; distances are exact, or rounded to T, and squares are of doubles. */
#define ROWS_ABOUT(name, T)                                                                        \
    static void rows_about_##name(const void *data, int64_t rows, int64_t row_stride,              \
                                  int64_t columns, const double *about, hki_reduce_word *words)    \
    {                                                                                              \
        double sums[HKI_REDUCE_TILE] = {0};                                                        \
        T centre[HKI_REDUCE_TILE];                                                                 \
        int64_t i = 0;                                                                             \
        for (int64_t j = 0; j < columns; j++)                                                      \
            centre[j] = (T)about[j];                                                               \
        for (; i + 4 <= rows; i += 4) {                                                            \
            const T *a = (const T *)data + i * row_stride, *b = a + row_stride;                    \
            const T *c = b + row_stride, *d = c + row_stride;                                      \
            for (int64_t j = 0; j < columns; j++) {                                                \
                const double p = (double)(a[j] - centre[j]), q = (double)(b[j] - centre[j]);       \
                const double r = (double)(c[j] - centre[j]), s = (double)(d[j] - centre[j]);       \
                sums[j] += (p * p + q * q) + (r * r + s * s);                                      \
            }                                                                                      \
        }                                                                                          \
        for (; i < rows; i++)                                                                      \
            for (int64_t j = 0; j < columns; j++) {                                                \
                const double p = (double)(((const T *)data)[i * row_stride + j] - centre[j]);      \
                sums[j] += p * p;                                                                  \
            }                                                                                      \
        for (int64_t j = 0; j < columns; j++)                                                      \
            words[j].f += sums[j];                                                                 \
    }
ROWS_ABOUT(f32, float)
ROWS_ABOUT(f64, double)

/* Four rows are added before a sum grows by them. */
static void quick_rows_total_f32(const void *data, int64_t rows, int64_t row_stride,
                                 int64_t columns, hki_reduce_word *words)
{
    double sums[HKI_REDUCE_TILE] = {0};
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        const float *a = (const float *)data + i * row_stride, *b = a + row_stride;
        const float *c = b + row_stride, *d = c + row_stride;
        for (int64_t j = 0; j < columns; j++)
            sums[j] += ((double)a[j] + (double)b[j]) + ((double)c[j] + (double)d[j]);
    }
    for (; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            sums[j] += (double)((const float *)data)[i * row_stride + j];
    for (int64_t j = 0; j < columns; j++)
        words[j].f += sums[j];
}
#define quick_run_total_f32 run_total_f32

#define QUICK_SUM(name, T)                                                                         \
    static hki_reduce_word quick_run_sum_##name(const void *data, int64_t count, int64_t stride)   \
    {                                                                                              \
        SIDE_BY_SIDE(T, x)                                                                         \
        return (hki_reduce_word){.f = sum_of_##name(x, NULL, count)};                              \
    }
QUICK_SUM(f32, float)
QUICK_SUM(f64, double)

/* ---- sums of rows ------------------------------------------------------------------------------------------------------ */

/* Four rows are added before they become doubles. */
static void quick_rows_sum_f32(const void *data, int64_t rows, int64_t row_stride, int64_t columns,
                               hki_reduce_word *words)
{
    double sums[HKI_REDUCE_TILE] = {0};
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        const float *a = (const float *)data + i * row_stride, *b = a + row_stride;
        const float *c = b + row_stride, *d = c + row_stride;
        for (int64_t j = 0; j < columns; j++)
            sums[j] += (double)((a[j] + b[j]) + (c[j] + d[j]));
    }
    for (; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            sums[j] += (double)((const float *)data)[i * row_stride + j];
    for (int64_t j = 0; j < columns; j++)
        words[j].f +=
            isfinite(sums[j]) ? sums[j] : run_sum_f32((const float *)data + j, rows, row_stride).f;
}
#define quick_rows_sum_f64 rows_sum_f64

/* The same, one row after the other: rows that are read side by side, each a short run, come from memory at a third of the speed. */
static void far_rows_sum(const void *data, int64_t rows, int64_t row_stride, int64_t columns,
                         hki_reduce_word *words)
{
    double sums[HKI_REDUCE_WIDE] = {0};
    float ab[HKI_REDUCE_WIDE], c[HKI_REDUCE_WIDE];
    const float *x = data;
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4, x += 4 * row_stride) {
        for (int64_t j = 0; j < columns; j++)
            ab[j] = x[j];
        for (int64_t j = 0; j < columns; j++)
            ab[j] += x[row_stride + j];
        for (int64_t j = 0; j < columns; j++)
            c[j] = x[2 * row_stride + j];
        for (int64_t j = 0; j < columns; j++)
            sums[j] += (double)(ab[j] + (c[j] + x[3 * row_stride + j]));
    }
    for (; i < rows; i++, x += row_stride)
        for (int64_t j = 0; j < columns; j++)
            sums[j] += (double)x[j];
    for (int64_t j = 0; j < columns; j++)
        words[j].f +=
            isfinite(sums[j]) ? sums[j] : run_sum_f32((const float *)data + j, rows, row_stride).f;
}

/* ---- extremes: comparisons do not see NaN, which is looked for beside them; of equal ones the first, as elsewhere --------- */

#define BETTER(BEATS, a, b) ((a)BEATS(b) ? (a) : (b))
/* The last 32 elements may overlap others. B: a signed integer of T's size. */
#define QUICK_EXTREME(kind, name, T, B, BEATS, NONE)                                               \
    static hki_reduce_word quick_run_##kind##_##name(const void *data, int64_t count,              \
                                                     int64_t stride)                               \
    {                                                                                              \
        T lane[32];                                                                                \
        B odd[16] = {0}, any_odd = 0;                                                              \
        if (stride != 1 || count < 32)                                                             \
            return run_##kind##_##name(data, count, stride);                                       \
        for (int l = 0; l < 32; l++)                                                               \
            lane[l] = NONE;                                                                        \
        for (int64_t i = 0; i < count; i += 32) {                                                  \
            const T *x = (const T *)data + hki_min(i, count - 32);                                 \
            for (int l = 0; l < 32; l++)                                                           \
                lane[l] = BETTER(BEATS, x[l], lane[l]);                                            \
            for (int l = 0; l < 16; l++)                                                           \
                odd[l] |= __builtin_isunordered(x[l], x[l + 16]) ? -1 : 0;                         \
        }                                                                                          \
        for (int half = 16; half > 0; half /= 2)                                                   \
            for (int l = 0; l < half; l++)                                                         \
                lane[l] = BETTER(BEATS, lane[l + half], lane[l]);                                  \
        for (int l = 0; l < 16; l++)                                                               \
            any_odd |= odd[l];                                                                     \
        return any_odd ? run_##kind##_##name(data, count, 1)                                       \
                       : (hki_reduce_word){.f = (double)lane[0]};                                  \
    }                                                                                              \
    static void quick_rows_##kind##_##name(const void *data, int64_t rows, int64_t row_stride,     \
                                           int64_t columns, hki_reduce_word *words)                \
    {                                                                                              \
        const T *x = data;                                                                         \
        T best[HKI_REDUCE_TILE];                                                                   \
        B any_odd = 0;                                                                             \
        for (int64_t j = 0; j < columns; j++)                                                      \
            best[j] = NONE;                                                                        \
        for (int64_t i = 0; i < rows; i += 2, x += 2 * row_stride) {                               \
            const T *a = x, *b = x + (i + 1 < rows ? row_stride : 0);                              \
            for (int64_t j = 0; j < columns; j++) {                                                \
                const T ab = BETTER(BEATS, b[j], a[j]);                                            \
                best[j] = BETTER(BEATS, ab, best[j]);                                              \
                any_odd |= __builtin_isunordered(a[j], b[j]) ? -1 : 0;                             \
            }                                                                                      \
        }                                                                                          \
        for (int64_t j = 0; j < columns; j++) {                                                    \
            hki_reduce_word word = {.f = (double)best[j]};                                         \
            if (any_odd)                                                                           \
                word = run_##kind##_##name((const T *)data + j, rows, row_stride);                 \
            join_##kind##_f(&words[j], &word, 1);                                                  \
        }                                                                                          \
    }

QUICK_EXTREME(max, f32, float, int32_t, >, -INFINITY)
QUICK_EXTREME(min, f32, float, int32_t, <, INFINITY)
QUICK_EXTREME(max, f64, double, int64_t, >, -(double)INFINITY)
QUICK_EXTREME(min, f64, double, int64_t, <, (double)INFINITY)

/* One row after the other, as far_rows_sum. */
#define FAR_EXTREME(kind, BEATS, NONE)                                                             \
    static void far_rows_##kind(const void *data, int64_t rows, int64_t row_stride,                \
                                int64_t columns, hki_reduce_word *words)                           \
    {                                                                                              \
        const float *x = data;                                                                     \
        float best[HKI_REDUCE_WIDE];                                                               \
        int32_t any_odd = 0;                                                                       \
        for (int64_t j = 0; j < columns; j++)                                                      \
            best[j] = NONE;                                                                        \
        for (int64_t i = 0; i < rows; i++, x += row_stride)                                        \
            for (int64_t j = 0; j < columns; j++) {                                                \
                best[j] = BETTER(BEATS, x[j], best[j]);                                            \
                any_odd |= __builtin_isunordered(x[j], x[j]) ? -1 : 0;                             \
            }                                                                                      \
        for (int64_t j = 0; j < columns; j++) {                                                    \
            hki_reduce_word word = {.f = (double)best[j]};                                         \
            if (any_odd)                                                                           \
                word = run_##kind##_f32((const float *)data + j, rows, row_stride);                \
            join_##kind##_f(&words[j], &word, 1);                                                  \
        }                                                                                          \
    }
FAR_EXTREME(max, >, -INFINITY)
FAR_EXTREME(min, <, INFINITY)
