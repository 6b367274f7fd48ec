/* Devices: memory, cores and ready queues behind one table of functions.
 *
 * A device belongs to a runtime and lives as long. Immutable after create but for what its fields say. */
#ifndef HOCKET_DEVICE_DEVICE_H
#define HOCKET_DEVICE_DEVICE_H

#include "base/status.h"
#include "device/known_values.h"
#include "device/random_place.h"

#include <hocket/device.h>

typedef struct hki_device hki_device;

enum {
    HKI_MAX_DEVICES = 64,
    HKI_FUSED_MOST = 8
}; /* of a runtime; see hki_device_class.run_fused */

typedef enum hki_device_kind { HKI_CPU, HKI_SIM, HKI_CUDA, HKI_DEVICE_KIND_COUNT } hki_device_kind;

/* Of the rooms above: an operator call, and a tensor, as kernels are given them (op/kernel.h, array/tensor.h). */
struct hki_kernel_call;
struct hki_tensor;

/* Queues of a device; a CPU device has one, for all. */
typedef enum hki_queue_kind {
    HKI_QUEUE_COMPUTE = HK_QUEUE_COMPUTE,
    HKI_QUEUE_COPY_IN = HK_QUEUE_COPY_IN,
    HKI_QUEUE_COPY_OUT = HK_QUEUE_COPY_OUT,
    HKI_QUEUE_REDUCE = HK_QUEUE_REDUCE,
    HKI_QUEUE_KIND_COUNT
} hki_queue_kind;

/* What a task asks of its device: filled by who submits it, zero where it does not matter. */
typedef struct hki_cost {
    double time_ns;      /* of a kernel that says so itself; 0: by what follows */
    double flops;        /* floating-point operations */
    double memory_bytes; /* read and written by the kernel */
    double copy_bytes;   /* between memories */
    hki_device *peer;    /* the other accelerator of a direct copy, else NULL */
    bool is_pageable;    /* the host's side of a copy is not pinned */
} hki_cost;

/* A task whose kernels an accelerator has been given. */
typedef struct hki_ticket {
    /* On hki_clock_ns's axis: when it runs, by the device's own clock; set by `launched`, or at the latest when `poll`
     * says that it is done. Until then 0: not known. */
    int64_t begin_ns, end_ns;
    hki_device *device; /* these two are set before `launched` */
    hki_queue_kind queue;
    /* Of classes with streams, set by `launched`: where in the queue it is, ascending from 1, 0 where it could not be
     * launched, as `settle` will tell; and what its kernels may report (the class's own), NULL where nothing but the
     * loss of the device can make it fail any more, as with a prechecked task that has not failed yet. */
    uint64_t position;
    void *fault;
    /* The same: flags that the task has until hki_device_class.release_flags; where is_flagged, they tell of all that its
     * kernels may report, so that others can be launched behind it with these among their suspects. */
    uint64_t flags;
    bool is_flagged;
    uint64_t suspects; /* the engine's: with which it was launched */
    /* Set before `launched`: kernels will report nothing, since the host knows the values that they check; somebody else
     * than the queue waits for the end, or nothing is known yet that will come behind the task. */
    bool is_prechecked, is_awaited;
    bool has_reported; /* set by `settle`: kernels of the task have reported something */
    /* Set by `settle` where it says no: which of the task's calls failed, by its number (hki_recorder_class); -1: it was no
     * matter of one of them. */
    int call;
} hki_ticket;

/* Calls that an accelerator does as one task, each known by its number, and may be given over and over: then it can record
 * what it launches for them, for these addresses, and do that again as a whole. What its kernels report is told by calls.
 * But for `destroy`, `drop` and `reported`, functions are called in a task of the device's HKI_QUEUE_COMPUTE, by the one thread
 * of the queue.
 *
 * Calls whose kernels may report something are checks, numbered from 0 in their order. What a call of the task writes that was
 * there before is spared where a check has reported something that the call depends on. */
