/* The loops of all rows of elementwise.def for one wide type. Include with these defined:
 *   T, U        the type, and the unsigned type of its size
 *   NAME(name)  name of the loop of a row
 *   F(name)     the function of T, where T is real
 *   I(name)     the function of integers, where T is one
 *   NUMBER(x)   a double as T, for the numbers of a row
 *   REAL, INTEGER, BOOL: one of them
 * Undefines them all at its end. */

/* Elements at one index may be in one place; nothing else overlaps. */
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < n; i++)
#else
#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
#endif

#define V         T
#define AT(index) (*(const T *)(run->in[index] + i * run->in_step[index]))

#define BEGIN(name)                                                                                \
    static int64_t NAME(name)(const hki_run *run)                                                  \
    {                                                                                              \
        const int64_t n = run->n;                                                                  \
        const hki_numbers *numbers = run->given;                                                   \
        const T s = NUMBER(numbers->s), t = NUMBER(numbers->t);                                    \
        const int narrow = numbers->narrow;                                                        \
        (void)s, (void)t, (void)narrow;
#define END                                                                                        \
    return -1;                                                                                     \
    }

/* R: type of the result. a, b, c: what expressions call the inputs. */
#define LOOP_1(name, R, a, expression)                                                             \
    BEGIN(name)                                                                                    \
    const T *first = (const T *)run->in[0];                                                        \
    R *out = (R *)run->out;                                                                        \
    EACH                                                                                           \
    {                                                                                              \
        const T a = first[i];                                                                      \
        out[i] = (R)(expression);                                                                  \
    }                                                                                              \
    END

