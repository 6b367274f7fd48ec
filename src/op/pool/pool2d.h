/* Options and shapes of pooling: what its kernels for all kinds of devices, and chains, ask of a call. */
#ifndef HOCKET_OP_POOL2D_H
#define HOCKET_OP_POOL2D_H

#include "op/kernel.h"
#include "op/pool/pool2d_kernel.h"

#define MAX_POOL2D_OPTIONS(F, op)                                                                  \
    F(op, INT2, kernel, "{2, 2}", "rows and columns of a window")                                  \
    F(op, INT2, stride, "kernel", "rows and columns from one window to the next")                  \
    F(op, INT2, padding, "{0, 0}",                                                                 \
      "rows above and below, columns left and right, that no element comes from; less than "       \
      "kernel")                                                                                    \
    F(op, BOOL, ceil_mode, "false",                                                                \
      "sizes are rounded up: a last window that begins within x or the padding before it counts")
#define AVG_POOL2D_OPTIONS(F, op)                                                                  \
    MAX_POOL2D_OPTIONS(F, op)                                                                      \
    F(op, BOOL, count_include_pad, "false", "padding counts as zeros, not as absent")
#define ADAPTIVE_POOL2D_OPTIONS(F, op) F(op, INT2, size, "{1, 1}", "rows and columns of the result")
/* What dy does not tell: height and width of x. */
#define AVG_POOL2D_BACKWARD_ARGUMENTS(F, op)                                                       \
    AVG_POOL2D_OPTIONS(F, op) F(op, INT2, size, "", "height and width of x")

HKI_OPTIONS_STRUCT(max_pool2d, MAX_POOL2D_OPTIONS)
HKI_OPTIONS_STRUCT(avg_pool2d, AVG_POOL2D_OPTIONS)
HKI_OPTIONS_STRUCT(avg_pool2d_backward, AVG_POOL2D_BACKWARD_ARGUMENTS)
typedef hki_max_pool2d_options hki_max_pool2d_backward_options;
HKI_OPTIONS_STRUCT(adaptive_avg_pool2d, ADAPTIVE_POOL2D_OPTIONS)
typedef hki_adaptive_avg_pool2d_options hki_adaptive_max_pool2d_options;

/* Windows along one axis. One that would begin behind x is none (as PyTorch has it), so that each has an element of x. */
static inline int64_t hki_pool2d_windows(int64_t size, int64_t kernel, int64_t stride, int64_t pad,
                                         bool ceil_mode)
{
    const int64_t room = size + 2 * pad - kernel;
    int64_t windows = room < 0 ? 0 : room / stride + 1;
    if (ceil_mode && windows > 0 && room % stride && windows * stride < size + pad)
        windows++;
    return windows;
}

/* The options of all four operators begin alike. */
static inline hki_pool2d_geometry hki_pool2d_geometry_of(int64_t height, int64_t width,
                                                         const void *common)
{
    const hki_max_pool2d_options *options = (const hki_max_pool2d_options *)common;
    hki_pool2d_geometry g;
    g.in_height = height;
    g.in_width = width;
    g.count_include_pad = false;
    g.kernel_height = options->kernel[0] ? options->kernel[0] : 2;
    g.kernel_width = options->kernel[1] ? options->kernel[1] : 2;
    g.stride_height = options->stride[0] ? options->stride[0] : g.kernel_height;
    g.stride_width = options->stride[1] ? options->stride[1] : g.kernel_width;
    g.pad_height = options->padding[0];
    g.pad_width = options->padding[1];
    g.out_height = hki_pool2d_windows(height, g.kernel_height, g.stride_height, g.pad_height,
                                      options->ceil_mode);
    g.out_width =
        hki_pool2d_windows(width, g.kernel_width, g.stride_width, g.pad_width, options->ceil_mode);
    return g;
}

static inline hki_pool2d_geometry hki_pool2d_average_geometry(int64_t height, int64_t width,
                                                              const void *common)
{
    hki_pool2d_geometry g = hki_pool2d_geometry_of(height, width, common);
    g.count_include_pad = ((const hki_avg_pool2d_options *)common)->count_include_pad;
    return g;
}

/* Whether windows lie side by side from the first element on, without padding; their height and width. Of
 * max_pool2d, avg_pool2d and their gradients. */
bool hki_pool2d_tiles(const void *options, int64_t window[2]);

#endif
