/* Convolution and its gradients: by cuDNN, or by kernels of Hocket's own where that is not there or has no algorithm; groups of
 * few channels always by own ones, and those of single elements as products of matrices. */
#include "op/conv/conv2d.h"

#include "base/integer.h"
#include "device/cuda/cuda_convolution_rules.h"
#include "op/conv/cuda_conv2d_kernels.h"
#include "op/conv/cuda_pointwise.h"
#include "op/cuda/cuda_calls.h"

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

/* Whether a group has so few channels and outputs that a product of matrices would be mostly empty. */
static bool has_few(const hki_conv2d_geometry *g, int64_t groups)
{
    enum { FEW = 16 };
    return groups > 1 && g->in_channels / groups * (g->out_channels / groups) < FEW;
}

static hki_cuda_convolution problem_of(const hki_conv2d_geometry *g, int64_t groups,
                                       hki_cuda_convolution_kind kind, bool f64, bool has_bias)
{
    return (hki_cuda_convolution){
        .kind = (int32_t)kind,
        .is_f64 = f64,
        .has_bias = has_bias,
        .samples = (int32_t)g->samples,
        .in_channels = (int32_t)g->in_channels,
        .out_channels = (int32_t)g->out_channels,
        .groups = (int32_t)groups,
        .in_size = {(int32_t)g->in_height, (int32_t)g->in_width},
        .out_size = {(int32_t)g->out_height, (int32_t)g->out_width},
        .kernel = {(int32_t)g->kernel_height, (int32_t)g->kernel_width},
        .stride = {(int32_t)g->stride_height, (int32_t)g->stride_width},
        .padding = {(int32_t)g->pad_height, (int32_t)g->pad_width},
        .dilation = {(int32_t)g->dilation_height, (int32_t)g->dilation_width},
    };
}

enum { ALIGNMENT = 16, WORKSPACE_ALIGNMENT = 256 };

/* An array on its way to or from cuDNN, whose kernels read and write vectors of 16 bytes: one that begins elsewhere, such
 * as a slice, is copied. */
typedef struct passed {
    void *data;   /* where cuDNN has it */
    void *real;   /* where it is */
    size_t bytes; /* of the copy, rounded up; 0: there is none */
    size_t size;
} passed;

static passed pass(const hki_tensor *x)
{
    passed self = {.data = x->data, .real = x->data};
    self.size = (size_t)x->size * hki_dtype_bytes(x->dtype);
    if ((uintptr_t)x->data % ALIGNMENT)
        self.bytes = hki_round_up_bytes(self.size, WORKSPACE_ALIGNMENT);
    return self;
}

/* Takes the copy's memory from *workspace. */
static void place(passed *self, char **workspace)
{
    if (self->bytes == 0)
        return;
    self->data = *workspace;
    *workspace += self->bytes;
}

static void copy(hki_cuda_stream *stream, void *to, const void *from, size_t bytes)
{
    if (to != from)
        hki_cuda_ok(stream,
                    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                                    hki_cuda_stream_handle(stream)),
                    "cudaMemcpyAsync");
}

/* A convolution, or a gradient of one. */
typedef struct convolution {
    const hki_conv2d_geometry *g;
    int64_t groups;
    hki_cuda_convolution_kind kind;
    const hki_tensor *first, *second, *out; /* in the order of the kind */
    const void *bias;                       /* NULL: none */
} convolution;

static void convolve_by_own(hki_cuda_stream *stream, void *context)
{
    const convolution *self = context;
    const bool f64 = self->out->dtype == HK_F64;
    const void *first = self->first->data, *second = self->second->data;
    void *out = self->out->data;
    switch (self->kind) {
    case HKI_CUDA_FORWARD:
        hki_cuda_convolve(stream, f64, self->g, self->groups, first, second, self->bias, out);
        break;
    case HKI_CUDA_BACKWARD_DATA:
        hki_cuda_convolve_data(stream, f64, self->g, self->groups, first, second, out);
        break;
    case HKI_CUDA_BACKWARD_WEIGHT:
        hki_cuda_convolve_weight(stream, f64, self->g, self->groups, first, second, out);
        break;
    }
}

