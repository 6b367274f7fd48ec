/* Two-dimensional pooling, largest element or mean of each window, and its gradients. The loops are in
 * pool2d_kernel.h. */
#include "op/pool/pool2d.h"
#include "op/call/scratch.h"

#include <math.h>
#include <string.h>

HKI_OPTIONS_TABLE(max_pool2d, MAX_POOL2D_OPTIONS)
HKI_OPTIONS_TABLE(avg_pool2d, AVG_POOL2D_OPTIONS)
HKI_ARGUMENTS_TABLE(avg_pool2d_backward, AVG_POOL2D_BACKWARD_ARGUMENTS)
#define max_pool2d_backward_params max_pool2d_params
#define max_pool2d_pick_params     max_pool2d_params

enum { OPTION_MAX = 1 << 30, GRAIN_SAMPLES = 16, GRAIN_PLANES = 16 };

/* ---- shapes -------------------------------------------------------------------------------------------- */

bool hki_pool2d_tiles(const void *options, int64_t window[2])
{
    hki_pool2d_geometry g = hki_pool2d_geometry_of(0, 0, options);
    window[0] = g.kernel_height;
    window[1] = g.kernel_width;
    return !((const hki_max_pool2d_options *)options)->ceil_mode &&
           g.stride_height == g.kernel_height && g.stride_width == g.kernel_width &&
           g.pad_height == 0 && g.pad_width == 0;
}

static bool check_options(hki_call *call, const hki_max_pool2d_options *options)
{
    const char *const names[] = {"kernel", "stride", "padding"};
    const int64_t *const values[] = {options->kernel, options->stride, options->padding};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            if (values[i][j] < 0 || values[i][j] > OPTION_MAX)
                return hki_call_refuse(
                    call, HK_INVALID_ARGUMENT,
                    "%s[%d] is %lld; it may be %d … %d, or both 0 for the default", names[i], j,
                    (long long)values[i][j], i != 2, OPTION_MAX);
        }
        if (i != 2 && !values[i][0] != !values[i][1])
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "%s is {%lld, %lld}: rows and columns must both be given",
                                   names[i], (long long)values[i][0], (long long)values[i][1]);
    }
    return true;
}

static bool forward_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    char text[256];
    hki_dims_describe(&x->shape, text, sizeof text);
    if (x->shape.ndim != 4)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s, but needs 4 axes: samples, channels, height, width", text);
    if (!check_options(call, call->options))
        return false;
    hki_pool2d_geometry g =
        hki_pool2d_geometry_of(x->shape.dims[2], x->shape.dims[3], call->options);
    if (g.pad_height >= g.kernel_height || g.pad_width >= g.kernel_width)
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "padding is {%lld, %lld}, which must be less than the kernel, {%lld, %lld}",
            (long long)g.pad_height, (long long)g.pad_width, (long long)g.kernel_height,
            (long long)g.kernel_width);
    if (g.out_height < 1 || g.out_width < 1 || g.in_height < 1 || g.in_width < 1)
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "a window of %lld x %lld does not fit into x %s with padding {%lld, %lld}",
            (long long)g.kernel_height, (long long)g.kernel_width, text, (long long)g.pad_height,
            (long long)g.pad_width);
    call->out_shape[0] = (hk_dims){
        .ndim = 4, .dims = {x->shape.dims[0], x->shape.dims[1], g.out_height, g.out_width}};
    call->out_dtype[0] = x->dtype;
    return true;
}

/* Internal operators: what the forward one has accepted needs no text for people. */
static bool check_backward(hki_call *call, const hki_pool2d_geometry *g, const hki_shape_view *dy)
{
    call->out_dtype[0] = dy->dtype;
    call->out_shape[0] = dy->shape;
    call->out_shape[0].dims[2] = g->in_height;
    call->out_shape[0].dims[3] = g->in_width;
    return (dy->shape.ndim == 4 && dy->shape.dims[2] == g->out_height &&
            dy->shape.dims[3] == g->out_width && dy->dtype == call->inputs[0]->dtype) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "dy does not belong to such a pooling");
}

static bool max_backward_infer(hki_call *call)
{
    const int64_t *x = call->inputs[0]->shape.dims;
    hki_pool2d_geometry g = hki_pool2d_geometry_of(x[2], x[3], call->options);
    return check_backward(call, &g, call->inputs[1]) &&
           (hki_dims_equal(&call->out_shape[0], &call->inputs[0]->shape) ||
            hki_call_refuse(call, HK_INVALID_ARGUMENT, "x and dy differ in samples or channels"));
}

