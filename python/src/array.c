/* hocket.Array: a counted handle. Facts, waiting, text; signs are in number.c, values in convert.c. */
#include "core.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

PyTypeObject *py_array_type;

/* ---- making ----------------------------------------------------------------------------------------------------- */

/* Objects that were given back, for the next ones: Python's allocator costs as much as the rest of a small call's wrapping. */
enum { SPARE_OBJECTS = 64 };
static py_array *spare[SPARE_OBJECTS];
static int spare_count;

static py_array *object_new(void)
{
    if (spare_count == 0)
        return PyObject_New(py_array, py_array_type);
    return (py_array *)PyObject_Init((PyObject *)spare[--spare_count], py_array_type);
}

static void object_free(py_array *self)
{
    if (spare_count < SPARE_OBJECTS)
        spare[spare_count++] = self;
    else
        PyObject_Free(self);
}

PyObject *py_wrap(hk_array *x)
{
    return py_wrap_counted(hk_take(x));
}

PyObject *py_wrap_counted(hk_array *x)
{
    if (py_was_interrupted()) {
        hk_array_release(x);
        return NULL;
    }
    if (hk_size(x) == 0 && hk_ndim(x) == 0) { /* it failed at its call */
        py_raise_failed(x);
        hk_array_release(x);
        return NULL;
    }
    py_array *self = object_new();
    if (!self) {
        hk_array_release(x);
        return NULL;
    }
    self->handle = x;
    self->weak_references = NULL;
    return (PyObject *)self;
}

static void array_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (((py_array *)self)->weak_references)
        PyObject_ClearWeakRefs(self);
    py_drop(py_handle(self));
    object_free((py_array *)self);
    Py_DECREF(type);
}

hk_array *py_array_get(PyObject *object, const char *argument)
{
    if (py_is_array(object))
        return py_handle(object);
    PyErr_Format(PyExc_TypeError, "%s is to be an Array, not %R", argument, object);
    return NULL;
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static PyObject *array_shape(PyObject *self, void *unused)
{
    (void)unused;
    hk_dims shape = hk_dims_get(py_handle(self));
    return py_dims_object(&shape);
}

static PyObject *array_strides(PyObject *self, void *unused)
{
    (void)unused;
    hk_dims strides = hk_strides_get(py_handle(self));
    return py_dims_object(&strides);
}

static PyObject *array_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return py_dtype_object(hk_array_dtype(py_handle(self)));
}

static PyObject *array_device(PyObject *self, void *unused)
{
    (void)unused;
    return py_device_object(hk_array_device(py_handle(self)));
}

static PyObject *array_ndim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(hk_ndim(py_handle(self)));
}

static PyObject *array_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(hk_size(py_handle(self)));
}

static PyObject *array_bytes(PyObject *self, void *unused)
{
    (void)unused;
    hk_array *x = py_handle(self);
    return PyLong_FromLongLong(hk_size(x) * (long long)hk_dtype_bytes(hk_array_dtype(x)));
}

static PyObject *array_is_ready(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(hk_is_ready(py_handle(self)));
}

static PyObject *array_wait(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!py_check(hk_wait(py_handle(self))))
        return NULL;
    return Py_NewRef(self);
}

/* From now on the object is what another one is: for writes that are to be recorded. */
static PyObject *array_become(PyObject *self, PyObject *other)
{
    hk_array *x = py_array_get(other, "other"), *before = py_handle(self);
    if (!x)
        return NULL;
    ((py_array *)self)->handle = hk_array_retain(x);
    py_drop(before);
    return Py_NewRef(self);
}

static Py_ssize_t array_length(PyObject *self)
{
    hk_array *x = py_handle(self);
    if (hk_ndim(x) > 0)
        return (Py_ssize_t)hk_dim(x, 0);
    PyErr_SetString(PyExc_TypeError, "an array without axes has no length");
    return -1;
}

/* With it an array is a sequence to those who ask C, as pandas does. */
static PyObject *array_entry(PyObject *self, Py_ssize_t index)
{
    PyObject *key = PyLong_FromSsize_t(index);
    PyObject *entry = key ? py_array_subscript(self, key) : NULL;
    Py_XDECREF(key);
    return entry;
}

/* "[1. 2.] @cpu:0" */
static PyObject *array_text(PyObject *self)
{
    hk_array *x = py_handle(self);
    if (!py_check(hk_wait(x)))
        return NULL;
    char *text = hk_to_string(x);
    if (!text)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    PyObject *result = py_text(text);
    free(text);
    return result;
}

static Py_hash_t array_hash(PyObject *self)
{
    return (Py_hash_t)((size_t)self >> 4);
}

static PyGetSetDef attributes[] = {
    {"shape", array_shape, NULL, "sizes of the axes, outermost first", NULL},
    {"strides", array_strides, NULL, "how far apart neighbours along each axis are, in elements",
     NULL},
    {"dtype", array_dtype, NULL, "element type", NULL},
    {"device", array_device, NULL, "where it is", NULL},
    {"ndim", array_ndim, NULL, "how many axes", NULL},
    {"size", array_size, NULL, "how many elements", NULL},
    {"nbytes", array_bytes, NULL, "bytes of the elements", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"is_ready", array_is_ready, METH_NOARGS,
     "is_ready($self, /)\n--\n\nWhether wait() would not block."},
    {"wait", array_wait, METH_NOARGS,
     "wait($self, /)\n--\n\nWaits for the values; raises what made them fail. Returns the array."},
    {"_become", array_become, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(py_array, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* ---- the type ------------------------------------------------------------------------------------------------------- */

static const PyType_Slot own_slots[] = {
    {Py_tp_doc, "An array: n-dimensional, of one dtype, on one device. Its values may still be on "
                "their way: looking "
                "at them waits."},
    {Py_tp_dealloc, array_free},
    {Py_tp_str, array_text},
    {Py_tp_hash, array_hash},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {Py_sq_length, array_length},
    {Py_sq_item, array_entry},
    {Py_mp_length, array_length},
    {Py_mp_subscript, py_array_subscript},
    {Py_mp_ass_subscript, py_array_assign_subscript},
    {Py_bf_getbuffer, py_array_get_buffer},
    {Py_bf_releasebuffer, py_array_release_buffer},
};
enum { OWN_SLOTS = sizeof own_slots / sizeof *own_slots };

static bool add_methods(PyMethodDef *of)
{
    for (; of->ml_name; of++) {
        PyObject *method = PyDescr_NewMethod(py_array_type, of);
        if (!method || PyObject_SetAttrString((PyObject *)py_array_type, of->ml_name, method) < 0)
            return false;
        Py_DECREF(method);
    }
    return true;
}

bool py_array_type_init(PyObject *module)
{
    PyType_Slot slots[OWN_SLOTS + PY_NUMBER_SLOT_COUNT];
    memcpy(slots, own_slots, sizeof own_slots);
    memcpy(slots + OWN_SLOTS, py_number_slots, sizeof py_number_slots);
    PyType_Spec spec = {.name = "hocket.Array",
                        .basicsize = sizeof(py_array),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    py_array_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return py_array_type && add_methods(methods) && add_methods(py_array_methods) &&
           add_methods(py_sharing_methods) && PyModule_AddType(module, py_array_type) == 0;
}
