/* The way out of what goes along axes: sums and the like, extremes, orders. */
#include "export.h"

#include <string.h>

/* Axes of a reduction, from the front, as an input; all of them where none are named. */
static const char *axes_of(onnx_writing *out)
{
    const hk_export_option *axes = onnx_out_option(out, "axes");
    const int ndim = onnx_out_in(out, 0)->shape.ndim;
    int64_t list[HK_MAX_NDIM];
    const int count = axes->is_default || !axes->count ? ndim : axes->count;
    for (int i = 0; i < count; i++)
        list[i] = count == ndim && (axes->is_default || !axes->count) ? i
                  : axes->ints[i] < 0                                 ? axes->ints[i] + ndim
                                                                      : axes->ints[i];
    return onnx_out_ints(out, list, count);
}

static const char *reduce(onnx_writing *out, const char *op, const char *x)
{
    const char *y = ONNX_OUT(out, op, NULL, x, axes_of(out));
    onnx_out_set_int(out, "keepdims", onnx_out_int(out, "keepdims"));
    return y;
}

static const struct {
    const char *name, *op;
    bool is_float; /* computed so */
} sums[] = {
    {"sum", "ReduceSum", false},       {"mean", "ReduceMean", true},
    {"prod", "ReduceProd", false},     {"norm", "ReduceL2", true},
    {"mean_wide", "ReduceMean", true}, {"squares_wide", "ReduceSumSquare", true},
};

static bool add_sum(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
        if (!strcmp(sums[i].name, out->node->operation)) {
            if (sums[i].is_float && !onnx_out_is_float(dtype))
                return onnx_out_refuse(out, "gives %s", hk_dtype_name(dtype));
            return onnx_out_finish(out, reduce(out, sums[i].op, onnx_out_in_as(out, 0, dtype)),
                                   dtype);
        }
    return false;
}

static bool add_extreme(onnx_writing *out)
{
    hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    dtype = onnx_out_is_float(dtype) || hk_dtype_bytes(dtype) >= 4 ? dtype : HK_I32;
    const char *op = !strcmp(out->node->operation, "max") ? "ReduceMax" : "ReduceMin";
    return onnx_out_finish(out, reduce(out, op, onnx_out_in_as(out, 0, dtype)), dtype);
}

static bool add_count(onnx_writing *out)
{
    const char *name = out->node->operation;
    const char *truth = onnx_out_cast(out, onnx_out_in_as(out, 0, HK_BOOL), HK_BOOL, HK_I64);
    const bool is_count = !strcmp(name, "count_nonzero");
    return onnx_out_finish(out,
                           reduce(out,
                                  is_count               ? "ReduceSum"
                                  : !strcmp(name, "any") ? "ReduceMax"
                                                         : "ReduceMin",
                                  truth),
                           HK_I64);
}

/* Distances from means of kept axes, squared and added up, in float64. */
static bool add_spread(onnx_writing *out)
{
    const hk_export_value *x = onnx_out_in(out, 0);
    const hk_export_option *axes = onnx_out_option(out, "axes");
    const bool are_all = axes->is_default || !axes->count;
    double count = 1;
    for (int i = 0; i < (are_all ? x->shape.ndim : axes->count); i++) {
        const int64_t axis = are_all             ? i
                             : axes->ints[i] < 0 ? axes->ints[i] + x->shape.ndim
                                                 : axes->ints[i];
        if (x->shape.dims[axis] < 0)
            return onnx_out_refuse(out, "is over the batch, which has no size yet");
        count *= (double)x->shape.dims[axis];
    }
    const char *squares = reduce(
        out, "ReduceSumSquare",
        ONNX_OUT(out, "Sub", NULL, onnx_out_in_as(out, 0, HK_F64), onnx_out_in_as(out, 1, HK_F64)));
    const char *y =
        ONNX_OUT(out, "Div", NULL, squares,
                 onnx_out_scalar(out, count - onnx_out_number(out, "correction"), HK_F64));
    if (onnx_out_int(out, "is_root"))
        y = ONNX_OUT(out, "Sqrt", NULL, y);
    return onnx_out_finish(out, y, HK_F64);
}

