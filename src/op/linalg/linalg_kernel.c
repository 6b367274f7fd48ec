#include "op/linalg/linalg_kernel.h"

#include "op/linalg/lapack.h"
#include "op/matmul/gemm_kernel.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* The one function of Fortran's run-time library that those routines call, to join the letters of two options: so no such
 * library need be there. Weak, for a program that has that library. Written after its interface in GCC's
 * libgfortran/intrinsics/string_intrinsics_inc.c: `to` is padded with blanks. */
void _gfortran_concat_string(size_t to_bytes, char *to, size_t first_bytes, const char *first,
                             size_t second_bytes, const char *second);
__attribute__((weak)) void _gfortran_concat_string(size_t to_bytes, char *to, size_t first_bytes,
                                                   const char *first, size_t second_bytes,
                                                   const char *second)
{
    for (size_t i = 0; i < to_bytes; i++)
        to[i] = i < first_bytes                  ? first[i]
                : i - first_bytes < second_bytes ? second[i - first_bytes]
                                                 : ' ';
}

/* The name of a routine, which may be a macro. */
#define ROUTINE(p, x)  ROUTINE_(p, x)
#define ROUTINE_(p, x) p##x##_

#define ITEM       float
#define REAL       float
#define IS_COMPLEX 0
#define WIDE       double
#define NAME(x)    x##_f32
#define LAPACK(x)  ROUTINE(s, x)
#define UNITARY_LQ orglq
#define GEMM       hki_gemm_f32
#define EPSILON    (double)FLT_EPSILON
#include "op/linalg/linalg_kernel.inc.c"

#define ITEM       double
#define REAL       double
#define IS_COMPLEX 0
#define WIDE       double
#define NAME(x)    x##_f64
#define LAPACK(x)  ROUTINE(d, x)
#define UNITARY_LQ orglq
#define GEMM       hki_gemm_f64
#define EPSILON    DBL_EPSILON
#include "op/linalg/linalg_kernel.inc.c"

#define ITEM       float _Complex
#define REAL       float
#define IS_COMPLEX 1
#define WIDE       double _Complex
#define NAME(x)    x##_c64
#define LAPACK(x)  ROUTINE(c, x)
#define UNITARY_LQ unglq
#define EPSILON    (double)FLT_EPSILON
#include "op/linalg/linalg_kernel.inc.c"

#define ITEM       double _Complex
#define REAL       double
#define IS_COMPLEX 1
#define WIDE       double _Complex
#define NAME(x)    x##_c128
#define LAPACK(x)  ROUTINE(z, x)
#define UNITARY_LQ unglq
#define EPSILON    DBL_EPSILON
#include "op/linalg/linalg_kernel.inc.c"
