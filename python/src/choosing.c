/* Elements chosen by what they are: masks, places of what is not 0, unique values, boxes (hocket/index.h). These functions wait. */
#include "core.h"

enum { MOST = HK_MAX_NDIM };

/* A tuple of the results; where one failed at the call it raises. Takes them. */
static PyObject *tuple_of(hk_array **results, int count, hk_array *x)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; i < count; i++) {
        py_settle(results[i], &x, 1);
        PyObject *result = tuple ? py_wrap(results[i]) : NULL;
        if (!tuple)
            hk_array_release(results[i]);
        else if (!result || PyTuple_SetItem(tuple, i, result) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* _nonzero(x): places along each axis */
static PyObject *nonzero(PyObject *self, PyObject *object)
{
    (void)self;
    hk_array *results[MOST], *x = py_array_get(object, "x");
    if (!x)
        return NULL;
    if (hk_ndim(x) == 0) {
        PyErr_SetString(PyExc_ValueError, "nonzero() needs an axis; x has none");
        return NULL;
    }
    hk_nonzero_at(py_source(), x, results, hk_ndim(x));
    return tuple_of(results, hk_ndim(x), x);
}

/* _unique_all(x): values, first places, inverse, counts */
static PyObject *unique_all(PyObject *self, PyObject *object)
{
    (void)self;
    hk_array *results[4], *x = py_array_get(object, "x");
    if (!x)
        return NULL;
    hk_unique_all_at(py_source(), x, &results[0], &results[1], &results[2], &results[3]);
    return tuple_of(results, 4, x);
}

static PyObject *unique_counts(PyObject *self, PyObject *object)
{
    (void)self;
    hk_array *results[2], *x = py_array_get(object, "x");
    if (!x)
        return NULL;
    hk_unique_counts_at(py_source(), x, &results[0], &results[1]);
    return tuple_of(results, 2, x);
}

static PyObject *unique_inverse(PyObject *self, PyObject *object)
{
    (void)self;
    hk_array *results[2], *x = py_array_get(object, "x");
    if (!x)
        return NULL;
    hk_unique_inverse_at(py_source(), x, &results[0], &results[1]);
    return tuple_of(results, 2, x);
}

static PyObject *unique_values(PyObject *self, PyObject *object)
{
    (void)self;
    hk_array *x = py_array_get(object, "x");
    if (!x)
        return NULL;
    hk_array *result = hk_unique_values_at(py_source(), x);
    py_settle(result, &x, 1);
    return py_wrap(result);
}

/* _mask_select(x, mask) */
static PyObject *mask_select(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of, *by;
    if (!PyArg_ParseTuple(arguments, "OO:_mask_select", &of, &by))
        return NULL;
    hk_array *x = py_array_get(of, "x"), *mask = x ? py_array_get(by, "mask") : NULL;
    if (!mask)
        return NULL;
    hk_array *result = hk_mask_select_at(py_source(), x, mask);
    py_settle(result, &x, 1);
    return py_wrap(result);
}

/* _mask_assign(x, mask, value): the caller has checked shapes */
static PyObject *mask_assign(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of, *by, *with;
    if (!PyArg_ParseTuple(arguments, "OOO:_mask_assign", &of, &by, &with))
        return NULL;
    hk_array *x = py_array_get(of, "x"), *mask = x ? py_array_get(by, "mask") : NULL;
    hk_array *value = mask ? py_array_get(with, "value") : NULL;
    if (!value || !py_may_write(x) || !py_may_be_written(value, x))
        return NULL;
    hk_mask_assign_at(py_source(), x, mask, value);
    py_settle(x, &value, 1);
    return py_was_interrupted() ? NULL : Py_NewRef(Py_None);
}

/* _bincount(x, weights, minlength) */
static PyObject *bincount(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of, *with;
    long long minlength;
    if (!PyArg_ParseTuple(arguments, "OOL:bincount", &of, &with, &minlength))
        return NULL;
    hk_array *x = py_array_get(of, "x");
    hk_array *weights = x && with != Py_None ? py_array_get(with, "weights") : NULL;
    if (PyErr_Occurred())
        return NULL;
    hk_array *result = hk_bincount_at(py_source(), x, weights, minlength);
    py_settle(result, &x, 1);
    return py_wrap(result);
}

/* _non_max_suppression(boxes, scores, overlap, most or -1, least score or None, whether boxes are centred) */
static PyObject *non_max_suppression(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of, *by, *least;
    double overlap;
    long long most;
    int is_centered;
    if (!PyArg_ParseTuple(arguments, "OOdLOp:non_max_suppression", &of, &by, &overlap, &most,
                          &least, &is_centered))
        return NULL;
    hk_non_max_suppression_options options = {.most = most == -1 ? 0 : most,
                                              .is_centered = is_centered};
    hk_array *boxes = py_array_get(of, "boxes"),
             *scores = boxes ? py_array_get(by, "scores") : NULL;
    if (least != Py_None) {
        options.least_score = PyFloat_AsDouble(least);
        if (options.least_score == 0)
            options.least_score = HK_ZERO;
    }
    if (!PyErr_Occurred() && (most == 0 || most < -1))
        PyErr_Format(PyExc_ValueError, "most is %lld, but must be above 0, or None: all", most);
    if (PyErr_Occurred())
        return NULL;
    hk_array *result = hk_non_max_suppression_at(py_source(), boxes, scores, overlap, &options);
    py_settle(result, (hk_array *[]){boxes, scores}, 2);
    return py_wrap(result);
}

PyMethodDef py_choosing_functions[] = {
    {"_nonzero", nonzero, METH_O, NULL},
    {"_unique_all", unique_all, METH_O, NULL},
    {"_unique_counts", unique_counts, METH_O, NULL},
    {"_unique_inverse", unique_inverse, METH_O, NULL},
    {"_unique_values", unique_values, METH_O, NULL},
    {"_mask_select", mask_select, METH_VARARGS, NULL},
    {"_mask_assign", mask_assign, METH_VARARGS, NULL},
    {"_bincount", bincount, METH_VARARGS, NULL},
    {"_non_max_suppression", non_max_suppression, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
