/* Functions on masks, and others whose result is as large as values say. They wait for a number, and make the rest of calls. */
#include "op/sort/selection.h"

#include "array/array.h"
#include "base/source.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/join.h"
#include "op/shape/reshape.h"

#include <hocket/index.h>
#include <inttypes.h>
#include <string.h>

/* ---- what they share ------------------------------------------------------------------------------------ */

bool hki_read_number(hki_call *call, hk_array *x, double *value)
{
    const hk_status *status = NULL;
    *value = (hk_item)(x, &status);
    return hk_ok(status) ||
           hki_call_refuse(call, hk_status_code(status), "%s", hk_status_message(status));
}

hk_array *hki_places_of(hki_call *call, hk_array *mask, hk_array **count)
{
    double found;
    *count = hki_op_call1(&hki_op_count_nonzero, mask, NULL);
    if (!hki_read_number(call, *count, &found))
        return NULL;
    return hki_op_call1(&hki_op_mask_places, mask, &(const int64_t){(int64_t)found});
}

hk_array *hki_flattened(hk_array *x)
{
    const hki_reshape_options line = {.shape = {.ndim = 1, .dims = {x->failed ? 0 : x->size}}};
    return hki_op_call1(&hki_op_reshape, x, &line);
}

hk_array *hki_entries(hk_array *x, int64_t begin, int64_t end)
{
    return hki_op_call1(&hki_op_slice_step, x, (const int64_t[]){0, begin, end, 1});
}

hk_array *hki_zeros_beside(const hk_array *x, const hk_dims *shape, hk_dtype dtype)
{
    const hki_zeros_options zeros = {.shape = *shape, .dtype = dtype};
    return hki_op_call(&hki_op_zeros, NULL, 0, &zeros, (hk_device){x->storage->device}, NULL);
}

static const char from_values[] = "the shape of its result depends on values";

/* ---- mask_places ------------------------------------------------------------------------------------------ */

#define MASK_PLACES_ARGUMENTS(F, op) F(op, INT, count, "", "how many elements hold")
HKI_ARGUMENTS(mask_places, MASK_PLACES_ARGUMENTS)

static int64_t count_of(const void *options)
{
    return ((const hki_mask_places_options *)options)->count;
}

static bool places_infer(hki_call *call)
{
    call->out_shape[0] = (hk_dims){.ndim = 1, .dims = {count_of(call->options)}};
    call->out_dtype[0] = HK_I64;
    return true;
}

static void places_plan(const hki_call *call, hki_plan *plan)
{
    plan->extent = 1;
    plan->work_ns = 50 + (double)call->inputs[0]->size;
}

/* Another thread may have written to the mask since it was counted. */
static void places_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const uint8_t *mask = call->in[0].data;
    const int64_t count = count_of(call->options);
    int64_t *places = call->out[0].data, found = 0;
    (void)begin, (void)end;
    for (int64_t i = 0; i < call->in[0].size; i++) {
        if (mask[i] && found < count)
            places[found] = i;
        found += mask[i];
    }
    if (found != count)
        hki_task_fail(call->task, piece, HK_INVALID_ARGUMENT, HKI_MASK_CHANGED, found, count);
}

const hk_op hki_op_mask_places = {
    HKI_OP_NAMED(mask_places),
    .refuses = true,
    HKI_OP_PARAMS(mask_places),
    .signature = "mask",
    .doc = "Places of a mask.",
    .dtypes = 1u << HK_BOOL,
    .contiguous = true,
    .internal = true,
    .infer = places_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = places_plan,
    .kernel = {[HKI_CPU] = places_kernel},
    .no_grad_why = "its result is an index",
    .untested = "selection_test.c tests it",
};

/* ---- masks -------------------------------------------------------------------------------------------------- */

static bool check_given(hki_call *call, hk_array *const *inputs, const char *const *names,
                        int count)
{
    for (int i = 0; i < count; i++) {
        if (!inputs[i])
            return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is NULL", names[i]);
        if (inputs[i]->failed)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s has failed", names[i]);
    }
    return true;
}

