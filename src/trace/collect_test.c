/* Collecting: hand-made records of two threads, a core and a simulated device; records that are missing; a program. */
#include "tests/check.h"
#include "trace/collect.h"
#include "trace/timeline_fixture.h"

#include <hocket/hocket.h>

/* ---- records by hand: one tick is 2 ns, begun at tick 1000, 5000 on the clock ------------------------------- */

enum { MOST_RECORDS = 64, RECORD_WORDS = 48 };

static const hki_trace_thread_info threads[] = {
    {.name = "thread 1", .device = -1, .number = 0},
    {.name = "cpu:0 core 0", .device = 0, .number = 1},
    {.name = "sim:0 compute", .device = 1, .queue = 0, .number = 2},
    {.name = "idle", .device = -1, .number = 3},
};

static struct {
    uint64_t words[MOST_RECORDS][RECORD_WORDS];
    int thread[MOST_RECORDS], count;
} notes;

static void *put_record(int thread, hki_trace_kind kind, size_t bytes, uint64_t ticks, int flags)
{
    hki_trace_head *head = (void *)notes.words[notes.count];
    memset(head, 0, sizeof notes.words[0]);
    *head = (hki_trace_head){(uint32_t)bytes, (uint16_t)kind, (uint16_t)flags, 1000 + ticks};
    notes.thread[notes.count++] = thread;
    return head;
}

static hki_trace_issue_record *issue(uint64_t sequence, uint64_t ticks, const char *operation,
                                     int device, int queue)
{
    hki_trace_issue_record *record = put_record(0, HKI_TRACE_ISSUE, sizeof *record, ticks, 0);
    record->sequence = sequence;
    record->operation = operation;
    record->file = "hand.c";
    record->line = (int)sequence;
    record->device = (uint16_t)device;
    record->queue = (uint8_t)queue;
    record->piece_count = 1;
    return record;
}

/* Accesses come before operands. */
static void add_access(hki_trace_issue_record *record, uint64_t var, uint64_t end, uint32_t mode)
{
    ((hki_trace_access *)(void *)record->body)[record->access_count++] =
        (hki_trace_access){var, 0, end, mode, 0};
    record->head.bytes += (uint32_t)sizeof(hki_trace_access);
}

static void add_operand(hki_trace_issue_record *record, hk_dtype dtype, hk_dims shape,
                        bool is_output)
{
    hki_trace_packed_operand *operand = (void *)((char *)record + record->head.bytes);
    operand->dtype = (uint8_t)dtype;
    operand->ndim = (int8_t)shape.ndim;
    operand->is_output = is_output;
    memcpy(operand->dims, shape.dims, (size_t)shape.ndim * sizeof *shape.dims);
    record->head.bytes += (uint32_t)(sizeof *operand + (size_t)shape.ndim * sizeof(int64_t));
    record->operand_count++;
}

static void run_piece(int thread, uint64_t sequence, int64_t piece, uint64_t begin, uint64_t end,
                      int flags)
{
    hki_trace_run_record *record = put_record(thread, HKI_TRACE_RUN, sizeof *record, end, flags);
    record->sequence = sequence;
    record->begin_ticks = 1000 + begin;
    record->piece = piece;
}

static void note_task(int thread, hki_trace_kind kind, uint64_t id, uint64_t ticks)
{
    hki_trace_task_record *record = put_record(thread, kind, sizeof *record, ticks, 0);
    record->id = id;
}

static void note_wait(hki_trace_wait_kind kind, int device, uint64_t sequence, uint64_t begin,
                      uint64_t end)
{
    hki_trace_wait_record *record = put_record(0, HKI_TRACE_WAIT, sizeof *record, end, 0);
    record->begin_ticks = 1000 + begin;
    record->sequence = sequence;
    record->file = "hand.c";
    record->line = 99;
    record->wait_kind = (uint8_t)kind;
    record->device_plus_1 = (uint8_t)(device + 1);
}

static void note_model(uint64_t sequence, int64_t begin_ns, int64_t end_ns)
{
    hki_trace_model_record *record = put_record(2, HKI_TRACE_MODEL, sizeof *record, 0, 0);
    record->sequence = sequence;
    record->begin_ns = begin_ns;
    record->end_ns = end_ns;
}

