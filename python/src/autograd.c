/* Recording, attached gradients, backward passes: hocket/autograd.h. */
#include "training.h"

#include <string.h>

/* ---- recording ------------------------------------------------------------------------------------------------ */

/* _recording(on): whether this thread was recording. Leaving a block is the same call with what it was. */
static PyObject *recording(PyObject *self, PyObject *on)
{
    (void)self;
    int truth = PyObject_IsTrue(on);
    return truth < 0 ? NULL : PyBool_FromLong(hk_record_scope_begin(truth > 0).before);
}

static PyObject *is_recording(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(hk_is_recording());
}

/* ---- attaching ------------------------------------------------------------------------------------------------- */

static bool mode_from(const char *name, hk_grad_mode *mode)
{
    static const char *const names[] = {[HK_GRAD_WRITE] = "write",
                                        [HK_GRAD_ADD] = "add",
                                        [HK_GRAD_NULL] = "null",
                                        [HK_GRAD_TRACK] = "track"};
    for (int i = HK_GRAD_WRITE; i <= HK_GRAD_TRACK; i++)
        if (strcmp(name, names[i]) == 0) {
            *mode = (hk_grad_mode)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "mode is '%s'; there are 'write', 'add', 'track' and 'null'",
                 name);
    return false;
}

/* What could not be attached is told here, and the array wants no gradient then. */
static bool attached(hk_array *x)
{
    const hk_status *status = hk_error_now(hk_grad(x));
    if (hk_ok(status))
        return true;
    py_raise(status);
    hk_attach_grad(x, HK_GRAD_NULL);
    return false;
}

static PyObject *attach_grad(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"mode", NULL};
    const char *name = "write";
    hk_grad_mode mode;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|s:attach_grad", names, &name) ||
        !mode_from(name, &mode))
        return NULL;
    hk_array *x = py_handle(self);
    hk_attach_grad_at(py_source(), x, mode);
    if (mode <= HK_GRAD_ADD && !attached(x))
        return NULL;
    return Py_NewRef(self);
}

static PyObject *get_grad(PyObject *self, void *unused)
{
    (void)unused;
    hk_array *x = py_handle(self);
    if (!hk_has_grad(x))
        Py_RETURN_NONE;
    return py_wrap(hk_array_retain(hk_grad_at(py_source(), x)));
}

static PyObject *has_grad(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(hk_has_grad(py_handle(self)));
}

/* Several Arrays may be of one handle: a number that they have in common while one of them lives. */
static PyObject *identity(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(py_handle(self));
}

static PyObject *wants_grad(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(hk_wants_grad(py_handle(self)));
}

static PyObject *detach(PyObject *self, PyObject *unused)
{
    (void)unused;
    return py_wrap(hk_detach_at(py_source(), py_handle(self)));
}

/* ---- backward --------------------------------------------------------------------------------------------------- */

static PyObject *array_backward(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"dy", "keep", NULL};
    PyObject *given = Py_None;
    int keep = false;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|Op:backward", names, &given, &keep))
        return NULL;
    hk_array *y = py_handle(self), *dy = given == Py_None ? NULL : py_operand(given, y);
    if (!dy && given != Py_None)
        return NULL;
    const hk_backward_options options = {.dys = dy ? &dy : NULL, .keep = keep};
    const hk_status *status = hk_backward_with_at(py_source(), &y, 1, &options);
    py_callbacks_end();
    bool good = py_check(status);
    hk_array_release(dy);
    py_settle_unnamed();
    if (!good || py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

/* ---- the module ---------------------------------------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"_recording", recording, METH_O, NULL},
    {"is_recording", is_recording, METH_NOARGS,
     "is_recording()\n--\n\nWhether calls of this thread are noted for gradients."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods[] = {
    {"attach_grad", (PyCFunction)(void (*)(void))attach_grad, METH_VARARGS | METH_KEYWORDS,
     "attach_grad($self, /, mode='write')\n--\n\nWants the gradient of this array of floats, zeros "
     "at first. "
     "mode: 'write', each "
     "backward pass that reaches it overwrites its gradient; 'add', each adds to it; 'track', the "
     "array is recorded for "
     "hk.gradients, without a gradient of its own; 'null', ends the attachment. Returns the "
     "array."},
    {"detach", detach, METH_NOARGS,
     "detach($self, /)\n--\n\nA view that no gradient flows through."},
    {"backward", (PyCFunction)(void (*)(void))array_backward, METH_VARARGS | METH_KEYWORDS,
     "backward($self, /, dy=None, keep=False)\n--\n\nComputes the gradients of the sum of this "
     "array, or "
     "with "
     "dy of the sum of dy "
     "times it, for every attached array that it was computed from. keep: the tape stays, for a "
     "further pass over it. Does "
     "not wait."},
    {"_has_grad", has_grad, METH_NOARGS, NULL},
    {"_identity", identity, METH_NOARGS, NULL},
    {"_wants_grad", wants_grad, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef grad_attribute = {"grad", get_grad, NULL,
                                     "its gradient, while one is attached; else None", NULL};

bool py_autograd_init(PyObject *module)
{
    for (PyMethodDef *of = methods; of->ml_name; of++) {
        PyObject *method = PyDescr_NewMethod(py_array_type, of);
        if (!method || PyObject_SetAttrString((PyObject *)py_array_type, of->ml_name, method) < 0)
            return false;
        Py_DECREF(method);
    }
    PyObject *grad = PyDescr_NewGetSet(py_array_type, &grad_attribute);
    if (!grad || PyObject_SetAttrString((PyObject *)py_array_type, "grad", grad) < 0)
        return false;
    Py_DECREF(grad);
    return PyModule_AddFunctions(module, functions) == 0;
}
