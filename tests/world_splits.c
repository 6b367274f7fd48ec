/* Networks split over ranks, against the whole ones that each rank computes by itself. Run alone, and by launchers: see
 * cmake/world_tests.cmake. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

enum { DEVICES = 2, MAX_RANKS = 8, BATCH = 24, WIDTH = 24, MAX_SIZE = 16384 };

static hk_group *all;
static int rank, size;
static hk_device devices[DEVICES];

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

/* ---- values ------------------------------------------------------------------------------------------------------------- */

static hk_array *make(int seed, hk_dims shape, hk_dtype dtype, hk_device device)
{
    double values[MAX_SIZE];
    int64_t count = 1;
    for (int i = 0; i < shape.ndim; i++)
        count *= shape.dims[i];
    for (int64_t i = 0; i < count; i++)
        values[i] = sin((double)(i * 37 + seed * 101 + 1)) * 0.4;
    return hk_cast(hk_from_host(values, shape, HK_F64, device), dtype);
}

static hk_array *parameter(hk_array *x)
{
    x = hk_copy(x);
    hk_attach_grad(x, HK_GRAD_WRITE);
    return x;
}

/* The largest difference; INFINITY where shapes differ or one has failed. */
static double difference(hk_array *a, hk_array *b)
{
    double first[MAX_SIZE], second[MAX_SIZE], most = 0;
    const size_t count = (size_t)hk_size(a);
    if (hk_size(a) != hk_size(b) ||
        !hk_ok(hk_to_host(hk_cast(a, HK_F64), first, count * sizeof *first)) ||
        !hk_ok(hk_to_host(hk_cast(b, HK_F64), second, count * sizeof *second)))
        return INFINITY;
    for (size_t i = 0; i < count; i++)
        most =
            fmax(most, isnan(first[i]) || isnan(second[i]) ? INFINITY : fabs(first[i] - second[i]));
    return most;
}

static bool close_to(hk_array *a, hk_array *b)
{
    return difference(a, b) < 1e-11;
}

/* This rank's part of n along an axis. */
static hk_array *own_part(hk_array *x, int axis)
{
    const int64_t each = hk_dim(x, axis) / size;
    return hk_slice(x, axis, rank * each, (rank + 1) * each);
}

/* ---- by layer -------------------------------------------------------------------------------------------------------------- */

/* Two pairs of layers, each split by columns, then rows; all ranks compute what is between. */
static void test_layers(void)
{
    HK_SCOPE;
    hk_array *x[2], *weights[2][4], *loss[2];
    for (int split = 0; split < 2; split++) {
        x[split] = parameter(make(0, hk_shape(BATCH, WIDTH), HK_F64, devices[0]));
        for (int i = 0; i < 4; i++) {
            hk_array *whole = make(i + 1, hk_shape(WIDTH, WIDTH), HK_F64, devices[0]);
            weights[split][i] = parameter(split ? own_part(whole, i % 2) : whole);
        }
        HK_RECORD;
        hk_array *y = x[split];
        for (int i = 0; i < 4; i += 2) {
            y = split ? hk_group_share(all, y) : y;
            y = hk_linear(hk_tanh(hk_linear(y, weights[split][i], NULL)), weights[split][i + 1],
                          NULL);
            y = hk_tanh(split ? hk_group_join(all, y) : y);
        }
        loss[split] = hk_sum(hk_square(y), NULL);
        hk_backward(loss[split]);
    }
    CHECK(close_to(loss[0], loss[1]));
    CHECK(close_to(hk_grad(x[0]), hk_grad(x[1]))); /* on all ranks */
    for (int i = 0; i < 4; i++)
        CHECK(close_to(own_part(hk_grad(weights[0][i]), i % 2), hk_grad(weights[1][i])));
}

/* ---- by network -------------------------------------------------------------------------------------------------------------- */

typedef struct line {
    hk_array *weight, *inputs[BATCH];
    int stage, stages;
} line;

static hk_array *stage_forward(void *context, int stage, int batch, hk_array *x)
{
    const line *self = context;
    (void)batch;
    CHECK(stage == self->stage && x);
    x = hk_tanh(hk_linear(x, self->weight, NULL));
    return stage == self->stages - 1 ? hk_sum(hk_square(x), NULL) : x;
}

