/* Sums of elements that lie side by side, included once for each instruction set after reduce_loops.inc.c: DENSE_HERE is the name of the table, and
 * DENSE_WIDE is defined where vectors of 32 bytes are the processor's own. */

/* ---- runs of 16 numbers, in pairs ------------------------------------------------------------------------------- */

/* Of what AT(0) to AT(15) give. */
#define SIXTEEN(AT)                                                                                \
    ((((AT(0) + AT(8)) + (AT(4) + AT(12))) + ((AT(2) + AT(10)) + (AT(6) + AT(14)))) +              \
     (((AT(1) + AT(9)) + (AT(5) + AT(13))) + ((AT(3) + AT(11)) + (AT(7) + AT(15)))))

#if defined(DENSE_WIDE)

/* The first step of SIXTEEN, of that run. */
ALWAYS_INLINE floats half_of(const float *x, const float *y, int64_t run)
{
    return EIGHT_TERMS(x, y, 16 * run) + EIGHT_TERMS(x, y, 16 * run + 8);
}

/* The second one, of two runs: each has a half of the vector. A blend costs less than a shuffle. */
ALWAYS_INLINE floats quarters(floats a, floats b)
{
    return (floats)_mm256_blend_ps((__m256)a, (__m256)b, 0xf0) +
           (floats)_mm256_permute2f128_ps((__m256)a, (__m256)b, 0x21);
}

/* The third one, of four: of runs a and b, c and d. */
ALWAYS_INLINE floats eighths(floats ab, floats cd)
{
    return (floats)_mm256_blend_ps((__m256)ab, (__m256)cd, 0xcc) +
           (floats)_mm256_shuffle_ps((__m256)ab, (__m256)cd, 0x4e);
}

/* What is side by side, added up: of each half of a, of b. */
ALWAYS_INLINE floats paired(floats a, floats b)
{
    return __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
           __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
}

/* Sums of eight runs, which go through the steps of SIXTEEN side by side, run j and j + 4 in the halves of a vector. */
ALWAYS_INLINE floats eight_runs(const float *x, const float *y, int64_t run)
{
    floats half[8], pair[4];
    for (int j = 0; j < 8; j++)
        half[j] = half_of(x, y, run + j);
    for (int j = 0; j < 4; j++)
        pair[j] = quarters(half[j], half[j + 4]);
    return paired(eighths(pair[0], pair[1]), eighths(pair[2], pair[3]));
}

/* Returns how many runs were added up. */
ALWAYS_INLINE int64_t together_f32(const float *x, const float *y, int64_t runs, float *sums)
{
    int64_t i = 0;
    for (; i + 8 <= runs; i += 8)
        *(eight_f32 *)(void *)(sums + i) = eight_runs(x, y, i);
    return i;
}

/* The first two steps of SIXTEEN, of that run. */
ALWAYS_INLINE doubles quarter_of(const double *x, const double *y, int64_t run)
{
    return (FOUR_TERMS(x, y, 16 * run) + FOUR_TERMS(x, y, 16 * run + 8)) +
           (FOUR_TERMS(x, y, 16 * run + 4) + FOUR_TERMS(x, y, 16 * run + 12));
}

ALWAYS_INLINE doubles eighths_f64(doubles a, doubles b)
{
    return (doubles)_mm256_blend_pd((__m256d)a, (__m256d)b, 0xc) +
           (doubles)_mm256_permute2f128_pd((__m256d)a, (__m256d)b, 0x21);
}

/* The same of four runs. */
ALWAYS_INLINE int64_t together_f64(const double *x, const double *y, int64_t runs, double *sums)
{
    int64_t i = 0;
    for (; i + 4 <= runs; i += 4) {
        doubles run[4];
        for (int j = 0; j < 4; j++)
            run[j] = quarter_of(x, y, i + j);
        const doubles a = eighths_f64(run[0], run[2]), b = eighths_f64(run[1], run[3]);
        *(four_f64 *)(void *)(sums + i) =
            __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
    }
    return i;
}
#else
#define together_f32(x, y, runs, sums) 0
#define together_f64(x, y, runs, sums) 0
#endif

