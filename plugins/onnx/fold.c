/* Of models that are not to be trained: what follows a convolution for each channel, a batch norm,
 * a factor, a summand, becomes part of its weights. The result differs by rounding. */
#include "onnx.h"

#include <stdlib.h>
#include <string.h>

typedef struct folder {
    onnx_model *model;
    int *uses;      /* by slot */
    onnx_node **by; /* the node of the main graph that reads it; of several, any */
} folder;

/* ---- who uses what ------------------------------------------------------------------------------
 */

static void count_uses(folder *self, const onnx_graph *graph, bool is_main)
{
    for (int i = 0; i < graph->node_count; i++) {
        onnx_node *node = &graph->nodes[i];
        for (int j = 0; j < node->input_count; j++)
            if (node->inputs[j] >= 0) {
                self->uses[node->inputs[j]]++;
                self->by[node->inputs[j]] = is_main ? node : NULL;
            }
        for (size_t j = 0; j < node->proto->n_attribute; j++)
            if (node->graphs[j])
                count_uses(self, node->graphs[j], false);
    }
    for (int i = 0; i < graph->output_count; i++) {
        self->uses[graph->outputs[i]]++;
        self->by[graph->outputs[i]] = NULL;
    }
}

static hk_array *constant_of(const folder *self, const onnx_node *node, int index)
{
    const int slot = index < node->input_count ? node->inputs[index] : -1;
    const onnx_value *value = slot >= 0 ? self->model->constants[slot] : NULL;
    return value ? value->x : NULL;
}

static bool is(const onnx_node *node, const char *op)
{
    return node->row && !strcmp(node->row->name, op);
}

static double number(const onnx_node *node, const char *name, double otherwise)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->proto->attribute[i];
        if (attribute->name && !strcmp(attribute->name, name))
            return attribute->has_i ? (double)attribute->i : (double)attribute->f;
    }
    return otherwise;
}

/* ---- what follows -------------------------------------------------------------------------------
 */

/* One number for each channel, (channels), of the weights' dtype; NULL: it is none. */
static hk_array *by_channel(hk_array *x, const hk_array *weight)
{
    const int64_t channels = hk_dim(weight, 0);
    const int ndim = x ? hk_ndim(x) : 0;
    if (!x || hk_array_dtype(x) != hk_array_dtype(weight))
        return NULL;
    if (hk_size(x) == 1 && ndim <= hk_ndim(weight))
        return hk_broadcast_to(hk_reshape(x, hk_shape(1)), hk_shape(channels));
    /* (1, channels, 1, …) or without the first axis: as many axes behind it as the result has */
    const int behind = hk_ndim(weight) - 2;
    if (hk_size(x) != channels || ndim < behind + 1 || ndim > behind + 2 ||
        hk_dim(x, ndim - behind - 1) != channels)
        return NULL;
    return hk_reshape(x, hk_shape(channels));
}

typedef struct step {
    hk_array *factor, *summand; /* NULL: 1, 0 */
} step;

static hk_array *statistic(const folder *self, const onnx_node *node, int index,
                           const hk_array *weight)
{
    hk_array *x = constant_of(self, node, index);
    return x && hk_ndim(x) == 1 && hk_dim(x, 0) == hk_dim(weight, 0) &&
                   hk_array_dtype(x) == hk_array_dtype(weight)
               ? x
               : NULL;
}

/* What the node does to each channel of slot; false: something else. */
static bool read_step(const folder *self, const onnx_node *node, int slot, const hk_array *weight,
                      step *found)
{
    *found = (step){NULL, NULL};
    if (is(node, "BatchNormalization")) {
        hk_array *scale = statistic(self, node, 1, weight),
                 *shift = statistic(self, node, 2, weight);
        hk_array *mean = statistic(self, node, 3, weight),
                 *variance = statistic(self, node, 4, weight);
        for (int i = 1; i < node->output_count; i++)
            if (node->outputs[i] >= 0)
                return false;
        if (!scale || !shift || !mean || !variance || node->inputs[0] != slot || node->opset < 7 ||
            number(node, "training_mode", 0) != 0)
            return false;
        found->factor =
            hk_multiply(scale, hk_rsqrt(hk_add(variance, number(node, "epsilon", 1e-5))));
        found->summand = hk_subtract(shift, hk_multiply(mean, found->factor));
        return true;
    }
    if ((!is(node, "Mul") && !is(node, "Add")) || node->input_count != 2 || node->opset < 7)
        return false;
    hk_array *other = by_channel(constant_of(self, node, node->inputs[0] == slot), weight);
    *(is(node, "Mul") ? &found->factor : &found->summand) = other;
    return other;
}

/* ---- folding ------------------------------------------------------------------------------------
 */

static bool keep(onnx_model *model, int *slot, hk_array *x)
{
    onnx_value *value = onnx_value_of(hk_take(hk_contiguous(x)), true);
    if (!value)
        return false;
    *slot = model->slot_count++;
    model->names[*slot] = "";
    model->constants[*slot] = value;
    return true;
}

static bool fold_into(folder *self, onnx_node *node)
{
    hk_array *weight = constant_of(self, node, 1), *bias = constant_of(self, node, 2);
    if (!is(node, "Conv") || !weight || hk_ndim(weight) < 3 || node->outputs[0] < 0 ||
        (node->input_count > 2 && node->inputs[2] >= 0 && !bias))
        return true;
    HK_SCOPE;
    bool is_folded = false;
    for (;;) {
        const int slot = node->outputs[0];
        onnx_node *next = self->uses[slot] == 1 ? self->by[slot] : NULL;
        step its;
        if (!next || !read_step(self, next, slot, weight, &its))
            break;
        if (its.factor) {
            hk_dims shape = hk_dims_get(weight);
            for (int i = 1; i < shape.ndim; i++)
                shape.dims[i] = 1;
            weight = hk_multiply(weight, hk_reshape(its.factor, shape));
            bias = bias ? hk_multiply(bias, its.factor) : NULL;
        }
        if (its.summand)
            bias = bias ? hk_add(bias, its.summand) : its.summand;
        node->outputs[0] = next->outputs[0];
        next->is_folded = is_folded = true;
    }
    int *inputs = is_folded ? realloc(node->inputs, 3 * sizeof *inputs) : NULL;
    if (!is_folded || !inputs)
        return !is_folded;
    node->inputs = inputs;
    node->input_count = 3;
    inputs[2] = -1;
    return keep(self->model, &inputs[1], weight) && (!bias || keep(self->model, &inputs[2], bias));
}

bool onnx_fold(onnx_model *model, onnx_problem *problem)
{
    onnx_graph *graph = model->main;
    const size_t most = (size_t)model->slot_count + 2 * (size_t)graph->node_count + 1;
    const char **names = realloc(model->names, most * sizeof *names);
    model->names = names ? names : model->names;
    onnx_value **constants = realloc(model->constants, most * sizeof(onnx_value *));
    model->constants = constants ? constants : model->constants;
    folder self = {
        .model = model, .uses = calloc(most, sizeof(int)), .by = calloc(most, sizeof(onnx_node *))};
    bool is_good = names && constants && self.uses && self.by;
    if (is_good)
        count_uses(&self, graph, true);
    for (int i = 0; i < graph->node_count && is_good; i++)
        is_good = fold_into(&self, &graph->nodes[i]);
    free(self.uses);
    free(self.by);
    return is_good || onnx_wrong(problem, HK_OUT_OF_MEMORY, "out of host memory");
}
