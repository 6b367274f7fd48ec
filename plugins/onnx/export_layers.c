/* The way out of layers: products, convolution, pooling, norms, attention. */
#include "export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int64_t size_at(const hk_export_value *value, int from_end)
{
    return value->shape.dims[value->shape.ndim - from_end];
}

/* ---- products -------------------------------------------------------------------------------- */

static bool add_matmul(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    return onnx_out_finish(
        out,
        ONNX_OUT(out, "MatMul", NULL, onnx_out_in_as(out, 0, dtype), onnx_out_in_as(out, 1, dtype)),
        dtype);
}

static bool add_linear(onnx_writing *out)
{
    static const int64_t turned[] = {1, 0};
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    const char *x = onnx_out_in_as(out, 0, dtype), *weight = onnx_out_in_as(out, 1, dtype),
               *bias = onnx_out_in_as(out, 2, dtype);
    if (onnx_out_in(out, 0)->shape.ndim == 2) {
        const char *y = ONNX_OUT(out, "Gemm", NULL, x, weight, bias);
        onnx_out_set_int(out, "transB", 1);
        return onnx_out_finish(out, y, dtype);
    }
    const char *y =
        ONNX_OUT(out, "MatMul", NULL, x, onnx_out_transpose(out, weight, turned, 2, NULL));
    return onnx_out_finish(out, onnx_out_in(out, 2) ? ONNX_OUT(out, "Add", NULL, y, bias) : y,
                           dtype);
}

/* ---- convolution ----------------------------------------------------------------------------- */

/* Both ends of both axes. */
static bool set_pads(onnx_writing *out)
{
    const int64_t *pad = onnx_out_option(out, "padding")->ints;
    return onnx_out_set_ints(out, "pads", (const int64_t[]){pad[0], pad[1], pad[0], pad[1]}, 4);
}

static bool set_windows(onnx_writing *out)
{
    const int64_t groups = onnx_out_int(out, "groups");
    return onnx_out_set_ints(out, "strides", onnx_out_option(out, "stride")->ints, 2) &&
           set_pads(out) &&
           onnx_out_set_ints(out, "dilations", onnx_out_option(out, "dilation")->ints, 2) &&
           onnx_out_set_int(out, "group", groups ? groups : 1);
}

static bool add_conv(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    const hk_export_value *weight = onnx_out_in(out, 1);
    const char *y = ONNX_OUT(out, "Conv", NULL, onnx_out_in_as(out, 0, dtype),
                             onnx_out_in_as(out, 1, dtype), onnx_out_in_as(out, 2, dtype));
    return onnx_out_set_ints(out, "kernel_shape", &weight->shape.dims[2], 2) && set_windows(out) &&
           onnx_out_finish(out, y, dtype);
}

/* The gradient of a convolution with respect to x is a transposed one of dy. */
static bool add_conv_transpose(onnx_writing *out)
{
    const hk_export_value *dy = onnx_out_in(out, 0), *weight = onnx_out_in(out, 1),
                          *dx = onnx_out_of(out, 0);
    const int64_t *stride = onnx_out_option(out, "stride")->ints,
                  *padding = onnx_out_option(out, "padding")->ints,
                  *dilation = onnx_out_option(out, "dilation")->ints;
    int64_t more[2];
    for (int i = 0; i < 2; i++)
        more[i] =
            dx->shape.dims[2 + i] - ((dy->shape.dims[2 + i] - 1) * stride[i] - 2 * padding[i] +
                                     dilation[i] * (weight->shape.dims[2 + i] - 1) + 1);
    const char *y = ONNX_OUT(out, "ConvTranspose", NULL, onnx_out_in_as(out, 0, dx->dtype),
                             onnx_out_in_as(out, 1, dx->dtype));
    return onnx_out_set_ints(out, "kernel_shape", &weight->shape.dims[2], 2) && set_windows(out) &&
           onnx_out_set_ints(out, "output_padding", more, 2) && onnx_out_finish(out, y, dx->dtype);
}

/* ---- pooling --------------------------------------------------------------------------------- */

