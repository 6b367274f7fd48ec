/* Memory that Hocket and another library share: the buffer protocol, DLPack 1.x, and arrays over foreign memory.
 *
 * Order: while memory is shared, a call that reads or writes it is waited for before the program goes on. So what NumPy or
 * PyTorch do next, at once, comes behind it. Arrays that are not shared pay a look at one counter. */
#include "core.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

atomic_long py_shared_count;

/* ---- order ----------------------------------------------------------------------------------------------------- */

bool py_settle_shared(hk_array *result, hk_array *const *inputs, int count)
{
    bool shared = hk_is_shared(result);
    for (int i = 0; i < count && !shared; i++)
        shared = hk_is_shared(inputs[i]);
    if (shared)
        hk_wait(result); /* what failed is told where it is looked at; an interrupt is noted */
    return shared;
}

/* ---- lending ------------------------------------------------------------------------------------------------------ */

/* Elements that are out: with a buffer, or with a DLPack tensor. */
typedef struct lent {
    hk_array *x; /* counted */
    hk_loan loan;
} lent;

static void lent_end(lent *self)
{
    hk_data_return(&self->loan);
    hk_array_release(self->x);
    atomic_fetch_sub(&py_shared_count, 1);
}

/* x's own elements. Raises. */
static bool lent_begin(lent *self, hk_array *x, hk_borrow_mode mode)
{
    self->x = hk_array_retain(x);
    atomic_fetch_add(&py_shared_count, 1);
    if (py_check(hk_data_borrow_at(py_source(), self->x, mode, &self->loan)))
        return true;
    hk_array_release(self->x);
    atomic_fetch_sub(&py_shared_count, 1);
    return false;
}

/* Another library can reach the memory. */
static bool is_of_host(hk_array *x)
{
    return strcmp(hk_device_kind(hk_array_device(x)), "cpu") == 0;
}

/* ---- the buffer protocol ------------------------------------------------------------------------------------------- */

const char *py_format_of(hk_dtype dtype)
{
    static const char *const formats[HK_DTYPE_COUNT] = {
        [HK_F32] = "f", [HK_F64] = "d", [HK_F16] = "e",  [HK_BOOL] = "?", [HK_I8] = "b",
        [HK_I16] = "h", [HK_I32] = "i", [HK_I64] = "q",  [HK_U8] = "B",   [HK_U16] = "H",
        [HK_U32] = "I", [HK_U64] = "Q", [HK_C64] = "Zf", [HK_C128] = "Zd"};
    return formats[dtype];
}

typedef struct exported {
    lent lent;
    Py_ssize_t shape[HK_MAX_NDIM], strides[HK_MAX_NDIM];
} exported;

static void describe(exported *self, Py_buffer *view, int flags)
{
    hk_array *x = self->lent.x;
    hk_dims shape = hk_dims_get(x), strides = hk_strides_get(x);
    hk_dtype dtype = hk_array_dtype(x);
    Py_ssize_t bytes = (Py_ssize_t)hk_dtype_bytes(dtype);
    for (int i = 0; i < shape.ndim; i++) {
        self->shape[i] = (Py_ssize_t)shape.dims[i];
        self->strides[i] = (Py_ssize_t)strides.dims[i] * bytes;
    }
    view->buf = self->lent.loan.data;
    view->len = (Py_ssize_t)hk_size(x) * bytes;
    view->itemsize = bytes;
    view->ndim = shape.ndim;
    view->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)py_format_of(dtype) : NULL;
    view->shape = flags & PyBUF_ND ? self->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
    view->suboffsets = NULL;
}

/* NumPy drops what a buffer raises, and asks for __array__ next. */
static PyObject *interrupted; /* whose buffer: only its address counts */

static PyObject *raise_interrupt(PyObject *self, PyObject *array)
{
    (void)self;
    bool lost = interrupted == array;
    interrupted = NULL;
    if (!lost)
        Py_RETURN_NONE;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return NULL;
}

