#include "trainer.h"

#include "interrupt.h"

#include <math.h>
#include <stdlib.h>

static hk_loader *create_loader(const trainer *self, hk_data_set *set,
                                const trainer_options *options, bool shuffle)
{
    return hk_loader_create(set, &(hk_loader_options){.batch_size = options->batch_size,
                                                      .shuffle = shuffle,
                                                      .seed = options->seed,
                                                      .shares = options->shares,
                                                      .devices = self->model.devices,
                                                      .device_count = self->model.device_count});
}

bool trainer_init(trainer *self, const trainer_options *options)
{
    HK_SCOPE;
    const hk_data_set *set = options->train;
    self->lr = options->lr;
    self->all_reduce = options->all_reduce;
    self->captures = options->capture;
    if (!lenet_set_shapes(&self->model, hk_data_set_channels(set), hk_data_set_height(set),
                          hk_data_set_width(set), hk_data_set_class_count(set))) {
        fprintf(stderr, "hocket: the images of %s are %d x %d; lenet needs 14 x 14 or more\n",
                hk_data_set_folder(set), (int)hk_data_set_height(set), (int)hk_data_set_width(set));
        return false;
    }
    self->train = create_loader(self, options->train, options, options->shuffle);
    self->test = create_loader(self, options->test, options, false);
    if (hk_status_print(hk_loader_status(self->train), stderr) ||
        hk_status_print(hk_loader_status(self->test), stderr))
        return false;
    if (options->init && !lenet_load(&self->model, options->init))
        return false;
    if (!options->init)
        lenet_draw(&self->model, options->seed);
    lenet_spread(&self->model);

    int64_t steps = trainer_step_count(self), test_steps = hk_loader_batch_count(self->test);
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
    for (int d = 0; d < self->model.device_count; d++) {
        hk_array_release(self->losses[d]);
        hk_array_release(self->hits[d]);
        hk_array_release(self->test_hits[d]);
    }
    hk_loader_release(self->train);
    hk_loader_release(self->test);
    lenet_release(&self->model);
    free(self->samples);
}

int64_t trainer_step_count(const trainer *self)
{
    return hk_loader_batch_count(self->train);
}

void trainer_start_epoch(trainer *self, int64_t epoch)
{
    hk_loader_start_epoch(self->train, epoch);
    self->issued = self->read = self->samples_read = 0;
    self->loss_sum = 0;
}

static hk_array *right_answers(hk_array *scores, hk_array *labels)
{
    return hk_equal(hk_argmax(scores, 1), labels);
}

/* What a step reads and writes that is not the model's: of each device images, labels, and the places for the sum of
 * the losses and the number of right answers. */
enum { IMAGES, LABELS, LOSS, HITS, STEP_ARRAYS };

static void issue_step(const trainer *self, hk_array *const *arrays, int64_t samples)
{
    HK_SCOPE;
    const lenet *model = &self->model;
    int n = model->device_count;
    hk_array *scores[MAX_DEVICES], *loss[MAX_DEVICES];
    hk_record_begin();
    for (int d = 0; d < n; d++) {
        scores[d] = lenet_forward(model, d, arrays[d * STEP_ARRAYS + IMAGES]);
        loss[d] = hk_softmax_cross_entropy(scores[d], arrays[d * STEP_ARRAYS + LABELS]);
    }
    hk_record_end();
    for (int d = 0; d < n; d++)
        hk_backward(loss[d]);
    for (int i = 0; i < LENET_PARAMETERS; i++)
        hk_all_reduce_by(model->grads[i], n, self->all_reduce);
    for (int d = 0; d < n; d++)
        hk_sgd(model->params[d], LENET_PARAMETERS,
               &(hk_sgd_options){.lr = self->lr, .batch = (double)samples});

    for (int d = 0; d < n; d++) {
        hk_array *const *its = arrays + d * STEP_ARRAYS;
        hk_assign(its[LOSS], hk_sum(loss[d], NULL));
        hk_assign(its[HITS], hk_sum(right_answers(scores[d], its[LABELS]), NULL));
    }
}

/* The last batch of an epoch may be smaller. */
static bool fits_capture(const trainer *self, hk_array *const *arrays)
{
    bool fits = true;
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
    int64_t step = self->issued++, samples = hk_loader_batch_samples(self->train);
    self->samples[step] = samples;
    for (int d = 0; d < n; d++) {
        hk_array **its = arrays + d * STEP_ARRAYS;
        its[IMAGES] = images[d];
        its[LABELS] = labels[d];
        its[LOSS] = hk_index(self->losses[d], 0, step);
        its[HITS] = hk_index(self->hits[d], 0, step);
    }
    if (self->captures && !self->step)
        capture_step(self, arrays, samples);
    else if (self->captures && fits_capture(self, arrays))
        hk_replay(self->step, arrays, n * STEP_ARRAYS);
    else
        issue_step(self, arrays, samples);
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
static float sum_in_pairs(const float *losses, int count)
{
    const int half = count - count / 2;
    return count == 1 ? losses[0]
                      : sum_in_pairs(losses, half) + sum_in_pairs(losses + half, count - half);
}

const hk_status *trainer_read_step(trainer *self, double *loss)
{
    HK_SCOPE;
    const hk_status *status = NULL;
    int64_t step = self->read++;
    float losses[MAX_DEVICES];
    for (int d = 0; d < self->model.device_count; d++) {
        losses[d] = (float)hk_item(hk_index(self->losses[d], 0, step), &status);
        if (!hk_ok(status))
            return status;
    }
    const double sum = sum_in_pairs(losses, self->model.device_count);
    *loss = sum / (double)self->samples[step];
    self->loss_sum += sum;
    self->samples_read += self->samples[step];
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

const hk_status *trainer_test(trainer *self, double *accuracy)
{
    hk_array *images[MAX_DEVICES], *labels[MAX_DEVICES];
    int64_t step = 0;
    double samples = 0, hits = 0;
    hk_loader_start_epoch(self->test, 0);
    for (; !interrupt_came(); step++) {
        HK_SCOPE;
        if (!hk_loader_next(self->test, images, labels))
            break;
        samples += (double)hk_loader_batch_samples(self->test);
        for (int d = 0; d < self->model.device_count; d++)
            hk_assign(
                hk_index(self->test_hits[d], 0, step),
                hk_sum(right_answers(lenet_forward(&self->model, d, images[d]), labels[d]), NULL));
    }
    const hk_status *status = read_sum(self, self->test_hits, step, &hits);
    *accuracy = hits / samples;
    return status;
}
