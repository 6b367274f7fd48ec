/* Which calls are a team, in which phases, and into what these are cut. */
#include "graph/team.h"

#include "base/integer.h"
#include "op/call/plan.h"

#include <stdlib.h>
#include <string.h>

/* Nanoseconds on one core. What is a team follows from plans alone; into what it is cut, also
 * from what calls have taken. */
enum {
    MOST_CALL_NS = 2500000, /* of a call: a longer one is cut by the engine as well */
    MOST_TEAM_NS = 8000000, /* of a team: what else is ready waits for so long, at most */
    LEAST_CALLS = 2,
    LEAST_TEAM_NS = 10000,
    MOST_CALLS = 512, /* what finds phases takes time by their square */
    SHORT_NS = 6000, /* calls that are no longer, on average, have too much of what a task costs, */
    NARROW_NS = 60000, /* and those that wait for each other */
    ALONE_NS = 2000,   /* a phase of less is not worth the way to another core */
    ITEM_NS = 4000,    /* and so is an item of less */
    ITEMS_OF_CORE = 3, /* of a phase, so that cores end at about the same time */
};

/* ---- which calls ----------------------------------------------------------------------------- */

static bool may_join(const hk_graph *graph, const hki_node *node)
{
    const hki_device_class *class = node->device->class;
    bool can = node->kind == HKI_NODE_CALL && class && !class->run_call && !class->launched &&
               node->plan.work_ns <= MOST_CALL_NS;
    for (int i = 0; can && i < node->input_count + node->output_count; i++) {
        const hki_slot *slot =
            node->operands[i].slot < 0 ? NULL : &graph->slots[node->operands[i].slot];
        can = !slot || (slot->device == node->device && !slot->is_pinned);
    }
    return can;
}

