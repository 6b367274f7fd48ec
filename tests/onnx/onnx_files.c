/* ONNX files, good and bad, made here by the field's own schema: what hocket/model.h gives for
 * them. */
#include "onnx.pb-c.h"

#include <hocket/hocket.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed_checks;
#define CHECK(condition)                                                                           \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (void)(failed_checks++, printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition)))

static char path[64];

/* ---- making files -----------------------------------------------------------------------------
 */

enum { MOST = 8 };

/* A model of a few nodes; its parts point at each other. */
typedef struct made {
    Onnx__ModelProto model;
    Onnx__OperatorSetIdProto opset, *opsets[1];
    Onnx__GraphProto graph;
    Onnx__NodeProto nodes[MOST], *node_list[MOST];
    Onnx__AttributeProto attributes[MOST], *attribute_list[MOST];
    Onnx__TensorProto tensors[MOST], *tensor_list[MOST];
    Onnx__ValueInfoProto values[MOST], *input_list[MOST], *output_list[MOST];
    Onnx__TypeProto types[MOST];
    Onnx__TypeProto__Tensor typed[MOST];
    Onnx__TensorShapeProto shapes[MOST];
    Onnx__TensorShapeProto__Dimension dims[MOST][4], *dim_list[MOST][4];
    char *names[MOST][4];
    int value_count, attribute_count;
} made;

static void begin(made *self)
{
    memset(self, 0, sizeof *self);
    onnx__model_proto__init(&self->model);
    onnx__graph_proto__init(&self->graph);
    onnx__operator_set_id_proto__init(&self->opset);
    self->opset.has_version = self->model.has_ir_version = true;
    self->opset.version = 17;
    self->model.ir_version = 8;
    self->opsets[0] = &self->opset;
    self->model.opset_import = self->opsets;
    self->model.n_opset_import = 1;
    self->model.graph = &self->graph;
    self->graph.node = self->node_list;
    self->graph.initializer = self->tensor_list;
    self->graph.input = self->input_list;
    self->graph.output = self->output_list;
}

static Onnx__NodeProto *add_node(made *self, const char *op, const char *a, const char *b,
                                 const char *c, const char *to)
{
    const size_t at = self->graph.n_node++;
    Onnx__NodeProto *node = self->node_list[at] = &self->nodes[at];
    const char *inputs[3] = {a, b, c};
    onnx__node_proto__init(node);
    node->op_type = (char *)op;
    node->name = (char *)"it";
    node->input = self->names[at];
    node->output = self->names[at] + 3;
    node->n_output = 1;
    self->names[at][3] = (char *)to;
    for (int i = 0; i < 3 && inputs[i]; i++)
        self->names[at][node->n_input++] = (char *)inputs[i];
    return node;
}

/* dims: "n" is a free axis of that name, a digit a size. */
static Onnx__ValueInfoProto *add_value(made *self, const char *name, int32_t type, const char *dims)
{
    const int at = self->value_count++;
    Onnx__ValueInfoProto *value = &self->values[at];
    static char letters[26][2];
    onnx__value_info_proto__init(value);
    onnx__type_proto__init(&self->types[at]);
    onnx__type_proto__tensor__init(&self->typed[at]);
    onnx__tensor_shape_proto__init(&self->shapes[at]);
    value->name = (char *)name;
    value->type = &self->types[at];
    self->types[at].value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    self->types[at].tensor_type = &self->typed[at];
    self->typed[at].has_elem_type = true;
    self->typed[at].elem_type = type;
    self->typed[at].shape = &self->shapes[at];
    self->shapes[at].dim = self->dim_list[at];
    for (size_t i = 0; dims[i]; i++) {
        Onnx__TensorShapeProto__Dimension *dim = self->dim_list[at][i] = &self->dims[at][i];
        onnx__tensor_shape_proto__dimension__init(dim);
        self->shapes[at].n_dim++;
        if (dims[i] >= 'a') {
            letters[dims[i] - 'a'][0] = dims[i];
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dim->dim_param = letters[dims[i] - 'a'];
        } else {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dim->dim_value = dims[i] - '0';
        }
    }
    return value;
}

