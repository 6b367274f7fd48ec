/* Python functions as tasks: hocket/kernel.h. */
#include "training.h"

#include <stdlib.h>
#include <string.h>

/* What a call owns, in its arguments. */
typedef struct callable {
    PyObject *function;
    PyObject *arrays; /* a tuple: a function that keeps a view keeps them */
} callable;

static void release(void *arguments)
{
    callable *self = arguments;
    py_release_anyhow(self->function);
    py_release_anyhow(self->arrays);
}

/* ---- failures ------------------------------------------------------------------------------- */

/* The call fails by what has been raised. */
static void refuse_raised(hk_task_call *call)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *name = type ? PyType_GetName((PyTypeObject *)type) : NULL;
    PyObject *text = value ? PyObject_Str(value) : NULL;
    PyObject *both = name && text ? PyUnicode_FromFormat("%U: %U", name, text) : NULL;
    PyObject *bytes = both ? PyUnicode_AsEncodedString(both, "utf-8", "replace") : NULL;
    hk_task_refuse(call, "%s",
                   bytes ? PyBytes_AsString(bytes) : "the function raised an exception");
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(both);
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(traceback); /* whose frames may have views */
    Py_XDECREF(value);
    Py_XDECREF(type);
}

/* ---- views ---------------------------------------------------------------------------------- */

/* An array while the function runs, as what has a buffer: it is known how many are in use. */
typedef struct task_view {
    PyObject_HEAD hk_task_view of;
    Py_ssize_t shape[HK_MAX_NDIM], strides[HK_MAX_NDIM], bytes;
    int exports;
    bool is_read_only, has_ended;
    PyObject *owner; /* NULL, or what keeps the memory */
} task_view;

static PyTypeObject *view_type;

static int get_buffer(PyObject *object, Py_buffer *buffer, int flags)
{
    static char nothing;
    task_view *self = (task_view *)object;
    buffer->obj = NULL;
    if (self->has_ended || (self->is_read_only && (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE)) {
        PyErr_SetString(PyExc_BufferError,
                        self->has_ended ? "the task has ended" : "the task only reads this array");
        return -1;
    }
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        PyErr_SetString(PyExc_BufferError, "the array may have gaps: strides are needed");
        return -1;
    }
    *buffer = (Py_buffer){.buf = self->of.data ? self->of.data : &nothing,
                          .obj = Py_NewRef(object),
                          .len = self->bytes,
                          .itemsize = (Py_ssize_t)hk_dtype_bytes(self->of.dtype),
                          .readonly = self->is_read_only,
                          .ndim = self->of.shape.ndim,
                          .format = (char *)(uintptr_t)py_format_of(self->of.dtype),
                          .shape = self->shape,
                          .strides = self->strides};
    self->exports++;
    return 0;
}

static void release_buffer(PyObject *object, Py_buffer *buffer)
{
    (void)buffer;
    ((task_view *)object)->exports--;
}

static void view_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((task_view *)self)->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

static bool view_type_init(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_dealloc, view_free},
                           {Py_tp_doc, "An array of a task, while its function runs."},
                           {Py_bf_getbuffer, get_buffer},
                           {Py_bf_releasebuffer, release_buffer},
                           {0, NULL}};
    PyType_Spec spec = {.name = "hocket._core.TaskView",
                        .basicsize = sizeof(task_view),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    view_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return view_type && PyModule_AddType(module, view_type) == 0;
}

PyObject *py_task_view(hk_task_view of, bool is_read_only, PyObject *owner)
{
    task_view *self = PyObject_New(task_view, view_type);
    if (!self)
        return NULL;
    self->of = of;
    self->exports = 0;
    self->owner = Py_XNewRef(owner);
    self->is_read_only = is_read_only;
    self->has_ended = false;
    self->bytes = (Py_ssize_t)hk_dtype_bytes(of.dtype);
    const Py_ssize_t item = self->bytes;
    for (int i = 0; i < of.shape.ndim; i++) {
        self->shape[i] = (Py_ssize_t)of.shape.dims[i];
        self->strides[i] = (Py_ssize_t)of.strides[i] * item;
        self->bytes *= self->shape[i];
    }
    return (PyObject *)self;
}

