#include "emulated_stream.h"

#include "emulated_block.h"
#include "emulated_memory.h"
#include "emulated_pool.h"

#include <cstdio>
#include <cstring>
#include <ctime>

#include "device/cuda/cuda_stream.h"
#include "emulation/emulated_kernel.h"

namespace emulated
{

int64_t now_ns()
{
    timespec time;
    clock_gettime(the_machine().setting.times_work ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC,
                  &time);
    return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

uint64_t next_chance(uint64_t &state)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* ---- Moments */
void moment::come()
{
    time_ns_ = now_ns();
    come_.store(true, std::memory_order_release);
    unseen hidden;
    std::lock_guard<std::mutex> hold(mutex_);
    changed_.notify_all();
}

void moment::wait()
{
    {
        unseen hidden;
        std::unique_lock<std::mutex> hold(mutex_);
        changed_.wait(hold, [this] { return come_.load(std::memory_order_relaxed); });
    }
    (void)has_come(); /* the order of what came before it */
}

/* ---- Streams */
stream::stream(gpu &device_, unsigned flags_, int priority_, uint64_t id_)
    : device(device_), flags(flags_), priority(priority_), id(id_),
      chance_((the_machine().setting.slow + 1) * 0x9E3779B97F4A7C15u + id_)
{
    std::thread([this] { run(); }).detach();
}

void stream::push(entry work)
{
    auto fresh = std::make_unique<entry>(std::move(work));
    announce(fresh.get());
    unseen hidden;
    std::lock_guard<std::mutex> hold(mutex_);
    entries_.push_back(std::move(fresh));
    issued_++;
    changed_.notify_all();
}

bool stream::is_idle()
{
    uint64_t done = done_.load(std::memory_order_acquire);
    unseen hidden;
    std::lock_guard<std::mutex> hold(mutex_);
    return done == issued_;
}

void stream::wait_idle()
{
    {
        unseen hidden;
        std::unique_lock<std::mutex> hold(mutex_);
        uint64_t issued = issued_;
        changed_.wait(hold, [this, issued] { return done_ >= issued; });
    }
    (void)done_.load(std::memory_order_acquire);
}

void stream::close()
{
    the_machine().closing.fetch_add(1, std::memory_order_relaxed);
    unseen hidden;
    std::lock_guard<std::mutex> hold(mutex_);
    is_closed_ = true;
    changed_.notify_all();
}

/* Waits for one; NULL: no more will come. */
std::unique_ptr<entry> stream::next()
{
    unseen hidden;
    std::unique_lock<std::mutex> hold(mutex_);
    changed_.wait(hold, [this] { return is_closed_ || !entries_.empty(); });
    if (entries_.empty())
        return nullptr;
    std::unique_ptr<entry> first = std::move(entries_.front());
    entries_.pop_front();
    return first;
}

void stream::run()
{
    const bool is_slow = the_machine().setting.slow != 0;
    while (std::unique_ptr<entry> work = next()) {
        heed(work.get());
        if (is_slow) {
            timespec pause = {0, static_cast<long>(next_chance(chance_) % 50000)};
            nanosleep(&pause, nullptr);
        }
        run_on(device, *work);
        {
            unseen hidden; /* what it holds is shared with others by count */
            work.reset();
        }
        done_.fetch_add(1, std::memory_order_release);
        unseen hidden;
        std::lock_guard<std::mutex> hold(mutex_);
        changed_.notify_all();
    }
    while (awaited.load(std::memory_order_acquire) > 0)
        std::this_thread::yield();
    {
        unseen hidden;
        delete this;
    }
    the_machine().closing.fetch_sub(1, std::memory_order_release);
}

void run_on(gpu &device, const entry &work)
{
    machine &machine = the_machine();
    if (work.what == entry::kernel && add(machine.kernels, 1) == machine.setting.lose_at)
        lose(device, cudaErrorIllegalAddress);
    if (work.what == entry::kernel && machine.setting.still)
        return;
    if (work.what != entry::always && device.lost.load(std::memory_order_relaxed) != cudaSuccess)
        return;
    set_in_callback(work.what == entry::host_function);
    work.run();
    set_in_callback(false);
}

/* ---- Putting work into streams */
stream *find_stream(cudaStream_t handle)
{
    machine &machine = the_machine();
    bool is_default = !handle || handle == cudaStreamLegacy;
    {
        reading hold;
        stream *known =
            is_default ? current_gpu().default_stream : reinterpret_cast<stream *>(handle);
        if (known && machine.streams.count(known))
            return known;
    }
    if (!is_default || !machine.setting.gpus || !machine.setting.driver)
        return nullptr;
    stream *fresh = new stream(current_gpu(), cudaStreamDefault, 0, add(machine.stream_ids, 1));
    writing hold;
    if (current_gpu().default_stream)
        fresh->close();
    else
        machine.streams.insert(current_gpu().default_stream = fresh);
    return current_gpu().default_stream;
}

cudaError_t find_usable(cudaStream_t handle, stream *&found)
{
    found = find_stream(handle);
    return found ? usable(&found->device) : fail(cudaErrorInvalidResourceHandle);
}

void join(stream &from, stream &to)
{
    auto reached = std::make_shared<moment>();
    from.push({entry::always, "join", [reached] { reached->come(); }});
    to.push({entry::always, "join", [reached] { reached->wait(); }});
}

namespace
{

/* The legacy default stream and those that were not made cudaStreamNonBlocking take turns. */
cudaError_t take_turns(stream &to)
{
    machine &machine = the_machine();
    stream *common = to.device.default_stream;
    if (to.flags & cudaStreamNonBlocking || !common)
        return cudaSuccess;
    if (&to != common) {
        if (!common->is_idle())
            join(*common, to);
        return cudaSuccess;
    }
    std::vector<stream *> others;
    {
        reading hold;
        for (stream *each : machine.streams)
            if (each != &to && &each->device == &to.device &&
                !(each->flags & cudaStreamNonBlocking))
                others.push_back(each);
    }
    for (stream *each : others) {
        if (each->captured) {
            each->captured->is_invalid = true;
            return fail(cudaErrorStreamCaptureImplicit);
        }
        if (!each->is_idle())
            join(*each, to);
    }
    return cudaSuccess;
}

cudaError_t submit_captured(capture &in, stream &to, entry work)
{
    writing hold;
    if (in.is_invalid)
        return fail(cudaErrorStreamCaptureInvalidated);
    in.made->nodes.push_back({std::move(work), in.ends[&to]});
    in.ends[&to] = {in.made->nodes.size() - 1};
    return cudaSuccess;
}

} // namespace

cudaError_t submit(stream &to, entry work)
{
    if (to.captured)
        return submit_captured(*to.captured, to, std::move(work));
    if (the_machine().setting.still) {
        run_on(to.device, work);
        return cudaSuccess;
    }
    cudaError_t error = take_turns(to);
    if (error == cudaSuccess)
        to.push(std::move(work));
    return error;
}

cudaError_t wait_for_stream(stream &which)
{
    if (which.captured) {
        which.captured->is_invalid = true;
        return fail(cudaErrorStreamCaptureUnsupported);
    }
    cudaError_t error = take_turns(which);
    if (error != cudaSuccess)
        return error;
    add(the_machine().synchronisations, 1);
    which.wait_idle();
    release_pools(which.device);
    return usable(&which.device);
}

void wait_for_gpu(gpu &which)
{
    std::vector<stream *> streams;
    {
        reading hold;
        for (stream *each : the_machine().streams)
            if (&each->device == &which) {
                each->awaited.fetch_add(1, std::memory_order_relaxed);
                streams.push_back(each);
            }
    }
    add(the_machine().synchronisations, 1);
    for (stream *each : streams) {
        each->wait_idle();
        each->awaited.fetch_sub(1, std::memory_order_release);
    }
}

} // namespace emulated

using namespace emulated;

/* ---- Kernels */
namespace hki_emulated
{

cudaError_t enqueue_kernel(cudaStream_t handle, dim3 grid, dim3 block, bool is_together,
                           const char *name, std::function<void()> body)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess)
        return error;
    if (&in->device != &current_gpu())
        return fail(cudaErrorInvalidResourceHandle);
    if (!is_launchable(grid, block))
        return fail(cudaErrorInvalidConfiguration);
    return submit(*in, {entry::kernel, name, [=, body = std::move(body)] {
                            run_kernel(name, grid, block, is_together, body);
                        }});
}

