#include "op/conv/conv2d_groups_kernel.h"

#include "base/kernel_isa.h"
#include "op/reduce/row_sums.h"

#include <string.h>

enum { LANES = 8 };

/* How the elements j of a row of `out` stand to those of one of `in`: j stride + an offset. */
typedef struct row {
    int64_t stride, in, out;
} row;

typedef struct range {
    int64_t begin, end;
} range;

/* Those whose element at the offset is no padding. */
static inline range reach(const row *of, int64_t offset)
{
    const int64_t stride = of->stride, room = of->in - offset; /* before the end */
    range at = {offset < 0 ? -offset : 0, room > 0 ? room : 0};
    if (stride > 1) {
        at.begin = (at.begin + stride - 1) / stride;
        at.end = (at.end + stride - 1) / stride;
    }
    at.end = at.end < of->out ? at.end : of->out;
    at.begin = at.begin < at.end ? at.begin : at.end;
    return at;
}

/* ---- the loops, for each dtype and instruction set ---- */

#define GROUPS_T float
#define ROW_SUM  hki_row_sum_f32

#define GROUPS_TARGET
#define GROUPS_FN(name) name##_portable_f32
#include "op/conv/conv2d_groups_kernel.inc.c"
#undef GROUPS_TARGET
#undef GROUPS_FN

#if HKI_HAVE_X86_ISAS
#define GROUPS_TARGET   HKI_TARGET_AVX2
#define GROUPS_FN(name) name##_avx2_f32
#include "op/conv/conv2d_groups_kernel.inc.c"
#undef GROUPS_TARGET
#undef GROUPS_FN

#define GROUPS_TARGET   HKI_TARGET_AVX512
#define GROUPS_FN(name) name##_avx512_f32
#include "op/conv/conv2d_groups_kernel.inc.c"
#undef GROUPS_TARGET
#undef GROUPS_FN
#endif

#undef GROUPS_T
#undef ROW_SUM

#define GROUPS_T double
#define ROW_SUM  hki_row_sum_f64

#define GROUPS_TARGET
#define GROUPS_FN(name) name##_portable_f64
#include "op/conv/conv2d_groups_kernel.inc.c"
#undef GROUPS_TARGET
#undef GROUPS_FN

#if HKI_HAVE_X86_ISAS
#define GROUPS_TARGET   HKI_TARGET_AVX2
#define GROUPS_FN(name) name##_avx2_f64
#include "op/conv/conv2d_groups_kernel.inc.c"
#undef GROUPS_TARGET
#undef GROUPS_FN

#define GROUPS_TARGET   HKI_TARGET_AVX512
#define GROUPS_FN(name) name##_avx512_f64
#include "op/conv/conv2d_groups_kernel.inc.c"
#undef GROUPS_TARGET
#undef GROUPS_FN
#endif

#undef GROUPS_T
#undef ROW_SUM

#define PASSES(T, DT)                                                                              \
    void hki_conv2d_groups_forward_##DT(const hki_conv2d_geometry *geometry, int64_t groups,       \
                                        const T *x, const T *weight, const T *bias, T *y,          \
                                        int64_t begin, int64_t end)                                \
    {                                                                                              \
        HKI_OF_ISA(forward, _##DT)(geometry, groups, x, weight, bias, y, begin, end);              \
    }                                                                                              \
    void hki_conv2d_groups_backward_data_##DT(const hki_conv2d_geometry *geometry, int64_t groups, \
                                              const T *dy, const T *weight, T *dx, int64_t begin,  \
                                              int64_t end)                                         \
    {                                                                                              \
        HKI_OF_ISA(backward_data, _##DT)(geometry, groups, dy, weight, dx, begin, end);            \
    }                                                                                              \
    void hki_conv2d_groups_backward_weight_##DT(const hki_conv2d_geometry *geometry,               \
                                                int64_t groups, const T *x, const T *dy,           \
                                                T *dweight, T *dbias, int64_t begin, int64_t end)  \
    {                                                                                              \
        HKI_OF_ISA(backward_weight, _##DT)(geometry, groups, x, dy, dweight, dbias, begin, end);   \
    }

PASSES(float, f32)
PASSES(double, f64)