static void add_input(made *self, const char *name, int32_t type, const char *dims)
{
    self->input_list[self->graph.n_input++] = add_value(self, name, type, dims);
}

static void add_output(made *self, const char *name, int32_t type, const char *dims)
{
    self->output_list[self->graph.n_output++] = add_value(self, name, type, dims);
}

static Onnx__TensorProto *add_tensor(made *self, const char *name, int32_t type, int64_t *dims,
                                     size_t ndim, void *data, size_t bytes)
{
    const size_t at = self->graph.n_initializer++;
    Onnx__TensorProto *tensor = self->tensor_list[at] = &self->tensors[at];
    onnx__tensor_proto__init(tensor);
    tensor->name = (char *)name;
    tensor->has_data_type = true;
    tensor->data_type = type;
    tensor->dims = dims;
    tensor->n_dims = ndim;
    tensor->has_raw_data = data != NULL;
    tensor->raw_data = (ProtobufCBinaryData){bytes, data};
    return tensor;
}

static uint8_t *pack(const made *self, size_t *bytes)
{
    uint8_t *data = malloc(onnx__model_proto__get_packed_size(&self->model) + 1);
    *bytes = data ? onnx__model_proto__pack(&self->model, data) : 0;
    return data;
}

static hk_model *load_bytes(const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(data, 1, bytes, file) == bytes);
    if (file)
        fclose(file);
    return hk_model_load(path, NULL);
}

static hk_model *load(const made *self)
{
    size_t bytes;
    uint8_t *data = pack(self, &bytes);
    hk_model *model = load_bytes(data, bytes);
    free(data);
    return model;
}