/* How many nodes from `first` on are one team; 0: none. */
static int find_stretch(const hk_graph *graph, int first)
{
    double work_ns = 0;
    int count = 0;
    while (first + count < graph->node_count && count < MOST_CALLS) {
        const hki_node *node = &graph->nodes[first + count];
        if (!may_join(graph, node) || node->device != graph->nodes[first].device ||
            (count > 0 && work_ns + node->plan.work_ns > MOST_TEAM_NS))
            break;
        work_ns += node->plan.work_ns;
        count++;
    }
    return count < LEAST_CALLS || work_ns < LEAST_TEAM_NS ? 0 : count;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static bool overlap(const hki_tensor *a, const hki_tensor *b)
{
    const hki_span first = hki_tensor_span(a), second = hki_tensor_span(b);
    return hki_ranges_overlap((hki_range){first.begin, first.end, first.pitch},
                              (hki_range){second.begin, second.end, second.pitch});
}

static bool meet(const hki_step *a, const hki_tensor *tensor, int place, bool writes)
{
    for (int i = 0; i < a->call.output_count; i++)
        if (a->out_place[i] == place && overlap(&a->out[i], tensor))
            return true;
    for (int i = 0; writes && i < a->call.input_count; i++)
        if (a->in_place[i] == place && overlap(&a->in[i], tensor))
            return true;
    return false;
}

/* Whether step b is to come after step a. */
static bool follows(const hki_step *a, const hki_step *b)
{
    for (int i = 0; i < b->call.input_count; i++)
        if (b->in_place[i] >= 0 && meet(a, &b->in[i], b->in_place[i], false))
            return true;
    for (int i = 0; i < b->call.output_count; i++)
        if (meet(a, &b->out[i], b->out_place[i], true))
            return true;
    return false;
}

/* ---- what is packed once --------------------------------------------------------------------- */

/* The touch by which a parameter is read that no replay writes; -1: it is none. */
static int constant_touch(const hki_team *self, int slot)
{
    const hk_graph *graph = self->graph;
    int found = -1;
    if (slot < 0 || graph->slots[slot].kind != HKI_SLOT_EXTERNAL)
        return -1;
    for (int i = 0; i < graph->node_count; i++)
        for (int j = 0; j < graph->nodes[i].input_count + graph->nodes[i].output_count; j++)
            if (graph->nodes[i].operands[j].slot == slot && hki_node_writes(&graph->nodes[i], j))
                return -1;
    for (int i = 0; i < self->touch_count && found < 0; i++)
        found = self->touches[i].slot == slot ? i : -1;
    return found;
}

/* All that the call reads in another form is constant: notes the touches behind those of the
 * keeper, and returns how many. */
static int note_constants(hki_team *self, const hki_step *step)
{
    int count = 0;
    for (int i = 0; i < step->call.input_count; i++) {
        if (!(step->call.op->packed_inputs >> i & 1))
            continue;
        const int touch = constant_touch(self, step->in_place[i]);
        if (touch < 0)
            return 0;
        self->keeper.at[self->keeper.count + count++] = touch;
    }
    return count;
}

static void find_pack(hki_team *self, hki_step *step, hki_team_call *its)
{
    const hk_op *op = step->call.op;
    const int constants = op->pack ? note_constants(self, step) : 0;
    int64_t extent = 0;
    const size_t bytes = constants == 0 ? 0 : op->packed_bytes(&step->call, &extent);
    if (bytes == 0)
        return;
    if (extent > 0) {
        step->call.extent = extent;
        step->call.grain = 1;
    }
    its->packed = (int64_t)self->kept_bytes;
    self->kept_bytes += hki_round_up_bytes(bytes, HKI_CACHE_LINE);
    self->keeper.count += constants;
    size_t shared = 0;
    if (op->rounds) {
        its->rounds = op->rounds(&step->call, &shared);
        its->shared = shared;
    }
}

/* False: out of host memory. */
static bool find_calls(hki_team *self)
{
    self->calls = calloc((size_t)self->steps.count, sizeof *self->calls);
    self->keeper.at = calloc((size_t)self->steps.count * HKI_MAX_INPUTS, sizeof *self->keeper.at);
    if (!self->calls || !self->keeper.at)
        return false;
    for (int i = 0; i < self->steps.count; i++) {
        hki_step *step = &self->steps.list[i];
        self->calls[i] = (hki_team_call){.packed = -1, .rounds = 1, .place = -1};
        if (step->is_copy)
            continue;
        step->call.partial_bytes =
            hki_round_up_bytes(step->node->plan.partial_bytes, HKI_CACHE_LINE);
        self->calls[i].shared = step->call.partial_bytes * (uint64_t)step->call.piece_count;
        find_pack(self, step, &self->calls[i]);
    }
    return true;
}

/* ---- the order of phases --------------------------------------------------------------------- */

/* Numbers of first phases, by step; returns how many phases there are. */
static int find_phases(const hki_team *self, int *phase)
{
    const hki_steps *steps = &self->steps;
    int count = 0;
    for (int i = 0; i < steps->count; i++) {
        phase[i] = 0;
        for (int j = 0; j < i; j++) {
            const int behind = phase[j] + (int)self->calls[j].rounds;
            if (behind > phase[i] && follows(&steps->list[j], &steps->list[i]))
                phase[i] = behind;
        }
        const int end = phase[i] + (int)self->calls[i].rounds;
        count = end > count ? end : count;
    }
    return count;
}

/* False: out of host memory. */
static bool sort(hki_team *self, const int *phase, int count)
{
    int64_t all = 0;
    for (int i = 0; i < self->steps.count; i++)
        all += self->calls[i].rounds;
    self->order = calloc((size_t)all, sizeof *self->order);
    self->phases = calloc((size_t)count, sizeof *self->phases);
    if (!self->order || !self->phases)
        return false;
    for (int p = 0; p < count; p++) {
        const int first = self->order_count;
        for (int i = 0; i < self->steps.count; i++)
            if (phase[i] <= p && p < phase[i] + self->calls[i].rounds)
                self->order[self->order_count++] =
                    (hki_team_step){.step = i, .phase = p, .round = p - phase[i]};
        self->phases[p] = (hki_phase){.first = first, .count = self->order_count - first};
    }
    self->phase_count = count;
    return true;
}

static bool make_phases(hki_team *self)
{
    int *phase = calloc((size_t)self->steps.count, sizeof *phase);
    const bool made = phase && sort(self, phase, find_phases(self, phase));
    free(phase);
    return made;
}

/* Of calls that wait for each other, tasks would leave cores idle; of those that do not, a
 * backward pass say, workers find enough, and need not meet after each. Longer calls are cut by
 * the engine as well, but for what is packed. By plans alone. */
static bool is_of_use(const hki_team *self)
{
    /* Of the work that is on the longest way; where something is packed. */
    static const double least_share = 0.8, least_packed = 0.7;
    double work_ns = 0, longest_ns = 0;
    int calls = 0;
    for (int p = 0; p < self->phase_count; p++) {
        const hki_phase *phase = &self->phases[p];
        double most_ns = 0;
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            const hki_step *step = &self->steps.list[self->order[i].step];
            const double its_ns =
                step->is_copy
                    ? 0
                    : step->node->plan.work_ns / (double)self->calls[self->order[i].step].rounds;
            work_ns += its_ns;
            most_ns = its_ns > most_ns ? its_ns : most_ns;
            calls += self->order[i].round == 0;
        }
        longest_ns += most_ns;
    }
    const double call_ns = work_ns / calls;
    return call_ns <= SHORT_NS ||
           (self->kept_bytes > 0 ? longest_ns >= least_packed * work_ns
                                 : call_ns <= NARROW_NS && longest_ns >= least_share * work_ns);
}

