#include "op/matmul/cuda_matrix_kernels.h"

#include "op/cuda/cuda_half.cuh"

/* A block makes a tile of SIDE x SIDE elements, of which each thread makes EACH x EACH, a slice of DEPTH terms at a
 * time, which all threads have brought into shared memory. */
enum { THREADS = 256, SIDE = 64, DEPTH = 16, EACH = 4, ACROSS = SIDE / EACH };

/* Where the matrix of batch entry `index` begins. The loop's bounds are known to the compiler, so that arguments stay
 * where they are, and are not copied to memory. */
HKI_DEVICE int64_t entry_offset(const hki_cuda_batch &batch, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (int i = HK_MAX_NDIM - 1; i >= 0; i--) {
        if (i >= batch.ndim)
            continue;
        offset += index % batch.dims[i] * strides[i];
        index /= batch.dims[i];
    }
    return offset;
}

/* Of factors of From, summed in T. */
template <typename From, typename T>
HKI_KERNEL void multiply(hki_cuda_batch batch, hki_cuda_matrices a, hki_cuda_matrices b, T *c)
{
    HKI_SHARED T left[DEPTH][SIDE + 1], right[DEPTH][SIDE + 1];
    const int64_t m = a.rows, n = b.columns, k = a.columns;
    const int64_t down = (m + SIDE - 1) / SIDE, across = (n + SIDE - 1) / SIDE;
    const int row = (int)threadIdx.x / ACROSS * EACH, column = (int)threadIdx.x % ACROSS * EACH;
    for (int64_t tile = blockIdx.x; tile < batch.count * down * across; tile += gridDim.x) {
        const int64_t entry = tile / (down * across);
        const int64_t top = tile / across % down * SIDE, first = tile % across * SIDE;
        const From *from_a = (const From *)a.data + entry_offset(batch, a.batch_strides, entry);
        const From *from_b = (const From *)b.data + entry_offset(batch, b.batch_strides, entry);
        T sums[EACH][EACH] = {};
        for (int64_t at = 0; at < k; at += DEPTH) {
            for (int i = (int)threadIdx.x; i < SIDE * DEPTH; i += THREADS) {
                int64_t its_row = top + i / DEPTH, its_k = at + i % DEPTH;
                left[i % DEPTH][i / DEPTH] =
                    its_row < m && its_k < k
                        ? value_of(from_a[its_row * a.row_stride + its_k * a.column_stride])
                        : T(0);
                int64_t its_column = first + i % SIDE;
                its_k = at + i / SIDE;
                right[i / SIDE][i % SIDE] =
                    its_column < n && its_k < k
                        ? value_of(from_b[its_k * b.row_stride + its_column * b.column_stride])
                        : T(0);
            }
            __syncthreads();
            for (int l = 0; l < DEPTH && at + l < k; l++)
                for (int i = 0; i < EACH; i++)
                    for (int j = 0; j < EACH; j++)
                        sums[i][j] += left[l][row + i] * right[l][column + j];
            __syncthreads();
        }
        T *to = c + entry * m * n;
        for (int i = 0; i < EACH && top + row + i < m; i++)
            for (int j = 0; j < EACH && first + column + j < n; j++)
                to[(top + row + i) * n + first + column + j] = sums[i][j];
    }
}

template <typename From, typename T = From>
static void launch_multiply(hki_cuda_stream *stream, const hki_cuda_batch *batch,
                            const hki_cuda_matrices *a, const hki_cuda_matrices *b, void *c)
{
    const int64_t tiles =
        batch->count * ((a->rows + SIDE - 1) / SIDE) * ((b->columns + SIDE - 1) / SIDE);
    const unsigned grid = hki_cuda_grid(tiles, 1, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH_TOGETHER(stream, grid, THREADS, (multiply<From, T>), *batch, *a, *b, (T *)c);
}

void hki_cuda_multiply(hki_cuda_stream *stream, hk_dtype dtype, const hki_cuda_batch *batch,
                       const hki_cuda_matrices *a, const hki_cuda_matrices *b, void *c)
{
    switch (dtype) {
    case HK_F32:
        launch_multiply<float>(stream, batch, a, b, c);
        break;
    case HK_F64:
        launch_multiply<double>(stream, batch, a, b, c);
        break;
    case HK_F16:
        launch_multiply<f16, float>(stream, batch, a, b, c);
        break;
    case HK_BF16:
        launch_multiply<bf16, float>(stream, batch, a, b, c);
        break;
    case HK_I32: /* unsigned, so that wrapping around is defined */
        launch_multiply<uint32_t>(stream, batch, a, b, c);
        break;
    default:
        launch_multiply<uint64_t>(stream, batch, a, b, c);
        break;
    }
}

template <typename T> HKI_KERNEL void sum_matrices(int64_t count, int64_t size, const T *x, T *sum)
{
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT) {
        double all = 0;
        for (int64_t entry = 0; entry < count; entry++)
            all += (double)x[entry * size + i];
        sum[i] = (T)all;
    }
}

void hki_cuda_sum_matrices(hki_cuda_stream *stream, bool f64, int64_t count, int64_t size,
                           const void *x, void *sum)
{
    const unsigned grid = hki_cuda_grid(size, THREADS, hki_cuda_stream_multiprocessors(stream));
    if (f64)
        HKI_LAUNCH(stream, grid, THREADS, sum_matrices<double>, count, size, (const double *)x,
                   (double *)sum);
    else
        HKI_LAUNCH(stream, grid, THREADS, sum_matrices<float>, count, size, (const float *)x,
                   (float *)sum);
}
