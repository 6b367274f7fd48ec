/* The kernels of conv2d_image_kernels.h, compiled once per instruction set and vector width. The includer defines
   IMAGE_N (floats of a vector), IMAGE_TARGET (function attributes), IMAGE_FN(name), IMAGE_WINDOWS (of 2 x 2, that a step
   makes: four sums each in registers), IMAGE_VECTORS (groups side by side: 1 or HKI_IMAGE_VECTORS), and may define
   IMAGE_RELU(a), a < 0 ? 0 : a; for more than four floats, IMAGE_FOUR(from), the four that are there again and again. */

typedef float IMAGE_FN(vec) __attribute__((vector_size(4 * IMAGE_N)));
typedef int32_t IMAGE_FN(bits) __attribute__((vector_size(4 * IMAGE_N)));
typedef float IMAGE_FN(any)
    __attribute__((vector_size(4 * IMAGE_N), aligned(sizeof(float)), may_alias));
#define V IMAGE_FN(vec)
#define M IMAGE_FN(bits)
#define L IMAGE_N

#define IMAGE_INLINE static inline __attribute__((always_inline)) IMAGE_TARGET
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

IMAGE_INLINE V IMAGE_FN(load)(const float *from)
{
    return *(const IMAGE_FN(any) *)from;
}

IMAGE_INLINE void IMAGE_FN(store)(float *to, V v)
{
    *(IMAGE_FN(any) *)to = v;
}

IMAGE_INLINE V IMAGE_FN(relu)(V a)
{
#ifdef IMAGE_RELU
    return IMAGE_RELU(a);
#else
    return (V)(~(M)(a < (V){0}) & (M)a);
#endif
}

/* The larger one; a NaN stays. */
IMAGE_INLINE V IMAGE_FN(larger)(V result, V a)
{
    const M wins = ~(M)(a <= result) & (M)(result == result);
    return (V)((wins & (M)a) | (~wins & (M)result));
}

/* A window of 2 x 2, in the order in which windows of any size go. */
IMAGE_INLINE V IMAGE_FN(pool_of_four)(const hki_block_pool pool, V a, V b, V c, V d)
{
    return pool == HKI_BLOCK_POOL_AVERAGE
               ? (a + b + c + d) * 0.25f
               : IMAGE_FN(larger)(IMAGE_FN(larger)(IMAGE_FN(larger)(a, b), c), d);
}

/* ---- direct ---- */

/* The bodies get copies of their calls: a store of floats changes nothing there, which the compiler could not know. */

IMAGE_INLINE void IMAGE_FN(direct_body)(const hki_image_direct *given, const int rows,
                                        const int pixels)
{
    const hki_image_direct own = *given, *const call = &own;
    V sum[HKI_IMAGE_ROWS][HKI_IMAGE_PIXELS];
    const V bias = IMAGE_FN(load)(call->bias);
    const float *weight = call->weight;
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int i = 0; i < pixels; i++) sum[r][i] = bias;
    for (int64_t k = 0; k < call->terms; k++, weight += L) {
        const V w = IMAGE_FN(load)(weight);
        const float *x = call->x + call->offsets[k];
        UNROLL for (int r = 0; r < rows; r++)
        {
            const float *at = r ? x + call->row : x;
            UNROLL for (int i = 0; i < pixels; i++) sum[r][i] += w * at[i];
        }
    }
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int i = 0; i < pixels; i++)
        IMAGE_FN(store)(call->y + r * call->y_row + i * call->y_stride,
                        call->relu ? IMAGE_FN(relu)(sum[r][i]) : sum[r][i]);
}

IMAGE_TARGET static void IMAGE_FN(direct)(const hki_image_direct *call)
{
    switch (call->rows * 16 + call->pixels) {
#define CASE(rows, pixels)                                                                         \
    case rows * 16 + pixels:                                                                       \
        IMAGE_FN(direct_body)(call, rows, pixels);                                                 \
        break;
        /* clang-format off */
        CASE(1, 1) CASE(1, 2) CASE(1, 3) CASE(1, 4) CASE(1, 5) CASE(1, 6) CASE(1, 7) CASE(1, 8) CASE(1, 9)
        CASE(1, 10) CASE(1, 11) CASE(1, 12) CASE(1, 13)
        CASE(2, 1) CASE(2, 2) CASE(2, 3) CASE(2, 4) CASE(2, 5) CASE(2, 6)
        /* clang-format on */
#undef CASE
                    default : __builtin_unreachable();
    }
}

