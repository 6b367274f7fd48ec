/* take_along_axis, scatter and scatter_add. Updates are sorted by the entry that they name, so
 * that the last one stays and sums have an order. */
#include "array/axis.h"
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_walk.cuh"
#include "op/sort/cuda_sort.cuh"

#include <inttypes.h>
#include <stdio.h>

/* The axis that indices count along. A negative one counts from the end; those that are in
 * neither range are reported, once by each thread, with the number of the element of indices. */
struct hki_cuda_indexed {
    int64_t size, step; /* entries, and bytes from one to the next */
    int index_bytes;    /* int64, int32 or uint8 */
    int unused;         /* no gap: the emulation takes what lies in one for an address */
};

/* The options of all are alike. */
static int axis_of(const hki_kernel_call *call)
{
    return hki_axis_from_front(*hki_options_of<int64_t>(call), call->in[0].ndim);
}

static hki_cuda_indexed indexed_of(const hki_kernel_call *call, const hki_tensor &entries)
{
    const int axis = axis_of(call);
    return {entries.dims[axis], entries.strides[axis] * hki_cuda_item_bytes(entries.dtype),
            hki_cuda_item_bytes(call->in[1].dtype), 0};
}

/* What has the axis, without its steps along it. */
static hki_tensor without_axis(const hki_tensor &tensor, int axis)
{
    hki_tensor self = tensor;
    self.strides[axis] = 0;
    return self;
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
    const hki_kernel_call *call = reinterpret_cast<const hki_kernel_call *>((intptr_t)argument);
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
    return hki_cuda_fault_slot(stream, describe, (int64_t) reinterpret_cast<intptr_t>(call));
}

/* ---- entries ---------------------------------------------------------------------------------------------------- */

HKI_DEVICE int64_t index_at(const char *at, int bytes)
{
    if (bytes == 8)
        return *reinterpret_cast<const int64_t *>(at);
    return bytes == 4 ? *reinterpret_cast<const int32_t *>(at)
                      : *reinterpret_cast<const uint8_t *>(at);
}

/* The entry's number in *index; false: there is none. */
HKI_DEVICE bool find(const hki_cuda_indexed &along, const char *at, int64_t *index)
{
    *index = index_at(at, along.index_bytes);
    if (*index < -along.size || *index >= along.size)
        return false;
    *index += *index < 0 ? along.size : 0;
    return true;
}

/* ---- take ----------------------------------------------------------------------------------------------------- */

template <class T, int N>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    take(const hki_cuda_path path, const hki_cuda_indexed along, hki_cuda_fault *fault)
{
    bool has_reported = false;
    for (uint32_t i = (uint32_t)HKI_THREAD_INDEX; i < path.count; i += (uint32_t)HKI_THREAD_COUNT) {
        char *at[3];
        int64_t index;
        hki_pack<T, N> taken = {};
        hki_path_all<3>(path, i, at);
        if (find(along, at[1], &index)) {
            taken = hki_path_load<T, N>(path, 2, at[2] + index * along.step);
        } else if (!has_reported) {
            hki_cuda_report_value(fault, path.first + (int64_t)i * N, index);
            has_reported = true;
        }
        *reinterpret_cast<hki_pack<T, N> *>(at[0]) = taken;
    }
}

template <class T>
static void launch_take(hki_cuda_stream *stream, const hki_cuda_path *path,
                        const hki_cuda_indexed *along, hki_cuda_fault *fault)
{
    constexpr int N = HKI_CUDA_PACK_BYTES / (int)sizeof(T);
    const unsigned grid =
        hki_cuda_grid(path->count, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    if (path->width == N)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (take<T, N>), *path, *along, fault);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (take<T, 1>), *path, *along, fault);
}

/* How many elements side by side can be taken in one go: they share an index, and lie alike in
 * every entry. */
static int take_width(const hki_cuda_walk &walk, const hki_cuda_indexed &along, int item_bytes)
{
    const bool alike =
        walk.ndim > 0 && walk.steps[walk.ndim - 1][1] == 0 && along.step % HKI_CUDA_PACK_BYTES == 0;
    return alike ? HKI_CUDA_PACK_BYTES / item_bytes : 1;
}

/* Operand 0 becomes operand 2 at the entry that operand 1, the indices, says; those that are
 * refused become 0. Operand 2 has no step along the axis. A path of more than one element in a
 * step has the same index for them. */
