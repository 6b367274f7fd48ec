/* Launching ahead, on devices whose tasks end when the test says so: what is launched before anything has ended, and what
 * is not; order, failures and lost devices; programs made by chance, whose values are those of one task at a time. */
#include "tests/check.h"
#include "tests/late_device.h"
#include "tests/wait_range.h"

#include <pthread.h>
#include <stdlib.h>

enum { VARS = 8, CHAIN = 100 };

static const hki_queue_kind COMPUTE = HKI_QUEUE_COMPUTE, IN = HKI_QUEUE_COPY_IN,
                            OUT = HKI_QUEUE_COPY_OUT;

static hki_runtime *runtime;
static hki_device *cpu;
static hki_var vars[VARS];
static uint64_t values[VARS];
static atomic_int ran[VARS]; /* tasks that have changed it */

static void start_with(hk_engine engine, int launch_ahead)
{
    runtime = late_start(engine, launch_ahead, 0);
    cpu = hk_device_at(0).handle;
    for (int i = 0; i < VARS; i++) {
        hki_var_init(&vars[i], runtime);
        values[i] = 0;
        atomic_store(&ran[i], 0);
    }
}

static void start(int launch_ahead)
{
    start_with(HK_ENGINE_ASYNC, launch_ahead);
}

static void stop(void)
{
    late_run();
    hk_wait_all();
    late_check();
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_failures_clear();
    hk_runtime_deinit();
}

/* ---- work ------------------------------------------------------------------------------------------------- */

typedef enum kind {
    PUT, /* target = from's value and what is added, as one number that tells both and their order */
    MIX,     /* the same with target's own value */
    CHECKED, /* MIX, which might fail on the device, */
    FAIL,    /* and does, before it has changed anything */
    BREAK,   /* MIX, which fails when it is launched */
    RECOVER
} kind;

typedef struct work {
    kind kind;
    int target, from; /* from < 0: nothing is read but what is mixed */
    uint64_t added;
} work;

static void effect(void *argument)
{
    const work *self = argument;
    uint64_t value = self->kind == PUT ? 0 : values[self->target];
    value = (value ^ (self->from < 0 ? 0 : values[self->from])) * 0x9e3779b97f4a7c15u + self->added;
    values[self->target] = value;
    atomic_fetch_add(&ran[self->target], 1);
}

static void run(hki_task *task, void *payload, int64_t piece)
{
    work *self = payload;
    const hki_task_spec *spec = hki_task_get_spec(task);
    if (self->kind == RECOVER) {
        hki_var_end_failures(&vars[self->target], (hki_range){0, 1, 0}, true);
        return;
    }
    if (self->kind == BREAK)
        hki_task_fail(task, piece, HK_INJECTED, "breaks");
    if (spec->device == cpu) {
        if (self->kind == FAIL)
            hki_task_fail(task, piece, HK_INJECTED, "fails");
        else if (self->kind != BREAK)
            effect(self);
        return;
    }
    late_task *late = late_next(late_index(spec->device), spec->queue);
    late->run = self->kind == BREAK ? NULL : effect;
    late->argument = self;
    late->may_fail = self->kind == FAIL || self->kind == CHECKED;
    late->fails = self->kind == FAIL;
}

/* Some has to wait. */
static bool can_spare(const hki_task_spec *spec, const void *payload)
{
    (void)spec;
    return ((const work *)payload)->added % 8 != 0;
}

static const hki_task_class work_class = {.enqueues = true, .run = run, .can_spare = can_spare},
                            recover_class = {.run = run};

