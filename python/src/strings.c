/* Texts between Python and C: UTF-8 that ends at a 0. */
#include "core.h"

#include <string.h>

PyObject *py_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

const char *py_chars(PyObject *text, const char *argument)
{
    Py_ssize_t bytes;
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "%s is to be a text, not %R", argument, text);
        return NULL;
    }
    const char *chars = PyUnicode_AsUTF8AndSize(text, &bytes);
    if (!chars) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s is %A, which is no text: half of a letter is in it",
                     argument, text);
        return NULL;
    }
    if (strlen(chars) == (size_t)bytes)
        return chars;
    PyErr_Format(PyExc_ValueError,
                 "%s is %R, which has the character 0; a text without would be right", argument,
                 text);
    return NULL;
}
