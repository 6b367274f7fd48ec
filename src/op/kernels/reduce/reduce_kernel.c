#include "op/kernels/reduce/reduce_kernel.h"

#include "base/half.h"
#include "base/integer.h"
#include "base/integer_dtypes.h"
#include "base/sum_tree.h"

#include <math.h>

/* ---- geometry -------------------------------------------------------------------------------------- */

static void axes_add(hki_reduce_axes *axes, int64_t size, int64_t in_stride, int64_t out_stride)
{
    axes->count *= size;
    if (size == 1)
        return;
    int at = axes->ndim++;
    for (; at > 0 && axes->in_strides[at - 1] < in_stride; at--) {
        axes->dims[at] = axes->dims[at - 1];
        axes->in_strides[at] = axes->in_strides[at - 1];
        axes->out_strides[at] = axes->out_strides[at - 1];
    }
    axes->dims[at] = size;
    axes->in_strides[at] = in_stride;
    axes->out_strides[at] = out_stride;
}

/* Makes one axis of two where the outer goes on where the inner ends. */
static void axes_merge(hki_reduce_axes *axes, bool kept)
{
    int last = 0;
    if (axes->ndim == 0 || axes->count == 0)
        return;
    for (int i = 1; i < axes->ndim; i++) {
        bool merge = axes->in_strides[last] == axes->dims[i] * axes->in_strides[i] &&
                     (!kept || axes->out_strides[last] == axes->dims[i] * axes->out_strides[i]);
        last += !merge;
        axes->dims[last] = merge ? axes->dims[last] * axes->dims[i] : axes->dims[i];
        axes->in_strides[last] = axes->in_strides[i];
        axes->out_strides[last] = axes->out_strides[i];
    }
    axes->ndim = last + 1;
}

void hki_reduce_geometry_init(hki_reduce_geometry *geometry, int ndim, const int64_t *dims,
                              const int64_t *strides, unsigned gone_mask,
                              const int64_t *out_strides)
{
    hki_reduce_axes *kept = &geometry->kept, *gone = &geometry->gone;
    kept->ndim = gone->ndim = 0;
    kept->count = gone->count = 1;
    for (int i = 0; i < ndim; i++) {
        bool goes = gone_mask >> i & 1;
        axes_add(goes ? gone : kept, dims[i], strides[i], goes ? 0 : out_strides[i]);
    }
    int64_t inner_kept = kept->ndim ? kept->in_strides[kept->ndim - 1] : INT64_MAX;
    int64_t inner_gone = gone->ndim ? gone->in_strides[gone->ndim - 1] : INT64_MAX;
    geometry->rows = inner_kept < inner_gone;
    geometry->parts = kept->count > 0 && kept->count < (geometry->rows ? 1024 : 64) &&
                      gone->count >= HKI_REDUCE_BLOCK;
    axes_merge(kept, true);
    axes_merge(gone, false);
}

int64_t hki_reduce_offset(const hki_reduce_axes *axes, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (int i = axes->ndim - 1; i > 0; i--) {
        offset += index % axes->dims[i] * strides[i];
        index /= axes->dims[i];
    }
    return axes->ndim ? offset + index * strides[0] : 0;
}

/* How many elements from `index` on lie along the innermost axis, at most `most`. */
static int64_t run_length(const hki_reduce_axes *axes, int64_t index, int64_t most)
{
    if (axes->ndim == 0)
        return 1;
    int64_t inner = axes->dims[axes->ndim - 1];
    return hki_min(most, inner - index % inner);
}

static int64_t inner_stride(const hki_reduce_axes *axes)
{
    return axes->ndim ? axes->in_strides[axes->ndim - 1] : 0;
}

/* ---- loops, for each dtype and kind ------------------------------------------------------------------ */

/* Reduces `count` elements, in lanes that are joined in a fixed order: compilers make vectors of them, of
 * 8 where they add and of 32 where they compare. */