/* A few windows of 2 x 2 of two rows: they are pooled where they are made. */
IMAGE_INLINE void IMAGE_FN(windows_body)(const hki_image_direct *call, const hki_block_pool pool,
                                         const float *from, float *y, const int windows,
                                         const int vectors)
{
    V sum[2][2][2 * IMAGE_WINDOWS]; /* [vector][row][pixel] */
    const float *weight = call->weight;
    const int32_t *offsets = call->offsets, *const end = offsets + call->terms;
    const int64_t row = call->row, vector = call->terms * L;
    UNROLL for (int o = 0; o < vectors; o++) UNROLL for (int i = 0; i < 2 * windows; i++)
        sum[o][0][i] = sum[o][1][i] = IMAGE_FN(load)(call->bias + o * L);
    for (; offsets < end; offsets++, weight += L) {
        const float *x = from + *offsets;
        V w[2];
        UNROLL for (int o = 0; o < vectors; o++) w[o] = IMAGE_FN(load)(weight + o * vector);
        UNROLL for (int r = 0; r < 2; r++) UNROLL for (int i = 0; i < 2 * windows; i++)
        {
            const float at = x[r * row + i];
            UNROLL for (int o = 0; o < vectors; o++) sum[o][r][i] += w[o] * at;
        }
    }
    UNROLL for (int o = 0; o < vectors; o++)
    {
        V(*const s)[2 * IMAGE_WINDOWS] = sum[o];
        UNROLL for (int i = 0; i < 2 * windows; i++)
        {
            s[0][i] = call->relu ? IMAGE_FN(relu)(s[0][i]) : s[0][i];
            s[1][i] = call->relu ? IMAGE_FN(relu)(s[1][i]) : s[1][i];
        }
        UNROLL for (int i = 0; i < windows; i++)
            IMAGE_FN(store)(y + i * call->y_stride + o * L,
                            IMAGE_FN(pool_of_four)(pool, s[0][2 * i], s[0][2 * i + 1], s[1][2 * i],
                                                   s[1][2 * i + 1]));
    }
}

IMAGE_INLINE void IMAGE_FN(windows_of)(const hki_image_direct *given, const hki_block_pool pool)
{
    const hki_image_direct own = *given, *const call = &own;
    if (call->vectors > 1) {
        for (int64_t j = 0; j < call->pixels / 2; j++)
            IMAGE_FN(windows_body)(call, pool, call->x + 2 * j, call->y + j * call->y_stride, 1, 2);
        return;
    }
    const int64_t all = call->pixels / 2, steps = (all - 1) / IMAGE_WINDOWS + 1;
    for (int64_t s = 0, first = 0, end; s < steps; s++, first = end) {
        end = all * (s + 1) / steps;
        const float *x = call->x + 2 * first;
        float *y = call->y + first * call->y_stride;
        switch (end - first) {
#define CASE(windows)                                                                              \
    case windows:                                                                                  \
        IMAGE_FN(windows_body)(call, pool, x, y, windows, 1);                                      \
        break;
            CASE(1)
            CASE(2)
            CASE(3)
#if IMAGE_WINDOWS > 3
            CASE(4)
#endif
#undef CASE
        default:
            __builtin_unreachable();
        }
    }
}

IMAGE_TARGET static void IMAGE_FN(windows)(const hki_image_direct *call, hki_block_pool pool)
{
    if (pool == HKI_BLOCK_POOL_AVERAGE)
        IMAGE_FN(windows_of)(call, HKI_BLOCK_POOL_AVERAGE);
    else
        IMAGE_FN(windows_of)(call, HKI_BLOCK_POOL_MAX);
}

/* Windows for a quarter of the lanes, or two: [channel][result], four results of a row that lie side by side. */

/* The same of each block of four lanes; lanes of b are L and more. */
#if IMAGE_N == 16
#define BLOCKS(a, b, i, j, k, l)                                                                   \
    __builtin_shufflevector(a, b, i, j, k, l, 4 + i, 4 + j, 4 + k, 4 + l, 8 + i, 8 + j, 8 + k,     \
                            8 + l, 12 + i, 12 + j, 12 + k, 12 + l)