bool is_nothing()
{
    machine &machine = the_machine();
    if (!machine.setting.still)
        return false;
    add(machine.kernels, 1);
    reading hold;
    return machine.captures.empty();
}

bool take_argument(cudaStream_t handle, const char *kernel, int index, void *argument, size_t bytes,
                   const void *points_to)
{
    stream *in = find_stream(handle);
    const char *why = in ? why_unusable(in->device, points_to) : nullptr;
    if (why) {
        fprintf(stderr, "emulated CUDA: kernel %s, argument %d: %p %s\n", kernel, index + 1,
                points_to, why);
        return false;
    }
    exchange_addresses(argument, bytes);
    return true;
}

cudaError_t enqueue_fault(cudaStream_t handle, const char *name)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess)
        return error;
    gpu &device = in->device;
    return submit(*in, {entry::kernel, name, [&device] { lose(device, cudaErrorIllegalAddress); }});
}

} // namespace hki_emulated

cudaError_t hki_emulated_enqueue(cudaStream_t handle, const char *name, hki_emulated_fn run,
                                 const void *argument, size_t bytes)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess)
        return error;
    std::vector<uint64_t> words((bytes + 7) / 8);
    if (bytes)
        memcpy(words.data(), argument, bytes);
    exchange_addresses(words.data(), words.size() * 8);
    return submit(*in, {entry::kernel, name, [run, words] {
                            std::vector<uint64_t> own = words;
                            run(own.data());
                        }});
}

