/* What of variables is known to works: by address. */
#include "engine/accel/put_off.h"

#include <stdlib.h>

static struct hki_put_off_var **chain_of(hki_put_offs *self, const hki_var *var)
{
    const uint64_t address = (uintptr_t)var * UINT64_C(0x9E3779B97F4A7C15);
    return &self->vars[(address >> 32) % HKI_PUT_OFF_TABLE];
}

struct hki_put_off_var *hki_put_off_var_of(hki_put_offs *self, const hki_var *var)
{
    struct hki_put_off_var *it = *chain_of(self, var);
    while (it && it->var != var)
        it = it->in_chain;
    return it;
}

bool hki_put_off_make_vars(hki_put_offs *self, const hki_task_spec *spec)
{
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (hki_put_off_var_of(self, access->var))
            continue;
        struct hki_put_off_var *var = calloc(1, sizeof *var);
        if (!var)
            return false;
        var->var = access->var;
        var->in_chain = *chain_of(self, access->var);
        *chain_of(self, access->var) = var;
        var->has_bytes = !(access->mode & HKI_FRESH);
    }
    return true;
}

void hki_put_off_var_leave_chain(hki_put_offs *self, const struct hki_put_off_var *var)
{
    struct hki_put_off_var **link = chain_of(self, var->var);
    while (*link != var)
        link = &(*link)->in_chain;
    *link = var->in_chain;
}
