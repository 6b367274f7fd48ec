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

int main(void)
{
    hk_runtime_init(NULL);
    HK_SCOPE;
    hk_array *x = hk_random_normal(hk_shape(8, 4), HK_F32, (hk_device){NULL});
    CHECK(hk_ok(hk_wait(x)) && run(x));
    int failed = 0;
    for (int all = 0; all < 2; all++)
        for (int after = 0; after < 400; after++) {
            failing_begin(after, all);
            const bool is_good = run(x);
            const int count = failing_end();
            failed += !is_good;
            CHECK(count > 0 || is_good);
            hk_wait_all();
            hk_failures_clear();
        }
    printf("%d of 800 runs failed\n", failed);
    CHECK(run(x));
    return check_result();
}