#define SIXTEENS(name, T)                                                                          \
    ALWAYS_INLINE void sixteens_##name(const T *x, const T *y, int64_t runs, T *sums)              \
    {                                                                                              \
        for (int64_t i = together_##name(x, y, runs, sums); i < runs; i++)                         \
            sums[i] = SIXTEEN(TERM_##name);                                                        \
    }
#define TERM_f32(j) term_f32(x, y, HKI_SUM_RUN *i + (j))
#define TERM_f64(j) term_f64(x, y, HKI_SUM_RUN *i + (j))
SIXTEENS(f32, float)
SIXTEENS(f64, double)

/* ---- the tree over runs ------------------------------------------------------------------------------------------- */

#define FOUR_OF(n)    n, n + 64, n + 32, n + 96
#define SIXTEEN_OF(n) FOUR_OF(n), FOUR_OF(n + 16), FOUR_OF(n + 8), FOUR_OF(n + 24)
/* Numbers of seven bits, backwards. */
static const uint8_t backwards[HKI_REDUCE_RUNS / 2] = {SIXTEEN_OF(0), SIXTEEN_OF(4), SIXTEEN_OF(2),
                                                       SIXTEEN_OF(6), SIXTEEN_OF(1), SIXTEEN_OF(5),
                                                       SIXTEEN_OF(3), SIXTEEN_OF(7)};
#undef FOUR_OF
#undef SIXTEEN_OF

#if defined(DENSE_WIDE)
/* Eight nodes next to each other, of which those have two runs whose place, backwards in three bits, is below n: where the first run
 * of a node lies, and the last one, of four nodes from where those begin, then of the other four; and all bits where it has one. */
typedef struct node_places {
    int32_t low[8], high[8], one[8];
} node_places;
#define FOUR_NODES(a, b, c, d)                                                                     \
    {                                                                                              \
        0, 1 + (a), 2 + (a) + (b), 3 + (a) + (b) + (c), (a), 1 + (a) + (b), 2 + (a) + (b) + (c),   \
            3 + (a) + (b) + (c) + (d)                                                              \
    }
#define EIGHT_NODES(n)                                                                             \
    {                                                                                              \
        FOUR_NODES((n) > 0, (n) > 4, (n) > 2, (n) > 6),                                            \
            FOUR_NODES((n) > 1, (n) > 5, (n) > 3, (n) > 7),                                        \
        {                                                                                          \
            -((n) <= 0), -((n) <= 4), -((n) <= 2), -((n) <= 6), -((n) <= 1), -((n) <= 5),          \
                -((n) <= 3), -((n) <= 7)                                                           \
        }                                                                                          \
    }
static const node_places eight_nodes[] = {EIGHT_NODES(0), EIGHT_NODES(1), EIGHT_NODES(2),
                                          EIGHT_NODES(3), EIGHT_NODES(4), EIGHT_NODES(5),
                                          EIGHT_NODES(6), EIGHT_NODES(7), EIGHT_NODES(8)};
#undef FOUR_NODES
#undef EIGHT_NODES

ALWAYS_INLINE __m256i places_at(const int32_t *places)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)places);
}

/* The sums of eight nodes, of which the first run is number `run` of so many, whose sums are at `ready`, or, of NULL, made here. */
ALWAYS_INLINE floats eight_sums(const float *x, const float *y, const float *ready, int64_t run,
                                int64_t runs, const node_places *nodes)
{
    const int64_t half = run + nodes->low[7] + 1, from = hki_min(half, runs - 8);
    __m256i high_at = places_at(nodes->high);
    if (half != from)
        high_at = _mm256_add_epi32(high_at, _mm256_set1_epi32((int)(half - from)));
    const floats first = ready ? (floats)EIGHT(ready + run) : eight_runs(x, y, run);
    const floats second = ready ? (floats)EIGHT(ready + from) : eight_runs(x, y, from);
    const __m256 low = _mm256_permutevar8x32_ps((__m256)first, places_at(nodes->low));
    const __m256 high = _mm256_permutevar8x32_ps((__m256)second, high_at);
    const __m256 last =
        _mm256_blendv_ps(_mm256_permute2f128_ps(low, high, 0x31), _mm256_set1_ps(-0.0f),
                         _mm256_castsi256_ps(places_at(nodes->one)));
    return (floats)_mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), last);
}

