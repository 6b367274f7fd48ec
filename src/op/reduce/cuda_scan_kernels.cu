/* Cumulative sums and products, and what is made of them: the places of a mask, which sums
 * number; weights, whose sums are checked. Floats are gathered in double, integers in int64,
 * which wraps around, in an order that follows from shapes alone. */
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_walk.cuh"
#include "op/random/random.h"
#include "op/reduce/line.h"
#include "op/reduce/prod_gradients.h"
#include "op/sort/selection.h"

#include <stdio.h>
#include <string.h>

/* Line i begins at i / inner * size * inner + i % inner; its elements are `inner` apart. All at
 * least 1. */
struct hki_cuda_scan {
    int64_t size, inner, count;
    bool is_reverse; /* from the last element on */
    bool unused[7];  /* no gap: the emulation takes what lies in one for an address */
};

enum {
    EACH = 8,                     /* neighbours of a thread */
    PART = EACH * HKI_CUDA_BLOCK, /* elements of a line that are a block's own */
    WARP = 32,
    WARPS = HKI_CUDA_BLOCK / WARP,
};

static int64_t parts_of(const hki_cuda_scan *scan)
{
    return (scan->size - 1) / PART + 1;
}

static size_t workspace_bytes(const hki_cuda_scan *scan)
{
    return (size_t)(scan->count * parts_of(scan)) * sizeof(double);
}

/* What elements are gathered by. */
template <class Word> struct sums {
    HKI_DEVICE Word none()
    {
        return 0;
    }
    HKI_DEVICE Word join(Word a, Word b)
    {
        return a + b;
    }
};
template <class Word> struct products {
    HKI_DEVICE Word none()
    {
        return 1;
    }
    HKI_DEVICE Word join(Word a, Word b)
    {
        return a * b;
    }
};

/* Where element `at` of a line is, in the order of the sums. */
HKI_DEVICE int64_t place_of(const hki_cuda_scan &scan, int64_t line, int64_t at)
{
    const int64_t begin = line / scan.inner * scan.size * scan.inner + line % scan.inner;
    return begin + (scan.is_reverse ? scan.size - 1 - at : at) * scan.inner;
}

/* The word of the lanes before this one in its line, of which `lanes` neighbouring threads hold one; lanes: a power of two. The
 * order is that of a lane's place, however many lanes there are. All threads come here. */
template <class Gather, class Word>
HKI_DEVICE Word word_before(const int lanes, const Word own, Word room[WARPS])
{
    const int thread = (int)threadIdx.x, lane = thread % lanes, in_warp = lane % WARP;
    Word word = own;
    for (int step = 1; step < WARP && step < lanes; step *= 2) {
        const Word other = __shfl_up_sync(0xffffffffu, word, (unsigned)step);
        if (in_warp >= step)
            word = Gather::join(other, word);
    }
    const Word neighbour = __shfl_up_sync(0xffffffffu, word, 1);
    const Word before = in_warp > 0 ? neighbour : Gather::none();
    if (lanes <= WARP)
        return before;
    __syncthreads();
    if (in_warp == WARP - 1)
        room[thread / WARP] = word;
    __syncthreads();
    Word of_warps = Gather::none();
    for (int warp = (thread - lane) / WARP; warp < thread / WARP; warp++)
        of_warps = Gather::join(of_warps, room[warp]);
    return Gather::join(of_warps, before);
}

/* What this thread's elements of a part come to. */
template <class Gather, class Element, class Word>
HKI_DEVICE Word word_of_own(const hki_cuda_scan &scan, const Element *x, int64_t line,
                            int64_t first)
{
    Word word = Gather::none();
    for (int j = 0; j < EACH; j++)
        if (first + j < scan.size)
            word = Gather::join(word, (Word)x[place_of(scan, line, first + j)]);
    return word;
}

