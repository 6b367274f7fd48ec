/* Data for several devices. */
#include "base/sum_tree.h"
#include "base/text.h"
#include "op/op.h"

#include <hocket/collective.h>

#include <inttypes.h>
#include <stdio.h>

static const char operation[] = "split_and_load";

HK_PRINTF(6, 7)
static void refuse(hk_array *x, const hk_device *devices, int n, hk_array **out, hk_code code,
                   const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    hk_array *carrier = hki_array_create_failed(x ? x->storage->device : NULL, operation, &x, 1,
                                                code, "%s", message);
    for (int i = 0; i < n; i++)
        out[i] = hki_array_create_failed(devices ? devices[i].handle : NULL, operation, &carrier, 1,
                                         code, "%s", message);
    hk_array_release(hk_take(carrier)); /* which, without a scope, nobody else does */
}

/* True when the shares are sizes that add up to `rows`. */
static bool check_shares(hk_array *x, const hk_device *devices, int n, const int64_t *shares,
                         hk_array **out, int64_t rows)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        if (shares[i] < 0 || shares[i] > rows - sum) {
            if (shares[i] < 0)
                refuse(x, devices, n, out, HK_INVALID_ARGUMENT, "share %d is %" PRId64, i,
                       shares[i]);
            else
                refuse(x, devices, n, out, HK_INVALID_ARGUMENT,
                       "shares 0 to %d ask for more than the %" PRId64 " entries of axis 0", i,
                       rows);
            return false;
        }
        sum += shares[i];
    }
    if (sum == rows)
        return true;
    refuse(x, devices, n, out, HK_INVALID_ARGUMENT,
           "the shares add up to %" PRId64 ", but axis 0 has %" PRId64 " entries", sum, rows);
    return false;
}

/* A part of the tree of base/sum_tree.h, where there is a run of samples for each device; else one of equal parts. */
static int64_t share_of(int64_t rows, int n, int i)
{
    return hki_sum_can_share(rows, n) ? hki_sum_share_of(rows, n, i) : rows / n + (i < rows % n);
}

void(hk_split_and_load)(hk_array *x, const hk_device *devices, int n, const int64_t *shares,
                        hk_array **out)
{
    if (n < 1 || !out) {
        hki_array_fail_in_place(NULL, operation, &x, 1, HK_INVALID_ARGUMENT,
                                n < 1 ? "n is %d, but must be 1 or more" : "out is NULL (n is %d)",
                                n);
        return;
    }
    if (!x || !devices) {
        refuse(x, devices, n, out, HK_INVALID_ARGUMENT, "%s is NULL", x ? "devices" : "x");
        return;
    }
    if (x->failed || x->shape.ndim == 0) {
        refuse(x, devices, n, out, HK_INVALID_ARGUMENT,
               "x has no axes; the first one is what is split");
        return;
    }
    int64_t begin = 0;
    if (shares && !check_shares(x, devices, n, shares, out, x->shape.dims[0]))
        return;
    for (int i = 0; i < n; i++) {
        const int64_t share = shares ? shares[i] : share_of(x->shape.dims[0], n, i);
        hk_array *slice = (hk_slice)(x, 0, begin, begin + share);
        if (devices[i].handle == x->storage->device) {
            out[i] = slice;
        } else {
            out[i] = hki_op_call(&hki_op_to_device, &slice, 1, NULL, devices[i], NULL);
            hk_array_release(hk_take(slice)); /* likewise */
        }
        begin += share;
    }
}
