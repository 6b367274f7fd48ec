/* Dtypes, devices, shapes: as objects, and from arguments. */
#include "core.h"

#include <string.h>

PyTypeObject *py_dtype_type, *py_device_type;
static PyObject *dtypes[HK_DTYPE_COUNT];

/* ---- dtypes ------------------------------------------------------------------------------------------------- */

static const char *name_of(PyObject *self)
{
    return hk_dtype_name(((py_dtype *)self)->dtype);
}

static PyObject *dtype_repr(PyObject *self)
{
    return PyUnicode_FromFormat("hocket.%s", name_of(self));
}

static PyObject *dtype_str(PyObject *self)
{
    return PyUnicode_FromString(name_of(self));
}

static Py_hash_t dtype_hash(PyObject *self)
{
    PyObject *name = dtype_str(self);
    Py_hash_t hash = name ? PyObject_Hash(name) : -1;
    Py_XDECREF(name);
    return hash;
}

static bool dtype_named(const char *name, hk_dtype *dtype)
{
    for (int i = 0; i < HK_DTYPE_COUNT; i++)
        if (strcmp(name, hk_dtype_name((hk_dtype)i)) == 0) {
            *dtype = (hk_dtype)i;
            return true;
        }
    return false;
}

static bool dtype_of_text(PyObject *text, hk_dtype *dtype)
{
    const char *name = py_chars(text, "dtype");
    if (!name)
        PyErr_Clear();
    return name && dtype_named(name, dtype);
}

/* The name that another library's dtype tells: np.dtype("float32").name, np.float32.__name__; str(torch.float32) is
 * "torch.float32". */
static PyObject *name_told(PyObject *object)
{
    static const char *const attributes[] = {"name", "__name__"};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        PyObject *name = PyObject_GetAttrString(object, attributes[i]);
        if (name && PyUnicode_Check(name))
            return name;
        Py_XDECREF(name);
        PyErr_Clear();
    }
    PyObject *text = PyObject_Str(object);
    const char *whole = text ? py_chars(text, "dtype") : NULL;
    PyObject *name = NULL;
    if (whole && strncmp(whole, "torch.", 6) == 0)
        name = PyUnicode_FromString(whole + 6);
    Py_XDECREF(text);
    PyErr_Clear();
    return name;
}

/* Without an exception; Python's own types mean the dtypes that numbers of theirs get. */
static bool dtype_told(PyObject *object, hk_dtype *dtype)
{
    if (Py_TYPE(object) == py_dtype_type)
        return *dtype = ((py_dtype *)object)->dtype, true;
    if (object == (PyObject *)&PyFloat_Type)
        return *dtype = HK_F32, true;
    if (object == (PyObject *)&PyLong_Type)
        return *dtype = HK_I64, true;
    if (object == (PyObject *)&PyComplex_Type)
        return *dtype = HK_C64, true;
    if (PyUnicode_Check(object))
        return dtype_of_text(object, dtype);
    PyObject *name = name_told(object);
    bool found = name && dtype_of_text(name, dtype);
    Py_XDECREF(name);
    return found;
}

bool py_dtype_from(PyObject *object, hk_dtype *dtype)
{
    if (dtype_told(object, dtype))
        return true;
    PyErr_Format(PyExc_TypeError, "dtype is %R, which is no dtype of Hocket's, such as float32",
                 object);
    return false;
}

PyObject *py_dtype_object(hk_dtype dtype)
{
    return Py_NewRef(dtypes[dtype]);
}

static PyObject *dtype_compare(PyObject *self, PyObject *other, int how)
{
    hk_dtype dtype;
    if (how != Py_EQ && how != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    bool same = dtype_told(other, &dtype) && dtype == ((py_dtype *)self)->dtype;
    return PyBool_FromLong(same == (how == Py_EQ));
}

static PyObject *dtype_name(PyObject *self, void *unused)
{
    (void)unused;
    return dtype_str(self);
}

static PyObject *dtype_item_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(hk_dtype_bytes(((py_dtype *)self)->dtype));
}

static PyObject *dtype_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return dtype_str(self); /* pickle: the global of that name in the module of the type */
}

