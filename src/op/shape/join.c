/* concat and stack: one task for all inputs; on GPUs, and of what a captured step makes, copies into views of a fresh array. */
#include "op/shape/join.h"

#include "op/call/capture.h"
#include "op/elementwise/elementwise.h"
#include "op/reduce/line.h"
#include "op/shape/copy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- a few arrays ------------------------------------------------------------------------------------ */

#define CONCAT_FEW_ARGUMENTS(F, op) F(op, INT, axis, "", "a negative one counts from the last")
HKI_ARGUMENTS(concat_few, CONCAT_FEW_ARGUMENTS)

static bool same_but_for(const hk_dims *a, const hk_dims *b, int64_t axis)
{
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++)
        same = i == axis || a->dims[i] == b->dims[i];
    return same;
}

/* What input `index` cannot be joined to the first for; fills call->message. */
static bool check_part(hki_call *call, const hki_shape_view *first, const hki_shape_view *part,
                       int index, int64_t axis)
{
    char text[256], first_text[256];
    if (part->dtype == first->dtype && same_but_for(&part->shape, &first->shape, axis))
        return true;
    hki_shape_view_describe(part, text, sizeof text);
    hki_shape_view_describe(first, first_text, sizeof first_text);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "array %d is %s, array 0 %s: dtypes and axes other than %" PRId64
                           " must be the same",
                           index, text, first_text, axis);
}

static bool concat_infer(hki_call *call)
{
    int64_t axis = ((const hki_concat_few_options *)call->options)->axis;
    const hki_shape_view *first = call->inputs[0];
    if (!hki_call_take_axis(call, "axis", &axis, first->shape.ndim))
        return false;
    call->out_shape[0] = first->shape;
    call->out_dtype[0] = first->dtype;
    for (int i = 1; i < call->input_count; i++) {
        const hki_shape_view *part = call->inputs[i];
        int64_t *size = &call->out_shape[0].dims[axis];
        if (!part)
            continue;
        if (!check_part(call, first, part, i, axis))
            return false;
        if (__builtin_add_overflow(*size, part->shape.dims[axis], size))
            return hki_call_refuse(call, HK_INVALID_ARGUMENT, "axis %" PRId64 " gets too long",
                                   axis);
    }
    return true;
}

/* A captured step may make them in their places instead: see graph/forward_copies.c. */
static bool are_made_within(const hki_call *call)
{
    for (int i = 0; hki_capturing && i < call->input_count; i++)
        if (call->arrays[i] && hki_hooks.capture->has_made(hki_capturing, call->arrays[i]))
            return true;
    return false;
}

static hk_array *copy_parts(const hki_call *call)
{
    const int axis = hki_axis_from_front(((const hki_concat_few_options *)call->options)->axis,
                                         call->out_shape[0].ndim);
    int64_t begin = 0;
    hk_array *result = hki_array_create(call->device, call->out_shape[0], call->out_dtype[0]);
    if (hki_capturing && result->size > 0)
        hki_hooks.capture->made(hki_capturing, "concat", result);
    for (int i = 0; i < call->input_count && !result->failed; i++) {
        hk_array *x = call->arrays[i];
        if (!x)
            continue;
        int64_t size = x->shape.dims[axis];
        hk_array *part = (hk_slice)(result, axis, begin, begin + size);
        if (part->failed) /* for want of memory: nothing may be left unwritten */
            return part;
        if (x->size > 0)
            hki_call_into_unasked(&hki_op_copy, "concat", x, NULL, part);
        begin += size;
    }
    return result;
}

static hk_array *concat_compose(const hki_call *call)
{
    if (are_made_within(call) || call->device->class->kernels != HKI_CPU)
        return copy_parts(call);
    hki_call whole = *call;
    hk_array *result = hki_array_create(call->device, call->out_shape[0], call->out_dtype[0]);
    whole.operation = "concat";
    if (!result->failed && !hki_call_issue(&whole, &result, true, (hki_call_staging){0}))
        result = hki_array_create_failed(call->device, "concat", call->arrays, call->input_count,
                                         HK_OUT_OF_MEMORY, "out of host memory");
    return result;
}

