/* Options and shapes of convolutions: what their kernels for all kinds of devices, and chains, ask of a call. */
#ifndef HOCKET_OP_CONV2D_H
#define HOCKET_OP_CONV2D_H

#include "op/conv/conv2d_kernel.h"
#include "op/conv/conv_checks.h"
#include "op/op.h"

#define CONV2D_OPTIONS(F, op)                                                                      \
    F(op, INT2, stride, "{1, 1}", "rows and columns from one window to the next")                  \
    F(op, INT2, padding, "{0, 0}", "rows of zeros above and below, columns left and right")        \
    F(op, INT2, dilation, "{1, 1}", "rows and columns between the elements of a window")           \
    F(op, INT, groups, "1", "parts of the channels, each seen by as large a part of the outputs")
HKI_OPTIONS_STRUCT(conv2d, CONV2D_OPTIONS)
#define CONV2D_TRANSPOSE_OPTIONS(F, op)                                                            \
    CONV2D_OPTIONS(F, op)                                                                          \
    F(op, INT2, output_padding, "{0, 0}",                                                          \
      "rows added below, columns to the right; less than stride")
HKI_OPTIONS_STRUCT(conv2d_transpose, CONV2D_TRANSPOSE_OPTIONS)

/* Gradients: what an output does not tell, height and width of x or of weight, beside the same options. */
#define CONV2D_BACKWARD_ARGUMENTS(F, op)                                                           \
    CONV2D_OPTIONS(F, op) F(op, INT2, size, "", "height and width")
HKI_OPTIONS_STRUCT(conv2d_backward_data, CONV2D_BACKWARD_ARGUMENTS)
typedef hki_conv2d_backward_data_options hki_conv2d_backward_weight_options;

/* All but the output's size, which hki_conv2d_geometry_close adds. */
static inline hki_conv2d_geometry hki_conv2d_geometry_open(const hki_conv2d_options *options)
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

static inline int64_t hki_conv2d_groups(const void *options)
{
    const int64_t groups = ((const hki_conv2d_options *)options)->groups;
    return groups ? groups : 1;
}

static inline hki_conv_axes hki_conv2d_axes(const hki_conv2d_options *o)
{
    return (hki_conv_axes){.count = 2,
                           .stride = o->stride,
                           .padding = o->padding,
                           .dilation = o->dilation,
                           .groups = o->groups};
}

/* Elements that a window spans. */
static inline int64_t hki_conv2d_span(int64_t kernel, int64_t dilation)
{
    return dilation * (kernel - 1) + 1;
}

static inline void hki_conv2d_geometry_close(hki_conv2d_geometry *g)
{
    int64_t rows =
        g->in_height + 2 * g->pad_height - hki_conv2d_span(g->kernel_height, g->dilation_height);
    int64_t columns =
        g->in_width + 2 * g->pad_width - hki_conv2d_span(g->kernel_width, g->dilation_width);
    g->out_height = rows < 0 ? 0 : rows / g->stride_height + 1;
    g->out_width = columns < 0 ? 0 : columns / g->stride_width + 1;
}

static inline void hki_conv2d_geometry_set_x(hki_conv2d_geometry *g, const int64_t *dims)
{
    g->samples = dims[0];
    g->in_channels = dims[1];
    g->in_height = dims[2];
    g->in_width = dims[3];
}

static inline void hki_conv2d_geometry_set_weight(hki_conv2d_geometry *g, const int64_t *dims)
{
    g->out_channels = dims[0];
    g->kernel_height = dims[2];
    g->kernel_width = dims[3];
}

static inline hki_conv2d_geometry hki_conv2d_forward_geometry(const int64_t *x,
                                                              const int64_t *weight,
                                                              const void *options)
{
    hki_conv2d_geometry geometry = hki_conv2d_geometry_open(options);
    hki_conv2d_geometry_set_x(&geometry, x);
    hki_conv2d_geometry_set_weight(&geometry, weight);
    hki_conv2d_geometry_close(&geometry);
    return geometry;
}

static inline hki_conv2d_geometry hki_conv2d_data_geometry(const int64_t *dy, const int64_t *weight,
                                                           const void *options)
{
    const int64_t *size = ((const hki_conv2d_backward_data_options *)options)->size;
    const int64_t channels = weight[1] * hki_conv2d_groups(options);
    return hki_conv2d_forward_geometry((const int64_t[]){dy[0], channels, size[0], size[1]}, weight,
                                       options);
}

static inline hki_conv2d_geometry hki_conv2d_weight_geometry(const int64_t *x, const int64_t *dy,
                                                             const void *options)
{
    const int64_t *size = ((const hki_conv2d_backward_weight_options *)options)->size;
    return hki_conv2d_forward_geometry(x, (const int64_t[]){dy[1], x[1], size[0], size[1]},
                                       options);
}

/* Of a call of an operator whose role is a convolution or one of its gradients, from its inputs. */
static inline hki_conv2d_geometry hki_conv2d_geometry_of(const hk_op *op, const hki_tensor *in,
                                                         const void *options)
{
    if (op->fuse == HKI_FUSE_CONVOLUTION)
        return hki_conv2d_forward_geometry(in[0].dims, in[1].dims, options);
    if (op->fuse == HKI_FUSE_CONVOLUTION_DATA)
        return hki_conv2d_data_geometry(in[0].dims, in[1].dims, options);
    return hki_conv2d_weight_geometry(in[0].dims, in[1].dims, options);
}

/* In conv2d.c: fails the task, where a product had no memory. */
void hki_conv2d_fail_products(const hki_kernel_call *call, int64_t piece);

/* ---- groups (conv2d_groups.c) ------------------------------------------------------------------------------------- */

/* Sets what of the plan depends on several groups. False: there is one. */
bool hki_conv2d_groups_plan(const hki_call *call, const hki_conv2d_geometry *geometry,
                            hki_conv2d_pass pass, hki_plan *plan);
/* Whether pieces of the gradient of weight are sums over samples. */
bool hki_conv2d_groups_have_sums(const hki_call *call, const hki_conv2d_geometry *geometry);
/* The kernel of each pass, for several groups. False: there is one, and nothing is done. */
bool hki_conv2d_groups_run(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end);

/* ---- conformance (conv2d_reference.c) ---------------------------------------------------------------------------- */

/* hk_op.reference of conv2d and its gradients. */
void hki_conv2d_forward_reference(const hki_call *call, const double *const *in,
                                  double *const *out);
void hki_conv2d_data_reference(const hki_call *call, const double *const *in, double *const *out);
void hki_conv2d_weight_reference(const hki_call *call, const double *const *in, double *const *out);

/* ---- choice (conv2d_choice.c) ------------------------------------------------------------------------------------- */

/* The method that was measured to be the fastest, for the plan of the call; by rule where none was. */
hki_conv2d_method hki_conv2d_choose(const hki_call *call, const hki_conv2d_geometry *geometry,
                                    hki_conv2d_pass pass, bool f64);

#endif
