/* The entry: a file becomes a source of models. */
#include "onnx.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what goes in and out -----------------------------------------------------------------------
 */

static bool describe(const Onnx__ValueInfoProto *info, const char *what, hk_model_value *value,
                     onnx_problem *problem)
{
    const Onnx__TypeProto__Tensor *tensor =
        info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
            ? info->type->tensor_type
            : NULL;
    value->name = info->name ? info->name : "";
    if (!tensor)
        return onnx_wrong(problem, HK_UNSUPPORTED, "%s %.100s is no tensor", what, value->name);
    if (!onnx_dtype_of(tensor->elem_type, &value->dtype))
        return onnx_wrong(problem, HK_UNSUPPORTED,
                          "%s %.100s is of ONNX's type %d, which Hocket does not have", what,
                          value->name, (int)tensor->elem_type);
    value->ndim = tensor->shape ? (int)tensor->shape->n_dim : -1;
    if (tensor->shape && tensor->shape->n_dim > HK_MAX_NDIM)
        return onnx_wrong(problem, HK_UNSUPPORTED, "%s %.100s has %zu axes; at most %d are known",
                          what, value->name, tensor->shape->n_dim, HK_MAX_NDIM);
    for (int i = 0; i < value->ndim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
        value->dims[i] = -1;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            dim->dim_value >= 0)
            value->dims[i] = dim->dim_value;
        else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                 dim->dim_param && *dim->dim_param)
            value->axes[i] = dim->dim_param;
    }
    return true;
}

static bool list_values(onnx_model *self, onnx_problem *problem)
{
    const Onnx__GraphProto *proto = self->proto->graph;
    hk_model_value *inputs = calloc(proto->n_input + 1, sizeof *inputs);
    hk_model_value *outputs = calloc(proto->n_output + 1, sizeof *outputs);
    self->source.inputs = inputs;
    self->source.outputs = outputs;
    if (!inputs || !outputs)
        return onnx_wrong(problem, HK_OUT_OF_MEMORY, "out of host memory");
    for (size_t i = 0; i < proto->n_input; i++)
        if (self->main->inputs[i] >= 0 && !self->constants[self->main->inputs[i]] &&
            !describe(proto->input[i], "input", &inputs[self->source.input_count++], problem))
            return false;
    for (size_t i = 0; i < proto->n_output; i++)
        if (!describe(proto->output[i], "output", &outputs[self->source.output_count++], problem))
            return false;
    return true;
}

/* ---- parameters ---------------------------------------------------------------------------------
 */

static bool is_weight_of(const char *op)
{
    static const char *const names[] = {"Conv",
                                        "ConvTranspose",
                                        "Gemm",
                                        "MatMul",
                                        "BatchNormalization",
                                        "InstanceNormalization",
                                        "LayerNormalization",
                                        "GroupNormalization",
                                        "RMSNormalization",
                                        "LSTM",
                                        "GRU",
                                        "RNN",
                                        "PRelu"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; i++)
        found = !strcmp(op, names[i]);
    return found;
}

static void find_weights(const onnx_graph *graph, bool *is_weight)
{
    for (int i = 0; i < graph->node_count; i++) {
        const onnx_node *node = &graph->nodes[i];
        for (int j = 1; j < node->input_count && is_weight_of(node->proto->op_type); j++)
            if (node->inputs[j] >= 0)
                is_weight[node->inputs[j]] = true;
        for (size_t j = 0; j < node->proto->n_attribute; j++)
            if (node->graphs[j])
                find_weights(node->graphs[j], is_weight);
    }
}

/* Scales of numbers of few bits stay as they are, so that what they are weights of is computed
 * once. */
static void find_scales(const onnx_graph *graph, bool *is_scale)
{
    for (int i = 0; i < graph->node_count; i++) {
        const onnx_node *node = &graph->nodes[i];
        const char *op = node->proto->op_type;
        if ((!strcmp(op, "DequantizeLinear") || !strcmp(op, "QuantizeLinear")) &&
            node->input_count > 1 && node->inputs[1] >= 0)
            is_scale[node->inputs[1]] = true;
        for (size_t j = 0; j < node->proto->n_attribute; j++)
            if (node->graphs[j])
                find_scales(node->graphs[j], is_scale);
    }
}