#define LOOP_2(name, R, a, b, expression)                                                          \
    BEGIN(name)                                                                                    \
    const T *first = (const T *)run->in[0], *second = (const T *)run->in[1];                       \
    R *out = (R *)run->out;                                                                        \
    if (run->in_step[1] == 0) {                                                                    \
        const T b = second[0];                                                                     \
        EACH                                                                                       \
        {                                                                                          \
            const T a = first[i];                                                                  \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    } else if (run->in_step[0] == 0) {                                                             \
        const T a = first[0];                                                                      \
        EACH                                                                                       \
        {                                                                                          \
            const T b = second[i];                                                                 \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    } else {                                                                                       \
        EACH                                                                                       \
        {                                                                                          \
            const T a = first[i], b = second[i];                                                   \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    }                                                                                              \
    END

/* Both dense: what gradients take. */
#define LOOP_2_DENSE(name, a, b, expression)                                                       \
    BEGIN(name)                                                                                    \
    const T *first = (const T *)run->in[0], *second = (const T *)run->in[1];                       \
    T *out = (T *)run->out;                                                                        \
    EACH                                                                                           \
    {                                                                                              \
        const T a = first[i], b = second[i];                                                       \
        out[i] = (T)(expression);                                                                  \
    }                                                                                              \
    END

/* Of angles: `near` is a constant in each of the two loops. `angle` is what of (a, b) it is about. */
#if defined(REAL)
#define NEAR(angles, n)                                                                            \
    U far = 0; /* as wide as elements, for vectors */                                              \
    for (int64_t i = 0; i < n; i++)                                                                \
        far |= F(abs)(angles[i]) < (T)HKI_NEAR_ANGLE ? 0 : 1;                                      \
    const bool all_near = !far;
#define LOOP_U1A(name, expression)                                                                 \
    BEGIN(name)                                                                                    \
    const T *first = (const T *)run->in[0];                                                        \
    T *out = (T *)run->out;                                                                        \
    NEAR(first, n)                                                                                 \
    if (all_near) {                                                                                \
        const bool near = true;                                                                    \
        EACH                                                                                       \
        {                                                                                          \
            const T a = first[i];                                                                  \
            out[i] = expression;                                                                   \
        }                                                                                          \
        return -1;                                                                                 \
    }                                                                                              \
    const bool near = false;                                                                       \
    EACH                                                                                           \
    {                                                                                              \
        const T a = first[i];                                                                      \
        out[i] = expression;                                                                       \
    }                                                                                              \
    END
#define LOOP_G_angle(name, expression)                                                             \
    BEGIN(name)                                                                                    \
    const T *first = (const T *)run->in[0], *second = (const T *)run->in[1];                       \
    T *out = (T *)run->out;                                                                        \
    NEAR(second, n)                                                                                \
    if (all_near) {                                                                                \
        const bool near = true;                                                                    \
        EACH                                                                                       \
        {                                                                                          \
            const T g = first[i], a = second[i];                                                   \
            out[i] = expression;                                                                   \
        }                                                                                          \
        return -1;                                                                                 \
    }                                                                                              \
    const bool near = false;                                                                       \
    EACH                                                                                           \
    {                                                                                              \
        const T g = first[i], a = second[i];                                                       \
        out[i] = expression;                                                                       \
    }                                                                                              \
    END
#endif

/* A: type of the first input. */
#define LOOP_3(name, A, a, b, c, expression)                                                       \
    BEGIN(name)                                                                                    \
    const A *first = (const A *)run->in[0];                                                        \
    const T *second = (const T *)run->in[1], *third = (const T *)run->in[2];                       \
    T *out = (T *)run->out;                                                                        \
    EACH                                                                                           \
    {                                                                                              \
        const A a = first[i];                                                                      \
        const T b = second[i], c = third[i];                                                       \
        out[i] = (T)(expression);                                                                  \
    }                                                                                              \
    END

/* Stops at the first element for which `check` holds; what was written before stays. */
#define LOOP_CHECKED_1(name, expression, check)                                                    \
    BEGIN(name)                                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                              \
        const T a = AT(0);                                                                         \
        if (check)                                                                                 \
            return i;                                                                              \
        ((T *)run->out)[i] = (T)(expression);                                                      \
    }                                                                                              \
    END
#define LOOP_CHECKED_2(name, expression, check)                                                    \
    BEGIN(name)                                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                              \
        const T a = AT(0), b = AT(1);                                                              \
        if (check)                                                                                 \
            return i;                                                                              \
        ((T *)run->out)[i] = (T)(expression);                                                      \
    }                                                                                              \
    END

#define LOOP_U1(name, expression)  LOOP_1(name, T, a, KEPT(expression))
#define LOOP_U1S(name, expression) LOOP_1(name, T, a, expression)
#define LOOP_U1N                   LOOP_U1S
#define LOOP_U1R(name, expression) LOOP_1(name, T, a, expression)
#define LOOP_C1(name, expression)  LOOP_1(name, uint8_t, a, expression)
#define LOOP_U2(name, expression)  LOOP_2(name, T, a, b, KEPT(expression))
#define LOOP_C2(name, expression)  LOOP_2(name, uint8_t, a, b, expression)
#define LOOP_W3(name, expression)  LOOP_3(name, uint8_t, a, b, c, expression)

/* Gradients, by what is kept. */
#define LOOP_G_none(name, expression) LOOP_1(name, T, g, expression)
#define LOOP_G_a(name, expression)    LOOP_2_DENSE(name, g, a, expression)
#define LOOP_G_b(name, expression)    LOOP_2_DENSE(name, g, b, expression)
#define LOOP_G_y(name, expression)    LOOP_2_DENSE(name, g, y, expression)
#define LOOP_G_ab(name, expression)   LOOP_3(name, T, g, a, b, expression)
#define LOOP_G_ay(name, expression)   LOOP_3(name, T, g, a, y, expression)
#define LOOP_G_known                  LOOP_G_ay
#define LOOP_G_by(name, expression)   LOOP_3(name, T, g, b, y, expression)

#define LOOP_CHECKED_U1S LOOP_CHECKED_1
#define LOOP_CHECKED_U1N LOOP_CHECKED_1
#define LOOP_CHECKED_U2  LOOP_CHECKED_2

#if defined(BOOL)
#define KEPT(expression) (expression) & 1
#else
#define KEPT(expression) expression
#endif

#if defined(REAL)
#define SKIP_FLOATS(...)     __VA_ARGS__
#define SKIP_NUMBERS(...)    __VA_ARGS__
#define SKIP_ALL_DTYPES(...) __VA_ARGS__
#define SKIP_INTEGERS(...)
#define SKIP_BITS(...)
#define LOOP_GRADIENT(context, kept, name, ns, expression) LOOP_G_##kept(name, expression)
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    SKIP_##dtypes(LOOP_##kind(name, real)) HKI_EACH_GRADIENT(LOOP_GRADIENT, , name, gradient)
#define CHECKED ROW
#else
#define SKIP_FLOATS(...)
#if defined(INTEGER)
#define SKIP_NUMBERS(...)  __VA_ARGS__
#define SKIP_INTEGERS(...) __VA_ARGS__
#else
#define SKIP_NUMBERS(...)
#define SKIP_INTEGERS(...)
#endif
#define SKIP_ALL_DTYPES(...)                            __VA_ARGS__
#define SKIP_BITS(...)                                  __VA_ARGS__
#define ROW(kind, name, dtypes, ns, real, integer, ...) SKIP_##dtypes(LOOP_##kind(name, integer))
#if defined(VECTORS_ALONE)
#define CHECKED(...)
#else
#define CHECKED(kind, name, dtypes, ns, real, integer, reference, samples, gradient, formula, doc, \
                check, text)                                                                       \
    SKIP_##dtypes(LOOP_CHECKED_##kind(name, integer, check))
#endif
#endif

#include "op/elementwise/elementwise.def"

#undef EACH
#undef AT
#undef BEGIN
#undef END
#undef LOOP_1
#undef LOOP_2
#undef LOOP_2_DENSE
#undef LOOP_3
#undef LOOP_CHECKED_1
#undef LOOP_CHECKED_2
#undef LOOP_U1
#undef LOOP_U1S
#undef LOOP_U1N
#undef LOOP_U1R
#undef NEAR
#undef LOOP_U1A
#undef LOOP_G_angle
#undef LOOP_C1
#undef LOOP_U2
#undef LOOP_C2
#undef LOOP_W3
#undef LOOP_G_none
#undef LOOP_G_a
#undef LOOP_G_b
#undef LOOP_G_y
#undef LOOP_G_ab
#undef LOOP_G_ay
#undef LOOP_G_by
#undef LOOP_G_known
#undef LOOP_CHECKED_U1S
#undef LOOP_CHECKED_U1N
#undef LOOP_CHECKED_U2
#undef KEPT
#undef SKIP_FLOATS
#undef SKIP_NUMBERS
#undef SKIP_ALL_DTYPES
#undef SKIP_INTEGERS
#undef SKIP_BITS
#undef LOOP_GRADIENT
#undef ROW
#undef CHECKED
#undef T
#undef V
#undef U
#undef NAME
#undef F
#undef I
#undef NUMBER
#undef REAL
#undef INTEGER
#undef BOOL