void hki_cuda_call_take(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &indices = call->in[1], x = without_axis(call->in[0], axis_of(call));
    const hki_tensor *const operands[] = {&call->out[0], &indices, &x};
    const hki_cuda_indexed along = indexed_of(call, call->in[0]);
    const int bytes = hki_cuda_item_bytes(x.dtype);
    const int item_bytes[] = {bytes, along.index_bytes, bytes};
    hki_cuda_fault *fault = indices.size > 0 ? slot_of(call, stream) : nullptr;
    if (!fault)
        return;
    const auto launch = bytes == 1   ? launch_take<uint8_t>
                        : bytes == 4 ? launch_take<uint32_t>
                                     : launch_take<uint64_t>;
    hki_cuda_walk walk;
    hki_cuda_walk_over(&walk, operands, 3);
    hki_cuda_launch_parts(stream, walk, take_width(walk, along, bytes), item_bytes,
                          [&](const hki_cuda_path *path) { launch(stream, path, &along, fault); });
}

/* ---- scatter ---------------------------------------------------------------------------------------------------- */

/* Updates are `each`, which has one index for each step, times `beside`, elements that share it. */
enum { HKI_CUDA_SCATTER_OUT, HKI_CUDA_SCATTER_INDEX, HKI_CUDA_SCATTER_UPDATE };
struct hki_cuda_scatter {
    hki_cuda_path each, beside; /* the output has no step along the axis; it is dense */
    hki_cuda_indexed along;
};

/* The key of what is refused. */
#define HKI_CUDA_NOWHERE UINT64_MAX

/* items[i] of `each`: the place of its entry as the key, i as the number. */
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    find_places(const hki_cuda_scatter call, hki_cuda_item *items, hki_cuda_fault *fault)
{
    bool has_reported = false;
    for (uint32_t i = (uint32_t)HKI_THREAD_INDEX; i < call.each.count;
         i += (uint32_t)HKI_THREAD_COUNT) {
        char *at[2];
        int64_t index;
        hki_path_all<2>(call.each, i, at);
        const bool is_there = find(call.along, at[HKI_CUDA_SCATTER_INDEX], &index);
        if (!is_there && !has_reported) {
            hki_cuda_report_value(fault, (int64_t)i * call.beside.count, index);
            has_reported = true;
        }
        const int64_t place = at[HKI_CUDA_SCATTER_OUT] - call.each.data[HKI_CUDA_SCATTER_OUT] +
                              index * call.along.step;
        items[i] = {is_there ? (unsigned long long)place : HKI_CUDA_NOWHERE, (long long)i};
    }
}

HKI_DEVICE char *output_at(const hki_cuda_scatter &call, const hki_cuda_item &item, uint32_t beside)
{
    return call.each.data[HKI_CUDA_SCATTER_OUT] + item.key +
           hki_path_offset(call.beside, HKI_CUDA_SCATTER_OUT, beside);
}

HKI_DEVICE const char *update_at(const hki_cuda_scatter &call, const hki_cuda_item &item,
                                 uint32_t beside)
{
    return call.each.data[HKI_CUDA_SCATTER_UPDATE] +
           hki_path_offset(call.each, HKI_CUDA_SCATTER_UPDATE, (uint32_t)item.number) +
           hki_path_offset(call.beside, HKI_CUDA_SCATTER_UPDATE, beside);
}

template <class T>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    set(const hki_cuda_scatter call, const hki_cuda_item *items)
{
    const int64_t beside = call.beside.count, count = call.each.count;
    for (int64_t i = HKI_THREAD_INDEX; i < count * beside; i += HKI_THREAD_COUNT) {
        const int64_t at = i / beside;
        const hki_cuda_item item = items[at];
        const bool is_last = at + 1 == count || items[at + 1].key != item.key;
        if (is_last && item.key != HKI_CUDA_NOWHERE)
            *reinterpret_cast<T *>(output_at(call, item, (uint32_t)(i % beside))) =
                *reinterpret_cast<const T *>(update_at(call, item, (uint32_t)(i % beside)));
    }
}

