/* hocket._core: what the package is built of. Names that begin with _ are the package's alone. */
#include "core.h"

static PyObject *wait_all(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (!py_check(hk_wait_all()))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *failures_clear(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    hk_failures_clear();
    Py_RETURN_NONE;
}

static PyObject *wait_device(PyObject *self, PyObject *name)
{
    (void)self;
    hk_device device;
    if (!py_device_from(name, &device))
        return NULL;
    if (!py_check(hk_wait_device(device.handle ? device : hk_device_default())))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *devices(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    int count = hk_device_count();
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *device = py_device_object(hk_device_at(i));
        if (!device || PyList_SetItem(list, i, device) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef functions[] = {
    {"_set_package_folder", py_set_package_folder, METH_O, NULL},
    {"_set_raise", py_set_raise, METH_O, NULL},
    {"_set_indexing", py_set_indexing, METH_VARARGS, NULL},
    {"_wait_all", wait_all, METH_NOARGS, NULL},
    {"_wait_device", wait_device, METH_O, NULL},
    {"_failures_clear", failures_clear, METH_NOARGS, NULL},
    {"devices", devices, METH_NOARGS, "devices()\n--\n\nThe devices of this process, as a list."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "hocket._core",
    .m_doc = "Arrays, operators and devices of Hocket, over its C library.",
    .m_size = -1,
    .m_methods = functions,
};

static bool add_operators(PyObject *module)
{
    PyObject *operators = py_operators_create();
    bool good = operators && PyModule_AddObjectRef(module, "operators", operators) == 0;
    Py_XDECREF(operators);
    return good;
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (!module)
        return NULL;
#ifdef Py_GIL_DISABLED
    /* Objects of this module are guarded by the GIL; waits and work go on without it, as in any Python. */
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_USED);
#endif
    if (PyModule_AddFunctions(module, py_convert_functions) < 0 ||
        PyModule_AddFunctions(module, py_sharing_functions) < 0 ||
        PyModule_AddFunctions(module, py_view_functions) < 0 ||
        PyModule_AddFunctions(module, py_choosing_functions) < 0 ||
        PyModule_AddFunctions(module, py_operators_functions) < 0 || !py_facts_init(module) ||
        !py_array_type_init(module) || !py_sharing_init(module) || !py_numbers_init() ||
        !py_waiting_init() || !add_operators(module) || !py_training_init(module))
        Py_CLEAR(module);
    return module;
}
