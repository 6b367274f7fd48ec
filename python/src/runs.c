/* The runtime, its counters, timelines, and work that devices share: hocket/runtime.h, trace.h, collective.h. */
#include "training.h"

#include <stdlib.h>
#include <string.h>

/* ---- the runtime ------------------------------------------------------------------------------------------------ */

enum { MAX_GROUPS = 64 };

static bool engine_from(const char *name, hk_engine *engine)
{
    *engine = !name                    ? HK_ENGINE_DEFAULT
              : strcmp(name, "serial") ? HK_ENGINE_ASYNC
                                       : HK_ENGINE_SERIAL;
    if (!name || !strcmp(name, "serial") || !strcmp(name, "async"))
        return true;
    PyErr_Format(PyExc_ValueError, "engine is '%s'; there are 'async' and 'serial'", name);
    return false;
}

static bool group_from(PyObject *object, hk_sim_options *group)
{
    unsigned long long memory;
    if (!PyArg_ParseTuple(object, "iddddddddK", &group->count, &group->flops, &group->factor,
                          &group->memory_bandwidth, &group->launch_ns, &group->link_bandwidth,
                          &group->link_latency_ns, &group->peer_bandwidth,
                          &group->staging_bandwidth, &memory))
        return false;
    group->memory_bytes = memory;
    return true;
}

