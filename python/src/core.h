/* What the sources of the extension module share. Python's stable ABI (PEP 384), from CPython 3.11 on; free-threaded builds have none,
 * and are to hold their GIL while the module is there.
 *
 * Every function here is called with the GIL held unless it says otherwise. A function that returns a PyObject pointer returns a new
 * reference, or NULL with an exception set. Only public headers of Hocket are used. */
#ifndef HOCKET_PYTHON_CORE_H
#define HOCKET_PYTHON_CORE_H

#include <pyconfig.h> /* Py_GIL_DISABLED */
#if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stdatomic.h>

#include <hocket/hocket.h>

/* Drops what the variable held, and takes the reference `value`. */
#define PY_REPLACE(variable, value)                                                                \
    do {                                                                                           \
        PyObject *py_before = (variable);                                                          \
        (variable) = (value);                                                                      \
        Py_XDECREF(py_before);                                                                     \
    } while (0)

/* ---- objects ------------------------------------------------------------------------------------------ */

/* hocket.Array: owns one count of its handle. */
typedef struct py_array {
    PyObject_HEAD hk_array *handle;
    PyObject *weak_references;
} py_array;

/* hocket.DType: one object for each dtype. */
typedef struct py_dtype {
    PyObject_HEAD hk_dtype dtype;
} py_dtype;

/* hocket.Device */
typedef struct py_device {
    PyObject_HEAD hk_device device;
} py_device;

extern PyTypeObject *py_array_type, *py_dtype_type, *py_device_type;

static inline bool py_is_array(PyObject *object)
{
    return Py_TYPE(object) == py_array_type;
}
/* Borrowed; of an object that py_is_array says is one. */
static inline hk_array *py_handle(PyObject *array)
{
    return ((py_array *)array)->handle;
}

/* An Array of x, whose count it takes. Raises what refused the call, where x is an array that failed at its call, and
 * KeyboardInterrupt where the call waited for room and was interrupted. */
PyObject *py_wrap(hk_array *x);
/* The same of a count that is the caller's own, whatever scope owns another one. */
PyObject *py_wrap_counted(hk_array *x);
/* An Array or raises TypeError, which names the argument. Borrowed. */
hk_array *py_array_get(PyObject *object, const char *argument);

/* ---- texts ---------------------------------------------------------------------------------------------- */

/* A str of UTF-8, of which what is none is replaced: for texts that only people read. Of paths:
 * PyUnicode_DecodeFSDefault. */
PyObject *py_text(const char *text);
/* The characters of a str, which lives as long. NULL and raises where it is none, or has a 0
 * inside, where C would cut it; `argument` is the name that the message tells. Paths:
 * PyUnicode_FSConverter. */
const char *py_chars(PyObject *text, const char *argument);

/* ---- source lines ------------------------------------------------------------------------------------- */

/* The line of the program, outside of the package, that is running: for the next call of Hocket's. */
hk_source py_source(void);

/* ---- failures ------------------------------------------------------------------------------------------- */

/* Raises the exception for a record; returns NULL. What is pending already (an interrupt) stays. */
PyObject *py_raise(const hk_status *status);
/* Of an array that failed at its call. Its record is there when its inputs are: a failure of theirs comes first. May wait. */
void py_raise_failed(hk_array *x);
/* True where the status is ok; else raises. */
bool py_check(const hk_status *status);

/* ---- waiting ---------------------------------------------------------------------------------------------- */

/* Hooks that let go of the GIL while a thread waits. */
bool py_waiting_init(void);
/* A signal's handler has raised while a call waited for room: the call was issued, and the exception is pending. Asked once. */
bool py_was_interrupted(void);
/* Lets go of the GIL, for long work that is no wait of Hocket's, and takes it again. */
void py_gil_release(void);
void py_gil_take(void);
/* Drops a reference, from any thread and without the GIL: by the main thread, soon. */
void py_release_later(PyObject *object);
/* The same; at once where it is called by py_drop of this thread. */
void py_release_anyhow(PyObject *object);
/* Drops a count of x. */
void py_drop(hk_array *x);

/* ---- calls ------------------------------------------------------------------------------------------------- */

/* Calls an operator. The caller releases the result, which may have failed. */
hk_array *py_call(const hk_operator *op, hk_array *const *inputs, int count, const void *options,
                  hk_device device);
void py_call_into(const hk_operator *op, hk_array *out, hk_array *const *inputs, int count,
                  const void *options);