static void note_counter(hki_trace_counter counter, int device, uint64_t ticks, int64_t value)
{
    hki_trace_counter_record *record = put_record(0, HKI_TRACE_COUNTER, sizeof *record, ticks, 0);
    record->counter = (uint16_t)counter;
    record->device = (uint16_t)device;
    record->value = value;
}

/* Thread by thread, as hki_trace_each does. */
static bool each_note(hki_trace *trace,
                      bool (*visit)(void *context, const hki_trace_thread_info *thread,
                                    const hki_trace_head *record),
                      void *context)
{
    (void)trace;
    for (int thread = 0; thread < 4; thread++)
        for (int i = 0; i < notes.count; i++)
            if (notes.thread[i] == thread &&
                !visit(context, &threads[thread], (const void *)notes.words[i]))
                return false;
    return true;
}

static hki_timeline *collect_notes_of(hki_collect_device accelerator)
{
    const hki_collect_device devices[] = {{"cpu:0", false, false, 1}, accelerator};
    const hki_collect_source source = {.each = each_note,
                                       .facts = {.begin_ticks = 1000,
                                                 .end_ticks = 2000,
                                                 .begin_ns = 5000,
                                                 .end_ns = 7000,
                                                 .lost_records = 4,
                                                 .limit_bytes = 65536},
                                       .devices = devices,
                                       .device_count = 2,
                                       .title = "by hand"};
    hki_timeline *timeline = hki_timeline_collect(&source);
    CHECK(timeline);
    if (!timeline)
        exit(check_result());
    check_timeline(timeline);
    notes.count = 0;
    return timeline;
}

static hki_timeline *collect_notes(void)
{
    return collect_notes_of((hki_collect_device){"sim:0", true, true, 3});
}

