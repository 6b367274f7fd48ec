/* For operators that find entries of one axis by whole numbers: the walk over those numbers, in runs that one of them names. */
#ifndef HOCKET_OP_INDEXED_WALK_H
#define HOCKET_OP_INDEXED_WALK_H

#include "op/op.h"

/* Over the elements of indices in C order, by runs: the last axes, behind the indexed one, along which one number is repeated
 * and the elements of both others lie side by side. Offsets in elements, of the run's first one. */
typedef struct hki_indexed_walk {
    const hki_tensor *indices; /* its shape is the walk's */
    const hki_tensor *entries; /* what has the indexed axis */
    const hki_tensor *updates; /* of the shape of indices; NULL: dense */
    int axis;
    int outer;   /* axes before the run */
    int64_t run; /* elements */
    int64_t at[HK_MAX_NDIM];
    int64_t index, entry, update; /* entry: without its step along the axis */
} hki_indexed_walk;

/* Elements of a run, for a shape of so many axes; strides of updates NULL: dense. *outer: the axes before it. */
int64_t hki_indexed_run(int ndim, const int64_t *dims, int axis, const int64_t *index_strides,
                        const int64_t *entry_strides, const int64_t *update_strides, int *outer);

/* Starts at the run that holds element i of indices. */
void hki_indexed_walk_init(hki_indexed_walk *walk, const hki_tensor *indices,
                           const hki_tensor *entries, const hki_tensor *updates, int axis,
                           int64_t i);

/* Where the run has its elements among the entries; false after the task has been failed. */
bool hki_indexed_walk_find(const hki_indexed_walk *walk, const hki_kernel_call *call, int64_t piece,
                           int64_t *place);

/* To the next run; behind the last one to the first. */
static inline void hki_indexed_walk_step(hki_indexed_walk *walk)
{
    for (int axis = walk->outer - 1; axis >= 0; axis--) {
        const bool ends = ++walk->at[axis] == walk->indices->dims[axis];
        const int64_t steps = ends ? 1 - walk->at[axis] : 1;
        walk->index += steps * walk->indices->strides[axis];
        if (axis != walk->axis)
            walk->entry += steps * walk->entries->strides[axis];
        if (walk->updates)
            walk->update += steps * walk->updates->strides[axis];
        if (!ends)
            return;
        walk->at[axis] = 0;
    }
}

#endif
