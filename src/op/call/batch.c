#include "array/axis.h"
#include "op/op.h"

hki_batch_kind hki_batch_first(hki_batch *batch)
{
    batch->first = 1;
    return HKI_BATCH_EACH;
}

hki_batch_kind hki_batch_all(hki_batch *batch)
{
    for (int i = 0; i < batch->input_count; i++)
        batch->first |= (unsigned)(batch->in[i] != NULL) << i;
    return HKI_BATCH_EACH;
}

hki_batch_kind hki_batch_elementwise(hki_batch *batch)
{
    const hk_dims *out = &batch->out[0]->shape;
    for (int i = 0; i < batch->input_count; i++) {
        const hk_dims *x = batch->in[i] ? &batch->in[i]->shape : NULL;
        if (x && x->ndim > 0 && x->ndim == out->ndim && x->dims[0] == out->dims[0])
            batch->first |= 1u << i;
    }
    return batch->first ? HKI_BATCH_EACH : HKI_BATCH_NONE;
}

hki_batch_kind hki_batch_lines(hki_batch *batch, int64_t axis)
{
    const int ndim = batch->in[0]->shape.ndim;
    return ndim > 0 && hki_axis_from_front(axis, ndim) > 0 ? hki_batch_first(batch)
                                                           : HKI_BATCH_NONE;
}
