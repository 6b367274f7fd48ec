/* Within the emulation: the machine, its GPUs and errors.
 *
 * Locks: machine.lock for the tables of handles and memory; then a stream's own. Nobody waits for a stream with one. */
#ifndef HOCKET_TESTS_EMULATED_MACHINE_H
#define HOCKET_TESTS_EMULATED_MACHINE_H

#include "emulated_runtime.h"
#include "emulated_sanitizers.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>

namespace emulated
{

class stream;
struct event;
struct capture;
struct pool;

constexpr int max_gpus = 16;

struct configuration {
    int gpus = 1;
    size_t memory_bytes = size_t{256} << 20;
    uint64_t slow = 0, fail_allocation = 0, lose_at = 0;
    int multiprocessors = 4, capability = 90;
    bool peers = true, driver = true, still = false, times_work = false;
};

struct gpu {
    int index = 0;
    std::atomic<cudaError_t> lost{cudaSuccess}; /* sticky */
    std::atomic<bool> may_access[max_gpus] = {};
    std::atomic<size_t> used_bytes{0}; /* relaxed */
    /* Addresses [base, base + span) of the device, and the place behind them at `offset` bytes from there. */
    char *base = nullptr;
    size_t span = 0;
    ptrdiff_t offset = 0;
    size_t cursor = 0;                /* under machine.lock: where the next hole is looked for */
    stream *default_stream = nullptr; /* the legacy one; made when it is first used */
    std::atomic<bool> has_context{false};
    pool *default_pool = nullptr;
};

struct allocation {
    size_t bytes = 0;
    int gpu = 0;            /* -1: pinned memory of the host */
    bool is_mapped = false; /* pinned: the program's own, registered */
    bool is_dying = false;  /* freed, but its stream is not there yet: */
    stream *dying_in = nullptr;
    pool *from = nullptr; /* nullptr: cudaMalloc's */
};

struct machine {
    std::shared_mutex lock;
    configuration setting;
    gpu gpus[max_gpus];
    std::map<const char *, allocation> memory;
    std::set<stream *> streams;
    std::set<event *> events;
    std::set<capture *> captures; /* going on */
    std::set<pool *> pools;
    std::atomic<int> graphs{0};
    std::atomic<int> closing{0}; /* streams that are closed, whose threads have not ended */
    std::atomic<uint64_t> stream_ids{0}, pageable_copies{0};
    std::mutex moving; /* while a stream moves bytes of pageable memory; of who loses a GPU */
    /* Relaxed: they order nothing. */
    std::atomic<uint64_t> allocations_asked{0}, kernels{0}, copies{0}, synchronisations{0},
        allocations{0}, returns{0}, trims{0}, records{0}, queries{0};
    /* What every call gives: cudaErrorInitializationError in the child of a fork, whose streams have no threads;
     * cudaErrorCudartUnloading once what was registered after the first call has been called at exit. */
    std::atomic<cudaError_t> gone{cudaSuccess};
    std::thread::id exiting; /* which has called that; written before */
};

/* Whether it is. Stops where the thread that exits calls CUDA after it has ended. */
bool is_gone();

/* Counts that order nothing. */
template <typename T, typename D> T add(std::atomic<T> &count, D difference)
{
    return count.fetch_add(static_cast<T>(difference), std::memory_order_relaxed) +
           static_cast<T>(difference);
}

/* The one machine; made at the first call and never destroyed, because streams' threads outlive main. */
machine &the_machine();

/* ---- Errors. What a function returns goes through fail(): it is kept for cudaGetLastError. */
cudaError_t fail(cudaError_t error);
/* Of calls that need a device: that of a fork, of a lost GPU (of `which`, or the current one), or success. */
cudaError_t usable(const gpu *which = nullptr);
gpu &current_gpu();
int current_device();
/* The calling thread has a context, that of its current GPU: CUDA makes one where there is none. */
void have_context();

/* From a stream's thread: every later call for that GPU gives `error`. */
void lose(gpu &which, cudaError_t error);

/* Hold machine.lock, of which the thread sanitizer sees nothing. */
class reading
{
    unseen hidden_;
    std::shared_lock<std::shared_mutex> hold_{the_machine().lock};
};
class writing
{
    unseen hidden_;
    std::unique_lock<std::shared_mutex> hold_{the_machine().lock};
};

/* Marks a thread that runs a host function, which may call nothing of CUDA. */
void set_in_callback(bool is_in);

[[noreturn]] __attribute__((format(printf, 1, 2))) void stop(const char *format, ...);

} // namespace emulated

#endif
