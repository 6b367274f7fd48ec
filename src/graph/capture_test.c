/* What a capture notes of a thread's calls, and what it refuses, each by its name. */
#include "array/array.h"
#include "check.h"
#include "tests/await_workers.h"

#include <hocket/hocket.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const hk_capture_options exact = {.exact = true};

static hk_array *line(int64_t size, float first)
{
    float values[64];
    for (int64_t i = 0; i < size; i++)
        values[i] = first + (float)i;
    return hk_from_host(values, hk_shape(size), HK_F32, hk_device_default());
}

static bool holds(hk_array *x, int64_t size, float first)
{
    float values[64];
    bool same = hk_size(x) == size && hk_ok(hk_to_host(x, values, (size_t)size * sizeof *values));
    for (int64_t i = 0; same && i < size; i++)
        same = values[i] == first + (float)i;
    return same;
}

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

/* ---- what is noted ----------------------------------------------------------------------------- */

static void test_kinds(void)
{
    HK_SCOPE;
    hk_array *x = line(8, 0), *parameter = line(8, 1), *held;
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        hk_array *dropped = hk_add(x, parameter); /* a temporary */
        held = hk_take(hk_multiply(hk_slice(dropped, 0, 2, 6), 1));
        hk_add_into(parameter, parameter, x);
    }
    hk_graph *graph = hk_capture_end(&exact);
    CHECK(hk_ok(hk_graph_status(graph)));
    hk_graph_facts facts = hk_graph_get_facts(graph);
    CHECK_EQ_I64(facts.calls, 3);
    CHECK_EQ_I64(facts.tasks, 3);
    CHECK_EQ_I64(facts.temporary_bytes, 32);
    CHECK(facts.flops == 8 + 4 + 8);
    char *text = hk_graph_to_string(graph);
    CHECK(strstr(text, "add(bound 0 float32(8,), kept 1 float32(8,)) -> temporary 2 float32(8,) "
                       "@cpu:0  "));
    CHECK(strstr(text, "multiply_scalar(temporary 2 float32(4,)) -> kept 3 float32(4,) @cpu:0"));
    CHECK(strstr(text, "capture_test.c:"));
    free(text);

    hk_array *other = line(8, 100);
    hk_replay(graph, &other, 1);
    float values[8];
    CHECK(hk_ok(hk_to_host(held, values, 4 * sizeof *values)));
    /* The parameter was x + 1, and is 1, 3, 5, … after the captured step. */
    for (int i = 0; i < 4; i++)
        CHECK(values[i] == (float)(100 + (i + 2) + 1 + 2 * (i + 2)));
    hk_graph_release(graph);
    hk_array_release(held);
}

/* A bound array is given as a part of another one, and at each replay as another part. */
static void test_bound_views(void)
{
    HK_SCOPE;
    hk_array *data = hk_reshape(line(32, 0), hk_shape(4, 8)), *sum;
    hk_array *row = hk_slice(data, 0, 1, 2);
    hk_capture_begin(&row, 1);
    {
        HK_SCOPE;
        sum = hk_take(hk_add(hk_index(hk_slice(row, 1, 2, 5), 0, 0), 0));
    }
    hk_graph *graph = hk_capture_end(&exact);
    CHECK(holds(sum, 3, 8 + 2));
    row = hk_slice(data, 0, 3, 4);
    hk_replay(graph, &row, 1);
    CHECK(holds(sum, 3, 24 + 2));
    hk_graph_release(graph);
    hk_array_release(sum);
}

static void test_nothing(void)
{
    hk_capture_begin(NULL, 0);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    CHECK_EQ_I64(hk_graph_get_facts(graph).tasks, 0);
    hk_replay(graph, NULL, 0);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(hk_graph_retain(graph) == graph);
    hk_graph_release(graph);
    hk_graph_release(graph);
    hk_graph_release(NULL);
    CHECK(!hk_ok(hk_graph_status(NULL)));
    CHECK_EQ_I64(hk_graph_get_facts(NULL).calls, 0);
}