#elif IMAGE_N == 8
#define BLOCKS(a, b, i, j, k, l)                                                                   \
    __builtin_shufflevector(a, b, i, j, k, l, 4 + i, 4 + j, 4 + k, 4 + l)
#elif IMAGE_N == 4
#define BLOCKS(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#endif

#if IMAGE_N == 16
/* Lane `at` of each block, and zeros up to half of the lanes. */
#define WINDOW(a, at)                                                                              \
    __builtin_shufflevector(a, (V){0}, at, 4 + at, 8 + at, 12 + at, 16, 16, 16, 16)
#elif IMAGE_N == 8
#define WINDOW(a, at) __builtin_shufflevector(a, (V){0}, at, 4 + at, 8, 8)
#elif IMAGE_N == 4
#define WINDOW(a, at) __builtin_shufflevector(a, (V){0}, at, 4, 4, 4)
#endif

/* Those of a, and then those of b. */
#if IMAGE_N == 16
#define WINDOW_OF_TWO(a, b, at)                                                                    \
    __builtin_shufflevector(a, b, at, 4 + at, 8 + at, 12 + at, 16 + at, 20 + at, 24 + at, 28 + at)
#elif IMAGE_N == 8
#define WINDOW_OF_TWO(a, b, at) __builtin_shufflevector(a, b, at, 4 + at, 8 + at, 12 + at)
#elif IMAGE_N == 4
#define WINDOW_OF_TWO(a, b, at) __builtin_shufflevector(a, b, at, 4 + at, at, 4 + at)
#endif

typedef float IMAGE_FN(four) __attribute__((vector_size(16), aligned(sizeof(float)), may_alias));
enum { IMAGE_FN(half) = L == 4 ? 4 : L / 2 };
typedef float IMAGE_FN(window)
    __attribute__((vector_size(4 * IMAGE_FN(half)), aligned(sizeof(float)), may_alias));

IMAGE_INLINE V IMAGE_FN(load_four)(const float *from)
{
#ifdef IMAGE_FOUR
    return IMAGE_FOUR(from);
#else
    return (V) * (const IMAGE_FN(four) *)from;
#endif
}

/* The right neighbour of each even lane. */
IMAGE_INLINE V IMAGE_FN(neighbours)(V a)
{
    return BLOCKS(a, a, 1, 1, 3, 3);
}

/* `fours` times four results of two rows, from columns 0, 4, … on. */
IMAGE_INLINE void IMAGE_FN(quarter_body)(const hki_image_direct *call, const hki_block_pool pool,
                                         const float *from, float *y, const int fours,
                                         const int vectors)
{
    V sum[2][2][IMAGE_WINDOWS]; /* [vector][row][four] */
    const float *weight = call->weight;
    const int32_t *offsets = call->offsets, *const end = offsets + call->terms;
    const int64_t row = call->row, vector = call->terms * L;
    UNROLL for (int o = 0; o < vectors; o++) UNROLL for (int i = 0; i < fours; i++) sum[o][0][i] =
        sum[o][1][i] = IMAGE_FN(load)(call->bias + o * L);
    for (; offsets < end; offsets++, weight += L) {
        const float *x = from + *offsets;
        V w[2];
        UNROLL for (int o = 0; o < vectors; o++) w[o] = IMAGE_FN(load)(weight + o * vector);
        UNROLL for (int r = 0; r < 2; r++) UNROLL for (int i = 0; i < fours; i++)
        {
            const V at = IMAGE_FN(load_four)(x + r * row + 4 * i);
            UNROLL for (int o = 0; o < vectors; o++) sum[o][r][i] += w[o] * at;
        }
    }
    UNROLL for (int i = 0; i < fours; i++)
    {
        V both[2];
        UNROLL for (int o = 0; o < vectors; o++)
        {
            const V a = call->relu ? IMAGE_FN(relu)(sum[o][0][i]) : sum[o][0][i];
            const V b = call->relu ? IMAGE_FN(relu)(sum[o][1][i]) : sum[o][1][i];
            both[o] = IMAGE_FN(pool_of_four)(pool, a, IMAGE_FN(neighbours)(a), b,
                                             IMAGE_FN(neighbours)(b));
        }
        IMAGE_FN(window) *const first = (IMAGE_FN(window) *)(y + 2 * i * call->y_stride);
        IMAGE_FN(window) *const second = (IMAGE_FN(window) *)(y + (2 * i + 1) * call->y_stride);
        *first = vectors > 1 ? WINDOW_OF_TWO(both[0], both[1], 0) : WINDOW(both[0], 0);
        *second = vectors > 1 ? WINDOW_OF_TWO(both[0], both[1], 2) : WINDOW(both[0], 2);
    }
}

