/* Which form a chain takes, and into how many pieces it is cut: layers alone go by rows, with convolutions samples lie in lanes, and a few samples without a
 * backward pass are images. That all give what the calls give is for other tests. */
#include "check.h"

#include "graph/chain.h"

#include <hocket/hocket.h>

enum { CLASSES = 10, SIDE = 12, KERNELS = 6 };

static hk_array *numbers(hk_dims shape)
{
    return hk_multiply(hk_random_uniform(shape, HK_F32, hk_device_default()), 0.1);
}

/* The form of the last chain of scores from images, and of their gradients; -1: there is none. */
static int form_of_hidden(int64_t samples, int64_t hidden, bool convolves, bool trains, int *chains)
{
    HK_SCOPE;
    hk_array *images = numbers(hk_shape(samples, 1, SIDE, SIDE));
    const int64_t inputs = convolves ? KERNELS * (SIDE - 2) * (SIDE - 2) : SIDE * SIDE;
    hk_array *weights[] = {numbers(hk_shape(KERNELS, 1, 3, 3)), numbers(hk_shape(hidden, inputs)),
                           numbers(hk_shape(CLASSES, hidden))};
    hk_array *labels = hk_zeros(hk_shape(samples), HK_I64, hk_device_default());
    for (int i = 0; i < 3 && trains; i++)
        hk_attach_grad(weights[i], HK_GRAD_WRITE);
    hk_array *bound[] = {images, labels};
    hk_capture_begin(bound, 2);
    hk_record_begin();
    hk_array *x = convolves ? hk_relu(hk_conv2d(images, weights[0], NULL, NULL)) : images;
    x = hk_relu(hk_linear(hk_reshape(x, hk_shape(samples, inputs)), weights[1], NULL));
    x = hk_linear(x, weights[2], NULL);
    if (trains)
        x = hk_softmax_cross_entropy(x, labels);
    hk_record_end();
    if (trains)
        hk_backward(x);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    int form = -1;
    *chains = 0;
    for (int i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].kind != HKI_NODE_CHAIN)
            continue;
        const hki_chain *chain = graph->nodes[i].chain;
        form = (int)chain->form;
        ++*chains;
        for (int j = 0; j < chain->pack_count; j++)
            CHECK(hki_chain_pack_bytes(chain, &chain->packs[j]) < 2 << 20);
        if (form !=
            HKI_CHAIN_OF_IMAGES) { /* so many samples each, that a busy core holds up few of them */
            const int64_t piece = form == HKI_CHAIN_OF_ROWS ? 64 : 32;
            CHECK_EQ_I64(chain->piece_count, hki_sum_cut_by(samples, piece / HKI_SUM_RUN).pieces);
            CHECK_EQ_I64(chain->piece_samples, piece);
        }
    }
    hk_replay(graph, bound, 2);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_graph_release(graph);
    return form;
}

static int form_of(int64_t samples, bool convolves, bool trains)
{
    int chains;
    const int form = form_of_hidden(samples, 32, convolves, trains, &chains);
    return chains == 1 ? form : -1;
}

/* Weights that no cache holds. */
static void test_wide_layers_stay_outside(void)
{
    int chains;
    for (int64_t samples = 1; samples <= 64; samples += 63) {
        CHECK_EQ_I64(form_of_hidden(samples, 4096, false, false, &chains), -1);
        CHECK_EQ_I64(form_of_hidden(samples, 4096, true, false, &chains),
                     samples == 1 ? HKI_CHAIN_OF_IMAGES : HKI_CHAIN_OF_LANES);
        CHECK_EQ_I64(chains, 1);
    }
    form_of_hidden(64, 4096, true, true, &chains);
    CHECK_EQ_I64(chains, 2); /* before them and behind */
}

/* Numbers of a vector are samples, too: blocks have what a cache holds, and pieces are worth a core. */
static void test_blocks_of_vectors(int64_t size, int64_t pieces)
{
    HK_SCOPE;
    hk_array *bound[] = {numbers(hk_shape(size)), numbers(hk_shape(size))};
    hk_capture_begin(bound, 2);
    hk_array *x = hk_multiply(hk_exp(hk_subtract(bound[0], bound[1])), bound[0]);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK_EQ_I64(graph->node_count, 1);
    const hki_chain *chain = graph->nodes[0].kind == HKI_NODE_CHAIN ? graph->nodes[0].chain : NULL;
    CHECK(chain);
    if (chain) {
        CHECK(chain->block_samples >= 1024 && chain->block_bytes <= 128 << 10);
        CHECK(chain->piece_count <= pieces && (chain->piece_count > 1) == (pieces > 1));
    }
    hk_array *called = hk_copy(x);
    hk_assign(x, hk_zeros(hk_shape(1), HK_F32, hk_device_default()));
    hk_replay(graph, bound, 2);
    CHECK(hk_item(hk_all(hk_equal(x, called), NULL), NULL) == 1);
    hk_graph_release(graph);
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    for (int64_t samples = 64; samples <= 200; samples += 68) {
        CHECK_EQ_I64(form_of(samples, false, true), HKI_CHAIN_OF_ROWS);
        CHECK_EQ_I64(form_of(samples, false, false), HKI_CHAIN_OF_ROWS);
        CHECK_EQ_I64(form_of(samples, true, true), HKI_CHAIN_OF_LANES);
    }
    CHECK_EQ_I64(form_of(1, true, false), HKI_CHAIN_OF_IMAGES);
    CHECK_EQ_I64(form_of(1, false, false), HKI_CHAIN_OF_IMAGES);
    test_wide_layers_stay_outside();
    test_blocks_of_vectors(3000, 1);
    test_blocks_of_vectors(1000000, 32);
    hk_runtime_deinit();
    return check_result();
}
