/* Captured steps: the calls of a thread are noted once and then done again, for a fraction of what issuing them costs,
 * and, because it is known which results nobody looks at, in fewer and larger pieces of work.
 *
 *     hk_capture_begin((hk_array *[]){x, y}, 2);
 *     train_step(x, y);                               any calls, backward passes and updates; they run as always
 *     hk_graph *step = hk_capture_end(NULL);
HK_AT_OPTIONS(hk_graph *, hk_capture_end, hk_capture_options, (hk_source at, const hk_capture_options *options), (options))
#define hk_capture_end(...) hk_capture_end_at(HK_SOURCE, __VA_ARGS__)
 *     while (next(&x, &y))
 *         hk_replay(step, (hk_array *[]){x, y}, 2);   does the same to these x and y
 *     hk_graph_release(step);
 *
 * Between begin and end calls run as always, and are noted. An array takes part in one of four ways:
 *   - the bound ones, given to begin: each replay gives others of the same shape, strides, dtype and device;
 *   - others from before begin (parameters): the same arrays are read and written at each replay;
 *   - made within, and a handle to it (or to a view of it) left when the capture ends: each replay writes it anew;
 *   - made within, and no handle left: it has no memory but while a replay needs it, or none at all.
 * So let scopes inside the capture end before it does.
 *
 * Options of calls (shapes, learning rates) are those noted. What depends on values read by the program cannot be
 * noted: hk_to_host, hk_item, printing, hk_from_host, hk_write, hk_seed, loaders and copies between memories make
 * the capture fail, and its calls have run all the same. Waiting is fine, and not noted.
 *
 * Random numbers are new at each replay: those that the calls would draw. What was drawn from a thread's stream is drawn
 * from that of the thread that calls hk_replay; what was drawn from a generator, from that one, which the graph retains.
 * A replay that is refused draws none.
 *
 * Thread-safety: a capture belongs to the thread that began it, and notes its calls alone. A graph may be replayed by
 * any thread, in several at once. */
#ifndef HOCKET_GRAPH_H
#define HOCKET_GRAPH_H

#include <hocket/array.h>

HK_BEGIN_DECLS

typedef struct hk_graph hk_graph;

typedef struct hk_capture_options {
    /* Replays give the same bytes as the calls. Otherwise calls that treat the samples of a batch each by itself are done
     * depth-first, a block of samples through all of them while it is in the cache, and fused where nobody looks at
     * what is in between: sums over samples are added in another order, convolutions may be computed in another way, as
     * rounding shows, and where one of those calls fails everything that they write does. And what is made only to be copied
     * is made in the copy's place, so that where it fails nothing is left there for hk_recover. Weights that the graph does
     * not write are kept rearranged, in about as much memory again (two and a half times for 5 x 5 kernels), until somebody
     * writes them or the graph goes.
     *
     * Of a CPU device, neighbouring calls that take about a millisecond at most are one task, at which its cores work
     * together, call by call. Bytes are those of the calls, but of convolutions of four images or fewer, and of linear
     * layers on one row, which are added up in another order. An input that has failed, or a call that fails, fails all that the task writes.
     *
     * And neighbouring calls of a GPU are one task, which it does from its recording of an earlier
     * replay (a CUDA graph). Sums over devices and ranks, and a program's own kernels, come between
     * such tasks. Bytes and failures are those of the calls, but an input that has failed fails all
     * that the task writes, and of a gradient that fails nothing is left for hk_recover. What is
     * made within has memory that the graph keeps from its first replay on.
     *
     * Either way the bytes are the same at each replay and in each engine. */
    bool exact;
} hk_capture_options;

/* Begins to note this thread's calls. bound may be NULL when count is 0; the arrays are not kept, and what the calls make
 * takes no more memory than otherwise. An array that lies within several bound ones, or only partly within one, makes the
 * capture fail; so does a NULL or failed one here. A capture within a capture is an error of the inner one: its
 * hk_capture_end gives a graph that says so. Does not block. */
