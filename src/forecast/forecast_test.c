/* Forecasts of recordings made by hand, whose steps are known to the nanosecond. */
#include "forecast/forecast.h"
#include "tests/check.h"
#include "trace/timeline_fixture.h"
#include "trace/trace_object.h"

#include <math.h>

/* ---- recordings ----------------------------------------------------------------------------------------- */

enum { LAYERS_MOST = 2000 };

static const char *text(hki_timeline *timeline, const char *given)
{
    const char *kept = hki_timeline_text(timeline, given);
    CHECK(kept != NULL);
    return kept;
}

/* The call behind those that are there, of 1000 floats; after -1: nothing. */
static int add(hki_timeline *timeline, const char *operation, int queue, int64_t ns, int after,
               int also)
{
    const int index = timeline->call_count++;
    hki_call_event *call = &timeline->calls[index];
    *call = (hki_call_event){.sequence = (uint64_t)index + 1,
                             .operation = text(timeline, operation),
                             .shapes =
                                 text(timeline, "float32(1000,), float32(1000,) -> float32(1000,)"),
                             .file = text(timeline, ""),
                             .queue = queue,
                             .is_backward = !strcmp(operation, "matmul_backward"),
                             .bytes = 12000,
                             .first_dependency = timeline->dependency_count};
    call->start_ns = index ? call[-1].end_ns : 0;
    call->end_ns = call->wall_end_ns = call->start_ns + ns;
    call->wall_start_ns = call->start_ns;
    const int first = after < also ? after : also, second = after < also ? also : after;
    if (first >= 0)
        timeline->dependencies[timeline->dependency_count++] = first;
    if (second >= 0 && second != first)
        timeline->dependencies[timeline->dependency_count++] = second;
    call->dependency_count = timeline->dependency_count - call->first_dependency;
    return index;
}

/* Of so many layers: forward 1000 ns each, backward 2000, update 100; one device, one queue. */
static hk_trace *make_recording(int layers, int steps)
{
    hki_timeline *timeline = hki_timeline_create();
    const size_t calls = 3 * (size_t)layers * (size_t)steps + 1;
    timeline->title = text(timeline, "by hand");
    timeline->calls = calloc(calls, sizeof *timeline->calls);
    timeline->dependencies = calloc(2 * calls, sizeof *timeline->dependencies);
    timeline->queues = calloc(1, sizeof *timeline->queues);
    timeline->queues[0] =
        (hki_trace_queue_info){text(timeline, "gpu:0"), text(timeline, "compute"), false, false};
    timeline->queue_count = 1;
    int *updates = malloc((size_t)layers * sizeof *updates);
    int *backward = malloc((size_t)layers * sizeof *backward);
    memset(updates, -1, (size_t)layers * sizeof *updates);
    for (int step = 0, before = -1; step < steps; step++) {
        for (int i = 0; i < layers; i++)
            before = add(timeline, "matmul", 0, 1000, i ? before : -1, updates[i]);
        for (int i = layers - 1; i >= 0; i--)
            before = backward[i] = add(timeline, "matmul_backward", 0, 2000, before, -1);
        for (int i = layers - 1; i >= 0; i--)
            updates[i] = add(timeline, "sgd_update", 0, 100, backward[i], -1);
    }
    free(updates);
    free(backward);
    return hki_trace_object_create(timeline);
}

static hk_topology *parse(const char *given)
{
    const hk_status *status;
    hk_topology *topology = hk_topology_parse(given, strlen(given), &status);
    CHECK(!hk_status_print(status, stderr));
    return topology;
}

/* A ring of 2 takes 2 * 500 ns and 4 kB at 1 GB/s. */
static const char ring[] =
    "{\"hocket_topology\": 1, \"levels\": [{\"children\": 4096, \"latency_ns\": 500,"
    "\"bytes_per_second\": 1e9, \"collective\": \"ring\"}]}";

static hk_forecast *make(const hk_trace *recording, const hk_topology *topology,
                         const hk_forecast_options *options)
{
    const hk_status *status;
    hk_forecast *forecast = hk_forecast_create(recording, topology, options, &status);
    CHECK(forecast != NULL);
    if (!forecast)
        hk_status_print(status, stderr);
    return forecast;
}

