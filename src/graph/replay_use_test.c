/* What replays are given and what becomes of it: wrong and failed arrays, shared memory, failures within, memory, several
 * threads at once. */
#include "check.h"
#include "engine/engine.h"

#include <hocket/hocket.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { SIDE = 24 };

static const hk_capture_options exact = {.exact = true};

static hk_array *square_of(float first)
{
    float values[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        values[i] = first + (float)(i % 7);
    return hk_from_host(values, hk_shape(SIDE, SIDE), HK_F32, hk_device_default());
}

static bool same(hk_array *x, hk_array *y)
{
    static float a[SIDE * SIDE], b[SIDE * SIDE];
    const hk_status *status = hk_to_host(x, a, sizeof a);
    if (!hk_ok(status) || !hk_ok(status = hk_to_host(y, b, sizeof b))) {
        hk_status_print(status, stderr);
        return false;
    }
    return !memcmp(a, b, sizeof a);
}

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

/* ---- bound arrays that do not fit -------------------------------------------------------------- */

/* All of them fail, each of them says why, and nothing is done. */
static void check_misfit(hk_graph *graph, hk_array *const *bound, int count, const char *message)
{
    uint64_t issued = hk_runtime_get_stats().issued_calls;
    hk_replay(graph, bound, count);
    int line = __LINE__ - 1;
    hk_wait_all();
    CHECK(hk_runtime_get_stats().issued_calls <= issued + 1 + (uint64_t)(count > 0 ? count : 0));
    for (int i = 0; i < count; i++) {
        const hk_status *status = bound[i] ? hk_wait(bound[i]) : hk_wait_all();
        CHECK_STR(hk_status_operation(status), "replay");
        CHECK(strstr(hk_status_message(status), message));
        if (!strstr(hk_status_message(status), message))
            hk_status_print(status, stderr);
        CHECK_EQ_I64(hk_status_line(status), line);
    }
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    clear_failures();
}

static void test_misfits(void)
{
    HK_SCOPE;
    hk_array *x = square_of(1), *y = square_of(2);
    hk_capture_begin((hk_array *[]){x, y}, 2);
    hk_add_into(x, x, y);
    hk_graph *graph = hk_capture_end(&exact);
    hk_device here = hk_device_default(), there = hk_device_at(1);
#define FRESH hk_zeros(hk_shape(SIDE, SIDE), HK_F32, here)
    check_misfit(graph, (hk_array *[]){FRESH}, 1, "count is 1, but the graph was captured with 2");
    check_misfit(graph, (hk_array *[]){FRESH, NULL}, 2, "bound array 1 is NULL");
    check_misfit(
        graph, (hk_array *[]){FRESH, hk_zeros(hk_shape(SIDE), HK_F32, here)}, 2,
        "bound array 1 is float32(24,) on cpu:0 with strides (1,), but must be like the one "
        "captured, float32(24,24) on cpu:0 with strides (24,1)");
    check_misfit(graph, (hk_array *[]){FRESH, hk_transpose(FRESH)}, 2,
                 "bound array 1 is float32(24,24) on cpu:0 with strides (1,24)");
    check_misfit(graph, (hk_array *[]){hk_zeros(hk_shape(SIDE, SIDE), HK_I32, here), FRESH}, 2,
                 "bound array 0 is int32(24,24)");
    check_misfit(graph, (hk_array *[]){hk_zeros(hk_shape(SIDE, SIDE), HK_F32, there), FRESH}, 2,
                 "bound array 0 is float32(24,24) on cpu:1");
    check_misfit(graph, (hk_array *[]){hk_broadcast_to(FRESH, hk_shape(SIDE, SIDE)), FRESH}, 2,
                 "bound array 0 is a broadcast view");
    hk_array *right = FRESH; /* y is only read */
    hk_replay(graph, (hk_array *[]){right, hk_broadcast_to(y, hk_shape(SIDE, SIDE))}, 2);
    CHECK(same(right, y));
    check_misfit(graph, NULL, -1, "");
    check_misfit(graph, NULL, 0, "");
    check_misfit(NULL, (hk_array *[]){FRESH}, 1, "argument graph is NULL");
    hk_graph_release(graph);

    hk_capture_begin(&x, 1);
    hk_item(hk_index(hk_index(x, 0, 0), 0, 0), NULL);
    graph = hk_capture_end(NULL);
    check_misfit(graph, (hk_array *[]){FRESH}, 1, "there is nothing to replay: item cannot be");
    hk_graph_release(graph);
}

/* A failed array fails what depends on it, with its own record, and nothing else. */
static void test_failed_bound(void)
{
    HK_SCOPE;
    hk_array *x = square_of(1), *y = square_of(2), *sum, *other, *last;
    hk_capture_begin((hk_array *[]){x, y}, 2);
    {
        HK_SCOPE;
        hk_array *t = hk_add(x, 1);
        sum = hk_take(hk_matmul(t, y));
        other = hk_take(hk_add(y, 1));
        hk_add_into(x, x, y);
        last = hk_take(hk_add(x, 0));
    }
    hk_graph *graph = hk_capture_end(&exact);
    hk_array *failing[] = {hk_add(square_of(0), hk_zeros(hk_shape(3), HK_F32, hk_device_default())),
                           square_of(1)};
    hk_call_into("divide", failing[1],
                 (hk_array *[]){failing[1], hk_zeros(hk_shape(3), HK_F32, hk_device_default())}, 2,
                 NULL);
    for (int i = 0; i < 2; i++) { /* at its call; in a task */
        hk_array *z = square_of(5);
        hk_replay(graph, (hk_array *[]){failing[i], z}, 2);
        CHECK_STR(hk_status_operation(hk_wait(sum)), i ? "divide" : "add");
        CHECK(strstr(hk_status_message(hk_wait(sum)), "(3,)"));
        CHECK_STR(hk_status_operation(hk_wait(last)), i ? "divide" : "add");
        CHECK(same(other, hk_add(z, 1)));
        CHECK_EQ_I64(hk_status_count(hk_wait_all()), 2);
        /* The next one is whole again. */
        hk_array *w = square_of(7), *expected = hk_add(w, z);
        hk_array *product = hk_matmul(hk_add(w, 1), z);
        hk_replay(graph, (hk_array *[]){w, z}, 2);
        CHECK(same(sum, product));
        CHECK(same(last, expected));
    }
    clear_failures();
    hk_graph_release(graph);
    hk_array_release(sum);
    hk_array_release(other);
    hk_array_release(last);
}

/* Of an array that has failed in some rows, a replay fails where it is given one of them. */
static void test_failed_rows(void)
{
    HK_SCOPE;
    hk_array *data = square_of(1), *row = hk_slice(data, 0, 0, 1), *held;
    hk_capture_begin(&row, 1);
    {
        HK_SCOPE;
        held = hk_take(hk_add(row, 0));
        hk_add_into(row, row, row);
    }
    hk_graph *graph = hk_capture_end(&exact);
    hk_array *bad = hk_slice(data, 0, 3, 5);
    hk_call_into("divide", bad,
                 (hk_array *[]){bad, hk_zeros(hk_shape(3), HK_F32, hk_device_default())}, 2, NULL);
    for (int i = 1; i < 8; i++) {
        bool fails = i == 3 || i == 4;
        row = hk_slice(data, 0, i, i + 1);
        hk_replay(graph, &row, 1);
        CHECK(hk_ok(hk_wait(held)) == !fails);
        CHECK(hk_ok(hk_wait(row)) == !fails);
        CHECK(fails ||
              hk_item(hk_index(hk_index(row, 0, 0), 0, 0), NULL) == 2 * (1 + i * SIDE % 7));
    }
    clear_failures();
    hk_graph_release(graph);
    hk_array_release(held);
}

/* A small call that could be done at once is not, while somebody still reads what it writes, or writes what it reads. */
static void test_order(void)
{
    HK_SCOPE;
    hk_device device = hk_device_default();
    hk_array *slow = hk_ones(hk_shape(400, 400), HK_F32, device);
    hk_array *y = hk_zeros(hk_shape(2), HK_F32, device), *z = hk_zeros(hk_shape(2), HK_F32, device);
    hk_capture_begin(NULL, 0);
    hk_add_into(y, y, 1);
    hk_add_into(z, z, y);
    hk_graph *graph = hk_capture_end(&exact);
    hk_wait_all();
    for (int i = 0; i < 3; i++)
        slow = hk_multiply(hk_matmul(slow, slow), 1.0 / 400);
    hk_array *late = hk_mean(slow, NULL), *read = hk_add(y, late);
    hk_replay(graph, NULL, 0);
    hk_add_into(z, z, late);
    hk_replay(graph, NULL, 0);
    CHECK(fabs(hk_item(hk_index(read, 0, 0), NULL) - 2) < 1e-3);
    CHECK(hk_item(hk_index(y, 0, 1), NULL) == 3);
    CHECK(fabs(hk_item(hk_index(z, 0, 1), NULL) - 7) < 1e-3);
    hk_graph_release(graph);
}

/* A call that fails in a replay carries the name and the line of the call that was captured. */
static void test_failure_within(void)
{
    HK_SCOPE;
    int64_t good[] = {0, 1, 2, 3}, bad[] = {0, 1, 7, 3};
    hk_device device = hk_device_default();
    hk_array *x = hk_zeros(hk_shape(4, 4), HK_F32, device), *loss, *other;
    hk_array *labels = hk_from_host(good, hk_shape(4), HK_I64, device);
    hk_capture_begin(&labels, 1);
    int line = 0;
    {
        HK_SCOPE;
        line = __LINE__ + 1;
        hk_array *each = hk_softmax_cross_entropy(x, labels);
        loss = hk_take(hk_mean(each, NULL));
        other = hk_take(hk_cast(labels, HK_F32));
    }
    hk_graph *graph = hk_capture_end(&exact);
    labels = hk_from_host(bad, hk_shape(4), HK_I64, device);
    hk_replay(graph, &labels, 1);
    const hk_status *status = hk_wait(loss);
    CHECK_STR(hk_status_operation(status), "softmax_cross_entropy");
    CHECK_EQ_I64(hk_status_line(status), line);
    CHECK(strstr(hk_status_file(status), "replay_use_test.c"));
    CHECK(hk_ok(hk_wait(other)));
    clear_failures();
    labels = hk_from_host(good, hk_shape(4), HK_I64, device);
    hk_replay(graph, &labels, 1);
    CHECK(fabs(hk_item(loss, NULL) - log(4)) < 1e-6);
    hk_graph_release(graph);
    hk_array_release(loss);
    hk_array_release(other);
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* Two squares of one array, the second one `rows` behind the first. */
static void overlapping(int64_t rows, hk_array **data, hk_array **x, hk_array **y)
{
    float values[2 * SIDE * SIDE];
    for (int i = 0; i < 2 * SIDE * SIDE; i++)
        values[i] = (float)(i % 5) / 4;
    *data = hk_from_host(values, hk_shape(2 * SIDE, SIDE), HK_F32, hk_device_default());
    *x = hk_slice(*data, 0, 0, SIDE);
    *y = hk_slice(*data, 0, rows, rows + SIDE);
}

static void matmul_into(hk_array *out, hk_array *x, hk_array *y)
{
    hk_call_into("matmul", out, (hk_array *[]){x, y}, 2, NULL);
}

/* What is captured below, with the result in the place where a replay has it. */
static void shared_step(hk_array *x, hk_array *y, hk_array *held)
{
    HK_SCOPE;
    matmul_into(y, x, x);
    matmul_into(held, hk_transpose(y), x);
    hk_add_into(y, x, held);
}

/* Where arrays share memory that did not when captured, kernels do not write what they still read. */
static void test_shared_memory(void)
{
    HK_SCOPE;
    hk_array *x, *y, *data, *x2, *y2, *data2, *held = NULL;
    overlapping(SIDE, &data, &x, &y);
    hk_capture_begin((hk_array *[]){x, y}, 2);
    {
        HK_SCOPE;
        matmul_into(y, x, x);
        held = hk_take(hk_matmul(hk_transpose(y), x));
        hk_add_into(y, x, held);
    }
    hk_graph *graph = hk_capture_end(&exact);
    CHECK(hk_ok(hk_graph_status(graph)));
    const int64_t rows[] = {SIDE, 0, 5, SIDE - 1};
    for (int i = 0; i < 4; i++) {
        hk_array *held2 = hk_contiguous(hk_multiply(held, 1));
        overlapping(rows[i], &data, &x, &y);
        overlapping(rows[i], &data2, &x2, &y2);
        hk_replay(graph, (hk_array *[]){x, y}, 2);
        shared_step(x2, y2, held2);
        CHECK(same(held, held2));
        CHECK(same(x, x2));
        CHECK(same(y, y2));
    }
    /* What the replay makes is given to it. */
    hk_array *held2 = hk_multiply(held, 1);
    hk_replay(graph, (hk_array *[]){held, y}, 2);
    shared_step(held2, y2, held2);
    CHECK(same(held, held2));
    CHECK(same(y, y2));
    clear_failures();
    hk_graph_release(graph);
    hk_array_release(held);
}

/* Between replays temporaries have no memory; held results keep theirs. */
static void test_memory(void)
{
    HK_SCOPE;
    hk_array *x = square_of(1), *held;
    hk_device device = hk_device_default();
    hk_wait_all();
    uint64_t before = hk_device_get_memory(device).used_bytes;
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        held = hk_take(hk_exp(hk_matmul(hk_tanh(hk_matmul(x, x)), x)));
    }
    hk_graph *graph = hk_capture_end(&exact);
    CHECK_EQ_I64(hk_graph_get_facts(graph).temporary_bytes, 3 * sizeof(float) * SIDE * SIDE);
    hk_wait_all();
    uint64_t between = hk_device_get_memory(device).used_bytes;
    CHECK(between > before && between < before + 2 * sizeof(float) * SIDE * SIDE);
    for (int i = 0; i < 10; i++)
        hk_replay(graph, &x, 1);
    hk_wait_all();
    CHECK_EQ_I64(hk_device_get_memory(device).used_bytes, between);
    hk_graph_release(graph);
    hk_array_release(held);
    CHECK_EQ_I64(hk_device_get_memory(device).used_bytes, before);
}

/* Temporaries of replays that have not run yet fill the run-ahead window. */
static void test_window(void)
{
    enum { LIMIT = 1 << 20, ELEMENTS = 1 << 14, REPLAYS = 300 };
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.run_ahead_bytes = LIMIT, .inline_ns = -1})));
    {
        HK_SCOPE;
        hk_array *x = hk_zeros(hk_shape(ELEMENTS), HK_F32, hk_device_default());
        hk_capture_begin(&x, 1);
        {
            HK_SCOPE;
            hk_array *y = x;
            for (int i = 0; i < 10; i++)
                y = hk_add(y, 1);
            hk_add_into(x, y, y);
            hk_multiply_into(x, x, 0.5);
        }
        hk_graph *graph = hk_capture_end(&exact);
        hk_wait_all();
        for (int i = 0; i < REPLAYS; i++)
            hk_replay(graph, &x, 1);
        CHECK(hk_item(hk_index(x, 0, 5), NULL) == 10 * (REPLAYS + 1));
        hk_runtime_stats stats = hk_runtime_get_stats();
        /* The last one is dropped behind a call that makes nothing. */
        CHECK(stats.peak_run_ahead_bytes <= LIMIT + ELEMENTS * sizeof(float));
        CHECK(stats.peak_run_ahead_bytes >= LIMIT / 2);
        CHECK(hk_device_get_memory(hk_device_default()).peak_bytes <= 2 * LIMIT);
        hk_graph_release(graph);
    }
    hk_runtime_deinit();
}

