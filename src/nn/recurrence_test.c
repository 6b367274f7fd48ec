/* Recurrent layers whose steps are one call, against the same layers step by step, as they go where lengths are given: values and
 * gradients; how many calls there are; captures; shares of a batch. */
#include "check.h"
#include "nn/recurrence_fixture.h"

static const hk_device here = {NULL};

/* What the layer gives, and the gradients of a weighed sum of that: of x, of the state, of the parameters. */
static void run(hk_module *layer, hk_array *x, hk_array *state, hk_array *lengths,
                hk_array *weights, hk_array **results)
{
    hk_array *of[RESULTS - 1] = {x, state};
    hk_attach_grad(x, HK_GRAD_TRACK);
    hk_attach_grad(state, HK_GRAD_TRACK);
    HK_RECORD;
    results[0] = hk_forward_all(layer, (hk_array *[]){x, state, lengths}, lengths ? 3 : 2);
    CHECK(hk_module_parameters(layer, of + 2, PARAMS) == PARAMS);
    hk_array *loss = hk_sum(weights ? hk_multiply(results[0], weights) : results[0], NULL);
    CHECK(hk_ok(hk_gradients(&loss, 1, of, RESULTS - 1, NULL, results + 1)));
}

static void test_as_steps(const shape *its)
{
    HK_SCOPE;
    hk_module *layer = layer_of(its);
    hk_array *x = random_input(its);
    hk_array *state = state_of(its);
    hk_array *lengths = hk_full(hk_shape(its->n), (double)its->steps, HK_I64, here);
    hk_array *at_once[RESULTS], *stepwise[RESULTS];
    hk_array *weights =
        random_array(its, hk_dims_get(hk_forward_all(layer, (hk_array *[]){x, state}, 2)));
    run(layer, x, state, NULL, weights, at_once);
    run(layer, x, state, lengths, weights, stepwise);
    for (int i = 0; i < RESULTS; i++) {
        const double found = apart(at_once[i], stepwise[i]);
        CHECK(found <= (its->dtype == HK_F64 ? 1e-12 : 2e-5));
        if (!(found <= 2e-5))
            fprintf(stderr, "kind %d, n %lld, steps %lld, inputs %lld, units %lld: result %d\n",
                    its->kind, (long long)its->n, (long long)its->steps, (long long)its->inputs,
                    (long long)its->units, i);
    }
    hk_module_release(layer);
}

static void test_random_shapes(void)
{
    uint32_t noise = 77;
    for (int i = 0; i < 48; i++) {
        int64_t of[5];
        for (int j = 0; j < 5; j++) {
            noise = noise * 1664525u + 1013904223u;
            of[j] = noise >> 16;
        }
        const shape its = {.kind = (hk_recurrent_kind)(i % 3),
                           .dtype = i / 3 % 2 ? HK_F64 : HK_F32,
                           .whole_state = of[4] % 2,
                           .is_reversed = of[4] / 2 % 2,
                           .n = of[0] % 40,
                           .steps = 4 + of[1] % 9,
                           .inputs = 1 + of[2] % 40,
                           .units = 1 + of[3] % (i % 8 ? 40 : 300)};
        test_as_steps(&its);
    }
}

/* No state is a state of zeros, of which nobody wants the gradient. */
static void test_without_state(const shape *its)
{
    HK_SCOPE;
    hk_module *layer = layer_of(its);
    hk_array *x = random_input(its), *params[PARAMS], *found[2][PARAMS + 2];
    hk_array *state = hk_zeros_like(state_of(its));
    hk_forward(layer, x);
    CHECK(hk_module_parameters(layer, params, PARAMS) == PARAMS);
    hk_array *of[PARAMS + 1] = {params[0], params[1], params[2], params[3], x};
    hk_attach_grad(x, HK_GRAD_TRACK);
    for (int i = 0; i < 2; i++) {
        HK_RECORD;
        found[i][0] = hk_forward_all(layer, (hk_array *[]){x, state}, 1 + i);
        hk_array *loss = hk_sum(hk_square(found[i][0]), NULL);
        CHECK(hk_ok(hk_gradients(&loss, 1, of, PARAMS + 1, NULL, found[i] + 1)));
    }
    for (int i = 0; i < PARAMS + 2; i++)
        CHECK(apart(found[0][i], found[1][i]) <= 2e-6);
    hk_module_release(layer);
}

/* Of a forward and a backward pass. */
static uint64_t calls_of(hk_recurrent_kind kind, int64_t steps)
{
    HK_SCOPE;
    const shape its = {
        .kind = kind, .dtype = HK_F32, .n = 20, .steps = steps, .inputs = 3, .units = 5};
    hk_module *layer = layer_of(&its);
    hk_array *x = random_input(&its), *results[RESULTS];
    hk_array *state = state_of(&its);
    hk_forward(layer, x);
    CHECK(hk_ok(hk_trace_start(NULL)));
    run(layer, x, state, NULL, NULL, results);
    hk_trace *trace = hk_trace_stop();
    const uint64_t count = hk_trace_get_summary(trace).call_count;
    hk_trace_release(trace);
    hk_module_release(layer);
    return count;
}

