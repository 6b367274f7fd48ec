/* The line of the Python program that a call stands on. Looked up once for each place: finding a line in a long function takes
 * microseconds. */
#include "core.h"

#include <dlfcn.h>
#include <string.h>

/* What is known of one place: an instruction of a code object. */
typedef struct place {
    PyObject *code; /* retained, so that no other code object gets its address */
    long instruction;
    hk_source source;
    bool inside; /* of the package: the line that counts is its caller's */
} place;

enum { PLACES = 2048 };
static place places[PLACES];
/* CPython has it from 3.11 on, but not in the stable ABI: NULL where it is not exported. */
static int (*get_instruction)(PyFrameObject *frame);
static PyObject *instruction_name, *back_name,
    *file_names; /* file_names: str to a capsule of a text that stays */
static const char *package_folder = "";

PyObject *py_set_package_folder(PyObject *self, PyObject *folder)
{
    (void)self;
    PyObject *bytes;
    if (!PyUnicode_FSConverter(folder, &bytes))
        return NULL;
    char *copy = strdup(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (!copy)
        return PyErr_NoMemory();
    package_folder = copy;
    Py_RETURN_NONE;
}

/* A text that stays for good: records may outlive the code object. */
static const char *file_kept(PyObject *name)
{
    PyObject *known = PyDict_GetItemWithError(file_names, name);
    if (known)
        return PyCapsule_GetPointer(known, NULL);
    PyObject *bytes = PyUnicode_EncodeFSDefault(name);
    char *copy = bytes ? strdup(PyBytes_AsString(bytes)) : NULL;
    Py_XDECREF(bytes);
    PyObject *capsule = copy ? PyCapsule_New(copy, NULL, NULL) : NULL;
    if (!capsule || PyDict_SetItem(file_names, name, capsule) < 0)
        PyErr_Clear();
    Py_XDECREF(capsule);
    return copy ? copy : "";
}

/* What is pending, such as an interrupt of a wait, stays. */
static void look_up(place *entry, PyFrameObject *frame, PyObject *code, long instruction)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Py_XDECREF(entry->code);
    entry->code = Py_NewRef(code);
    entry->instruction = instruction;
    PyObject *name = PyObject_GetAttrString(code, "co_filename");
    entry->source.file = name ? file_kept(name) : "";
    entry->source.line = PyFrame_GetLineNumber(frame);
    entry->inside =
        *package_folder && strncmp(entry->source.file, package_folder, strlen(package_folder)) == 0;
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

static long instruction_by_name(PyFrameObject *frame)
{
    PyObject *at = PyObject_GetAttr((PyObject *)frame, instruction_name);
    long instruction = at ? PyLong_AsLong(at) : -1;
    Py_XDECREF(at);
    return instruction;
}

static const place *place_of(PyFrameObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
    long instruction = get_instruction ? get_instruction(frame) : instruction_by_name(frame);
    size_t hash = ((size_t)code >> 4) * 31 + (size_t)instruction / 2;
    place *entry = &places[hash % PLACES];
    if (entry->code != code || entry->instruction != instruction)
        look_up(entry, frame, code, instruction);
    Py_DECREF(code);
    return entry;
}

static bool names_made(void)
{
    if (instruction_name && back_name && file_names)
        return true;
    *(void **)&get_instruction = dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
    if (!instruction_name)
        instruction_name = PyUnicode_InternFromString("f_lasti");
    if (!back_name)
        back_name = PyUnicode_InternFromString("f_back");
    if (!file_names)
        file_names = PyDict_New();
    if (instruction_name && back_name && file_names)
        return true;
    PyErr_Clear();
    return false;
}

hk_source py_source(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    if (!frame || !names_made())
        return (hk_source){"", 0};
    const place *found = place_of(frame);
    if (!found->inside)
        return found->source;
    PyObject *at = Py_NewRef((PyObject *)frame);
    while (found->inside) {
        PyObject *outer = PyObject_GetAttr(at, back_name);
        if (!outer || outer == Py_None) {
            Py_XDECREF(outer);
            break;
        }
        PY_REPLACE(at, outer);
        found = place_of((PyFrameObject *)at);
    }
    Py_DECREF(at);
    return found->source;
}
