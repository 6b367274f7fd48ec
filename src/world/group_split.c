/* Groups of some ranks of a group. */
#include "world/group.h"

#include <stdlib.h>

static const char operation[] = "group_split";

enum { COLOR, KEY, LAST_ID, WISHES }; /* what each rank says */

static hk_group *failed_group(hki_world *world, const hk_status *status)
{
    hk_group *self = hki_group_create(world, 0, 0, 1, NULL, status);
    return self ? self : &hki_no_memory_group;
}

/* The lowest of those that are left with this colour, by key, then rank; its colour goes. */
static int take_next(int64_t (*wishes)[WISHES], int size, int64_t color)
{
    int next = -1;
    for (int r = 0; r < size; r++)
        if (wishes[r][COLOR] == color && (next < 0 || wishes[r][KEY] < wishes[next][KEY]))
            next = r;
    if (next >= 0)
        wishes[next][COLOR] = -1;
    return next;
}

/* All ranks take an id that none of them has used: groups that share no rank may share one. */
static int64_t next_id(int64_t (*wishes)[WISHES], int size)
{
    int64_t id = 0;
    for (int r = 0; r < size; r++)
        id = wishes[r][LAST_ID] > id ? wishes[r][LAST_ID] : id;
    return id + 1;
}

static hk_group *form(hki_world *world, const hk_group *parent, int64_t (*wishes)[WISHES],
                      int color)
{
    enum { MOST_ID = 32767 / HKI_GROUP_TAGS - 1 }; /* the tags that every MPI has */
    const int64_t id = next_id(wishes, parent->size);
    const hki_status_facts facts = {.operation = operation};
    int size = 0, rank = 0, *members = malloc((size_t)parent->size * sizeof *members);
    if (!members)
        return &hki_no_memory_group;
    for (int r; (r = take_next(wishes, parent->size, color)) >= 0;) {
        if (r == parent->rank)
            rank = size;
        members[size++] = parent->members[r];
    }
    if (id > MOST_ID) {
        free(members);
        return failed_group(world, hki_status_create(HK_UNSUPPORTED, &facts,
                                                     "there are %d groups already; split once, "
                                                     "not in every step",
                                                     MOST_ID));
    }
    hk_group *self =
        hki_group_create(world, (int)id, rank, size, members, hk_status_retain(hki_status_ok()));
    return self ? self : &hki_no_memory_group;
}

hk_group *hk_group_split(hk_group *group, int color, int key)
{
    hki_world *world = hki_world_get();
    const hki_status_facts facts = {.operation = operation};
    const hk_status *error = hki_group_check(group);
    if (error)
        return failed_group(world, error);
    HK_SCOPE;
    pthread_mutex_lock(&world->lock);
    const int64_t wish[WISHES] = {color < 0 ? -1 : color, key, world->last_id};
    pthread_mutex_unlock(&world->lock);
    int64_t(*wishes)[WISHES] = malloc((size_t)group->size * sizeof *wishes);
    if (!wishes)
        return &hki_no_memory_group;
    hk_array *mine = (hk_from_host)(wish, hk_shape(1, WISHES), HK_I64, (hk_device){NULL});
    const hk_status *status = (hk_to_host)((hk_group_all_gather)(group, mine), wishes,
                                           (size_t)group->size * sizeof *wishes);
    hk_group *self;
    if (!hk_ok(status)) {
        self = failed_group(world, hk_status_retain(status));
    } else {
        pthread_mutex_lock(&world->lock);
        world->last_id = (int)next_id(wishes, group->size);
        pthread_mutex_unlock(&world->lock);
        self = color < 0 ? failed_group(world, hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                                                 "this rank gave color %d: it is "
                                                                 "in no group",
                                                                 color))
                         : form(world, group, wishes, color);
    }
    free(wishes);
    return self;
}
