/* A graph of calls over three devices, as Dive into Deep Learning draws it in "Asynchronous Computation": z = x * y + 2,
 * here with more nodes. Nothing says what waits for what; the results are those of running line by line. */
#include <hocket/hocket.h>
#include <string.h>

enum { SIZE = 256, ROUNDS = 20, DEVICES = 3 };

/* Each round uses what the other devices have made, and writes a few rows in place. */
static void run_rounds(hk_array *x[DEVICES], const hk_device *devices)
{
    for (int round = 0; round < ROUNDS; round++) {
        HK_SCOPE;
        for (int d = 0; d < DEVICES; d++) {
            hk_array *y = hk_to_device(x[(d + 1) % DEVICES], devices[d]); /* the neighbour's, now */
            hk_array *z = hk_add(hk_multiply(x[d], y), 2);                /* as in the book */
            hk_array *product = hk_tanh(hk_divide(hk_matmul(y, z), SIZE));
            hk_maximum_into(x[d], x[d], product); /* waits for whoever still reads the old x[d] */
            hk_assign(hk_slice(x[d], 0, round, round + 3),
                      hk_slice(z, 0, 0, 3)); /* three rows only */
        }
    }
}

/* Runs everything on a fresh runtime; `out` gets the three results, one after another. */
static const hk_status *run(hk_engine engine, float *out)
{
    const hk_sim_options accelerator = {.count =
                                            1}; /* simulated: real results, the times of a model */
    const hk_status *status = hk_runtime_init(&(hk_runtime_options){
        .engine = engine, .cpu_devices = 2, .sim = &accelerator, .sim_count = 1});
    if (!hk_ok(status))
        return status;
    HK_SCOPE;
    const hk_device devices[DEVICES] = {hk_device_named("cpu:0"), hk_device_named("cpu:1"),
                                        hk_device_named("sim:0")};
    hk_array *x[DEVICES];
    hk_seed(1);
    for (int d = 0; d < DEVICES; d++)
        x[d] = hk_random_uniform(hk_shape(SIZE, SIZE), HK_F32, devices[d]);

    int64_t begin = hk_clock_ns();
    run_rounds(x, devices);
    int64_t issued = hk_clock_ns();
    hk_wait_all();
    printf("%-7s engine: issued in %6.2f ms, done after %6.2f ms\n",
           engine == HK_ENGINE_SERIAL ? "serial" : "async", 1e-6 * (double)(issued - begin),
           1e-6 * (double)(hk_clock_ns() - begin));
    for (int d = 0; d < DEVICES; d++)
        hk_to_host(x[d], out + d * SIZE * SIZE, SIZE * SIZE * sizeof *out);
    return hk_wait_all();
}

int main(void)
{
    static float serial[DEVICES * SIZE * SIZE], async[DEVICES * SIZE * SIZE];
    const hk_status *status = run(HK_ENGINE_SERIAL, serial); /* each call in its place */
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    hk_runtime_deinit();
    status = run(HK_ENGINE_ASYNC, async);
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    bool same = !memcmp(serial, async, sizeof serial);
    printf("the results are %s\n", same ? "the same, bit for bit" : "DIFFERENT");
    return same ? 0 : 1;
}
