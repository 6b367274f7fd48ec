/* Linear regression, as in Dive into Deep Learning, "Linear Regression Implementation from Scratch". */
#include <hocket/hocket.h>

enum { SAMPLES = 1000, BATCH = 10, EPOCHS = 3 };

int main(void)
{
    HK_SCOPE;
    const hk_device device = hk_device_default();
    hk_seed(1);
    /* Samples of y = 2 x0 - 3.4 x1 + 4.2 + noise. */
    hk_array *features = hk_random_normal(hk_shape(SAMPLES, 2), HK_F32, device);
    hk_array *truth = hk_from_host((const float[]){2, -3.4F}, hk_shape(2, 1), HK_F32, device);
    hk_array *noise = hk_random_normal_from(NULL, 0, 0.01, hk_shape(SAMPLES, 1), HK_F32, device);
    hk_array *labels = hk_add(hk_add(hk_matmul(features, truth), 4.2), noise);

    hk_array *w = hk_random_normal_from(NULL, 0, 0.01, hk_shape(2, 1), HK_F32, device);
    hk_array *b = hk_zeros(hk_shape(1), HK_F32, device);
    hk_attach_grad(w, HK_GRAD_WRITE);
    hk_attach_grad(b, HK_GRAD_WRITE);
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        for (int64_t row = 0; row < SAMPLES; row += BATCH) {
            HK_SCOPE;
            hk_array *x = hk_slice(features, 0, row, row + BATCH);
            hk_array *y = hk_slice(labels, 0, row, row + BATCH);
            hk_record_begin();
            hk_array *error = hk_subtract(hk_add(hk_matmul(x, w), b), y);
            hk_array *loss = hk_multiply(hk_square(error), 0.5);
            hk_record_end();
            hk_backward(loss);
            hk_sgd((hk_array *[]){w, b}, 2, &(hk_sgd_options){.lr = 0.03, .batch = BATCH});
        }
        HK_SCOPE;
        hk_array *error = hk_subtract(hk_add(hk_matmul(features, w), b), labels);
        printf("epoch %d: loss %.6f\n", epoch, hk_item(hk_mean(hk_square(error), NULL), NULL) / 2);
    }
    hk_print(w, stdout);
    hk_print(b, stdout);
    return hk_status_print(hk_wait_all(), stderr);
}
