#include "world/route.h"

#include "base/text.h"
#include "world/group.h"

#include <stdlib.h>
#include <string.h>

static const hki_channel_class *class_of(const hki_device *device)
{
    return device->class ? device->class->channel : NULL;
}

/* ---- issuing ----------------------------------------------------------------------------------------------------- */

static bool may_go(const hk_group *group, hk_array *const *arrays, int n, int count, bool sums)
{
    hki_device *device = arrays[0]->storage->device;
    const hki_channel_class *class = class_of(device);
    if (!class || !group->world->link || group->size == 1 || atomic_load(&group->goes_by_host) ||
        group->world->route == HKI_WORLD_BY_HOST)
        return false;
    for (int i = 0; i < n * count; i++) {
        hki_device *its = arrays[i]->storage->device;
        const bool is_near =
            its == device ||
            (i % n > 0 ? its->class == device->class : device->class->can_access(device, its));
        if (!is_near || (sums && hki_dtype_is_complex(arrays[i]->dtype)))
            return false;
    }
    return group->world->route == HKI_WORLD_DIRECT || class->is_there();
}

hki_device *hki_group_place(const hk_group *group, hk_array *const *arrays, int n, int count,
                            bool sums)
{
    return may_go(group, arrays, n, count, sums) ? arrays[0]->storage->device
                                                 : hki_group_device(arrays[0]);
}

bool hki_group_misses_direct(const hk_group *group, hk_array *const *arrays, int n, int count,
                             bool sums)
{
    return count > 0 && group->size > 1 && group->world->route == HKI_WORLD_DIRECT &&
           class_of(arrays[0]->storage->device) && !may_go(group, arrays, n, count, sums);
}

/* ---- which ------------------------------------------------------------------------------------------------------- */

/* NCCL has no numbers of two bytes that Hocket adds. */
static bool has_numbers(const hki_exchange *exchange)
{
    return exchange->own.root != HKI_BY_LIBRARY || exchange->operation != HKI_WORLD_REDUCE ||
           hk_dtype_bytes(exchange->dtype) != 2;
}

static bool are_all_on_accelerators(const hki_exchange *exchange)
{
    for (int r = 0; r < exchange->group->size; r++)
        if (!exchange->theirs[r].accelerator)
            return false;
    return true;
}

static bool is_between(const hki_route *self, const hki_exchange *exchange)
{
    for (int r = 0; r < exchange->group->size; r++)
        if (self->devices[r] != exchange->theirs[r].accelerator)
            return false;
    return true;
}

static hki_route *find(const hki_exchange *exchange)
{
    hki_route *route = exchange->group->routes;
    while (route && !is_between(route, exchange))
        route = route->next;
    return route;
}

static hki_route *add(hki_exchange *exchange)
{
    hk_group *group = exchange->group;
    hki_route *self = calloc(1, sizeof *self + (size_t)group->size);
    if (!self || !(self->outcomes = calloc((size_t)group->size, sizeof *self->outcomes))) {
        free(self);
        return NULL;
    }
    self->device = exchange->accelerator;
    for (int r = 0; r < group->size; r++)
        self->devices[r] = exchange->theirs[r].accelerator;
    self->next = group->routes;
    group->routes = self;
    return self;
}

hki_route_kind hki_route_find(hki_link *link, hki_exchange *exchange)
{
    char why[HKI_CHANNEL_WHY];
    if (hki_exchange_is_couple(exchange) || !are_all_on_accelerators(exchange) ||
        !has_numbers(exchange))
        return HKI_ROUTE_BY_HOST;
    hki_route *route = exchange->route = find(exchange);
    if (!route && !(exchange->route = add(exchange))) {
        hki_link_fail(link, "host memory is short");
        return HKI_ROUTE_WAITS;
    }
    if (!route || !route->is_settled)
        return HKI_ROUTE_OPENS;
    if (!route->channel)
        return HKI_ROUTE_BY_HOST;
    switch (class_of(route->device)->poll(route->channel, why)) {
    case HKI_CHANNEL_DONE:
        return HKI_ROUTE_BY_CHANNEL;
    case HKI_CHANNEL_FAILED:
        hki_link_fail_channel(link, why);
        break;
    case HKI_CHANNEL_BUSY:
        break;
    }
    return HKI_ROUTE_WAITS;
}

