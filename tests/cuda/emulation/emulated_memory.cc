#include "emulated_memory.h"

#include "emulated_pool.h"
#include "emulated_stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace emulated
{

namespace
{

constexpr size_t page_bytes = 4096;
constexpr unsigned char fresh_byte = 0xA5;
/* A GPU has addresses for so many times its memory, because each allocation is given whole pages and one more, and
 * freed ones should not come again at once. */
constexpr size_t memory_span = 6, least_span = size_t{3} << 29, most_span = size_t{64} << 30;
/* The lower half of the first address. In an argument the rest of an address may stand in the gap beside a number; with
 * least_span, which is that of up to 256 MiB a GPU, the default, no number that is likely there makes an address of the
 * two: whole numbers from -2^30 to 2^30, floats of magnitudes from 1e-9 to 8e9. */
constexpr size_t first_address = 0x50000000;

size_t pages_of(size_t bytes)
{
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

char *reserve(size_t bytes)
{
    void *memory =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        stop("no address space for the memory of a GPU");
    return static_cast<char *>(memory);
}

char *reserve_addresses(size_t bytes)
{
    const size_t turn = size_t{1} << 32;
    char *memory = reserve(bytes + turn);
    size_t skipped = (first_address - reinterpret_cast<uintptr_t>(memory)) % turn;
    if (skipped)
        munmap(memory, skipped);
    munmap(memory + skipped + bytes, turn - skipped);
    return memory + skipped;
}

const gpu *gpu_at(const void *data)
{
    const char *address = static_cast<const char *>(data);
    for (const gpu &each : the_machine().gpus)
        if (each.base && address >= each.base && address < each.base + each.span)
            return &each;
    return nullptr;
}

/* A hole for so many bytes and a page that faults behind, looked for where the last one was found; NULL: none. */
char *find_hole(machine &machine, gpu &device, size_t bytes)
{
    size_t needed = pages_of(bytes) + page_bytes;
    for (int round = 0; round < 2; round++) {
        size_t at = round ? 0 : device.cursor;
        auto next = machine.memory.lower_bound(device.base + at);
        while (at + needed <= device.span) {
            bool is_last = next == machine.memory.end() || next->first < device.base ||
                           next->first >= device.base + device.span;
            if (is_last || device.base + at + needed <= next->first) {
                device.cursor = at + needed;
                return device.base + at;
            }
            at = static_cast<size_t>(next->first - device.base) + pages_of(next->second.bytes) +
                 page_bytes;
            ++next;
        }
    }
    return nullptr;
}

/* What the pages hold behind the bytes stays as it was, or somebody has written there. */
void check_tail(const char *place, size_t bytes)
{
    for (size_t i = bytes; i < pages_of(bytes); i++)
        if (static_cast<unsigned char>(place[i]) != fresh_byte)
            stop("memory of a GPU was written at byte %zu of an allocation of %zu", i, bytes);
}

void give_back(gpu &device, char *address, size_t bytes)
{
    char *place = address + device.offset;
    allow_access(place, pages_of(bytes));
    check_tail(place, bytes);
    /* Others who still use it are to be seen by the thread sanitizer, and fault. */
    memset(place, 0xDD, bytes);
    madvise(place, pages_of(bytes), MADV_DONTNEED);
    mprotect(place, pages_of(bytes), PROT_NONE);
    add(device.used_bytes, 0 - bytes);
}

/* NULL after noting why. The bytes are filled by the caller. */
cudaError_t allocate(gpu &device, size_t bytes, void **memory, pool *from = nullptr)
{
    machine &machine = the_machine();
    *memory = nullptr;
    if (!bytes)
        return cudaSuccess;
    if (add(machine.allocations_asked, 1) == machine.setting.fail_allocation)
        return fail(cudaErrorMemoryAllocation);
    if (add(device.used_bytes, bytes) > machine.setting.memory_bytes ||
        bytes > machine.setting.memory_bytes) {
        add(device.used_bytes, 0 - bytes);
        return fail(cudaErrorMemoryAllocation);
    }
    writing hold;
    char *address = find_hole(machine, device, bytes);
    if (!address || mprotect(address + device.offset, pages_of(bytes), PROT_READ | PROT_WRITE)) {
        add(device.used_bytes, 0 - bytes);
        return fail(cudaErrorMemoryAllocation);
    }
    allocation made;
    made.bytes = bytes;
    made.gpu = device.index;
    made.from = from;
    machine.memory[address] = made;
    if (from)
        from->take(bytes);
    add(machine.allocations, 1);
    *memory = address;
    return cudaSuccess;
}

void fill(const gpu &device, void *memory, size_t bytes)
{
    char *place = static_cast<char *>(memory) + device.offset;
    memset(place, fresh_byte, pages_of(bytes));
    forbid_access(place + bytes, pages_of(bytes) - bytes);
}

/* Takes what begins at the address out of the table, or marks it for later; false when nothing does. */
bool take(const void *data, bool is_device, stream *dying_in, allocation &found)
{
    machine &machine = the_machine();
    writing hold;
    auto at = machine.memory.find(static_cast<const char *>(data));
    if (at == machine.memory.end() || (at->second.gpu >= 0) != is_device || at->second.is_dying)
        return false;
    found = at->second;
    if (dying_in) {
        at->second.is_dying = true;
        at->second.dying_in = dying_in;
    } else {
        if (found.from)
            found.from->used -= found.bytes;
        machine.memory.erase(at);
    }
    return true;
}

/* Its stream is there. */
void bury(gpu &device, char *address, const allocation &its)
{
    give_back(device, address, its.bytes);
    writing hold;
    if (its.from && the_machine().pools.count(its.from))
        its.from->used -= its.bytes;
    the_machine().memory.erase(address);
}

} // namespace

location find(const void *data, size_t bytes)
{
    machine &machine = the_machine();
    const char *address = static_cast<const char *>(data);
    location found;
    reading hold;
    auto next = machine.memory.upper_bound(address);
    if (next != machine.memory.begin()) {
        auto at = std::prev(next);
        if (address <= at->first + at->second.bytes &&
            (at->second.gpu >= 0 || address == at->first ||
             address < at->first + at->second.bytes)) {
            found.where = at->second.gpu < 0    ? place::pinned
                          : at->second.is_dying ? place::wild
                                                : place::device;
            found.gpu = at->second.gpu;
            found.is_whole = bytes <= static_cast<size_t>(at->first + at->second.bytes - address);
            return found;
        }
    }
    if (const gpu *owner = gpu_at(data)) {
        found.where = place::wild;
        found.gpu = owner->index;
        found.is_whole = false;
    }
    return found;
}

void *behind(const void *data)
{
    const gpu *owner = gpu_at(data);
    char *address = static_cast<char *>(const_cast<void *>(data));
    return owner ? address + owner->offset : address;
}

void exchange_addresses(void *argument, size_t bytes)
{
    char *word = static_cast<char *>(argument);
    for (size_t at = 0; at + sizeof(void *) <= bytes; at += sizeof(void *)) {
        void *value;
        memcpy(&value, word + at, sizeof value);
        value = behind(value);
        memcpy(word + at, &value, sizeof value);
    }
}

const char *why_unusable(const gpu &which, const void *data)
{
    if (!data)
        return nullptr;
    location found = find(data, 0);
    if (found.where == place::pinned)
        return nullptr;
    if (found.where == place::pageable)
        return "is pageable memory of the host, or none";
    if (found.where == place::wild)
        return "is memory of a GPU that is not allocated";
    if (found.gpu != which.index && !which.may_access[found.gpu])
        return "is memory of another GPU, to which access has not been enabled";
    return nullptr;
}

void wait_for_freed(pool &which, size_t bytes, stream &to)
{
    stream *after = nullptr;
    {
        reading hold;
        for (const auto &each : the_machine().memory)
            if (which.waits_for_others && each.second.from == &which && each.second.is_dying &&
                each.second.bytes >= bytes && each.second.dying_in != &to &&
                the_machine().streams.count(each.second.dying_in))
                after = each.second.dying_in;
    }
    if (after)
        join(*after, to);
}

void prepare_memory(machine &machine)
{
    for (int i = 0; i < machine.setting.gpus; i++) {
        gpu &device = machine.gpus[i];
        size_t span = pages_of(machine.setting.memory_bytes) * memory_span;
        device.span = std::clamp(span, least_span, most_span);
        device.cursor = 0;
        device.base = reserve_addresses(device.span);
        device.offset = reserve(device.span) - device.base;
    }
}

void forget_memory(machine &machine)
{
    for (auto &each : machine.memory) {
        char *address = const_cast<char *>(each.first);
        if (each.second.gpu >= 0)
            give_back(machine.gpus[each.second.gpu], address, each.second.bytes);
        else if (!each.second.is_mapped)
            free(address);
    }
    machine.memory.clear();
    for (gpu &device : machine.gpus)
        if (device.base) {
            munmap(device.base, device.span);
            munmap(device.base + device.offset, device.span);
            device.base = nullptr;
        }
}

} // namespace emulated

using namespace emulated;

bool hki_emulated_is_device_memory(const void *data, size_t bytes)
{
    location found = find(data, bytes);
    return found.where == place::device && found.is_whole;
}

void *hki_emulated_memory(const void *data)
{
    return behind(data);
}

/* ---- Device memory */
cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    cudaError_t error = usable();
    if (error == cudaSuccess)
        error = forbidden_by_capture();
    if (error != cudaSuccess)
        return error;
    error = allocate(current_gpu(), bytes, memory);
    if (*memory)
        fill(current_gpu(), *memory, bytes);
    return error;
}

