/* The backward pass: walks the tape from the heads, newest node first, and issues what computes the
 * gradients. Nothing here waits and nothing recurses, however long the tape is. */
#include "autograd/tape.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct pass_entry {
    hki_tape_node *node; /* counted */
    uint64_t number;
    size_t index; /* place in order of discovery */
} pass_entry;

typedef struct backward_pass {
    uint64_t id;
    pass_entry *entries;
    size_t count, capacity;
    bool is_lost;           /* through what could not be recorded */
    hk_array *failure;      /* carries the first failure; of the current scope */
    const hk_status *error; /* the same, counted */
} backward_pass;

/* Notes a failure and returns an array that carries it, or an earlier one of `input` (NULL: none). */
HK_PRINTF(6, 7)
static hk_array *pass_fail(backward_pass *pass, hki_device *device, const char *operation,
                           hk_array *input, hk_code code, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    hk_source source = hki_source_get();
    hk_array *carrier =
        hki_array_create_failed(device, operation, &input, input ? 1 : 0, code, "%s", message);
    if (!pass->error) {
        const hki_status_facts facts = {.operation = operation,
                                        .device = device ? device->name : NULL,
                                        .file = source.file,
                                        .line = source.line,
                                        .sequence = hki_last_sequence()};
        pass->error = hki_status_create(code, &facts, "%s", message);
        pass->failure = carrier;
    }
    return carrier;
}

/* y failed when it was made. Its own record is the pass's, as far as it is known now. */
static void pass_fail_for(backward_pass *pass, hk_array *y)
{
    const bool is_first = !pass->error;
    const hk_status *known = hk_error_now(y);
    pass_fail(pass, y->storage->device, "backward", y, HK_INVALID_ARGUMENT,
              "y failed when it was made");
    if (is_first && !hk_ok(known)) {
        hk_status_release(pass->error);
        pass->error = hk_status_retain(known);
    }
}

static bool pass_visit(backward_pass *pass, hki_tape_node *node)
{
    if (node->pass == pass->id)
        return true;
    if (pass->count == pass->capacity) {
        size_t capacity = pass->capacity ? pass->capacity * 2 : 32;
        pass_entry *entries = realloc(pass->entries, capacity * sizeof *entries);
        if (!entries) {
            pass_fail(pass, node->device, "backward", NULL, HK_OUT_OF_MEMORY,
                      "out of host memory for a pass over %zu calls", capacity);
            return false;
        }
        pass->entries = entries;
        pass->capacity = capacity;
    }
    pass->entries[pass->count] =
        (pass_entry){hki_tape_node_retain(node), node->number, pass->count};
    pass->count++;
    node->pass = pass->id;
    node->uses = 0;
    return true;
}

/* Finds all nodes behind the heads and counts their consumers. */
static void pass_discover(backward_pass *pass)
{
    for (size_t i = 0; i < pass->count; i++) {
        const hki_tape_node *node = pass->entries[i].node;
        if (node->kind == HKI_TAPE_LOST)
            pass_fail(pass, NULL, "backward", NULL, HK_OUT_OF_MEMORY,
                      "there was no host memory to record a call that the gradient needs");
        else if (node->passed && !pass->error)
            pass_fail(
                pass, node->device, "backward", NULL, HK_INVALID_ARGUMENT,
                "%s was differentiated before, and what was recorded of it is freed; record it "
                "again, or differentiate all that depends on it in one pass (hk_backward_all)",
                node->op ? node->op->name : "a view");
        for (int j = 0; j < node->input_count; j++) {
            hki_tape_node *input = node->inputs[j].node;
            if (!input)
                continue;
            if (!pass_visit(pass, input))
                return;
            input->uses++;
        }
    }
}

