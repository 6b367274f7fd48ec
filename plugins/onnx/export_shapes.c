/* The way out of what moves elements, and of elements found by whole numbers. */
#include "export.h"

#include <string.h>

static bool add_reshape(onnx_writing *out)
{
    const hk_export_value *y = onnx_out_of(out, 0);
    return onnx_out_reshape(out, onnx_out_in_name(out, 0), y->shape, onnx_out_of_name(out, 0));
}

static bool add_broadcast(onnx_writing *out)
{
    const hk_export_value *y = onnx_out_of(out, 0);
    return ONNX_OUT(out, "Expand", onnx_out_of_name(out, 0), onnx_out_in_name(out, 0),
                    onnx_out_shape(out, y->shape));
}

static bool add_permute(onnx_writing *out)
{
    const hk_export_option *axes = onnx_out_option(out, "axes");
    return onnx_out_transpose(out, onnx_out_in_name(out, 0), axes->ints, axes->count,
                              onnx_out_of_name(out, 0));
}

static bool add_copy(onnx_writing *out)
{
    return ONNX_OUT(out, "Identity", onnx_out_of_name(out, 0), onnx_out_in_name(out, 0));
}

static bool add_slice(onnx_writing *out)
{
    const hk_export_option *begin = onnx_out_option(out, "begin"),
                           *end = onnx_out_option(out, "end"), *step = onnx_out_option(out, "step");
    int64_t lists[4][HK_MAX_NDIM];
    int count = 0;
    for (int i = 0; i < begin->count; i++) {
        if (!begin->ints[i] && end->ints[i] == INT64_MAX && step->ints[i] == 1)
            continue;
        lists[0][count] = begin->ints[i];
        lists[1][count] = end->ints[i] == INT64_MIN ? -INT64_MAX : end->ints[i];
        lists[2][count] = i;
        lists[3][count++] = step->ints[i];
    }
    return ONNX_OUT(out, "Slice", onnx_out_of_name(out, 0), onnx_out_in_name(out, 0),
                    onnx_out_ints(out, lists[0], count), onnx_out_ints(out, lists[1], count),
                    onnx_out_ints(out, lists[2], count), onnx_out_ints(out, lists[3], count));
}

static bool add_concat(onnx_writing *out)
{
    const hk_export_node *node = out->node;
    const char **inputs =
        onnx_export_allocate(out->file, ((size_t)node->input_count + 1) * sizeof *inputs);
    int count = 0;
    for (int i = 0; inputs && i < node->input_count; i++)
        if (onnx_out_in(out, i))
            inputs[count++] = onnx_out_in_as(out, i, onnx_out_of(out, 0)->dtype);
    return inputs && onnx_out_add(out, "Concat", onnx_out_of_name(out, 0), count, inputs) &&
           onnx_out_set_int(out, "axis", onnx_out_axis(out, onnx_out_of(out, 0)->shape.ndim));
}

static bool add_full(onnx_writing *out)
{
    const hk_export_value *y = onnx_out_of(out, 0);
    const char *name = out->node->operation;
    const double value = strstr(name, "ones")    ? 1
                         : strstr(name, "zeros") ? 0
                                                 : onnx_out_number(out, "value");
    return ONNX_OUT(out, "Expand", onnx_out_of_name(out, 0), onnx_out_scalar(out, value, y->dtype),
                    onnx_out_shape(out, y->shape));
}

/* ---- by whole numbers ------------------------------------------------------------------------ */

/* Indices as ONNX takes them. */
static const char *indices_of(onnx_writing *out, int index)
{
    const hk_dtype dtype = onnx_out_in(out, index)->dtype;
    return onnx_out_in_as(out, index, dtype == HK_I32 ? HK_I32 : HK_I64);
}

static bool add_select(onnx_writing *out)
{
    return ONNX_OUT(out, "Gather", onnx_out_of_name(out, 0), onnx_out_in_name(out, 0),
                    indices_of(out, 1)) &&
           onnx_out_set_int(out, "axis", onnx_out_axis(out, onnx_out_in(out, 0)->shape.ndim));
}

