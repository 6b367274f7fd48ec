/* Norms of rows against plain loops of doubles: numbers whose squares and products are no floats, rows without variance, sizes that vectors do not
 * divide; and rows have the same bytes whatever rows are done with them. */
#include "check.h"
#include "op/softmax_norm/row_norm_kernel.h"

#include <math.h>
#include <string.h>

enum { ROWS = 6, MAX_SIZE = 300 };

typedef struct rows {
    float x[ROWS * MAX_SIZE], dy[ROWS * MAX_SIZE], gamma[MAX_SIZE];
    float y[ROWS * MAX_SIZE], dx[ROWS * MAX_SIZE], statistics[3 * ROWS];
} rows;

static rows of;

static float some(int64_t i)
{
    return (float)(i * 7919 % 1000 - 500) / 400;
}

static void fill(int64_t size, float scale, float offset)
{
    for (int64_t i = 0; i < ROWS * size; i++) {
        of.x[i] = (some(i) + offset) * scale;
        of.dy[i] = some(3 * i + 1) * scale;
        of.gamma[i % size] = some(i % size) + 2;
    }
}

static void run(const hki_row_norm_shape *shape, double eps, int64_t begin, int64_t end)
{
    hki_row_norm_forward_f32(shape, eps, of.x, of.gamma, NULL, of.y, of.statistics, begin, end);
    hki_row_norm_backward_f32(shape, of.x, of.dy, of.gamma, of.statistics, of.dx, begin, end);
}

/* The largest error of a row. */
static double error_of(const float *values, const double *expected, int64_t size)
{
    double error = 0;
    for (int64_t j = 0; j < size; j++) {
        error = fmax(error, fabs((double)values[j] - expected[j]));
        CHECK(isfinite(values[j]));
    }
    return error;
}

/* Values are a few, and gradients that by inverse and scale. */
static void check_row(const hki_row_norm_shape *shape, double eps, double scale, int64_t r)
{
    const int64_t size = shape->size;
    const float *x = of.x + r * size, *dy = of.dy + r * size;
    double y[MAX_SIZE], dx[MAX_SIZE], mean = 0, variance = 0, shift = 0, slope = 0;
    for (int64_t j = 0; j < size && shape->is_centred; j++)
        mean += (double)x[j] / (double)size;
    for (int64_t j = 0; j < size; j++)
        variance += ((double)x[j] - mean) * ((double)x[j] - mean) / (double)size;
    const double inverse = 1 / sqrt(variance + eps);
    for (int64_t j = 0; j < size; j++) {
        y[j] = ((double)x[j] - mean) * inverse;
        const double g = (double)dy[j] * (double)of.gamma[j] / (double)size;
        shift += shape->is_centred ? g : 0;
        slope += g * y[j];
    }
    for (int64_t j = 0; j < size; j++) {
        dx[j] = ((double)dy[j] * (double)of.gamma[j] - shift - slope * y[j]) * inverse;
        y[j] *= (double)of.gamma[j];
    }
    const double bound = 4e-6;
    CHECK(error_of(of.y + r * size, y, size) <= bound);
    CHECK(error_of(of.dx + r * size, dx, size) <= bound * inverse * scale);
}

static void check_rows(int64_t size, float scale, float offset, bool is_centred, double eps)
{
    const hki_row_norm_shape shape = {
        .rows = ROWS, .size = size, .inner = 1, .groups = 1, .is_centred = is_centred};
    fill(size, scale, offset);
    run(&shape, eps, 0, ROWS);
    for (int64_t r = 0; r < ROWS; r++)
        check_row(&shape, eps, (double)scale, r);
    const rows whole = of;
    memset(of.y, 0, sizeof of.y);
    memset(of.dx, 0, sizeof of.dx);
    for (int64_t r = 0; r < ROWS; r++)
        run(&shape, eps, r, r + 1);
    CHECK(memcmp(of.y, whole.y, sizeof of.y) == 0 && memcmp(of.dx, whole.dx, sizeof of.dx) == 0);
}

int main(void)
{
    static const int64_t sizes[] = {2, 7, 31, 32, 33, 64, 100, MAX_SIZE};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int centred = 0; centred < 2; centred++) {
            check_rows(sizes[i], 1, 0, centred, 1e-5);
            check_rows(sizes[i], 1, 100, centred, 1e-5);
            check_rows(sizes[i], 1, 10000, centred, 1e-5);
            check_rows(sizes[i], 1e25f, 0, centred, 1e-5);
            check_rows(sizes[i], 1e-25f, 0, centred, 1e-60);
            check_rows(sizes[i], 0, 0, centred, 1e-5);
        }
    return check_result();
}
