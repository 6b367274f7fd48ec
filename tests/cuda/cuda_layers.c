/* Products, convolutions, pooling and normalisation on a CUDA device against the CPU, with operands that libraries are
 * particular about: slices that begin anywhere, gaps along both axes, batches that do not lie evenly, sums of many parts.
 * Each is done twice, with the same bytes. On the emulation, also without room for a workspace. */
#include "base/sanitizer.h"
#include "check.h"

#include <hocket/hocket.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MAX_INPUTS = 5, OUTPUTS = 2 };

/* A call with inputs that it makes views of: the same on both devices. */
typedef hk_array *(*call_fn)(hk_array *const *in);

typedef struct layer {
    const char *name;
    call_fn call;
    hk_dims inputs[MAX_INPUTS]; /* ndim 0: none */
} layer;

#define SHAPE(...)                                                                                 \
    {                                                                                              \
        .ndim = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = { __VA_ARGS__ }  \
    }

/* ---- products ------------------------------------------------------------------------------------------ */

static hk_array *plain(hk_array *const *in)
{
    return hk_matmul(in[0], in[1]);
}

static hk_array *both_transposed(hk_array *const *in)
{
    return hk_matmul(hk_transpose(in[0]), hk_transpose(in[1]));
}

static hk_array *odd_columns(hk_array *const *in)
{
    return hk_matmul(hk_slice(in[0], 1, 1, 30), hk_slice(in[1], 1, 3, 20));
}

/* A matrix with gaps along both axes. */
static hk_array *gaps(hk_array *const *in)
{
    return hk_matmul(hk_index(hk_permute_dims(in[0], hk_shape(2, 0, 1)), 0, 1), in[1]);
}

static hk_array *broadcast_columns(hk_array *const *in)
{
    return hk_matmul(hk_broadcast_to(in[0], hk_shape(9, 11)), in[1]);
}

/* Batches whose axes do not lie in order, so that they are not one batch. */
static hk_array *permuted_batches(hk_array *const *in)
{
    return hk_matmul(hk_permute_dims(in[0], hk_shape(1, 0, 2, 3)), in[1]);
}

static hk_array *rows_of_batch(hk_array *const *in)
{
    return hk_matmul(hk_slice(in[0], 1, 1, 4), in[1]);
}

/* Of attention: axes of heads between those of samples and rows. */
static hk_array *heads(hk_array *const *in)
{
    hk_array *q = hk_permute_dims(in[0], hk_shape(0, 2, 1, 3));
    hk_array *k = hk_permute_dims(in[1], hk_shape(0, 2, 3, 1));
    return hk_matmul(hk_matmul(q, k), hk_permute_dims(in[2], hk_shape(0, 2, 1, 3)));
}

static hk_array *linear(hk_array *const *in)
{
    return hk_linear(in[0], in[1], in[2]);
}

static hk_array *linear_slices(hk_array *const *in)
{
    return hk_linear(hk_slice(in[0], 0, 1, 8), hk_slice(in[1], 0, 1, 6), hk_slice(in[2], 0, 1, 6));
}

/* The bias is a column. */
static hk_array *linear_strided(hk_array *const *in)
{
    return hk_linear(hk_permute_dims(in[0], hk_shape(1, 0, 2)), in[1], hk_index(in[2], 1, 1));
}

/* ---- images -------------------------------------------------------------------------------------------- */

static hk_array *convolve(hk_array *const *in)
{
    const hk_conv2d_options options = {.padding = {2, 1}, .stride = {1, 2}};
    return hk_conv2d(in[0], in[1], in[2], &options);
}

static hk_array *convolve_slices(hk_array *const *in)
{
    return hk_conv2d(hk_slice(in[0], 0, 1, 4), hk_slice(in[1], 0, 1, 4), hk_slice(in[2], 0, 1, 4),
                     NULL);
}

static hk_array *convolve_groups(hk_array *const *in)
{
    const hk_conv2d_options options = {.padding = {2, 1}, .stride = {1, 2}, .groups = 3};
    return hk_conv2d(in[0], in[1], in[2], &options);
}

