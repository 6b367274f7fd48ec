/* Replaying: issues what was noted. A replay keeps nothing; whatever it is at is here on the stack, so that several
 * threads may replay one graph at once. */
#include "graph/bound.h"
#include "graph/segments.h"
#include "graph/team.h"

#include "op/call/plan.h"

#include <hocket/autograd.h>

#include <stdlib.h>
#include <string.h>

static const char operation[] = "replay";

enum {
    DIRECT_NS = 300,       /* what a call may take that is done without a task */
    DIRECT_ELEMENTS = 1024 /* and make */
};

enum { MAX_SPARES = 4 };

typedef struct replay {
    const hk_graph *graph;
    hk_array *const *bound;
    bool any_failed;           /* of the bound arrays, at its call */
    bool any_shared;           /* slots stand for one storage that did not when captured */
    hki_storage **storages;    /* that stand for the slots; NULL: not there now */
    hki_stream_options *drawn; /* where the numbers of the graph's draws begin */
    int64_t *base;             /* elements, of a bound array in its storage; 0 of other slots */
    const int *order;          /* of the nodes; NULL: as they were captured */
    const hki_teams *teams;    /* NULL: its nodes one by one */
    /* Storages of temporaries that nobody uses any more, for those to come: where calls are done as they are issued,
     * memory stays in the cache, and nothing is allocated. */
    hki_storage *spares[MAX_SPARES];
    int spare_count;
} replay;

/* ---- arrays that share memory now, though they did not when captured --------------------------- */

static hki_span span_of(const replay *self, const hki_node_operand *operand)
{
    hki_span span = operand->span;
    uint64_t base = (uint64_t)self->base[operand->slot] * hki_dtype_bytes(operand->tensor.dtype);
    if (span.begin != span.end) {
        span.begin += base;
        span.end += base;
    }
    return span;
}

static bool is_shared(const replay *self, const hki_node_operand *a, const hki_node_operand *b)
{
    if (a->slot < 0 || b->slot < 0 || a->slot == b->slot || !self->storages[a->slot] ||
        self->storages[a->slot] != self->storages[b->slot])
        return false;
    const hki_span first = span_of(self, a), second = span_of(self, b);
    return hki_ranges_overlap((hki_range){first.begin, first.end, first.pitch},
                              (hki_range){second.begin, second.end, second.pitch});
}

/* Element by element, a kernel may write where it reads input `index`. */
static bool is_in_place(const replay *self, const hk_op *op, int index,
                        const hki_node_operand *input, const hki_node_operand *output)
{
    const hki_tensor *in = &input->tensor, *out = &output->tensor;
    size_t dims_bytes = sizeof in->dims[0] * (size_t)in->ndim;
    return (op->elementwise || op->in_place >> index & 1) && in->ndim == out->ndim &&
           in->offset + self->base[input->slot] == out->offset + self->base[output->slot] &&
           !memcmp(in->dims, out->dims, dims_bytes) &&
           !memcmp(in->strides, out->strides, dims_bytes);
}

/* A kernel that would write what it reads gets a copy of it, as when a call writes into one of its inputs. */
static hki_call_staging staging_of(const replay *self, const hki_node *node)
{
    hki_call_staging staging = node->staging;
    for (int i = 0; i < node->output_count && !staging.copy_output; i++) {
        const hki_node_operand *output = &node->operands[node->input_count + i];
        for (int j = 0; j < node->input_count; j++)
            if (is_shared(self, &node->operands[j], output) &&
                !is_in_place(self, node->op, j, &node->operands[j], output))
                staging.copy_inputs |= 1u << j;
    }
    return staging;
}

/* Whether what two nodes do, or one of them within, is in another order than the calls were; a comes before b now. A call
 * by itself does not write before it has read: see staging_of. */
static bool is_reordered(const hki_node *a, const hki_node *b)
{
    return a == b ? a->kind == HKI_NODE_CHAIN : a->last_call > b->first_call;
}

static bool refuse_shared(const replay *self, const hki_node_operand *a, const hki_node_operand *b)
{
    const hki_slot *slot = &self->graph->slots[a->slot];
    if (slot->kind != HKI_SLOT_BOUND)
        slot = &self->graph->slots[b->slot];
    hki_bound_refuse(
        self->bound, self->graph->bound_count, HK_INVALID_ARGUMENT,
        "bound array %d shares memory with another array of the graph, one of them is written, and "
        "when captured they did not; copy it, or capture with the option exact",
        slot->bound);
    return false;
}

