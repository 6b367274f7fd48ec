/* Two-dimensional convolution and its gradients. The loops are in conv2d_kernel.h. */
#include "op/conv/conv2d.h"
#include "base/sum_tree.h"
#include "op/call/plan.h"
#include "op/call/scratch.h"
#include "op/conv/conv2d_columns.h"
#include "op/conv/conv2d_rows.h"
#include "op/reduce/reduce.h"

#include <string.h>

HKI_OPTIONS_TABLE(conv2d, CONV2D_OPTIONS)
HKI_ARGUMENTS_TABLE(conv2d_backward_data, CONV2D_BACKWARD_ARGUMENTS)
#define conv2d_backward_weight_params conv2d_backward_data_params

enum { PARTIALS_MAX_BYTES = 64 << 20 };

/* ---- shapes -------------------------------------------------------------------------------------------- */

/* Multiplications; the gradients do as many. */
static double product_count(const hki_conv2d_geometry *g)
{
    return (double)(g->samples * g->out_channels) * (double)(g->out_height * g->out_width) *
           (double)(g->in_channels * g->kernel_height * g->kernel_width);
}

static bool forward_infer(hki_call *call)
{
    const hki_conv_axes axes = hki_conv2d_axes(call->options);
    return hki_conv_infer(call, &axes);
}

/* Internal operators: what conv2d has accepted needs no text for people. */
static bool check_backward(hki_call *call, const hki_conv2d_geometry *g, const hki_shape_view *dy)
{
    const hk_dims wants = {.ndim = 4,
                           .dims = {g->samples, g->out_channels, g->out_height, g->out_width}};
    return (hki_dims_equal(&dy->shape, &wants) &&
            call->inputs[1]->dtype == call->inputs[0]->dtype) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "dy does not belong to such a convolution");
}

static bool data_infer(hki_call *call)
{
    const hki_shape_view *dy = call->inputs[0], *weight = call->inputs[1];
    const int64_t *size = ((const hki_conv2d_backward_data_options *)call->options)->size;
    if (!hki_conv_check_axes(call, "dy", dy, 2, "samples, outputs", true) ||
        !hki_conv_check_axes(call, "weight", weight, 2, "outputs, channels", false))
        return false;
    hki_conv2d_geometry g =
        hki_conv2d_data_geometry(dy->shape.dims, weight->shape.dims, call->options);
    call->out_shape[0] = (hk_dims){.ndim = 4, .dims = {g.samples, g.in_channels, size[0], size[1]}};
    call->out_dtype[0] = dy->dtype;
    return check_backward(call, &g, dy);
}

static bool weight_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0], *dy = call->inputs[1];
    if (!hki_conv_check_axes(call, "x", x, 2, "samples, channels", true) ||
        !hki_conv_check_axes(call, "dy", dy, 2, "samples, outputs", true))
        return false;
    hki_conv2d_geometry g =
        hki_conv2d_weight_geometry(x->shape.dims, dy->shape.dims, call->options);
    call->out_shape[0] =
        (hk_dims){.ndim = 4,
                  .dims = {g.out_channels, g.in_channels / hki_conv2d_groups(call->options),
                           g.kernel_height, g.kernel_width}};
    call->out_shape[1] = (hk_dims){.ndim = 1, .dims = {g.out_channels}};
    call->out_dtype[0] = call->out_dtype[1] = x->dtype;
    return check_backward(call, &g, dy);
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

/* Chooses the method, for the geometry and the plan. */
static void plan_samples(const hki_call *call, hki_conv2d_pass pass, hki_plan *plan,
                         hki_conv2d_geometry *geometry, hk_dtype dtype)
{
    geometry->method = hki_conv2d_choose(call, geometry, pass, dtype == HK_F64);
    plan->method = (int)geometry->method;
    plan->extent = geometry->samples;
    plan->grain = hki_conv2d_block_samples(geometry, dtype == HK_F64);
    plan->work_ns = 500 + product_count(geometry) / (dtype == HK_F32 ? 20 : 10);
    plan->flops = 2 * product_count(geometry);
}

