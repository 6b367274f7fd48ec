/* Within the plug-in: walking paths in kernels. */
#ifndef HOCKET_OP_CUDA_WALK_CUH
#define HOCKET_OP_CUDA_WALK_CUH

#include "device/cuda/cuda_launch.cuh"
#include "op/cuda/cuda_walk.h"

enum { HKI_CUDA_BLOCK = 256 };

/* Neighbouring elements, read and written in one go. */
template <class T, int N> struct alignas(sizeof(T) * N) hki_pack {
    T at[N];
};

/* hki_cuda_each_part, calling launch(path). */
template <class Launch>
static inline void hki_cuda_launch_parts(hki_cuda_stream *stream, const hki_cuda_walk &walk,
                                         int width, const int *item_bytes, Launch launch)
{
    hki_cuda_each_part(
        stream, &walk, width, item_bytes,
        [](hki_cuda_stream *, const hki_cuda_path *path, void *self) {
            (*static_cast<Launch *>(self))(path);
        },
        &launch);
}

/* Bytes from where an operand begins to where it is at step `index`. */
HKI_DEVICE int64_t hki_path_offset(const hki_cuda_path &path, int operand, uint32_t index)
{
    int64_t offset = 0;
    for (int axis = path.ndim - 1; axis > 0; axis--) {
        uint32_t outer = hki_cuda_divide(index, path.dims[axis]);
        offset += (int64_t)(index - outer * path.dims[axis].divisor) * path.steps[axis][operand];
        index = outer;
    }
    return offset + (int64_t)index * path.steps[0][operand];
}

/* Where the first COUNT operands are at step `index`. */
template <int COUNT>
HKI_DEVICE void hki_path_all(const hki_cuda_path &path, uint32_t index, char *at[COUNT])
{
    for (int i = 0; i < COUNT; i++)
        at[i] = path.data[i];
    for (int axis = path.ndim - 1; axis > 0; axis--) {
        uint32_t outer = hki_cuda_divide(index, path.dims[axis]);
        int64_t inner = index - outer * path.dims[axis].divisor;
        for (int i = 0; i < COUNT; i++)
            at[i] += inner * path.steps[axis][i];
        index = outer;
    }
    for (int i = 0; i < COUNT; i++)
        at[i] += (int64_t)index * path.steps[0][i];
}

/* The N elements of a step, of which an operand that is broadcast has one. */
template <class T, int N>
HKI_DEVICE hki_pack<T, N> hki_path_load(const hki_cuda_path &path, int operand, const char *at)
{
    hki_pack<T, N> pack;
    if (N == 1 || (path.wide >> operand & 1)) {
        pack = *reinterpret_cast<const hki_pack<T, N> *>(at);
    } else {
        const T one = *reinterpret_cast<const T *>(at);
        for (int i = 0; i < N; i++)
            pack.at[i] = one;
    }
    return pack;
}

#endif
