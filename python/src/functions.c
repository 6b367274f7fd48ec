/* Gradients as arrays, and functions with gradients of their own: hocket/autograd.h. */
#include "training.h"

#include <stdlib.h>
#include <string.h>

/* ---- exceptions of callbacks ------------------------------------------------------------------------------------- */

/* What the first callback of a pass raised, until the pass has returned. */
static _Thread_local struct {
    PyObject *type, *value, *traceback;
} raised;

static void keep_exception(void)
{
    if (!raised.type) {
        PyErr_Fetch(&raised.type, &raised.value, &raised.traceback);
        return;
    }
    PyErr_Clear();
}

void py_callbacks_end(void)
{
    if (!raised.type)
        return;
    PyErr_Restore(raised.type, raised.value, raised.traceback);
    memset(&raised, 0, sizeof raised);
}

/* ---- gradients as arrays ------------------------------------------------------------------------------------------ */

/* Gradients of the ys, of a sequence of Arrays and None, or None: NULL where there are none. Raises. */
static bool dys_from(PyObject *sequence, int count, hk_array **dys)
{
    for (int i = 0; i < count; i++) {
        PyObject *dy = PySequence_GetItem(sequence, i);
        Py_XDECREF(dy); /* the sequence keeps it */
        dys[i] = !dy || dy == Py_None ? NULL : py_array_get(dy, "a gradient to begin with");
        if (PyErr_Occurred())
            return false;
    }
    return true;
}

static PyObject *gradients_of(const py_arrays *ys, const py_arrays *xs,
                              const hk_gradients_options *options)
{
    hk_array **gradients = malloc(((size_t)xs->count + 1) * sizeof *gradients);
    if (!gradients)
        return PyErr_NoMemory();
    const hk_status *status = hk_gradients_at(py_source(), ys->handles, ys->count, xs->handles,
                                              xs->count, options, gradients);
    py_callbacks_end();
    py_check(status);
    PyObject *list = NULL;
    if (PyErr_Occurred())
        for (int i = 0; i < xs->count; i++)
            hk_array_release(gradients[i]);
    else
        list = py_arrays_list(gradients, xs->count);
    free(gradients);
    return list;
}

/* _gradients(ys, xs, dys or None, keep, create_graph): a list. */
static PyObject *gradients(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of, *by, *from;
    int keep, create_graph;
    py_arrays ys, xs;
    if (!PyArg_ParseTuple(arguments, "OOOpp", &of, &by, &from, &keep, &create_graph) ||
        !py_arrays_from(of, "what is differentiated", &ys))
        return NULL;
    PyObject *list = NULL;
    hk_array **dys = calloc((size_t)ys.count + 1, sizeof *dys);
    if (!dys)
        PyErr_NoMemory();
    else if ((from == Py_None || dys_from(from, ys.count, dys)) &&
             py_arrays_from(by, "what is differentiated by", &xs)) {
        const hk_gradients_options options = {
            .dys = from == Py_None ? NULL : dys, .keep = keep, .create_graph = create_graph};
        list = gradients_of(&ys, &xs, &options);
        py_arrays_release(&xs);
    }
    free(dys);
    py_arrays_release(&ys);
    return list;
}

/* _jvp(ys, xs, tangents): a list of products. */
static PyObject *jvp(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of, *by, *along, *list = NULL;
    py_arrays ys = {0}, xs = {0}, tangents = {0};
    hk_array **products = NULL;
    if (PyArg_ParseTuple(arguments, "OOO", &of, &by, &along) &&
        py_arrays_from(of, "what is differentiated", &ys) &&
        py_arrays_from(by, "what is differentiated by", &xs) &&
        py_arrays_from(along, "a tangent", &tangents)) {
        products = calloc((size_t)ys.count + 1, sizeof *products);
        if (!products)
            PyErr_NoMemory();
        else if (tangents.count != xs.count)
            PyErr_Format(PyExc_ValueError, "there are %d tangents for %d arrays", tangents.count,
                         xs.count);
    }
    if (!PyErr_Occurred()) {
        const hk_status *status = hk_jvp_at(py_source(), ys.handles, ys.count, xs.handles, xs.count,
                                            tangents.handles, products);
        py_callbacks_end();
        py_check(status);
        if (PyErr_Occurred())
            for (int i = 0; i < ys.count; i++)
                hk_array_release(products[i]);
        else
            list = py_arrays_list(products, ys.count);
    }
    free(products);
    py_arrays_release(&ys);
    py_arrays_release(&xs);
    py_arrays_release(&tangents);
    return list;
}

