/* From Python's values to arrays and back: numbers, nested sequences, buffers. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* Copies of this many bytes and more are made without the GIL. */
enum { LONG_COPY_BYTES = 1 << 20 };

/* ---- from a buffer ---------------------------------------------------------------------------------------------- */

/* The dtype of a buffer's elements. Sizes are this machine's for native formats. */
bool py_dtype_of_format(const Py_buffer *view, hk_dtype *dtype)
{
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    const bool is_complex = *format == 'Z';
    format += is_complex;
    if (is_complex && format[0] && !format[1]) {
        *dtype = *format == 'f' ? HK_C64 : HK_C128;
        return strchr("fd", *format) && (Py_ssize_t)hk_dtype_bytes(*dtype) == view->itemsize;
    }
    if (!*format || format[1])
        return false;
    static const struct {
        const char *codes;
        hk_dtype by_bytes[9];
    } kinds[] = {
        {"bhilqn", {[1] = HK_I8, [2] = HK_I16, [4] = HK_I32, [8] = HK_I64}},
        {"BHILQN", {[1] = HK_U8, [2] = HK_U16, [4] = HK_U32, [8] = HK_U64}},
        {"efd", {[2] = HK_F16, [4] = HK_F32, [8] = HK_F64}},
        {"?", {[1] = HK_BOOL}},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strchr(kinds[i].codes, *format) && view->itemsize >= 1 && view->itemsize <= 8) {
            *dtype = kinds[i].by_bytes[view->itemsize];
            return (Py_ssize_t)hk_dtype_bytes(*dtype) == view->itemsize;
        }
    return false;
}

static hk_array *from_memory(const void *data, const hk_dims *shape, hk_dtype dtype,
                             hk_device device, Py_ssize_t bytes)
{
    hk_source at = py_source();
    bool is_long = bytes >= LONG_COPY_BYTES;
    if (is_long)
        py_gil_release();
    hk_array *x = hk_from_host_at(at, data, *shape, dtype, device);
    if (is_long)
        py_gil_take();
    return x;
}

static hk_array *from_strided(Py_buffer *view, const hk_dims *shape, hk_dtype dtype,
                              hk_device device)
{
    if (PyBuffer_IsContiguous(view, 'C'))
        return from_memory(view->buf, shape, dtype, device, view->len);
    void *copy = malloc((size_t)view->len + 1);
    hk_array *x = NULL;
    if (!copy)
        PyErr_NoMemory();
    else if (PyBuffer_ToContiguous(copy, view, view->len, 'C') == 0)
        x = from_memory(copy, shape, dtype, device, view->len);
    free(copy);
    return x;
}

static hk_array *from_buffer(PyObject *object, hk_device device)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0)
        return NULL;
    hk_array *x = NULL;
    hk_dtype dtype;
    if (!py_dtype_of_format(&view, &dtype))
        PyErr_Format(PyExc_TypeError,
                     "elements of the format '%s' and %zd bytes have no dtype here",
                     view.format ? view.format : "B", view.itemsize);
    else if (view.ndim > HK_MAX_NDIM)
        PyErr_Format(PyExc_ValueError, "the buffer has %d axes; an array has at most %d", view.ndim,
                     HK_MAX_NDIM);
    else {
        hk_dims shape = {.ndim = view.ndim};
        for (int i = 0; i < view.ndim; i++)
            shape.dims[i] = view.shape[i];
        x = from_strided(&view, &shape, dtype, device);
    }
    PyBuffer_Release(&view);
    return x;
}

/* ---- from nested sequences ------------------------------------------------------------------------------------------ */

typedef enum value_kind { KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_COMPLEX } value_kind;

/* What is gathered of a nested sequence: its shape from the first entries, then its numbers. */
typedef struct nest {
    hk_dims shape;
    value_kind kind;
    PyObject **numbers;       /* owned */
    Py_ssize_t count, filled; /* of numbers */
} nest;

static bool is_sequence(PyObject *object)
{
    return PyList_Check(object) || PyTuple_Check(object) ||
           PyType_IsSubtype(Py_TYPE(object), &PyRange_Type);
}

