/* Caches and sampling: hocket/generate.h. */
#include "training.h"

static PyObject *cache_enter(PyObject *self, PyObject *arguments);
static PyObject *cache_leave(PyObject *self, PyObject *unused);
static PyObject *cache_clear(PyObject *self, PyObject *unused);
static PyMethodDef cache_methods[] = {
    {"enter", cache_enter, METH_VARARGS, NULL},
    {"leave", cache_leave, METH_NOARGS, NULL},
    {"clear", cache_clear, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(cache, hk_cache, "hocket._core.Cache", "Keys and values of the tokens so far.",
           cache_methods, hk_cache_release)

/* _cache(capacity) */
static PyObject *create(PyObject *self, PyObject *object)
{
    (void)self;
    const long long capacity = PyLong_AsLongLong(object);
    if (capacity == -1 && PyErr_Occurred())
        return NULL;
    hk_cache *made = hk_cache_create(capacity);
    if (py_check(hk_cache_status(made)))
        return cache_of(made);
    hk_cache_release(made);
    return NULL;
}

/* enter(tokens, lengths or None): what the network is to read */
static PyObject *cache_enter(PyObject *self, PyObject *arguments)
{
    PyObject *tokens, *lengths;
    if (!PyArg_ParseTuple(arguments, "O!O", py_array_type, &tokens, &lengths))
        return NULL;
    hk_array *counts = lengths == Py_None ? NULL : py_array_get(lengths, "lengths");
    if (!counts && lengths != Py_None)
        return NULL;
    return py_wrap(hk_cache_enter_at(py_source(), cache_handle(self), py_handle(tokens), counts));
}

static PyObject *cache_leave(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_cache_leave(cache_handle(self));
    Py_RETURN_NONE;
}

static PyObject *cache_clear(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_cache_clear(cache_handle(self));
    Py_RETURN_NONE;
}

/* _cache_positions(): an Array, or None */
static PyObject *positions(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    hk_array *at = hk_cache_positions();
    return at ? py_wrap_counted(hk_array_retain(at)) : Py_NewRef(Py_None);
}

/* _sample(logits, temperature, top_k, top_p, generator or None) */
static PyObject *sample(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *logits, *generator;
    double temperature, top_p;
    long long top_k;
    hk_sample_options options = {.top_k = 0};
    if (!PyArg_ParseTuple(arguments, "O!dLdO", py_array_type, &logits, &temperature, &top_k, &top_p,
                          &generator) ||
        !py_stream_from(generator, &options.generator))
        return NULL;
    options.temperature = temperature == 0 ? HK_ZERO : temperature;
    options.top_k = top_k;
    options.top_p = top_p;
    return py_wrap(hk_sample_at(py_source(), py_handle(logits), &options));
}

static PyMethodDef functions[] = {
    {"_cache", create, METH_O, NULL},
    {"_cache_positions", positions, METH_NOARGS, NULL},
    {"_sample", sample, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_generation_init(PyObject *module)
{
    return cache_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