/* _backward(ys, dys or None, keep): one pass for the sum of all. */
static PyObject *backward(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of, *from;
    int keep;
    py_arrays ys;
    if (!PyArg_ParseTuple(arguments, "OOp", &of, &from, &keep) ||
        !py_arrays_from(of, "a loss", &ys))
        return NULL;
    hk_array **dys = calloc((size_t)ys.count + 1, sizeof *dys);
    if (!dys)
        PyErr_NoMemory();
    else if (from == Py_None || dys_from(from, ys.count, dys)) {
        const hk_backward_options options = {.dys = from == Py_None ? NULL : dys, .keep = keep};
        const hk_status *status = hk_backward_with_at(py_source(), ys.handles, ys.count, &options);
        py_callbacks_end();
        if (py_check(status))
            py_settle_unnamed();
    }
    free(dys);
    py_arrays_release(&ys);
    if (PyErr_Occurred() || py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

/* ---- functions with gradients of their own -------------------------------------------------------------------------- */

/* A tuple of Arrays; None where there is no handle. NULL and raises. */
static PyObject *tuple_of(hk_array *const *handles, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *entry =
            handles[i] ? py_wrap_counted(hk_array_retain(handles[i])) : Py_NewRef(Py_None);
        if (!entry || PyTuple_SetItem(tuple, i, entry) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* What the callback gave: a sequence with an Array or None for each input. */
static bool take_gradients(hk_function_call *call, PyObject *given)
{
    PyObject *items = PySequence_Tuple(given);
    if (!items)
        return false;
    if (PyTuple_Size(items) != call->input_count)
        PyErr_Format(PyExc_ValueError, "the gradient of a function gave %zd arrays for %d inputs",
                     PyTuple_Size(items), call->input_count);
    for (int i = 0; !PyErr_Occurred() && i < call->input_count; i++) {
        PyObject *entry = PyTuple_GetItem(items, i);
        hk_array *dx = entry == Py_None ? NULL : py_array_get(entry, "a gradient");
        if (dx && call->wanted[i])
            call->dxs[i] = hk_array_retain(dx);
    }
    Py_DECREF(items);
    return !PyErr_Occurred();
}

static void run_backward(hk_function_call *call)
{
    PyObject *dys = tuple_of(call->dys, call->output_count);
    PyObject *inputs = dys ? tuple_of(call->inputs, call->input_count) : NULL;
    PyObject *outputs = inputs ? tuple_of(call->outputs, call->output_count) : NULL;
    PyObject *given =
        outputs ? PyObject_CallFunctionObjArgs(call->context, dys, inputs, outputs, NULL) : NULL;
    if (given)
        take_gradients(call, given);
    Py_XDECREF(given);
    Py_XDECREF(outputs);
    Py_XDECREF(inputs);
    Py_XDECREF(dys);
}

/* Of a pass that this thread runs, whether or not it holds the GIL. */
static void call_backward(hk_function_call *call)
{
    PyGILState_STATE state = PyGILState_Ensure();
    size_t scopes = hk_scopes_suspend();
    if (!PyErr_Occurred()) /* else an interrupt amid the pass */
        run_backward(call);
    hk_scopes_resume(scopes);
    if (PyErr_Occurred()) {
        strcpy(call->error, "its gradient raised an exception");
        keep_exception();
    }
    PyGILState_Release(state);
}

static void release_context(void *context)
{
    py_release_anyhow(context);
}

/* Takes a count of each output that is to be put on the tape; gives those that stand there. */
static PyObject *on_tape(const py_arrays *inputs, const py_arrays *outputs,
                         const hk_function_options *options)
{
    hk_array **handles = malloc(((size_t)outputs->count + 1) * sizeof *handles);
    if (!handles) {
        options->release(options->context);
        return PyErr_NoMemory();
    }
    memcpy(handles, outputs->handles, (size_t)outputs->count * sizeof *handles);
    hk_function_at(py_source(), inputs->handles, inputs->count, handles, outputs->count, options);
    for (int i = 0; i < outputs->count; i++)
        if (handles[i] == outputs->handles[i])
            hk_array_retain(handles[i]); /* as it was */
    PyObject *list = py_arrays_list(handles, outputs->count);
    free(handles);
    return list;
}

/* _function(inputs, outputs, backward, reads_inputs, reads_outputs): the outputs, on the tape. backward(dys, inputs, outputs) gives a
 * sequence with the gradient of each input, or None. */
static PyObject *function(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of, *gave, *callback, *list = NULL;
    int reads_inputs, reads_outputs;
    py_arrays inputs, outputs;
    if (!PyArg_ParseTuple(arguments, "OOOpp", &of, &gave, &callback, &reads_inputs,
                          &reads_outputs) ||
        !py_arrays_from(of, "an input", &inputs))
        return NULL;
    if (py_arrays_from(gave, "a result", &outputs)) {
        const hk_function_options options = {.backward = call_backward,
                                             .context = Py_NewRef(callback),
                                             .release = release_context,
                                             .reads_inputs = reads_inputs ? UINT64_MAX : 0,
                                             .reads_outputs = reads_outputs ? UINT64_MAX : 0};
        list = on_tape(&inputs, &outputs, &options);
        py_arrays_release(&outputs);
    }
    py_arrays_release(&inputs);
    return list;
}

static PyMethodDef functions[] = {
    {"_gradients", gradients, METH_VARARGS, NULL},
    {"_jvp", jvp, METH_VARARGS, NULL},
    {"_backward", backward, METH_VARARGS, NULL},
    {"_function", function, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_functions_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
