#include "op/reduce/cuda_reduce.h"

#include "array/axis.h"
#include "op/cuda/cuda_calls.h"
#include "op/op.h"
#include "op/reduce/argmax.h"
#include "op/reduce/reduce.h"

#include <string.h>

/* ---- launching ---------------------------------------------------------------------------------------------- */

/* The axes of an input, those that stay and those that go, apart, and what becomes of what goes. */
typedef struct reduction {
    hki_cuda_walk kept; /* operands: cuda_reduce.h */
    hki_cuda_walk
        gone; /* operands: the input, from its first element, and whatever has its axes, too */
    const hki_cuda_reduce_launches *launches;
    hk_dtype dtype; /* of the input */
    bool by_rows;   /* the innermost axis in memory stays */
    bool is_mean;
    double divisor;
} reduction;

/* How many elements of what goes can be read at once, whichever result they are of. */
static int gone_width(const reduction *self, const hki_cuda_walk *kept, const hki_cuda_walk *gone)
{
    const int item_bytes = hki_cuda_item_bytes(self->dtype);
    bool aligned = !self->by_rows && gone->ndim == 1 && gone->steps[0][0] == item_bytes &&
                   (intptr_t)kept->data[HKI_CUDA_KEPT_IN] % HKI_CUDA_PACK_BYTES == 0;
    for (int axis = 0; aligned && axis < kept->ndim; axis++)
        aligned = kept->steps[axis][HKI_CUDA_KEPT_IN] % HKI_CUDA_PACK_BYTES == 0;
    return aligned ? HKI_CUDA_PACK_BYTES / item_bytes : 1;
}

/* kept and gone fit into a path each. */
static void reduce_init(hki_cuda_reduce *reduce, const reduction *self, const hki_cuda_walk *kept,
                        const hki_cuda_walk *gone)
{
    const int item_bytes[2] = {hki_cuda_item_bytes(self->dtype), hki_cuda_item_bytes(self->dtype)};
    hki_cuda_walk from = *gone;
    memset(reduce, 0, sizeof *reduce);
    from.operand_count = 1;
    hki_cuda_walk_merge(&from);
    hki_cuda_path_init(&reduce->kept, kept, 1, NULL);
    hki_cuda_path_init(&reduce->gone, &from, gone_width(self, kept, &from), item_bytes);
    const int64_t steps = reduce->gone.count;
    reduce->tile = hki_cuda_tile_of(reduce->kept.count, steps > 0 ? steps : 1, self->by_rows);
    reduce->is_mean = self->is_mean;
    reduce->divisor = self->divisor;
}

/* Makes results of `rows` rows of words, one for each of them. */
static void join_words(hki_cuda_stream *stream, const reduction *self, const hki_cuda_walk *kept,
                       char *words, int64_t rows)
{
    const int64_t word_bytes = self->launches->word_bytes[self->dtype];
    hki_cuda_walk from = *kept, gone;
    hki_cuda_reduce reduce;
    int64_t step = word_bytes;
    from.data[HKI_CUDA_KEPT_IN] = words;
    for (int axis = from.ndim - 1; axis >= 0; axis--) {
        from.steps[axis][HKI_CUDA_KEPT_IN] = step;
        step *= from.dims[axis];
    }
    hki_cuda_walk_init(&gone, 1);
    hki_cuda_walk_add_axis(&gone, rows, &step);
    memset(&reduce, 0, sizeof reduce);
    hki_cuda_path_init(&reduce.kept, &from, 1, NULL);
    hki_cuda_path_init(&reduce.gone, &gone, 1, NULL);
    reduce.tile = hki_cuda_line_tile(kept->size, rows, kept->size > 1); /* words are few */
    reduce.is_mean = self->is_mean;
    reduce.divisor = self->divisor;
    self->launches->words[self->dtype](stream, &reduce);
}

