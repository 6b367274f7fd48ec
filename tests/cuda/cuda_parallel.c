/* The trainer of `hocket train` on several GPUs, of this process or of several ranks: steps are done from recordings, with sums
 * of gradients between them, and have the losses of calls. Under mpirun each rank has a GPU of its own. */
#include "check.h"

#include "cli/trainer.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 6, BATCH = 32, SAMPLES = STEPS * BATCH, MOST = 8, TOKENS = 8, WORDS = 20 };

static hk_data_set *images(int64_t side)
{
    int64_t labels[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        labels[i] = i * 7 % 10;
    hk_device host = hk_device_named("cpu:0");
    hk_array *fields[] = {hk_random_uniform(hk_shape(SAMPLES, 1, side, side), HK_F32, host),
                          hk_from_host(labels, hk_shape(SAMPLES), HK_I64, host)};
    return hk_data_set_of_arrays(fields, 2);
}

static hk_data_set *texts(void)
{
    int64_t tokens[SAMPLES * TOKENS], next[SAMPLES * TOKENS];
    for (int i = 0; i < SAMPLES * TOKENS; i++) {
        tokens[i] = (int64_t)i * i % WORDS;
        next[i] = (int64_t)(i + 1) * (i + 1) % WORDS;
    }
    hk_device host = hk_device_named("cpu:0");
    hk_array *fields[] = {hk_from_host(tokens, hk_shape(SAMPLES, TOKENS), HK_I64, host),
                          hk_from_host(next, hk_shape(SAMPLES, TOKENS), HK_I64, host)};
    return hk_data_set_of_arrays(fields, 2);
}

static hk_graph_facts train(const char *name, int devices, bool captures, double losses[STEPS])
{
    HK_SCOPE;
    const model_kind *network = model_find(name);
    trainer self = {.model = {.device_count = devices}};
    hk_seed(5);
    hk_data_set *set = network->is_language ? texts() : images(network->least_size);
    for (int d = 0; d < devices; d++) {
        char device[32];
        snprintf(device, sizeof device, "cuda:%d", d);
        self.model.devices[d] = hk_device_named(device);
    }
    const trainer_options options = {
        .network = network,
        .size = {.classes = network->is_language ? WORDS : 10, .width = 0.125, .depth = 1},
        .train = set,
        .test = set,
        .epochs = 1,
        .batch_size = BATCH,
        .lr = 0.05,
        .seed = 3,
        .group = hk_world_size() > 1 ? hk_group_world() : NULL,
        .capture = captures};
    if (!trainer_init(&self, &options)) {
        CHECK(false);
        exit(check_result());
    }
    CHECK_EQ_I64(trainer_step_count(&self), STEPS);
    trainer_start_epoch(&self, 0);
    while (trainer_step(&self))
        ;
    for (int i = 0; i < STEPS; i++)
        CHECK(!hk_status_print(trainer_read_step(&self, &losses[i]), stderr));
    const hk_graph_facts facts = hk_graph_get_facts(self.step);
    trainer_deinit(&self);
    hk_data_set_release(set);
    return facts;
}

static void test_model(const char *name, int devices, const double *of_one)
{
    double calls[STEPS], replays[STEPS];
    CHECK_EQ_I64(train(name, devices, false, calls).calls, 0);
    const hk_graph_facts facts = train(name, devices, true, replays);
    /* The first step is captured, the next one launched, and the third recorded. */
    CHECK_EQ_I64(facts.recorded_replays, STEPS - 2);
    CHECK(facts.tasks * 2 < facts.calls);
    for (int i = 0; i < STEPS; i++) {
        CHECK(calls[i] == replays[i] && isfinite(calls[i]));
        /* Each device normalises its own share of a batch. */
        CHECK(!strcmp(name, "resnet18") || fabs(calls[i] - of_one[i]) < 1e-4 * fabs(of_one[i]));
    }
}

int main(void)
{
    static const char *const names[] = {"lenet5", "resnet18", "gpt"};
    CHECK(hk_ok(hk_runtime_init(NULL)));
    CHECK(!hk_status_print(hk_world_init(NULL), stderr));
    int gpus = 0;
    for (int i = 0; i < hk_device_count(); i++)
        gpus += !strcmp(hk_device_kind(hk_device_at(i)), "cuda");
    for (int i = 0; i < 3; i++) {
        double of_one[STEPS];
        train(names[i], 1, false, of_one);
        for (int devices = 1; devices <= gpus && devices <= MOST; devices *= 2)
            test_model(names[i], devices, of_one);
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
