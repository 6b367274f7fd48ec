#include "training.h"

#include <stdlib.h>

PyObject *py_counted_new(PyTypeObject *type, void *handle)
{
    py_counted *self = PyObject_New(py_counted, type);
    if (self)
        self->handle = handle;
    return (PyObject *)self;
}

void py_counted_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyTypeObject *py_counted_type(PyObject *module, const char *name, const char *text,
                              PyMethodDef *methods, destructor free)
{
    PyType_Slot slots[] = {
        {Py_tp_dealloc, free}, {Py_tp_doc, (void *)text}, {Py_tp_methods, methods}, {0, NULL}};
    PyType_Spec spec = {.name = name,
                        .basicsize = sizeof(py_counted),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return type && PyModule_AddType(module, type) == 0 ? type : NULL;
}

/* ---- lists of arrays ---------------------------------------------------------------------------------------- */

void py_arrays_release(py_arrays *arrays)
{
    free(arrays->handles);
    Py_CLEAR(arrays->items);
}

bool py_arrays_from(PyObject *sequence, const char *argument, py_arrays *arrays)
{
    *arrays =
        (py_arrays){.items = sequence == Py_None ? PyTuple_New(0) : PySequence_Tuple(sequence)};
    if (!arrays->items)
        return false;
    arrays->count = (int)PyTuple_Size(arrays->items);
    arrays->handles = malloc(((size_t)arrays->count + 1) * sizeof *arrays->handles);
    if (!arrays->handles)
        PyErr_NoMemory();
    for (int i = 0; arrays->handles && i < arrays->count; i++) {
        arrays->handles[i] = py_array_get(PyTuple_GetItem(arrays->items, i), argument);
        if (!arrays->handles[i])
            break;
    }
    if (!PyErr_Occurred())
        return true;
    py_arrays_release(arrays);
    return false;
}

PyObject *py_arrays_list(hk_array *const *handles, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; i < count; i++) {
        if (!list) {
            hk_array_release(handles[i]);
            continue;
        }
        PyObject *array = py_wrap(handles[i]);
        if (!array || PyList_SetItem(list, i, array) < 0)
            Py_CLEAR(list);
    }
    return list;
}

int py_devices_from(PyObject *sequence, hk_device *devices, int capacity)
{
    PyObject *items = PySequence_Tuple(sequence);
    Py_ssize_t count = items ? PyTuple_Size(items) : -1;
    if (count > capacity) {
        PyErr_Format(PyExc_ValueError, "%zd devices are more than %d", count, capacity);
        count = -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!py_device_from(PyTuple_GetItem(items, i), &devices[i]))
            count = -1;
    Py_XDECREF(items);
    return (int)count;
}

/* ---- the module --------------------------------------------------------------------------------------------------- */

bool py_training_init(PyObject *module)
{
    return py_autograd_init(module) && py_functions_init(module) && py_random_init(module) &&
           py_layers_init(module) && py_optimizer_init(module) && py_averages_init(module) &&
           py_loader_init(module) && py_sets_init(module) && py_text_init(module) &&
           py_capture_init(module) && py_files_init(module) && py_runs_init(module) &&
           py_ranks_init(module) && py_models_init(module) && py_tokenizers_init(module) &&
           py_generation_init(module) && py_tasks_init(module) && py_promises_init(module);
}
