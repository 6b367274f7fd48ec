/* The runtime: devices, their workers, the order of calls, and waiting.
 *
 * One default runtime serves all threads of a process. It starts at the first call that needs it, or
 * at hk_runtime_init, and ends at exit or at hk_runtime_deinit. All functions are thread-safe.
 *
 * Forks: in the child, arrays, devices, graphs and loaders of the parent fail every call with a record that says so
 * (HK_FORKED), may be released, and start no runtime; what the child makes itself has a runtime of its own.
 *
 * Cancelling threads (pthread_cancel): a cancellation waits while the runtime starts or ends, and while GPUs are looked for.
 * The engine has no cancellation point elsewhere; what reads or writes files, or prints, has some, and holds nothing there that
 * others wait for. What a cancelled thread had made and not released is lost. Asynchronous cancellation
 * (PTHREAD_CANCEL_ASYNCHRONOUS) is not supported. */
#ifndef HOCKET_RUNTIME_H
#define HOCKET_RUNTIME_H

#include <hocket/status.h>

HK_BEGIN_DECLS

typedef enum hk_engine {
    HK_ENGINE_DEFAULT, /* HOCKET_ENGINE, else asynchronous */
    HK_ENGINE_ASYNC,
    HK_ENGINE_SERIAL /* every call runs in place, in the caller */
} hk_engine;

/* Accelerators made of software, sim:0 ... sim:N-1: real results in memory of their own, one queue
 * for computing and one for copies in each direction. Their time is that of a model, kept per queue
 * and paced by sleeping:
 *
 *     computing   launch_ns + the longer of FLOP / flops and bytes / memory_bandwidth
 *     copying     link_latency_ns + bytes / link_bandwidth; from or to pageable memory of the host,
 * also bytes / staging_bandwidth, for the copy to or from a pinned buffer to a peer link_latency_ns
 * + bytes / peer_bandwidth on both; without a peer link through the host
 *
 * They compute no more than somebody can see: a result is computed when something needs it that
 * somebody looks at, or never, and the same call on the same unchanged inputs once. What must be
 * computed may take longer than the model's time (late_ns of hk_queue_stats). With `factor`, and in
 * the serial engine, everything is computed at once.
 *
 * The defaults are a GPU like that of Dive into Deep Learning: NVIDIA's V100 of 16 GB behind
 * PCIe 3.0. Its FLOP/s are those of the book's printed times (50 products of 4000 x 4000 in half a
 * second), and so are those of its copies: 1.32 GB/s from and to pageable memory in all. Its
 * memory's bytes/s are as measured by Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
 * Microbenchmarking" (2018).
 *
 * Zero means the default. HOCKET_SIM="2:flops=20G,link=4G;1:flops=5G" has the same: a number of
 * devices, then fields (flops, factor, memory_bandwidth, launch, link, latency, peer, staging,
 * memory; times in ns, us or ms), groups separated by semicolons. */
typedef struct hk_sim_options {
    int count;    /* devices like this; default 1 */
    double flops; /* floating-point operations per second; default 1.27e13 */
    double
        factor; /* where > 0, instead of flops: computing takes the time that it takes one core of
                                this machine, divided by this */
    double memory_bandwidth;  /* bytes per second; default 7.5e11 */
    double launch_ns;         /* default 10000 */
    double link_bandwidth;    /* bytes per second in each direction; default 1.2e10 */
    double link_latency_ns;   /* default 10000 */
    double peer_bandwidth;    /* default link_bandwidth; < 0: there is no peer link */
    double staging_bandwidth; /* default 1.485e9 */
    uint64_t memory_bytes;    /* default 16 GiB: addresses, until something is written */
} hk_sim_options;

/* Zero means the default; each has an environment variable, which the field overrides.
 * HOCKET_TUNE: see hk_kernel_choices. HOCKET_CHECK=1 finds handles that are used after their
 * release: each use is told on the standard error, and fails what is made from it. Handles (not
 * elements) that were released last stay for that. Among several processes it finds calls of
 * groups (hocket/world.h) that are not in the same order on all ranks, though their shapes and
 * dtypes are the same: what one rank calls from another line fails on all ranks, and the record
 * names both lines. One rank that has it is enough. */