static int entry_compare(const void *left, const void *right)
{
    const pass_entry *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? 1 : -1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Gives a leaf its gradient: all that consumers had to add has come. */
static void leaf_finish(hki_tape_node *leaf)
{
    HK_SCOPE;
    hk_array *grad = leaf->grad;
    if (!grad || grad->failed)
        return;
    hk_array *sum = hki_tape_take_sum(leaf, leaf->mode == HK_GRAD_WRITE ? grad : NULL);
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

/* A failed array that says who wrote over what the gradient of the node's call is to read. index: of inputs, then outputs. */
static hk_array *fail_overwritten(backward_pass *pass, const hki_tape_node *node,
                                  const hki_watch *watch, int index)
{
    char part[64] = "the result", place[320] = "";
    if (index < node->input_count)
        hki_op_input_name(node->op, index, part, sizeof part);
    else if (node->output_count > 1)
        hki_op_output_name(node->op, index - node->input_count, part, sizeof part);
    if (watch->source.file)
        hki_format(place, sizeof place, " at %s:%d", watch->source.file, watch->source.line);
    return pass_fail(
        pass, node->device, node->op->name, NULL, HK_INVALID_ARGUMENT,
        "%s was overwritten by %s%s after this call and before hk_backward, which reads "
        "it; write to it later, or record with a copy of it",
        part, watch->operation ? watch->operation : "another thread", place);
}

/* What the gradient is to read, in the current scope: `kept`, or a failed array where somebody wrote over that. */
static hk_array *kept_value(backward_pass *pass, const hki_tape_node *node, hk_array *kept,
                            hki_watch *watch, int index)
{
    if (!kept || !hki_watch_is_written(watch))
        return kept;
    return hki_failed_like(kept->storage->device, kept->shape, kept->dtype,
                           fail_overwritten(pass, node, watch, index));
}

/* What came meanwhile, from another thread: a failed array if it did so while the gradient was issued; else NULL. */
static hk_array *overwritten_meanwhile(backward_pass *pass, hki_tape_node *node,
                                       const hki_grad_call *call)
{
    for (int i = 0; i < node->output_count; i++) {
        hki_tape_result *output = &node->outputs[i];
        if (output->kept && call->outputs[i] == output->kept && hki_watch_end(&output->watch))
            return fail_overwritten(pass, node, &output->watch, node->input_count + i);
    }
    for (int i = 0; i < node->input_count; i++) {
        hki_tape_input *input = &node->inputs[i];
        if (input->kept && call->inputs[i] == input->kept && hki_watch_end(&input->watch))
            return fail_overwritten(pass, node, &input->watch, i);
    }
    return NULL;
}

/* dys: of each output. */
static void call_backward(backward_pass *pass, hki_tape_node *node, hk_array *const *dys)
{
    const hk_op *op = node->op;
    if (!op->grad) {
        hk_array *carrier = pass_fail(
            pass, node->device, op->name, NULL, HK_UNSUPPORTED,
            "the operator %s has no gradient; hk_detach its input, or pause recording", op->name);
        for (int i = 0; i < node->input_count; i++)
            if (node->inputs[i].node)
                hki_tape_contribute(node->inputs[i].node, carrier);
        return;
    }
    hki_grad_call call;
    call.op = op;
    call.options = node->options;
    call.input_count = node->input_count;
    for (int i = 0; i < node->output_count; i++) {
        hki_tape_result *output = &node->outputs[i];
        call.outputs[i] =
            kept_value(pass, node, output->kept, &output->watch, node->input_count + i);
        call.dys[i] = dys[i];
    }
    call.saved = node->saved;
    for (int i = 0; i < node->input_count; i++) {
        call.dx[i] = NULL;
        call.inputs[i] = kept_value(pass, node, node->inputs[i].kept, &node->inputs[i].watch, i);
        call.input_shape[i] = node->inputs[i].shape;
        call.input_dtype[i] = node->inputs[i].dtype;
        call.input_device[i] = node->inputs[i].node ? node->inputs[i].node->device : NULL;
        call.wanted[i] = node->inputs[i].node != NULL;
    }
    op->grad(&call);
    hk_array *failed = overwritten_meanwhile(pass, node, &call);
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i].node && call.dx[i])
            hki_tape_contribute(node->inputs[i].node, failed ? failed : call.dx[i]);
}

/* The record of a call that could not be made is already that of dy. */
static void failed_backward(const hki_tape_node *node, hk_array *dy)
{
    for (int i = 0; i < node->input_count; i++) {
        hki_tape_node *input = node->inputs[i].node;
        if (input)
            hki_tape_contribute(input,
                                hki_failed_like(input->device, input->shape, input->dtype, dy));
    }
}

