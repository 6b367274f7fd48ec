/* Promises: tasks that the program ends itself, from any thread. */
#include "task/kernel_call.h"

#include "base/source.h"
#include "base/text.h"
#include "engine/wait/blocking.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

_Atomic(int64_t) hki_promise_patience_ns = 10000000000;

enum { LOOKS = 10 /* while patience lasts */, IDLE_LOOKS = 20 };

enum { ISSUED, BEGUN, ENDED };                       /* the task */
typedef enum outcome { OPEN, KEPT, BROKEN } outcome; /* what the program has said */

struct hk_promise {
    hk_promise *next; /* of those that have begun and are open */
    _Atomic(uint32_t) stage;
    _Atomic(int) refs; /* the handle, and the task until it has ended */
    outcome outcome;
    hk_code code; /* BROKEN */
    char message[512];
    hki_runtime *runtime; /* counted while it is in the list */
    hki_task *task;       /* while it is BEGUN */
    const void *payload;
    uint64_t begin_ticks;
    int64_t begin_ns;
    int awaited_looks;
    bool is_of_library; /* it will be kept, and the end of the runtime waits for that */
    const char *name;
    hk_source source;
};

static struct {
    pthread_mutex_t lock; /* guards all but `stage` and `refs` */
    pthread_cond_t more;
    hk_promise *first;
    bool is_watched;
} promises = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void drop(hk_promise *self)
{
    if (atomic_fetch_sub(&self->refs, 1) == 1)
        free(self);
}

static void unlink_locked(hk_promise *self)
{
    hk_promise **link = &promises.first;
    while (*link != self)
        link = &(*link)->next;
    *link = self->next;
}

/* ---- open ones that somebody waits for ------------------------------------------------------ */

static void look_locked(hk_promise *self, int64_t patience_ns)
{
    if (self->awaited_looks < 0 || hki_clock_ns() - self->begin_ns < patience_ns)
        return;
    self->awaited_looks = hki_task_is_awaited(self->task) ? self->awaited_looks + 1 : 0;
    if (self->awaited_looks < LOOKS)
        return;
    self->awaited_looks = -1;
    fprintf(stderr,
            "hocket: a thread waits for the promise \"%s\", made at %s:%d, which has been neither "
            "kept nor broken for %.0f s\n",
            self->name, self->source.file ? self->source.file : "?", self->source.line,
            (double)(hki_clock_ns() - self->begin_ns) * 1e-9);
}

static void sleep_locked(int64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    ns += until.tv_nsec;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_cond_timedwait(&promises.more, &promises.lock, &until);
}

static void watch(hki_task *none, void *argument)
{
    (void)none;
    (void)argument;
    pthread_mutex_lock(&promises.lock);
    for (int idle = 0; idle < IDLE_LOOKS; idle = promises.first ? 0 : idle + 1) {
        const int64_t patience_ns = atomic_load(&hki_promise_patience_ns);
        sleep_locked(patience_ns / LOOKS);
        for (hk_promise *self = promises.first; self; self = self->next)
            look_locked(self, patience_ns);
    }
    promises.is_watched = false;
    pthread_mutex_unlock(&promises.lock);
}

/* In the child of a fork, where the parent's are nobody's. */
static void forget_all(void)
{
    pthread_mutex_init(&promises.lock, NULL);
    pthread_cond_init(&promises.more, NULL);
    promises.first = NULL;
    promises.is_watched = false;
}

__attribute__((constructor)) static void note_forks(void)
{
    pthread_atfork(NULL, NULL, forget_all);
}

/* ---- beginning and ending ------------------------------------------------------------------- */

/* It is in no list any more, so that nobody else does. */
static void end(hk_promise *self, hki_task *task, hki_runtime *runtime)
{
    if (self->outcome == BROKEN)
        hki_task_fail(task, 0, self->code, "%s", self->message);
    hki_task_end(task, &(hki_outside_end){.has_begun = true, .begin_ticks = self->begin_ticks});
    hki_runtime_release(runtime);
}

/* Expects the lock. */
static void break_locked(hk_promise *self, hk_code code, const char *message)
{
    self->outcome = BROKEN;
    self->code = code;
    snprintf(self->message, sizeof self->message, "%s", message);
}

static const char runtime_ended[] = "the runtime ended before the promise was kept";

void hki_promise_begin(hk_promise *self, hki_task *task, void *payload)
{
    hki_runtime *runtime = hki_task_get_spec(task)->device->runtime;
    hki_runtime_retain(runtime);
    pthread_mutex_lock(&promises.lock);
    self->task = task;
    self->payload = payload;
    self->runtime = runtime;
    self->begin_ticks = hki_ticks();
    self->begin_ns = hki_clock_ns();
    if (self->outcome == OPEN && !self->is_of_library && hki_runtime_is_ending(runtime))
        break_locked(self, HK_CANCELLED, runtime_ended);
    const bool is_open = self->outcome == OPEN;
    if (is_open) {
        self->next = promises.first;
        promises.first = self;
        /* Without a thread nobody is told, and all else works. */
        promises.is_watched = promises.is_watched || hki_kernel_thread_run(watch, NULL, NULL);
        atomic_store(&self->stage, BEGUN);
        hki_futex_wake(&self->stage, INT32_MAX);
    }
    pthread_mutex_unlock(&promises.lock);
    if (!is_open)
        end(self, task, runtime);
}

