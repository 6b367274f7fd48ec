#include "scatter.h"
#include "shapes.h"

#include <inttypes.h>
#include <string.h>

bool onnx_join_of(onnx_call *call, onnx_join *join)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    for (int i = 0; i < 5; i++)
        if (onnx_text_is(call, "reduction", names[i], "none")) {
            *join = (onnx_join)i;
            return true;
        }
    return onnx_refuse(call, HK_INVALID_ARGUMENT,
                       "reduction is none of none, add, mul, max and min");
}

/* ---- a kernel for what no operator joins ----------------------------------------------------- */

#define LARGER(a, b)  ((a) != (a) || (a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))
/* Narrow integers are multiplied as unsigned ones: they wrap around. */
#define JOIN(name, T, wide)                                                                        \
    static void join_##name(onnx_join join, void *to, const void *from, int64_t width)             \
    {                                                                                              \
        T *x = to;                                                                                 \
        const T *y = from;                                                                         \
        for (int64_t i = 0; i < width; i++)                                                        \
            x[i] = join == ONNX_MULTIPLY ? (T)((wide)x[i] * (wide)y[i])                            \
                   : join == ONNX_LARGER ? LARGER(x[i], y[i])                                      \
                                         : SMALLER(x[i], y[i]);                                    \
    }
JOIN(f32, float, float)
JOIN(f64, double, double)
JOIN(i8, int8_t, uint64_t)
JOIN(i16, int16_t, uint64_t)
JOIN(i32, int32_t, uint64_t)
JOIN(i64, int64_t, uint64_t)
JOIN(u8, uint8_t, uint64_t)
JOIN(u16, uint16_t, uint64_t)
JOIN(u32, uint32_t, uint64_t)
JOIN(u64, uint64_t, uint64_t)

typedef void join_fn(onnx_join join, void *to, const void *from, int64_t width);

static join_fn *join_of(hk_dtype dtype)
{
    switch (dtype) {
    case HK_F32:
        return join_f32;
    case HK_F64:
        return join_f64;
    case HK_I8:
        return join_i8;
    case HK_I16:
        return join_i16;
    case HK_I32:
        return join_i32;
    case HK_I64:
        return join_i64;
    case HK_U8:
        return join_u8;
    case HK_U16:
        return join_u16;
    case HK_U32:
        return join_u32;
    case HK_U64:
        return join_u64;
    default:
        return NULL;
    }
}

static void scatter_joined(hk_task_call *call)
{
    const hk_task_view x = hk_task_view_of(call, 0), places = hk_task_view_of(call, 1);
    const hk_task_view updates = hk_task_view_of(call, 2), y = hk_task_view_of(call, 3);
    const onnx_join join = *(const onnx_join *)hk_task_args(call);
    const int64_t rows = x.shape.dims[0], width = x.shape.dims[1];
    const size_t bytes = (size_t)width * hk_dtype_bytes(x.dtype);
    const int64_t *place = places.data;
    join_fn *const function = join_of(x.dtype);
    if (!function) {
        hk_task_refuse(call, "%s cannot be joined", hk_dtype_name(x.dtype));
        return;
    }
    if (rows && bytes)
        memcpy(y.data, x.data, (size_t)rows * bytes);
    for (int64_t i = 0; i < places.shape.dims[0]; i++) {
        const int64_t at = place[i];
        if (at < 0 || at >= rows) {
            hk_task_refuse(call, "index %" PRId64 " names no element", i);
            return;
        }
        if (bytes)
            function(join, (char *)y.data + (size_t)at * bytes,
                     (const char *)updates.data + (size_t)i * bytes, width);
    }
}

static double scatter_cost(const hk_task_call *call)
{
    const hk_dims x = hk_task_view_of(call, 0).shape, updates = hk_task_view_of(call, 2).shape;
    return 500 + .3 * (double)x.dims[0] * (double)x.dims[1] +
           2 * (double)updates.dims[0] * (1 + (double)updates.dims[1]);
}

static const hk_kernel scatter_kernel = {
    .name = "scatter_joined", .cpu = scatter_joined, .cost_ns = scatter_cost};

/* Halves as floats, truth values as numbers. */
static hk_array *joined(hk_array *x, hk_array *places, hk_array *updates, onnx_join join)
{
    const hk_dtype dtype = hk_array_dtype(x);
    const hk_dtype as = dtype == HK_F16 || dtype == HK_BF16 ? HK_F32
                        : dtype == HK_BOOL                  ? HK_U8
                                                            : dtype;
    hk_array *inputs[] = {hk_contiguous(hk_cast(x, as)), hk_contiguous(places),
                          hk_contiguous(hk_cast(updates, as))};
    hk_array *y =
        hk_run_new(&scatter_kernel, hk_dims_get(x), as,
                   HK_ACCESS(hk_reads(inputs[0]), hk_reads(inputs[1]), hk_reads(inputs[2])), &join,
                   sizeof join, NULL);
    return hk_cast(y, dtype);
}

hk_array *onnx_scatter_rows(hk_array *x, hk_array *places, hk_array *updates, onnx_join join)
{
    if (join > ONNX_ADD)
        return joined(x, places, updates, join);
    const int64_t count = hk_dim(places, 0);
    hk_array *wide =
        hk_broadcast_to(hk_reshape(places, hk_shape(count, 1)), hk_shape(count, hk_dim(x, 1)));
    return join == ONNX_ADD ? hk_scatter_add(x, wide, updates, 0) : hk_scatter(x, wide, updates, 0);
}
