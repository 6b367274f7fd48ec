#include "measured_training.h"

#include <math.h>

/* The trainer draws weights of 0.01, with which the first hundred losses hardly move. */
static void scale_parameters(lenet *model)
{
    static const double scales[LENET_PARAMETERS] = {0.3, 0, 0.06, 0, 0.05, 0, 0.12, 0};
    for (int d = 0; d < model->device_count; d++)
        for (int i = 0; i < LENET_PARAMETERS; i++)
            if (scales[i] > 0)
                hk_multiply_into(model->params[d][i], model->params[d][i], scales[i] / 0.01);
}

static void issue_steps(trainer *self, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        while (!trainer_step(self))
            trainer_start_epoch(self, 0);
}

bool training_init(measured_training *self, const training_setup *setup)
{
    self->setup = *setup;
    self->trainer.model.device_count = setup->device_count;
    for (int d = 0; d < setup->device_count; d++)
        self->trainer.model.devices[d] = setup->devices[d];
    if (!trainer_init(&self->trainer, &(trainer_options){.train = setup->train,
                                                         .test = setup->test,
                                                         .batch_size = setup->batch,
                                                         .lr = setup->lr,
                                                         .shares = setup->shares,
                                                         .all_reduce = setup->all_reduce}))
        return false;
    int64_t needed = WARM_UP_STEPS + setup->steps;
    if (trainer_step_count(&self->trainer) < needed) {
        fprintf(stderr,
                "hocket: the training part has %lld samples; the experiment takes %lld batches of "
                "%lld\n",
                (long long)hk_data_set_size(setup->train), (long long)needed,
                (long long)setup->batch);
        return false;
    }
    scale_parameters(&self->trainer.model);
    trainer_start_epoch(&self->trainer, 0);
    issue_steps(&self->trainer, WARM_UP_STEPS);
    return !hk_status_print(hk_wait_all(), stderr);
}

void training_deinit(measured_training *self)
{
    trainer_deinit(&self->trainer);
}

/* Bytes that one queue of all devices has copied. */
static uint64_t copied_bytes(const measured_training *self, hk_queue queue)
{
    uint64_t bytes = 0;
    for (int d = 0; d < self->setup.device_count; d++)
        if (hk_device_is_simulated(self->setup.devices[d]))
            bytes += hk_device_get_stats(self->setup.devices[d], queue).bytes;
    return bytes;
}

void training_issue(void *self)
{
    measured_training *training = self;
    issue_steps(&training->trainer, training->setup.steps);
}

bool training_run(measured_training *self)
{
    uint64_t in_bytes = copied_bytes(self, HK_QUEUE_COPY_IN),
             out_bytes = copied_bytes(self, HK_QUEUE_COPY_OUT);
    timing_begin(&self->time);
    training_issue(self);
    timing_end(&self->time);
    self->in_bytes = copied_bytes(self, HK_QUEUE_COPY_IN) - in_bytes;
    self->out_bytes = copied_bytes(self, HK_QUEUE_COPY_OUT) - out_bytes;
    for (int i = 0; i < WARM_UP_STEPS + self->setup.steps; i++)
        if (hk_status_print(trainer_read_step(&self->trainer, &self->losses[i]), stderr))
            return false;
    return true;
}

double training_step_seconds(const measured_training *self)
{
    return self->setup.steps > 0 ? timing_seconds(&self->time) / self->setup.steps : (double)NAN;
}

double training_loss_difference(const measured_training *self, const measured_training *other)
{
    double worst = 0;
    for (int i = 0; i < WARM_UP_STEPS + self->setup.steps; i++)
        worst = fmax(worst, fabs(self->losses[i] - other->losses[i]) / fabs(other->losses[i]));
    return worst;
}
