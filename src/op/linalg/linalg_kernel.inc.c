/* The routines of one dtype; linalg_kernel.c includes this once for each. It wants ITEM, REAL: its parts, IS_COMPLEX, WIDE: an item of
 * double, NAME(x): x with the dtype's suffix, LAPACK(x): the routine x, and UNITARY_LQ: the one of the factor Q, GEMM: the product of
 * real ones, EPSILON: of the dtype.
 *
 * LAPACK sees a row-major matrix as its transpose: of a = L L^T it makes the upper factor, of a = U S V^T the vectors of
 * V S U^T, and a = Q R is the transpose of R^T Q^T. The transpose of a Hermitian matrix is its conjugate. */
#if IS_COMPLEX
#define CONJ(x)     ((ITEM)conj((WIDE)(x)))
#define RE(x)       creal((WIDE)(x))
#define ABSOLUTE(x) cabs((WIDE)(x))
#else
#define CONJ(x)     (x)
#define RE(x)       ((double)(x))
#define ABSOLUTE(x) fabs((double)(x))
#endif

static bool NAME(is_finite)(const void *x, int64_t count)
{
    const ITEM *items = x;
    ITEM sum = 0; /* 0 times what is not finite is NaN */
    for (int64_t i = 0; i < count; i++)
        sum += items[i] * 0;
    return sum == 0;
}

static bool NAME(is_zero)(const void *item)
{
    return *(const ITEM *)item == 0;
}

static void NAME(transpose)(int m, int n, const void *x, void *to)
{
    enum { BLOCK = 16 };
    for (int64_t row = 0; row < m; row += BLOCK)
        for (int64_t column = 0; column < n; column++)
            for (int64_t i = row; i < m && i < row + BLOCK; i++)
                ((ITEM *)to)[column * m + i] = ((const ITEM *)x)[i * n + column];
}

static void NAME(adjoint)(int m, int n, const void *x, void *to)
{
    NAME(transpose)(m, n, x, to);
    for (int64_t i = 0; IS_COMPLEX && i < (int64_t)m * n; i++)
        ((ITEM *)to)[i] = CONJ(((ITEM *)to)[i]);
}

static void NAME(symmetrise)(int n, const void *x, void *to)
{
    const ITEM *from = x;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            const ITEM below = from[i * n + j], above = CONJ(from[j * n + i]);
            const ITEM mean = below == above ? below : below / 2 + above / 2;
            ((ITEM *)to)[i * n + j] = mean;
            ((ITEM *)to)[j * n + i] = CONJ(mean);
        }
    }
}

/* ---- triangles -------------------------------------------------------------------------------------------- */

static int NAME(cholesky)(int n, void *a, bool upper)
{
    ITEM *items = a;
    int info = 0;
    LAPACK(potrf)("U", &n, a, &n, &info, 1);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++) {
            ITEM *above = &items[i * n + j], *below = &items[j * n + i];
            *above = upper ? CONJ(*below) : 0;
            *below = upper ? 0 : *below;
        }
    }
    return info;
}

static int NAME(lu)(int n, void *a, int *pivots)
{
    int info = 0;
    LAPACK(getrf)(&n, &n, a, &n, pivots, &info);
    return info;
}

static void NAME(lu_determinant)(int n, const void *lu, const int *pivots, void *value)
{
    WIDE product = 1;
    for (int64_t i = 0; i < n; i++)
        product *= (pivots[i] == i + 1 ? 1.0 : -1.0) * (WIDE)((const ITEM *)lu)[i * n + i];
    *(ITEM *)value = (ITEM)product;
}

static void NAME(lu_sign)(int n, const void *lu, const int *pivots, void *sign)
{
    WIDE product = 1;
    for (int64_t i = 0; i < n; i++) {
        const WIDE pivot = (WIDE)((const ITEM *)lu)[i * n + i];
        const double size = ABSOLUTE(pivot);
        product *= (pivots[i] == i + 1 ? 1.0 : -1.0) * (size > 0 ? pivot / size : pivot);
    }
    *(ITEM *)sign = (ITEM)product;
}

