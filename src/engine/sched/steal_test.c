/* A device that waits for another runs pieces of what that one has started; a device that waits for nothing does not; and
 * either way each piece runs once. */
#include "engine/sched/steal.h"
#include "tests/check.h"

#include <hocket/runtime.h>
#include <pthread.h>
#include <unistd.h>

enum { PIECES = 64, DEVICES = 2, ROUNDS = 3000 };

static const int64_t PATIENCE_NS = 200000000; /* for each piece */

static hki_runtime *runtime;
static hki_var vars[DEVICES + 1];
static _Atomic(int) runs[PIECES];
static _Atomic(pthread_t) first; /* that ran a piece; 0: none has */
static _Atomic(int) elsewhere, finished;
static int64_t piece_ns;
static bool awaits_other; /* a piece does not end before another thread has begun one */

static void piece_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload;
    const int64_t begin = hki_clock_ns(), end = begin + piece_ns;
    pthread_t none = 0, self = pthread_self();
    if (!atomic_compare_exchange_strong(&first, &none, self) && none != self)
        atomic_fetch_add(&elsewhere, 1);
    atomic_fetch_add(&runs[piece], 1);
    while (hki_clock_ns() < end ||
           (awaits_other && atomic_load(&elsewhere) == 0 && hki_clock_ns() < begin + PATIENCE_NS))
        hki_relax();
}

static void piece_finish(hki_task *task, void *payload)
{
    (void)task, (void)payload;
    atomic_fetch_add(&finished, 1);
}

static const hki_task_class class = {.run = piece_run, .finish = piece_finish};
static const hki_task_class other_class = {0};

static void issue(int device, const hki_task_class *its, int64_t pieces, int64_t expected_ns,
                  int var, bool reads_first)
{
    hki_task *task = hki_task_begin(runtime, 0, 1 + reads_first, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = its;
    spec->device = hk_device_at(device).handle;
    spec->operation = "piece";
    spec->piece_count = pieces;
    spec->expected_ns = expected_ns;
    spec->accesses[0] = (hki_access){&vars[var], 0, 1, HKI_WRITE | HKI_HEAL, 0};
    if (reads_first)
        spec->accesses[1] = (hki_access){&vars[0], 0, 1, HKI_READ, 0};
    hki_task_submit(task);
}

static void start(int devices, int cores)
{
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.cpu_devices = devices, .cpu_cores = cores, .inline_ns = -1})));
    runtime = hki_runtime_default();
    for (int i = 0; i <= DEVICES; i++)
        hki_var_init(&vars[i], runtime);
    atomic_store(&first, 0);
    atomic_store(&elsewhere, 0);
    atomic_store(&finished, 0);
}

static void end(void)
{
    for (int i = 0; i <= DEVICES; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

/* The thread that issues does not wait meanwhile: it would help. */
static void check_pieces(int tasks)
{
    while (atomic_load(&finished) < tasks)
        usleep(100);
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < PIECES; i++)
        CHECK_EQ_I64(atomic_exchange(&runs[i], 0), tasks);
}

/* Expected so long; one that is longer would hold up the device that lends. */
static void test_who_waits_lends(int64_t expected_piece_ns, bool lends)
{
    start(DEVICES, DEVICES);
    piece_ns = 1000000;
    awaits_other = lends;
    issue(0, &class, PIECES, PIECES * expected_piece_ns, 0, false);
    usleep(
        5000); /* the other device's worker sleeps by now, and what it is to lend its core to has begun */
    issue(1, &other_class, 1, 1000, 1, true);
    check_pieces(1);
    CHECK((atomic_load(&elsewhere) > 0) == lends);
    awaits_other = false;
    end();
}

static void test_who_waits_for_nothing_does_not(void)
{
    start(DEVICES, DEVICES);
    piece_ns = 1000000;
    issue(1, &other_class, 1, 1000, 1, false);
    CHECK(hk_ok(hk_wait_all()));
    issue(0, &class, PIECES, PIECES * piece_ns, 0, false);
    check_pieces(1);
    CHECK_EQ_I64(atomic_load(&elsewhere), 0);
    end();
}

/* Nor in what is short. */
static void test_short_tasks_stay(void)
{
    enum { TASKS = 400 }; /* so few that the issuing thread need not wait, and so help */
    static const hki_task_class leaf = {.run = piece_run, .finish = piece_finish, .leaf = true};
    start(DEVICES, DEVICES);
    piece_ns = 1000;
    for (int i = 0; i < TASKS; i++)
        issue(0, &leaf, 1, piece_ns, 0, false);
    while (atomic_load(&finished) < TASKS)
        usleep(100);
    CHECK_EQ_I64(atomic_exchange(&runs[0], 0), TASKS);
    CHECK_EQ_I64(atomic_load(&elsewhere), 0);
    end();
}

/* Pieces that are shorter than fetching what they need. */
static void test_short_pieces_stay(void)
{
    start(DEVICES, DEVICES);
    piece_ns = 1000;
    for (int i = 0; i < 100; i++) {
        issue(0, &class, PIECES, PIECES * piece_ns, 0, false);
        issue(1, &other_class, 1, 1000, 1, true);
    }
    check_pieces(100);
    CHECK_EQ_I64(atomic_load(&elsewhere), 0);
    end();
}

/* What is expected to be long and ends at once: workers meet at the last pieces. */
static void test_each_piece_runs_once(int devices, int cores)
{
    start(devices, cores);
    piece_ns = 0;
    for (int i = 0; i < ROUNDS; i++) {
        issue(i % devices, &class, PIECES, PIECES * (int64_t)100000, i % 3, i % 3 > 0);
        issue((i + 1) % devices, &other_class, 1, 1000, 1, true);
    }
    check_pieces(ROUNDS);
    end();
}

int main(void)
{
    int cores = hki_cpu_cores((int[HKI_MAX_CORES]){0});
    if (cores >= DEVICES) {
        test_who_waits_lends(1000000, true);
        test_who_waits_lends(20000000, true);
        test_who_waits_lends(100000000, false);
        test_who_waits_for_nothing_does_not();
        test_short_tasks_stay();
        test_short_pieces_stay();
        test_each_piece_runs_once(DEVICES, DEVICES);
        test_each_piece_runs_once(DEVICES + 1, DEVICES);
    }
    test_each_piece_runs_once(DEVICES, 1);
    return check_result();
}
