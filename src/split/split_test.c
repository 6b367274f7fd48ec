/* Splits in one process: gradients are those of the whole network, whatever the devices; orders of pipelines; refusals. */
#include "check.h"

#include <hocket/hocket.h>

#include <math.h>
#include <stdlib.h>

enum { MOST = 4, BATCH = 12, IN = 6, HIDDEN = 8, OUT = 4, MAX_SIZE = 4096 };

static hk_device devices[MOST]; /* of two kinds */

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

/* ---- values ------------------------------------------------------------------------------------------------------------ */

static hk_array *make(int seed, hk_dims shape, hk_device device)
{
    double values[MAX_SIZE];
    int64_t count = 1;
    for (int i = 0; i < shape.ndim; i++)
        count *= shape.dims[i];
    for (int64_t i = 0; i < count; i++)
        values[i] = sin((double)(i * 37 + seed * 101 + 1)) * 0.7;
    return hk_from_host(values, shape, HK_F64, device);
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
    if (hk_size(a) != hk_size(b) || !hk_ok(hk_to_host(a, first, count * sizeof *first)) ||
        !hk_ok(hk_to_host(b, second, count * sizeof *second)))
        return INFINITY;
    for (size_t i = 0; i < count; i++)
        most =
            fmax(most, isnan(first[i]) || isnan(second[i]) ? INFINITY : fabs(first[i] - second[i]));
    return most;
}

static bool close_to(hk_array *a, hk_array *b)
{
    return difference(a, b) < 1e-12;
}

static bool same(hk_array *a, hk_array *b)
{
    return difference(a, b) == 0;
}

static bool fails(hk_array *x, const char *text)
{
    const hk_status *status = hk_wait(x);
    const bool as_said = !hk_ok(status) && strstr(hk_status_message(status), text);
    if (!as_said)
        fprintf(stderr, "%s\n", hk_status_message(status));
    return as_said;
}

/* ---- moves against the same on one device --------------------------------------------------------------------------------- */

/* Some loss of a list that weighs each array in its own way, on the first device. */
static hk_array *weighed(hk_array *const *xs, int n, int skipped)
{
    hk_array *total = NULL;
    for (int i = 0; i < n; i++) {
        if (i == skipped)
            continue;
        hk_array *x = hk_reshape(hk_to_device(xs[i], devices[0]), hk_shape(-1));
        hk_array *w = make(40 + i, hk_shape(hk_size(x)), devices[0]);
        hk_array *part = hk_sum(hk_multiply(hk_square(x), w), NULL);
        total = total ? hk_add(total, part) : part;
    }
    return total;
}

static hk_array *plain_sum(hk_array *const *xs, int n)
{
    hk_array *sum = xs[0];
    for (int i = 1; i < n; i++)
        sum = hk_add(sum, xs[i]);
    return sum;
}

typedef enum move_name { SUM, GATHER, SCATTER, SHARE, JOIN, MOVES } move_name;

static int apply(move_name move, hk_array *const *xs, int n, int axis, hk_array **out)
{
    switch (move) {
    case SUM:
        hk_devices_sum(xs, n, out);
        return n;
    case GATHER:
        hk_devices_all_gather(xs, n, axis, out);
        return n;
    case SCATTER:
        hk_devices_reduce_scatter(xs, n, axis, out);
        return n;
    case SHARE:
        hk_devices_share(xs[0], devices, n, out);
        return n;
    default:
        out[0] = hk_devices_join(xs, n, (hk_device){NULL});
        return 1;
    }
}

/* The same of arrays of one device, by other operators. */
static void apply_plainly(move_name move, hk_array *const *xs, int n, int axis, hk_array **out)
{
    hk_array *sum = plain_sum(xs, n);
    for (int i = 0; i < n; i++) {
        const int64_t each = hk_dim(xs[0], axis) / n;
        out[i] = move == GATHER    ? hk_concat(xs, n, axis)
                 : move == SCATTER ? hk_slice(sum, axis, i * each, (i + 1) * each)
                 : move == SHARE   ? xs[0]
                                   : sum;
    }
}

