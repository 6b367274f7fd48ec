/* Where in a sequence something is: encodings of positions, and masks of sequences that have ended. */
#include "nn/cache.h"
#include "nn/layer_table.h"

#include "base/source.h"
#include "op/op.h"

#include <hocket/hocket.h>
#include <math.h>

/* ---- lengths ------------------------------------------------------------------------------------------------ */

hk_array *(hk_length_mask)(hk_array *lengths, int64_t count)
{
    static const char operation[] = "length_mask";
    const hk_status *gone = hki_array_gone(lengths);
    hk_status_release(gone);
    if (gone || lengths->failed || count < 0 || !hki_dtype_is_integer(lengths->dtype) ||
        lengths->shape.ndim == HK_MAX_NDIM) {
        char text[224];
        hki_array_describe(lengths, text, sizeof text);
        return hki_array_create_failed(
            NULL, operation, &lengths, 1, HK_INVALID_ARGUMENT,
            "lengths is %s and count %lld, but must be of integers, with "
            "at most %d axes, and not below 0",
            text, (long long)count, HK_MAX_NDIM - 1);
    }
    hk_array *steps = (hk_arange)(0, (double)count, 1, HK_I64, hk_array_device(lengths));
    return (hk_less)(steps, (hk_expand_dims)((hk_cast)(lengths, HK_I64), -1));
}

/* ---- sines and cosines -------------------------------------------------------------------------------------- */

hk_array *(hk_sinusoidal_positions)(int64_t count, int64_t features, hk_dtype dtype,
                                    hk_device device)
{
    const int64_t pairs = features / 2 + features % 2;
    if (count < 0 || features < 1 || features > INT32_MAX || (unsigned)dtype >= HK_DTYPE_COUNT ||
        !hki_dtype_is_real(dtype))
        return hki_array_create_failed(device.handle, "sinusoidal_positions", NULL, 0,
                                       HK_INVALID_ARGUMENT,
                                       "count is %lld, features %lld and dtype %s, but must be not "
                                       "below 0, from 1 to 2^31 - 1, and a float",
                                       (long long)count, (long long)features, hk_dtype_name(dtype));
    /* In double, as angles of far positions are large. */
    hk_array *steps = (hk_arange)(0, (double)count, 1, HK_F64, device);
    hk_array *rates = (hk_exp)(hki_op_call_number(&hki_op_multiply_scalar,
                                                  (hk_arange)(0, (double)pairs, 1, HK_F64, device),
                                                  -2 * log(10000) / (double)features));
    hk_array *angles = (hk_multiply)((hk_expand_dims)(steps, 1), rates);
    hk_array *both = (hk_stack)((hk_array *const[]){(hk_sin)(angles), (hk_cos)(angles)}, 2, 2);
    hk_array *all = (hk_reshape)(both, hk_shape(count, 2 * pairs));
    return (hk_cast)((hk_slice)(all, 1, 0, features), dtype);
}

/* x is not of samples, positions, features. */
static hk_array *refused(hk_module *self, hk_array *x)
{
    return hki_array_create_failed(NULL, self->kind, &x, 1, HK_INVALID_ARGUMENT,
                                   "x has %d axes, but must have 3: samples, positions, features",
                                   x->shape.ndim);
}

static bool fits(const hk_array *kept, hk_array *x, int64_t count)
{
    return kept && !kept->failed && kept->dtype == x->dtype &&
           kept->storage->device == x->storage->device && hk_dim(kept, 0) >= count &&
           hk_dim(kept, 1) == hk_dim(x, 2) && hk_ok(hk_error_now((hk_array *)kept));
}

/* Those of x's positions: of a cache's, or the first ones. */
static hk_array *rows_of(hk_array *all, hk_array *x)
{
    hk_array *at = hk_cache_positions();
    return at ? (hk_expand_dims)((hk_index_select)(all, at, 0), 1)
              : (hk_slice)(all, 0, 0, hk_dim(x, 1));
}

/* Computed anew for a longer sequence only, and where the old ones failed. */
hk_array *hki_add_sinusoidal_positions(hk_module *self, hk_array *x)
{
    if (x->shape.ndim != 3)
        return refused(self, x);
    const int64_t wanted =
        hki_cache_capacity() > hk_dim(x, 1) ? hki_cache_capacity() : hk_dim(x, 1);
    if (!fits(self->kept, x, wanted)) {
        hk_array_release(self->kept);
        self->kept =
            hk_take((hk_sinusoidal_positions)(wanted, hk_dim(x, 2), x->dtype, hk_array_device(x)));
    }
    if (self->kept->failed)
        return (hk_add)(x, self->kept);
    return (hk_add)(x, rows_of(self->kept, x));
}

/* ---- learned ------------------------------------------------------------------------------------------------ */

hk_array *hki_add_learned_positions(hk_module *self, hk_array *x, int64_t most)
{
    static const hk_init small = {.kind = HK_INIT_NORMAL, .value = 0.02};
    if (x->shape.ndim != 3)
        return refused(self, x);
    if (hk_dim(x, 1) > most)
        return hki_array_create_failed(NULL, self->kind, &x, 1, HK_INVALID_ARGUMENT,
                                       "x has %lld positions, but the layer knows %lld",
                                       (long long)hk_dim(x, 1), (long long)most);
    hk_array *weight = hk_module_parameter(self, "weight", hk_shape(most, hk_dim(x, 2)), &small, x);
    return (hk_add)(x, rows_of(weight, x));
}
