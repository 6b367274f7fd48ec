/* Copies. Both sides are looked at when a copy is issued; the bytes move when its stream gets there. */
#include "emulated_memory.h"
#include "emulated_stream.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace emulated
{

namespace
{

/* Whether a side of a copy can be what the direction says. */
bool is_allowed(const location &side, bool may_be_host, bool may_be_device)
{
    if (side.where == place::wild || !side.is_whole)
        return false;
    return side.where == place::device ? may_be_device : may_be_host;
}

cudaError_t check(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    bool to_host = kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice;
    bool from_host = kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice;
    bool to_device = kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyHostToHost;
    bool from_device = kind != cudaMemcpyHostToDevice && kind != cudaMemcpyHostToHost;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (!to || !from || !is_allowed(find(to, bytes), to_host, to_device) ||
        !is_allowed(find(from, bytes), from_host, from_device))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* The bytes as they are now, kept for later. */
std::shared_ptr<const std::vector<char>> snapshot(const void *from, size_t bytes)
{
    const char *first = static_cast<const char *>(from);
    return std::make_shared<const std::vector<char>>(first, first + bytes);
}

/* Memory of the host that is not pinned is read at once, or when the stream gets there; and what is to be there has come
 * when the call returns, or later. CUDA does all of that, by size and system: here every second time. */
cudaError_t copy_pageable(stream &in, void *to, const void *from, size_t bytes, bool is_read)
{
    const bool is_early = add(the_machine().pageable_copies, 1) % 2 == 0 && !in.captured;
    if (is_early && is_read)
        return submit(in, {entry::work, "cudaMemcpy", [to, held = snapshot(from, bytes)] {
                               memcpy(to, held->data(), held->size());
                           }});
    /* Nothing of the host's is touched any more once a call has told that the GPU is lost. */
    cudaError_t error = submit(in, {entry::work, "cudaMemcpy", [to, from, bytes, &its = in.device] {
                                        std::lock_guard<std::mutex> hold(the_machine().moving);
                                        if (its.lost == cudaSuccess)
                                            memmove(to, from, bytes);
                                    }});
    return is_early && error == cudaSuccess ? wait_for_stream(in) : error;
}

/* What has been issued in the default stream is done when it returns. */
cudaError_t finish(cudaError_t error)
{
    return error != cudaSuccess ? error : wait_for_stream(*find_stream(nullptr));
}

} // namespace

} // namespace emulated

using namespace emulated;

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess || !bytes)
        return error;
    error = check(to, from, bytes, kind);
    if (error != cudaSuccess)
        return fail(error);
    add(the_machine().copies, 1);
    const bool reads_pageable = find(from, bytes).where == place::pageable;
    const bool is_pageable = reads_pageable || find(to, bytes).where == place::pageable;
    to = behind(to);
    from = behind(from);
    if (is_pageable)
        return copy_pageable(*in, to, from, bytes, reads_pageable);
    return submit(*in,
                  {entry::work, "cudaMemcpy", [to, from, bytes] { memmove(to, from, bytes); }});
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return finish(cudaMemcpyAsync(to, from, bytes, kind, nullptr));
}

/* Between GPUs; their access to each other does not matter. */
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t handle)
{
    const configuration &setting = the_machine().setting;
    if (to_device < 0 || to_device >= setting.gpus || from_device < 0 ||
        from_device >= setting.gpus)
        return fail(cudaErrorInvalidDevice);
    if (bytes && (find(to, bytes).gpu != to_device || find(from, bytes).gpu != from_device))
        return fail(cudaErrorInvalidValue);
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, handle);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return finish(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr));
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t handle)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess || !bytes)
        return error;
    location found = find(memory, bytes);
    if ((found.where != place::device && found.where != place::pinned) || !found.is_whole)
        return fail(cudaErrorInvalidValue);
    add(the_machine().copies, 1);
    memory = behind(memory);
    return submit(
        *in, {entry::work, "cudaMemset", [memory, value, bytes] { memset(memory, value, bytes); }});
}

/* What a program's own kernels in tests call, as NVIDIA's driver has it: tests/cuda/cuda_tasks.c. */
extern "C" __attribute__((visibility("default"))) int
hocket_emulated_set_bytes(unsigned long long address, unsigned char value, size_t bytes,
                          void *stream);
extern "C" int hocket_emulated_set_bytes(unsigned long long address, unsigned char value,
                                         size_t bytes, void *stream)
{
    return cudaMemsetAsync(reinterpret_cast<void *>(static_cast<uintptr_t>(address)), value, bytes,
                           static_cast<cudaStream_t>(stream));
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    return finish(cudaMemsetAsync(memory, value, bytes, nullptr));
}
