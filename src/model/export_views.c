/* Views in terms of operators that other formats have: the elements of a value apart into axes by
 * the view's own steps, a part of these, in another order, and repeated. */
#include "model/export.h"

#include <hocket/ops.h>
#include <string.h>

int hki_export_reshape(hki_export *self, int value, hk_dims shape)
{
    if (value < 0 || hki_dims_equal(&self->values[value].shape, &shape))
        return value;
    return hki_export_add_unary(self, "reshape", value, shape, "shape", shape.dims, shape.ndim);
}

int hki_export_sort_axes(const hki_tensor *tensor, int axes[HK_MAX_NDIM])
{
    int count = 0;
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->dims[i] == 1 || !tensor->strides[i])
            continue;
        int at = count++;
        for (; at > 0 && llabs(tensor->strides[axes[at - 1]]) < llabs(tensor->strides[i]); at--)
            axes[at] = axes[at - 1];
        axes[at] = i;
    }
    return count;
}

/* A view taken apart: axes of the value, and which part of each is shown. */
typedef struct layout {
    int order[HK_MAX_NDIM]; /* axes of the view, by their steps */
    int count;
    hk_dims apart; /* count axes, and one more of what the view steps over, mostly of size 1 */
    int64_t begin[HK_MAX_NDIM + 1];
} layout;

static int64_t size_of(hk_dims shape)
{
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++)
        size *= shape.dims[i];
    return size;
}

/* False: steps are not within each other, or there are too many axes. */
static bool take_apart(const hki_tensor *shows, int64_t size, layout *its)
{
    int64_t rest = size, begin = shows->offset;
    its->count = hki_export_sort_axes(shows, its->order);
    if (its->count >= HK_MAX_NDIM)
        return false;
    for (int i = 0; i < its->count; i++) /* from the first element in memory on */
        if (shows->strides[its->order[i]] < 0)
            begin += shows->strides[its->order[i]] * (shows->dims[its->order[i]] - 1);
    for (int i = 0; i < its->count; i++) {
        const int64_t step = llabs(shows->strides[its->order[i]]);
        if (rest % step)
            return false;
        its->apart.dims[i] = rest / step;
        its->begin[i] = begin / step;
        if (its->begin[i] + shows->dims[its->order[i]] > its->apart.dims[i])
            return false;
        begin %= step;
        rest = step;
    }
    its->apart.dims[its->count] = rest;
    its->begin[its->count] = begin;
    its->apart.ndim = its->count + 1;
    return begin < rest;
}

static int add_slice(hki_export *self, int value, const layout *its, const hki_tensor *shows)
{
    int64_t begin[HK_MAX_NDIM], end[HK_MAX_NDIM], step[HK_MAX_NDIM];
    const int ndim = its->apart.ndim;
    hk_dims shape = its->apart;
    bool is_all = true;
    for (int i = 0; i < ndim; i++) {
        const bool is_left = i == its->count;
        const int64_t shown = is_left ? 1 : shows->dims[its->order[i]];
        const bool is_back = !is_left && shows->strides[its->order[i]] < 0;
        shape.dims[i] = shown;
        is_all = is_all && shown == its->apart.dims[i] && !is_back;
        begin[i] = is_back ? its->begin[i] + shown - 1 : its->begin[i];
        end[i] = its->begin[i] + shown;
        step[i] = is_back ? -1 : 1;
        if (is_back)
            end[i] = its->begin[i] ? its->begin[i] - 1 : INT64_MIN;
        else if (end[i] == its->apart.dims[i])
            end[i] = INT64_MAX;
        if (is_back && begin[i] == its->apart.dims[i] - 1)
            begin[i] = INT64_MAX;
    }
    if (is_all || value < 0)
        return value;
    const int64_t *lists[] = {begin, end, step};
    static const char *const names[] = {"begin", "end", "step"};
    hk_export_node *node = hki_export_add_node(self, "slice", 1, 1, 3);
    if (!node)
        return -1;
    for (int i = 0; i < 3; i++) {
        hk_export_option *option = (hk_export_option *)&node->options[i];
        option->name = names[i];
        option->count = ndim;
        memcpy(option->ints, lists[i], (size_t)ndim * sizeof(int64_t));
    }
    const int output = hki_export_add_value(self, self->values[value].dtype, shape);
    ((int *)node->inputs)[0] = value;
    ((int *)node->outputs)[0] = output;
    return output;
}

