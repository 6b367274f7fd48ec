/* The operator table as Python functions: one for each operator, made from what the library tells of it. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 16, MAX_OUTPUTS = 8, MAX_PARAMS = 24, OPTION_BYTES = 1024 };

/* What the function of an operator needs; lives as long as the process. */
typedef struct entry {
    const hk_operator *op;
    hk_operator_facts facts;
    hk_operator_param params[MAX_PARAMS];
    PyObject *input_names[MAX_INPUTS], *param_names[MAX_PARAMS]; /* interned */
    bool hides_zero[MAX_PARAMS]; /* of a number, which 0 stands for the default of */
    PyMethodDef definition;
    int comparison; /* of py_comparison_of */
} entry;

/* The `self` of the functions: their entry. */
typedef struct py_entry {
    PyObject_HEAD entry *entry;
} py_entry;
static PyTypeObject *entry_type;
static PyObject *device_name, *out_name;

/* ---- one call ------------------------------------------------------------------------------------------------- */

typedef struct call {
    const entry *entry;
    hk_array **inputs; /* owned; room for as many as there may be */
    hk_array *own[MAX_INPUTS];
    PyObject *given_inputs[MAX_INPUTS]; /* borrowed; of operators that are not variadic */
    Py_ssize_t count;
    hk_device device;
    PyObject *out; /* borrowed; NULL: a new one */
    bool given[MAX_PARAMS];
    union {
        char bytes[OPTION_BYTES];
        int64_t align;
    } options;
} call;

static bool double_from(PyObject *value, double *number)
{
    *number = PyFloat_AsDouble(value);
    return *number != -1 || !PyErr_Occurred();
}

static bool int_from(PyObject *value, int64_t *number)
{
    PyObject *whole = PyNumber_Index(value);
    *number = whole ? PyLong_AsLongLong(whole) : -1;
    Py_XDECREF(whole);
    return *number != -1 || !PyErr_Occurred();
}

/* So many numbers, or one for all of them. */
static bool ints_from(PyObject *value, const char *name, int64_t *ints, int count)
{
    if (PyLong_Check(value)) {
        bool good = int_from(value, ints);
        for (int i = 1; i < count; i++)
            ints[i] = ints[0];
        return good;
    }
    hk_dims dims;
    if (!py_dims_from(value, name, &dims))
        return false;
    if (dims.ndim != count) {
        PyErr_Format(PyExc_ValueError, "%s has %d entries, which must be %d", name, dims.ndim,
                     count);
        return false;
    }
    memcpy(ints, dims.dims, (size_t)count * sizeof *ints);
    return true;
}

static bool u64_from(PyObject *value, uint64_t *number)
{
    PyObject *whole = PyNumber_Index(value);
    *number = whole ? PyLong_AsUnsignedLongLong(whole) : UINT64_MAX;
    Py_XDECREF(whole);
    return !PyErr_Occurred();
}

/* Of numbers, where C takes 0 for a default that is another one. */
static bool hides_zero(const hk_operator_param *param)
{
    static const char *const zeros[] = {"0", "{0, 0}", "{0, 0, 0}", "false"};
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        if (strcmp(param->default_text, zeros[i]) == 0)
            return false;
    return !param->is_required && strncmp(param->default_text, "HK_", 3) != 0 &&
           (param->type == HK_PARAM_INT || param->type == HK_PARAM_INT2 ||
            param->type == HK_PARAM_INT3 || param->type == HK_PARAM_F64);
}

static bool is_zero(const hk_operator_param *param, const void *field)
{
    const int64_t *whole = field;
    return param->type == HK_PARAM_F64    ? *(const double *)field == 0
           : param->type == HK_PARAM_INT2 ? whole[0] == 0 || whole[1] == 0
           : param->type == HK_PARAM_INT3 ? whole[0] == 0 || whole[1] == 0 || whole[2] == 0
                                          : whole[0] == 0;
}

/* False, after saying so; pairs as Python has them. */
static bool refuse_zero(const call *self, const hk_operator_param *param, PyObject *value)
{
    char text[96];
    snprintf(text, sizeof text, "%s", param->default_text);
    for (char *c = text; *c; c++)
        *c = *c == '{' ? '(' : *c == '}' ? ')' : *c;
    PyErr_Format(PyExc_ValueError, "%s(): %s is %R, but must not be 0; without it, it is %s",
                 self->entry->facts.name, param->name, value, text);
    return false;
}

static bool convert_param(call *self, const hk_operator_param *param, PyObject *value);

