/* The largest or smallest elements along an axis: the first ones in order. */
#include "op/call/scratch.h"
#include "op/shape/fill.h"
#include "op/sort/sort.h"

#include <inttypes.h>

HKI_ARGUMENTS_TABLE(topk, TOPK_ARGUMENTS)

static bool topk_infer(hki_call *call)
{
    hki_topk_options o = *(const hki_topk_options *)call->options;
    const hki_shape_view *x = call->inputs[0];
    if (!hki_call_take_axis(call, "axis", &o.axis, x->shape.ndim))
        return false;
    if (o.k < 0 || o.k > x->shape.dims[o.axis])
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "k is %" PRId64 ", but axis %" PRId64 " of x has %" PRId64
                               " entries",
                               o.k, o.axis, x->shape.dims[o.axis]);
    call->out_shape[0] = x->shape;
    call->out_shape[0].dims[o.axis] = o.k;
    call->out_shape[1] = call->out_shape[0];
    call->out_dtype[0] = x->dtype;
    call->out_dtype[1] = HK_I64;
    return true;
}

static void topk_plan(const hki_call *call, hki_plan *plan)
{
    const hki_topk_options *o = call->options;
    const hki_shape_view *x = call->inputs[0];
    const hki_lines lines = hki_lines_of(x->shape.ndim, x->shape.dims, o->axis);
    plan->extent = o->k > 0 ? lines.count : 0;
    plan->work_ns = 2 * (double)x->size + 100 * (double)o->k * (double)lines.count;
}

static void topk_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_topk_options *o = call->options;
    const hki_tensor *x = &call->in[0], *values = &call->out[0], *indices = &call->out[1];
    const hki_lines from = hki_lines_of(x->ndim, x->dims, o->axis),
                    to = hki_lines_of(values->ndim, values->dims, o->axis);
    const int64_t bytes = (int64_t)hki_dtype_bytes(x->dtype);
    const size_t scratch_bytes = (size_t)o->k * HKI_PAIR_BYTES;
    void *scratch = o->k > 0 ? hki_scratch_allocate(call, piece, scratch_bytes) : NULL;
    if (!scratch)
        return;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = hki_lines_at(&to, i);
        hki_select_of[x->dtype]((const char *)x->data + hki_lines_at(&from, i) * bytes,
                                (char *)values->data + at * bytes, (int64_t *)indices->data + at,
                                scratch, &from, &to, o->largest);
    }
    hki_scratch_release(call, scratch, scratch_bytes);
}

static void topk_grad(hki_grad_call *call)
{
    const hki_zeros_options zeros = {.shape = call->input_shape[0], .dtype = call->input_dtype[0]};
    const hk_device device = {call->input_device[0]};
    const int64_t axis = ((const hki_topk_options *)call->options)->axis;
    call->dx[0] = hki_op_call(&hki_op_zeros, NULL, 0, &zeros, device, NULL);
    if (call->dys[0])
        call->dx[0] =
            hki_op_call3(&hki_op_scatter_add, call->dx[0], call->outputs[1], call->dys[0], &axis);
}

/* Whether element a of a line comes before element b. */
static bool precedes(const double *line, int64_t step, bool largest, int64_t a, int64_t b)
{
    const double x = line[a * step], y = line[b * step];
    return x == y ? a < b : largest ? x > y : x < y;
}

static void topk_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_topk_options *o = call->options;
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_lines from = hki_lines_of(shape->ndim, shape->dims, o->axis),
                    to = hki_lines_of(shape->ndim, call->out_shape[0].dims, o->axis);
    for (int64_t i = 0; i < from.count; i++) {
        const double *line = in[0] + hki_lines_at(&from, i);
        for (int64_t j = 0; j < from.size; j++) {
            int64_t before = 0;
            for (int64_t l = 0; l < from.size; l++)
                before += l != j && precedes(line, from.inner, o->largest, l, j);
            if (before >= o->k)
                continue;
            const int64_t at = hki_lines_at(&to, i) + before * to.inner;
            out[0][at] = line[j * from.inner];
            out[1][at] = (double)j;
        }
    }
}

static const hki_sample topk_samples[] = {
    {.inputs = {HKI_SHAPE(9)}, HKI_GIVEN(topk, 3, 0, true)},
    {.inputs = {HKI_SHAPE(4, 7)}, HKI_GIVEN(topk, 2, -1, false)},
    {.inputs = {HKI_SHAPE(5, 3)}, HKI_GIVEN(topk, 5, 0, true)},
    {.inputs = {HKI_SHAPE(5, 3)}, HKI_GIVEN(topk, 0, 1, true)},
    {.inputs = {HKI_SHAPE(0, 3)}, HKI_GIVEN(topk, 2, 1, true)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 6, 3)}, HKI_GIVEN(topk, 2, 1, true)},
};

const hk_op hki_op_topk = {
    HKI_OP_NAMED(topk),
    HKI_OP_PARAMS(topk),
    HKI_OP_SAMPLES(topk_samples),
    .signature = "x",
    .outputs = "values, indices",
    .output_count = 2,
    .doc =
        "The k largest or smallest elements along an axis, in that order, and where they are, as "
        "int64; of equal ones the first. A NaN counts as larger than all numbers.",
    .dtypes = HKI_ALL_DTYPES,
    .contiguous = true,
    .infer = topk_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = topk_plan,
    .kernel = {[HKI_CPU] = topk_kernel},
    .grad = topk_grad,
    .grad_reads = {HKI_READS_OUTPUT_1},
    .reference = topk_reference,
};
