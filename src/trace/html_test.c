/* The page of a timeline holds what the timeline says, and no text of a program breaks out of it.
 * What the page does is tested in a browser: tests/html/run, which asks this program for pages:
 *
 *     html_test fixture|hostile|large FILE */
#include "tests/check.h"
#include "trace/timeline_fixture.h"

static char *page_of(const hki_timeline *timeline)
{
    hki_writer writer = {0};
    hki_timeline_write_html(timeline, &writer);
    hki_write_bytes(&writer, "", 1);
    CHECK(!writer.is_failed);
    return writer.data;
}

/* The data of the page, cut out of it. */
static char *data_of(const hki_timeline *timeline)
{
    static const char begin_tag[] = "<script type=\"application/json\" id=\"data\">";
    char *page = page_of(timeline);
    char *begin = strstr(page, begin_tag);
    CHECK(begin);
    begin += sizeof begin_tag - 1;
    char *end = strstr(begin, "</script>\n<script>\n");
    CHECK(end && strstr(end, "new Page("));
    memmove(page, begin, (size_t)(end - begin));
    page[end - begin] = '\0';
    return page;
}

static int occurrences(const char *text, const char *what)
{
    int count = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        count++;
    return count;
}

/* Bytes that continue a character of UTF-8 follow what says so, and nothing else. */
static bool is_utf8(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int more = *at < 0x80                  ? 0
                   : *at >= 0xc2 && *at < 0xe0 ? 1
                   : *at >= 0xe0 && *at < 0xf0 ? 2
                   : *at >= 0xf0 && *at < 0xf5 ? 3
                                               : -1;
        if (more < 0)
            return false;
        for (at++; more > 0; more--)
            if ((*at++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static void fixture_is_said(void)
{
    hki_timeline *timeline = fixture_timeline();
    char *data = data_of(timeline), expected[256];
    CHECK(strstr(
        data, "{\"title\":\"train, one step\",\"duration\":760000,\"lost\":3,\"limit\":1048576,"));
    CHECK(strstr(data, "\"lanes\":[[\"host\",\"thread 1\",0],[\"cpu:0\",\"core 1\",0]"));
    CHECK(strstr(data, "[\"sim:1\",\"copy out\",1]]"));
    snprintf(expected, sizeof expected, "[\"sim:0\",\"copy in\",1,1,%lld]",
             (long long)hki_timeline_busy(timeline, 2));
    CHECK(strstr(data, expected));
    /* Sequence, operation, shapes, file, line, queue, flags, colour, six times, bytes, and how
     * many dependencies there are, with how many calls ago each was. */
    CHECK(strstr(data, "\"calls\":[1,0,1,2,31,0,0,0,2000,0,4000,114000,0,0,201216,0"
                       ",1,3,4,2,32,2,0,1,2000,116000,118000,38000,1000,5000,200704,1,1"
                       ",1,3,4,2,32,5,0,1,1000,"));
    CHECK(strstr(data, ",40,3,3,7,2000,413000,413000,55000,5000,5000,1536,2,2,1,"));
    CHECK(strstr(data, ",48,0,12,12,2000,162000,164000,0,0,0,512,1,1,"));
    CHECK(strstr(data, "\"slices\":[21,0,1,126000,54000,0,1,0,-120000,112000,"));
    CHECK(strstr(data, "\"waits\":[0,3,"));
    CHECK(strstr(data, ",48,60000,230000,6,0,4,"));
    CHECK(strstr(data, "[\"sim:0\",\"memory\",\"bytes\",[6000,1605632,116000,3612672,313000,"
                       "6422528,185000,4816896]]"));
    snprintf(expected, sizeof expected,
             "\"sums\":{\"time\":%lld,\"backward\":%lld,\"hidden\":%lld}",
             (long long)hki_timeline_overlap(timeline, "@collective", NULL),
             (long long)hki_timeline_overlap(timeline, "@backward", NULL),
             (long long)hki_timeline_overlap(timeline, "@collective", "@backward"));
    CHECK(strstr(data, expected));
    int count;
    int64_t length_ns;
    int *path = hki_timeline_critical_path(timeline, true, &count, &length_ns);
    snprintf(expected, sizeof expected, "\"critical\":{\"length\":%lld,\"calls\":[%d,",
             (long long)length_ns, path[0]);
    CHECK(count > 1 && strstr(data, expected));
    CHECK(strstr(data, "\"texts\":[\"load_batch\",\"-\\u003e float32(64,784), "
                       "int64(64,)\",\"train.c\",\"copy\","));
    CHECK_EQ_I64(occurrences(data, "\"linear\""), 1);
    free(path);
    free(data);
    hki_timeline_destroy(timeline);
}

static void page_is_closed(void)
{
    hki_timeline *timeline = hki_timeline_create();
    char *page = page_of(timeline);
    CHECK(!strncmp(page, "<!doctype html>", 15));
    CHECK(strstr(page, "default-src 'none'"));
    CHECK(strstr(page, "\"calls\":[],\n\"slices\":[],\n\"waits\":[],\n\"counters\":[],"));
    CHECK(strstr(page, "\"texts\":[]}</script>"));
    CHECK(!strstr(page, "http://") && !strstr(page, "https://"));
    CHECK(!strstr(page, "src=\"") && !strstr(page, "href=\"") && !strstr(page, "url("));
    CHECK(!strstr(page, "@style@") && !strstr(page, "@script@") && !strstr(page, "@data@"));
    CHECK_EQ_I64(occurrences(page, "</script>"), 2);
    free(page);
    hki_timeline_destroy(timeline);
}

static const char *const hostile[] = {
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"],\"x\":[\"",
    "back\\slash \\\" and \\u003c",
    "line\nfeed, \r return, \t tab, \x01 start, \x1f unit, \x7f delete",
    "\xff\xfe cut: \xc3",
    "\xed\xa0\x80 surrogate, \xc0\xaf long, \xf8\x88\x80\x80\x80 five",
    "\xe2\x80\xa8 separator, \xc2\xb5s fine",
    "&lt;/script&gt; ]]>",
};
enum { HOSTILE_COUNT = sizeof hostile / sizeof *hostile };

/* The fixture with this text wherever a program has a say. */
static hki_timeline *hostile_timeline(const char *hostile_text)
{
    hki_timeline *timeline = fixture_timeline();
    const char *text = hki_timeline_text(timeline, hostile_text);
    timeline->title = text;
    timeline->lanes[0].name = timeline->lanes[3].process = text;
    timeline->queues[1].device = timeline->queues[0].name = text;
    timeline->calls[3].operation = timeline->calls[4].shapes = timeline->calls[5].file = text;
    timeline->waits[1].device = timeline->waits[0].file = text;
    timeline->counters[0].name = timeline->counters[1].unit = timeline->counters[2].process = text;
    return timeline;
}

static void hostile_texts_stay_inside(void)
{
    for (int i = 0; i < HOSTILE_COUNT; i++) {
        hki_timeline *timeline = hostile_timeline(hostile[i]);
        char *page = page_of(timeline), *data = data_of(timeline);
        CHECK_EQ_I64(occurrences(page, "</script>"), 2);
        CHECK_EQ_I64(occurrences(page, "<script"), 2);
        CHECK(!strpbrk(data, "<>&"));
        CHECK(is_utf8(page));
        for (const char *at = data; *at; at++)
            CHECK((unsigned char)*at >= 0x20 || *at == '\n');
        /* Newlines stand between properties only; none came from a text. */
        CHECK_EQ_I64(occurrences(data, "\n"), occurrences(data, ",\n\""));
        /* Nothing ended a text early: as many quotes and properties as there were. */
        CHECK_EQ_I64(occurrences(data, "\"x\":["), 0);
        free(data);
        free(page);
        hki_timeline_destroy(timeline);
    }
}

static void equal_timelines_give_equal_pages(void)
{
    hki_timeline *timelines[] = {fixture_timeline(), fixture_timeline()};
    char *pages[] = {page_of(timelines[0]), page_of(timelines[1])};
    CHECK(!strcmp(pages[0], pages[1]));
    for (int i = 0; i < 2; i++) {
        free(pages[i]);
        hki_timeline_destroy(timelines[i]);
    }
}

/* ---- pages for the browser ------------------------------------------------------------------- */

enum { LARGE_DEVICES = 4, LARGE_QUEUES = 12, LARGE_CALLS = 50000, LARGE_POINTS = 20000 };

static int next_random(uint64_t *state, int below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int)(*state >> 33) % below;
}

static int compare_slices(const void *a, const void *b)
{
    const hki_trace_slice *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void fill_large_lanes(hki_timeline *timeline)
{
    static const char *const queues[] = {"compute", "copy in", "copy out"};
    timeline->queue_count = LARGE_QUEUES;
    timeline->lane_count = LARGE_QUEUES + 1;
    timeline->lanes = calloc(LARGE_QUEUES + 1, sizeof *timeline->lanes);
    timeline->queues = calloc(LARGE_QUEUES, sizeof *timeline->queues);
    for (int i = 0; i < LARGE_QUEUES; i++) {
        char name[16];
        snprintf(name, sizeof name, "sim:%d", i / 3);
        const char *device = hki_timeline_text(timeline, name);
        const char *queue = hki_timeline_text(timeline, queues[i % 3]);
        timeline->queues[i] = (hki_trace_queue_info){device, queue, true, i % 3 > 0};
        timeline->lanes[i] = (hki_lane){device, queue, true};
    }
    timeline->lanes[LARGE_QUEUES] = (hki_lane){hki_timeline_text(timeline, "host"),
                                               hki_timeline_text(timeline, "thread 1"), false};
}

/* Each queue runs one call after another, with pauses now and then. */
static void fill_large_calls(hki_timeline *timeline, uint64_t *random)
{
    static const char *const operations[] = {"conv2d",
                                             "relu",
                                             "max_pool2d",
                                             "linear",
                                             "softmax_cross_entropy",
                                             "conv2d_backward",
                                             "linear_backward",
                                             "sgd_update",
                                             "reshape",
                                             "add",
                                             "matmul",
                                             "copy",
                                             "copy",
                                             "all_reduce"};
    int64_t free_at[LARGE_QUEUES] = {0};
    int last[LARGE_QUEUES];
    for (int i = 0; i < LARGE_QUEUES; i++)
        last[i] = -1;
    timeline->call_count = timeline->slice_count = LARGE_CALLS;
    timeline->calls = calloc(LARGE_CALLS, sizeof *timeline->calls);
    timeline->slices = calloc(LARGE_CALLS, sizeof *timeline->slices);
    timeline->dependencies = calloc((size_t)2 * LARGE_CALLS, sizeof *timeline->dependencies);
    for (int i = 0; i < LARGE_CALLS; i++) {
        int device = next_random(random, LARGE_DEVICES), part = next_random(random, 8);
        int queue = 3 * device + (part < 6 ? 0 : part - 5);
        int operation = queue % 3 == 0 ? next_random(random, 11) : 10 + queue % 3 + (part == 7);
        int64_t ready = free_at[3 * device] > 200000 ? free_at[3 * device] - 200000 : 0;
        int64_t start = free_at[queue] > ready ? free_at[queue] : ready;
        if (next_random(random, 200) == 0)
            start += 1000 * next_random(random, 800);
        int64_t end = start + 300 + next_random(random, operation < 2 ? 60000 : 9000);
        hki_call_event *call = &timeline->calls[i];
        *call = (hki_call_event){
            .sequence = (uint64_t)i + 1,
            .operation = hki_timeline_text(timeline, operations[operation]),
            .shapes = hki_timeline_text(timeline, "float32(64,20,24,24) -> float32(64,20,12,12)"),
            .file = hki_timeline_text(timeline, "lenet.c"),
            .line = 20 + operation,
            .queue = queue,
            .is_backward = operation == 5 || operation == 6 || part == 7,
            .is_collective = operation == 13,
            .issue_ns = ready / 2,
            .ready_ns = ready,
            .start_ns = start,
            .end_ns = end,
            .wall_start_ns = start + 500,
            .wall_end_ns = end + 900,
            .bytes = 4 * next_random(random, 1 << 20),
            .first_dependency = timeline->dependency_count,
        };
        int from[] = {last[queue], last[3 * ((device + 1) % LARGE_DEVICES)]};
        for (int j = 0; j < 1 + (part == 7 && from[0] < from[1]); j++)
            if (from[j] >= 0) {
                timeline->dependencies[timeline->dependency_count++] = from[j];
                call->dependency_count++;
            }
        timeline->slices[i] = (hki_trace_slice){i, queue, -1, start, end};
        free_at[queue] = end;
        last[queue] = i;
        if (end > timeline->duration_ns)
            timeline->duration_ns = end;
    }
    qsort(timeline->slices, LARGE_CALLS, sizeof *timeline->slices, compare_slices);
}

static void fill_large_waits(hki_timeline *timeline, uint64_t *random)
{
    timeline->waits = calloc(LARGE_CALLS, sizeof *timeline->waits);
    for (int64_t at = 0; at < timeline->duration_ns; at += 2000000)
        timeline->waits[timeline->wait_count++] =
            (hki_wait_event){.lane = LARGE_QUEUES,
                             .kind = HKI_TRACE_WAIT_WINDOW,
                             .device = hki_timeline_text(timeline, ""),
                             .file = hki_timeline_text(timeline, "lenet.c"),
                             .line = 44,
                             .start_ns = at,
                             .end_ns = at + 100000 + next_random(random, 1700000),
                             .last_call = -1};
}

static void fill_large_counter(hki_timeline *timeline, uint64_t *random)
{
    timeline->points = calloc(LARGE_POINTS, sizeof *timeline->points);
    timeline->counters = calloc(1, sizeof *timeline->counters);
    timeline->point_count = LARGE_POINTS;
    timeline->counter_count = 1;
    timeline->counters[0] = (hki_counter_track){
        hki_timeline_text(timeline, "host"), hki_timeline_text(timeline, "run-ahead calls"),
        hki_timeline_text(timeline, "calls"), 0, LARGE_POINTS};
    int64_t value = 100;
    for (int i = 0; i < LARGE_POINTS; i++) {
        value += next_random(random, 21) - 10;
        value = value < 0 ? 0 : value > 256 ? 256 : value;
        timeline->points[i] = (hki_counter_point){timeline->duration_ns / LARGE_POINTS * i, value};
    }
}

static hki_timeline *large_timeline(void)
{
    uint64_t random = 7;
    hki_timeline *timeline = hki_timeline_create();
    timeline->title = hki_timeline_text(timeline, "many calls");
    fill_large_lanes(timeline);
    fill_large_calls(timeline, &random);
    fill_large_waits(timeline, &random);
    fill_large_counter(timeline, &random);
    return timeline;
}

static int write_page(const char *which, const char *path)
{
    hki_timeline *timeline = !strcmp(which, "large")     ? large_timeline()
                             : !strcmp(which, "hostile") ? hostile_timeline(hostile[0])
                                                         : fixture_timeline();
    char *page = page_of(timeline);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(page, file) >= 0 && !fclose(file));
    free(page);
    hki_timeline_destroy(timeline);
    return check_result();
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return write_page(argv[1], argv[2]);
    fixture_is_said();
    page_is_closed();
    hostile_texts_stay_inside();
    equal_timelines_give_equal_pages();
    return check_result();
}
