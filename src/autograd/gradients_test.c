/* Gradients as arrays, kept tapes, gradients of gradients, Jacobian-vector products. */
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hk_array *vector(double first, double second)
{
    return hk_from_host((double[]){first, second}, hk_shape(2), HK_F64, hk_device_default());
}

static hk_array *tracked(double first, double second)
{
    hk_array *x = vector(first, second);
    hk_attach_grad(x, HK_GRAD_TRACK);
    return x;
}

static bool holds(hk_array *x, double first, double second)
{
    double values[2] = {NAN, NAN};
    const hk_status *status = hk_to_host(x, values, sizeof values);
    const bool is_close = hk_ok(status) &&
                          fabs(values[0] - first) <= 1e-12 * fmax(1, fabs(first)) &&
                          fabs(values[1] - second) <= 1e-12 * fmax(1, fabs(second));
    if (!is_close)
        fprintf(stderr, "%g, %g (%s)\n", values[0], values[1], hk_status_message(status));
    return is_close;
}

static bool fails(hk_array *x, const char *text)
{
    const hk_status *status = hk_wait(x);
    const bool as_said = !hk_ok(status) && strstr(hk_status_message(status), text);
    if (!as_said)
        fprintf(stderr, "%s\n", hk_status_message(status));
    return as_said;
}

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

static uint64_t used_bytes(void)
{
    hk_wait_all();
    return hk_device_get_memory(hk_device_default()).used_bytes;
}

static hk_array *cube(hk_array *x)
{
    HK_RECORD;
    return hk_multiply(x, hk_multiply(x, x));
}

static hk_array *gradient(hk_array *y, hk_array *x, bool create_graph)
{
    hk_array *dx;
    hk_gradients(&y, 1, &x, 1, &(hk_gradients_options){.create_graph = create_graph}, &dx);
    return dx;
}

/* ---- one pass ---------------------------------------------------------------------------------------------- */

static void test_values_between(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *y, *z, *gradients[2];
    {
        HK_RECORD;
        y = hk_multiply(x, x);
        z = hk_multiply(y, x);
    }
    CHECK(hk_ok(hk_gradients(&z, 1, (hk_array *[]){x, y}, 2, NULL, gradients)));
    CHECK(holds(gradients[0], 27, 75) && holds(gradients[1], 3, 5));
}

/* What leads to no x is not differentiated, and stays. */
static void test_only_what_is_needed(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *w = tracked(1, 1), *y, *other, *dx, *dw;
    bool reached;
    {
        HK_RECORD;
        other = hk_multiply(w, w);
        y = hk_multiply(x, other);
    }
    CHECK(hk_ok(hk_gradients(&y, 1, &x, 1, &(hk_gradients_options){.reached = &reached}, &dx)));
    CHECK(holds(dx, 1, 1) && reached);
    CHECK(hk_ok(hk_gradients(&other, 1, &w, 1, NULL, &dw)));
    CHECK(holds(dw, 2, 2));
    CHECK(!hk_ok(hk_gradients(&y, 1, &w, 1, NULL, &dw)));
    CHECK(fails(dw, "was differentiated before"));
    clear_failures();
}

static void test_unreached(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *w = tracked(1, 1), *y = cube(x), *gradients[2];
    bool reached[2] = {false, true};
    const hk_gradients_options options = {.reached = reached};
    CHECK(hk_ok(hk_gradients(&y, 1, (hk_array *[]){x, w}, 2, &options, gradients)));
    CHECK(reached[0] && !reached[1] && holds(gradients[1], 0, 0));
    hk_array *constant = vector(1, 2);
    y = cube(x);
    CHECK(!hk_ok(hk_gradients(&y, 1, (hk_array *[]){x, constant}, 2, &options, gradients)));
    CHECK(fails(gradients[0], "xs[1] was not recorded") && !reached[0]);
    CHECK(fails(gradients[1], "xs[1] was not recorded"));
    clear_failures();
}