static uint64_t issue(hki_device *device, hki_queue_kind queue, work todo, bool is_pageable,
                      bool collective)
{
    hki_task *task = hki_task_begin(runtime, sizeof todo, 2, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(work *)hki_task_payload(task) = todo;
    spec->class = todo.kind == RECOVER ? &recover_class : &work_class;
    spec->device = device;
    spec->operation = "work";
    spec->queue = (uint8_t)queue;
    spec->cost.is_pageable = is_pageable;
    spec->collective = collective;
    spec->access_count = 0;
    if (todo.from >= 0)
        spec->accesses[spec->access_count++] = (hki_access){&vars[todo.from], 0, 1, HKI_READ, 0};
    unsigned mode = todo.kind == PUT       ? HKI_WRITE | HKI_HEAL
                    : todo.kind == RECOVER ? HKI_WRITE | HKI_KEEP
                                           : HKI_READ | HKI_WRITE;
    spec->accesses[spec->access_count++] = (hki_access){&vars[todo.target], 0, 1, mode, 0};
    return hki_task_submit(task);
}

static uint64_t submit(int device, hki_queue_kind queue, work todo)
{
    return issue(device < 0 ? cpu : late_devices[device], queue, todo, false, false);
}

static hk_code code_of(int var)
{
    const hk_status *status = wait_range(&vars[var], 0, 1, NULL, NULL);
    hk_code code = hk_status_code(status);
    hk_status_release(status);
    return code;
}

/* ---- what is launched ahead --------------------------------------------------------------------------------- */

/* A hundred tasks, each of which changes what the one before it has changed: all are launched, none has ended. */
static void test_chain(void)
{
    start(256);
    for (int i = 0; i < CHAIN; i++)
        submit(0, COMPUTE, (work){MIX, 0, -1, (uint64_t)i});
    late_await(0, COMPUTE, CHAIN);
    CHECK_EQ_I64(atomic_load(&ran[0]), 0);
    CHECK_EQ_I64(late_wait_count, 0); /* the queue keeps their order */
    uint64_t expected = 0;
    for (int i = 0; i < CHAIN; i++)
        expected = expected * 0x9e3779b97f4a7c15u + (uint64_t)i;
    late_run();
    CHECK_EQ_I64(code_of(0), HK_OK);
    CHECK_EQ_I64(values[0], expected);
    CHECK_EQ_I64(hk_device_get_stats((hk_device){late_devices[0]}, HK_QUEUE_COMPUTE).calls, CHAIN);
    stop();
}

/* No more than the class says. */
static void test_limit(void)
{
    start(5);
    for (int i = 0; i < 20; i++)
        submit(0, COMPUTE, (work){MIX, 0, -1, 1});
    late_await(0, COMPUTE, 5);
    late_pause();
    CHECK_EQ_I64(late_launched_count(0, COMPUTE), 5);
    while (late_launched_count(0, COMPUTE) < 20)
        late_run();
    stop();
}

static bool has_waits(int device, hki_queue_kind queue, uint64_t position, int count,
                      const late_wait *waits)
{
    const late_task *task = &late_queues[device][queue].tasks[position - 1];
    int found = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < task->wait_count; j++)
            found += waits[i].device == task->waits[j].device &&
                     waits[i].queue == task->waits[j].queue &&
                     waits[i].position == task->waits[j].position;
    return task->wait_count == count && found == count;
}

/* Between queues and devices the device is told to wait; who reads is waited for by who writes; of two tasks of one queue
 * the later one will do. What has been launched ends in order, whatever the devices say. */
