/* Convolution in groups on one core, depthwise included: an output's windows see the channels of its own group alone. Raw
   contiguous NCHW arrays; weight is [out_channels][in_channels / groups][rows][columns]. Every function is reentrant, allocates
   nothing and works on a range of planes (a sample's channel) or of outputs; pointers are to the first of the whole array.

   Method: rows of an image lie in the lanes, and a row of a result gathers the elements of a window, up to three in one pass.
   Results are a pure function of the geometry and the instruction set; a plane's do not depend on the range it is in. */
#ifndef HOCKET_OP_KERNELS_CONV2D_GROUPS_H
#define HOCKET_OP_KERNELS_CONV2D_GROUPS_H

#include "op/conv/conv2d_kernel.h"

#define HKI_CONV2D_GROUPS(T, DT)                                                                   \
    /* Planes [begin, end) of y, of samples * out_channels; bias may be NULL. */                   \
    void hki_conv2d_groups_forward_##DT(const hki_conv2d_geometry *geometry, int64_t groups,       \
                                        const T *x, const T *weight, const T *bias, T *y,          \
                                        int64_t begin, int64_t end);                               \
    /* Overwrites planes [begin, end) of dx, of samples * in_channels. */                          \
    void hki_conv2d_groups_backward_data_##DT(const hki_conv2d_geometry *geometry, int64_t groups, \
                                              const T *dy, const T *weight, T *dx, int64_t begin,  \
                                              int64_t end);                                        \
    /* Overwrites dweight and dbias of the outputs [begin, end). */                                \
    void hki_conv2d_groups_backward_weight_##DT(const hki_conv2d_geometry *geometry,               \
                                                int64_t groups, const T *x, const T *dy,           \
                                                T *dweight, T *dbias, int64_t begin, int64_t end);

HKI_CONV2D_GROUPS(float, f32)
HKI_CONV2D_GROUPS(double, f64)

#undef HKI_CONV2D_GROUPS

#endif
