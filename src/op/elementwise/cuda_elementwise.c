#include "op/elementwise/cuda_elementwise.h"

#include "device/cuda/cuda_device.h"
#include "op/cuda/cuda_calls.h"
#include "op/element_text.h"
#include "op/elementwise/elementwise.h"
#include "op/shape/cuda_transpose.h"
#include "op/shape/fill.h"

/* Over the call's output and inputs; returns the bytes of the largest element. */
static int walk_call(hki_cuda_walk *walk, const hki_kernel_call *call, int *item_bytes)
{
    const hki_tensor *operands[HKI_CUDA_OPERANDS];
    int largest = 1;
    for (int i = 0; i <= call->input_count; i++) {
        operands[i] = i ? &call->in[i - 1] : &call->out[0];
        item_bytes[i] = hki_cuda_item_bytes(operands[i]->dtype);
        largest = item_bytes[i] > largest ? item_bytes[i] : largest;
    }
    hki_cuda_walk_over(walk, operands, call->input_count + 1);
    return largest;
}

/* ---- what fails an element -------------------------------------------------------------------------------- */

static const char *refusal(const hki_kernel_call *call)
{
    switch (call->op->id) {
#define ROW(...)
#define CHECKED(kind, name, dtypes, ns, real, integer, reference, samples, gradient, formula, doc, \
                check, text)                                                                       \
    case HKI_OP_ID_##name:                                                                         \
        return text;
#include "op/elementwise/elementwise.def"
#undef ROW
#undef CHECKED
    default:
        return call->out[0].dtype == HK_U8    ? "a value that uint8 does not have"
               : call->out[0].dtype == HK_I32 ? "a value that int32 does not have"
                                              : "a value that int64 does not have";
    }
}

/* `argument`: the call, which lives until its task has ended. */
static hk_code describe(const hki_cuda_fault *fault, int64_t argument, char *text, size_t bytes)
{
    const hki_kernel_call *call = (const hki_kernel_call *)(intptr_t)argument;
    char where[HKI_ELEMENT_TEXT_BYTES];
    hki_element_describe(&call->out[0], (int64_t)fault->index, where, sizeof where);
    snprintf(text, bytes, "%s at element %s", refusal(call), where);
    return HK_OUT_OF_RANGE;
}

/* ---- rows of elementwise.def -------------------------------------------------------------------------------- */

typedef struct row_launch {
    hki_cuda_row_fn launch;
    hki_numbers numbers;
    hki_cuda_fault *fault;
} row_launch;

static void launch_row(hki_cuda_stream *stream, const hki_cuda_path *path, void *argument)
{
    const row_launch *row = argument;
    row->launch(stream, path, row->numbers.s, row->numbers.t, row->fault);
}

hki_cuda_row hki_cuda_row_of(hki_op_id id)
{
    switch (id) {
#define GRADIENT(context, kept, name, ns, expression)                                              \
    case HKI_OP_ID_##name:                                                                         \
        return HKI_CUDA_ROW_##name;
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    case HKI_OP_ID_##name:                                                                         \
        return HKI_CUDA_ROW_##name;                                                                \
        HKI_EACH_GRADIENT(GRADIENT, , name, gradient)
#define CHECKED ROW
#include "op/elementwise/elementwise.def"
#undef GRADIENT
#undef ROW
#undef CHECKED
    default:
        return HKI_CUDA_ROW_COUNT;
    }
}

static bool is_checked(hki_cuda_row row)
{
    switch (row) {
#define ROW(...)
#define CHECKED(kind, name, ...) case HKI_CUDA_ROW_##name:
#include "op/elementwise/elementwise.def"
#undef ROW
#undef CHECKED
        return true;
    default:
        return false;
    }
}

bool hki_cuda_row_reports(const hki_kernel_call *call)
{
    const hk_dtype dtype = call->in[call->input_count - 1].dtype;
    return is_checked(hki_cuda_row_of(call->op->id)) && dtype != HK_F32 && dtype != HK_F64 &&
           call->out[0].size > 0;
}

