#include "device/cuda/cuda_convolution_rules.h"

#include <cudnn.h>

enum {
    FEW_SAMPLES = 4,       /* transforms do not pay for so few */
    FEW_RESULTS = 1 << 20, /* nor do kernels with a block for a tile of them */
    SMALL = 26, /* rows of images that Winograd's transforms suit; larger ones are cut into tiles */
    FEW_PRODUCTS =
        128, /* input times output channels, below which a product of matrices is mostly empty */
    SOME_CHANNELS = 64,
    MANY_CHANNELS = 128
};

typedef struct shape {
    int64_t channels, products; /* of inputs; times those of outputs */
    bool is_strided, is_single, is_three, is_large, is_small;
} shape;

static shape shape_of(const hki_cuda_convolution *p)
{
    const int32_t *k = p->kernel;
    return (shape){.channels = p->in_channels,
                   .products = (int64_t)p->in_channels * p->out_channels,
                   .is_strided = p->stride[0] > 1 || p->stride[1] > 1,
                   .is_single = k[0] == 1 && k[1] == 1,
                   .is_three = k[0] == 3 && k[1] == 3,
                   .is_large = k[0] >= 5 && k[1] >= 5,
                   .is_small = p->in_size[0] <= SMALL && p->in_size[1] <= SMALL};
}

bool hki_cuda_convolution_is_brief(const hki_cuda_convolution *p)
{
    return p->kind == HKI_CUDA_FORWARD && !p->is_f64 && p->samples <= FEW_SAMPLES &&
           (int64_t)p->samples * p->out_channels * p->out_size[0] * p->out_size[1] <= FEW_RESULTS;
}

static int forward_few(const shape *its)
{
    if (its->channels == 1)
        return HKI_CUDA_BY_OWN_KERNEL;
    return its->channels < MANY_CHANNELS ? CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM
                                         : HKI_CUDA_BY_ESTIMATE;
}

static int forward(const shape *its)
{
    if (its->is_strided)
        return its->is_single ? CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM : HKI_CUDA_BY_ESTIMATE;
    if (its->is_three && its->channels >= SOME_CHANNELS)
        return its->is_small ? CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED
                             : CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING;
    if (its->is_large && its->products < FEW_PRODUCTS)
        return HKI_CUDA_BY_OWN_KERNEL;
    if (its->is_large)
        return its->channels >= SOME_CHANNELS ? CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING
                                              : CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
    return HKI_CUDA_BY_ESTIMATE;
}

static int backward_data(const shape *its)
{
    if (its->is_strided)
        return HKI_CUDA_BY_ESTIMATE;
    if (its->is_three)
        return its->is_small ? CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED
                             : CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING;
    if (its->is_large)
        return its->products < FEW_PRODUCTS ? HKI_CUDA_BY_OWN_KERNEL
                                            : CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT;
    return HKI_CUDA_BY_ESTIMATE;
}

static int backward_weight(const shape *its)
{
    if (its->is_strided)
        return its->channels > MANY_CHANNELS && !its->is_single ? HKI_CUDA_BY_ESTIMATE
                                                                : HKI_CUDA_BY_OWN_KERNEL;
    if (its->is_three && (its->channels == 1 || its->channels >= MANY_CHANNELS))
        return CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED;
    if (its->is_three)
        return CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT;
    if (its->is_large && its->channels < SOME_CHANNELS)
        return HKI_CUDA_BY_OWN_KERNEL;
    return HKI_CUDA_BY_ESTIMATE;
}

int hki_cuda_convolution_rule(const hki_cuda_convolution *problem, bool tf32)
{
    const shape its = shape_of(problem);
    if (hki_cuda_convolution_is_brief(problem))
        return HKI_CUDA_BY_OWN_KERNEL;
    if (problem->is_f64 || tf32 || problem->groups > 1 || problem->dilation[0] > 1 ||
        problem->dilation[1] > 1)
        return HKI_CUDA_BY_ESTIMATE;
    if (problem->samples <= FEW_SAMPLES)
        return problem->kind == HKI_CUDA_FORWARD ? forward_few(&its) : HKI_CUDA_BY_ESTIMATE;
    switch (problem->kind) {
    case HKI_CUDA_FORWARD:
        return forward(&its);
    case HKI_CUDA_BACKWARD_DATA:
        return backward_data(&its);
    default:
        return backward_weight(&its);
    }
}