/* The buffer of `self`, of elements of x. Raises. */
static int get_buffer(PyObject *self, hk_array *x, Py_buffer *view, int flags, hk_borrow_mode mode)
{
    view->obj = NULL;
    if (!is_of_host(x) || !py_format_of(hk_array_dtype(x))) {
        PyErr_Format(PyExc_BufferError, "%s on %s has no buffer", hk_dtype_name(hk_array_dtype(x)),
                     hk_device_name(hk_array_device(x)));
        return -1;
    }
    if (!hk_is_contiguous(x) && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        PyErr_SetString(PyExc_BufferError, "the array is not contiguous");
        return -1;
    }
    if (mode == HK_BORROW_EXTERNAL_READ && (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError,
                        "an Array lends its memory for reading; x.lend() is for writing into it");
        return -1;
    }
    exported *made = malloc(sizeof *made);
    if (!made || !lent_begin(&made->lent, x, mode)) {
        free(made);
        if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
            interrupted = self;
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return -1;
    }
    interrupted = NULL;
    describe(made, view, flags);
    view->readonly = mode == HK_BORROW_EXTERNAL_READ;
    view->internal = made;
    view->obj = Py_NewRef(self);
    return 0;
}

int py_array_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    return get_buffer(self, py_handle(self), view, flags, HK_BORROW_EXTERNAL_READ);
}

void py_array_release_buffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    exported *made = view->internal;
    lent_end(&made->lent);
    free(made);
}

/* ---- DLPack: the structs of dlpack.h, version 1.1 ------------------------------------------------------------------ */

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_EXTENSION = 12 };
enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_COMPLEX, DL_BOOL };
enum { DL_READ_ONLY = 1, DL_IS_COPIED = 2, DL_MAJOR = 1, DL_MINOR = 1 };

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

static const char *const old_name = "dltensor", *const new_name = "dltensor_versioned";

static const struct {
    uint8_t code, bits;
} dl_dtypes[HK_DTYPE_COUNT] = {
    [HK_F32] = {DL_FLOAT, 32},   [HK_F64] = {DL_FLOAT, 64},   [HK_F16] = {DL_FLOAT, 16},
    [HK_BF16] = {DL_BFLOAT, 16}, [HK_BOOL] = {DL_BOOL, 8},    [HK_I8] = {DL_INT, 8},
    [HK_I16] = {DL_INT, 16},     [HK_I32] = {DL_INT, 32},     [HK_I64] = {DL_INT, 64},
    [HK_U8] = {DL_UINT, 8},      [HK_U16] = {DL_UINT, 16},    [HK_U32] = {DL_UINT, 32},
    [HK_U64] = {DL_UINT, 64},    [HK_C64] = {DL_COMPLEX, 64}, [HK_C128] = {DL_COMPLEX, 128}};

/* ---- giving a tensor ------------------------------------------------------------------------------------------------ */

/* What a capsule holds: either form of tensor, and what keeps its memory. */
typedef struct given {
    lent lent;
    hk_dims shape, strides;
    dl_managed old_form;
    dl_versioned new_form;
} given;

static void given_end(given *self)
{
    lent_end(&self->lent);
    free(self);
}

/* By the other library: from any thread, with or without the GIL. */
static void delete_old(dl_managed *form)
{
    given_end(form->context);
}

static void delete_new(dl_versioned *form)
{
    given_end(form->context);
}

/* Of capsules that nobody took the tensor of; those that somebody did have another name. */
static void drop_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, old_name)) {
        dl_managed *form = PyCapsule_GetPointer(capsule, old_name);
        if (form->deleter)
            form->deleter(form);
    } else if (PyCapsule_IsValid(capsule, new_name)) {
        dl_versioned *form = PyCapsule_GetPointer(capsule, new_name);
        if (form->deleter)
            form->deleter(form);
    }
}

static dl_tensor tensor_of(given *self)
{
    hk_array *x = self->lent.x;
    hk_dtype dtype = hk_array_dtype(x);
    self->shape = hk_dims_get(x);
    self->strides = hk_strides_get(x);
    return (dl_tensor){.data = self->lent.loan.data,
                       .device = {DL_CPU, 0},
                       .ndim = self->shape.ndim,
                       .dtype = {dl_dtypes[dtype].code, dl_dtypes[dtype].bits, 1},
                       .shape = self->shape.dims,
                       .strides = self->strides.dims};
}

