/* Files of named arrays: hocket/io.h. */
#include "training.h"

#include <stdlib.h>

/* ---- saving ---------------------------------------------------------------------------------------------------- */

/* What a dict of texts has, as pairs; the texts live as long as the dict is not changed. The caller frees them. NULL and raises. */
static hk_metadata_entry *metadata_of(PyObject *dict, size_t *count)
{
    *count = (size_t)PyDict_Size(dict);
    hk_metadata_entry *entries = malloc((*count + 1) * sizeof *entries);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!entries)
        return PyErr_NoMemory(), NULL;
    for (size_t i = 0; PyDict_Next(dict, &at, &key, &value) && i < *count; i++) {
        entries[i].key = py_chars(key, "a key of metadata");
        entries[i].value = entries[i].key ? py_chars(value, "a text of metadata") : NULL;
        if (!entries[i].value) {
            free(entries);
            return NULL;
        }
    }
    return entries;
}

/* The same with arrays for values. */
static hk_save_entry *arrays_of(PyObject *dict, size_t *count)
{
    *count = (size_t)PyDict_Size(dict);
    hk_save_entry *entries = malloc((*count + 1) * sizeof *entries);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!entries)
        return PyErr_NoMemory(), NULL;
    for (size_t i = 0; PyDict_Next(dict, &at, &key, &value) && i < *count; i++) {
        entries[i].name = py_chars(key, "the name of an array");
        entries[i].array = entries[i].name ? py_array_get(value, "what is saved") : NULL;
        if (!entries[i].array) {
            free(entries);
            return NULL;
        }
    }
    return entries;
}

/* The GIL is let go, so the dicts are copies of the program's. */
static PyObject *save_entries(const char *path, PyObject *arrays, PyObject *metadata, bool compress,
                              hk_file_format format)
{
    size_t count = 0, texts = 0;
    hk_save_entry *entries = arrays_of(arrays, &count);
    hk_metadata_entry *about = entries ? metadata_of(metadata, &texts) : NULL;
    bool good = false;
    if (about) {
        const hk_save_options options = {
            .format = format, .compress = compress, .metadata = about, .metadata_count = texts};
        hk_source at = py_source();
        py_gil_release();
        const hk_status *status = hk_save_at(at, path, entries, count, &options);
        py_gil_take();
        good = py_check(status);
    }
    free(about);
    free(entries);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

/* _save(path, {name: Array}, {text: text}, compress, hk_file_format) */
static PyObject *save(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *path, *arrays, *metadata;
    int compress, format;
    if (!PyArg_ParseTuple(arguments, "O&O!O!pi", PyUnicode_FSConverter, &path, &PyDict_Type,
                          &arrays, &PyDict_Type, &metadata, &compress, &format))
        return NULL;
    PyObject *own_arrays = PyDict_Copy(arrays), *own_metadata = PyDict_Copy(metadata);
    PyObject *result = own_arrays && own_metadata
                           ? save_entries(PyBytes_AsString(path), own_arrays, own_metadata,
                                          compress, (hk_file_format)format)
                           : NULL;
    Py_XDECREF(own_arrays);
    Py_XDECREF(own_metadata);
    Py_DECREF(path);
    return result;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static PyObject *all_arrays(const hk_archive *archive)
{
    PyObject *arrays = PyDict_New();
    size_t count = hk_archive_count(archive);
    for (size_t i = 0; arrays && i < count; i++) {
        const char *name = hk_archive_name(archive, i);
        hk_source at = py_source();
        py_gil_release();
        hk_array *x = hk_archive_get_at(at, archive, count == 1 ? NULL : name);
        py_gil_take();
        PyObject *array = py_wrap(x);
        if (!array || PyDict_SetItemString(arrays, name, array) < 0)
            Py_CLEAR(arrays);
        Py_XDECREF(array);
    }
    return arrays;
}

static PyObject *all_metadata(const hk_archive *archive)
{
    PyObject *metadata = PyDict_New();
    size_t count = hk_archive_metadata_count(archive);
    for (size_t i = 0; metadata && i < count; i++) {
        const char *key = hk_archive_metadata_key(archive, i);
        PyObject *text = py_text(hk_archive_metadata(archive, key));
        if (!text || PyDict_SetItemString(metadata, key, text) < 0)
            Py_CLEAR(metadata);
        Py_XDECREF(text);
    }
    return metadata;
}

/* _load(path, device, copy, hk_file_format): ({name: Array}, {text: text}) */
static PyObject *load(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *path, *where, *result = NULL;
    int copy, format;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "O&Opi", PyUnicode_FSConverter, &path, &where, &copy, &format))
        return NULL;
    if (py_device_from(where, &device)) {
        hk_source at = py_source();
        py_gil_release();
        hk_archive *archive =
            hk_load_at(at, PyBytes_AsString(path), device,
                       &(hk_load_options){.format = (hk_file_format)format, .copy = copy});
        py_gil_take();
        PyObject *arrays = py_check(hk_archive_status(archive)) ? all_arrays(archive) : NULL;
        PyObject *metadata = arrays ? all_metadata(archive) : NULL;
        if (metadata)
            result = PyTuple_Pack(2, arrays, metadata);
        Py_XDECREF(arrays);
        Py_XDECREF(metadata);
        hk_archive_release(archive);
    }
    Py_DECREF(path);
    return result;
}

static PyMethodDef functions[] = {
    {"_save", save, METH_VARARGS, NULL},
    {"_load", load, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_files_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
