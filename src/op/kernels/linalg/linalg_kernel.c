#include "op/kernels/linalg/linalg_kernel.h"

#include "op/kernels/gemm/gemm_kernel.h"
#include "op/kernels/linalg/lapack.h"

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

#define ITEM      float
#define NAME(x)   x##_f32
#define LAPACK(x) s##x##_
#define GEMM      hki_gemm_f32
#define EPSILON   (double)FLT_EPSILON
#include "op/kernels/linalg/linalg_kernel.inc.c"
#undef ITEM
#undef NAME
#undef LAPACK
#undef GEMM
#undef EPSILON

#define ITEM      double
#define NAME(x)   x##_f64
#define LAPACK(x) d##x##_
#define GEMM      hki_gemm_f64
#define EPSILON   DBL_EPSILON
#include "op/kernels/linalg/linalg_kernel.inc.c"
