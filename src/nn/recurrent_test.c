/* Recurrent layers against loops in double, their state from one call to the next, and what is refused. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 2, STEPS = 4, IN = 3, OUT = 2 };

static const int gates[] = {1, 3, 4};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void read_array(hk_array *x, double *to, size_t count)
{
    CHECK(hk_ok(hk_to_host(hk_cast(x, HK_F64), to, count * sizeof *to)));
}

/* One step of one sample: state becomes the next, h and then c. */
static void reference_step(hk_recurrent_kind kind, const double *const w[4], const double *x,
                           double *state)
{
    double from_x[4 * OUT], from_h[4 * OUT];
    for (int r = 0; r < gates[kind] * OUT; r++) {
        from_x[r] = w[2][r];
        from_h[r] = w[3][r];
        for (int i = 0; i < IN; i++)
            from_x[r] += w[0][r * IN + i] * x[i];
        for (int i = 0; i < OUT; i++)
            from_h[r] += w[1][r * OUT + i] * state[i];
    }
    for (int i = 0; i < OUT; i++) {
        double sums[4] = {0};
        for (int g = 0; g < gates[kind]; g++)
            sums[g] = from_x[g * OUT + i] + from_h[g * OUT + i];
        if (kind == HK_RECURRENT_TANH)
            state[i] = tanh(sums[0]);
        if (kind == HK_RECURRENT_GRU) {
            const double z = sigmoid(sums[1]);
            const double n = tanh(from_x[2 * OUT + i] + sigmoid(sums[0]) * from_h[2 * OUT + i]);
            state[i] = (1 - z) * n + z * state[i];
        }
        if (kind == HK_RECURRENT_LSTM) {
            double *c = &state[OUT + i];
            *c = sigmoid(sums[1]) * *c + sigmoid(sums[0]) * tanh(sums[2]);
            state[i] = sigmoid(sums[3]) * tanh(*c);
        }
    }
}

