/* Products, and what gradients of them need. */
#include "op/cuda/cuda_calls.h"
#include "op/reduce/cuda_reduce.cuh"
#include "op/reduce/prod_gradients.h"
#include "op/reduce/reduce.h"

template <class Element, class Word, class Result>
struct product_of : hki_gathered<Element, Word, Result> {
    HKI_DEVICE Word none()
    {
        return 1;
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

template <class Element>
struct factors_join : hki_gathered<Element, hki_cuda_factors, hki_cuda_factors> {
    HKI_DEVICE hki_cuda_factors none()
    {
        return {1, 0};
    }
    HKI_DEVICE hki_cuda_factors join(hki_cuda_factors a, hki_cuda_factors b)
    {
        return {a.others * b.others, a.zeros + b.zeros};
    }
    HKI_DEVICE hki_cuda_factors make(hki_cuda_factors gathered, bool, double)
    {
        return gathered;
    }
};
template <class Element> struct factors_of : factors_join<Element> {
    HKI_DEVICE hki_cuda_factors of(Element x, int64_t, Element)
    {
        return {x == 0 ? 1.0 : (double)x, x == 0};
    }
};

/* By hk_dtype: float32, float64, int32, int64, uint8, bool. */
#define INTEGERS(type)  hki_reduce_elements<product_of<type, uint64_t, uint64_t>>
#define INTEGER_WORDS() hki_reduce_words<product_of<uint64_t, uint64_t, uint64_t>>
const hki_cuda_reduce_launches hki_cuda_reduce_prod = {
    {hki_reduce_elements<product_of<float, double, float>>,
     hki_reduce_elements<product_of<double, double, double>>, INTEGERS(int32_t), INTEGERS(int64_t),
     INTEGERS(uint8_t), INTEGERS(uint8_t)},
    {hki_reduce_words<product_of<double, double, float>>,
     hki_reduce_words<product_of<double, double, double>>, INTEGER_WORDS(), INTEGER_WORDS(),
     INTEGER_WORDS(), INTEGER_WORDS()},
    {8, 8, 8, 8, 8, 8}};
const hki_cuda_reduce_launches hki_cuda_reduce_factors = {
    {hki_reduce_elements<factors_of<float>>, hki_reduce_elements<factors_of<double>>, nullptr,
     nullptr, nullptr, nullptr},
    {hki_reduce_words<factors_join<hki_cuda_factors>>,
     hki_reduce_words<factors_join<hki_cuda_factors>>, nullptr, nullptr, nullptr, nullptr},
    {16, 16, 0, 0, 0, 0}};

/* ---- the gradient: as in op/reduce/reduce_backward.c */

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

/* ---- the gradient's own */

/* Axes of arrays in C order; those that stay, and those that go. A thread does a line. */
struct hki_cuda_line_axes {
    int64_t count, ndim, dims[HK_MAX_NDIM], strides[HK_MAX_NDIM];
};

HKI_DEVICE int64_t offset_of(const hki_cuda_line_axes &axes, int64_t index)
{
    int64_t offset = 0;
    for (int64_t axis = axes.ndim - 1; axis >= 0; axis--) {
        offset += index % axes.dims[axis] * axes.strides[axis];
        index /= axes.dims[axis];
    }
    return offset;
}

#define X_AT(i)  x[offset_of(*gone, i)]
#define V_AT(i)  v[offset_of(*gone, i)]
#define DX_AT(i) dx[offset_of(*gone, i)]
HKI_PROD_SECOND(HKI_DEVICE, prod_changes_f32, float, hki_cuda_line_axes)
HKI_PROD_SECOND(HKI_DEVICE, prod_changes_f64, double, hki_cuda_line_axes)

HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    prod_changes(const hki_cuda_line_axes kept, const hki_cuda_line_axes gone, const bool is_f64,
                 const void *x, const void *dy, const void *v, void *dx)
{
    for (int64_t line = HKI_THREAD_INDEX; line < kept.count; line += HKI_THREAD_COUNT) {
        const int64_t at = offset_of(kept, line);
        if (is_f64)
            prod_changes_f64(&gone, (const double *)x + at, (const double *)v + at, 0,
                             ((const double *)dy)[line], (double *)dx + at);
        else
            prod_changes_f32(&gone, (const float *)x + at, (const float *)v + at, 0,
                             ((const float *)dy)[line], (float *)dx + at);
    }
}

/* All is contiguous: a line's dy is the one of its number. */
void hki_cuda_call_prod_second(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *in = call->in, &x = in[0];
    const unsigned mask = hki_reduce_mask_of(hki_options_of<hki_sum_options>(call), x.ndim);
    hki_cuda_line_axes kept = {1, 0, {}, {}}, gone = kept;
    for (int i = 0; i < x.ndim; i++) {
        hki_cuda_line_axes &axes = mask >> i & 1 ? gone : kept;
        axes.count *= x.dims[i];
        axes.dims[axes.ndim] = x.dims[i];
        axes.strides[axes.ndim++] = x.strides[i];
    }
    if (x.size == 0)
        return;
    const unsigned grid =
        hki_cuda_grid(kept.count, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, prod_changes, kept, gone, x.dtype == HK_F64, x.data,
               in[2].data, in[3].data, call->out[0].data);
}
