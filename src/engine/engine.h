/* The engine: runs tasks in an order that keeps serial meaning.
 *
 * A task names the byte ranges of variables that it reads and writes, never other tasks. Tasks have one
 * total order (their sequence number); a task starts once every earlier one that conflicts with it has
 * finished, or, on devices that keep the order of what they are given, has been launched. Life of a task:
 * hki_task_begin (a slot with room for a payload), the caller fills payload and accesses, hki_task_submit.
 * From then on the engine owns it: prepare → run(piece) for each piece → join → finish, in a worker of its
 * device, in a waiting thread, or, small and ready, in the submitter.
 *
 * All functions are thread-safe unless they say otherwise. Lock order: issue lock, then device queue. */
#ifndef HOCKET_ENGINE_ENGINE_H
#define HOCKET_ENGINE_ENGINE_H

#include "base/source.h"
#include "base/status.h"
#include "base/trace.h"
#include "device/device.h"
#include "engine/range.h"

#include <stdatomic.h>

typedef struct hki_task hki_task;
typedef struct hki_runtime hki_runtime;
typedef struct hki_gate hki_gate;
typedef struct hki_failure hki_failure;
struct hki_blame;

/* ---- variables ------------------------------------------------------------------------------------ */

/* What the engine keeps for a piece of memory that tasks read and write. Embedded in its owner, which
 * outlives every task that names it. */
typedef struct hki_var {
    hki_runtime *runtime;
    hki_gate *gates;                  /* accesses that may be unfinished; issue lock */
    hki_gate *retired, **retired_end; /* superseded, to be recycled in order; issue lock */
    /* See core/score.h; 0: not since it was last looked at; issue lock. */
    uint64_t scored_read, scored_write;
    _Atomic(hki_failure *) failures; /* failed byte ranges; NULL in the usual case */
    /* The sequence number of the latest write issued, of those since somebody first asked; 0: none. Issue lock. */
    uint64_t version;
    struct hki_watch *watches; /* core/watch.h; NULL: none; issue lock */
} hki_var;

void hki_var_init(hki_var *var, hki_runtime *runtime);
void hki_var_drop(hki_var *var); /* for hki_var_deinit, where there is something to drop */
/* No task that names it may be unfinished. */
static inline void hki_var_deinit(hki_var *var)
{
    if ((uintptr_t)var->gates | (uintptr_t)var->retired |
        (uintptr_t)atomic_load_explicit(&var->failures, memory_order_acquire))
        hki_var_drop(var);
}

/* The owner of the variable, which tasks that were put off have named (hki_later.keep), and none
 * names any more, is about to give its memory (bytes 0: none) back to the device's pool. True:
 * something that has been put off needs the bytes still; they are given back when it does not. Any
 * thread; expects no lock but the issue lock. */
bool hki_put_off_keeps(hki_var *var, hki_device *device, hki_memory_pool *pool, void *data,
                       uint64_t bytes);

typedef enum hki_access_mode {
    HKI_READ = 1,   /* fails with the range's failure */
    HKI_WRITE = 2,  /* excludes all others from the range */
    HKI_HEAL = 4,   /* with HKI_WRITE: overwrites every byte, so old failures end */
    HKI_KEEP = 8,   /* with HKI_WRITE: not failed when the task fails (recovery) */
    HKI_FRESH = 16, /* with HKI_WRITE: made by this task; no old bytes could stand if it fails */
} hki_access_mode;

typedef struct hki_access {
    hki_var *var;
    uint64_t begin, end; /* bytes, begin < end; an empty array still takes one byte */
    unsigned mode;       /* hki_access_mode bits */
    uint32_t pitch;      /* see hki_range */
} hki_access;

static inline hki_range hki_access_range(const hki_access *access)
{
    return (hki_range){access->begin, access->end, access->pitch};
}

/* In a task that writes the range: ends its failures; or, of a task that holds it with HKI_WRITE | HKI_KEEP, those alone whose
 * bytes are still what they were before the failed call. */
void hki_var_end_failures(hki_var *var, hki_range range, bool only_intact);

/* For want of host memory for a task: fails the range now, ahead of what is still to read it, and notes a
 * root failure. Allocates nothing that it depends on. */
void hki_var_fail_at_once(hki_var *var, hki_range range);

/* ---- tasks ---------------------------------------------------------------------------------------- */

