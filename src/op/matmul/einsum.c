/* Sums of products by subscripts, as views, products and sums of other operators. */
#include "array/axis.h"
#include "base/source.h"
#include "op/matmul/einsum_terms.h"
#include "op/reduce/reduce.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/join.h"
#include "op/shape/reshape.h"

#include <hocket/call.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An array with a label for each axis, each another. */
typedef struct operand {
    hk_array *x;
    hki_einsum_labels axes;
} operand;

static uint64_t mask_of(const hki_einsum_labels *axes)
{
    uint64_t mask = 0;
    for (int i = 0; i < axes->count; i++)
        mask |= UINT64_C(1) << axes->labels[i];
    return mask;
}

static int axis_of(const hki_einsum_labels *axes, int label)
{
    int axis = 0;
    while (axis < axes->count && axes->labels[axis] != label)
        axis++;
    return axis;
}

static int64_t size_of(const operand *self, int label)
{
    return self->x->shape.dims[axis_of(&self->axes, label)];
}

/* ---- one operand ----------------------------------------------------------------------------------------- */

/* A view with the labels of `wanted` in their order, all of which it has. */
static operand permuted(operand self, const hki_einsum_labels *wanted)
{
    hk_dims shape = {.ndim = wanted->count};
    int64_t strides[HK_MAX_NDIM] = {0};
    if (self.x->failed)
        return self;
    for (int i = 0; i < wanted->count; i++) {
        const int axis = axis_of(&self.axes, wanted->labels[i]);
        shape.dims[i] = self.x->shape.dims[axis];
        strides[i] = self.x->strides[axis];
    }
    return (operand){hki_array_view(self.x, shape, strides, self.x->offset), *wanted};
}

/* A view of the diagonals where a label stands twice. */
static operand diagonal(hk_array *x, const hki_einsum_labels *axes)
{
    operand self = {x, {.count = 0}};
    hk_dims shape = {.ndim = 0};
    int64_t strides[HK_MAX_NDIM] = {0};
    for (int i = 0; i < axes->count; i++) {
        const int axis = axis_of(&self.axes, axes->labels[i]);
        if (axis == self.axes.count) {
            self.axes.labels[self.axes.count++] = axes->labels[i];
            shape.dims[shape.ndim++] = x->shape.dims[i];
        }
        strides[axis] += x->strides[i];
    }
    if (shape.ndim < axes->count)
        self.x = hki_array_view(x, shape, strides, x->offset);
    return self;
}

/* The labels of `axes` that are in the mask, or those that are not. */
static hki_einsum_labels only(const hki_einsum_labels *axes, uint64_t mask)
{
    hki_einsum_labels some = {.count = 0};
    for (int i = 0; i < axes->count; i++)
        if (mask >> axes->labels[i] & 1)
            some.labels[some.count++] = axes->labels[i];
    return some;
}

/* Summed over all labels that are not in the mask. */
static operand summed(operand self, uint64_t kept)
{
    hki_sum_options options = {.axes = {.ndim = 0}};
    for (int i = 0; i < self.axes.count; i++)
        if (!(kept >> self.axes.labels[i] & 1))
            options.axes.dims[options.axes.ndim++] = i;
    if (options.axes.ndim == 0 || self.x->failed)
        return self;
    self.x = hki_op_call1(&hki_op_sum, self.x, &options);
    self.axes = only(&self.axes, kept);
    return self;
}

/* Without axes of size 1 that have more entries in the other one. */
static operand unstretched(operand self, const operand *other)
{
    const uint64_t shared = mask_of(&self.axes) & mask_of(&other->axes);
    uint64_t kept = 0;
    for (int i = 0; i < self.axes.count; i++) {
        const int label = self.axes.labels[i];
        if (!(shared >> label & 1) || size_of(&self, label) == size_of(other, label) ||
            size_of(&self, label) != 1)
            kept |= UINT64_C(1) << label;
    }
    const hki_einsum_labels left = only(&self.axes, kept);
    return left.count < self.axes.count ? permuted(self, &left) : self;
}

/* ---- two operands ------------------------------------------------------------------------------------------ */

static hki_einsum_labels joined(const hki_einsum_labels *a, const hki_einsum_labels *b,
                                const hki_einsum_labels *c)
{
    hki_einsum_labels all = *a;
    for (int i = 0; i < b->count; i++)
        all.labels[all.count++] = b->labels[i];
    for (int i = 0; i < c->count; i++)
        all.labels[all.count++] = c->labels[i];
    return all;
}

