#include "split_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A network on devices, in one of the ways. */
typedef struct network {
    const split_network *setup;
    way_name name;
    hk_device devices[MAX_PARTS];
    int replicas; /* by data: of all weights; else 1 */
    /* By replica and layer. By layer: by device and layer. */
    hk_array *weights[MAX_PARTS][MAX_PARTS * LAYERS];
    hk_array *inputs[MAX_PARTS * 64]; /* micro-batches, shares, or one */
    hk_optimizer *optimizer;          /* by data */
    bool failed;
} network;

/* ---- values ------------------------------------------------------------------------------------------------------------ */

/* From -1 to 1, the same everywhere. */
static void draw(float *values, int64_t count, float scale, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = scale * ((float)(seed >> 8) / 8388608.0f - 1);
    }
}

bool split_network_init(split_network *self, const split_network_options *options)
{
    *self = (split_network){.options = options,
                            .devices = (int)options->devices,
                            .batches = (int)options->batches,
                            .batch = options->batch,
                            .width = options->width};
    self->weights = self->devices * LAYERS * self->width * self->width;
    self->values = malloc((size_t)self->weights * sizeof *self->values);
    self->inputs = malloc((size_t)(self->batch * self->width) * sizeof *self->inputs);
    bool good = self->values && self->inputs;
    for (int i = 0; i < WAY_COUNT; i++) {
        self->ways[i].gradients = calloc((size_t)self->weights, sizeof(float));
        good = good && self->ways[i].gradients;
    }
    if (good) {
        /* so that the deviation stays about the same from layer to layer */
        draw(self->values, self->weights, 1.7f / (float)__builtin_sqrt((double)self->width), 1);
        draw(self->inputs, self->batch * self->width, 1, 2);
    }
    return good;
}

void split_network_deinit(split_network *self)
{
    for (int i = 0; i < WAY_COUNT; i++)
        free(self->ways[i].gradients);
    free(self->values);
    free(self->inputs);
}

/* ---- the network on its devices ------------------------------------------------------------------------------------------- */

static hk_array *weight_on_host(const split_network *setup, int layer)
{
    const int64_t width = setup->width;
    return hk_from_host(setup->values + layer * width * width, hk_shape(width, width), HK_F32,
                        hk_device_default());
}

/* Where a layer is in these ways: on the device of its block, or on the first. */
static hk_device home_of(const network *self, int layer)
{
    const bool is_pipeline = self->name == GPIPE || self->name == ONE_F_ONE_B;
    return self->devices[is_pipeline ? layer / LAYERS : 0];
}

static hk_array *kept(hk_array *x, hk_device device, hk_grad_mode mode)
{
    x = hk_take(hk_copy(hk_to_device(x, device)));
    hk_attach_grad(x, mode);
    return x;
}

static void make_weights(network *self)
{
    const split_network *setup = self->setup;
    const int64_t each = setup->width / setup->devices;
    const bool adds = self->name == GPIPE || self->name == ONE_F_ONE_B;
    for (int layer = 0; layer < setup->devices * LAYERS; layer++) {
        HK_SCOPE;
        hk_array *whole = weight_on_host(setup, layer);
        for (int d = 0; d < (self->name == BY_LAYER ? setup->devices : self->replicas); d++)
            self->weights[d][layer] =
                self->name == BY_LAYER /* rows of the first one's weight, columns of the second's */
                    ? kept(hk_slice(whole, layer % PAIR, d * each, (d + 1) * each),
                           self->devices[d], HK_GRAD_WRITE)
                    : kept(whole, self->name == BY_DATA ? self->devices[d] : home_of(self, layer),
                           adds ? HK_GRAD_ADD : HK_GRAD_WRITE);
    }
}

static int input_count(const network *self)
{
    const bool is_pipeline = self->name == GPIPE || self->name == ONE_F_ONE_B;
    return is_pipeline ? self->setup->batches : self->name == BY_DATA ? self->setup->devices : 1;
}

/* Those of pipelines wait on the host. Inputs get gradients, so that the first block does as much as the others. */
static void make_inputs(network *self)
{
    HK_SCOPE;
    const split_network *setup = self->setup;
    const bool is_pipeline = self->name == GPIPE || self->name == ONE_F_ONE_B;
    const int count = input_count(self);
    hk_array *whole = hk_from_host(setup->inputs, hk_shape(setup->batch, setup->width), HK_F32,
                                   hk_device_default());
    for (int i = 0; i < count; i++)
        self->inputs[i] =
            kept(hk_slice(whole, 0, i * setup->batch / count, (i + 1) * setup->batch / count),
                 is_pipeline ? hk_device_default() : self->devices[self->name == BY_DATA ? i : 0],
                 is_pipeline ? HK_GRAD_NULL : HK_GRAD_WRITE);
}