void hki_cuda_call_row(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    static const hki_cuda_row_fn *const tables[HK_DTYPE_COUNT] = {
        [HK_F32] = hki_cuda_rows_f32, [HK_F64] = hki_cuda_rows_f64, [HK_I32] = hki_cuda_rows_i32,
        [HK_I64] = hki_cuda_rows_i64, [HK_U8] = hki_cuda_rows_u8,   [HK_BOOL] = hki_cuda_rows_u8,
    };
    const hk_dtype dtype = call->in[call->input_count - 1].dtype; /* the first may be a condition */
    const hki_cuda_row row = hki_cuda_row_of(call->op->id);
    const bool is_bits = dtype == HK_BOOL && hki_cuda_rows_bool[row];
    row_launch launch = {.launch = is_bits ? hki_cuda_rows_bool[row] : tables[dtype][row],
                         .numbers = hki_element_numbers(call->op, call->options)};
    hki_cuda_walk walk;
    int item_bytes[HKI_CUDA_OPERANDS];
    walk_call(&walk, call, item_bytes);
    if (walk.size == 0)
        return;
    if (hki_cuda_row_reports(call)) {
        launch.fault = hki_cuda_fault_slot(stream, describe, (int64_t)(intptr_t)call);
        if (!launch.fault)
            return;
    }
    hki_cuda_each_part(stream, &walk, HKI_CUDA_PACK_BYTES / hki_cuda_item_bytes(dtype), item_bytes,
                       launch_row, &launch);
}

static void launch_add(hki_cuda_stream *stream, const hki_cuda_path *path, void *argument)
{
    (*(const hki_cuda_row_fn *)argument)(stream, path, 0, 0, NULL);
}

/* The row of elementwise.def that adds: y becomes y plus the bias broadcast to it. */
void hki_cuda_add_bias(hki_cuda_stream *stream, hk_dtype dtype, void *y, const int64_t dims[3],
                       const void *bias, int64_t stride)
{
    const int bytes = hki_cuda_item_bytes(dtype);
    hki_cuda_row_fn add =
        (dtype == HK_F32 ? hki_cuda_rows_f32 : hki_cuda_rows_f64)[HKI_CUDA_ROW_add];
    hki_cuda_walk walk;
    int64_t y_step = dims[1] * dims[2] * bytes;
    hki_cuda_walk_init(&walk, 3);
    for (int axis = 0; axis < 3; axis++) {
        const int64_t bias_step = axis == 1 ? stride * bytes : 0;
        hki_cuda_walk_add_axis(&walk, dims[axis], (const int64_t[]){y_step, y_step, bias_step});
        y_step /= axis < 2 && dims[axis + 1] > 0 ? dims[axis + 1] : 1;
    }
    walk.data[0] = walk.data[1] = y;
    walk.data[2] = (char *)(uintptr_t)bias;
    hki_cuda_each_part(stream, &walk, HKI_CUDA_PACK_BYTES / bytes,
                       (const int[]){bytes, bytes, bytes}, launch_add, &add);
}

/* ---- copies ------------------------------------------------------------------------------------------------- */

void hki_cuda_copy_tensor(hki_cuda_stream *stream, const hki_tensor *from,
                          const hki_tensor *to)
{
    const int item_bytes[2] = {hki_cuda_item_bytes(to->dtype), hki_cuda_item_bytes(to->dtype)};
    hki_cuda_walk walk;
    hki_cuda_walk_over(&walk, (const hki_tensor *const[]){to, from}, 2);
    hki_cuda_walk_sort(&walk,
                       0); /* any order will do: the one in which memory is written forwards */
    for (int64_t begin = 0; begin < walk.size;) {
        hki_cuda_walk part;
        hki_cuda_transpose transpose;
        hki_cuda_path path;
        begin += hki_cuda_walk_part(&walk, begin, HKI_CUDA_MAX_INDEX, &part);
        if (hki_cuda_transpose_init(&transpose, &part, item_bytes[0])) {
            hki_cuda_launch_transpose(stream, &transpose, item_bytes[0]);
        } else {
            hki_cuda_path_init(&path, &part, HKI_CUDA_PACK_BYTES / item_bytes[0], item_bytes);
            hki_cuda_launch_copy(stream, &path, item_bytes[0]);
        }
    }
}

