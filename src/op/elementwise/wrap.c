/* wrap: integers as another dtype of integers, of which the low bits stay. Made of operators on
 * bits, which all devices have. */
#include "base/dtype.h"
#include "op/elementwise/elementwise.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"

#define WRAP_ARGUMENTS(F, op) F(op, DTYPE, dtype, "", "dtype of the result, of integers")
HKI_ARGUMENTS(wrap, WRAP_ARGUMENTS)

static bool infer(hki_call *call)
{
    const hk_dtype dtype = ((const hki_wrap_options *)call->options)->dtype;
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = dtype;
    return hki_call_check_dtype(call, dtype) &&
           (1u << dtype & HKI_INTEGERS ||
            hki_call_refuse(call, HK_INVALID_ARGUMENT,
                            "dtype is %s, but must be one of integers; hk_cast converts others",
                            hk_dtype_name(dtype)));
}

static hk_array *cast(hk_array *x, hk_dtype dtype)
{
    return hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){.dtype = dtype});
}

/* With a number that x's dtype has, and double. */
static hk_array *with(const hk_op *op, hk_array *x, double value)
{
    const hki_full_options number = {.value = value, .dtype = x->dtype};
    hk_array *y =
        hki_op_call(&hki_op_full, NULL, 0, &number, (hk_device){x->storage->device}, NULL);
    return hki_op_call2(op, x, y, NULL);
}

/* The highest of 64 bits tells the sign in one dtype, and not in the other: it goes by itself, half
 * the way at a time. */
static hk_array *as_u64(hk_array *x)
{
    hk_array *high = cast(
        with(&hki_op_bitwise_and, with(&hki_op_bitwise_right_shift, x, 32), 0x1p32 - 1), HK_U64);
    hk_array *low = cast(with(&hki_op_bitwise_and, x, 0x1p32 - 1), HK_U64);
    return hki_op_call2(&hki_op_bitwise_or, with(&hki_op_bitwise_left_shift, high, 32), low, NULL);
}

static hk_array *as_i64(hk_array *x)
{
    hk_array *high = cast(with(&hki_op_bitwise_right_shift, x, 32), HK_I64);
    hk_array *low = cast(with(&hki_op_bitwise_and, x, 0x1p32 - 1), HK_I64);
    return hki_op_call2(&hki_op_bitwise_or, with(&hki_op_bitwise_left_shift, high, 32), low, NULL);
}

static hk_array *compose(const hki_call *call)
{
    const hk_dtype dtype = call->out_dtype[0];
    const int bits = 8 * (int)hki_dtype_bytes(dtype);
    hk_array *x = call->arrays[0];
    if (x->failed || x->dtype == dtype)
        return cast(x, dtype);
    x = x->dtype == HK_U64 ? as_i64(x) : cast(x, HK_I64);
    if (bits == 64)
        return dtype == HK_U64 ? as_u64(x) : x;
    const double sign = (double)(INT64_C(1) << (bits - 1));
    x = with(&hki_op_bitwise_and, x, 2 * sign - 1);
    if (!hki_dtype_is_unsigned(dtype))
        x = with(&hki_op_subtract, with(&hki_op_bitwise_xor, x, sign), sign);
    return cast(x, dtype);
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][i] = in[0][i];
}

#define TO(type) .options = &(const hki_wrap_options){type}, .low = 0, .high = 10
static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(37)}, TO(HK_I8)},
    {.inputs = {HKI_SHAPE_0D}, TO(HK_U32)},
    {.inputs = {HKI_SHAPE(0, 3)}, TO(HK_I64)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7)}, TO(HK_U64)},
};

const hk_op hki_op_wrap = {
    HKI_OP_NAMED(wrap),
    HKI_OP_PARAMS(wrap),
    HKI_OP_SAMPLES(samples),
    .signature = "x",
    .doc = "Integers as another dtype of integers, to which they wrap around: the low bits stay, "
           "where hk_cast refuses what the dtype does not have.",
    .dtypes = HKI_INTEGERS,
    .infer = infer,
    .compose = compose,
    .no_grad_why = "it is of integers",
    .reference = reference,
};