typedef struct hk_runtime_options {
    int cpu_devices;          /* HOCKET_CPUS: cpu:0 … cpu:N-1 split the cores; default 1 */
    int cpu_cores;            /* HOCKET_CORES: cores to use in all; default: all that are allowed */
    hk_engine engine;         /* HOCKET_ENGINE=async|serial */
    uint64_t run_ahead_calls; /* HOCKET_RUN_AHEAD: unfinished calls at most; default 4096 */
    uint64_t
        run_ahead_bytes; /* HOCKET_RUN_AHEAD_BYTES: bytes that only unfinished calls hold; 1 GiB */
    int64_t inline_ns;   /* HOCKET_INLINE_NS: a ready call expected to take at most this long runs
                                  in the caller; -1: never; default: what hk_runtime_internals
                                  says, which is about what handing a call to a worker costs, and
                                  50 µs in a thread that waits for each call before the next */
    uint64_t memory_bytes; /* HOCKET_MEMORY: bytes per CPU device at most; default: no limit */
    /* HOCKET_SIM: groups of simulated devices, numbered in order; default: none. The CPU devices and those that
     * simulate share the cores: cpu_cores leaves some to the latter. */
    const hk_sim_options *sim;
    int sim_count; /* groups */
    /* HOCKET_CUDA: which NVIDIA GPUs are devices: "off", or items separated by commas, each "all" or a GPU's number; with
     * "/N" behind it the GPU is N devices, which share its memory and have queues of their own, up to 16: "all/2" gives
     * cuda:0/0, cuda:0/1, ... instead of cuda:0. A GPU that is not there is left out. Default: all;
     * of several ranks on one machine each has its share, the first of which is cuda:0 there. */
    const char *cuda;
    uint64_t
        cuda_memory_bytes; /* HOCKET_CUDA_MEMORY: bytes of arrays per CUDA device at most; default: no limit */
    /* HOCKET_TF32=1: products and convolutions of float32 on GPUs may round their factors to TF32's 10 bits. */
    bool cuda_tf32;
    /* HOCKET_NCCL=0: hk_all_reduce among GPUs is not NCCL's, whose order follows the machine's
     * links, so that sums may differ in the last bits from those of other devices, and of another
     * number of GPUs. Own sums have the same bytes on any of them, and cost copies and additions
     * array by array, by way of the host where GPUs cannot reach each other. */
    bool cuda_own_sums;
    /* HOCKET_FLUSH_SUBNORMALS=1: every task on CPU devices and simulated ones takes subnormal
     * operands for 0 and gives 0 for subnormal results, in float32 and float64; halves, whose
     * subnormals are normal float32, keep them. On x86 alone. */
    bool flush_subnormals;
} hk_runtime_options;

/* Starts the default runtime. `options` may be NULL. An error when it runs already, or when an option
 * or variable is out of range. Does not block. */
HK_API const hk_status *hk_runtime_init(const hk_runtime_options *options);
HK_AT_OPTIONS(const hk_status *, hk_runtime_init, hk_runtime_options,
              (hk_source at, const hk_runtime_options *options), (options))
#define hk_runtime_init(...) hk_runtime_init_at(HK_SOURCE, __VA_ARGS__)

/* Ends the default runtime: calls that have not started are cancelled, running ones finish; of a rank among several all are done
 * first, since others may need them (hocket/world.h). Arrays that
 * live on are failed (HK_CANCELLED) and may still be released; devices must not be used any more. Blocks
 * until the workers have ended; does nothing in a task. A later call starts a new runtime. Other threads may
 * be amid calls on arrays, or on no device (a zeroed hk_device): these end on the runtime they began on. */
HK_API void hk_runtime_deinit(void);

/* For front ends whose threads have a lock that a wait is not to hold, and signals to look for: a language's interpreter.
 *
 * `begin` is called by a thread that is about to block, and `end` when it goes on, once each; a wait that need not block calls
 * neither. This concerns all waits: the blockers of hocket/array.h, hocket/device.h and here, and calls that wait for room in
 * the run-ahead window. Between them the thread may run tasks of Hocket's own, which call nothing of the program's; where hooks
 * are set it takes none that is expected to take longer than 20 us. When `end` is called, the thread has nothing that others
 * wait for.
 *
 * `interrupted` is called between begin and end, every 20 ms or so and at least every 50 ms, and may take the lock for that
 * while. When it says true the wait ends: what returns a record returns HK_INTERRUPTED, and no array fails; a call that waited
 * for room is issued all the same, beyond the window. It may call anything of Hocket's; where it was called by hk_wait_all
 * or hk_wait_device, these two fail with HK_WOULD_DEADLOCK. hk_runtime_deinit calls no hook. */
typedef struct hk_wait_hooks {
    size_t struct_bytes;          /* sizeof(hk_wait_hooks) */
    void (*begin)(void *context); /* may be NULL, together with end */
    void (*end)(void *context);
    bool (*interrupted)(void *context); /* may be NULL */
    void *context;
} hk_wait_hooks;
/* Copies the hooks, which serve all threads and runtimes of the process from now on; NULL: none, as at first. To be called
 * where no other thread does. Does not block, and starts no runtime. Fails where the struct is not one. */
HK_API const hk_status *hk_wait_hooks_set(const hk_wait_hooks *hooks);

/* For front ends that raise an exception where a call is refused: with true, hk_wait_all no longer counts arrays that fail at
 * their call from now on. What fails later, or fails an array that was there before, is counted as ever. For all threads and
 * runtimes of the process; at first false. Does not block, and starts no runtime. */
HK_API void hk_refusals_are_raised(bool raised);

/* Blocks until every call issued before it, by any thread, has finished. Returns a snapshot: the
 * earliest root failure not yet cleared (in issue order) and how many there are, arrays dropped since
 * included; the same at each call until hk_failures_clear. Fails with HK_WOULD_DEADLOCK in a task,
 * and with HK_INTERRUPTED where a hook says so. */
HK_API const hk_status *hk_wait_all(void);

