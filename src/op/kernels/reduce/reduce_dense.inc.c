/* Sums of elements that lie side by side, included once for each instruction set after reduce_loops.inc.c: DENSE_HERE is the name of the table, and
 * DENSE_WIDE is defined where vectors of 32 bytes are the processor's own. */

/* ---- runs of 16 numbers, in pairs ------------------------------------------------------------------------------- */

#define RUN(name, T)                                                                               \
    static T sixteen_##name(const T *x)                                                            \
    {                                                                                              \
        T lane[8];                                                                                 \
        for (int l = 0; l < 8; l++)                                                                \
            lane[l] = x[l] + x[l + 8];                                                             \
        for (int half = 4; half > 0; half /= 2)                                                    \
            for (int l = 0; l < half; l++)                                                         \
                lane[l] += lane[l + half];                                                         \
        return lane[0];                                                                            \
    }
RUN(f32, float)
RUN(f64, double)

#if defined(DENSE_WIDE)
typedef float eight __attribute__((vector_size(32)));
typedef float eight_unaligned __attribute__((vector_size(32), aligned(4), may_alias));

/* The first step of `sixteen`, of run i. */
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

/* Eight runs at a time go through the steps of `sixteen` side by side. Returns how many were added up. */
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

static void sixteens_f32(const void *x, int64_t step, int64_t runs, void *sums)
{
    for (int64_t i = eights(x, step, runs, sums); i < runs; i++)
        ((float *)sums)[i] = sixteen_f32((const float *)(const void *)((const char *)x + i * step));
}

static void sixteens_f64(const void *x, int64_t step, int64_t runs, void *sums)
{
    for (int64_t i = 0; i < runs; i++)
        ((double *)sums)[i] =
            sixteen_f64((const double *)(const void *)((const char *)x + i * step));
}

/* ---- the tree over runs ------------------------------------------------------------------------------------------- */

#define FOUR(n)    n, n + 64, n + 32, n + 96
#define SIXTEEN(n) FOUR(n), FOUR(n + 16), FOUR(n + 8), FOUR(n + 24)
/* Numbers of seven bits, backwards. */
static const uint8_t backwards[HKI_REDUCE_RUNS / 2] = {
    SIXTEEN(0), SIXTEEN(4), SIXTEEN(2), SIXTEEN(6), SIXTEEN(1), SIXTEEN(5), SIXTEEN(3), SIXTEEN(7)};
#undef FOUR
#undef SIXTEEN

/* The tree of so many runs has 2^levels nodes of one run or two on one level. Halves round up first, so node number j has two
 * where j, backwards, is below the number of those that do. What has one adds -0, which changes nothing. */
#define TREE(name, T)                                                                              \
    static double tree_##name(void *runs_of, int64_t runs)                                         \
    {                                                                                              \
        const T nothing = (T)-0.0;                                                                 \
        T *sums = runs_of;                                                                         \
        int levels = 0;                                                                            \
        while (2 << levels <= runs)                                                                \
            levels++;                                                                              \
        int64_t nodes = 1 << levels;                                                               \
        const int64_t twos = runs - nodes;                                                         \
        for (int64_t j = 0, at = 0; twos && j < nodes; j++) {                                      \
            const bool is_two = backwards[j] >> (7 - levels) < twos;                               \
            T pair[2] = {nothing, sums[at]};                                                       \
            at += is_two;                                                                          \
            sums[j] = pair[is_two] + sums[at++];                                                   \
        }                                                                                          \
        for (; nodes > 1; nodes /= 2)                                                              \
            for (int64_t j = 0; j < nodes / 2; j++)                                                \
                sums[j] = sums[2 * j] + sums[2 * j + 1];                                           \
        return (double)sums[0];                                                                    \
    }
TREE(f32, float)
TREE(f64, double)

/* ---- rows added to rows ------------------------------------------------------------------------------------------- */