/* y = relu(x * w + 1), x of n rows of 3 */
static void make_scale(made *self)
{
    static float w[3] = {1, -2, 3}, one = 1;
    static int64_t dims[1] = {3};
    begin(self);
    add_input(self, "x", 1, "n3");
    add_output(self, "y", 1, "n3");
    add_tensor(self, "w", 1, dims, 1, w, sizeof w);
    add_tensor(self, "one", 1, NULL, 0, &one, sizeof one);
    add_node(self, "Mul", "x", "w", NULL, "a");
    add_node(self, "Add", "a", "one", NULL, "b");
    add_node(self, "Relu", "b", NULL, NULL, "y");
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static bool run_is(hk_model *model, hk_array *x, double sum)
{
    const hk_status *status;
    hk_array *y;
    hk_model_run(model, &x, 1, &y, 1);
    const double found = hk_item(hk_sum(y, NULL), &status);
    return hk_ok(status) && found == sum;
}

static void test_runs(void)
{
    HK_SCOPE;
    made file;
    make_scale(&file);
    hk_model *model = load(&file);
    CHECK(hk_ok(hk_model_status(model)));
    CHECK(hk_model_input_count(model) == 1 && hk_model_output_count(model) == 1);
    const hk_model_value x = hk_model_input(model, 0);
    CHECK(!strcmp(x.name, "x") && x.dtype == HK_F32 && x.ndim == 2 && x.dims[0] == -1 &&
          !strcmp(x.axes[0], "n") && x.dims[1] == 3);
    for (int i = 0; i < 5; i++) { /* calls, noted, replayed; and other shapes between them */
        CHECK(run_is(model, hk_ones(hk_shape(2, 3), HK_F32, hk_device_default()), 2 * (2 + 0 + 4)));
        CHECK(run_is(model, hk_ones(hk_shape(i + 1, 3), HK_F32, hk_device_default()), (i + 1) * 6));
        CHECK(run_is(model, hk_zeros(hk_shape(0, 3), HK_F32, hk_device_default()), 0));
    }
    for (int i = 1; i < 40; i++) /* more shapes than are kept */
        CHECK(run_is(model, hk_ones(hk_shape(i, 3), HK_F32, hk_device_default()), i * 6));
    hk_array *other = hk_transpose(hk_ones(hk_shape(3, 4), HK_F32, hk_device_default()));
    CHECK(run_is(model, other, 24));
    CHECK(hk_ok(hk_wait_all()));
    char *text = hk_model_to_string(model);
    CHECK(text && strstr(text, "input x: float32 (n, 3)") && strstr(text, "Mul 1"));
    free(text);
    hk_model_release(model);
}

static void test_refusals(void)
{
    HK_SCOPE;
    made file;
    make_scale(&file);
    hk_model *model = load(&file);
    const struct {
        hk_dims shape;
        hk_dtype dtype;
        const char *message;
    } wrong[] = {{hk_shape(2, 4), HK_F32, "axis 1 of input 0, x, is 4; expected 3"},
                 {hk_shape(3), HK_F32, "input 0, x, has 1 axes; expected 2"},
                 {hk_shape(2, 3), HK_F64, "input 0, x, is float64; expected float32"}};
    for (int i = 0; i < 3; i++) {
        hk_array *x = hk_zeros(wrong[i].shape, wrong[i].dtype, hk_device_default()), *y;
        hk_model_run(model, &x, 1, &y, 1);
        CHECK(!strcmp(hk_status_message(hk_wait(y)), wrong[i].message));
    }
    hk_array *x[2] = {hk_zeros(hk_shape(1, 3), HK_F32, hk_device_default()), NULL}, *y[2];
    hk_model_run(model, x, 2, y, 1);
    CHECK(strstr(hk_status_message(hk_wait(y[0])),
                 "2 inputs and 1 outputs are given; the model has 1 and 1"));
    hk_model_run(model, x + 1, 1, y, 1);
    CHECK(strstr(hk_status_message(hk_wait(y[0])), "input 0, x, is NULL"));
    hk_model_run(NULL, x, 1, y, 1);
    CHECK(!hk_ok(hk_wait(y[0])));
    hk_array *bad = hk_matmul(x[0], x[0]);
    hk_model_run(model, &bad, 1, y, 1);
    CHECK(!strcmp(hk_status_operation(hk_wait(y[0])), "matmul"));
    hk_model_release(model);
    hk_failures_clear();
}

/* Parameters: written, and trained. */
static void test_parameters(void)
{
    HK_SCOPE;
    made file;
    float w[3] = {2, 2, 2};
    int64_t dims[1] = {3};
    begin(&file);
    add_input(&file, "x", 1, "n3");
    add_output(&file, "y", 1, "n3");
    float large[12] = {1};
    int64_t large_dims[2] = {4, 3};
    add_tensor(&file, "w", 1, dims, 1, w, sizeof w);
    add_tensor(&file, "large", 1, large_dims, 2, large, sizeof large);
    add_node(&file, "PRelu", "x", "w", NULL, "y"); /* weights are parameters, however small */
    hk_model_release(load(&file));
    hk_model *model = hk_model_load(path, &(hk_model_options){.trainable = true});
    hk_array *x = hk_full(hk_shape(2, 3), -1, HK_F32, hk_device_default()), *y;
    CHECK(hk_model_parameter_count(model) == 2);
    CHECK(!strcmp(hk_model_parameter_name(model, 0), "w") && !hk_model_parameter(model, 2));
    for (int i = 0; i < 3; i++)
        CHECK(run_is(model, x, -12));
    hk_array *slope = hk_model_parameter(model, 0);
    hk_assign(slope, hk_full(hk_shape(3), 3, HK_F32, hk_device_default()));
    for (int i = 0; i < 3; i++)
        CHECK(run_is(model, x, -18));
    hk_attach_grad(slope, HK_GRAD_WRITE);
    hk_record_begin();
    hk_model_run(model, &x, 1, &y, 1);
    hk_array *loss = hk_sum(y, NULL);
    hk_record_end();
    hk_backward(loss);
    const hk_status *status;
    CHECK(hk_item(hk_sum(hk_grad(slope), NULL), &status) == -6);
    hk_model_release(model);
    CHECK(hk_ok(hk_wait_all()));
}

static void *run_beside(void *argument)
{
    hk_model *model = argument;
    for (int i = 0; i < 50; i++) {
        HK_SCOPE;
        CHECK(run_is(model, hk_ones(hk_shape(1 + i % 3, 3), HK_F32, hk_device_default()),
                     (1 + i % 3) * 6));
    }
    return NULL;
}

static void test_threads(void)
{
    made file;
    make_scale(&file);
    hk_model *model = load(&file);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run_beside, model);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    hk_model_release(model);
    CHECK(hk_ok(hk_wait_all()));
}

