/* Clusters by k-means, and the two directions in which they lie furthest apart, by principal components. */
#include <hocket/hocket.h>

enum { SAMPLES = 600, FEATURES = 8, CLUSTERS = 3, STEPS = 10 };

/* (n, k): the square of each sample's distance from each centre. */
static hk_array *distances(hk_array *x, hk_array *centres)
{
    const hk_sum_options last = {.axes = hk_shape(2)};
    hk_array *apart = hk_subtract(hk_expand_dims(x, 1), hk_expand_dims(centres, 0));
    return hk_sum(hk_square(apart), &last);
}

int main(void)
{
    HK_SCOPE;
    const hk_device device = hk_device_default();
    hk_seed(1);
    hk_array *means =
        hk_multiply(hk_random_normal(hk_shape(CLUSTERS, FEATURES), HK_F32, device), 4);
    hk_array *truth = hk_random_int(0, CLUSTERS, hk_shape(SAMPLES), HK_I64, device);
    hk_array *noise = hk_random_normal(hk_shape(SAMPLES, FEATURES), HK_F32, device);
    hk_array *x = hk_add(hk_index_select(means, truth, 0), noise);

    /* Lloyd's algorithm, from three samples that lie far apart. */
    hk_array *centres = hk_slice(x, 0, 0, 1), *clusters = NULL;
    for (int k = 1; k < CLUSTERS; k++) {
        hk_array *nearest = hk_min(distances(x, centres), &(hk_min_options){.axes = hk_shape(1)});
        hk_array *far = hk_reshape(hk_argmax(nearest, 0), hk_shape(1));
        centres = hk_concat((hk_array *[]){centres, hk_index_select(x, far, 0)}, 2, 0);
    }
    for (int step = 0; step < STEPS; step++) {
        clusters = hk_argmin(distances(x, centres), 1);
        hk_array *members = hk_one_hot(clusters, CLUSTERS, HK_F32); /* (n, k) */
        hk_array *sizes = hk_sum(members, &(hk_sum_options){.axes = hk_shape(0)});
        centres =
            hk_divide(hk_matmul(hk_transpose(members), x), hk_expand_dims(hk_maximum(sizes, 1), 1));
    }
    hk_array *inertia = hk_min(distances(x, centres), &(hk_min_options){.axes = hk_shape(1)});
    const double mean = hk_item(hk_mean(inertia, NULL), NULL);
    printf("mean square of the distance: %.2f, of %d features of variance 1\n", mean, FEATURES);
    hk_array *sizes = hk_bincount(clusters, NULL, CLUSTERS);
    hk_print(sizes, stdout);

    /* Principal components: the directions of the largest singular values of what is left without the mean. */
    hk_array *centred =
        hk_subtract(x, hk_mean(x, &(hk_mean_options){.axes = hk_shape(0), .keepdims = true}));
    hk_array *u, *s, *directions;
    hk_svd(centred, NULL, &u, &s, &directions);
    hk_array *variances = hk_divide(hk_square(s), SAMPLES - 1);
    hk_array *shares = hk_divide(variances, hk_sum(variances, NULL));
    hk_array *plane = hk_matmul(centres, hk_transpose(hk_slice(directions, 0, 0, 2)));
    printf("two components hold %.1f %% of the variance; the centres in their plane:\n",
           100 * hk_item(hk_sum(hk_slice(shares, 0, 0, 2), NULL), NULL));
    hk_print(plane, stdout);
    return hk_status_print(hk_wait_all(), stderr) || !(mean < 2 * FEATURES);
}
