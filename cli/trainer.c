#include "trainer.h"

#include "interrupt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranks ------------------------------------------------------------------------------------- */

static int rank_count(const trainer *self)
{
    return self->group ? hk_group_size(self->group) : 1;
}

static int device_count_of_all(const trainer *self)
{
    return self->model.device_count * rank_count(self);
}

/* Of this rank's, among those of all. */
static int first_device(const trainer *self)
{
    return self->group ? self->model.device_count * hk_group_rank(self->group) : 0;
}

/* all[r * count + i] is values[i] of rank r; float64. Blocks. */
static const hk_status *gather(const trainer *self, const double *values, int count, double *all)
{
    HK_SCOPE;
    if (rank_count(self) == 1) {
        memcpy(all, values, (size_t)count * sizeof *all);
        return NULL;
    }
    hk_array *mine = hk_from_host(values, hk_shape(count), HK_F64, (hk_device){NULL});
    return hk_to_host(hk_group_all_gather(self->group, mine), all,
                      (size_t)(count * rank_count(self)) * sizeof *all);
}

int trainer_signal(const trainer *self)
{
    return rank_count(self) > 1 ? self->signal : interrupt_signal();
}

static hk_loader *create_loader(const trainer *self, hk_data_set *set,
                                const trainer_options *options, bool shuffle)
{
    return hk_loader_create(set, &(hk_loader_options){.batch_size = options->batch_size,
                                                      .shuffle = shuffle,
                                                      .seed = options->seed,
                                                      .shares = options->shares,
                                                      .slice_count = device_count_of_all(self),
                                                      .first_slice = first_device(self),
                                                      /* other networks may refuse no samples */
                                                      .whole_runs = !options->network,
                                                      .devices = self->model.devices,
                                                      .device_count = self->model.device_count});
}

/* ---- the network ------------------------------------------------------------------------------- */

static bool init_lenet(trainer *self, const trainer_options *options)
{
    const hk_data_set *set = options->train;
    if (!lenet_set_shapes(&self->model, hk_data_set_channels(set), hk_data_set_height(set),
                          hk_data_set_width(set), hk_data_set_class_count(set))) {
        fprintf(stderr, "hocket: the images of %s are %d x %d; lenet needs 14 x 14 or more\n",
                hk_data_set_folder(set), (int)hk_data_set_height(set), (int)hk_data_set_width(set));
        return false;
    }
    const bool is_book = options->init && !strcmp(options->init, "book");
    if (!options->init || is_book)
        lenet_draw(&self->model, is_book ? LENET_BOOK : LENET_GLOROT, options->seed);
    else if (!lenet_load(&self->model, options->init))
        return false;
    lenet_spread(&self->model);
    return true;
}

/* A first call on one sample of zeros makes the parameters. */
static bool init_modules(trainer *self, const trainer_options *options)
{
    const model_kind *network = options->network;
    const hk_init init = {.kind = HK_INIT_XAVIER_UNIFORM};
    hk_dims shape = hk_data_set_field_shape(options->train, 0);
    for (int axis = shape.ndim++; axis > 0; axis--)
        shape.dims[axis] = shape.dims[axis - 1];
    shape.dims[0] = 1;
    hk_seed(options->seed);
    self->modules[0] = network->create(&options->size);
    if (!network->is_language)
        hk_module_initialize(self->modules[0], &init);
    hk_module_set_training(self->modules[0], false);
    hk_array *scores =
        hk_forward(self->modules[0], hk_zeros(shape, hk_data_set_field_dtype(options->train, 0),
                                              self->model.devices[0]));
    hk_module_set_training(self->modules[0], true);
    for (int d = 1; d < self->model.device_count; d++)
        self->modules[d] = hk_module_replicate(self->modules[0], self->model.devices[d]);
    return !hk_status_print(hk_wait(scores), stderr);
}

/* Parameters of the device: as many as there are. */
static int list_params(const trainer *self, int d, hk_array **params, int room)
{
    if (self->modules[d])
        return hk_module_parameters(self->modules[d], params, room);
    for (int i = 0; i < room; i++)
        params[i] = self->model.params[d][i];
    return LENET_PARAMETERS;
}

static bool list_all_params(trainer *self)
{
    int n = self->model.device_count, count = list_params(self, 0, NULL, 0);
    size_t all = (size_t)count * (size_t)n;
    self->param_count = count;
    self->params = malloc((all + 1) * sizeof *self->params);
    self->grads = malloc((all + 1) * sizeof *self->grads);
    if (!self->params || !self->grads) {
        fprintf(stderr, "hocket: no memory for %d parameters\n", count);
        return false;
    }
    for (int d = 0; d < n; d++) {
        list_params(self, d, self->params + d * count, count);
        for (int i = 0; i < count; i++)
            self->grads[i * n + d] = hk_grad(self->params[d * count + i]);
    }
    return true;
}

