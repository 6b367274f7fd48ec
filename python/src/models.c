/* Networks that others made: hocket/model.h. A model is a capsule. */
#include "training.h"

#include <stdlib.h>

static const char capsule_name[] = "hocket.model";

static void model_free(PyObject *capsule)
{
    hk_model_release(PyCapsule_GetPointer(capsule, capsule_name));
}

static hk_model *model_from(PyObject *object)
{
    return PyCapsule_GetPointer(object, capsule_name);
}

/* _model_load(path, device, format or None, trainable) */
static PyObject *model_load(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *path, *on;
    const char *format;
    int trainable;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "O&Ozp:Model", PyUnicode_FSConverter, &path, &on, &format,
                          &trainable))
        return NULL;
    hk_model *model = NULL;
    if (py_device_from(on, &device)) {
        const hk_model_options options = {
            .device = device, .format = format, .trainable = trainable};
        const hk_source at = py_source();
        py_gil_release();
        model = hk_model_load_at(at, PyBytes_AsString(path), &options);
        py_gil_take();
    }
    Py_DECREF(path);
    if (!model)
        return NULL;
    if (py_check(hk_model_status(model)))
        return PyCapsule_New(model, capsule_name, model_free);
    hk_model_release(model);
    return NULL;
}

/* (name, dtype, dims or None), a free axis its name or None. */
static PyObject *describe(hk_model_value value)
{
    PyObject *dims = value.ndim < 0 ? Py_NewRef(Py_None) : PyTuple_New(value.ndim);
    for (int i = 0; dims && i < value.ndim; i++) {
        PyObject *dim = value.dims[i] >= 0 ? PyLong_FromLongLong(value.dims[i])
                        : value.axes[i]    ? PyUnicode_FromString(value.axes[i])
                                           : Py_NewRef(Py_None);
        if (!dim || PyTuple_SetItem(dims, i, dim) < 0) {
            Py_DECREF(dims);
            return NULL;
        }
    }
    PyObject *dtype = dims ? py_dtype_object(value.dtype) : NULL;
    if (!dtype) {
        Py_XDECREF(dims);
        return NULL;
    }
    return Py_BuildValue("(sNN)", value.name, dtype, dims);
}

