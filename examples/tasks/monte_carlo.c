/* The price of a European call option, as the mean of what it pays on many random paths. Each task
 * draws some paths and adds them to the total of its group (hk_accumulates): tasks of one group run
 * at the same time, and the sum is what they give one after the other. Groups are dealt to devices,
 * and their totals are added in one order. So the bytes are the same on any number of devices and
 * of cores, and in the serial engine. Black and Scholes' formula says what the price should be. */
#include <hocket/hocket.h>

#include <math.h>
#include <string.h>

enum { GROUPS = 4, TASKS = 64, PATHS = 2048, MOST_DEVICES = 4 };

static const double start = 100, strike = 105, rate = 0.03, volatility = 0.2, years = 1.5;

/* Uniform in (0, 1): a hash of a counter, so that a path does not depend on who draws it
 * (Steele, Lea and Flood's SplitMix64). */
static double uniform(uint64_t counter)
{
    uint64_t x = (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((x ^ (x >> 31)) >> 11) + 0.5) * 0x1p-53;
}

/* Adds what PATHS paths pay, and its square, to the total. */
static void draw(hk_task_call *call)
{
    double *total = hk_task_view_of(call, 0).data;
    const uint64_t first = *(const uint64_t *)hk_task_args(call);
    const double drift = (rate - volatility * volatility / 2) * years;
    for (uint64_t path = first; path < first + PATHS; path++) {
        /* Box and Muller's normal number */
        const double normal =
            sqrt(-2 * log(uniform(2 * path))) * cos(2 * M_PI * uniform(2 * path + 1));
        const double price = start * exp(drift + volatility * sqrt(years) * normal);
        const double pays = exp(-rate * years) * fmax(price - strike, 0);
        total[0] += pays;
        total[1] += pays * pays;
    }
}

static double nanoseconds(const hk_task_call *call)
{
    (void)call;
    return 60.0 * PATHS;
}

static const hk_kernel draw_kernel = {.name = "draw", .cpu = draw, .cost_ns = nanoseconds};

/* The sums of what all paths pay and of its squares, on so many devices. */
static const hk_status *simulate(const hk_runtime_options *options, double sums[2])
{
    hk_runtime_init(options);
    HK_SCOPE;
    hk_array *totals[GROUPS];
    for (int group = 0; group < GROUPS; group++) {
        const hk_device device = hk_device_at(group % options->cpu_devices);
        totals[group] = hk_zeros(hk_shape(2), HK_F64, device);
    }
    for (int task = 0; task < TASKS; task++)
        for (int group = 0; group < GROUPS; group++) {
            const uint64_t first = (uint64_t)(task * GROUPS + group) * PATHS;
            hk_run(&draw_kernel, HK_ACCESS(hk_accumulates(totals[group])), &first, sizeof first,
                   NULL);
        }
    hk_array *sum = totals[0];
    for (int group = 1; group < GROUPS; group++)
        sum = hk_add(sum, hk_to_device(totals[group], hk_device_default()));
    return hk_to_host(sum, sums, 2 * sizeof *sums);
}

static double normal_share(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

static double black_scholes(void)
{
    const double spread = volatility * sqrt(years);
    const double d = (log(start / strike) + rate * years) / spread + spread / 2;
    return start * normal_share(d) - strike * exp(-rate * years) * normal_share(d - spread);
}

int main(void)
{
    const double count = (double)GROUPS * TASKS * PATHS;
    double expected[2], sums[2];
    for (int devices = 0; devices <= MOST_DEVICES; devices++) {
        const hk_runtime_options serial = {.cpu_devices = 1, .engine = HK_ENGINE_SERIAL},
                                 own = {.cpu_devices = devices};
        if (hk_status_print(simulate(devices ? &own : &serial, sums), stderr))
            return 1;
        hk_runtime_deinit();
        if (devices == 0)
            memcpy(expected, sums, sizeof sums);
        if (memcmp(sums, expected, sizeof sums)) {
            printf("%d devices give other bytes than the serial engine\n", devices);
            return 1;
        }
    }
    const double mean = sums[0] / count;
    const double error = sqrt((sums[1] / count - mean * mean) / count);
    printf("%.4f, with a standard error of %.4f; the formula: %.4f\n", mean, error,
           black_scholes());
    return fabs(mean - black_scholes()) < 3 * error ? 0 : 1;
}
