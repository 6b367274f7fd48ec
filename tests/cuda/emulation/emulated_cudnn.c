/* cuDNN for convolutions in NCHW of float32 and float64. See emulated_libraries.h.
 *
 * Each question for algorithms is answered by four: one that does not work, one that is fast but whose sums come out
 * otherwise every time, a good one, and one that is slower but takes a small workspace. */
#include "device/cuda/cuda_libraries.h"
#include "emulation/emulated_libraries.h"
#include "emulation/emulated_runtime.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { WORKSPACE_BYTES = 3 << 20, SMALL_BYTES = 2048, ALIGNMENT = 16 };

struct cudnnContext {
    cudaStream_t stream;
};

struct cudnnTensorStruct {
    bool is_set;
    cudnnDataType_t type;
    int dims[4];
};

struct cudnnFilterStruct {
    bool is_set;
    cudnnDataType_t type;
    int dims[4];
};

struct cudnnConvolutionStruct {
    bool is_set;
    cudnnDataType_t type;
    cudnnMathType_t math;
    int padding[2], stride[2], dilation[2], groups;
};

struct cudnnActivationStruct {
    bool is_set;
    cudnnActivationMode_t mode;
};

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch ((int)CUDNN_STATUS_CATEGORY((int)status)) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    default:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    }
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- descriptors --------------------------------------------------------------------------------------- */

#define DESCRIPTOR(Name)                                                                           \
    cudnnStatus_t cudnnCreate##Name##Descriptor(cudnn##Name##Descriptor_t *desc)                   \
    {                                                                                              \
        *desc = calloc(1, sizeof **desc);                                                          \
        return *desc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR;                         \
    }                                                                                              \
    cudnnStatus_t cudnnDestroy##Name##Descriptor(cudnn##Name##Descriptor_t desc)                   \
    {                                                                                              \
        free(desc);                                                                                \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }

DESCRIPTOR(Tensor)
DESCRIPTOR(Filter)
DESCRIPTOR(Convolution)
DESCRIPTOR(Activation)

static bool is_float(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t desc, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w)
{
    if (!is_float(type) || n < 1 || c < 1 || h < 1 || w < 1)
        return CUDNN_STATUS_BAD_PARAM;
    if (format != CUDNN_TENSOR_NCHW || (int64_t)n * c * h * w > INT32_MAX)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *desc = (struct cudnnTensorStruct){true, type, {n, c, h, w}};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t desc, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w)
{
    if (!is_float(type) || k < 1 || c < 1 || h < 1 || w < 1)
        return CUDNN_STATUS_BAD_PARAM;
    if (format != CUDNN_TENSOR_NCHW)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *desc = (struct cudnnFilterStruct){true, type, {k, c, h, w}};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t desc, int pad_h,
                                              int pad_w, int stride_h, int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type)
{
    if (pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 || dilation_h < 1 || dilation_w < 1)
        return CUDNN_STATUS_BAD_PARAM;
    if (mode != CUDNN_CROSS_CORRELATION)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *desc = (struct cudnnConvolutionStruct){.is_set = true,
                                            .type = type,
                                            .math = CUDNN_DEFAULT_MATH,
                                            .padding = {pad_h, pad_w},
                                            .stride = {stride_h, stride_w},
                                            .dilation = {dilation_h, dilation_w},
                                            .groups = 1};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t desc, int groups)
{
    desc->groups = groups;
    return desc->is_set && groups > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t desc, cudnnMathType_t math)
{
    desc->math = math;
    return desc->is_set ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t desc,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                           double coefficient)
{
    (void)nan;
    (void)coefficient;
    *desc = (struct cudnnActivationStruct){true, mode};
    return CUDNN_STATUS_SUCCESS;
}

/* ---- problems ------------------------------------------------------------------------------------------ */

typedef enum result { RESULT_Y, RESULT_X, RESULT_WEIGHT } result;

/* One convolution, or gradient, as its stream runs it. */
typedef struct convolution {
    result result;
    bool f64, rounds, varies;
    int n, in_channels, out_channels, in[2], out[2], kernel[2];
    int padding[2], stride[2], dilation[2], groups;
    double alpha, beta;
    void *x, *weight, *y, *workspace;
    const void *bias;
    size_t workspace_bytes;
} convolution;