/* Of conv2d_kernel.h: units of the plan are the parts of each block of samples, where there is more than one. */
static void plan_parts(const hki_call *call, const hki_conv2d_geometry *geometry,
                       hki_conv2d_pass pass, hki_plan *plan, hk_dtype dtype)
{
    const int64_t parts = hki_conv2d_parts(geometry, pass, dtype == HK_F64);
    if (parts == 1)
        return;
    plan->extent = parts * hki_divide_up(geometry->samples, plan->grain);
    plan->grain = 1;
    plan->max_pieces = hki_plan_pieces_for(call);
}

static void forward_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0], *weight = call->inputs[1];
    hki_conv2d_geometry g =
        hki_conv2d_forward_geometry(x->shape.dims, weight->shape.dims, call->options);
    if (hki_conv2d_groups_plan(call, &g, HKI_CONV2D_FORWARD, plan))
        return;
    plan_samples(call, HKI_CONV2D_FORWARD, plan, &g, x->dtype);
    if (hki_conv2d_columns_fit(&g, x->dtype == HK_F64)) {
        plan->extent = hki_conv2d_columns_units(&g);
        plan->grain = 1;
    } else {
        plan_parts(call, &g, HKI_CONV2D_FORWARD, plan, x->dtype);
    }
}

static void data_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *dy = call->inputs[0], *weight = call->inputs[1];
    hki_conv2d_geometry g =
        hki_conv2d_data_geometry(dy->shape.dims, weight->shape.dims, call->options);
    if (hki_conv2d_groups_plan(call, &g, HKI_CONV2D_BACKWARD_DATA, plan))
        return;
    plan_samples(call, HKI_CONV2D_BACKWARD_DATA, plan, &g, dy->dtype);
    plan_parts(call, &g, HKI_CONV2D_BACKWARD_DATA, plan, dy->dtype);
}

/* Elements of the gradients of weight and bias together. */
static int64_t sum_count(const hk_dims *weight)
{
    return weight->dims[0] * (weight->dims[1] * weight->dims[2] * weight->dims[3] + 1);
}

static void weight_plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0], *dy = call->inputs[1];
    hki_conv2d_geometry g =
        hki_conv2d_weight_geometry(x->shape.dims, dy->shape.dims, call->options);
    if (!hki_conv2d_groups_plan(call, &g, HKI_CONV2D_BACKWARD_WEIGHT, plan))
        plan_samples(call, HKI_CONV2D_BACKWARD_WEIGHT, plan, &g, x->dtype);
    if (!hki_conv2d_groups_have_sums(call, &g))
        return;
    const int64_t sums = sum_count(&call->out_shape[0]);
    plan->partial_bytes = (size_t)sums * hk_dtype_bytes(x->dtype);
    /* Joining takes a sixteenth of the time at most; many pieces of a large weight take much memory. */
    double by_time = plan->work_ns / (4 * (double)sums);
    int64_t by_memory = PARTIALS_MAX_BYTES / (int64_t)plan->partial_bytes;
    int64_t most = by_time < (double)plan->max_pieces ? (int64_t)by_time : plan->max_pieces;
    most = most < by_memory ? most : by_memory;
    most = hki_min(most, (int64_t)(plan->work_ns / HKI_PLAN_PIECE_NS));
    plan->extent = hki_sum_cut_to(g.samples, hki_max(1, most)).pieces;
    plan->grain = 1;
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

void hki_conv2d_fail_products(const hki_kernel_call *call, int64_t piece)
{
    hki_task_fail(call->task, piece, HK_OUT_OF_MEMORY,
                  "no addresses left for this thread's workspace of matrix products");
}

/* The first of the runs that units [*at, end) make, as samples and, in the geometry, parts; sets *at to its end. */
static void next_run(hki_conv2d_geometry *g, bool f64, int64_t *at, int64_t end,
                     int64_t *sample_begin, int64_t *sample_end)
{
    const int64_t block = *at / g->parts, first = *at % g->parts;
    int64_t blocks = 1, last = hki_min(g->parts, first + end - *at);
    if (g->parts == 1) { /* units are samples */
        *sample_begin = *at;
        *sample_end = *at = end;
        g->part_begin = 0;
        g->part_end = 1;
        return;
    }
    if (first == 0 && end - *at >= g->parts)
        blocks = (end - *at) / g->parts;
    const int64_t samples = hki_conv2d_block_samples(g, f64);
    *sample_begin = block * samples;
    *sample_end = hki_min((block + blocks) * samples, g->samples);
    g->part_begin = first;
    g->part_end = last;
    *at += (blocks - 1) * g->parts + last - first;
}

