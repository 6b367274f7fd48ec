/* A program's own kernels as tasks: C functions that say which arrays they read and write. They
 * are issued like Hocket's operators, in one order with them: a call returns at once and runs on
 * a worker of its device, when what it reads is there. Calls wait for each other only where one
 * writes a byte that the other one uses: so tiles of one matrix never wait without need.
 *
 *     static void scale(hk_task_call *call) // on a worker; one thread for each range
 *     {
 *         const hk_task_view x = hk_task_view_of(call, 0), y = hk_task_view_of(call, 1);
 *         const float factor = *(const float *)hk_task_args(call);
 *         ...
 *     }
 *     static const hk_kernel scale_kernel = {.name = "scale", .cpu = scale};
 *
 *     hk_run(&scale_kernel, HK_ACCESS(hk_reads(x), hk_writes(y)), &factor, sizeof factor, NULL);
 *
 * A kernel whose inputs have failed does not run, and what it writes fails by their record. What
 * a captured step calls it calls again in each replay, with the same arguments. The guide is
 * docs/KERNELS.md. Thread-safe. */
#ifndef HOCKET_KERNEL_H
#define HOCKET_KERNEL_H

#include <hocket/autograd.h>

HK_BEGIN_DECLS

/* ---- within a kernel ------------------------------------------------------------------------ */

/* One call of a kernel, or one range of it: valid until the kernel's function returns. */
typedef struct hk_task_call hk_task_call;

/* An array as a kernel sees it. */
typedef struct hk_task_view {
    /* Of the first element; NULL where there are no elements, and for cost_ns, extent and
     * scratch_bytes. */
    void *data;
    hk_dtype dtype;
    hk_dims shape;
    int64_t strides[HK_MAX_NDIM]; /* elements from one index of an axis to the next */
} hk_task_view;

/* The array of an access, 0 <= index < hk_task_view_count(), in the order of the call; that of
 * hk_run_new's result is the last. Another index gives one of no data and an ndim of -1. */
HK_API hk_task_view hk_task_view_of(const hk_task_call *call, int index);
HK_API int hk_task_view_count(const hk_task_call *call);
/* The call's copy of its arguments, aligned for any type; NULL: it has none. */
HK_API const void *hk_task_args(const hk_task_call *call);
/* The part of [0, extent) that is to be computed now: all of [0, 1) of a kernel without extent. */
HK_API int64_t hk_task_begin(const hk_task_call *call);
HK_API int64_t hk_task_end(const hk_task_call *call);
/* Memory of scratch_bytes, of this range alone, 64-byte aligned, not set; NULL: the kernel asks
 * for none. */
HK_API void *hk_task_scratch(const hk_task_call *call);
/* On a GPU: the CUstream, or cudaStream_t, that the work is to be put on; else NULL. */
HK_API void *hk_task_stream(const hk_task_call *call);
/* The runtime ends, so that nobody looks at what the call writes any more: a kernel that waits
 * should return. */
HK_API bool hk_task_is_cancelled(const hk_task_call *call);
/* The call fails with this message (HK_INVALID_ARGUMENT), which says what was wrong and what
 * would be right; what it writes fails. Its record names the kernel, its arrays and the line of
 * the call. The function should return then. Of several ranges that refuse the first one counts. */
HK_API void hk_task_refuse(hk_task_call *call, const char *format, ...) HK_PRINTF(2, 3);

/* ---- kernels -------------------------------------------------------------------------------- */

/* What a kernel is. Calls copy it; its functions and its name must stay. A kernel's functions
 * may call what is above, and nothing that issues calls or waits. They may not write what they
 * read, nor read what they write before they have written it (hk_updates does both), nor touch
 * other arrays: HOCKET_CHECK=1 finds the first of these, in arrays without gaps. */