static double NAME(lu_log)(int n, const void *lu)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += log(ABSOLUTE(((const ITEM *)lu)[i * n + i]));
    return sum;
}

static void NAME(lu_solve)(int n, int columns, const void *lu, const int *pivots, void *b)
{
    int info = 0;
    LAPACK(getrs)("T", &n, &columns, lu, &n, pivots, b, &n, &info, 1);
}

static hki_linalg_need NAME(lu_invert_need)(int n)
{
    return (hki_linalg_need){(size_t)n * 64 * sizeof(ITEM), 0};
}

static void NAME(lu_invert)(int n, void *lu, const int *pivots, void *work, size_t work_bytes)
{
    const int lwork = (int)(work_bytes / sizeof(ITEM));
    int info = 0;
    LAPACK(getri)(&n, lu, &n, pivots, work, &lwork, &info);
}

/* ---- values and vectors ------------------------------------------------------------------------------------- */

/* What an item is multiplied by to become positive; 0: it is, or can't be. */
static ITEM NAME(turn_of)(ITEM item)
{
#if IS_COMPLEX
    const double size = ABSOLUTE(item);
    return size > 0 ? (ITEM)(conj((WIDE)item) / size) : 0;
#else
    return item < 0 ? -1 : 0;
#endif
}

/* Turns vectors round, of which each has `step` from one of its items to the next, so that the largest of them in size, the first
 * of several, is positive. `other` turns back with it, a row for each, of which there may be fewer. */
static void NAME(orient)(int count, int size, ITEM *x, int64_t vector_step, int64_t step,
                         int other_count, int other_size, ITEM *other)
{
    for (int64_t i = 0; i < count; i++) {
        ITEM *vector = x + i * vector_step;
        int64_t most = 0;
        for (int64_t j = 1; j < size; j++)
            most = ABSOLUTE(vector[j * step]) > ABSOLUTE(vector[most * step]) ? j : most;
        const ITEM turn = NAME(turn_of)(vector[most * step]);
        const double largest = ABSOLUTE(vector[most * step]);
        if (turn == 0)
            continue;
        for (int64_t j = 0; j < size; j++)
            vector[j * step] *= turn;
        vector[most * step] = (ITEM)largest;
        for (int64_t j = 0; j < other_size && i < other_count; j++)
            other[i * other_size + j] *= CONJ(turn);
    }
}

/* What a routine asked for, which a float may have rounded down. */
static size_t NAME(asked)(ITEM items)
{
    return (size_t)ceil(RE(items) * (1 + EPSILON)) * sizeof(ITEM);
}

#if IS_COMPLEX
/* Bytes of the real numbers that routines work in, which lie before the items: LRWORK of heevd. */
static size_t NAME(eigen_reals)(int n, bool vectors)
{
    const size_t size = (size_t)n, items = vectors ? 1 + 5 * size + 2 * size * size : size;
    return (items * sizeof(REAL) + 63) / 64 * 64;
}

static void NAME(call_eigen)(int n, bool vectors, ITEM *a, REAL *values, void *work, size_t bytes,
                             int *integers, int integer_count, int *info)
{
    const size_t reals = NAME(eigen_reals)(n, vectors);
    const int lwork = (int)((bytes - reals) / sizeof(ITEM)), lrwork = (int)(reals / sizeof(REAL));
    LAPACK(heevd)
    (vectors ? "V" : "N", "U", &n, a, &n, values, (ITEM *)(void *)((char *)work + reals), &lwork,
     work, &lrwork, integers, &integer_count, info, 1, 1);
    for (int64_t i = 0; vectors && i < (int64_t)n * n; i++)
        a[i] = CONJ(a[i]);
}

