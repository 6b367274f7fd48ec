/* Random numbers. A node with a seed has a stream of its own, which goes on from one run to the
 * next; others draw from the thread's. Seeds give Hocket's numbers: ONNX says nothing of which they
 * are. */
#include "rows.h"
#include "shapes.h"

#include <inttypes.h>
#include <math.h>

/* Numbers are drawn as floats or doubles. */
static hk_dtype drawn(hk_dtype dtype)
{
    return dtype == HK_F64 ? HK_F64 : HK_F32;
}

/* The attribute dtype, or otherwise another; of floats where that is asked. False after refusing.
 */
static bool dtype_of(onnx_call *call, hk_dtype otherwise, bool floats, hk_dtype *dtype)
{
    const int64_t onnx = onnx_int(call, "dtype", 0);
    *dtype = otherwise;
    if (onnx && (onnx < 0 || onnx > 1000 || !onnx_dtype_of((int32_t)onnx, dtype)))
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "ONNX's type %" PRId64 ", which Hocket does not have", onnx);
    return !floats || onnx_is_floating(*dtype) ||
           onnx_refuse(call, HK_INVALID_ARGUMENT, "random numbers of dtype %s, which has no floats",
                       hk_dtype_name(*dtype));
}

/* ---- of a shape ------------------------------------------------------------------------------ */

static bool draw(onnx_call *call, hk_dims shape, hk_dtype otherwise, bool normal)
{
    const double a = onnx_float(call, normal ? "mean" : "low", 0);
    const double b = onnx_float(call, normal ? "scale" : "high", 1);
    hk_generator *generator = call->node->generator;
    hk_dtype dtype;
    if (!dtype_of(call, otherwise, true, &dtype))
        return false;
    if (onnx_size_of(shape) < 0)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "a size is negative, or they are too large");
    if (!isfinite(a) || !isfinite(b) || (normal ? b < 0 : a >= b))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           normal ? "mean %g and scale %g" : "numbers from %g to %g", a, b);
    hk_array *x = normal
                      ? hk_random_normal_from(generator, a, b, shape, drawn(dtype), call->device)
                      : hk_random_uniform_from(generator, a, b, shape, drawn(dtype), call->device);
    return onnx_out(call, 0, hk_cast(x, dtype));
}

static bool of_shape(onnx_call *call, bool normal)
{
    hk_dims shape;
    shape.ndim = onnx_ints(call, "shape", shape.dims, HK_MAX_NDIM);
    return shape.ndim >= 0 ? draw(call, shape, HK_F32, normal)
                           : onnx_refuse(call, HK_INVALID_ARGUMENT, "no shape is given");
}

static bool like(onnx_call *call, bool normal)
{
    hk_array *x = onnx_in(call, 0);
    return x ? draw(call, hk_dims_get(x), hk_array_dtype(x), normal) : onnx_out(call, 0, NULL);
}

static bool run_normal(onnx_call *call)
{
    return of_shape(call, true);
}

static bool run_uniform(onnx_call *call)
{
    return of_shape(call, false);
}

static bool run_normal_like(onnx_call *call)
{
    return like(call, true);
}

static bool run_uniform_like(onnx_call *call)
{
    return like(call, false);
}

/* ---- by probabilities ------------------------------------------------------------------------ */

static bool run_bernoulli(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    hk_dtype dtype;
    if (!x)
        return onnx_out(call, 0, NULL);
    const hk_dtype by = drawn(hk_array_dtype(x));
    if (!onnx_is_floating(hk_array_dtype(x)))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "probabilities of dtype %s",
                           hk_dtype_name(hk_array_dtype(x)));
    if (!dtype_of(call, hk_array_dtype(x), false, &dtype))
        return false;
    hk_array *numbers =
        hk_random_uniform_from(call->node->generator, 0, 1, hk_dims_get(x), by, hk_array_device(x));
    return onnx_out(call, 0, hk_cast(hk_less(numbers, hk_cast(x, by)), dtype));
}

/* Classes of each row of logarithms of weights. */
static bool run_multinomial(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const int64_t samples = onnx_int(call, "sample_size", 1);
    hk_dtype dtype;
    if (!x || !dtype_of(call, HK_I32, false, &dtype))
        return onnx_out(call, 0, NULL);
    if (hk_ndim(x) != 2 || samples < 0 || samples > INT64_C(1) << 32 ||
        !onnx_is_floating(hk_array_dtype(x)) || !onnx_is_integer(dtype))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "an input of %d axes and dtype %s, and a sample_size of %" PRId64,
                           hk_ndim(x), hk_dtype_name(hk_array_dtype(x)), samples);
    const int64_t rows = hk_dim(x, 0), classes = hk_dim(x, 1);
    x = hk_reshape(hk_cast(x, drawn(hk_array_dtype(x))), hk_shape(rows, 1, classes));
    x = hk_contiguous(hk_broadcast_to(x, hk_shape(rows, samples, classes)));
    return onnx_out(call, 0, hk_cast(hk_random_categorical_from(call->node->generator, x), dtype));
}

/* ---- left out -------------------------------------------------------------------------------- */

/* Elements are set to 0 with a probability in training, and the others grow by as much; else all
 * stay. */
static bool run_dropout(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    onnx_value *given = onnx_in_value(call, 0);
    double ratio = onnx_float(call, "ratio", .5);
    int64_t training = 0;
    if (!x)
        return onnx_out(call, 0, NULL);
    if (onnx_has(call, 2) && onnx_in_ints(call, 2, &training, 1) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "training_mode is not one truth value");
    const hk_dtype mask_dtype = onnx_opset(call) < 10 ? hk_array_dtype(x) : HK_BOOL;
    const hk_dims shape = hk_dims_get(x);
    if (training && onnx_has(call, 1) && onnx_in_floats(call, 1, &ratio, 1) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "ratio is not one number");
    if (!training || ratio == 0)
        return onnx_out_value(call, 0, onnx_value_retain(given)) &&
               onnx_out(call, 1, hk_full(shape, 1, mask_dtype, call->device));
    if (!(ratio > 0 && ratio < 1))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "ratio is %g; expected 0 or more, and less "
                           "than 1",
                           ratio);
    hk_array *numbers =
        hk_random_uniform_from(call->node->generator, 0, 1, shape, HK_F32, call->device);
    hk_array *stays = hk_greater_equal(numbers, ratio);
    hk_array *y = hk_where(stays, hk_multiply(x, 1 / (1 - ratio)), 0);
    return onnx_out(call, 0, y) && onnx_out(call, 1, hk_cast(stays, mask_dtype));
}

const onnx_row onnx_rows_random[] = {
    {"Bernoulli", run_bernoulli, ONNX_NEW},
    {"Dropout", run_dropout, ONNX_NEW},
    {"Multinomial", run_multinomial, ONNX_NEW},
    {"RandomNormal", run_normal, ONNX_NEW},
    {"RandomNormalLike", run_normal_like, ONNX_NEW},
    {"RandomUniform", run_uniform, ONNX_NEW},
    {"RandomUniformLike", run_uniform_like, ONNX_NEW},
    {NULL, NULL, 0},
};
