/* Random arrays and generators: hocket/random.h. */
#include "training.h"

#include <string.h>

static PyMethodDef generator_methods[] = {{NULL, NULL, 0, NULL}};
PY_COUNTED(generator, hk_generator, "hocket._core.Generator", NULL, generator_methods,
           hk_generator_release)

static PyObject *create(PyObject *self, PyObject *seed)
{
    (void)self;
    unsigned long long number = PyLong_AsUnsignedLongLong(seed);
    if (PyErr_Occurred())
        return NULL;
    return generator_of(hk_generator_create(number));
}

static PyObject *seed_thread(PyObject *self, PyObject *seed)
{
    (void)self;
    unsigned long long number = PyLong_AsUnsignedLongLong(seed);
    if (PyErr_Occurred())
        return NULL;
    hk_seed(number);
    Py_RETURN_NONE;
}

/* The generator of an argument, NULL for None. */
bool py_stream_from(PyObject *object, hk_generator **generator)
{
    *generator = NULL;
    if (object == Py_None)
        return true;
    if (Py_TYPE(object) != generator_type) {
        PyErr_Format(PyExc_TypeError, "generator is to be a Generator, not %R", object);
        return false;
    }
    *generator = generator_handle(object);
    return true;
}

/* What all three draw from and make. */
typedef struct draw {
    hk_generator *generator; /* NULL: this thread's stream */
    hk_dims shape;
    hk_dtype dtype;
    hk_device device;
} draw;

static bool draw_from(draw *self, PyObject *generator, PyObject *shape, PyObject *dtype,
                      PyObject *device)
{
    return py_stream_from(generator, &self->generator) &&
           py_dims_from(shape, "shape", &self->shape) && py_dtype_from(dtype, &self->dtype) &&
           py_device_from(device, &self->device);
}

typedef hk_array *(*draw_fn)(hk_source at, hk_generator *generator, double a, double b,
                             hk_dims shape, hk_dtype dtype, hk_device device);

static PyObject *draw_reals(PyObject *arguments, draw_fn function)
{
    PyObject *generator, *shape, *dtype, *device;
    double a, b;
    draw of;
    if (!PyArg_ParseTuple(arguments, "OddOOO", &generator, &a, &b, &shape, &dtype, &device) ||
        !draw_from(&of, generator, shape, dtype, device))
        return NULL;
    return py_wrap(function(py_source(), of.generator, a, b, of.shape, of.dtype, of.device));
}

static PyObject *uniform(PyObject *self, PyObject *arguments)
{
    (void)self;
    return draw_reals(arguments, hk_random_uniform_from_at);
}

static PyObject *normal(PyObject *self, PyObject *arguments)
{
    (void)self;
    return draw_reals(arguments, hk_random_normal_from_at);
}

static bool whole_from(PyObject *object, hk_number *number)
{
    int is_above = 0;
    PyObject *whole = PyNumber_Index(object);
    if (!whole)
        return false;
    *number = hk_number_of_int(PyLong_AsLongLongAndOverflow(whole, &is_above));
    if (is_above > 0)
        *number = hk_number_of_uint(PyLong_AsUnsignedLongLong(whole));
    if (is_above < 0 || PyErr_Occurred())
        PyErr_Format(PyExc_OverflowError, "%R is out of the range of all integers", object);
    Py_DECREF(whole);
    return !PyErr_Occurred();
}

/* _random_integers(generator, least, most, shape, dtype, device): most is included */
static PyObject *integers(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *generator, *first, *last, *shape, *dtype, *device;
    hk_number least, most;
    draw of;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &generator, &first, &last, &shape, &dtype,
                          &device) ||
        !whole_from(first, &least) || !whole_from(last, &most) ||
        !draw_from(&of, generator, shape, dtype, device))
        return NULL;
    return py_wrap(hk_random_between_from_at(py_source(), of.generator, least, most, of.shape,
                                             of.dtype, of.device));
}

static PyObject *stream_state(PyObject *self, PyObject *object)
{
    (void)self;
    hk_generator *generator;
    if (!py_stream_from(object, &generator))
        return NULL;
    hk_generator_state state = hk_generator_get_state(generator);
    return Py_BuildValue("KKK", (unsigned long long)state.seed, (unsigned long long)state.stream,
                         (unsigned long long)state.position);
}