/* The launch for what goes from element `begin` on, as much of it as one can take; returns how much. */
static int64_t reduce_next(hki_cuda_reduce *reduce, const reduction *self,
                           const hki_cuda_walk *kept, int64_t begin)
{
    hki_cuda_walk from = *kept, gone = self->gone;
    int64_t count = 0;
    if (self->gone.size > 0) {
        count = hki_cuda_walk_part(&self->gone, begin, HKI_CUDA_MAX_INDEX, &gone);
        from.data[HKI_CUDA_KEPT_IN] += gone.data[0] - self->gone.data[0];
    }
    reduce_init(reduce, self, &from, &gone);
    reduce->gone_first = begin;
    return count;
}

/* How many words there will be for each result of `kept`. */
static int64_t count_rows(const reduction *self, const hki_cuda_walk *kept)
{
    int64_t rows = 0;
    for (int64_t begin = 0; begin < self->gone.size;) {
        hki_cuda_reduce reduce;
        begin += reduce_next(&reduce, self, kept, begin);
        rows += reduce.tile.parts;
    }
    return rows;
}

/* The results of `kept`, which fits into a path. The first `reserved` bytes of the workspace are left to the caller, and
 * are where results without data go. Returns the workspace where there is any. */
static char *reduce_kept(hki_cuda_stream *stream, const reduction *self, hki_cuda_walk *kept,
                         size_t reserved)
{
    const int64_t rows = count_rows(self, kept);
    const size_t row_bytes = (size_t)kept->size * (size_t)self->launches->word_bytes[self->dtype];
    const size_t bytes = reserved + (rows > 1 ? (size_t)rows * row_bytes : 0);
    char *workspace = NULL, *words = NULL;
    if (bytes > 0) {
        workspace = hki_cuda_workspace(stream, bytes);
        if (!workspace)
            return NULL;
        words = rows > 1 ? workspace + reserved : NULL;
    }
    if (!kept->data[HKI_CUDA_KEPT_OUT])
        kept->data[HKI_CUDA_KEPT_OUT] = workspace;
    int64_t begin = 0, row = 0;
    do { /* once at least: a sum of nothing is 0 */
        hki_cuda_reduce reduce;
        int64_t count = reduce_next(&reduce, self, kept, begin);
        reduce.words = words;
        reduce.part_first = row;
        self->launches->elements[self->dtype](stream, &reduce);
        row += reduce.tile.parts;
        begin += count;
    } while (begin < self->gone.size);
    if (words)
        join_words(stream, self, kept, words, rows);
    return workspace;
}

static void reduce_all(hki_cuda_stream *stream, const reduction *self)
{
    for (int64_t begin = 0; begin < self->kept.size;) {
        hki_cuda_walk kept;
        begin += hki_cuda_walk_part(&self->kept, begin, HKI_CUDA_MAX_INDEX, &kept);
        reduce_kept(stream, self, &kept, 0);
    }
}

/* ---- axes --------------------------------------------------------------------------------------------------- */

/* What is walked over beside the input: its strides for the input's axes. */
typedef struct operand {
    void *data;
    int item_bytes;
    int64_t strides[HK_MAX_NDIM];
} operand;

static operand operand_of(const hki_tensor *tensor)
{
    operand self = {.data = tensor->data, .item_bytes = hki_cuda_item_bytes(tensor->dtype)};
    memcpy(self.strides, tensor->strides, sizeof self.strides);
    return self;
}

/* Of a result of a reduction. */
static operand operand_spread(const hki_tensor *tensor, const hki_tensor *x, unsigned mask,
                              bool keepdims)
{
    operand self = operand_of(tensor);
    hki_reduce_spread(x->ndim, mask, keepdims, tensor->strides, self.strides);
    return self;
}

/* Whether the innermost axis in memory stays: axes are in order of falling steps. */
static bool is_by_rows(const reduction *self)
{
    const hki_cuda_walk *kept = &self->kept, *gone = &self->gone;
    return kept->ndim > 0 && (gone->ndim == 0 || kept->steps[kept->ndim - 1][HKI_CUDA_KEPT_IN] <
                                                     gone->steps[gone->ndim - 1][0]);
}

