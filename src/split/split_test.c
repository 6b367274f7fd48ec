/* Splits in one process: values and gradients are those of the whole network, whatever the devices; refusals. */
#include "check.h"

#include "split/split_fixture.h"

enum { HIDDEN = 8, OUT = 4 };

/* ---- moves against the same on one device --------------------------------------------------------------------------------- */

/* Some loss of a list that weighs each array in its own way, on the first device. */
static hk_array *weighed(hk_array *const *xs, int n, int skipped)
{
    hk_array *total = NULL;
    for (int i = 0; i < n; i++) {
        if (i == skipped)
            continue;
        hk_array *x = hk_reshape(hk_to_device(xs[i], devices[0]), hk_shape(-1));
        hk_array *w = make(40 + i, hk_shape(hk_size(x)), devices[0]);
        hk_array *part = hk_sum(hk_multiply(hk_square(x), w), NULL);
        total = total ? hk_add(total, part) : part;
    }
    return total;
}

typedef enum move_name { SUM, GATHER, SCATTER, SHARE, JOIN, MOVES } move_name;

static int apply(move_name move, hk_array *const *xs, int n, int axis, hk_array **out)
{
    switch (move) {
    case SUM:
        hk_devices_sum(xs, n, out);
        return n;
    case GATHER:
        hk_devices_all_gather(xs, n, axis, out);
        return n;
    case SCATTER:
        hk_devices_reduce_scatter(xs, n, axis, out);
        return n;
    case SHARE:
        hk_devices_share(xs[0], devices, n, out);
        return n;
    default:
        out[0] = hk_devices_join(xs, n, (hk_device){NULL});
        return 1;
    }
}

/* The same of arrays of one device, by other operators. */
static void apply_plainly(move_name move, hk_array *const *xs, int n, int axis, hk_array **out)
{
    hk_array *sum = plain_sum(xs, n);
    for (int i = 0; i < n; i++) {
        const int64_t each = hk_dim(xs[0], axis) / n;
        out[i] = move == GATHER    ? hk_concat(xs, n, axis)
                 : move == SCATTER ? hk_slice(sum, axis, i * each, (i + 1) * each)
                 : move == SHARE   ? xs[0]
                                   : sum;
    }
}

static void check_move(move_name move, int n, int axis, int skipped)
{
    HK_SCOPE;
    hk_array *xs[MOST], *plain[MOST], *out[MOST], *expected[MOST], *loss, *expected_loss;
    for (int i = 0; i < n; i++) {
        xs[i] = parameter(make(i, hk_shape(4, 12), devices[i]));
        plain[i] = parameter(make(i, hk_shape(4, 12), devices[0]));
    }
    int count;
    {
        HK_RECORD;
        count = apply(move, xs, n, axis, out);
        loss = weighed(out, count, skipped);
        apply_plainly(move, plain, n, axis, expected);
        expected_loss = weighed(expected, count, skipped);
    }
    for (int i = 0; i < count; i++) {
        CHECK(close_to(out[i], expected[i]));
        CHECK(hk_array_device(out[i]).handle == devices[i].handle);
    }
    CHECK(hk_ok(hk_backward(loss)) && hk_ok(hk_backward(expected_loss)));
    for (int i = 0; i < (move == SHARE ? 1 : n); i++) {
        CHECK(close_to(hk_grad(xs[i]), hk_grad(plain[i])));
        CHECK(hk_array_device(hk_grad(xs[i])).handle == devices[i].handle);
    }
}

static void test_moves(void)
{
    for (move_name move = SUM; move < MOVES; move++)
        for (int n = 1; n <= MOST; n++)
            for (int axis = 0; axis < 2; axis++) {
                if (axis == 0 && n == 3)
                    continue; /* does not divide 4 */
                check_move(move, n, axis, -1);
                if (n > 1 && move != JOIN)
                    check_move(move, n, axis, 1);
            }
}

