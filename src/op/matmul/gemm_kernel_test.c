#include "op/matmul/gemm_kernel.h"

#include "base/sanitizer.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define CHECK(ok, ...)                                                                             \
    do {                                                                                           \
        if (!(ok) && failures++ < 20) {                                                            \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #ok);                               \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
    } while (0)

typedef struct shape {
    bool trans_a, trans_b;
    int64_t m, n, k, pad_a, pad_b, pad_c; /* pad: leading dimension beyond the width */
} shape;

static int64_t lda_of(const shape *s)
{
    return (s->trans_a ? s->m : s->k) + s->pad_a;
}

static int64_t ldb_of(const shape *s)
{
    return (s->trans_b ? s->k : s->n) + s->pad_b;
}

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* In [-1, 1). */
static double random_item(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-52 - 1;
}

static size_t count_of(int64_t rows, int64_t ld)
{
    return (size_t)((rows > 0 ? rows : 0) * (ld > 0 ? ld : 0)) + 8;
}

/* ---- Every type against sums in double (integers: in uint64_t, cut to the type) */

#define DEFINE_COMPARE(type, name, from, sum_type, tolerance)                                      \
    static void compare_##name(const shape *s, type alpha, type beta, uint64_t seed)               \
    {                                                                                              \
        int64_t lda = lda_of(s), ldb = ldb_of(s), ldc = s->n + s->pad_c;                           \
        size_t count_a = count_of(s->trans_a ? s->k : s->m, lda);                                  \
        size_t count_b = count_of(s->trans_b ? s->n : s->k, ldb);                                  \
        size_t count_c = count_of(s->m, ldc);                                                      \
        type *a = malloc(count_a * sizeof *a), *b = malloc(count_b * sizeof *b);                   \
        type *c = malloc(count_c * sizeof *c), *before = malloc(count_c * sizeof *c);              \
                                                                                                   \
        for (size_t i = 0; i < count_a; i++)                                                       \
            a[i] = from;                                                                           \
        for (size_t i = 0; i < count_b; i++)                                                       \
            b[i] = from;                                                                           \
        for (size_t i = 0; i < count_c; i++)                                                       \
            c[i] = from;                                                                           \
        memcpy(before, c, count_c * sizeof *c);                                                    \
        CHECK(hki_gemm_##name(s->trans_a, s->trans_b, s->m, s->n, s->k, alpha, a, lda, b, ldb,     \
                              beta, c, ldc),                                                       \
              "no buffer");                                                                        \
        for (size_t at = 0; at < count_c; at++) {                                                  \
            int64_t i = ldc > 0 ? (int64_t)at / ldc : 0, j = ldc > 0 ? (int64_t)at % ldc : 0;      \
            if (i >= s->m || j >= s->n) {                                                          \
                CHECK(c[at] == before[at], "%s wrote beside C", #name);                            \
                continue;                                                                          \
            }                                                                                      \
            sum_type sum = 0;                                                                      \
            for (int64_t l = 0; l < s->k; l++)                                                     \
                sum += (sum_type)a[s->trans_a ? l * lda + i : i * lda + l] *                       \
                       (sum_type)b[s->trans_b ? j * ldb + l : l * ldb + j];                        \
            sum = (sum_type)alpha * sum + (sum_type)beta * (sum_type)before[at];                   \
            double error = fabs((double)c[at] - (double)(type)sum);                                \
            CHECK(error <= (tolerance) * (double)(s->k + 2),                                       \
                  "%s %lldx%lldx%lld%s%s at %lld,%lld: off by %g", #name, (long long)s->m,         \
                  (long long)s->n, (long long)s->k, s->trans_a ? " A^T" : "",                      \
                  s->trans_b ? " B^T" : "", (long long)i, (long long)j, error);                    \
        }                                                                                          \
        free(a);                                                                                   \
        free(b);                                                                                   \
        free(c);                                                                                   \
        free(before);                                                                              \
    }

DEFINE_COMPARE(float, f32, (float)random_item(&seed), double, 4e-7)
DEFINE_COMPARE(double, f64, random_item(&seed), double, 1e-15)
DEFINE_COMPARE(int32_t, i32, (int32_t)next_random(&seed), uint64_t, 0)
DEFINE_COMPARE(int64_t, i64, (int64_t)next_random(&seed), uint64_t, 0)

static void compare_all(const shape *s, uint64_t seed)
{
    compare_f32(s, 1, 0, seed);
    compare_f32(s, 0.5f, -1.5f, seed);
    compare_f64(s, 1, 1, seed);
    compare_f64(s, -2, 0, seed);
    compare_i32(s, 1, 0, seed);
    compare_i32(s, -3, 7, seed);
    compare_i64(s, 1, 1, seed);
    compare_i64(s, INT64_MIN, 5, seed);
}

static void test_shapes(void)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 16, 33};
    static const int64_t larger[][3] = {{64, 10, 128}, {128, 100, 256}, {101, 257, 130},
                                        {1, 300, 500}, {300, 1, 500},   {2, 500, 300},
                                        {8200, 3, 2},  {3, 8200, 2},    {8193, 2, 3},
                                        {8193, 1, 3},  {5, 6, 9000}};
    const size_t count = sizeof sizes / sizeof *sizes;
    uint64_t seed = 1;

    for (int flags = 0; flags < 4; flags++) {
        shape s = {.trans_a = flags & 1, .trans_b = flags & 2};
        for (size_t i = 0; i < count * count * count; i++) {
            s.m = sizes[i % count];
            s.n = sizes[i / count % count];
            s.k = sizes[i / count / count];
            s.pad_a = (int64_t)(i % 3);
            s.pad_b = (int64_t)(i % 5);
            s.pad_c = (int64_t)(i % 2) * 3;
            compare_all(&s, seed++);
        }
        for (size_t i = 0; i < sizeof larger / sizeof *larger; i++) {
            s.m = larger[i][0];
            s.n = larger[i][1];
            s.k = larger[i][2];
            compare_all(&s, seed++);
        }
    }
}

