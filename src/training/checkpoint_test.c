/* Checkpoints: a training that goes on from one has the bytes of one that never stopped; what does not fit changes nothing. */
#include "tests/io_fixture.h"

#include "data/loader_fixture.h"

enum { BATCH = 20, STOP = 8, STEPS = 14, MOST = 64, DEVICES = 2, STATE_BYTES = 1 << 16 };

/* ---- a training ------------------------------------------------------------------------------------------ */

typedef struct training {
    int device_count;
    hk_device devices[DEVICES];
    hk_module *nets[DEVICES];
    hk_data_set *set;
    hk_loader *loader;
    hk_optimizer *optimizer; /* NULL: hk_sgd */
    hk_generator *generator; /* noise that is added to images */
    hk_array *params[MOST];
    int param_count;
    float losses[STEPS];
} training;

static hk_module *network(int64_t width)
{
    return hk_sequential(hk_conv2d_layer(4, 3, NULL), hk_batch_norm_layer(0, 0),
                         hk_operator_layer("relu", NULL, 0), hk_flatten_layer(),
                         hk_linear_layer(width, NULL), hk_dropout_layer(0.5),
                         hk_linear_layer(10, NULL));
}

/* The parameters are made by a first call; with another seed they are others. */
static void make_nets(training *self, int64_t width)
{
    HK_SCOPE;
    for (int d = 0; d < self->device_count; d++) {
        self->nets[d] = d ? hk_module_replicate(self->nets[0], self->devices[d]) : network(width);
        hk_forward(self->nets[d], hk_ones(hk_shape(2, 1, HEIGHT, WIDTH), HK_F32, self->devices[d]));
        self->param_count += hk_module_parameters(self->nets[d], self->params + self->param_count,
                                                  MOST - self->param_count);
    }
}

static training training_begin(int devices, const char *method, uint64_t seed)
{
    training self = {.device_count = devices, .set = open_train()};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = devices})));
    hk_seed(seed);
    for (int d = 0; d < devices; d++)
        self.devices[d] = hk_device_at(d);
    make_nets(&self, 12);
    if (method)
        self.optimizer = hk_optimizer_create(method, self.params, self.param_count,
                                             &(hk_optimizer_options){.lr = 0.03, .batch = BATCH});
    self.generator = hk_generator_create(seed);
    self.loader = hk_loader_create(self.set, &(hk_loader_options){.batch_size = BATCH,
                                                                  .shuffle = true,
                                                                  .seed = seed,
                                                                  .devices = self.devices,
                                                                  .device_count = devices});
    return self;
}

static void training_end(training *self)
{
    for (int d = 0; d < self->device_count; d++)
        hk_module_release(self->nets[d]);
    hk_optimizer_release(self->optimizer);
    hk_generator_release(self->generator);
    hk_loader_release(self->loader);
    hk_data_set_release(self->set);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_failures_clear();
    hk_runtime_deinit();
}

static hk_checkpoint parts_of(const training *self)
{
    return (hk_checkpoint){.module = self->nets[0],
                           .replicas = self->nets + 1,
                           .replica_count = self->device_count - 1,
                           .optimizer = self->optimizer,
                           .loader = self->loader,
                           .generators = &self->generator,
                           .generator_count = 1};
}

static void update(const training *self)
{
    const int each = self->param_count / self->device_count;
    for (int i = 0; i < each; i++) {
        hk_array *grads[DEVICES];
        for (int d = 0; d < self->device_count; d++)
            grads[d] = hk_grad(self->params[d * each + i]);
        hk_all_reduce(grads, self->device_count);
    }
    if (self->optimizer)
        hk_optimizer_step(self->optimizer);
    else
        hk_sgd(self->params, self->param_count, &(hk_sgd_options){.lr = 0.03, .batch = BATCH});
}

static void train_step(training *self, int step)
{
    HK_SCOPE;
    hk_array *images[DEVICES], *labels[DEVICES], *loss[DEVICES];
    while (!hk_loader_next(self->loader, images, labels))
        continue;
    hk_record_begin();
    for (int d = 0; d < self->device_count; d++) {
        hk_array *noise = hk_random_normal_from(self->generator, 0, 0.1, hk_shape(HEIGHT, WIDTH),
                                                HK_F32, self->devices[d]);
        hk_array *scores = hk_forward(self->nets[d], hk_add(images[d], noise));
        loss[d] = hk_sum(hk_softmax_cross_entropy(scores, labels[d]), NULL);
    }
    hk_record_end();
    for (int d = 0; d < self->device_count; d++) {
        hk_backward(loss[d]);
        self->losses[step] += (float)hk_item(loss[d], NULL);
    }
    update(self);
    if (self->optimizer && step == STOP - 2)
        hk_optimizer_set_lr(self->optimizer, 0.01);
}

