/* x[key] and x[key] = value. Ints, slices, ... and None are views, made here; other keys are hocket/_indexing.py's. */
#include "core.h"

static PyObject *get_function, *set_function; /* of _indexing.py */

PyObject *py_set_indexing(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *get, *set;
    if (!PyArg_ParseTuple(arguments, "OO:_set_indexing", &get, &set))
        return NULL;
    PY_REPLACE(get_function, Py_NewRef(get));
    PY_REPLACE(set_function, Py_NewRef(set));
    Py_RETURN_NONE;
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

static bool is_index(PyObject *part)
{
    return PyLong_Check(part) && !PyBool_Check(part);
}

/* Keys whose parts are all ints, slices, ... and None. */
static bool is_basic(PyObject *key)
{
    if (!PyTuple_Check(key))
        return is_index(key) || PySlice_Check(key) || key == Py_None || key == Py_Ellipsis;
    for (Py_ssize_t i = 0; i < PyTuple_Size(key); i++) {
        PyObject *part = PyTuple_GetItem(key, i);
        if (PyTuple_Check(part) || !is_basic(part))
            return false;
    }
    return true;
}

/* ---- views -------------------------------------------------------------------------------------------------------- */

/* A view on its way: parts of the key are applied one after another. */
typedef struct view {
    hk_array *x; /* owned */
    int axis;    /* of x, that the next part is for */
    hk_source at;
} view;

/* Takes the new one. */
static bool becomes(view *self, hk_array *x)
{
    hk_array_release(self->x);
    self->x = x;
    return hk_ndim(x) > 0 || hk_size(x) > 0; /* else it has failed */
}

static bool apply_index(view *self, PyObject *part)
{
    int64_t index = PyLong_AsLongLong(part);
    if (index == -1 && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_IndexError, "the index %R is out of the range of int64", part);
    if (index == -1 && PyErr_Occurred())
        return false;
    return becomes(self, hk_index_at(self->at, self->x, self->axis, index));
}

static bool apply_slice(view *self, PyObject *part)
{
    Py_ssize_t begin, end, step;
    if (PySlice_Unpack(part, &begin, &end, &step) < 0)
        return false;
    int64_t size = hk_dim(self->x, self->axis);
    Py_ssize_t count = PySlice_AdjustIndices((Py_ssize_t)size, &begin, &end, step);
    if (count == 0)
        return becomes(self, hk_slice_at(self->at, self->x, self->axis++, 0, 0));
    if (count == size && step == 1)
        return ++self->axis, true;
    if (step == 1)
        return becomes(self, hk_slice_at(self->at, self->x, self->axis++, begin, end));
    if (end < 0) /* of a negative step: before index 0 */
        end = (Py_ssize_t)(-size - 1);
    return becomes(self, hk_slice_step_at(self->at, self->x, self->axis++, begin, end, step));
}

static bool apply_part(view *self, PyObject *part, int skipped)
{
    if (part == Py_Ellipsis)
        return self->axis += skipped, true;
    if (part == Py_None)
        return becomes(self, hk_expand_dims_at(self->at, self->x, self->axis++));
    if (self->axis >= hk_ndim(self->x)) {
        PyErr_SetString(PyExc_IndexError, "the key has more indices than the array has axes");
        return false;
    }
    return PySlice_Check(part) ? apply_slice(self, part) : apply_index(self, part);
}

/* How many axes an ellipsis stands for; -1: raised. */
static int skipped_axes(hk_array *x, PyObject *key)
{
    int named = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(key); i++) {
        PyObject *part = PyTuple_GetItem(key, i);
        ellipses += part == Py_Ellipsis;
        named += part != Py_Ellipsis && part != Py_None;
    }
    if (ellipses > 1 || named > hk_ndim(x)) {
        PyErr_Format(PyExc_IndexError,
                     ellipses > 1 ? "the key has %d '...'; one is allowed"
                                  : "the key has %d indices; the array has %d axes",
                     ellipses > 1 ? ellipses : named, hk_ndim(x));
        return -1;
    }
    return hk_ndim(x) - named;
}

/* The view; owned by the caller. NULL: raised. */
static hk_array *basic_view(hk_array *x, PyObject *key)
{
    view made = {.x = hk_array_retain(x), .at = py_source()};
    bool good = true;
    if (!PyTuple_Check(key)) {
        good = key == Py_Ellipsis || apply_part(&made, key, 0);
    } else {
        int skipped = skipped_axes(x, key);
        good = skipped >= 0;
        for (Py_ssize_t i = 0; good && i < PyTuple_Size(key); i++)
            good = apply_part(&made, PyTuple_GetItem(key, i), skipped);
    }
    if (good)
        return made.x;
    if (!PyErr_Occurred())
        py_raise_failed(made.x);
    hk_array_release(made.x);
    return NULL;
}

PyObject *py_array_subscript(PyObject *self, PyObject *key)
{
    if (!is_basic(key))
        return PyObject_CallFunctionObjArgs(get_function, self, key, NULL);
    hk_array *x = basic_view(py_handle(self), key);
    return x ? py_wrap(x) : NULL;
}

int py_array_assign_subscript(PyObject *self, PyObject *key, PyObject *value)
{
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    if (!is_basic(key)) {
        PyObject *done = PyObject_CallFunctionObjArgs(set_function, self, key, value, NULL);
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    hk_array *target = basic_view(py_handle(self), key);
    hk_array *values = target ? py_value(value, target) : NULL;
    bool good = values && py_assign(target, values);
    hk_array_release(values);
    hk_array_release(target);
    return good ? 0 : -1;
}
