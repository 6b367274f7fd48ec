/* Sums of elements that lie side by side, included once for each instruction set after reduce_loops.inc.c: DENSE_HERE is the name of the table, and
 * DENSE_WIDE is defined where vectors of 32 bytes are the processor's own. */

/* ---- runs of 16 numbers, in pairs ------------------------------------------------------------------------------- */

/* Of what AT(0) to AT(15) give. */
#define SIXTEEN(AT)                                                                                \
    ((((AT(0) + AT(8)) + (AT(4) + AT(12))) + ((AT(2) + AT(10)) + (AT(6) + AT(14)))) +              \
     (((AT(1) + AT(9)) + (AT(5) + AT(13))) + ((AT(3) + AT(11)) + (AT(7) + AT(15)))))
#define ELEMENT(i) from[i]

#if defined(DENSE_WIDE)
typedef float eight __attribute__((vector_size(32)));
typedef float eight_unaligned __attribute__((vector_size(32), aligned(4), may_alias));

/* The first step of SIXTEEN, of run i. */
static inline __attribute__((always_inline)) eight half_of(const char *x, int64_t step, int64_t i)
{
    const eight_unaligned *run = (const eight_unaligned *)(const void *)(x + i * step);
    return run[0] + run[1];
}

/* The second one, of two runs. */
static inline __attribute__((always_inline)) eight quarters(eight a, eight b)
{
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}

/* The third one, of four: of runs a and b, c and d. */
static inline __attribute__((always_inline)) eight eighths(eight ab, eight cd)
{
    return __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
           __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
}

/* Eight runs at a time go through the steps of SIXTEEN side by side. Returns how many were added up. */
static int64_t eights(const char *x, int64_t step, int64_t runs, float *sums)
{
    int64_t i = 0;
    for (; i + 8 <= runs; i += 8) {
        eight pair[4];
        for (int j = 0; j < 4; j++)
            pair[j] = quarters(half_of(x, step, i + 2 * j), half_of(x, step, i + 2 * j + 1));
        const eight first = eighths(pair[0], pair[1]), second = eighths(pair[2], pair[3]);
        const eight all = __builtin_shufflevector(first, second, 0, 2, 8, 10, 4, 6, 12, 14) +
                          __builtin_shufflevector(first, second, 1, 3, 9, 11, 5, 7, 13, 15);
        *(eight_unaligned *)(sums + i) = __builtin_shufflevector(all, all, 0, 4, 1, 5, 2, 6, 3, 7);
    }
    return i;
}
#else
static int64_t eights(const char *x, int64_t step, int64_t runs, float *sums)
{
    (void)x, (void)step, (void)runs, (void)sums;
    return 0;
}
#endif

#define SIXTEENS(name, T)                                                                          \
    static void sixteens_##name(const char *x, int64_t step, int64_t runs, T *sums)                \
    {                                                                                              \
        for (int64_t i = EIGHTS_##name(x, step, runs, sums); i < runs; i++) {                      \
            const T *from = (const T *)(const void *)(x + i * step);                               \
            sums[i] = SIXTEEN(ELEMENT);                                                            \
        }                                                                                          \
    }
#define EIGHTS_f32                    eights
#define EIGHTS_f64(x, step, runs, to) 0
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

enum { TREE_MORE = 8 }; /* elements that may be read behind the sums */

#if defined(DENSE_WIDE)
/* Eight nodes next to each other, of which those have two sums whose place, backwards in three bits, is below n: where the first sum
 * of a node lies, and the last one, of four nodes from where those begin, then of the other four. */
#define FOUR_NODES(a, b, c, d)                                                                     \
    0, 1 + (a), 2 + (a) + (b), 3 + (a) + (b) + (c), (a), 1 + (a) + (b), 2 + (a) + (b) + (c),       \
        3 + (a) + (b) + (c) + (d)
#define EIGHT_NODES(n)                                                                             \
    {                                                                                              \
        FOUR_NODES((n) > 0, (n) > 4, (n) > 2, (n) > 6),                                            \
            FOUR_NODES((n) > 1, (n) > 5, (n) > 3, (n) > 7)                                         \
    }
static const uint8_t eight_nodes[][16] = {EIGHT_NODES(0), EIGHT_NODES(1), EIGHT_NODES(2),
                                          EIGHT_NODES(3), EIGHT_NODES(4), EIGHT_NODES(5),
                                          EIGHT_NODES(6), EIGHT_NODES(7), EIGHT_NODES(8)};