/* By data: momentum whose first step, at a rate of 1, takes the gradient off the weights. */
static void make_optimizer(network *self)
{
    HK_SCOPE;
    const int layers = self->setup->devices * LAYERS, n = self->replicas;
    hk_array *params[MAX_PARTS * MAX_PARTS * LAYERS];
    for (int layer = 0; layer < layers; layer++)
        for (int d = 0; d < n; d++)
            params[layer * n + d] = self->weights[d][layer];
    self->optimizer = hk_optimizer_create_sharded("momentum", params, n, layers, NULL,
                                                  &(hk_optimizer_options){.lr = 1});
}

static void network_init(network *self, const split_network *setup, way_name name)
{
    *self = (network){.setup = setup, .name = name};
    self->replicas = name == BY_DATA ? setup->devices : 1;
    for (int d = 0; d < (name == WHOLE ? 1 : setup->devices); d++) {
        char text[16];
        snprintf(text, sizeof text, "sim:%d", d);
        self->devices[d] = hk_device_named(text);
    }
    make_weights(self);
    make_inputs(self);
    if (name == BY_DATA)
        make_optimizer(self);
}

static void network_deinit(network *self)
{
    for (int i = 0; i < input_count(self); i++)
        hk_array_release(self->inputs[i]);
    for (int d = 0; d < MAX_PARTS; d++)
        for (int layer = 0; layer < MAX_PARTS * LAYERS; layer++)
            hk_array_release(self->weights[d][layer]);
    hk_optimizer_release(self->optimizer);
}

/* ---- passes ------------------------------------------------------------------------------------------------------------------ */

/* Layers 2 `index` and behind it. */
static hk_array *pair(const network *self, int replica, int index, hk_array *x)
{
    hk_array *const *weights = &self->weights[replica][index * PAIR];
    return hk_linear(hk_tanh(hk_linear(x, weights[0], NULL)), weights[1], NULL);
}

static hk_array *block(const network *self, int replica, int index, hk_array *x)
{
    for (int i = 0; i < PAIRS; i++)
        x = pair(self, replica, index * PAIRS + i, x);
    return x;
}

static hk_array *loss_of(hk_array *y)
{
    return hk_sum(hk_square(y), NULL);
}

/* All blocks on one device. */
static hk_array *record_whole(const network *self, int replica)
{
    HK_RECORD;
    hk_array *x = self->inputs[replica];
    for (int i = 0; i < self->setup->devices; i++)
        x = block(self, replica, i, x);
    return loss_of(x);
}

/* Each pair on all devices: columns of its first layer, then rows of its second. */
static hk_array *record_by_layer(const network *self)
{
    const int n = self->setup->devices;
    HK_RECORD;
    hk_array *x = self->inputs[0];
    for (int i = 0; i < n * PAIRS; i++) {
        hk_array *in[MAX_PARTS], *part[MAX_PARTS];
        hk_devices_share(x, self->devices, n, in);
        for (int d = 0; d < n; d++)
            part[d] = pair(self, d, i, in[d]);
        x = hk_devices_join(part, n, self->devices[0]);
    }
    return loss_of(x);
}

static hk_array *stage(void *context, int index, int batch, hk_array *x)
{
    const network *self = context;
    (void)batch;
    if (index == 0) /* so that it does as much as the others */
        hk_attach_grad(x, HK_GRAD_WRITE);
    hk_array *y = block(self, 0, index, x);
    return index == self->setup->devices - 1 ? loss_of(y) : y;
}

static void pass_by_network(network *self)
{
    const hk_pipeline_options options = {.order = self->name == GPIPE ? HK_PIPELINE_GPIPE
                                                                      : HK_PIPELINE_1F1B,
                                         .stages = self->setup->devices,
                                         .batches = self->setup->batches,
                                         .devices = self->devices,
                                         .inputs = self->inputs,
                                         .forward = stage,
                                         .context = self};
    self->failed = self->failed || hk_status_print(hk_pipeline_run(&options, NULL), stderr);
}

static void pass_by_data(network *self)
{
    hk_array *losses[MAX_PARTS];
    for (int d = 0; d < self->replicas; d++)
        losses[d] = record_whole(self, d);
    for (int d = 0; d < self->replicas; d++)
        hk_backward(losses[d]);
    hk_optimizer_step(self->optimizer);
}

