/* Attention and its gradient, written plainly, for conformance. */
#include "op/attention/attention.h"

#include <math.h>

/* Of a call: sizes, and C-order doubles. mask NULL: none. */
typedef struct plain {
    int64_t n, m, d, e, matrices;
    bool causal;
    double scale;
    const double *query, *key, *value, *mask;
    const hki_shape_view *mask_view;
    const hk_dims *batch;
} plain;

static plain plain_of(const hki_call *call, const double *const *in, int mask,
                      const hki_attention_blocks_options *of)
{
    const hk_dims *query = &call->inputs[HKI_ATTENTION_QUERY]->shape;
    const hk_dims *key = &call->inputs[HKI_ATTENTION_KEY]->shape;
    const hk_dims *value = &call->inputs[HKI_ATTENTION_VALUE]->shape;
    plain self = {.n = query->dims[query->ndim - 2],
                  .m = key->dims[key->ndim - 2],
                  .d = query->dims[query->ndim - 1],
                  .e = value->dims[value->ndim - 1],
                  .matrices = 1,
                  .causal = of->causal,
                  .scale = of->scale,
                  .query = in[HKI_ATTENTION_QUERY],
                  .key = in[HKI_ATTENTION_KEY],
                  .value = in[HKI_ATTENTION_VALUE],
                  .mask = in[mask],
                  .mask_view = call->inputs[mask],
                  .batch = query};
    for (int i = 0; i < query->ndim - 2; i++)
        self.matrices *= query->dims[i];
    return self;
}

/* The mask's element for query i, of all matrices, and key j. */
static double mask_at(const plain *self, int64_t i, int64_t j)
{
    const hk_dims *shape = &self->mask_view->shape;
    int64_t index = 0, step = 1, rest = i;
    for (int axis = 1; axis <= shape->ndim; axis++) {
        const int64_t size = axis == 1 ? self->m : self->batch->dims[self->batch->ndim - axis];
        const int64_t at = axis == 1 ? j : rest % size, own = shape->dims[shape->ndim - axis];
        rest = axis == 1 ? rest : rest / size;
        index += own > 1 ? at * step : 0;
        step *= own;
    }
    return self->mask[index];
}

static double dot(const double *a, const double *b, int64_t size)
{
    double sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}

static double score(const plain *self, int64_t i, int64_t j)
{
    const double *key = self->key + (i / self->n * self->m + j) * self->d;
    const double given = self->scale * dot(self->query + i * self->d, key, self->d);
    if (self->causal && j > i % self->n)
        return -INFINITY;
    if (!self->mask_view)
        return given;
    if (self->mask_view->dtype == HK_BOOL)
        return mask_at(self, i, j) != 0 ? given : -INFINITY;
    return given + mask_at(self, i, j);
}

void hki_attention_reference(const hki_call *call, const double *const *in, double *const *out,
                             const hki_attention_blocks_options *of)
{
    const plain self = plain_of(call, in, HKI_ATTENTION_MASK, of);
    for (int64_t i = 0; i < self.matrices * self.n; i++) {
        double max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < self.m; j++)
            max = fmax(max, score(&self, i, j));
        for (int64_t j = 0; j < self.m && max > -INFINITY; j++)
            sum += exp(score(&self, i, j) - max);
        for (int64_t k = 0; k < self.e; k++)
            out[0][i * self.e + k] = 0;
        for (int64_t j = 0; j < self.m && sum > 0; j++)
            for (int64_t k = 0; k < self.e; k++)
                out[0][i * self.e + k] += exp(score(&self, i, j) - max) / sum *
                                          self.value[(i / self.n * self.m + j) * self.e + k];
        if (call->op->output_count < 2)
            continue;
        const int64_t row = call->out_shape[1].dims[call->out_shape[1].ndim - 1];
        double *saved = out[1] + i * row;
        saved[0] = sum > 0 ? max : 0;
        saved[1] = sum > 0 ? 1 / sum : 0;
        for (int64_t j = 0; j < row - 2; j++)
            saved[2 + j] = sum > 0 ? exp(score(&self, i, j) - max) : 0;
    }
}

/* Inputs behind the first three: dy, y, what was saved, and the mask. */
void hki_attention_backward_reference(const hki_call *call, const double *const *in,
                                      double *const *out)
{
    const plain self = plain_of(call, in, 6, call->options);
    const double *all_dy = in[3], *all_y = in[4];
    const hk_dims *kept = &call->inputs[5]->shape;
    const int64_t saved_row = kept->dims[kept->ndim - 1];
    for (int i = 0; i < 3; i++)
        for (int64_t k = 0; k < call->inputs[i]->size; k++)
            out[i][k] = 0;
    for (int64_t i = 0; i < self.matrices * self.n; i++) {
        const double *saved = in[5] + i * saved_row;
        const double *dy = all_dy + i * self.e, mean = dot(dy, all_y + i * self.e, self.e);
        for (int64_t j = 0; j < self.m; j++) {
            const int64_t row = i / self.n * self.m + j;
            const bool is_seen = !self.causal || j <= i % self.n;
            const double kept_weight = saved_row > 2 && is_seen ? saved[2 + j] * saved[1] : 0;
            const double weight =
                saved_row > 2 ? kept_weight : exp(score(&self, i, j) - saved[0]) * saved[1];
            const double slope =
                self.scale * weight * (dot(dy, self.value + row * self.e, self.e) - mean);
            for (int64_t k = 0; k < self.d; k++) {
                out[0][i * self.d + k] += slope * self.key[row * self.d + k];
                out[1][row * self.d + k] += slope * self.query[i * self.d + k];
            }
            for (int64_t k = 0; k < self.e; k++)
                out[2][row * self.e + k] += weight * dy[k];
        }
    }
}
