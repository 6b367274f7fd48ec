/* The one table by which rooms call those below them. */
#include "base/hooks.h"

hki_hook_table hki_hooks = {
    .runtime_started = hki_trace_runtime_started,
    .runtime_ending = hki_trace_runtime_ending,
    .promises_end = hki_promises_end,
    .runtime_stopping = hki_world_runtime_stopping,
    .runtime_stopped = hki_world_runtime_stopped,
    .cuda_host = &hki_cuda_host_table,
    .tape_drop = hki_tape_drop,
    .tape_record_view = hki_tape_record_view,
    .tape_is_result = hki_tape_is_result,
    .transfer = hki_transfer_array,
    .capture_refuse = hki_capture_refuse,
    .describe_layer = hki_module_describe_place,
    .tape_record = hki_tape_record,
    .tape_set_recording = hki_tape_set_recording,
    .tape_allow_overwrite = hki_tape_allow_overwrite,
    .capture = &hki_capture_hook_table,
    .complex_ops = hki_complex_table,
    .call_promoted = hki_promoted_call,
};