/* What has come for the outputs of a call, taken by the caller; false: nothing. */
static bool take_dys(hki_tape_node *call, hk_array **dys)
{
    bool reached = false;
    dys[0] = call->output_count > 1 ? NULL : hki_tape_take_sum(call, NULL);
    for (int i = 0; i < call->output_count; i++) {
        if (call->output_count > 1) {
            dys[i] = call->outputs[i].dy;
            call->outputs[i].dy = NULL;
        }
        reached |= dys[i] != NULL;
    }
    return reached;
}

static void pass_call(backward_pass *pass, hki_tape_node *node)
{
    hk_array *dys[HKI_MAX_OUTPUTS];
    if (take_dys(node, dys)) {
        if (node->kind == HKI_TAPE_CALL)
            call_backward(pass, node, dys);
        else
            for (int i = 0; i < node->output_count; i++)
                if (dys[i])
                    failed_backward(node, dys[i]);
    }
    for (int i = 0; i < node->output_count; i++)
        hk_array_release(dys[i]);
    node->passed = true;
    hki_tape_node_drop_kept(node); /* not what is behind it: a second pass fails those gradients */
}

/* These keep nothing, and may be passed again. */
static void pass_on(hki_tape_node *node)
{
    hk_array *dy = hki_tape_take_sum(node, NULL);
    if (node->kind == HKI_TAPE_OUTPUT) {
        node->inputs[0].node->outputs[node->output_index].dy = dy;
        return;
    }
    if (dy)
        hki_view_backward(node, dy);
    hk_array_release(dy);
}

static void node_pass(backward_pass *pass, hki_tape_node *node)
{
    HK_SCOPE;
    hki_source_put(node->source);
    if (node->kind == HKI_TAPE_VIEW || node->kind == HKI_TAPE_OUTPUT)
        pass_on(node);
    else
        pass_call(pass, node);
    for (int i = 0; i < node->input_count; i++) {
        hki_tape_node *input = node->inputs[i].node;
        if (input && --input->uses == 0 && input->kind == HKI_TAPE_LEAF)
            leaf_finish(input);
    }
}

/* True when dy may be the gradient of y. */
static bool head_fits(backward_pass *pass, hk_array *y, hk_array *dy)
{
    if (y->failed || dy->failed) /* the records of these say more */
        return true;
    if (dy->storage->device != y->storage->device)
        pass_fail(pass, y->storage->device, "backward", dy, HK_INVALID_ARGUMENT,
                  "dy is on %s, but y on %s", dy->storage->device->name, y->storage->device->name);
    else if (dy->dtype != y->dtype || !hki_dims_equal(&dy->shape, &y->shape)) {
        char has[128], wants[128];
        hki_array_describe(dy, has, sizeof has);
        hki_array_describe(y, wants, sizeof wants);
        pass_fail(pass, y->storage->device, "backward", dy, HK_INVALID_ARGUMENT,
                  "dy is %s; like y it must be %s", has, wants);
    } else {
        return true;
    }
    return false;
}

/* True after failing: the runtime of x (NULL: none given) has ended, or is another process's. What merely carries a record
 * is walked from, so that the gradients get it. */
static bool is_gone(backward_pass *pass, hk_array *x)
{
    const hki_runtime *runtime = x ? x->storage->var.runtime : NULL;
    if (!runtime || hki_runtime_alive(runtime))
        return false;
    const hk_status *gone = hki_runtime_gone(runtime);
    pass_fail(pass, x->storage->device, "backward", x, hk_status_code(gone), "%s",
              hk_status_message(gone));
    hk_status_release(gone);
    return true;
}

/* Where the walk begins; dys may be NULL, and so may each of it, for ones. */
static void pass_begin(backward_pass *pass, hk_array *const *ys, hk_array *const *dys, int count)
{
    for (int i = 0; i < count; i++) {
        hk_array *y = ys[i];
        if (is_gone(pass, y) || is_gone(pass, dys ? dys[i] : NULL))
            continue;
        hki_tape_node *node = y ? hki_tape_node_of(y) : NULL;
        if (node) {
            if ((!dys || !dys[i] || head_fits(pass, y, dys[i])))
                pass_visit(pass, node);
            hki_tape_node_release(node);
        } else if (y == hki_array_no_memory()) {
            pass->is_lost = true;
            pass_fail(pass, NULL, "backward", NULL, HK_OUT_OF_MEMORY,
                      "there was no host memory for y");
        } else if (y && y->failed) {
            pass_fail_for(pass, y);
        } else if (y && !hki_dtype_is_real(y->dtype)) {
            pass_fail(pass, y->storage->device, "backward", y, HK_INVALID_ARGUMENT,
                      "y is of dtype %s, through which no gradient flows; floats have gradients",
                      hk_dtype_name(y->dtype));
        } else if (y) {
            pass_fail(pass, y->storage->device, "backward", y, HK_INVALID_ARGUMENT,
                      "y depends on no attached gradient: it was not computed while recording "
                      "(HK_RECORD), or from "
                      "no array that hk_attach_grad was called for");
        } else {
            pass_fail(pass, NULL, "backward", NULL, HK_INVALID_ARGUMENT, "y is NULL");
        }
    }
}

