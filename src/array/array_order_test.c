/* Random programs of writes, copies, failures, views and recoveries: every element ends with the value or
 * the record that the serial engine gives it, and the same root failures are reported. */
#include "tests/check.h"

#include "array/test_tasks.h"

#include <stdlib.h>

enum { ARRAYS = 5, SIZE = 24, CALLS = 120, PROGRAMS = 40, ELEMENTS = ARRAYS * SIZE };

typedef struct outcome {
    float value[ELEMENTS];
    char text[ELEMENTS][96];
    char first[96];
    uint64_t count;
} outcome;

static uint64_t state;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)below);
}

static hk_array *slice_of(hk_array *x, int size)
{
    int begin = draw(SIZE - size + 1);
    return hk_slice(x, 0, begin, begin + size);
}

static void call(hk_array **x)
{
    HK_SCOPE;
    static atomic_bool gate = true;
    int size = 1 + draw(draw(2) ? SIZE : 4), kind = draw(20);
    hk_array *out = slice_of(x[draw(ARRAYS)], size), *in = slice_of(x[draw(ARRAYS)], size);
    float value = (float)draw(1000), values[SIZE];
    for (int i = 0; i < SIZE; i++)
        values[i] = value + (float)i;
    test_work work = {.out = out, .value = value, .gate = draw(4) ? NULL : &gate};
    if (kind < 8) {
        work.kind = kind < 3 ? TEST_FILL : kind < 6 ? TEST_COPY : TEST_ADD;
        work.in = kind < 3 ? NULL : in;
        test_issue(work);
    } else if (kind < 10) {
        work.kind = kind == 8 ? TEST_FAIL_BEFORE : TEST_FAIL_WRITING;
        test_issue(work);
    } else if (kind < 13) {
        hk_write(out, values, (size_t)size * sizeof *values);
    } else if (kind < 15) { /* with gaps, and backwards */
        hk_array *wide = x[draw(ARRAYS)];
        bool back = draw(2);
        hk_array *odd = hki_array_view(wide, hk_shape(2, 3), (const int64_t[]){back ? -8 : 8, 2},
                                       back ? 12 : 3);
        hk_write(hk_transpose(odd), values, 6 * sizeof *values);
    } else if (kind < 17) {
        hk_recover(out);
    } else if (kind == 17) {
        hk_write(out, values, 1);
    } else if (kind == 18) {
        hk_index(out, 0, size);
    } else {
        hk_array *inputs[] = {in, hk_index(x[draw(ARRAYS)], 0, 0)};
        hki_array_fail_in_place(out, "join", inputs, 2, HK_INJECTED, "join %g", (double)value);
    }
    if (!draw(30))
        hk_wait(out);
}

static outcome *run_program(uint64_t seed, hk_runtime_options options)
{
    HK_SCOPE;
    CHECK(hk_ok(hk_runtime_init(&options)));
    outcome *result = calloc(1, sizeof *result);
    hk_array *x[ARRAYS];
    float zeros[SIZE] = {0};
    state = seed;
    for (int i = 0; i < ARRAYS; i++)
        x[i] = hk_from_host(zeros, hk_shape(SIZE), HK_F32, hk_device_default());
    for (int i = 0; i < CALLS; i++)
        call(x);
    for (int i = 0; i < ELEMENTS; i++) {
        const hk_status *status;
        float value = (float)hk_item(hk_index(x[i / SIZE], 0, i % SIZE), &status);
        snprintf(result->text[i], sizeof result->text[i], "%d #%d %.70s",
                 (int)hk_status_code(status), (int)hk_status_sequence(status),
                 hk_status_message(status));
        result->value[i] = hk_ok(status) ? value : 0;
    }
    const hk_status *all = hk_wait_all();
    result->count = hk_status_count(all);
    snprintf(result->first, sizeof result->first, "%d #%d %.70s", (int)hk_status_code(all),
             (int)hk_status_sequence(all), hk_status_message(all));
    hk_runtime_deinit();
    return result;
}

int main(void)
{
    const hk_runtime_options variants[] = {
        {.engine = HK_ENGINE_ASYNC},
        {.engine = HK_ENGINE_ASYNC, .inline_ns = -1},
        {.engine = HK_ENGINE_ASYNC, .cpu_devices = 2, .inline_ns = -1, .run_ahead_calls = 7},
    };
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        outcome *expected = run_program(seed, (hk_runtime_options){.engine = HK_ENGINE_SERIAL});
        for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
            outcome *result = run_program(seed, variants[i]);
            int wrong = 0;
            for (int j = 0; j < ELEMENTS; j++)
                if (result->value[j] != expected->value[j] ||
                    strcmp(result->text[j], expected->text[j])) {
                    if (!wrong++)
                        fprintf(stderr, "seed %d, variant %d, element %d: %g, %s; serial: %g, %s\n",
                                (int)seed, (int)i, j, (double)result->value[j], result->text[j],
                                (double)expected->value[j], expected->text[j]);
                }
            CHECK_EQ_I64(wrong, 0);
            CHECK_STR(result->first, expected->first);
            CHECK_EQ_I64(result->count, expected->count);
            free(result);
        }
        free(expected);
    }
    return check_result();
}