/* ---- what is refused --------------------------------------------------------------------------- */

static void call_from_host(hk_array *x)
{
    float value = 1;
    (void)x;
    hk_from_host(&value, hk_shape(1), HK_F32, hk_device_default());
}

static void call_scalar(hk_array *x)
{
    (void)x;
    hk_scalar(1, HK_F32, hk_device_default());
}

static void call_write(hk_array *x)
{
    float values[8] = {0};
    hk_write(x, values, sizeof values);
}

static void call_to_host(hk_array *x)
{
    float values[8];
    hk_to_host(x, values, sizeof values);
}

static void call_item(hk_array *x)
{
    hk_item(hk_index(x, 0, 0), NULL);
}

static void call_print(hk_array *x)
{
    free(hk_to_string(x));
}

static void call_recover(hk_array *x)
{
    hk_recover(x);
}

static void call_seed(hk_array *x)
{
    (void)x;
    hk_seed(1);
}

static void call_first_forward(hk_array *x)
{
    hk_module *module = hk_linear_layer(2, NULL);
    hk_forward(module, x);
    hk_module_release(module);
}

static void call_loader(hk_array *x)
{
    (void)x;
    hk_loader_next(NULL, NULL, NULL);
}

static void call_epoch(hk_array *x)
{
    (void)x;
    hk_loader_start_epoch(NULL, 0);
}

static void call_to_device(hk_array *x)
{
    hk_to_device(x, hk_device_named("sim:0"));
}

static void call_assign(hk_array *x)
{
    hk_array *there = hk_zeros(hk_shape(8), HK_F32, hk_device_named("sim:0"));
    hk_assign(x, there);
}

static void call_replay(hk_array *x)
{
    hk_graph *graph = hk_graph_retain(NULL);
    (void)x;
    hk_replay(graph, NULL, 0);
}

static void call_misfit(hk_array *x)
{
    hk_add(x, hk_zeros(hk_shape(3), HK_F32, hk_device_default()));
}

static void call_misfit_into(hk_array *x)
{
    hk_add_into(x, hk_zeros(hk_shape(3), HK_F32, hk_device_default()), x);
}

static void call_bad_view(hk_array *x)
{
    hk_slice(x, 2, 0, 1);
}

typedef struct refusal {
    void (*call)(hk_array *x);
    const char *operation, *message;
} refusal;

