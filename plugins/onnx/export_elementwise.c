/* The way out of operators that go element by element. */
#include "export.h"

#include <math.h>
#include <string.h>

/* ---- by name --------------------------------------------------------------------------------- */

/* Of one or two inputs of the result's dtype. */
static const char *const same[][2] = {
    {"add", "Add"},
    {"subtract", "Sub"},
    {"multiply", "Mul"},
    {"maximum", "Max"},
    {"minimum", "Min"},
    {"power", "Pow"},
    {"negative", "Neg"},
    {"exp", "Exp"},
    {"log", "Log"},
    {"sqrt", "Sqrt"},
    {"abs", "Abs"},
    {"sigmoid", "Sigmoid"},
    {"tanh", "Tanh"},
    {"relu", "Relu"},
    {"sin", "Sin"},
    {"reciprocal", "Reciprocal"},
    {"cos", "Cos"},
    {"tan", "Tan"},
    {"asin", "Asin"},
    {"acos", "Acos"},
    {"atan", "Atan"},
    {"sinh", "Sinh"},
    {"cosh", "Cosh"},
    {"asinh", "Asinh"},
    {"acosh", "Acosh"},
    {"atanh", "Atanh"},
    {"erf", "Erf"},
    {"sign", "Sign"},
    {"softplus", "Softplus"},
    {"hard_swish", "HardSwish"},
    {"mish", "Mish"},
    {"prelu", "PRelu"},
    {"bitwise_and", "BitwiseAnd"},
    {"bitwise_or", "BitwiseOr"},
    {"bitwise_xor", "BitwiseXor"},
    {"bitwise_invert", "BitwiseNot"},
    {"log_of_sum", "Log"},
};

static const char *name_in(const char *const list[][2], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i][0], name))
            return list[i][1];
    return NULL;
}

static hk_dtype result_of(const onnx_writing *out)
{
    return onnx_out_of(out, 0)->dtype;
}

static bool add_same(onnx_writing *out)
{
    static const char *const of_bools[][2] = {{"bitwise_and", "And"},
                                              {"bitwise_or", "Or"},
                                              {"bitwise_xor", "Xor"},
                                              {"bitwise_invert", "Not"}};
    const char *op = name_in(same, sizeof same / sizeof same[0], out->node->operation);
    const hk_dtype dtype = result_of(out);
    const char *inputs[ONNX_OUT_MOST];
    const int count = out->node->input_count;
    if (dtype == HK_BOOL && name_in(of_bools, 4, out->node->operation))
        op = name_in(of_bools, 4, out->node->operation);
    else if (dtype == HK_BOOL)
        return onnx_out_refuse(out, "is of bools, for which ONNX has no such operator");
    for (int i = 0; i < count; i++)
        inputs[i] = onnx_out_in_as(out, i, dtype);
    return onnx_out_finish(out, onnx_out_add(out, op, NULL, count, inputs), dtype);
}

/* Integers stay. */
static bool add_rounding(onnx_writing *out)
{
    static const char *const names[][2] = {
        {"ceil", "Ceil"}, {"floor", "Floor"}, {"round", "Round"}};
    const hk_dtype dtype = result_of(out);
    const char *x = onnx_out_in_as(out, 0, dtype);
    if (!onnx_out_is_float(dtype))
        return onnx_out_finish(out, x, dtype);
    if (!strcmp(out->node->operation, "trunc"))
        return onnx_out_finish(
            out,
            ONNX_OUT(out, "Mul", NULL, ONNX_OUT(out, "Sign", NULL, x),
                     ONNX_OUT(out, "Floor", NULL, ONNX_OUT(out, "Abs", NULL, x))),
            dtype);
    return onnx_out_finish(out, ONNX_OUT(out, name_in(names, 3, out->node->operation), NULL, x),
                           dtype);
}

static bool add_divide(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    if (!onnx_out_is_float(dtype))
        return onnx_out_refuse(out, "divides integers, which ONNX rounds in another way");
    const char *y =
        ONNX_OUT(out, "Div", NULL, onnx_out_in_as(out, 0, dtype), onnx_out_in_as(out, 1, dtype));
    if (!strcmp(out->node->operation, "floor_divide"))
        y = ONNX_OUT(out, "Floor", NULL, y);
    return onnx_out_finish(out, y, dtype);
}

