#include "op/softmax_norm/cuda_softmax.h"

#include "op/cuda/cuda_calls.h"
#include "op/op.h"
#include "op/softmax_norm/softmax.h"

#include <stdio.h>

void hki_cuda_call_softmax(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0];
    int64_t axis = ((const hki_softmax_options *)call->options)->axis, count = 1, inner = 1;
    if (axis < 0)
        axis += x->ndim;
    for (int i = 0; i < x->ndim; i++) {
        count *= i != axis ? x->dims[i] : 1;
        inner *= i > axis ? x->dims[i] : 1;
    }
    if (x->size > 0)
        hki_cuda_launch_softmax(stream, x->dtype, call->op->id == HKI_OP_ID_log_softmax, x->data,
                                call->out[0].data, count, x->dims[axis], inner);
}

void hki_cuda_call_softmax_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *y = &call->in[0];
    if (y->size > 0)
        hki_cuda_launch_softmax_gradient(stream, y->dtype, y->data, call->in[1].data,
                                         call->out[0].data, y->size / y->dims[y->ndim - 1],
                                         y->dims[y->ndim - 1]);
}

static hk_code describe(const hki_cuda_fault *fault, int64_t classes, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "labels[%lld] is %lld, but logits has %lld classes, so that a label is in [0, %lld)",
             (long long)hki_cuda_fault_row(fault), (long long)hki_cuda_fault_value(fault),
             (long long)classes, (long long)classes);
    return HK_OUT_OF_RANGE;
}

static void cross_entropy(const hki_kernel_call *call, hki_cuda_stream *stream, const void *dy)
{
    const hki_tensor *x = &call->in[0], *labels = &call->in[1];
    if (x->size == 0)
        return;
    hki_cuda_fault *fault = hki_cuda_fault_slot(stream, describe, x->dims[1]);
    if (fault)
        hki_cuda_launch_cross_entropy(stream, x->dtype, x->data, labels->data, labels->dtype, dy,
                                      call->out[0].data, x->dims[0], x->dims[1], fault);
}

void hki_cuda_call_cross_entropy(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    cross_entropy(call, stream, NULL);
}

void hki_cuda_call_cross_entropy_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    cross_entropy(call, stream, call->in[2].data);
}
