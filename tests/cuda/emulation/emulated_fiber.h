/* Within the emulation: stacks between which one thread switches, in the way that the sanitizers can follow.
 *
 * Fibers are no order to the thread sanitizer: what one writes and another reads needs announce and heed between. */
#ifndef HOCKET_TESTS_EMULATED_FIBER_H
#define HOCKET_TESTS_EMULATED_FIBER_H

#include "emulated_sanitizers.h"

#include <cstddef>
#if !defined(__x86_64__) || defined(HKI_EMULATED_UCONTEXT)
#undef HKI_EMULATED_UCONTEXT
#define HKI_EMULATED_UCONTEXT 1
#include <ucontext.h>
#endif

namespace emulated
{

class fiber
{
  public:
    /* Made of the calling thread: one that can only be switched from and back to. */
    fiber();
    /* With a stack, where `run(argument)` begins when it is first switched to, and does not return. */
    fiber(void (*run)(void *), void *argument);
    ~fiber();
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    /* Leaves `this`, which runs, for `to`; returns when somebody switches back. */
    void switch_to(fiber &to);

  private:
    static void begin(fiber *self);
    void arrive();

    void (*run_)(void *) = nullptr;
    void *argument_ = nullptr;
    char *stack_ = nullptr; /* with a page below that faults */
    size_t stack_bytes_ = 0;
    fiber *came_from_ = nullptr;
#ifdef HKI_EMULATED_UCONTEXT
    ucontext_t context_;
    static void begin_halves(unsigned low, unsigned high);
#else
    void *stack_pointer_ = nullptr;
#endif
#ifdef HKI_EMULATED_ASAN
    const void *bottom_ = nullptr;
    size_t size_ = 0;
    void *fake_stack_ = nullptr;
#endif
#ifdef HKI_EMULATED_TSAN
    void *tsan_fiber_ = nullptr;
    bool is_owner_ = false;
#endif
};

} // namespace emulated

#endif
