/* Trace buffers: records come back whole and in the order of their thread; what does not fit is counted
 * exactly; memory goes round from one recording to the next; recording may end while threads write. */
#include "base/trace.h"
#include "tests/check.h"

#include <pthread.h>
#include <stdlib.h>

enum { CHUNK = 64 << 10, MAX_THREADS = 16 };

/* ---- records that can be told to be whole ------------------------------------------------------------- */

static bool write_run(hki_trace *trace, uint64_t sequence)
{
    hki_trace_run_record *record = hki_trace_reserve(trace, HKI_TRACE_RUN, sizeof *record);
    if (!record)
        return false;
    record->sequence = sequence;
    record->piece = (int64_t)~sequence;
    record->begin_ticks = sequence * 3;
    record->head.ticks = hki_ticks();
    hki_trace_commit(trace, record);
    return true;
}

typedef struct seen {
    int count, thread_count, broken_count;
    int counts[MAX_THREADS]; /* by the thread's number */
    uint64_t first[MAX_THREADS], next[MAX_THREADS], ticks[MAX_THREADS];
    hki_trace_thread_info threads[MAX_THREADS];
    bool may_skip; /* sequence numbers need only ascend */
    uint64_t bytes;
    uint32_t last_flags;
} seen;

static bool see(void *context, const hki_trace_thread_info *thread, const hki_trace_head *head)
{
    seen *s = context;
    const hki_trace_run_record *record = (const void *)head;
    int n = thread->number;
    if (n < 0 || n >= MAX_THREADS || head->kind != HKI_TRACE_RUN || head->bytes != sizeof *record) {
        s->broken_count++;
        return false;
    }
    if (!s->counts[n]++) {
        s->thread_count++;
        s->threads[n] = *thread;
        s->first[n] = record->sequence;
    } else if (s->may_skip ? record->sequence < s->next[n] : record->sequence != s->next[n]) {
        s->broken_count++;
    }
    if (record->begin_ticks != record->sequence * 3 ||
        record->piece != (int64_t)~record->sequence || head->ticks < s->ticks[n])
        s->broken_count++;
    s->next[n] = record->sequence + 1;
    s->ticks[n] = head->ticks;
    s->last_flags = head->flags;
    s->bytes += head->bytes;
    s->count++;
    return true;
}

static seen read_all(hki_trace *trace)
{
    seen s = {0};
    CHECK(hki_trace_each(trace, see, &s));
    CHECK_EQ_I64(s.broken_count, 0);
    CHECK_EQ_I64(hki_trace_get_facts(trace).used_bytes, s.bytes);
    return s;
}

/* ---- one thread ------------------------------------------------------------------------------------------ */

typedef struct sizes {
    uint64_t count;
    bool is_broken;
} sizes;

static size_t size_of(uint64_t i)
{
    return sizeof(hki_trace_task_record) + i * 7919 % 500 * 8;
}

static bool see_size(void *context, const hki_trace_thread_info *thread, const hki_trace_head *head)
{
    sizes *s = context;
    (void)thread;
    const hki_trace_task_record *record = (const void *)head;
    const uint64_t *last = (const void *)((const char *)head + head->bytes - 8);
    s->is_broken |= record->id != s->count || head->bytes != size_of(s->count) ||
                    head->kind != HKI_TRACE_ISSUE ||
                    (head->bytes > sizeof *record && *last != s->count);
    s->count++;
    return true;
}

static bool stop_at_three(void *context, const hki_trace_thread_info *thread,
                          const hki_trace_head *head)
{
    (void)thread, (void)head;
    return ++*(int *)context < 3;
}

