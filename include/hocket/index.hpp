/* Elements chosen by what they are, and sums of products: see hocket/index.h and hk_einsum in hocket/call.h. Those whose result is
 * as large as values say block. */
#ifndef HOCKET_INDEX_HPP
#define HOCKET_INDEX_HPP

#include <hocket/array.hpp>

namespace hk
{

/* hk::einsum("ij,jk->ik", {x, y}) */
inline array einsum(const char *subscripts, const arrays &inputs, hk_source at = here()) noexcept
{
    return array::take(hk_einsum_at(at, subscripts, inputs.data(), inputs.count()));
}

/* The entries of x where mask holds. Blocks. */
inline array mask_select(const array &x, const array &mask, hk_source at = here()) noexcept
{
    return array::take(hk_mask_select_at(at, x.get(), mask.get()));
}
/* In place: x becomes value where mask holds. */
inline void mask_assign(const array &x, const array &mask, const array &value,
                        hk_source at = here()) noexcept
{
    hk_mask_assign_at(at, x.get(), mask.get(), value.get());
}
/* For each axis of x the places where it is not 0. Blocks. */
inline std::vector<array> nonzero(const array &x, hk_source at = here())
{
    const int count = x.is_empty() ? 1 : hk_ndim(x.get());
    hk_array *indices[HK_MAX_NDIM + 1];
    hk_nonzero_at(at, x.get(), indices, count);
    std::vector<array> result;
    for (int i = 0; i < count; i++)
        result.push_back(array::take(indices[i]));
    return result;
}

/* The different elements of x, in rising order, and what is known of them. All of these block. */
inline array unique_values(const array &x, hk_source at = here()) noexcept
{
    return array::take(hk_unique_values_at(at, x.get()));
}
struct unique_counts_results {
    array values, counts;
};
inline unique_counts_results unique_counts(const array &x, hk_source at = here()) noexcept
{
    hk_array *values, *counts;
    hk_unique_counts_at(at, x.get(), &values, &counts);
    return {array::take(values), array::take(counts)};
}
struct unique_inverse_results {
    array values, inverse;
};
inline unique_inverse_results unique_inverse(const array &x, hk_source at = here()) noexcept
{
    hk_array *values, *inverse;
    hk_unique_inverse_at(at, x.get(), &values, &inverse);
    return {array::take(values), array::take(inverse)};
}
struct unique_all_results {
    array values, indices, inverse, counts;
};
inline unique_all_results unique_all(const array &x, hk_source at = here()) noexcept
{
    hk_array *values, *indices, *inverse, *counts;
    hk_unique_all_at(at, x.get(), &values, &indices, &inverse, &counts);
    return {array::take(values), array::take(indices), array::take(inverse), array::take(counts)};
}

/* How often each of 0, 1, … is in x, or the sums of its weights. Blocks. */
inline array bincount(const array &x, const array &weights = {}, int64_t minlength = 0,
                      hk_source at = here()) noexcept
{
    return array::take(hk_bincount_at(at, x.get(), weights.get(), minlength));
}

/* Which boxes to keep: indices of (count,4), or (sample, class, box) of (n,count,4). Blocks. */
struct non_max_suppression_options {
    HKI_OPTION(non_max_suppression_options, int64_t, most)
    HKI_OPTION(non_max_suppression_options, double, least_score)
    HKI_OPTION(non_max_suppression_options, bool, is_centered)
};
inline array non_max_suppression(const array &boxes, const array &scores, double overlap,
                                 const non_max_suppression_options &options = {},
                                 hk_source at = here()) noexcept
{
    hk_non_max_suppression_options given = {};
    given.most = options.most;
    given.least_score = options.least_score;
    given.is_centered = options.is_centered;
    return array::take(hk_non_max_suppression_at(at, boxes.get(), scores.get(), overlap, &given));
}

} // namespace hk

#endif
