/* Work put off. Devices whose computing takes a model's time (hki_device_puts_off) compute no more
 * than somebody can see. A task there is prepared when it is launched, ends by the model, and
 * leaves a *work* behind: what it was to compute. That is done when something needs the bytes that
 * is not put off itself (a copy to the host, a kernel that may refuse values, a kernel of the
 * program's) or overwrites what it reads; it is dropped when nobody can get at what it would write:
 * that has been overwritten, or its memory been given back. Of equal works one computes, and the
 * others copy.
 *
 * Works are numbered in the order in which their tasks were launched, which is that of the calls
 * for all that conflict. A work knows the earlier ones that it *needs*, for it reads what they
 * write, and those that it *follows*, for it overwrites what they read or write; the latter only if
 * they are to be done at all. The lowest number needs nothing, and nothing here recurses.
 *
 * Everything but a work's state, payload and pieces is guarded by the lock of hki_put_offs, in
 * which no other but a pool's is taken. */
#ifndef HOCKET_ENGINE_ACCEL_PUT_OFF_H
#define HOCKET_ENGINE_ACCEL_PUT_OFF_H

#include "engine/accel/accelerator.h"

enum {
    HKI_PUT_OFF_MANY =
        64, /* works that wait, but for copies; of more the first are done by threads that have nothing to launch, */
    HKI_PUT_OFF_MOST = 1024, /* and of so many before anything is launched */
    HKI_PUT_OFF_ALL = 8192,  /* the same, of copies, too */
    HKI_PUT_OFF_KEPT_MIB =
        256,                  /* bytes that have been given back, and works still read; the same */
    HKI_PUT_OFF_EDGES = 256,  /* that one work needs or follows; of more all are done */
    HKI_PUT_OFF_KNOWN = 1024, /* works done that equal ones may copy from */
    HKI_PUT_OFF_TABLE = 1024, /* chains of works that may have equals, and of variables */
    HKI_PUT_OFF_OPEN =
        HKI_MAX_CORES /* works of several pieces under way, to which other threads come */
};

typedef struct hki_work hki_work;
typedef struct hki_put_offs hki_put_offs;
typedef struct hki_hint hki_hint; /* wanted.c */

typedef enum hki_work_state {
    HKI_WORK_WAITS,
    HKI_WORK_RUNS,
    HKI_WORK_DONE,
    HKI_WORK_FAILED, /* for want of host memory: whoever needs it fails by its record */
    HKI_WORK_GONE
} hki_work_state;

/* A byte range that a work reads or writes. */
typedef struct hki_put_off_place {
    hki_work *work;
    struct hki_put_off_var *var; /* NULL: no more */
    hki_range range;
    bool writes;
    bool is_seen;                           /* somebody can get at what is written */
    bool is_user;                           /* is one of var->users */
    struct hki_put_off_place *next, **link; /* in the variable's list; link NULL: not in it */
} hki_put_off_place;

/* What the works make of a variable. */
struct hki_put_off_var {
    const hki_var *var; /* NULL: its owner has gone */
    struct hki_put_off_var *in_chain;
    hki_put_off_place *reads, *writes; /* the latter also of known works */
    hki_hint *
        issued; /* of the last task that writes it, while that is not launched; NULL: there is none */
    int users;             /* places of works that wait, run or have failed, and pins */
    bool has_bytes;        /* something may have been written there: pages, not addresses alone */
    hki_device *device;    /* of memory that has been given back, */
    hki_memory_pool *pool; /* to this pool */
    void *data;            /* the memory; NULL: there is none */
    uint64_t bytes;
};

