/* Elements from one place to another, whatever they mean. */
#include "op/elementwise/elementwise.h"
#include "op/shape/copy.h"
#include "op/shape/rectangle.h"

#include <stdlib.h>
#include <string.h>

/* Elements of a row that are copied sooner than a function is called for them. */
enum { SHORT = 8 };

/* Dense rows of so many bytes, of width to twice the width: a first and a last part, which overlap. */
#define SHORT_ROWS(width)                                                                          \
    for (; row < rows->count; row++) {                                                             \
        char first[width], last[width];                                                            \
        memcpy(first, from, width);                                                                \
        memcpy(last, from + bytes - (width), width);                                               \
        memcpy(to, first, width);                                                                  \
        memcpy(to + bytes - (width), last, width);                                                 \
        from += rows->in_step[0];                                                                  \
        to += rows->out_step;                                                                      \
    }
static bool copy_short(const hki_rows *rows, int64_t bytes)
{
    const char *from = rows->run.in[0];
    char *to = rows->run.out;
    int64_t row = 0;
    if (bytes < 4 || bytes > 64)
        return false;
    if (bytes <= 8)
        SHORT_ROWS(4)
    else if (bytes <= 16)
        SHORT_ROWS(8)
    else if (bytes <= 32)
        SHORT_ROWS(16)
    else
        SHORT_ROWS(32)
    return true;
}

#define COPY_LOOPS(type)                                                                           \
    static int64_t copy_##type(const hki_run *run)                                                 \
    {                                                                                              \
        const int64_t bytes = (int64_t)sizeof(type);                                               \
        if (run->in_step[0] == bytes && run->out_step == bytes) {                                  \
            if (run->out != run->in[0])                                                            \
                memcpy(run->out, run->in[0], (size_t)(run->n * bytes));                            \
            return -1;                                                                             \
        }                                                                                          \
        const char *from = run->in[0];                                                             \
        char *to = run->out;                                                                       \
        for (int64_t i = 0; i < run->n; i++) {                                                     \
            *(type *)to = *(const type *)from;                                                     \
            from += run->in_step[0];                                                               \
            to += run->out_step;                                                                   \
        }                                                                                          \
        return -1;                                                                                 \
    }                                                                                              \
    static int64_t rows_##type(const hki_rows *rows, hki_loop_fn loop)                             \
    {                                                                                              \
        const hki_run *run = &rows->run;                                                           \
        const int64_t bytes = (int64_t)sizeof(type);                                               \
        if (run->in_step[0] == bytes && run->out_step == bytes &&                                  \
            copy_short(rows, run->n * bytes))                                                      \
            return -1;                                                                             \
        if (run->n > SHORT)                                                                        \
            return hki_run_each(rows, loop);                                                       \
        for (int64_t row = 0; row < rows->count; row++) {                                          \
            const char *from = run->in[0] + row * rows->in_step[0];                                \
            char *to = run->out + row * rows->out_step;                                            \
            for (int64_t i = 0; i < run->n; i++) {                                                 \
                *(type *)to = *(const type *)from;                                                 \
                from += run->in_step[0];                                                           \
                to += run->out_step;                                                               \
            }                                                                                      \
        }                                                                                          \
        return -1;                                                                                 \
    }
COPY_LOOPS(uint8_t)
COPY_LOOPS(uint16_t)
COPY_LOOPS(uint32_t)
COPY_LOOPS(uint64_t)
COPY_LOOPS(hk_complex)

/* By the number of bytes. */
static const struct loops {
    hki_loop_fn run;
    hki_rows_fn rows;
} loops[] = {[sizeof(uint8_t)] = {copy_uint8_t, rows_uint8_t},
             [sizeof(uint16_t)] = {copy_uint16_t, rows_uint16_t},
             [sizeof(uint32_t)] = {copy_uint32_t, rows_uint32_t},
             [sizeof(uint64_t)] = {copy_uint64_t, rows_uint64_t},
             [sizeof(hk_complex)] = {copy_hk_complex, rows_hk_complex}};

/* ---- permuted axes ------------------------------------------------------------------------------------- */

/* The axis along which the input's elements lie closest; the last one where that is as good. */
static int closest_axis(const hki_walk_axes *axes)
{
    int closest = axes->ndim - 1;
    for (int axis = axes->ndim - 2; axis >= 0; axis--)
        if (axes->steps[axis][1] != 0 &&
            llabs(axes->steps[axis][1]) < llabs(axes->steps[closest][1]))
            closest = axis;
    return closest;
}

/* Elements of the axes [first, end). */
static int64_t size_of(const hki_walk_axes *axes, int first, int end)
{
    int64_t size = 1;
    for (int axis = first; axis < end; axis++)
        size *= axes->dims[axis];
    return size;
}

/* Bytes from the first element of operand `which` to element i of the axes [first, end). */
static int64_t offset_of(const hki_walk_axes *axes, int first, int end, int64_t i, int which)
{
    int64_t offset = 0;
    for (int axis = end - 1; axis >= first; axis--) {
        offset += i % axes->dims[axis] * axes->steps[axis][which];
        i /= axes->dims[axis];
    }
    return offset;
}

/* Entries [begin, end) of the axes up to `row`, each whole. */
static void copy_entries(const hki_kernel_call *call, const hki_walk_axes *axes, int row,
                         int64_t begin, int64_t end)
{
    const int last = axes->ndim - 1;
    const int64_t bytes = (int64_t)hki_dtype_bytes(call->out[0].dtype);
    const int64_t between = size_of(axes, row + 1, last);
    hki_rectangle part = {.columns = axes->dims[last],
                          .in_row = axes->steps[row][1],
                          .in_column = axes->steps[last][1],
                          .out_row = axes->steps[row][0],
                          .out_column = axes->steps[last][0]};
    for (int64_t i = begin; i < end; i += part.rows) {
        const int64_t rest = axes->dims[row] - i % axes->dims[row];
        part.rows = rest < end - i ? rest : end - i;
        const char *in = (const char *)call->in[0].data + offset_of(axes, 0, row + 1, i, 1);
        char *out = (char *)call->out[0].data + offset_of(axes, 0, row + 1, i, 0);
        for (int64_t j = 0; j < between; j++)
            hki_copy_rectangle(&part, bytes, in + offset_of(axes, row + 1, last, j, 1),
                               out + offset_of(axes, row + 1, last, j, 0));
    }
}

static void copy_permuted(const hki_kernel_call *call, const struct loops *self, int64_t begin,
                          int64_t end)
{
    hki_walk_axes axes;
    hki_walk_axes_init(&axes, call);
    const int row = closest_axis(&axes);
    const int64_t entry = size_of(&axes, row + 1, axes.ndim);
    const int64_t first = (begin + entry - 1) / entry, last = end / entry;
    if (row == axes.ndim - 1 || first >= last) {
        hki_walk_rows(call, begin, end, NULL, self->run, self->rows);
        return;
    }
    hki_walk_rows(call, begin, first * entry, NULL, self->run, self->rows);
    copy_entries(call, &axes, row, first, last);
    hki_walk_rows(call, last * entry, end, NULL, self->run, self->rows);
}

void hki_copy_elements(const hki_kernel_call *call, int64_t begin, int64_t end)
{
    const struct loops *self = &loops[hk_dtype_bytes(call->out[0].dtype)];
    if (begin >= end)
        return;
    if (call->in[0].is_contiguous)
        hki_walk_rows(call, begin, end, NULL, self->run, self->rows);
    else
        copy_permuted(call, self, begin, end);
}
