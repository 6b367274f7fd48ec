/* Elements chosen by what they are: masks, unique values, counts. Where the shape of a result depends on values, the function
 * blocks: it waits for what it counts, and for nothing else. Then it issues calls as others do. Such a function
 * cannot be part of a captured step, and fails inside a task.
 *
 * Results belong to the innermost scope, else to the caller. What cannot be done gives failed arrays, as everywhere; a failed
 * input fails them by its record. No GPUs yet: there these functions fail as unsupported. */
#ifndef HOCKET_INDEX_H
#define HOCKET_INDEX_H

#include <hocket/array.h>

HK_BEGIN_DECLS

/* ---- masks ------------------------------------------------------------------------------------------- */

/* The entries of x where mask, of bool, holds, in C order: NumPy's x[mask]. The mask has the shape of x's first axes, all of them
 * at most; the result has one axis in their place, and x's others. Blocks for the mask. The gradient of x flows. */
HK_API hk_array *hk_mask_select(hk_array *x, hk_array *mask);

/* In place, in program order: x becomes value where mask holds: NumPy's x[mask] = value, for a value that is broadcast to x. It is
 * converted to x's dtype as by hk_cast. The mask is as in hk_mask_select. Does not block. What cannot be done fails x. Not recorded on the tape. */
HK_API void hk_mask_assign(hk_array *x, hk_array *mask, hk_array *value);

/* Where x is not 0 (a NaN is not): indices[i] gets the places along axis i, as int64 in C order; count is how many axes x has, one at
 * least. Blocks for x. */
HK_API void hk_nonzero(hk_array *x, hk_array **indices, int count);

/* ---- unique values ------------------------------------------------------------------------------------ */

/* The different elements of x, of any shape, in rising order, as one axis. Each NaN is another one, and they are the last; of -0
 * and 0 the first in x stands for both. Blocks for x. The gradient of the values flows to the first of each. */
HK_API hk_array *hk_unique_values(hk_array *x);
/* How often each of them occurs, too, as int64. Pointers may be NULL where a result is not wanted. */
HK_API void hk_unique_counts(hk_array *x, hk_array **values, hk_array **counts);
/* For each element of x, too, the place of its value, as int64 of x's shape. */
HK_API void hk_unique_inverse(hk_array *x, hk_array **values, hk_array **inverse);
/* All of these, and where in x, in C order, each value stands first. */
HK_API void hk_unique_all(hk_array *x, hk_array **values, hk_array **indices, hk_array **inverse,
                          hk_array **counts);

/* ---- counting ------------------------------------------------------------------------------------------ */

/* How often each of 0, 1, … occurs in x, of one axis, of integers, none of them negative: int64 of as many as the largest of them
 * and 1, minlength at least. With weights, of x's shape, which may be NULL: the sums of these, in their dtype and order; their
 * gradient flows. Blocks for x. A negative element gives HK_BAD_DATA. */
HK_API hk_array *hk_bincount(hk_array *x, hk_array *weights, int64_t minlength);

/* ---- boxes ----------------------------------------------------------------------------------- */

typedef struct hk_non_max_suppression_options {
    int64_t most; /* boxes of each sample and class; 0: as many as there are */
    double
        least_score; /* boxes of this score or less are left out; 0: none are, HK_ZERO: those of 0 and less */
    bool is_centered; /* a box is its middle and its sizes, not two corners */
} hk_non_max_suppression_options;
/* Which boxes to keep: from the highest score down, each one that shares no more than `overlap`
 * with any that is kept: the area that both have by the area that either has. Of equal scores
 * the first box comes first, and a NaN is the lowest. boxes (count,4), of floats, are x and y
 * (or y and x) of two opposite corners, scores (count): int64 indices (kept) from the highest
 * score down. Or boxes (n,count,4), scores (n,classes,count): (kept,3), sample, class and box of
 * each, sample by sample and class by class. Computed in double, on the host, wherever they are:
 * GPUs' arrays are copied. options may be NULL. Blocks for both. No gradient. */
HK_API hk_array *hk_non_max_suppression(hk_array *boxes, hk_array *scores, double overlap,
                                        const hk_non_max_suppression_options *options);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_OPTIONS(hk_array *, hk_non_max_suppression, hk_non_max_suppression_options,
              (hk_source at, hk_array *boxes, hk_array *scores, double overlap,
               const hk_non_max_suppression_options *options),
              (boxes, scores, overlap, options))
#define hk_non_max_suppression(...) hk_non_max_suppression_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_mask_select, (hk_source at, hk_array *x, hk_array *mask), (x, mask))
#define hk_mask_select(...) hk_mask_select_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_mask_assign, (hk_source at, hk_array *x, hk_array *mask, hk_array *value),
           (x, mask, value))
#define hk_mask_assign(...) hk_mask_assign_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_nonzero, (hk_source at, hk_array *x, hk_array **indices, int count),
           (x, indices, count))
#define hk_nonzero(...) hk_nonzero_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_unique_values, (hk_source at, hk_array *x), (x))
#define hk_unique_values(...) hk_unique_values_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_unique_counts, (hk_source at, hk_array *x, hk_array **values, hk_array **counts),
           (x, values, counts))
#define hk_unique_counts(...) hk_unique_counts_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_unique_inverse, (hk_source at, hk_array *x, hk_array **values, hk_array **inverse),
           (x, values, inverse))
#define hk_unique_inverse(...) hk_unique_inverse_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_unique_all,
           (hk_source at, hk_array *x, hk_array **values, hk_array **indices, hk_array **inverse,
            hk_array **counts),
           (x, values, indices, inverse, counts))
#define hk_unique_all(...) hk_unique_all_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_bincount, (hk_source at, hk_array *x, hk_array *weights, int64_t minlength),
      (x, weights, minlength))
#define hk_bincount(...) hk_bincount_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
