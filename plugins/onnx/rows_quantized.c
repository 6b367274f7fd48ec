/* Numbers of few bits with scales, and exact sums of their products. */
#include "exact.h"
#include "rows.h"
#include "shapes.h"

#include <inttypes.h>
#include <math.h>

/* ---- scales and zero points ------------------------------------------------------------------ */

/* A scale or a zero point (one number, one for each entry of an axis, or one for each block along
 * it) so that it meets x element by element; NULL after refusing. */
static hk_array *spread(onnx_call *call, hk_array *s, hk_array *x)
{
    const hk_dims has = hk_dims_get(x), is = hk_dims_get(s);
    const int64_t block = onnx_int(call, "block_size", 0);
    if (is.ndim == 0 || (is.ndim == 1 && is.dims[0] == 1 && !block))
        return hk_reshape(s, hk_shape());
    const int axis = onnx_axis(call, onnx_int(call, "axis", 1), has.ndim);
    if (axis < 0)
        return NULL;
    const int64_t size = has.dims[axis];
    hk_dims shape = {.ndim = has.ndim};
    for (int i = 0; i < has.ndim; i++)
        shape.dims[i] = i == axis ? size : 1;
    if (is.ndim == 1 && is.dims[0] == size && !block)
        return hk_reshape(s, shape);
    bool is_good = block > 0 && is.ndim == has.ndim;
    for (int i = 0; i < has.ndim && is_good; i++)
        is_good = is.dims[i] == (i == axis ? size / block + (size % block != 0) : has.dims[i]);
    if (!is_good) {
        onnx_refuse(call, HK_INVALID_ARGUMENT,
                    "scales or zero points of %d axes and %" PRId64
                    " elements do not fit axis %d, of %" PRId64
                    " entries, with block_size %" PRId64,
                    is.ndim, hk_size(s), axis, size, block);
        return NULL;
    }
    return hk_slice(hk_repeat(s, block, axis), axis, 0, size);
}

typedef struct range {
    double least, most;
} range;

/* What a dtype holds of whole numbers; false: it is none of those that numbers are quantised to. */
static bool range_of(hk_dtype dtype, range *found)
{
    static const struct {
        hk_dtype dtype;
        range range;
    } known[] = {
        {HK_U8, {0, 255}}, {HK_I8, {-128, 127}}, {HK_U16, {0, 65535}}, {HK_I16, {-32768, 32767}}};
    for (int i = 0; i < 4; i++)
        if (known[i].dtype == dtype) {
            *found = known[i].range;
            return true;
        }
    return false;
}

static bool known_dtype(onnx_call *call, const char *name, hk_dtype otherwise, hk_dtype *dtype)
{
    const int64_t onnx = onnx_int(call, name, 0);
    *dtype = otherwise;
    return !onnx || (onnx > 0 && onnx < 1000 && onnx_dtype_of((int32_t)onnx, dtype)) ||
           onnx_refuse(call, HK_UNSUPPORTED,
                       "%s is ONNX's type %" PRId64 ", which Hocket does not have", name, onnx);
}

/* Whole numbers as floats, and a zero point, as what the dtype holds. */
static hk_array *saturate(hk_array *x, hk_array *zero, hk_dtype dtype, range limits)
{
    if (zero)
        x = hk_add(x, hk_cast(zero, hk_array_dtype(x)));
    return hk_cast(hk_clip(x, limits.least, limits.most), dtype);
}

static bool run_quantize(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *scale = onnx_in(call, 1), *zero = onnx_in(call, 2);
    hk_dtype dtype, as;
    range limits;
    if (!x || !scale)
        return onnx_out(call, 0, NULL);
    if (!known_dtype(call, "output_dtype", zero ? hk_array_dtype(zero) : HK_U8, &dtype) ||
        !known_dtype(call, "precision", hk_array_dtype(x), &as))
        return false;
    if (!range_of(dtype, &limits) || (zero && hk_array_dtype(zero) != dtype))
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "quantised to %s, with a zero point of %s; whole numbers of 8 or 16 "
                           "bits are known, of one dtype",
                           hk_dtype_name(dtype),
                           zero ? hk_dtype_name(hk_array_dtype(zero)) : "none");
    scale = spread(call, scale, x);
    zero = zero && scale ? spread(call, zero, x) : zero;
    if (!scale || (onnx_has(call, 2) && !zero))
        return false;
    as = onnx_is_floating(as) ? as : HK_F64;
    x = hk_round(hk_divide(hk_cast(x, as), hk_cast(scale, as)));
    if (as == HK_F16 || as == HK_BF16)
        x = hk_cast(x, HK_F32);
    return onnx_out(call, 0, saturate(x, zero, dtype, limits));
}