static hki_linalg_need NAME(eigen_need)(int n, bool vectors)
{
    const int query = -1;
    ITEM items = 0, none = 0;
    REAL reals = 0;
    int integers = 0, info = 0;
    LAPACK(heevd)
    (vectors ? "V" : "N", "U", &n, &none, &n, &reals, &items, &query, &reals, &query, &integers,
     &query, &info, 1, 1);
    return (hki_linalg_need){NAME(eigen_reals)(n, vectors) + NAME(asked)(items),
                             (size_t)integers * sizeof(int)};
}
#else
static void NAME(call_eigen)(int n, bool vectors, ITEM *a, REAL *values, void *work, size_t bytes,
                             int *integers, int integer_count, int *info)
{
    const int lwork = (int)(bytes / sizeof(ITEM));
    LAPACK(syevd)
    (vectors ? "V" : "N", "U", &n, a, &n, values, work, &lwork, integers, &integer_count, info, 1,
     1);
}

static hki_linalg_need NAME(eigen_need)(int n, bool vectors)
{
    const int query = -1;
    ITEM items = 0, none = 0;
    int integers = 0, info = 0;
    LAPACK(syevd)
    (vectors ? "V" : "N", "U", &n, &none, &n, &none, &items, &query, &integers, &query, &info, 1,
     1);
    return (hki_linalg_need){NAME(asked)(items), (size_t)integers * sizeof(int)};
}
#endif

static bool NAME(eigen)(int n, bool vectors, void *a, void *values, void *work, void *integers,
                        hki_linalg_need need)
{
    int info = 0;
    NAME(call_eigen)
    (n, vectors, a, values, work, need.work, integers, (int)(need.integers / sizeof(int)), &info);
    if (vectors)
        NAME(orient)(n, n, a, n, 1, 0, 0, NULL);
    return info == 0;
}

static const char *NAME(job_name)(hki_svd_job job)
{
    return job == HKI_SVD_VALUES ? "N" : job == HKI_SVD_THIN ? "S" : "A";
}

#if IS_COMPLEX
/* As above: the dimension of gesdd's RWORK. */
static size_t NAME(svd_reals)(int m, int n, hki_svd_job job)
{
    const size_t least = (size_t)(m < n ? m : n), most = (size_t)(m < n ? n : m);
    const size_t square = 5 * least * least + 5 * least,
                 wide = 2 * most * least + 2 * least * least + least;
    const size_t items = job == HKI_SVD_VALUES ? 7 * least : square > wide ? square : wide;
    return (items * sizeof(REAL) + 63) / 64 * 64;
}
#define SVD_REALS(m, n, job) NAME(svd_reals)(m, n, job)
#define RWORK                reals,
#else
#define SVD_REALS(m, n, job) (size_t)0
#define RWORK
#endif

static hki_linalg_need NAME(svd_need)(int m, int n, hki_svd_job job)
{
    const int query = -1, k = m < n ? m : n, rows = job == HKI_SVD_FULL ? m : k;
    ITEM items = 0, none = 0;
    REAL real = 0, *reals = &real;
    int integers = 0, info = 0;
    LAPACK(gesdd)
    (NAME(job_name)(job), &n, &m, &none, &n, reals, &none, &n, &none, &rows, &items, &query,
     RWORK & integers, &info, 1);
    return (hki_linalg_need){SVD_REALS(m, n, job) + NAME(asked)(items),
                             (size_t)k * 8 * sizeof(int)};
}

static bool NAME(svd)(int m, int n, hki_svd_job job, void *a, void *values, void *u, void *vt,
                      void *work, void *integers, hki_linalg_need need)
{
    const size_t before = SVD_REALS(m, n, job);
    const int lwork = (int)((need.work - before) / sizeof(ITEM)), k = m < n ? m : n;
    const int rows = job == HKI_SVD_FULL ? m : k;
    REAL *reals = work;
    ITEM *room = (ITEM *)(void *)((char *)work + before);
    int info = 0;
    (void)reals;
    LAPACK(gesdd)
    (NAME(job_name)(job), &n, &m, a, &n, values, vt, &n, u, &rows, room, &lwork, RWORK integers,
     &info, 1);
    if (job != HKI_SVD_VALUES) {
        NAME(orient)(rows, m, u, 1, rows, k, n, vt);
        if (job == HKI_SVD_FULL)
            NAME(orient)(n - k, n, (ITEM *)vt + (int64_t)k * n, n, 1, 0, 0, NULL);
    }
    return info == 0;
}

