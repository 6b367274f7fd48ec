/* A lock that is biased to one thread: nobody else comes in while that one has it, whoever takes the bias away and when. */
#include "tests/check.h"

#include "base/biased_lock.h"
#include "base/sanitizer.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

enum { MANY = 5000 }; /* acquisitions that make a thread the owner */

static hki_biased_lock lock;
static uint64_t counter; /* under the lock */
static _Atomic(bool) stop;
static _Atomic(int) disturbances;
static bool can_bias;

static void count(int times)
{
    for (int i = 0; i < times; i++) {
        hki_biased_acquire(&lock);
        counter++;
        hki_biased_release(&lock);
    }
}

static bool is_biased(void)
{
    return atomic_load(&lock.owner) != 0;
}

/* Counts as often as it is told, alone. */
static void *count_many(void *times)
{
    count(*(const int *)times);
    return NULL;
}

static void in_other_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, function, argument));
    pthread_join(thread, NULL);
}

static void test_owner(void)
{
    count(MANY);
    can_bias = is_biased();
    if (!can_bias)
        puts("no barrier for all threads on this system: locks are not biased");
    count(MANY);
    CHECK(counter == 2 * MANY);
    CHECK(is_biased() == can_bias);
}

/* Another thread takes it once: then nobody is the owner, until one has it often enough again, later than before. */
static void test_revoked(void)
{
    int times = 1;
    in_other_thread(count_many, &times);
    CHECK(counter == 2 * MANY + 1 && !is_biased());
    count(1100);
    CHECK(!is_biased());
    count(MANY);
    CHECK(is_biased() == can_bias);
    CHECK(counter == 3 * MANY + 1101);
}

static void *try_once(void *got)
{
    *(bool *)got = hki_biased_try(&lock);
    if (*(bool *)got)
        hki_biased_release(&lock);
    return NULL;
}

/* A thread may become the owner, and end. */
static void test_owner_ends(void)
{
    int times = 100000;
    in_other_thread(count_many, &times);
    CHECK(is_biased() == can_bias);
    count(1);
    CHECK(counter == 3 * MANY + 1102 + 100000);
}

static void test_try(void)
{
    bool got = false;
    count(200000);
    CHECK(is_biased() == can_bias);
    hki_biased_acquire(&lock);
    in_other_thread(try_once, &got); /* the bias is gone, and the lock still held */
    CHECK(!got && !is_biased());
    in_other_thread(try_once, &got);
    CHECK(!got);
    hki_biased_release(&lock);
    in_other_thread(try_once, &got);
    CHECK(got);
    CHECK(hki_biased_try(&lock));
    hki_biased_release(&lock);
}

static void *disturb(void *own)
{
    uint64_t *mine = own;
    for (uint64_t i = 0; !atomic_load(&stop); i++) {
        struct timespec nap = {0, (long)(i * 7919 % 300000)};
        if (i % 3)
            nanosleep(&nap, NULL);
        if (i % 2) {
            hki_biased_acquire(&lock);
        } else if (!hki_biased_try(&lock)) {
            continue;
        }
        counter++;
        *mine += 1;
        hki_biased_release(&lock);
        atomic_fetch_add(&disturbances, 1);
    }
    return NULL;
}

/* One thread most of the time, two others now and then, at any moment of the first one's work. The lock is a fresh one each
 * time, so that it is biased often. */
static void test_disturbed(void)
{
    enum { ROUNDS = HKI_SANITIZED ? 20 : 100, COUNTS = 20000, MOST_TIMES = 100000 };
    uint64_t revocations = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[2];
        uint64_t others[2] = {0};
        lock = (hki_biased_lock){.by_bias = 0};
        counter = 0;
        atomic_store(&stop, false);
        atomic_store(&disturbances, 0);
        for (int i = 0; i < 2; i++)
            CHECK(!pthread_create(&threads[i], NULL, disturb, &others[i]));
        int times = 0;
        for (; times < 2 || (atomic_load(&disturbances) < 4 && times < MOST_TIMES); times++)
            count(COUNTS);
        atomic_store(&stop, true);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        CHECK(counter == (uint64_t)times * COUNTS + others[0] + others[1]);
        revocations += lock.revocations;
    }
    CHECK(revocations > 0 || !can_bias);
}

