/* Shared by the files of the plug-in's device class, and by nobody else. */
#ifndef HOCKET_DEVICE_CUDA_INTERNAL_H
#define HOCKET_DEVICE_CUDA_INTERNAL_H

#include "device/cuda/cuda_device.h"

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>

/* Tasks of a queue that have begun and are not settled, at most. A power of two. */
enum { HKI_CUDA_SLOTS = 256 };

/* The last fault of a stream's board is for all that find no flag free, one after another, and for those that report nothing. */
enum { HKI_CUDA_NO_FLAG = HKI_CUDA_FLAGS - 1 };

typedef struct hki_cuda_device hki_cuda_device;

/* A task from its begin until it is settled. Written by the thread of its queue until it is launched, then by the one
 * that polls and settles. */
typedef struct hki_cuda_slot {
    _Atomic(bool) in_use;
    uint64_t position;
    cudaEvent_t end; /* lives as long as the slot; */
    uint64_t
        marked; /* the task at whose end it was recorded, or behind it; 0: none. stream.marks */
    cudaEvent_t timed[2]; /* begin and end, by the GPU's clock; NULL before they are first wanted */
    bool has_begun, is_timed; /* the first, both of these have been recorded */
    int base;                 /* which of the device's bases they are told from, */
    int64_t base_ns;          /* and when that was: it may have been taken anew since */
    int64_t ready_ns, launched_ns;
    bool has_ended; /* the GPU has said so, and not that it is lost */
    hk_code code;   /* HK_OK, or what was noted while it was launched */
    char text[200];
    hki_cuda_fault *fault;         /* pinned: what its kernels have reported, when it has ended */
    hki_cuda_describe_fn describe; /* NULL: no kernel of the task reports anything */
    int64_t argument;
    hki_recorder *recorder;          /* of a task of several calls; else NULL */
    hki_cuda_fault *recorder_faults; /* pinned, of each of its checks; NULL: they report nothing */
    int call;                        /* whose errors `code` and `text` are */
    uint64_t flags;                  /* of the stream's board, which tell of the task; */
    int board_index;                 /* of the fault there; */
    bool is_unflagged;               /* none was free */
    int sum;        /* by NCCL: its communicator's number, from 1 on; 0: it is none */
    unsigned waits; /* bits: GPUs whose events it waits for */
} hki_cuda_slot;

struct hki_cuda_stream {
    hki_cuda_device *its;
    hki_queue_kind kind;
    cudaStream_t handle;
    /* The queue's thread only: */
    uint64_t position;      /* of the task that began last, from 1 */
    hki_cuda_slot *current; /* the task that is being launched; NULL between tasks */
    void *workspace;
    size_t workspace_bytes;
    uint64_t workspace_number; /* counts those that there have been */
    hki_recorder *recorder;    /* whose calls are being launched or recorded; NULL: none's */
    hki_cuda_fault *board;     /* NULL before the first task that may report something */
    hki_cuda_guard guard;      /* of what is launched now */
    uint64_t suspects;         /* flags: the task to come may turn out failed with them; */
    bool is_prechecked;        /* its kernels report nothing */
    /* The board's flags that nobody has, and those of them that may be up. */
    _Atomic(uint64_t) free_flags, raised_flags;
    struct {
        void *state;
        void (*deinit)(void *state);
    } kept[HKI_CUDA_KEPT_COUNT];

    const char *refused_what; /* by the last hki_cuda_refuse */
    char refused_text[100];
    /* Of the last call that told, for tests. */
    _Atomic(const char *) method;
    _Atomic(int) method_number;

    /* Ends of tasks are told by events, which take their time to record and to ask: one will do for many tasks. The lock is
     * held for a moment; also by threads that ask, or make another stream wait. */
    pthread_mutex_t marks;
    uint64_t launched; /* the last task that has been */
    uint64_t recorded; /* the last one with an event */
    bool is_capturing; /* no event of it can be recorded; all that is launched has one behind it */

    _Atomic(uint64_t) ended; /* all tasks up to this position have */
    _Atomic(int64_t) last_end_ns;
    hki_cuda_slot slots[HKI_CUDA_SLOTS];
};

typedef enum hki_cuda_state { HKI_CUDA_UNMADE, HKI_CUDA_READY, HKI_CUDA_LOST } hki_cuda_state;