/* What a kind of task does. Immutable. Every function gets the payload that the submitter filled. */
typedef struct hki_task_spec hki_task_spec;

/* How tasks of a class are put off, on devices that compute no more than somebody can see
 * (hki_device_puts_off): they are launched, and end by the model, when `prepare` has succeeded; run
 * and join come later, or never. Functions but `may` are called without a lock, by threads that
 * launch; `drop` by any thread, and with locks. */
typedef struct hki_later {
    /* Whether run and join look at nothing but what the task reads, and cannot refuse what they
     * find there. Asked when the task is being issued (is_issued), where it may be told too much,
     * and when it is launched. Then true means that it is put off: prepare only has to see to it
     * that there is room for what is written. */
    bool (*may)(const hki_task_spec *spec, void *payload, bool is_issued);
    /* After prepare: a payload for run, join and describe which keeps what they need when the task,
     * and its storages, have gone: names of these (hki_storage_retain_name). Their memory stays.
     * NULL: no memory. */
    void *(*keep)(const hki_task_spec *spec, const void *payload);
    void (*drop)(void *kept);
    /* Optional: what is written is the host's memory, by one access, and stays to be seen by nobody
     * but tasks and waits. */
    bool (*writes_host)(const hki_task_spec *spec);
    /* Optional, both or none: workspace, before run, and after it. `as` stands for the task. False
     * after hki_task_fail. */
    bool (*begin)(hki_task *as, void *kept);
    void (*end)(void *kept);
    /* Optional, all or none. Equal ones (0: none are) write the same bytes. Then a task whose
     * accesses that write are HKI_FRESH gets the bytes of an equal one: `share` turns its payload
     * into that, and returns how far what `from` writes lies from what it writes itself, in bytes;
     * 0: that is several arrays. `copy` is then called in place of run and join. */
    uint64_t (*hash)(const void *kept);
    bool (*is_equal)(const void *kept, const void *other);
    intptr_t (*share)(void *kept, const void *from);
    void (*copy)(void *kept);
} hki_later;

typedef struct hki_task_class {
    /* None of its functions issues a task, waits for one, or takes long where expected_ns does not say so: a short one
     * whose turn it is may run and end while hki_task_submit still keeps all others from issuing. */
    bool leaf;
    /* On an accelerator prepare, run and join only give its queue work, and look at no memory but through it: so the task
     * may be launched when what it waits for has been launched. */
    bool enqueues;
    /* `run` gives the task, of one piece and a CPU device, to somebody outside the engine, who ends it by hki_task_end: then,
     * not when `run` returns, it is over. It has no prepare and no join. */
    bool is_outside;
    /* With is_outside: the program itself ends the task, some time. The serial engine goes on
     * meanwhile, and waits where something needs what the task writes. */
    bool is_promise;
    /* `run` is called although inputs have failed, which hki_task_failure tells: others wait for what it has to say. */
    bool takes_failed;
    /* Optional: makes outputs and workspace real; runs once, before the pieces, in no particular
     * thread. Calls hki_task_fail and returns false when it cannot; the pieces then do not run. */
    bool (*prepare)(hki_task *task, void *payload);
    /* One piece; pieces of one task run at the same time in several threads. May call hki_task_fail. */
    void (*run)(hki_task *task, void *payload, int64_t piece);
    /* Optional: after all pieces, once, when none failed. */
    void (*join)(hki_task *task, void *payload);
    /* Drops what the payload holds; always called, exactly once, last. */
    void (*finish)(hki_task *task, void *payload);
    /* Optional: text of the inputs for an error record, such as "float32(2,3), int64(4,)". */
    void (*describe)(const void *payload, char *text, size_t bytes);
    /* Optional: shapes of inputs and outputs, for traces; returns how many, at most `limit`. */
    int (*operands)(const void *payload, hki_trace_operand *operands, int limit);
    /* Optional, of a task that has an accelerator do several calls: who is to be named where the device says that the one
     * of this number failed (hki_ticket). */
    void (*blame)(const void *payload, int call, struct hki_blame *blame);
    /* Optional, of a task that has been given to an accelerator: whether all values that its kernels check are known to be
     * good (device/known_values.h), so that they will fail nothing. */
    bool (*is_prechecked)(const hki_task_spec *spec, const void *payload);
    /* Optional: whether an accelerator can do the task behind others that may turn out failed: then it leaves everything that
     * it would overwrite as it is (hki_device_class.guard). Asked by any thread. */
    bool (*can_spare)(const hki_task_spec *spec, const void *payload);
    /* The next three are optional, of a task of several calls, each of which fails by itself, on an accelerator. Tells of each
     * range that has been written, in the order of writes, with which flags it may turn out failed, where not all have
     * ticket->flags and ticket->suspects. */
    void (*note_suspects)(const hki_task_spec *spec, const void *payload,
                          const struct hki_ticket *ticket,
                          void (*note)(void *argument, const hki_access *access, uint64_t flags),
                          void *argument);
    /* The device is done with the task, which asks it what its kernels have reported. */
    void (*note_reports)(hki_task *task, void *payload, const struct hki_ticket *ticket);
    /* In the place of the engine, where the task has been started: settles all that is written, by hki_task_settle_part.
     * failure: of the whole task; NULL: none. is_spared: then its calls have left what they could as it was. heals: old
     * failures may be in what is good now. */
    void (*settle)(void *payload, const hk_status *failure, bool is_spared, bool heals);
    const hki_later *later; /* optional: how it is put off */
    /* What it reads, by one access, may lie elsewhere: hki_task_shift. */
    bool reads_elsewhere;
} hki_task_class;