/* The largest, or 0 where that is infinite. */
static bool add_offset(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    const char *most = reduce(out, "ReduceMax", onnx_out_in_as(out, 0, dtype));
    return onnx_out_finish(out,
                           ONNX_OUT(out, "Where", NULL, ONNX_OUT(out, "IsInf", NULL, most),
                                    onnx_out_scalar(out, 0, dtype), most),
                           dtype);
}

/* ---- along one axis -------------------------------------------------------------------------- */

static bool add_softmax(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    const char *op = !strcmp(out->node->operation, "softmax") ? "Softmax" : "LogSoftmax";
    const char *y = ONNX_OUT(out, op, NULL, onnx_out_in_as(out, 0, dtype));
    onnx_out_set_int(out, "axis", onnx_out_axis(out, onnx_out_in(out, 0)->shape.ndim));
    return onnx_out_finish(out, y, dtype);
}

static bool add_place(onnx_writing *out)
{
    const char *op = !strcmp(out->node->operation, "argmax") ? "ArgMax" : "ArgMin";
    const char *y = ONNX_OUT(out, op, NULL, onnx_out_in_name(out, 0));
    onnx_out_set_int(out, "axis", onnx_out_axis(out, onnx_out_in(out, 0)->shape.ndim));
    onnx_out_set_int(out, "keepdims", 0);
    return onnx_out_finish(out, y, HK_I64);
}

static bool add_cumulative(onnx_writing *out)
{
    const hk_dtype dtype = onnx_out_of(out, 0)->dtype;
    const int64_t axis = onnx_out_axis(out, onnx_out_in(out, 0)->shape.ndim);
    return onnx_out_finish(out,
                           ONNX_OUT(out, "CumSum", NULL, onnx_out_in_as(out, 0, dtype),
                                    onnx_out_scalar(out, (double)axis, HK_I64)),
                           dtype);
}

/* The first k in order: their values and their places, of which either may be left out. */
static bool add_first(onnx_writing *out, const char *values, const char *places, int64_t k,
                      bool are_largest)
{
    const hk_export_value *x = onnx_out_in(out, 0);
    if (k < 0)
        return onnx_out_refuse(out, "is along the batch, which has no size yet");
    const char *first =
        ONNX_OUT(out, "TopK", values, onnx_out_in_name(out, 0), onnx_out_ints(out, &k, 1));
    return first && onnx_out_second(out, places) &&
           onnx_out_set_int(out, "axis", onnx_out_axis(out, x->shape.ndim)) &&
           onnx_out_set_int(out, "largest", are_largest) && onnx_out_set_int(out, "sorted", 1);
}

static bool add_sort(onnx_writing *out)
{
    const hk_export_value *x = onnx_out_in(out, 0);
    const int64_t size = x->shape.dims[onnx_out_axis(out, x->shape.ndim)];
    const bool are_places = !strcmp(out->node->operation, "argsort");
    const char *name = onnx_out_of_name(out, 0);
    return add_first(out, are_places ? NULL : name, are_places ? name : NULL, size,
                     onnx_out_int(out, "descending"));
}

static bool add_topk(onnx_writing *out)
{
    return add_first(out, onnx_out_of_name(out, 0), onnx_out_of_name(out, 1),
                     onnx_out_int(out, "k"), onnx_out_int(out, "largest"));
}

const onnx_export_row onnx_export_reductions[] = {
    {"sum", add_sum},
    {"mean", add_sum},
    {"prod", add_sum},
    {"norm", add_sum},
    {"mean_wide", add_sum},
    {"squares_wide", add_sum},
    {"max", add_extreme},
    {"min", add_extreme},
    {"any", add_count},
    {"all", add_count},
    {"count_nonzero", add_count},
    {"softmax", add_softmax},
    {"log_softmax", add_softmax},
    {"argmax", add_place},
    {"argmin", add_place},
    {"cumulative_sum", add_cumulative},
    {"squares_about", add_spread},
    {"exponent_offset", add_offset},
    {"sort", add_sort},
    {"argsort", add_sort},
    {"topk", add_topk},
    {NULL, NULL},
};
