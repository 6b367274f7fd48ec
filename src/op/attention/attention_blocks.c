/* Attention as one operator, which never has all scores, and its gradient. The loops are in
 * attention_work.h. */
#include "base/integer.h"
#include "op/attention/attention.h"
#include "op/attention/attention_kernel.h"
#include "op/call/plan.h"
#include "op/call/scratch.h"

#include <math.h>

HKI_ARGUMENTS_TABLE(attention_blocks, ATTENTION_BLOCKS_ARGUMENTS)
#define attention_blocks_backward_params attention_blocks_params

enum { QUERY, KEY, VALUE, MASK };                    /* inputs */
enum { BACK_DY = 3, BACK_Y, BACK_SAVED, BACK_MASK }; /* inputs of the gradient, after these three */
enum { SAVED = 1 };                                  /* an output: what is saved for each query */

/* ---- shapes -------------------------------------------------------------------------------------------- */

static int64_t from_behind(const hk_dims *dims, int axis)
{
    return dims->dims[dims->ndim - axis];
}

/* Sizes of one of the matrices. */
static hki_attention sizes_of(const hk_dims *query, const hk_dims *key, const hk_dims *value,
                              hk_dtype dtype, const void *options)
{
    const hki_attention_blocks_options *o = options;
    return (hki_attention){.f64 = dtype == HK_F64,
                           .causal = o->causal,
                           .n = from_behind(query, 2),
                           .m = from_behind(key, 2),
                           .d = from_behind(query, 1),
                           .e = from_behind(value, 1),
                           .scale = o->scale};
}

static hki_attention sizes_of_call(const hki_call *call)
{
    return sizes_of(&call->inputs[QUERY]->shape, &call->inputs[KEY]->shape,
                    &call->inputs[VALUE]->shape, call->inputs[QUERY]->dtype, call->options);
}

/* What the public operator has accepted needs no text for people. */
static bool blocks_infer(hki_call *call)
{
    const hk_dims *query = &call->inputs[QUERY]->shape;
    const hki_attention of = sizes_of_call(call);
    call->out_shape[0] = call->out_shape[SAVED] = *query;
    call->out_shape[0].dims[query->ndim - 1] = from_behind(&call->inputs[VALUE]->shape, 1);
    call->out_shape[SAVED].dims[query->ndim - 1] = hki_attention_saved_row(&of);
    call->out_dtype[0] = call->out_dtype[SAVED] = call->inputs[QUERY]->dtype;
    return true;
}

static bool backward_infer(hki_call *call)
{
    for (int i = 0; i < 3; i++) {
        call->out_shape[i] = call->inputs[i]->shape;
        call->out_dtype[i] = call->inputs[i]->dtype;
    }
    return true;
}

