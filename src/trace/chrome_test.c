/* Chrome's trace JSON: what was written is read back equal; viewers' rules hold; what is no trace says where and
 * why. Random damage: tests/fuzz/fuzz_trace.c. */
#include "trace/chrome.h"

#include "tests/check.h"
#include "trace/timeline_fixture.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

static hki_writer written(const hki_timeline *timeline)
{
    hki_writer writer = {0};
    hki_timeline_write_chrome(timeline, &writer);
    CHECK(!writer.is_failed);
    CHECK(writer.data && strlen(writer.data) == writer.bytes);
    return writer;
}

/* ---- equality ---------------------------------------------------------------------------------------- */

static void check_equal_tables(const hki_timeline *a, const hki_timeline *b)
{
    CHECK_STR(a->title, b->title);
    CHECK_EQ_I64(a->duration_ns, b->duration_ns);
    CHECK_EQ_I64(a->lost_records, b->lost_records);
    CHECK_EQ_I64(a->limit_bytes, b->limit_bytes);
    CHECK_EQ_I64(a->lane_count, b->lane_count);
    for (int i = 0; i < a->lane_count && i < b->lane_count; i++) {
        CHECK_STR(a->lanes[i].process, b->lanes[i].process);
        CHECK_STR(a->lanes[i].name, b->lanes[i].name);
        CHECK_EQ_I64(a->lanes[i].is_simulated, b->lanes[i].is_simulated);
    }
    CHECK_EQ_I64(a->queue_count, b->queue_count);
    for (int i = 0; i < a->queue_count && i < b->queue_count; i++) {
        CHECK_STR(a->queues[i].device, b->queues[i].device);
        CHECK_STR(a->queues[i].name, b->queues[i].name);
        CHECK_EQ_I64(a->queues[i].is_simulated, b->queues[i].is_simulated);
        CHECK_EQ_I64(a->queues[i].is_copy, b->queues[i].is_copy);
    }
    CHECK_EQ_I64(a->counter_count, b->counter_count);
    for (int i = 0; i < a->counter_count && i < b->counter_count; i++) {
        CHECK_STR(a->counters[i].process, b->counters[i].process);
        CHECK_STR(a->counters[i].name, b->counters[i].name);
        CHECK_STR(a->counters[i].unit, b->counters[i].unit);
        CHECK_EQ_I64(a->counters[i].first_point, b->counters[i].first_point);
        CHECK_EQ_I64(a->counters[i].point_count, b->counters[i].point_count);
    }
    CHECK_EQ_I64(a->point_count, b->point_count);
    for (int i = 0; i < a->point_count && i < b->point_count; i++) {
        CHECK_EQ_I64(a->points[i].time_ns, b->points[i].time_ns);
        CHECK_EQ_I64(a->points[i].value, b->points[i].value);
    }
}

static void check_equal_call(const hki_call_event *a, const hki_call_event *b)
{
    CHECK_EQ_I64(a->sequence, b->sequence);
    CHECK_STR(a->operation, b->operation);
    CHECK_STR(a->shapes, b->shapes);
    CHECK_STR(a->file, b->file);
    CHECK_EQ_I64(a->line, b->line);
    CHECK_EQ_I64(a->queue, b->queue);
    CHECK_EQ_I64(a->is_collective, b->is_collective);
    CHECK_EQ_I64(a->is_backward, b->is_backward);
    CHECK_EQ_I64(a->is_update, b->is_update);
    CHECK_EQ_I64(a->is_failed, b->is_failed);
    CHECK_EQ_I64(a->is_skipped, b->is_skipped);
    CHECK_EQ_I64(a->issue_ns, b->issue_ns);
    CHECK_EQ_I64(a->ready_ns, b->ready_ns);
    CHECK_EQ_I64(a->start_ns, b->start_ns);
    CHECK_EQ_I64(a->end_ns, b->end_ns);
    CHECK_EQ_I64(a->wall_start_ns, b->wall_start_ns);
    CHECK_EQ_I64(a->wall_end_ns, b->wall_end_ns);
    CHECK_EQ_I64(a->bytes, b->bytes);
    CHECK_EQ_I64(a->first_dependency, b->first_dependency);
    CHECK_EQ_I64(a->dependency_count, b->dependency_count);
}