/* _dlpack(x, is_versioned, is_copy, is_for_writing): a capsule over the elements of an array of a
 * CPU device. The form without a version cannot say that they are for reading. */
static PyObject *capsule_of(PyObject *self, PyObject *arguments)
{
    PyObject *object;
    int is_versioned, is_copy, writes;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "O!ppp:_dlpack", py_array_type, &object, &is_versioned,
                          &is_copy, &writes))
        return NULL;
    const uint64_t flags = (is_copy ? DL_IS_COPIED : 0) | (writes ? 0 : DL_READ_ONLY);
    given *made = calloc(1, sizeof *made);
    if (!made || !lent_begin(&made->lent, py_handle(object),
                             writes ? HK_BORROW_EXTERNAL : HK_BORROW_EXTERNAL_READ)) {
        free(made);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    made->old_form =
        (dl_managed){.tensor = tensor_of(made), .context = made, .deleter = delete_old};
    made->new_form = (dl_versioned){.version = {DL_MAJOR, DL_MINOR},
                                    .context = made,
                                    .deleter = delete_new,
                                    .flags = flags,
                                    .tensor = made->old_form.tensor};
    PyObject *capsule = is_versioned ? PyCapsule_New(&made->new_form, new_name, drop_capsule)
                                     : PyCapsule_New(&made->old_form, old_name, drop_capsule);
    if (!capsule)
        given_end(made);
    return capsule;
}

/* (kind, number) by DLPack's numbers */
static PyObject *array_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_device device = hk_array_device(py_handle(self));
    const char *kind = hk_device_kind(device);
    if (strcmp(kind, "cpu") == 0)
        return Py_BuildValue("ii", DL_CPU, 0);
    return Py_BuildValue("ii", strcmp(kind, "cuda") == 0 ? DL_CUDA : DL_EXTENSION,
                         hk_device_ordinal(device));
}

/* ---- lending for writing -------------------------------------------------------------------------------------------- */

/* hocket._core.Lent: what x.lend() gives. */
typedef struct py_lent {
    PyObject_HEAD PyObject *array;
} py_lent;
static PyTypeObject *lent_type;

static int lent_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    hk_array *x = py_handle(((py_lent *)self)->array);
    return get_buffer(self, x, view, flags, HK_BORROW_EXTERNAL);
}

static void lent_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(((py_lent *)self)->array);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *array_lend(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!py_may_write(py_handle(self)))
        return NULL;
    py_lent *made = PyObject_New(py_lent, lent_type);
    if (made)
        made->array = Py_NewRef(self);
    return (PyObject *)made;
}