static bool add_pool(onnx_writing *out)
{
    const bool is_max = !strcmp(out->node->operation, "max_pool2d");
    const hk_export_value *x = onnx_out_in(out, 0), *y = onnx_out_of(out, 0);
    const int64_t *kernel = onnx_out_option(out, "kernel")->ints,
                  *padding = onnx_out_option(out, "padding")->ints;
    const hk_export_option *stride = onnx_out_option(out, "stride");
    const int64_t *steps = stride->is_default ? kernel : stride->ints;
    const bool rounds_up = onnx_out_int(out, "ceil_mode");
    for (int i = 0; i < 2; i++) {
        const int64_t left = x->shape.dims[2 + i] + 2 * padding[i] - kernel[i];
        const int64_t size = (left + (rounds_up ? steps[i] - 1 : 0)) / steps[i] + 1;
        if (size != y->shape.dims[2 + i])
            return onnx_out_refuse(out,
                                   "leaves out a last window that ONNX would count (%" PRId64
                                   " in place of %" PRId64 ")",
                                   size, y->shape.dims[2 + i]);
    }
    const char *made =
        ONNX_OUT(out, is_max ? "MaxPool" : "AveragePool", NULL, onnx_out_in_as(out, 0, y->dtype));
    return onnx_out_set_ints(out, "kernel_shape", kernel, 2) &&
           onnx_out_set_ints(out, "strides", steps, 2) && set_pads(out) &&
           onnx_out_set_int(out, "ceil_mode", rounds_up) &&
           (is_max ||
            onnx_out_set_int(out, "count_include_pad", onnx_out_int(out, "count_include_pad"))) &&
           onnx_out_finish(out, made, y->dtype);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* So many elements of one value. */
static const char *filled(onnx_writing *out, hk_dims shape, double value, hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *x = (hk_full)(shape, value, dtype, hk_device_named("cpu:0"));
    const size_t bytes = (size_t)hk_size(x) * hk_dtype_bytes(dtype);
    void *own = onnx_export_allocate(out->file, bytes);
    return own && hk_ok(hk_to_host(x, own, bytes)) ? onnx_out_tensor(out, own, shape, dtype) : NULL;
}

static bool add_batch_norm(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    if (!onnx_out_in(out, 3) || !onnx_out_in(out, 4))
        return onnx_out_refuse(out, "takes the statistics of the batch, as in training");
    const char *y = ONNX_OUT(out, "BatchNormalization", NULL, onnx_out_in_as(out, 0, dtype),
                             onnx_out_in_as(out, 1, dtype), onnx_out_in_as(out, 2, dtype),
                             onnx_out_in_as(out, 3, dtype), onnx_out_in_as(out, 4, dtype));
    return onnx_out_set_float(out, "epsilon", onnx_out_number(out, "eps")) &&
           onnx_out_finish(out, y, dtype);
}

static bool add_layer_norm(onnx_writing *out)
{
    const hk_export_value *x = onnx_out_in(out, 0);
    const int64_t axes = onnx_out_int(out, "axes");
    hk_dims shape = {.ndim = (int)axes};
    for (int i = 0; i < shape.ndim; i++) {
        shape.dims[i] = x->shape.dims[x->shape.ndim - shape.ndim + i];
        if (shape.dims[i] < 0)
            return onnx_out_refuse(out, "normalises over the batch");
    }
    const char *gamma =
        onnx_out_in(out, 1) ? onnx_out_in_as(out, 1, x->dtype) : filled(out, shape, 1, x->dtype);
    const char *y = ONNX_OUT(out, "LayerNormalization", NULL, onnx_out_in_name(out, 0), gamma,
                             onnx_out_in_as(out, 2, x->dtype));
    return onnx_out_set_int(out, "axis", -axes) &&
           onnx_out_set_float(out, "epsilon", onnx_out_number(out, "eps")) &&
           onnx_out_finish(out, y, x->dtype);
}

static bool add_rms_norm(onnx_writing *out)
{
    const hk_export_value *x = onnx_out_in(out, 0);
    const int count = (int)onnx_out_int(out, "axes");
    int64_t axes[HK_MAX_NDIM];
    for (int i = 0; i < count; i++)
        axes[i] = x->shape.ndim - count + i;
    const char *name = onnx_out_in_name(out, 0);
    const char *mean = ONNX_OUT(out, "ReduceMean", NULL, ONNX_OUT(out, "Mul", NULL, name, name),
                                onnx_out_ints(out, axes, count));
    const char *root =
        ONNX_OUT(out, "Sqrt", NULL,
                 ONNX_OUT(out, "Add", NULL, mean,
                          onnx_out_scalar(out, onnx_out_number(out, "eps"), x->dtype)));
    const char *y = ONNX_OUT(out, "Div", NULL, name, root);
    if (onnx_out_in(out, 1))
        y = ONNX_OUT(out, "Mul", NULL, y, onnx_out_in_as(out, 1, x->dtype));
    return onnx_out_finish(out, y, x->dtype);
}

/* As instance norm of groups, then by channels. */
static bool add_group_norm(onnx_writing *out)
{
    const hk_export_value *x = onnx_out_in(out, 0);
    const int64_t groups = onnx_out_int(out, "groups");
    hk_dims apart = {.ndim = 3, .dims = {x->shape.dims[0], groups, 1}}, along = {.ndim = 0};
    for (int i = 1; i < x->shape.ndim; i++) {
        apart.dims[2] *= x->shape.dims[i];
        along.dims[along.ndim++] = i == 1 ? x->shape.dims[1] : 1;
    }
    apart.dims[2] /= groups;
    const char *parts = onnx_out_reshape(out, onnx_out_in_name(out, 0), apart, NULL);
    const char *ones = filled(out, hk_shape(groups), 1, x->dtype),
               *zeros = filled(out, hk_shape(groups), 0, x->dtype);
    const char *y = ONNX_OUT(out, "InstanceNormalization", NULL, parts, ones, zeros);
    onnx_out_set_float(out, "epsilon", onnx_out_number(out, "eps"));
    y = onnx_out_reshape(out, y, x->shape, NULL);
    if (onnx_out_in(out, 1))
        y = ONNX_OUT(out, "Mul", NULL, y,
                     onnx_out_reshape(out, onnx_out_in_as(out, 1, x->dtype), along, NULL));
    if (onnx_out_in(out, 2))
        y = ONNX_OUT(out, "Add", NULL, y,
                     onnx_out_reshape(out, onnx_out_in_as(out, 2, x->dtype), along, NULL));
    return onnx_out_finish(out, y, x->dtype);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* (n, m): true where query i sees key j, j <= i. */
static const char *causal_mask(onnx_writing *out, int64_t n, int64_t m)
{
    bool *own = n < 0 || m < 0 || n > (1 << 24) / (m > 0 ? m : 1)
                    ? NULL
                    : onnx_export_allocate(out->file, (size_t)(n * m));
    if (!own) {
        onnx_out_refuse(out, "is causal over %" PRId64 " positions", n);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            own[i * m + j] = j <= i;
    return onnx_out_tensor(out, own, hk_shape(n, m), HK_BOOL);
}

/* Weights are 0 where nothing is seen, also of a query that sees no key. */
static const char *weigh(onnx_writing *out, const char *scores, const char *seen, hk_dtype dtype)
{
    if (seen)
        scores = ONNX_OUT(out, "Where", NULL, seen, scores, onnx_out_scalar(out, -INFINITY, dtype));
    const char *weights = ONNX_OUT(out, "Softmax", NULL, scores);
    onnx_out_set_int(out, "axis", -1);
    return seen ? ONNX_OUT(out, "Where", NULL, seen, weights, onnx_out_scalar(out, 0, dtype))
                : weights;
}

static bool add_attention(onnx_writing *out)
{
    const hk_export_value *query = onnx_out_in(out, 0), *key = onnx_out_in(out, 1),
                          *mask = onnx_out_in(out, 3);
    const hk_dtype dtype = query->dtype;
    const int ndim = key->shape.ndim;
    int64_t order[HK_MAX_NDIM];
    for (int i = 0; i < ndim; i++)
        order[i] = i < ndim - 2 ? i : 2 * ndim - 3 - i;
    const char *scaled = ONNX_OUT(out, "Mul", NULL, onnx_out_in_name(out, 0),
                                  onnx_out_scalar(out, onnx_out_number(out, "scale"), dtype));
    const char *turned = onnx_out_transpose(out, onnx_out_in_name(out, 1), order, ndim, NULL);
    const char *scores = ONNX_OUT(out, "MatMul", NULL, scaled, turned), *seen = NULL;
    if (mask && mask->dtype == HK_BOOL) {
        seen = onnx_out_in_name(out, 3);
    } else if (mask) {
        const char *added = onnx_out_in_as(out, 3, dtype);
        scores = ONNX_OUT(out, "Add", NULL, scores, added);
        seen = ONNX_OUT(out, "Greater", NULL, added, onnx_out_scalar(out, -INFINITY, dtype));
    }
    if (onnx_out_int(out, "causal")) {
        const char *before = causal_mask(out, size_at(query, 2), size_at(key, 2));
        seen = seen ? ONNX_OUT(out, "And", NULL, seen, before) : before;
        if (!before)
            return false;
    }
    return onnx_out_finish(
        out,
        ONNX_OUT(out, "MatMul", NULL, weigh(out, scores, seen, dtype), onnx_out_in_name(out, 2)),
        dtype);
}

/* ---- regions --------------------------------------------------------------------------------- */

static bool add_roi_align(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    const hk_dims shape = onnx_out_of(out, 0)->shape;
    const char *y = ONNX_OUT(out, "RoiAlign", NULL, onnx_out_in_as(out, 0, dtype),
                             onnx_out_in_as(out, 1, dtype), onnx_out_in_as(out, 2, HK_I64));
    return onnx_out_set_int(out, "output_height", shape.dims[2]) &&
           onnx_out_set_int(out, "output_width", shape.dims[3]) &&
           onnx_out_set_int(out, "sampling_ratio", onnx_out_int(out, "samples")) &&
           onnx_out_set_float(out, "spatial_scale", onnx_out_number(out, "scale")) &&
           onnx_out_set_text(out, "mode", onnx_out_int(out, "largest") ? "max" : "avg") &&
           onnx_out_set_text(out, "coordinate_transformation_mode",
                             onnx_out_int(out, "aligned") ? "half_pixel" : "output_half_pixel") &&
           onnx_out_finish(out, y, dtype);
}

const onnx_export_row onnx_export_layers[] = {
    {"matmul", add_matmul},
    {"linear", add_linear},
    {"conv2d", add_conv},
    {"conv2d_backward_data", add_conv_transpose},
    {"max_pool2d", add_pool},
    {"roi_align", add_roi_align},
    {"avg_pool2d", add_pool},
    {"batch_norm", add_batch_norm},
    {"layer_norm", add_layer_norm},
    {"rms_norm", add_rms_norm},
    {"group_norm", add_group_norm},
    {"attention_blocks", add_attention},
    {NULL, NULL},
};
