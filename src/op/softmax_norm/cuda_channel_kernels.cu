/* Kernels over the channels of contiguous arrays [samples][channels][inner], of float32 or
 * float64: batch normalisation, the gradient of a bias, and those of the scales and shifts of
 * other normalisations. Sums are in double, of parts that are a pure function of the shape, and
 * added in the order of parts: the same bytes on every run and GPU. cuDNN's sums are of float32,
 * and its variance for the moving average is another. */
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_pack.cuh"
#include "op/softmax_norm/batch_norm.h"
#include "op/softmax_norm/layer_norm.h"

enum {
    THREADS = 256,
    PART_MIN = 2048,   /* elements of a channel that are worth a block; */
    VECTORS_MIN = 256, /* vectors that are, since it has LANES channels of them */
    PARTS_MAX = 64,
    BLOCKS = 1024, /* about as many fill a GPU */
    LANES = 32,
    ROWS = THREADS / LANES
};

/* A channel's elements are cut into parts, and a block works at one of them; or, of vectors, whose inner is 1, at those of
 * LANES neighbouring channels, because a channel's own elements lie far from each other. Where inner is a multiple of it, a
 * thread has packs of neighbours; whether it can read them in one go makes no difference to their order. */
struct channel_parts {
    int64_t samples, channels, inner; /* inner and all below count packs */
    int64_t count;                    /* of a channel */
    int64_t parts, part;
    double elements; /* of a channel */
    bool is_wide;    /* arrays begin where packs may */
};

/* Elements of a pack. */
static int pack_of(const hki_batch_norm_shape *shape, int element_bytes)
{
    const int pack = HKI_CUDA_PACK_BYTES / element_bytes;
    return shape->inner % pack == 0 ? pack : 1;
}

static channel_parts parts_of(const hki_batch_norm_shape *shape, int pack)
{
    const int64_t inner = shape->inner / pack, elements = shape->samples * shape->inner;
    channel_parts s = {shape->samples,
                       shape->channels,
                       inner,
                       shape->samples * inner,
                       1,
                       0,
                       (double)elements,
                       true};
    const int64_t least = shape->inner == 1 ? VECTORS_MIN : PART_MIN;
    const int64_t by_size = (elements + least - 1) / least;
    const int64_t groups = shape->inner == 1 ? (s.channels + LANES - 1) / LANES : s.channels;
    const int64_t by_blocks = groups > 0 ? BLOCKS / groups : 1;
    s.parts = by_size < by_blocks ? by_size : by_blocks;
    s.parts = s.parts < 1 ? 1 : s.parts > PARTS_MAX ? (int64_t)PARTS_MAX : s.parts;
    s.part = (s.count + s.parts - 1) / s.parts;
    return s;
}

static unsigned grid_of(hki_cuda_stream *stream, const channel_parts &s)
{
    return hki_cuda_grid(s.channels * s.parts, 1, hki_cuda_stream_multiprocessors(stream));
}

/* What a thread has to do with, of block item `item`. V: of vectors. */
template <bool V> struct place {
    int64_t channel, part;
    bool is_there;  /* false: there are no more channels */
    bool is_writer; /* of those with this channel, the one that writes what is known of it */

    __device__ place(const channel_parts &s, int64_t item)
        : channel(V ? item / s.parts * LANES + threadIdx.x % LANES : item / s.parts),
          part(item % s.parts), is_there(!V || channel < s.channels),
          is_writer(is_there && threadIdx.x < (V ? (unsigned)LANES : 1u))
    {
    }
    static __device__ int64_t item_count(const channel_parts &s)
    {
        return (V ? (s.channels + LANES - 1) / LANES : s.channels) * s.parts;
    }
    __device__ int64_t index(const channel_parts &s) const
    {
        return channel * s.parts + part;
    }
};