/* The mask lies along x's first axes. */
static bool check_mask(hki_call *call, hk_array *const *inputs)
{
    char x_text[224], mask_text[224];
    if (!check_given(call, inputs, (const char *const[]){"x", "mask"}, 2))
        return false;
    const hk_array *x = inputs[0], *mask = inputs[1];
    hki_array_describe(x, x_text, sizeof x_text);
    hki_array_describe(mask, mask_text, sizeof mask_text);
    if (mask->dtype != HK_BOOL)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "mask is %s, but must be of bool; hk_cast converts", mask_text);
    if (mask->shape.ndim <= x->shape.ndim &&
        memcmp(mask->shape.dims, x->shape.dims,
               (size_t)mask->shape.ndim * sizeof *mask->shape.dims) == 0)
        return true;
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "x is %s and mask %s: it must have the shape of x's first axes", x_text,
                           mask_text);
}

static hk_array *select_entries(hk_array *x, hk_array *mask, hk_array *places)
{
    hki_reshape_options entries = {.shape = {.ndim = 1, .dims = {mask->size}}};
    for (int i = mask->shape.ndim; i < x->shape.ndim; i++)
        entries.shape.dims[entries.shape.ndim++] = x->shape.dims[i];
    return hki_op_call2(&hki_op_index_select, hki_op_call1(&hki_op_reshape, x, &entries), places,
                        &(const int64_t){0});
}

hk_array *(hk_mask_select)(hk_array *x, hk_array *mask)
{
    hki_call call = {.code = HK_OK};
    hk_array *result = NULL;
    hki_array_uncapturable("mask_select", from_values);
    {
        HK_SCOPE;
        hk_array *inputs[] = {x, mask, NULL};
        if (check_mask(&call, inputs)) {
            hk_array *places = hki_places_of(&call, hki_flattened(mask), &inputs[2]);
            result = places ? select_entries(x, mask, places) : NULL;
        }
        result = hk_take(result ? result : hki_refuse_many("mask_select", inputs, 3, &call));
    }
    return hki_scope_add(result);
}

/* With axes of size 1 in place of those of x that it has not. */
static hk_array *along_first_axes(hk_array *mask, int ndim)
{
    hk_dims shape = mask->shape;
    int64_t strides[HK_MAX_NDIM];
    memcpy(strides, mask->strides, sizeof strides);
    while (shape.ndim < ndim) {
        strides[shape.ndim] = 0;
        shape.dims[shape.ndim++] = 1;
    }
    return hki_array_view(mask, shape, strides, mask->offset);
}

void(hk_mask_assign)(hk_array *x, hk_array *mask, hk_array *value)
{
    static const char *const names[] = {"x", "mask", "value"};
    hki_call call = {.code = HK_OK};
    HK_SCOPE;
    hk_array *const inputs[] = {x, mask, value};
    if (!check_given(&call, inputs, names, 3) || !check_mask(&call, inputs)) {
        hki_array_fail_in_place(x, "mask_assign", inputs, 3, call.code, "%s", call.message);
        return;
    }
    hk_array *converted = hki_op_call1(&hki_op_cast, value, &(const hki_cast_options){x->dtype});
    hk_array *const parts[] = {along_first_axes(mask, x->shape.ndim), converted, x};
    hki_op_call_into(&hki_op_where, parts, 3, NULL, x);
}

/* ---- nonzero ------------------------------------------------------------------------------------------------ */

static hk_array *by_number(const hk_op *op, hk_array *x, int64_t number)
{
    const hki_full_options full = {.value = (double)number, .dtype = HK_I64};
    hk_array *y = hki_op_call(&hki_op_full, NULL, 0, &full, (hk_device){x->storage->device}, NULL);
    return hki_op_call2(op, x, y, NULL);
}

/* Along each axis, from places in C order. */
static void split_places(hk_array *places, const hk_dims *shape, hk_array **indices)
{
    int64_t inner = 1;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        hk_array *along = by_number(&hki_op_floor_divide, places, inner > 0 ? inner : 1);
        if (i > 0)
            along = by_number(&hki_op_remainder, along, shape->dims[i] > 0 ? shape->dims[i] : 1);
        indices[i] = hk_take(along);
        inner *= shape->dims[i];
    }
}

static bool check_nonzero(hki_call *call, hk_array *x, int count)
{
    if (!check_given(call, &x, (const char *const[]){"x"}, 1))
        return false;
    return (count > 0 && count == x->shape.ndim) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "count is %d, but x has %d axes: it must be as many, one at least",
                           count, x->shape.ndim);
}

