/* Networks split over devices and ranks: see hocket/split.h. Pipelines, and batch norm of parts, are functions of the C ABI. */
#ifndef HOCKET_SPLIT_HPP
#define HOCKET_SPLIT_HPP

#include <hocket/data.hpp>
#include <hocket/split.h>
#include <hocket/world.hpp>

namespace hk
{

namespace detail
{
/* Results of a call of the C ABI, one for each device; `call` writes that many handles. */
template <class F> std::vector<array> results_of(size_t count, F call)
{
    std::vector<array> results(count);
    call(reinterpret_cast<hk_array **>(results.data()));
    for (array &result : results)
        hk_take(result.get());
    return results;
}
} // namespace detail

/* x on each device; the gradient is the sum of theirs. */
inline std::vector<array> devices_share(const array &x, const std::vector<device> &devices,
                                        hk_source at = here())
{
    return detail::results_of(devices.size(), [&](hk_array **out) {
        hk_devices_share_at(at, x.get(), reinterpret_cast<const hk_device *>(devices.data()),
                            static_cast<int>(devices.size()), out);
    });
}
/* The sum of parts on a device, that of the first unless one is named. */
inline array devices_join(const arrays &parts, const device &on = hk_device{nullptr},
                          hk_source at = here()) noexcept
{
    return array::take(hk_devices_join_at(at, parts.data(), parts.count(), on));
}
inline std::vector<array> devices_sum(const arrays &xs, hk_source at = here())
{
    return detail::results_of(static_cast<size_t>(xs.count()), [&](hk_array **out) {
        hk_devices_sum_at(at, xs.data(), xs.count(), out);
    });
}
inline std::vector<array> devices_all_gather(const arrays &xs, int axis = 0, hk_source at = here())
{
    return detail::results_of(static_cast<size_t>(xs.count()), [&](hk_array **out) {
        hk_devices_all_gather_at(at, xs.data(), xs.count(), axis, out);
    });
}
inline std::vector<array> devices_reduce_scatter(const arrays &xs, int axis = 0,
                                                 hk_source at = here())
{
    return detail::results_of(static_cast<size_t>(xs.count()), [&](hk_array **out) {
        hk_devices_reduce_scatter_at(at, xs.data(), xs.count(), axis, out);
    });
}

} // namespace hk

#endif
