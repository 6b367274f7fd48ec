/* Checks of a replay as one task: whether the host knows that they will be good; and, of those that were not, which calls fail
 * for them, each by itself, as they would one by one. */
#include "graph/recorded_task.h"

#include <stdlib.h>

/* ---- what the host knows ---------------------------------------------------------------------------------------- */

/* The access to what the step checks; -1: it checks nothing that the host may know. */
static int checked_touch(const hki_recorded *self, const hki_step *its)
{
    const int input = its->node->op->index_input;
    const int slot = input ? its->node->operands[input].slot : -1;
    for (int i = 0; slot >= 0 && i < self->touch_count; i++)
        if (self->touches[i].slot == slot && self->touches[i].mode == HKI_READ)
            return i;
    return -1;
}

static bool is_within(const hki_task_spec *spec, const hki_replay_payload *self,
                      const hki_step *its)
{
    const int at = checked_touch(self->recorded, its);
    if (at < 0)
        return false;
    const hki_access *access = &spec->accesses[at];
    return hki_known_values_are_within(&spec->device->known, self->versions[at], access->begin,
                                       access->end,
                                       its->call.in[0].dims[its->node->op->index_axis]);
}

bool hki_replay_is_prechecked(const hki_task_spec *spec, const void *payload)
{
    const hki_replay_payload *self = payload;
    const hki_steps *steps = &self->recorded->steps;
    bool is_prechecked = self->recorded->can_vet;
    for (int i = 0; i < steps->check_count && is_prechecked; i++)
        is_prechecked = is_within(spec, self, &steps->list[steps->checks[i]]);
    return is_prechecked;
}

/* ---- what may turn out failed ------------------------------------------------------------------------------------ */

bool hki_replay_can_spare(const hki_task_spec *spec, const void *payload)
{
    const hki_steps *steps = &((const hki_replay_payload *)payload)->recorded->steps;
    (void)spec;
    return steps->can_spare && steps->check_count > 0;
}

/* Check i has the i-th of the flags, from the lowest on. */
static uint64_t flags_of(uint64_t checks, uint64_t flags)
{
    uint64_t found = 0;
    for (; flags; flags &= flags - 1, checks >>= 1)
        if (checks & 1)
            found |= flags & -flags;
    return found;
}

void hki_replay_note_suspects(
    const hki_task_spec *spec, const void *payload, const hki_ticket *ticket,
    void (*note)(void *argument, const hki_access *access, uint64_t flags), void *argument)
{
    const hki_replay_payload *self = payload;
    const hki_steps *steps = &self->recorded->steps;
    (void)spec;
    for (int i = 0; i < steps->writes.count; i++) {
        const hki_written *it = &steps->writes.list[i];
        if (steps->places[it->place].is_within)
            continue;
        const hki_touch touch = {it->place, it->span, it->dtype, HKI_WRITE | HKI_HEAL};
        const hki_access access =
            hki_touch_access(&touch, self->storages[it->place], self->base[it->place]);
        note(argument, &access, ticket->suspects | flags_of(it->checks, ticket->flags));
    }
}

/* ---- what has failed --------------------------------------------------------------------------------------------- */

void hki_replay_note_reports(hki_task *task, void *payload, const hki_ticket *ticket)
{
    hki_replay_payload *self = payload;
    const hki_recorded *recorded = self->recorded;
    const hki_device_class *class = recorded->device->class;
    const hki_steps *steps = &recorded->steps;
    char text[400];
    for (int i = 0; recorded->recorder && i < steps->check_count && !ticket->is_prechecked; i++) {
        const hk_code code = class->recorder->reported(recorded->device, recorded->recorder, ticket,
                                                       i, text, sizeof text);
        if (code == HK_OK)
            continue;
        const hki_blame blame = hki_step_blame(&steps->list[steps->checks[i]]);
        self->reported |= (uint64_t)1 << i;
        if (!self->records)
            self->records = calloc((size_t)steps->check_count, sizeof *self->records);
        if (self->records)
            self->records[i] = hki_task_record(task, &blame, code, "%s", text);
    }
}

static const hk_status *record_of(const hki_replay_payload *self, int check)
{
    return self->records ? self->records[check] : hki_status_no_memory();
}

/* Checks that have failed by themselves: what others report is no more than what became of failed inputs. */
static uint64_t note_roots(const hki_replay_payload *self)
{
    const hki_steps *steps = &self->recorded->steps;
    uint64_t roots = 0;
    for (int i = 0; i < steps->check_count; i++)
        if (self->reported >> i & 1 && !(steps->list[steps->checks[i]].needs & self->reported)) {
            roots |= (uint64_t)1 << i;
            hki_runtime_note_failure(self->recorded->device->runtime, record_of(self, i));
        }
    return roots;
}

static void settle_step(const hki_replay_payload *self, const hki_step *its,
                        const hk_status *failure, bool is_intact)
{
    for (int i = 0; i < its->call.output_count; i++) {
        const int place = its->out_place[i];
        if (self->recorded->steps.places[place].is_within)
            continue;
        const hki_touch touch = {place, hki_tensor_span(&its->call.out[i]), its->call.out[i].dtype,
                                 HKI_WRITE | HKI_HEAL};
        const hki_access access =
            hki_touch_access(&touch, self->storages[place], self->base[place]);
        hki_task_settle_part(&access, failure, is_intact);
    }
}

void hki_replay_settle(void *payload, const hk_status *failure, bool is_spared, bool heals)
{
    const hki_replay_payload *self = payload;
    const hki_steps *steps = &self->recorded->steps;
    const uint64_t roots = failure ? 0 : note_roots(self);
    for (int i = 0; (failure || roots || heals) && i < steps->count; i++) {
        const hki_step *its = &steps->list[i];
        const uint64_t inputs = its->needs & roots;
        if (failure)
            settle_step(self, its, failure, is_spared && its->spares);
        else if (inputs)
            settle_step(self, its, record_of(self, __builtin_ctzll(inputs)), its->spares);
        else if (its->check >= 0 && roots >> its->check & 1)
            settle_step(self, its, record_of(self, its->check), false);
        else
            settle_step(self, its, NULL, false);
    }
}

void hki_replay_forget(hki_replay_payload *self)
{
    for (int i = 0; self->records && i < self->recorded->steps.check_count; i++)
        hk_status_release(self->records[i]);
    free(self->records);
}
