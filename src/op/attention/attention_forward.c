/* Results of attention, a block of queries after the other. */
#include "op/attention/attention_work.h"

#include <math.h>
#include <string.h>

size_t hki_attention_scratch_bytes(const hki_attention *of, bool is_gradient)
{
    hki_attention_work work;
    return hki_attention_work_init(&work, of, is_gradient, NULL);
}

/* Where query i's row is 0 in all exponentials: its mask leaves it no key, or all scores are minus
 * infinity. */
static bool sees_none(const hki_attention *of, int64_t i)
{
    const int64_t item = of->mask_is_bool ? 1 : of->f64 ? 8 : 4;
    if (!of->mask.data)
        return of->m == 0;
    const char *mask = (const char *)of->mask.data + i * of->mask.row * item;
    for (int64_t j = 0; j < of->m; j++) {
        const void *at = mask + j * of->mask.column * item;
        if (of->mask_is_bool ? *(const uint8_t *)at != 0
            : of->f64        ? *(const double *)at != -INFINITY
                             : *(const float *)at != -INFINITY)
            return false;
    }
    return true;
}

/* A query that sees no key gives 0, and one that sees scores of minus infinity alone NaN. */
static void settle(const hki_attention_work *work, const hki_attention_tile *tile, int64_t first)
{
    const hki_attention *of = work->of;
    const size_t row = (size_t)(of->e * work->item), saved = (size_t)(work->saved_row * work->item);
    for (int64_t r = 0; r < tile->rows; r++) {
        if (tile->sum[r] != 0)
            continue;
        if (!sees_none(of, first + r)) {
            tile->sum[r] = (double)NAN;
            continue;
        }
        tile->sum[r] = (double)INFINITY; /* the inverse is 0 */
        memset((char *)tile->y + (size_t)r * row, 0, row);
        memset((char *)tile->saved + (size_t)r * saved, 0, saved);
    }
}

/* The scores of a pair of blocks, weighed; and what they add to the results. */
static void add_pair(const hki_attention_work *work, const hki_attention_block *query,
                     const hki_attention_pair *pair, hki_attention_tile *tile)
{
    const hki_attention *of = work->of;
    const int64_t rows = tile->rows, columns = tile->columns;
    const hki_attention_sight sight = hki_attention_look(work, tile, pair->i0, pair->j0);
    if (sight == HKI_ATTENTION_NONE)
        return;
    hki_attention_block key =
        hki_attention_rows_of(work, &of->key, pair->j0, columns, of->d, work->key);
    hki_attention_block value =
        hki_attention_rows_of(work, &of->value, pair->j0, columns, of->e, work->value);
    if (sight == HKI_ATTENTION_SOME)
        hki_attention_leave_out(work, &value, columns, of->e, work->seen, work->value);
    hki_attention_multiply(work, &(const hki_attention_product){.a = *query,
                                                                .b = key,
                                                                .c = {tile->scores, tile->row},
                                                                .m = rows,
                                                                .n = columns,
                                                                .k = of->d,
                                                                .turns_b = true});
    HKI_ATTENTION_CALL(work, weigh, tile);
    hki_attention_multiply(work, &(const hki_attention_product){.a = {tile->scores, tile->row},
                                                                .b = value,
                                                                .c = {tile->y, of->e},
                                                                .m = rows,
                                                                .n = of->e,
                                                                .k = columns,
                                                                .adds = !tile->is_first});
    tile->is_first = false;
}

static void forward_block(const hki_attention_work *work, int64_t block)
{
    const hki_attention *of = work->of;
    const int64_t first = block * work->query_block, left = of->n - first;
    const int64_t rows = left < work->query_block ? left : work->query_block;
    const int64_t key_blocks = hki_attention_key_blocks(of);
    const hki_attention_block query =
        hki_attention_rows_of(work, &of->query, first, rows, of->d, work->query);
    bool is_first = true;
    hki_attention_pair pair;
    for (int64_t i = 0; i < key_blocks && hki_attention_pair_of(work, block, i, &pair); i++) {
        const int64_t skipped = pair.i0 - first;
        const hki_attention_block its = {hki_attention_at(work, query.data, skipped * query.row),
                                         query.row};
        void *saved = hki_attention_at(work, of->saved, work->saved_row * pair.i0);
        hki_attention_tile tile = {.rows = pair.i1 - pair.i0,
                                   .columns = pair.j1 - pair.j0,
                                   .row = work->keeps ? work->saved_row : work->row,
                                   .sees = of->causal ? pair.i0 - pair.j0 : of->m,
                                   .scale = of->scale,
                                   .scores = work->keeps ? hki_attention_at(work, saved, 2)
                                                         : work->scores,
                                   .saved = saved,
                                   .saved_row = work->saved_row,
                                   .sum = work->sum + skipped,
                                   .y = hki_attention_at(work, of->y, pair.i0 * of->e),
                                   .outputs = of->e,
                                   .is_first = is_first};
        add_pair(work, &its, &pair, &tile);
        is_first = tile.is_first;
    }
    const hki_attention_tile whole = {
        .rows = rows,
        .saved = hki_attention_at(work, of->saved, work->saved_row * first),
        .saved_row = work->saved_row,
        .sum = work->sum,
        .y = hki_attention_at(work, of->y, first * of->e),
        .outputs = of->e};
    if (is_first)
        memset(work->sum, 0, (size_t)rows * sizeof *work->sum);
    settle(work, &whole, first);
    HKI_ATTENTION_CALL(work, finish, &whole);
}

void hki_attention_forward(const hki_attention *of, int64_t begin, int64_t end, void *scratch)
{
    hki_attention_work work;
    hki_attention_work_init(&work, of, false, scratch);
    for (int64_t block = begin; block < end; block++)
        forward_block(&work, block);
}
