/* What the engine notes while it records: every kind of record for a small program, on both engines; one end
 * for each task, in the right order; who failed, and who never started. */
#include "base/hooks.h"
#include "base/sync.h"
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <hocket/runtime.h>
#include <pthread.h>
#include <stdlib.h>

enum { MAX_TASKS = 20000, LIMIT = 64 << 20 };

/* What was noted of one task, by sequence number. */
typedef struct story {
    int issues, readies, runs, lasts;
    uint64_t issue_ticks, ready_ticks, start_ticks, end_ticks, last_ticks;
    unsigned flags;  /* of the last */
    uint64_t pieces; /* a bit each */
    const hki_trace_issue_record *issue;
} story;

typedef struct tale {
    story stories[MAX_TASKS];
    int kinds[HKI_TRACE_KIND_COUNT], counters[HKI_TRACE_COUNTER_COUNT],
        waits[HKI_TRACE_WAIT_KIND_COUNT];
    int strange_count; /* records that should not be */
    uint64_t first_sequence;
    int64_t last_run_ahead;
    uint64_t run_ahead_ticks;
    const hki_trace_wait_record *wait[HKI_TRACE_WAIT_KIND_COUNT]; /* the latest */
    uint64_t vars[8];
    int var_count;
    int worker_runs; /* by threads that a device has named */
    char worker_name[32];
} tale;

static void hear_run(tale *t, const hki_trace_head *head)
{
    const hki_trace_run_record *run = (const void *)head;
    story *s = &t->stories[run->sequence % MAX_TASKS];
    bool repeated = s->pieces >> run->piece & 1;
    t->strange_count += run->begin_ticks > head->ticks || run->piece < 0 || repeated;
    s->pieces |= (uint64_t)1 << run->piece;
    if (!s->runs++ || run->begin_ticks < s->start_ticks)
        s->start_ticks = run->begin_ticks;
    if (head->ticks > s->end_ticks)
        s->end_ticks = head->ticks;
    if (head->flags & HKI_TRACE_LAST) {
        s->lasts++;
        s->flags = head->flags;
        s->last_ticks = head->ticks;
    } else if (head->flags) {
        t->strange_count++;
    }
}

static bool hear(void *context, const hki_trace_thread_info *thread, const hki_trace_head *head)
{
    tale *t = context;
    const hki_trace_task_record *task = (const void *)head;
    if (head->kind >= HKI_TRACE_KIND_COUNT)
        return false;
    t->kinds[head->kind]++;
    switch (head->kind) {
    case HKI_TRACE_ISSUE: {
        const hki_trace_issue_record *issue = (const void *)head;
        story *s = &t->stories[issue->sequence % MAX_TASKS];
        s->issues++;
        s->issue = issue;
        s->issue_ticks = head->ticks;
        break;
    }
    case HKI_TRACE_READY:
        t->stories[task->id % MAX_TASKS].readies++;
        t->stories[task->id % MAX_TASKS].ready_ticks = head->ticks;
        break;
    case HKI_TRACE_RUN:
        hear_run(t, head);
        if (thread->device >= 0) {
            t->worker_runs++;
            snprintf(t->worker_name, sizeof t->worker_name, "%s", thread->name);
        }
        break;
    case HKI_TRACE_WAIT: {
        const hki_trace_wait_record *wait = (const void *)head;
        t->strange_count += wait->begin_ticks > head->ticks;
        t->waits[wait->wait_kind]++;
        t->wait[wait->wait_kind] = wait;
        break;
    }
    case HKI_TRACE_VAR:
        if (t->var_count < 8)
            t->vars[t->var_count++] = task->id;
        break;
    case HKI_TRACE_COUNTER: {
        const hki_trace_counter_record *counter = (const void *)head;
        t->counters[counter->counter]++;
        t->strange_count += counter->value < 0;
        if (counter->counter == HKI_TRACE_RUN_AHEAD_CALLS && head->ticks > t->run_ahead_ticks) {
            t->last_run_ahead = counter->value;
            t->run_ahead_ticks = head->ticks;
        }
        break;
    }
    default:
        t->strange_count++;
    }
    return true;
}

/* Cores read their time stamps ahead of what they wait for: one may be some hundred ticks early. */
static bool not_after(uint64_t before, uint64_t after)
{
    enum { EARLY_TICKS = 3000 };
    return before <= after + EARLY_TICKS;
}

