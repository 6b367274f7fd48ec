/* take_along_axis, scatter and scatter_add. Updates are sorted by the entry that they name, so that the last one stays and sums
 * have an order. */
#include "op/index/cuda_indexed.h"

#include "array/axis.h"
#include "device/cuda/cuda_device.h"
#include "op/cuda/cuda_calls.h"
#include "op/op.h"

#include <inttypes.h>
#include <stdio.h>

/* The options of all are alike. */
static int axis_of(const hki_kernel_call *call)
{
    return hki_axis_from_front(*(const int64_t *)call->options, call->in[0].ndim);
}

/* ---- an index out of range ---------------------------------------------------------------------------------- */

/* Which of the indices that differ, in C order, is that of element i. */
static int64_t number_of(const hki_tensor *indices, int64_t i)
{
    int64_t number = 0, size = 1;
    for (int axis = indices->ndim - 1; axis >= 0; axis--) {
        const int64_t at = i % indices->dims[axis];
        i /= indices->dims[axis];
        if (indices->strides[axis]) {
            number += at * size;
            size *= indices->dims[axis];
        }
    }
    return number;
}

/* `argument`: the call, which lives until its task has ended. */
static hk_code describe(const hki_cuda_fault *fault, int64_t argument, char *text, size_t bytes)
{
    const hki_kernel_call *call = (const hki_kernel_call *)(intptr_t)argument;
    const int64_t size = call->in[0].dims[axis_of(call)], row = hki_cuda_fault_row(fault);
    char which[64] = "one of the indices is out of range";
    if (row < HKI_CUDA_LAST_ROW)
        snprintf(which, sizeof which, "indices[%" PRId64 "] is %" PRId64,
                 number_of(&call->in[1], row), hki_cuda_fault_value(fault));
    snprintf(text, bytes,
             "%s, but the axis has %" PRId64 " entries, so that an index is in [%" PRId64
             ", %" PRId64 ")",
             which, size, -size, size);
    return HK_OUT_OF_RANGE;
}

static hki_cuda_fault *slot_of(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    return hki_cuda_fault_slot(stream, describe, (int64_t)(intptr_t)call);
}

/* What has the axis, without its steps along it. */
static hki_tensor without_axis(const hki_tensor *tensor, int axis)
{
    hki_tensor self = *tensor;
    self.strides[axis] = 0;
    return self;
}

static hki_cuda_indexed indexed_of(const hki_kernel_call *call, const hki_tensor *entries)
{
    const int axis = axis_of(call);
    return (hki_cuda_indexed){entries->dims[axis],
                              entries->strides[axis] * hki_cuda_item_bytes(entries->dtype),
                              hki_cuda_item_bytes(call->in[1].dtype)};
}

/* ---- take_along_axis ------------------------------------------------------------------------------------------ */

typedef struct take {
    hki_cuda_indexed along;
    int item_bytes;
    hki_cuda_fault *fault;
} take;

static void launch_take(hki_cuda_stream *stream, const hki_cuda_path *path, void *argument)
{
    const take *self = argument;
    hki_cuda_launch_take(stream, path, &self->along, self->item_bytes, self->fault);
}

/* How many elements side by side can be taken in one go: they share an index, and lie alike in every entry. */
static int take_width(const hki_cuda_walk *walk, const take *self)
{
    const bool alike = walk->ndim > 0 && walk->steps[walk->ndim - 1][1] == 0 &&
                       self->along.step % HKI_CUDA_PACK_BYTES == 0;
    return alike ? HKI_CUDA_PACK_BYTES / self->item_bytes : 1;
}

