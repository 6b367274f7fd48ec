/* All three are products of two matrices that are nowhere written down: an element is looked up where it lies when a
 * tile is brought into shared memory. Each group has a product of its own, whose arrays begin at its channels; the
 * geometry's channels are those of all groups. An index of such a matrix is three digits, such as channel and tap, which
 * are counted up from term to term, since to divide takes longer than to multiply an element with what it meets. */
#include "op/conv/cuda_conv2d_kernels.h"

#include "device/cuda/cuda_launch.cuh"

enum {
    THREADS = 256,
    MOST_DEPTH = 16,  /* terms at a time */
    EACH = 4,         /* rows and columns of a thread */
    PART_DEPTH = 512, /* terms that one block adds of a gradient of weights, at least */
    MOST_PARTS = 256,
    SHORT_DEPTH = 64, /* the same of others, which are cut where there are few tiles, */
    MORE_PARTS = 32,  /* into so many at most */
    AT_ONCE = 8,      /* parts that are read at once */
    BLOCKS = 256,     /* that keep a GPU busy; a constant, so that sums do not depend on it */
};

/* EACH elements that lie side by side, read at once. */
template <typename T> struct alignas(16) four {
    T of[EACH];
};

template <typename I> struct digits {
    I major, middle, minor;
};

/* How many there are of the two lower digits. */
template <typename I> struct base {
    I middle, minor;
};

template <typename I> HKI_DEVICE digits<I> digits_of(I value, const base<I> &in)
{
    const I rest = value / in.minor;
    return {rest / in.middle, rest % in.middle, value % in.minor};
}

template <typename I> HKI_DEVICE void carry(digits<I> &at, const base<I> &in)
{
    if (at.minor >= in.minor) {
        at.minor -= in.minor;
        at.middle++;
    }
    if (at.middle >= in.middle) {
        at.middle -= in.middle;
        at.major++;
    }
}

template <typename I> HKI_DEVICE void add(digits<I> &at, const digits<I> &step, const base<I> &in)
{
    at.minor += step.minor;
    at.middle += step.middle;
    at.major += step.major;
    carry(at, in);
}

/* The geometry, in integers that hold every offset. */
template <typename Element, typename Integer> struct problem {
    typedef Element T;
    typedef Integer I;
    static constexpr int DEPTH = sizeof(T) > sizeof(float) ? MOST_DEPTH / 2 : MOST_DEPTH;
    I in_channels, out_channels, in_height, in_width, out_height, out_width;
    I kernel_height, kernel_width, stride_height, stride_width, pad_height, pad_width;
    I dilation_height, dilation_width;
    I groups, rows, columns, depth;
    I parts, part_depth;            /* of the depth, each added by itself */
    I part_size;                    /* elements from one part of the result to the next */
    const T *first, *second, *bias; /* bias NULL: none */
    T *to;

    /* Window (n, i, j), or rather its row and column, and tap (c, u, v): what lies there in x; 0 in the padding. */
    __device__ T under(const T *x, const digits<I> &window, const digits<I> &tap) const
    {
        const I row = window.middle * stride_height - pad_height + tap.middle * dilation_height;
        const I column = window.minor * stride_width - pad_width + tap.minor * dilation_width;
        return row >= 0 && row < in_height && column >= 0 && column < in_width
                   ? x[((window.major * in_channels + tap.major) * in_height + row) * in_width +
                       column]
                   : T(0);
    }
    __device__ base<I> taps() const
    {
        return {kernel_height, kernel_width};
    }
    __device__ base<I> windows() const
    {
        return {out_height, out_width};
    }
    __device__ I in_plane() const
    {
        return in_height * in_width;
    }
    __device__ I out_plane() const
    {
        return out_height * out_width;
    }
};

/* y: outputs times (channels, taps), times (channels, taps) times (samples, positions). first: x, second: weight. */
template <typename T, typename I> struct forward : problem<T, I> {
    __device__ forward of_group(I group) const
    {
        forward its = *this;
        its.first += group * (this->in_channels / this->groups) * this->in_plane();
        its.second += group * this->rows * this->depth;
        its.to += group * this->rows * this->out_plane();
        if (its.bias)
            its.bias += group * this->rows;
        return its;
    }
    __device__ base<I> of_terms() const
    {
        return this->taps();
    }
    __device__ base<I> of_columns() const
    {
        return this->windows();
    }
    __device__ T left(I row, const digits<I> &, I term) const
    {
        return this->second[row * this->depth + term];
    }
    __device__ T right(const digits<I> &term, const digits<I> &column) const
    {
        return this->under(this->first, column, term);
    }
    __device__ void store(I row, const digits<I> &column, I, T sum) const
    {
        this->to[(column.major * this->out_channels + row) * this->out_plane() +
                 column.middle * this->out_width + column.minor] =
            this->bias ? sum + this->bias[row] : sum;
    }
};

