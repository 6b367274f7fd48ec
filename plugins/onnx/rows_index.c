/* Elements found, put or chosen by numbers. */
#include "places.h"
#include "rows.h"
#include "scatter.h"
#include "shapes.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- found ----------------------------------------------------------------------------------- */

static bool run_gather(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *indices = onnx_in(call, 1);
    if (!x || !indices)
        return onnx_out(call, 0, NULL);
    const int axis = onnx_axis(call, onnx_int(call, "axis", 0), hk_ndim(x));
    if (axis < 0)
        return false;
    int64_t one;
    if (hk_ndim(indices) == 0 && onnx_in_value(call, 1)->is_constant) { /* a view */
        if (onnx_in_ints(call, 1, &one, 1) != 1)
            return false;
        const int64_t size = hk_dim(x, axis);
        if (one < -size || one >= size)
            return onnx_refuse(call, HK_OUT_OF_RANGE,
                               "index %" PRId64 " of an axis of %" PRId64 " elements", one, size);
        return onnx_out(call, 0, hk_index(x, axis, one < 0 ? one + size : one));
    }
    return onnx_out(call, 0, hk_index_select(x, indices, axis));
}

/* Whether indices has as many axes as x, and but for one axis no more elements along each; else it
 * is refused. */
static bool fits(onnx_call *call, const hk_array *x, const hk_array *indices, int axis)
{
    const hk_dims has = hk_dims_get(x), named = hk_dims_get(indices);
    bool is_good = has.ndim == named.ndim && onnx_is_integer(hk_array_dtype(indices));
    for (int i = 0; i < has.ndim && is_good; i++)
        is_good = i == axis || named.dims[i] <= has.dims[i];
    return is_good ||
           onnx_refuse(call, HK_INVALID_ARGUMENT,
                       "indices, %s, of %d axes do not fit an array of %d axes: no axis "
                       "but %d may be longer than the array's",
                       hk_dtype_name(hk_array_dtype(indices)), named.ndim, has.ndim, axis);
}

static bool run_gather_elements(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *indices = onnx_in(call, 1);
    if (!x || !indices)
        return onnx_out(call, 0, NULL);
    const int axis = onnx_axis(call, onnx_int(call, "axis", 0), hk_ndim(x));
    if (axis < 0 || !fits(call, x, indices, axis))
        return false;
    for (int i = 0; i < hk_ndim(x); i++)
        if (i != axis && hk_dim(indices, i) < hk_dim(x, i))
            x = hk_slice(x, i, 0, hk_dim(indices, i));
    return onnx_out(call, 0, hk_take_along_axis(x, indices, axis));
}

static bool run_gather_nd(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    onnx_places places;
    if (!x)
        return onnx_out(call, 0, NULL);
    const int64_t batch = onnx_int(call, "batch_dims", 0);
    if (batch < 0 || batch > HK_MAX_NDIM)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "batch_dims is %" PRId64, batch);
    if (!onnx_places_of(call, x, 1, (int)batch, &places))
        return false;
    x = hk_index_select(hk_reshape(x, hk_shape(places.rows, places.width)), places.rows_named, 0);
    return onnx_out(call, 0, hk_reshape(x, places.found));
}

/* Entries of the last axis; what has one axis counts as a row. */
static bool run_array_feature_extractor(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *indices = onnx_in(call, 1);
    if (!x || !indices)
        return onnx_out(call, 0, NULL);
    if (hk_ndim(x) < 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "the input has no axes");
    if (hk_ndim(x) == 1)
        x = hk_reshape(x, hk_shape(1, hk_dim(x, 0)));
    return onnx_out(call, 0,
                    hk_index_select(x, hk_reshape(indices, hk_shape(hk_size(indices))), -1));
}

/* ---- put ------------------------------------------------------------------------------------- */

/* For each index the place of the element in x without axes; one that is none has a place that is
 * none. */
static hk_array *places_along(hk_array *x, hk_array *indices, int axis)
{
    const hk_dims has = hk_dims_get(x), named = hk_dims_get(indices);
    const int64_t size = has.dims[axis];
    int64_t step = 1;
    hk_array *sum = NULL, *is_in = NULL;
    for (int i = has.ndim; i-- > 0; step *= has.dims[i]) {
        hk_array *at;
        if (i == axis) {
            at = hk_cast(indices, HK_I64);
            at = hk_where(hk_less(at, 0), hk_add(at, size), at);
            is_in = hk_logical_and(hk_greater_equal(at, 0), hk_less(at, size));
            at = hk_multiply(at, step);
        } else {
            hk_dims shape = {.ndim = has.ndim};
            for (int j = 0; j < has.ndim; j++)
                shape.dims[j] = j == i ? named.dims[i] : 1;
            at = hk_reshape(hk_sequence(0, step, named.dims[i], HK_I64, hk_array_device(x)), shape);
        }
        sum = sum ? hk_add(sum, at) : at;
    }
    return hk_reshape(hk_where(is_in, sum, hk_size(x)), hk_shape(hk_size(indices)));
}

