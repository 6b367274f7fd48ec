/* Recurrent layers whose steps are one call, on a CUDA device, as on the CPU: values and gradients over random shapes, also where
 * lengths make it a call for each step; second gradients; how many calls there are; the same bytes on every run, and in replays. */
#include "check.h"
#include "nn/recurrence_fixture.h"

/* Where a test runs, and where what it compares with. */
static hk_device host, gpu;

/* What the layer gives there, and the gradients of a weighed sum of that: of x, of the state, of the parameters. Results are on the CPU. */
static void run(hk_module *start, hk_device device, hk_array *const *inputs, hk_array *weights,
                hk_array **results)
{
    hk_module *layer = hk_module_replicate(start, device);
    hk_array *given[3] = {NULL}, *of[RESULTS - 1];
    for (int i = 0; i < 3; i++)
        given[i] = inputs[i] ? hk_to_device(inputs[i], device) : NULL;
    for (int i = 0; i < 2; i++) {
        of[i] = given[i];
        hk_attach_grad(of[i], HK_GRAD_TRACK);
    }
    CHECK(hk_module_parameters(layer, of + 2, PARAMS) == PARAMS);
    HK_RECORD;
    results[0] = hk_forward_all(layer, given, given[2] ? 3 : 2);
    hk_array *loss =
        hk_sum(hk_square(hk_multiply(results[0], hk_to_device(weights, device))), NULL);
    CHECK(hk_ok(hk_gradients(&loss, 1, of, RESULTS - 1, NULL, results + 1)));
    for (int i = 0; i < RESULTS; i++)
        results[i] = hk_to_device(hk_detach(results[i]), host);
    hk_module_release(layer);
}

static void compare(const shape *its, bool has_lengths, hk_array *const *found,
                    hk_array *const *expected)
{
    const double bound = its->dtype == HK_F64 ? 1e-11 : 1e-4;
    for (int i = 0; i < RESULTS; i++) {
        const double far = apart(found[i], expected[i]);
        CHECK(far <= bound);
        if (!(far <= bound))
            fprintf(stderr,
                    "kind %d, %s, n %lld, steps %lld, inputs %lld, units %lld%s%s: result %d is "
                    "%g apart\n",
                    its->kind, hk_dtype_name(its->dtype), (long long)its->n, (long long)its->steps,
                    (long long)its->inputs, (long long)its->units,
                    its->is_reversed ? ", reversed" : "", has_lengths ? ", lengths" : "", i, far);
    }
}

static void test_shape(const shape *its, bool has_lengths)
{
    HK_SCOPE;
    hk_module *layer = layer_of(its);
    hk_array *lengths = hk_full(hk_shape(its->n), (double)its->steps - 1, HK_I64, host);
    hk_array *inputs[] = {random_input(its), state_of(its), has_lengths ? lengths : NULL};
    hk_array *y = hk_forward_all(layer, inputs, 2), *results[3][RESULTS];
    hk_array *weights = random_array(its, hk_dims_get(y));
    run(layer, host, inputs, weights, results[0]);
    for (int i = 1; i < 3; i++)
        run(layer, gpu, inputs, weights, results[i]);
    compare(its, has_lengths, results[1], results[0]);
    for (int i = 0; i < RESULTS; i++)
        CHECK(same_bytes(results[1][i], results[2][i]));
    hk_module_release(layer);
}

/* Whole tiles and parts of them, lines that packs fit and others. */
static void test_random_shapes(void)
{
    uint32_t noise = 31;
    for (int i = 0; i < 36; i++) {
        int64_t of[5];
        for (int j = 0; j < 5; j++) {
            noise = noise * 1664525u + 1013904223u;
            of[j] = noise >> 16;
        }
        const shape its = {.kind = (hk_recurrent_kind)(i % 3),
                           .dtype = i / 3 % 2 ? HK_F64 : HK_F32,
                           .whole_state = of[4] % 2,
                           .is_reversed = of[4] / 2 % 2,
                           .n = of[0] % 36,
                           .steps = 4 + of[1] % 5,
                           .inputs = 1 + of[2] % 20,
                           .units = i % 4 ? 1 + of[3] % 40 : 4 + of[3] % 40 * 4};
        test_shape(&its, i % 9 == 4);
    }
}

/* Gradients of the sum of the squares of x's gradient, of the parameters. */
static void second_gradients(hk_module *start, hk_array *x, hk_device device, hk_array **results)
{
    hk_module *layer = hk_module_replicate(start, device);
    hk_array *params[PARAMS], *dx;
    x = hk_to_device(x, device);
    hk_attach_grad(x, HK_GRAD_TRACK);
    CHECK(hk_module_parameters(layer, params, PARAMS) == PARAMS);
    HK_RECORD;
    hk_array *loss = hk_sum(hk_square(hk_forward(layer, x)), NULL);
    CHECK(hk_ok(hk_gradients(&loss, 1, &x, 1, &(hk_gradients_options){.create_graph = true}, &dx)));
    loss = hk_sum(hk_square(dx), NULL);
    CHECK(hk_ok(hk_gradients(&loss, 1, params, PARAMS, NULL, results)));
    for (int i = 0; i < PARAMS; i++)
        results[i] = hk_to_device(hk_detach(results[i]), host);
    hk_module_release(layer);
}

