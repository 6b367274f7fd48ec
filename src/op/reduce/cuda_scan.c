/* Cumulative sums and products; the places of a mask, which sums number; weights, whose sums are checked. */
#include "op/reduce/cuda_scan.h"

#include "op/cuda/cuda_calls.h"
#include "op/op.h"
#include "op/random/random.h"
#include "op/reduce/line.h"
#include "op/sort/selection.h"

#include <stdio.h>
#include <string.h>

static hki_cuda_scan scan_of(const hki_kernel_call *call)
{
    const hki_tensor *x = &call->in[0];
    const hki_lines lines = hki_lines_of(x->ndim, x->dims, *(const int64_t *)call->options);
    return (hki_cuda_scan){lines.size, lines.inner, lines.count,
                           call->op->id == HKI_OP_ID_reverse_cumulative_sum};
}

void hki_cuda_call_cumulative(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0];
    if (x->size == 0)
        return;
    const hki_cuda_scan scan = scan_of(call);
    void *workspace = hki_cuda_workspace(stream, hki_cuda_scan_workspace_bytes(&scan));
    if (workspace)
        hki_cuda_launch_scan(stream, &scan, call->op->id == HKI_OP_ID_cumulative_prod, x->dtype,
                             x->data, call->out[0].data, workspace);
}

void hki_cuda_call_cumulative_prod_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *in = call->in;
    if (in[0].size == 0)
        return;
    const hki_cuda_scan scan = scan_of(call);
    hki_cuda_launch_prod_backward(stream, &scan, in[0].dtype == HK_F64, in[0].data, in[1].data,
                                  in[2].data, call->out[0].data);
}

void hki_cuda_call_cumulative_prod_second(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *in = call->in;
    if (in[0].size == 0)
        return;
    const hki_cuda_scan scan = scan_of(call);
    hki_cuda_launch_prod_second(stream, &scan, in[0].dtype == HK_F64, in[0].data, in[1].data,
                                in[2].data, in[3].data, call->out[0].data, call->out[1].data);
}

static hk_code describe(const hki_cuda_fault *fault, int64_t count, char *text, size_t bytes)
{
    snprintf(text, bytes, HKI_MASK_CHANGED, hki_cuda_fault_value(fault), count);
    return HK_INVALID_ARGUMENT;
}

void hki_cuda_call_mask_places(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *mask = &call->in[0], *places = &call->out[0];
    if (mask->size == 0)
        return;
    const hki_cuda_scan scan = {mask->size, 1, 1, false};
    hki_cuda_fault *fault = hki_cuda_fault_slot(stream, describe, places->size);
    int64_t *numbers = hki_cuda_workspace(stream, (size_t)mask->size * sizeof *numbers +
                                                      hki_cuda_scan_workspace_bytes(&scan));
    if (!fault || !numbers)
        return;
    hki_cuda_launch_scan(stream, &scan, false, HK_U8, mask->data, numbers, numbers + mask->size);
    hki_cuda_launch_places_of_mask(stream, mask->data, numbers, mask->size, places->size,
                                   places->size ? places->data : NULL, fault);
}

static hk_code describe_weight(const hki_cuda_fault *fault, int64_t least, char *text, size_t bytes)
{
    const int64_t value = hki_cuda_fault_value(fault);
    const uint32_t row = hki_cuda_fault_row(fault);
    double weight;
    memcpy(&weight, &value, sizeof weight);
    if (row == HKI_CUDA_LAST_ROW)
        snprintf(text, bytes, HKI_FEW_WEIGHTS, value, least);
    else
        snprintf(text, bytes, HKI_BAD_WEIGHT, (int64_t)row, weight);
    return HK_BAD_DATA;
}

void hki_cuda_call_checked_weights(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *weights = &call->in[0];
    const int64_t least = *(const int64_t *)call->options;
    const hki_cuda_scan scan = {weights->size, 1, 1, false};
    const size_t item = sizeof(double),
                 parts = weights->size ? hki_cuda_scan_workspace_bytes(&scan) : 0;
    hki_cuda_fault *fault = hki_cuda_fault_slot(stream, describe_weight, least);
    double *sums = hki_cuda_workspace(stream, ((size_t)weights->size + 1) * item + parts);
    if (!fault || !sums)
        return;
    double *counter = sums + weights->size;
    if (weights->size)
        hki_cuda_launch_scan(stream, &scan, false, HK_F64, weights->data, sums, counter + 1);
    hki_cuda_launch_checked_weights(stream, weights->data, sums, weights->size, least,
                                    call->out[0].data, counter, fault);
}
