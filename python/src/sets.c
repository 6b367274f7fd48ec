/* Where data sets come from, beside idx files: hocket/data_sets.h. */
#include "training.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 64, MAX_TRANSFORMS = 32 };

/* _data_set_arrays(arrays) */
static PyObject *of_arrays(PyObject *self, PyObject *sequence)
{
    (void)self;
    py_arrays arrays;
    if (!py_arrays_from(sequence, "a field", &arrays))
        return NULL;
    hk_source at = py_source();
    py_gil_release();
    hk_data_set *made = hk_data_set_of_arrays_at(at, arrays.handles, arrays.count);
    py_gil_take();
    py_arrays_release(&arrays);
    return py_data_set_wrap(made);
}

/* ---- tables --------------------------------------------------------------------------------------------------- */

/* A single ASCII character; 0 would mean the default one. */
static bool delimiter_from(PyObject *text, char *delimiter)
{
    Py_ssize_t length;
    const char *characters = PyUnicode_AsUTF8AndSize(text, &length);
    if (characters && length == 1 && *characters) {
        *delimiter = *characters;
        return true;
    }
    if (characters)
        PyErr_Format(PyExc_ValueError, "delimiter is %R, which is no single character", text);
    return false;
}

/* _csv_load(path, delimiter, has_header, byte_limit) */
static PyObject *csv_load(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *path, *delimiter;
    int has_header;
    unsigned long long byte_limit;
    hk_csv_options options = {0};
    if (!PyArg_ParseTuple(arguments, "O&UpK", PyUnicode_FSConverter, &path, &delimiter, &has_header,
                          &byte_limit))
        return NULL;
    hk_array *x = NULL;
    if (delimiter_from(delimiter, &options.delimiter)) {
        options.has_header = has_header;
        options.byte_limit = byte_limit;
        hk_source at = py_source();
        py_gil_release();
        x = hk_csv_load_at(at, PyBytes_AsString(path), &options);
        py_gil_take();
    }
    Py_DECREF(path);
    return x ? py_wrap(x) : NULL;
}

/* _data_set_csv(path, targets, delimiter, has_header, byte_limit) */
static PyObject *of_csv(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *path, *delimiter;
    int targets, has_header;
    unsigned long long byte_limit;
    hk_csv_options options = {0};
    if (!PyArg_ParseTuple(arguments, "O&iUpK", PyUnicode_FSConverter, &path, &targets, &delimiter,
                          &has_header, &byte_limit))
        return NULL;
    hk_data_set *made = NULL;
    if (delimiter_from(delimiter, &options.delimiter)) {
        options.has_header = has_header;
        options.byte_limit = byte_limit;
        hk_source at = py_source();
        py_gil_release();
        made = hk_data_set_of_csv_at(at, PyBytes_AsString(path), targets, &options);
        py_gil_take();
    }
    Py_DECREF(path);
    return made ? py_data_set_wrap(made) : NULL;
}

/* ---- images ---------------------------------------------------------------------------------------------------- */

/* Paths of a tuple, as bytes in `owned`, which the caller drops: how many; -1: raised. */
static int paths_from(PyObject *tuple, PyObject *owned, const char *paths[MAX_FILES])
{
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count > MAX_FILES) {
        PyErr_Format(PyExc_ValueError, "%zd files are more than %d", count, MAX_FILES);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *path;
        if (!PyUnicode_FSConverter(PyTuple_GetItem(tuple, i), &path))
            return -1;
        const int failed = PyList_Append(owned, path);
        Py_DECREF(path); /* the list holds it */
        if (failed)
            return -1;
        paths[i] = PyBytes_AsString(path);
    }
    return (int)count;
}

/* _data_set_cifar((path, …), classes) */
static PyObject *of_cifar(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *tuple;
    int classes;
    const char *paths[MAX_FILES];
    if (!PyArg_ParseTuple(arguments, "O!i", &PyTuple_Type, &tuple, &classes))
        return NULL;
    PyObject *owned = PyList_New(0);
    int count = owned ? paths_from(tuple, owned, paths) : -1;
    if (count < 0) {
        Py_XDECREF(owned);
        return NULL;
    }
    hk_source at = py_source();
    py_gil_release();
    hk_data_set *made = hk_data_set_of_cifar_at(at, paths, count, classes);
    py_gil_take();
    Py_DECREF(owned);
    return py_data_set_wrap(made);
}

/* _data_set_images(folder, channels, height, width) */
static PyObject *of_images(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *folder;
    long long height, width;
    hk_image_folder_options options = {0};
    if (!PyArg_ParseTuple(arguments, "O&iLL", PyUnicode_FSConverter, &folder, &options.channels,
                          &height, &width))
        return NULL;
    options.height = height;
    options.width = width;
    hk_source at = py_source();
    py_gil_release();
    hk_data_set *made = hk_data_set_of_images_at(at, PyBytes_AsString(folder), &options);
    py_gil_take();
    Py_DECREF(folder);
    return py_data_set_wrap(made);
}

/* ---- transforms ------------------------------------------------------------------------------------------------- */

static bool channels_from(PyObject *tuple, float values[HK_TRANSFORM_MOST_CHANNELS])
{
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count > HK_TRANSFORM_MOST_CHANNELS) {
        PyErr_Format(PyExc_ValueError, "%zd channels are more than %d", count,
                     HK_TRANSFORM_MOST_CHANNELS);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        values[i] = (float)PyFloat_AsDouble(PyTuple_GetItem(tuple, i));
    return !PyErr_Occurred();
}

/* (kind, height, width, padding, probability, mean, std, brightness, contrast, saturation) */
static bool transform_from(PyObject *tuple, hk_transform *transform)
{
    int kind;
    long long height, width, padding;
    PyObject *mean, *std;
    if (!PyArg_ParseTuple(tuple, "iLLLdO!O!ddd", &kind, &height, &width, &padding,
                          &transform->probability, &PyTuple_Type, &mean, &PyTuple_Type, &std,
                          &transform->brightness, &transform->contrast, &transform->saturation))
        return false;
    transform->kind = (hk_transform_kind)kind;
    transform->height = height;
    transform->width = width;
    transform->padding = padding;
    return channels_from(mean, transform->mean) && channels_from(std, transform->std);
}

/* _data_set_transform(set, [tuple, …]) */
static PyObject *transformed(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *set, *list;
    hk_transform transforms[MAX_TRANSFORMS] = {0};
    if (!PyArg_ParseTuple(arguments, "OO!", &set, &PyList_Type, &list))
        return NULL;
    hk_data_set *of = py_data_set_get(set);
    Py_ssize_t count = PyList_Size(list);
    if (of && count > MAX_TRANSFORMS)
        PyErr_Format(PyExc_ValueError, "%zd transforms are more than %d", count, MAX_TRANSFORMS);
    for (Py_ssize_t i = 0; of && !PyErr_Occurred() && i < count; i++)
        transform_from(PyList_GetItem(list, i), &transforms[i]);
    if (PyErr_Occurred())
        return NULL;
    return py_data_set_wrap(hk_data_set_transform_at(py_source(), of, transforms, (int)count));
}

static PyMethodDef functions[] = {
    {"_data_set_arrays", of_arrays, METH_O, NULL},
    {"_csv_load", csv_load, METH_VARARGS, NULL},
    {"_data_set_csv", of_csv, METH_VARARGS, NULL},
    {"_data_set_cifar", of_cifar, METH_VARARGS, NULL},
    {"_data_set_images", of_images, METH_VARARGS, NULL},
    {"_data_set_transform", transformed, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_sets_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