static bool avg_backward_infer(hki_call *call)
{
    const int64_t *size = ((const hki_avg_pool2d_backward_options *)call->options)->size;
    hki_pool2d_geometry g = hki_pool2d_average_geometry(size[0], size[1], call->options);
    return check_backward(call, &g, call->inputs[0]);
}

/* ---- pieces and kernels ---------------------------------------------------------------------------------- */

static void plan(const hki_call *call, hki_plan *plan)
{
    const hk_dims *x = &call->inputs[0]->shape, *y = &call->out_shape[0];
    const int64_t planes = y->dims[0] * y->dims[1];
    int64_t in = x->dims[2] * x->dims[3], out = y->dims[2] * y->dims[3];
    plan->extent = planes;
    plan->grain =
        y->dims[0] >= 2 * GRAIN_SAMPLES ? GRAIN_SAMPLES * y->dims[1] : GRAIN_PLANES; /* in lanes */
    int64_t window[2];
    const bool in_rows =
        hki_pool2d_tiles(call->options, window) && window[0] == 2 && window[1] == 2;
    plan->work_ns = 100 + (double)planes * (double)(in > out ? in : out) * (in_rows ? 0.25 : 0.75) *
                              (call->out_dtype[0] == HK_F32 ? 1 : 2);
}

#define BY_DTYPE(name, call, ...)                                                                  \
    do {                                                                                           \
        if ((call)->out[0].dtype == HK_F32)                                                        \
            name##_f32(__VA_ARGS__);                                                               \
        else                                                                                       \
            name##_f64(__VA_ARGS__);                                                               \
    } while (0)

/* The same with workspace, of a gradient or of a pass forward. */
#define WITH_SCRATCH(name, backward, call, piece, g, ...)                                          \
    do {                                                                                           \
        const size_t bytes =                                                                       \
            hki_pool2d_scratch_bytes(g, backward, (call)->out[0].dtype == HK_F64);                 \
        void *scratch = bytes ? hki_scratch_allocate(call, piece, bytes) : NULL;                   \
        if (bytes && !scratch)                                                                     \
            return;                                                                                \
        BY_DTYPE(name, call, g, __VA_ARGS__, scratch);                                             \
        if (bytes)                                                                                 \
            hki_scratch_release(call, scratch, bytes);                                             \
    } while (0)

static void max_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    hki_pool2d_geometry g = hki_pool2d_geometry_of(x->dims[2], x->dims[3], call->options);
    WITH_SCRATCH(hki_pool2d_max_forward, false, call, piece, &g, x->data, call->out[0].data, begin,
                 end);
}

static void max_pick_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    hki_pool2d_geometry g = hki_pool2d_geometry_of(x->dims[2], x->dims[3], call->options);
    (void)piece;
    BY_DTYPE(hki_pool2d_max_pick, call, &g, x->data, call->in[1].data, call->out[0].data, begin,
             end);
}

static void max_backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    hki_pool2d_geometry g = hki_pool2d_geometry_of(x->dims[2], x->dims[3], call->options);
    WITH_SCRATCH(hki_pool2d_max_backward, true, call, piece, &g, x->data, call->in[1].data,
                 call->out[0].data, begin, end);
}

static void avg_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    hki_pool2d_geometry g = hki_pool2d_average_geometry(x->dims[2], x->dims[3], call->options);
    WITH_SCRATCH(hki_pool2d_average_forward, false, call, piece, &g, x->data, call->out[0].data,
                 begin, end);
}

static void avg_backward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *dx = &call->out[0];
    hki_pool2d_geometry g = hki_pool2d_average_geometry(dx->dims[2], dx->dims[3], call->options);
    WITH_SCRATCH(hki_pool2d_average_backward, true, call, piece, &g, call->in[0].data, dx->data,
                 begin, end);
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

static void max_grad(hki_grad_call *call)
{
    call->dx[0] =
        hki_op_call2(&hki_op_max_pool2d_backward, call->inputs[0], call->dy, call->options);
}

/* Both are linear in their second input, and each other's transposes. */
static void max_backward_grad(hki_grad_call *call)
{
    if (call->wanted[1])
        call->dx[1] =
            hki_op_call2(&hki_op_max_pool2d_pick, call->inputs[0], call->dy, call->options);
}

static void max_pick_grad(hki_grad_call *call)
{
    if (call->wanted[1])
        call->dx[1] =
            hki_op_call2(&hki_op_max_pool2d_backward, call->inputs[0], call->dy, call->options);
}