/* False: one of them is still in use. */
static bool end_views(PyObject *views)
{
    bool are_free = true;
    for (Py_ssize_t i = 0; i < PyTuple_Size(views); i++) {
        task_view *view = (task_view *)PyTuple_GetItem(views, i);
        view->has_ended = true;
        are_free = are_free && view->exports == 0;
    }
    return are_free;
}

/* ---- running -------------------------------------------------------------------------------- */

static void run(hk_task_call *call)
{
    const callable *self = hk_task_args(call);
    const int count = hk_task_view_count(call);
    const char *modes = (const char *)(self + 1);
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *views = PyTuple_New(count), *result = NULL;
    for (int i = 0; views && i < count; i++) {
        PyObject *view = py_task_view(hk_task_view_of(call, i), modes[i] == HK_READS, NULL);
        if (!view || PyTuple_SetItem(views, i, view) < 0)
            Py_CLEAR(views);
    }
    if (views)
        result = PyObject_CallObject(self->function, views);
    if (!result)
        refuse_raised(call);
    Py_XDECREF(result);
    if (views && !end_views(views)) {
        hk_task_refuse(call,
                       "the function has kept a view of an array, which is good only while it "
                       "runs; it may keep a copy");
        Py_INCREF(self->arrays); /* for good: the memory stays */
    }
    Py_XDECREF(views);
    PyGILState_Release(state);
}

/* ---- issuing -------------------------------------------------------------------------------- */

/* Interned: records name it. */
const char *py_static_name(PyObject *name)
{
    PyObject *interned = Py_NewRef(name);
    PyUnicode_InternInPlace(&interned);
    return py_chars(interned, "name"); /* the reference stays for good */
}

bool py_tasks_check(const py_arrays *arrays)
{
    if (arrays->count > HK_MAX_ACCESSES || arrays->count == 0) {
        PyErr_Format(PyExc_ValueError, "a task has %d arrays, but may have from 1 to %d",
                     arrays->count, HK_MAX_ACCESSES);
        return false;
    }
    for (int i = 0; i < arrays->count; i++)
        if (!py_format_of(hk_array_dtype(arrays->handles[i]))) {
            PyErr_Format(PyExc_TypeError, "%s has no buffer that Python knows; cast it",
                         hk_dtype_name(hk_array_dtype(arrays->handles[i])));
            return false;
        }
    return true;
}

static void issue(PyObject *function, const char *name, const py_arrays *arrays, int reads,
                  int writes)
{
    const hk_kernel kernel = {.name = name, .cpu = run, .waits = true, .release = release};
    hk_access accesses[HK_MAX_ACCESSES];
    struct {
        callable owned;
        char modes[HK_MAX_ACCESSES];
    } arguments = {.owned = {Py_NewRef(function), Py_NewRef(arrays->items)}};
    for (int i = 0; i < arrays->count; i++) {
        accesses[i].x = arrays->handles[i];
        accesses[i].mode = i < reads ? HK_READS : i < reads + writes ? HK_WRITES : HK_UPDATES;
        arguments.modes[i] = (char)accesses[i].mode;
    }
    hk_run_at(py_source(), &kernel, accesses, arrays->count, &arguments, sizeof arguments, NULL);
    py_settle_all(arrays->handles, arrays->count);
}

/* _task(function, name, arrays, reads, writes): of the arrays the first are read, the next
 * written, the others updated. */
