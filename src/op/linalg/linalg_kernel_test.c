/* Factorisations: what they give multiplies out to the matrix; and many threads at once get the bytes that one alone does. */
#include "check.h"

#include "op/linalg/linalg_kernel.h"

#include "op/matmul/openblas_memory.h"
#include "op/simd/kernel_fixture.h"

#include <math.h>
#include <pthread.h>

enum { MOST = 130, ROOM = MOST * MOST };

/* All that one matrix of doubles may become. */
typedef struct results {
    double a[ROOM], factor[ROOM], inverse[ROOM], solution[MOST], values[MOST], vectors[ROOM];
    double s[MOST], u[ROOM], vt[ROOM], q[ROOM], r[ROOM];
    double determinant, log;
    int pivots[MOST], n;
} results;

/* Not what is meant: the work of the routines. */
static void *workspace(size_t bytes)
{
    void *memory = aligned_alloc(64, hki_round_up_bytes(bytes + 1, 64));
    if (!memory)
        abort();
    return memory;
}

/* Symmetric, positive definite, from a seed of its own. */
static void fill(results *of, int n, uint64_t seed)
{
    of->n = n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const double value = (double)(seed >> 40) / (double)(1 << 24) - 0.5;
            of->a[i * n + j] = of->a[j * n + i] = value + (i == j ? n : 0);
        }
    }
}

/* Nothing is checked here, for threads call it. */
static bool factorise(results *of)
{
    const hki_linalg *f64 = &hki_linalg_f64;
    const int n = of->n;
    const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    memcpy(of->factor, of->a, bytes);
    bool ok = f64->cholesky(n, of->factor, false) == 0;
    memcpy(of->inverse, of->a, bytes);
    ok &= f64->lu(n, of->inverse, of->pivots) == 0;
    f64->lu_determinant(n, of->inverse, of->pivots, &of->determinant);
    of->log = f64->lu_log(n, of->inverse);
    for (int i = 0; i < n; i++)
        of->solution[i] = of->a[i];
    f64->lu_solve(n, 1, of->inverse, of->pivots, of->solution);
    const size_t work_bytes = f64->lu_invert_need(n).work;
    void *work = workspace(work_bytes);
    f64->lu_invert(n, of->inverse, of->pivots, work, work_bytes);
    free(work);
    return ok;
}

static bool decompose(results *of)
{
    const hki_linalg *f64 = &hki_linalg_f64;
    const int n = of->n;
    const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    const hki_linalg_need eigen = f64->eigen_need(n, true), svd = f64->svd_need(n, n, HKI_SVD_THIN),
                          qr = f64->qr_need(n, n, n);
    void *work = workspace(eigen.work + svd.work + qr.work),
         *integers = workspace(eigen.integers + svd.integers);
    memcpy(of->vectors, of->a, bytes);
    bool ok = f64->eigen(n, true, of->vectors, of->values, work, integers, eigen);
    double *copy = workspace(bytes);
    memcpy(copy, of->a, bytes);
    ok &= f64->svd(n, n, HKI_SVD_THIN, copy, of->s, of->u, of->vt, work, integers, svd);
    f64->qr(n, n, n, of->a, of->q, of->r, work, qr.work);
    free(copy);
    free(integers);
    free(work);
    return ok;
}

/* How far x y^T, or x y, is from a, at most; by NULL, or the diagonal between them. */
static double distance(const results *of, const double *x, const double *by, const double *y,
                       bool transposed, const double *a)
{
    double most = 0;
    const int n = of->n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += x[i * n + k] * (by ? by[k] : 1) * (transposed ? y[j * n + k] : y[k * n + j]);
            most = fmax(most, fabs(sum - (a ? a[i * n + j] : i == j)));
        }
    }
    return most;
}

static bool is_oriented(int n, const double *vector, int step)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fabs(vector[i * step]) > fabs(most) ? vector[i * step] : most;
    return most > 0;
}

static void test_products(results *of, int n)
{
    static double turned[ROOM];
    fill(of, n, (uint64_t)n);
    CHECK(factorise(of) && decompose(of));
    hki_linalg_f64.transpose(n, n, of->vectors, turned);
    const double bound = 1e-13 * n * n + 1e-13;
    CHECK(distance(of, of->factor, NULL, of->factor, true, of->a) < bound);
    CHECK(distance(of, of->a, NULL, of->inverse, false, NULL) < bound);
    CHECK(distance(of, turned, of->values, of->vectors, false, of->a) < bound);
    CHECK(distance(of, of->u, of->s, of->vt, false, of->a) < bound);
    CHECK(distance(of, of->q, NULL, of->r, false, of->a) < bound);
    for (int i = 0; i < n; i++)
        CHECK(of->r[i * n + i] >= 0 && is_oriented(n, &of->vectors[i * n], 1) &&
              is_oriented(n, &of->u[i], n));
    CHECK(fabs(of->solution[0] - 1) < bound);
    CHECK(fabs(log(of->determinant) - of->log) < bound);
}