static void check_move(move_name move, int n, int axis, int skipped)
{
    HK_SCOPE;
    hk_array *xs[MOST], *plain[MOST], *out[MOST], *expected[MOST], *loss, *expected_loss;
    for (int i = 0; i < n; i++) {
        xs[i] = parameter(make(i, hk_shape(4, 12), devices[i]));
        plain[i] = parameter(make(i, hk_shape(4, 12), devices[0]));
    }
    int count;
    {
        HK_RECORD;
        count = apply(move, xs, n, axis, out);
        loss = weighed(out, count, skipped);
        apply_plainly(move, plain, n, axis, expected);
        expected_loss = weighed(expected, count, skipped);
    }
    for (int i = 0; i < count; i++) {
        CHECK(close_to(out[i], expected[i]));
        CHECK(hk_array_device(out[i]).handle == devices[i].handle);
    }
    CHECK(hk_ok(hk_backward(loss)) && hk_ok(hk_backward(expected_loss)));
    for (int i = 0; i < (move == SHARE ? 1 : n); i++) {
        CHECK(close_to(hk_grad(xs[i]), hk_grad(plain[i])));
        CHECK(hk_array_device(hk_grad(xs[i])).handle == devices[i].handle);
    }
}

static void test_moves(void)
{
    for (move_name move = SUM; move < MOVES; move++)
        for (int n = 1; n <= MOST; n++)
            for (int axis = 0; axis < 2; axis++) {
                if (axis == 0 && n == 3)
                    continue; /* does not divide 4 */
                check_move(move, n, axis, -1);
                if (n > 1 && move != JOIN)
                    check_move(move, n, axis, 1);
            }
}

/* Gradients of gradients go through moves. */
static void test_second_gradients(void)
{
    HK_SCOPE;
    hk_array *xs[2], *out[2], *dx, *ddx;
    for (int i = 0; i < 2; i++)
        xs[i] = parameter(make(i, hk_shape(3), devices[i]));
    HK_RECORD;
    hk_devices_sum(xs, 2, out);
    hk_array *loss = hk_sum(hk_multiply(hk_square(out[0]), out[0]), NULL); /* s^3 */
    CHECK(hk_ok(
        hk_gradients(&loss, 1, &xs[1], 1, &(hk_gradients_options){.create_graph = true}, &dx)));
    hk_array *sum = hk_sum(dx, NULL);
    CHECK(hk_ok(hk_gradients(&sum, 1, &xs[0], 1, NULL, &ddx)));
    CHECK(close_to(ddx, hk_multiply_scalar(hk_detach(out[0]), 6)));
}

/* ---- by layer -------------------------------------------------------------------------------------------------------------- */

/* Rows of part i of n of an array along an axis, on a device. */
static hk_array *part_of(hk_array *x, int axis, int i, int n, hk_device device)
{
    const int64_t each = hk_dim(x, axis) / n;
    return parameter(hk_to_device(hk_slice(x, axis, i * each, (i + 1) * each), device));
}

typedef struct mlp {
    hk_array *x, *y;                    /* and the result */
    hk_array *first[MOST], *bias[MOST]; /* columns of the first layer */
    hk_array *second[MOST], *last;      /* rows of the second one; its bias */
} mlp;

/* A column-split layer and a row-split one behind it, over n devices, which may be one. */
static mlp run_mlp(const hk_device *on, int n)
{
    mlp net = {.x = parameter(make(1, hk_shape(BATCH, IN), on[0]))};
    hk_array *first = make(2, hk_shape(HIDDEN, IN), on[0]),
             *bias = make(3, hk_shape(HIDDEN), on[0]);
    hk_array *second = make(4, hk_shape(OUT, HIDDEN), on[0]);
    for (int i = 0; i < n; i++) {
        net.first[i] = part_of(first, 0, i, n, on[i]);
        net.bias[i] = part_of(bias, 0, i, n, on[i]);
        net.second[i] = part_of(second, 1, i, n, on[i]);
    }
    net.last = parameter(make(5, hk_shape(OUT), on[0]));
    hk_array *in[MOST], *part[MOST], *loss;
    {
        HK_RECORD;
        hk_devices_share(net.x, on, n, in);
        for (int i = 0; i < n; i++)
            part[i] = hk_linear(hk_tanh(hk_linear(in[i], net.first[i], net.bias[i])), net.second[i],
                                NULL);
        net.y = hk_add(hk_devices_join(part, n, on[0]), net.last);
        loss = hk_sum(hk_square(net.y), NULL);
    }
    CHECK(hk_ok(hk_backward(loss)));
    return net;
}

