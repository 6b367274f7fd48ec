/* Sums and means. */
#include "op/cuda/cuda_reduce.cuh"

template <class Element, class Word, class Result> struct sum_of {
    static constexpr bool has_reference = false;
    using element = Element;
    using word = Word;
    using result = Result;
    HKI_DEVICE Word none()
    {
        return 0;
    }
    HKI_DEVICE Word of(Element x, int64_t, Element)
    {
        return (Word)x;
    }
    HKI_DEVICE double join(double a, double b)
    {
        return a + b;
    }
    HKI_DEVICE int64_t join(int64_t a, int64_t b)
    {
        return (int64_t)((uint64_t)a + (uint64_t)b);
    }
    HKI_DEVICE Result make(Word sum, bool is_mean, double divisor)
    {
        return is_mean ? (Result)((double)sum / divisor) : (Result)sum;
    }
};

template <class Element, class Word, class Result>
static void elements(hki_cuda_stream *stream, const hki_cuda_reduce *call)
{
    launch_reduce<sum_of<Element, Word, Result>, HKI_CUDA_PACK_BYTES / (int)sizeof(Element)>(stream,
                                                                                             call);
}

/* Words are gathered as they are. */
template <class Word, class Result>
static void words(hki_cuda_stream *stream, const hki_cuda_reduce *call)
{
    launch_reduce<sum_of<Word, Word, Result>, 1>(stream, call);
}

/* By hk_dtype: float32, float64, int32, int64, uint8, bool. */
const hki_cuda_reduce_launches hki_cuda_reduce_sum = {
    {elements<float, double, float>, elements<double, double, double>,
     elements<int32_t, int64_t, int64_t>, elements<int64_t, int64_t, int64_t>,
     elements<uint8_t, int64_t, int64_t>, elements<uint8_t, int64_t, int64_t>},
    {words<double, float>, words<double, double>, words<int64_t, int64_t>, words<int64_t, int64_t>,
     words<int64_t, int64_t>, words<int64_t, int64_t>},
    {8, 8, 8, 8, 8, 8}};

const hki_cuda_reduce_launches hki_cuda_reduce_mean = {
    {elements<float, double, float>, elements<double, double, double>,
     elements<int32_t, int64_t, double>, elements<int64_t, int64_t, double>,
     elements<uint8_t, int64_t, double>, elements<uint8_t, int64_t, double>},
    {words<double, float>, words<double, double>, words<int64_t, double>, words<int64_t, double>,
     words<int64_t, double>, words<int64_t, double>},
    {8, 8, 8, 8, 8, 8}};
