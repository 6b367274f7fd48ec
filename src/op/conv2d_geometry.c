#include "op/conv2d.h"

/* All but the output's size, which geometry_close adds. */
static hki_conv2d_geometry geometry_open(const hki_conv2d_options *options)
{
    return (hki_conv2d_geometry){
        .stride_height = options->stride[0] ? options->stride[0] : 1,
        .stride_width = options->stride[1] ? options->stride[1] : 1,
        .pad_height = options->padding[0],
        .pad_width = options->padding[1],
        .dilation_height = options->dilation[0] ? options->dilation[0] : 1,
        .dilation_width = options->dilation[1] ? options->dilation[1] : 1,
    };
}

int64_t hki_conv2d_window_span(int64_t kernel, int64_t dilation)
{
    return dilation * (kernel - 1) + 1;
}

static void geometry_close(hki_conv2d_geometry *g)
{
    int64_t rows = g->in_height + 2 * g->pad_height -
                   hki_conv2d_window_span(g->kernel_height, g->dilation_height);
    int64_t columns =
        g->in_width + 2 * g->pad_width - hki_conv2d_window_span(g->kernel_width, g->dilation_width);
    g->out_height = rows < 0 ? 0 : rows / g->stride_height + 1;
    g->out_width = columns < 0 ? 0 : columns / g->stride_width + 1;
}

static void geometry_set_x(hki_conv2d_geometry *g, const int64_t *dims)
{
    g->samples = dims[0];
    g->in_channels = dims[1];
    g->in_height = dims[2];
    g->in_width = dims[3];
}

static void geometry_set_weight(hki_conv2d_geometry *g, const int64_t *dims)
{
    g->out_channels = dims[0];
    g->kernel_height = dims[2];
    g->kernel_width = dims[3];
}

hki_conv2d_geometry hki_conv2d_forward_geometry(const int64_t *x, const int64_t *weight,
                                                const hki_conv2d_options *options)
{
    hki_conv2d_geometry geometry = geometry_open(options);
    geometry_set_x(&geometry, x);
    geometry_set_weight(&geometry, weight);
    geometry_close(&geometry);
    return geometry;
}

/* Options of the gradients begin with those of conv2d. */
hki_conv2d_geometry hki_conv2d_data_geometry(const int64_t *dy, const int64_t *weight,
                                             const hki_conv2d_backward_data_options *options)
{
    const int64_t *size = options->size;
    return hki_conv2d_forward_geometry((const int64_t[]){dy[0], weight[1], size[0], size[1]},
                                       weight, (const hki_conv2d_options *)options);
}

hki_conv2d_geometry hki_conv2d_weight_geometry(const int64_t *x, const int64_t *dy,
                                               const hki_conv2d_backward_weight_options *options)
{
    const int64_t *size = options->size;
    return hki_conv2d_forward_geometry(x, (const int64_t[]){dy[1], x[1], size[0], size[1]},
                                       (const hki_conv2d_options *)options);
}

double hki_conv2d_product_count(const hki_conv2d_geometry *g)
{
    return (double)(g->samples * g->out_channels) * (double)(g->out_height * g->out_width) *
           (double)(g->in_channels * g->kernel_height * g->kernel_width);
}

hki_conv2d_geometry hki_conv2d_geometry_of(const hk_op *op, const hki_tensor *in,
                                           const void *options)
{
    if (op == &hki_op_conv2d)
        return hki_conv2d_forward_geometry(in[0].dims, in[1].dims, options);
    if (op == &hki_op_conv2d_backward_data)
        return hki_conv2d_data_geometry(in[0].dims, in[1].dims, options);
    return hki_conv2d_weight_geometry(in[0].dims, in[1].dims, options);
}