static hk_array *grads_together(hk_array *const *xs, int n, int axis)
{
    hk_array *grads[MOST];
    for (int i = 0; i < n; i++)
        grads[i] = hk_to_device(hk_grad(xs[i]), devices[0]);
    return hk_concat(grads, n, axis);
}

static bool mlps_agree(const mlp *a, int n, const mlp *b, int other_n,
                       bool (*agree)(hk_array *, hk_array *))
{
    return agree(a->y, b->y) && agree(hk_grad(a->x), hk_grad(b->x)) &&
           agree(hk_grad(a->last), hk_grad(b->last)) &&
           agree(grads_together(a->first, n, 0), grads_together(b->first, other_n, 0)) &&
           agree(grads_together(a->bias, n, 0), grads_together(b->bias, other_n, 0)) &&
           agree(grads_together(a->second, n, 1), grads_together(b->second, other_n, 1));
}

static void test_linear_halves(void)
{
    const hk_device one[MOST] = {devices[0], devices[0], devices[0], devices[0]};
    for (int n = 2; n <= MOST; n += 2) {
        HK_SCOPE;
        const mlp whole = run_mlp(devices, 1), split = run_mlp(devices, n), here = run_mlp(one, n);
        CHECK(mlps_agree(&split, n, &whole, 1, close_to));
        CHECK(mlps_agree(&split, n, &here, n, same)); /* devices change nothing */
    }
}

/* Halves of the channels of one convolution, which the next one sums over. */
static void run_convolutions(int n, hk_array **y, hk_array *x, hk_array **first, hk_array **second)
{
    hk_array *in[MOST], *part[MOST];
    hk_array *a = make(7, hk_shape(4, 2, 3, 3), devices[0]);
    hk_array *b = make(8, hk_shape(3, 4, 3, 3), devices[0]), *loss;
    for (int i = 0; i < n; i++) {
        first[i] = part_of(a, 0, i, n, devices[i]);
        second[i] = part_of(b, 1, i, n, devices[i]);
    }
    {
        HK_RECORD;
        hk_devices_share(x, devices, n, in);
        for (int i = 0; i < n; i++)
            part[i] =
                hk_conv2d(hk_tanh(hk_conv2d(in[i], first[i], NULL, NULL)), second[i], NULL, NULL);
        *y = hk_devices_join(part, n, devices[0]);
        loss = hk_sum(hk_square(*y), NULL);
    }
    CHECK(hk_ok(hk_backward(loss)));
}

static void test_channel_halves(void)
{
    HK_SCOPE;
    hk_array *ys[2], *xs[2], *first[2][MOST], *second[2][MOST];
    for (int i = 0; i < 2; i++) {
        xs[i] = parameter(make(6, hk_shape(2, 2, 8, 8), devices[0]));
        run_convolutions(i + 1, &ys[i], xs[i], first[i], second[i]);
    }
    CHECK(close_to(ys[0], ys[1]) && close_to(hk_grad(xs[0]), hk_grad(xs[1])));
    CHECK(close_to(hk_grad(first[0][0]), grads_together(first[1], 2, 0)));
    CHECK(close_to(hk_grad(second[0][0]), grads_together(second[1], 2, 1)));
}

/* ---- by network ------------------------------------------------------------------------------------------------------------ */

/* Each step behind what it needs; a stage's forward passes that wait for their backward ones. */
static void check_order(hk_pipeline_order order, int stages, int batches)
{
    const int count = hk_pipeline_steps(order, stages, batches, NULL, 0);
    hk_pipeline_step *steps = calloc((size_t)count, sizeof *steps);
    bool *done = calloc((size_t)count, sizeof *done); /* [backward][stage][batch] */
    int held[16] = {0}, most[16] = {0};
    CHECK_EQ_I64(count, 2 * stages * batches);
    CHECK_EQ_I64(hk_pipeline_steps(order, stages, batches, steps, count), count);
    for (int i = 0; i < count; i++) {
        const int s = steps[i].stage, b = steps[i].batch, all = stages * batches;
        const int here = s * batches + b;
        CHECK(s >= 0 && s < stages && b >= 0 && b < batches);
        if (steps[i].is_backward) {
            CHECK(done[here] && !done[all + here]);
            CHECK(s == stages - 1 || done[all + here + batches]);
            CHECK(b == 0 || done[all + here - 1]); /* gradients are added in one order */
            held[s]--;
        } else {
            CHECK(!done[here] && (s == 0 || done[here - batches]));
            held[s]++;
        }
        most[s] = held[s] > most[s] ? held[s] : most[s];
        done[here + (steps[i].is_backward ? all : 0)] = true;
    }
    for (int s = 0; s < stages; s++) {
        const int wanted =
            order == HK_PIPELINE_GPIPE || stages - s > batches ? batches : stages - s;
        CHECK_EQ_I64(held[s], 0);
        CHECK_EQ_I64(most[s], wanted);
    }
    free(steps);
    free(done);
}

