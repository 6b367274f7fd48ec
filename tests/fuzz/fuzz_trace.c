/* Fuzzing of hki_timeline_read_chrome: whatever the bytes, no crash, no leak, a message with every refusal; and what
 * is accepted is a timeline in order, which is written again and read back as the same text.
 *
 * With libFuzzer: scripts/fuzz
 * Without: `fuzz_trace FILE|FOLDER…` runs each file; with no arguments, a small trace cut short at every byte, with each of
 * its numbers and texts replaced by what does not belong there, and with some of its bits flipped. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz_driver.h"
#include "tests/check.h"
#include "trace/timeline_fixture.h"

/* What pictures and summaries rely on. */
static void require_order(const hki_timeline *timeline)
{
    for (int i = 0; i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        fuzz_require(!i || call[-1].sequence < call->sequence, "calls out of order");
        fuzz_require(call->queue >= 0 && call->queue < timeline->queue_count, "queue");
        fuzz_require(call->start_ns <= call->end_ns && call->wall_start_ns <= call->wall_end_ns,
                     "times");
        fuzz_require(call->operation && call->shapes && call->file, "texts");
        for (int j = 0; j < call->dependency_count; j++)
            fuzz_require(timeline->dependencies[call->first_dependency + j] < i, "dependency");
    }
    check_slices(timeline);
    fuzz_require(!check_failed_count, "slices");
    for (int i = 0; i < timeline->wait_count; i++) {
        const hki_wait_event *wait = &timeline->waits[i];
        fuzz_require(!i || wait[-1].start_ns <= wait->start_ns, "waits out of order");
        fuzz_require(wait->lane >= 0 && wait->lane < timeline->lane_count, "lane of a wait");
        fuzz_require(wait->last_call >= -1 && wait->last_call < timeline->call_count,
                     "call of a wait");
        fuzz_require(wait->device && wait->file && wait->kind < HKI_TRACE_WAIT_KIND_COUNT, "wait");
    }
    int64_t points = 0;
    for (int i = 0; i < timeline->counter_count; i++) {
        const hki_counter_track *track = &timeline->counters[i];
        fuzz_require(!track->point_count || track->first_point == points, "points");
        points += track->point_count;
    }
    fuzz_require(points == timeline->point_count, "number of points");
}

static void require_same_again(const hki_timeline *timeline)
{
    hki_writer first = {0}, second = {0};
    const hk_status *status = NULL;
    hki_timeline_write_chrome(timeline, &first);
    hki_timeline *again = hki_timeline_read_chrome(first.data, first.bytes, &status);
    if (!again)
        fprintf(stderr, "%s\n", hk_status_message(status));
    fuzz_require(again, "what was written is not accepted");
    hki_timeline_write_chrome(again, &second);
    fuzz_require(first.bytes == second.bytes && !memcmp(first.data, second.data, first.bytes),
                 "what was read back is written otherwise");
    hki_timeline_destroy(again);
    free(first.data);
    free(second.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const hk_status *status = NULL;
    char *copy = malloc(size ? size : 1); /* of its exact size, so that reading beyond it shows */
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    hki_timeline *timeline = hki_timeline_read_chrome(copy, size, &status);
    free(copy);
    fuzz_require(!timeline == (status != NULL),
                 "a refusal without a message, or a message without one");
    if (timeline) {
        require_order(timeline);
        require_same_again(timeline);
    } else {
        fuzz_require(hk_status_code(status) == HK_BAD_DATA ||
                         hk_status_code(status) == HK_OUT_OF_MEMORY,
                     "wrong code");
        fuzz_require(strlen(hk_status_message(status)) > 20, "no message");
    }
    hk_status_release(status);
    hki_timeline_destroy(timeline);
    return 0;
}

#ifndef HOCKET_LIBFUZZER

static void run_with(const hki_writer *seed, size_t begin, size_t end, const char *by)
{
    hki_writer text = {0};
    hki_write_bytes(&text, seed->data, begin);
    hki_write_bytes(&text, by, strlen(by));
    hki_write_bytes(&text, seed->data + end, seed->bytes - end);
    LLVMFuzzerTestOneInput((const uint8_t *)text.data, text.bytes);
    free(text.data);
}

/* Every number and every text by each of these. */
static void run_replaced(const hki_writer *seed)
{
    static const char *const others[] = {
        "-1", "0",    "9223372036854775807",  "1e999", "1.5", "null", "[]",
        "{}", "\"\"", "99999999999999999999", "",      "1,2"};
    for (size_t begin = 0, end; begin < seed->bytes; begin = end) {
        const char *at = seed->data + begin;
        end = begin + 1;
        if (*at == '"') {
            end = (size_t)(strchr(at + 1, '"') + 1 - seed->data);
        } else if (isdigit((unsigned char)*at)) {
            end = begin + strspn(at, "0123456789.");
        } else {
            continue;
        }
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            run_with(seed, begin, end, others[i]);
    }
}

static void run_flipped(const hki_writer *seed)
{
    uint64_t state = 1; /* a linear congruential generator will do */
    for (int i = 0; i < 4000; i++) {
        char *copy = malloc(seed->bytes);
        if (!copy)
            abort();
        memcpy(copy, seed->data, seed->bytes);
        for (int j = 0; j <= i % 3; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            copy[(state >> 33) % seed->bytes] ^= (char)(1 << (state >> 61));
        }
        LLVMFuzzerTestOneInput((const uint8_t *)copy, seed->bytes);
        free(copy);
    }
}

/* A small part of the fixture, so that there is time for all of it. */
static hki_writer seed_text(void)
{
    hki_timeline *timeline = fixture_timeline();
    hki_writer text = {0};
    timeline->call_count = 3;
    timeline->dependency_count = 2;
    timeline->calls[0].is_failed = true;
    timeline->slices[0] = (hki_trace_slice){0, FIXTURE_CORE_1, 0, 6000, 118001};
    timeline->slices[1] = (hki_trace_slice){0, FIXTURE_CORE_2, 1, 9000, 120000};
    timeline->slices[2] = (hki_trace_slice){1, FIXTURE_CORE_2, -1, 10000, 11000};
    timeline->slice_count = 3;
    timeline->wait_count = 1;
    timeline->waits[0].last_call = 2;
    timeline->counters[0].point_count = 2;
    timeline->counter_count = 1;
    timeline->point_count = 2;
    timeline->queue_count = 6;
    timeline->lane_count = 3;
    hki_timeline_write_chrome(timeline, &text);
    hki_timeline_destroy(timeline);
    return text;
}

int main(int argc, char **argv)
{
    hki_writer seed = seed_text();
    if (argc == 1 && !fuzz_keep(seed.data, seed.bytes)) {
        for (size_t bytes = 0; bytes <= seed.bytes; bytes++)
            LLVMFuzzerTestOneInput((const uint8_t *)seed.data, bytes);
        run_replaced(&seed);
        run_flipped(&seed);
    }
    free(seed.data);
    return fuzz_paths(argc, argv) | check_result();
}

#endif