/* ---- Leading dimensions that no BLAS takes: one row for all, rows overlapping, backwards, and
 * huge */

static void test_leading_dimensions(void)
{
    const float row[] = {1, 2, 3}, b[] = {1, 0, 0, 1, 1, 1}; /* b: 3 x 2 */
    const double rows[] = {1, 2, 3, 4, 5, 6};
    float c[6];
    double d[4];

    hki_gemm_f32(false, false, 3, 2, 3, 1, row, 0, b, 2, 0, c, 2);
    for (int i = 0; i < 3; i++)
        CHECK(c[2 * i] == 4 && c[2 * i + 1] == 5, "broadcast row %d: %g %g", i, c[2 * i],
              c[2 * i + 1]);
    /* Windows 1 2 3 and 2 3 4, as rows of A and as rows of B transposed: their inner products. */
    hki_gemm_f64(false, true, 2, 2, 3, 1, rows, 1, rows, 1, 0, d, 2);
    CHECK(d[0] == 14 && d[1] == 20 && d[2] == 20 && d[3] == 29, "windows");
    /* A is 2 x 3 with its rows in reverse. */
    hki_gemm_f64(false, true, 2, 2, 3, 1, rows + 3, -3, rows, 3, 0, d, 2);
    CHECK(d[0] == 32 && d[1] == 77 && d[2] == 14 && d[3] == 32, "reversed rows");
    /* A single row's, or a single item's, does not matter. */
    hki_gemm_f32(false, false, 1, 2, 3, 1, row, -9, b, 2, 0, c, 0);
    CHECK(c[0] == 4 && c[1] == 5, "one row");
    hki_gemm_f32(true, true, 3, 1, 1, 2, row, INT64_MAX, row, 0, 0, c, 2);
    CHECK(c[0] == 2 && c[2] == 4 && c[4] == 6, "outer product with one item");

    const int64_t far = ((int64_t)1 << 31) + 5;
    const size_t map_bytes = (size_t)(far + 4) * sizeof(float);
    float *huge = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (huge == MAP_FAILED)
        return;
    memcpy(huge, row, sizeof row);
    memcpy(huge + far, row, sizeof row);
    hki_gemm_f32(false, false, 2, 2, 3, 1, huge, far, b, 2, 0, c, 2);
    CHECK(c[0] == 4 && c[1] == 5 && c[2] == 4 && c[3] == 5, "a leading dimension beyond an int");
    munmap(huge, map_bytes);
}

/* ---- NaN, infinity, and which operands are read */

