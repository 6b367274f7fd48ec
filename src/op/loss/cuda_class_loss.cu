/* Losses of class labels. Arrays are contiguous; exponentials are those of the processor's
 * kernels, sums are in double, in an order that follows from the shapes. */
#include "op/loss/class_loss.h"

#include "op/cuda/cuda_calls.h"
#include "op/softmax_norm/cuda_line.cuh"

#include <stdio.h>

/* See CLASS_LOSS_ARGUMENTS. */
struct class_loss_of {
    int64_t rows, classes; /* at least 1 */
    hk_dtype label_dtype;  /* int32, int64 or uint8 */
    bool are_logs, ignores;
    double smoothing;
    int64_t ignored;
};

/* What a column of lanes has to do with: a row of logits and its label. */
struct loss_row {
    int64_t row, label;
    bool is_there;
    bool counts;   /* its label is a class, and not ignored */
    bool is_wrong; /* its label is no class */

    __device__ loss_row(const class_loss_of &s, const void *labels, int64_t index)
        : row(index), label(0), is_there(index < s.rows), counts(false), is_wrong(false)
    {
        if (!is_there)
            return;
        label = hki_label_of(labels, s.label_dtype, row);
        const bool is_ignored = s.ignores && label == s.ignored;
        is_wrong = !is_ignored && (label < 0 || label >= s.classes);
        counts = !is_ignored && !is_wrong;
    }
    __device__ int64_t begin(const class_loss_of &s) const
    {
        return is_there ? row * s.classes : 0;
    }
    /* The lowest row that a lane reports is enough. */
    __device__ void report(const hki_lane &at, hki_cuda_fault *fault, bool *has_reported) const
    {
        if (is_wrong && at.lane == 0 && !*has_reported) {
            hki_cuda_report_value(fault, row, label);
            *has_reported = true;
        }
    }
};

/* Of the logits of a row; where they are logarithms, what makes -ln p of them. */
template <class Element>
HKI_DEVICE hki_line_sums<Element> logits_of(const class_loss_of &s, const hki_lane &at,
                                            const loss_row &row, const Element *x,
                                            Element *max_room, double *sum_room)
{
    if (s.are_logs)
        return {0, 1};
    return hki_sum_line(at, x, row.counts ? s.classes : 0, 1, max_room, sum_room);
}

template <class Element>
HKI_KERNEL void class_loss(const class_loss_of s, const hki_cuda_tile tile, const Element *x,
                           const void *labels, const Element *weight, Element *terms,
                           Element *weights, hki_cuda_fault *fault)
{
    HKI_SHARED Element max_room[HKI_CUDA_TILE];
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, false);
    bool has_reported = false;
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const loss_row row(s, labels, block * at.columns + at.column);
        const Element *logits = x + row.begin(s);
        row.report(at, fault, &has_reported);
        const hki_line_sums<Element> line = logits_of(s, at, row, logits, max_room, sum_room);
        const double log_sum = log(line.sum), max = (double)line.max;
        double smooth = 0;
        if (s.smoothing > 0) {
            for (int64_t j = at.lane; row.counts && j < s.classes; j += at.lanes)
                if (!weight || weight[j] != 0)
                    smooth +=
                        (log_sum + (max - (double)logits[j])) * (weight ? (double)weight[j] : 1);
            smooth = hki_join_lanes<hki_added>(at, smooth, sum_room);
        }
        if (!row.is_there || at.lane != 0)
            continue;
        double term = 0, own = 0;
        if (row.counts) {
            own = weight ? (double)weight[row.label] : 1;
            const double share = (1 - s.smoothing) * own;
            if (share != 0) /* what weighs 0 does not count, be it NaN */
                term = share * (log_sum + (max - (double)logits[row.label]));
            if (s.smoothing > 0)
                term += s.smoothing * (smooth / (double)s.classes);
        }
        terms[row.row] = (Element)term;
        weights[row.row] = (Element)own;
    }
}

/* What the weights of all classes add up to, in every lane. */
template <class Element>
HKI_DEVICE double weights_of(const class_loss_of &s, const hki_lane &at, const Element *weight,
                             double *room)
{
    double all = 0;
    if (!weight || !(s.smoothing > 0))
        return (double)s.classes;
    for (int64_t j = at.lane; j < s.classes; j += at.lanes)
        all += (double)weight[j];
    return hki_join_lanes<hki_added>(at, all, room);
}

