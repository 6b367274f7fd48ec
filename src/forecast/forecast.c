/* Forecasts: checks what is asked, replays it, and keeps what came out. */
#include "forecast/forecast.h"

#include "base/fill_struct.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

static const hki_status_facts facts = {.operation = "forecast"};

#define REFUSE(...) hki_status_create(HK_INVALID_ARGUMENT, &facts, __VA_ARGS__)

/* ---- checks -------------------------------------------------------------------------------------------- */

static const hk_status *check_slow(const hk_forecast_options *options, int devices)
{
    if (options->slow_count < 0 ||
        (options->slow_count > 0 && (!options->slow || !options->slow_factors)))
        return REFUSE("option slow_count is %d, but slow is %s", options->slow_count,
                      options->slow ? "given without factors" : "NULL");
    for (int i = 0; i < options->slow_count; i++) {
        if (options->slow[i] < 0 || options->slow[i] >= devices)
            return REFUSE("option slow names device %d; expected 0 to %d", options->slow[i],
                          devices - 1);
        if (!(options->slow_factors[i] >= 0.01 && options->slow_factors[i] <= 100))
            return REFUSE("the factor of device %d is %g; expected a number from 0.01 to 100",
                          options->slow[i], options->slow_factors[i]);
    }
    return NULL;
}

/* NULL, or a record. */
static const hk_status *check(const hk_forecast *self, const hk_forecast_options *options)
{
    const int recorded = self->scenario->device_count, devices = self->summary.devices;
    if (devices < 1 || devices % recorded)
        return REFUSE("option devices is %d, and the recording has %d; expected a multiple of %d",
                      devices, recorded, recorded);
    if (devices > self->topology->devices)
        return REFUSE("option devices is %d; the topology \"%s\" has room for %lld", devices,
                      self->topology->name, (long long)self->topology->devices);
    if (self->topology->collective == HKI_COLLECTIVE_COPIES && devices > HKI_COPIES_DEVICES)
        return REFUSE(
            "option devices is %d; \"collective\": \"copies\" is for %d at most, expected "
            "\"hierarchical\", \"ring\" or \"direct\"",
            devices, HKI_COPIES_DEVICES);
    if (!(options->jitter >= 0 && options->jitter <= 2))
        return REFUSE("option jitter is %g; expected a number from 0 to 2", options->jitter);
    return check_slow(options, devices);
}

/* ---- processes ----------------------------------------------------------------------------------------- */

static bool make_factors(hk_forecast *self, const hk_forecast_options *options)
{
    self->factors = calloc((size_t)self->summary.devices, sizeof *self->factors);
    self->processes = calloc((size_t)self->summary.devices, sizeof *self->processes);
    for (int i = 0; self->factors && i < self->summary.devices; i++)
        self->factors[i] = 1;
    for (int i = 0; self->factors && i < options->slow_count; i++)
        self->factors[options->slow[i]] = options->slow_factors[i];
    return self->factors && self->processes;
}

/* Those with the same factors become one. Few differ, or all do. Returns how many there are. */
static int make_processes(hk_forecast *self, bool each)
{
    enum { MOST_ALIKE = 64 }; /* to compare with */
    const int devices = self->scenario->device_count;
    const size_t bytes = (size_t)devices * sizeof *self->factors;
    int count = 0;
    for (int i = 0; i < self->summary.devices / devices; i++) {
        int like = 0;
        while (!each && like < count && like < MOST_ALIKE &&
               memcmp(self->factors + (ptrdiff_t)like * devices,
                      self->factors + (ptrdiff_t)i * devices, bytes))
            like++;
        if (!each && like < count && like < MOST_ALIKE) {
            self->processes[like].count++;
            continue;
        }
        self->processes[count] = (hki_replay_process){i, 1};
        memmove(self->factors + (ptrdiff_t)count++ * devices,
                self->factors + (ptrdiff_t)i * devices, bytes);
    }
    return count;
}

/* ---- replaying ------------------------------------------------------------------------------------------ */

static const hk_status *stuck(void)
{
    return hki_status_create(HK_BAD_DATA, &facts,
                             "calls of the recording would wait for each other's sums; expected a "
                             "topology without bucket_bytes, or a recording of two devices");
}

static const hk_status *replay(hk_forecast *self, const hk_forecast_options *options)
{
    const bool each = options->each_device || options->jitter > 0 ||
                      self->topology->collective == HKI_COLLECTIVE_COPIES;
    hki_replay_plan plan = {
        .scenario = self->scenario,
        .topology = self->topology,
        .devices = self->summary.devices,
        .processes = self->processes,
        .factors = self->factors,
        .jitter = options->jitter,
        .share = options->strong ? (double)self->scenario->device_count / self->summary.devices : 1,
        .seed = options->seed};
    plan.process_count = make_processes(self, each);
    if (hki_replay_nodes(&plan) > HKI_REPLAY_MOST)
        return REFUSE(
            "%lld nodes are to be replayed: %d for each of %d processes, and %lld for exchanges; "
            "expected %d at most, of a shorter recording, or fewer devices",
            (long long)hki_replay_nodes(&plan), self->scenario->node_count, plan.process_count,
            (long long)(hki_replay_nodes(&plan) -
                        (int64_t)plan.process_count * self->scenario->node_count),
            HKI_REPLAY_MOST);
    self->replay = hki_replay_run(&plan);
    if (self->replay && self->replay->is_stuck)
        return stuck();
    return self->replay && hki_forecast_measure(self) ? NULL : hki_status_no_memory();
}

