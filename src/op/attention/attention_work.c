#include "op/attention/attention_work.h"

#include "base/integer.h"
#include "base/kernel_isa.h"
#include "op/matmul/product_kernel.h"

#include <string.h>

/* Blocks are small enough that two of scores stay in the second cache with what they are made of,
 * and large enough that a product copies little for what it multiplies. Of a triangle they are
 * squares, of which a small one leaves out more. Of float64 they are half as high and wide. */
enum { SQUARE = 128, HIGH = 160, WIDE = 256, KEPT = 64, LINE = 64, UNIT = 16 };

/* Blocks differ little in size, and each is lanes, but for the last one. */
static int64_t block_size(const hki_attention *of, int64_t size, int64_t most)
{
    const int64_t blocks = hki_divide_up(size, of->f64 ? most / 2 : most);
    return blocks > 1 ? hki_round_up(hki_divide_up(size, blocks), UNIT) : hki_max(size, 1);
}

static int64_t query_block(const hki_attention *of)
{
    return block_size(of, of->n, of->causal ? SQUARE : HIGH);
}

static int64_t key_block(const hki_attention *of)
{
    return block_size(of, of->m, of->causal ? SQUARE : WIDE);
}

int64_t hki_attention_query_blocks(const hki_attention *of)
{
    return hki_divide_up(of->n, query_block(of));
}

int64_t hki_attention_key_blocks(const hki_attention *of)
{
    return hki_divide_up(of->m, key_block(of));
}

/* No more than a block. */
int64_t hki_attention_saved_row(const hki_attention *of)
{
    return of->n <= KEPT && of->m <= KEPT ? 2 + of->m : 2;
}

/* ---- workspace ------------------------------------------------------------------------------------------- */

static void *take(char *scratch, size_t *at, int64_t bytes)
{
    void *taken = scratch ? scratch + *at : NULL;
    *at += hki_round_up_bytes((size_t)bytes, LINE);
    return taken;
}

/* Rows of products' left sides that lie an even number of lines apart share few places of the
 * first cache. */
static int64_t row_of_scores(int64_t keys, int64_t item)
{
    const int64_t line = LINE / item, lines = hki_divide_up(keys, line);
    return (lines % 2 || lines == 2 ? lines : lines + 1) * line;
}

static hki_product product_of(const hki_attention_work *work, const hki_attention_product *p)
{
    return (hki_product){.f64 = work->of->f64,
                         .trans_a = p->turns_a,
                         .trans_b = p->turns_b,
                         .adds = p->adds,
                         .m = p->m,
                         .n = p->n,
                         .k = p->k,
                         .a = p->a.data,
                         .b = p->b.data,
                         .c = (void *)(uintptr_t)p->c.data,
                         .lda = p->a.row,
                         .ldb = p->b.row,
                         .ldc = p->c.row};
}

static size_t product_bytes(const hki_attention_work *work)
{
    const hki_attention *of = work->of;
    const int64_t q = work->query_block, k = work->key_block, wide = hki_max(of->d, of->e);
    const int64_t sizes[][3] = {{q, k, wide}, {q, wide, k}, {k, wide, q}};
    size_t most = 0;
    for (int i = 0; i < 3; i++) {
        const size_t bytes = hki_product_scratch_most(&(const hki_product){
            .f64 = of->f64, .m = sizes[i][0], .n = sizes[i][1], .k = sizes[i][2]});
        most = bytes > most ? bytes : most;
    }
    return most;
}

size_t hki_attention_work_init(hki_attention_work *work, const hki_attention *of, bool is_gradient,
                               void *scratch)
{
    size_t at = 0;
    *work = (hki_attention_work){.of = of,
                                 .rows = HKI_OF_ISA(&hki_attention_rows, ),
                                 .item = of->f64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float),
                                 .query_block = query_block(of),
                                 .key_block = key_block(of)};
    work->saved_row = hki_attention_saved_row(of);
    work->keeps = work->saved_row > 2;
    const int64_t item = work->item, q = work->query_block, k = work->key_block;
    work->row = row_of_scores(k, item);
    work->scores = take(scratch, &at, q * work->row * item);
    work->slopes = is_gradient ? take(scratch, &at, q * work->row * item) : NULL;
    work->query = take(scratch, &at, q * of->d * item);
    work->key = take(scratch, &at, k * of->d * item);
    work->value = take(scratch, &at, k * of->e * item);
    work->dy = is_gradient ? take(scratch, &at, q * of->e * item) : NULL;
    work->mask = of->mask.data ? take(scratch, &at, q * k * item) : NULL;
    work->sum = take(scratch, &at, q * (int64_t)sizeof *work->sum);
    work->seen = take(scratch, &at, hki_max(q, k));
    work->product = take(scratch, &at, (int64_t)product_bytes(work));
    return at;
}