bool py_sharing_init(PyObject *module)
{
    static PyMemberDef members[] = {
        {"_array", T_OBJECT_EX, offsetof(py_lent, array), READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Memory of an Array that others may write into: it has a buffer, and DLPack."},
        {Py_tp_dealloc, lent_free},
        {Py_tp_members, members},
        {Py_bf_getbuffer, lent_get_buffer},
        {Py_bf_releasebuffer, py_array_release_buffer},
        {0, NULL}};
    PyType_Spec spec = {.name = "hocket._core.Lent",
                        .basicsize = sizeof(py_lent),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    lent_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return lent_type && PyModule_AddType(module, lent_type) == 0;
}

/* ---- arrays over foreign memory ------------------------------------------------------------------------------------ */

/* Gives the keeper of the memory back: at once where the thread has the GIL, else soon, by the main thread. */
static void free_foreign(void *keeper)
{
    atomic_fetch_sub(&py_shared_count, 1);
    py_release_anyhow(keeper);
}

/* Where the elements begin in memory, and strides that are not negative: what hk_from_memory takes. */
typedef struct foreign {
    char *data;
    hk_dims shape;
    int64_t strides[HK_MAX_NDIM]; /* elements */
    bool is_reversed[HK_MAX_NDIM];
    hk_dtype dtype;
    bool is_read_only;
} foreign;

static void turn_forward(foreign *self)
{
    for (int i = 0; i < self->shape.ndim; i++) {
        self->is_reversed[i] = self->strides[i] < 0 && self->shape.dims[i] > 1;
        if (self->is_reversed[i])
            self->data +=
                self->strides[i] * (self->shape.dims[i] - 1) * (int64_t)hk_dtype_bytes(self->dtype);
        if (self->strides[i] < 0)
            self->strides[i] = -self->strides[i];
    }
}

static hk_array *turn_back(const foreign *self, hk_array *x)
{
    static const hk_operator *flip;
    if (!flip)
        flip = hk_operator_find("flip");
    for (int i = 0; i < self->shape.ndim; i++)
        if (self->is_reversed[i]) {
            int64_t axis = i;
            hk_array *turned = py_call(flip, &x, 1, &axis, (hk_device){NULL});
            hk_array_release(x);
            x = turned;
        }
    return x;
}

/* An Array over the memory, which `keeper` keeps: a reference that is taken, in any case. */
static PyObject *adopt(foreign *self, hk_device device, PyObject *keeper)
{
    turn_forward(self);
    const hk_memory_options options = {.strides = self->strides,
                                       .free = free_foreign,
                                       .context = keeper,
                                       .is_read_only = self->is_read_only};
    atomic_fetch_add(&py_shared_count, 1);
    hk_array *x =
        hk_from_memory_at(py_source(), self->data, self->shape, self->dtype, device, &options);
    hk_loan loan;
    if (!hk_is_read_only(x) && hk_size(x) > 0 && /* the tape is to know that it does not know */
        hk_ok(hk_data_borrow(x, HK_BORROW_EXTERNAL, &loan)))
        hk_data_return(&loan);
    return py_wrap(turn_back(self, x));
}

static bool foreign_of_buffer(foreign *self, const Py_buffer *view)
{
    if (!py_dtype_of_format(view, &self->dtype) || view->ndim > HK_MAX_NDIM)
        return false;
    self->data = view->buf;
    self->shape.ndim = view->ndim;
    self->is_read_only = view->readonly;
    for (int i = 0; i < view->ndim; i++) {
        self->shape.dims[i] = view->shape[i];
        self->strides[i] = view->strides[i] / view->itemsize;
        if (view->strides[i] % view->itemsize && view->shape[i] > 1)
            return false;
    }
    const uintptr_t part = (uintptr_t)(view->itemsize > 8 ? 8 : view->itemsize);
    return (uintptr_t)view->buf % part == 0;
}

/* _adopt_buffer(object, device): an Array over the memory of anything with a buffer. Raises BufferError where that cannot be. */
static PyObject *adopt_buffer(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *device_given;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "OO:_adopt_buffer", &object, &device_given) ||
        !py_device_from(device_given, &device))
        return NULL;
    PyObject *keeper = PyMemoryView_FromObject(object);
    Py_buffer view;
    if (!keeper || PyObject_GetBuffer(keeper, &view, PyBUF_FULL_RO) < 0) {
        Py_XDECREF(keeper);
        return NULL;
    }
    foreign made = {0};
    bool good = foreign_of_buffer(&made, &view);
    PyBuffer_Release(&view);
    if (good)
        return adopt(&made, device, keeper);
    Py_DECREF(keeper);
    PyErr_SetString(PyExc_BufferError, "memory of such elements or strides cannot be shared");
    return NULL;
}

/* ---- taking a tensor ------------------------------------------------------------------------------------------------ */

static const char *const keeper_name = "hocket.tensor", *const old_keeper_name =
                                                            "hocket.old_tensor";

static void drop_keeper(PyObject *keeper)
{
    if (PyCapsule_IsValid(keeper, keeper_name)) {
        dl_versioned *form = PyCapsule_GetPointer(keeper, keeper_name);
        if (form->deleter)
            form->deleter(form);
    } else {
        dl_managed *form = PyCapsule_GetPointer(keeper, old_keeper_name);
        if (form->deleter)
            form->deleter(form);
    }
}