static void test_refusals(void)
{
    static const refusal refusals[] = {
        {call_from_host, "from_host", "from_host cannot be captured"},
        {call_scalar, "scalar", "scalar cannot be captured"},
        {call_write, "write", "write cannot be captured"},
        {call_to_host, "to_host", "to_host cannot be captured"},
        {call_item, "item", "item cannot be captured"},
        {call_print, "print", "print cannot be captured"},
        {call_recover, "recover", "recover cannot be captured"},
        {call_seed, "seed", "seed cannot be captured"},
        {call_first_forward, "module_parameter", "make that one before the capture"},
        {call_loader, "loader_next", "loader_next cannot be captured"},
        {call_epoch, "loader_start_epoch", "loader_start_epoch cannot be captured"},
        {call_to_device, "to_device", "to_device cannot be captured"},
        {call_assign, "assign", "assign cannot be captured"},
        {call_replay, "replay", "replay cannot be captured"},
        {call_misfit, "add", "y of shape (3,) does not go with (8,)"},
        {call_misfit_into, "add", "y of shape (8,) does not go with (3,)"},
        {call_bad_view, "slice", "axis is 2"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        HK_SCOPE;
        const refusal *r = &refusals[i];
        hk_array *x = line(8, 0);
        hk_capture_begin(&x, 1);
        hk_add(x, 1);
        r->call(x);
        hk_seed(1); /* the first counts */
        hk_graph *graph = hk_capture_end(NULL);
        const hk_status *status = hk_graph_status(graph);
        CHECK(!hk_ok(status));
        CHECK_STR(hk_status_operation(status), r->operation);
        CHECK(strstr(hk_status_message(status), r->message));
        if (!strstr(hk_status_message(status), r->message))
            fprintf(stderr, "%s: %s\n", r->operation, hk_status_message(status));
        CHECK(strstr(hk_status_file(status), "capture_test.c"));
        CHECK(hk_status_line(status) > 0);
        CHECK_EQ_I64(hk_graph_get_facts(graph).calls, 0);
        char *text = hk_graph_to_string(graph);
        CHECK(strstr(text, r->message));
        free(text);
        hk_graph_release(graph);
        clear_failures();
    }
}

/* Waiting is not noted, and does no harm. */
static void test_waiting(void)
{
    HK_SCOPE;
    hk_array *x = line(8, 0);
    hk_capture_begin(&x, 1);
    hk_add_into(x, x, x);
    hk_wait(x);
    hk_wait_all();
    hk_wait_device(hk_device_default());
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    CHECK_EQ_I64(hk_graph_get_facts(graph).calls, 1);
    hk_graph_release(graph);
}

/* A task that nobody noted does not go unnoticed. */
static void test_missed_task(void)
{
    static const hki_task_class nothing = {0};
    for (int last = 0; last < 2; last++) {
        HK_SCOPE;
        hk_array *x = line(8, 0);
        hk_capture_begin(&x, 1);
        hki_task *task = hki_task_begin(x->storage->var.runtime, 0, 0, 0);
        hki_task_get_spec(task)->class = &nothing;
        hki_task_get_spec(task)->device = x->storage->device;
        hki_task_get_spec(task)->operation = "nothing";
        hki_task_submit(task);
        if (!last)
            hk_add(x, 1);
        hk_graph *graph = hk_capture_end(NULL);
        CHECK_STR(hk_status_operation(hk_graph_status(graph)), last ? "capture_end" : "add_scalar");
        CHECK(strstr(hk_status_message(hk_graph_status(graph)), "before this one"));
        hk_graph_release(graph);
    }
}

static void check_bound_refused(hk_array *const *bound, int count, const char *message)
{
    hk_capture_begin(bound, count);
    if (count > 0 && bound && bound[0])
        hk_add(bound[0], 1);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(strstr(hk_status_message(hk_graph_status(graph)), message));
    if (!strstr(hk_status_message(hk_graph_status(graph)), message))
        hk_status_print(hk_graph_status(graph), stderr);
    hk_graph_release(graph);
    clear_failures();
}

static void test_wrong_bounds(void)
{
    HK_SCOPE;
    hk_array *x = line(8, 0), *failed = hk_add(line(2, 0), line(3, 0));
    hk_array *head = hk_slice(x, 0, 0, 5), *tail = hk_slice(x, 0, 3, 8);
    check_bound_refused(NULL, 1, "bound is NULL, but count is 1");
    check_bound_refused(&x, -1, "count is -1");
    check_bound_refused((hk_array *[]){x, NULL}, 2, "bound array 1 is NULL");
    check_bound_refused((hk_array *[]){x, failed}, 2, "bound array 1 has failed");
    check_bound_refused((hk_array *[]){x, x}, 2, "ambiguous");
    check_bound_refused((hk_array *[]){x, head}, 2, "");
    /* Each of the two has its part, but both have the middle. */
    for (int i = 0; i < 3; i++) {
        hk_capture_begin((hk_array *[]){head, tail}, 2);
        hk_add(i == 0 ? hk_slice(x, 0, 0, 3) : i == 1 ? hk_slice(x, 0, 3, 5) : x, 1);
        hk_graph *graph = hk_capture_end(NULL);
        CHECK(hk_ok(hk_graph_status(graph)) == (i == 0));
        if (i)
            CHECK(strstr(hk_status_message(hk_graph_status(graph)), "ambiguous"));
        hk_graph_release(graph);
    }
}

/* ---- begin and end ----------------------------------------------------------------------------- */

static void test_nesting(void)
{
    HK_SCOPE;
    hk_array *x = line(8, 0);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(strstr(hk_status_message(hk_graph_status(graph)), "without hk_capture_begin"));
    hk_graph_release(graph);
    hk_capture_begin(&x, 1);
    hk_add_into(x, x, x);
    hk_capture_begin(&x, 1);
    hk_add_into(x, x, x);
    hk_graph *inner = hk_capture_end(NULL);
    CHECK(strstr(hk_status_message(hk_graph_status(inner)), "within a capture"));
    hk_add_into(x, x, x);
    graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    CHECK_EQ_I64(hk_graph_get_facts(graph).calls, 3);
    hk_graph_release(inner);
    hk_graph_release(graph);
}

/* However it is computed, and whether calls are put together or not. */
static void test_flops(void)
{
    HK_SCOPE;
    const hk_device device = {0};
    hk_array *x = hk_ones(hk_shape(2, 3, 8, 8), HK_F32, device),
             *w = hk_ones(hk_shape(5, 3, 3, 3), HK_F32, device),
             *v = hk_ones(hk_shape(7, 5 * 6 * 6), HK_F32, device);
    for (int i = 0; i < 2; i++) {
        hk_capture_begin(NULL, 0);
        {
            HK_SCOPE;
            hk_array *y = hk_relu(hk_conv2d(x, w, NULL, NULL));
            hk_linear(hk_reshape(y, hk_shape(2, -1)), v, NULL);
        }
        hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = i});
        CHECK(hk_graph_get_facts(graph).flops ==
              2 * 2 * 5 * 36 * 27 + 2 * 5 * 36 + 2 * 2 * 7 * 5 * 36);
        hk_graph_release(graph);
    }
    CHECK(hk_graph_get_facts(NULL).flops == 0);
}

