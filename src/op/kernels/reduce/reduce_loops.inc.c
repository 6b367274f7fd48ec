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

typedef double doubles __attribute__((vector_size(32)));
typedef double doubles_unaligned __attribute__((vector_size(32), aligned(8), may_alias));

/* The same sums, in vectors where elements lie side by side. */
#define QUICK_SUM(name, T)                                                                         \
    typedef T four_##name                                                                          \
        __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));                \
    static hki_reduce_word quick_sum_##name(const void *data, int64_t count, int64_t stride)       \
    {                                                                                              \
        const T *x = data;                                                                         \
        doubles s[4] = {{0}, {0}, {0}, {0}};                                                       \
        int64_t i = 0;                                                                             \
        if (stride != 1)                                                                           \
            return run_sum_##name(data, count, stride);                                            \
        for (; i + 16 <= count; i += 16)                                                           \
            for (int v = 0; v < 4; v++)                                                            \
                s[v] += FOUR_DOUBLES(&x[i + 4 * v]);                                               \
        if (i < count) {                                                                           \
            double lane[16];                                                                       \
            memcpy(lane, s, sizeof lane);                                                          \
            for (int64_t l = 0; i < count; i++, l++)                                               \
                lane[l] += (double)x[i];                                                           \
            memcpy(s, lane, sizeof lane);                                                          \
        }                                                                                          \
        s[0] = (s[0] + s[2]) + (s[1] + s[3]);                                                      \
        return (hki_reduce_word){.f = (s[0][0] + s[0][2]) + (s[0][1] + s[0][3])};                  \
    }
/* GCC makes one instruction of it, and four of __builtin_convertvector. */
#define FOUR_DOUBLES(x) ((doubles){(double)(x)[0], (double)(x)[1], (double)(x)[2], (double)(x)[3]})

#define JOIN(name, W, STEP)                                                                        \
    static void join_##name(hki_reduce_word *words, const hki_reduce_word *more, int64_t count)    \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            words[i].W = STEP(words[i].W, more[i].W);                                              \
    }

/* V: what extrema are compared as; SUMS: lanes that add. */
#define FLOAT_LOOPS(name, T, V, SELF, SQUARE, TRUTH, SUMS)                                         \
    LOOPS(sum_##name, T, double, f, SELF, ADD_F, 0, SUMS)                                          \
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

FLOAT_LOOPS(f32, float, float, SELF, SQUARE, TRUTH, 16)
FLOAT_LOOPS(f64, double, double, SELF, SQUARE, TRUTH, 16)
FLOAT_LOOPS(f16, uint16_t, float, SELF_F16, SQUARE_F16, TRUTH_HALF, 8)
FLOAT_LOOPS(bf16, uint16_t, float, SELF_BF16, SQUARE_BF16, TRUTH_HALF, 8)
QUICK_SUM(f32, float)
QUICK_SUM(f64, double)
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

#define ROW(kind, name, class, member, value) ROW_RUN(run, kind, name, class, member, value)
#define ROW_RUN(run, kind, name, class, member, value)                                             \
    {                                                                                              \
        run##_##kind##_##name, rows_##kind##_##name, join_##class##_##member,                      \
        {                                                                                          \
            .member = value                                                                        \
        }                                                                                          \
    }
#define FLOATS(kind, class, member, none, run)                                                     \
    [HK_F32] = ROW_RUN(run, kind, f32, class, member, none),                                       \
    [HK_F64] = ROW_RUN(run, kind, f64, class, member, none),                                       \
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
    [HKI_REDUCE_SUM] = {FLOATS(sum, sum, f, 0, quick), INTEGERS(sum, sum, i, 0, 0)},
    [HKI_REDUCE_PROD] = {FLOATS(prod, prod, f, 1, run), INTEGERS(prod, prod, i, 1, 1)},
    [HKI_REDUCE_SQUARES] = {FLOATS(squares, sum, f, 0, run)},
    [HKI_REDUCE_COUNT] = {FLOATS(count, sum, i, 0, run), INTEGERS(count, sum, i, 0, 0)},
    [HKI_REDUCE_MAX] = {FLOATS(max, max, f, -INFINITY, run), INTEGERS(max, max, u, INT64_MIN, 0)},
    [HKI_REDUCE_MIN] = {FLOATS(min, min, f, INFINITY, run),
                        INTEGERS(min, min, u, INT64_MAX, UINT64_MAX)},
};
