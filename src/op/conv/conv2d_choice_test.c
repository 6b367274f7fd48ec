/* Convolution by each of its ways, chosen by a file; what is measured is found by the next runtime. */
#include "tests/check.h"

#include "op/op.h"
#include "op/operator_fixture.h"

#include "base/kernel_isa.h"

#include <math.h>
#include <unistd.h>

enum { SAMPLES = 32, CHANNELS = 32, SIDE = 8 };

/* A forward pass and its two gradients of fixed numbers, as bytes. */
typedef struct result {
    double *values;
    int64_t count;
} result;

static result run(void)
{
    HK_SCOPE;
    hk_seed(7);
    hk_device device = hk_device_default();
    hk_array *x = hk_random_uniform(hk_shape(SAMPLES, CHANNELS, SIDE, SIDE), HK_F32, device);
    hk_array *weight = hk_random_uniform(hk_shape(CHANNELS, CHANNELS, 3, 3), HK_F32, device);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_attach_grad(weight, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_conv2d(x, weight, NULL, &(hk_conv2d_options){.padding = {1, 1}});
    hk_record_end();
    hk_backward(y);
    hk_array *const parts[] = {y, hk_grad(x), hk_grad(weight)};
    result all = {.count = 0};
    for (int i = 0; i < 3; i++) {
        double *values = read_doubles(parts[i]);
        int64_t size = hk_size(parts[i]);
        all.values = realloc(all.values, (size_t)(all.count + size) * sizeof *values);
        memcpy(all.values + all.count, values, (size_t)size * sizeof *values);
        all.count += size;
        free(values);
    }
    return all;
}

static result run_with(const char *tune)
{
    setenv("HOCKET_TUNE", tune, 1);
    CHECK(hk_ok(hk_runtime_init(NULL)));
    result got = run();
    hk_runtime_deinit();
    return got;
}

static double distance(result a, result b)
{
    double most = 0;
    CHECK_EQ_I64(a.count, b.count);
    for (int64_t i = 0; i < a.count; i++)
        most = fmax(most, fabs(a.values[i] - b.values[i]) / fmax(1, fabs(b.values[i])));
    return most;
}

static void write_plan(const char *word)
{
    static const char *const isas[] = {"portable", "avx2", "avx512"};
    static const char *const passes[] = {"forward", "data", "weight"};
    FILE *file = fopen("./plan", "w");
    CHECK(file);
    fprintf(file, "hocket choices 1\nprocessor any\n");
    for (int i = 0; i < 3; i++)
        fprintf(file, "conv2d.%s.f32.%s %d %d %d %d %d 3 3 1 1 1 1 1 1 %s\n", passes[i],
                isas[hki_kernel_isa_get()], SAMPLES, CHANNELS, SIDE, SIDE, CHANNELS, word);
    CHECK(!fclose(file));
}

static void test_forced(void)
{
    static const char *const methods[] = {"lanes",  "winograd", "winograd_wide",
                                          "direct", "columns",  "unheard"};
    result rule = run_with("off"), lanes = {NULL, 0};
    for (int i = 0; i < 6; i++) {
        write_plan(methods[i]);
        result first = run_with("./plan"), again = run_with("./plan");
        CHECK(distance(first, rule) < 2e-5);
        CHECK(first.count == again.count &&
              !memcmp(first.values, again.values, (size_t)first.count * sizeof *first.values));
        if (i == 0)
            lanes = first;
        else if (i <= 2) /* another way indeed: it rounds differently */
            CHECK(distance(first, lanes) > 0);
        else if (i == 5) /* a word that nobody knows leaves it to the rule */
            CHECK(distance(first, rule) == 0);
        if (i)
            free(first.values);
        free(again.values);
    }
    free(lanes.values);
    free(rule.values);
}

static void test_measured(void)
{
    char folder[512];
    CHECK(getcwd(folder, sizeof folder) && !setenv("XDG_CACHE_HOME", folder, 1));
    unlink("hocket/choices");
    result first = run_with("measure"), second = run_with("measure");
    CHECK(distance(first, second) < 2e-5);
    free(first.values);
    free(second.values);
    setenv("HOCKET_TUNE", "", 1);
    CHECK(!strncmp(hk_kernel_choices(), "3 measured choices (", 20));
    first = run();
    second = run();
    CHECK(distance(first, second) == 0);
    free(first.values);
    free(second.values);
    hk_runtime_deinit();
}

static void test_wrong(void)
{
    setenv("HOCKET_TUNE", "./nowhere", 1);
    const hk_status *status = hk_runtime_init(NULL);
    CHECK(hk_status_code(status) == HK_IO && strstr(hk_status_message(status), "nowhere"));
}

int main(void)
{
    test_forced();
    test_measured();
    test_wrong();
    return check_result();
}
