#include "op/loss/cuda_class_loss.h"

#include "op/cuda/cuda_calls.h"
#include "op/loss/class_loss.h"

#include <stdio.h>

static hk_code describe(const hki_cuda_fault *fault, int64_t classes, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "label %lld of labels, in C order, is %lld, but there are %lld classes, so that a "
             "label is in [0, %lld)",
             (long long)hki_cuda_fault_row(fault), (long long)hki_cuda_fault_value(fault),
             (long long)classes, (long long)classes);
    return HK_OUT_OF_RANGE;
}

static hki_cuda_class_loss loss_of(const hki_kernel_call *call)
{
    const hki_class_loss_options *options = call->options;
    const hki_tensor *x = &call->in[HKI_CLASS_LOSS_X];
    return (hki_cuda_class_loss){.rows = x->dims[0],
                                 .classes = x->dims[1],
                                 .label_dtype = call->in[HKI_CLASS_LOSS_LABELS].dtype,
                                 .are_logs = options->are_logs,
                                 .ignores = options->ignores,
                                 .smoothing = options->smoothing,
                                 .ignored = options->ignored};
}

static const void *weight_of(const hki_kernel_call *call)
{
    const hki_tensor *weight = &call->in[HKI_CLASS_LOSS_WEIGHT];
    return weight->ndim >= 0 ? weight->data : NULL;
}

void hki_cuda_call_class_loss(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[HKI_CLASS_LOSS_X];
    const hki_cuda_class_loss loss = loss_of(call);
    hki_cuda_fault *fault =
        x->size > 0 ? hki_cuda_fault_slot(stream, describe, loss.classes) : NULL;
    if (fault)
        hki_cuda_launch_class_loss(stream, x->dtype == HK_F64, &loss, x->data,
                                   call->in[HKI_CLASS_LOSS_LABELS].data, weight_of(call),
                                   call->out[0].data, call->out[1].data, fault);
}

void hki_cuda_call_class_loss_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[HKI_CLASS_LOSS_X];
    const hki_cuda_class_loss loss = loss_of(call);
    hki_cuda_fault *fault =
        x->size > 0 ? hki_cuda_fault_slot(stream, describe, loss.classes) : NULL;
    if (fault)
        hki_cuda_launch_class_loss_backward(
            stream, x->dtype == HK_F64, &loss, x->data, call->in[HKI_CLASS_LOSS_LABELS].data,
            weight_of(call), call->in[HKI_CLASS_LOSS_DY].data, call->out[0].data, fault);
}
