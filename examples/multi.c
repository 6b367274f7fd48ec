/* Training on several devices from scratch, cell by cell as in Dive into Deep Learning, "Training on Multiple GPUs";
 * hk_all_reduce and hk_split_and_load do the same in fewer copies. The model is a softmax regression, to be short. */
#include <hocket/hocket.h>

enum { DEVICES = 2, BATCH = 256, STEPS = 20, PIXELS = 28 * 28, CLASSES = 10 };

/* Each becomes the sum of all: the first device adds up, the others get copies. */
static void all_reduce(hk_array *data[DEVICES])
{
    for (int i = 1; i < DEVICES; i++)
        hk_add_into(data[0], data[0], hk_to_device(data[i], hk_array_device(data[0])));
    for (int i = 1; i < DEVICES; i++)
        hk_assign(data[i], data[0]);
}

/* Equal parts of x, each on its device. */
static void split(hk_array *x, const hk_device *devices, hk_array *parts[DEVICES])
{
    int64_t rows = hk_dim(x, 0) / DEVICES;
    for (int d = 0; d < DEVICES; d++)
        parts[d] = hk_to_device(hk_slice(x, 0, d * rows, (d + 1) * rows), devices[d]);
}

/* One minibatch: forward and backward on each device, sums of gradients, updates. Nothing waits. */
static void train_batch(hk_array *x, hk_array *y, hk_array *weight[DEVICES],
                        const hk_device *devices, hk_array *loss[DEVICES])
{
    hk_array *images[DEVICES], *labels[DEVICES], *grads[DEVICES];
    split(hk_reshape(x, hk_shape(-1, PIXELS)), devices, images);
    split(y, devices, labels);
    hk_record_begin();
    for (int d = 0; d < DEVICES; d++)
        loss[d] = hk_softmax_cross_entropy(hk_linear(images[d], weight[d], NULL), labels[d]);
    hk_record_end();
    for (int d = 0; d < DEVICES; d++) {
        hk_backward(loss[d]);
        grads[d] = hk_grad(weight[d]);
    }
    all_reduce(grads);
    for (int d = 0; d < DEVICES; d++)
        hk_sgd(&weight[d], 1, &(hk_sgd_options){.lr = 0.1, .batch = BATCH});
}

int main(void)
{
    /* Simulated: real results, the times of a model. */
    const hk_sim_options accelerators = {.count = DEVICES};
    hk_runtime_init(&(hk_runtime_options){.sim = &accelerators, .sim_count = 1});
    HK_SCOPE;
    const hk_device devices[DEVICES] = {hk_device_named("sim:0"), hk_device_named("sim:1")};
    hk_array *data[DEVICES], *weight[DEVICES], *loss[DEVICES], *x, *y;

    for (int d = 0; d < DEVICES; d++)
        data[d] = hk_full(hk_shape(1, 2), d + 1, HK_F32, devices[d]);
    all_reduce(data);
    for (int d = 0; d < DEVICES; d++)
        hk_print(data[d], stdout); /* [[3. 3.]] on each */
    x = hk_arange(0, 20, 1, HK_F32, hk_device_default());
    split(hk_reshape(x, hk_shape(4, 5)), devices, data);
    for (int d = 0; d < DEVICES; d++)
        hk_print(data[d], stdout); /* two rows each */
    for (int d = 0; d < DEVICES; d++) {
        weight[d] = hk_zeros(hk_shape(CLASSES, PIXELS), HK_F32, devices[d]);
        hk_attach_grad(weight[d], HK_GRAD_WRITE);
    }
    hk_data_set *set = hk_data_set_open(NULL, HK_DATA_TRAIN, NULL);
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = BATCH});
    for (int step = 1; step <= STEPS; step++) {
        HK_SCOPE;
        if (!hk_loader_next(loader, &x, &y))
            break;
        train_batch(x, y, weight, devices, loss);
        if (step % 5 == 0) /* reading a value waits for it */
            printf("step %2d: loss %.4f\n", step, hk_item(hk_mean(loss[0], NULL), NULL));
    }
    hk_loader_release(loader);
    hk_data_set_release(set);
    return hk_status_print(hk_wait_all(), stderr);
}