/* The gradient of an attached array is hk_backward's alone. */
static void test_attached(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_array *y = cube(x);
    CHECK(holds(gradient(y, x, false), 27, 75) && holds(hk_grad(x), 0, 0));
    hk_attach_grad(x, HK_GRAD_TRACK);
    CHECK(fails(hk_grad(x), "has no gradient"));
    y = cube(x);
    CHECK(hk_ok(hk_backward(y))); /* nothing to give it to */
    hk_attach_grad(x, HK_GRAD_ADD);
    y = cube(x);
    hk_backward(y);
    CHECK(holds(hk_grad(x), 27, 75));
    hk_array *whole = hk_from_host((int32_t[]){1, 2}, hk_shape(2), HK_I32, hk_device_default());
    hk_attach_grad(whole, HK_GRAD_TRACK);
    CHECK(fails(gradient(y, whole, false), "xs[0] was not recorded"));
    clear_failures();
}

/* Writing into one changes no other, nor what it was begun from. */
static void test_own_memory(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *w = tracked(1, 2), *y, *dy = vector(7, 8), *gradients[3];
    {
        HK_RECORD;
        y = hk_add(x, w);
    }
    const hk_gradients_options options = {.dys = &dy};
    CHECK(hk_ok(hk_gradients(&y, 1, (hk_array *[]){x, w, x}, 3, &options, gradients)));
    hk_assign(gradients[0], vector(0, 0));
    CHECK(holds(gradients[1], 7, 8) && holds(gradients[2], 7, 8) && holds(dy, 7, 8));
    {
        HK_RECORD;
        y = hk_sum(x, NULL); /* whose gradient is one number, seen twice */
    }
    hk_array *dx = gradient(y, x, false);
    hk_assign(hk_slice(dx, 0, 0, 1), hk_full(hk_shape(1), 4, HK_F64, hk_device_default()));
    CHECK(holds(dx, 4, 1));
}

/* A view of a view is one of the first array; a gradient of the view between is right all the same. */
static void test_views_between(void)
{
    HK_SCOPE;
    hk_array *x = hk_arange(0, 6, 1, HK_F64, hk_device_default()), *matrix, *row, *y, *dx[3];
    hk_attach_grad(x, HK_GRAD_TRACK);
    {
        HK_RECORD;
        matrix = hk_reshape(x, hk_shape(2, 3));
        row = hk_index(hk_swapaxes(matrix, 0, 1), 0, 1); /* 1, 4 */
        y = hk_multiply(row, row);
    }
    const hk_gradients_options keep = {.keep = true};
    CHECK(hk_ok(hk_gradients(&y, 1, (hk_array *[]){matrix, row, x}, 3, &keep, dx)));
    CHECK(holds(hk_index(dx[0], 1, 1), 2, 8) && holds(hk_index(dx[0], 1, 0), 0, 0));
    CHECK(hk_ndim(dx[0]) == 2 && holds(dx[1], 2, 8));
    CHECK(holds(hk_slice(dx[2], 0, 3, 5), 0, 8) && holds(hk_slice(dx[2], 0, 0, 2), 0, 2));
    {
        HK_RECORD;
        matrix = hk_broadcast_to(x, hk_shape(2, 6));
        y = hk_index(hk_index(matrix, 0, 0), 0, 2);
    }
    CHECK(fails(gradient(y, matrix, false), "shows elements more than once"));
    CHECK(hk_ok(hk_wait(gradient(y, x, false))));
    clear_failures();
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *y = cube(x), *dx, *none = NULL;
    CHECK(!hk_ok(hk_gradients(&y, 1, &none, 1, NULL, &dx)) && fails(dx, "xs[0] is NULL"));
    CHECK(!hk_ok(hk_gradients(NULL, 1, &x, 1, NULL, &dx)) && fails(dx, "ys is NULL"));
    CHECK(!hk_ok(hk_gradients(&none, 1, &x, 1, NULL, &dx)) && fails(dx, "y is NULL"));
    CHECK(!hk_ok(hk_gradients(&y, 1, NULL, 1, NULL, &dx)));
    CHECK(!hk_ok(hk_gradients(&y, 1, &x, 1, NULL, NULL)));
    CHECK(!hk_ok(hk_gradients(&y, 1, &x, -1, NULL, &dx)));
    CHECK(hk_ok(hk_gradients(&y, 1, NULL, 0, NULL, &dx)));
    CHECK(!hk_ok(hk_backward_all(NULL, 1)) && hk_ok(hk_backward_with(NULL, 0, NULL)));
    hk_array *wrong = hk_ones(hk_shape(3), HK_F64, hk_device_default());
    const hk_gradients_options options = {.dys = &wrong, .create_graph = true};
    CHECK(!hk_ok(hk_gradients(&y, 1, &x, 1, &options, &dx)) && fails(dx, "like y it must be"));
    clear_failures();
}

