/* Within the plug-in: the rows of elementwise.def for one type of elements, as types for the kernel of
 * cuda_elementwise.cuh, and the table of their launches. Include with these defined: ROW_TYPE; ROW_TABLE, the table's name;
 * ROW_REAL for floating-point types.
 *
 * Expressions are those that the processor computes, and so is exp of float32; contraction is off, so that what is exact
 * arithmetic there has the same bits here. */
#include "op/cuda/cuda_elementwise.cuh"
#include "op/kernels/elementwise/scalar_math.h"

/* What elements are computed as, and the unsigned type of that size. */
template <class Element> struct number_of;
#define NUMBER(element, computed, without_sign, real)                                              \
    template <> struct number_of<element> {                                                        \
        using value = computed;                                                                    \
        using wrapping = without_sign;                                                             \
        static constexpr bool is_real = real;                                                      \
    };
NUMBER(float, float, uint32_t, true)
NUMBER(double, double, uint64_t, true)
NUMBER(int32_t, int32_t, uint32_t, false)
NUMBER(int64_t, int64_t, uint64_t, false)
NUMBER(uint8_t, int, unsigned, false)

#define FUNCTION(name, of_float, of_double)                                                        \
    HKI_DEVICE float name(float x)                                                                 \
    {                                                                                              \
        return of_float(x);                                                                        \
    }                                                                                              \
    HKI_DEVICE double name(double x)                                                               \
    {                                                                                              \
        return of_double(x);                                                                       \
    }
FUNCTION(EXP, hki_exp_f32, exp)
FUNCTION(LOG, logf, log)
FUNCTION(SQRT, sqrtf, sqrt)
FUNCTION(FABS, fabsf, fabs)
FUNCTION(SIGMOID, hki_sigmoid_f32, hki_sigmoid_f64)
FUNCTION(TANH, hki_tanh_f32, tanh)
HKI_DEVICE float POW(float x, float y)
{
    return powf(x, y);
}
HKI_DEVICE double POW(double x, double y)
{
    return pow(x, y);
}

/* Of a kind of rows: inputs, stored and computed type of the first one, type of the result. */
#define KIND(kind, count, stored, computed, made)                                                  \
    template <class Element> struct kind_##kind {                                                  \
        static constexpr int inputs = count;                                                       \
        using first = stored;                                                                      \
        using condition = computed;                                                                \
        using value = Element;                                                                     \
        using result = made;                                                                       \
        using number = typename number_of<Element>::value;                                         \
    };
#define COMPUTED typename number_of<Element>::value
KIND(U1, 1, Element, COMPUTED, Element)
KIND(U1S, 1, Element, COMPUTED, Element)
KIND(U2, 2, Element, COMPUTED, Element)
KIND(G2, 2, Element, COMPUTED, Element)
KIND(G2S, 2, Element, COMPUTED, Element)
KIND(G3, 3, Element, COMPUTED, Element)
KIND(C2, 2, Element, COMPUTED, uint8_t)
KIND(W3, 3, uint8_t, bool, Element)

/* Only what the type needs is ever compiled: the other expression may have no meaning for it. */
#define ELEMENT_ROW(kind, name, checked, real, integer, check)                                     \
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
                                [[maybe_unused]] value stored_c, [[maybe_unused]] number s)        \
        {                                                                                          \
            const A a = (A)stored_a;                                                               \
            [[maybe_unused]] const V b = (V)stored_b, c = (V)stored_c;                             \
            if constexpr (number_of<Element>::is_real)                                             \
                return (result)(real);                                                             \
            else                                                                                   \
                return (result)(integer);                                                          \
        }                                                                                          \
        HKI_DEVICE bool refuses([[maybe_unused]] first stored_a, [[maybe_unused]] value stored_b,  \
                                [[maybe_unused]] number s)                                         \
        {                                                                                          \
            [[maybe_unused]] const A a = (A)stored_a;                                              \
            [[maybe_unused]] const V b = (V)stored_b;                                              \
            return check;                                                                          \
        }                                                                                          \
    };

#define ROW(kind, name, dtypes, ns, real, integer, ...)                                            \
    ELEMENT_ROW(kind, name, false, real, integer, false)
#define CHECKED(kind, name, dtypes, ns, real, integer, reference, samples, gradient, formula, doc, \
                check, text)                                                                       \
    ELEMENT_ROW(kind, name, true, real, integer, check)
#include "op/elementwise.def"
#undef ROW
#undef CHECKED

template <class Row>
static void launch_row(hki_cuda_stream *stream, const hki_cuda_path *path, double scalar,
                       hki_cuda_fault *fault)
{
    launch_elementwise<Row, HKI_CUDA_PACK_BYTES / (int)sizeof(typename Row::value)>(
        stream, path, (typename Row::number)scalar, fault);
}

#ifdef ROW_REAL
#define ENTRY_FLOATS(name) launch_row<row_##name<ROW_TYPE>>,
#else
#define ENTRY_FLOATS(name) nullptr,
#endif
#define ENTRY_NUMBERS(name)              launch_row<row_##name<ROW_TYPE>>,
#define ENTRY_ALL_DTYPES(name)           launch_row<row_##name<ROW_TYPE>>,
#define ROW(kind, name, dtypes, ...)     ENTRY_##dtypes(name)
#define CHECKED(kind, name, dtypes, ...) ENTRY_##dtypes(name)

const hki_cuda_row_fn ROW_TABLE[HKI_CUDA_ROW_COUNT] = {
#include "op/elementwise.def"
};