static cudnnStatus_t problem_of(result of, cudnnTensorDescriptor_t x,
                                cudnnFilterDescriptor_t weight, cudnnConvolutionDescriptor_t desc,
                                cudnnTensorDescriptor_t y, convolution *made)
{
    if (!x || !weight || !desc || !y || !x->is_set || !weight->is_set || !desc->is_set ||
        !y->is_set)
        return CUDNN_STATUS_BAD_PARAM;
    *made = (convolution){.result = of,
                          .f64 = x->type == CUDNN_DATA_DOUBLE,
                          .rounds = desc->math != CUDNN_FMA_MATH,
                          .n = x->dims[0],
                          .in_channels = x->dims[1],
                          .out_channels = y->dims[1],
                          .in = {x->dims[2], x->dims[3]},
                          .out = {y->dims[2], y->dims[3]},
                          .kernel = {weight->dims[2], weight->dims[3]},
                          .groups = desc->groups};
    if (weight->dims[0] != y->dims[1] || weight->dims[1] * desc->groups != x->dims[1] ||
        y->dims[1] % desc->groups || x->dims[0] != y->dims[0] || x->type != y->type ||
        x->type != weight->type || x->type != desc->type)
        return CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; i < 2; i++) {
        const int span = (made->kernel[i] - 1) * desc->dilation[i] + 1;
        made->padding[i] = desc->padding[i];
        made->stride[i] = desc->stride[i];
        made->dilation[i] = desc->dilation[i];
        if (made->out[i] != (made->in[i] + 2 * desc->padding[i] - span) / desc->stride[i] + 1)
            return CUDNN_STATUS_BAD_PARAM;
    }
    /* The real one has gaps as well; which ones is its own business. */
    if (made->f64 && (desc->dilation[0] > 1 || desc->dilation[1] > 1))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return CUDNN_STATUS_SUCCESS;
}

