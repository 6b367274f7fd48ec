/* The functions of hocket/ops.h. Written by tools/opgen: do not edit; `make generate`. */
/* clang-format off */
#include "base/source.h"
#include "op/op.h"

#include <hocket/operator.h>
#include <hocket/ops.h>

_Static_assert(sizeof(hk_sum_options) == 80 &&
               offsetof(hk_sum_options, axes) == 0 &&
               offsetof(hk_sum_options, keepdims) == 72,
               "hk_sum_options");
_Static_assert(sizeof(hk_mean_options) == 80 &&
               offsetof(hk_mean_options, axes) == 0 &&
               offsetof(hk_mean_options, keepdims) == 72,
               "hk_mean_options");
_Static_assert(sizeof(hk_max_options) == 80 &&
               offsetof(hk_max_options, axes) == 0 &&
               offsetof(hk_max_options, keepdims) == 72,
               "hk_max_options");
_Static_assert(sizeof(hk_min_options) == 80 &&
               offsetof(hk_min_options, axes) == 0 &&
               offsetof(hk_min_options, keepdims) == 72,
               "hk_min_options");
_Static_assert(sizeof(hk_prod_options) == 80 &&
               offsetof(hk_prod_options, axes) == 0 &&
               offsetof(hk_prod_options, keepdims) == 72,
               "hk_prod_options");
_Static_assert(sizeof(hk_norm_options) == 80 &&
               offsetof(hk_norm_options, axes) == 0 &&
               offsetof(hk_norm_options, keepdims) == 72,
               "hk_norm_options");
_Static_assert(sizeof(hk_count_nonzero_options) == 80 &&
               offsetof(hk_count_nonzero_options, axes) == 0 &&
               offsetof(hk_count_nonzero_options, keepdims) == 72,
               "hk_count_nonzero_options");
_Static_assert(sizeof(hk_any_options) == 80 &&
               offsetof(hk_any_options, axes) == 0 &&
               offsetof(hk_any_options, keepdims) == 72,
               "hk_any_options");
_Static_assert(sizeof(hk_all_options) == 80 &&
               offsetof(hk_all_options, axes) == 0 &&
               offsetof(hk_all_options, keepdims) == 72,
               "hk_all_options");
_Static_assert(sizeof(hk_var_options) == 88 &&
               offsetof(hk_var_options, axes) == 0 &&
               offsetof(hk_var_options, keepdims) == 72 &&
               offsetof(hk_var_options, correction) == 80,
               "hk_var_options");
_Static_assert(sizeof(hk_std_options) == 88 &&
               offsetof(hk_std_options, axes) == 0 &&
               offsetof(hk_std_options, keepdims) == 72 &&
               offsetof(hk_std_options, correction) == 80,
               "hk_std_options");
_Static_assert(sizeof(hk_var_mean_options) == 88 &&
               offsetof(hk_var_mean_options, axes) == 0 &&
               offsetof(hk_var_mean_options, keepdims) == 72 &&
               offsetof(hk_var_mean_options, correction) == 80,
               "hk_var_mean_options");
_Static_assert(sizeof(hk_logsumexp_options) == 80 &&
               offsetof(hk_logsumexp_options, axes) == 0 &&
               offsetof(hk_logsumexp_options, keepdims) == 72,
               "hk_logsumexp_options");
_Static_assert(sizeof(hk_elu_arguments) == 8 &&
               offsetof(hk_elu_arguments, value) == 0,
               "hk_elu_arguments");
_Static_assert(sizeof(hk_leaky_relu_arguments) == 8 &&
               offsetof(hk_leaky_relu_arguments, value) == 0,
               "hk_leaky_relu_arguments");
_Static_assert(sizeof(hk_clip_arguments) == 16 &&
               offsetof(hk_clip_arguments, min) == 0 &&
               offsetof(hk_clip_arguments, max) == 8,
               "hk_clip_arguments");
_Static_assert(sizeof(hk_cast_arguments) == 4 &&
               offsetof(hk_cast_arguments, dtype) == 0,
               "hk_cast_arguments");
_Static_assert(sizeof(hk_wrap_arguments) == 4 &&
               offsetof(hk_wrap_arguments, dtype) == 0,
               "hk_wrap_arguments");
_Static_assert(sizeof(hk_full_arguments) == 88 &&
               offsetof(hk_full_arguments, shape) == 0 &&
               offsetof(hk_full_arguments, value) == 72 &&
               offsetof(hk_full_arguments, dtype) == 80,
               "hk_full_arguments");
_Static_assert(sizeof(hk_zeros_arguments) == 80 &&
               offsetof(hk_zeros_arguments, shape) == 0 &&
               offsetof(hk_zeros_arguments, dtype) == 72,
               "hk_zeros_arguments");
_Static_assert(sizeof(hk_ones_arguments) == 80 &&
               offsetof(hk_ones_arguments, shape) == 0 &&
               offsetof(hk_ones_arguments, dtype) == 72,
               "hk_ones_arguments");
_Static_assert(sizeof(hk_arange_arguments) == 32 &&
               offsetof(hk_arange_arguments, start) == 0 &&
               offsetof(hk_arange_arguments, stop) == 8 &&
               offsetof(hk_arange_arguments, step) == 16 &&
               offsetof(hk_arange_arguments, dtype) == 24,
               "hk_arange_arguments");
_Static_assert(sizeof(hk_sequence_arguments) == 32 &&
               offsetof(hk_sequence_arguments, first) == 0 &&
               offsetof(hk_sequence_arguments, step) == 8 &&
               offsetof(hk_sequence_arguments, count) == 16 &&
               offsetof(hk_sequence_arguments, dtype) == 24,
               "hk_sequence_arguments");
_Static_assert(sizeof(hk_linspace_arguments) == 32 &&
               offsetof(hk_linspace_arguments, start) == 0 &&
               offsetof(hk_linspace_arguments, stop) == 8 &&
               offsetof(hk_linspace_arguments, count) == 16 &&
               offsetof(hk_linspace_arguments, endpoint) == 24 &&
               offsetof(hk_linspace_arguments, dtype) == 28,
               "hk_linspace_arguments");
_Static_assert(sizeof(hk_eye_arguments) == 32 &&
               offsetof(hk_eye_arguments, rows) == 0 &&
               offsetof(hk_eye_arguments, columns) == 8 &&
               offsetof(hk_eye_arguments, offset) == 16 &&
               offsetof(hk_eye_arguments, dtype) == 24,
               "hk_eye_arguments");
_Static_assert(sizeof(hk_full_like_arguments) == 8 &&
               offsetof(hk_full_like_arguments, value) == 0,
               "hk_full_like_arguments");
_Static_assert(sizeof(hk_one_hot_arguments) == 16 &&
               offsetof(hk_one_hot_arguments, classes) == 0 &&
               offsetof(hk_one_hot_arguments, dtype) == 8,
               "hk_one_hot_arguments");
_Static_assert(sizeof(hk_tril_arguments) == 8 &&
               offsetof(hk_tril_arguments, offset) == 0,
               "hk_tril_arguments");
_Static_assert(sizeof(hk_triu_arguments) == 8 &&
               offsetof(hk_triu_arguments, offset) == 0,
               "hk_triu_arguments");
_Static_assert(sizeof(hk_reshape_arguments) == 72 &&
               offsetof(hk_reshape_arguments, shape) == 0,
               "hk_reshape_arguments");
_Static_assert(sizeof(hk_tensordot_arguments) == 8 &&
               offsetof(hk_tensordot_arguments, axes) == 0,
               "hk_tensordot_arguments");
_Static_assert(sizeof(hk_matrix_trace_arguments) == 8 &&
               offsetof(hk_matrix_trace_arguments, offset) == 0,
               "hk_matrix_trace_arguments");
_Static_assert(sizeof(hk_diff_arguments) == 8 &&
               offsetof(hk_diff_arguments, axis) == 0,
               "hk_diff_arguments");
_Static_assert(sizeof(hk_softmax_arguments) == 8 &&
               offsetof(hk_softmax_arguments, axis) == 0,
               "hk_softmax_arguments");
_Static_assert(sizeof(hk_log_softmax_arguments) == 8 &&
               offsetof(hk_log_softmax_arguments, axis) == 0,
               "hk_log_softmax_arguments");
_Static_assert(sizeof(hk_argmax_arguments) == 8 &&
               offsetof(hk_argmax_arguments, axis) == 0,
               "hk_argmax_arguments");
_Static_assert(sizeof(hk_argmin_arguments) == 8 &&
               offsetof(hk_argmin_arguments, axis) == 0,
               "hk_argmin_arguments");
_Static_assert(sizeof(hk_cumulative_sum_arguments) == 8 &&
               offsetof(hk_cumulative_sum_arguments, axis) == 0,
               "hk_cumulative_sum_arguments");
_Static_assert(sizeof(hk_cumulative_prod_arguments) == 8 &&
               offsetof(hk_cumulative_prod_arguments, axis) == 0,
               "hk_cumulative_prod_arguments");
_Static_assert(sizeof(hk_sort_arguments) == 16 &&
               offsetof(hk_sort_arguments, axis) == 0 &&
               offsetof(hk_sort_arguments, descending) == 8,
               "hk_sort_arguments");
_Static_assert(sizeof(hk_argsort_arguments) == 16 &&
               offsetof(hk_argsort_arguments, axis) == 0 &&
               offsetof(hk_argsort_arguments, descending) == 8,
               "hk_argsort_arguments");
_Static_assert(sizeof(hk_searchsorted_arguments) == 1 &&
               offsetof(hk_searchsorted_arguments, right) == 0,
               "hk_searchsorted_arguments");
_Static_assert(sizeof(hk_topk_arguments) == 24 &&
               offsetof(hk_topk_arguments, k) == 0 &&
               offsetof(hk_topk_arguments, axis) == 8 &&
               offsetof(hk_topk_arguments, largest) == 16,
               "hk_topk_arguments");
_Static_assert(sizeof(hk_histogram_arguments) == 24 &&
               offsetof(hk_histogram_arguments, bins) == 0 &&
               offsetof(hk_histogram_arguments, low) == 8 &&
               offsetof(hk_histogram_arguments, high) == 16,
               "hk_histogram_arguments");
_Static_assert(sizeof(hk_cumulative_max_arguments) == 8 &&
               offsetof(hk_cumulative_max_arguments, axis) == 0,
               "hk_cumulative_max_arguments");
_Static_assert(sizeof(hk_cumulative_min_arguments) == 8 &&
               offsetof(hk_cumulative_min_arguments, axis) == 0,
               "hk_cumulative_min_arguments");
_Static_assert(sizeof(hk_quantile_options) == 96 &&
               offsetof(hk_quantile_options, axes) == 0 &&
               offsetof(hk_quantile_options, keepdims) == 72 &&
               offsetof(hk_quantile_options, q) == 80 &&
               offsetof(hk_quantile_options, method) == 88,
               "hk_quantile_options");
