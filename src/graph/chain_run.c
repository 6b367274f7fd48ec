/* One step of a chain on one block of samples. */
#include "graph/chain.h"

#include <string.h>

static char *rows_of(const hki_chain_run *run, int index)
{
    const hki_chain_value *value = &run->chain->values[index];
    int64_t sample_bytes = value->elements * (int64_t)hki_dtype_bytes(value->dtype);
    if (value->array >= 0)
        return run->arrays[value->array] + run->first * sample_bytes;
    return value->is_kept ? run->rows + value->rows + (run->first - run->begin) * sample_bytes
                          : run->workspace + value->rows;
}

static char *lanes_of(const hki_chain_run *run, int index)
{
    return index < 0 ? NULL : run->workspace + run->chain->values[index].lanes;
}

static char *sum_of(const hki_chain_run *run, int index)
{
    return index < 0 ? NULL : run->sums + run->chain->sums[index].at;
}

/* ---- operators' own kernels -------------------------------------------------------------------------------------- */

/* With the samples of the block in the place of the batch. */
static void set_tensor(const hki_chain_run *run, const hki_chain_step *step, int operand,
                       const hki_chain_ref *ref, hki_tensor *tensor)
{
    const hki_chain *chain = run->chain;
    if (ref->kind ==
        HKI_REF_NONE) { /* its dimensions are left as they are: most operators have many such */
        tensor->data = NULL;
        tensor->storage = run->storage;
        tensor->offset = tensor->size = 0;
        tensor->dtype = 0;
        tensor->is_contiguous = false;
        tensor->ndim = -1;
        return;
    }
    hki_chain_ref_tensor(&chain->calls[step->call], operand, ref, tensor);
    tensor->storage = run->storage;
    tensor->offset = 0;
    if (ref->kind == HKI_REF_SHARED) {
        tensor->data = run->arrays[ref->index];
    } else if (ref->kind == HKI_REF_SUM) {
        tensor->data = sum_of(run, ref->index);
    } else if (step->in_lanes) {
        tensor->data = lanes_of(run, ref->index);
        tensor->ndim = 1;
        tensor->dims[0] = chain->values[ref->index].elements * chain->block_samples;
        tensor->strides[0] = 1;
        tensor->size = tensor->dims[0];
        tensor->is_contiguous = true;
    } else {
        tensor->data = rows_of(run, ref->index);
        tensor->dims[ref->is_last ? 1 : 0] = run->count;
        tensor->size = chain->values[ref->index].elements * run->count;
    }
}

static void describe_inputs(const void *what, char *text, size_t bytes)
{
    const hki_node *node = what;
    hki_tensor inputs[HKI_MAX_INPUTS];
    for (int i = 0; i < node->input_count; i++) {
        inputs[i] = node->operands[i].tensor;
        if (node->operands[i].slot < 0)
            inputs[i].ndim = -1;
    }
    hki_tensors_describe(inputs, node->input_count, text, bytes);
}

/* How many rows or elements, by which the operator is split, the samples before the block have. */
static int64_t first_index(const hki_chain_run *run, const hki_chain_step *step, hki_split split)
{
    if (split == HKI_SPLIT_ROWS)
        return run->first;
    return split == HKI_SPLIT_ELEMENTS && step->out[0].kind == HKI_REF_VALUE
               ? run->first * run->chain->values[step->out[0].index].elements
               : 0;
}

static const hki_chain_extent *extent_of(const hki_chain_run *run, const hki_chain_step *step)
{
    const hki_chain *chain = run->chain;
    const int64_t *sizes =
        step->kind == HKI_STEP_CALL_END ? chain->piece_sizes : chain->block_sizes;
    int at = 0;
    while (sizes[at] != run->count)
        at++;
    return &step->extents[at];
}

static const char *element_data(const hki_chain_run *run, const hki_chain_step *step,
                                const hki_chain_ref *ref)
{
    if (ref->kind == HKI_REF_SHARED)
        return run->arrays[ref->index];
    return step->in_lanes ? lanes_of(run, ref->index) : rows_of(run, ref->index);
}

static void run_dense(const hki_chain_run *run, const hki_chain_step *step)
{
    const hki_chain *chain = run->chain;
    const hki_row *row = &step->row;
    const int64_t samples = step->in_lanes ? chain->block_samples : run->count;
    hki_run dense = {.n = chain->values[step->out[0].index].elements * samples,
                     .out = (char *)element_data(run, step, &step->out[0]),
                     .out_step = row->out.bytes,
                     .given = row};
    for (int i = 0; i < row->in_count; i++) {
        dense.in[i] = element_data(run, step, &step->in[i]);
        dense.in_step[i] = step->in[i].kind == HKI_REF_SHARED ? 0 : row->in[i].bytes;
    }
    hki_row_run(&dense);
}

