/* A launching thread that loses its core, at each instruction in turn from where its device has been given a task to
 * where the clock has been told of it: what is before that task ends meanwhile, and the clock goes to sleep. The task's
 * end is seen all the same. And that the clock sleeps while one long task is waited for. */
#include "tests/check.h"

#include "base/sanitizer.h"
#include "tests/late_device.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>

static _Atomic(int) finished;

static void finish(hki_task *task, void *payload)
{
    (void)task;
    (void)payload;
    atomic_fetch_add(&finished, 1);
}

static void nap(int64_t ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Waits, at most seconds. */
static bool have_finished(int count)
{
    for (int i = 0; i < 20000 && atomic_load(&finished) < count; i++)
        nap(100000);
    return atomic_load(&finished) >= count;
}

static void submit(hki_runtime *runtime, const hki_task_class *class)
{
    hki_task *task = hki_task_begin(runtime, 0, 0, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = class;
    spec->device = late_devices[0];
    spec->operation = "work";
    hki_task_submit(task);
}

/* ---- held up ----------------------------------------------------------------------------------------------------- */

/* A sanitizer makes ten instructions of one, and has its own in between. */
#if defined(__x86_64__) && !HKI_SANITIZED

enum { LEAST_STEPS = 100, MOST_STEPS = 5000, TRIES = 20, TRAP_FLAG = 0x100 };

static _Atomic(int) hold_at, step; /* instructions after the launch */
static _Atomic(int) stage;
enum { STEPPING, HOLDING, HELD, OVER }; /* over: the thread slept before it got there */

/* After each instruction of the launching thread. */
static void stepped(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    int expected = STEPPING;
    if (++step < hold_at && atomic_load(&stage) == STEPPING)
        return;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    if (!atomic_compare_exchange_strong(&stage, &expected, HOLDING))
        return;
    late_step(0, HKI_QUEUE_COMPUTE);
    for (int i = 0; i < 100 && atomic_load(&finished) < 1; i++)
        nap(20000);
    nap(60000); /* now the clock sleeps */
    atomic_store(&stage, HELD);
}

static void step_launched(hki_device *device, hki_queue_kind queue, const hki_cost *cost,
                          int64_t ready_ns, int64_t host_ns, hki_ticket *ticket)
{
    late_launched(device, queue, cost, ready_ns, host_ns, ticket);
    if (ticket->position != 2)
        return;
    sigset_t trap; /* the engine's threads block signals */
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &trap, NULL);
    step = 0;
    __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(TRAP_FLAG) : "memory", "cc");
}

static void test_held_up(void)
{
    static const hki_task_class work = {.enqueues = true, .finish = finish};
    const struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    bool good = true, is_held = true;
    int tries = 0;
    for (int i = 1; i < MOST_STEPS && good && is_held; i++) {
        hki_runtime *runtime = late_start(HK_ENGINE_ASYNC, 8, 0);
        late_class.launched = step_launched;
        atomic_store(&finished, 0);
        atomic_store(&stage, STEPPING);
        hold_at = i;
        submit(runtime, &work);
        late_await(0, HKI_QUEUE_COMPUTE, 1);
        submit(runtime, &work);
        late_await(0, HKI_QUEUE_COMPUTE, 2);
        int expected = STEPPING;
        for (int j = 0; j < 200 && atomic_load(&stage) == STEPPING; j++)
            nap(100000);
        is_held = !atomic_compare_exchange_strong(&stage, &expected, OVER);
        while (is_held && atomic_load(&stage) != HELD)
            nap(20000);
        late_run();
        good = have_finished(2);
        if (!good)
            fprintf(stderr, "held up after %d instructions\n", i);
        CHECK(good);
        hk_runtime_deinit();
        if (!is_held && i <= LEAST_STEPS && tries++ < TRIES) {
            is_held = true; /* it has no core, on a busy machine: the same again */
            i--;
        }
    }
    CHECK(hold_at > LEAST_STEPS);
    signal(SIGTRAP, SIG_DFL);
}

#else

static void test_held_up(void)
{
    puts("threads cannot be held up at each instruction of this build");
}

#endif

/* ---- a long wait ---------------------------------------------------------------------------------------------- */

static _Thread_local long polls_here, naps_before;
static _Atomic(long) polls, naps; /* of the thread that polled last: the clock */

enum { AWAKE_POLLS = 1000000 / 40000, LEAST_POLLS = 8 * AWAKE_POLLS };

/* That asks to be looked at so soon that sleeping until then is hardly worth it. */
static int64_t eager_poll(hki_device *device, hki_ticket *ticket)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    if (polls_here++ == 0)
        naps_before = usage.ru_nvcsw;
    atomic_store(&polls, polls_here);
    atomic_store(&naps, usage.ru_nvcsw - naps_before);
    return late_poll(device, ticket) ? 40000 : 0;
}

static void *end_later(void *unused)
{
    nap(200000000);
    for (int i = 0; i < 10000 && atomic_load(&polls) < LEAST_POLLS; i++)
        nap(1000000);
    late_run();
    return unused;
}

static int64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A task of 200 ms, for which a thread waits: the clock stays awake for its first millisecond only, and sleeps before it
 * looks again from then on; and who waits sleeps most of the time. */
static void test_long_wait(void)
{
    static const hki_task_class work = {.enqueues = true, .finish = finish};
    hki_runtime *runtime = late_start(HK_ENGINE_ASYNC, 8, 0);
    late_class.poll = eager_poll;
    atomic_store(&finished, 0);
    pthread_t thread;
    submit(runtime, &work);
    late_await(0, HKI_QUEUE_COMPUTE, 1);
    CHECK(!pthread_create(&thread, NULL, end_later, NULL));
    const int64_t before_ns = thread_ns(), begin_ns = hki_clock_ns();
    CHECK(hk_ok(hk_wait_all()));
    CHECK(thread_ns() - before_ns < (hki_clock_ns() - begin_ns) / 2);
    CHECK(have_finished(1));
    const long looked = atomic_load(&polls), slept = atomic_load(&naps);
    CHECK(looked >= LEAST_POLLS);
    if (slept < (looked - AWAKE_POLLS) / 2)
        fprintf(stderr, "%ld looks, %ld naps\n", looked, slept);
    CHECK(slept >= (looked - AWAKE_POLLS) / 2);
    pthread_join(thread, NULL);
    hk_runtime_deinit();
}

int main(void)
{
    test_held_up();
    test_long_wait();
    return check_result();
}
