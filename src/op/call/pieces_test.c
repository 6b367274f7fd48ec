/* Calls that are cut into pieces give the same bytes in place, on one core and on several. */
#include "tests/check.h"

#include <hocket/hocket.h>
#include <stdlib.h>

enum { RESULTS_MAX = 64, RUNS = 4 };

typedef struct result_list {
    int count;
    const char *names[RESULTS_MAX];
    uint64_t hashes[RESULTS_MAX];
} result_list;

static hk_device device;

static void note(result_list *results, const char *name, hk_array *x)
{
    const size_t bytes = (size_t)hk_size(x) * hk_dtype_bytes(hk_array_dtype(x));
    unsigned char *data = malloc(bytes + 1);
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    CHECK(hk_ok(hk_to_host(x, data, bytes)));
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * 1099511628211u;
    results->names[results->count] = name;
    results->hashes[results->count++] = hash;
    free(data);
}

static hk_array *normal(hk_dims shape, hk_dtype dtype)
{
    hk_array *x = hk_random_normal(shape, dtype, device);
    hk_attach_grad(x, HK_GRAD_WRITE);
    return x;
}

static void run_dtype(result_list *all, hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *x = normal(hk_shape(96, 3, 20, 20), dtype);
    hk_array *w1 = normal(hk_shape(12, 3, 3, 3), dtype), *b1 = normal(hk_shape(12), dtype);
    hk_array *w2 = normal(hk_shape(200, 972), dtype), *b2 = normal(hk_shape(200), dtype);
    hk_array *w3 = normal(hk_shape(200, 700), dtype);
    hk_array *labels = hk_random_int(0, 700, hk_shape(96), HK_I32, device);

    hk_record_begin();
    hk_array *conv = hk_conv2d(x, w1, b1, NULL);
    hk_array *pooled = hk_max_pool2d(conv, NULL);
    hk_array *hidden = hk_linear(hk_reshape(pooled, hk_shape(96, -1)), w2, b2);
    hk_array *logits = hk_matmul(hidden, w3);
    hk_array *loss = hk_softmax_cross_entropy(logits, labels);
    hk_array *average = hk_avg_pool2d(conv, NULL);
    hk_array *sum = hk_sum(average, NULL);
    hk_array *rows = hk_max(logits, &(hk_max_options){.axes = hk_shape(0)});
    hk_array *soft = hk_softmax(logits, 0);
    hk_record_end();
    CHECK(hk_ok(hk_backward_all((hk_array *[]){loss, sum, rows, soft}, 4)));

    note(all, "random_normal", x);
    note(all, "conv2d", conv);
    note(all, "max_pool2d", pooled);
    note(all, "avg_pool2d", average);
    note(all, "linear", hidden);
    note(all, "matmul", logits);
    note(all, "softmax_cross_entropy", loss);
    note(all, "sum", sum);
    note(all, "max", rows);
    note(all, "softmax", soft);
    note(all, "mean", hk_mean(x, &(hk_mean_options){.axes = hk_shape(0, 2, 3)}));
    note(all, "argmax", hk_argmax(logits, 1));
    note(all, "gradient of x", hk_grad(x));
    note(all, "gradient of w1", hk_grad(w1));
    note(all, "gradient of b1", hk_grad(b1));
    note(all, "gradient of w2", hk_grad(w2));
    note(all, "gradient of b2", hk_grad(b2));
    note(all, "gradient of w3", hk_grad(w3));
}

static void run(result_list *all, hk_engine engine, int cores)
{
    hk_runtime_options options = {.engine = engine, .cpu_cores = cores};
    CHECK(hk_ok(hk_runtime_init(&options)));
    device = hk_device_default();
    hk_seed(1);
    run_dtype(all, HK_F32);
    run_dtype(all, HK_F64);
    hk_runtime_deinit();
}

int main(void)
{
    static result_list all[RUNS];
    run(&all[0], HK_ENGINE_SERIAL, 0);
    run(&all[1], HK_ENGINE_ASYNC, 1);
    run(&all[2], HK_ENGINE_ASYNC, 0);
    run(&all[3], HK_ENGINE_ASYNC, 0);
    for (int i = 1; i < RUNS; i++) {
        for (int j = 0; j < all[0].count; j++) {
            if (all[i].hashes[j] != all[0].hashes[j])
                fprintf(stderr, "%s differs in run %d\n", all[0].names[j], i);
            CHECK(all[i].hashes[j] == all[0].hashes[j]);
        }
    }
    return check_result();
}
