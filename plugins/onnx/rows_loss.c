/* Losses. */
#include "compute.h"
#include "rows.h"

#include <inttypes.h>

static bool read_reduction(onnx_call *call, int64_t *reduction)
{
    if (onnx_text_is(call, "reduction", "none", "mean"))
        *reduction = HK_LOSS_NONE;
    else if (onnx_text_is(call, "reduction", "sum", "mean"))
        *reduction = HK_LOSS_SUM;
    else if (onnx_text_is(call, "reduction", "mean", "mean"))
        *reduction = HK_LOSS_MEAN;
    else
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "reduction must be none, sum or mean");
    return true;
}

/* x is (n, classes, …), labels (n, …), weights (classes). */
static bool labels_fit(onnx_call *call, hk_array *x, hk_array *labels, hk_array *weights)
{
    if (!onnx_needs_floats(call, x, "input 0", 2))
        return false;
    if (!labels)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the labels are missing");
    const hk_dims shape = hk_dims_get(x), found = hk_dims_get(labels);
    bool fits = found.ndim == shape.ndim - 1 && found.dims[0] == shape.dims[0];
    for (int i = 1; fits && i < found.ndim; i++)
        fits = found.dims[i] == shape.dims[i + 1];
    if (!fits)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "the labels have %d axes, and must have the shape of input 0 without "
                           "the axis of classes",
                           found.ndim);
    if (weights && (hk_ndim(weights) != 1 || hk_dim(weights, 0) != shape.dims[1]))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "the weights must have one axis of %" PRId64 ", the classes",
                           shape.dims[1]);
    return true;
}

static bool run_nll(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *labels = onnx_in(call, 1), *weights = onnx_in(call, 2);
    hk_nll_loss_options options = {.axis = 1,
                                   .ignores = onnx_attribute(call, "ignore_index") != NULL,
                                   .ignored = onnx_int(call, "ignore_index", 0)};
    if (!labels_fit(call, x, labels, weights) || !read_reduction(call, &options.reduction))
        return false;
    hk_array *wide = onnx_wide(x);
    hk_array *y = hk_nll_loss(wide, onnx_to(labels, HK_I64), onnx_to(weights, hk_array_dtype(wide)),
                              &options);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

static bool run_softmax_cross_entropy(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *labels = onnx_in(call, 1), *weights = onnx_in(call, 2);
    hk_cross_entropy_loss_options options = {.axis = 1,
                                             .ignores =
                                                 onnx_attribute(call, "ignore_index") != NULL,
                                             .ignored = onnx_int(call, "ignore_index", 0)};
    if (!labels_fit(call, x, labels, weights) || !read_reduction(call, &options.reduction))
        return false;
    hk_array *wide = onnx_wide(x);
    hk_array *y = hk_cross_entropy_loss(wide, onnx_to(labels, HK_I64),
                                        onnx_to(weights, hk_array_dtype(wide)), &options);
    if (!onnx_out(call, 0, onnx_to(y, hk_array_dtype(x))))
        return false;
    return !onnx_wants(call, 1) ||
           onnx_out(call, 1, onnx_to(hk_log_softmax(wide, 1), hk_array_dtype(x)));
}

const onnx_row onnx_rows_loss[] = {
    {"NegativeLogLikelihoodLoss", run_nll, 0},
    {"SoftmaxCrossEntropyLoss", run_softmax_cross_entropy, 0},
    {NULL, NULL, 0},
};