_Static_assert(sizeof(hk_median_options) == 80 &&
               offsetof(hk_median_options, axes) == 0 &&
               offsetof(hk_median_options, keepdims) == 72,
               "hk_median_options");
_Static_assert(sizeof(hk_nanquantile_options) == 96 &&
               offsetof(hk_nanquantile_options, axes) == 0 &&
               offsetof(hk_nanquantile_options, keepdims) == 72 &&
               offsetof(hk_nanquantile_options, q) == 80 &&
               offsetof(hk_nanquantile_options, method) == 88,
               "hk_nanquantile_options");
_Static_assert(sizeof(hk_nanmedian_options) == 80 &&
               offsetof(hk_nanmedian_options, axes) == 0 &&
               offsetof(hk_nanmedian_options, keepdims) == 72,
               "hk_nanmedian_options");
_Static_assert(sizeof(hk_conv2d_options) == 56 &&
               offsetof(hk_conv2d_options, stride) == 0 &&
               offsetof(hk_conv2d_options, padding) == 16 &&
               offsetof(hk_conv2d_options, dilation) == 32 &&
               offsetof(hk_conv2d_options, groups) == 48,
               "hk_conv2d_options");
_Static_assert(sizeof(hk_conv2d_transpose_options) == 72 &&
               offsetof(hk_conv2d_transpose_options, stride) == 0 &&
               offsetof(hk_conv2d_transpose_options, padding) == 16 &&
               offsetof(hk_conv2d_transpose_options, dilation) == 32 &&
               offsetof(hk_conv2d_transpose_options, groups) == 48 &&
               offsetof(hk_conv2d_transpose_options, output_padding) == 56,
               "hk_conv2d_transpose_options");
_Static_assert(sizeof(hk_conv1d_options) == 32 &&
               offsetof(hk_conv1d_options, stride) == 0 &&
               offsetof(hk_conv1d_options, padding) == 8 &&
               offsetof(hk_conv1d_options, dilation) == 16 &&
               offsetof(hk_conv1d_options, groups) == 24,
               "hk_conv1d_options");
_Static_assert(sizeof(hk_conv3d_options) == 80 &&
               offsetof(hk_conv3d_options, stride) == 0 &&
               offsetof(hk_conv3d_options, padding) == 24 &&
               offsetof(hk_conv3d_options, dilation) == 48 &&
               offsetof(hk_conv3d_options, groups) == 72,
               "hk_conv3d_options");
_Static_assert(sizeof(hk_conv3d_transpose_options) == 104 &&
               offsetof(hk_conv3d_transpose_options, stride) == 0 &&
               offsetof(hk_conv3d_transpose_options, padding) == 24 &&
               offsetof(hk_conv3d_transpose_options, dilation) == 48 &&
               offsetof(hk_conv3d_transpose_options, groups) == 72 &&
               offsetof(hk_conv3d_transpose_options, output_padding) == 80,
               "hk_conv3d_transpose_options");
_Static_assert(sizeof(hk_max_pool2d_options) == 56 &&
               offsetof(hk_max_pool2d_options, kernel) == 0 &&
               offsetof(hk_max_pool2d_options, stride) == 16 &&
               offsetof(hk_max_pool2d_options, padding) == 32 &&
               offsetof(hk_max_pool2d_options, ceil_mode) == 48,
               "hk_max_pool2d_options");
_Static_assert(sizeof(hk_avg_pool2d_options) == 56 &&
               offsetof(hk_avg_pool2d_options, kernel) == 0 &&
               offsetof(hk_avg_pool2d_options, stride) == 16 &&
               offsetof(hk_avg_pool2d_options, padding) == 32 &&
               offsetof(hk_avg_pool2d_options, ceil_mode) == 48 &&
               offsetof(hk_avg_pool2d_options, count_include_pad) == 49,
               "hk_avg_pool2d_options");
_Static_assert(sizeof(hk_max_pool1d_options) == 32 &&
               offsetof(hk_max_pool1d_options, kernel) == 0 &&
               offsetof(hk_max_pool1d_options, stride) == 8 &&
               offsetof(hk_max_pool1d_options, padding) == 16 &&
               offsetof(hk_max_pool1d_options, ceil_mode) == 24,
               "hk_max_pool1d_options");
_Static_assert(sizeof(hk_avg_pool1d_options) == 32 &&
               offsetof(hk_avg_pool1d_options, kernel) == 0 &&
               offsetof(hk_avg_pool1d_options, stride) == 8 &&
               offsetof(hk_avg_pool1d_options, padding) == 16 &&
               offsetof(hk_avg_pool1d_options, ceil_mode) == 24 &&
               offsetof(hk_avg_pool1d_options, count_include_pad) == 25,
               "hk_avg_pool1d_options");
_Static_assert(sizeof(hk_adaptive_avg_pool2d_options) == 16 &&
               offsetof(hk_adaptive_avg_pool2d_options, size) == 0,
               "hk_adaptive_avg_pool2d_options");
_Static_assert(sizeof(hk_adaptive_max_pool2d_options) == 16 &&
               offsetof(hk_adaptive_max_pool2d_options, size) == 0,
               "hk_adaptive_max_pool2d_options");
_Static_assert(sizeof(hk_adaptive_avg_pool1d_options) == 8 &&
               offsetof(hk_adaptive_avg_pool1d_options, size) == 0,
               "hk_adaptive_avg_pool1d_options");
_Static_assert(sizeof(hk_adaptive_max_pool1d_options) == 8 &&
               offsetof(hk_adaptive_max_pool1d_options, size) == 0,
               "hk_adaptive_max_pool1d_options");
_Static_assert(sizeof(hk_interpolate_options) == 96 &&
               offsetof(hk_interpolate_options, size) == 0 &&
               offsetof(hk_interpolate_options, scale) == 72 &&
               offsetof(hk_interpolate_options, mode) == 80 &&
               offsetof(hk_interpolate_options, coordinates) == 88,
               "hk_interpolate_options");
_Static_assert(sizeof(hk_grid_sample_options) == 24 &&
               offsetof(hk_grid_sample_options, mode) == 0 &&
               offsetof(hk_grid_sample_options, beyond) == 8 &&
               offsetof(hk_grid_sample_options, align_corners) == 16,
               "hk_grid_sample_options");
_Static_assert(sizeof(hk_roi_align_options) == 40 &&
               offsetof(hk_roi_align_options, size) == 0 &&
               offsetof(hk_roi_align_options, scale) == 16 &&
               offsetof(hk_roi_align_options, samples) == 24 &&
               offsetof(hk_roi_align_options, aligned) == 32 &&
               offsetof(hk_roi_align_options, largest) == 33,
               "hk_roi_align_options");
_Static_assert(sizeof(hk_depth_to_space_arguments) == 16 &&
               offsetof(hk_depth_to_space_arguments, block) == 0 &&
               offsetof(hk_depth_to_space_arguments, crd) == 8,
               "hk_depth_to_space_arguments");
_Static_assert(sizeof(hk_space_to_depth_arguments) == 16 &&
               offsetof(hk_space_to_depth_arguments, block) == 0 &&
               offsetof(hk_space_to_depth_arguments, crd) == 8,
               "hk_space_to_depth_arguments");
_Static_assert(sizeof(hk_batch_norm_options) == 8 &&
               offsetof(hk_batch_norm_options, eps) == 0,
               "hk_batch_norm_options");
_Static_assert(sizeof(hk_layer_norm_options) == 16 &&
               offsetof(hk_layer_norm_options, axes) == 0 &&
               offsetof(hk_layer_norm_options, eps) == 8,
               "hk_layer_norm_options");
_Static_assert(sizeof(hk_rms_norm_options) == 16 &&
               offsetof(hk_rms_norm_options, axes) == 0 &&
               offsetof(hk_rms_norm_options, eps) == 8,
               "hk_rms_norm_options");
_Static_assert(sizeof(hk_group_norm_options) == 16 &&
               offsetof(hk_group_norm_options, groups) == 0 &&
               offsetof(hk_group_norm_options, eps) == 8,
               "hk_group_norm_options");
_Static_assert(sizeof(hk_mse_loss_options) == 8 &&
               offsetof(hk_mse_loss_options, reduction) == 0,
               "hk_mse_loss_options");
_Static_assert(sizeof(hk_l1_loss_options) == 8 &&
               offsetof(hk_l1_loss_options, reduction) == 0,
               "hk_l1_loss_options");
_Static_assert(sizeof(hk_huber_loss_options) == 16 &&
               offsetof(hk_huber_loss_options, reduction) == 0 &&
               offsetof(hk_huber_loss_options, delta) == 8,
               "hk_huber_loss_options");
_Static_assert(sizeof(hk_binary_cross_entropy_with_logits_options) == 8 &&
               offsetof(hk_binary_cross_entropy_with_logits_options, reduction) == 0,
               "hk_binary_cross_entropy_with_logits_options");
_Static_assert(sizeof(hk_hinge_loss_options) == 8 &&
               offsetof(hk_hinge_loss_options, reduction) == 0,
               "hk_hinge_loss_options");
_Static_assert(sizeof(hk_kl_divergence_loss_options) == 8 &&
               offsetof(hk_kl_divergence_loss_options, reduction) == 0,
               "hk_kl_divergence_loss_options");
_Static_assert(sizeof(hk_binary_cross_entropy_options) == 8 &&
               offsetof(hk_binary_cross_entropy_options, reduction) == 0,
               "hk_binary_cross_entropy_options");
_Static_assert(sizeof(hk_cross_entropy_loss_options) == 40 &&
               offsetof(hk_cross_entropy_loss_options, axis) == 0 &&
               offsetof(hk_cross_entropy_loss_options, reduction) == 8 &&
               offsetof(hk_cross_entropy_loss_options, ignores) == 16 &&
               offsetof(hk_cross_entropy_loss_options, ignored) == 24 &&
               offsetof(hk_cross_entropy_loss_options, label_smoothing) == 32,
               "hk_cross_entropy_loss_options");
_Static_assert(sizeof(hk_nll_loss_options) == 32 &&
               offsetof(hk_nll_loss_options, axis) == 0 &&
               offsetof(hk_nll_loss_options, reduction) == 8 &&
               offsetof(hk_nll_loss_options, ignores) == 16 &&
               offsetof(hk_nll_loss_options, ignored) == 24,
               "hk_nll_loss_options");
_Static_assert(sizeof(hk_cosine_similarity_arguments) == 8 &&
               offsetof(hk_cosine_similarity_arguments, axis) == 0,
               "hk_cosine_similarity_arguments");
_Static_assert(sizeof(hk_cosine_embedding_loss_options) == 16 &&
               offsetof(hk_cosine_embedding_loss_options, reduction) == 0 &&
               offsetof(hk_cosine_embedding_loss_options, margin) == 8,
               "hk_cosine_embedding_loss_options");