/* The last step goes back where less than four are left. */
IMAGE_INLINE void IMAGE_FN(quarter_of)(const hki_image_direct *given, const hki_block_pool pool,
                                       const int vectors)
{
    const hki_image_direct own = *given, *const call = &own;
    const int most = vectors > 1 ? 2 : IMAGE_WINDOWS;
    for (int64_t j = 0; j < call->pixels;) {
        const int64_t left = (call->pixels - j) / 4;
        if (left == 0)
            j = call->pixels - 4;
        const float *x = call->x + j;
        float *y = call->y + j / 2 * call->y_stride;
        if (left >= most) {
            IMAGE_FN(quarter_body)(call, pool, x, y, most, vectors);
            j += 4 * most;
        } else if (left >= 2) {
            IMAGE_FN(quarter_body)(call, pool, x, y, 2, vectors);
            j += 8;
        } else {
            IMAGE_FN(quarter_body)(call, pool, x, y, 1, vectors);
            j += 4;
        }
    }
}

IMAGE_TARGET static void IMAGE_FN(quarter)(const hki_image_direct *call, hki_block_pool pool)
{
    if (pool == HKI_BLOCK_POOL_AVERAGE && call->vectors > 1)
        IMAGE_FN(quarter_of)(call, HKI_BLOCK_POOL_AVERAGE, 2);
    else if (pool == HKI_BLOCK_POOL_AVERAGE)
        IMAGE_FN(quarter_of)(call, HKI_BLOCK_POOL_AVERAGE, 1);
    else if (call->vectors > 1)
        IMAGE_FN(quarter_of)(call, HKI_BLOCK_POOL_MAX, 2);
    else
        IMAGE_FN(quarter_of)(call, HKI_BLOCK_POOL_MAX, 1);
}

/* ---- dense ---- */

/* Two sums of each result where there are few, so that they need not wait for each other. */
IMAGE_INLINE void IMAGE_FN(dense_body)(const hki_image_dense *given, const int samples,
                                       const int vectors)
{
    const hki_image_dense own = *given, *const call = &own;
    const int sums = samples <= 2 ? 2 : 1;
    V sum[2][HKI_IMAGE_SAMPLES][HKI_IMAGE_DENSE];
    const float *weight = call->weight;
    UNROLL for (int s = 0; s < samples; s++) UNROLL for (int v = 0; v < vectors; v++)
    {
        sum[0][s][v] = IMAGE_FN(load)(call->bias + v * L);
        sum[1][s][v] = (V){0};
    }
    for (int64_t p = 0; p < call->pixels; p++) {
        const float *x = call->x + p * call->x_stride;
        int64_t c = 0;
        for (; c + sums <= call->channels; c += sums, weight += sums * vectors * L)
            UNROLL for (int u = 0; u < sums; u++) UNROLL for (int v = 0; v < vectors; v++)
            {
                const V w = IMAGE_FN(load)(weight + (u * vectors + v) * L);
                UNROLL for (int s = 0; s < samples; s++) sum[u][s][v] +=
                    w * x[s * call->x_sample + c + u];
            }
        for (; c < call->channels; c++, weight += vectors * L)
            UNROLL for (int v = 0; v < vectors; v++)
            {
                const V w = IMAGE_FN(load)(weight + v * L);
                UNROLL for (int s = 0; s < samples; s++) sum[0][s][v] +=
                    w * x[s * call->x_sample + c];
            }
    }
    UNROLL for (int s = 0; s < samples; s++) UNROLL for (int v = 0; v < vectors; v++)
    {
        const V y = sums > 1 ? sum[0][s][v] + sum[1][s][v] : sum[0][s][v];
        IMAGE_FN(store)(call->y + s * call->y_sample + v * L, call->relu ? IMAGE_FN(relu)(y) : y);
    }
}

