/* copy, to_device, pin, cast and assign: the same values in other memory, or of another dtype. */
#include "op/shape/copy.h"
#include "op/call/transfer.h"

#include "op/complex/complex.h"

#include "base/text.h"
#include "op/elementwise/elementwise.h"

#include <hocket/call.h>
#include <string.h>

/* ---- loops --------------------------------------------------------------------------------------------- */

enum { BLOCK = 1024 };

typedef struct cast {
    hki_load_fn load, widen; /* widen: NULL, or both in one */
    hki_store_fn store;
    int64_t bytes, to_bytes;
    bool is_wide; /* what is dense is stored from where it is */
} cast;

static int64_t cast_run(const hki_run *run)
{
    const cast *self = run->given;
    _Alignas(64) char memory[BLOCK * HKI_ELEMENT_BYTES];
    if (self->widen && run->out_step == self->to_bytes) {
        self->widen(run->n, run->in[0], run->in_step[0], run->out);
        return -1;
    }
    const bool is_there = self->is_wide && run->in_step[0] == self->bytes;
    for (int64_t begin = 0, n; begin < run->n; begin += n) {
        const char *in = run->in[0] + begin * run->in_step[0];
        n = run->n - begin < BLOCK ? run->n - begin : BLOCK;
        if (!is_there)
            self->load(n, in, run->in_step[0], memory);
        const int64_t refused =
            self->store(n, is_there ? in : memory, run->out + begin * run->out_step, run->out_step);
        if (refused >= 0)
            return begin + refused;
    }
    return -1;
}

static int64_t cast_rows(const hki_rows *rows, hki_loop_fn loop)
{
    const cast *self = rows->run.given;
    return hki_rows_are_turned(rows, &self->bytes) ? hki_run_turned(rows, &self->bytes, loop)
                                                   : hki_run_each(rows, loop);
}

static void copy_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_copy_elements(call, begin, end);
}

static void cast_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hk_dtype from = call->in[0].dtype, to = call->out[0].dtype;
    if (from == to) {
        hki_copy_elements(call, begin, end);
        return;
    }
    const hk_dtype wide = hki_cast_wide_of(from);
    const cast given = {.load = hki_load_of(from, wide),
                        .widen = hki_wide_of(to) == to ? hki_load_of(from, to) : NULL,
                        .store = hki_cast_of(wide, to),
                        .bytes = (int64_t)hki_dtype_bytes(from),
                        .to_bytes = (int64_t)hki_dtype_bytes(to),
                        .is_wide = from == wide};
    char text[64];
    hki_format(text, sizeof text, "a value that %s does not have", hk_dtype_name(to));
    int64_t refused = hki_walk_rows(call, begin, end, &given, cast_run, cast_rows);
    if (refused >= 0)
        hki_walk_fail(call, piece, refused, text);
}

/* ---- what the operators share ----------------------------------------------------------------------------- */

static void plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.25);
}

static bool refuse_to_real(hki_call *call, hk_dtype dtype)
{
    return hki_call_refuse(call, HK_UNSUPPORTED,
                           "x is %s, of which %s holds no imaginary parts; hk_real, hk_imag and "
                           "hk_abs give real numbers",
                           hk_dtype_name(call->inputs[0]->dtype), hk_dtype_name(dtype));
}

static bool cast_infer(hki_call *call)
{
    const hki_cast_options *options = call->options;
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = options->dtype;
    return hki_call_check_dtype(call, options->dtype) &&
           (!hki_dtype_is_complex(call->inputs[0]->dtype) || options->dtype == HK_BOOL ||
            hki_dtype_is_complex(options->dtype) || refuse_to_real(call, options->dtype));
}

static hk_array *whole_view(hk_array *x)
{
    return hki_array_view(x, x->shape, x->strides, x->offset);
}

static hk_array *cast_view(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    return x->dtype == call->out_dtype[0] ? whole_view(x) : NULL;
}

static hk_array *to_device_view(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    return x->storage->device == call->device ? whole_view(x) : NULL;
}

