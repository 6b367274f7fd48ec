/* Moving averages of parameters, early stopping, gradients over several batches: hocket/optim.h. */
#include "training.h"

static PyObject *averages_update(PyObject *self, PyObject *unused);
static PyObject *averages_swap(PyObject *self, PyObject *unused);
static PyObject *averages_arrays(PyObject *self, PyObject *unused);
static PyMethodDef averages_methods[] = {
    {"update", averages_update, METH_NOARGS, NULL},
    {"swap", averages_swap, METH_NOARGS, NULL},
    {"arrays", averages_arrays, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(averages, hk_weight_averages, "hocket._core.Averages", "Moving averages of parameters.",
           averages_methods, hk_weight_averages_release)

/* _averages(params, decay) */
static PyObject *create(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of;
    double decay;
    py_arrays params;
    if (!PyArg_ParseTuple(arguments, "Od", &of, &decay) ||
        !py_arrays_from(of, "a parameter", &params))
        return NULL;
    hk_weight_averages *made =
        hk_weight_averages_create_at(py_source(), params.handles, params.count, decay);
    py_arrays_release(&params);
    if (py_check(hk_weight_averages_status(made)))
        return averages_of(made);
    hk_weight_averages_release(made);
    return NULL;
}

static PyObject *averages_update(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_weight_averages_update_at(py_source(), averages_handle(self));
    if (py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *averages_swap(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_weight_averages_swap_at(py_source(), averages_handle(self));
    py_settle_unnamed();
    if (py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *averages_arrays(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *list = PyList_New(0);
    hk_array *x;
    for (int i = 0; list && (x = hk_weight_averages_get(averages_handle(self), i)); i++) {
        PyObject *array = py_wrap(hk_array_retain(x));
        if (!array || PyList_Append(list, array) < 0)
            Py_CLEAR(list);
        Py_XDECREF(array);
    }
    return list;
}

/* _early_stop(patience, least, best, seen, waiting, value): (stop, is_best, best, seen, waiting) */
static PyObject *early_stop(PyObject *self, PyObject *arguments)
{
    (void)self;
    hk_early_stop stop = {0};
    long long seen, waiting;
    double value;
    if (!PyArg_ParseTuple(arguments, "iddLLd", &stop.patience, &stop.least, &stop.best, &seen,
                          &waiting, &value))
        return NULL;
    stop.seen = seen;
    stop.waiting = waiting;
    bool stops = hk_early_stop_next(&stop, value);
    return Py_BuildValue("OOdLL", stops ? Py_True : Py_False, stop.is_best ? Py_True : Py_False,
                         stop.best, (long long)stop.seen, (long long)stop.waiting);
}

static PyObject *accumulate(PyObject *self, PyObject *of)
{
    (void)self;
    py_arrays params;
    if (!py_arrays_from(of, "a parameter", &params))
        return NULL;
    hk_accumulate_grads_at(py_source(), params.handles, params.count);
    py_arrays_release(&params);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_averages", create, METH_VARARGS, NULL},
    {"_early_stop", early_stop, METH_VARARGS, NULL},
    {"_accumulate_grads", accumulate, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_averages_init(PyObject *module)
{
    return averages_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
