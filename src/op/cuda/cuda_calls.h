/* Within the plug-in: calls of operators as launches, in C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_CALLS_H
#define HOCKET_OP_CUDA_CALLS_H

#include "device/cuda/cuda_stream.h"
#include "op/cuda/cuda_walk.h"
#include "op/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Launches the whole call; never waits. Tensors are as CPU kernels get them, any strides unless
 * the operator is `contiguous`; partials are NULL. Sums have a fixed order: the same bytes on
 * every run. Each may serve several operators. */
typedef void (*hki_cuda_kernel_fn)(const hki_kernel_call *call, hki_cuda_stream *stream);

#define KERNEL(op, function) void function(const hki_kernel_call *call, hki_cuda_stream *stream);
#include "op/cuda/cuda_kernels.def"
#undef KERNEL
void hki_cuda_call_row(const hki_kernel_call *call, hki_cuda_stream *stream); /* elementwise.def */
void hki_cuda_state_update(const hki_kernel_call *call, hki_cuda_stream *stream); /* update.def */

/* See hki_cuda_may_report. */
bool hki_cuda_row_reports(const hki_kernel_call *call);
bool hki_cuda_cast_reports(const hki_kernel_call *call);

/* See hki_device_class.copy_tensor and .sum. */
void hki_cuda_copy_tensor(hki_cuda_stream *stream, const hki_tensor *from, const hki_tensor *to);
void hki_cuda_sum(hki_cuda_stream *stream, hk_dtype dtype, const void *const *inputs,
                  int input_count, void *const *outputs, int output_count, size_t size);
/* Copies operand 1 to operand 0, of a walk that fits into a path. False, with nothing launched:
 * not one of matrices, or of too small ones. */
bool hki_cuda_transpose(hki_cuda_stream *stream, const hki_cuda_walk *walk, int item_bytes);

/* ---- the bias of a layer, for products and convolutions; of float32 or float64 */

/* y[i][j][k] += bias[j * stride] for all i, j, k below `dims`; y without gaps. */
void hki_cuda_add_bias(hki_cuda_stream *stream, hk_dtype dtype, void *y, const int64_t dims[3],
                       const void *bias, int64_t stride);
/* Its gradient: dbias[j] becomes the sum of dy[i][j][k]. */
void hki_cuda_sum_bias(hki_cuda_stream *stream, hk_dtype dtype, const void *dy,
                       const int64_t dims[3], void *dbias);

/* ---- what a call is to C++, which knows neither operators nor devices */

hki_op_id hki_cuda_op_of(const hki_kernel_call *call);
/* Fails the call: `text` says what kernels cannot do. */
void hki_cuda_fail_unsupported(hki_cuda_stream *stream, const hki_kernel_call *call,
                               const char *text);
/* Begins with the element that the dtype has for the value, which it has. */
uint64_t hki_cuda_element_bits(hki_cuda_stream *stream, hk_dtype dtype, double value);

#ifdef __cplusplus
}

template <class Options> static inline const Options *hki_options_of(const hki_kernel_call *call)
{
    return static_cast<const Options *>(call->options);
}

/* The elements of an input; NULL: it is left out. */
template <class T> static inline const T *hki_input_of(const hki_kernel_call *call, int i)
{
    const bool is_there = i < call->input_count && call->in[i].ndim >= 0;
    return is_there ? static_cast<const T *>(call->in[i].data) : nullptr;
}

template <class T> static inline T *hki_output_of(const hki_kernel_call *call, int i)
{
    return static_cast<T *>(call->out[i].data);
}
#endif

#endif
