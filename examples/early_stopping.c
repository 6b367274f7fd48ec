/* A perceptron with dropout, as in Dive into Deep Learning, "Dropout", that stops where it gets no better on samples that it has
 * not seen, and keeps the best parameters. usage: early_stopping [EPOCHS]; at most 60 by default. */
#include <hocket/hocket.h>
#include <stdlib.h>

enum { SAMPLES = 256, INPUTS = 20, BATCH = 32, MOST = 8 };

/* Whether the sum of the squares of a sample's first five numbers is large; a few are mislabelled. */
static void make_samples(hk_array **x, hk_array **labels)
{
    const hk_device device = hk_device_default();
    *x = hk_random_normal(hk_shape(SAMPLES, INPUTS), HK_F32, device);
    hk_array *sums =
        hk_sum(hk_square(hk_slice(*x, 1, 0, 5)), &(hk_sum_options){.axes = hk_shape(1)});
    hk_array *wrong = hk_random_bernoulli(0.1, hk_shape(SAMPLES), HK_BOOL, device);
    *labels = hk_cast(hk_bitwise_xor(hk_greater(sums, 4.35), wrong), HK_I64);
}

static hk_array *loss_of(hk_module *net, hk_array *x, hk_array *labels)
{
    return hk_softmax_cross_entropy(hk_forward(net, x), labels);
}

static void train(hk_module *net, hk_optimizer *adam, hk_array *x, hk_array *labels)
{
    hk_module_set_training(net, true); /* dropout drops */
    for (int64_t row = 0; row < SAMPLES; row += BATCH) {
        HK_SCOPE;
        hk_record_begin();
        hk_array *loss =
            loss_of(net, hk_slice(x, 0, row, row + BATCH), hk_slice(labels, 0, row, row + BATCH));
        hk_record_end();
        hk_backward(loss);
        hk_optimizer_step(adam);
    }
    hk_module_set_training(net, false);
}

static double test_loss(hk_module *net, hk_array *x, hk_array *labels)
{
    HK_SCOPE;
    return hk_item(hk_mean(loss_of(net, x, labels), NULL), NULL);
}

int main(int count, char **arguments)
{
    const int epochs = count > 1 ? atoi(arguments[1]) : 60;
    HK_SCOPE;
    hk_seed(1);
    hk_array *x, *labels, *test_x, *test_labels, *params[MOST], *best[MOST];
    make_samples(&x, &labels);
    make_samples(&test_x, &test_labels);
    hk_module *net = hk_sequential(hk_linear_layer(128, NULL), hk_operator_layer("relu", NULL, 0),
                                   hk_dropout_layer(0.5), hk_linear_layer(2, NULL));
    hk_early_stop stop = {.patience = 5};
    double loss = test_loss(net, test_x, test_labels); /* makes the parameters */
    const int param_count = hk_module_parameters(net, params, MOST);
    for (int i = 0; i < param_count; i++)
        best[i] = hk_copy(params[i]);
    hk_optimizer *adam = hk_optimizer_create("adam", params, param_count,
                                             &(hk_optimizer_options){.lr = 0.003, .batch = BATCH});
    printf("before: loss %.3f\n", loss);
    for (int epoch = 1; epoch <= epochs; epoch++) {
        train(net, adam, x, labels);
        loss = test_loss(net, test_x, test_labels);
        const bool stops = hk_early_stop_next(&stop, loss);
        for (int i = 0; i < param_count && stop.is_best; i++)
            hk_assign(best[i], params[i]);
        if (stops || epoch == epochs)
            printf("epoch %d: loss %.3f, the best was %.3f\n", epoch, loss, stop.best);
        if (stops)
            break;
    }
    for (int i = 0; i < param_count; i++)
        hk_assign(params[i], best[i]);
    printf("kept: loss %.3f\n", test_loss(net, test_x, test_labels));
    hk_optimizer_release(adam);
    hk_module_release(net);
    return hk_status_print(hk_wait_all(), stderr);
}