/* Ends the recording and checks what must hold of every task: `issued` of them, the first with this number. */
static tale *listen(uint64_t first_sequence, int issued)
{
    tale *t = calloc(1, sizeof *t);
    t->first_sequence = first_sequence;
    hki_trace *trace = hki_runtime_trace_end(hki_runtime_default());
    CHECK(trace && hki_trace_each(trace, hear, t));
    CHECK_EQ_I64(hki_trace_get_facts(trace).lost_records, 0);
    CHECK_EQ_I64(t->strange_count, 0);
    CHECK_EQ_I64(t->kinds[HKI_TRACE_ISSUE], issued);
    CHECK_EQ_I64(t->kinds[HKI_TRACE_READY], issued);
    int bad = 0;
    for (int i = 0; i < issued; i++) {
        const story *s = &t->stories[(first_sequence + (uint64_t)i) % MAX_TASKS];
        bool once = s->issues == 1 && s->readies == 1 && s->lasts == 1;
        bool in_order = not_after(s->issue_ticks, s->ready_ticks) &&
                        not_after(s->ready_ticks, s->start_ticks) &&
                        s->start_ticks <= s->end_ticks && not_after(s->end_ticks, s->last_ticks);
        bool whole =
            s->flags & HKI_TRACE_FAILED || (s->issue && (uint32_t)s->runs == s->issue->piece_count);
        if (!(once && in_order && whole) && !bad++)
            fprintf(stderr, "task %d: issues %d, readies %d, lasts %d, runs %d, in order %d\n", i,
                    s->issues, s->readies, s->lasts, s->runs, in_order);
    }
    CHECK_EQ_I64(bad, 0);
    return t;
}

/* ---- tasks ---------------------------------------------------------------------------------------------- */

static void nothing_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
}

static void slow_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    for (int64_t until = hki_clock_ns() + 200000; hki_clock_ns() < until;)
        hki_relax();
}

static void failing_run(hki_task *task, void *payload, int64_t piece)
{
    (void)payload;
    hki_task_fail(task, piece, HK_INJECTED, "on purpose");
}

static bool failing_prepare(hki_task *task, void *payload)
{
    (void)payload;
    hki_task_fail(task, 0, HK_INJECTED, "on purpose");
    return false;
}

static int two_operands(const void *payload, hki_trace_operand *operands, int limit)
{
    (void)payload, (void)limit;
    operands[0] = (hki_trace_operand){.dtype = HK_F32, .ndim = 2, .dims = {3, 5}};
    operands[1] = (hki_trace_operand){.dtype = HK_I64, .ndim = 0, .is_output = true};
    return 2;
}

static const hki_task_class nothing = {.run = nothing_run, .operands = two_operands},
                            slow = {.run = slow_run}, failing = {.run = failing_run},
                            unprepared = {.prepare = failing_prepare, .run = nothing_run};