/* The task is over, has failed for its inputs, or could not be issued. */
static void note_end(void *args)
{
    hk_promise *self = *(hk_promise **)args;
    atomic_store(&self->stage, ENDED);
    hki_futex_wake(&self->stage, INT32_MAX);
    drop(self);
}

void hki_promises_end(struct hki_runtime *runtime, void (*let_go)(struct hki_runtime *runtime))
{
    for (;;) {
        pthread_mutex_lock(&promises.lock);
        hk_promise *self = promises.first;
        while (self && (self->runtime != runtime || self->is_of_library))
            self = self->next;
        if (self) {
            break_locked(self, HK_CANCELLED, runtime_ended);
            unlink_locked(self);
        }
        pthread_mutex_unlock(&promises.lock);
        if (!self)
            break;
        end(self, self->task, runtime);
    }
    hki_files_await(runtime, let_go);
}

/* What is said first counts. Takes the handle. */
static void settle(hk_promise *self, outcome said, hk_code code, const char *message)
{
    pthread_mutex_lock(&promises.lock);
    const bool is_first = self->outcome == OPEN, ends = is_first &&
                                                        atomic_load(&self->stage) == BEGUN &&
                                                        hki_runtime_is_here(self->runtime);
    if (is_first && said == BROKEN)
        break_locked(self, code, message);
    else if (is_first)
        self->outcome = said;
    if (ends)
        unlink_locked(self);
    pthread_mutex_unlock(&promises.lock);
    if (ends)
        end(self, self->task, self->runtime);
    drop(self);
}

/* ---- what a program calls ------------------------------------------------------------------- */

static void nothing(hk_task_call *call)
{
    (void)call;
}

static hk_promise *create(const char *name, const hk_access *accesses, int count,
                          bool is_of_library)
{
    /* Of one that there is no memory for: its arrays have failed, and nobody keeps it. */
    static hk_promise none = {.stage = ENDED, .refs = INT32_MAX / 2, .outcome = KEPT};
    hk_promise *self = calloc(1, sizeof *self);
    const hk_kernel kernel = {.name = name, .cpu = nothing, .waits = true, .release = note_end};
    if (self) {
        self->name = name;
        self->source = hki_source_get();
        self->is_of_library = is_of_library;
        atomic_init(&self->refs, 2);
    }
    hki_kernel_run_promise(&kernel, accesses, count, self);
    return self ? self : &none;
}

hk_promise *(hk_promise_create)(const hk_access *accesses, int count,
                                const hk_promise_options *options)
{
    HKI_TAKE_OPTIONS(hk_promise_options, options);
    return create(options && options->name ? options->name : "promise", accesses, count, false);
}

hk_promise *hki_promise_of_library(const char *name, hk_array *x)
{
    return create(name, (const hk_access[]){hk_writes(x)}, 1, true);
}

void hki_promise_break(hk_promise *self, hk_code code, const char *message)
{
    settle(self, BROKEN, code, message);
}

hk_task_view hk_promise_view(hk_promise *self, int index)
{
    hk_task_view view = {.shape = {.ndim = -1}};
    hki_blocking blocking = {0};
    bool is_interrupted = !self || hki_in_task();
    if (!is_interrupted && atomic_load(&self->stage) == ISSUED)
        hki_blocking_begin(&blocking);
    while (!is_interrupted && atomic_load(&self->stage) == ISSUED) {
        hki_futex_wait(&self->stage, ISSUED, blocking.hooks ? HKI_LOOK_NS : -1);
        is_interrupted = hki_blocking_look(&blocking, hki_clock_ns());
    }
    hki_blocking_end(&blocking);
    if (is_interrupted)
        return view;
    pthread_mutex_lock(&promises.lock);
    if (atomic_load(&self->stage) == BEGUN && self->outcome == OPEN)
        view = hki_kernel_view(self->payload, index);
    pthread_mutex_unlock(&promises.lock);
    return view;
}

bool hk_promise_is_open(const hk_promise *self)
{
    if (!self)
        return false;
    pthread_mutex_lock(&promises.lock);
    const bool is_open = self->outcome == OPEN && atomic_load(&self->stage) != ENDED;
    pthread_mutex_unlock(&promises.lock);
    return is_open;
}

void hk_promise_keep(hk_promise *self)
{
    if (self)
        settle(self, KEPT, HK_OK, NULL);
}

void hk_promise_break(hk_promise *self, const char *format, ...)
{
    char message[sizeof self->message];
    va_list args;
    if (!self)
        return;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    settle(self, BROKEN, HK_CANCELLED, message);
}