/* ---- Streams */
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *handle, unsigned flags, int priority)
{
    machine &machine = the_machine();
    cudaError_t error = usable();
    if (error != cudaSuccess)
        return error;
    if (flags & ~unsigned(cudaStreamNonBlocking))
        return fail(cudaErrorInvalidValue);
    stream *fresh = new stream(current_gpu(), flags, priority, add(machine.stream_ids, 1));
    writing hold;
    machine.streams.insert(fresh);
    *handle = reinterpret_cast<cudaStream_t>(fresh);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *handle, unsigned flags)
{
    return cudaStreamCreateWithPriority(handle, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *handle)
{
    return cudaStreamCreateWithFlags(handle, cudaStreamDefault);
}

/* What is in it still runs. */
cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    machine &machine = the_machine();
    stream *in = handle && handle != cudaStreamLegacy ? find_stream(handle) : nullptr;
    if (!in)
        return fail(cudaErrorInvalidResourceHandle);
    if (is_gone())
        return fail(machine.gone);
    writing hold;
    if (in->captured)
        in->captured->is_invalid = true;
    machine.streams.erase(in);
    gpu &device = in->device;
    in->close(); /* its thread deletes it */
    return device.lost.load(std::memory_order_acquire);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    return error != cudaSuccess ? error : wait_for_stream(*in);
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess)
        return error;
    if (in->captured) {
        in->captured->is_invalid = true;
        return fail(cudaErrorStreamCaptureUnsupported);
    }
    return in->is_idle() ? usable(&in->device) : fail(cudaErrorNotReady);
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int *priority)
{
    stream *in = find_stream(handle);
    if (!in)
        return fail(cudaErrorInvalidResourceHandle);
    *priority = in->priority;
    return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned *flags)
{
    stream *in = find_stream(handle);
    if (!in)
        return fail(cudaErrorInvalidResourceHandle);
    *flags = in->flags;
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void *argument)
{
    stream *in;
    cudaError_t error = find_usable(handle, in);
    if (error != cudaSuccess)
        return error;
    return submit(*in, {entry::host_function, "cudaLaunchHostFunc",
                        [function, argument] { function(argument); }});
}