/* Simulated devices of a list of tuples: how many; -1: raised. */
static int groups_from(PyObject *list, hk_sim_options groups[MAX_GROUPS])
{
    Py_ssize_t count = PyList_Size(list);
    if (count > MAX_GROUPS) {
        PyErr_Format(PyExc_ValueError, "%zd groups of simulated devices are more than %d", count,
                     MAX_GROUPS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!group_from(PyList_GetItem(list, i), &groups[i]))
            return -1;
    return (int)count;
}

/* _runtime_init(cpu_devices, cpu_cores, engine, calls, bytes, inline_ns, memory, [group], cuda,
 * cuda_memory, tf32, nccl, flush) */
static PyObject *runtime_init(PyObject *self, PyObject *arguments)
{
    (void)self;
    hk_runtime_options o = {0};
    hk_sim_options groups[MAX_GROUPS] = {0};
    const char *engine;
    unsigned long long calls, bytes, memory, cuda_memory;
    long long inline_ns;
    PyObject *sim;
    int tf32, own_sums, flush;
    if (!PyArg_ParseTuple(arguments, "iizKKLKO!zKppp:runtime", &o.cpu_devices, &o.cpu_cores,
                          &engine, &calls, &bytes, &inline_ns, &memory, &PyList_Type, &sim, &o.cuda,
                          &cuda_memory, &tf32, &own_sums, &flush) ||
        !engine_from(engine, &o.engine) || (o.sim_count = groups_from(sim, groups)) < 0)
        return NULL;
    o.run_ahead_calls = calls;
    o.run_ahead_bytes = bytes;
    o.inline_ns = inline_ns;
    o.memory_bytes = memory;
    o.sim = groups;
    o.cuda_memory_bytes = cuda_memory;
    o.cuda_tf32 = tf32;
    o.cuda_own_sums = own_sums;
    o.flush_subnormals = flush;
    if (!py_check(hk_runtime_init(&o)))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *device_memory(hk_device device)
{
    hk_device_memory memory = hk_device_get_memory(device);
    return Py_BuildValue("{sKsKsKsK}", "used_bytes", (unsigned long long)memory.used_bytes,
                         "cached_bytes", (unsigned long long)memory.cached_bytes, "peak_bytes",
                         (unsigned long long)memory.peak_bytes, "limit_bytes",
                         (unsigned long long)memory.limit_bytes);
}

static PyObject *stats(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    hk_runtime_stats facts = hk_runtime_get_stats();
    PyObject *devices = PyDict_New();
    for (int i = 0; devices && i < hk_device_count(); i++) {
        PyObject *memory = device_memory(hk_device_at(i));
        if (!memory || PyDict_SetItemString(devices, hk_device_name(hk_device_at(i)), memory) < 0)
            Py_CLEAR(devices);
        Py_XDECREF(memory);
    }
    return Py_BuildValue("{sKsKsKsKsKsN}", "issued_calls", (unsigned long long)facts.issued_calls,
                         "window_waits", (unsigned long long)facts.window_waits,
                         "peak_run_ahead_bytes", (unsigned long long)facts.peak_run_ahead_bytes,
                         "handle_bytes", (unsigned long long)facts.handle_bytes, "subnormal_calls",
                         (unsigned long long)facts.subnormal_calls, "devices", devices);
}

/* ---- timelines ------------------------------------------------------------------------------------------------- */

static PyObject *trace_write(PyObject *self, PyObject *arguments);
static PyObject *trace_text(PyObject *self, PyObject *format);
static PyObject *trace_summary(PyObject *self, PyObject *unused);
static PyObject *trace_overlap(PyObject *self, PyObject *arguments);
static PyMethodDef trace_methods[] = {
    {"write", trace_write, METH_VARARGS, NULL},
    {"text", trace_text, METH_O, NULL},
    {"summary", trace_summary, METH_NOARGS, NULL},
    {"overlap_ns", trace_overlap, METH_VARARGS,
     "overlap_ns(a, b)\n--\n\nHow long calls of operation a ran while calls of b did; either may "
     "be a list such as "
     "'conv2d*,@copy'."},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(trace, hk_trace, "hocket._core.Trace", "What was recorded.", trace_methods,
           hk_trace_release)

static PyObject *trace_start(PyObject *self, PyObject *memory)
{
    (void)self;
    unsigned long long bytes = PyLong_AsUnsignedLongLong(memory);
    if (PyErr_Occurred() || !py_check(hk_trace_start(&(hk_trace_options){.memory_bytes = bytes})))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *trace_stop(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    hk_trace *made = hk_trace_stop();
    if (py_check(hk_trace_status(made)))
        return trace_of(made);
    hk_trace_release(made);
    return NULL;
}

/* write(format, path) */
static PyObject *trace_write(PyObject *self, PyObject *arguments)
{
    PyObject *path;
    int format;
    if (!PyArg_ParseTuple(arguments, "iO&", &format, PyUnicode_FSConverter, &path))
        return NULL;
    const hk_status *status =
        hk_trace_write(trace_handle(self), (hk_trace_format)format, PyBytes_AsString(path));
    Py_DECREF(path);
    if (!py_check(status))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *trace_text(PyObject *self, PyObject *format)
{
    char *text = hk_trace_text(trace_handle(self), (hk_trace_format)PyLong_AsLong(format), NULL);
    PyObject *result = text ? py_text(text) : PyErr_NoMemory();
    free(text);
    return result;
}

static PyObject *trace_summary(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_trace_summary s = hk_trace_get_summary(trace_handle(self));
    return Py_BuildValue("{sLsLsLsLsLsKsKsKsK}", "duration_ns", (long long)s.duration_ns,
                         "wall_duration_ns", (long long)s.wall_duration_ns, "critical_path_ns",
                         (long long)s.critical_path_ns, "wait_ns", (long long)s.wait_ns, "late_ns",
                         (long long)s.late_ns, "call_count", (unsigned long long)s.call_count,
                         "failed_count", (unsigned long long)s.failed_count, "lost_records",
                         (unsigned long long)s.lost_records, "subnormal_count",
                         (unsigned long long)s.subnormal_count);
}

static PyObject *trace_overlap(PyObject *self, PyObject *arguments)
{
    const char *a, *b;
    if (!PyArg_ParseTuple(arguments, "ss:overlap_ns", &a, &b))
        return NULL;
    return PyLong_FromLongLong(hk_trace_overlap_ns(trace_handle(self), a, b));
}

/* ---- work that devices share ---------------------------------------------------------------------------------------- */

/* _all_reduce(arrays, lists) */
static PyObject *all_reduce(PyObject *self, PyObject *arguments)
{
    (void)self;
    py_arrays arrays;
    PyObject *sequence;
    int lists;
    if (!PyArg_ParseTuple(arguments, "Oi:all_reduce", &sequence, &lists) ||
        !py_arrays_from(sequence, "an array to be summed", &arrays))
        return NULL;
    hk_all_reduce_list_at(py_source(), arrays.handles, arrays.count / lists, lists,
                          HK_ALL_REDUCE_DEFAULT);
    py_settle_all(arrays.handles, arrays.count);
    py_arrays_release(&arrays);
    if (py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

/* _split_and_load(x, devices, shares or None) */
static PyObject *split_and_load(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *x, *on, *shares;
    hk_device devices[PY_MAX_DEVICES];
    int64_t parts[PY_MAX_DEVICES];
    hk_array *out[PY_MAX_DEVICES];
    if (!PyArg_ParseTuple(arguments, "O!OO", py_array_type, &x, &on, &shares))
        return NULL;
    int count = py_devices_from(on, devices, PY_MAX_DEVICES);
    if (count < 0)
        return NULL;
    for (int i = 0; shares != Py_None && i < count; i++) {
        PyObject *share = PySequence_GetItem(shares, i);
        parts[i] = share ? PyLong_AsLongLong(share) : -1;
        Py_XDECREF(share);
        if (PyErr_Occurred())
            return NULL;
    }
    hk_split_and_load_at(py_source(), py_handle(x), devices, count,
                         shares == Py_None ? NULL : parts, out);
    for (int i = 0; i < count; i++)
        py_settle(out[i], (hk_array *[]){py_handle(x)}, 1);
    return py_arrays_list(out, count);
}

static PyMethodDef functions[] = {
    {"_runtime_init", runtime_init, METH_VARARGS, NULL},
    {"_stats", stats, METH_NOARGS, NULL},
    {"_trace_start", trace_start, METH_O, NULL},
    {"_trace_stop", trace_stop, METH_NOARGS, NULL},
    {"_all_reduce", all_reduce, METH_VARARGS, NULL},
    {"_split_and_load", split_and_load, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_runs_init(PyObject *module)
{
    return trace_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
