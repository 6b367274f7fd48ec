/* The way out: calls become a file. All of it is made in memory; a file that was there is replaced
 * once the new one is complete. */
#include "export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- values ---------------------------------------------------------------------------------- */

static bool name_values(onnx_export *file)
{
    const hk_export_graph *graph = file->graph;
    char text[32];
    int next = 0;
    file->names =
        onnx_export_allocate(file, ((size_t)graph->value_count + 1) * sizeof *file->names);
    for (int i = 0; file->names && i < graph->value_count; i++) {
        bool is_taken = !graph->values[i].name;
        while (is_taken) {
            snprintf(text, sizeof text, "v%d", next++);
            is_taken = false;
            for (int j = 0; j < graph->value_count && !is_taken; j++)
                is_taken = graph->values[j].name && !strcmp(graph->values[j].name, text);
        }
        file->names[i] =
            graph->values[i].name ? (char *)graph->values[i].name : onnx_export_text(file, text);
        if (!file->names[i])
            return false;
    }
    return file->names != NULL;
}

static Onnx__TensorShapeProto__Dimension *dimension(onnx_export *file, int64_t size)
{
    char text[160];
    Onnx__TensorShapeProto__Dimension *its = onnx_export_allocate(file, sizeof *its);
    if (!its)
        return NULL;
    onnx__tensor_shape_proto__dimension__init(its);
    if (size >= 0) {
        its->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        its->dim_value = size;
        return its;
    }
    if (size == -1)
        snprintf(text, sizeof text, "%.100s", file->graph->batch);
    else
        snprintf(text, sizeof text, "%" PRId64 "*%.100s", -size, file->graph->batch);
    its->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    its->dim_param = onnx_export_text(file, text);
    return its->dim_param ? its : NULL;
}

