/* Groups of parameters of one optimiser, beside optimisers of their own. */
#include "check.h"
#include "tests/same_bytes.h"

#include <hocket/hocket.h>

enum { SIZE = 37, STEPS = 6 };

static const char *const methods[] = {"sgd",     "momentum", "adam",    "adamw",
                                      "rmsprop", "adagrad",  "adadelta"};

static hk_array *param_create(hk_device device)
{
    HK_SCOPE;
    hk_array *x = hk_take(hk_arange(1, 1 + SIZE, 1, HK_F32, device));
    hk_attach_grad(x, HK_GRAD_WRITE);
    return x;
}

/* That of the sum of sines. */
static void set_gradient(hk_array *x)
{
    HK_SCOPE;
    hk_record_begin();
    hk_array *y = hk_sum(hk_sin(x), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
}

/* Each group is what an optimiser of its own would do, also when the learning rate is set, and from the middle on. */
static void test_groups(hk_device device)
{
    for (int k = 0; k < (int)(sizeof methods / sizeof *methods); k++) {
        HK_SCOPE;
        const hk_optimizer_options options = {.lr = 0.1, .weight_decay = 0.01},
                                   other = {.lr = 0.05};
        hk_array *x[4];
        for (int i = 0; i < 4; i++)
            x[i] = param_create(device);
        hk_optimizer *whole = hk_optimizer_create(methods[k], x, 2, &options);
        hk_optimizer *parts[] = {hk_optimizer_create(methods[k], x + 2, 1, &options),
                                 hk_optimizer_create(methods[k], x + 3, 1, &other)};
        CHECK(hk_ok(hk_optimizer_set_group(whole, 1, 1, 0.5, 0)));
        CHECK_EQ_I64(hk_optimizer_array_count(whole), 4);
        for (int step = 0; step < STEPS; step++) {
            for (int i = 0; i < 4; i++)
                set_gradient(x[i]);
            if (step == 2) {
                hk_optimizer_set_lr(whole, 0.025);
                hk_optimizer_set_lr(parts[0], 0.025);
                hk_optimizer_set_lr(parts[1], 0.0125);
            }
            if (step == 3) { /* with as many steps behind it */
                CHECK(hk_ok(hk_optimizer_set_group(whole, 0, 1, 2, options.weight_decay)));
                hk_optimizer_set_lr(parts[0], 0.05);
            }
            hk_optimizer_step(whole);
            hk_optimizer_step(parts[0]);
            hk_optimizer_step(parts[1]);
        }
        for (int i = 0; i < 2; i++)
            CHECK(same_bytes(x[i], x[2 + i]));
        hk_optimizer_release(whole);
        hk_optimizer_release(parts[0]);
        hk_optimizer_release(parts[1]);
        for (int i = 0; i < 4; i++)
            hk_array_release(x[i]);
    }
}

static bool group_is_refused(hk_optimizer *optimizer, int first, int count, double factor,
                             const char *text)
{
    const hk_status *status = hk_optimizer_set_group(optimizer, first, count, factor, 0);
    return !hk_ok(status) && strstr(hk_status_message(status), text);
}

static void test_refused_groups(hk_device device)
{
    HK_SCOPE;
    hk_array *x = param_create(device);
    hk_optimizer *optimizer = hk_optimizer_create("sgd", &x, 1, NULL);
    CHECK(group_is_refused(optimizer, 0, 2, 1, "first is 0 and count 2, but there are 1"));
    CHECK(group_is_refused(optimizer, -1, 1, 1, "first is -1"));
    CHECK(group_is_refused(optimizer, 0, 1, -1, "factor is -1"));
    CHECK(group_is_refused(NULL, 0, 1, 1, "optimizer is NULL"));
    bool is_full = false;
    for (int i = 2; i < 100 && !is_full; i++)
        is_full = group_is_refused(optimizer, 0, 1, i, "64 pairs of devices and factors");
    CHECK(is_full);
    hk_optimizer_release(optimizer);
    hk_array_release(x);
}

int main(void)
{
    const hk_sim_options sim = {0};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.sim = &sim, .sim_count = 1})));
    test_groups(hk_device_named("cpu:0"));
    test_groups(hk_device_named("sim:0"));
    test_refused_groups(hk_device_named("cpu:0"));
    hk_runtime_deinit();
    return check_result();
}