static void pass_seed(hk_array *const *ys, hk_array *const *dys, int count)
{
    for (int i = 0; i < count; i++) {
        HK_SCOPE;
        hki_tape_node *node = hki_tape_node_of(ys[i]);
        hki_tape_contribute(node,
                            dys && dys[i] ? dys[i] : hki_op_call1(&hki_op_ones_like, ys[i], NULL));
        hki_tape_node_release(node);
    }
}

static void pass_run(backward_pass *pass)
{
    if (pass->count)
        qsort(pass->entries, pass->count, sizeof *pass->entries, entry_compare);
    for (size_t i = 0; i < pass->count; i++) {
        hki_tape_node *node = pass->entries[i].node;
        if (node->kind != HKI_TAPE_LEAF)
            node_pass(pass, node);
        else if (node->sum) /* a head itself, without consumers */
            leaf_finish(node);
    }
}

static void leaf_refuse(hki_tape_node *leaf, void *argument)
{
    backward_pass *pass = argument;
    if (leaf->grad)
        hki_array_fail_in_place(leaf->grad, "backward", &pass->failure, 1,
                                hk_status_code(pass->error), "%s", hk_status_message(pass->error));
}

/* The walk cannot be made: no gradient is computed, and those in reach say why. Needs no memory. */
static void pass_refuse(backward_pass *pass, hk_array *const *ys, int count)
{
    for (int i = 0; i < count; i++) {
        const hki_runtime *runtime = ys[i] ? ys[i]->storage->var.runtime : NULL;
        const bool is_here = runtime && hki_runtime_alive(runtime);
        hki_tape_node *head = is_here ? hki_tape_node_of(ys[i]) : NULL;
        if (!hki_tape_reach(&head, 1, leaf_refuse, pass))
            pass->is_lost = true;
        hki_tape_node_release(head);
    }
    if (pass->is_lost)
        hki_tape_visit_lost(leaf_refuse, pass);
}

static const hk_status *backward(hk_array *const *ys, hk_array *const *dys, int count)
{
    HK_PAUSE;
    HK_SCOPE;
    hk_source source = hki_source_get();
    backward_pass pass = {0};
    bool was_backward = hki_trace_set_backward(true);
    hki_backward_lock();
    pass.id = hki_tape_next_pass();
    pass_begin(&pass, ys, dys, count);
    pass_discover(&pass);
    if (pass.error) {
        pass_refuse(&pass, ys, count);
    } else {
        pass_seed(ys, dys, count);
        pass_run(&pass);
    }
    hki_backward_unlock();
    hki_trace_set_backward(was_backward);
    hki_source_put(source);
    for (size_t i = 0; i < pass.count; i++)
        hki_tape_node_release(pass.entries[i].node);
    free(pass.entries);
    return hki_status_lend(pass.error ? pass.error : hki_status_ok());
}

const hk_status *(hk_backward)(hk_array *y)
{
    return backward(&y, NULL, 1);
}

const hk_status *(hk_backward_from)(hk_array *y, hk_array *dy)
{
    return backward(&y, dy ? &dy : NULL, 1);
}

const hk_status *(hk_backward_all)(hk_array *const *ys, int count)
{
    return backward(ys, NULL, count);
}

HKI_AT(const hk_status *, hk_backward, (hk_source at, hk_array *y), (y))
HKI_AT(const hk_status *, hk_backward_from, (hk_source at, hk_array *y, hk_array *dy), (y, dy))
HKI_AT(const hk_status *, hk_backward_all, (hk_source at, hk_array *const *ys, int count),
       (ys, count))
