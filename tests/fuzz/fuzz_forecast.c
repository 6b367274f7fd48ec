/* Fuzzing of forecasts: whatever the topology or the recording, no crash, no leak, a message with every refusal, and a picture in order.
 *
 * What has "hocket_topology" in it is a topology, for the fixture's recording; all else is a recording.
 *
 * With libFuzzer: scripts/fuzz
 * Without: `fuzz_forecast FILE|FOLDER…` runs each file; with no arguments, small seeds with their bits turned. */
#include <stdlib.h>
#include <string.h>

#include "forecast/forecast.h"
#include "fuzz/fuzz_driver.h"
#include "tests/check.h"
#include "trace/timeline_fixture.h"
#include "trace/trace_object.h"

static const char topology_text[] =
    "{\"hocket_topology\": 1, \"bucket_bytes\": 99999, \"device\": {\"speed\": 2, \"flops\": "
    "1e9},\n"
    "\"levels\": [{\"children\": 4, \"bytes_per_second\": 1e9, \"latency_ns\": 5},\n"
    "{\"children\": 2, \"messages\": [{\"bytes\": 9, \"ns\": 7}, {\"bytes\": 5e4, \"ns\": "
    "1e6}]}]}\n";
static const char copies_text[] = "{\"hocket_topology\": 1, \"collective\": \"copies\",\n"
                                  "\"levels\": [{\"children\": 8, \"bytes_per_second\": 1e3}]}\n";

static void run_forecast(const hk_trace *recording, const hk_topology *topology, int devices,
                         double jitter)
{
    const hk_forecast_options options = {
        .devices = devices, .jitter = jitter, .strong = jitter > 0};
    const hk_status *status;
    hk_forecast *forecast = hk_forecast_create(recording, topology, &options, &status);
    fuzz_require(forecast || strlen(hk_status_message(status)) > 20, "no message");
    if (!forecast)
        return;
    char *text = hk_forecast_text(forecast, NULL);
    hk_trace *picture = hk_forecast_trace(forecast);
    fuzz_require(text && picture, "no text or no picture");
    check_slices(picture->timeline);
    fuzz_require(!check_failed_count, "slices");
    free(text);
    hk_trace_release(picture);
    hk_forecast_release(forecast);
}

static bool is_topology(const uint8_t *data, size_t size)
{
    return memmem(data, size, "hocket_topology", 15) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const hk_status *status = NULL;
    hk_topology *topology;
    hki_timeline *timeline;
    if (is_topology(data, size)) {
        topology = hk_topology_parse((const char *)data, size, &status);
        fuzz_require(topology || strlen(hk_status_message(status)) > 20, "no message");
        timeline = fixture_timeline();
        timeline->lost_records = 0;
        status = NULL;
    } else {
        const char *chosen = size % 2 ? topology_text : copies_text;
        topology = hk_topology_parse(chosen, strlen(chosen), NULL);
        timeline = hki_timeline_read_chrome((const char *)data, size, &status);
    }
    hk_status_release(status);
    hk_trace *recording = timeline ? hki_trace_object_create(timeline) : NULL;
    if (recording && topology) {
        run_forecast(recording, topology, 0, 0);
        run_forecast(recording, topology, 4, 0);
        run_forecast(recording, topology, 4, 0.5);
    }
    hk_trace_release(recording);
    hk_topology_release(topology);
    return 0;
}

#ifndef HOCKET_LIBFUZZER

/* Bits turned here and there: a recording is too long for each. */
static void run_flipped(const hki_writer *seed)
{
    uint64_t state = 1; /* a linear congruential generator will do */
    if (fuzz_keep(seed->data, seed->bytes))
        return;
    for (int i = 0; i < 3000; i++) {
        char *copy = malloc(seed->bytes);
        fuzz_require(copy, "no memory");
        memcpy(copy, seed->data, seed->bytes);
        for (int j = 0; j <= i % 3; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            copy[(state >> 33) % seed->bytes] ^= (char)(1 << (state >> 61));
        }
        fuzz_exact((const uint8_t *)copy, seed->bytes);
        free(copy);
    }
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        hki_timeline *timeline = fixture_timeline();
        hki_writer seed = {0};
        timeline->lost_records = 0;
        hki_timeline_write_chrome(timeline, &seed);
        fuzz_seed((const uint8_t *)topology_text, strlen(topology_text));
        fuzz_seed((const uint8_t *)copies_text, strlen(copies_text));
        run_flipped(&seed);
        free(seed.data);
        hki_timeline_destroy(timeline);
    }
    return fuzz_paths(argc, argv) | check_result();
}

#endif
