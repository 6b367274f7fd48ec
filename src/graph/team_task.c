/* The task of a team. */
#include "graph/calls_task.h"
#include "graph/team.h"

#include "op/call/plan.h"
#include "op/shape/copy.h"

#include <stdlib.h>
#include <string.h>

/* Which phase is under way, and how many of its items have been taken, in one word: who takes an
 * item knows of which phase it is. */
#define PHASE(state) ((int)((state) >> 32))
#define ITEM(state)  ((int64_t)((state)&UINT32_MAX))
#define BEGIN(phase) ((uint64_t)(phase) << 32)

typedef struct team_payload {
    _Alignas(HKI_CACHE_LINE) _Atomic(uint64_t) state;
    _Alignas(HKI_CACHE_LINE) _Atomic(int64_t) left; /* items of the phase that have not ended */
    _Alignas(HKI_CACHE_LINE) _Atomic(int) packs_taken;
    _Atomic(int) packs_left; /* of steps, whether they have one or not */
    _Alignas(HKI_CACHE_LINE) hki_team *team;
    hki_task *task;
    hki_kept *kept;     /* counted; NULL: nothing is packed */
    bool packs;         /* it is this task that does it */
    uint64_t *versions; /* by touch; see hki_task_spec */
    hki_storage *some;  /* of those outside, for kernels that ask where they are */
    char *workspace;
    int64_t *base;             /* by slot */
    hki_stream_options *drawn; /* by draw of the graph */
    char **data;               /* by place */
    hki_storage *storages[];   /* by touch */
} team_payload;

/* ---- one call -------------------------------------------------------------------------------- */

static void aim(const team_payload *self, const hki_tensor *from, int place, hki_tensor *tensor)
{
    if (place < 0) {
        tensor->data = NULL;
        tensor->storage = self->some;
        tensor->offset = tensor->size = 0;
        tensor->ndim = -1;
        return;
    }
    const int64_t base = place < self->team->graph->slot_count ? self->base[place] : 0;
    *tensor = *from;
    tensor->data =
        self->data[place] + (from->offset + base) * (int64_t)hki_dtype_bytes(from->dtype);
    tensor->storage = self->some;
    tensor->offset = 0;
}

typedef union options {
    char bytes[HKI_MAX_OPTIONS_BYTES];
    hki_stream_options stream;
} options;

/* What a kernel is given of a step, on the stack of the thread that runs it. */
typedef struct given {
    hki_kernel_call call;
    hki_tensor in[HKI_MAX_INPUTS], out[HKI_MAX_OUTPUTS];
    options options;
} given;

static void give(const team_payload *self, const hki_team_step *its, given *to)
{
    const hki_step *step = &self->team->steps.list[its->step];
    const hki_team_call *more = &self->team->calls[its->step];
    const int inputs =
        step->call.input_count < HKI_NAMED_INPUTS ? HKI_NAMED_INPUTS : step->call.input_count;
    to->call = step->call;
    to->call.in = to->in;
    to->call.out = to->out;
    to->call.task = self->task;
    for (int i = 0; i < inputs; i++)
        aim(self, &step->in[i], i < step->call.input_count ? step->in_place[i] : -1, &to->in[i]);
    for (int i = 0; i < step->call.output_count; i++)
        aim(self, &step->out[i], step->out_place[i], &to->out[i]);
    to->call.piece_count = its->piece_count;
    if (more->packed >= 0)
        to->call.packed = hki_kept_data(self->kept) + more->packed;
    if (more->place >= 0)
        to->call.partials = self->data[more->place];
    if (!step->is_copy && step->node->draw >= 0) {
        memcpy(to->options.bytes, step->node->options, step->node->options_bytes);
        to->options.stream = self->drawn[step->node->draw];
        to->call.options = to->options.bytes;
    }
}