static bool dtype_of_tensor(const dl_tensor *tensor, hk_dtype *dtype)
{
    for (int i = 0; i < HK_DTYPE_COUNT; i++)
        if (dl_dtypes[i].code == tensor->dtype.code && dl_dtypes[i].bits == tensor->dtype.bits &&
            tensor->dtype.lanes == 1)
            return *dtype = (hk_dtype)i, true;
    return false;
}

static bool foreign_of_tensor(foreign *self, const dl_tensor *tensor)
{
    if (tensor->device.type != DL_CPU && tensor->device.type != DL_CUDA_HOST) {
        PyErr_Format(PyExc_BufferError,
                     "the tensor is on a device of the kind %d, not in the host's memory",
                     (int)tensor->device.type);
        return false;
    }
    if (!dtype_of_tensor(tensor, &self->dtype) || tensor->ndim > HK_MAX_NDIM || tensor->ndim < 0) {
        PyErr_Format(PyExc_BufferError,
                     "a tensor of %d axes and elements (%d, %d bits, %d lanes) has no array here",
                     (int)tensor->ndim, tensor->dtype.code, tensor->dtype.bits,
                     tensor->dtype.lanes);
        return false;
    }
    self->data = (char *)tensor->data + tensor->byte_offset;
    self->shape.ndim = tensor->ndim;
    int64_t next = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        self->shape.dims[i] = tensor->shape[i];
        self->strides[i] = tensor->strides ? tensor->strides[i] : next;
        next *= tensor->shape[i] > 0 ? tensor->shape[i] : 1;
    }
    return true;
}

/* The capsule's tensor is taken: nobody else deletes it. NULL: raised. */
static PyObject *keeper_of(PyObject *capsule, foreign *made)
{
    bool is_new = PyCapsule_IsValid(capsule, new_name);
    if (!is_new && !PyCapsule_IsValid(capsule, old_name)) {
        PyErr_SetString(PyExc_BufferError,
                        "no DLPack capsule, or one whose tensor was taken before");
        return NULL;
    }
    void *form = PyCapsule_GetPointer(capsule, is_new ? new_name : old_name);
    const dl_versioned *versioned = form;
    if (is_new && versioned->version.major != DL_MAJOR) {
        PyErr_Format(PyExc_BufferError, "DLPack version %u is not known here",
                     (unsigned)versioned->version.major);
        return NULL;
    }
    made->is_read_only = is_new && versioned->flags & DL_READ_ONLY;
    if (!foreign_of_tensor(made, is_new ? &versioned->tensor : &((const dl_managed *)form)->tensor))
        return NULL;
    PyObject *keeper = PyCapsule_New(form, is_new ? keeper_name : old_keeper_name, drop_keeper);
    if (keeper)
        PyCapsule_SetName(capsule, is_new ? "used_dltensor_versioned" : "used_dltensor");
    return keeper;
}

/* _adopt_capsule(capsule, device) */
static PyObject *adopt_capsule(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *capsule, *device_given;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "OO:_adopt_capsule", &capsule, &device_given) ||
        !py_device_from(device_given, &device))
        return NULL;
    foreign made = {0};
    PyObject *keeper = keeper_of(capsule, &made);
    return keeper ? adopt(&made, device, keeper) : NULL;
}

static PyObject *shared_count(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(atomic_load(&py_shared_count));
}

PyMethodDef py_sharing_methods[] = {
    {"lend", array_lend, METH_NOARGS,
     "lend($self, /)\n--\n\nThe array's own memory for other libraries to write into, by the "
     "buffer "
     "protocol and DLPack: np.asarray(x.lend())[0] = 5. Calls on it wait from then on; gradients "
     "that "
     "are to read the array fail. np.asarray(x) is for reading."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nDLPack's kind of device, and its number."},
    {NULL, NULL, 0, NULL},
};
PyMethodDef py_sharing_functions[] = {
    {"_adopt_buffer", adopt_buffer, METH_VARARGS, NULL},
    {"_adopt_capsule", adopt_capsule, METH_VARARGS, NULL},
    {"_dlpack", capsule_of, METH_VARARGS, NULL},
    {"_raise_interrupt", raise_interrupt, METH_O, NULL},
    {"_shared_count", shared_count, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
