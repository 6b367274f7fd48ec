/* How a sum over devices is cut into tasks and copies. It stands in traces too: who reads one can
 * tell which copies belong to one sum, and what sums over more devices would be made of. */
#ifndef HOCKET_BASE_ALL_REDUCE_SIZES_H
#define HOCKET_BASE_ALL_REDUCE_SIZES_H

enum {
    /* Up to this many bytes an array is summed by one task: handing over more costs more than it
     * saves. So it is with copies, whose latency counts. */
    HKI_ALL_REDUCE_SMALL_BYTES = 64 << 10,
    /* Of what is copied to be summed; a copy of fewer is mostly latency. */
    HKI_ALL_REDUCE_CHUNK_BYTES = 4 << 20,
    HKI_ALL_REDUCE_LINE_BYTES = 64 /* parts begin at multiples of this */
};

#endif