static int dependency(const hki_timeline *timeline, int call, int index)
{
    CHECK(index < timeline->calls[call].dependency_count);
    return timeline->dependencies[timeline->calls[call].first_dependency + index];
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

static void note_a_little_of_everything(void)
{
    enum { VAR = 64, OTHER = 128 };
    hki_trace_issue_record *record = issue(10, 10, "fill", 0, 0);
    add_access(record, VAR, 24, 2);
    add_operand(record, HK_F32, hk_shape(2, 3), true);
    record->piece_count = 2;
    record = issue(11, 20, "copy", 1, 1);
    add_access(record, VAR, 24, 1);
    add_access(record, OTHER, 24, 2);
    add_operand(record, HK_F32, hk_shape(2, 3), false);
    add_operand(record, HK_I64, hk_shape(7), false);
    add_operand(record, HK_F32, hk_shape(), true);
    record->is_collective = record->is_backward = record->is_update = true;
    note_wait(HKI_TRACE_WAIT_DEVICE, 1, 11, 30, 400);
    note_wait(HKI_TRACE_WAIT_ALL, -1, 11, 410, 420);
    note_task(0, HKI_TRACE_READY, 10, 12);
    run_piece(0, 10, 1, 40, 90, 0);
    run_piece(1, 10, 0, 35, 100, HKI_TRACE_LAST);
    note_task(1, HKI_TRACE_READY, 11, 101);
    run_piece(2, 11, 0, 110, 390, HKI_TRACE_LAST);
    note_model(11, 5205, 5600);
    note_counter(HKI_TRACE_MEMORY_BYTES, 1, 300, 24);
    note_counter(HKI_TRACE_MEMORY_BYTES, 1, 110, 48);
    note_counter(HKI_TRACE_RUN_AHEAD_CALLS, 0, 20, 2);
    note_task(3, HKI_TRACE_VAR, 4096, 5);
}

static void calls_of_everything(const hki_timeline *timeline)
{
    CHECK_EQ_I64(timeline->call_count, 2);
    const hki_call_event *fill = &timeline->calls[0], *copy = &timeline->calls[1];
    CHECK_EQ_I64(fill->sequence, 10);
    CHECK_STR(fill->operation, "fill");
    CHECK_STR(fill->shapes, "-> float32(2,3)");
    CHECK_STR(fill->file, "hand.c");
    CHECK_EQ_I64(fill->line, 10);
    CHECK_EQ_I64(fill->issue_ns, 20);
    CHECK_EQ_I64(fill->ready_ns, 24);
    CHECK_EQ_I64(fill->start_ns, 70);
    CHECK_EQ_I64(fill->end_ns, 200);
    CHECK_EQ_I64(fill->wall_start_ns, 70);
    CHECK_EQ_I64(fill->bytes, 24);
    CHECK_EQ_I64(fill->dependency_count, 0);
    CHECK(!fill->is_failed && !fill->is_collective && !fill->is_backward && !fill->is_update);
    CHECK_STR(copy->shapes, "float32(2,3), int64(7,) -> float32()");
    CHECK_EQ_I64(copy->ready_ns, 202);
    CHECK_EQ_I64(copy->start_ns, 205);
    CHECK_EQ_I64(copy->end_ns, 600);
    CHECK_EQ_I64(copy->wall_start_ns, 220);
    CHECK_EQ_I64(copy->wall_end_ns, 780);
    CHECK_EQ_I64(copy->bytes, 48);
    CHECK_EQ_I64(copy->dependency_count, 1);
    CHECK_EQ_I64(dependency(timeline, 1, 0), 0);
    CHECK(copy->is_collective && copy->is_backward && copy->is_update);
    CHECK_STR(timeline->queues[copy->queue].device, "sim:0");
    CHECK_STR(timeline->queues[copy->queue].name, "copy in");
    CHECK(timeline->queues[copy->queue].is_copy && timeline->queues[copy->queue].is_simulated);
}

static void check_lane(const hki_timeline *timeline, int lane, const char *process,
                       const char *name)
{
    CHECK_STR(timeline->lanes[lane].process, process);
    CHECK_STR(timeline->lanes[lane].name, name);
    CHECK(timeline->lanes[lane].is_simulated == !strncmp(process, "sim", 3));
}

static void everything_is_collected(void)
{
    note_a_little_of_everything();
    hki_timeline *timeline = collect_notes();
    CHECK_STR(timeline->title, "by hand");
    CHECK_EQ_I64(timeline->duration_ns, 2000);
    CHECK_EQ_I64(timeline->lost_records, 4);
    calls_of_everything(timeline);
    /* Who only noted a variable has no lane. */
    CHECK_EQ_I64(timeline->lane_count, 5);
    check_lane(timeline, 0, "host", "thread 1");
    check_lane(timeline, 1, "cpu:0", "core 0");
    check_lane(timeline, 2, "sim:0", "compute");
    check_lane(timeline, 3, "sim:0", "copy in");
    check_lane(timeline, 4, "sim:0", "copy out");
    CHECK_EQ_I64(timeline->slice_count, 3);
    const hki_trace_slice expected[] = {
        {0, 0, 1, 80, 180}, {0, 1, 0, 70, 200}, {1, 3, -1, 205, 600}};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_I64(timeline->slices[i].call, expected[i].call);
        CHECK_EQ_I64(timeline->slices[i].lane, expected[i].lane);
        CHECK_EQ_I64(timeline->slices[i].piece, expected[i].piece);
        CHECK_EQ_I64(timeline->slices[i].start_ns, expected[i].start_ns);
        CHECK_EQ_I64(timeline->slices[i].end_ns, expected[i].end_ns);
    }
    CHECK_EQ_I64(timeline->wait_count, 2);
    CHECK_EQ_I64(timeline->waits[0].start_ns, 60);
    CHECK_EQ_I64(timeline->waits[0].end_ns, 800);
    CHECK_EQ_I64(timeline->waits[0].kind, HKI_TRACE_WAIT_DEVICE);
    CHECK_STR(timeline->waits[0].device, "sim:0");
    CHECK_EQ_I64(timeline->waits[0].last_call, 1);
    CHECK_EQ_I64(timeline->waits[1].last_call, -1);
    CHECK_STR(timeline->waits[1].device, "");
    CHECK_EQ_I64(timeline->counter_count, 2);
    CHECK_STR(timeline->counters[0].name, "run-ahead calls");
    CHECK_STR(timeline->counters[1].process, "sim:0");
    CHECK_STR(timeline->counters[1].unit, "bytes");
    CHECK_EQ_I64(timeline->counters[1].point_count, 2);
    CHECK_EQ_I64(timeline->points[timeline->counters[1].first_point].value, 48);
    hki_timeline_destroy(timeline);
}

