/* The products of one type; gemm_kernel.c includes this once for each. It wants
 *   ITEM    the type, and SUM the one to add and multiply in (unsigned for integers: defined
 * wrapping) NAME(x) x with the type's suffix BLAS(x) the BLAS routine x of the type, for the types
 * that have one */

/* C = beta C, whatever C holds where beta is 0. */
static void NAME(scale)(int64_t m, int64_t n, ITEM beta, ITEM *c, int64_t ldc)
{
    for (int64_t i = 0; i < m && beta != 1; i++)
        for (int64_t j = 0; j < n; j++)
            c[i * ldc + j] = beta == 0 ? 0 : (ITEM)((SUM)beta * (SUM)c[i * ldc + j]);
}

/* C += alpha op(A) op(B), each sum in the order of k. */
static void NAME(loops)(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, ITEM alpha,
                        const ITEM *a, int64_t lda, const ITEM *b, int64_t ldb, ITEM *c,
                        int64_t ldc)
{
    const int64_t row_a = trans_a ? 1 : lda, column_a = trans_a ? lda : 1;

    for (int64_t i = 0; i < m; i++) {
        ITEM *row_c = c + i * ldc;
        for (int64_t j = 0; trans_b && j < n; j++) {
            SUM sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += (SUM)a[i * row_a + l * column_a] * (SUM)b[j * ldb + l];
            row_c[j] = (ITEM)((SUM)row_c[j] + (SUM)alpha * sum);
        }
        for (int64_t l = 0; !trans_b && l < k; l++) {
            const SUM factor = (SUM)alpha * (SUM)a[i * row_a + l * column_a];
            const ITEM *row_b = b + l * ldb;
            for (int64_t j = 0; j < n; j++)
                row_c[j] = (ITEM)((SUM)row_c[j] + factor * (SUM)row_b[j]);
        }
    }
}

#ifdef BLAS

/* One block, its sizes and leading dimensions within an int. A vector on either side goes to gemv,
 * for which nothing is packed. */
static void NAME(block)(bool trans_a, bool trans_b, int m, int n, int k, ITEM alpha, const ITEM *a,
                        int lda, const ITEM *b, int ldb, ITEM beta, ITEM *c, int ldc)
{
    const bool may_gemv = hki_kernel_isa_get() != HKI_ISA_PORTABLE;

    if (n == 1 && may_gemv) {
        NAME(scale)(m, 1, beta, c, ldc);
        BLAS(gemv)
        (CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_a ? k : m, trans_a ? m : k,
         alpha, a, lda, b, trans_b ? 1 : ldb, 1, c, ldc);
    } else if (m == 1 && may_gemv) {
        NAME(scale)(1, n, beta, c, ldc);
        BLAS(gemv)
        (CblasRowMajor, trans_b ? CblasNoTrans : CblasTrans, trans_b ? n : k, trans_b ? k : n,
         alpha, b, ldb, a, trans_a ? lda : 1, 1, c, 1);
    } else {
        BLAS(gemm)
        (CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_b ? CblasTrans : CblasNoTrans, m,
         n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
}

#endif

bool NAME(hki_gemm)(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, ITEM alpha,
                    const ITEM *a, int64_t lda, const ITEM *b, int64_t ldb, ITEM beta, ITEM *c,
                    int64_t ldc)
{
    if (m <= 0 || n <= 0)
        return true;
    assert(m == 1 || ldc >= n);
    if (k <= 0 || alpha == 0) {
        NAME(scale)(m, n, beta, c, ldc);
        return true;
    }
#ifdef BLAS
    if (blas_takes(trans_a ? k : m, trans_a ? m : k, &lda) &&
        blas_takes(trans_b ? n : k, trans_b ? k : n, &ldb) && blas_takes(m, n, &ldc)) {
        if (!hki_blas_memory_reserve())
            return false;
        for (int64_t i = 0; i < m; i += BLOCK_ROWS)
            for (int64_t j = 0; j < n; j += BLOCK_LONG)
                for (int64_t l = 0; l < k; l += BLOCK_LONG)
                    NAME(block)
        (trans_a, trans_b, (int)hki_min(m - i, BLOCK_ROWS), (int)hki_min(n - j, BLOCK_LONG),
         (int)hki_min(k - l, BLOCK_LONG), alpha, a + (trans_a ? l * lda + i : i * lda + l),
         (int)lda, b + (trans_b ? j * ldb + l : l * ldb + j), (int)ldb, l == 0 ? beta : 1,
         c + i * ldc + j, (int)ldc);
        return true;
    }
#endif
    NAME(scale)(m, n, beta, c, ldc);
    NAME(loops)(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, c, ldc);
    return true;
}