/* Whole entries of an axis where indices are the same along all others, as those of a table's
 * rows. */
static bool add_take(onnx_writing *out)
{
    const hk_export_value *x = onnx_out_in(out, 0), *index = onnx_out_in(out, 1),
                          *y = onnx_out_of(out, 0);
    const int64_t axis = onnx_out_axis(out, x->shape.ndim);
    bool are_entries = index->shape.ndim == x->shape.ndim;
    for (int i = 0; are_entries && i < index->shape.ndim; i++)
        are_entries =
            i == axis || (index->shape.dims[i] == 1 && x->shape.dims[i] == y->shape.dims[i]);
    if (are_entries) {
        const char *places = onnx_out_reshape(
            out, indices_of(out, 1), (hk_dims){.ndim = 1, .dims = {index->shape.dims[axis]}}, NULL);
        return ONNX_OUT(out, "Gather", onnx_out_of_name(out, 0), onnx_out_in_name(out, 0),
                        places) &&
               onnx_out_set_int(out, "axis", axis);
    }
    const char *places =
        ONNX_OUT(out, "Expand", NULL, indices_of(out, 1), onnx_out_shape(out, y->shape));
    return ONNX_OUT(out, "GatherElements", onnx_out_of_name(out, 0), onnx_out_in_name(out, 0),
                    places) &&
           onnx_out_set_int(out, "axis", axis);
}

static bool add_scatter(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    const char *name = out->node->operation;
    return ONNX_OUT(out, "ScatterElements", onnx_out_of_name(out, 0), onnx_out_in_as(out, 0, dtype),
                    indices_of(out, 1), onnx_out_in_as(out, 2, dtype)) &&
           onnx_out_set_int(out, "axis", onnx_out_axis(out, onnx_out_in(out, 0)->shape.ndim)) &&
           (strcmp(name, "scatter_add") || onnx_out_set_text(out, "reduction", "add"));
}

static bool add_one_hot(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    const int64_t classes = onnx_out_int(out, "classes");
    HK_SCOPE;
    char *values = onnx_export_allocate(out->file, 2 * 16);
    const size_t bytes = hk_dtype_bytes(dtype);
    hk_array *two = hk_cast(hk_arange(0, 2, 1, HK_I32, hk_device_named("cpu:0")), dtype);
    if (!values || !hk_ok(hk_to_host(two, values, 2 * bytes)))
        return onnx_out_refuse(out, "has a dtype of no numbers");
    return ONNX_OUT(out, "OneHot", onnx_out_of_name(out, 0), indices_of(out, 0),
                    onnx_out_ints(out, &classes, 1),
                    onnx_out_tensor(out, values, hk_shape(2), dtype)) &&
           onnx_out_set_int(out, "axis", -1);
}

static bool add_triangle(onnx_writing *out)
{
    const int64_t offset = onnx_out_int(out, "offset");
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    char *own = onnx_export_allocate(out->file, sizeof offset);
    if (!own)
        return false;
    memcpy(own, &offset, sizeof offset);
    const char *at = onnx_out_tensor(out, own, hk_shape(), HK_I64);
    return ONNX_OUT(out, "Trilu", onnx_out_of_name(out, 0), onnx_out_in_as(out, 0, dtype), at) &&
           onnx_out_set_int(out, "upper", !strcmp(out->node->operation, "triu"));
}

const onnx_export_row onnx_export_shapes[] = {
    {"reshape", add_reshape},
    {"broadcast_to", add_broadcast},
    {"permute_dims", add_permute},
    {"copy", add_copy},
    {"slice", add_slice},
    {"concat", add_concat},
    {"concat_few", add_concat},
    {"full", add_full},
    {"zeros", add_full},
    {"ones", add_full},
    {"full_like", add_full},
    {"zeros_like", add_full},
    {"ones_like", add_full},
    {"index_select", add_select},
    {"take_along_axis", add_take},
    {"scatter", add_scatter},
    {"scatter_add", add_scatter},
    {"one_hot", add_one_hot},
    {"tril", add_triangle},
    {"triu", add_triangle},
    {NULL, NULL},
};
