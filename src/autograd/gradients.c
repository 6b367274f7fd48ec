/* What programs call to differentiate: gradients of attached arrays, and gradients as arrays. */
#include "autograd/backward.h"
#include "base/source.h"

#include <stdint.h>

/* The pass, once it is known where it goes. */
static void walk(hki_pass *pass, hk_array *const *ys, hk_array *const *dys, int count)
{
    if (!ys && count > 0) {
        hki_pass_fail(pass, NULL, "backward", NULL, HK_INVALID_ARGUMENT, "argument ys is NULL");
        return;
    }
    hki_pass_begin(pass, ys, dys, count);
    hki_pass_discover(pass);
    if (pass->error) {
        if (pass->to_leaves)
            hki_pass_refuse(pass, ys, count);
        return;
    }
    hk_record_scope scope = hk_record_scope_begin(pass->records);
    hki_pass_seed(pass, ys, dys, count);
    pass->has_run = true;
    hki_pass_run(pass);
    hk_record_scope_end(&scope);
}

/* ---- of attached arrays ------------------------------------------------------------------------------------ */

static const hk_status *backward(hk_array *const *ys, hk_array *const *dys, int count, bool keeps)
{
    HK_PAUSE;
    HK_SCOPE;
    hk_source source = hki_source_get();
    hki_pass pass = {.to_leaves = true, .keeps = keeps};
    bool was_backward = hki_trace_set_backward(true);
    hki_backward_lock();
    hki_pass_init(&pass);
    walk(&pass, ys, dys, count);
    hki_backward_unlock();
    hki_trace_set_backward(was_backward);
    hki_source_put(source);
    hki_pass_deinit(&pass);
    return hki_status_lend(pass.error ? pass.error : hki_status_ok());
}

const hk_status *(hk_backward)(hk_array *y)
{
    return backward(&y, NULL, 1, false);
}

const hk_status *(hk_backward_from)(hk_array *y, hk_array *dy)
{
    return backward(&y, dy ? &dy : NULL, 1, false);
}

const hk_status *(hk_backward_all)(hk_array *const *ys, int count)
{
    return backward(ys, NULL, count, false);
}

const hk_status *(hk_backward_with)(hk_array *const *ys, int count,
                                    const hk_backward_options *options)
{
    HKI_TAKE_OPTIONS(hk_backward_options, options);
    return backward(ys, options ? options->dys : NULL, count, options && options->keep);
}

/* ---- as arrays ------------------------------------------------------------------------------------------------ */

/* Marks what the gradients are asked of. */
static void add_targets(hki_pass *pass, hk_array *const *xs, int count)
{
    for (int i = 0; i < count; i++) {
        hk_array *x = xs[i];
        hki_tape_node *node = x ? hki_tape_node_of(x) : NULL;
        if (node) {
            const size_t place = hki_pass_add(pass, node);
            pass->has_view_targets |= node->kind == HKI_TAPE_VIEW;
            hki_tape_node_release(node);
            if (place != SIZE_MAX)
                pass->visits[place].is_target = true;
        } else if (x && x->failed) {
            hki_pass_fail(pass, x->storage->device, "gradients", x, HK_INVALID_ARGUMENT,
                          "x has failed");
        } else {
            hki_pass_fail(
                pass, x ? x->storage->device : NULL, "gradients", x, HK_INVALID_ARGUMENT,
                x ? "xs[%d] was not recorded: hk_attach_grad, with HK_GRAD_TRACK where it "
                    "needs no gradient of its own, comes before the calls to differentiate"
                  : "xs[%d] is NULL",
                i);
        }
    }
}

/* Puts a failed gradient on the tape before all heads, so that nothing that is made of it has a gradient that lacks a part. */
static void put_before_heads(hk_array *gradient, hk_array *const *ys, int count)
{
    hki_tape_node *last = NULL;
    for (int i = 0; ys && i < count; i++) {
        hki_tape_node *inputs[2] = {ys[i] ? hki_tape_node_of(ys[i]) : NULL, last};
        if (!inputs[0])
            continue;
        last = hki_tape_node_create(HKI_TAPE_FAILED, gradient, inputs, 2, 1, 0);
        if (last->kind == HKI_TAPE_FAILED) {
            last->name = "gradients";
            last->source = hki_source_get();
        }
    }
    if (last)
        hki_tape_node_set(gradient, last);
}