static void check_equal(const hki_timeline *a, const hki_timeline *b)
{
    check_equal_tables(a, b);
    CHECK_EQ_I64(a->call_count, b->call_count);
    for (int i = 0; i < a->call_count && i < b->call_count; i++)
        check_equal_call(&a->calls[i], &b->calls[i]);
    CHECK_EQ_I64(a->dependency_count, b->dependency_count);
    for (int i = 0; i < a->dependency_count && i < b->dependency_count; i++)
        CHECK_EQ_I64(a->dependencies[i], b->dependencies[i]);
    CHECK_EQ_I64(a->slice_count, b->slice_count);
    for (int i = 0; i < a->slice_count && i < b->slice_count; i++) {
        CHECK_EQ_I64(a->slices[i].call, b->slices[i].call);
        CHECK_EQ_I64(a->slices[i].lane, b->slices[i].lane);
        CHECK_EQ_I64(a->slices[i].piece, b->slices[i].piece);
        CHECK_EQ_I64(a->slices[i].start_ns, b->slices[i].start_ns);
        CHECK_EQ_I64(a->slices[i].end_ns, b->slices[i].end_ns);
    }
    CHECK_EQ_I64(a->wait_count, b->wait_count);
    for (int i = 0; i < a->wait_count && i < b->wait_count; i++) {
        CHECK_EQ_I64(a->waits[i].lane, b->waits[i].lane);
        CHECK_EQ_I64(a->waits[i].kind, b->waits[i].kind);
        CHECK_STR(a->waits[i].device, b->waits[i].device);
        CHECK_STR(a->waits[i].file, b->waits[i].file);
        CHECK_EQ_I64(a->waits[i].line, b->waits[i].line);
        CHECK_EQ_I64(a->waits[i].start_ns, b->waits[i].start_ns);
        CHECK_EQ_I64(a->waits[i].end_ns, b->waits[i].end_ns);
        CHECK_EQ_I64(a->waits[i].last_call, b->waits[i].last_call);
    }
}

/* To be destroyed by the caller. */
static hki_timeline *check_round_trip(const hki_timeline *timeline)
{
    const hk_status *status = NULL;
    hki_writer writer = written(timeline);
    hki_timeline *read = hki_timeline_read_chrome(writer.data, writer.bytes, &status);
    if (status)
        fprintf(stderr, "%s\n", hk_status_message(status));
    CHECK(read && !status);
    if (read) {
        check_timeline(read);
        check_equal(read, timeline);
        hki_writer again = written(read);
        CHECK_STR(again.data, writer.data);
        free(again.data);
    }
    hk_status_release(status);
    free(writer.data);
    return read;
}

static void test_round_trip(void)
{
    hki_timeline *timeline = fixture_timeline(), *empty = hki_timeline_create();
    hki_timeline_destroy(check_round_trip(timeline));
    hki_timeline_destroy(check_round_trip(empty));

    /* Times that are no whole microseconds, and 10 days; a call that never ran; other sequence numbers. */
    timeline->duration_ns = 864000000000001;
    timeline->calls[25].wall_start_ns = -1001;
    timeline->slices[timeline->slice_count - 1].end_ns = 864000000000001;
    timeline->slices[0].start_ns += 1;
    timeline->slices[0].end_ns -= 999;
    timeline->waits[0].start_ns -= 7;
    timeline->points[0].value = -5;
    timeline->slice_count--;
    for (int i = 0; i < timeline->call_count; i++)
        timeline->calls[i].sequence += (uint64_t)i * 1000000007u;
    hki_timeline_destroy(check_round_trip(timeline));
    hki_timeline_destroy(timeline);
    hki_timeline_destroy(empty);
}