/* Where steps of both kinds take the same time, the last one ends after 2 (batches + stages - 1) of them. */
static void check_length(hk_pipeline_order order, int stages, int batches)
{
    enum { ROOM = 1024 };
    hk_pipeline_step steps[ROOM];
    int end[16] = {0}, forward[ROOM] = {0}, backward[ROOM] = {0}, last = 0;
    const int count = hk_pipeline_steps(order, stages, batches, steps, ROOM);
    for (int i = 0; i < count; i++) {
        const int s = steps[i].stage, here = s * batches + steps[i].batch;
        int begin = end[s];
        const int needed = steps[i].is_backward ? (s == stages - 1 ? 0 : backward[here + batches])
                                                : (s == 0 ? 0 : forward[here - batches]);
        begin = needed > begin ? needed : begin;
        end[s] = begin + 1;
        (steps[i].is_backward ? backward : forward)[here] = end[s];
        last = end[s] > last ? end[s] : last;
    }
    CHECK_EQ_I64(last, 2 * (batches + stages - 1));
}

static void test_orders(void)
{
    for (int order = HK_PIPELINE_GPIPE; order <= HK_PIPELINE_1F1B; order++)
        for (int stages = 1; stages <= 5; stages++)
            for (int batches = 1; batches <= 9; batches++) {
                check_order((hk_pipeline_order)order, stages, batches);
                check_length((hk_pipeline_order)order, stages, batches);
            }
    hk_pipeline_step two[2] = {{-1, -1, false}, {-1, -1, false}};
    CHECK_EQ_I64(hk_pipeline_steps(HK_PIPELINE_GPIPE, 2, 2, two, 1), 8);
    CHECK(two[0].stage == 0 && two[1].stage == -1); /* no more than there is room for */
    CHECK_EQ_I64(hk_pipeline_steps(HK_PIPELINE_GPIPE, 0, 2, NULL, 0), 0);
    CHECK_EQ_I64(hk_pipeline_steps(HK_PIPELINE_GPIPE, 2, 0, NULL, 0), 0);
    CHECK_EQ_I64(hk_pipeline_steps((hk_pipeline_order)7, 2, 2, NULL, 0), 0);
    CHECK_EQ_I64(hk_pipeline_steps(HK_PIPELINE_1F1B, 1 << 20, 1 << 20, NULL, 0), 0);
}

typedef struct line {
    int stages, rows; /* of a micro-batch */
    bool has_inputs;  /* which the pipeline is given */
    hk_array *x, *weights[MOST];
    int asked, failing; /* of forward; the stage that gives NULL, -1: none */
} line;

static hk_array *stage_of(const line *self, int stage, hk_array *x)
{
    return hk_tanh(hk_linear(x, self->weights[stage], NULL));
}

static hk_array *line_forward(void *context, int stage, int batch, hk_array *x)
{
    line *self = context;
    self->asked++;
    CHECK(!x == (stage == 0 && !self->has_inputs));
    if (stage == self->failing)
        return NULL;
    if (!x)
        x = hk_slice(self->x, 0, (int64_t)batch * self->rows, (int64_t)(batch + 1) * self->rows);
    CHECK(hk_array_device(x).handle == devices[stage].handle);
    x = stage_of(self, stage, x);
    return stage == self->stages - 1 ? hk_sum(hk_square(x), NULL) : x;
}

static line line_create(int stages, int batches, bool on_one)
{
    line self = {.stages = stages, .rows = BATCH / batches, .failing = -1};
    self.x = make(9, hk_shape(BATCH, IN), devices[0]);
    for (int s = 0; s < stages; s++) {
        self.weights[s] = parameter(make(10 + s, hk_shape(IN, IN), devices[on_one ? 0 : s]));
        hk_accumulate_grads(&self.weights[s], 1);
    }
    return self;
}