IMAGE_TARGET static void IMAGE_FN(dense)(const hki_image_dense *call)
{
    switch (call->samples * 8 + call->vectors) {
#define CASE(samples, vectors)                                                                     \
    case samples * 8 + vectors:                                                                    \
        IMAGE_FN(dense_body)(call, samples, vectors);                                              \
        break;
        /* clang-format off */
        CASE(1, 1) CASE(1, 2) CASE(1, 3) CASE(1, 4) CASE(2, 1) CASE(2, 2) CASE(2, 3) CASE(2, 4)
        CASE(3, 1) CASE(3, 2) CASE(3, 3) CASE(3, 4) CASE(4, 1) CASE(4, 2) CASE(4, 3) CASE(4, 4)
        /* clang-format on */
#undef CASE
                default : __builtin_unreachable();
    }
}

#include "op/conv/conv2d_image_winograd.inc.c"

/* ---- packing ---- */

/* log2 L rounds of a perfect shuffle. */
IMAGE_TARGET static void IMAGE_FN(transpose)(const float *rows, int64_t row, float *to)
{
    V v[L];
    UNROLL for (int i = 0; i < L; i++) v[i] = IMAGE_FN(load)(rows + i * row);
    UNROLL for (int round = 1; round < L; round *= 2)
    {
        V u[L];
        UNROLL for (int i = 0; i < L / 2; i++)
        {
            u[2 * i] = HKI_ZIP_LOW(IMAGE_N, v[i], v[i + L / 2]);
            u[2 * i + 1] = HKI_ZIP_HIGH(IMAGE_N, v[i], v[i + L / 2]);
        }
        UNROLL for (int i = 0; i < L; i++) v[i] = u[i];
    }
    UNROLL for (int i = 0; i < L; i++) IMAGE_FN(store)(to + i * L, v[i]);
}

/* ---- pooling ---- */

IMAGE_INLINE void IMAGE_FN(pool_body)(const hki_image_pool *given, const hki_block_pool pool,
                                      const int64_t height, const int64_t width)
{
    const hki_image_pool own = *given, *const call = &own;
    const int64_t count = height * width;
    const float divisor = (float)count;
    const bool is_exact =
        (count & (count - 1)) == 0; /* a product with the inverse is the quotient */
    for (int64_t i = 0; i < call->windows; i++) {
        const float *from = call->from + i * width * L;
        V result = {0};
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++) {
                const V a = IMAGE_FN(load)(from + y * call->from_row + x * L);
                if (pool == HKI_BLOCK_POOL_AVERAGE) {
                    result += a;
                } else if (y == 0 && x == 0) {
                    result = a;
                } else {
                    result = IMAGE_FN(larger)(result, a);
                }
            }
        if (pool == HKI_BLOCK_POOL_AVERAGE)
            result = is_exact ? result * (1 / divisor) : result / divisor;
        IMAGE_FN(store)(call->y + i * call->y_stride, result);
    }
}

IMAGE_TARGET static void IMAGE_FN(pool)(const hki_image_pool *call)
{
    const bool two = call->height == 2 && call->width == 2;
    if (call->pool == HKI_BLOCK_POOL_AVERAGE && two)
        IMAGE_FN(pool_body)(call, HKI_BLOCK_POOL_AVERAGE, 2, 2);
    else if (call->pool == HKI_BLOCK_POOL_AVERAGE)
        IMAGE_FN(pool_body)(call, HKI_BLOCK_POOL_AVERAGE, call->height, call->width);
    else if (two)
        IMAGE_FN(pool_body)(call, HKI_BLOCK_POOL_MAX, 2, 2);
    else
        IMAGE_FN(pool_body)(call, HKI_BLOCK_POOL_MAX, call->height, call->width);
}

#define IMAGE_KERNELS                                                                              \
    {                                                                                              \
        .lanes = L, .vectors = IMAGE_VECTORS, .direct = IMAGE_FN(direct),                          \
        .windows = IMAGE_FN(windows), .quarter = IMAGE_FN(quarter), .dense = IMAGE_FN(dense),      \
        .tile_in = IMAGE_FN(tile_in), .products = IMAGE_FN(products),                              \
        .quarter_products = IMAGE_FN(quarter_products), .tile_out = IMAGE_FN(tile_out),            \
        .pool = IMAGE_FN(pool), .tile_weight = IMAGE_FN(tile_weight),                              \
        .transpose = IMAGE_FN(transpose)                                                           \
    }