/* Many columns go in blocks of four through four rows at a time, to words and back: in the order of memory. A few stay in
 * registers for all rows, in vectors of four, of which the last one may overlap. Rows are added in their order either way. */
#define DENSE_ROWS(name, T)                                                                        \
    static inline __attribute__((always_inline)) void few_##name(                                  \
        const T *x, int64_t rows, int64_t row_stride, int64_t columns, int vectors,                \
        hki_reduce_word *words)                                                                    \
    {                                                                                              \
        doubles sums[4] = {{0}, {0}, {0}, {0}};                                                    \
        const int64_t last = columns - 4;                                                          \
        for (int64_t i = 0; i < rows; i++, x += row_stride)                                        \
            for (int v = 0; v < vectors; v++)                                                      \
                sums[v] += FOUR_DOUBLES(&x[v < vectors - 1 ? 4 * v : last]);                       \
        for (int v = 0; v < vectors; v++)                                                          \
            *(doubles_unaligned *)(words + (v < vectors - 1 ? 4 * v : last)) =                     \
                __builtin_convertvector(__builtin_convertvector(sums[v], four_##name), doubles);   \
    }                                                                                              \
    static void many_##name(const T *x, int64_t rows, int64_t row_stride, int64_t columns,         \
                            hki_reduce_word *words)                                                \
    {                                                                                              \
        for (int64_t i = 0; i < rows; i += 4, x += 4 * row_stride) {                               \
            const bool is_first = i == 0, is_last = i + 4 >= rows;                                 \
            for (int64_t j = 0; j < columns; j += 4) {                                             \
                doubles_unaligned *to = (doubles_unaligned *)(words + j);                          \
                doubles sum = {0};                                                                 \
                if (!is_first)                                                                     \
                    sum = *to;                                                                     \
                for (int64_t row = 0; row < 4; row++)                                              \
                    sum += FOUR_DOUBLES(&x[row * row_stride + j]);                                 \
                if (is_last)                                                                       \
                    sum = __builtin_convertvector(__builtin_convertvector(sum, four_##name),       \
                                                  doubles);                                        \
                *to = sum;                                                                         \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void one_##name(const T *x, int64_t rows, int64_t row_stride, hki_reduce_word *word)    \
    {                                                                                              \
        double sum = 0;                                                                            \
        for (int64_t i = 0; i < rows; i++)                                                         \
            sum += (double)x[i * row_stride];                                                      \
        word->f = (double)(T)sum;                                                                  \
    }                                                                                              \
    static void dense_rows_##name(const void *data, int64_t rows, int64_t row_stride,              \
                                  int64_t columns, hki_reduce_word *words)                         \
    {                                                                                              \
        const T *x = data;                                                                         \
        const int64_t many = rows % 4 || columns <= 16 ? 0 : columns / 4 * 4;                      \
        int64_t j = many;                                                                          \
        many_##name(x, rows, row_stride, many, words);                                             \
        for (int64_t count; j + 4 <= columns; j += count) {                                        \
            count = hki_min(columns - j, 16);                                                      \
            if (count > 12)                                                                        \
                few_##name(x + j, rows, row_stride, count, 4, words + j);                          \
            else if (count > 8)                                                                    \
                few_##name(x + j, rows, row_stride, count, 3, words + j);                          \
            else if (count > 4)                                                                    \
                few_##name(x + j, rows, row_stride, count, 2, words + j);                          \
            else                                                                                   \
                few_##name(x + j, rows, row_stride, count, 1, words + j);                          \
        }                                                                                          \
        for (; j < columns; j++)                                                                   \
            one_##name(x + j, rows, row_stride, words + j);                                        \
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

const hki_reduce_dense DENSE_HERE = {{sixteens_f32, sixteens_f64},
                                     {tree_f32, tree_f64},
                                     {dense_rows_f32, dense_rows_f64},
                                     {dense_add_f32, dense_add_f64}};
