#include "op/conv/cuda_pointwise.h"

#include "device/cuda/cuda_libraries.h"
#include "op/matmul/cuda_matmul.h"

/* For the gradients of single samples; the samples themselves are not much smaller where they do not fit. */
static const int64_t most_gradient_bytes = (int64_t)256 << 20;

bool hki_cuda_is_pointwise(const hki_conv2d_geometry *g, int64_t groups)
{
    return groups == 1 && g->kernel_height == 1 && g->kernel_width == 1 && g->stride_height == 1 &&
           g->stride_width == 1 && g->pad_height == 0 && g->pad_width == 0 && g->in_channels > 0 &&
           hki_cuda_cublaslt() != NULL;
}

static int64_t pixels(const hki_conv2d_geometry *g)
{
    return g->in_height * g->in_width;
}

static hki_cuda_batch samples_of(const hki_conv2d_geometry *g)
{
    return (hki_cuda_batch){.ndim = 1, .count = g->samples, .dims = {g->samples}};
}

/* Channels of all samples, (channels, pixels) each. */
static hki_cuda_matrices planes(const hki_conv2d_geometry *g, const void *data, int64_t channels)
{
    return (hki_cuda_matrices){.data = data,
                               .rows = channels,
                               .columns = pixels(g),
                               .row_stride = pixels(g),
                               .column_stride = 1,
                               .batch_strides = {channels * pixels(g)}};
}

static hki_cuda_matrices transposed(hki_cuda_matrices x)
{
    const hki_cuda_matrices given = x;
    x.rows = given.columns;
    x.columns = given.rows;
    x.row_stride = given.column_stride;
    x.column_stride = given.row_stride;
    return x;
}

/* (outputs, inputs), which all samples share. */
static hki_cuda_matrices weights(const hki_conv2d_geometry *g, const void *data)
{
    return (hki_cuda_matrices){.data = data,
                               .rows = g->out_channels,
                               .columns = g->in_channels,
                               .row_stride = g->in_channels,
                               .column_stride = 1};
}

void hki_cuda_pointwise(hki_cuda_stream *stream, hk_dtype dtype, const hki_conv2d_geometry *g,
                        const void *x, const void *weight, void *y)
{
    hki_cuda_multiplication product = {.dtype = dtype,
                                       .batch = samples_of(g),
                                       .a = weights(g, weight),
                                       .b = planes(g, x, g->in_channels),
                                       .c = y};
    hki_cuda_multiply_matrices(stream, &product);
}

void hki_cuda_pointwise_data(hki_cuda_stream *stream, hk_dtype dtype, const hki_conv2d_geometry *g,
                             const void *dy, const void *weight, void *dx)
{
    hki_cuda_multiplication product = {.dtype = dtype,
                                       .batch = samples_of(g),
                                       .a = transposed(weights(g, weight)),
                                       .b = planes(g, dy, g->out_channels),
                                       .c = dx};
    hki_cuda_multiply_matrices(stream, &product);
}

bool hki_cuda_pointwise_weight(hki_cuda_stream *stream, hk_dtype dtype,
                               const hki_conv2d_geometry *g, const void *x, const void *dy,
                               void *dweight)
{
    const int64_t size = g->out_channels * g->in_channels;
    const int64_t bytes = g->samples * size * (int64_t)hki_dtype_bytes(dtype);
    hki_cuda_multiplication product = {.dtype = dtype,
                                       .batch = samples_of(g),
                                       .a = planes(g, dy, g->out_channels),
                                       .b = transposed(planes(g, x, g->in_channels)),
                                       .c = g->samples == 1 ? dweight : NULL,
                                       .c_bytes = g->samples == 1 ? 0 : (size_t)bytes};
    if (bytes > most_gradient_bytes || !hki_cuda_has_workspace(stream, (size_t)bytes))
        return false;
    hki_cuda_multiply_matrices(stream, &product);
    if (g->samples > 1 && product.c)
        hki_cuda_sum_matrices(stream, dtype == HK_F64, g->samples, size, product.c, dweight);
    return true;
}
