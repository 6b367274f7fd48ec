/* The backward pass: issues what computes the gradients, newest node first. Nothing here waits and nothing recurses, however long
 * the tape is. */
#include "autograd/backward.h"

#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- leaves ---------------------------------------------------------------------------------------------- */

/* Gives a leaf its gradient: all that consumers had to add has come. */
static void leaf_finish(hki_visit *visit)
{
    HK_SCOPE;
    const hki_tape_node *leaf = visit->node;
    hk_array *grad = leaf->grad;
    if (!grad || grad->failed)
        return;
    hk_array *sum = hki_tape_take_sum(visit, leaf->mode == HK_GRAD_WRITE ? grad : NULL);
    if (leaf->mode == HK_GRAD_WRITE) {
        if (!sum)
            hki_zeros_into(grad);
        else if (sum != grad)
            hki_copy_into(sum, grad);
    } else if (sum) {
        hki_add_into(grad, sum, grad);
    }
    hk_array_release(sum);
}

/* ---- what was kept ----------------------------------------------------------------------------------------- */

static const char *operation_of(const hki_tape_node *node)
{
    return node->op ? node->op->name : node->name ? node->name : "a view";
}

/* The name of an input, or, behind those, of an output. */
static void name_part(const hki_tape_node *node, int index, char *name, size_t bytes)
{
    const int output = index - node->input_count;
    if (node->op && output < 0)
        hki_op_input_name(node->op, index, name, bytes);
    else if (node->op && node->output_count > 1)
        hki_op_output_name(node->op, output, name, bytes);
    else if (output < 0 || node->output_count > 1)
        snprintf(name, bytes, "%s %d", output < 0 ? "input" : "output",
                 output < 0 ? index : output);
    else
        snprintf(name, bytes, "the result");
}

/* A failed array that says who wrote over what the gradient of the node's call is to read. index: of inputs, then outputs. */
static hk_array *fail_overwritten(hki_pass *pass, const hki_tape_node *node, const hki_watch *watch,
                                  int index)
{
    char part[64], place[320] = "";
    name_part(node, index, part, sizeof part);
    if (watch->source.file)
        hki_format(place, sizeof place, " at %s:%d", watch->source.file, watch->source.line);
    return hki_pass_fail(
        pass, node->device, operation_of(node), NULL, HK_INVALID_ARGUMENT,
        "%s was overwritten by %s%s after this call and before hk_backward, which reads "
        "it; write to it later, or record with a copy of it",
        part, watch->operation ? watch->operation : "another thread", place);
}

/* What of the kept is the node's input or output `index`. */
static hk_array *kept_of(hki_tape_node *node, int index, hki_watch **watch)
{
    if (index < node->input_count) {
        *watch = &node->inputs[index].watch;
        return node->inputs[index].kept;
    }
    hki_tape_result *output = &node->outputs[index - node->input_count];
    *watch = &output->watch;
    return output->kept;
}

/* The node of an output, counted: where there are several, one more of its own. */
static hki_tape_node *output_node(hki_tape_node *node, int output, const hk_array *x)
{
    hki_tape_node *input = hki_tape_node_retain(node);
    if (node->output_count == 1)
        return input;
    hki_tape_node *result = hki_tape_node_create(HKI_TAPE_OUTPUT, x, &input, 1, 0, 0);
    if (result->kind == HKI_TAPE_OUTPUT) {
        result->source = node->source;
        result->output_index = output;
    }
    return result;
}

/* The kept array on the tape, as the value that it was. */
static hk_array *kept_on_tape(hki_tape_node *node, int index, hk_array *kept)
{
    if (index < node->input_count)
        return hki_with_node(kept, node->inputs[index].node);
    hki_tape_node *output = output_node(node, index - node->input_count, kept);
    hk_array *x = hki_with_node(kept, output);
    hki_tape_node_release(output);
    return x;
}

/* What the gradient is to read, in the current scope: a failed array where somebody wrote over that; NULL: it reads nothing.
 * *is_good: it was as it should be. */
static hk_array *kept_value(hki_pass *pass, hki_tape_node *node, int index, bool *is_good)
{
    hki_watch *watch;
    hk_array *kept = kept_of(node, index, &watch);
    *is_good = false;
    if (!kept)
        return NULL;
    *is_good = !hki_watch_is_written(watch, false);
    if (!*is_good)
        return hki_failed_like(kept->storage->device, kept->shape, kept->dtype,
                               fail_overwritten(pass, node, watch, index));
    return pass->records ? kept_on_tape(node, index, kept) : kept;
}

