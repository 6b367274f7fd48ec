/* Numbers that meet arrays, and the signs + - * / … of Array. */
#include "core.h"

#include <math.h>

/* Of real or complex numbers. */
static bool is_inexact(hk_dtype dtype)
{
    return py_kind(dtype) >= 2;
}

static bool is_complex(hk_dtype dtype)
{
    return py_kind(dtype) == 3;
}

/* Most numbers are no subtypes, for which asking takes longer. */
static bool is_real(PyObject *number)
{
    return Py_TYPE(number) == &PyFloat_Type ||
           (Py_TYPE(number) != &PyLong_Type && PyFloat_Check(number));
}

bool py_is_number(PyObject *object)
{
    return is_real(object) || PyLong_Check(object) ||
           PyComplex_Check(object); /* a bool is an int, too */
}

/* ---- numbers as arrays ---------------------------------------------------------------------------------------- */

/* The dtype that a number has beside an array of `dtype`: Python's numbers take the array's, if that is of a kind to hold them. */
static hk_dtype dtype_beside(PyObject *number, hk_dtype dtype)
{
    if (is_real(number))
        return is_inexact(dtype) ? dtype : HK_F32;
    if (PyComplex_Check(number))
        return is_complex(dtype) ? dtype : dtype == HK_F64 ? HK_C128 : HK_C64;
    if (PyBool_Check(number))
        return dtype;
    return dtype == HK_BOOL ? HK_I64 : dtype;
}

static hk_dtype dtype_alone(PyObject *number)
{
    return PyFloat_Check(number)     ? HK_F32
           : PyComplex_Check(number) ? HK_C64
           : PyBool_Check(number)    ? HK_BOOL
                                     : HK_I64;
}

static bool refuse_range(PyObject *number, hk_dtype dtype)
{
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "the number %R is out of the range of %s", number,
                 hk_dtype_name(dtype));
    return false;
}

/* The number as one for arrays of the dtype. False: it does not go into that, and an exception says so. */
static bool number_for(PyObject *number, hk_dtype dtype, hk_number *result)
{
    int is_above = 0;
    if (PyComplex_Check(number)) {
        *result = hk_number_of_complex(
            hk_complex_number(PyComplex_RealAsDouble(number), PyComplex_ImagAsDouble(number)));
    } else if (is_real(number)) {
        *result = hk_number_of_real(PyFloat_AsDouble(number));
    } else if (dtype == HK_BOOL) {
        *result = hk_number_of_int(PyObject_IsTrue(number));
    } else {
        *result = hk_number_of_int(PyLong_AsLongLongAndOverflow(number, &is_above));
        if (is_above && is_inexact(dtype))
            *result = hk_number_of_real(PyLong_AsDouble(number));
        else if (is_above > 0)
            *result = hk_number_of_uint(PyLong_AsUnsignedLongLong(number));
        if (is_above < 0 && !is_inexact(dtype))
            return refuse_range(number, dtype);
    }
    if (!is_real(number) && PyErr_Occurred())
        return PyErr_ExceptionMatches(PyExc_OverflowError) && !is_inexact(dtype)
                   ? refuse_range(number, dtype)
                   : false;
    return is_inexact(dtype) || hk_number_fits(*result, dtype) || refuse_range(number, dtype);
}

static hk_array *number_array(PyObject *number, hk_dtype dtype, hk_device device)
{
    hk_number value;
    return number_for(number, dtype, &value) ? hk_scalar_at(py_source(), value, dtype, device)
                                             : NULL;
}

/* is_value: to be written into an array of the dtype, so that floats are exact on their way to
 * integers. dtype NULL: alone. */
static hk_array *operand_beside(PyObject *object, const hk_dtype *dtype, bool is_value,
                                hk_device device)
{
    if (py_is_array(object))
        return hk_array_retain(py_handle(object));
    if (!py_is_number(object))
        return py_array_beside(object, dtype, is_value, device);
    if (is_value && is_real(object) && !is_inexact(*dtype))
        return number_array(object, HK_F64, device);
    return number_array(object, dtype ? dtype_beside(object, *dtype) : dtype_alone(object), device);
}

hk_array *py_operand(PyObject *object, hk_array *like)
{
    if (!like)
        return operand_beside(object, NULL, false, (hk_device){NULL});
    const hk_dtype dtype = hk_array_dtype(like);
    return operand_beside(object, &dtype, false, hk_array_device(like));
}

