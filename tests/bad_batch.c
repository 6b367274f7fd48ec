/* One bad batch does not cost the parameters: a label that there is no class for fails a step, and what it would have updated
 * keeps its bytes, which hk_recover accepts. Called or captured, with labels that the host has seen or that the device has
 * made, on one device and on two, of each kind; and failures and bytes are those of the serial engine. */
#include "check.h"

#include <hocket/hocket.h>
#include <stdlib.h>

enum {
    BATCH = 6,
    INPUTS = 16,
    HIDDEN = 9,
    CLASSES = 4,
    PARAMS = 6,
    ARRAYS = PARAMS +
             5, /* and moving averages, and what is assigned: a product, losses, and their sum */
    MAX_STATES = 2 * (PARAMS + 1),
    MAX_VALUES = 2 * HIDDEN * INPUTS,
    STEPS = 6,
    BAD_STEP = 3,
    BAD_LABEL = 2
};

typedef enum run_as { AS_CALLS, AS_REPLAYS, AS_EXACT_REPLAYS, WAYS } run_as;

typedef struct way {
    const char *kind;
    int devices;
    bool is_adam, is_computed; /* the labels, on the device */
    run_as as;
    bool has_bad_step;
} way;

typedef struct network {
    hk_array *arrays[ARRAYS];
} network;

typedef struct model {
    const way *how;
    network nets[2];
    hk_optimizer *optimizer;
} model;

typedef struct outcome {
    float values[2][ARRAYS][MAX_VALUES], states[MAX_STATES][2 * MAX_VALUES];
    char failures[2][ARRAYS][200]; /* behind the bad step */
} outcome;

static hk_device device_of(const way *how, int index)
{
    char name[32];
    snprintf(name, sizeof name, "%s:%d", how->kind, index);
    return hk_device_named(name);
}

/* ---- the model ---------------------------------------------------------------------------------------------------- */

static hk_array *numbers(hk_dims shape, int first, hk_device device)
{
    float values[MAX_VALUES];
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++)
        size *= shape.dims[i];
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)((i * 37 + first * 101) % 89) / 89 - 0.5f;
    return hk_from_host(values, shape, HK_F32, device);
}

static hk_dims shape_of(int array)
{
    return array == 0    ? hk_shape(HIDDEN, INPUTS)
           : array == 4  ? hk_shape(CLASSES, HIDDEN)
           : array == 5  ? hk_shape(CLASSES)
           : array == 8  ? hk_shape(HIDDEN, HIDDEN)
           : array == 9  ? hk_shape(BATCH)
           : array == 10 ? hk_shape()
                         : hk_shape(HIDDEN);
}

static void model_init(model *self, const way *how)
{
    HK_SCOPE;
    hk_array *params[2 * PARAMS];
    *self = (model){.how = how};
    for (int d = 0; d < how->devices; d++)
        for (int i = 0; i < ARRAYS; i++) {
            hk_array *x = self->nets[d].arrays[i] =
                hk_take(numbers(shape_of(i), i, device_of(how, d)));
            if (i >= PARAMS)
                continue;
            params[d * PARAMS + i] = x;
            hk_attach_grad(x, HK_GRAD_WRITE);
        }
    if (how->is_adam)
        self->optimizer = hk_optimizer_create("adam", params, how->devices * PARAMS, NULL);
}

static void model_drop(model *self)
{
    for (int d = 0; d < self->how->devices; d++)
        for (int i = 0; i < ARRAYS; i++)
            hk_array_release(self->nets[d].arrays[i]);
    hk_optimizer_release(self->optimizer);
}

static int loss_line;

static void backward(const network *self, hk_array *x, hk_array *labels)
{
    HK_SCOPE;
    hk_array *const *p = self->arrays;
    HK_RECORD;
    hk_array *hidden = hk_linear(x, p[0], p[1]);
    hidden = hk_relu(hk_batch_norm_train(hidden, p[2], p[3], p[6], p[7], NULL));
    hk_array *logits = hk_linear(hidden, p[4], p[5]);
    loss_line = __LINE__ + 1;
    hk_array *loss = hk_softmax_cross_entropy(logits, labels);
    hk_backward(loss);
    hk_assign(p[9], hk_detach(loss));
    hk_assign(p[10], hk_sum(hk_detach(loss), NULL));
}