static void test_queues(void)
{
    start(64);
    submit(0, COMPUTE, (work){PUT, 0, -1, 1});
    submit(0, OUT, (work){PUT, 1, 0, 2});
    submit(1, IN, (work){PUT, 2, 1, 3});
    submit(1, COMPUTE, (work){MIX, 2, -1, 4});
    submit(0, COMPUTE, (work){PUT, 3, 0, 5});
    submit(0, COMPUTE, (work){PUT, 4, 0, 6});
    submit(1, OUT, (work){MIX, 0, -1, 7}); /* behind all who read it */
    late_await(0, COMPUTE, 3);
    late_await(1, OUT, 1);
    late_await(1, COMPUTE, 1);
    CHECK(has_waits(0, COMPUTE, 1, 0, NULL));
    CHECK(has_waits(0, OUT, 1, 1, (late_wait[]){{0, COMPUTE, 1}}));
    CHECK(has_waits(1, IN, 1, 1, (late_wait[]){{0, OUT, 1}}));
    CHECK(has_waits(1, COMPUTE, 1, 1, (late_wait[]){{1, IN, 1}}));
    CHECK(has_waits(1, OUT, 1, 2, (late_wait[]){{0, COMPUTE, 3}, {0, OUT, 1}}));
    CHECK(!late_step(1, COMPUTE) && !late_step(1, OUT) && !late_step(0, OUT));
    /* This one says that it has ended long before what it stands behind. */
    atomic_store(&late_queues[1][COMPUTE].ended, 1);
    late_pause();
    CHECK_EQ_I64(hk_device_get_stats((hk_device){late_devices[1]}, HK_QUEUE_COMPUTE).calls, 0);
    stop();
}

/* Tasks of the host wait for the end, waiting threads too; so do copies that the host takes part in, reductions between
 * queues, and what is not known to give its queue work only. */
static void test_host(void)
{
    start(64);
    submit(0, COMPUTE, (work){PUT, 0, -1, 1});
    submit(-1, COMPUTE, (work){PUT, 1, 0, 2});
    issue(late_devices[0], OUT, (work){PUT, 2, 0, 3}, true, false);
    issue(late_devices[1], COMPUTE, (work){PUT, 3, 0, 4}, false, true);
    submit(1, IN, (work){RECOVER, 0, -1, 0});
    late_await(0, COMPUTE, 1);
    late_pause();
    CHECK_EQ_I64(atomic_load(&ran[1]), 0);
    CHECK(late_launched_count(0, OUT) == 0 && late_launched_count(1, COMPUTE) == 0 &&
          late_launched_count(1, IN) == 0);
    CHECK(late_step(0, COMPUTE));
    late_await(0, OUT, 1);
    late_await(1, COMPUTE, 1);
    CHECK_EQ_I64(late_wait_count, 0);
    while (late_launched_count(1, IN) == 0)
        late_run();
    CHECK_EQ_I64(code_of(1), HK_OK);
    CHECK_EQ_I64(values[1], values[0] * 0x9e3779b97f4a7c15u + 2);
    stop();
}

static void test_wait(void)
{
    pthread_t thread;
    late_ending its = {false};
    start(64);
    submit(0, COMPUTE, (work){PUT, 0, -1, 1});
    submit(0, COMPUTE, (work){MIX, 0, -1, 1});
    late_await(0, COMPUTE, 2);
    pthread_create(&thread, NULL, late_end_soon, &its);
    CHECK_EQ_I64(code_of(0), HK_OK);
    CHECK(atomic_load(&its.has_begun));
    atomic_store(&its.is_over, true);
    pthread_join(thread, NULL);
    stop();
}

/* ---- failures ------------------------------------------------------------------------------------------------ */

/* Behind a task that may still fail nothing is launched; when it has, nothing that depends on it runs. */
static void test_fallible(void)
{
    start(64);
    submit(0, COMPUTE, (work){PUT, 0, -1, 1});
    submit(0, COMPUTE, (work){PUT, 1, -1, 1});
    submit(0, COMPUTE, (work){FAIL, 0, -1, 2});
    submit(0, COMPUTE, (work){MIX, 1, 0, 3}); /* in place, of what has failed */
    submit(1, COMPUTE, (work){PUT, 2, 1, 4});
    submit(0, OUT, (work){PUT, 3, -1, 5});
    late_await(0, COMPUTE, 3);
    late_await(0, OUT, 1);
    late_pause();
    CHECK_EQ_I64(late_launched_count(0, COMPUTE), 3);
    late_run();
    CHECK(code_of(0) == HK_INJECTED && code_of(1) == HK_INJECTED && code_of(2) == HK_INJECTED);
    CHECK_EQ_I64(code_of(3), HK_OK);
    CHECK(atomic_load(&ran[1]) == 1 && atomic_load(&ran[2]) == 0);
    CHECK_EQ_I64(values[1], 1);
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    /* What never ran left the old bytes; what failed on the device may have torn them. */
    submit(-1, COMPUTE, (work){RECOVER, 0, -1, 0});
    submit(-1, COMPUTE, (work){RECOVER, 1, -1, 0});
    CHECK(code_of(0) == HK_INJECTED && code_of(1) == HK_OK);
    late_run();
    stop();
}