/* Calls visit(offset, sample) for the packs of a part that are this thread's, in order. */
template <bool V, typename F>
HKI_DEVICE void each_element(const channel_parts &s, const place<V> &at, F visit)
{
    const int64_t begin = at.part * s.part;
    const int64_t end = begin + s.part < s.count ? begin + s.part : s.count;
    if (V) {
        for (int64_t p = begin + threadIdx.x / LANES; at.is_there && p < end; p += ROWS)
            visit(p * s.channels + at.channel, p);
        return;
    }
    int64_t p = begin + threadIdx.x;
    if (p >= end)
        return;
    const int64_t row = s.channels * s.inner;
    const int64_t rows_each = THREADS / s.inner, rest_each = THREADS % s.inner;
    int64_t i = p % s.inner, sample = p / s.inner, offset = sample * row + at.channel * s.inner;
    for (; p < end; p += THREADS) {
        visit(offset + i, sample);
        offset += rows_each * row;
        sample += rows_each;
        i += rest_each;
        if (i >= s.inner) {
            i -= s.inner;
            offset += row;
            sample++;
        }
    }
}

/* The sum of the values of all threads with this channel, in each of them. */
template <bool V> HKI_DEVICE double block_sum(double value)
{
    HKI_SHARED double sums[THREADS];
    const unsigned last = V ? (unsigned)LANES : 1u;
    sums[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = THREADS / 2; half >= last; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    const double sum = sums[V ? threadIdx.x % LANES : 0];
    __syncthreads();
    return sum;
}

HKI_DEVICE double channel_sum(const channel_parts &s, const double *partials, int64_t channel)
{
    double sum = 0;
    for (int64_t part = 0; part < s.parts; part++)
        sum += partials[channel * s.parts + part];
    return sum;
}

/* For one block item after another. Each begins with all threads of the block. */
#define EACH_ITEM(item)                                                                            \
    for (int64_t item = blockIdx.x; item < place<V>::item_count(s); item += gridDim.x)

/* ---- sums ---------------------------------------------------------------------------------------------- */

template <typename T, bool V, int N>
HKI_KERNEL void sum_parts(channel_parts s, const T *x, double *partials)
{
    EACH_ITEM(item)
    {
        const place<V> at(s, item);
        double sum = 0;
        each_element<V>(s, at, [&](int64_t offset, int64_t) {
            const hki_pack<T, N> its = hki_pack_at<N>(s.is_wide, x, offset);
            for (int j = 0; j < N; j++)
                sum += (double)its.at[j];
        });
        sum = block_sum<V>(sum);
        if (at.is_writer)
            partials[at.index(s)] = sum;
    }
}

/* Of (x - mean)^2, where `sums` are those of x. */
template <typename T, bool V, int N>
HKI_KERNEL void square_parts(channel_parts s, const T *x, const double *sums, double *partials)
{
    EACH_ITEM(item)
    {
        const place<V> at(s, item);
        const double mean = at.is_there ? channel_sum(s, sums, at.channel) / s.elements : 0;
        double sum = 0;
        each_element<V>(s, at, [&](int64_t offset, int64_t) {
            const hki_pack<T, N> its = hki_pack_at<N>(s.is_wide, x, offset);
            for (int j = 0; j < N; j++) {
                const double distance = (double)its.at[j] - mean;
                sum += distance * distance;
            }
        });
        sum = block_sum<V>(sum);
        if (at.is_writer)
            partials[at.index(s)] = sum;
    }
}

/* Of dy, and of dy (x - mean). */
template <typename T, bool V, int N>
HKI_KERNEL void product_parts(channel_parts s, const T *x, const T *dy, const T *statistics,
                              double *sums, double *products)
{
    EACH_ITEM(item)
    {
        const place<V> at(s, item);
        const double mean = at.is_there ? (double)statistics[at.channel] +
                                              (double)statistics[3 * s.channels + at.channel]
                                        : 0;
        double sum = 0, product = 0;
        each_element<V>(s, at, [&](int64_t offset, int64_t) {
            const hki_pack<T, N> its_x = hki_pack_at<N>(s.is_wide, x, offset),
                                 its_dy = hki_pack_at<N>(s.is_wide, dy, offset);
            for (int j = 0; j < N; j++) {
                sum += (double)its_dy.at[j];
                product += (double)its_dy.at[j] * ((double)its_x.at[j] - mean);
            }
        });
        sum = block_sum<V>(sum);
        product = block_sum<V>(product);
        if (at.is_writer) {
            sums[at.index(s)] = sum;
            products[at.index(s)] = product;
        }
    }
}

/* Of dy, and of dy times x normalised, where each group of a sample's channels has statistics of its own. */
template <typename T, bool V, int N>
HKI_KERNEL void weigh_parts(channel_parts s, int64_t groups, const T *x, const T *dy,
                            const T *statistics, double *sums, double *products)
{
    EACH_ITEM(item)
    {
        const place<V> at(s, item);
        const int64_t group = at.is_there ? at.channel / (s.channels / groups) : 0;
        double sum = 0, product = 0;
        each_element<V>(s, at, [&](int64_t offset, int64_t sample) {
            const hki_pack<T, N> its_x = hki_pack_at<N>(s.is_wide, x, offset);
            const hki_pack<T, N> its_dy = hki_pack_at<N>(s.is_wide, dy, offset);
            const T *its = statistics + 3 * (sample * groups + group);
            const double mean = (double)its[0] + (double)its[2], inverse = (double)its[1];
            for (int j = 0; j < N; j++) {
                sum += (double)its_dy.at[j];
                product += (double)its_dy.at[j] * (((double)its_x.at[j] - mean) * inverse);
            }
        });
        sum = block_sum<V>(sum);
        product = block_sum<V>(product);
        if (at.is_writer) {
            sums[at.index(s)] = sum;
            products[at.index(s)] = product;
        }
    }
}

template <typename T> HKI_KERNEL void join_parts(channel_parts s, const double *partials, T *sums)
{
    for (int64_t c = HKI_THREAD_INDEX; c < s.channels; c += HKI_THREAD_COUNT)
        sums[c] = (T)channel_sum(s, partials, c);
}

/* ---- elements ------------------------------------------------------------------------------------------ */

/* Outputs are restrict: else each element would be read only after the one before has been written, and a thread would
 * wait for memory with one element on its way. No array of a call is another one's here. */

/* The statistics are those of the sums, or the given ones. */
template <typename T, bool V, int N>
HKI_KERNEL void normalise(channel_parts s, double eps, const T *__restrict__ x, const T *gamma,
                          const T *beta, const T *given_mean, const T *given_variance,
                          const double *sums, const double *squares, T *__restrict__ y,
                          T *__restrict__ statistics)
{
    EACH_ITEM(item)
    {
        const place<V> at(s, item);
        if (!at.is_there)
            continue;
        const int64_t c = at.channel;
        const double mean =
            given_mean ? (double)given_mean[c] : channel_sum(s, sums, c) / s.elements;
        const double variance =
            given_mean ? (double)given_variance[c] : channel_sum(s, squares, c) / s.elements;
        const double inverse = 1 / sqrt(variance + eps);
        const T centre = (T)mean, scale = (T)((double)gamma[c] * inverse);
        const double rest = mean - (double)centre;
        const T shift = (T)((double)beta[c] - rest * (double)scale);
        if (at.part == 0 && at.is_writer) {
            statistics[c] = (T)mean;
            statistics[s.channels + c] = (T)inverse;
            statistics[2 * s.channels + c] = (T)variance;
            statistics[3 * s.channels + c] = (T)rest;
        }
        each_element<V>(s, at, [&](int64_t offset, int64_t) {
            hki_pack<T, N> its = hki_pack_at<N>(s.is_wide, x, offset);
            for (int j = 0; j < N; j++)
                its.at[j] = (its.at[j] - centre) * scale + shift;
            hki_put_pack<N>(s.is_wide, y, offset, its);
        });
    }
}

template <typename T, bool V, int N>
HKI_KERNEL void normalise_backward(channel_parts s, bool given, const T *__restrict__ x,
                                   const T *__restrict__ dy, const T *gamma, const T *statistics,
                                   const double *sums, const double *products, T *__restrict__ dx,
                                   T *__restrict__ gradients)
{
    EACH_ITEM(item)
    {
        const place<V> at(s, item);
        if (!at.is_there)
            continue;
        const int64_t c = at.channel;
        const double sum = channel_sum(s, sums, c), product = channel_sum(s, products, c);
        const double inverse = (double)statistics[s.channels + c];
        const double scale = (double)gamma[c] * inverse;
        const T centre = statistics[c], by_dy = (T)scale;
        const T slope = (T)(-scale * inverse * inverse * product / s.elements);
        const T shift =
            (T)(-scale * sum / s.elements - (double)slope * (double)statistics[3 * s.channels + c]);
        if (at.part == 0 && at.is_writer) {
            gradients[c] = (T)(product * inverse);
            gradients[s.channels + c] = (T)sum;
        }
        each_element<V>(s, at, [&](int64_t offset, int64_t) {
            hki_pack<T, N> its = hki_pack_at<N>(s.is_wide, dy, offset);
            const hki_pack<T, N> its_x = given ? its : hki_pack_at<N>(s.is_wide, x, offset);
            for (int j = 0; j < N; j++) {
                its.at[j] *= by_dy;
                if (!given)
                    its.at[j] += shift + slope * (its_x.at[j] - centre);
            }
            hki_put_pack<N>(s.is_wide, dx, offset, its);
        });
    }
}

/* ---- launches ------------------------------------------------------------------------------------------ */

template <typename T, bool V, int N>
static void launch_sum(hki_cuda_stream *stream, const hki_batch_norm_shape *shape, const void *x,
                       void *sums, void *workspace)
{
    channel_parts s = parts_of(shape, N);
    const unsigned grid =
        hki_cuda_grid(s.channels, THREADS, hki_cuda_stream_multiprocessors(stream));
    double *partials = (double *)workspace;
    s.is_wide = hki_begins_wide(x);
    HKI_LAUNCH_TOGETHER(stream, grid_of(stream, s), THREADS, (sum_parts<T, V, N>), s, (const T *)x,
                        partials);
    HKI_LAUNCH(stream, grid, THREADS, join_parts<T>, s, (const double *)partials, (T *)sums);
}

/* Gradients: those of gamma, then of beta. */
template <typename T, bool V, int N>
static void launch_weigh(hki_cuda_stream *stream, const hki_batch_norm_shape *shape, int64_t groups,
                         const void *x, const void *dy, const void *statistics, void *gradients,
                         void *workspace)
{
    channel_parts s = parts_of(shape, N);
    const unsigned grid =
        hki_cuda_grid(s.channels, THREADS, hki_cuda_stream_multiprocessors(stream));
    double *sums = (double *)workspace, *products = sums + s.channels * s.parts;
    s.is_wide = hki_begins_wide(x) && hki_begins_wide(dy);
    HKI_LAUNCH_TOGETHER(stream, grid_of(stream, s), THREADS, (weigh_parts<T, V, N>), s, groups,
                        (const T *)x, (const T *)dy, (const T *)statistics, sums, products);
    HKI_LAUNCH(stream, grid, THREADS, join_parts<T>, s, (const double *)products, (T *)gradients);
    HKI_LAUNCH(stream, grid, THREADS, join_parts<T>, s, (const double *)sums,
               (T *)gradients + s.channels);
}

template <typename T, bool V, int N>
static void launch_normalise(hki_cuda_stream *stream, const hki_batch_norm_shape *shape, double eps,
                             const void *x, const void *gamma, const void *beta,
                             const void *given_mean, const void *given_variance, void *y,
                             void *statistics, void *workspace)
{
    channel_parts s = parts_of(shape, N);
    const unsigned grid = grid_of(stream, s);
    double *sums = (double *)workspace, *squares = sums;
    s.is_wide = hki_begins_wide(x) && hki_begins_wide(y);
    if (!given_mean) {
        squares = sums + s.channels * s.parts;
        HKI_LAUNCH_TOGETHER(stream, grid, THREADS, (sum_parts<T, V, N>), s, (const T *)x, sums);
        HKI_LAUNCH_TOGETHER(stream, grid, THREADS, (square_parts<T, V, N>), s, (const T *)x,
                            (const double *)sums, squares);
    }
    HKI_LAUNCH(stream, grid, THREADS, (normalise<T, V, N>), s, eps, (const T *)x, (const T *)gamma,
               (const T *)beta, (const T *)given_mean, (const T *)given_variance,
               (const double *)sums, (const double *)squares, (T *)y, (T *)statistics);
}

template <typename T, bool V, int N>
static void launch_backward(hki_cuda_stream *stream, const hki_batch_norm_shape *shape, bool given,
                            const void *x, const void *dy, const void *gamma,
                            const void *statistics, void *dx, void *gradients, void *workspace)
{
    channel_parts s = parts_of(shape, N);
    const unsigned grid = grid_of(stream, s);
    s.is_wide = hki_begins_wide(x) && hki_begins_wide(dy) && hki_begins_wide(dx);
    double *sums = (double *)workspace, *products = sums + s.channels * s.parts;
    HKI_LAUNCH_TOGETHER(stream, grid, THREADS, (product_parts<T, V, N>), s, (const T *)x,
                        (const T *)dy, (const T *)statistics, sums, products);
    HKI_LAUNCH(stream, grid, THREADS, (normalise_backward<T, V, N>), s, given, (const T *)x,
               (const T *)dy, (const T *)gamma, (const T *)statistics, (const double *)sums,
               (const double *)products, (T *)dx, (T *)gradients);
}

/* The instance of a launch for elements of float32 or float64, for arrays of vectors or not, in packs or one by one. */
#define CHOOSE_OF(launch, T, shape)                                                                \
    ((shape)->inner == 1                  ? launch<T, true, 1>                                     \
     : pack_of(shape, (int)sizeof(T)) > 1 ? launch<T, false, HKI_CUDA_PACK_BYTES / (int)sizeof(T)> \
                                          : launch<T, false, 1>)
#define CHOOSE(launch, f64, shape)                                                                 \
    ((f64) ? CHOOSE_OF(launch, double, shape) : CHOOSE_OF(launch, float, shape))

/* NULL: no memory, as has been noted. */
static void *workspace_for(hki_cuda_stream *stream, const hki_batch_norm_shape *shape)
{
    const channel_parts s = parts_of(shape, 1);
    const size_t bytes = 2 * (size_t)(s.channels * s.parts) * sizeof(double);
    return hki_cuda_workspace(stream, bytes > 0 ? bytes : 1);
}

/* Arrays without elements have no memory of the device. */
static void *elements(const hki_tensor &x)
{
    return x.size > 0 ? x.data : nullptr;
}

void hki_cuda_sum_bias(hki_cuda_stream *stream, hk_dtype dtype, const void *dy,
                       const int64_t dims[3], void *dbias)
{
    const hki_batch_norm_shape shape = {dims[0], dims[1], dims[2]};
    void *workspace = workspace_for(stream, &shape);
    if (workspace)
        CHOOSE(launch_sum, dtype == HK_F64, &shape)(stream, &shape, dy, dbias, workspace);
}

/* Sums over samples, and over the positions of a channel. */
void hki_cuda_layer_norm_weigh(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &x = call->in[0];
    const hki_row_norm_shape rows =
        hki_layer_norm_shape(x.ndim, x.dims, hki_options_of<hki_layer_norm_weigh_options>(call));
    const hki_batch_norm_shape shape = {rows.rows / rows.groups, call->out[0].dims[1], rows.inner};
    void *workspace = shape.channels > 0 ? workspace_for(stream, &shape) : nullptr;
    if (workspace)
        CHOOSE(launch_weigh, x.dtype == HK_F64, &shape)
        (stream, &shape, rows.groups, elements(x), x.size > 0 ? call->in[1].data : nullptr,
         x.size > 0 ? call->in[2].data : nullptr, call->out[0].data, workspace);
}

void hki_cuda_batch_norm(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &x = call->in[0];
    const hki_batch_norm_shape shape = hki_batch_norm_shape_of(x.ndim, x.dims);
    const void *mean = hki_input_of<void>(call, 3), *variance = hki_input_of<void>(call, 4);
    if (shape.channels == 0)
        return;
    void *workspace = mean ? nullptr : workspace_for(stream, &shape);
    if (mean || workspace)
        CHOOSE(launch_normalise, x.dtype == HK_F64, &shape)
        (stream, &shape, hki_batch_norm_eps(call->options), elements(x), call->in[1].data,
         call->in[2].data, mean, variance, elements(call->out[0]), call->out[1].data, workspace);
}

void hki_cuda_batch_norm_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &x = call->in[0];
    const hki_batch_norm_shape shape = hki_batch_norm_shape_of(x.ndim, x.dims);
    const bool given = hki_options_of<hki_batch_norm_backward_options>(call)->given;
    void *workspace = shape.channels > 0 ? workspace_for(stream, &shape) : nullptr;
    if (workspace)
        CHOOSE(launch_backward, x.dtype == HK_F64, &shape)
        (stream, &shape, given, elements(x), elements(call->in[1]), call->in[2].data,
         call->in[3].data, elements(call->out[0]), call->out[1].data, workspace);
}