static void step(const model *self, hk_array *const *bound)
{
    HK_SCOPE;
    const int devices = self->how->devices;
    for (int d = 0; d < devices; d++)
        backward(&self->nets[d], bound[2 * d], bound[2 * d + 1]);
    for (int i = 0; i < PARAMS && devices > 1; i++)
        hk_all_reduce(
            (hk_array *[]){hk_grad(self->nets[0].arrays[i]), hk_grad(self->nets[1].arrays[i])}, 2);
    for (int d = 0; d < devices; d++) {
        hk_array *const *p = self->nets[d].arrays;
        hk_array *grad = hk_grad(p[0]);
        hk_assign(p[8], hk_matmul(grad, hk_transpose(grad)));
        if (!self->how->is_adam)
            hk_sgd(p, PARAMS, &(hk_sgd_options){.lr = 0.3, .batch = BATCH});
    }
    if (self->how->is_adam)
        hk_optimizer_step(self->optimizer);
}

/* ---- runs --------------------------------------------------------------------------------------------------------- */

/* The bad label is the last device's. */
static void make_batch(const way *how, int index, hk_array **bound)
{
    int64_t labels[BATCH];
    for (int d = 0; d < how->devices; d++) {
        const hk_device device = device_of(how, d);
        for (int i = 0; i < BATCH; i++)
            labels[i] = (index + d + i) % CLASSES;
        if (how->has_bad_step && index == BAD_STEP && d == how->devices - 1)
            labels[BAD_LABEL] = CLASSES + 3;
        bound[2 * d] = numbers(hk_shape(BATCH, INPUTS), 7 * index + d, device);
        bound[2 * d + 1] = hk_from_host(labels, hk_shape(BATCH), HK_I64, device);
        if (how->is_computed)
            bound[2 * d + 1] = hk_multiply(bound[2 * d + 1], 1);
    }
}

static void read_array(hk_array *x, float *values)
{
    CHECK(!hk_status_print(hk_to_host(x, values, (size_t)hk_size(x) * sizeof *values), stderr));
}

static void read_all(const model *self, outcome *out)
{
    for (int d = 0; d < self->how->devices; d++)
        for (int i = 0; i < ARRAYS; i++)
            read_array(self->nets[d].arrays[i], out->values[d][i]);
    for (int i = 0; i < hk_optimizer_array_count(self->optimizer); i++) {
        hk_array *x = hk_optimizer_array(self->optimizer, i, NULL, 0);
        CHECK(hk_ok(
            hk_to_host(x, out->states[i], (size_t)hk_size(x) * hk_dtype_bytes(hk_array_dtype(x)))));
    }
}

static void note_failures(const model *self, outcome *out)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "labels[%d] is %d,", BAD_LABEL, CLASSES + 3);
    for (int d = 0; d < self->how->devices; d++)
        for (int i = 0; i < ARRAYS; i++) {
            const hk_status *status = hk_wait(self->nets[d].arrays[i]);
            snprintf(out->failures[d][i], sizeof out->failures[d][i], "%s %s %d",
                     hk_status_operation(status), hk_status_message(status),
                     hk_status_line(status));
            CHECK(i >= PARAMS || strstr(hk_status_message(status), wanted));
            CHECK(i >= PARAMS || hk_status_line(status) == loss_line);
        }
}

static void recover(const model *self)
{
    for (int d = 0; d < self->how->devices; d++)
        for (int i = 0; i < ARRAYS; i++)
            hk_recover(self->nets[d].arrays[i]);
    for (int i = 0; i < hk_optimizer_array_count(self->optimizer); i++)
        hk_recover(hk_optimizer_array(self->optimizer, i, NULL, 0));
}

/* Two bad steps in a row, of which the second has failed parameters, too; then all that depends on the label is as it was. */
static void survive(const model *self, hk_graph *graph, hk_array *const *bound, outcome *out)
{
    static outcome before, after;
    memset(&before, 0, sizeof before);
    memset(&after, 0, sizeof after);
    read_all(self, &before);
    for (int i = 0; i < 2; i++)
        if (graph)
            hk_replay(graph, bound, 2 * self->how->devices);
        else
            step(self, bound);
    note_failures(self, out);
    recover(self);
    read_all(self, &after);
    for (int d = 0; d < self->how->devices; d++)
        for (int i = 0; i < ARRAYS; i++)
            if (i < PARAMS || i == PARAMS + 2 || (i > PARAMS + 2 && d == self->how->devices - 1))
                CHECK(!memcmp(before.values[d][i], after.values[d][i], sizeof after.values[d][i]));
    hk_failures_clear();
}

