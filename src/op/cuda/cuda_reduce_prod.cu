/* Products, and what gradients of them need. */
#include "op/cuda/cuda_reduce.cuh"

template <class Element, class Word, class Result> struct product_of {
    static constexpr bool has_reference = false;
    using element = Element;
    using word = Word;
    using result = Result;
    HKI_DEVICE Word none()
    {
        return 1;
    }
    HKI_DEVICE Word of(Element x, int64_t, Element)
    {
        return (Word)x;
    }
    HKI_DEVICE Word join(Word a, Word b)
    {
        return a * b;
    }
    HKI_DEVICE Result make(Word product, bool, double)
    {
        return (Result)product;
    }
};

HKI_DEVICE hki_cuda_factors hki_other_lane(hki_cuda_factors value, int distance)
{
    return {hki_other_lane(value.others, distance), hki_other_lane(value.zeros, distance)};
}

struct factors_join {
    static constexpr bool has_reference = false;
    using word = hki_cuda_factors;
    using result = hki_cuda_factors;
    HKI_DEVICE word none()
    {
        return {1, 0};
    }
    HKI_DEVICE word join(word a, word b)
    {
        return {a.others * b.others, a.zeros + b.zeros};
    }
    HKI_DEVICE word make(word gathered, bool, double)
    {
        return gathered;
    }
};
template <class Element> struct factors_of : factors_join {
    using element = Element;
    HKI_DEVICE word of(Element x, int64_t, Element)
    {
        return {x == 0 ? 1.0 : (double)x, x == 0};
    }
};
struct factors_words : factors_join {
    using element = hki_cuda_factors;
    HKI_DEVICE word of(element x, int64_t, element)
    {
        return x;
    }
};

template <class Kind> static void elements(hki_cuda_stream *stream, const hki_cuda_reduce *call)
{
    launch_reduce<Kind, HKI_CUDA_PACK_BYTES / (int)sizeof(typename Kind::element)>(stream, call);
}
template <class Kind> static void words(hki_cuda_stream *stream, const hki_cuda_reduce *call)
{
    launch_reduce<Kind, 1>(stream, call);
}

/* By hk_dtype: float32, float64, int32, int64, uint8, bool. */
#define INTEGERS(type)  elements<product_of<type, uint64_t, uint64_t>>
#define INTEGER_WORDS() words<product_of<uint64_t, uint64_t, uint64_t>>
const hki_cuda_reduce_launches hki_cuda_reduce_prod = {
    {elements<product_of<float, double, float>>, elements<product_of<double, double, double>>,
     INTEGERS(int32_t), INTEGERS(int64_t), INTEGERS(uint8_t), INTEGERS(uint8_t)},
    {words<product_of<double, double, float>>, words<product_of<double, double, double>>,
     INTEGER_WORDS(), INTEGER_WORDS(), INTEGER_WORDS(), INTEGER_WORDS()},
    {8, 8, 8, 8, 8, 8}};
const hki_cuda_reduce_launches hki_cuda_reduce_factors = {
    {elements<factors_of<float>>, elements<factors_of<double>>, nullptr, nullptr, nullptr, nullptr},
    {words<factors_words>, words<factors_words>, nullptr, nullptr, nullptr, nullptr},
    {16, 16, 0, 0, 0, 0}};

/* ---- the gradient: as in op/operators/reduce_backward.c */

template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK) prod_share(const hki_cuda_path path)
{
    for (uint32_t i = (uint32_t)HKI_THREAD_INDEX; i < path.count; i += (uint32_t)HKI_THREAD_COUNT) {
        char *at[HKI_CUDA_OPERANDS];
        hki_path_all<HKI_CUDA_OPERANDS>(path, i, at);
        const hki_cuda_factors given =
            *reinterpret_cast<const hki_cuda_factors *>(at[HKI_CUDA_SHARE_TIES]);
        const double x = (double)*reinterpret_cast<const Element *>(at[HKI_CUDA_SHARE_X]);
        const double dy = (double)*reinterpret_cast<const Element *>(at[HKI_CUDA_SHARE_DY]);
        const double share = given.zeros > (x == 0) ? 0 : x == 0 ? given.others : given.others / x;
        *reinterpret_cast<Element *>(at[HKI_CUDA_SHARE_DX]) = (Element)(dy * share);
    }
}

void hki_cuda_launch_prod_share(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype dtype)
{
    const unsigned grid =
        hki_cuda_grid(path->count, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    if (dtype == HK_F32)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, prod_share<float>, *path);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, prod_share<double>, *path);
}