static const hk_status *run_line(line *self, hk_pipeline_order order, hk_array **losses)
{
    hk_array *inputs[BATCH];
    hk_split(self->x, 0, BATCH / self->rows, inputs);
    const hk_pipeline_options options = {.order = order,
                                         .stages = self->stages,
                                         .batches = BATCH / self->rows,
                                         .devices = devices,
                                         .inputs = self->has_inputs ? inputs : NULL,
                                         .forward = line_forward,
                                         .context = self};
    return hk_pipeline_run(&options, losses);
}

static void check_pipeline(int stages, int batches, bool has_inputs)
{
    HK_SCOPE;
    hk_array *losses[2][BATCH], *loss;
    line whole = line_create(stages, 1, true), split[2];
    {
        HK_RECORD;
        hk_array *x = whole.x;
        for (int s = 0; s < stages; s++)
            x = stage_of(&whole, s, x);
        loss = hk_sum(hk_square(x), NULL);
    }
    hk_backward(loss);
    for (int order = 0; order < 2; order++) {
        split[order] = line_create(stages, batches, false);
        split[order].has_inputs = has_inputs;
        CHECK(hk_ok(run_line(&split[order], (hk_pipeline_order)order, losses[order])));
        CHECK_EQ_I64(split[order].asked, stages * batches);
        CHECK(close_to(loss, plain_sum(losses[order], batches)));
        for (int s = 0; s < stages; s++) {
            CHECK(close_to(hk_grad(whole.weights[s]), hk_grad(split[order].weights[s])));
            CHECK(same(hk_grad(split[0].weights[s]), hk_grad(split[order].weights[s])));
        }
    }
}

static void test_pipelines(void)
{
    for (int stages = 1; stages <= MOST; stages++)
        for (int batches = 1; batches <= BATCH; batches++)
            if (BATCH % batches == 0)
                for (int has = 0; has < 2; has++)
                    check_pipeline(stages, batches, has);
}

/* Two stages on one accelerator, of layers whose results are all of the memory. */
static hk_array *wide_forward(void *context, int stage, int batch, hk_array *x)
{
    (void)batch;
    for (int i = 0; i < 4; i++)
        x = hk_tanh(hk_multiply(x, context));
    return stage == 1 ? hk_sum(x, NULL) : x;
}

static uint64_t peak_of(hk_pipeline_order order, hk_device device)
{
    enum { BATCHES = 24, SIZE = 1 << 16 };
    HK_SCOPE;
    hk_array *inputs[BATCHES], *scale = parameter(hk_zeros(hk_shape(SIZE), HK_F64, device));
    for (int i = 0; i < BATCHES; i++)
        inputs[i] = hk_zeros(hk_shape(SIZE), HK_F64, devices[0]);
    const hk_pipeline_options options = {.order = order,
                                         .stages = 2,
                                         .batches = BATCHES,
                                         .devices = (hk_device[]){device, device},
                                         .inputs = inputs,
                                         .forward = wide_forward,
                                         .context = scale};
    hk_wait_all();
    CHECK(hk_ok(hk_pipeline_run(&options, NULL)));
    CHECK(hk_ok(hk_wait_all()));
    return hk_device_get_memory(device).peak_bytes;
}

/* What is held follows from the order, though calls run when their data is there. */
static void test_pipeline_memory(void)
{
    const uint64_t alternating = peak_of(HK_PIPELINE_1F1B, devices[2]);
    CHECK(peak_of(HK_PIPELINE_GPIPE, devices[2]) > 3 * alternating);
}

