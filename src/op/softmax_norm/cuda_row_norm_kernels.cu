/* Kernels of layer norm, RMS norm and group norm over the rows of contiguous arrays, of float32
 * or float64, as row_norm_kernel.h describes them. A block's threads share out rows by
 * cuda_geometry.h; sums are in double, in an order that follows from the shape. The gradients of
 * gamma and beta are sums over channels: cuda_channel_kernels.cu. */
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_pack.cuh"
#include "op/cuda/cuda_tile.cuh"
#include "op/softmax_norm/layer_norm.h"

enum { PACK_BYTES = HKI_CUDA_PACK_BYTES };

/* Of rows whose elements have a gamma each, or share one in runs of `inner`. size and inner count packs of N elements, which
 * all have a gamma each, or all the same. */
struct row_norm {
    int64_t rows, size, inner, groups;
    int64_t runs;    /* gammas of a row: elements */
    double elements; /* of a row */
    bool is_centred;
    bool is_wide; /* arrays begin where packs may */
    hki_cuda_tile tile;
};

/* A pack of elements one each, or one run at a time: EACH. */
template <typename T, bool EACH, int N>
static row_norm row_norm_of(const hki_row_norm_shape *shape, bool is_wide)
{
    row_norm self = {};
    self.rows = shape->rows;
    self.size = shape->size / N;
    self.inner = EACH ? 1 : shape->inner / N;
    self.groups = shape->groups;
    self.runs = shape->size / shape->inner;
    self.elements = (double)shape->size;
    self.is_centred = shape->is_centred;
    self.is_wide = is_wide;
    self.tile = hki_cuda_line_tile(self.rows, self.size, false);
    return self;
}

/* What a column of lanes has to do with in one turn of its block. Without a row it has no elements, but comes to every
 * join. */
struct row_place {
    int64_t row, begin, size; /* begin: the row's first pack; packs */
    int64_t first;            /* the row's first gamma */
    bool is_there;

    __device__ row_place(const row_norm &s, const hki_lane &at, int64_t block)
        : row(block * at.columns + at.column), is_there(row < s.rows)
    {
        row = is_there ? row : 0;
        begin = row * s.size;
        size = is_there ? s.size : 0;
        first = s.groups > 1 ? row % s.groups * s.runs : 0; /* a division is slow */
    }
};

/* Calls visit(pack, run) for this lane's packs of a row, in order: run is the gamma's place in its row where it is shared. */
template <bool EACH, typename F>
HKI_DEVICE void each_pack(const row_norm &s, const hki_lane &at, int64_t size, F visit)
{
    if constexpr (EACH) {
        for (int64_t p = at.lane; p < size; p += at.lanes)
            visit(p, (int64_t)0);
    } else {
        const int64_t runs_each = at.lanes / s.inner, rest_each = at.lanes % s.inner;
        int64_t run = at.lane / s.inner, rest = at.lane % s.inner;
        for (int64_t p = at.lane; p < size; p += at.lanes) {
            visit(p, run);
            run += runs_each;
            rest += rest_each;
            if (rest >= s.inner) {
                rest -= s.inner;
                run++;
            }
        }
    }
}

/* Those of gamma or beta that a pack is scaled or shifted by; `otherwise` where there are none. */
template <bool EACH, int N, typename T>
HKI_DEVICE hki_pack<T, N> affine_at(const row_norm &s, const row_place &row, const T *values,
                                    int64_t pack, int64_t run, T otherwise)
{
    if constexpr (EACH)
        if (values)
            return hki_pack_at<N>(s.is_wide, values + row.first, pack);
    const T value = values ? values[row.first + run] : otherwise;
    hki_pack<T, N> all;
    for (int j = 0; j < N; j++)
        all.at[j] = value;
    return all;
}

