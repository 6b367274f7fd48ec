/* Convolutions of sequences, images and volumes, and their transposes. */
#include "compute.h"
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Conv ------------------------------------------------------------------------------------ */

/* Padding that both sides have is the operator's. */
static hk_array *conv(hk_array *x, hk_array *w, hk_array *bias, const onnx_windows *windows,
                      int64_t groups)
{
    const int64_t *stride = windows->stride, *dilation = windows->dilation;
    int64_t padding[3] = {0};
    for (int i = 0; i < windows->ndim; i++) {
        const int64_t before = windows->before[i], behind = windows->behind[i];
        padding[i] = before < behind ? before : behind;
        x = onnx_pad_or_crop(x, i + 2, before - padding[i], behind - padding[i]);
    }
    if (windows->ndim == 1)
        return hk_conv1d(x, w, bias,
                         &(hk_conv1d_options){.stride = stride[0],
                                              .padding = padding[0],
                                              .dilation = dilation[0],
                                              .groups = groups});
    if (windows->ndim == 2)
        return hk_conv2d(x, w, bias,
                         &(hk_conv2d_options){.stride = {stride[0], stride[1]},
                                              .padding = {padding[0], padding[1]},
                                              .dilation = {dilation[0], dilation[1]},
                                              .groups = groups});
    return hk_conv3d(x, w, bias,
                     &(hk_conv3d_options){.stride = {stride[0], stride[1], stride[2]},
                                          .padding = {padding[0], padding[1], padding[2]},
                                          .dilation = {dilation[0], dilation[1], dilation[2]},
                                          .groups = groups});
}

/* Refuses weights that do not fit x. of_x: which axis of the weights runs along x's channels. */
static bool weights_fit(onnx_call *call, hk_array *x, hk_array *w, int64_t groups, int of_x)
{
    if (!onnx_needs_floats(call, x, "X", 3) || !onnx_needs_floats(call, w, "W", 3))
        return false;
    if (hk_ndim(x) != hk_ndim(w))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "X has %d axes and W %d", hk_ndim(x),
                           hk_ndim(w));
    if (hk_ndim(x) > 5)
        return onnx_refuse(call, HK_UNSUPPORTED, "X has %d axes, but there are kernels for 3 to 5",
                           hk_ndim(x));
    const int64_t channels = hk_dim(x, 1), found = hk_dim(w, of_x);
    const int64_t wanted = of_x ? channels / (groups < 1 ? 1 : groups) : channels;
    if (groups < 1 || channels % groups || hk_dim(w, 0) % groups || found != wanted)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "X has %" PRId64 " channels, W is of (%" PRId64 ", %" PRId64
                           ", …), and group is %" PRId64,
                           channels, hk_dim(w, 0), hk_dim(w, 1), groups);
    return true;
}

static bool run_conv(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *w = onnx_in(call, 1), *bias = onnx_in(call, 2);
    const int64_t groups = onnx_int(call, "group", 1);
    onnx_windows windows;
    if (!weights_fit(call, x, w, groups, 1))
        return false;
    const hk_dims shape = hk_dims_get(w);
    if (!onnx_windows_read(call, hk_dims_get(x), shape.dims + 2, &windows))
        return false;
    hk_array *y = conv(onnx_wide(x), onnx_wide(w), onnx_wide(bias), &windows, groups);
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(x)));
}

/* ---- ConvTranspose --------------------------------------------------------------------------- */

/* What is taken away before and behind, negative where zeros are added. */
typedef struct edges {
    int64_t before[ONNX_MOST_SPACE], behind[ONNX_MOST_SPACE];
} edges;

