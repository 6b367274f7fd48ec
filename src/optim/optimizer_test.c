/* Optimisers against the formulas of their papers, written plainly; steps on several devices, captured, failed. */
#include "check.h"

#include <hocket/hocket.h>

#include <math.h>
#include <string.h>

enum { SIZE = 37, STEPS = 6 };

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

/* The gradient of step k at element i. */
static double gradient(int k, int i)
{
    return sin(1.0 + 3 * k + 0.7 * i);
}

/* A parameter whose gradient is set to that of step k. */
static hk_array *param_create(hk_dtype dtype, hk_device device)
{
    HK_SCOPE;
    double values[SIZE];
    for (int i = 0; i < SIZE; i++)
        values[i] = cos(i);
    hk_array *x = hk_take(hk_cast(hk_from_host(values, hk_shape(SIZE), HK_F64, device), dtype));
    hk_attach_grad(x, HK_GRAD_WRITE);
    return x;
}

static void set_gradient(hk_array *x, int k)
{
    HK_SCOPE;
    double values[SIZE];
    for (int i = 0; i < SIZE; i++)
        values[i] = gradient(k, i);
    hk_array *given = hk_from_host(values, hk_shape(SIZE), HK_F64, hk_array_device(x));
    hk_assign(hk_grad(x), hk_cast(given, hk_array_dtype(x)));
}

/* x after STEPS steps; lr is halved before the fourth. */
static double expected(const char *method, const hk_optimizer_options *o, int i)
{
    double x = cos(i), m = 0, v = 0, lr = o->lr;
    for (int k = 0; k < STEPS; k++) {
        const int t = k + 1;
        double g = gradient(k, i) / (o->batch > 0 ? o->batch : 1);
        if (k == 3)
            lr /= 2;
        if (strcmp(method, "adamw") == 0)
            x *= 1 - lr * o->weight_decay;
        else
            g += o->weight_decay * x;
        if (strcmp(method, "sgd") == 0) {
            x -= lr * g;
        } else if (strcmp(method, "momentum") == 0) {
            m = o->momentum * m + g;
            x -= lr * (o->nesterov ? g + o->momentum * m : m);
        } else if (strcmp(method, "adam") == 0 || strcmp(method, "adamw") == 0) {
            m = o->beta1 * m + (1 - o->beta1) * g;
            v = o->beta2 * v + (1 - o->beta2) * g * g;
            const double m_hat = m / (1 - pow(o->beta1, t)), v_hat = v / (1 - pow(o->beta2, t));
            x -= lr * m_hat / (sqrt(v_hat) + o->epsilon);
        } else if (strcmp(method, "rmsprop") == 0) {
            v = o->rho * v + (1 - o->rho) * g * g;
            x -= lr * g / (sqrt(v) + o->epsilon);
        } else if (strcmp(method, "adagrad") == 0) {
            v += g * g;
            x -= lr * g / (sqrt(v) + o->epsilon);
        } else if (strcmp(method, "adadelta") == 0) {
            v = o->rho * v + (1 - o->rho) * g * g;
            const double delta = sqrt(m + o->epsilon) / sqrt(v + o->epsilon) * g;
            m = o->rho * m + (1 - o->rho) * delta * delta;
            x -= lr * delta;
        } else {
            CHECK_STR(method, "one whose formula stands here");
        }
    }
    return x;
}

static hk_optimizer_options options_of(const char *method)
{
    hk_optimizer_options o = {.lr = 0.05, .batch = 4, .weight_decay = 0.01};
    if (strcmp(method, "sgd") == 0)
        return o;
    if (strcmp(method, "momentum") == 0) {
        o.momentum = 0.8;
        o.nesterov = true;
        return o;
    }
    o.epsilon = 1e-4;
    if (strncmp(method, "adam", 4) == 0) {
        o.beta1 = 0.85;
        o.beta2 = 0.97;
    } else if (strcmp(method, "adagrad") != 0) {
        o.rho = 0.95;
    }
    return o;
}

static void check_values(hk_array *x, const char *method, const hk_optimizer_options *options)
{
    HK_SCOPE;
    double values[SIZE] = {0};
    const double bound = hk_array_dtype(x) == HK_F32 ? 2e-6 : 1e-13;
    CHECK(hk_ok(hk_to_host(hk_cast(x, HK_F64), values, sizeof values)));
    for (int i = 0; i < SIZE; i++)
        CHECK(fabs(values[i] - expected(method, options, i)) < bound);
}

