/* Vocabularies, and data sets of pieces of a text: hocket/text.h. */
#include "training.h"

#include <string.h>

static PyObject *vocabulary_facts(PyObject *self, PyObject *unused);
static PyObject *vocabulary_token(PyObject *self, PyObject *place);
static PyObject *vocabulary_place(PyObject *self, PyObject *token);
static PyObject *vocabulary_encode(PyObject *self, PyObject *text);
static PyMethodDef vocabulary_methods[] = {
    {"facts", vocabulary_facts, METH_NOARGS, NULL},
    {"token", vocabulary_token, METH_O, NULL},
    {"place", vocabulary_place, METH_O, NULL},
    {"encode", vocabulary_encode, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(vocabulary, hk_vocabulary, "hocket._core.Vocabulary", "Tokens and their places.",
           vocabulary_methods, hk_vocabulary_release)

static PyObject *vocabulary_or_raise(hk_vocabulary *made)
{
    if (py_check(hk_vocabulary_status(made)))
        return vocabulary_of(made);
    hk_vocabulary_release(made);
    return NULL;
}

/* _vocabulary(bytes, words, letters_only, least_count, most_tokens) */
static PyObject *create(PyObject *self, PyObject *arguments)
{
    (void)self;
    const char *text;
    Py_ssize_t bytes;
    int words, letters_only;
    long long least, most;
    if (!PyArg_ParseTuple(arguments, "y#ppLL", &text, &bytes, &words, &letters_only, &least, &most))
        return NULL;
    const hk_vocabulary_options options = {.kind = words ? HK_TOKEN_WORDS : HK_TOKEN_CHARACTERS,
                                           .letters_only = letters_only,
                                           .least_count = least,
                                           .most_tokens = most};
    py_gil_release();
    hk_vocabulary *made = (hk_vocabulary_create)(text, (size_t)bytes, &options);
    py_gil_take();
    return vocabulary_or_raise(made);
}

/* _vocabulary_of_text(text) */
static PyObject *of_text(PyObject *self, PyObject *object)
{
    (void)self;
    const char *text = py_chars(object, "the text of a vocabulary");
    return text ? vocabulary_or_raise(hk_vocabulary_of_text(text)) : NULL;
}

/* (size, all of it as one text) */
static PyObject *vocabulary_facts(PyObject *self, PyObject *unused)
{
    (void)unused;
    const hk_vocabulary *of = vocabulary_handle(self);
    return Py_BuildValue("Ls", (long long)hk_vocabulary_size(of), hk_vocabulary_text(of));
}

static PyObject *vocabulary_token(PyObject *self, PyObject *place)
{
    long long number = PyLong_AsLongLong(place);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    const char *token = hk_vocabulary_token(vocabulary_handle(self), number);
    return PyUnicode_DecodeUTF8(token, (Py_ssize_t)strlen(token), "surrogateescape");
}

static PyObject *vocabulary_place(PyObject *self, PyObject *token)
{
    char *text;
    Py_ssize_t bytes;
    if (PyBytes_AsStringAndSize(token, &text, &bytes) < 0)
        return NULL;
    return PyLong_FromLongLong(hk_vocabulary_place(vocabulary_handle(self), text, (size_t)bytes));
}

static PyObject *vocabulary_encode(PyObject *self, PyObject *object)
{
    char *text;
    Py_ssize_t bytes;
    if (PyBytes_AsStringAndSize(object, &text, &bytes) < 0)
        return NULL;
    return py_wrap(
        hk_vocabulary_encode_at(py_source(), vocabulary_handle(self), text, (size_t)bytes));
}

/* _data_set_tokens(tokens, steps, lanes, fixed_start) */
static PyObject *of_tokens(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *tokens;
    long long steps, lanes;
    int fixed_start;
    if (!PyArg_ParseTuple(arguments, "O!LLp", py_array_type, &tokens, &steps, &lanes, &fixed_start))
        return NULL;
    const hk_token_options options = {.steps = steps, .lanes = lanes, .fixed_start = fixed_start};
    return py_data_set_wrap(hk_data_set_of_tokens_at(py_source(), py_handle(tokens), &options));
}

static PyMethodDef functions[] = {
    {"_vocabulary", create, METH_VARARGS, NULL},
    {"_vocabulary_of_text", of_text, METH_O, NULL},
    {"_data_set_tokens", of_tokens, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_text_init(PyObject *module)
{
    return vocabulary_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
