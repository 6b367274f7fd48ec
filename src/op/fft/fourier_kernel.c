#include "op/fft/fourier_kernel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- roots of unity -------------------------------------------------------------------------------------- */

/* The angle is brought to at most an eighth of a turn in whole numbers, where sine and cosine are precise. */
void hki_fourier_root(int64_t k, int64_t n, double *cosine, double *sine)
{
    int64_t eighths = 8 * k;
    const bool below = eighths >= 4 * n; /* the lower half turn, by its mirror image */
    eighths = below ? 8 * n - eighths : eighths;
    const bool left = eighths > 2 * n;
    eighths = left ? 4 * n - eighths : eighths;
    const bool steep = eighths > n;
    eighths = steep ? 2 * n - eighths : eighths;
    const double angle = 2 * M_PI * ((double)eighths / 8) / (double)n;
    const double along = steep ? sin(angle) : cos(angle), up = steep ? cos(angle) : sin(angle);
    *cosine = left ? -along : along;
    *sine = below ? -up : up;
}

/* Each is the product of two of about 2 sqrt(count) that are computed. */
void hki_fourier_roots(int64_t n, int64_t all, double *cosines, double *sines)
{
    int64_t step = 1;
    while (step * step < all)
        step *= 2;
    for (int64_t k = 0; k < step && k < all; k++)
        hki_fourier_root(k, n, &cosines[k], &sines[k]);
    for (int64_t first = step; first < all; first += step) {
        double c, s;
        hki_fourier_root(first, n, &c, &s);
        const int64_t count = all - first < step ? all - first : step;
        for (int64_t k = 0; k < count; k++) {
            cosines[first + k] = c * cosines[k] - s * sines[k];
            sines[first + k] = c * sines[k] + s * cosines[k];
        }
    }
}

/* ---- factors ------------------------------------------------------------------------------------------------ */

/* Returns what is left of n: 1, or a product of larger primes. */
static int64_t take_factors(int64_t n, int *factors, int *count)
{
    *count = 0;
    for (int radix = 4; radix <= HKI_FOURIER_PRIME; radix = radix == 4   ? 2
                                                            : radix == 2 ? 3
                                                                         : radix + 2)
        for (; n % radix == 0; n /= radix)
            factors[(*count)++] = radix;
    return n;
}

/* The least product of 2, 3 and 5 that is n or more. */
static int64_t smooth_size(int64_t n)
{
    int64_t best = INT64_MAX;
    for (int64_t fives = 1; fives < 5 * n; fives *= 5)
        for (int64_t threes = fives; threes < 3 * n; threes *= 3) {
            int64_t size = threes;
            while (size < n)
                size *= 2;
            best = size < best ? size : best;
        }
    return best;
}

static int64_t size_of(int64_t n, int *factors, int *count)
{
    if (take_factors(n, factors, count) == 1)
        return n;
    const int64_t size = smooth_size(2 * n - 1);
    take_factors(size, factors, count);
    return size;
}

/* ---- steps: from x, of `count` values side by side at `size` places, to y --------------------------------------- */

typedef struct step {
    const double *xr, *xi;
    double *yr, *yi;
    const double *cosines,
        *sines;            /* exp(2 pi i k / size), of which those of k `stride` are wanted */
    int64_t stride, parts; /* a part: what is between neighbouring inputs of a butterfly */
    int64_t side;          /* values that go through one butterfly's place */
} step;

/* Arrays overlap nowhere. */
#define ARRAYS                                                                                     \
    const double *restrict xr = self->xr, *restrict xi = self->xi;                                 \
    double *restrict yr = self->yr, *restrict yi = self->yi;                                       \
    const int64_t side = self->side
/* re + i im, times c + i s. */
#define PUT(at, real, imag, c, s)                                                                  \
    {                                                                                              \
        const double re = real, im = imag;                                                         \
        yr[at] = re * (c)-im * (s);                                                                \
        yi[at] = re * (s) + im * (c);                                                              \
    }