static void test_kind(hk_recurrent_kind kind)
{
    HK_SCOPE;
    hk_module *layer = hk_recurrent_layer(kind, OUT, true);
    hk_array *x = hk_random_normal(hk_shape(SAMPLES, STEPS, IN), HK_F64, (hk_device){NULL});
    hk_array *y = hk_forward(layer, x), *params[8];
    const int size = kind == HK_RECURRENT_LSTM ? 2 * OUT : OUT;
    CHECK(hk_ndim(y) == 3 && hk_dim(y, 1) == STEPS && hk_dim(y, 2) == size);
    CHECK(hk_module_parameters(layer, params, 8) == 4);
    double w[4][4 * OUT * IN], in[SAMPLES * STEPS * IN], got[SAMPLES * STEPS * 2 * OUT];
    for (int i = 0; i < 4; i++)
        read_array(params[i], w[i], (size_t)hk_size(params[i]));
    read_array(x, in, SAMPLES * STEPS * IN);
    read_array(y, got, (size_t)hk_size(y));
    for (int n = 0; n < SAMPLES; n++) {
        double state[2 * OUT] = {0};
        for (int t = 0; t < STEPS; t++) {
            reference_step(kind, (const double *const[]){w[0], w[1], w[2], w[3]},
                           &in[(n * STEPS + t) * IN], state);
            for (int i = 0; i < size; i++)
                CHECK(fabs(got[(n * STEPS + t) * size + i] - state[i]) < 1e-12);
        }
    }
    /* In two calls, the second with the state that the first has left. */
    hk_array *first = hk_forward(layer, hk_slice(x, 1, 0, 3));
    hk_array *rest =
        hk_forward_all(layer, (hk_array *[]){hk_slice(x, 1, 3, STEPS), hk_index(first, 1, 2)}, 2);
    hk_array *apart = hk_max(hk_abs(hk_subtract(rest, hk_slice(y, 1, 3, STEPS))), NULL);
    CHECK(hk_item(apart, NULL) < 1e-12);

    hk_record_begin();
    hk_array *loss = hk_sum(hk_forward(layer, x), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    for (int i = 0; i < 4; i++)
        CHECK(hk_item(hk_norm(hk_grad(params[i]), NULL), NULL) > 0);
    hk_module_release(layer);
}

/* The slope of the loss by one weight, by differences. */
static void test_gradient(hk_recurrent_kind kind)
{
    HK_SCOPE;
    hk_module *layer = hk_recurrent_layer(kind, OUT, false);
    hk_array *x = hk_random_normal(hk_shape(SAMPLES, STEPS, IN), HK_F64, (hk_device){NULL}), *p[8];
    CHECK(hk_dim(hk_forward(layer, x), 2) == OUT);
    CHECK(hk_module_parameters(layer, p, 8) == 4);
    hk_record_begin();
    hk_array *loss = hk_sum(hk_forward(layer, x), NULL);
    hk_record_end();
    hk_backward(loss);
    for (int i = 0; i < 4; i++) {
        hk_array *one = hk_view(p[i], hk_shape(), NULL, 1);
        const double slope = hk_item(hk_view(hk_grad(p[i]), hk_shape(), NULL, 1), NULL);
        const double before = hk_item(one, NULL), epsilon = 1e-5;
        double sums[2];
        for (int side = 0; side < 2; side++) {
            hk_assign(one,
                      hk_scalar(before + (side ? epsilon : -epsilon), HK_F64, (hk_device){NULL}));
            sums[side] = hk_item(hk_sum(hk_forward(layer, x), NULL), NULL);
        }
        hk_assign(one, hk_scalar(before, HK_F64, (hk_device){NULL}));
        CHECK(fabs((sums[1] - sums[0]) / (2 * epsilon) - slope) < 1e-7);
    }
    hk_module_release(layer);
}

/* The gradient of x, weighed, and with create_graph what it is recorded by. */
static hk_array *weighed_gradient(hk_module *layer, hk_array *x, hk_array *weights, bool create)
{
    HK_RECORD;
    hk_array *dx;
    hk_array *loss = hk_sum(hk_square(hk_forward(layer, x)), NULL);
    hk_gradients(&loss, 1, &x, 1, &(hk_gradients_options){.create_graph = create}, &dx);
    return hk_sum(hk_multiply(dx, weights), NULL);
}

/* The slope of a gradient, by differences; and a gradient with create_graph has the bits of one without. */
static void test_second_gradient(hk_recurrent_kind kind)
{
    HK_SCOPE;
    const hk_device device = {NULL};
    hk_module *layer = hk_recurrent_layer(kind, OUT, true);
    hk_array *x = hk_random_normal(hk_shape(SAMPLES, STEPS, IN), HK_F64, device), *ddx;
    hk_array *weights = hk_random_normal(hk_shape(SAMPLES, STEPS, IN), HK_F64, device);
    hk_array *direction = hk_random_normal(hk_shape(SAMPLES, STEPS, IN), HK_F64, device);
    hk_attach_grad(x, HK_GRAD_TRACK);
    hk_array *slope = weighed_gradient(layer, x, weights, true);
    hk_array *plain = weighed_gradient(layer, x, weights, false);
    CHECK(hk_item(slope, NULL) == hk_item(plain, NULL));
    CHECK(hk_ok(hk_gradients(&slope, 1, &x, 1, NULL, &ddx)));
    const double epsilon = 1e-5, along = hk_item(hk_sum(hk_multiply(ddx, direction), NULL), NULL);
    double sides[2];
    for (int side = 0; side < 2; side++) {
        hk_array *moved = hk_add(x, hk_multiply(direction, side ? epsilon : -epsilon));
        hk_attach_grad(moved, HK_GRAD_TRACK);
        sides[side] = hk_item(weighed_gradient(layer, moved, weights, false), NULL);
    }
    const double difference = (sides[1] - sides[0]) / (2 * epsilon);
    CHECK(fabs(along) > 1e-3 && fabs(difference - along) < 1e-6 * (1 + fabs(along)));
    hk_module_release(layer);
}

static bool says(hk_array *x, const char *text)
{
    return strstr(hk_status_message(hk_wait(x)), text) != NULL;
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(2, 4, 3), HK_F32, (hk_device){NULL});
    hk_module *layer = hk_recurrent_layer(HK_RECURRENT_LSTM, 5, false);
    CHECK(says(hk_forward(layer, hk_index(x, 0, 0)), "x has 2 axes"));
    CHECK(says(hk_forward(layer, hk_slice(x, 1, 0, 0)), "one step or more"));
    hk_array *state = hk_zeros(hk_shape(2, 5), HK_F32, (hk_device){NULL});
    CHECK(says(hk_forward_all(layer, (hk_array *[]){x, state}, 2),
               "state is float32(2,5), but must be (2,10)"));
    CHECK(!hk_ok(hk_wait(hk_forward(layer, NULL))));
    hk_module_release(layer);
    layer = hk_recurrent_layer((hk_recurrent_kind)7, 5, false);
    CHECK(says(hk_forward(layer, x), "kind is 7"));
    hk_module_release(layer);
}