/* ---- bad files --------------------------------------------------------------------------------
 */

static bool fails_by(hk_model *model, hk_code code, const char *part)
{
    const hk_status *status = hk_model_status(model);
    const bool is_right = hk_status_code(status) == code && strstr(hk_status_message(status), part);
    if (!is_right)
        printf("%d: %s\n", (int)hk_status_code(status), hk_status_message(status));
    CHECK(hk_model_input_count(model) == 0 && hk_model_parameter_count(model) == 0);
    hk_model_release(model);
    return is_right;
}

static void test_bad_models(void)
{
    made file;
    make_scale(&file);
    file.nodes[1].op_type = (char *)"Frobnicate";
    CHECK(fails_by(load(&file), HK_UNSUPPORTED, "2 of the 3 nodes of"));
    file.nodes[1].domain = (char *)"com.example";
    CHECK(fails_by(load(&file), HK_UNSUPPORTED, "node 1 (it) needs com.example:Frobnicate"));
    make_scale(&file);
    file.names[2][0] = (char *)"nowhere";
    CHECK(fails_by(load(&file), HK_BAD_DATA, "reads nowhere, which nothing before it makes"));
    make_scale(&file);
    file.names[1][3] = (char *)"a";
    CHECK(fails_by(load(&file), HK_BAD_DATA, "the value a is made twice"));
    make_scale(&file);
    file.tensors[0].raw_data.len = 8;
    CHECK(fails_by(load(&file), HK_BAD_DATA, "tensor w has 8 bytes, where its shape asks for 12"));
    make_scale(&file);
    file.tensors[0].data_type = 8;
    CHECK(fails_by(load(&file), HK_UNSUPPORTED, "strings"));
    make_scale(&file);
    int64_t huge[3] = {INT64_MAX, INT64_MAX, 2};
    file.tensors[0].dims = huge;
    file.tensors[0].n_dims = 3;
    CHECK(fails_by(load(&file), HK_BAD_DATA, "tensor w"));
    make_scale(&file);
    file.output_list[0]->name = (char *)"z";
    CHECK(fails_by(load(&file), HK_BAD_DATA, "output z of a graph is made nowhere"));
    CHECK(fails_by(hk_model_load("/nowhere.onnx", NULL), HK_NOT_FOUND, "cannot be opened"));
    CHECK(fails_by(hk_model_load("/tmp", NULL), HK_INVALID_ARGUMENT,
                   "the format of /tmp is not known"));
    CHECK(fails_by(hk_model_load("x.nothing", NULL), HK_NOT_FOUND, "libhocket_nothing.so"));
    CHECK(fails_by(hk_model_load(NULL, NULL), HK_INVALID_ARGUMENT, "argument path is NULL"));
    hk_model_release(NULL);
}

/* Data in another file, which lies in the model's folder or is refused. */
static void test_data_beside(void)
{
    HK_SCOPE;
    made file;
    Onnx__StringStringEntryProto entries[2], *list[2] = {&entries[0], &entries[1]};
    char beside[80];
    const float w[4] = {9, 1, -2, 3};
    snprintf(beside, sizeof beside, "%s.data", path);
    FILE *to = fopen(beside, "wb");
    CHECK(to && fwrite(w, 1, sizeof w, to) == sizeof w);
    if (to)
        fclose(to);
    make_scale(&file);
    for (int i = 0; i < 2; i++)
        onnx__string_string_entry_proto__init(&entries[i]);
    entries[0].key = (char *)"location";
    entries[0].value = strrchr(beside, '/') + 1;
    entries[1].key = (char *)"offset";
    entries[1].value = (char *)"4";
    file.tensors[0].has_raw_data = false;
    file.tensors[0].raw_data.len = 0;
    file.tensors[0].external_data = list;
    file.tensors[0].n_external_data = 2;
    file.tensors[0].has_data_location = true;
    file.tensors[0].data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    hk_model *model = load(&file);
    CHECK(run_is(model, hk_ones(hk_shape(2, 3), HK_F32, hk_device_default()), 12));
    hk_model_release(model);
    entries[1].value = (char *)"8";
    CHECK(fails_by(load(&file), HK_BAD_DATA, "is shorter than it should be"));
    entries[1].value = (char *)"-4";
    CHECK(fails_by(load(&file), HK_BAD_DATA, "at a place or of a size"));
    entries[1].value = (char *)"0";
    const char *const outside[] = {"/etc/passwd", "../x", "a/../../x", ""};
    for (int i = 0; i < 4; i++) {
        entries[0].value = (char *)outside[i];
        CHECK(fails_by(load(&file), HK_BAD_DATA, "at a place or of a size"));
    }
    entries[0].value = (char *)"nowhere";
    CHECK(fails_by(load(&file), HK_NOT_FOUND, "cannot be opened"));
    unlink(beside);
}

