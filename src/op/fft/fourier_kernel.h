/* Discrete Fourier transforms of lines of any length, in double. Threads: pure functions on the caller's memory.
 *
 * Lengths are factored; radices 4, 2, 3 and 5 have butterflies of their own, primes up to HKI_FOURIER_PRIME a general one. The
 * order is Stockham's, which needs no reversal of bits. A length with a larger prime is a convolution with a chirp, of a length
 * that has none: L. Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", 1970. */
#ifndef HOCKET_OP_FOURIER_KERNEL_H
#define HOCKET_OP_FOURIER_KERNEL_H

#include <stdint.h>

enum {
    HKI_FOURIER_PRIME = 47,  /* the largest prime with a butterfly */
    HKI_FOURIER_LINES = 8,   /* the most that are transformed side by side */
    HKI_FOURIER_FACTORS = 64 /* more than any length has */
};
/* The largest length, so that nothing here overflows. */
#define HKI_FOURIER_MOST ((int64_t)1 << 48)

/* Lines of one length, `lines` of them side by side: element j of line i is number j * lines + i of the arrays. */
typedef struct hki_fourier {
    int64_t n, lines;
    int64_t size; /* what is factored: n, or that of the convolution */
    int factor_count;
    int factors[HKI_FOURIER_FACTORS];
    double *cosines, *sines;         /* size: cos and sin of 2 pi k / size */
    double *chirp_real, *chirp_imag; /* n: exp(-i pi k^2 / n); NULL: no convolution */
    double *filter_real, *filter_imag;
    double *work_real, *work_imag; /* of one step, and of the convolution */
    double *line_real, *line_imag;
} hki_fourier;

/* The room for an array of so many doubles beside others: where arrays lie, of which elements at one index are used together, they
 * are not in one set of a cache. The arrays of a transform are two of these in a row, with the memory of its tables behind. */
static inline int64_t hki_fourier_spread(int64_t count)
{
    return (count + 511) / 512 * 512 + 128;
}

/* How many doubles of memory it takes; n and lines are 1 or more, n is HKI_FOURIER_MOST at most. */
int64_t hki_fourier_doubles(int64_t n, int64_t lines);
/* Computes the tables, in `memory`, which it keeps. */
void hki_fourier_init(hki_fourier *self, int64_t n, int64_t lines, double *memory);
/* In place: y[k] = sum of x[j] exp(-2 pi i j k / n). With both arrays exchanged: exp(+2 pi i j k / n). Each line has the same
 * bytes however many there are. */
void hki_fourier_run(const hki_fourier *self, double *real, double *imag);

/* The first `count` of exp(2 pi i k / n), 1 at least. */
void hki_fourier_roots(int64_t n, int64_t count, double *cosines, double *sines);
/* exp(2 pi i k / n) = *cosine + i *sine, of 0 <= k < n, to the last place. */
void hki_fourier_root(int64_t k, int64_t n, double *cosine, double *sine);

#endif
