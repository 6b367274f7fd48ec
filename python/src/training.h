/* What the sources for training share: counted objects of the library as Python types, and lists of arrays. */
#ifndef HOCKET_PYTHON_TRAINING_H
#define HOCKET_PYTHON_TRAINING_H

#include "core.h"

/* A Python object that owns one count of an object of the library. */
typedef struct py_counted {
    PyObject_HEAD void *handle;
} py_counted;

/* Defines `type`_of, which makes a Python object that takes `handle`; `type`_init, which makes the type called `name`; and
 * `type`_handle. `release` drops a count. */
#define PY_COUNTED(type, c_type, name, text, methods, release)                                     \
    static PyTypeObject *type##_type;                                                              \
    static void type##_free(PyObject *self)                                                        \
    {                                                                                              \
        release(((py_counted *)self)->handle);                                                     \
        py_counted_free(self);                                                                     \
    }                                                                                              \
    static PyObject *type##_of(c_type *handle)                                                     \
    {                                                                                              \
        PyObject *self = py_counted_new(type##_type, handle);                                      \
        if (!self)                                                                                 \
            release(handle);                                                                       \
        return self;                                                                               \
    }                                                                                              \
    static inline c_type *type##_handle(PyObject *self)                                            \
    {                                                                                              \
        return ((py_counted *)self)->handle;                                                       \
    }                                                                                              \
    static bool type##_init(PyObject *module)                                                      \
    {                                                                                              \
        type##_type = py_counted_type(module, name, text, methods, type##_free);                   \
        return type##_type;                                                                        \
    }

PyObject *py_counted_new(PyTypeObject *type, void *handle);
void py_counted_free(PyObject *self);
/* Adds the type to the module. Borrowed; NULL and raises. */
PyTypeObject *py_counted_type(PyObject *module, const char *name, const char *text,
                              PyMethodDef *methods, destructor free);

/* The arrays of a sequence. */
typedef struct py_arrays {
    PyObject *items;    /* a tuple of Arrays, which keeps them */
    hk_array **handles; /* borrowed, count of them */
    int count;
} py_arrays;
/* Raises where `sequence` is none, or something else is in it: the message names `argument`. None is an empty one. Nothing is to be
 * released then. */
bool py_arrays_from(PyObject *sequence, const char *argument, py_arrays *arrays);
void py_arrays_release(py_arrays *arrays);
/* Behind a call that writes into these: waits for those whose memory is shared with another library. */
static inline void py_settle_all(hk_array *const *written, int count)
{
    for (int i = 0; i < count; i++)
        py_settle(written[i], NULL, 0);
}
/* Behind a call that may write into arrays that it does not name, such as gradients: waits for all, where anything is shared. */
static inline void py_settle_unnamed(void)
{
    if (atomic_load_explicit(&py_shared_count, memory_order_relaxed) > 0)
        hk_wait_all();
}
/* A list of Arrays: takes a count of each handle; raises what refused the call that gave one. */
PyObject *py_arrays_list(hk_array *const *handles, int count);
/* Devices of a sequence of devices and names: at most `capacity`. Their number; -1: raised. */
int py_devices_from(PyObject *sequence, hk_device *devices, int capacity);

enum { PY_MAX_DEVICES = 256 };

/* Takes the set; raises what it failed by. */
PyObject *py_data_set_wrap(hk_data_set *made);
/* Borrowed; NULL and raises. */
hk_data_set *py_data_set_get(PyObject *object);

/* Behind a backward pass: raises what its callbacks have raised. */
void py_callbacks_end(void);

/* The generator of an argument, NULL for None, which is this thread's stream. Raises. */
bool py_stream_from(PyObject *object, hk_generator **generator);

/* Parts of the module, each in the file of that name. */
bool py_autograd_init(PyObject *module);
bool py_functions_init(PyObject *module);
bool py_random_init(PyObject *module);
bool py_layers_init(PyObject *module);
bool py_optimizer_init(PyObject *module);
bool py_averages_init(PyObject *module);
bool py_loader_init(PyObject *module);
bool py_sets_init(PyObject *module);
bool py_text_init(PyObject *module);
bool py_capture_init(PyObject *module);
bool py_files_init(PyObject *module);
bool py_runs_init(PyObject *module);
bool py_ranks_init(PyObject *module);
bool py_tasks_init(PyObject *module);
bool py_models_init(PyObject *module);
bool py_generation_init(PyObject *module);
bool py_tokenizers_init(PyObject *module);
bool py_promises_init(PyObject *module);
/* An array of a task or promise, as what has a buffer. owner: kept with it; NULL: nobody. */
PyObject *py_task_view(hk_task_view of, bool is_read_only, PyObject *owner);
/* Raises where no task can have them. */
bool py_tasks_check(const py_arrays *arrays);
/* Interned, for records; the reference stays for good. */
const char *py_static_name(PyObject *name);
/* Of a capsule of hocket.world; NULL after raising. */
hk_group *py_group_from(PyObject *object);

#endif