/* Every byte that the training keeps on arrays, one after another. */
static size_t state_of(const training *self, char *to)
{
    size_t used = 0;
    hk_array *arrays[4 * MOST];
    int count = 0;
    for (int d = 0; d < self->device_count; d++) {
        hk_module_entry entries[MOST];
        const int own = hk_module_entries(self->nets[d], entries, MOST);
        for (int i = 0; i < own; i++)
            arrays[count++] = entries[i].array;
    }
    for (int i = 0; i < hk_optimizer_array_count(self->optimizer); i++)
        arrays[count++] = hk_optimizer_array(self->optimizer, i, NULL, 0);
    for (int i = 0; i < count; i++) {
        const size_t bytes = (size_t)hk_size(arrays[i]) * hk_dtype_bytes(hk_array_dtype(arrays[i]));
        CHECK(used + bytes <= STATE_BYTES);
        CHECK(hk_ok(hk_to_host(arrays[i], to + used, bytes)));
        used += bytes;
    }
    return used;
}

/* ---- going on -------------------------------------------------------------------------------------------- */

static void test_goes_on(int devices, const char *method)
{
    static char expected[STATE_BYTES], found[STATE_BYTES];
    const char *path = fixture_path("training.safetensors");
    training whole = training_begin(devices, method, 5);
    for (int step = 0; step < STEPS; step++) {
        if (step == STOP) {
            hk_checkpoint state = parts_of(&whole);
            state.step = step;
            state.epoch = -3;
            CHECK(!hk_status_print(hk_checkpoint_save(path, &state), stderr));
        }
        train_step(&whole, step);
    }
    const size_t bytes = state_of(&whole, expected);
    training_end(&whole);

    training rest = training_begin(devices, method, 77);
    hk_checkpoint state = parts_of(&rest);
    CHECK(!hk_status_print(hk_checkpoint_load(path, &state), stderr));
    CHECK(state.step == STOP && state.epoch == -3);
    if (method)
        CHECK(hk_optimizer_get_lr(rest.optimizer) == 0.01);
    for (int step = STOP; step < STEPS; step++)
        train_step(&rest, step);
    CHECK(state_of(&rest, found) == bytes && !memcmp(expected, found, bytes));
    CHECK(!memcmp(whole.losses + STOP, rest.losses + STOP, (STEPS - STOP) * sizeof(float)));
    training_end(&rest);
}

/* Parameters are in the file once, so that any number of devices goes on; buffers come from the first where they must. */
static void test_other_devices(void)
{
    const char *path = fixture_path("devices.safetensors");
    training two = training_begin(2, "adam", 5);
    for (int step = 0; step < 3; step++)
        train_step(&two, step);
    hk_checkpoint state = parts_of(&two);
    CHECK(hk_ok(hk_checkpoint_save(path, &state)));
    training_end(&two);
    training one = training_begin(1, "adam", 6);
    state = parts_of(&one);
    CHECK(!hk_status_print(hk_checkpoint_load(path, &state), stderr));
    CHECK(hk_ok(hk_checkpoint_save(path, &state)));
    training_end(&one);
    training more = training_begin(2, "adam", 7);
    state = parts_of(&more);
    CHECK(!hk_status_print(hk_checkpoint_load(path, &state), stderr));
    hk_module_entry first[MOST], second[MOST];
    const int count = hk_module_entries(more.nets[0], first, MOST);
    hk_module_entries(more.nets[1], second, MOST);
    for (int i = 0; i < count; i++) {
        HK_SCOPE;
        CHECK(
            hk_item(hk_all(hk_equal(first[i].array, hk_to_device(second[i].array, more.devices[0])),
                           NULL),
                    NULL) == 1);
    }
    training_end(&more);
}