static bool set_param(call *self, int index, PyObject *value)
{
    const hk_operator_param *param = &self->entry->params[index];
    if (value == Py_None)
        return true;
    self->given[index] = true;
    if (!convert_param(self, param, value))
        return false;
    void *field = self->options.bytes + param->offset;
    if (!self->entry->hides_zero[index] || !is_zero(param, field))
        return true;
    if (param->type != HK_PARAM_F64)
        return refuse_zero(self, param, value);
    *(double *)field = HK_ZERO;
    return true;
}

static bool convert_param(call *self, const hk_operator_param *param, PyObject *value)
{
    void *field = self->options.bytes + param->offset;
    switch (param->type) {
    case HK_PARAM_BOOL: {
        int truth = PyObject_IsTrue(value);
        *(bool *)field = truth > 0;
        return truth >= 0;
    }
    case HK_PARAM_INT:
        return int_from(value, field);
    case HK_PARAM_INT2:
        return ints_from(value, param->name, field, 2);
    case HK_PARAM_INT3:
        return ints_from(value, param->name, field, 3);
    case HK_PARAM_F64:
        return double_from(value, field);
    case HK_PARAM_DTYPE:
        return py_dtype_from(value, field);
    case HK_PARAM_DIMS:
        return py_dims_from(value, param->name, field);
    case HK_PARAM_U64:
        return u64_from(value, field);
    default:
        PyErr_Format(PyExc_SystemError, "%s is of a type that is not known here", param->name);
        return false;
    }
}

/* The first array among the inputs that come: what numbers among them meet. */
static hk_array *first_array(PyObject *const *args, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (args[i] && py_is_array(args[i]))
            return py_handle(args[i]);
    return NULL;
}

static void give_input(call *self, Py_ssize_t index, PyObject *value)
{
    self->given_inputs[index] = value;
    if (index >= self->count)
        self->count = index + 1;
}

static bool set_input(call *self, Py_ssize_t index, PyObject *value, hk_array *like)
{
    self->inputs[index] = value == Py_None ? NULL : py_operand(value, like);
    if (index >= self->count)
        self->count = index + 1;
    return self->inputs[index] || (value == Py_None && !PyErr_Occurred());
}

/* The arrays of a sequence; room for them belongs to the call. */
static bool set_sequence(call *self, PyObject *sequence)
{
    PyObject *items = PySequence_Tuple(sequence);
    Py_ssize_t count = items ? PyTuple_Size(items) : -1;
    if (count > MAX_INPUTS) {
        self->inputs = calloc((size_t)count, sizeof *self->inputs);
        if (!self->inputs) {
            self->inputs = self->own;
            PyErr_NoMemory();
            count = -1;
        }
    }
    hk_array *like = NULL;
    for (Py_ssize_t i = 0; i < count && !like; i++)
        if (py_is_array(PyTuple_GetItem(items, i)))
            like = py_handle(PyTuple_GetItem(items, i));
    bool good = count >= 0;
    for (Py_ssize_t i = 0; good && i < count; i++)
        good = set_input(self, i, PyTuple_GetItem(items, i), like);
    Py_XDECREF(items);
    return good;
}

/* ---- arguments ------------------------------------------------------------------------------------------------ */

static bool set_positional(call *self, PyObject *const *args, Py_ssize_t count)
{
    const hk_operator_facts *facts = &self->entry->facts;
    Py_ssize_t inputs = facts->is_variadic ? 1 : facts->input_count;
    if (count > inputs + facts->param_count) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments (%zd given)", facts->name,
                     inputs + facts->param_count, count);
        return false;
    }
    bool good = true;
    if (facts->is_variadic && count > 0)
        good = set_sequence(self, args[0]);
    for (Py_ssize_t i = 0; good && i < count; i++) {
        if (i >= inputs)
            good = set_param(self, (int)(i - inputs), args[i]);
        else if (!facts->is_variadic)
            give_input(self, i, args[i]);
    }
    return good;
}

/* All that are given are known. Numbers meet the values of where(condition, x, y), not the condition. */
static bool set_inputs(call *self)
{
    const hk_operator_facts *facts = &self->entry->facts;
    const Py_ssize_t first = facts->input_count == 3 && facts->is_elementwise;
    bool good = true;
    if (facts->is_variadic || self->count == 0)
        return true;
    hk_array *like = first_array(self->given_inputs + first, self->count - first);
    for (Py_ssize_t i = 0; good && i < self->count; i++)
        if (self->given_inputs[i])
            good = set_input(self, i, self->given_inputs[i], i < first ? NULL : like);
    return good;
}