/* words[line][part]: of the parts' elements. */
template <class Gather, class Element, class Word>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    word_of_parts(const hki_cuda_scan scan, const Element *x, Word *words, const int64_t parts)
{
    HKI_SHARED Word room[WARPS];
    for (int64_t block = blockIdx.x; block < scan.count * parts; block += gridDim.x) {
        const int64_t first = block % parts * PART + (int64_t)threadIdx.x * EACH;
        const Word own = word_of_own<Gather, Element, Word>(scan, x, block / parts, first);
        const Word before = word_before<Gather, Word>(HKI_CUDA_BLOCK, own, room);
        if (threadIdx.x == HKI_CUDA_BLOCK - 1)
            words[block] = Gather::join(before, own);
    }
}

/* The words of each line become those of the parts before. */
template <class Gather, class Word>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    join_parts(Word *words, const int64_t count, const int64_t parts)
{
    for (int64_t line = HKI_THREAD_INDEX; line < count; line += HKI_THREAD_COUNT) {
        Word before = Gather::none();
        for (int64_t part = 0; part < parts; part++) {
            const Word own = words[line * parts + part];
            words[line * parts + part] = before;
            before = Gather::join(before, own);
        }
    }
}

template <class Gather, class Element, class Word, class Result>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    scan_parts(const hki_cuda_scan scan, const Element *x, const Word *words, const int64_t parts,
               Result *y)
{
    HKI_SHARED Word room[WARPS];
    for (int64_t block = blockIdx.x; block < scan.count * parts; block += gridDim.x) {
        const int64_t line = block / parts,
                      first = block % parts * PART + (int64_t)threadIdx.x * EACH;
        const Word own = word_of_own<Gather, Element, Word>(scan, x, line, first);
        Word word =
            Gather::join(words[block], word_before<Gather, Word>(HKI_CUDA_BLOCK, own, room));
        for (int j = 0; j < EACH; j++) {
            if (first + j >= scan.size)
                break;
            const int64_t at = place_of(scan, line, first + j);
            word = Gather::join(word, (Word)x[at]);
            y[at] = (Result)word;
        }
    }
}

/* ---- contiguous lines of one part: each element is read once, and in packs where `is_wide`, which needs sizes of whole EACHs */

template <class T> struct held_each {
    static constexpr int N = sizeof(T) > 2 ? 16 / (int)sizeof(T) : EACH;
    hki_pack<T, N> packs[EACH / N];

    /* From `begin` of a line of `size` elements, beyond either end of which there are none. */
    __device__ void load(const T *x, int64_t begin, int64_t size, bool is_wide)
    {
        HKI_UNROLL
        for (int k = 0; k < EACH / N; k++) {
            const int64_t at = begin + k * N;
            if (is_wide && at >= 0 && at < size)
                packs[k] = *reinterpret_cast<const hki_pack<T, N> *>(x + at);
            else
                for (int j = 0; j < N; j++)
                    packs[k].at[j] = !is_wide && at + j >= 0 && at + j < size ? x[at + j] : T(0);
        }
    }
    __device__ void store(T *y, int64_t begin, int64_t size, bool is_wide) const
    {
        HKI_UNROLL
        for (int k = 0; k < EACH / N; k++) {
            const int64_t at = begin + k * N;
            if (is_wide && at >= 0 && at < size)
                *reinterpret_cast<hki_pack<T, N> *>(y + at) = packs[k];
            else
                for (int j = 0; j < N; j++)
                    if (!is_wide && at + j >= 0 && at + j < size)
                        y[at + j] = packs[k].at[j];
        }
    }
    __device__ T &at(int j)
    {
        return packs[j / N].at[j % N];
    }
};