/* Whether it says that it has axes: such as NumPy's arrays, of which some have one element. */
static bool has_axes(PyObject *object)
{
    PyObject *count = PyObject_GetAttrString(object, "ndim");
    bool has = count && PyLong_Check(count) && PyObject_IsTrue(count) > 0;
    Py_XDECREF(count);
    if (!count && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return has || PyErr_Occurred();
}

/* An element: a number, or what has one, as NumPy's scalars and arrays () do. */
static PyObject *number_of(PyObject *object)
{
    if (py_is_number(object))
        return Py_NewRef(object);
    PyObject *item = !has_axes(object) && PyObject_HasAttrString(object, "item")
                         ? PyObject_CallMethod(object, "item", NULL)
                         : NULL;
    if (item && py_is_number(item))
        return item;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%R is no number and no sequence of numbers", object);
    Py_XDECREF(item);
    return NULL;
}

/* Sizes along the first entries. An Array within a list counts as a sequence of its axes. */
static bool measure(PyObject *object, hk_dims *shape)
{
    PyObject *at = Py_NewRef(object);
    shape->ndim = 0;
    bool good = true;
    while (good && is_sequence(at)) {
        Py_ssize_t size = PySequence_Size(at);
        if (shape->ndim == HK_MAX_NDIM) {
            PyErr_Format(PyExc_ValueError, "sequences are nested more than %d deep", HK_MAX_NDIM);
            good = false;
            break;
        }
        shape->dims[shape->ndim++] = size;
        if (size <= 0)
            break;
        PyObject *first = PySequence_GetItem(at, 0);
        good = first != NULL;
        PY_REPLACE(at, first ? first : Py_NewRef(Py_None));
    }
    Py_DECREF(at);
    return good;
}

static bool gather_number(nest *self, PyObject *object)
{
    PyObject *number = number_of(object);
    if (!number)
        return false;
    value_kind kind = PyFloat_Check(number)     ? KIND_FLOAT
                      : PyComplex_Check(number) ? KIND_COMPLEX
                      : PyBool_Check(number)    ? KIND_BOOL
                                                : KIND_INT;
    if (kind > self->kind)
        self->kind = kind;
    self->numbers[self->filled++] = number;
    return true;
}

static bool gather(nest *self, PyObject *object, int axis)
{
    if (axis == self->shape.ndim) {
        if (!is_sequence(object))
            return gather_number(self, object);
        PyErr_Format(PyExc_ValueError, "sequences are not nested to the same depth: %R", object);
        return false;
    }
    Py_ssize_t size = is_sequence(object) ? PySequence_Size(object) : -1;
    if (size != self->shape.dims[axis]) {
        PyErr_Format(PyExc_ValueError, "sequences along axis %d are not all of length %lld", axis,
                     (long long)self->shape.dims[axis]);
        return false;
    }
    bool good = true;
    for (Py_ssize_t i = 0; good && i < size; i++) {
        PyObject *entry = PySequence_GetItem(object, i);
        good = entry && gather(self, entry, axis + 1);
        Py_XDECREF(entry);
    }
    return good;
}

static bool fill_doubles(const nest *self, double *out)
{
    for (Py_ssize_t i = 0; i < self->count; i++) {
        out[i] = PyFloat_AsDouble(self->numbers[i]);
        if (out[i] == -1 && PyErr_Occurred())
            return false;
    }
    return true;
}

static bool fill_complex(const nest *self, double *out)
{
    for (Py_ssize_t i = 0; i < self->count; i++) {
        out[2 * i] = PyComplex_RealAsDouble(self->numbers[i]);
        out[2 * i + 1] = PyComplex_ImagAsDouble(self->numbers[i]);
    }
    return !PyErr_Occurred();
}

static bool fill_ints(const nest *self, bool is_unsigned, int64_t *out)
{
    for (Py_ssize_t i = 0; i < self->count; i++) {
        PyObject *number = self->numbers[i];
        out[i] =
            is_unsigned ? (int64_t)PyLong_AsUnsignedLongLong(number) : PyLong_AsLongLong(number);
        if (out[i] == -1 && PyErr_Occurred()) {
            if (PyErr_ExceptionMatches(PyExc_OverflowError))
                PyErr_Format(PyExc_OverflowError, "the number %R is out of the range of %s", number,
                             is_unsigned ? "uint64" : "int64");
            return false;
        }
    }
    return true;
}

/* Takes x, which may be NULL. */
static hk_array *cast_to(hk_array *x, hk_dtype dtype)
{
    if (!x || hk_array_dtype(x) == dtype)
        return x;
    hk_array *result = py_cast(x, dtype);
    hk_array_release(x);
    return result;
}

/* What numbers meet. */
typedef struct beside {
    const hk_dtype *dtype; /* NULL: nothing */
    bool is_value;
} beside;

/* What the numbers are alone; wider beside a dtype that holds more digits of them. */
static hk_dtype dtype_of_kind(value_kind kind, beside other)
{
    const hk_dtype *dtype = other.dtype;
    const bool is_wide =
        dtype && (*dtype == HK_F64 || *dtype == HK_C128 || (other.is_value && py_kind(*dtype) < 2));
    switch (kind) {
    case KIND_COMPLEX:
        return is_wide ? HK_C128 : HK_C64;
    case KIND_FLOAT:
        return is_wide ? HK_F64 : HK_F32;
    case KIND_BOOL:
        return HK_BOOL;
    default:
        return dtype && *dtype == HK_U64 ? HK_U64 : HK_I64;
    }
}

/* other: counts where dtype is NULL. */
static hk_array *from_numbers(const nest *self, const hk_dtype *dtype, beside other,
                              hk_device device)
{
    const hk_dtype wanted = dtype ? *dtype : dtype_of_kind(self->kind, other);
    bool is_complex = self->kind == KIND_COMPLEX;
    int64_t *values = malloc((size_t)self->count * (is_complex ? 2 : 1) * sizeof *values + 1);
    if (!values) {
        PyErr_NoMemory();
        return NULL;
    }
    bool is_real = self->kind == KIND_FLOAT;
    bool is_unsigned = !is_real && wanted == HK_U64;
    bool good = is_complex ? fill_complex(self, (double *)values)
                : is_real  ? fill_doubles(self, (double *)values)
                           : fill_ints(self, is_unsigned, values);
    if (!good && !is_real && py_kind(wanted) >= 2 && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear(); /* floats have larger ones */
        good = is_real = fill_doubles(self, (double *)values);
    }
    hk_array *x = NULL;
    if (good)
        x = from_memory(values, &self->shape,
                        is_complex    ? HK_C128
                        : is_real     ? HK_F64
                        : is_unsigned ? HK_U64
                                      : HK_I64,
                        device, self->count * (is_complex ? 16 : 8));
    free(values);
    return cast_to(x, wanted);
}

static hk_array *from_sequence(PyObject *object, const hk_dtype *dtype, beside other,
                               hk_device device)
{
    nest self = {.kind = KIND_BOOL};
    if (!measure(object, &self.shape))
        return NULL;
    self.count = 1;
    for (int i = 0; i < self.shape.ndim; i++)
        self.count *= (Py_ssize_t)self.shape.dims[i];
    if (self.count == 0)
        self.kind = KIND_FLOAT;
    self.numbers = calloc((size_t)self.count + 1, sizeof *self.numbers);
    hk_array *x = NULL;
    if (!self.numbers)
        PyErr_NoMemory();
    else if (gather(&self, object, 0))
        x = from_numbers(&self, dtype, other, device);
    for (Py_ssize_t i = 0; i < self.filled; i++)
        Py_DECREF(self.numbers[i]);
    free(self.numbers);
    return x;
}

hk_array *py_array_of(PyObject *object, const hk_dtype *dtype, hk_device device)
{
    if (py_is_array(object))
        return hk_array_retain(py_handle(object));
    if (PyObject_CheckBuffer(object)) {
        hk_array *x = from_buffer(object, device);
        return dtype ? cast_to(x, *dtype) : x;
    }
    return from_sequence(object, dtype, (beside){0}, device);
}

hk_array *py_array_beside(PyObject *object, const hk_dtype *dtype, bool is_value, hk_device device)
{
    return PyObject_CheckBuffer(object)
               ? py_array_of(object, NULL, device)
               : from_sequence(object, NULL, (beside){dtype, is_value}, device);
}

/* ---- to Python -------------------------------------------------------------------------------------------------------- */

static PyObject *element_object(const char *at, hk_dtype dtype)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float f32, c64[2];
        double f64, c128[2];
    } value;
    memcpy(&value, at, hk_dtype_bytes(dtype));
    switch (dtype) {
    case HK_F32:
        return PyFloat_FromDouble((double)value.f32);
    case HK_F64:
        return PyFloat_FromDouble(value.f64);
    case HK_I8:
        return PyLong_FromLong(value.i8);
    case HK_I16:
        return PyLong_FromLong(value.i16);
    case HK_I32:
        return PyLong_FromLong(value.i32);
    case HK_I64:
        return PyLong_FromLongLong(value.i64);
    case HK_U8:
        return PyLong_FromLong(value.u8);
    case HK_U16:
        return PyLong_FromLong(value.u16);
    case HK_U32:
        return PyLong_FromUnsignedLong(value.u32);
    case HK_U64:
        return PyLong_FromUnsignedLongLong(value.u64);
    case HK_C64:
        return PyComplex_FromDoubles((double)value.c64[0], (double)value.c64[1]);
    case HK_C128:
        return PyComplex_FromDoubles(value.c128[0], value.c128[1]);
    case HK_BOOL:
        return PyBool_FromLong(value.u8);
    case HK_F16:
    case HK_BF16:
        break; /* read as float32 */
    }
    PyErr_SetString(PyExc_SystemError, "a dtype that is not known here");
    return NULL;
}