typedef struct hk_kernel {
    const char *name; /* in records and timelines; static text (default: "kernel") */
    /* On CPU devices, and on simulated ones, whose memory is the host's. NULL: it does not run
     * there. */
    void (*cpu)(hk_task_call *call);
    /* On CUDA devices: called by a thread of that device, for all of the work. Puts kernels, copies
     * and library calls on hk_task_stream(), and does not wait for them. Addresses, those of
     * hk_task_scratch too, are the GPU's. What cannot be launched is told by hk_task_refuse. */
    void (*cuda)(hk_task_call *call);
    /* It waits for something that is no computing, such as a file, a socket, or another thread:
     * it runs on a thread of its own beside the cores, and keeps none from computing. It has no
     * extent. */
    bool waits;
    /* How many parts the work has, each of which may be computed by itself, at the same time as
     * the others and in any order: rows, for one. The function is called for ranges of them, and
     * once for an empty one where there are none. NULL means 1. */
    int64_t (*extent)(const hk_task_call *call);
    /* How many nanoseconds all of it takes on one core. Decides where and in how many ranges it
     * runs, and how much time simulated devices take, which refuse kernels without it. NULL:
     * learnt from earlier calls. */
    double (*cost_ns)(const hk_task_call *call);
    /* Bytes of memory that a range needs beside its arrays. NULL: none. */
    size_t (*scratch_bytes)(const hk_task_call *call);
    /* The gradient of hk_run_new's result, made of calls, as of hk_function: input i is the
     * array of access i, output 0 the result, context the call's copy of its arguments. NULL:
     * where one is wanted, it fails. */
    void (*gradient)(hk_function_call *call);
    /* Called once for each call of hk_run and hk_run_new, with its arguments (or its copy of
     * them), when it has run, or has failed and never will: for what the arguments own. In any
     * thread. A captured step cannot call such a kernel again, and it has no gradient. NULL:
     * nothing. */
    void (*release)(void *args);
    uint64_t gradient_reads; /* bit i: gradient reads the array of access i */
    bool gradient_reads_result;
} hk_kernel;

typedef enum hk_access_mode {
    HK_READS = 1,
    HK_WRITES = 2,  /* all elements; what they were does not matter */
    HK_UPDATES = 3, /* reads, and writes some or all */
    /* Is added to. The kernel finds zeros, and what it makes of them is added to the array when the
     * call's turn comes: x = x + it. So several such calls run at the same time, and the sum is
     * what they give one after the other. Takes memory like the array's for each call. Not bool. */
    HK_ACCUMULATES = 4
} hk_access_mode;

/* What a call does with an array. Made by the functions below. */
typedef struct hk_access {
    hk_array *x;
    hk_access_mode mode;
} hk_access;

static inline hk_access hk_access_of(hk_array *x, hk_access_mode mode)
{
    hk_access access;
    access.x = x;
    access.mode = mode;
    return access;
}
static inline hk_access hk_reads(hk_array *x)
{
    return hk_access_of(x, HK_READS);
}
static inline hk_access hk_writes(hk_array *x)
{
    return hk_access_of(x, HK_WRITES);
}
static inline hk_access hk_updates(hk_array *x)
{
    return hk_access_of(x, HK_UPDATES);
}
static inline hk_access hk_accumulates(hk_array *x)
{
    return hk_access_of(x, HK_ACCUMULATES);
}

enum { HK_MAX_ACCESSES = 63 };

#ifndef __cplusplus
/* The two arguments `accesses` and `count`. */
#define HK_ACCESS(...)                                                                             \
    ((const hk_access[]){__VA_ARGS__}),                                                            \
        ((int)(sizeof((const hk_access[]){__VA_ARGS__}) / sizeof(hk_access)))
#endif

/* May be NULL: defaults. */
typedef struct hk_run_options {
    int priority; /* of this call: see hk_priority_set (default: the thread's) */
    /* Where it runs (default: where its first array is; of a result alone, hk_device_default()). */
    hk_device device;
} hk_run_options;

/* Issues a call of the kernel with 1 to HK_MAX_ACCESSES accesses, all to arrays of one device,
 * and a copy of args_bytes at args (0: none). What one access writes no other one may touch.
 * Blocks only while the run-ahead window is full. While recording, arrays that want a gradient
 * are refused unless they are only read and what is written holds integers: hk_run_new is for
 * them. A call that cannot be made fails the arrays that it would write (hk_status), whose
 * values stay for hk_recover. */