template <class Gather, class Element, class Word, class Result, bool REVERSE>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    scan_lines(const int64_t count, const int64_t size, const int lanes, const bool is_wide,
               const Element *x, Result *y)
{
    HKI_SHARED Word room[WARPS];
    const int columns = HKI_CUDA_BLOCK / lanes, lane = (int)threadIdx.x % lanes;
    const int64_t first = (int64_t)lane * EACH, begin = REVERSE ? size - first - EACH : first;
    for (int64_t block = blockIdx.x; block * columns < count; block += gridDim.x) {
        const int64_t line = block * columns + (int)threadIdx.x / lanes;
        const int64_t own_size = line < count ? size : 0, start = line < count ? line * size : 0;
        held_each<Element> held;
        held.load(x + start, begin, own_size, is_wide);
        Word words[EACH], own = Gather::none();
        HKI_UNROLL
        for (int j = 0; j < EACH; j++) {
            words[j] = (Word)held.at(REVERSE ? EACH - 1 - j : j);
            if (first + j < own_size)
                own = Gather::join(own, words[j]);
        }
        Word word = Gather::join(Gather::none(), word_before<Gather, Word>(lanes, own, room));
        held_each<Result> results;
        HKI_UNROLL
        for (int j = 0; j < EACH; j++) {
            word = Gather::join(word, words[j]);
            results.at(REVERSE ? EACH - 1 - j : j) = (Result)word;
        }
        results.store(y + start, begin, own_size, is_wide);
    }
}

template <class Gather, class Element, class Word, class Result>
static void launch_lines(hki_cuda_stream *stream, const hki_cuda_scan *scan, const Element *x,
                         Result *y)
{
    const int lanes = hki_cuda_lanes((scan->size - 1) / EACH + 1, HKI_CUDA_BLOCK);
    const bool is_wide = scan->size % EACH == 0 && ((uintptr_t)x | (uintptr_t)y) % 16 == 0;
    const unsigned grid =
        hki_cuda_grid(scan->count, HKI_CUDA_BLOCK / lanes, hki_cuda_stream_multiprocessors(stream));
    if (scan->is_reverse)
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_BLOCK,
                            (scan_lines<Gather, Element, Word, Result, true>), scan->count,
                            scan->size, lanes, is_wide, x, y);
    else
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_BLOCK,
                            (scan_lines<Gather, Element, Word, Result, false>), scan->count,
                            scan->size, lanes, is_wide, x, y);
}

template <class Gather, class Element, class Word, class Result>
static void launch_by(hki_cuda_stream *stream, const hki_cuda_scan *scan, const Element *x,
                      Result *y, Word *words)
{
    if (scan->inner == 1 && scan->size <= PART) {
        launch_lines<Gather, Element, Word, Result>(stream, scan, x, y);
        return;
    }
    const int64_t parts = parts_of(scan);
    const int multiprocessors = hki_cuda_stream_multiprocessors(stream);
    const unsigned grid = hki_cuda_grid(scan->count * parts, 1, multiprocessors);
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_BLOCK, (word_of_parts<Gather, Element, Word>), *scan,
                        x, words, parts);
    HKI_LAUNCH(stream, hki_cuda_grid(scan->count, HKI_CUDA_BLOCK, multiprocessors), HKI_CUDA_BLOCK,
               (join_parts<Gather, Word>), words, scan->count, parts);
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_BLOCK, (scan_parts<Gather, Element, Word, Result>),
                        *scan, x, words, parts, y);
}

template <class Element, class Word, class Result>
static void launch(hki_cuda_stream *stream, const hki_cuda_scan *scan, bool is_product,
                   const void *given, void *made, void *workspace)
{
    const Element *x = static_cast<const Element *>(given);
    Result *y = static_cast<Result *>(made);
    Word *words = static_cast<Word *>(workspace);
    if (is_product)
        launch_by<products<Word>>(stream, scan, x, y, words);
    else
        launch_by<sums<Word>>(stream, scan, x, y, words);
}

/* y: of the same float dtype, of int64 for others. */
static void launch_scan(hki_cuda_stream *stream, const hki_cuda_scan *scan, bool is_product,
                        hk_dtype dtype, const void *x, void *y, void *workspace)
{
    switch (dtype) {
    case HK_F32:
        launch<float, double, float>(stream, scan, is_product, x, y, workspace);
        break;
    case HK_F64:
        launch<double, double, double>(stream, scan, is_product, x, y, workspace);
        break;
    case HK_I32: /* as far as int64 goes; the bits are those of what wraps around */
        launch<int32_t, uint64_t, uint64_t>(stream, scan, is_product, x, y, workspace);
        break;
    case HK_I64:
        launch<int64_t, uint64_t, uint64_t>(stream, scan, is_product, x, y, workspace);
        break;
    default: /* uint8 and bool; others are refused at the call */
        launch<uint8_t, uint64_t, uint64_t>(stream, scan, is_product, x, y, workspace);
        break;
    }
}

