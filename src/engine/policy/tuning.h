/* Every constant that decides where or when something runs, with what it was measured by. Rows are those of
 * bench_engine (docs/measurements/engine.md) unless another program is named; "guard" is said of a constant that bounds how
 * wrong things can go, and that no row is sensitive to.
 *
 * The rooms below policy/ may include this file, which declares nothing but constants. */
#ifndef HOCKET_ENGINE_POLICY_TUNING_H
#define HOCKET_ENGINE_POLICY_TUNING_H

enum {
    /* ---- where a task runs (place.c) ---- */
    /* A call runs under the issue lock at most this long. "issuing threads": others spin meanwhile. */
    HKI_DIRECT_NS = 500,
    /* Longer short tasks are handed over. "METG", width 8 and 64: on four processors 100 ns take less in the caller, by 1.1 to 2
     * times, 350 ns less handed over, and 200 ns about the same. */
    HKI_HERE_SHORT_NS = 150,
    /* The same of tasks that need gates, and of chains, which gain nothing from a worker. "chain" by choice: 1.4 to 2.4 times. */
    HKI_HERE_NS = 1000,
    /* The same where one core has to do for all. "METG" on one core: 200 ns take twice as long handed over. */
    HKI_ONE_CORE_NS = 4000,
    /* Tasks in a row, each of which needs the one before, until they are taken for a chain. "where a task runs", chain. */
    HKI_CHAIN_LENGTH = 16,
    /* After so many lone waits a thread is expected to wait for each task. bench_call, "48×48 product": 1.2 and 1.4 times without. */
    HKI_SYNC_WAITS = 8,

    /* ---- how far an issuing thread is ahead (throttle.c) ---- */
    /* Unfinished short tasks whose slots stay in the caches: "y=x+1", handed over, takes twice as long without. With 512 a thread
     * that waits for the others naps longer than they last: "fan-out 64" of 200 ns, by choice, takes 1.3 times as long. */
    HKI_SOFT_TASKS = 1024,
    /* What such a task takes at most, for each core. "METG": no size is slower than its neighbours. */
    HKI_SOFT_NS = 1000,
    /* Short tasks that depend on those just before take longest with two workers, which wait for each other; tasks like these are
     * left to one. "chain" and "stencil 8" handed over, of 100 ns: 1.4 times without. */
    HKI_ALONE_NS = 500,

    /* ---- helping (wait/) ---- */
    /* Who waits for one array runs what is ready for so long, which may be for others: ten times what waking a worker takes.
     * So long, too, a thread that waits for each task runs it itself: on one core, where calls of 10⁶ elements take 1.2 to 1.3
     * times the processor's time without, and with workers, where copies of 10⁶ take 1.5 times as long in the mean without
     * (docs/measurements/mechanisms.md). */
    HKI_HELP_NS = 500000,

    /* ---- batches of workers (sched/) ---- */
    /* A short task: tracked by the scoreboard, without gates. "METG" at 500 to 5000 ns. */
    HKI_SHORT_NS = 5000,
    /* Runs while its worker has the ring: there is nothing to gain from a second one. Without: empty tasks handed over
     * take 1.5 times as long. */
    HKI_INSTANT_NS = 80,
    HKI_TAKEN = 64, /* so many of those, or registered, while others wait for the ring, guard */
    HKI_BATCH_NS = 5000, /* a batch of the scoreboard, guard */
    HKI_MOST_DISTANCE =
        32, /* to the nearest task that one depends on, as far as it is told apart */
    HKI_GATHER_TICKS =
        10000, /* lets tasks gather: "independent" and "y=x+1" handed over, 1.15 times with 4000 */
    HKI_SUCCESSORS = 64, /* run in place before others get their turn, guard */

    /* ---- sleeping and waking (sched/park.c) ---- */
    HKI_SPIN_NS = 50000,         /* about what waking a sleeping thread takes */
    HKI_LONG_TASK_NS = 20000,    /* worth waking a worker for */
    HKI_LONG_TASK_TICKS = 60000, /* roughly the same, see hki_ticks */
    HKI_LOOK_AGAIN_NS =
        1000000, /* a short task may turn out long: sleepers look after this, guard */

    /* ---- stealing (sched/steal.c) ---- */
    /* A piece that another device runs takes at most so long. bench/lenet --only busy, AMD Zen 3: with 10 ms two devices
     * beside a busy core take 2.0 times as long as alone, with 25 ms 1.7. */
    HKI_LENT_NS = 25000000,

    /* ---- borrowed cores (sched/lease.c): "METG" at 100 to 350 ns, 1.2 to 1.6 times without ---- */
    HKI_LEASE_TICKS =
        15 * HKI_LONG_TASK_TICKS, /* some 300 us from when a thread begins to work so, guard */
    HKI_LEASE_CHOICE_TICKS =
        5 * HKI_LONG_TASK_TICKS, /* a worker of the same processor had better rest, guard */
};

#endif
