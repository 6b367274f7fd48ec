/* Elements of two bytes in kernels, where they have no arithmetic of their own: types to tell them from numbers, and what
 * to reckon with in their place. */
#ifndef HOCKET_OP_CUDA_HALF_CUH
#define HOCKET_OP_CUDA_HALF_CUH

#include "base/half.h"
#include "device/cuda/cuda_launch.cuh"

struct f16 {
    uint16_t bits;
};
struct bf16 {
    uint16_t bits;
};

/* A float of either, other numbers as they are. */
HKI_DEVICE float value_of(f16 x)
{
    return hki_f16_to_float(x.bits);
}
HKI_DEVICE float value_of(bf16 x)
{
    return hki_bf16_to_float(x.bits);
}
template <class Element> HKI_DEVICE Element value_of(Element x)
{
    return x;
}

#endif