/* False: own kernels must do it. *added: with the bias. */
static bool convolve_by_library(hki_cuda_stream *stream, convolution *self, bool *added)
{
    const bool f64 = self->out->dtype == HK_F64;
    bool failed = false;
    passed arrays[] = {pass(self->first), pass(self->second), pass(self->out)};
    size_t bytes = 0;
    if (!fits(self->g))
        return false;
    const void *bias = (uintptr_t)self->bias % ALIGNMENT ? NULL : self->bias;
    const hki_cuda_convolution problem =
        problem_of(self->g, self->groups, self->kind, f64, bias != NULL);
    hki_cuda_convolution_plan *plan = hki_cuda_convolution_plan_for(stream, &problem, &failed);
    if (!plan)
        return failed;
    for (int i = 0; i < 3; i++)
        bytes += arrays[i].bytes;
    if (bytes == 0)
        hki_cuda_convolution_measure(stream, plan, self->first->data, self->second->data,
                                     self->out->data, convolve_by_own, self);
    while (!hki_cuda_has_workspace(stream, bytes + hki_cuda_convolution_workspace_bytes(plan)))
        if (!hki_cuda_convolution_use_less(stream, &problem, plan, &failed))
            return failed;
    bytes += hki_cuda_convolution_workspace_bytes(plan);
    char *workspace = bytes ? hki_cuda_workspace(stream, bytes) : NULL;
    if (bytes && !workspace)
        return true;
    for (int i = 0; i < 3; i++)
        place(&arrays[i], &workspace);
    for (int i = 0; i < 2; i++)
        copy(stream, arrays[i].data, arrays[i].real, arrays[i].size);
    if (!hki_cuda_convolution_launch(stream, plan, arrays[0].data, arrays[1].data, bias,
                                     arrays[2].data, workspace))
        return false;
    copy(stream, arrays[2].real, arrays[2].data, arrays[2].size);
    *added = bias && hki_cuda_convolution_adds_bias(plan);
    return true;
}

/* True: the bias, where one is given, has been added. */
static bool convolve(hki_cuda_stream *stream, convolution self)
{
    bool added = false;
    if (convolve_by_library(stream, &self, &added))
        return added;
    convolve_by_own(stream, &self);
    return true;
}

void hki_cuda_conv2d(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0], *weight = &call->in[1], *bias = &call->in[2];
    const hki_conv2d_geometry g = hki_conv2d_geometry_of(call->op, call->in, call->options);
    const int64_t groups = hki_conv2d_groups(call->options);
    const bool has_bias = bias->ndim >= 0, f64 = x->dtype == HK_F64;
    const void *addend = has_bias ? bias->data : NULL;
    void *y = call->out[0].data;
    bool added = false;
    if (call->out[0].size == 0)
        return;
    if (has_few(&g, groups)) {
        hki_cuda_convolve_few(stream, f64, &g, groups, x->data, weight->data, addend, y);
        return;
    }
    const hki_cuda_convolution problem =
        problem_of(&g, groups, HKI_CUDA_FORWARD, f64, addend != NULL);
    if (hki_cuda_is_pointwise(&g, groups) && !hki_cuda_convolution_is_brief(&problem))
        hki_cuda_pointwise(stream, x->dtype, &g, x->data, weight->data, y);
    else
        added = convolve(
            stream, (convolution){&g, groups, HKI_CUDA_FORWARD, x, weight, &call->out[0], addend});
    if (has_bias && !added)
        hki_cuda_add_bias(stream, x->dtype, y,
                          (const int64_t[]){g.samples, g.out_channels, g.out_height * g.out_width},
                          bias->data, 1);
}

void hki_cuda_conv2d_backward_data(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *dy = &call->in[0], *weight = &call->in[1], *dx = &call->out[0];
    const hki_conv2d_geometry g = hki_conv2d_geometry_of(call->op, call->in, call->options);
    const int64_t groups = hki_conv2d_groups(call->options);
    const bool f64 = dy->dtype == HK_F64;
    if (dx->size == 0)
        return;
    if (has_few(&g, groups))
        hki_cuda_convolve_few_data(stream, f64, &g, groups, dy->data, weight->data, dx->data);
    else if (hki_cuda_is_pointwise(&g, groups))
        hki_cuda_pointwise_data(stream, dy->dtype, &g, dy->data, weight->data, dx->data);
    else
        convolve(stream, (convolution){&g, groups, HKI_CUDA_BACKWARD_DATA, dy, weight, dx, NULL});
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
    const int64_t groups = hki_conv2d_groups(call->options);
    const bool f64 = x->dtype == HK_F64;
    if (g.samples == 0) { /* sums of nothing; x and dy have no memory */
        clear(stream, dweight);
        clear(stream, &call->out[1]);
        return;
    }
    if (has_few(&g, groups))
        hki_cuda_convolve_few_weight(stream, f64, &g, groups, x->data, dy->data, dweight->data);
    else if (!hki_cuda_is_pointwise(&g, groups) ||
             !hki_cuda_pointwise_weight(stream, x->dtype, &g, x->data, dy->data, dweight->data))
        convolve(stream, (convolution){&g, groups, HKI_CUDA_BACKWARD_WEIGHT, x, dy, dweight, NULL});
    hki_cuda_sum_bias(stream, dy->dtype, dy->data,
                      (const int64_t[]){g.samples, g.out_channels, g.out_height * g.out_width},
                      call->out[1].data);
}
