/* Options whose default is another number: left 0 they have it, and HK_ZERO is 0 itself. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <string.h>

static hk_array *row(const float *values, int64_t count)
{
    return hk_from_host(values, hk_shape(1, count), HK_F32, hk_device_default());
}

static bool refuses(hk_array *x, const char *text)
{
    const hk_status *status = hk_wait(x);
    return !hk_ok(status) && strstr(hk_status_message(status), text) != NULL;
}

/* What one step of a method makes of x = 1, grad = 2, twice. */
static double after_two_steps(const char *method, hk_optimizer_options options)
{
    HK_SCOPE;
    const float one = 1, two = 2;
    hk_array *x = hk_from_host(&one, hk_shape(1), HK_F32, hk_device_default());
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_write(hk_grad(x), &two, sizeof two);
    hk_optimizer *optimizer = hk_optimizer_create(method, &x, 1, &options);
    CHECK(hk_ok(hk_optimizer_status(optimizer)));
    hk_optimizer_step(optimizer);
    hk_optimizer_step(optimizer);
    const double value = hk_item(hk_sum(x, NULL), NULL);
    hk_optimizer_release(optimizer);
    return value;
}

static bool near(double value, double wanted)
{
    return fabs(value - wanted) < 1e-5;
}

static void test_optimizers(void)
{
    CHECK(after_two_steps("adam", (hk_optimizer_options){.lr = HK_ZERO}) == 1);
    CHECK(near(after_two_steps("sgd", (hk_optimizer_options){0}), 1 - 0.04));
    CHECK(near(after_two_steps("momentum", (hk_optimizer_options){.momentum = HK_ZERO}), 1 - 0.04));
    CHECK(near(after_two_steps("momentum", (hk_optimizer_options){0}), 1 - 0.02 - 0.038));
    /* Without averages Adam goes by signs. */
    CHECK(near(after_two_steps(
                   "adam", (hk_optimizer_options){.lr = 0.25, .beta1 = HK_ZERO, .beta2 = HK_ZERO}),
               0.5));
    CHECK(
        near(after_two_steps("rmsprop", (hk_optimizer_options){.lr = 0.25, .rho = HK_ZERO}), 0.5));
    CHECK(near(after_two_steps("adagrad", (hk_optimizer_options){.lr = 1, .epsilon = HK_ZERO}),
               -1 / sqrt(2)));
    /* 0 of what a method has none of does nothing. */
    CHECK(near(after_two_steps("sgd", (hk_optimizer_options){.rho = HK_ZERO}), 1 - 0.04));
}

static hk_array *array_of(hk_module *layer, const char *path)
{
    static hk_module_entry entries[8];
    const int count = hk_module_entries(layer, entries, 8);
    for (int i = 0; i < count; i++)
        if (!strcmp(entries[i].path, path))
            return entries[i].array;
    return NULL;
}

static void test_norms(void)
{
    HK_SCOPE;
    const float values[] = {-1e-4F, 1e-4F};
    hk_array *x = row(values, 2), *ones = hk_ones(hk_shape(2), HK_F32, hk_device_default());
    hk_array *zeros = hk_zeros(hk_shape(2), HK_F32, hk_device_default());
    const hk_layer_norm_options none = {.eps = HK_ZERO};
    CHECK(near(hk_item(hk_max(hk_layer_norm(x, ones, zeros, &none), NULL), NULL), 1));
    CHECK(hk_item(hk_max(hk_layer_norm(x, ones, zeros, NULL), NULL), NULL) < 0.1);
    CHECK(near(
        hk_item(hk_max(hk_rms_norm(x, ones, &(hk_rms_norm_options){.eps = HK_ZERO}), NULL), NULL),
        1));
    CHECK(refuses(hk_rms_norm(x, ones, &(hk_rms_norm_options){.eps = -1}), "eps is -1"));
    /* Averages that stay as they are. */
    hk_array *batch = hk_reshape(x, hk_shape(2, 1)),
             *mean = hk_full(hk_shape(1), 5, HK_F32, hk_device_default());
    hk_array *variance = hk_full(hk_shape(1), 7, HK_F32, hk_device_default());
    hk_array *one = hk_ones(hk_shape(1), HK_F32, hk_device_default()),
             *beta = hk_zeros(hk_shape(1), HK_F32, hk_device_default());
    hk_array *y =
        hk_batch_norm_train(batch, one, beta, mean, variance,
                            &(hk_batch_norm_train_options){.eps = HK_ZERO, .momentum = HK_ZERO});
    CHECK(near(hk_item(hk_max(y, NULL), NULL), 1));
    CHECK(hk_item(hk_sum(mean, NULL), NULL) == 5 && hk_item(hk_sum(variance, NULL), NULL) == 7);
    const hk_batch_norm_train_options still = {.eps = HK_ZERO, .momentum = HK_ZERO};
    hk_batch_norm_over(NULL, &batch, &one, &beta, &mean, &variance, 1, &still, &y);
    CHECK(near(hk_item(hk_max(y, NULL), NULL), 1));
    CHECK(hk_item(hk_sum(mean, NULL), NULL) == 5 && hk_item(hk_sum(variance, NULL), NULL) == 7);
    hk_module *layers[] = {hk_batch_norm_layer(HK_ZERO, HK_ZERO),
                           hk_batch_norm_over_layer(hk_group_world(), HK_ZERO, HK_ZERO)};
    for (int i = 0; i < 2; i++) {
        CHECK(near(hk_item(hk_max(hk_forward(layers[i], batch), NULL), NULL), 1));
        CHECK(hk_item(hk_sum(array_of(layers[i], "mean"), NULL), NULL) == 0);
        hk_module_release(layers[i]);
    }
}