enum {
    HKI_MAX_CHECKS = 62,
    HKI_CHECK_OF_INPUTS = 63 /* in their place: an input of the task has turned out failed */
};
typedef struct hki_recorder hki_recorder;
typedef struct hki_recording hki_recording;
typedef struct hki_recorder_class {
    /* checks: their calls. draws: calls that draw random numbers. NULL when memory is short. */
    hki_recorder *(*create)(hki_device *device, int call_count, const int *checks, int check_count,
                            const int *draws, int draw_count);
    /* No task of it is under way, and all recordings have been dropped. */
    void (*destroy)(hki_device *device, hki_recorder *recorder);
    /* Where the random numbers of the calls to come, or of the recording to be launched, begin, by draw. A recording takes no
     * notice of its calls' options here. */
    void (*place)(hki_device *device, hki_recorder *recorder, const hki_random_place *places);
    /* All calls follow, in their order: `call`, then run_call or copy_tensor. They are launched, or, with `records`, they
     * are only recorded. False, with nothing begun: there is no recording now. */
    bool (*begin)(hki_device *device, hki_recorder *recorder, bool records);
    void (*call)(hki_device *device, hki_recorder *recorder, int call);
    /* The next call leaves what it writes as it is where one of these checks has reported something: bit i is check i. 0: it
     * does not look. Where run_call is asked, can_spare says so. */
    void (*spare)(hki_device *device, hki_recorder *recorder, uint64_t checks);
    /* The calls are over. What has been recorded; NULL when something in them cannot be, which is no failure, or when
     * nothing was to be recorded. */
    hki_recording *(*end)(hki_device *device, hki_recorder *recorder);
    /* Launches what was recorded. False, with nothing launched: it is out of date. */
    bool (*launch)(hki_device *device, hki_recorder *recorder, hki_recording *recording);
    /* Before the ticket is settled, when its task is done, by the thread that does that: what a check has reported. HK_OK:
     * nothing. */
    hk_code (*reported)(hki_device *device, hki_recorder *recorder, const hki_ticket *ticket,
                        int check, char *text, size_t bytes);
    /* What has been launched still runs. */
    void (*drop)(hki_device *device, hki_recording *recording);
} hki_recorder_class;

typedef void hki_launch_fn(void *argument, void *stream, void *workspace);