static bool add_remainder(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    const char *x = onnx_out_in_as(out, 0, dtype), *y = onnx_out_in_as(out, 1, dtype);
    if (!onnx_out_is_float(dtype))
        return onnx_out_finish(out, ONNX_OUT(out, "Mod", NULL, x, y), dtype);
    const char *times = ONNX_OUT(out, "Floor", NULL, ONNX_OUT(out, "Div", NULL, x, y));
    return onnx_out_finish(out, ONNX_OUT(out, "Sub", NULL, x, ONNX_OUT(out, "Mul", NULL, times, y)),
                           dtype);
}

/* ---- with a number --------------------------------------------------------------------------- */

static bool add_number(onnx_writing *out)
{
    static const char *const names[][2] = {
        {"add_scalar", "Add"},   {"multiply_scalar", "Mul"}, {"divide_scalar", "Div"},
        {"power_scalar", "Pow"}, {"maximum_scalar", "Max"},  {"minimum_scalar", "Min"},
    };
    const hk_dtype dtype = result_of(out);
    if (!onnx_out_is_float(dtype) && !strcmp(out->node->operation, "divide_scalar"))
        return onnx_out_refuse(out, "divides integers, which ONNX rounds in another way");
    return onnx_out_finish(out,
                           ONNX_OUT(out, name_in(names, 6, out->node->operation), NULL,
                                    onnx_out_in_as(out, 0, dtype),
                                    onnx_out_scalar(out, onnx_out_number(out, "value"), dtype)),
                           dtype);
}

static bool add_slope(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    const char *op = !strcmp(out->node->operation, "elu") ? "Elu" : "LeakyRelu";
    const char *y = ONNX_OUT(out, op, NULL, onnx_out_in_as(out, 0, dtype));
    onnx_out_set_float(out, "alpha", onnx_out_number(out, "value"));
    return onnx_out_finish(out, y, dtype);
}

static bool add_clip(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    const double min = onnx_out_number(out, "min"), max = onnx_out_number(out, "max");
    const char *x = onnx_out_in_as(out, 0, dtype);
    return onnx_out_finish(out,
                           ONNX_OUT(out, "Clip", NULL, x,
                                    isinf(min) ? NULL : onnx_out_scalar(out, min, dtype),
                                    isinf(max) ? NULL : onnx_out_scalar(out, max, dtype)),
                           dtype);
}

static bool add_hard_sigmoid(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    const char *y = ONNX_OUT(out, "HardSigmoid", NULL, onnx_out_in_as(out, 0, dtype));
    onnx_out_set_float(out, "alpha", 1.0 / 6);
    onnx_out_set_float(out, "beta", 0.5);
    return onnx_out_finish(out, y, dtype);
}

/* ---- made of others -------------------------------------------------------------------------- */

static const char *scaled(onnx_writing *out, const char *x, double by)
{
    return ONNX_OUT(out, "Mul", NULL, x, onnx_out_scalar(out, by, result_of(out)));
}

static const char *shifted(onnx_writing *out, const char *x, double by)
{
    return ONNX_OUT(out, "Add", NULL, x, onnx_out_scalar(out, by, result_of(out)));
}

static bool add_gelu(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    const char *x = onnx_out_in_as(out, 0, dtype);
    const char *erf = ONNX_OUT(out, "Erf", NULL,
                               ONNX_OUT(out, "Div", NULL, x, onnx_out_scalar(out, sqrt(2), dtype)));
    return onnx_out_finish(
        out, scaled(out, ONNX_OUT(out, "Mul", NULL, x, shifted(out, erf, 1)), 0.5), dtype);
}

static bool add_gelu_tanh(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    const char *x = onnx_out_in_as(out, 0, dtype);
    const char *cube = ONNX_OUT(out, "Mul", NULL, ONNX_OUT(out, "Mul", NULL, x, x), x);
    const char *sum = ONNX_OUT(out, "Add", NULL, x, scaled(out, cube, 0.044715));
    const char *tanh = ONNX_OUT(out, "Tanh", NULL, scaled(out, sum, sqrt(2 / acos(-1))));
    return onnx_out_finish(
        out, scaled(out, ONNX_OUT(out, "Mul", NULL, x, shifted(out, tanh, 1)), 0.5), dtype);
}

