#include "op/index/indexed_walk.h"

#include "array/integer_element.h"

#include <inttypes.h>

int64_t hki_indexed_run(int ndim, const int64_t *dims, int axis, const int64_t *index_strides,
                        const int64_t *entry_strides, const int64_t *update_strides, int *outer)
{
    int64_t run = 1;
    *outer = ndim;
    for (int k = ndim - 1; k > axis; k--) {
        if (dims[k] != 1 && (index_strides[k] != 0 || entry_strides[k] != run ||
                             (update_strides && update_strides[k] != run)))
            break;
        run *= dims[k];
        *outer = k;
    }
    return run;
}

void hki_indexed_walk_init(hki_indexed_walk *walk, const hki_tensor *indices,
                           const hki_tensor *entries, const hki_tensor *updates, int axis,
                           int64_t i)
{
    *walk = (hki_indexed_walk){
        .indices = indices, .entries = entries, .updates = updates, .axis = axis};
    walk->run = hki_indexed_run(indices->ndim, indices->dims, axis, indices->strides,
                                entries->strides, updates ? updates->strides : NULL, &walk->outer);
    i /= walk->run ? walk->run : 1;
    for (int k = walk->outer - 1; k >= 0; k--) {
        const int64_t at = indices->dims[k] ? i % indices->dims[k] : 0;
        i /= indices->dims[k] ? indices->dims[k] : 1;
        walk->at[k] = at;
        walk->index += at * indices->strides[k];
        walk->entry += k == axis ? 0 : at * entries->strides[k];
        walk->update += updates ? at * updates->strides[k] : 0;
    }
}

/* Which of the indices that differ, in C order, the walk stands at. */
static int64_t number_of(const hki_indexed_walk *walk)
{
    int64_t number = 0;
    for (int k = 0; k < walk->outer; k++)
        if (walk->indices->strides[k])
            number = number * walk->indices->dims[k] + walk->at[k];
    return number;
}

bool hki_indexed_walk_find(const hki_indexed_walk *walk, const hki_kernel_call *call, int64_t piece,
                           int64_t *place)
{
    const int64_t size = walk->entries->dims[walk->axis];
    int64_t index = hki_index_load(walk->indices->dtype, walk->indices->data, walk->index);
    if (index >= -size && index < size) {
        index += index < 0 ? size : 0;
        *place = walk->entry + index * walk->entries->strides[walk->axis];
        return true;
    }
    hki_task_fail(call->task, piece, HK_OUT_OF_RANGE,
                  "indices[%" PRId64 "] is %" PRId64 ", but the axis has %" PRId64
                  " entries, so that an index is in [%" PRId64 ", %" PRId64 ")",
                  number_of(walk), index, size, -size, size);
    return false;
}
