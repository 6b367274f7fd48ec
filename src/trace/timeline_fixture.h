/* For tests: a training step on two simulated devices, small enough to know by heart, with something of everything
 * that a timeline can say; and a check that a timeline is in order. Include tests/check.h first.
 *
 * Times in microseconds:
 *
 *     host   thread 1      issues 2..46; waits 60..290 (running a piece meanwhile), 295..640, 700..760
 *     cpu:0  core 1, 2     load_batch in two pieces 6..120; a function with a call in it; log fails, exp is skipped
 *     sim:0  copy in       batch 122..160
 *            compute       forward 165..330, backward 330..520, update 600..620
 *            copy out      sums of gradients 435..490 (in the backward pass) and 525..595 (after it)
 *     sim:1                the same, a little later */
#ifndef HOCKET_TRACE_TIMELINE_FIXTURE_H
#define HOCKET_TRACE_TIMELINE_FIXTURE_H

#include "trace/timeline.h"

#include <stdlib.h>

enum {
    FIXTURE_FAILED = 1,
    FIXTURE_SKIPPED = 2,
    FIXTURE_BACKWARD = 4,
    FIXTURE_COLLECTIVE = 8,
    FIXTURE_UPDATE = 16
};

enum {
    FIXTURE_HOST,
    FIXTURE_CORE_1,
    FIXTURE_CORE_2,
    FIXTURE_SIM_0, /* compute, copy in, copy out */
    FIXTURE_SIM_1 = FIXTURE_SIM_0 + 3,
    FIXTURE_LANES = FIXTURE_SIM_1 + 3
};

typedef struct fixture_call {
    const char *operation, *shapes;
    int line, queue, flags;
    int issue, ready, start, end, wall_start, wall_end; /* microseconds */
    int64_t bytes;
    int dependencies[4]; /* number of the call, from 1; ends with 0 */
} fixture_call;