/* The tree below, of 128 runs and more: eight nodes that are neighbours have as many runs as others, or one more. Runs of 16 numbers may be
 * added up twice, so that all stay in registers. */
ALWAYS_INLINE float wide_f32(const float *x, const float *y, const float *ready, int64_t runs)
{
    enum { NODES = HKI_REDUCE_RUNS / 2, VECTORS = NODES / 8 };
    const int64_t twos = runs - NODES;
    float of_eight[VECTORS];
    for (int64_t i = 0, run = 0; i < VECTORS; i += 8) {
        floats v[8];
        for (int64_t j = 0; j < 8; j++) {
            const node_places *nodes =
                &eight_nodes[twos / VECTORS + (backwards[i + j] >> 3 < twos % VECTORS)];
            v[j] = eight_sums(x, y, ready, run, runs, nodes);
            run += nodes->low[7] + nodes->high[7] + 2;
        }
        for (int j = 0; j < 4; j++)
            v[j] = paired(v[2 * j], v[2 * j + 1]);
        v[0] = paired(v[0], v[1]);
        v[1] = paired(v[2], v[3]);
        *(eight_f32 *)(void *)(of_eight + i) = quarters(v[0], v[1]);
    }
    for (int count = VECTORS / 2; count > 0; count /= 2)
        for (int j = 0; j < count; j++)
            of_eight[j] = of_eight[2 * j] + of_eight[2 * j + 1];
    return of_eight[0];
}
#define WIDE_f32 (runs >= HKI_REDUCE_RUNS / 2)
#else
#define wide_f32(x, y, ready, runs) 0
#define WIDE_f32                    false
#endif
#define WIDE_f64                    false
#define wide_f64(x, y, ready, runs) 0

/* What is written at one index is read there or at later ones. */
#if defined(__clang__)
#define EACH_COLUMN                                                                                \
    _Pragma("clang loop vectorize(assume_safety)") for (int64_t k = 0; k < columns; k++)
#define EACH_PAIR                                                                                  \
    _Pragma("clang loop vectorize(assume_safety)") for (int64_t j = 0; j < nodes / 2; j++)
#else
#define EACH_COLUMN _Pragma("GCC ivdep") for (int64_t k = 0; k < columns; k++)
#define EACH_PAIR   _Pragma("GCC ivdep") for (int64_t j = 0; j < nodes / 2; j++)
#endif

/* Makes the first of so many sums of each column that of all. The tree of so many runs has 2^levels nodes of one run or two on
 * one level. Halves round up first, so node number j has two where j, backwards, is below the number of those that do. What has
 * one adds -0, which changes nothing. */
