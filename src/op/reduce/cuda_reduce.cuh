/* Within the plug-in: the kernel of reductions. What is gathered is a type:
 *
 *     struct kind {
 *         using element = float;   of the input
 *         using word = double;     what gathers them
 *         using result = float;
 *         HKI_DEVICE word none();
 *         HKI_DEVICE word of(element x, int64_t index, element reference);
 *         HKI_DEVICE word join(word a, word b);        commutative
 *         HKI_DEVICE result make(word gathered, bool is_mean, double divisor);
 *         static constexpr bool has_reference = false;
 *     }; */
#ifndef HOCKET_OP_CUDA_REDUCE_CUH
#define HOCKET_OP_CUDA_REDUCE_CUH

#include "op/reduce/cuda_reduce.h"
#include "op/cuda/cuda_tile.cuh"
#include "op/cuda/cuda_walk.cuh"

/* Elements from number `first` of what goes on, in order. */
template <class Kind, int N>
HKI_DEVICE typename Kind::word join_pack(typename Kind::word word,
                                         const hki_pack<typename Kind::element, N> &x,
                                         int64_t first, typename Kind::element reference)
{
    for (int j = 0; j < N; j++)
        word = Kind::join(word, Kind::of(x.at[j], first + j, reference));
    return word;
}

/* The elements begin … end - 1 (in steps of N) of one result that are this lane's. */
template <class Kind, int N>
HKI_DEVICE typename Kind::word gather(const hki_cuda_reduce &call, const char *base,
                                      typename Kind::element reference, uint32_t begin,
                                      uint32_t end, uint32_t lanes)
{
    typedef typename Kind::element element;
    typename Kind::word word = Kind::none();
    if (call.gone.ndim == 1) {
        /* Loads that are on their way at once: all come before the first one's use. */
        enum { TOGETHER = 4 };
        const int64_t step = call.gone.steps[0][0];
        uint32_t i = begin;
        for (; i < end && end - i > (TOGETHER - 1) * lanes; i += TOGETHER * lanes) {
            hki_pack<element, N> x[TOGETHER];
            HKI_UNROLL
            for (uint32_t k = 0; k < TOGETHER; k++)
                x[k] =
                    *reinterpret_cast<const hki_pack<element, N> *>(base + (i + k * lanes) * step);
            HKI_UNROLL
            for (uint32_t k = 0; k < TOGETHER; k++)
                word = join_pack<Kind, N>(
                    word, x[k], call.gone_first + (int64_t)(i + k * lanes) * N, reference);
        }
        for (; i < end; i += lanes)
            word = join_pack<Kind, N>(
                word, *reinterpret_cast<const hki_pack<element, N> *>(base + i * step),
                call.gone_first + (int64_t)i * N, reference);
    } else {
        for (uint32_t i = begin; i < end; i += lanes) {
            const char *at = base + hki_path_offset(call.gone, 0, i);
            word = join_pack<Kind, N>(word, *reinterpret_cast<const hki_pack<element, N> *>(at),
                                      call.gone_first + (int64_t)i * N, reference);
        }
    }
    return word;
}

template <class Type>
HKI_DEVICE Type *operand(const hki_cuda_path &path, int operand, uint32_t index)
{
    return reinterpret_cast<Type *>(path.data[operand] + hki_path_offset(path, operand, index));
}

template <class Kind, int N>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE) reduce(const hki_cuda_reduce call)
{
    typedef typename Kind::element element;
    typedef typename Kind::result result;
    HKI_SHARED typename Kind::word room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(call.tile.lanes, call.tile.by_rows);
    for (int64_t block = blockIdx.x; block < call.tile.tiles * call.tile.parts;
         block += gridDim.x) {
        const int64_t part = block / call.tile.tiles;
        const uint32_t kept =
            (uint32_t)(block % call.tile.tiles) * (uint32_t)at.columns + (uint32_t)at.column;
        const uint32_t begin = (uint32_t)(part * call.tile.part_size);
        const uint32_t end = call.gone.count - begin < (uint32_t)call.tile.part_size
                                 ? call.gone.count
                                 : begin + (uint32_t)call.tile.part_size;
        const bool is_there = kept < call.kept.count;
        typename Kind::word word = Kind::none();
        if (is_there) {
            element reference = {};
            if constexpr (Kind::has_reference)
                reference = *operand<element>(call.kept, HKI_CUDA_KEPT_REFERENCE, kept);
            word = gather<Kind, N>(call, operand<char>(call.kept, HKI_CUDA_KEPT_IN, kept),
                                   reference, begin + (uint32_t)at.lane, end, (uint32_t)at.lanes);
        }
        word = hki_join_lanes<Kind>(at, word, room);
        if (is_there && at.lane == 0) {
            if (call.words)
                static_cast<typename Kind::word *>(
                    call.words)[(call.part_first + part) * call.kept.count + kept] = word;
            else
                *operand<result>(call.kept, HKI_CUDA_KEPT_OUT, kept) =
                    Kind::make(word, call.is_mean, call.divisor);
        }
    }
}

/* What most kinds begin with: an element, or a word that was gathered before, is taken as it is. */
template <class Element, class Word, class Result> struct hki_gathered {
    static constexpr bool has_reference = false;
    using element = Element;
    using word = Word;
    using result = Result;
    HKI_DEVICE Word of(Element x, int64_t, Element)
    {
        return (Word)x;
    }
};

template <class Kind, int N>
static void launch_reduce(hki_cuda_stream *stream, const hki_cuda_reduce *call)
{
    const unsigned grid = hki_cuda_grid(call->tile.tiles * call->tile.parts, 1,
                                        hki_cuda_stream_multiprocessors(stream));
    if (call->gone.width == N)
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (reduce<Kind, N>), *call);
    else
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (reduce<Kind, 1>), *call);
}

/* For hki_cuda_reduce_launches. */
template <class Kind>
static void hki_reduce_elements(hki_cuda_stream *stream, const hki_cuda_reduce *call)
{
    launch_reduce<Kind, HKI_CUDA_PACK_BYTES / (int)sizeof(typename Kind::element)>(stream, call);
}
template <class Kind>
static void hki_reduce_words(hki_cuda_stream *stream, const hki_cuda_reduce *call)
{
    launch_reduce<Kind, 1>(stream, call);
}

#endif