/* Of which the gradient is that of the weights. */
static hk_array *weigh_groups(hk_array *const *in)
{
    const hk_conv2d_options options = {.padding = {1, 2}, .stride = {2, 1}, .groups = 3};
    return hk_conv2d(in[1], in[0], NULL, &options);
}

/* Windows of one row, whose elements would lie farther apart than int counts. */
static const hk_conv2d_options far_apart = {
    .padding = {0, 1}, .stride = {1, 2}, .dilation = {INT32_MAX / 2, 1}, .groups = 3};

static hk_array *convolve_far(hk_array *const *in)
{
    return hk_conv2d(in[0], in[1], in[2], &far_apart);
}

static hk_array *weigh_far(hk_array *const *in)
{
    return hk_conv2d(in[1], in[0], NULL, &far_apart);
}

static hk_array *convolve_plainly(hk_array *const *in)
{
    return hk_conv2d(in[0], in[1], in[2], NULL);
}

static hk_array *weigh_plainly(hk_array *const *in)
{
    return hk_conv2d(in[1], in[0], in[2], NULL);
}

static hk_array *separate_max(hk_array *const *in)
{
    return hk_max_pool2d(in[0], &(hk_max_pool2d_options){.kernel = {2, 3}});
}

static hk_array *overlapping_max(hk_array *const *in)
{
    const hk_max_pool2d_options options = {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
    return hk_max_pool2d(in[0], &options);
}

static hk_array *overlapping_mean(hk_array *const *in)
{
    const hk_avg_pool2d_options options = {.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 1}};
    return hk_avg_pool2d(in[0], &options);
}

static hk_array *normalise(hk_array *const *in)
{
    return hk_batch_norm(in[0], in[1], in[2], NULL, NULL, NULL);
}

static hk_array *normalise_rows(hk_array *const *in)
{
    return hk_layer_norm(in[0], in[1], in[2], NULL);
}

static hk_array *normalise_groups(hk_array *const *in)
{
    return hk_group_norm(in[0], in[1], in[2], &(hk_group_norm_options){.groups = 3});
}

/* Of which the gradient is that of the scales. */
static hk_array *scale_rows(hk_array *const *in)
{
    return hk_layer_norm(in[1], in[0], in[2], NULL);
}

static hk_array *scale_groups(hk_array *const *in)
{
    return hk_group_norm(in[1], in[0], in[2], &(hk_group_norm_options){.groups = 3});
}

static hk_array *scale_rms(hk_array *const *in)
{
    return hk_rms_norm(in[1], in[0], &(hk_rms_norm_options){.axes = 2});
}

