/* Within the emulation: streams and events. */
#ifndef HOCKET_TESTS_EMULATED_STREAM_H
#define HOCKET_TESTS_EMULATED_STREAM_H

#include "emulated_machine.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

namespace emulated
{

/* A moment of a stream: open until the stream has got there. */
class moment
{
  public:
    bool has_come() const
    {
        return come_.load(std::memory_order_acquire);
    }
    void come();
    void wait();
    int64_t time_ns() const
    {
        return time_ns_;
    }

  private:
    std::atomic<bool> come_{false};
    int64_t time_ns_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
};

/* What a stream runs, possibly several times (in graphs). */
struct entry {
    enum kind { work, kernel, host_function, always };
    kind what = work; /* always: also when the GPU is lost */
    const char *name = "";
    std::function<void()> run;
};

struct node {
    entry work;
    std::vector<size_t> after; /* indices of nodes before it */
};

struct graph {
    gpu *device = nullptr;
    std::vector<node> nodes;
};

/* A capture goes on in the streams that have joined it. */
struct capture {
    std::unique_ptr<graph> made;
    stream *origin = nullptr;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    std::thread::id thread; /* that began it */
    std::map<stream *, std::vector<size_t>>
        ends; /* of each stream: what its next node comes after */
    bool is_invalid = false, is_over = false;
};

class stream
{
  public:
    stream(gpu &device, unsigned flags, int priority, uint64_t id);

    gpu &device;
    const unsigned flags;
    const int priority;
    const uint64_t id;
    /* Who waits for all streams of the GPU, and so for this one, which may be destroyed meanwhile. */
    std::atomic<int> awaited{0};
    std::shared_ptr<capture> captured; /* under machine.lock */

    void push(entry work);
    bool is_idle();
    /* What has been pushed before the call has run. */
    void wait_idle();
    /* No more will come: the thread ends, and deletes the stream, when all has run. */
    void close();

  private:
    void run();
    std::unique_ptr<entry> next();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<entry>> entries_;
    uint64_t issued_ = 0;
    std::atomic<uint64_t> done_{0};
    bool is_closed_ = false;
    uint64_t chance_; /* of the thread */
};

struct event {
    gpu *device = nullptr;
    unsigned flags = 0;
    std::shared_ptr<moment> last; /* none: not recorded yet */
    std::shared_ptr<capture> captured;
    std::vector<size_t> captured_after;
};

/* The event behind a handle; NULL: there is none. Takes machine.lock. */
event *find_event(cudaEvent_t handle);
/* The stream behind a handle, 0 being the current GPU's default stream; NULL: there is none. Takes machine.lock. */
stream *find_stream(cudaStream_t handle);
/* The same; what a call for the stream is to return where there is none, or its GPU cannot be used. */
cudaError_t find_usable(cudaStream_t handle, stream *&found);

/* Puts work into the stream, or into the graph that it captures, in order with the default stream; returns what the
 * call is to return. */
cudaError_t submit(stream &to, entry work);

/* What `to` is given next comes after what `from` has been given. */
void join(stream &from, stream &to);
/* Waits, where the stream does not capture. */
cudaError_t wait_for_stream(stream &which);
/* All streams of the GPU. */
void wait_for_gpu(gpu &which);
/* An error when the calling thread captures in a way that forbids calls which are not safe then; captures are invalid
 * after it. */
cudaError_t forbidden_by_capture();

/* Runs the nodes of a graph in an order, by chance, that its edges allow. */
void run_graph(const graph &which, uint64_t &chance);

uint64_t next_chance(uint64_t &state);
int64_t now_ns();
/* Runs one piece of work under the rules of a lost GPU. */
void run_on(gpu &device, const entry &work);

} // namespace emulated

#endif
