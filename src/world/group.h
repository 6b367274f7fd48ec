/* Shared by the functions of groups. */
#ifndef HOCKET_WORLD_GROUP_H
#define HOCKET_WORLD_GROUP_H

#include "op/op.h"
#include "world/exchange.h"

/* NULL; or why nothing can be done with it, counted. */
const hk_status *hki_group_check(const hk_group *group);

/* What a public function of a group is about to do. */
typedef struct hki_group_work {
    hk_group *group;
    hki_world_operation operation;
    hk_array *const *arrays; /* borrowed */
    int count;
    int peer; /* in the group; -1: all */
} hki_group_work;

/* The call cannot be made on this rank. The others are told, so that it fails on them too; no array is written, those of work
 * fail if fails_arrays. Returns a failed array of the scope by the record. */
hk_array *hki_group_refuse(const hki_group_work *work, bool fails_arrays, hk_code code,
                           const char *format, ...) HK_PRINTF(4, 5);
/* The array may be given to another rank: it is there, and has dimensions. Else false, with why it cannot. */
bool hki_group_may_read(hk_array *x, char *why, size_t bytes);
/* It may be overwritten too. */
bool hki_group_may_write(hk_array *x, hk_code *code, char *why, size_t bytes);

/* The host device on whose queue the group's work for an array is done. */
static inline hki_device *hki_group_device(const hk_array *x)
{
    hki_device *device = x->storage->device;
    return hki_device_is_host(device) ? device : hki_device_of_host(device);
}

/* The elements in contiguous memory of the place, of the scope: x itself, or a copy on its way. place: a host device, or an
 * accelerator that reaches x's memory (hki_group_place). */
hk_array *hki_group_at(hki_device *place, hk_array *x, const char *operation);

/* hk_group_send, and hk_group_receive into an array without gaps, off the tape: between two ranks
 * of the group. */
void hki_group_send_off_tape(hk_group *group, hk_array *x, int to);
void hki_group_receive_into(hk_group *group, hk_array *x, int from);

/* ---- sums (group_sum.c) --------------------------------------------------------------------------------------- */

/* Over the devices of all ranks, rank by rank, in the order of base/sum_tree.h. A leaf is a part of that tree that one rank sums
 * by itself. */
typedef struct hki_sum_leaf {
    int rank;         /* in the group */
    int first, count; /* of its arrays */
} hki_sum_leaf;
/* *leaves: size * arrays at most, to be freed. Returns how many; 0: no memory. */
int hki_sum_leaves(int size, int arrays, hki_sum_leaf **leaves);
/* Elements [0, end) of the output become the sum of those of inputs[i], one for each leaf; it is one of them, or shares no memory
 * with any. Issues tasks. */
void hki_sum_leaves_issue(hki_device *device, const char *operation, const hki_sum_leaf *leaves,
                          int leaf_count, int arrays, hk_array *const *inputs, hk_array *output,
                          int64_t end);

#endif