/* The module `to`, of one layer, gets the weights of a child of `from`. */
static void take_weights(hk_module *to, hk_module *from, const char *child, hk_array *x)
{
    hk_module_entry entries[32];
    const int count = hk_module_entries(from, entries, 32);
    const size_t length = strlen(child);
    hk_forward(to, x);
    for (int i = 0; i < count; i++)
        if (strncmp(entries[i].path, child, length) == 0 && entries[i].path[length] == '.')
            CHECK(hk_ok(hk_module_set(to, entries[i].path + length + 1, entries[i].array)));
}

static double apart(hk_array *x, hk_array *y)
{
    return hk_item(hk_max(hk_abs(hk_subtract(x, y)), NULL), NULL);
}

/* What the layer of a stack does, by a layer of its own, on one sample as long as it is. */
static hk_array *by_layer(hk_recurrent_kind kind, hk_module *stack, const char *child, hk_array *x,
                          hk_array *state, bool is_reversed)
{
    hk_module *layer = hk_recurrent_layer(kind, OUT, true);
    take_weights(layer, stack, child, x);
    hk_array *y = hk_forward_all(layer, (hk_array *[]){is_reversed ? hk_flip(x, 1) : x, state}, 2);
    hk_module_release(layer);
    return is_reversed ? hk_flip(y, 1) : y;
}

/* Two layers in both directions, of sequences of several lengths, against layers on each sequence. */
static void test_stack(hk_recurrent_kind kind, bool has_state)
{
    HK_SCOPE;
    const int64_t size = kind == HK_RECURRENT_LSTM ? 2 * OUT : OUT;
    static const char *const names[] = {"0", "0_reversed", "1", "1_reversed"};
    const int32_t lengths[] = {STEPS, 1, 3};
    const hk_recurrent_stack_options options = {.layers = 2, .is_bidirectional = true};
    hk_module *stack = hk_recurrent_stack(kind, OUT, &options);
    hk_recurrent_stack_options last = options;
    last.final_state = true;
    hk_module *final = hk_recurrent_stack(kind, OUT, &last);
    hk_array *x = hk_random_normal(hk_shape(3, STEPS, IN), HK_F64, (hk_device){NULL});
    hk_array *long_as = hk_from_host(lengths, hk_shape(3), HK_I32, (hk_device){NULL});
    hk_array *state =
        has_state ? hk_random_normal(hk_shape(3, 4 * size), HK_F64, (hk_device){NULL}) : NULL;
    hk_array *inputs[] = {x, state, long_as};
    hk_array *y = hk_forward_all(stack, inputs, 3);
    CHECK(hk_dim(y, 2) == 2 * OUT);
    hk_forward_all(final, inputs, 3);
    hk_module_entry entries[32];
    for (int i = 0; i < hk_module_entries(stack, entries, 32); i++)
        hk_module_set(final, entries[i].path, entries[i].array);
    hk_array *ends = hk_forward_all(final, inputs, 3);
    last =
        (hk_recurrent_stack_options){.layers = 2, .is_bidirectional = true, .whole_states = true};
    hk_module *whole = hk_recurrent_stack(kind, OUT, &last);
    hk_forward_all(whole, inputs, 3);
    for (int i = 0; i < hk_module_entries(stack, entries, 32); i++)
        hk_module_set(whole, entries[i].path, entries[i].array);
    hk_array *all = hk_forward_all(whole, inputs, 3);
    CHECK(hk_dim(all, 1) == STEPS && hk_dim(all, 2) == 4 * size);
    CHECK(apart(hk_slice(hk_index(all, 1, STEPS - 1), 1, 2 * size, 3 * size),
                hk_slice(ends, 1, 2 * size, 3 * size)) == 0);
    CHECK(apart(hk_slice(hk_index(all, 1, 0), 1, 3 * size, 4 * size),
                hk_slice(ends, 1, 3 * size, 4 * size)) == 0);
    CHECK(apart(hk_slice(hk_index(all, 1, 0), 1, 2 * size, 2 * size + OUT),
                hk_slice(hk_index(y, 1, 0), 1, 0, OUT)) == 0);
    hk_module_release(whole);
    for (int n = 0; n < 3; n++) {
        hk_array *own = hk_slice(hk_slice(x, 0, n, n + 1), 1, 0, lengths[n]), *states[4];
        for (int i = 0; i < 4; i++) {
            hk_array *begin =
                state ? hk_slice(hk_slice(state, 0, n, n + 1), 1, i * size, (i + 1) * size)
                      : hk_zeros(hk_shape(1, size), HK_F64, (hk_device){NULL});
            states[i] = by_layer(kind, stack, names[i], own, begin, i % 2);
            hk_array *end = hk_index(states[i], 1, i % 2 ? 0 : lengths[n] - 1);
            CHECK(apart(hk_slice(hk_slice(ends, 0, n, n + 1), 1, i * size, (i + 1) * size), end) <
                  1e-12);
            if (i % 2)
                own = hk_concat(((hk_array *[]){hk_slice(states[i - 1], 2, 0, OUT),
                                                hk_slice(states[i], 2, 0, OUT)}),
                                2, 2);
        }
        hk_array *got = hk_slice(y, 0, n, n + 1);
        CHECK(apart(hk_slice(got, 1, 0, lengths[n]), own) < 1e-12);
        if (lengths[n] < STEPS)
            CHECK(hk_item(hk_max(hk_abs(hk_slice(got, 1, lengths[n], STEPS)), NULL), NULL) == 0);
    }
    hk_module_release(stack);
    hk_module_release(final);
}