/* Gradients of gradients go through moves. */
static void test_second_gradients(void)
{
    HK_SCOPE;
    hk_array *xs[2], *out[2], *dx, *ddx;
    for (int i = 0; i < 2; i++)
        xs[i] = parameter(make(i, hk_shape(3), devices[i]));
    HK_RECORD;
    hk_devices_sum(xs, 2, out);
    hk_array *loss = hk_sum(hk_multiply(hk_square(out[0]), out[0]), NULL); /* s^3 */
    CHECK(hk_ok(
        hk_gradients(&loss, 1, &xs[1], 1, &(hk_gradients_options){.create_graph = true}, &dx)));
    hk_array *sum = hk_sum(dx, NULL);
    CHECK(hk_ok(hk_gradients(&sum, 1, &xs[0], 1, NULL, &ddx)));
    CHECK(close_to(ddx, hk_multiply(hk_detach(out[0]), 6)));
}

/* ---- by layer -------------------------------------------------------------------------------------------------------------- */

/* Rows of part i of n of an array along an axis, on a device. */
static hk_array *part_of(hk_array *x, int axis, int i, int n, hk_device device)
{
    const int64_t each = hk_dim(x, axis) / n;
    return parameter(hk_to_device(hk_slice(x, axis, i * each, (i + 1) * each), device));
}

typedef struct mlp {
    hk_array *x, *y;                    /* and the result */
    hk_array *first[MOST], *bias[MOST]; /* columns of the first layer */
    hk_array *second[MOST], *last;      /* rows of the second one; its bias */
} mlp;

/* A column-split layer and a row-split one behind it, over n devices, which may be one. */
static mlp run_mlp(const hk_device *on, int n)
{
    mlp net = {.x = parameter(make(1, hk_shape(BATCH, IN), on[0]))};
    hk_array *first = make(2, hk_shape(HIDDEN, IN), on[0]),
             *bias = make(3, hk_shape(HIDDEN), on[0]);
    hk_array *second = make(4, hk_shape(OUT, HIDDEN), on[0]);
    for (int i = 0; i < n; i++) {
        net.first[i] = part_of(first, 0, i, n, on[i]);
        net.bias[i] = part_of(bias, 0, i, n, on[i]);
        net.second[i] = part_of(second, 1, i, n, on[i]);
    }
    net.last = parameter(make(5, hk_shape(OUT), on[0]));
    hk_array *in[MOST], *part[MOST], *loss;
    {
        HK_RECORD;
        hk_devices_share(net.x, on, n, in);
        for (int i = 0; i < n; i++)
            part[i] = hk_linear(hk_tanh(hk_linear(in[i], net.first[i], net.bias[i])), net.second[i],
                                NULL);
        net.y = hk_add(hk_devices_join(part, n, on[0]), net.last);
        loss = hk_sum(hk_square(net.y), NULL);
    }
    CHECK(hk_ok(hk_backward(loss)));
    return net;
}

static hk_array *grads_together(hk_array *const *xs, int n, int axis)
{
    hk_array *grads[MOST];
    for (int i = 0; i < n; i++)
        grads[i] = hk_to_device(hk_grad(xs[i]), devices[0]);
    return hk_concat(grads, n, axis);
}

static bool mlps_agree(const mlp *a, int n, const mlp *b, int other_n,
                       bool (*agree)(hk_array *, hk_array *))
{
    return agree(a->y, b->y) && agree(hk_grad(a->x), hk_grad(b->x)) &&
           agree(hk_grad(a->last), hk_grad(b->last)) &&
           agree(grads_together(a->first, n, 0), grads_together(b->first, other_n, 0)) &&
           agree(grads_together(a->bias, n, 0), grads_together(b->bias, other_n, 0)) &&
           agree(grads_together(a->second, n, 1), grads_together(b->second, other_n, 1));
}

static void test_linear_halves(void)
{
    const hk_device one[MOST] = {devices[0], devices[0], devices[0], devices[0]};
    for (int n = 2; n <= MOST; n += 2) {
        HK_SCOPE;
        const mlp whole = run_mlp(devices, 1), split = run_mlp(devices, n), here = run_mlp(one, n);
        CHECK(mlps_agree(&split, n, &whole, 1, close_to));
        CHECK(mlps_agree(&split, n, &here, n, same)); /* devices change nothing */
    }
}