/* Both are launched before the first begins; a device that is not simulated has but one kind of time. */
static void what_is_launched_ahead_is_ready_later(void)
{
    enum { VAR = 64 };
    for (int is_simulated = 0; is_simulated < 2; is_simulated++) {
        add_access(issue(30, 10, "first", 1, 0), VAR, 8, 2);
        add_access(issue(31, 11, "second", 1, 0), VAR, 8, 3);
        note_task(0, HKI_TRACE_READY, 30, 12);
        note_task(2, HKI_TRACE_READY, 31, 15);
        run_piece(2, 30, 0, 13, 350, HKI_TRACE_LAST);
        run_piece(2, 31, 0, 16, 360, HKI_TRACE_LAST);
        note_model(30, 5100, 5300);
        note_model(31, 5310, 5400);
        hki_timeline *timeline = collect_notes_of((hki_collect_device){
            is_simulated ? "sim:0" : "cuda:0", is_simulated, true, is_simulated ? 3 : 4});
        const hki_call_event *call = &timeline->calls[1];
        CHECK_EQ_I64(timeline->calls[0].ready_ns, 24);
        CHECK_EQ_I64(call->ready_ns, 300);
        CHECK(call->start_ns == 310 && call->end_ns == 400);
        CHECK_EQ_I64(call->wall_start_ns, is_simulated ? 32 : 310);
        CHECK_EQ_I64(call->wall_end_ns, is_simulated ? 720 : 400);
        CHECK_EQ_I64(timeline->slice_count, 2);
        CHECK_STR(timeline->lanes[timeline->slices[1].lane].name, "compute");
        CHECK(timeline->lanes[timeline->slices[1].lane].is_simulated == is_simulated);
        /* Those with a queue for sums over devices have a lane for it. */
        const hki_trace_queue_info *last = &timeline->queues[timeline->queue_count - 1];
        CHECK_STR(last->name, is_simulated ? "copy out" : "reduce");
        CHECK(last->is_copy == is_simulated);
        hki_timeline_destroy(timeline);
    }
}

/* Without an issue, without an end; and times from before recording. */
static void what_is_not_whole_is_left_out(void)
{
    enum { VAR = 64 };
    add_access(issue(21, 10, "unfinished", 0, 0), VAR, 8, 2);
    add_access(issue(20, 5, "first", 0, 0), VAR, 8, 2);
    add_access(issue(22, 20, "last", 0, 0), VAR, 8, 1);
    run_piece(1, 19, 0, 2, 4, HKI_TRACE_LAST);
    run_piece(1, 20, 0, 6, 8, HKI_TRACE_LAST);
    run_piece(1, 21, 0, 12, 14, 0);
    run_piece(1, 22, 0, 30, 40, HKI_TRACE_LAST | HKI_TRACE_FAILED);
    note_task(1, HKI_TRACE_READY, 19, 3);
    note_model(19, 5000, 5100);
    note_wait(HKI_TRACE_WAIT_WINDOW, -1, 22, (uint64_t)-100, 30);
    hki_timeline *timeline = collect_notes();
    CHECK_EQ_I64(timeline->call_count, 2);
    CHECK_STR(timeline->calls[0].operation, "first");
    CHECK_STR(timeline->calls[1].operation, "last");
    CHECK(timeline->calls[1].is_failed && !timeline->calls[1].is_skipped);
    CHECK_EQ_I64(dependency(timeline, 1, 0), 0);
    CHECK_EQ_I64(timeline->calls[1].ready_ns, 40); /* not noted: when it was issued */
    CHECK_EQ_I64(timeline->slice_count, 2);
    CHECK_EQ_I64(timeline->waits[0].start_ns, 0);
    CHECK_EQ_I64(timeline->waits[0].last_call, 0);
    hki_timeline_destroy(timeline);
}