/* A lane's packs of a row of `size` packs: lane, lane + lanes, … */
template <typename T, int N, int PACKS> struct held_row {
    hki_pack<T, N> packs[PACKS];
    int lane, lanes, size;

    __device__ held_row(const hki_lane &at, int packs_of_row, const T *x)
        : packs(), lane(at.lane), lanes(at.lanes), size(packs_of_row)
    {
        each_pack([&](int p, hki_pack<T, N> &its) { its = hki_pack_at<N>(true, x, p); });
    }
    template <typename F> __device__ void each_pack(F visit)
    {
        HKI_UNROLL
        for (int k = 0; k < PACKS; k++)
            if (lane + k * lanes < size)
                visit(lane + k * lanes, packs[k]);
    }
    template <typename F> __device__ void each(F visit)
    {
        each_pack([&](int, const hki_pack<T, N> &its) {
            for (int j = 0; j < N; j++)
                visit(its.at[j]);
        });
    }
};

/* ---- kernels ------------------------------------------------------------------------------------------- */

/* The mean of (x - mean)^power over a row, of all its lanes. */
template <typename T, bool EACH, int N>
HKI_DEVICE double row_mean(const row_norm &s, const hki_lane &at, const row_place &row, const T *x,
                           bool squared, double mean, double *room)
{
    double sum = 0;
    each_pack<EACH>(s, at, row.size, [&](int64_t p, int64_t) {
        const hki_pack<T, N> its = hki_pack_at<N>(s.is_wide, x, row.begin + p);
        for (int j = 0; j < N; j++) {
            const double distance = (double)its.at[j] - mean;
            sum += squared ? distance * distance : distance;
        }
    });
    return hki_join_lanes<hki_added>(at, sum, room) / s.elements;
}

/* Without bounds, by which the compiler would save registers and spill some. Outputs are restrict: no array of a call is another one's here. */
template <typename T, bool EACH, int N>
HKI_KERNEL void row_norm_forward(const row_norm s, const double eps, const T *__restrict__ x,
                                 const T *__restrict__ gamma, const T *__restrict__ beta,
                                 T *__restrict__ y, T *__restrict__ statistics)
{
    HKI_SHARED double room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(s.tile.lanes, false);
    for (int64_t block = blockIdx.x; block < s.tile.tiles; block += gridDim.x) {
        const row_place row(s, at, block);
        const double mean = s.is_centred ? row_mean<T, EACH, N>(s, at, row, x, false, 0, room) : 0;
        const double variance = row_mean<T, EACH, N>(s, at, row, x, true, mean, room);
        const T centre = (T)mean, inverse = (T)(1 / sqrt(variance + eps));
        const T rest = (T)(mean - (double)centre);
        if (row.is_there && at.lane == 0) {
            statistics[3 * row.row] = centre;
            statistics[3 * row.row + 1] = inverse;
            statistics[3 * row.row + 2] = rest;
        }
        each_pack<EACH>(s, at, row.size, [&](int64_t p, int64_t run) {
            hki_pack<T, N> its = hki_pack_at<N>(s.is_wide, x, row.begin + p);
            const hki_pack<T, N> scale = affine_at<EACH, N>(s, row, gamma, p, run, (T)1);
            const hki_pack<T, N> shift = affine_at<EACH, N>(s, row, beta, p, run, (T)0);
            for (int j = 0; j < N; j++)
                its.at[j] = (its.at[j] - centre - rest) * inverse * scale.at[j] + shift.at[j];
            hki_put_pack<N>(s.is_wide, y, row.begin + p, its);
        });
    }
}

/* The same of rows whose elements have a gamma each and lie in registers, which are read once. All arrays begin where packs
 * may. The sums have the order that row_norm_forward has with the same tile. */
