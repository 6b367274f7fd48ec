/* Included once for each instruction set: ROWS is the name of the functions found. */

enum { CHUNK = 256 };

#define FUNCTIONS(name, T, EXP, BITS, infinity)                                                    \
    static bool is_finite_##name(const void *x, int64_t count)                                     \
    {                                                                                              \
        const BITS *bits = x;                                                                      \
        BITS bad = 0;                                                                              \
        for (int64_t j = 0; j < count; j++)                                                        \
            bad |= (bits[j] & infinity) == infinity;                                               \
        return !bad;                                                                               \
    }                                                                                              \
    static void mask_##name(const hki_attention_tile *t, int64_t r, T *restrict s, int64_t count)  \
    {                                                                                              \
        const T scale = (T)t->scale, never = -(T)INFINITY;                                         \
        if (t->mask_is_bool) {                                                                     \
            const uint8_t *restrict mask = (const uint8_t *)t->mask + r * t->mask_row;             \
            for (int64_t j = 0; j < count; j++)                                                    \
                s[j] = mask[j] ? s[j] * scale : never;                                             \
        } else {                                                                                   \
            const T *restrict mask = (const T *)t->mask + r * t->mask_row;                         \
            for (int64_t j = 0; j < count; j++)                                                    \
                s[j] = mask[j] == never ? never : s[j] * scale + mask[j];                          \
        }                                                                                          \
    }                                                                                              \
    /* How many columns row r sees; the others become 0. */                                        \
    static int64_t begin_##name(const hki_attention_tile *t, int64_t r, T *restrict s)             \
    {                                                                                              \
        const int64_t seen = r + t->sees + 1, count = seen < t->columns ? seen : t->columns;       \
        for (int64_t j = count; j < t->columns; j++)                                               \
            s[j] = 0;                                                                              \
        return count;                                                                              \
    }                                                                                              \
    static void weigh_##name(const hki_attention_tile *t)                                          \
    {                                                                                              \
        const T never = -(T)INFINITY, scale = t->mask ? 1 : (T)t->scale;                           \
        T *saved = t->saved;                                                                       \
        for (int64_t r = 0; r < t->rows; r++) {                                                    \
            T *restrict s = (T *)t->scores + r * t->row;                                           \
            const int64_t count = begin_##name(t, r, s);                                           \
            if (t->mask)                                                                           \
                mask_##name(t, r, s, count);                                                       \
            const T top = hki_row_max_##name(s, count) * scale;                                    \
            const T old = t->is_first ? never : saved[r * t->saved_row];                           \
            const T max = top > old ? top : old, shift = max == never ? 0 : max;                   \
            for (int64_t j = 0; j < count; j++)                                                    \
                s[j] = EXP(s[j] * scale - shift);                                                  \
            double sum = hki_row_sum_##name(s, count);                                             \
            if (!t->is_first) {                                                                    \
                const T less = EXP(old - shift);                                                   \
                T *restrict y = (T *)t->y + r * t->outputs;                                        \
                sum += t->sum[r] * (double)less;                                                   \
                if (less != 1)                                                                     \
                    for (int64_t j = 0; j < t->outputs; j++)                                       \
                        y[j] *= less;                                                              \
            }                                                                                      \
            saved[r * t->saved_row] = max;                                                         \
            t->sum[r] = sum;                                                                       \
        }                                                                                          \
    }                                                                                              \
    static void finish_##name(const hki_attention_tile *t)                                         \
    {                                                                                              \
        for (int64_t r = 0; r < t->rows; r++) {                                                    \
            const T inverse = (T)(1 / t->sum[r]);                                                  \
            T *restrict y = (T *)t->y + r * t->outputs;                                            \
            ((T *)t->saved)[r * t->saved_row + 1] = inverse;                                       \
            for (int64_t j = 0; j < t->outputs; j++)                                               \
                y[j] *= inverse;                                                                   \
        }                                                                                          \
    }                                                                                              \
    static void dots_##name(const hki_attention_tile *t)                                           \
    {                                                                                              \
        T chunk[CHUNK];                                                                            \
        for (int64_t r = 0; r < t->rows; r++) {                                                    \
            const T *y = (const T *)t->y + r * t->outputs;                                         \
            const T *dy = (const T *)t->dy + r * t->dy_row;                                        \
            double sum = 0;                                                                        \
            for (int64_t begin = 0; begin < t->outputs; begin += CHUNK) {                          \
                const int64_t left = t->outputs - begin, count = left < CHUNK ? left : CHUNK;      \
                for (int64_t j = 0; j < count; j++)                                                \
                    chunk[j] = y[begin + j] * dy[begin + j];                                       \
                sum += hki_row_sum_##name(chunk, count);                                           \
            }                                                                                      \
            t->sum[r] = sum;                                                                       \
        }                                                                                          \
    }                                                                                              \
    static void slope_##name(const hki_attention_tile *t)                                          \
    {                                                                                              \
        const T scale = t->mask ? 1 : (T)t->scale, by = (T)t->scale;                               \
        for (int64_t r = 0; r < t->rows; r++) {                                                    \
            T *restrict s = (T *)t->scores + r * t->row, *restrict g =                             \
                                                             (T *)t->slopes + r * t->row;          \
            const T *restrict saved = (const T *)t->saved + r * t->saved_row;                      \
            const T max = saved[0], inverse = saved[1];                                            \
            const T mean = (T)t->sum[r];                                                           \
            const int64_t count = begin_##name(t, r, s);                                           \
            begin_##name(t, r, g);                                                                 \
            if (t->mask && !t->keeps)                                                              \
                mask_##name(t, r, s, count);                                                       \
            if (t->keeps)                                                                          \
                for (int64_t j = 0; j < count; j++)                                                \
                    s[j] = saved[2 + j] * inverse;                                                 \
            else                                                                                   \
                for (int64_t j = 0; j < count; j++)                                                \
                    s[j] = EXP(s[j] * scale - max) * inverse;                                      \
            for (int64_t j = 0; j < count; j++)                                                    \
                g[j] = s[j] * (g[j] - mean) * by;                                                  \
        }                                                                                          \
    }                                                                                              \
    static void note_seen_##name(const hki_attention_tile *t, uint8_t *restrict seen)              \
    {                                                                                              \
        for (int64_t r = 0; r < (t->mask_row ? t->rows : 1); r++) {                                \
            const uint8_t *restrict flags = (const uint8_t *)t->mask + r * t->mask_row;            \
            const T *restrict mask = (const T *)t->mask + r * t->mask_row;                         \
            if (t->mask_is_bool)                                                                   \
                for (int64_t j = 0; j < t->columns; j++)                                           \
                    seen[j] = flags[j] ? 1 : seen[j];                                              \
            else                                                                                   \
                for (int64_t j = 0; j < t->columns; j++)                                           \
                    seen[j] = mask[j] != -(T)INFINITY ? 1 : seen[j];                               \
        }                                                                                          \
    }

FUNCTIONS(f32, float, hki_exp_falling_f32, uint32_t, UINT32_C(0x7f800000))
FUNCTIONS(f64, double, hki_exp_f64, uint64_t, UINT64_C(0x7ff0000000000000))

const hki_attention_rows ROWS = {
    is_finite_f32, weigh_f32, finish_f32, dots_f32, slope_f32, note_seen_f32,
    is_finite_f64, weigh_f64, finish_f64, dots_f64, slope_f64, note_seen_f64,
};
