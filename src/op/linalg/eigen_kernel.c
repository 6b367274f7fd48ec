#include "op/linalg/eigen_kernel.h"

#include "op/linalg/lapack.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Work before LAPACK's own: zgeev's real numbers, or both parts of dgeev's values and its vectors. */
static size_t own_items(const hki_eigen *self)
{
    const size_t n = (size_t)self->n;
    return 2 * n + (self->vectors && !self->is_complex ? n * n : 0);
}

/* LAPACK's routine; a `lwork` of -1 asks for the items of its work. */
static int find(const hki_eigen *self, double *a, double *values, double *vectors, double *own,
                double *work, int lwork)
{
    const int n = self->n;
    const char *job = self->vectors ? "V" : "N";
    int info = 0;
    if (self->is_complex)
        zgeev_("N", job, &n, a, &n, values, NULL, &n, vectors, &n, work, &lwork, own, &info, 1, 1);
    else
        dgeev_("N", job, &n, a, &n, own, own + n, NULL, &n, own + 2 * n, &n, work, &lwork, &info, 1,
               1);
    return info;
}

hki_eigen hki_eigen_of(int n, bool is_complex, bool vectors)
{
    hki_eigen self = {.n = n, .is_complex = is_complex, .vectors = vectors};
    double none[4] = {0}, items[2] = {0};
    const int query = -1;
    const char *job = vectors ? "V" : "N";
    int info = 0;
    if (is_complex)
        zgeev_("N", job, &n, none, &n, none, NULL, &n, none, &n, items, &query, none, &info, 1, 1);
    else
        dgeev_("N", job, &n, none, &n, none, none, NULL, &n, none, &n, items, &query, &info, 1, 1);
    const size_t asked = (size_t)ceil(items[0] * (1 + DBL_EPSILON)) * (is_complex ? 2 : 1);
    self.work_bytes = (own_items(&self) + asked) * sizeof(double);
    return self;
}

/* Of a pair of values the vectors are one of real parts and one of imaginary ones. */
static void pair_up(int n, const double *values, const double *real, double *vectors)
{
    for (int64_t j = 0; j < n; j++) {
        const double imag = values[2 * j + 1];
        const int64_t first = imag < 0 ? j - 1 : j;
        for (int64_t i = 0; i < n; i++) {
            const double part = imag == 0 ? 0 : real[(first + 1) * n + i];
            vectors[2 * (j * n + i)] = real[first * n + i];
            vectors[2 * (j * n + i) + 1] = imag < 0 ? -part : part;
        }
    }
}

static double square(const double *z)
{
    return z[0] * z[0] + z[1] * z[1];
}

/* Turns a vector of length 1. */
static void orient(int n, double *z)
{
    int most = 0;
    for (int i = 1; i < n; i++)
        most = square(z + 2 * i) > square(z + 2 * most) ? i : most;
    double *largest = z + 2 * most;
    const double size = hypot(largest[0], largest[1]);
    if (!(size > 0) || (largest[0] > 0 && largest[1] == 0))
        return;
    const double real = largest[0] / size, imag = -largest[1] / size;
    for (int i = 0; i < n; i++) {
        const double x = z[2 * i], y = z[2 * i + 1];
        z[2 * i] = x * real - y * imag;
        z[2 * i + 1] = x * imag + y * real;
    }
    largest[0] = size;
    largest[1] = 0;
}

bool hki_eigen_find(const hki_eigen *self, double *a, double *values, double *vectors, void *work)
{
    const int n = self->n;
    double *own = work, *rest = own + own_items(self);
    const size_t left = self->work_bytes / sizeof(double) - own_items(self);
    const int info =
        find(self, a, values, vectors, own, rest, (int)(left / (self->is_complex ? 2 : 1)));
    for (int i = 0; i < n && !self->is_complex; i++) {
        values[2 * i] = own[i];
        values[2 * i + 1] = own[n + i];
    }
    if (self->vectors && !self->is_complex)
        pair_up(n, values, own + 2 * n, vectors);
    for (int64_t i = 0; i < n && self->vectors; i++)
        orient(n, vectors + 2 * i * n);
    return info == 0;
}