_Static_assert(sizeof(hk_triplet_margin_loss_options) == 16 &&
               offsetof(hk_triplet_margin_loss_options, reduction) == 0 &&
               offsetof(hk_triplet_margin_loss_options, margin) == 8,
               "hk_triplet_margin_loss_options");
_Static_assert(sizeof(hk_ctc_loss_options) == 24 &&
               offsetof(hk_ctc_loss_options, blank) == 0 &&
               offsetof(hk_ctc_loss_options, reduction) == 8 &&
               offsetof(hk_ctc_loss_options, zero_infinity) == 16,
               "hk_ctc_loss_options");
_Static_assert(sizeof(hk_scaled_dot_product_attention_options) == 16 &&
               offsetof(hk_scaled_dot_product_attention_options, causal) == 0 &&
               offsetof(hk_scaled_dot_product_attention_options, scale) == 8,
               "hk_scaled_dot_product_attention_options");
_Static_assert(sizeof(hk_slice_step_arguments) == 32 &&
               offsetof(hk_slice_step_arguments, axis) == 0 &&
               offsetof(hk_slice_step_arguments, begin) == 8 &&
               offsetof(hk_slice_step_arguments, end) == 16 &&
               offsetof(hk_slice_step_arguments, step) == 24,
               "hk_slice_step_arguments");
_Static_assert(sizeof(hk_flip_arguments) == 8 &&
               offsetof(hk_flip_arguments, axis) == 0,
               "hk_flip_arguments");
_Static_assert(sizeof(hk_expand_dims_arguments) == 8 &&
               offsetof(hk_expand_dims_arguments, axis) == 0,
               "hk_expand_dims_arguments");
_Static_assert(sizeof(hk_squeeze_arguments) == 8 &&
               offsetof(hk_squeeze_arguments, axis) == 0,
               "hk_squeeze_arguments");
_Static_assert(sizeof(hk_swapaxes_arguments) == 16 &&
               offsetof(hk_swapaxes_arguments, axis1) == 0 &&
               offsetof(hk_swapaxes_arguments, axis2) == 8,
               "hk_swapaxes_arguments");
_Static_assert(sizeof(hk_moveaxis_arguments) == 16 &&
               offsetof(hk_moveaxis_arguments, source) == 0 &&
               offsetof(hk_moveaxis_arguments, destination) == 8,
               "hk_moveaxis_arguments");
_Static_assert(sizeof(hk_permute_dims_arguments) == 72 &&
               offsetof(hk_permute_dims_arguments, axes) == 0,
               "hk_permute_dims_arguments");
_Static_assert(sizeof(hk_diagonal_arguments) == 8 &&
               offsetof(hk_diagonal_arguments, offset) == 0,
               "hk_diagonal_arguments");
_Static_assert(sizeof(hk_sliding_window_arguments) == 24 &&
               offsetof(hk_sliding_window_arguments, axis) == 0 &&
               offsetof(hk_sliding_window_arguments, size) == 8 &&
               offsetof(hk_sliding_window_arguments, step) == 16,
               "hk_sliding_window_arguments");
_Static_assert(sizeof(hk_concat_arguments) == 8 &&
               offsetof(hk_concat_arguments, axis) == 0,
               "hk_concat_arguments");
_Static_assert(sizeof(hk_stack_arguments) == 8 &&
               offsetof(hk_stack_arguments, axis) == 0,
               "hk_stack_arguments");
_Static_assert(sizeof(hk_roll_arguments) == 16 &&
               offsetof(hk_roll_arguments, shift) == 0 &&
               offsetof(hk_roll_arguments, axis) == 8,
               "hk_roll_arguments");
_Static_assert(sizeof(hk_repeat_arguments) == 16 &&
               offsetof(hk_repeat_arguments, repeats) == 0 &&
               offsetof(hk_repeat_arguments, axis) == 8,
               "hk_repeat_arguments");
_Static_assert(sizeof(hk_tile_arguments) == 16 &&
               offsetof(hk_tile_arguments, repeats) == 0 &&
               offsetof(hk_tile_arguments, axis) == 8,
               "hk_tile_arguments");
_Static_assert(sizeof(hk_pad_arguments) == 40 &&
               offsetof(hk_pad_arguments, axis) == 0 &&
               offsetof(hk_pad_arguments, width) == 8 &&
               offsetof(hk_pad_arguments, mode) == 24 &&
               offsetof(hk_pad_arguments, value) == 32,
               "hk_pad_arguments");
_Static_assert(sizeof(hk_take_along_axis_arguments) == 8 &&
               offsetof(hk_take_along_axis_arguments, axis) == 0,
               "hk_take_along_axis_arguments");
_Static_assert(sizeof(hk_scatter_add_arguments) == 8 &&
               offsetof(hk_scatter_add_arguments, axis) == 0,
               "hk_scatter_add_arguments");
_Static_assert(sizeof(hk_scatter_arguments) == 8 &&
               offsetof(hk_scatter_arguments, axis) == 0,
               "hk_scatter_arguments");
_Static_assert(sizeof(hk_index_select_arguments) == 8 &&
               offsetof(hk_index_select_arguments, axis) == 0,
               "hk_index_select_arguments");
_Static_assert(sizeof(hk_cholesky_options) == 2 &&
               offsetof(hk_cholesky_options, upper) == 0 &&
               offsetof(hk_cholesky_options, one_triangle) == 1,
               "hk_cholesky_options");
_Static_assert(sizeof(hk_solve_triangular_options) == 5 &&
               offsetof(hk_solve_triangular_options, upper) == 0 &&
               offsetof(hk_solve_triangular_options, unit_diagonal) == 1 &&
               offsetof(hk_solve_triangular_options, transposed) == 2 &&
               offsetof(hk_solve_triangular_options, conjugated) == 3 &&
               offsetof(hk_solve_triangular_options, right) == 4,
               "hk_solve_triangular_options");
_Static_assert(sizeof(hk_addmm_options) == 16 &&
               offsetof(hk_addmm_options, alpha) == 0 &&
               offsetof(hk_addmm_options, beta) == 8,
               "hk_addmm_options");
_Static_assert(sizeof(hk_syrk_options) == 24 &&
               offsetof(hk_syrk_options, alpha) == 0 &&
               offsetof(hk_syrk_options, beta) == 8 &&
               offsetof(hk_syrk_options, upper) == 16,
               "hk_syrk_options");
_Static_assert(sizeof(hk_lu_solve_options) == 2 &&
               offsetof(hk_lu_solve_options, transposed) == 0 &&
               offsetof(hk_lu_solve_options, conjugated) == 1,
               "hk_lu_solve_options");
_Static_assert(sizeof(hk_pinv_options) == 8 &&
               offsetof(hk_pinv_options, rtol) == 0,
               "hk_pinv_options");
_Static_assert(sizeof(hk_matrix_rank_options) == 8 &&
               offsetof(hk_matrix_rank_options, rtol) == 0,
               "hk_matrix_rank_options");
_Static_assert(sizeof(hk_svd_options) == 1 &&
               offsetof(hk_svd_options, full_matrices) == 0,
               "hk_svd_options");
_Static_assert(sizeof(hk_qr_options) == 1 &&
               offsetof(hk_qr_options, complete) == 0,
               "hk_qr_options");
_Static_assert(sizeof(hk_qr_multiply_options) == 2 &&
               offsetof(hk_qr_multiply_options, adjoint) == 0 &&
               offsetof(hk_qr_multiply_options, right) == 1,
               "hk_qr_multiply_options");
_Static_assert(sizeof(hk_matrix_power_arguments) == 8 &&
               offsetof(hk_matrix_power_arguments, n) == 0,
               "hk_matrix_power_arguments");
_Static_assert(sizeof(hk_matrix_norm_options) == 16 &&
               offsetof(hk_matrix_norm_options, ord) == 0 &&
               offsetof(hk_matrix_norm_options, keepdims) == 8,
               "hk_matrix_norm_options");
_Static_assert(sizeof(hk_vector_norm_options) == 88 &&
               offsetof(hk_vector_norm_options, ord) == 0 &&
               offsetof(hk_vector_norm_options, axes) == 8 &&
               offsetof(hk_vector_norm_options, keepdims) == 80,
               "hk_vector_norm_options");
_Static_assert(sizeof(hk_cross_arguments) == 8 &&
               offsetof(hk_cross_arguments, axis) == 0,
               "hk_cross_arguments");
_Static_assert(sizeof(hk_fft_arguments) == 24 &&
               offsetof(hk_fft_arguments, n) == 0 &&
               offsetof(hk_fft_arguments, axis) == 8 &&
               offsetof(hk_fft_arguments, norm) == 16,
               "hk_fft_arguments");
_Static_assert(sizeof(hk_ifft_arguments) == 24 &&
               offsetof(hk_ifft_arguments, n) == 0 &&
               offsetof(hk_ifft_arguments, axis) == 8 &&
               offsetof(hk_ifft_arguments, norm) == 16,
               "hk_ifft_arguments");
_Static_assert(sizeof(hk_rfft_arguments) == 24 &&
               offsetof(hk_rfft_arguments, n) == 0 &&
               offsetof(hk_rfft_arguments, axis) == 8 &&
               offsetof(hk_rfft_arguments, norm) == 16,
               "hk_rfft_arguments");
_Static_assert(sizeof(hk_irfft_arguments) == 24 &&
               offsetof(hk_irfft_arguments, n) == 0 &&
               offsetof(hk_irfft_arguments, axis) == 8 &&
               offsetof(hk_irfft_arguments, norm) == 16,
               "hk_irfft_arguments");
_Static_assert(sizeof(hk_hfft_arguments) == 24 &&
               offsetof(hk_hfft_arguments, n) == 0 &&
               offsetof(hk_hfft_arguments, axis) == 8 &&
               offsetof(hk_hfft_arguments, norm) == 16,
               "hk_hfft_arguments");
_Static_assert(sizeof(hk_ihfft_arguments) == 24 &&
               offsetof(hk_ihfft_arguments, n) == 0 &&
               offsetof(hk_ihfft_arguments, axis) == 8 &&
               offsetof(hk_ihfft_arguments, norm) == 16,
               "hk_ihfft_arguments");
_Static_assert(sizeof(hk_fftn_arguments) == 152 &&
               offsetof(hk_fftn_arguments, sizes) == 0 &&
               offsetof(hk_fftn_arguments, axes) == 72 &&
               offsetof(hk_fftn_arguments, norm) == 144,
               "hk_fftn_arguments");
_Static_assert(sizeof(hk_ifftn_arguments) == 152 &&
               offsetof(hk_ifftn_arguments, sizes) == 0 &&
               offsetof(hk_ifftn_arguments, axes) == 72 &&
               offsetof(hk_ifftn_arguments, norm) == 144,
               "hk_ifftn_arguments");