static const layer layers[] = {
    {"matmul", plain, {SHAPE(37, 530), SHAPE(530, 29)}},
    {"matmul of transposed", both_transposed, {SHAPE(53, 37), SHAPE(29, 53)}},
    {"matmul of slices", odd_columns, {SHAPE(37, 31), SHAPE(29, 21)}},
    {"matmul with gaps", gaps, {SHAPE(7, 6, 5), SHAPE(6, 4)}},
    {"matmul of a broadcast column", broadcast_columns, {SHAPE(9, 1), SHAPE(11, 6)}},
    {"matmul of permuted batches", permuted_batches, {SHAPE(2, 3, 4, 5), SHAPE(3, 2, 5, 6)}},
    {"matmul of broadcast batches", plain, {SHAPE(3, 1, 5, 6), SHAPE(4, 6, 7)}},
    {"matmul of batches by one", plain, {SHAPE(2, 3, 4, 5), SHAPE(5, 6)}},
    {"matmul of a batch's slices", rows_of_batch, {SHAPE(3, 5, 7), SHAPE(3, 7, 2)}},
    {"matmul of heads", heads, {SHAPE(5, 7, 3, 4), SHAPE(5, 6, 3, 4), SHAPE(5, 6, 3, 8)}},
    {"matmul of more heads than samples",
     heads,
     {SHAPE(2, 7, 9, 4), SHAPE(2, 7, 9, 4), SHAPE(2, 7, 9, 4)}},
    {"linear", linear, {SHAPE(64, 100), SHAPE(10, 100), SHAPE(10)}},
    {"linear of slices", linear_slices, {SHAPE(9, 7), SHAPE(7, 7), SHAPE(7)}},
    {"linear with gaps", linear_strided, {SHAPE(4, 3, 5), SHAPE(6, 5), SHAPE(6, 3)}},
    {"conv2d", convolve, {SHAPE(5, 3, 17, 15), SHAPE(8, 3, 5, 3), SHAPE(8)}},
    {"conv2d, odd outputs", convolve, {SHAPE(5, 3, 17, 15), SHAPE(7, 3, 5, 3), SHAPE(7)}},
    {"conv2d of slices", convolve_slices, {SHAPE(5, 3, 5, 5), SHAPE(5, 3, 3, 3), SHAPE(5)}},
    {"conv2d in groups", convolve_groups, {SHAPE(5, 15, 9, 8), SHAPE(12, 5, 3, 3), SHAPE(12)}},
    {"conv2d in groups, weights", weigh_groups, {SHAPE(12, 5, 3, 3), SHAPE(5, 15, 9, 8)}},
    {"conv2d of many windows, weights", weigh_groups, {SHAPE(12, 5, 3, 3), SHAPE(40, 15, 9, 8)}},
    {"conv2d of large groups, weights", weigh_groups, {SHAPE(105, 40, 1, 2), SHAPE(2, 120, 3, 2)}},
    {"conv2d of few channels", convolve_groups, {SHAPE(5, 3, 19, 8), SHAPE(6, 1, 3, 3), SHAPE(6)}},
    {"conv2d of few channels, weights", weigh_groups, {SHAPE(6, 2, 3, 4), SHAPE(9, 6, 21, 8)}},
    {"conv2d of small planes, weights", weigh_groups, {SHAPE(3, 1, 3, 3), SHAPE(300, 3, 2, 3)}},
    {"conv2d of one sample", convolve, {SHAPE(1, 70, 9, 11), SHAPE(37, 70, 3, 3), SHAPE(37)}},
    {"conv2d of few windows", convolve, {SHAPE(1, 60, 3, 4), SHAPE(260, 60, 5, 3), SHAPE(260)}},
    {"conv2d of some windows", convolve, {SHAPE(1, 30, 5, 9), SHAPE(130, 30, 5, 3), SHAPE(130)}},
    {"conv2d of one row", convolve_plainly, {SHAPE(1, 40, 3, 200), SHAPE(21, 40, 3, 3), SHAPE(21)}},
    {"conv2d of one sample in groups",
     convolve_groups,
     {SHAPE(2, 90, 9, 8), SHAPE(66, 30, 3, 3), SHAPE(66)}},
    {"conv2d of single elements, one sample",
     convolve_plainly,
     {SHAPE(1, 300, 5, 5), SHAPE(70, 300, 1, 1), SHAPE(70)}},
    {"conv2d by large integers", convolve_far, {SHAPE(5, 3, 7, 8), SHAPE(6, 1, 1, 3), SHAPE(6)}},
    {"conv2d by large integers, weights", weigh_far, {SHAPE(6, 2, 1, 4), SHAPE(9, 6, 7, 8)}},
    {"conv2d of elements", convolve_plainly, {SHAPE(5, 6, 7, 9), SHAPE(10, 6, 1, 1), SHAPE(10)}},
    {"conv2d of elements, weights", weigh_plainly, {SHAPE(10, 6, 1, 1), SHAPE(5, 6, 7, 9)}},
    {"conv2d of elements, one sample's", weigh_plainly, {SHAPE(4, 6, 1, 1), SHAPE(1, 6, 8, 4)}},
    {"conv2d of one pixel", weigh_plainly, {SHAPE(4, 1, 1, 1), SHAPE(3, 1, 1, 1), SHAPE(4)}},
    {"max_pool2d", overlapping_max, {SHAPE(3, 4, 17, 18)}},
    {"max_pool2d of separate windows", separate_max, {SHAPE(3, 4, 17, 18)}},
    {"avg_pool2d", overlapping_mean, {SHAPE(3, 4, 17, 18)}},
    {"batch_norm", normalise, {SHAPE(40, 3, 30, 31), SHAPE(3), SHAPE(3)}},
    {"batch_norm in packs", normalise, {SHAPE(7, 5, 12, 8), SHAPE(5), SHAPE(5)}},
    {"batch_norm of vectors", normalise, {SHAPE(5000, 4), SHAPE(4), SHAPE(4)}},
    {"layer_norm of long rows", normalise_rows, {SHAPE(3, 5001), SHAPE(5001), SHAPE(5001)}},
    {"layer_norm in packs", normalise_rows, {SHAPE(700, 64), SHAPE(64), SHAPE(64)}},
    {"layer_norm's scales", scale_rows, {SHAPE(70), SHAPE(5000, 70), SHAPE(70)}},
    {"rms_norm's scales", scale_rms, {SHAPE(6, 7), SHAPE(900, 6, 7)}},
    {"group_norm", normalise_groups, {SHAPE(5, 6, 31, 33), SHAPE(6), SHAPE(6)}},
    {"group_norm in packs", normalise_groups, {SHAPE(5, 6, 12, 10), SHAPE(6), SHAPE(6)}},
    {"group_norm of vectors", normalise_groups, {SHAPE(50, 36), SHAPE(36), SHAPE(36)}},
    {"group_norm's scales", scale_groups, {SHAPE(6), SHAPE(70, 6, 12, 10), SHAPE(6)}},
    {"group_norm's scales, of vectors", scale_groups, {SHAPE(36), SHAPE(900, 36), SHAPE(36)}},
};