static hki_batch_kind concat_batch(hki_batch *batch)
{
    const int64_t axis = ((const hki_concat_few_options *)batch->options)->axis;
    return hki_batch_lines(batch, axis) == HKI_BATCH_NONE ? HKI_BATCH_NONE : hki_batch_all(batch);
}

static void concat_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.25);
}

/* Bytes of the result that all inputs write before the next ones, so that they stay in the cache. */
enum { JOIN_BLOCK = 1 << 17 };

/* How many elements of one input are among the first `count` of the result, in C order: of each row of `row`, those
 * [first, first + run). */
static int64_t count_before(int64_t count, int64_t row, int64_t first, int64_t run)
{
    const int64_t rest = count % row - first;
    return count / row * run + (rest < 0 ? 0 : rest < run ? rest : run);
}

static int axis_of(const hki_kernel_call *call)
{
    return hki_axis_from_front(((const hki_concat_few_options *)call->options)->axis,
                               call->out[0].ndim);
}

/* Elements [begin, end) of the result, input by input. */
static void join_range(const hki_kernel_call *call, int64_t row, int64_t begin, int64_t end)
{
    const hki_tensor *out = &call->out[0];
    const int axis = axis_of(call);
    hki_tensor part = *out;
    hki_kernel_call copy = {.input_count = 1, .output_count = 1, .out = &part};
    part.is_contiguous = out->is_contiguous && row == out->size;
    for (int64_t i = 0, first = 0; i < call->input_count; i++) {
        const hki_tensor *in = copy.in = &call->in[i];
        if (in->ndim < 0 || in->size == 0)
            continue;
        const int64_t run = row / out->dims[axis] * in->dims[axis];
        part.dims[axis] = in->dims[axis];
        part.size = in->size;
        part.data = (char *)out->data + first * (int64_t)hki_dtype_bytes(out->dtype);
        hki_copy_elements(&copy, count_before(begin, row, first, run),
                          count_before(end, row, first, run));
        first += run;
    }
}

/* Whole rows of the result, one after another, where all inputs are contiguous: what is written is in one stream. */
static void join_rows(const hki_kernel_call *call, int64_t row, int64_t first, int64_t last)
{
    const hki_tensor *out = &call->out[0];
    const int64_t bytes = (int64_t)hki_dtype_bytes(out->dtype);
    const int64_t step =
        out->strides[axis_of(call) - 1] * bytes; /* of a part of a larger array, too */
    const char *from[HKI_MAX_INPUTS];
    size_t runs[HKI_MAX_INPUTS];
    int count = 0;
    for (int i = 0; i < call->input_count; i++) {
        const hki_tensor *in = &call->in[i];
        if (in->ndim < 0 || in->size == 0)
            continue;
        runs[count] = (size_t)(in->size / (out->size / row) * bytes);
        from[count] = (const char *)in->data + (size_t)first * runs[count];
        count++;
    }
    for (; first < last; first++) {
        char *to = (char *)out->data + first * step;
        for (int i = 0; i < count; i++) {
            memcpy(to, from[i], runs[i]);
            to += runs[i];
            from[i] += runs[i];
        }
    }
}

/* Shorter rows go by ranges, whose loops call no function for each part of a row. */
enum { LONG_ROW_BYTES = 256 };

static bool has_long_rows(const hki_kernel_call *call, int64_t row)
{
    const hki_tensor *out = &call->out[0];
    bool is_dense = row < out->size && row * (int64_t)hki_dtype_bytes(out->dtype) >= LONG_ROW_BYTES;
    for (int i = 0; i < call->input_count; i++)
        is_dense &= call->in[i].ndim < 0 || call->in[i].is_contiguous;
    return is_dense;
}

