/* Pooling by kernels of Hocket's own: cuDNN's maximum takes any of several largest elements, and its gradient has no
 * fixed order of sums. */
#include "op/cuda/cuda_calls.h"
#include "op/pool/cuda_pool2d_kernels.h"
#include "op/pool/pool2d.h"

static int64_t planes_of(const hki_tensor *x)
{
    return x->dims[0] * x->dims[1];
}

void hki_cuda_max_pool2d(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0];
    const hki_pool2d_geometry g = hki_pool2d_geometry_of(x->dims[2], x->dims[3], call->options);
    if (call->out[0].size)
        hki_cuda_pool_max(stream, x->dtype == HK_F64, &g, planes_of(x), x->data, call->out[0].data);
}

void hki_cuda_max_pool2d_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0], *dy = &call->in[1];
    const hki_pool2d_geometry g = hki_pool2d_geometry_of(x->dims[2], x->dims[3], call->options);
    if (call->out[0].size)
        hki_cuda_pool_max_backward(stream, x->dtype == HK_F64, &g, planes_of(x), x->data, dy->data,
                                   call->out[0].data);
}

void hki_cuda_max_pool2d_pick(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0], *v = &call->in[1];
    const hki_pool2d_geometry g = hki_pool2d_geometry_of(x->dims[2], x->dims[3], call->options);
    if (call->out[0].size)
        hki_cuda_pool_max_pick(stream, x->dtype == HK_F64, &g, planes_of(x), x->data, v->data,
                               call->out[0].data);
}

void hki_cuda_avg_pool2d(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0];
    const hki_pool2d_geometry g =
        hki_pool2d_average_geometry(x->dims[2], x->dims[3], call->options);
    if (call->out[0].size)
        hki_cuda_pool_average(stream, x->dtype == HK_F64, &g, planes_of(x), x->data,
                              call->out[0].data);
}

void hki_cuda_avg_pool2d_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *dy = &call->in[0], *dx = &call->out[0];
    const hki_pool2d_geometry g =
        hki_pool2d_average_geometry(dx->dims[2], dx->dims[3], call->options);
    if (dx->size)
        hki_cuda_pool_average_backward(stream, dy->dtype == HK_F64, &g, planes_of(dx), dy->data,
                                       dx->data);
}