hk_array *py_value(PyObject *object, hk_array *target)
{
    const hk_dtype dtype = hk_array_dtype(target);
    return operand_beside(object, &dtype, true, hk_array_device(target));
}

/* ---- signs ------------------------------------------------------------------------------------------------------ */

typedef enum sign {
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    FLOOR_DIVIDE,
    REMAINDER,
    POWER,
    MATMUL,
    AND,
    OR,
    XOR,
    LEFT_SHIFT,
    RIGHT_SHIFT,
    LESS,
    LESS_EQUAL,
    EQUAL,
    NOT_EQUAL,
    GREATER,
    GREATER_EQUAL,
    NEGATIVE,
    ABSOLUTE,
    INVERT,
    SIGN_COUNT
} sign;

/* The operator of a sign. */
static struct {
    const char *name;
    const hk_operator *op;
    uint32_t dtypes; /* of op */
} signs[SIGN_COUNT] = {
    [ADD] = {.name = "add"},
    [SUBTRACT] = {.name = "subtract"},
    [MULTIPLY] = {.name = "multiply"},
    [DIVIDE] = {.name = "divide"},
    [FLOOR_DIVIDE] = {.name = "floor_divide"},
    [REMAINDER] = {.name = "remainder"},
    [POWER] = {.name = "power"},
    [MATMUL] = {.name = "matmul"},
    [AND] = {.name = "bitwise_and"},
    [OR] = {.name = "bitwise_or"},
    [XOR] = {.name = "bitwise_xor"},
    [LEFT_SHIFT] = {.name = "bitwise_left_shift"},
    [RIGHT_SHIFT] = {.name = "bitwise_right_shift"},
    [LESS] = {.name = "less"},
    [LESS_EQUAL] = {.name = "less_equal"},
    [EQUAL] = {.name = "equal"},
    [NOT_EQUAL] = {.name = "not_equal"},
    [GREATER] = {.name = "greater"},
    [GREATER_EQUAL] = {.name = "greater_equal"},
    [NEGATIVE] = {.name = "negative"},
    [ABSOLUTE] = {.name = "abs"},
    [INVERT] = {.name = "bitwise_invert"},
};

bool py_numbers_init(void)
{
    for (int i = 0; i < SIGN_COUNT; i++) {
        signs[i].op = hk_operator_find(signs[i].name);
        signs[i].dtypes = hk_operator_get_facts(signs[i].op).dtypes;
        if (!signs[i].op) {
            PyErr_Format(PyExc_SystemError, "hocket: the library has no operator %s",
                         signs[i].name);
            return false;
        }
    }
    return true;
}

static hk_array *call2(sign which, hk_array *a, hk_array *b)
{
    hk_array *const inputs[] = {a, b};
    return py_call(signs[which].op, inputs, 2, NULL, (hk_device){NULL});
}

/* Products of arrays whose dtypes differ, or are integers that the operator does not have: by wider ones, of which the lowest bits
 * are those of the result. */
static PyObject *product(hk_array *a, hk_array *b)
{
    hk_dtype x = hk_array_dtype(a), y = hk_array_dtype(b), both = x;
    if (!hk_dtype_promote(x, y, &both) || (x == y && signs[MATMUL].dtypes >> x & 1))
        return py_wrap(call2(MATMUL, a, b));
    bool has = signs[MATMUL].dtypes >> both & 1;
    hk_dtype wide = has ? both : hk_dtype_bytes(both) < 4 ? HK_I32 : HK_I64;
    const bool wraps = !has && both != HK_BOOL; /* low bits are those of low bits */
    hk_array *(*const as)(hk_array *, hk_dtype) = wraps ? py_narrow : py_cast;
    hk_array *p = as(a, wide), *q = as(b, wide), *made = call2(MATMUL, p, q);
    hk_array *result = wraps ? py_narrow(made, both) : hk_array_retain(made);
    hk_array_release(p);
    hk_array_release(q);
    hk_array_release(made);
    return py_wrap(result);
}