/* The twiddle factor exp(-2 pi i k r / …) of output r at place k. */
#define TWIDDLE(r)                                                                                 \
    const double c##r = self->cosines[self->stride * k * r],                                       \
                 s##r = -self->sines[self->stride * k * r]
#define IN(j)                (k + self->parts * (j)) * side + q
#define OUT(r)               (radix * k + (r)) * side + q
#define LOAD(j)              const double r##j = xr[IN(j)], i##j = xi[IN(j)]
#define STORE(r, real, imag) PUT(OUT(r), real, imag, c##r, s##r)
#define STORE_0(real, imag)                                                                        \
    {                                                                                              \
        yr[OUT(0)] = real;                                                                         \
        yi[OUT(0)] = imag;                                                                         \
    }

static void step_2(const step *self)
{
    const int64_t radix = 2;
    ARRAYS;
    for (int64_t k = 0; k < self->parts; k++) {
        TWIDDLE(1);
        for (int64_t q = 0; q < side; q++) {
            LOAD(0);
            LOAD(1);
            STORE_0(r0 + r1, i0 + i1)
            STORE(1, r0 - r1, i0 - i1)
        }
    }
}

static void step_3(const step *self)
{
    const int64_t radix = 3;
    ARRAYS;
    const double sine = 0.86602540378443864676;
    for (int64_t k = 0; k < self->parts; k++) {
        TWIDDLE(1);
        TWIDDLE(2);
        for (int64_t q = 0; q < side; q++) {
            LOAD(0);
            LOAD(1);
            LOAD(2);
            const double sr = r1 + r2, si = i1 + i2;
            const double mr = r0 - 0.5 * sr, mi = i0 - 0.5 * si;
            const double dr = sine * (i1 - i2), di = sine * (r2 - r1);
            STORE_0(r0 + sr, i0 + si)
            STORE(1, mr + dr, mi + di)
            STORE(2, mr - dr, mi - di)
        }
    }
}

static void step_4(const step *self)
{
    const int64_t radix = 4;
    ARRAYS;
    for (int64_t k = 0; k < self->parts; k++) {
        TWIDDLE(1);
        TWIDDLE(2);
        TWIDDLE(3);
        for (int64_t q = 0; q < side; q++) {
            LOAD(0);
            LOAD(1);
            LOAD(2);
            LOAD(3);
            const double ar = r0 + r2, ai = i0 + i2, br = r0 - r2, bi = i0 - i2;
            const double cr = r1 + r3, ci = i1 + i3, dr = i1 - i3, di = r3 - r1;
            STORE_0(ar + cr, ai + ci)
            STORE(1, br + dr, bi + di)
            STORE(2, ar - cr, ai - ci)
            STORE(3, br - dr, bi - di)
        }
    }
}

static void step_5(const step *self)
{
    const int64_t radix = 5;
    ARRAYS;
    const double cos1 = 0.30901699437494742410, cos2 = -0.80901699437494742410;
    const double sin1 = 0.95105651629515357212, sin2 = 0.58778525229247312917;
    for (int64_t k = 0; k < self->parts; k++) {
        TWIDDLE(1);
        TWIDDLE(2);
        TWIDDLE(3);
        TWIDDLE(4);
        for (int64_t q = 0; q < side; q++) {
            LOAD(0);
            LOAD(1);
            LOAD(2);
            LOAD(3);
            LOAD(4);
            const double ar = r1 + r4, ai = i1 + i4, br = r2 + r3, bi = i2 + i3;
            const double cr = r1 - r4, ci = i1 - i4, dr = r2 - r3, di = i2 - i3;
            const double er = r0 + cos1 * ar + cos2 * br, ei = i0 + cos1 * ai + cos2 * bi;
            const double fr = r0 + cos2 * ar + cos1 * br, fi = i0 + cos2 * ai + cos1 * bi;
            const double gr = sin1 * ci + sin2 * di, gi = -(sin1 * cr + sin2 * dr);
            const double hr = sin2 * ci - sin1 * di, hi = -(sin2 * cr - sin1 * dr);
            STORE_0(r0 + ar + br, i0 + ai + bi)
            STORE(1, er + gr, ei + gi)
            STORE(2, fr + hr, fi + hi)
            STORE(3, fr - hr, fi - hi)
            STORE(4, er - gr, ei - gi)
        }
    }
}

