/* The routines of one dtype; blas_kernel.c includes this once for each. It wants ITEM; NAME(x):
 * x with the dtype's suffix; BLAS(x): the routine x; RANK_K: the routine that updates one
 * triangle; REAL: the type of its factors; FACTOR(x): a factor as other routines take it, a
 * value or a pointer; LAPACK(x): the routine x; REAL_PART(x), CONJUGATE(x). */

static void NAME(copy)(hki_blas_matrix x, hki_blas_matrix to)
{
    enum { BLOCK = 16 }; /* columns of a block of rows, where one of both is by columns */
    const bool turns = x.column_step != 1 || to.column_step != 1;
    const int64_t rows = turns ? BLOCK : x.rows;
    for (int64_t row = 0; row < x.rows; row += rows) {
        const int64_t end = row + rows < x.rows ? row + rows : x.rows;
        for (int64_t j = 0; turns && j < x.columns; j++)
            for (int64_t i = row; i < end; i++)
                ((ITEM *)to.data)[i * to.row_step + j * to.column_step] =
                    ((const ITEM *)x.data)[i * x.row_step + j * x.column_step];
        for (int64_t i = row; !turns && i < end; i++)
            memmove((ITEM *)to.data + i * to.row_step, (const ITEM *)x.data + i * x.row_step,
                    (size_t)x.columns * sizeof(ITEM));
    }
}

static void NAME(scale)(double beta, hki_blas_matrix x, hki_blas_matrix to)
{
    const bool by_columns = to.row_step == 1 && to.column_step != 1;
    if (by_columns) {
        x = hki_blas_transposed(x);
        to = hki_blas_transposed(to);
    }
    for (int64_t i = 0; i < to.rows; i++) {
        ITEM *row = (ITEM *)to.data + i * to.row_step;
        for (int64_t j = 0; j < to.columns; j++) {
            ITEM *item = &row[j * to.column_step];
            *item = beta == 0
                        ? 0
                        : (REAL)beta * ((const ITEM *)x.data)[i * x.row_step + j * x.column_step];
        }
    }
}

static bool NAME(gather_hermitian)(bool triangle, hki_blas_matrix x, hki_blas_matrix above,
                                   hki_blas_matrix to)
{
    const ITEM *items = x.data, *others = above.data;
    ITEM *results = to.data, sum = 0; /* 0 times what is not finite is NaN */
    for (int64_t i = 0; i < to.rows; i++)
        for (int64_t j = 0; j < (triangle ? i + 1 : to.columns); j++) {
            ITEM item = items[i * x.row_step + j * x.column_step];
            if (triangle && i == j)
                item = REAL_PART(item);
            if (others) {
                const ITEM other = CONJUGATE(others[j * above.row_step + i * above.column_step]);
                item = item == other ? item : item / 2 + other / 2;
                if (triangle && i == j)
                    item = REAL_PART(item);
            }
            sum += item * 0;
            if (triangle && i != j)
                results[j * to.row_step + i * to.column_step] = 0;
            results[i * to.row_step + j * to.column_step] = item;
        }
    return sum == 0;
}

static int NAME(cholesky)(hki_blas_matrix a)
{
    const int n = (int)a.rows, step = leading(&a);
    int info = 0;
    LAPACK(potrf)(hki_blas_is_by_rows(&a) ? "U" : "L", &n, a.data, &step, &info, 1);
    return info;
}

static void NAME(solve_triangular)(hki_triangle how, bool right, hki_blas_matrix t,
                                   hki_blas_matrix b)
{
    const ITEM one = 1;
    const bool by_rows = hki_blas_is_by_rows(&b);
    if (b.rows == 0 || b.columns == 0)
        return;
    if (hki_blas_is_by_rows(&t) != by_rows) { /* as its transpose */
        how.upper = !how.upper;
        how.transposed = !how.transposed;
        t = hki_blas_transposed(t);
    }
    BLAS(trsm)
    (by_rows ? CblasRowMajor : CblasColMajor, right ? CblasRight : CblasLeft,
     how.upper ? CblasUpper : CblasLower, transposition(how.transposed, how.conjugated),
     how.unit_diagonal ? CblasUnit : CblasNonUnit, (int)b.rows, (int)b.columns, FACTOR(one), t.data,
     leading(&t), b.data, leading(&b));
}

static void NAME(product)(double alpha, hki_blas_matrix x, hki_blas_matrix y, double beta,
                          hki_blas_matrix c)
{
    const bool by_rows = hki_blas_is_by_rows(&c);
    const ITEM factor = (REAL)alpha, kept = (REAL)beta;
    if (c.rows == 0 || c.columns == 0)
        return;
    if (x.columns == 0) {
        NAME(scale)(beta, c, c);
        return;
    }
    BLAS(gemm)
    (by_rows ? CblasRowMajor : CblasColMajor,
     transposition(hki_blas_is_by_rows(&x) != by_rows, x.conjugated),
     transposition(hki_blas_is_by_rows(&y) != by_rows, y.conjugated), (int)c.rows, (int)c.columns,
     (int)x.columns, FACTOR(factor), x.data, leading(&x), y.data, leading(&y), FACTOR(kept), c.data,
     leading(&c));
}

static void NAME(rank_k)(bool upper, double alpha, hki_blas_matrix x, double beta,
                         hki_blas_matrix c)
{
    const bool by_rows = hki_blas_is_by_rows(&c);
    if (x.columns == 0) /* lies like c */
        x = (hki_blas_matrix){x.data, x.rows, 0, 1, by_rows ? 1 : x.rows, false};
    BLAS(RANK_K)
    (by_rows ? CblasRowMajor : CblasColMajor, upper ? CblasUpper : CblasLower,
     hki_blas_is_by_rows(&x) == by_rows ? CblasNoTrans : CblasTrans, (int)c.rows, (int)x.columns,
     (REAL)alpha, x.data, leading(&x), (REAL)beta, c.data, leading(&c));
}

const hki_blas NAME(hki_blas) = {
    .item = sizeof(ITEM),
    .copy = NAME(copy),
    .scale = NAME(scale),
    .gather_hermitian = NAME(gather_hermitian),
    .cholesky = NAME(cholesky),
    .solve_triangular = NAME(solve_triangular),
    .product = NAME(product),
    .rank_k = NAME(rank_k),
};

/* What the includer has said. */
#undef ITEM
#undef REAL
#undef NAME
#undef BLAS
#undef RANK_K
#undef FACTOR
#undef LAPACK
#undef REAL_PART
#undef CONJUGATE
