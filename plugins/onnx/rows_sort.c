/* By order: the largest, where they are, what is there once. */
#include "rows.h"
#include "shapes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the largest ----------------------------------------------------------------------------- */

/* k is an attribute until opset 9. */
static bool run_top_k(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *values, *indices;
    int64_t k = onnx_int(call, "k", -1);
    if (!x)
        return onnx_out(call, 0, NULL);
    if (onnx_has(call, 1) && onnx_in_ints(call, 1, &k, 1) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "k is not one number");
    const int axis = onnx_axis(call, onnx_int(call, "axis", -1), hk_ndim(x));
    if (axis < 0)
        return false;
    if (k < 0 || k > hk_dim(x, axis))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "k is %" PRId64 ", of an axis of %" PRId64 " elements", k,
                           hk_dim(x, axis));
    if (k == 0) {
        values = hk_slice(x, axis, 0, 0);
        indices = hk_zeros(hk_dims_get(values), HK_I64, call->device);
    } else {
        hk_topk(x, k, axis, onnx_int(call, "largest", 1) != 0, &values, &indices);
    }
    return onnx_out(call, 0, values) && onnx_out(call, 1, indices);
}

static bool place(onnx_call *call, bool largest)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const int axis = onnx_axis(call, onnx_int(call, "axis", 0), hk_ndim(x));
    const bool last = onnx_int(call, "select_last_index", 0) != 0;
    if (axis < 0)
        return false;
    const int64_t size = hk_dim(x, axis);
    if (last)
        x = hk_flip(x, axis);
    x = largest ? hk_argmax(x, axis) : hk_argmin(x, axis);
    if (last)
        x = hk_subtract(size - 1, x);
    return onnx_out(call, 0, onnx_int(call, "keepdims", 1) ? hk_expand_dims(x, axis) : x);
}

static bool run_arg_max(onnx_call *call)
{
    return place(call, true);
}

static bool run_arg_min(onnx_call *call)
{
    return place(call, false);
}

/* 1 at the first of the largest. Until opset 12 of all axes from one on, together. */
static bool run_hardmax(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dims has = hk_dims_get(x);
    const bool is_old = onnx_opset(call) < 13;
    const int64_t given = onnx_int(call, "axis", is_old ? 1 : -1);
    int axis = is_old && given == has.ndim ? has.ndim : onnx_axis(call, given, has.ndim);
    if (axis < 0)
        return false;
    if (hk_size(x) == 0)
        return onnx_out(call, 0, x);
    if (is_old) {
        x = hk_reshape(
            x, hk_shape(onnx_size_between(has, 0, axis), onnx_size_between(has, axis, has.ndim)));
        axis = 1;
    }
    hk_array *y = hk_one_hot(hk_argmax(x, axis), hk_dim(x, axis), hk_array_dtype(x));
    return onnx_out(call, 0, hk_reshape(hk_moveaxis(y, -1, axis), has));
}

/* ---- what is there once ---------------------------------------------------------------------- */

/* Rows of numbers, in order. */
typedef struct table {
    const int64_t *whole; /* or: */
    const double *real;
    int64_t rows, width;
} table;