/* What the runs of the units take, one after the other. */
static size_t runs_scratch_bytes(hki_conv2d_geometry *g, hki_conv2d_pass pass, bool f64,
                                 int64_t begin, int64_t end)
{
    size_t most = 0;
    for (int64_t at = begin, from, to; at < end;) {
        next_run(g, f64, &at, end, &from, &to);
        const size_t bytes = pass == HKI_CONV2D_FORWARD
                                 ? hki_conv2d_forward_scratch_bytes(g, f64)
                                 : hki_conv2d_backward_data_scratch_bytes(g, f64);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* ---- weights that are packed once: conv2d_rows.h ----------------------------------------------------- */

static bool rows_fit(const hki_kernel_call *call, hki_conv2d_geometry *geometry)
{
    const hki_tensor *x = &call->in[0];
    *geometry = hki_conv2d_forward_geometry(x->dims, call->in[1].dims, call->options);
    geometry->method = (hki_conv2d_method)call->method;
    return x->dtype == HK_F32 && hki_conv2d_groups(call->options) == 1 &&
           hki_conv2d_rows_fit(geometry);
}

static size_t forward_packed_bytes(const hki_kernel_call *call, int64_t *extent)
{
    hki_conv2d_geometry g;
    if (!rows_fit(call, &g))
        return 0;
    *extent = hki_conv2d_rows_units(&g);
    return hki_conv2d_rows_packed_bytes(&g);
}

static void forward_pack(const hki_kernel_call *call, void *packed)
{
    hki_conv2d_geometry g;
    if (!rows_fit(call, &g))
        return;
    const size_t bytes = hki_conv2d_rows_pack_scratch_bytes(&g);
    void *scratch = hki_scratch_allocate(call, 0, bytes);
    if (!scratch)
        return;
    hki_conv2d_rows_pack(&g, call->in[1].data, packed, scratch);
    hki_scratch_release(call, scratch, bytes);
}

static void forward_rows(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hki_conv2d_geometry g;
    rows_fit(call, &g);
    const size_t bytes = hki_conv2d_rows_scratch_bytes(&g, end - begin);
    void *scratch = hki_scratch_allocate(call, piece, bytes);
    if (!scratch)
        return;
    hki_conv2d_rows(&g, call->in[0].data, call->packed, call->in[2].data, call->out[0].data, begin,
                    end, scratch);
    hki_scratch_release(call, scratch, bytes);
}

/* Pieces are of samples, of parts of blocks of them, or of units of conv2d_columns.h or conv2d_rows.h. */
static void forward_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0], *weight = &call->in[1], *bias = &call->in[2];
    const bool f64 = x->dtype == HK_F64;
    void *y = call->out[0].data;
    if (call->packed) {
        forward_rows(call, piece, begin, end);
        return;
    }
    if (hki_conv2d_groups_run(call, piece, begin, end))
        return;
    hki_conv2d_geometry g = hki_conv2d_forward_geometry(x->dims, weight->dims, call->options);
    g.method = (hki_conv2d_method)call->method;
    const bool columns = hki_conv2d_columns_fit(&g, f64);
    if (!columns)
        g.parts = hki_conv2d_parts(&g, HKI_CONV2D_FORWARD, f64);
    size_t bytes = 1 + (columns ? hki_conv2d_columns_scratch_bytes(&g, f64, end - begin)
                                : runs_scratch_bytes(&g, HKI_CONV2D_FORWARD, f64, begin, end));
    void *scratch = hki_scratch_allocate(call, piece, bytes);
    if (!scratch)
        return;
    if (columns)
        hki_conv2d_columns(&g, f64, x->data, weight->data, bias->data, y, begin, end, scratch);
    for (int64_t at = begin, from, to; !columns && at < end;) {
        next_run(&g, f64, &at, end, &from, &to);
        if (f64)
            hki_conv2d_forward_f64(&g, x->data, weight->data, bias->data, y, from, to, scratch);
        else
            hki_conv2d_forward_f32(&g, x->data, weight->data, bias->data, y, from, to, scratch);
    }
    hki_scratch_release(call, scratch, bytes);
}