/* Good after all: what waited for it runs. */
static void test_checked(void)
{
    start(64);
    submit(0, COMPUTE, (work){CHECKED, 0, -1, 1});
    submit(0, COMPUTE, (work){PUT, 1, 0, 2});
    late_await(0, COMPUTE, 1);
    late_pause();
    CHECK_EQ_I64(late_launched_count(0, COMPUTE), 1);
    CHECK(late_step(0, COMPUTE));
    late_await(0, COMPUTE, 2);
    late_run();
    CHECK_EQ_I64(code_of(1), HK_OK);
    stop();
}

/* Fails when it is launched, behind something that has not ended: whatever comes then, in program order. */
static void test_broken(void)
{
    start(64);
    submit(0, COMPUTE, (work){PUT, 0, -1, 1});
    submit(0, COMPUTE, (work){BREAK, 0, -1, 2});
    submit(1, COMPUTE, (work){PUT, 1, 0, 3});
    submit(0, COMPUTE, (work){PUT, 0, -1, 4});
    submit(1, COMPUTE, (work){PUT, 2, 0, 5});
    late_await(0, COMPUTE, 2);
    late_pause();
    CHECK_EQ_I64(late_launched_count(1, COMPUTE), 0);
    while (late_launched_count(1, COMPUTE) < 1)
        late_run();
    late_run();
    CHECK(code_of(1) == HK_INJECTED && code_of(0) == HK_OK && code_of(2) == HK_OK);
    stop();
}

/* A failed variable is being overwritten: who reads it then is not failed, though the failure is still noted when
 * that could be launched. */
static void test_healing(void)
{
    start(64);
    submit(-1, COMPUTE, (work){BREAK, 0, -1, 1});
    CHECK_EQ_I64(code_of(0), HK_INJECTED);
    submit(0, COMPUTE, (work){PUT, 0, -1, 2});
    submit(0, COMPUTE, (work){PUT, 1, 0, 3});
    late_await(0, COMPUTE, 1);
    late_pause();
    CHECK_EQ_I64(late_launched_count(0, COMPUTE), 1);
    CHECK(late_step(0, COMPUTE));
    late_await(0, COMPUTE, 2);
    late_run();
    CHECK(code_of(0) == HK_OK && code_of(1) == HK_OK);
    stop();
}

/* The device goes in the middle: what has ended stays, the rest fails, and what depends on it on other devices, though it
 * was launched; by the first error; torn. What does not depend on it goes on. */
