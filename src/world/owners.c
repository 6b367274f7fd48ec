/* Owner computes: which rank makes a call, and what has to be sent to it. All ranks keep the same
 * table of who has which values, for all make the same calls; so nothing is asked. */
#include "world/group.h"

#include <hocket/autograd.h>
#include <hocket/ops.h>
#include <hocket/owners.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct owned {
    hk_array *x; /* a handle; NULL: a free place in the table */
    int owner, writer;
    bool *has; /* by rank: its values are current there */
} owned;

struct hk_owners {
    hk_group *group;
    int rank, size;          /* of the group */
    const hk_status *absent; /* why an array cannot be read here; counted */
    owned *table;            /* by address, open addressing; never more than half full */
    size_t count, capacity;
};

static hk_owners no_memory = {.size = 0};

hk_owners *hk_owners_create(hk_group *group)
{
    static const hki_status_facts facts = {.operation = "owners"};
    hk_owners *self = calloc(1, sizeof *self);
    if (!self)
        return &no_memory;
    self->group = group ? group : hk_group_world();
    self->rank = hk_group_rank(self->group);
    self->size = hk_group_size(self->group);
    self->absent = hki_status_create(
        HK_INVALID_ARGUMENT, &facts,
        "rank %d does not have the array's current values; hk_owners_here, or hk_owners_at for a "
        "rank, sends them to where a call reads them",
        self->rank);
    return self;
}

void hk_owners_release(hk_owners *owners)
{
    if (!owners || owners == &no_memory)
        return;
    for (size_t i = 0; i < owners->capacity; i++)
        if (owners->table[i].x) {
            hk_array_release(owners->table[i].x);
            free(owners->table[i].has);
        }
    free(owners->table);
    hk_status_release(owners->absent);
    free(owners);
}

/* ---- the table --------------------------------------------------------------------------------
 */

