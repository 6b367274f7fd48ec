/* Overlaps, busy times and critical paths of the fixture, known by heart, and against slow counting. */
#include "tests/check.h"
#include "trace/timeline_fixture.h"

static int64_t overlap_us(const hki_timeline *timeline, const char *a, const char *b)
{
    const int64_t ns = hki_timeline_overlap(timeline, a, b);
    CHECK_EQ_I64(ns % 1000, 0);
    return ns / 1000;
}

static void overlaps_of_fixture(const hki_timeline *timeline)
{
    CHECK_EQ_I64(overlap_us(timeline, "linear", NULL), 105); /* 165..270 */
    CHECK_EQ_I64(overlap_us(timeline, "linear*", NULL), 105 + 95);
    CHECK_EQ_I64(overlap_us(timeline, "linear, relu", NULL), 120);
    CHECK_EQ_I64(overlap_us(timeline, "lin", NULL), 0);
    CHECK_EQ_I64(overlap_us(timeline, "*", NULL), (120 - 6) + (596 - 122) + (621 - 600) + 10);
    CHECK_EQ_I64(overlap_us(timeline, "@copy", NULL), 40 + 56 + 71 + 10);
    CHECK_EQ_I64(overlap_us(timeline, "@collective", NULL), 56 + 71);
    CHECK_EQ_I64(overlap_us(timeline, "@collective", "@backward"), 56);
    CHECK_EQ_I64(overlap_us(timeline, "@backward", "@collective"), 56);
    CHECK_EQ_I64(overlap_us(timeline, "@collective", "@compute"), 56);
    CHECK_EQ_I64(overlap_us(timeline, "@cpu", "@sim"), 65 - 3 + 4);
    CHECK_EQ_I64(overlap_us(timeline, "@cpu", NULL), 114 + 65 + 4);
    CHECK_EQ_I64(overlap_us(timeline, "log", NULL), 4);
    CHECK_EQ_I64(overlap_us(timeline, "exp", NULL), 0);
    CHECK_EQ_I64(overlap_us(timeline, "", NULL), 0);
    CHECK_EQ_I64(overlap_us(timeline, ",,", "*"), 0);
    CHECK_EQ_I64(overlap_us(timeline, "@nothing", "*"), 0);
    CHECK_EQ_I64(overlap_us(timeline, "@cop", "*"), 0);
}

static void busy_times_of_fixture(const hki_timeline *timeline)
{
    const int64_t expected[] = {183000, 375000, 38000, 135000, 375000, 38000, 125000};
    for (int i = 0; i < timeline->queue_count; i++)
        CHECK_EQ_I64(hki_timeline_busy(timeline, i), expected[i]);
    CHECK_EQ_I64(hki_timeline_busy(timeline, -1), 0);
    CHECK_EQ_I64(hki_timeline_busy(timeline, timeline->queue_count), 0);
}

static void check_path(const hki_timeline *timeline, bool queues_count, int64_t expected_us,
                       const int *numbers)
{
    int count;
    int64_t length;
    int *path = hki_timeline_critical_path(timeline, queues_count, &count, &length);
    CHECK_EQ_I64(length, expected_us * 1000);
    for (int i = 0; i < count; i++) {
        CHECK_EQ_I64(path[i] + 1, numbers[i]);
        if (path[i] + 1 != numbers[i])
            break;
    }
    CHECK_EQ_I64(numbers[count], 0);
    free(path);
}

static void critical_paths_of_fixture(const hki_timeline *timeline)
{
    /* Load, copy, forward, backward, sum, update; through a queue the copy of the loss comes last. */
    const int path[] = {1, 2, 4, 6, 8, 10, 12, 16, 18, 20, 0};
    check_path(timeline, false, 114 + 38 + 100 + 15 + 50 + 50 + 50 + 90 + 70 + 20, path);
    const int queued[] = {1, 2, 4, 6, 8, 10, 12, 16, 18, 20, 0};
    check_path(timeline, true, 114 + 38 + 100 + 15 + 50 + 50 + 50 + 90 + 70 + 20, queued);
}

/* ---- against slow counting -------------------------------------------------------------------------------------- */

enum { CALLS = 60, TIMES = 400 };

static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*state >> 8) * below >> 24);
}