/* Where nothing copies from pinned memory, all memory is as good as pinned. */
static hk_array *pin_view(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    return x->storage->is_pinned || !call->device->pinned ? whole_view(x) : NULL;
}

static void copy_grad(hki_grad_call *call)
{
    call->dx[0] = call->dy;
}

static void cast_grad(hki_grad_call *call)
{
    call->dx[0] = hki_gradient_as(call->dy, call->input_dtype[0]);
}

static void to_device_grad(hki_grad_call *call)
{
    hk_device device = {call->input_device[0]};
    call->dx[0] = hki_op_call(&hki_op_to_device, &call->dy, 1, NULL, device, NULL);
}

static void copy_reference(const hki_call *call, const double *const *in, double *const *out)
{
    int64_t size = call->inputs[0]->size;
    for (int64_t i = 0; i < size; i++)
        out[0][i] =
            call->out_dtype[0] == HK_BOOL ? in[0][i] != 0 : in[0][i]; /* conformance rounds */
}

static const hki_sample copy_samples[] = {
    {.inputs = {HKI_SHAPE(37)}},
    {.inputs = {HKI_SHAPE_0D}},
    {.inputs = {HKI_SHAPE(2, 0)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 1, 4)}},
};

#define TO(type) .options = &(const hki_cast_options){type}, .low = 0, .high = 10
static const hki_sample cast_samples[] = {
    {.inputs = {HKI_SHAPE(37)}, TO(HK_F32)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_F64)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_I32)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_I64)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_U8)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_BOOL)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_F16)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_BF16)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_I8)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_I16)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_U16)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_U32)},
    {.inputs = {HKI_SHAPE(37)}, TO(HK_U64)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7)}, TO(HK_U64)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7)}, TO(HK_F16)},
    {.inputs = {HKI_SHAPE_0D}, TO(HK_F64)},
    {.inputs = {HKI_SHAPE(0)}, TO(HK_F64)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7)}, TO(HK_F64)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 3, 2)}, TO(HK_F32)},
};

const hk_op hki_op_copy = {
    HKI_OP_NAMED(copy),
    HKI_OP_SAMPLES(copy_samples),
    .signature = "x",
    .doc = "The same values in new memory, C order.",
    .dtypes = HKI_ANY_DTYPE,
    .elementwise = true,
    .gpu_dtypes = HKI_ALL_DTYPES,
    .infer = hki_infer_same,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .batch = hki_batch_elementwise,
    .fuse = HKI_FUSE_COPY,
    .kernel = {[HKI_CPU] = copy_kernel},
    .grad = copy_grad,
    .reference = copy_reference,
};

const hk_op hki_op_to_device = {
    HKI_OP_NAMED(to_device),
    HKI_OP_SAMPLES(copy_samples),
    .signature = "x",
    .doc = "The same values on another device, C order; a view of x when it is there already. What "
           "comes "
           "from an accelerator to the host is in pinned memory, see hk_pin.",
    .dtypes = HKI_ANY_DTYPE,
    .any_device = true,
    .gpu_dtypes = HKI_ALL_DTYPES,
    .infer = hki_infer_same,
    .view = to_device_view,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = copy_kernel},
    .grad = to_device_grad,
    .reference = copy_reference,
};

const hk_op hki_op_pin = {
    HKI_OP_NAMED(pin),
    HKI_OP_SAMPLES(copy_samples),
    .signature = "x",
    .doc = "The same values in page-locked memory of the host, C order: accelerators copy from and "
           "to it "
           "at full speed, from other memory by way of a buffer. A view of x where it is pinned "
           "already, "
           "on an accelerator, and where there are no accelerators.",
    .dtypes = HKI_ANY_DTYPE,
    .pinned = true,
    .gpu_dtypes = HKI_ALL_DTYPES,
    .infer = hki_infer_same,
    .view = pin_view,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = copy_kernel},
    .grad = copy_grad,
    .reference = copy_reference,
};