static hk_forecast_summary summarize(const hk_trace *recording, const hk_topology *topology,
                                     const hk_forecast_options *options)
{
    hk_forecast *forecast = make(recording, topology, options);
    const hk_forecast_summary summary = hk_forecast_get_summary(forecast);
    hk_forecast_release(forecast);
    return summary;
}

/* ---- what is known by hand -------------------------------------------------------------------------------- */

/* Two layers: 2 us forward, 4 us backward, 0.2 us of updates. On two devices the last layer's sum (5 us) begins after 4 us, the
 * first one's after it. */
static void check_by_hand(void)
{
    hk_trace *recording = make_recording(2, 3);
    hk_topology *topology = parse(ring);
    hk_forecast_summary alone = summarize(recording, topology, NULL);
    CHECK_EQ_I64(alone.devices, 1);
    CHECK_EQ_I64(alone.steps, 3);
    CHECK_EQ_I64(alone.step_ns, 6200);
    CHECK_EQ_I64(alone.recorded_step_ns, 6200);
    CHECK(alone.efficiency == 1 && fabs(alone.bubble) < 1e-9);
    hk_forecast *forecast = make(recording, topology, &(hk_forecast_options){.devices = 2});
    const hk_forecast_summary two = hk_forecast_get_summary(forecast);
    /* 4000 to the last layer's backward, 2 * 5000 for the sums, 100 for the last update; the update of the last layer runs while
     * the first layer's sum goes on. */
    CHECK_EQ_I64(two.step_ns, 4000 + 2 * 5000 + 100);
    CHECK_EQ_I64(two.alone_step_ns, 6200);
    CHECK(fabs(two.efficiency - 6200. / 14100) < 1e-9);
    CHECK(fabs(two.bubble - (1 - 6200. / 14100)) < 1e-9);
    CHECK_EQ_I64(two.exchange_ns, 10000);
    CHECK_EQ_I64(two.hidden_ns, 2000 + 100);
    CHECK_EQ_I64(two.sum_count, 2);
    CHECK_EQ_I64(two.sum_bytes, 8000);
    const hk_forecast_level level = hk_forecast_get_level(forecast, 0);
    CHECK(level.links == 2 && level.link_bytes == 8000 && level.total_bytes == 16000);
    CHECK(!strcmp(hk_forecast_get_level(forecast, 1).name, ""));
    hk_forecast_release(forecast);
    hk_topology_release(topology);
    hk_trace_release(recording);
}

/* Other topologies and options, on two devices. */
static void check_options(void)
{
    static const char joined[] = "{\"hocket_topology\": 1, \"bucket_bytes\": 8000, \"levels\": ["
                                 "{\"children\": 2, \"bytes_per_second\": 1e9}]}";
    static const char faster[] =
        "{\"hocket_topology\": 1, \"device\": {\"speed\": 2}, \"levels\": ["
        "{\"children\": 2, \"bytes_per_second\": 1e12}]}";
    static const char crowded[] =
        "{\"hocket_topology\": 1, \"device\": {\"cores\": 1}, \"levels\": ["
        "{\"children\": 2, \"bytes_per_second\": 1e15, \"cores\": 1.6}]}";
    hk_trace *recording = make_recording(2, 2);
    hk_topology *of_ring = parse(ring), *of_joined = parse(joined), *of_faster = parse(faster),
                *of_crowded = parse(crowded);
    const hk_forecast_options two = {.devices = 2};
    hk_forecast_summary summary = summarize(recording, of_joined, &two);
    CHECK_EQ_I64(summary.step_ns, 6000 + 8000 + 200);
    CHECK_EQ_I64(summary.sum_count, 1);
    /* Half as long; the first layer's sum takes 4 ns, while the last one's update runs. */
    CHECK_EQ_I64(summarize(recording, of_faster, &two).step_ns, 3100);
    const int slow = 1;
    const double factor = 2;
    summary = summarize(recording, of_ring,
                        &(hk_forecast_options){
                            .devices = 2, .slow = &slow, .slow_factors = &factor, .slow_count = 1});
    CHECK_EQ_I64(summary.step_ns, 2 * 4000 + 2 * 5000 + 2 * 100);
    /* Two devices that compute on 1.6 cores: a quarter longer. */
    summary = summarize(recording, of_crowded, &two);
    CHECK_EQ_I64(summary.step_ns, 6200 + 6200 / 4);
    CHECK_EQ_I64(summary.alone_step_ns, 6200);
    /* Strong scaling halves all but updates. */
    summary = summarize(recording, of_ring, &(hk_forecast_options){.devices = 2, .strong = true});
    CHECK_EQ_I64(summary.step_ns, 2000 + 2 * 5000 + 100);
    CHECK(fabs(summary.efficiency - 6200. / 12100 / 2) < 1e-9);
    hk_topology_release(of_ring);
    hk_topology_release(of_joined);
    hk_topology_release(of_faster);
    hk_topology_release(of_crowded);
    hk_trace_release(recording);
}