/* Halves of the channels of one convolution, which the next one sums over. */
static void run_convolutions(int n, hk_array **y, hk_array *x, hk_array **first, hk_array **second)
{
    hk_array *in[MOST], *part[MOST];
    hk_array *a = make(7, hk_shape(4, 2, 3, 3), devices[0]);
    hk_array *b = make(8, hk_shape(3, 4, 3, 3), devices[0]), *loss;
    for (int i = 0; i < n; i++) {
        first[i] = part_of(a, 0, i, n, devices[i]);
        second[i] = part_of(b, 1, i, n, devices[i]);
    }
    {
        HK_RECORD;
        hk_devices_share(x, devices, n, in);
        for (int i = 0; i < n; i++)
            part[i] =
                hk_conv2d(hk_tanh(hk_conv2d(in[i], first[i], NULL, NULL)), second[i], NULL, NULL);
        *y = hk_devices_join(part, n, devices[0]);
        loss = hk_sum(hk_square(*y), NULL);
    }
    CHECK(hk_ok(hk_backward(loss)));
}

static void test_channel_halves(void)
{
    HK_SCOPE;
    hk_array *ys[2], *xs[2], *first[2][MOST], *second[2][MOST];
    for (int i = 0; i < 2; i++) {
        xs[i] = parameter(make(6, hk_shape(2, 2, 8, 8), devices[0]));
        run_convolutions(i + 1, &ys[i], xs[i], first[i], second[i]);
    }
    CHECK(close_to(ys[0], ys[1]) && close_to(hk_grad(xs[0]), hk_grad(xs[1])));
    CHECK(close_to(hk_grad(first[0][0]), grads_together(first[1], 2, 0)));
    CHECK(close_to(hk_grad(second[0][0]), grads_together(second[1], 2, 1)));
}

/* ---- captured steps ------------------------------------------------------------------------------------------------------ */

/* A step of training by layer on two CPU devices. */
static void step_by_layer(hk_array *const *first, hk_array *const *second, hk_array *x)
{
    HK_SCOPE;
    hk_array *in[2], *part[2], *both[2], *loss;
    {
        HK_RECORD;
        hk_devices_share(x, devices, 2, in);
        for (int i = 0; i < 2; i++)
            part[i] = hk_linear(hk_tanh(hk_linear(in[i], first[i], NULL)), second[i], NULL);
        hk_devices_sum(part, 2, both);
        loss = hk_sum(hk_square(both[1]), NULL);
    }
    hk_backward(loss);
    for (int i = 0; i < 2; i++) {
        hk_sgd(&first[i], 1, &(hk_sgd_options){.lr = 0.01});
        hk_sgd(&second[i], 1, &(hk_sgd_options){.lr = 0.01});
    }
}

static void test_captured(void)
{
    HK_SCOPE;
    hk_array *first[2][2], *second[2][2];
    hk_graph *graph = NULL;
    for (int captured = 0; captured < 2; captured++) {
        for (int i = 0; i < 2; i++) {
            first[captured][i] =
                part_of(make(2, hk_shape(HIDDEN, IN), devices[0]), 0, i, 2, devices[i]);
            second[captured][i] =
                part_of(make(3, hk_shape(OUT, HIDDEN), devices[0]), 1, i, 2, devices[i]);
        }
        for (int step = 0; step < 4; step++) {
            hk_array *x = hk_copy(make(30 + step, hk_shape(BATCH, IN), devices[0]));
            if (captured && step == 1)
                hk_capture_begin(&x, 1);
            if (captured && step > 1)
                hk_replay(graph, &x, 1);
            else
                step_by_layer(first[captured], second[captured], x);
            if (captured && step == 1)
                graph = hk_capture_end(&(hk_capture_options){.exact = true});
        }
    }
    CHECK(hk_ok(hk_graph_status(graph)));
    for (int i = 0; i < 2; i++)
        CHECK(same(first[0][i], first[1][i]) && same(second[0][i], second[1][i]));
    hk_graph_release(graph);
}

/* ---- batch norm ------------------------------------------------------------------------------------------------------------ */

typedef struct normed {
    hk_array *xs[MOST], *gammas[MOST], *betas[MOST], *means[MOST], *variances[MOST], *ys[MOST];
} normed;