static void test_second_gradients(hk_recurrent_kind kind)
{
    HK_SCOPE;
    const shape its = {
        .kind = kind, .dtype = HK_F64, .n = 18, .steps = 5, .inputs = 3, .units = 17};
    hk_module *layer = layer_of(&its);
    hk_array *x = random_input(&its);
    hk_array *expected[PARAMS], *found[PARAMS];
    hk_forward(layer, x);
    second_gradients(layer, x, host, expected);
    second_gradients(layer, x, gpu, found);
    for (int i = 0; i < PARAMS; i++) {
        CHECK(apart(found[i], expected[i]) <= 1e-11);
        CHECK(most(expected[i]) > 0);
    }
    hk_module_release(layer);
}

/* Of a forward and a backward pass. */
static uint64_t calls_of(hk_recurrent_kind kind, int64_t steps)
{
    HK_SCOPE;
    const shape its = {
        .kind = kind, .dtype = HK_F32, .n = 20, .steps = steps, .inputs = 3, .units = 5};
    hk_module *layer = layer_of(&its);
    hk_array *inputs[] = {random_input(&its), state_of(&its), NULL};
    hk_array *results[RESULTS];
    hk_array *weights = random_array(&its, hk_dims_get(hk_forward_all(layer, inputs, 2)));
    CHECK(hk_ok(hk_trace_start(NULL)));
    run(layer, gpu, inputs, weights, results);
    hk_trace *trace = hk_trace_stop();
    const uint64_t count = hk_trace_get_summary(trace).call_count;
    hk_trace_release(trace);
    hk_module_release(layer);
    return count;
}

/* Longer sequences are longer calls, not more of them. */
static void test_call_count(hk_recurrent_kind kind)
{
    const uint64_t few = calls_of(kind, 4), many = calls_of(kind, 40);
    CHECK(few > 0);
    CHECK_EQ_I64(many, few);
}

/* Replays, recorded ones too, give the bytes of calls. */
static void test_capture(hk_recurrent_kind kind)
{
    enum { REPLAYS = 4 };
    HK_SCOPE;
    const shape its = {
        .kind = kind, .dtype = HK_F32, .n = 20, .steps = 6, .inputs = 4, .units = 24};
    hk_module *start = layer_of(&its);
    hk_array *x = random_input(&its), *params[PARAMS];
    hk_forward(start, x);
    hk_module *layer = hk_module_replicate(start, gpu);
    CHECK(hk_module_parameters(layer, params, PARAMS) == PARAMS);
    x = hk_to_device(x, gpu);
    hk_array *grads[2][PARAMS], *other = hk_square(x);
    hk_graph *graph = NULL;
    for (int round = 0; round < 2; round++) {
        if (round == 0)
            hk_capture_begin(&x, 1);
        hk_record_begin();
        hk_array *loss = hk_sum(hk_square(hk_forward(layer, round ? other : x)), NULL);
        hk_record_end();
        hk_backward(loss);
        if (round == 0) {
            graph = hk_capture_end(NULL);
            for (int i = 0; i < REPLAYS; i++)
                hk_replay(graph, &other, 1);
        }
        for (int i = 0; i < PARAMS; i++)
            grads[round][i] = hk_copy(hk_grad(params[i]));
    }
    for (int i = 0; i < PARAMS; i++)
        CHECK(same_bytes(grads[0][i], grads[1][i]));
    CHECK(!hk_status_print(hk_graph_status(graph), stderr));
    CHECK(hk_graph_get_facts(graph).recorded_replays > 0);
    hk_graph_release(graph);
    hk_module_release(layer);
    hk_module_release(start);
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 1})));
    host = hk_device_named("cpu:0");
    for (int i = 0; i < hk_device_count() && !gpu.handle; i++)
        if (!strcmp(hk_device_kind(hk_device_at(i)), "cuda"))
            gpu = hk_device_at(i);
    hk_seed(5);
    test_random_shapes();
    for (int kind = HK_RECURRENT_TANH; kind <= HK_RECURRENT_LSTM; kind++) {
        test_call_count((hk_recurrent_kind)kind);
        test_capture((hk_recurrent_kind)kind);
        test_second_gradients((hk_recurrent_kind)kind);
    }
    const shape large = {.kind = HK_RECURRENT_LSTM,
                         .dtype = HK_F32,
                         .n = 70,
                         .steps = 5,
                         .inputs = 33,
                         .units = 132};
    test_shape(&large, false);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