static void test_special_values(void)
{
    static const int64_t sizes[][3] = {{3, 4, 5}, {1, 4, 5}, {4, 1, 5}, {120, 110, 130}};

    for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
        const int64_t m = sizes[t][0], n = sizes[t][1], k = sizes[t][2];
        float *a = calloc((size_t)(m * k), sizeof *a), *b = calloc((size_t)(k * n), sizeof *b);
        float *c = malloc((size_t)(m * n) * sizeof *c);
        int64_t wrong;

#define FILL_C_NAN                                                                                 \
    for (int64_t i = 0; i < m * n; i++)                                                            \
    c[i] = NAN
#define COUNT_WRONG(condition)                                                                     \
    wrong = 0;                                                                                     \
    for (int64_t i = 0; i < m * n; i++)                                                            \
    wrong += !(condition)

        FILL_C_NAN;
        hki_gemm_f32(false, false, m, n, k, 1, a, k, b, n, 0, c, n);
        COUNT_WRONG(c[i] == 0);
        CHECK(wrong == 0, "beta 0 kept %lld NaN", (long long)wrong);
        FILL_C_NAN;
        hki_gemm_f32(false, false, m, n, 0, 1, a, k, b, n, 0, c, n);
        COUNT_WRONG(c[i] == 0);
        CHECK(wrong == 0, "k 0, beta 0 kept %lld NaN", (long long)wrong);
        FILL_C_NAN;
        hki_gemm_f32(false, false, m, n, k, 1, a, k, b, n, 1, c, n);
        COUNT_WRONG(isnan(c[i]));
        CHECK(wrong == 0, "beta 1 lost %lld NaN", (long long)wrong);
        for (int64_t i = 0; i < m * n; i++)
            c[i] = 3;
        hki_gemm_f32(false, false, m, n, 0, 1, NULL, k, NULL, n, 2, c, n);
        COUNT_WRONG(c[i] == 6);
        CHECK(wrong == 0, "k 0 is not beta C at %lld", (long long)wrong);
        hki_gemm_f32(false, false, m, n, k, 0, NULL, k, NULL, n, 0.5f, c, n);
        COUNT_WRONG(c[i] == 3);
        CHECK(wrong == 0, "alpha 0 is not beta C at %lld", (long long)wrong);
        hki_gemm_f32(false, false, 0, n, k, 1, NULL, k, NULL, n, 0, c, n);
        hki_gemm_f32(false, false, m, 0, k, 1, NULL, k, NULL, n, 0, c, n);
        COUNT_WRONG(c[i] == 3);
        CHECK(wrong == 0, "an empty product wrote");
        /* 0 * NaN and 0 * inf are NaN, in the row or column that they are in and nowhere else. */
        a[(m - 1) * k + k / 2] = NAN;
        hki_gemm_f32(false, false, m, n, k, 1, a, k, b, n, 0, c, n);
        COUNT_WRONG(i / n == m - 1 ? isnan(c[i]) : c[i] == 0);
        CHECK(wrong == 0, "NaN in A: %lld items wrong", (long long)wrong);
        a[(m - 1) * k + k / 2] = 0;
        b[(k - 1) * n] = INFINITY;
        hki_gemm_f32(false, false, m, n, k, 1, a, k, b, n, 0, c, n);
        COUNT_WRONG(i % n == 0 ? isnan(c[i]) : c[i] == 0);
        CHECK(wrong == 0, "infinity in B: %lld items wrong", (long long)wrong);
        free(a);
        free(b);
        free(c);
    }
}

/* ---- Products of many threads at once: the bytes of one thread alone, wherever operands lie */

enum {
    PRODUCTS = 32,
    LARGEST = 200,
    THREADS = 6,
    PRODUCTS_PER_THREAD = HKI_SANITIZED ? 2000 : 20000
};

static struct product {
    shape s;
    bool is_double;
    void *a, *b, *expected;
} products[PRODUCTS];
static pthread_barrier_t start;
static atomic_int wrong_products;

static void multiply(const struct product *p, const void *a, const void *b, void *c)
{
    const shape *s = &p->s;

    if (p->is_double)
        hki_gemm_f64(s->trans_a, s->trans_b, s->m, s->n, s->k, 1, a, lda_of(s), b, ldb_of(s), 0, c,
                     s->n);
    else
        hki_gemm_f32(s->trans_a, s->trans_b, s->m, s->n, s->k, 1, a, lda_of(s), b, ldb_of(s), 0, c,
                     s->n);
}

static size_t bytes_of(const struct product *p, int64_t rows, int64_t columns)
{
    return (size_t)(rows * columns) * (p->is_double ? sizeof(double) : sizeof(float));
}

static void *random_matrix(const struct product *p, int64_t rows, int64_t columns, uint64_t *seed)
{
    void *items = malloc(bytes_of(p, rows, columns));

    for (int64_t i = 0; i < rows * columns; i++) {
        double item = random_item(seed);
        if (p->is_double)
            ((double *)items)[i] = item;
        else
            ((float *)items)[i] = (float)item;
    }
    return items;
}

