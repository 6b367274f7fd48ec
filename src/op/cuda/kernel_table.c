/* The GPU's kernels of the operator table: one line for each operator. */
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_library_kernels.h"
#include "op/elementwise/elementwise_gradients.h"

#define GRADIENT(context, kept, name, ns, expression) [HKI_OP_ID_##name] = hki_cuda_call_row,
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    [HKI_OP_ID_##name] = hki_cuda_call_row, HKI_EACH_GRADIENT(GRADIENT, , name, gradient)
#define CHECKED ROW

const hki_cuda_kernel_fn hki_cuda_kernels[HKI_OP_COUNT] = {
    [HKI_OP_ID_sum] = hki_cuda_call_reduce,
    [HKI_OP_ID_mean] = hki_cuda_call_reduce,
    [HKI_OP_ID_max] = hki_cuda_call_reduce,
    [HKI_OP_ID_min] = hki_cuda_call_reduce,
    [HKI_OP_ID_prod] = hki_cuda_call_reduce,
    [HKI_OP_ID_prod_backward] = hki_cuda_call_prod_backward,
    [HKI_OP_ID_norm] = hki_cuda_call_reduce,
    [HKI_OP_ID_norm_backward] = hki_cuda_call_norm_backward,
    [HKI_OP_ID_count_nonzero] = hki_cuda_call_reduce,
    [HKI_OP_ID_any] = hki_cuda_call_reduce,
    [HKI_OP_ID_all] = hki_cuda_call_reduce,
    [HKI_OP_ID_exponent_offset] = hki_cuda_call_reduce,
    [HKI_OP_ID_extremum_backward] = hki_cuda_call_extremum_backward,
    [HKI_OP_ID_sum_to] = hki_cuda_call_sum_to,
    [HKI_OP_ID_argmax] = hki_cuda_call_argmax,
    [HKI_OP_ID_argmin] = hki_cuda_call_argmax,
    [HKI_OP_ID_copy] = hki_cuda_call_copy,
    [HKI_OP_ID_to_device] = hki_cuda_call_copy,
    [HKI_OP_ID_pin] = hki_cuda_call_copy,
    [HKI_OP_ID_cast] = hki_cuda_call_cast,
    [HKI_OP_ID_assign] = hki_cuda_call_cast,
    [HKI_OP_ID_reshape] = hki_cuda_call_reshape,
    [HKI_OP_ID_full] = hki_cuda_call_full,
    [HKI_OP_ID_zeros] = hki_cuda_call_zeros,
    [HKI_OP_ID_ones] = hki_cuda_call_ones,
    [HKI_OP_ID_ones_like] = hki_cuda_call_ones,
    [HKI_OP_ID_arange] = hki_cuda_call_arange,
    [HKI_OP_ID_softmax] = hki_cuda_call_softmax,
    [HKI_OP_ID_log_softmax] = hki_cuda_call_softmax,
    [HKI_OP_ID_softmax_backward] = hki_cuda_call_softmax_backward,
    [HKI_OP_ID_softmax_cross_entropy] = hki_cuda_call_cross_entropy,
    [HKI_OP_ID_softmax_cross_entropy_backward] = hki_cuda_call_cross_entropy_backward,
    [HKI_OP_ID_take_along_axis] = hki_cuda_call_take,
    [HKI_OP_ID_scatter] = hki_cuda_call_scatter,
    [HKI_OP_ID_scatter_add] = hki_cuda_call_scatter,
    [HKI_OP_ID_sort] = hki_cuda_call_sort,
    [HKI_OP_ID_argsort] = hki_cuda_call_sort,
    [HKI_OP_ID_unsort] = hki_cuda_call_unsort,
    [HKI_OP_ID_topk] = hki_cuda_call_topk,
    [HKI_OP_ID_searchsorted] = hki_cuda_call_searchsorted,
    [HKI_OP_ID_cumulative_sum] = hki_cuda_call_cumulative,
    [HKI_OP_ID_reverse_cumulative_sum] = hki_cuda_call_cumulative,
    [HKI_OP_ID_mask_places] = hki_cuda_call_mask_places,
    [HKI_OP_ID_class_loss] = hki_cuda_call_class_loss,
    [HKI_OP_ID_class_loss_backward] = hki_cuda_call_class_loss_backward,
    [HKI_OP_ID_lstm_cell] = hki_cuda_call_lstm,
    [HKI_OP_ID_lstm_cell_backward] = hki_cuda_call_lstm_backward,
    [HKI_OP_ID_gru_cell] = hki_cuda_call_gru,
    [HKI_OP_ID_gru_cell_backward] = hki_cuda_call_gru_backward,
    [HKI_OP_ID_recurrence] = hki_cuda_call_recurrence,
    [HKI_OP_ID_recurrence_backward] = hki_cuda_call_recurrence_backward,
    [HKI_OP_ID_random_uniform] = hki_cuda_call_random,
    [HKI_OP_ID_random_normal] = hki_cuda_call_random,
    [HKI_OP_ID_random_int] = hki_cuda_call_random,
    [HKI_OP_ID_random_gamma] = hki_cuda_call_random,
    [HKI_OP_ID_checked_weights] = hki_cuda_call_checked_weights,
    [HKI_OP_ID_cumulative_prod] = hki_cuda_call_cumulative,
    [HKI_OP_ID_cumulative_prod_backward] = hki_cuda_call_cumulative_prod_backward,
    [HKI_OP_ID_cumulative_prod_second] = hki_cuda_call_cumulative_prod_second,
    [HKI_OP_ID_prod_second] = hki_cuda_call_prod_second,
    HKI_CUDA_LIBRARY_KERNELS
#define UPDATE(name, ...) [HKI_OP_ID_##name] = hki_cuda_state_update,
#include "op/update/update.def"
#undef UPDATE
#include "op/elementwise/elementwise.def"
};