enum { HKI_TASK_INLINE_ACCESSES = 8 };

struct hki_task_spec {
    const hki_task_class *class;
    hki_device *device;
    int64_t piece_count;  /* >= 1; a pure function of operator, shapes and plan, never of load */
    int64_t expected_ns;  /* of the whole task on one core */
    hki_access *accesses; /* filled by the submitter: access_count of them */
    int access_count;
    /* A reduction between devices, or a copy of one: goes before all others of its queue, and of such those first that were
     * issued first. */
    bool collective;
    bool updates; /* a call of an optimiser, for traces; set to false by hki_task_begin */
    /* 0, or it goes before those of its queue that have a lower one, and behind collective ones. By
     * hki_task_begin: the thread's. */
    uint8_t priority;
    uint8_t queue; /* hki_queue_kind, of an accelerator; by hki_task_begin HKI_QUEUE_COMPUTE */
    /* NULL (set by hki_task_begin), or room for a version by access, set by hki_task_submit: which write of any range of
     * its variable was the last to be issued before. Two tasks that read a variable at the same version, and have not failed, see
     * the same bytes, wherever and whenever they run. */
    uint64_t *versions;
    const char *operation; /* static text */
    hk_source source;      /* set by hki_task_begin: this thread's */
    hki_cost cost;         /* for devices that model their time; set to zeros by hki_task_begin */
};

/* A new task of the runtime with payload_bytes of payload (64-byte aligned, not cleared) and room for
 * access_count accesses. May block while the run-ahead window is full, and run short tasks, or wait, for 50 us where
 * many are unfinished (never in a task). NULL when host memory is short. */
hki_task *hki_task_begin(hki_runtime *runtime, size_t payload_bytes, int access_count,
                         uint64_t output_bytes);
void *hki_task_payload(hki_task *task);
hki_task_spec *hki_task_get_spec(hki_task *task);

/* Issues the task; it may have finished, and be gone, on return. Returns its sequence number. */
uint64_t hki_task_submit(hki_task *task);
/* A priority of the program's as tasks have it. */
uint8_t hki_priority_of(int priority);

/* How many tasks this thread has submitted, ever: who notes them can tell that it has missed one. */
uint64_t hki_submitted_count(void);

/* From prepare, run or join: the task fails with a record built from its operation, device, inputs and
 * source line. Of several pieces the one with the lowest number (`piece`; 0 outside run) wins. Other
 * pieces still run. */
void hki_task_fail(hki_task *task, int64_t piece, hk_code code, const char *format, ...)
    HK_PRINTF(4, 5);
/* The same with a ready record (taken), which is not counted as a new root failure. */
void hki_task_fail_with(hki_task *task, const hk_status *status);
uint64_t hki_task_sequence(const hki_task *task);
/* In `run` of a class that reads_elsewhere: how far what the task reads lies from its place, in
 * bytes. */
intptr_t hki_task_shift(const hki_task *task);
/* It stands for one that has been put off (hki_later): its workspace is not among what its device
 * has in use. */
