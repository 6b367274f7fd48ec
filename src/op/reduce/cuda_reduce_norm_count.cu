/* Norms, and counts of what is not 0. */
#include "op/cuda/cuda_calls.h"
#include "op/elementwise/cuda_elementwise.cuh"
#include "op/reduce/cuda_reduce.cuh"
#include "op/reduce/reduce.h"

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

template <class Element>
static void launch_gradient(hki_cuda_stream *stream, const hki_cuda_walk &walk)
{
    constexpr int item = (int)sizeof(Element), width = HKI_CUDA_PACK_BYTES / item;
    const int item_bytes[] = {item, item, item, item};
    hki_cuda_launch_parts(stream, walk, width, item_bytes, [&](const hki_cuda_path *path) {
        launch_elementwise<norm_gradient<Element>, width>(stream, path, 0, nullptr);
    });
}

void hki_cuda_call_norm_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_sum_options *options = hki_options_of<hki_sum_options>(call);
    const hki_tensor *in = call->in, &x = in[0];
    const unsigned mask = hki_reduce_mask_of(options, x.ndim);
    const int item = hki_cuda_item_bytes(x.dtype);
    int64_t norm[HK_MAX_NDIM], dy[HK_MAX_NDIM];
    hki_reduce_spread(x.ndim, mask, options->keepdims, in[1].strides, norm);
    hki_reduce_spread(x.ndim, mask, options->keepdims, in[2].strides, dy);
    hki_cuda_walk walk;
    hki_cuda_walk_init(&walk, 4);
    for (int i = 0; i < x.ndim; i++) {
        const int64_t steps[] = {call->out[0].strides[i] * item, x.strides[i] * item,
                                 norm[i] * item, dy[i] * item};
        hki_cuda_walk_add_axis(&walk, x.dims[i], steps);
    }
    void *const data[] = {call->out[0].data, x.data, in[1].data, in[2].data};
    for (int i = 0; i < 4; i++)
        walk.data[i] = static_cast<char *>(data[i]);
    (x.dtype == HK_F32 ? launch_gradient<float> : launch_gradient<double>)(stream, walk);
}
