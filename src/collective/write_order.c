/* In which order arrays go into buckets: gradients as they were last written, by the issue number
 * of their last writer. So the first bucket begins while a backward pass still works on what is in
 * the others, in whatever order a list names them.
 *
 * Ranks issue the same calls in the same order, replays too; so their orders are the same, and they
 * tell each other. Only gradients: a rank may have written other arrays by itself. */
#include "collective/write_order.h"
#include "engine/core/watch.h"

#include <stdlib.h>

typedef struct written {
    uint64_t last;
    int array;
} written;

static bool are_gradients(hk_array *const *arrays, int count)
{
    for (int i = 0; i < count; i++)
        if (!hki_storage_has(arrays[i]->storage, HKI_IS_GRADIENT))
            return false;
    return true;
}

/* Of all devices: a bucket waits for all of them. */
static uint64_t last_write(hk_array *const *arrays, int n)
{
    uint64_t last = 0;
    for (int d = 0; d < n; d++) {
        const uint64_t own = hki_writes_last(&arrays[d]->storage->var);
        last = own > last ? own : last;
    }
    return last;
}

static int compare(const void *a, const void *b)
{
    const written *x = a, *y = b;
    return x->last != y->last ? (x->last > y->last ? 1 : -1)
                              : (x->array > y->array) - (x->array < y->array);
}

bool hki_write_order(hk_array *const *arrays, int n, int count, bool by_write, int *order)
{
    written *all = malloc(((size_t)count + 1) * sizeof *all);
    if (!all)
        return false;
    const bool sorts = by_write && are_gradients(arrays, n * count);
    for (int i = 0; i < count; i++)
        all[i] = (written){sorts ? last_write(arrays + i * n, n) : 0, i};
    qsort(all, (size_t)count, sizeof *all, compare);
    for (int i = 0; i < count; i++)
        order[i] = all[i].array;
    free(all);
    return true;
}
