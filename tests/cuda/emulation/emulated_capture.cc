/* Streams that capture, and the graphs that come of it. */
#include "emulated_stream.h"

#include <utility>

namespace emulated
{

namespace
{

struct instance {
    std::shared_ptr<graph> made;
    std::shared_ptr<moment> last; /* of the launch before: launches of one instance take turns */
    uint64_t chance = 0x9E3779B97F4A7C15u;
};

/* A capture is over; its streams run again what they are given. Under machine.lock. */
void end(capture &which)
{
    which.is_over = true;
    the_machine().captures.erase(&which);
    std::shared_ptr<capture> keep = which.origin->captured;
    for (auto &each : which.ends)
        if (the_machine().streams.count(each.first))
            each.first->captured.reset();
}

/* Whether all that was captured comes before the end of the stream where it began. */
bool is_joined(const capture &which)
{
    const std::vector<node> &nodes = which.made->nodes;
    std::vector<bool> is_reached(nodes.size());
    std::vector<size_t> open = which.ends.at(which.origin);
    while (!open.empty()) {
        size_t next = open.back();
        open.pop_back();
        if (is_reached[next])
            continue;
        is_reached[next] = true;
        open.insert(open.end(), nodes[next].after.begin(), nodes[next].after.end());
    }
    for (bool each : is_reached)
        if (!each)
            return false;
    return true;
}

} // namespace

cudaError_t forbidden_by_capture()
{
    bool is_forbidden = false;
    writing hold;
    for (capture *each : the_machine().captures)
        if (each->mode == cudaStreamCaptureModeGlobal ||
            (each->mode == cudaStreamCaptureModeThreadLocal &&
             each->thread == std::this_thread::get_id()))
            is_forbidden = each->is_invalid = true;
    return is_forbidden ? fail(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

void run_graph(const graph &which, uint64_t &chance)
{
    std::vector<size_t> waits(which.nodes.size()), ready;
    std::vector<std::vector<size_t>> before(which.nodes.size());
    for (size_t i = 0; i < which.nodes.size(); i++) {
        waits[i] = which.nodes[i].after.size();
        for (size_t each : which.nodes[i].after)
            before[each].push_back(i);
        if (!waits[i])
            ready.push_back(i);
    }
    while (!ready.empty()) {
        size_t at = next_chance(chance) % ready.size(), next = ready[at];
        ready[at] = ready.back();
        ready.pop_back();
        run_on(*which.device, which.nodes[next].work);
        for (size_t each : before[next])
            if (--waits[each] == 0)
                ready.push_back(each);
    }
}

} // namespace emulated

using namespace emulated;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess)
        return error;
    if (in == in->device.default_stream)
        return fail(cudaErrorStreamCaptureUnsupported);
    writing hold;
    if (in->captured)
        return fail(cudaErrorIllegalState);
    auto fresh = std::make_shared<capture>();
    fresh->made = std::make_unique<graph>();
    fresh->made->device = &in->device;
    fresh->origin = in;
    fresh->mode = mode;
    fresh->thread = std::this_thread::get_id();
    fresh->ends[in] = {};
    the_machine().captures.insert(fresh.get());
    in->captured = fresh;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *made)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    *made = nullptr;
    if (error != cudaSuccess)
        return error;
    writing hold;
    std::shared_ptr<capture> which = in->captured;
    if (!which)
        return fail(cudaErrorIllegalState);
    if (which->origin != in) {
        which->is_invalid = true;
        return fail(cudaErrorStreamCaptureUnmatched);
    }
    bool is_joined_again = is_joined(*which);
    end(*which);
    if (which->is_invalid)
        return fail(cudaErrorStreamCaptureInvalidated);
    if (!is_joined_again)
        return fail(cudaErrorStreamCaptureUnjoined);
    add(the_machine().graphs, 1);
    *made = reinterpret_cast<cudaGraph_t>(which->made.release());
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus *status)
{
    stream *in = find_stream(handle);
    if (!in)
        return fail(cudaErrorInvalidResourceHandle);
    reading hold;
    *status = !in->captured              ? cudaStreamCaptureStatusNone
              : in->captured->is_invalid ? cudaStreamCaptureStatusInvalidated
                                         : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t *nodes, size_t *count)
{
    if (nodes)
        return fail(cudaErrorNotSupported); /* only their number is emulated */
    *count = reinterpret_cast<graph *>(handle)->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *handle, cudaGraph_t made, unsigned long long)
{
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    instance *fresh = new instance;
    fresh->made = std::make_shared<graph>(*reinterpret_cast<graph *>(made));
    add(the_machine().graphs, 1);
    *handle = reinterpret_cast<cudaGraphExec_t>(fresh);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t)
{
    return usable();
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle)
{
    stream *in;
    instance *which = reinterpret_cast<instance *>(handle);
    cudaError_t error = find_usable(stream_handle, in);
    if (error != cudaSuccess)
        return error;
    if (!which || which->made->device != &in->device)
        return fail(cudaErrorInvalidResourceHandle);
    if (the_machine().setting.still)
        return cudaSuccess;
    uint64_t chance = next_chance(which->chance);
    /* The launch before is dropped by the thread that waits for it; here the thread sanitizer would see no order. */
    auto next = std::make_shared<moment>(), last = std::exchange(which->last, next);
    auto run = [made = which->made, last = std::move(last), next, chance] {
        uint64_t own_chance = chance;
        if (last)
            last->wait();
        run_graph(*made, own_chance);
        next->come();
    };
    return submit(*in, {entry::always, "cudaGraphLaunch", std::move(run)});
}

/* What has been launched still runs. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle)
{
    {
        unseen hidden; /* the last launch is shared with the stream by count */
        delete reinterpret_cast<instance *>(handle);
    }
    add(the_machine().graphs, -1);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle)
{
    delete reinterpret_cast<graph *>(handle);
    add(the_machine().graphs, -1);
    return cudaSuccess;
}
