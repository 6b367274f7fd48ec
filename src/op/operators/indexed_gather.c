#include "op/operators/indexed_gather.h"

#include "array/integer_element.h"
#include "base/integer.h"
#include "op/operators/indexed_walk.h"

#include <hocket/base.h>

enum { BLOCK = 128 };

/* Where the next `count` entries of one row are; false where a number is out of range. */
static inline __attribute__((always_inline)) bool find_row(const hki_indexed_walk *walk,
                                                           hk_dtype dtype, int64_t count,
                                                           int64_t *places)
{
    const hki_tensor *x = walk->entries, *indices = walk->indices;
    const int last = walk->outer - 1;
    const int64_t size = x->dims[walk->axis], stride = x->strides[walk->axis];
    const int64_t step = last == walk->axis ? 0 : x->strides[last];
    int64_t at = walk->index, entry = walk->entry;
    for (int64_t i = 0; i < count; i++, at += indices->strides[last], entry += step) {
        const int64_t number = hki_index_load(dtype, indices->data, at);
        const int64_t index = number + (number >> 63 & size);
        if ((uint64_t)index >= (uint64_t)size)
            return false;
        places[i] = entry + index * stride;
    }
    return true;
}

static bool find_places(const hki_indexed_walk *walk, int64_t count, int64_t *places)
{
    const hk_dtype dtype = walk->indices->dtype;
    return dtype == HK_I64 ? find_row(walk, HK_I64, count, places)
                           : find_row(walk, dtype, count, places);
}

/* Says which of the next numbers is out of range. */
static void refuse(hki_indexed_walk *walk, const hki_kernel_call *call, int64_t piece)
{
    int64_t place;
    while (hki_indexed_walk_find(walk, call, piece, &place))
        hki_indexed_walk_step(walk);
}

#define GATHER(type)                                                                               \
    case sizeof(type):                                                                             \
        for (int64_t i = 0; i < count; i++)                                                        \
            ((type *)to)[i] = ((const type *)from)[places[i]];                                     \
        break;
static void gather(int64_t bytes, int64_t count, const void *from, const int64_t *places, void *to)
{
    switch (bytes) {
        GATHER(uint8_t)
        GATHER(uint16_t)
        GATHER(uint32_t)
        GATHER(uint64_t)
        GATHER(hk_complex)
    }
}

/* Past so many elements of a row. */
static void advance(hki_indexed_walk *walk, int64_t count)
{
    const int last = walk->outer - 1;
    walk->at[last] += count - 1;
    walk->index += (count - 1) * walk->indices->strides[last];
    if (last != walk->axis)
        walk->entry += (count - 1) * walk->entries->strides[last];
    hki_indexed_walk_step(walk);
}

void hki_indexed_gather(const hki_kernel_call *call, int64_t piece, int axis, int64_t begin,
                        int64_t end)
{
    const hki_tensor *x = &call->in[0], *indices = &call->in[1];
    const int64_t bytes = (int64_t)hk_dtype_bytes(x->dtype);
    int64_t places[BLOCK];
    hki_indexed_walk walk;
    hki_indexed_walk_init(&walk, indices, x, NULL, axis, begin);
    const int last = walk.outer - 1;
    for (int64_t i = begin, found = 0, count; i < end; i += found) {
        /* rows are short at times */
        for (found = 0; found < BLOCK && i + found < end; found += count) {
            count = hki_min(hki_min(end - i, BLOCK) - found, indices->dims[last] - walk.at[last]);
            if (!find_places(&walk, count, places + found)) {
                refuse(&walk, call, piece);
                return;
            }
            advance(&walk, count);
        }
        gather(bytes, found, x->data, places, (char *)call->out[0].data + i * bytes);
    }
}