/* Parts of one batch of 12 samples, the last device's larger than the others'. */
static void make_parts(normed *self, int n, hk_dims shape)
{
    hk_array *whole = make(20, shape, devices[0]);
    for (int i = 0; i < n; i++) {
        const int64_t begin = 2 * i, end = i == n - 1 ? BATCH : 2 * i + 2;
        self->xs[i] = parameter(hk_to_device(hk_slice(whole, 0, begin, end), devices[i]));
        self->gammas[i] = parameter(make(21, hk_shape(shape.dims[1]), devices[i]));
        self->betas[i] = parameter(make(22, hk_shape(shape.dims[1]), devices[i]));
        self->means[i] = hk_copy(make(23, hk_shape(shape.dims[1]), devices[i]));
        self->variances[i] = hk_copy(make(24, hk_shape(shape.dims[1]), devices[i]));
    }
}

/* A loss that weighs each element, so that gradients of inputs are not zeros. */
static hk_array *batch_loss(hk_array *const *ys, int n)
{
    hk_array *here[MOST];
    for (int i = 0; i < n; i++)
        here[i] = hk_to_device(ys[i], devices[0]);
    hk_array *y = hk_reshape(hk_concat(here, n, 0), hk_shape(-1));
    return hk_sum(hk_multiply(hk_square(y), make(25, hk_shape(hk_size(y)), devices[0])), NULL);
}

static void check_batch_norm(int n, hk_dims shape)
{
    HK_SCOPE;
    normed whole, split;
    const hk_batch_norm_train_options options = {.eps = 1e-3, .momentum = 0.3};
    make_parts(&whole, 1, shape);
    make_parts(&split, n, shape);
    {
        HK_RECORD;
        whole.ys[0] = hk_batch_norm_train(whole.xs[0], whole.gammas[0], whole.betas[0],
                                          whole.means[0], whole.variances[0], &options);
        hk_backward(batch_loss(whole.ys, 1));
        hk_batch_norm_over(NULL, split.xs, split.gammas, split.betas, split.means, split.variances,
                           n, &options, split.ys);
        hk_backward(batch_loss(split.ys, n));
    }
    hk_array *here[2][MOST], *gamma = NULL, *beta = NULL;
    for (int i = 0; i < n; i++) {
        here[0][i] = hk_to_device(split.ys[i], devices[0]);
        here[1][i] = hk_to_device(hk_grad(split.xs[i]), devices[0]);
        hk_array *its_gamma = hk_to_device(hk_grad(split.gammas[i]), devices[0]);
        hk_array *its_beta = hk_to_device(hk_grad(split.betas[i]), devices[0]);
        gamma = gamma ? hk_add(gamma, its_gamma) : its_gamma;
        beta = beta ? hk_add(beta, its_beta) : its_beta;
        CHECK(close_to(split.means[i], whole.means[0]));
        CHECK(close_to(split.variances[i], whole.variances[0]));
    }
    CHECK(close_to(hk_concat(here[0], n, 0), whole.ys[0]));
    CHECK(close_to(hk_concat(here[1], n, 0), hk_grad(whole.xs[0])));
    CHECK(close_to(gamma, hk_grad(whole.gammas[0])) && close_to(beta, hk_grad(whole.betas[0])));
}

static void test_batch_norm_refusals(void)
{
    HK_SCOPE;
    normed all;
    make_parts(&all, 2, hk_shape(BATCH, 3));
    all.gammas[1] = make(1, hk_shape(4), devices[1]);
    hk_batch_norm_over(NULL, all.xs, all.gammas, all.betas, all.means, all.variances, 2, NULL,
                       all.ys);
    CHECK(fails(all.ys[0], "gamma 1 is float64(4,)") && fails(all.means[0], "gamma 1 is"));
    make_parts(&all, 2, hk_shape(BATCH, 3));
    hk_batch_norm_over(NULL, all.xs, all.gammas, all.betas, all.means, all.variances, 2,
                       &(hk_batch_norm_train_options){.momentum = 2}, all.ys);
    CHECK(hk_ok(hk_wait(all.ys[0])) && fails(all.variances[1], "momentum is 2"));
    make_parts(&all, 2, hk_shape(BATCH, 3));
    all.xs[1] = NULL;
    hk_batch_norm_over(NULL, all.xs, all.gammas, all.betas, all.means, all.variances, 2, NULL,
                       all.ys);
    CHECK(fails(all.ys[1], "x 1 is NULL"));
    make_parts(&all, 1, hk_shape(BATCH, 3));
    all.xs[0] = hk_slice(all.xs[0], 0, 0, 1);
    hk_batch_norm_over(NULL, all.xs, all.gammas, all.betas, all.means, all.variances, 1, NULL,
                       all.ys);
    CHECK(fails(all.ys[0], "1 elements for each channel"));
    hk_batch_norm_over(NULL, all.xs, all.gammas, all.betas, all.means, NULL, 1, NULL, all.ys);
    CHECK(fails(all.ys[0], "no list NULL"));
    hk_batch_norm_over(NULL, all.xs, all.gammas, all.betas, all.means, all.variances, 1,
                       &(hk_batch_norm_train_options){.eps = -1}, all.ys);
    CHECK(fails(all.ys[0], "eps is -1"));
    clear_failures();
}

