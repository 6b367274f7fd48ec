/* A free batch: the same calls were described for two sizes, and what differs is a multiple. */
#include "model/export.h"

#include <inttypes.h>
#include <string.h>

typedef struct pair {
    hki_export *one;
    const hki_export *two;
    int64_t n, m;
} pair;

static bool refuse(const pair *self, const char *what)
{
    return hki_export_fail(self->one, HK_UNSUPPORTED,
                           "%s depends on the batch; leave the option batch out for a file of one "
                           "size",
                           what);
}

static bool merge_shape(const pair *self, hk_dims *shape, const hk_dims *other)
{
    if (shape->ndim != other->ndim)
        return refuse(self, "how many axes there are");
    for (int i = 0; i < shape->ndim; i++) {
        const int64_t a = shape->dims[i], b = other->dims[i];
        if (a == b)
            continue;
        if (a % self->n || b % self->m || a / self->n != b / self->m)
            return hki_export_fail(self->one, HK_UNSUPPORTED,
                                   "axis %d has %" PRId64 " entries for a batch of %" PRId64
                                   " and %" PRId64 " for one of %" PRId64
                                   ", which is no multiple; leave the option batch out for a file "
                                   "of one size",
                                   i, a, self->n, b, self->m);
        shape->dims[i] = -(a / self->n);
    }
    return true;
}

static bool is_same_constant(hk_array *a, hk_array *b)
{
    if (!a || !b)
        return a == b;
    if (a->storage == b->storage && a->offset == b->offset)
        return true;
    const size_t bytes = (size_t)a->size * hk_dtype_bytes(a->dtype);
    return hki_dims_equal(&a->shape, &b->shape) && a->dtype == b->dtype &&
           (!bytes || !memcmp(hki_array_kernel_data(a), hki_array_kernel_data(b), bytes));
}

static bool merge_value(const pair *self, int index)
{
    hk_export_value *a = &self->one->values[index];
    const hk_export_value *b = &self->two->values[index];
    if (a->dtype != b->dtype)
        return refuse(self, "a dtype");
    if (!is_same_constant(a->constant, b->constant))
        return refuse(self, "which numbers are used");
    return merge_shape(self, &a->shape, &b->shape);
}

static bool merge_options(const pair *self, const hk_export_node *a, const hk_export_node *b)
{
    for (int i = 0; i < a->option_count; i++) {
        const hk_export_option *x = &a->options[i], *y = &b->options[i];
        if (!strcmp(x->name, "shape"))
            continue; /* the output has it */
        if (x->count != y->count || x->number != y->number ||
            memcmp(x->ints, y->ints, sizeof x->ints))
            return refuse(self, x->name);
    }
    return true;
}

static bool is_same_list(const int *a, const int *b, int count)
{
    return !count || !memcmp(a, b, (size_t)count * sizeof *a);
}

static bool merge_node(const pair *self, int index)
{
    const hk_export_node *a = &self->one->nodes[index], *b = &self->two->nodes[index];
    self->one->called = a->called;
    self->one->source = a->source;
    if (strcmp(a->operation, b->operation) || a->input_count != b->input_count ||
        a->output_count != b->output_count || a->option_count != b->option_count ||
        !is_same_list(a->inputs, b->inputs, a->input_count) ||
        !is_same_list(a->outputs, b->outputs, a->output_count))
        return refuse(self, "what is called");
    for (int i = 0; i < a->input_count; i++)
        if (a->inputs[i] >= 0 && self->one->values[a->inputs[i]].constant &&
            !merge_value(self, a->inputs[i]))
            return false;
    for (int i = 0; i < a->output_count; i++)
        if (a->outputs[i] >= 0 && !merge_value(self, a->outputs[i]))
            return false;
    return merge_options(self, a, b);
}

bool hki_export_free_batch(hki_export *self, int64_t n, const hki_export *other, int64_t m)
{
    const pair its = {self, other, n, m};
    for (int i = 0; i < self->node_count && i < other->node_count; i++)
        if (!merge_node(&its, i))
            return false;
    self->called = NULL;
    if (self->node_count != other->node_count || self->value_count != other->value_count ||
        self->input_count != other->input_count || self->output_count != other->output_count ||
        !is_same_list(self->outputs, other->outputs, self->output_count))
        return refuse(&its, "how many calls there are");
    for (int i = 0; i < self->input_count; i++)
        if (!merge_value(&its, self->inputs[i]))
            return false;
    return true;
}
