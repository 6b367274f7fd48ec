/* The order of what is ready in a queue, and that nothing is lost in it; and who is woken. On a queue by itself: without workers. */
#include "engine/sched/queue.h"
#include "tests/check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 300 };

static hki_queue *queue;
static hki_device device;

static void *zeros(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory)
        abort();
    return memset(memory, 0, bytes);
}

static hki_task *task_make(uint64_t sequence, bool collective)
{
    hki_task *task = zeros(sizeof *task);
    atomic_store(&task->sequence, sequence);
    task->next_piece = -1;
    task->spec.piece_count = 1;
    task->spec.expected_ns = 1000000;
    task->spec.collective = collective;
    task->spec.device = &device;
    return task;
}

/* Takes all, at most MOST, and drops them; returns how many. */
static int take_all(uint64_t *sequences)
{
    hki_claim claim;
    int count = 0;
    while (count < MOST && (claim = hki_queue_pop(queue, NULL, INT64_MAX)).task) {
        sequences[count++] = hki_task_sequence(claim.task);
        free(claim.task);
    }
    for (int i = 0; i < 2; i++)
        CHECK(!queue->lists[i].first && !queue->lists[i].last && !queue->lists[i].latest &&
              atomic_load(&queue->listed[i]) == 0);
    return count;
}

/* The newest is ready first, and after it those that were issued before, in this order. */
static void check_order(int from, int to, bool collective)
{
    uint64_t taken[MOST];
    const int step = from < to ? 1 : -1, count = abs(to - from) + 2;
    hki_queue_push(task_make(1000, collective));
    for (int i = from; i != to + step; i += step)
        hki_queue_push(task_make((uint64_t)i, collective));
    CHECK_EQ_I64(take_all(taken), count);
    for (int i = 1; i < count; i++)
        CHECK(taken[i] > taken[i - 1]);
}

/* By rank, and of one rank as they were issued. */
static void check_priorities(void)
{
    uint64_t taken[MOST], state = 7;
    int priorities[MOST], last = INT16_MAX;
    for (int i = 1; i < MOST; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        hki_task *task = task_make((uint64_t)i, i % 50 == 0);
        task->spec.priority = (uint8_t)(1 + (state >> 60));
        priorities[i] = i % 50 == 0 ? 1000 : task->spec.priority;
        hki_queue_push(task);
    }
    hki_queue_push(task_make(1000, false));
    CHECK_EQ_I64(take_all(taken), MOST);
    CHECK(taken[MOST - 1] == 1000);
    for (int i = 0; i < MOST - 1; i++) {
        const int priority = priorities[taken[i]];
        CHECK(priority < last || (priority == last && taken[i] > taken[i - 1]));
        last = priority;
    }
}

static void check_random(void)
{
    uint64_t state = 1, taken[MOST];
    for (int round = 0; round < 500; round++) {
        const int count = 1 + round % MOST;
        int seen[1000] = {0};
        for (int i = 0; i < count; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const uint64_t sequence = (state >> 33) % 1000;
            seen[sequence]++;
            (sequence % 5 ? hki_queue_push
                          : hki_queue_push_first)(task_make(sequence, sequence % 7 == 0));
        }
        CHECK_EQ_I64(take_all(taken), count);
        for (int i = 0; i < count; i++)
            CHECK(seen[taken[i]]-- > 0);
    }
}

/* ---- who is woken ------------------------------------------------------------------------------------------------------ */

/* How often somebody has been woken since the last time; those go to sleep again. */
static uint32_t woken(void)
{
    static uint32_t before;
    const uint32_t now = atomic_load(&queue->park.wake_word), count = now - before;
    atomic_store(&queue->park.waking, false);
    before = now;
    return count;
}

static void push_one(void)
{
    hki_queue_push(task_make(1, false));
}

/* Workers that all sleep, while threads have so many of the cores. */
static void begin_asleep(int workers, int taken)
{
    queue->worker_count = workers;
    atomic_store(&queue->free_cores, workers);
    atomic_store(&queue->park.sleepers, (uint32_t)workers);
    for (int i = 0; i < taken; i++)
        CHECK(hki_queue_acquire_core(queue));
    woken();
}

/* A worker is woken where it has a core, and at the latest when one is given back. */
static void check_woken(int workers, int taken)
{
    uint64_t taken_tasks[MOST];
    begin_asleep(workers, taken);
    push_one();
    CHECK_EQ_I64(woken(), taken < workers);
    if (taken > 0) {
        hki_queue_release_core(queue);
        CHECK_EQ_I64(woken(), 1);
    }
    CHECK_EQ_I64(take_all(taken_tasks), 1);
}

static void check_waking(void)
{
    for (int workers = 1; workers <= 3; workers++)
        for (int taken = 0; taken <= workers; taken++)
            check_woken(workers, taken);
}

int main(void)
{
    hki_runtime *runtime = zeros(sizeof *runtime);
    hki_scheduler *scheduler = zeros(sizeof *scheduler);
    queue = zeros(sizeof *queue);
    queue->home = device.queues[0] = queue;
    queue->runtime = runtime;
    runtime->scheduler = scheduler;
    for (int collective = 0; collective < 2; collective++) {
        check_order(1, 200, collective);
        check_order(200, 1, collective);
    }
    check_priorities();
    check_random();
    check_waking();
    free(queue);
    free(scheduler);
    free(runtime);
    return check_result();
}
