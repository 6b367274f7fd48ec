/* Dividing ranges: as rectangles in a grid of rows of one pitch. */
#include "engine/range.h"

typedef struct block {
    int64_t row, row_end, column, column_end; /* 0 <= column < column_end <= pitch */
} block;

typedef struct grid {
    uint64_t origin; /* where row 0 begins */
    int64_t pitch;
    hki_range_part_fn *part;
    void *argument;
    block by[3];
    int by_count;
} grid;

static void tell(const grid *self, const block *it, bool is_in)
{
    const int64_t width = it->column_end - it->column, rows = it->row_end - it->row;
    const uint64_t begin = self->origin + (uint64_t)(it->row * self->pitch + it->column);
    const bool is_flat = rows == 1 || width == self->pitch;
    const hki_range part = {.begin = begin,
                            .end = begin + (uint64_t)((rows - 1) * self->pitch + width),
                            .pitch = is_flat ? 0 : (uint32_t)self->pitch};
    self->part(self->argument, part, is_in);
}

/* Appends what is not empty. */
static void put(block list[3], int *count, block it)
{
    if (it.row < it.row_end && it.column < it.column_end)
        list[(*count)++] = it;
}

/* As at most three blocks. */
static int blocks_of(const grid *self, hki_range range, block list[3])
{
    const hki_range origin = {.begin = self->origin};
    const uint64_t pitch = (uint64_t)self->pitch;
    const int64_t column = (int64_t)hki_range_column(origin, range.begin, pitch);
    const int64_t row = ((int64_t)(range.begin - self->origin) - column) / self->pitch;
    const int64_t bytes = (int64_t)(range.end - range.begin);
    int count = 0;
    if (range.pitch) {
        const int64_t rows = bytes / self->pitch + 1, end = column + bytes % self->pitch;
        const int64_t here = end < self->pitch ? end : self->pitch;
        put(list, &count, (block){row, row + rows, column, here});
        put(list, &count, (block){row + 1, row + 1 + rows, 0, end - here});
        return count;
    }
    const int64_t end = column + bytes,
                  whole = end / self->pitch; /* rows that it reaches the end of */
    if (whole == 0) {
        put(list, &count, (block){row, row + 1, column, end});
        return count;
    }
    put(list, &count, (block){row, row + 1, column, self->pitch});
    put(list, &count, (block){row + 1, row + whole, 0, self->pitch});
    put(list, &count, (block){row + whole, row + whole + 1, 0, end % self->pitch});
    return count;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What of `it` is not in self->by[index], and in none behind that. */
static void divide(const grid *self, block it, int index)
{
    if (it.row >= it.row_end || it.column >= it.column_end)
        return;
    if (index == self->by_count) {
        tell(self, &it, false);
        return;
    }
    const block *by = &self->by[index];
    const block in = {most(it.row, by->row), least(it.row_end, by->row_end),
                      most(it.column, by->column), least(it.column_end, by->column_end)};
    if (in.row >= in.row_end || in.column >= in.column_end) {
        divide(self, it, index + 1);
        return;
    }
    tell(self, &in, true);
    divide(self, (block){it.row, in.row, it.column, it.column_end}, index + 1);
    divide(self, (block){in.row_end, it.row_end, it.column, it.column_end}, index + 1);
    divide(self, (block){in.row, in.row_end, it.column, in.column}, index + 1);
    divide(self, (block){in.row, in.row_end, in.column_end, it.column_end}, index + 1);
}

bool hki_range_divide(hki_range range, hki_range by, hki_range_part_fn *part, void *argument)
{
    const bool is_in = hki_range_contains(by, range);
    if (is_in || !hki_ranges_overlap(range, by)) {
        part(argument, range, is_in);
        return true;
    }
    if (range.pitch && by.pitch && range.pitch != by.pitch)
        return false;
    /* Without a pitch: one row that both lie in. */
    const hki_range *rows = range.pitch ? &range : &by;
    grid self = {.origin = rows->begin, .pitch = rows->pitch, .part = part, .argument = argument};
    if (!self.pitch) {
        self.origin = range.begin < by.begin ? range.begin : by.begin;
        self.pitch = INT64_MAX;
    }
    block own[3];
    self.by_count = blocks_of(&self, by, self.by);
    const int count = blocks_of(&self, range, own);
    for (int i = 0; i < count; i++)
        divide(&self, own[i], 0);
    return true;
}
