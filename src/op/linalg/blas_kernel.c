#include "op/linalg/blas_kernel.h"

#include "op/linalg/lapack.h"

#include <cblas.h>
#include <complex.h>
#include <limits.h>
#include <string.h>

bool hki_blas_is_by_rows(const hki_blas_matrix *x)
{
    return x->column_step == 1 && (x->row_step >= x->columns || x->rows <= 1);
}

static bool is_by_columns(const hki_blas_matrix *x)
{
    return x->row_step == 1 && (x->column_step >= x->rows || x->columns <= 1);
}

bool hki_blas_takes(const hki_blas_matrix *x)
{
    return x->row_step > 0 && x->column_step > 0 && x->row_step <= INT_MAX &&
           x->column_step <= INT_MAX && (hki_blas_is_by_rows(x) || is_by_columns(x));
}

/* Of a single line the step to the next one means nothing, but BLAS checks it. */
static int leading(const hki_blas_matrix *x)
{
    const bool by_rows = hki_blas_is_by_rows(x);
    const int64_t least = by_rows ? x->columns : x->rows,
                  step = by_rows ? x->row_step : x->column_step;
    return (int)(step > least ? step : least > 0 ? least : 1);
}

static enum CBLAS_TRANSPOSE transposition(bool is_transposed, bool is_conjugated)
{
    if (is_transposed)
        return is_conjugated ? CblasConjTrans : CblasTrans;
    return is_conjugated ? CblasConjNoTrans : CblasNoTrans;
}

/* The name of a routine, which may be a macro. */
#define ROUTINE(p, x)  ROUTINE_(p, x)
#define ROUTINE_(p, x) cblas_##p##x
#define LAPACK_(p, x)  p##x##_

#define ITEM         float
#define REAL         float
#define NAME(x)      x##_f32
#define BLAS(x)      ROUTINE(s, x)
#define RANK_K       syrk
#define FACTOR(x)    x
#define LAPACK(x)    LAPACK_(s, x)
#define REAL_PART(x) x
#define CONJUGATE(x) x
#include "op/linalg/blas_kernel.inc.c"

#define ITEM         double
#define REAL         double
#define NAME(x)      x##_f64
#define BLAS(x)      ROUTINE(d, x)
#define RANK_K       syrk
#define FACTOR(x)    x
#define LAPACK(x)    LAPACK_(d, x)
#define REAL_PART(x) x
#define CONJUGATE(x) x
#include "op/linalg/blas_kernel.inc.c"

#define ITEM         float _Complex
#define REAL         float
#define NAME(x)      x##_c64
#define BLAS(x)      ROUTINE(c, x)
#define RANK_K       herk
#define FACTOR(x)    &x
#define LAPACK(x)    LAPACK_(c, x)
#define REAL_PART(x) crealf(x)
#define CONJUGATE(x) conjf(x)
#include "op/linalg/blas_kernel.inc.c"

#define ITEM         double _Complex
#define REAL         double
#define NAME(x)      x##_c128
#define BLAS(x)      ROUTINE(z, x)
#define RANK_K       herk
#define FACTOR(x)    &x
#define LAPACK(x)    LAPACK_(z, x)
#define REAL_PART(x) creal(x)
#define CONJUGATE(x) conj(x)
#include "op/linalg/blas_kernel.inc.c"