/* Two nodes whose order was free, since what they name was different arrays, must not be given shared memory that one of
 * them writes. */
static bool check_pair(const replay *self, const hki_node *a, const hki_node *b)
{
    for (int i = 0; i < a->input_count + a->output_count; i++)
        for (int j = 0; j < b->input_count + b->output_count; j++)
            if ((hki_node_writes(a, i) || hki_node_writes(b, j)) &&
                is_shared(self, &a->operands[i], &b->operands[j]))
                return refuse_shared(self, &a->operands[i], &b->operands[j]);
    return true;
}

static bool check_order(const replay *self)
{
    const hki_node *nodes = self->graph->nodes;
    for (int i = 0; i < self->graph->node_count; i++)
        for (int j = i; j < self->graph->node_count; j++)
            if (is_reordered(&nodes[i], &nodes[j]) && !check_pair(self, &nodes[i], &nodes[j]))
                return false;
    return true;
}

/* ---- storages ---------------------------------------------------------------------------------- */

static hki_storage *take_spare(replay *self, const hki_slot *slot)
{
    for (int i = self->spare_count - 1; i >= 0; i--) {
        hki_storage *spare = self->spares[i];
        if (spare->bytes == slot->bytes && spare->device == slot->device &&
            spare->is_pinned == slot->is_pinned) {
            self->spares[i] = self->spares[--self->spare_count];
            return spare;
        }
    }
    return NULL;
}

/* Makes the temporaries that this node is the first to use. False when host memory is short. */
static bool temporaries_make(replay *self, const hki_node *node)
{
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        if (!node->operands[i].makes ||
            (self->teams && self->teams->is_within[node->operands[i].slot]))
            continue;
        const hki_slot *slot = &self->graph->slots[node->operands[i].slot];
        hki_storage *storage = take_spare(self, slot);
        if (!storage)
            storage = slot->is_pinned ? hki_storage_create_pinned(slot->device, slot->bytes)
                                      : hki_storage_create(slot->device, slot->bytes);
        if (!storage)
            return false;
        self->storages[node->operands[i].slot] = storage;
    }
    return true;
}

static void temporary_drop(replay *self, int slot)
{
    hki_storage *storage = self->storages[slot];
    self->storages[slot] = NULL;
    if (storage && self->spare_count < MAX_SPARES && hki_storage_renew(storage))
        self->spares[self->spare_count++] = storage;
    else if (storage)
        hki_storage_release_handle(storage);
}

/* Lets go of those that it was the last to use; one that it names twice is gone the second time. */
static void temporaries_drop(replay *self, const hki_node *node)
{
    for (int i = 0; i < node->input_count + node->output_count; i++)
        if (node->operands[i].drops)
            temporary_drop(self, node->operands[i].slot);
}

/* The operand as it is in this replay. */
static void tensor_init(const replay *self, hki_tensor *tensor, const hki_node_operand *operand)
{
    *tensor = operand->tensor;
    tensor->storage = self->storages[operand->slot];
    tensor->offset += self->base[operand->slot];
}

/* ---- failures ---------------------------------------------------------------------------------- */

/* The bound array behind an operand, if it failed at its call. */
static hk_array *failed_bound(const replay *self, const hki_node_operand *operand)
{
    int bound = operand->slot < 0 ? -1 : self->graph->slots[operand->slot].bound;
    return bound >= 0 && self->bound[bound]->failed ? self->bound[bound] : NULL;
}

static const hki_node *node_at(const replay *self, int at)
{
    return &self->graph->nodes[self->order ? self->order[at] : at];
}

/* For want of host memory: all that this node and those behind it write fails at once. */
static void fail_rest(const replay *self, int first)
{
    for (int i = first; i < self->graph->node_count; i++) {
        const hki_node *node = node_at(self, i);
        for (int j = 0; j < node->input_count + node->output_count; j++) {
            const hki_node_operand *operand = &node->operands[j];
            hki_storage *storage = operand->slot < 0 ? NULL : self->storages[operand->slot];
            if (!storage || !hki_node_writes(node, j) || failed_bound(self, operand))
                continue;
            hki_span span = span_of(self, operand);
            hki_access access = hki_span_access(&span, storage, HKI_WRITE);
            hki_var_fail_at_once(access.var, hki_access_range(&access));
        }
    }
}