static owned *place_of(owned *table, size_t capacity, const hk_array *x)
{
    size_t at = ((uintptr_t)x >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (at &= capacity - 1; table[at].x && table[at].x != x;)
        at = (at + 1) & (capacity - 1);
    return &table[at];
}

static owned *find(const hk_owners *self, const hk_array *x)
{
    owned *found = self->count && x ? place_of(self->table, self->capacity, x) : NULL;
    return found && found->x ? found : NULL;
}

static bool grow(hk_owners *self)
{
    const size_t capacity = self->capacity ? 2 * self->capacity : 64;
    owned *table = calloc(capacity, sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < self->capacity; i++)
        if (self->table[i].x)
            *place_of(table, capacity, self->table[i].x) = self->table[i];
    free(self->table);
    self->table = table;
    self->capacity = capacity;
    return true;
}

static bool add(hk_owners *self, hk_array *x, int owner)
{
    bool *has = calloc((size_t)self->size, sizeof *has);
    if (!has || (2 * self->count >= self->capacity && !grow(self))) {
        free(has);
        return false;
    }
    has[owner] = true;
    *place_of(self->table, self->capacity, x) =
        (owned){.x = hk_array_retain(x), .owner = owner, .writer = owner, .has = has};
    self->count++;
    return true;
}

hk_array *(hk_owners_zeros)(hk_owners *owners, int owner, hk_dims shape, hk_dtype dtype,
                            hk_device device)
{
    const char *operation = "owners_zeros";
    char why[256];
    uint64_t bytes;
    HKI_HOLD(held);
    hki_device *on = hki_device_hold(device, &held);
    if (!owners || !owners->size)
        return hki_array_create_failed(on, operation, NULL, 0,
                                       owners ? HK_OUT_OF_MEMORY : HK_INVALID_ARGUMENT,
                                       owners ? "out of host memory" : "argument owners is NULL");
    if (owner < 0 || owner >= owners->size)
        return hki_array_create_failed(on, operation, NULL, 0, HK_OUT_OF_RANGE,
                                       "owner is %d; expected one of the ranks 0 to %d", owner,
                                       owners->size - 1);
    if (!hki_dims_bytes(&shape, dtype, &bytes, why, sizeof why))
        return hki_array_create_failed(on, operation, NULL, 0, HK_INVALID_ARGUMENT, "%s", why);
    hk_array *x = owner == owners->rank || !on->class ? (hk_zeros)(shape, dtype, (hk_device){on})
                                                      : hki_array_create(on, shape, dtype);
    if (x->failed)
        return x;
    if (!add(owners, x, owner))
        return hki_array_create_failed(on, operation, NULL, 0, HK_OUT_OF_MEMORY,
                                       "out of host memory");
    if (owner != owners->rank)
        hki_array_withhold(x, operation, owners->absent);
    return x;
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static void refuse(const hk_access *accesses, int count, hk_code code, const char *message,
                   int index)
{
    char text[256];
    snprintf(text, sizeof text, message, index);
    bool is_told = false;
    for (int i = 0; i < count; i++)
        if (accesses[i].mode & (HK_WRITES | HK_ACCUMULATES) && accesses[i].x) {
            hki_array_fail_in_place(accesses[i].x, "owners_here", NULL, 0, code, "%s", text);
            is_told = true;
        }
    if (!is_told)
        hki_array_fail_in_place(NULL, "owners_here", NULL, 0, code, "%s", text);
}

static bool check(const hk_owners *self, const hk_access *accesses, int count)
{
    if (!self || !self->size || count < 1 || count > HK_MAX_ACCESSES || !accesses) {
        refuse(accesses, accesses && count <= HK_MAX_ACCESSES ? count : 0, HK_INVALID_ARGUMENT,
               "owners are NULL, or there are %d accesses, where 1 to 63 are expected", count);
        return false;
    }
    for (int i = 0; i < count; i++)
        if (!find(self, accesses[i].x)) {
            refuse(accesses, count, HK_INVALID_ARGUMENT,
                   "array %d has no owner here: it is not one that hk_owners_zeros made for these "
                   "owners; views are made behind the question, for the call",
                   i);
            return false;
        }
    return true;
}

static bool writes(const hk_access *access)
{
    return access->mode != HK_READS;
}

/* The rank gets the values, if it lacks them. */
static void send_to(hk_owners *self, int rank, owned *it)
{
    if (it->has[rank])
        return;
    it->has[rank] = true;
    if (self->rank == it->writer)
        hki_group_send_off_tape(self->group, it->x, rank);
    else if (self->rank == rank)
        hki_group_receive_into(self->group, it->x, it->writer);
}

/* From now on the rank alone has them. */
static void note_write(hk_owners *self, int rank, owned *it)
{
    const bool had = it->has[self->rank];
    memset(it->has, 0, (size_t)self->size * sizeof *it->has);
    it->has[rank] = true;
    it->writer = rank;
    if (had && self->rank != rank)
        hki_array_withhold(it->x, "owners_here", self->absent);
}

static bool is_here(hk_owners *self, int rank, const hk_access *accesses, int count)
{
    for (int i = 0; i < count; i++)
        if (accesses[i].mode != HK_WRITES)
            send_to(self, rank, find(self, accesses[i].x));
    for (int i = 0; i < count; i++)
        if (writes(&accesses[i]))
            note_write(self, rank, find(self, accesses[i].x));
    return rank == self->rank;
}

bool(hk_owners_here)(hk_owners *owners, const hk_access *accesses, int count)
{
    if (!check(owners, accesses, count))
        return false;
    int first = 0;
    while (first < count && !writes(&accesses[first]))
        first++;
    const owned *its = find(owners, accesses[first < count ? first : 0].x);
    return is_here(owners, its->owner, accesses, count);
}

bool(hk_owners_at)(hk_owners *owners, int rank, const hk_access *accesses, int count)
{
    if (!check(owners, accesses, count))
        return false;
    if (rank < 0 || rank >= owners->size) {
        refuse(accesses, count, HK_OUT_OF_RANGE, "rank is %d, which the group does not have", rank);
        return false;
    }
    return is_here(owners, rank, accesses, count);
}