/* What came meanwhile, from another thread: a failed array if it did so while the gradient was issued; else NULL. */
static hk_array *overwritten_meanwhile(hki_pass *pass, hki_tape_node *node, const bool *was_good)
{
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        hki_watch *watch;
        if (!was_good[i])
            continue;
        kept_of(node, i, &watch);
        if (hki_watch_is_written(watch, !pass->keeps))
            return fail_overwritten(pass, node, watch, i);
    }
    return NULL;
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

/* All that the node's gradients go to gets the failure. */
static void contribute_failure(hki_pass *pass, const hki_tape_node *node, hk_array *carrier)
{
    for (int i = 0; i < node->input_count; i++)
        hki_tape_contribute(pass, node->inputs[i].node, carrier);
}

/* Whether the gradient of the node's call reads what shares memory with x, or may: what comes as dys, too. */
static bool reads_memory_of(const hki_grad_call *call, int output_count, const hk_array *x)
{
    for (int i = 0; i < call->input_count; i++)
        if (call->inputs[i] && call->inputs[i]->storage == x->storage)
            return true;
    for (int i = 0; i < output_count; i++)
        if ((call->outputs[i] && call->outputs[i]->storage == x->storage) ||
            (call->dys[i] && call->dys[i]->storage == x->storage))
            return true;
    return call->saved && call->saved->storage == x->storage;
}

/* A leaf's gradient that is to be written, and by nothing but this call of its last consumer. Kernels of other devices may
 * have to wait before they overwrite something, and copies need not. */
static hk_array *place_of(hki_pass *pass, const hki_grad_call *call, const hki_tape_node *node,
                          hki_tape_node *leaf)
{
    hk_array *grad = leaf && leaf->kind == HKI_TAPE_LEAF ? leaf->grad : NULL;
    if (!pass->to_leaves || pass->records || !grad || grad->failed || leaf->mode != HK_GRAD_WRITE ||
        !hki_device_is_host(leaf->device))
        return NULL;
    const hki_visit *visit = hki_pass_visit(pass, leaf);
    return visit->uses == 1 && !visit->sum && !visit->last && !visit->scatter &&
                   !reads_memory_of(call, node->output_count, grad)
               ? grad
               : NULL;
}

static void call_backward(hki_pass *pass, hki_tape_node *node, hk_array *const *dys)
{
    const hk_op *op = node->op;
    if (!op->grad) {
        contribute_failure(
            pass, node,
            hki_pass_fail(pass, node->device, op->name, NULL, HK_UNSUPPORTED,
                          op->internal
                              ? "%s, of which a gradient is made, has no gradient of its own"
                              : "the operator %s has no gradient; hk_detach its input, or pause "
                                "recording",
                          op->name));
        return;
    }
    hki_grad_call call;
    bool is_good[HKI_MAX_INPUTS + HKI_MAX_OUTPUTS];
    call.op = op;
    call.options = node->options;
    call.input_count = node->input_count;
    for (int i = 0; i < node->output_count; i++) {
        const int index = node->input_count + i;
        call.outputs[i] = kept_value(pass, node, index, &is_good[index]);
        call.dys[i] = dys[i];
    }
    call.saved = node->saved;
    call.is_recorded = pass->records;
    for (int i = 0; i < node->input_count; i++) {
        call.dx[i] = NULL;
        call.inputs[i] = kept_value(pass, node, i, &is_good[i]);
        call.input_shape[i] = node->inputs[i].shape;
        call.input_dtype[i] = node->inputs[i].dtype;
        call.input_device[i] = node->inputs[i].node ? node->inputs[i].node->device : NULL;
        call.wanted[i] = hki_pass_wants(pass, node->inputs[i].node);
    }
    for (int i = 0; i < node->input_count; i++)
        call.places[i] = call.wanted[i] ? place_of(pass, &call, node, node->inputs[i].node) : NULL;
    op->grad(&call);
    hk_array *failed = overwritten_meanwhile(pass, node, is_good);
    for (int i = 0; i < node->input_count; i++)
        if (call.wanted[i] && call.dx[i])
            hki_tape_contribute(pass, node->inputs[i].node, failed ? failed : call.dx[i]);
}

