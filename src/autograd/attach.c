/* Attaching gradients to arrays, and taking arrays off the tape. */
#include "autograd/tape.h"

/* A gradient for x, all zeros, or failed with what is wrong with x. Owned by the caller. */
static hk_array *new_gradient(hk_array *x)
{
    HK_SCOPE;
    hki_device *device = x->storage->device;
    hk_array *grad;
    if (x->failed)
        grad = hki_array_create_failed(device, "attach_grad", &x, 1, HK_INVALID_ARGUMENT,
                                       "the array has failed");
    else if (!hki_dtype_is_inexact(x->dtype))
        grad = hki_array_create_failed(
            device, "attach_grad", &x, 1, HK_INVALID_ARGUMENT,
            "an array of dtype %s has no gradient; those of floats and complex numbers do",
            hk_dtype_name(x->dtype));
    else if (x->read_only)
        grad = hki_array_create_failed(device, "attach_grad", &x, 1, HK_INVALID_ARGUMENT,
                                       "a broadcast view has no gradient of its own; attach one to "
                                       "what it views, or to a copy");
    else
        grad = hki_zeros(device, x->shape, x->dtype);
    if (!grad->failed)
        atomic_fetch_or_explicit(&grad->storage->marks, HKI_IS_GRADIENT, memory_order_relaxed);
    return hk_take(grad);
}

/* Zeros, in the handle that there is; none with HK_GRAD_TRACK. */
static void set_gradient(hki_tape_node *leaf, hk_array *x)
{
    if (leaf->mode == HK_GRAD_TRACK) {
        hk_array_release(leaf->grad);
        leaf->grad = NULL;
    } else if (leaf->grad) {
        hki_zeros_into(leaf->grad);
    } else {
        leaf->grad = new_gradient(x);
    }
}

void(hk_attach_grad)(hk_array *x, hk_grad_mode mode)
{
    if (!x || x == hki_array_no_memory())
        return;
    HK_PAUSE;
    hki_backward_lock();
    hki_tape_node *node = hki_tape_node_of(x);
    if (node && node->kind != HKI_TAPE_LEAF) {
        hki_tape_node_release(node);
        node = NULL;
    }
    if (mode == HK_GRAD_TRACK && (x->failed || !hki_dtype_is_inexact(x->dtype))) {
        hki_tape_node_set(x, NULL);
    } else if (mode == HK_GRAD_NULL) {
        if (node) {
            hk_array_release(node->grad);
            node->grad = NULL;
            hki_tape_node_set(x, NULL);
        }
    } else if (node) {
        node->mode = mode;
        set_gradient(node, x);
    } else {
        hki_tape_node *leaf = hki_tape_node_create(HKI_TAPE_LEAF, x, NULL, 0, 0, 0);
        if (x->storage->var.runtime && hki_runtime_alive(x->storage->var.runtime))
            hki_writes_count(x->storage->var.runtime); /* before the first call is recorded */
        if (leaf->kind == HKI_TAPE_LEAF) {
            leaf->mode = mode;
            set_gradient(leaf, x);
        }
        hki_tape_node_set(x, leaf);
    }
    hki_tape_node_release(node);
    hki_backward_unlock();
}

hk_array *hki_grad_get(const hk_array *x)
{
    hki_tape_node *node = x ? hki_tape_node_of(x) : NULL;
    hk_array *grad = node && node->kind == HKI_TAPE_LEAF ? node->grad : NULL;
    hki_tape_node_release(node); /* x counts it too */
    return grad;
}

bool hk_has_grad(const hk_array *x)
{
    return hki_grad_get(x);
}

bool hk_wants_grad(const hk_array *x)
{
    hki_tape_node *node = x ? hki_tape_node_of(x) : NULL;
    hki_tape_node_release(node); /* x counts it too */
    return node;
}

hk_array *(hk_grad)(hk_array *x)
{
    hk_array *grad = hki_grad_get(x);
    if (grad)
        return grad;
    return hki_array_create_failed(x ? x->storage->device : NULL, "grad", &x, 1,
                                   HK_INVALID_ARGUMENT,
                                   "the array has no gradient: hk_attach_grad gives it one");
}

hk_array *(hk_detach)(hk_array *x)
{
    if (!x)
        return hki_array_create_failed(NULL, "detach", NULL, 0, HK_INVALID_ARGUMENT, "x is NULL");
    HK_PAUSE;
    return hki_array_view(x, x->shape, x->strides, x->offset);
}