/* Where other axes of indices are shorter, what is beyond them is joined to the part that they
 * reach. */
static hk_array *put_along(hk_array *x, hk_array *indices, hk_array *updates, int axis, bool adds)
{
    const hk_dims has = hk_dims_get(x), named = hk_dims_get(indices);
    hk_array *parts[HK_MAX_NDIM]; /* cut along axes 0 … i-1 */
    for (int i = 0; i < has.ndim; i++) {
        parts[i] = x;
        if (i != axis && named.dims[i] < has.dims[i])
            x = hk_slice(x, i, 0, named.dims[i]);
    }
    x = adds ? hk_scatter_add(x, indices, updates, axis) : hk_scatter(x, indices, updates, axis);
    for (int i = has.ndim; i-- > 0;)
        if (i != axis && named.dims[i] < has.dims[i])
            x = hk_concat((hk_array *[]){x, hk_slice(parts[i], i, named.dims[i], has.dims[i])}, 2,
                          i);
    return x;
}

static bool is_same(hk_dims a, hk_dims b)
{
    bool same = a.ndim == b.ndim;
    for (int i = 0; i < a.ndim && same; i++)
        same = a.dims[i] == b.dims[i];
    return same;
}

static bool run_scatter_elements(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *indices = onnx_in(call, 1), *updates = onnx_in(call, 2);
    onnx_join join;
    if (!x || !indices || !updates)
        return onnx_out(call, 0, NULL);
    const int axis = onnx_axis(call, onnx_int(call, "axis", 0), hk_ndim(x));
    if (axis < 0 || !fits(call, x, indices, axis) || !onnx_join_of(call, &join))
        return false;
    if (!is_same(hk_dims_get(indices), hk_dims_get(updates)) ||
        hk_array_dtype(x) != hk_array_dtype(updates))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "updates have the shape of indices and the dtype of the data");
    if (join <= ONNX_ADD)
        return onnx_out(call, 0, put_along(x, indices, updates, axis, join == ONNX_ADD));
    const hk_dims shape = hk_dims_get(x);
    hk_array *places = places_along(x, indices, axis);
    x = onnx_scatter_rows(hk_reshape(x, hk_shape(hk_size(x), 1)), places,
                          hk_reshape(updates, hk_shape(hk_size(updates), 1)), join);
    return onnx_out(call, 0, hk_reshape(x, shape));
}

static bool run_scatter_nd(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *updates = onnx_in(call, 2);
    onnx_places places;
    onnx_join join;
    if (!x || !updates)
        return onnx_out(call, 0, NULL);
    if (!onnx_join_of(call, &join) || !onnx_places_of(call, x, 1, 0, &places))
        return false;
    if (!is_same(places.found, hk_dims_get(updates)) ||
        hk_array_dtype(x) != hk_array_dtype(updates))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "updates have the shape of what the indices name, and the dtype of the "
                           "data");
    const int64_t count = hk_dim(places.rows_named, 0);
    x = onnx_scatter_rows(hk_reshape(x, hk_shape(places.rows, places.width)), places.rows_named,
                          hk_reshape(updates, hk_shape(count, places.width)), join);
    return onnx_out(call, 0, hk_reshape(x, places.shape));
}

