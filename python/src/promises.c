/* Arrays that the program fills itself: promises of hocket/kernel.h. */
#include "training.h"

#include <stdlib.h>
#include <string.h>

typedef struct owned {
    hk_promise *promise; /* NULL: it has been kept or broken */
    PyObject *arrays;    /* a tuple */
} owned;

/* A thread that holds the GIL may be the one to keep another promise. */
static void release(owned *self)
{
    if (!self)
        return;
    if (self->promise) {
        py_gil_release();
        hk_promise_break(self->promise, "the promise was forgotten: neither kept nor broken");
        py_gil_take();
    }
    Py_XDECREF(self->arrays);
    free(self);
}

static PyObject *promise_view(PyObject *self, PyObject *index);
static PyObject *promise_keep(PyObject *self, PyObject *unused);
static PyObject *promise_fail(PyObject *self, PyObject *message);
static PyObject *promise_is_open(PyObject *self, PyObject *unused);
static PyMethodDef methods[] = {
    {"_view", promise_view, METH_O, NULL},
    {"keep", promise_keep, METH_NOARGS,
     "keep($self, /)\n--\n\nThe arrays are as they are to be: what waits for them goes on."},
    {"fail", promise_fail, METH_O,
     "fail($self, message, /)\n--\n\nThe arrays fail with this message, and what reads them."},
    {"is_open", promise_is_open, METH_NOARGS,
     "is_open($self, /)\n--\n\nWhether it can be kept yet."},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(promise, owned, "hocket._core.Promise", "Arrays that the program fills itself.", methods,
           release)

/* Raises where it has been taken. */
static owned *open_one(PyObject *self)
{
    owned *of = promise_handle(self);
    if (!of->promise)
        PyErr_SetString(PyExc_ValueError, "the promise has been kept or failed before");
    return of->promise ? of : NULL;
}

static PyObject *promise_view(PyObject *self, PyObject *index)
{
    owned *of = open_one(self);
    const long at = of ? PyLong_AsLong(index) : -1;
    if (!of || PyErr_Occurred())
        return NULL;
    if (at < 0 || at >= PyTuple_Size(of->arrays))
        return PyErr_Format(PyExc_IndexError, "index is %ld, but the promise has %zd arrays", at,
                            PyTuple_Size(of->arrays));
    const hk_task_view view = hk_promise_view(of->promise, (int)at);
    if (PyErr_Occurred() || py_was_interrupted())
        return NULL;
    if (view.shape.ndim < 0)
        return PyErr_Format(PyExc_ValueError, "the promise is not open: its arrays have failed");
    return py_task_view(view, false, PyTuple_GetItem(of->arrays, (Py_ssize_t)at));
}

static PyObject *promise_keep(PyObject *self, PyObject *unused)
{
    owned *of = open_one(self);
    (void)unused;
    if (!of)
        return NULL;
    hk_promise *taken = of->promise;
    of->promise = NULL;
    py_gil_release();
    hk_promise_keep(taken);
    py_gil_take();
    Py_RETURN_NONE;
}

static PyObject *promise_fail(PyObject *self, PyObject *message)
{
    owned *of = open_one(self);
    const char *text = of ? py_chars(message, "message") : NULL;
    if (!text)
        return NULL;
    hk_promise *taken = of->promise;
    of->promise = NULL;
    py_gil_release();
    hk_promise_break(taken, "%s", text);
    py_gil_take();
    Py_RETURN_NONE;
}

static PyObject *promise_is_open(PyObject *self, PyObject *unused)
{
    const owned *of = promise_handle(self);
    (void)unused;
    return PyBool_FromLong(of->promise && hk_promise_is_open(of->promise));
}

/* _promise(name, arrays, writes): the first are written, the others updated. */
static PyObject *create(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *name, *sequence;
    int writes;
    py_arrays arrays;
    hk_access accesses[HK_MAX_ACCESSES];
    if (!PyArg_ParseTuple(arguments, "OOi", &name, &sequence, &writes) ||
        !py_arrays_from(sequence, "an array of a promise", &arrays))
        return NULL;
    const char *text = py_tasks_check(&arrays) ? py_static_name(name) : NULL;
    owned *own = text ? calloc(1, sizeof *own) : NULL;
    if (own) {
        for (int i = 0; i < arrays.count; i++)
            accesses[i] = hk_access_of(arrays.handles[i], i < writes ? HK_WRITES : HK_UPDATES);
        own->promise = hk_promise_create_at(py_source(), accesses, arrays.count,
                                            &(const hk_promise_options){.name = text});
        own->arrays = Py_NewRef(arrays.items);
    } else if (text) {
        PyErr_NoMemory();
    }
    py_arrays_release(&arrays);
    if (PyErr_Occurred() || py_was_interrupted()) {
        release(own);
        return NULL;
    }
    return promise_of(own);
}

static PyMethodDef functions[] = {
    {"_promise", create, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_promises_init(PyObject *module)
{
    return promise_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
