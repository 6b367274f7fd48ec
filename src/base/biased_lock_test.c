/* A lock that is biased to one thread: nobody else comes in while that one has it, whoever takes the bias away and when. */
#include "tests/check.h"

#include "base/biased_lock.h"
#include "base/sanitizer.h"

#include <pthread.h>
#include <sched.h>
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

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Counts until this thread is the owner, which takes a while where the bias has just been taken from another by force.
 * Returns how often. */
static uint64_t count_until_biased(void)
{
    uint64_t times = 0;
    for (const double until = now_s() + 2; !is_biased() && now_s() < until; times += 100)
        count(100);
    return times;
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

/* Another thread takes it once, while the owner does not come by: then nobody is the owner for a while. */
static void test_revoked(void)
{
    int times = 1;
    in_other_thread(count_many, &times);
    CHECK(counter == 2 * MANY + 1 && !is_biased());
    CHECK(lock.forced == (can_bias ? 1 : 0));
    const uint64_t more = count_until_biased();
    CHECK(is_biased() == can_bias);
    CHECK(counter == 2 * MANY + 1 + more);
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
    const uint64_t before = counter;
    int times = 1000000;
    in_other_thread(count_many, &times);
    CHECK(is_biased() == can_bias);
    count(1);
    CHECK(counter == before + 1000001);
}

static void test_try(void)
{
    bool got = false;
    count_until_biased();
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
    uint64_t forced = 0;
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
        forced += lock.forced;
    }
    CHECK(forced > 0 || !can_bias);
}

/* ---- threads that have it all the time ----------------------------------------------------------------------------------- */

typedef struct user {
    _Atomic(uint64_t) counts, by_bias;
} user;

static void *use(void *own)
{
    user *self = own;
    while (!atomic_load(&stop)) {
        hki_biased_acquire(&lock);
        counter++;
        atomic_fetch_add(&self->counts, 1);
        if (lock.by_bias)
            atomic_fetch_add(&self->by_bias, 1);
        hki_biased_release(&lock);
    }
    return NULL;
}

static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t have_places;

/* As the owner first, alone: one that never was has to have the lock a thousand times in a row, which it never gets where each
 * has a core of its own. */
static void *use_in_turns(void *own)
{
    user *self = own;
    bool by_bias = !can_bias;
    pthread_mutex_lock(&alone);
    for (const double until = now_s() + 10; !by_bias && now_s() < until;) {
        hki_biased_acquire(&lock);
        counter++;
        atomic_fetch_add(&self->counts, 1);
        by_bias = lock.by_bias;
        hki_biased_release(&lock);
    }
    pthread_mutex_unlock(&alone);
    pthread_barrier_wait(&have_places);
    return use(own);
}

static void nap(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* All come to it, and several are owners in turns. */
static void test_in_turns(int threads)
{
    enum { MOST = 8 };
    user users[MOST] = {0};
    pthread_t ids[MOST];
    uint64_t counts = 0;
    const int least = can_bias ? 2 : 0;
    int came = 0, owners = 0;
    lock = (hki_biased_lock){.by_bias = 0};
    counter = 0;
    atomic_store(&stop, false);
    CHECK(!pthread_barrier_init(&have_places, NULL, (unsigned)threads));
    for (int i = 0; i < threads; i++)
        CHECK(!pthread_create(&ids[i], NULL, use_in_turns, &users[i]));
    for (int i = 0; i < 1000 && (came < threads || owners < least); i++) {
        nap(20000000);
        came = owners = 0;
        for (int j = 0; j < threads; j++) {
            came += atomic_load(&users[j].counts) > 0;
            owners += atomic_load(&users[j].by_bias) > 0;
        }
    }
    CHECK(came == threads && owners >= least);
    atomic_store(&stop, true);
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        counts += users[i].counts;
    }
    CHECK(counter == counts);
    pthread_barrier_destroy(&have_places);
}

/* An owner that uses the lock gives the bias up when it is asked to: nobody has to take it away. But it has to have a core
 * while the other asks. */
static void test_given_up(void)
{
    user other = {0};
    pthread_t id;
    bool given_up = false;
    lock = (hki_biased_lock){.by_bias = 0};
    atomic_store(&stop, false);
    CHECK(!pthread_create(&id, NULL, use, &other));
    for (int i = 0; i < 10000 && !given_up; i++) {
        nap(1000000);
        const bool was_biased = is_biased();
        hki_biased_acquire(&lock);
        given_up = was_biased && lock.forced == 0;
        lock.forced = 0; /* so that it is biased again by the next time */
        CHECK(!is_biased());
        hki_biased_release(&lock);
    }
    atomic_store(&stop, true);
    pthread_join(id, NULL);
    cpu_set_t cores;
    CHECK(!sched_getaffinity(0, sizeof cores, &cores));
    CHECK(given_up == can_bias || CPU_COUNT(&cores) == 1);
}

