/* Training on simulated devices takes the model time that a forecast says: replayed from its own recording, and forecast
 * from those of fewer devices. */
#include "tests/check.h"

#include "base/sanitizer.h"

#include <hocket/forecast.h>
#include <hocket/hocket.h>
#include <stdlib.h>

enum { LAYERS = 3, PARAMS = 2 * LAYERS, STEPS = 2, BATCH = 4, MOST = 16 };

/* Computing is slow, so that this machine is not behind, whatever else it does. The first case sums on one device, in the open; the second one
 * in parts, mostly while the backward pass runs. (In the open the order in which copies of many devices get ready at the same
 * time is that of this machine's threads, and so is the model's time.) */
static const struct sim_case {
    const char *name;
    int width;
    double bandwidth, latency_ns;
} cases[] = {{"on one device", 120, 2e8, 100000}, {"in parts", 192, 2e9, 20000}};
enum { FLOPS = 30000000, LAUNCH_NS = 100000 };

static hk_topology *make_topology(const struct sim_case *its)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"hocket_topology\": 1, \"collective\": \"copies\",\n"
             " \"device\": {\"flops\": %d, \"memory_bytes_per_second\": 1e9, \"launch_ns\": %d},\n"
             " \"levels\": [{\"children\": 64, \"bytes_per_second\": %.0f, \"latency_ns\": %.0f}]}",
             FLOPS, LAUNCH_NS, its->bandwidth, its->latency_ns);
    const hk_status *status;
    hk_topology *topology = hk_topology_parse(text, strlen(text), &status);
    CHECK(!hk_status_print(status, stderr));
    return topology;
}

static hk_array *network(hk_array *x, hk_array *const *p)
{
    for (int i = 0; i < LAYERS; i++)
        x = hk_relu(hk_linear(x, p[2 * i], p[2 * i + 1]));
    return x;
}

static void step(hk_array *(*params)[PARAMS], hk_array *const *x, int n)
{
    HK_SCOPE;
    hk_array *loss[MOST], *grads[MOST];
    hk_record_begin();
    for (int d = 0; d < n; d++)
        loss[d] = network(x[d], params[d]);
    hk_record_end();
    for (int d = 0; d < n; d++)
        hk_backward(loss[d]);
    for (int i = 0; i < PARAMS; i++) {
        for (int d = 0; d < n; d++)
            grads[d] = hk_grad(params[d][i]);
        hk_all_reduce(grads, n);
    }
    for (int d = 0; d < n; d++)
        hk_sgd(params[d], PARAMS, &(hk_sgd_options){.lr = 0.01, .batch = BATCH});
}

/* A few steps on n devices; nothing waits for them before the end. */
static hk_trace *record(const struct sim_case *its, int n)
{
    const hk_sim_options sim = {.count = n,
                                .flops = FLOPS,
                                .memory_bandwidth = 1e9,
                                .launch_ns = LAUNCH_NS,
                                .link_bandwidth = its->bandwidth,
                                .link_latency_ns = its->latency_ns};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){
        .sim = &sim, .sim_count = 1, .cuda = "off", .run_ahead_calls = 1 << 20})));
    hk_trace *trace = NULL;
    {
        HK_SCOPE;
        hk_array *params[MOST][PARAMS], *x[MOST];
        for (int d = 0; d < n; d++) {
            const hk_device device = hk_device_at(1 + d);
            x[d] = hk_ones(hk_shape(BATCH, its->width), HK_F32, device);
            for (int i = 0; i < PARAMS; i++) {
                params[d][i] = i % 2 ? hk_zeros(hk_shape(its->width), HK_F32, device)
                                     : hk_ones(hk_shape(its->width, its->width), HK_F32, device);
                hk_attach_grad(params[d][i], HK_GRAD_WRITE);
            }
        }
        CHECK(hk_ok(hk_wait_all()));
        CHECK(hk_ok(hk_trace_start(NULL)));
        for (int i = 0; i < STEPS; i++)
            step(params, x, n);
        trace = hk_trace_stop();
    }
    CHECK(trace != NULL);
    hk_runtime_deinit();
    return trace;
}

static hk_forecast_summary forecast(const hk_trace *recording, const hk_topology *topology, int n)
{
    const hk_status *status;
    hk_forecast *made =
        hk_forecast_create(recording, topology, &(hk_forecast_options){.devices = n}, &status);
    CHECK(made != NULL);
    if (!made)
        hk_status_print(status, stderr);
    const hk_forecast_summary summary = hk_forecast_get_summary(made);
    hk_forecast_release(made);
    return summary;
}

static bool is_near(int64_t actual, int64_t expected)
{
    return llabs(actual - expected) <= expected / 100;
}

static int64_t forecast_ns(const hk_trace *recording, const hk_topology *topology, int n)
{
    return forecast(recording, topology, n).step_ns;
}

/* All forecasts for n devices, from recordings of fewer and its own, tell what the simulation took. */
static bool all_agree(const struct sim_case *its, hk_trace *const *recordings,
                      const hk_topology *topology, int n)
{
    const int64_t simulated = forecast(recordings[n], topology, n).recorded_step_ns;
    bool agree = true;
    for (int from = 1; from <= n; from *= 2) {
        const int64_t ns = forecast_ns(recordings[from], topology, n);
        agree &= is_near(ns, simulated);
        printf("sums %s, %d devices, from %d: %.3f ms; simulated %.3f ms\n", its->name, n, from,
               (double)ns / 1e6, (double)simulated / 1e6);
    }
    return agree;
}

/* A run in which the program's thread was held up is not the model's: it is recorded again. Sanitizers hold it up all the
 * time; under them nothing is asked of the times. */
static void check_case(const struct sim_case *its)
{
    enum { TRIES = HKI_SANITIZED ? 1 : 8 };
    hk_trace *recordings[MOST + 1] = {NULL};
    hk_topology *topology = make_topology(its);
    for (int n = 1; n <= MOST; n *= 2) {
        bool agree = false;
        for (int i = 0; i < TRIES && !agree; i++) {
            hk_trace_release(recordings[n]);
            recordings[n] = record(its, n);
            agree = all_agree(its, recordings, topology, n);
        }
        CHECK(agree || HKI_SANITIZED);
    }
    for (int n = 1; n <= MOST; n *= 2)
        hk_trace_release(recordings[n]);
    hk_topology_release(topology);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i]);
    return check_result();
}
