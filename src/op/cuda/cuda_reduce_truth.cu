/* Norms, and counts of what is not 0. */
#include "op/cuda/cuda_elementwise.cuh"
#include "op/cuda/cuda_reduce.cuh"

/* Words are those of sums, added up alike. */
template <class Element, class Word, class Result> struct added {
    static constexpr bool has_reference = false;
    using element = Element;
    using word = Word;
    using result = Result;
    HKI_DEVICE Word none()
    {
        return 0;
    }
    HKI_DEVICE Word join(Word a, Word b)
    {
        return a + b;
    }
};

/* ---- norms */
template <class Element, class Result> struct root_of : added<Element, double, Result> {
    HKI_DEVICE Result make(double sum, bool, double)
    {
        return (Result)sqrt(sum);
    }
};
template <class Element> struct norm_of : root_of<Element, Element> {
    HKI_DEVICE double of(Element x, int64_t, Element)
    {
        return (double)x * (double)x;
    }
};
template <class Result> struct norm_words : root_of<double, Result> {
    HKI_DEVICE double of(double x, int64_t, double)
    {
        return x;
    }
};

/* ---- counts, and what they say; divisor: of how many */
struct say_count {
    using result = int64_t;
    HKI_DEVICE int64_t of(int64_t count, double)
    {
        return count;
    }
};
struct say_any {
    using result = uint8_t;
    HKI_DEVICE uint8_t of(int64_t count, double)
    {
        return count > 0;
    }
};
struct say_all {
    using result = uint8_t;
    HKI_DEVICE uint8_t of(int64_t count, double divisor)
    {
        return (double)count == divisor;
    }
};

template <class Say, class Element> struct said_of : added<Element, int64_t, typename Say::result> {
    HKI_DEVICE typename Say::result make(int64_t count, bool, double divisor)
    {
        return Say::of(count, divisor);
    }
};
template <class Say, class Element> struct count_of : said_of<Say, Element> {
    HKI_DEVICE int64_t of(Element x, int64_t, Element)
    {
        return x != 0;
    }
};
template <class Say> struct count_words : said_of<Say, int64_t> {
    HKI_DEVICE int64_t of(int64_t x, int64_t, int64_t)
    {
        return x;
    }
};

/* ---- launches */
template <class Kind> static void elements(hki_cuda_stream *stream, const hki_cuda_reduce *call)
{
    launch_reduce<Kind, HKI_CUDA_PACK_BYTES / (int)sizeof(typename Kind::element)>(stream, call);
}
template <class Kind> static void words(hki_cuda_stream *stream, const hki_cuda_reduce *call)
{
    launch_reduce<Kind, 1>(stream, call);
}

/* By hk_dtype: float32, float64, int32, int64, uint8, bool. */
const hki_cuda_reduce_launches hki_cuda_reduce_norm = {
    {elements<norm_of<float>>, elements<norm_of<double>>, nullptr, nullptr, nullptr, nullptr},
    {words<norm_words<float>>, words<norm_words<double>>, nullptr, nullptr, nullptr, nullptr},
    {8, 8, 0, 0, 0, 0}};

#define COUNTS(name, say)                                                                          \
    const hki_cuda_reduce_launches hki_cuda_reduce_##name = {                                      \
        {elements<count_of<say, float>>, elements<count_of<say, double>>,                          \
         elements<count_of<say, int32_t>>, elements<count_of<say, int64_t>>,                       \
         elements<count_of<say, uint8_t>>, elements<count_of<say, uint8_t>>},                      \
        {words<count_words<say>>, words<count_words<say>>, words<count_words<say>>,                \
         words<count_words<say>>, words<count_words<say>>, words<count_words<say>>},               \
        {8, 8, 8, 8, 8, 8}};
COUNTS(count, say_count)
COUNTS(any, say_any)
COUNTS(all, say_all)

/* ---- the gradient of a norm: a x / b of dy, x and the norm, and 0 where that is */
template <class Element> struct norm_gradient {
    static constexpr int inputs = 3;
    static constexpr bool is_checked = false;
    using first = Element;
    using value = Element;
    using result = Element;
    using number = int;
    HKI_DEVICE Element apply(Element x, Element norm, Element dy, int)
    {
        return norm == 0 ? (Element)0 : x * (dy / norm);
    }
};

void hki_cuda_launch_norm_gradient(hki_cuda_stream *stream, const hki_cuda_path *path,
                                   hk_dtype dtype)
{
    if (dtype == HK_F32)
        launch_elementwise<norm_gradient<float>, HKI_CUDA_PACK_BYTES / (int)sizeof(float)>(
            stream, path, 0, nullptr);
    else
        launch_elementwise<norm_gradient<double>, HKI_CUDA_PACK_BYTES / (int)sizeof(double)>(
            stream, path, 0, nullptr);
}
