/* Sums of several buffers. */
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_walk.cuh"

enum { HKI_CUDA_MAX_BUFFERS = 64 }; /* addresses are arguments of the kernel */

struct hki_cuda_buffers {
    int input_count, output_count;
    const char *inputs[HKI_CUDA_MAX_BUFFERS];
    char *outputs[HKI_CUDA_MAX_BUFFERS];
};

template <class Element, int N>
HKI_DEVICE void add(hki_pack<Element, N> &to, const hki_pack<Element, N> &from)
{
    for (int k = 0; k < N; k++)
        to.at[k] = (Element)(to.at[k] + from.at[k]);
}

/* hki_sum_pairs: how many pairs of sums are complete after input `at`. */
HKI_DEVICE int pairs_after(int inputs, int at)
{
    int pairs = 0;
    while (inputs > 1) {
        const int half = inputs - inputs / 2;
        pairs += at == inputs - 1;
        inputs = at < half ? half : inputs - half;
        at -= at < half ? 0 : half;
    }
    return pairs;
}

enum { DEPTH = 8 }; /* sums of HKI_CUDA_MAX_BUFFERS that wait, at most */

/* Sums that wait, the last one first: a stack whose places are known to the compiler, so that it lies in registers. */
template <class Pack> struct waiting_sums {
    Pack at[DEPTH];
};

template <class Pack> HKI_DEVICE void push(waiting_sums<Pack> &sums, const Pack &sum)
{
    for (int k = DEPTH - 1; k > 0; k--)
        sums.at[k] = sums.at[k - 1];
    sums.at[0] = sum;
}

/* The last two become one. */
template <class Pack> HKI_DEVICE void join(waiting_sums<Pack> &sums)
{
    add(sums.at[1], sums.at[0]);
    for (int k = 0; k < DEPTH - 1; k++)
        sums.at[k] = sums.at[k + 1];
}

/* Of a pack of every input. */
template <class Element, int N>
HKI_DEVICE hki_pack<Element, N> sum_of(const hki_cuda_buffers &buffers, int64_t i)
{
    typedef hki_pack<Element, N> pack;
    waiting_sums<pack> waiting = {};
    for (int j = 0; j < buffers.input_count; j++) {
        push(waiting, reinterpret_cast<const pack *>(buffers.inputs[j])[i]);
        for (int pairs = pairs_after(buffers.input_count, j); pairs > 0; pairs--)
            join(waiting);
    }
    return waiting.at[0];
}

/* Each thread reads all inputs of its elements before it writes any output. count: packs of N elements. */
template <class Element, int N>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK) sum(const hki_cuda_buffers buffers, const int64_t count)
{
    typedef hki_pack<Element, N> pack;
    for (int64_t i = HKI_THREAD_INDEX; i < count; i += HKI_THREAD_COUNT) {
        const pack total = sum_of<Element, N>(buffers, i);
        for (int j = 0; j < buffers.output_count; j++)
            reinterpret_cast<pack *>(buffers.outputs[j])[i] = total;
    }
}

static bool are_aligned(const hki_cuda_buffers *buffers)
{
    uintptr_t bits = 0;
    for (int i = 0; i < buffers->input_count; i++)
        bits |= reinterpret_cast<uintptr_t>(buffers->inputs[i]);
    for (int i = 0; i < buffers->output_count; i++)
        bits |= reinterpret_cast<uintptr_t>(buffers->outputs[i]);
    return bits % HKI_CUDA_PACK_BYTES == 0;
}

/* Wide as far as it goes, then the rest. */
template <class Element>
static void launch(hki_cuda_stream *stream, const hki_cuda_buffers *buffers, int64_t size)
{
    /* Sixteen bytes that wait in registers of their own would be too many. */
    constexpr int N = sizeof(Element) == 1 ? 8 : HKI_CUDA_PACK_BYTES / (int)sizeof(Element);
    const int64_t packs = are_aligned(buffers) ? size / N : 0, done = packs * N;
    const int processors = hki_cuda_stream_multiprocessors(stream);
    if (packs > 0)
        HKI_LAUNCH(stream, hki_cuda_grid(packs, HKI_CUDA_BLOCK, processors), HKI_CUDA_BLOCK,
                   (sum<Element, N>), *buffers, packs);
    if (done == size)
        return;
    hki_cuda_buffers rest = *buffers;
    for (int i = 0; i < rest.input_count; i++)
        rest.inputs[i] += done * (int64_t)sizeof(Element);
    for (int i = 0; i < rest.output_count; i++)
        rest.outputs[i] += done * (int64_t)sizeof(Element);
    HKI_LAUNCH(stream, hki_cuda_grid(size - done, HKI_CUDA_BLOCK, processors), HKI_CUDA_BLOCK,
               (sum<Element, 1>), rest, size - done);
}

/* Integers wrap around: they are added up unsigned. */
static void launch_any(hki_cuda_stream *stream, const hki_cuda_buffers *buffers, hk_dtype dtype,
                       int64_t size)
{
    switch (dtype) {
    case HK_F32:
        launch<float>(stream, buffers, size);
        break;
    case HK_F64:
        launch<double>(stream, buffers, size);
        break;
    case HK_I32:
    case HK_U32:
        launch<uint32_t>(stream, buffers, size);
        break;
    case HK_I64:
    case HK_U64:
        launch<uint64_t>(stream, buffers, size);
        break;
    case HK_I16:
    case HK_U16:
        launch<uint16_t>(stream, buffers, size);
        break;
    case HK_I8:
    case HK_U8:
        launch<uint8_t>(stream, buffers, size);
        break;
    default: /* has no sum: all_reduce.c */
        break;
    }
}

/* Added as base/sum_tree.h adds runs; outputs may be among the inputs. */
void hki_cuda_sum(hki_cuda_stream *stream, hk_dtype dtype, const void *const *inputs,
                  int input_count, void *const *outputs, int output_count, size_t size)
{
    hki_cuda_buffers buffers = {};
    if (input_count > HKI_CUDA_MAX_BUFFERS || output_count > HKI_CUDA_MAX_BUFFERS) {
        hki_cuda_note(stream, "sum", "of more than 64 buffers, which no kernel takes");
        return;
    }
    buffers.input_count = input_count;
    buffers.output_count = output_count;
    for (int i = 0; i < input_count; i++)
        buffers.inputs[i] = static_cast<const char *>(inputs[i]);
    for (int i = 0; i < output_count; i++)
        buffers.outputs[i] = static_cast<char *>(outputs[i]);
    if (size > 0)
        launch_any(stream, &buffers, dtype, (int64_t)size);
}
