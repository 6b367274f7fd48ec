/* Attention in blocks against plain loops of doubles, on each instruction set: sizes around those
 * of blocks, masks, layouts, large scores, NaN where nobody looks; and the bytes do not depend on
 * which blocks are done together. */
#include "op/attention/attention_kernel.h"

#include "tests/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/simd/kernel_fixture.h"

typedef enum mask_kind {
    NO_MASK,
    CAUSAL,
    BOOL_MASK,
    NUMBERS,
    ONE_ROW,
    ONE_COLUMN,
    MASKINGS
} mask_kind;

typedef struct shape {
    int64_t n, m, d, e;
} shape;

/* Of one test: everything in doubles, and as the kernel has it. */
typedef struct problem {
    shape sizes;
    mask_kind masking;
    hki_attention of;
    double *query, *key, *value, *dy, *mask; /* the mask: added numbers; all of it */
    double *y, *dquery, *dkey, *dvalue;      /* expected */
    void *memory[12];
    int count;
} problem;

static double some(int64_t i)
{
    return (double)(i * 7919 % 1000 - 500) / 500;
}

static double load(bool f64, const void *data, int64_t i)
{
    return f64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void store(bool f64, void *data, int64_t i, double value)
{
    if (f64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

static void *room(problem *self, int64_t bytes)
{
    void *memory = calloc(1, (size_t)bytes + 64);
    CHECK(memory && self->count < 12);
    return self->memory[self->count++] = memory;
}

/* Numbers of a matrix, rounded as the kernel has them, and their layout: rows with gaps, or
 * columns after columns. */
static double *fill(problem *self, hki_attention_side *side, int64_t rows, int64_t columns,
                    double by, int64_t seed, bool turned)
{
    double *plain = calloc((size_t)(rows * columns + 1), sizeof *plain);
    side->row = turned ? 1 : columns + 3;
    side->column = turned ? rows + 1 : 1;
    void *data = room(self, (rows + 1) * (columns + 4) * 8);
    for (int64_t i = 0; i < rows * columns; i++) {
        const int64_t at = i / columns * side->row + i % columns * side->column;
        store(self->of.f64, data, at, by * some(i * 31 + seed));
        plain[i] = load(self->of.f64, data, at);
    }
    side->data = data;
    return plain;
}

/* Query 1 sees nothing, and key 2 is seen by none. */
static void make_mask(problem *self)
{
    const int64_t n = self->sizes.n, m = self->sizes.m;
    const bool is_bool = self->masking == BOOL_MASK;
    const bool row = self->masking == ONE_ROW, column = self->masking == ONE_COLUMN;
    if (self->masking == NO_MASK || self->masking == CAUSAL)
        return;
    void *data = room(self, n * m * 8 + 8);
    hki_attention_side *side = &self->of.mask;
    *side = (hki_attention_side){data, row ? 0 : column ? 1 : m, column ? 0 : 1};
    self->of.mask_is_bool = is_bool;
    self->mask = calloc((size_t)(n * m + 1), sizeof *self->mask);
    for (int64_t i = 0; i < n * m; i++) {
        const int64_t query = column || !row ? i / m : 0, key = row || !column ? i % m : 0;
        const int64_t at = query * side->row + key * side->column, which = query * m + key;
        const bool never =
            (!row && query == 1) || (!column && key == 2) || (is_bool && which % 3 == 1);
        if (is_bool)
            ((uint8_t *)data)[at] = !never;
        else
            store(self->of.f64, data, at, never ? -INFINITY : some(which));
        self->mask[i] = never ? -INFINITY : is_bool ? 0 : load(self->of.f64, data, at);
    }
}

static double dot(const double *a, const double *b, int64_t size)
{
    double sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}

static bool is_seen(const problem *self, int64_t i, int64_t j)
{
    return self->masking == CAUSAL ? j <= i
                                   : !self->mask || self->mask[i * self->sizes.m + j] != -INFINITY;
}

static double score(const problem *self, int64_t i, int64_t j)
{
    const shape *s = &self->sizes;
    return self->of.scale * dot(self->query + i * s->d, self->key + j * s->d, s->d) +
           (self->mask ? self->mask[i * s->m + j] : 0);
}

static void expect_row(problem *self, int64_t i, double *weights)
{
    const shape *s = &self->sizes;
    double max = -INFINITY, sum = 0, mean = 0;
    const double *dy = self->dy + i * s->e;
    for (int64_t j = 0; j < s->m; j++)
        if (is_seen(self, i, j))
            max = fmax(max, score(self, i, j));
    for (int64_t j = 0; j < s->m; j++)
        sum += weights[j] = is_seen(self, i, j) ? exp(score(self, i, j) - max) : 0;
    for (int64_t j = 0; j < s->m; j++) {
        weights[j] = weights[j] > 0 ? weights[j] / sum : 0;
        mean += weights[j] * dot(dy, self->value + j * s->e, s->e);
    }
    for (int64_t j = 0; j < s->m; j++) {
        const double slope =
            self->of.scale * weights[j] * (dot(dy, self->value + j * s->e, s->e) - mean);
        for (int64_t k = 0; k < s->d; k++) {
            self->dquery[i * s->d + k] += slope * self->key[j * s->d + k];
            self->dkey[j * s->d + k] += slope * self->query[i * s->d + k];
        }
        for (int64_t k = 0; k < s->e; k++) {
            self->y[i * s->e + k] += weights[j] * self->value[j * s->e + k];
            self->dvalue[j * s->e + k] += weights[j] * dy[k];
        }
    }
}

/* NaN where nobody looks, in what the kernel gets. */
static void spoil(problem *self)
{
    const shape *s = &self->sizes;
    const bool keys = self->mask && self->masking != ONE_COLUMN && s->m > 2;
    const bool queries = self->mask && self->masking != ONE_ROW && s->n > 1;
    hki_attention *of = &self->of;
    for (int64_t k = 0; k < s->d; k++) {
        if (keys)
            store(of->f64, (void *)(uintptr_t)of->key.data, 2 * of->key.row + k * of->key.column,
                  (double)NAN);
        if (queries)
            store(of->f64, (void *)(uintptr_t)of->query.data, of->query.row + k * of->query.column,
                  (double)NAN);
    }
    for (int64_t k = 0; k < s->e; k++) {
        if (keys)
            store(of->f64, (void *)(uintptr_t)of->value.data,
                  2 * of->value.row + k * of->value.column, (double)INFINITY);
        if (queries)
            store(of->f64, (void *)(uintptr_t)of->dy.data, of->dy.row + k * of->dy.column,
                  (double)NAN);
    }
}

static void make(problem *self, bool f64, shape sizes, mask_kind masking, double size, int layout)
{
    *self = (problem){.sizes = sizes, .masking = masking};
    hki_attention *of = &self->of;
    *of = (hki_attention){.f64 = f64,
                          .causal = masking == CAUSAL,
                          .n = sizes.n,
                          .m = sizes.m,
                          .d = sizes.d,
                          .e = sizes.e,
                          .scale = 0.25};
    self->query = fill(self, &of->query, sizes.n, sizes.d, size, 1, layout & 1);
    self->key = fill(self, &of->key, sizes.m, sizes.d, size, 5, layout & 2);
    self->value = fill(self, &of->value, sizes.m, sizes.e, 1, 9, layout & 4);
    self->dy = fill(self, &of->dy, sizes.n, sizes.e, 1, 13, layout & 1);
    make_mask(self);
    self->y = calloc((size_t)(sizes.n * sizes.e + 1), sizeof(double));
    self->dquery = calloc((size_t)(sizes.n * sizes.d + 1), sizeof(double));
    self->dkey = calloc((size_t)(sizes.m * sizes.d + 1), sizeof(double));
    self->dvalue = calloc((size_t)(sizes.m * sizes.e + 1), sizeof(double));
    double *weights = calloc((size_t)sizes.m + 1, sizeof *weights);
    for (int64_t i = 0; i < sizes.n; i++)
        expect_row(self, i, weights);
    free(weights);
    spoil(self);
}

static void unmake(problem *self)
{
    double *const plain[] = {self->query, self->key,    self->value, self->dy,    self->mask,
                             self->y,     self->dquery, self->dkey,  self->dvalue};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        free(plain[i]);
    for (int i = 0; i < self->count; i++)
        free(self->memory[i]);
}

static void compare(const problem *self, const char *what, const void *got, const double *expected,
                    int64_t size, double tolerance)
{
    double largest = 1, error = 0;
    for (int64_t i = 0; i < size; i++) {
        const double off = fabs(load(self->of.f64, got, i) - expected[i]);
        error = off <= error ? error : off; /* NaN, too */
        largest = fmax(largest, fabs(expected[i]));
    }
    if (!(error <= tolerance * largest))
        fprintf(stderr, "%s of %lld x %lld, %lld and %lld, mask %d, float%d: off by %g of %g\n",
                what, (long long)self->sizes.n, (long long)self->sizes.m, (long long)self->sizes.d,
                (long long)self->sizes.e, (int)self->masking, self->of.f64 ? 64 : 32, error,
                largest);
    CHECK(error <= tolerance * largest);
}

static buffer scratch_of(const hki_attention *of, bool is_gradient)
{
    return buffer_make(hki_attention_scratch_bytes(of, is_gradient));
}

/* What a pass over all units at once gives, and one after the other, from the last. */
static void run_backward(problem *self, bool at_once, void *const gradients[3])
{
    hki_attention of = self->of;
    buffer scratch = scratch_of(&of, true);
    const int64_t units = hki_attention_query_blocks(&of) + hki_attention_key_blocks(&of);
    of.dquery = gradients[0];
    of.dkey = gradients[1];
    of.dvalue = gradients[2];
    if (at_once)
        hki_attention_backward(&of, 0, units, scratch.data);
    for (int64_t unit = units - 1; !at_once && unit >= 0; unit--)
        hki_attention_backward(&of, unit, unit + 1, scratch.data);
    buffer_drop(&scratch);
}

static void run_forward(problem *self, bool at_once, void *y, void *saved)
{
    self->of.y = y;
    self->of.saved = saved;
    buffer scratch = scratch_of(&self->of, false);
    const int64_t blocks = hki_attention_query_blocks(&self->of);
    if (at_once)
        hki_attention_forward(&self->of, 0, blocks, scratch.data);
    for (int64_t block = blocks - 1; !at_once && block >= 0; block--)
        hki_attention_forward(&self->of, block, block + 1, scratch.data);
    buffer_drop(&scratch);
}

static void check(bool f64, shape s, mask_kind masking, double size, int layout, double tolerance)
{
    problem self;
    make(&self, f64, s, masking, size, layout);
    const int64_t sizes[] = {s.n * s.e, hki_attention_saved_row(&self.of) * s.n, s.n * s.d,
                             s.m * s.d, s.m * s.e};
    void *results[2][5];
    for (int way = 0; way < 2; way++) {
        for (int i = 0; i < 5; i++) {
            results[way][i] = malloc((size_t)sizes[i] * 8 + 8);
            memset(results[way][i], 0xff, (size_t)sizes[i] * 8 + 8);
        }
        run_forward(&self, way == 0, results[way][0], results[way][1]);
        run_backward(&self, way == 0, results[way] + 2);
    }
    for (int i = 0; i < 5; i++)
        CHECK(!memcmp(results[0][i], results[1][i], (size_t)(sizes[i] * (f64 ? 8 : 4))));
    compare(&self, "y", results[0][0], self.y, sizes[0], tolerance);
    compare(&self, "dquery", results[0][2], self.dquery, sizes[2], 4 * tolerance);
    compare(&self, "dkey", results[0][3], self.dkey, sizes[3], 4 * tolerance);
    compare(&self, "dvalue", results[0][4], self.dvalue, sizes[4], 4 * tolerance);
    for (int i = 0; i < 10; i++)
        free(results[i / 5][i % 5]);
    unmake(&self);
}

static void test_shapes(void)
{
    static const shape shapes[] = {
        {1, 1, 1, 1},     {2, 3, 4, 5},      {3, 0, 4, 2},       {0, 3, 4, 2},     {4, 5, 0, 3},
        {5, 4, 3, 0},     {32, 32, 32, 32},  {64, 65, 8, 8},     {129, 129, 5, 3}, {127, 257, 7, 9},
        {161, 130, 6, 4}, {300, 300, 16, 8}, {257, 600, 64, 33}, {90, 2, 300, 70}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int masking = 0; masking < MASKINGS; masking++)
            for (int f64 = 0; f64 < 2; f64++)
                if (masking != CAUSAL || shapes[i].n == shapes[i].m)
                    check(f64, shapes[i], (enum mask_kind)masking, 1,
                          (int)(i + (size_t)masking) % 8, f64 ? 2e-14 : 3e-6);
}

/* Scores of ten thousand and more: what is saved has the digits that weights near the largest one
 * want. */
static void test_large_scores(void)
{
    for (int masking = 0; masking < MASKINGS; masking++) {
        check(true, (shape){70, 70, 16, 4}, (enum mask_kind)masking, 100, 0, 1e-9);
        check(false, (shape){140, 140, 16, 4}, (enum mask_kind)masking, 60, 0, 2e-2);
    }
}

/* NaN and infinities in scores make their rows NaN, and others nothing. */
static void test_not_finite(void)
{
    enum { N = 200, D = 4 };
    static float query[N * D], key[N * D], y[N * D], saved[2 * N];
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < N * D; j++)
            query[j] = key[j] = (float)fabs(some(j)) + 1;
        for (int j = 0; j < D; j++)
            query[150 * D + j] = (float)bad[i];
        hki_attention of = {.n = N,
                            .m = N,
                            .d = D,
                            .e = D,
                            .scale = 0.5,
                            .query = {query, D, 1},
                            .key = {key, D, 1},
                            .value = {key, D, 1},
                            .y = y,
                            .saved = saved};
        buffer scratch = scratch_of(&of, false);
        hki_attention_forward(&of, 0, hki_attention_query_blocks(&of), scratch.data);
        buffer_drop(&scratch);
        for (int j = 0; j < N * D; j++)
            CHECK(isnan(y[j]) == (j / D == 150));
    }
}

static int run(void)
{
    test_shapes();
    test_large_scores();
    test_not_finite();
    return check_result();
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, run);
}