/* ---- items ----------------------------------------------------------------------------------- */

/* In one of its phases. */
static double work_of(const hki_team *self, int index)
{
    const hki_step *step = &self->steps.list[index];
    return step->is_copy ? (double)step->out[0].size
                         : (double)hki_plan_expect(step->node->op, step->node->plan.work_ns) /
                               (double)self->calls[index].rounds;
}

static int64_t pieces_of(const hki_team *self, int index, double item_ns)
{
    const hki_step *step = &self->steps.list[index];
    const hki_kernel_call *call = &step->call;
    const int64_t cores = self->device->core_count;
    if (step->is_copy)
        return 1;
    if (call->op->join || step->node->plan.partial_bytes) /* bytes depend on it */
        return call->piece_count;
    const int64_t blocks = call->extent > 0 ? (call->extent - 1) / call->grain + 1 : 1;
    int64_t count = (int64_t)(work_of(self, index) / item_ns + 0.5);
    count = count > ITEMS_OF_CORE * cores ? ITEMS_OF_CORE * cores : count;
    count = count > blocks ? blocks : count;
    count = count > cores ? count / cores * cores : count; /* as many for each */
    return count < 1 ? 1 : count;
}

static bool has_parts(const hki_step *step)
{
    return !step->is_copy && (step->call.op->join || step->node->plan.partial_bytes);
}

static void cut(hki_team *self, hki_phase *phase)
{
    double work_ns = 0;
    for (int i = phase->first; i < phase->first + phase->count; i++)
        work_ns += work_of(self, self->order[i].step);
    double item_ns = work_ns / (double)(ITEMS_OF_CORE * self->device->core_count);
    item_ns = item_ns < ITEM_NS ? ITEM_NS : item_ns;
    phase->item_count = 0;
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        hki_team_step *its = &self->order[i];
        hki_step *step = &self->steps.list[its->step];
        its->piece_count =
            work_ns <= ALONE_NS && !has_parts(step) ? 1 : pieces_of(self, its->step, item_ns);
        its->first_item = phase->item_count;
        step->call.first_piece = its->first_item;
        phase->item_count += its->piece_count;
        phase->joins = phase->joins || (!step->is_copy && step->call.op->join);
    }
    if (work_ns <= ALONE_NS)
        phase->item_count = 1;
}