/* ---- comparison ---------------------------------------------------------------------------------------- */

/* The result and the gradient of the first input, in memory of the host. */
typedef struct results {
    double *values[OUTPUTS];
    int64_t sizes[OUTPUTS];
    bool good;
} results;

static results run(const layer *self, hk_array *const *originals, hk_device device)
{
    HK_SCOPE;
    results made = {.good = true};
    hk_array *in[MAX_INPUTS] = {NULL};
    for (int i = 0; i < MAX_INPUTS && originals[i]; i++) {
        in[i] = hk_to_device(originals[i], device);
        hk_attach_grad(in[i], HK_GRAD_WRITE);
    }
    hk_record_begin();
    hk_array *y = self->call(in);
    hk_array *loss = hk_sum(hk_multiply(y, y), NULL);
    hk_record_end();
    hk_backward(loss);
    hk_array *outputs[OUTPUTS] = {y, hk_grad(in[0])};
    for (int i = 0; i < OUTPUTS; i++) {
        made.sizes[i] = hk_size(outputs[i]);
        const size_t bytes = (size_t)made.sizes[i] * sizeof(double);
        made.values[i] = malloc(bytes);
        const hk_status *status =
            hk_to_host(hk_cast(hk_contiguous(outputs[i]), HK_F64), made.values[i], bytes);
        made.good = made.good && hk_ok(status);
        if (!hk_ok(status))
            fprintf(stderr, "%s: %s\n", self->name, hk_status_message(status));
    }
    return made;
}

static void release(results *self)
{
    for (int i = 0; i < OUTPUTS; i++)
        free(self->values[i]);
}