enum { HKI_CUDA_BASES = 8 }; /* a second apart, so that a task of some seconds finds its own */

struct hki_cuda_device {
    const hki_cuda_host *host;
    hki_device *device;
    int gpu, multiprocessors, capability;     /* 90: 9.0 */
    __typeof__(cuCtxGetCurrent) *get_context; /* of the driver; NULL, as the next: it has none */
    __typeof__(cuCtxSetCurrent) *set_context;
    CUcontext context; /* the GPU's; NULL before there is one */
    hki_cuda_options options;
    pthread_mutex_t lock; /* making, losing, and what says so */
    _Atomic(hki_cuda_state) state;
    char lost_text[256]; /* written before `state` says so */
    /* The GPU's, of all devices that are parts of it: memory is given and taken in the order of a stream, without waiting
     * for all others. NULL: it can have none. */
    cudaMemPool_t pool;
    unsigned closed_peers;  /* bits: GPUs that could use its memory, and were refused it */
    cudaStream_t memory;    /* in whose order arrays' memory is taken; nothing else runs in it */
    hki_cuda_fault *faults; /* pinned; those of the queue for computing */
    /* Moments known by both clocks, taken in turn, since what tells their distance has 24 bits. */
    struct {
        cudaEvent_t event;
        _Atomic(int64_t) ns;
    } bases[HKI_CUDA_BASES];
    _Atomic(int) base;
    hki_cuda_stream streams[HKI_QUEUE_KIND_COUNT];
};

/* ---- life (cuda_device.c) --------------------------------------------------------------------------------------- */

static inline hki_cuda_device *hki_cuda_device_of(const hki_device *device)
{
    return device->state;
}

static inline bool hki_cuda_is_lost(const hki_cuda_device *self)
{
    return atomic_load_explicit(&((hki_cuda_device *)self)->state, memory_order_acquire) ==
           HKI_CUDA_LOST;
}

/* Makes what is not made yet, and the GPU this thread's current one. False: the device is lost. */
bool hki_cuda_enter(hki_cuda_device *self);
/* See hki_device_class. */
void hki_cuda_deinit(hki_device *device);
/* The same in a thread that may be the program's: until hki_cuda_leave gives it back the context that it had, whatever
 * visit says; an error that is left is cleared. It may have had none, and then gets none: to set the GPU that cudaGetDevice tells would make one. */
bool hki_cuda_visit(hki_cuda_device *self, CUcontext *before);
void hki_cuda_leave(const hki_cuda_device *self, CUcontext before);
/* From now on the device is lost; the first text stays. */
HK_PRINTF(2, 3) void hki_cuda_lose(hki_cuda_device *self, const char *format, ...);
/* When the GPU was lost, by hki_clock_ns; 0: it was not. Any thread. */
int64_t hki_cuda_lost_since(int gpu);
/* After an error that a call of CUDA returned: loses the device if CUDA has given up its context. True if it has not.
 * Clears the thread's error. */
bool hki_cuda_survives(hki_cuda_device *self, cudaError_t error, const char *what);
/* Takes another moment as a base when the last is older than a second. The queue's thread. */
void hki_cuda_take_base(hki_cuda_device *self);

/* ---- tasks (cuda_task.c) ------------------------------------------------------------------------------------------ */

/* False: an event cannot be made. */
bool hki_cuda_stream_init(hki_cuda_stream *stream, hki_cuda_device *device, hki_queue_kind kind);
/* Waits for what runs in it. */
void hki_cuda_stream_deinit(hki_cuda_stream *stream);

/* While the stream is capturing, what was launched before has an event. The queue's thread. */
void hki_cuda_capture_begin(hki_cuda_stream *stream);
void hki_cuda_capture_end(hki_cuda_stream *stream);

void hki_cuda_launched(hki_device *device, hki_queue_kind queue, const hki_cost *cost,
                       int64_t ready_ns, int64_t host_ns, hki_ticket *ticket);
int64_t hki_cuda_poll(hki_device *device, hki_ticket *ticket);
void hki_cuda_wait_for(hki_device *device, hki_queue_kind queue, const hki_ticket *ticket);
bool hki_cuda_settle(hki_device *device, hki_ticket *ticket, hk_code *code, char *message,
                     size_t bytes);