static PyObject *dtype_kind(PyObject *self, void *unused)
{
    static const char letters[] = {'b', 'i', 'f', 'c'};
    (void)unused;
    const hk_dtype dtype = ((py_dtype *)self)->dtype;
    const bool is_unsigned = py_kind(dtype) == 1 && *hk_dtype_name(dtype) == 'u';
    return PyUnicode_FromStringAndSize(is_unsigned ? "u" : &letters[py_kind(dtype)], 1);
}

/* What np.dtype() asks for: by the first name from NumPy 2.4 on, and by the other before. */
static PyObject *dtype_of_numpy(PyObject *self, void *unused)
{
    (void)unused;
    const hk_dtype dtype = ((py_dtype *)self)->dtype;
    if (dtype == HK_BF16) {
        PyErr_SetString(PyExc_AttributeError, "NumPy has no bfloat16");
        return NULL;
    }
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *made = numpy ? PyObject_CallMethod(numpy, "dtype", "s", hk_dtype_name(dtype)) : NULL;
    Py_XDECREF(numpy);
    return made;
}

static PyGetSetDef dtype_attributes[] = {
    {"__numpy_dtype__", dtype_of_numpy, NULL, NULL, NULL},
    {"dtype", dtype_of_numpy, NULL, "NumPy's dtype of that name", NULL},
    {"kind", dtype_kind, NULL, "NumPy's letter for its kind: b, i, u, f or c", NULL},
    {"name", dtype_name, NULL, "its name, such as 'float32'", NULL},
    {"itemsize", dtype_item_size, NULL, "bytes of an element", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot dtype_slots[] = {
    {Py_tp_doc,
     "An element type. Equal to its name, and to NumPy's and PyTorch's dtype of that name."},
    {Py_tp_repr, dtype_repr},
    {Py_tp_str, dtype_str},
    {Py_tp_hash, dtype_hash},
    {Py_tp_richcompare, dtype_compare},
    {Py_tp_getset, dtype_attributes},
    {Py_tp_methods, dtype_methods},
    {0, NULL},
};
static PyType_Spec dtype_spec = {
    .name = "hocket.DType",
    .basicsize = sizeof(py_dtype),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = dtype_slots,
};

/* ---- devices -------------------------------------------------------------------------------------------------- */

PyObject *py_device_object(hk_device device)
{
    py_device *self = PyObject_New(py_device, py_device_type);
    if (self)
        self->device = device;
    return (PyObject *)self;
}

static void device_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

bool py_device_from(PyObject *object, hk_device *device)
{
    if (object == Py_None)
        return *device = (hk_device){NULL}, true;
    if (Py_TYPE(object) == py_device_type)
        return *device = ((py_device *)object)->device, true;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError,
                     "device is %R, which is neither a Device nor a name such as 'cpu:0'", object);
        return false;
    }
    const char *name = py_chars(object, "device");
    if (!name)
        return false;
    *device = hk_device_named(strcmp(name, "cpu") == 0 ? "cpu:0" : name);
    return py_check(hk_device_status(*device));
}

static PyObject *device_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)type;
    PyObject *name;
    static char *names[] = {"name", NULL};
    hk_device device;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:Device", names, &name) ||
        !py_device_from(name, &device))
        return NULL;
    return py_device_object(device.handle ? device : hk_device_default());
}

static const char *device_text(PyObject *self)
{
    return hk_device_name(((py_device *)self)->device);
}

static PyObject *device_repr(PyObject *self)
{
    return PyUnicode_FromFormat("Device('%s')", device_text(self));
}

static PyObject *device_str(PyObject *self)
{
    return py_text(device_text(self));
}

static Py_hash_t device_hash(PyObject *self)
{
    PyObject *name = device_str(self);
    Py_hash_t hash = name ? PyObject_Hash(name) : -1;
    Py_XDECREF(name);
    return hash;
}

