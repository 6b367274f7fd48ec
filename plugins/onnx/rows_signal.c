/* Signals: Fourier transforms, windows, mel scales. Complex numbers are a last axis of two. */
#include "compute.h"
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- DFT ------------------------------------------------------------------------------------- */

/* (…, 1) as real numbers, (…, 2) as complex ones. */
static hk_array *numbers_of(hk_array *x)
{
    hk_array *real = hk_index(x, -1, 0);
    return hk_dim(x, -1) == 1 ? real : hk_complex_of(real, hk_index(x, -1, 1));
}

static hk_array *parts_of(hk_array *x)
{
    return hk_stack((hk_array *[]){hk_real(x), hk_imag(x)}, 2, -1);
}

/* One number, which decides a shape; false after refusing. */
static bool read_count(onnx_call *call, int index, const char *name, int64_t least, int64_t *value)
{
    const int count = onnx_in_ints(call, index, value, 1);
    if (count < 0)
        return false;
    if (count == 1 && *value >= least && *value <= INT32_MAX)
        return true;
    return onnx_refuse(call, HK_OUT_OF_RANGE,
                       "%s is %" PRId64 ", but must be one number from %" PRId64 " to %d", name,
                       count ? *value : 0, least, INT32_MAX);
}

/* Of a real signal the first half, where that is wanted; of a half spectrum a real signal. */
static hk_array *transform(hk_array *x, int64_t length, int axis, bool is_inverse, bool is_half)
{
    hk_array *numbers = numbers_of(x);
    if (is_inverse && is_half)
        return hk_expand_dims(hk_irfft(numbers, length, axis, HK_FFT_BACKWARD), -1);
    if (is_inverse)
        return parts_of(hk_ifft(numbers, length, axis, HK_FFT_BACKWARD));
    if (is_half && hk_dim(x, -1) == 1)
        return parts_of(hk_rfft(numbers, length, axis, HK_FFT_BACKWARD));
    hk_array *y = hk_fft(numbers, length, axis, HK_FFT_BACKWARD);
    return parts_of(is_half ? hk_slice(y, axis, 0, length / 2 + 1) : y);
}

/* The axis: an attribute until opset 19, then an input. */
static bool read_axis(onnx_call *call, int ndim, int *axis)
{
    int64_t said = onnx_int(call, "axis", 1);
    if (onnx_opset(call) >= 20) {
        said = -2;
        if (onnx_has(call, 2)) {
            const int count = onnx_in_ints(call, 2, &said, 1);
            if (count != 1)
                return count < 0 ? false
                                 : onnx_refuse(call, HK_INVALID_ARGUMENT, "axis must be a number");
        }
    }
    *axis = onnx_axis(call, said, ndim);
    if (*axis == ndim - 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "axis %" PRId64 " is that of real and imaginary parts", said);
    return *axis >= 0;
}

static bool is_signal(onnx_call *call, hk_array *x, int least)
{
    if (!onnx_needs_floats(call, x, "input", least))
        return false;
    const int64_t parts = hk_dim(x, -1);
    return parts == 1 || parts == 2 ||
           onnx_refuse(call, HK_INVALID_ARGUMENT,
                       "the last axis has %" PRId64 " entries, but must have 1 or 2", parts);
}

static bool run_dft(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    int axis = 0;
    if (!is_signal(call, x, 2) || !read_axis(call, hk_ndim(x), &axis))
        return false;
    const bool is_inverse = onnx_int(call, "inverse", 0), is_half = onnx_int(call, "onesided", 0);
    int64_t length = hk_dim(x, axis);
    if (is_inverse && is_half)
        length = 2 * (length - 1);
    if (onnx_has(call, 1) && !read_count(call, 1, "dft_length", 1, &length))
        return false;
    if (length < 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "axis %d has %" PRId64 " entries: a transform of length %" PRId64, axis,
                           hk_dim(x, axis), length);
    hk_array *y = transform(onnx_wide(x), length, axis, is_inverse, is_half);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* ---- STFT ------------------------------------------------------------------------------------ */

/* frame_length, or else the window's, or else the signal's. */
static bool read_frame(onnx_call *call, hk_array *x, hk_array *window, int64_t *length)
{
    *length = window ? hk_dim(window, 0) : hk_dim(x, 1);
    if (onnx_has(call, 3) && !read_count(call, 3, "frame_length", 1, length))
        return false;
    if (window && (hk_ndim(window) != 1 || hk_dim(window, 0) != *length))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "the window has %" PRId64 " entries, and frame_length is %" PRId64,
                           hk_dim(window, 0), *length);
    if (*length < 1 || *length > hk_dim(x, 1))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "frames of %" PRId64 " entries, but the signal has %" PRId64, *length,
                           hk_dim(x, 1));
    return true;
}

static bool run_stft(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *window = onnx_in(call, 2);
    int64_t step = 1, length = 0;
    if (!is_signal(call, x, 3))
        return false;
    if (hk_ndim(x) != 3)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "signal has %d axes, but must have 3",
                           hk_ndim(x));
    if (!read_count(call, 1, "frame_step", 1, &step) || !read_frame(call, x, window, &length))
        return false;
    hk_array *wide = onnx_wide(x);
    hk_array *frames = hk_sliding_window(wide, 1, length, step); /* (n, frames, parts, length) */
    frames = hk_swapaxes(frames, 2, 3);
    if (window)
        frames = hk_multiply(
            frames, hk_reshape(onnx_to(window, hk_array_dtype(wide)), hk_shape(length, 1)));
    hk_array *y = transform(frames, length, 2, false, onnx_int(call, "onesided", 1) != 0);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The dtype that an attribute names. */