/* A network that has not been called takes what the file has, and so do its replicas. */
static void test_before_first_call(void)
{
    const char *path = fixture_path("lazy.safetensors");
    training self = training_begin(2, NULL, 5);
    HK_SCOPE;
    for (int step = 0; step < 3; step++)
        train_step(&self, step);
    hk_checkpoint state = parts_of(&self);
    CHECK(hk_ok(hk_checkpoint_save(path, &state)));
    hk_module *net = network(12), *replica = hk_module_replicate(net, self.devices[1]);
    hk_checkpoint only = {.module = net, .replicas = &replica, .replica_count = 1};
    CHECK(!hk_status_print(hk_checkpoint_load(path, &only), stderr));
    hk_array *x = hk_random_normal(hk_shape(3, 1, HEIGHT, WIDTH), HK_F32, self.devices[0]);
    hk_array *y = hk_to_device(x, self.devices[1]);
    hk_module *const nets[] = {net, replica, self.nets[0], self.nets[1]};
    for (int i = 0; i < 4; i++)
        hk_module_set_training(nets[i], false); /* the averages of batch norm count */
    for (int i = 0; i < 2; i++)
        CHECK(hk_item(hk_all(hk_equal(hk_forward(nets[i], i ? y : x),
                                      hk_forward(nets[2 + i], i ? y : x)),
                             NULL),
                      NULL) == 1);
    hk_module_release(replica);
    hk_module_release(net);
    training_end(&self);
}

/* The program's own arrays and texts; what is left out is left alone. */
static void test_own(void)
{
    const char *path = fixture_path("own.ckpt"); /* no ending that says a format */
    CHECK(hk_ok(hk_runtime_init(NULL)));
    HK_SCOPE;
    hk_array *state = hk_full(hk_shape(2, 3), 5, HK_F64, (hk_device){0});
    const hk_save_entry array = {"state", state};
    const hk_metadata_entry text = {"vocabulary", "abc"};
    hk_seed(4);
    hk_checkpoint saved = {
        .arrays = &array, .array_count = 1, .metadata = &text, .metadata_count = 1, .step = 7};
    CHECK(!hk_status_print(hk_checkpoint_save(path, &saved), stderr));
    hk_archive *archive =
        hk_load(path, (hk_device){0}, &(hk_load_options){.format = HK_FORMAT_SAFETENSORS});
    CHECK_STR(hk_archive_metadata(archive, "vocabulary"), "abc");
    CHECK(hk_archive_has(archive, "array.state") && hk_archive_count(archive) == 1);
    hk_archive_release(archive);
    hk_multiply_into(state, state, 2);
    hk_seed(9);
    hk_checkpoint nothing = {.without_stream = true};
    CHECK(hk_ok(hk_checkpoint_load(path, &nothing)) && nothing.step == 7);
    CHECK(hk_item(hk_index(hk_index(state, 0, 1), 0, 2), NULL) == 10);
    CHECK(hk_generator_get_state(NULL).seed == 9);
    CHECK(hk_ok(hk_checkpoint_load(path, &saved)));
    CHECK(hk_item(hk_index(hk_index(state, 0, 1), 0, 2), NULL) == 5);
    CHECK(hk_generator_get_state(NULL).seed == 4);
    hk_runtime_deinit();
}

/* ---- what does not fit ----------------------------------------------------------------------------------- */

/* Loading is refused with that text, and every byte and position is what it was. */
static void check_refused(training *self, const char *path, hk_checkpoint state, hk_code code,
                          const char *text)
{
    static char before[STATE_BYTES], after[STATE_BYTES];
    const size_t bytes = state_of(self, before);
    const hk_loader_position at = hk_loader_get_position(self->loader);
    const hk_generator_state stream = hk_generator_get_state(NULL);
    state.step = 99;
    fixture_check_message(hk_checkpoint_load(path, &state), code, text);
    CHECK(hk_status_line(hk_checkpoint_load(path, &state)) == __LINE__);
    CHECK(state.step == 99);
    CHECK(state_of(self, after) == bytes && !memcmp(before, after, bytes));
    const hk_loader_position now = hk_loader_get_position(self->loader);
    CHECK(at.seed == now.seed && at.batch == now.batch && at.epoch == now.epoch);
    CHECK(stream.position == hk_generator_get_state(NULL).position);
}

