#include "op/cuda/cuda_walk.h"

#include <string.h>

void hki_cuda_walk_init(hki_cuda_walk *walk, int operand_count)
{
    memset(walk, 0, sizeof *walk);
    walk->operand_count = operand_count;
    walk->size = 1;
}

void hki_cuda_walk_add_axis(hki_cuda_walk *walk, int64_t size, const int64_t *steps)
{
    walk->dims[walk->ndim] = size;
    walk->size *= size;
    for (int i = 0; i < walk->operand_count; i++)
        walk->steps[walk->ndim][i] = steps[i];
    walk->ndim++;
}

/* Of an axis of the walk, for an operand that is aligned with it at the last axis. */
static int64_t step_of(const hki_tensor *tensor, int axis, int ndim)
{
    int own = axis - (ndim - tensor->ndim);
    if (own < 0 || tensor->dims[own] == 1)
        return 0;
    return tensor->strides[own] * hki_cuda_item_bytes(tensor->dtype);
}

void hki_cuda_walk_over(hki_cuda_walk *walk, const hki_tensor *const *tensors, int count)
{
    const hki_tensor *out = tensors[0];
    hki_cuda_walk_init(walk, count);
    for (int i = 0; i < count; i++)
        walk->data[i] = tensors[i] ? (char *)tensors[i]->data : NULL;
    for (int axis = 0; axis < out->ndim; axis++) {
        int64_t steps[HKI_CUDA_OPERANDS] = {0};
        for (int i = 0; i < count; i++)
            steps[i] = tensors[i] ? step_of(tensors[i], axis, out->ndim) : 0;
        hki_cuda_walk_add_axis(walk, out->dims[axis], steps);
    }
    hki_cuda_walk_merge(walk);
}

int hki_cuda_walk_call(hki_cuda_walk *walk, const hki_kernel_call *call,
                       int item_bytes[HKI_CUDA_OPERANDS])
{
    const hki_tensor *operands[HKI_CUDA_OPERANDS];
    int largest = 1;
    for (int i = 0; i <= call->input_count; i++) {
        operands[i] = i ? &call->in[i - 1] : &call->out[0];
        item_bytes[i] = hki_cuda_item_bytes(operands[i]->dtype);
        largest = item_bytes[i] > largest ? item_bytes[i] : largest;
    }
    hki_cuda_walk_over(walk, operands, call->input_count + 1);
    return largest;
}

static bool steps_evenly(const hki_cuda_walk *walk, int outer, int inner)
{
    bool even = true;
    for (int i = 0; i < walk->operand_count; i++)
        even = even && walk->steps[outer][i] == walk->steps[inner][i] * walk->dims[inner];
    return even;
}

static void move_axis(hki_cuda_walk *walk, int from, int to)
{
    walk->dims[to] = walk->dims[from];
    memmove(walk->steps[to], walk->steps[from], sizeof walk->steps[to]);
}

void hki_cuda_walk_merge(hki_cuda_walk *walk)
{
    int kept = 0;
    for (int axis = 0; axis < walk->ndim; axis++) {
        if (walk->dims[axis] == 1)
            continue;
        if (kept > 0 && steps_evenly(walk, kept - 1, axis)) {
            int64_t outer = walk->dims[kept - 1];
            move_axis(walk, axis, kept - 1);
            walk->dims[kept - 1] *= outer;
        } else {
            move_axis(walk, axis, kept++);
        }
    }
    walk->ndim = kept;
}

void hki_cuda_walk_sort(hki_cuda_walk *walk, int operand)
{
    for (int end = 1; end < walk->ndim; end++) {
        for (int i = end; i > 0 && walk->steps[i - 1][operand] < walk->steps[i][operand]; i--) {
            hki_cuda_walk before = *walk;
            walk->dims[i] = before.dims[i - 1];
            walk->dims[i - 1] = before.dims[i];
            memcpy(walk->steps[i], before.steps[i - 1], sizeof walk->steps[i]);
            memcpy(walk->steps[i - 1], before.steps[i], sizeof walk->steps[i]);
        }
    }
}

/* The outer axes one by one, a run of the first axis below which there is room, all of the inner ones. */
int64_t hki_cuda_walk_part(const hki_cuda_walk *walk, int64_t begin, int64_t most,
                           hki_cuda_walk *part)
{
    int axis = walk->ndim;
    int64_t inner = 1; /* elements below `axis` */
    *part = *walk;
    while (axis > 0 && walk->dims[axis - 1] <= most / inner)
        inner *= walk->dims[--axis];
    if (axis == 0)
        return walk->size;
    axis--;
    int64_t rest = begin / inner, at = rest % walk->dims[axis];
    int64_t count = most / inner, left = walk->dims[axis] - at;
    count = count < left ? count : left;
    part->dims[axis] = count;
    for (int outer = axis; outer >= 0; outer--) {
        int64_t index = rest % walk->dims[outer];
        rest /= walk->dims[outer];
        for (int i = 0; i < walk->operand_count; i++)
            if (part->data[i])
                part->data[i] += index * walk->steps[outer][i];
        if (outer < axis)
            part->dims[outer] = 1;
    }
    part->size = count * inner;
    return part->size;
}

/* Whether an operand can be read and written `width` elements at a time, or is one element along the last axis. */
static bool is_wide(const hki_cuda_walk *walk, int operand, int64_t item_bytes, int width)
{
    int last = walk->ndim - 1;
    int64_t pack_bytes = item_bytes * width;
    if (walk->steps[last][operand] == 0)
        return true;
    bool wide =
        walk->steps[last][operand] == item_bytes && (intptr_t)walk->data[operand] % pack_bytes == 0;
    for (int axis = 0; wide && axis < last; axis++)
        wide = walk->steps[axis][operand] % pack_bytes == 0;
    return wide;
}

void hki_cuda_path_init(hki_cuda_path *path, const hki_cuda_walk *walk, int width,
                        const int *item_bytes)
{
    hki_cuda_walk merged = *walk;
    hki_cuda_walk_merge(&merged);
    if (merged.ndim == 0)
        hki_cuda_walk_add_axis(&merged, 1, merged.steps[0]);
    int last = merged.ndim - 1;
    bool wide = width > 1 && merged.dims[last] % width == 0;
    for (int i = 0; wide && i < merged.operand_count; i++)
        wide = is_wide(&merged, i, item_bytes[i], width);
    memset(path, 0, sizeof *path);
    path->ndim = merged.ndim;
    path->width = wide ? width : 1;
    path->count = (uint32_t)(merged.size / path->width);
    memcpy(path->data, merged.data, sizeof path->data);
    memcpy(path->steps, merged.steps, sizeof path->steps);
    for (int axis = 0; axis < merged.ndim; axis++)
        path->dims[axis] =
            hki_cuda_divider_of(merged.dims[axis] / (axis == last ? path->width : 1));
    for (int i = 0; i < merged.operand_count; i++) {
        path->wide |= (unsigned)(merged.steps[last][i] != 0) << i;
        path->steps[last][i] *= path->width;
    }
}

void hki_cuda_each_part(hki_cuda_stream *stream, const hki_cuda_walk *walk, int width,
                        const int *item_bytes, hki_cuda_part_fn launch, void *argument)
{
    for (int64_t begin = 0, count; begin < walk->size; begin += count) {
        hki_cuda_walk part;
        hki_cuda_path path;
        count = hki_cuda_walk_part(walk, begin, HKI_CUDA_MAX_INDEX, &part);
        hki_cuda_path_init(&path, &part, width, item_bytes);
        path.first = begin;
        launch(stream, &path, argument);
    }
}