static void test_formulas(hk_device a, hk_device b)
{
    const char *method;
    for (int k = 0; (method = hk_optimizer_method_at(k)); k++) {
        HK_SCOPE;
        const hk_optimizer_options options = options_of(method);
        hk_array *params[] = {param_create(HK_F32, a), param_create(HK_F64, b),
                              param_create(HK_F64, a)};
        hk_optimizer *optimizer = hk_optimizer_create(method, params, 3, &options);
        CHECK(hk_ok(hk_optimizer_status(optimizer)));
        for (int step = 0; step < STEPS; step++) {
            if (step == 3)
                hk_optimizer_set_lr(optimizer, options.lr / 2);
            for (int i = 0; i < 3; i++)
                set_gradient(params[i], step);
            hk_optimizer_step(optimizer);
        }
        CHECK(hk_optimizer_get_lr(optimizer) == options.lr / 2);
        for (int i = 0; i < 3; i++) {
            check_values(params[i], method, &options);
            hk_array_release(params[i]);
        }
        hk_optimizer_release(optimizer);
    }
}

/* Averages of float32 whose weight is near 1: what is left to 1 is as exact as the rest. */
static void test_slow_average(hk_device device)
{
    HK_SCOPE;
    hk_array *x = param_create(HK_F32, device);
    const hk_optimizer_options options = {.beta2 = 0.9999, .lr = 1e-3};
    hk_optimizer *optimizer = hk_optimizer_create("adam", &x, 1, &options);
    float state[2][SIZE] = {{0}};
    set_gradient(x, 0);
    hk_optimizer_step(optimizer);
    CHECK(hk_ok(hk_to_host(hk_optimizer_array(optimizer, 1, NULL, 0), state, sizeof state)));
    for (int i = 0; i < SIZE; i++) {
        const double g = gradient(0, i);
        CHECK(fabs(state[1][i] - 0.0001 * g * g) < 1e-6 * 0.0001 * g * g);
    }
    hk_optimizer_release(optimizer);
    hk_array_release(x);
}

/* Replays count steps, and learning rates set between them hold. */
static void test_captured(hk_device device)
{
    const char *method;
    for (int k = 0; (method = hk_optimizer_method_at(k)); k++) {
        HK_SCOPE;
        const hk_optimizer_options options = options_of(method);
        hk_array *x = param_create(HK_F32, device), *bound[] = {x, hk_grad(x)};
        hk_optimizer *optimizer = hk_optimizer_create(method, &x, 1, &options);
        set_gradient(x, 0);
        hk_capture_begin(bound, 2);
        hk_optimizer_step(optimizer);
        hk_graph *graph = hk_capture_end(NULL);
        CHECK(hk_ok(hk_graph_status(graph)));
        for (int step = 1; step < STEPS; step++) {
            if (step == 3)
                hk_optimizer_set_lr(optimizer, options.lr / 2);
            set_gradient(x, step);
            hk_replay(graph, bound, 2);
        }
        check_values(x, method, &options);
        hk_graph_release(graph);
        hk_optimizer_release(optimizer);
        hk_array_release(x);
    }
}

/* What is kept can be saved, and a new optimiser goes on from it to the same bytes. */
static void test_saved(hk_device device)
{
    HK_SCOPE;
    float values[2][SIZE];
    for (int resumed = 0; resumed < 2; resumed++) {
        hk_array *x = param_create(HK_F32, device);
        hk_optimizer *optimizer = hk_optimizer_create("adam", &x, 1, NULL);
        for (int step = 0; step < STEPS; step++) {
            if (resumed && step == 2) {
                hk_optimizer *next = hk_optimizer_create("adam", &x, 1, NULL);
                CHECK_EQ_I64(hk_optimizer_array_count(next), 2);
                for (int i = 0; i < 2; i++) {
                    char name[32];
                    hk_assign(hk_optimizer_array(next, i, name, sizeof name),
                              hk_optimizer_array(optimizer, i, NULL, 0));
                    CHECK_STR(name, i ? "state.0" : "coefficients.0");
                }
                CHECK(hk_optimizer_array(next, 2, NULL, 0) == NULL);
                hk_optimizer_release(optimizer);
                optimizer = next;
            }
            set_gradient(x, step);
            hk_optimizer_step(optimizer);
        }
        CHECK(hk_ok(hk_to_host(x, values[resumed], sizeof values[resumed])));
        hk_optimizer_release(optimizer);
        hk_array_release(x);
    }
    CHECK(memcmp(values[0], values[1], sizeof values[0]) == 0);
}