/* Element by element, of places that are constants. */
static int take_places(hki_export *self, int value, const hki_tensor *shows, hk_dims shape)
{
    const int64_t size = size_of(shape);
    int64_t at[HK_MAX_NDIM] = {0}, place = shows->offset;
    int64_t *places = size < INT32_MAX ? calloc((size_t)size + 1, sizeof *places) : NULL;
    if (!places) {
        hki_export_no_memory(self);
        return -1;
    }
    for (int64_t i = 0; i < size; i++) {
        places[i] = place;
        for (int axis = shape.ndim - 1; axis >= 0; axis--) {
            place += shows->strides[axis];
            if (++at[axis] < shape.dims[axis])
                break;
            place -= shows->strides[axis] * at[axis];
            at[axis] = 0;
        }
    }
    HK_SCOPE;
    const int indices = hki_export_add_constant(
        self, (hk_from_host)(places, hk_shape(size), HK_I64, (hk_device){NULL}));
    free(places);
    const int flat = hki_export_reshape(self, value, hk_shape(size_of(self->values[value].shape)));
    hk_export_node *node =
        flat < 0 || indices < 0 ? NULL : hki_export_add_node(self, "index_select", 2, 1, 1);
    if (!node)
        return -1;
    const int output = hki_export_add_value(self, self->values[value].dtype, hk_shape(size));
    ((hk_export_option *)node->options)[0] = (hk_export_option){.name = "axis", .count = 1};
    ((int *)node->inputs)[0] = flat;
    ((int *)node->inputs)[1] = indices;
    ((int *)node->outputs)[0] = output;
    return hki_export_reshape(self, output, shape);
}

static int permute(hki_export *self, int value, const layout *its)
{
    int64_t order[HK_MAX_NDIM] = {0};
    int next = 0;
    bool is_same = true;
    hk_dims shape = {.ndim = its->count};
    for (int axis = 0; axis < HK_MAX_NDIM; axis++)
        for (int i = 0; i < its->count; i++)
            if (its->order[i] == axis) {
                is_same = is_same && next == i;
                order[next++] = i;
            }
    for (int i = 0; i < its->count && value >= 0; i++)
        shape.dims[i] = self->values[value].shape.dims[order[i]];
    return is_same ? value
                   : hki_export_add_unary(self, "permute_dims", value, shape, "axes", order,
                                          its->count);
}

/* Whether it shows all elements in their order. */
static bool is_all(const hki_tensor *shows, const hk_dims *single, int64_t size)
{
    int64_t step = 1;
    bool is_plain = shows->offset == 0;
    for (int i = single->ndim - 1; i >= 0; i--) {
        is_plain = is_plain && (single->dims[i] == 1 || shows->strides[i] == step);
        step *= single->dims[i];
    }
    return is_plain && step == size;
}

/* Without repeating anything: of shape `single`. */
static int show(hki_export *self, int value, const hki_tensor *shows, hk_dims single)
{
    const int64_t size = size_of(self->values[value].shape);
    layout its = {.count = 0};
    hk_dims kept = {.ndim = 0};
    if (is_all(shows, &single, size))
        return hki_export_reshape(self, value, single);
    if (!take_apart(shows, size, &its))
        return take_places(self, value, shows, single);
    if (its.apart.dims[its.count] == 1)
        its.apart.ndim--;
    value = hki_export_reshape(self, value, its.apart);
    value = add_slice(self, value, &its, shows);
    for (int i = 0; i < its.count; i++)
        kept.dims[kept.ndim++] = shows->dims[its.order[i]];
    value = hki_export_reshape(self, value, kept);
    value = permute(self, value, &its);
    return hki_export_reshape(self, value, single);
}

int hki_export_view(hki_export *self, int value, const hki_tensor *shows, bool narrow)
{
    hk_dims shape = {.ndim = shows->ndim}, single = shape;
    if (value < 0)
        return -1;
    for (int i = 0; i < shows->ndim; i++) {
        shape.dims[i] = shows->dims[i];
        single.dims[i] = shows->strides[i] ? shows->dims[i] : 1;
    }
    const hk_dtype dtype = self->values[value].dtype;
    if (dtype != shows->dtype)
        return hki_export_fail(self, HK_UNSUPPORTED, "it reads values of dtype %s as %s",
                               hk_dtype_name(dtype), hk_dtype_name(shows->dtype)) -
               1;
    if (!size_of(shape) || !size_of(self->values[value].shape))
        return hki_export_fail(self, HK_UNSUPPORTED, "it reads an array without elements") - 1;
    value = show(self, value, shows, single);
    if (narrow || value < 0 || hki_dims_equal(&single, &shape))
        return value;
    return hki_export_add_unary(self, "broadcast_to", value, shape, "shape", shape.dims,
                                shape.ndim);
}
