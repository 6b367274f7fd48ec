/* Images: other sizes, and what is read at places between elements. */
#include "compute.h"
#include "image.h"
#include "rows.h"

#include <inttypes.h>

/* ---- GridSample ------------------------------------------------------------------------------ */

/* From -1 … 1 to elements: -1 and 1 are the middles of the last ones, or their outer edges. */
static hk_array *to_elements(hk_array *place, int64_t size, bool aligns)
{
    const double half = aligns ? (double)(size - 1) / 2 : (double)size / 2;
    const double shift = aligns ? half : half - .5;
    return hk_add(hk_multiply(place, onnx_number_like(half, place)),
                  onnx_number_like(shift, place));
}

static bool read_between(onnx_call *call, onnx_between *between)
{
    const struct {
        const char *name;
        onnx_between between;
    } modes[] = {{"linear", ONNX_LINEAR},
                 {"bilinear", ONNX_LINEAR},
                 {"nearest", ONNX_NEAREST},
                 {"cubic", ONNX_CUBIC},
                 {"bicubic", ONNX_CUBIC}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (onnx_text_is(call, "mode", modes[i].name, "linear")) {
            *between = modes[i].between;
            return true;
        }
    return onnx_refuse(call, HK_INVALID_ARGUMENT, "mode must be linear, nearest or cubic");
}

static bool read_beyond(onnx_call *call, bool aligns, onnx_beyond *beyond)
{
    if (onnx_text_is(call, "padding_mode", "zeros", "zeros"))
        *beyond = ONNX_ZEROS;
    else if (onnx_text_is(call, "padding_mode", "border", "zeros"))
        *beyond = ONNX_EDGES;
    else if (onnx_text_is(call, "padding_mode", "reflection", "zeros"))
        *beyond = aligns ? ONNX_MIRROR_MIDDLE : ONNX_MIRROR;
    else
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "padding_mode must be zeros, border or reflection");
    return true;
}

static bool grid_fits(onnx_call *call, hk_dims x, hk_dims grid)
{
    bool fits = x.ndim >= 3 && grid.ndim == x.ndim && grid.dims[0] == x.dims[0] &&
                grid.dims[grid.ndim - 1] == x.ndim - 2;
    for (int i = 2; i < x.ndim; i++)
        fits = fits && x.dims[i] > 0 && x.dims[i] <= INT32_MAX;
    return fits || onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "X has %d axes, grid %d, the last one of %" PRId64
                               "; grid must be (n, …, axes of X but two)",
                               x.ndim, grid.ndim, grid.dims[grid.ndim > 0 ? grid.ndim - 1 : 0]);
}

static bool run_grid_sample(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0), *grid = onnx_in(call, 1), *places[ONNX_MOST_SPACE];
    const bool aligns = onnx_int(call, "align_corners", 0) != 0;
    onnx_between between = ONNX_LINEAR;
    onnx_beyond beyond = ONNX_ZEROS;
    if (!x || !onnx_needs_floats(call, grid, "grid", 3) || onnx_has_failed(call, x))
        return onnx_out(call, 0, NULL);
    hk_dims shape = hk_dims_get(x), to = hk_dims_get(grid);
    if (!read_between(call, &between) || !read_beyond(call, aligns, &beyond) ||
        !grid_fits(call, shape, to))
        return false;
    if (between != ONNX_NEAREST && !onnx_needs_floats(call, x, "X", 3))
        return false;
    const int ndim = shape.ndim - 2;
    grid = hk_reshape(onnx_wide(grid),
                      hk_shape(shape.dims[0], onnx_product(to, 1, to.ndim - 1), ndim));
    for (int i = 0; i < ndim; i++)
        places[i] = to_elements(hk_index(grid, 2, ndim - 1 - i), shape.dims[i + 2], aligns);
    hk_array *wide = between == ONNX_NEAREST ? x : onnx_wide(x);
    hk_array *y = onnx_to(onnx_sample(wide, places, between, beyond), hk_array_dtype(x));
    for (int i = 0; i < ndim; i++)
        shape.dims[i + 2] = to.dims[i + 1];
    return onnx_out(call, 0, hk_reshape(y, shape));
}

/* ---- AffineGrid ------------------------------------------------------------------------------ */

/* -1 … 1 along an axis of the grid, (1, …, size, …, 1, 1) */
static hk_array *steps(onnx_call *call, int64_t size, bool aligns, int axis, int ndim,
                       hk_dtype dtype)
{
    const double edge = aligns ? 1 : 1 - 1 / (double)size;
    hk_array *line = size == 1 ? hk_full(hk_shape(1), aligns ? -1 : 0, dtype, call->device)
                               : hk_linspace(-edge, edge, size, true, dtype, call->device);
    return hk_reshape(line, onnx_along(size, axis + 1, ndim + 2));
}

/* theta (n, d, d + 1) times each place of the grid: (n, …, d) */
static bool run_affine_grid(onnx_call *call)
{
    hk_array *theta = onnx_in(call, 0);
    int64_t size[5];
    if (!onnx_needs_floats(call, theta, "theta", 3))
        return false;
    const int ndim = onnx_in_ints(call, 1, size, 5) - 2;
    if (ndim < -2)
        return false;
    if ((ndim != 2 && ndim != 3) || hk_ndim(theta) != 3 || hk_dim(theta, 1) != ndim ||
        hk_dim(theta, 2) != ndim + 1 || hk_dim(theta, 0) != size[0])
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "size has %d values and theta is of (%" PRId64 ", %" PRId64 ", %" PRId64
                           "); known are (n, 2, 3) with 4 and (n, 3, 4) with 5",
                           ndim + 2, hk_dim(theta, 0), hk_dim(theta, 1), hk_dim(theta, 2));
    const bool aligns = onnx_int(call, "align_corners", 0) != 0;
    hk_array *wide = onnx_wide(theta);
    hk_dims column = onnx_along(size[0], 0, ndim + 2);
    column.dims[ndim + 1] = ndim;
    hk_array *y = hk_reshape(hk_index(wide, 2, ndim), column);
    for (int i = 0; i < ndim; i++) {
        if (size[i + 2] < 1 || size[i + 2] > INT32_MAX)
            return onnx_refuse(call, HK_OUT_OF_RANGE, "size[%d] is %" PRId64, i + 2, size[i + 2]);
        hk_array *line = steps(call, size[i + 2], aligns, i, ndim, hk_array_dtype(wide));
        hk_array *slope = hk_reshape(hk_index(wide, 2, ndim - 1 - i), column);
        y = hk_add(y, hk_multiply(line, slope));
    }
    return onnx_out(call, 0, onnx_to(y, hk_array_dtype(theta)));
}

const onnx_row onnx_rows_image[] = {
    {"AffineGrid", run_affine_grid, 0},
    {"DeformConv", onnx_run_deform_conv, 0},
    {"GridSample", run_grid_sample, 0},
    {"MaxRoiPool", onnx_run_max_roi_pool, 0},
    {"NonMaxSuppression", onnx_run_non_max_suppression, 0},
    {"Resize", onnx_run_resize, 0},
    {"RoiAlign", onnx_run_roi_align, 0},
    {"Upsample", onnx_run_upsample, 0},
    {NULL, NULL, 0},
};
