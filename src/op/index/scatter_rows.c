/* What scatter_add does where updates are whole rows, as of an embedding's gradient: they may be samples, which base/sum_tree.h
 * adds up. Of an entry the tree has only the runs that name it: what the others give is 0. */
#include "op/index/scatter_rows.h"

#include "base/sum_tree.h"
#include "op/index/indexed_walk.h"
#include "op/reduce/line.h"
#include "op/shape/copy.h"

#include <string.h>

/* Scratch memory: where updates of each entry begin among `updates`, which are in the order of entries, then of calls; then
 * sums, one for each level of the tree. */
typedef struct row_sums {
    int64_t entries, count, width;
    int64_t *first, *updates;
    char *levels;
    const hki_tensor *from;
} row_sums;

static bool is_of_rows(int ndim, const int64_t *dims, int64_t axis, hk_dtype dtype,
                       const int64_t *index_strides, const int64_t *out_strides,
                       const int64_t *update_strides)
{
    int outer;
    if (ndim == 0 || hki_axis_from_front(axis, ndim) != 0 || (dtype != HK_F32 && dtype != HK_F64))
        return false;
    hki_indexed_run(ndim, dims, 0, index_strides, out_strides, update_strides, &outer);
    return outer == 1;
}

bool hki_scatter_is_of_rows(const hki_kernel_call *call)
{
    const hki_tensor *indices = &call->in[1], *out = &call->out[0];
    return is_of_rows(out->ndim, indices->dims, *(const int64_t *)call->options, out->dtype,
                      indices->strides, out->strides, call->in[2].strides);
}

size_t hki_scatter_rows_bytes(const hki_call *call)
{
    const hki_shape_view *indices = call->inputs[1];
    const hk_dims *out = &call->out_shape[0];
    int64_t strides[HK_MAX_NDIM];
    hki_dims_strides(out, strides);
    if (!is_of_rows(out->ndim, indices->shape.dims, *(const int64_t *)call->options,
                    call->out_dtype[0], indices->strides, strides, call->inputs[2]->strides))
        return 0;
    const int64_t count = indices->shape.dims[0], width = count ? indices->size / count : 0;
    const int64_t levels = hki_sum_live(hki_sum_runs(count)) + 1;
    return (size_t)(out->dims[0] + 1 + count) * sizeof(int64_t) +
           (size_t)(levels * width) * hk_dtype_bytes(call->out_dtype[0]);
}

/* Sorts the numbers of updates by the entry that they name. False after the task has been failed. */
static bool sort_updates(const hki_kernel_call *call, int64_t piece, row_sums *self)
{
    const hki_tensor *indices = &call->in[1], *out = &call->out[0];
    hki_indexed_walk walk;
    int64_t to;
    memset(self->first, 0, (size_t)(self->entries + 1) * sizeof *self->first);
    for (int pass = 0; pass < 2; pass++) {
        hki_indexed_walk_init(&walk, indices, out, &call->in[2], 0, 0);
        for (int64_t i = 0; i < self->count; i++, hki_indexed_walk_step(&walk)) {
            if (!hki_indexed_walk_find(&walk, call, piece, &to))
                return false;
            const int64_t entry = out->strides[0] ? to / out->strides[0] : 0;
            if (pass == 0)
                self->first[entry]++;
            else
                self->updates[self->first[entry]++] = i;
        }
        /* Where those of an entry begin; behind the second pass they are where those before end. */
        int64_t sum = 0;
        for (int64_t e = 0; e <= self->entries && pass == 0; e++) {
            const int64_t own = self->first[e];
            self->first[e] = sum;
            sum += own;
        }
    }
    memmove(self->first + 1, self->first, (size_t)self->entries * sizeof *self->first);
    self->first[0] = 0;
    return true;
}

/* sum: of updates[begin, end), in their order. */
static void sum_run(const row_sums *self, int64_t begin, int64_t end, void *sum)
{
    const hki_tensor *from = self->from;
    const size_t bytes = hk_dtype_bytes(from->dtype);
    memset(sum, 0, (size_t)self->width * bytes);
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = self->updates[i] * from->strides[0];
        if (from->dtype == HK_F32)
            for (int64_t j = 0; j < self->width; j++)
                ((float *)sum)[j] += ((const float *)from->data)[at + j];
        else
            for (int64_t j = 0; j < self->width; j++)
                ((double *)sum)[j] += ((const double *)from->data)[at + j];
    }
}

/* The sum of updates[begin, end), which are of `runs` runs from that one on, into that level; begin < end. */
static void sum_runs(const row_sums *self, int64_t begin, int64_t end, int64_t run, int64_t runs,
                     int level)
{
    const size_t stride = (size_t)self->width * hk_dtype_bytes(self->from->dtype);
    char *sum = self->levels + (size_t)level * stride;
    const int64_t half = hki_sum_half(runs);
    int64_t middle = begin;
    if (runs == 1) {
        sum_run(self, begin, end, sum);
        return;
    }
    while (middle < end && self->updates[middle] < (run + half) * HKI_SUM_RUN)
        middle++;
    if (middle == begin || middle == end) {
        const bool is_second = middle == begin;
        sum_runs(self, begin, end, is_second ? run + half : run, is_second ? runs - half : half,
                 level);
        return;
    }
    sum_runs(self, begin, middle, run, half, level);
    sum_runs(self, middle, end, run + half, runs - half, level + 1);
    hki_sum_join(self->from->dtype, self->width, sum, sum + stride, stride, 2, 1);
}

/* The sum of the first level to that entry. */
static void add_sum(const row_sums *self, const hki_tensor *out, int64_t entry)
{
    const int64_t at = entry * out->strides[0];
    if (out->dtype == HK_F32)
        for (int64_t j = 0; j < self->width; j++)
            ((float *)out->data)[at + j] += ((const float *)(const void *)self->levels)[j];
    else
        for (int64_t j = 0; j < self->width; j++)
            ((double *)out->data)[at + j] += ((const double *)(const void *)self->levels)[j];
}

void hki_scatter_rows(const hki_kernel_call *call, int64_t piece)
{
    const hki_tensor *out = &call->out[0];
    const int64_t entries = out->dims[0], count = call->in[1].dims[0];
    row_sums self = {.entries = entries,
                     .count = count,
                     .width = entries ? out->size / entries : 0,
                     .first = hki_partials_of(call, piece),
                     .from = &call->in[2]};
    self.updates = self.first + entries + 1;
    self.levels = (char *)(self.updates + count);
    hki_copy_elements(call, 0, out->size);
    if (call->in[1].size == 0 || !sort_updates(call, piece, &self))
        return;
    for (int64_t e = 0; e < entries; e++) {
        if (self.first[e] == self.first[e + 1])
            continue;
        sum_runs(&self, self.first[e], self.first[e + 1], 0, hki_sum_runs(count), 0);
        add_sum(&self, out, e);
    }
}