/* Priorities decide which of the calls that are ready goes first on a device, never what comes out:
 * those with the higher one, and of one priority about in the order in which they were issued. For
 * what much else waits for, such as the next tile on the critical path of a factorisation. Sets that
 * of the calls that this thread issues from now on, gradients and replays included: 0, as at first,
 * to 255; what is beyond is taken for the nearest. Returns the one before. Does not block. */
HK_API int hk_priority_set(int priority);

/* What HK_PRIORITY keeps. */
typedef struct hk_priority_scope {
    int before;
} hk_priority_scope;
static inline hk_priority_scope hk_priority_scope_begin(int priority)
{
    hk_priority_scope scope;
    scope.before = hk_priority_set(priority);
    return scope;
}
HK_API void hk_priority_scope_end(hk_priority_scope *scope);

/* The priority from this line to the end of the enclosing block. */
#ifndef __cplusplus
#define HK_PRIORITY(priority)                                                                      \
    hk_priority_scope HKI_JOIN(hki_priority_, __LINE__)                                            \
        __attribute__((cleanup(hk_priority_scope_end), unused)) =                                  \
            hk_priority_scope_begin(priority)
#endif

/* Forgets the failures that hk_wait_all reports. Failed arrays stay failed. Does not block. */
HK_API void hk_failures_clear(void);

/* Counters since the runtime began. */
typedef struct hk_runtime_stats {
    size_t struct_bytes;   /* see "Structs that grow" in hocket/base.h */
    uint64_t issued_calls; /* calls given to the engine */
    /* Times that an issuing thread waited for room in the run-ahead window: a larger one (run_ahead_calls, run_ahead_bytes)
     * lets it go on, and holds more memory. */
    uint64_t window_waits;
    uint64_t peak_run_ahead_bytes; /* most bytes that only unfinished calls held */
    /* Host memory for handles and what the library knows of arrays, not for their elements: of the whole process, in use or
     * kept for the next ones until the runtime ends. */
    uint64_t handle_bytes;
    /* Calls that had a subnormal number as an operand, on CPU devices and simulated ones, on x86;
     * calls of so few elements that they are no task are not counted. Some processors take a
     * hundred times as long for such numbers. */
    uint64_t subnormal_calls;
} hk_runtime_stats;
/* Does not block. Starts the runtime. */
HK_API void hk_runtime_read_stats(hk_runtime_stats *stats);
static inline hk_runtime_stats hk_runtime_get_stats(void)
{
    hk_runtime_stats filled;
    filled.struct_bytes = sizeof filled;
    hk_runtime_read_stats(&filled);
    return filled;
}

/* How the engine went about it: for those who work on the engine or measure it. Meanings may change with any version. */
typedef struct hk_runtime_internals {
    size_t struct_bytes;   /* see "Structs that grow" in hocket/base.h */
    uint64_t inline_calls; /* of the issued calls, run in the issuing thread at once */
    uint64_t direct_calls; /* of these, so small that they were no task of the engine's */
    uint64_t helped_calls; /* run by a waiting thread */
    /* Times that an issuing thread, hundreds of short calls ahead, let the workers catch up, or worked at them itself meanwhile;
     * it goes on when that brings it no nearer for 0.1 ms. */
    uint64_t worker_waits;
    /* A ready call expected to take at most this long runs in the caller. */
    int64_t inline_ns;
    /* The same for calls of at most 5000 ns in one piece where there are no accelerators: workers run such calls side by side,
     * whatever CPU device they are for, which pays sooner, unless each such call needs the one before it. */
    int64_t inline_short_ns;
    /* Calls on GPUs that may refuse values which the host does not know, and so many at a time that nothing was launched behind
     * this one until it had ended. Whole numbers that are copied there from the host are known. */
    uint64_t held_up_launches;
    /* Calls on simulated devices whose computing has been put off; of these, computed since, and
     * given the values of an equal one. The others are still put off, or nobody can see any more
     * what they would have computed. */
    uint64_t put_off_calls, computed_calls, shared_calls;
} hk_runtime_internals;
HK_API void hk_runtime_read_internals(hk_runtime_internals *internals);
static inline hk_runtime_internals hk_runtime_get_internals(void)
{
    hk_runtime_internals filled;
    filled.struct_bytes = sizeof filled;
    hk_runtime_read_internals(&filled);
    return filled;
}

/* What decides where there are several kernels for a call: "rules", or how many choices were measured, and the file that
 * they are from. Read when the runtime starts and frozen then; which one runs never depends on load. Starts the runtime;
 * lives as long. HOCKET_TUNE says which:
 *     (unset)   what was measured on this processor before: $XDG_CACHE_HOME/hocket/choices, else
 *               ~/.cache/hocket/choices; rules for what was not
 *     off       rules alone: the same on every machine with the same instruction set
 *     measure   as unset; what had no choice is measured when the runtime ends, for the next one; convolutions on GPUs
 *               at their first call, which then takes longer
 *     PATH      (with a '/') exactly the choices of that file, which has to be there */
HK_API const char *hk_kernel_choices(void);

HK_END_DECLS

#endif
