#include "op/index/cuda_indexed.h"

#include "op/cuda/cuda_walk.cuh"

HKI_DEVICE int64_t index_at(const char *at, int bytes)
{
    if (bytes == 8)
        return *reinterpret_cast<const int64_t *>(at);
    return bytes == 4 ? *reinterpret_cast<const int32_t *>(at)
                      : *reinterpret_cast<const uint8_t *>(at);
}

/* The entry's number in *index; false: there is none. */
HKI_DEVICE bool find(const hki_cuda_indexed &along, const char *at, int64_t *index)
{
    *index = index_at(at, along.index_bytes);
    if (*index < -along.size || *index >= along.size)
        return false;
    *index += *index < 0 ? along.size : 0;
    return true;
}

/* ---- take ----------------------------------------------------------------------------------------------------- */

template <class T, int N>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    take(const hki_cuda_path path, const hki_cuda_indexed along, hki_cuda_fault *fault)
{
    bool has_reported = false;
    for (uint32_t i = (uint32_t)HKI_THREAD_INDEX; i < path.count; i += (uint32_t)HKI_THREAD_COUNT) {
        char *at[3];
        int64_t index;
        hki_pack<T, N> taken = {};
        hki_path_all<3>(path, i, at);
        if (find(along, at[1], &index)) {
            taken = hki_path_load<T, N>(path, 2, at[2] + index * along.step);
        } else if (!has_reported) {
            hki_cuda_report_value(fault, path.first + (int64_t)i * N, index);
            has_reported = true;
        }
        *reinterpret_cast<hki_pack<T, N> *>(at[0]) = taken;
    }
}

template <class T>
static void launch_take(hki_cuda_stream *stream, const hki_cuda_path *path,
                        const hki_cuda_indexed *along, hki_cuda_fault *fault)
{
    constexpr int N = HKI_CUDA_PACK_BYTES / (int)sizeof(T);
    const unsigned grid =
        hki_cuda_grid(path->count, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    if (path->width == N)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (take<T, N>), *path, *along, fault);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (take<T, 1>), *path, *along, fault);
}

void hki_cuda_launch_take(hki_cuda_stream *stream, const hki_cuda_path *path,
                          const hki_cuda_indexed *along, int item_bytes, hki_cuda_fault *fault)
{
    if (item_bytes == 1)
        launch_take<uint8_t>(stream, path, along, fault);
    else if (item_bytes == 4)
        launch_take<uint32_t>(stream, path, along, fault);
    else
        launch_take<uint64_t>(stream, path, along, fault);
}

/* ---- scatter ---------------------------------------------------------------------------------------------------- */

HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    find_places(const hki_cuda_scatter call, hki_cuda_item *items, hki_cuda_fault *fault)
{
    bool has_reported = false;
    for (uint32_t i = (uint32_t)HKI_THREAD_INDEX; i < call.each.count;
         i += (uint32_t)HKI_THREAD_COUNT) {
        char *at[2];
        int64_t index;
        hki_path_all<2>(call.each, i, at);
        const bool is_there = find(call.along, at[HKI_CUDA_SCATTER_INDEX], &index);
        if (!is_there && !has_reported) {
            hki_cuda_report_value(fault, (int64_t)i * call.beside.count, index);
            has_reported = true;
        }
        const int64_t place = at[HKI_CUDA_SCATTER_OUT] - call.each.data[HKI_CUDA_SCATTER_OUT] +
                              index * call.along.step;
        items[i] = {is_there ? (unsigned long long)place : HKI_CUDA_NOWHERE, (long long)i};
    }
}

HKI_DEVICE char *output_at(const hki_cuda_scatter &call, const hki_cuda_item &item, uint32_t beside)
{
    return call.each.data[HKI_CUDA_SCATTER_OUT] + item.key +
           hki_path_offset(call.beside, HKI_CUDA_SCATTER_OUT, beside);
}

HKI_DEVICE const char *update_at(const hki_cuda_scatter &call, const hki_cuda_item &item,
                                 uint32_t beside)
{
    return call.each.data[HKI_CUDA_SCATTER_UPDATE] +
           hki_path_offset(call.each, HKI_CUDA_SCATTER_UPDATE, (uint32_t)item.number) +
           hki_path_offset(call.beside, HKI_CUDA_SCATTER_UPDATE, beside);
}

template <class T>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    set(const hki_cuda_scatter call, const hki_cuda_item *items)
{
    const int64_t beside = call.beside.count, count = call.each.count;
    for (int64_t i = HKI_THREAD_INDEX; i < count * beside; i += HKI_THREAD_COUNT) {
        const int64_t at = i / beside;
        const hki_cuda_item item = items[at];
        const bool is_last = at + 1 == count || items[at + 1].key != item.key;
        if (is_last && item.key != HKI_CUDA_NOWHERE)
            *reinterpret_cast<T *>(output_at(call, item, (uint32_t)(i % beside))) =
                *reinterpret_cast<const T *>(update_at(call, item, (uint32_t)(i % beside)));
    }
}

/* Sum: what T is added up in. Of each entry a thread is at work for each element beside others: that of its first update. */
template <class T, class Sum>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    add(const hki_cuda_scatter call, const hki_cuda_item *items)
{
    const int64_t beside = call.beside.count, count = call.each.count;
    for (int64_t i = HKI_THREAD_INDEX; i < count * beside; i += HKI_THREAD_COUNT) {
        const int64_t first = i / beside;
        const uint32_t column = (uint32_t)(i % beside);
        hki_cuda_item item = items[first];
        if (item.key == HKI_CUDA_NOWHERE || (first > 0 && items[first - 1].key == item.key))
            continue;
        T *out = reinterpret_cast<T *>(output_at(call, item, column));
        const unsigned long long key = item.key;
        Sum sum = 0;
        for (int64_t at = first;;) {
            sum += (Sum) * reinterpret_cast<const T *>(update_at(call, item, column));
            if (++at == count)
                break;
            item = items[at];
            if (item.key != key)
                break;
        }
        *out = (T)((Sum)*out + sum);
    }
}

static unsigned grid_of(hki_cuda_stream *stream, int64_t size)
{
    return hki_cuda_grid(size, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
}

void hki_cuda_launch_places(hki_cuda_stream *stream, const hki_cuda_scatter *scatter,
                            hki_cuda_item *items, hki_cuda_fault *fault)
{
    HKI_LAUNCH(stream, grid_of(stream, scatter->each.count), HKI_CUDA_BLOCK, find_places, *scatter,
               items, fault);
}

void hki_cuda_launch_set(hki_cuda_stream *stream, const hki_cuda_scatter *scatter, int item_bytes,
                         const hki_cuda_item *items)
{
    const unsigned grid = grid_of(stream, (int64_t)scatter->each.count * scatter->beside.count);
    if (item_bytes == 1)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, set<uint8_t>, *scatter, items);
    else if (item_bytes == 4)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, set<uint32_t>, *scatter, items);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, set<uint64_t>, *scatter, items);
}

void hki_cuda_launch_add(hki_cuda_stream *stream, const hki_cuda_scatter *scatter, hk_dtype dtype,
                         const hki_cuda_item *items)
{
    const unsigned grid = grid_of(stream, (int64_t)scatter->each.count * scatter->beside.count);
    if (dtype == HK_F32)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<float, double>), *scatter, items);
    else if (dtype == HK_F64)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<double, double>), *scatter, items);
    else if (dtype == HK_I32)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<uint32_t, uint32_t>), *scatter, items);
    else if (dtype == HK_I64)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<uint64_t, uint64_t>), *scatter, items);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (add<uint8_t, uint32_t>), *scatter, items);
}