/* All ranks begin with those of the first. */
static bool share_params(const trainer *self)
{
    int n = self->model.device_count, count = self->param_count;
    hk_array **params = malloc(((size_t)n * (size_t)count + 1) * sizeof *params);
    for (int i = 0; params && i < count; i++)
        for (int d = 0; d < n; d++)
            params[i * n + d] = self->params[d * count + i];
    if (params)
        hk_group_broadcast(self->group, params, n, count, 0);
    free(params);
    return params && !hk_status_print(hk_wait_all(), stderr);
}

static bool init_network(trainer *self, const trainer_options *options)
{
    if (!(options->network ? init_modules(self, options) : init_lenet(self, options)) ||
        !list_all_params(self) || (rank_count(self) > 1 && !share_params(self)))
        return false;
    if (!options->optimizer)
        return true;
    self->optimizer = hk_optimizer_create(options->optimizer, self->params,
                                          self->param_count * self->model.device_count,
                                          &(hk_optimizer_options){.lr = options->lr});
    self->lr = hk_optimizer_get_lr(self->optimizer);
    return !hk_status_print(hk_optimizer_status(self->optimizer), stderr);
}

/* Ranks that take other batches would train apart, and say nothing. */
static bool ranks_agree(const trainer *self, const trainer_options *options)
{
    static const char *const names[] = {"training samples",
                                        "test samples",
                                        "samples in a batch",
                                        "as the learning rate",
                                        "as the seed",
                                        "devices",
                                        "epochs",
                                        "captured steps (0: none)"};
    enum { COUNT = sizeof names / sizeof *names };
    const double own[COUNT] = {(double)hk_data_set_size(options->train),
                               (double)hk_data_set_size(options->test),
                               (double)options->batch_size,
                               options->lr,
                               (double)options->seed,
                               self->model.device_count,
                               (double)options->epochs,
                               options->capture};
    const int ranks = rank_count(self);
    double *all = malloc((size_t)(ranks * COUNT) * sizeof *all);
    bool agrees = all && !hk_status_print(gather(self, own, COUNT, all), stderr);
    for (int i = COUNT; agrees && i < ranks * COUNT; i++) {
        agrees = all[i] == all[i % COUNT];
        if (!agrees && hk_group_rank(self->group) == 0)
            fprintf(stderr, "hocket: rank 0 has %.12g %s, but rank %d has %.12g\n", all[i % COUNT],
                    names[i % COUNT], i / COUNT, all[i]);
    }
    free(all);
    return agrees;
}

/* ---- before and after ------------------------------------------------------------------------------ */

bool trainer_init(trainer *self, const trainer_options *options)
{
    HK_SCOPE;
    self->lr = options->lr;
    self->all_reduce = options->all_reduce;
    self->group = options->group;
    self->schedule = options->schedule;
    self->is_language = options->network && options->network->is_language;
    self->tokens = self->is_language ? hk_data_set_field_shape(options->train, 1).dims[0] : 1;
    /* hk_sgd has its rate from the call, which a replay does not change. */
    self->captures = options->capture && (options->optimizer || options->schedule == LR_CONSTANT);
    self->train = create_loader(self, options->train, options, options->shuffle);
    self->test = create_loader(self, options->test, options, false);
    if (hk_status_print(hk_loader_status(self->train), stderr) ||
        hk_status_print(hk_loader_status(self->test), stderr) ||
        (rank_count(self) > 1 && !ranks_agree(self, options)) || !init_network(self, options))
        return false;

    int64_t steps = trainer_step_count(self), test_steps = hk_loader_batch_count(self->test);
    self->steps_planned = steps * options->epochs;
    self->samples = malloc((size_t)steps * sizeof *self->samples);
    if (!self->samples) {
        fprintf(stderr, "hocket: no memory for %lld steps\n", (long long)steps);
        return false;
    }
    for (int d = 0; d < self->model.device_count; d++) {
        hk_device device = self->model.devices[d];
        self->losses[d] = hk_take(hk_zeros(hk_shape(steps), HK_F32, device));
        self->hits[d] = hk_take(hk_zeros(hk_shape(steps), HK_I64, device));
        self->test_hits[d] = hk_take(hk_zeros(hk_shape(test_steps), HK_I64, device));
    }
    return true;
}