/* Longer sequences are longer calls, not more of them. */
static void test_call_count(hk_recurrent_kind kind)
{
    const uint64_t few = calls_of(kind, 4), many = calls_of(kind, 60);
    CHECK(few > 0);
    CHECK_EQ_I64(many, few);
}

/* A row has the bytes that it has by itself, and the batch the sums that its halves have. */
static void test_shares(hk_recurrent_kind kind)
{
    HK_SCOPE;
    const shape its = {
        .kind = kind, .dtype = HK_F32, .n = 64, .steps = 5, .inputs = 6, .units = 24};
    hk_module *layer = layer_of(&its);
    hk_array *x = random_input(&its);
    hk_array *state = state_of(&its), *all[RESULTS], *halves[2][RESULTS];
    run(layer, x, state, NULL, NULL, all);
    for (int i = 0; i < 2; i++)
        run(layer, hk_copy(hk_slice(x, 0, i * 32, i * 32 + 32)),
            hk_copy(hk_slice(state, 0, i * 32, i * 32 + 32)), NULL, NULL, halves[i]);
    for (int i = 0; i < RESULTS; i++) {
        hk_array *joined = i < 3 ? hk_concat(((hk_array *[]){halves[0][i], halves[1][i]}), 2, 0)
                                 : hk_add(halves[0][i], halves[1][i]);
        CHECK(same_bytes(all[i], joined));
    }
    hk_array *one = hk_forward_all(
        layer, (hk_array *[]){hk_slice(x, 0, 37, 38), hk_slice(state, 0, 37, 38)}, 2);
    CHECK(same_bytes(one, hk_slice(all[0], 0, 37, 38)));
    hk_module_release(layer);
}

/* Replays give the bytes of calls. */
static void test_capture(hk_recurrent_kind kind)
{
    HK_SCOPE;
    const shape its = {.kind = kind, .dtype = HK_F32, .n = 20, .steps = 6, .inputs = 4, .units = 8};
    hk_module *layer = layer_of(&its);
    hk_array *x = random_input(&its), *params[PARAMS];
    hk_array *other = random_input(&its);
    hk_forward(layer, x);
    CHECK(hk_module_parameters(layer, params, PARAMS) == PARAMS);
    hk_array *grads[2][PARAMS];
    hk_graph *graph = NULL;
    for (int round = 0; round < 2; round++) {
        if (round == 0) {
            hk_capture_begin(&x, 1);
            hk_record_begin();
            hk_array *loss = hk_sum(hk_square(hk_forward(layer, x)), NULL);
            hk_record_end();
            hk_backward(loss);
            graph = hk_capture_end(&(hk_capture_options){.exact = true});
            hk_replay(graph, &other, 1);
        } else {
            hk_record_begin();
            hk_array *loss = hk_sum(hk_square(hk_forward(layer, other)), NULL);
            hk_record_end();
            CHECK(hk_ok(hk_backward(loss)));
        }
        for (int i = 0; i < PARAMS; i++)
            grads[round][i] = hk_copy(hk_grad(params[i]));
    }
    for (int i = 0; i < PARAMS; i++)
        CHECK(same_bytes(grads[0][i], grads[1][i]));
    hk_graph_release(graph);
    hk_module_release(layer);
}

static bool says(hk_array *x, const char *text)
{
    return strstr(hk_status_message(hk_wait(x)), text) != NULL;
}

/* By the calls of a step, which say what is wrong; and no features at all are as good as any. */
static void test_what_does_not_fit(void)
{
    HK_SCOPE;
    const shape its = {.kind = HK_RECURRENT_LSTM, .n = 2, .steps = 6, .units = 3};
    hk_module *layer = layer_of(&its);
    hk_array *x = hk_zeros(hk_shape(2, 6, 4), HK_F32, here);
    hk_forward(layer, x);
    CHECK(says(hk_forward(layer, hk_zeros(hk_shape(2, 6, 5), HK_F32, here)), "5"));
    hk_array *state = hk_zeros(hk_shape(2, 6), HK_F64, here);
    CHECK(says(hk_forward_all(layer, (hk_array *[]){x, state}, 2), "float64"));
    hk_module_release(layer);
    layer = layer_of(&its);
    hk_array *y = hk_forward(layer, hk_zeros(hk_shape(2, 6, 0), HK_F32, here));
    CHECK(hk_ok(hk_wait(y)) && hk_dim(y, 1) == 6 && hk_dim(y, 2) == 3);
    hk_module_release(layer);
}

int main(void)
{
    hk_seed(5);
    test_random_shapes();
    for (int kind = HK_RECURRENT_TANH; kind <= HK_RECURRENT_LSTM; kind++) {
        test_call_count((hk_recurrent_kind)kind);
        test_shares((hk_recurrent_kind)kind);
        for (int way = 0; way < 2; way++) {
            test_without_state(&(shape){.kind = (hk_recurrent_kind)kind,
                                        .is_reversed = way,
                                        .n = 33,
                                        .steps = 5,
                                        .inputs = 16,
                                        .units = way ? 32 : 300});
        }
        test_capture((hk_recurrent_kind)kind);
    }
    test_what_does_not_fit();
    return check_result();
}
