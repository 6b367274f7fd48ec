/* Captured steps: hocket/graph.h. Which call is which graph's is hocket/_capture.py. */
#include "training.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static PyObject *graph_replay(PyObject *self, PyObject *arguments);
static PyObject *graph_replay_if(PyObject *self, PyObject *bound);
static PyObject *graph_view_if(PyObject *self, PyObject *const *arguments, Py_ssize_t count);
static PyObject *graph_facts(PyObject *self, PyObject *unused);
static PyObject *graph_text(PyObject *self, PyObject *unused);
static PyMethodDef graph_methods[] = {
    {"replay", graph_replay, METH_VARARGS, NULL},
    {"replay_if", graph_replay_if, METH_O, NULL},
    {"view_if", (PyCFunction)(void (*)(void))graph_view_if, METH_FASTCALL, NULL},
    {"facts", graph_facts, METH_NOARGS, NULL},
    {"text", graph_text, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(graph, hk_graph, "hocket._core.Graph", "A captured step.", graph_methods,
           hk_graph_release)

/* What two arrays have in common that a graph may be replayed on in place of each other. */
typedef struct place {
    int64_t dims[HK_MAX_NDIM], strides[HK_MAX_NDIM];
    void *device;
    int dtype, ndim;
} place;

/* _place(x): bytes that are equal for such arrays. */
static PyObject *place_of(PyObject *self, PyObject *object)
{
    (void)self;
    hk_array *x = py_array_get(object, "what is captured");
    if (!x)
        return NULL;
    hk_dims shape = hk_dims_get(x), strides = hk_strides_get(x);
    place at;
    memset(&at, 0, sizeof at);
    at.ndim = shape.ndim;
    at.dtype = (int)hk_array_dtype(x);
    at.device = hk_array_device(x).handle;
    memcpy(at.dims, shape.dims, (size_t)shape.ndim * sizeof *at.dims);
    memcpy(at.strides, strides.dims, (size_t)shape.ndim * sizeof *at.strides);
    return PyBytes_FromStringAndSize((const char *)&at, sizeof at);
}

static _Thread_local bool is_capturing;

/* _capture_begin(bound arrays) */
static PyObject *begin(PyObject *self, PyObject *bound)
{
    (void)self;
    py_arrays arrays;
    if (!py_arrays_from(bound, "a bound array", &arrays))
        return NULL;
    hk_capture_begin(arrays.handles, arrays.count);
    is_capturing = true;
    py_arrays_release(&arrays);
    Py_RETURN_NONE;
}

/* _capture_end(exact): a Graph; or the text that says why there is none. */
static PyObject *end(PyObject *self, PyObject *exact)
{
    (void)self;
    is_capturing = false;
    hk_graph *made = (hk_capture_end)(&(hk_capture_options){.exact = PyObject_IsTrue(exact) > 0});
    const hk_status *status = hk_graph_status(made);
    if (hk_ok(status))
        return graph_of(made);
    PyObject *why =
        PyUnicode_FromFormat("%s: %s", hk_status_operation(status), hk_status_message(status));
    hk_graph_release(made);
    return why;
}

/* Replays on `count` bound arrays and `fresh` new ones: a list of these. `all` has room for both. */
static PyObject *replay(hk_graph *graph, hk_array **all, int count, int fresh)
{
    hk_replay_anew_at(py_source(), graph, all, count, all + count);
    py_settle_unnamed();
    if (!fresh && py_was_interrupted())
        return NULL;
    return py_arrays_list(all + count, fresh);
}

/* replay(bound arrays, how many more there are, which are made anew): a list of these. */
static PyObject *graph_replay(PyObject *self, PyObject *arguments)
{
    PyObject *bound, *list = NULL;
    py_arrays arrays;
    int fresh;
    if (!PyArg_ParseTuple(arguments, "Oi", &bound, &fresh) ||
        !py_arrays_from(bound, "a bound array", &arrays))
        return NULL;
    if (arrays.count + fresh != hk_graph_bound_count(graph_handle(self)))
        PyErr_SetString(PyExc_ValueError, "so many bound arrays are not the graph's");
    hk_array **all = malloc(((size_t)arrays.count + (size_t)fresh + 1) * sizeof *all);
    if (all && !PyErr_Occurred()) {
        memcpy(all, arrays.handles, (size_t)arrays.count * sizeof *all);
        list = replay(graph_handle(self), all, arrays.count, fresh);
    } else if (!all) {
        PyErr_NoMemory();
    }
    free(all);
    py_arrays_release(&arrays);
    return list;
}

enum { MOST_QUICK = 32 };

/* Replays on the arguments, where calls were noted; all: their handles, and those of what that makes, `fresh` more bound arrays. False,
 * and nothing is done, where something else than Arrays that fit is among them, or a call is to be noted. */
static bool replay_quick(hk_graph *graph, PyObject *bound, int fresh, hk_array **all)
{
    const int count = (int)PyTuple_Size(bound);
    bool fits = count + fresh <= MOST_QUICK && hk_graph_bound_count(graph) == count + fresh &&
                !is_capturing && !hk_is_recording();
    for (int i = 0; fits && i < count; i++) {
        PyObject *x = PyTuple_GetItem(bound, i);
        fits = py_is_array(x) && hk_graph_takes(graph, i, all[i] = py_handle(x));
    }
    if (fits && hk_graph_get_facts(graph).calls > 0) {
        hk_replay_anew_at(py_source(), graph, all, count, all + count);
        py_settle_unnamed();
    }
    return fits;
}

/* replay_if(arguments): the array that a replay on them makes, the last bound one; None where they do not fit. */
static PyObject *graph_replay_if(PyObject *self, PyObject *bound)
{
    hk_array *all[MOST_QUICK];
    if (!replay_quick(graph_handle(self), bound, 1, all))
        Py_RETURN_NONE;
    return py_wrap(all[PyTuple_Size(bound)]);
}

/* ---- results that are views of arguments ------------------------------------------------------------------------- */

/* Which argument, and where in it. */
typedef struct view_place {
    int64_t argument, offset;
    hk_dims shape, strides;
} view_place;

/* _view_place(x, arguments): which of them x is a view of, and bytes that tell where it lies; None where it is a view of none, or might
 * be of several. */
static PyObject *view_place_of(PyObject *self, PyObject *arguments)
{
    PyObject *object, *list;
    py_arrays arrays;
    view_place where;
    int count = 0;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "O!O", py_array_type, &object, &list) ||
        !py_arrays_from(list, "an argument", &arrays))
        return NULL;
    const hk_array *x = py_handle(object);
    memset(&where, 0, sizeof where);
    where.shape = hk_dims_get(x);
    where.strides = hk_strides_get(x);
    for (int i = 0; i < arrays.count; i++)
        if (hk_is_within(x, arrays.handles[i], &where.offset)) {
            where.argument = i;
            count++;
        }
    py_arrays_release(&arrays);
    if (count != 1)
        Py_RETURN_NONE;
    return Py_BuildValue("Ly#", (long long)where.argument, (const char *)&where,
                         (Py_ssize_t)sizeof where);
}

