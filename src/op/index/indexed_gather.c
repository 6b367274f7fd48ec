#include "op/index/indexed_gather.h"

#include "array/integer_element.h"
#include "base/integer.h"
#include "op/index/indexed_walk.h"

#include <hocket/base.h>

/* Says which of the next numbers is out of range. */
static void refuse(hki_indexed_walk *walk, const hki_kernel_call *call, int64_t piece)
{
    int64_t place;
    while (hki_indexed_walk_find(walk, call, piece, &place))
        hki_indexed_walk_step(walk);
}

/* Past so many elements of the last of some rows. */
static void advance(hki_indexed_walk *walk, int64_t rows, int64_t count)
{
    const int last = walk->outer - 1;
    const int64_t steps[] = {rows - 1, count - 1};
    for (int i = 0; i < 2; i++) {
        const int axis = last - 1 + i;
        if (steps[i] == 0)
            continue;
        walk->at[axis] += steps[i];
        walk->index += steps[i] * walk->indices->strides[axis];
        if (axis != walk->axis)
            walk->entry += steps[i] * walk->entries->strides[axis];
    }
    hki_indexed_walk_step(walk);
}

/* Elements of rows by their numbers. Steps in elements, from one number to the next, and from row to row. */
typedef struct rows {
    const int64_t *numbers;
    int64_t number_step, row_numbers;
    const void *from;
    int64_t step, row_step;
    int64_t size, stride; /* of the axis that numbers name */
    int64_t count;
} rows;

enum { BLOCK = 128 }; /* numbers of other dtypes that become int64 at a time */

static void rows_init(rows *self, const hki_indexed_walk *walk)
{
    const hki_tensor *x = walk->entries, *indices = walk->indices;
    const int last = walk->outer - 1, before = last - 1;
    *self = (rows){.number_step = indices->dtype == HK_I64 ? indices->strides[last] : 1,
                   .row_numbers = last > 0 ? indices->strides[before] : 0,
                   .step = last == walk->axis ? 0 : x->strides[last],
                   .row_step = last > 0 && before != walk->axis ? x->strides[before] : 0,
                   .size = x->dims[walk->axis],
                   .stride = x->strides[walk->axis]};
}

/* `count` of each row, from where the walk stands on; numbers that are not int64, of one row, go into `numbers`. */
static void rows_set(rows *self, const hki_indexed_walk *walk, int64_t bytes, int64_t count,
                     int64_t *numbers)
{
    const hki_tensor *indices = walk->indices;
    const int64_t step = indices->strides[walk->outer - 1];
    self->from = (const char *)walk->entries->data + walk->entry * bytes;
    self->numbers = numbers;
    if (indices->dtype == HK_I64)
        self->numbers = (const int64_t *)indices->data + walk->index;
    else
        for (int64_t i = 0; i < count; i++)
            numbers[i] = hki_index_load(indices->dtype, indices->data, walk->index + i * step);
}

/* False where a number is out of range. Few are negative. */
#define GATHER_ROW(type)                                                                           \
    static inline __attribute__((always_inline)) bool row_##type(                                  \
        const int64_t *numbers, int64_t number_step, const type *from, int64_t step, int64_t size, \
        int64_t stride, int64_t count, type *to)                                                   \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++, from += step) {                                        \
            int64_t index = numbers[i * number_step];                                              \
            if (__builtin_expect((uint64_t)index >= (uint64_t)size, false)) {                      \
                index += index < 0 ? size : 0;                                                     \
                if ((uint64_t)index >= (uint64_t)size)                                             \
                    return false;                                                                  \
            }                                                                                      \
            to[i] = from[index * stride];                                                          \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    static bool gather_##type(const rows *self, int64_t count, void *out)                          \
    {                                                                                              \
        const bool is_even = self->stride == 1 && self->number_step == 1 && self->step == 0;       \
        for (int64_t row = 0; row < self->count; row++) {                                          \
            const int64_t *numbers = self->numbers + row * self->row_numbers;                      \
            const type *from = (const type *)self->from + row * self->row_step;                    \
            type *to = (type *)out + row * count;                                                  \
            if (!(is_even ? row_##type(numbers, 1, from, 0, self->size, 1, count, to)              \
                          : row_##type(numbers, self->number_step, from, self->step, self->size,   \
                                       self->stride, count, to)))                                  \
                return false;                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }
GATHER_ROW(uint8_t)
GATHER_ROW(uint16_t)
GATHER_ROW(uint32_t)
GATHER_ROW(uint64_t)
GATHER_ROW(hk_complex)

/* By the number of bytes. */
static bool (*const gathers[])(const rows *self, int64_t count, void *out) = {
    [sizeof(uint8_t)] = gather_uint8_t,       [sizeof(uint16_t)] = gather_uint16_t,
    [sizeof(uint32_t)] = gather_uint32_t,     [sizeof(uint64_t)] = gather_uint64_t,
    [sizeof(hk_complex)] = gather_hk_complex,
};

void hki_indexed_gather(const hki_kernel_call *call, int64_t piece, int axis, int64_t begin,
                        int64_t end)
{
    const hki_tensor *x = &call->in[0], *indices = &call->in[1];
    const int64_t bytes = (int64_t)hk_dtype_bytes(x->dtype);
    const int64_t most = indices->dtype == HK_I64 ? INT64_MAX : BLOCK;
    int64_t numbers[BLOCK];
    hki_indexed_walk walk;
    hki_indexed_walk_init(&walk, indices, x, NULL, axis, begin);
    const int last = walk.outer - 1;
    rows self;
    rows_init(&self, &walk);
    for (int64_t i = begin, count; i < end; i += self.count * count) {
        char *to = (char *)call->out[0].data + i * bytes;
        count = hki_min(hki_min(end - i, indices->dims[last] - walk.at[last]), most);
        self.count = 1;
        if (indices->dtype == HK_I64 && last > 0 && count == indices->dims[last])
            self.count = hki_min((end - i) / count, indices->dims[last - 1] - walk.at[last - 1]);
        rows_set(&self, &walk, bytes, count, numbers);
        if (!gathers[bytes](&self, count, to)) {
            refuse(&walk, call, piece);
            return;
        }
        advance(&walk, self.count, count);
    }
}
