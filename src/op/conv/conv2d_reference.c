/* Convolutions and their gradients, written plainly: what conformance compares with. */
#include "op/conv/conv2d.h"

#include "base/sanitizer.h"

/* Walks over all products of x, weight and y, and adds to one of the three what the others give. */
HKI_PLAIN_LOOPS static void walk(const hki_conv2d_geometry *g, const void *options, const double *x,
                                 const double *weight, const double *y, double *x_sum,
                                 double *weight_sum, double *y_sum)
{
    const int64_t groups = hki_conv2d_groups(options);
    const int64_t inputs = g->in_channels / groups, outputs = g->out_channels / groups;
    for (int64_t n = 0; n < g->samples; n++) {
        for (int64_t o = 0; o < g->out_channels; o++) {
            for (int64_t at = 0; at < g->out_height * g->out_width; at++) {
                int64_t i = at / g->out_width, j = at % g->out_width;
                int64_t y_at = (n * g->out_channels + o) * g->out_height * g->out_width + at;
                for (int64_t c = o / outputs * inputs; c < (o / outputs + 1) * inputs; c++) {
                    for (int64_t tap = 0; tap < g->kernel_height * g->kernel_width; tap++) {
                        int64_t u = tap / g->kernel_width, v = tap % g->kernel_width;
                        int64_t row = i * g->stride_height - g->pad_height + u * g->dilation_height;
                        int64_t column = j * g->stride_width - g->pad_width + v * g->dilation_width;
                        if (row < 0 || row >= g->in_height || column < 0 || column >= g->in_width)
                            continue;
                        int64_t x_at =
                            ((n * g->in_channels + c) * g->in_height + row) * g->in_width + column;
                        int64_t weight_at =
                            (o * inputs + c % inputs) * g->kernel_height * g->kernel_width + tap;
                        if (x_sum)
                            x_sum[x_at] += weight[weight_at] * y[y_at];
                        else if (weight_sum)
                            weight_sum[weight_at] += x[x_at] * y[y_at];
                        else
                            y_sum[y_at] += x[x_at] * weight[weight_at];
                    }
                }
            }
        }
    }
}

static void clear(const hk_dims *shape, double *out)
{
    int64_t size = 0;
    hki_dims_size(shape, &size);
    for (int64_t i = 0; i < size; i++)
        out[i] = 0;
}

void hki_conv2d_forward_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t *x = call->inputs[0]->shape.dims, *weight = call->inputs[1]->shape.dims;
    hki_conv2d_geometry g = hki_conv2d_forward_geometry(x, weight, call->options);
    int64_t plane = g.out_height * g.out_width;
    for (int64_t i = 0; i < g.samples * g.out_channels * plane; i++)
        out[0][i] =
            call->input_count > 2 && call->inputs[2] ? in[2][i / plane % g.out_channels] : 0;
    walk(&g, call->options, in[0], in[1], NULL, NULL, NULL, out[0]);
}

void hki_conv2d_data_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t *dy = call->inputs[0]->shape.dims, *weight = call->inputs[1]->shape.dims;
    hki_conv2d_geometry g = hki_conv2d_data_geometry(dy, weight, call->options);
    clear(&call->out_shape[0], out[0]);
    walk(&g, call->options, NULL, in[1], in[0], out[0], NULL, NULL);
}

void hki_conv2d_weight_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t *x = call->inputs[0]->shape.dims, *dy = call->inputs[1]->shape.dims;
    hki_conv2d_geometry g = hki_conv2d_weight_geometry(x, dy, call->options);
    const int64_t plane = g.out_height * g.out_width;
    clear(&call->out_shape[0], out[0]);
    clear(&call->out_shape[1], out[1]);
    walk(&g, call->options, in[0], NULL, in[1], NULL, out[0], NULL);
    for (int64_t i = 0; i < g.samples * g.out_channels * plane; i++)
        out[1][i / plane % g.out_channels] += in[1][i];
}