static void avg_grad(hki_grad_call *call)
{
    const hki_avg_pool2d_options *options = call->options;
    hki_avg_pool2d_backward_options backward = {
        .ceil_mode = options->ceil_mode,
        .count_include_pad = options->count_include_pad,
        .size = {call->input_shape[0].dims[2], call->input_shape[0].dims[3]}};
    memcpy(backward.kernel, options->kernel, sizeof backward.kernel);
    memcpy(backward.stride, options->stride, sizeof backward.stride);
    memcpy(backward.padding, options->padding, sizeof backward.padding);
    call->dx[0] = hki_op_call1(&hki_op_avg_pool2d_backward, call->dy, &backward);
}

static void avg_backward_grad(hki_grad_call *call)
{
    const hki_avg_pool2d_backward_options *options = call->options;
    hki_avg_pool2d_options forward = {.ceil_mode = options->ceil_mode,
                                      .count_include_pad = options->count_include_pad};
    memcpy(forward.kernel, options->kernel, sizeof forward.kernel);
    memcpy(forward.stride, options->stride, sizeof forward.stride);
    memcpy(forward.padding, options->padding, sizeof forward.padding);
    call->dx[0] = hki_op_call1(&hki_op_avg_pool2d, call->dy, &forward);
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

/* The elements of x's plane in the window at (i, j) of y: rows and columns from … to, ends excluded. */
typedef struct window {
    int64_t row, row_end, column, column_end;
} window;

static window window_at(const hki_pool2d_geometry *g, int64_t i, int64_t j)
{
    int64_t row = i * g->stride_height - g->pad_height;
    int64_t column = j * g->stride_width - g->pad_width;
    int64_t row_end = row + g->kernel_height, column_end = column + g->kernel_width;
    return (window){row < 0 ? 0 : row, row_end > g->in_height ? g->in_height : row_end,
                    column < 0 ? 0 : column, column_end > g->in_width ? g->in_width : column_end};
}

/* Elements along one axis of the window at `at`, padding counted. */
static int64_t with_padding(int64_t at, int64_t stride, int64_t pad, int64_t kernel, int64_t size)
{
    int64_t count = 0;
    for (int64_t i = at * stride - pad; i < at * stride - pad + kernel; i++)
        count += i >= -pad && i < size + pad;
    return count;
}

/* Of the window w at (i, j). */
static double divisor(const hki_pool2d_geometry *g, const window *w, int64_t i, int64_t j)
{
    if (!g->count_include_pad)
        return (double)((w->row_end - w->row) * (w->column_end - w->column));
    return (
        double)(with_padding(i, g->stride_height, g->pad_height, g->kernel_height, g->in_height) *
                with_padding(j, g->stride_width, g->pad_width, g->kernel_width, g->in_width));
}

/* Index in the plane of the first of the window's largest elements. */
static int64_t largest(const hki_pool2d_geometry *g, const double *plane, const window *w)
{
    int64_t best = w->row * g->in_width + w->column;
    for (int64_t r = w->row; r < w->row_end; r++)
        for (int64_t c = w->column; c < w->column_end; c++)
            best = plane[r * g->in_width + c] > plane[best] ? r * g->in_width + c : best;
    return best;
}

/* All four: x and dy are read, or y and dx are written. */
static void walk(const hki_pool2d_geometry *g, int64_t planes, bool max, const double *x,
                 const double *dy, double *y, double *dx)
{
    const int64_t in = g->in_height * g->in_width, out = g->out_height * g->out_width;
    for (int64_t i = 0; dx && i < planes * in; i++)
        dx[i] = 0;
    for (int64_t at = 0; at < planes * out; at++) {
        const int64_t base = at / out * in;
        const int64_t i = at % out / g->out_width, j = at % g->out_width;
        window w = window_at(g, i, j);
        if (max) {
            int64_t best = base + largest(g, x + base, &w);
            if (y)
                y[at] = x[best];
            else
                dx[best] += dy[at];
            continue;
        }
        double sum = 0;
        for (int64_t r = w.row; r < w.row_end; r++) {
            for (int64_t c = w.column; c < w.column_end; c++) {
                int64_t element = base + r * g->in_width + c;
                if (y)
                    sum += x[element];
                else
                    dx[element] += dy[at] / divisor(g, &w, i, j);
            }
        }
        if (y)
            y[at] = sum / divisor(g, &w, i, j);
    }
}

static int64_t plane_count(const hki_call *call)
{
    return call->out_shape[0].dims[0] * call->out_shape[0].dims[1];
}

static void max_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t *x = call->inputs[0]->shape.dims;
    hki_pool2d_geometry g = hki_pool2d_geometry_of(x[2], x[3], call->options);
    walk(&g, plane_count(call), true, in[0], NULL, out[0], NULL);
}

