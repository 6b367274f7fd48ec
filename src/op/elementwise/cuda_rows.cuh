/* Within the plug-in: the rows of elementwise.def for one type of elements, as types for the kernel of
 * cuda_elementwise.cuh, and the table of their launches. Include with these defined: ROW_TYPE; ROW_TABLE, the table's name;
 * ROW_REAL for floating-point types, ROW_BOOL for truth.
 *
 * Expressions are those that the processor computes, and so is exp of float32; contraction is off, so that what is exact
 * arithmetic there has the same bits here. */
#include "op/elementwise/cuda_elementwise.cuh"
#include "op/elementwise/scalar_math.h"

#include <type_traits>

/* What elements are computed as, and the unsigned type of that size. */
template <class Element> struct number_of;
#define NUMBER(element, computed, without_sign, real, least, most)                                 \
    template <> struct number_of<element> {                                                        \
        using value = computed;                                                                    \
        using wrapping = without_sign;                                                             \
        static constexpr bool is_real = real;                                                      \
        static constexpr int64_t lowest = least, highest = most;                                   \
    };
enum truth : uint8_t {}; /* a bool, of which only the lowest bit is kept */
NUMBER(float, float, uint32_t, true, 0, 0)
NUMBER(double, double, uint64_t, true, 0, 0)
NUMBER(int32_t, int32_t, uint32_t, false, INT32_MIN, INT32_MAX)
NUMBER(int64_t, int64_t, uint64_t, false, INT64_MIN, INT64_MAX)
NUMBER(uint8_t, int, unsigned, false, 0, UINT8_MAX)
NUMBER(truth, int, unsigned, false, 0, 1)

/* The functions of scalar_math.h by their argument's type. */
#define F(name) function_##name
#define I(name) hki_##name##_int
#define FUNCTION_1(name)                                                                           \
    HKI_DEVICE float function_##name(float x)                                                      \
    {                                                                                              \
        return hki_##name##_f32(x);                                                                \
    }                                                                                              \
    HKI_DEVICE double function_##name(double x)                                                    \
    {                                                                                              \
        return hki_##name##_f64(x);                                                                \
    }
#define FUNCTION_2(name)                                                                           \
    HKI_DEVICE float function_##name(float x, float y)                                             \
    {                                                                                              \
        return hki_##name##_f32(x, y);                                                             \
    }                                                                                              \
    HKI_DEVICE double function_##name(double x, double y)                                          \
    {                                                                                              \
        return hki_##name##_f64(x, y);                                                             \
    }
#define FUNCTION_OF_ANGLE(name)                                                                    \
    HKI_DEVICE float function_##name(float x, bool near)                                           \
    {                                                                                              \
        return hki_##name##_f32(x, near);                                                          \
    }                                                                                              \
    HKI_DEVICE double function_##name(double x, bool near)                                         \
    {                                                                                              \
        return hki_##name##_f64(x, near);                                                          \
    }
HKI_SCALAR_FUNCTIONS(FUNCTION_1, FUNCTION_2, FUNCTION_OF_ANGLE)

/* A row's numbers. */
template <class Value> struct numbers {
    Value s, t;
};

/* Of a kind of rows: inputs, stored and computed type of the first one, type of the result. */
#define KIND(kind, count, stored, computed, made)                                                  \
    template <class Element> struct kind_##kind {                                                  \
        static constexpr int inputs = count;                                                       \
        using first = stored;                                                                      \
        using condition = computed;                                                                \
        using value = Element;                                                                     \
        using result = made;                                                                       \
        using number = numbers<typename number_of<Element>::value>;                                \
    };
#define COMPUTED typename number_of<Element>::value
KIND(U1, 1, Element, COMPUTED, Element)
KIND(U1A, 1, Element, COMPUTED, Element)
KIND(U1S, 1, Element, COMPUTED, Element)
KIND(U1N, 1, Element, COMPUTED, Element)
KIND(U1R, 1, Element, COMPUTED, Element)
KIND(C1, 1, Element, COMPUTED, uint8_t)
KIND(U2, 2, Element, COMPUTED, Element)
KIND(C2, 2, Element, COMPUTED, uint8_t)
KIND(W3, 3, uint8_t, bool, Element)
/* Gradients, by how many inputs they have. */
KIND(G1, 1, Element, COMPUTED, Element)
KIND(G2, 2, Element, COMPUTED, Element)
KIND(G3, 3, Element, COMPUTED, Element)

/* A value as the type of the result. */
template <class Result, class Element, class Computed> HKI_DEVICE Result row_result(Computed value)
{
    if constexpr (std::is_same_v<Element, truth> && std::is_same_v<Result, truth>)
        return (Result)(value & 1);
    else
        return (Result)value;
}

