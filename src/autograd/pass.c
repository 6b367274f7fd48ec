/* What a backward pass visits: discovery, order, and what is needed of it. Nothing recurses, however long the tape is. */
#include "autograd/tape.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>

void hki_pass_init(hki_pass *pass)
{
    pass->id = pass->seen = hki_tape_next_pass();
}

/* Mostly there is none. */
static void release(hk_array *x)
{
    if (x)
        hk_array_release(x);
}

void hki_pass_deinit(hki_pass *pass)
{
    for (size_t i = 0; i < pass->count; i++) {
        const hki_visit *visit = &pass->visits[i];
        release(visit->sum);
        release(visit->last);
        release(visit->scatter);
        release(visit->gradient);
        hki_tape_node_release(visit->node);
    }
    free(pass->visits);
    free(pass->order);
    release(pass->failure);
}

hk_array *hki_pass_fail(hki_pass *pass, hki_device *device, const char *operation, hk_array *input,
                        hk_code code, const char *format, ...)
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
        pass->failure = hk_array_retain(carrier);
    }
    return carrier;
}

/* ---- visits -------------------------------------------------------------------------------------------- */

size_t hki_pass_add(hki_pass *pass, hki_tape_node *node)
{
    if (node->pass == pass->id)
        return node->place;
    if (pass->count == pass->capacity) {
        size_t capacity = pass->capacity ? pass->capacity * 2 : 32;
        hki_visit *visits = realloc(pass->visits, capacity * sizeof *visits);
        if (!visits) {
            hki_pass_fail(pass, node->device, "backward", NULL, HK_OUT_OF_MEMORY,
                          "out of host memory for a pass over %zu calls", capacity);
            return SIZE_MAX;
        }
        pass->visits = visits;
        pass->capacity = capacity;
    }
    pass->visits[pass->count] = (hki_visit){.node = hki_tape_node_retain(node)};
    node->pass = pass->id;
    return node->place = pass->count++;
}

void hki_pass_mark_again(hki_pass *pass)
{
    pass->seen = hki_tape_pass_count;
    for (size_t i = 0; i < pass->count; i++) {
        pass->visits[i].node->pass = pass->id;
        pass->visits[i].node->place = i;
    }
}

hki_tape_node *hki_pass_viewed(hki_pass *pass, hki_tape_node *view)
{
    hki_tape_node *whole = view->inputs[0].node;
    if (!pass->has_view_targets)
        return whole;
    hki_pass_keep_marks(pass);
    for (hki_tape_node *outer = view; outer->kind == HKI_TAPE_VIEW && outer->input_count > 1;) {
        outer = outer->inputs[1].node;
        if (outer->pass == pass->id && pass->visits[outer->place].is_target)
            return outer;
    }
    return whole;
}

/* ---- discovery ------------------------------------------------------------------------------------------- */

/* What the gradient of input `index` of the node goes to; NULL: nothing. */
static hki_tape_node *source_of(hki_pass *pass, hki_tape_node *node, int index)
{
    if (node->kind != HKI_TAPE_VIEW)
        return node->inputs[index].node;
    return index == 0 ? hki_pass_viewed(pass, node) : NULL;
}

static bool add_all(hki_pass *pass)
{
    for (size_t i = 0; i < pass->count; i++) {
        hki_tape_node *node = pass->visits[i].node;
        for (int j = 0; j < node->input_count; j++) {
            hki_tape_node *input = source_of(pass, node, j);
            if (!input)
                continue;
            const size_t place = hki_pass_add(pass, input);
            if (place == SIZE_MAX)
                return false;
            pass->visits[place].uses++;
        }
    }
    return true;
}

static int compare_order(const void *left, const void *right)
{
    const hki_order *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? 1 : -1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static bool put_in_order(hki_pass *pass)
{
    if (pass->count == 0)
        return true;
    pass->order = malloc(pass->count * sizeof *pass->order);
    if (!pass->order) {
        hki_pass_fail(pass, NULL, "backward", NULL, HK_OUT_OF_MEMORY,
                      "out of host memory for a pass over %zu calls", pass->count);
        return false;
    }
    for (size_t i = 0; i < pass->count; i++)
        pass->order[i] = (hki_order){pass->visits[i].node->number, i};
    qsort(pass->order, pass->count, sizeof *pass->order, compare_order);
    return true;
}

/* What is between heads and targets. */
static void find_needed(hki_pass *pass)
{
    for (size_t i = 0; i < pass->count; i++) {
        const hki_visit *visit = &pass->visits[pass->order[i].place];
        for (int j = 0; visit->is_reached && j < visit->node->input_count; j++) {
            hki_tape_node *input = source_of(pass, visit->node, j);
            if (input)
                pass->visits[input->place].is_reached = true;
        }
    }
    for (size_t i = pass->count; i-- > 0;) {
        hki_visit *visit = &pass->visits[pass->order[i].place];
        for (int j = 0; !visit->leads && j < visit->node->input_count; j++) {
            const hki_tape_node *input = source_of(pass, visit->node, j);
            visit->leads = input && hki_visit_is_needed(&pass->visits[input->place]);
        }
    }
}

/* What was freed by an earlier pass, or never recorded, has no gradients. */
static void check_needed(hki_pass *pass)
{
    for (size_t i = 0; i < pass->count; i++) {
        const hki_visit *visit = &pass->visits[i];
        const hki_tape_node *node = visit->node;
        if (node->kind == HKI_TAPE_LOST && (pass->to_leaves || visit->is_reached))
            hki_pass_fail(pass, NULL, "backward", NULL, HK_OUT_OF_MEMORY,
                          "there was no host memory to record a call that the gradient needs");
        else if (node->passed && !pass->error &&
                 (pass->to_leaves || (visit->is_reached && visit->leads)))
            hki_pass_fail(
                pass, node->device, "backward", NULL, HK_INVALID_ARGUMENT,
                "%s was differentiated before, and what was recorded of it is freed; record it "
                "again, differentiate all that depends on it in one pass (hk_backward_all), or "
                "keep the tape (hk_backward_with)",
                node->op     ? node->op->name
                : node->name ? node->name
                             : "a view");
    }
}

void hki_pass_discover(hki_pass *pass)
{
    if (!add_all(pass) || !put_in_order(pass))
        return;
    if (!pass->to_leaves)
        find_needed(pass);
    check_needed(pass);
}
