/* Layers on rows against plain loops: any number of inputs, outputs and samples, on every instruction set. */
#include "op/matmul/layer_kernel.h"

#include "tests/check.h"

#include <math.h>
#include <string.h>

#include "op/simd/kernel_fixture.h"

static double get(const buffer *b, bool f64, int64_t i)
{
    return f64 ? ((const double *)(const void *)b->data)[i]
               : (double)((const float *)(const void *)b->data)[i];
}

static void set(const buffer *b, bool f64, int64_t i, double value)
{
    if (f64)
        ((double *)(void *)b->data)[i] = value;
    else
        ((float *)(void *)b->data)[i] = (float)value;
}

static buffer filled(bool f64, int64_t count)
{
    buffer b = buffer_make((size_t)count * (f64 ? sizeof(double) : sizeof(float)));
    for (int64_t i = 0; i < count; i++)
        set(&b, f64, i, random_get());
    return b;
}

/* One layer; `alone`: each sample by itself, too, which must give the same bytes. */
static void check_layer(bool f64, int64_t inputs, int64_t outputs, int64_t samples, bool transposed,
                        bool biased, bool relu)
{
    const size_t item = f64 ? sizeof(double) : sizeof(float);
    const hki_layer layer = {.inputs = inputs, .outputs = outputs, .relu = relu};
    buffer x = filled(f64, samples * inputs), weight = filled(f64, inputs * outputs);
    buffer bias = filled(f64, outputs);
    buffer y = buffer_make((size_t)(samples * outputs) * item);
    buffer one = buffer_make((size_t)outputs * item);
    buffer packed = buffer_make(hki_layer_packed_bytes(&layer, f64));
    buffer scratch = buffer_make(hki_layer_scratch_bytes(&layer, f64, samples));
    CHECK(packed.bytes % 64 == 0 && scratch.bytes % 64 == 0);
    hki_layer_pack(&layer, f64, weight.data, transposed, packed.data);
    hki_layer_run(&layer, f64, x.data, samples, packed.data, biased ? bias.data : NULL, y.data,
                  scratch.data);
    const double tolerance = f64 ? 1e-14 : 1e-5;
    bool close = true, same = true;
    for (int64_t s = 0; s < samples; s++) {
        for (int64_t o = 0; o < outputs; o++) {
            double sum = 0, sizes = 1;
            for (int64_t i = 0; i < inputs; i++) {
                double term = get(&x, f64, s * inputs + i) *
                              get(&weight, f64, transposed ? i * outputs + o : o * inputs + i);
                sum += term;
                sizes += fabs(term);
            }
            sum += biased ? get(&bias, f64, o) : 0;
            if (relu && sum < 0)
                sum = 0;
            close = close && fabs(get(&y, f64, s * outputs + o) - sum) <= tolerance * sizes;
        }
        hki_layer_run(&layer, f64, x.data + (size_t)(s * inputs) * item, 1, packed.data,
                      biased ? bias.data : NULL, one.data, scratch.data);
        same = same && !memcmp(one.data, y.data + (size_t)(s * outputs) * item, one.bytes);
    }
    if (!close || !same)
        fprintf(stderr, "%lld -> %lld, %lld samples, f64 %d, transposed %d, bias %d, relu %d\n",
                (long long)inputs, (long long)outputs, (long long)samples, f64, transposed, biased,
                relu);
    CHECK(close && same);
    const buffer *const all[] = {&x, &weight, &bias, &y, &one, &packed, &scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

/* Rows that lie apart give the bytes of the same rows side by side. */
static void check_rows_apart(bool f64, int64_t inputs, int64_t x_row)
{
    enum { OUTPUTS = 37, SAMPLES = 17 };
    const size_t item = f64 ? sizeof(double) : sizeof(float);
    const hki_layer dense = {.inputs = inputs, .outputs = OUTPUTS};
    const hki_layer apart = {.inputs = inputs, .outputs = OUTPUTS, .x_row = x_row};
    buffer x = filled(f64, SAMPLES * x_row), weight = filled(f64, inputs * OUTPUTS);
    buffer rows = buffer_make((size_t)(SAMPLES * inputs) * item);
    buffer y = buffer_make(SAMPLES * OUTPUTS * item), expected = buffer_make(y.bytes);
    buffer packed = buffer_make(hki_layer_packed_bytes(&dense, f64));
    buffer scratch = buffer_make(hki_layer_scratch_bytes(&apart, f64, SAMPLES));
    buffer scratch_dense = buffer_make(hki_layer_scratch_bytes(&dense, f64, SAMPLES));
    for (int64_t s = 0; s < SAMPLES; s++)
        memcpy(rows.data + (size_t)(s * inputs) * item, x.data + (size_t)(s * x_row) * item,
               (size_t)inputs * item);
    hki_layer_pack(&dense, f64, weight.data, false, packed.data);
    hki_layer_run(&dense, f64, rows.data, SAMPLES, packed.data, NULL, expected.data,
                  scratch_dense.data);
    hki_layer_run(&apart, f64, x.data, SAMPLES, packed.data, NULL, y.data, scratch.data);
    CHECK(!memcmp(y.data, expected.data, y.bytes));
    const buffer *const all[] = {&x,        &weight, &rows,    &y,
                                 &expected, &packed, &scratch, &scratch_dense};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

/* What is no number goes where it belongs and nowhere else; a relu lets it through, as the operator does. */
static void check_nan(void)
{
    enum { INPUTS = 3, OUTPUTS = 5, SAMPLES = 4 };
    const hki_layer layer = {.inputs = INPUTS, .outputs = OUTPUTS, .relu = true};
    buffer x = filled(false, SAMPLES * INPUTS), weight = filled(false, INPUTS * OUTPUTS);
    buffer y = buffer_make(SAMPLES * OUTPUTS * sizeof(float));
    buffer packed = buffer_make(hki_layer_packed_bytes(&layer, false));
    buffer scratch = buffer_make(hki_layer_scratch_bytes(&layer, false, SAMPLES));
    set(&x, false, 2 * INPUTS + 1, NAN);
    hki_layer_pack(&layer, false, weight.data, false, packed.data);
    hki_layer_run(&layer, false, x.data, SAMPLES, packed.data, NULL, y.data, scratch.data);
    for (int64_t i = 0; i < SAMPLES * OUTPUTS; i++)
        CHECK(isnan(get(&y, false, i)) == (i / OUTPUTS == 2));
    const buffer *const all[] = {&x, &weight, &y, &packed, &scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

static int run(void)
{
    for (int64_t n = 1; n <= 35; n++) {
        check_layer(n % 2, n, 36 - n, n % 17 + 1, n % 3 == 0, n % 5 != 0, n % 4 == 0);
        check_layer(n % 2 == 0, 36 - n, n, 17 - n % 17, n % 3 != 0, n % 5 == 0, n % 4 != 0);
    }
    check_layer(false, 256, 48, 29, false, true, true); /* rows that are spread */
    check_layer(true, 256, 20, 14, true, false, false);
    check_layer(false, 784, 33, 64, false, true, true);
    for (int i = 0; i < 40; i++)
        check_layer(random_between(0, 1), random_between(1, 300), random_between(1, 80),
                    random_between(1, 70), random_between(0, 1), random_between(0, 1),
                    random_between(0, 1));
    check_rows_apart(false, 48, 51);
    check_rows_apart(false, 48, 512); /* rows that are spread */
    check_rows_apart(true, 256, 768);
    check_nan();
    return check_result();
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, run);
}
