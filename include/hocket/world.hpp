/* Processes that compute together: see hocket/world.h. */
#ifndef HOCKET_WORLD_HPP
#define HOCKET_WORLD_HPP

#include <hocket/array.hpp>
#include <hocket/kernel.hpp>
#include <hocket/owners.h>
#include <hocket/split.h>
#include <hocket/world.h>

namespace hk
{

struct world_options {
    HKI_OPTION(world_options, const char *, mode)
    HKI_OPTION(world_options, double, timeout)
    HKI_OPTION(world_options, double, patience)
    HKI_OPTION(world_options, const char *, sum)
    HKI_OPTION(world_options, const char *, route)
    hk_world_options to_c() const noexcept
    {
        return {mode, timeout, patience, sum, route};
    }
};

/* Blocks until all ranks have called it; optional. */
inline status world_init(const world_options &options = {}) noexcept
{
    const hk_world_options c = options.to_c();
    return status(hk_world_init(&c));
}
inline void world_deinit() noexcept
{
    hk_world_deinit();
}
inline int world_rank() noexcept
{
    return hk_world_rank();
}
inline int world_size() noexcept
{
    return hk_world_size();
}
inline const char *world_library() noexcept
{
    return hk_world_library();
}

/* Ranks that do things together; {}: all of them. A value that refers to a group, which lives as long as the process. */
class group
{
  public:
    group() noexcept : handle_(hk_group_world()) {}
    explicit group(hk_group *handle) noexcept : handle_(handle) {}
    hk_group *get() const noexcept
    {
        return handle_;
    }
    hk::status status() const noexcept
    {
        return hk::status(hk_group_status(handle_));
    }
    int rank() const noexcept
    {
        return hk_group_rank(handle_);
    }
    int size() const noexcept
    {
        return hk_group_size(handle_);
    }
    /* Those with one colour, in the order of their keys. Blocks until all ranks have called it. */
    group split(int color, int key = 0) const noexcept
    {
        return group(hk_group_split(handle_, color, key));
    }

    /* In place. Array i on device d is list[i * devices + d]; one that is left over is refused. */
    void all_reduce(const arrays &list, int devices = 1, size_t bucket_bytes = 0,
                    hk_source at = here()) const noexcept
    {
        hk_group_all_reduce_at(at, handle_, list.data(), devices, count_of(list, devices),
                               bucket_bytes);
    }
    void broadcast(const arrays &list, int root = 0, int devices = 1,
                   hk_source at = here()) const noexcept
    {
        hk_group_broadcast_at(at, handle_, list.data(), devices, count_of(list, devices), root);
    }

    array sum(const array &x, hk_source at = here()) const noexcept
    {
        return array::take(hk_group_sum_at(at, handle_, x.get()));
    }
    array reduce_scatter(const array &x, hk_source at = here()) const noexcept
    {
        return array::take(hk_group_reduce_scatter_at(at, handle_, x.get()));
    }
    array all_gather(const array &x, hk_source at = here()) const noexcept
    {
        return array::take(hk_group_all_gather_at(at, handle_, x.get()));
    }
    array all_to_all(const array &x, hk_source at = here()) const noexcept
    {
        return array::take(hk_group_all_to_all_at(at, handle_, x.get()));
    }
    /* Of ranks that all compute what is before and behind a split layer: see hk_group_share. */
    array share(const array &x, hk_source at = here()) const noexcept
    {
        return array::take(hk_group_share_at(at, handle_, x.get()));
    }
    array join(const array &part, hk_source at = here()) const noexcept
    {
        return array::take(hk_group_join_at(at, handle_, part.get()));
    }
    array send(const array &x, int to, hk_source at = here()) const noexcept
    {
        return array::take(hk_group_send_at(at, handle_, x.get(), to));
    }
    array receive(const shape &shape, hk_dtype dtype, int from, const device &device = {},
                  hk_source at = here()) const noexcept
    {
        return array::take(hk_group_receive_at(at, handle_, shape, dtype, device, from));
    }
    /* Comes when all ranks have called it. */
    array barrier(hk_source at = here()) const noexcept
    {
        return array::take(hk_group_barrier_at(at, handle_));
    }

  private:
    static int count_of(const arrays &list, int devices) noexcept
    {
        return devices > 0 && list.count() % devices == 0 ? list.count() / devices : -1;
    }
    hk_group *handle_;
};

/* One program on many ranks, by its calls: see hocket/owners.h. Moves; a call is made where here()
 * says so. */
class owners
{
  public:
    explicit owners(const group &of = {}) noexcept : handle_(hk_owners_create(of.get())) {}
    owners(owners &&other) noexcept : handle_(other.handle_)
    {
        other.handle_ = nullptr;
    }
    owners &operator=(owners &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~owners()
    {
        hk_owners_release(handle_);
    }
    array zeros(int owner, const shape &shape, hk_dtype dtype = HK_F32, const device &device = {},
                hk_source at = hk::here()) const noexcept
    {
        return array::take(hk_owners_zeros_at(at, handle_, owner, shape, dtype, device));
    }
    bool here(std::initializer_list<hk_access> accesses, hk_source at = hk::here()) const noexcept
    {
        return hk_owners_here_at(at, handle_, accesses.begin(), static_cast<int>(accesses.size()));
    }
    bool at(int rank, std::initializer_list<hk_access> accesses,
            hk_source at = hk::here()) const noexcept
    {
        return hk_owners_at_at(at, handle_, rank, accesses.begin(),
                               static_cast<int>(accesses.size()));
    }

  private:
    hk_owners *handle_;
};

} // namespace hk

#endif