/* As a stack of matrices: axes of a, then of b, then of c, each put together. */
static hk_array *as_matrices(operand self, const hki_einsum_labels *a, const hki_einsum_labels *b,
                             const hki_einsum_labels *c)
{
    const hki_einsum_labels all = joined(a, b, c);
    hki_reshape_options shape = {.shape = {.ndim = 3, .dims = {1, 1, 1}}};
    for (int i = 0; i < all.count; i++)
        shape.shape.dims[(i >= a->count) + (i >= a->count + b->count)] *=
            size_of(&self, all.labels[i]);
    return hki_op_call1(&hki_op_reshape, permuted(self, &all).x, &shape);
}

/* Products of stacks of matrices; of dtypes that matmul has not, by all products of elements. */
static hk_array *matrix_product(hk_array *x, hk_array *y)
{
    if (x->failed || y->failed || x->dtype != HK_U64)
        return hki_op_call2(&hki_op_matmul, x, y, NULL);
    x = hki_op_call1(&hki_op_expand_dims, x, &(const int64_t){-1});
    y = hki_op_call1(&hki_op_expand_dims, y, &(const int64_t){1});
    return hki_op_call1(&hki_op_sum, hki_op_call2(&hki_op_multiply, x, y, NULL),
                        &(const hki_sum_options){.axes = {.ndim = 1, .dims = {2}}});
}

/* The sum of their products over what is not kept. Refuses an intermediate result of too many axes. */
static bool contract(hki_call *call, operand *left, operand right, uint64_t kept)
{
    operand a = unstretched(*left, &right), b = unstretched(right, left);
    const uint64_t of_a = mask_of(&a.axes), of_b = mask_of(&b.axes);
    a = summed(a, kept | of_b);
    b = summed(b, kept | of_a);
    if (a.x->failed || b.x->failed) {
        *left = a.x->failed ? a : b;
        return true;
    }
    const hki_einsum_labels batch = only(&a.axes, of_b & kept), inner = only(&a.axes, of_b & ~kept),
                            rows = only(&a.axes, ~of_b), columns = only(&b.axes, ~of_a);
    if (batch.count + rows.count + columns.count > HK_MAX_NDIM)
        return hki_call_refuse(call, HK_UNSUPPORTED,
                               "an intermediate product would have %d axes, but %d are the most; "
                               "another order of operands may need fewer",
                               batch.count + rows.count + columns.count, HK_MAX_NDIM);
    hki_reshape_options shape = {.shape = {.ndim = 0}};
    const hki_einsum_labels axes = joined(&batch, &rows, &columns);
    for (int i = 0; i < axes.count; i++)
        shape.shape.dims[shape.shape.ndim++] =
            size_of(of_a >> axes.labels[i] & 1 ? &a : &b, axes.labels[i]);
    hk_array *x = as_matrices(a, &batch, &rows, &inner),
             *y = as_matrices(b, &batch, &inner, &columns);
    hk_array *product =
        inner.count ? matrix_product(x, y) : hki_op_call2(&hki_op_multiply, x, y, NULL);
    *left = (operand){hki_op_call1(&hki_op_reshape, product, &shape), axes};
    return true;
}

/* ---- the call ------------------------------------------------------------------------------------------------ */

/* Products are summed in it: integers in int64, whose low bits are those of each. */
static hk_dtype dtype_of_sums(hk_dtype dtype)
{
    const bool is_own = hki_dtype_is_inexact(dtype) || dtype == HK_U64;
    return hki_dtype_is_half(dtype) ? HK_F32 : is_own ? dtype : HK_I64;
}

/* Sums as the dtype, which narrow integers wrap around to. */
static hk_array *narrowed(hk_array *x, hk_dtype dtype)
{
    const bool wraps = !x->failed && 1u << x->dtype & HKI_INTEGERS && 1u << dtype & HKI_INTEGERS;
    return hki_op_call1(wraps ? &hki_op_wrap : &hki_op_cast, x, &(const hki_cast_options){dtype});
}

