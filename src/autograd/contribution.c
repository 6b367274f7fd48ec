/* Adding up what the consumers of a value contribute to its gradient. */
#include "autograd/tape.h"

#include "op/shape/copy.h"
#include "op/shape/fill.h"

hk_array *hki_zeros(hki_device *device, hk_dims shape, hk_dtype dtype)
{
    const hki_zeros_options options = {.shape = shape, .dtype = dtype};
    return hki_op_call(&hki_op_zeros, NULL, 0, &options, (hk_device){device}, NULL);
}

void hki_zeros_into(hk_array *out)
{
    const hki_zeros_options options = {.shape = out->shape, .dtype = out->dtype};
    hki_op_call_into(&hki_op_zeros, NULL, 0, &options, out);
}

void hki_copy_into(hk_array *x, hk_array *out)
{
    hki_op_call_into(&hki_op_copy, &x, 1, NULL, out);
}

hk_array *hki_tape_cast(hk_array *x, hk_dtype dtype)
{
    return x->dtype == dtype
               ? x
               : hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){.dtype = dtype});
}

/* Halves are for storing: their sums are float32's, rounded when the last term is there. */
static hk_array *widened(hk_array *x)
{
    return x->failed ? x : hki_tape_cast(x, hki_tape_sum_dtype(x->dtype));
}

static hk_array *add(hk_array *a, hk_array *b)
{
    return hki_op_call2(&hki_op_add, widened(a), widened(b), NULL);
}

void hki_add_into(hk_array *a, hk_array *b, hk_array *out)
{
    HK_SCOPE;
    if (!out->failed && hki_dtype_is_half(out->dtype))
        hki_copy_into(hki_tape_cast(add(a, b), out->dtype), out);
    else
        hki_op_call_into(&hki_op_add, (hk_array *const[]){a, b}, 2, NULL, out);
}

hk_array *hki_failed_like(hki_device *device, hk_dims shape, hk_dtype dtype, hk_array *cause)
{
    hk_array *x = hki_array_create(device, shape, dtype);
    hki_array_fail_in_place(x, "backward", &cause, 1, HK_INVALID_ARGUMENT,
                            "an operator's gradient has failed");
    return x;
}

/* dx, or what stands for it when it is not a gradient of the node. In the current scope. */
static hk_array *checked(hki_pass *pass, const hki_tape_node *node, hk_array *dx)
{
    if (dx->failed) /* has no dimensions, but who reads it asks for some */
        return hki_failed_like(node->device, node->shape, node->dtype, dx);
    if (dx->storage->device == node->device && dx->dtype == node->dtype &&
        hki_dims_equal(&dx->shape, &node->shape))
        return dx;
    char has[128], wants[128];
    hki_array_describe(dx, has, sizeof has);
    hki_dims_describe(&node->shape, wants, sizeof wants);
    hk_array *carrier = hki_pass_fail(pass, node->device, "backward", dx, HK_INVALID_ARGUMENT,
                                      "a gradient came as %s on %s, for a value %s%s on %s", has,
                                      dx->storage->device->name, hk_dtype_name(node->dtype), wants,
                                      node->device->name);
    return hki_failed_like(node->device, node->shape, node->dtype, carrier);
}

/* Their sum, not yet rounded to a half; takes both counts. */
static hk_array *take_wide_sum(hk_array *a, hk_array *b)
{
    hk_array *sum = hk_take(add(a, b));
    hk_array_release(a);
    hk_array_release(b);
    return sum;
}

hk_array *hki_tape_add_up(hk_array *a, hk_array *b)
{
    HK_SCOPE;
    const hk_dtype dtype = a->dtype;
    hk_array *wide = take_wide_sum(a, b), *sum = hk_array_retain(hki_tape_cast(wide, dtype));
    hk_array_release(wide);
    return sum;
}

void hki_tape_contribute(hki_pass *pass, hki_tape_node *node, hk_array *dx)
{
    if (!hki_pass_wants(pass, node))
        return;
    HK_SCOPE;
    hki_visit *visit = hki_pass_visit(pass, node);
    if (pass->records &&
        dx->failed) /* the tape has no way to it: gradients of this one would lack a part */
        hki_pass_fail(pass, node->device, "backward", dx, HK_INVALID_ARGUMENT,
                      "an operator's gradient has failed");
    dx = hk_array_retain(checked(pass, node, dx));
    if (!visit->sum) {
        visit->sum = dx;
    } else {
        if (visit->last)
            visit->sum = take_wide_sum(visit->sum, visit->last);
        visit->last = dx;
    }
}

/* a + b into `out`, whose count the caller gets; takes both counts. */
static hk_array *take_sum_into(hk_array *a, hk_array *b, hk_array *out)
{
    hki_add_into(a, b, out);
    hk_array_release(a);
    hk_array_release(b);
    return hk_array_retain(out);
}

/* The same value in the node's dtype; takes the count. */
static hk_array *take_rounded(hk_array *sum, const hki_tape_node *node)
{
    hk_array *rounded = hki_tape_cast(sum, node->dtype);
    if (rounded == sum)
        return sum;
    hk_array_retain(rounded);
    hk_array_release(sum);
    return rounded;
}

hk_array *hki_tape_take_sum(hki_visit *visit, hk_array *out)
{
    HK_SCOPE;
    hk_array *parts[3] = {visit->sum, visit->last, visit->scatter};
    visit->sum = visit->last = visit->scatter = NULL;
    hk_array *sum = NULL;
    for (int i = 0; i < 3; i++) {
        bool is_last = i == 2 || (i == 1 && !parts[2]);
        if (sum && parts[i])
            sum = is_last && out ? take_sum_into(sum, parts[i], out) : take_wide_sum(sum, parts[i]);
        else if (parts[i])
            sum = parts[i];
    }
    return sum ? take_rounded(sum, visit->node) : NULL;
}