static Onnx__ValueInfoProto *describe(onnx_export *file, int index)
{
    const hk_export_value *value = &file->graph->values[index];
    Onnx__ValueInfoProto *info = onnx_export_allocate(file, sizeof *info);
    Onnx__TypeProto *type = onnx_export_allocate(file, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = onnx_export_allocate(file, sizeof *tensor);
    Onnx__TensorShapeProto *shape = onnx_export_allocate(file, sizeof *shape);
    if (!info || !type || !tensor || !shape)
        return NULL;
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    info->name = file->names[index];
    info->type = type;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    tensor->has_elem_type = true;
    tensor->elem_type = onnx_out_dtype(value->dtype);
    tensor->shape = shape;
    for (int i = 0; i < value->shape.ndim; i++)
        if (!onnx_export_append(file, &shape->dim, &shape->n_dim,
                                dimension(file, value->shape.dims[i])))
            return NULL;
    return info;
}

static bool describe_all(onnx_export *file)
{
    const hk_export_graph *graph = file->graph;
    Onnx__GraphProto *proto = file->proto;
    bool is_good = true;
    for (int i = 0; i < graph->input_count && is_good; i++)
        is_good = onnx_export_append(file, &proto->input, &proto->n_input,
                                     describe(file, graph->inputs[i]));
    for (int i = 0; i < graph->output_count && is_good; i++)
        is_good = onnx_export_append(file, &proto->output, &proto->n_output,
                                     describe(file, graph->outputs[i]));
    return is_good;
}

/* The array's own memory, which the library holds while the file is written. */
static bool add_constant(onnx_export *file, int index)
{
    const hk_export_value *value = &file->graph->values[index];
    Onnx__TensorProto *tensor = onnx_export_allocate(file, sizeof *tensor);
    int64_t *dims = onnx_export_allocate(file, sizeof value->shape.dims);
    const size_t bytes = (size_t)hk_size(value->constant) * hk_dtype_bytes(value->dtype);
    void *data = onnx_export_allocate(file, bytes);
    if (!tensor || !dims || !data)
        return false;
    const hk_status *status = hk_to_host(value->constant, data, bytes);
    if (!hk_ok(status))
        return onnx_wrong(file->problem, hk_status_code(status), "%s", hk_status_message(status));
    onnx__tensor_proto__init(tensor);
    memcpy(dims, value->shape.dims, sizeof value->shape.dims);
    tensor->name = file->names[index];
    tensor->n_dims = (size_t)value->shape.ndim;
    tensor->dims = dims;
    tensor->has_data_type = true;
    tensor->data_type = onnx_out_dtype(value->dtype);
    tensor->has_raw_data = true;
    tensor->raw_data.data = data;
    tensor->raw_data.len = bytes;
    return onnx_export_append(file, &file->proto->initializer, &file->proto->n_initializer, tensor);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const onnx_export_row *find_row(const char *name)
{
    static const onnx_export_row *const lists[] = {onnx_export_elementwise, onnx_export_layers,
                                                   onnx_export_shapes, onnx_export_reductions,
                                                   onnx_export_recurrent};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const onnx_export_row *row = lists[i]; row->name; row++)
            if (!strcmp(row->name, name))
                return row;
    return NULL;
}

static bool add_node(onnx_export *file, const hk_export_node *node)
{
    onnx_writing out = {.file = file, .node = node};
    const onnx_export_row *row = find_row(node->operation);
    const size_t first = file->proto->n_node;
    if (!row)
        return onnx_out_refuse(&out, "has no row: ONNX's form of %s is not known", node->operation);
    if (!row->add(&out))
        return false;
    if (file->proto->n_node > first) {
        char text[160];
        snprintf(text, sizeof text, "%.100s_%zu", node->called, first);
        file->proto->node[first]->name = onnx_export_text(file, text);
    }
    return true;
}

/* All, so that it is told how many there are that cannot be written. */
static bool add_nodes(onnx_export *file)
{
    const hk_export_graph *graph = file->graph;
    int added = 0;
    for (int i = 0; i < graph->node_count; i++)
        added += add_node(file, &graph->nodes[i]);
    if (added == graph->node_count)
        return true;
    if (file->problem->code == HK_OK)
        onnx_wrong(file->problem, HK_OUT_OF_MEMORY, "out of host memory");
    const size_t length = strlen(file->problem->text);
    if (file->problem->code == HK_UNSUPPORTED)
        snprintf(file->problem->text + length, file->problem->bytes - length,
                 "; %d of %d calls can be written", added, graph->node_count);
    return false;
}

/* ---- data beside it -------------------------------------------------------------------------- */

static Onnx__StringStringEntryProto *entry(onnx_export *file, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *its = onnx_export_allocate(file, sizeof *its);
    if (!its)
        return NULL;
    onnx__string_string_entry_proto__init(its);
    its->key = (char *)key;
    its->value = onnx_export_text(file, value);
    return its->value ? its : NULL;
}

static bool refuse_file(onnx_export *file)
{
    return onnx_wrong(file->problem, HK_IO, "the file %.300s cannot be written: %s", file->path,
                      strerror(errno));
}

/* Of 1 KiB or more, each at a multiple of 64 bytes. */
static bool write_data(onnx_export *file, const char *path, const char *location)
{
    enum { LEAST = 1024, STEP = 64 };
    static const char zeros[STEP];
    FILE *stream = fopen(path, "wb");
    uint64_t at = 0;
    bool is_good = stream != NULL;
    for (size_t i = 0; i < file->proto->n_initializer && is_good; i++) {
        Onnx__TensorProto *tensor = file->proto->initializer[i];
        const size_t bytes = tensor->raw_data.len, gap = (STEP - bytes % STEP) % STEP;
        char offset[32], length[32];
        if (bytes < LEAST)
            continue;
        is_good = fwrite(tensor->raw_data.data, 1, bytes, stream) == bytes &&
                  fwrite(zeros, 1, gap, stream) == gap;
        snprintf(offset, sizeof offset, "%" PRIu64, at);
        snprintf(length, sizeof length, "%zu", bytes);
        at += bytes + gap;
        tensor->has_raw_data = false;
        tensor->has_data_location = true;
        tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        is_good = is_good &&
                  onnx_export_append(file, &tensor->external_data, &tensor->n_external_data,
                                     entry(file, "location", location)) &&
                  onnx_export_append(file, &tensor->external_data, &tensor->n_external_data,
                                     entry(file, "offset", offset)) &&
                  onnx_export_append(file, &tensor->external_data, &tensor->n_external_data,
                                     entry(file, "length", length));
    }
    if (stream && fclose(stream))
        is_good = false;
    return is_good || refuse_file(file);
}

/* A message of protobuf's has less than 2 GiB. */
static const double MOST_BYTES = 2.0e9;

/* ---- the file -------------------------------------------------------------------------------- */

typedef struct file_buffer {
    ProtobufCBuffer base;
    FILE *stream;
} file_buffer;

static void append(ProtobufCBuffer *buffer, size_t bytes, const uint8_t *data)
{
    fwrite(data, 1, bytes, ((file_buffer *)buffer)->stream);
}

static bool write_proto(onnx_export *file, const Onnx__ModelProto *model, const char *path)
{
    file_buffer buffer = {.base = {.append = append}, .stream = fopen(path, "wb")};
    if (!buffer.stream)
        return refuse_file(file);
    onnx__model_proto__pack_to_buffer(model, &buffer.base);
    const bool is_good = !ferror(buffer.stream);
    return (!fclose(buffer.stream) && is_good) || refuse_file(file);
}

static char *joined(onnx_export *file, const char *path, const char *end)
{
    const size_t bytes = strlen(path) + strlen(end) + 1;
    char *text = onnx_export_allocate(file, bytes);
    if (text)
        snprintf(text, bytes, "%s%s", path, end);
    return text;
}

static bool write_files(onnx_export *file, const Onnx__ModelProto *model, const char *path)
{
    char *fresh = joined(file, path, ".part"), *data = joined(file, path, ".data"),
         *fresh_data = joined(file, path, ".data.part");
    const char *slash = strrchr(path, '/');
    double bytes = 0;
    if (!fresh || !data || !fresh_data)
        return false;
    for (size_t i = 0; i < file->proto->n_initializer; i++)
        bytes += (double)file->proto->initializer[i]->raw_data.len;
    const bool is_beside = bytes > file->graph->most_bytes || bytes > MOST_BYTES;
    bool is_good =
        (!is_beside || write_data(file, fresh_data, slash ? data + (slash + 1 - path) : data)) &&
        write_proto(file, model, fresh);
    if (is_good && is_beside && rename(fresh_data, data))
        is_good = refuse_file(file);
    if (is_good && rename(fresh, path))
        is_good = refuse_file(file);
    if (!is_good) {
        unlink(fresh);
        if (is_beside)
            unlink(fresh_data);
    }
    return is_good;
}

static bool build(onnx_export *file, const char *path)
{
    static char producer[] = "hocket", domain[] = "", name[] = "hocket";
    const hk_export_graph *graph = file->graph;
    Onnx__GraphProto proto;
    Onnx__ModelProto model;
    Onnx__OperatorSetIdProto opset;
    onnx__graph_proto__init(&proto);
    onnx__model_proto__init(&model);
    onnx__operator_set_id_proto__init(&opset);
    file->proto = &proto;
    proto.name = name;
    opset.domain = domain;
    opset.has_version = true;
    opset.version = ONNX_EXPORT_OPSET;
    Onnx__OperatorSetIdProto *opsets[] = {&opset};
    model.has_ir_version = true;
    model.ir_version = ONNX_EXPORT_IR;
    model.producer_name = producer;
    model.n_opset_import = 1;
    model.opset_import = opsets;
    model.graph = &proto;
    if (!name_values(file) || !add_nodes(file) || !describe_all(file))
        return false;
    for (int i = 0; i < graph->value_count; i++)
        if (graph->values[i].constant && !add_constant(file, i))
            return false;
    return write_files(file, &model, path);
}

HK_API hk_model_write_fn hocket_model_write;
hk_code hocket_model_write(const char *path, const hk_export_graph *graph, char *problem,
                           size_t problem_bytes)
{
    onnx_problem wrong = {.text = problem, .bytes = problem_bytes};
    onnx_export file = {.graph = graph, .path = path, .problem = &wrong};
    HK_SCOPE;
    HK_PAUSE;
    if (graph->abi != HK_EXPORT_ABI)
        onnx_wrong(&wrong, HK_UNSUPPORTED, "libhocket_onnx.so is not of this version");
    else if (!build(&file, path) && wrong.code == HK_OK)
        onnx_wrong(&wrong, HK_OUT_OF_MEMORY, "out of host memory");
    for (size_t i = 0; i < file.block_count; i++)
        free(file.blocks[i]);
    free(file.blocks);
    return wrong.code;
}
