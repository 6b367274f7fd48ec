#include "op/kernels/reduce/reduce_samples.h"

#include "base/dtype.h"

#include <string.h>

/* Runs whose sums are kept side by side, before pairs of them are made. */
enum { BATCH = 32 };

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

static void add_words(hk_dtype dtype, int64_t count, hki_reduce_word *restrict to,
                      const hki_reduce_word *restrict from)
{
    for (int64_t k = 0; k < count; k++)
        to[k].f += from[k].f;
    round_words(dtype, to, count);
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
    add_words(self->dtype, count, words, right);
}

/* ---- one element that stays -------------------------------------------------------------------------------------- */

static double tree_of(const hki_reduce_samples *self, const double *sums, int64_t runs)
{
    if (runs == 1)
        return sums[0];
    const int64_t half = hki_sum_half(runs);
    return rounded(self->dtype,
                   tree_of(self, sums, half) + tree_of(self, sums + half, runs - half));
}

/* The same of a power of 2. */
static double even_tree(const hki_reduce_samples *self, double *sums, int64_t runs)
{
    for (; runs > 1; runs /= 2)
        for (int64_t i = 0; i < runs / 2; i++)
            sums[i] = rounded(self->dtype, sums[2 * i] + sums[2 * i + 1]);
    return sums[0];
}

static void run_sums(const hki_reduce_samples *self, const char *x, int64_t kept, int64_t run,
                     int64_t runs, double *sums)
{
    const int64_t whole = hki_max(0, hki_min(runs, self->samples / HKI_SUM_RUN - run));
    int64_t done = 0;
    if (self->is_dense) {
        const int64_t at = hki_reduce_offset(&self->run.kept, self->run.kept.in_strides, kept);
        hki_reduce_dense_sums(self->dtype,
                              x + at * (int64_t)hki_dtype_bytes(self->dtype) + run * self->run_step,
                              self->run.gone.count, self->run_step, whole, sums);
        done = whole;
    }
    for (; done < runs; done++) {
        hki_reduce_word word;
        run_words(self, x, kept, kept + 1, run + done, &word);
        sums[done] = word.f;
    }
    for (int64_t i = 0; self->dtype == HK_F32 && i < whole; i++)
        sums[i] = (double)(float)sums[i];
}

static double tree_sum(const hki_reduce_samples *self, const char *x, int64_t kept, int64_t run,
                       int64_t runs)
{
    if (runs > BATCH) {
        const int64_t half = hki_sum_half(runs);
        const double left = tree_sum(self, x, kept, run, half);
        return rounded(self->dtype, left + tree_sum(self, x, kept, run + half, runs - half));
    }
    double sums[BATCH];
    run_sums(self, x, kept, run, runs, sums);
    return runs & (runs - 1) ? tree_of(self, sums, runs) : even_tree(self, sums, runs);
}

void hki_reduce_samples_words(const hki_reduce_samples *self, const void *x, int64_t kept_begin,
                              int64_t kept_end, int64_t begin, int64_t end, hki_reduce_word *words)
{
    const int64_t run = begin / HKI_SUM_RUN, runs = hki_sum_runs(end - begin);
    const bool one_by_one = self->is_dense || kept_end - kept_begin == 1;
    for (int64_t k = kept_begin; one_by_one && k < kept_end; k++)
        words[k - kept_begin].f = runs ? tree_sum(self, x, k, run, runs) : 0;
    if (!one_by_one && runs)
        tree_words(self, x, kept_begin, kept_end, run, runs, words);
    for (int64_t k = kept_begin; !runs && k < kept_end; k++)
        words[k - kept_begin].f = 0;
}

void hki_reduce_samples_join(const hki_sum_cut *cut, hk_dtype dtype, int64_t count, void *words,
                             size_t step)
{
    hki_reduce_word *parts[HKI_SUM_DEPTH];
    int live = 0;
    for (int64_t piece = 0; piece < cut->pieces; piece++) {
        parts[live++] = (hki_reduce_word *)(void *)((char *)words + (size_t)piece * step);
        for (int pairs = hki_sum_piece_pairs(cut, piece); pairs > 0; pairs--, live--)
            add_words(dtype, count, parts[live - 2], parts[live - 1]);
    }
}
