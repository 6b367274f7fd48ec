/* Tokenizers that others made: hocket/tokenizer.h. */
#include "training.h"

#include <stdlib.h>
#include <string.h>

static PyObject *tokenizer_size(PyObject *self, PyObject *unused);
static PyObject *tokenizer_token(PyObject *self, PyObject *id);
static PyObject *tokenizer_id(PyObject *self, PyObject *token);
static PyObject *tokenizer_is_special(PyObject *self, PyObject *id);
static PyObject *tokenizer_encode(PyObject *self, PyObject *arguments);
static PyObject *tokenizer_encode_batch(PyObject *self, PyObject *arguments);
static PyObject *tokenizer_decode(PyObject *self, PyObject *arguments);
static PyMethodDef tokenizer_methods[] = {
    {"size", tokenizer_size, METH_NOARGS, NULL},
    {"token", tokenizer_token, METH_O, NULL},
    {"id", tokenizer_id, METH_O, NULL},
    {"is_special", tokenizer_is_special, METH_O, NULL},
    {"encode", tokenizer_encode, METH_VARARGS, NULL},
    {"encode_batch", tokenizer_encode_batch, METH_VARARGS, NULL},
    {"decode", tokenizer_decode, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(tokenizer, hk_tokenizer, "hocket._core.Tokenizer", "Texts to ids, and back.",
           tokenizer_methods, hk_tokenizer_release)

/* _tokenizer_load(path) */
static PyObject *load(PyObject *self, PyObject *object)
{
    (void)self;
    PyObject *path;
    if (!PyUnicode_FSConverter(object, &path))
        return NULL;
    const hk_source at = py_source();
    py_gil_release();
    hk_tokenizer *made = hk_tokenizer_load_at(at, PyBytes_AsString(path), NULL);
    py_gil_take();
    Py_DECREF(path);
    if (py_check(hk_tokenizer_status(made)))
        return tokenizer_of(made);
    hk_tokenizer_release(made);
    return NULL;
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

static PyObject *tokenizer_size(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(hk_tokenizer_size(tokenizer_handle(self)));
}

/* None: there is none. */
static PyObject *tokenizer_token(PyObject *self, PyObject *id)
{
    const long long number = PyLong_AsLongLong(id);
    size_t bytes;
    if (number == -1 && PyErr_Occurred())
        return NULL;
    const char *token = hk_tokenizer_token(tokenizer_handle(self), number, &bytes);
    return token ? PyUnicode_DecodeUTF8(token, (Py_ssize_t)bytes, "replace") : Py_NewRef(Py_None);
}

static PyObject *tokenizer_id(PyObject *self, PyObject *object)
{
    Py_ssize_t bytes;
    const char *token = PyUnicode_AsUTF8AndSize(object, &bytes);
    if (!token)
        return NULL;
    const int64_t id = hk_tokenizer_id(tokenizer_handle(self), token, (size_t)bytes);
    return id < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(id);
}

static PyObject *tokenizer_is_special(PyObject *self, PyObject *id)
{
    const long long number = PyLong_AsLongLong(id);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(hk_tokenizer_is_special(tokenizer_handle(self), number));
}

/* ---- texts to ids ---------------------------------------------------------------------------- */

/* encode(text, pair or None, no_special, special_as_text, most): a list */
static PyObject *tokenizer_encode(PyObject *self, PyObject *arguments)
{
    hk_text text = {.text = NULL};
    Py_ssize_t bytes, pair_bytes = 0;
    int no_special, as_text;
    long long most;
    if (!PyArg_ParseTuple(arguments, "s#z#ppL:Tokenizer.encode", &text.text, &bytes, &text.pair,
                          &pair_bytes, &no_special, &as_text, &most))
        return NULL;
    text.bytes = (size_t)bytes;
    text.pair_bytes = (size_t)pair_bytes;
    const hk_encode_options options = {
        .no_special = no_special, .special_as_text = as_text, .most_tokens = most};
    const hk_tokenizer *tokenizer = tokenizer_handle(self);
    const hk_source at = py_source();
    const hk_status *status = NULL;
    int64_t capacity = bytes + pair_bytes + 64, count;
    int32_t *ids = NULL;
    for (;;) { /* few tokens are shorter than a byte: mostly once */
        free(ids);
        ids = malloc((size_t)capacity * sizeof *ids);
        if (!ids)
            return PyErr_NoMemory();
        py_gil_release();
        count = hk_tokenizer_encode_into_at(at, tokenizer, &text, &options, ids, capacity, &status);
        py_gil_take();
        if (count <= capacity)
            break;
        capacity = count;
    }
    PyObject *list = py_check(status) ? PyList_New((Py_ssize_t)count) : NULL;
    for (int64_t i = 0; list && i < count; i++) {
        PyObject *id = PyLong_FromLong(ids[i]);
        if (!id || PyList_SetItem(list, (Py_ssize_t)i, id) < 0)
            Py_CLEAR(list);
    }
    free(ids);
    return list;
}

/* texts: tuples (text, pair or None), which keep what the result points at. */
static hk_text *texts_of(PyObject *list, Py_ssize_t count)
{
    hk_text *texts = calloc((size_t)count + 1, sizeof *texts);
    for (Py_ssize_t i = 0; texts && i < count; i++) {
        PyObject *item = PyList_GetItem(list, i); /* borrowed */
        Py_ssize_t bytes, pair_bytes = 0;
        if (!item || !PyTuple_Check(item) ||
            !PyArg_ParseTuple(item, "s#z#", &texts[i].text, &bytes, &texts[i].pair, &pair_bytes)) {
            free(texts);
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "a text is no str, and no pair of them");
            return NULL;
        }
        texts[i].bytes = (size_t)bytes;
        texts[i].pair_bytes = (size_t)pair_bytes;
    }
    return texts ? texts : (hk_text *)PyErr_NoMemory();
}

/* encode_batch([(text, pair or None)], no_special, special_as_text, most, least, pad_left): (ids,
 * mask, types, lengths) */
static PyObject *tokenizer_encode_batch(PyObject *self, PyObject *arguments)
{
    PyObject *list;
    int no_special, as_text, pad_left;
    long long most, least;
    if (!PyArg_ParseTuple(arguments, "O!ppLLp:Tokenizer.encode_batch", &PyList_Type, &list,
                          &no_special, &as_text, &most, &least, &pad_left))
        return NULL;
    const Py_ssize_t count = PyList_Size(list);
    hk_text *texts = texts_of(list, count);
    if (!texts)
        return NULL;
    const hk_encode_options options = {.no_special = no_special,
                                       .special_as_text = as_text,
                                       .most_tokens = most,
                                       .least_tokens = least,
                                       .pad_left = pad_left};
    const hk_token_batch batch =
        hk_tokenizer_encode_batch_at(py_source(), tokenizer_handle(self), texts, count, &options);
    free(texts);
    PyObject *ids = py_wrap(batch.ids), *mask = ids ? py_wrap(batch.mask) : NULL;
    PyObject *types = mask ? py_wrap(batch.types) : NULL;
    PyObject *lengths = types ? py_wrap(batch.lengths) : NULL;
    PyObject *result = lengths ? PyTuple_Pack(4, ids, mask, types, lengths) : NULL;
    Py_XDECREF(ids);
    Py_XDECREF(mask);
    Py_XDECREF(types);
    Py_XDECREF(lengths);
    return result;
}

/* ---- ids to texts ---------------------------------------------------------------------------- */

/* decode(list, with_special) */
static PyObject *tokenizer_decode(PyObject *self, PyObject *arguments)
{
    PyObject *list, *result = NULL;
    int with_special;
    if (!PyArg_ParseTuple(arguments, "O!p:Tokenizer.decode", &PyList_Type, &list, &with_special))
        return NULL;
    const Py_ssize_t count = PyList_Size(list);
    int32_t *ids = malloc(((size_t)count + 1) * sizeof *ids);
    if (!ids)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(list, i);
        const long long id = item ? PyLong_AsLongLong(item) : -1;
        if (id == -1 && PyErr_Occurred()) {
            free(ids);
            return NULL;
        }
        ids[i] = id < 0 || id > INT32_MAX ? -1 : (int32_t)id; /* of no token */
    }
    size_t bytes;
    const hk_status *status = NULL;
    const hk_source at = py_source();
    const hk_tokenizer *tokenizer = tokenizer_handle(self);
    py_gil_release();
    char *text =
        hk_tokenizer_decode_at(at, tokenizer, ids, count,
                               &(hk_decode_options){.with_special = with_special}, &bytes, &status);
    py_gil_take();
    if (py_check(status))
        result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "replace");
    free(text);
    free(ids);
    return result;
}

static PyMethodDef functions[] = {
    {"_tokenizer_load", load, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_tokenizers_init(PyObject *module)
{
    return tokenizer_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
