/* What goes wrong in a chain: failures name the call and the element, memory may be short, several threads may replay at
 * once. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <pthread.h>

static hk_array *filled(hk_dims shape, double value, hk_dtype dtype)
{
    return hk_full(shape, value, dtype, hk_device_default());
}

/* The same failure as that of the calls, wherever it is in the batch. */
static void test_element(int64_t row)
{
    HK_SCOPE;
    hk_array *x = filled(hk_shape(150, 4), 1, HK_F32), *held = NULL;
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        held = hk_take(hk_cast(hk_multiply(hk_exp(x), 1), HK_I32));
    }
    hk_graph *graph = hk_capture_end(NULL);
    CHECK_EQ_I64(hk_graph_get_facts(graph).tasks, 1);
    hk_array *bad = filled(hk_shape(150, 4), 1, HK_F32);
    hk_assign(hk_index(hk_index(bad, 0, row), 0, 2), filled(hk_shape(), 100, HK_F32));
    hk_replay(graph, &bad, 1);
    char where[64];
    snprintf(where, sizeof where, "[%d, 2]", (int)row);
    const hk_status *status = hk_wait(held);
    CHECK(hk_status_code(status) == HK_OUT_OF_RANGE);
    CHECK_STR(hk_status_operation(status), "cast");
    if (!strstr(hk_status_message(status), where))
        fprintf(stderr, "row %d: %s\n", (int)row, hk_status_message(status));
    CHECK(strstr(hk_status_message(status), where));
    hk_failures_clear();
    hk_replay(graph, &x, 1);
    CHECK(hk_ok(hk_wait(held)));
    hk_array_release(held);
    hk_graph_release(graph);
}

/* A label that there is no class for, in the last rows of the last piece. */
static void test_label(void)
{
    HK_SCOPE;
    hk_array *x = filled(hk_shape(150, 4), 1, HK_F32), *held = NULL;
    hk_array *labels = filled(hk_shape(150), 3, HK_U8), *bound[] = {x, labels};
    hk_capture_begin(bound, 2);
    {
        HK_SCOPE;
        held = hk_take(hk_sum(hk_softmax_cross_entropy(hk_exp(x), labels), NULL));
    }
    hk_graph *graph = hk_capture_end(NULL);
    hk_array *bad = filled(hk_shape(150), 3, HK_U8);
    hk_assign(hk_slice(bad, 0, 149, 150), filled(hk_shape(), 9, HK_U8));
    hk_replay(graph, (hk_array *[]){x, bad}, 2);
    CHECK(strstr(hk_status_message(hk_wait(held)), "labels[149] is 9"));
    hk_failures_clear();
    hk_array_release(held);
    hk_graph_release(graph);
}

/* A bound array that is written and shares memory is refused; one that is only read is not. */
static void test_shared_memory(void)
{
    HK_SCOPE;
    hk_array *x = filled(hk_shape(64, 4), 1, HK_F32), *y = filled(hk_shape(64, 4), 2, HK_F32);
    hk_array *out = filled(hk_shape(64, 4), 0, HK_F32), *bound[] = {x, y, out};
    hk_capture_begin(bound, 3);
    {
        HK_SCOPE;
        hk_copy_into(out, hk_add(hk_exp(x), hk_tanh(y)));
    }
    hk_graph *graph = hk_capture_end(NULL);
    hk_replay(graph, (hk_array *[]){x, x, out}, 3);
    hk_array *expected = hk_add(hk_exp(x), hk_tanh(x));
    CHECK(fabs(hk_item(hk_sum(hk_abs(hk_subtract(out, expected)), NULL), NULL)) < 1e-3);
    hk_replay(graph, (hk_array *[]){x, y, y}, 3);
    const hk_status *status = hk_wait(y);
    CHECK(hk_ok(status) || strstr(hk_status_message(status), "shares memory"));
    hk_failures_clear();
    hk_graph_release(graph);
}

/* A call that was free to go before the chain, since it does not name what the chain writes: not when it is given the same
 * memory. Where none is written, it is. */