/* Waits for the GPU, as CUDA does. */
cudaError_t cudaFree(void *memory)
{
    cudaError_t error = usable();
    if (error == cudaSuccess && memory)
        error = forbidden_by_capture();
    if (error != cudaSuccess || !memory)
        return error;
    location found = find(memory, 0);
    if (found.where != place::device)
        return fail(cudaErrorInvalidValue);
    gpu &owner = the_machine().gpus[found.gpu];
    wait_for_gpu(owner);
    allocation taken;
    if (!take(memory, true, nullptr, taken))
        return fail(cudaErrorInvalidValue);
    give_back(owner, static_cast<char *>(memory), taken.bytes);
    return usable();
}

/* The memory has its first bytes when the stream gets there. */
cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t handle)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess)
        return error;
    return cudaMallocFromPoolAsync(
        memory, bytes, reinterpret_cast<cudaMemPool_t>(in->device.default_pool), handle);
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool_handle,
                                    cudaStream_t handle)
{
    stream *in;
    pool *from = find_pool(pool_handle);
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess)
        return error;
    if (!from || from->device != &in->device)
        return fail(cudaErrorInvalidValue);
    if (in->captured) /* nodes of a graph that allocate are not emulated */
        return fail(cudaErrorStreamCaptureUnsupported);
    wait_for_freed(*from, bytes, *in);
    error = allocate(in->device, bytes, memory, from);
    if (error != cudaSuccess || !*memory)
        return error;
    void *fresh = *memory;
    gpu &device = in->device;
    return submit(*in, {entry::always, "cudaMallocAsync",
                        [&device, fresh, bytes] { fill(device, fresh, bytes); }});
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t handle)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess || !memory)
        return error;
    if (in->captured)
        return fail(cudaErrorStreamCaptureUnsupported);
    allocation taken;
    if (!take(memory, true, in, taken))
        return fail(cudaErrorInvalidValue);
    gpu &owner = the_machine().gpus[taken.gpu];
    return submit(*in, {entry::always, "cudaFreeAsync", [&owner, memory, taken] {
                            bury(owner, static_cast<char *>(memory), taken);
                        }});
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    *total_bytes = the_machine().setting.memory_bytes;
    *free_bytes = *total_bytes - current_gpu().used_bytes;
    return cudaSuccess;
}

