/* Maxima and minima, where they are, and what gradients of them need. */
#include "op/reduce/cuda_reduce.cuh"

template <class Element> struct range_of;
#define RANGE(type, least, most)                                                                   \
    template <> struct range_of<type> {                                                            \
        HKI_DEVICE type lowest()                                                                   \
        {                                                                                          \
            return least;                                                                          \
        }                                                                                          \
        HKI_DEVICE type highest()                                                                  \
        {                                                                                          \
            return most;                                                                           \
        }                                                                                          \
    };
RANGE(float, -INFINITY, INFINITY)
RANGE(double, -(double)INFINITY, (double)INFINITY)
RANGE(int32_t, INT32_MIN, INT32_MAX)
RANGE(int64_t, INT64_MIN, INT64_MAX)
RANGE(uint8_t, 0, UINT8_MAX)

/* Words of small integers are as wide as what lanes exchange. */
template <class Element> struct word_of {
    using type = Element;
};
template <> struct word_of<uint8_t> {
    using type = int32_t;
};

template <class Element> HKI_DEVICE bool is_nan(Element x)
{
    return x != x;
}

template <class Element, class Result, bool IsMax> struct extremum_of {
    static constexpr bool has_reference = false;
    using element = Element;
    using word = typename word_of<Element>::type;
    using result = Result;
    HKI_DEVICE word none()
    {
        return IsMax ? range_of<Element>::lowest() : range_of<Element>::highest();
    }
    HKI_DEVICE word of(Element x, int64_t, Element)
    {
        return x;
    }
    HKI_DEVICE word join(word a, word b)
    {
        return (IsMax ? b > a : b < a) || is_nan(b) ? b : a;
    }
    HKI_DEVICE Result make(word found, bool, double)
    {
        return (Result)found;
    }
};
template <class Element> using max_of = extremum_of<Element, Element, true>;
template <class Element> using min_of = extremum_of<Element, Element, false>;

template <class Element> struct offset_of : max_of<Element> {
    HKI_DEVICE Element make(Element found, bool, double)
    {
        return found - found == 0 || is_nan(found) ? found : (Element)0;
    }
};

/* A value and where it is; index -1: none. */
template <class Element> struct place {
    typename word_of<Element>::type value;
    int64_t index;
};
template <class Element>
HKI_DEVICE place<Element> hki_other_lane(place<Element> value, int distance)
{
    return {hki_other_lane(value.value, distance), hki_other_lane(value.index, distance)};
}

template <class Element, bool IsMax> struct arg_join {
    static constexpr bool has_reference = false;
    using word = place<Element>;
    using result = int64_t;
    HKI_DEVICE word none()
    {
        return {0, -1};
    }
    HKI_DEVICE bool is_before(const word &a, const word &b)
    {
        if (a.index < 0 || b.index < 0)
            return b.index < 0;
        if (is_nan(a.value) != is_nan(b.value))
            return is_nan(a.value);
        if (a.value == b.value || is_nan(a.value))
            return a.index < b.index;
        return IsMax ? a.value > b.value : a.value < b.value;
    }
    HKI_DEVICE word join(word a, word b)
    {
        return is_before(a, b) ? a : b;
    }
    HKI_DEVICE int64_t make(word found, bool, double)
    {
        return found.index;
    }
};
template <class Element, bool IsMax> struct arg_of : arg_join<Element, IsMax> {
    using element = Element;
    HKI_DEVICE place<Element> of(Element x, int64_t index, Element)
    {
        return {x, index};
    }
};
template <class Element, bool IsMax> struct arg_words : arg_join<Element, IsMax> {
    using element = place<Element>;
    HKI_DEVICE element of(element x, int64_t, element)
    {
        return x;
    }
};
template <class Element> using argmax_of = arg_of<Element, true>;
template <class Element> using argmin_of = arg_of<Element, false>;

template <class Element> struct ties_of {
    static constexpr bool has_reference = true;
    using element = Element;
    using word = int64_t;
    using result = int64_t;
    HKI_DEVICE int64_t none()
    {
        return 0;
    }
    HKI_DEVICE int64_t of(Element x, int64_t, Element reference)
    {
        return x == reference || (is_nan(x) && is_nan(reference));
    }
    HKI_DEVICE int64_t join(int64_t a, int64_t b)
    {
        return a + b;
    }
    HKI_DEVICE int64_t make(int64_t count, bool, double)
    {
        return count;
    }
};
struct ties_words : ties_of<int64_t> {
    static constexpr bool has_reference = false;
    HKI_DEVICE int64_t of(int64_t x, int64_t, int64_t)
    {
        return x;
    }
};

/* By hk_dtype: float32, float64, int32, int64, uint8, bool. */
#define ELEMENTS(kind)                                                                             \
    {                                                                                              \
        hki_reduce_elements<kind<float>>, hki_reduce_elements<kind<double>>,                       \
            hki_reduce_elements<kind<int32_t>>, hki_reduce_elements<kind<int64_t>>,                \
            hki_reduce_elements<kind<uint8_t>>, hki_reduce_elements<kind<uint8_t>>                 \
    }
