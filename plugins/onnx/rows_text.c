/* Texts as numbers of words. */
#include "rows.h"
#include "shapes.h"

#include <inttypes.h>
#include <stdlib.h>

/* Runs of words that are counted, by length. */
typedef struct grams {
    const int64_t *pool; /* all runs, one behind the other, short ones first */
    const int64_t *starts,
        *places; /* by length: where its runs begin in the pool; by run: its place in the result */
    size_t pool_size, lengths, runs;
    int64_t least, most, skips,
        width; /* lengths that count; words left out between two; of the result */
} grams;

static bool is_refused(onnx_call *call, const char *what)
{
    return onnx_refuse(call, HK_INVALID_ARGUMENT, "%s", what);
}

static bool grams_of(onnx_call *call, grams *self)
{
    const Onnx__AttributeProto *pool = onnx_attribute(call, "pool_int64s");
    const Onnx__AttributeProto *starts = onnx_attribute(call, "ngram_counts");
    const Onnx__AttributeProto *places = onnx_attribute(call, "ngram_indexes");
    if (!pool || !starts || !places)
        return onnx_refuse(call, HK_UNSUPPORTED,
                           "pool_int64s, ngram_counts or ngram_indexes is missing; strings are not "
                           "known");
    *self = (grams){.pool = pool->ints,
                    .starts = starts->ints,
                    .places = places->ints,
                    .pool_size = pool->n_ints,
                    .lengths = starts->n_ints,
                    .runs = places->n_ints,
                    .least = onnx_int(call, "min_gram_length", 1),
                    .most = onnx_int(call, "max_gram_length", 1),
                    .skips = onnx_int(call, "max_skip_count", 0)};
    if (self->lengths > 1000 || self->least < 1 || self->most < self->least || self->skips < 0 ||
        self->skips > INT32_MAX)
        return is_refused(call, "lengths of runs, or max_skip_count, are out of range");
    size_t runs = 0;
    for (size_t i = 0; i < self->lengths; i++) {
        const int64_t begin = self->starts[i];
        const int64_t end = i + 1 < self->lengths ? self->starts[i + 1] : (int64_t)self->pool_size;
        if (begin < 0 || end < begin || end > (int64_t)self->pool_size ||
            (end - begin) % (int64_t)(i + 1))
            return is_refused(call, "ngram_counts do not cut pool_int64s into runs");
        runs += (size_t)(end - begin) / (i + 1);
    }
    for (size_t i = 0; i < self->runs; i++) {
        if (self->places[i] < 0 || self->places[i] > INT32_MAX)
            return is_refused(call, "one of ngram_indexes is out of range");
        self->width = self->places[i] >= self->width ? self->places[i] + 1 : self->width;
    }
    return runs == self->runs || is_refused(call, "ngram_indexes are not as many as the runs");
}

/* How often each of the runs of `length` words is in each row of x: (rows,runs). */
static hk_array *count(hk_array *x, hk_array *runs, int64_t length, int64_t skips)
{
    const hk_all_options each = {.axes = hk_shape(3)};
    const hk_sum_options all = {.axes = hk_shape(1)};
    const int64_t rows = hk_dim(x, 0), words = hk_dim(x, 1);
    hk_array *total = hk_zeros(hk_shape(rows, hk_dim(runs, 0)), HK_I64, hk_array_device(x));
    for (int64_t by = 1; by <= skips + 1 && (length - 1) * by < words; by++) {
        const int64_t windows = words - (length - 1) * by;
        hk_array *at =
            hk_view(x, hk_shape(rows, windows, 1, length), (const int64_t[]){words, 1, 1, by}, 0);
        total = hk_add(total, hk_sum(hk_all(hk_equal(at, runs), &each), &all));
        if (length == 1 || by == skips + 1)
            break;
    }
    return total;
}

/* All counts at their places: (rows,width). */
static hk_array *counts_of(onnx_call *call, hk_array *x, const grams *self)
{
    hk_array *y = hk_zeros(hk_shape(hk_dim(x, 0), self->width), HK_I64, call->device);
    size_t run = 0;
    for (size_t i = 0; i < self->lengths && y; i++) {
        const int64_t length = (int64_t)i + 1, begin = self->starts[i];
        const int64_t end = i + 1 < self->lengths ? self->starts[i + 1] : (int64_t)self->pool_size;
        const int64_t runs = (end - begin) / length;
        if (runs && length >= self->least && length <= self->most) {
            hk_array *pool = onnx_held(call, self->pool + begin, hk_shape(runs, length), HK_I64);
            hk_array *places = onnx_held(call, self->places + run, hk_shape(1, runs), HK_I64);
            if (!pool || !places)
                return NULL;
            hk_array *counts = count(x, pool, length, self->skips);
            y = hk_scatter_add(y, hk_broadcast_to(places, hk_dims_get(counts)), counts, 1);
        }
        run += (size_t)runs;
    }
    return y;
}

/* Counts, whether there are any, or either times weights. */
static bool run_tf_idf(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    const Onnx__AttributeProto *weights = onnx_attribute(call, "weights");
    grams self = {.pool = NULL};
    if (!x || !grams_of(call, &self))
        return onnx_out(call, 0, NULL);
    const hk_dims has = hk_dims_get(x);
    const bool tf = onnx_text_is(call, "mode", "TF", NULL);
    const bool idf = onnx_text_is(call, "mode", "IDF", NULL);
    if (!tf && !idf && !onnx_text_is(call, "mode", "TFIDF", NULL))
        return is_refused(call, "mode is none of TF, IDF and TFIDF");
    if (has.ndim > 2 || !onnx_is_integer(hk_array_dtype(x)))
        return is_refused(call, "expected whole numbers of one axis or two");
    if (!tf && weights && weights->n_floats != (size_t)self.width)
        return is_refused(call, "weights are not as many as the result has columns");
    x = hk_contiguous(hk_cast(x, HK_I64));
    x = hk_reshape(
        x, hk_shape(has.ndim == 2 ? has.dims[0] : 1, has.ndim ? has.dims[has.ndim - 1] : 1));
    hk_array *y = counts_of(call, x, &self);
    if (!y)
        return onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
    y = hk_cast(idf ? hk_cast(hk_greater(y, 0), HK_I64) : y, HK_F32);
    if (!tf && weights) {
        hk_array *by = onnx_held(call, weights->floats, hk_shape(self.width), HK_F32);
        y = by ? hk_multiply(y, by) : NULL;
    }
    return onnx_out(call, 0, y && has.ndim < 2 ? hk_reshape(y, hk_shape(self.width)) : y);
}

const onnx_row onnx_rows_text[] = {
    {"TfIdfVectorizer", run_tf_idf, 0},
    {NULL, NULL, 0},
};