/* A bad batch costs neither parameter nor state. */
static void test_failed_gradient(hk_device device)
{
    HK_SCOPE;
    float before[SIZE], after[SIZE];
    hk_array *x = param_create(HK_F32, device);
    hk_optimizer *optimizer = hk_optimizer_create("adam", &x, 1, NULL);
    set_gradient(x, 0);
    hk_optimizer_step(optimizer);
    CHECK(hk_ok(hk_to_host(x, before, sizeof before)));
    hk_write(hk_grad(x), before, 1); /* fails the gradient */
    hk_optimizer_step(optimizer);
    CHECK(!hk_ok(hk_wait(x)));
    CHECK(!hk_ok(hk_wait(hk_optimizer_array(optimizer, 1, NULL, 0))));
    hk_recover(x);
    hk_recover(hk_optimizer_array(optimizer, 1, NULL, 0));
    clear_failures();
    CHECK(hk_ok(hk_to_host(x, after, sizeof after)));
    CHECK(memcmp(before, after, sizeof before) == 0);
    set_gradient(x, 1);
    hk_optimizer_step(optimizer);
    CHECK(hk_ok(hk_wait(x)) && hk_ok(hk_wait_all()));
    hk_optimizer_release(optimizer);
    hk_array_release(x);
}

/* A parameter whose gradient was taken away stays as it is, and so does its state; others go on. Then states change places. */
static void test_frozen(hk_device device)
{
    HK_SCOPE;
    float before[2][SIZE], after[2][SIZE], state[2][2 * SIZE];
    hk_array *params[] = {param_create(HK_F32, device), param_create(HK_F32, device)};
    hk_optimizer *optimizer = hk_optimizer_create("adam", params, 2, NULL);
    hk_array *kept = hk_optimizer_array(optimizer, 1, NULL, 0);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 2; i++) {
            set_gradient(params[i], step);
            CHECK(hk_ok(hk_to_host(params[i], before[i], sizeof before[i])));
        }
        if (step == 1)
            hk_attach_grad(params[0], HK_GRAD_NULL);
        CHECK(hk_ok(hk_to_host(kept, state[0], sizeof state[0])));
        hk_optimizer_step(optimizer);
        CHECK(hk_ok(hk_to_host(kept, state[1], sizeof state[1])));
        for (int i = 0; i < 2; i++) {
            CHECK(hk_ok(hk_to_host(params[i], after[i], sizeof after[i])));
            CHECK(!memcmp(before[i], after[i], sizeof after[i]) == (step == 1 && i == 0));
        }
        CHECK(!memcmp(state[0], state[1], sizeof state[0]) == (step == 1));
    }
    CHECK(hk_ok(hk_wait_all()));
    hk_optimizer_scatter(optimizer, 0, NULL);
    CHECK_EQ_I64(hk_status_code(hk_wait(hk_optimizer_gather(optimizer, 0))), HK_INVALID_ARGUMENT);
    hk_optimizer_scatter(optimizer, 0, hk_optimizer_gather(optimizer, 1)); /* which heals it */
    CHECK(hk_ok(hk_to_host(hk_optimizer_gather(optimizer, 0), state[0], sizeof state[0])));
    CHECK(hk_ok(hk_to_host(hk_optimizer_gather(optimizer, 1), state[1], sizeof state[1])));
    CHECK(!memcmp(state[0], state[1], sizeof state[0]));
    hk_wait_all();
    hk_failures_clear();
    hk_optimizer_release(optimizer);
    hk_array_release(params[0]);
    hk_array_release(params[1]);
}

static void check_refused(const char *method, hk_array *const *params, int count,
                          const hk_optimizer_options *options, const char *text)
{
    hk_optimizer *optimizer = hk_optimizer_create(method, params, count, options);
    const hk_status *status = hk_optimizer_status(optimizer);
    CHECK_EQ_I64(hk_status_code(status), HK_INVALID_ARGUMENT);
    CHECK(strstr(hk_status_message(status), text) != NULL);
    CHECK_EQ_I64(hk_optimizer_array_count(optimizer), 0);
    hk_optimizer_step(optimizer);
    hk_optimizer_release(optimizer);
}

