/* Calls of operators, on a stream. */
#include "op/cuda/run_call.h"

#include "device/cuda/cuda_device.h"
#include "op/cuda/cuda_calls.h"
#include "op/elementwise/elementwise_gradients.h"

#include <nvtx3/nvToolsExt.h>

#define GRADIENT(context, kept, name, ns, expression) [HKI_OP_ID_##name] = hki_cuda_call_row,
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    [HKI_OP_ID_##name] = hki_cuda_call_row, HKI_EACH_GRADIENT(GRADIENT, , name, gradient)
#define CHECKED                ROW
#define UPDATE(name, ...)      [HKI_OP_ID_##name] = hki_cuda_state_update,
#define KERNEL(name, function) [HKI_OP_ID_##name] = function,
/* NULL: none, and the call fails with HK_UNSUPPORTED. */
static const hki_cuda_kernel_fn kernels[HKI_OP_COUNT] = {
#include "op/cuda/cuda_kernels.def"
#include "op/elementwise/elementwise.def"
#include "op/update/update.def"
};
#undef GRADIENT
#undef ROW
#undef CHECKED
#undef KERNEL

void hki_cuda_run_call(hki_device *device, const hki_kernel_call *call)
{
    const hki_cuda_kernel_fn kernel = kernels[call->op->id];
    if (!kernel) {
        hki_cuda_host_of(device)->task_fail(
            call->task, 0, HK_UNSUPPORTED, "%s has no kernel for %s", call->op->name, device->name);
        return;
    }
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COMPUTE);
    if (!stream)
        return;
    /* A profiler shows the operator's name above what it launches. */
    const bool is_named = hki_cuda_host_of(device)->is_recording(device->runtime);
    if (is_named)
        nvtxRangePushA(call->op->name);
    kernel(call, stream);
    if (is_named)
        nvtxRangePop();
}

void hki_cuda_run_own(hki_device *device, size_t workspace_bytes, hki_launch_fn *launch,
                      void *argument)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COMPUTE);
    void *workspace =
        stream && workspace_bytes ? hki_cuda_workspace(stream, workspace_bytes) : NULL;
    if (!stream || (workspace_bytes && !workspace))
        return;
    launch(argument, hki_cuda_stream_handle(stream), workspace);
    hki_cuda_ok(stream, cudaGetLastError(), "a kernel of the program");
}

static bool is_one_of(hki_cuda_kernel_fn kernel, const hki_cuda_kernel_fn *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kernel == list[i])
            return true;
    return false;
}

bool hki_cuda_may_report(const hki_kernel_call *call)
{
    const hki_cuda_kernel_fn kernel = kernels[call->op->id];
    if (kernel == hki_cuda_call_row)
        return hki_cuda_row_reports(call);
    if (kernel == hki_cuda_call_cast)
        return hki_cuda_cast_reports(call);
    static const hki_cuda_kernel_fn reporting[] = {
        hki_cuda_call_cross_entropy, hki_cuda_call_cross_entropy_backward,
        hki_cuda_call_class_loss,    hki_cuda_call_class_loss_backward,
        hki_cuda_call_mask_places,
    };
    if (kernel == hki_cuda_call_take || kernel == hki_cuda_call_scatter)
        return call->in[1].size > 0;
    if (kernel == hki_cuda_call_checked_weights)
        return true;
    return call->in[0].size > 0 &&
           is_one_of(kernel, reporting, sizeof reporting / sizeof *reporting);
}

/* All that these launch is given the stream's guard. */
bool hki_cuda_can_spare(const hki_kernel_call *call)
{
    static const hki_cuda_kernel_fn can[] = {
        hki_cuda_call_row,       hki_cuda_call_copy,    hki_cuda_call_reshape, hki_cuda_call_cast,
        hki_cuda_call_full,      hki_cuda_call_zeros,   hki_cuda_call_ones,    hki_cuda_sgd_update,
        hki_cuda_moving_average, hki_cuda_state_update,
    };
    return is_one_of(kernels[call->op->id], can, sizeof can / sizeof *can);
}

void hki_cuda_run_copy(hki_device *device, const hki_tensor *from, const hki_tensor *to)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COMPUTE);
    if (stream)
        hki_cuda_copy_tensor(stream, from, to);
}

void hki_cuda_run_sum(hki_device *device, hk_dtype dtype, const void *const *inputs,
                      int input_count, void *const *outputs, int output_count, size_t size)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_REDUCE);
    if (stream)
        hki_cuda_sum(stream, dtype, inputs, input_count, outputs, output_count, size);
}

hki_op_id hki_cuda_op_of(const hki_kernel_call *call)
{
    return call->op->id;
}

void hki_cuda_fail_unsupported(hki_cuda_stream *stream, const hki_kernel_call *call,
                               const char *text)
{
    hki_cuda_host_of(hki_cuda_stream_device(stream))
        ->task_fail(call->task, 0, HK_UNSUPPORTED, "%s on a GPU %s", call->op->name, text);
}

uint64_t hki_cuda_element_bits(hki_cuda_stream *stream, hk_dtype dtype, double value)
{
    uint64_t bits = 0;
    hki_cuda_host_of(hki_cuda_stream_device(stream))->dtype_store(dtype, &bits, value);
    return bits;
}
