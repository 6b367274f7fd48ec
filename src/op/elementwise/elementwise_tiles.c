/* Short rows through the loops of elementwise.def: many rows become one dense run, in tiles that stay in the cache. What is one
 * row, or one column, for all rows is repeated there. */
#include "op/elementwise/elementwise.h"
#include "op/shape/rectangle.h"
#include "op/shape/spread.h"

enum {
    TILE_BYTES = 4096, /* of an operand; four of them fit a cache of the first level */
    /* Elements of a row: longer ones are as fast row by row, and sooner where a row has one number. */
    SHORT = 128,
    SHORT_COLUMN = 64,
};

/* How an operand's rows become dense. */
typedef enum layout {
    LAYOUT_DENSE,  /* they are */
    LAYOUT_EVEN,   /* all elements lie one step apart */
    LAYOUT_SAME,   /* it is the same row each time */
    LAYOUT_COLUMN, /* a row is one element, again and again */
    LAYOUT_TURNED, /* columns are dense, and apart: those of a transposed matrix */
    LAYOUT_APART
} layout;

static layout layout_of(const hki_row_operand *operand, int64_t n, int64_t step, int64_t row_step)
{
    if (row_step == 0)
        return LAYOUT_SAME;
    if (step == 0)
        return LAYOUT_COLUMN;
    if (row_step != n * step)
        return row_step == operand->bytes ? LAYOUT_TURNED : LAYOUT_APART;
    return operand->is_wide && step == operand->bytes ? LAYOUT_DENSE : LAYOUT_EVEN;
}

/* Fills the rest of `bytes` with what the first `size` of them are. */
static void repeat(char *memory, int64_t size, int64_t bytes)
{
    while (size < bytes) {
        const int64_t more = size < bytes - size ? size : bytes - size;
        memcpy(memory + size, memory, (size_t)more);
        size += more;
    }
}

static void load_column(const hki_row_operand *operand, const hki_spread *spread, int64_t rows,
                        const char *from, int64_t row_step, char *to)
{
    _Alignas(64) char column[TILE_BYTES + HKI_SPREAD_ROOM];
    operand->load(rows, from, row_step, column);
    hki_spread_run(spread, rows, column, to);
}

/* `rows` rows of n elements of it, dense. */
static void turn(const hki_row_operand *operand, int64_t rows, int64_t n, const char *from,
                 int64_t step, char *to)
{
    const hki_rectangle area = {.rows = rows,
                                .columns = n,
                                .in_row = operand->bytes,
                                .in_column = step,
                                .out_row = n * operand->bytes,
                                .out_column = operand->bytes};
    hki_copy_rectangle(&area, operand->bytes, from, to);
}

static void load_turned(const hki_row_operand *operand, int64_t rows, int64_t n, const char *from,
                        int64_t step, char *to)
{
    _Alignas(64) char narrow[TILE_BYTES];
    turn(operand, rows, n, from, step, operand->is_wide ? to : narrow);
    if (!operand->is_wide)
        operand->load(rows * n, narrow, operand->bytes, to);
}

/* Tiles of the rows: how many go into one, and how operands do. */
typedef struct tiles {
    const hki_row *row;
    const hki_rows *rows;
    int64_t most;
    layout in[HKI_WALK_MAX_INPUTS], out;
    hki_spread spread[HKI_WALK_MAX_INPUTS]; /* of columns */
} tiles;

static void tiles_init(tiles *self, const hki_row *row, const hki_rows *rows)
{
    const hki_run *run = &rows->run;
    int64_t bytes = row->out.wide_bytes;
    self->row = row;
    self->rows = rows;
    for (int i = 0; i < row->in_count; i++) {
        self->in[i] = layout_of(&row->in[i], run->n, run->in_step[i], rows->in_step[i]);
        if (self->in[i] == LAYOUT_COLUMN)
            hki_spread_init(&self->spread[i], row->in[i].wide_bytes, run->n);
        bytes = row->in[i].wide_bytes > bytes ? row->in[i].wide_bytes : bytes;
    }
    self->out = layout_of(&row->out, run->n, run->out_step, rows->out_step);
    self->most = TILE_BYTES / (bytes * run->n);
    if (self->most > rows->count)
        self->most = rows->count;
}

