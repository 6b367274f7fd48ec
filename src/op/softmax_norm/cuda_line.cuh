/* Within the plug-in: what softmax and losses of class labels share: lines of logits, each joined by the lanes of a column, and
 * the labels of rows. */
#ifndef HOCKET_OP_CUDA_LINE_CUH
#define HOCKET_OP_CUDA_LINE_CUH

#include "op/cuda/cuda_tile.cuh"
#include "op/elementwise/scalar_math.h"

#include <hocket/array.h>

HKI_DEVICE float hki_exp_of(float x)
{
    return hki_exp_f32(x);
}
HKI_DEVICE double hki_exp_of(double x)
{
    return exp(x);
}

/* A NaN may or may not win: it makes the sum of exponentials NaN either way. */
template <class Element> struct hki_larger {
    HKI_DEVICE Element join(Element a, Element b)
    {
        return b > a ? b : a;
    }
};

/* The largest element of a line and the sum of exp(element - max); every lane gets them. Lines that are not there have
 * size 0. */
template <class Element> struct hki_line_sums {
    Element max;
    double sum;
};
template <class Element>
HKI_DEVICE hki_line_sums<Element> hki_sum_line(const hki_lane &at, const Element *x, int64_t size,
                                               int64_t step, Element *max_room, double *sum_room)
{
    hki_line_sums<Element> line = {(Element)-INFINITY, 0};
    for (int64_t i = at.lane; i < size; i += at.lanes)
        line.max = hki_larger<Element>::join(line.max, x[i * step]);
    line.max = hki_join_lanes<hki_larger<Element>>(at, line.max, max_room);
    for (int64_t i = at.lane; i < size; i += at.lanes)
        line.sum += (double)hki_exp_of(x[i * step] - line.max);
    line.sum = hki_join_lanes<hki_added>(at, line.sum, sum_room);
    return line;
}

/* ---- labels --------------------------------------------------------------------------------------------------- */

HKI_DEVICE int64_t hki_label_of(const void *labels, hk_dtype dtype, int64_t row)
{
    if (dtype == HK_I32)
        return static_cast<const int32_t *>(labels)[row];
    if (dtype == HK_I64)
        return static_cast<const int64_t *>(labels)[row];
    return static_cast<const uint8_t *>(labels)[row];
}

#endif