static PyObject *device_compare(PyObject *self, PyObject *other, int how)
{
    if (how != Py_EQ && how != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *mine = device_str(self);
    PyObject *name = PyUnicode_Check(other)             ? Py_NewRef(other)
                     : Py_TYPE(other) == py_device_type ? device_str(other)
                                                        : Py_NewRef(Py_None);
    PyObject *result = mine && name ? PyObject_RichCompare(mine, name, how) : NULL;
    Py_XDECREF(mine);
    Py_XDECREF(name);
    return result;
}

static PyObject *device_kind(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(hk_device_kind(((py_device *)self)->device));
}

static PyObject *device_index(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(hk_device_ordinal(((py_device *)self)->device));
}

static PyObject *device_cores(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(hk_device_cores(((py_device *)self)->device));
}

static PyObject *device_description(PyObject *self, void *unused)
{
    (void)unused;
    return py_text(hk_device_description(((py_device *)self)->device));
}

static PyObject *device_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("O(N)", py_device_type, device_str(self));
}

static PyGetSetDef device_attributes[] = {
    {"kind", device_kind, NULL, "'cpu', 'sim' or 'cuda'", NULL},
    {"type", device_kind, NULL, "the same as kind", NULL},
    {"index", device_index, NULL, "its number among those of its kind, from 0", NULL},
    {"cores", device_cores, NULL, "how many cores it may use", NULL},
    {"description", device_description, NULL, "what a simulated device models, or which GPU it is",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot device_slots[] = {
    {Py_tp_doc,
     "Device(name)\n--\n\nA device, such as 'cpu:0', 'sim:1' or 'cuda:0'. Equal to its name."},
    {Py_tp_new, device_new},
    {Py_tp_dealloc, device_free},
    {Py_tp_repr, device_repr},
    {Py_tp_str, device_str},
    {Py_tp_hash, device_hash},
    {Py_tp_richcompare, device_compare},
    {Py_tp_getset, device_attributes},
    {Py_tp_methods, device_methods},
    {0, NULL},
};
static PyType_Spec device_spec = {
    .name = "hocket.Device",
    .basicsize = sizeof(py_device),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = device_slots,
};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool size_from(PyObject *object, const char *argument, int64_t *size)
{
    PyObject *number = PyNumber_Index(object);
    *size = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (!PyErr_Occurred())
        return true;
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s is to be an int or a sequence of ints, not %R", argument,
                     object);
    }
    return false;
}

bool py_dims_from(PyObject *object, const char *argument, hk_dims *dims)
{
    if (PyLong_Check(object) || !PySequence_Check(object)) {
        dims->ndim = 1;
        return size_from(object, argument, &dims->dims[0]);
    }
    Py_ssize_t count = PySequence_Size(object);
    if (count < 0)
        return false;
    if (count > HK_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%s has %zd entries; an array has at most %d axes", argument,
                     count, HK_MAX_NDIM);
        return false;
    }
    dims->ndim = (int)count;
    bool good = true;
    for (Py_ssize_t i = 0; good && i < count; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        good = item && size_from(item, argument, &dims->dims[i]);
        Py_XDECREF(item);
    }
    return good;
}

PyObject *py_dims_object(const hk_dims *dims)
{
    PyObject *tuple = PyTuple_New(dims->ndim);
    for (int i = 0; tuple && i < dims->ndim; i++) {
        PyObject *size = PyLong_FromLongLong(dims->dims[i]);
        if (!size || PyTuple_SetItem(tuple, i, size) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* ---- the module's part -------------------------------------------------------------------------------------------- */

bool py_facts_init(PyObject *module)
{
    py_dtype_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &dtype_spec, NULL);
    py_device_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &device_spec, NULL);
    if (!py_dtype_type || !py_device_type || PyModule_AddType(module, py_dtype_type) < 0 ||
        PyModule_AddType(module, py_device_type) < 0)
        return false;
    for (int i = 0; i < HK_DTYPE_COUNT; i++) {
        py_dtype *self = PyObject_New(py_dtype, py_dtype_type);
        if (!self)
            return false;
        self->dtype = (hk_dtype)i;
        dtypes[i] = (PyObject *)self;
        if (PyModule_AddObjectRef(module, hk_dtype_name((hk_dtype)i), dtypes[i]) < 0)
            return false;
    }
    return true;
}