static int64_t matrices_of(int ndim, const int64_t *dims)
{
    int64_t count = 1;
    for (int i = 0; i < ndim - 2; i++)
        count *= dims[i];
    return count;
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

/* In nanoseconds, of so many products for each of d and of e, and exponentials. */
static double work_of(const hki_attention *of, double by_d, double by_e)
{
    const double scores = (double)of->n * (double)of->m * (of->causal ? 0.6 : 1);
    const double per_ns = of->f64 ? 25 : 50, others = of->f64 ? 2 : 0.6;
    return 200 + scores * (others + (by_d * (double)of->d + by_e * (double)of->e) / per_ns);
}

static void plan_of(const hki_call *call, int64_t units, double by_d, double by_e, hki_plan *plan)
{
    const hk_dims *query = &call->inputs[QUERY]->shape;
    const hki_attention of = sizes_of_call(call);
    const int64_t matrices = matrices_of(query->ndim, query->dims);
    plan->extent = matrices * units;
    plan->max_pieces = hki_plan_pieces_for(call);
    plan->work_ns = (double)matrices * work_of(&of, by_d, by_e);
    plan->flops = (double)matrices * (double)of.n * (double)of.m *
                  (2 * (by_d * (double)of.d + by_e * (double)of.e) + 1);
}

static void blocks_plan(const hki_call *call, hki_plan *plan)
{
    const hki_attention of = sizes_of_call(call);
    plan_of(call, hki_attention_query_blocks(&of), 1, 1, plan);
}

/* All of a matrix takes fewer products than its parts do: matrices are cut where they are few. No
 * byte depends on that. */
static void backward_plan(const hki_call *call, hki_plan *plan)
{
    const hki_attention of = sizes_of_call(call);
    const int64_t units = hki_attention_query_blocks(&of) + hki_attention_key_blocks(&of);
    plan_of(call, units, 3, 2, plan);
    if (plan->extent >= 2 * call->device->core_count * units)
        plan->grain = units;
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

/* Where a matrix of x begins, and how it lies. x has the axes of queries, or fewer, of which those
 * of size 1 are repeated. */
static hki_attention_side side_of(const hki_tensor *x, const hki_tensor *query, int64_t matrix)
{
    int64_t offset = 0, strides[2] = {0, 0};
    const int missing = query->ndim - x->ndim;
    for (int i = query->ndim - 3; i >= 0; i--) {
        const int64_t at = matrix % query->dims[i];
        matrix /= query->dims[i];
        if (i >= missing && x->dims[i - missing] > 1)
            offset += at * x->strides[i - missing];
    }
    for (int i = 0; i < 2; i++) {
        const int axis = x->ndim - 2 + i;
        if (axis >= 0 && x->dims[axis] > 1)
            strides[i] = x->strides[axis];
    }
    return (hki_attention_side){(const char *)x->data + offset * (int64_t)hk_dtype_bytes(x->dtype),
                                strides[0], strides[1]};
}

static void *rows_of(const hki_tensor *x, int64_t matrix)
{
    return (char *)x->data +
           matrix * x->dims[x->ndim - 2] * x->dims[x->ndim - 1] * (int64_t)hk_dtype_bytes(x->dtype);
}

static hki_attention attention_of(const hki_kernel_call *call, int mask)
{
    const hki_tensor *in = call->in;
    hk_dims dims[3];
    for (int i = 0; i < 3; i++) {
        dims[i].ndim = in[i].ndim;
        for (int axis = 0; axis < in[i].ndim; axis++)
            dims[i].dims[axis] = in[i].dims[axis];
    }
    hki_attention of = sizes_of(&dims[0], &dims[1], &dims[2], in[QUERY].dtype, call->options);
    if (mask < call->input_count && in[mask].data) {
        of.mask.data = in[mask].data; /* there is one */
        of.mask_is_bool = in[mask].dtype == HK_BOOL;
    }
    return of;
}

static void move_to(const hki_kernel_call *call, int64_t matrix, int mask, hki_attention *of)
{
    const hki_tensor *in = call->in;
    of->query = side_of(&in[QUERY], &in[QUERY], matrix);
    of->key = side_of(&in[KEY], &in[QUERY], matrix);
    of->value = side_of(&in[VALUE], &in[QUERY], matrix);
    if (of->mask.data)
        of->mask = side_of(&in[mask], &in[QUERY], matrix);
}

static void blocks_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hki_attention of = attention_of(call, MASK);
    const int64_t units = hki_attention_query_blocks(&of);
    const size_t bytes = hki_attention_scratch_bytes(&of, false);
    void *scratch = begin < end ? hki_scratch_allocate(call, piece, bytes) : NULL;
    if (!scratch)
        return;
    for (int64_t next; begin < end; begin = next) {
        const int64_t matrix = begin / units, first = matrix * units;
        next = hki_min(first + units, end);
        move_to(call, matrix, MASK, &of);
        of.y = rows_of(&call->out[0], matrix);
        of.saved = rows_of(&call->out[SAVED], matrix);
        hki_attention_forward(&of, begin - first, next - first, scratch);
    }
    hki_scratch_release(call, scratch, bytes);
}

static void backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *in = call->in;
    hki_attention of = attention_of(call, BACK_MASK);
    const int64_t units = hki_attention_query_blocks(&of) + hki_attention_key_blocks(&of);
    const size_t bytes = hki_attention_scratch_bytes(&of, true);
    void *scratch = begin < end ? hki_scratch_allocate(call, piece, bytes) : NULL;
    if (!scratch)
        return;
    for (int64_t next; begin < end; begin = next) {
        const int64_t matrix = begin / units, first = matrix * units;
        next = hki_min(first + units, end);
        move_to(call, matrix, BACK_MASK, &of);
        of.dy = side_of(&in[BACK_DY], &in[QUERY], matrix);
        of.y = rows_of(&in[BACK_Y], matrix);
        of.saved = rows_of(&in[BACK_SAVED], matrix);
        of.dquery = rows_of(&call->out[QUERY], matrix);
        of.dkey = rows_of(&call->out[KEY], matrix);
        of.dvalue = rows_of(&call->out[VALUE], matrix);
        hki_attention_backward(&of, begin - first, next - first, scratch);
    }
    hki_scratch_release(call, scratch, bytes);
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

static hki_attention_inputs inputs_of(const hki_grad_call *call, int mask)
{
    hk_array *const *in = call->inputs;
    return (hki_attention_inputs){in[QUERY], in[KEY], in[VALUE], in[mask],
                                  *(const hki_attention_blocks_options *)call->options};
}

/* The gradient of a mask is made of scores' slopes, which are all needed then. */
static void blocks_grad(hki_grad_call *call)
{
    hk_array *const *in = call->inputs;
    hk_array *gradients[3];
    if (call->wanted[MASK]) {
        const hki_attention_inputs its = inputs_of(call, MASK);
        hki_attention_composed_gradients(&its, call);
        return;
    }
    hk_array *const inputs[] = {in[QUERY],    in[KEY],     in[VALUE], call->dy,
                                call->output, call->saved, in[MASK]};
    hki_op_call_all(&hki_op_attention_blocks_backward, inputs, 7, call->options, (hk_device){NULL},
                    gradients, 3);
    for (int i = 0; i < 3; i++)
        if (call->wanted[i])
            call->dx[i] = gradients[i];
}

static void backward_grad(hki_grad_call *call)
{
    const hki_attention_inputs its = inputs_of(call, BACK_MASK);
    hki_attention_second(&its, call, BACK_DY, BACK_MASK);
}

/* ---- conformance --------------------------------------------------------------------------------------- */

static void blocks_reference(const hki_call *call, const double *const *in, double *const *out)
{
    hki_attention_reference(call, in, out, call->options);
}

#define BLOCKS(causal, scale)                                                                      \
    .options = &(const hki_attention_blocks_options)                                               \
    {                                                                                              \
        causal, scale                                                                              \
    }
/* A mask that leaves out some. */
#define BOOL_MASK(input) [input] = {true, HK_BOOL, -1, 2}

static const hki_sample blocks_samples[] = {
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(5, 4), HKI_SHAPE(5, 2), HKI_SHAPE_NONE},
     BLOCKS(false, 0.5)},
    {.inputs = {HKI_SHAPE(2, 7, 4), HKI_SHAPE(2, 7, 4), HKI_SHAPE(2, 7, 3), HKI_SHAPE_NONE},
     BLOCKS(true, 0.5)},
    {.inputs = {HKI_SHAPE(2, 3, 5, 4), HKI_SHAPE(2, 3, 6, 4), HKI_SHAPE(2, 3, 6, 3),
                HKI_SHAPE(3, 1, 6)},
     BLOCKS(false, 0.7)},
    {.inputs = {HKI_SHAPE(2, 3, 5, 4), HKI_SHAPE(2, 3, 6, 4), HKI_SHAPE(2, 3, 6, 3),
                HKI_SHAPE(2, 1, 5, 6)},
     .own = {BOOL_MASK(MASK)},
     BLOCKS(false, 1)},
    {.inputs = {HKI_SHAPE(300, 8), HKI_SHAPE(270, 8), HKI_SHAPE(270, 5), HKI_SHAPE(300, 270)},
     .own = {BOOL_MASK(MASK)},
     BLOCKS(false, 1)},
    {.inputs = {HKI_SHAPE(2, 290, 8), HKI_SHAPE(2, 290, 8), HKI_SHAPE(2, 290, 8), HKI_SHAPE_NONE},
     BLOCKS(true, 1)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 2, 6, 3), HKI_SHAPE(2, 2, 5, 3), HKI_SHAPE(2, 2, 5, 3),
                HKI_SHAPE(6, 5)},
     BLOCKS(false, 1)},
    {.inputs = {HKI_SHAPE(3, 4), HKI_SHAPE(0, 4), HKI_SHAPE(0, 2), HKI_SHAPE_NONE},
     BLOCKS(false, 1)},
    {.inputs = {HKI_SHAPE(0, 4), HKI_SHAPE(3, 4), HKI_SHAPE(3, 2), HKI_SHAPE_NONE},
     BLOCKS(false, 1)},
    {.inputs = {HKI_SHAPE(3, 0), HKI_SHAPE(4, 0), HKI_SHAPE(4, 2), HKI_SHAPE_NONE},
     BLOCKS(false, 1)},
};