/* Queues: 0 is cpu:0's; 1, 2, 3 are compute, copy in, copy out of sim:0; 4, 5, 6 those of sim:1. */
/* clang-format off */
static const fixture_call fixture_calls[] = {
    /* 1 */ {"load_batch", "-> float32(64,784), int64(64,)",
        31, 0, 0, 2, 2, 6, 120, 6, 120, 201216, {0}},
    /* 2 */ {"copy", "float32(32,784) -> float32(32,784)",
        32, 2, 0, 4, 120, 122, 160, 123, 165, 200704, {1}},
    /* 3 */ {"copy", "float32(32,784) -> float32(32,784)",
        32, 5, 0, 5, 120, 124, 162, 126, 170, 200704, {1}},
    /* 4 */ {"linear", "float32(32,784), float32(128,784), float32(128,) -> float32(32,128)",
        34, 1, 0, 7, 165, 165, 265, 168, 270, 518656, {2}},
    /* 5 */ {"linear", "float32(32,784), float32(128,784), float32(128,) -> float32(32,128)",
        34, 4, 0, 8, 170, 170, 270, 172, 274, 518656, {3}},
    /* 6 */ {"relu", "float32(32,128) -> float32(32,128)",
        35, 1, 0, 10, 265, 265, 280, 271, 283, 32768, {4}},
    /* 7 */ {"relu", "float32(32,128) -> float32(32,128)",
        35, 4, 0, 11, 270, 270, 285, 275, 288, 32768, {5}},
    /* 8 */ {"softmax_cross_entropy", "float32(32,128), int64(32,) -> float32()",
        36, 1, 0, 13, 280, 280, 330, 284, 335, 16644, {6}},
    /* 9 */ {"softmax_cross_entropy", "float32(32,128), int64(32,) -> float32()",
        36, 4, 0, 14, 285, 285, 335, 289, 340, 16644, {7}},
    /* 10 */ {"softmax_cross_entropy_backward", "float32(32,128), int64(32,) -> float32(32,128)",
        36, 1, FIXTURE_BACKWARD, 16, 330, 330, 380, 336, 384, 33024, {8}},
    /* 11 */ {"softmax_cross_entropy_backward", "float32(32,128), int64(32,) -> float32(32,128)",
        36, 4, FIXTURE_BACKWARD, 17, 335, 335, 385, 341, 389, 33024, {9}},
    /* 12 */ {"relu_backward", "float32(32,128), float32(32,128) -> float32(32,128)",
        35, 1, FIXTURE_BACKWARD, 19, 380, 380, 430, 385, 434, 49152, {6, 10}},
    /* 13 */ {"relu_backward", "float32(32,128), float32(32,128) -> float32(32,128)",
        35, 4, FIXTURE_BACKWARD, 20, 385, 385, 435, 390, 439, 49152, {7, 11}},
    /* 14 */ {"all_reduce", "float32(128,), float32(128,) -> float32(128,)",
        40, 3, FIXTURE_BACKWARD | FIXTURE_COLLECTIVE, 22, 435, 435, 490, 440, 495, 1536, {12, 13}},
    /* 15 */ {"all_reduce", "float32(128,), float32(128,) -> float32(128,)",
        40, 6, FIXTURE_BACKWARD | FIXTURE_COLLECTIVE, 23, 435, 436, 491, 441, 497, 1536, {12, 13}},
    /* 16 */ {"linear_backward", "float32(32,784), float32(32,128) -> float32(128,784)",
        34, 1, FIXTURE_BACKWARD, 25, 430, 430, 520, 435, 526, 518144, {2, 12}},
    /* 17 */ {"linear_backward", "float32(32,784), float32(32,128) -> float32(128,784)",
        34, 4, FIXTURE_BACKWARD, 26, 435, 435, 525, 440, 531, 518144, {3, 13}},
    /* 18 */ {"all_reduce", "float32(128,784), float32(128,784) -> float32(128,784)",
        40, 3, FIXTURE_COLLECTIVE, 28, 525, 525, 595, 532, 604, 1204224, {16, 17}},
    /* 19 */ {"all_reduce", "float32(128,784), float32(128,784) -> float32(128,784)",
        40, 6, FIXTURE_COLLECTIVE, 29, 525, 526, 596, 533, 606, 1204224, {16, 17}},
    /* 20 */ {"sgd_update", "float32(128,784), float32(128,784) -> float32(128,784)",
        41, 1, FIXTURE_UPDATE, 31, 595, 600, 620, 606, 629, 1204224, {4, 16, 18}},
    /* 21 */ {"sgd_update", "float32(128,784), float32(128,784) -> float32(128,784)",
        41, 4, FIXTURE_UPDATE, 32, 596, 601, 621, 608, 632, 1204224, {5, 17, 19}},
    /* 22 */ {"square_sum", "float32(64,784) -> float32()",
        44, 0, 0, 36, 120, 125, 190, 125, 190, 200708, {1}},
    /* 23 */ {"log", "int64(64,) -> float32(64,)",
        47, 0, FIXTURE_FAILED, 40, 120, 200, 204, 200, 204, 768, {1}},
    /* 24 */ {"exp", "float32(64,) -> float32(64,)",
        48, 0, FIXTURE_SKIPPED, 42, 204, 206, 206, 206, 206, 512, {23}},
    /* 25 */ {"copy", "float32() -> float32()",
        50, 3, 0, 46, 330, 690, 700, 694, 755, 8, {8}},
    /* 26, issued by 22 */ {"multiply", "float32(64,784), float32(64,784) -> float32(64,784)",
        12, 0, 0, 130, 131, 132, 170, 132, 170, 602112, {0}},
};
/* clang-format on */
enum { FIXTURE_CALLS = sizeof fixture_calls / sizeof *fixture_calls };

