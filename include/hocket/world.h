/* Processes that compute together: ranks, groups of them, and what all ranks of a group do at once.
 *
 * A launcher (mpirun, srun) starts one program many times. Each process is a rank; all of them
 * are the world. Without a launcher there is one rank, and every function below works.
 * docs/MACHINES.md is the guide.
 *
 * Functions of a group return at once, like all others: they are calls of the engine, and wait
 * for their arrays only. All ranks of a group call the same ones, in the same order, with arrays
 * of one shape and dtype. Ranks tell each other so before data moves. What differs fails on all
 * ranks, with one record; HOCKET_CHECK=1 compares the lines of calls, too: see
 * hk_runtime_options. So does an input that has failed: the record of the lowest rank goes to
 * all. When a rank is lost, the others fail with HK_DEVICE_LOST, and so does what they do
 * together from then on: see hk_world_options.
 *
 * Between GPUs of different ranks data goes by NCCL where it can, between other accelerators by
 * way of the host: see hk_world_options. Arrays with gaps are copied first. Calls of one group
 * from several threads have an order that the program must make the same on all ranks. */
#ifndef HOCKET_WORLD_H
#define HOCKET_WORLD_H

#include <hocket/array.h>

HK_BEGIN_DECLS

/* ---- the world --------------------------------------------------------------------------------------------------- */

typedef struct hk_world_options {
    /* "auto": ranks where a launcher started this process, else one; "off": one; "mpi": MPI, also without a launcher (default:
     * environment variable HOCKET_WORLD, else "auto"). */
    const char *mode;
    /* Seconds without a sign of life, after which a rank that is awaited is lost: its process has been stopped, or its machine or network
     * is gone (default: HOCKET_WORLD_TIMEOUT, else 60). Until all have started it is five minutes at least. */
    double timeout;
    /* Seconds that a rank may be late which gives such signs, because it is at something else (default: HOCKET_WORLD_PATIENCE, else
     * 3600). */
    double patience;
    /* "same": sums have the same bytes however ranks and devices are mixed; "library": those of hk_group_all_reduce and hk_group_sum over
     * all ranks are MPI's own all-reduce, or NCCL's, whose bytes depend on the library and the number of ranks, and may differ from run to run.
     * Complex numbers and groups of some ranks are added as by "same" (default: HOCKET_WORLD_SUM, else "same"). */
    const char *sum;
    /* Of arrays on GPUs: "auto": they go from GPU to GPU, by NCCL, where all ranks of a group have theirs on GPUs, and else by way of the
     * host; "host": always that way; "direct": never, but for messages between two ranks: a call that would is HK_UNSUPPORTED on all
     * ranks, and says why. Sums have the same bytes either way (default: HOCKET_WORLD_ROUTE, else "auto"). */
    const char *route;
} hk_world_options;

/* Starts the world, with MPI where a launcher asks for it, and the runtime. Blocks until all ranks have called it. Optional: the first
 * other function here does the same with the defaults. The world ends with the runtime, for good. At the end of
 * the program, or in hk_runtime_deinit, a rank first does all that it has issued, which others may wait for: the program need not. What
 * others issue beyond fails on them. options may be NULL.
 *
 * Errors: HK_INVALID_ARGUMENT (an option, or the world runs already), HK_NOT_FOUND (no plug-in for the launcher's MPI), HK_UNSUPPORTED
 * (MPI and launcher do not belong together), HK_DEVICE_LOST (a rank did not come). Then there is a world of one rank, whose
 * groups are failed. The record is lent: valid until the thread's next call that lends one. */
HK_API const hk_status *hk_world_init(const hk_world_options *options);
HK_AT_OPTIONS(const hk_status *, hk_world_init, hk_world_options,
              (hk_source at, const hk_world_options *options), (options))
#define hk_world_init(...) hk_world_init_at(HK_SOURCE, __VA_ARGS__)
/* Ends the world: this rank does all that it has issued, and waits until the others end theirs,
 * here or with their runtimes. The runtime goes on; what is issued in groups afterwards fails
 * with HK_CANCELLED, and the world does not start again. Optional, but for a program that has
 * started MPI itself: it calls this, or hk_runtime_deinit, before MPI_Finalize, which MPI allows
 * only when no other thread uses it (MPI 3.1, section 8.7). Without a world, a second time, or
 * within a task it does nothing. */
HK_API void hk_world_deinit(void);
/* What hk_world_init gave, whoever called it; lent as there. */
HK_API const hk_status *hk_world_status(void);
/* This process's number, from 0. */
HK_API int hk_world_rank(void);
/* How many processes there are. */
HK_API int hk_world_size(void);
/* The library that ranks talk by, such as "Open MPI v4.1.4"; "" in a world of one. Static text. */
HK_API const char *hk_world_library(void);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

typedef struct hk_group hk_group;

/* All ranks. Never NULL; lives as long as the process. */
HK_API hk_group *hk_group_world(void);
/* Every rank of the group calls it: those with one colour are a new group, in the order of their keys, then of their ranks. A colour below
 * 0: this rank is in none, and gets a failed group. Blocks until all ranks have called it. Never NULL; lives as long as the process:
 * split once, not in every step. */