static void concat_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *out = &call->out[0];
    const hki_lines lines = hki_lines_of(out->ndim, out->dims, axis_of(call));
    const int64_t row = lines.size * lines.inner, first = (begin + row - 1) / row, last = end / row;
    const int64_t block = JOIN_BLOCK / (int64_t)hki_dtype_bytes(out->dtype);
    (void)piece;
    if (first < last && has_long_rows(call, row)) {
        join_range(call, row, begin, first * row);
        join_rows(call, row, first, last);
        begin = last * row;
    }
    for (int64_t n; begin < end; begin += n) {
        n = end - begin < block ? end - begin : block;
        join_range(call, row, begin, begin + n);
    }
}

static void concat_grad(hki_grad_call *call)
{
    int64_t axis = ((const hki_concat_few_options *)call->options)->axis, begin = 0;
    for (int i = 0; i < call->input_count; i++) {
        const hk_dims *shape = &call->input_shape[i];
        if (shape->ndim < 0)
            continue;
        int64_t size = shape->dims[hki_axis_from_front(axis, shape->ndim)];
        if (call->wanted[i])
            call->dx[i] = (hk_slice)(call->dy, (int)axis, begin, begin + size);
        begin += size;
    }
}

static void concat_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *shape = &call->out_shape[0];
    const int64_t axis = ((const hki_concat_few_options *)call->options)->axis;
    const hki_lines lines = hki_lines_of(shape->ndim, shape->dims, axis);
    const int at = hki_axis_from_front(axis, shape->ndim);
    double *to = out[0];
    for (int64_t row = 0; row < lines.count; row += lines.inner)
        for (int i = 0; i < call->input_count; i++) {
            int64_t run = in[i] ? call->inputs[i]->shape.dims[at] * lines.inner : 0;
            for (int64_t j = 0; j < run; j++)
                *to++ = in[i][row / lines.inner * run + j];
        }
}

#define ALONG(value)                                                                               \
    .options = &(const hki_concat_few_options)                                                     \
    {                                                                                              \
        .axis = value                                                                              \
    }
#define NO HKI_SHAPE_NONE
static const hki_sample concat_few_samples[] = {
    {.inputs = {HKI_SHAPE(3), HKI_SHAPE(2), NO, NO, NO, NO, NO, NO}, ALONG(0)},
    {.inputs = {HKI_SHAPE(3, 2), NO, NO, NO, NO, NO, NO, NO}, ALONG(-1)},
    {.inputs = {HKI_SHAPE(3, 2), HKI_SHAPE(3, 0), HKI_SHAPE(3, 4), NO, NO, NO, NO, NO}, ALONG(-1)},
    {.inputs = {HKI_SHAPE(0, 2), HKI_SHAPE(0, 2), NO, NO, NO, NO, NO, NO}, ALONG(1)},
    {.kind = HKI_SAMPLE_ALIASED,
     .inputs = {HKI_SHAPE(2, 2), HKI_SHAPE(2, 2), HKI_SHAPE(2, 2), HKI_SHAPE(2, 2), HKI_SHAPE(2, 2),
                HKI_SHAPE(2, 2), HKI_SHAPE(2, 2), HKI_SHAPE(2, 2)},
     ALONG(0)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 2), HKI_SHAPE(2, 1, 2), NO, NO, NO, NO, NO, NO},
     ALONG(1)},
};
const hk_op hki_op_concat_few = {
    HKI_OP_NAMED(concat_few),
    HKI_OP_PARAMS(concat_few),
    HKI_OP_SAMPLES(concat_few_samples),
    .signature = "a, b?, c?, d?, e?, f?, g?, h?",
    .doc = "As many arrays as a call may have, one behind the other along an axis.",
    .dtypes = HKI_ANY_DTYPE,
    .internal = true,
    .infer = concat_infer,
    .compose = concat_compose,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = concat_plan,
    .batch = concat_batch,
    .kernel = {[HKI_CPU] = concat_kernel},
    .grad = concat_grad,
    .reference = concat_reference,
};