/* _model_values(model, outputs): a list. */
static PyObject *model_values(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object;
    int outputs;
    if (!PyArg_ParseTuple(arguments, "Op", &object, &outputs))
        return NULL;
    const hk_model *model = model_from(object);
    PyObject *list = model ? PyList_New(0) : NULL;
    const int count = outputs ? hk_model_output_count(model) : hk_model_input_count(model);
    for (int i = 0; list && i < count; i++) {
        PyObject *one = describe(outputs ? hk_model_output(model, i) : hk_model_input(model, i));
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* _model_parameters(model): a dictionary, by name. */
static PyObject *model_parameters(PyObject *self, PyObject *object)
{
    (void)self;
    const hk_model *model = model_from(object);
    PyObject *all = model ? PyDict_New() : NULL;
    for (int i = 0; all && i < hk_model_parameter_count(model); i++) {
        PyObject *one = py_wrap(hk_array_retain(hk_model_parameter(model, i)));
        if (!one || PyDict_SetItemString(all, hk_model_parameter_name(model, i), one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

static PyObject *model_text(PyObject *self, PyObject *object)
{
    (void)self;
    const hk_model *model = model_from(object);
    char *text = model ? hk_model_to_string(model) : NULL;
    PyObject *result = text ? py_text(text) : model ? PyErr_NoMemory() : NULL;
    free(text);
    return result;
}

/* _model_run(model, inputs): a list. */
static PyObject *model_run(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *sequence;
    py_arrays inputs;
    if (!PyArg_ParseTuple(arguments, "OO", &object, &sequence))
        return NULL;
    hk_model *model = model_from(object);
    if (!model || !py_arrays_from(sequence, "an input of a model", &inputs))
        return NULL;
    const int count = hk_model_output_count(model);
    hk_array **outputs = calloc((size_t)count + 1, sizeof(hk_array *));
    PyObject *list = outputs ? PyList_New(0) : PyErr_NoMemory();
    if (list) {
        const hk_source at = py_source();
        py_gil_release();
        hk_model_run_at(at, model, inputs.handles, inputs.count, outputs, count);
        py_gil_take();
    }
    for (int i = 0; outputs && i < count; i++) {
        PyObject *one = outputs[i] && list ? py_wrap(outputs[i]) : NULL;
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    free(outputs);
    py_arrays_release(&inputs);
    return list;
}

/* ---- the way out ------------------------------------------------------------------------------- */

/* A Python function that is to be exported. */
typedef struct exported {
    PyObject *function;
    PyObject *kept; /* its last result, whose arrays are still to be read */
} exported;

/* What a result is made of: an Array, or a sequence of Arrays. A new tuple; NULL and raises. */
static PyObject *outputs_of(PyObject *result)
{
    const bool are_several = PyTuple_Check(result) || PyList_Check(result);
    return are_several ? PySequence_Tuple(result) : PyTuple_Pack(1, result);
}

static bool call_exported(exported *self, hk_array *const *inputs, int input_count,
                          hk_array **outputs, int *output_count)
{
    PyObject *arguments = PyTuple_New(input_count);
    Py_CLEAR(self->kept);
    for (int i = 0; arguments && i < input_count; i++) {
        PyObject *one = py_wrap(hk_array_retain(inputs[i]));
        if (!one || PyTuple_SetItem(arguments, i, one) < 0)
            Py_CLEAR(arguments);
    }
    PyObject *result = arguments ? PyObject_CallObject(self->function, arguments) : NULL;
    Py_XDECREF(arguments);
    self->kept = result ? outputs_of(result) : NULL;
    Py_XDECREF(result);
    const Py_ssize_t count = self->kept ? PyTuple_Size(self->kept) : 0;
    if (self->kept && count > HK_EXPORT_OUTPUTS)
        PyErr_Format(PyExc_ValueError, "%zd results are more than can be exported", count);
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++)
        outputs[i] = py_array_get(PyTuple_GetItem(self->kept, i), "a result that is exported");
    *output_count = (int)count;
    return !PyErr_Occurred();
}

static bool exported_call(void *context, hk_array *const *inputs, int input_count,
                          hk_array **outputs, int *output_count)
{
    py_gil_take();
    const bool is_good = call_exported(context, inputs, input_count, outputs, output_count);
    py_gil_release();
    return is_good;
}

/* The texts of a tuple, borrowed; *texts NULL where it is None. False: raised. */
static bool texts_from(PyObject *tuple, const char ***texts, int *count)
{
    const Py_ssize_t size = tuple == Py_None ? -1 : PyTuple_Size(tuple);
    *texts = NULL;
    *count = 0;
    if (tuple == Py_None)
        return true;
    if (size < 0 || !(*texts = calloc((size_t)size + 1, sizeof **texts)))
        return size >= 0 ? PyErr_NoMemory() != NULL : false;
    for (Py_ssize_t i = 0; i < size; i++)
        if (!((*texts)[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), NULL)))
            return false;
    *count = (int)size;
    return true;
}

/* _model_export(path, function, inputs, input names or None, output names or None, batch or None,
 * format or None, arrays, their names) */
static PyObject *model_export(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *path, *function, *given, *tuples[3], *named;
    hk_model_export_options options = {.format = NULL};
    const char **texts[3] = {NULL};
    int counts[3] = {0};
    py_arrays inputs = {.count = 0}, arrays = {.count = 0};
    const hk_status *status = NULL;
    if (!PyArg_ParseTuple(arguments, "O&OOOOzzOO:export", PyUnicode_FSConverter, &path, &function,
                          &given, &tuples[0], &tuples[1], &options.batch, &options.format, &named,
                          &tuples[2]))
        return NULL;
    if (py_arrays_from(given, "an input of what is exported", &inputs)) {
        if (py_arrays_from(named, "an array with a name", &arrays)) {
            exported its = {function, NULL};
            bool is_good = true;
            for (int i = 0; i < 3 && is_good; i++)
                is_good = texts_from(tuples[i], &texts[i], &counts[i]);
            options.input_names = texts[0];
            options.output_names = texts[1];
            options.arrays = arrays.handles;
            options.array_names = texts[2];
            options.array_count = counts[2];
            if (is_good) {
                const hk_source at = py_source();
                py_gil_release();
                status = hk_model_export_call_at(at, PyBytes_AsString(path), exported_call, &its,
                                                 inputs.handles, inputs.count, &options);
                py_gil_take();
            }
            Py_XDECREF(its.kept);
            for (int i = 0; i < 3; i++)
                free(texts[i]);
            py_arrays_release(&arrays);
        }
        py_arrays_release(&inputs);
    }
    Py_DECREF(path);
    if (!status || PyErr_Occurred() || !py_check(status))
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_model_export", model_export, METH_VARARGS, NULL},
    {"_model_load", model_load, METH_VARARGS, NULL},
    {"_model_values", model_values, METH_VARARGS, NULL},
    {"_model_parameters", model_parameters, METH_O, NULL},
    {"_model_text", model_text, METH_O, NULL},
    {"_model_run", model_run, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_models_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