static void test_texts(void)
{
    static const char hostile[] =
        "\"\\/\b\x01\x7F\n</script><!-- & \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80";
    hki_timeline *timeline = fixture_timeline();
    const char *text = hki_timeline_text(timeline, hostile);
    timeline->title = timeline->calls[3].operation = timeline->calls[3].file = text;
    timeline->calls[4].shapes = timeline->waits[0].file = timeline->lanes[1].name = text;
    timeline->counters[1].name = timeline->queues[2].name = text;
    timeline->counters[2].unit = timeline->lanes[0].process = text;
    hki_timeline_destroy(check_round_trip(timeline));

    timeline->title = "bad \xFF\xC0\x80\xED\xA0\x80 UTF-8 \xE2\x82";
    hki_writer writer = written(timeline);
    hki_timeline *read = hki_timeline_read_chrome(writer.data, writer.bytes, NULL);
    CHECK(read && strstr(read->title, "bad \xEF\xBF\xBD") && strstr(read->title, " UTF-8 "));
    CHECK(!strchr(writer.data, '<'));
    free(writer.data);
    hki_timeline_destroy(read);
    hki_timeline_destroy(timeline);
}

/* ---- what viewers ask for ------------------------------------------------------------------------------ */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double time_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

/* The call whose slice is innermost in the thread at the time, as importers find it: events sorted by time,
 * equal ones in the order of the file. */
static int64_t call_at(const json_t *events, const json_t *flow)
{
    int64_t found = -1, tid = json_integer_value(json_object_get(flow, "tid"));
    double best = -INFINITY;
    const json_t *event;
    size_t i;
    json_array_foreach(events, i, event)
    {
        if (event == flow)
            break;
        double start = time_of(event, "ts");
        if (strcmp(text_of(event, "ph"), "X") || start < best || start > time_of(flow, "ts") ||
            json_integer_value(json_object_get(event, "tid")) != tid)
            continue;
        best = start;
        found = json_integer_value(json_object_get(json_object_get(event, "args"), "sequence"));
    }
    /* Later in the file, but earlier in time than the flow. */
    for (; i < json_array_size(events); i++) {
        event = json_array_get(events, i);
        double start = time_of(event, "ts");
        if (strcmp(text_of(event, "ph"), "X") || start < best || start >= time_of(flow, "ts") ||
            json_integer_value(json_object_get(event, "tid")) != tid)
            continue;
        best = start;
        found = json_integer_value(json_object_get(json_object_get(event, "args"), "sequence"));
    }
    return found;
}

static void check_flows(const hki_timeline *timeline, const json_t *events)
{
    int counts[2][256] = {{0}};
    double departures[256] = {0}, arrivals[256] = {0};
    int flow_count = 0;
    const json_t *event;
    size_t i;
    CHECK(timeline->dependency_count < 255);
    json_array_foreach(events, i, event)
    {
        const char *phase = text_of(event, "ph");
        bool is_end = !strcmp(phase, "f");
        if (!is_end && strcmp(phase, "s"))
            continue;
        int id = (int)json_integer_value(json_object_get(event, "id"));
        CHECK(id > 0 && id <= timeline->dependency_count);
        if (id <= 0 || id > timeline->dependency_count)
            continue;
        int later = 0;
        while (timeline->calls[later].first_dependency + timeline->calls[later].dependency_count <
               id)
            later++;
        int earlier = timeline->dependencies[id - 1];
        flow_count++;
        counts[is_end][id]++;
        (is_end ? arrivals : departures)[id] = time_of(event, "ts");
        CHECK_STR(text_of(event, "name"), "dependency");
        CHECK_STR(text_of(event, "cat"), "dependency");
        CHECK_STR(text_of(event, "bp"), is_end ? "e" : "");
        CHECK_EQ_I64(call_at(events, event), timeline->calls[is_end ? later : earlier].sequence);
    }
    for (int id = 1; id <= timeline->dependency_count; id++) {
        CHECK_EQ_I64(counts[0][id], counts[1][id]);
        CHECK(counts[0][id] <= 1 && departures[id] <= arrivals[id]);
    }
    CHECK_EQ_I64(flow_count, 2 * timeline->dependency_count);
}

