/* Gradients of attention: the weights are made anew, block by block, of what was saved. */
#include "op/attention/attention_work.h"

#include <string.h>

/* Blocks of a pair, without what is not seen. */
typedef struct sides {
    hki_attention_block query, dy, key, value;
} sides;

/* Queries that see no key have 0 for the inverse of their sum. Nothing of them counts. */
static void leave_out_queries(const hki_attention_work *work, const hki_attention_pair *pair,
                              sides *its)
{
    const hki_attention *of = work->of;
    const int64_t rows = pair->i1 - pair->i0;
    const char *saved = hki_attention_at(work, of->saved, work->saved_row * pair->i0 + 1);
    bool all = true;
    for (int64_t r = 0; r < rows; r++, saved += work->saved_row * work->item) {
        work->seen[r] = of->f64 ? *(const double *)(const void *)saved != 0
                                : *(const float *)(const void *)saved != 0;
        all &= work->seen[r];
    }
    if (all)
        return;
    hki_attention_leave_out(work, &its->query, rows, of->d, work->seen, work->query);
    hki_attention_leave_out(work, &its->dy, rows, of->e, work->seen, work->dy);
}

static sides sides_of(const hki_attention_work *work, const hki_attention_pair *pair)
{
    const hki_attention *of = work->of;
    const int64_t rows = pair->i1 - pair->i0, columns = pair->j1 - pair->j0;
    return (sides){
        .query = hki_attention_rows_of(work, &of->query, pair->i0, rows, of->d, work->query),
        .dy = hki_attention_rows_of(work, &of->dy, pair->i0, rows, of->e, work->dy),
        .key = hki_attention_rows_of(work, &of->key, pair->j0, columns, of->d, work->key),
        .value = hki_attention_rows_of(work, &of->value, pair->j0, columns, of->e, work->value)};
}

/* Scores and slopes of the weights become weights and slopes of the scores. */
static void make_slopes(const hki_attention_work *work, const hki_attention_pair *pair,
                        const sides *its, hki_attention_tile *tile)
{
    const hki_attention *of = work->of;
    const int64_t rows = tile->rows, columns = tile->columns;
    if (!work->keeps)
        hki_attention_multiply(work, &(const hki_attention_product){.a = its->query,
                                                                    .b = its->key,
                                                                    .c = {work->scores, work->row},
                                                                    .m = rows,
                                                                    .n = columns,
                                                                    .k = of->d,
                                                                    .turns_b = true});
    hki_attention_multiply(work, &(const hki_attention_product){.a = its->dy,
                                                                .b = its->value,
                                                                .c = {work->slopes, work->row},
                                                                .m = rows,
                                                                .n = columns,
                                                                .k = of->e,
                                                                .turns_b = true});
    tile->saved = hki_attention_at(work, of->saved, work->saved_row * pair->i0);
    tile->saved_row = work->saved_row;
    tile->keeps = work->keeps;
    tile->y = hki_attention_at(work, of->y, pair->i0 * of->e);
    tile->dy = its->dy.data;
    tile->dy_row = its->dy.row;
    HKI_ATTENTION_CALL(work, dots, tile);
    HKI_ATTENTION_CALL(work, slope, tile);
}

/* Whether gradients of queries, or of keys and values, are made of a pair of blocks, and whether
 * they are begun already. */
typedef struct part {
    bool wanted, begun;
} part;