static int compare_reals(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare(const table *self, int64_t a, int64_t b)
{
    int order = 0;
    for (int64_t i = 0; i < self->width && order == 0; i++) {
        const int64_t p = a * self->width + i, q = b * self->width + i;
        order = self->whole ? (self->whole[p] > self->whole[q]) - (self->whole[p] < self->whole[q])
                            : compare_reals(self->real[p], self->real[q]);
    }
    return order;
}

/* Numbers of rows in the order of these, equal ones in theirs: merges of runs that double. room: as
 * many. Returns one of both. */
static int64_t *sort(const table *self, int64_t *order, int64_t *room)
{
    for (int64_t run = 1; run < self->rows; run *= 2) {
        for (int64_t begin = 0; begin < self->rows; begin += 2 * run) {
            const int64_t middle = begin + run < self->rows ? begin + run : self->rows;
            const int64_t end = middle + run < self->rows ? middle + run : self->rows;
            int64_t a = begin, b = middle;
            for (int64_t i = begin; i < end; i++)
                room[i] = b == end || (a < middle && compare(self, order[a], order[b]) <= 0)
                              ? order[a++]
                              : order[b++];
        }
        int64_t *swapped = order;
        order = room;
        room = swapped;
    }
    return order;
}

/* Of each different row. */
typedef struct found {
    int64_t *first, *times; /* where it stands first; how often it is there */
    int64_t *which;         /* for each row of the table */
    int64_t count;
} found;

static int by_first(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* In the order in which they stand first. */
static bool reorder(found *self, int64_t rows)
{
    int64_t(*all)[3] = malloc((size_t)self->count * sizeof *all + 1);
    int64_t *to = malloc((size_t)self->count * sizeof *to + 1);
    const bool is_good = all && to;
    for (int64_t i = 0; i < self->count && is_good; i++) {
        all[i][0] = self->first[i];
        all[i][1] = self->times[i];
        all[i][2] = i;
    }
    if (is_good)
        qsort(all, (size_t)self->count, sizeof *all, by_first);
    for (int64_t i = 0; i < self->count && is_good; i++) {
        self->first[i] = all[i][0];
        self->times[i] = all[i][1];
        to[all[i][2]] = i;
    }
    for (int64_t i = 0; i < rows && is_good; i++)
        self->which[i] = to[self->which[i]];
    free(all);
    free(to);
    return is_good;
}

static bool find(const table *self, bool sorted, found *result)
{
    const size_t bytes = (size_t)self->rows * sizeof(int64_t) + 1;
    int64_t *order = malloc(bytes), *room = malloc(bytes);
    *result = (found){malloc(bytes), malloc(bytes), malloc(bytes), 0};
    bool is_good = order && room && result->first && result->times && result->which;
    for (int64_t i = 0; i < self->rows && is_good; i++)
        order[i] = i;
    const int64_t *in_order = is_good ? sort(self, order, room) : NULL;
    for (int64_t i = 0; i < self->rows && is_good; i++) {
        if (i == 0 || compare(self, in_order[i - 1], in_order[i]) != 0) {
            result->first[result->count] = in_order[i];
            result->times[result->count++] = 0;
        }
        result->times[result->count - 1]++;
        result->which[in_order[i]] = result->count - 1;
    }
    free(order);
    free(room);
    return is_good && (sorted || reorder(result, self->rows));
}

static bool give(onnx_call *call, hk_array *x, int axis, const found *result, int64_t rows)
{
    const hk_dims shape = hk_shape(result->count);
    hk_array *first = onnx_held(call, result->first, shape, HK_I64);
    hk_array *which = onnx_held(call, result->which, hk_shape(rows), HK_I64);
    hk_array *times = onnx_held(call, result->times, shape, HK_I64);
    return first && which && times && onnx_out(call, 0, hk_index_select(x, first, axis)) &&
           onnx_out(call, 1, first) && onnx_out(call, 2, which) && onnx_out(call, 3, times);
}

/* The numbers of input 0, of one axis or with the entries of `axis` as rows. They are looked at, as
 * they decide how many are found. */
static bool run_unique(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    if (!x)
        return onnx_out(call, 0, NULL);
    const bool flat = !onnx_attribute(call, "axis");
    const int axis = flat ? 0 : onnx_axis(call, onnx_int(call, "axis", 0), hk_ndim(x));
    const hk_dims has = hk_dims_get(x);
    const int64_t size = hk_size(x), behind = flat ? 1 : onnx_size_between(has, axis + 1, has.ndim);
    const bool is_real = onnx_is_floating(hk_array_dtype(x));
    found result = {NULL, NULL, NULL, 0};
    if (axis < 0)
        return false;
    if (size > INT32_MAX)
        return onnx_refuse(call, HK_UNSUPPORTED, "%" PRId64 " elements", size);
    const int64_t rows = flat ? size : has.dims[axis], width = rows ? size / rows : 0;
    void *given = malloc((size_t)size * 8 + 1), *turned = malloc((size_t)size * 8 + 1);
    bool is_good = given && turned;
    is_good = is_good && (is_real ? onnx_in_floats(call, 0, given, (int)size)
                                  : onnx_in_ints(call, 0, given, (int)size)) == size;
    for (int64_t i = 0; i < size && is_good; i++) { /* element i to its row */
        const int64_t row = i / behind % rows, in_front = i / behind / rows;
        memcpy((char *)turned + (row * width + in_front * behind + i % behind) * 8,
               (const char *)given + i * 8, 8);
    }
    const table numbers = {is_real ? NULL : turned, is_real ? turned : NULL, rows, width};
    is_good = is_good && find(&numbers, onnx_int(call, "sorted", 1) != 0, &result) &&
              give(call, flat ? hk_reshape(x, hk_shape(size)) : x, axis, &result, rows);
    free(given);
    free(turned);
    free(result.first);
    free(result.times);
    free(result.which);
    return is_good || onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
}

const onnx_row onnx_rows_sort[] = {
    {"ArgMax", run_arg_max, 0}, {"ArgMin", run_arg_min, 0}, {"Hardmax", run_hardmax, 0},
    {"TopK", run_top_k, 0},     {"Unique", run_unique, 0},  {NULL, NULL, 0},
};
