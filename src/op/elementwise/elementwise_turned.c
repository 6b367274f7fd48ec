/* Rows of operands of which some are transposed: their columns are dense, and apart. These are brought into the cache by bands of
 * rows, as many as lie in one cache line of a column, so that a loop gets rows. */
#include "op/elementwise/elementwise.h"
#include "op/shape/rectangle.h"

enum {
    COLUMNS = 128,   /* of a band at a time: two operands fit a cache of the first level */
    LEAST_BYTES = 16 /* of a column: less is as fast element by element */
};
enum { LINE_BYTES = 64 };

static bool is_turned(const hki_rows *rows, const int64_t *bytes, int i)
{
    return rows->in_step[i] == bytes[i] && rows->run.in_step[i] != bytes[i] &&
           rows->run.in_step[i] != 0 && rows->count * bytes[i] >= LEAST_BYTES;
}

bool hki_rows_are_turned(const hki_rows *rows, const int64_t *bytes)
{
    bool are = false;
    for (int i = 0; i < rows->in_count; i++)
        are |= is_turned(rows, bytes, i);
    return are;
}

/* Of `count` rows from `first` on, and part->n elements of each from `column` on; fills in part->in and part->out. Returns the
 * first row of which one is refused, with *place its column; `count`: there is none. */
static int64_t run_part(const hki_rows *rows, const int64_t *bytes, hki_loop_fn loop, hki_run *part,
                        int64_t first, int64_t count, int64_t column, int64_t *place)
{
    _Alignas(64) char memory[HKI_WALK_MAX_INPUTS][COLUMNS * LINE_BYTES];
    int64_t row_step[HKI_WALK_MAX_INPUTS];
    for (int i = 0; i < rows->in_count; i++) {
        const int64_t step = rows->run.in_step[i];
        const char *from = rows->run.in[i] + first * rows->in_step[i] + column * step;
        part->in[i] = from;
        part->in_step[i] = step;
        row_step[i] = rows->in_step[i];
        if (!is_turned(rows, bytes, i))
            continue;
        part->in[i] = memory[i];
        part->in_step[i] = bytes[i];
        row_step[i] = part->n * bytes[i];
        const hki_rectangle area = {.rows = count,
                                    .columns = part->n,
                                    .in_row = bytes[i],
                                    .in_column = step,
                                    .out_row = row_step[i],
                                    .out_column = bytes[i]};
        hki_copy_rectangle(&area, bytes[i], from, memory[i]);
    }
    part->out = rows->run.out + first * rows->out_step + column * part->out_step;
    for (int64_t i = 0; i < count; i++) {
        const int64_t refused = loop(part);
        if (refused >= 0) {
            *place = column + refused;
            return i;
        }
        for (int j = 0; j < rows->in_count; j++)
            part->in[j] += row_step[j];
        part->out += rows->out_step;
    }
    return count;
}

static int64_t rows_of_band(const hki_rows *rows, const int64_t *bytes)
{
    int64_t most = 1;
    for (int i = 0; i < rows->in_count; i++)
        if (is_turned(rows, bytes, i) && bytes[i] > most)
            most = bytes[i];
    return LINE_BYTES / most;
}

int64_t hki_run_turned(const hki_rows *rows, const int64_t *bytes, hki_loop_fn loop)
{
    const int64_t n = rows->run.n, most = rows_of_band(rows, bytes);
    hki_run part = rows->run;
    for (int64_t first = 0; first < rows->count; first += most) {
        int64_t count = rows->count - first < most ? rows->count - first : most, refused = -1;
        for (int64_t column = 0, place; column < n && count > 0; column += part.n) {
            part.n = n - column < COLUMNS ? n - column : COLUMNS;
            const int64_t row = run_part(rows, bytes, loop, &part, first, count, column, &place);
            if (row == count)
                continue;
            refused = (first + row) * n + place;
            count = row; /* only the rows before it may have one that comes first */
        }
        if (refused >= 0)
            return refused;
    }
    return -1;
}
