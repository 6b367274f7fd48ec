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
                              hk_file_format format, bool waits)
{
    size_t count = 0, texts = 0;
    hk_save_entry *entries = arrays_of(arrays, &count);
    hk_metadata_entry *about = entries ? metadata_of(metadata, &texts) : NULL;
    bool good = false;
    hk_array *saved = NULL;
    if (about) {
        const hk_save_options options = {
            .format = format, .compress = compress, .metadata = about, .metadata_count = texts};
        hk_source at = py_source();
        py_gil_release();
        const hk_status *status = NULL;
        if (waits)
            status = hk_save_at(at, path, entries, count, &options);
        else
            saved = hk_save_async_at(at, path, entries, count, &options);
        py_gil_take();
        good = saved || py_check(status);
    }
    free(about);
    free(entries);
    if (saved)
        return py_wrap(saved);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

/* _save(path, {name: Array}, {text: text}, compress, hk_file_format, waits) */
static PyObject *save(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *path, *arrays, *metadata;
    int compress, format, waits;
    if (!PyArg_ParseTuple(arguments, "O&O!O!pip", PyUnicode_FSConverter, &path, &PyDict_Type,
                          &arrays, &PyDict_Type, &metadata, &compress, &format, &waits))
        return NULL;
    PyObject *own_arrays = PyDict_Copy(arrays), *own_metadata = PyDict_Copy(metadata);
    PyObject *result = own_arrays && own_metadata
                           ? save_entries(PyBytes_AsString(path), own_arrays, own_metadata,
                                          compress, (hk_file_format)format, waits)
                           : NULL;
    Py_XDECREF(own_arrays);
    Py_XDECREF(own_metadata);
    Py_DECREF(path);
    return result;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static PyObject *archive_facts(PyObject *self, PyObject *unused);
static PyObject *archive_structure(PyObject *self, PyObject *unused);
static PyObject *archive_get(PyObject *self, PyObject *name);
static PyObject *archive_get_async(PyObject *self, PyObject *name);
static PyMethodDef archive_methods[] = {
    {"facts", archive_facts, METH_NOARGS, NULL},
    {"structure", archive_structure, METH_NOARGS, NULL},
    {"get", archive_get, METH_O, NULL},
    {"get_async", archive_get_async, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(archive, hk_archive, "hocket._core.Archive", "An open file of arrays.", archive_methods,
           hk_archive_release)

static PyObject *all_names(const hk_archive *archive)
{
    const size_t count = hk_archive_count(archive);
    PyObject *names = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; names && i < count; i++) {
        PyObject *name = py_text(hk_archive_name(archive, i));
        if (!name || PyList_SetItem(names, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(names);
    }
    return names;
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

/* ([name], {text: text}) */
static PyObject *archive_facts(PyObject *self, PyObject *unused)
{
    (void)unused;
    const hk_archive *of = archive_handle(self);
    return Py_BuildValue("NN", all_names(of), all_metadata(of));
}

/* JSON, or None. */
static PyObject *archive_structure(PyObject *self, PyObject *unused)
{
    (void)unused;
    const char *text = hk_archive_structure(archive_handle(self));
    if (text)
        return py_text(text);
    Py_RETURN_NONE;
}

static PyObject *archive_get(PyObject *self, PyObject *text)
{
    const hk_archive *of = archive_handle(self);
    const char *name = py_chars(text, "the name of an array");
    if (!name)
        return NULL;
    hk_source at = py_source();
    py_gil_release();
    hk_array *x = hk_archive_get_at(at, of, *name ? name : NULL); /* of an npy file "" */
    py_gil_take();
    return py_wrap(x);
}

static PyObject *archive_get_async(PyObject *self, PyObject *text)
{
    const char *name = py_chars(text, "the name of an array");
    if (!name)
        return NULL;
    return py_wrap(hk_archive_get_async_at(py_source(), archive_handle(self), *name ? name : NULL));
}

/* _open_archive(path, device, map, hk_file_format) */
static PyObject *open_archive(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *path, *where;
    int map, format;
    hk_device device;
    hk_archive *made = NULL;
    if (!PyArg_ParseTuple(arguments, "O&Opi", PyUnicode_FSConverter, &path, &where, &map, &format))
        return NULL;
    if (py_device_from(where, &device)) {
        hk_source at = py_source();
        py_gil_release();
        made = hk_load_at(at, PyBytes_AsString(path), device,
                          &(hk_load_options){.format = (hk_file_format)format, .map = map});
        py_gil_take();
    }
    Py_DECREF(path);
    if (made && py_check(hk_archive_status(made)))
        return archive_of(made);
    hk_archive_release(made);
    return NULL;
}

static PyMethodDef functions[] = {
    {"_save", save, METH_VARARGS, NULL},
    {"_open_archive", open_archive, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_files_init(PyObject *module)
{
    return archive_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
