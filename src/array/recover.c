/* hk_recover: the old bytes of what failed are accepted again, in program order. */
#include "array/array.h"

typedef struct recovery {
    hki_storage *storage;
    hki_range range;
} recovery;

static void recovery_run(hki_task *task, void *payload, int64_t piece)
{
    recovery *self = payload;
    (void)task;
    (void)piece;
    if (atomic_load_explicit(&self->storage->data, memory_order_acquire))
        hki_var_end_failures(&self->storage->var, self->range, true);
}

static void recovery_finish(hki_task *task, void *payload)
{
    recovery *self = payload;
    (void)task;
    hki_storage_release_use(self->storage);
}

static const hki_task_class recovery_class = {.run = recovery_run, .finish = recovery_finish};

void(hk_recover)(hk_array *x)
{
    hki_array_uncapturable("recover", "a replay has no failed calls to recover from");
    const hk_status *gone = x ? hki_array_gone(x) : NULL;
    if (!x)
        hki_array_fail_in_place(NULL, "recover", NULL, 0, HK_INVALID_ARGUMENT,
                                "argument x is NULL");
    if (!x || gone || x->failed) {
        hk_status_release(gone);
        return;
    }
    hki_task *task = hki_task_begin(x->storage->var.runtime, sizeof(recovery), 1, 0);
    if (!task) /* x stays failed */
        return;
    recovery *payload = hki_task_payload(task);
    hki_task_spec *spec = hki_task_get_spec(task);
    payload->storage = x->storage;
    payload->range = hki_array_range(x);
    hki_storage_retain_use(x->storage);
    spec->class = &recovery_class;
    spec->device = x->storage->device;
    spec->operation = "recover";
    spec->expected_ns = 200;
    spec->accesses[0] = hki_array_access(x, HKI_WRITE | HKI_KEEP);
    hki_task_submit(task);
}
