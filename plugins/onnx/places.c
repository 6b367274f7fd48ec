#include "places.h"
#include "shapes.h"

#include <inttypes.h>
#include <stdlib.h>

/* How many rows lie between neighbours along the axes of an index, and between batches. */
static void steps_of(const onnx_places *self, int64_t *steps)
{
    int64_t step = 1;
    for (int i = self->batch + self->depth; i-- > 0; step *= self->shape.dims[i])
        steps[i] = step;
}

/* The rows that constant indices name, computed here: they are the same in each run. */
static hk_array *named_by_constants(onnx_call *call, int index, const onnx_places *self,
                                    int64_t count, int64_t batches)
{
    const int64_t numbers = count * self->depth, each = batches ? count / batches : 0;
    int64_t steps[HK_MAX_NDIM];
    int64_t *entries = malloc((size_t)numbers * sizeof *entries + 1);
    int64_t *rows = malloc((size_t)count * sizeof *rows + 1);
    hk_array *named = NULL;
    steps_of(self, steps);
    if (!entries || !rows || numbers > INT32_MAX)
        onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
    else if (onnx_in_ints(call, index, entries, (int)numbers) == numbers) {
        for (int64_t i = 0; i < count; i++) {
            rows[i] = each ? i / each * (self->rows / batches) : 0;
            bool is_in = true;
            for (int j = 0; j < self->depth; j++) {
                const int64_t size = self->shape.dims[self->batch + j];
                const int64_t entry = entries[i * self->depth + j];
                is_in = is_in && entry >= -size && entry < size;
                rows[i] += is_in ? (entry < 0 ? entry + size : entry) * steps[self->batch + j] : 0;
            }
            rows[i] = is_in ? rows[i] : self->rows;
        }
        named = onnx_held(call, rows, hk_shape(count), HK_I64);
    }
    free(entries);
    free(rows);
    return named;
}

static hk_array *named_by_calls(onnx_call *call, hk_array *indices, const onnx_places *self,
                                int64_t count, int64_t batches)
{
    int64_t steps[HK_MAX_NDIM];
    hk_dims one = {.ndim = 2, .dims = {1, self->depth}};
    steps_of(self, steps);
    hk_array *sizes = onnx_held(call, self->shape.dims + self->batch, one, HK_I64);
    hk_array *by = onnx_held(call, steps + self->batch, one, HK_I64);
    if (!sizes || !by)
        return NULL;
    const hk_all_options each = {.axes = hk_shape(1)};
    const hk_sum_options sum = {.axes = hk_shape(1)};
    hk_array *x = hk_cast(hk_reshape(indices, hk_shape(count, self->depth)), HK_I64);
    x = hk_where(hk_less(x, 0), hk_add(x, sizes), x);
    hk_array *is_in = hk_all(hk_logical_and(hk_greater_equal(x, 0), hk_less(x, sizes)), &each);
    hk_array *rows = hk_sum(hk_multiply(x, by), &sum);
    if (batches > 1) {
        const int64_t apart = self->rows / batches;
        hk_array *first = hk_sequence(0, apart, batches, HK_I64, call->device);
        rows = hk_add(hk_reshape(rows, hk_shape(batches, count / batches)),
                      hk_reshape(first, hk_shape(batches, 1)));
        rows = hk_reshape(rows, hk_shape(count));
    }
    return hk_where(is_in, rows, self->rows);
}

bool onnx_places_of(onnx_call *call, hk_array *x, int index, int batch, onnx_places *self)
{
    hk_array *indices = onnx_in(call, index);
    if (!indices)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "input %d is missing", index);
    const hk_dims has = hk_dims_get(indices);
    *self = (onnx_places){.shape = hk_dims_get(x), .batch = batch};
    if (has.ndim < 1 || batch < 0 || batch >= has.ndim || batch > self->shape.ndim ||
        !onnx_is_integer(hk_array_dtype(indices)))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "indices of %d axes and dtype %s, with %d batch axes", has.ndim,
                           hk_dtype_name(hk_array_dtype(indices)), batch);
    const int64_t depth = has.dims[has.ndim - 1];
    if (depth < 1 || depth > self->shape.ndim - batch)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "indices of %" PRId64 " entries into an array of %d axes", depth,
                           self->shape.ndim - batch);
    self->depth = (int)depth;
    for (int i = 0; i < batch; i++)
        if (has.dims[i] != self->shape.dims[i])
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "batch axis %d is %" PRId64 " of the data and %" PRId64
                               " of the indices",
                               i, self->shape.dims[i], has.dims[i]);
    const int behind = batch + self->depth, left = self->shape.ndim - behind;
    if (has.ndim - 1 + left > HK_MAX_NDIM)
        return onnx_refuse(call, HK_UNSUPPORTED, "%d axes; at most %d are known",
                           has.ndim - 1 + left, HK_MAX_NDIM);
    self->found.ndim = has.ndim - 1 + left;
    for (int i = 0; i < self->found.ndim; i++)
        self->found.dims[i] =
            i < has.ndim - 1 ? has.dims[i] : self->shape.dims[behind + i - (has.ndim - 1)];
    self->rows = onnx_size_between(self->shape, 0, behind);
    self->width = onnx_size_between(self->shape, behind, self->shape.ndim);
    const int64_t count = onnx_size_between(has, 0, has.ndim - 1);
    const int64_t batches = onnx_size_between(has, 0, batch);
    self->rows_named = onnx_in_value(call, index)->is_constant
                           ? named_by_constants(call, index, self, count, batches)
                           : named_by_calls(call, indices, self, count, batches);
    return self->rows_named || onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
}
