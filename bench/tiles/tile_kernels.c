#include "tiles/tiles.h"

#include "spin.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

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

/* Tiles: the one in the middle, then those above, below, on the left and on the right that there
 * are (bits of `there`), then the result. Beyond the plate there is 0. */
static void mean(int n, int there, double *const *tiles)
{
    const double *middle = tiles[0], *around[4];
    int count = 1;
    for (int k = 0; k < 4; k++)
        around[k] = there & 1 << k ? tiles[count++] : NULL;
    double *result = tiles[count];
    for (int i = 0; i < n; i++) {
        const double *row = middle + i * n, *above = row - n, *below = row + n;
        double *to = result + i * n;
        if (i == 0)
            above = around[0] ? around[0] + (n - 1) * n : NULL;
        if (i == n - 1)
            below = around[1];
        for (int j = 1; j < n - 1 && above && below; j++)
            to[j] = 0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1]);
        for (int j = 0; j < n; j += above && below && n > 1 ? n - 1 : 1) {
            const double left = j > 0 ? row[j - 1] : around[2] ? around[2][i * n + n - 1] : 0;
            const double right = j < n - 1 ? row[j + 1] : around[3] ? around[3][i * n] : 0;
            to[j] = 0.25 * ((above ? above[j] : 0) + (below ? below[j] : 0) + left + right);
        }
    }
}

/* The fraction of a sum that depends on what is read, and in what order. */
static void mix(int count, double *const *tiles)
{
    double sum = 0.7;
    for (int i = 0; i < count - 1; i++)
        sum += (i + 2) * 1.37 * *tiles[i];
    *tiles[count - 1] = sum - floor(sum);
}

void tile_run(const tile_call *call, int n, double *const *tiles)
{
    double *a = tiles[0], *b = tiles[1], *c = tiles[2]; /* NULL where there are fewer */
    switch (call->kernel) {
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
    case TILE_MEAN:
        mean(n, call->work, tiles);
        break;
    case TILE_SPIN:
        spin(call->work);
        mix(call->count, tiles);
        break;
    case TILE_KERNELS:
        break;
    }
}
