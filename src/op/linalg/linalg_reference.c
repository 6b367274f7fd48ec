/* Plain algorithms in double, by which conformance tests what LAPACK gives. */
#include "op/linalg/linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double *hki_reference_copy(const double *x, int64_t count)
{
    double *copy = calloc((size_t)count + 1, sizeof *copy);
    if (copy)
        memcpy(copy, x, (size_t)count * sizeof *copy);
    return copy;
}

double *hki_reference_symmetric(const double *x, int64_t n)
{
    double *copy = hki_reference_copy(x, n * n);
    for (int64_t i = 0; i < n * n && copy; i++)
        copy[i] = (x[i] + x[i % n * n + i / n]) / 2;
    return copy;
}

static void swap_rows(double *x, int64_t columns, int64_t a, int64_t b)
{
    for (int64_t i = 0; i < columns && a != b; i++) {
        const double kept = x[a * columns + i];
        x[a * columns + i] = x[b * columns + i];
        x[b * columns + i] = kept;
    }
}

static void take_row(double *x, int64_t columns, int64_t from, int64_t row, double factor)
{
    for (int64_t i = 0; i < columns; i++)
        x[row * columns + i] -= factor * x[from * columns + i];
}

/* Gauss and Jordan, with the largest pivot of the column. */
double hki_reference_solve(int64_t n, double *a, int64_t columns, double *b)
{
    double determinant = 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t best = i;
        for (int64_t j = i; j < n; j++)
            best = fabs(a[j * n + i]) > fabs(a[best * n + i]) ? j : best;
        swap_rows(a, n, i, best);
        swap_rows(b, columns, i, best);
        const double pivot = a[i * n + i];
        determinant *= best == i ? pivot : -pivot;
        for (int64_t j = 0; j < n && pivot != 0; j++) {
            const double factor = a[j * n + i] / pivot;
            if (j != i) {
                take_row(a, n, i, j, factor);
                take_row(b, columns, i, j, factor);
            }
        }
        for (int64_t j = 0; j < columns; j++)
            b[i * columns + j] /= pivot;
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] /= pivot;
    }
    return determinant;
}

/* Turns two columns of so many rows so that they are at right angles in the first m; true where they were not. */
static bool turn(int64_t m, int64_t rows, int64_t n, double *a, int64_t p, int64_t q)
{
    double pp = 0, qq = 0, pq = 0;
    for (int64_t i = 0; i < m; i++) {
        pp += a[i * n + p] * a[i * n + p];
        qq += a[i * n + q] * a[i * n + q];
        pq += a[i * n + p] * a[i * n + q];
    }
    if (fabs(pq) <= 1e-16 * sqrt(pp * qq))
        return false;
    const double angle = atan2(2 * pq, pp - qq) / 2, c = cos(angle), s = sin(angle);
    for (int64_t i = 0; i < rows; i++) {
        const double x = a[i * n + p], y = a[i * n + q];
        a[i * n + p] = c * x + s * y;
        a[i * n + q] = c * y - s * x;
    }
    return true;
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Hestenes' method of one-sided rotations: in the end the columns' lengths are the singular values. */
static void turn_all(int64_t m, int64_t rows, int64_t n, double *a)
{
    bool goes_on = true;
    for (int sweep = 0; sweep < 60 && goes_on; sweep++) {
        goes_on = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++)
                goes_on |= turn(m, rows, n, a, p, q);
    }
}

static double length_of(int64_t m, int64_t n, const double *a, int64_t column)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        sum += a[i * n + column] * a[i * n + column];
    return sqrt(sum);
}

void hki_reference_svdvals(int64_t m, int64_t n, double *a, double *values)
{
    double *lengths = calloc((size_t)n + 1, sizeof *lengths);
    turn_all(m, m, n, a);
    for (int64_t i = 0; i < n && lengths; i++)
        lengths[i] = length_of(m, n, a, i);
    if (lengths)
        qsort(lengths, (size_t)n, sizeof *lengths, falling);
    for (int64_t i = 0; i < n && i < m && lengths; i++)
        values[i] = lengths[i];
    free(lengths);
}

/* Column `from` of a, and of what was turned with it below, becomes vector `to`. */
static void give_vectors(int64_t m, int64_t n, const double *a, int64_t from, int64_t to,
                         double value, double *u, double *vt)
{
    for (int64_t i = 0; i < m; i++)
        u[i * n + to] = a[i * n + from] / value;
    for (int64_t i = 0; i < n; i++)
        vt[to * n + i] = a[(m + i) * n + from];
}

static void tall_svd(int64_t m, int64_t n, const double *a, double *values, double *u, double *vt)
{
    double *both = calloc((size_t)((m + n) * n) + 1, sizeof *both);
    if (!both)
        return;
    for (int64_t i = 0; i < (m + n) * n; i++)
        both[i] = i < m * n ? a[i] : (i - m * n) / n == i % n;
    turn_all(m, m + n, n, both);
    for (int64_t i = 0; i < n; i++) {
        int64_t larger = 0;
        const double length = length_of(m, n, both, i);
        for (int64_t j = 0; j < n; j++)
            larger += length_of(m, n, both, j) > length;
        values[larger] = length;
        give_vectors(m, n, both, i, larger, length, u, vt);
    }
    free(both);
}

static void transpose(int64_t m, int64_t n, const double *x, double *to)
{
    for (int64_t i = 0; i < m * n; i++)
        to[i % n * m + i / n] = x[i];
}

/* So that the largest of each column of u is positive. */
static void orient(int64_t m, int64_t k, int64_t n, double *u, double *vt)
{
    for (int64_t i = 0; i < k; i++) {
        int64_t most = 0;
        for (int64_t j = 0; j < m; j++)
            most = fabs(u[j * k + i]) > fabs(u[most * k + i]) ? j : most;
        const double sign = u[most * k + i] < 0 ? -1 : 1;
        for (int64_t j = 0; j < m; j++)
            u[j * k + i] *= sign;
        for (int64_t j = 0; j < n; j++)
            vt[i * n + j] *= sign;
    }
}

void hki_reference_svd(int64_t m, int64_t n, const double *a, double *values, double *u, double *vt)
{
    const int64_t k = m < n ? m : n;
    double *turned = calloc((size_t)(2 * m * n + m * m) + 1, sizeof *turned);
    if (m >= n) {
        tall_svd(m, n, a, values, u, vt);
    } else if (turned) {
        double *left = turned + m * n, *right = left + m * n;
        transpose(m, n, a, turned);
        tall_svd(n, m, turned, values, left, right);
        transpose(n, m, left, vt);
        transpose(m, m, right, u);
    }
    free(turned);
    orient(m, k, n, u, vt);
}
