/* What rows of the way out are made with: nodes, attributes, constants. */
#include "export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

static void *keep(onnx_export *file, void *block)
{
    if (file->block_count == file->block_capacity) {
        const size_t more = file->block_capacity ? 2 * file->block_capacity : 256;
        void **blocks = realloc(file->blocks, more * sizeof *blocks);
        if (!blocks) {
            free(block);
            block = NULL;
        } else {
            file->blocks = blocks;
            file->block_capacity = more;
        }
    }
    if (!block) {
        onnx_wrong(file->problem, HK_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    return file->blocks[file->block_count++] = block;
}

void *onnx_export_allocate(onnx_export *file, size_t bytes)
{
    return keep(file, calloc(1, bytes ? bytes : 1));
}

char *onnx_export_text(onnx_export *file, const char *text)
{
    return keep(file, strdup(text));
}

bool onnx_export_append(onnx_export *file, void *list, size_t *count, void *item)
{
    void **items, **longer;
    memcpy(&items, list, sizeof items);
    if (!item)
        return false;
    if (!*count || !(*count & (*count - 1))) { /* lists grow at powers of two */
        longer = onnx_export_allocate(file, (*count ? 2 * *count : 1) * sizeof *longer);
        if (!longer)
            return false;
        if (*count)
            memcpy(longer, items, *count * sizeof *longer);
        items = longer;
        memcpy(list, &items, sizeof items);
    }
    items[(*count)++] = item;
    return true;
}

bool onnx_out_refuse(onnx_writing *out, const char *format, ...)
{
    char text[384];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    out->is_refused = true;
    const hk_source at = out->node->source;
    return onnx_wrong(out->file->problem, HK_UNSUPPORTED, "the call of %s at %s:%d %s",
                      out->node->called, at.file ? at.file : "(no file)", at.line, text);
}

/* ---- what a node is made of ------------------------------------------------------------------ */

const hk_export_value *onnx_out_in(const onnx_writing *out, int index)
{
    const hk_export_node *node = out->node;
    return index < node->input_count && node->inputs[index] >= 0
               ? &out->file->graph->values[node->inputs[index]]
               : NULL;
}

const hk_export_value *onnx_out_of(const onnx_writing *out, int index)
{
    const hk_export_node *node = out->node;
    return index < node->output_count && node->outputs[index] >= 0
               ? &out->file->graph->values[node->outputs[index]]
               : NULL;
}

const char *onnx_out_in_name(const onnx_writing *out, int index)
{
    return onnx_out_in(out, index) ? out->file->names[out->node->inputs[index]] : NULL;
}

const char *onnx_out_of_name(const onnx_writing *out, int index)
{
    return onnx_out_of(out, index) ? out->file->names[out->node->outputs[index]] : NULL;
}

const hk_export_option *onnx_out_option(const onnx_writing *out, const char *name)
{
    static const hk_export_option none = {.is_default = true};
    for (int i = 0; i < out->node->option_count; i++)
        if (!strcmp(out->node->options[i].name, name))
            return &out->node->options[i];
    return &none;
}

int64_t onnx_out_int(const onnx_writing *out, const char *name)
{
    return onnx_out_option(out, name)->ints[0];
}

double onnx_out_number(const onnx_writing *out, const char *name)
{
    return onnx_out_option(out, name)->number;
}

int64_t onnx_out_axis(const onnx_writing *out, int ndim)
{
    const int64_t axis = onnx_out_int(out, "axis");
    return axis < 0 ? axis + ndim : axis;
}

bool onnx_out_is_float(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_F64 || dtype == HK_F16 || dtype == HK_BF16;
}

int32_t onnx_out_dtype(hk_dtype dtype)
{
    hk_dtype found;
    for (int32_t i = 1; i <= 16; i++)
        if (onnx_dtype_of(i, &found) && found == dtype)
            return i;
    return 0;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A name that no value has. */
static const char *fresh_name(onnx_export *file)
{
    char text[32];
    bool is_taken = true;
    while (is_taken) {
        snprintf(text, sizeof text, "t%d", file->next_name++);
        is_taken = false;
        for (int i = 0; i < file->graph->value_count && !is_taken; i++)
            is_taken = file->graph->values[i].name && !strcmp(file->graph->values[i].name, text);
    }
    return onnx_export_text(file, text);
}

const char *onnx_out_add(onnx_writing *out, const char *op, const char *to, int count,
                         const char *const *inputs)
{
    onnx_export *file = out->file;
    if (file->problem->code == HK_OUT_OF_MEMORY)
        return NULL;
    Onnx__NodeProto *node = onnx_export_allocate(file, sizeof *node);
    if (!node)
        return NULL;
    onnx__node_proto__init(node);
    node->op_type = (char *)op;
    for (int i = 0; i < count; i++) {
        bool is_last = true; /* of those that are there */
        for (int j = i; j < count; j++)
            is_last = is_last && !inputs[j];
        if (!is_last && !onnx_export_append(file, &node->input, &node->n_input,
                                            (void *)(inputs[i] ? inputs[i] : "")))
            return NULL;
    }
    if (!to)
        to = fresh_name(file);
    return to && onnx_export_append(file, &node->output, &node->n_output, (void *)to) &&
                   onnx_export_append(file, &file->proto->node, &file->proto->n_node, node)
               ? to
               : NULL;
}

bool onnx_out_second(onnx_writing *out, const char *to)
{
    onnx_export *file = out->file;
    if (!to)
        to = fresh_name(file);
    if (!to || !file->proto->n_node)
        return false;
    Onnx__NodeProto *node = file->proto->node[file->proto->n_node - 1];
    return onnx_export_append(file, &node->output, &node->n_output, (void *)to);
}

static Onnx__AttributeProto *attribute(onnx_writing *out, const char *name,
                                       Onnx__AttributeProto__AttributeType type)
{
    onnx_export *file = out->file;
    if (file->problem->code == HK_OUT_OF_MEMORY || !file->proto->n_node)
        return NULL;
    Onnx__NodeProto *node = file->proto->node[file->proto->n_node - 1];
    Onnx__AttributeProto *its = onnx_export_allocate(file, sizeof *its);
    if (!its)
        return NULL;
    onnx__attribute_proto__init(its);
    its->name = (char *)name;
    its->has_type = true;
    its->type = type;
    return onnx_export_append(file, &node->attribute, &node->n_attribute, its) ? its : NULL;
}

bool onnx_out_set_int(onnx_writing *out, const char *name, int64_t value)
{
    Onnx__AttributeProto *its = attribute(out, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    if (its) {
        its->has_i = true;
        its->i = value;
    }
    return its != NULL;
}

bool onnx_out_set_float(onnx_writing *out, const char *name, double value)
{
    Onnx__AttributeProto *its = attribute(out, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    if (its) {
        its->has_f = true;
        its->f = (float)value;
    }
    return its != NULL;
}

bool onnx_out_set_ints(onnx_writing *out, const char *name, const int64_t *values, int count)
{
    Onnx__AttributeProto *its = attribute(out, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    int64_t *own = onnx_export_allocate(out->file, (size_t)count * sizeof *own);
    if (!its || !own)
        return false;
    memcpy(own, values, (size_t)count * sizeof *own);
    its->ints = own;
    its->n_ints = (size_t)count;
    return true;
}

bool onnx_out_set_text(onnx_writing *out, const char *name, const char *text)
{
    Onnx__AttributeProto *its = attribute(out, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    if (its) {
        its->has_s = true;
        its->s.data = (uint8_t *)text;
        its->s.len = strlen(text);
    }
    return its != NULL;
}

/* ---- constants ------------------------------------------------------------------------------- */

const char *onnx_out_tensor(onnx_writing *out, const void *data, hk_dims shape, hk_dtype dtype)
{
    onnx_export *file = out->file;
    Onnx__TensorProto *tensor = onnx_export_allocate(file, sizeof *tensor);
    int64_t *dims = onnx_export_allocate(file, sizeof shape.dims);
    const char *name = fresh_name(file);
    size_t bytes = hk_dtype_bytes(dtype);
    if (!tensor || !dims || !data || !name)
        return NULL;
    onnx__tensor_proto__init(tensor);
    memcpy(dims, shape.dims, sizeof shape.dims);
    for (int i = 0; i < shape.ndim; i++)
        bytes *= (size_t)shape.dims[i];
    tensor->name = (char *)name;
    tensor->n_dims = (size_t)shape.ndim;
    tensor->dims = dims;
    tensor->has_data_type = true;
    tensor->data_type = onnx_out_dtype(dtype);
    tensor->has_raw_data = true;
    tensor->raw_data.data = (uint8_t *)data;
    tensor->raw_data.len = bytes;
    return onnx_export_append(file, &file->proto->initializer, &file->proto->n_initializer, tensor)
               ? name
               : NULL;
}

const char *onnx_out_ints(onnx_writing *out, const int64_t *values, int count)
{
    int64_t *own = onnx_export_allocate(out->file, (size_t)count * sizeof *own);
    if (own && count)
        memcpy(own, values, (size_t)count * sizeof *own);
    return onnx_out_tensor(out, own, hk_shape(count), HK_I64);
}

/* A number as an element of that dtype, by the library's own conversion. */
const char *onnx_out_scalar(onnx_writing *out, double value, hk_dtype dtype)
{
    HK_SCOPE;
    char *own = onnx_export_allocate(out->file, 16);
    hk_array *x = (hk_full)(hk_shape(), value, dtype, hk_device_named("cpu:0"));
    const hk_status *status = own ? hk_to_host(x, own, hk_dtype_bytes(dtype)) : NULL;
    if (status && !hk_ok(status)) {
        onnx_out_refuse(out, "has the number %g, which %s does not have", value,
                        hk_dtype_name(dtype));
        return NULL;
    }
    return onnx_out_tensor(out, own, hk_shape(), dtype);
}

/* The size of axis 0 of the first input, in an array of one element. */
static const char *batch_of(onnx_writing *out)
{
    const onnx_export *file = out->file;
    const char *shape = ONNX_OUT(out, "Shape", NULL, file->names[file->graph->inputs[0]]);
    onnx_out_set_int(out, "start", 0);
    onnx_out_set_int(out, "end", 1);
    return shape;
}

const char *onnx_out_shape(onnx_writing *out, hk_dims shape)
{
    const char *parts[2 * HK_MAX_NDIM];
    int count = 0;
    bool is_known = true;
    for (int i = 0; i < shape.ndim; i++)
        is_known = is_known && shape.dims[i] >= 0;
    if (is_known)
        return onnx_out_ints(out, shape.dims, shape.ndim);
    const char *batch = batch_of(out);
    for (int i = 0; i < shape.ndim; i++) {
        const int64_t times = -shape.dims[i];
        parts[count++] = times <= 0 ? onnx_out_ints(out, &shape.dims[i], 1)
                         : times == 1
                             ? batch
                             : ONNX_OUT(out, "Mul", NULL, batch, onnx_out_ints(out, &times, 1));
    }
    const char *whole = onnx_out_add(out, "Concat", NULL, count, parts);
    onnx_out_set_int(out, "axis", 0);
    return whole;
}

const char *onnx_out_reshape(onnx_writing *out, const char *x, hk_dims shape, const char *to)
{
    int free_count = 0;
    bool has_zero = false;
    hk_dims plain = shape;
    for (int i = 0; i < shape.ndim; i++) {
        free_count += shape.dims[i] < 0;
        has_zero = has_zero || !shape.dims[i];
        plain.dims[i] = shape.dims[i] < 0 ? -1 : shape.dims[i];
    }
    const char *sizes =
        free_count < 2 ? onnx_out_ints(out, plain.dims, plain.ndim) : onnx_out_shape(out, shape);
    const char *made = ONNX_OUT(out, "Reshape", to, x, sizes);
    if (has_zero)
        onnx_out_set_int(out, "allowzero", 1);
    return made;
}

const char *onnx_out_transpose(onnx_writing *out, const char *x, const int64_t *order, int count,
                               const char *to)
{
    const char *made = ONNX_OUT(out, "Transpose", to, x);
    return onnx_out_set_ints(out, "perm", order, count) ? made : NULL;
}

const char *onnx_out_cast(onnx_writing *out, const char *x, hk_dtype from, hk_dtype dtype)
{
    if (from == dtype || !x)
        return x;
    const char *made = ONNX_OUT(out, "Cast", NULL, x);
    return onnx_out_set_int(out, "to", onnx_out_dtype(dtype)) ? made : NULL;
}

const char *onnx_out_in_as(onnx_writing *out, int index, hk_dtype dtype)
{
    const hk_export_value *value = onnx_out_in(out, index);
    return value ? onnx_out_cast(out, onnx_out_in_name(out, index), value->dtype, dtype) : NULL;
}

bool onnx_out_finish(onnx_writing *out, const char *x, hk_dtype from)
{
    const hk_export_value *value = onnx_out_of(out, 0);
    for (int i = 1; i < out->node->output_count; i++)
        if (onnx_out_of(out, i))
            return onnx_out_refuse(out, "has a result %d, which ONNX does not give", i);
    if (!value || !x)
        return out->file->problem->code == HK_OK && !out->is_refused;
    const char *name = onnx_out_of_name(out, 0);
    Onnx__GraphProto *proto = out->file->proto;
    char **last = proto->n_node ? &proto->node[proto->n_node - 1]->output[0] : NULL;
    if (from == value->dtype && (x == name || (last && *last == x))) {
        *last = (char *)name;
        return true;
    }
    if (from == value->dtype)
        return ONNX_OUT(out, "Identity", name, x) != NULL;
    return ONNX_OUT(out, "Cast", onnx_out_of_name(out, 0), x) &&
           onnx_out_set_int(out, "to", onnx_out_dtype(value->dtype));
}