static void test_lost(void)
{
    start(64);
    submit(0, COMPUTE, (work){PUT, 0, -1, 1});
    submit(0, COMPUTE, (work){PUT, 1, 0, 1});
    uint64_t first = submit(0, COMPUTE, (work){MIX, 0, -1, 1});
    for (int i = 0; i < 10; i++)
        submit(0, COMPUTE, (work){MIX, 0, -1, 1});
    submit(1, COMPUTE, (work){PUT, 2, -1, 1});
    submit(1, COMPUTE, (work){MIX, 2, 0, 1});
    submit(1, COMPUTE, (work){PUT, 3, 1, 1});
    submit(-1, COMPUTE, (work){PUT, 4, 2, 1});
    submit(0, COMPUTE, (work){PUT, 5, -1, 1});
    late_await(0, COMPUTE, 14);
    late_await(1, COMPUTE, 3);
    CHECK(late_step(0, COMPUTE) && late_step(0, COMPUTE) && late_step(1, COMPUTE));
    CHECK_EQ_I64(code_of(1), HK_OK);
    atomic_store(&late_is_lost[0], true);
    atomic_store(&late_queues[1][COMPUTE].ended, 3);
    const int failed[] = {0, 2, 4};
    for (int i = 0; i < 3; i++) {
        const hk_status *status = wait_range(&vars[failed[i]], 0, 1, NULL, NULL);
        CHECK_EQ_I64(hk_status_code(status), HK_DEVICE_LOST);
        CHECK_EQ_I64(hk_status_sequence(status), first);
        hk_status_release(status);
    }
    CHECK(code_of(1) == HK_OK && code_of(3) == HK_OK && code_of(5) == HK_DEVICE_LOST);
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 2);
    submit(-1, COMPUTE, (work){RECOVER, 0, -1, 0});
    submit(-1, COMPUTE, (work){RECOVER, 2, -1, 0});
    CHECK(code_of(0) == HK_DEVICE_LOST && code_of(2) == HK_DEVICE_LOST);
    stop();
}

/* The runtime ends while much is launched, and more waits: what runs ends first, the rest is cancelled. */
static void test_end(void)
{
    pthread_t thread;
    late_ending its = {false};
    start(64);
    for (int i = 0; i < 200; i++)
        submit(i % 2, (hki_queue_kind)(i % 3), (work){MIX, i % 3, i % 2 ? (i + 1) % 3 : -1, 1});
    hki_runtime_retain(runtime);
    while (late_launched_count(0, COMPUTE) ==
           0) /* or nothing runs, and there is nothing to wait for */
        late_pause();
    pthread_create(&thread, NULL, late_end_soon, &its);
    hk_runtime_deinit();
    CHECK(atomic_load(&its.has_begun));
    atomic_store(&its.is_over, true);
    pthread_join(thread, NULL);
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hki_runtime_release(runtime);
}

/* ---- by chance ----------------------------------------------------------------------------------------------- */

/* What one task at a time would give. */
typedef struct model {
    uint64_t values[VARS], failed[VARS]; /* sequence number of the failure; 0: none */
    bool torn[VARS];
} model;

static void model_run(model *self, const work *todo, uint64_t sequence)
{
    uint64_t *value = &self->values[todo->target], *failed = &self->failed[todo->target];
    bool *torn = &self->torn[todo->target];
    if (todo->kind == RECOVER) {
        *failed = *torn ? *failed : 0;
        return;
    }
    uint64_t input = todo->from < 0 ? 0 : self->failed[todo->from];
    if (todo->kind != PUT && *failed && (!input || *failed < input))
        input = *failed;
    if (input) {
        *failed = input; /* the bytes are as good as they were */
    } else if (todo->kind == FAIL || todo->kind == BREAK) {
        *failed = sequence;
        *torn = true;
    } else {
        *value =
            ((todo->kind == PUT ? 0 : *value) ^ (todo->from < 0 ? 0 : self->values[todo->from])) *
                0x9e3779b97f4a7c15u +
            todo->added;
        *failed = 0;
        *torn = false;
    }
}

static atomic_bool is_issued;

