/* What a segment of a replay does as one task: steps in the order of calls, and where their arrays
 * lie. */
#include "graph/recorded_task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REFUSALS = 4 /* recordings that came to nothing, before no more are tried */ };

/* ---- what it reads and writes ------------------------------------------------------------------------------------ */

static void add_touch(hki_recorded *self, const hki_node_operand *operand, unsigned mode)
{
    if (operand->slot < 0 || self->steps.places[operand->slot].is_within)
        return;
    /* With what lies between rows, which stand-ins copy. */
    const hki_touch added = {operand->slot, hki_span_flat(operand->span), operand->tensor.dtype,
                             mode};
    self->memory_bytes += (double)operand->span.moved_bytes;
    if (hki_touches_add(self->touches, &self->touch_count, &added))
        hki_stand_ins_add(&self->stand_ins, operand->slot, &added.span, mode);
}

static void add_touches(hki_recorded *self, const hki_node *node)
{
    for (int i = 0; i < node->input_count + node->output_count; i++)
        add_touch(self, &node->operands[i],
                  i < node->input_count ? HKI_READ : HKI_WRITE | HKI_HEAL);
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

/* In the child of a fork the device is left alone. */
static bool is_forked(const hki_runtime *runtime)
{
    if (hki_runtime_alive(runtime))
        return false;
    const hk_status *gone = hki_runtime_gone(runtime);
    bool forked = hk_status_code(gone) == HK_FORKED;
    hk_status_release(gone);
    return forked;
}

static void drop_recording(hki_recorded *self, hki_variant *which)
{
    if (which->recording)
        self->device->class->recorder->drop(self->device, which->recording);
    which->recording = NULL;
}

void hki_recorded_destroy(hki_recorded *self)
{
    if (!self)
        return;
    if (!is_forked(self->graph->runtime)) {
        for (int i = 0; i < HKI_MAX_VARIANTS; i++)
            drop_recording(self, &self->variants[i]);
        if (self->recorder)
            self->device->class->recorder->destroy(self->device, self->recorder);
    }
    if (self->memory)
        hki_storage_release_handle(self->memory);
    for (int i = 0; i < HKI_MAX_VARIANTS; i++)
        free(self->variants[i].addresses);
    hki_stand_ins_deinit(&self->stand_ins);
    free(self->addresses);
    free(self->given);
    free(self->places);
    free(self->draws);
    free(self->touches);
    free(self->nodes);
    hki_writes_deinit(&self->steps.writes);
    free(self->steps.places);
    free(self->steps.list);
    free(self);
}

/* Room for as many steps, places and touches as there may be; false: there is none. */
static bool make_room(hki_recorded *self, const hk_graph *graph)
{
    size_t operands = 0, copies = 0, nodes = (size_t)self->node_count;
    for (size_t i = 0; i < nodes; i++) {
        const hki_node *node = &graph->nodes[self->nodes[i]];
        operands += (size_t)(node->input_count + node->output_count);
        copies +=
            (size_t)__builtin_popcount(node->staging.copy_inputs) + (size_t)node->output_count;
    }
    size_t places = (size_t)graph->slot_count + copies;
    self->steps.list = calloc(nodes + copies, sizeof *self->steps.list);
    self->steps.places = calloc(places, sizeof *self->steps.places);
    self->touches = calloc(operands + 1, sizeof *self->touches);
    self->addresses = calloc(places, sizeof *self->addresses);
    self->given = calloc((size_t)graph->slot_count + 1, sizeof *self->given);
    self->places = calloc((size_t)graph->draw_count + 1, sizeof *self->places);
    self->draws = calloc((size_t)graph->draw_count + 1, sizeof *self->draws);
    bool made = hki_stand_ins_init(&self->stand_ins, graph, self->device, (int)operands) &&
                self->steps.list && self->steps.places && self->touches && self->addresses &&
                self->given && self->places && self->draws;
    for (int i = 0; i < HKI_MAX_VARIANTS; i++)
        made = (self->variants[i].addresses = calloc(places, sizeof *self->addresses)) && made;
    return made;
}

static void find_draws(hki_recorded *self)
{
    for (int i = 0; i < self->steps.count; i++)
        if (!self->steps.list[i].is_copy && self->steps.list[i].node->draw >= 0)
            self->draws[self->draw_count++] = i;
}

static bool is_written(const hki_recorded *self, int slot)
{
    for (int i = 0; i < self->touch_count; i++)
        if (self->touches[i].slot == slot && self->touches[i].mode != HKI_READ)
            return true;
    return false;
}

static bool can_vet(const hki_recorded *self)
{
    bool can = false;
    for (int i = 0; i < self->node_count; i++) {
        const hki_node *node = &self->graph->nodes[self->nodes[i]];
        const int input = node->op->index_input;
        if (!input)
            continue;
        const int slot = node->operands[input].slot;
        can = !self->steps.places[slot].is_within && !is_written(self, slot);
        if (!can)
            return false;
    }
    return can;
}

/* Copies the list of nodes. */
static bool set_nodes(hki_recorded *self, const int *nodes, int count)
{
    self->nodes = malloc((size_t)count * sizeof *nodes);
    if (!self->nodes)
        return false;
    memcpy(self->nodes, nodes, (size_t)count * sizeof *nodes);
    self->node_count = count;
    return true;
}

hki_recorded *hki_recorded_create(hk_graph *graph, const int *nodes, int count,
                                  const bool *is_within)
{
    hki_recorded *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->graph = graph;
    self->device = graph->nodes[nodes[0]].device;
    self->steps.graph = graph;
    self->steps.device = self->device;
    if (!set_nodes(self, nodes, count) || !make_room(self, graph)) {
        hki_recorded_destroy(self);
        return NULL;
    }
    for (int i = 0; i < graph->slot_count; i++) {
        const hki_slot *slot = &graph->slots[i];
        self->steps.places[self->steps.place_count++] = (hki_node_place){.is_within = is_within[i],
                                                                         .first = slot->first,
                                                                         .last = slot->last,
                                                                         .bytes = slot->bytes};
    }
    self->steps.can_spare = true;
    for (int i = 0; i < count; i++) {
        hki_steps_add(&self->steps, nodes[i]);
        add_touches(self, &graph->nodes[nodes[i]]);
    }
    if (self->steps.check_count > 0)
        hki_stand_ins_keep(&self->stand_ins);
    self->can_vet = can_vet(self);
    self->fused_calls = hki_steps_fuse(&self->steps);
    find_draws(self);
    self->within_bytes = hki_steps_lay_out(&self->steps);
    if (self->steps.is_beyond || !hki_stand_ins_lay_out(&self->stand_ins)) {
        hki_recorded_destroy(self);
        return NULL;
    }
    return self;
}

bool hki_recorded_share_memory(hki_recorded *const *list, int count)
{
    uint64_t bytes = HKI_STEPS_ALIGNMENT;
    for (int i = 0; i < count; i++)
        bytes = list[i]->within_bytes > bytes ? list[i]->within_bytes : bytes;
    hki_storage *memory = hki_storage_create(list[0]->device, bytes);
    if (!memory)
        return false;
    for (int i = 0; i < count; i++) {
        list[i]->memory = memory;
        hki_storage_retain_handle(memory);
    }
    hki_storage_release_handle(memory);
    return true;
}

const hki_device *hki_recorded_device(const hki_recorded *self)
{
    return self->device;
}

int64_t hki_recorded_count(const hki_recorded *self)
{
    return atomic_load_explicit(&((hki_recorded *)self)->recorded_replays, memory_order_relaxed);
}

int64_t hki_recorded_fused_calls(const hki_recorded *self)
{
    return self->fused_calls;
}

/* ---- the task ---------------------------------------------------------------------------------------------------- */

static bool materialise(hki_task *task, hki_storage *storage)
{
    if (hki_storage_materialise(storage))
        return true;
    hk_device_memory memory = hki_storage_memory(storage);
    hki_task_fail(task, 0, HK_OUT_OF_MEMORY,
                  "%s has no room for %" PRIu64 " bytes of a replay: %" PRIu64 " in use, %" PRIu64
                  " cached; release arrays, or graphs, or see %s",
                  storage->device->name, storage->bytes, memory.used_bytes, memory.cached_bytes,
                  storage->device->class->memory_option);
    return false;
}

static bool prepare(hki_task *task, void *payload)
{
    const hki_replay_payload *self = payload;
    const hki_recorded *recorded = self->recorded;
    bool made = materialise(task, recorded->memory);
    for (int i = 0; made && i < recorded->touch_count; i++) {
        const hki_touch *each = &recorded->touches[i];
        made = each->mode == HKI_READ || materialise(task, self->storages[each->slot]);
    }
    return made;
}

/* Where everything lies in this replay. */
static void find_addresses(hki_recorded *self, const hki_replay_payload *payload)
{
    const hk_graph *graph = self->graph;
    char *within = hki_storage_kernel_data(self->memory);
    for (int i = 0; i < self->steps.place_count; i++) {
        const hki_node_place *it = &self->steps.places[i];
        const hki_storage *storage = i < graph->slot_count ? payload->storages[i] : NULL;
        self->addresses[i] = it->is_within ? within + it->at
                             : storage     ? hki_storage_kernel_data(storage)
                                           : NULL;
    }
    for (int i = 0; i < graph->bound_count; i++) {
        char **address = &self->addresses[graph->bound[i].slot];
        if (*address)
            *address += payload->base[graph->bound[i].slot] *
                        (int64_t)hki_dtype_bytes(graph->bound[i].dtype);
    }
}

static void resolve(const hki_recorded *self, hki_tensor *tensor, int at)
{
    char *address = at < 0 ? NULL : self->addresses[at];
    tensor->data =
        address ? address + tensor->offset * (int64_t)hki_dtype_bytes(tensor->dtype) : NULL;
}

static void find_operands(const hki_recorded *self, hki_task *task, hki_step *each)
{
    hki_kernel_call *call = &each->call;
    call->task = task;
    for (int j = 0; j < call->input_count; j++)
        resolve(self, &call->in[j], each->in_place[j]);
    for (int j = 0; j < call->output_count; j++)
        resolve(self, &call->out[j], each->out_place[j]);
}

/* Where the numbers of each draw begin in this replay. */
static void find_places(hki_recorded *self, const hki_replay_payload *payload)
{
    for (int i = 0; i < self->draw_count; i++) {
        const hki_stream_options *its =
            &payload->drawn[self->steps.list[self->draws[i]].node->draw];
        self->places[i] = (hki_random_place){its->seed, its->stream, its->position};
    }
    self->device->class->recorder->place(self->device, self->recorder, self->places);
}

/* A call that draws, whose options say where its numbers begin in this replay. Its kernels report nothing: what reports keeps the
 * call. */
static void give_draw(const hki_recorded *self, const hki_stream_options *from, const hki_step *its)
{
    union {
        char bytes[HKI_MAX_OPTIONS_BYTES];
        hki_stream_options stream;
    } options;
    hki_kernel_call call = its->call;
    memcpy(options.bytes, its->node->options, its->node->options_bytes);
    options.stream = *from;
    call.options = options.bytes;
    self->device->class->run_call(self->device, &call);
}

/* Several steps as one. */
static void give_fused(const hki_recorded *self, const hki_step *steps)
{
    const hki_kernel_call *calls[HKI_FUSED_MOST];
    bool are_kept[HKI_FUSED_MOST];
    uint64_t spares[HKI_FUSED_MOST];
    for (int i = 0; i < steps->fused; i++) {
        calls[i] = &steps[i].call;
        are_kept[i] = steps[i].is_kept;
        spares[i] = steps[i].spares;
    }
    self->device->class->run_fused(self->device, calls, are_kept, spares, steps->fused);
}

/* Gives the device all steps: to launch, or to record. */
static void give_steps(hki_recorded *self, hki_task *task, const hki_replay_payload *payload)
{
    const hki_device_class *class = self->device->class;
    for (int i = 0; i < self->steps.count; i++)
        find_operands(self, task, &self->steps.list[i]);
    for (int i = 0; i < self->steps.count; i++) {
        const hki_step *each = &self->steps.list[i];
        const hki_blame blame = hki_step_blame(each);
        class->recorder->call(self->device, self->recorder, i);
        class->recorder->spare(self->device, self->recorder, each->spares);
        hki_task_blame(&blame);
        if (each->is_copy)
            class->copy_tensor(self->device, &each->call.in[0], &each->call.out[0]);
        else if (each->fused)
            give_fused(self, each);
        else if (each->node->draw >= 0)
            give_draw(self, &payload->drawn[each->node->draw], each);
        else
            class->run_call(self->device, &each->call);
        i += each->fused ? each->fused - 1 : 0;
    }
    hki_task_blame(NULL);
}

/* The variant of these addresses: *is_known, or one that is made to be that, in the place of the one that was not used for
 * longest. */
static hki_variant *find_variant(hki_recorded *self, bool *is_known)
{
    size_t bytes = (size_t)self->steps.place_count * sizeof *self->addresses;
    hki_variant *oldest = &self->variants[0];
    *is_known = false;
    for (int i = 0; i < HKI_MAX_VARIANTS && !*is_known; i++) {
        hki_variant *each = &self->variants[i];
        *is_known = each->used && !memcmp(each->addresses, self->addresses, bytes);
        if (*is_known || each->used < oldest->used)
            oldest = each;
    }
    if (!*is_known) {
        drop_recording(self, oldest);
        memcpy(oldest->addresses, self->addresses, bytes);
    }
    oldest->used = ++self->replays;
    return oldest;
}

/* False: there is none, or it is out of date. What the replay is given is in its stand-ins. */
static bool launch_recording(hki_recorded *self, const hki_variant *which)
{
    const hki_recorder_class *class = self->device->class->recorder;
    if (!which->recording || !class->launch(self->device, self->recorder, which->recording))
        return false;
    hki_stand_ins_copy(&self->stand_ins, self->given, true);
    atomic_fetch_add_explicit(&self->recorded_replays, 1, memory_order_relaxed);
    return true;
}

/* From a recording, which is made where these addresses are known to come again. False: nothing has been launched that
 * matters. */
static bool replay_recording(hki_recorded *self, hki_task *task, const hki_replay_payload *payload)
{
    const hki_recorder_class *class = self->device->class->recorder;
    bool follows = hki_stand_ins_follow(&self->stand_ins, self->given, self->steps.count), is_known;
    hki_stand_ins_aim(&self->stand_ins, self->addresses);
    hki_variant *which = find_variant(self, &is_known);
    if (!which->recording && !((is_known || follows) && self->refusals < MAX_REFUSALS))
        return false;
    hki_stand_ins_copy(&self->stand_ins, self->given, false);
    if (launch_recording(self, which))
        return true;
    drop_recording(self, which);
    if (self->refusals >= MAX_REFUSALS)
        return false;
    if (class->begin(self->device, self->recorder, true)) {
        give_steps(self, task, payload);
        which->recording = class->end(self->device, self->recorder);
    }
    if (launch_recording(self, which))
        return true;
    self->refusals++;
    return false;
}

/* Called by the thread of the device's queue, for one replay after another. */
static void run(hki_task *task, void *payload, int64_t piece)
{
    const hki_replay_payload *own = payload;
    hki_recorded *self = own->recorded;
    hki_device *device = self->device;
    const hki_recorder_class *class = device->class->recorder;
    const size_t slots = (size_t)self->graph->slot_count;
    (void)piece;
    if (!self->recorder &&
        !(self->recorder = class->create(device, self->steps.count, self->steps.checks,
                                         self->steps.check_count, self->draws, self->draw_count))) {
        hki_task_fail(task, 0, HK_OUT_OF_MEMORY, "no memory for what the replay's calls report");
        return;
    }
    class->spare(device, self->recorder, 0);
    find_addresses(self, own);
    find_places(self, own);
    memcpy(self->given, self->addresses, slots * sizeof *self->given);
    if (replay_recording(self, task, own))
        return;
    memcpy(self->addresses, self->given, slots * sizeof *self->given);
    class->begin(device, self->recorder, false);
    give_steps(self, task, own);
    class->end(device, self->recorder);
}

static void blame(const void *payload, int call, hki_blame *blame)
{
    const hki_recorded *self = ((const hki_replay_payload *)payload)->recorded;
    *blame = hki_step_blame(&self->steps.list[call]);
}

static void finish(hki_task *task, void *payload)
{
    hki_replay_payload *self = payload;
    hk_graph *graph = self->recorded->graph;
    (void)task;
    for (int i = 0; i < graph->slot_count; i++)
        if (self->storages[i])
            hki_storage_release_use(self->storages[i]);
    hki_storage_release_use(self->recorded->memory);
    hki_replay_forget(self);
    hk_graph_release(graph);
}

static const hki_task_class replay_class = {.enqueues = true,
                                            .prepare = prepare,
                                            .run = run,
                                            .finish = finish,
                                            .blame = blame,
                                            .is_prechecked = hki_replay_is_prechecked,
                                            .can_spare = hki_replay_can_spare,
                                            .note_suspects = hki_replay_note_suspects,
                                            .note_reports = hki_replay_note_reports,
                                            .settle = hki_replay_settle};

/* ---- issuing ------------------------------------------------------------------------------------------------------ */

/* Storages from outside, each once. */
static void take_storages(const hki_recorded *self, hki_replay_payload *payload,
                          hki_storage *const *storages, const int64_t *base)
{
    const size_t slots = (size_t)self->graph->slot_count;
    memset(payload->storages, 0, slots * sizeof *storages);
    memcpy(payload->base, base, slots * sizeof *base);
    for (int i = 0; i < self->touch_count; i++) {
        const int slot = self->touches[i].slot;
        if (!payload->storages[slot])
            hki_storage_retain_use(storages[slot]);
        payload->storages[slot] = storages[slot];
    }
    hki_storage_retain_use(self->memory);
}

bool hki_recorded_issue(hki_recorded *self, hki_storage *const *storages, const int64_t *base,
                        const hki_stream_options *drawn)
{
    const hk_graph *graph = self->graph;
    size_t slots = (size_t)graph->slot_count;
    hki_replay_payload *payload;
    hki_task *task =
        hki_task_begin(graph->runtime,
                       sizeof(hki_replay_payload) + slots * (sizeof *storages + sizeof *base) +
                           ((size_t)self->touch_count + 1) * sizeof *payload->versions +
                           (size_t)graph->draw_count * sizeof *payload->drawn,
                       self->touch_count + 1, 0);
    if (!task)
        return false;
    hki_task_spec *spec = hki_task_get_spec(task);
    payload = hki_task_payload(task);
    payload->recorded = self;
    payload->reported = 0;
    payload->records = NULL;
    payload->base = (int64_t *)(void *)(payload->storages + slots);
    payload->versions = (uint64_t *)(void *)(payload->base + slots);
    payload->drawn = (hki_stream_options *)(void *)(payload->versions + self->touch_count + 1);
    memcpy(payload->drawn, drawn, (size_t)graph->draw_count * sizeof *drawn);
    spec->versions = self->can_vet ? payload->versions : NULL;
    take_storages(self, payload, storages, base);
    for (int i = 0; i < self->touch_count; i++) {
        const hki_touch *each = &self->touches[i];
        spec->accesses[i] = hki_touch_access(each, storages[each->slot], base[each->slot]);
    }
    spec->accesses[self->touch_count] = (hki_access){&self->memory->var, 0, self->memory->bytes,
                                                     HKI_WRITE | HKI_HEAL | HKI_FRESH, 0};
    spec->access_count = self->touch_count + 1;
    spec->class = &replay_class;
    spec->device = self->device;
    spec->operation = "replay";
    spec->piece_count = 1;
    spec->expected_ns = 0;
    spec->collective = false;
    spec->cost.flops = self->steps.flops;
    spec->cost.memory_bytes = self->memory_bytes;
    hk_graph_retain(self->graph);
    hki_task_submit(task);
    return true;
}
