/* Loops of reductions for each dtype and kind, included once for each instruction set: LOOPS_HERE is the name of the table. */

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
#define RUN_LOOP(name, T, A, W, OF, STEP, NONE, LANES)                                             \
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
    }
#define ROWS_LOOP(name, T, A, W, OF, STEP, NONE)                                                   \
    static void rows_##name(const void *data, int64_t rows, int64_t row_stride, int64_t columns,   \
                            hki_reduce_word *words)                                                \
    {                                                                                              \
        A sums[HKI_REDUCE_TILE];                                                                   \
        for (int64_t j = 0; j < columns; j++)                                                      \
            sums[j] = NONE;                                                                        \
        for (int64_t i = 0; i < rows; i++) {                                                       \
            const T *x = (const T *)data + i * row_stride;                                         \
            for (int64_t j = 0; j < columns; j++)                                                  \
                sums[j] = STEP(sums[j], OF(A, x[j]));                                              \
        }                                                                                          \
        for (int64_t j = 0; j < columns; j++)                                                      \
            words[j].W = STEP(words[j].W, sums[j]);                                                \
    }
#define LOOPS(name, T, A, W, OF, STEP, NONE, LANES)                                                \
    RUN_LOOP(name, T, A, W, OF, STEP, NONE, LANES)                                                 \
    ROWS_LOOP(name, T, A, W, OF, STEP, NONE)

#define JOIN(name, W, STEP)                                                                        \
    static void join_##name(hki_reduce_word *words, const hki_reduce_word *more, int64_t count)    \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            words[i].W = STEP(words[i].W, more[i].W);                                              \
    }

/* V: what extrema are compared as. */
#define FLOAT_LOOPS(name, T, V, SELF, SQUARE, TRUTH)                                               \
    LOOPS(prod_##name, T, double, f, SELF, MUL_F, 1, 8)                                            \
    LOOPS(squares_##name, T, double, f, SQUARE, ADD_F, 0, 8)                                       \
    LOOPS(count_##name, T, int64_t, i, TRUTH, ADD_I, 0, 8)                                         \
    RUN_LOOP(max_##name, T, V, f, SELF, MAX_F, -(V)INFINITY, 32)                                   \
    RUN_LOOP(min_##name, T, V, f, SELF, MIN_F, (V)INFINITY, 32)
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
RUN_LOOP(sum_f32, float, double, f, SELF, ADD_F, 0, 16)
ROWS_LOOP(sum_f64, double, double, f, SELF, ADD_F, 0)
LOOPS(sum_f16, uint16_t, double, f, SELF_F16, ADD_F, 0, 8)
LOOPS(sum_bf16, uint16_t, double, f, SELF_BF16, ADD_F, 0, 8)
RUN_LOOP(total_f32, float, double, f, SELF, ADD_F, 0, 16)
LOOPS(total_i64, int64_t, double, f, SELF, ADD_F, 0, 8)
LOOPS(total_u64, uint64_t, double, f, SELF, ADD_F, 0, 8)
#define HALF_ROWS(name, SELF)                                                                      \
    ROWS_LOOP(max_##name, uint16_t, float, f, SELF, MAX_F, -INFINITY)                              \
    ROWS_LOOP(min_##name, uint16_t, float, f, SELF, MIN_F, INFINITY)
HALF_ROWS(f16, SELF_F16)
HALF_ROWS(bf16, SELF_BF16)
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

#include "op/reduce/reduce_quick.inc.c"

#define ROW(kind, name, class, member, value) ROW_OF(, kind, name, class, member, value)
#define ROW_OF(quick_, kind, name, class, member, value)                                           \
    {                                                                                              \
        quick_##run_##kind##_##name, quick_##rows_##kind##_##name, join_##class##_##member,        \
        {                                                                                          \
            .member = value                                                                        \
        }                                                                                          \
    }
/* quick_: their loops' prefix, or nothing. */
#define FLOATS(kind, class, member, none, quick_)                                                  \
    [HK_F32] = ROW_OF(quick_, kind, f32, class, member, none),                                     \
    [HK_F64] = ROW_OF(quick_, kind, f64, class, member, none),                                     \
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

const hki_reduce_loops LOOPS_HERE[HKI_REDUCE_MIN + 1][HK_DTYPE_COUNT] = {
    [HKI_REDUCE_SUM] = {FLOATS(sum, sum, f, 0, quick_), INTEGERS(sum, sum, i, 0, 0)},
    [HKI_REDUCE_TOTAL] = {[HK_F32] = ROW_OF(quick_, total, f32, sum, f, 0),
                          [HK_F64] = ROW_OF(quick_, sum, f64, sum, f, 0),
                          [HK_I64] = ROW(total, i64, sum, f, 0),
                          [HK_U64] = ROW(total, u64, sum, f, 0)},
    [HKI_REDUCE_PROD] = {FLOATS(prod, prod, f, 1, ), INTEGERS(prod, prod, i, 1, 1)},
    [HKI_REDUCE_SQUARES] = {FLOATS(squares, sum, f, 0, )},
    [HKI_REDUCE_COUNT] = {FLOATS(count, sum, i, 0, ), INTEGERS(count, sum, i, 0, 0)},
    [HKI_REDUCE_MAX] = {FLOATS(max, max, f, -INFINITY, quick_),
                        INTEGERS(max, max, u, INT64_MIN, 0)},
    [HKI_REDUCE_MIN] = {FLOATS(min, min, f, INFINITY, quick_),
                        INTEGERS(min, min, u, INT64_MAX, UINT64_MAX)},
};
