#include "engine/wait/blocking.h"

#include "base/status.h"
#include "base/sync.h"

#include <string.h>

_Atomic(const hk_wait_hooks *) hki_wait_hooks;

const hk_status *hk_wait_hooks_set(const hk_wait_hooks *hooks)
{
    /* In turn: a wait that has begun ends with the hooks that it began with. */
    static hk_wait_hooks copies[2];
    static unsigned count;
    if (!hooks) {
        atomic_store_explicit(&hki_wait_hooks, NULL, memory_order_release);
        return hki_status_lend(hki_status_ok());
    }
    const hki_status_facts facts = {.operation = "wait_hooks_set"};
    if (hooks->struct_bytes < sizeof *hooks)
        return hki_status_lend(
            hki_status_create(HK_INVALID_ARGUMENT, &facts,
                              "hooks->struct_bytes is %zu, but must be sizeof(hk_wait_hooks), %zu",
                              hooks->struct_bytes, sizeof *hooks));
    if (!hooks->begin != !hooks->end)
        return hki_status_lend(
            hki_status_create(HK_INVALID_ARGUMENT, &facts,
                              "hooks->%s is NULL, but begin and end must be given together",
                              hooks->begin ? "end" : "begin"));
    hk_wait_hooks *copy = &copies[count++ % 2];
    *copy = *hooks;
    atomic_store_explicit(&hki_wait_hooks, copy, memory_order_release);
    return hki_status_lend(hki_status_ok());
}

static _Thread_local bool is_of_library;

void hki_blocking_thread_is_of_library(void)
{
    is_of_library = true;
}

void hki_blocking_begin(hki_blocking *self)
{
    if (self->hooks || is_of_library)
        return;
    self->hooks = atomic_load_explicit(&hki_wait_hooks, memory_order_acquire);
    if (!self->hooks)
        return;
    self->next_look_ns = hki_clock_ns() + HKI_LOOK_NS;
    if (self->hooks->begin)
        self->hooks->begin(self->hooks->context);
}

bool hki_blocking_look(hki_blocking *self, int64_t now_ns)
{
    if (!self || !self->hooks || self->is_interrupted || now_ns < self->next_look_ns)
        return self && self->is_interrupted;
    self->is_interrupted =
        self->hooks->interrupted && self->hooks->interrupted(self->hooks->context);
    self->next_look_ns = hki_clock_ns() + HKI_LOOK_NS;
    return self->is_interrupted;
}

void hki_blocking_end(hki_blocking *self)
{
    if (self->hooks && self->hooks->end)
        self->hooks->end(self->hooks->context);
    self->hooks = NULL;
}

const hk_status *hki_interrupted(const char *operation)
{
    const hki_status_facts facts = {.operation = operation};
    return hki_status_create(HK_INTERRUPTED, &facts,
                             "the program's hook ended the wait; what was waited for goes on");
}
