/* What small calls cost through the public functions, from the call to the end of the work, allocation and shape rule
 * included: each row is 10,000 calls on float32 arrays of shape (1,2), whose results are dropped at once, and one wait at
 * the end, where it does not say otherwise. Products of 48 × 48 are requests one at a time.
 *
 *     bench_call [--repeat N] [--live N] [--python COMMAND]
 *
 * --live: so many arrays more are kept all the time, beside which the calls are made.
 *
 * Peers, taking turns with us, where Python has them: NumPy and PyTorch with one thread. Both are called from Python,
 * which adds its own share; what their C++ alone takes is not measured here. */
#include "bench_util.h"

#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 10000, MAX_REPEAT = 1000, MAX_LIVE = 10000000 };

/* What the calls read. */
static struct {
    hk_array *x, *z, *one, *scalar, *matrix;
    hk_array *leaf; /* wants a gradient */
} given;

static void given_init(void)
{
    hk_device device = hk_device_default();
    given.x = hk_from_host((const float[]){1, 2}, hk_shape(1, 2), HK_F32, device);
    given.z = hk_from_host((const float[]){3, 4}, hk_shape(1, 2), HK_F32, device);
    given.leaf = hk_from_host((const float[]){5, 6}, hk_shape(1, 2), HK_F32, device);
    given.one = hk_scalar(1, HK_F32, device);
    given.scalar = hk_scalar(2, HK_F32, device);
    given.matrix = hk_ones(hk_shape(48, 48), HK_F32, device);
    hk_attach_grad(given.leaf, HK_GRAD_WRITE);
}

static void given_deinit(void)
{
    hk_array_release(given.x);
    hk_array_release(given.z);
    hk_array_release(given.leaf);
    hk_array_release(given.one);
    hk_array_release(given.scalar);
    hk_array_release(given.matrix);
}

static void add_one(void)
{
    hk_array_release(hk_add(given.x, given.one));
}

static void add_one_wait(void)
{
    hk_array *y = hk_add(given.x, given.one);
    hk_wait(y);
    hk_array_release(y);
}

static void add_array(void)
{
    hk_array_release(hk_add(given.x, given.z));
}

static void relu(void)
{
    hk_array_release(hk_relu(given.x));
}

static void square_backward(void)
{
    HK_RECORD;
    hk_array *y = hk_multiply(given.leaf, given.leaf);
    hk_backward(y);
    hk_array_release(y);
}

static void from_host(void)
{
    static const float values[2] = {1, 2};
    hk_array_release(hk_from_host(values, hk_shape(1, 2), HK_F32, hk_device_default()));
}

static void to_host(void)
{
    float values[2];
    hk_to_host(given.x, values, sizeof values);
}

static void item(void)
{
    hk_item(given.scalar, NULL);
}

static void view(void)
{
    hk_array_release(hk_slice(given.x, 1, 0, 1));
}

/* What a request costs that comes while the workers have nothing to do, or sleep: nanoseconds of a product and a wait. */
static double product_after(double pause_seconds)
{
    enum { REQUESTS = 200 };
    double all = 0;
    for (int i = 0; i < REQUESTS; i++) {
        const double until = bench_seconds() + pause_seconds;
        double begin;
        do
            begin = bench_seconds();
        while (begin < until);
        hk_array *y = hk_matmul(given.matrix, given.matrix);
        hk_wait(y);
        hk_array_release(y);
        all += bench_seconds() - begin;
    }
    return all / REQUESTS * 1e9;
}

static double product_often(void)
{
    return product_after(0);
}

static double product_now_and_then(void)
{
    return product_after(200e-6);
}

typedef struct row {
    const char *name;
    void (*call)(void);    /* ours: what it does CALLS times */
    double (*timed)(void); /* or what says itself how many ns a call took */
    const char *python;    /* a peer's preparation there, for x + 1; NULL: ours */
    bool is_missing;
    double ns[MAX_REPEAT];
} row;

