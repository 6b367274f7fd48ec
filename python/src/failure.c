/* From records of failures to exceptions, which hocket/errors.py makes. */
#include "core.h"

static PyObject *raise_function;

PyObject *py_set_raise(PyObject *self, PyObject *function)
{
    (void)self;
    PY_REPLACE(raise_function, Py_NewRef(function));
    Py_RETURN_NONE;
}

PyObject *py_raise(const hk_status *status)
{
    if (PyErr_Occurred())
        return NULL;
    /* The function may call Hocket, and so end the loan of the record. */
    hk_status_retain(status);
    PyObject *result = PyObject_CallFunction(
        raise_function, "sNNNNiNK", hk_code_name(hk_status_code(status)),
        py_text(hk_status_message(status)), py_text(hk_status_operation(status)),
        py_text(hk_status_device(status)), py_text(hk_status_inputs(status)),
        hk_status_line(status), PyUnicode_DecodeFSDefault(hk_status_file(status)),
        (unsigned long long)hk_status_count(status));
    hk_status_release(status);
    Py_XDECREF(result);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_SystemError, "hocket: a failure raised nothing");
    return NULL;
}

void py_raise_failed(hk_array *x)
{
    const hk_status *status = hk_error_now(x);
    py_raise(hk_ok(status) ? hk_wait(x) : status);
}

bool py_check(const hk_status *status)
{
    if (hk_ok(status))
        return true;
    py_raise(status);
    return false;
}