/* Calls of the CPU; those of the simulated devices are one slice each, in the lane of their queue. */
/* clang-format off */
static const struct fixture_slice {
    int call, lane, piece, start, end; /* number of the call, from 1; microseconds */
} fixture_slices[] = {
    {22, FIXTURE_HOST, 1, 126, 180}, {1, FIXTURE_CORE_1, 0, 6, 118},
    {22, FIXTURE_CORE_1, 0, 125, 190}, {26, FIXTURE_CORE_1, -1, 132, 170},
    {23, FIXTURE_CORE_1, -1, 200, 204}, {24, FIXTURE_CORE_1, -1, 206, 206},
    {1, FIXTURE_CORE_2, 1, 9, 120},
};

static const struct fixture_wait {
    hki_trace_wait_kind kind;
    const char *device;
    int line, start, end, last_call; /* number of the call, 0: not known */
} fixture_waits[] = {
    {HKI_TRACE_WAIT_WINDOW, "", 48, 60, 290, 7},
    {HKI_TRACE_WAIT_WORKERS, "", 49, 291, 294, 0},
    {HKI_TRACE_WAIT_DEVICE, "sim:0", 50, 295, 640, 20},
    {HKI_TRACE_WAIT_ARRAY, "", 51, 700, 758, 25},
    {HKI_TRACE_WAIT_ALL, "", 52, 760, 760, 0},
};

static const struct fixture_point {
    int time;
    int64_t value;
} fixture_points[] = {
    {2, 1}, {20, 13}, {46, 25}, {200, 21}, {330, 14}, {525, 6}, {640, 1}, {758, 0},
    {2, 401920}, {46, 5373952}, {330, 3000000}, {640, 512}, {758, 0},
    {6, 1605632}, {122, 3612672}, {435, 6422528}, {620, 4816896},
};
/* clang-format on */

static inline void fixture_fill_lanes(hki_timeline *timeline)
{
    static const char *const names[] = {"compute", "copy in", "copy out"};
    timeline->lane_count = FIXTURE_LANES;
    timeline->lanes = calloc(FIXTURE_LANES, sizeof *timeline->lanes);
    timeline->queue_count = 7;
    timeline->queues = calloc(7, sizeof *timeline->queues);
    const char *cpu = hki_timeline_text(timeline, "cpu:0");
    timeline->lanes[FIXTURE_HOST] = (hki_lane){hki_timeline_text(timeline, "host"),
                                               hki_timeline_text(timeline, "thread 1"), false};
    timeline->lanes[FIXTURE_CORE_1] = (hki_lane){cpu, hki_timeline_text(timeline, "core 1"), false};
    timeline->lanes[FIXTURE_CORE_2] = (hki_lane){cpu, hki_timeline_text(timeline, "core 2"), false};
    timeline->queues[0] =
        (hki_trace_queue_info){cpu, hki_timeline_text(timeline, "compute"), false, false};
    for (int i = 0; i < 6; i++) {
        const char *device = hki_timeline_text(timeline, i < 3 ? "sim:0" : "sim:1");
        const char *name = hki_timeline_text(timeline, names[i % 3]);
        timeline->lanes[FIXTURE_SIM_0 + i] = (hki_lane){device, name, true};
        timeline->queues[1 + i] = (hki_trace_queue_info){device, name, true, i % 3 > 0};
    }
}