/* What a node writes fails in its place in the order of calls, as `cause` has. False when host memory is short. */
static bool fail_outputs(const replay *self, const hki_node *node, hk_array *cause)
{
    bool issued = true;
    for (int i = node->input_count; i < node->input_count + node->output_count; i++) {
        hki_tensor tensor;
        if (failed_bound(self, &node->operands[i]))
            continue;
        tensor_init(self, &tensor, &node->operands[i]);
        hk_array *out = hki_array_of(&tensor);
        if (out)
            hki_array_fail_in_place(out, node->operation, &cause, 1, HK_INVALID_ARGUMENT,
                                    "an input has failed");
        issued = issued && out;
        hk_array_release(out);
    }
    return issued;
}

/* ---- nodes ------------------------------------------------------------------------------------- */

typedef union options {
    char bytes[HKI_MAX_OPTIONS_BYTES];
    hki_stream_options stream;
} options;

/* Those noted, but for where random numbers begin. */
static const void *options_of(const replay *self, const hki_node *node, options *room)
{
    if (node->draw < 0)
        return node->options;
    memcpy(room->bytes, node->options, node->options_bytes);
    room->stream = self->drawn[node->draw];
    return room->bytes;
}

static void run_here(const replay *self, const hki_node *node)
{
    hki_tensor in[HKI_MAX_INPUTS], out;
    hki_kernel_call call;
    options room;
    call.in = in;
    call.out = &out;
    call.op = node->op;
    call.options = options_of(self, node, &room);
    call.input_count = node->input_count;
    call.output_count = 1;
    call.extent = node->plan.extent;
    for (int i = 0; i < node->input_count; i++)
        tensor_init(self, &call.in[i], &node->operands[i]);
    tensor_init(self, &call.out[0], &node->operands[node->input_count]);
    hki_kernel_run_here(&call);
}

/* Here and now, where the call is small and nothing is in its way. */
static bool run_direct(const replay *self, const hki_node *node)
{
    hki_var *reads[HKI_MAX_INPUTS];
    hki_runtime *runtime = self->graph->runtime;
    const hki_node_operand *output = &node->operands[node->input_count];
    hki_storage *written = self->storages[output->slot];
    if (node->plan.extent > DIRECT_ELEMENTS || self->any_shared ||
        hki_plan_expect(node->op, node->plan.work_ns) > DIRECT_NS)
        return false;
    for (int i = 0; i < node->input_count; i++)
        reads[i] = &self->storages[node->operands[i].slot]->var;
    if (!hki_direct_begin(runtime, reads, node->input_count, output->makes ? NULL : &written->var))
        return false;
    bool has_memory = hki_storage_materialise(written); /* else a task fails, and says so */
    if (has_memory)
        run_here(self, node);
    hki_direct_end(runtime);
    return has_memory;
}

static bool issue_call(const replay *self, const hki_node *node)
{
    int count = node->input_count + node->output_count;
    uint64_t new_bytes = 0;
    options room;
    if (node->may_be_direct && run_direct(self, node))
        return true;
    for (int i = node->input_count; i < count; i++)
        if (node->operands[i].makes)
            new_bytes += self->graph->slots[node->operands[i].slot].bytes;
    const hki_call_parts parts = {.op = node->op,
                                  .operation = node->operation,
                                  .device = node->device,
                                  .options = options_of(self, node, &room),
                                  .plan = &node->plan,
                                  .piece_count = node->piece_count,
                                  .staging =
                                      self->any_shared ? staging_of(self, node) : node->staging,
                                  .input_count = node->input_count,
                                  .output_count = node->output_count};
    hki_task *task = hki_call_task_begin(&parts, new_bytes);
    if (!task)
        return false;
    for (int i = 0; i < count; i++) {
        const hki_node_operand *operand = &node->operands[i];
        if (operand->slot < 0)
            continue;
        hki_tensor *tensor = hki_call_task_tensor(task, i);
        tensor_init(self, tensor, operand);
        hki_span span = span_of(self, operand);
        unsigned mode = i < node->input_count ? HKI_READ
                        : operand->makes      ? HKI_WRITE | HKI_HEAL | HKI_FRESH
                                              : HKI_WRITE | HKI_HEAL;
        hki_call_task_access(task, tensor, &span, mode);
    }
    hki_task_submit(task);
    return true;
}

