/* Each allocation failing in turn, from making a tree to a step of training: an error or the right values, and afterwards
 * everything works. */
#include "check.h"
#include "failing_memory.h"

#include <hocket/hocket.h>

enum { MOST = 16 };

static hk_module *network(void)
{
    return hk_sequential(hk_linear_layer(4, NULL), hk_batch_norm_layer(0, 0),
                         hk_operator_layer("relu", NULL, 0),
                         hk_residual_layer(hk_linear_layer(4, NULL), NULL));
}

/* Whether a step on two replicas went well. */
static bool run(hk_array *x)
{
    HK_SCOPE;
    hk_module *net = network(), *replica = hk_module_replicate(net, (hk_device){NULL});
    hk_array *params[MOST];
    hk_record_begin();
    hk_array *y = hk_forward(replica, x), *z = hk_forward(net, x);
    hk_record_end();
    bool is_good = hk_ok(hk_backward(y)) && hk_ok(hk_wait(y)) && hk_ok(hk_wait(z));
    const int count = hk_module_parameters(replica, params, MOST);
    is_good = is_good && count == 6;
    for (int i = 0; i < count && i < MOST; i++)
        is_good = hk_ok(hk_wait(hk_grad(params[i]))) && is_good;
    hk_module_release(net);
    hk_module_release(replica);
    return is_good;
}

/* Sequences: a stack of recurrent layers with lengths, norms, positions, names of initial values, averages. */
static bool run_sequences(hk_array *words)
{
    HK_SCOPE;
    const hk_recurrent_stack_options both = {.layers = 2, .is_bidirectional = true, .dropout = 0.5};
    const hk_init half = {.kind = HK_INIT_CONSTANT, .value = 0.5},
                  square = {.kind = HK_INIT_ORTHOGONAL};
    hk_module *begin =
        hk_sequential(hk_padded_embedding_layer(5, 4, 0), hk_sinusoidal_positions_layer(),
                      hk_layer_norm_layer(0), hk_conv1d_layer(4, 1, NULL));
    hk_module *stack = hk_recurrent_stack(HK_RECURRENT_LSTM, 4, &both);
    hk_array *params[MOST], *lengths = hk_index(words, 1, 0);
    bool is_good = hk_ok(hk_module_initialize_named(begin, "beta", &half));
    hk_module_initialize(begin, &square);
    hk_record_begin();
    hk_array *x = hk_forward(begin, words);
    hk_array *y = hk_forward_all(stack, (hk_array *[]){x, NULL, lengths}, 3);
    hk_array *loss =
        hk_cross_entropy_loss(y, words, NULL, &(hk_cross_entropy_loss_options){.axis = -1});
    hk_record_end();
    is_good = hk_ok(hk_backward(loss)) && hk_ok(hk_wait(loss)) && is_good;
    const int count = hk_module_parameters(begin, params, MOST);
    is_good = is_good && count == 5 && hk_module_parameters(stack, NULL, 0) == 16;
    for (int i = 0; i < count; i++)
        is_good = hk_ok(hk_wait(hk_grad(params[i]))) && is_good;
    hk_weight_averages *averages = hk_weight_averages_create(params, count, 0.5);
    hk_weight_averages_update(averages);
    hk_weight_averages_swap(averages);
    is_good = hk_ok(hk_weight_averages_status(averages)) && is_good;
    for (int i = 0; i < count; i++)
        is_good = hk_ok(hk_wait(params[i])) && is_good;
    hk_weight_averages_release(averages);
    hk_module_release(begin);
    hk_module_release(stack);
    return is_good;
}

/* Each of so many runs fails another allocation, or all from one on. Returns how many runs failed. */
static int fail_each(bool (*each)(hk_array *x), hk_array *x, int from, int runs, int step)
{
    int failed = 0;
    for (int all = 0; all < 2; all++)
        for (int i = 0; i < runs; i++) {
            failing_begin(from + i * step, all);
            const bool is_good = each(x);
            const int count = failing_end();
            failed += !is_good;
            CHECK(count > 0 || is_good);
            hk_wait_all();
            hk_failures_clear();
        }
    return failed;
}

int main(void)
{
    hk_runtime_init(NULL);
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(8, 4), HK_F32, (hk_device){NULL});
    CHECK(hk_ok(hk_wait(x)) && run(x));
    hk_array *words = hk_random_int(1, 4, hk_shape(3, 4), HK_I32, (hk_device){NULL});
    CHECK(run_sequences(words));
    printf("%d of 800 runs failed\n", fail_each(run, x, 0, 400, 1));
    printf("%d of 400 runs failed\n", fail_each(run_sequences, words, 0, 200, 11));
    CHECK(run_sequences(words));
    CHECK(run(x));
    return check_result();
}
