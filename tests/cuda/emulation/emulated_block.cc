#include "emulated_block.h"

#include "emulated_fiber.h"
#include "emulated_machine.h"

#include <cstdint>
#include <memory>
#include <vector>

/* emulated_kernel.h belongs to the sources of kernels, which include cuda_stream.h before. */
#include "device/cuda/cuda_stream.h"
#include "emulation/emulated_kernel.h"

__thread hki_emulated_place hki_emulated_here;

namespace emulated
{

namespace
{

constexpr int lanes_of_warp = 32, most_threads = 1024;

enum class state { ready, at_barrier, in_exchange, done };

class block_runner;

struct block_thread {
    std::unique_ptr<fiber> stack;
    block_runner *runner = nullptr;
    int index = 0;
    uint3 place = {};
    state now = state::done;
    int line = 0; /* where it waits */
    hki_emulated::meeting kind = hki_emulated::meeting::barrier;
    /* Of an exchange: what it brings, for and from whom, and what it gets. */
    unsigned mask = 0;
    int source = 0;
    uint64_t value = 0, received = 0;
};

/* The threads of one block after another; one runner per stream's thread. */
class block_runner
{
  public:
    block_runner() = default;
    ~block_runner()
    {
        unseen hidden;
        threads_.clear();
    }
    void run(const std::function<void()> &body, int threads);
    void barrier(int line);
    uint64_t meet(hki_emulated::meeting kind, int line, unsigned mask, uint64_t value, int source);
    int lane() const
    {
        return running_->index % lanes_of_warp;
    }

  private:
    static void run_thread(void *argument);
    block_thread *next_ready();
    void resume(block_thread &thread, fiber &from);
    void leave();
    bool pass();
    void release_barrier();
    bool exchange_is_complete(const block_thread &last);
    void complete_exchange(const block_thread &last);
    [[noreturn]] void explain_deadlock();