/* ---- ranks ------------------------------------------------------------------------------------------------- */

/* A part of a sum over ranks. */
static int add_part(hki_timeline *timeline, int queue, const char *shapes, int64_t bytes, int after,
                    int also)
{
    const int index = add(timeline, "group_all_reduce", queue, 10, after, also);
    timeline->calls[index].shapes = text(timeline, shapes);
    timeline->calls[index].bytes = bytes;
    timeline->calls[index].is_collective = true;
    return index;
}

/* An exchange, a sum, an exchange. */
static int add_bucket(hki_timeline *timeline, int after, const char *scattered, const char *summed,
                      const char *gathered, int64_t bytes)
{
    const int first = add_part(timeline, 2, scattered, bytes, after, -1);
    const int sum = add_part(timeline, 3, summed, bytes, first, -1);
    return add_part(timeline, 2, gathered, bytes, sum, -1);
}

/* One rank's recording: an array goes in two buckets, of 600 and 400 elements, which are one sum of all. in_place: a rank sums its
 * part where it is, and the second exchange names that as read and written. */
static void check_buckets(bool in_place)
{
    hki_timeline *timeline = hki_timeline_create();
    timeline->title = text(timeline, "two buckets");
    timeline->calls = calloc(16, sizeof *timeline->calls);
    timeline->dependencies = calloc(32, sizeof *timeline->dependencies);
    timeline->queues = calloc(4, sizeof *timeline->queues);
    timeline->queues[0] =
        (hki_trace_queue_info){text(timeline, "gpu:0"), text(timeline, "compute"), false, false};
    timeline->queues[1] =
        (hki_trace_queue_info){text(timeline, "gpu:0"), text(timeline, "copy out"), false, true};
    timeline->queues[2] =
        (hki_trace_queue_info){text(timeline, "cpu:0"), text(timeline, "ranks"), false, false};
    timeline->queues[3] =
        (hki_trace_queue_info){text(timeline, "cpu:0"), text(timeline, "compute"), false, false};
    timeline->queue_count = 4;
    const int backward = add(timeline, "matmul_backward", 0, 1000, -1, -1);
    const int out = add_part(timeline, 1, "float32(1000,) -> float32(1000,)", 8000, backward, -1);
    const int first = add_bucket(
        timeline, out, "-> float32(600,), float32(300,)",
        "float32(300,), float32(300,) -> float32(300,)",
        in_place ? "-> float32(300,), float32(300,)" : "float32(300,) -> float32(600,)", 3600);
    const int second = add_bucket(
        timeline, out, "-> float32(400,), float32(200,)",
        "float32(200,), float32(200,) -> float32(200,)",
        in_place ? "-> float32(200,), float32(200,)" : "float32(200,) -> float32(400,)", 2400);
    const int in = add_part(timeline, 1, "float32(1000,) -> float32(1000,)", 8000, first, second);
    add(timeline, "sgd_update", 0, 100, in, -1);
    hk_trace *recording = hki_trace_object_create(timeline);
    hk_topology *topology = parse(ring);
    const hk_forecast_summary two =
        summarize(recording, topology, &(hk_forecast_options){.devices = 2});
    CHECK_EQ_I64(two.sum_count, 1);
    CHECK_EQ_I64(two.sum_bytes, 4000);
    CHECK_EQ_I64(two.step_ns, 1000 + 2 * 500 + 4000 + 100);
    hk_topology_release(topology);
    hk_trace_release(recording);
}