/* An odd prime: outputs r and radix - r have the same sums but for signs. */
static void step_odd(const step *self, int64_t radix)
{
    ARRAYS;
    const int64_t half = radix / 2, turn = self->stride * self->parts;
    for (int64_t k = 0; k < self->parts; k++)
        for (int64_t r = 0; r <= half; r++) {
            const int64_t at = self->stride * k * r, back = self->stride * k * (radix - r);
            const double c1 = self->cosines[at], s1 = -self->sines[at];
            const double c2 = r ? self->cosines[back] : 1, s2 = r ? -self->sines[back] : 0;
            for (int64_t q = 0; q < side; q++) {
                double er = xr[IN(0)], ei = xi[IN(0)];
                double odd_r = 0, odd_i = 0;
                for (int64_t j = 1; j <= half; j++) {
                    const int64_t root = j * r % radix * turn;
                    const double c = self->cosines[root], s = self->sines[root];
                    const double ur = xr[IN(j)], ui = xi[IN(j)];
                    const double vr = xr[IN(radix - j)], vi = xi[IN(radix - j)];
                    er += c * (ur + vr);
                    ei += c * (ui + vi);
                    odd_r += s * (ui - vi);
                    odd_i -= s * (ur - vr);
                }
                PUT(OUT(r), er + odd_r, ei + odd_i, c1, s1)
                if (r > 0)
                    PUT(OUT(radix - r), er - odd_r, ei - odd_i, c2, s2)
            }
        }
}

/* ---- whole transforms --------------------------------------------------------------------------------------------- */

/* In place, of a size that has factors alone. */
static void run_factors(const hki_fourier *self, double *real, double *imag)
{
    double *xr = real, *xi = imag, *yr = self->work_real, *yi = self->work_imag;
    int64_t left = self->size, done = 1;
    for (int i = 0; i < self->factor_count; i++) {
        const int radix = self->factors[i];
        left /= radix;
        const step one = {.xr = xr,
                          .xi = xi,
                          .yr = yr,
                          .yi = yi,
                          .cosines = self->cosines,
                          .sines = self->sines,
                          .stride = done,
                          .parts = left,
                          .side = done * self->lines};
        if (radix == 4)
            step_4(&one);
        else if (radix == 2)
            step_2(&one);
        else if (radix == 3)
            step_3(&one);
        else if (radix == 5)
            step_5(&one);
        else
            step_odd(&one, radix);
        done *= radix;
        double *real_before = xr, *imag_before = xi;
        xr = yr, xi = yi, yr = real_before, yi = imag_before;
    }
    if (xr != real) {
        memcpy(real, xr, (size_t)(self->size * self->lines) * sizeof *real);
        memcpy(imag, xi, (size_t)(self->size * self->lines) * sizeof *imag);
    }
}

/* z *= w at each of so many places, for all lines there; `conjugates` w first. */
static void multiply(double *zr, double *zi, const double *wr, const double *wi, int64_t places,
                     int64_t lines)
{
    for (int64_t j = 0; j < places; j++)
        for (int64_t q = j * lines; q < (j + 1) * lines; q++) {
            const double re = zr[q] * wr[j] - zi[q] * wi[j];
            zi[q] = zr[q] * wi[j] + zi[q] * wr[j];
            zr[q] = re;
        }
}