static bool add_made(onnx_writing *out)
{
    const char *name = out->node->operation, *y = NULL;
    const hk_dtype dtype = result_of(out);
    const char *x = onnx_out_in_as(out, 0, dtype), *with = onnx_out_in_as(out, 1, dtype);
    if (!strcmp(name, "silu"))
        y = ONNX_OUT(out, "Mul", NULL, x, ONNX_OUT(out, "Sigmoid", NULL, x));
    else if (!strcmp(name, "square"))
        y = ONNX_OUT(out, "Mul", NULL, x, x);
    else if (!strcmp(name, "rsqrt"))
        y = ONNX_OUT(out, "Reciprocal", NULL, ONNX_OUT(out, "Sqrt", NULL, x));
    else if (!strcmp(name, "expm1"))
        y = shifted(out, ONNX_OUT(out, "Exp", NULL, x), -1);
    else if (!strcmp(name, "log1p"))
        y = ONNX_OUT(out, "Log", NULL, shifted(out, x, 1));
    else if (!strcmp(name, "log2"))
        y = scaled(out, ONNX_OUT(out, "Log", NULL, x), 1 / log(2));
    else if (!strcmp(name, "log10"))
        y = scaled(out, ONNX_OUT(out, "Log", NULL, x), 1 / log(10));
    else
        y = ONNX_OUT(out, "Sqrt", NULL,
                     ONNX_OUT(out, "Add", NULL, ONNX_OUT(out, "Mul", NULL, x, x),
                              ONNX_OUT(out, "Mul", NULL, with, with)));
    return onnx_out_finish(out, y, dtype);
}

/* ---- truth ----------------------------------------------------------------------------------- */

/* Both inputs in the dtype in which they are compared. */
static bool add_compare(onnx_writing *out)
{
    static const char *const names[][2] = {
        {"equal", "Equal"},     {"not_equal", "Equal"},
        {"less", "Less"},       {"less_equal", "LessOrEqual"},
        {"greater", "Greater"}, {"greater_equal", "GreaterOrEqual"},
    };
    const hk_export_value *x = onnx_out_in(out, 0), *y = onnx_out_in(out, 1);
    const char *name = out->node->operation;
    hk_dtype dtype = HK_BOOL;
    if (x->dtype != y->dtype && !hk_dtype_promote(x->dtype, y->dtype, &dtype))
        return onnx_out_refuse(out, "compares %s with %s", hk_dtype_name(x->dtype),
                               hk_dtype_name(y->dtype));
    dtype = x->dtype == y->dtype ? x->dtype : dtype;
    dtype = dtype == HK_BOOL || (!onnx_out_is_float(dtype) && hk_dtype_bytes(dtype) < 4) ? HK_I32
                                                                                         : dtype;
    const char *truth = ONNX_OUT(out, name_in(names, 6, name), NULL, onnx_out_in_as(out, 0, dtype),
                                 onnx_out_in_as(out, 1, dtype));
    if (!strcmp(name, "not_equal"))
        truth = ONNX_OUT(out, "Not", NULL, truth);
    return onnx_out_finish(out, truth, HK_BOOL);
}

static bool add_logical(onnx_writing *out)
{
    static const char *const names[][2] = {{"logical_and", "And"},
                                           {"logical_or", "Or"},
                                           {"logical_xor", "Xor"},
                                           {"logical_not", "Not"}};
    const char *inputs[2] = {onnx_out_in_as(out, 0, HK_BOOL), onnx_out_in_as(out, 1, HK_BOOL)};
    return onnx_out_finish(out,
                           onnx_out_add(out, name_in(names, 4, out->node->operation), NULL,
                                        out->node->input_count, inputs),
                           HK_BOOL);
}

static bool add_kind_of(onnx_writing *out)
{
    const char *name = out->node->operation;
    const hk_dtype given = onnx_out_in(out, 0)->dtype;
    const hk_dtype dtype = given == HK_F64 || given == HK_F32 ? given : HK_F32;
    const char *x = onnx_out_in_as(out, 0, dtype), *truth;
    if (!strcmp(name, "isnan"))
        truth = ONNX_OUT(out, "IsNaN", NULL, x);
    else if (!strcmp(name, "isinf"))
        truth = ONNX_OUT(out, "IsInf", NULL, x);
    else
        truth = ONNX_OUT(out, "Not", NULL,
                         ONNX_OUT(out, "Or", NULL, ONNX_OUT(out, "IsNaN", NULL, x),
                                  ONNX_OUT(out, "IsInf", NULL, x)));
    return onnx_out_finish(out, truth, HK_BOOL);
}

static bool add_where(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    return onnx_out_finish(out,
                           ONNX_OUT(out, "Where", NULL, onnx_out_in_as(out, 0, HK_BOOL),
                                    onnx_out_in_as(out, 1, dtype), onnx_out_in_as(out, 2, dtype)),
                           dtype);
}

/* Less both parts of a mean. */
static bool add_centred(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    const char *once =
        ONNX_OUT(out, "Sub", NULL, onnx_out_in_name(out, 0), onnx_out_in_name(out, 1));
    return onnx_out_finish(out, ONNX_OUT(out, "Sub", NULL, once, onnx_out_in_name(out, 2)), dtype);
}