/* Complete events of a thread nest, and come in the order in which importers can stack them. */
static void check_nesting(const json_t *events)
{
    double ends[64] = {0}, last_start = 0;
    int64_t last_tid = -1;
    int depth = 0;
    const json_t *event;
    size_t i;
    json_array_foreach(events, i, event)
    {
        if (strcmp(text_of(event, "ph"), "X"))
            continue;
        int64_t tid = json_integer_value(json_object_get(event, "tid"));
        double start = time_of(event, "ts"), end = start + time_of(event, "dur");
        if (tid != last_tid)
            depth = 0;
        else
            CHECK(start >= last_start);
        while (depth && ends[depth - 1] <= start + 1e-6)
            depth--;
        CHECK(!depth || end <= ends[depth - 1] + 1e-6);
        ends[depth++] = end;
        last_tid = tid;
        last_start = start;
    }
}

static int count_events(const json_t *events, const char *phase, const char *name)
{
    int count = 0;
    const json_t *event;
    size_t i;
    json_array_foreach(events, i, event)
    {
        count += !strcmp(text_of(event, "ph"), phase) &&
                 (!name || !strcmp(text_of(event, "name"), name));
    }
    return count;
}

static void test_viewers(void)
{
    hki_timeline *timeline = fixture_timeline();
    hki_writer writer = written(timeline);
    json_error_t error;
    json_t *root = json_loadb(writer.data, writer.bytes, JSON_REJECT_DUPLICATES, &error);
    const json_t *events = json_object_get(root, "traceEvents");
    CHECK(json_is_array(events));
    CHECK_STR(text_of(root, "displayTimeUnit"), "ns");
    CHECK_EQ_I64(count_events(events, "X", NULL), timeline->slice_count + timeline->wait_count);
    CHECK_EQ_I64(count_events(events, "C", NULL), timeline->point_count);
    CHECK_EQ_I64(count_events(events, "i", NULL), 0);
    CHECK_EQ_I64(count_events(events, "M", "process_name"), 4);
    CHECK_EQ_I64(count_events(events, "M", "process_sort_index"), 4);
    CHECK_EQ_I64(count_events(events, "M", "thread_name"), timeline->lane_count);
    CHECK_EQ_I64(count_events(events, "M", "thread_sort_index"), timeline->lane_count);
    CHECK(strstr(writer.data, "\"name\":\"sim:0 (simulated)\""));
    CHECK(strstr(writer.data,
                 "\"ts\":122.000,\"dur\":38.000,\"name\":\"copy\",\"cat\":\"call,copy\""));
    CHECK(strstr(writer.data, "\"cat\":\"call,copy,collective,backward\""));
    CHECK(strstr(writer.data, "\"cat\":\"wait\""));
    check_nesting(events);
    check_flows(timeline, events);
    json_decref(root);
    free(writer.data);
    hki_timeline_destroy(timeline);
}

/* A call that begins, by its device's clock, after one that depends on it: no arrow back in time. */
static void test_no_flow_back(void)
{
    hki_timeline *timeline = fixture_timeline();
    hki_writer before = written(timeline);
    for (int i = 0; i < timeline->slice_count; i++)
        if (timeline->slices[i].call == 24)
            timeline->slices[i].start_ns = timeline->slices[i].end_ns =
                300000; /* call 8 is at 280 to 330 */
    hki_writer writer = written(timeline);
    json_t *root = json_loadb(writer.data, writer.bytes, 0, NULL);
    CHECK_EQ_I64(count_events(json_object_get(root, "traceEvents"), "s", NULL),
                 timeline->dependency_count);
    CHECK(strstr(writer.data, "\"ts\":280.000,\"id\":")); /* from its start: it ends too late */
    json_decref(root);
    free(before.data);
    free(writer.data);
    hki_timeline_destroy(timeline);
}

/* ---- what is no trace ---------------------------------------------------------------------------------- */

static void check_refused(const char *data, size_t bytes, const char *expected)
{
    const hk_status *status = NULL;
    hki_timeline *timeline = hki_timeline_read_chrome(data, bytes, &status);
    CHECK(!timeline && status);
    if (!status)
        fprintf(stderr, "not refused: %s\n", expected);
    if (status) {
        CHECK_EQ_I64(hk_status_code(status), HK_BAD_DATA);
        if (!strstr(hk_status_message(status), expected)) {
            CHECK_STR(hk_status_message(status), expected);
        }
    }
    hk_status_release(status);
    hki_timeline_destroy(timeline);
    CHECK(!hki_timeline_read_chrome(data, bytes, NULL));
}

