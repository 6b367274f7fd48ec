/* Layer norm, RMS norm, group norm and their gradients. */
#include "op/softmax_norm/cuda_row_norm_kernels.h"

#include "op/cuda/cuda_calls.h"
#include "op/op.h"
#include "op/softmax_norm/cuda_channel_kernels.h"
#include "op/softmax_norm/layer_norm.h"

/* What is left out has no address. */
static const void *given(const hki_kernel_call *call, int input)
{
    return input < call->input_count && call->in[input].ndim >= 0 ? call->in[input].data : NULL;
}

void hki_cuda_layer_norm(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0];
    const hki_layer_norm_backward_options of = hki_layer_norm_of(call->op->id, call->options);
    const hki_row_norm_shape shape = hki_layer_norm_shape(x->ndim, x->dims, &of);
    if (x->size > 0)
        hki_cuda_row_norm(stream, x->dtype == HK_F64, &shape, of.eps, x->data, given(call, 1),
                          given(call, 2), call->out[0].data, call->out[1].data);
}

void hki_cuda_layer_norm_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0];
    const hki_row_norm_shape shape = hki_layer_norm_shape(x->ndim, x->dims, call->options);
    if (x->size > 0)
        hki_cuda_row_norm_backward(stream, x->dtype == HK_F64, &shape, x->data, call->in[1].data,
                                   given(call, 3), call->in[2].data, call->out[0].data);
}

/* Sums over samples, and over the positions of a channel. */
void hki_cuda_layer_norm_weigh(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0];
    const hki_row_norm_shape shape = hki_layer_norm_shape(x->ndim, x->dims, call->options);
    const hki_batch_norm_shape channels = {shape.rows / shape.groups, call->out[0].dims[1],
                                           shape.inner};
    if (channels.channels == 0)
        return;
    void *workspace = hki_cuda_workspace(stream, hki_cuda_channel_workspace_bytes(&channels));
    if (workspace)
        hki_cuda_weigh_channels(stream, x->dtype == HK_F64, &channels, shape.groups,
                                x->size > 0 ? x->data : NULL, x->size > 0 ? call->in[1].data : NULL,
                                x->size > 0 ? call->in[2].data : NULL, call->out[0].data,
                                workspace);
}