static PyObject *task(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *function, *name, *sequence;
    int reads, writes;
    py_arrays arrays;
    if (!PyArg_ParseTuple(arguments, "OUOii", &function, &name, &sequence, &reads, &writes) ||
        !py_arrays_from(sequence, "an array of a task", &arrays))
        return NULL;
    const char *text = py_tasks_check(&arrays) ? py_static_name(name) : NULL;
    if (text)
        issue(function, text, &arrays, reads, writes);
    py_arrays_release(&arrays);
    if (PyErr_Occurred() || py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

/* ---- kernels by address --------------------------------------------------------------------- */

typedef void flat_function(void *const *data, const int64_t *sizes, const void *args);

/* What a call's arguments begin with; behind it are those of the function. */
typedef struct flat {
    flat_function *function;
    char padding[8];
} flat;

static bool is_without_gaps(const hk_task_view *view)
{
    int64_t step = 1;
    bool fits = true;
    for (int i = view->shape.ndim - 1; i >= 0; i--) {
        fits = fits && (view->shape.dims[i] == 1 || view->strides[i] == step);
        step *= view->shape.dims[i];
    }
    return fits || step == 0;
}

static void run_flat(hk_task_call *call)
{
    const flat *self = hk_task_args(call);
    void *data[HK_MAX_ACCESSES];
    int64_t sizes[HK_MAX_ACCESSES];
    for (int i = 0; i < hk_task_view_count(call); i++) {
        const hk_task_view view = hk_task_view_of(call, i);
        if (!is_without_gaps(&view)) {
            hk_task_refuse(call, "array %d has gaps; hk.contiguous copies it", i);
            return;
        }
        data[i] = view.data;
        sizes[i] = 1;
        for (int j = 0; j < view.shape.ndim; j++)
            sizes[i] *= view.shape.dims[j];
    }
    self->function(data, sizes, self + 1);
}

/* _run(address, name, arrays, modes, args, priority): modes: a byte for each array. */
static PyObject *run_kernel(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *name, *sequence;
    unsigned long long address;
    const char *modes, *args;
    Py_ssize_t mode_count, args_bytes;
    int priority;
    py_arrays arrays;
    hk_access accesses[HK_MAX_ACCESSES];
    if (!PyArg_ParseTuple(arguments, "KOOy#y#i", &address, &name, &sequence, &modes, &mode_count,
                          &args, &args_bytes, &priority) ||
        !py_arrays_from(sequence, "an array of a kernel", &arrays))
        return NULL;
    const char *text =
        py_tasks_check(&arrays) && mode_count == arrays.count ? py_static_name(name) : NULL;
    flat *own = text ? calloc(1, sizeof *own + (size_t)args_bytes) : NULL;
    if (own) {
        own->function = (flat_function *)(uintptr_t)address;
        memcpy(own + 1, args, (size_t)args_bytes);
        for (int i = 0; i < arrays.count; i++)
            accesses[i] = hk_access_of(arrays.handles[i], (hk_access_mode)modes[i]);
        hk_run_at(py_source(), &(const hk_kernel){.name = text, .cpu = run_flat}, accesses,
                  arrays.count, own, sizeof *own + (size_t)args_bytes,
                  &(const hk_run_options){.priority = priority});
        py_settle_all(arrays.handles, arrays.count);
        free(own);
    } else if (text) {
        PyErr_NoMemory();
    }
    py_arrays_release(&arrays);
    if (PyErr_Occurred() || py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

/* _priority(value): the one before. */
static PyObject *priority(PyObject *self, PyObject *value)
{
    (void)self;
    const long wanted = PyLong_AsLong(value);
    if (PyErr_Occurred())
        return NULL;
    if (wanted < 0 || wanted > 255)
        return PyErr_Format(PyExc_ValueError, "the priority is %ld, but may be from 0 to 255",
                            wanted);
    return PyLong_FromLong(hk_priority_set((int)wanted));
}

static PyMethodDef functions[] = {
    {"_priority", priority, METH_O, NULL},
    {"_run", run_kernel, METH_VARARGS, NULL},
    {"_task", task, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_tasks_init(PyObject *module)
{
    return view_type_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