static void test_refused(hk_device device)
{
    HK_SCOPE;
    hk_array *x = param_create(HK_F32, device), *plain = hk_ones(hk_shape(3), HK_F32, device);
    hk_array *counts = hk_ones(hk_shape(3), HK_I64, device), *nothing = NULL;
    hk_array *turned = hk_transpose(hk_ones(hk_shape(2, 3), HK_F32, device));
    check_refused("adma", &plain, 1, NULL, "\"adma\"");
    check_refused(NULL, &plain, 1, NULL, "NULL");
    check_refused("adam", NULL, 1, NULL, "params");
    check_refused("adam", &plain, -1, NULL, "-1");
    check_refused("adam", &nothing, 1, NULL, "NULL");
    check_refused("adam", &counts, 1, NULL, "hk_cast");
    check_refused("adam", &turned, 1, NULL, "contiguous");
    check_refused("adam", &plain, 1, &(hk_optimizer_options){.lr = -1}, "option lr is -1");
    check_refused("adam", &plain, 1, &(hk_optimizer_options){.beta2 = 1}, "option beta2 is 1");
    check_refused("adam", &plain, 1, &(hk_optimizer_options){.epsilon = NAN}, "epsilon");
    /* What another method's option would silently be taken for. */
    check_refused("adam", &plain, 1, &(hk_optimizer_options){.momentum = 0.9},
                  "option momentum is 0.9, but adam has none; 0 would be right");
    check_refused("rmsprop", &plain, 1, &(hk_optimizer_options){.momentum = 0.9},
                  "rmsprop has none");
    check_refused("momentum", &plain, 1, &(hk_optimizer_options){.beta1 = 0.9}, "option beta1");
    check_refused("adagrad", &plain, 1, &(hk_optimizer_options){.rho = 0.9}, "option rho");
    check_refused("sgd", &plain, 1, &(hk_optimizer_options){.epsilon = 1e-8}, "option epsilon");
    check_refused("sgd", &plain, 1, &(hk_optimizer_options){.nesterov = true}, "option nesterov");
    clear_failures();

    hk_array *fresh = hk_ones(hk_shape(3), HK_F32, device);
    hk_optimizer *optimizer = hk_optimizer_create("adam", &fresh, 1, NULL);
    hk_optimizer_step(optimizer);
    CHECK(strstr(hk_status_message(hk_wait(fresh)), "hk_attach_grad") != NULL);
    hk_optimizer_set_lr(optimizer, -2);
    CHECK(strstr(hk_status_message(hk_wait(hk_optimizer_array(optimizer, 0, NULL, 0))), "-2"));
    hk_optimizer_release(optimizer);
    clear_failures();

    hk_optimizer_step(NULL);
    CHECK(strstr(hk_status_message(hk_wait_all()), "NULL") != NULL);
    CHECK(!hk_ok(hk_optimizer_status(NULL)));
    hk_optimizer_release(NULL);
    clear_failures();
    hk_array_release(x);
}

static double item(hk_array *x, int i)
{
    HK_SCOPE;
    return hk_item(hk_index(x, 0, i), NULL);
}

static void test_clip(hk_device a, hk_device b)
{
    HK_SCOPE;
    hk_array *params[] = {param_create(HK_F32, a), param_create(HK_F32, b)};
    double square = 0;
    for (int p = 0; p < 2; p++)
        set_gradient(params[p], p);
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < SIZE; i++)
            square += gradient(p, i) * gradient(p, i);
    const double norm = sqrt(square), before = item(hk_grad(params[1]), 5);
    CHECK(fabs(hk_item(hk_clip_grad_norm(params, 2, 2 * norm), NULL) - norm) < 1e-5);
    CHECK(item(hk_grad(params[1]), 5) == before);
    CHECK(fabs(hk_item(hk_clip_grad_norm(params, 2, norm / 4), NULL) - norm) < 1e-5);
    CHECK(fabs(item(hk_grad(params[1]), 5) - before / 4) < 1e-6);
    hk_clip_grad_value(params, 2, 0.1);
    for (int i = 0; i < SIZE; i++) {
        const double g = gradient(0, i) / 4, limited = g > 0.1 ? 0.1 : g < -0.1 ? -0.1 : g;
        CHECK(fabs(item(hk_grad(params[0]), i) - limited) < 1e-6);
    }
    CHECK(hk_ok(hk_wait_all()));
    CHECK(!hk_ok(hk_wait(hk_clip_grad_norm(params, 2, 0))));
    CHECK(!hk_ok(hk_wait(hk_clip_grad_norm(params, 0, 1))));
    CHECK(
        !hk_ok(hk_wait(hk_clip_grad_norm((hk_array *[]){hk_ones(hk_shape(1), HK_F32, a)}, 1, 1))));
    hk_clip_grad_value(params, 2, -1);
    CHECK(!hk_ok(hk_wait_all()));
    clear_failures();
    for (int p = 0; p < 2; p++)
        hk_array_release(params[p]);
}