/* Only what the type needs is ever compiled: the other expression may have no meaning for it. */
#define ELEMENT_ROW(kind, name, a, b, c, checked, real, integer, check)                            \
    template <class Element> struct row_##name : kind_##kind<Element> {                            \
        using typename kind_##kind<Element>::first;                                                \
        using typename kind_##kind<Element>::value;                                                \
        using typename kind_##kind<Element>::result;                                               \
        using typename kind_##kind<Element>::number;                                               \
        using A = typename kind_##kind<Element>::condition;                                        \
        using V = typename number_of<Element>::value;                                              \
        using U = typename number_of<Element>::wrapping;                                           \
        static constexpr bool is_checked = checked && !number_of<Element>::is_real;                \
        HKI_DEVICE result apply(first stored_a, [[maybe_unused]] value stored_b,                   \
                                [[maybe_unused]] value stored_c, [[maybe_unused]] number given)    \
        {                                                                                          \
            [[maybe_unused]] const V s = given.s, t = given.t;                                     \
            [[maybe_unused]] const A a = (A)stored_a;                                              \
            [[maybe_unused]] const V b = (V)stored_b, c = (V)stored_c;                             \
            [[maybe_unused]] const bool near = false;                                              \
            [[maybe_unused]] const int narrow = 0; /* no halves */                                 \
            if constexpr (number_of<Element>::is_real)                                             \
                return row_result<result, Element>(real);                                          \
            else                                                                                   \
                return row_result<result, Element>(integer);                                       \
        }                                                                                          \
        HKI_DEVICE bool refuses([[maybe_unused]] first stored_a, [[maybe_unused]] value stored_b,  \
                                [[maybe_unused]] number given)                                     \
        {                                                                                          \
            [[maybe_unused]] const V s = given.s, t = given.t;                                     \
            [[maybe_unused]] const A a = (A)stored_a;                                              \
            [[maybe_unused]] const V b = (V)stored_b;                                              \
            return check;                                                                          \
        }                                                                                          \
    };

/* The three names of a kept gradient's inputs; the last ones may be of none. */
#define GRADIENT_none(X, ...) X(G1, g, unused_1, unused_2, __VA_ARGS__)
#define GRADIENT_a(X, ...)    X(G2, g, a, unused_2, __VA_ARGS__)
#define GRADIENT_angle(X, ...) GRADIENT_a(X, __VA_ARGS__)
#define GRADIENT_b(X, ...)    X(G2, g, b, unused_2, __VA_ARGS__)
#define GRADIENT_y(X, ...)    X(G2, g, y, unused_2, __VA_ARGS__)
#define GRADIENT_ab(X, ...)   X(G3, g, a, b, __VA_ARGS__)
#define GRADIENT_ay(X, ...)   X(G3, g, a, y, __VA_ARGS__)
#define GRADIENT_known(X, ...) GRADIENT_ay(X, __VA_ARGS__)
#define GRADIENT_by(X, ...)   X(G3, g, b, y, __VA_ARGS__)
#define GRADIENT_ROW(kind, a, b, c, name, expression)                                              \
    ELEMENT_ROW(kind, name, a, b, c, false, expression, 0, false)
#define GRADIENT(context, kept, name, ns, expression)                                              \
    GRADIENT_##kept(GRADIENT_ROW, name, expression)

#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    ELEMENT_ROW(kind, name, a, b, c, false, real, integer, false)                                  \
    HKI_EACH_GRADIENT(GRADIENT, , name, gradient)
#define CHECKED(kind, name, dtypes, ns, real, integer, reference, samples, gradient, formula, doc, \
                check, text)                                                                       \
    ELEMENT_ROW(kind, name, a, b, c, true, real, integer, check)                                   \
    HKI_EACH_GRADIENT(GRADIENT, , name, gradient)
#include "op/elementwise/elementwise.def"
#undef ROW
#undef CHECKED

static number_of<ROW_TYPE>::value row_number(double x)
{
    using element = number_of<ROW_TYPE>;
    if constexpr (element::is_real)
        return (element::value)x;
    else
        return (element::value)hki_saturate(x, element::lowest, element::highest);
}

template <class Row>
static void launch_row(hki_cuda_stream *stream, const hki_cuda_path *path, double s, double t,
                       hki_cuda_fault *fault)
{
    launch_elementwise<Row, HKI_CUDA_PACK_BYTES / (int)sizeof(typename Row::value)>(
        stream, path, {row_number(s), row_number(t)}, fault);
}

#define ENTRY(name)    launch_row<row_##name<ROW_TYPE>>,
#define NO_ENTRY(name) nullptr,
#if defined(ROW_REAL)
#define ENTRY_FLOATS     ENTRY
#define ENTRY_NUMBERS    ENTRY
#define ENTRY_ALL_DTYPES ENTRY
#define ENTRY_INTEGERS   NO_ENTRY
#define ENTRY_BITS       NO_ENTRY
#else
#define ENTRY_FLOATS NO_ENTRY
#define ENTRY_BITS   ENTRY
#if defined(ROW_BOOL)
#define ENTRY_NUMBERS    NO_ENTRY
#define ENTRY_ALL_DTYPES NO_ENTRY
#define ENTRY_INTEGERS   NO_ENTRY
#else
#define ENTRY_NUMBERS    ENTRY
#define ENTRY_ALL_DTYPES ENTRY
#define ENTRY_INTEGERS   ENTRY
#endif
#endif
#define ENTRY_GRADIENT(context, kept, name, ns, expression) ENTRY_FLOATS(name)
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    ENTRY_##dtypes(name) HKI_EACH_GRADIENT(ENTRY_GRADIENT, , name, gradient)
#define CHECKED ROW

const hki_cuda_row_fn ROW_TABLE[HKI_CUDA_ROW_COUNT] = {
#include "op/elementwise/elementwise.def"
};