const hk_status *hki_route_forbids_host(const hki_exchange *exchange)
{
    int demands = 0;
    for (int r = 0; r < exchange->group->size; r++)
        demands |= exchange->theirs[r].accelerator & HKI_DIRECT;
    if (!demands || hki_exchange_is_couple(exchange))
        return NULL;
    const hki_status_facts facts = {.operation = exchange->name,
                                    .file = exchange->source.file,
                                    .line = exchange->source.line,
                                    .sequence = exchange->sequence};
    const char *why = exchange->route && *exchange->route->why ? exchange->route->why
                      : are_all_on_accelerators(exchange)
                          ? "the library that moves data has no such numbers"
                          : "not all ranks have their arrays on accelerators";
    return hki_status_create(HK_UNSUPPORTED, &facts,
                             "data cannot go from device to device, as HOCKET_WORLD_ROUTE=direct "
                             "demands: %s",
                             why);
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

enum { IS_OPEN = 1, IS_NOT = -1 };

static void close_channel(hki_route *self)
{
    if (self->channel)
        class_of(self->device)->close(self->channel);
    self->channel = NULL;
}

/* The name, from the first rank; then what has become of it, from each to each. */
static bool begin(hki_link *link, hki_exchange *exchange)
{
    hki_route *self = exchange->route;
    const hk_group *group = exchange->group;
    if (!hki_exchange_reserve(link, exchange, 3 * group->size))
        return true;
    self->has_begun = true;
    if (group->rank > 0) {
        hki_exchange_receive(link, exchange, &self->offer, sizeof self->offer, 0, HKI_TAG_CHANNEL);
    } else {
        const bool is_good = class_of(self->device)
                                 ->make_name(self->device, self->offer.name, self->outcomes[0].why);
        self->offer.outcome = is_good ? IS_OPEN : IS_NOT;
        for (int r = 1; r < group->size; r++)
            hki_exchange_send(link, exchange, &self->offer, sizeof self->offer, r, HKI_TAG_CHANNEL);
    }
    for (int r = 0; r < group->size; r++)
        if (r != group->rank)
            hki_exchange_receive(link, exchange, &self->outcomes[r], sizeof *self->outcomes, r,
                                 HKI_TAG_CHANNEL);
    return true;
}

/* Among the messages of `begin`. */
static bool has_told_us(const hki_exchange *exchange, int rank)
{
    const hk_group *group = exchange->group;
    const int first = group->rank > 0 ? 1 : group->size - 1;
    return rank != group->rank && exchange->messages[first + rank - (rank > group->rank)].is_done;
}

/* What is known of it on this rank; 0: nothing yet. why: its own reason. */
static int32_t find_outcome(hki_exchange *exchange, char *why)
{
    hki_route *self = exchange->route;
    const hk_group *group = exchange->group;
    const hki_channel_class *class = class_of(self->device);
    if (group->rank > 0 && !exchange->messages[0].is_done)
        return 0;
    if (self->offer.outcome != IS_OPEN)
        return IS_NOT;
    for (int r = 0; r < group->size; r++)
        if (has_told_us(exchange, r) && self->outcomes[r].outcome != IS_OPEN)
            return IS_NOT;
    if (!self->channel)
        self->channel = class->open(self->device, self->offer.name, group->size, group->rank, why);
    if (!self->channel)
        return IS_NOT;
    const hki_channel_state state = class->poll(self->channel, why);
    return state == HKI_CHANNEL_BUSY ? 0 : state == HKI_CHANNEL_DONE ? IS_OPEN : IS_NOT;
}

static void tell(hki_link *link, hki_exchange *exchange, int32_t outcome)
{
    hki_route *self = exchange->route;
    const hk_group *group = exchange->group;
    hki_channel_outcome *own = &self->outcomes[group->rank];
    own->outcome = outcome;
    self->has_told = true;
    if (outcome == IS_NOT)
        close_channel(self);
    for (int r = 0; r < group->size; r++)
        if (r != group->rank)
            hki_exchange_send(link, exchange, own, sizeof *own, r, HKI_TAG_CHANNEL);
}

/* The reason is the same on all ranks. */
static void settle(hki_exchange *exchange)
{
    hki_route *self = exchange->route;
    hk_group *group = exchange->group;
    self->is_settled = true;
    for (int r = 0; r < group->size; r++) {
        hki_channel_outcome *its = &self->outcomes[r];
        its->why[sizeof its->why - 1] = '\0';
        if (its->outcome == IS_OPEN)
            continue;
        close_channel(self);
        if (*its->why && !*self->why)
            hki_format(self->why, sizeof self->why, "rank %d: %s", group->members[r], its->why);
    }
    /* Copies of the engine's, that nobody waits for, are better than those of the link. */
    const hki_route *any = group->routes;
    while (any && !any->channel)
        any = any->next;
    if (!any && group->world->route != HKI_WORLD_DIRECT)
        atomic_store(&group->goes_by_host, true);
}

bool hki_route_open(hki_link *link, hki_exchange *exchange)
{
    hki_route *self = exchange->route;
    if (!self->has_begun)
        return begin(link, exchange);
    bool all_done = true;
    for (int i = 0; i < exchange->message_count; i++)
        all_done = hki_exchange_is_message_done(link, exchange, i) && all_done;
    if (link->lost)
        return true;
    if (!self->has_told) {
        char *why = self->outcomes[exchange->group->rank].why;
        const int32_t outcome = find_outcome(exchange, why);
        if (outcome)
            tell(link, exchange, outcome);
        return outcome != 0;
    }
    if (all_done)
        settle(exchange);
    return all_done;
}

/* ---- by a channel ------------------------------------------------------------------------------------------------- */

static void await(hki_link *link, hki_exchange *exchange, hki_channel_task *task, const char *why)
{
    if (task)
        exchange->messages[exchange->message_count++] =
            (hki_message){.task = task,
                          .peer = (exchange->group->rank + 1) % exchange->group->size,
                          .is_joint = true};
    else
        hki_link_fail_channel(link, why);
}

void hki_route_move(hki_link *link, hki_exchange *exchange)
{
    const hki_route *self = exchange->route;
    char why[HKI_CHANNEL_WHY] = "";
    hki_channel_part *parts =
        calloc((size_t)exchange->part_count + 1, sizeof *parts); /* at least one */
    int count = 0;
    if (!parts || !hki_exchange_reserve(link, exchange, 1)) {
        hki_link_fail(link, "host memory is short");
        free(parts);
        return;
    }
    for (int i = 0; i < exchange->part_count; i++) {
        const hki_exchange_part *part = &exchange->parts[i];
        const size_t bytes = (size_t)part->size * hk_dtype_bytes(exchange->dtype);
        if (bytes)
            parts[count++] = (hki_channel_part){.from = hki_exchange_from(exchange, part),
                                                .to = hki_exchange_to(exchange, part),
                                                .bytes = bytes,
                                                .peer = part->peer};
    }
    if (count > 0)
        await(link, exchange, class_of(self->device)->move(self->channel, parts, count, why), why);
    free(parts);
}

void hki_route_sum(hki_link *link, hki_exchange *exchange)
{
    const hki_route *self = exchange->route;
    char why[HKI_CHANNEL_WHY] = "";
    if (!hki_exchange_reserve(link, exchange, 1) || !exchange->own.count)
        return;
    await(link, exchange,
          class_of(self->device)
              ->sum(self->channel, exchange->dtype, hki_exchange_operand(exchange, 0),
                    (size_t)exchange->own.count, why),
          why);
}

/* ---- by the host -------------------------------------------------------------------------------------------------- */

static bool copy(hki_link *link, hki_exchange *exchange, void *to, const void *from, size_t bytes)
{
    char why[HKI_CHANNEL_WHY] = "";
    const bool is_good =
        class_of(exchange->accelerator)->copy(exchange->accelerator, to, from, bytes, why);
    if (!is_good)
        hki_link_fail_channel(link, why);
    return is_good;
}

void *hki_route_stage(hki_link *link, hki_exchange *exchange, void *data, size_t bytes,
                      unsigned mode)
{
    if (!exchange->accelerator)
        return data;
    const size_t count = (size_t)exchange->staged_count;
    hki_staged *more = realloc(exchange->staged, (count + 1) * sizeof *more);
    void *host = more ? malloc(bytes) : NULL;
    if (more)
        exchange->staged = more;
    if (!host) {
        hki_link_fail(link, "host memory is short");
        return NULL;
    }
    more[exchange->staged_count++] =
        (hki_staged){.data = data, .host = host, .bytes = bytes, .is_written = mode & HKI_WRITE};
    return !(mode & HKI_READ) || copy(link, exchange, host, data, bytes) ? host : NULL;
}

void hki_route_unstage(hki_link *link, hki_exchange *exchange)
{
    for (int i = 0; i < exchange->staged_count; i++) {
        const hki_staged *its = &exchange->staged[i];
        if (its->is_written && !copy(link, exchange, its->data, its->host, its->bytes))
            return;
    }
}

void hki_route_copy_own(hki_link *link, hki_exchange *exchange)
{
    if (!exchange->accelerator) {
        hki_exchange_copy_own(exchange);
        return;
    }
    for (int i = 0; i < exchange->part_count; i++) {
        const hki_exchange_part *part = &exchange->parts[i];
        const size_t bytes = (size_t)part->size * hk_dtype_bytes(exchange->dtype);
        if (bytes && part->from >= 0 && part->to >= 0 &&
            !copy(link, exchange, hki_exchange_to(exchange, part),
                  hki_exchange_from(exchange, part), bytes))
            return;
    }
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

void hki_routes_close(hki_link *link)
{
    hki_world *world = link->world;
    pthread_mutex_lock(&world->lock);
    hk_group *groups = world->groups; /* those that come later have none */
    pthread_mutex_unlock(&world->lock);
    for (hk_group *group = groups; group; group = group->next)
        for (hki_route *route = group->routes; route; route = route->next)
            close_channel(route);
}