template <class Element>
HKI_KERNEL void class_loss_backward(const class_loss_of s, const hki_cuda_tile tile,
                                    const Element *x, const void *labels, const Element *weight,
                                    const Element *dy, Element *dx, hki_cuda_fault *fault)
{
    HKI_SHARED Element max_room[HKI_CUDA_TILE];
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, false);
    const double all = weights_of(s, at, weight, sum_room), share = s.smoothing / (double)s.classes;
    bool has_reported = false;
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const loss_row row(s, labels, block * at.columns + at.column);
        const Element *logits = x + row.begin(s);
        Element *to = dx + row.begin(s);
        row.report(at, fault, &has_reported);
        const hki_line_sums<Element> line = logits_of(s, at, row, logits, max_room, sum_room);
        if (!row.is_there || row.is_wrong)
            continue;
        const double its_dy = row.counts ? (double)dy[row.row] : 0;
        const double own =
            (1 - s.smoothing) * (row.counts && weight ? (double)weight[row.label] : 1);
        const Element scale = (Element)((own + share * all) * its_dy / line.sum);
        const Element less = (Element)(share * its_dy), at_label = (Element)(own * its_dy);
        const bool counts = its_dy != 0 && (own != 0 || s.smoothing != 0);
        for (int64_t j = at.lane; j < s.classes; j += at.lanes) {
            Element value = 0;
            if (counts && !s.are_logs)
                value =
                    hki_exp_of(logits[j] - line.max) * scale - (weight ? weight[j] * less : less);
            to[j] = counts && j == row.label ? value - at_label : value;
        }
    }
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static hk_code describe(const hki_cuda_fault *fault, int64_t classes, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "label %lld of labels, in C order, is %lld, but there are %lld classes, so that a "
             "label is in [0, %lld)",
             (long long)hki_cuda_fault_row(fault), (long long)hki_cuda_fault_value(fault),
             (long long)classes, (long long)classes);
    return HK_OUT_OF_RANGE;
}

template <class Element>
static void launch(const hki_kernel_call *call, hki_cuda_stream *stream, const Element *dy)
{
    const hki_class_loss_options *options = hki_options_of<hki_class_loss_options>(call);
    const hki_tensor &logits = call->in[HKI_CLASS_LOSS_X],
                     &labels = call->in[HKI_CLASS_LOSS_LABELS];
    if (logits.size == 0)
        return;
    const class_loss_of of = {logits.dims[0],    logits.dims[1],   labels.dtype,
                              options->are_logs, options->ignores, options->smoothing,
                              options->ignored};
    const Element *x = hki_input_of<Element>(call, HKI_CLASS_LOSS_X);
    const Element *weight = hki_input_of<Element>(call, HKI_CLASS_LOSS_WEIGHT);
    Element *y = hki_output_of<Element>(call, 0);
    const hki_cuda_tile tile = hki_cuda_line_tile(of.rows, of.classes, false);
    const unsigned grid = hki_cuda_grid(tile.tiles, 1, hki_cuda_stream_multiprocessors(stream));
    hki_cuda_fault *fault = hki_cuda_fault_slot(stream, describe, of.classes);
    if (fault && dy)
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, class_loss_backward<Element>, of, tile, x,
                            labels.data, weight, dy, y, fault);
    else if (fault)
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, class_loss<Element>, of, tile, x,
                            labels.data, weight, y, hki_output_of<Element>(call, 1), fault);
}

static void launch_any(const hki_kernel_call *call, hki_cuda_stream *stream, const void *dy)
{
    if (call->in[HKI_CLASS_LOSS_X].dtype == HK_F64)
        launch(call, stream, static_cast<const double *>(dy));
    else
        launch(call, stream, static_cast<const float *>(dy));
}

void hki_cuda_call_class_loss(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    launch_any(call, stream, nullptr);
}

void hki_cuda_call_class_loss_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    launch_any(call, stream, call->in[HKI_CLASS_LOSS_DY].data);
}
