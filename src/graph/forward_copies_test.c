/* Copies that a graph leaves out, those that it must keep, and sums that come after a chain. */
#include "check.h"

#include <hocket/hocket.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 256, INPUTS = 300, MAX_OUTPUTS = 200, RUNS = 3 };

typedef struct outcome {
    float values[RUNS][2 * MAX_OUTPUTS * INPUTS];
    int copies, products, tasks; /* of the graph */
} outcome;

static hk_array *numbers(hk_dims shape, unsigned seed)
{
    int64_t size = shape.dims[0] * shape.dims[1];
    float *values = malloc((size_t)size * sizeof *values);
    for (int64_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = (float)(seed >> 16) / 65536 - 0.5f;
    }
    hk_array *x = hk_from_host(values, shape, HK_F32, hk_device_default());
    free(values);
    return x;
}

/* Lines of the text that begin with the call. */
static int count_lines(const hk_graph *graph, const char *call)
{
    int count = 0;
    char *text = hk_graph_to_string(graph);
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        count += !strncmp(line, call, strlen(call));
    }
    free(text);
    return count;
}

typedef enum meddling {
    NONE,
    READS_BEFORE, /* the step reads the last step's gradient before it makes its own */
    READS_AFTER,  /* after */
    TWO_LAYERS
} meddling;

/* Through views a gradient is a copy of what a call makes; else the call makes it in its place. */
static bool by_views;

static hk_array *weight_of(hk_array *weight)
{
    return by_views ? hk_transpose(hk_transpose(weight)) : weight;
}

/* The gradient of a layer with relu, which a step leaves in the weight's gradient; and what the step itself makes. */
static void step(hk_array *x, hk_array *const *weights, int count, hk_array *result, meddling how)
{
    HK_SCOPE;
    hk_array *grad = hk_grad(weights[0]);
    if (how == READS_BEFORE)
        hk_add_into(result, result, grad);
    hk_record_begin();
    hk_array *y = hk_relu(hk_linear(x, weight_of(weights[0]), NULL));
    hk_array *loss = hk_sum(y, NULL);
    if (count > 1)
        loss = hk_add(loss, hk_sum(hk_relu(hk_linear(x, weight_of(weights[1]), NULL)), NULL));
    hk_record_end();
    hk_backward(loss);
    if (how == READS_AFTER)
        hk_add_into(result, result, grad);
}

static void run(int64_t outputs, meddling how, bool exact, outcome *out)
{
    HK_SCOPE;
    int count = how == TWO_LAYERS ? 2 : 1;
    hk_array *weights[2],
        *result = hk_zeros(hk_shape(outputs, INPUTS), HK_F32, hk_device_default());
    hk_graph *graph = NULL;
    for (int i = 0; i < count; i++) {
        weights[i] = numbers(hk_shape(outputs, INPUTS), 5 + (unsigned)i);
        hk_attach_grad(weights[i], HK_GRAD_WRITE);
    }
    for (int i = 0; i < RUNS; i++) {
        HK_SCOPE;
        hk_array *x = numbers(hk_shape(SAMPLES, INPUTS), 77 + (unsigned)i);
        size_t bytes = (size_t)(outputs * INPUTS) * sizeof(float);
        if (i == 0)
            hk_capture_begin(&x, 1);
        if (i == 0)
            step(x, weights, count, result, how);
        else
            hk_replay(graph, &x, 1);
        if (i == 0)
            graph = hk_capture_end(&(hk_capture_options){.exact = exact});
        CHECK(!hk_status_print(hk_graph_status(graph), stderr));
        CHECK(hk_ok(hk_to_host(hk_grad(weights[count - 1]), out->values[i], bytes)));
        CHECK(hk_ok(hk_to_host(result, out->values[i] + outputs * INPUTS, bytes)));
    }
    out->copies = count_lines(graph, "copy(");
    out->products = count_lines(graph, "matmul(");
    out->tasks = (int)hk_graph_get_facts(graph).tasks;
    hk_graph_release(graph);
}

static outcome exact, formed;

