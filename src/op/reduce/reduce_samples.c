#include "op/reduce/reduce_samples.h"

#include "base/dtype.h"

#include <string.h>

void hki_reduce_samples_init(hki_reduce_samples *self, hk_dtype dtype, int ndim,
                             const int64_t *dims, const int64_t *strides, unsigned gone_mask)
{
    const int64_t out_strides[HK_MAX_NDIM] = {
        0}; /* of words: kept elements are in the order of the whole */
    int64_t run[HK_MAX_NDIM], rest[HK_MAX_NDIM];
    memcpy(run, dims, (size_t)ndim * sizeof *dims);
    memcpy(rest, dims, (size_t)ndim * sizeof *dims);
    run[0] = HKI_SUM_RUN;
    rest[0] = dims[0] % HKI_SUM_RUN;
    self->dtype = dtype;
    self->samples = dims[0];
    self->run_step = HKI_SUM_RUN * strides[0] * (int64_t)hki_dtype_bytes(dtype);
    hki_reduce_geometry_init(&self->run, ndim, run, strides, gone_mask, out_strides);
    hki_reduce_geometry_init(&self->rest, ndim, rest, strides, gone_mask, out_strides);
    const hki_reduce_axes *gone = &self->run.gone;
    self->row_stride = strides[0];
    self->is_rows = ndim >= 2 && self->run.rows && gone->ndim == 1 && gone->count == HKI_SUM_RUN &&
                    self->run.kept.ndim == 1 && self->run.kept.in_strides[0] == 1;
    self->is_dense = !self->run.rows && gone->ndim == 1 && gone->in_strides[0] == 1 &&
                     gone->count <= HKI_REDUCE_BLOCK;
}

static double rounded(hk_dtype dtype, double sum)
{
    return dtype == HK_F32 ? (double)(float)sum : sum;
}

static void round_words(hk_dtype dtype, hki_reduce_word *words, int64_t count)
{
    for (int64_t k = 0; dtype == HK_F32 && k < count; k++)
        words[k].f = (double)(float)words[k].f;
}

static void run_words(const hki_reduce_samples *self, const char *x, int64_t kept_begin,
                      int64_t kept_end, int64_t run, hki_reduce_word *words)
{
    const bool is_whole = (run + 1) * HKI_SUM_RUN <= self->samples;
    const hki_reduce_geometry *geometry = is_whole ? &self->run : &self->rest;
    hki_reduce_words(HKI_REDUCE_SUM, self->dtype, geometry, x + run * self->run_step, kept_begin,
                     kept_end, 0, geometry->gone.count, words);
    round_words(self->dtype, words, kept_end - kept_begin);
}

/* ---- many elements that stay ------------------------------------------------------------------------------------- */

static void tree_words(const hki_reduce_samples *self, const char *x, int64_t kept_begin,
                       int64_t kept_end, int64_t run, int64_t runs, hki_reduce_word *words)
{
    const int64_t half = hki_sum_half(runs), count = kept_end - kept_begin;
    hki_reduce_word right[HKI_REDUCE_TILE];
    if (runs == 1) {
        run_words(self, x, kept_begin, kept_end, run, words);
        return;
    }
    tree_words(self, x, kept_begin, kept_end, run, half, words);
    tree_words(self, x, kept_begin, kept_end, run + half, runs - half, right);
    hki_reduce_dense_add(self->dtype, count, words, right);
}

/* ---- elements of a run side by side ------------------------------------------------------------------------------- */

/* So many runs from `run` on, all whole or one; x: at the kept element; y: NULL, or what x is multiplied by, a vector as x is. */
static double dense_sum(const hki_reduce_samples *self, const char *x, const char *y, int64_t run,
                        int64_t runs)
{
    const bool is_whole = (run + runs) * HKI_SUM_RUN <= self->samples;
    const int64_t count = is_whole ? self->run.gone.count : self->rest.gone.count;
    const int64_t from = run * self->run_step;
    return y ? hki_reduce_dense_products(self->dtype, x + from, y + from, count, runs)
             : hki_reduce_dense_sum(self->dtype, x + from, count, HKI_SUM_RUN * self->row_stride,
                                    runs);
}

static double tree_sum(const hki_reduce_samples *self, const char *x, const char *y, int64_t run,
                       int64_t runs)
{
    const int64_t half = hki_sum_half(runs);
    const bool is_whole = (run + runs) * HKI_SUM_RUN <= self->samples;
    if (runs == 1 || (runs <= HKI_REDUCE_RUNS && is_whole))
        return dense_sum(self, x, y, run, runs);
    return rounded(self->dtype,
                   tree_sum(self, x, y, run, half) + tree_sum(self, x, y, run + half, runs - half));
}

double hki_reduce_samples_products(hk_dtype dtype, const void *x, const void *y, int64_t samples,
                                   int64_t begin, int64_t end)
{
    const int64_t run = begin / HKI_SUM_RUN, runs = hki_sum_runs(end - begin);
    hki_reduce_samples self;
    hki_reduce_samples_init(&self, dtype, 1, &samples, &(const int64_t){1}, 1);
    return runs ? tree_sum(&self, x, y, run, runs) : 0;
}

void hki_reduce_samples_words(const hki_reduce_samples *self, const void *x, int64_t kept_begin,
                              int64_t kept_end, int64_t begin, int64_t end, hki_reduce_word *words)
{
    /* Of samples without elements there may be very many. */
    const bool is_empty = self->run.gone.count == 0 || kept_begin >= kept_end;
    const int64_t run = begin / HKI_SUM_RUN, runs = is_empty ? 0 : hki_sum_runs(end - begin);
    const int64_t item = (int64_t)hki_dtype_bytes(self->dtype);
    const hki_reduce_axes *kept = &self->run.kept;
    for (int64_t k = kept_begin; !runs && k < kept_end; k++)
        words[k - kept_begin].f = 0;
    if (!runs)
        return;
    for (int64_t k = kept_begin; self->is_dense && k < kept_end; k++)
        words[k - kept_begin].f =
            tree_sum(self, (const char *)x + hki_reduce_offset(kept, kept->in_strides, k) * item,
                     NULL, run, runs);
    if (self->is_rows)
        hki_reduce_dense_rows(self->dtype,
                              (const char *)x + run * self->run_step + kept_begin * item,
                              end - begin, self->row_stride, kept_end - kept_begin, words);
    else if (!self->is_dense)
        tree_words(self, x, kept_begin, kept_end, run, runs, words);
}

void hki_reduce_samples_join(const hki_sum_cut *cut, hk_dtype dtype, int64_t count, void *words,
                             size_t step)
{
    hki_reduce_word *parts[HKI_SUM_DEPTH];
    int live = 0;
    for (int64_t piece = 0; piece < cut->pieces; piece++) {
        parts[live++] = (hki_reduce_word *)(void *)((char *)words + (size_t)piece * step);
        for (int pairs = hki_sum_piece_pairs(cut, piece); pairs > 0; pairs--, live--)
            hki_reduce_dense_add(dtype, count, parts[live - 2], parts[live - 1]);
    }
}