static bool issue_compound(const replay *self, const hki_node *node)
{
    int made = 0;
    hk_array **arrays = calloc((size_t)node->input_count, sizeof *arrays);
    for (; arrays && made < node->input_count; made++) {
        hki_tensor tensor;
        hk_array *failed = failed_bound(self, &node->operands[made]);
        tensor_init(self, &tensor, &node->operands[made]);
        if (!(arrays[made] = failed ? hk_array_retain(failed) : hki_array_of(&tensor)))
            break;
    }
    bool complete = arrays && made == node->input_count;
    if (complete) {
        HK_PAUSE;
        node->again(arrays, node->input_count, node->options);
    }
    while (made > 0)
        hk_array_release(arrays[--made]);
    free(arrays);
    return complete;
}

/* Of a call with several results some are bound arrays that have failed: these it makes in memory that nobody looks at. */
static bool issue_without(replay *self, const hki_node *node)
{
    hki_storage *kept[HKI_MAX_OUTPUTS] = {NULL}, *made[HKI_MAX_OUTPUTS] = {NULL};
    int64_t base[HKI_MAX_OUTPUTS] = {0};
    bool complete = true;
    for (int i = 0; i < node->output_count; i++) {
        const hki_node_operand *output = &node->operands[node->input_count + i];
        if (!failed_bound(self, output))
            continue;
        made[i] = hki_storage_create(node->device, output->span.end);
        complete = complete && made[i];
        kept[i] = self->storages[output->slot];
        base[i] = self->base[output->slot];
        self->storages[output->slot] = made[i];
        self->base[output->slot] = 0;
    }
    complete = complete && issue_call(self, node);
    for (int i = 0; i < node->output_count; i++) {
        const hki_node_operand *output = &node->operands[node->input_count + i];
        if (!failed_bound(self, output))
            continue;
        self->storages[output->slot] = kept[i];
        self->base[output->slot] = base[i];
        if (made[i])
            hki_storage_release_handle(made[i]);
    }
    return complete;
}

static bool issue(replay *self, const hki_node *node)
{
    int count = node->input_count + node->output_count;
    if (node->kind == HKI_NODE_COMPOUND)
        return issue_compound(self, node);
    for (int i = 0; self->any_failed && i < count; i++) {
        hk_array *failed = failed_bound(self, &node->operands[i]);
        if (failed && i >= node->input_count && node->kind == HKI_NODE_CALL)
            return node->output_count == 1 || issue_without(self, node);
        if (failed)
            return fail_outputs(self, node, failed);
    }
    return node->kind == HKI_NODE_CHAIN ? hki_chain_issue(node, self->storages, self->base)
                                        : issue_call(self, node);
}

static bool issue_node(replay *self, const hki_node *node)
{
    hki_source_put(node->source);
    hki_trace_set_backward(node->is_backward);
    if (!temporaries_make(self, node) || !issue(self, node))
        return false;
    temporaries_drop(self, node);
    return true;
}

static bool issue_team(replay *self, const hki_stretch *stretch, hk_source source)
{
    const hki_node *nodes = self->graph->nodes + stretch->first;
    hki_source_put(source);
    hki_trace_set_backward(false);
    for (int i = 0; i < stretch->count; i++)
        if (!temporaries_make(self, &nodes[i]))
            return false;
    if (!hki_team_issue(stretch->team, self->storages, self->base, self->drawn))
        return false;
    for (int i = 0; i < stretch->count; i++)
        temporaries_drop(self, &nodes[i]);
    return true;
}

