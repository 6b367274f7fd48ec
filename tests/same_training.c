/* One training, run in several ways: on one device and on two the first losses agree within a bound;
 * in the serial engine, on one core, with every call handed over, and on simulated devices instead
 * of CPU devices, they agree bit for bit. So they do among GPUs, which agree with CPU devices within a bound.
 *
 *   same_training [STEPS BATCH]   on GPUs, and one CPU device to compare with, only; fewer where they are emulated */
#include "base/sanitizer.h"
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

/* Relative. Sums over a batch are cut by device, so float32 rounds differently, by 6e-8 a step; training
 * amplifies that: after 50 steps to 4.3e-5 with AVX-512, 7e-8 with AVX2. */
static const double BOUND = 1e-4;
/* A GPU sums products in another order from the first step on. */
static const double CUDA_BOUND = 1e-3;

enum { MAX_DEVICES = 2, PARAMS = 8, CLASSES = 10, SIDE = 28 };

/* ThreadSanitizer makes this some twenty times slower. The batch is odd: shares differ, and the last block of samples
 * is not full. */
enum { STEPS = HKI_SANITIZED ? 6 : 50, BATCH = HKI_SANITIZED ? 35 : 131 };

/* How much of it is trained: all, unless the command line says otherwise. */
static int steps = STEPS, batch_size = BATCH;

static hk_array *lenet(hk_array *x, hk_array *const *p)
{
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[0], p[1], NULL)), NULL);
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[2], p[3], NULL)), NULL);
    x = hk_reshape(x, hk_shape(hk_dim(x, 0), -1));
    return hk_linear(hk_relu(hk_linear(x, p[4], p[5])), p[6], p[7]);
}

/* Images in which the label can be seen: noise with one brighter stripe. */
static void make_batch(int step, float *images, int64_t *labels)
{
    uint32_t noise = 12345u + (uint32_t)step * 7919u;
    for (int i = 0; i < batch_size; i++) {
        labels[i] = (i * 7 + step) % CLASSES;
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                noise = noise * 1664525u + 1013904223u;
                float value = (float)(noise >> 8) / (float)(1 << 25);
                bool stripe = y / 2 == labels[i] + 2;
                images[(i * SIDE + y) * SIDE + x] = stripe ? value + 0.5f : value;
            }
    }
}