/* What the slopes of a pair add to the gradients. */
static void add_slopes(const hki_attention_work *work, const hki_attention_pair *pair,
                       const sides *its, const part *queries, const part *keys)
{
    const hki_attention *of = work->of;
    const int64_t rows = pair->i1 - pair->i0, columns = pair->j1 - pair->j0;
    const hki_attention_block weights = {work->scores, work->row},
                              slopes = {work->slopes, work->row};
    const hki_attention_product by_queries = {
        .a = slopes,
        .b = its->key,
        .c = {hki_attention_at(work, of->dquery, pair->i0 * of->d), of->d},
        .m = rows,
        .n = of->d,
        .k = columns,
        .adds = queries->begun};
    const hki_attention_product by_keys = {
        .a = slopes,
        .b = its->query,
        .c = {hki_attention_at(work, of->dkey, pair->j0 * of->d), of->d},
        .m = columns,
        .n = of->d,
        .k = rows,
        .turns_a = true,
        .adds = keys->begun};
    const hki_attention_product by_values = {
        .a = weights,
        .b = its->dy,
        .c = {hki_attention_at(work, of->dvalue, pair->j0 * of->e), of->e},
        .m = columns,
        .n = of->e,
        .k = rows,
        .turns_a = true,
        .adds = keys->begun};
    if (queries->wanted)
        hki_attention_multiply(work, &by_queries);
    if (keys->wanted) {
        hki_attention_multiply(work, &by_keys);
        hki_attention_multiply(work, &by_values);
    }
}

/* A block that a mask leaves out adds nothing, so that gradients begin with zeros there. */
static bool begins_with_zeros(const hki_attention *of)
{
    return of->mask.data || of->n == 0 || of->m == 0;
}

static void backward_pair(const hki_attention_work *work, int64_t query_block, int64_t key_block,
                          bool of_queries, bool of_keys)
{
    const hki_attention *of = work->of;
    const bool zeros = begins_with_zeros(of);
    const part queries = {of_queries, zeros || key_block > 0};
    const part keys = {of_keys, zeros || query_block > (of->causal ? key_block : 0)};
    hki_attention_pair pair;
    if (!hki_attention_pair_of(work, query_block, key_block, &pair))
        return;
    hki_attention_tile tile = {.rows = pair.i1 - pair.i0,
                               .columns = pair.j1 - pair.j0,
                               .row = work->row,
                               .sees = of->causal ? pair.i0 - pair.j0 : of->m,
                               .scale = of->scale,
                               .scores = work->scores,
                               .slopes = work->slopes,
                               .sum = work->sum,
                               .outputs = of->e};
    const hki_attention_sight sight = hki_attention_look(work, &tile, pair.i0, pair.j0);
    if (sight == HKI_ATTENTION_NONE)
        return;
    sides its = sides_of(work, &pair);
    if (sight == HKI_ATTENTION_SOME) {
        hki_attention_leave_out(work, &its.key, tile.columns, of->d, work->seen, work->key);
        hki_attention_leave_out(work, &its.value, tile.columns, of->e, work->seen, work->value);
    }
    if (of->mask.data)
        leave_out_queries(work, &pair, &its);
    make_slopes(work, &pair, &its, &tile);
    add_slopes(work, &pair, &its, &queries, &keys);
}

/* 0 to rows [block, block + 1) * rows of a gradient, where it begins with that. */
static void clear(const hki_attention_work *work, void *gradient, int64_t block, int64_t rows,
                  int64_t of_rows, int64_t columns)
{
    const int64_t first = block * rows, left = of_rows - first;
    if (begins_with_zeros(work->of))
        memset(hki_attention_at(work, gradient, first * columns), 0,
               (size_t)((left < rows ? left : rows) * columns * work->item));
}

void hki_attention_backward(const hki_attention *of, int64_t begin, int64_t end, void *scratch)
{
    const int64_t queries = hki_attention_query_blocks(of), keys = hki_attention_key_blocks(of);
    const bool whole = begin == 0 && end == queries + keys;
    hki_attention_work work;
    hki_attention_work_init(&work, of, true, scratch);
    for (int64_t unit = begin; unit < end; unit++) {
        if (unit < queries) {
            clear(&work, of->dquery, unit, work.query_block, of->n, of->d);
            for (int64_t key = 0; !whole && key < keys; key++)
                backward_pair(&work, unit, key, true, false);
        } else {
            clear(&work, of->dkey, unit - queries, work.key_block, of->m, of->d);
            clear(&work, of->dvalue, unit - queries, work.key_block, of->m, of->e);
            for (int64_t query = 0; query < queries; query++)
                backward_pair(&work, query, unit - queries, whole, true);
        }
    }
}