void hki_cuda_call_take(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor out = call->out[0];
    const hki_tensor indices = call->in[1];
    const hki_tensor x = without_axis(&call->in[0], axis_of(call));
    take self = {indexed_of(call, &call->in[0]), hki_cuda_item_bytes(x.dtype), NULL};
    const int item_bytes[] = {self.item_bytes, self.along.index_bytes, self.item_bytes};
    hki_cuda_walk walk;
    if (indices.size == 0 || !(self.fault = slot_of(call, stream)))
        return;
    hki_cuda_walk_over(&walk, (const hki_tensor *const[]){&out, &indices, &x}, 3);
    hki_cuda_each_part(stream, &walk, take_width(&walk, &self), item_bytes, launch_take, &self);
}

/* ---- scatter and scatter_add ------------------------------------------------------------------------------------ */

/* The last axes, along which indices repeat themselves, apart from the others. */
static void split_walk(const hki_cuda_walk *walk, hki_cuda_walk *each, hki_cuda_walk *beside)
{
    int outer = walk->ndim;
    while (outer > 0 && walk->steps[outer - 1][HKI_CUDA_SCATTER_INDEX] == 0)
        outer--;
    hki_cuda_walk_init(each, walk->operand_count);
    hki_cuda_walk_init(beside, walk->operand_count);
    for (int axis = 0; axis < walk->ndim; axis++)
        hki_cuda_walk_add_axis(axis < outer ? each : beside, walk->dims[axis], walk->steps[axis]);
    for (int i = 0; i < walk->operand_count; i++)
        each->data[i] = walk->data[i];
}

/* False after the task has been failed. */
static bool scatter_init(const hki_kernel_call *call, hki_cuda_stream *stream,
                         hki_cuda_scatter *self)
{
    const hki_tensor out = without_axis(&call->out[0], axis_of(call));
    const hki_tensor indices = call->in[1];
    const hki_tensor updates = call->in[2];
    /* The first one gives the shape. */
    hki_cuda_walk walk, each, beside;
    hki_cuda_walk_over(&walk, (const hki_tensor *const[]){&indices, &out, &updates}, 3);
    for (int axis = 0; axis < walk.ndim; axis++) {
        const int64_t step = walk.steps[axis][0];
        walk.steps[axis][0] = walk.steps[axis][1];
        walk.steps[axis][1] = step;
    }
    walk.data[HKI_CUDA_SCATTER_OUT] = out.data;
    walk.data[HKI_CUDA_SCATTER_INDEX] = indices.data;
    split_walk(&walk, &each, &beside);
    if (each.size > HKI_CUDA_MAX_INDEX || beside.size > HKI_CUDA_MAX_INDEX) {
        hki_cuda_host_of(hki_cuda_stream_device(stream))
            ->task_fail(call->task, 0, HK_UNSUPPORTED,
                        "%s on a GPU takes %d indices at most; hk_slice cuts them", call->op->name,
                        HKI_CUDA_MAX_INDEX);
        return false;
    }
    hki_cuda_path_init(&self->each, &each, 1, NULL);
    hki_cuda_path_init(&self->beside, &beside, 1, NULL);
    self->along = indexed_of(call, &call->out[0]);
    return true;
}

void hki_cuda_call_scatter(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor x = call->in[0];
    const hki_tensor out = call->out[0];
    hki_cuda_scatter self;
    hki_cuda_copy_tensor(stream, &x, &out);
    if (call->in[1].size == 0 || !scatter_init(call, stream, &self))
        return;
    hki_cuda_fault *fault = slot_of(call, stream);
    const int64_t count = self.each.count;
    hki_cuda_item *items = hki_cuda_workspace(stream, 2 * (size_t)count * sizeof(hki_cuda_item));
    if (!fault || !items)
        return;
    hki_cuda_launch_places(stream, &self, items, fault);
    items = hki_cuda_sort_items(stream, items, items + count, 1, count);
    if (call->op->id == HKI_OP_ID_scatter_add)
        hki_cuda_launch_add(stream, &self, out.dtype, items);
    else
        hki_cuda_launch_set(stream, &self, hki_cuda_item_bytes(out.dtype), items);
}
