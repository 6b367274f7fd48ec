/* Random arrays that are drawn by rejection or by weights, on a CUDA device and on the CPU: from one state of the generator come the
 * same numbers, and the same choices; and weights that cannot be chosen by are refused by the same words. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <string.h>

enum { MANY = 5000 };

static hk_device devices[2]; /* the host, a GPU */

/* ---- gamma ------------------------------------------------------------------------------------------------------ */

/* Logarithms and powers are those of different libraries: nearly all numbers are nearly the same, and where a try was just
 * accepted or just not, another one. */
static void test_gamma(double concentration, hk_dtype dtype)
{
    HK_SCOPE;
    double values[2][MANY];
    int others = 0;
    for (int i = 0; i < 2; i++) {
        hk_seed(11);
        hk_array *drawn =
            hk_random_gamma_from(NULL, concentration, 3, hk_shape(MANY), dtype, devices[i]);
        CHECK(hk_ok(hk_to_host(hk_cast(drawn, HK_F64), values[i], sizeof values[i])));
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(isfinite(values[1][i]) && values[1][i] >= 0);
        others += fabs(values[0][i] - values[1][i]) > 1e-5 * values[0][i];
    }
    CHECK(others <= MANY / 1000);
}

/* An array is the same wherever it ends. */
static void test_gamma_sizes(void)
{
    HK_SCOPE;
    float whole[103], part[101];
    hk_seed(5);
    CHECK(hk_ok(
        hk_to_host(hk_random_gamma(2, hk_shape(103), HK_F32, devices[1]), whole, sizeof whole)));
    hk_seed(5);
    CHECK(hk_ok(
        hk_to_host(hk_random_gamma(2, hk_shape(101), HK_F32, devices[1]), part, sizeof part)));
    CHECK(!memcmp(whole, part, sizeof part));
    CHECK(hk_ok(hk_wait(hk_random_gamma(2, hk_shape(0, 3), HK_F32, devices[1]))));
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

static hk_array *weights_at(int device, const double *values, int64_t n)
{
    return hk_to_device(hk_from_host(values, hk_shape(n), HK_F64, devices[0]), devices[device]);
}

/* More than one block adds up; some weights are 0. */
static void test_choices(bool replace)
{
    HK_SCOPE;
    static double values[MANY];
    static int64_t chosen[2][MANY / 5];
    for (int i = 0; i < MANY; i++)
        values[i] = i % 3 == 0 ? 0 : (i * 37 % 101) / 64.;
    for (int i = 0; i < 2; i++) {
        hk_seed(3);
        hk_array *places = hk_random_choice(MANY, hk_shape(MANY / 5), replace,
                                            weights_at(i, values, MANY), devices[i]);
        CHECK(hk_ok(hk_to_host(places, chosen[i], sizeof chosen[i])));
    }
    CHECK(!memcmp(chosen[0], chosen[1], sizeof chosen[0]));
    for (int i = 0; i < MANY / 5; i++)
        CHECK(values[chosen[1][i]] > 0);
}

/* By the code and the words that the CPU has for it. */
static void refuses(const double *values, int64_t n, bool replace, const char *words)
{
    HK_SCOPE;
    for (int i = 0; i < 2; i++) {
        const hk_status *status = hk_wait(
            hk_random_choice(n, hk_shape(2), replace, weights_at(i, values, n), devices[i]));
        CHECK_EQ_I64(hk_status_code(status), HK_BAD_DATA);
        CHECK(strstr(hk_status_message(status), words) != NULL);
    }
    hk_wait_all();
    hk_failures_clear();
}

static void test_refusals(void)
{
    refuses((double[]){1, -2, NAN}, 3, true, "weights[1] is -2, but weights are finite");
    refuses((double[]){1, 2, NAN, -1}, 4, true, "weights[2] is nan");
    refuses((double[]){1, 1e308, 1e308, 1}, 4, true, "weights[2] is 1e+308");
    refuses((double[]){0, 0, 0}, 3, true, "0 weights are more than 0, but 1 must be");
    refuses((double[]){0, 4, 0}, 3, false, "1 weights are more than 0, but 2 must be");
}

/* ---- cumulative products ------------------------------------------------------------------------------------------ */

/* A line that several blocks have parts of, and integers that wrap around. */
static void test_long_products(void)
{
    HK_SCOPE;
    static double x[MANY], products[2][MANY];
    static int64_t odd[MANY], wrapped[2][MANY];
    for (int i = 0; i < MANY; i++) {
        x[i] = 1 + (i * 37 % 101 - 50) / 1000.;
        odd[i] = 2 * (i % 50) + 1;
    }
    for (int i = 0; i < 2; i++) {
        hk_array *floats = hk_from_host(x, hk_shape(MANY), HK_F64, devices[i]),
                 *integers = hk_from_host(odd, hk_shape(MANY), HK_I64, devices[i]);
        CHECK(hk_ok(hk_to_host(hk_cumulative_prod(floats, 0), products[i], sizeof products[i])));
        CHECK(hk_ok(hk_to_host(hk_cumulative_prod(integers, 0), wrapped[i], sizeof wrapped[i])));
    }
    CHECK(!memcmp(wrapped[0], wrapped[1], sizeof wrapped[0]));
    for (int i = 0; i < MANY; i++)
        CHECK(fabs(products[0][i] - products[1][i]) <= 1e-11 * fabs(products[0][i]));
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cuda = "0"})));
    devices[0] = hk_device_default();
    devices[1] = hk_device_named("cuda:0");
    for (int i = 0; i < 3; i++) {
        const double concentrations[] = {0.3, 1, 7.5};
        test_gamma(concentrations[i], HK_F32);
        test_gamma(concentrations[i], HK_F64);
    }
    test_gamma_sizes();
    test_choices(true);
    test_choices(false);
    test_refusals();
    test_long_products();
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    return check_result();
}