static void *add_elsewhere(void *x)
{
    HK_SCOPE;
    hk_add(x, 1);
    hk_seed(1);
    return NULL;
}

/* The thread ends, and its capture with it. */
static void *begin_only(void *argument)
{
    hk_array *x = argument;
    HK_SCOPE;
    hk_capture_begin(&x, 1);
    hk_add(x, 1);
    return NULL;
}

static void test_threads(void)
{
    HK_SCOPE;
    pthread_t thread;
    hk_array *x = line(8, 0);
    hk_capture_begin(&x, 1);
    pthread_create(&thread, NULL, add_elsewhere, x);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, begin_only, x);
    pthread_join(thread, NULL);
    hk_add(x, 1);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    CHECK_EQ_I64(hk_graph_get_facts(graph).calls, 1);
    hk_graph_release(graph);
}

static void test_runtime_ends(void)
{
    hk_array *x = hk_take(line(8, 0));
    hk_capture_begin(&x, 1);
    hk_add_into(x, x, x);
    hk_graph *graph = hk_capture_end(NULL);
    hk_capture_begin(&x, 1);
    hk_runtime_deinit();
    CHECK(hk_ok(hk_runtime_init(NULL)));
    hk_array *y = hk_zeros(hk_shape(8), HK_F32, hk_device_default());
    hk_graph *cut = hk_capture_end(NULL);
    CHECK_EQ_I64(hk_status_code(hk_graph_status(cut)), HK_CANCELLED);
    hk_graph_release(cut);

    hk_replay(graph, &y, 1);
    CHECK_EQ_I64(hk_status_code(hk_wait(y)), HK_CANCELLED);
    CHECK(strstr(hk_status_message(hk_wait(y)), "the graph's runtime"));
    clear_failures();
    hk_array_release(x);
    hk_array_release(y);
    hk_graph_release(graph);
}