/* ---- functions of the program ----------------------------------------------------------------------------------- */

/* Without the lock, so that it may do what any code may, and in a state of recording that it cannot spoil. */
static void run_function(const hki_pass *pass, const hki_function *function, hk_function_call *call)
{
    hk_record_scope scope = hk_record_scope_begin(pass->records);
    if (!function->is_internal)
        hki_backward_unlock();
    function->backward(call);
    if (!function->is_internal)
        hki_backward_lock();
    hk_record_scope_end(&scope);
}

static void function_backward(hki_pass *pass, hki_tape_node *node, hk_array *const *dys)
{
    hk_array *kept[2 * HKI_FUNCTION_MAX], *dxs[HKI_FUNCTION_MAX] = {NULL};
    bool wanted[HKI_FUNCTION_MAX], is_good[2 * HKI_FUNCTION_MAX];
    for (int i = 0; i < node->input_count + node->output_count; i++)
        kept[i] = kept_value(pass, node, i, &is_good[i]);
    for (int i = 0; i < node->input_count; i++)
        wanted[i] = hki_pass_wants(pass, node->inputs[i].node);
    hk_function_call call = {.context = node->function->context,
                             .input_count = node->input_count,
                             .output_count = node->output_count,
                             .dys = dys,
                             .inputs = kept,
                             .outputs = kept + node->input_count,
                             .wanted = wanted,
                             .dxs = dxs};
    run_function(pass, node->function, &call);
    hk_array *failed = overwritten_meanwhile(pass, node, is_good);
    if (!failed && call.error[0])
        failed = hki_pass_fail(pass, node->device, node->name, NULL, HK_INVALID_ARGUMENT, "%.*s",
                               (int)sizeof call.error - 1, call.error);
    for (int i = 0; i < node->input_count; i++) {
        if (wanted[i] && (dxs[i] || failed))
            hki_tape_contribute(pass, node->inputs[i].node, failed ? failed : dxs[i]);
        hk_array_release(dxs[i]);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* The record of a call that could not be made is already that of dy. */
static void failed_backward(hki_pass *pass, const hki_tape_node *node, hk_array *dy)
{
    if (pass->records) /* which the tape has no way to */
        hki_pass_fail(pass, node->device, operation_of(node), dy, HK_INVALID_ARGUMENT,
                      "a call that the gradient goes through has failed");
    for (int i = 0; i < node->input_count; i++) {
        hki_tape_node *input = node->inputs[i].node;
        if (hki_pass_wants(pass, input))
            hki_tape_contribute(pass, input,
                                hki_failed_like(input->device, input->shape, input->dtype, dy));
    }
}

/* What has come for the outputs of a call, taken by the caller; false: nothing. */
static bool take_dys(hki_pass *pass, hki_tape_node *node, hk_array **dys)
{
    hki_visit *visit = hki_pass_visit(pass, node);
    bool reached = false;
    for (int i = 0; i < node->output_count; i++)
        dys[i] = NULL;
    if (node->output_count == 1)
        dys[0] = hki_tape_take_sum(visit, NULL);
    for (size_t place = visit->outputs; place > 0; place = pass->visits[place - 1].next_output) {
        hki_visit *output = &pass->visits[place - 1];
        hk_array **dy = &dys[output->node->output_index];
        if (output->sum)
            *dy = *dy ? hki_tape_add_up(*dy, output->sum) : output->sum;
        output->sum = NULL;
    }
    for (int i = 0; i < node->output_count; i++)
        reached |= dys[i] != NULL;
    return reached;
}

/* Another pass may have been here, while a function of the program ran. */
static void fail_passed(hki_pass *pass, const hki_tape_node *node)
{
    contribute_failure(pass, node,
                       hki_pass_fail(pass, node->device, "backward", NULL, HK_INVALID_ARGUMENT,
                                     "%s was differentiated by another pass meanwhile",
                                     operation_of(node)));
}

static void forget(hki_tape_node *node)
{
    node->passed = true;
    hki_tape_node_drop_kept(node); /* not what is behind it: a second pass fails those gradients */
    if (node->function)
        hki_function_drop(node->function);
    node->function = NULL;
}

static void pass_call(hki_pass *pass, hki_tape_node *node)
{
    hk_array *dys[HKI_FUNCTION_MAX];
    const bool is_reached = take_dys(pass, node, dys);
    if (is_reached && node->passed)
        fail_passed(pass, node);
    else if (is_reached && node->kind == HKI_TAPE_CALL)
        call_backward(pass, node, dys);
    else if (is_reached && node->kind == HKI_TAPE_FUNCTION)
        function_backward(pass, node, dys);
    for (int i = 0; i < node->output_count; i++) {
        if (dys[i] && node->kind == HKI_TAPE_FAILED)
            failed_backward(pass, node, dys[i]);
        hk_array_release(dys[i]);
    }
    if (!pass->keeps)
        forget(node);
}

/* Views and outputs keep nothing, and may be passed again. */
static void pass_on(hki_pass *pass, hki_tape_node *node)
{
    hki_visit *visit = hki_pass_visit(pass, node);
    hk_array *dy = hki_tape_take_sum(visit, NULL);
    if (node->kind == HKI_TAPE_OUTPUT) {
        hki_visit *call = hki_pass_visit(pass, node->inputs[0].node);
        visit->sum = dy;
        visit->next_output = call->outputs;
        call->outputs = node->place + 1;
        return;
    }
    if (dy)
        hki_view_backward(pass, node, dy);
    hk_array_release(dy);
}

static void node_pass(hki_pass *pass, hki_tape_node *node)
{
    HK_SCOPE;
    hki_source_put(node->source);
    if (node->kind == HKI_TAPE_VIEW || node->kind == HKI_TAPE_OUTPUT)
        pass_on(pass, node);
    else
        pass_call(pass, node);
    for (int i = 0; pass->to_leaves && i < node->input_count; i++) {
        hki_tape_node *input = node->inputs[i].node;
        if (!input || (node->kind == HKI_TAPE_VIEW && i > 0))
            continue;
        hki_visit *visit = hki_pass_visit(pass, input);
        if (--visit->uses == 0 && input->kind == HKI_TAPE_LEAF)
            leaf_finish(visit);
    }
}

/* A target's gradient goes on to what is behind it, and stays. */
static void keep_target(hki_visit *visit)
{
    hk_array *sum = hki_tape_take_sum(visit, NULL);
    visit->gradient = sum ? hk_array_retain(sum) : NULL;
    visit->sum = sum;
}

void hki_pass_run(hki_pass *pass)
{
    for (size_t i = 0; i < pass->count; i++) {
        hki_visit *visit = &pass->visits[pass->order[i].place];
        hki_tape_node *node = visit->node;
        if (visit->is_target)
            keep_target(visit);
        if (node->kind != HKI_TAPE_LEAF) {
            if (pass->to_leaves || (visit->is_reached && visit->leads))
                node_pass(pass, node);
        } else if (pass->to_leaves && visit->sum) { /* a head itself, without consumers */
            leaf_finish(visit);
        }
    }
}

/* ---- heads ------------------------------------------------------------------------------------------------------ */

/* y failed when it was made. Its own record is the pass's, as far as it is known now. */
static void fail_for(hki_pass *pass, hk_array *y)
{
    const bool is_first = !pass->error;
    const hk_status *known = hk_error_now(y);
    hki_pass_fail(pass, y->storage->device, "backward", y, HK_INVALID_ARGUMENT,
                  "y failed when it was made");
    if (is_first && !hk_ok(known)) {
        hk_status_release(pass->error);
        pass->error = hk_status_retain(known);
    }
}

/* True when dy may be the gradient of y. */
static bool head_fits(hki_pass *pass, hk_array *y, hk_array *dy)
{
    if (y->failed || dy->failed) /* the records of these say more */
        return true;
    if (dy->storage->device != y->storage->device)
        hki_pass_fail(pass, y->storage->device, "backward", dy, HK_INVALID_ARGUMENT,
                      "dy is on %s, but y on %s", dy->storage->device->name,
                      y->storage->device->name);
    else if (dy->dtype != y->dtype || !hki_dims_equal(&dy->shape, &y->shape)) {
        char has[128], wants[128];
        hki_array_describe(dy, has, sizeof has);
        hki_array_describe(y, wants, sizeof wants);
        hki_pass_fail(pass, y->storage->device, "backward", dy, HK_INVALID_ARGUMENT,
                      "dy is %s; like y it must be %s", has, wants);
    } else {
        return true;
    }
    return false;
}

/* True after failing: the runtime of x (NULL: none given) has ended, or is another process's. What merely carries a record
 * is walked from, so that the gradients get it. */
static bool is_gone(hki_pass *pass, hk_array *x)
{
    const hki_runtime *runtime = x ? x->storage->var.runtime : NULL;
    if (!runtime || hki_runtime_alive(runtime))
        return false;
    const hk_status *gone = hki_runtime_gone(runtime);
    hki_pass_fail(pass, x->storage->device, "backward", x, hk_status_code(gone), "%s",
                  hk_status_message(gone));
    hk_status_release(gone);
    return true;
}

void hki_pass_begin(hki_pass *pass, hk_array *const *ys, hk_array *const *dys, int count)
{
    for (int i = 0; i < count; i++) {
        hk_array *y = ys[i];
        if (is_gone(pass, y) || is_gone(pass, dys ? dys[i] : NULL))
            continue;
        hki_tape_node *node = y ? hki_tape_node_of(y) : NULL;
        if (node && hki_dtype_is_complex(y->dtype) && !(dys && dys[i])) {
            hki_pass_fail(pass, y->storage->device, "backward", y, HK_INVALID_ARGUMENT,
                          "y is %s, of which nothing says what is to become smaller; give dy "
                          "(hk_backward_from), or a real y such as hk_abs of it",
                          hk_dtype_name(y->dtype));
            hki_tape_node_release(node);
        } else if (node) {
            if ((!dys || !dys[i] || head_fits(pass, y, dys[i]))) {
                const size_t place = hki_pass_add(pass, node);
                if (place != SIZE_MAX)
                    pass->visits[place].is_reached = true;
            }
            hki_tape_node_release(node);
        } else if (y == hki_array_no_memory()) {
            pass->is_lost = true;
            hki_pass_fail(pass, NULL, "backward", NULL, HK_OUT_OF_MEMORY,
                          "there was no host memory for y");
        } else if (y && y->failed) {
            fail_for(pass, y);
        } else if (y && !hki_dtype_is_inexact(y->dtype)) {
            hki_pass_fail(
                pass, y->storage->device, "backward", y, HK_INVALID_ARGUMENT,
                "y is of dtype %s, through which no gradient flows; floats have gradients",
                hk_dtype_name(y->dtype));
        } else if (y) {
            hki_pass_fail(pass, y->storage->device, "backward", y, HK_INVALID_ARGUMENT,
                          "y depends on no attached gradient: it was not computed while recording "
                          "(HK_RECORD), or from "
                          "no array that hk_attach_grad was called for");
        } else {
            hki_pass_fail(pass, NULL, "backward", NULL, HK_INVALID_ARGUMENT, "y is NULL");
        }
    }
}

void hki_pass_seed(hki_pass *pass, hk_array *const *ys, hk_array *const *dys, int count)
{
    for (int i = 0; i < count; i++) {
        HK_SCOPE;
        HK_PAUSE; /* ones depend on nothing, also where the caller records */
        hki_tape_node *node = hki_tape_node_of(ys[i]);
        hki_tape_contribute(pass, node,
                            dys && dys[i] ? dys[i] : hki_op_call1(&hki_op_ones_like, ys[i], NULL));
        hki_tape_node_release(node);
    }
}

static void leaf_refuse(hki_tape_node *leaf, void *argument)
{
    hki_pass *pass = argument;
    if (leaf->grad)
        hki_array_fail_in_place(leaf->grad, "backward", &pass->failure, 1,
                                hk_status_code(pass->error), "%s", hk_status_message(pass->error));
}

void hki_pass_refuse(hki_pass *pass, hk_array *const *ys, int count)
{
    for (int i = 0; i < count; i++) {
        const hki_runtime *runtime = ys[i] ? ys[i]->storage->var.runtime : NULL;
        const bool is_here =
            ys[i] && (!runtime || hki_runtime_alive(runtime)); /* none: a record alone */
        hki_tape_node *head = is_here ? hki_tape_node_of(ys[i]) : NULL;
        if (!hki_tape_reach(&head, 1, leaf_refuse, pass))
            pass->is_lost = true;
        hki_tape_node_release(head);
    }
    if (pass->is_lost)
        hki_tape_visit_lost(leaf_refuse, pass);
}
