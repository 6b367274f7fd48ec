/* LeNet of modules: trained with Adam, saved, and loaded into another network.
 * usage: modules [STEPS]; 20 by default, an epoch of Fashion-MNIST has 468. */
#include <hocket/hocket.h>
#include <stdlib.h>

enum { BATCH = 128, MOST = 32 };

static hk_module *lenet(void)
{
    const hk_conv2d_layer_options padded = {.padding = {2, 2}};
    return hk_sequential(hk_conv2d_layer(6, 5, &padded), hk_operator_layer("relu", NULL, 0),
                         hk_avg_pool2d_layer(2, 2, 0), /* 6 channels of 14 x 14 */
                         hk_conv2d_layer(16, 5, NULL), hk_operator_layer("relu", NULL, 0),
                         hk_avg_pool2d_layer(2, 2, 0), /* 16 channels of 5 x 5 */
                         hk_flatten_layer(), hk_linear_layer(120, NULL),
                         hk_operator_layer("relu", NULL, 0), hk_linear_layer(84, NULL),
                         hk_operator_layer("relu", NULL, 0), hk_linear_layer(10, NULL));
}

int main(int count, char **arguments)
{
    const int steps = count > 1 ? atoi(arguments[1]) : 20;
    HK_SCOPE;
    hk_seed(1);
    hk_module *net = lenet(), *other = lenet();
    hk_module_initialize(net, &(hk_init){.kind = HK_INIT_XAVIER_UNIFORM});
    hk_data_set *set = hk_data_set_open(NULL, HK_DATA_TRAIN, NULL);
    hk_loader *loader = hk_loader_create(
        set, &(hk_loader_options){.batch_size = BATCH, .shuffle = true, .drop_last = true});
    hk_array *images, *labels, *params[MOST];
    hk_optimizer *adam = NULL;
    for (int step = 1; step <= steps; step++) {
        HK_SCOPE;
        while (!hk_loader_next(loader, &images, &labels)) /* the next epoch */
            continue;
        hk_record_begin();
        hk_array *loss = hk_softmax_cross_entropy(hk_forward(net, images), labels);
        hk_record_end();
        if (!adam) /* the parameters are there now */
            adam = hk_optimizer_create("adam", params, hk_module_parameters(net, params, MOST),
                                       &(hk_optimizer_options){.lr = 0.002, .batch = BATCH});
        hk_backward(loss);
        hk_optimizer_step(adam);
        if (step % 5 == 0) /* reading a value waits for it */
            printf("step %3d: loss %.4f\n", step, hk_item(hk_mean(loss, NULL), NULL));
    }
    hk_module_print(net, stdout);
    /* All of the training, with which it could go on; the other network takes its parameters. */
    hk_checkpoint saved = {.module = net, .optimizer = adam, .loader = loader, .step = steps};
    hk_checkpoint loaded = {.module = other};
    hk_status_print(hk_checkpoint_save("lenet.safetensors", &saved), stderr);
    hk_status_print(hk_checkpoint_load("lenet.safetensors", &loaded), stderr);
    hk_array *sample = hk_random_uniform(hk_shape(1, 1, 28, 28), HK_F32, (hk_device){NULL});
    const bool is_same =
        hk_item(hk_all(hk_equal(hk_forward(net, sample), hk_forward(other, sample)), NULL), NULL) !=
        0;
    printf("the loaded network says %s\n", is_same ? "the same" : "something else");
    hk_optimizer_release(adam);
    hk_loader_release(loader);
    hk_data_set_release(set);
    hk_module_release(net);
    hk_module_release(other);
    return hk_status_print(hk_wait_all(), stderr) || !is_same;
}
