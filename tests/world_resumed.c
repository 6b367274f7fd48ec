/* A training whose optimiser's state is in parts, over ranks and devices, saved in between and gone on with on others:
 *
 *   world_resumed FILE FIRST LAST KEEP DEVICES [captured]   steps FIRST to LAST, from FILE unless FIRST is 0; at KEEP it is saved
 *
 * The first rank says a hash of all parameters. Without arguments: on one, two and four devices of one process.
 * tests/world_ranks/resumed.sh has ranks. */
#include "check.h"

#include <hocket/hocket.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4, BATCH = 64, INPUTS = 12, CLASSES = 5, PARAMETERS = 4, STEPS = 6, KEPT = 3 };

typedef struct training {
    hk_group *group;
    int n;
    hk_device devices[MOST];
    hk_module *nets[MOST];
    hk_array *params[PARAMETERS * MOST]; /* [i * n + d] */
    hk_array *images[MOST], *labels[MOST];
    hk_optimizer *optimizer;
    hk_graph *graph;
    bool captures;
} training;

static hk_module *network(void)
{
    return hk_sequential(hk_linear_layer(37, NULL), hk_operator_layer("tanh", NULL, 0),
                         hk_linear_layer(CLASSES, NULL));
}

static hk_module *make_net(training *self, int d)
{
    HK_SCOPE;
    hk_array *own[PARAMETERS];
    hk_module *net = d ? hk_module_replicate(self->nets[0], self->devices[d]) : network();
    hk_forward(net, hk_ones(hk_shape(2, INPUTS), HK_F32, self->devices[d]));
    CHECK(hk_module_parameters(net, own, PARAMETERS) == PARAMETERS);
    for (int i = 0; i < PARAMETERS; i++)
        self->params[i * self->n + d] = own[i];
    return net;
}

static training training_begin(int n, bool captures)
{
    training self = {.group = hk_group_world(), .n = n, .captures = captures};
    hk_seed(3);
    for (int d = 0; d < n; d++) {
        self.devices[d] = hk_device_at(d);
        self.nets[d] = make_net(&self, d);
        const hk_dims shape = hk_shape(BATCH / (n * hk_world_size()), INPUTS);
        self.images[d] = hk_take(hk_zeros(shape, HK_F32, self.devices[d]));
        self.labels[d] = hk_take(hk_zeros(hk_shape(shape.dims[0]), HK_I64, self.devices[d]));
    }
    self.optimizer =
        hk_optimizer_create_sharded("adam", self.params, n, PARAMETERS, self.group,
                                    &(hk_optimizer_options){.lr = 0.01, .batch = BATCH});
    CHECK(hk_ok(hk_optimizer_status(self.optimizer)));
    return self;
}

static void training_end(training *self)
{
    for (int d = 0; d < self->n; d++) {
        hk_module_release(self->nets[d]);
        hk_array_release(self->images[d]);
        hk_array_release(self->labels[d]);
    }
    hk_optimizer_release(self->optimizer);
    hk_graph_release(self->graph);
}

static hk_checkpoint state_of(const training *self)
{
    return (hk_checkpoint){.module = self->nets[0],
                           .replicas = self->nets + 1,
                           .replica_count = self->n - 1,
                           .optimizer = self->optimizer};
}

/* What this device has of the batch of a step. */
static void read_batch(const training *self, int step, int d)
{
    HK_SCOPE;
    const int each = BATCH / (self->n * hk_world_size());
    const int at = step * BATCH + each * (hk_world_rank() * self->n + d);
    hk_array *places = hk_arange(at, at + each, 1, HK_I64, self->devices[d]);
    hk_array *columns = hk_arange(1, INPUTS + 1, 1, HK_F32, self->devices[d]);
    hk_array *rows = hk_reshape(hk_cast(places, HK_F32), hk_shape(each, 1));
    hk_assign(self->images[d], hk_sin(hk_multiply(rows, hk_multiply(columns, 0.37))));
    hk_assign(self->labels[d], hk_remainder(places, CLASSES));
}

static void learn(training *self)
{
    HK_SCOPE;
    hk_array *losses[MOST];
    hk_record_begin();
    for (int d = 0; d < self->n; d++)
        losses[d] = hk_sum(
            hk_softmax_cross_entropy(hk_forward(self->nets[d], self->images[d]), self->labels[d]),
            NULL);
    hk_record_end();
    hk_backward_all(losses, self->n);
    hk_optimizer_step(self->optimizer);
}

static void train_step(training *self, int step)
{
    for (int d = 0; d < self->n; d++)
        read_batch(self, step, d);
    if (self->graph) {
        hk_replay(self->graph, NULL, 0);
    } else if (self->captures) {
        hk_capture_begin(NULL, 0);
        learn(self);
        self->graph = hk_capture_end(NULL);
        CHECK(!hk_status_print(hk_graph_status(self->graph), stderr));
    } else {
        learn(self);
    }
}

/* Of all parameters, which are the same on all devices. */
static uint64_t hash_of(const training *self)
{
    uint64_t first = 0;
    for (int d = 0; d < self->n; d++) {
        uint64_t hash = UINT64_C(14695981039346656037);
        for (int i = 0; i < PARAMETERS; i++) {
            unsigned char bytes[4096];
            hk_array *x = self->params[i * self->n + d];
            const size_t size = (size_t)hk_size(x) * sizeof(float);
            CHECK(size <= sizeof bytes && hk_ok(hk_to_host(x, bytes, size)));
            for (size_t k = 0; k < size; k++)
                hash = (hash ^ bytes[k]) * UINT64_C(1099511628211);
        }
        CHECK(d == 0 || hash == first);
        first = d ? first : hash;
    }
    return first;
}

/* keep: at this step it is saved; it may be none. */
static uint64_t train(const char *path, int first, int last, int keep, int n, bool captures)
{
    training self = training_begin(n, captures);
    hk_checkpoint state = state_of(&self);
    if (first > 0)
        CHECK(!hk_status_print(hk_checkpoint_load(path, &state), stderr) && state.step == first);
    for (int step = first; step < last; step++) {
        if (step == keep) {
            state.step = step;
            CHECK(!hk_status_print(hk_checkpoint_save(path, &state), stderr));
        }
        train_step(&self, step);
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    const uint64_t hash = hash_of(&self);
    training_end(&self);
    return hash;
}

static void test_devices(void)
{
    static const char path[] = "resumed.safetensors";
    const uint64_t wanted = train(path, 0, STEPS, KEPT, 4, false);
    for (int n = 1; n <= 4; n *= 2)
        for (int captures = 0; captures < 2; captures++)
            CHECK(train(path, KEPT, STEPS, -1, n, captures) == wanted);
    CHECK(train(path, 0, STEPS, KEPT, 1, true) == wanted);
    CHECK(train(path, KEPT, STEPS, -1, 4, true) == wanted);
    remove(path);
}

int main(int argc, char **argv)
{
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = MOST});
    if (argc < 6) {
        test_devices();
        hk_runtime_deinit();
        return check_result();
    }
    if (hk_status_print(hk_world_init(NULL), stderr))
        return 1;
    const uint64_t hash =
        train(argv[1], atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), argc > 6);
    if (hk_world_rank() == 0)
        printf("%016" PRIx64 "\n", hash);
    hk_runtime_deinit();
    return check_result();
}
