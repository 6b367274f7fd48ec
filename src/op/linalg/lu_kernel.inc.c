/* The routines of one dtype; lu_kernel.c includes this once for each. It wants ITEM, NAME(x): x
 * with the dtype's suffix, and GETRF: the routine of LAPACK. */

static void NAME(factor)(hki_blas_matrix a, int32_t *pivots)
{
    const int m = (int)a.rows, n = (int)a.columns, step = (int)(a.columns > 1 ? a.column_step : m);
    int info = 0; /* a pivot of 0 stays in U */
    GETRF(&m, &n, a.data, &step, pivots, &info);
    for (int i = 0; i < m && i < n; i++)
        pivots[i]--;
}

static void NAME(swap_rows)(hki_blas_matrix x, int64_t first, const int32_t *pivots, int64_t count,
                            bool backwards)
{
    ITEM *items = x.data;
    enum { BLOCK = 32 }; /* columns, so that those of a matrix by rows share their lines */
    const int64_t block = x.column_step == 1 ? BLOCK : 1;
    for (int64_t column = 0; column < x.columns; column += block) {
        const int64_t end = column + block < x.columns ? column + block : x.columns;
        for (int64_t k = 0; k < count; k++) {
            const int64_t i = backwards ? count - 1 - k : k;
            ITEM *one = items + (first + i) * x.row_step, *other = items + pivots[i] * x.row_step;
            for (int64_t j = column; j < end && one != other; j++) {
                const ITEM kept = one[j * x.column_step];
                one[j * x.column_step] = other[j * x.column_step];
                other[j * x.column_step] = kept;
            }
        }
    }
}

static int64_t NAME(find_zero)(hki_blas_matrix x)
{
    const ITEM *items = x.data;
    for (int64_t i = 0; i < x.rows && i < x.columns; i++)
        if (items[i * (x.row_step + x.column_step)] == 0)
            return i;
    return -1;
}

static void NAME(set_identity)(hki_blas_matrix x, int64_t row)
{
    ITEM *items = x.data;
    for (int64_t j = 0; j < x.columns; j++) {
        for (int64_t i = 0; i < x.rows; i++)
            items[i * x.row_step + j * x.column_step] = 0;
        items[(row + j) * x.row_step + j * x.column_step] = 1;
    }
}

const hki_lu NAME(hki_lu) = {
    .factor = NAME(factor),
    .swap_rows = NAME(swap_rows),
    .find_zero = NAME(find_zero),
    .set_identity = NAME(set_identity),
};

/* What the includer has said. */
#undef ITEM
#undef NAME
#undef GETRF