static bool read_edges(onnx_call *call, const onnx_windows *windows, edges *cut)
{
    int64_t sizes[2 * ONNX_MOST_SPACE], more[ONNX_MOST_SPACE];
    const int ndim = windows->ndim;
    const int count = onnx_ints(call, "output_shape", sizes, 2 * ONNX_MOST_SPACE);
    if (count == -2 || !onnx_numbers_of_axes(call, "output_padding", more, ndim, 0, 0))
        return false;
    if (count > 0 && count != ndim && count != ndim + 2)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "output_shape has %d values, but must have %d", count, ndim);
    const bool is_upper = onnx_text_is(call, "auto_pad", "SAME_UPPER", NULL);
    const bool is_same = is_upper || onnx_text_is(call, "auto_pad", "SAME_LOWER", NULL);
    for (int i = 0; i < ndim; i++) {
        cut->before[i] = windows->before[i];
        cut->behind[i] = windows->behind[i] - more[i];
        if (count <= 0 && !is_same)
            continue;
        const int64_t full =
            (windows->in[i] - 1) * windows->stride[i] + onnx_window_span(windows, i) + more[i];
        const int64_t size =
            count > 0 ? sizes[count - ndim + i] : windows->in[i] * windows->stride[i];
        if (size < 0 || size > INT32_MAX)
            return onnx_refuse(call, HK_OUT_OF_RANGE,
                               "output_shape[%d] is %" PRId64 ", but must be from 0 to %d", i, size,
                               INT32_MAX);
        int64_t total = full - size;
        total = total < 0 && is_same && count <= 0 ? 0 : total;
        const int64_t half = (total - (total < 0)) / 2; /* rounded down */
        cut->before[i] = is_upper ? half : total - half;
        cut->behind[i] = total - cut->before[i] - more[i];
    }
    return true;
}

/* The attributes of windows, without looking whether they fit into x. */
static bool read_windows(onnx_call *call, hk_array *x, hk_array *w, onnx_windows *windows)
{
    int64_t pads[2 * ONNX_MOST_SPACE], sizes[ONNX_MOST_SPACE];
    const int ndim = windows->ndim;
    if (!onnx_numbers_of_axes(call, "strides", windows->stride, ndim, 1, 1) ||
        !onnx_numbers_of_axes(call, "dilations", windows->dilation, ndim, 1, 1) ||
        !onnx_numbers_of_axes(call, "kernel_shape", sizes, ndim, 1, 1) ||
        !onnx_numbers_of_axes(call, "pads", pads, 2 * ndim, 0, 0))
        return false;
    const bool is_said = onnx_ints(call, "kernel_shape", sizes, ONNX_MOST_SPACE) > 0;
    for (int i = 0; i < ndim; i++) {
        windows->in[i] = hk_dim(x, i + 2);
        windows->size[i] = hk_dim(w, i + 2);
        windows->before[i] = pads[i];
        windows->behind[i] = pads[ndim + i];
        if ((is_said && sizes[i] != windows->size[i]) || windows->size[i] < 1 ||
            windows->in[i] < 1 || windows->in[i] > INT32_MAX ||
            onnx_window_span(windows, i) > INT32_MAX)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "axis %d has %" PRId64 " entries, and weights of %" PRId64
                               " with dilation %" PRId64,
                               i + 2, windows->in[i], windows->size[i], windows->dilation[i]);
    }
    return true;
}

/* Padding on both sides alike, and a few rows more: all that the operators have. */
static bool is_plain(const onnx_windows *windows, const edges *cut)
{
    bool is_fine = true;
    for (int i = 0; i < windows->ndim && is_fine; i++) {
        const int64_t more = cut->before[i] - cut->behind[i];
        is_fine = cut->before[i] >= 0 && more >= 0 && more < windows->stride[i];
    }
    return is_fine;
}

/* Of a sequence an image of one row. cut: what it takes away; NULL: nothing. */
static hk_array *transposed(hk_array *x, hk_array *w, hk_array *bias, const onnx_windows *windows,
                            const edges *cut, int64_t groups)
{
    const bool is_volume = windows->ndim == 3, is_sequence = windows->ndim == 1;
    hk_conv3d_transpose_options of = {.groups = groups};
    for (int i = 0; i < windows->ndim; i++) {
        const int at = is_sequence ? 1 : i;
        of.stride[at] = windows->stride[i];
        of.dilation[at] = windows->dilation[i];
        of.padding[at] = cut ? cut->before[i] : 0;
        of.output_padding[at] = cut ? cut->before[i] - cut->behind[i] : 0;
    }
    if (is_volume)
        return hk_conv3d_transpose(x, w, bias, &of);
    const hk_conv2d_transpose_options images = {
        .stride = {of.stride[0], of.stride[1]},
        .dilation = {of.dilation[0], of.dilation[1]},
        .padding = {of.padding[0], of.padding[1]},
        .output_padding = {of.output_padding[0], of.output_padding[1]},
        .groups = groups};
    if (!is_sequence)
        return hk_conv2d_transpose(x, w, bias, &images);
    return hk_squeeze(
        hk_conv2d_transpose(hk_expand_dims(x, 2), hk_expand_dims(w, 2), bias, &images), 2);
}

