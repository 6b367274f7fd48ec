#include "emulated_fiber.h"

#include "emulated_machine.h"

#include <cstdint>
#include <sys/mman.h>

namespace emulated
{

namespace
{

constexpr size_t page_bytes = 4096;
#if defined(HKI_EMULATED_ASAN) || defined(HKI_EMULATED_TSAN)
constexpr size_t usable_stack_bytes = size_t{256} << 10;
#else
constexpr size_t usable_stack_bytes = size_t{64} << 10;
#endif

} // namespace

#ifndef HKI_EMULATED_UCONTEXT
/* Saves what a callee has to keep, and the stack pointer at *from; goes on where `to` was saved. How floats are rounded is the
 * thread's, which no kernel changes. */
extern "C" void hki_emulated_switch_stacks(void **from, void *to);
asm(R"(
    .text
    .globl hki_emulated_switch_stacks
    .hidden hki_emulated_switch_stacks
    .type hki_emulated_switch_stacks, @function
hki_emulated_switch_stacks:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size hki_emulated_switch_stacks, . - hki_emulated_switch_stacks

    .globl hki_emulated_enter_stack
    .hidden hki_emulated_enter_stack
    .type hki_emulated_enter_stack, @function
hki_emulated_enter_stack:
    movq %r12, %rdi
    callq *%r13
    ud2
    .size hki_emulated_enter_stack, . - hki_emulated_enter_stack
)");
extern "C" void hki_emulated_enter_stack();
#endif

fiber::fiber()
{
#ifdef HKI_EMULATED_TSAN
    tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

fiber::fiber(void (*run)(void *), void *argument) : run_(run), argument_(argument)
{
    stack_bytes_ = usable_stack_bytes + page_bytes;
    void *memory = mmap(nullptr, stack_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page_bytes, PROT_NONE))
        stop("no memory for the stack of a kernel's thread");
    stack_ = static_cast<char *>(memory);
#ifdef HKI_EMULATED_UCONTEXT
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_ + page_bytes;
    context_.uc_stack.ss_size = usable_stack_bytes;
    context_.uc_link = nullptr;
    uintptr_t self = reinterpret_cast<uintptr_t>(this);
    makecontext(&context_, reinterpret_cast<void (*)()>(begin_halves), 2,
                static_cast<unsigned>(self), static_cast<unsigned>(uint64_t{self} >> 32));
#else
    /* As if it had been left in hki_emulated_switch_stacks, to return to hki_emulated_enter_stack. */
    uint64_t *top = reinterpret_cast<uint64_t *>(stack_ + stack_bytes_);
    *--top = 0;
    *--top = 0; /* keeps the stack aligned where enter_stack begins */
    *--top = reinterpret_cast<uint64_t>(&hki_emulated_enter_stack);
    *--top = 0;                                 /* rbp */
    *--top = 0;                                 /* rbx */
    *--top = reinterpret_cast<uint64_t>(this);  /* r12 */
    *--top = reinterpret_cast<uint64_t>(begin); /* r13 */
    *--top = 0;                                 /* r14 */
    *--top = 0;                                 /* r15 */
    stack_pointer_ = top;
#endif
#ifdef HKI_EMULATED_ASAN
    bottom_ = stack_ + page_bytes;
    size_ = usable_stack_bytes;
#endif
#ifdef HKI_EMULATED_TSAN
    tsan_fiber_ = __tsan_create_fiber(0);
    is_owner_ = true;
#endif
}

fiber::~fiber()
{
#ifdef HKI_EMULATED_TSAN
    if (is_owner_)
        __tsan_destroy_fiber(tsan_fiber_);
#endif
    if (stack_)
        munmap(stack_, stack_bytes_);
}

HKI_EMULATED_UNSEEN void fiber::switch_to(fiber &to)
{
    to.came_from_ = this;
#ifdef HKI_EMULATED_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_, to.bottom_, to.size_);
#endif
#ifdef HKI_EMULATED_TSAN
    __tsan_switch_to_fiber(to.tsan_fiber_, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef HKI_EMULATED_UCONTEXT
    swapcontext(&context_, &to.context_);
#else
    hki_emulated_switch_stacks(&stack_pointer_, to.stack_pointer_);
#endif
    arrive();
}

/* On the new stack. */
HKI_EMULATED_UNSEEN void fiber::arrive()
{
#ifdef HKI_EMULATED_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &size);
    if (!came_from_->stack_) { /* the thread's own: known only now */
        came_from_->bottom_ = bottom;
        came_from_->size_ = size;
    }
#endif
}

HKI_EMULATED_UNSEEN void fiber::begin(fiber *self)
{
    self->arrive();
    self->run_(self->argument_);
    stop("a fiber has returned");
}

#ifdef HKI_EMULATED_UCONTEXT
HKI_EMULATED_UNSEEN void fiber::begin_halves(unsigned low, unsigned high)
{
    begin(reinterpret_cast<fiber *>(static_cast<uintptr_t>(uint64_t{high} << 32 | low)));
}
#endif

} // namespace emulated