/* Once: what is the same in all tiles. */
static void load_same(const tiles *self, int i, char *memory)
{
    const hki_row_operand *operand = &self->row->in[i];
    const hki_run *run = &self->rows->run;
    operand->load(run->n, run->in[i], run->in_step[i], memory);
    repeat(memory, run->n * operand->wide_bytes, self->most * run->n * operand->wide_bytes);
}

/* Input i of `count` rows from row `first` on, dense: there, or in `memory`. */
static const char *load(const tiles *self, int i, int64_t first, int64_t count, char *memory)
{
    const hki_row_operand *operand = &self->row->in[i];
    const hki_run *run = &self->rows->run;
    const int64_t n = run->n, step = run->in_step[i], row_step = self->rows->in_step[i];
    const char *from = run->in[i] + first * row_step;
    switch (self->in[i]) {
    case LAYOUT_DENSE:
        return from;
    case LAYOUT_EVEN:
        operand->load(count * n, from, step, memory);
        break;
    case LAYOUT_SAME:
        break;
    case LAYOUT_COLUMN:
        load_column(operand, &self->spread[i], count, from, row_step, memory);
        break;
    case LAYOUT_TURNED:
        load_turned(operand, count, n, from, step, memory);
        break;
    case LAYOUT_APART:
        for (int64_t row = 0; row < count; row++)
            operand->load(n, from + row * row_step, step, memory + row * n * operand->wide_bytes);
        break;
    }
    return memory;
}

static void store(const tiles *self, int64_t count, const char *memory, char *to)
{
    const hki_row *row = self->row;
    const int64_t n = self->rows->run.n, step = self->rows->run.out_step;
    if (self->out == LAYOUT_EVEN) {
        row->store(count * n, memory, to, step);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        row->store(n, memory + i * n * row->out.wide_bytes, to + i * self->rows->out_step, step);
}

/* Apart, for its stack. */
static __attribute__((noinline)) int64_t run_tiles(const tiles *self)
{
    _Alignas(64) char memory[1 + HKI_WALK_MAX_INPUTS][TILE_BYTES + HKI_SPREAD_ROOM];
    const hki_row *row = self->row;
    const hki_rows *rows = self->rows;
    const bool is_out_dense = self->out == LAYOUT_DENSE;
    hki_run part = {.out_step = row->out.wide_bytes, .given = row};
    for (int i = 0; i < row->in_count; i++) {
        part.in_step[i] = row->in[i].wide_bytes;
        if (self->in[i] == LAYOUT_SAME)
            load_same(self, i, memory[i]);
    }
    for (int64_t first = 0, count; first < rows->count; first += count) {
        count = rows->count - first < self->most ? rows->count - first : self->most;
        part.n = count * rows->run.n;
        for (int i = 0; i < row->in_count; i++)
            part.in[i] = load(self, i, first, count, memory[i]);
        char *to = rows->run.out + first * rows->out_step;
        part.out = is_out_dense ? to : memory[HKI_WALK_MAX_INPUTS];
        const int64_t refused = row->loop(&part);
        if (refused >= 0)
            return first * rows->run.n + refused;
        if (!is_out_dense)
            store(self, count, part.out, to);
    }
    return -1;
}

static bool are_short(const hki_row *row, const hki_rows *rows)
{
    bool has_column = false;
    for (int i = 0; i < row->in_count; i++)
        has_column |= rows->run.in_step[i] == 0 && rows->in_step[i] != 0;
    return rows->count > 1 && rows->run.n <= (has_column ? SHORT_COLUMN : SHORT);
}

int64_t hki_row_run_rows(const hki_rows *rows, hki_loop_fn loop)
{
    const hki_row *row = rows->run.given;
    if (!are_short(row, rows)) {
        int64_t bytes[HKI_WALK_MAX_INPUTS];
        for (int i = 0; i < row->in_count; i++)
            bytes[i] = row->in[i].bytes;
        if (hki_rows_are_turned(rows, bytes))
            return hki_run_turned(rows, bytes, loop);
        return hki_run_each(rows, hki_row_is_direct(row, &rows->run) ? row->loop : loop);
    }
    tiles self;
    tiles_init(&self, row, rows);
    return run_tiles(&self);
}
