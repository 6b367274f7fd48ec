/* Within the plug-in: calls of operators as launches. Each is a hki_cuda_kernel_fn (cuda_kernels.h) and may serve several
 * operators. */
#ifndef HOCKET_OP_CUDA_CALLS_H
#define HOCKET_OP_CUDA_CALLS_H

#include "op/cuda/cuda_kernels.h"
#include "op/cuda/cuda_walk.h"
#include "op/elementwise/cuda_elementwise.h"

void hki_cuda_call_row(const hki_kernel_call *call, hki_cuda_stream *stream); /* elementwise.def */

bool hki_cuda_row_reports(const hki_kernel_call *call); /* see hki_cuda_may_report */

void hki_cuda_call_copy(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_reshape(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_cast(const hki_kernel_call *call, hki_cuda_stream *stream);
bool hki_cuda_cast_reports(const hki_kernel_call *call);
void hki_cuda_call_full(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_zeros(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_ones(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_arange(const hki_kernel_call *call, hki_cuda_stream *stream);

void hki_cuda_call_reduce(const hki_kernel_call *call, hki_cuda_stream *stream); /* sum … all */
void hki_cuda_call_sum_to(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_argmax(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_prod_backward(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_prod_second(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_norm_backward(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_extremum_backward(const hki_kernel_call *call, hki_cuda_stream *stream);

void hki_cuda_call_softmax(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_softmax_backward(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_cross_entropy(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_cross_entropy_backward(const hki_kernel_call *call, hki_cuda_stream *stream);

void hki_cuda_call_take(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_scatter(const hki_kernel_call *call, hki_cuda_stream *stream); /* and _add */

void hki_cuda_call_sort(const hki_kernel_call *call, hki_cuda_stream *stream); /* and argsort */
void hki_cuda_call_topk(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_unsort(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_searchsorted(const hki_kernel_call *call, hki_cuda_stream *stream);

void hki_cuda_call_cumulative(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_cumulative_prod_backward(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_cumulative_prod_second(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_mask_places(const hki_kernel_call *call, hki_cuda_stream *stream);

void hki_cuda_state_update(const hki_kernel_call *call, hki_cuda_stream *stream); /* update.def */

void hki_cuda_call_class_loss(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_class_loss_backward(const hki_kernel_call *call, hki_cuda_stream *stream);

void hki_cuda_call_lstm(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_lstm_backward(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_gru(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_gru_backward(const hki_kernel_call *call, hki_cuda_stream *stream);

void hki_cuda_call_recurrence(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_recurrence_backward(const hki_kernel_call *call, hki_cuda_stream *stream);

void hki_cuda_call_random(const hki_kernel_call *call, hki_cuda_stream *stream);
void hki_cuda_call_checked_weights(const hki_kernel_call *call, hki_cuda_stream *stream);

/* HKI_CUDA_ROW_COUNT: it is no row. */
hki_cuda_row hki_cuda_row_of(hki_op_id id);

/* ---- the class's other functions with kernels */

/* See hki_device_class.copy_tensor and .sum. */
void hki_cuda_copy_tensor(hki_cuda_stream *stream, const hki_cuda_tensor *from,
                          const hki_cuda_tensor *to);
void hki_cuda_sum(hki_cuda_stream *stream, hk_dtype dtype, const void *const *inputs,
                  int input_count, void *const *outputs, int output_count, size_t size);

/* Launches what fits into one path: of `walk`, whose operands have elements of item_bytes, from element path->first on. */
typedef void (*hki_cuda_part_fn)(hki_cuda_stream *stream, const hki_cuda_path *path,
                                 void *argument);
void hki_cuda_each_part(hki_cuda_stream *stream, const hki_cuda_walk *walk, int width,
                        const int *item_bytes, hki_cuda_part_fn launch, void *argument);

#endif