/* ---- keeping the tape ----------------------------------------------------------------------------------------- */

static void test_keep(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5);
    hk_attach_grad(x, HK_GRAD_ADD);
    hk_array *y = cube(x), *dy = vector(2, 0);
    const hk_backward_options keep = {.keep = true}, from = {.dys = &dy};
    CHECK(hk_ok(hk_backward_with(&y, 1, &keep)) && holds(hk_grad(x), 27, 75));
    CHECK(hk_ok(hk_backward_with(&y, 1, &keep)) && holds(hk_grad(x), 54, 150));
    CHECK(hk_ok(hk_backward_with(&y, 1, &from)) && holds(hk_grad(x), 108, 150));
    CHECK(!hk_ok(hk_backward(y)) && fails(hk_grad(x), "was differentiated before"));
    clear_failures();
}

/* What a kept tape will read is watched for as long as it is kept. */
static void test_keep_overwritten(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_array *y = cube(x);
    const hk_backward_options keep = {.keep = true};
    CHECK(hk_ok(hk_backward_with(&y, 1, &keep)) && holds(hk_grad(x), 27, 75));
    hk_assign(x, vector(0, 0));
    CHECK(!hk_ok(hk_backward_with(&y, 1, &keep)));
    CHECK(fails(hk_grad(x), "was overwritten by assign"));
    clear_failures();
}

/* ---- gradients of gradients ---------------------------------------------------------------------------------------- */

static void test_higher_orders(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *y;
    {
        HK_RECORD;
        y = hk_multiply(cube(x), x); /* x^4 */
    }
    const double factors[] = {4, 12, 24, 24};
    for (int order = 0; order < 4; order++) {
        y = gradient(y, x, true);
        CHECK(holds(y, factors[order] * pow(3, 3 - order), factors[order] * pow(5, 3 - order)));
    }
}

/* Every derivative of sin(exp(x)) is made of these. */
static void test_third_of_functions(void)
{
    HK_SCOPE;
    hk_array *x = tracked(0.3, -0.2), *y;
    {
        HK_RECORD;
        y = hk_sin(hk_exp(x));
    }
    for (int order = 0; order < 3; order++)
        y = gradient(y, x, true);
    const double a = exp(0.3), b = exp(-0.2);
    CHECK(holds(y, a * cos(a) - 3 * a * a * sin(a) - a * a * a * cos(a),
                b * cos(b) - 3 * b * b * sin(b) - b * b * b * cos(b)));
}

/* Of x / sqrt(x^2 + e), each element by itself. */
static void test_third_of_norms(void)
{
    HK_SCOPE;
    hk_array *x = tracked(0.3, -2), *y;
    const double e = 0.5, a = 0.09 + e, b = 4 + e;
    {
        HK_RECORD;
        y = hk_rms_norm(hk_reshape(x, hk_shape(2, 1)), NULL, &(hk_rms_norm_options){.eps = e});
    }
    for (int order = 0; order < 3; order++)
        y = gradient(y, x, true);
    CHECK(holds(y, e * (15 * 0.09 - 3 * a) / pow(a, 3.5), e * (15 * 4 - 3 * b) / pow(b, 3.5)));
}