/* x's gradient: channels times (outputs, taps), times (outputs, taps) times (samples, positions of x). first: dy. */
template <typename T, typename I> struct backward_data : problem<T, I> {
    __device__ backward_data of_group(I group) const
    {
        backward_data its = *this;
        its.first += group * (this->out_channels / this->groups) * this->out_plane();
        its.second += group * this->rows * this->depth;
        its.to += group * this->rows * this->in_plane();
        return its;
    }
    __device__ base<I> of_terms() const
    {
        return this->taps();
    }
    __device__ base<I> of_columns() const
    {
        return {this->in_height, this->in_width};
    }
    __device__ T left(I row, const digits<I> &term, I) const
    {
        return this->second[((term.major * this->rows + row) * this->kernel_height + term.middle) *
                                this->kernel_width +
                            term.minor];
    }
    __device__ T right(const digits<I> &term, const digits<I> &column) const
    {
        I down = column.middle + this->pad_height - term.middle * this->dilation_height;
        I across = column.minor + this->pad_width - term.minor * this->dilation_width;
        if (down < 0 || across < 0)
            return T(0);
        if (this->stride_height > 1 || this->stride_width > 1) {
            if (down % this->stride_height || across % this->stride_width)
                return T(0);
            down /= this->stride_height;
            across /= this->stride_width;
        }
        if (down >= this->out_height || across >= this->out_width)
            return T(0);
        return this
            ->first[((column.major * this->out_channels + term.major) * this->out_height + down) *
                        this->out_width +
                    across];
    }
    __device__ void store(I row, const digits<I> &column, I, T sum) const
    {
        this->to[(column.major * this->in_channels + row) * this->in_plane() +
                 column.middle * this->in_width + column.minor] = sum;
    }
};

/* weight's gradient, in parts: outputs times (samples, positions), times (samples, positions) times (channels, taps).
 * first: x, second: dy. */
template <typename T, typename I> struct backward_weight : problem<T, I> {
    __device__ backward_weight of_group(I group) const
    {
        backward_weight its = *this;
        its.first += group * (this->in_channels / this->groups) * this->in_plane();
        its.second += group * this->rows * this->out_plane();
        its.to += group * this->rows * this->columns;
        return its;
    }
    __device__ base<I> of_terms() const
    {
        return this->windows();
    }
    __device__ base<I> of_columns() const
    {
        return this->taps();
    }
    __device__ T left(I row, const digits<I> &term, I) const
    {
        return this->second[(term.major * this->out_channels + row) * this->out_plane() +
                            term.middle * this->out_width + term.minor];
    }
    __device__ T right(const digits<I> &term, const digits<I> &column) const
    {
        return this->under(this->first, term, column);
    }
    __device__ void store(I row, const digits<I> &, I column, T sum) const
    {
        this->to[row * this->columns + column] = sum;
    }
};

/* What a thread brings of both matrices into shared memory: of the left one elements of one term, of the right one those of
 * terms that follow each other, in one column. They are on their way while the terms before are multiplied. */