/* others: operands of `kept` beside the input, NULL for none; shape_of_x: has the axes of x that go, too, or NULL. */
static void reduction_init(reduction *self, const hki_tensor *x, unsigned mask,
                           const operand *const others[HKI_CUDA_OPERANDS],
                           const operand *shape_of_x)
{
    const int64_t item_bytes = hki_cuda_item_bytes(x->dtype);
    memset(self, 0, sizeof *self);
    self->dtype = x->dtype;
    hki_cuda_walk_init(&self->kept, HKI_CUDA_OPERANDS);
    hki_cuda_walk_init(&self->gone, 2);
    for (int axis = 0; axis < x->ndim; axis++) {
        int64_t step = x->strides[axis] * item_bytes, steps[HKI_CUDA_OPERANDS] = {0};
        for (int i = 0; i < HKI_CUDA_OPERANDS; i++) {
            if (others[i])
                steps[i] = others[i]->strides[axis] * others[i]->item_bytes;
        }
        steps[HKI_CUDA_KEPT_IN] = step;
        const int64_t gone_steps[2] = {
            step, shape_of_x ? shape_of_x->strides[axis] * shape_of_x->item_bytes : 0};
        if (x->dims[axis] == 1)
            continue;
        if (mask >> axis & 1)
            hki_cuda_walk_add_axis(&self->gone, x->dims[axis], gone_steps);
        else
            hki_cuda_walk_add_axis(&self->kept, x->dims[axis], steps);
    }
    for (int i = 0; i < HKI_CUDA_OPERANDS; i++)
        self->kept.data[i] = others[i] ? others[i]->data : NULL;
    self->kept.data[HKI_CUDA_KEPT_IN] = x->data;
    self->gone.data[0] = x->data;
    hki_cuda_walk_sort(&self->kept, HKI_CUDA_KEPT_IN);
    hki_cuda_walk_sort(&self->gone, 0);
    hki_cuda_walk_merge(&self->kept);
    hki_cuda_walk_merge(&self->gone);
    self->by_rows = is_by_rows(self);
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

static const hki_cuda_reduce_launches *launches_of(hki_op_id id)
{
    switch (id) {
#define LAUNCHES(name)                                                                             \
    case HKI_OP_ID_##name:                                                                         \
        return &hki_cuda_reduce_##name;
        LAUNCHES(mean)
        LAUNCHES(max)
        LAUNCHES(min)
        LAUNCHES(argmax)
        LAUNCHES(argmin)
        LAUNCHES(prod)
        LAUNCHES(norm)
        LAUNCHES(any)
        LAUNCHES(all)
#undef LAUNCHES
    case HKI_OP_ID_count_nonzero:
        return &hki_cuda_reduce_count;
    case HKI_OP_ID_exponent_offset:
        return &hki_cuda_reduce_offset;
    default:
        return &hki_cuda_reduce_sum;
    }
}

static void reduce_mask(hki_cuda_stream *stream, const hki_tensor *x, const hki_tensor *y,
                        unsigned mask, bool keepdims, const hki_cuda_reduce_launches *launches)
{
    const operand out = operand_spread(y, x, mask, keepdims);
    reduction self;
    reduction_init(&self, x, mask, (const operand *const[HKI_CUDA_OPERANDS]){&out}, NULL);
    self.launches = launches;
    self.is_mean = launches == &hki_cuda_reduce_mean;
    self.divisor = (double)self.gone.size;
    reduce_all(stream, &self);
}

void hki_cuda_call_reduce(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_sum_options *options = call->options;
    const hki_tensor *x = &call->in[0];
    reduce_mask(stream, x, &call->out[0], hki_reduce_mask_of(options, x->ndim), options->keepdims,
                launches_of(call->op->id));
}

void hki_cuda_call_argmax(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0];
    const int64_t axis = ((const hki_argmax_options *)call->options)->axis;
    reduce_mask(stream, x, &call->out[0], 1u << hki_axis_from_front(axis, x->ndim), false,
                launches_of(call->op->id));
}