static bool run_conv_transpose(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *w = onnx_in(call, 1), *bias = onnx_in(call, 2);
    const int64_t groups = onnx_int(call, "group", 1);
    if (!weights_fit(call, x, w, groups, 0))
        return false;
    onnx_windows windows = {.ndim = hk_ndim(x) - 2};
    edges cut;
    if (!read_windows(call, x, w, &windows) || !read_edges(call, &windows, &cut))
        return false;
    const hk_dtype dtype = hk_array_dtype(x);
    x = onnx_wide(x), w = onnx_wide(w), bias = onnx_wide(bias);
    if (is_plain(&windows, &cut))
        return onnx_out(call, 0, onnx_to(transposed(x, w, bias, &windows, &cut, groups), dtype));
    hk_array *y = transposed(x, w, NULL, &windows, NULL, groups);
    for (int i = 0; i < windows.ndim; i++)
        y = onnx_pad_or_crop(y, i + 2, -cut.before[i], -cut.behind[i]);
    if (bias)
        y = hk_add(y, hk_reshape(bias, onnx_along(hk_dim(y, 1), 1, windows.ndim + 2)));
    return onnx_out(call, 0, onnx_to(y, dtype));
}

/* ---- CausalConvWithState --------------------------------------------------------------------- */

static bool run_causal_conv(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *w = onnx_in(call, 1), *bias = onnx_in(call, 2);
    hk_array *past = onnx_in(call, 3);
    if (!onnx_needs_floats(call, x, "input", 3) || !onnx_needs_floats(call, w, "weight", 3))
        return false;
    const int64_t channels = hk_dim(x, 1), size = hk_dim(w, 2);
    if (hk_ndim(x) != 3 || hk_ndim(w) != 3 || hk_dim(w, 0) != channels || hk_dim(w, 1) != 1 ||
        size < 1 || channels < 1)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "weight is of (%" PRId64 ", %" PRId64 ", %" PRId64
                           "), but must be of (channels, 1, k), and there are %" PRId64,
                           hk_dim(w, 0), hk_dim(w, 1), size, channels);
    const bool is_none = onnx_text_is(call, "activation", "none", "none");
    if (!is_none && !onnx_text_is(call, "activation", "silu", NULL) &&
        !onnx_text_is(call, "activation", "swish", NULL))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "activation must be none, silu or swish");
    const hk_dtype dtype = hk_array_dtype(x);
    hk_array *whole =
        past ? hk_concat((hk_array *[]){past, x}, 2, 2) : onnx_pad_or_crop(x, 2, size - 1, 0);
    hk_array *y = hk_conv1d(onnx_wide(whole), onnx_wide(w), onnx_wide(bias),
                            &(hk_conv1d_options){.groups = channels});
    const int64_t end = hk_dim(whole, 2);
    if (past && end != hk_dim(x, 2) + size - 1 && end)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "past_state has %" PRId64 " entries, but must have %" PRId64,
                           hk_dim(past, 2), size - 1);
    y = onnx_to(is_none ? y : hk_silu(y), dtype);
    return onnx_out(call, 0, y) && onnx_out(call, 1, hk_slice(whole, 2, end - size + 1, end));
}

/* ---- Col2Im ---------------------------------------------------------------------------------- */

/* Where each entry of each block goes, in an image with its padding, by entry and then by block.
 * NULL: no memory. */