static void test_order(void)
{
    enum { COUNT = 3000 }; /* of any size: many chunks, whose ends they do not meet */
    hki_trace *trace = hki_trace_create(64 << 20);
    CHECK(!hki_trace_reserve(trace, HKI_TRACE_RUN, 48)); /* not recording yet */
    hki_trace_begin(trace);
    for (uint64_t i = 0; i < COUNT; i++) {
        hki_trace_task_record *record = hki_trace_reserve(trace, HKI_TRACE_ISSUE, size_of(i));
        if (i % 100 == 0) { /* never committed: as if it had not been */
            record->id = UINT64_MAX;
            record = hki_trace_reserve(trace, HKI_TRACE_ISSUE, size_of(i));
        }
        *(uint64_t *)(void *)((char *)record + size_of(i) - 8) = i;
        record->id = i;
        record->head.ticks = hki_ticks();
        hki_trace_commit(trace, record);
    }
    hki_trace_end(trace);
    sizes s = {0};
    CHECK(hki_trace_each(trace, see_size, &s));
    CHECK_EQ_I64(s.count, COUNT);
    CHECK(!s.is_broken);
    int three = 0;
    CHECK(!hki_trace_each(trace, stop_at_three, &three));
    CHECK_EQ_I64(three, 3);
    hki_trace_facts facts = hki_trace_get_facts(trace);
    CHECK(facts.begin_ticks < facts.end_ticks && facts.begin_ns < facts.end_ns);
    CHECK_EQ_I64(facts.lost_records, 0);
    CHECK_EQ_I64(facts.limit_bytes, 64 << 20);
    hki_trace_destroy(trace);
}

static void test_limit(void)
{
    enum { COUNT = 10000 };
    const uint64_t limits[] = {0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        hki_trace *trace = hki_trace_create(limits[i]);
        hki_trace_begin(trace);
        uint64_t written = 0;
        for (uint64_t j = 0; j < COUNT; j++)
            written += write_run(trace, j);
        hki_trace_end(trace);
        seen s = read_all(trace);
        CHECK_EQ_I64(s.count, written);
        CHECK_EQ_I64(s.first[0], 0); /* the first that came, without a gap */
        CHECK_EQ_I64(hki_trace_get_facts(trace).lost_records, COUNT - written);
        CHECK(s.bytes <= limits[i] && s.bytes >= limits[i] / CHUNK * (CHUNK - 100));
        hki_trace_destroy(trace);
    }
}

static void test_too_large(void)
{
    hki_trace *trace = hki_trace_create(4 * CHUNK);
    hki_trace_begin(trace);
    CHECK(write_run(trace, 0));
    CHECK(!hki_trace_reserve(trace, HKI_TRACE_ISSUE, CHUNK)); /* no chunk holds it */
    CHECK(write_run(trace, 1));
    hki_trace_end(trace);
    CHECK_EQ_I64(read_all(trace).count, 2);
    CHECK_EQ_I64(hki_trace_get_facts(trace).lost_records, 1);
    CHECK(hki_trace_get_facts(trace).used_bytes < CHUNK);
    hki_trace_destroy(trace);
}

static void test_late_writes(void)
{
    hki_trace *trace = hki_trace_create(4 * CHUNK);
    hki_trace_begin(trace);
    write_run(trace, 0);
    hki_trace_run_record *late = hki_trace_reserve(trace, HKI_TRACE_RUN, sizeof *late);
    hki_trace_end(trace);
    late->sequence = 1;
    hki_trace_commit(trace, late);
    hki_trace_amend(trace, late, 5, HKI_TRACE_LAST); /* somebody may be reading: left as it is */
    CHECK_EQ_I64(late->head.flags, 0);
    for (uint64_t i = 0; i < 100000; i++)
        write_run(trace, 7);
    CHECK_EQ_I64(read_all(trace).count, 1);
    CHECK_EQ_I64(hki_trace_get_facts(trace).lost_records, 0);
    hki_trace_end(trace); /* again: nothing changes */
    CHECK_EQ_I64(read_all(trace).count, 1);

    hki_trace_begin(trace);
    late = hki_trace_reserve(trace, HKI_TRACE_RUN, sizeof *late);
    late->sequence = 0, late->begin_ticks = 0, late->piece = -1, late->head.ticks = 1;
    hki_trace_commit(trace, late);
    hki_trace_amend(trace, late, 2, HKI_TRACE_LAST | HKI_TRACE_FAILED);
    hki_trace_end(trace);
    seen s = read_all(trace);
    CHECK_EQ_I64(s.count, 1);
    CHECK_EQ_I64(s.last_flags, HKI_TRACE_LAST | HKI_TRACE_FAILED);
    CHECK_EQ_I64(s.ticks[0], 2);
    hki_trace_destroy(trace);
}