/* Of log(1 + exp(-x0)), with s = 1 / (1 + exp(-x0)): s (1 - s) (1 - 2 s). */
static void test_third_of_class_loss(void)
{
    HK_SCOPE;
    hk_array *x = tracked(0.3, -2), *y;
    const int32_t label = 0;
    hk_array *labels = hk_from_host(&label, hk_shape(1), HK_I32, hk_device_default());
    {
        HK_RECORD;
        hk_array *logits = hk_reshape(hk_multiply(x, vector(1, 0)), hk_shape(1, 2));
        y = hk_cross_entropy_loss(logits, labels, NULL, NULL);
    }
    for (int order = 0; order < 3; order++)
        y = gradient(y, x, true);
    const double s = 1 / (1 + exp(-0.3));
    CHECK(holds(y, s * (1 - s) * (1 - 2 * s), 0));
}

/* The penalty of a gradient's length, for parameters that are attached: d/dw of sum((d sum(tanh(w x)) / dx)^2). */
static void test_penalty(void)
{
    HK_SCOPE;
    hk_array *x = tracked(0.4, -0.7), *w = vector(1.5, 0.5), *y, *penalty;
    hk_attach_grad(w, HK_GRAD_WRITE);
    {
        HK_RECORD;
        y = hk_tanh(hk_multiply(w, x));
        hk_array *dx = gradient(y, x, true);
        penalty = hk_sum(hk_square(dx), NULL);
    }
    CHECK(hk_ok(hk_backward(penalty)));
    double expected[2];
    const double xs[2] = {0.4, -0.7}, ws[2] = {1.5, 0.5};
    for (int i = 0; i < 2; i++) {
        const double t = tanh(ws[i] * xs[i]), s = 1 - t * t;
        expected[i] = 2 * ws[i] * s * (s - 2 * ws[i] * xs[i] * t * s);
    }
    CHECK(holds(hk_grad(w), expected[0], expected[1]));
}

/* A later attachment is no part of what was recorded before it. */
static void test_attached_later(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *y, *z;
    {
        HK_RECORD;
        y = hk_multiply(x, x);
        z = hk_multiply(y, y);
    }
    hk_attach_grad(y, HK_GRAD_WRITE);
    hk_array *dx = gradient(z, x, true);
    CHECK(holds(dx, 108, 500) && holds(gradient(dx, x, false), 108, 300));
}

/* Part of a view's gradient, and one that overlaps. */
static void test_views(void)
{
    HK_SCOPE;
    hk_array *x = hk_arange(0, 4, 1, HK_F64, hk_device_default()), *y;
    hk_attach_grad(x, HK_GRAD_TRACK);
    {
        HK_RECORD;
        hk_array *part = hk_slice(x, 0, 1, 3), *windows = hk_sliding_window(x, 0, 2, 1);
        y = hk_add(hk_sum(hk_multiply(part, hk_multiply(part, part)), NULL),
                   hk_sum(hk_square(windows), NULL));
    }
    hk_array *dx = gradient(y, x, true); /* 3 x^2 in the middle, and 2 x for each window */
    CHECK(holds(hk_slice(dx, 0, 0, 2), 0, 7) && holds(hk_slice(dx, 0, 2, 4), 20, 6));
    hk_array *second = gradient(dx, x, true);
    CHECK(holds(hk_slice(second, 0, 0, 2), 2, 10) && holds(hk_slice(second, 0, 2, 4), 16, 2));
    hk_array *third = gradient(second, x, false);
    CHECK(holds(hk_slice(third, 0, 0, 2), 0, 6) && holds(hk_slice(third, 0, 2, 4), 6, 0));
}