    fiber scheduler_;
    std::vector<std::unique_ptr<block_thread>> threads_; /* grows; kept for later blocks */
    block_thread *all_[most_threads] = {}; /* the same, where the thread sanitizer looks at no vector */
    int thread_count_ = 0, done_count_ = 0, waiting_count_ = 0;
    int passed_ = 0; /* of the threads, in the order of this pass */
    block_thread *running_ = nullptr;
    const std::function<void()> *body_ = nullptr;
    bool is_backwards_ = false;
    /* What they stand for, to the thread sanitizer, is the order that barriers make; two in turn. */
    char beginning_ = 0, end_ = 0, barriers_[2] = {};
    int barrier_turn_ = 0;
};

thread_local struct {
    const char *kernel = nullptr;
    block_runner *runner = nullptr; /* NULL in kernels whose threads do not meet */
} current;

HKI_EMULATED_UNSEEN uint3 place_of_thread(int index)
{
    uint3 size = hki_emulated_here.block_size;
    unsigned i = static_cast<unsigned>(index);
    return {i % size.x, i / size.x % size.y, i / (size.x * size.y)};
}

HKI_EMULATED_UNSEEN void block_runner::run_thread(void *argument)
{
    block_thread *thread = static_cast<block_thread *>(argument);
    block_runner *runner = thread->runner;
    for (;;) {
        heed(&runner->beginning_);
        (*runner->body_)();
        announce(&runner->end_);
        thread->now = state::done;
        runner->done_count_++;
        runner->leave();
    }
}

/* Which goes on next in this pass; NULL: none. */
HKI_EMULATED_UNSEEN block_thread *block_runner::next_ready()
{
    while (passed_ < thread_count_) {
        const int i = passed_++;
        block_thread &thread = *all_[is_backwards_ ? thread_count_ - 1 - i : i];
        if (thread.now == state::ready)
            return &thread;
    }
    return nullptr;
}

HKI_EMULATED_UNSEEN void block_runner::resume(block_thread &thread, fiber &from)
{
    running_ = &thread;
    hki_emulated_here.thread = thread.place;
    from.switch_to(*thread.stack);
}

/* For the next thread, or for pass() where there is none. */
HKI_EMULATED_UNSEEN void block_runner::leave()
{
    fiber &own = *running_->stack;
    if (block_thread *next = next_ready())
        resume(*next, own);
    else
        own.switch_to(scheduler_);
}

/* Runs each thread that can go on, once, one after the other; false when there was none. */
HKI_EMULATED_UNSEEN bool block_runner::pass()
{
    passed_ = 0;
    block_thread *first = next_ready();
    if (first)
        resume(*first, scheduler_);
    running_ = nullptr;
    return first != nullptr;
}

HKI_EMULATED_UNSEEN void block_runner::run(const std::function<void()> &body, int threads)
{
    body_ = &body;
    thread_count_ = threads;
    done_count_ = waiting_count_ = 0;
    while (threads_.size() < size_t(threads)) {
        threads_.push_back(std::make_unique<block_thread>());
        block_thread &thread = *threads_.back();
        thread.runner = this;
        thread.index = int(threads_.size()) - 1;
        all_[thread.index] = &thread;
        thread.stack = std::make_unique<fiber>(run_thread, &thread);
    }
    for (int i = 0; i < threads; i++) {
        all_[i]->now = state::ready;
        all_[i]->place = place_of_thread(i);
    }
    announce(&beginning_);
    while (done_count_ < threads) {
        if (pass())
            continue;
        if (waiting_count_ == threads)
            release_barrier();
        else
            explain_deadlock();
    }
    heed(&end_);
}

HKI_EMULATED_UNSEEN void block_runner::barrier(int line)
{
    block_thread &self = *running_;
    char *order = &barriers_[barrier_turn_];
    announce(order);
    self.now = state::at_barrier;
    self.line = line;
    waiting_count_++;
    leave();
    heed(order);
}

HKI_EMULATED_UNSEEN void block_runner::release_barrier()
{
    for (int i = 1; i < thread_count_; i++)
        if (all_[i]->line != all_[0]->line)
            explain_deadlock();
    for (int i = 0; i < thread_count_; i++)
        all_[i]->now = state::ready;
    waiting_count_ = 0;
    is_backwards_ = !is_backwards_;
    barrier_turn_ = !barrier_turn_;
}

/* Whether all lanes that the mask names have come to the same exchange. */
HKI_EMULATED_UNSEEN bool block_runner::exchange_is_complete(const block_thread &last)
{
    int first = last.index - last.index % lanes_of_warp;
    int latest = first + (is_backwards_ ? __builtin_ctz(last.mask) : 31 - __builtin_clz(last.mask));
    if (latest < thread_count_ && all_[latest]->now != state::in_exchange)
        return false; /* as nearly always, but for the last one */
    for (int i = 0; i < lanes_of_warp; i++) {
        if (!(last.mask >> i & 1))
            continue;
        if (first + i >= thread_count_)
            stop("kernel %s, line %d: the mask 0x%x names lane %d, but the block has %d threads",
                 current.kernel, last.line, last.mask, i, thread_count_);
        const block_thread &other = *all_[first + i];
        if (other.now != state::in_exchange || other.mask != last.mask || other.line != last.line ||
            other.kind != last.kind)
            return false;
    }
    return true;
}

HKI_EMULATED_UNSEEN void block_runner::complete_exchange(const block_thread &last)
{
    int first = last.index - last.index % lanes_of_warp;
    uint64_t votes = 0;
    for (int i = 0; i < lanes_of_warp; i++)
        if (last.mask >> i & 1)
            votes |= (all_[first + i]->value & 1) << i;
    for (int i = 0; i < lanes_of_warp; i++) {
        if (!(last.mask >> i & 1))
            continue;
        block_thread &lane = *all_[first + i];
        if (lane.kind == hki_emulated::meeting::vote)
            lane.received = votes;
        else if (lane.mask >> lane.source & 1)
            lane.received = all_[first + lane.source]->value;
        else
            stop("kernel %s, line %d: lane %d takes the value of lane %d, which the mask 0x%x "
                 "leaves "
                 "out",
                 current.kernel, lane.line, i, lane.source, lane.mask);
        lane.now = state::ready;
    }
}

HKI_EMULATED_UNSEEN uint64_t block_runner::meet(hki_emulated::meeting kind, int line, unsigned mask,
                                                uint64_t value, int source)
{
    block_thread &self = *running_;
    if (!(mask >> lane() & 1))
        stop("kernel %s, line %d: lane %d takes part, but the mask 0x%x leaves it out",
             current.kernel, line, lane(), mask);
    self.kind = kind;
    self.line = line;
    self.mask = mask;
    self.value = value;
    self.source = source;
    self.now = state::in_exchange;
    if (exchange_is_complete(self))
        complete_exchange(self);
    else
        leave();
    return self.received;
}

HKI_EMULATED_UNSEEN void block_runner::explain_deadlock()
{
    const block_thread *first = nullptr, *other = nullptr;
    for (int i = 0; i < thread_count_; i++) {
        const block_thread &thread = *all_[i];
        if (!first && thread.now != state::done)
            first = &thread;
        else if (first && !other &&
                 (thread.now != first->now || thread.line != first->line ||
                  (thread.now == state::in_exchange && thread.mask != first->mask)))
            other = &thread;
    }
    for (int i = 0; !other && i < thread_count_; i++)
        if (all_[i]->now == state::done)
            other = all_[i];
    auto where = [](const block_thread *thread) {
        return !thread                                       ? "nowhere"
               : thread->now == state::done                  ? "has left the kernel"
               : thread->now == state::at_barrier            ? "waits at __syncthreads"
               : thread->kind == hki_emulated::meeting::vote ? "waits in a vote of its warp"
                                                             : "waits in a shuffle of its warp";
    };
    uint3 block = hki_emulated_here.block;
    stop("kernel %s, block (%u, %u, %u): its threads cannot meet: thread %d %s (line %d), thread "
         "%d %s "
         "(line %d)",
         current.kernel, block.x, block.y, block.z, first ? first->index : -1, where(first),
         first ? first->line : 0, other ? other->index : -1, where(other), other ? other->line : 0);
}

block_runner &meeting_runner(const char *what, int line)
{
    if (!current.runner)
        stop("kernel %s, line %d: its threads meet (%s), so it is to be launched by "
             "HKI_LAUNCH_TOGETHER",
             current.kernel ? current.kernel : "(none)", line, what);
    return *current.runner;
}

} // namespace

bool is_launchable(dim3 grid, dim3 block)
{
    return grid.x >= 1 && grid.x <= 0x7fffffffu && grid.y >= 1 && grid.y <= 65535 && grid.z >= 1 &&
           grid.z <= 65535 && block.x >= 1 && block.x <= 1024 && block.y >= 1 && block.y <= 1024 &&
           block.z >= 1 && block.z <= 64 && uint64_t{block.x} * block.y * block.z <= most_threads;
}

void run_kernel(const char *name, dim3 grid, dim3 block, bool is_together,
                const std::function<void()> &body)
{
    static thread_local std::unique_ptr<block_runner> runner;
    if (is_together && !runner)
        runner = std::make_unique<block_runner>();
    int threads = static_cast<int>(block.x * block.y * block.z);
    current = {name, is_together ? runner.get() : nullptr};
    hki_emulated_here.block_size = {block.x, block.y, block.z};
    hki_emulated_here.grid_size = {grid.x, grid.y, grid.z};
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                hki_emulated_here.block = {x, y, z};
                if (is_together) {
                    runner->run(body, threads);
                    continue;
                }
                for (int i = 0; i < threads; i++) {
                    hki_emulated_here.thread = place_of_thread(i);
                    body();
                }
            }
    current = {nullptr, nullptr};
}

const char *running_kernel()
{
    return current.kernel;
}

} // namespace emulated

namespace hki_emulated
{

void barrier(int line)
{
    emulated::meeting_runner("__syncthreads", line).barrier(line);
}

uint64_t exchange(int line, unsigned mask, uint64_t value, int source)
{
    return emulated::meeting_runner("a shuffle", line)
        .meet(meeting::exchange, line, mask, value, source);
}

unsigned vote(int line, unsigned mask, bool is_true)
{
    return static_cast<unsigned>(
        emulated::meeting_runner("a vote", line).meet(meeting::vote, line, mask, is_true, 0));
}

int lane()
{
    return emulated::meeting_runner("a shuffle", 0).lane();
}

} // namespace hki_emulated