static bool read_dtype(onnx_call *call, hk_dtype *dtype)
{
    const int64_t said = onnx_int(call, "output_datatype", 1);
    if (said >= 0 && said <= INT32_MAX && onnx_dtype_of((int32_t)said, dtype))
        return true;
    return onnx_refuse(call, HK_UNSUPPORTED,
                       "output_datatype is %" PRId64 ", which Hocket does not have", said);
}

/* a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), of n entries, or, as a symmetric window, of n +
 * 1. */
static bool cosine_window(onnx_call *call, double a0, double a1, double a2)
{
    int64_t size = 0;
    hk_dtype dtype = HK_F32;
    if (!read_count(call, 0, "size", 0, &size) || !read_dtype(call, &dtype))
        return false;
    const double period = onnx_int(call, "periodic", 1) ? (double)size : (double)(size - 1);
    double *values = malloc((size_t)size * sizeof *values + 1);
    if (!values)
        return onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
    for (int64_t i = 0; i < size; i++) {
        const double angle = 2 * M_PI * (double)i / fmax(period, 1);
        values[i] = period <= 0 ? 1 : a0 - a1 * cos(angle) + a2 * cos(2 * angle);
    }
    hk_array *held = onnx_held(call, values, hk_shape(size), HK_F64);
    free(values);
    return held && onnx_out(call, 0, onnx_to(held, dtype));
}

static bool run_hann(onnx_call *call)
{
    return cosine_window(call, .5, .5, 0);
}

static bool run_hamming(onnx_call *call)
{
    return cosine_window(call, 25. / 46, 21. / 46, 0);
}

static bool run_blackman(onnx_call *call)
{
    return cosine_window(call, .42, .5, .08);
}

/* ---- MelWeightMatrix ------------------------------------------------------------------------- */

static double mel_of(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

static double hertz_of(double mel)
{
    return 700 * (pow(10, mel / 2595) - 1);
}

/* A triangle from left to right with 1 in its middle, in column i. */
static void fill_band(double *values, int64_t columns, int64_t i, const int64_t *edges)
{
    const int64_t left = edges[0], middle = edges[1], right = edges[2];
    for (int64_t j = left; j <= middle; j++)
        values[j * columns + i] = middle > left ? (double)(j - left) / (double)(middle - left) : 1;
    for (int64_t j = middle; j < right; j++)
        values[j * columns + i] = (double)(right - j) / (double)(right - middle);
}

/* Entries of the spectrum at which bands begin, have their middle, and end; false after
 * refusing. */
static bool read_edges(onnx_call *call, int64_t bands, int64_t length, double rate, int64_t *edges)
{
    double low = 0, high = 0;
    if (onnx_in_floats(call, 3, &low, 1) != 1 || onnx_in_floats(call, 4, &high, 1) != 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "lower_edge_hertz and upper_edge_hertz must be numbers");
    const double first = mel_of(low), step = (mel_of(high) - first) / (double)(bands + 2);
    for (int64_t i = 0; i < bands + 2; i++) {
        const double at = floor((double)(length + 1) * hertz_of(first + (double)i * step) / rate);
        if (!(at >= 0 && at <= (double)(length / 2)) || (i && at < (double)edges[i - 1]))
            return onnx_refuse(call, HK_OUT_OF_RANGE,
                               "bands from %g to %g hertz, of a spectrum to %g", low, high,
                               rate / 2);
        edges[i] = (int64_t)at;
    }
    return true;
}

static bool run_mel(onnx_call *call)
{
    int64_t bands = 0, length = 0, rate = 0;
    hk_dtype dtype = HK_F32;
    if (!read_count(call, 0, "num_mel_bins", 1, &bands) ||
        !read_count(call, 1, "dft_length", 1, &length) ||
        !read_count(call, 2, "sample_rate", 1, &rate) || !read_dtype(call, &dtype))
        return false;
    const int64_t rows = length / 2 + 1;
    double *values = calloc((size_t)rows, (size_t)bands * sizeof *values);
    int64_t *edges = malloc((size_t)(bands + 2) * sizeof *edges);
    bool is_good = values && edges ? read_edges(call, bands, length, (double)rate, edges)
                                   : onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
    for (int64_t i = 0; is_good && i < bands; i++)
        fill_band(values, bands, i, edges + i);
    hk_array *held = is_good ? onnx_held(call, values, hk_shape(rows, bands), HK_F64) : NULL;
    free(values);
    free(edges);
    return held && onnx_out(call, 0, onnx_to(held, dtype));
}

const onnx_row onnx_rows_signal[] = {
    {"BlackmanWindow", run_blackman, 0},
    {"DFT", run_dft, 0},
    {"HammingWindow", run_hamming, 0},
    {"HannWindow", run_hann, 0},
    {"MelWeightMatrix", run_mel, 0},
    {"STFT", run_stft, 0},
    {NULL, NULL, 0},
};