typedef hki_reduce_word (*run_fn)(const void *x, int64_t count, int64_t stride);
/* words[j] joins the elements of column j of `rows` rows. */
typedef void (*rows_fn)(const void *x, int64_t rows, int64_t row_stride, int64_t columns,
                        int64_t stride, hki_reduce_word *words);
typedef void (*join_fn)(hki_reduce_word *words, const hki_reduce_word *more, int64_t count);

typedef struct reduce_loops {
    run_fn run;
    rows_fn rows;
    join_fn join;
    hki_reduce_word none;
} reduce_loops;

#define ADD_F(a, x) ((a) + (x))
#define MUL_F(a, x) ((a) * (x))
/* With | in place of || there is no branch, and vectors. */
#define MAX_F(a, x) (((int)((x) > (a)) | (int)((x) != (x))) ? (x) : (a))
#define MIN_F(a, x) (((int)((x) < (a)) | (int)((x) != (x))) ? (x) : (a))
#define ADD_I(a, x) ((int64_t)((uint64_t)(a) + (uint64_t)(x)))
#define MUL_I(a, x) ((int64_t)((uint64_t)(a) * (uint64_t)(x)))
#define MAX_I(a, x) ((x) > (a) ? (x) : (a))
#define MIN_I(a, x) ((x) < (a) ? (x) : (a))

/* Of each element, what is gathered. */
#define SELF(A, x)   ((A)(x))
#define SQUARE(A, x) ((A)(x) * (A)(x))
#define TRUTH(A, x)  ((A)((x) != 0))
/* The same of halves. */
#define SELF_F16(A, x)    ((A)hki_f16_to_float(x))
#define SQUARE_F16(A, x)  SQUARE(A, hki_f16_to_float(x))
#define SELF_BF16(A, x)   ((A)hki_bf16_to_float(x))
#define SQUARE_BF16(A, x) SQUARE(A, hki_bf16_to_float(x))
#define TRUTH_HALF(A, x)  ((A)(((x)&0x7fff) != 0))

/* T elements, A what gathers what OF gives of them, W the word's member, STEP as above, NONE what it starts from. */
#define LOOPS(name, T, A, W, OF, STEP, NONE, LANES)                                                \
    static hki_reduce_word run_##name(const void *data, int64_t count, int64_t stride)             \
    {                                                                                              \
        const T *x = data;                                                                         \
        A lane[LANES];                                                                             \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < LANES; l++)                                                            \
            lane[l] = NONE;                                                                        \
        if (stride == 1) {                                                                         \
            for (; i + LANES <= count; i += LANES)                                                 \
                for (int l = 0; l < LANES; l++)                                                    \
                    lane[l] = STEP(lane[l], OF(A, x[i + l]));                                      \
        }                                                                                          \
        for (; i < count; i++)                                                                     \
            lane[i % LANES] = STEP(lane[i % LANES], OF(A, x[i * stride]));                         \
        for (int half = LANES / 2; half > 0; half /= 2)                                            \
            for (int l = 0; l < half; l++)                                                         \
                lane[l] = STEP(lane[l], lane[l + half]);                                           \
        return (hki_reduce_word){.W = lane[0]};                                                    \
    }                                                                                              \
    static void rows_##name(const void *data, int64_t rows, int64_t row_stride, int64_t columns,   \
                            int64_t stride, hki_reduce_word *words)                                \
    {                                                                                              \
        A sums[HKI_REDUCE_TILE];                                                                   \
        for (int64_t j = 0; j < columns; j++)                                                      \
            sums[j] = NONE;                                                                        \
        for (int64_t i = 0; i < rows; i++) {                                                       \
            const T *x = (const T *)data + i * row_stride;                                         \
            if (stride == 1) {                                                                     \
                for (int64_t j = 0; j < columns; j++)                                              \
                    sums[j] = STEP(sums[j], OF(A, x[j]));                                          \
            } else {                                                                               \
                for (int64_t j = 0; j < columns; j++)                                              \
                    sums[j] = STEP(sums[j], OF(A, x[j * stride]));                                 \
            }                                                                                      \
        }                                                                                          \
        for (int64_t j = 0; j < columns; j++)                                                      \
            words[j].W = STEP(words[j].W, sums[j]);                                                \
    }