static void compare(const layer *self, const results *expected, const results *actual, double bound)
{
    for (int i = 0; i < OUTPUTS; i++) {
        int64_t wrong = 0;
        CHECK_EQ_I64(actual->sizes[i], expected->sizes[i]);
        for (int64_t j = 0; j < expected->sizes[i]; j++) {
            const double wanted = expected->values[i][j], scale = wanted < 0 ? -wanted : wanted;
            const double distance = actual->values[i][j] - wanted;
            wrong += !((distance < 0 ? -distance : distance) <= bound * (scale > 1 ? scale : 1));
        }
        if (wrong)
            fprintf(stderr, "%s: %lld of %lld values of %s are wrong\n", self->name,
                    (long long)wrong, (long long)expected->sizes[i],
                    i ? "the gradient" : "the result");
        CHECK_EQ_I64(wrong, 0);
    }
}

static void test_layer(const layer *self, hk_dtype dtype, hk_device device)
{
    HK_SCOPE;
    const hk_device host = hk_device_named("cpu:0");
    hk_array *originals[MAX_INPUTS] = {NULL};
    for (int i = 0; i < MAX_INPUTS && self->inputs[i].ndim; i++)
        originals[i] =
            hk_cast(hk_add(hk_random_uniform(self->inputs[i], HK_F32, host), -0.5), dtype);
    results expected = run(self, originals, host);
    results actual = run(self, originals, device), again = run(self, originals, device);
    CHECK(expected.good && actual.good && again.good);
    if (expected.good && actual.good && again.good) {
        compare(self, &expected, &actual, dtype == HK_F32 ? 1e-4 : 1e-10);
        for (int i = 0; i < OUTPUTS; i++)
            CHECK(!memcmp(actual.values[i], again.values[i],
                          (size_t)actual.sizes[i] * sizeof(double)));
    }
    release(&expected);
    release(&actual);
    release(&again);
}