static bool check_inputs(hki_call *call, const char *subscripts, hk_array *const *inputs, int count,
                         hk_dtype *dtype)
{
    if (!subscripts)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "argument subscripts is NULL");
    if (!inputs || count < 1)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "count is %d, but 1 operand is needed at least", count);
    for (int i = 0; i < count; i++) {
        if (!inputs[i])
            return hki_call_refuse(call, HK_INVALID_ARGUMENT, "operand %d is NULL", i);
        if (inputs[i]->failed)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT, "operand %d has failed", i);
        if (inputs[i]->dtype == HK_BOOL)
            return hki_call_refuse(call, HK_UNSUPPORTED,
                                   "operand %d is bool, but must be of numbers; hk_cast converts",
                                   i);
        const hk_dtype before = i ? *dtype : inputs[0]->dtype;
        if (!hk_dtype_promote(before, inputs[i]->dtype, dtype))
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "operand %d is %s, those before it %s: no dtype of one kind "
                                   "holds both; use hk_cast",
                                   i, hk_dtype_name(inputs[i]->dtype), hk_dtype_name(before));
    }
    return true;
}

/* Of the axes with a label in one operand, the first; `axis` itself, where there is none before. */
static int first_axis(const hki_einsum_labels *axes, int axis)
{
    int first = 0;
    while (axes->labels[first] != axes->labels[axis])
        first++;
    return first;
}

/* Each label has one size, or 1, which stretches, but not in one operand. */
static bool check_sizes(hki_call *call, hk_array *const *inputs, const hki_einsum_labels *operands,
                        int count)
{
    int64_t sizes[HKI_EINSUM_LABELS];
    for (int i = 0; i < HKI_EINSUM_LABELS; i++)
        sizes[i] = 1;
    for (int i = 0; i < count; i++) {
        const int64_t *dims = inputs[i]->shape.dims;
        for (int j = 0; j < operands[i].count; j++) {
            int64_t *known = &sizes[operands[i].labels[j]];
            const int first = first_axis(&operands[i], j);
            if (dims[first] != dims[j])
                return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                       "axes %d and %d of operand %d, of one letter, have %" PRId64
                                       " and %" PRId64 " entries",
                                       first, j, i, dims[first], dims[j]);
            if (dims[j] != *known && dims[j] != 1 && *known != 1)
                return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                       "axis %d of operand %d has %" PRId64
                                       " entries, but that of an operand before, which goes with "
                                       "it, %" PRId64,
                                       j, i, dims[j], *known);
            *known = dims[j] == 1 ? *known : dims[j];
        }
    }
    return true;
}

static hk_array *product_of(hki_call *call, hk_array *const *inputs,
                            const hki_einsum_labels *operands, int count,
                            const hki_einsum_labels *result, hk_dtype dtype)
{
    const hki_cast_options sums = {dtype_of_sums(dtype)};
    const bool alone = count == 1;
    operand all = {NULL, {.count = 0}};
    for (int i = 0; i < count; i++) {
        uint64_t kept = mask_of(result);
        for (int j = i + 1; j < count; j++)
            kept |= mask_of(&operands[j]);
        operand next = diagonal(inputs[i], &operands[i]);
        if (!alone || (mask_of(&next.axes) & ~kept))
            next.x = hki_op_call1(&hki_op_cast, next.x, &sums);
        if (i == 0)
            all = summed(next, kept);
        else if (!contract(call, &all, next, kept))
            return NULL;
    }
    all = permuted(all, result);
    return narrowed(all.x, dtype);
}

/* NULL after hki_call_refuse. */
static hk_array *einsum(hki_call *call, const char *subscripts, hk_array *const *inputs, int count)
{
    hk_dtype dtype;
    if (!check_inputs(call, subscripts, inputs, count, &dtype))
        return NULL;
    hki_einsum_labels result, *operands = calloc((size_t)count, sizeof *operands);
    hk_array *product = NULL;
    if (!operands)
        hki_call_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
    else if (hki_einsum_parse(call, subscripts, inputs, count, operands, &result) &&
             check_sizes(call, inputs, operands, count))
        product = product_of(call, inputs, operands, count, &result, dtype);
    free(operands);
    return product;
}

hk_array *(hk_einsum)(const char *subscripts, hk_array *const *inputs, int count)
{
    hki_call call = {.code = HK_OK};
    hk_array *result;
    {
        HK_SCOPE;
        result = einsum(&call, subscripts, inputs, count);
        if (!result)
            result = hki_refuse_many("einsum", inputs, inputs && count > 0 ? count : 0, &call);
        hk_take(result);
    }
    return hki_scope_add(result);
}