/* Behind the work of both routines lie the factors of the reflections. */
static hki_linalg_need NAME(qr_need)(int m, int n, int columns)
{
    const int query = -1, k = m < n ? m : n, taken = columns < m ? columns : m;
    ITEM first = 0, second = 0, none = 0;
    int info = 0;
    LAPACK(gelqf)(&n, &m, &none, &n, &none, &first, &query, &info);
    LAPACK(UNITARY_LQ)(&taken, &m, &k, &none, &taken, &none, &second, &query, &info);
    const size_t work = NAME(asked)(RE(first) > RE(second) ? first : second);
    return (hki_linalg_need){work + (size_t)k * sizeof(ITEM), 0};
}

static void NAME(qr)(int m, int n, int columns, const void *a, void *q, void *r, void *work,
                     size_t work_bytes)
{
    const int k = m < n ? m : n, ld = columns > n ? columns : n;
    const int lwork = (int)(work_bytes / sizeof(ITEM)) - k;
    ITEM *rows = q, *triangle = r, *tau = (ITEM *)work + lwork;
    int info = 0;
    for (int64_t i = 0; i < m; i++)
        memcpy(rows + i * ld, (const ITEM *)a + i * n, (size_t)n * sizeof *rows);
    LAPACK(gelqf)(&n, &m, rows, &ld, tau, work, &lwork, &info);
    for (int64_t i = 0; i < columns; i++)
        for (int64_t j = 0; j < n; j++)
            triangle[i * n + j] = j >= i && i < k ? rows[i * ld + j] : 0;
    LAPACK(UNITARY_LQ)(&columns, &m, &k, rows, &ld, tau, work, &lwork, &info);
    for (int64_t i = 1; i < m && ld > columns; i++)
        memmove(rows + i * columns, rows + i * ld, (size_t)columns * sizeof *rows);
    for (int64_t i = 0; i < k; i++) {
        if (!(RE(triangle[i * n + i]) < 0))
            continue;
        for (int64_t j = i; j < n; j++) /* zeros before stay without a sign */
            triangle[i * n + j] = -triangle[i * n + j];
        for (int64_t j = 0; j < m; j++)
            rows[j * columns + i] = -rows[j * columns + i];
    }
}

static bool NAME(scaled_product)(int m, int n, int k, void *left, const void *by, const void *right,
                                 void *to)
{
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < m; j++) {
            ITEM *item = &((ITEM *)left)[i * m + j];
            *item = CONJ(*item) * ((const REAL *)by)[i];
        }
#if IS_COMPLEX
    const ITEM one = 1, zero = 0;
    LAPACK(gemm)("N", "T", &n, &m, &k, &one, right, &n, left, &m, &zero, to, &n, 1, 1);
    return true;
#else
    return GEMM(true, false, m, n, k, 1, left, m, right, n, 0, to, n);
#endif
}

const hki_linalg NAME(hki_linalg) = {
    .item = sizeof(ITEM),
    .real = sizeof(REAL),
    .is_finite = NAME(is_finite),
    .is_zero = NAME(is_zero),
    .cholesky = NAME(cholesky),
    .lu = NAME(lu),
    .lu_determinant = NAME(lu_determinant),
    .lu_sign = NAME(lu_sign),
    .lu_log = NAME(lu_log),
    .lu_solve = NAME(lu_solve),
    .lu_invert_need = NAME(lu_invert_need),
    .lu_invert = NAME(lu_invert),
    .eigen_need = NAME(eigen_need),
    .eigen = NAME(eigen),
    .svd_need = NAME(svd_need),
    .svd = NAME(svd),
    .qr_need = NAME(qr_need),
    .qr = NAME(qr),
    .scaled_product = NAME(scaled_product),
    .symmetrise = NAME(symmetrise),
    .transpose = NAME(transpose),
    .adjoint = NAME(adjoint),
};

#undef CONJ
#undef RE
#undef ABSOLUTE
#undef SVD_REALS
#undef RWORK

/* What the includer has said. */
#undef ITEM
#undef REAL
#undef IS_COMPLEX
#undef WIDE
#undef NAME
#undef LAPACK
#undef UNITARY_LQ
#undef GEMM
#undef EPSILON
