/* Functions of arrays that are no operators of the table, for the package: names with _. */
#include "core.h"

#include <string.h>

static hk_array *broadcast_to(hk_array *x, const hk_dims *shape)
{
    return hk_broadcast_to_at(py_source(), x, *shape);
}

/* _broadcast_to(x, shape) */
static PyObject *view_broadcast(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *shape;
    hk_dims dims;
    if (!PyArg_ParseTuple(arguments, "OO:broadcast_to", &object, &shape))
        return NULL;
    hk_array *x = py_array_get(object, "x");
    return x && py_dims_from(shape, "shape", &dims) ? py_wrap(broadcast_to(x, &dims)) : NULL;
}

/* _transpose(x): axes in reverse order */
static PyObject *view_transpose(PyObject *self, PyObject *object)
{
    (void)self;
    hk_array *x = py_array_get(object, "x");
    return x ? py_wrap(hk_transpose_at(py_source(), x)) : NULL;
}

/* _contiguous(x): x where it is in C order, else a copy */
static PyObject *contiguous(PyObject *self, PyObject *object)
{
    (void)self;
    hk_array *x = py_array_get(object, "x");
    return x ? py_wrap(hk_contiguous_at(py_source(), x)) : NULL;
}

/* _to_pageable(x, device): x there, in ordinary memory of the host; where the tape wants to know,
 * as by to_device */
static PyObject *to_pageable(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *where;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "OO:_to_pageable", &object, &where))
        return NULL;
    hk_array *x = py_array_get(object, "x");
    if (!x || !py_device_from(where, &device))
        return NULL;
    const bool is_wanted = hk_is_recording() && hk_wants_grad(x);
    return py_wrap(is_wanted ? hk_to_device_at(py_source(), x, device)
                             : hk_to_pageable_at(py_source(), x, device));
}

/* _einsum(subscripts, arrays) */
static PyObject *einsum(PyObject *self, PyObject *arguments)
{
    (void)self;
    const char *subscripts;
    PyObject *arrays;
    hk_array *inputs[32];
    if (!PyArg_ParseTuple(arguments, "sO!:einsum", &subscripts, &PyTuple_Type, &arrays))
        return NULL;
    Py_ssize_t count = PyTuple_Size(arrays);
    if (count > 32) {
        PyErr_Format(PyExc_ValueError, "einsum() takes at most 32 arrays (%zd given)", count);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!(inputs[i] = py_array_get(PyTuple_GetItem(arrays, i), "an operand")))
            return NULL;
    hk_array *x = hk_einsum_at(py_source(), subscripts, inputs, (int)count);
    py_settle(x, inputs, (int)count);
    return py_wrap(x);
}

/* _assign(target, values): broadcast, cast, from any device */
static PyObject *assign(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *to, *from;
    if (!PyArg_ParseTuple(arguments, "OO:_assign", &to, &from))
        return NULL;
    hk_array *target = py_array_get(to, "target");
    hk_array *values = target ? py_value(from, target) : NULL;
    bool good = values && py_assign(target, values);
    hk_array_release(values);
    return good ? Py_NewRef(Py_None) : NULL;
}

/* _from_bytes(buffer, shape, dtype, device): of elements in C order, as _copy_to gives them */
static PyObject *from_bytes(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer view;
    PyObject *shape, *dtype_given, *device_given;
    hk_dims dims;
    hk_dtype dtype;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "y*OOO:_from_bytes", &view, &shape, &dtype_given,
                          &device_given))
        return NULL;
    bool good = py_dims_from(shape, "shape", &dims) && py_dtype_from(dtype_given, &dtype) &&
                py_device_from(device_given, &device);
    Py_ssize_t bytes = good ? (Py_ssize_t)hk_dtype_bytes(dtype) : 0;
    for (int i = 0; good && i < dims.ndim; i++)
        good = dims.dims[i] >= 0 && !__builtin_mul_overflow(bytes, dims.dims[i], &bytes);
    if (good && bytes != view.len) {
        PyErr_Format(PyExc_ValueError, "%zd bytes are there; the shape and dtype need %zd",
                     view.len, bytes);
        good = false;
    } else if (!good && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "no array has such a shape");
    }
    hk_array *x = good ? hk_from_host_at(py_source(), view.buf, dims, dtype, device) : NULL;
    PyBuffer_Release(&view);
    return x ? py_wrap(x) : NULL;
}

/* _facts(x): (is read only, is shared, is contiguous) */
static PyObject *facts(PyObject *self, PyObject *object)
{
    (void)self;
    hk_array *x = py_array_get(object, "x");
    return x ? Py_BuildValue("OOO", hk_is_read_only(x) ? Py_True : Py_False,
                             hk_is_shared(x) ? Py_True : Py_False,
                             hk_is_contiguous(x) ? Py_True : Py_False)
             : NULL;
}

/* _stats(): counters of the runtime, as a dict */
static PyObject *stats(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    hk_runtime_stats now = hk_runtime_get_stats();
    return Py_BuildValue("{s:K,s:K,s:K,s:K}", "issued_calls", (unsigned long long)now.issued_calls,
                         "window_waits", (unsigned long long)now.window_waits,
                         "peak_run_ahead_bytes", (unsigned long long)now.peak_run_ahead_bytes,
                         "handle_bytes", (unsigned long long)now.handle_bytes);
}

/* _promote(a, b): a DType, or None where the table has none */
static PyObject *promote(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *a_given, *b_given;
    hk_dtype a, b, both;
    if (!PyArg_ParseTuple(arguments, "OO:_promote", &a_given, &b_given) ||
        !py_dtype_from(a_given, &a) || !py_dtype_from(b_given, &b))
        return NULL;
    return hk_dtype_promote(a, b, &both) ? py_dtype_object(both) : Py_NewRef(Py_None);
}

/* _dtype(object): of whatever names one */
static PyObject *dtype_of(PyObject *self, PyObject *object)
{
    (void)self;
    hk_dtype dtype;
    return py_dtype_from(object, &dtype) ? py_dtype_object(dtype) : NULL;
}

PyMethodDef py_view_functions[] = {
    {"_broadcast_to", view_broadcast, METH_VARARGS, NULL},
    {"_transpose", view_transpose, METH_O, NULL},
    {"_einsum", einsum, METH_VARARGS, NULL},
    {"_contiguous", contiguous, METH_O, NULL},
    {"_to_pageable", to_pageable, METH_VARARGS, NULL},
    {"_assign", assign, METH_VARARGS, NULL},
    {"_from_bytes", from_bytes, METH_VARARGS, NULL},
    {"_facts", facts, METH_O, NULL},
    {"_stats", stats, METH_NOARGS, NULL},
    {"_promote", promote, METH_VARARGS, NULL},
    {"_dtype", dtype_of, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
