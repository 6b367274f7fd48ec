/* Networks on sequences, trained on a CUDA device as on the CPU: embeddings, a recurrent layer of each kind or attention, layer norm,
 * a loss that leaves labels out, clipped gradients, and an optimiser each; as calls, and as a captured step. Losses agree within a bound. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>

enum { WORDS = 11, FEATURES = 8, SAMPLES = 3, LENGTH = 4, STEPS = 5, MOST = 24 };

typedef struct network {
    const char *optimizer;
    int kind; /* an hk_recurrent_kind; -1: attention */
} network;

static hk_module *make(const network *how)
{
    hk_module *body = how->kind < 0
                          ? hk_residual_layer(hk_attention_layer(FEATURES, 2, true), NULL)
                          : hk_recurrent_layer((hk_recurrent_kind)how->kind, FEATURES, false);
    return hk_sequential(hk_embedding_layer(WORDS, FEATURES), body, hk_layer_norm_layer(0),
                         hk_linear_layer(WORDS, NULL));
}

/* One label of each batch is left out. */
static hk_array *words(int step, bool is_labels, hk_device device)
{
    int64_t values[SAMPLES * LENGTH];
    for (int i = 0; i < SAMPLES * LENGTH; i++)
        values[i] = (i * 7 + step * 5 + is_labels) % WORDS;
    if (is_labels)
        values[step] = -100;
    return hk_from_host(values, hk_shape(SAMPLES, LENGTH), HK_I64, device);
}

static void step(hk_module *net, hk_optimizer *optimizer, hk_array *const *params, int count,
                 hk_array *const *bound)
{
    HK_SCOPE;
    const hk_cross_entropy_loss_options ignoring = {.ignores = true, .ignored = -100};
    hk_record_begin();
    hk_array *scores = hk_reshape(hk_forward(net, bound[0]), hk_shape(-1, WORDS));
    hk_array *loss =
        hk_cross_entropy_loss(scores, hk_reshape(bound[1], hk_shape(-1)), NULL, &ignoring);
    hk_record_end();
    hk_backward(loss);
    hk_clip_grad_norm(params, count, 0.5);
    hk_optimizer_step(optimizer);
    hk_assign(bound[2], hk_detach(loss));
}

static void train(const network *how, hk_module *start, hk_device device, bool is_captured,
                  double *losses)
{
    HK_SCOPE;
    hk_module *net = hk_module_replicate(start, device);
    hk_array *params[MOST], *loss = hk_zeros(hk_shape(), HK_F32, device);
    const int count = hk_module_parameters(net, params, MOST);
    hk_optimizer *optimizer = hk_optimizer_create(how->optimizer, params, count, NULL);
    hk_graph *graph = NULL;
    for (int i = 0; i < STEPS; i++) {
        HK_SCOPE;
        hk_array *bound[] = {words(i, false, device), words(i, true, device), loss};
        if (graph) {
            hk_replay(graph, bound, 3);
        } else {
            if (is_captured)
                hk_capture_begin(bound, 3);
            step(net, optimizer, params, count, bound);
            if (is_captured)
                graph = hk_capture_end(NULL);
        }
        losses[i] = hk_item(loss, NULL);
    }
    CHECK(!graph || !hk_status_print(hk_graph_status(graph), stderr));
    CHECK(!graph || hk_graph_get_facts(graph).recorded_replays >= STEPS - 2);
    hk_graph_release(graph);
    hk_optimizer_release(optimizer);
    hk_module_release(net);
}

static void test_network(const network *how, hk_device gpu)
{
    HK_SCOPE;
    double expected[STEPS], actual[STEPS];
    const hk_device host = hk_device_named("cpu:0");
    hk_module *start = make(how);
    hk_forward(start, words(0, false, host)); /* shapes follow from the first call */
    train(how, start, host, false, expected);
    CHECK(expected[STEPS - 1] != expected[0]);
    for (int is_captured = 0; is_captured < 2; is_captured++) {
        train(how, start, gpu, is_captured, actual);
        for (int i = 0; i < STEPS; i++) {
            if (!(fabs(actual[i] - expected[i]) < 2e-4))
                fprintf(stderr, "%s, %d, step %d: %g, not %g\n", how->optimizer, how->kind, i,
                        actual[i], expected[i]);
            CHECK(fabs(actual[i] - expected[i]) < 2e-4);
        }
    }
    hk_module_release(start);
}

int main(void)
{
    static const network networks[] = {{"adam", HK_RECURRENT_GRU},
                                       {"rmsprop", HK_RECURRENT_LSTM},
                                       {"momentum", HK_RECURRENT_TANH},
                                       {"adamw", -1}};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 1})));
    hk_device gpu = {NULL};
    for (int i = 0; i < hk_device_count() && !gpu.handle; i++)
        if (!strcmp(hk_device_kind(hk_device_at(i)), "cuda"))
            gpu = hk_device_at(i);
    hk_seed(3);
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        test_network(&networks[i], gpu);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