/* Numbers that the other's dtype does not have can be compared with it. */
static bool is_comparison_with_number(const call *self)
{
    PyObject *const *given = self->given_inputs;
    return self->entry->comparison >= 0 && self->count == 2 && given[0] && given[1] &&
           ((py_is_array(given[0]) && py_is_number(given[1])) ||
            (py_is_number(given[0]) && py_is_array(given[1])));
}

static int index_of(PyObject *const *names, int count, PyObject *name)
{
    for (int i = 0; i < count; i++)
        if (names[i] == name)
            return i;
    for (int i = 0; i < count; i++)
        if (PyUnicode_Compare(names[i], name) == 0)
            return i;
    return -1;
}

static bool set_named(call *self, PyObject *name, PyObject *value)
{
    const entry *op = self->entry;
    int index = index_of(op->param_names, op->facts.param_count, name);
    if (index >= 0)
        return set_param(self, index, value);
    index = index_of(op->input_names, op->facts.input_count, name);
    if (index >= 0) {
        if (op->facts.is_variadic)
            return set_sequence(self, value);
        give_input(self, index, value);
        return true;
    }
    if (op->facts.takes_device && PyUnicode_Compare(name, device_name) == 0)
        return py_device_from(value, &self->device);
    if (PyUnicode_Compare(name, out_name) == 0) {
        self->out = value == Py_None ? NULL : value;
        return true;
    }
    PyErr_Format(PyExc_TypeError, "%s() has no argument %R", op->facts.name, name);
    return false;
}

/* All that has to be there is. */
static bool complete(const call *self)
{
    const entry *op = self->entry;
    int required = op->facts.required_input_count;
    for (int i = 0; i < required; i++)
        if (i >= self->count || !self->inputs[i]) {
            PyErr_Format(PyExc_TypeError, "%s() needs the argument %R", op->facts.name,
                         op->input_names[i]);
            return false;
        }
    for (int i = 0; i < op->facts.param_count; i++)
        if (op->params[i].is_required && !self->given[i]) {
            PyErr_Format(PyExc_TypeError, "%s() needs the argument %R", op->facts.name,
                         op->param_names[i]);
            return false;
        }
    return true;
}

/* Elementwise operators take arrays of different kinds, and those of floats alone take integers, as float32. */
static void meet(call *self)
{
    const hk_operator_facts *facts = &self->entry->facts;
    if (!facts->is_elementwise)
        return;
    Py_ssize_t last = self->count - 1;
    if (self->count >= 2)
        py_meet(&self->inputs[last - 1], &self->inputs[last]);
    if (facts->dtypes >> HK_I32 & 1 || !(facts->dtypes >> HK_F32 & 1))
        return;
    for (Py_ssize_t i = 0; i < self->count; i++)
        if (self->inputs[i] && py_kind(hk_array_dtype(self->inputs[i])) < 2) {
            hk_array *x = py_cast(self->inputs[i], HK_F32);
            hk_array_release(self->inputs[i]);
            self->inputs[i] = x;
        }
}

/* A tuple of all results. The first one that failed at the call is raised. */
static PyObject *issue_for_all(call *self, const void *options)
{
    hk_array *outputs[MAX_OUTPUTS];
    int count = self->entry->facts.output_count;
    hk_operator_call_all_at(py_source(), self->entry->op, self->inputs, (int)self->count, options,
                            self->device, outputs, count);
    for (int i = 0; i < count; i++)
        py_settle(outputs[i], self->inputs, (int)self->count);
    PyObject *results = PyTuple_New(count);
    for (int i = 0; i < count; i++) {
        PyObject *result = results ? py_wrap(outputs[i]) : NULL;
        if (!results)
            hk_array_release(outputs[i]);
        else if (!result || PyTuple_SetItem(results, i, result) < 0)
            Py_CLEAR(results);
    }
    return results;
}

/* What does not go into `out` raises, and leaves it as it was: so the result is made first. */
static PyObject *into_out(call *self, PyObject *result)
{
    hk_array *out = result ? py_array_get(self->out, "out") : NULL;
    bool good = out != NULL;
    if (good && py_kind(hk_array_dtype(py_handle(result))) > py_kind(hk_array_dtype(out))) {
        PyErr_Format(PyExc_TypeError, "the result is of %s, which out, of %s, does not take",
                     hk_dtype_name(hk_array_dtype(py_handle(result))),
                     hk_dtype_name(hk_array_dtype(out)));
        good = false;
    }
    good = good && py_assign(out, py_handle(result));
    Py_XDECREF(result);
    return good ? Py_NewRef(self->out) : NULL;
}

static PyObject *issue(call *self, const void *options)
{
    const hk_operator *op = self->entry->op;
    if (self->entry->facts.output_count > 1)
        return issue_for_all(self, options);
    PyObject *result = py_wrap(py_call(op, self->inputs, (int)self->count, options, self->device));
    return self->out ? into_out(self, result) : result;
}