#define TREE(name, T)                                                                              \
    static inline                                                                                  \
        __attribute__((always_inline)) void tree_##name(T *sums, int64_t runs, int64_t columns)    \
    {                                                                                              \
        const T nothing = (T)-0.0;                                                                 \
        int levels = 0;                                                                            \
        while (2 << levels <= runs)                                                                \
            levels++;                                                                              \
        int64_t nodes = 1 << levels;                                                               \
        const int64_t twos = runs - nodes;                                                         \
        for (int64_t j = 0, at = 0; twos && j < nodes; j++) {                                      \
            const bool is_two = backwards[j] >> (7 - levels) < twos;                               \
            const T pair[2] = {nothing, sums[at]};                                                 \
            const T *first = sums + at * columns, *last = first + is_two * columns;                \
            T *to = sums + j * columns;                                                            \
            at += 1 + is_two;                                                                      \
            if (columns == 1)                                                                      \
                *to = pair[is_two] + *last;                                                        \
            else if (is_two)                                                                       \
                EACH_COLUMN to[k] = first[k] + last[k];                                            \
            else                                                                                   \
                EACH_COLUMN to[k] = first[k];                                                      \
        }                                                                                          \
        for (; sizeof(T) == sizeof(double) && columns == 1 && nodes > 1; nodes /= 2)               \
            EACH_PAIR sums[j] = sums[2 * j] + sums[2 * j + 1];                                     \
        for (; nodes > 1; nodes /= 2)                                                              \
            for (int64_t j = 0; j < nodes / 2; j++) {                                              \
                T *to = sums + j * columns;                                                        \
                const T *first = to + j * columns, *last = first + columns;                        \
                EACH_COLUMN to[k] = first[k] + last[k];                                            \
            }                                                                                      \
    }                                                                                              \
    static __attribute__((noinline)) double line_tree_##name(T *sums, int64_t runs)                \
    {                                                                                              \
        if (WIDE_##name)                                                                           \
            return (double)wide_##name((const T *)NULL, (const T *)NULL, sums, runs);              \
        tree_##name(sums, runs, 1);                                                                \
        return (double)sums[0];                                                                    \
    }                                                                                              \
    ALWAYS_INLINE double dense_terms_##name(const T *x, const T *y, int64_t count, int64_t step,   \
                                            int64_t runs)                                          \
    {                                                                                              \
        T sums[HKI_REDUCE_RUNS];                                                                   \
        const bool is_line = count == HKI_SUM_RUN && step == HKI_SUM_RUN;                          \
        if (is_line && WIDE_##name)                                                                \
            return (double)wide_##name(x, y, NULL, runs);                                          \
        if (is_line)                                                                               \
            sixteens_##name(x, y, runs, sums);                                                     \
        for (int64_t i = 0; !is_line && i < runs; i++)                                             \
            sums[i] = (T)sum_of_##name(x + i * step, y ? y + i * step : NULL, count);              \
        return line_tree_##name(sums, runs);                                                       \
    }                                                                                              \
    static double dense_sum_##name(const void *x, int64_t count, int64_t step, int64_t runs)       \
    {                                                                                              \
        return dense_terms_##name(x, NULL, count, step, runs);                                     \
    }                                                                                              \
    static double dense_products_##name(const void *x, const void *y, int64_t count, int64_t runs) \
    {                                                                                              \
        return dense_terms_##name(x, y, count, count, runs);                                       \
    }                                                                                              \
    static hki_reduce_word products_##name(const void *x, const void *y, int64_t count)            \
    {                                                                                              \
        return (hki_reduce_word){.f = sum_of_##name(x, y, count)};                                 \
    }
TREE(f32, float)
TREE(f64, double)

/* ---- sums of rows ------------------------------------------------------------------------------------------------- */

/* Elements that runs of rows and columns have at most, to go together through the tree. */
enum { DENSE_TOGETHER = 4096 };

#define ITEM(i)   from[(i)*row_stride]
#define VECTOR(i) (*(const vector *)(const void *)(from + (i)*row_stride))
/* Vectors of so many columns, of which the last one may overlap. */
#define SIXTEEN_VECTORS(T, width)                                                                  \
    {                                                                                              \
        typedef T vector                                                                           \
            __attribute__((vector_size((width) * sizeof(T)), aligned(sizeof(T)), may_alias));      \
        for (int64_t j = 0; j < columns; j += width) {                                             \
            const int64_t at = hki_min(j, columns - width);                                        \
            const T *from = x + at;                                                                \
            *(vector *)(void *)(sums + at) = SIXTEEN(VECTOR);                                      \
        }                                                                                          \
    }

/* In `sums` of rows less than 16 gather in double. */
#define DENSE_ROWS(name, T)                                                                        \
    static void sixteen_rows_##name(const T *x, int64_t row_stride, int64_t columns, T *sums)      \
    {                                                                                              \
        if (columns >= 8)                                                                          \
            SIXTEEN_VECTORS(T, 8)                                                                  \
        else if (columns >= 4)                                                                     \
            SIXTEEN_VECTORS(T, 4)                                                                  \
        else                                                                                       \
            for (int64_t j = 0; j < columns; j++) {                                                \
                const T *from = x + j;                                                             \
                sums[j] = SIXTEEN(ITEM);                                                           \
            }                                                                                      \
    }                                                                                              \
    static void few_rows_##name(const T *x, int64_t rows, int64_t row_stride, int64_t columns,     \
                                T *sums)                                                           \
    {                                                                                              \
        double wide[HKI_REDUCE_TILE] = {0};                                                        \
        for (int64_t i = 0; i < rows; i++)                                                         \
            for (int64_t j = 0; j < columns; j++)                                                  \
                wide[j] += (double)x[i * row_stride + j];                                          \
        for (int64_t j = 0; j < columns; j++)                                                      \
            sums[j] = (T)wide[j];                                                                  \
    }                                                                                              \
    /* to: the sums; room: DENSE_TOGETHER elements. */                                             \
    static void rows_tree_##name(const T *x, int64_t rows, int64_t row_stride, int64_t columns,    \
                                 T *restrict to, T *restrict room)                                 \
    {                                                                                              \
        const int64_t runs = hki_sum_runs(rows), half = hki_sum_half(runs) * HKI_SUM_RUN;          \
        if (rows < HKI_SUM_RUN) {                                                                  \
            few_rows_##name(x, rows, row_stride, columns, to);                                     \
        } else if (rows % HKI_SUM_RUN == 0 && runs <= HKI_REDUCE_RUNS &&                           \
                   runs * columns <= DENSE_TOGETHER) {                                             \
            for (int64_t i = 0; i < runs; i++)                                                     \
                sixteen_rows_##name(x + i * HKI_SUM_RUN * row_stride, row_stride, columns,         \
                                    room + i * columns);                                           \
            tree_##name(room, runs, columns);                                                      \
            memcpy(to, room, (size_t)columns * sizeof(T));                                         \
        } else {                                                                                   \
            T other[HKI_REDUCE_TILE];                                                              \
            rows_tree_##name(x, half, row_stride, columns, to, room);                              \
            rows_tree_##name(x + half * row_stride, rows - half, row_stride, columns, other,       \
                             room);                                                                \
            for (int64_t j = 0; j < columns; j++)                                                  \
                to[j] += other[j];                                                                 \
        }                                                                                          \
    }                                                                                              \
    static void dense_rows_##name(const void *x, int64_t rows, int64_t row_stride,                 \
                                  int64_t columns, hki_reduce_word *words)                         \
    {                                                                                              \
        T sums[HKI_REDUCE_TILE], room[DENSE_TOGETHER];                                             \
        rows_tree_##name(x, rows, row_stride, columns, sums, room);                                \
        for (int64_t j = 0; j < columns; j++)                                                      \
            words[j].f = (double)sums[j];                                                          \
    }
