#include "op/operators/indexed_walk.h"

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
