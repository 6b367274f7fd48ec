/* One step of a two-layer perceptron on a CPU and two accelerators, as drawn in Dive into Deep Learning, "Automatic
 * Parallelism": the CPU keeps the parameters, each accelerator gets a copy of them and half of the batch, and the
 * gradients come back to be added up. Nothing here says what runs beside what. Draws what ran:
 *
 *     HOCKET_TRACE=step.json perceptron && hocket trace step.json --graph step.svg */
#include <hocket/hocket.h>

enum { DEVICES = 2, BATCH = 64, INPUTS = 20, HIDDEN = 32, CLASSES = 4, PARAMS = 4 };

static hk_array *loss_of(hk_array *x, hk_array *labels, hk_array *const p[PARAMS])
{
    return hk_softmax_cross_entropy(hk_linear(hk_relu(hk_linear(x, p[0], p[1])), p[2], p[3]),
                                    labels);
}

int main(void)
{
    const hk_sim_options accelerators = {
        .count = DEVICES}; /* simulated: real results, the times of a model */
    hk_runtime_init(&(hk_runtime_options){.sim = &accelerators, .sim_count = 1});
    HK_SCOPE;
    hk_device cpu = hk_device_default();
    const hk_device devices[DEVICES] = {hk_device_named("sim:0"), hk_device_named("sim:1")};
    hk_array *params[PARAMS] = {hk_random_normal(hk_shape(HIDDEN, INPUTS), HK_F32, cpu),
                                hk_zeros(hk_shape(HIDDEN), HK_F32, cpu),
                                hk_random_normal(hk_shape(CLASSES, HIDDEN), HK_F32, cpu),
                                hk_zeros(hk_shape(CLASSES), HK_F32, cpu)};
    hk_array *x = hk_random_uniform(hk_shape(BATCH, INPUTS), HK_F32, cpu);
    hk_array *labels = hk_zeros(hk_shape(BATCH), HK_I64, cpu);
    hk_array *images[DEVICES], *classes[DEVICES], *loss[DEVICES], *local[DEVICES][PARAMS];

    hk_split_and_load(x, devices, DEVICES, NULL, images);
    hk_split_and_load(labels, devices, DEVICES, NULL, classes);
    for (int d = 0; d < DEVICES; d++)
        for (int i = 0; i < PARAMS; i++) {
            local[d][i] = hk_to_device(params[i], devices[d]);
            hk_attach_grad(local[d][i], HK_GRAD_WRITE);
        }
    hk_record_begin();
    for (int d = 0; d < DEVICES; d++)
        loss[d] = loss_of(images[d], classes[d], local[d]);
    hk_record_end();
    for (int d = 0; d < DEVICES; d++)
        hk_backward(loss[d]);
    for (int i = 0; i < PARAMS; i++) { /* on the CPU: add up, and take a step */
        hk_array *sum = hk_to_device(hk_grad(local[0][i]), cpu);
        for (int d = 1; d < DEVICES; d++)
            sum = hk_add(sum, hk_to_device(hk_grad(local[d][i]), cpu));
        hk_subtract_into(params[i], params[i], hk_multiply(sum, 0.1 / BATCH));
    }
    printf("loss %.4f\n", hk_item(hk_mean(loss[0], NULL), NULL));
    return hk_status_print(hk_wait_all(), stderr);
}
