#include "op/cuda/cuda_scan.h"

#include "op/cuda/cuda_walk.cuh"

enum {
    EACH = 8,                     /* neighbours of a thread */
    PART = EACH * HKI_CUDA_BLOCK, /* elements of a line that are a block's own */
};

static int64_t parts_of(const hki_cuda_scan *scan)
{
    return (scan->size - 1) / PART + 1;
}

size_t hki_cuda_scan_workspace_bytes(const hki_cuda_scan *scan)
{
    return (size_t)(scan->count * parts_of(scan)) * sizeof(double);
}

/* Where element `at` of a line is, in the order of the sums. */
HKI_DEVICE int64_t place_of(const hki_cuda_scan &scan, int64_t line, int64_t at)
{
    const int64_t begin = line / scan.inner * scan.size * scan.inner + line % scan.inner;
    return begin + (scan.is_reverse ? scan.size - 1 - at : at) * scan.inner;
}

/* *own: the sum of this thread's elements of a part; returns that of the threads before it. All threads come here. */
template <class Element, class Word>
HKI_DEVICE Word sum_before(const hki_cuda_scan &scan, const Element *x, int64_t line, int64_t first,
                           Word room[HKI_CUDA_BLOCK], Word *own)
{
    Word sum = 0;
    for (int j = 0; j < EACH; j++)
        if (first + j < scan.size)
            sum += (Word)x[place_of(scan, line, first + j)];
    *own = sum;
    const int thread = (int)threadIdx.x;
    __syncthreads();
    room[thread] = sum;
    for (int step = 1; step < HKI_CUDA_BLOCK; step *= 2) {
        __syncthreads();
        const Word other = thread >= step ? room[thread - step] : (Word)0;
        __syncthreads();
        room[thread] += other;
    }
    __syncthreads();
    return thread > 0 ? room[thread - 1] : (Word)0;
}

/* sums[line][part]: of the parts' elements. */
template <class Element, class Word>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    sum_of_parts(const hki_cuda_scan scan, const Element *x, Word *sums, const int64_t parts)
{
    HKI_SHARED Word room[HKI_CUDA_BLOCK];
    for (int64_t block = blockIdx.x; block < scan.count * parts; block += gridDim.x) {
        Word own;
        const int64_t first = block % parts * PART + (int64_t)threadIdx.x * EACH;
        const Word before = sum_before<Element, Word>(scan, x, block / parts, first, room, &own);
        if (threadIdx.x == HKI_CUDA_BLOCK - 1)
            sums[block] = before + own;
    }
}

/* The sums of each line become those of the parts before. */
template <class Word>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    add_parts(Word *sums, const int64_t count, const int64_t parts)
{
    for (int64_t line = HKI_THREAD_INDEX; line < count; line += HKI_THREAD_COUNT) {
        Word before = 0;
        for (int64_t part = 0; part < parts; part++) {
            const Word own = sums[line * parts + part];
            sums[line * parts + part] = before;
            before += own;
        }
    }
}

template <class Element, class Word, class Result>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    scan_parts(const hki_cuda_scan scan, const Element *x, const Word *sums, const int64_t parts,
               Result *y)
{
    HKI_SHARED Word room[HKI_CUDA_BLOCK];
    for (int64_t block = blockIdx.x; block < scan.count * parts; block += gridDim.x) {
        Word own;
        const int64_t line = block / parts,
                      first = block % parts * PART + (int64_t)threadIdx.x * EACH;
        Word sum = sums[block] + sum_before<Element, Word>(scan, x, line, first, room, &own);
        for (int j = 0; j < EACH; j++) {
            if (first + j >= scan.size)
                break;
            const int64_t at = place_of(scan, line, first + j);
            sum += (Word)x[at];
            y[at] = (Result)sum;
        }
    }
}

template <class Element, class Word, class Result>
static void launch(hki_cuda_stream *stream, const hki_cuda_scan *scan, const void *given,
                   void *made, void *workspace)
{
    const Element *x = static_cast<const Element *>(given);
    Result *y = static_cast<Result *>(made);
    Word *sums = static_cast<Word *>(workspace);
    const int64_t parts = parts_of(scan);
    const int multiprocessors = hki_cuda_stream_multiprocessors(stream);
    const unsigned grid = hki_cuda_grid(scan->count * parts, 1, multiprocessors);
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_BLOCK, (sum_of_parts<Element, Word>), *scan, x, sums,
                        parts);
    HKI_LAUNCH(stream, hki_cuda_grid(scan->count, HKI_CUDA_BLOCK, multiprocessors), HKI_CUDA_BLOCK,
               add_parts<Word>, sums, scan->count, parts);
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_BLOCK, (scan_parts<Element, Word, Result>), *scan, x,
                        sums, parts, y);
}

void hki_cuda_launch_scan(hki_cuda_stream *stream, const hki_cuda_scan *scan, hk_dtype dtype,
                          const void *x, void *y, void *workspace)
{
    switch (dtype) {
    case HK_F32:
        launch<float, double, float>(stream, scan, x, y, workspace);
        break;
    case HK_F64:
        launch<double, double, double>(stream, scan, x, y, workspace);
        break;
    case HK_I32: /* as far as int64 goes; the bits are those of a sum that wraps around */
        launch<int32_t, uint64_t, uint64_t>(stream, scan, x, y, workspace);
        break;
    case HK_I64:
        launch<int64_t, uint64_t, uint64_t>(stream, scan, x, y, workspace);
        break;
    default: /* uint8 and bool; others are refused at the call */
        launch<uint8_t, uint64_t, uint64_t>(stream, scan, x, y, workspace);
        break;
    }
}

/* ---- places of a mask */

HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    put_places(const uint8_t *mask, const int64_t *numbers, const int64_t size, const int64_t count,
               int64_t *places, hki_cuda_fault *fault)
{
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT) {
        if (mask[i] && numbers[i] <= count)
            places[numbers[i] - 1] = i;
        if (i + 1 == size && numbers[i] != count)
            hki_cuda_report_value(fault, 0, numbers[i]);
    }
}

void hki_cuda_launch_places_of_mask(hki_cuda_stream *stream, const void *mask,
                                    const int64_t *numbers, int64_t size, int64_t count,
                                    int64_t *places, hki_cuda_fault *fault)
{
    const unsigned grid =
        hki_cuda_grid(size, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, put_places, static_cast<const uint8_t *>(mask),
               numbers, size, count, places, fault);
}