/* ---- alike devices ---------------------------------------------------------------------------------------- */

static void check_same(hk_forecast_options options)
{
    hk_trace *recording = make_recording(7, 3);
    hk_topology *topology = parse(ring);
    const hk_forecast_summary few = summarize(recording, topology, &options);
    options.each_device = true;
    const hk_forecast_summary each = summarize(recording, topology, &options);
    CHECK_EQ_I64(few.step_ns, each.step_ns);
    CHECK_EQ_I64(few.exchange_ns, each.exchange_ns);
    CHECK_EQ_I64(few.hidden_ns, each.hidden_ns);
    CHECK(fabs(few.bubble - each.bubble) < 1e-9);
    hk_topology_release(topology);
    hk_trace_release(recording);
}

static void check_alike(void)
{
    const int slow[] = {17, 3, 60};
    const double factors[] = {1.5, 1.1, 1.5};
    check_same((hk_forecast_options){.devices = 64});
    check_same((hk_forecast_options){.devices = 1});
    check_same((hk_forecast_options){
        .devices = 64, .slow = slow, .slow_factors = factors, .slow_count = 3});
    check_same((hk_forecast_options){.devices = 64, .jitter = 0.1});
}

/* The same seed gives the same, another one another, and the step grows with the spread. */
static void check_jitter(void)
{
    hk_trace *recording = make_recording(7, 3);
    hk_topology *topology = parse(ring);
    const hk_forecast_options none = {.devices = 64};
    const hk_forecast_options one = {.devices = 64, .jitter = 0.2, .seed = 1};
    const hk_forecast_options other = {.devices = 64, .jitter = 0.2, .seed = 2};
    const int64_t first = summarize(recording, topology, &one).step_ns;
    CHECK_EQ_I64(summarize(recording, topology, &one).step_ns, first);
    CHECK(summarize(recording, topology, &other).step_ns != first);
    CHECK(first > summarize(recording, topology, &none).step_ns);
    hk_topology_release(topology);
    hk_trace_release(recording);
}

/* ---- many ------------------------------------------------------------------------------------------------- */

static const hki_node *node_of(const hki_scenario *scenario, int index)
{
    return &scenario->nodes[index];
}

/* 1024 devices that all differ, 600 calls each: what begins is done with all that it follows. */
static void check_many(void)
{
    hk_trace *recording = make_recording(100, 2);
    hk_topology *topology = parse(ring);
    hk_forecast *forecast =
        make(recording, topology, &(hk_forecast_options){.devices = 1024, .jitter = 0.05});
    const hki_replay *replay = forecast->replay;
    const hki_scenario *scenario = forecast->scenario;
    int wrong = 0;
    for (int i = 0; i < replay->first_exchange; i++) {
        const int index = i % scenario->node_count, base = i - index;
        for (int j = scenario->first_after[index]; j < scenario->first_after[index + 1]; j++)
            wrong += replay->start_ns[base + scenario->after[j]] < replay->end_ns[i];
        wrong += replay->end_ns[i] < replay->start_ns[i];
        wrong += node_of(scenario, index)->kind == HKI_NODE_CALL && replay->end_ns[i] == 0;
    }
    CHECK_EQ_I64(wrong, 0);
    CHECK_EQ_I64(hk_forecast_get_summary(forecast).devices, 1024);
    hk_trace *picture = hk_forecast_trace(forecast);
    check_timeline(picture->timeline);
    CHECK(picture->timeline->call_count == 2 * 300 + 100);
    hk_trace_release(picture);
    hk_forecast_release(forecast);
    hk_topology_release(topology);
    hk_trace_release(recording);
}

/* ---- what is refused -------------------------------------------------------------------------------------- */