/* Of more entries than grids have blocks along their second and third axis. */
static void test_large_batches(hk_device device)
{
    static const layer batches[] = {
        {"matmul of a large batch", plain, {SHAPE(70001, 1, 2), SHAPE(70001, 2, 3)}},
        {"matmul of large permuted batches",
         permuted_batches,
         {SHAPE(66000, 2, 1, 2), SHAPE(2, 66000, 2, 1)}},
    };
    /* Without cuBLASLt each entry has a block of threads, which take the emulation minutes. More blocks of the same are
     * nothing new for the thread sanitizer. */
    const bool has_libraries = !getenv("HOCKET_EMULATED_CUDA_WITHOUT") && !HKI_THREAD_SANITIZER;
    for (size_t i = 0; has_libraries && i < sizeof batches / sizeof batches[0]; i++) {
        test_layer(&batches[i], HK_F32, device);
        test_layer(&batches[i], HK_F64, device);
    }
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Arrays that take all memory of a GPU. */
typedef struct filling {
    hk_array *arrays[4096];
    int count;
} filling;

/* In arrays of so many elements. */
static void fill(filling *self, int64_t size, hk_device device)
{
    const int most = (int)(sizeof self->arrays / sizeof self->arrays[0]);
    bool full = false;
    while (self->count < most && !full) {
        HK_SCOPE;
        hk_array *x = hk_zeros(hk_shape(size), HK_F32, device);
        full = !hk_ok(hk_wait(x));
        if (!full)
            self->arrays[self->count++] = hk_take(x);
    }
    CHECK(full);
    hk_failures_clear();
}

/* The last `count` of them go. */
static void empty(filling *self, int count)
{
    for (; count > 0 && self->count > 0; count--)
        hk_array_release(self->arrays[--self->count]);
}

/* When arrays have taken all memory of the GPU, a call that needs a workspace fails by that, and works when there is room
 * again. Before any other call has made one. */
static void test_no_workspace(hk_device device)
{
    HK_SCOPE;
    static filling large, rest;
    hk_array *x = hk_ones(hk_shape(64, 64), HK_F32, device);
    hk_array *y = hk_zeros(hk_shape(64, 64), HK_F32, device);
    CHECK(hk_ok(hk_wait_all()));
    fill(&large, 1 << 18, device);
    fill(&rest, 1 << 10, device);
    hk_call_into("matmul", y, (hk_array *const[]){x, x}, 2, NULL);
    const hk_status *status = hk_wait(y);
    CHECK(hk_status_code(status) == HK_OUT_OF_MEMORY);
    CHECK(strstr(hk_status_message(status), "workspace") != NULL);
    empty(&large, large.count);
    empty(&rest, rest.count);
    hk_call_into("matmul", y, (hk_array *const[]){x, x}, 2, NULL);
    CHECK(hk_ok(hk_wait(y)));
    CHECK(hk_item(hk_min(y, NULL), NULL) == 64);
    hk_failures_clear();
}

static double distance(hk_array *a, hk_array *b)
{
    HK_SCOPE;
    const hk_device host = hk_device_named("cpu:0");
    return hk_item(hk_max(hk_abs(hk_subtract(hk_to_device(a, host), hk_to_device(b, host))), NULL),
                   NULL);
}

/* A convolution for whose workspace there is no memory takes another algorithm, with a smaller one; with none at all it is
 * done without the library. Before any other call has made a workspace. */
static void test_small_workspace(hk_device device)
{
    HK_SCOPE;
    static filling large, rest;
    hk_array *x[2], *weight[2], *y[2], *small;
    for (int i = 0; i < 2; i++) {
        const hk_device there = i ? device : hk_device_named("cpu:0");
        x[i] = hk_random_uniform(hk_shape(2, 3, 9, 8), HK_F32, there);
        weight[i] = hk_random_uniform(hk_shape(4, 3, 3, 3), HK_F32, there);
        y[i] = hk_zeros(hk_shape(2, 4, 7, 6), HK_F32, there);
    }
    hk_assign(x[0], x[1]);
    hk_assign(weight[0], weight[1]);
    hk_call_into("conv2d", y[0], (hk_array *const[]){x[0], weight[0], NULL}, 3, NULL);
    small = hk_zeros(hk_shape(2, 4, 7, 6), HK_F32, hk_device_named("cpu:0"));
    CHECK(hk_ok(hk_wait_all()));
    fill(&large, 1 << 18, device);
    fill(&rest, 1 << 10, device);
    const int steps[] = {0, 1, large.count - 1}; /* MiB that there are then */
    for (int i = 0; i < 3; i++) {
        empty(&large, steps[i]);
        hk_add_into(y[1], y[1], 1); /* not what it is to be */
        hk_call_into("conv2d", y[1], (hk_array *const[]){x[1], weight[1], NULL}, 3, NULL);
        CHECK(hk_ok(hk_wait(y[1])));
        CHECK(distance(y[0], y[1]) < 1e-4);
        if (i == 1)
            hk_assign(small, y[1]);
    }
    empty(&large, large.count);
    empty(&rest, rest.count);
    /* The same bytes from then on, though there is room. */
    CHECK(distance(small, y[1]) == 0);
    CHECK(hk_status_count(hk_wait_all()) == 0);
}

/* Releases the module. */
static void test_module(hk_module *module, hk_dims shape, hk_device device)
{
    HK_SCOPE;
    hk_device host = hk_device_named("cpu:0");
    hk_array *x = hk_random_normal(shape, HK_F32, host), *grads[2], *made[2];
    for (int i = 0; i < 2; i++) {
        hk_module *here = i ? hk_module_replicate(module, device) : hk_module_retain(module);
        hk_array *in = hk_copy(i ? hk_to_device(x, device) : x);
        hk_attach_grad(in, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *y = hk_forward(here, in);
        hk_array *loss = hk_sum(hk_square(hk_tanh(y)), NULL);
        hk_record_end();
        CHECK(hk_ok(hk_backward(loss)));
        made[i] = hk_to_device(y, host);
        grads[i] = hk_to_device(hk_grad(in), host);
        hk_module_release(here);
    }
    CHECK(distance(made[0], made[1]) < 1e-5);
    CHECK(distance(grads[0], grads[1]) < 1e-4);
    hk_module_release(module);
}

/* Images that begin between what is read in one go have the same bytes. */
static void test_norm_alignment(call_fn normal, int64_t scales, hk_device device)
{
    HK_SCOPE;
    const int64_t size = 6 * 3 * 20 * 12;
    hk_array *flat = hk_random_uniform(hk_shape(size + 1), HK_F32, device);
    hk_array *beside = hk_slice(flat, 0, 1, size + 1), *made[2], *grads[2];
    hk_array *gamma = hk_ones(hk_shape(scales), HK_F32, device);
    for (int i = 0; i < 2; i++) {
        hk_array *x = hk_reshape(i ? hk_copy(beside) : beside, hk_shape(6, 3, 20, 12));
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_record_begin();
        made[i] = normal((hk_array *const[]){x, gamma, gamma});
        hk_array *loss = hk_sum(hk_square(hk_tanh(made[i])), NULL);
        hk_record_end();
        CHECK(hk_ok(hk_backward(loss)));
        grads[i] = hk_grad(x);
    }
    CHECK(distance(made[0], made[1]) == 0);
    CHECK(distance(grads[0], grads[1]) == 0);
}

static hk_device begin(void)
{
    hk_device device = {NULL};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 1})));
    for (int i = 0; i < hk_device_count() && !device.handle; i++)
        if (!strcmp(hk_device_kind(hk_device_at(i)), "cuda"))
            device = hk_device_at(i);
    return device;
}