static hki_cuda_scan scan_of(const hki_kernel_call *call)
{
    const hki_tensor &x = call->in[0];
    const hki_lines lines = hki_lines_of(x.ndim, x.dims, *hki_options_of<int64_t>(call));
    const bool is_reverse = hki_cuda_op_of(call) == HKI_OP_ID_reverse_cumulative_sum;
    return {lines.size, lines.inner, lines.count, is_reverse, {}};
}

void hki_cuda_call_cumulative(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &x = call->in[0];
    if (x.size == 0)
        return;
    const hki_cuda_scan scan = scan_of(call);
    void *workspace = hki_cuda_workspace(stream, workspace_bytes(&scan));
    if (workspace)
        launch_scan(stream, &scan, hki_cuda_op_of(call) == HKI_OP_ID_cumulative_prod, x.dtype,
                    x.data, call->out[0].data, workspace);
}

/* ---- gradients of products: a thread for each line */

HKI_CUMULATIVE_PROD_BACKWARD(HKI_DEVICE, prod_backward_f32, float, double)
HKI_CUMULATIVE_PROD_BACKWARD(HKI_DEVICE, prod_backward_f64, double, double)
HKI_CUMULATIVE_PROD_SECOND(HKI_DEVICE, prod_second_f32, float, double)
HKI_CUMULATIVE_PROD_SECOND(HKI_DEVICE, prod_second_f64, double, double)

HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    prod_backward(const hki_cuda_scan scan, const bool is_f64, const void *x, const void *y,
                  const void *dy, void *dx)
{
    for (int64_t line = HKI_THREAD_INDEX; line < scan.count; line += HKI_THREAD_COUNT) {
        const int64_t at = place_of(scan, line, 0);
        if (is_f64)
            prod_backward_f64((const double *)x + at, (const double *)y + at,
                              (const double *)dy + at, (double *)dx + at, scan.size, scan.inner);
        else
            prod_backward_f32((const float *)x + at, (const float *)y + at, (const float *)dy + at,
                              (float *)dx + at, scan.size, scan.inner);
    }
}

HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    prod_second(const hki_cuda_scan scan, const bool is_f64, const void *x, const void *y,
                const void *dy, const void *v, void *dx, void *ddy)
{
    for (int64_t line = HKI_THREAD_INDEX; line < scan.count; line += HKI_THREAD_COUNT) {
        const int64_t at = place_of(scan, line, 0);
        if (is_f64)
            prod_second_f64((const double *)x + at, (const double *)y + at, (const double *)dy + at,
                            (const double *)v + at, (double *)dx + at, (double *)ddy + at,
                            scan.size, scan.inner);
        else
            prod_second_f32((const float *)x + at, (const float *)y + at, (const float *)dy + at,
                            (const float *)v + at, (float *)dx + at, (float *)ddy + at, scan.size,
                            scan.inner);
    }
}

static unsigned grid_of_lines(hki_cuda_stream *stream, const hki_cuda_scan *scan)
{
    return hki_cuda_grid(scan->count, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
}

void hki_cuda_call_cumulative_prod_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *in = call->in;
    if (in[0].size == 0)
        return;
    const hki_cuda_scan scan = scan_of(call);
    HKI_LAUNCH(stream, grid_of_lines(stream, &scan), HKI_CUDA_BLOCK, prod_backward, scan,
               in[0].dtype == HK_F64, in[0].data, in[1].data, in[2].data, call->out[0].data);
}