static void test_pipeline_failures(void)
{
    HK_SCOPE;
    hk_array *losses[2] = {NULL, NULL};
    line net = line_create(3, 2, false);
    net.failing = 1;
    CHECK(!hk_ok(run_line(&net, HK_PIPELINE_1F1B, losses)));
    CHECK(fails(losses[0], "stage 1 gave NULL for micro-batch 0"));
    CHECK(fails(hk_grad(net.weights[2]), "stage 1 gave NULL")); /* as far as it got */
    hk_pipeline_options options = {.stages = 0, .batches = 2, .forward = line_forward};
    CHECK(!hk_ok(hk_pipeline_run(&options, losses)) && fails(losses[1], "stages 0"));
    CHECK(!hk_ok(hk_pipeline_run(NULL, losses)));
    options.forward = NULL;
    CHECK(!hk_ok(hk_pipeline_run(&options, losses)) && fails(losses[0], "forward is NULL"));
    options = (hk_pipeline_options){
        .stages = 2, .batches = 1, .forward = line_forward, .group = hk_group_world()};
    CHECK(!hk_ok(hk_pipeline_run(&options, losses)) && fails(losses[0], "has 1 ranks"));
    clear_failures();
}

/* ---- refusals --------------------------------------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *out[MOST], *x = parameter(make(1, hk_shape(4, 6), devices[0]));
    hk_array *y = parameter(make(1, hk_shape(4, 5), devices[1]));
    CHECK(fails(hk_devices_join((hk_array *[]){x, y}, 2, devices[0]), "array 1 is float64(4,5)"));
    CHECK(fails(hk_devices_join((hk_array *[]){x, NULL}, 2, devices[0]), "array 1 is NULL"));
    CHECK(fails(hk_devices_join(&x, 0, devices[0]), "n is 0"));
    CHECK(fails(hk_devices_join(NULL, 2, devices[0]), "NULL"));
    hk_devices_all_gather((hk_array *[]){x, x}, 2, 2, out);
    CHECK(fails(out[1], "axis is 2, but the arrays have 2 axes"));
    hk_devices_reduce_scatter((hk_array *[]){y, y}, 2, 1, out);
    CHECK(fails(out[0], "axis 1 is 5; 2 devices must divide it"));
    hk_devices_share(x, NULL, 2, out);
    CHECK(fails(out[1], "none missing"));
    hk_devices_share(NULL, devices, 2, out);
    CHECK(fails(out[0], "NULL"));
    hk_devices_sum((hk_array *[]){x, out[0]}, 2, out);
    CHECK(fails(out[1], "NULL"));          /* by its record */
    hk_devices_sum(&x, 1, NULL);           /* counted, not a crash */
    hk_devices_share(x, devices, 2, NULL); /* likewise */
    CHECK(!hk_ok(hk_wait_all()));
    clear_failures();
    {
        HK_RECORD;
        hk_array *bad = hk_devices_join((hk_array *[]){x, y}, 2, devices[0]);
        hk_backward(hk_sum(bad, NULL));
    }
    CHECK(fails(hk_grad(x), "array 1 is")); /* not left as it was */
    CHECK(fails(hk_grad(y), "array 1 is"));
    clear_failures();
}

/* Results belong to the caller where there is no scope, and nothing is left over. */
static void test_ownership(void)
{
    uint64_t before = 0;
    for (int round = 0; round < 3; round++) {
        hk_array *xs[2], *out[2];
        for (int i = 0; i < 2; i++) {
            HK_SCOPE;
            xs[i] = hk_take(parameter(make(i, hk_shape(64, 64), devices[i])));
        }
        hk_record_begin();
        hk_devices_all_gather(xs, 2, 0, out);
        hk_record_end();
        hk_backward_all(out, 2);
        for (int i = 0; i < 2; i++) {
            hk_array_release(out[i]);
            hk_array_release(xs[i]);
        }
        hk_wait_all();
        const uint64_t used = hk_device_get_memory(devices[0]).used_bytes;
        CHECK(round < 2 || used == before);
        before = used;
    }
}

int main(void)
{
    const hk_sim_options sim = {.count = 1, .flops = 1e15, .launch_ns = 1, .link_latency_ns = 1};
    hk_runtime_init(
        &(hk_runtime_options){.cpu_devices = 3, .cpu_cores = 3, .sim = &sim, .sim_count = 1});
    for (int i = 0; i < MOST; i++)
        devices[i] = hk_device_named((const char *const[]){"cpu:0", "cpu:1", "sim:0", "cpu:2"}[i]);
    test_moves();
    test_second_gradients();
    test_linear_halves();
    test_channel_halves();
    test_orders();
    test_pipelines();
    test_pipeline_memory();
    CHECK(hk_ok(hk_wait_all()));
    test_pipeline_failures();
    test_refusals();
    test_ownership();
    return check_result();
}
