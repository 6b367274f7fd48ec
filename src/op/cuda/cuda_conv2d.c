/* Convolution and its gradients: by cuDNN, or by kernels of Hocket's own where that is not there or has no algorithm. */
#include "op/conv2d.h"

#include "device/cuda/cuda_convolutions.h"
#include "op/cuda/cuda_bias.h"
#include "op/cuda/cuda_channel_kernels.h"
#include "op/cuda/cuda_conv2d_kernels.h"
#include "op/cuda/cuda_library_kernels.h"

/* cuDNN counts by int, elements of an array included. */
static bool fits(const hki_conv2d_geometry *g)
{
    const int64_t sizes[] = {g->samples * g->in_channels * g->in_height * g->in_width,
                             g->samples * g->out_channels * g->out_height * g->out_width,
                             g->out_channels * g->in_channels * g->kernel_height * g->kernel_width,
                             g->stride_height,
                             g->stride_width,
                             g->pad_height,
                             g->pad_width,
                             g->dilation_height,
                             g->dilation_width};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i] > INT32_MAX)
            return false;
    return true;
}

static hki_cuda_convolution problem_of(const hki_conv2d_geometry *g, hki_cuda_convolution_kind kind,
                                       bool f64, bool has_bias)
{
    return (hki_cuda_convolution){
        .kind = (int32_t)kind,
        .is_f64 = f64,
        .has_bias = has_bias,
        .samples = (int32_t)g->samples,
        .in_channels = (int32_t)g->in_channels,
        .out_channels = (int32_t)g->out_channels,
        .in_size = {(int32_t)g->in_height, (int32_t)g->in_width},
        .out_size = {(int32_t)g->out_height, (int32_t)g->out_width},
        .kernel = {(int32_t)g->kernel_height, (int32_t)g->kernel_width},
        .stride = {(int32_t)g->stride_height, (int32_t)g->stride_width},
        .padding = {(int32_t)g->pad_height, (int32_t)g->pad_width},
        .dilation = {(int32_t)g->dilation_height, (int32_t)g->dilation_width},
    };
}

/* False: own kernels must do it. *added: with the bias. bias NULL: none. */
static bool convolve_by_library(hki_cuda_stream *stream, const hki_conv2d_geometry *g,
                                hki_cuda_convolution_kind kind, bool f64, const void *first,
                                const void *second, const void *bias, void *out, bool *added)
{
    bool failed = false;
    if (!fits(g))
        return false;
    const hki_cuda_convolution problem = problem_of(g, kind, f64, bias != NULL);
    hki_cuda_convolution_plan *plan = hki_cuda_convolution_plan_for(stream, &problem, &failed);
    if (!plan)
        return failed;
    const size_t bytes = hki_cuda_convolution_workspace_bytes(plan);
    void *workspace = bytes ? hki_cuda_workspace(stream, bytes) : NULL;
    if (bytes && !workspace)
        return true;
    *added = bias && hki_cuda_convolution_adds_bias(plan);
    return hki_cuda_convolution_launch(stream, plan, first, second, bias, out, workspace);
}

void hki_cuda_conv2d(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0], *weight = &call->in[1], *bias = &call->in[2];
    const hki_conv2d_geometry g = hki_conv2d_geometry_of(call->op, call->in, call->options);
    const bool f64 = x->dtype == HK_F64, has_bias = bias->ndim >= 0;
    void *y = call->out[0].data;
    bool added = false;
    if (call->out[0].size == 0)
        return;
    if (!convolve_by_library(stream, &g, HKI_CUDA_FORWARD, f64, x->data, weight->data,
                             has_bias ? bias->data : NULL, y, &added)) {
        added = false;
        hki_cuda_convolve(stream, f64, &g, x->data, weight->data, y);
    }
    if (has_bias && !added)
        hki_cuda_add_bias(stream, x->dtype, y,
                          (const int64_t[]){g.samples, g.out_channels, g.out_height * g.out_width},
                          bias->data, 1);
}

void hki_cuda_conv2d_backward_data(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *dy = &call->in[0], *weight = &call->in[1], *dx = &call->out[0];
    const hki_conv2d_geometry g = hki_conv2d_geometry_of(call->op, call->in, call->options);
    const bool f64 = dy->dtype == HK_F64;
    bool added;
    if (dx->size > 0 && !convolve_by_library(stream, &g, HKI_CUDA_BACKWARD_DATA, f64, dy->data,
                                             weight->data, NULL, dx->data, &added))
        hki_cuda_convolve_data(stream, f64, &g, dy->data, weight->data, dx->data);
}

static void sum_bias(hki_cuda_stream *stream, const hki_conv2d_geometry *g, const hki_tensor *dy,
                     void *dbias)
{
    const hki_batch_norm_shape shape = {g->samples, g->out_channels, g->out_height * g->out_width};
    void *workspace = hki_cuda_workspace(stream, hki_cuda_channel_workspace_bytes(&shape));
    if (workspace)
        hki_cuda_sum_channels(stream, dy->dtype == HK_F64, &shape, dy->data, dbias, workspace);
}

static void clear(hki_cuda_stream *stream, const hki_tensor *x)
{
    hki_cuda_ok(stream,
                cudaMemsetAsync(x->data, 0, (size_t)x->size * hki_dtype_bytes(x->dtype),
                                hki_cuda_stream_handle(stream)),
                "cudaMemsetAsync");
}

void hki_cuda_conv2d_backward_weight(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0], *dy = &call->in[1], *dweight = &call->out[0];
    const hki_conv2d_geometry g = hki_conv2d_geometry_of(call->op, call->in, call->options);
    const bool f64 = x->dtype == HK_F64;
    bool added;
    if (g.samples == 0) { /* sums of nothing; x and dy have no memory */
        clear(stream, dweight);
        clear(stream, &call->out[1]);
        return;
    }
    if (!convolve_by_library(stream, &g, HKI_CUDA_BACKWARD_WEIGHT, f64, x->data, dy->data, NULL,
                             dweight->data, &added))
        hki_cuda_convolve_weight(stream, f64, &g, x->data, dy->data, dweight->data);
    sum_bias(stream, &g, dy, call->out[1].data);
}