/* What the table of operators cannot be walked for: joins, and copies between devices. */
static void test_joins_and_devices(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *y;
    {
        HK_RECORD;
        hk_array *square = hk_multiply(x, x);
        hk_array *there = hk_to_device(square, hk_device_named("cpu:1"));
        y = hk_stack((hk_array *[]){there, hk_concat((hk_array *[]){there}, 1, 0)}, 2, 0);
        y = hk_multiply(y, y); /* x^4, twice */
    }
    y = gradient(y, x, true);
    CHECK(holds(y, 8 * 27, 8 * 125) && hk_array_device(y).handle == hk_array_device(x).handle);
    CHECK(holds(gradient(y, x, false), 24 * 9, 24 * 25));
}

/* A gradient that is failed leads to all that it was to be made of. */
static void test_failed(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *w = vector(1, 1), *y, *loss;
    hk_attach_grad(w, HK_GRAD_WRITE);
    {
        HK_RECORD;
        y = hk_multiply(hk_multiply(w, w), x);
    }
    hk_assign(x, vector(0, 0));
    hk_array *dw = gradient(y, w, true);
    CHECK(fails(dw, "was overwritten by assign"));
    hk_attach_grad(x, HK_GRAD_WRITE);
    {
        HK_RECORD;
        loss = hk_add(hk_sum(dw, NULL), hk_sum(hk_multiply(w, w), NULL));
    }
    hk_backward(loss);
    CHECK(fails(hk_grad(w), "was overwritten by assign"));
    clear_failures();
}

/* Factors of 0, where there is nothing to divide by: the product, or the sum of all products so far, of three. */
static void test_zeros(double a, double b, double c, bool cumulative)
{
    HK_SCOPE;
    const hk_device device = hk_device_default();
    hk_array *x = hk_from_host((double[]){a, b, c}, hk_shape(3), HK_F64, device), *y;
    hk_array *v = hk_from_host((double[]){2, 3, 5}, hk_shape(3), HK_F64, device), *dx, *second;
    hk_attach_grad(x, HK_GRAD_TRACK);
    {
        HK_RECORD;
        y = cumulative ? hk_cumulative_prod(x, 0) : hk_prod(x, NULL);
    }
    dx = gradient(y, x, true);
    hk_gradients(&dx, 1, &x, 1, &(hk_gradients_options){.dys = &v}, &second);
    const double extra = cumulative ? 1 : 0;
    CHECK(holds(hk_slice(second, 0, 0, 2), 3 * (c + extra) + 5 * b, 2 * (c + extra) + 5 * a));
    CHECK(holds(hk_slice(second, 0, 1, 3), 2 * (c + extra) + 5 * a, 2 * b + 3 * a));
}

/* Of the third order there is no gradient: it says so. */
static void test_without_third(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *y;
    {
        HK_RECORD;
        y = hk_cumulative_prod(x, 0);
    }
    hk_array *second = gradient(gradient(y, x, true), x, true);
    CHECK(holds(second, 1, 1));
    CHECK(fails(gradient(second, x, false), "cumulative_prod_second, of which a gradient is made, "
                                            "has no gradient of its own"));
    clear_failures();
}

/* Tapes of tapes hold no more than their handles do. */
static void test_memory(void)
{
    const uint64_t before = used_bytes();
    for (int i = 0; i < 3; i++) {
        HK_SCOPE;
        hk_array *x = hk_ones(hk_shape(10000), HK_F64, hk_device_default());
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_array *y = cube(x), *dx = gradient(y, x, true), *ddx = gradient(dx, x, true);
        CHECK(hk_ok(hk_backward(ddx)));
        CHECK(hk_item(hk_index(hk_grad(x), 0, 0), NULL) == 6);
    }
    CHECK_EQ_I64(used_bytes(), before);
}

/* ---- Jacobian-vector products ------------------------------------------------------------------------------------------ */