/* Sum: what T is added up in. Of each entry a thread is at work for each element beside others: that of its first update. */
template <class T, class Sum>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    add(const hki_cuda_scatter call, const hki_cuda_item *items)
{
    const int64_t beside = call.beside.count, count = call.each.count;
    for (int64_t i = HKI_THREAD_INDEX; i < count * beside; i += HKI_THREAD_COUNT) {
        const int64_t first = i / beside;
        const uint32_t column = (uint32_t)(i % beside);
        hki_cuda_item item = items[first];
        if (item.key == HKI_CUDA_NOWHERE || (first > 0 && items[first - 1].key == item.key))
            continue;
        T *out = reinterpret_cast<T *>(output_at(call, item, column));
        const unsigned long long key = item.key;
        Sum sum = 0;
        for (int64_t at = first;;) {
            sum += (Sum) * reinterpret_cast<const T *>(update_at(call, item, column));
            if (++at == count)
                break;
            item = items[at];
            if (item.key != key)
                break;
        }
        *out = (T)((Sum)*out + sum);
    }
}

static unsigned grid_of(hki_cuda_stream *stream, int64_t size)
{
    return hki_cuda_grid(size, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
}

/* Of sorted items: the last update of each entry becomes it. */
static void launch_set(hki_cuda_stream *stream, const hki_cuda_scatter *scatter, int item_bytes,
                       const hki_cuda_item *items)
{
    const unsigned grid = grid_of(stream, (int64_t)scatter->each.count * scatter->beside.count);
    if (item_bytes == 1)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, set<uint8_t>, *scatter, items);
    else if (item_bytes == 4)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, set<uint32_t>, *scatter, items);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, set<uint64_t>, *scatter, items);
}

/* The updates of each entry are added to it, in their order: floats in double, integers wrap
 * around. Not of bools. */
static void launch_add(hki_cuda_stream *stream, const hki_cuda_scatter *scatter, hk_dtype dtype,
                       const hki_cuda_item *items)
{
    const unsigned grid = grid_of(stream, (int64_t)scatter->each.count * scatter->beside.count);
    if (dtype == HK_F32)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<float, double>), *scatter, items);
    else if (dtype == HK_F64)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<double, double>), *scatter, items);
    else if (dtype == HK_I32)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<uint32_t, uint32_t>), *scatter, items);
    else if (dtype == HK_I64)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<uint64_t, uint64_t>), *scatter, items);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<uint8_t, uint32_t>), *scatter, items);
}

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
    const hki_tensor out = without_axis(call->out[0], axis_of(call));
    const hki_tensor *const operands[] = {&call->in[1], &out, &call->in[2]};
    /* The first one gives the shape. */
    hki_cuda_walk walk, each, beside;
    hki_cuda_walk_over(&walk, operands, 3);
    for (int axis = 0; axis < walk.ndim; axis++) {
        const int64_t step = walk.steps[axis][0];
        walk.steps[axis][0] = walk.steps[axis][1];
        walk.steps[axis][1] = step;
    }
    walk.data[HKI_CUDA_SCATTER_OUT] = static_cast<char *>(out.data);
    walk.data[HKI_CUDA_SCATTER_INDEX] = static_cast<char *>(call->in[1].data);
    split_walk(&walk, &each, &beside);
    if (each.size > HKI_CUDA_MAX_INDEX || beside.size > HKI_CUDA_MAX_INDEX) {
        char text[64];
        snprintf(text, sizeof text, "takes %d indices at most; hk_slice cuts them",
                 (int)HKI_CUDA_MAX_INDEX);
        hki_cuda_fail_unsupported(stream, call, text);
        return false;
    }
    hki_cuda_path_init(&self->each, &each, 1, nullptr);
    hki_cuda_path_init(&self->beside, &beside, 1, nullptr);
    self->along = indexed_of(call, call->out[0]);
    return true;
}

void hki_cuda_call_scatter(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hk_dtype dtype = call->out[0].dtype;
    hki_cuda_scatter self;
    hki_cuda_copy_tensor(stream, &call->in[0], &call->out[0]);
    if (call->in[1].size == 0 || !scatter_init(call, stream, &self))
        return;
    hki_cuda_fault *fault = slot_of(call, stream);
    const int64_t count = self.each.count;
    hki_cuda_item *items = static_cast<hki_cuda_item *>(
        hki_cuda_workspace(stream, 2 * (size_t)count * sizeof(hki_cuda_item)));
    if (!fault || !items)
        return;
    HKI_LAUNCH(stream, grid_of(stream, count), HKI_CUDA_BLOCK, find_places, self, items, fault);
    items = hki_cuda_sort_items(stream, items, items + count, 1, count);
    if (hki_cuda_op_of(call) == HKI_OP_ID_scatter_add)
        launch_add(stream, &self, dtype, items);
    else
        launch_set(stream, &self, hki_cuda_item_bytes(dtype), items);
}