HKI_ARGUMENTS_TABLE(cast, HKI_CAST_ARGUMENTS)
const hk_op hki_op_cast = {
    HKI_OP_NAMED(cast),
    HKI_OP_PARAMS(cast),
    HKI_OP_SAMPLES(cast_samples),
    .signature = "x",
    .doc =
        "The same values as another dtype; a view of x when it has that dtype. Integers from "
        "floats "
        "are rounded towards zero, and one that the dtype does not have, NaN included, fails the "
        "result. Floats are rounded to the nearest, ties to even, and to an infinity beyond the "
        "largest. To bool: whether the value is not 0. Complex numbers become complex ones or bool "
        "alone.",
    .dtypes = HKI_ANY_DTYPE,
    .gpu_dtypes = HKI_GPU_DTYPES | HKI_HALVES | HKI_GPU_COPIES,
    .infer = cast_infer,
    .view = cast_view,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .batch = hki_batch_elementwise,
    .kernel = {[HKI_CPU] = cast_kernel},
    .grad = cast_grad,
    .reference = copy_reference,
};

HKI_ARGUMENTS_TABLE(assign, HKI_CAST_ARGUMENTS)
const hk_op hki_op_assign = {
    HKI_OP_NAMED(assign),
    HKI_OP_PARAMS(assign),
    HKI_OP_SAMPLES(cast_samples),
    .signature = "x",
    .doc = "For hk_assign: cast, from any device.",
    .dtypes = HKI_ANY_DTYPE,
    .any_device = true,
    .elementwise = true,
    .internal = true,
    .gpu_dtypes = HKI_GPU_DTYPES | HKI_HALVES | HKI_GPU_COPIES,
    .infer = cast_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = cast_kernel},
    .no_grad_why = "it overwrites",
    .reference = copy_reference,
};

static hk_array *as(hk_array *x, hk_dtype dtype)
{
    return !x || x->failed || x->dtype == dtype
               ? x
               : hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){.dtype = dtype});
}

hk_array *hki_op_call_wide(const hk_op *op, hk_array *const *inputs, int input_count,
                           const void *options, hk_dtype dtype)
{
    hk_array *wide[HKI_MAX_INPUTS];
    for (int i = 0; i < input_count; i++)
        wide[i] =
            inputs[i] && 1u << inputs[i]->dtype & HKI_HALVES ? as(inputs[i], HK_F32) : inputs[i];
    return as(hki_op_call(op, wide, input_count, options, (hk_device){NULL}, NULL), dtype);
}

/* ---- public functions built on them -------------------------------------------------------------------- */

void(hk_assign)(hk_array *dst, hk_array *src)
{
    hk_array *from = src;
    hki_assign_options options = {.dtype = dst ? dst->dtype : HK_F32};
    bool stretches =
        dst && src && !dst->failed && !src->failed && !hki_dims_equal(&dst->shape, &src->shape);
    if (stretches)
        from = hk_take((hk_broadcast_to)(src, dst->shape));
    hki_op_call_into(&hki_op_assign, &from, 1, &options, dst);
    if (stretches)
        hk_array_release(from);
}

hk_array *(hk_to_pageable)(hk_array *x, hk_device device)
{
    HKI_HOLD(held);
    hki_device *home = hki_device_hold(device, &held);
    const hk_status *gone = x ? hki_array_gone(x) : NULL;
    const bool comes = x && !gone && !x->failed && x->size > 0 && home->class &&
                       hki_device_is_host(home) && !hki_device_is_host(x->storage->device);
    hk_status_release(gone);
    if (!comes)
        return hki_op_call(&hki_op_to_device, &x, 1, NULL, device, NULL);
    hk_array *y = hki_array_create(home, x->shape, x->dtype);
    if (!y->failed)
        hki_transfer(y, x, "to_pageable", HKI_TRANSFER_FRESH | HKI_TRANSFER_LATE);
    return y;
}

hk_array *(hk_contiguous)(hk_array *x)
{
    if (x && hk_is_contiguous(x))
        return whole_view(x);
    return hki_op_call1(&hki_op_copy, x, NULL);
}
