/* Pipelines in one process: orders of issue, gradients of the whole batch, what is held, failures. */
#include "check.h"

#include "split/split_fixture.h"

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

/* A stage on an accelerator, which could run ahead of a slow one on a CPU device. */
static hk_array *wide_forward(void *context, int stage, int batch, hk_array *x)
{
    hk_array *const *scales = context;
    (void)batch;
    for (int i = 0; i < (stage == 0 ? 4 : 24); i++)
        x = hk_tanh(hk_multiply(x, scales[stage]));
    return stage == 1 ? hk_sum(x, NULL) : x;
}

static uint64_t peak_of(hk_pipeline_order order, hk_device device)
{
    enum { BATCHES = 24, SIZE = 1 << 16 };
    HK_SCOPE;
    hk_array *inputs[BATCHES], *scales[2];
    for (int i = 0; i < 2; i++)
        scales[i] = parameter(hk_zeros(hk_shape(SIZE), HK_F64, i == 0 ? device : devices[1]));
    for (int i = 0; i < BATCHES; i++)
        inputs[i] = hk_zeros(hk_shape(SIZE), HK_F64, devices[0]);
    const hk_pipeline_options options = {.order = order,
                                         .stages = 2,
                                         .batches = BATCHES,
                                         .devices = (hk_device[]){device, devices[1]},
                                         .inputs = inputs,
                                         .forward = wide_forward,
                                         .context = scales};
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

/* A first stage without parameters has nothing to differentiate. */
static hk_array *plain_forward(void *context, int stage, int batch, hk_array *x)
{
    (void)batch;
    return stage == 0 ? hk_tanh(x) : hk_sum(hk_multiply(x, context), NULL);
}

static void test_first_stage_without_parameters(void)
{
    HK_SCOPE;
    hk_array *inputs[2], *scale = parameter(make(1, hk_shape(5), devices[1])), *sum;
    for (int i = 0; i < 2; i++)
        inputs[i] = make(2 + i, hk_shape(5), devices[0]);
    hk_accumulate_grads(&scale, 1);
    for (int order = 0; order < 2; order++) {
        const hk_pipeline_options options = {.order = (hk_pipeline_order)order,
                                             .stages = 2,
                                             .batches = 2,
                                             .devices = devices,
                                             .inputs = inputs,
                                             .forward = plain_forward,
                                             .context = scale};
        CHECK(hk_ok(hk_pipeline_run(&options, NULL)));
    }
    sum = hk_add(hk_tanh(inputs[0]), hk_tanh(inputs[1]));
    CHECK(close_to(hk_grad(scale), hk_multiply(sum, 2)));
}

/* A captured pipeline does it again, to the weights that there are. */
static void test_captured_pipeline(void)
{
    HK_SCOPE;
    line nets[2];
    hk_graph *graph = NULL;
    for (int captured = 0; captured < 2; captured++) {
        line *net = &nets[captured];
        *net = line_create(2, 4, false);
        net->has_inputs = true;
        for (int step = 0; step < 3; step++) {
            if (captured && step == 0)
                hk_capture_begin(NULL, 0);
            if (graph) {
                hk_replay(graph, NULL, 0);
            } else {
                HK_SCOPE;
                hk_accumulate_grads(net->weights, 2);
                CHECK(hk_ok(run_line(net, HK_PIPELINE_1F1B, NULL)));
                hk_sgd(net->weights, 2, &(hk_sgd_options){.lr = 0.1});
            }
            if (captured && step == 0)
                graph = hk_capture_end(&(hk_capture_options){.exact = true});
        }
    }
    CHECK(hk_ok(hk_graph_status(graph)));
    for (int s = 0; s < 2; s++)
        CHECK(same(nets[0].weights[s], nets[1].weights[s]));
    hk_graph_release(graph);
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

int main(void)
{
    start_devices();
    test_orders();
    test_pipelines();
    test_pipeline_memory();
    test_captured_pipeline();
    test_first_stage_without_parameters();
    CHECK(hk_ok(hk_wait_all()));
    test_pipeline_failures();
    return check_result();
}