static inline void fixture_fill_calls(hki_timeline *timeline)
{
    timeline->calls = calloc(FIXTURE_CALLS, sizeof *timeline->calls);
    timeline->call_count = FIXTURE_CALLS;
    timeline->dependencies = calloc(4 * FIXTURE_CALLS, sizeof *timeline->dependencies);
    for (int i = 0; i < FIXTURE_CALLS; i++) {
        const fixture_call *from = &fixture_calls[i];
        hki_call_event *call = &timeline->calls[i];
        *call = (hki_call_event){
            .sequence = (uint64_t)i + 1,
            .operation = hki_timeline_text(timeline, from->operation),
            .shapes = hki_timeline_text(timeline, from->shapes),
            .file = hki_timeline_text(timeline, "train.c"),
            .line = from->line,
            .queue = from->queue,
            .is_collective = from->flags & FIXTURE_COLLECTIVE,
            .is_backward = from->flags & FIXTURE_BACKWARD,
            .is_update = from->flags & FIXTURE_UPDATE,
            .is_failed = from->flags & (FIXTURE_FAILED | FIXTURE_SKIPPED),
            .is_skipped = from->flags & FIXTURE_SKIPPED,
            .issue_ns = from->issue * 1000,
            .ready_ns = from->ready * 1000,
            .start_ns = from->start * 1000,
            .end_ns = from->end * 1000,
            .wall_start_ns = from->wall_start * 1000,
            .wall_end_ns = from->wall_end * 1000,
            .bytes = from->bytes,
            .first_dependency = timeline->dependency_count,
        };
        for (const int *number = from->dependencies; *number; number++) {
            timeline->dependencies[timeline->dependency_count++] = *number - 1;
            call->dependency_count++;
        }
    }
}

static inline void fixture_fill_slices(hki_timeline *timeline)
{
    timeline->slices = calloc(2 * FIXTURE_CALLS, sizeof *timeline->slices);
    for (size_t i = 0; i < sizeof fixture_slices / sizeof *fixture_slices; i++) {
        const struct fixture_slice *from = &fixture_slices[i];
        timeline->slices[timeline->slice_count++] = (hki_trace_slice){
            from->call - 1, from->lane, from->piece, from->start * 1000, from->end * 1000};
    }
    for (int queue = 1; queue < timeline->queue_count; queue++)
        for (int i = 0; i < FIXTURE_CALLS; i++)
            if (timeline->calls[i].queue == queue)
                timeline->slices[timeline->slice_count++] =
                    (hki_trace_slice){i, FIXTURE_SIM_0 + queue - 1, -1, timeline->calls[i].start_ns,
                                      timeline->calls[i].end_ns};
}

static inline void fixture_fill_waits(hki_timeline *timeline)
{
    timeline->wait_count = sizeof fixture_waits / sizeof *fixture_waits;
    timeline->waits = calloc((size_t)timeline->wait_count, sizeof *timeline->waits);
    for (int i = 0; i < timeline->wait_count; i++) {
        const struct fixture_wait *from = &fixture_waits[i];
        timeline->waits[i] = (hki_wait_event){.lane = FIXTURE_HOST,
                                              .kind = from->kind,
                                              .device = hki_timeline_text(timeline, from->device),
                                              .file = hki_timeline_text(timeline, "train.c"),
                                              .line = from->line,
                                              .start_ns = from->start * 1000,
                                              .end_ns = from->end * 1000,
                                              .last_call = from->last_call - 1};
    }
}

static inline void fixture_fill_counters(hki_timeline *timeline)
{
    const struct {
        const char *process, *name, *unit;
        int count;
    } tracks[] = {{"host", "run-ahead calls", "calls", 8},
                  {"host", "run-ahead bytes", "bytes", 5},
                  {"sim:0", "memory", "bytes", 4}};
    timeline->point_count = sizeof fixture_points / sizeof *fixture_points;
    timeline->points = calloc((size_t)timeline->point_count, sizeof *timeline->points);
    for (int i = 0; i < timeline->point_count; i++)
        timeline->points[i] =
            (hki_counter_point){fixture_points[i].time * 1000, fixture_points[i].value};
    timeline->counter_count = 3;
    timeline->counters = calloc(3, sizeof *timeline->counters);
    for (int i = 0, first = 0; i < 3; first += tracks[i++].count)
        timeline->counters[i] = (hki_counter_track){hki_timeline_text(timeline, tracks[i].process),
                                                    hki_timeline_text(timeline, tracks[i].name),
                                                    hki_timeline_text(timeline, tracks[i].unit),
                                                    first, tracks[i].count};
}