/* Takes a and b, either of which may be NULL with an exception set. Division of integers is that of reals. */
static PyObject *apply(sign which, hk_array *a, hk_array *b)
{
    PyObject *result = NULL;
    py_meet(&a, &b);
    if (a && b && which == DIVIDE && !is_inexact(hk_array_dtype(a))) {
        hk_array *x = py_cast(a, HK_F32), *y = py_cast(b, HK_F32);
        result = py_wrap(call2(which, x, y));
        hk_array_release(x);
        hk_array_release(y);
    } else if (a && b) {
        result = which == MATMUL ? product(a, b) : py_wrap(call2(which, a, b));
    }
    hk_array_release(a);
    hk_array_release(b);
    return result;
}

/* What is neither an array nor a number goes with an array where it has a buffer: NumPy's arrays and scalars; so do lists. */
static bool goes_with_arrays(PyObject *object)
{
    return py_is_array(object) || py_is_number(object) || PyObject_CheckBuffer(object) ||
           PyList_Check(object) || PyTuple_Check(object);
}

/* The dtype in which an array and a number meet. Division of integers is that of reals. */
static hk_dtype meeting_dtype(sign which, hk_dtype dtype, PyObject *number)
{
    dtype = dtype_beside(number, dtype);
    return which == DIVIDE && !is_inexact(dtype) ? HK_F32 : dtype;
}

/* Integers are compared with any real number as they are; one beyond all dtypes is as good as infinite. */
static bool is_compared(sign which, hk_dtype dtype, PyObject *number)
{
    return which >= LESS && which <= GREATER_EQUAL && py_kind(dtype) == 1 &&
           !PyComplex_Check(number);
}

static bool number_to_compare(PyObject *number, hk_number *result)
{
    int is_above = 0;
    if (is_real(number)) {
        *result = hk_number_of_real(PyFloat_AsDouble(number));
        return true;
    }
    *result = hk_number_of_int(PyLong_AsLongLongAndOverflow(number, &is_above));
    if (is_above < 0)
        *result = hk_number_of_real(-HUGE_VAL);
    if (is_above <= 0)
        return !PyErr_Occurred();
    *result = hk_number_of_uint(PyLong_AsUnsignedLongLong(number));
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        *result = hk_number_of_real(HUGE_VAL);
    }
    return !PyErr_Occurred();
}

/* is_right: the number stands behind the sign. */
static PyObject *with_number(sign which, hk_array *a, PyObject *number, bool is_right)
{
    const bool compares = is_compared(which, hk_array_dtype(a), number);
    const hk_dtype dtype =
        compares ? hk_array_dtype(a) : meeting_dtype(which, hk_array_dtype(a), number);
    hk_number value;
    if (compares ? !number_to_compare(number, &value) : !number_for(number, dtype, &value))
        return NULL;
    hk_array *cast = dtype == hk_array_dtype(a) ? NULL : py_cast(a, dtype), *x = cast ? cast : a;
    const hk_operand one = hk_operand_of_array(x), other = hk_operand_of_number(value);
    const hk_operand operands[] = {is_right ? one : other, is_right ? other : one};
    PyObject *result = py_wrap(py_call_operands(signs[which].op, operands, x));
    hk_array_release(cast);
    return result;
}

static PyObject *array_and_other(sign which, hk_array *a, PyObject *b)
{
    return py_is_number(b) && which != MATMUL ? with_number(which, a, b, true)
                                              : apply(which, hk_array_retain(a), py_operand(b, a));
}

static PyObject *other_and_array(sign which, PyObject *a, hk_array *b)
{
    return py_is_number(a) && which != MATMUL ? with_number(which, b, a, false)
                                              : apply(which, py_operand(a, b), hk_array_retain(b));
}

static PyObject *binary(sign which, PyObject *a, PyObject *b)
{
    if (py_is_array(a) && py_is_array(b) && which != DIVIDE && which != MATMUL &&
        hk_array_dtype(py_handle(a)) == hk_array_dtype(py_handle(b)))
        return py_wrap(call2(which, py_handle(a), py_handle(b)));
    if (!goes_with_arrays(a) || !goes_with_arrays(b))
        Py_RETURN_NOTIMPLEMENTED;
    return py_is_array(a) ? array_and_other(which, py_handle(a), b)
                          : other_and_array(which, a, py_handle(b));
}

int py_comparison_of(const hk_operator *op)
{
    for (int i = LESS; i <= GREATER_EQUAL; i++)
        if (signs[i].op == op)
            return i;
    return -1;
}

