/* Trains LeNet on two devices, as in Dive into Deep Learning, "Training on Multiple GPUs".
 * usage: lenet [STEPS]; 20 by default, an epoch of Fashion-MNIST has 234. */
#include <hocket/hocket.h>
#include <stdlib.h>

enum { DEVICES = 2, BATCH = 256 };

static hk_array *lenet(hk_array *x, hk_array *const p[8])
{
    const hk_avg_pool2d_options pool = {.kernel = {2, 2}, .stride = {2, 2}};
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[0], p[1], NULL)), &pool);
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[2], p[3], NULL)), &pool);
    x = hk_reshape(x, hk_shape(hk_dim(x, 0), -1));
    x = hk_relu(hk_linear(x, p[4], p[5]));
    return hk_linear(x, p[6], p[7]);
}

/* Draws the parameters once and copies them to every device. */
static void make_params(hk_array *params[DEVICES][8], const hk_device *devices)
{
    const hk_dims shapes[8] = {hk_shape(20, 1, 3, 3), hk_shape(20),       hk_shape(50, 20, 5, 5),
                               hk_shape(50),          hk_shape(128, 800), hk_shape(128),
                               hk_shape(10, 128),     hk_shape(10)};
    for (int i = 0; i < 8; i++) {
        double scale = i % 2 ? 0 : 0.01; /* biases are 0 */
        params[0][i] = hk_random_normal_from(NULL, 0, scale, shapes[i], HK_F32, devices[0]);
        for (int d = 0; d < DEVICES; d++) {
            params[d][i] = hk_to_device(params[0][i], devices[d]);
            hk_attach_grad(params[d][i], HK_GRAD_WRITE);
        }
    }
}

/* One minibatch: nothing here says what runs in parallel, and nothing waits. */
static void train_batch(hk_array *const *images, hk_array *const *labels,
                        hk_array *params[DEVICES][8], hk_array *loss[DEVICES])
{
    hk_record_begin();
    for (int d = 0; d < DEVICES; d++)
        loss[d] = hk_softmax_cross_entropy(lenet(images[d], params[d]), labels[d]);
    hk_record_end();
    for (int d = 0; d < DEVICES; d++)
        hk_backward(loss[d]);
    for (int i = 0; i < 8; i++)
        hk_all_reduce((hk_array *[]){hk_grad(params[0][i]), hk_grad(params[1][i])}, DEVICES);
    for (int d = 0; d < DEVICES; d++)
        hk_sgd(params[d], 8, &(hk_sgd_options){.lr = 0.2, .batch = BATCH});
}

int main(int count, char **arguments)
{
    int steps = count > 1 ? atoi(arguments[1]) : 20;
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = DEVICES});
    HK_SCOPE;
    const hk_device devices[DEVICES] = {hk_device_named("cpu:0"), hk_device_named("cpu:1")};
    hk_array *params[DEVICES][8], *images[DEVICES], *labels[DEVICES], *loss[DEVICES];
    make_params(params, devices);

    hk_data_set *set = hk_data_set_open(NULL, HK_DATA_TRAIN, NULL);
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = BATCH,
                                                                   .shuffle = true,
                                                                   .drop_last = true,
                                                                   .devices = devices,
                                                                   .device_count = DEVICES});
    for (int step = 1; step <= steps; step++) {
        HK_SCOPE;
        while (!hk_loader_next(loader, images, labels)) /* the next epoch */
            continue;
        train_batch(images, labels, params, loss);
        if (step % 5 == 0) /* reading a value waits for it */
            printf("step %3d: loss %.4f\n", step, hk_item(hk_mean(loss[0], NULL), NULL));
    }
    hk_loader_release(loader);
    hk_data_set_release(set);
    return hk_status_print(hk_wait_all(), stderr);
}