static void check_refused(const hk_trace *recording, const char *topology_text,
                          hk_forecast_options options, const char *message)
{
    const hk_status *status;
    hk_topology *topology = topology_text ? parse(topology_text) : NULL;
    hk_forecast *forecast = hk_forecast_create(recording, topology, &options, &status);
    CHECK(!forecast && !hk_ok(status));
    if (!strstr(hk_status_message(status), message))
        fprintf(stderr, "\"%s\" does not say \"%s\"\n", hk_status_message(status), message);
    CHECK(strstr(hk_status_message(status), message) != NULL);
    hk_forecast_release(forecast);
    hk_topology_release(topology);
}

static void check_refusals(void)
{
    static const char copies[] =
        "{\"hocket_topology\": 1, \"collective\": \"copies\", \"levels\": ["
        "{\"children\": 4096, \"bytes_per_second\": 1e9}]}";
    hk_trace *recording = make_recording(2, 2), *empty = make_recording(2, 0);
    hk_trace *longer = make_recording(LAYERS_MOST, 6);
    const int slow = 9;
    const double factor = 1.5, wrong_factor = NAN;
    check_refused(NULL, ring, (hk_forecast_options){0}, "the recording is NULL");
    check_refused(recording, NULL, (hk_forecast_options){0}, "the topology is NULL");
    check_refused(empty, ring, (hk_forecast_options){0}, "has no calls");
    check_refused(recording, ring, (hk_forecast_options){.devices = -3}, "option devices is -3");
    check_refused(recording, ring, (hk_forecast_options){.devices = 5000}, "has room for 4096");
    check_refused(recording, copies, (hk_forecast_options){.devices = 65}, "is for 64 at most");
    check_refused(recording, ring, (hk_forecast_options){.jitter = NAN}, "option jitter is");
    check_refused(recording, ring, (hk_forecast_options){.jitter = -1}, "option jitter is -1");
    check_refused(longer, ring, (hk_forecast_options){.devices = 4096, .jitter = 0.1},
                  "of a shorter recording, or fewer devices");
    check_refused(recording, ring,
                  (hk_forecast_options){
                      .devices = 8, .slow = &slow, .slow_factors = &factor, .slow_count = 1},
                  "option slow names device 9; expected 0 to 7");
    check_refused(recording, ring,
                  (hk_forecast_options){
                      .devices = 16, .slow = &slow, .slow_factors = &wrong_factor, .slow_count = 1},
                  "the factor of device 9 is");
    check_refused(recording, ring, (hk_forecast_options){.slow_count = 1}, "slow_count is 1");
    empty->timeline->lost_records = 3;
    check_refused(empty, ring, (hk_forecast_options){0}, "lost 3 records");
    hk_trace_release(recording);
    hk_trace_release(empty);
    hk_trace_release(longer);
    hk_forecast_release(NULL);
    CHECK(!hk_forecast_text(NULL, NULL) && !hk_forecast_trace(NULL) && !hk_forecast_retain(NULL));
    CHECK(hk_forecast_get_summary(NULL).devices == 0);
}

/* Of two devices and what not: everything that a timeline can say. */
static void check_fixture(void)
{
    hk_trace *recording = hki_trace_object_create(fixture_timeline());
    hk_topology *topology = parse(ring);
    recording->timeline->lost_records = 0;
    hk_forecast *forecast = make(recording, topology, &(hk_forecast_options){.devices = 4});
    const hk_forecast_summary summary = hk_forecast_get_summary(forecast);
    CHECK_EQ_I64(summary.recorded_devices, 2);
    CHECK_EQ_I64(summary.steps, 1);
    CHECK_EQ_I64(summary.sum_count, 2);
    hk_trace *picture = hk_forecast_trace(forecast);
    check_timeline(picture->timeline);
    hk_trace_release(picture);
    hk_forecast_release(forecast);
    const hk_status *status;
    CHECK(!hk_forecast_create(recording, topology, &(hk_forecast_options){.devices = 3}, &status));
    CHECK(strstr(hk_status_message(status), "expected a multiple of 2") != NULL);
    hk_topology_release(topology);
    hk_trace_release(recording);
}

int main(void)
{
    check_by_hand();
    check_options();
    check_buckets(false);
    check_buckets(true);
    check_alike();
    check_jitter();
    check_many();
    check_refusals();
    check_fixture();
    return check_result();
}
