/* Included once for each instruction set: LOOPS is the name of the functions found. Loops go over few arrays each, some of them on
 * the stack, so that compilers need not ask whether they overlap. */

#define EACH for (int64_t j = 0; j < count; j++)

#define FUNCTIONS(name, T)                                                                         \
    static void sums_##name(const T *restrict x, const T *restrict h, T *restrict y,               \
                            int64_t count)                                                         \
    {                                                                                              \
        EACH y[j] = x[j] + h[j];                                                                   \
    }                                                                                              \
    static void gate_##name(T *y, int64_t count)                                                   \
    {                                                                                              \
        EACH y[j] = hki_sigmoid_##name(y[j]);                                                      \
    }                                                                                              \
    static void tanh_##name(T *y, int64_t count)                                                   \
    {                                                                                              \
        EACH y[j] = hki_tanh_##name(y[j]);                                                         \
    }                                                                                              \
    /* dy sigmoid'(x) and dy tanh'(x), by what these gave. */                                      \
    static void gate_back_##name(const T *restrict y, const T *restrict dy, T *restrict dx,        \
                                 int64_t count)                                                    \
    {                                                                                              \
        EACH dx[j] = dy[j] * (y[j] * (1 - y[j]));                                                  \
    }                                                                                              \
    static void tanh_back_##name(const T *restrict y, const T *restrict dy, T *restrict dx,        \
                                 int64_t count)                                                    \
    {                                                                                              \
        EACH dx[j] = dy[j] * (1 - y[j] * y[j]);                                                    \
    }                                                                                              \
    static void add_##name(const T *restrict x, T *restrict y, int64_t count)                      \
    {                                                                                              \
        EACH y[j] += x[j];                                                                         \
    }                                                                                              \
    static void sums_tanh_##name(const T *restrict x, const T *restrict h, T *restrict y,          \
                                 int64_t count)                                                    \
    {                                                                                              \
        sums_##name(x, h, y, count);                                                               \
        tanh_##name(y, count);                                                                     \
    }                                                                                              \
    static void lstm_##name(const T *const *x, const T *const *h, const T *c, T *y, T *next,       \
                            T *const *kept, int64_t count)                                         \
    {                                                                                              \
        for (int k = 0; k < HKI_LSTM_SUMS; k++) {                                                  \
            sums_##name(x[k], h[k], kept[k], count);                                               \
            if (k == 2)                                                                            \
                tanh_##name(kept[k], count);                                                       \
            else                                                                                   \
                gate_##name(kept[k], count);                                                       \
        }                                                                                          \
        T cell[HKI_CELL_CHUNK];                                                                    \
        const T *in = kept[0], *forget = kept[1], *candidate = kept[2], *out = kept[3];            \
        T *squashed = kept[4];                                                                     \
        EACH cell[j] = forget[j] * c[j];                                                           \
        EACH cell[j] += in[j] * candidate[j];                                                      \
        EACH next[j] = cell[j];                                                                    \
        tanh_##name(cell, count);                                                                  \
        EACH squashed[j] = cell[j];                                                                \
        EACH y[j] = out[j] * cell[j];                                                              \
    }                                                                                              \
    static void lstm_back_##name(const T *const *kept, const T *c, const T *dy, const T *dnext,    \
                                 const T *const *dkept, T *const *ds, T *dc, int64_t count)        \
    {                                                                                              \
        T dcell[HKI_CELL_CHUNK], d[HKI_CELL_CHUNK];                                                \
        const T *in = kept[0], *forget = kept[1], *candidate = kept[2], *out = kept[3];            \
        EACH d[j] = dy[j] * out[j] + dkept[4][j];                                                  \
        tanh_back_##name(kept[4], d, dcell, count);                                                \
        EACH dcell[j] += dnext[j];                                                                 \
        EACH dc[j] = dcell[j] * forget[j];                                                         \
        EACH d[j] = dcell[j] * candidate[j] + dkept[0][j];                                         \
        gate_back_##name(in, d, ds[0], count);                                                     \
        EACH d[j] = dcell[j] * c[j] + dkept[1][j];                                                 \
        gate_back_##name(forget, d, ds[1], count);                                                 \
        EACH d[j] = dcell[j] * in[j] + dkept[2][j];                                                \
        tanh_back_##name(candidate, d, ds[2], count);                                              \
        EACH d[j] = dy[j] * kept[4][j] + dkept[3][j];                                              \
        gate_back_##name(out, d, ds[3], count);                                                    \
    }                                                                                              \
    static void gru_##name(const T *const *x, const T *const *h, const T *state, T *y,             \
                           T *const *kept, int64_t count)                                          \
    {                                                                                              \
        for (int k = 0; k < 2; k++) {                                                              \
            sums_##name(x[k], h[k], kept[k], count);                                               \
            gate_##name(kept[k], count);                                                           \
        }                                                                                          \
        T d[HKI_CELL_CHUNK];                                                                       \
        const T *reset = kept[0], *update = kept[1];                                               \
        EACH kept[3][j] = h[2][j];                                                                 \
        EACH d[j] = reset[j] * h[2][j];                                                            \
        EACH d[j] += x[2][j];                                                                      \
        tanh_##name(d, count);                                                                     \
        EACH kept[2][j] = d[j];                                                                    \
        EACH y[j] = d[j] + update[j] * (state[j] - d[j]);                                          \
    }                                                                                              \
    static void gru_back_##name(const T *const *kept, const T *state, const T *dy,                 \
                                const T *const *dkept, T *const *dx, T *const *dh, T *dstate,      \
                                int64_t count)                                                     \
    {                                                                                              \
        T d[HKI_CELL_CHUNK], dcandidate[HKI_CELL_CHUNK];                                           \
        const T *reset = kept[0], *update = kept[1], *candidate = kept[2], *of_h = kept[3];        \
        EACH dstate[j] = dy[j] * update[j];                                                        \
        EACH d[j] = dy[j] * (1 - update[j]) + dkept[2][j];                                         \
        tanh_back_##name(candidate, d, dcandidate, count);                                         \
        EACH dx[2][j] = dcandidate[j];                                                             \
        EACH dh[2][j] = dcandidate[j] * reset[j] + dkept[3][j];                                    \
        EACH d[j] = dcandidate[j] * of_h[j] + dkept[0][j];                                         \
        gate_back_##name(reset, d, dx[0], count);                                                  \
        EACH d[j] = dy[j] * (state[j] - candidate[j]) + dkept[1][j];                               \
        gate_back_##name(update, d, dx[1], count);                                                 \
        EACH dh[0][j] = dx[0][j];                                                                  \
        EACH dh[1][j] = dx[1][j];                                                                  \
    }

FUNCTIONS(f32, float)
FUNCTIONS(f64, double)

#define LIST(name)                                                                                 \
    add_##name, sums_tanh_##name, tanh_back_##name, lstm_##name, lstm_back_##name, gru_##name,     \
        gru_back_##name

const hki_cell_loops LOOPS = {LIST(f32), LIST(f64)};
