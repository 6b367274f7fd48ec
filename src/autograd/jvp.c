/* Jacobian-vector products: the gradient with dys is linear in them, so that its own gradient, by them, is the product that is looked
 * for. */
#include "autograd/backward.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>

typedef struct product {
    hk_array **dys, **gradients, **heads, **tangents; /* count, x_count, x_count, x_count */
    int head_count;
} product;

static bool product_init(product *self, int count, int x_count)
{
    const size_t each = (size_t)x_count + 1;
    hk_array **all = calloc((size_t)count + 3 * each, sizeof *all);
    *self = (product){.dys = all};
    if (!all)
        return false;
    self->gradients = all + count;
    self->heads = self->gradients + each;
    self->tangents = self->heads + each;
    return true;
}

static hk_array *begin_with(hk_array *y)
{
    if (!y || y->failed || !hki_dtype_is_inexact(y->dtype))
        return NULL; /* the pass says why */
    hk_array *dy = hki_zeros(y->storage->device, y->shape, y->dtype);
    (hk_attach_grad)(dy, HK_GRAD_TRACK);
    return dy;
}

/* Of the gradients, those that depend on something: the others do not change. */
static void find_heads(product *self, hk_array *const *tangents, int x_count)
{
    for (int i = 0; i < x_count; i++) {
        hki_tape_node *node = hki_tape_node_of(self->gradients[i]);
        if (node) {
            self->heads[self->head_count] = self->gradients[i];
            self->tangents[self->head_count++] = tangents[i];
        }
        hki_tape_node_release(node);
    }
}

/* All products carry a failure, of `cause` (NULL: none). Returns its status, lent. */
HK_PRINTF(4, 5)
static const hk_status *fail_products(hk_array **products, int count, hk_array *cause,
                                      const char *format, ...)
{
    char message[320];
    va_list args;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    for (int i = 0; i < count; i++)
        products[i] =
            hki_array_create_failed(NULL, "jvp", i ? products : &cause, i || cause ? 1 : 0,
                                    HK_INVALID_ARGUMENT, "%s", message);
    return hki_status_lend(hk_status_retain(hk_error_now(products[0])));
}

/* The first that is no tangent of its x, or -1. What has failed says so itself. */
static int find_misfit(hk_array *const *xs, int x_count, hk_array *const *tangents)
{
    for (int i = 0; i < x_count; i++) {
        const hk_array *x = xs[i], *tangent = tangents[i];
        if (!x || !tangent)
            return i;
        if (!x->failed && !tangent->failed &&
            (x->dtype != tangent->dtype || x->storage->device != tangent->storage->device ||
             !hki_dims_equal(&x->shape, &tangent->shape)))
            return i;
    }
    return -1;
}

static const hk_status *find_products(product *self, hk_array *const *ys, int count,
                                      hk_array *const *xs, int x_count, hk_array *const *tangents,
                                      hk_array **products)
{
    const int misfit = find_misfit(xs, x_count, tangents);
    if (misfit >= 0)
        return fail_products(
            products, count, NULL,
            "tangents[%d] must be of xs[%d]'s shape, dtype and device, and neither "
            "may be NULL",
            misfit, misfit);
    for (int i = 0; i < count; i++)
        self->dys[i] = begin_with(ys[i]);
    const hk_status *status =
        (hk_gradients)(ys, count, xs, x_count,
                       &(hk_gradients_options){.dys = self->dys, .create_graph = true},
                       self->gradients);
    if (!hk_ok(status)) {
        hk_status_retain(status); /* beyond the next one that is lent */
        fail_products(products, count, self->gradients[0], "the gradient has failed");
        return hki_status_lend(status);
    }
    find_heads(self, tangents, x_count);
    return (hk_gradients)(self->heads, self->head_count, self->dys, count,
                          &(hk_gradients_options){.dys = self->tangents}, products);
}

const hk_status *(hk_jvp)(hk_array *const *ys, int count, hk_array *const *xs, int x_count,
                          hk_array *const *tangents, hk_array **products)
{
    product self;
    if (!ys || !xs || !tangents || !products || count < 1 || x_count < 1)
        return hki_gradients_refuse("jvp", "an argument is NULL, or a count is less than 1");
    if (!product_init(&self, count, x_count))
        return hki_status_no_memory();
    const hk_status *status;
    {
        HK_PAUSE;
        HK_SCOPE;
        status = find_products(&self, ys, count, xs, x_count, tangents, products);
        for (int i = 0; i < count; i++)
            hk_take(products[i]);
    }
    free(self.dys);
    for (int i = 0; i < count; i++)
        products[i] = hki_scope_add(products[i]);
    return status;
}