/* Those from the first on, so many, in their order. False: all behind have been failed. */
static bool issue_nodes(replay *self, int first, int count, hk_source source)
{
    int next = 0; /* of the teams */
    for (int i = first; i < first + count;) {
        const hki_stretch *team =
            self->teams && next < self->teams->count ? &self->teams->list[next] : NULL;
        const bool is_team = team && team->first == i;
        if (!(is_team ? issue_team(self, team, source) : issue_node(self, node_at(self, i)))) {
            fail_rest(self, i);
            return false;
        }
        i += is_team ? team->count : 1;
        next += is_team;
    }
    return true;
}

/* False: all of it and behind it have been failed. */
static bool issue_segment(replay *self, const hki_segment *which, hk_source source)
{
    if (!which->recorded)
        return issue_nodes(self, which->first, which->count, source);
    hki_source_put(source);
    hki_trace_set_backward(false);
    if (hki_recorded_issue(which->recorded, self->storages, self->base, self->drawn))
        return true;
    fail_rest(self, which->first);
    return false;
}

static bool issue_segments(replay *self, const hki_segments *segments, hk_source source)
{
    self->order = segments->order;
    for (int i = 0; i < segments->count; i++)
        if (!issue_segment(self, &segments->list[i], source))
            return false;
    return true;
}

static void issue_all(replay *self)
{
    const hk_graph *graph = self->graph;
    hki_segments *segments = graph->segments;
    hk_source source = hki_source_get();
    const bool was_backward = hki_trace_is_backward();
    bool issued;
    if (!self->any_failed && !self->any_shared)
        self->teams = graph->teams;
    if (segments) /* what is kept between them is all replays' */
        pthread_mutex_lock(&segments->lock);
    if (segments && !self->any_failed && !self->any_shared)
        issued = issue_segments(self, segments, source);
    else
        issued = issue_nodes(self, 0, graph->node_count, source);
    if (segments)
        pthread_mutex_unlock(&segments->lock);
    for (int i = 0; !issued && i < graph->slot_count; i++)
        if (graph->slots[i].kind == HKI_SLOT_TEMPORARY && !(segments && segments->kept[i]))
            temporary_drop(self, i);
    while (self->spare_count > 0)
        hki_storage_release_handle(self->spares[--self->spare_count]);
    hki_trace_set_backward(was_backward);
    hki_source_put(source);
}

/* Whether another slot than this stands for its storage, too. */
static bool stands_twice(const replay *self, int slot)
{
    for (int i = 0; i < self->graph->slot_count; i++)
        if (i != slot && self->storages[i] == self->storages[slot])
            return true;
    return false;
}

/* False when host memory is short. */
static bool replay_init(replay *self, const hk_graph *graph, hk_array *const *bound)
{
    size_t slot_count = (size_t)graph->slot_count, draw_count = (size_t)graph->draw_count;
    *self = (replay){.graph = graph, .bound = bound};
    self->storages = calloc(1, (slot_count + 1) * (sizeof *self->storages + sizeof *self->base) +
                                   draw_count * sizeof *self->drawn);
    if (!self->storages)
        return false;
    self->base = (int64_t *)(void *)(self->storages + slot_count);
    self->drawn = (hki_stream_options *)(void *)(self->base + slot_count);
    for (int i = 0; i < graph->slot_count; i++)
        self->storages[i] = graph->segments && graph->segments->kept[i] ? graph->segments->kept[i]
                                                                        : graph->slots[i].storage;
    for (int i = 0; i < graph->bound_count; i++) {
        int slot = graph->bound[i].slot;
        self->storages[slot] = bound[i]->storage;
        self->base[slot] = bound[i]->offset;
        self->any_failed |= bound[i]->failed;
    }
    for (int i = 0; i < graph->bound_count; i++)
        self->any_shared |= stands_twice(self, graph->bound[i].slot);
    return true;
}

void(hk_replay)(hk_graph *graph, hk_array *const *bound, int count)
{
    replay self;
    hki_array_uncapturable(operation,
                           "a replay is no part of a capture; capture the calls themselves");
    if (!hki_bound_check(graph, bound, count))
        return;
    if (!replay_init(&self, graph, bound))
        hki_bound_refuse(bound, count, HK_OUT_OF_MEMORY, "out of host memory");
    else if (!self.any_shared || graph->node_count == graph->call_count || check_order(&self)) {
        hki_graph_draw(graph, self.drawn);
        issue_all(&self);
    }
    free(self.storages);
}