static void run_pieces(const team_payload *self, const hki_team_step *its, int64_t first,
                       int64_t count, bool joins)
{
    const hki_step *step = &self->team->steps.list[its->step];
    given to;
    give(self, its, &to);
    const hki_kernel_call *call = &to.call;
    if (step->is_copy) {
        hki_copy_elements(call, 0, call->out[0].size);
        return;
    }
    hki_blame blame = hki_step_blame(step);
    blame.what = call;
    hki_task_blame(&blame);
    for (int64_t piece = first; piece < first + count; piece++) {
        int64_t begin, end;
        hki_piece_range(call, piece, &begin, &end);
        if (self->team->calls[its->step].rounds > 1)
            call->op->round(call, its->first_item + piece, its->round, begin, end);
        else if (begin < end || call->op->join)
            call->op->kernel[self->team->device->class->kernels](call, its->first_item + piece,
                                                                 begin, end);
    }
    if (joins && call->op->join && !hki_task_has_failed(self->task))
        call->op->join(call);
    hki_task_blame(NULL);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void run_alone(const team_payload *self, const hki_phase *phase)
{
    for (int i = phase->first; i < phase->first + phase->count && !hki_task_has_failed(self->task);
         i++) {
        const hki_team_step *its = &self->team->order[i];
        run_pieces(self, its, 0, its->piece_count, true);
    }
}

static void run_item(const team_payload *self, const hki_phase *phase, int64_t item)
{
    const hki_team_step *its = &self->team->order[phase->first];
    if (phase->item_count == 1) {
        run_alone(self, phase);
        return;
    }
    while (item >= its->first_item + its->piece_count)
        its++;
    run_pieces(self, its, item - its->first_item, 1, false);
}

static void join_phase(const team_payload *self, const hki_phase *phase)
{
    for (int i = phase->first; phase->joins && i < phase->first + phase->count; i++)
        run_pieces(self, &self->team->order[i], 0, 0, true);
}

/* The phase, of which this thread has ended the last item, is over. Returns the one that begins. */
static int go_on(team_payload *self, int index)
{
    const hki_team *team = self->team;
    const hki_phase *phase = &team->phases[index];
    if (phase->item_count > 1)
        join_phase(self, phase);
    const int next = hki_task_has_failed(self->task) ? team->phase_count : index + 1;
    if (next < team->phase_count)
        atomic_store_explicit(&self->left, team->phases[next].item_count, memory_order_relaxed);
    return next;
}

static void await_phase(const team_payload *self, int index)
{
    unsigned times = 0;
    while (PHASE(atomic_load_explicit(&self->state, memory_order_acquire)) == index)
        hki_relax_or_yield(&times);
}

/* Whoever comes packs what nobody has begun to. */
static void pack(team_payload *self)
{
    const hki_team *team = self->team;
    unsigned times = 0;
    int i;
    while ((i = atomic_fetch_add_explicit(&self->packs_taken, 1, memory_order_relaxed)) <
           team->steps.count) {
        const int64_t packed = team->calls[i].packed;
        if (packed >= 0) {
            given to;
            give(self, &(hki_team_step){.step = i, .piece_count = 1}, &to);
            to.call.op->pack(&to.call, hki_kept_data(self->kept) + packed);
        }
        atomic_fetch_sub_explicit(&self->packs_left, 1, memory_order_release);
    }
    while (atomic_load_explicit(&self->packs_left, memory_order_acquire) > 0)
        hki_relax_or_yield(&times);
}

/* Of all phases from the one that is under way on. */
static void take_part(team_payload *self)
{
    const hki_team *team = self->team;
    uint64_t taken = atomic_fetch_add_explicit(&self->state, 1, memory_order_acquire);
    while (PHASE(taken) < team->phase_count) {
        const int index = PHASE(taken);
        const hki_phase *phase = &team->phases[index];
        if (ITEM(taken) >= phase->item_count) {
            await_phase(self, index);
            taken = atomic_fetch_add_explicit(&self->state, 1, memory_order_acquire);
            continue;
        }
        run_item(self, phase, ITEM(taken));
        if (atomic_fetch_sub_explicit(&self->left, 1, memory_order_acq_rel) == 1) {
            /* With the next one's first item, which is this thread's. */
            const int next = go_on(self, index);
            taken = BEGIN(next);
            atomic_store_explicit(&self->state, taken + 1, memory_order_release);
        } else {
            taken = atomic_fetch_add_explicit(&self->state, 1, memory_order_acquire);
        }
    }
}

/* ---- the task -------------------------------------------------------------------------------- */

static bool fail_for_memory(hki_task *task, const hki_device *device, uint64_t bytes)
{
    hki_calls_task_fail_for_memory(task, 0, device, bytes);
    return false;
}

static bool prepare(hki_task *task, void *payload)
{
    team_payload *self = payload;
    const hki_team *team = self->team;
    for (int i = 0; i < team->touch_count; i++)
        if (team->touches[i].mode != HKI_READ && !hki_storage_materialise(self->storages[i]))
            return fail_for_memory(task, team->device, self->storages[i]->bytes);
    if (team->workspace_bytes) {
        self->workspace = hki_device_allocate(team->device, team->workspace_bytes);
        if (!self->workspace)
            return fail_for_memory(task, team->device, team->workspace_bytes);
    }
    for (int i = 0; i < team->steps.place_count; i++)
        if (team->steps.places[i].is_within)
            self->data[i] = self->workspace + team->steps.places[i].at;
    for (int i = 0; i < team->touch_count; i++)
        self->data[team->touches[i].slot] = hki_storage_kernel_data(self->storages[i]);
    self->task = task;
    if (team->kept_bytes && !(self->kept = hki_kept_find(&self->team->keeper, self->versions))) {
        self->kept = hki_kept_create(&team->keeper, team->device, team->kept_bytes, self->versions);
        self->packs = self->kept != NULL;
        return self->kept || fail_for_memory(task, team->device, team->kept_bytes);
    }
    return true;
}

static void run(hki_task *task, void *payload, int64_t piece)
{
    team_payload *self = payload;
    const int64_t begin_ns = piece == 0 ? hki_clock_ns() : 0;
    if (self->packs)
        pack(self);
    if (!hki_task_has_failed(task))
        take_part(self);
    if (piece == 0)
        hki_calls_task_learn(&self->team->took_ns, (hki_clock_ns() - begin_ns) * self->team->width);
}

static void join(hki_task *task, void *payload)
{
    team_payload *self = payload;
    (void)task;
    if (self->packs)
        hki_kept_put(&self->team->keeper, self->kept);
}

static void finish(hki_task *task, void *payload)
{
    team_payload *self = payload;
    hki_team *team = self->team;
    hk_graph *graph = team->graph;
    (void)task;
    if (self->workspace)
        hki_device_release(team->device, self->workspace, team->workspace_bytes);
    hki_kept_release(self->kept);
    for (int i = 0; i < team->touch_count; i++)
        hki_storage_release_use(self->storages[i]);
    hk_graph_release(graph);
}

static const hki_task_class team_class = {
    .prepare = prepare, .run = run, .join = join, .finish = finish};

static int64_t expected_ns(const hki_team *self)
{
    const int64_t took_ns = atomic_load_explicit(&self->took_ns, memory_order_relaxed);
    int64_t planned_ns = 0;
    for (int i = 0; i < self->steps.count && !took_ns; i++)
        planned_ns += self->steps.list[i].is_copy
                          ? 0
                          : hki_plan_expect(self->steps.list[i].node->op,
                                            self->steps.list[i].node->plan.work_ns);
    return took_ns ? took_ns : planned_ns;
}

bool hki_team_issue(hki_team *self, hki_storage *const *storages, const int64_t *base,
                    const hki_stream_options *drawn)
{
    hk_graph *graph = self->graph;
    const size_t slots = (size_t)graph->slot_count, draws = (size_t)graph->draw_count;
    const size_t places = (size_t)self->steps.place_count, touches = (size_t)self->touch_count;
    uint64_t new_bytes = self->workspace_bytes;
    for (int i = 0; i < self->touch_count; i++)
        if (self->touches[i].mode & HKI_FRESH)
            new_bytes += storages[self->touches[i].slot]->bytes;
    hki_task *task = hki_task_begin(graph->runtime,
                                    sizeof(team_payload) + touches * sizeof *storages +
                                        slots * sizeof *base + draws * sizeof *drawn +
                                        places * sizeof(char *) + touches * sizeof(uint64_t),
                                    self->touch_count, new_bytes);
    if (!task)
        return false;
    hki_task_spec *spec = hki_task_get_spec(task);
    team_payload *payload = hki_task_payload(task);
    atomic_init(&payload->state, 0);
    atomic_init(&payload->left, self->phases[0].item_count);
    payload->team = self;
    atomic_init(&payload->packs_taken, 0);
    atomic_init(&payload->packs_left, self->steps.count);
    payload->workspace = NULL;
    payload->kept = NULL;
    payload->packs = false;
    payload->some = storages[self->touches[0].slot];
    payload->base = (int64_t *)(void *)(payload->storages + touches);
    payload->versions = (uint64_t *)(payload->base + slots);
    payload->data = (char **)(void *)(payload->versions + touches);
    payload->drawn = (hki_stream_options *)(void *)(payload->data + places);
    memcpy(payload->base, base, slots * sizeof *base);
    if (draws)
        memcpy(payload->drawn, drawn, draws * sizeof *drawn);
    for (int i = 0; i < self->touch_count; i++) {
        const hki_touch *each = &self->touches[i];
        payload->storages[i] = storages[each->slot];
        hki_storage_retain_use(payload->storages[i]);
        spec->accesses[i] = hki_touch_access(each, storages[each->slot], base[each->slot]);
    }
    spec->access_count = self->touch_count;
    spec->versions = self->kept_bytes ? payload->versions : NULL;
    spec->class = &team_class;
    spec->device = self->device;
    spec->operation = "replay";
    spec->piece_count = self->width;
    spec->expected_ns = expected_ns(self);
    spec->collective = false;
    spec->cost.flops = self->steps.flops;
    spec->cost.memory_bytes = self->memory_bytes;
    hk_graph_retain(graph);
    hki_task_submit(task);
    return true;
}