static void test_shared_order(void)
{
    HK_SCOPE;
    hk_array *x = filled(hk_shape(64, 4), 0, HK_F32), *out = filled(hk_shape(64, 4), 2, HK_F32);
    hk_array *part = filled(hk_shape(3), 3, HK_F32), *sum = filled(hk_shape(3), 0, HK_F32);
    hk_capture_begin((hk_array *[]){x, out, part}, 3);
    {
        HK_SCOPE;
        hk_exp_into(out, hk_tanh(x));
        hk_copy_into(out, hk_exp(hk_tanh(x)));
        hk_add_into(sum, sum, part);
    }
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_graph_get_facts(graph).tasks < hk_graph_get_facts(graph).calls);
    hk_array *row = hk_slice(hk_index(out, 0, 5), 0, 0, 3);
    hk_replay(graph, (hk_array *[]){x, out, hk_slice(hk_index(x, 0, 5), 0, 0, 3)}, 3);
    CHECK(hk_item(hk_sum(sum, NULL), NULL) == 9); /* 3 when captured, and 0 */
    hk_assign(out, filled(hk_shape(64, 4), 7, HK_F32));
    hk_replay(graph, (hk_array *[]){x, out, row}, 3);
    CHECK(strstr(hk_status_message(hk_wait(out)), "shares memory"));
    CHECK(hk_item(hk_sum(sum, NULL), NULL) == 9);
    hk_failures_clear();
    hk_graph_release(graph);
}

typedef struct replays {
    hk_graph *graph;
    hk_array *x;
} replays;

static void *replay_often(void *what)
{
    const replays *self = what;
    for (int i = 0; i < 30; i++)
        hk_replay(self->graph, (hk_array **)&self->x, 1);
    return NULL;
}

static void test_threads(void)
{
    HK_SCOPE;
    hk_array *x = filled(hk_shape(200, 2, 6, 6), 1, HK_F32), *held = NULL;
    hk_array *weight = filled(hk_shape(3, 2, 3, 3), 0.1, HK_F32);
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        held = hk_take(hk_sum(hk_tanh(hk_conv2d(x, weight, NULL, NULL)), NULL));
    }
    replays self = {.graph = hk_capture_end(NULL), .x = x};
    double before = hk_item(held, NULL);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_create(&threads[i], NULL, replay_often, &self));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK(fabs(hk_item(held, NULL) - before) < 1e-2);
    hk_array_release(held);
    hk_graph_release(self.graph);
}

enum { MAX_FILLERS = 2000 };

/* Takes what is left of 4 MiB, in blocks of all sizes, as the pool has kept some; the caller releases them. */
static int fill_memory(hk_array **fillers)
{
    int count = 0;
    for (int64_t bytes = 4 << 20; bytes > 1 << 10; bytes -= bytes / 8) {
        for (bool more = true; more && count < MAX_FILLERS;) {
            HK_SCOPE;
            hk_array *filler = filled(hk_shape(bytes), 1, HK_U8);
            more = hk_ok(hk_wait(filler));
            if (more)
                fillers[count++] = hk_take(filler);
        }
    }
    hk_failures_clear();
    return count;
}

/* The workspace has no room: the chain fails, and can be replayed once there is some. */
static void test_memory(void)
{
    static hk_array *fillers[MAX_FILLERS];
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2, .memory_bytes = 4 << 20})));
    {
        HK_SCOPE;
        hk_array *x = filled(hk_shape(256, 4, 8, 8), 1, HK_F32), *held = NULL;
        hk_array *weight = filled(hk_shape(8, 4, 3, 3), 0.1, HK_F32);
        hk_capture_begin(&x, 1);
        {
            HK_SCOPE;
            held = hk_take(hk_sum(hk_tanh(hk_conv2d(x, weight, NULL, NULL)), NULL));
        }
        hk_graph *graph = hk_capture_end(NULL);
        double before = hk_item(held, NULL);
        int short_of_memory = 0;
        for (int i = 0; i < 10; i++) { /* what ended just now may give memory back a little later */
            int count = fill_memory(fillers);
            hk_replay(graph, &x, 1);
            const hk_status *status = hk_wait(held);
            CHECK(hk_ok(status) || hk_status_code(status) == HK_OUT_OF_MEMORY);
            short_of_memory += !hk_ok(status);
            while (count > 0)
                hk_array_release(fillers[--count]);
            hk_wait_all(); /* who made them has let go of them */
            hk_failures_clear();
            hk_replay(graph, &x, 1);
            CHECK(fabs(hk_item(held, NULL) - before) < 1e-2);
        }
        CHECK(short_of_memory > 0);
        hk_array_release(held);
        hk_graph_release(graph);
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    const int64_t rows[] = {0, 37, 63, 64, 149};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        test_element(rows[i]);
    test_label();
    test_shared_memory();
    test_shared_order();
    test_threads();
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    test_memory();
    return check_result();
}
