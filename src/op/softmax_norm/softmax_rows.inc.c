/* Included once for each instruction set: ROWS is the name of the functions found. */

enum { CHUNK = 256 };

#define FUNCTIONS(name, T, EXP)                                                                    \
    static double exp_sum_##name(const T *x, int64_t size, T shift)                                \
    {                                                                                              \
        T chunk[CHUNK];                                                                            \
        double sum = 0;                                                                            \
        for (int64_t begin = 0; begin < size; begin += CHUNK) {                                    \
            const int64_t count = size - begin < CHUNK ? size - begin : CHUNK;                     \
            for (int64_t j = 0; j < count; j++)                                                    \
                chunk[j] = EXP(x[begin + j] - shift);                                              \
            sum += hki_row_sum_##name(chunk, count);                                               \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static void exps_##name(const T *restrict x, int64_t size, T shift, T scale, T *restrict y)    \
    {                                                                                              \
        for (int64_t j = 0; j < size; j++)                                                         \
            y[j] = EXP(x[j] - shift) * scale;                                                      \
    }                                                                                              \
    static void line_##name(const T *restrict x, T *restrict y, int64_t size, bool log_of)         \
    {                                                                                              \
        const T max = hki_row_max_##name(x, size);                                                 \
        for (int64_t j = 0; j < size; j++)                                                         \
            y[j] = EXP(x[j] - max);                                                                \
        const double sum = hki_row_sum_##name(y, size);                                            \
        const T scale = log_of ? (T)log(sum) : (T)(1 / sum);                                       \
        for (int64_t j = 0; j < size; j++)                                                         \
            y[j] = log_of ? x[j] - max - scale : y[j] * scale;                                     \
    }                                                                                              \
    static void tile_##name(const T *x, T *y, int64_t size, int64_t inner, int64_t width,          \
                            bool log_of)                                                           \
    {                                                                                              \
        T max[HKI_SOFTMAX_TILE], scale[HKI_SOFTMAX_TILE];                                          \
        double sum[HKI_SOFTMAX_TILE];                                                              \
        for (int64_t i = 0; i < width; i++) {                                                      \
            max[i] = x[i];                                                                         \
            sum[i] = 0;                                                                            \
        }                                                                                          \
        for (int64_t j = 1; j < size; j++)                                                         \
            for (int64_t i = 0; i < width; i++)                                                    \
                max[i] = x[j * inner + i] > max[i] ? x[j * inner + i] : max[i];                    \
        for (int64_t j = 0; j < size; j++) {                                                       \
            T *restrict to = y + j * inner;                                                        \
            for (int64_t i = 0; i < width; i++)                                                    \
                to[i] = EXP(x[j * inner + i] - max[i]);                                            \
            for (int64_t i = 0; i < width; i++)                                                    \
                sum[i] += (double)to[i];                                                           \
        }                                                                                          \
        for (int64_t i = 0; i < width; i++)                                                        \
            scale[i] = log_of ? (T)log(sum[i]) : (T)(1 / sum[i]);                                  \
        for (int64_t j = 0; j < size; j++) {                                                       \
            T *restrict to = y + j * inner;                                                        \
            for (int64_t i = 0; i < width; i++)                                                    \
                to[i] = log_of ? x[j * inner + i] - max[i] - scale[i] : to[i] * scale[i];          \
        }                                                                                          \
    }                                                                                              \
    static void back_##name(const T *restrict y, const T *restrict dy, T *restrict dx,             \
                            int64_t size)                                                          \
    {                                                                                              \
        for (int64_t j = 0; j < size; j++)                                                         \
            dx[j] = y[j] * dy[j];                                                                  \
        const T sum = (T)hki_row_sum_##name(dx, size);                                             \
        for (int64_t j = 0; j < size; j++)                                                         \
            dx[j] = y[j] * (dy[j] - sum);                                                          \
    }

FUNCTIONS(f32, float, hki_exp_falling_f32)
FUNCTIONS(f64, double, hki_exp_f64)

const hki_softmax_rows ROWS = {
    hki_row_max_f32, exp_sum_f32, exps_f32, line_f32, tile_f32, back_f32,
    hki_row_max_f64, exp_sum_f64, exps_f64, line_f64, tile_f64, back_f64,
};