template <typename P, int DOWN, int ACROSS> struct feed {
    typedef typename P::T T;
    typedef typename P::I I;
    static constexpr int DEPTH = P::DEPTH;
    enum { LEFT = DOWN * DEPTH / THREADS, RIGHT = ACROSS * DEPTH / THREADS };
    T left[LEFT], right[RIGHT];
    digits<I> left_term, right_term, column, left_step, right_step;
    base<I> of_terms;
    I left_at, right_at, end; /* terms */
    I top;                    /* row of the first element */
    bool is_inside;           /* the column */

    __device__ void start(const P &p, I tile_top, I tile_first, I begin, I part_end)
    {
        const I its_column = tile_first + (I)threadIdx.x % ACROSS;
        of_terms = p.of_terms();
        end = part_end;
        left_at = begin + (I)threadIdx.x % DEPTH;
        right_at = begin + (I)threadIdx.x / ACROSS * RIGHT;
        left_term = digits_of(left_at, of_terms);
        right_term = digits_of(right_at, of_terms);
        left_step = digits_of((I)DEPTH, of_terms);
        right_step = digits_of((I)(DEPTH - RIGHT), of_terms);
        column = digits_of(its_column, p.of_columns());
        is_inside = its_column < p.columns;
        top = tile_top + (I)threadIdx.x / DEPTH;
    }
    __device__ void fetch(const P &p)
    {
        for (int i = 0; i < LEFT; i++) {
            const I row = top + i * (THREADS / DEPTH);
            left[i] = left_at < end && row < p.rows ? p.left(row, left_term, left_at) : T(0);
        }
        for (int i = 0; i < RIGHT; i++) {
            right[i] = is_inside && right_at + i < end ? p.right(right_term, column) : T(0);
            right_term.minor++;
            carry(right_term, of_terms);
        }
        left_at += DEPTH;
        right_at += DEPTH;
        add(left_term, left_step, of_terms);
        add(right_term, right_step, of_terms);
    }
    __device__ void put(four<T> (*to_left)[DOWN / EACH + 1],
                        four<T> (*to_right)[ACROSS / EACH]) const
    {
        const int term = (int)threadIdx.x % DEPTH, row = (int)threadIdx.x / DEPTH;
        const int at = (int)threadIdx.x % ACROSS, first = (int)threadIdx.x / ACROSS * RIGHT;
        for (int i = 0; i < LEFT; i++) {
            const int down = row + i * (THREADS / DEPTH);
            to_left[term][down / EACH].of[down % EACH] = left[i];
        }
        for (int i = 0; i < RIGHT; i++)
            to_right[first + i][at / EACH].of[at % EACH] = right[i];
    }
};

/* A block makes a tile of DOWN x ACROSS elements; a thread EACH x EACH of them. */
template <typename P, int DOWN, int ACROSS> HKI_KERNEL void HKI_BOUNDS(THREADS, 2) multiply(P all)
{
    typedef typename P::T T;
    typedef typename P::I I;
    constexpr int DEPTH = P::DEPTH;
    HKI_SHARED four<T> left[DEPTH][DOWN / EACH + 1]; /* one more, against conflicts of banks */
    HKI_SHARED four<T> right[DEPTH][ACROSS / EACH];
    const I down = (all.rows + DOWN - 1) / DOWN, across = (all.columns + ACROSS - 1) / ACROSS;
    const int its_column = (int)threadIdx.x % (ACROSS / EACH),
              its_row = (int)threadIdx.x / (ACROSS / EACH);
    for (I tile = (I)blockIdx.x; tile < all.parts * all.groups * down * across;
         tile += (I)gridDim.x) {
        const I part = tile / (down * across) / all.groups;
        P p = all.of_group(tile / (down * across) % all.groups);
        p.to += part * all.part_size;
        const I top = tile / across % down * DOWN, first = tile % across * ACROSS;
        const I begin = part * p.part_depth,
                end = begin + p.part_depth < p.depth ? begin + p.part_depth : p.depth;
        T sums[EACH][EACH] = {};
        feed<P, DOWN, ACROSS> next;
        next.start(p, top, first, begin, end);
        next.fetch(p);
        for (I at = begin; at < end; at += DEPTH) {
            next.put(left, right);
            __syncthreads();
            if (at + DEPTH < end)
                next.fetch(p);
            for (int k = 0; k < DEPTH; k++) {
                const four<T> a = left[k][its_row], b = right[k][its_column];
                for (int i = 0; i < EACH; i++)
                    for (int j = 0; j < EACH; j++)
                        sums[i][j] += a.of[i] * b.of[j];
            }
            __syncthreads();
        }
        for (int j = 0; j < EACH; j++) {
            const I column = first + its_column * EACH + j;
            const digits<I> where = digits_of(column, p.of_columns());
            for (int i = 0; i < EACH; i++) {
                const I row = top + its_row * EACH + i;
                if (row < p.rows && column < p.columns)
                    p.store(row, where, column, sums[i][j]);
            }
        }
    }
}

/* The parts of each element, in their order; and the bias of its channel, of which there are `plane` elements in a row. */
template <typename T>
HKI_KERNEL void add_parts(T *to, const T *parts, int64_t count, int64_t size, const T *bias,
                          int64_t channels, int64_t plane)
{
    for (int64_t i = HKI_THREAD_INDEX; i < size; i += HKI_THREAD_COUNT) {
        T sums[AT_ONCE] = {};
        int64_t part = 0;
        for (; part + AT_ONCE <= count; part += AT_ONCE)
            for (int j = 0; j < AT_ONCE; j++)
                sums[j] += parts[(part + j) * size + i];
        for (; part < count; part++)
            sums[0] += parts[part * size + i];
        const T sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                      ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        to[i] = bias ? sum + bias[i / plane % channels] : sum;
    }
}

