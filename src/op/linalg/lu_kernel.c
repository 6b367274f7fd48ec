#include "op/linalg/lu_kernel.h"

#include "op/linalg/lapack.h"

#include <complex.h>

_Static_assert(sizeof(int) == sizeof(int32_t), "LAPACK writes pivots");

#define ITEM    float
#define NAME(x) x##_f32
#define GETRF   sgetrf_
#include "op/linalg/lu_kernel.inc.c"

#define ITEM    double
#define NAME(x) x##_f64
#define GETRF   dgetrf_
#include "op/linalg/lu_kernel.inc.c"

#define ITEM    float _Complex
#define NAME(x) x##_c64
#define GETRF   cgetrf_
#include "op/linalg/lu_kernel.inc.c"

#define ITEM    double _Complex
#define NAME(x) x##_c128
#define GETRF   zgetrf_
#include "op/linalg/lu_kernel.inc.c"