/* The fixture with the first `what` behind `after` replaced. */
static void check_damaged(const char *after, const char *what, const char *by, const char *expected)
{
    hki_timeline *timeline = fixture_timeline();
    hki_writer writer = written(timeline), damaged = {0};
    const char *from = strstr(writer.data, after);
    const char *at = from ? strstr(from, what) : NULL;
    CHECK(at);
    if (at) {
        hki_write_bytes(&damaged, writer.data, (size_t)(at - writer.data));
        hki_write(&damaged, "%s%s", by, at + strlen(what));
        check_refused(damaged.data, damaged.bytes, expected);
    }
    free(damaged.data);
    free(writer.data);
    hki_timeline_destroy(timeline);
}

static void test_refused(void)
{
    check_refused("", 0, "line 1: the file ends here, after 0 bytes; expected an object");
    check_refused(NULL, 0, "line 1: the file ends here");
    check_refused("\n\nPK\x03\x04", 6,
                  "line 3: found 'P'; expected an object, as hocket writes it");
    check_refused("{}", 2, "found '}'; expected a text in quotes");
    check_refused("{\"traceEvents\":[]}", 18, "\"otherData\" is missing");
    check_refused("{\"otherData\":{},\n\"traceEvents\":[]}", 34,
                  "line 1: \"otherData\" does not say");
    check_refused("{\"otherData\":[],\n\"traceEvents\":[]}", 34,
                  "found a list; expected an object");
    check_refused("{\"otherData\":{},\"otherData\":{}}", 31, "a second \"otherData\"");
    check_refused("{\"otherData\":{}", 15, "the file ends here, after 15 bytes");
    check_refused("{\"a\0b\":1}", 9, "\"otherData\" is missing");
    check_damaged("", "\"format\":1", "\"format\":2",
                  "line 2: \"format\" is 2; this version of hocket reads 1");
    check_damaged("", "\"duration_ns\":", "\"duration_ns\":-",
                  "\"duration_ns\" is -760000; expected");
    check_damaged("", "\"lost_records\":3", "\"lost_records\":1.5",
                  "\"lost_records\" is 1.5; expected");
    check_damaged("", "\"limit_bytes\"", "\"format\"", "duplicate object key");
    check_damaged("", "\"unit\":", "\"unity\":", "\"unit\" is missing; expected a text");
    check_damaged("\"X\"", "\"ts\":", "\"ts\":1e400,\"x\":", "no JSON: real number overflow");
    check_damaged("\"X\"",
                  "\"ts\":", "\"ts\":1e300,\"x\":", "\"ts\" is 1e+300; expected microseconds");
    check_damaged("\"X\"", "\"dur\":", "\"dur\":-",
                  "\"dur\" is -230; expected microseconds, from 0");
    check_damaged("\"X\"", "\"tid\":1000", "\"tid\":1009",
                  "\"tid\" is 1009; expected a whole number from");
    check_damaged("\"X\"", "\"name\":\"load", "\"name\":null,\"n\":\"", "\"name\" is null");
    check_damaged("\"X\"", "\"sequence\":", "\"sequence\":\"x\",\"s\":", "\"sequence\" is a text");
    check_damaged("\"X\"", "\"queue\":0", "\"queue\":-1", "\"queue\" is -1");
    check_damaged("\"X\"", "\"queue\":0", "\"queue\":4294967296", "\"queue\" is 4294967296");
    check_damaged("\"X\"", "\"after\":[1]", "\"after\":[99]",
                  "names call 99, which is not in the file");
    check_damaged("\"X\"", "\"after\":[1]", "\"after\":[26]", "expected earlier calls, ascending");
    check_damaged("\"X\"", "\"after\":[2,12]", "\"after\":[12,12]",
                  "expected earlier calls, ascending");
    check_damaged("\"X\"", "\"after\":[1]", "\"after\":[[]]", "\"after\" is a list; expected");
    check_damaged("\"X\"", "\"sequence\":2,", "\"sequence\":3,",
                  "two calls have the sequence number 3");
    check_damaged("\"X\"", "\"wait\":\"room\"", "\"wait\":\"\\u001bdoom\"",
                  "\"wait\" is \"\\x1bdoom\"; expected array");
    check_damaged("\"X\"", "\"ended_by\":7", "\"ended_by\":70", "names call 70");
    check_damaged("\"square_sum\"", "\"dur\":65.000", "\"dur\":20.000",
                  "overlaps the one around it in part");
    check_damaged("\"X\"", "\"ts\":206.000", "\"ts\":1.000", "begins before the one before it");
    check_damaged("\"ts\":758.000", "\"track\":1", "\"track\":0", "\"calls\" is missing");
    check_damaged("\"ts\":6.000,\"name\":\"memory\"", "\"track\":2", "\"track\":1",
                  "a point of track 1 after those of 2");
    check_damaged("\"C\"", "\"ts\":2.000", "\"ts\":200.000",
                  "a point of a counter before the last one");
    check_damaged("\"C\"", "\"calls\":1", "\"calls\":1e5",
                  "\"calls\" is 100000; expected a whole number");
    check_damaged("\"C\"", "\"args\":{\"calls\":1}", "\"args\":7",
                  "\"args\" is 7; expected an object");
    check_damaged("\"s\"", "\"ph\":\"s\"", "\"ph\":1", "\"ph\" is 1; expected a text");
    check_damaged("\"s\"", "\"ph\":\"s\"", "\"ph\":\"\\u0000\"", "no JSON: ");
    check_damaged("\"X\"", "\"after\":[1]",
                  "\"after\":[1],\"x\":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]",
                  "objects and lists in it; expected 16 at most");
    check_damaged("\n]}\n", "]}\n", "]}\n{}", "more text after the end of the trace");
}

