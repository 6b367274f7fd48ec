/* Within the plug-in: sorting, in C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_SORT_H
#define HOCKET_OP_CUDA_SORT_H

#include "device/cuda/cuda_stream.h"

#include <hocket/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is sorted: by key, and by number where keys are equal. No two of a line are the same in both. */
typedef struct hki_cuda_item {
    unsigned long long key;
    long long number;
} hki_cuda_item;

/* Each of `lines` lines of `size` items, both at least 1. `spare` has as much room as `items`; returns that of the two where
 * the sorted ones are. Work grows as size * log(size). */
hki_cuda_item *hki_cuda_sort_items(hki_cuda_stream *stream, hki_cuda_item *items,
                                   hki_cuda_item *spare, int64_t lines, int64_t size);

/* ---- lines of elements: line i begins at i / inner * size * inner + i % inner, its elements are `inner` apart */
typedef struct hki_cuda_lines {
    int64_t size, inner, count; /* all at least 1 */
    bool falls;                 /* the largest first; a NaN is larger than all numbers */
} hki_cuda_lines;

/* items[line][j] becomes element j of a line, its number j. */
void hki_cuda_launch_items(hki_cuda_stream *stream, const hki_cuda_lines *lines, hk_dtype dtype,
                           const void *x, hki_cuda_item *items);
/* The first `kept` items of each line: where they were to indices, the elements themselves to y; y NULL: not those. Both are
 * lines of `kept` elements. */
void hki_cuda_launch_sorted(hki_cuda_stream *stream, const hki_cuda_lines *lines, int item_bytes,
                            const void *x, const hki_cuda_item *items, int64_t kept, void *y,
                            int64_t *indices);
/* Whether lines of this dtype are sorted without items: as both of the above, and the sort in between. */
bool hki_cuda_is_short(const hki_cuda_lines *lines, hk_dtype dtype);
void hki_cuda_launch_short(hki_cuda_stream *stream, const hki_cuda_lines *lines, hk_dtype dtype,
                           const void *x, int64_t kept, void *y, int64_t *indices);
/* y becomes, where the indices of sorted lines say, the elements of x; item_bytes: 4 or 8. */
void hki_cuda_launch_unsorted(hki_cuda_stream *stream, const hki_cuda_lines *lines, int item_bytes,
                              const void *x, const int64_t *indices, void *y);
/* places[i]: how many of `count` sorted elements come before element i of x; right: or are equal to it. */
void hki_cuda_launch_search(hki_cuda_stream *stream, hk_dtype dtype, const void *sorted,
                            int64_t count, const void *x, int64_t size, bool right,
                            int64_t *places);

#ifdef __cplusplus
}
#endif

#endif
