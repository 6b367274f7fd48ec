/* What a call costs: 10,000 times y = x + 1 on a float32 array of shape (1,2), from the call of the function to the
 * end of the work, allocation and shape rule included; y is dropped each time. Once with one wait at the end, once with
 * a wait after each.
 *
 *     bench_call [--repeat N] [--python COMMAND]
 *
 * Peers, taking turns with us, where Python has them: NumPy and PyTorch with one thread. Both are called from Python,
 * which adds its own share; what their C++ alone takes is not measured here. */
#include "bench_util.h"

#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 10000, MAX_REPEAT = 1000 };

typedef struct row {
    const char *name;
    const char *python; /* what it does CALLS times there; NULL: ours */
    bool waits;         /* ours: after each */
    bool is_missing;
    double ns[MAX_REPEAT];
} row;

static row rows[] = {
    {.name = "hocket, one wait at the end"},
    {.name = "hocket, a wait after each", .waits = true},
    {.name = "NumPy, from Python",
     .python = "import numpy as np; x = np.zeros((1, 2), np.float32)"},
    {.name = "PyTorch, from Python",
     .python = "import torch; torch.set_num_threads(1); torch.set_grad_enabled(False); x = "
               "torch.zeros(1, 2)"},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static double run_ours(hk_array *x, hk_array *one, bool waits)
{
    double begin = bench_seconds();
    for (int i = 0; i < CALLS; i++) {
        hk_array *y = hk_add(x, one);
        if (waits)
            hk_wait(y);
        hk_array_release(y);
    }
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
        "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 %s -c '%s\n"
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
    int repeat = 15;
    const char *python = "/usr/bin/python3";
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--repeat") && i + 1 < count)
            repeat = atoi(arguments[++i]);
        else if (!strcmp(arguments[i], "--python") && i + 1 < count)
            python = arguments[++i];
        else
            repeat = 0;
    }
    if (repeat < 1 || repeat > MAX_REPEAT) {
        fprintf(stderr, "usage: bench_call [--repeat N] [--python COMMAND]   N from 1 to %d\n",
                MAX_REPEAT);
        return 2;
    }
    hk_array *x = hk_zeros(hk_shape(1, 2), HK_F32, hk_device_default());
    hk_array *one = hk_scalar(1, HK_F32, hk_device_default());
    run_ours(x, one, false);
    for (int i = 0; i < repeat; i++)
        for (int j = 0; j < ROW_COUNT; j++) {
            rows[j].ns[i] = rows[j].python ? run_python(python, rows[j].python)
                                           : run_ours(x, one, rows[j].waits);
            rows[j].is_missing |= rows[j].ns[i] < 0;
        }
    printf("y = x + 1, float32 (1,2), ns a call: median (min…max) of %d, interleaved\n", repeat);
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
    hk_array_release(x);
    hk_array_release(one);
    return hk_status_print(hk_wait_all(), stderr);
}