static void data_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *dy = &call->in[0], *weight = &call->in[1];
    const bool f64 = dy->dtype == HK_F64;
    if (hki_conv2d_groups_run(call, piece, begin, end))
        return;
    hki_conv2d_geometry g = hki_conv2d_data_geometry(dy->dims, weight->dims, call->options);
    g.method = (hki_conv2d_method)call->method;
    g.parts = hki_conv2d_parts(&g, HKI_CONV2D_BACKWARD_DATA, f64);
    size_t bytes = 1 + runs_scratch_bytes(&g, HKI_CONV2D_BACKWARD_DATA, f64, begin, end);
    void *scratch = hki_scratch_allocate(call, piece, bytes);
    if (!scratch)
        return;
    void *dx = call->out[0].data;
    for (int64_t at = begin, from, to; at < end;) {
        next_run(&g, f64, &at, end, &from, &to);
        if (f64)
            hki_conv2d_backward_data_f64(&g, dy->data, weight->data, dx, from, to, scratch);
        else
            hki_conv2d_backward_data_f32(&g, dy->data, weight->data, dx, from, to, scratch);
    }
    hki_scratch_release(call, scratch, bytes);
}

/* Sums over the samples of one piece, a part of the tree, into its partials: of weight, then of bias. */
static void weight_cpu(const hki_kernel_call *call, int64_t piece, int64_t from, int64_t to)
{
    const hki_tensor *x = &call->in[0], *dy = &call->in[1];
    const bool f64 = x->dtype == HK_F64;
    if (!call->partial_bytes) { /* of groups whose pieces are no samples */
        hki_conv2d_groups_run(call, piece, from, to);
        return;
    }
    char *sums = hki_partials_of(call, piece);
    hki_conv2d_geometry g = hki_conv2d_weight_geometry(x->dims, dy->dims, call->options);
    const hki_sum_cut cut = hki_sum_cut_to(g.samples, call->piece_count);
    int64_t begin, end;
    hki_sum_piece(&cut, piece - call->first_piece, &begin, &end);
    if (hki_conv2d_groups_run(call, piece, begin, end))
        return;
    g.method = (hki_conv2d_method)call->method;
    if (begin >= end) {
        memset(sums, 0, call->partial_bytes);
        return;
    }
    size_t bytes = hki_conv2d_backward_weight_scratch_bytes(&g, f64) + 1;
    void *scratch = hki_scratch_allocate(call, piece, bytes);
    if (!scratch)
        return;
    const int64_t weights = call->out[0].size;
    const bool done =
        f64 ? hki_conv2d_backward_weight_f64(&g, x->data, dy->data, (double *)(void *)sums,
                                             (double *)(void *)sums + weights, begin, end, scratch)
            : hki_conv2d_backward_weight_f32(&g, x->data, dy->data, (float *)(void *)sums,
                                             (float *)(void *)sums + weights, begin, end, scratch);
    if (!done)
        hki_conv2d_fail_products(call, piece);
    hki_scratch_release(call, scratch, bytes);
}

static void weight_join(const hki_kernel_call *call)
{
    if (!call->partial_bytes) /* of groups that have no sums of pieces */
        return;
    const hki_tensor *weight = &call->out[0], *bias = &call->out[1];
    const size_t item = hk_dtype_bytes(weight->dtype);
    const hki_sum_cut cut = hki_sum_cut_to(call->in[0].dims[0], call->piece_count);
    hki_sum_join_pieces(&cut, weight->dtype, weight->size + bias->size, call->partials,
                        call->partial_bytes);
    memcpy(weight->data, call->partials, (size_t)weight->size * item);
    memcpy(bias->data, call->partials + (size_t)weight->size * item, (size_t)bias->size * item);
}

/* ---- gradient ------------------------------------------------------------------------------------------ */

static hki_conv2d_backward_data_options backward_options(const hki_conv2d_options *options,
                                                         const hk_dims *sized)
{
    hki_conv2d_backward_data_options backward = {.groups = options->groups,
                                                 .size = {sized->dims[2], sized->dims[3]}};
    memcpy(backward.stride, options->stride, sizeof backward.stride);
    memcpy(backward.padding, options->padding, sizeof backward.padding);
    memcpy(backward.dilation, options->dilation, sizeof backward.dilation);
    return backward;
}

