/* Numbers that meet arrays: hk_add(x, 1), hk_subtract(1, x), hk_where(mask, x, 0.5).
 *
 * A number keeps its kind: integer, real or complex. It takes the dtype of the array that it meets,
 * which must hold that kind: a real number beside integers, or an integer out of range, fails the
 * result. An int64 or a uint64 is exact. Comparisons of integers take any real number, and are
 * exact too: those with one beyond the dtype's range hold for all elements, or for none.
 *
 * In C the functions of hocket/ops.h are macros that take either by _Generic. Other languages make
 * operands themselves. */
#ifndef HOCKET_NUMBER_H
#define HOCKET_NUMBER_H

#include <hocket/base.h>

HK_BEGIN_DECLS

typedef struct hk_array hk_array;

typedef enum hk_number_kind {
    HK_NUMBER_NONE,
    HK_NUMBER_INT,  /* i */
    HK_NUMBER_UINT, /* u, above INT64_MAX */
    HK_NUMBER_REAL, /* f */
    HK_NUMBER_COMPLEX
} hk_number_kind;

typedef struct hk_number {
    hk_number_kind kind;
    union {
        int64_t i;
        uint64_t u;
        double f;
        hk_complex c;
    } value;
} hk_number;

/* An array, which is borrowed, or a number. */
typedef struct hk_operand {
    hk_array *array;  /* may be NULL, as where an array is meant */
    hk_number number; /* of kind HK_NUMBER_NONE: it is the array */
} hk_operand;

static inline hk_number hk_number_of_int(int64_t value)
{
    hk_number number;
    number.kind = HK_NUMBER_INT;
    number.value.i = value;
    return number;
}

static inline hk_number hk_number_of_uint(uint64_t value)
{
    hk_number number;
    number.kind = HK_NUMBER_UINT;
    number.value.u = value;
    return value > INT64_MAX ? number : hk_number_of_int((int64_t)value);
}

static inline hk_number hk_number_of_real(double value)
{
    hk_number number;
    number.kind = HK_NUMBER_REAL;
    number.value.f = value;
    return number;
}

static inline hk_number hk_number_of_complex(hk_complex value)
{
    hk_number number;
    number.kind = HK_NUMBER_COMPLEX;
    number.value.c = value;
    return number;
}

static inline hk_operand hk_operand_of_array(hk_array *array)
{
    hk_operand operand;
    operand.array = array;
    operand.number.kind = HK_NUMBER_NONE;
    return operand;
}

static inline hk_operand hk_operand_of_number(hk_number number)
{
    hk_operand operand;
    operand.array = NULL;
    operand.number = number;
    return operand;
}

static inline bool hk_operands_are_arrays(hk_operand x, hk_operand y)
{
    return x.number.kind == HK_NUMBER_NONE && y.number.kind == HK_NUMBER_NONE;
}

/* Whether an array of the dtype takes the number: it holds that kind, and the number is in range. */
HK_API bool hk_number_fits(hk_number number, hk_dtype dtype);

/* Of one kind of C's numbers each. */
static inline hk_operand hk_operand_of_int(int64_t value)
{
    return hk_operand_of_number(hk_number_of_int(value));
}
static inline hk_operand hk_operand_of_uint(uint64_t value)
{
    return hk_operand_of_number(hk_number_of_uint(value));
}
static inline hk_operand hk_operand_of_real(double value)
{
    return hk_operand_of_number(hk_number_of_real(value));
}
static inline hk_operand hk_operand_of_complex(hk_complex value)
{
    return hk_operand_of_number(hk_number_of_complex(value));
}

#ifndef __cplusplus
/* clang-format off */
#define HKI_BY_KIND(whole, unsigned_whole, real, complex_number)                                   \
    bool: whole, char: whole, signed char: whole, short: whole, int: whole, long: whole,           \
    long long: whole, unsigned char: unsigned_whole, unsigned short: unsigned_whole,               \
    unsigned: unsigned_whole, unsigned long: unsigned_whole, unsigned long long: unsigned_whole,   \
    float: real, double: real, hk_complex: complex_number
/* clang-format on */

/* The number that an expression of C is. */
#define HK_NUMBER(x)                                                                               \
    _Generic((x), HKI_BY_KIND(hk_number_of_int, hk_number_of_uint, hk_number_of_real,              \
                              hk_number_of_complex))(x)
/* The operand that an expression of C is: an array, or a number. */
#define HK_OPERAND(x)                                                                              \
    _Generic((x), hk_array * : hk_operand_of_array, void * : hk_operand_of_array,                  \
             HKI_BY_KIND(hk_operand_of_int, hk_operand_of_uint, hk_operand_of_real,                \
                         hk_operand_of_complex))(x)
#endif

HK_END_DECLS

#endif