/* The step of the recorded devices alone. */
static const hk_status *replay_alone(hk_forecast *self)
{
    const hki_replay_process process = {0, 1};
    int64_t begin_ns = 0, end_ns = 0;
    double *ones = calloc((size_t)self->scenario->device_count, sizeof *ones);
    const hki_replay_plan plan = {.scenario = self->scenario,
                                  .topology = self->topology,
                                  .devices = self->scenario->device_count,
                                  .processes = &process,
                                  .process_count = 1,
                                  .factors = ones,
                                  .share = 1};
    for (int i = 0; ones && i < self->scenario->device_count; i++)
        ones[i] = 1;
    hki_replay *alone = ones ? hki_replay_run(&plan) : NULL;
    if (alone && alone->is_stuck) {
        hki_replay_destroy(alone);
        free(ones);
        return stuck();
    }
    const int step = alone ? hki_forecast_step(alone, &begin_ns, &end_ns) : -1;
    self->summary.alone_step_ns = end_ns - begin_ns;
    hki_replay_destroy(alone);
    free(ones);
    return step < 0 ? hki_status_no_memory() : NULL;
}

static void set_summary(hk_forecast *self, const hk_forecast_options *options)
{
    hk_forecast_summary *summary = &self->summary;
    const double share = options->strong ? (double)summary->recorded_devices / summary->devices : 1;
    summary->steps = self->scenario->has_updates ? self->scenario->step_count : 0;
    summary->recorded_step_ns =
        hki_scenario_end_ns(self->scenario, self->step) -
        (self->step > 0 ? hki_scenario_end_ns(self->scenario, self->step - 1)
                        : self->scenario->timeline->calls[0].issue_ns);
    summary->efficiency = summary->step_ns > 0
                              ? share * (double)summary->alone_step_ns / (double)summary->step_ns
                              : 0;
    self->jitter = options->jitter;
    self->is_strong = options->strong;
    self->has_factors = options->slow_count > 0;
}

static const hk_status *make(hk_forecast *self, const hk_forecast_options *options)
{
    const hk_status *error = NULL;
    self->scenario =
        hki_scenario_create(self->recording->timeline, self->topology->bucket_bytes, &error);
    if (!self->scenario)
        return error;
    self->summary.recorded_devices = self->scenario->device_count;
    self->summary.devices = options->devices ? options->devices : self->summary.recorded_devices;
    error = check(self, options);
    if (!error && !make_factors(self, options))
        error = hki_status_no_memory();
    if (!error)
        error = replay(self, options);
    if (!error)
        error = replay_alone(self);
    if (!error)
        set_summary(self, options);
    return error;
}

/* ---- life ------------------------------------------------------------------------------------------------ */

static void destroy(hk_forecast *self)
{
    hki_replay_destroy(self->replay);
    hki_scenario_destroy(self->scenario);
    hk_trace_release(self->recording);
    hk_topology_release(self->topology);
    free(self->processes);
    free(self->factors);
    free(self);
}

hk_forecast *hk_forecast_create(const hk_trace *recording, const hk_topology *topology,
                                const hk_forecast_options *options, const hk_status **status)
{
    const hk_status *error = NULL;
    hk_forecast *self = NULL;
    if (!recording || !topology)
        error = REFUSE("the %s is NULL; expected one that was read",
                       recording ? "topology" : "recording");
    else if (!(self = calloc(1, sizeof *self)))
        error = hki_status_no_memory();
    if (!error) {
        atomic_init(&self->refs, 1);
        self->recording = hk_trace_retain((hk_trace *)(uintptr_t)recording);
        self->topology = hk_topology_retain((hk_topology *)(uintptr_t)topology);
        error = make(self, options ? options : &(hk_forecast_options){0});
        if (error) {
            destroy(self);
            self = NULL;
        }
    }
    if (status)
        *status = hki_status_lend(error ? error : hki_status_ok());
    else
        hk_status_release(error);
    return self;
}

hk_forecast *hk_forecast_retain(hk_forecast *forecast)
{
    if (forecast)
        atomic_fetch_add_explicit(&forecast->refs, 1, memory_order_relaxed);
    return forecast;
}

void hk_forecast_release(hk_forecast *forecast)
{
    if (forecast && atomic_fetch_sub_explicit(&forecast->refs, 1, memory_order_acq_rel) == 1)
        destroy(forecast);
}

/* ---- numbers --------------------------------------------------------------------------------------------- */

void hk_forecast_read_summary(const hk_forecast *forecast, hk_forecast_summary *summary)
{
    const hk_forecast_summary own = forecast ? forecast->summary : (hk_forecast_summary){0};
    hki_fill_struct(summary, &own, sizeof own);
}

void hk_forecast_read_level(const hk_forecast *forecast, int index, hk_forecast_level *level)
{
    const hk_forecast_level own = forecast && index >= 0 && index < forecast->summary.level_count
                                      ? forecast->levels[index]
                                      : (hk_forecast_level){.name = ""};
    hki_fill_struct(level, &own, sizeof own);
}
