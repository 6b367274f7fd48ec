#include "op/cuda/cuda_softmax.h"

#include "op/cuda/cuda_tile.cuh"
#include "op/kernels/elementwise/scalar_math.h"

HKI_DEVICE float exp_of(float x)
{
    return hki_exp_f32(x);
}
HKI_DEVICE double exp_of(double x)
{
    return exp(x);
}

/* A NaN may or may not win: it makes the sum of exponentials NaN either way. */
template <class Element> struct larger {
    HKI_DEVICE Element join(Element a, Element b)
    {
        return b > a ? b : a;
    }
};
struct added {
    HKI_DEVICE double join(double a, double b)
    {
        return a + b;
    }
};

/* The largest element of a line and the sum of exp(element - max); every lane gets them. Lines that are not there have
 * size 0. */
template <class Element> struct line_sums {
    Element max;
    double sum;
};
template <class Element>
HKI_DEVICE line_sums<Element> sum_line(const hki_lane &at, const Element *x, int64_t size,
                                       int64_t step, Element *max_room, double *sum_room)
{
    line_sums<Element> line = {(Element)-INFINITY, 0};
    for (int64_t i = at.lane; i < size; i += at.lanes)
        line.max = larger<Element>::join(line.max, x[i * step]);
    line.max = hki_join_lanes<larger<Element>>(at, line.max, max_room);
    for (int64_t i = at.lane; i < size; i += at.lanes)
        line.sum += (double)exp_of(x[i * step] - line.max);
    line.sum = hki_join_lanes<added>(at, line.sum, sum_room);
    return line;
}

/* ---- softmax ------------------------------------------------------------------------------------------------- */

template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE)
    softmax(const bool log_of, const Element *x, Element *y, const int64_t count,
            const int64_t size, const int64_t inner, const hki_cuda_tile tile)
{
    HKI_SHARED Element max_room[HKI_CUDA_TILE];
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, tile.by_rows);
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const int64_t i = block * at.columns + at.column;
        const int64_t own_size = i < count ? size : 0;
        int64_t first = 0;
        if (i < count) /* a division is as much work as an exponential */
            first = inner == 1 ? i * size : i / inner * size * inner + i % inner;
        const line_sums<Element> line =
            sum_line(at, x + first, own_size, inner, max_room, sum_room);
        const Element scale = log_of ? (Element)log(line.sum) : (Element)(1 / line.sum);
        for (int64_t j = at.lane; j < own_size; j += at.lanes) {
            const Element above = x[first + j * inner] - line.max;
            y[first + j * inner] = log_of ? above - scale : exp_of(above) * scale;
        }
    }
}

template <class Element>
static void launch_softmax(hki_cuda_stream *stream, bool log_of, const void *x, void *y,
                           int64_t count, int64_t size, int64_t inner)
{
    const hki_cuda_tile tile = hki_cuda_line_tile(count, size, inner > 1);
    const unsigned grid = hki_cuda_grid(tile.tiles, 1, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, softmax<Element>, log_of,
                        static_cast<const Element *>(x), static_cast<Element *>(y), count, size,
                        inner, tile);
}

void hki_cuda_launch_softmax(hki_cuda_stream *stream, hk_dtype dtype, bool log_of, const void *x,
                             void *y, int64_t count, int64_t size, int64_t inner)
{
    if (dtype == HK_F32)
        launch_softmax<float>(stream, log_of, x, y, count, size, inner);
    else
        launch_softmax<double>(stream, log_of, x, y, count, size, inner);
}

/* Beyond it a message names this row. */
constexpr int64_t LAST_ROW = UINT32_MAX - 1;

/* ---- cross entropy --------------------------------------------------------------------------------------------- */

HKI_DEVICE int64_t label_of(const void *labels, hk_dtype dtype, int64_t row)
{
    if (dtype == HK_I32)
        return static_cast<const int32_t *>(labels)[row];
    if (dtype == HK_I64)
        return static_cast<const int64_t *>(labels)[row];
    return static_cast<const uint8_t *>(labels)[row];
}

template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_TILE)
    cross_entropy(const Element *x, const void *labels, const hk_dtype label_dtype,
                  const Element *dy, Element *y, const int64_t rows, const int64_t classes,
                  const hki_cuda_tile tile, hki_cuda_fault *fault)
{
    HKI_SHARED Element max_room[HKI_CUDA_TILE];
    HKI_SHARED double sum_room[HKI_CUDA_TILE];
    const hki_lane at = hki_lane_of(tile.lanes, tile.by_rows);
    bool has_reported = false; /* the lowest of its rows is enough */
    for (int64_t block = blockIdx.x; block < tile.tiles; block += gridDim.x) {
        const int64_t row = block * at.columns + at.column;
        int64_t size = row < rows ? classes : 0, label = 0;
        const Element *logits = x + (row < rows ? row * classes : 0);
        if (row < rows) {
            label = label_of(labels, label_dtype, row);
            if (label < 0 || label >= classes) {
                if (at.lane == 0 && !has_reported)
                    hki_cuda_report_value(fault, (uint32_t)(row < LAST_ROW ? row : LAST_ROW),
                                          label);
                has_reported = true;
                size = 0;
            }
        }
        const line_sums<Element> line = sum_line(at, logits, size, 1, max_room, sum_room);
        if (!dy && size > 0 && at.lane == 0)
            y[row] = (Element)(log(line.sum) + ((double)line.max - (double)logits[label]));
        const Element scale = (Element)(1 / line.sum);
        for (int64_t j = at.lane; dy && j < size; j += at.lanes) {
            const Element share = exp_of(logits[j] - line.max) * scale;
            y[row * classes + j] = (j == label ? share - 1 : share) * dy[row];
        }
    }
}

template <class Element>
static void launch_cross_entropy(hki_cuda_stream *stream, const void *x, const void *labels,
                                 hk_dtype label_dtype, const void *dy, void *y, int64_t rows,
                                 int64_t classes, hki_cuda_fault *fault)
{
    const hki_cuda_tile tile = hki_cuda_line_tile(rows, classes, false);
    const unsigned grid = hki_cuda_grid(tile.tiles, 1, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH_TOGETHER(stream, grid, HKI_CUDA_TILE, cross_entropy<Element>,
                        static_cast<const Element *>(x), labels, label_dtype,
                        static_cast<const Element *>(dy), static_cast<Element *>(y), rows, classes,
                        tile, fault);
}

void hki_cuda_launch_cross_entropy(hki_cuda_stream *stream, hk_dtype dtype, const void *x,
                                   const void *labels, hk_dtype label_dtype, const void *dy,
                                   void *y, int64_t rows, int64_t classes, hki_cuda_fault *fault)
{
    if (dtype == HK_F32)
        launch_cross_entropy<float>(stream, x, labels, label_dtype, dy, y, rows, classes, fault);
    else
        launch_cross_entropy<double>(stream, x, labels, label_dtype, dy, y, rows, classes, fault);
}