/* The gradient is a sum of numbers times 0 or 1: a product over the whole batch has the same bytes. */
static void test_wide(meddling how, bool copies)
{
    memset(&exact, 0, sizeof exact);
    memset(&formed, 0, sizeof formed);
    run(MAX_OUTPUTS, how, true, &exact);
    run(MAX_OUTPUTS, how, false, &formed);
    CHECK(by_views ? exact.copies >= 1 : exact.copies == 0);
    CHECK_EQ_I64(formed.copies, by_views && copies);
    CHECK(formed.products >= 1);
    CHECK(!memcmp(exact.values, formed.values, sizeof exact.values));
}

static void test_narrow(void)
{
    run(10, NONE, false, &formed);
    CHECK_EQ_I64(formed.copies, 0);
    CHECK_EQ_I64(formed.products, 0);
    CHECK(formed.tasks <= 2);
}

static hk_array *filled(hk_dims shape, double value)
{
    return hk_full(shape, value, HK_F32, hk_device_default());
}

/* A call between the copy and what makes its values may be given memory that the copy writes: it reads what was there before, or
 * the replay says that it cannot. */
static void test_shared(bool is_exact)
{
    HK_SCOPE;
    const hk_dims shape = hk_shape(4, 4);
    hk_array *x = filled(shape, 1), *y = filled(shape, 2), *z = filled(shape, 3);
    hk_array *sum = filled(shape, 0), *both = filled(shape, 5);
    hk_capture_begin((hk_array *[]){x, y, z}, 3);
    {
        HK_SCOPE;
        hk_array *product = hk_matmul(x, x);
        hk_add_into(sum, sum, z);
        hk_copy_into(y, product);
    }
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = is_exact});
    CHECK_EQ_I64(count_lines(graph, "copy("), is_exact);
    hk_assign(sum, filled(shape, 0));
    hk_replay(graph, (hk_array *[]){both, y, both}, 3); /* only read */
    CHECK(hk_item(hk_mean(sum, NULL), NULL) == 5 && hk_item(hk_mean(y, NULL), NULL) == 100);
    hk_replay(graph, (hk_array *[]){both, both, z}, 3); /* by the call that makes the values */
    CHECK(hk_item(hk_mean(sum, NULL), NULL) == 8 && hk_item(hk_mean(both, NULL), NULL) == 100);
    hk_replay(graph, (hk_array *[]){x, both, both}, 3);
    CHECK(is_exact ? hk_item(hk_mean(sum, NULL), NULL) == 108
                   : strstr(hk_status_message(hk_wait(both)), "shares memory") != NULL);
    CHECK(hk_item(hk_mean(sum, NULL), NULL) == (is_exact ? 108 : 8));
    hk_failures_clear();
    hk_graph_release(graph);
}

/* What else a call makes is there although the array that a copy should have gone to has failed. */
static void test_failed_target(bool is_exact)
{
    HK_SCOPE;
    hk_array *x = filled(hk_shape(8, 3), 1), *y = filled(hk_shape(8, 3), 2);
    hk_array *one = filled(hk_shape(3), 1), *mean = filled(hk_shape(3), 0);
    hk_array *variance = filled(hk_shape(3), 1);
    hk_capture_begin((hk_array *[]){x, y}, 2);
    {
        HK_SCOPE;
        hk_copy_into(y, hk_batch_norm_train(x, one, one, mean, variance,
                                            &(hk_batch_norm_train_options){.momentum = 0.5}));
    }
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = is_exact});
    CHECK_EQ_I64(count_lines(graph, "copy("), is_exact);
    hk_array *failed = hk_add(filled(hk_shape(3), 0), filled(hk_shape(4), 0));
    hk_assign(mean, filled(hk_shape(3), 0));
    hk_replay(graph, (hk_array *[]){filled(hk_shape(8, 3), 100), failed}, 2);
    CHECK(fabs(hk_item(hk_mean(mean, NULL), NULL) - 50) < 1e-4);
    hk_wait_all(); /* `failed` is not waited for otherwise */
    hk_failures_clear();
    hk_graph_release(graph);
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(NULL)));
    for (int i = 0; i < 2; i++) {
        by_views = i;
        test_wide(NONE, false);
        test_wide(READS_BEFORE, true);
        test_wide(READS_AFTER, false);
        test_wide(TWO_LAYERS, false);
        test_narrow();
        test_shared(i);
        test_failed_target(i);
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