#define BACK(n, m, d, e, ...)                                                                      \
    .inputs = {HKI_SHAPE(2, n, d), HKI_SHAPE(2, m, d),                                             \
               HKI_SHAPE(2, m, e), HKI_SHAPE(2, n, e),                                             \
               HKI_SHAPE(2, n, e), HKI_SHAPE(2, n, (n) <= 64 && (m) <= 64 ? (m) + 2 : 2),          \
               __VA_ARGS__}

static const hki_sample backward_samples[] = {
    {BACK(5, 6, 4, 3, HKI_SHAPE_NONE), .low = 0.5, .high = 1, BLOCKS(false, 0.1)},
    {BACK(7, 7, 4, 3, HKI_SHAPE_NONE), .low = 0.5, .high = 1, BLOCKS(true, 0.1)},
    {BACK(5, 6, 4, 3, HKI_SHAPE(5, 6)), .own = {BOOL_MASK(BACK_MASK)}, .low = 0.5, .high = 1,
     BLOCKS(false, 0.1)},
    {BACK(150, 140, 4, 3, HKI_SHAPE(2, 1, 140)), .low = 0.5, .high = 1, BLOCKS(false, 0.1)},
    {BACK(150, 150, 4, 3, HKI_SHAPE_NONE), .low = 0.5, .high = 1, BLOCKS(true, 0.1)},
    {BACK(4, 0, 4, 3, HKI_SHAPE_NONE), .low = 0.5, .high = 1, BLOCKS(false, 0.1)},
    {BACK(0, 4, 4, 3, HKI_SHAPE_NONE), .low = 0.5, .high = 1, BLOCKS(false, 0.1)},
    {BACK(4, 5, 0, 3, HKI_SHAPE_NONE), .low = 0.5, .high = 1, BLOCKS(false, 0.1)},
    {BACK(4, 5, 3, 0, HKI_SHAPE_NONE), .low = 0.5, .high = 1, BLOCKS(false, 0.1)},
};

