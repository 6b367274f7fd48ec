/* Sums and means. */
#include "op/reduce/cuda_reduce.cuh"

template <class Element, class Word, class Result>
struct sum_of : hki_gathered<Element, Word, Result> {
    HKI_DEVICE Word none()
    {
        return 0;
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

/* By hk_dtype: float32, float64, int32, int64, uint8, bool. */
const hki_cuda_reduce_launches hki_cuda_reduce_sum = {
    {hki_reduce_elements<sum_of<float, double, float>>,
     hki_reduce_elements<sum_of<double, double, double>>,
     hki_reduce_elements<sum_of<int32_t, int64_t, int64_t>>,
     hki_reduce_elements<sum_of<int64_t, int64_t, int64_t>>,
     hki_reduce_elements<sum_of<uint8_t, int64_t, int64_t>>,
     hki_reduce_elements<sum_of<uint8_t, int64_t, int64_t>>},
    {hki_reduce_words<sum_of<double, double, float>>,
     hki_reduce_words<sum_of<double, double, double>>,
     hki_reduce_words<sum_of<int64_t, int64_t, int64_t>>,
     hki_reduce_words<sum_of<int64_t, int64_t, int64_t>>,
     hki_reduce_words<sum_of<int64_t, int64_t, int64_t>>,
     hki_reduce_words<sum_of<int64_t, int64_t, int64_t>>},
    {8, 8, 8, 8, 8, 8}};

const hki_cuda_reduce_launches hki_cuda_reduce_mean = {
    {hki_reduce_elements<sum_of<float, double, float>>,
     hki_reduce_elements<sum_of<double, double, double>>,
     hki_reduce_elements<sum_of<int32_t, int64_t, double>>,
     hki_reduce_elements<sum_of<int64_t, double, double>>, /* sums would wrap around */
     hki_reduce_elements<sum_of<uint8_t, int64_t, double>>,
     hki_reduce_elements<sum_of<uint8_t, int64_t, double>>},
    {hki_reduce_words<sum_of<double, double, float>>,
     hki_reduce_words<sum_of<double, double, double>>,
     hki_reduce_words<sum_of<int64_t, int64_t, double>>,
     hki_reduce_words<sum_of<double, double, double>>,
     hki_reduce_words<sum_of<int64_t, int64_t, double>>,
     hki_reduce_words<sum_of<int64_t, int64_t, double>>},
    {8, 8, 8, 8, 8, 8}};