static PyObject *operator_function(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                   PyObject *names)
{
    call made;
    made.entry = ((py_entry *)self)->entry;
    made.inputs = made.own;
    made.count = 0;
    made.device = (hk_device){NULL};
    made.out = NULL;
    memset(made.own, 0, sizeof made.own);
    memset(made.given_inputs, 0, sizeof made.given_inputs);
    memset(made.given, 0, sizeof made.given);
    memset(made.options.bytes, 0, made.entry->facts.options_bytes);

    bool good = set_positional(&made, args, count);
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; good && i < named; i++)
        good = set_named(&made, PyTuple_GetItem(names, i), args[count + i]);
    PyObject *result = NULL;
    if (good && is_comparison_with_number(&made)) {
        result = py_compare(made.entry->comparison, made.given_inputs[0], made.given_inputs[1]);
        return made.out ? into_out(&made, result) : result;
    }
    if (good && set_inputs(&made) && complete(&made)) {
        meet(&made);
        const void *options = made.entry->facts.options_bytes ? made.options.bytes : NULL;
        result = issue(&made, options);
    }
    for (Py_ssize_t i = 0; i < made.count; i++)
        hk_array_release(made.inputs[i]);
    if (made.inputs != made.own)
        free(made.inputs);
    return result;
}

/* ---- the functions ---------------------------------------------------------------------------------------------- */

#include "examples.inc"

/* "float32, float64": those of a set of bits. */
static void write_dtypes(FILE *out, uint32_t set)
{
    const char *between = "";
    for (int i = 0; i < HK_DTYPE_COUNT; i++)
        if (set >> i & 1) {
            fprintf(out, "%s%s", between, hk_dtype_name((hk_dtype)i));
            between = ", ";
        }
}

/* Shapes, dtypes, errors, gradients, as the table has them. */
static void write_facts(FILE *out, const hk_operator_facts *facts)
{
    const bool broadcasts = facts->is_elementwise && facts->input_count > 1;
    const uint32_t numbers = UINT32_C(1) << HK_I32 | UINT32_C(1) << HK_F32;
    if (facts->is_elementwise)
        fprintf(out, "\nShapes: any%s; the result has %s.", broadcasts ? " that broadcast" : "",
                broadcasts ? "the one that they broadcast to" : "that of x");
    if (facts->dtypes) {
        fputs("\nDtypes: ", out);
        write_dtypes(out, facts->dtypes);
        fputs(facts->is_elementwise && (facts->dtypes & numbers) == UINT32_C(1) << HK_F32
                  ? "; bool and integers count as float32."
                  : ".",
              out);
    }
    if (facts->dtypes || broadcasts)
        fprintf(out, "\nErrors: %s%s%s.", facts->dtypes ? "UnsupportedError for other dtypes" : "",
                facts->dtypes && broadcasts ? ", " : "",
                broadcasts ? "ValueError for shapes that do not broadcast" : "");
    if (!facts->has_gradient)
        fputs("\nNo gradient.", out);
}

static void write_example(FILE *out, const char *name)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (strcmp(examples[i].name, name) == 0)
            fprintf(out, "\n\n>>> %s\n%s", examples[i].call, examples[i].result);
}

/* "add(x, y)\n--\n\n..." : the first line is what inspect.signature reads. */
static char *documentation(const entry *op)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    fprintf(out, "%s(", op->facts.name);
    const char *between = "";
    for (int i = 0; i < op->facts.input_count; i++, between = ", ")
        fprintf(out, "%s%s%s", between, PyUnicode_AsUTF8AndSize(op->input_names[i], NULL),
                i < op->facts.required_input_count ? "" : "=None");
    for (int i = 0; i < op->facts.param_count; i++, between = ", ")
        fprintf(out, "%s%s%s", between, op->params[i].name,
                op->params[i].is_required ? "" : "=None");
    fprintf(out, "%s)\n--\n\n%s\n",
            op->facts.takes_device ? (*between ? ", *, device=None" : "*, device=None") : "",
            op->facts.doc);
    for (int i = 0; i < op->facts.param_count; i++)
        fprintf(out, "\n%s: %s%s%s%s", op->params[i].name, op->params[i].doc,
                op->params[i].is_required ? "" : " (default: ", op->params[i].default_text,
                op->params[i].is_required ? "" : ")");
    write_facts(out, &op->facts);
    write_example(out, op->facts.name);
    fclose(out);
    return text;
}