/* Steps behind a sequence's end have no part in the gradient. */
static void test_masked_gradient(void)
{
    HK_SCOPE;
    hk_module *layer = hk_recurrent_layer(HK_RECURRENT_GRU, OUT, true);
    hk_array *x = hk_random_normal(hk_shape(2, STEPS, IN), HK_F64, (hk_device){NULL});
    hk_array *lengths =
        hk_from_host((const int64_t[]){2, 0}, hk_shape(2), HK_I64, (hk_device){NULL});
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_forward_all(layer, (hk_array *[]){x, NULL, lengths}, 3);
    hk_record_end();
    CHECK(hk_ok(hk_backward(y)));
    hk_array *grad = hk_grad(x);
    CHECK(apart(hk_index(grad, 0, 1), hk_zeros_like(hk_index(grad, 0, 1))) == 0);
    CHECK(apart(hk_slice(grad, 1, 2, STEPS), hk_zeros_like(hk_slice(grad, 1, 2, STEPS))) == 0);
    CHECK(hk_item(hk_norm(hk_slice(hk_index(grad, 0, 0), 0, 1, 2), NULL), NULL) > 0);
    hk_module_release(layer);
}

static void test_stack_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(2, STEPS, IN), HK_F32, (hk_device){NULL});
    hk_module *stack = hk_recurrent_stack(HK_RECURRENT_GRU, OUT, NULL);
    CHECK(hk_dim(hk_forward(stack, x), 2) == OUT);
    CHECK(says(hk_forward_all(stack, (hk_array *[]){x, x}, 2), "and (n, 2)"));
    CHECK(says(hk_forward_all(stack, (hk_array *[]){x, NULL, x}, 3),
               "lengths is float32(2,4,3), but must be integers of shape (2,)"));
    CHECK(says(hk_forward_all(stack, (hk_array *[]){x, NULL, NULL, x}, 4), "there are 4 inputs"));
    hk_module_release(stack);
    stack = hk_recurrent_stack(HK_RECURRENT_GRU, OUT, &(hk_recurrent_stack_options){.layers = -1});
    CHECK(says(hk_forward(stack, x), "layers is -1"));
    hk_module_release(stack);
    stack = hk_recurrent_stack(HK_RECURRENT_GRU, OUT,
                               &(hk_recurrent_stack_options){.layers = 2, .dropout = 1});
    CHECK(says(hk_forward(stack, x), "p is 1"));
    hk_module_release(stack);
}

int main(void)
{
    hk_seed(11);
    for (int kind = HK_RECURRENT_TANH; kind <= HK_RECURRENT_LSTM; kind++) {
        test_kind((hk_recurrent_kind)kind);
        test_gradient((hk_recurrent_kind)kind);
        test_second_gradient((hk_recurrent_kind)kind);
    }
    for (int kind = HK_RECURRENT_TANH; kind <= HK_RECURRENT_LSTM; kind++)
        test_stack((hk_recurrent_kind)kind, kind != HK_RECURRENT_GRU);
    test_masked_gradient();
    test_stack_refusals();
    test_refusals();
    return check_result();
}