static int64_t *places_of_blocks(const onnx_windows *windows, int64_t entries, int64_t blocks)
{
    int64_t *places = malloc((size_t)(entries * blocks) * sizeof *places + 1);
    for (int64_t i = 0; places && i < entries * blocks; i++) {
        int64_t entry = i / blocks, block = i % blocks, place = 0, step = 1;
        for (int axis = windows->ndim - 1; axis >= 0; axis--) {
            const int64_t at = block % windows->out[axis] * windows->stride[axis] +
                               entry % windows->size[axis] * windows->dilation[axis];
            block /= windows->out[axis];
            entry /= windows->size[axis];
            place += at * step;
            step *= windows->in[axis] + windows->before[axis] + windows->behind[axis];
        }
        places[i] = place;
    }
    return places;
}

static bool read_blocks(onnx_call *call, onnx_windows *windows)
{
    int64_t image[ONNX_MOST_SPACE], block[ONNX_MOST_SPACE];
    const int ndim = onnx_in_ints(call, 1, image, ONNX_MOST_SPACE);
    const int count = ndim < 0 ? -1 : onnx_in_ints(call, 2, block, ONNX_MOST_SPACE);
    if (ndim < 0 || count < 0)
        return false;
    hk_dims shape = {.ndim = ndim + 2, .dims = {1, 1}};
    for (int i = 0; i < ndim; i++)
        shape.dims[i + 2] = image[i];
    for (int i = 0; i < ndim; i++)
        if (ndim != count || image[i] < 1 || block[i] < 1)
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "image_shape has %d sizes and block_shape %d; they must be as many, "
                               "above 0",
                               ndim, count);
    return onnx_windows_read(call, shape, block, windows);
}

static bool run_col2im(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    onnx_windows windows;
    if (!x || !read_blocks(call, &windows))
        return onnx_out(call, 0, NULL);
    int64_t entries = 1, blocks = 1, size = 1;
    bool overflows = false;
    for (int i = 0; i < windows.ndim; i++) {
        const int64_t side = windows.in[i] + windows.before[i] + windows.behind[i];
        overflows = overflows || __builtin_mul_overflow(entries, windows.size[i], &entries) ||
                    __builtin_mul_overflow(blocks, windows.out[i], &blocks) ||
                    __builtin_mul_overflow(size, side, &size);
    }
    if (overflows || hk_ndim(x) != 3 || hk_dim(x, 1) % entries || hk_dim(x, 2) != blocks)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "input is (n, %" PRId64 ", %" PRId64 "), but must be (n, a multiple of "
                           "%" PRId64 ", %" PRId64 ")",
                           hk_dim(x, 1), hk_dim(x, 2), entries, blocks);
    const int64_t samples = hk_dim(x, 0), channels = hk_dim(x, 1) / entries;
    int64_t *places = places_of_blocks(&windows, entries, blocks);
    if (!places)
        return onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
    hk_array *to = onnx_held(call, places, hk_shape(1, entries * blocks), HK_I64);
    free(places);
    if (!to)
        return false;
    x = hk_reshape(x, hk_shape(samples * channels, entries * blocks));
    hk_array *zeros =
        hk_zeros(hk_shape(samples * channels, size), hk_array_dtype(x), hk_array_device(x));
    hk_array *y = hk_scatter_add(zeros, hk_broadcast_to(to, hk_dims_get(x)), x, 1);
    hk_dims shape = {.ndim = windows.ndim + 2, .dims = {samples, channels}};
    for (int i = 0; i < windows.ndim; i++)
        shape.dims[i + 2] = windows.in[i] + windows.before[i] + windows.behind[i];
    y = hk_reshape(y, shape);
    for (int i = 0; i < windows.ndim; i++)
        y = onnx_pad_or_crop(y, i + 2, -windows.before[i], -windows.behind[i]);
    return onnx_out(call, 0, y);
}

const onnx_row onnx_rows_conv[] = {
    {"CausalConvWithState", run_causal_conv, 0}, {"Col2Im", run_col2im, 0}, {"Conv", run_conv, 0},
    {"ConvTranspose", run_conv_transpose, 0},    {NULL, NULL, 0},
};