template <typename T, int N, int PACKS>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE)
    row_norm_held(const row_norm s, const double eps, const T *__restrict__ x,
                  const T *__restrict__ gamma, const T *__restrict__ beta, T *__restrict__ y,
                  T *__restrict__ statistics)
{
    HKI_SHARED double room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(s.tile.lanes, false);
    for (int64_t block = blockIdx.x; block < s.tile.tiles; block += gridDim.x) {
        const row_place row(s, at, block);
        const int size = (int)row.size;
        held_row<T, N, PACKS> held(at, size, x + row.begin * N);
        double sum = 0;
        if (s.is_centred)
            held.each([&](T its) { sum += (double)its; });
        const double mean = hki_join_lanes<hki_added>(at, sum, room) / s.elements;
        sum = 0;
        held.each([&](T its) {
            const double distance = (double)its - mean;
            sum += distance * distance;
        });
        const double variance = hki_join_lanes<hki_added>(at, sum, room) / s.elements;
        const T centre = (T)mean, inverse = (T)(1 / sqrt(variance + eps));
        const T rest = (T)(mean - (double)centre);
        if (row.is_there && at.lane == 0) {
            statistics[3 * row.row] = centre;
            statistics[3 * row.row + 1] = inverse;
            statistics[3 * row.row + 2] = rest;
        }
        held.each_pack([&](int p, hki_pack<T, N> &its) {
            const hki_pack<T, N> scale = affine_at<true, N>(s, row, gamma, p, 0, (T)1);
            const hki_pack<T, N> shift = affine_at<true, N>(s, row, beta, p, 0, (T)0);
            for (int j = 0; j < N; j++)
                its.at[j] = (its.at[j] - centre - rest) * inverse * scale.at[j] + shift.at[j];
            hki_put_pack<N>(true, y, row.begin + p, its);
        });
    }
}

/* dx = inverse (dy gamma - shift - slope (x - mean)) */
template <typename T, bool EACH, int N>
HKI_KERNEL void row_norm_backward(const row_norm s, const T *__restrict__ x,
                                  const T *__restrict__ dy, const T *__restrict__ gamma,
                                  const T *__restrict__ statistics, T *__restrict__ dx)
{
    HKI_SHARED double room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(s.tile.lanes, false);
    for (int64_t block = blockIdx.x; block < s.tile.tiles; block += gridDim.x) {
        const row_place row(s, at, block);
        const T centre = statistics[3 * row.row], inverse = statistics[3 * row.row + 1];
        const double rest = (double)statistics[3 * row.row + 2];
        double sum = 0, product = 0;
        each_pack<EACH>(s, at, row.size, [&](int64_t p, int64_t run) {
            const hki_pack<T, N> its = hki_pack_at<N>(s.is_wide, x, row.begin + p);
            const hki_pack<T, N> given = hki_pack_at<N>(s.is_wide, dy, row.begin + p);
            const hki_pack<T, N> scale = affine_at<EACH, N>(s, row, gamma, p, run, (T)1);
            for (int j = 0; j < N; j++) {
                const double slope = (double)given.at[j] * (double)scale.at[j];
                sum += slope;
                product += slope * ((double)its.at[j] - (double)centre - rest);
            }
        });
        sum = hki_join_lanes<hki_added>(at, sum, room);
        product = hki_join_lanes<hki_added>(at, product, room);
        const T slope = (T)(product / s.elements * (double)inverse * (double)inverse);
        const T shift = (T)((s.is_centred ? sum / s.elements : 0) - (double)slope * rest);
        each_pack<EACH>(s, at, row.size, [&](int64_t p, int64_t run) {
            const hki_pack<T, N> its = hki_pack_at<N>(s.is_wide, x, row.begin + p);
            const hki_pack<T, N> scale = affine_at<EACH, N>(s, row, gamma, p, run, (T)1);
            hki_pack<T, N> given = hki_pack_at<N>(s.is_wide, dy, row.begin + p);
            for (int j = 0; j < N; j++)
                given.at[j] =
                    inverse * (given.at[j] * scale.at[j] - shift - slope * (its.at[j] - centre));
            hki_put_pack<N>(s.is_wide, dx, row.begin + p, given);
        });
    }
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static unsigned grid_of(hki_cuda_stream *stream, const row_norm &s)
{
    return hki_cuda_grid(s.tile.tiles, 1, hki_cuda_stream_multiprocessors(stream));
}

template <typename T, int N>
static void launch_held(hki_cuda_stream *stream, const row_norm &s, int packs, double eps,
                        const T *x, const T *gamma, const T *beta, T *y, T *statistics)
{
    const unsigned grid = grid_of(stream, s);
    if (packs == 1)
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (row_norm_held<T, N, 1>), s, eps, x, gamma,
                            beta, y, statistics);
    else if (packs == 2)
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (row_norm_held<T, N, 2>), s, eps, x, gamma,
                            beta, y, statistics);
    else if (packs == 4)
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (row_norm_held<T, N, 4>), s, eps, x, gamma,
                            beta, y, statistics);
    else
        HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, (row_norm_held<T, N, 8>), s, eps, x, gamma,
                            beta, y, statistics);
}