_Static_assert(sizeof(hk_rfftn_arguments) == 152 &&
               offsetof(hk_rfftn_arguments, sizes) == 0 &&
               offsetof(hk_rfftn_arguments, axes) == 72 &&
               offsetof(hk_rfftn_arguments, norm) == 144,
               "hk_rfftn_arguments");
_Static_assert(sizeof(hk_irfftn_arguments) == 152 &&
               offsetof(hk_irfftn_arguments, sizes) == 0 &&
               offsetof(hk_irfftn_arguments, axes) == 72 &&
               offsetof(hk_irfftn_arguments, norm) == 144,
               "hk_irfftn_arguments");
_Static_assert(sizeof(hk_fftfreq_arguments) == 24 &&
               offsetof(hk_fftfreq_arguments, n) == 0 &&
               offsetof(hk_fftfreq_arguments, distance) == 8 &&
               offsetof(hk_fftfreq_arguments, dtype) == 16,
               "hk_fftfreq_arguments");
_Static_assert(sizeof(hk_rfftfreq_arguments) == 24 &&
               offsetof(hk_rfftfreq_arguments, n) == 0 &&
               offsetof(hk_rfftfreq_arguments, distance) == 8 &&
               offsetof(hk_rfftfreq_arguments, dtype) == 16,
               "hk_rfftfreq_arguments");
_Static_assert(sizeof(hk_fftshift_arguments) == 72 &&
               offsetof(hk_fftshift_arguments, axes) == 0,
               "hk_fftshift_arguments");
_Static_assert(sizeof(hk_ifftshift_arguments) == 72 &&
               offsetof(hk_ifftshift_arguments, axes) == 0,
               "hk_ifftshift_arguments");

hk_array *(hk_sum)(hk_array *x, const hk_sum_options *options)
{
    HKI_TAKE_OPTIONS(hk_sum_options, options);
    return hki_op_call(&hki_op_sum, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_mean)(hk_array *x, const hk_mean_options *options)
{
    HKI_TAKE_OPTIONS(hk_mean_options, options);
    return hki_op_call(&hki_op_mean, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_max)(hk_array *x, const hk_max_options *options)
{
    HKI_TAKE_OPTIONS(hk_max_options, options);
    return hki_op_call(&hki_op_max, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_min)(hk_array *x, const hk_min_options *options)
{
    HKI_TAKE_OPTIONS(hk_min_options, options);
    return hki_op_call(&hki_op_min, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_prod)(hk_array *x, const hk_prod_options *options)
{
    HKI_TAKE_OPTIONS(hk_prod_options, options);
    return hki_op_call(&hki_op_prod, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_norm)(hk_array *x, const hk_norm_options *options)
{
    HKI_TAKE_OPTIONS(hk_norm_options, options);
    return hki_op_call(&hki_op_norm, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_count_nonzero)(hk_array *x, const hk_count_nonzero_options *options)
{
    HKI_TAKE_OPTIONS(hk_count_nonzero_options, options);
    return hki_op_call(&hki_op_count_nonzero, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_any)(hk_array *x, const hk_any_options *options)
{
    HKI_TAKE_OPTIONS(hk_any_options, options);
    return hki_op_call(&hki_op_any, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_all)(hk_array *x, const hk_all_options *options)
{
    HKI_TAKE_OPTIONS(hk_all_options, options);
    return hki_op_call(&hki_op_all, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_var)(hk_array *x, const hk_var_options *options)
{
    HKI_TAKE_OPTIONS(hk_var_options, options);
    return hki_op_call(&hki_op_var, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_std)(hk_array *x, const hk_std_options *options)
{
    HKI_TAKE_OPTIONS(hk_std_options, options);
    return hki_op_call(&hki_op_std, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

void (hk_var_mean)(hk_array *x, const hk_var_mean_options *options, hk_array **variance,
                   hk_array **mean)
{
    HKI_TAKE_OPTIONS(hk_var_mean_options, options);
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_var_mean, (hk_array *const[]){x}, 1, options,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], variance);
    hki_op_give(outputs[1], mean);
}

hk_array *(hk_logsumexp)(hk_array *x, const hk_logsumexp_options *options)
{
    HKI_TAKE_OPTIONS(hk_logsumexp_options, options);
    return hki_op_call(&hki_op_logsumexp, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_add)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_add, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_add_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_add, operands, 2);
}

void (hk_add_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_add, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_add_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_add, out, operands, 2);
}

hk_array *(hk_subtract)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_subtract, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_subtract_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_subtract, operands, 2);
}

void (hk_subtract_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_subtract, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_subtract_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_subtract, out, operands, 2);
}

hk_array *(hk_multiply)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_multiply, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_multiply_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_multiply, operands, 2);
}

void (hk_multiply_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_multiply, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_multiply_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_multiply, out, operands, 2);
}

hk_array *(hk_divide)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_divide, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_divide_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_divide, operands, 2);
}

void (hk_divide_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_divide, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_divide_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_divide, out, operands, 2);
}

hk_array *(hk_maximum)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_maximum, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_maximum_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_maximum, operands, 2);
}

void (hk_maximum_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_maximum, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_maximum_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_maximum, out, operands, 2);
}

hk_array *(hk_minimum)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_minimum, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_minimum_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_minimum, operands, 2);
}

void (hk_minimum_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_minimum, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_minimum_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_minimum, out, operands, 2);
}

hk_array *(hk_power)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_power, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_power_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_power, operands, 2);
}

void (hk_power_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_power, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_power_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_power, out, operands, 2);
}

hk_array *(hk_remainder)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_remainder, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_remainder_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_remainder, operands, 2);
}

void (hk_remainder_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_remainder, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_remainder_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_remainder, out, operands, 2);
}

hk_array *(hk_floor_divide)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_floor_divide, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_floor_divide_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_floor_divide, operands, 2);
}

void (hk_floor_divide_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_floor_divide, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_floor_divide_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_floor_divide, out, operands, 2);
}

hk_array *(hk_atan2)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_atan2, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_atan2_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_atan2, operands, 2);
}

void (hk_atan2_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_atan2, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_atan2_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_atan2, out, operands, 2);
}

hk_array *(hk_hypot)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_hypot, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_hypot_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_hypot, operands, 2);
}

void (hk_hypot_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_hypot, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_hypot_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_hypot, out, operands, 2);
}

hk_array *(hk_copysign)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_copysign, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_copysign_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_copysign, operands, 2);
}

void (hk_copysign_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_copysign, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_copysign_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_copysign, out, operands, 2);
}

hk_array *(hk_nextafter)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_nextafter, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_nextafter_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_nextafter, operands, 2);
}

void (hk_nextafter_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_nextafter, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_nextafter_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_nextafter, out, operands, 2);
}

hk_array *(hk_logaddexp)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_logaddexp, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_logaddexp_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_logaddexp, operands, 2);
}

void (hk_logaddexp_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_logaddexp, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_logaddexp_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_logaddexp, out, operands, 2);
}

hk_array *(hk_prelu)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_prelu, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_prelu_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_prelu, operands, 2);
}

void (hk_prelu_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_prelu, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_prelu_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_prelu, out, operands, 2);
}