/* Neighbouring phases of one item each are one phase. */
static void merge(hki_team *self)
{
    int count = 0;
    for (int i = 0; i < self->phase_count; i++) {
        hki_phase *last = count > 0 ? &self->phases[count - 1] : NULL;
        const hki_phase *next = &self->phases[i];
        if (last && last->item_count == 1 && next->item_count == 1) {
            last->count += next->count;
        } else {
            self->phases[count++] = *next;
        }
        for (int j = next->first; j < next->first + next->count; j++)
            self->order[j].phase = count - 1;
    }
    self->phase_count = count;
    for (int i = 0; i < count; i++) {
        const int64_t items = self->phases[i].item_count;
        self->width = items > self->width ? items : self->width;
    }
    if (self->width > self->device->core_count)
        self->width = self->device->core_count;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void use_place(hki_steps *steps, int place, int phase)
{
    hki_node_place *its = place < 0 ? NULL : &steps->places[place];
    if (!its || !its->is_within)
        return;
    its->first = phase < its->first ? phase : its->first;
    its->last = phase > its->last ? phase : its->last;
}

/* In phases of one thread calls come one after the other, but what they use stays for all of it. */
static void lay_out(hki_team *self)
{
    hki_steps *steps = &self->steps;
    for (int i = 0; i < steps->place_count; i++) {
        steps->places[i].first = self->phase_count;
        steps->places[i].last = -1;
    }
    for (int i = 0; i < self->order_count; i++) {
        const hki_team_step *its = &self->order[i];
        const hki_step *step = &steps->list[its->step];
        hki_team_call *call = &self->calls[its->step];
        if (call->shared > 0 && call->place < 0) {
            call->place = steps->place_count++;
            steps->places[call->place] = (hki_node_place){
                .is_within = true, .first = its->phase, .last = its->phase, .bytes = call->shared};
        }
        use_place(steps, call->place, its->phase);
        for (int j = 0; j < step->call.input_count; j++)
            use_place(steps, step->in_place[j], its->phase);
        for (int j = 0; j < step->call.output_count; j++)
            use_place(steps, step->out_place[j], its->phase);
    }
    self->workspace_bytes = hki_steps_lay_out(steps);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void destroy(hki_team *self)
{
    if (!self)
        return;
    hki_writes_deinit(&self->steps.writes);
    hki_keeper_deinit(&self->keeper);
    free(self->steps.list);
    free(self->steps.places);
    free(self->calls);
    free(self->order);
    free(self->phases);
    free(self->touches);
    free(self);
}

/* Room for as much as there may be. */
static bool make_room(hki_team *self, int first, int count)
{
    const hk_graph *graph = self->graph;
    size_t operands = 0, copies = 0, nodes = (size_t)count;
    for (int i = first; i < first + count; i++) {
        const hki_node *node = &graph->nodes[i];
        operands += (size_t)(node->input_count + node->output_count);
        copies += (size_t)__builtin_popcount(node->staging.copy_inputs) + 1;
    }
    self->steps.list = calloc(nodes + copies, sizeof *self->steps.list);
    self->steps.places =
        calloc((size_t)graph->slot_count + copies + nodes, sizeof *self->steps.places);
    self->touches = calloc(operands, sizeof *self->touches);
    return self->steps.list && self->steps.places && self->touches;
}

static void add_touches(hki_team *self, const hki_node *node, const bool *is_within)
{
    for (int i = 0; i < node->input_count + node->output_count; i++) {
        const hki_node_operand *operand = &node->operands[i];
        if (operand->slot < 0 || is_within[operand->slot])
            continue;
        const unsigned mode = i < node->input_count ? HKI_READ
                              : operand->makes      ? HKI_WRITE | HKI_HEAL | HKI_FRESH
                                                    : HKI_WRITE | HKI_HEAL;
        const hki_touch added = {operand->slot, operand->span, operand->tensor.dtype, mode};
        self->memory_bytes += (double)operand->span.moved_bytes;
        hki_touches_add(self->touches, &self->touch_count, &added);
    }
}

static bool fill(hki_team *self, int first, int count, const bool *is_within)
{
    hki_steps *steps = &self->steps;
    for (int i = 0; i < self->graph->slot_count; i++)
        steps->places[steps->place_count++] =
            (hki_node_place){.is_within = is_within[i], .bytes = self->graph->slots[i].bytes};
    for (int i = first; i < first + count; i++) {
        hki_steps_add(steps, i);
        add_touches(self, &self->graph->nodes[i], is_within);
    }
    if (self->touch_count == 0 || !find_calls(self) || !make_phases(self) || !is_of_use(self))
        return false;
    for (int i = 0; i < self->phase_count; i++)
        cut(self, &self->phases[i]);
    merge(self);
    lay_out(self);
    return true;
}

/* NULL: for want of host memory, or it is of no effect. */
static hki_team *create(hk_graph *graph, int first, int count, const bool *is_within)
{
    hki_team *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->graph = graph;
    self->device = graph->nodes[first].device;
    self->steps.graph = graph;
    self->steps.device = self->device;
    if (!make_room(self, first, count) || !fill(self, first, count, is_within)) {
        destroy(self);
        return NULL;
    }
    return self;
}

static void mark_within(const hk_graph *graph, int first, int count, bool *is_within)
{
    for (int i = first; i < first + count; i++)
        for (int j = 0; j < graph->nodes[i].input_count + graph->nodes[i].output_count; j++) {
            const int at = graph->nodes[i].operands[j].slot;
            const hki_slot *slot = at < 0 ? NULL : &graph->slots[at];
            if (slot && slot->kind == HKI_SLOT_TEMPORARY && slot->first >= first &&
                slot->last < first + count)
                is_within[at] = true;
        }
}

static void add_stretch(hki_teams *self, hk_graph *graph, int first, int count)
{
    bool *is_within = calloc((size_t)graph->slot_count + 1, sizeof *is_within);
    if (!is_within)
        return;
    mark_within(graph, first, count, is_within);
    hki_team *team = create(graph, first, count, is_within);
    if (team) {
        self->list[self->count++] = (hki_stretch){first, count, team};
        for (int i = 0; i < graph->slot_count; i++)
            self->is_within[i] = self->is_within[i] || is_within[i];
    }
    free(is_within);
}

hki_teams *hki_teams_create(hk_graph *graph)
{
    if (graph->options.exact)
        return NULL;
    hki_teams *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->list = calloc((size_t)graph->node_count / LEAST_CALLS + 1, sizeof *self->list);
    self->is_within = calloc((size_t)graph->slot_count + 1, sizeof *self->is_within);
    for (int i = 0; self->list && self->is_within && i < graph->node_count;) {
        const int count = find_stretch(graph, i);
        if (count > 0)
            add_stretch(self, graph, i, count);
        i += count > 0 ? count : 1;
    }
    if (self->count == 0) {
        hki_teams_destroy(self);
        return NULL;
    }
    return self;
}

void hki_teams_destroy(hki_teams *self)
{
    if (!self)
        return;
    for (int i = 0; i < self->count; i++)
        destroy(self->list[i].team);
    free(self->list);
    free(self->is_within);
    free(self);
}
