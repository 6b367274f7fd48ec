/* One program on many ranks, by its calls: all ranks run the same loops over the same arrays, each
 * array has an owner, and a call is made by the rank that owns what it writes. What that rank lacks
 * is sent to it. So a tiled program goes to several machines by a question in front of each call:
 *
 *     hk_owners *owners = hk_owners_create(hk_group_world());
 *     hk_array *a = hk_owners_zeros(owners, 0, hk_shape(n, n), HK_F32, (hk_device){NULL});
 *     hk_array *b = hk_owners_zeros(owners, 1, hk_shape(n, n), HK_F32, (hk_device){NULL});
 *     ...
 *     if (hk_owners_here(owners, HK_ACCESS(hk_reads(a), hk_updates(b))))
 *         hk_addmm_into(b, b, a, a, NULL);   // on rank 1, after a has come from rank 0
 *
 * Values are those of one rank that makes all the calls, bit for bit. The answers follow from the
 * calls alone: ranks do not talk to each other about them, and nothing here waits. Each rank keeps
 * a copy of what it has received until another rank writes the array. An array whose current values
 * a rank does not have is failed there (HK_INVALID_ARGUMENT), so that nobody reads old ones.
 *
 * Externally synchronised. While recording, nothing that is moved gets a gradient. */
#ifndef HOCKET_OWNERS_H
#define HOCKET_OWNERS_H

#include <hocket/kernel.h>
#include <hocket/world.h>

HK_BEGIN_DECLS

typedef struct hk_owners hk_owners;

/* Every rank of the group makes one, and then makes the same calls with it, in the same order. NULL
 * for group: all ranks. Never NULL; where host memory is short, or the group has failed, its arrays
 * are failed, and no rank is to make a call. Release it with hk_owners_release. Does not block. */
HK_API hk_owners *hk_owners_create(hk_group *group);
/* Its arrays stay as they are. NULL does nothing. */
HK_API void hk_owners_release(hk_owners *owners);

/* A new array of zeros, of the current scope, which belongs to this rank of the group; the others
 * have the handle, and memory once they need its values. device: on each rank; zeroed: the default
 * one. The owners keep a handle of it. Errors give a failed array: an owner that is no rank, a
 * shape. Does not block. */
HK_API hk_array *hk_owners_zeros(hk_owners *owners, int owner, hk_dims shape, hk_dtype dtype,
                                 hk_device device);

/* Whether this rank is to make the call that uses these arrays so: the owner of the first one that
 * it writes, or, where it writes none, of the first. To that rank goes what it lacks of what is
 * read; what is written is then current there alone. All arrays are hk_owners_zeros's, of these
 * owners and whole, views are made between the question and the call. One that is not: what would
 * be written fails, and no rank makes the call. Does not block, but for a full run-ahead window. */
HK_API bool hk_owners_here(hk_owners *owners, const hk_access *accesses, int count);
/* The same where this rank of the group is to make the call: to print a result, or to balance. */
HK_API bool hk_owners_at(hk_owners *owners, int rank, const hk_access *accesses, int count);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT(hk_array *, hk_owners_zeros,
      (hk_source at, hk_owners *owners, int owner, hk_dims shape, hk_dtype dtype, hk_device device),
      (owners, owner, shape, dtype, device))
#define hk_owners_zeros(...) hk_owners_zeros_at(HK_SOURCE, __VA_ARGS__)
HK_AT(bool, hk_owners_here, (hk_source at, hk_owners *owners, const hk_access *accesses, int count),
      (owners, accesses, count))
#define hk_owners_here(...) hk_owners_here_at(HK_SOURCE, __VA_ARGS__)
HK_AT(bool, hk_owners_at,
      (hk_source at, hk_owners *owners, int rank, const hk_access *accesses, int count),
      (owners, rank, accesses, count))
#define hk_owners_at(...) hk_owners_at_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