static bool run_dequantize(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *scale = onnx_in(call, 1), *zero = onnx_in(call, 2);
    hk_dtype dtype;
    if (!x || !scale)
        return onnx_out(call, 0, NULL);
    if (!known_dtype(call, "output_dtype", hk_array_dtype(scale), &dtype))
        return false;
    if (!onnx_is_floating(dtype) || !onnx_is_integer(hk_array_dtype(x)) ||
        (zero && hk_array_dtype(zero) != hk_array_dtype(x)))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "from %s, with a zero point of %s, to %s; expected whole numbers of one "
                           "dtype, and floats",
                           hk_dtype_name(hk_array_dtype(x)),
                           zero ? hk_dtype_name(hk_array_dtype(zero)) : "none",
                           hk_dtype_name(dtype));
    scale = spread(call, scale, x);
    if (!scale || (zero && !(zero = spread(call, zero, x))))
        return false;
    const hk_dtype as = dtype == HK_F64 ? HK_F64 : HK_F32;
    x = hk_cast(x, as);
    if (zero)
        x = hk_subtract(x, hk_cast(zero, as));
    return onnx_out(call, 0, hk_cast(hk_multiply(x, hk_cast(scale, as)), dtype));
}

/* To uint8, by the range of what there is, which has 0 in it. */
static bool run_dynamic(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const range limits = {0, 255};
    if (!x)
        return onnx_out(call, 0, NULL);
    hk_array *most = hk_maximum(hk_max(x, NULL), 0.), *least = hk_minimum(hk_min(x, NULL), 0.);
    hk_array *width = hk_subtract(most, least);
    hk_array *scale = hk_divide(hk_where(hk_equal(width, 0.), 1., width), 255.);
    hk_array *zero = hk_round(hk_clip(hk_negative(hk_divide(least, scale)), 0, 255));
    x = hk_round(hk_divide(x, scale));
    return onnx_out(call, 0, saturate(x, zero, HK_U8, limits)) && onnx_out(call, 1, scale) &&
           onnx_out(call, 2, hk_cast(zero, HK_U8));
}

/* ---- products -------------------------------------------------------------------------------- */

/* A scale or a zero point of rows of matrices, or of columns, as it meets them. */
static hk_array *beside(hk_array *s, bool rows)
{
    if (hk_ndim(s) == 1 && hk_dim(s, 0) == 1)
        return hk_reshape(s, hk_shape());
    return rows && hk_ndim(s) == 1 ? hk_expand_dims(s, 1) : s;
}

/* Whole numbers less their zero point, as floats. */
static hk_array *centred(hk_array *x, hk_array *zero)
{
    x = hk_cast(x, HK_F32);
    return zero ? hk_subtract(x, hk_cast(zero, HK_F32)) : x;
}

/* Sums of products, exactly, as int64. A vector counts as a row on the left, and as a column on the
 * right. */
static hk_array *product(onnx_call *call, int a_input, int a_zero, int b_input, int b_zero)
{
    hk_array *a = onnx_in(call, a_input), *b = onnx_in(call, b_input);
    hk_array *za = onnx_in(call, a_zero), *zb = onnx_in(call, b_zero);
    if (!a || !b || hk_ndim(a) < 1 || hk_ndim(b) < 1 || hk_dtype_bytes(hk_array_dtype(a)) != 1 ||
        hk_dtype_bytes(hk_array_dtype(b)) != 1) {
        onnx_refuse(call, HK_INVALID_ARGUMENT, "expected two matrices of int8 or uint8");
        return NULL;
    }
    const bool is_row = hk_ndim(a) == 1, is_column = hk_ndim(b) == 1;
    a = centred(a, za ? beside(za, !is_row) : NULL);
    b = centred(b, zb ? beside(zb, false) : NULL);
    a = is_row ? hk_expand_dims(a, 0) : a;
    b = is_column ? hk_expand_dims(b, 1) : b;
    hk_array *y = onnx_exact_matmul(a, b);
    y = is_column ? hk_squeeze(y, -1) : y;
    return is_row ? hk_squeeze(y, is_column ? -1 : -2) : y;
}

static bool run_matmul_integer(onnx_call *call)
{
    hk_array *y = product(call, 0, 2, 1, 3);
    return y && onnx_out(call, 0, hk_wrap(y, HK_I32));
}

/* Sums by their scales to numbers of few bits. */
static bool rescale(onnx_call *call, hk_array *sums, hk_array *by, hk_array *zero, hk_dtype dtype)
{
    range limits;
    if (!range_of(dtype, &limits))
        return onnx_refuse(call, HK_UNSUPPORTED, "quantised to %s", hk_dtype_name(dtype));
    hk_array *y = hk_round(hk_multiply(hk_cast(sums, HK_F64), hk_cast(by, HK_F64)));
    return onnx_out(call, 0, saturate(y, zero, dtype, limits));
}