/* Sides of a tile, whose elements are EACH * EACH for each thread. */
struct sides {
    int down, across;
};

template <typename P> static int64_t tiles_of(const P &p, const sides &tile)
{
    return (int64_t)p.groups * ((p.rows + tile.down - 1) / tile.down) *
           ((p.columns + tile.across - 1) / tile.across);
}

/* The squarest tile that makes the fewest. Problems of 64 bits have but one kind. */
template <typename P> static sides tile_of(const P &p)
{
    static const sides kinds[] = {{64, 64}, {32, 128}, {128, 32}, {256, 16}};
    sides best = kinds[0];
    for (const sides &each : kinds)
        if (sizeof(typename P::I) == sizeof(int32_t) && tiles_of(p, each) < tiles_of(p, best))
            best = each;
    return best;
}

template <int DOWN, int ACROSS, typename P>
static void launch_tiles(hki_cuda_stream *stream, const P &p)
{
    const int64_t tiles = p.parts * tiles_of(p, {DOWN, ACROSS});
    const unsigned grid = hki_cuda_grid(tiles, 1, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH_TOGETHER(stream, grid, THREADS, (multiply<P, DOWN, ACROSS>), p);
}

template <typename P> static void launch(hki_cuda_stream *stream, const P &p)
{
    const int down = tile_of(p).down;
    if constexpr (sizeof(typename P::I) == sizeof(int32_t)) {
        if (down == 32)
            return launch_tiles<32, 128>(stream, p);
        if (down == 128)
            return launch_tiles<128, 32>(stream, p);
        if (down == 256)
            return launch_tiles<256, 16>(stream, p);
    }
    launch_tiles<64, 64>(stream, p);
}

/* So many parts, about, and at most, of a result of `size` elements. How many there are follows from the shape alone, and so do the bytes of the
 * sums. */
template <typename P>
static void launch_parts(hki_cuda_stream *stream, P p, int64_t size, int64_t wanted, int64_t most)
{
    typedef typename P::T T;
    T *const to = p.to;
    const T *const bias = p.bias;
    wanted = wanted < most ? wanted : most;
    wanted = wanted < 1 ? 1 : wanted;
    const int64_t part =
        ((p.depth + wanted - 1) / wanted + MOST_DEPTH - 1) / MOST_DEPTH * MOST_DEPTH;
    p.part_depth = (typename P::I)part;
    p.parts = (typename P::I)(part ? (p.depth + part - 1) / part : 1);
    p.part_size = (typename P::I)size;
    if (p.parts <= 1) {
        launch(stream, p);
        return;
    }
    p.to = (T *)hki_cuda_workspace(stream, (size_t)(p.parts * size) * sizeof(T));
    p.bias = NULL;
    if (!p.to)
        return;
    launch(stream, p);
    HKI_LAUNCH(stream, hki_cuda_grid(size, THREADS, hki_cuda_stream_multiprocessors(stream)),
               THREADS, add_parts<T>, to, (const T *)p.to, (int64_t)p.parts, size, bias,
               (int64_t)p.out_channels, (int64_t)p.out_height * p.out_width);
}

/* Where there are few tiles, of few samples. */
template <typename P>
static void launch_short_parts(hki_cuda_stream *stream, const P &p, int64_t size)
{
    const int64_t wanted = BLOCKS / tiles_of(p, tile_of(p)), most = p.depth / SHORT_DEPTH;
    launch_parts(stream, p, size, wanted < most ? wanted : most, MORE_PARTS);
}

template <typename P>
static P make(const hki_conv2d_geometry *g, int64_t groups, const void *first, const void *second,
              void *to, int64_t rows, int64_t columns, int64_t depth)
{
    typedef typename P::T T;
    typedef typename P::I I;
    P p;
    p.in_channels = (I)g->in_channels, p.out_channels = (I)g->out_channels;
    p.in_height = (I)g->in_height, p.in_width = (I)g->in_width;
    p.out_height = (I)g->out_height, p.out_width = (I)g->out_width;
    p.kernel_height = (I)g->kernel_height, p.kernel_width = (I)g->kernel_width;
    p.stride_height = (I)g->stride_height, p.stride_width = (I)g->stride_width;
    p.pad_height = (I)g->pad_height, p.pad_width = (I)g->pad_width;
    p.dilation_height = (I)g->dilation_height, p.dilation_width = (I)g->dilation_width;
    p.groups = (I)groups, p.rows = (I)rows, p.columns = (I)columns;
    p.depth = (I)depth;
    p.first = (const T *)first, p.second = (const T *)second, p.bias = NULL, p.to = (T *)to;
    return p;
}

template <typename T, typename I>
static void launch_forward(hki_cuda_stream *stream, const hki_conv2d_geometry *g, int64_t groups,
                           const void *x, const void *weight, const void *bias, void *y)
{
    const int64_t positions = g->samples * g->out_height * g->out_width;
    auto p = make<forward<T, I>>(g, groups, x, weight, y, g->out_channels / groups, positions,
                                 g->in_channels / groups * g->kernel_height * g->kernel_width);
    p.bias = (const T *)bias;
    launch_short_parts(stream, p, positions * g->out_channels);
}

template <typename T, typename I>
static void launch_data(hki_cuda_stream *stream, const hki_conv2d_geometry *g, int64_t groups,
                        const void *dy, const void *weight, void *dx)
{
    const int64_t positions = g->samples * g->in_height * g->in_width;
    auto p =
        make<backward_data<T, I>>(g, groups, dy, weight, dx, g->in_channels / groups, positions,
                                  g->out_channels / groups * g->kernel_height * g->kernel_width);
    launch_short_parts(stream, p, positions * g->in_channels);
}

template <typename T, typename I>
static void launch_weight(hki_cuda_stream *stream, const hki_conv2d_geometry *g, int64_t groups,
                          const void *x, const void *dy, void *dweight)
{
    const int64_t columns = g->in_channels / groups * g->kernel_height * g->kernel_width,
                  depth = g->samples * g->out_height * g->out_width;
    launch_parts(stream,
                 make<backward_weight<T, I>>(g, groups, x, dy, dweight, g->out_channels / groups,
                                             columns, depth),
                 g->out_channels * columns, depth / PART_DEPTH, MOST_PARTS);
}

/* Whether 32 bits hold every offset, with a tile beyond the end. */
static bool is_small(const hki_conv2d_geometry *g)
{
    const int64_t taps = g->kernel_height * g->kernel_width, most = INT64_C(1) << 30;
    return g->samples * g->in_channels * g->in_height * g->in_width < most &&
           g->samples * g->out_channels * g->out_height * g->out_width < most &&
           g->in_channels * g->out_channels * taps < most / MOST_PARTS && g->stride_height < most &&
           g->stride_width < most && g->pad_height < most && g->pad_width < most &&
           g->dilation_height * g->kernel_height < most &&
           g->dilation_width * g->kernel_width < most;
}

void hki_cuda_convolve(hki_cuda_stream *stream, bool f64, const hki_conv2d_geometry *geometry,
                       int64_t groups, const void *x, const void *weight, const void *bias, void *y)
{
    if (f64)
        launch_forward<double, int64_t>(stream, geometry, groups, x, weight, bias, y);
    else if (is_small(geometry))
        launch_forward<float, int32_t>(stream, geometry, groups, x, weight, bias, y);
    else
        launch_forward<float, int64_t>(stream, geometry, groups, x, weight, bias, y);
}

void hki_cuda_convolve_data(hki_cuda_stream *stream, bool f64, const hki_conv2d_geometry *geometry,
                            int64_t groups, const void *dy, const void *weight, void *dx)
{
    if (f64)
        launch_data<double, int64_t>(stream, geometry, groups, dy, weight, dx);
    else if (is_small(geometry))
        launch_data<float, int32_t>(stream, geometry, groups, dy, weight, dx);
    else
        launch_data<float, int64_t>(stream, geometry, groups, dy, weight, dx);
}

void hki_cuda_convolve_weight(hki_cuda_stream *stream, bool f64,
                              const hki_conv2d_geometry *geometry, int64_t groups, const void *x,
                              const void *dy, void *dweight)
{
    if (f64)
        launch_weight<double, int64_t>(stream, geometry, groups, x, dy, dweight);
    else if (is_small(geometry))
        launch_weight<float, int32_t>(stream, geometry, groups, x, dy, dweight);
    else
        launch_weight<float, int64_t>(stream, geometry, groups, x, dy, dweight);
}