#undef FOUR_NODES
#undef EIGHT_NODES

/* As the tree below, of 128 runs and more. Then eight nodes that are neighbours have as many sums as others, or one more. */
static bool tree_wide(float *sums, int64_t runs)
{
    enum { NODES = HKI_REDUCE_RUNS / 2 };
    if (runs < NODES)
        return false;
    const int64_t twos = runs - NODES;
    for (int64_t i = 0, at = 0; i < NODES / 8; i++) {
        const uint8_t *nodes = eight_nodes[twos / 16 + (backwards[i] >> 3 < twos % 16)];
        const int64_t half = at + nodes[7] + 1;
        const __m128i places = _mm_loadu_si128((const __m128i *)(const void *)nodes);
        const __m256i low_at = _mm256_cvtepu8_epi32(places);
        const __m256i high_at = _mm256_cvtepu8_epi32(_mm_srli_si128(places, 8));
        const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(sums + at), low_at);
        const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(sums + half), high_at);
        const __m256i one = _mm256_cmpeq_epi32(_mm256_permute2x128_si256(low_at, high_at, 0x20),
                                               _mm256_permute2x128_si256(low_at, high_at, 0x31));
        const __m256 last = _mm256_blendv_ps(_mm256_permute2f128_ps(low, high, 0x31),
                                             _mm256_set1_ps(-0.0f), _mm256_castsi256_ps(one));
        _mm256_storeu_ps(sums + 8 * i,
                         _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), last));
        at = half + nodes[15] + 1;
    }
    for (int64_t nodes = NODES / 2; nodes >= 8; nodes /= 2)
        for (int64_t j = 0; j < nodes; j += 8) {
            const eight_unaligned *pairs = (const eight_unaligned *)(const void *)(sums + 2 * j);
            const eight a = pairs[0], b = pairs[1];
            const eight both = __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
                               __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
            *(eight_unaligned *)(void *)(sums + j) =
                __builtin_shufflevector(both, both, 0, 1, 4, 5, 2, 3, 6, 7);
        }
    sums[0] =
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    return true;
}
#define WIDE_TREE_f32 tree_wide
#else
#define WIDE_TREE_f32(sums, runs) false
#endif

/* What is written at one index is read there or at later ones. */
#if defined(__clang__)
#define EACH_COLUMN                                                                                \
    _Pragma("clang loop vectorize(assume_safety)") for (int64_t k = 0; k < columns; k++)
#else
#define EACH_COLUMN _Pragma("GCC ivdep") for (int64_t k = 0; k < columns; k++)
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
        for (; nodes > 1; nodes /= 2)                                                              \
            for (int64_t j = 0; j < nodes / 2; j++) {                                              \
                T *to = sums + j * columns;                                                        \
                const T *first = to + j * columns, *last = first + columns;                        \
                EACH_COLUMN to[k] = first[k] + last[k];                                            \
            }                                                                                      \
    }                                                                                              \
    static double dense_sum_##name(const void *x, int64_t count, int64_t step, int64_t runs)       \
    {                                                                                              \
        T sums[HKI_REDUCE_RUNS + TREE_MORE];                                                       \
        if (count == HKI_SUM_RUN)                                                                  \
            sixteens_##name(x, step, runs, sums);                                                  \
        for (int64_t i = 0; count != HKI_SUM_RUN && i < runs; i++)                                 \
            sums[i] =                                                                              \
                (T)sum_of_##name((const T *)(const void *)((const char *)x + i * step), count);    \
        if (!WIDE_TREE_##name(sums, runs))                                                         \
            tree_##name(sums, runs, 1);                                                            \
        return (double)sums[0];                                                                    \
    }
#define WIDE_TREE_f64(sums, runs) false
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

const hki_reduce_dense DENSE_HERE = {
    {dense_sum_f32, dense_sum_f64},
    {dense_rows_f32, dense_rows_f64},
    {dense_add_f32, dense_add_f64},
    {[sizeof(uint8_t)] = pack_uint8_t,
     [sizeof(uint16_t)] = pack_uint16_t,
     [sizeof(uint32_t)] = pack_uint32_t,
     [sizeof(uint64_t)] = pack_uint64_t},
};