void(hk_nonzero)(hk_array *x, hk_array **indices, int count)
{
    hki_call call = {.code = HK_OK};
    hki_array_uncapturable("nonzero", from_values);
    {
        HK_SCOPE;
        hk_array *inputs[] = {x, NULL}, *places = NULL;
        if (check_nonzero(&call, x, count)) {
            const hki_cast_options to_bool = {HK_BOOL};
            hk_array *mask = hki_op_call1(&hki_op_cast, hki_flattened(x), &to_bool);
            places = hki_places_of(&call, mask, &inputs[1]);
        }
        if (places)
            split_places(places, &x->shape, indices);
        for (int i = 0; i < count && !places; i++)
            indices[i] = hk_take(hki_refuse_many("nonzero", inputs, 2, &call));
    }
    for (int i = 0; i < count; i++)
        indices[i] = hki_scope_add(indices[i]);
}

/* ---- bincount ------------------------------------------------------------------------------------------------ */

static bool check_bincount(hki_call *call, hk_array *const *inputs, int64_t minlength)
{
    if (!check_given(call, inputs, (const char *const[]){"x", "weights"}, inputs[1] ? 2 : 1))
        return false;
    const hk_array *x = inputs[0], *weights = inputs[1];
    if (x->shape.ndim != 1 || !hki_dtype_is_integer(x->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s with %d axes, but must be of integers, and have one",
                               hk_dtype_name(x->dtype), x->shape.ndim);
    if (weights && (!hki_dims_equal(&weights->shape, &x->shape) || weights->dtype == HK_BOOL))
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "weights must be of numbers, and have the shape of x, (%" PRId64 ",)", x->size);
    return minlength >= 0 ||
           hki_call_refuse(call, HK_OUT_OF_RANGE, "minlength is %" PRId64 ", but must be 0 or more",
                           minlength);
}

/* *length grows to what x needs: blocks. */
static bool measure(hki_call *call, hk_array *x, hk_array **limits, int64_t *length)
{
    const double most_there_are = 0x1p40;
    double least = 0, most = -1;
    for (int i = 0; i < 2 && x->size > 0; i++) {
        limits[i] = hki_op_call1(i ? &hki_op_max : &hki_op_min, x, NULL);
        if (!hki_read_number(call, limits[i], i ? &most : &least))
            return false;
    }
    if (least < 0)
        return hki_call_refuse(call, HK_BAD_DATA,
                               "x has an element %.17g, but none may be negative", least);
    if (most >= most_there_are)
        return hki_call_refuse(call, HK_BAD_DATA, "x has an element %.17g, but 2^40 is too large",
                               most);
    *length = *length > (int64_t)most + 1 ? *length : (int64_t)most + 1;
    return true;
}

static hk_array *add_up(hk_array *x, hk_array *weights, int64_t length)
{
    const hk_dims shape = {.ndim = 1, .dims = {length}}, one = {.ndim = 0};
    const int64_t strides[] = {0};
    if (!weights) {
        const hki_zeros_options ones = {.shape = one, .dtype = HK_I64};
        weights = hki_op_call(&hki_op_ones, NULL, 0, &ones, (hk_device){x->storage->device}, NULL);
        weights = hki_array_view(weights, x->shape, strides, weights->offset);
    }
    hk_array *none = hki_zeros_beside(x, &shape, weights->failed ? HK_I64 : weights->dtype);
    return hki_op_call3(&hki_op_scatter_add, none, x, weights, &(const int64_t){0});
}

hk_array *(hk_bincount)(hk_array *x, hk_array *weights, int64_t minlength)
{
    hki_call call = {.code = HK_OK};
    hk_array *result;
    hki_array_uncapturable("bincount", from_values);
    {
        HK_SCOPE;
        hk_array *inputs[] = {x, weights, NULL, NULL};
        if (check_bincount(&call, inputs, minlength) && measure(&call, x, inputs + 2, &minlength))
            result = add_up(x, weights, minlength);
        else
            result = hki_refuse_many("bincount", inputs, 4, &call);
        hk_take(result);
    }
    return hki_scope_add(result);
}
