/* Products against plain loops, in all four ways to lie; each element has the bytes of the same element of a smaller product,
 * and those of sums over samples are what halves of the samples give, added up. On every instruction set. */
#include "op/matmul/product_kernel.h"

#include "base/sum_tree.h"
#include "tests/check.h"

#include <math.h>
#include <string.h>

#include "op/simd/kernel_fixture.h"

static double get(const void *x, bool f64, int64_t i)
{
    return f64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Numbers at distances of `row`, and what is no number between the rows. */
static buffer matrix(bool f64, int64_t rows, int64_t columns, int64_t row)
{
    buffer b = buffer_make((size_t)((rows - 1) * row + columns) * (f64 ? 8 : 4));
    for (int64_t i = 0; i < rows * columns; i++) {
        const int64_t at = i / columns * row + i % columns;
        if (f64)
            ((double *)(void *)b.data)[at] = random_get();
        else
            ((float *)(void *)b.data)[at] = (float)random_get();
    }
    return b;
}

static void multiply(const hki_product *p)
{
    buffer scratch = buffer_make(hki_product_scratch_bytes(p));
    hki_product_run(p, scratch.data);
    buffer_drop(&scratch);
}

static int64_t a_at(const hki_product *p, int64_t i, int64_t l)
{
    return p->trans_a ? l * p->lda + i : i * p->lda + l;
}

static int64_t b_at(const hki_product *p, int64_t l, int64_t j)
{
    return p->trans_b ? j * p->ldb + l : l * p->ldb + j;
}

static bool is_close(const hki_product *p)
{
    const double tolerance = p->f64 ? 1e-14 : 1e-5;
    for (int64_t at = 0; at < p->m * p->n; at++) {
        const int64_t i = at / p->n, j = at % p->n;
        double sum = 0, sizes = 1;
        for (int64_t l = 0; l < p->k; l++) {
            const double term = get(p->a, p->f64, a_at(p, i, l)) * get(p->b, p->f64, b_at(p, l, j));
            sum += term;
            sizes += fabs(term);
        }
        if (!(fabs(get(p->c, p->f64, i * p->ldc + j) - sum) <= tolerance * sizes))
            return false;
    }
    return true;
}

static const char *moved(const hki_product *p, const void *x, int64_t elements)
{
    return (const char *)x + elements * (p->f64 ? 8 : 4);
}

/* The block of rows and columns from (i, j) on, multiplied by itself. */
static bool is_same_alone(const hki_product *p, int64_t i, int64_t j, int64_t m, int64_t n)
{
    const size_t item = p->f64 ? 8 : 4;
    hki_product part = *p;
    buffer c = buffer_make((size_t)(m * n) * item);
    bool same = true;
    part.m = m;
    part.n = n;
    part.a = moved(p, p->a, a_at(p, i, 0));
    part.b = moved(p, p->b, b_at(p, 0, j));
    part.c = c.data;
    part.ldc = n;
    multiply(&part);
    for (int64_t row = 0; row < m; row++)
        same = same && !memcmp(c.data + (size_t)(row * n) * item,
                               moved(p, p->c, (i + row) * p->ldc + j), (size_t)n * item);
    buffer_drop(&c);
    return same;
}

/* Halves of the samples, as two devices have them, and their sum. */
static bool is_sum_of_halves(const hki_product *p)
{
    const int64_t half = hki_sum_half(hki_sum_runs(p->k)) * HKI_SUM_RUN;
    buffer c[2];
    bool same = true;
    for (int i = 0; i < 2; i++) {
        hki_product part = *p;
        c[i] = buffer_make((size_t)(p->m * p->n) * (p->f64 ? 8 : 4));
        part.k = i ? p->k - half : half;
        part.a = moved(p, p->a, a_at(p, 0, i * half));
        part.b = moved(p, p->b, b_at(p, i * half, 0));
        part.c = c[i].data;
        part.ldc = p->n;
        multiply(&part);
    }
    for (int64_t at = 0; at < p->m * p->n; at++) {
        const double whole = get(p->c, p->f64, at / p->n * p->ldc + at % p->n);
        const double sum = get(c[0].data, p->f64, at) + get(c[1].data, p->f64, at);
        same = same && whole == (p->f64 ? sum : (double)(float)sum);
    }
    buffer_drop(&c[0]);
    buffer_drop(&c[1]);
    return same;
}

/* gap: between rows. */
static void check_product(hki_product p, int64_t gap)
{
    p.lda = (p.trans_a ? p.m : p.k) + gap;
    p.ldb = (p.trans_b ? p.k : p.n) + gap;
    p.ldc = p.n + gap;
    buffer a = matrix(p.f64, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.lda);
    buffer b = matrix(p.f64, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, p.ldb);
    buffer c = buffer_make((size_t)((p.m - 1) * p.ldc + p.n) * (p.f64 ? 8 : 4));
    p.a = a.data;
    p.b = b.data;
    p.c = c.data;
    multiply(&p);
    const int64_t i = random_between(0, p.m - 1), j = random_between(0, p.n - 1);
    const bool good = is_close(&p) && is_same_alone(&p, i, j, 1, 1) &&
                      is_same_alone(&p, i, 0, p.m - i, p.n) &&
                      is_same_alone(&p, 0, j, p.m, p.n - j);
    const bool halves = !p.by_samples || p.k <= HKI_SUM_RUN || is_sum_of_halves(&p);
    if (!good || !halves)
        fprintf(stderr, "%lld x %lld x %lld, f64 %d, transposed %d and %d, samples %d, halves %d\n",
                (long long)p.m, (long long)p.n, (long long)p.k, p.f64, p.trans_a, p.trans_b,
                p.by_samples, halves);
    CHECK(good && halves);
    const buffer *const all[] = {&a, &b, &c};
    for (size_t x = 0; x < sizeof all / sizeof *all; x++)
        buffer_drop(all[x]);
}

/* way: bits for float64, transposed, transposed, by samples. */
static void check_way(int way, int64_t m, int64_t n, int64_t k, int64_t gap)
{
    check_product((hki_product){.f64 = way & 1,
                                .trans_a = way & 2,
                                .trans_b = way & 4,
                                .by_samples = way & 8,
                                .m = m,
                                .n = n,
                                .k = k},
                  gap);
}

/* No sum at all is 0, whatever c holds. */
static void check_empty(void)
{
    float c[6] = {1, 2, 3, 4, NAN, 6};
    hki_product p = {.m = 2, .n = 2, .k = 0, .a = c, .b = c, .c = c, .lda = 1, .ldb = 2, .ldc = 3};
    multiply(&p);
    CHECK(c[0] == 0 && c[1] == 0 && c[2] == 3 && c[3] == 0 && c[4] == 0 && c[5] == 6);
}

/* Windows have the bytes of the matrix that they are. Rows of x are `row` apart; the last item is the last element of x. */
static void check_windows(bool f64, int64_t m, int64_t n, int64_t k, int64_t first, int64_t width)
{
    const size_t item = f64 ? 8 : 4;
    const int64_t row = width + random_between(0, 3);
    const int64_t last = (first + n - 1) / width * row + (first + n - 1) % width;
    buffer terms = buffer_make((size_t)k * sizeof(int32_t)),
           b = buffer_make((size_t)(n * k) * item);
    int32_t *const term = (int32_t *)(void *)terms.data;
    for (int64_t l = 0; l < k; l++)
        term[l] = l ? term[l - 1] + (int32_t)random_between(1, 5) : 0;
    const int64_t elements = term[k - 1] + last + 1;
    buffer x = matrix(f64, 1, elements, elements), a = matrix(f64, m, k, k);
    for (int64_t l = 0; l < k; l++)
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = term[l] + (first + j) / width * row + (first + j) % width;
            memcpy(b.data + (size_t)(l * n + j) * item, x.data + (size_t)at * item, item);
        }
    const hki_product_windows windows = {x.data, elements, term, first, width, row};
    buffer c[2];
    for (int i = 0; i < 2; i++) {
        c[i] = buffer_make((size_t)(m * n) * item);
        multiply(&(hki_product){.f64 = f64,
                                .m = m,
                                .n = n,
                                .k = k,
                                .windows = i ? &windows : NULL,
                                .a = a.data,
                                .b = b.data,
                                .c = c[i].data,
                                .lda = k,
                                .ldb = n,
                                .ldc = n});
    }
    CHECK(!memcmp(c[0].data, c[1].data, (size_t)(m * n) * item));
    buffer *const all[] = {&terms, &b, &x, &a, &c[0], &c[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

/* Two parts of the sums, the second one added, are the sums. */
static void check_adds(bool f64, int64_t m, int64_t n, int64_t k, int64_t part)
{
    const size_t item = f64 ? 8 : 4;
    buffer a = matrix(f64, m, k, k), b = matrix(f64, k, n, n);
    buffer whole = buffer_make((size_t)(m * n) * item), sum = buffer_make((size_t)(m * n) * item);
    hki_product p = {.f64 = f64, .m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n};
    p.a = a.data;
    p.b = b.data;
    p.c = whole.data;
    multiply(&p);
    p.c = sum.data;
    p.k = part;
    multiply(&p);
    p.adds = true;
    p.a = moved(&p, p.a, part);
    p.b = moved(&p, p.b, part * n);
    p.k = k - part;
    multiply(&p);
    p.k = 0;
    multiply(&p);
    CHECK(!memcmp(whole.data, sum.data, (size_t)(m * n) * item));
    buffer *const all[] = {&a, &b, &whole, &sum};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

/* Sums that begin at a number of their row are those that go on from it. */
static void check_starts(bool f64, bool trans_a, int64_t m, int64_t n, int64_t k)
{
    const size_t item = f64 ? 8 : 4;
    buffer a = matrix(f64, m, k, k), b = matrix(f64, k, n, n), starts = matrix(f64, 1, m, m);
    buffer c[2] = {matrix(f64, m, n, n), matrix(f64, m, n, n)};
    hki_product p = {.f64 = f64, .trans_a = trans_a, .m = m, .n = n, .k = k, .ldb = n, .ldc = n};
    p.lda = trans_a ? m : k;
    p.a = a.data;
    p.b = b.data;
    p.c = c[0].data;
    p.starts = starts.data;
    multiply(&p);
    p.starts = NULL;
    p.adds = true;
    p.c = c[1].data;
    for (int64_t i = 0; i < m * n; i++)
        memcpy(c[1].data + (size_t)i * item, starts.data + (size_t)(i / n) * item, item);
    multiply(&p);
    CHECK(!memcmp(c[0].data, c[1].data, (size_t)(m * n) * item));
    buffer *const all[] = {&a, &b, &starts, &c[0], &c[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

/* A bias is added to what the sums come to. */
static void check_bias(bool f64, bool trans_b, int64_t m, int64_t n, int64_t k)
{
    const size_t item = f64 ? 8 : 4;
    buffer a = matrix(f64, m, k, k), b = matrix(f64, k, n, n), bias = matrix(f64, 1, n, n);
    buffer c[2] = {matrix(f64, m, n, n), matrix(f64, m, n, n)};
    hki_product p = {.f64 = f64, .trans_b = trans_b, .m = m, .n = n, .k = k, .lda = k, .ldc = n};
    p.ldb = trans_b ? k : n;
    p.a = a.data;
    p.b = b.data;
    p.c = c[0].data;
    p.bias = bias.data;
    multiply(&p);
    p.bias = NULL;
    p.c = c[1].data;
    multiply(&p);
    for (int64_t i = 0; i < m * n; i++) {
        if (f64)
            ((double *)(void *)c[1].data)[i] += ((const double *)(void *)bias.data)[i % n];
        else
            ((float *)(void *)c[1].data)[i] += ((const float *)(void *)bias.data)[i % n];
    }
    CHECK(!memcmp(c[0].data, c[1].data, (size_t)(m * n) * item));
    buffer *const all[] = {&a, &b, &bias, &c[0], &c[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

static int run(void)
{
    for (int f64 = 0; f64 < 2; f64++) {
        check_bias(f64, false, 1, 1, 0);
        check_bias(f64, true, 37, 70, 1200);
        check_bias(f64, true, 14, 33, 600);
        check_bias(f64, false, 100, 40, 20);
        check_adds(f64, 7, 37, 60, 21);
        check_adds(f64, 70, 5, 1200, 1);
        check_starts(f64, false, 1, 1, 1);
        check_starts(f64, false, 40, 37, 1200);
        check_starts(f64, true, 31, 20, 50);
        check_windows(f64, 1, 1, 1, 0, 1);
        check_windows(f64, 7, 90, 40, 0, 90);
        check_windows(f64, 13, 33, 1100, 5, 6);
        for (int64_t width = 1; width < 20; width++)
            check_windows(f64, random_between(1, 20), random_between(1, 70), random_between(1, 50),
                          random_between(0, width - 1), width);
    }
    for (int way = 0; way < 16; way++) {
        check_way(way, 1, 1, 1, 0);
        check_way(way, 37, 35, 70, 0);
        check_way(way, 256, 3, 16, 1);
        check_way(way, 3, 256, 31, 0);
        check_way(way, 13, 9, 1100, 0);  /* more than is done at a time */
        check_way(way, 70, 40, 1024, 0); /* rows that are spread */
        /* two tiles of half their height: what a vector holds too much must not reach the other one */
        for (int64_t m = 6; m < 16; m++)
            check_way(way, m, 34, 40, 5);
        for (int i = 0; i < 4; i++)
            check_way(way, random_between(1, 60), random_between(1, 60), random_between(1, 300),
                      random_between(0, 5));
    }
    check_way(8 | 2, 5, 300, 2100, 0);
    check_way(8 | 2, 130, 17, 640, 0);
    check_way(8 | 2, 200, 40, 1100, 0); /* several blocks of rows, whose sums wait */
    check_way(8, 40, 70, 900, 3);
    check_empty();
    return check_result();
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, run);
}