struct hki_work {
    _Atomic(uint32_t) state; /* hki_work_state; changed with the lock, waited for without */
    uint32_t refs;           /* the lists' one, works that need it, and threads that look */
    const hki_task_class *class;
    void *kept;
    hki_task_spec spec; /* class, device, operation, source, pieces of the task */
    uint64_t sequence, number, visit;
    int seen;          /* places that are */
    int readers;       /* works that need it */
    hki_work **before; /* what it needs, need_count, then what it follows */
    int need_count, before_count;
    hki_work *previous,
        *next;          /* of those that wait or run, in order; of the known; of the failed */
    hki_work *in_chain; /* of the table */
    hki_work *gone;
    uint64_t hash; /* 0: it is not in the table */
    bool is_copy, is_wanted;
    bool is_to_host;  /* a copy to the host's memory; */
    hki_gate *gate;   /* stays closed when its task has ended; NULL: none, or nobody looks */
    int64_t asked_ns; /* when somebody came to wait for it; 0: nobody has */
    hki_work *next_wanted;
    intptr_t shift; /* of a copy: see hki_later.share */
    intptr_t from;  /* of one that reads a copy, at the original: hki_task_shift */
    hki_task *as;   /* while it runs */
    _Atomic(int64_t) next_piece, pieces_left;
    const hk_status *failure; /* counted */
    int place_count, write_count;
    hki_put_off_place places[];
};

/* The runtime's part. */
struct hki_put_offs {
    hki_runtime *runtime;
    hki_lock lock;
    hki_work *first, *last, *known_first, *known_last, *failed_first, *failed_last;
    int all_count, known_count; /* of those that wait or run, and of the known */
    _Atomic(int) count; /* of those that wait or run, but for copies; changed with the lock */
    _Atomic(int) rests; /* threads that do works since they have nothing to launch */
    uint64_t number, visit;
    uint64_t kept_bytes; /* that have been written, of variables whose owners have gone */
    uint64_t kept_addresses[HKI_MAX_DEVICES]; /* the same, written or not, by device; */
    uint64_t most_addresses[HKI_MAX_DEVICES]; /* and how many may be */
    hki_work *table[HKI_PUT_OFF_TABLE];
    struct hki_put_off_var *vars[HKI_PUT_OFF_TABLE]; /* by address */
    hki_work *open[HKI_PUT_OFF_OPEN];
    _Atomic(int) open_count;
    hki_work *wanted; /* with references: to be done when a thread has nothing to launch */
    _Atomic(int) wanted_count;
    hki_hint *hints;                             /* of tasks that are issued; all */
    bool is_over;                                /* no task is launched any more */
    hki_park *park;                              /* of those who launch; NULL: there are none yet */
    _Atomic(uint64_t) put_off, computed, shared; /* for hk_runtime_internals */
};

/* One of those who launch comes, where one rests. */
static inline void hki_put_offs_call(hki_put_offs *self)
{
    if (self->park)
        hki_park_wake(self->park);
}

/* ---- what launching does (put_off.c) --------------------------------------------------------- */

/* NULL: no memory. */
hki_put_offs *hki_put_offs_create(hki_runtime *runtime);
/* Drops all works: no thread launches any more. */
void hki_put_offs_stop(hki_put_offs *self);

void hki_put_offs_destroy(hki_put_offs *self);

/* Before the task is started: whether it will be put off, of which its class is told. */
bool hki_put_off_may(hki_task *task);
/* The task has been prepared: puts off the rest. May compute others. It fails for want of memory
 * alone. */
void hki_put_off_add(hki_task *task);
/* The task is not put off after all. */
void hki_put_off_abandon(hki_task *task);
/* The task is to run now: does all works that it needs, before it is prepared, which may look at
 * them; and then (writes) those that need what it overwrites: had it failed before, old bytes would
 * stand. False: it has failed. */
bool hki_put_off_meet(hki_task *task, bool writes);
/* It has run. */
void hki_put_off_leave(hki_task *task);

/* ---- variables (put_off_vars.c) -------------------------------------------------------------- */

/* What is put off knows the variable: it, or NULL. Expects the lock. */
struct hki_put_off_var *hki_put_off_var_of(hki_put_offs *self, const hki_var *var);
/* Makes it know all that the task accesses. False: no memory. The same. */
bool hki_put_off_make_vars(hki_put_offs *self, const hki_task_spec *spec);
/* It is not to be found any more. The same. */
void hki_put_off_var_leave_chain(hki_put_offs *self, const struct hki_put_off_var *var);

/* ---- what is going to be needed (wanted.c) --------------------------------------------------- */