HK_API void hk_capture_begin(hk_array *const *bound, int count);

/* Ends the capture. options may be NULL for the defaults. Never NULL; the caller owns one count. When the capture failed,
 * hk_graph_status says why, and replays fail the bound arrays with a record that repeats it (or, without any, just note
 * it for hk_wait_all). Does not block. */
HK_API hk_graph *hk_capture_end(const hk_capture_options *options);

/* HK_OK, or why the graph cannot be replayed. Lent: valid until the thread's next call that lends one. */
HK_API const hk_status *hk_graph_status(const hk_graph *graph);

/* Issues what was noted, on these bound arrays, and returns at once. Its place in the order of calls is here; calls of
 * other threads may come between. Bound arrays that do not fit (count, shape, strides, dtype, device) are failed by a
 * record that says what would be right, and nothing is done. One that has failed fails what depends on it. Bound
 * arrays may share memory with each other and with the graph's; not so where one of them is written and calls were put
 * together (see exact). Never on the tape. Blocks like a call, while the run-ahead window is full. */
HK_API void hk_replay(hk_graph *graph, hk_array *const *bound, int count);

/* The same on the first `count` bound arrays. The others, all of whose elements the graph writes before it reads any, are new ones of
 * their shape, dtype and device: made, with room for hk_graph_bound_count(graph) - count, gets them, which the caller releases. One that is
 * read first, or never written, or for which memory is short, is a failed array. Blocks as hk_replay does. */
HK_API void hk_replay_anew(hk_graph *graph, hk_array *const *bound, int count, hk_array **made);

/* Of the arrays that each replay takes. 0 for NULL. Does not block. */
HK_API int hk_graph_bound_count(const hk_graph *graph);
/* Whether replays take x as that bound array: shape, strides, dtype and device are right, and x has not failed at its call. Does
 * not block. */
HK_API bool hk_graph_takes(const hk_graph *graph, int index, hk_array *x);
HK_API hk_graph *hk_graph_retain(hk_graph *graph);
/* NULL is ignored. What replays have issued still runs. */
HK_API void hk_graph_release(hk_graph *graph);

typedef struct hk_graph_facts {
    size_t struct_bytes;      /* see "Structs that grow" in hocket/base.h */
    int64_t calls;            /* noted */
    int64_t tasks;            /* of a replay: fewer where calls were put together */
    uint64_t temporary_bytes; /* of arrays made within that get memory at each replay */
    int64_t recorded_replays; /* so far, of which GPUs did all such tasks from recordings */
    /* Floating-point operations of the calls noted: a product of a sum counts as two, however it is computed; of elementwise
     * calls, copies and the like each element as one. */
    double flops;
    int64_t fused_calls; /* that a GPU does in kernels of several, element by element */
} hk_graph_facts;
/* All 0 for NULL and for a graph that cannot be replayed. Does not block. */
HK_API void hk_graph_read_facts(const hk_graph *graph, hk_graph_facts *facts);
static inline hk_graph_facts hk_graph_get_facts(const hk_graph *graph)
{
    hk_graph_facts filled;
    filled.struct_bytes = sizeof filled;
    hk_graph_read_facts(graph, &filled);
    return filled;
}
/* A line for each task of a replay, what it is made of below it; or why the graph cannot be replayed. The caller frees the
 * text; NULL: out of memory. Does not block. */
HK_API char *hk_graph_to_string(const hk_graph *graph);

/* The same with the source position of the call: see HK_SOURCE. Calls of a replay carry the positions of the calls
 * noted. */
HK_AT_VOID(hk_replay, (hk_source at, hk_graph *graph, hk_array *const *bound, int count),
           (graph, bound, count))
#define hk_replay(...) hk_replay_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_replay_anew,
           (hk_source at, hk_graph *graph, hk_array *const *bound, int count, hk_array **made),
           (graph, bound, count, made))
#define hk_replay_anew(...) hk_replay_anew_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