/* The weight of a stage, with the gradient of the whole network. */
static hk_array *whole_weight(int stage, int stages, hk_array **loss)
{
    hk_array *weights[MAX_RANKS], *x = make(0, hk_shape(BATCH, WIDTH), HK_F64, devices[0]);
    for (int s = 0; s < stages; s++)
        weights[s] = parameter(make(s + 1, hk_shape(WIDTH, WIDTH), HK_F64, devices[0]));
    HK_RECORD;
    for (int s = 0; s < stages; s++)
        x = hk_tanh(hk_linear(x, weights[s], NULL));
    *loss = hk_sum(hk_square(x), NULL);
    hk_backward(*loss);
    return weights[stage];
}

/* Of a pipeline whose stages are the ranks of a group, for samples `begin` to `end`. */
static void run_pipeline(line *self, hk_pipeline_order order, hk_group *group, int64_t begin,
                         int64_t end, int batches, hk_array **losses)
{
    hk_array *x = hk_slice(make(0, hk_shape(BATCH, WIDTH), HK_F64, devices[0]), 0, begin, end);
    hk_dims shapes[MAX_RANKS];
    hk_device homes[MAX_RANKS];
    self->stage = hk_group_rank(group);
    self->stages = hk_group_size(group);
    self->weight = parameter(make(self->stage + 1, hk_shape(WIDTH, WIDTH), HK_F64, devices[0]));
    hk_accumulate_grads(&self->weight, 1);
    hk_split(x, 0, batches, self->inputs);
    for (int s = 0; s < self->stages; s++) {
        shapes[s] = hk_shape((end - begin) / batches, WIDTH);
        homes[s] = devices[0];
    }
    const hk_pipeline_options options = {.order = order,
                                         .stages = self->stages,
                                         .batches = batches,
                                         .devices = homes,
                                         .inputs = self->inputs,
                                         .forward = stage_forward,
                                         .context = self,
                                         .group = group,
                                         .shapes = shapes,
                                         .dtype = HK_F64};
    CHECK(hk_ok(hk_pipeline_run(&options, losses)));
}

static void check_pipeline(hk_pipeline_order order, int batches)
{
    HK_SCOPE;
    hk_array *whole_loss, *losses[BATCH], *whole = whole_weight(rank, size, &whole_loss);
    line net;
    run_pipeline(&net, order, all, 0, BATCH, batches, losses);
    CHECK(close_to(hk_grad(whole), hk_grad(net.weight)));
    if (rank < size - 1) {
        CHECK(!losses[0] && !losses[batches - 1]);
        return;
    }
    hk_array *sum = losses[0];
    for (int b = 1; b < batches; b++)
        sum = hk_add(sum, losses[b]);
    CHECK(close_to(whole_loss, sum));
}

static void test_pipelines(void)
{
    static const int batches[] = {1, 2, 8, 24};
    for (int order = 0; order < 2; order++)
        for (int i = 0; i < 4; i++)
            check_pipeline((hk_pipeline_order)order, batches[i]);
}

/* ---- by data ------------------------------------------------------------------------------------------------------------------- */

enum { COUNT = 4, STEPS = 3 };
static const int64_t sizes[COUNT] = {40, 1, 1003, 4096};

static void make_params(int n, hk_array **params)
{
    for (int i = 0; i < COUNT; i++)
        for (int d = 0; d < n; d++)
            params[i * n + d] = parameter(make(i, hk_shape(sizes[i]), HK_F32, devices[d]));
}

static void fill_grads(hk_array *const *params, int n, int step)
{
    for (int i = 0; i < COUNT; i++)
        for (int d = 0; d < n; d++)
            hk_assign(hk_grad(params[i * n + d]), make(50 + i + 10 * step + 7 * (rank * n + d),
                                                       hk_shape(sizes[i]), HK_F32, devices[d]));
}

static double state_elements(const hk_optimizer *self)
{
    double sum = 0;
    for (int i = 0; i < hk_optimizer_array_count(self); i++) {
        char name[32];
        hk_array *x = hk_optimizer_array(self, i, name, sizeof name);
        sum += strncmp(name, "state.", 6) ? 0 : (double)hk_size(x);
    }
    return sum;
}

