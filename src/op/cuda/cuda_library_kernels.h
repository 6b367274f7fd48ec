/* Within the plug-in: those kernels of the operator table that NVIDIA's libraries have a part in, and what belongs to
 * them. */
#ifndef HOCKET_OP_CUDA_LIBRARY_KERNELS_H
#define HOCKET_OP_CUDA_LIBRARY_KERNELS_H

#include "op/cuda/cuda_kernels.h"

/* As hki_cuda_kernel_fn. */
void hki_cuda_matmul(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_linear(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_conv2d(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_conv2d_backward_data(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_conv2d_backward_weight(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_max_pool2d(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_avg_pool2d(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_max_pool2d_backward(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_max_pool2d_pick(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_avg_pool2d_backward(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_batch_norm(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_batch_norm_backward(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_layer_norm(const hki_kernel_call *call, hki_cuda_stream *stream); /* RMS, group */
void hki_cuda_layer_norm_backward(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_layer_norm_weigh(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_moving_average(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_sgd_update(const hki_kernel_call *call, hki_cuda_stream *stream);

/* The lines of hki_cuda_kernels[] for them. */
#define HKI_CUDA_LIBRARY_KERNELS                                                                   \
    [HKI_OP_ID_matmul] = hki_cuda_matmul, [HKI_OP_ID_linear] = hki_cuda_linear,                    \
    [HKI_OP_ID_conv2d] = hki_cuda_conv2d,                                                          \
    [HKI_OP_ID_conv2d_backward_data] = hki_cuda_conv2d_backward_data,                              \
    [HKI_OP_ID_conv2d_backward_weight] = hki_cuda_conv2d_backward_weight,                          \
    [HKI_OP_ID_max_pool2d] = hki_cuda_max_pool2d, [HKI_OP_ID_avg_pool2d] = hki_cuda_avg_pool2d,    \
    [HKI_OP_ID_max_pool2d_backward] = hki_cuda_max_pool2d_backward,                                \
    [HKI_OP_ID_max_pool2d_pick] = hki_cuda_max_pool2d_pick,                                        \
    [HKI_OP_ID_avg_pool2d_backward] = hki_cuda_avg_pool2d_backward,                                \
    [HKI_OP_ID_batch_norm] = hki_cuda_batch_norm,                                                  \
    [HKI_OP_ID_batch_norm_backward] = hki_cuda_batch_norm_backward,                                \
    [HKI_OP_ID_layer_norm] = hki_cuda_layer_norm, [HKI_OP_ID_rms_norm] = hki_cuda_layer_norm,      \
    [HKI_OP_ID_group_norm] = hki_cuda_layer_norm,                                                  \
    [HKI_OP_ID_layer_norm_backward] = hki_cuda_layer_norm_backward,                                \
    [HKI_OP_ID_layer_norm_weigh] = hki_cuda_layer_norm_weigh,                                      \
    [HKI_OP_ID_moving_average] = hki_cuda_moving_average,                                          \
    [HKI_OP_ID_sgd_update] = hki_cuda_sgd_update,

#endif