void trainer_deinit(trainer *self)
{
    hk_graph_release(self->step);
    hk_optimizer_release(self->optimizer);
    for (int d = 0; d < self->model.device_count; d++) {
        hk_array_release(self->losses[d]);
        hk_array_release(self->hits[d]);
        hk_array_release(self->test_hits[d]);
        hk_module_release(self->modules[d]);
    }
    hk_loader_release(self->train);
    hk_loader_release(self->test);
    lenet_release(&self->model);
    free(self->samples);
    free(self->params);
    free(self->grads);
}

int64_t trainer_step_count(const trainer *self)
{
    return hk_loader_batch_count(self->train);
}

/* ---- to go on in another run ----------------------------------------------------------------------- */

hk_checkpoint trainer_checkpoint(const trainer *self, hk_save_entry *entries)
{
    hk_checkpoint state = {.module = self->modules[0],
                           .optimizer = self->optimizer,
                           .loader = self->train,
                           .step = self->steps_done};
    if (self->modules[0]) {
        state.replicas = self->modules + 1;
        state.replica_count = self->model.device_count - 1;
        return state;
    }
    for (int i = 0; i < LENET_PARAMETERS; i++)
        entries[i] = (hk_save_entry){lenet_parameter_name(i), self->model.params[0][i]};
    state.arrays = entries;
    state.array_count = LENET_PARAMETERS;
    return state;
}

void trainer_warm_up(trainer *self)
{
    trainer_start_epoch(self, 0);
    if (self->captures)
        trainer_step(self);
    self->issued = self->steps_done = 0;
}

int64_t trainer_resume(trainer *self, const hk_checkpoint *state)
{
    for (int d = 1; d < self->model.device_count && !self->modules[0]; d++)
        for (int i = 0; i < LENET_PARAMETERS; i++)
            hk_assign(self->model.params[d][i], self->model.params[0][i]);
    hk_loader_position at = hk_loader_get_position(self->train);
    if (at.batch == hk_loader_batch_count(self->train)) { /* an epoch was done */
        at.epoch++;
        at.batch = 0;
        hk_loader_seek(self->train, at);
    }
    self->steps_done = state->step;
    self->goes_on = true;
    return at.epoch;
}

/* ---- steps ----------------------------------------------------------------------------------------- */

void trainer_start_epoch(trainer *self, int64_t epoch)
{
    if (!self->goes_on)
        hk_loader_start_epoch(self->train, epoch);
    self->goes_on = false;
    self->issued = self->read = self->samples_read = 0;
    self->loss_sum = 0;
}

hk_array *trainer_forward(const trainer *self, int device, hk_array *x)
{
    if (!self->modules[device])
        return lenet_forward(&self->model, device, x);
    hk_array *scores = hk_forward(self->modules[device], x);
    return self->is_language ? hk_reshape(scores, hk_shape(-1, hk_dim(scores, -1))) : scores;
}

/* One for each row of the scores. */
static hk_array *labels_of(const trainer *self, hk_array *labels)
{
    return self->is_language ? hk_reshape(labels, hk_shape(-1)) : labels;
}

static hk_array *right_answers(hk_array *scores, hk_array *labels)
{
    return hk_equal(hk_argmax(scores, 1), labels);
}

static double lr_now(const trainer *self)
{
    const int64_t third = self->steps_planned / 3, twentieth = self->steps_planned / 20;
    switch (self->schedule) {
    case LR_COSINE:
        return hk_lr_cosine(self->lr, self->steps_done, self->steps_planned, 0);
    case LR_STEP:
        return hk_lr_step(self->lr, self->steps_done, third > 0 ? third : 1, 0.1);
    case LR_WARM_UP:
        return hk_lr_warm_up(self->lr, self->steps_done, twentieth > 0 ? twentieth : 1);
    case LR_CONSTANT:
        break;
    }
    return self->lr;
}

/* Gradients are of the mean over a batch; else of the sum, which hk_sgd divides. An optimiser's own batch is that of full ones. */
static bool is_of_mean(const trainer *self)
{
    return self->optimizer || self->is_language;
}

static void update(const trainer *self, int64_t samples)
{
    const double batch = is_of_mean(self) ? 1 : (double)samples;
    int n = self->model.device_count, count = self->param_count;
    for (int d = 0; d < n && self->is_language;
         d++) /* as the book does: steps of a recurrent network may explode */
        hk_clip_grad_norm(self->params + d * count, count, 1);
    if (self->optimizer)
        hk_optimizer_step(self->optimizer);
    for (int d = 0; d < n && !self->optimizer; d++)
        hk_sgd(self->params + d * count, count,
               &(hk_sgd_options){.lr = lr_now(self), .batch = batch});
}