/* The first one is what peers are compared to. */
static row rows[] = {
    {.name = "y = x + 1", .call = add_one},
    {.name = "  a wait after each", .call = add_one_wait},
    {.name = "  NumPy, from Python",
     .python = "import numpy as np; x = np.zeros((1, 2), np.float32)"},
    {.name = "  PyTorch, from Python",
     .python = "import torch; mode = torch.inference_mode(); mode.__enter__(); x = "
               "torch.zeros(1, 2)"},
    {.name = "y = x + z", .call = add_array},
    {.name = "y = relu(x)", .call = relu},
    {.name = "y = x * x, and its gradient", .call = square_backward},
    {.name = "48×48 product, waited for", .timed = product_often},
    {.name = "  200 us after the last", .timed = product_now_and_then},
    {.name = "hk_from_host", .call = from_host},
    {.name = "hk_to_host", .call = to_host},
    {.name = "hk_item of a scalar", .call = item},
    {.name = "a view, hk_slice", .call = view},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* Nanoseconds of a call. */
static double run_ours(const row *self)
{
    if (self->timed)
        return self->timed();
    double begin = bench_seconds();
    for (int i = 0; i < CALLS; i++)
        self->call();
    hk_wait_all();
    return (bench_seconds() - begin) / CALLS * 1e9;
}

/* Nanoseconds of a call, the best of three loops, for the first ones warm the interpreter up; negative: not there. */
static double run_python(const char *python, const char *setup)
{
    char command[1024];
    double ns = -1;
    snprintf(
        command, sizeof command,
        "%s -c '%s\n"
        "import timeit\n"
        "print(min(timeit.repeat(\"x + 1\", globals=globals(), number=%d, repeat=3)) / %d * 1e9)' "
        "2> /dev/null",
        python, setup, CALLS, CALLS);
    FILE *output = popen(command, "r");
    if (!output)
        return -1;
    if (fscanf(output, "%lf", &ns) != 1)
        ns = -1;
    return pclose(output) ? -1 : ns;
}

int main(int count, char **arguments)
{
    int repeat = 15, live = 0;
    const char *python = "/usr/bin/python3";
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--repeat") && i + 1 < count)
            repeat = atoi(arguments[++i]);
        else if (!strcmp(arguments[i], "--live") && i + 1 < count)
            live = atoi(arguments[++i]);
        else if (!strcmp(arguments[i], "--python") && i + 1 < count)
            python = arguments[++i];
        else
            repeat = 0;
    }
    hk_array **kept = calloc((size_t)(live > 0 ? live : 1), sizeof *kept);
    if (repeat < 1 || repeat > MAX_REPEAT || live < 0 || live > MAX_LIVE || !kept) {
        fprintf(stderr,
                "usage: bench_call [--repeat N] [--live N] [--python COMMAND]   N from 1 to %d and "
                "0 to %d\n",
                MAX_REPEAT, MAX_LIVE);
        free(kept);
        return 2;
    }
    given_init();
    for (int i = 0; i < live; i++)
        kept[i] = hk_add(given.x, given.one);
    for (int j = 0; j < ROW_COUNT; j++)
        if (!rows[j].python)
            run_ours(&rows[j]);
    for (int i = 0; i < repeat; i++)
        for (int j = 0; j < ROW_COUNT; j++) {
            rows[j].ns[i] =
                rows[j].python ? run_python(python, rows[j].python) : run_ours(&rows[j]);
            rows[j].is_missing |= rows[j].ns[i] < 0;
        }
    printf("float32 (1,2), ns a call: median (min…max) of %d, interleaved\n", repeat);
    bench_spread ours = {0};
    for (int j = 0; j < ROW_COUNT; j++) {
        if (rows[j].is_missing) {
            printf("%-30s not there\n", rows[j].name);
            continue;
        }
        bench_spread spread = bench_spread_of(rows[j].ns, repeat);
        if (j == 0)
            ours = spread;
        printf("%-30s %6.0f (%5.0f…%5.0f)", rows[j].name, spread.median, spread.min, spread.max);
        if (rows[j].python)
            printf("  %.1f times ours", spread.median / ours.median);
        printf("\n");
    }
    given_deinit();
    for (int i = 0; i < live; i++)
        hk_array_release(kept[i]);
    free(kept);
    return hk_status_print(hk_wait_all(), stderr);
}
