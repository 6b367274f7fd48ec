#include "op/kernels/conv2d_kernel.h"

#include "op/kernels/conv2d_plan.h"
#include "op/kernels/kernel_isa.h"

const hki_conv2d_lane_shape *hki_conv2d_shape_get(bool f64)
{
#if HKI_HAVE_X86_ISAS
    switch (hki_kernel_isa_get()) {
    case HKI_ISA_AVX512:
        return f64 ? &hki_conv2d_shape_avx512_f64 : &hki_conv2d_shape_avx512_f32;
    case HKI_ISA_AVX2:
        return f64 ? &hki_conv2d_shape_avx2_f64 : &hki_conv2d_shape_avx2_f32;
    case HKI_ISA_PORTABLE:
        break;
    }
#endif
    return f64 ? &hki_conv2d_shape_portable_f64 : &hki_conv2d_shape_portable_f32;
}

int64_t hki_conv2d_block_samples(const hki_conv2d_geometry *geometry, bool f64)
{
    /* The forward pass's; the others cut a small batch nearly the same. */
    hki_conv2d_plan plan;
    hki_conv2d_plan_init(&plan, geometry, HKI_CONV2D_FORWARD, hki_conv2d_shape_get(f64));
    if (plan.direct)
        return 1;
    return plan.strips == 1 ? HKI_CONV2D_LANES_MAX : (plan.lanes + plan.strips - 1) / plan.strips;
}

static size_t scratch_bytes(const hki_conv2d_geometry *geometry, hki_conv2d_pass pass, bool f64)
{
    hki_conv2d_plan plan;
    hki_conv2d_plan_init(&plan, geometry, pass, hki_conv2d_shape_get(f64));
    return plan.bytes;
}

size_t hki_conv2d_forward_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64)
{
    return scratch_bytes(geometry, HKI_CONV2D_FORWARD, f64);
}

size_t hki_conv2d_backward_data_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64)
{
    return scratch_bytes(geometry, HKI_CONV2D_BACKWARD_DATA, f64);
}

size_t hki_conv2d_backward_weight_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64)
{
    return scratch_bytes(geometry, HKI_CONV2D_BACKWARD_WEIGHT, f64);
}

#if HKI_HAVE_X86_ISAS
#define CHOOSE(name, DT)                                                                           \
    (hki_kernel_isa_get() == HKI_ISA_AVX512 ? name##_avx512_##DT                                   \
     : hki_kernel_isa_get() == HKI_ISA_AVX2 ? name##_avx2_##DT                                     \
                                            : name##_portable_##DT)
#else
#define CHOOSE(name, DT) name##_portable_##DT
#endif

#define PASSES(T, DT, F64)                                                                         \
    void hki_conv2d_forward_##DT(const hki_conv2d_geometry *geometry, const T *x, const T *weight, \
                                 const T *bias, T *y, int64_t sample_begin, int64_t sample_end,    \
                                 void *scratch)                                                    \
    {                                                                                              \
        hki_conv2d_plan plan;                                                                      \
        hki_conv2d_plan_init(&plan, geometry, HKI_CONV2D_FORWARD, hki_conv2d_shape_get(F64));      \
        hki_conv2d_plan_build(&plan, scratch);                                                     \
        CHOOSE(hki_conv2d_apply, DT)                                                               \
        (&plan, x, weight, bias, y, sample_begin, sample_end, scratch);                            \
    }                                                                                              \
    void hki_conv2d_backward_data_##DT(const hki_conv2d_geometry *geometry, const T *dy,           \
                                       const T *weight, T *dx, int64_t sample_begin,               \
                                       int64_t sample_end, void *scratch)                          \
    {                                                                                              \
        hki_conv2d_plan plan;                                                                      \
        hki_conv2d_plan_init(&plan, geometry, HKI_CONV2D_BACKWARD_DATA,                            \
                             hki_conv2d_shape_get(F64));                                           \
        hki_conv2d_plan_build(&plan, scratch);                                                     \
        CHOOSE(hki_conv2d_apply, DT)                                                               \
        (&plan, dy, weight, NULL, dx, sample_begin, sample_end, scratch);                          \
    }                                                                                              \
    bool hki_conv2d_backward_weight_##DT(const hki_conv2d_geometry *geometry, const T *x,          \
                                         const T *dy, T *dweight, T *dbias, int64_t sample_begin,  \
                                         int64_t sample_end, void *scratch)                        \
    {                                                                                              \
        hki_conv2d_plan plan;                                                                      \
        hki_conv2d_plan_init(&plan, geometry, HKI_CONV2D_BACKWARD_WEIGHT,                          \
                             hki_conv2d_shape_get(F64));                                           \
        hki_conv2d_plan_build(&plan, scratch);                                                     \
        return CHOOSE(hki_conv2d_weigh, DT)(&plan, x, dy, dweight, dbias, sample_begin,            \
                                            sample_end, scratch);                                  \
    }

PASSES(float, f32, false)
PASSES(double, f64, true)