/* ---- several at once --------------------------------------------------------------------------- */

/* The graph goes while its replays run, and so do the arrays that they were given. */
static void test_release(void)
{
    enum { LARGE = 300 };
    HK_SCOPE;
    hk_device device = hk_device_default();
    hk_array *x = hk_multiply(hk_ones(hk_shape(LARGE, LARGE), HK_F32, device), 1.0 / LARGE);
    hk_array *sum = hk_zeros(hk_shape(), HK_F32, device);
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        hk_array *y = x;
        for (int i = 0; i < 5; i++)
            y = hk_matmul(y, x);
        hk_add_into(sum, sum, hk_mean(y, NULL));
    }
    hk_graph *graph = hk_capture_end(&exact);
    for (int i = 0; i < 3; i++) {
        hk_array *other = hk_take(hk_multiply(x, 1));
        hk_replay(graph, &other, 1);
        hk_array_release(other);
    }
    hk_graph_release(graph);
    CHECK(fabs(hk_item(sum, NULL) * LARGE - 4) < 1e-4);
}

typedef struct player {
    hk_graph *graph;
    hk_array *x;
    bool right;
} player;

enum { ROUNDS = 200 };

static void *play(void *argument)
{
    player *self = argument;
    HK_SCOPE;
    for (int i = 0; i < ROUNDS; i++)
        hk_replay(self->graph, &self->x, 1);
    self->right = hk_item(hk_index(hk_index(self->x, 0, 1), 0, 2), NULL) == 3 * ROUNDS;
    return NULL;
}

