/* Events: each record is a moment of its own, so that recording one again leaves those who wait for the last alone. */
#include "emulated_pool.h"
#include "emulated_stream.h"

namespace emulated
{

event *find_event(cudaEvent_t handle)
{
    event *known = reinterpret_cast<event *>(handle);
    reading hold;
    return the_machine().events.count(known) ? known : nullptr;
}

namespace
{

/* The moment to wait for; none: it has not been recorded. */
cudaError_t get_moment(const event *which, std::shared_ptr<moment> &last)
{
    cudaError_t error = which ? usable(which->device) : fail(cudaErrorInvalidResourceHandle);
    if (error != cudaSuccess)
        return error;
    unseen hidden;
    if (which->captured)
        return fail(cudaErrorCapturedEvent);
    last = which->last;
    return cudaSuccess;
}

/* A stream that captures, or is made to by a captured event. */
cudaError_t wait_captured(stream &in, event &of)
{
    writing hold;
    if (!of.captured) {
        if (!of.last)
            return cudaSuccess;
        in.captured->is_invalid = true;
        return fail(cudaErrorStreamCaptureIsolation);
    }
    if (of.captured->is_over)
        return fail(cudaErrorCapturedEvent);
    if (in.captured && in.captured != of.captured) {
        in.captured->is_invalid = of.captured->is_invalid = true;
        return fail(cudaErrorStreamCaptureMerge);
    }
    in.captured = of.captured;
    std::vector<size_t> &end = in.captured->ends[&in];
    end.insert(end.end(), of.captured_after.begin(), of.captured_after.end());
    return cudaSuccess;
}

} // namespace

} // namespace emulated

using namespace emulated;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *handle, unsigned flags)
{
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    if (flags & ~unsigned(cudaEventBlockingSync | cudaEventDisableTiming))
        return fail(cudaErrorInvalidValue); /* events between processes are not emulated */
    event *fresh = new event;
    fresh->device = &current_gpu();
    fresh->flags = flags;
    *handle = reinterpret_cast<cudaEvent_t>(fresh);
    writing hold;
    the_machine().events.insert(fresh);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *handle)
{
    return cudaEventCreateWithFlags(handle, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
    event *which = find_event(handle);
    if (!which)
        return fail(cudaErrorInvalidResourceHandle);
    if (is_gone())
        return fail(the_machine().gone);
    cudaError_t error = which->device->lost.load(std::memory_order_acquire);
    writing hold;
    the_machine().events.erase(which);
    delete which;
    return error;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle)
{
    event *which = find_event(handle);
    stream *in;
    cudaError_t error = find_usable(stream_handle, in);
    if (error != cudaSuccess)
        return error;
    if (!which || which->device != &in->device)
        return fail(cudaErrorInvalidResourceHandle);
    if (in->captured) {
        writing hold;
        which->captured = in->captured;
        which->captured_after = in->captured->ends[in];
        return cudaSuccess;
    }
    add(the_machine().records, 1);
    auto next = std::make_shared<moment>();
    {
        unseen hidden;
        which->last = next;
        which->captured.reset();
    }
    return submit(*in, {entry::always, "cudaEventRecord", [next] { next->come(); }});
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t in, unsigned flags)
{
    return flags ? fail(cudaErrorInvalidValue) : cudaEventRecord(handle, in);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t handle, unsigned flags)
{
    event *which = find_event(handle);
    stream *in;
    cudaError_t error = find_usable(stream_handle, in);
    if (error != cudaSuccess)
        return error;
    if (!which)
        return fail(cudaErrorInvalidResourceHandle);
    if (flags)
        return fail(cudaErrorInvalidValue);
    if (in->captured || which->captured)
        return wait_captured(*in, *which);
    std::shared_ptr<moment> last;
    {
        unseen hidden;
        last = which->last;
    }
    if (!last)
        return cudaSuccess;
    return submit(*in, {entry::always, "cudaStreamWaitEvent", [last] { last->wait(); }});
}

cudaError_t cudaEventQuery(cudaEvent_t handle)
{
    event *which = find_event(handle);
    std::shared_ptr<moment> last;
    cudaError_t error = get_moment(which, last);
    if (error != cudaSuccess)
        return error;
    add(the_machine().queries, 1);
    return !last || last->has_come() ? cudaSuccess : fail(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    event *which = find_event(handle);
    std::shared_ptr<moment> last;
    cudaError_t error = get_moment(which, last);
    if (error != cudaSuccess)
        return error;
    add(the_machine().synchronisations, 1);
    if (last)
        last->wait();
    if (which->device)
        release_pools(*which->device);
    return usable(which->device);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin_handle,
                                 cudaEvent_t end_handle)
{
    event *begin = find_event(begin_handle), *end = find_event(end_handle);
    std::shared_ptr<moment> first, last;
    if (!begin || !end || begin->device != end->device ||
        ((begin->flags | end->flags) & cudaEventDisableTiming))
        return fail(cudaErrorInvalidResourceHandle);
    cudaError_t error = get_moment(begin, first);
    if (error == cudaSuccess)
        error = get_moment(end, last);
    if (error != cudaSuccess)
        return error;
    if (!first || !last)
        return fail(cudaErrorInvalidResourceHandle);
    if (!first->has_come() || !last->has_come())
        return fail(cudaErrorNotReady);
    *milliseconds =
        static_cast<float>(static_cast<double>(last->time_ns() - first->time_ns()) / 1e6);
    return cudaSuccess;
}
