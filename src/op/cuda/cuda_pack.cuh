/* Within the plug-in: arrays read and written in packs of neighbours, hki_pack, in one go where the array begins where a pack
 * may, else one by one. Which of the two makes no difference to the order of what is done with them. */
#ifndef HOCKET_OP_CUDA_PACK_CUH
#define HOCKET_OP_CUDA_PACK_CUH

#include "op/cuda/cuda_walk.cuh"

static inline bool hki_begins_wide(const void *x)
{
    return (uintptr_t)x % HKI_CUDA_PACK_BYTES == 0;
}

/* Pack `index` of an array. */
template <int N, typename T>
HKI_DEVICE hki_pack<T, N> hki_pack_at(bool is_wide, const T *x, int64_t index)
{
    hki_pack<T, N> pack;
    if constexpr (N == 1) {
        pack.at[0] = x[index];
    } else if (is_wide) {
        pack = *reinterpret_cast<const hki_pack<T, N> *>(x + index * N);
    } else {
        for (int j = 0; j < N; j++)
            pack.at[j] = x[index * N + j];
    }
    return pack;
}

template <int N, typename T>
HKI_DEVICE void hki_put_pack(bool is_wide, T *y, int64_t index, const hki_pack<T, N> &pack)
{
    if constexpr (N == 1) {
        y[index] = pack.at[0];
    } else if (is_wide) {
        *reinterpret_cast<hki_pack<T, N> *>(y + index * N) = pack;
    } else {
        for (int j = 0; j < N; j++)
            y[index * N + j] = pack.at[j];
    }
}

#endif