/* Entries of an axis written from a place on, which each sample of a batch has. */
static bool run_tensor_scatter(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *update = onnx_in(call, 1);
    if (!x || !update)
        return onnx_out(call, 0, NULL);
    const hk_dims has = hk_dims_get(x), to = hk_dims_get(update);
    const int axis = onnx_axis(call, onnx_int(call, "axis", -2), has.ndim);
    const bool circular = onnx_text_is(call, "mode", "circular", "linear");
    if (axis < 0)
        return false;
    if (axis == 0 || to.ndim != has.ndim || to.dims[axis] > has.dims[axis])
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "axis %d, of %" PRId64 " entries, %" PRId64 " of them written", axis,
                           has.dims[axis], hk_dim(update, axis));
    if (!circular && !onnx_text_is(call, "mode", "linear", "linear"))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "mode is neither linear nor circular");
    hk_dims along = {.ndim = has.ndim}, across = {.ndim = has.ndim};
    for (int i = 0; i < has.ndim; i++) {
        along.dims[i] = i == axis ? to.dims[i] : 1;
        across.dims[i] = i == 0 ? has.dims[0] : 1;
    }
    hk_array *at = hk_reshape(hk_sequence(0, 1, to.dims[axis], HK_I64, call->device), along);
    if (onnx_has(call, 2))
        at = hk_add(at, hk_reshape(hk_cast(onnx_in(call, 2), HK_I64), across));
    at = circular ? hk_remainder(at, has.dims[axis] ? has.dims[axis] : 1)
                  : hk_where(hk_less(at, 0), has.dims[axis], at);
    return onnx_out(call, 0, hk_scatter(x, hk_broadcast_to(at, to), update, axis));
}

/* ---- chosen ---------------------------------------------------------------------------------- */

static bool run_one_hot(onnx_call *call)
{
    hk_array *indices = onnx_in(call, 0), *values = onnx_in(call, 2);
    int64_t classes;
    if (!indices || !values || hk_ndim(values) != 1 || hk_dim(values, 0) != 2 ||
        onnx_in_ints(call, 1, &classes, 1) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "depth is one number, and values are two: off and on");
    const int axis = onnx_axis(call, onnx_int(call, "axis", -1), hk_ndim(indices) + 1);
    if (axis < 0)
        return false;
    if (classes < 0 || classes > INT64_C(1) << 40 || hk_ndim(indices) == HK_MAX_NDIM)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "a depth of %" PRId64 " for %d axes", classes,
                           hk_ndim(indices));
    indices = hk_cast(indices, HK_I64);
    indices = hk_where(hk_less(indices, 0), hk_add(indices, classes), indices);
    hk_array *is_on = hk_moveaxis(hk_one_hot(indices, classes, HK_BOOL), -1, axis);
    return onnx_out(call, 0, hk_where(is_on, hk_index(values, 0, 1), hk_index(values, 0, 0)));
}

static bool run_compress(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *condition = onnx_in(call, 1);
    if (!x || !condition)
        return onnx_out(call, 0, NULL);
    if (!onnx_attribute(call, "axis"))
        x = hk_reshape(x, hk_shape(hk_size(x)));
    const int axis = onnx_axis(call, onnx_int(call, "axis", 0), hk_ndim(x));
    const int64_t most = hk_size(condition);
    int64_t *chosen = malloc((size_t)most * sizeof *chosen + 1), count = 0;
    bool is_good = chosen && axis >= 0 && most <= INT32_MAX &&
                   onnx_in_ints(call, 1, chosen, (int)most) == most;
    for (int64_t i = 0; i < most && is_good; i++)
        if (chosen[i])
            chosen[count++] = i;
    is_good = is_good &&
              onnx_out(call, 0,
                       hk_index_select(x, onnx_held(call, chosen, hk_shape(count), HK_I64), axis));
    free(chosen);
    return is_good || onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
}

static bool run_non_zero(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *along[HK_MAX_NDIM];
    double value;
    if (!x)
        return onnx_out(call, 0, NULL);
    const int count = hk_ndim(x);
    if (count == 0)
        return onnx_in_floats(call, 0, &value, 1) == 1 &&
               onnx_out(call, 0, hk_zeros(hk_shape(0, value != 0), HK_I64, call->device));
    if (!call->is_constant)
        onnx_note_loose(call);
    hk_nonzero(x, along, count);
    return onnx_out(call, 0, hk_stack(along, count, 0));
}

const onnx_row onnx_rows_index[] = {
    {"Compress", run_compress, 0},
    {"Gather", run_gather, 0},
    {"GatherElements", run_gather_elements, 0},
    {"GatherND", run_gather_nd, 0},
    {"NonZero", run_non_zero, 0},
    {"OneHot", run_one_hot, 0},
    {"Scatter", run_scatter_elements, 0},
    {"ScatterElements", run_scatter_elements, 0},
    {"ScatterND", run_scatter_nd, 0},
    {"TensorScatter", run_tensor_scatter, 0},
    {"ai.onnx.ml:ArrayFeatureExtractor", run_array_feature_extractor, 0},
    {NULL, NULL, 0},
};