/* One thread, two traces in turn; a trace that comes where another one was knows nothing of it. */
static void test_two_traces(void)
{
    hki_trace *a = hki_trace_create(8 * CHUNK), *b = hki_trace_create(8 * CHUNK);
    hki_trace_begin(a);
    hki_trace_begin(b);
    for (uint64_t i = 0; i < 1000; i++)
        CHECK(write_run(a, i) && write_run(b, i));
    hki_trace_end(a);
    hki_trace_end(b);
    CHECK_EQ_I64(read_all(a).count, 1000);
    CHECK_EQ_I64(read_all(b).count, 1000);
    CHECK_EQ_I64(read_all(a).thread_count, 1);
    for (int i = 0; i < 20; i++) {
        hki_trace_destroy(a);
        a = hki_trace_create(8 * CHUNK);
        hki_trace_begin(a);
        for (uint64_t j = 0; j < 100; j++)
            CHECK(write_run(a, j));
        hki_trace_end(a);
        CHECK_EQ_I64(read_all(a).count, 100);
    }
    hki_trace_destroy(a);
    hki_trace_destroy(b);
}

/* ---- many threads ------------------------------------------------------------------------------------------ */

typedef struct writer {
    hki_trace *trace;
    pthread_t thread;
    int index;
    uint64_t count, written;
    bool is_backward;
    _Atomic(bool) *stop; /* NULL: writes count records */
} writer;

static void *writer_main(void *argument)
{
    writer *w = argument;
    char name[80];
    snprintf(name, sizeof name, "cpu:%d core %d and more than there is room for", w->index,
             w->index);
    if (w->index % 2)
        hki_trace_name_thread(name, w->index, 0, w->index);
    w->is_backward = hki_trace_set_backward(true) || !hki_trace_is_backward();
    if (w->stop)
        for (uint64_t i = 0; !atomic_load(w->stop); i++)
            w->written += write_run(w->trace, i);
    else
        for (uint64_t i = 0; i < w->count; i++)
            w->written += write_run(w->trace, i);
    return NULL;
}

static void start(writer *writers, int count, const writer *like)
{
    for (int i = 0; i < count; i++) {
        writers[i] = *like;
        writers[i].index = i;
        CHECK(!pthread_create(&writers[i].thread, NULL, writer_main, &writers[i]));
    }
}

/* Returns how many records they wrote. */
static uint64_t finish(writer *writers, int count)
{
    uint64_t written = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(writers[i].thread, NULL);
        written += writers[i].written;
        CHECK(!writers[i].is_backward);
    }
    return written;
}

static void test_threads(uint64_t limit_bytes, bool is_enough)
{
    enum { COUNT = 8, EACH = 20000 };
    writer writers[COUNT];
    hki_trace *trace = hki_trace_create(limit_bytes);
    hki_trace_begin(trace);
    start(writers, COUNT, &(writer){.trace = trace, .count = EACH});
    uint64_t written = finish(writers, COUNT);
    hki_trace_end(trace);
    seen s = read_all(trace);
    CHECK_EQ_I64(s.count, written);
    CHECK_EQ_I64(hki_trace_get_facts(trace).lost_records, COUNT * EACH - written);
    CHECK_EQ_I64(is_enough, written == COUNT * EACH);
    CHECK(s.bytes <= limit_bytes);
    if (is_enough) {
        CHECK_EQ_I64(s.thread_count, COUNT);
        int unnamed = 0;
        for (int i = 0; i < COUNT; i++) {
            const hki_trace_thread_info *info = &s.threads[i];
            char name[80];
            CHECK_EQ_I64(s.counts[i], EACH);
            if (info->device < 0)
                snprintf(name, sizeof name, "thread %d", ++unnamed);
            else
                snprintf(name, sizeof name, "cpu:%d core %d and more than ther", info->device,
                         info->worker);
            CHECK_STR(info->name, name);
        }
        CHECK_EQ_I64(unnamed, COUNT / 2);
    }
    CHECK(!hki_trace_is_backward()); /* that was theirs */
    hki_trace_destroy(trace);
}