bool hki_task_is_late(const hki_task *task);
bool hki_task_has_failed(hki_task *task);
/* What has failed it until now, counted; NULL: nothing. */
const hk_status *hki_task_failure(hki_task *task);

/* How a task of a class that is_outside ends. */
typedef struct hki_outside_end {
    const hk_status
        *failure;         /* taken; NULL: it has not failed, but for what hki_task_fail has noted */
    bool is_root;         /* the program does not know of the failure yet */
    bool has_begun;       /* bytes may have been overwritten: a failure leaves torn ones */
    uint64_t begin_ticks; /* what a recording shows: from then until now */
} hki_outside_end;
/* Once, from any thread, when `run` has been called; it may not have returned yet. The task, and its payload, may be gone on
 * return. */
void hki_task_end(hki_task *task, const hki_outside_end *end);
/* Somebody waits for tasks now. */
bool hki_runtime_is_awaited(const hki_runtime *runtime);
/* How many more promises are open: a thread that waits for room may be the one to keep them. */
void hki_runtime_count_promises(hki_runtime *runtime, int more);
/* Some thread waits for the task, which has not ended, or for what comes behind it. */
bool hki_task_is_awaited(hki_task *task);
/* The runtime is about to end: whoever begins a task of a class that is_promise ends it at once. */
bool hki_runtime_is_ending(const hki_runtime *runtime);

/* A task that does the work of several calls says which of them its thread is at: failures then name its operation,
 * source and inputs. NULL: the task's own again. Lent until then. */
typedef struct hki_blame {
    const char *operation;
    hk_source source;
    void (*describe)(const void *what, char *text, size_t bytes); /* the inputs */
    const void *what;
} hki_blame;
void hki_task_blame(const hki_blame *blame);
/* A record of a part of the task, counted, which nobody is failed by yet. blame: NULL: who fails now, see hki_task_blame. */
const hk_status *hki_task_record(const hki_task *task, const hki_blame *blame, hk_code code,
                                 const char *format, ...) HK_PRINTF(4, 5);
/* Notes a root failure. */
void hki_runtime_note_failure(hki_runtime *runtime, const hk_status *status);
/* From hki_task_class.settle: a range that was written, as HKI_WRITE accesses are settled. failure: NULL: it is good. */
void hki_task_settle_part(const hki_access *access, const hk_status *failure, bool is_intact);

/* For a call so small that a task would cost more, and that cannot fail: gives it its place in the order of calls and
 * holds all others back until hki_direct_end, which is to be soon. It may read the variables and write the
 * one given, or, with NULL, what nobody else knows of yet. False: it has to be a task. */
bool hki_direct_begin(hki_runtime *runtime, hki_var *const *reads, int count, hki_var *write);
void hki_direct_end(hki_runtime *runtime);
/* For reading a few elements, which takes no place in the order of calls: true when what was issued to write the variable
 * has finished and nothing has failed; all others are then held back until hki_direct_end. False, also in a task and
 * where the variable's runtime is not alive: hki_wait_with is to be asked. */
bool hki_direct_look(hki_var *var);
/* Elements that are few enough for either. */
enum { HKI_DIRECT_ELEMENTS = 64 };

/* ---- waiting and reading ----------------------------------------------------------------------------- */

/* A wait for a byte range of a variable. */
typedef struct hki_waiting {
    hki_var *var;
    hki_range range;
    void (*body)(void *); /* may be NULL */
    void *argument;
    /* NULL, or the thread may be told of waits that block, and interrupted (hk_wait_hooks): HK_INTERRUPTED. Then `keep` is
     * called, which sees to it that the variable stays, and `drop` when the engine has let go of it, in any thread. */
    void (*keep)(void *owner), (*drop)(void *owner);
    void *owner;
} hki_waiting;
/* Blocks until all earlier tasks that write the range have finished, then calls `body` in this thread while later writers of
 * the range are held back, unless the range is failed. Returns the record of the range (counted: the caller releases) or the
 * ok record. The caller lends its hands meanwhile. HK_WOULD_DEADLOCK inside a task. */