/* x as another dtype, or x; the caller releases it. */
hk_array *py_cast(hk_array *x, hk_dtype dtype);
/* The same of integers, which wrap around. */
hk_array *py_narrow(hk_array *x, hk_dtype dtype);
/* The same of x and y, one of which is `array`, the other a number. */
hk_array *py_call_operands(const hk_operator *op, const hk_operand *operands, hk_array *array);
void py_call_operands_into(const hk_operator *op, hk_array *out, const hk_operand *operands);
/* target becomes the values, broadcast and cast. Raises, and writes nothing, where they do not go. */
bool py_assign(hk_array *target, hk_array *values);
/* Raises where x is read only, or wants a gradient while this thread records. */
bool py_may_write(hk_array *x);
/* Raises where the gradient that values want would be lost in target. */
bool py_may_be_written(hk_array *values, hk_array *target);
/* Raises where one shape does not broadcast to the other. may_drop: axes of 1 in front may be too many. */
bool py_fits(const hk_dims *from, const hk_dims *to, bool may_drop);
/* 0: bool, 1: integers, 2: floats */
int py_kind(hk_dtype dtype);
/* Of two operands of different kinds, one is cast: each variable owns its array. */
void py_meet(hk_array **a, hk_array **b);

/* ---- sharing ------------------------------------------------------------------------------------------------ */

/* How many arrays and loans are shared with another library. */
extern atomic_long py_shared_count;
bool py_settle_shared(hk_array *result, hk_array *const *inputs, int count);
/* Behind each call that reads inputs and writes, or gives, result: waits for it where memory is shared. */
static inline void py_settle(hk_array *result, hk_array *const *inputs, int count)
{
    if (atomic_load_explicit(&py_shared_count, memory_order_relaxed) > 0)
        py_settle_shared(result, inputs, count);
}
/* What the buffer protocol calls it; NULL: nothing. Static text. */
const char *py_format_of(hk_dtype dtype);
bool py_dtype_of_format(const Py_buffer *view, hk_dtype *dtype);
int py_array_get_buffer(PyObject *self, Py_buffer *view, int flags);
void py_array_release_buffer(PyObject *self, Py_buffer *view);
bool py_sharing_init(PyObject *module);

/* ---- arguments -------------------------------------------------------------------------------------------- */

/* A dtype from a DType, a name, or what has a name, such as NumPy's. Raises. */
bool py_dtype_from(PyObject *object, hk_dtype *dtype);
PyObject *py_dtype_object(hk_dtype dtype);
/* A device from a Device or a name; None is the default one, {NULL}. Raises where there is no such device. */
bool py_device_from(PyObject *object, hk_device *device);
PyObject *py_device_object(hk_device device);
/* Sizes or axes from an int or a sequence of ints. Raises; `argument` is the name that the message tells. */
bool py_dims_from(PyObject *object, const char *argument, hk_dims *dims);
PyObject *py_dims_object(const hk_dims *dims);

/* ---- numbers ----------------------------------------------------------------------------------------------- */

/* A Python bool, int or float, and no NumPy scalar but those that are one of these. */
bool py_is_number(PyObject *object);
/* An operand of an operator: an Array, a number that meets `like` (which may be NULL), a list of
 * numbers, or anything that has a buffer. A number becomes an array () of like's dtype where that
 * can hold the kind, else of float32 for a float, on like's device. The caller releases it. NULL
 * and raises, also where an int is out of range. */
hk_array *py_operand(PyObject *object, hk_array *like);
/* The same of what is to be written into the target, whose dtype it need not have yet. */
hk_array *py_value(PyObject *object, hk_array *target);
/* Which comparison an operator is; -1: none. py_compare does it with Arrays and any numbers. */
int py_comparison_of(const hk_operator *op);
PyObject *py_compare(int comparison, PyObject *a, PyObject *b);
/* An array of anything: numbers, nested sequences, buffers. dtype NULL: that of the values. The caller releases it. */
hk_array *py_array_of(PyObject *object, const hk_dtype *dtype, hk_device device);
/* The same of what meets an array of a dtype, or is a value to be written into one: numbers in a
 * sequence are as exact as that can hold. NULL: none. */
hk_array *py_array_beside(PyObject *object, const hk_dtype *dtype, bool is_value, hk_device device);

/* ---- parts of the module ------------------------------------------------------------------------------------ */

extern PyMethodDef py_array_methods[], py_convert_functions[], py_sharing_methods[],
    py_sharing_functions[], py_view_functions[], py_choosing_functions[], py_operators_functions[];
/* Functions of the operator table, as a module-like dict of name to function. */
PyObject *py_operators_create(void);
bool py_array_type_init(PyObject *module);
bool py_facts_init(PyObject *module);
bool py_numbers_init(void);
bool py_training_init(PyObject *module); /* all of training.h */
PyObject *py_set_package_folder(PyObject *self, PyObject *folder);
PyObject *py_set_raise(PyObject *self, PyObject *function);
PyObject *py_set_indexing(PyObject *self, PyObject *arguments); /* (get, set) of _indexing.py */

enum { PY_NUMBER_SLOT_COUNT = 36 };
/* Slots of Array that other files fill. */
PyObject *py_array_subscript(PyObject *self, PyObject *key);
int py_array_assign_subscript(PyObject *self, PyObject *key, PyObject *value);
extern PyType_Slot py_number_slots[PY_NUMBER_SLOT_COUNT];

#endif
