/* What the files of convolution share, and chains ask of it. */
#ifndef HOCKET_OP_CONV2D_H
#define HOCKET_OP_CONV2D_H

#include "op/kernels/conv2d_kernel.h"
#include "op/op.h"

#define CONV2D_OPTIONS(F, op)                                                                      \
    F(op, INT2, stride, "{1, 1}", "rows and columns from one window to the next")                  \
    F(op, INT2, padding, "{0, 0}", "rows of zeros above and below, columns left and right")        \
    F(op, INT2, dilation, "{1, 1}", "rows and columns between the elements of a window")
HKI_OPTIONS_STRUCT(conv2d, CONV2D_OPTIONS)

/* Gradients: what an output does not tell, height and width of x or of weight, beside the same options. */
#define CONV2D_BACKWARD_ARGUMENTS(F, op)                                                           \
    CONV2D_OPTIONS(F, op) F(op, INT2, size, "", "height and width")
HKI_OPTIONS_STRUCT(conv2d_backward_data, CONV2D_BACKWARD_ARGUMENTS)
typedef hki_conv2d_backward_data_options hki_conv2d_backward_weight_options;

/* ---- geometry (conv2d_geometry.c), from the dims of two arrays and the options; the method is by rule ----------- */

hki_conv2d_geometry hki_conv2d_forward_geometry(const int64_t *x, const int64_t *weight,
                                                const hki_conv2d_options *options);
hki_conv2d_geometry hki_conv2d_data_geometry(const int64_t *dy, const int64_t *weight,
                                             const hki_conv2d_backward_data_options *options);
hki_conv2d_geometry hki_conv2d_weight_geometry(const int64_t *x, const int64_t *dy,
                                               const hki_conv2d_backward_weight_options *options);
/* Of a call of one of the three operators, from its inputs. */
hki_conv2d_geometry hki_conv2d_geometry_of(const hk_op *op, const hki_tensor *in,
                                           const void *options);
/* Elements that a window spans. */
int64_t hki_conv2d_window_span(int64_t kernel, int64_t dilation);
/* Multiplications of the forward pass; each gradient does as many. */
double hki_conv2d_product_count(const hki_conv2d_geometry *geometry);

/* ---- choice (conv2d_choice.c) ------------------------------------------------------------------------------------- */

/* The method that was measured to be the fastest, for the plan of the call; by rule where none was. */
hki_conv2d_method hki_conv2d_choose(const hki_call *call, const hki_conv2d_geometry *geometry,
                                    hki_conv2d_pass pass, bool f64);

#endif