/* The task is being issued: takes note of what it will need, and wants that if it is to look at
 * values. Expects the issue lock. */
void hki_put_off_issue(hki_task *task);
/* The task is launched; work: what has been put off; NULL: nothing. True: that is wanted. Expects
 * the lock. */
bool hki_put_off_launch_hint(hki_put_offs *self, hki_task *task, hki_work *work);
/* A thread that has nothing to launch would find a work to do: one that is wanted, or, of very
 * many, the first. Not all threads are to be at it: what is to be launched would be late. */
bool hki_works_await_rest(hki_put_offs *self, int threads);
/* Does it. Expects no lock. */
void hki_works_compute_at_rest(hki_put_offs *self, int threads);
/* The variable's owner goes. Expects the lock. */
void hki_put_off_var_forget_issued(struct hki_put_off_var *var);
/* Nothing is wanted any more, nor will be. The same. */
void hki_wanted_stop(hki_put_offs *self);
/* Those of tasks that have never been launched. No thread knows of them any more. */
void hki_hints_destroy(hki_put_offs *self);

/* ---- copies to the host (held.c) ------------------------------------------------------------- */

/* Of a runtime: see there. Expect no lock but the issue lock. */
void hki_put_off_hold(hki_task *task);
void hki_put_off_ask(hki_var *var);
/* The task has been launched and put off: where it writes the host's memory, what comes behind it
 * will ask for that. Expects the lock. */
void hki_put_off_be_late(hki_put_offs *self, hki_task *task, hki_work *work);

/* ---- works (works.c); all expect the lock ---------------------------------------------------- */

static inline hki_work_state hki_work_state_of(const hki_work *work)
{
    return (hki_work_state)atomic_load_explicit(&((hki_work *)work)->state, memory_order_relaxed);
}
/* It is yet to write. */
static inline bool hki_work_is_open(const hki_work *work)
{
    const hki_work_state state = hki_work_state_of(work);
    return state == HKI_WORK_WAITS || state == HKI_WORK_RUNS || state == HKI_WORK_FAILED;
}
static inline bool hki_put_off_place_overlaps(const hki_put_off_place *place, hki_range range)
{
    return hki_ranges_overlap(place->range, range);
}
void hki_work_release(hki_work *work);
/* Drops it, and what only it needed, if nobody can see or needs what it writes. True: it is gone.
 */
bool hki_work_drop_useless(hki_put_offs *self, hki_work *work);
/* Nobody can see any more what is at the place. */
static inline void hki_put_off_place_hide(hki_put_off_place *place)
{
    place->work->seen -= place->is_seen;
    place->is_seen = false;
}
/* It is a user of the variable, and in its list but where it reads what the work also writes there.
 */
void hki_put_off_place_enter(hki_put_off_place *place);
/* Out of that list; it stays a user. */
void hki_put_off_place_unlink(hki_put_off_place *place);
/* A work done is known no longer. */
void hki_work_forget(hki_put_offs *self, hki_work *work);
/* Out of the table. */
void hki_work_untable(hki_put_offs *self, hki_work *work);
/* As the last of those that wait. It has one reference, the lists'. */
void hki_work_append(hki_put_offs *self, hki_work *work);
/* A user of the variable fewer. It may be gone on return. */
void hki_put_off_var_leave(hki_put_offs *self, struct hki_put_off_var *var);
/* The work, which ran, is done, or has failed by the record (taken). Returns tasks that are ready
 * now. */
hki_task *hki_work_end(hki_put_offs *self, hki_work *work, const hk_status *failure);
/* Somebody is going to need it: it is done when a thread has nothing to launch. */
void hki_work_want(hki_put_offs *self, hki_work *work);

/* ---- computing (compute.c) ------------------------------------------------------------------- */

/* Does the works, and all that these need, in their order. Expects no lock, and a reference to
 * each, which it takes. Returns the record of one that has failed, counted; NULL: none has. May
 * wait for other threads at the same. */
const hk_status *hki_works_compute(hki_put_offs *self, hki_work **works, int count);
/* Does pieces of a work that another thread is at. False: there are none. */
bool hki_works_help(hki_put_offs *self);

#endif