static bool is_floating(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_F64 || dtype == HK_F16 || dtype == HK_BF16;
}

/* What is floating, and large or a weight, may change; all else is constant: numbers that say what
 * is to be done. */
static bool find_parameters(onnx_model *self, onnx_problem *problem)
{
    enum { FEW = 8 };
    bool *is_weight = calloc((size_t)self->slot_count + 1, sizeof *is_weight);
    bool *is_scale = calloc((size_t)self->slot_count + 1, sizeof *is_scale);
    hk_array **parameters = calloc((size_t)self->slot_count + 1, sizeof(hk_array *));
    const char **names = calloc((size_t)self->slot_count + 1, sizeof(char *));
    self->source.parameters = parameters;
    self->source.parameter_names = names;
    bool is_good = is_weight && is_scale && parameters && names;
    if (is_good) {
        find_weights(self->main, is_weight);
        find_scales(self->main, is_scale);
    }
    for (int i = 0; i < self->slot_count && is_good; i++) {
        onnx_value *value = self->constants[i];
        if (!value || !is_floating(hk_array_dtype(value->x)) ||
            !(is_weight[i] || (hk_size(value->x) > FEW && !is_scale[i])))
            continue;
        hk_array *x = value->x;
        if (hk_array_device(x).handle != self->device.handle) {
            value->x = hk_take(hk_to_device(x, self->device));
            hk_array_release(x);
        }
        value->is_constant = false;
        value->is_parameter = true;
        parameters[self->source.parameter_count] = value->x;
        names[self->source.parameter_count++] = self->names[i];
    }
    free(is_weight);
    free(is_scale);
    return is_good || onnx_wrong(problem, HK_OUT_OF_MEMORY, "out of host memory");
}

/* ---- the source ---------------------------------------------------------------------------------
 */

static void release(hk_model_source *source)
{
    onnx_model *self = (onnx_model *)source;
    for (int i = 0; i < self->slot_count; i++)
        onnx_value_release(self->constants[i]);
    onnx_graph_free(self->main);
    if (self->proto)
        onnx__model_proto__free_unpacked(self->proto, NULL);
    free((void *)self->source.inputs);
    free((void *)self->source.outputs);
    free((void *)self->source.parameters);
    free((void *)self->source.parameter_names);
    free(self->names);
    free(self->constants);
    onnx_owned_free(self);
    free(self->folder);
    free(self);
}

HK_API hk_model_open_fn hocket_model_open;
hk_model_source *hocket_model_open(const char *path, const hk_model_options *options, hk_source at,
                                   hk_code *code, char *problem, size_t problem_bytes)
{
    onnx_source = at;
    HK_SCOPE;
    HK_PAUSE;
    onnx_problem wrong = {.text = problem, .bytes = problem_bytes};
    onnx_model *self = calloc(1, sizeof *self);
    if (!self) {
        onnx_wrong(&wrong, HK_OUT_OF_MEMORY, "out of host memory");
        *code = wrong.code;
        return NULL;
    }
    self->source = (hk_model_source){.abi = HK_MODEL_ABI,
                                     .run = onnx_model_run,
                                     .memo_release = onnx_memo_release,
                                     .to_string = onnx_to_string,
                                     .release = release};
    self->device = options->device;
    self->is_trainable = options->trainable;
    self->host = hk_device_named("cpu:0");
    if (onnx_read(self, path, &wrong) && list_values(self, &wrong) &&
        (self->is_trainable ? find_parameters(self, &wrong) : onnx_fold(self, &wrong)) &&
        onnx_find_lifetimes(self, &wrong))
        return &self->source;
    release(&self->source);
    *code = wrong.code == HK_OK ? HK_BAD_DATA : wrong.code;
    return NULL;
}