/* ---- Pinned memory */
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    machine &machine = the_machine();
    *memory = nullptr;
    cudaError_t error = usable();
    if (error == cudaSuccess)
        error = forbidden_by_capture();
    if (error != cudaSuccess)
        return error;
    if (flags & ~unsigned(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
        return fail(cudaErrorInvalidValue);
    if (!bytes)
        return cudaSuccess;
    if (add(machine.allocations_asked, 1) == machine.setting.fail_allocation)
        return fail(cudaErrorMemoryAllocation);
    void *fresh;
    if (posix_memalign(&fresh, page_bytes, bytes))
        return fail(cudaErrorMemoryAllocation);
    memset(fresh, fresh_byte, bytes);
    writing hold;
    machine.memory[static_cast<char *>(fresh)] = {bytes, -1, false};
    add(machine.allocations, 1);
    *memory = fresh;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    return cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}

/* Waits for all GPUs: any may be copying from or to it. */
cudaError_t cudaFreeHost(void *memory)
{
    cudaError_t error = usable();
    if (error == cudaSuccess && memory)
        error = forbidden_by_capture();
    if (error != cudaSuccess || !memory)
        return error;
    for (gpu &each : the_machine().gpus)
        wait_for_gpu(each);
    allocation taken;
    if (!take(memory, false, nullptr, taken) || taken.is_mapped)
        return fail(cudaErrorInvalidValue);
    free(memory);
    return usable();
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned)
{
    machine &machine = the_machine();
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    if (!memory || !bytes)
        return fail(cudaErrorInvalidValue);
    if (find(memory, 0).where != place::pageable)
        return fail(cudaErrorHostMemoryAlreadyRegistered);
    writing hold;
    machine.memory[static_cast<char *>(memory)] = {bytes, -1, true};
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    for (gpu &each : the_machine().gpus)
        wait_for_gpu(each);
    allocation taken;
    return take(memory, false, nullptr, taken) ? usable() : fail(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned)
{
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    *device = host;
    return find(host, 0).where == place::pinned ? cudaSuccess : fail(cudaErrorInvalidValue);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *data)
{
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    location found = find(data, 0);
    memset(attributes, 0, sizeof *attributes);
    attributes->device = found.where == place::device ? found.gpu : current_device();
    attributes->type = found.where == place::device   ? cudaMemoryTypeDevice
                       : found.where == place::pinned ? cudaMemoryTypeHost
                                                      : cudaMemoryTypeUnregistered;
    void *same = const_cast<void *>(data);
    attributes->devicePointer = attributes->type == cudaMemoryTypeUnregistered ? nullptr : same;
    attributes->hostPointer = attributes->type == cudaMemoryTypeDevice ? nullptr : same;
    return cudaSuccess;
}
