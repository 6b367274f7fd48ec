/* The trainer of `hocket train` on a GPU: its steps are replays of one recording, although each is given a batch of its own
 * and writes its loss into a place of its own; and they give the losses that calls give. */
#include "check.h"

#include "cli/trainer.h"

#include <math.h>

enum { SAMPLES = 80, BATCH = 2, STEPS = SAMPLES / BATCH, EPOCHS = 1, SIDE = 28 };

static hk_data_set *samples(void)
{
    HK_SCOPE;
    int64_t labels[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        labels[i] = i * 7 % 10;
    hk_device host = hk_device_named("cpu:0");
    hk_array *fields[] = {hk_random_uniform(hk_shape(SAMPLES, 1, SIDE, SIDE), HK_F32, host),
                          hk_from_host(labels, hk_shape(SAMPLES), HK_I64, host)};
    return hk_data_set_of_arrays(fields, 2);
}

/* Returns how many replays were recorded ones. */
static int64_t train(bool captures, double losses[EPOCHS * STEPS])
{
    HK_SCOPE;
    trainer self = {.model = {.device_count = 1, .devices = {hk_device_named("cuda:0")}}};
    hk_seed(5);
    hk_data_set *set = samples();
    CHECK(trainer_init(&self, &(trainer_options){.network = model_find("lenet5"),
                                                 .size = {.classes = 10},
                                                 .train = set,
                                                 .test = set,
                                                 .epochs = EPOCHS,
                                                 .batch_size = BATCH,
                                                 .lr = 0.1,
                                                 .seed = 3,
                                                 .capture = captures}));
    CHECK_EQ_I64(trainer_step_count(&self), STEPS);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        trainer_start_epoch(&self, epoch);
        while (trainer_step(&self))
            ;
        for (int i = 0; i < STEPS; i++)
            CHECK(hk_ok(trainer_read_step(&self, &losses[epoch * STEPS + i])));
    }
    int64_t recorded = self.step ? hk_graph_get_facts(self.step).recorded_replays : 0;
    trainer_deinit(&self);
    hk_data_set_release(set);
    return recorded;
}

int main(void)
{
    static double calls[EPOCHS * STEPS], replays[EPOCHS * STEPS];
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cuda = "0"})));
    CHECK_EQ_I64(train(false, calls), 0);
    CHECK(train(true, replays) * 100 >= (EPOCHS * STEPS - 1) * 95);
    /* The host has seen the labels: no step waits for another one's. */
    CHECK_EQ_I64(hk_runtime_get_internals().held_up_launches, 0);
    for (int i = 0; i < EPOCHS * STEPS; i++)
        CHECK(calls[i] == replays[i] && isfinite(calls[i]));
    hk_runtime_deinit();
    return check_result();
}