/* Whole states are the plain optimiser's, and written into other optimisers they stay what they are: over these ranks and devices,
 * and over the devices of each rank alone. */
static void check_states(hk_optimizer *plain, hk_optimizer *sharded, hk_array **params, int n)
{
    HK_SCOPE;
    hk_array *fresh[COUNT * DEVICES];
    make_params(n, fresh);
    hk_optimizer *again[] = {hk_optimizer_create_sharded("adam", params, n, COUNT, all, NULL),
                             hk_optimizer_create_sharded("adam", fresh, n, COUNT, NULL, NULL)};
    for (int i = 0; i < COUNT; i++) {
        hk_array *whole = hk_optimizer_gather(sharded, i), *own = hk_optimizer_gather(plain, i);
        CHECK_EQ_I64(hk_dim(whole, 0), 2);
        CHECK_EQ_I64(hk_ndim(whole), hk_ndim(params[i * n]) + 1);
        /* On one device sums have the plain optimiser's order. */
        CHECK(difference(whole, own) <= (n == 1 || (size & (size - 1)) == 0 ? 0 : 1e-5));
        CHECK(hk_item(hk_max(hk_abs(whole), NULL), NULL) > 0);
        for (int j = 0; j < 2; j++) {
            hk_optimizer_scatter(again[j], i, whole);
            CHECK(difference(hk_optimizer_gather(again[j], i), whole) == 0);
        }
        hk_array *wrong = hk_zeros(hk_shape(2, 7), HK_F32, devices[0]);
        hk_optimizer_scatter(again[1], i, wrong);
        const hk_status *status = hk_wait(hk_optimizer_gather(again[1], i));
        CHECK_EQ_I64(hk_status_code(status), HK_INVALID_ARGUMENT);
        CHECK(strstr(hk_status_message(status), "float32(2,7), but must be float32(2,"));
        hk_optimizer_scatter(again[1], i, whole);
        CHECK(difference(hk_optimizer_gather(again[1], i), whole) == 0);
    }
    clear_failures();
    CHECK_EQ_I64(hk_status_code(hk_wait(hk_optimizer_gather(sharded, COUNT))), HK_OUT_OF_RANGE);
    hk_optimizer_scatter(sharded, -1, params[0]);
    CHECK_EQ_I64(hk_status_code(hk_wait_all()), HK_OUT_OF_RANGE);
    clear_failures();
    for (int j = 0; j < 2; j++)
        hk_optimizer_release(again[j]);
}

static void check_sharded(int n)
{
    HK_SCOPE;
    hk_array *plain[COUNT * DEVICES], *params[COUNT * DEVICES], *column[COUNT];
    hk_optimizer *optimizers[DEVICES];
    make_params(n, plain);
    make_params(n, params);
    for (int d = 0; d < n; d++) {
        for (int i = 0; i < COUNT; i++)
            column[i] = plain[i * n + d];
        optimizers[d] = hk_optimizer_create("adam", column, COUNT, NULL);
    }
    hk_optimizer *sharded = hk_optimizer_create_sharded("adam", params, n, COUNT, all, NULL);
    for (int step = 0; step < STEPS; step++) {
        hk_array *grads[COUNT * DEVICES];
        fill_grads(plain, n, step);
        fill_grads(params, n, step);
        for (int i = 0; i < COUNT * n; i++)
            grads[i] = hk_grad(plain[i]);
        hk_group_all_reduce(all, grads, n, COUNT, 0);
        for (int d = 0; d < n; d++)
            hk_optimizer_step(optimizers[d]);
        hk_optimizer_step(sharded);
        const bool same_order = n == 1 || (size & (size - 1)) == 0;
        for (int i = 0; i < COUNT * n; i++)
            CHECK(difference(plain[i], params[i]) <= (same_order ? 0 : 1e-5));
    }
    const double total = 40 + 1 + 1003 + 4096;
    CHECK(state_elements(sharded) <= 2 * (total / size + 16 * n));
    check_states(optimizers[0], sharded, params, n);
    for (int d = 0; d < n; d++)
        hk_optimizer_release(optimizers[d]);
    hk_optimizer_release(sharded);
}

