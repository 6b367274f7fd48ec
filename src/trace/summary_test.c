/* The summary of the fixture to the letter, and what it says of other timelines. */
#include "tests/check.h"
#include "trace/summary.h"
#include "trace/timeline_fixture.h"

/* clang-format off */
static const char expected_text[] =
    "train, one step\n"
    "INCOMPLETE: 3 records were lost, for 1.00 MiB of memory did not suffice. What follows does not count them.\n"
    "26 calls in 698 us of the model (753 us by the wall clock); 2 FAILED, 1 of them skipped for their inputs\n"
    "The host kept up with the model.\n"
    "\n"
    "queue                              busy  share      calls        bytes\n"
    "cpu:0 compute                    183 us   26 %          5      982 KiB\n"
    "sim:0 compute (model)            375 us   54 %          7     2.26 MiB\n"
    "sim:0 copy in (model)           38.0 us  5.4 %          1      196 KiB\n"
    "sim:0 copy out (model)           135 us   19 %          3     1.15 MiB\n"
    "sim:1 compute (model)            375 us   54 %          7     2.26 MiB\n"
    "sim:1 copy in (model)           38.0 us  5.4 %          1      196 KiB\n"
    "sim:1 copy out (model)           125 us   18 %          2     1.15 MiB\n"
    "\n"
    "operation                                 total     calls    longest\n"
    "all_reduce                               250 us         4    70.0 us\n"
    "linear                                   200 us         2     100 us\n"
    "linear_backward                          180 us         2    90.0 us\n"
    "load_batch                               114 us         1     114 us\n"
    "relu_backward                            100 us         2    50.0 us\n"
    "softmax_cross_entropy                    100 us         2    50.0 us\n"
    "softmax_cross_entropy_backward           100 us         2    50.0 us\n"
    "copy                                    86.0 us         3    38.0 us\n"
    "square_sum                              65.0 us         1    65.0 us\n"
    "sgd_update                              40.0 us         2    20.0 us\n"
    "4 more                                  72.0 us\n"
    "\n"
    "Copies ran during 25 % of the time (177 us), of which 53 % while something was computed.\n"
    "Gradients were being summed during 18 % of the time (127 us), of which 44 % while the backward pass still ran.\n"
    "\n"
    "Critical path: 597 us, 86 % of the time, 10 calls: load_batch 19 %, linear 17 %, linear_backward 15 %, all_reduce 12 %, relu_backward 8.4 %, softmax_cross_entropy 8.4 %, ...\n"
    "\n"
    "Issuing threads waited 636 us: 58.0 us for an array (1 time), 345 us for a device (1 time), 0 ns for everything (1 time), 230 us for room to run ahead (1 time), 3.00 us for workers to catch up (1 time). From the longest on:\n"
    "    345 us  for sim:0               train.c:50, until sgd_update of train.c:41\n"
    "    230 us  for room to run ahead   train.c:48, until relu of train.c:35\n"
    "   58.0 us  for an array            train.c:51, until copy of train.c:50\n"
    "   3.00 us  for workers to catch up train.c:49\n"
    "      0 ns  for everything          train.c:52\n"
    "\n"
    "Peaks: run-ahead calls at most 25; run-ahead bytes at most 5.12 MiB; sim:0 memory at most 6.12 MiB.\n";
/* clang-format on */

/* To be freed. */
static char *text_of(const hki_timeline *timeline)
{
    hki_writer writer = {0};
    hki_timeline_write_text(timeline, &writer);
    hki_write_bytes(&writer, "", 0);
    CHECK(!writer.is_failed);
    return writer.data;
}

static bool says(const hki_timeline *timeline, const char *part)
{
    char *text = text_of(timeline);
    const bool found = strstr(text, part);
    if (!found)
        fprintf(stderr, "\"%s\" is not in:\n%s", part, text);
    free(text);
    return found;
}

static void fixture_to_the_letter(void)
{
    hki_timeline *timeline = fixture_timeline();
    char *text = text_of(timeline);
    CHECK_STR(text, expected_text);
    free(text);
    hki_timeline_destroy(timeline);
}

