/* Processes that compute together: hocket/world.h. A group is a capsule: groups live as long as the process. */
#include "training.h"

static const char capsule_name[] = "hocket.group";

static PyObject *group_object(hk_group *group)
{
    return PyCapsule_New(group, capsule_name, NULL);
}

hk_group *py_group_from(PyObject *object)
{
    return PyCapsule_GetPointer(object, capsule_name);
}

/* Raises why it is of no use. */
static PyObject *good_group(hk_group *group)
{
    return py_check(hk_group_status(group)) ? group_object(group) : NULL;
}

/* ---- the world ---------------------------------------------------------------------------------------------------- */

/* _world_init(mode or None, timeout, patience, sum or None, route or None): waits for all ranks. */
static PyObject *world_init(PyObject *self, PyObject *arguments)
{
    (void)self;
    hk_world_options options = {0};
    if (!PyArg_ParseTuple(arguments, "zddzz:init", &options.mode, &options.timeout,
                          &options.patience, &options.sum, &options.route))
        return NULL;
    py_gil_release();
    const hk_status *status = hk_status_retain(hk_world_init(&options));
    py_gil_take();
    const bool is_good = py_check(status);
    hk_status_release(status);
    if (!is_good)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *world_deinit(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    py_gil_release();
    hk_world_deinit();
    py_gil_take();
    Py_RETURN_NONE;
}

/* _group_world(): starts the world, if need be. */
static PyObject *group_world(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    py_gil_release();
    hk_group *group = hk_group_world();
    py_gil_take();
    return good_group(group);
}

static PyObject *world_library(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return py_text(hk_world_library());
}

/* _group_facts(group): rank and size. */
static PyObject *group_facts(PyObject *self, PyObject *object)
{
    (void)self;
    const hk_group *group = py_group_from(object);
    return group ? Py_BuildValue("ii", hk_group_rank(group), hk_group_size(group)) : NULL;
}

/* _group_split(group, color, key): None where the colour is below 0. */
static PyObject *group_split(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object;
    int color, key;
    if (!PyArg_ParseTuple(arguments, "Oii:split", &object, &color, &key))
        return NULL;
    hk_group *group = py_group_from(object);
    if (!group)
        return NULL;
    py_gil_release();
    hk_group *part = hk_group_split(group, color, key);
    py_gil_take();
    if (color < 0 && !PyErr_Occurred())
        Py_RETURN_NONE;
    return good_group(part);
}

/* ---- in place ------------------------------------------------------------------------------------------------------ */

/* _group_in_place(group, arrays, devices, what): array i on device d is arrays[i * devices + d]. what: the root of a broadcast, or -1
 * minus the bytes of a bucket. */
static PyObject *group_in_place(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *sequence;
    py_arrays arrays;
    int devices;
    long long what;
    if (!PyArg_ParseTuple(arguments, "OOiL", &object, &sequence, &devices, &what))
        return NULL;
    hk_group *group = py_group_from(object);
    if (!group || !py_arrays_from(sequence, "an array that ranks share", &arrays))
        return NULL;
    const int count = devices > 0 ? arrays.count / devices : 0;
    if (what >= 0)
        hk_group_broadcast_at(py_source(), group, arrays.handles, devices, count, (int)what);
    else
        hk_group_all_reduce_at(py_source(), group, arrays.handles, devices, count,
                               (size_t)(-1 - what));
    py_settle_all(arrays.handles, arrays.count);
    py_arrays_release(&arrays);
    if (py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

/* ---- new arrays ------------------------------------------------------------------------------------------------------ */

typedef hk_array *(*move_fn)(hk_source at, hk_group *group, hk_array *x);

static PyObject *move(PyObject *arguments, move_fn function)
{
    PyObject *object, *argument;
    if (!PyArg_ParseTuple(arguments, "OO", &object, &argument))
        return NULL;
    hk_group *group = py_group_from(object);
    hk_array *x = group ? py_array_get(argument, "x") : NULL;
    return x ? py_wrap(function(py_source(), group, x)) : NULL;
}

#define MOVE(name)                                                                                 \
    static PyObject *name(PyObject *self, PyObject *arguments)                                     \
    {                                                                                              \
        (void)self;                                                                                \
        return move(arguments, hk_##name##_at);                                                    \
    }
MOVE(group_sum)
MOVE(group_reduce_scatter)
MOVE(group_all_gather)
MOVE(group_all_to_all)
MOVE(group_share)
MOVE(group_join)

static PyObject *group_send(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *argument;
    int to;
    if (!PyArg_ParseTuple(arguments, "OOi:send", &object, &argument, &to))
        return NULL;
    hk_group *group = py_group_from(object);
    hk_array *x = group ? py_array_get(argument, "x") : NULL;
    return x ? py_wrap(hk_group_send_at(py_source(), group, x, to)) : NULL;
}

/* _group_receive(group, shape, dtype, device, from) */
static PyObject *group_receive(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *shape, *type, *on;
    hk_dims dims;
    hk_dtype dtype;
    hk_device device;
    int from;
    if (!PyArg_ParseTuple(arguments, "OOOOi:receive", &object, &shape, &type, &on, &from))
        return NULL;
    hk_group *group = py_group_from(object);
    if (!group || !py_dims_from(shape, "shape", &dims) || !py_dtype_from(type, &dtype) ||
        !py_device_from(on, &device))
        return NULL;
    return py_wrap(hk_group_receive_at(py_source(), group, dims, dtype, device, from));
}

static PyObject *group_barrier(PyObject *self, PyObject *object)
{
    (void)self;
    hk_group *group = py_group_from(object);
    return group ? py_wrap(hk_group_barrier_at(py_source(), group)) : NULL;
}

/* ---- owners ---------------------------------------------------------------------------------- */

static const char owners_name[] = "hocket.owners";

static void owners_free(PyObject *capsule)
{
    hk_owners_release(PyCapsule_GetPointer(capsule, owners_name));
}

static PyObject *owners_create(PyObject *self, PyObject *object)
{
    (void)self;
    hk_group *group = py_group_from(object);
    return group ? PyCapsule_New(hk_owners_create(group), owners_name, owners_free) : NULL;
}

/* _owners_zeros(owners, owner, shape, dtype, device) */
static PyObject *owners_zeros(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *shape, *type, *on;
    int owner;
    hk_dims dims;
    hk_dtype dtype;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "OiOOO:zeros", &object, &owner, &shape, &type, &on))
        return NULL;
    hk_owners *owners = PyCapsule_GetPointer(object, owners_name);
    if (!owners || !py_dims_from(shape, "shape", &dims) || !py_dtype_from(type, &dtype) ||
        !py_device_from(on, &device))
        return NULL;
    return py_wrap(hk_owners_zeros_at(py_source(), owners, owner, dims, dtype, device));
}

/* _owners_at(owners, rank or -1, arrays, modes): whether this rank is to make the call. */
static PyObject *owners_at(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *sequence;
    int rank;
    const char *modes;
    Py_ssize_t mode_count;
    py_arrays arrays;
    hk_access accesses[HK_MAX_ACCESSES];
    bool is_here = false;
    if (!PyArg_ParseTuple(arguments, "OiOy#", &object, &rank, &sequence, &modes, &mode_count))
        return NULL;
    hk_owners *owners = PyCapsule_GetPointer(object, owners_name);
    if (!owners || !py_arrays_from(sequence, "an array of a call", &arrays))
        return NULL;
    if (arrays.count > HK_MAX_ACCESSES || mode_count != arrays.count) {
        PyErr_Format(PyExc_ValueError, "a call has %d arrays, but may have from 1 to %d",
                     arrays.count, HK_MAX_ACCESSES);
    } else {
        for (int i = 0; i < arrays.count; i++)
            accesses[i] = hk_access_of(arrays.handles[i], (hk_access_mode)modes[i]);
        is_here = rank < 0 ? hk_owners_here_at(py_source(), owners, accesses, arrays.count)
                           : hk_owners_at_at(py_source(), owners, rank, accesses, arrays.count);
    }
    py_arrays_release(&arrays);
    return PyErr_Occurred() || py_was_interrupted() ? NULL : PyBool_FromLong(is_here);
}

static PyMethodDef functions[] = {
    {"_world_init", world_init, METH_VARARGS, NULL},
    {"_world_deinit", world_deinit, METH_NOARGS, NULL},
    {"_world_library", world_library, METH_NOARGS, NULL},
    {"_group_world", group_world, METH_NOARGS, NULL},
    {"_group_facts", group_facts, METH_O, NULL},
    {"_group_split", group_split, METH_VARARGS, NULL},
    {"_group_in_place", group_in_place, METH_VARARGS, NULL},
    {"_group_sum", group_sum, METH_VARARGS, NULL},
    {"_group_reduce_scatter", group_reduce_scatter, METH_VARARGS, NULL},
    {"_group_all_gather", group_all_gather, METH_VARARGS, NULL},
    {"_group_all_to_all", group_all_to_all, METH_VARARGS, NULL},
    {"_group_share", group_share, METH_VARARGS, NULL},
    {"_group_join", group_join, METH_VARARGS, NULL},
    {"_group_send", group_send, METH_VARARGS, NULL},
    {"_group_receive", group_receive, METH_VARARGS, NULL},
    {"_group_barrier", group_barrier, METH_O, NULL},
    {"_owners_create", owners_create, METH_O, NULL},
    {"_owners_zeros", owners_zeros, METH_VARARGS, NULL},
    {"_owners_at", owners_at, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_ranks_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