/* Of one sample sums are cut: beside a large term those of its own part are lost, and those of the others are not. */
static void test_cut_sums(hk_device device)
{
    enum { CHANNELS = 300, LARGE = 1 << 24 };
    HK_SCOPE;
    float x[CHANNELS] = {LARGE};
    for (int i = 1; i < CHANNELS; i++)
        x[i] = 1;
    hk_array *weight = hk_ones(hk_shape(1, CHANNELS, 1, 1), HK_F32, device);
    hk_array *y = hk_conv2d(hk_from_host(x, hk_shape(1, CHANNELS, 1, 1), HK_F32, device), weight,
                            hk_full(hk_shape(1), 2, HK_F32, device), NULL);
    const float sum = (float)hk_item(y, NULL);
    CHECK(sum > LARGE + 100 && sum < LARGE + CHANNELS);
}

int main(void)
{
    hk_device device = begin();
    if (getenv("HOCKET_EMULATED_CUDA")) { /* a small GPU, which is soon full */
        if (!getenv(
                "HOCKET_EMULATED_CUDA_WITHOUT")) /* products without cuBLASLt need no workspace */
            test_no_workspace(device);
        hk_runtime_deinit(); /* with its workspaces */
        device = begin();
        test_small_workspace(device);
    }
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        test_layer(&layers[i], HK_F32, device);
        if (!HKI_THREAD_SANITIZER) /* the same threads, of the same sources */
            test_layer(&layers[i], HK_F64, device);
    }
    test_cut_sums(device);
    test_norm_alignment(normalise, 3, device);
    test_norm_alignment(normalise_rows, 12, device);
    test_norm_alignment(normalise_groups, 3, device);
    test_module(hk_layer_norm_layer(0), hk_shape(3, 4, 5, 6), device);
    test_module(hk_layer_norm_over_layer(2, 0), hk_shape(3, 4, 5, 6), device);
    test_module(hk_rms_norm_layer(0), hk_shape(3, 4, 5, 6), device);
    test_module(hk_group_norm_layer(2, 0), hk_shape(3, 4, 5, 6), device);
    test_module(hk_instance_norm_layer(0), hk_shape(3, 4, 5, 6), device);
    test_module(hk_recurrent_layer(HK_RECURRENT_LSTM, 33, false), hk_shape(4, 70, 5), device);
    test_module(hk_recurrent_layer(HK_RECURRENT_GRU, 33, false), hk_shape(4, 70, 5), device);
    if (!getenv(
            "HOCKET_EMULATED_CUDA_REFUSES")) /* own kernels take minutes for it on the emulation */
        test_large_batches(device);
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    return check_result();
}
