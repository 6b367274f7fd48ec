#include "multi_runs.h"

#include <math.h>
#include <stdlib.h>

static hk_sim_options sim_options(const multi_options *options, int count)
{
    return (hk_sim_options){.count = count,
                            .flops = options->flops,
                            .memory_bandwidth = 2 * options->flops,
                            .link_bandwidth = options->link,
                            .staging_bandwidth = 4e9};
}

/* The first devices that the way asks for. */
static void choose_devices(const way *how, hk_device devices[MAX_SIMS])
{
    int count = 0;
    for (int i = 0; i < hk_device_count() && count < how->devices; i++)
        if (hk_device_is_simulated(hk_device_at(i)) != how->on_cpu)
            devices[count++] = hk_device_at(i);
}

static void record_parts(way *how)
{
    if (hk_status_print(hk_trace_start(NULL), stderr))
        return;
    training_issue(&how->training);
    hk_trace *trace = hk_trace_stop();
    double scale = 1e-9 / how->training.setup.steps;
    step_parts *parts = &how->parts;
    parts->step = scale * (double)hk_trace_get_summary(trace).duration_ns;
    parts->convolution = scale * (double)hk_trace_busy_ns(trace, "conv2d*");
    parts->dense = scale * (double)hk_trace_busy_ns(trace, "linear*,matmul*");
    parts->pool = scale * (double)hk_trace_busy_ns(trace, "avg_pool2d*");
    parts->relu = scale * (double)hk_trace_busy_ns(trace, "relu*");
    parts->other =
        scale * (double)hk_trace_busy_ns(trace, "softmax*,sum*,argmax*,equal*,assign*,sgd*");
    parts->backward = scale * (double)hk_trace_busy_ns(trace, "@backward");
    parts->collective = scale * (double)hk_trace_busy_ns(trace, "@collective");
    parts->collective_in_backward =
        scale * (double)hk_trace_overlap_ns(trace, "@collective", "@backward");
    hk_trace_release(trace);
}

void multi_measure(multi *self, way *how, int repetition)
{
    const multi_options *options = self->options;
    hk_sim_options sims = sim_options(options, how->devices);
    hk_runtime_options runtime = {.sim = &sims, .sim_count = 1};
    if (how->on_cpu)
        runtime = (hk_runtime_options){.cpu_devices = how->devices, .cpu_cores = how->devices};
    if (self->failed || !experiment_runtime_begin(self->report, &runtime)) {
        self->failed = true;
        return;
    }
    hk_device devices[MAX_SIMS];
    choose_devices(how, devices);
    measured_training *training = &how->training;
    *training = (measured_training){.time = {0}};
    self->failed = !training_init(training, &(training_setup){.train = self->train,
                                                              .test = self->test,
                                                              .devices = devices,
                                                              .device_count = how->devices,
                                                              .batch = how->batch,
                                                              .steps = (int)options->steps,
                                                              .lr = 0.02,
                                                              .all_reduce = how->all_reduce}) ||
                   !training_run(training);
    if (!self->failed) {
        how->runs[repetition] = training->time;
        how->seconds[repetition] = training_step_seconds(training);
        how->in_bytes = (double)training->in_bytes / (double)options->steps;
        how->out_bytes = (double)training->out_bytes / (double)options->steps;
    }
    if (!self->failed && repetition == 0 && how->is_recorded)
        record_parts(how);
    if (!self->failed && repetition == 0 && how->is_picture)
        experiment_trace(self->report, training_issue, training);
    training_deinit(training);
    experiment_runtime_end(self->report);
}

spread multi_step_time(const multi *self, const way *how)
{
    return spread_of(how->seconds, (int)self->options->common.repeat);
}

double multi_final_loss(multi *self, int k, double lr)
{
    enum { STEPS_OF_ONE = 112, QUARTER = 4 };
    measured_training *training = calloc(1, sizeof *training);
    hk_device device = {NULL};
    double sum = 0;
    int steps = STEPS_OF_ONE / k, counted = (steps + QUARTER - 1) / QUARTER;
    bool good = training && experiment_runtime_begin(self->report, NULL);
    if (good) {
        device = hk_device_at(0);
        good = training_init(training, &(training_setup){.train = self->train,
                                                         .test = self->test,
                                                         .devices = &device,
                                                         .device_count = 1,
                                                         .batch = k * self->options->batch,
                                                         .steps = steps - WARM_UP_STEPS,
                                                         .lr = lr}) &&
               training_run(training);
        for (int i = steps - counted; good && i < steps; i++)
            sum += training->losses[i];
        training_deinit(training);
        experiment_runtime_end(self->report);
    }
    self->failed = self->failed || !good;
    free(training);
    return good ? sum / counted : (double)NAN;
}

void multi_test(multi *self, int k, timing *time, double *accuracy)
{
    hk_sim_options sims = sim_options(self->options, k);
    measured_training *training = calloc(1, sizeof *training);
    if (!training || !experiment_runtime_begin(
                         self->report, &(hk_runtime_options){.sim = &sims, .sim_count = 1})) {
        self->failed = true;
        free(training);
        return;
    }
    hk_device devices[MAX_SIMS];
    choose_devices(&(way){.devices = k}, devices);
    self->failed = !training_init(training, &(training_setup){.train = self->train,
                                                              .test = self->test,
                                                              .devices = devices,
                                                              .device_count = k,
                                                              .batch = self->options->batch,
                                                              .steps = (int)self->options->steps,
                                                              .lr = 0.02}) ||
                   !training_run(training);
    timing_begin(time);
    if (!self->failed && hk_status_print(trainer_test(&training->trainer, accuracy), stderr))
        self->failed = true;
    timing_end(time);
    training_deinit(training);
    experiment_runtime_end(self->report);
    free(training);
}

/* ---- theory ---------------------------------------------------------------------------------------- */

/* Seconds to sum an array over k linked devices, one copy after another on the link that has most to do: the one of
 * the device that sums all, or all alike where each sums a part. */
static double reduction_seconds(const multi_options *options, int k, double bytes, bool by_parts)
{
    hk_sim_options sims = sim_options(options, k);
    const double latency = 10e-6, launch = 10e-6; /* defaults */
    double each = by_parts ? bytes / k : bytes;
    return 2 * (k - 1) * (latency + each / sims.link_bandwidth) + launch +
           (k + 1) * each / sims.memory_bandwidth;
}

static double parameter_bytes(const way *how, int parameter)
{
    const hk_dims *shape = &how->training.trainer.model.shapes[parameter];
    double bytes = sizeof(float);
    for (int i = 0; i < shape->ndim; i++)
        bytes *= (double)shape->dims[i];
    return bytes;
}

double multi_theory_bytes(const way *how)
{
    double bytes = 0;
    for (int i = 0; i < LENET_PARAMETERS; i++)
        bytes += 2 * (how->devices - 1) * parameter_bytes(how, i);
    return bytes;
}

double multi_predicted_seconds(const multi *self, const way *how, const way *alone)
{
    double all = 0, last = 0;
    for (int i = 0; i < LENET_PARAMETERS; i++) {
        double bytes = parameter_bytes(how, i);
        double seconds = fmin(reduction_seconds(self->options, how->devices, bytes, false),
                              reduction_seconds(self->options, how->devices, bytes, true));
        all += seconds;
        if (i < 4) /* conv1's own backward pass is too short to hide conv2's sums */
            last += seconds;
    }
    return multi_step_time(self, alone).median + fmax(last, all - alone->parts.backward);
}
