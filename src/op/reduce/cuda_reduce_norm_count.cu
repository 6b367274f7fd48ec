/* Norms, and counts of what is not 0. */
#include "op/elementwise/cuda_elementwise.cuh"
#include "op/reduce/cuda_reduce.cuh"

template <class Element, class Word, class Result>
struct added : hki_gathered<Element, Word, Result> {
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
/* By hk_dtype: float32, float64, int32, int64, uint8, bool. */
const hki_cuda_reduce_launches hki_cuda_reduce_norm = {
    {hki_reduce_elements<norm_of<float>>, hki_reduce_elements<norm_of<double>>, nullptr, nullptr,
     nullptr, nullptr},
    {hki_reduce_words<root_of<double, float>>, hki_reduce_words<root_of<double, double>>, nullptr,
     nullptr, nullptr, nullptr},
    {8, 8, 0, 0, 0, 0}};

#define COUNTS(name, say)                                                                          \
    const hki_cuda_reduce_launches hki_cuda_reduce_##name = {                                      \
        {hki_reduce_elements<count_of<say, float>>, hki_reduce_elements<count_of<say, double>>,    \
         hki_reduce_elements<count_of<say, int32_t>>, hki_reduce_elements<count_of<say, int64_t>>, \
         hki_reduce_elements<count_of<say, uint8_t>>,                                              \
         hki_reduce_elements<count_of<say, uint8_t>>},                                             \
        {hki_reduce_words<said_of<say, int64_t>>, hki_reduce_words<said_of<say, int64_t>>,         \
         hki_reduce_words<said_of<say, int64_t>>, hki_reduce_words<said_of<say, int64_t>>,         \
         hki_reduce_words<said_of<say, int64_t>>, hki_reduce_words<said_of<say, int64_t>>},        \
        {8, 8, 8, 8, 8, 8}};
COUNTS(count, say_count)
COUNTS(any, say_any)
COUNTS(all, say_all)

/* ---- the gradient of a norm, and 0 where that is 0 */
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