/* In float64, as it comes. */
static bool add_deviation(onnx_writing *out)
{
    const char *y = ONNX_OUT(out, "Div", NULL, onnx_out_in_as(out, 0, HK_F64),
                             onnx_out_scalar(out, onnx_out_number(out, "divisor"), HK_F64));
    if (onnx_out_int(out, "is_root"))
        y = ONNX_OUT(out, "Sqrt", NULL, y);
    return onnx_out_finish(out, y, HK_F64);
}

/* max(x, y) + ln(1 + e^-|x - y|); of equal ones, infinities too, x + ln 2. */
static bool add_logaddexp(onnx_writing *out)
{
    const hk_dtype dtype = result_of(out);
    const char *x = onnx_out_in_as(out, 0, dtype), *y = onnx_out_in_as(out, 1, dtype);
    const char *apart = ONNX_OUT(out, "Abs", NULL, ONNX_OUT(out, "Sub", NULL, x, y));
    const char *more = ONNX_OUT(out, "Exp", NULL, ONNX_OUT(out, "Neg", NULL, apart));
    more = ONNX_OUT(out, "Log", NULL, shifted(out, more, 1));
    const char *sum = ONNX_OUT(out, "Add", NULL, ONNX_OUT(out, "Max", NULL, x, y), more);
    return onnx_out_finish(out,
                           ONNX_OUT(out, "Where", NULL, ONNX_OUT(out, "Equal", NULL, x, y),
                                    shifted(out, x, log(2)), sum),
                           dtype);
}

static bool add_cast(onnx_writing *out)
{
    return onnx_out_finish(out, onnx_out_in_name(out, 0), onnx_out_in(out, 0)->dtype);
}

const onnx_export_row onnx_export_elementwise[] = {
    {"add", add_same},
    {"subtract", add_same},
    {"multiply", add_same},
    {"maximum", add_same},
    {"minimum", add_same},
    {"power", add_same},
    {"negative", add_same},
    {"exp", add_same},
    {"log", add_same},
    {"log_of_sum", add_same},
    {"sqrt", add_same},
    {"abs", add_same},
    {"sigmoid", add_same},
    {"tanh", add_same},
    {"relu", add_same},
    {"reciprocal", add_same},
    {"sin", add_same},
    {"cos", add_same},
    {"tan", add_same},
    {"asin", add_same},
    {"acos", add_same},
    {"atan", add_same},
    {"sinh", add_same},
    {"cosh", add_same},
    {"asinh", add_same},
    {"acosh", add_same},
    {"atanh", add_same},
    {"erf", add_same},
    {"sign", add_same},
    {"softplus", add_same},
    {"hard_swish", add_same},
    {"mish", add_same},
    {"prelu", add_same},
    {"bitwise_and", add_same},
    {"bitwise_or", add_same},
    {"bitwise_xor", add_same},
    {"bitwise_invert", add_same},
    {"ceil", add_rounding},
    {"floor", add_rounding},
    {"round", add_rounding},
    {"trunc", add_rounding},
    {"divide", add_divide},
    {"floor_divide", add_divide},
    {"remainder", add_remainder},
    {"add_scalar", add_number},
    {"multiply_scalar", add_number},
    {"divide_scalar", add_number},
    {"power_scalar", add_number},
    {"maximum_scalar", add_number},
    {"minimum_scalar", add_number},
    {"elu", add_slope},
    {"leaky_relu", add_slope},
    {"clip", add_clip},
    {"hard_sigmoid", add_hard_sigmoid},
    {"gelu", add_gelu},
    {"gelu_tanh", add_gelu_tanh},
    {"silu", add_made},
    {"square", add_made},
    {"rsqrt", add_made},
    {"expm1", add_made},
    {"log1p", add_made},
    {"log2", add_made},
    {"log10", add_made},
    {"hypot", add_made},
    {"logaddexp", add_logaddexp},
    {"equal", add_compare},
    {"not_equal", add_compare},
    {"less", add_compare},
    {"less_equal", add_compare},
    {"greater", add_compare},
    {"greater_equal", add_compare},
    {"logical_and", add_logical},
    {"logical_or", add_logical},
    {"logical_xor", add_logical},
    {"logical_not", add_logical},
    {"isnan", add_kind_of},
    {"isinf", add_kind_of},
    {"isfinite", add_kind_of},
    {"where", add_where},
    {"cast", add_cast},
    {"centred", add_centred},
    {"deviation", add_deviation},
    {NULL, NULL},
};
