/* What a call costs: 10,000 times y = x + 1 on a float32 array of shape (1,2), from the call of the function to the
 * end of the work, allocation and shape rule included; and each followed by a wait for it. */
#include "bench_util.h"

#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 10000, REPEATS = 31 };

static hk_array *x, *one;

static double run(bool waits)
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

static void print(const char *what, double *values)
{
    bench_spread spread = bench_spread_of(values, REPEATS);
    printf("%-44s %8.0f [%.0f %.0f]\n", what, spread.median, spread.min, spread.max);
}

int main(void)
{
    x = hk_take(hk_zeros(hk_shape(1, 2), HK_F32, hk_device_default()));
    one = hk_take(hk_scalar(1, HK_F32, hk_device_default()));
    hk_wait_all();
    double at_end[REPEATS], each[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        at_end[i] = run(false);
        each[i] = run(true);
    }
    printf("ns per call, %d calls, %d repetitions, median [min max]\n", CALLS, REPEATS);
    print("y = x + 1, one wait at the end", at_end);
    print("y = x + 1, a wait after each", each);
    hk_array_release(x);
    hk_array_release(one);
    return 0;
}