static PyObject *nested(const char **at, const hk_dims *shape, int axis, hk_dtype dtype)
{
    if (axis == shape->ndim) {
        PyObject *element = element_object(*at, dtype);
        *at += hk_dtype_bytes(dtype);
        return element;
    }
    PyObject *list = PyList_New((Py_ssize_t)shape->dims[axis]);
    for (int64_t i = 0; list && i < shape->dims[axis]; i++) {
        PyObject *entry = nested(at, shape, axis + 1, dtype);
        if (!entry || PyList_SetItem(list, (Py_ssize_t)i, entry) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *read_all(hk_array *x)
{
    hk_dtype dtype = hk_array_dtype(x);
    bool is_half = dtype == HK_F16 || dtype == HK_BF16;
    hk_array *wide = is_half ? cast_to(hk_array_retain(x), HK_F32) : hk_array_retain(x);
    dtype = is_half ? HK_F32 : dtype;
    hk_dims shape = hk_dims_get(x);
    size_t bytes = (size_t)hk_size(x) * hk_dtype_bytes(dtype);
    char small[16], *values = bytes <= sizeof small ? small : malloc(bytes);
    PyObject *result = NULL;
    const char *at = values;
    if (!values)
        PyErr_NoMemory();
    else if (py_check(hk_to_host_at(py_source(), wide, values, bytes)))
        result = nested(&at, &shape, 0, dtype);
    if (values != small)
        free(values);
    hk_array_release(wide);
    return result;
}

static PyObject *array_item(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_array *x = py_handle(self);
    if (hk_size(x) != 1) {
        PyErr_Format(PyExc_ValueError, "the array has %lld elements; one of them alone is a number",
                     (long long)hk_size(x));
        return NULL;
    }
    PyObject *list = read_all(x);
    while (list && PyList_Check(list)) {
        PyObject *only = PyList_GetItem(list, 0);
        PY_REPLACE(list, Py_XNewRef(only));
    }
    return list;
}

static PyObject *array_to_list(PyObject *self, PyObject *unused)
{
    (void)unused;
    return read_all(py_handle(self));
}

/* Into a C-order buffer of as many bytes. */
static PyObject *array_copy_to(PyObject *self, PyObject *target)
{
    Py_buffer view;
    if (PyObject_GetBuffer(target, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    bool good = py_check(hk_to_host_at(py_source(), py_handle(self), view.buf, (size_t)view.len));
    PyBuffer_Release(&view);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef py_array_methods[] = {
    {"item", array_item, METH_NOARGS,
     "item($self, /)\n--\n\nThe only element, as a Python number. Waits for it."},
    {"tolist", array_to_list, METH_NOARGS,
     "tolist($self, /)\n--\n\nThe elements as nested lists; of an array () the number. Waits for "
     "them."},
    {"_copy_to", array_copy_to, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* asarray(object, dtype, device): new, but for an Array that is as asked. */
static PyObject *convert(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *dtype_given = Py_None, *device_given = Py_None;
    hk_dtype dtype = HK_F32;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "O|OO:_convert", &object, &dtype_given, &device_given) ||
        (dtype_given != Py_None && !py_dtype_from(dtype_given, &dtype)) ||
        !py_device_from(device_given, &device))
        return NULL;
    hk_array *x = py_array_of(object, dtype_given == Py_None ? NULL : &dtype, device);
    if (x && dtype_given != Py_None)
        x = cast_to(x, dtype);
    if (x && device.handle && hk_array_device(x).handle != device.handle) {
        hk_array *there = hk_call_at(py_source(), "to_device", &x, 1, NULL, device);
        hk_array_release(x);
        x = there;
    }
    return x ? py_wrap(x) : NULL;
}

/* _operand(object, like) and _value(object, target): Arrays of what meets an Array, or goes into it. */
static PyObject *meeting(PyObject *arguments, hk_array *(*make)(PyObject *object, hk_array *like))
{
    PyObject *object, *like;
    if (!PyArg_ParseTuple(arguments, "OO!", &object, py_array_type, &like))
        return NULL;
    hk_array *x = make(object, py_handle(like));
    return x ? py_wrap(x) : NULL;
}

static PyObject *operand(PyObject *self, PyObject *arguments)
{
    (void)self;
    return meeting(arguments, py_operand);
}

static PyObject *value(PyObject *self, PyObject *arguments)
{
    (void)self;
    return meeting(arguments, py_value);
}

PyMethodDef py_convert_functions[] = {
    {"_convert", convert, METH_VARARGS, NULL},
    {"_operand", operand, METH_VARARGS, NULL},
    {"_value", value, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
