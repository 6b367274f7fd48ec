/* Batch normalisation by kernels of Hocket's own: cuDNN's sums are of float32, and its variance for the moving average
 * is another. */
#include "op/cuda/cuda_calls.h"
#include "op/softmax_norm/batch_norm.h"
#include "op/softmax_norm/cuda_channel_kernels.h"

/* Arrays without elements have no memory of the device. */
static void *elements(const hki_tensor *x)
{
    return x->size > 0 ? x->data : NULL;
}

void hki_cuda_batch_norm(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0], *mean = &call->in[3], *variance = &call->in[4];
    const hki_batch_norm_shape shape = hki_batch_norm_shape_of(x->ndim, x->dims);
    const bool given = mean->ndim >= 0;
    void *workspace = NULL;
    if (shape.channels == 0)
        return;
    if (!given) {
        workspace = hki_cuda_workspace(stream, hki_cuda_channel_workspace_bytes(&shape));
        if (!workspace)
            return;
    }
    hki_cuda_normalise(stream, x->dtype == HK_F64, &shape, hki_batch_norm_eps(call->options),
                       elements(x), call->in[1].data, call->in[2].data, given ? mean->data : NULL,
                       given ? variance->data : NULL, elements(&call->out[0]), call->out[1].data,
                       workspace);
}

void hki_cuda_batch_norm_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_batch_norm_backward_options *options = call->options;
    const hki_tensor *x = &call->in[0];
    const hki_batch_norm_shape shape = hki_batch_norm_shape_of(x->ndim, x->dims);
    if (shape.channels == 0)
        return;
    void *workspace = hki_cuda_workspace(stream, hki_cuda_channel_workspace_bytes(&shape));
    if (workspace)
        hki_cuda_normalise_backward(stream, x->dtype == HK_F64, &shape, options->given, elements(x),
                                    elements(&call->in[1]), call->in[2].data, call->in[3].data,
                                    elements(&call->out[0]), call->out[1].data, workspace);
}