static void forward_grad(hki_grad_call *call)
{
    if (call->wanted[0]) {
        hki_conv2d_backward_data_options options =
            backward_options(call->options, &call->input_shape[0]);
        call->dx[0] =
            hki_op_call2(&hki_op_conv2d_backward_data, call->dy, call->inputs[1], &options);
    }
    if (call->wanted[1]) {
        hki_conv2d_backward_data_options options =
            backward_options(call->options, &call->input_shape[1]);
        hk_array *const inputs[] = {call->inputs[0], call->dy};
        hk_array *dbias = NULL;
        call->dx[1] = hki_op_call(&hki_op_conv2d_backward_weight, inputs, 2, &options,
                                  (hk_device){NULL}, &dbias);
        if (call->wanted[2])
            call->dx[2] = dbias ? dbias : call->dx[1]; /* both failed */
    } else if (call->wanted[2]) {
        call->dx[2] = hki_op_call1(&hki_op_sum, call->dy,
                                   &(const hki_sum_options){.axes = HKI_SHAPE(0, 2, 3)});
    }
}

/* All of these are linear in dy, so that their gradients are convolutions again. */
static hki_conv2d_options forward_options(const hki_conv2d_backward_data_options *options)
{
    hki_conv2d_options forward = {.groups = options->groups};
    memcpy(forward.stride, options->stride, sizeof forward.stride);
    memcpy(forward.padding, options->padding, sizeof forward.padding);
    memcpy(forward.dilation, options->dilation, sizeof forward.dilation);
    return forward;
}

static void data_grad(hki_grad_call *call)
{
    const hki_conv2d_options forward = forward_options(call->options);
    const hki_conv2d_backward_data_options backward =
        backward_options(&forward, &call->input_shape[1]);
    if (call->wanted[0])
        call->dx[0] = hki_op_call3(&hki_op_conv2d, call->dy, call->inputs[1], NULL, &forward);
    if (call->wanted[1])
        call->dx[1] =
            hki_op_call2(&hki_op_conv2d_backward_weight, call->dy, call->inputs[0], &backward);
}