HK_API void hk_run(const hk_kernel *kernel, const hk_access *accesses, int count, const void *args,
                   size_t args_bytes, const hk_run_options *options);

/* The same for a kernel that writes all of a new array, besides accesses, which may be none:
 * returns it, of the current scope, or a failed one. Recorded on the tape. */
HK_API hk_array *hk_run_new(const hk_kernel *kernel, hk_dims shape, hk_dtype dtype,
                            const hk_access *accesses, int count, const void *args,
                            size_t args_bytes, const hk_run_options *options);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_OPTIONS_VOID(hk_run, hk_run_options,
                   (hk_source at, const hk_kernel *kernel, const hk_access *accesses, int count,
                    const void *args, size_t args_bytes, const hk_run_options *options),
                   (kernel, accesses, count, args, args_bytes, options))
#define hk_run(...) hk_run_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_run_new, hk_run_options,
              (hk_source at, const hk_kernel *kernel, hk_dims shape, hk_dtype dtype,
               const hk_access *accesses, int count, const void *args, size_t args_bytes,
               const hk_run_options *options),
              (kernel, shape, dtype, accesses, count, args, args_bytes, options))
#define hk_run_new(...) hk_run_new_at(HK_SOURCE, __VA_ARGS__)

/* ---- promises ------------------------------------------------------------------------------- */

/* What the program itself does with arrays, in a thread of its own, by another library, or when a
 * message comes: a call that has no function, and ends when the program says so. Calls that use
 * the arrays can be issued meanwhile, and wait for it.
 *
 *     hk_array *frame = hk_zeros(hk_shape(480, 640), HK_F32, (hk_device){NULL});
 *     hk_promise *camera = hk_promise_create(HK_ACCESS(hk_writes(frame)), NULL);
 *     hk_array *edges = hk_conv2d(frame, …);                  // issued, not run
 *     ...
 *     read_frame(hk_promise_view(camera, 0).data);            // in any thread, any time
 *     hk_promise_keep(camera);
 *
 * One that is neither kept nor broken keeps what needs it waiting: when a thread has waited for ten
 * seconds, that is said on the standard error, with name and line. The end of the runtime breaks
 * it. A full run-ahead window lets a thread go on after 0.2 s while there are open promises, since
 * it may be the one to keep them. In the serial engine a call that needs a promise waits for
 * another thread to keep it. Thread-safe but for using a handle that has been taken. */
typedef struct hk_promise hk_promise;

/* May be NULL: defaults. */
typedef struct hk_promise_options {
    const char *name; /* in records and timelines; static text (default: "promise") */
} hk_promise_options;

/* Issues it, with accesses as hk_run's: to CPU arrays, and no captured step can have it. Does not
 * block but for a full window. Where it cannot be made, what it would write has failed, and the
 * handle is one that is not open. Never NULL; hk_promise_keep or hk_promise_break takes it. */
HK_API hk_promise *hk_promise_create(const hk_access *accesses, int count,
                                     const hk_promise_options *options);
/* The array of an access, the program's until the promise is kept or broken. Blocks while
 * earlier calls use the memory, which nobody does with new arrays. Has no data, and an ndim of
 * -1, where index is none, the promise is not open, the thread is in a task, or a hook interrupts
 * (hk_wait_hooks). */
HK_API hk_task_view hk_promise_view(hk_promise *promise, int index);
/* It can be kept yet: not where it could not be made, an array that it updates has failed, or the
 * runtime has ended. */
HK_API bool hk_promise_is_open(const hk_promise *promise);
/* The arrays are as they are to be. Takes the handle; NULL does nothing. Does not block. */
HK_API void hk_promise_keep(hk_promise *promise);
/* What it writes fails with this message (HK_CANCELLED), and by it all that reads that. Takes the
 * handle; NULL does nothing. Does not block. */
HK_API void hk_promise_break(hk_promise *promise, const char *format, ...) HK_PRINTF(2, 3);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_OPTIONS(hk_promise *, hk_promise_create, hk_promise_options,
              (hk_source at, const hk_access *accesses, int count,
               const hk_promise_options *options),
              (accesses, count, options))
#define hk_promise_create(...) hk_promise_create_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
