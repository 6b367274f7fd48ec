#include "tiles/tiles.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

/* ---- kernels -------------------------------------------------------------------------------- */

static void factorise(int n, double *a)
{
    int info = 0;
    dpotrf_("U", &n, a, &n, &info); /* the lower part, row by row */
    if (info) {
        fprintf(stderr, "the matrix is not positive definite\n");
        exit(1);
    }
}

/* By halves, so that most of it is products. */
static void factorise_lu(int n, int row, double *a)
{
    if (n <= 8) {
        for (int k = 0; k < n; k++)
            for (int i = k + 1; i < n; i++) {
                a[i * row + k] /= a[k * row + k];
                for (int j = k + 1; j < n; j++)
                    a[i * row + j] -= a[i * row + k] * a[k * row + j];
            }
        return;
    }
    const int half = n / 2, rest = n - half;
    double *right = a + half, *below = a + half * row, *last = below + half;
    factorise_lu(half, row, a);
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, half, rest, 1, a,
                row, right, row);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rest, half, 1, a,
                row, below, row);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rest, rest, half, -1, below, row, right,
                row, 1, last, row);
    factorise_lu(rest, row, last);
}

void tile_run(tile_kernel kernel, int n, double *const *tiles)
{
    double *a = tiles[0], *b = tiles[1], *c = tiles[2];
    switch (kernel) {
    case TILE_POTRF:
        factorise(n, a);
        break;
    case TILE_TRSM_RIGHT:
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1, a, n,
                    b, n);
        break;
    case TILE_SYRK:
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, n, -1, a, n, 1, b, n);
        break;
    case TILE_GEMM_TURNED:
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, -1, a, n, b, n, 1, c, n);
        break;
    case TILE_GETRF:
        factorise_lu(n, n, a);
        break;
    case TILE_TRSM_LOWER:
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, n, n, 1, a, n, b,
                    n);
        break;
    case TILE_TRSM_UPPER:
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, n, n, 1, a,
                    n, b, n);
        break;
    case TILE_GEMM:
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, -1, a, n, b, n, 1, c, n);
        break;
    }
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void add(tile_plan *plan, tile_kernel kernel, int priority, int count, int a, int b, int c)
{
    plan->calls[plan->call_count++] = (tile_call){kernel, {a, b, c}, count, priority};
}

static void plan_cholesky(tile_plan *plan)
{
    const int side = plan->side;
    for (int k = 0; k < side; k++) {
        const int diagonal = k * side + k;
        add(plan, TILE_POTRF, 2, 1, diagonal, 0, 0);
        for (int i = k + 1; i < side; i++)
            add(plan, TILE_TRSM_RIGHT, 1, 2, diagonal, i * side + k, 0);
        for (int i = k + 1; i < side; i++) {
            add(plan, TILE_SYRK, i == k + 1 ? 2 : 0, 2, i * side + k, i * side + i, 0);
            for (int j = k + 1; j < i; j++)
                add(plan, TILE_GEMM_TURNED, j == k + 1 ? 1 : 0, 3, i * side + k, j * side + k,
                    i * side + j);
        }
    }
}

static void plan_lu(tile_plan *plan)
{
    const int side = plan->side;
    for (int k = 0; k < side; k++) {
        const int diagonal = k * side + k;
        add(plan, TILE_GETRF, 2, 1, diagonal, 0, 0);
        for (int i = k + 1; i < side; i++) {
            add(plan, TILE_TRSM_LOWER, 1, 2, diagonal, k * side + i, 0);
            add(plan, TILE_TRSM_UPPER, 1, 2, diagonal, i * side + k, 0);
        }
        for (int i = k + 1; i < side; i++)
            for (int j = k + 1; j < side; j++)
                add(plan, TILE_GEMM, i == k + 1 && j == k + 1 ? 2 : i == k + 1 || j == k + 1, 3,
                    i * side + k, k * side + j, i * side + j);
    }
}

int tile_plan_parse(tile_plan *plan, int count, char **arguments)
{
    memset(plan, 0, sizeof *plan);
    if (count == 6) {
        plan->algorithm = arguments[1];
        plan->size = atoi(arguments[2]);
        plan->tile = atoi(arguments[3]);
        plan->workers = atoi(arguments[4]);
        plan->rounds = atoi(arguments[5]);
    }
    if (plan->tile < 1 || plan->size < 1 || plan->size % plan->tile || plan->workers < 1 ||
        plan->rounds < 1 ||
        (strcmp(plan->algorithm, "cholesky") && strcmp(plan->algorithm, "lu"))) {
        fprintf(stderr, "usage: %s cholesky|lu SIZE TILE WORKERS ROUNDS; TILE divides SIZE\n",
                arguments[0]);
        return 0;
    }
    plan->side = plan->size / plan->tile;
    const size_t side = (size_t)plan->side, elements = (size_t)plan->size * (size_t)plan->size;
    plan->matrix = aligned_alloc(64, (elements * sizeof *plan->matrix + 63) / 64 * 64);
    plan->calls = malloc((side + 1) * (side + 1) * (side + 1) * sizeof *plan->calls);
    if (!plan->matrix || !plan->calls)
        abort();
    (strcmp(plan->algorithm, "lu") ? plan_cholesky : plan_lu)(plan);
    return 1;
}

double *tile_at(const tile_plan *plan, int index)
{
    return plan->matrix + (size_t)index * (size_t)plan->tile * (size_t)plan->tile;
}

/* ---- the matrix ----------------------------------------------------------------------------- */

static double *element(const tile_plan *plan, int i, int j)
{
    const int n = plan->tile;
    return tile_at(plan, i / n * plan->side + j / n) + (i % n) * n + j % n;
}

/* Symmetric, and its diagonal is large enough for both algorithms. */
static double value(const tile_plan *plan, int i, int j)
{
    const int low = i < j ? i : j, high = i < j ? j : i;
    return i == j ? plan->size : sin(low * 0.37 + high * 1.1);
}

static void fill(const tile_plan *plan)
{
    for (int i = 0; i < plan->size; i++)
        for (int j = 0; j < plan->size; j++)
            *element(plan, i, j) = value(plan, i, j);
}

/* Some elements of the product of the factors. */
static int is_right(const tile_plan *plan)
{
    const int is_lu = !strcmp(plan->algorithm, "lu"), n = plan->size;
    for (int probe = 0; probe < 200; probe++) {
        const int i = probe * 7919 % n, j = is_lu ? probe * 104729 % n : i * 31 % (i + 1);
        double sum = 0;
        for (int k = 0; k <= (i < j ? i : j); k++)
            sum += (is_lu && i == k ? 1 : *element(plan, i, k)) *
                   *(is_lu ? element(plan, k, j) : element(plan, j, k));
        if (!(fabs(sum - value(plan, i, j)) < 1e-9 * n))
            return 0;
    }
    return 1;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int tile_plan_run(tile_plan *plan, void (*run)(const tile_plan *plan))
{
    for (int round = -1; round < plan->rounds; round++) {
        fill(plan);
        const double begin = seconds();
        run(plan);
        const double took = seconds() - begin;
        if (round >= 0)
            printf("%.9f\n", took);
    }
    if (is_right(plan))
        return 0;
    fprintf(stderr, "the result is wrong\n");
    return 1;
}