const hk_status *hki_wait_with(const hki_waiting *waiting);
/* The same without body, until so long has passed: HK_TIMEOUT. The caller lends no hands. */
const hk_status *hki_wait_for(const hki_waiting *waiting, int64_t timeout_ns);
/* hki_wait_with would not block. Never blocks. */
bool hki_range_has_come(const hki_waiting *waiting);
/* The record of the range as it is now, or the ok record; counted. */
const hk_status *hki_range_error_now(const hki_waiting *waiting);
/* Waits, for readers too if the program is going to write, and holds back what conflicts with that, until hki_range_hold_end. The
 * caller sees to it that the variable stays. Returns a record, counted; *hold is NULL where it is a failure's. */
typedef struct hki_range_hold hki_range_hold;
const hk_status *hki_range_hold_begin(const hki_waiting *waiting, bool writes,
                                      hki_range_hold **hold);
/* From any thread, also when the runtime has ended, which ends all holds. */
void hki_range_hold_end(hki_range_hold *hold);
/* True in a thread that is running a task now. */
bool hki_in_task(void);

/* ---- run-ahead window: bytes that only unfinished tasks hold --------------------------------------- */

void hki_window_add(hki_runtime *runtime, uint64_t bytes);
void hki_window_remove(hki_runtime *runtime, uint64_t bytes);

/* ---- runtime ---------------------------------------------------------------------------------------- */

/* The default runtime, started on first use; NULL only when host memory is short. When its configuration
 * is wrong it still starts, and every device is a failed one that says so. */
hki_runtime *hki_runtime_default(void);
/* The same, counted: it stays valid when another thread ends it. */
hki_runtime *hki_runtime_default_retained(void);
/* The same, but NULL where none runs. */
hki_runtime *hki_runtime_current_retained(void);
/* False when the runtime belongs to a parent process or has ended: nothing may be issued on it. */
bool hki_runtime_alive(const hki_runtime *runtime);
/* It is this process's, not a parent's before a fork; it may have ended. */
bool hki_runtime_is_here(const hki_runtime *runtime);
/* The record for a handle whose runtime is not alive: HK_FORKED or HK_CANCELLED; counted. */
const hk_status *hki_runtime_gone(const hki_runtime *runtime);
/* At exit, CUDA and its libraries end in their own time, while threads of the runtime may be amid a call of theirs. So the
 * runtime is to end before whatever has been loaded until now does. Thread-safe; quick where nothing new has been. */
void hki_runtime_end_first(void);
bool hki_runtime_is_serial(const hki_runtime *runtime);
/* Between kernels, as measured (base/choices.h); lives as long as the runtime. */
struct hki_choices *hki_runtime_choices(const hki_runtime *runtime);
/* Counts of objects that keep a dead runtime's memory: arrays, mainly. */
void hki_runtime_retain(hki_runtime *runtime);
void hki_runtime_release(hki_runtime *runtime);
/* For a call: the device, which, if zeroed, stands for the default one. The runtime of that is counted in *held, for other
 * threads may end it meanwhile. Never NULL. */
hki_device *hki_device_hold(hk_device device, hki_runtime **held);
static inline void hki_hold_end(hki_runtime **held)
{
    if (*held)
        hki_runtime_release(*held);
}
/* Declares what is held until the block ends. */
#define HKI_HOLD(held) __attribute__((cleanup(hki_hold_end))) hki_runtime *held = NULL
/* cpu:0 of the device's runtime, which is not NULL: for what the host is to do on the way to or from it. */
hki_device *hki_device_of_host(const hki_device *device);
/* Its *count devices, which live as long as it does. */
hki_device *const *hki_runtime_devices(const hki_runtime *runtime, int *count);

/* ---- recording (base/trace.h): what runs where and when --------------------------------------------- */

/* Begins recording into chunks of limit_bytes in all. NULL or an error record (counted): a recording is under
 * way, no memory, or the runtime is not alive. Does not block. */
const hk_status *hki_runtime_trace_begin(hki_runtime *runtime, uint64_t limit_bytes);
/* Ends it. The records can be read until the next begin; they belong to the runtime. NULL when none was under
 * way. Waits for nothing: what is unfinished has no LAST. */
hki_trace *hki_runtime_trace_end(hki_runtime *runtime);

/* True while one is under way. */
bool hki_runtime_is_recording(hki_runtime *runtime);

/* The sequence number of this thread's latest submission: the recorded order of tests. */
uint64_t hki_last_sequence(void);

#endif