/* What a kind of device does; all slots are filled unless marked optional. */
typedef struct hki_device_class {
    hki_device_kind kind;
    const char *kind_name;     /* "cpu" */
    hki_device_kind kernels;   /* whose kernels of the operator table it runs */
    const char *memory_option; /* what limits the memory of arrays, for error records */
    /* Accelerators: */
    bool
        is_modelled; /* its kernels run in the launching thread, and a runtime that ends does not wait for its clock */
    /* Sums over devices go to HKI_QUEUE_REDUCE, beside what computes, not to HKI_QUEUE_COMPUTE. */
    bool sums_aside;
    int launch_ahead; /* tasks launched and not ended in one queue, at most; 0: 2 */
    /* Fresh memory of the device, 64-byte aligned, bytes > 0; NULL when it has no more. */
    void *(*allocate)(hki_device *device, size_t bytes);
    void (*release)(hki_device *device, void *data, size_t bytes);
    /* Optional: what such memory holds, or a part of it, is of no use any more: its pages may go back to the system, and are
     * there again when they are touched. Then large blocks are parts of larger ones. */
    void (*discard)(hki_device *device, void *data, size_t bytes);
    /* Optional: the same, of the host's memory that the device copies from and to without staging. */
    void *(*allocate_pinned)(hki_device *device, size_t bytes);
    void (*release_pinned)(hki_device *device, void *data, size_t bytes);
    /* Between device memory and host memory; called in a task of the device's copy queues. NULL
     * where they are the same (hki_device_is_host). */
    void (*copy_from_host)(hki_device *device, void *to, const void *from, size_t bytes);
    void (*copy_to_host)(hki_device *device, void *to, const void *from, size_t bytes);
    /* Optional: from `device` to `peer`, where is_linked says so; in a task of the device's HKI_QUEUE_COPY_OUT. */
    void (*copy_to_peer)(hki_device *device, hki_device *peer, void *to, const void *from,
                         size_t bytes);
    bool (*is_linked)(hki_device *device, hki_device *peer);
    /* True when kernels of `device` may use memory of `peer` in place. */
    bool (*can_access)(hki_device *device, hki_device *peer);

    /* Accelerators, whose tasks go on after their kernels have been launched; NULL where a kernel that has returned
     * is done. Called by the one thread of the queue. */
    /* The task, whose inputs were ready at ready_ns, has been launched; host_ns: processor time that took, where the device
     * asks for it. */
    void (*launched)(hki_device *device, hki_queue_kind queue, const hki_cost *cost,
                     int64_t ready_ns, int64_t host_ns, hki_ticket *ticket);
    /* 0: it is done. Otherwise the nanoseconds after which to ask again. Of a queue only the first task that is not done
     * is asked for: by the queue's thread when it has launched it, then by the one that completes tasks. Never blocks. */
    int64_t (*poll)(hki_device *device, hki_ticket *ticket);
    /* Optional, for classes with streams: what is launched in a queue runs in that order on the device's side, so that a
     * task can be launched before what it waits for has ended, if that has been launched. Makes what is launched next in
     * the queue begin after the ticket's task, which is one of another queue or device of the same class, and may have
     * ended meanwhile. Of the ticket only device, queue, position and end_ns are given. */
    void (*wait_for)(hki_device *device, hki_queue_kind queue, const hki_ticket *ticket);
    /* Optional: asked once, by the thread that completes tasks, when the task is done; tickets of a queue in their order.
     * False: it failed on the device, which code and message (without the operation and its inputs) tell. */
    bool (*settle)(hki_device *device, hki_ticket *ticket, hk_code *code, char *message,
                   size_t bytes);

    /* Devices whose kernels are not those of the operator table; NULL where they are. Called in a task of the device's
     * HKI_QUEUE_COMPUTE by the one thread of the queue. All addresses are of the device's memory. */
    void (*run_call)(hki_device *device, const struct hki_kernel_call *call); /* the whole call */
    /* Optional: a program's own kernel. Calls launch with the queue's stream, and as many bytes
     * of the device's memory (NULL for 0), which are its own until all that it launches has
     * ended. */
    void (*run_own)(hki_device *device, size_t workspace_bytes, hki_launch_fn *launch,
                    void *argument);
    /* Of one shape and dtype, with any strides. */
    void (*copy_tensor)(hki_device *device, const struct hki_tensor *from,
                        const struct hki_tensor *to);
    /* Every output becomes the sum of the inputs, added in their order; outputs may be among the inputs. In a task of the
     * queue that hki_device_sum_queue tells. */
    void (*sum)(hki_device *device, hk_dtype dtype, const void *const *inputs, int input_count,
                void *const *outputs, int output_count, size_t size);
    /* Optional: sums over several devices by a library that adds in an order of its own. Whether there is one for these
     * devices, all of this class; asked when the sum is issued. */
    bool (*has_all_reduce)(hki_device *const *devices, int count, hk_dtype dtype);
    /* So many sums: arrays[i * count + d], of devices[d] and of sizes[i] elements, becomes that of all devices' i-th. Called in
     * a task of devices[0], of the queue that hki_device_sum_queue tells, by the one thread of the queue. */
    void (*all_reduce)(hki_device *const *devices, int count, hk_dtype dtype, void *const *arrays,
                       const size_t *sizes, int array_count);
    const hki_recorder_class *recorder;      /* optional */
    const struct hki_channel_class *channel; /* optional: to devices of other processes */
    /* Optional, both or none: calls that go element by element as one kernel. The first says by dtypes, shapes and layout
     * alone whether a call can be one of them. The second does calls of one size, HKI_FUSED_MOST at most, in the place of
     * run_call for each: what is not kept nobody reads but these calls. Operands that overlap are one array. spares: of each,
     * as hki_recorder_class.spare is given it. */
    bool (*can_fuse)(const struct hki_kernel_call *call);
    void (*run_fused)(hki_device *device, const struct hki_kernel_call *const *calls,
                      const bool *are_kept, const uint64_t *spares, int count);
    /* Optional, all or none, with wait_for: a task may be launched while the host does not yet know
     * whether a kernel that it follows has refused a value. Each task that may do so has flags, bits
     * of the device's HKI_QUEUE_COMPUTE. Kernels launched next in that queue must not modify memory
     * if any task with flags in `suspects` has failed. is_prechecked: as in the ticket. Called by
     * the one thread of the queue before each of its tasks is launched. */
    void (*guard)(hki_device *device, uint64_t suspects, bool is_prechecked);
    /* Whether run_call can do that for the call, and whether its kernels may report something: pure functions of operator,
     * shapes and dtypes. */
    bool (*can_spare)(const struct hki_kernel_call *call);
    bool (*may_report)(const struct hki_kernel_call *call);
    /* The task has been completed: its flags are no longer among the suspects of what is launched from now on. Any thread. */
    void (*release_flags)(hki_device *device, uint64_t flags);
    /* Optional, for tests: how a library did the last call that it was asked for, such as "cuDNN, forward: WINOGRAD", or
     * why it did not; "" before. The device is idle. */
    void (*last_method)(hki_device *device, char *text, size_t bytes);
    /* Optional: frees `state`. */
    void (*deinit)(hki_device *device);
} hki_device_class;

/* Its kernels are its own, as GPUs' are, not the operator table's: of fewer operators, and of real
 * dtypes, one for each call. */
static inline bool hki_device_class_has_own_kernels(const hki_device_class *class)
{
    return class->run_call;
}

