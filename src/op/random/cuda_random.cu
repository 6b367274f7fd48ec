/* Random arrays: the numbers of op/random/random_numbers.h. */
#include "op/random/random.h"

#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_walk.cuh"
#include "op/random/random_gamma.h"

enum hki_cuda_distribution {
    HKI_CUDA_UNIFORM, /* a: low, b: high */
    HKI_CUDA_NORMAL,  /* a: mean, b: standard deviation */
    HKI_CUDA_GAMMA,   /* a: concentration, b: scale; of floats */
    HKI_CUDA_INTEGER  /* low, range */
};

struct hki_cuda_draw {
    hki_cuda_distribution distribution;
    int zero; /* no gap: the emulation takes what lies in one for an address */
    hki_random_place place;
    const hki_random_place *recorded; /* in the device's memory, in its stead; NULL: none */
    double a, b;
    uint64_t low, range;
};

HKI_DEVICE hki_random_place place_of(const hki_cuda_draw &draw)
{
    return draw.recorded ? *draw.recorded : draw.place;
}

/* The elements of one counter. */
HKI_DEVICE void make(const hki_cuda_draw &draw, const uint32_t words[4], float out[4])
{
    if (draw.distribution == HKI_CUDA_UNIFORM)
        hki_random_uniform_f32(draw.a, draw.b, words, out);
    else
        hki_random_normal_f32(draw.a, draw.b, words, out);
}
HKI_DEVICE void make(const hki_cuda_draw &draw, const uint32_t words[4], double out[2])
{
    if (draw.distribution == HKI_CUDA_UNIFORM)
        hki_random_uniform_f64(draw.a, draw.b, words, out);
    else
        hki_random_normal_f64(draw.a, draw.b, words, out);
}
template <class Integer>
HKI_DEVICE void make(const hki_cuda_draw &draw, const uint32_t words[4], Integer out[2])
{
    int64_t values[2];
    hki_random_int(draw.low, draw.range, words, values);
    out[0] = (Integer)values[0];
    out[1] = (Integer)values[1];
}

/* is_wide: `out` may be written a counter's elements at a time. */
template <class Element, int N>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    random_numbers(const hki_cuda_draw draw, Element *out, const int64_t size, const bool is_wide)
{
    const hki_random_place from = place_of(draw);
    for (int64_t block = HKI_THREAD_INDEX; block * N < size; block += HKI_THREAD_COUNT) {
        uint32_t words[4];
        hki_pack<Element, N> made;
        hki_random_words(from.seed, from.stream, from.position + (uint64_t)block, words);
        make(draw, words, made.at);
        if (is_wide && (block + 1) * N <= size) {
            reinterpret_cast<hki_pack<Element, N> *>(out)[block] = made;
        } else {
            for (int i = 0; i < N; i++)
                if (block * N + i < size)
                    out[block * N + i] = made.at[i];
        }
    }
}

template <class Element> constexpr int per_counter = 2;
template <> constexpr int per_counter<float> = 4;

template <class Element>
static void launch(hki_cuda_stream *stream, const hki_cuda_draw *draw, void *out, int64_t size)
{
    constexpr int N = per_counter<Element>;
    const unsigned grid =
        hki_cuda_grid((size - 1) / N + 1, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    const bool is_wide = reinterpret_cast<uintptr_t>(out) % (sizeof(Element) * N) == 0;
    HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (random_numbers<Element, N>), *draw,
               static_cast<Element *>(out), size, is_wide);
}

/* A thread for each element, which tries until it accepts. */
template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    gamma_numbers(const hki_cuda_draw draw, Element *out, const int64_t size)
{
    constexpr int N = per_counter<Element>;
    const hki_random_place from = place_of(draw);
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT) {
        const hki_gamma_element self = {from.seed, from.stream, from.position + (uint64_t)(i / N),
                                        (uint64_t)(i % N)};
        out[i] = (Element)hki_random_gamma(&self, draw.a, draw.b);
    }
}

template <class Element>
static void launch_gamma(hki_cuda_stream *stream, const hki_cuda_draw *draw, void *out,
                         int64_t size)
{
    const unsigned grid =
        hki_cuda_grid(size, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, gamma_numbers<Element>, *draw,
               static_cast<Element *>(out), size);
}

/* out: contiguous, 16-byte aligned or not. */
static void launch_any(hki_cuda_stream *stream, const hki_cuda_draw *draw, hk_dtype dtype,
                       void *out, int64_t size)
{
    if (draw->distribution == HKI_CUDA_GAMMA) {
        (dtype == HK_F32 ? launch_gamma<float> : launch_gamma<double>)(stream, draw, out, size);
        return;
    }
    switch (dtype) {
    case HK_F32:
        launch<float>(stream, draw, out, size);
        break;
    case HK_F64:
        launch<double>(stream, draw, out, size);
        break;
    case HK_I32:
        launch<int32_t>(stream, draw, out, size);
        break;
    case HK_I64:
        launch<int64_t>(stream, draw, out, size);
        break;
    case HK_U8:
        launch<uint8_t>(stream, draw, out, size);
        break;
    default: /* refused at the call */
        break;
    }
}

static hki_cuda_draw draw_of(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_stream_options *from = hki_options_of<hki_stream_options>(call);
    hki_cuda_draw draw = {};
    draw.place = {from->seed, from->stream, from->position};
    draw.recorded = hki_cuda_recorded_place(stream);
    switch (hki_cuda_op_of(call)) {
    case HKI_OP_ID_random_uniform: {
        const auto *options = hki_options_of<hki_random_uniform_options>(call);
        draw.distribution = HKI_CUDA_UNIFORM;
        draw.a = options->low;
        draw.b = options->high;
        break;
    }
    case HKI_OP_ID_random_normal: {
        const auto *options = hki_options_of<hki_random_normal_options>(call);
        draw.distribution = HKI_CUDA_NORMAL;
        draw.a = options->mean;
        draw.b = options->std;
        break;
    }
    case HKI_OP_ID_random_gamma: {
        const auto *options = hki_options_of<hki_random_gamma_options>(call);
        draw.distribution = HKI_CUDA_GAMMA;
        draw.a = options->concentration;
        draw.b = options->scale;
        break;
    }
    default: {
        const auto *options = hki_options_of<hki_random_int_options>(call);
        draw.distribution = HKI_CUDA_INTEGER;
        draw.low = (uint64_t)options->low;
        draw.range = (uint64_t)options->last - draw.low + 1;
    }
    }
    return draw;
}

void hki_cuda_call_random(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &out = call->out[0];
    const hki_cuda_draw draw = draw_of(call, stream);
    if (out.size > 0)
        launch_any(stream, &draw, out.dtype, out.data, out.size);
}