/* Of many buckets, the last one smaller. */
static void test_large(void)
{
    enum { SIZE = 2500003 };
    HK_SCOPE;
    hk_array *x[2];
    hk_optimizer *plain, *sharded;
    for (int i = 0; i < 2; i++) {
        hk_array *values = hk_sin(hk_arange(0, SIZE, 1, HK_F32, devices[0]));
        x[i] = parameter(values);
        hk_assign(hk_grad(x[i]), hk_multiply(values, rank + 0.37));
    }
    plain = hk_optimizer_create("momentum", &x[0], 1, NULL);
    sharded = hk_optimizer_create_sharded("momentum", &x[1], 1, 1, all, NULL);
    hk_array *grad = hk_grad(x[0]);
    hk_group_all_reduce(all, &grad, 1, 1, 0);
    hk_optimizer_step(plain);
    hk_capture_begin(NULL, 0);
    hk_optimizer_step(sharded);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(!hk_status_print(hk_graph_status(graph), stderr));
    CHECK(hk_item(hk_max(hk_abs(hk_subtract(x[0], x[1])), NULL), NULL) == 0);
    hk_array *values = hk_cos(hk_arange(0, SIZE, 1, HK_F32, devices[0]));
    for (int i = 0; i < 2; i++)
        hk_assign(hk_grad(x[i]), hk_multiply(values, rank + 0.37));
    hk_group_all_reduce(all, &grad, 1, 1, 0);
    hk_optimizer_step(plain);
    hk_replay(graph, NULL, 0);
    hk_graph_release(graph);
    CHECK(hk_item(hk_max(hk_abs(hk_subtract(x[0], x[1])), NULL), NULL) == 0);
    CHECK(state_elements(sharded) <= SIZE / size + 16 &&
          state_elements(sharded) >= SIZE / size - 16 * size);
    hk_array *whole = hk_optimizer_gather(sharded, 0), *own = hk_optimizer_gather(plain, 0);
    CHECK(hk_item(hk_max(hk_abs(hk_subtract(whole, own)), NULL), NULL) == 0);
    hk_optimizer_release(plain);
    hk_optimizer_release(sharded);
}

/* Two pipelines of two stages, each with half of the batch; ranks of one stage share its optimiser's state. */
static void test_combined(void)
{
    if (size != 4)
        return;
    HK_SCOPE;
    hk_group *pipe = hk_group_split(all, rank % 2, rank),
             *data = hk_group_split(all, rank / 2, rank);
    const hk_optimizer_options options = {.lr = 0.1};
    const int64_t begin = rank % 2 * (BATCH / 2);
    hk_array *loss, *whole = whole_weight(rank / 2, 2, &loss);
    hk_optimizer *plain = hk_optimizer_create("momentum", &whole, 1, &options);
    line net;
    run_pipeline(&net, HK_PIPELINE_1F1B, pipe, begin, begin + BATCH / 2, 3, NULL);
    hk_optimizer *sharded =
        hk_optimizer_create_sharded("momentum", &net.weight, 1, 1, data, &options);
    hk_optimizer_step(plain);
    hk_optimizer_step(sharded);
    CHECK(close_to(whole, net.weight));
    CHECK(state_elements(sharded) == WIDTH * WIDTH / 2);
    hk_optimizer_release(plain);
    hk_optimizer_release(sharded);
}

/* Ranks whose parameters differ in size: the step fails on all. */
static void test_unlike(void)
{
    if (size == 1)
        return;
    HK_SCOPE;
    hk_array *x = parameter(make(0, hk_shape(rank ? 1000 : 3000), HK_F32, devices[0]));
    hk_optimizer *sharded = hk_optimizer_create_sharded("adam", &x, 1, 1, all, NULL);
    hk_optimizer_step(sharded);
    CHECK(!hk_ok(hk_wait(x)));
    clear_failures();
    hk_optimizer_release(sharded);
}

/* ---- batch norm ------------------------------------------------------------------------------------------------------------------ */

/* Losses of parts of a batch whose sum is that of the whole one. */
static hk_array *loss_of(hk_array *y, int64_t begin)
{
    hk_array *weights = make(33, hk_shape(BATCH, WIDTH), HK_F64, devices[0]);
    weights = hk_to_device(hk_slice(weights, 0, begin, begin + hk_dim(y, 0)), hk_array_device(y));
    return hk_sum(hk_multiply(hk_square(y), weights), NULL);
}