/* On all CPU devices, or on all simulated ones where there are some, or on all GPUs that options->cuda names. */
static void train(const hk_runtime_options *options, double losses[STEPS])
{
    static float images[BATCH * SIDE * SIDE];
    static int64_t labels[BATCH];
    const double scales[PARAMS / 2] = {0.3, 0.06, 0.05, 0.12};
    CHECK(hk_ok(hk_runtime_init(options)));
    const bool is_cuda = options->cuda && strcmp(options->cuda, "off") != 0;
    const int first = options->sim_count || is_cuda ? options->cpu_devices : 0;
    const int n = options->sim_count ? options->sim->count
                  : is_cuda          ? hk_device_count() - first
                                     : options->cpu_devices;
    {
        HK_SCOPE;
        hk_device devices[MAX_DEVICES];
        hk_array *params[MAX_DEVICES][PARAMS], *grads[MAX_DEVICES];
        const hk_dims shapes[PARAMS] = {
            hk_shape(20, 1, 3, 3), hk_shape(20),  hk_shape(50, 20, 5, 5), hk_shape(50),
            hk_shape(128, 800),    hk_shape(128), hk_shape(10, 128),      hk_shape(10)};
        for (int d = 0; d < n; d++)
            devices[d] = hk_device_at(first + d);
        hk_seed(3);
        for (int i = 0; i < PARAMS; i++) {
            hk_array *value = hk_random_normal_from(NULL, 0, i % 2 ? 0 : scales[i / 2], shapes[i],
                                                    HK_F32, devices[0]);
            for (int d = 0; d < n; d++) {
                params[d][i] = hk_to_device(value, devices[d]);
                hk_attach_grad(params[d][i], HK_GRAD_WRITE);
            }
        }
        for (int step = 0; step < steps; step++) {
            HK_SCOPE;
            hk_array *x[MAX_DEVICES], *y[MAX_DEVICES], *loss[MAX_DEVICES];
            make_batch(step, images, labels);
            hk_split_and_load(
                hk_from_host(images, hk_shape(batch_size, 1, SIDE, SIDE), HK_F32, devices[0]),
                devices, n, NULL, x);
            hk_split_and_load(hk_from_host(labels, hk_shape(batch_size), HK_I64, devices[0]),
                              devices, n, NULL, y);
            hk_record_begin();
            for (int d = 0; d < n; d++)
                loss[d] = hk_softmax_cross_entropy(lenet(x[d], params[d]), y[d]);
            hk_record_end();
            for (int d = 0; d < n; d++)
                hk_backward(loss[d]);
            for (int i = 0; i < PARAMS; i++) {
                for (int d = 0; d < n; d++)
                    grads[d] = hk_grad(params[d][i]);
                hk_all_reduce(grads, n);
            }
            for (int d = 0; d < n; d++)
                hk_sgd(params[d], PARAMS, &(hk_sgd_options){.lr = 0.02, .batch = batch_size});
            losses[step] = 0;
            for (int d = 0; d < n; d++)
                losses[step] += hk_item(hk_sum(loss[d], NULL), NULL) / batch_size;
        }
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
}

static void check_same_bits(const double *a, const double *b, const char *how)
{
    if (memcmp(a, b, (size_t)steps * sizeof *a))
        fprintf(stderr, "%s differs\n", how);
    CHECK(!memcmp(a, b, (size_t)steps * sizeof *a));
}

static double worst_difference(const double *a, const double *b)
{
    double worst = 0;
    for (int i = 0; i < steps; i++)
        worst = fmax(worst, fabs(a[i] - b[i]) / fabs(a[i]));
    return worst;
}

/* On the first GPU, as one device and as two. */
static void test_cuda(const double *on_cpu)
{
    static double one[STEPS], two[STEPS], other[STEPS];
    train(&(hk_runtime_options){.cpu_devices = 1, .cuda = "0"}, one);
    train(&(hk_runtime_options){.cpu_devices = 1, .cuda = "0/2"}, two);
    printf("cuda:0 differs from cpu:0 by %.2g, its two parts from it by %.2g at most\n",
           worst_difference(on_cpu, one), worst_difference(one, two));
    CHECK(worst_difference(on_cpu, one) <= CUDA_BOUND);
    CHECK(worst_difference(one, two) <= CUDA_BOUND);
    train(&(hk_runtime_options){.cpu_devices = 1, .cuda = "0"}, other);
    check_same_bits(one, other, "cuda:0 once more");
    train(&(hk_runtime_options){.cpu_devices = 1, .cuda = "0", .engine = HK_ENGINE_SERIAL}, other);
    check_same_bits(one, other, "the serial engine on cuda:0");
    train(&(hk_runtime_options){.cpu_devices = 1, .cuda = "0/2", .engine = HK_ENGINE_SERIAL},
          other);
    check_same_bits(two, other, "the serial engine on two parts of cuda:0");
}

/* As the environment has it. */
static bool has_cuda(void)
{
    bool found = hk_ok(hk_device_status(hk_device_named("cuda:0"))) ||
                 hk_ok(hk_device_status(hk_device_named("cuda:0/0")));
    hk_runtime_deinit();
    return found;
}

int main(int argc, char **argv)
{
    static double one[STEPS], two[STEPS], other[STEPS];
    /* So fast that no time is spent on pacing them. */
    hk_sim_options sim = {.flops = 1e15,
                          .memory_bandwidth = 1e15,
                          .launch_ns = 1,
                          .link_bandwidth = 1e15,
                          .link_latency_ns = 1};
    hk_runtime_options on_sims = {.cpu_devices = 1, .sim = &sim, .sim_count = 1};
    const bool cuda = has_cuda();
    setenv("HOCKET_CUDA", "off", 1); /* where an option does not say otherwise */
    if (argc == 3) {
        steps = atoi(argv[1]);
        batch_size = atoi(argv[2]);
        CHECK(cuda && steps > 0 && steps <= STEPS && batch_size > 0 && batch_size <= BATCH);
        if (check_result())
            return 1;
    }
    train(&(hk_runtime_options){.cpu_devices = 1}, one);
    if (argc == 3) {
        test_cuda(one);
        return check_result();
    }
    train(&(hk_runtime_options){.cpu_devices = 2}, two);
    double worst = worst_difference(one, two);
    printf("loss %.6f to %.6f; one and two devices differ by %.2g at most\n", one[0],
           one[STEPS - 1], worst);
    CHECK(worst <= BOUND);
    CHECK(one[STEPS - 1] < one[0]); /* it does learn */

    train(&(hk_runtime_options){.cpu_devices = 1, .engine = HK_ENGINE_SERIAL}, other);
    check_same_bits(one, other, "the serial engine");
    train(&(hk_runtime_options){.cpu_devices = 1, .cpu_cores = 1, .inline_ns = -1}, other);
    check_same_bits(one, other, "one core");
    train(&(hk_runtime_options){.cpu_devices = 2, .engine = HK_ENGINE_SERIAL}, other);
    check_same_bits(two, other, "the serial engine on two devices");

    sim.count = 1;
    train(&on_sims, other);
    check_same_bits(one, other, "a simulated device");
    sim.count = 2;
    sim.peer_bandwidth = 1e15;
    train(&on_sims, other);
    check_same_bits(two, other, "two simulated devices");
    sim.peer_bandwidth = -1;
    on_sims.engine = HK_ENGINE_SERIAL;
    train(&on_sims, other);
    check_same_bits(two, other, "the serial engine on two simulated devices without a link");
    if (cuda)
        test_cuda(one);
    return check_result();
}
