#include "op/linalg/qr_kernel.h"

#include "op/linalg/lapack.h"

#include <complex.h>

/* The name of a routine, which may be a macro. */
#define ROUTINE(p, x)  ROUTINE_(p, x)
#define ROUTINE_(p, x) p##x##_

static int leading(const hki_blas_matrix *x)
{
    return (int)(x->columns > 1 ? x->column_step : x->rows > 1 ? x->rows : 1);
}

#define ITEM      float
#define NAME(x)   x##_f32
#define BLAS      hki_blas_f32
#define LAPACK(x) ROUTINE(s, x)
#define MULTIPLY  ormqr
#define ADJOINT   "T"
#define RE(x)     (x)
#include "op/linalg/qr_kernel.inc.c"

#define ITEM      double
#define NAME(x)   x##_f64
#define BLAS      hki_blas_f64
#define LAPACK(x) ROUTINE(d, x)
#define MULTIPLY  ormqr
#define ADJOINT   "T"
#define RE(x)     (x)
#include "op/linalg/qr_kernel.inc.c"

#define ITEM      float _Complex
#define NAME(x)   x##_c64
#define BLAS      hki_blas_c64
#define LAPACK(x) ROUTINE(c, x)
#define MULTIPLY  unmqr
#define ADJOINT   "C"
#define RE(x)     crealf(x)
#include "op/linalg/qr_kernel.inc.c"

#define ITEM      double _Complex
#define NAME(x)   x##_c128
#define BLAS      hki_blas_c128
#define LAPACK(x) ROUTINE(z, x)
#define MULTIPLY  unmqr
#define ADJOINT   "C"
#define RE(x)     creal(x)
#include "op/linalg/qr_kernel.inc.c"
