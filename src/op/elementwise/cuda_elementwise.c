#include "op/elementwise/cuda_elementwise.h"

#include "device/cuda/cuda_device.h"
#include "op/cuda/cuda_calls.h"
#include "op/element_text.h"
#include "op/elementwise/elementwise.h"

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
        return "refused";
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
    hki_cuda_walk_call(&walk, call, item_bytes);
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