static void max_backward_reference(const hki_call *call, const double *const *in,
                                   double *const *out)
{
    const int64_t *x = call->inputs[0]->shape.dims;
    hki_pool2d_geometry g = hki_pool2d_geometry_of(x[2], x[3], call->options);
    walk(&g, plane_count(call), true, in[0], in[1], NULL, out[0]);
}

static void avg_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const int64_t *x = call->inputs[0]->shape.dims;
    hki_pool2d_geometry g = hki_pool2d_average_geometry(x[2], x[3], call->options);
    walk(&g, plane_count(call), false, in[0], NULL, out[0], NULL);
}

static void avg_backward_reference(const hki_call *call, const double *const *in,
                                   double *const *out)
{
    const int64_t *dx = call->out_shape[0].dims;
    hki_pool2d_geometry g = hki_pool2d_average_geometry(dx[2], dx[3], call->options);
    walk(&g, plane_count(call), false, NULL, in[0], NULL, out[0]);
}

#define MAX_OPTIONS(...)                                                                           \
    &(const hki_max_pool2d_options)                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define AVG_OPTIONS(...)                                                                           \
    &(const hki_avg_pool2d_options)                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define AVG_BACKWARD_OPTIONS(...)                                                                  \
    &(const hki_avg_pool2d_backward_options)                                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Samples for either kind of options. */
#define FORWARD_SAMPLES(OPTIONS)                                                                   \
    {.inputs = {HKI_SHAPE(2, 3, 6, 4)}}, {.inputs = {HKI_SHAPE(1, 1, 2, 2)}},                      \
        {.inputs = {HKI_SHAPE(2, 2, 5, 7)}},                                                       \
        {.inputs = {HKI_SHAPE(2, 2, 8, 9)},                                                        \
         .options = OPTIONS(.kernel = {3, 2}, .stride = {2, 1})},                                  \
        {.inputs = {HKI_SHAPE(2, 2, 6, 7)},                                                        \
         .options = OPTIONS(.kernel = {3, 4}, .stride = {1, 3}, .padding = {2, 1})},               \
        {.inputs = {HKI_SHAPE(1, 2, 5, 5)},                                                        \
         .options = OPTIONS(.kernel = {2, 2}, .stride = {3, 3})},                                  \
        {.inputs = {HKI_SHAPE(2, 2, 5, 7)}, .options = OPTIONS(.ceil_mode = true)},                \
        {.inputs = {HKI_SHAPE(2, 2, 6, 8)},                                                        \
         .options =                                                                                \
             OPTIONS(.kernel = {3, 3}, .stride = {2, 3}, .padding = {0, 1}, .ceil_mode = true)},   \
        {.inputs = {HKI_SHAPE(2, 2, 4, 4)},                                                        \
         .options =                                                                                \
             OPTIONS(.kernel = {2, 2}, .stride = {3, 3}, .padding = {1, 1}, .ceil_mode = true)},   \
        {.inputs = {HKI_SHAPE(0, 2, 4, 4)}}, {.inputs = {HKI_SHAPE(2, 0, 4, 4)}},                  \
    {                                                                                              \
        .kind = HKI_SAMPLE_STRIDED, .inputs = { HKI_SHAPE(2, 3, 6, 4) }                            \
    }

static const hki_sample max_samples[] = {FORWARD_SAMPLES(MAX_OPTIONS)};
static const hki_sample avg_samples[] = {
    FORWARD_SAMPLES(AVG_OPTIONS),
    {.inputs = {HKI_SHAPE(2, 2, 6, 7)},
     .options = AVG_OPTIONS(.kernel = {3, 4}, .stride = {1, 3}, .padding = {2, 1},
                            .count_include_pad = true)},
    {.inputs = {HKI_SHAPE(2, 2, 6, 7)},
     .options = AVG_OPTIONS(.kernel = {3, 4}, .stride = {2, 3}, .padding = {1, 1},
                            .ceil_mode = true, .count_include_pad = true)},
};
static const hki_sample max_backward_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 6, 4), HKI_SHAPE(2, 3, 3, 2)}},
    {.inputs = {HKI_SHAPE(2, 2, 6, 7), HKI_SHAPE(2, 2, 8, 2)},
     .options = MAX_OPTIONS(.kernel = {3, 4}, .stride = {1, 3}, .padding = {2, 1})},
    {.inputs = {HKI_SHAPE(2, 2, 5, 7), HKI_SHAPE(2, 2, 3, 4)},
     .options = MAX_OPTIONS(.ceil_mode = true)},
    {.inputs = {HKI_SHAPE(0, 3, 6, 4), HKI_SHAPE(0, 3, 3, 2)}},
};
static const hki_sample avg_backward_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 3, 2)}, .options = AVG_BACKWARD_OPTIONS(.size = {6, 4})},
    {.inputs = {HKI_SHAPE(2, 2, 8, 2)},
     .options = AVG_BACKWARD_OPTIONS(.kernel = {3, 4}, .stride = {1, 3}, .padding = {2, 1},
                                     .size = {6, 7})},
    {.inputs = {HKI_SHAPE(0, 3, 3, 2)}, .options = AVG_BACKWARD_OPTIONS(.size = {6, 4})},
};