/* The same address, before and after a variable began there. */
static void variables_begin_anew(void)
{
    enum { VAR = 64 };
    for (uint64_t i = 0; i < 4; i++) {
        add_access(issue(1 + i, 10 * (1 + i), "write", 0, 0), VAR, 8, 2);
        run_piece(1, 1 + i, 0, 10 * (1 + i) + 2, 10 * (1 + i) + 4, HKI_TRACE_LAST);
    }
    note_task(3, HKI_TRACE_VAR, VAR, 25);
    hki_timeline *timeline = collect_notes();
    CHECK_EQ_I64(timeline->call_count, 4);
    CHECK_EQ_I64(timeline->dependency_count, 2);
    CHECK_EQ_I64(dependency(timeline, 1, 0), 0);
    CHECK_EQ_I64(timeline->calls[2].dependency_count, 0);
    CHECK_EQ_I64(dependency(timeline, 3, 0), 2);
    hki_timeline_destroy(timeline);
}

/* Of simulated devices: skipped, failed before it was launched, and run by a serial engine, which has no model. */
static void simulated_calls_without_a_model(void)
{
    issue(1, 10, "modelled", 1, 0);
    issue(2, 11, "skipped", 1, 0);
    issue(3, 12, "serial", 1, 2);
    run_piece(2, 1, 0, 20, 100, HKI_TRACE_LAST);
    note_model(1, 5040, 5300);
    run_piece(2, 2, 0, 90, 101, HKI_TRACE_LAST | HKI_TRACE_FAILED | HKI_TRACE_SKIPPED);
    run_piece(0, 3, 0, 110, 120, HKI_TRACE_LAST);
    hki_timeline *timeline = collect_notes();
    CHECK_EQ_I64(timeline->slice_count, 3);
    CHECK_EQ_I64(timeline->calls[0].end_ns, 300);
    CHECK_EQ_I64(timeline->slices[0].end_ns, 300);
    CHECK_EQ_I64(timeline->calls[1].start_ns, 202);
    CHECK_EQ_I64(timeline->calls[1].end_ns, 202);
    CHECK(timeline->calls[1].is_failed && timeline->calls[1].is_skipped);
    CHECK_EQ_I64(timeline->calls[2].start_ns, 220);
    CHECK_EQ_I64(timeline->calls[2].end_ns, 240);
    CHECK_EQ_I64(timeline->lane_count, 3);
    hki_timeline_destroy(timeline);
}

/* A call within a call, and slices that overlap by the width of a clock's error. */
static void slices_are_made_to_nest(void)
{
    for (uint64_t i = 1; i <= 4; i++)
        issue(i, i, "call", 0, 0);
    run_piece(1, 2, 0, 20, 30, HKI_TRACE_LAST);
    run_piece(1, 1, 0, 10, 51, HKI_TRACE_LAST);
    run_piece(1, 3, 0, 40, 51, HKI_TRACE_LAST);
    run_piece(1, 4, 0, 50, 60, HKI_TRACE_LAST);
    hki_timeline *timeline = collect_notes();
    CHECK_EQ_I64(timeline->slices[0].end_ns, 100);
    CHECK_EQ_I64(timeline->slices[1].end_ns, 60);
    CHECK_EQ_I64(timeline->slices[2].end_ns, 100);
    CHECK_EQ_I64(timeline->slices[3].start_ns, 100);
    CHECK_EQ_I64(timeline->slices[3].end_ns, 120);
    hki_timeline_destroy(timeline);
}

static void long_shapes_are_cut(void)
{
    char text[24];
    hki_trace_issue_record *record = issue(1, 1, "call", 0, 0);
    add_operand(record, HK_F64, hk_shape(100, 2000, 300000), false);
    hki_collect_shapes(record, text, sizeof text);
    CHECK_STR(text, "float64(100,2000,300...");
    notes.count = 0;
    record = issue(1, 1, "call", 0, 0);
    hki_collect_shapes(record, text, sizeof text);
    CHECK_STR(text, "");
    notes.count = 0;
}

static void nothing_gives_an_empty_timeline(void)
{
    hki_timeline *timeline = collect_notes();
    CHECK_EQ_I64(timeline->call_count, 0);
    CHECK_EQ_I64(timeline->slice_count, 0);
    CHECK_EQ_I64(timeline->queue_count, 4);
    hki_timeline_destroy(timeline);
}

int main(void)
{
    everything_is_collected();
    what_is_launched_ahead_is_ready_later();
    what_is_not_whole_is_left_out();
    variables_begin_anew();
    simulated_calls_without_a_model();
    slices_are_made_to_nest();
    long_shapes_are_cut();
    nothing_gives_an_empty_timeline();
    return check_result();
}
