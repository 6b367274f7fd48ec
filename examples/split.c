/* A batch split unevenly over a CPU and an accelerator: each gets samples in proportion to its speed, which is measured
 * first. The accelerator is simulated: real results, the times of a model; here half as fast as one core. */
#include <hocket/hocket.h>

enum { DEVICES = 2, BATCH = 512, PIXELS = 28 * 28, HIDDEN = 512, CLASSES = 10, REPEATS = 10 };

/* A network with one hidden layer, its parameters on one device. */
typedef struct network {
    hk_array *hidden, *output;
} network;

static hk_array *scores(const network *self, hk_array *x)
{
    x = hk_relu(hk_linear(hk_reshape(x, hk_shape(-1, PIXELS)), self->hidden, NULL));
    return hk_linear(x, self->output, NULL);
}

/* Seconds of a batch of which devices[i] gets shares[i] samples, in the mean of some. */
static double seconds(const network nets[DEVICES], hk_data_set *set, const hk_device *devices,
                      const int64_t shares[DEVICES])
{
    HK_SCOPE;
    hk_array *images[DEVICES];
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = BATCH,
                                                                   .devices = devices,
                                                                   .device_count = DEVICES,
                                                                   .shares = shares});
    int64_t begin = 0;
    for (int i = 0; i <= REPEATS && hk_loader_next(loader, images, NULL); i++) {
        HK_SCOPE;
        for (int d = 0; d < DEVICES; d++)
            if (shares[d] > 0) /* a slice may have no rows: nothing to do */
                scores(&nets[d], images[d]);
        if (i == 0) { /* to warm up */
            hk_wait_all();
            begin = hk_clock_ns();
        }
    }
    hk_wait_all();
    hk_loader_release(loader);
    return 1e-9 * (double)(hk_clock_ns() - begin) / REPEATS;
}

int main(void)
{
    const hk_sim_options accelerator = {.count = 1, .factor = 0.5};
    hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1, .sim = &accelerator, .sim_count = 1});
    HK_SCOPE;
    const hk_device devices[DEVICES] = {hk_device_named("cpu:0"), hk_device_named("sim:0")};
    network nets[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        nets[d].hidden = hk_random_normal(hk_shape(HIDDEN, PIXELS), HK_F32, devices[d]);
        nets[d].output = hk_random_normal(hk_shape(CLASSES, HIDDEN), HK_F32, devices[d]);
    }
    hk_data_set *set = hk_data_set_open(NULL, HK_DATA_TRAIN, NULL);

    double cpu = seconds(nets, set, devices, (int64_t[]){BATCH, 0});
    double sim = seconds(nets, set, devices, (int64_t[]){0, BATCH});
    int64_t shares[DEVICES] = {(int64_t)(BATCH * sim / (cpu + sim)), 0};
    shares[1] = BATCH - shares[0];
    printf("cpu:0 alone %22.2f ms\n", 1e3 * cpu);
    printf("sim:0 alone %22.2f ms\n", 1e3 * sim);
    printf("equal halves %21.2f ms\n",
           1e3 * seconds(nets, set, devices, (int64_t[]){BATCH / 2, BATCH / 2}));
    printf("%3d and %3d samples %14.2f ms\n", (int)shares[0], (int)shares[1],
           1e3 * seconds(nets, set, devices, shares));
    hk_data_set_release(set);
    return hk_status_print(hk_wait_all(), stderr);
}