static bool name_inputs(entry *self)
{
    const char *names = self->facts.signature;
    for (int i = 0; i < self->facts.input_count; i++) {
        size_t length = strcspn(names, ",?");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        if (!(self->input_names[i] = PyUnicode_InternFromString(name)))
            return false;
        names += strcspn(names, ",");
        names += strspn(names, ", ");
    }
    return true;
}

static bool fill(entry *self, const hk_operator *op)
{
    self->op = op;
    self->facts = hk_operator_get_facts(op);
    self->comparison = py_comparison_of(op);
    if (self->facts.input_count > MAX_INPUTS || self->facts.param_count > MAX_PARAMS ||
        self->facts.options_bytes > OPTION_BYTES || self->facts.output_count > MAX_OUTPUTS) {
        PyErr_Format(PyExc_SystemError, "%s has more inputs or options than there is room for",
                     self->facts.name);
        return false;
    }
    for (int i = 0; i < self->facts.param_count; i++) {
        self->params[i] = hk_operator_get_param(op, i);
        self->hides_zero[i] = hides_zero(&self->params[i]);
        if (!(self->param_names[i] = PyUnicode_InternFromString(self->params[i].name)))
            return false;
    }
    if (!name_inputs(self))
        return false;
    char *text = documentation(self);
    if (!text) {
        PyErr_NoMemory();
        return false;
    }
    self->definition = (PyMethodDef){.ml_name = self->facts.name,
                                     .ml_meth = (PyCFunction)(void (*)(void))operator_function,
                                     .ml_flags = METH_FASTCALL | METH_KEYWORDS,
                                     .ml_doc = text};
    return true;
}

static PyObject *function_by(PyObject *owner)
{
    PyObject *module = PyUnicode_InternFromString("hocket");
    PyObject *function =
        module ? PyCFunction_NewEx(&((py_entry *)owner)->entry->definition, owner, module) : NULL;
    Py_XDECREF(module);
    return function;
}

static PyObject *function_of(entry *self)
{
    py_entry *owner = PyObject_New(py_entry, entry_type);
    if (!owner)
        return NULL;
    owner->entry = self;
    PyObject *function = function_by((PyObject *)owner);
    Py_DECREF((PyObject *)owner);
    return function;
}

/* ---- pickles: Python takes such a function as the attribute of that name of its owner ------------------------------- */

static PyObject *entry_attribute(PyObject *self, PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, ((py_entry *)self)->entry->facts.name) == 0
               ? function_by(self)
               : PyObject_GenericGetAttr(self, name);
}

static PyObject *entry_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *core = PyImport_ImportModule("hocket._core");
    PyObject *find = core ? PyObject_GetAttrString(core, "_operator") : NULL;
    Py_XDECREF(core);
    return find ? Py_BuildValue("N(s)", find, ((py_entry *)self)->entry->facts.name) : NULL;
}

/* _operator(name): the owner. */
static PyObject *owner_of(PyObject *self, PyObject *name)
{
    (void)self;
    PyObject *core = PyImport_ImportModule("hocket._core");
    PyObject *all = core ? PyObject_GetAttrString(core, "operators") : NULL;
    PyObject *function = all ? PyObject_GetItem(all, name) : NULL;
    PyObject *owner = function ? PyObject_GetAttrString(function, "__self__") : NULL;
    Py_XDECREF(core);
    Py_XDECREF(all);
    Py_XDECREF(function);
    return owner;
}

PyMethodDef py_operators_functions[] = {
    {"_operator", owner_of, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static void entry_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *py_operators_create(void)
{
    static PyMethodDef methods[] = {
        {"__reduce__", entry_reduce, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyType_Slot slots[] = {{Py_tp_dealloc, entry_free},
                                  {Py_tp_getattro, entry_attribute},
                                  {Py_tp_methods, methods},
                                  {0, NULL}};
    static PyType_Spec spec = {.name = "hocket.Operator",
                               .basicsize = sizeof(py_entry),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
    int count = hk_operator_count();
    entry_type = (PyTypeObject *)PyType_FromSpec(&spec);
    device_name = PyUnicode_InternFromString("device");
    out_name = PyUnicode_InternFromString("out");
    entry *entries = calloc((size_t)count, sizeof *entries); /* for good */
    PyObject *functions = PyDict_New();
    bool good = entry_type && device_name && out_name && entries && functions;
    for (int i = 0; good && i < count; i++) {
        PyObject *function = fill(&entries[i], hk_operator_at(i)) ? function_of(&entries[i]) : NULL;
        good = function && PyDict_SetItemString(functions, entries[i].facts.name, function) == 0;
        Py_XDECREF(function);
    }
    if (!good)
        Py_CLEAR(functions);
    return functions;
}