static hki_timeline *random_timeline(uint32_t *seed)
{
    static const char *const names[] = {"a", "ab", "b"};
    hki_timeline *timeline = fixture_timeline();
    free(timeline->calls);
    free(timeline->dependencies);
    timeline->calls = calloc(CALLS, sizeof *timeline->calls);
    timeline->dependencies = calloc((size_t)CALLS * CALLS, sizeof *timeline->dependencies);
    timeline->call_count = CALLS;
    timeline->dependency_count = 0;
    for (int i = 0; i < CALLS; i++) {
        hki_call_event *call = &timeline->calls[i];
        call->operation = hki_timeline_text(timeline, names[next_random(seed, 3)]);
        call->queue = (int)next_random(seed, 7);
        call->first_dependency = timeline->dependency_count;
        int64_t earliest = 0;
        for (int j = 0; j < i; j++)
            if (next_random(seed, 12) == 0) {
                timeline->dependencies[timeline->dependency_count++] = j;
                call->dependency_count++;
                if (timeline->calls[j].end_ns > earliest)
                    earliest = timeline->calls[j].end_ns;
            }
        /* A queue of an accelerator runs one at a time. */
        for (int j = 0; j < i; j++)
            if (call->queue && timeline->calls[j].queue == call->queue &&
                timeline->calls[j].end_ns > earliest)
                earliest = timeline->calls[j].end_ns;
        call->start_ns = earliest + next_random(seed, 4);
        call->end_ns = call->start_ns + next_random(seed, 6);
    }
    return timeline;
}

static int64_t slow_overlap(const hki_timeline *timeline, const char *a, const char *b)
{
    int64_t count = 0;
    for (int64_t time = 0; time < TIMES; time++) {
        bool has_a = false, has_b = false;
        for (int i = 0; i < CALLS; i++) {
            const hki_call_event *call = &timeline->calls[i];
            const bool runs = call->start_ns <= time && time < call->end_ns;
            has_a |= runs && !strcmp(call->operation, a);
            has_b |= runs && !strcmp(call->operation, b);
        }
        count += has_a && has_b;
    }
    return count;
}

/* By relaxing until nothing changes. */
static int64_t slow_path(const hki_timeline *timeline, bool queues_count)
{
    int64_t lengths[CALLS] = {0}, longest = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < CALLS; i++) {
            const hki_call_event *call = &timeline->calls[i];
            int64_t before = 0;
            for (int j = 0; j < CALLS; j++) {
                const hki_call_event *other = &timeline->calls[j];
                bool follows = queues_count && j < i && call->queue && call->queue == other->queue;
                for (int k = 0; k < call->dependency_count; k++)
                    follows |= timeline->dependencies[call->first_dependency + k] == j;
                if (follows && lengths[j] > before)
                    before = lengths[j];
            }
            const int64_t length = before + call->end_ns - call->start_ns;
            changed |= length != lengths[i];
            lengths[i] = length;
            longest = length > longest ? length : longest;
        }
    }
    return longest;
}

static void random_timelines_match_slow_counting(void)
{
    for (uint32_t seed = 1; seed <= 40; seed++) {
        uint32_t state = seed;
        hki_timeline *timeline = random_timeline(&state);
        CHECK_EQ_I64(hki_timeline_overlap(timeline, "a", "b"), slow_overlap(timeline, "a", "b"));
        CHECK_EQ_I64(hki_timeline_overlap(timeline, "ab", NULL),
                     slow_overlap(timeline, "ab", "ab"));
        for (int queues_count = 0; queues_count < 2; queues_count++) {
            int count;
            int64_t length;
            int *path = hki_timeline_critical_path(timeline, queues_count, &count, &length);
            int64_t sum = 0;
            for (int i = 0; i < count; i++)
                sum += timeline->calls[path[i]].end_ns - timeline->calls[path[i]].start_ns;
            CHECK_EQ_I64(length, slow_path(timeline, queues_count));
            CHECK_EQ_I64(sum, length);
            free(path);
        }
        hki_timeline_destroy(timeline);
    }
}

static void nothing_has_no_path(void)
{
    int count;
    int64_t length;
    hki_timeline *timeline = hki_timeline_create();
    CHECK(!hki_timeline_critical_path(timeline, true, &count, &length));
    CHECK_EQ_I64(count, 0);
    CHECK_EQ_I64(length, 0);
    CHECK_EQ_I64(hki_timeline_overlap(timeline, "*", "*"), 0);
    hki_timeline_destroy(timeline);
}

int main(void)
{
    hki_timeline *timeline = fixture_timeline();
    overlaps_of_fixture(timeline);
    busy_times_of_fixture(timeline);
    critical_paths_of_fixture(timeline);
    hki_timeline_destroy(timeline);
    random_timelines_match_slow_counting();
    nothing_has_no_path();
    return check_result();
}