/* Words of uint8 are of another type than their results. */
#define EXTREMUM_WORDS(kind, is_max)                                                               \
    {                                                                                              \
        hki_reduce_words<kind<float>>, hki_reduce_words<kind<double>>,                             \
            hki_reduce_words<kind<int32_t>>, hki_reduce_words<kind<int64_t>>,                      \
            hki_reduce_words<extremum_of<int32_t, uint8_t, is_max>>,                               \
            hki_reduce_words<extremum_of<int32_t, uint8_t, is_max>>                                \
    }
#define ARG_WORDS(is_max)                                                                          \
    {                                                                                              \
        hki_reduce_words<arg_words<float, is_max>>, hki_reduce_words<arg_words<double, is_max>>,   \
            hki_reduce_words<arg_words<int32_t, is_max>>,                                          \
            hki_reduce_words<arg_words<int64_t, is_max>>,                                          \
            hki_reduce_words<arg_words<uint8_t, is_max>>,                                          \
            hki_reduce_words<arg_words<uint8_t, is_max>>                                           \
    }

const hki_cuda_reduce_launches hki_cuda_reduce_max = {
    ELEMENTS(max_of), EXTREMUM_WORDS(max_of, true), {4, 8, 4, 8, 4, 4}};
const hki_cuda_reduce_launches hki_cuda_reduce_min = {
    ELEMENTS(min_of), EXTREMUM_WORDS(min_of, false), {4, 8, 4, 8, 4, 4}};
const hki_cuda_reduce_launches hki_cuda_reduce_offset = {
    {hki_reduce_elements<offset_of<float>>, hki_reduce_elements<offset_of<double>>, nullptr,
     nullptr, nullptr, nullptr},
    {hki_reduce_words<offset_of<float>>, hki_reduce_words<offset_of<double>>, nullptr, nullptr,
     nullptr, nullptr},
    {4, 8, 0, 0, 0, 0}};
const hki_cuda_reduce_launches hki_cuda_reduce_argmax = {
    ELEMENTS(argmax_of), ARG_WORDS(true), {16, 16, 16, 16, 16, 16}};
const hki_cuda_reduce_launches hki_cuda_reduce_argmin = {
    ELEMENTS(argmin_of), ARG_WORDS(false), {16, 16, 16, 16, 16, 16}};
const hki_cuda_reduce_launches hki_cuda_reduce_ties = {
    {hki_reduce_elements<ties_of<float>>, hki_reduce_elements<ties_of<double>>, nullptr, nullptr,
     nullptr, nullptr},
    {hki_reduce_words<ties_words>, hki_reduce_words<ties_words>, nullptr, nullptr, nullptr,
     nullptr},
    {8, 8, 0, 0, 0, 0}};

/* ---- sharing a gradient ------------------------------------------------------------------------------------------ */

template <class Element, int N>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK) share(const hki_cuda_path path)
{
    for (uint32_t i = (uint32_t)HKI_THREAD_INDEX; i < path.count; i += (uint32_t)HKI_THREAD_COUNT) {
        char *at[HKI_CUDA_OPERANDS];
        hki_path_all<HKI_CUDA_OPERANDS>(path, i, at);
        const auto ties =
            hki_path_load<int64_t, N>(path, HKI_CUDA_SHARE_TIES, at[HKI_CUDA_SHARE_TIES]);
        const auto x = hki_path_load<Element, N>(path, HKI_CUDA_SHARE_X, at[HKI_CUDA_SHARE_X]);
        const auto y = hki_path_load<Element, N>(path, HKI_CUDA_SHARE_Y, at[HKI_CUDA_SHARE_Y]);
        const auto dy = hki_path_load<Element, N>(path, HKI_CUDA_SHARE_DY, at[HKI_CUDA_SHARE_DY]);
        hki_pack<Element, N> dx;
        for (int j = 0; j < N; j++)
            dx.at[j] = ties_of<Element>::of(x.at[j], 0, y.at[j]) ? dy.at[j] / (Element)ties.at[j]
                                                                 : (Element)0;
        *reinterpret_cast<hki_pack<Element, N> *>(at[HKI_CUDA_SHARE_DX]) = dx;
    }
}

template <class Element>
static void launch_share(hki_cuda_stream *stream, const hki_cuda_path *path)
{
    const unsigned grid =
        hki_cuda_grid(path->count, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    if (path->width == HKI_CUDA_SHARE_WIDTH)
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (share<Element, HKI_CUDA_SHARE_WIDTH>), *path);
    else
        HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, (share<Element, 1>), *path);
}

void hki_cuda_launch_share(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype dtype)
{
    if (dtype == HK_F32)
        launch_share<float>(stream, path);
    else
        launch_share<double>(stream, path);
}