static hk_array *failed_gradient(const hki_pass *pass, hk_array *x, hk_array *const *ys, int count)
{
    hk_array *failure = pass->failure;
    hk_array *gradient =
        hki_array_create_failed(x ? x->storage->device : NULL, "gradients", &failure, 1,
                                hk_status_code(pass->error), "%s", hk_status_message(pass->error));
    if (pass->records && gradient != hki_array_no_memory())
        put_before_heads(gradient, ys, count);
    return gradient;
}

static bool is_among(const hk_array *x, hk_array *const *others, int count)
{
    for (int i = 0; others && i < count; i++)
        if (others[i] == x)
            return true;
    return false;
}

/* What a call of hk_gradients is about. */
typedef struct request {
    hk_array *const *ys, *const *xs;
    int count, x_count;
    const hk_gradients_options *options;
    hk_array **gradients;
} request;

/* Whether nobody else has the memory of a gradient, the index-th, which is contiguous. */
static bool is_own(const request *self, const hk_array *gradient, int index)
{
    return gradient->is_contiguous && !gradient->read_only &&
           atomic_load_explicit(&gradient->storage->counts, memory_order_relaxed) >> 32 == 1 &&
           !is_among(gradient, self->gradients, index) &&
           !is_among(gradient, self->options->dys, self->count);
}

/* What the pass found for the index-th x, whose node it is. */
static hk_array *find_gradient(const request *self, hki_pass *pass, hki_tape_node *node, int index)
{
    hk_array *gradient = hki_pass_visit(pass, node)->gradient;
    if (self->options->reached)
        self->options->reached[index] = gradient != NULL;
    if (!gradient)
        return hki_zeros(node->device, node->shape, node->dtype);
    return gradient->failed || is_own(self, gradient, index)
               ? hk_array_retain(gradient)
               : hki_op_call1(&hki_op_copy, gradient, NULL);
}

/* Sets what the caller gets; counted. */
static void take_results(const request *self, hki_pass *pass)
{
    hk_record_scope scope = hk_record_scope_begin(pass->records);
    const bool all_fail = pass->error && (pass->records || !pass->has_run);
    for (int i = 0; i < self->x_count; i++) {
        hk_array *x = self->xs[i];
        hki_tape_node *node = x ? hki_tape_node_of(x) : NULL;
        if (all_fail && self->options->reached)
            self->options->reached[i] = false;
        self->gradients[i] = hk_take(all_fail ? failed_gradient(pass, x, self->ys, self->count)
                                              : find_gradient(self, pass, node, i));
        hki_tape_node_release(node);
    }
    hk_record_scope_end(&scope);
}

static const hk_status *find_gradients(const request *self)
{
    HK_PAUSE;
    HK_SCOPE;
    hk_source source = hki_source_get();
    hki_pass pass = {.records = self->options->create_graph,
                     .keeps = self->options->keep || self->options->create_graph};
    bool was_backward = hki_trace_set_backward(true);
    hki_backward_lock();
    hki_pass_init(&pass);
    add_targets(&pass, self->xs, self->x_count);
    walk(&pass, self->ys, self->options->dys, self->count);
    hki_source_put(source);
    take_results(self, &pass);
    hki_backward_unlock();
    hki_trace_set_backward(was_backward);
    hki_pass_deinit(&pass);
    return hki_status_lend(pass.error ? pass.error : hki_status_ok());
}

const hk_status *hki_gradients_refuse(const char *operation, const char *why)
{
    const hki_status_facts facts = {.operation = operation};
    return hki_status_lend(hki_status_create(HK_INVALID_ARGUMENT, &facts, "%s", why));
}

const hk_status *(hk_gradients)(hk_array *const *ys, int count, hk_array *const *xs, int x_count,
                                const hk_gradients_options *options, hk_array **gradients)
{
    HKI_TAKE_OPTIONS(hk_gradients_options, options);
    static const hk_gradients_options defaults;
    if (!gradients || (!xs && x_count > 0) || x_count < 0)
        return hki_gradients_refuse("gradients", x_count < 0  ? "argument x_count is negative"
                                                 : !gradients ? "argument gradients is NULL"
                                                              : "argument xs is NULL");
    const request self = {.ys = ys,
                          .xs = xs,
                          .count = count,
                          .x_count = x_count,
                          .options = options ? options : &defaults,
                          .gradients = gradients};
    const hk_status *status = find_gradients(&self);
    for (int i = 0; i < x_count; i++)
        gradients[i] = hki_scope_add(gradients[i]);
    return status;
}
