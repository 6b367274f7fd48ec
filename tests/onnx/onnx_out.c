/* What hk_model_export refuses, and what it leaves behind then; graphs and calls as files; names,
 * and data beside a file. */
#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed_checks;
#define CHECK(condition)                                                                           \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (void)(failed_checks++, printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition)))

static char folder[] = "/tmp/hocket-out-XXXXXX", path[128], data_path[160];

static void check_refused(const hk_status *status, hk_code code, const char *text, int line)
{
    if (hk_status_code(status) == code && strstr(hk_status_message(status), text))
        return;
    failed_checks++;
    printf("line %d: code %d, \"%s\"; expected code %d, \"%s\"\n", line,
           (int)hk_status_code(status), hk_status_message(status), (int)code, text);
}
#define REFUSED(status, code, text) check_refused(status, code, text, __LINE__)

static bool is_there(const char *file)
{
    return !access(file, F_OK);
}

static hk_array *numbers(hk_dims shape)
{
    return hk_random_uniform(shape, HK_F32, (hk_device){0});
}

/* What the file makes of x. */
static hk_array *read_back(hk_array *x)
{
    hk_array *y = NULL;
    hk_model *model = hk_model_load(path, NULL);
    CHECK(!hk_status_print(hk_model_status(model), stderr));
    hk_model_run(model, &x, 1, &y, 1);
    hk_model_release(model);
    return y;
}

static bool are_close(hk_array *a, hk_array *b)
{
    return hk_item(hk_max(hk_abs(hk_subtract(a, b)), NULL), NULL) < 1e-5;
}

/* ---- modules --------------------------------------------------------------------------------- */

static void test_arguments(void)
{
    HK_SCOPE;
    hk_array *x = numbers(hk_shape(2, 3)), *none = NULL;
    hk_module *net = hk_linear_layer(4, NULL), *bad = hk_linear_layer(-1, NULL);
    REFUSED(hk_model_export(NULL, net, &x, 1, NULL), HK_INVALID_ARGUMENT, "path is NULL");
    REFUSED(hk_model_export(path, NULL, &x, 1, NULL), HK_INVALID_ARGUMENT, "module is NULL");
    REFUSED(hk_model_export(path, bad, &x, 1, NULL), HK_INVALID_ARGUMENT, "features");
    REFUSED(hk_model_export(path, net, NULL, 1, NULL), HK_INVALID_ARGUMENT, "inputs is NULL");
    REFUSED(hk_model_export(path, net, &x, -1, NULL), HK_INVALID_ARGUMENT, "input_count is -1");
    REFUSED(hk_model_export(path, net, &none, 1, NULL), HK_INVALID_ARGUMENT, "input 0 is NULL");
    REFUSED(hk_model_export_call(path, NULL, NULL, &x, 1, NULL), HK_INVALID_ARGUMENT,
            "call is NULL");
    REFUSED(hk_model_export("net", net, &x, 1, NULL), HK_INVALID_ARGUMENT, "format");
    REFUSED(hk_model_export("net.nowhere", net, &x, 1, NULL), HK_NOT_FOUND, "plug-in");
    REFUSED(hk_model_export("/nowhere/net.onnx", net, &x, 1, NULL), HK_IO, "/nowhere/net.onnx");
    REFUSED(hk_model_export(folder, net, &x, 1, &(hk_model_export_options){.format = "onnx"}),
            HK_IO, folder);
    REFUSED(hk_model_export(path, net, &x, 1, &(hk_model_export_options){.batch = ""}),
            HK_INVALID_ARGUMENT, "batch is empty");
    const hk_model_export_options same = {.input_names = &(const char *){"y"},
                                          .output_names = &(const char *){"y"}};
    REFUSED(hk_model_export(path, net, &x, 1, &same), HK_INVALID_ARGUMENT,
            "another input or output");
    const hk_model_export_options odd = {.output_names = &(const char *){"\xff"}};
    REFUSED(hk_model_export(path, net, &x, 1, &odd), HK_INVALID_ARGUMENT, "no UTF-8");
    hk_array *failed = hk_reshape(x, hk_shape(5)), *empty = numbers(hk_shape(0, 3));
    REFUSED(hk_model_export(path, net, &failed, 1, NULL), HK_INVALID_ARGUMENT, "");
    REFUSED(hk_model_export(path, net, &empty, 1, NULL), HK_INVALID_ARGUMENT, "no elements");
    hk_array *wide = numbers(hk_shape(2, 7));
    CHECK(hk_ok(hk_model_export(path, net, &x, 1, NULL)));
    REFUSED(hk_model_export(path, net, &wide, 1, NULL), HK_INVALID_ARGUMENT, "weight");
    CHECK(is_there(path)); /* the one before */
    hk_capture_begin(NULL, 0);
    REFUSED(hk_model_export(path, net, &x, 1, NULL), HK_INVALID_ARGUMENT, "capture");
    hk_graph_release(hk_capture_end(NULL));
    hk_failures_clear();
    hk_module_release(net);
    hk_module_release(bad);
    unlink(path);
}

