/* What the task of a call has as its payload: shared by call_task.c and call_late.c. */
#ifndef HOCKET_OP_CALL_PAYLOAD_H
#define HOCKET_OP_CALL_PAYLOAD_H

#include "op/call/call.h"

#include <stdalign.h>

/* Of a call whose kernel gets copies. */
typedef struct hki_staged {
    hki_call_staging staging;
    void *input_copies[HKI_MAX_INPUTS], *output_copy;
    hki_tensor real_output;
} hki_staged;

typedef struct hki_call_payload {
    hki_kernel_call call;
    hki_kernel_fn kernel;
    double work_ns;
    bool measured;
    bool is_put_off;    /* prepare makes room, and leaves the rest to hki_call_begin_late */
    hki_staged *staged; /* behind all else; NULL: the kernel takes the arrays as they are */
    alignas(16) hki_tensor tensors[]; /* the call's, and behind them its options */
} hki_call_payload;

_Static_assert(sizeof(hki_tensor) % 16 == 0, "options are aligned");

static inline size_t hki_tensor_bytes(const hki_tensor *tensor)
{
    size_t bytes = (size_t)tensor->size * hk_dtype_bytes(tensor->dtype);
    return bytes > 0 ? bytes : 1;
}

static inline int hki_call_tensor_count(const hki_kernel_call *call)
{
    const int inputs = call->input_count > HKI_NAMED_INPUTS ? call->input_count : HKI_NAMED_INPUTS;
    return inputs + call->output_count;
}

/* With all the memory that they take: copies what the kernel gets as copies, and turns the tensors
 * into these. */
void hki_call_stage(hki_device *device, hki_kernel_call *call, hki_staged *self);
/* Whether all values that the kernel looks at are known to be good. */
bool hki_call_is_prechecked(const hki_task_spec *spec, const void *payload);

/* How calls are put off. */
extern const hki_later hki_call_later;

#endif