DENSE_ROWS(f32, float)
DENSE_ROWS(f64, double)

#define DENSE_ADD(name, T)                                                                         \
    static void dense_add_##name(int64_t count, hki_reduce_word *restrict to,                      \
                                 const hki_reduce_word *restrict from)                             \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i].f = (double)(T)(to[i].f + from[i].f);                                            \
    }
DENSE_ADD(f32, float)
DENSE_ADD(f64, double)

/* ---- rows made of what lies apart ------------------------------------------------------------------------------------ */

/* Of rows whose elements are columns of memory, four by four go through a transpose; the last four may overlap. */
#define PACK(T)                                                                                    \
    static void pack_##T(const void *data, int64_t rows, int64_t row_stride, int64_t columns,      \
                         int64_t stride, void *to)                                                 \
    {                                                                                              \
        typedef T four __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias)); \
        const T *x = data;                                                                         \
        T *out = to;                                                                               \
        const bool by_fours = row_stride == 1 && rows >= 4 && columns >= 4;                        \
        for (int64_t i = 0; by_fours && i < rows; i += 4)                                          \
            for (int64_t j = 0; j < columns; j += 4) {                                             \
                const int64_t row = hki_min(i, rows - 4), column = hki_min(j, columns - 4);        \
                const T *from = x + column * stride + row;                                         \
                T *lines = out + row * HKI_REDUCE_TILE + column;                                   \
                const four a = *(const four *)(const void *)from;                                  \
                const four b = *(const four *)(const void *)(from + stride);                       \
                const four c = *(const four *)(const void *)(from + 2 * stride);                   \
                const four d = *(const four *)(const void *)(from + 3 * stride);                   \
                const four ac = HKI_ZIP_LOW_4(a, c), bd = HKI_ZIP_LOW_4(b, d);                     \
                const four ca = HKI_ZIP_HIGH_4(a, c), db = HKI_ZIP_HIGH_4(b, d);                   \
                *(four *)(void *)lines = HKI_ZIP_LOW_4(ac, bd);                                    \
                *(four *)(void *)(lines + HKI_REDUCE_TILE) = HKI_ZIP_HIGH_4(ac, bd);               \
                *(four *)(void *)(lines + 2 * HKI_REDUCE_TILE) = HKI_ZIP_LOW_4(ca, db);            \
                *(four *)(void *)(lines + 3 * HKI_REDUCE_TILE) = HKI_ZIP_HIGH_4(ca, db);           \
            }                                                                                      \
        for (int64_t i = 0; !by_fours && i < rows; i++)                                            \
            for (int64_t j = 0; j < columns; j++)                                                  \
                out[i * HKI_REDUCE_TILE + j] = x[i * row_stride + j * stride];                     \
    }