static void check_batch_norm(int n)
{
    HK_SCOPE;
    /* per rank, and on each of its devices */
    const int64_t own = BATCH / size, each = own / n;
    hk_array *x = parameter(make(30, hk_shape(BATCH, WIDTH), HK_F64, devices[0]));
    hk_array *gamma = parameter(make(31, hk_shape(WIDTH), HK_F64, devices[0]));
    hk_array *beta = parameter(make(32, hk_shape(WIDTH), HK_F64, devices[0]));
    hk_array *mean = hk_copy(beta), *variance = hk_copy(gamma), *y;
    hk_array *xs[2], *gammas[2], *betas[2], *means[2], *variances[2], *ys[2], *losses[2];
    for (int d = 0; d < n; d++) {
        const int64_t begin = rank * own + d * each;
        xs[d] = parameter(hk_to_device(hk_slice(x, 0, begin, begin + each), devices[d]));
        gammas[d] = parameter(hk_to_device(gamma, devices[d]));
        betas[d] = parameter(hk_to_device(beta, devices[d]));
        means[d] = hk_copy(hk_to_device(mean, devices[d]));
        variances[d] = hk_copy(hk_to_device(variance, devices[d]));
    }
    {
        HK_RECORD;
        y = hk_batch_norm_train(x, gamma, beta, mean, variance, NULL);
        hk_backward(loss_of(y, 0));
        hk_batch_norm_over(all, xs, gammas, betas, means, variances, n, NULL, ys);
        for (int d = 0; d < n; d++)
            losses[d] = loss_of(ys[d], rank * own + d * each);
        hk_backward_all(losses, n);
    }
    hk_array *sums[2 * DEVICES];
    for (int d = 0; d < n; d++) {
        const int64_t begin = rank * own + d * each;
        CHECK(close_to(ys[d], hk_slice(y, 0, begin, begin + each)));
        CHECK(close_to(hk_grad(xs[d]), hk_slice(hk_grad(x), 0, begin, begin + each)));
        CHECK(close_to(means[d], mean) && close_to(variances[d], variance));
        sums[d] = hk_grad(gammas[d]);
        sums[n + d] = hk_grad(betas[d]);
    }
    hk_group_all_reduce(all, sums, n, 2, 0);
    CHECK(close_to(sums[0], hk_grad(gamma)) && close_to(sums[n], hk_grad(beta)));
}

static void test_layer(void)
{
    HK_SCOPE;
    hk_module *over = hk_batch_norm_over_layer(all, 0, 0), *plain = hk_batch_norm_layer(0, 0);
    hk_array *x = make(30, hk_shape(BATCH, WIDTH), HK_F64, devices[0]);
    CHECK(close_to(hk_forward(over, own_part(x, 0)), own_part(hk_forward(plain, x), 0)));
    hk_module_set_training(over, false);
    hk_module_set_training(plain, false);
    CHECK(close_to(hk_forward(over, x), hk_forward(plain, x))); /* by the moving averages */
    hk_module *bad = hk_batch_norm_over_layer(NULL, 0, 0);
    CHECK(!hk_ok(hk_module_status(bad)));
    hk_module_release(bad);
    hk_module_release(over);
    hk_module_release(plain);
    clear_failures();
}

int main(void)
{
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = DEVICES});
    const char *kind = getenv("WORLD_DEVICES"); /* "sim" */
    for (int d = 0; d < DEVICES; d++) {
        char name[32];
        snprintf(name, sizeof name, "%s:%d", kind ? kind : "cpu", d);
        devices[d] = hk_device_named(name);
    }
    if (hk_status_print(hk_world_init(NULL), stderr))
        return 1;
    all = hk_group_world();
    rank = hk_world_rank();
    size = hk_world_size();
    CHECK(getenv("WORLD_RANKS") ? size == atoi(getenv("WORLD_RANKS")) : size == 1);
    test_layers();
    test_pipelines();
    for (int n = 1; n <= DEVICES; n++) {
        check_sharded(n);
        check_batch_norm(n);
    }
    test_large();
    test_combined();
    CHECK(hk_ok(hk_wait_all()));
    test_unlike();
    test_layer();
    hk_runtime_deinit();
    return check_result();
}
