#include "emulated_pool.h"

#include <algorithm>

namespace emulated
{

void pool::take(size_t bytes)
{
    used += bytes;
    reserved = std::max(reserved, used);
}

pool *find_pool(cudaMemPool_t handle)
{
    pool *its = reinterpret_cast<pool *>(handle);
    reading hold;
    return the_machine().pools.count(its) ? its : nullptr;
}

void release_pools(const gpu &device)
{
    writing hold;
    for (pool *each : the_machine().pools) {
        size_t kept = std::max(each->used, each->threshold);
        if (each->device != &device || each->reserved <= kept)
            continue;
        each->reserved = kept;
        add(the_machine().returns, 1);
    }
}

} // namespace emulated

using namespace emulated;

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *handle, int device)
{
    if (device < 0 || device >= the_machine().setting.gpus)
        return fail(cudaErrorInvalidDevice);
    *handle = reinterpret_cast<cudaMemPool_t>(the_machine().gpus[device].default_pool);
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *handle, const cudaMemPoolProps *props)
{
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    if (props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice || props->location.id < 0 ||
        props->location.id >= the_machine().setting.gpus)
        return fail(cudaErrorInvalidValue);
    pool *fresh = new pool{&the_machine().gpus[props->location.id]};
    writing hold;
    the_machine().pools.insert(fresh);
    *handle = reinterpret_cast<cudaMemPool_t>(fresh);
    return cudaSuccess;
}

/* What is in use stays so: it is as if it had been taken from nowhere. */
cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle)
{
    pool *its = find_pool(handle);
    if (!its || its == its->device->default_pool)
        return fail(cudaErrorInvalidValue);
    writing hold;
    for (auto &each : the_machine().memory)
        if (each.second.from == its)
            each.second.from = nullptr;
    the_machine().pools.erase(its);
    delete its;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr which, void *value)
{
    pool *its = find_pool(handle);
    if (!its)
        return fail(cudaErrorInvalidValue);
    writing hold;
    if (which == cudaMemPoolAttrReleaseThreshold)
        its->threshold = *static_cast<uint64_t *>(value);
    else if (which == cudaMemPoolReuseAllowInternalDependencies)
        its->waits_for_others = *static_cast<int *>(value) != 0;
    else
        return fail(cudaErrorInvalidValue); /* no other is emulated */
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t kept)
{
    pool *its = find_pool(handle);
    if (!its)
        return fail(cudaErrorInvalidValue);
    writing hold;
    add(the_machine().trims, 1);
    its->reserved = std::min(its->reserved, std::max(its->used, kept));
    return cudaSuccess;
}

/* Access to a pool is access to all of the GPU's memory. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc *list, size_t count)
{
    const pool *its = find_pool(handle);
    if (!its)
        return fail(cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        int device = list[i].location.id;
        if (list[i].location.type != cudaMemLocationTypeDevice || device < 0 ||
            device >= the_machine().setting.gpus || list[i].flags == cudaMemAccessFlagsProtRead)
            return fail(cudaErrorInvalidValue);
        if (device != its->device->index && !the_machine().setting.peers)
            return fail(cudaErrorPeerAccessUnsupported);
        the_machine().gpus[device].may_access[its->device->index] =
            list[i].flags == cudaMemAccessFlagsProtReadWrite;
    }
    return cudaSuccess;
}
