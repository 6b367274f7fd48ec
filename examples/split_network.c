/* One network of four layers, split over two devices in three ways: by layer, by network and by data. Nothing here says what runs in
 * parallel; gradients are those of the whole network. docs/MACHINES.md says how to choose. */
#include <hocket/hocket.h>
#include <math.h>

enum { DEVICES = 2, LAYERS = 4, BATCH = 64, WIDTH = 32, MICRO_BATCHES = 4 };

static hk_device devices[DEVICES];

static hk_array *parameter(hk_array *x, hk_device device)
{
    x = hk_copy(hk_to_device(x, device));
    hk_attach_grad(x, HK_GRAD_WRITE);
    return x;
}

static hk_array *two_layers(hk_array *const *weights, hk_array *x)
{
    return hk_linear(hk_tanh(hk_linear(x, weights[0], NULL)), weights[1], NULL);
}

static hk_array *loss_of(hk_array *y)
{
    return hk_sum(hk_square(y), NULL);
}

static double norm(hk_array *gradient)
{
    return sqrt(hk_item(hk_sum(hk_square(gradient), NULL), NULL));
}

/* Each device has columns of a first layer and rows of a second; their sum is the result. Then the norm of the gradient of the
 * network's first weight, as from the other functions. */
static double by_layer(hk_array *const *values, hk_array *x)
{
    HK_SCOPE;
    const int64_t half = WIDTH / DEVICES;
    hk_array *weights[DEVICES][LAYERS], *here[DEVICES], *part[DEVICES];
    for (int d = 0; d < DEVICES; d++)
        for (int i = 0; i < LAYERS; i++)
            weights[d][i] =
                parameter(hk_slice(values[i], i % 2, d * half, (d + 1) * half), devices[d]);
    hk_record_begin();
    for (int i = 0; i < LAYERS; i += 2) {
        hk_devices_share(x, devices, DEVICES, here);
        for (int d = 0; d < DEVICES; d++)
            part[d] = two_layers(&weights[d][i], here[d]);
        x = hk_devices_join(part, DEVICES, devices[0]);
    }
    hk_array *loss = loss_of(x);
    hk_record_end();
    hk_backward(loss);
    return hypot(norm(hk_grad(weights[0][0])), norm(hk_grad(weights[1][0])));
}

/* Two layers on each device. */
static hk_array *stage(void *weights, int index, int batch, hk_array *x)
{
    (void)batch;
    x = two_layers((hk_array *const *)weights + 2 * index, x);
    return index == DEVICES - 1 ? loss_of(x) : x;
}

static double by_network(hk_array *const *values, hk_array *x)
{
    HK_SCOPE;
    hk_array *weights[LAYERS], *inputs[MICRO_BATCHES];
    for (int i = 0; i < LAYERS; i++)
        weights[i] = parameter(values[i], devices[i / 2]);
    hk_split(x, 0, MICRO_BATCHES, inputs);
    hk_accumulate_grads(weights, LAYERS);
    hk_pipeline_run(&(hk_pipeline_options){.order = HK_PIPELINE_1F1B,
                                           .stages = DEVICES,
                                           .batches = MICRO_BATCHES,
                                           .devices = devices,
                                           .inputs = inputs,
                                           .forward = stage,
                                           .context = weights},
                    NULL);
    return norm(hk_grad(weights[0]));
}

/* All weights on each device, but half of the optimiser's state. At a rate of 1 the first step takes off the gradient. */
static double by_data(hk_array *const *values, hk_array *x)
{
    HK_SCOPE;
    hk_array *weights[LAYERS * DEVICES], *inputs[DEVICES], *own[LAYERS], *loss[DEVICES];
    for (int i = 0; i < LAYERS * DEVICES; i++)
        weights[i] = parameter(values[i / DEVICES], devices[i % DEVICES]);
    hk_optimizer *optimizer = hk_optimizer_create_sharded("momentum", weights, DEVICES, LAYERS,
                                                          NULL, &(hk_optimizer_options){.lr = 1});
    hk_split_and_load(x, devices, DEVICES, NULL, inputs);
    hk_record_begin();
    for (int d = 0; d < DEVICES; d++) {
        for (int i = 0; i < LAYERS; i++)
            own[i] = weights[i * DEVICES + d];
        loss[d] = loss_of(two_layers(own + 2, two_layers(own, inputs[d])));
    }
    hk_record_end();
    hk_backward_all(loss, DEVICES);
    hk_optimizer_step(
        optimizer); /* sums gradients, updates halves, and gives them to the other device */
    hk_optimizer_release(optimizer);
    return norm(hk_subtract(values[0], weights[0]));
}

int main(void)
{
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = DEVICES});
    HK_SCOPE;
    hk_array *values[LAYERS];
    for (int d = 0; d < DEVICES; d++)
        devices[d] = hk_device_at(d);
    for (int i = 0; i < LAYERS; i++)
        values[i] = hk_multiply(hk_random_normal(hk_shape(WIDTH, WIDTH), HK_F32, devices[0]), 0.2);
    hk_array *x = hk_random_normal(hk_shape(BATCH, WIDTH), HK_F32, devices[0]);
    const double gradients[] = {by_layer(values, x), by_network(values, x), by_data(values, x)};
    printf("by layer   %.4f\nby network %.4f\nby data    %.4f\n", gradients[0], gradients[1],
           gradients[2]);
    const int failed = hk_status_print(hk_wait_all(), stderr);
    return failed || fabs(gradients[1] / gradients[0] - 1) > 1e-4 ||
           fabs(gradients[2] / gradients[0] - 1) > 1e-4;
}