template <typename T, bool EACH, int N>
static void launch_forward(hki_cuda_stream *stream, const hki_row_norm_shape *shape, double eps,
                           const void *x, const void *gamma, const void *beta, void *y,
                           void *statistics)
{
    const bool is_wide =
        hki_begins_wide(x) && hki_begins_wide(gamma) && hki_begins_wide(beta) && hki_begins_wide(y);
    row_norm s = row_norm_of<T, EACH, N>(shape, is_wide);
    if constexpr (EACH && N > 1) {
        const hki_cuda_held held = hki_cuda_held_of(s.rows, shape->size, (int)sizeof(T));
        if (held.packs)
            s.tile = held.tile; /* of shapes alone, as is the order of sums */
        if (held.packs && is_wide) {
            launch_held<T, N>(stream, s, held.packs, eps, (const T *)x, (const T *)gamma,
                              (const T *)beta, (T *)y, (T *)statistics);
            return;
        }
    }
    HKI_LAUNCH_TOGETHER(stream, grid_of(stream, s), HKI_CUDA_TILE, (row_norm_forward<T, EACH, N>),
                        s, eps, (const T *)x, (const T *)gamma, (const T *)beta, (T *)y,
                        (T *)statistics);
}

template <typename T, bool EACH, int N>
static void launch_backward(hki_cuda_stream *stream, const hki_row_norm_shape *shape, const void *x,
                            const void *dy, const void *gamma, const void *statistics, void *dx)
{
    const bool is_wide =
        hki_begins_wide(x) && hki_begins_wide(dy) && hki_begins_wide(gamma) && hki_begins_wide(dx);
    const row_norm s = row_norm_of<T, EACH, N>(shape, is_wide);
    HKI_LAUNCH_TOGETHER(stream, grid_of(stream, s), HKI_CUDA_TILE, (row_norm_backward<T, EACH, N>),
                        s, (const T *)x, (const T *)dy, (const T *)gamma, (const T *)statistics,
                        (T *)dx);
}

/* Whether what shares a gamma, or a row of which each element has one, is whole packs. */
static bool has_packs(const hki_row_norm_shape *shape, int element_bytes)
{
    return (shape->inner == 1 ? shape->size : shape->inner) % (PACK_BYTES / element_bytes) == 0;
}

/* The instance of a launch for elements of float32 or float64, with a gamma each or not, in packs or one by one. */
#define CHOOSE_PACK(launch, T, EACH, shape)                                                        \
    (has_packs(shape, (int)sizeof(T)) ? launch<T, EACH, PACK_BYTES / (int)sizeof(T)>               \
                                      : launch<T, EACH, 1>)
#define CHOOSE_OF(launch, T, shape)                                                                \
    ((shape)->inner == 1 ? CHOOSE_PACK(launch, T, true, shape)                                     \
                         : CHOOSE_PACK(launch, T, false, shape))
#define CHOOSE(launch, f64, shape)                                                                 \
    ((f64) ? CHOOSE_OF(launch, double, shape) : CHOOSE_OF(launch, float, shape))

void hki_cuda_layer_norm(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &x = call->in[0];
    const hki_layer_norm_backward_options of =
        hki_layer_norm_of(hki_cuda_op_of(call), call->options);
    const hki_row_norm_shape shape = hki_layer_norm_shape(x.ndim, x.dims, &of);
    if (x.size > 0)
        CHOOSE(launch_forward, x.dtype == HK_F64, &shape)
        (stream, &shape, of.eps, x.data, hki_input_of<void>(call, 1), hki_input_of<void>(call, 2),
         call->out[0].data, call->out[1].data);
}

void hki_cuda_layer_norm_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor &x = call->in[0];
    const hki_row_norm_shape shape =
        hki_layer_norm_shape(x.ndim, x.dims, hki_options_of<hki_layer_norm_backward_options>(call));
    if (x.size > 0)
        CHOOSE(launch_backward, x.dtype == HK_F64, &shape)
        (stream, &shape, x.data, call->in[1].data, hki_input_of<void>(call, 3), call->in[2].data,
         call->out[0].data);
}