/* ---- any number of them ------------------------------------------------------------------------------ */

/* On the tape all the same: gradients of it must fail, not stay as they were. */
hk_array *hki_refuse_many(const char *operation, hk_array *const *inputs, int count,
                          const hki_call *why)
{
    hk_array *failed =
        hki_array_create_failed(NULL, operation, inputs, count, why->code, "%s", why->message);
    const hki_concat_few_options options = {0};
    hki_call call = *why;
    call.op = &hki_op_concat_few;
    call.options = &options;
    for (int first = 0; first < count; first += HKI_MAX_INPUTS - 1) {
        hk_array *some[HKI_MAX_INPUTS] = {failed}; /* which leads to those before */
        const int left = count - first,
                  taken = left < HKI_MAX_INPUTS - 1 ? left : HKI_MAX_INPUTS - 1;
        memcpy(some + 1, inputs + first, (size_t)taken * sizeof *some);
        failed = hki_array_create_failed(NULL, operation, some, 1 + taken, why->code, "%s",
                                         why->message);
        hki_call_set_inputs(&call, some, 1 + taken);
        hki_hooks.tape_record(&call, &failed);
    }
    return failed;
}

static bool check_parts(hki_call *call, hk_array *const *inputs, int count, int64_t axis)
{
    if (!inputs || count < 1)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "count is %d, but 1 array is needed at least", count);
    for (int i = 0; i < count; i++) {
        if (!inputs[i])
            return hki_call_refuse(call, HK_INVALID_ARGUMENT, "array %d is NULL", i);
        if (inputs[i]->failed)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT, "array %d has failed", i);
    }
    call->inputs[0] = &inputs[0]->view;
    if (!hki_call_take_axis(call, "axis", &axis, inputs[0]->shape.ndim))
        return false;
    for (int i = 1; i < count; i++)
        if (!check_part(call, &inputs[0]->view, &inputs[i]->view, i, axis))
            return false;
    return true;
}

static bool is_recording(void)
{
    const bool is = hki_hooks.tape_set_recording(false);
    if (is)
        hki_hooks.tape_set_recording(true);
    return is;
}

/* Whether one array may be made by several tasks, a part each: nothing is to be noted of it. */
static bool may_share_result(hk_array *const *inputs, int count)
{
    hki_device *device = inputs[0]->storage->device;
    bool may = device->class->kernels == HKI_CPU && !hki_capturing && !is_recording();
    for (int i = 0; may && i < count; i++) {
        const hk_status *gone = hki_array_gone(inputs[i]);
        may = !gone && inputs[i]->storage->device == device;
        hk_status_release(gone);
    }
    return may;
}

/* As many inputs as a call may have into the result, from *begin along the axis on. False: it cannot be. */
static bool join_into(hk_array *result, hk_array *const *inputs, int count, int axis,
                      int64_t *begin)
{
    const hki_concat_few_options options = {.axis = axis};
    hki_call call = {.op = &hki_op_concat_few,
                     .operation = "concat",
                     .device = result->storage->device,
                     .options = &options};
    hki_call_set_inputs(&call, inputs, count);
    if (!concat_infer(&call))
        return false;
    const int64_t end = *begin + call.out_shape[0].dims[axis];
    hk_array *part = (hk_slice)(result, axis, *begin, end);
    *begin = end;
    return !part->failed &&
           (part->size == 0 || hki_call_issue(&call, &part, false, (hki_call_staging){0}));
}

/* NULL: not so; nothing has been issued that anyone waits for. */
static hk_array *join_many(hk_array *const *inputs, int count, int64_t axis_option)
{
    const int axis = hki_axis_from_front(axis_option, inputs[0]->shape.ndim);
    hk_dims shape = inputs[0]->shape;
    int64_t begin = 0;
    bool fits = may_share_result(inputs, count);
    for (int i = 1; fits && i < count; i++)
        fits = !__builtin_add_overflow(shape.dims[axis], inputs[i]->shape.dims[axis],
                                       &shape.dims[axis]);
    if (!fits)
        return NULL;
    hk_array *result = hki_array_create(inputs[0]->storage->device, shape, inputs[0]->dtype);
    fits = !result->failed;
    for (int first = 0; fits && first < count; first += HKI_MAX_INPUTS) {
        const int left = count - first;
        fits = join_into(result, inputs + first, left < HKI_MAX_INPUTS ? left : HKI_MAX_INPUTS,
                         axis, &begin);
    }
    return fits ? result : NULL;
}

