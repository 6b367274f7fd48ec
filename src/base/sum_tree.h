/* The order of sums over the samples of a batch. All that adds up samples follows it, so that one device with a batch gives
 * the bytes of 2, 4, 8 … devices of its kind with equal shares of it.
 *
 * A batch is cut into runs of HKI_SUM_RUN samples, the last of which may be shorter. How the samples of a run are added
 * up is each kernel's own business, but it depends on them alone. Then
 *
 *     sum of r runs = sum of the first r - r / 2  +  sum of the other r / 2,        r > 1
 *
 * rounded to the dtype of the result at each +. So the sum over a batch is the sum over its first half plus that over its
 * second half, as all_reduce adds up devices, by the same rule with a device in the place of a run: wherever halves are whole
 * runs, down to the share of a device. Nothing depends on how the work is cut into pieces, since a piece is a part of the
 * tree too.
 *
 * Pairs also round less: an error grows with the logarithm of the number of runs. */
#ifndef HOCKET_BASE_SUM_TREE_H
#define HOCKET_BASE_SUM_TREE_H

#include "base/integer.h"

#include <hocket/base.h>

#include <stdbool.h>

#ifndef HKI_SUM_SAMPLES
#define HKI_SUM_SAMPLES 16 /* what fewer cost: bench/sum_order */
#endif

enum {
    HKI_SUM_RUN = HKI_SUM_SAMPLES,
    HKI_SUM_DEPTH = 64 /* sums that are at work at once, at most: hki_sum_live of any number */
};

static inline int64_t hki_sum_runs(int64_t samples)
{
    return hki_divide_up(samples, HKI_SUM_RUN);
}

/* The first half of so many runs. */
static inline int64_t hki_sum_half(int64_t runs)
{
    return runs - runs / 2;
}

/* ---- shares of devices ------------------------------------------------------------------------------------------- */

/* So many devices can be given parts of the tree, whose sums hki_sum_half of devices adds up again:
 * they are a power of two, and there is a run for each. */
static inline bool hki_sum_can_share(int64_t samples, int64_t devices)
{
    return devices > 0 && (devices & (devices - 1)) == 0 && hki_sum_runs(samples) >= devices;
}

/* How many samples are device i's, of a power of two of them: the runs' halves are for the devices'
 * halves. 0 for some where there are fewer runs than devices. */
int64_t hki_sum_share_of(int64_t samples, int64_t devices, int64_t i);

/* ---- one run after the other ------------------------------------------------------------------------------------- */

/* How many pairs of sums are complete once run number `run` of so many is there: so often the last two sums become one. */
int hki_sum_pairs(int64_t runs, int64_t run);
/* How many sums there are at once, that of the next run included; 1 of one run or none. */
int hki_sum_live(int64_t runs);

/* Adds up arrays of `count` elements of float32, float64, int32 or int64, `live` of which there are: the first at `first`,
 * the others in a row at `rest`, stride_bytes apart. Makes one sum of the last two, `pairs` times; returns how many are
 * left. Integers wrap around. */
int hki_sum_join(hk_dtype dtype, int64_t count, void *first, void *rest, size_t stride_bytes,
                 int live, int pairs);

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* The parts of the tree that have so many runs at most, and no part above them. */
typedef struct hki_sum_cut {
    int64_t samples, runs, most; /* most: runs of a piece, 1 or more */
    int64_t pieces;              /* 1 or more */
} hki_sum_cut;

/* Of so many runs at most; of one where that is none. */
hki_sum_cut hki_sum_cut_by(int64_t samples, int64_t most_runs);
/* The same with the fewest runs a piece that give no more than so many pieces. Cutting to the number of pieces that it
 * gave cuts in the same way. */
hki_sum_cut hki_sum_cut_to(int64_t samples, int64_t most_pieces);
/* The samples of a piece. */
void hki_sum_piece(const hki_sum_cut *cut, int64_t piece, int64_t *begin, int64_t *end);
/* As hki_sum_pairs, where a sum for each piece is there, in their order. */
int hki_sum_piece_pairs(const hki_sum_cut *cut, int64_t piece);
int hki_sum_piece_live(const hki_sum_cut *cut);

/* Makes the first of `pieces` arrays of so many elements the sum of all, by the tree: parts lie stride_bytes apart, and
 * become anything. */
void hki_sum_join_pieces(const hki_sum_cut *cut, hk_dtype dtype, int64_t count, void *parts,
                         size_t stride_bytes);

#endif