/* What goes: axes that the sums do not have, or have one entry of. */
void hki_cuda_call_sum_to(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0], *y = &call->out[0];
    operand out = operand_of(y);
    unsigned mask = 0;
    for (int axis = 0; axis < x->ndim; axis++) {
        int own = axis - (x->ndim - y->ndim);
        bool goes = own < 0 || (y->dims[own] == 1 && x->dims[axis] != 1);
        mask |= (unsigned)goes << axis;
        out.strides[axis] = goes ? 0 : y->strides[own];
    }
    reduction self;
    reduction_init(&self, x, mask, (const operand *const[HKI_CUDA_OPERANDS]){&out}, NULL);
    self.launches = &hki_cuda_reduce_sum;
    reduce_all(stream, &self);
}

/* ---- gradients of max, min and prod ----------------------------------------------------------------------------- */

/* What is gathered of all elements first, and then shared among them. */
typedef struct sharing {
    const hki_cuda_reduce_launches *launches;
    void (*launch)(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype dtype);
    int gathered_bytes, width; /* width: as many elements at once as share what is gathered */
    hk_dtype dtype;
} sharing;

static void launch_share(hki_cuda_stream *stream, const hki_cuda_path *path, void *argument)
{
    const sharing *self = argument;
    self->launch(stream, path, self->dtype);
}

/* Gathers into the workspace. */
static void share_kept(hki_cuda_stream *stream, const reduction *self, hki_cuda_walk *kept,
                       sharing *how)
{
    int64_t step = how->gathered_bytes;
    kept->data[HKI_CUDA_SHARE_TIES] = NULL;
    for (int axis = kept->ndim - 1; axis >= 0; axis--) {
        kept->steps[axis][HKI_CUDA_SHARE_TIES] = step;
        step *= kept->dims[axis];
    }
    if (!reduce_kept(stream, self, kept, (size_t)step))
        return;
    for (int axis = 0; axis < self->gone.ndim; axis++) {
        int64_t steps[HKI_CUDA_OPERANDS] = {0};
        steps[HKI_CUDA_SHARE_X] = self->gone.steps[axis][0];
        steps[HKI_CUDA_SHARE_DX] = self->gone.steps[axis][1];
        hki_cuda_walk_add_axis(kept, self->gone.dims[axis], steps);
    }
    hki_cuda_walk_sort(kept, HKI_CUDA_SHARE_X);
    const int item = hki_cuda_item_bytes(self->dtype);
    const int item_bytes[HKI_CUDA_OPERANDS] = {how->gathered_bytes, item, item, item, item};
    hki_cuda_each_part(stream, kept, how->width, item_bytes, launch_share, how);
}

static void share(const hki_kernel_call *call, hki_cuda_stream *stream, sharing *how)
{
    const hki_sum_options *options = call->options;
    const hki_tensor *x = &call->in[0];
    const unsigned mask = hki_reduce_mask_of(options, x->ndim);
    const operand y = operand_spread(&call->in[1], x, mask, options->keepdims);
    const operand dy = operand_spread(&call->in[2], x, mask, options->keepdims);
    const operand dx = operand_of(&call->out[0]);
    const operand *const others[HKI_CUDA_OPERANDS] = {
        [HKI_CUDA_SHARE_Y] = &y, [HKI_CUDA_SHARE_DY] = &dy, [HKI_CUDA_SHARE_DX] = &dx};
    reduction self;
    reduction_init(&self, x, mask, others, &dx);
    self.launches = how->launches;
    how->dtype = x->dtype;
    for (int64_t begin = 0; begin < self.kept.size && self.gone.size > 0;) {
        hki_cuda_walk kept;
        begin += hki_cuda_walk_part(&self.kept, begin, HKI_CUDA_MAX_INDEX, &kept);
        share_kept(stream, &self, &kept, how);
    }
}

/* Of elements that equal the extremum. */
void hki_cuda_call_extremum_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    share(call, stream,
          &(sharing){.launches = &hki_cuda_reduce_ties,
                     .launch = hki_cuda_launch_share,
                     .gathered_bytes = sizeof(int64_t),
                     .width = HKI_CUDA_SHARE_WIDTH});
}

void hki_cuda_call_prod_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    share(call, stream,
          &(sharing){.launches = &hki_cuda_reduce_factors,
                     .launch = hki_cuda_launch_prod_share,
                     .gathered_bytes = sizeof(hki_cuda_factors),
                     .width = 1});
}