/* One graph, replayed by two threads on arrays of their own; what it shares is written by both. */
static void test_threads(void)
{
    HK_SCOPE;
    pthread_t threads[2];
    player players[2];
    hk_device device = hk_device_default();
    for (int size = 2; size <= SIDE; size += SIDE - 2) { /* with tasks and without */
        hk_array *x = hk_zeros(hk_shape(size + 1, size + 1), HK_F32, device);
        hk_array *count = hk_zeros(hk_shape(), HK_F32, device);
        hk_capture_begin(&x, 1);
        {
            HK_SCOPE;
            hk_add_into(x, hk_add(hk_add(x, 1), 1), hk_exp(hk_multiply(x, 0)));
            hk_add_into(count, count, 1);
        }
        hk_graph *graph = hk_capture_end(&exact);
        for (int i = 0; i < 2; i++) {
            players[i] = (player){.graph = hk_graph_retain(graph),
                                  .x = hk_zeros(hk_shape(size + 1, size + 1), HK_F32, device)};
            pthread_create(&threads[i], NULL, play, &players[i]);
        }
        hk_graph_release(graph);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            CHECK(players[i].right);
        }
        CHECK(hk_item(count, NULL) == 2 * ROUNDS + 1);
        hk_graph_release(graph);
        hk_graph_release(graph);
    }
    CHECK(hk_ok(hk_wait_all()));
}