/* Numbers that are good each, and too much together. */
static void test_sums(void)
{
    hki_writer writer = {0};
    const hk_status *status = NULL;
    hki_write(&writer,
              "{\"otherData\":{\"hocket\":\"\",\"format\":1,\"title\":\"\",\"duration_ns\":0,"
              "\"lost_records\":0,\"limit_bytes\":0,\"queues\":[],\"counters\":[],"
              "\"lanes\":[{\"process\":\"\",\"name\":\"\"}]},\"traceEvents\":[{\"ph\":\"M\"}");
    for (int i = 0; i < 10000; i++)
        hki_write(&writer,
                  ",\n{\"ph\":\"X\",\"tid\":1000,\"ts\":0,\"dur\":1e12,\"args\":{\"wait\":\"all\","
                  "\"device\":\"\",\"file\":\"\",\"line\":1}}");
    hki_write(&writer, "]}");
    CHECK(!hki_timeline_read_chrome(writer.data, writer.bytes, &status));
    CHECK(status && strstr(hk_status_message(status), "the durations here and before add up to"));
    hk_status_release(status);
    free(writer.data);
}

/* What takes much memory for its length, or much of the stack, is refused. */
static void test_deep(void)
{
    hki_writer writer = {0};
    hki_write(&writer, "{\"otherData\":");
    for (int i = 0; i < 200000; i++)
        hki_write(&writer, "[");
    check_refused(writer.data, writer.bytes, "the file ends here");
    for (int i = 0; i < 200000; i++)
        hki_write(&writer, "]");
    hki_write(&writer, ",\"traceEvents\":[]}");
    check_refused(writer.data, writer.bytes, "objects and lists in it; expected 100000 at most");
    writer.bytes = 0;
    hki_write(&writer, "{\"traceEvents\":[],\"otherData\":{\"x\":[0");
    for (int i = 0; i < 2200000; i++)
        hki_write_bytes(&writer, ",0", 2);
    hki_write(&writer, "]}}");
    check_refused(writer.data, writer.bytes, "an object with 2200000 commas in it; expected");
    free(writer.data);
}

int main(void)
{
    test_round_trip();
    test_texts();
    test_viewers();
    test_no_flow_back();
    test_refused();
    test_sums();
    test_deep();
    return check_result();
}
