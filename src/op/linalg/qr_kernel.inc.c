/* The routines of one dtype; qr_kernel.c includes this once for each. It wants ITEM, NAME(x): x
 * with the dtype's suffix, BLAS: its routines of blas_kernel.h; LAPACK(x): the routine x;
 * MULTIPLY: the one that multiplies by Q, ADJOINT: what it calls its adjoint; and RE(x). */

static size_t NAME(bytes_of)(ITEM items)
{
    return ((size_t)RE(items) + 1) * sizeof(ITEM);
}

static size_t NAME(factor_bytes)(int64_t m, int64_t n)
{
    const int rows = (int)m, columns = (int)n, query = -1, step = rows > 1 ? rows : 1;
    ITEM items = 0, none = 0;
    int info = 0;
    LAPACK(geqrf)(&rows, &columns, &none, &step, &none, &items, &query, &info);
    return NAME(bytes_of)(items);
}

static void NAME(factor)(hki_blas_matrix a, void *tau, void *work, size_t bytes)
{
    const int m = (int)a.rows, n = (int)a.columns, step = leading(&a);
    const int items = (int)(bytes / sizeof(ITEM));
    int info = 0;
    LAPACK(geqrf)(&m, &n, a.data, &step, tau, work, &items, &info);
}

static size_t NAME(multiply_bytes)(bool right, int64_t m, int64_t n, int64_t count)
{
    const int rows = (int)m, columns = (int)n, k = (int)count, query = -1;
    const int order = right ? columns : rows, step = order > 1 ? order : 1,
              other = rows > 1 ? rows : 1;
    ITEM items = 0, none = 0;
    int info = 0;
    LAPACK(MULTIPLY)
    (right ? "R" : "L", "N", &rows, &columns, &k, &none, &step, &none, &none, &other, &items,
     &query, &info, 1, 1);
    return NAME(bytes_of)(items);
}

static void NAME(multiply)(bool right, bool adjoint, hki_blas_matrix a, int64_t count,
                           const void *tau, hki_blas_matrix c, void *work, size_t bytes)
{
    const int m = (int)c.rows, n = (int)c.columns, k = (int)count, step = leading(&a),
              other = leading(&c), items = (int)(bytes / sizeof(ITEM));
    int info = 0;
    LAPACK(MULTIPLY)
    (right ? "R" : "L", adjoint ? ADJOINT : "N", &m, &n, &k, a.data, &step, tau, c.data, &other,
     work, &items, &info, 1, 1);
}

/* Column i of t: -tau[i] times t before it times the products of the vectors before with that
 * one. */
static void NAME(gather)(hki_blas_matrix panel, const void *tau, hki_reflections to, void *sums)
{
    const int64_t n = to.t.rows;
    ITEM *first = to.first.data, *t = to.t.data;
    const ITEM *items = panel.data, *factors = tau, *products = sums;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            first[j * n + i] = i > j ? items[j * panel.column_step + i] : i == j;
    /* item (i, l) of the lower triangle: v_l^H v_i */
    const hki_blas_matrix square = {sums, n, n, n, 1, false};
    BLAS.rank_k(false, 1, hki_blas_transposed(to.first), 0, square);
    if (to.others.rows > 0)
        BLAS.rank_k(false, 1, hki_blas_transposed(to.others), 1, square);
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < n; l++) {
            ITEM sum = 0;
            for (int64_t p = l; p < i; p++)
                sum += t[l * n + p] * products[i * n + p];
            t[l * n + i] = l > i ? 0 : l == i ? factors[i] : -factors[i] * sum;
        }
}

static bool NAME(is_negative)(hki_blas_matrix a, int64_t i)
{
    return RE(((const ITEM *)a.data)[i * (a.row_step + a.column_step)]) < 0;
}

static void NAME(negate)(hki_blas_matrix x)
{
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t j = 0; j < x.columns; j++) {
            ITEM *item = (ITEM *)x.data + i * x.row_step + j * x.column_step;
            *item = -*item;
        }
}

const hki_qr NAME(hki_qr) = {
    .factor_bytes = NAME(factor_bytes),
    .factor = NAME(factor),
    .multiply_bytes = NAME(multiply_bytes),
    .multiply = NAME(multiply),
    .gather = NAME(gather),
    .is_negative = NAME(is_negative),
    .negate = NAME(negate),
};

/* What the includer has said. */
#undef ITEM
#undef NAME
#undef BLAS
#undef LAPACK
#undef MULTIPLY
#undef ADJOINT
#undef RE
