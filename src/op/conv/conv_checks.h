/* What convolutions of images and of volumes are told, and what they and their gradients refuse of it. */
#ifndef HOCKET_OP_CONV_CHECKS_H
#define HOCKET_OP_CONV_CHECKS_H

#include "op/op.h"

/* Options along so many axes, 2 or 3, as an operator has them: 0 means the default. */
typedef struct hki_conv_axes {
    int count;
    const int64_t *stride, *padding, *dilation;
    const int64_t *output_padding; /* of transposed ones; else NULL */
    int64_t groups;
} hki_conv_axes;

static inline int64_t hki_conv_stride(const hki_conv_axes *o, int axis)
{
    return o->stride[axis] ? o->stride[axis] : 1;
}

static inline int64_t hki_conv_dilation(const hki_conv_axes *o, int axis)
{
    return o->dilation[axis] ? o->dilation[axis] : 1;
}

/* Entries that a window of so many spans along an axis. */
static inline int64_t hki_conv_span(const hki_conv_axes *o, int axis, int64_t kernel)
{
    return hki_conv_dilation(o, axis) * (kernel - 1) + 1;
}

/* hk_op.infer of x, weight (outputs, channels / groups, …), bias?; and of a transposed one, whose weight is
 * (channels, outputs / groups, …). */
bool hki_conv_infer(hki_call *call, const hki_conv_axes *options);
bool hki_conv_transpose_infer(hki_call *call, const hki_conv_axes *options);

/* From infer; false after hki_call_refuse. So many axes behind two that `first` names, all of size 1 or more, but for the first
 * one, which may be empty when `batch` says that it is one. */
bool hki_conv_check_axes(hki_call *call, const char *name, const hki_shape_view *x, int count,
                         const char *first, bool batch);

#endif