static uint64_t issue(const hki_task_class *class, hki_var *var, unsigned mode, int64_t pieces)
{
    hki_task *task = hki_task_begin(hki_runtime_default(), 0, 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = class;
    spec->device = hk_device_default().handle;
    spec->operation = "test";
    spec->piece_count = pieces;
    spec->expected_ns = pieces == 1 ? 100 : 1000000;
    spec->accesses[0] = (hki_access){var, 0, 8, mode, 0};
    return hki_task_submit(task);
}

static void wait_for(hki_var *var)
{
    hk_status_release(wait_range(var, 0, 8, NULL, NULL));
}

/* A runtime that records from here on; what `options` says. */
static hki_runtime *begin(const hk_runtime_options *options)
{
    CHECK(hk_ok(hk_runtime_init(options)));
    hki_runtime *runtime = hki_runtime_default();
    CHECK(!hki_runtime_trace_begin(runtime, LIMIT));
    return runtime;
}

/* ---- the tests ---------------------------------------------------------------------------------------------- */

static void test_small_program(hk_engine engine, int64_t inline_ns)
{
    hki_var var;
    hki_runtime *runtime = begin(&(hk_runtime_options){.engine = engine, .inline_ns = inline_ns});
    hki_var_init(&var, runtime);
    hk_source_set("program.c", 7);
    uint64_t first = issue(&nothing, &var, HKI_WRITE | HKI_HEAL, 1);
    bool before = hki_trace_set_backward(true);
    uint64_t backward = issue(&slow, &var, HKI_READ, 3);
    hki_trace_set_backward(before);
    uint64_t last = issue(&nothing, &var, HKI_READ | HKI_WRITE, 1);
    hk_source_set("program.c", 8);
    wait_for(&var);
    hk_source_set("program.c", 9);
    hk_wait_device(hk_device_default());
    hk_wait_all();
    tale *t = listen(first, 3);
    CHECK_EQ_I64(backward, first + 1);
    CHECK_EQ_I64(last, first + 2);
    for (int i = 0; i < HKI_TRACE_KIND_COUNT; i++)
        CHECK(t->kinds[i] > 0 || i == HKI_TRACE_MODEL);
    CHECK_EQ_I64(t->kinds[HKI_TRACE_RUN], 5);
    for (int i = 0; i < HKI_TRACE_COUNTER_COUNT; i++)
        CHECK(t->counters[i] > 0);
    CHECK_EQ_I64(t->last_run_ahead, 0);
    CHECK_EQ_I64(t->var_count, 1);
    CHECK_EQ_I64(t->vars[0], (uintptr_t)&var);

    const hki_trace_issue_record *a = t->stories[first].issue, *b = t->stories[backward].issue;
    CHECK_STR(a->operation, "test");
    CHECK_STR(a->file, "program.c");
    CHECK_EQ_I64(a->line, 7);
    CHECK_EQ_I64(a->device, 0);
    CHECK(!a->is_backward && b->is_backward && !t->stories[last].issue->is_backward);
    CHECK_EQ_I64(b->piece_count, 3);
    CHECK_EQ_I64(b->operand_count, 0);
    CHECK_EQ_I64(a->access_count, 1);
    const hki_trace_access *access = (const void *)a->body;
    CHECK_EQ_I64(access->var, (uintptr_t)&var);
    CHECK(access->begin == 0 && access->end == 8 && access->mode == (HKI_WRITE | HKI_HEAL));
    CHECK_EQ_I64(a->operand_count, 2);
    const hki_trace_packed_operand *in = (const void *)(access + 1),
                                   *out = (const void *)&in->dims[2];
    CHECK(in->dtype == HK_F32 && in->ndim == 2 && in->dims[0] == 3 && in->dims[1] == 5);
    CHECK(out->dtype == HK_I64 && out->ndim == 0 && out->is_output && !in->is_output);
    CHECK((const char *)out->dims == (const char *)a + a->head.bytes);

    const hki_trace_wait_record *wait = t->wait[HKI_TRACE_WAIT_ARRAY];
    CHECK(t->waits[HKI_TRACE_WAIT_ARRAY] == 1 && t->waits[HKI_TRACE_WAIT_DEVICE] == 1 &&
          t->waits[HKI_TRACE_WAIT_ALL] == 1 && t->waits[HKI_TRACE_WAIT_WINDOW] == 0);
    CHECK_STR(wait->file, "program.c");
    CHECK_EQ_I64(wait->line, 8);
    CHECK_EQ_I64(wait->sequence, last);
    CHECK_EQ_I64(wait->device_plus_1, 0);
    CHECK(wait->head.ticks >= t->stories[last].ready_ticks);
    CHECK_EQ_I64(t->wait[HKI_TRACE_WAIT_DEVICE]->device_plus_1, 1);
    CHECK_EQ_I64(t->wait[HKI_TRACE_WAIT_ALL]->line, 9);
    if (inline_ns < 0 && engine != HK_ENGINE_SERIAL && t->worker_runs > 0)
        CHECK(!strncmp(t->worker_name, "cpu:0 core ", 11));
    if (engine == HK_ENGINE_SERIAL)
        CHECK_EQ_I64(t->worker_runs, 0);
    free(t);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

static void test_failures(hk_engine engine)
{
    hki_var a, b, c;
    hki_runtime *runtime = begin(&(hk_runtime_options){.engine = engine});
    hki_var_init(&a, runtime);
    hki_var_init(&b, runtime);
    hki_var_init(&c, runtime);
    uint64_t root = issue(&failing, &a, HKI_WRITE, 1);
    uint64_t skipped = issue(&slow, &a, HKI_READ, 4); /* none of its pieces starts */
    uint64_t pieces = issue(&failing, &b, HKI_WRITE, 4);
    uint64_t prepared = issue(&unprepared, &c, HKI_WRITE, 2);
    uint64_t healed = issue(&nothing, &a, HKI_WRITE | HKI_HEAL, 1);
    hk_wait_all();
    tale *t = listen(root, 5);
    const unsigned failed = HKI_TRACE_LAST | HKI_TRACE_FAILED;
    CHECK_EQ_I64(t->stories[root].flags, failed);
    CHECK_EQ_I64(t->stories[skipped].flags, failed | HKI_TRACE_SKIPPED);
    CHECK_EQ_I64(t->stories[skipped].runs, 1);
    CHECK_EQ_I64(t->stories[pieces].flags, failed);
    CHECK_EQ_I64(t->stories[pieces].pieces, 15);
    CHECK_EQ_I64(t->stories[prepared].flags, failed); /* its inputs were well */
    CHECK_EQ_I64(t->stories[prepared].runs, 1);
    CHECK_EQ_I64(t->stories[healed].flags, HKI_TRACE_LAST);
    free(t);
    hki_var_deinit(&a);
    hki_var_deinit(&b);
    hki_var_deinit(&c);
    hk_runtime_deinit();
}

typedef struct issuer {
    hki_var *vars;
    unsigned seed;
} issuer;

enum { ISSUER_TASKS = 3000, ISSUER_VARS = 6 };

static void *issuer_main(void *argument)
{
    issuer *self = argument;
    unsigned state = self->seed;
    for (int i = 0; i < ISSUER_TASKS; i++) {
        state = state * 1664525 + 1013904223;
        issue(&nothing, &self->vars[state >> 16 & 3], state >> 24 & 1 ? HKI_WRITE : HKI_READ,
              state >> 26 & 7 ? 1 : 1 + (state >> 20 & 7));
        if (i % 500 == 0)
            wait_for(&self->vars[1]);
    }
    return NULL;
}

/* Several threads issue, workers and waiting threads run: each task has its issue, ready and last. */
static void test_many(hk_engine engine, int devices, uint64_t run_ahead)
{
    enum { ISSUERS = 3 };
    pthread_t threads[ISSUERS];
    issuer issuers[ISSUERS];
    hki_var vars[ISSUER_VARS];
    hki_runtime *runtime = begin(&(hk_runtime_options){
        .engine = engine, .cpu_devices = devices, .inline_ns = -1, .run_ahead_calls = run_ahead});
    for (int i = 0; i < ISSUER_VARS; i++)
        hki_var_init(&vars[i], runtime);
    for (int i = 0; i < ISSUERS; i++) {
        issuers[i] = (issuer){vars, (unsigned)i + 1};
        CHECK(!pthread_create(&threads[i], NULL, issuer_main, &issuers[i]));
    }
    for (int i = 0; i < ISSUERS; i++)
        pthread_join(threads[i], NULL);
    hk_wait_all();
    tale *t = listen(1, ISSUERS * ISSUER_TASKS);
    CHECK_EQ_I64(t->last_run_ahead, 0);
    CHECK_EQ_I64(t->waits[HKI_TRACE_WAIT_WINDOW], hk_runtime_get_stats().window_waits);
    CHECK_EQ_I64(t->waits[HKI_TRACE_WAIT_WORKERS], hk_runtime_get_internals().worker_waits);
    CHECK(run_ahead > 100 || engine == HK_ENGINE_SERIAL || t->waits[HKI_TRACE_WAIT_WINDOW] > 0);
    free(t);
    for (int i = 0; i < ISSUER_VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

static atomic_int held; /* a task that waits until this is 0 */

static void held_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    for (unsigned times = 0; atomic_load(&held);)
        hki_relax_or_yield(&times);
}

/* Who is far ahead of short calls that cannot run lets the workers catch up for a moment, and then goes on: neither is it
 * a full window, nor does it last. */
static void test_far_ahead(uint64_t run_ahead, int issued, bool waits)
{
    static const hki_task_class holding = {.run = held_run};
    hki_var var;
    hki_runtime *runtime =
        begin(&(hk_runtime_options){.inline_ns = -1, .run_ahead_calls = run_ahead});
    hki_var_init(&var, runtime);
    atomic_store(&held, 1);
    uint64_t first = issue(&holding, &var, HKI_WRITE, 2); /* long, so that it stays with workers */
    for (int i = 1; i < issued; i++)
        issue(&nothing, &var, HKI_WRITE, 1);
    atomic_store(&held, 0);
    hk_wait_all();
    tale *t = listen(first, issued);
    CHECK_EQ_I64(t->waits[HKI_TRACE_WAIT_WINDOW], 0);
    CHECK_EQ_I64(hk_runtime_get_stats().window_waits, 0);
    CHECK((t->waits[HKI_TRACE_WAIT_WORKERS] > 0) == waits);
    CHECK_EQ_I64(t->waits[HKI_TRACE_WAIT_WORKERS], hk_runtime_get_internals().worker_waits);
    free(t);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

/* Recordings begin and end while tasks are issued and run: nothing is torn, and nothing is waited for. */
static void test_amid(void)
{
    hki_var vars[ISSUER_VARS];
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.inline_ns = -1})));
    hki_runtime *runtime = hki_runtime_default();
    CHECK(!hki_runtime_trace_end(runtime));
    for (int i = 0; i < ISSUER_VARS; i++)
        hki_var_init(&vars[i], runtime);
    pthread_t thread;
    issuer self = {vars, 1};
    CHECK(!pthread_create(&thread, NULL, issuer_main, &self));
    tale *t = calloc(1, sizeof *t);
    for (int i = 0; i < 50; i++) {
        CHECK(!hki_runtime_trace_begin(runtime, LIMIT));
        struct timespec nap = {0, 100000};
        nanosleep(&nap, NULL);
        hki_trace *trace = hki_runtime_trace_end(runtime);
        *t = (tale){0};
        CHECK(hki_trace_each(trace, hear, t));
        CHECK_EQ_I64(t->strange_count, 0);
    }
    free(t);
    pthread_join(thread, NULL);
    hk_wait_all();
    for (int i = 0; i < ISSUER_VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

static int started_count, ending_count;

static void on_started(hki_runtime *runtime)
{
    started_count++;
    CHECK(!hki_runtime_trace_begin(runtime, LIMIT));
}

static void on_ending(hki_runtime *runtime)
{
    ending_count++;
    tale *t = calloc(1, sizeof *t);
    hki_trace *trace = hki_runtime_trace_end(runtime);
    CHECK(trace && hki_trace_each(trace, hear, t));
    CHECK_EQ_I64(t->kinds[HKI_TRACE_ISSUE], 100);
    int lasts = 0;
    for (int i = 1; i <= 100; i++)
        lasts += t->stories[i].lasts;
    CHECK_EQ_I64(lasts, 100); /* cancelled or not, they have ended */
    free(t);
}

static void test_hooks(void)
{
    hki_var var;
    hki_hooks.runtime_started = on_started;
    hki_hooks.runtime_ending = on_ending;
    CHECK(!hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = -1})));
    CHECK(started_count == 0 && ending_count == 0); /* it did not start */
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2})));
    hki_runtime *runtime = hki_runtime_default();
    int count;
    hki_device *const *devices = hki_runtime_devices(runtime, &count);
    CHECK_EQ_I64(count, 2);
    CHECK_STR(devices[1]->name, "cpu:1");
    const hk_status *error = hki_runtime_trace_begin(runtime, LIMIT);
    CHECK(error && hk_status_code(error) == HK_INVALID_ARGUMENT); /* one is under way */
    hk_status_release(error);
    hki_runtime_retain(runtime);
    hki_var_init(&var, runtime);
    for (int i = 0; i < 100; i++)
        issue(&slow, &var, HKI_WRITE, 1);
    hk_runtime_deinit();
    CHECK(started_count == 1 && ending_count == 1);
    error = hki_runtime_trace_begin(runtime, LIMIT);
    CHECK_EQ_I64(hk_status_code(error), HK_CANCELLED);
    hk_status_release(error);
    hki_var_deinit(&var);
    hki_runtime_release(runtime);
    hki_hooks.runtime_started = NULL;
    hki_hooks.runtime_ending = NULL;
}

int main(void)
{
    test_small_program(HK_ENGINE_ASYNC, 4000);
    test_small_program(HK_ENGINE_ASYNC, -1);
    test_small_program(HK_ENGINE_SERIAL, 0);
    test_failures(HK_ENGINE_ASYNC);
    test_failures(HK_ENGINE_SERIAL);
    test_many(HK_ENGINE_ASYNC, 1, 4096);
    test_many(HK_ENGINE_ASYNC, 2, 20);
    test_many(HK_ENGINE_SERIAL, 1, 4096);
    test_far_ahead(8192, 4000, true);
    test_far_ahead(8192, 200, false);
    test_amid();
    test_hooks();
    return check_result();
}
