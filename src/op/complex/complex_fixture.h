/* For tests of complex numbers: arrays of them, comparing, and gradients against differences. */
#ifndef HOCKET_OP_COMPLEX_FIXTURE_H
#define HOCKET_OP_COMPLEX_FIXTURE_H

#include "op/operator_fixture.h"

#include <complex.h>
#include <math.h>
#undef complex
#undef I

typedef double _Complex number;
static const number i = __builtin_complex(0.0, 1.0);
static hk_device device;

static hk_array *array(const void *data, hk_dims shape, hk_dtype dtype)
{
    return hk_from_host(data, shape, dtype, device);
}

/* In both squares of side 2 around 0 and 1.5. */
static void draw(number *values, int count, unsigned seed)
{
    for (int j = 0; j < count; j++) {
        seed = seed * 1664525u + 1013904223u;
        const double re = (double)(seed >> 8) / (1 << 24) * 2 - 1;
        seed = seed * 1664525u + 1013904223u;
        values[j] = re + (j % 2 ? 1.5 : 0) + i * ((double)(seed >> 8) / (1 << 24) * 2 - 1);
    }
}

static bool is_near(number a, number b, double tolerance)
{
    return cabs(a - b) <= tolerance * fmax(1, cabs(b));
}

/* x, of any dtype, has these values. */
static bool has(hk_array *x, const number *expected, int count, double tolerance)
{
    number values[256];
    bool ok = hk_size(x) == count && hk_ok(hk_wait(x)) &&
              hk_ok(hk_to_host(hk_cast(x, HK_C128), values, (size_t)count * sizeof(number)));
    for (int j = 0; ok && j < count; j++)
        ok = is_near(values[j], expected[j], tolerance);
    if (!ok)
        hk_print(x, stderr);
    return ok;
}

/* ---- gradients ----------------------------------------------------------------------------------------------- */

enum { MOST = 16 };

typedef hk_array *(*pair_fn)(hk_array *z, hk_array *w);
#define PAIR(name, expression)                                                                     \
    static hk_array *pair_##name(hk_array *z, hk_array *w)                                         \
    {                                                                                              \
        (void)z, (void)w;                                                                          \
        return expression;                                                                         \
    }
typedef struct named_pair {
    const char *name;
    pair_fn call;
} named_pair;
#define NAMED(name) {#name, pair_##name},

/* A real number that depends on both parts of y. */
static hk_array *loss_of(hk_array *y)
{
    hk_array *loss = hk_sum(hk_multiply(hk_real(y), 0.7), NULL);
    return hk_add(loss, hk_sum(hk_multiply(hk_square(hk_imag(y)), 1.3), NULL));
}

/* That of y, and of the gradients by it, as a number of its own. */
static hk_array *loss_of_gradients(pair_fn call, hk_array *x[2])
{
    hk_array *gradients[2];
    HK_RECORD;
    hk_array *loss = loss_of(call(x[0], x[1]));
    const hk_status *status =
        hk_gradients(&loss, 1, x, 2, &(hk_gradients_options){.create_graph = true}, gradients);
    CHECK(hk_ok(status));
    return hk_add(loss, hk_add(loss_of(gradients[0]), loss_of(gradients[1])));
}

static void attached(const number values[2][MOST], int count, hk_array *x[2])
{
    for (int j = 0; j < 2; j++) {
        x[j] = array(values[j], hk_shape(count), HK_C128);
        hk_attach_grad(x[j], HK_GRAD_WRITE);
    }
}

static double loss_at(pair_fn call, const number values[2][MOST], int count, bool of_gradients)
{
    HK_SCOPE;
    hk_array *x[2];
    attached(values, count, x);
    return hk_item(of_gradients ? loss_of_gradients(call, x) : loss_of(call(x[0], x[1])), NULL);
}

/* dL/d re + i dL/d im, by differences along either. */
static number slope(pair_fn call, number values[2][MOST], int count, int which, int at,
                    bool of_gradients)
{
    const number saved = values[which][at], steps[] = {1e-6, 1e-6 * i};
    double slopes_of[2];
    for (int part = 0; part < 2; part++) {
        values[which][at] = saved + steps[part];
        const double after = loss_at(call, (const number(*)[MOST])values, count, of_gradients);
        values[which][at] = saved - steps[part];
        slopes_of[part] =
            (after - loss_at(call, (const number(*)[MOST])values, count, of_gradients)) / 2e-6;
    }
    values[which][at] = saved;
    return slopes_of[0] + i * slopes_of[1];
}

/* The gradients of functions of two vectors of so many numbers, or those of their gradients. */
static void check_gradients(const named_pair *functions, size_t function_count, int count,
                            bool of_gradients)
{
    number values[2][MOST], expected[MOST];
    for (size_t f = 0; f < function_count; f++) {
        HK_SCOPE;
        hk_array *x[2], *loss, *gradients[2];
        draw(values[0], count, 6);
        draw(values[1], count, 7);
        attached((const number(*)[MOST])values, count, x);
        {
            HK_RECORD;
            loss = of_gradients ? loss_of_gradients(functions[f].call, x)
                                : loss_of(functions[f].call(x[0], x[1]));
        }
        CHECK(hk_ok(hk_gradients(&loss, 1, x, 2, NULL, gradients)));
        for (int j = 0; j < 2; j++) {
            for (int at = 0; at < count; at++)
                expected[at] = slope(functions[f].call, values, count, j, at, of_gradients);
            if (!has(gradients[j], expected, count, of_gradients ? 1e-5 : 1e-6)) {
                fprintf(stderr, "gradient %d of %s%s\n", j, of_gradients ? "the gradient of " : "",
                        functions[f].name);
                CHECK(false);
            }
        }
    }
}

#endif
