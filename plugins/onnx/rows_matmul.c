/* Products of matrices, and determinants. */
#include "compute.h"
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The product in the dtype of its factors; Hocket gives float32 for halves, and has no unsigned
 * ones, whose bits are the same. */
static hk_array *product(hk_array *a, hk_array *b)
{
    const hk_dtype dtype = hk_array_dtype(a);
    if (dtype != hk_array_dtype(b))
        return hk_matmul(a, b);
    if (dtype == HK_U32 || dtype == HK_U64) {
        const hk_dtype with_sign = dtype == HK_U32 ? HK_I32 : HK_I64;
        return hk_wrap(hk_matmul(hk_wrap(a, with_sign), hk_wrap(b, with_sign)), dtype);
    }
    return onnx_to(hk_matmul(a, b), dtype);
}

static bool run_matmul(onnx_call *call)
{
    hk_array *a = onnx_in(call, 0), *b = onnx_in(call, 1);
    return onnx_out(call, 0, a && b ? product(a, b) : NULL);
}

/* ---- Gemm ------------------------------------------------------------------------------------ */

static hk_array *scaled(hk_array *x, double by)
{
    return by == 1 ? x : hk_multiply(x, onnx_number_like(by, x));
}

/* x W^T + bias, which is one call. */
static hk_array *fully_connected(hk_array *a, hk_array *b, hk_array *c)
{
    const hk_dtype dtype = hk_array_dtype(a);
    hk_array *bias = c ? onnx_wide(hk_reshape(c, hk_shape(-1))) : NULL;
    return onnx_to(hk_linear(a, b, bias), dtype);
}

static bool is_bias(hk_array *c, int64_t columns)
{
    const hk_dims shape = hk_dims_get(c);
    return (shape.ndim == 1 || (shape.ndim == 2 && shape.dims[0] == 1)) &&
           shape.dims[shape.ndim - 1] == columns;
}

static bool gemm_fits(onnx_call *call, hk_array *a, hk_array *b, double alpha, double beta)
{
    if (!a || !b)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "A and B are needed");
    if (onnx_has_failed(call, a) || onnx_has_failed(call, b))
        return false;
    if (hk_ndim(a) != 2 || hk_ndim(b) != 2)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "A has %d axes and B %d, but both must be matrices", hk_ndim(a),
                           hk_ndim(b));
    if (!onnx_is_real(hk_array_dtype(a)) && (floor(alpha) != alpha || floor(beta) != beta))
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "alpha is %g and beta %g; of integers they are whole numbers", alpha,
                           beta);
    return true;
}

static bool run_gemm(onnx_call *call)
{
    hk_array *a = onnx_in(call, 0), *b = onnx_in(call, 1), *c = onnx_in(call, 2);
    const double alpha = onnx_float(call, "alpha", 1), beta = onnx_float(call, "beta", 1);
    if (!gemm_fits(call, a, b, alpha, beta))
        return false;
    c = beta == 0 ? NULL : c;
    const bool turns_a = onnx_int(call, "transA", 0), turns_b = onnx_int(call, "transB", 0);
    const bool is_simple = turns_b && alpha == 1 && beta == 1 && onnx_is_real(hk_array_dtype(a)) &&
                           hk_array_dtype(a) == hk_array_dtype(b);
    a = turns_a ? hk_transpose(a) : a;
    if (is_simple && (!c || is_bias(c, hk_dim(b, 0))))
        return onnx_out(call, 0, fully_connected(a, b, c));
    b = turns_b ? hk_transpose(b) : b;
    hk_array *y = scaled(product(a, b), alpha);
    if (c)
        y = hk_add(y, hk_broadcast_to(scaled(c, beta), hk_dims_get(y)));
    return onnx_out(call, 0, y);
}

/* ---- com.microsoft:FusedMatMul --------------------------------------------------------------- */

/* The first axis is the matrix's, and batches lie between it and the last one; then the matrix
 * itself. */
static hk_array *turned(onnx_call *call, hk_array *x, const char *batch, const char *matrix)
{
    if (onnx_int(call, batch, 0) && hk_ndim(x) > 2)
        x = hk_moveaxis(x, 0, -2);
    return onnx_int(call, matrix, 0) && hk_ndim(x) > 1 ? hk_swapaxes(x, -1, -2) : x;
}

static bool run_fused_matmul(onnx_call *call)
{
    hk_array *a = onnx_in(call, 0), *b = onnx_in(call, 1);
    if (!a || !b)
        return onnx_out(call, 0, NULL);
    a = turned(call, a, "transBatchA", "transA");
    b = turned(call, b, "transBatchB", "transB");
    return onnx_out(call, 0, scaled(product(a, b), onnx_float(call, "alpha", 1)));
}

/* ---- others ---------------------------------------------------------------------------------- */

static bool run_einsum(onnx_call *call)
{
    enum { MOST = 32 };
    hk_array *inputs[MOST];
    char subscripts[512];
    const int count = onnx_in_count(call);
    const Onnx__AttributeProto *equation = onnx_attribute(call, "equation");
    if (!equation || equation->s.len >= sizeof subscripts || count < 1 || count > MOST)
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "an equation of %zu characters for %d inputs; known are 1 to %zu for 1 "
                           "to %d",
                           equation ? equation->s.len : 0, count, sizeof subscripts - 1, MOST);
    memcpy(subscripts, equation->s.data, equation->s.len);
    subscripts[equation->s.len] = 0;
    for (int i = 0; i < count; i++)
        if (!(inputs[i] = onnx_in(call, i)))
            return onnx_out(call, 0, NULL);
    return onnx_out(call, 0, hk_einsum(subscripts, inputs, count));
}

static bool run_det(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    return onnx_needs_floats(call, x, "X", 2) &&
           onnx_out(call, 0, onnx_to(hk_det(onnx_wide(x)), hk_array_dtype(x)));
}

const onnx_row onnx_rows_matmul[] = {
    {"Det", run_det, 0},
    {"Einsum", run_einsum, 0},
    {"Gemm", run_gemm, 0},
    {"MatMul", run_matmul, 0},
    {"com.microsoft:FusedMatMul", run_fused_matmul, 0},
    {NULL, NULL, 0},
};