hk_array *(hk_negative)(hk_array *x)
{
    return hki_op_call(&hki_op_negative, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_negative_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_negative, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_exp)(hk_array *x)
{
    return hki_op_call(&hki_op_exp, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_exp_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_exp, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_log)(hk_array *x)
{
    return hki_op_call(&hki_op_log, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_log_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_log, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_sqrt)(hk_array *x)
{
    return hki_op_call(&hki_op_sqrt, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_sqrt_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_sqrt, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_abs)(hk_array *x)
{
    return hki_op_call(&hki_op_abs, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_abs_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_abs, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_square)(hk_array *x)
{
    return hki_op_call(&hki_op_square, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_square_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_square, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_sigmoid)(hk_array *x)
{
    return hki_op_call(&hki_op_sigmoid, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_sigmoid_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_sigmoid, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_tanh)(hk_array *x)
{
    return hki_op_call(&hki_op_tanh, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_tanh_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_tanh, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_relu)(hk_array *x)
{
    return hki_op_call(&hki_op_relu, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_relu_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_relu, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_reciprocal)(hk_array *x)
{
    return hki_op_call(&hki_op_reciprocal, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_reciprocal_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_reciprocal, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_rsqrt)(hk_array *x)
{
    return hki_op_call(&hki_op_rsqrt, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_rsqrt_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_rsqrt, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_expm1)(hk_array *x)
{
    return hki_op_call(&hki_op_expm1, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_expm1_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_expm1, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_log1p)(hk_array *x)
{
    return hki_op_call(&hki_op_log1p, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_log1p_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_log1p, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_log2)(hk_array *x)
{
    return hki_op_call(&hki_op_log2, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_log2_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_log2, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_log10)(hk_array *x)
{
    return hki_op_call(&hki_op_log10, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_log10_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_log10, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_sin)(hk_array *x)
{
    return hki_op_call(&hki_op_sin, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_sin_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_sin, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_cos)(hk_array *x)
{
    return hki_op_call(&hki_op_cos, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_cos_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_cos, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_tan)(hk_array *x)
{
    return hki_op_call(&hki_op_tan, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_tan_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_tan, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_asin)(hk_array *x)
{
    return hki_op_call(&hki_op_asin, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_asin_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_asin, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_acos)(hk_array *x)
{
    return hki_op_call(&hki_op_acos, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_acos_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_acos, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_atan)(hk_array *x)
{
    return hki_op_call(&hki_op_atan, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_atan_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_atan, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_sinh)(hk_array *x)
{
    return hki_op_call(&hki_op_sinh, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_sinh_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_sinh, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_cosh)(hk_array *x)
{
    return hki_op_call(&hki_op_cosh, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_cosh_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_cosh, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_asinh)(hk_array *x)
{
    return hki_op_call(&hki_op_asinh, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_asinh_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_asinh, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_acosh)(hk_array *x)
{
    return hki_op_call(&hki_op_acosh, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_acosh_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_acosh, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_atanh)(hk_array *x)
{
    return hki_op_call(&hki_op_atanh, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_atanh_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_atanh, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_erf)(hk_array *x)
{
    return hki_op_call(&hki_op_erf, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_erf_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_erf, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_ceil)(hk_array *x)
{
    return hki_op_call(&hki_op_ceil, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_ceil_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_ceil, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_floor)(hk_array *x)
{
    return hki_op_call(&hki_op_floor, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_floor_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_floor, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_trunc)(hk_array *x)
{
    return hki_op_call(&hki_op_trunc, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_trunc_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_trunc, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_round)(hk_array *x)
{
    return hki_op_call(&hki_op_round, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_round_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_round, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_sign)(hk_array *x)
{
    return hki_op_call(&hki_op_sign, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_sign_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_sign, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_gelu)(hk_array *x)
{
    return hki_op_call(&hki_op_gelu, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_gelu_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_gelu, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_gelu_tanh)(hk_array *x)
{
    return hki_op_call(&hki_op_gelu_tanh, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_gelu_tanh_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_gelu_tanh, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_silu)(hk_array *x)
{
    return hki_op_call(&hki_op_silu, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_silu_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_silu, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_softplus)(hk_array *x)
{
    return hki_op_call(&hki_op_softplus, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_softplus_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_softplus, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_mish)(hk_array *x)
{
    return hki_op_call(&hki_op_mish, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_mish_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_mish, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_hard_sigmoid)(hk_array *x)
{
    return hki_op_call(&hki_op_hard_sigmoid, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_hard_sigmoid_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_hard_sigmoid, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_hard_swish)(hk_array *x)
{
    return hki_op_call(&hki_op_hard_swish, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_hard_swish_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_hard_swish, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_elu)(hk_array *x, double value)
{
    hk_elu_arguments arguments = {
        .value = value,
    };
    return hki_op_call(&hki_op_elu, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

void (hk_elu_into)(hk_array *out, hk_array *x, double value)
{
    hk_elu_arguments arguments = {
        .value = value,
    };
    hki_op_call_into(&hki_op_elu, (hk_array *const[]){x}, 1, &arguments, out);
}

hk_array *(hk_leaky_relu)(hk_array *x, double value)
{
    hk_leaky_relu_arguments arguments = {
        .value = value,
    };
    return hki_op_call(&hki_op_leaky_relu, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

void (hk_leaky_relu_into)(hk_array *out, hk_array *x, double value)
{
    hk_leaky_relu_arguments arguments = {
        .value = value,
    };
    hki_op_call_into(&hki_op_leaky_relu, (hk_array *const[]){x}, 1, &arguments, out);
}

hk_array *(hk_clip)(hk_array *x, double min, double max)
{
    hk_clip_arguments arguments = {
        .min = min,
        .max = max,
    };
    return hki_op_call(&hki_op_clip, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

void (hk_clip_into)(hk_array *out, hk_array *x, double min, double max)
{
    hk_clip_arguments arguments = {
        .min = min,
        .max = max,
    };
    hki_op_call_into(&hki_op_clip, (hk_array *const[]){x}, 1, &arguments, out);
}

hk_array *(hk_equal)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_equal, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_equal_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_equal, operands, 2);
}

void (hk_equal_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_equal, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_equal_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_equal, out, operands, 2);
}

hk_array *(hk_not_equal)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_not_equal, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_not_equal_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_not_equal, operands, 2);
}

void (hk_not_equal_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_not_equal, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_not_equal_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_not_equal, out, operands, 2);
}

hk_array *(hk_less)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_less, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_less_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_less, operands, 2);
}

void (hk_less_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_less, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_less_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_less, out, operands, 2);
}

hk_array *(hk_less_equal)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_less_equal, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_less_equal_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_less_equal, operands, 2);
}

void (hk_less_equal_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_less_equal, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_less_equal_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_less_equal, out, operands, 2);
}

hk_array *(hk_greater)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_greater, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_greater_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_greater, operands, 2);
}

void (hk_greater_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_greater, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_greater_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_greater, out, operands, 2);
}

hk_array *(hk_greater_equal)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_greater_equal, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_greater_equal_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_greater_equal, operands, 2);
}

void (hk_greater_equal_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_greater_equal, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_greater_equal_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_greater_equal, out, operands, 2);
}

hk_array *(hk_where)(hk_array *condition, hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_where, (hk_array *const[]){condition, x, y}, 3, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_where_operands_at(hk_source at, hk_array *condition, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {hk_operand_of_array(condition), x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_where, operands, 3);
}

void (hk_where_into)(hk_array *out, hk_array *condition, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_where, (hk_array *const[]){condition, x, y}, 3, NULL, out);
}

void hk_where_operands_into_at(hk_source at, hk_array *out, hk_array *condition, hk_operand x,
                               hk_operand y)
{
    const hk_operand operands[] = {hk_operand_of_array(condition), x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_where, out, operands, 3);
}

hk_array *(hk_isnan)(hk_array *x)
{
    return hki_op_call(&hki_op_isnan, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_isnan_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_isnan, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_isinf)(hk_array *x)
{
    return hki_op_call(&hki_op_isinf, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_isinf_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_isinf, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_isfinite)(hk_array *x)
{
    return hki_op_call(&hki_op_isfinite, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_isfinite_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_isfinite, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_signbit)(hk_array *x)
{
    return hki_op_call(&hki_op_signbit, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_signbit_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_signbit, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_logical_and)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_logical_and, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_logical_and_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_logical_and, operands, 2);
}

void (hk_logical_and_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_logical_and, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_logical_and_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_logical_and, out, operands, 2);
}

hk_array *(hk_logical_or)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_logical_or, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_logical_or_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_logical_or, operands, 2);
}

void (hk_logical_or_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_logical_or, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_logical_or_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_logical_or, out, operands, 2);
}

hk_array *(hk_logical_xor)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_logical_xor, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_logical_xor_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_logical_xor, operands, 2);
}

void (hk_logical_xor_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_logical_xor, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_logical_xor_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_logical_xor, out, operands, 2);
}

hk_array *(hk_logical_not)(hk_array *x)
{
    return hki_op_call(&hki_op_logical_not, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_logical_not_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_logical_not, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_bitwise_and)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_bitwise_and, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_bitwise_and_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_bitwise_and, operands, 2);
}

void (hk_bitwise_and_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_bitwise_and, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_bitwise_and_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_bitwise_and, out, operands, 2);
}

hk_array *(hk_bitwise_or)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_bitwise_or, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_bitwise_or_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_bitwise_or, operands, 2);
}

void (hk_bitwise_or_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_bitwise_or, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_bitwise_or_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_bitwise_or, out, operands, 2);
}

hk_array *(hk_bitwise_xor)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_bitwise_xor, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_bitwise_xor_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_bitwise_xor, operands, 2);
}

void (hk_bitwise_xor_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_bitwise_xor, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_bitwise_xor_operands_into_at(hk_source at, hk_array *out, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_bitwise_xor, out, operands, 2);
}

hk_array *(hk_bitwise_invert)(hk_array *x)
{
    return hki_op_call(&hki_op_bitwise_invert, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_bitwise_invert_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_bitwise_invert, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_bitwise_left_shift)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_bitwise_left_shift, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_bitwise_left_shift_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_bitwise_left_shift, operands, 2);
}

void (hk_bitwise_left_shift_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_bitwise_left_shift, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_bitwise_left_shift_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                            hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_bitwise_left_shift, out, operands, 2);
}

hk_array *(hk_bitwise_right_shift)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_bitwise_right_shift, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *hk_bitwise_right_shift_operands_at(hk_source at, hk_operand x, hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    return (hk_operator_call_operands)(&hki_op_bitwise_right_shift, operands, 2);
}

void (hk_bitwise_right_shift_into)(hk_array *out, hk_array *x, hk_array *y)
{
    hki_op_call_into(&hki_op_bitwise_right_shift, (hk_array *const[]){x, y}, 2, NULL, out);
}

void hk_bitwise_right_shift_operands_into_at(hk_source at, hk_array *out, hk_operand x,
                                             hk_operand y)
{
    const hk_operand operands[] = {x, y};
    hki_source_put(at);
    (hk_operator_call_operands_into)(&hki_op_bitwise_right_shift, out, operands, 2);
}

hk_array *(hk_copy)(hk_array *x)
{
    return hki_op_call(&hki_op_copy, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_copy_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_copy, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_cast)(hk_array *x, hk_dtype dtype)
{
    hk_cast_arguments arguments = {
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_cast, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_wrap)(hk_array *x, hk_dtype dtype)
{
    hk_wrap_arguments arguments = {
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_wrap, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_to_device)(hk_array *x, hk_device device)
{
    return hki_op_call(&hki_op_to_device, (hk_array *const[]){x}, 1, NULL,
                       device, NULL);
}

hk_array *(hk_pin)(hk_array *x)
{
    return hki_op_call(&hki_op_pin, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_full)(hk_dims shape, double value, hk_dtype dtype, hk_device device)
{
    hk_full_arguments arguments = {
        .shape = shape,
        .value = value,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_full, NULL, 0, &arguments,
                       device, NULL);
}

void (hk_full_into)(hk_array *out, hk_dims shape, double value, hk_dtype dtype)
{
    hk_full_arguments arguments = {
        .shape = shape,
        .value = value,
        .dtype = dtype,
    };
    hki_op_call_into(&hki_op_full, NULL, 0, &arguments, out);
}

hk_array *(hk_zeros)(hk_dims shape, hk_dtype dtype, hk_device device)
{
    hk_zeros_arguments arguments = {
        .shape = shape,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_zeros, NULL, 0, &arguments,
                       device, NULL);
}

void (hk_zeros_into)(hk_array *out, hk_dims shape, hk_dtype dtype)
{
    hk_zeros_arguments arguments = {
        .shape = shape,
        .dtype = dtype,
    };
    hki_op_call_into(&hki_op_zeros, NULL, 0, &arguments, out);
}

hk_array *(hk_ones)(hk_dims shape, hk_dtype dtype, hk_device device)
{
    hk_ones_arguments arguments = {
        .shape = shape,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_ones, NULL, 0, &arguments,
                       device, NULL);
}

void (hk_ones_into)(hk_array *out, hk_dims shape, hk_dtype dtype)
{
    hk_ones_arguments arguments = {
        .shape = shape,
        .dtype = dtype,
    };
    hki_op_call_into(&hki_op_ones, NULL, 0, &arguments, out);
}

hk_array *(hk_arange)(double start, double stop, double step, hk_dtype dtype, hk_device device)
{
    hk_arange_arguments arguments = {
        .start = start,
        .stop = stop,
        .step = step,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_arange, NULL, 0, &arguments,
                       device, NULL);
}

hk_array *(hk_sequence)(int64_t first, int64_t step, int64_t count, hk_dtype dtype,
                        hk_device device)
{
    hk_sequence_arguments arguments = {
        .first = first,
        .step = step,
        .count = count,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_sequence, NULL, 0, &arguments,
                       device, NULL);
}

hk_array *(hk_linspace)(double start, double stop, int64_t count, bool endpoint, hk_dtype dtype,
                        hk_device device)
{
    hk_linspace_arguments arguments = {
        .start = start,
        .stop = stop,
        .count = count,
        .endpoint = endpoint,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_linspace, NULL, 0, &arguments,
                       device, NULL);
}

hk_array *(hk_eye)(int64_t rows, int64_t columns, int64_t offset, hk_dtype dtype, hk_device device)
{
    hk_eye_arguments arguments = {
        .rows = rows,
        .columns = columns,
        .offset = offset,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_eye, NULL, 0, &arguments,
                       device, NULL);
}

hk_array *(hk_full_like)(hk_array *x, double value)
{
    hk_full_like_arguments arguments = {
        .value = value,
    };
    return hki_op_call(&hki_op_full_like, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_zeros_like)(hk_array *x)
{
    return hki_op_call(&hki_op_zeros_like, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_ones_like)(hk_array *x)
{
    return hki_op_call(&hki_op_ones_like, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_ones_like_into)(hk_array *out, hk_array *x)
{
    hki_op_call_into(&hki_op_ones_like, (hk_array *const[]){x}, 1, NULL, out);
}

hk_array *(hk_one_hot)(hk_array *x, int64_t classes, hk_dtype dtype)
{
    hk_one_hot_arguments arguments = {
        .classes = classes,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_one_hot, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_tril)(hk_array *x, int64_t offset)
{
    hk_tril_arguments arguments = {
        .offset = offset,
    };
    return hki_op_call(&hki_op_tril, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_triu)(hk_array *x, int64_t offset)
{
    hk_triu_arguments arguments = {
        .offset = offset,
    };
    return hki_op_call(&hki_op_triu, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_reshape)(hk_array *x, hk_dims shape)
{
    hk_reshape_arguments arguments = {
        .shape = shape,
    };
    return hki_op_call(&hki_op_reshape, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_matmul)(hk_array *a, hk_array *b)
{
    return hki_op_call(&hki_op_matmul, (hk_array *const[]){a, b}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_tensordot)(hk_array *x, hk_array *y, int64_t axes)
{
    hk_tensordot_arguments arguments = {
        .axes = axes,
    };
    return hki_op_call(&hki_op_tensordot, (hk_array *const[]){x, y}, 2, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_vecdot)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_vecdot, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_outer)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_outer, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_matrix_trace)(hk_array *x, int64_t offset)
{
    hk_matrix_trace_arguments arguments = {
        .offset = offset,
    };
    return hki_op_call(&hki_op_matrix_trace, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_diff)(hk_array *x, int64_t axis)
{
    hk_diff_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_diff, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_linear)(hk_array *x, hk_array *weight, hk_array *bias)
{
    return hki_op_call(&hki_op_linear, (hk_array *const[]){x, weight, bias}, 3, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_softmax_cross_entropy)(hk_array *logits, hk_array *labels)
{
    return hki_op_call(&hki_op_softmax_cross_entropy, (hk_array *const[]){logits, labels}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_softmax)(hk_array *x, int64_t axis)
{
    hk_softmax_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_softmax, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_log_softmax)(hk_array *x, int64_t axis)
{
    hk_log_softmax_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_log_softmax, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_argmax)(hk_array *x, int64_t axis)
{
    hk_argmax_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_argmax, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_argmin)(hk_array *x, int64_t axis)
{
    hk_argmin_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_argmin, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_cumulative_sum)(hk_array *x, int64_t axis)
{
    hk_cumulative_sum_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_cumulative_sum, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_cumulative_prod)(hk_array *x, int64_t axis)
{
    hk_cumulative_prod_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_cumulative_prod, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_sort)(hk_array *x, int64_t axis, bool descending)
{
    hk_sort_arguments arguments = {
        .axis = axis,
        .descending = descending,
    };
    return hki_op_call(&hki_op_sort, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_argsort)(hk_array *x, int64_t axis, bool descending)
{
    hk_argsort_arguments arguments = {
        .axis = axis,
        .descending = descending,
    };
    return hki_op_call(&hki_op_argsort, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_searchsorted)(hk_array *sorted, hk_array *x, bool right)
{
    hk_searchsorted_arguments arguments = {
        .right = right,
    };
    return hki_op_call(&hki_op_searchsorted, (hk_array *const[]){sorted, x}, 2, &arguments,
                       (hk_device){NULL}, NULL);
}

void (hk_topk)(hk_array *x, int64_t k, int64_t axis, bool largest, hk_array **values,
               hk_array **indices)
{
    hk_topk_arguments arguments = {
        .k = k,
        .axis = axis,
        .largest = largest,
    };
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_topk, (hk_array *const[]){x}, 1, &arguments,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], values);
    hki_op_give(outputs[1], indices);
}

hk_array *(hk_isin)(hk_array *x, hk_array *elements)
{
    return hki_op_call(&hki_op_isin, (hk_array *const[]){x, elements}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_histogram)(hk_array *x, int64_t bins, double low, double high)
{
    hk_histogram_arguments arguments = {
        .bins = bins,
        .low = low,
        .high = high,
    };
    return hki_op_call(&hki_op_histogram, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

void (hk_cumulative_max)(hk_array *x, int64_t axis, hk_array **values, hk_array **indices)
{
    hk_cumulative_max_arguments arguments = {
        .axis = axis,
    };
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_cumulative_max, (hk_array *const[]){x}, 1, &arguments,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], values);
    hki_op_give(outputs[1], indices);
}

void (hk_cumulative_min)(hk_array *x, int64_t axis, hk_array **values, hk_array **indices)
{
    hk_cumulative_min_arguments arguments = {
        .axis = axis,
    };
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_cumulative_min, (hk_array *const[]){x}, 1, &arguments,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], values);
    hki_op_give(outputs[1], indices);
}

hk_array *(hk_quantile)(hk_array *x, const hk_quantile_options *options)
{
    HKI_TAKE_OPTIONS(hk_quantile_options, options);
    return hki_op_call(&hki_op_quantile, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_median)(hk_array *x, const hk_median_options *options)
{
    HKI_TAKE_OPTIONS(hk_median_options, options);
    return hki_op_call(&hki_op_median, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_nanquantile)(hk_array *x, const hk_nanquantile_options *options)
{
    HKI_TAKE_OPTIONS(hk_nanquantile_options, options);
    return hki_op_call(&hki_op_nanquantile, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_nanmedian)(hk_array *x, const hk_nanmedian_options *options)
{
    HKI_TAKE_OPTIONS(hk_nanmedian_options, options);
    return hki_op_call(&hki_op_nanmedian, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_conv2d)(hk_array *x, hk_array *weight, hk_array *bias,
                      const hk_conv2d_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv2d_options, options);
    return hki_op_call(&hki_op_conv2d, (hk_array *const[]){x, weight, bias}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_conv2d_transpose)(hk_array *x, hk_array *weight, hk_array *bias,
                                const hk_conv2d_transpose_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv2d_transpose_options, options);
    return hki_op_call(&hki_op_conv2d_transpose, (hk_array *const[]){x, weight, bias}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_conv1d)(hk_array *x, hk_array *weight, hk_array *bias,
                      const hk_conv1d_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv1d_options, options);
    return hki_op_call(&hki_op_conv1d, (hk_array *const[]){x, weight, bias}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_conv3d)(hk_array *x, hk_array *weight, hk_array *bias,
                      const hk_conv3d_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv3d_options, options);
    return hki_op_call(&hki_op_conv3d, (hk_array *const[]){x, weight, bias}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_conv3d_transpose)(hk_array *x, hk_array *weight, hk_array *bias,
                                const hk_conv3d_transpose_options *options)
{
    HKI_TAKE_OPTIONS(hk_conv3d_transpose_options, options);
    return hki_op_call(&hki_op_conv3d_transpose, (hk_array *const[]){x, weight, bias}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_max_pool2d)(hk_array *x, const hk_max_pool2d_options *options)
{
    HKI_TAKE_OPTIONS(hk_max_pool2d_options, options);
    return hki_op_call(&hki_op_max_pool2d, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_avg_pool2d)(hk_array *x, const hk_avg_pool2d_options *options)
{
    HKI_TAKE_OPTIONS(hk_avg_pool2d_options, options);
    return hki_op_call(&hki_op_avg_pool2d, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_max_pool1d)(hk_array *x, const hk_max_pool1d_options *options)
{
    HKI_TAKE_OPTIONS(hk_max_pool1d_options, options);
    return hki_op_call(&hki_op_max_pool1d, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_avg_pool1d)(hk_array *x, const hk_avg_pool1d_options *options)
{
    HKI_TAKE_OPTIONS(hk_avg_pool1d_options, options);
    return hki_op_call(&hki_op_avg_pool1d, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_adaptive_avg_pool2d)(hk_array *x, const hk_adaptive_avg_pool2d_options *options)
{
    HKI_TAKE_OPTIONS(hk_adaptive_avg_pool2d_options, options);
    return hki_op_call(&hki_op_adaptive_avg_pool2d, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_adaptive_max_pool2d)(hk_array *x, const hk_adaptive_max_pool2d_options *options)
{
    HKI_TAKE_OPTIONS(hk_adaptive_max_pool2d_options, options);
    return hki_op_call(&hki_op_adaptive_max_pool2d, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_adaptive_avg_pool1d)(hk_array *x, const hk_adaptive_avg_pool1d_options *options)
{
    HKI_TAKE_OPTIONS(hk_adaptive_avg_pool1d_options, options);
    return hki_op_call(&hki_op_adaptive_avg_pool1d, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_adaptive_max_pool1d)(hk_array *x, const hk_adaptive_max_pool1d_options *options)
{
    HKI_TAKE_OPTIONS(hk_adaptive_max_pool1d_options, options);
    return hki_op_call(&hki_op_adaptive_max_pool1d, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_interpolate)(hk_array *x, const hk_interpolate_options *options)
{
    HKI_TAKE_OPTIONS(hk_interpolate_options, options);
    return hki_op_call(&hki_op_interpolate, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_grid_sample)(hk_array *x, hk_array *grid, const hk_grid_sample_options *options)
{
    HKI_TAKE_OPTIONS(hk_grid_sample_options, options);
    return hki_op_call(&hki_op_grid_sample, (hk_array *const[]){x, grid}, 2, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_roi_align)(hk_array *x, hk_array *rois, hk_array *batch,
                         const hk_roi_align_options *options)
{
    HKI_TAKE_OPTIONS(hk_roi_align_options, options);
    return hki_op_call(&hki_op_roi_align, (hk_array *const[]){x, rois, batch}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_depth_to_space)(hk_array *x, int64_t block, bool crd)
{
    hk_depth_to_space_arguments arguments = {
        .block = block,
        .crd = crd,
    };
    return hki_op_call(&hki_op_depth_to_space, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_space_to_depth)(hk_array *x, int64_t block, bool crd)
{
    hk_space_to_depth_arguments arguments = {
        .block = block,
        .crd = crd,
    };
    return hki_op_call(&hki_op_space_to_depth, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_batch_norm)(hk_array *x, hk_array *gamma, hk_array *beta, hk_array *mean,
                          hk_array *variance, const hk_batch_norm_options *options)
{
    HKI_TAKE_OPTIONS(hk_batch_norm_options, options);
    return hki_op_call(&hki_op_batch_norm, (hk_array *const[]){x, gamma, beta, mean, variance}, 5, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_layer_norm)(hk_array *x, hk_array *gamma, hk_array *beta,
                          const hk_layer_norm_options *options)
{
    HKI_TAKE_OPTIONS(hk_layer_norm_options, options);
    return hki_op_call(&hki_op_layer_norm, (hk_array *const[]){x, gamma, beta}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_rms_norm)(hk_array *x, hk_array *gamma, const hk_rms_norm_options *options)
{
    HKI_TAKE_OPTIONS(hk_rms_norm_options, options);
    return hki_op_call(&hki_op_rms_norm, (hk_array *const[]){x, gamma}, 2, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_group_norm)(hk_array *x, hk_array *gamma, hk_array *beta,
                          const hk_group_norm_options *options)
{
    HKI_TAKE_OPTIONS(hk_group_norm_options, options);
    return hki_op_call(&hki_op_group_norm, (hk_array *const[]){x, gamma, beta}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_mse_loss)(hk_array *x, hk_array *target, const hk_mse_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_mse_loss_options, options);
    return hki_op_call(&hki_op_mse_loss, (hk_array *const[]){x, target}, 2, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_l1_loss)(hk_array *x, hk_array *target, const hk_l1_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_l1_loss_options, options);
    return hki_op_call(&hki_op_l1_loss, (hk_array *const[]){x, target}, 2, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_huber_loss)(hk_array *x, hk_array *target, const hk_huber_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_huber_loss_options, options);
    return hki_op_call(&hki_op_huber_loss, (hk_array *const[]){x, target}, 2, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_binary_cross_entropy_with_logits)(hk_array *x, hk_array *target,
                                                const hk_binary_cross_entropy_with_logits_options *options)
{
    HKI_TAKE_OPTIONS(hk_binary_cross_entropy_with_logits_options, options);
    return hki_op_call(&hki_op_binary_cross_entropy_with_logits, (hk_array *const[]){x, target}, 2, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_hinge_loss)(hk_array *x, hk_array *target, const hk_hinge_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_hinge_loss_options, options);
    return hki_op_call(&hki_op_hinge_loss, (hk_array *const[]){x, target}, 2, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_kl_divergence_loss)(hk_array *x, hk_array *target,
                                  const hk_kl_divergence_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_kl_divergence_loss_options, options);
    return hki_op_call(&hki_op_kl_divergence_loss, (hk_array *const[]){x, target}, 2, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_binary_cross_entropy)(hk_array *x, hk_array *target,
                                    const hk_binary_cross_entropy_options *options)
{
    HKI_TAKE_OPTIONS(hk_binary_cross_entropy_options, options);
    return hki_op_call(&hki_op_binary_cross_entropy, (hk_array *const[]){x, target}, 2, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_cross_entropy_loss)(hk_array *x, hk_array *labels, hk_array *weight,
                                  const hk_cross_entropy_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_cross_entropy_loss_options, options);
    return hki_op_call(&hki_op_cross_entropy_loss, (hk_array *const[]){x, labels, weight}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_nll_loss)(hk_array *x, hk_array *labels, hk_array *weight,
                        const hk_nll_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_nll_loss_options, options);
    return hki_op_call(&hki_op_nll_loss, (hk_array *const[]){x, labels, weight}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_cosine_similarity)(hk_array *x, hk_array *y, int64_t axis)
{
    hk_cosine_similarity_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_cosine_similarity, (hk_array *const[]){x, y}, 2, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_cosine_embedding_loss)(hk_array *x, hk_array *y, hk_array *target,
                                     const hk_cosine_embedding_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_cosine_embedding_loss_options, options);
    return hki_op_call(&hki_op_cosine_embedding_loss, (hk_array *const[]){x, y, target}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_triplet_margin_loss)(hk_array *anchor, hk_array *positive, hk_array *negative,
                                   const hk_triplet_margin_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_triplet_margin_loss_options, options);
    return hki_op_call(&hki_op_triplet_margin_loss, (hk_array *const[]){anchor, positive, negative}, 3, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_ctc_loss)(hk_array *log_probs, hk_array *targets, hk_array *input_lengths,
                        hk_array *target_lengths, const hk_ctc_loss_options *options)
{
    HKI_TAKE_OPTIONS(hk_ctc_loss_options, options);
    return hki_op_call(&hki_op_ctc_loss, (hk_array *const[]){log_probs, targets, input_lengths, target_lengths}, 4, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_scaled_dot_product_attention)(hk_array *query, hk_array *key, hk_array *value,
                                            hk_array *mask,
                                            const hk_scaled_dot_product_attention_options *options)
{
    HKI_TAKE_OPTIONS(hk_scaled_dot_product_attention_options, options);
    return hki_op_call(&hki_op_scaled_dot_product_attention, (hk_array *const[]){query, key, value, mask}, 4, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_slice_step)(hk_array *x, int64_t axis, int64_t begin, int64_t end, int64_t step)
{
    hk_slice_step_arguments arguments = {
        .axis = axis,
        .begin = begin,
        .end = end,
        .step = step,
    };
    return hki_op_call(&hki_op_slice_step, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_flip)(hk_array *x, int64_t axis)
{
    hk_flip_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_flip, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_expand_dims)(hk_array *x, int64_t axis)
{
    hk_expand_dims_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_expand_dims, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_squeeze)(hk_array *x, int64_t axis)
{
    hk_squeeze_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_squeeze, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_swapaxes)(hk_array *x, int64_t axis1, int64_t axis2)
{
    hk_swapaxes_arguments arguments = {
        .axis1 = axis1,
        .axis2 = axis2,
    };
    return hki_op_call(&hki_op_swapaxes, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_moveaxis)(hk_array *x, int64_t source, int64_t destination)
{
    hk_moveaxis_arguments arguments = {
        .source = source,
        .destination = destination,
    };
    return hki_op_call(&hki_op_moveaxis, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_permute_dims)(hk_array *x, hk_dims axes)
{
    hk_permute_dims_arguments arguments = {
        .axes = axes,
    };
    return hki_op_call(&hki_op_permute_dims, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_diagonal)(hk_array *x, int64_t offset)
{
    hk_diagonal_arguments arguments = {
        .offset = offset,
    };
    return hki_op_call(&hki_op_diagonal, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_sliding_window)(hk_array *x, int64_t axis, int64_t size, int64_t step)
{
    hk_sliding_window_arguments arguments = {
        .axis = axis,
        .size = size,
        .step = step,
    };
    return hki_op_call(&hki_op_sliding_window, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_concat)(hk_array *const *arrays, int count, int64_t axis)
{
    hk_concat_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_concat, arrays, count, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_stack)(hk_array *const *arrays, int count, int64_t axis)
{
    hk_stack_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_stack, arrays, count, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_roll)(hk_array *x, int64_t shift, int64_t axis)
{
    hk_roll_arguments arguments = {
        .shift = shift,
        .axis = axis,
    };
    return hki_op_call(&hki_op_roll, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_repeat)(hk_array *x, int64_t repeats, int64_t axis)
{
    hk_repeat_arguments arguments = {
        .repeats = repeats,
        .axis = axis,
    };
    return hki_op_call(&hki_op_repeat, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_tile)(hk_array *x, int64_t repeats, int64_t axis)
{
    hk_tile_arguments arguments = {
        .repeats = repeats,
        .axis = axis,
    };
    return hki_op_call(&hki_op_tile, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_pad)(hk_array *x, int64_t axis, const int64_t *width, int64_t mode, double value)
{
    hk_pad_arguments arguments = {
        .axis = axis,
        .width = {width[0], width[1]},
        .mode = mode,
        .value = value,
    };
    return hki_op_call(&hki_op_pad, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_take_along_axis)(hk_array *x, hk_array *indices, int64_t axis)
{
    hk_take_along_axis_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_take_along_axis, (hk_array *const[]){x, indices}, 2, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_scatter_add)(hk_array *x, hk_array *indices, hk_array *updates, int64_t axis)
{
    hk_scatter_add_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_scatter_add, (hk_array *const[]){x, indices, updates}, 3, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_scatter)(hk_array *x, hk_array *indices, hk_array *updates, int64_t axis)
{
    hk_scatter_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_scatter, (hk_array *const[]){x, indices, updates}, 3, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_index_select)(hk_array *x, hk_array *indices, int64_t axis)
{
    hk_index_select_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_index_select, (hk_array *const[]){x, indices}, 2, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_cholesky)(hk_array *x, const hk_cholesky_options *options)
{
    HKI_TAKE_OPTIONS(hk_cholesky_options, options);
    return hki_op_call(&hki_op_cholesky, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

void (hk_cholesky_into)(hk_array *out, hk_array *x, const hk_cholesky_options *options)
{
    HKI_TAKE_OPTIONS(hk_cholesky_options, options);
    hki_op_call_into(&hki_op_cholesky, (hk_array *const[]){x}, 1, options, out);
}

hk_array *(hk_solve)(hk_array *x, hk_array *b)
{
    return hki_op_call(&hki_op_solve, (hk_array *const[]){x, b}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_solve_triangular)(hk_array *t, hk_array *b,
                                const hk_solve_triangular_options *options)
{
    HKI_TAKE_OPTIONS(hk_solve_triangular_options, options);
    return hki_op_call(&hki_op_solve_triangular, (hk_array *const[]){t, b}, 2, options,
                       (hk_device){NULL}, NULL);
}

void (hk_solve_triangular_into)(hk_array *out, hk_array *t, hk_array *b,
                                const hk_solve_triangular_options *options)
{
    HKI_TAKE_OPTIONS(hk_solve_triangular_options, options);
    hki_op_call_into(&hki_op_solve_triangular, (hk_array *const[]){t, b}, 2, options, out);
}

hk_array *(hk_addmm)(hk_array *c, hk_array *a, hk_array *b, const hk_addmm_options *options)
{
    HKI_TAKE_OPTIONS(hk_addmm_options, options);
    return hki_op_call(&hki_op_addmm, (hk_array *const[]){c, a, b}, 3, options,
                       (hk_device){NULL}, NULL);
}

void (hk_addmm_into)(hk_array *out, hk_array *c, hk_array *a, hk_array *b,
                     const hk_addmm_options *options)
{
    HKI_TAKE_OPTIONS(hk_addmm_options, options);
    hki_op_call_into(&hki_op_addmm, (hk_array *const[]){c, a, b}, 3, options, out);
}

hk_array *(hk_syrk)(hk_array *c, hk_array *a, const hk_syrk_options *options)
{
    HKI_TAKE_OPTIONS(hk_syrk_options, options);
    return hki_op_call(&hki_op_syrk, (hk_array *const[]){c, a}, 2, options,
                       (hk_device){NULL}, NULL);
}

void (hk_syrk_into)(hk_array *out, hk_array *c, hk_array *a, const hk_syrk_options *options)
{
    HKI_TAKE_OPTIONS(hk_syrk_options, options);
    hki_op_call_into(&hki_op_syrk, (hk_array *const[]){c, a}, 2, options, out);
}

void (hk_lu_factor)(hk_array *x, hk_array **lu, hk_array **pivots)
{
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_lu_factor, (hk_array *const[]){x}, 1, NULL,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], lu);
    hki_op_give(outputs[1], pivots);
}

void (hk_lu_factor_into)(hk_array *lu, hk_array *pivots, hk_array *x)
{
    hki_op_call_update(&hki_op_lu_factor, (hk_array *const[]){x}, 1, NULL,
                       (hk_array *const[]){lu, pivots}, 2);
}

hk_array *(hk_lu_solve)(hk_array *lu, hk_array *pivots, hk_array *b,
                        const hk_lu_solve_options *options)
{
    HKI_TAKE_OPTIONS(hk_lu_solve_options, options);
    return hki_op_call(&hki_op_lu_solve, (hk_array *const[]){lu, pivots, b}, 3, options,
                       (hk_device){NULL}, NULL);
}

void (hk_lu_solve_into)(hk_array *out, hk_array *lu, hk_array *pivots, hk_array *b,
                        const hk_lu_solve_options *options)
{
    HKI_TAKE_OPTIONS(hk_lu_solve_options, options);
    hki_op_call_into(&hki_op_lu_solve, (hk_array *const[]){lu, pivots, b}, 3, options, out);
}

hk_array *(hk_inv)(hk_array *x)
{
    return hki_op_call(&hki_op_inv, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_det)(hk_array *x)
{
    return hki_op_call(&hki_op_det, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_slogdet)(hk_array *x, hk_array **sign, hk_array **logabsdet)
{
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_slogdet, (hk_array *const[]){x}, 1, NULL,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], sign);
    hki_op_give(outputs[1], logabsdet);
}

hk_array *(hk_eigvalsh)(hk_array *x)
{
    return hki_op_call(&hki_op_eigvalsh, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_svdvals)(hk_array *x)
{
    return hki_op_call(&hki_op_svdvals, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_pinv)(hk_array *x, const hk_pinv_options *options)
{
    HKI_TAKE_OPTIONS(hk_pinv_options, options);
    return hki_op_call(&hki_op_pinv, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_matrix_rank)(hk_array *x, const hk_matrix_rank_options *options)
{
    HKI_TAKE_OPTIONS(hk_matrix_rank_options, options);
    return hki_op_call(&hki_op_matrix_rank, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

void (hk_eigh)(hk_array *x, hk_array **values, hk_array **vectors)
{
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_eigh, (hk_array *const[]){x}, 1, NULL,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], values);
    hki_op_give(outputs[1], vectors);
}

void (hk_eig)(hk_array *x, hk_array **values, hk_array **vectors)
{
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_eig, (hk_array *const[]){x}, 1, NULL,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], values);
    hki_op_give(outputs[1], vectors);
}

hk_array *(hk_eigvals)(hk_array *x)
{
    return hki_op_call(&hki_op_eigvals, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_svd)(hk_array *x, const hk_svd_options *options, hk_array **u, hk_array **s,
              hk_array **vh)
{
    HKI_TAKE_OPTIONS(hk_svd_options, options);
    hk_array *outputs[3];
    hki_op_call_all(&hki_op_svd, (hk_array *const[]){x}, 1, options,
                    (hk_device){NULL}, outputs, 3);
    hki_op_give(outputs[0], u);
    hki_op_give(outputs[1], s);
    hki_op_give(outputs[2], vh);
}

void (hk_qr)(hk_array *x, const hk_qr_options *options, hk_array **q, hk_array **r)
{
    HKI_TAKE_OPTIONS(hk_qr_options, options);
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_qr, (hk_array *const[]){x}, 1, options,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], q);
    hki_op_give(outputs[1], r);
}

void (hk_qr_factor)(hk_array *x, hk_array **qr, hk_array **tau)
{
    hk_array *outputs[2];
    hki_op_call_all(&hki_op_qr_factor, (hk_array *const[]){x}, 1, NULL,
                    (hk_device){NULL}, outputs, 2);
    hki_op_give(outputs[0], qr);
    hki_op_give(outputs[1], tau);
}

void (hk_qr_factor_into)(hk_array *qr, hk_array *tau, hk_array *x)
{
    hki_op_call_update(&hki_op_qr_factor, (hk_array *const[]){x}, 1, NULL,
                       (hk_array *const[]){qr, tau}, 2);
}

hk_array *(hk_qr_multiply)(hk_array *qr, hk_array *tau, hk_array *b,
                           const hk_qr_multiply_options *options)
{
    HKI_TAKE_OPTIONS(hk_qr_multiply_options, options);
    return hki_op_call(&hki_op_qr_multiply, (hk_array *const[]){qr, tau, b}, 3, options,
                       (hk_device){NULL}, NULL);
}

void (hk_qr_multiply_into)(hk_array *out, hk_array *qr, hk_array *tau, hk_array *b,
                           const hk_qr_multiply_options *options)
{
    HKI_TAKE_OPTIONS(hk_qr_multiply_options, options);
    hki_op_call_into(&hki_op_qr_multiply, (hk_array *const[]){qr, tau, b}, 3, options, out);
}

hk_array *(hk_matrix_power)(hk_array *x, int64_t n)
{
    hk_matrix_power_arguments arguments = {
        .n = n,
    };
    return hki_op_call(&hki_op_matrix_power, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_matrix_norm)(hk_array *x, const hk_matrix_norm_options *options)
{
    HKI_TAKE_OPTIONS(hk_matrix_norm_options, options);
    return hki_op_call(&hki_op_matrix_norm, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_vector_norm)(hk_array *x, const hk_vector_norm_options *options)
{
    HKI_TAKE_OPTIONS(hk_vector_norm_options, options);
    return hki_op_call(&hki_op_vector_norm, (hk_array *const[]){x}, 1, options,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_cross)(hk_array *x, hk_array *y, int64_t axis)
{
    hk_cross_arguments arguments = {
        .axis = axis,
    };
    return hki_op_call(&hki_op_cross, (hk_array *const[]){x, y}, 2, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_kron)(hk_array *x, hk_array *y)
{
    return hki_op_call(&hki_op_kron, (hk_array *const[]){x, y}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_real)(hk_array *x)
{
    return hki_op_call(&hki_op_real, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_imag)(hk_array *x)
{
    return hki_op_call(&hki_op_imag, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_conj)(hk_array *x)
{
    return hki_op_call(&hki_op_conj, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_angle)(hk_array *x)
{
    return hki_op_call(&hki_op_angle, (hk_array *const[]){x}, 1, NULL,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_complex_of)(hk_array *real, hk_array *imag)
{
    return hki_op_call(&hki_op_complex_of, (hk_array *const[]){real, imag}, 2, NULL,
                       (hk_device){NULL}, NULL);
}

void (hk_complex_of_into)(hk_array *out, hk_array *real, hk_array *imag)
{
    hki_op_call_into(&hki_op_complex_of, (hk_array *const[]){real, imag}, 2, NULL, out);
}

hk_array *(hk_fft)(hk_array *x, int64_t n, int64_t axis, int64_t norm)
{
    hk_fft_arguments arguments = {
        .n = n,
        .axis = axis,
        .norm = norm,
    };
    return hki_op_call(&hki_op_fft, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_ifft)(hk_array *x, int64_t n, int64_t axis, int64_t norm)
{
    hk_ifft_arguments arguments = {
        .n = n,
        .axis = axis,
        .norm = norm,
    };
    return hki_op_call(&hki_op_ifft, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_rfft)(hk_array *x, int64_t n, int64_t axis, int64_t norm)
{
    hk_rfft_arguments arguments = {
        .n = n,
        .axis = axis,
        .norm = norm,
    };
    return hki_op_call(&hki_op_rfft, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_irfft)(hk_array *x, int64_t n, int64_t axis, int64_t norm)
{
    hk_irfft_arguments arguments = {
        .n = n,
        .axis = axis,
        .norm = norm,
    };
    return hki_op_call(&hki_op_irfft, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_hfft)(hk_array *x, int64_t n, int64_t axis, int64_t norm)
{
    hk_hfft_arguments arguments = {
        .n = n,
        .axis = axis,
        .norm = norm,
    };
    return hki_op_call(&hki_op_hfft, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_ihfft)(hk_array *x, int64_t n, int64_t axis, int64_t norm)
{
    hk_ihfft_arguments arguments = {
        .n = n,
        .axis = axis,
        .norm = norm,
    };
    return hki_op_call(&hki_op_ihfft, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_fftn)(hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm)
{
    hk_fftn_arguments arguments = {
        .sizes = sizes,
        .axes = axes,
        .norm = norm,
    };
    return hki_op_call(&hki_op_fftn, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_ifftn)(hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm)
{
    hk_ifftn_arguments arguments = {
        .sizes = sizes,
        .axes = axes,
        .norm = norm,
    };
    return hki_op_call(&hki_op_ifftn, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_rfftn)(hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm)
{
    hk_rfftn_arguments arguments = {
        .sizes = sizes,
        .axes = axes,
        .norm = norm,
    };
    return hki_op_call(&hki_op_rfftn, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_irfftn)(hk_array *x, hk_dims sizes, hk_dims axes, int64_t norm)
{
    hk_irfftn_arguments arguments = {
        .sizes = sizes,
        .axes = axes,
        .norm = norm,
    };
    return hki_op_call(&hki_op_irfftn, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_fftfreq)(int64_t n, double distance, hk_dtype dtype, hk_device device)
{
    hk_fftfreq_arguments arguments = {
        .n = n,
        .distance = distance,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_fftfreq, NULL, 0, &arguments,
                       device, NULL);
}

hk_array *(hk_rfftfreq)(int64_t n, double distance, hk_dtype dtype, hk_device device)
{
    hk_rfftfreq_arguments arguments = {
        .n = n,
        .distance = distance,
        .dtype = dtype,
    };
    return hki_op_call(&hki_op_rfftfreq, NULL, 0, &arguments,
                       device, NULL);
}

hk_array *(hk_fftshift)(hk_array *x, hk_dims axes)
{
    hk_fftshift_arguments arguments = {
        .axes = axes,
    };
    return hki_op_call(&hki_op_fftshift, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}

hk_array *(hk_ifftshift)(hk_array *x, hk_dims axes)
{
    hk_ifftshift_arguments arguments = {
        .axes = axes,
    };
    return hki_op_call(&hki_op_ifftshift, (hk_array *const[]){x}, 1, &arguments,
                       (hk_device){NULL}, NULL);
}
