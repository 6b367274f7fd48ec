/* The order in which arrays of all ranks' devices are added. */
#include "base/sum_tree.h"
#include "collective/reduce_task.h"
#include "world/group.h"

#include <stdlib.h>

static bool is_leaf(int first, int count, int arrays)
{
    return first / arrays == (first + count - 1) / arrays;
}

static void find_leaves(int first, int count, int arrays, hki_sum_leaf *leaves, int *found)
{
    if (is_leaf(first, count, arrays)) {
        leaves[(*found)++] = (hki_sum_leaf){first / arrays, first % arrays, count};
        return;
    }
    const int half = (int)hki_sum_half(count);
    find_leaves(first, half, arrays, leaves, found);
    find_leaves(first + half, count - half, arrays, leaves, found);
}

int hki_sum_leaves(int size, int arrays, hki_sum_leaf **leaves)
{
    int found = 0;
    *leaves = malloc((size_t)size * (size_t)arrays * sizeof **leaves);
    if (*leaves)
        find_leaves(0, size * arrays, arrays, *leaves, &found);
    return found;
}

enum { MOST_INPUTS = 64 }; /* that accelerators add at once */

/* ---- summing ------------------------------------------------------------------------------------------------- */

typedef struct summing {
    hki_device *device;
    const char *operation;
    int arrays;
    hk_array *const *inputs; /* of each leaf */
    int64_t end;
    hk_dtype dtype;
} summing;

static int leaves_below(int first, int count, int arrays)
{
    if (is_leaf(first, count, arrays))
        return 1;
    const int half = (int)hki_sum_half(count);
    return leaves_below(first, half, arrays) + leaves_below(first + half, count - half, arrays);
}

/* Over its leaves the tree is that of a sum of so many arrays, which one task does. */
static bool is_plain(int first, int count, int arrays)
{
    const int leaves = leaves_below(first, count, arrays);
    if (leaves == 1)
        return true;
    if (leaves > MOST_INPUTS)
        return false;
    const int half = (int)hki_sum_half(count);
    return leaves_below(first, half, arrays) == (int)hki_sum_half(leaves) &&
           is_plain(first, half, arrays) && is_plain(first + half, count - half, arrays);
}

static void sum_into(const summing *self, int first, int count, int leaf, hk_array *output);

/* The sum over a part of the tree: an input, or a new array of the scope. */
static hk_array *sum_of(const summing *self, int first, int count, int leaf)
{
    if (is_leaf(first, count, self->arrays))
        return self->inputs[leaf];
    hk_array *sum = hki_array_create(self->device, hk_shape(self->end), self->dtype);
    if (!sum->failed)
        sum_into(self, first, count, leaf, sum);
    return sum;
}

/* leaf: the first below. */
static void sum_into(const summing *self, int first, int count, int leaf, hk_array *output)
{
    const int half = (int)hki_sum_half(count);
    if (is_plain(first, count, self->arrays)) {
        hki_reduce_issue(self->device, self->operation, self->inputs + leaf,
                         leaves_below(first, count, self->arrays), &output, 1, 0, self->end);
        return;
    }
    hk_array *const pair[] = {
        sum_of(self, first, half, leaf),
        sum_of(self, first + half, count - half, leaf + leaves_below(first, half, self->arrays))};
    for (int i = 0; i < 2; i++)
        if (pair[i]->failed) {
            hki_array_fail_in_place(output, self->operation, &pair[i], 1, HK_OUT_OF_MEMORY,
                                    "out of host memory");
            return;
        }
    hki_reduce_issue(self->device, self->operation, pair, 2, &output, 1, 0, self->end);
}

void hki_sum_leaves_issue(hki_device *device, const char *operation, const hki_sum_leaf *leaves,
                          int leaf_count, int arrays, hk_array *const *inputs, hk_array *output,
                          int64_t end)
{
    const hki_sum_leaf *last = &leaves[leaf_count - 1];
    const int total = last->rank * arrays + last->first + last->count;
    const summing self = {device, operation, arrays, inputs, end, inputs[0]->dtype};
    if (end > 0)
        sum_into(&self, 0, total, 0, output);
}