/* ---- one thread after the other is the owner --------------------------------------------------------------------- */

/* More threads than may ever be owners. */
static void test_many_owners(void)
{
    enum { THREADS = 2 * HKI_BIAS_PLACES };
    int times = 2 * MANY, owners = 0;
    lock = (hki_biased_lock){.by_bias = 0};
    counter = 0;
    for (int i = 0; i < THREADS; i++) {
        lock.revocations = 0; /* so that it does not take ever longer */
        in_other_thread(count_many, &times);
        owners += is_biased();
    }
    CHECK(counter == (uint64_t)(THREADS * times));
    CHECK(owners == (can_bias ? HKI_BIAS_PLACES : 0));
}

/* ---- held up ----------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__) && !HKI_SANITIZED

enum { STEPS = 40, TRAP_FLAG = 0x100 };
enum { STEPPING, HELD, OVER };

static int hold_at, step; /* instructions of the owner's acquisition */
static _Atomic(int) stage;
static _Atomic(bool) other_has_it, both_have_it;

static void stepped(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (++step < hold_at)
        return;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    int expected = STEPPING;
    if (atomic_compare_exchange_strong(&stage, &expected, HELD))
        while (atomic_load(&stage) == HELD)
            nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
}

static __attribute__((noinline)) void acquire(void)
{
    hki_biased_acquire(&lock);
}

static void *held_up(void *unused)
{
    count(2 * MANY);
    __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(TRAP_FLAG) : "memory", "cc");
    acquire();
    __asm__ volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
    atomic_store(&both_have_it, atomic_load(&other_has_it));
    hki_biased_release(&lock);
    return unused;
}

/* Becomes the owner while the other thread is held up, and has the lock when that one goes on. */
static void *become_owner(void *unused)
{
    while (atomic_load(&stage) == STEPPING)
        nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
    if (hki_biased_try(&lock)) {
        hki_biased_release(&lock);
        count(4 * MANY);
        hki_biased_acquire(&lock);
        atomic_store(&other_has_it, true);
        atomic_store(&stage, OVER);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        atomic_store(&other_has_it, false);
        hki_biased_release(&lock);
    }
    atomic_store(&stage, OVER);
    return unused;
}

/* An owner may stop at any instruction of acquiring, for so long that it finds another one when it goes on. */
static void test_held_up(void)
{
    const struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    for (hold_at = 1; hold_at < STEPS; hold_at++) {
        pthread_t owner, other;
        lock = (hki_biased_lock){.by_bias = 0};
        step = 0;
        atomic_store(&stage, STEPPING);
        atomic_store(&both_have_it, false);
        CHECK(!pthread_create(&other, NULL, become_owner, NULL));
        CHECK(!pthread_create(&owner, NULL, held_up, NULL));
        pthread_join(owner, NULL);
        int expected = STEPPING; /* it took fewer steps */
        atomic_compare_exchange_strong(&stage, &expected, HELD);
        pthread_join(other, NULL);
        if (atomic_load(&both_have_it))
            fprintf(stderr, "held up after %d instructions\n", hold_at);
        CHECK(!atomic_load(&both_have_it));
    }
    signal(SIGTRAP, SIG_DFL);
}

#else

static void test_held_up(void)
{
    puts("threads cannot be held up at each instruction of this build");
}

#endif

int main(void)
{
    hki_biased_lock_prepare();
    test_owner();
    test_revoked();
    test_owner_ends();
    test_try();
    test_disturbed();
    test_many_owners();
    test_held_up();
    return check_result();
}