static void *product_thread(void *argument)
{
    const size_t room = LARGEST * LARGEST * sizeof(double) + 64;
    char *a = malloc(room), *b = malloc(room), *c = malloc(room);
    uint64_t seed = (uint64_t)(uintptr_t)argument;

    pthread_barrier_wait(&start);
    for (int i = 0; i < PRODUCTS_PER_THREAD; i++) {
        const uint64_t dice = next_random(&seed);
        const struct product *p = &products[dice % PRODUCTS];
        const size_t item = p->is_double ? sizeof(double) : sizeof(float);
        const size_t bytes_a = bytes_of(p, p->s.m, p->s.k), bytes_b = bytes_of(p, p->s.k, p->s.n);
        const size_t bytes_c = bytes_of(p, p->s.m, p->s.n);
        /* Half of them at other addresses than the expected product had. */
        char *at_a = p->a, *at_b = p->b, *at_c = c + (dice >> 48) % (64 / item) * item;
        if (dice >> 63) {
            at_a = memcpy(a + (dice >> 16) % (64 / item) * item, p->a, bytes_a);
            at_b = memcpy(b + (dice >> 32) % (64 / item) * item, p->b, bytes_b);
        }
        memset(at_c, 0xff, bytes_c);
        multiply(p, at_a, at_b, at_c);
        if (memcmp(at_c, p->expected, bytes_c) != 0)
            atomic_fetch_add(&wrong_products, 1);
    }
    free(a);
    free(b);
    free(c);
    return NULL;
}

static void test_concurrent_products(void)
{
    pthread_t threads[THREADS];
    uint64_t seed = 77;

    for (int i = 0; i < PRODUCTS; i++) {
        struct product *p = &products[i];
        const uint64_t largest = i % 3 == 0 ? LARGEST : i % 3 == 1 ? 100 : 24;
        p->is_double = i & 1;
        p->s = (shape){.trans_a = i & 2, .trans_b = i & 4};
        p->s.m = i == 8 ? 1 : 1 + (int64_t)(next_random(&seed) % largest);
        p->s.n = i == 9 ? 1 : 1 + (int64_t)(next_random(&seed) % largest);
        p->s.k = 1 + (int64_t)(next_random(&seed) % largest);
        p->a = random_matrix(p, p->s.m, p->s.k, &seed);
        p->b = random_matrix(p, p->s.k, p->s.n, &seed);
        p->expected = malloc(bytes_of(p, p->s.m, p->s.n));
        multiply(p, p->a, p->b, p->expected);
    }
    pthread_barrier_init(&start, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, product_thread, (void *)(i + 1)) != 0)
            abort();

    /* Children of forks meanwhile: their first product needs no lock that a thread may have held.
     */
    const struct product *p = &products[0];
    char *c = malloc(bytes_of(p, p->s.m, p->s.n));
    for (int i = 0; i < 20 && !HKI_SANITIZED; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            multiply(p, p->a, p->b, c);
            _exit(memcmp(c, p->expected, bytes_of(p, p->s.m, p->s.n)) != 0);
        }
        int status = -1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child: status %d",
              status);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(wrong_products == 0, "%d of %d concurrent products are wrong", wrong_products,
          THREADS * PRODUCTS_PER_THREAD);
    free(c);
    for (int i = 0; i < PRODUCTS; i++) {
        free(products[i].a);
        free(products[i].b);
        free(products[i].expected);
    }
    pthread_barrier_destroy(&start);
}

/* ---- No addresses left: false, C untouched, and well again afterwards */

static void *no_addresses_thread(void *unused)
{
    float a[6] = {1, 1, 1, 1, 1, 1}, c[4] = {5, 5, 5, 5};
    struct rlimit old, none;

    (void)unused;
    getrlimit(RLIMIT_AS, &old);
    none = old;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_AS, &none);
    bool done = hki_gemm_f32(false, false, 2, 2, 3, 1, a, 3, a, 2, 0, c, 2);
    setrlimit(RLIMIT_AS, &old);
    CHECK(!done && c[0] == 5 && c[3] == 5, "a product without a buffer");
    CHECK(hki_gemm_f32(false, false, 2, 2, 3, 1, a, 3, a, 2, 0, c, 2) && c[0] == 3, "and after it");
    return NULL;
}

static void test_no_addresses(void)
{
    pthread_t thread;

    if (HKI_SANITIZED) /* with terabytes of addresses */
        return;
    if (pthread_create(&thread, NULL, no_addresses_thread, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
}

int main(void)
{
    char message[300] = "?", cut[8] = "?";

    CHECK(hki_gemm_check(message, sizeof message) && message[0] == '\0', "%s", message);
    CHECK(hki_gemm_check(cut, sizeof cut) && hki_gemm_check(NULL, 0), "without room for a message");
    CHECK(strncmp(hki_gemm_library(), "OpenBLAS", 8) == 0, "%s", hki_gemm_library());
    printf("%s\n", hki_gemm_library());
    test_shapes();
    test_leading_dimensions();
    test_special_values();
    test_concurrent_products();
    test_no_addresses();
    return failures != 0;
}