static void test_names(void)
{
    HK_SCOPE;
    hk_array *x = numbers(hk_shape(2, 3));
    hk_module *net = hk_sequential(hk_linear_layer(4, NULL), hk_operator_layer("relu", NULL, 0),
                                   hk_linear_layer(2, NULL));
    const hk_model_export_options options = {.input_names = &(const char *){"0.weight"}};
    CHECK(!hk_status_print(hk_model_export(path, net, &x, 1, &options), stderr));
    hk_model *model = hk_model_load(path, &(hk_model_options){.trainable = true});
    CHECK(!strcmp(hk_model_input(model, 0).name, "0.weight"));
    CHECK(!strcmp(hk_model_output(model, 0).name, "output"));
    bool is_named = false;
    for (int i = 0; i < hk_model_parameter_count(model); i++)
        is_named = is_named || !strcmp(hk_model_parameter_name(model, i), "2.weight");
    CHECK(is_named);
    hk_model_release(model);
    CHECK(are_close(read_back(x), hk_forward(net, x)));
    hk_module_release(net);
    unlink(path);
}

static void test_data_beside(void)
{
    HK_SCOPE;
    struct stat file;
    hk_array *x = numbers(hk_shape(2, 300));
    hk_module *net = hk_linear_layer(40, NULL);
    const hk_model_export_options options = {.most_bytes = HK_ZERO};
    CHECK(!hk_status_print(hk_model_export(path, net, &x, 1, &options), stderr));
    CHECK(is_there(data_path) && !stat(path, &file) && file.st_size < 3000);
    CHECK(are_close(read_back(x), hk_forward(net, x)));
    hk_module_release(net);
    unlink(path);
    unlink(data_path);
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef enum what { MAKES_NOTHING, FAILS, HAS_NO_ROW, READS, DRAWS, BURNS_IN, WRITES } what;

static hk_array *from_before;

static bool bad_call(void *context, hk_array *const *inputs, int input_count, hk_array **outputs,
                     int *output_count)
{
    hk_array *x = inputs[0];
    (void)input_count;
    *output_count = 1;
    switch (*(const what *)context) {
    case MAKES_NOTHING:
        *output_count = 0;
        break;
    case FAILS:
        return false;
    case HAS_NO_ROW:
        outputs[0] = hk_add(hk_atan2(x, x), x);
        break;
    case READS:
        outputs[0] = hk_add(x, hk_item(hk_sum(x, NULL), NULL));
        break;
    case DRAWS:
        outputs[0] = hk_add(x, hk_random_normal(hk_shape(3), HK_F32, (hk_device){0}));
        break;
    case BURNS_IN:
        outputs[0] = hk_multiply(x, (double)hk_dim(x, 0));
        break;
    case WRITES:
        hk_assign(from_before, x);
        outputs[0] = hk_add(x, x);
        break;
    }
    return true;
}

static void check_call(what which, hk_code code, const char *text, int line)
{
    HK_SCOPE;
    hk_array *x = numbers(hk_shape(2, 3));
    check_refused(hk_model_export_call(
                      path, bad_call, &which, &x, 1,
                      &(hk_model_export_options){.batch = which == BURNS_IN ? "batch" : NULL}),
                  code, text, line);
    CHECK(!is_there(path));
}

static void test_calls(void)
{
    HK_SCOPE;
    from_before = numbers(hk_shape(2, 3));
    check_call(MAKES_NOTHING, HK_INVALID_ARGUMENT, "no outputs", __LINE__);
    check_call(FAILS, HK_INVALID_ARGUMENT, "has failed", __LINE__);
    check_call(HAS_NO_ROW, HK_UNSUPPORTED, "1 of 2 calls", __LINE__);
    check_call(HAS_NO_ROW, HK_UNSUPPORTED, "the call of atan2 at ", __LINE__);
    check_call(HAS_NO_ROW, HK_UNSUPPORTED, "onnx_out.c:", __LINE__);
    check_call(READS, HK_UNSUPPORTED, "item cannot be captured", __LINE__);
    check_call(DRAWS, HK_UNSUPPORTED, "random numbers", __LINE__);
    check_call(BURNS_IN, HK_UNSUPPORTED, "value depends on the batch", __LINE__);
    hk_failures_clear();
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void test_graphs(void)
{
    HK_SCOPE;
    hk_array *x = numbers(hk_shape(2, 3)), *bound = numbers(hk_shape(3, 2)),
             *weight = numbers(hk_shape(3, 3)), *kept;
    hk_array *both[] = {x, bound};
    hk_capture_begin(both, 2);
    {
        HK_SCOPE;
        hk_array *y = hk_relu(hk_matmul(x, weight));
        hk_assign(bound, hk_permute_dims(y, hk_shape(1, 0)));
        kept = hk_take(hk_sum(y, NULL));
    }
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = true});
    CHECK(!hk_status_print(hk_model_export_graph(path, graph, &kept, 1, NULL), stderr));
    hk_model *model = hk_model_load(path, NULL);
    hk_array *results[2];
    CHECK(hk_model_input_count(model) == 1 && hk_model_output_count(model) == 2);
    hk_model_run(model, &x, 1, results, 2);
    CHECK(are_close(results[0], bound) && are_close(results[1], kept));
    hk_model_release(model);
    unlink(path);

    hk_array *none = NULL;
    REFUSED(hk_model_export_graph(path, NULL, NULL, 0, NULL), HK_INVALID_ARGUMENT, "graph is NULL");
    REFUSED(hk_model_export_graph(NULL, graph, NULL, 0, NULL), HK_INVALID_ARGUMENT, "path is NULL");
    REFUSED(hk_model_export_graph(path, graph, &none, 1, NULL), HK_INVALID_ARGUMENT, "result 0");
    REFUSED(hk_model_export_graph(path, graph, NULL, 1, NULL), HK_INVALID_ARGUMENT,
            "results is NULL");
    REFUSED(hk_model_export_graph(path, graph, NULL, 0, &(hk_model_export_options){.batch = "n"}),
            HK_INVALID_ARGUMENT, "batch");
    hk_graph_release(graph);
    hk_array_release(kept);

    hk_capture_begin(&x, 1);
    hk_item(x, NULL);
    graph = hk_capture_end(NULL);
    REFUSED(hk_model_export_graph(path, graph, NULL, 0, NULL), HK_UNSUPPORTED,
            "cannot be captured");
    hk_graph_release(graph);

    hk_capture_begin(&x, 1);
    hk_call_into("relu", weight, &weight, 1, NULL);
    graph = hk_capture_end(&(hk_capture_options){.exact = true});
    REFUSED(hk_model_export_graph(path, graph, &weight, 1, NULL), HK_UNSUPPORTED,
            "was there before the calls");
    hk_graph_release(graph);
    CHECK(!is_there(path));
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/net.onnx", folder);
    snprintf(data_path, sizeof data_path, "%s.data", path);
    test_arguments();
    test_names();
    test_data_beside();
    test_calls();
    test_graphs();
    CHECK(!rmdir(folder)); /* nothing is left in it */
    hk_failures_clear();
    return failed_checks > 0;
}