HK_API hk_group *hk_group_split(hk_group *group, int color, int key);
/* HK_OK, or why the group is failed; NULL is a failed group. Lent as by hk_world_init. Does not block. */
HK_API const hk_status *hk_group_status(const hk_group *group);
/* This process's number in the group, from 0; 0 in a failed one. */
HK_API int hk_group_rank(const hk_group *group);
/* 1 in a failed one. */
HK_API int hk_group_size(const hk_group *group);

/* ---- in place, on several devices ---------------------------------------------------------------------------------- */

/* Replaces `count` arrays on each of n devices, of each rank, by their sums over all ranks and devices. arrays[i * n + d] is array i on
 * device d. For each i one shape and dtype (not bool, float16 or bfloat16), no two of them overlapping. All ranks give as many devices.
 *
 * The sum is that of hk_all_reduce over one list of all devices, rank by rank: the same bytes for as many devices in fewer processes.
 *
 * Arrays go in buckets, each as soon as it is there. Gradients of hk_attach_grad go in the order in which they were last written, in
 * whatever order the list has them. A list with anything else goes as it is: give those first that are there first. Where ranks
 * have written them in different orders, the call fails on all. bucket_bytes 0: 4 MiB. */
HK_API void hk_group_all_reduce(hk_group *group, hk_array *const *arrays, int n, int count,
                                size_t bucket_bytes);
/* Overwrites the arrays, as above, by those of the first device of rank `root`. Any dtype. */
HK_API void hk_group_broadcast(hk_group *group, hk_array *const *arrays, int n, int count,
                               int root);

/* ---- new arrays ---------------------------------------------------------------------------------------------------- */

/* These have gradients, by the same functions of the other direction. Results are on x's device and belong to the scope. */

/* The sum of all ranks' x, as hk_group_all_reduce has it. Its gradient is the sum of the ranks' gradients. */
HK_API hk_array *hk_group_sum(hk_group *group, hk_array *x);
/* Part `rank` of that sum, along axis 0, whose size the group's divides. Gradient: hk_group_all_gather. */
HK_API hk_array *hk_group_reduce_scatter(hk_group *group, hk_array *x);
/* All ranks' x, one after the other along axis 0. Gradient: hk_group_reduce_scatter. */
HK_API hk_array *hk_group_all_gather(hk_group *group, hk_array *x);
/* Slice r along axis 0, whose size the group's divides, goes to rank r; what came from rank r is slice r. Gradient: itself. */
HK_API hk_array *hk_group_all_to_all(hk_group *group, hk_array *x);

/* ---- between two ranks ----------------------------------------------------------------------------------------------- */

/* Sends x to a rank of the group, which receives it with its shape and dtype. Sends and receives of two ranks pair in their order. A
 * send has ended when it has been received: two ranks that both send more than the run-ahead window has room for, and only then
 * receive, wait for each other. In the serial engine a send waits for its receive. The result is an int32 of no axes, 1 when x has been
 * sent, or failed.
 *
 * Gradients go the other way, by the same functions. While recording, what is sent from x, which wants a gradient, gives a zero of
 * x's dtype: a backward pass from it (hk_backward, or as a part of a loss) receives the gradient of x. What is received there, of a
 * floating dtype, wants a gradient: hk_backward sends it. So what one rank does while recording, the other one does, too, and the
 * passes of both reach it; hk_detach and HK_PAUSE keep a message off the tape. hk_pipeline_run does all this by itself. */
HK_API hk_array *hk_group_send(hk_group *group, hk_array *x, int to);
/* device zeroed: the default one. */
HK_API hk_array *hk_group_receive(hk_group *group, hk_dims shape, hk_dtype dtype, hk_device device,
                                  int from);

/* An int32 of no axes, the group's size, that comes when all ranks have called it: for hk_wait. It waits for what was called before
 * in the group to begin, not for it to end. */
HK_API hk_array *hk_group_barrier(hk_group *group);

/* ---- the same with the source position of the call: see HK_SOURCE ------------------------------------------------------ */

HK_AT_VOID(hk_group_all_reduce,
           (hk_source at, hk_group *group, hk_array *const *arrays, int n, int count,
            size_t bucket_bytes),
           (group, arrays, n, count, bucket_bytes))
#define hk_group_all_reduce(...) hk_group_all_reduce_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_group_broadcast,
           (hk_source at, hk_group *group, hk_array *const *arrays, int n, int count, int root),
           (group, arrays, n, count, root))
#define hk_group_broadcast(...) hk_group_broadcast_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_group_sum, (hk_source at, hk_group *group, hk_array *x), (group, x))
#define hk_group_sum(...) hk_group_sum_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_group_reduce_scatter, (hk_source at, hk_group *group, hk_array *x), (group, x))
#define hk_group_reduce_scatter(...) hk_group_reduce_scatter_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_group_all_gather, (hk_source at, hk_group *group, hk_array *x), (group, x))
#define hk_group_all_gather(...) hk_group_all_gather_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_group_all_to_all, (hk_source at, hk_group *group, hk_array *x), (group, x))
#define hk_group_all_to_all(...) hk_group_all_to_all_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_group_send, (hk_source at, hk_group *group, hk_array *x, int to),
      (group, x, to))
#define hk_group_send(...) hk_group_send_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_group_receive,
      (hk_source at, hk_group *group, hk_dims shape, hk_dtype dtype, hk_device device, int from),
      (group, shape, dtype, device, from))
#define hk_group_receive(...) hk_group_receive_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_group_barrier, (hk_source at, hk_group *group), (group))
#define hk_group_barrier(...) hk_group_barrier_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
