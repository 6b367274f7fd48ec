#include "op/matmul/cuda_bias.h"

#include "op/cuda/cuda_calls.h"
#include "op/elementwise/cuda_elementwise.h"

static void launch(hki_cuda_stream *stream, const hki_cuda_path *path, void *argument)
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
                       (const int[]){bytes, bytes, bytes}, launch, &add);
}