/* The devices: ends one task after another, of any queue. */
static void *devices_main(void *argument)
{
    unsigned state = *(unsigned *)argument;
    while (!atomic_load(&is_issued)) {
        state = state * 1664525 + 1013904223;
        unsigned queue = (state >> 16) % (LATE_DEVICES * HKI_QUEUE_KIND_COUNT);
        if (state >> 8 & 1 && atomic_load(&late_flags[0].free)) /* most is there */
            queue = COMPUTE;
        late_step((int)queue / HKI_QUEUE_KIND_COUNT,
                  (hki_queue_kind)(queue % HKI_QUEUE_KIND_COUNT));
        if (state >> 26 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    return NULL;
}

/* The serial engine launches one task, waits until it has ended, and learns what became of it. */
static void test_serial(void)
{
    unsigned seed = 1;
    pthread_t thread;
    start_with(HK_ENGINE_SERIAL, 64);
    atomic_store(&is_issued, false);
    pthread_create(&thread, NULL, devices_main, &seed);
    for (int i = 0; i < 4; i++) {
        submit(0, i % 2 ? OUT : COMPUTE, (work){i == 2 ? FAIL : MIX, 0, -1, 1});
        CHECK_EQ_I64(atomic_load(&ran[0]), i < 2 ? i + 1 : 2);
    }
    CHECK_EQ_I64(code_of(0), HK_INJECTED);
    CHECK(late_wait_count == 0 && late_launched_count(0, OUT) == 1);
    atomic_store(&is_issued, true);
    pthread_join(thread, NULL);
    stop();
}

/* has_flags: most is done in queues for computing, and follows there what may fail. */
static void test_random(unsigned seed, bool has_flags)
{
    enum { TASKS = 1500 };
    model expected = {0};
    pthread_t thread;
    late_random = 0x9e3779b97f4a7c15u * (seed + 1);
    atomic_store(&is_issued, false);
    start(1 + (int)late_below(100));
    if (has_flags)
        late_have_flags();
    pthread_create(&thread, NULL, devices_main, &seed);
    for (int i = 0; i < TASKS; i++) {
        unsigned chance = late_below(200);
        work todo = {.target = (int)late_below(VARS), .added = (uint64_t)i};
        todo.from = (int)late_below(VARS + 2) - 2;
        if (todo.from == todo.target)
            todo.from = -1;
        const unsigned more = has_flags ? 8 : 0;
        todo.kind = chance < 2 + more        ? FAIL
                    : chance < 4 + more      ? BREAK
                    : chance < 6 + more      ? RECOVER
                    : chance < 16 + 3 * more ? CHECKED
                    : chance < 70 + 2 * more ? PUT
                                             : MIX;
        if (todo.kind == RECOVER)
            todo.from = -1;
        const unsigned part = has_flags ? 8 : 1; /* less of it elsewhere than in one queue */
        int device = late_below(12 * part) == 0 ? -1
                     : late_below(part) == 0    ? (int)late_below(LATE_DEVICES)
                                                : 0;
        hki_queue_kind queue = device < 0 || late_below(part) > 0
                                   ? COMPUTE
                                   : (hki_queue_kind)late_below(HKI_QUEUE_KIND_COUNT);
        uint64_t sequence = issue(device < 0 ? cpu : late_devices[device], queue, todo,
                                  queue != COMPUTE && late_below(8) == 0, late_below(8) == 0);
        model_run(&expected, &todo, sequence);
        if (late_below(100) == 0)
            code_of((int)late_below(VARS));
    }
    hk_wait_all();
    for (int i = 0; i < VARS; i++) {
        const hk_status *status = wait_range(&vars[i], 0, 1, NULL, NULL);
        CHECK_EQ_I64(hk_ok(status) ? 0 : hk_status_sequence(status), expected.failed[i]);
        CHECK_EQ_I64(values[i], expected.values[i]);
        hk_status_release(status);
    }
    atomic_store(&is_issued, true);
    pthread_join(thread, NULL);
    stop();
}

int main(void)
{
    test_chain();
    test_limit();
    test_queues();
    test_host();
    test_wait();
    test_fallible();
    test_checked();
    test_broken();
    test_healing();
    test_lost();
    test_end();
    test_serial();
    for (unsigned seed = 0; seed < 24; seed++)
        test_random(seed, seed >= 12);
    CHECK(atomic_load(&late_spared) > 0);
    return check_result();
}
