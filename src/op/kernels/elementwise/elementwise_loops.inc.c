/* The loops of all rows of elementwise.def for one element type. Include with these defined:
 *   T, V, U     stored, computed and unsigned type
 *   NAME(name)  name of the loop of a row
 *   REAL, INTEGER, BOOL: one of them
 * and, for REAL, the functions of T. Undefines them all at its end. */

/* Elements at one index may be in one place; nothing else overlaps. */
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < n; i++)
#else
#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
#endif

#define BYTES           ((int64_t)sizeof(T))
#define AT(type, index) (*(const type *)(run->in[index] + i * run->in_step[index]))
#define OUT(type)       (*(type *)(run->out + i * run->out_step))

#define BEGIN(name)                                                                                \
    static int64_t NAME(name)(const hki_run *run)                                                  \
    {                                                                                              \
        const int64_t n = run->n;                                                                  \
        const hki_scalar_options *number = run->given;                                             \
        const V s = number ? (V)number->value : (V)0;                                              \
        (void)s;
#define END                                                                                        \
    return -1;                                                                                     \
    }

/* R: type of the result. */
#define LOOP_1(name, R, expression)                                                                \
    BEGIN(name)                                                                                    \
    if (run->in_step[0] == BYTES && run->out_step == (int64_t)sizeof(R)) {                         \
        const T *x = (const T *)run->in[0];                                                        \
        R *out = (R *)run->out;                                                                    \
        EACH                                                                                       \
        {                                                                                          \
            const V a = (V)x[i];                                                                   \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    } else {                                                                                       \
        EACH                                                                                       \
        {                                                                                          \
            const V a = (V)AT(T, 0);                                                               \
            OUT(R) = (R)(expression);                                                              \
        }                                                                                          \
    }                                                                                              \
    END

#define LOOP_2(name, R, expression)                                                                \
    BEGIN(name)                                                                                    \
    const T *x = (const T *)run->in[0], *y = (const T *)run->in[1];                                \
    R *out = (R *)run->out;                                                                        \
    bool dense = run->out_step == (int64_t)sizeof(R);                                              \
    bool x_dense = run->in_step[0] == BYTES, y_dense = run->in_step[1] == BYTES;                   \
    if (dense && x_dense && y_dense) {                                                             \
        EACH                                                                                       \
        {                                                                                          \
            const V a = (V)x[i], b = (V)y[i];                                                      \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    } else if (dense && x_dense && run->in_step[1] == 0) {                                         \
        const V b = (V)y[0];                                                                       \
        EACH                                                                                       \
        {                                                                                          \
            const V a = (V)x[i];                                                                   \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    } else if (dense && y_dense && run->in_step[0] == 0) {                                         \
        const V a = (V)x[0];                                                                       \
        EACH                                                                                       \
        {                                                                                          \
            const V b = (V)y[i];                                                                   \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    } else {                                                                                       \
        EACH                                                                                       \
        {                                                                                          \
            const V a = (V)AT(T, 0), b = (V)AT(T, 1);                                              \
            OUT(R) = (R)(expression);                                                              \
        }                                                                                          \
    }                                                                                              \
    END

/* A, A_VALUE: stored and computed type of the first input. */
#define LOOP_3(name, A, A_VALUE, expression)                                                       \
    BEGIN(name)                                                                                    \
    if (run->out_step == BYTES && run->in_step[0] == (int64_t)sizeof(A) &&                         \
        run->in_step[1] == BYTES && run->in_step[2] == BYTES) {                                    \
        const A *x = (const A *)run->in[0];                                                        \
        const T *y = (const T *)run->in[1], *z = (const T *)run->in[2];                            \
        T *out = (T *)run->out;                                                                    \
        EACH                                                                                       \
        {                                                                                          \
            const A_VALUE a = (A_VALUE)x[i];                                                       \
            const V b = (V)y[i], c = (V)z[i];                                                      \
            out[i] = (T)(expression);                                                              \
        }                                                                                          \
    } else {                                                                                       \
        EACH                                                                                       \
        {                                                                                          \
            const A_VALUE a = (A_VALUE)AT(A, 0);                                                   \
            const V b = (V)AT(T, 1), c = (V)AT(T, 2);                                              \
            OUT(T) = (T)(expression);                                                              \
        }                                                                                          \
    }                                                                                              \
    END

/* Stops at the first element for which `check` holds; what was written before stays. */
#define LOOP_CHECKED_1(name, expression, check)                                                    \
    BEGIN(name)                                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                              \
        const V a = (V)AT(T, 0);                                                                   \
        if (check)                                                                                 \
            return i;                                                                              \
        OUT(T) = (T)(expression);                                                                  \
    }                                                                                              \
    END
#define LOOP_CHECKED_2(name, expression, check)                                                    \
    BEGIN(name)                                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                              \
        const V a = (V)AT(T, 0), b = (V)AT(T, 1);                                                  \
        if (check)                                                                                 \
            return i;                                                                              \
        OUT(T) = (T)(expression);                                                                  \
    }                                                                                              \
    END

#define LOOP_U1(name, expression)  LOOP_1(name, T, expression)
#define LOOP_U1S(name, expression) LOOP_1(name, T, expression)
#define LOOP_U2(name, expression)  LOOP_2(name, T, expression)
#define LOOP_G2(name, expression)  LOOP_2(name, T, expression)
#define LOOP_G2S(name, expression) LOOP_2(name, T, expression)
#define LOOP_G3(name, expression)  LOOP_3(name, T, V, expression)
#define LOOP_C2(name, expression)  LOOP_2(name, uint8_t, expression)
#define LOOP_W3(name, expression)  LOOP_3(name, uint8_t, bool, expression)

#define LOOP_CHECKED_U1S LOOP_CHECKED_1
#define LOOP_CHECKED_U2  LOOP_CHECKED_2

#if defined(REAL)
#define ROW(kind, name, dtypes, ns, real, integer, ...) LOOP_##kind(name, real)
#define CHECKED                                         ROW
#else
#define SKIP_FLOATS(...)
#if defined(INTEGER)
#define SKIP_NUMBERS(...) __VA_ARGS__
#else
#define SKIP_NUMBERS(...)
#endif
#define SKIP_ALL_DTYPES(...)                            __VA_ARGS__
#define ROW(kind, name, dtypes, ns, real, integer, ...) SKIP_##dtypes(LOOP_##kind(name, integer))
#define CHECKED(kind, name, dtypes, ns, real, integer, reference, samples, gradient, formula, doc, \
                check, text)                                                                       \
    SKIP_##dtypes(LOOP_CHECKED_##kind(name, integer, check))
#endif

#include "op/elementwise.def"

#undef ROW
#undef CHECKED
#undef SKIP_FLOATS
#undef SKIP_NUMBERS
#undef SKIP_ALL_DTYPES
#undef EACH
#undef BYTES
#undef AT
#undef OUT
#undef BEGIN
#undef END
#undef LOOP_1
#undef LOOP_2
#undef LOOP_3
#undef LOOP_CHECKED_1
#undef LOOP_CHECKED_2
#undef LOOP_U1
#undef LOOP_U1S
#undef LOOP_U2
#undef LOOP_G2
#undef LOOP_G2S
#undef LOOP_G3
#undef LOOP_C2
#undef LOOP_W3
#undef LOOP_CHECKED_U1S
#undef LOOP_CHECKED_U2
#undef T
#undef V
#undef U
#undef NAME
#undef REAL
#undef INTEGER
#undef BOOL
#undef EXP
#undef LOG
#undef POW
#undef SQRT
#undef FABS
#undef SIGMOID
#undef TANH
