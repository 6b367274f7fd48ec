/* Layers as objects: hocket/nn.h. What is made of them (trees with names, replicas of trees) is hocket/nn.py. */
#include "training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PyObject *layer_forward(PyObject *self, PyObject *const *args, Py_ssize_t count);
static PyObject *layer_entries(PyObject *self, PyObject *unused);
static PyObject *layer_names(PyObject *self, PyObject *unused);
static PyObject *layer_given(PyObject *self, PyObject *unused);
static PyObject *layer_parameters(PyObject *self, PyObject *unused);
static PyObject *layer_set(PyObject *self, PyObject *arguments);
static PyObject *layer_set_training(PyObject *self, PyObject *on);
static PyObject *layer_freeze(PyObject *self, PyObject *on);
static PyObject *layer_initialize(PyObject *self, PyObject *init);
static PyObject *layer_initialize_named(PyObject *self, PyObject *arguments);
static PyObject *layer_replicate(PyObject *self, PyObject *device);
static PyObject *layer_table(PyObject *self, PyObject *unused);

static PyMethodDef layer_methods[] = {
    {"forward", (PyCFunction)(void (*)(void))layer_forward, METH_FASTCALL,
     "forward(*inputs)\n--\n\nThe result for these Arrays."},
    {"entries", layer_entries, METH_NOARGS,
     "entries()\n--\n\nA list of (name, Array, whether it is a buffer)."},
    {"names", layer_names, METH_NOARGS,
     "names()\n--\n\nA list of (name, PyTorch's name, which part of it, of how many)."},
    {"given", layer_given, METH_NOARGS,
     "given()\n--\n\nA list of (name, Array) that were set before the first call, which is still "
     "to come."},
    {"parameters", layer_parameters, METH_NOARGS,
     "parameters()\n--\n\nThe Arrays that want gradients."},
    {"set", layer_set, METH_VARARGS,
     "set(name, x)\n--\n\nThe array of that name becomes the values of x."},
    {"set_training", layer_set_training, METH_O, NULL},
    {"freeze", layer_freeze, METH_O, NULL},
    {"initialize", layer_initialize, METH_O, NULL},
    {"initialize_named", layer_initialize_named, METH_VARARGS, NULL},
    {"replicate", layer_replicate, METH_O, NULL},
    {"table", layer_table, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(layer, hk_module, "hocket._core.Layer", "A layer of the library, with its parameters.",
           layer_methods, hk_module_release)

/* Takes the module; raises what it failed by. */
static PyObject *layer_or_raise(hk_module *module)
{
    if (py_check(hk_module_status(module)))
        return layer_of(module);
    hk_module_release(module);
    return NULL;
}

/* ---- making -------------------------------------------------------------------------------------------------- */

/* None, or (kind, value, gain). */
static bool init_from(PyObject *object, hk_init *init)
{
    static const char *const names[] = {
        [HK_INIT_DEFAULT] = "default",
        [HK_INIT_CONSTANT] = "constant",
        [HK_INIT_UNIFORM] = "uniform",
        [HK_INIT_NORMAL] = "normal",
        [HK_INIT_FAN_IN] = "fan_in",
        [HK_INIT_XAVIER_UNIFORM] = "xavier_uniform",
        [HK_INIT_XAVIER_NORMAL] = "xavier_normal",
        [HK_INIT_HE_UNIFORM] = "he_uniform",
        [HK_INIT_HE_NORMAL] = "he_normal",
        [HK_INIT_ORTHOGONAL] = "orthogonal",
    };
    const char *name;
    *init = (hk_init){0};
    if (object == Py_None)
        return true;
    if (!PyTuple_Check(object)) {
        PyErr_Format(PyExc_TypeError, "init is %R, which is none of hocket.nn.init", object);
        return false;
    }
    if (!PyArg_ParseTuple(object, "sdd", &name, &init->value, &init->gain))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            init->kind = (hk_init_kind)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "there is no initial value called '%s'", name);
    return false;
}

static hk_module *make_linear(PyObject *arguments)
{
    long long features;
    int bias;
    PyObject *init;
    hk_linear_layer_options options = {0};
    if (!PyArg_ParseTuple(arguments, "LpO:Linear", &features, &bias, &init) ||
        !init_from(init, &options.init))
        return NULL;
    options.no_bias = !bias;
    return (hk_linear_layer)(features, &options);
}

/* Two ints, of a tuple. */
#define TWO(of)   (of)[0], (of)[1]
#define THREE(of) (of)[0], (of)[1], (of)[2]

static hk_module *make_conv2d(PyObject *arguments)
{
    long long channels, w[2], s[2], p[2], d[2], groups;
    int bias;
    PyObject *init;
    if (!PyArg_ParseTuple(arguments, "L(LL)(LL)(LL)(LL)LpO:Conv2d", &channels, &w[0], &w[1], &s[0],
                          &s[1], &p[0], &p[1], &d[0], &d[1], &groups, &bias, &init))
        return NULL;
    hk_conv2d_layer_options options = {.window = {TWO(w)},
                                       .stride = {TWO(s)},
                                       .padding = {TWO(p)},
                                       .dilation = {TWO(d)},
                                       .groups = groups,
                                       .no_bias = !bias};
    return init_from(init, &options.init) ? (hk_conv2d_layer)(channels, w[0], &options) : NULL;
}

static hk_module *make_conv2d_transpose(PyObject *arguments)
{
    long long channels, w[2], s[2], p[2], o[2], d[2], groups;
    int bias;
    PyObject *init;
    if (!PyArg_ParseTuple(arguments, "L(LL)(LL)(LL)(LL)(LL)LpO:Conv2dTranspose", &channels, &w[0],
                          &w[1], &s[0], &s[1], &p[0], &p[1], &o[0], &o[1], &d[0], &d[1], &groups,
                          &bias, &init))
        return NULL;
    hk_conv2d_transpose_layer_options options = {.window = {TWO(w)},
                                                 .stride = {TWO(s)},
                                                 .padding = {TWO(p)},
                                                 .output_padding = {TWO(o)},
                                                 .dilation = {TWO(d)},
                                                 .groups = groups,
                                                 .no_bias = !bias};
    if (!init_from(init, &options.init))
        return NULL;
    return (hk_conv2d_transpose_layer)(channels, w[0], &options);
}

static hk_module *make_conv3d(PyObject *arguments)
{
    long long channels, w[3], s[3], p[3], d[3], groups;
    int bias;
    PyObject *init;
    if (!PyArg_ParseTuple(arguments, "L(LLL)(LLL)(LLL)(LLL)LpO:Conv3d", &channels, &w[0], &w[1],
                          &w[2], &s[0], &s[1], &s[2], &p[0], &p[1], &p[2], &d[0], &d[1], &d[2],
                          &groups, &bias, &init))
        return NULL;
    hk_conv3d_layer_options options = {.window = {THREE(w)},
                                       .stride = {THREE(s)},
                                       .padding = {THREE(p)},
                                       .dilation = {THREE(d)},
                                       .groups = groups,
                                       .no_bias = !bias};
    return init_from(init, &options.init) ? (hk_conv3d_layer)(channels, w[0], &options) : NULL;
}

static hk_module *make_conv3d_transpose(PyObject *arguments)
{
    long long channels, w[3], s[3], p[3], o[3], d[3], groups;
    int bias;
    PyObject *init;
    if (!PyArg_ParseTuple(arguments, "L(LLL)(LLL)(LLL)(LLL)(LLL)LpO:Conv3dTranspose", &channels,
                          &w[0], &w[1], &w[2], &s[0], &s[1], &s[2], &p[0], &p[1], &p[2], &o[0],
                          &o[1], &o[2], &d[0], &d[1], &d[2], &groups, &bias, &init))
        return NULL;
    hk_conv3d_transpose_layer_options options = {.window = {THREE(w)},
                                                 .stride = {THREE(s)},
                                                 .padding = {THREE(p)},
                                                 .output_padding = {THREE(o)},
                                                 .dilation = {THREE(d)},
                                                 .groups = groups,
                                                 .no_bias = !bias};
    if (!init_from(init, &options.init))
        return NULL;
    return (hk_conv3d_transpose_layer)(channels, w[0], &options);
}

static hk_module *make_conv1d(PyObject *arguments)
{
    long long channels, size, stride, padding, dilation, groups;
    int bias;
    PyObject *init;
    if (!PyArg_ParseTuple(arguments, "LLLLLLpO:Conv1d", &channels, &size, &stride, &padding,
                          &dilation, &groups, &bias, &init))
        return NULL;
    hk_conv1d_layer_options options = {.stride = stride,
                                       .padding = padding,
                                       .dilation = dilation,
                                       .groups = groups,
                                       .no_bias = !bias};
    return init_from(init, &options.init) ? (hk_conv1d_layer)(channels, size, &options) : NULL;
}

static hk_module *make_batch_norm_over(PyObject *arguments)
{
    PyObject *ranks;
    double eps, momentum;
    if (!PyArg_ParseTuple(arguments, "Odd:BatchNorm", &ranks, &eps, &momentum))
        return NULL;
    hk_group *group = py_group_from(ranks);
    return group ? hk_batch_norm_over_layer(group, eps, momentum) : NULL;
}

static hk_module *make_recurrent(PyObject *arguments)
{
    int kind, whole_state;
    long long features;
    if (!PyArg_ParseTuple(arguments, "iLp:Recurrent", &kind, &features, &whole_state))
        return NULL;
    return hk_recurrent_layer((hk_recurrent_kind)kind, features, whole_state);
}

static hk_module *make_recurrent_stack(PyObject *arguments)
{
    int kind, bidirectional, final_state;
    long long features;
    hk_recurrent_stack_options options = {0};
    if (!PyArg_ParseTuple(arguments, "iLippd:Recurrent", &kind, &features, &options.layers,
                          &bidirectional, &final_state, &options.dropout))
        return NULL;
    options.is_bidirectional = bidirectional;
    options.final_state = final_state;
    return (hk_recurrent_stack)((hk_recurrent_kind)kind, features, &options);
}

static const struct {
    const char *name;
    hk_module *(*make)(PyObject *arguments);
} makers[] = {
    {"linear", make_linear},
    {"conv2d", make_conv2d},
    {"conv2d_transpose", make_conv2d_transpose},
    {"conv1d", make_conv1d},
    {"conv3d", make_conv3d},
    {"conv3d_transpose", make_conv3d_transpose},
    {"batch_norm_over", make_batch_norm_over},
    {"recurrent", make_recurrent},
    {"recurrent_stack", make_recurrent_stack},
};

/* Of those whose constructors take numbers alone. */
static hk_module *make_named(const char *kind, PyObject *arguments)
{
    enum { MOST = 8 };
    hk_number values[MOST];
    const Py_ssize_t count = PyTuple_Size(arguments);
    for (Py_ssize_t i = 0; i < count && i < MOST; i++) {
        PyObject *value = PyTuple_GetItem(arguments, i);
        if (PyIndex_Check(value)) {
            PyObject *whole = PyNumber_Index(value);
            values[i] = hk_number_of_int(whole ? PyLong_AsLongLong(whole) : -1);
            Py_XDECREF(whole);
        } else {
            values[i] = hk_number_of_real(PyFloat_AsDouble(value));
        }
        if (PyErr_Occurred())
            return NULL;
    }
    return hk_layer_named(kind, values, (int)count);
}

/* _layer(kind, arguments) */
static PyObject *make_layer(PyObject *self, PyObject *arguments)
{
    (void)self;
    const char *kind;
    PyObject *of;
    if (!PyArg_ParseTuple(arguments, "sO!", &kind, &PyTuple_Type, &of))
        return NULL;
    hk_module *(*make)(PyObject *) = NULL;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (strcmp(kind, makers[i].name) == 0)
            make = makers[i].make;
    hk_module *module = make ? make(of) : make_named(kind, of);
    return module ? layer_or_raise(module) : NULL;
}

/* ---- using ---------------------------------------------------------------------------------------------------- */

enum { MAX_INPUTS = 8 };

static PyObject *layer_forward(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    hk_array *inputs[MAX_INPUTS];
    if (count > MAX_INPUTS) {
        PyErr_Format(PyExc_TypeError, "%zd inputs are more than a layer takes", count);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        inputs[i] = args[i] == Py_None ? NULL : py_array_get(args[i], "the input of a layer");
        if (PyErr_Occurred())
            return NULL;
    }
    HK_SCOPE; /* what layers make on the way is released here; py_wrap takes the result out */
    hk_array *y = hk_forward_all_at(py_source(), layer_handle(self), inputs, (int)count);
    py_settle(y, inputs, (int)count);
    return py_wrap(y);
}

/* All entries; the caller frees them. NULL and raises. */
static hk_module_entry *entries_of(hk_module *module, int *count)
{
    *count = hk_module_entries(module, NULL, 0);
    hk_module_entry *entries = malloc(((size_t)*count + 1) * sizeof *entries);
    if (!entries)
        PyErr_NoMemory();
    else
        hk_module_entries(module, entries, *count);
    return entries;
}

static PyObject *layer_entries(PyObject *self, PyObject *unused)
{
    (void)unused;
    int count;
    hk_module_entry *entries = entries_of(layer_handle(self), &count);
    PyObject *list = entries ? PyList_New(count) : NULL;
    for (int i = 0; list && i < count; i++) {
        PyObject *array = py_wrap(hk_array_retain(entries[i].array));
        PyObject *entry = array ? Py_BuildValue("sNO", entries[i].path, array,
                                                entries[i].is_buffer ? Py_True : Py_False)
                                : NULL;
        if (!entry || PyList_SetItem(list, i, entry) < 0)
            Py_CLEAR(list);
    }
    free(entries);
    return list;
}

static PyObject *layer_names(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_module *module = layer_handle(self);
    const int count = hk_module_names(module, HK_NAMES_TORCH, NULL, 0);
    hk_module_name *names = malloc(((size_t)count + 1) * sizeof *names);
    if (!names)
        return PyErr_NoMemory();
    hk_module_names(module, HK_NAMES_TORCH, names, count);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *entry =
            Py_BuildValue("ssii", names[i].path, names[i].name, names[i].part, names[i].parts);
        if (!entry || PyList_SetItem(list, i, entry) < 0)
            Py_CLEAR(list);
    }
    free(names);
    return list;
}