/* A replay's tasks are those of the calls: to records, and to those who look at timelines. */
typedef struct issue {
    const char *operation;
    int line, device, queue, operands, pieces;
    bool is_backward;
} issue;

typedef struct issue_list {
    int count;
    issue issues[32];
} issue_list;

static bool note_issue(void *context, const hki_trace_thread_info *thread,
                       const hki_trace_head *head)
{
    issue_list *list = context;
    const hki_trace_issue_record *record = (const void *)head;
    (void)thread;
    if (head->kind == HKI_TRACE_ISSUE && list->count < 32)
        list->issues[list->count++] =
            (issue){record->operation,  record->line,          record->device,
                    record->queue,      record->operand_count, (int)record->piece_count,
                    record->is_backward};
    return true;
}

static void traced_step(hk_array *x, hk_array *parameter)
{
    HK_SCOPE;
    hk_record_begin();
    hk_array *y = hk_mean(hk_tanh(hk_matmul(x, parameter)), NULL);
    hk_record_end();
    hk_backward(y);
    hk_sgd(&parameter, 1, &(hk_sgd_options){.lr = 0.1});
}

static void test_traces(void)
{
    HK_SCOPE;
    static issue_list lists[2];
    hki_runtime *runtime = hki_runtime_default();
    hk_array *x = square_of(1), *parameter = square_of(0);
    hk_graph *graph = NULL;
    hk_attach_grad(parameter, HK_GRAD_WRITE);
    for (int i = 0; i < 2; i++) {
        lists[i].count = 0;
        CHECK(!hki_runtime_trace_begin(runtime, 1 << 22));
        if (graph) {
            hk_replay(graph, &x, 1);
        } else {
            hk_capture_begin(&x, 1);
            traced_step(x, parameter);
            graph = hk_capture_end(&exact);
        }
        hk_wait_all();
        hki_trace_each(hki_runtime_trace_end(runtime), note_issue, &lists[i]);
    }
    CHECK(lists[0].count > 6);
    CHECK_EQ_I64(lists[1].count, lists[0].count);
    int backward = 0;
    for (int i = 0; i < lists[0].count; i++) {
        const issue *a = &lists[0].issues[i], *b = &lists[1].issues[i];
        backward += a->is_backward;
        CHECK_STR(b->operation, a->operation);
        CHECK(b->line == a->line && b->device == a->device && b->queue == a->queue &&
              b->operands == a->operands && b->pieces == a->pieces &&
              b->is_backward == a->is_backward);
    }
    CHECK(backward > 3);
    hk_graph_release(graph);
}