#define JOIN(name, W, STEP)                                                                        \
    static void join_##name(hki_reduce_word *words, const hki_reduce_word *more, int64_t count)    \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            words[i].W = STEP(words[i].W, more[i].W);                                              \
    }

/* V: what extrema are compared as. */
#define FLOAT_LOOPS(name, T, V, SELF, SQUARE, TRUTH)                                               \
    LOOPS(sum_##name, T, double, f, SELF, ADD_F, 0, 8)                                             \
    LOOPS(prod_##name, T, double, f, SELF, MUL_F, 1, 8)                                            \
    LOOPS(squares_##name, T, double, f, SQUARE, ADD_F, 0, 8)                                       \
    LOOPS(count_##name, T, int64_t, i, TRUTH, ADD_I, 0, 8)                                         \
    LOOPS(max_##name, T, V, f, SELF, MAX_F, -(V)INFINITY, 32)                                      \
    LOOPS(min_##name, T, V, f, SELF, MIN_F, (V)INFINITY, 32)
#define INT_LOOPS(name, T, member, LEAST, MOST)                                                    \
    LOOPS(sum_##name, T, int64_t, i, SELF, ADD_I, 0, 8)                                            \
    LOOPS(prod_##name, T, int64_t, i, SELF, MUL_I, 1, 8)                                           \
    LOOPS(count_##name, T, int64_t, i, TRUTH, ADD_I, 0, 8)                                         \
    LOOPS(max_##name, T, T, member, SELF, MAX_I, LEAST, 32)                                        \
    LOOPS(min_##name, T, T, member, SELF, MIN_I, MOST, 32)
#define SIGNED_LOOPS(dtype, name, T, least, most)   INT_LOOPS(name, T, i, least, most)
#define UNSIGNED_LOOPS(dtype, name, T, least, most) INT_LOOPS(name, T, u, least, most)

FLOAT_LOOPS(f32, float, float, SELF, SQUARE, TRUTH)
FLOAT_LOOPS(f64, double, double, SELF, SQUARE, TRUTH)
FLOAT_LOOPS(f16, uint16_t, float, SELF_F16, SQUARE_F16, TRUTH_HALF)
FLOAT_LOOPS(bf16, uint16_t, float, SELF_BF16, SQUARE_BF16, TRUTH_HALF)
HKI_EACH_SIGNED(SIGNED_LOOPS)
HKI_EACH_UNSIGNED(UNSIGNED_LOOPS)
JOIN(sum_f, f, ADD_F)
JOIN(prod_f, f, MUL_F)
JOIN(max_f, f, MAX_F)
JOIN(min_f, f, MIN_F)
JOIN(sum_i, i, ADD_I)
JOIN(prod_i, i, MUL_I)
JOIN(max_i, i, MAX_I)
JOIN(min_i, i, MIN_I)
JOIN(max_u, u, MAX_I)
JOIN(min_u, u, MIN_I)

#define ROW(kind, name, class, member, value)                                                      \
    {                                                                                              \
        run_##kind##_##name, rows_##kind##_##name, join_##class##_##member,                        \
        {                                                                                          \
            .member = value                                                                        \
        }                                                                                          \
    }
#define FLOATS(kind, class, member, none)                                                          \
    [HK_F32] = ROW(kind, f32, class, member, none),                                                \
    [HK_F64] = ROW(kind, f64, class, member, none),                                                \
    [HK_F16] = ROW(kind, f16, class, member, none),                                                \
    [HK_BF16] = ROW(kind, bf16, class, member, none)
#define INTEGERS(kind, class, member, none, largest)                                               \
    [HK_I8] = ROW(kind, i8, class, i, none), [HK_I16] = ROW(kind, i16, class, i, none),            \
    [HK_I32] = ROW(kind, i32, class, i, none), [HK_I64] = ROW(kind, i64, class, i, none),          \
    [HK_U8] = ROW(kind, u8, class, member, largest),                                               \
    [HK_U16] = ROW(kind, u16, class, member, largest),                                             \
    [HK_U32] = ROW(kind, u32, class, member, largest),                                             \
    [HK_U64] = ROW(kind, u64, class, member, largest),                                             \
    [HK_BOOL] = ROW(kind, u8, class, member, largest)

static const reduce_loops all_loops[][HK_DTYPE_COUNT] = {
    [HKI_REDUCE_SUM] = {FLOATS(sum, sum, f, 0), INTEGERS(sum, sum, i, 0, 0)},
    [HKI_REDUCE_PROD] = {FLOATS(prod, prod, f, 1), INTEGERS(prod, prod, i, 1, 1)},
    [HKI_REDUCE_SQUARES] = {FLOATS(squares, sum, f, 0)},
    [HKI_REDUCE_COUNT] = {FLOATS(count, sum, i, 0), INTEGERS(count, sum, i, 0, 0)},
    [HKI_REDUCE_MAX] = {FLOATS(max, max, f, -INFINITY), INTEGERS(max, max, u, INT64_MIN, 0)},
    [HKI_REDUCE_MIN] = {FLOATS(min, min, f, INFINITY),
                        INTEGERS(min, min, u, INT64_MAX, UINT64_MAX)},
};

/* ---- walks --------------------------------------------------------------------------------------------- */

static void walk_runs(const reduce_loops *loops, size_t item, const hki_reduce_geometry *geometry,
                      const char *x, int64_t kept_begin, int64_t kept_end, int64_t gone_begin,
                      int64_t gone_end, hki_reduce_word *words)
{
    const hki_reduce_axes *kept = &geometry->kept, *gone = &geometry->gone;
    for (int64_t k = kept_begin; k < kept_end; k++) {
        int64_t at = hki_reduce_offset(kept, kept->in_strides, k);
        for (int64_t g = gone_begin, count; g < gone_end; g += count) {
            count = run_length(gone, g, hki_min(gone_end - g, HKI_REDUCE_BLOCK));
            const char *from =
                x + (at + hki_reduce_offset(gone, gone->in_strides, g)) * (int64_t)item;
            hki_reduce_word word = loops->run(from, count, inner_stride(gone));
            loops->join(&words[k - kept_begin], &word, 1);
        }
    }
}

static void walk_rows(const reduce_loops *loops, size_t item, const hki_reduce_geometry *geometry,
                      const char *x, int64_t kept_begin, int64_t kept_end, int64_t gone_begin,
                      int64_t gone_end, hki_reduce_word *words)
{
    const hki_reduce_axes *kept = &geometry->kept, *gone = &geometry->gone;
    for (int64_t k = kept_begin, columns; k < kept_end; k += columns) {
        columns = run_length(kept, k, hki_min(kept_end - k, HKI_REDUCE_TILE));
        int64_t at = hki_reduce_offset(kept, kept->in_strides, k);
        for (int64_t g = gone_begin, rows; g < gone_end; g += rows) {
            rows = run_length(gone, g, hki_min(gone_end - g, HKI_REDUCE_BLOCK));
            const char *from =
                x + (at + hki_reduce_offset(gone, gone->in_strides, g)) * (int64_t)item;
            loops->rows(from, rows, inner_stride(gone), columns, inner_stride(kept),
                        words + (k - kept_begin));
        }
    }
}

void hki_reduce_words(hki_reduce_kind kind, hk_dtype dtype, const hki_reduce_geometry *geometry,
                      const void *x, int64_t kept_begin, int64_t kept_end, int64_t gone_begin,
                      int64_t gone_end, hki_reduce_word *words)
{
    const reduce_loops *loops = &all_loops[kind][dtype];
    for (int64_t k = kept_begin; k < kept_end; k++)
        words[k - kept_begin] = loops->none;
    (geometry->rows ? walk_rows : walk_runs)(loops, hk_dtype_bytes(dtype), geometry, x, kept_begin,
                                             kept_end, gone_begin, gone_end, words);
}

/* Eight columns at a time stay in registers for all rows. */
#define DENSE_ROWS(T, name)                                                                        \
    static void rows_dense_##name(const T *x, int64_t rows, int64_t row_stride, int64_t columns,   \
                                  hki_reduce_word *words)                                          \
    {                                                                                              \
        for (int64_t j = 0; j < columns; j += 8) {                                                 \
            const int64_t count = hki_min(8, columns - j);                                         \
            double sums[8] = {0};                                                                  \
            for (int64_t i = 0; count == 8 && i < rows; i++)                                       \
                for (int lane = 0; lane < 8; lane++)                                               \
                    sums[lane] += (double)x[i * row_stride + j + lane];                            \
            for (int64_t i = 0; count < 8 && i < rows; i++)                                        \
                for (int64_t lane = 0; lane < count; lane++)                                       \
                    sums[lane] += (double)x[i * row_stride + j + lane];                            \
            for (int64_t lane = 0; lane < count; lane++)                                           \
                words[j + lane].f = (double)(T)sums[lane];                                         \
        }                                                                                          \
    }

DENSE_ROWS(float, f32)
DENSE_ROWS(double, f64)

void hki_reduce_dense_rows(hk_dtype dtype, const void *x, int64_t rows, int64_t row_stride,
                           int64_t columns, hki_reduce_word *words)
{
    if (dtype == HK_F32)
        rows_dense_f32(x, rows, row_stride, columns, words);
    else
        rows_dense_f64(x, rows, row_stride, columns, words);
}

/* sixteen: a run of samples that are numbers, in vectors without a loop. */
#define DENSE(T, name)                                                                             \
    static double sixteen_##name(const T *x)                                                       \
    {                                                                                              \
        double lane[8];                                                                            \
        for (int l = 0; l < 8; l++)                                                                \
            lane[l] = (double)x[l] + (double)x[l + 8];                                             \
        for (int half = 4; half > 0; half /= 2)                                                    \
            for (int l = 0; l < half; l++)                                                         \
                lane[l] += lane[l + half];                                                         \
        return lane[0];                                                                            \
    }                                                                                              \
    static T tree_##name(const T *sums, int64_t runs)                                              \
    {                                                                                              \
        const int64_t half = hki_sum_half(runs);                                                   \
        if (runs <= 3)                                                                             \
            return runs == 1   ? sums[0]                                                           \
                   : runs == 2 ? sums[0] + sums[1]                                                 \
                               : sums[0] + sums[1] + sums[2];                                      \
        return tree_##name(sums, half) + tree_##name(sums + half, runs / 2);                       \
    }                                                                                              \
    static T dense_##name(const char *x, int64_t count, int64_t step, int64_t runs)                \
    {                                                                                              \
        T sums[HKI_REDUCE_RUNS];                                                                   \
        for (int64_t i = 0; count == 16 && i < runs; i++)                                          \
            sums[i] = (T)sixteen_##name((const T *)(const void *)(x + i * step));                  \
        for (int64_t i = 0; count != 16 && i < runs; i++)                                          \
            sums[i] = (T)run_sum_##name(x + i * step, count, 1).f;                                 \
        if (runs & (runs - 1))                                                                     \
            return tree_##name(sums, runs);                                                        \
        for (; runs > 1; runs /= 2)                                                                \
            for (int64_t i = 0; i < runs / 2; i++)                                                 \
                sums[i] = sums[2 * i] + sums[2 * i + 1];                                           \
        return sums[0];                                                                            \
    }

DENSE(float, f32)
DENSE(double, f64)

double hki_reduce_dense_sum(hk_dtype dtype, const void *x, int64_t count, int64_t step,
                            int64_t runs)
{
    return dtype == HK_F32 ? (double)dense_f32(x, count, step, runs)
                           : dense_f64(x, count, step, runs);
}

void hki_reduce_join(hki_reduce_kind kind, hk_dtype dtype, hki_reduce_word *words,
                     const hki_reduce_word *more, int64_t count)
{
    all_loops[kind][dtype].join(words, more, count);
}