PyObject *py_compare(int comparison, PyObject *a, PyObject *b)
{
    return binary((sign)comparison, a, b);
}

/* ---- in place ---------------------------------------------------------------------------------------------------- */

/* y goes into x by one call, as it is. */
static bool goes_straight(sign which, hk_array *x, hk_array *y)
{
    hk_dims to = hk_dims_get(x), from = hk_dims_get(y);
    hk_dtype dtype = hk_array_dtype(x);
    bool fits = hk_array_dtype(y) == dtype && signs[which].dtypes >> dtype & 1 &&
                hk_array_device(x).handle == hk_array_device(y).handle && which != MATMUL &&
                (which != DIVIDE || is_inexact(dtype)) && from.ndim <= to.ndim;
    for (int i = 1; fits && i <= from.ndim; i++)
        fits = from.dims[from.ndim - i] == 1 || from.dims[from.ndim - i] == to.dims[to.ndim - i];
    return fits;
}

/* x becomes what `a op b` gives; raises, and writes nothing, where that does not go into it. */
static bool in_place_by_result(sign which, PyObject *a, PyObject *b)
{
    hk_array *x = py_handle(a);
    PyObject *result = binary(which, a, b);
    if (!result || result == Py_NotImplemented)
        return Py_XDECREF(result), false;
    hk_array *y = py_handle(result);
    hk_dims to = hk_dims_get(x), from = hk_dims_get(y);
    bool good = from.ndim <= to.ndim && py_fits(&from, &to, false);
    if (good && py_kind(hk_array_dtype(y)) > py_kind(hk_array_dtype(x))) {
        PyErr_Format(PyExc_TypeError,
                     "the result is of %s, which an array of %s does not take in place",
                     hk_dtype_name(hk_array_dtype(y)), hk_dtype_name(hk_array_dtype(x)));
        good = false;
    } else if (!good && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError,
                        "the result has more axes than the array it is to go into");
    }
    good = good && py_assign(x, y);
    Py_DECREF(result);
    return good;
}

static bool in_place_by_call(sign which, PyObject *a, PyObject *b)
{
    hk_array *x = py_handle(a);
    const hk_dtype dtype = hk_array_dtype(x);
    if (py_is_number(b) && which != MATMUL && meeting_dtype(which, dtype, b) == dtype) {
        hk_operand operands[] = {hk_operand_of_array(x), hk_operand_of_array(NULL)};
        if (!number_for(b, dtype, &operands[1].number))
            return false;
        py_call_operands_into(signs[which].op, x, operands);
        return !py_was_interrupted();
    }
    if (!py_is_array(b) || !goes_straight(which, x, py_handle(b)))
        return in_place_by_result(which, a, b);
    hk_array *const inputs[] = {x, py_handle(b)};
    py_call_into(signs[which].op, x, inputs, 2, NULL);
    return !py_was_interrupted();
}

/* While a thread records, floats get a new array, as by a = a op b: writing over them would end their gradients. */
static PyObject *in_place(sign which, PyObject *a, PyObject *b)
{
    hk_array *x = py_handle(a);
    if (!goes_with_arrays(b) || (hk_is_recording() && is_inexact(hk_array_dtype(x))))
        Py_RETURN_NOTIMPLEMENTED;
    if (!py_may_write(x) || !in_place_by_call(which, a, b))
        return NULL;
    return Py_NewRef(a);
}

static PyObject *unary(sign which, PyObject *a)
{
    hk_array *x = py_handle(a);
    return py_wrap(py_call(signs[which].op, &x, 1, NULL, (hk_device){NULL}));
}

#define BINARY(name, which)                                                                        \
    static PyObject *name(PyObject *a, PyObject *b)                                                \
    {                                                                                              \
        return binary(which, a, b);                                                                \
    }                                                                                              \
    static PyObject *name##_in_place(PyObject *a, PyObject *b)                                     \
    {                                                                                              \
        return in_place(which, a, b);                                                              \
    }
#define UNARY(name, which)                                                                         \
    static PyObject *name(PyObject *a)                                                             \
    {                                                                                              \
        return unary(which, a);                                                                    \
    }
