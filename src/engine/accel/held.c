/* Copies to the host that are put off. Their tasks end by the model like all others; but what they
 * write lies in memory that threads look at in place, and whoever is to do so waits for a gate. So
 * the gate of such a task stays closed when it has ended (it is *held*), and who comes to wait for
 * it asks for the copy, which opens it. Nobody else notices: waiting for all, or for a time, takes
 * a held gate for an open one. */
#include "engine/accel/put_off.h"

#include "engine/core/stage.h"

static hki_gate *gate_of_write(hki_task *task)
{
    hki_gate **gates = hki_task_registered(task), *found = NULL;
    for (int i = 0; i < task->registered_count; i++)
        if (gates[i]->is_write)
            found = gates[i];
    return found;
}

void hki_put_off_be_late(hki_put_offs *self, hki_task *task, hki_work *work)
{
    (void)self;
    if (!work->is_to_host)
        return;
    task->late = work;
    work->refs++;
    /* Somebody waits already. */
    const hki_gate *gate = gate_of_write(task);
    if (gate && atomic_load_explicit(&((hki_gate *)gate)->waiters, memory_order_acquire))
        work->is_wanted = true;
}

static void ask_locked(hki_put_offs *self, const hki_var *var)
{
    const struct hki_put_off_var *its = hki_put_off_var_of(self, var);
    for (hki_put_off_place *it = its ? its->writes : NULL; it; it = it->next) {
        if (!it->work->asked_ns)
            it->work->asked_ns = hki_clock_ns();
        hki_work_want(self, it->work);
    }
}

void hki_put_off_hold(hki_task *task)
{
    hki_put_offs *self = task->runtime->accelerators->put_offs;
    hki_work *work = task->late;
    hki_gate *gate = gate_of_write(task);
    bool is_wanted = false;
    task->late = NULL;
    hki_lock_acquire(&self->lock);
    const hki_work_state state = hki_work_state_of(work);
    if (gate && (state == HKI_WORK_WAITS || state == HKI_WORK_RUNS)) {
        task->held = work->gate = gate;
        is_wanted = hki_stage_hold(task, gate);
        if (is_wanted) {
            work->asked_ns = hki_clock_ns();
            hki_work_want(self, work);
        }
    }
    hki_work_release(work);
    hki_lock_release(&self->lock);
    if (is_wanted)
        hki_put_offs_call(self);
}

void hki_put_off_ask(hki_var *var)
{
    hki_put_offs *self = var->runtime->accelerators->put_offs;
    hki_lock_acquire(&self->lock);
    ask_locked(self, var);
    hki_lock_release(&self->lock);
    hki_put_offs_call(self);
}