static PyObject *layer_given(PyObject *self, PyObject *unused)
{
    (void)unused;
    int count;
    hk_module_entry *entries = entries_of(layer_handle(self), &count);
    PyObject *list = entries ? PyList_New(0) : NULL;
    for (int i = 0; list && i < count; i++) {
        if (entries[i].is_made)
            continue;
        PyObject *array = py_wrap(hk_array_retain(entries[i].array));
        PyObject *entry = array ? Py_BuildValue("sN", entries[i].path, array) : NULL;
        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    free(entries);
    return list;
}

static PyObject *layer_parameters(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_module *module = layer_handle(self);
    int count = hk_module_parameters(module, NULL, 0);
    hk_array **params = malloc(((size_t)count + 1) * sizeof *params);
    if (!params)
        return PyErr_NoMemory();
    hk_module_parameters(module, params, count);
    for (int i = 0; i < count; i++)
        hk_array_retain(params[i]);
    PyObject *list = py_arrays_list(params, count);
    free(params);
    return list;
}

static PyObject *layer_set(PyObject *self, PyObject *arguments)
{
    const char *name;
    PyObject *x;
    if (!PyArg_ParseTuple(arguments, "sO:set", &name, &x))
        return NULL;
    hk_array *array = py_array_get(x, "the new value");
    if (!array || !py_check(hk_module_set_at(py_source(), layer_handle(self), name, array)))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *layer_set_training(PyObject *self, PyObject *on)
{
    hk_module_set_training(layer_handle(self), PyObject_IsTrue(on) > 0);
    Py_RETURN_NONE;
}

static PyObject *layer_freeze(PyObject *self, PyObject *on)
{
    hk_module_freeze(layer_handle(self), PyObject_IsTrue(on) > 0);
    Py_RETURN_NONE;
}

static PyObject *layer_initialize(PyObject *self, PyObject *object)
{
    hk_init init;
    if (!init_from(object, &init))
        return NULL;
    hk_module_initialize_at(py_source(), layer_handle(self), &init);
    if (!py_check(hk_module_status(layer_handle(self))))
        return NULL;
    Py_RETURN_NONE;
}

/* initialize_named(name, init) */
static PyObject *layer_initialize_named(PyObject *self, PyObject *arguments)
{
    const char *name;
    PyObject *object;
    hk_init init;
    if (!PyArg_ParseTuple(arguments, "sO", &name, &object) || !init_from(object, &init) ||
        !py_check(hk_module_initialize_named_at(py_source(), layer_handle(self), name, &init)))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *layer_replicate(PyObject *self, PyObject *where)
{
    hk_device device;
    if (!py_device_from(where, &device))
        return NULL;
    return layer_or_raise(hk_module_replicate_at(py_source(), layer_handle(self),
                                                 device.handle ? device : hk_device_default()));
}

static PyObject *layer_table(PyObject *self, PyObject *unused)
{
    (void)unused;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return PyErr_NoMemory();
    hk_module_print(layer_handle(self), out);
    PyObject *result = fclose(out) == 0 ? py_text(text) : PyErr_NoMemory();
    free(text);
    return result;
}

/* _init_draw(init, shape, dtype, device) */
static PyObject *draw(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *kind, *sizes, *type, *where;
    hk_init init;
    hk_dims shape;
    hk_dtype dtype;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "OOOO", &kind, &sizes, &type, &where) ||
        !init_from(kind, &init) || !py_dims_from(sizes, "shape", &shape) ||
        !py_dtype_from(type, &dtype) || !py_device_from(where, &device))
        return NULL;
    HK_SCOPE;
    return py_wrap(hk_init_draw_at(py_source(), &init, shape, dtype, device));
}

/* _batch_norm_train(x, gamma, beta, mean, variance, eps, momentum) */
static PyObject *batch_norm_train(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of[5];
    hk_array *arrays[5];
    hk_batch_norm_train_options options;
    if (!PyArg_ParseTuple(arguments, "OOOOOdd", &of[0], &of[1], &of[2], &of[3], &of[4],
                          &options.eps, &options.momentum))
        return NULL;
    for (int i = 0; i < 5; i++)
        if (!(arrays[i] = py_array_get(of[i], "an input of batch_norm")))
            return NULL;
    HK_SCOPE;
    hk_array *y = hk_batch_norm_train_at(py_source(), arrays[0], arrays[1], arrays[2], arrays[3],
                                         arrays[4], &options);
    py_settle(y, arrays, 5);
    return py_wrap(y);
}

/* _sinusoidal_positions(count, features, dtype, device) */
static PyObject *sinusoidal_positions(PyObject *self, PyObject *arguments)
{
    (void)self;
    long long count, features;
    PyObject *type, *where;
    hk_dtype dtype;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "LLOO", &count, &features, &type, &where) ||
        !py_dtype_from(type, &dtype) || !py_device_from(where, &device))
        return NULL;
    HK_SCOPE;
    return py_wrap(hk_sinusoidal_positions_at(py_source(), count, features, dtype, device));
}

/* _length_mask(lengths, count) */
static PyObject *length_mask(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *lengths;
    long long count;
    if (!PyArg_ParseTuple(arguments, "O!L", py_array_type, &lengths, &count))
        return NULL;
    HK_SCOPE;
    return py_wrap(hk_length_mask_at(py_source(), py_handle(lengths), count));
}

static PyMethodDef functions[] = {
    {"_layer", make_layer, METH_VARARGS, NULL},
    {"_init_draw", draw, METH_VARARGS, NULL},
    {"_sinusoidal_positions", sinusoidal_positions, METH_VARARGS, NULL},
    {"_length_mask", length_mask, METH_VARARGS, NULL},
    {"_batch_norm_train", batch_norm_train, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_layers_init(PyObject *module)
{
    return layer_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
