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

/* slots[index] becomes the sum of x. */
static void put_sum(hk_array *slots, int64_t index, hk_array *x)
{
    hk_assign(hk_index(slots, 0, index), hk_sum(x, NULL));
}

static hk_array *right_answers(hk_array *scores, hk_array *labels)
{
    return hk_equal(hk_argmax(scores, 1), labels);
}

bool trainer_step(trainer *self)
{
    HK_SCOPE;
    lenet *model = &self->model;
    int n = model->device_count;
    hk_array *images[MAX_DEVICES], *labels[MAX_DEVICES];
    hk_array *scores[MAX_DEVICES], *loss[MAX_DEVICES];
    if (!hk_loader_next(self->train, images, labels))
        return false;
    int64_t step = self->issued++, samples = hk_loader_batch_samples(self->train);
    self->samples[step] = samples;

    hk_record_begin();
    for (int d = 0; d < n; d++) {
        scores[d] = lenet_forward(model, d, images[d]);
        loss[d] = hk_softmax_cross_entropy(scores[d], labels[d]);
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
        put_sum(self->losses[d], step, loss[d]);
        put_sum(self->hits[d], step, right_answers(scores[d], labels[d]));
    }
    return true;
}

const hk_status *trainer_read_step(trainer *self, double *loss)
{
    HK_SCOPE;
    const hk_status *status = NULL;
    int64_t step = self->read++;
    double sum = 0;
    for (int d = 0; d < self->model.device_count; d++) {
        sum += hk_item(hk_index(self->losses[d], 0, step), &status);
        if (!hk_ok(status))
            return status;
    }
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
            put_sum(self->test_hits[d], step,
                    right_answers(lenet_forward(&self->model, d, images[d]), labels[d]));
    }
    const hk_status *status = read_sum(self, self->test_hits, step, &hits);
    *accuracy = hits / samples;
    return status;
}