static void test_losses(void)
{
    HK_SCOPE;
    const float near_values[] = {0, 1}, far_values[] = {0, 4};
    const int32_t classes[] = {1, 0};
    hk_array *x = row(near_values, 2), *far = row(far_values, 2);
    const hk_triplet_margin_loss_options none = {.margin = HK_ZERO, .reduction = HK_LOSS_SUM};
    CHECK(near(hk_item(hk_triplet_margin_loss(x, x, x, &none), NULL), 0));
    CHECK(near(hk_item(hk_triplet_margin_loss(x, x, x, NULL), NULL), 1));
    CHECK(refuses(hk_huber_loss(x, far, &(hk_huber_loss_options){.delta = HK_ZERO}),
                  "delta is 0, but"));
    /* Classes along the first axis. */
    hk_array *labels = hk_from_host(classes, hk_shape(2), HK_I32, hk_device_default());
    hk_array *logits = hk_concat((hk_array *[]){x, far}, 2, 0);
    const hk_cross_entropy_loss_options first = {.axis = HK_FIRST_AXIS, .reduction = HK_LOSS_SUM},
                                        last = {.axis = -1, .reduction = HK_LOSS_SUM};
    CHECK(near(hk_item(hk_cross_entropy_loss(logits, labels, NULL, &first), NULL),
               hk_item(hk_cross_entropy_loss(hk_transpose(logits), labels, NULL, &last), NULL)));
    CHECK(!near(hk_item(hk_cross_entropy_loss(logits, labels, NULL, &first), NULL),
                hk_item(hk_cross_entropy_loss(logits, labels, NULL, &last), NULL)));
    /* Of scores that do not count, all values weigh alike. */
    hk_array *query = hk_reshape(hk_concat((hk_array *[]){far, far}, 2, 0), hk_shape(1, 2, 2)),
             *keys = hk_reshape(logits, hk_shape(1, 2, 2));
    const hk_scaled_dot_product_attention_options alike = {.scale = HK_ZERO};
    hk_array *mean = hk_scaled_dot_product_attention(query, keys, keys, NULL, &alike);
    CHECK(near(hk_item(hk_max(mean, NULL), NULL), 2.5));
    hk_array *one = hk_slice(query, 1, 0, 1); /* in blocks above, composed here */
    mean = hk_scaled_dot_product_attention(one, keys, keys, NULL, &alike);
    CHECK(near(hk_item(hk_max(mean, NULL), NULL), 2.5));
}

static void test_matrices(void)
{
    HK_SCOPE;
    const double values[] = {1, 0, 0, 1e-17};
    hk_array *x = hk_from_host(values, hk_shape(2, 2), HK_F64, hk_device_default());
    CHECK(hk_item(hk_matrix_rank(x, NULL), NULL) == 1);
    CHECK(hk_item(hk_matrix_rank(x, &(hk_matrix_rank_options){.rtol = HK_ZERO}), NULL) == 2);
}

int main(void)
{
    test_optimizers();
    test_norms();
    test_losses();
    test_matrices();
    return check_result();
}
