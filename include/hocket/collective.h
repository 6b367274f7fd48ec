/* Work that several devices share: sums over devices, and data split over them.
 *
 * Issued like any other call, in program order over all arrays named, and run by a queue of their own on
 * each device, so that they need not stand behind what was issued before and does not concern them. Of sums
 * that could begin, the one issued first does: sum the gradients of those parameters first that the next step
 * needs first. It makes no difference to the bytes. */
#ifndef HOCKET_COLLECTIVE_H
#define HOCKET_COLLECTIVE_H

#include <hocket/array.h>

HK_BEGIN_DECLS

typedef enum hk_all_reduce_algorithm {
    HK_ALL_REDUCE_DEFAULT, /* small arrays: one task, or central where devices cannot use each
                              other's memory; others: parts */
    HK_ALL_REDUCE_CENTRAL, /* the first device sums all arrays, and each other copies the sum */
    HK_ALL_REDUCE_PARTS /* each device sums its part of all arrays and writes it to all of them */
} hk_all_reduce_algorithm;

/* Replaces each of n arrays, one per device, by their sum, in place. One shape and dtype (not bool, float16 or bfloat16; complex
 * numbers not on GPUs), no two of them overlapping. The sum of n arrays is that of the first n - n / 2 plus that of the others, so
 * that every array holds the same bytes afterwards, whichever the algorithm. With one array nothing is done.
 *
 * Between GPUs it is NCCL's where that is installed: the same bytes on all of them and on each run,
 * in an order that follows the machine's links. A named algorithm, or
 * hk_runtime_options.cuda_own_sums, has the order above.
 *
 * An input that fails fails all arrays by its record; a list that cannot be reduced fails all arrays.
 * Failure is kept by byte range: parts that had no failed input are summed. */
HK_API void hk_all_reduce(hk_array *const *arrays, int n);
HK_API void hk_all_reduce_by(hk_array *const *arrays, int n, hk_all_reduce_algorithm algorithm);
/* The same of `count` lists: arrays[i * n + d] is array i on device d, borrowed, as above.
 * Gradients are summed in the order in which they are written. Where NCCL sums, as many at once as
 * make up 4 MiB, which then fail together. No array of one list may overlap one of another. A list
 * that cannot be reduced fails its own arrays, and then nothing is summed. Does not wait. */
HK_API void hk_all_reduce_list(hk_array *const *arrays, int n, int count,
                               hk_all_reduce_algorithm algorithm);

/* Splits the first axis of x into n consecutive slices and puts slice i on devices[i] as out[i]: a
 * view of x where x is on that device already, a copy otherwise. shares[i] is the size of slice i,
 * which may be 0; with shares NULL they are samples of a batch: where there is a run of 16 (the
 * last may be shorter) for each of n devices, and n is a power of two, the first half of the runs,
 * or one more, is for the first half of the devices, so that sums over the batch have the same
 * bytes on any such number of them. Else the slices are equal, the first ones longer by one where n
 * does not divide the axis. As shares may differ (100 samples on 4 devices: 32, 32, 32, 4), losses
 * are to be sums, or means times their share: a mean of means would weigh the samples of small
 * shares more. What cannot be split gives n failed arrays. Results belong to the scope, and are
 * recorded for gradients as the slices and copies are. */
HK_API void hk_split_and_load(hk_array *x, const hk_device *devices, int n, const int64_t *shares,
                              hk_array **out);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_VOID(hk_all_reduce, (hk_source at, hk_array *const *arrays, int n), (arrays, n))
#define hk_all_reduce(...) hk_all_reduce_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_all_reduce_list,
           (hk_source at, hk_array *const *arrays, int n, int count,
            hk_all_reduce_algorithm algorithm),
           (arrays, n, count, algorithm))
#define hk_all_reduce_list(...) hk_all_reduce_list_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_all_reduce_by,
           (hk_source at, hk_array *const *arrays, int n, hk_all_reduce_algorithm algorithm),
           (arrays, n, algorithm))
#define hk_all_reduce_by(...) hk_all_reduce_by_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_split_and_load,
           (hk_source at, hk_array *x, const hk_device *devices, int n, const int64_t *shares,
            hk_array **out),
           (x, devices, n, shares, out))
#define hk_split_and_load(...) hk_split_and_load_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