/* Whatever the bytes: an error or a model, which can be run. */
static void try_bytes(const uint8_t *data, size_t bytes)
{
    HK_SCOPE;
    hk_model *model = load_bytes(data, bytes);
    if (hk_ok(hk_model_status(model)) && hk_model_input_count(model) == 1 &&
        hk_model_output_count(model) == 1) {
        hk_array *x = hk_ones(hk_shape(2, 3), HK_F32, hk_device_default()), *y;
        hk_model_run(model, &x, 1, &y, 1);
        hk_wait(y);
    }
    hk_model_release(model);
}

static void test_hostile(void)
{
    made file;
    size_t bytes;
    make_scale(&file);
    uint8_t *data = pack(&file, &bytes);
    for (size_t length = 0; length < bytes; length++)
        try_bytes(data, length);
    for (size_t at = 0; at < bytes; at++)
        for (int bit = 0; bit < 8; bit++) {
            data[at] ^= (uint8_t)(1 << bit);
            try_bytes(data, bytes);
            data[at] ^= (uint8_t)(1 << bit);
        }
    free(data);
    hk_wait_all();
    hk_failures_clear();
}

/* Types of sequences of sequences, without end: each level is a field in a field. */
static void test_depth(void)
{
    enum { LEVELS = 20000 };
    uint8_t *data = malloc(LEVELS * 16);
    size_t bytes = 0;
    CHECK(data != NULL);
    if (!data)
        return;
    for (int level = 0; level < LEVELS;
         level++) { /* from the innermost: in front of what there is */
        uint8_t head[12];
        int length = 0;
        head[length++] = level % 2 ? 0x22 : 0x0a; /* sequence_type, elem_type */
        for (size_t rest = bytes;; rest >>= 7) {
            head[length++] = (uint8_t)(rest > 127 ? (rest & 127) | 128 : rest);
            if (rest <= 127)
                break;
        }
        memmove(data + length, data, bytes);
        memcpy(data, head, (size_t)length);
        bytes += (size_t)length;
    }
    const uint8_t tags[] = {0x12, 0x5a,
                            0x3a}; /* type of a value, input of a graph, graph of a model */
    for (int i = 0; i < 3; i++) {
        uint8_t head[12];
        int length = 0;
        head[length++] = tags[i];
        for (size_t rest = bytes;; rest >>= 7) {
            head[length++] = (uint8_t)(rest > 127 ? (rest & 127) | 128 : rest);
            if (rest <= 127)
                break;
        }
        memmove(data + length, data, bytes);
        memcpy(data, head, (size_t)length);
        bytes += (size_t)length;
    }
    CHECK(fails_by(load_bytes(data, bytes), HK_BAD_DATA, "is no ONNX file, or a damaged one"));
    free(data);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/hocket_onnx_%d.onnx", (int)getpid());
    test_runs();
    test_refusals();
    test_parameters();
    test_threads();
    test_bad_models();
    test_data_beside();
    test_hostile();
    test_depth();
    unlink(path);
    printf("%d checks failed\n", failed_checks);
    return failed_checks != 0;
}