/* What a step reads and writes that is not the model's: of each device images, labels, and the places for the sum of
 * the losses and the number of right answers. */
enum { IMAGES, LABELS, LOSS, HITS, STEP_ARRAYS };

static void issue_step(const trainer *self, hk_array *const *arrays, int64_t samples)
{
    HK_SCOPE;
    int n = self->model.device_count;
    hk_array *scores[MAX_DEVICES], *labels[MAX_DEVICES], *loss[MAX_DEVICES], *mean[MAX_DEVICES];
    hk_record_begin();
    for (int d = 0; d < n; d++) {
        scores[d] = trainer_forward(self, d, arrays[d * STEP_ARRAYS + IMAGES]);
        labels[d] = labels_of(self, arrays[d * STEP_ARRAYS + LABELS]);
        loss[d] = hk_softmax_cross_entropy(scores[d], labels[d]);
        mean[d] = is_of_mean(self) ? hk_multiply(loss[d], 1 / (double)samples) : loss[d];
    }
    hk_record_end();
    for (int d = 0; d < n; d++)
        hk_backward(mean[d]);
    if (rank_count(self) > 1)
        hk_group_all_reduce(self->group, self->grads, n, self->param_count, 0);
    else
        hk_all_reduce_list(self->grads, n, self->param_count, self->all_reduce);
    update(self, samples);

    for (int d = 0; d < n; d++) {
        hk_array *const *its = arrays + d * STEP_ARRAYS;
        hk_assign(its[LOSS], hk_sum(loss[d], NULL));
        hk_assign(its[HITS], hk_sum(right_answers(scores[d], labels[d]), NULL));
    }
}

/* The last batch of an epoch may be smaller, for some ranks alone: then no rank replays, for the step has its number of
 * samples, and a replay may write gradients in another order than calls. */
static bool fits_capture(const trainer *self, hk_array *const *arrays, int64_t samples)
{
    bool fits = samples == self->step_samples;
    for (int d = 0; d < self->model.device_count; d++)
        fits = fits && hk_dim(arrays[d * STEP_ARRAYS + IMAGES], 0) == self->step_rows[d];
    return fits;
}

/* Issues a step and keeps it for later ones like it. */
static void capture_step(trainer *self, hk_array *const *arrays, int64_t samples)
{
    int n = self->model.device_count;
    hk_capture_begin(arrays, n * STEP_ARRAYS);
    issue_step(self, arrays, samples);
    self->step = hk_capture_end(NULL);
    self->step_samples = samples;
    for (int d = 0; d < n; d++)
        self->step_rows[d] = hk_dim(arrays[d * STEP_ARRAYS + IMAGES], 0);
}

bool trainer_step(trainer *self)
{
    HK_SCOPE;
    int n = self->model.device_count;
    hk_array *images[MAX_DEVICES], *labels[MAX_DEVICES], *arrays[MAX_DEVICES * STEP_ARRAYS];
    if (!hk_loader_next(self->train, images, labels))
        return false;
    int64_t step = self->issued++, samples = hk_loader_batch_samples(self->train) * self->tokens;
    self->samples[step] = samples;
    for (int d = 0; d < n; d++) {
        hk_array **its = arrays + d * STEP_ARRAYS;
        its[IMAGES] = images[d];
        its[LABELS] = labels[d];
        its[LOSS] = hk_index(self->losses[d], 0, step);
        its[HITS] = hk_index(self->hits[d], 0, step);
    }
    if (self->optimizer && self->schedule != LR_CONSTANT)
        hk_optimizer_set_lr(self->optimizer, lr_now(self));
    if (self->captures && !self->step)
        capture_step(self, arrays, samples);
    else if (self->captures && fits_capture(self, arrays, samples))
        hk_replay(self->step, arrays, n * STEP_ARRAYS);
    else
        issue_step(self, arrays, samples);
    self->steps_done++;
    return true;
}

void trainer_wait(const trainer *self, int64_t count)
{
    HK_SCOPE;
    for (int d = 0; d < self->model.device_count; d++)
        hk_wait(hk_slice(self->losses[d], 0, self->read, self->read + count));
}

/* In float32 and in pairs, the first half or one more plus the others, as hk_all_reduce adds: then it is the sum that one
 * device has of the whole batch. */