/* dys: of the gradients of weight and of bias. */
static void weight_grad(hki_grad_call *call)
{
    const hki_conv2d_options forward = forward_options(call->options);
    const hki_conv2d_backward_data_options backward =
        backward_options(&forward, &call->input_shape[0]);
    hk_array *dweight = call->dys[0], *dbias = call->dys[1];
    if (call->wanted[0] && dweight)
        call->dx[0] =
            hki_op_call2(&hki_op_conv2d_backward_data, call->inputs[1], dweight, &backward);
    if (call->wanted[1] && dweight)
        call->dx[1] = hki_op_call3(&hki_op_conv2d, call->inputs[0], dweight, dbias, &forward);
    else if (call->wanted[1]) /* each goes to all of its channel */
        call->dx[1] = hki_reduce_stretch(dbias, &call->input_shape[1],
                                         &(const hki_sum_options){.axes = HKI_SHAPE(0, 2, 3)});
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static hki_batch_kind weight_batch(hki_batch *batch)
{
    if (hki_conv2d_groups(batch->options) > 1)
        return HKI_BATCH_NONE;
    hki_batch_all(batch);
    return HKI_BATCH_SUM;
}

/* ---- conformance ----------------------------------------------------------------------------------------- */

#define OPTIONS(...)                                                                               \
    &(const hki_conv2d_options)                                                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define BACKWARD_OPTIONS(...)                                                                      \
    &(const hki_conv2d_backward_data_options)                                                      \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const hki_sample forward_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 6, 5), HKI_SHAPE(4, 3, 3, 2), HKI_SHAPE(4)}},
    {.inputs = {HKI_SHAPE(2, 1, 4, 4), HKI_SHAPE(1, 1, 4, 4), HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(1, 1, 1, 1), HKI_SHAPE(1, 1, 1, 1), HKI_SHAPE(1)}},
    {.inputs = {HKI_SHAPE(1, 2, 6, 5), HKI_SHAPE(70, 2, 3, 2), HKI_SHAPE(70)}},
    {.inputs = {HKI_SHAPE(1, 2, 9, 8), HKI_SHAPE(3, 2, 3, 2), HKI_SHAPE_NONE},
     .options = OPTIONS(.stride = {2, 3}, .padding = {2, 1}, .dilation = {2, 1})},
    {.inputs = {HKI_SHAPE(17, 2, 5, 5), HKI_SHAPE(3, 2, 3, 3), HKI_SHAPE(3)}},
    {.inputs = {HKI_SHAPE(2, 2, 7, 6), HKI_SHAPE(3, 2, 3, 3), HKI_SHAPE(3)},
     .options = OPTIONS(.stride = {2, 3}, .padding = {1, 2})},
    {.inputs = {HKI_SHAPE(2, 2, 8, 9), HKI_SHAPE(2, 2, 2, 3), HKI_SHAPE_NONE},
     .options = OPTIONS(.stride = {0, 2}, .padding = {2, 1}, .dilation = {3, 2})},
    {.inputs = {HKI_SHAPE(0, 2, 4, 4), HKI_SHAPE(3, 2, 3, 3), HKI_SHAPE(3)}},
    {.inputs = {HKI_SHAPE(2, 4, 7, 9), HKI_SHAPE(4, 1, 3, 3), HKI_SHAPE(4)},
     .options = OPTIONS(.padding = {1, 1}, .groups = 4)},
    {.inputs = {HKI_SHAPE(3, 4, 8, 19), HKI_SHAPE(6, 2, 2, 5), HKI_SHAPE_NONE},
     .options = OPTIONS(.stride = {2, 1}, .padding = {1, 3}, .dilation = {1, 2}, .groups = 2)},
    {.inputs = {HKI_SHAPE(2, 2, 5, 21), HKI_SHAPE(4, 1, 1, 4), HKI_SHAPE(4)},
     .options = OPTIONS(.stride = {1, 2}, .padding = {0, 2}, .groups = 2)},
    {.inputs = {HKI_SHAPE(1, 2, 17, 19), HKI_SHAPE(2, 1, 2, 4), HKI_SHAPE(2)},
     .options = OPTIONS(.padding = {1, 5}, .dilation = {1, 2}, .groups = 2)},
    {.inputs = {HKI_SHAPE(0, 2, 4, 4), HKI_SHAPE(2, 1, 3, 3), HKI_SHAPE(2)},
     .options = OPTIONS(.groups = 2)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 6, 5), HKI_SHAPE(4, 3, 3, 2), HKI_SHAPE(4)}},
    {.kind = HKI_SAMPLE_ALIASED,
     .inputs = {HKI_SHAPE(2, 2, 3, 3), HKI_SHAPE(2, 2, 3, 3), HKI_SHAPE_NONE}},
};

static const hki_sample data_samples[] = {
    {.inputs = {HKI_SHAPE(2, 4, 4, 4), HKI_SHAPE(4, 3, 3, 2)},
     .options = BACKWARD_OPTIONS(.size = {6, 5})},
    {.inputs = {HKI_SHAPE(2, 3, 4, 3), HKI_SHAPE(3, 2, 3, 3)},
     .options = BACKWARD_OPTIONS(.stride = {2, 3}, .padding = {1, 2}, .size = {7, 6})},
    {.inputs = {HKI_SHAPE(2, 6, 4, 5), HKI_SHAPE(6, 2, 3, 5)},
     .options = BACKWARD_OPTIONS(.padding = {1, 2}, .groups = 3, .size = {4, 5})},
    {.inputs = {HKI_SHAPE(2, 2, 4, 4), HKI_SHAPE(2, 1, 3, 3)},
     .options = BACKWARD_OPTIONS(.stride = {2, 2}, .padding = {1, 1}, .groups = 2, .size = {8, 7})},
    {.inputs = {HKI_SHAPE(0, 4, 4, 4), HKI_SHAPE(4, 3, 3, 2)},
     .options = BACKWARD_OPTIONS(.size = {6, 5})},
};