static PyObject *view_of(const view_place *where, hk_array *argument)
{
    return py_wrap(
        hk_view_at(py_source(), argument, where->shape, where->strides.dims, where->offset));
}

/* NULL and raises. */
static const view_place *where_from(PyObject *bytes)
{
    if (PyBytes_Check(bytes) && PyBytes_Size(bytes) == (Py_ssize_t)sizeof(view_place))
        return (const view_place *)PyBytes_AsString(bytes);
    PyErr_SetString(PyExc_TypeError, "that is no place of a view");
    return NULL;
}

/* _view_at(place, argument): the view of it. */
static PyObject *view_at(PyObject *self, PyObject *arguments)
{
    PyObject *bytes, *object;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OO!", &bytes, py_array_type, &object))
        return NULL;
    const view_place *where = where_from(bytes);
    return where ? view_of(where, py_handle(object)) : NULL;
}

/* view_if(place, arguments): as replay_if, for a graph that makes nothing, and whose result is a view. */
static PyObject *graph_view_if(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    hk_array *all[MOST_QUICK];
    if (count != 2 || !PyTuple_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "expected a place and a tuple of arguments");
        return NULL;
    }
    const view_place *where = where_from(arguments[0]);
    if (!where)
        return NULL;
    if (!replay_quick(graph_handle(self), arguments[1], 0, all))
        Py_RETURN_NONE;
    return view_of(where, all[where->argument]);
}