/* The rest of a question's function, by the names that it gives its arguments. */
#define ANSWER(of, x, weight, y, bad, varying, good, small)                                        \
    convolution made;                                                                              \
    cudnnStatus_t status = problem_of(of, x, weight, desc, y, &made);                              \
    if (!handle || status != CUDNN_STATUS_SUCCESS)                                                 \
        return status;                                                                             \
    if (requested < 4)                                                                             \
        return CUDNN_STATUS_BAD_PARAM;                                                             \
    memset(results, 0, 4 * sizeof *results);                                                       \
    results[0].algo = bad;                                                                         \
    results[0].status = CUDNN_STATUS_NOT_SUPPORTED;                                                \
    results[1].algo = varying;                                                                     \
    results[1].determinism = CUDNN_NON_DETERMINISTIC;                                              \
    results[2].algo = good;                                                                        \
    results[2].determinism = CUDNN_DETERMINISTIC;                                                  \
    results[2].memory = WORKSPACE_BYTES;                                                           \
    results[3].algo = small;                                                                       \
    results[3].determinism = CUDNN_DETERMINISTIC;                                                  \
    results[3].memory = SMALL_BYTES;                                                               \
    for (int answer = 0; answer < 4; answer++)                                                     \
        results[answer].mathType = CUDNN_DEFAULT_MATH;                                             \
    *returned = 4;                                                                                 \
    return CUDNN_STATUS_SUCCESS

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t weight,
    const cudnnConvolutionDescriptor_t desc, const cudnnTensorDescriptor_t y, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *results)
{
    /* So that both ways to add a bias are gone. */
    ANSWER(RESULT_Y, x, weight, y, CUDNN_CONVOLUTION_FWD_ALGO_FFT,
           CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD,
           made.out_channels % 2 ? CUDNN_CONVOLUTION_FWD_ALGO_GEMM
                                 : CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
           CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t weight, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t desc, const cudnnTensorDescriptor_t dx, const int requested,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *results)
{
    ANSWER(RESULT_X, dx, weight, dy, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT,
           CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
           CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t desc, const cudnnFilterDescriptor_t dw, const int requested,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *results)
{
    ANSWER(RESULT_WEIGHT, x, dw, dy, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT,
           CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
           CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3);
}

/* ---- convolutions -------------------------------------------------------------------------------------- */

static size_t element_bytes(const convolution *self)
{
    return self->f64 ? 8 : 4;
}

static int64_t x_size(const convolution *self)
{
    return (int64_t)self->n * self->in_channels * self->in[0] * self->in[1];
}

static int64_t y_size(const convolution *self)
{
    return (int64_t)self->n * self->out_channels * self->out[0] * self->out[1];
}

static int64_t weight_size(const convolution *self)
{
    return (int64_t)self->out_channels * (self->in_channels / self->groups) * self->kernel[0] *
           self->kernel[1];
}

static double at(const convolution *self, const void *data, int64_t index)
{
    if (self->f64)
        return ((const double *)data)[index];
    const float value = ((const float *)data)[index];
    return (double)(self->rounds ? emulated_tf32(value) : value);
}

/* Adds each product of x, weight and y to the one of the three that the others give. */
static void add_product(const convolution *self, double *sums, int64_t x, int64_t weight, int64_t y)
{
    switch (self->result) {
    case RESULT_Y:
        sums[y] += at(self, self->x, x) * at(self, self->weight, weight);
        break;
    case RESULT_X:
        sums[x] += at(self, self->y, y) * at(self, self->weight, weight);
        break;
    case RESULT_WEIGHT:
        sums[weight] += at(self, self->x, x) * at(self, self->y, y);
        break;
    }
}

static void add_window(const convolution *self, double *sums, int n, int o, int i, int j)
{
    const int64_t y = (((int64_t)n * self->out_channels + o) * self->out[0] + i) * self->out[1] + j;
    const int channels = self->in_channels / self->groups;
    const int first = o / (self->out_channels / self->groups) * channels;
    for (int c = 0; c < channels; c++)
        for (int u = 0; u < self->kernel[0]; u++)
            for (int v = 0; v < self->kernel[1]; v++) {
                const int row = i * self->stride[0] - self->padding[0] + u * self->dilation[0];
                const int column = j * self->stride[1] - self->padding[1] + v * self->dilation[1];
                if (row < 0 || row >= self->in[0] || column < 0 || column >= self->in[1])
                    continue;
                add_product(
                    self, sums,
                    (((int64_t)n * self->in_channels + first + c) * self->in[0] + row) *
                            self->in[1] +
                        column,
                    (((int64_t)o * channels + c) * self->kernel[0] + u) * self->kernel[1] + v, y);
            }
}

static void run(void *argument)
{
    static atomic_uint run_count;
    const convolution *self = argument;
    const int64_t size = self->result == RESULT_Y   ? y_size(self)
                         : self->result == RESULT_X ? x_size(self)
                                                    : weight_size(self);
    void *to = self->result == RESULT_Y   ? self->y
               : self->result == RESULT_X ? self->x
                                          : self->weight;
    double *sums = calloc((size_t)size, sizeof *sums);
    const double noise = (self->varies ? 1e-3 * (1 + atomic_fetch_add(&run_count, 1) % 7) : 0) +
                         emulated_error("cuDNN");
    if (!sums)
        abort();
    emulated_scribble(self->workspace, self->workspace_bytes);
    for (int n = 0; n < self->n; n++)
        for (int o = 0; o < self->out_channels; o++)
            for (int i = 0; i < self->out[0]; i++)
                for (int j = 0; j < self->out[1]; j++)
                    add_window(self, sums, n, o, i, j);
    for (int64_t i = 0; i < size; i++) {
        const int64_t channel = i / ((int64_t)self->out[0] * self->out[1]) % self->out_channels;
        double value = self->alpha * (sums[i] + noise);
        if (self->beta != 0)
            value += self->beta * at(self, to, i);
        if (self->bias)
            value += self->f64 ? ((const double *)self->bias)[channel]
                               : (double)((const float *)self->bias)[channel];
        if (self->f64)
            ((double *)to)[i] = value;
        else
            ((float *)to)[i] = (float)value;
    }
    free(sums);
}

/* The answers, as above. */
typedef enum answer { BAD, VARYING, GOOD, SMALL } answer;

static cudnnStatus_t enqueue(cudnnHandle_t handle, convolution *self, answer taken,
                             const void *alpha, const void *beta, const void *x, const void *weight,
                             const void *y, void *workspace, size_t workspace_bytes)
{
    const size_t item = element_bytes(self), needed = taken == GOOD    ? WORKSPACE_BYTES
                                                      : taken == SMALL ? SMALL_BYTES
                                                                       : 0;
    if (taken == BAD)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (workspace_bytes < needed || (needed && !emulated_is_good(workspace, needed, 16)))
        return CUDNN_STATUS_BAD_PARAM;
    if (!emulated_is_good(x, (uint64_t)x_size(self) * item, ALIGNMENT) ||
        !emulated_is_good(y, (uint64_t)y_size(self) * item, ALIGNMENT) ||
        !emulated_is_good(weight, (uint64_t)weight_size(self) * item, ALIGNMENT))
        return CUDNN_STATUS_BAD_PARAM;
    self->varies = taken == VARYING;
    self->alpha = emulated_scale(self->f64, alpha);
    self->beta = emulated_scale(self->f64, beta);
    self->x = (void *)(uintptr_t)x;
    self->weight = (void *)(uintptr_t)weight;
    self->y = (void *)(uintptr_t)y;
    self->workspace = workspace;
    self->workspace_bytes = needed;
    return hki_emulated_enqueue(handle->stream, "cudnnConvolution", run, self, sizeof *self) ==
                   cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
}

static answer forward_answer(cudnnConvolutionFwdAlgo_t algo)
{
    return algo == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD ? VARYING
           : algo == CUDNN_CONVOLUTION_FWD_ALGO_GEMM ||
                   algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM
               ? GOOD
           : algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ? SMALL
                                                              : BAD;
}

static answer data_answer(cudnnConvolutionBwdDataAlgo_t algo)
{
    return algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0          ? VARYING
           : algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1        ? GOOD
           : algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD ? SMALL
                                                              : BAD;
}

static answer filter_answer(cudnnConvolutionBwdFilterAlgo_t algo)
{
    return algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0   ? VARYING
           : algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 ? GOOD
           : algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3 ? SMALL
                                                         : BAD;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x_desc, const void *x,
                                      const cudnnFilterDescriptor_t w_desc, const void *w,
                                      const cudnnConvolutionDescriptor_t desc,
                                      cudnnConvolutionFwdAlgo_t algo, void *workspace,
                                      size_t workspace_bytes, const void *beta,
                                      const cudnnTensorDescriptor_t y_desc, void *y)
{
    convolution self;
    cudnnStatus_t status = problem_of(RESULT_Y, x_desc, w_desc, desc, y_desc, &self);
    return status ? status
                  : enqueue(handle, &self, forward_answer(algo), alpha, beta, x, w, y, workspace,
                            workspace_bytes);
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t x_desc, const void *x,
    const cudnnFilterDescriptor_t w_desc, const void *w, const cudnnConvolutionDescriptor_t desc,
    cudnnConvolutionFwdAlgo_t algo, void *workspace, size_t workspace_bytes, const void *alpha2,
    const cudnnTensorDescriptor_t z_desc, const void *z, const cudnnTensorDescriptor_t bias_desc,
    const void *bias, const cudnnActivationDescriptor_t activation,
    const cudnnTensorDescriptor_t y_desc, void *y)
{
    convolution self;
    cudnnStatus_t status = problem_of(RESULT_Y, x_desc, w_desc, desc, y_desc, &self);
    if (status)
        return status;
    if (!bias_desc->is_set || !activation->is_set || !z || memcmp(z_desc, y_desc, sizeof *z_desc) ||
        bias_desc->dims[0] != 1 || bias_desc->dims[1] != self.out_channels ||
        bias_desc->dims[2] != 1 || bias_desc->dims[3] != 1 || bias_desc->type != y_desc->type ||
        !emulated_is_good(bias, (uint64_t)self.out_channels * element_bytes(&self), ALIGNMENT))
        return CUDNN_STATUS_BAD_PARAM;
    if (activation->mode != CUDNN_ACTIVATION_IDENTITY ||
        (z != y && emulated_scale(self.f64, alpha2) != 0) ||
        algo != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
        return CUDNN_STATUS_NOT_SUPPORTED;
    self.bias = bias;
    return enqueue(handle, &self, GOOD, alpha1, alpha2, x, w, y, workspace, workspace_bytes);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t w_desc, const void *w,
                                           const cudnnTensorDescriptor_t dy_desc, const void *dy,
                                           const cudnnConvolutionDescriptor_t desc,
                                           cudnnConvolutionBwdDataAlgo_t algo, void *workspace,
                                           size_t workspace_bytes, const void *beta,
                                           const cudnnTensorDescriptor_t dx_desc, void *dx)
{
    convolution self;
    cudnnStatus_t status = problem_of(RESULT_X, dx_desc, w_desc, desc, dy_desc, &self);
    return status ? status
                  : enqueue(handle, &self, data_answer(algo), alpha, beta, dx, w, dy, workspace,
                            workspace_bytes);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t x_desc, const void *x,
                                             const cudnnTensorDescriptor_t dy_desc, const void *dy,
                                             const cudnnConvolutionDescriptor_t desc,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void *workspace,
                                             size_t workspace_bytes, const void *beta,
                                             const cudnnFilterDescriptor_t dw_desc, void *dw)
{
    convolution self;
    cudnnStatus_t status = problem_of(RESULT_WEIGHT, x_desc, dw_desc, desc, dy_desc, &self);
    return status ? status
                  : enqueue(handle, &self, filter_answer(algo), alpha, beta, x, dw, dy, workspace,
                            workspace_bytes);
}

const emulated_function emulated_cudnn_functions[] = {
    HKI_CUDNN_FUNCTIONS(EMULATED_FUNCTION){NULL, NULL}};