static void run_chirp(const hki_fourier *self, double *real, double *imag)
{
    const size_t bytes = (size_t)(self->n * self->lines) * sizeof *real;
    const size_t all = (size_t)(self->size * self->lines) * sizeof *real;
    double *lr = self->line_real, *li = self->line_imag;
    memset(lr, 0, all);
    memset(li, 0, all);
    memcpy(lr, real, bytes);
    memcpy(li, imag, bytes);
    multiply(lr, li, self->chirp_real, self->chirp_imag, self->n, self->lines);
    run_factors(self, lr, li);
    multiply(lr, li, self->filter_real, self->filter_imag, self->size, self->lines);
    run_factors(self, li, lr); /* back */
    multiply(lr, li, self->chirp_real, self->chirp_imag, self->n, self->lines);
    memcpy(real, lr, bytes);
    memcpy(imag, li, bytes);
}

void hki_fourier_run(const hki_fourier *self, double *real, double *imag)
{
    if (self->chirp_real)
        run_chirp(self, real, imag);
    else
        run_factors(self, real, imag);
}

/* ---- tables -------------------------------------------------------------------------------------------------------- */

int64_t hki_fourier_doubles(int64_t n, int64_t lines)
{
    int factors[HKI_FOURIER_FACTORS], count;
    const int64_t size = size_of(n, factors, &count);
    const int64_t work = hki_fourier_spread(size * lines), table = hki_fourier_spread(size);
    const int64_t plain = 2 * work + 2 * table;
    return size == n ? plain : plain + 2 * work + 2 * table + 2 * hki_fourier_spread(n);
}

static double *take(double **memory, int64_t count)
{
    double *part = *memory;
    *memory += hki_fourier_spread(count);
    return part;
}

/* exp(-i pi k^2 / n), by k^2 modulo 2 n, which is counted up in odd numbers. */
static void fill_chirp(const hki_fourier *self)
{
    int64_t square = 0;
    for (int64_t k = 0; k < self->n; k++) {
        double c, s;
        hki_fourier_root(square, 2 * self->n, &c, &s);
        self->chirp_real[k] = c;
        self->chirp_imag[k] = -s;
        square = (square + 2 * k + 1) % (2 * self->n);
    }
}

/* The transform of the conjugate chirp on both sides of 0, over the size, for the way back. */
static void fill_filter(hki_fourier *self)
{
    const int64_t size = self->size, lines = self->lines;
    const double share = 1 / (double)size;
    double *fr = self->filter_real, *fi = self->filter_imag;
    memset(fr, 0, (size_t)size * sizeof *fr);
    memset(fi, 0, (size_t)size * sizeof *fi);
    for (int64_t k = 0; k < self->n; k++) {
        const int64_t places[] = {k, k ? size - k : 0};
        for (int i = 0; i < 2; i++) {
            fr[places[i]] = self->chirp_real[k] * share;
            fi[places[i]] = -self->chirp_imag[k] * share;
        }
    }
    self->lines = 1;
    run_factors(self, fr, fi);
    self->lines = lines;
}

void hki_fourier_init(hki_fourier *self, int64_t n, int64_t lines, double *memory)
{
    *self = (hki_fourier){.n = n, .lines = lines};
    self->size = size_of(n, self->factors, &self->factor_count);
    const bool has_chirp = self->size != n;
    self->work_real = take(&memory, self->size * lines);
    self->work_imag = take(&memory, self->size * lines);
    if (has_chirp) {
        self->line_real = take(&memory, self->size * lines);
        self->line_imag = take(&memory, self->size * lines);
    }
    self->cosines = take(&memory, self->size);
    self->sines = take(&memory, self->size);
    hki_fourier_roots(self->size, self->size, self->cosines, self->sines);
    if (!has_chirp)
        return;
    self->chirp_real = take(&memory, n);
    self->chirp_imag = take(&memory, n);
    self->filter_real = take(&memory, self->size);
    self->filter_imag = take(&memory, self->size);
    fill_chirp(self);
    fill_filter(self);
}
