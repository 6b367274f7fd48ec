/* For tests of recurrent layers: layers of random shapes, and how far results are apart. */
#ifndef HOCKET_NN_RECURRENCE_FIXTURE_H
#define HOCKET_NN_RECURRENCE_FIXTURE_H

#include "nn/module.h"

#include <hocket/hocket.h>
#include <stdlib.h>
#include <string.h>

/* Parameters of a layer; its result, and the gradients of x, of the state and of the parameters. */
enum { PARAMS = 4, RESULTS = PARAMS + 3 };

typedef struct shape {
    hk_recurrent_kind kind;
    hk_dtype dtype;
    bool whole_state, is_reversed;
    int64_t n, steps, inputs, units;
} shape;

static inline hk_module *layer_of(const shape *its)
{
    return its->is_reversed ? hki_recurrent_reversed(its->kind, its->units, its->whole_state)
                            : hk_recurrent_layer(its->kind, its->units, its->whole_state);
}

/* On the default device. */
static inline hk_array *random_array(const shape *its, hk_dims dims)
{
    return hk_random_normal(dims, its->dtype, (hk_device){NULL});
}

static inline hk_array *random_input(const shape *its)
{
    return random_array(its, hk_shape(its->n, its->steps, its->inputs));
}

static inline hk_array *state_of(const shape *its)
{
    const int64_t parts = its->kind == HK_RECURRENT_LSTM ? 2 : 1;
    return random_array(its, hk_shape(its->n, parts * its->units));
}

static inline double most(hk_array *x)
{
    return hk_size(x) ? hk_item(hk_max(hk_abs(x), NULL), NULL) : 0;
}

static inline double apart(hk_array *x, hk_array *y)
{
    return most(hk_subtract(x, y)) / (1 + most(y));
}

static inline bool same_bytes(hk_array *x, hk_array *y)
{
    const size_t bytes = (size_t)hk_size(x) * hk_dtype_bytes(hk_array_dtype(x));
    char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
    const bool same = a && b && hk_size(x) == hk_size(y) && hk_ok(hk_to_host(x, a, bytes)) &&
                      hk_ok(hk_to_host(y, b, bytes)) && !memcmp(a, b, bytes);
    free(a);
    free(b);
    return same;
}

#endif