/* Calls between devices whose memory is shared. */
static void test_devices(void)
{
    HK_SCOPE;
    hk_array *x = square_of(1), *sum;
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        hk_array *halves[2];
        const hk_device devices[] = {hk_device_at(0), hk_device_at(1)};
        hk_split_and_load(x, devices, 2, (const int64_t[]){SIDE / 2, SIDE / 2}, halves);
        hk_array *there = hk_exp(halves[1]);
        sum = hk_take(hk_add(halves[0], hk_to_device(there, devices[0])));
    }
    hk_graph *graph = hk_capture_end(&exact);
    CHECK(!hk_status_print(hk_graph_status(graph), stderr));
    float values[SIDE * SIDE / 2];
    x = square_of(2);
    hk_replay(graph, &x, 1);
    CHECK(hk_ok(hk_to_host(sum, values, sizeof values)));
    CHECK(fabs((double)values[1] - (3 + exp(2 + (SIDE * SIDE / 2 + 1) % 7))) < 1e-2);
    hk_graph_release(graph);
    hk_array_release(sum);
}

/* Replays while recording put nothing on the tape. */
static void test_tape(void)
{
    HK_SCOPE;
    hk_array *x = square_of(1), *held;
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_capture_begin(&x, 1);
    held = hk_multiply(x, x);
    hk_graph *graph = hk_capture_end(&exact);
    hk_record_begin();
    hk_replay(graph, &x, 1);
    hk_record_end();
    CHECK(!hk_ok(hk_backward(held)));
    clear_failures();
    hk_graph_release(graph);
}

int main(void)
{
    const hk_runtime_options options[] = {
        {.cpu_devices = 2},
        {.cpu_devices = 2, .inline_ns = -1},
        {.cpu_devices = 2, .engine = HK_ENGINE_SERIAL},
    };
    for (int i = 0; i < 3; i++) {
        CHECK(hk_ok(hk_runtime_init(&options[i])));
        test_misfits();
        test_failed_bound();
        test_failed_rows();
        test_failure_within();
        test_order();
        test_shared_memory();
        test_memory();
        test_release();
        test_threads();
        test_traces();
        test_devices();
        test_tape();
        hk_runtime_deinit();
    }
    test_window();
    return check_result();
}