void hki_cuda_call_copy(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    hki_cuda_copy_tensor(stream, &call->in[0], &call->out[0]);
}

/* The output is contiguous, so that it may be walked as if it had x's shape. */
void hki_cuda_call_reshape(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor from = call->in[0];
    hki_tensor to = from;
    int64_t stride = 1;
    to.data = call->out[0].data;
    for (int axis = to.ndim - 1; axis >= 0; axis--) {
        to.strides[axis] = stride;
        stride *= to.dims[axis];
    }
    hki_cuda_copy_tensor(stream, &from, &to);
}

typedef struct cast_launch {
    hk_dtype from, to;
    hki_cuda_fault *fault;
} cast_launch;

static void launch_cast(hki_cuda_stream *stream, const hki_cuda_path *path, void *argument)
{
    const cast_launch *cast = argument;
    hki_cuda_launch_cast(stream, path, cast->from, cast->to, cast->fault);
}

bool hki_cuda_cast_reports(const hki_kernel_call *call)
{
    const hk_dtype to = call->out[0].dtype;
    return call->in[0].dtype != to && (to == HK_I32 || to == HK_I64 || to == HK_U8) &&
           call->out[0].size > 0;
}

void hki_cuda_call_cast(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    cast_launch cast = {.from = call->in[0].dtype, .to = call->out[0].dtype};
    hki_cuda_walk walk;
    int item_bytes[HKI_CUDA_OPERANDS], largest = walk_call(&walk, call, item_bytes);
    if (walk.size == 0)
        return;
    if (cast.from == cast.to) {
        hki_cuda_call_copy(call, stream);
        return;
    }
    if (hki_cuda_cast_reports(call)) {
        cast.fault = hki_cuda_fault_slot(stream, describe, (int64_t)(intptr_t)call);
        if (!cast.fault)
            return;
    }
    hki_cuda_each_part(stream, &walk, HKI_CUDA_PACK_BYTES / largest, item_bytes, launch_cast,
                       &cast);
}

/* ---- constants ------------------------------------------------------------------------------------------------ */

typedef struct fill_launch {
    int item_bytes;
    uint64_t bits;
} fill_launch;

static void launch_fill(hki_cuda_stream *stream, const hki_cuda_path *path, void *argument)
{
    const fill_launch *fill = argument;
    hki_cuda_launch_fill(stream, path, fill->item_bytes, fill->bits);
}

static void fill(const hki_kernel_call *call, hki_cuda_stream *stream, double value)
{
    const hki_tensor out = call->out[0];
    fill_launch argument = {.item_bytes = hki_cuda_item_bytes(out.dtype)};
    hki_cuda_walk walk;
    /* The call was refused where the dtype does not have the value. */
    hki_cuda_host_of(hki_cuda_stream_device(stream))->dtype_store(out.dtype, &argument.bits, value);
    hki_cuda_walk_over(&walk, (const hki_tensor *const[]){&out}, 1);
    hki_cuda_each_part(stream, &walk, HKI_CUDA_PACK_BYTES / argument.item_bytes,
                       &argument.item_bytes, launch_fill, &argument);
}

void hki_cuda_call_full(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    fill(call, stream, ((const hki_full_options *)call->options)->value);
}

void hki_cuda_call_zeros(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    fill(call, stream, 0);
}

void hki_cuda_call_ones(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    fill(call, stream, 1);
}

typedef struct arange_launch {
    const hki_arange_options *options;
    hk_dtype dtype;
} arange_launch;

static void launch_arange(hki_cuda_stream *stream, const hki_cuda_path *path, void *argument)
{
    const arange_launch *arange = argument;
    hki_cuda_launch_arange(stream, path, arange->dtype, arange->options->start,
                           arange->options->step);
}

void hki_cuda_call_arange(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor out = call->out[0];
    arange_launch argument = {call->options, out.dtype};
    int item_bytes = hki_cuda_item_bytes(out.dtype);
    hki_cuda_walk walk;
    hki_cuda_walk_over(&walk, (const hki_tensor *const[]){&out}, 1);
    hki_cuda_each_part(stream, &walk, 1, &item_bytes, launch_arange, &argument);
}