/* Of all are checked; groups of as many as a call may have, and groups of these. */
static hk_array *join(hk_array *const *inputs, int count, const hki_concat_few_options *options)
{
    if (count <= HKI_MAX_INPUTS) {
        hk_array *padded[HKI_MAX_INPUTS] = {NULL};
        for (int i = 0; i < count; i++)
            padded[i] = inputs[i];
        return hki_op_call(&hki_op_concat_few, padded, HKI_MAX_INPUTS, options, (hk_device){NULL},
                           NULL);
    }
    hk_array *groups[HKI_MAX_INPUTS], *result = join_many(inputs, count, options->axis);
    int size = 1, made = 0;
    if (result)
        return result;
    while (size < (count + HKI_MAX_INPUTS - 1) / HKI_MAX_INPUTS)
        size *= HKI_MAX_INPUTS;
    for (int first = 0; first < count; first += size)
        groups[made++] = join(inputs + first, count - first < size ? count - first : size, options);
    return join(groups, made, options);
}

hk_array *hki_concat(hk_array *const *inputs, int count, int64_t axis)
{
    hki_concat_few_options options = {.axis = axis};
    hki_call call = {.code = HK_OK};
    if (!check_parts(&call, inputs, count, axis))
        return hki_refuse_many("concat", inputs, inputs ? count : 0, &call);
    return join(inputs, count, &options);
}

#define JOIN_ARGUMENTS(F, op) F(op, INT, axis, "", "a negative one counts from the last")
HKI_ARGUMENTS(concat, JOIN_ARGUMENTS)
HKI_ARGUMENTS(stack, JOIN_ARGUMENTS)

static hk_array *concat_all(hk_array *const *inputs, int count, const void *options)
{
    return hki_concat(inputs, count, ((const hki_concat_options *)options)->axis);
}

/* Along a new axis: each has one entry there. */
static hk_array *stack_all(hk_array *const *inputs, int count, const void *options)
{
    int64_t axis = ((const hki_stack_options *)options)->axis;
    if (!inputs || count < 1)
        return hki_concat(inputs, count, axis);
    hk_array **parts = malloc((size_t)count * sizeof(hk_array *));
    if (!parts) {
        hki_call call = {.code = HK_OK};
        hki_call_refuse(&call, HK_OUT_OF_MEMORY, "out of host memory");
        return hki_refuse_many("stack", inputs, count, &call);
    }
    for (int i = 0; i < count; i++)
        parts[i] = inputs[i] ? hki_op_call1(&hki_op_expand_dims, inputs[i], &axis) : NULL;
    hk_array *result = hki_concat(parts, count, axis);
    free(parts);
    return result;
}

const hk_op hki_op_concat = {
    HKI_OP_NAMED(concat),
    HKI_OP_PARAMS(concat),
    .signature = "arrays",
    .doc = "The arrays one behind the other along an axis, in new memory. Their dtypes and other "
           "axes are the same. `arrays` points to `count` of them.",
    .variadic = concat_all,
    .untested = "it takes any number of inputs: concat_few, and joins_test",
};

const hk_op hki_op_stack = {
    HKI_OP_NAMED(stack),
    HKI_OP_PARAMS(stack),
    .signature = "arrays",
    .doc =
        "Arrays of one shape and dtype along a new axis, which is `axis` of the result. `arrays` "
        "points to `count` of them.",
    .variadic = stack_all,
    .untested = "it takes any number of inputs: concat_few, and joins_test",
};