void hki_cuda_last_method(hki_device *device, char *text, size_t bytes); /* cuda_stream.c */

/* ---- boards and flags (cuda_task.c) ------------------------------------------------------------------------------------------ */

/* A board in the device's memory; NULL after noting that there is no memory. The queue's thread. */
hki_cuda_fault *hki_cuda_board_create(hki_cuda_stream *stream, int count);
/* The stream's, made when it is first wanted; NULL after noting that it cannot be. */
hki_cuda_fault *hki_cuda_stream_board(hki_cuda_stream *stream);
/* So many flags of the stream's board, which are down; 0: not as many are free. Nothing is being recorded. */
uint64_t hki_cuda_flags_take(hki_cuda_stream *stream, int count);
/* What kernels of the task have reported goes to its slot. */
void hki_cuda_board_publish(hki_cuda_stream *stream, hki_cuda_slot *slot);
/* See hki_device_class. */
void hki_cuda_guard_task(hki_device *device, uint64_t suspects, bool is_prechecked);
void hki_cuda_release_flags(hki_device *device, uint64_t flags);

/* ---- memory and copies (cuda_memory.c, cuda_copy.c) ----------------------------------------------------------------- */

/* The GPU's pool, one for the process, which keeps what is freed; open and close are counted. The GPU is current. */
cudaMemPool_t hki_cuda_pool_open(int gpu);
void hki_cuda_pool_close(int gpu);
/* What is cached of the device's memory, by the library and by its pool, goes back to the system.
 * Makes its GPU the current one. Any thread that may have another then. */
void hki_cuda_trim(hki_cuda_device *self);

void *hki_cuda_allocate(hki_device *device, size_t bytes);
void hki_cuda_release(hki_device *device, void *data, size_t bytes);
void *hki_cuda_allocate_pinned(hki_device *device, size_t bytes);
void hki_cuda_release_pinned(hki_device *device, void *data, size_t bytes);
void hki_cuda_workspace_release(hki_cuda_stream *stream);

void hki_cuda_copy_from_host(hki_device *device, void *to, const void *from, size_t bytes);
void hki_cuda_copy_to_host(hki_device *device, void *to, const void *from, size_t bytes);
void hki_cuda_copy_to_peer(hki_device *device, hki_device *peer, void *to, const void *from,
                           size_t bytes);
bool hki_cuda_is_linked(hki_device *device, hki_device *peer);

/* ---- sums over GPUs (cuda_all_reduce.c) ----------------------------------------------------------------------------- */

bool hki_cuda_has_all_reduce(hki_device *const *devices, int count, hk_dtype dtype);
void hki_cuda_all_reduce(hki_device *const *devices, int count, hk_dtype dtype, void *const *arrays,
                         const size_t *sizes, int array_count);
enum { HKI_CUDA_SUM_WHY = 160 };
/* While a sum of that communicator is under way: gives it up where a GPU has been lost, or NCCL has
 * an error. Looks now and then, unless it is urgent. Any thread. */
void hki_cuda_watch_sum(int which, bool is_urgent);
/* Whether it was given up; why: HKI_CUDA_SUM_WHY bytes. */
bool hki_cuda_sum_failed(int which, char *why);

/* ---- between processes (cuda_channel.c) ------------------------------------------------------------------------------- */

extern const struct hki_channel_class hki_cuda_channel_class;

/* ---- calls recorded as a graph (cuda_graph.c) ------------------------------------------------------------------------ */

extern const hki_recorder_class hki_cuda_recorder_class;
/* What is given to the stream is not launched but recorded. */
bool hki_cuda_is_recording(const hki_cuda_stream *stream);
/* That cannot be recorded. */
void hki_cuda_refuse_recording(hki_cuda_stream *stream);
/* The number of the call that is being launched; 0 where those are not told apart. */
int hki_cuda_current_call(const hki_cuda_stream *stream);
/* hki_cuda_fault_slot, of that call. */
hki_cuda_fault *hki_cuda_recorder_fault(hki_cuda_stream *stream, hki_cuda_describe_fn describe,
                                        int64_t argument);
/* The task has ended, and nobody asks any more what its kernels have reported. True: they have reported something. */
bool hki_cuda_recorder_settle(hki_recorder *recorder, hki_cuda_slot *slot);

#endif