BINARY(add, ADD)
BINARY(subtract, SUBTRACT)
BINARY(multiply, MULTIPLY)
BINARY(divide, DIVIDE)
BINARY(floor_divide, FLOOR_DIVIDE)
BINARY(remain, REMAINDER)
BINARY(matmul, MATMUL)
BINARY(bits_and, AND)
BINARY(bits_or, OR)
BINARY(bits_xor, XOR)
BINARY(left_shift, LEFT_SHIFT)
BINARY(right_shift, RIGHT_SHIFT)
UNARY(negative, NEGATIVE)
UNARY(absolute, ABSOLUTE)
UNARY(invert, INVERT)

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return binary(POWER, a, b);
}

static PyObject *power_in_place(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return in_place(POWER, a, b);
}

static PyObject *positive(PyObject *a)
{
    return py_wrap(hk_array_retain(py_handle(a)));
}

static PyObject *compare(PyObject *a, PyObject *b, int how)
{
    static const sign of[] = {[Py_LT] = LESS,      [Py_LE] = LESS_EQUAL, [Py_EQ] = EQUAL,
                              [Py_NE] = NOT_EQUAL, [Py_GT] = GREATER,    [Py_GE] = GREATER_EQUAL};
    return binary(of[how], a, b);
}

/* ---- one element as a number -------------------------------------------------------------------------------------- */

static PyObject *item_of(PyObject *self)
{
    return PyObject_CallMethod(self, "item", NULL);
}

static PyObject *to_float(PyObject *self)
{
    PyObject *item = item_of(self);
    PyObject *result = item ? PyNumber_Float(item) : NULL;
    Py_XDECREF(item);
    return result;
}

static PyObject *to_int(PyObject *self)
{
    PyObject *item = item_of(self);
    PyObject *result = item ? PyNumber_Long(item) : NULL;
    Py_XDECREF(item);
    return result;
}

static PyObject *to_index(PyObject *self)
{
    hk_dtype dtype = hk_array_dtype(py_handle(self));
    if (is_inexact(dtype) || dtype == HK_BOOL) {
        PyErr_Format(PyExc_TypeError, "an array of %s is no index", hk_dtype_name(dtype));
        return NULL;
    }
    if (hk_ndim(py_handle(self)) != 0) { /* else bytearray and others would take it for a count */
        PyErr_SetString(PyExc_TypeError, "only an array () of an integer is an index");
        return NULL;
    }
    return item_of(self);
}

static int to_truth(PyObject *self)
{
    PyObject *item = item_of(self);
    int truth = item ? PyObject_IsTrue(item) : -1;
    Py_XDECREF(item);
    return truth;
}

PyType_Slot py_number_slots[PY_NUMBER_SLOT_COUNT] = {
    {Py_nb_add, add},
    {Py_nb_subtract, subtract},
    {Py_nb_multiply, multiply},
    {Py_nb_true_divide, divide},
    {Py_nb_floor_divide, floor_divide},
    {Py_nb_remainder, remain},
    {Py_nb_power, power},
    {Py_nb_matrix_multiply, matmul},
    {Py_nb_and, bits_and},
    {Py_nb_or, bits_or},
    {Py_nb_xor, bits_xor},
    {Py_nb_lshift, left_shift},
    {Py_nb_rshift, right_shift},
    {Py_nb_negative, negative},
    {Py_nb_positive, positive},
    {Py_nb_absolute, absolute},
    {Py_nb_invert, invert},
    {Py_nb_inplace_add, add_in_place},
    {Py_nb_inplace_subtract, subtract_in_place},
    {Py_nb_inplace_multiply, multiply_in_place},
    {Py_nb_inplace_true_divide, divide_in_place},
    {Py_nb_inplace_floor_divide, floor_divide_in_place},
    {Py_nb_inplace_remainder, remain_in_place},
    {Py_nb_inplace_matrix_multiply, matmul_in_place},
    {Py_nb_inplace_and, bits_and_in_place},
    {Py_nb_inplace_or, bits_or_in_place},
    {Py_nb_inplace_xor, bits_xor_in_place},
    {Py_nb_inplace_lshift, left_shift_in_place},
    {Py_nb_inplace_rshift, right_shift_in_place},
    {Py_nb_inplace_power, power_in_place},
    {Py_nb_float, to_float},
    {Py_nb_int, to_int},
    {Py_nb_index, to_index},
    {Py_nb_bool, to_truth},
    {Py_tp_richcompare, compare},
    {0, NULL},
};