/* To be destroyed by the caller. Ends the test when host memory is short. */
static inline hki_timeline *fixture_timeline(void)
{
    hki_timeline *timeline = hki_timeline_create();
    if (!timeline)
        abort();
    timeline->title = hki_timeline_text(timeline, "train, one step");
    timeline->duration_ns = 760000;
    timeline->limit_bytes = 1 << 20;
    timeline->lost_records = 3;
    fixture_fill_lanes(timeline);
    fixture_fill_calls(timeline);
    fixture_fill_slices(timeline);
    fixture_fill_waits(timeline);
    fixture_fill_counters(timeline);
    return timeline;
}

/* That slices are ordered, and that those of a lane nest. */
static inline void check_slices(const hki_timeline *timeline)
{
    int64_t *ends = malloc(((size_t)timeline->slice_count + 1) * sizeof *ends);
    for (int i = 0, depth = 0; i < timeline->slice_count; i++) {
        const hki_trace_slice *slice = &timeline->slices[i], *before = slice - 1;
        CHECK(slice->call >= 0 && slice->call < timeline->call_count);
        CHECK(slice->lane >= 0 && slice->lane < timeline->lane_count);
        CHECK(slice->piece >= -1 && slice->start_ns <= slice->end_ns);
        if (i && before->lane == slice->lane)
            CHECK(before->start_ns < slice->start_ns ||
                  (before->start_ns == slice->start_ns && before->end_ns >= slice->end_ns));
        if (!i || before->lane != slice->lane) {
            CHECK(!i || before->lane < slice->lane);
            depth = 0;
        }
        while (depth && ends[depth - 1] <= slice->start_ns && ends[depth - 1] < slice->end_ns)
            depth--;
        CHECK(!depth || slice->end_ns <= ends[depth - 1]);
        ends[depth++] = slice->end_ns;
    }
    free(ends);
}

static inline void check_calls(const hki_timeline *timeline)
{
    for (int i = 0; i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        const int *dependencies =
            call->dependency_count ? timeline->dependencies + call->first_dependency : NULL;
        CHECK(!i || call[-1].sequence < call->sequence);
        CHECK(call->queue >= 0 && call->queue < timeline->queue_count);
        CHECK(call->operation && call->shapes && call->file);
        CHECK(call->issue_ns <= call->ready_ns && call->ready_ns <= call->start_ns);
        CHECK(call->start_ns <= call->end_ns && call->wall_start_ns <= call->wall_end_ns);
        CHECK(!call->is_skipped || call->is_failed);
        CHECK(call->first_dependency >= 0 && call->dependency_count >= 0);
        CHECK(call->first_dependency + call->dependency_count <= timeline->dependency_count);
        for (int j = 0; j < call->dependency_count; j++)
            CHECK(dependencies[j] >= 0 && dependencies[j] < i &&
                  (!j || dependencies[j - 1] < dependencies[j]));
    }
}

/* That it keeps what timeline.h says. */
static inline void check_timeline(const hki_timeline *timeline)
{
    check_calls(timeline);
    check_slices(timeline);
    for (int i = 0; i < timeline->wait_count; i++) {
        const hki_wait_event *wait = &timeline->waits[i];
        CHECK(!i || wait[-1].start_ns <= wait->start_ns);
        CHECK(wait->start_ns <= wait->end_ns && wait->device && wait->file);
        CHECK(wait->lane >= 0 && wait->lane < timeline->lane_count);
        CHECK(wait->last_call >= -1 && wait->last_call < timeline->call_count);
    }
    for (int i = 0; i < timeline->counter_count; i++) {
        const hki_counter_track *track = &timeline->counters[i];
        const hki_counter_point *points = timeline->points + track->first_point;
        CHECK(track->process && track->name && track->unit);
        CHECK(track->first_point >= 0 && track->point_count >= 0);
        CHECK(track->first_point + track->point_count <= timeline->point_count);
        for (int j = 1; j < track->point_count; j++)
            CHECK(points[j - 1].time_ns <= points[j].time_ns);
    }
}

#endif