static float sum_in_pairs(const double *losses, int count)
{
    const int half = count - count / 2;
    return count == 1 ? (float)losses[0]
                      : sum_in_pairs(losses, half) + sum_in_pairs(losses + half, count - half);
}

/* Ranks also tell each other by which signal they have been interrupted. */
static const hk_status *sum_of_ranks(trainer *self, const double *own, double *sum)
{
    const int ranks = rank_count(self), n = self->model.device_count;
    double said[MAX_DEVICES + 1], *all = malloc((size_t)(ranks * (n + 1)) * sizeof *all);
    memcpy(said, own, (size_t)n * sizeof *own);
    said[n] = interrupt_signal();
    const hk_status *status = all ? gather(self, said, n + 1, all) : hk_world_status();
    for (int r = 0; all && r < ranks; r++) {
        self->signal = self->signal ? self->signal : (int)all[r * (n + 1) + n];
        memmove(all + r * n, all + r * (n + 1), (size_t)n * sizeof *all);
    }
    *sum = all ? sum_in_pairs(all, ranks * n) : NAN;
    free(all);
    return status;
}

const hk_status *trainer_read_step(trainer *self, double *loss)
{
    HK_SCOPE;
    const hk_status *status = NULL;
    int64_t step = self->read++;
    double own[MAX_DEVICES], sum;
    for (int d = 0; d < self->model.device_count; d++) {
        own[d] = hk_item(hk_index(self->losses[d], 0, step), &status);
        if (!hk_ok(status))
            return status;
    }
    if (rank_count(self) > 1)
        status = sum_of_ranks(self, own, &sum);
    else
        sum = sum_in_pairs(own, self->model.device_count);
    if (!hk_ok(status))
        return status;
    *loss = sum / (double)self->samples[step];
    self->loss_sum += sum;
    self->samples_read += self->samples[step];
    return status;
}

/* Whole numbers: in any order. */
static const hk_status *sum_counts(const trainer *self, double *sum)
{
    const int ranks = rank_count(self);
    double *all = malloc((size_t)ranks * sizeof *all);
    const hk_status *status = all ? gather(self, sum, 1, all) : hk_world_status();
    *sum = all ? 0 : NAN;
    for (int r = 0; all && r < ranks; r++)
        *sum += all[r];
    free(all);
    return status;
}

/* Adds up the first `steps` slots of all devices. Blocks. */
static const hk_status *read_sum(const trainer *self, hk_array *const *slots, int64_t steps,
                                 double *result)
{
    HK_SCOPE;
    const hk_status *status = NULL;
    double sum = 0;
    for (int d = 0; d < self->model.device_count; d++) {
        sum += hk_item(hk_sum(hk_slice(slots[d], 0, 0, steps), NULL), &status);
        if (!hk_ok(status))
            return status;
    }
    if (rank_count(self) > 1)
        status = sum_counts(self, &sum);
    *result = sum;
    return status;
}

const hk_status *trainer_read_accuracy(trainer *self, double *accuracy)
{
    double hits = 0;
    const hk_status *status = read_sum(self, self->hits, self->read, &hits);
    *accuracy = hits / (double)self->samples_read;
    return status;
}

/* Layers that do otherwise while training are told. */
static void set_training(const trainer *self, bool is_training)
{
    for (int d = 0; d < self->model.device_count && self->modules[d]; d++)
        hk_module_set_training(self->modules[d], is_training);
}

static hk_array *count_hits(const trainer *self, int d, hk_array *x, hk_array *labels)
{
    return hk_sum(right_answers(trainer_forward(self, d, x), labels_of(self, labels)), NULL);
}

const hk_status *trainer_test(trainer *self, double *accuracy)
{
    hk_array *images[MAX_DEVICES], *labels[MAX_DEVICES];
    int64_t step = 0;
    double samples = 0, hits = 0;
    hk_loader_start_epoch(self->test, 0);
    set_training(self, false);
    for (; rank_count(self) > 1 || !interrupt_signal(); step++) {
        HK_SCOPE;
        if (!hk_loader_next(self->test, images, labels))
            break;
        samples += (double)(hk_loader_batch_samples(self->test) * self->tokens);
        for (int d = 0; d < self->model.device_count; d++)
            hk_assign(hk_index(self->test_hits[d], 0, step),
                      count_hits(self, d, images[d], labels[d]));
    }
    set_training(self, true);
    const hk_status *status = read_sum(self, self->test_hits, step, &hits);
    *accuracy = hits / samples;
    return status;
}