/* Just enough memory for one recording is enough for any number of them, whoever had it before. */
static void test_reuse(void)
{
    enum { THREADS = 3, CHUNKS = 4 };
    const uint64_t each = CHUNKS * (CHUNK - 100) / sizeof(hki_trace_run_record);
    writer writers[THREADS];
    /* One chunk more: this thread, too, keeps the one that it is at. */
    hki_trace *trace = hki_trace_create((THREADS * CHUNKS + 1) * CHUNK);
    for (int i = 0; i < 5; i++) {
        hki_trace_begin(trace);
        start(writers, THREADS, &(writer){.trace = trace, .count = each});
        finish(writers, THREADS);
        hki_trace_end(trace);
        CHECK_EQ_I64(read_all(trace).count, THREADS * each);
        CHECK_EQ_I64(hki_trace_get_facts(trace).lost_records, 0);

        hki_trace_begin(trace); /* all of it for this thread */
        for (uint64_t j = 0; j < THREADS * each; j++)
            write_run(trace, j);
        hki_trace_end(trace);
        seen s = read_all(trace);
        CHECK_EQ_I64(s.count, THREADS * each);
        CHECK_EQ_I64(s.thread_count, 1);
        CHECK_EQ_I64(s.threads[0].number, 0);
        CHECK_STR(s.threads[0].name, "thread 1");
    }
    hki_trace_set_limit(trace, CHUNK);
    for (int i = 0; i < 2; i++) { /* what there is beyond the limit goes */
        hki_trace_begin(trace);
        for (uint64_t j = 0; j < each; j++)
            write_run(trace, j);
        hki_trace_end(trace);
        seen s = read_all(trace);
        CHECK(s.count > 0 && s.bytes <= CHUNK);
        CHECK_EQ_I64(hki_trace_get_facts(trace).lost_records, each - (uint64_t)s.count);
    }
    hki_trace_begin(trace); /* nobody writes */
    hki_trace_end(trace);
    CHECK_EQ_I64(read_all(trace).count, 0);
    hki_trace_destroy(trace);
}

static void test_while_writing(uint64_t limit_bytes)
{
    enum { COUNT = 4, RECORDINGS = 100 };
    writer writers[COUNT];
    _Atomic(bool) stop = false;
    hki_trace *trace = hki_trace_create(limit_bytes);
    start(writers, COUNT, &(writer){.trace = trace, .stop = &stop});
    int with_records = 0, broken = 0;
    for (int i = 0; i < RECORDINGS || !with_records; i++) {
        hki_trace_begin(trace);
        struct timespec nap = {0, 200000};
        nanosleep(&nap, NULL);
        hki_trace_end(trace);
        /* A lost record leaves a gap only at the end of what a thread wrote. */
        seen s = {0};
        hki_trace_each(trace, see, &s);
        broken += s.broken_count;
        with_records += s.count > 0;
        CHECK_EQ_I64(hki_trace_get_facts(trace).used_bytes, s.bytes);
        CHECK(s.bytes <= limit_bytes && s.thread_count <= COUNT);
    }
    CHECK_EQ_I64(broken, 0);
    atomic_store(&stop, true);
    finish(writers, COUNT);
    hki_trace_destroy(trace);
}

/* Threads that outlive a trace, and then write to another one. */
static void *outlive_main(void *argument)
{
    pthread_barrier_t *barrier = ((void **)argument)[0];
    for (int i = 0; i < 3; i++) {
        pthread_barrier_wait(barrier);
        write_run(((void **)argument)[1], 0);
        pthread_barrier_wait(barrier);
    }
    return NULL;
}

static void test_outlive(void)
{
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    void *shared[2] = {&barrier, NULL};
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, outlive_main, shared));
    for (int i = 0; i < 3; i++) {
        hki_trace *trace = shared[1] = hki_trace_create(CHUNK);
        hki_trace_begin(trace);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        hki_trace_end(trace);
        CHECK_EQ_I64(read_all(trace).count, 1);
        hki_trace_destroy(trace);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
}

int main(void)
{
    test_order();
    test_limit();
    test_too_large();
    test_late_writes();
    test_two_traces();
    test_threads(64 << 20, true);
    test_threads(20 * CHUNK, false);
    test_threads(3 * CHUNK, false);
    test_reuse();
    test_while_writing(64 << 20);
    test_while_writing(3 * CHUNK);
    test_outlive();
    return check_result();
}