/* ---- operators ----------------------------------------------------------------------------------------- */

#define READS      (1 << QUERY | 1 << KEY | 1 << VALUE | 1 << MASK | HKI_READS_OUTPUT)
#define BACK_READS (1 << QUERY | 1 << KEY | 1 << VALUE | 1 << BACK_DY | 1 << BACK_MASK)

const hk_op hki_op_attention_blocks = {
    HKI_OP_NAMED(attention_blocks),
    HKI_OP_PARAMS(attention_blocks),
    HKI_OP_SAMPLES(blocks_samples),
    .signature = "query, key, value, mask?",
    .doc = "Attention in blocks; and of each query the largest score, the inverse of the sum "
           "of exponentials about it, and of small matrices the exponentials.",
    .dtypes = HKI_FLOATS,
    .output_count = 2,
    .internal = true,
    .is_part = true,
    .host_only = true,
    .infer = blocks_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = blocks_plan,
    .kernel = {[HKI_CPU] = blocks_cpu},
    .grad = blocks_grad,
    .grad_reads = {READS, READS, READS, READS},
    .reference = blocks_reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_attention_blocks_backward = {
    HKI_OP_NAMED(attention_blocks_backward),
    HKI_OP_PARAMS(attention_blocks_backward),
    HKI_OP_SAMPLES(backward_samples),
    .signature = "query, key, value, dy, y, saved, mask?",
    .doc = "Gradients of attention in blocks with respect to query, key and value.",
    .dtypes = HKI_FLOATS,
    .output_count = 3,
    .outputs = "dquery, dkey, dvalue",
    .internal = true,
    .host_only = true,
    .infer = backward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = backward_plan,
    .kernel = {[HKI_CPU] = backward_cpu},
    .grad = backward_grad,
    .grad_reads = {[QUERY] = BACK_READS,
                   [KEY] = BACK_READS,
                   [VALUE] = BACK_READS,
                   [BACK_DY] = BACK_READS,
                   [BACK_MASK] = BACK_READS},
    .no_grad_inputs = 1u << BACK_Y | 1u << BACK_SAVED,
    .gradient_untested = "y and what is saved depend on the other inputs",
    .reference = hki_attention_backward_reference,
    .tolerance_f32 = 2e-5,
};
