#include "world/group.h"

#include <stdlib.h>
#include <string.h>

hk_group hki_no_memory_group = {.size = 1};

static void destroy(hk_group *self)
{
    free(self->members);
    free(self->issued);
    free(self->begun);
    free(self->decided);
    free(self);
}

hk_group *hki_group_create(hki_world *world, int id, int rank, int size, int *members,
                           const hk_status *status)
{
    const size_t lanes = 2 * (size_t)size + 1;
    hk_group *self = calloc(1, sizeof *self);
    if (self) {
        *self = (hk_group){.id = id, .rank = rank, .size = size, .status = status, .world = world};
        self->members = members ? members : malloc((size_t)size * sizeof *members);
        self->issued = calloc(lanes, sizeof *self->issued);
        self->begun = calloc(lanes, sizeof *self->begun);
        self->decided = calloc(lanes, sizeof *self->decided);
    }
    if (!self || !self->members || !self->issued || !self->begun || !self->decided) {
        if (self)
            destroy(self);
        else
            free(members);
        hk_status_release(status);
        return NULL;
    }
    for (int r = 0; r < size && !members; r++)
        self->members[r] = r;
    pthread_mutex_init(&self->lock, NULL);
    pthread_mutex_lock(&world->lock);
    self->next = world->groups;
    world->groups = self;
    pthread_mutex_unlock(&world->lock);
    return self;
}

/* ---- what there is to know ------------------------------------------------------------------------------------------- */

const hk_status *hki_group_check(const hk_group *group)
{
    const hki_status_facts facts = {.operation = "group"};
    if (!group)
        return hki_status_create(HK_INVALID_ARGUMENT, &facts, "the group is NULL");
    if (group == &hki_no_memory_group)
        return hk_status_retain(hki_status_no_memory());
    if (!hk_ok(group->status))
        return hk_status_retain(group->status);
    if (group->world->link && group->world->pid != getpid())
        return hki_status_create(HK_FORKED, &facts,
                                 "the world is of the process that forked this one");
    if (atomic_load(&group->world->has_ended))
        return hki_status_create(
            HK_CANCELLED, &facts,
            "the world has ended, with the runtime that it started with or with MPI");
    return NULL;
}

const hk_status *hk_group_status(const hk_group *group)
{
    const hk_status *error = hki_group_check(group);
    return hki_status_lend(error ? error : hki_status_ok());
}

int hk_group_rank(const hk_group *group)
{
    return group ? group->rank : 0;
}

int hk_group_size(const hk_group *group)
{
    return group ? group->size : 1;
}
