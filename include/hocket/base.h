/* What every other public header needs: linkage, visibility, source positions, element types. */
#ifndef HOCKET_BASE_H
#define HOCKET_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HK_BEGIN_DECLS extern "C" {
#define HK_END_DECLS   }
#else
#define HK_BEGIN_DECLS
#define HK_END_DECLS
#endif

/* A name of this line, for scopes. */
#define HKI_JOIN_(a, b) a##b
#define HKI_JOIN(a, b)  HKI_JOIN_(a, b)

#if defined(__GNUC__)
#define HK_API                 __attribute__((visibility("default")))
#define HK_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HK_API
#define HK_PRINTF(format, first)
#endif

HK_BEGIN_DECLS

/* Element types: floats, signed and unsigned integers by their bits, bool, of one byte, stored as 0
 * or 1, and complex numbers: a real part and an imaginary one, of float32 in HK_C64, of float64 in
 * HK_C128, on CPU devices and simulated ones. HK_F16 is IEEE 754's binary16, HK_BF16 bfloat16, the
 * upper half of a float: what operators compute of these halves element by element or sum up is
 * computed in float32 or wider and rounded once; hk_matmul and hk_linear give float32. Two arrays
 * that meet element by element may have different dtypes of one kind: the result has the smallest
 * dtype that holds both, by the promotion table of the array API standard (int8 and uint8 give
 * int16); halves of both sorts give float32. Floats and complex numbers are of one kind there:
 * float64 and complex64 give complex128.
 *
 * Arithmetic of integers wraps around in its dtype: elementwise operators, matrix and dot products,
 * hk_einsum. Sums and products of elements gather in int64, or uint64, and wrap around there. Casts
 * refuse what a dtype of integers does not have; hk_wrap keeps the low bits. docs/CORNERS.md tells
 * what else is decided. */
typedef enum hk_dtype {
    HK_F32,
    HK_F64,
    HK_I32,
    HK_I64,
    HK_U8,
    HK_BOOL,
    HK_F16,
    HK_BF16,
    HK_I8,
    HK_I16,
    HK_U16,
    HK_U32,
    HK_U64,
    HK_C64,
    HK_C128
} hk_dtype;
enum { HK_DTYPE_COUNT = 15 };

/* A complex number: what is read of one element, or written as one. */
typedef struct hk_complex {
    double real, imag;
} hk_complex;
static inline hk_complex hk_complex_number(double real, double imag)
{
    hk_complex value;
    value.real = real;
    value.imag = imag;
    return value;
}

/* An array has at most this many axes. */
enum { HK_MAX_NDIM = 8 };

/* Bytes of one element; 0 for a value that is no dtype. */
HK_API size_t hk_dtype_bytes(hk_dtype dtype);
/* "float32", "int64", "uint8", "bool", "bfloat16" and so on; "invalid" for a value that is no
 * dtype. Static text. */
HK_API const char *hk_dtype_name(hk_dtype dtype);
/* The dtype of what two arrays give element by element: see hk_dtype. False, with *result as it
 * was, for dtypes of different kinds and where no integer dtype holds both (uint64 and one with
 * a sign). */
HK_API bool hk_dtype_promote(hk_dtype a, hk_dtype b, hk_dtype *result);

/* Options. What a call can do otherwise is in a struct hk_<function>_options, whose fields, left
 * 0, have their defaults; NULL is all of them. Where a default is another number, HK_ZERO says 0
 * itself, of fields of double: {.momentum = HK_ZERO}. Axes have HK_FIRST_AXIS for that. Of other
 * integers 0 is never a value. */
#define HK_ZERO       (-0.0)
#define HK_FIRST_AXIS INT64_MIN

/* A line of a program. `file` is borrowed and must live until the runtime ends (a string
 * literal, or interned text). */
typedef struct hk_source {
    const char *file;
    int line;
} hk_source;

/* The line of the call, in the program's text; of a call over several lines gcc names the first,
 * clang the last. Who calls for others, as a front end does, may define it before: another
 * hk_source. */
#ifdef HK_SOURCE
#elif defined(__cplusplus)
#define HK_SOURCE (hk_source{__FILE__, __LINE__})
#else
#define HK_SOURCE ((hk_source){__FILE__, __LINE__})
#endif

/* Structs that grow. A struct that the library fills begins with struct_bytes, its size as the
 * caller knows it, and may get more fields at its end in a later version. hk_x_get_y returns one
 * by value, with that size set; hk_x_read_y, which it calls, fills one whose struct_bytes is
 * set: as many bytes as both sides know, zeros for what only the caller knows. A program built
 * against one version so works with a library of another.
 *
 * Options, which the caller fills, grow at their end too. The inline functions of the headers
 * (HK_AT_OPTIONS) tell the library how large the struct is that the program was compiled with:
 * fields behind that have their defaults. What a program says in fields that an older library
 * does not know is said on stderr, and operators refuse the call. Structs of which a call takes
 * several (hk_transform, hk_sim_options), and hk_kernel, do not grow within one version of the
 * shared library's name. */

/* Error records name the line of the call. So a function hk_f that can fail has a sister hk_f_at
 * in the header, which takes the line before its other parameters, and a macro hk_f, which
 * passes HK_SOURCE to that: whatever the arguments call, they do not disturb it.
 *
 * Other front ends note the line for the next calls of this thread, then call (hk_f) itself. */
HK_API void hk_source_set(const char *file, int line);
/* The same, and that the next call's struct of options has so many bytes; 0, as by
 * hk_source_set: as many as the library's. */
HK_API void hk_source_set_options(const char *file, int line, size_t bytes);

#ifdef __cplusplus
#define HK_INLINE inline
#else
#define HK_INLINE static inline
#endif

/* function_at, which notes the line and calls the function: `parameters` and `arguments` are in
 * parentheses. */
#define HK_AT(result, function, parameters, arguments)                                             \
    HK_INLINE result function##_at parameters                                                      \
    {                                                                                              \
        hk_source_set(at.file, at.line);                                                           \
        return (function)arguments;                                                                \
    }
#define HK_AT_VOID(function, parameters, arguments)                                                \
    HK_INLINE void function##_at parameters                                                        \
    {                                                                                              \
        hk_source_set(at.file, at.line);                                                           \
        (function) arguments;                                                                      \
    }
/* The same of functions with options of this type. */
#define HK_AT_OPTIONS(result, function, type, parameters, arguments)                               \
    HK_INLINE result function##_at parameters                                                      \
    {                                                                                              \
        hk_source_set_options(at.file, at.line, sizeof(type));                                     \
        return (function)arguments;                                                                \
    }
#define HK_AT_OPTIONS_VOID(function, type, parameters, arguments)                                  \
    HK_INLINE void function##_at parameters                                                        \
    {                                                                                              \
        hk_source_set_options(at.file, at.line, sizeof(type));                                     \
        (function) arguments;                                                                      \
    }

HK_END_DECLS

#endif