void hki_cuda_call_cumulative_prod_second(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *in = call->in, *out = call->out;
    if (in[0].size == 0)
        return;
    const hki_cuda_scan scan = scan_of(call);
    HKI_LAUNCH(stream, grid_of_lines(stream, &scan), HKI_CUDA_BLOCK, prod_second, scan,
               in[0].dtype == HK_F64, in[0].data, in[1].data, in[2].data, in[3].data, out[0].data,
               out[1].data);
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

static hk_code describe(const hki_cuda_fault *fault, int64_t count, char *text, size_t bytes)
{
    snprintf(text, bytes, HKI_MASK_CHANGED, hki_cuda_fault_value(fault), count);
    return HK_INVALID_ARGUMENT;
}

void hki_cuda_call_mask_places(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const int64_t size = call->in[0].size, count = call->out[0].size;
    const uint8_t *mask = hki_input_of<uint8_t>(call, 0);
    int64_t *places = count ? hki_output_of<int64_t>(call, 0) : nullptr;
    if (size == 0)
        return;
    const hki_cuda_scan scan = {size, 1, 1, false, {}};
    hki_cuda_fault *fault = hki_cuda_fault_slot(stream, describe, count);
    int64_t *numbers = static_cast<int64_t *>(
        hki_cuda_workspace(stream, (size_t)size * sizeof *numbers + workspace_bytes(&scan)));
    if (!fault || !numbers)
        return;
    launch_scan(stream, &scan, false, HK_U8, mask, numbers, numbers + size);
    const unsigned grid =
        hki_cuda_grid(size, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, put_places, mask, (const int64_t *)numbers, size,
               count, places, fault);
}

/* ---- weights that may be chosen by */

/* positive[0]: how many there are, which nobody else counts yet. */
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    check_weights(const double *weights, const double *sums, const int64_t size, double *out,
                  unsigned long long *positive, hki_cuda_fault *fault)
{
    unsigned long long own = 0;
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT) {
        const double weight = weights[i];
        if (!(weight >= 0) || sums[i] - sums[i] != 0)
            hki_cuda_report_value(fault, i, __double_as_longlong(weight));
        out[i] = weight;
        own += weight > 0;
    }
    if (own)
        atomicAdd(positive, own);
}

HKI_KERNEL void HKI_BOUNDS(1)
    check_positive(const unsigned long long *positive, const int64_t least, hki_cuda_fault *fault)
{
    if ((int64_t)positive[0] < least)
        hki_cuda_report_value(fault, HKI_CUDA_LAST_ROW, (int64_t)positive[0]);
}

HKI_KERNEL void HKI_BOUNDS(1) begin_count(unsigned long long *positive)
{
    positive[0] = 0;
}

static hk_code describe_weight(const hki_cuda_fault *fault, int64_t least, char *text, size_t bytes)
{
    const int64_t value = hki_cuda_fault_value(fault);
    const uint32_t row = hki_cuda_fault_row(fault);
    double weight;
    memcpy(&weight, &value, sizeof weight);
    if (row == HKI_CUDA_LAST_ROW)
        snprintf(text, bytes, HKI_FEW_WEIGHTS, value, least);
    else
        snprintf(text, bytes, HKI_BAD_WEIGHT, (int64_t)row, weight);
    return HK_BAD_DATA;
}

/* Reports with its bits the first weight that is negative or not a number, or whose sum is
 * infinite; else, where fewer than `least` are more than 0, HKI_CUDA_LAST_ROW with their number. */
void hki_cuda_call_checked_weights(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const int64_t size = call->in[0].size, least = *hki_options_of<int64_t>(call);
    const double *weights = hki_input_of<double>(call, 0);
    const hki_cuda_scan scan = {size, 1, 1, false, {}};
    hki_cuda_fault *fault = hki_cuda_fault_slot(stream, describe_weight, least);
    double *sums = static_cast<double *>(hki_cuda_workspace(
        stream, ((size_t)size + 1) * sizeof *sums + (size ? workspace_bytes(&scan) : 0)));
    if (!fault || !sums)
        return;
    auto *positive = reinterpret_cast<unsigned long long *>(sums + size);
    const unsigned grid =
        hki_cuda_grid(size, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    if (size > 0)
        launch_scan(stream, &scan, false, HK_F64, weights, sums, sums + size + 1);
    HKI_LAUNCH(stream, 1, 1, begin_count, positive);
    if (size > 0)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, check_weights, weights, (const double *)sums, size,
                   hki_output_of<double>(call, 0), positive, fault);
    HKI_LAUNCH(stream, 1, 1, check_positive, (const unsigned long long *)positive, least, fault);
}