static void test_jvp(void)
{
    HK_SCOPE;
    hk_array *x = tracked(3, 5), *w = tracked(1, 2), *ys[3], *products[3];
    {
        HK_RECORD;
        ys[0] = hk_multiply(hk_multiply(x, x), w);
        ys[1] = hk_sum(x, NULL);
        ys[2] = hk_add(w, 1);
    }
    hk_array *tangents[2] = {vector(1, 10), vector(0.5, 0)};
    CHECK(hk_ok(hk_jvp(ys, 3, (hk_array *[]){x, w}, 2, tangents, products)));
    CHECK(holds(products[0], 2 * 3 + 9 * 0.5, 2 * 5 * 2 * 10)); /* 2 x w dx + x^2 dw */
    CHECK(hk_item(products[1], NULL) == 11);
    CHECK(holds(products[2], 0.5, 0));
    CHECK(hk_ok(hk_jvp(ys, 1, &w, 1, tangents, products)) && holds(products[0], 9, 250));
    CHECK(!hk_ok(hk_jvp(ys, 1, &ys[1], 1, tangents, products)));
    CHECK(fails(products[0], "tangents[0] must be of xs[0]'s shape"));
    hk_array *none = NULL, *constant = vector(1, 1);
    CHECK(!hk_ok(hk_jvp(ys, 1, &x, 1, &none, products)) && fails(products[0], "tangents[0]"));
    CHECK(!hk_ok(hk_jvp(&constant, 1, &x, 1, tangents, products)));
    CHECK(fails(products[0], "y depends on no attached gradient"));
    CHECK(!hk_ok(hk_jvp(NULL, 1, &x, 1, tangents, products)));
    clear_failures();
}

/* Views that show all elements in another order of axes, as heads of attention are: gradients go where the elements lie, and
 * nothing is filled with zeros for that. */
static void test_reordered_views(void)
{
    const hk_dims orders[] = {hk_shape(0, 2, 1, 3), hk_shape(3, 1, 0, 2), hk_shape(1, 3, 2, 0),
                              hk_shape(0, 1, 2, 3)};
    for (int i = 0; i < 4; i++) {
        HK_SCOPE;
        hk_array *x = hk_zeros(hk_shape(2, 3, 4), HK_F64, hk_device_default());
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_capture_begin(&x, 1);
        hk_record_begin();
        hk_array *view = hk_permute_dims(hk_reshape(x, hk_shape(2, 3, 2, 2)), orders[i]);
        hk_array *counted = hk_reshape(
            hk_arange(0, 24, 1, HK_F64, hk_device_default()),
            hk_shape(hk_dim(view, 0), hk_dim(view, 1), hk_dim(view, 2), hk_dim(view, 3)));
        hk_array *y = hk_multiply(view, counted);
        hk_record_end();
        hk_backward(y);
        hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = true});
        hk_array *its = hk_permute_dims(hk_reshape(hk_grad(x), hk_shape(2, 3, 2, 2)), orders[i]);
        CHECK(hk_item(hk_all(hk_equal(its, counted), NULL), NULL) != 0);
        char *text = hk_graph_to_string(graph);
        CHECK(text && !strstr(text, "zeros("));
        free(text);
        hk_graph_release(graph);
    }
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2})));
    test_values_between();
    test_only_what_is_needed();
    test_unreached();
    test_attached();
    test_own_memory();
    test_views_between();
    test_refusals();
    test_keep();
    test_keep_overwritten();
    test_higher_orders();
    test_third_of_functions();
    test_third_of_norms();
    test_third_of_class_loss();
    test_penalty();
    test_attached_later();
    test_views();
    test_reordered_views();
    test_joins_and_devices();
    test_failed();
    for (int i = 0; i < 8; i++) {
        test_zeros(i & 1 ? 0 : 7, i & 2 ? 0 : 11, i & 4 ? 0 : 13, false);
        test_zeros(i & 1 ? 0 : 7, i & 2 ? 0 : 11, i & 4 ? 0 : 13, true);
    }
    test_without_third();
    test_memory();
    test_jvp();
    hk_runtime_deinit();
    return check_result();
}