/* ---- many threads ---- */

enum { THREADS = 8, MATRICES = 12 };
static results expected[MATRICES];
static pthread_barrier_t start;

static int size_of(int matrix)
{
    return 3 + matrix * 11;
}

/* Returns NULL, or the argument where something was not as in one thread. */
static void *thread_of(void *argument)
{
    results *mine = workspace(sizeof *mine);
    bool ok = hki_blas_memory_reserve();
    pthread_barrier_wait(&start);
    for (int i = 0; i < 4 * MATRICES; i++) {
        const int matrix = (i + *(const int *)argument) % MATRICES;
        memset(mine, 0, sizeof *mine);
        fill(mine, size_of(matrix), (uint64_t)matrix);
        ok &= factorise(mine) && decompose(mine) &&
              memcmp(mine, &expected[matrix], sizeof *mine) == 0;
    }
    free(mine);
    return ok ? NULL : argument;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < MATRICES; i++) {
        fill(&expected[i], size_of(i), (uint64_t)i);
        CHECK(factorise(&expected[i]) && decompose(&expected[i]));
    }
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, thread_of, &numbers[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        CHECK(!wrong);
    }
    pthread_barrier_destroy(&start);
}

/* ---- rectangles, in float ---- */

static void test_rectangle(int m, int n, int columns, hki_svd_job job)
{
    static float a[400], copy[400], q[400], r[400], s[20], u[400], vt[400];
    const hki_linalg *f32 = &hki_linalg_f32;
    const int k = m < n ? m : n;
    const int rank_u = job == HKI_SVD_FULL ? m : k, rank_vt = job == HKI_SVD_FULL ? n : k;
    const hki_linalg_need qr = f32->qr_need(m, n, columns), svd = f32->svd_need(m, n, job);
    void *work = workspace(qr.work + svd.work), *integers = workspace(svd.integers);
    for (int i = 0; i < m * n; i++)
        a[i] = copy[i] = (float)random_get();
    f32->qr(m, n, columns, a, q, r, work, qr.work);
    CHECK(f32->svd(m, n, job, copy, s, u, vt, work, integers, svd));
    for (int i = 0; i < m * n; i++) {
        float by_qr = 0, by_svd = 0;
        for (int j = 0; j < columns; j++)
            by_qr += q[i / n * columns + j] * r[j * n + i % n];
        for (int j = 0; j < k; j++)
            by_svd += u[i / n * rank_u + j] * s[j] * vt[j * n + i % n];
        CHECK(fabsf(by_qr - a[i]) < 1e-5f && fabsf(by_svd - a[i]) < 1e-5f);
    }
    for (int i = 0; i < rank_vt * n; i++) { /* the last rows too are at right angles */
        float dot = 0;
        for (int j = 0; j < n; j++)
            dot += vt[i / n * n + j] * vt[i % rank_vt * n + j];
        CHECK(fabsf(dot - (float)(i / n == i % rank_vt)) < 1e-5f || i % n >= rank_vt);
    }
    free(integers);
    free(work);
}

static void test_what_fails(void)
{
    double indefinite[9] = {1, 0, 0, 0, 1, 0, 0, 2, 1}, singular[4] = {1, 2, 2, 4};
    int pivots[2];
    CHECK(hki_linalg_f64.cholesky(3, indefinite, false) == 3);
    CHECK(hki_linalg_f64.lu(2, singular, pivots) == 2);
    CHECK(hki_linalg_f64.is_finite((const double[]){1, -2}, 2));
    CHECK(!hki_linalg_f64.is_finite((const double[]){1, NAN}, 2));
    CHECK(!hki_linalg_f32.is_finite((const float[]){-INFINITY}, 1));
}

int main(void)
{
    CHECK(hki_blas_memory_reserve());
    static results of;
    const int sizes[] = {1, 2, 7, 33, 64, MOST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        test_products(&of, sizes[i]);
    test_threads();
    test_rectangle(12, 5, 5, HKI_SVD_THIN);
    test_rectangle(12, 5, 12, HKI_SVD_FULL);
    test_rectangle(4, 9, 4, HKI_SVD_FULL);
    test_rectangle(4, 9, 4, HKI_SVD_THIN);
    test_rectangle(1, 6, 1, HKI_SVD_FULL);
    test_what_fails();
    return check_result();
}