static void test_schedules(void)
{
    CHECK(hk_lr_step(0.4, 0, 10, 0.5) == 0.4 && hk_lr_step(0.4, 9, 10, 0.5) == 0.4);
    CHECK(hk_lr_step(0.4, 10, 10, 0.5) == 0.2 && hk_lr_step(0.4, 35, 10, 0.5) == 0.05);
    CHECK(hk_lr_step(0.4, 35, 0, 0.5) == 0.4);
    CHECK(hk_lr_cosine(1, 0, 100, 0.2) == 1 && hk_lr_cosine(1, 100, 100, 0.2) == 0.2);
    CHECK(fabs(hk_lr_cosine(1, 50, 100, 0.2) - 0.6) < 1e-15 && hk_lr_cosine(1, 0, 0, 0.2) == 0.2);
    CHECK(hk_lr_warm_up(1, 0, 4) == 0.25 && hk_lr_warm_up(1, 3, 4) == 1);
    CHECK(hk_lr_warm_up(1, 100, 4) == 1 && hk_lr_warm_up(1, 0, 0) == 1);
    hk_lr_plateau plateau = {.factor = 0.1, .patience = 1};
    const double losses[] = {3, 2, 2, 2.5, 1, NAN, 1.5}, rates[] = {1, 1, 1, .1, .1, .1, .01};
    double lr = 1;
    for (int i = 0; i < 7; i++) {
        lr = hk_lr_plateau_next(&plateau, lr, losses[i]);
        CHECK(fabs(lr - rates[i]) < 1e-15);
    }
}

/* Of 2, 1.5, nan … the first is the best so far, and a little less is none. */
static void test_early_stop(void)
{
    hk_early_stop stop = {.patience = 1, .least = 0.1};
    const double losses[] = {2, 1.5, NAN, 1.45, 1, 1, 2};
    const bool best[] = {true, true, false, false, true, false, false};
    const bool stops[] = {false, false, false, true, false, false, true};
    for (int i = 0; i < 7; i++) {
        CHECK(hk_early_stop_next(&stop, losses[i]) == stops[i]);
        CHECK(stop.is_best == best[i]);
    }
    stop = (hk_early_stop){.patience = 0};
    CHECK(!hk_early_stop_next(&stop, NAN) && !stop.is_best);
    CHECK(!hk_early_stop_next(&stop, 5) && stop.is_best && stop.best == 5);
    CHECK(hk_early_stop_next(&stop, 5));
}

static double at(hk_array *x, int64_t index)
{
    HK_SCOPE;
    return hk_item(hk_cast(hk_index(x, 0, index), HK_F64), NULL);
}