/* ---- blocks ---------------------------------------------------------------------------------------------- */

#define GATHER(name, T)                                                                            \
    static void gather_##name(const void *from, int64_t row, int64_t column, int64_t rows,         \
                              int64_t columns, void *to)                                           \
    {                                                                                              \
        for (int64_t i = 0; i < rows; i++)                                                         \
            for (int64_t j = 0; j < columns; j++)                                                  \
                ((T *)to)[i * columns + j] = ((const T *)from)[i * row + j * column];              \
    }

GATHER(1, uint8_t)
GATHER(4, uint32_t)
GATHER(8, uint64_t)

/* A copy, rows after rows. */
static hki_attention_block copied(int64_t item, const hki_attention_side *side, int64_t rows,
                                  int64_t columns, void *room)
{
    (item == 1   ? gather_1
     : item == 4 ? gather_4
                 : gather_8)(side->data, side->row, side->column, rows, columns, room);
    return (hki_attention_block){room, columns};
}

hki_attention_block hki_attention_rows_of(const hki_attention_work *work,
                                          const hki_attention_side *side, int64_t first,
                                          int64_t rows, int64_t columns, void *room)
{
    const hki_attention_side part = {hki_attention_at(work, side->data, first * side->row),
                                     side->row, side->column};
    const int64_t least = hki_max(columns, 1);
    if ((part.column == 1 || columns <= 1) && (part.row >= least || rows <= 1))
        return (hki_attention_block){part.data, hki_max(part.row, least)};
    return copied(work->item, &part, rows, columns, room);
}

void hki_attention_leave_out(const hki_attention_work *work, hki_attention_block *block,
                             int64_t rows, int64_t columns, const uint8_t *seen, void *room)
{
    const int64_t item = work->item;
    bool finite = true;
    for (int64_t i = 0; i < rows && finite; i++)
        finite = seen[i] ||
                 HKI_ATTENTION_CALL(work, is_finite,
                                    hki_attention_at(work, block->data, i * block->row), columns);
    if (finite)
        return;
    if (block->data != room)
        *block = copied(item, &(const hki_attention_side){block->data, block->row, 1}, rows,
                        columns, room);
    for (int64_t i = 0; i < rows; i++)
        if (!seen[i])
            memset(hki_attention_at(work, room, i * columns), 0, (size_t)(columns * item));
}

hki_attention_sight hki_attention_look(const hki_attention_work *work, hki_attention_tile *tile,
                                       int64_t i, int64_t j)
{
    const hki_attention_side *mask = &work->of->mask;
    const int64_t item = work->of->mask_is_bool ? 1 : work->item;
    if (!mask->data)
        return HKI_ATTENTION_ALL;
    const hki_attention_side part = {(const char *)mask->data +
                                         (i * mask->row + j * mask->column) * item,
                                     mask->row, mask->column};
    tile->mask = part.data;
    tile->mask_row = part.row;
    if (part.column != 1) {
        const hki_attention_block block =
            copied(item, &part, part.row ? tile->rows : 1, tile->columns, work->mask);
        tile->mask = block.data;
        tile->mask_row = part.row ? block.row : 0;
    }
    tile->mask_is_bool = work->of->mask_is_bool;
    memset(work->seen, 0, (size_t)tile->columns);
    HKI_ATTENTION_CALL(work, note_seen, tile, work->seen);
    int64_t seen = 0;
    for (int64_t column = 0; column < tile->columns; column++)
        seen += work->seen[column];
    return seen == tile->columns ? HKI_ATTENTION_ALL
           : seen                ? HKI_ATTENTION_SOME
                                 : HKI_ATTENTION_NONE;
}

void hki_attention_multiply(const hki_attention_work *work, const hki_attention_product *p)
{
    const hki_product product = product_of(work, p);
    if (product.m > 0 && product.n > 0)
        hki_product_run(&product, work->product);
}

bool hki_attention_pair_of(const hki_attention_work *work, int64_t query_block, int64_t key_block,
                           hki_attention_pair *pair)
{
    const hki_attention *of = work->of;
    const int64_t i = query_block * work->query_block, j = key_block * work->key_block;
    *pair = (hki_attention_pair){i, hki_min(i + work->query_block, of->n), j,
                                 hki_min(j + work->key_block, of->m)};
    if (of->causal) {
        pair->i0 = hki_max(pair->i0, pair->j0);
        pair->j1 = hki_min(pair->j1, pair->i1);
    }
    return pair->i0 < pair->i1 && pair->j0 < pair->j1;
}