static void test_misfits(void)
{
    const char *path = fixture_path("fits.safetensors");
    training self = training_begin(1, "adam", 5);
    hk_checkpoint state = parts_of(&self);
    CHECK(hk_ok(hk_checkpoint_save(path, &state)));
    train_step(&self, 0);

    training wide = {.device_count = 1, .devices = {self.devices[0]}};
    make_nets(&wide, 13);
    state.module = wide.nets[0];
    state.optimizer = NULL;
    check_refused(&self, path, state, HK_INVALID_ARGUMENT,
                  "module.4.weight is float32(13,24), but in the file float32(12,24)");
    hk_module *longer = hk_sequential(hk_module_retain(wide.nets[0]), hk_linear_layer(3, NULL));
    {
        HK_SCOPE;
        hk_forward(longer, hk_ones(hk_shape(2, 1, HEIGHT, WIDTH), HK_F32, self.devices[0]));
    }
    state.module = longer;
    check_refused(&self, path, state, HK_INVALID_ARGUMENT, "the file has module.0.weight, which");
    hk_module_release(longer);
    state.module = hk_sequential(hk_flatten_layer(), hk_linear_layer(3, NULL)); /* never called */
    check_refused(&self, path, state, HK_INVALID_ARGUMENT, "the file has module.4.weight, which");
    CHECK(hk_module_entries(state.module, NULL, 0) == 0);
    hk_module_release(state.module);
    hk_module_release(wide.nets[0]);

    state = parts_of(&self);
    state.optimizer = hk_optimizer_create("momentum", self.params, self.param_count, NULL);
    check_refused(&self, path, state, HK_INVALID_ARGUMENT, "is momentum, but the file has adam");
    hk_optimizer_release(state.optimizer);
    state.optimizer = hk_optimizer_create("adam", self.params, self.param_count - 1, NULL);
    check_refused(&self, path, state, HK_INVALID_ARGUMENT, "has optimizer.state.6.bias, which");
    hk_optimizer_release(state.optimizer);

    state = parts_of(&self);
    state.loader = hk_loader_create(self.set, &(hk_loader_options){.batch_size = 10});
    check_refused(&self, path, state, HK_INVALID_ARGUMENT,
                  "loader: the position is of a loader of 103 samples in batches of 20, shuffled");
    hk_loader_release(state.loader);
    state = parts_of(&self);
    state.generators = (hk_generator *const[]){self.generator, self.generator};
    state.generator_count = 2;
    check_refused(&self, path, state, HK_INVALID_ARGUMENT, "no random stream (hocket.generator.1");
    state = parts_of(&self);
    state.arrays = &(hk_save_entry){"h", self.params[0]};
    state.array_count = 1;
    check_refused(&self, path, state, HK_INVALID_ARGUMENT, "the file has no array.h");
    check_refused(&self, "/nowhere/x", parts_of(&self), HK_NOT_FOUND, "/nowhere/x");
    training_end(&self);
}

/* The file of a checkpoint, with one text or array replaced. */
static void write_spoilt(const char *from, const char *to, const char *key, const char *value)
{
    HK_SCOPE;
    hk_archive *archive = hk_load(from, (hk_device){0}, NULL);
    hk_save_entry entries[MOST];
    hk_metadata_entry texts[MOST];
    const size_t count = hk_archive_count(archive), text_count = hk_archive_metadata_count(archive);
    for (size_t i = 0; i < count; i++) {
        const char *name = hk_archive_name(archive, i);
        entries[i] = (hk_save_entry){name, hk_archive_get(archive, name)};
        if (!strcmp(name, key))
            entries[i].array = hk_full(hk_shape(2), strtod(value, NULL), HK_F64, (hk_device){0});
    }
    for (size_t i = 0; i < text_count; i++) {
        const char *name = hk_archive_metadata_key(archive, i);
        texts[i] = (hk_metadata_entry){name, strcmp(name, key) ? hk_archive_metadata(archive, name)
                                                               : value};
    }
    CHECK(hk_ok(hk_save(to, entries, count,
                        &(hk_save_options){.metadata = texts, .metadata_count = text_count})));
    hk_archive_release(archive);
}