/* _stream_set(generator, seed, stream, position) */
static PyObject *stream_set(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object;
    unsigned long long seed, stream, position;
    hk_generator *generator;
    if (!PyArg_ParseTuple(arguments, "OKKK", &object, &seed, &stream, &position) ||
        !py_stream_from(object, &generator))
        return NULL;
    hk_generator_set_state(generator, (hk_generator_state){seed, stream, position});
    Py_RETURN_NONE;
}

/* _random_bernoulli(generator, probability, shape, dtype, device) */
static PyObject *bernoulli(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *generator, *shape, *dtype, *device;
    double p;
    draw of;
    if (!PyArg_ParseTuple(arguments, "OdOOO", &generator, &p, &shape, &dtype, &device) ||
        !draw_from(&of, generator, shape, dtype, device))
        return NULL;
    return py_wrap(
        hk_random_bernoulli_from_at(py_source(), of.generator, p, of.shape, of.dtype, of.device));
}

/* _random_exponential(generator, scale, shape, dtype, device) */
static PyObject *exponential(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *generator, *shape, *dtype, *device;
    double scale;
    draw of;
    if (!PyArg_ParseTuple(arguments, "OdOOO", &generator, &scale, &shape, &dtype, &device) ||
        !draw_from(&of, generator, shape, dtype, device))
        return NULL;
    return py_wrap(hk_random_exponential_from_at(py_source(), of.generator, scale, of.shape,
                                                 of.dtype, of.device));
}

static PyObject *gamma_numbers(PyObject *self, PyObject *arguments)
{
    (void)self;
    return draw_reals(arguments, hk_random_gamma_from_at);
}

/* _random_permutation(generator, n, device) */
static PyObject *permutation(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *where;
    long long n;
    hk_generator *generator;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "OLO", &object, &n, &where) ||
        !py_stream_from(object, &generator) || !py_device_from(where, &device))
        return NULL;
    return py_wrap(hk_random_permutation_from_at(py_source(), generator, n, device));
}

/* _random_shuffle(generator, x) */
static PyObject *shuffled(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *x;
    hk_generator *generator;
    if (!PyArg_ParseTuple(arguments, "OO!", &object, py_array_type, &x) ||
        !py_stream_from(object, &generator))
        return NULL;
    return py_wrap(hk_random_shuffle_from_at(py_source(), generator, py_handle(x)));
}

/* _random_choice(generator, n, shape, replace, weights or None, device) */
static PyObject *choice(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *sizes, *of, *where;
    long long n;
    int replace;
    hk_generator *generator;
    hk_dims shape;
    hk_device device;
    if (!PyArg_ParseTuple(arguments, "OLOpOO", &object, &n, &sizes, &replace, &of, &where) ||
        !py_stream_from(object, &generator) || !py_dims_from(sizes, "shape", &shape) ||
        !py_device_from(where, &device))
        return NULL;
    hk_array *weights = of == Py_None ? NULL : py_array_get(of, "weights");
    if (!weights && of != Py_None)
        return NULL;
    return py_wrap(
        hk_random_choice_from_at(py_source(), generator, n, shape, replace, weights, device));
}

/* _random_categorical(generator, logits) */
static PyObject *categorical(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *logits;
    hk_generator *generator;
    if (!PyArg_ParseTuple(arguments, "OO!", &object, py_array_type, &logits) ||
        !py_stream_from(object, &generator))
        return NULL;
    return py_wrap(hk_random_categorical_from_at(py_source(), generator, py_handle(logits)));
}

static PyMethodDef functions[] = {
    {"_generator", create, METH_O, NULL},
    {"_stream_state", stream_state, METH_O, NULL},
    {"_stream_set", stream_set, METH_VARARGS, NULL},
    {"_seed", seed_thread, METH_O, NULL},
    {"_random_uniform", uniform, METH_VARARGS, NULL},
    {"_random_normal", normal, METH_VARARGS, NULL},
    {"_random_integers", integers, METH_VARARGS, NULL},
    {"_random_bernoulli", bernoulli, METH_VARARGS, NULL},
    {"_random_exponential", exponential, METH_VARARGS, NULL},
    {"_random_gamma", gamma_numbers, METH_VARARGS, NULL},
    {"_random_permutation", permutation, METH_VARARGS, NULL},
    {"_random_shuffle", shuffled, METH_VARARGS, NULL},
    {"_random_choice", choice, METH_VARARGS, NULL},
    {"_random_categorical", categorical, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool py_random_init(PyObject *module)
{
    return generator_init(module) && PyModule_AddFunctions(module, functions) == 0;
}
