/* How far a rank goes. One whose runtime ends does all that it has issued, for others may need
 * it, and tells each group where that ends; what others issue beyond fails on them at once. */
#include "world/link.h"

#include <stdlib.h>

static int64_t count_notices(const hki_world *world)
{
    int64_t count = 0;
    for (const hk_group *group = world->groups; group; group = group->next)
        count += hk_ok(group->status) ? group->size - 1 : 0;
    return count;
}

/* The world's own group is the oldest, so that it comes last. No group's lock is taken: who has
 * it may wait for room. A call that another thread makes meanwhile may be missed, and fails on
 * the others. */
void hki_ending_find(hki_link *self)
{
    hki_world *world = self->world;
    pthread_mutex_lock(&world->lock);
    self->endings = calloc((size_t)count_notices(world) + 1, sizeof *self->endings);
    for (hk_group *group = world->groups; group && self->endings; group = group->next) {
        if (!hk_ok(group->status))
            continue;
        for (int r = 0; r < group->size; r++) {
            if (r == group->rank)
                continue;
            hki_ending *ending = &self->endings[self->ending_count++];
            ending->rank = group->members[r];
            ending->notice = (hki_ending_notice){.kind = HKI_NOTICE_ENDS,
                                                 .group = group->id,
                                                 .calls = group->calls,
                                                 .sends = group->issued[1 + 2 * r],
                                                 .receives = group->issued[2 + 2 * r]};
        }
    }
    pthread_mutex_unlock(&world->lock);
}

void hki_ending_say(hki_link *self)
{
    for (int i = 0; i < self->ending_count && !self->lost; i++) {
        hki_ending *ending = &self->endings[i];
        ending->sent.is_sent = self->mpi->send(&ending->notice, sizeof ending->notice, ending->rank,
                                               HKI_NOTICE_TAG, &ending->sent.request);
        if (!ending->sent.is_sent)
            hki_link_fail(self, "a message could not be sent");
    }
}

bool hki_ending_is_said(hki_link *self)
{
    for (int i = 0; i < self->ending_count; i++) {
        hki_notice_send *sent = &self->endings[i].sent;
        if (sent->is_sent && self->mpi->test(&sent->request, NULL, NULL) == 0)
            return false;
        sent->is_sent = false;
    }
    return true;
}

void hki_ending_hear(hki_link *self, int rank, const hki_ending_notice *notice)
{
    hki_neighbour *neighbour = &self->neighbours[rank];
    const size_t count = (size_t)neighbour->ending_count + 1;
    hki_ending_notice *endings = realloc(neighbour->endings, count * sizeof *endings);
    if (!endings) {
        hki_link_fail(self, "host memory is short");
        return;
    }
    endings[neighbour->ending_count++] = *notice;
    neighbour->endings = endings;
    neighbour->ends = notice->group == HKI_WORLD_GROUP;
}

bool hki_ending_takes_part(const hki_link *self, const hki_exchange *exchange, int r)
{
    const hk_group *group = exchange->group;
    const hki_neighbour *neighbour = &self->neighbours[group->members[r]];
    if (!neighbour->ends)
        return true;
    for (int i = 0; i < neighbour->ending_count; i++) {
        const hki_ending_notice *its = &neighbour->endings[i];
        if (its->group != group->id)
            continue;
        if (!hki_exchange_is_couple(exchange))
            return exchange->call->index < its->calls;
        const bool sends = exchange->operation == HKI_WORLD_SEND;
        return exchange->index < (sends ? its->receives : its->sends);
    }
    return false;
}
