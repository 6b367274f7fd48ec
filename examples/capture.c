/* A step is captured once and then replayed: the same bytes, for a fraction of what issuing its calls costs. Where arrays
 * are small, that is most of the time. */
#include <hocket/hocket.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 2000, BATCH = 8, INPUTS = 16, HIDDEN = 32 };

/* y = mean(relu(x w) v), and one step downhill. */
static void step(hk_array *x, hk_array **params)
{
    HK_SCOPE; /* what is dropped within the capture needs no memory between replays */
    hk_record_begin();
    hk_array *y = hk_mean(hk_matmul(hk_relu(hk_matmul(x, params[0])), params[1]), NULL);
    hk_record_end();
    hk_backward(y);
    hk_sgd(params, 2, &(hk_sgd_options){.lr = 1e-3});
}

static void params_init(hk_array **params)
{
    hk_device device = hk_device_default();
    hk_seed(1);
    params[0] = hk_random_normal(hk_shape(INPUTS, HIDDEN), HK_F32, device);
    params[1] = hk_random_normal(hk_shape(HIDDEN, 1), HK_F32, device);
    for (int i = 0; i < 2; i++)
        hk_attach_grad(params[i], HK_GRAD_WRITE);
}

int main(void)
{
    HK_SCOPE;
    hk_array *issued[2], *replayed[2], *x[STEPS];
    params_init(issued);
    params_init(replayed);
    for (int i = 0; i < STEPS; i++)
        x[i] = hk_random_normal(hk_shape(BATCH, INPUTS), HK_F32, hk_device_default());
    hk_wait_all();

    int64_t begin = hk_clock_ns();
    for (int i = 0; i < STEPS; i++)
        step(x[i], issued);
    hk_wait_all();
    int64_t middle = hk_clock_ns();

    hk_capture_begin(&x[0], 1);
    step(x[0], replayed); /* it runs as always, and is noted */
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = true});
    for (int i = 1; i < STEPS; i++)
        hk_replay(graph, &x[i], 1);
    hk_wait_all();
    int64_t end = hk_clock_ns();

    printf("%d steps of %d calls: issued %.1f ms, replayed %.1f ms\n", STEPS,
           (int)hk_graph_get_facts(graph).calls, 1e-6 * (double)(middle - begin),
           1e-6 * (double)(end - middle));
    char *text = hk_graph_to_string(graph);
    printf("what a replay does:\n%s", text ? text : "");
    hk_status_print(hk_graph_status(graph), stderr);
    free(text);
    hk_graph_release(graph);

    float a[INPUTS * HIDDEN], b[INPUTS * HIDDEN];
    hk_to_host(issued[0], a, sizeof a);
    hk_to_host(replayed[0], b, sizeof b);
    bool same = !memcmp(a, b, sizeof a);
    printf("the same parameters: %s\n", same ? "yes" : "no");
    return hk_status_print(hk_wait_all(), stderr) || !same;
}