static const hki_sample weight_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 6, 5), HKI_SHAPE(2, 4, 4, 4)},
     .options = BACKWARD_OPTIONS(.size = {3, 2})},
    {.inputs = {HKI_SHAPE(19, 2, 7, 6), HKI_SHAPE(19, 3, 4, 3)},
     .options = BACKWARD_OPTIONS(.stride = {2, 3}, .padding = {1, 2}, .size = {3, 3})},
    {.inputs = {HKI_SHAPE(2, 4, 6, 20), HKI_SHAPE(2, 4, 6, 20)},
     .options = BACKWARD_OPTIONS(.padding = {1, 1}, .groups = 2, .size = {3, 3})},
    {.inputs = {HKI_SHAPE(2, 2, 7, 40), HKI_SHAPE(2, 2, 4, 20)},
     .options = BACKWARD_OPTIONS(.stride = {2, 2}, .padding = {1, 1}, .groups = 2, .size = {3, 3})},
    {.inputs = {HKI_SHAPE(0, 3, 6, 5), HKI_SHAPE(0, 4, 4, 4)},
     .options = BACKWARD_OPTIONS(.size = {3, 2})},
};

const hk_op hki_op_conv2d = {
    HKI_OP_NAMED(conv2d),
    HKI_OP_PARAMS(conv2d),
    HKI_OP_SAMPLES(forward_samples),
    .signature = "x, weight, bias?",
    .doc =
        "Two-dimensional convolution (cross-correlation, as in every framework) of x "
        "(n,channels,height,width) with weight (outputs,channels/groups,rows,columns), plus bias "
        "(outputs): "
        "(n,outputs,height',width'), of the dtype of all three, where height' = (height + 2 "
        "padding - "
        "dilation (rows - 1) - 1) / stride + 1, rounded down, and width' likewise. Windows of 3 "
        "x 3 and 5 x 5 "
        "at stride 1, with 16 channels or more, are done 4 or 16 at a time by Winograd's method: "
        "there an infinity or NaN in x makes NaN of neighbouring results too.",
    .formula = "y[n,o,i,j] = bias[o] + sum over c, u, v of weight[o,c,u,v] * "
               "x[n,c,i*stride-padding+u*dilation,j*stride-padding+v*dilation]",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .infer = forward_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = forward_plan,
    .packed_inputs = 1 << 1,
    .packed_bytes = forward_packed_bytes,
    .pack = forward_pack,
    .batch = hki_batch_first,
    .fuse = HKI_FUSE_CONVOLUTION,
    .kernel = {[HKI_CPU] = forward_cpu},
    .grad = forward_grad,
    .grad_reads = {2, 1, 0},
    .reference = hki_conv2d_forward_reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_conv2d_backward_data = {
    HKI_OP_NAMED(conv2d_backward_data),
    HKI_OP_PARAMS(conv2d_backward_data),
    HKI_OP_SAMPLES(data_samples),
    .signature = "dy, weight",
    .doc = "Gradient of conv2d with respect to x, whose height and width are `size`.",
    .dtypes = HKI_FLOATS,
    .contiguous = true,
    .internal = true,
    .infer = data_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = data_plan,
    .batch = hki_batch_first,
    .fuse = HKI_FUSE_CONVOLUTION_DATA,
    .kernel = {[HKI_CPU] = data_cpu},
    .grad = data_grad,
    .grad_reads = {2, 1},
    .reference = hki_conv2d_data_reference,
    .tolerance_f32 = 1e-5,
};

const hk_op hki_op_conv2d_backward_weight = {
    HKI_OP_NAMED(conv2d_backward_weight),
    HKI_OP_PARAMS(conv2d_backward_weight),
    HKI_OP_SAMPLES(weight_samples),
    .signature = "x, dy",
    .doc = "Gradients of conv2d with respect to weight, whose rows and columns are `size`, and to "
           "bias.",
    .dtypes = HKI_FLOATS,
    .output_count = 2,
    .outputs = "dweight, dbias",
    .contiguous = true,
    .internal = true,
    .infer = weight_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = weight_plan,
    .batch = weight_batch,
    .fuse = HKI_FUSE_CONVOLUTION_WEIGHT,
    .kernel = {[HKI_CPU] = weight_cpu},
    .join = weight_join,
    .grad = weight_grad,
    .grad_reads = {2, 1},
    .reference = hki_conv2d_weight_reference,
    .tolerance_f32 = 1e-5,
};