static void numbers_of_fixture(void)
{
    hki_timeline *timeline = fixture_timeline();
    const hk_trace_summary summary = hki_timeline_summarize(timeline);
    CHECK_EQ_I64(summary.duration_ns, 698000);
    CHECK_EQ_I64(summary.wall_duration_ns, 753000);
    CHECK_EQ_I64(summary.critical_path_ns, 597000);
    CHECK_EQ_I64(summary.wait_ns, 230000 + 3000 + 345000 + 58000);
    CHECK_EQ_I64(summary.late_ns, 0);
    CHECK_EQ_I64(summary.call_count, FIXTURE_CALLS);
    CHECK_EQ_I64(summary.failed_count, 2);
    CHECK_EQ_I64(summary.lost_records, 3);
    CHECK_EQ_I64(summary.queue_count, 7);
    hk_trace_queue queue = hki_timeline_get_queue(timeline, 3);
    CHECK_STR(queue.device, "sim:0");
    CHECK_STR(queue.queue, "copy out");
    CHECK(queue.simulated);
    CHECK_EQ_I64(queue.call_count, 3);
    CHECK_EQ_I64(queue.busy_ns, 135000);
    CHECK_EQ_I64(queue.bytes, 1536 + 1204224 + 8);
    const int wrong[] = {-1, 7, 1 << 30};
    for (int i = 0; i < 3; i++) {
        queue = hki_timeline_get_queue(timeline, wrong[i]);
        CHECK_STR(queue.device, "");
        CHECK_STR(queue.queue, "");
        CHECK_EQ_I64(queue.call_count, 0);
    }
    hki_timeline_destroy(timeline);
}

/* Queues that ran nothing are passed over. */
static void idle_queues_do_not_count(void)
{
    hki_timeline *timeline = fixture_timeline();
    for (int i = 0; i < timeline->call_count; i++)
        if (timeline->calls[i].queue == 2)
            timeline->calls[i].queue = 5;
    CHECK_EQ_I64(hki_timeline_summarize(timeline).queue_count, 6);
    CHECK_STR(hki_timeline_get_queue(timeline, 2).queue, "copy out");
    hki_timeline_destroy(timeline);
}

static void a_late_host_is_told(void)
{
    hki_timeline *timeline = fixture_timeline();
    timeline->calls[4].wall_end_ns = timeline->calls[4].end_ns + 100000 + 20000;
    CHECK_EQ_I64(hki_timeline_summarize(timeline).late_ns, 20000);
    CHECK(says(timeline, "The host kept up with the model, at most 20.0 us late.\n"));
    timeline->calls[4].wall_end_ns += 480000;
    CHECK(says(timeline, "HOST-BOUND: the host was up to 500 us behind the model"));
    hki_timeline_destroy(timeline);
}

/* Of a file that somebody made, say. */
static void names_steer_no_terminal(void)
{
    hki_timeline *timeline = fixture_timeline();
    const char *steers = hki_timeline_text(timeline, "\x1b[31mred\xe9");
    for (int i = 0; i < timeline->call_count; i++)
        timeline->calls[i].operation = timeline->calls[i].file = steers;
    CHECK(says(timeline, "\\x1b[31mred\\xe9"));
    char *text = text_of(timeline);
    CHECK(!strchr(text, '\x1b') && !strchr(text, '\xe9'));
    free(text);
    hki_timeline_destroy(timeline);
}

static void an_empty_timeline_is_no_trouble(void)
{
    hki_timeline *timeline = hki_timeline_create();
    char *text = text_of(timeline);
    CHECK_STR(text, "0 calls in 0 ns\n");
    free(text);
    CHECK_EQ_I64(hki_timeline_summarize(timeline).duration_ns, 0);
    hki_timeline_destroy(timeline);
}

/* Thousands of operations, queues and waits still make one page. */
static void a_page_is_a_page(void)
{
    enum { MANY = 5000, QUEUES = 100 };
    hki_timeline *timeline = hki_timeline_create();
    timeline->calls = calloc(MANY, sizeof *timeline->calls);
    timeline->waits = calloc(MANY, sizeof *timeline->waits);
    timeline->queues = calloc(QUEUES, sizeof *timeline->queues);
    timeline->lanes = calloc(1, sizeof *timeline->lanes);
    timeline->lanes[0] = (hki_lane){timeline->title, timeline->title, false};
    timeline->lane_count = 1;
    timeline->call_count = timeline->wait_count = MANY;
    timeline->queue_count = QUEUES;
    for (int i = 0; i < QUEUES; i++)
        timeline->queues[i] =
            (hki_trace_queue_info){timeline->title, timeline->title, false, false};
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "op%d", i % 500);
        timeline->calls[i] = (hki_call_event){.operation = hki_timeline_text(timeline, name),
                                              .shapes = timeline->title,
                                              .file = timeline->title,
                                              .queue = i % QUEUES,
                                              .start_ns = i,
                                              .end_ns = 2 * i};
        timeline->waits[i] = (hki_wait_event){
            .device = timeline->title, .file = timeline->title, .end_ns = i, .last_call = -1};
    }
    char *text = text_of(timeline);
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    CHECK(lines <= 60);
    CHECK(strstr(text, "490 more"));
    CHECK(strstr(text, "88 more"));
    CHECK(strstr(text, "The ten longest"));
    free(text);
    hki_timeline_destroy(timeline);
}

int main(void)
{
    fixture_to_the_letter();
    numbers_of_fixture();
    idle_queues_do_not_count();
    a_late_host_is_told();
    names_steer_no_terminal();
    an_empty_timeline_is_no_trouble();
    a_page_is_a_page();
    return check_result();
}