static void run(const way *how, outcome *out)
{
    model self;
    hk_graph *graph = NULL;
    memset(out, 0, sizeof *out);
    model_init(&self, how);
    for (int i = 0; i < STEPS; i++) {
        HK_SCOPE;
        hk_array *bound[4];
        make_batch(how, i, bound);
        if (i == BAD_STEP && how->has_bad_step) {
            survive(&self, graph, bound, out);
        } else if (i == BAD_STEP) {
            continue;
        } else if (graph) {
            hk_replay(graph, bound, 2 * how->devices);
        } else {
            if (how->as != AS_CALLS)
                hk_capture_begin(bound, 2 * how->devices);
            step(&self, bound);
            if (how->as != AS_CALLS)
                graph = hk_capture_end(&(hk_capture_options){.exact = how->as == AS_EXACT_REPLAYS});
        }
    }
    CHECK(!graph || !hk_status_print(hk_graph_status(graph), stderr));
    read_all(&self, out);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_graph_release(graph);
    model_drop(&self);
}

/* ---- comparing ------------------------------------------------------------------------------------------------------ */

static bool is_same(const outcome *a, const outcome *b, int arrays)
{
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < arrays; i++)
            if (memcmp(a->values[d][i], b->values[d][i], sizeof a->values[d][i]))
                return false;
    return true;
}

static void check_failures(const outcome *actual, const outcome *expected)
{
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < ARRAYS; i++)
            CHECK_STR(actual->failures[d][i], expected->failures[d][i]);
}

static void test_way(way how, const outcome *expected)
{
    static outcome good, bad;
    const bool is_chain = how.as == AS_REPLAYS && !strcmp(how.kind, "cpu");
    /* One task, which counts no step where an input has failed: see hk_capture_options.exact. */
    const bool is_recorded = how.as == AS_REPLAYS && !strcmp(how.kind, "cuda");
    how.has_bad_step = true;
    run(&how, &bad);
    if (!is_chain && !(is_recorded && how.is_adam)) { /* chains' sums have an order of their own */
        CHECK(is_same(&bad, expected, ARRAYS));
        CHECK(!memcmp(bad.states, expected->states, sizeof bad.states));
        check_failures(&bad, expected);
    }
    how.has_bad_step = false;
    if (how.is_adam) /* which counts steps */
        return;
    run(&how, &good);
    CHECK(is_same(&good, &bad, PARAMS));
}

static void test_kind(const char *kind, bool is_adam)
{
    static outcome expected[2];
    for (int devices = 1; devices <= 2; devices++) {
        const way how = {
            .kind = kind, .devices = devices, .is_adam = is_adam, .has_bad_step = true};
        CHECK(hk_ok(
            hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2, .engine = HK_ENGINE_SERIAL})));
        run(&how, &expected[devices - 1]);
        hk_runtime_deinit();
    }
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2})));
    for (int i = 0; i < 4 * WAYS; i++) {
        const way how = {.kind = kind,
                         .devices = 1 + i / 2 % 2,
                         .is_adam = is_adam,
                         .is_computed = i % 2,
                         .as = (run_as)(i / 4)};
        test_way(how, &expected[how.devices - 1]);
    }
    hk_runtime_deinit();
}

static bool has_cuda(void)
{
    const char *name = hk_device_name(hk_device_at(hk_device_count() - 1));
    const bool has = !strcmp(name, "cuda:1");
    hk_runtime_deinit();
    return has;
}

int main(void)
{
    const char *fast =
        "2:flops=1e15,memory_bandwidth=1e15,launch=0,link=1e15,latency=0,staging=1e15";
    if (has_cuda()) {
        test_kind("cuda", false);
        test_kind("cuda", true);
        return check_result();
    }
    setenv("HOCKET_SIM", fast, 1);
    for (int i = 0; i < 2; i++) {
        test_kind("cpu", i);
        test_kind("sim", i);
    }
    return check_result();
}
