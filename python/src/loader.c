/* Data sets and loaders: hocket/data.h. */
#include "training.h"

#include <stdlib.h>

/* ---- data sets ----------------------------------------------------------------------------------------------- */

static PyObject *set_facts(PyObject *self, PyObject *unused);
static PyMethodDef set_methods[] = {
    {"facts", set_facts, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(set, hk_data_set, "hocket._core.DataSet", "Samples in host memory.", set_methods,
           hk_data_set_release)

PyObject *py_data_set_wrap(hk_data_set *made)
{
    if (py_check(hk_data_set_status(made)))
        return set_of(made);
    hk_data_set_release(made);
    return NULL;
}

hk_data_set *py_data_set_get(PyObject *object)
{
    if (Py_TYPE(object) == set_type)
        return set_handle(object);
    PyErr_Format(PyExc_TypeError, "%R is no data set", object);
    return NULL;
}

/* _data_set_open(folder or None, is_test, class_count, byte_limit) */
static PyObject *open_set(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *given, *folder = NULL;
    int is_test, class_count;
    unsigned long long byte_limit;
    if (!PyArg_ParseTuple(arguments, "OpiK", &given, &is_test, &class_count, &byte_limit) ||
        (given != Py_None && !PyUnicode_FSConverter(given, &folder)))
        return NULL;
    hk_source at = py_source();
    py_gil_release();
    hk_data_set *made = hk_data_set_open_at(
        at, folder ? PyBytes_AsString(folder) : NULL, is_test ? HK_DATA_TEST : HK_DATA_TRAIN,
        &(hk_data_set_options){.class_count = class_count, .byte_limit = byte_limit});
    py_gil_take();
    Py_XDECREF(folder);
    return py_data_set_wrap(made);
}

static PyObject *field_facts(const hk_data_set *of, int field)
{
    hk_dims shape = hk_data_set_field_shape(of, field);
    PyObject *sizes = py_dims_object(&shape);
    PyObject *dtype = py_dtype_object(hk_data_set_field_dtype(of, field));
    return Py_BuildValue("(NN)", sizes, dtype);
}

/* (size, classes, folder, [(shape, dtype), …]) */
static PyObject *set_facts(PyObject *self, PyObject *unused)
{
    (void)unused;
    const hk_data_set *of = set_handle(self);
    int count = hk_data_set_field_count(of);
    PyObject *fields = PyList_New(count);
    for (int i = 0; fields && i < count; i++) {
        PyObject *facts = field_facts(of, i);
        if (!facts || PyList_SetItem(fields, i, facts) < 0)
            Py_CLEAR(fields);
    }
    return Py_BuildValue("LiNN", (long long)hk_data_set_size(of), hk_data_set_class_count(of),
                         PyUnicode_DecodeFSDefault(hk_data_set_folder(of)), fields);
}

/* ---- loaders --------------------------------------------------------------------------------------------------- */

static PyObject *loader_next(PyObject *self, PyObject *fields);
static PyObject *loader_start(PyObject *self, PyObject *epoch);
static PyObject *loader_facts(PyObject *self, PyObject *unused);
static PyObject *loader_samples(PyObject *self, PyObject *unused);
static PyObject *loader_order(PyObject *self, PyObject *size);
static PyObject *loader_position(PyObject *self, PyObject *unused);
static PyObject *loader_seek(PyObject *self, PyObject *position);
static PyMethodDef loader_methods[] = {
    {"next", loader_next, METH_O, NULL},        {"start_epoch", loader_start, METH_O, NULL},
    {"facts", loader_facts, METH_NOARGS, NULL}, {"samples", loader_samples, METH_NOARGS, NULL},
    {"order", loader_order, METH_O, NULL},      {"position", loader_position, METH_NOARGS, NULL},
    {"seek", loader_seek, METH_O, NULL},        {NULL, NULL, 0, NULL},
};
PY_COUNTED(loader, hk_loader, "hocket._core.Loader", "Gives batches of a data set.", loader_methods,
           hk_loader_release)

/* Shares of the devices, of a sequence of `count` ints; the caller frees them. NULL and raises. */
static int64_t *shares_from(PyObject *sequence, int count)
{
    PyObject *items = PySequence_Tuple(sequence);
    int64_t *shares = malloc(((size_t)count + 1) * sizeof *shares);
    if (!shares)
        PyErr_NoMemory();
    else if (items && PyTuple_Size(items) != count)
        PyErr_Format(PyExc_ValueError, "there are %zd shares for %d slices", PyTuple_Size(items),
                     count);
    for (int i = 0; items && shares && !PyErr_Occurred() && i < count; i++)
        shares[i] = PyLong_AsLongLong(PyTuple_GetItem(items, i));
    Py_XDECREF(items);
    if (!PyErr_Occurred())
        return shares;
    free(shares);
    return NULL;
}

static PyObject *create_loader(hk_source at, PyObject *set, hk_loader_options *options,
                               PyObject *shares)
{
    int64_t *parts = shares == Py_None
                         ? NULL
                         : shares_from(shares, options->slice_count ? options->slice_count
                                                                    : options->device_count);
    if (!parts && shares != Py_None)
        return NULL;
    options->shares = parts;
    hk_loader *made = hk_loader_create_at(at, set_handle(set), options);
    free(parts);
    if (py_check(hk_loader_status(made)))
        return loader_of(made);
    hk_loader_release(made);
    return NULL;
}

/* _loader(set, batch, shuffle, drop_last, seed, ahead, devices or None, shares or None, slices, the
 * first one's number, whole_runs) */
static PyObject *make_loader(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *set, *on, *shares;
    long long batch;
    int shuffle, drop_last, ahead, slices, first_slice, whole_runs;
    unsigned long long seed;
    hk_device devices[PY_MAX_DEVICES];
    if (!PyArg_ParseTuple(arguments, "O!LppKiOOiip:Loader", set_type, &set, &batch, &shuffle,
                          &drop_last, &seed, &ahead, &on, &shares, &slices, &first_slice,
                          &whole_runs))
        return NULL;
    int count = on == Py_None ? 0 : py_devices_from(on, devices, PY_MAX_DEVICES);
    if (count < 0)
        return NULL;
    hk_loader_options options = {.batch_size = batch,
                                 .shuffle = shuffle,
                                 .drop_last = drop_last,
                                 .seed = seed,
                                 .ahead = ahead,
                                 .devices = count ? devices : NULL,
                                 .device_count = count,
                                 .slice_count = slices,
                                 .first_slice = first_slice,
                                 .whole_runs = whole_runs};
    return create_loader(py_source(), set, &options, shares);
}

/* next(fields): of each field a list with the array of each device; None at the end of the epoch. */
static PyObject *loader_next(PyObject *self, PyObject *fields)
{
    hk_loader *of = loader_handle(self);
    long count = PyLong_AsLong(fields);
    if (count == -1 && PyErr_Occurred())
        return NULL;
    int devices = hk_loader_device_count(of);
    hk_array *arrays[HK_DATA_MOST_FIELDS * PY_MAX_DEVICES];
    if (count < 0 || count > HK_DATA_MOST_FIELDS || devices > PY_MAX_DEVICES) {
        PyErr_SetString(PyExc_SystemError, "hocket: more fields or devices than there is room for");
        return NULL;
    }
    if (!hk_loader_next_fields_at(py_source(), of, arrays, (int)count))
        Py_RETURN_NONE;
    PyObject *list = PyList_New(count);
    for (int i = 0; i < count; i++) {
        PyObject *field = py_arrays_list(arrays + i * devices, devices);
        if (!field || !list || PyList_SetItem(list, i, field) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *loader_start(PyObject *self, PyObject *epoch)
{
    long long number = PyLong_AsLongLong(epoch);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    hk_loader_start_epoch_at(py_source(), loader_handle(self), number);
    if (py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

/* (batches in an epoch, devices) */
static PyObject *loader_facts(PyObject *self, PyObject *unused)
{
    (void)unused;
    const hk_loader *of = loader_handle(self);
    return Py_BuildValue("Li", (long long)hk_loader_batch_count(of), hk_loader_device_count(of));
}

static PyObject *loader_samples(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(hk_loader_batch_samples(loader_handle(self)));
}

/* order(size): of the samples, in the epoch that began last; None where they are not shuffled. */
static PyObject *loader_order(PyObject *self, PyObject *size)
{
    const int64_t *order = hk_loader_order(loader_handle(self));
    hk_dims shape = {.ndim = 1, .dims = {PyLong_AsLongLong(size)}};
    if (PyErr_Occurred())
        return NULL;
    if (!order)
        Py_RETURN_NONE;
    return py_wrap(hk_from_host_at(py_source(), order, shape, HK_I64, (hk_device){NULL}));
}

static PyObject *loader_position(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_loader_position at = hk_loader_get_position(loader_handle(self));
    return Py_BuildValue("{sLsLsKsLsLsOsO}", "epoch", (long long)at.epoch, "batch",
                         (long long)at.batch, "seed", (unsigned long long)at.seed, "sample_count",
                         (long long)at.sample_count, "batch_size", (long long)at.batch_size,
                         "shuffle", at.shuffle ? Py_True : Py_False, "drop_last",
                         at.drop_last ? Py_True : Py_False);
}

/* seek((epoch, batch, seed, sample_count, batch_size, shuffle, drop_last)) */
static PyObject *loader_seek(PyObject *self, PyObject *position)
{
    long long epoch, batch, samples, size;
    unsigned long long seed;
    int shuffle, drop_last;
    if (!PyArg_ParseTuple(position, "LLKLLpp:seek", &epoch, &batch, &seed, &samples, &size,
                          &shuffle, &drop_last))
        return NULL;
    const hk_loader_position at = {.epoch = epoch,
                                   .batch = batch,
                                   .seed = seed,
                                   .sample_count = samples,
                                   .batch_size = size,
                                   .shuffle = shuffle,
                                   .drop_last = drop_last};
    if (!py_check(hk_loader_seek_at(py_source(), loader_handle(self), at)))
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_data_set_open", open_set, METH_VARARGS, NULL},
    {"_loader", make_loader, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_loader_init(PyObject *module)
{
    return set_init(module) && loader_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
