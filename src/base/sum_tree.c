#include "base/sum_tree.h"

#ifdef HKI_SUM_IN_ORDER /* one run after the other, to measure what pairs cost: bench/sum_order */

int hki_sum_pairs(int64_t runs, int64_t run)
{
    (void)runs;
    return run > 0;
}

int hki_sum_live(int64_t runs)
{
    return runs > 1 ? 2 : 1;
}

#else

int hki_sum_pairs(int64_t runs, int64_t run)
{
    int pairs = 0;
    while (runs > 1) {
        const int64_t half = hki_sum_half(runs);
        pairs += run == runs - 1;
        runs = run < half ? half : runs - half;
        run -= run < half ? 0 : half;
    }
    return pairs;
}

int hki_sum_live(int64_t runs)
{
    int live = 1;
    for (; runs > 1; runs = hki_sum_half(runs))
        live++;
    return live;
}

#endif

int64_t hki_sum_share_of(int64_t samples, int64_t devices, int64_t i)
{
    for (; devices > 1; devices /= 2) {
        const int64_t whole = hki_sum_half(hki_sum_runs(samples)) * HKI_SUM_RUN;
        const int64_t first = whole < samples ? whole : samples;
        const bool is_first = i < devices / 2;
        samples = is_first ? first : samples - first;
        i -= is_first ? 0 : devices / 2;
    }
    return samples;
}

#define ADD(T)                                                                                     \
    for (int64_t i = 0; i < count; i++)                                                            \
        ((T *)to)[i] += ((const T *)from)[i];                                                      \
    break;

static void add(hk_dtype dtype, int64_t count, void *restrict to, const void *restrict from)
{
    switch (dtype) {
    case HK_F32:
        ADD(float)
    case HK_F64:
        ADD(double)
    case HK_I32:
        ADD(uint32_t)
    default:
        ADD(uint64_t)
    }
}

int hki_sum_join(hk_dtype dtype, int64_t count, void *first, void *rest, size_t stride_bytes,
                 int live, int pairs)
{
    for (; pairs > 0; pairs--, live--) {
        char *last = (char *)rest + (size_t)(live - 2) * stride_bytes;
        add(dtype, count, live == 2 ? first : last - stride_bytes, last);
    }
    return live;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Halves of n runs have n / 2 and as many or one more: at each level of the tree there are two sizes, one apart. */
static int64_t count_pieces(int64_t runs, int64_t most)
{
    int64_t small = runs, small_count = 1, large_count = 0, pieces = 0;
    while (small_count + large_count > 0) {
        if (small <= most) {
            pieces += small_count;
            small_count = 0;
        }
        if (small + 1 <= most) {
            pieces += large_count;
            large_count = 0;
        }
        /* of s: s / 2 and the rest; of s + 1 likewise */
        const int64_t half = small / 2;
        const int64_t from_small = small % 2 ? small_count : 2 * small_count;
        const int64_t halves = from_small + (small % 2 ? 0 : large_count);
        large_count = 2 * (small_count + large_count) - halves;
        small_count = halves;
        small = half;
    }
    return pieces;
}

hki_sum_cut hki_sum_cut_by(int64_t samples, int64_t most_runs)
{
    const int64_t runs = hki_max(1, hki_sum_runs(samples)), most = hki_max(1, most_runs);
    return (hki_sum_cut){samples, runs, most, count_pieces(runs, most)};
}

hki_sum_cut hki_sum_cut_to(int64_t samples, int64_t most_pieces)
{
    const int64_t runs = hki_max(1, hki_sum_runs(samples));
    int64_t low = 1, high = runs; /* high is enough */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (count_pieces(runs, middle) <= most_pieces)
            high = middle;
        else
            low = middle + 1;
    }
    return hki_sum_cut_by(samples, low);
}

/* Follows the tree down to a piece: its first run, how many it has, and the pairs that it completes. */
static int64_t find_piece(const hki_sum_cut *cut, int64_t piece, int64_t *runs, int *pairs)
{
    int64_t first = 0, left = cut->pieces;
    *runs = cut->runs;
    *pairs = 0;
    while (*runs > cut->most) {
        const int64_t half = hki_sum_half(*runs), before = count_pieces(half, cut->most);
        *pairs += piece == left - 1;
        if (piece < before) {
            *runs = half;
            left = before;
        } else {
            first += half;
            *runs -= half;
            piece -= before;
            left -= before;
        }
    }
    return first;
}

void hki_sum_piece(const hki_sum_cut *cut, int64_t piece, int64_t *begin, int64_t *end)
{
    int64_t runs;
    int pairs;
    *begin = find_piece(cut, piece, &runs, &pairs) * HKI_SUM_RUN;
    *end = hki_min(*begin + runs * HKI_SUM_RUN, cut->samples);
}

int hki_sum_piece_pairs(const hki_sum_cut *cut, int64_t piece)
{
    int64_t runs;
    int pairs;
    find_piece(cut, piece, &runs, &pairs);
    return pairs;
}

int hki_sum_piece_live(const hki_sum_cut *cut)
{
    int live = 1;
    for (int64_t runs = cut->runs; runs > cut->most; runs = hki_sum_half(runs))
        live++;
    return live;
}

void hki_sum_join_pieces(const hki_sum_cut *cut, hk_dtype dtype, int64_t count, void *parts,
                         size_t stride_bytes)
{
    size_t at[HKI_SUM_DEPTH];
    int live = 0;
    for (int64_t piece = 0; piece < cut->pieces; piece++) {
        at[live++] = (size_t)piece * stride_bytes;
        for (int pairs = hki_sum_piece_pairs(cut, piece); pairs > 0; pairs--, live--)
            add(dtype, count, (char *)parts + at[live - 2], (const char *)parts + at[live - 1]);
    }
}