static void *answer_late(void *unused)
{
    while (!atomic_load(&stop))
        atomic_store(&lock.wanted, false);
    return unused;
}

/* An owner that has given up may say so as late as when another is asked. */
static void test_late_answers(void)
{
    pthread_t late;
    int times = MANY;
    lock = (hki_biased_lock){.by_bias = 0};
    atomic_store(&stop, false);
    CHECK(!pthread_create(&late, NULL, answer_late, NULL));
    for (int i = 0; i < HKI_BIAS_PLACES; i++) {
        lock.forced = 0; /* so that it is granted at once */
        in_other_thread(count_many, &times);
        CHECK(is_biased() == can_bias);
        hki_biased_acquire(&lock);
        CHECK(!is_biased());
        hki_biased_release(&lock);
    }
    atomic_store(&stop, true);
    pthread_join(late, NULL);
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
        lock.forced = 0; /* so that it does not take ever longer */
        in_other_thread(count_many, &times);
        owners += is_biased();
    }
    CHECK(counter == (uint64_t)(THREADS * times));
    CHECK(owners == (can_bias ? HKI_BIAS_PLACES : 0));
}

/* ---- held up ----------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__) && !HKI_SANITIZED

enum { STEPS = 100, TRAP_FLAG = 0x100 };
enum { STEPPING, HELD, OVER };

static int hold_at, step; /* instructions of the owner's acquisition and release */
static _Atomic(int) stage;
static _Atomic(bool) other_has_it, both_have_it, is_past, is_bias_lost;

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

/* `is_past` once it has had the lock. */
static __attribute__((noinline)) void pass(void)
{
    hki_biased_acquire(&lock);
    if (atomic_load(&other_has_it))
        atomic_store(&both_have_it, true);
    atomic_store(&is_past, true);
    hki_biased_release(&lock);
}

static void *held_up(void *is_asked)
{
    count_until_biased();
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL); /* it has been the owner for long */
    atomic_store(&lock.wanted, *(const bool *)is_asked);
    __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(TRAP_FLAG) : "memory", "cc");
    pass();
    __asm__ volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
    return NULL;
}

/* Becomes the owner while the other thread is held up, and has the lock when that one goes on, which then sees that somebody
 * wants it. */
static void *become_owner(void *unused)
{
    while (atomic_load(&stage) == STEPPING)
        nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
    if (hki_biased_try(&lock)) {
        hki_biased_release(&lock);
        count_until_biased();
        hki_biased_acquire(&lock);
        const uint32_t owner = atomic_load(&lock.owner);
        const bool stays_owner = atomic_load(&is_past);
        atomic_store(&other_has_it, true);
        atomic_store(&lock.wanted, true);
        atomic_store(&stage, OVER);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        atomic_store(&is_bias_lost, stays_owner && atomic_load(&lock.owner) != owner);
        atomic_store(&other_has_it, false);
        hki_biased_release(&lock);
    }
    atomic_store(&stage, OVER);
    return unused;
}

/* An owner may stop at any instruction of acquiring, releasing or giving up, for so long that it finds another one when it
 * goes on. */
static void hold_up(bool is_asked)
{
    for (hold_at = 1; hold_at < STEPS; hold_at++) {
        pthread_t owner, other;
        lock = (hki_biased_lock){.by_bias = 0};
        step = 0;
        atomic_store(&stage, STEPPING);
        atomic_store(&both_have_it, false);
        atomic_store(&is_past, false);
        atomic_store(&is_bias_lost, false);
        CHECK(!pthread_create(&other, NULL, become_owner, NULL));
        CHECK(!pthread_create(&owner, NULL, held_up, &is_asked));
        pthread_join(owner, NULL);
        int expected = STEPPING; /* it took fewer steps */
        atomic_compare_exchange_strong(&stage, &expected, HELD);
        pthread_join(other, NULL);
        if (atomic_load(&both_have_it) || atomic_load(&is_bias_lost))
            fprintf(stderr, "held up after %d instructions\n", hold_at);
        CHECK(!atomic_load(&both_have_it) && !atomic_load(&is_bias_lost));
    }
}

static void test_held_up(void)
{
    const struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    hold_up(false);
    hold_up(true);
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
    test_in_turns(2);
    test_in_turns(8);
    test_given_up();
    test_late_answers();
    test_many_owners();
    test_held_up();
    return check_result();
}