static bool run_qlinear_matmul(onnx_call *call)
{
    hk_array *a = onnx_in(call, 1), *b = onnx_in(call, 4), *y = onnx_in(call, 6);
    hk_array *zero = onnx_in(call, 7), *sums = product(call, 0, 2, 3, 5);
    if (!sums || !a || !b || !y)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "a scale is missing");
    const bool rows = hk_ndim(sums) > 1;
    hk_array *by = hk_multiply(hk_cast(beside(a, rows), HK_F32), hk_cast(beside(b, false), HK_F32));
    by = hk_divide(by, hk_cast(beside(y, rows), HK_F32));
    return rescale(call, sums, by, zero ? beside(zero, rows) : NULL,
                   hk_array_dtype(zero ? zero : onnx_in(call, 0)));
}

/* One number, or one for each output, so that it meets (n,outputs,…), or weights (outputs,…). */
static hk_array *of_outputs(hk_array *s, int ndim, bool weights)
{
    hk_dims shape = {.ndim = weights ? ndim : ndim - 1};
    if (hk_size(s) == 1)
        return hk_reshape(s, hk_shape());
    shape.dims[0] = hk_size(s);
    for (int i = 1; i < shape.ndim; i++)
        shape.dims[i] = 1;
    return hk_reshape(s, shape);
}

static hk_array *convolved(onnx_call *call, int x_zero, int w_input, int w_zero)
{
    hk_array *x = onnx_in(call, 0), *w = onnx_in(call, w_input);
    hk_array *zx = onnx_in(call, x_zero), *zw = onnx_in(call, w_zero);
    if (!x || !w || hk_dtype_bytes(hk_array_dtype(x)) != 1 ||
        hk_dtype_bytes(hk_array_dtype(w)) != 1 || (zx && hk_size(zx) != 1) ||
        (zw && hk_size(zw) != 1 && hk_size(zw) != hk_dim(w, 0))) {
        onnx_refuse(call, HK_INVALID_ARGUMENT,
                    "an image or weights are missing, or zero points do not fit them");
        return NULL;
    }
    x = centred(x, zx ? hk_reshape(zx, hk_shape()) : NULL);
    w = centred(w, zw ? of_outputs(zw, hk_ndim(w), true) : NULL);
    return onnx_exact_conv(call, x, w);
}

static bool run_conv_integer(onnx_call *call)
{
    hk_array *y = convolved(call, 2, 1, 3);
    return y && onnx_out(call, 0, hk_wrap(y, HK_I32));
}

static bool run_qlinear_conv(onnx_call *call)
{
    hk_array *x = onnx_in(call, 1), *w = onnx_in(call, 4), *y = onnx_in(call, 6);
    hk_array *zero = onnx_in(call, 7), *bias = onnx_in(call, 8);
    hk_array *sums = convolved(call, 2, 3, 5);
    if (!sums || !x || !w || !y)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "a scale is missing");
    const int ndim = hk_ndim(sums);
    const int64_t outputs = hk_dim(sums, 1);
    if (hk_size(x) != 1 || hk_size(y) != 1 || (hk_size(w) != 1 && hk_size(w) != outputs) ||
        (bias && hk_size(bias) != outputs) || (zero && hk_size(zero) != 1))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "scales, zero points or a bias do not fit %" PRId64 " outputs", outputs);
    if (bias)
        sums = hk_add(sums, hk_cast(of_outputs(bias, ndim, false), HK_I64));
    hk_array *by = hk_multiply(hk_cast(hk_reshape(x, hk_shape()), HK_F32),
                               hk_cast(of_outputs(w, ndim, false), HK_F32));
    by = hk_divide(by, hk_cast(hk_reshape(y, hk_shape()), HK_F32));
    return rescale(call, sums, by, zero ? hk_reshape(zero, hk_shape()) : NULL,
                   hk_array_dtype(zero ? zero : onnx_in(call, 0)));
}

const onnx_row onnx_rows_quantized[] = {
    {"ConvInteger", run_conv_integer, 0},      {"DequantizeLinear", run_dequantize, 0},
    {"DynamicQuantizeLinear", run_dynamic, 0}, {"MatMulInteger", run_matmul_integer, 0},
    {"QLinearConv", run_qlinear_conv, 0},      {"QLinearMatMul", run_qlinear_matmul, 0},
    {"QuantizeLinear", run_quantize, 0},       {NULL, NULL, 0},
};
