/* Sizes, counts and times that several files of the engine share. */
#ifndef HOCKET_ENGINE_ENGINE_LIMITS_H
#define HOCKET_ENGINE_ENGINE_LIMITS_H

enum {
    HKI_TASK_INLINE_WAITS = 12,
    HKI_TASK_KEPT_GATES = 32, /* fresh ones that stay with a slot */
    HKI_TASK_PAYLOAD_BYTES = 1792,
    HKI_SPIN_NS = 50000,         /* about what waking a sleeping thread takes */
    HKI_LONG_TASK_NS = 20000,    /* worth waking a worker for */
    HKI_LONG_TASK_TICKS = 60000, /* roughly the same, see hki_ticks */
    HKI_LENT_NS = 25000000,      /* a piece that another device runs takes at most so long */
    HKI_DIRECT_NS = 500,         /* what a call without a task takes at most */
    HKI_BATCH_NS = 5000,         /* short tasks that a worker takes at once: this much, */
    HKI_BATCH_TASKS = 16,        /* and this many */
    HKI_TURN_NS = 5000,          /* what a task that runs in its turn takes at most, */
    HKI_SHORT_TURN_NS = 80,      /* and one that holds others back meanwhile; */
    HKI_TURNS_NS = 2000,         /* as many of these as take this long, */
    HKI_TURNS = 64,              /* and this many */
    HKI_TURN_LOOK = 64,          /* calls that hki_turn_where hands over to see */
    HKI_TURN_DIVISOR = 4, /* the way to a worker and back over this: what takes longer goes there */
    HKI_LONE_WAITS = 8,   /* after so many a thread is expected to wait for each task */
    HKI_REGISTRATIONS = 16, /* tasks that a worker registers while others wait for the ring */
    HKI_LOOKAHEAD = 32,     /* registered and unfinished, so that what gets ready is known */
    HKI_HELD_NS = 500,      /* one that takes no longer and has to wait for its turn */
    HKI_HOLD_TICKS = 15000, /* is not registered for so long */
    HKI_MOST_REACH = 2 * HKI_BATCH_TASKS, /* see turn.c */
    HKI_GATHER_TICKS = 4000,              /* until some more of them have come */
    HKI_LINGER_TICKS = 8000,
    HKI_RING_TASKS = 4096, /* ready ones that an issuing thread is ahead of the workers, cheaply */
    HKI_NEAR_TASKS = 512,  /* unfinished short ones that who issues is ahead: hki_window_approach */
    HKI_NEAR_NS = 500,     /* what such take at most, for each core */
    HKI_CHAIN_TASKS = 64,  /* successors run in place before others get their turn */
    HKI_RETURN_BATCH = 31, /* slots given back together with one */
    HKI_LOOK_AGAIN_NS = 1000000, /* a short task may turn out long: sleepers look after this */
    HKI_FREE_SLOTS = HKI_RETURN_BATCH + 1,
    HKI_MAX_DEVICES = 64,
    HKI_TASK_MARKS = 6, /* queues behind whose tasks one is launched */
    HKI_MAX_FAILED_DEVICES = 64
};

#endif
