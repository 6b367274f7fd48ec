/* Waiting without the GIL, interrupts, and references that threads of Hocket's give back. */
#include "core.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- hooks ------------------------------------------------------------------------------------------------ */

/* A thread lets go of the GIL once, and for each wait within a signal's handler once more. */
enum { NESTED = 16 };
static _Thread_local struct {
    PyThreadState *state[NESTED];
    int depth, beyond; /* beyond: waits too deep to let go */
    int within;        /* waits of a thread that had let go for long work: they need not */
    bool interrupted;
} held;

void py_gil_release(void)
{
    if (held.depth == NESTED)
        held.beyond++;
    else
        held.state[held.depth++] = PyEval_SaveThread();
}

void py_gil_take(void)
{
    if (held.beyond)
        held.beyond--;
    else
        PyEval_RestoreThread(held.state[--held.depth]);
}

static void wait_begins(void *context)
{
    (void)context;
    if (held.depth > 0)
        held.within++;
    else
        py_gil_release();
}

static void wait_ends(void *context)
{
    (void)context;
    if (held.within > 0)
        held.within--;
    else
        py_gil_take();
}

/* Handlers run in the main thread alone; in others this only says no. */
static bool wait_interrupted(void *context)
{
    (void)context;
    int within = held.within;
    held.within = 0;
    py_gil_take();
    size_t scopes = hk_scopes_suspend(); /* handlers count by themselves */
    bool raised = PyErr_CheckSignals() != 0;
    hk_scopes_resume(scopes);
    held.interrupted |= raised;
    py_gil_release();
    held.within = within;
    return raised;
}

bool py_was_interrupted(void)
{
    bool was = held.interrupted;
    held.interrupted = false;
    return was && PyErr_Occurred();
}

/* ---- references given back later ---------------------------------------------------------------------------- */

typedef struct returned {
    struct returned *next;
    PyObject *object;
} returned;

static pthread_mutex_t returned_lock = PTHREAD_MUTEX_INITIALIZER;
static returned *returned_first;
static bool returned_asked; /* the main thread will come */

static int drop_returned(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&returned_lock);
    returned *first = returned_first;
    returned_first = NULL;
    returned_asked = false;
    pthread_mutex_unlock(&returned_lock);
    while (first) {
        returned *next = first->next;
        Py_DECREF(first->object);
        free(first);
        first = next;
    }
    return 0;
}

/* Where memory is short, or the interpreter has ended, the object stays for good: better than a crash. */
void py_release_later(PyObject *object)
{
    returned *entry = malloc(sizeof *entry);
    if (!entry)
        return;
    pthread_mutex_lock(&returned_lock);
    *entry = (returned){.next = returned_first, .object = object};
    returned_first = entry;
    if (!returned_asked)
        returned_asked = Py_AddPendingCall(drop_returned, NULL) == 0;
    pthread_mutex_unlock(&returned_lock);
}

static _Thread_local bool dropping; /* with the GIL */

void py_release_anyhow(PyObject *object)
{
    if (dropping)
        Py_DECREF(object);
    else
        py_release_later(object);
}

void py_drop(hk_array *x)
{
    bool before = dropping;
    dropping = true;
    hk_array_release(x);
    dropping = before;
}

bool py_waiting_init(void)
{
    const hk_wait_hooks hooks = {.struct_bytes = sizeof hooks,
                                 .begin = wait_begins,
                                 .end = wait_ends,
                                 .interrupted = wait_interrupted};
    hk_refusals_are_raised(true);
    return py_check(hk_wait_hooks_set(&hooks));
}