static int in_child(hk_graph *graph)
{
    start_in_child();
    /* The parent's capture is of no use here. */
    hk_array *y = hk_zeros(hk_shape(8), HK_F32, hk_device_default());
    hk_graph *own = hk_capture_end(NULL);
    bool right = hk_status_code(hk_graph_status(own)) == HK_FORKED;
    hk_graph_release(own);
    hk_replay(graph, &y, 1);
    right = right && hk_status_code(hk_wait(y)) == HK_FORKED;
    hk_graph_release(graph);
    hk_array_release(y);
    y = line(8, 0);
    hk_capture_begin(&y, 1);
    hk_array_release(hk_add(y, y));
    own = hk_capture_end(NULL);
    right = right && hk_ok(hk_graph_status(own));
    hk_graph_release(own);
    hk_array_release(y);
    return right ? 0 : 1;
}

static bool holds_first(hk_array *x, double value)
{
    HK_SCOPE;
    return hk_item(hk_index(x, 0, 0), NULL) == value;
}

static void test_fork(void)
{
    await_workers();
    hk_array *x = hk_take(line(8, 1));
    hk_capture_begin(&x, 1);
    hk_add_into(x, x, x);
    hk_graph *graph = hk_capture_end(NULL);
    hk_capture_begin(&x, 1);
    hk_add_into(x, x, x);
    pid_t child = fork();
    if (!child)
        _exit(in_child(graph));
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ_I64(status, 0);
    hk_graph *own = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(own)));
    hk_replay(graph, &x, 1);
    hk_replay(own, &x, 1);
    CHECK(holds_first(x, 16));
    hk_graph_release(own);
    hk_graph_release(graph);
    hk_array_release(x);
}

/* What a replay takes, and new arrays that it writes. */
static void test_new_arrays(void)
{
    HK_SCOPE;
    hk_array *x = line(8, 1), *y = line(8, 0), *made[2], *bound[] = {x, line(8, 0), y};
    hk_capture_begin(bound, 3);
    hk_add_into(bound[1], x, x);
    hk_add_into(y, x, y);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK_EQ_I64(hk_graph_bound_count(graph), 3);
    hk_replay_anew(graph, bound, 1, made);
    CHECK(hk_size(made[0]) == 8 && hk_array_dtype(made[0]) == HK_F32 && holds_first(made[0], 2));
    CHECK(strstr(hk_status_message(hk_wait(made[1])), "write all of it before it reads it"));
    made[1] = NULL;
    hk_replay_anew(graph, (hk_array *[]){x, x}, 2, made + 1);
    CHECK(!hk_ok(hk_wait(made[1])));
    made[1] = NULL;
    hk_replay_anew(graph, NULL, 2, made + 1);
    CHECK(strstr(hk_status_message(hk_wait(made[1])), "bound is NULL, but count is 2"));
    CHECK(hk_graph_takes(graph, 0, y) && hk_graph_takes(graph, 2, y));
    CHECK(!hk_graph_takes(graph, 0, line(7, 0)) && !hk_graph_takes(graph, 0, hk_cast(x, HK_F64)));
    CHECK(!hk_graph_takes(graph, 3, y) && !hk_graph_takes(graph, -1, y));
    CHECK(!hk_graph_takes(graph, 0, NULL) && !hk_graph_takes(NULL, 0, y));
    CHECK(!hk_graph_takes(graph, 0, hk_slice(line(16, 0), 0, 0, 16)));
    CHECK(hk_graph_takes(graph, 1, hk_slice(line(16, 0), 0, 4, 12)));
    hk_array *wide = hk_broadcast_to(line(1, 0), hk_shape(8));
    CHECK(!hk_graph_takes(graph, 0, wide) && !hk_graph_takes(graph, 1, wide));
    hk_graph_release(graph);
    clear_failures();
}

int main(void)
{
    const hk_sim_options sim = {.launch_ns = 1, .link_latency_ns = 1};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.sim = &sim, .sim_count = 1})));
    test_kinds();
    test_flops();
    test_bound_views();
    test_nothing();
    test_refusals();
    test_waiting();
    test_missed_task();
    test_wrong_bounds();
    test_new_arrays();
    test_nesting();
    test_threads();
    hk_runtime_deinit();
    CHECK(hk_ok(hk_runtime_init(NULL)));
    test_fork();
    test_runtime_ends();
    hk_runtime_deinit();
    return check_result();
}