PACK(uint8_t)
PACK(uint16_t)
PACK(uint32_t)
PACK(uint64_t)

/* ---- products of integers, which wrap around in their dtype --------------------------------------------------------- */

/* U: an unsigned type that holds T and is not promoted. */
#define PRODUCTS(name, T, U, WIDE)                                                                 \
    static hki_reduce_word products_##name(const void *a, const void *b, int64_t count)            \
    {                                                                                              \
        const T *x = a, *y = b;                                                                    \
        uint64_t sum = 0;                                                                          \
        for (int64_t i = 0; i < count; i++)                                                        \
            sum += (uint64_t)(WIDE)(T)((U)x[i] * (U)y[i]);                                         \
        return (hki_reduce_word){.u = sum};                                                        \
    }
PRODUCTS(i8, int8_t, uint32_t, int64_t)
PRODUCTS(i16, int16_t, uint32_t, int64_t)
PRODUCTS(i32, int32_t, uint32_t, int64_t)
PRODUCTS(i64, int64_t, uint64_t, int64_t)
PRODUCTS(u8, uint8_t, uint32_t, uint64_t)
PRODUCTS(u16, uint16_t, uint32_t, uint64_t)
PRODUCTS(u32, uint32_t, uint32_t, uint64_t)

static void divide_words(hki_reduce_word *words, int64_t count, double divisor)
{
    int64_t k = 0;
    for (; k + 4 <= count; k += 4)
        *(four_f64 *)(void *)(words + k) /= divisor;
    for (; k < count; k++)
        words[k].f /= divisor;
}

const hki_reduce_dense DENSE_HERE = {
    {dense_sum_f32, dense_sum_f64},
    {dense_products_f32, dense_products_f64},
    {[HK_F32] = products_f32,
     [HK_F64] = products_f64,
     [HK_I8] = products_i8,
     [HK_I16] = products_i16,
     [HK_I32] = products_i32,
     [HK_I64] = products_i64,
     [HK_U8] = products_u8,
     [HK_U16] = products_u16,
     [HK_U32] = products_u32,
     [HK_U64] = products_i64},
    {squares_about_f32, squares_about_f64},
    {rows_about_f32, rows_about_f64},
    {dense_rows_f32, dense_rows_f64},
    {[HKI_REDUCE_SUM] = far_rows_sum,
     [HKI_REDUCE_MAX] = far_rows_max,
     [HKI_REDUCE_MIN] = far_rows_min},
    divide_words,
    {dense_add_f32, dense_add_f64},
    {[sizeof(uint8_t)] = pack_uint8_t,
     [sizeof(uint16_t)] = pack_uint16_t,
     [sizeof(uint32_t)] = pack_uint32_t,
     [sizeof(uint64_t)] = pack_uint64_t},
};