static void test_batch_norm(void)
{
    for (int n = 1; n <= MOST; n++) {
        check_batch_norm(n, hk_shape(BATCH, 3));
        check_batch_norm(n, hk_shape(BATCH, 2, 3, 4));
    }
}

/* ---- refusals --------------------------------------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *out[MOST], *x = parameter(make(1, hk_shape(4, 6), devices[0]));
    hk_array *y = parameter(make(1, hk_shape(4, 5), devices[1]));
    CHECK(fails(hk_devices_join((hk_array *[]){x, y}, 2, devices[0]), "array 1 is float64(4,5)"));
    CHECK(fails(hk_devices_join((hk_array *[]){x, NULL}, 2, devices[0]), "array 1 is NULL"));
    CHECK(fails(hk_devices_join(&x, 0, devices[0]), "n is 0"));
    CHECK(fails(hk_devices_join(NULL, 2, devices[0]), "NULL"));
    hk_devices_all_gather((hk_array *[]){x, x}, 2, 2, out);
    CHECK(fails(out[1], "axis is 2, but the arrays have 2 axes"));
    hk_devices_reduce_scatter((hk_array *[]){y, y}, 2, 1, out);
    CHECK(fails(out[0], "axis 1 is 5; 2 devices must divide it"));
    hk_devices_share(x, NULL, 2, out);
    CHECK(fails(out[1], "none missing"));
    hk_devices_share(NULL, devices, 2, out);
    CHECK(fails(out[0], "NULL"));
    hk_devices_sum((hk_array *[]){x, out[0]}, 2, out);
    CHECK(fails(out[1], "NULL"));          /* by its record */
    hk_devices_sum(&x, 1, NULL);           /* counted, not a crash */
    hk_devices_share(x, devices, 2, NULL); /* likewise */
    CHECK(!hk_ok(hk_wait_all()));
    clear_failures();
    {
        HK_RECORD;
        hk_array *bad = hk_devices_join((hk_array *[]){x, y}, 2, devices[0]);
        hk_backward(hk_sum(bad, NULL));
    }
    CHECK(fails(hk_grad(x), "array 1 is")); /* not left as it was */
    CHECK(fails(hk_grad(y), "array 1 is"));
    clear_failures();
}

/* Results belong to the caller where there is no scope, and nothing is left over. */
static void test_ownership(void)
{
    uint64_t before = 0;
    for (int round = 0; round < 3; round++) {
        hk_array *xs[2], *out[2], *bad[2];
        for (int i = 0; i < 2; i++) {
            HK_SCOPE;
            xs[i] = hk_take(parameter(make(i, hk_shape(64, 64), devices[i])));
        }
        hk_record_begin();
        hk_devices_all_gather(xs, 2, 0, out);
        hk_devices_all_gather(xs, 2, 5, bad);
        hk_record_end();
        hk_backward_all(out, 2);
        for (int i = 0; i < 2; i++) {
            hk_array_release(out[i]);
            hk_array_release(bad[i]);
            hk_array_release(xs[i]);
        }
        hk_wait_all();
        const uint64_t used = hk_device_get_memory(devices[0]).used_bytes;
        CHECK(round < 2 || used == before);
        before = used;
    }
    clear_failures();
}

int main(void)
{
    start_devices();
    test_moves();
    test_second_gradients();
    test_linear_halves();
    test_channel_halves();
    test_captured();
    test_batch_norm();
    CHECK(hk_ok(hk_wait_all()));
    test_refusals();
    test_batch_norm_refusals();
    test_ownership();
    return check_result();
}
