/* Updates of parameters: hocket/optim.h. */
#include "training.h"

static PyObject *optimizer_step(PyObject *self, PyObject *unused);
static PyObject *optimizer_get_lr(PyObject *self, PyObject *unused);
static PyObject *optimizer_set_lr(PyObject *self, PyObject *lr);
static PyObject *optimizer_arrays(PyObject *self, PyObject *unused);
static PyObject *optimizer_gather(PyObject *self, PyObject *index);
static PyObject *optimizer_scatter(PyObject *self, PyObject *arguments);

static PyMethodDef optimizer_methods[] = {
    {"step", optimizer_step, METH_NOARGS, NULL},
    {"get_lr", optimizer_get_lr, METH_NOARGS, NULL},
    {"set_lr", optimizer_set_lr, METH_O, NULL},
    {"arrays", optimizer_arrays, METH_NOARGS, NULL},
    {"gather", optimizer_gather, METH_O, NULL},
    {"scatter", optimizer_scatter, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PY_COUNTED(optimizer, hk_optimizer, "hocket._core.Optimizer",
           "An optimiser of the library, with its state.", optimizer_methods, hk_optimizer_release)

/* _optimizer(method, params, lr, batch, weight_decay, momentum, beta1, beta2, rho, epsilon, nesterov, group or None);
 * 0: the default. With a group the state is sharded over its ranks. */
static PyObject *create(PyObject *self, PyObject *arguments)
{
    (void)self;
    const char *method;
    PyObject *of, *ranks;
    int nesterov;
    hk_group *group = NULL;
    hk_optimizer_options o = {0};
    py_arrays params;
    if (!PyArg_ParseTuple(arguments, "sOddddddddpO", &method, &of, &o.lr, &o.batch, &o.weight_decay,
                          &o.momentum, &o.beta1, &o.beta2, &o.rho, &o.epsilon, &nesterov, &ranks) ||
        (ranks != Py_None && !(group = py_group_from(ranks))) ||
        !py_arrays_from(of, "a parameter", &params))
        return NULL;
    o.nesterov = nesterov;
    hk_optimizer *made =
        group ? hk_optimizer_create_sharded_at(py_source(), method, params.handles, 1, params.count,
                                               group, &o)
              : hk_optimizer_create_at(py_source(), method, params.handles, params.count, &o);
    py_arrays_release(&params);
    if (py_check(hk_optimizer_status(made)))
        return optimizer_of(made);
    hk_optimizer_release(made);
    return NULL;
}

static PyObject *optimizer_step(PyObject *self, PyObject *unused)
{
    (void)unused;
    hk_optimizer *optimizer = optimizer_handle(self);
    hk_optimizer_step_at(py_source(), optimizer);
    hk_array *p;
    for (int i = 0; (p = hk_optimizer_get_parameter(optimizer, i)); i++)
        py_settle(p, NULL, 0);
    if (py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *optimizer_get_lr(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyFloat_FromDouble(hk_optimizer_get_lr(optimizer_handle(self)));
}

static PyObject *optimizer_set_lr(PyObject *self, PyObject *lr)
{
    double value = PyFloat_AsDouble(lr);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    hk_optimizer_set_lr_at(py_source(), optimizer_handle(self), value);
    Py_RETURN_NONE;
}

static PyObject *optimizer_gather(PyObject *self, PyObject *index)
{
    long at = PyLong_AsLong(index);
    if (at == -1 && PyErr_Occurred())
        return NULL;
    return py_wrap(hk_optimizer_gather_at(py_source(), optimizer_handle(self), (int)at));
}

/* scatter(index, state) */
static PyObject *optimizer_scatter(PyObject *self, PyObject *arguments)
{
    int index;
    PyObject *state;
    if (!PyArg_ParseTuple(arguments, "iO:scatter", &index, &state))
        return NULL;
    hk_array *handle = py_array_get(state, "state");
    if (!handle)
        return NULL;
    hk_optimizer_scatter_at(py_source(), optimizer_handle(self), index, handle);
    Py_RETURN_NONE;
}

static PyObject *optimizer_arrays(PyObject *self, PyObject *unused)
{
    (void)unused;
    const hk_optimizer *optimizer = optimizer_handle(self);
    int count = hk_optimizer_array_count(optimizer);
    PyObject *arrays = PyDict_New();
    for (int i = 0; arrays && i < count; i++) {
        char name[64];
        PyObject *array =
            py_wrap(hk_array_retain(hk_optimizer_array(optimizer, i, name, sizeof name)));
        if (!array || PyDict_SetItemString(arrays, name, array) < 0)
            Py_CLEAR(arrays);
        Py_XDECREF(array);
    }
    return arrays;
}

/* ---- functions ------------------------------------------------------------------------------------------------ */

/* _sgd(params, lr, batch, weight_decay) */
static PyObject *sgd(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of;
    hk_sgd_options options = {0};
    py_arrays params;
    if (!PyArg_ParseTuple(arguments, "Oddd:sgd", &of, &options.lr, &options.batch,
                          &options.weight_decay) ||
        !py_arrays_from(of, "a parameter", &params))
        return NULL;
    hk_sgd_at(py_source(), params.handles, params.count, &options);
    py_settle_all(params.handles, params.count);
    py_arrays_release(&params);
    if (py_was_interrupted())
        return NULL;
    Py_RETURN_NONE;
}

/* _clip_grad_norm(params, norm) */
static PyObject *clip_norm(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of;
    double norm;
    py_arrays params;
    if (!PyArg_ParseTuple(arguments, "Od:clip_grad_norm", &of, &norm) ||
        !py_arrays_from(of, "a parameter", &params))
        return NULL;
    PyObject *result =
        py_wrap(hk_clip_grad_norm_at(py_source(), params.handles, params.count, norm));
    py_arrays_release(&params);
    return result;
}

/* _clip_grad_value(params, limit) */
static PyObject *clip_value(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *of;
    double limit;
    py_arrays params;
    if (!PyArg_ParseTuple(arguments, "Od:clip_grad_value", &of, &limit) ||
        !py_arrays_from(of, "a parameter", &params))
        return NULL;
    hk_clip_grad_value_at(py_source(), params.handles, params.count, limit);
    py_arrays_release(&params);
    Py_RETURN_NONE;
}

static PyObject *lr_step(PyObject *self, PyObject *arguments)
{
    (void)self;
    double lr, factor;
    long long step, every;
    if (!PyArg_ParseTuple(arguments, "dLLd", &lr, &step, &every, &factor))
        return NULL;
    return PyFloat_FromDouble(hk_lr_step(lr, step, every, factor));
}

static PyObject *lr_cosine(PyObject *self, PyObject *arguments)
{
    (void)self;
    double lr, last;
    long long step, steps;
    if (!PyArg_ParseTuple(arguments, "dLLd", &lr, &step, &steps, &last))
        return NULL;
    return PyFloat_FromDouble(hk_lr_cosine(lr, step, steps, last));
}

static PyObject *lr_warm_up(PyObject *self, PyObject *arguments)
{
    (void)self;
    double lr;
    long long step, steps;
    if (!PyArg_ParseTuple(arguments, "dLL", &lr, &step, &steps))
        return NULL;
    return PyFloat_FromDouble(hk_lr_warm_up(lr, step, steps));
}

/* _lr_plateau(factor, patience, best, seen, waiting, lr, value): (lr, best, seen, waiting) */
static PyObject *lr_plateau(PyObject *self, PyObject *arguments)
{
    (void)self;
    hk_lr_plateau plateau;
    long long seen, waiting;
    double lr, value;
    if (!PyArg_ParseTuple(arguments, "didLLdd", &plateau.factor, &plateau.patience, &plateau.best,
                          &seen, &waiting, &lr, &value))
        return NULL;
    plateau.seen = seen;
    plateau.waiting = waiting;
    lr = hk_lr_plateau_next(&plateau, lr, value);
    return Py_BuildValue("ddLL", lr, plateau.best, (long long)plateau.seen,
                         (long long)plateau.waiting);
}

static PyMethodDef functions[] = {
    {"_optimizer", create, METH_VARARGS, NULL},
    {"_sgd", sgd, METH_VARARGS, NULL},
    {"_clip_grad_norm", clip_norm, METH_VARARGS, NULL},
    {"_clip_grad_value", clip_value, METH_VARARGS, NULL},
    {"_lr_step", lr_step, METH_VARARGS, NULL},
    {"_lr_cosine", lr_cosine, METH_VARARGS, NULL},
    {"_lr_warm_up", lr_warm_up, METH_VARARGS, NULL},
    {"_lr_plateau", lr_plateau, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_optimizer_init(PyObject *module)
{
    return optimizer_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