static void test_damaged(void)
{
    static const struct {
        const char *key, *value, *text;
    } cases[] = {
        {"hocket.checkpoint", "2", "is no checkpoint: hocket.checkpoint in its metadata is 2"},
        {"hocket.counters", "1", "2 whole numbers would be right"},
        {"hocket.counters", "1 2 3", "2 whole numbers"},
        {"hocket.counters", "1  2", "2 whole numbers"},
        {"hocket.counters", "1 99999999999999999999", "2 whole numbers"},
        {"hocket.random", "1 2 x", "3 whole numbers"},
        {"hocket.loader", "", "7 whole numbers"},
        {"optimizer.coefficients", "nan", "coefficients are nan and nan"},
        {"optimizer.coefficients", "-1", "are -1 and -1; a learning rate, finite and not below 0"},
    };
    const char *path = fixture_path("good.safetensors"), *bad = fixture_path("bad.safetensors");
    training self = training_begin(1, "adam", 5);
    const hk_checkpoint state = parts_of(&self);
    CHECK(hk_ok(hk_checkpoint_save(path, &state)));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_spoilt(path, bad, cases[i].key, cases[i].value);
        check_refused(&self, bad, state, HK_BAD_DATA, cases[i].text);
    }
    write_spoilt(path, bad, "hocket.loader", "0 7 1 103 20 1 0");
    check_refused(&self, bad, state, HK_INVALID_ARGUMENT, "batch is 7; an epoch has 6");
    size_t bytes;
    char *data = fixture_read(path, &bytes);
    for (size_t length = 0; length < bytes; length += 997) { /* cut short */
        fixture_write(bad, data, length);
        check_refused(&self, bad, state, HK_BAD_DATA, "bad.safetensors");
    }
    free(data);
    training_end(&self);
}

static void test_refusals(void)
{
    const char *path = fixture_path("refused.safetensors");
    training self = training_begin(1, "adam", 5);
    hk_checkpoint state = parts_of(&self);
    fixture_check_message(hk_checkpoint_save(path, NULL), HK_INVALID_ARGUMENT, "is NULL");
    fixture_check_message(hk_checkpoint_load(path, NULL), HK_INVALID_ARGUMENT, "is NULL");
    state.metadata = &(hk_metadata_entry){"hocket.step", "3"};
    state.metadata_count = 1;
    fixture_check_message(hk_checkpoint_save(path, &state), HK_INVALID_ARGUMENT, "are kept for");
    state = parts_of(&self);
    state.module = NULL;
    state.replica_count = 1;
    fixture_check_message(hk_checkpoint_save(path, &state), HK_INVALID_ARGUMENT, "replica_count");
    state = parts_of(&self);
    const hk_save_entry twice[] = {{"h", self.params[0]}, {"h", self.params[1]}};
    state.arrays = twice;
    state.array_count = 2;
    fixture_check_message(hk_checkpoint_save(path, &state), HK_INVALID_ARGUMENT, "\"h\" twice");
    state = parts_of(&self);
    state.module = hk_conv2d_layer(0, 3, NULL);
    fixture_check_message(hk_checkpoint_save(path, &state), HK_INVALID_ARGUMENT, "");
    fixture_check_message(hk_checkpoint_load(path, &state), HK_NOT_FOUND, "");
    hk_module_release(state.module);

    /* A failed parameter fails the call by its own record, and loading heals it. */
    state = parts_of(&self);
    CHECK(hk_ok(hk_checkpoint_save(path, &state)));
    hk_call_into("relu", self.params[0], self.params + 1, 1, NULL); /* of another shape */
    CHECK(!hk_ok(hk_wait(self.params[0])));
    CHECK(hk_status_code(hk_checkpoint_save(path, &state)) ==
          hk_status_code(hk_wait(self.params[0])));
    hk_wait_all();
    hk_failures_clear();
    CHECK(hk_ok(hk_checkpoint_load(path, &state)));
    CHECK(hk_ok(hk_wait(self.params[0])));
    training_end(&self);
}

int main(void)
{
    unsetenv("HOCKET_DATA_DIR");
    fixture_begin();
    files_write();
    for (int devices = 1; devices <= DEVICES; devices++) {
        test_goes_on(devices, NULL);
        test_goes_on(devices, "momentum");
        test_goes_on(devices, "sgd");
        test_goes_on(devices, "adam");
    }
    test_other_devices();
    test_before_first_call();
    test_own();
    test_misfits();
    test_damaged();
    test_refusals();
    files_remove();
    fixture_end();
    return check_result();
}