/* Issues a pass; for experiment_trace, too. */
static void pass(void *context)
{
    network *self = context;
    HK_SCOPE;
    switch (self->name) {
    case WHOLE:
        hk_backward(record_whole(self, 0));
        break;
    case BY_LAYER:
        hk_backward(record_by_layer(self));
        break;
    case BY_DATA:
        pass_by_data(self);
        break;
    default:
        pass_by_network(self);
        break;
    }
}

/* What pipelines add to begins with zeros. */
static void clear_gradients(network *self)
{
    if (self->name == GPIPE || self->name == ONE_F_ONE_B)
        hk_accumulate_grads(self->weights[0], self->setup->devices * LAYERS);
}

/* ---- gradients --------------------------------------------------------------------------------------------------------------- */

static hk_array *gradient_of(const network *self, int layer)
{
    hk_array *parts[MAX_PARTS];
    if (self->name == BY_DATA) /* the weights are less by it */
        return hk_subtract(weight_on_host(self->setup, layer),
                           hk_to_device(self->weights[0][layer], hk_device_default()));
    if (self->name != BY_LAYER)
        return hk_grad(self->weights[0][layer]);
    for (int d = 0; d < self->setup->devices; d++)
        parts[d] = hk_to_device(hk_grad(self->weights[d][layer]), hk_device_default());
    return hk_concat(parts, self->setup->devices, layer % PAIR);
}

static void read_gradients(network *self, float *gradients)
{
    const int64_t each = self->setup->width * self->setup->width;
    for (int layer = 0; layer < self->setup->devices * LAYERS; layer++) {
        HK_SCOPE;
        const hk_status *status = hk_to_host(gradient_of(self, layer), gradients + layer * each,
                                             (size_t)each * sizeof *gradients);
        self->failed = hk_status_print(status, stderr) || self->failed;
    }
}

/* ---- a run ------------------------------------------------------------------------------------------------------------------- */

static void read_counters(const network *self, way *how, double sign)
{
    for (int d = 0; d < (self->name == WHOLE ? 1 : self->setup->devices); d++) {
        const hk_device device = self->devices[d];
        how->busy[d] += sign * 1e-9 * (double)hk_device_get_stats(device, HK_QUEUE_COMPUTE).busy_ns;
        how->traffic += sign * (double)hk_device_get_stats(device, HK_QUEUE_COPY_OUT).bytes;
        how->memory[d] = (double)hk_device_get_memory(device).peak_bytes;
    }
}

/* The most on one device. */
static double state_bytes(const network *self)
{
    double most = 0;
    for (int d = 0; d < self->replicas; d++) {
        double bytes = 0;
        for (int i = 0; i < hk_optimizer_array_count(self->optimizer); i++) {
            char name[32];
            hk_array *x = hk_optimizer_array(self->optimizer, i, name, sizeof name);
            if (!strncmp(name, "state.", 6) && hk_array_device(x).handle == self->devices[d].handle)
                bytes += (double)hk_size(x) * sizeof(float);
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void run_once(split_network *self, way_name name, int repetition)
{
    way *how = &self->ways[name];
    network net;
    network_init(&net, self, name);
    clear_gradients(&net);
    pass(&net);
    read_gradients(&net, how->gradients);
    clear_gradients(&net);
    memset(how->busy, 0, sizeof how->busy);
    how->traffic = 0;
    hk_wait_all();
    read_counters(&net, how, -1);
    timing_begin(&how->runs[repetition]);
    pass(&net);
    timing_end(&how->runs[repetition]);
    read_counters(&net, how, 1);
    how->seconds[repetition] = timing_seconds(&how->runs[repetition]);
    how->state = state_bytes(&net);
    if (name == ONE_F_ONE_B && repetition == 0)
        experiment_trace(self->report, pass, &net);
    self->failed = self->failed || net.failed;
    network_deinit(&net);
}

void split_network_measure(split_network *self, way_name name, int repetition)
{
    const split_network_options *options = self->options;
    const hk_sim_options sims = {.count = self->devices,
                                 .flops = options->flops,
                                 .memory_bandwidth = 2 * options->flops,
                                 .link_bandwidth = options->link,
                                 .staging_bandwidth = 4e9};
    if (self->failed || !experiment_runtime_begin(
                            self->report, &(hk_runtime_options){.sim = &sims, .sim_count = 1})) {
        self->failed = true;
        return;
    }
    run_once(self, name, repetition);
    experiment_runtime_end(self->report);
}
