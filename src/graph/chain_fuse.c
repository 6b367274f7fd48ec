/* Convolutions and fully connected layers as steps on blocks, with the relu and the pooling around them where nobody
 * looks at what is in between. */
#include "graph/chain.h"
#include "op/conv/conv2d.h"
#include "op/pool/pool2d.h"

#include <string.h>

typedef struct fuser {
    const hki_chain *chain;
    const bool *outside;
    const bool *done;
} fuser;

static const hki_node_operand *in(const hki_node *node, int i)
{
    return &node->operands[i];
}

static const hki_node_operand *out(const hki_node *node, int i)
{
    return &node->operands[node->input_count + i];
}

static int out_slot(const hki_node *node, int i)
{
    return out(node, i)->slot;
}

static bool reads(const hki_node *node, int slot)
{
    bool found = false;
    for (int i = 0; i < node->input_count; i++)
        found = found || node->operands[i].slot == slot;
    return found;
}

/* The call that alone reads what nobody outside looks at; -1: there is none, or not one alone. */
static int only_reader(const fuser *self, int slot)
{
    int found = -1;
    for (int i = 0; i < self->chain->call_count; i++) {
        if (!reads(&self->chain->calls[i], slot))
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return self->outside[slot] ? -1 : found;
}

static int maker(const fuser *self, int slot)
{
    for (int i = 0; i < self->chain->call_count; i++) {
        const hki_node *node = &self->chain->calls[i];
        for (int j = 0; j < node->output_count; j++)
            if (out_slot(node, j) == slot)
                return i;
    }
    return -1;
}

/* Convolutions in groups run their own kernels. */
static bool is_grouped(const hki_node *node)
{
    const hki_fuse_role role = node->op->fuse;
    return (role == HKI_FUSE_CONVOLUTION || role == HKI_FUSE_CONVOLUTION_DATA ||
            role == HKI_FUSE_CONVOLUTION_WEIGHT) &&
           hki_conv2d_groups(node->options) > 1;
}

static bool has_role(const hki_node *node, hki_fuse_role role)
{
    return node->op->fuse == role && !is_grouped(node);
}

/* A call of that role, which no step stands for yet. */
static bool is_left(const fuser *self, int call, hki_fuse_role role)
{
    return call >= 0 && has_role(&self->chain->calls[call], role) && !self->done[call];
}

/* A fully connected layer is a convolution of images of one pixel. */
static hki_conv2d_geometry layer_geometry(int64_t inputs, int64_t outputs)
{
    return (hki_conv2d_geometry){.in_channels = inputs,
                                 .in_height = 1,
                                 .in_width = 1,
                                 .out_channels = outputs,
                                 .out_height = 1,
                                 .out_width = 1,
                                 .kernel_height = 1,
                                 .kernel_width = 1,
                                 .stride_height = 1,
                                 .stride_width = 1,
                                 .dilation_height = 1,
                                 .dilation_width = 1};
}

static hki_conv2d_geometry geometry_of(const hki_node *node)
{
    hki_tensor tensors[HKI_MAX_INPUTS];
    for (int i = 0; i < node->input_count; i++)
        tensors[i] = node->operands[i].tensor;
    return hki_conv2d_geometry_of(node->op, tensors, node->options);
}

/* Pooling may be of a reshaped view. */
static bool same_shape(const hki_node_operand *a, const hki_node_operand *b)
{
    return a->tensor.ndim == b->tensor.ndim &&
           !memcmp(a->tensor.dims, b->tensor.dims, (size_t)a->tensor.ndim * sizeof *a->tensor.dims);
}

static bool same_place(const hki_node_operand *a, const hki_node_operand *b)
{
    return a->slot == b->slot && a->tensor.offset == b->tensor.offset;
}

/* ---- backward -------------------------------------------------------------------------------------------------------- */

/* What all readers of a convolution's gradient dy are; false when another call reads it. */
typedef struct readers {
    int data, weight; /* calls; -1: none */
} readers;

static bool find_readers(const fuser *self, int slot, const hki_node *forward, readers *found)
{
    *found = (readers){-1, -1};
    bool all = !self->outside[slot];
    for (int i = 0; i < self->chain->call_count && all; i++) {
        const hki_node *node = &self->chain->calls[i];
        if (!reads(node, slot))
            continue;
        if (has_role(node, HKI_FUSE_CONVOLUTION_DATA) && found->data < 0 &&
            in(node, 0)->slot == slot && same_place(in(node, 1), in(forward, 1)))
            found->data = i;
        else if (has_role(node, HKI_FUSE_CONVOLUTION_WEIGHT) && found->weight < 0 &&
                 in(node, 1)->slot == slot && same_place(in(node, 0), in(forward, 0)))
            found->weight = i;
        else
            all = false;
    }
    return all && (found->data >= 0 || found->weight >= 0);
}

static void set_backward(const fuser *self, hki_chain_step *step, const readers *found, bool *done)
{
    step->kind = HKI_STEP_BACKWARD;
    if (found->data >= 0) {
        const hki_node *data = &self->chain->calls[found->data];
        step->weight = hki_chain_input(found->data, 1);
        step->dx = out_slot(data, 0);
        done[found->data] = true;
    }
    if (found->weight >= 0) {
        const hki_node *weight = &self->chain->calls[found->weight];
        step->x = hki_chain_input(found->weight, 0);
        step->dweight = out_slot(weight, 0);
        step->dbias = weight->output_count > 1 ? out_slot(weight, 1) : -1;
        done[found->weight] = true;
    }
}

/* The gradient of one convolution as it stands, or of a product with a matrix that all samples share. */
static bool fuse_backward(const fuser *self, int call, hki_chain_step *step, bool *done)
{
    const hki_node *node = &self->chain->calls[call];
    readers one = {-1, -1};
    if (has_role(node, HKI_FUSE_PRODUCT)) {
        const hki_tensor *b = &in(node, 1)->tensor;
        if (in(node, 0)->tensor.strides[1] != 1)
            return false;
        step->block.geometry = layer_geometry(b->dims[1], b->dims[0]);
        one.data = call;
    } else if (has_role(node, HKI_FUSE_CONVOLUTION_DATA) ||
               has_role(node, HKI_FUSE_CONVOLUTION_WEIGHT)) {
        step->block.geometry = geometry_of(node);
        *(has_role(node, HKI_FUSE_CONVOLUTION_DATA) ? &one.data : &one.weight) = call;
    } else {
        return false;
    }
    if (!hki_conv2d_block_supports(&step->block, self->chain->f64))
        return false;
    int dy = has_role(node, HKI_FUSE_CONVOLUTION_WEIGHT) ? 1 : 0;
    if (hki_chain_is_spread(&in(node, dy)->tensor) ||
        (one.weight >= 0 && hki_chain_is_spread(&in(node, 0)->tensor)))
        return false;
    step->dy = hki_chain_input(call, dy);
    set_backward(self, step, &one, done);
    return true;
}

/* ---- forward --------------------------------------------------------------------------------------------------------- */

/* The pooling among the readers of y; the others must be gradients, which *relu_grad (y > 0) and *pool_grad tell. */
static bool find_pool(const fuser *self, int y, int *pool, int *relu_grad, int *pool_grad)
{
    *pool = *relu_grad = *pool_grad = -1;
    bool all = !self->outside[y];
    for (int i = 0; i < self->chain->call_count && all; i++) {
        const hki_node *node = &self->chain->calls[i];
        int *place = NULL;
        if (!reads(node, y))
            continue;
        if (has_role(node, HKI_FUSE_POOL_AVERAGE) || has_role(node, HKI_FUSE_POOL_MAX))
            place = pool;
        else if (has_role(node, HKI_FUSE_RELU_GRAD) && in(node, 1)->slot == y &&
                 in(node, 0)->slot != y)
            place = relu_grad;
        else if (has_role(node, HKI_FUSE_POOL_MAX_GRAD) && in(node, 0)->slot == y &&
                 in(node, 1)->slot != y)
            place = pool_grad;
        all = place && *place < 0 && !self->done[i];
        if (all)
            *place = i;
    }
    return all && *pool >= 0;
}

/* The gradient of relu and pooling, from the call of relu_grad back: what the pooling's gradient reads. */
static bool match_pool_grad(const fuser *self, int pool, int relu_grad, int *pool_grad, int *dy)
{
    const hki_node *forward = &self->chain->calls[pool];
    const hki_node *grad = &self->chain->calls[relu_grad];
    int from = maker(self, in(grad, 0)->slot);
    bool average = has_role(forward, HKI_FUSE_POOL_AVERAGE);
    if (!is_left(self, from, average ? HKI_FUSE_POOL_AVERAGE_GRAD : HKI_FUSE_POOL_MAX_GRAD) ||
        only_reader(self, in(grad, 0)->slot) != relu_grad || (!average && from != *pool_grad))
        return false;
    const hki_node *back = &self->chain->calls[from];
    int64_t window[2], its[2];
    hki_pool2d_tiles(forward->options, window);
    *pool_grad = from;
    *dy = hki_chain_input(from, average ? 0 : 1);
    return hki_pool2d_tiles(back->options, its) && its[0] == window[0] && its[1] == window[1] &&
           same_shape(in(back, average ? 0 : 1), out(forward, 0)) &&
           same_shape(out(back, 0), in(forward, 0)) &&
           !hki_chain_is_spread(&in(back, average ? 0 : 1)->tensor);
}

/* Takes in relu's call and, where it goes, the pooling and the gradients of all three. */
static void take_in(const fuser *self, int call, int relu, hki_chain_step *forward,
                    hki_chain_step *backward, bool *done)
{
    const hki_node *node = &self->chain->calls[call];
    int y = out_slot(&self->chain->calls[relu], 0), pool, relu_grad, pool_grad, dy = -1;
    readers found = {-1, -1};
    forward->block.relu = true;
    forward->y = y;
    done[relu] = true;
    if (!has_role(node, HKI_FUSE_CONVOLUTION))
        return;
    bool pools = find_pool(self, y, &pool, &relu_grad, &pool_grad);
    int64_t window[2];
    if (pools && same_shape(in(&self->chain->calls[pool], 0), out(node, 0)) &&
        hki_pool2d_tiles(self->chain->calls[pool].options, window)) {
        hki_conv2d_block block = forward->block;
        block.pool = has_role(&self->chain->calls[pool], HKI_FUSE_POOL_AVERAGE)
                         ? HKI_BLOCK_POOL_AVERAGE
                         : HKI_BLOCK_POOL_MAX;
        block.pool_height = window[0];
        block.pool_width = window[1];
        bool differentiated = relu_grad >= 0 || pool_grad >= 0;
        bool fits = hki_conv2d_block_supports(&block, self->chain->f64);
        if (fits && differentiated)
            fits = relu_grad >= 0 && match_pool_grad(self, pool, relu_grad, &pool_grad, &dy) &&
                   find_readers(self, out_slot(&self->chain->calls[relu_grad], 0), node, &found);
        if (fits) {
            forward->block = block;
            forward->y = out_slot(&self->chain->calls[pool], 0);
            done[pool] = true;
        }
        if (fits && differentiated) {
            done[relu_grad] = done[pool_grad] = true;
            backward->call = relu_grad;
            backward->block = block;
            backward->dy = dy;
            set_backward(self, backward, &found, done);
        }
    }
}

static bool fuse_forward(const fuser *self, int call, hki_chain_step *step,
                         hki_chain_step *backward, bool *done)
{
    const hki_node *node = &self->chain->calls[call];
    const hki_tensor *weight = &in(node, 1)->tensor;
    if (has_role(node, HKI_FUSE_CONVOLUTION))
        step->block.geometry = geometry_of(node);
    else if (has_role(node, HKI_FUSE_LAYER) && in(node, 0)->tensor.ndim == 2)
        step->block.geometry = layer_geometry(weight->dims[1], weight->dims[0]);
    else
        return false;
    if (!hki_conv2d_block_supports(&step->block, self->chain->f64) ||
        hki_chain_is_spread(&in(node, 0)->tensor))
        return false;
    step->kind = HKI_STEP_FORWARD;
    step->x = hki_chain_input(call, 0);
    step->weight = hki_chain_input(call, 1);
    step->bias = node->input_count > 2 && in(node, 2)->slot >= 0 ? hki_chain_input(call, 2) : -1;
    step->y = out_slot(node, 0);
    int relu = only_reader(self, step->y);
    if (is_left(self, relu, HKI_FUSE_RELU))
        take_in(self, call, relu, step, backward, done);
    return true;
}

bool hki_chain_fuse(const hki_chain *chain, const bool *outside, int call, hki_chain_step *step,
                    hki_chain_step *backward, bool *done)
{
    const fuser self = {chain, outside, done};
    const hki_node *node = &chain->calls[call];
    *step = *backward = hki_chain_no_step;
    step->call = call;
    if (node->operands[0].slot < 0 ||
        node->operands[0].tensor.dtype != (chain->f64 ? HK_F64 : HK_F32))
        return false;
    return fuse_forward(&self, call, step, backward, done) ||
           fuse_backward(&self, call, step, done);
}