typedef struct hki_memory_pool hki_memory_pool;

struct hki_device {
    const hki_device_class *class; /* NULL for a failed device */
    struct hki_runtime *runtime;   /* NULL only when there was no memory to start one */
    const hk_status *status;       /* counted; ok unless this is a failed device */
    int index;                     /* among the devices of the runtime; -1 for a failed device */
    /* The engine's; NULL where nothing is launched ahead. There is no memory left: blocks until launched tasks have ended,
     * which may have given some back. False: none was under way. */
    bool (*make_room)(hki_device *device);
    int core_count;
    bool
        times_host; /* wants to know how much processor time launching takes, which takes time to tell */
    char name[32];
    char description[192];   /* see hk_device_description */
    hki_memory_pool *memory; /* thread-safe */
    /* CPU: pinned memory for copies, its own cache; NULL where there are no accelerators. */
    hki_memory_pool *pinned;
    /* Added to an address of the device's memory before a kernel or a copy of that device uses it. Elsewhere such an
     * address is of no use: a simulated device's memory is not to be read or written there, and faults. */
    intptr_t kernel_offset;
    struct hki_queue
        *queues[HKI_QUEUE_KIND_COUNT]; /* the engine's; a failed device borrows the first one's */
    void *state;                       /* of the class */
    hki_known_values known;            /* thread-safe */
};

/* True where the device's memory is the host's: threads read and write it in place. Elsewhere only
 * tasks of the device do, and copies between memories. A failed device has none, so that there is
 * nothing to copy. */
static inline bool hki_device_is_host(const hki_device *device)
{
    return !device->class || device->class->kind == HKI_CPU;
}

/* True where computing takes a model's time, not this machine's: then what nobody can see need not
 * be computed. */
static inline bool hki_device_puts_off(const hki_device *device)
{
    return device->class && device->class->is_modelled && !device->times_host;
}

/* Where tasks go that sum over devices. */
static inline hki_queue_kind hki_device_sum_queue(const hki_device *device)
{
    return device->class && device->class->sums_aside ? HKI_QUEUE_REDUCE : HKI_QUEUE_COMPUTE;
}

/* Memory for arrays, from the device's pool: 64-byte aligned, reused in LIFO order by size. NULL when
 * the device's limit or the machine's memory is reached, after the cache has been emptied and, on accelerators, what is
 * launched has ended: so it may block. bytes > 0. */
void *hki_device_allocate(hki_device *device, size_t bytes);
void hki_device_release(hki_device *device, void *data, size_t bytes);

/* A pool over the device's class functions; limit_bytes 0: none. NULL when host memory is short. */
hki_memory_pool *hki_memory_pool_create(hki_device *device, uint64_t limit_bytes);
void hki_memory_pool_destroy(hki_memory_pool *pool);
hk_device_memory hki_memory_pool_get(hki_memory_pool *pool);

/* Counts an array, or one fewer, that has its memory elsewhere: HKI_SMALL_BYTES of used_bytes, without limit. True when
 * it is the first one, or was the last. */
enum { HKI_SMALL_BYTES = 64 };
bool hki_memory_pool_add_small(hki_memory_pool *pool);
bool hki_memory_pool_remove_small(hki_memory_pool *pool);

/* Its memory comes from the accelerator's allocate_pinned; NULL also when it has none. The
 * accelerator outlives it. */
hki_memory_pool *hki_memory_pool_create_pinned(hki_device *accelerator);
/* As hki_device_allocate and hki_device_release, of a pool. */
void *hki_memory_pool_allocate(hki_memory_pool *pool, size_t bytes);
void hki_memory_pool_release(hki_memory_pool *pool, void *data, size_t bytes);
/* The same, and to the system at once: it is not going to be wanted soon. */
void hki_memory_pool_give_back(hki_memory_pool *pool, void *data, size_t bytes);
/* Of a device that puts work off: memory that is not among used_bytes, whatever the limit is. NULL:
 * no addresses are left. */
void *hki_memory_pool_borrow(hki_memory_pool *pool, size_t bytes);
/* Memory that has been allocated becomes such memory. */
void hki_memory_pool_uncount(hki_memory_pool *pool, size_t bytes);
/* Gives it back, however it has become such. */
void hki_memory_pool_return(hki_memory_pool *pool, void *data, size_t bytes);
/* Gives all that is kept back to the device or the system: something else has no room. */
void hki_memory_pool_trim(hki_memory_pool *pool);

extern const hki_device_class hki_cpu_device_class, hki_sim_device_class;

#endif