/* By the formula, by calls and by replays; there and back. */
static void test_averages(hk_device device)
{
    for (int is_captured = 0; is_captured < 2; is_captured++) {
        HK_SCOPE;
        hk_array *x = hk_full(hk_shape(3), 8, HK_F32, device),
                 *y = hk_zeros(hk_shape(2), HK_F64, device);
        hk_array *const params[] = {x, y};
        hk_weight_averages *averages = hk_weight_averages_create(params, 2, 0.75);
        CHECK(hk_ok(hk_weight_averages_status(averages)));
        hk_graph *graph = NULL;
        double of_x = 8, now = 8;
        for (int i = 0; i < 4; i++) {
            now -= 1;
            of_x = 0.75 * of_x + 0.25 * now;
            if (graph) {
                hk_replay(graph, NULL, 0);
                continue;
            }
            if (is_captured)
                hk_capture_begin(NULL, 0);
            {
                HK_SCOPE;
                hk_add_into(x, x, -1);
                hk_weight_averages_update(averages);
            }
            if (is_captured)
                graph = hk_capture_end(NULL);
        }
        hk_graph_release(graph);
        CHECK(at(hk_weight_averages_get(averages, 0), 2) == of_x && at(x, 2) == now);
        hk_weight_averages_swap(averages);
        CHECK(at(hk_weight_averages_get(averages, 0), 2) == now && at(x, 2) == of_x);
        hk_weight_averages_swap(averages);
        CHECK(at(x, 0) == now && at(y, 1) == 0 && at(hk_weight_averages_get(averages, 1), 1) == 0);
        CHECK(!hk_weight_averages_get(averages, 2) && !hk_weight_averages_get(NULL, 0));
        hk_weight_averages_release(hk_weight_averages_retain(averages));
        hk_weight_averages_release(averages);
        averages = hk_weight_averages_create(params, 2, 1.5);
        CHECK(strstr(hk_status_message(hk_weight_averages_status(averages)), "decay 1.5"));
        hk_weight_averages_update(averages);
        hk_weight_averages_swap(averages);
        hk_weight_averages_release(averages);
        averages = hk_weight_averages_create((hk_array *const[]){x, hk_cast(x, HK_I32)}, 2, 0.5);
        CHECK(
            strstr(hk_status_message(hk_weight_averages_status(averages)), "parameter 1 is int32"));
        hk_weight_averages_release(averages);
    }
    hk_weight_averages_update(NULL);
    hk_weight_averages_release(NULL);
    CHECK(!hk_ok(hk_weight_averages_status(NULL)));
}

/* Two halves of a batch give what the batch gives, by calls and by replays. */
static void test_accumulation(hk_device device)
{
    HK_SCOPE;
    hk_array *w = hk_full(hk_shape(2), 1, HK_F32, device),
             *v = hk_full(hk_shape(2), 1, HK_F32, device);
    hk_array *x = hk_random_normal(hk_shape(4, 2), HK_F32, device);
    hk_attach_grad(w, HK_GRAD_WRITE);
    hk_graph *graph = NULL;
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            hk_capture_begin(NULL, 0);
        if (i < 2) {
            HK_SCOPE;
            hk_accumulate_grads(&w, 1);
            for (int half = 0; half < 2; half++) {
                hk_record_begin();
                hk_array *loss =
                    hk_sum(hk_square(hk_multiply(hk_slice(x, 0, 2 * half, 2 * half + 2), w)), NULL);
                hk_record_end();
                hk_backward(loss);
            }
            hk_sgd(&w, 1, &(hk_sgd_options){.lr = 0.1, .batch = 4});
        } else
            hk_replay(graph, NULL, 0);
        if (i == 1)
            graph = hk_capture_end(&(hk_capture_options){.exact = true});
    }
    hk_graph_release(graph);
    hk_attach_grad(v, HK_GRAD_WRITE);
    for (int i = 0; i < 3; i++) {
        hk_record_begin();
        hk_array *loss = hk_sum(hk_square(hk_multiply(x, v)), NULL);
        hk_record_end();
        hk_backward(loss);
        hk_sgd(&v, 1, &(hk_sgd_options){.lr = 0.1, .batch = 4});
    }
    CHECK(fabs(at(w, 0) - at(v, 0)) < 1e-6 && fabs(at(w, 1) - at(v, 1)) < 1e-6);
    hk_accumulate_grads(NULL, 3);
}

int main(void)
{
    test_early_stop();
    for (int engine = 0; engine < 2; engine++) {
        const hk_sim_options sim = {0};
        const hk_runtime_options options = {.engine = engine ? HK_ENGINE_ASYNC : HK_ENGINE_SERIAL,
                                            .cpu_devices = 2,
                                            .sim = &sim,
                                            .sim_count = 1};
        CHECK(hk_ok(hk_runtime_init(&options)));
        const hk_device cpu = hk_device_named("cpu:0"), other = hk_device_named("cpu:1"),
                        accelerator = hk_device_named("sim:0");
        test_formulas(cpu, other);
        test_formulas(accelerator, cpu);
        test_slow_average(cpu);
        test_captured(cpu);
        test_captured(accelerator);
        test_saved(cpu);
        test_failed_gradient(cpu);
        test_frozen(cpu);
        test_failed_gradient(accelerator);
        test_refused(cpu);
        test_clip(cpu, accelerator);
        test_averages(cpu);
        test_averages(accelerator);
        test_accumulation(cpu);
        hk_runtime_deinit();
    }
    test_schedules();
    return check_result();
}