static bool run_call(const hki_chain_run *run, const hki_chain_step *step)
{
    const hki_chain *chain = run->chain;
    const hki_node *node = &chain->calls[step->call];
    const hk_op *op = node->op;
    const hki_chain_extent *extent = extent_of(run, step);
    hki_tensor in[HKI_MAX_INPUTS], out[HKI_MAX_OUTPUTS];
    hki_kernel_call call;
    call.in = in;
    call.out = out;
    call.op = op;
    call.options = node->options;
    call.input_count = node->input_count;
    call.output_count = node->output_count;
    call.extent = extent->extent;
    call.piece_count = 1;
    call.grain = extent->grain;
    call.method = 0; /* what is best for all samples need not be for a block of them */
    call.partial_bytes = extent->partial_bytes;
    call.packed = NULL;
    call.partials = extent->partial_bytes ? run->scratch : NULL;
    call.first_piece = run->piece;
    call.first_index = step->in_lanes ? 0 : first_index(run, step, op->split);
    call.task = run->task;
    for (int i = 0; i < HKI_MAX_INPUTS; i++)
        set_tensor(run, step, i, &step->in[i], &call.in[i]);
    for (int i = 0; i < node->output_count; i++)
        set_tensor(run, step, node->input_count + i, &step->out[i], &call.out[i]);
    if (step->in_lanes)
        call.extent = call.out[0].dims[0];
    const hki_blame blame = {node->operation, node->source, describe_inputs, node};
    hki_task_blame(&blame);
    op->kernel[HKI_CPU](&call, run->piece, 0, call.extent);
    if (op->join)
        op->join(&call);
    hki_task_blame(NULL);
    return !hki_task_has_failed(run->task);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static const char *packed_of(const hki_chain_run *run, int index)
{
    const hki_chain_pack *pack = index < 0 ? NULL : &run->chain->packs[index];
    return pack ? (pack->is_constant ? run->kept : run->packed) + pack->at : NULL;
}

static void run_image(const hki_chain_run *run, const hki_chain_step *step)
{
    const hki_conv2d_image image = {step->block, run->chain->packs[step->pack].x};
    const char *x = step->x_in_rows ? rows_of(run, step->x) : lanes_of(run, step->x);
    hki_conv2d_image_forward(
        &image, run->count, (const float *)(const void *)x, packed_of(run, step->pack),
        step->bias < 0 ? NULL : (const float *)(const void *)run->arrays[step->bias],
        (float *)(void *)lanes_of(run, step->y), run->scratch);
}

/* In a chain of rows. */
static void run_layer(const hki_chain_run *run, const hki_chain_step *step)
{
    const bool is_backward = step->kind == HKI_STEP_BACKWARD;
    const hki_layer layer = hki_chain_layer(&step->block, is_backward);
    hki_layer_run(&layer, run->chain->f64, rows_of(run, is_backward ? step->dy : step->x),
                  run->count, packed_of(run, step->pack),
                  step->bias < 0 ? NULL : run->arrays[step->bias],
                  rows_of(run, is_backward ? step->dx : step->y), run->scratch);
}

static void run_forward(const hki_chain_run *run, const hki_chain_step *step)
{
    const hki_chain *chain = run->chain;
    hki_conv2d_block_forward(
        &step->block, chain->f64, lanes_of(run, step->x), packed_of(run, step->pack),
        step->bias < 0 ? NULL : run->arrays[step->bias], lanes_of(run, step->y),
        step->mask < 0 ? NULL : run->workspace + chain->masks[step->mask].at, run->scratch);
}

static void run_backward(const hki_chain_run *run, const hki_chain_step *step)
{
    const hki_chain *chain = run->chain;
    hki_conv2d_block_backward(&step->block, chain->f64, lanes_of(run, step->x),
                              lanes_of(run, step->dy),
                              step->mask < 0 ? NULL : run->workspace + chain->masks[step->mask].at,
                              packed_of(run, step->pack), run->count, lanes_of(run, step->dx),
                              sum_of(run, step->dweight), sum_of(run, step->dbias), run->scratch);
}

static void run_spread(const hki_chain_run *run, const hki_chain_step *step)
{
    const hki_chain_value *value = &run->chain->values[step->x];
    size_t item = hki_dtype_bytes(value->dtype);
    char *to = rows_of(run, step->x);
    for (int64_t i = 0; i < run->count * value->elements; i++)
        memcpy(to + (size_t)i * item, run->arrays[step->weight], item);
}

static void run_conversion(const hki_chain_run *run, const hki_chain_step *step)
{
    const hki_chain_value *value = &run->chain->values[step->x];
    bool f64 = run->chain->f64, to_lanes = step->kind == HKI_STEP_TO_LANES;
    void *rows = rows_of(run, step->x), *lanes = lanes_of(run, step->x);
    if (run->chain->form == HKI_CHAIN_OF_IMAGES && to_lanes)
        hki_image_gather(&value->image, rows, run->count, lanes);
    else if (run->chain->form == HKI_CHAIN_OF_IMAGES)
        hki_image_scatter(&value->image, lanes, run->count, rows);
    else if (to_lanes)
        hki_block_gather(f64, rows, run->count, value->elements, lanes);
    else
        hki_block_scatter(f64, lanes, run->count, value->elements, rows);
}

bool hki_chain_run_step(const hki_chain_run *run, const hki_chain_step *step)
{
    const hki_chain *chain = run->chain;
    switch (step->kind) {
    case HKI_STEP_CALL:
        if (step->is_dense) {
            run_dense(run, step);
            return true;
        }
        return run_call(run, step);
    case HKI_STEP_CALL_END:
        return run_call(run, step);
    case HKI_STEP_FORWARD:
    case HKI_STEP_BACKWARD:
        if (chain->form == HKI_CHAIN_OF_IMAGES)
            run_image(run, step);
        else if (chain->form == HKI_CHAIN_OF_ROWS)
            run_layer(run, step);
        else
            (step->kind == HKI_STEP_FORWARD ? run_forward : run_backward)(run, step);
        break;
    case HKI_STEP_SPREAD:
        run_spread(run, step);
        break;
    case HKI_STEP_TO_LANES:
    case HKI_STEP_TO_ROWS:
        run_conversion(run, step);
        break;
    }
    return true;
}