/* ---- calls of what is captured ----------------------------------------------------------------------------------- */

/* hocket._core.Quick: a call without names goes to `_quick`, a function of the tuple of arguments, where that is set; where it gives
 * None, and all others, to the object's method `_called`. */
typedef struct quick {
    PyObject_HEAD PyObject *function; /* NULL and None: not set */
} quick;

static PyObject *quick_call(PyObject *self, PyObject *arguments, PyObject *names)
{
    PyObject *function = ((quick *)self)->function, *result;
    if (function && function != Py_None && (!names || PyDict_Size(names) == 0)) {
        Py_INCREF(function); /* the call may set another one */
        result = PyObject_CallFunctionObjArgs(function, arguments, NULL);
        Py_DECREF(function);
        if (result != Py_None)
            return result;
        Py_DECREF(result);
    }
    PyObject *called = PyObject_GetAttrString(self, "_called");
    result = called ? PyObject_Call(called, arguments, names) : NULL;
    Py_XDECREF(called);
    return result;
}

static int quick_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((quick *)self)->function);
    return 0;
}

static int quick_clear(PyObject *self)
{
    Py_CLEAR(((quick *)self)->function);
    return 0;
}

static void quick_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    quick_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static bool quick_init(PyObject *module)
{
    static PyMemberDef members[] = {{"_quick", T_OBJECT, offsetof(quick, function), 0, NULL},
                                    {NULL, 0, 0, 0, NULL}};
    PyType_Slot slots[] = {{Py_tp_call, quick_call},   {Py_tp_traverse, quick_traverse},
                           {Py_tp_clear, quick_clear}, {Py_tp_dealloc, quick_free},
                           {Py_tp_members, members},   {0, NULL}};
    PyType_Spec spec = {.name = "hocket._core.Quick",
                        .basicsize = sizeof(quick),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                        .slots = slots};
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    const bool is_made = type && PyModule_AddType(module, (PyTypeObject *)type) == 0;
    Py_XDECREF(type);
    return is_made;
}

/* _copy_into(x, out): out, of x's shape and dtype, gets x's elements. */
static PyObject *copy_into(PyObject *self, PyObject *arguments)
{
    static const hk_operator *copy;
    PyObject *x, *out;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "O!O!", py_array_type, &x, py_array_type, &out))
        return NULL;
    if (!copy)
        copy = hk_operator_find("copy");
    hk_array *from = py_handle(x);
    py_call_into(copy, py_handle(out), &from, 1, NULL);
    Py_RETURN_NONE;
}

static PyObject *graph_facts(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_graph_facts facts = hk_graph_get_facts(graph_handle(self));
    return Py_BuildValue("{sLsLsKsLsd}", "calls", (long long)facts.calls, "tasks",
                         (long long)facts.tasks, "temporary_bytes",
                         (unsigned long long)facts.temporary_bytes, "recorded_replays",
                         (long long)facts.recorded_replays, "flops", facts.flops);
}

static PyObject *graph_text(PyObject *self, PyObject *unused)
{
    (void)unused;
    char *text = hk_graph_to_string(graph_handle(self));
    PyObject *result = text ? py_text(text) : PyErr_NoMemory();
    free(text);
    return result;
}

static PyMethodDef functions[] = {
    {"_place", place_of, METH_O, NULL},
    {"_capture_begin", begin, METH_O, NULL},
    {"_capture_end", end, METH_O, NULL},
    {"_view_place", view_place_of, METH_VARARGS, NULL},
    {"_view_at", view_at, METH_VARARGS, NULL},
    {"_copy_into", copy_into, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_capture_init(PyObject *module)
{
    return graph_init(module) && quick_init(module) &&
           PyModule_AddFunctions(module, functions) == 0;
}
