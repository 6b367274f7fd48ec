/* What conformance makes arrays of: random values as a dtype has them, in arrays of several layouts. */
#ifndef HOCKET_TESTS_CONFORMANCE_VALUES_H
#define HOCKET_TESTS_CONFORMANCE_VALUES_H

#include "op/op.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

static void *allocate(size_t bytes)
{
    void *data = calloc(1, bytes ? bytes : 1);
    if (!data)
        abort();
    return data;
}

static double random_unit(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* As a dtype of floats has it, or the real part of a complex one. */
static double rounded(double value, hk_dtype dtype)
{
    hk_complex element = {0};
    hki_dtype_store(dtype, &element, value);
    return hki_dtype_load(dtype, &element);
}

/* size values as the dtype has them. */
static double *random_values(int64_t size, hk_dtype dtype, double low, double high, bool scaled,
                             uint64_t seed)
{
    double *values = allocate((size_t)size * sizeof *values);
    bool real = hki_dtype_is_inexact(dtype);
    if (!real && scaled) {
        low *= 10;
        high *= 10;
    }
    if (hki_dtype_is_unsigned(dtype) && low < 0)
        low = 0;
    for (int64_t i = 0; i < size; i++) {
        double value = low + (high - low) * random_unit(&seed);
        if (dtype == HK_BOOL)
            value = value > (low + high) / 2;
        else if (real)
            value = rounded(value, dtype);
        else
            value = floor(value);
        values[i] = value;
    }
    return values;
}

/* Symmetric, and so large on the diagonal that all eigenvalues are positive. */
static void make_definite(double *values, int64_t size, const hk_dims *shape, hk_dtype dtype)
{
    const int64_t n = shape->dims[shape->ndim - 1];
    for (int64_t at = 0; at < size; at++) {
        const int64_t row = at % (n * n) / n, column = at % n,
                      mirrored = at + (column - row) * (n - 1);
        if (row > column)
            values[at] = values[mirrored];
        else if (row == column)
            values[at] = rounded(values[at] + (double)n, dtype);
    }
}

/* Those of an input of a sample, as so many as its shape has. */
static double *sample_values(const hki_sample *sample, int input, hk_dtype dtype)
{
    const hki_sample_input *own = &sample->own[input];
    const bool symmetric = sample->low == 0 && sample->high == 0;
    int64_t size = 0;
    hki_dims_size(&sample->inputs[input], &size);
    double *values = random_values(size, dtype,
                                   own->set    ? own->low
                                   : symmetric ? -1
                                               : sample->low,
                                   own->set    ? own->high
                                   : symmetric ? 1
                                               : sample->high,
                                   !own->set, (uint64_t)input + 1);
    if (input == 0 && sample->definite)
        make_definite(values, size, &sample->inputs[input], dtype);
    return values;
}

static void *pack(const double *values, int64_t size, hk_dtype dtype)
{
    char *data = allocate((size_t)size * hk_dtype_bytes(dtype));
    for (int64_t i = 0; i < size; i++) {
        if (!hki_dtype_store(dtype, data + (size_t)i * hk_dtype_bytes(dtype), values[i]))
            abort();
    }
    return data;
}

/* A view with gaps, axes reversed, of an array full of other values. */
static hk_array *strided_array(hk_dims shape, hk_dtype dtype, hk_device device)
{
    if (shape.ndim == 0)
        return hk_index(hk_ones(hk_shape(3), dtype, device), 0, 1);
    hk_dims base = {.ndim = shape.ndim};
    for (int i = 0; i < shape.ndim; i++)
        base.dims[i] = shape.dims[shape.ndim - 1 - i] + 2;
    hk_array *view = hk_transpose(hk_ones(base, dtype, device));
    for (int i = 0; i < shape.ndim; i++)
        view = hk_slice(view, i, 1, 1 + shape.dims[i]);
    return view;
}

static hk_array *make_array(const double *values, hk_dims shape, hk_dtype dtype, hk_device device,
                            bool strided)
{
    int64_t size = 0;
    hki_dims_size(&shape, &size);
    void *data = pack(values, size, dtype);
    hk_array *array;
    if (strided) {
        array = strided_array(shape, dtype, device);
        hk_write(array, data, (size_t)size * hk_dtype_bytes(dtype));
    } else {
        array = hk_from_host(data, shape, dtype, device);
    }
    free(data);
    return array;
}

/* What an integer dtype makes of the exact value: whole, and wrapped around. */
static inline double as_stored(double value, hk_dtype dtype)
{
    if (hki_dtype_is_inexact(dtype))
        return rounded(value, dtype);
    if (dtype == HK_BOOL)
        return value != 0;
    const double range = exp2(8 * (double)hk_dtype_bytes(dtype));
    value = fmod(trunc(value), range);
    if (hki_dtype_is_unsigned(dtype))
        return value < 0 ? value + range : value;
    return value >= range / 2 ? value - range : value < -range / 2 ? value + range : value;
}

#endif
