/* Calls of operators, on the line of the program that runs; and dtypes that meet. */
#include "core.h"

/* ---- calls ------------------------------------------------------------------------------------------------------ */

hk_array *py_call(const hk_operator *op, hk_array *const *inputs, int count, const void *options,
                  hk_device device)
{
    hk_array *x = hk_operator_call_at(py_source(), op, inputs, count, options, device);
    py_settle(x, inputs, count);
    return x;
}

void py_call_into(const hk_operator *op, hk_array *out, hk_array *const *inputs, int count,
                  const void *options)
{
    hk_operator_call_into_at(py_source(), op, out, inputs, count, options);
    py_settle(out, inputs, count);
}

hk_array *py_call_operands(const hk_operator *op, const hk_operand *operands, hk_array *array)
{
    hk_array *x = hk_operator_call_operands_at(py_source(), op, operands, 2);
    py_settle(x, &array, 1);
    return x;
}

void py_call_operands_into(const hk_operator *op, hk_array *out, const hk_operand *operands)
{
    hk_operator_call_operands_into_at(py_source(), op, out, operands, 2);
    py_settle(out, &out, 1);
}

hk_array *py_cast(hk_array *x, hk_dtype dtype)
{
    static const hk_operator *cast;
    const struct hk_cast_arguments to = {.dtype = dtype};
    if (!cast)
        cast = hk_operator_find("cast");
    return hk_array_dtype(x) == dtype ? hk_array_retain(x)
                                      : py_call(cast, &x, 1, &to, (hk_device){NULL});
}

hk_array *py_narrow(hk_array *x, hk_dtype dtype)
{
    static const hk_operator *wrap;
    const struct hk_wrap_arguments to = {.dtype = dtype};
    if (!wrap)
        wrap = hk_operator_find("wrap");
    return hk_array_dtype(x) == dtype ? hk_array_retain(x)
                                      : py_call(wrap, &x, 1, &to, (hk_device){NULL});
}

/* The values without axes of 1 in front that are more than ndim; the caller releases it. */
static hk_array *without_front(hk_array *values, int ndim)
{
    hk_dims shape = hk_dims_get(values);
    if (shape.ndim <= ndim)
        return hk_array_retain(values);
    hk_dims rest = {.ndim = ndim};
    for (int i = 0; i < ndim; i++)
        rest.dims[i] = shape.dims[shape.ndim - ndim + i];
    return hk_take(hk_reshape_at(py_source(), values, rest));
}

bool py_assign(hk_array *target, hk_array *values)
{
    hk_dims to = hk_dims_get(target), from = hk_dims_get(values);
    if (!py_may_write(target) || !py_may_be_written(values, target) || !py_fits(&from, &to, true))
        return false;
    if (py_kind(hk_array_dtype(values)) == 3 && py_kind(hk_array_dtype(target)) < 3 &&
        hk_array_dtype(target) != HK_BOOL) {
        PyErr_Format(PyExc_TypeError,
                     "an array of %s takes no complex values; real and imag give parts of them",
                     hk_dtype_name(hk_array_dtype(target)));
        return false;
    }
    hk_array *fitting = without_front(values, to.ndim);
    hk_assign_at(py_source(), target, fitting);
    py_settle(target, &fitting, 1);
    hk_array_release(fitting);
    return !py_was_interrupted();
}

/* ---- shapes -------------------------------------------------------------------------------------------------------- */

bool py_may_write(hk_array *x)
{
    if (hk_is_read_only(x))
        PyErr_SetString(PyExc_ValueError, "the array is read only: a broadcast view, or memory for "
                                          "reading; copy() gives one that is not");
    else if (hk_is_recording() && hk_wants_grad(x))
        PyErr_SetString(PyExc_ValueError,
                        "while recording, an array that wants a gradient cannot be written into; "
                        "hk.where() makes a new one, and within hk.pause() it may be written");
    else
        return true;
    return false;
}

bool py_may_be_written(hk_array *values, hk_array *target)
{
    if (py_kind(hk_array_dtype(target)) < 2 || !hk_is_recording() || !hk_wants_grad(values))
        return true;
    PyErr_SetString(PyExc_ValueError,
                    "while recording, what wants a gradient cannot be written into an array, where "
                    "the gradient would be lost; detach() the values, or use a call that gives a "
                    "new array, such as hk.where() or hk.concat()");
    return false;
}

bool py_fits(const hk_dims *from, const hk_dims *to, bool may_drop)
{
    bool fits = true;
    for (int i = 1; i <= from->ndim; i++) {
        int64_t size = from->dims[from->ndim - i];
        if (i > to->ndim)
            fits = fits && may_drop && size == 1;
        else
            fits = fits && (size == 1 || size == to->dims[to->ndim - i]);
    }
    if (fits)
        return true;
    PyObject *has = py_dims_object(from), *needs = py_dims_object(to);
    if (has && needs)
        PyErr_Format(PyExc_ValueError, "values of the shape %R do not go into the shape %R", has,
                     needs);
    Py_XDECREF(has);
    Py_XDECREF(needs);
    return false;
}

/* ---- dtypes ----------------------------------------------------------------------------------------------------------- */

int py_kind(hk_dtype dtype)
{
    if (dtype == HK_C64 || dtype == HK_C128)
        return 3;
    if (dtype == HK_F32 || dtype == HK_F64 || dtype == HK_F16 || dtype == HK_BF16)
        return 2;
    return dtype != HK_BOOL;
}

/* Arrays of different kinds meet as the dtype of the higher kind, as in PyTorch: the table of promotions is within a kind. */
static hk_dtype higher(hk_dtype a, hk_dtype b)
{
    hk_dtype both;
    if (hk_dtype_promote(a, b, &both))
        return both;
    return py_kind(a) > py_kind(b) ? a : b;
}

void py_meet(hk_array **a, hk_array **b)
{
    if (!*a || !*b || hk_array_dtype(*a) == hk_array_dtype(*b))
        return;
    hk_dtype x = hk_array_dtype(*a), y = hk_array_dtype(*b);
    if (py_kind(x) == py_kind(y))
        return;
    hk_array **lower = py_kind(x) < py_kind(y) ? a : b;
    hk_array *cast = py_cast(*lower, higher(x, y));
    hk_array_release(*lower);
    *lower = cast;
}