const hk_op hki_op_max_pool2d = {
    HKI_OP_NAMED(max_pool2d),
    HKI_OP_PARAMS(max_pool2d),
    HKI_OP_SAMPLES(max_samples),
    .signature = "x",
    .doc = "Largest element of each window of x (n,channels,height,width): "
           "(n,channels,height',width') "
           "with height' = (height + 2 padding - kernel) / stride + 1, rounded down unless "
           "ceil_mode, and width' likewise. "
           "Padding is never the largest; NaN always is. The gradient goes to the first of the "
           "largest.",
    .formula = "y[n,c,i,j] = max over u, v of x[n,c,i*stride-padding+u,j*stride-padding+v]",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .infer = forward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .batch = hki_batch_all,
    .fuse = HKI_FUSE_POOL_MAX,
    .kernel = {[HKI_CPU] = max_cpu},
    .grad = max_grad,
    .grad_reads = {1},
    .reference = max_reference,
};

const hk_op hki_op_avg_pool2d = {
    HKI_OP_NAMED(avg_pool2d),
    HKI_OP_PARAMS(avg_pool2d),
    HKI_OP_SAMPLES(avg_samples),
    .signature = "x",
    .doc = "Mean of each window of x (n,channels,height,width): (n,channels,height',width') with "
           "height' = "
           "(height + 2 padding - kernel) / stride + 1, rounded down unless ceil_mode, and width' "
           "likewise. The mean is "
           "that of the elements in x, unless count_include_pad.",
    .formula = "y[n,c,i,j] = mean over u, v of x[n,c,i*stride-padding+u,j*stride-padding+v]",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .infer = forward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .batch = hki_batch_all,
    .fuse = HKI_FUSE_POOL_AVERAGE,
    .kernel = {[HKI_CPU] = avg_cpu},
    .grad = avg_grad,
    .reference = avg_reference,
    .tolerance_f32 = 1e-6,
};

const hk_op hki_op_max_pool2d_backward = {
    HKI_OP_NAMED(max_pool2d_backward),
    HKI_OP_PARAMS(max_pool2d_backward),
    HKI_OP_SAMPLES(max_backward_samples),
    .signature = "x, dy",
    .doc = "Gradient of max_pool2d.",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .internal = true,
    .infer = max_backward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .batch = hki_batch_all,
    .fuse = HKI_FUSE_POOL_MAX_GRAD,
    .kernel = {[HKI_CPU] = max_backward_cpu},
    .grad = max_backward_grad,
    .grad_reads = {0, 1},
    .reference = max_backward_reference,
    .tolerance_f32 = 1e-6,
};

const hk_op hki_op_max_pool2d_pick = {
    HKI_OP_NAMED(max_pool2d_pick),
    .params = max_pool2d_params,
    .options_bytes = sizeof(hki_max_pool2d_options),
    .signature = "x, v",
    .doc = "Gradient of max_pool2d_backward: the element of v where x is the largest of a window.",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .internal = true,
    .infer = forward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .kernel = {[HKI_CPU] = max_pick_cpu},
    .grad = max_pick_grad,
    .grad_reads = {0, 1},
    .untested = "the second gradient of max_pool2d tests it",
};

const hk_op hki_op_avg_pool2d_backward = {
    HKI_OP_NAMED(avg_pool2d_backward),
    HKI_OP_PARAMS(avg_pool2d_backward),
    HKI_OP_SAMPLES(avg_backward_samples),
    .signature = "dy",
    .doc = "Gradient of avg_pool2d for x of height and width `size`.",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .internal = true,
    .infer = avg_backward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .batch = hki_batch_all,
    .fuse = HKI_FUSE_POOL_AVERAGE_GRAD,
    .kernel = {[HKI_CPU] = avg_backward_cpu},
    .grad = avg_backward_grad,
    .reference = avg_backward_reference,
    .tolerance_f32 = 1e-6,
};
