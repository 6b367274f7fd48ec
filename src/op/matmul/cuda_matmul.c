/* Matrix products of the operator table, matmul and linear, and of whoever has matrices. cuBLASLt reads transposed matrices,
 * batches and matrices that all entries of a batch share in place; what has gaps along both axes is copied first. */
#include "op/matmul/cuda_matmul.h"

#include "base/integer.h"
#include "device/cuda/cuda_products.h"
#include "op/cuda/cuda_calls.h"
#include "op/matmul/cuda_matrix_kernels.h"
#include "op/matmul/matrix.h"

enum {
    PACK_ALIGNMENT = 256,
    /* Entries of a batch in one call of the library: some of its kernels have them along an axis of their grid, which
     * ends at 65535. A power of two, so that the next call's matrices are aligned as the first's. */
    CALL_ENTRIES = 1 << 15
};

typedef hki_cuda_multiplication multiplication;

/* Of c and the bias. */
static hk_dtype result_of(const multiplication *self)
{
    return hki_matrix_result_dtype(self->dtype);
}

/* ---- geometry ------------------------------------------------------------------------------------------ */

/* Strides along the batch's axes, of which x has all but the first ones; 0 where it is broadcast. */
static void set_batch_strides(hki_cuda_matrices *matrices, const hki_tensor *x, int matrix_ndim,
                              int batch_ndim)
{
    const int missing = batch_ndim - (x->ndim - matrix_ndim);
    for (int i = 0; i < HK_MAX_NDIM; i++) {
        const int axis = i - missing;
        const bool has = i < batch_ndim && axis >= 0 && x->dims[axis] != 1;
        matrices->batch_strides[i] = has ? x->strides[axis] : 0;
    }
}

static void set_batch(hki_cuda_batch *batch, const int64_t *dims, int ndim)
{
    *batch = (hki_cuda_batch){.ndim = ndim, .count = 1};
    for (int i = 0; i < ndim; i++) {
        batch->dims[i] = dims[i];
        batch->count *= dims[i];
    }
}

/* Leaves out axes of size 1 and joins those along which both factors lie evenly. */
static void simplify(multiplication *self)
{
    hki_cuda_batch *batch = &self->batch;
    int64_t *a = self->a.batch_strides, *b = self->b.batch_strides;
    int to = 0;
    for (int i = 0; i < batch->ndim; i++) {
        const int64_t size = batch->dims[i];
        if (size == 1)
            continue;
        if (to > 0 && a[to - 1] == a[i] * size && b[to - 1] == b[i] * size) {
            to--;
            batch->dims[to] *= size;
        } else {
            batch->dims[to] = size;
        }
        a[to] = a[i];
        b[to] = b[i];
        to++;
    }
    batch->ndim = to;
}

/* Rows of all entries are rows of one matrix where all multiply one b. */
static void join_rows(multiplication *self)
{
    hki_cuda_matrices *a = &self->a;
    if (self->batch.ndim != 1 || self->b.batch_strides[0] != 0)
        return;
    if (a->rows == 1)
        a->row_stride = a->batch_strides[0];
    else if (a->batch_strides[0] != a->rows * a->row_stride)
        return;
    a->rows *= self->batch.count;
    self->batch = (hki_cuda_batch){.count = 1};
}

/* Where c has each axis of the batch, in elements. */
static void set_result_strides(const multiplication *self, int64_t *strides)
{
    int64_t stride = self->a.rows * self->b.columns;
    for (int i = self->batch.ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= self->batch.dims[i];
    }
}

static void swap(int64_t *values, int i, int j)
{
    const int64_t value = values[i];
    values[i] = values[j];
    values[j] = value;
}

/* The library has the last axis of the batch in one call: it is to be the longest one. Heads of attention, whose axis lies
 * between samples and matrices, would be a call each. */
static void turn_longest_last(multiplication *self, int64_t *c_strides)
{
    const int last = self->batch.ndim - 1;
    int longest = last;
    for (int i = 0; i < last; i++)
        if (self->batch.dims[i] > self->batch.dims[longest])
            longest = i;
    if (longest == last)
        return;
    swap(self->batch.dims, longest, last);
    swap(self->a.batch_strides, longest, last);
    swap(self->b.batch_strides, longest, last);
    swap(c_strides, longest, last);
}

/* Whether a matrix lies as cuBLASLt takes it: without gaps along rows, or (transposed) along columns. */
static bool lies_well(const hki_cuda_matrices *x, int32_t *transposed, int64_t *leading)
{
    const bool one_row = x->rows == 1, one_column = x->columns == 1;
    if ((x->column_stride == 1 || one_column) && (x->row_stride >= x->columns || one_row)) {
        *transposed = false;
        *leading = one_row ? x->columns : x->row_stride;
        return true;
    }
    if ((x->row_stride == 1 || one_row) && (x->column_stride >= x->rows || one_column)) {
        *transposed = true;
        *leading = one_column ? x->rows : x->column_stride;
        return true;
    }
    return false;
}

/* The entries that a factor really has: one along axes where it is broadcast. */
static hki_cuda_batch own_batch(const hki_cuda_batch *batch, const hki_cuda_matrices *x)
{
    int64_t dims[HK_MAX_NDIM];
    hki_cuda_batch own;
    for (int i = 0; i < batch->ndim; i++)
        dims[i] = x->batch_strides[i] ? batch->dims[i] : 1;
    set_batch(&own, dims, batch->ndim);
    return own;
}

/* x as its packed copy is to be; its data is left. */
static hki_cuda_matrices packed(const hki_cuda_matrices *x, const hki_cuda_batch *own)
{
    hki_cuda_matrices copy = *x;
    int64_t stride = x->rows * x->columns;
    copy.row_stride = x->columns;
    copy.column_stride = 1;
    for (int i = own->ndim - 1; i >= 0; i--) {
        copy.batch_strides[i] = x->batch_strides[i] ? stride : 0;
        stride *= own->dims[i];
    }
    return copy;
}

/* ---- cuBLASLt ------------------------------------------------------------------------------------------ */

/* A factor on its way to cuBLASLt. */
typedef struct factor {
    const hki_cuda_matrices *from;
    hki_cuda_matrices is; /* from, or its copy */
    hki_cuda_batch own;
    bool is_packed;
    size_t packed_bytes; /* rounded up; 0: not packed */
    int32_t transposed;
    int64_t leading;
} factor;

static void factor_init(factor *self, const hki_cuda_matrices *from, const hki_cuda_batch *batch,
                        size_t element_bytes)
{
    *self = (factor){.from = from, .is = *from};
    if (lies_well(from, &self->transposed, &self->leading))
        return;
    self->own = own_batch(batch, from);
    self->is = packed(from, &self->own);
    self->is_packed = true;
    lies_well(&self->is, &self->transposed, &self->leading);
    size_t bytes = (size_t)(self->own.count * from->rows * from->columns) * element_bytes;
    self->packed_bytes = hki_round_up_bytes(bytes, PACK_ALIGNMENT);
}

/* Of the matrices that calls of the library begin at: entries along the outer axes. */
static int32_t factor_alignment(const factor *self, int outer_ndim, size_t element_bytes)
{
    uintptr_t bits = self->is_packed ? 0 : (uintptr_t)self->is.data;
    for (int i = 0; i < outer_ndim; i++)
        bits |= (uintptr_t)self->is.batch_strides[i] * element_bytes;
    return hki_cuda_alignment_of(bits);
}

static int64_t offset_of(const hki_cuda_batch *outer, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (int i = outer->ndim - 1; i >= 0; i--) {
        offset += index % outer->dims[i] * strides[i];
        index /= outer->dims[i];
    }
    return offset;
}

/* Batches of matrices as an array of so many axes more. */
static hki_tensor tensor_of(hk_dtype dtype, const hki_cuda_batch *batch, const hki_cuda_matrices *x)
{
    const int rows = batch->ndim, columns = batch->ndim + 1;
    hki_tensor tensor = {.data = (void *)(uintptr_t)x->data,
                         .dtype = dtype,
                         .ndim = batch->ndim + 2,
                         .size = batch->count * x->rows * x->columns};
    for (int i = 0; i < batch->ndim; i++) {
        tensor.dims[i] = batch->dims[i];
        tensor.strides[i] = x->batch_strides[i];
    }
    tensor.dims[rows] = x->rows;
    tensor.dims[columns] = x->columns;
    tensor.strides[rows] = x->row_stride;
    tensor.strides[columns] = x->column_stride;
    return tensor;
}

static void pack_into(hki_cuda_stream *stream, hk_dtype dtype, factor *self, void *to)
{
    if (!self->is_packed)
        return;
    self->is.data = to;
    const hki_tensor from = tensor_of(dtype, &self->own, self->from);
    const hki_tensor packed_copy = tensor_of(dtype, &self->own, &self->is);
    hki_cuda_copy_tensor(stream, &from, &packed_copy);
}

/* The last axis of the batch is the library's; there is a call for each entry along the others. */
static hki_cuda_product product_of(const multiplication *self, const int64_t *c_strides,
                                   const factor *a, const factor *b, int outer_ndim,
                                   const void *bias)
{
    const size_t element_bytes = hki_dtype_bytes(self->dtype);
    const size_t result_bytes = hki_dtype_bytes(result_of(self));
    const int last = self->batch.ndim - 1;
    const int64_t m = a->is.rows, n = b->is.columns, inner = last < 0 ? 1 : self->batch.dims[last];
    uintptr_t c_bits = (uintptr_t)self->c;
    for (int i = 0; i < outer_ndim; i++)
        c_bits |= (uintptr_t)c_strides[i] * result_bytes;
    return (hki_cuda_product){
        .m = m,
        .n = n,
        .k = a->is.columns,
        .a_leading = a->leading,
        .b_leading = b->leading,
        .batch_count = inner,
        .a_batch_stride = last < 0 ? 0 : a->is.batch_strides[last],
        .b_batch_stride = last < 0 ? 0 : b->is.batch_strides[last],
        .c_batch_stride = last < 0 ? 0 : c_strides[last],
        .dtype = (int32_t)self->dtype,
        .has_bias = bias != NULL,
        .a_transposed = a->transposed,
        .b_transposed = b->transposed,
        .a_alignment = factor_alignment(a, outer_ndim, element_bytes),
        .b_alignment = factor_alignment(b, outer_ndim, element_bytes),
        .c_alignment = hki_cuda_alignment_of(c_bits),
        .bias_alignment = bias ? hki_cuda_alignment_of((uintptr_t)bias) : 0,
    };
}

/* From entry `first` of the batch's last axis on, as many as the call takes, for each entry along the others. False: as
 * hki_cuda_product_launch. */
static bool launch_entries(hki_cuda_stream *stream, const multiplication *self,
                           const int64_t *c_strides, hki_cuda_product_plan *plan,
                           const hki_cuda_product *call, const factor *a, const factor *b,
                           int64_t first, const void *bias, void *workspace, bool *falls_back)
{
    const int64_t element_bytes = (int64_t)hki_dtype_bytes(self->dtype);
    const int64_t result_bytes = (int64_t)hki_dtype_bytes(result_of(self));
    const int last = self->batch.ndim - 1;
    hki_cuda_batch outer;
    set_batch(&outer, self->batch.dims, last > 0 ? last : 0);
    for (int64_t i = 0; i < outer.count; i++) {
        const int64_t a_offset = offset_of(&outer, a->is.batch_strides, i);
        const int64_t b_offset = offset_of(&outer, b->is.batch_strides, i);
        const char *its_a = a->is.data, *its_b = b->is.data;
        char *its_c = self->c;
        its_a += (a_offset + first * call->a_batch_stride) * element_bytes;
        its_b += (b_offset + first * call->b_batch_stride) * element_bytes;
        its_c += (offset_of(&outer, c_strides, i) + first * call->c_batch_stride) * result_bytes;
        if (!hki_cuda_product_launch(stream, plan, its_a, its_b, bias, its_c, workspace,
                                     falls_back))
            return false;
    }
    return true;
}

/* False: own kernels must do it. *added: with the bias. */
static bool multiply_by_library(hki_cuda_stream *stream, multiplication *given, bool *added)
{
    multiplication turned = *given, *self = &turned;
    int64_t c_strides[HK_MAX_NDIM];
    set_result_strides(self, c_strides);
    turn_longest_last(self, c_strides);
    const size_t element_bytes = hki_dtype_bytes(self->dtype);
    const hki_tensor *bias = self->bias;
    const int outer_ndim = self->batch.ndim > 1 ? self->batch.ndim - 1 : 0;
    /* Of a batch, the library would add the bias to each matrix as well; but there are no such calls. */
    const void *fused = bias && self->batch.ndim == 0 && (bias->strides[0] == 1 || bias->size == 1)
                            ? bias->data
                            : NULL;
    factor a, b;
    bool failed = false, falls_back = false;
    factor_init(&a, &self->a, &self->batch, element_bytes);
    factor_init(&b, &self->b, &self->batch, element_bytes);
    hki_cuda_product product = product_of(self, c_strides, &a, &b, outer_ndim, fused);
    const int64_t entries = product.batch_count;
    product.batch_count = entries < CALL_ENTRIES ? entries : CALL_ENTRIES;
    hki_cuda_product_plan *plan = hki_cuda_product_plan_for(stream, &product, &failed);
    if (!plan && !failed && fused) {
        fused = NULL;
        product = product_of(self, c_strides, &a, &b, outer_ndim, fused);
        plan = hki_cuda_product_plan_for(stream, &product, &failed);
    }
    if (!plan)
        return failed;
    size_t own_bytes = hki_cuda_product_workspace_bytes(plan);
    hki_cuda_product last = product; /* of several calls, where it has fewer entries */
    last.batch_count = entries % product.batch_count;
    if (last.batch_count) {
        plan = hki_cuda_product_plan_for(stream, &last, &failed);
        if (!plan)
            return failed;
        const size_t last_bytes = hki_cuda_product_workspace_bytes(plan);
        own_bytes = last_bytes > own_bytes ? last_bytes : own_bytes;
    }
    const size_t c_bytes = hki_round_up_bytes(self->c_bytes, PACK_ALIGNMENT);
    const size_t bytes = c_bytes + a.packed_bytes + b.packed_bytes + own_bytes;
    char *workspace = NULL;
    if (bytes) {
        workspace = hki_cuda_workspace(stream, bytes);
        if (!workspace)
            return true;
        if (c_bytes)
            self->c = given->c = workspace;
        pack_into(stream, self->dtype, &a, workspace + c_bytes);
        pack_into(stream, self->dtype, &b, workspace + c_bytes + a.packed_bytes);
        workspace += c_bytes + a.packed_bytes + b.packed_bytes;
    }
    for (int64_t first = 0; first < entries; first += product.batch_count) {
        const hki_cuda_product *call = entries - first < product.batch_count ? &last : &product;
        if (last.batch_count)
            plan = hki_cuda_product_plan_for(stream, call, &failed);
        if (!plan)
            return failed;
        if (!launch_entries(stream, self, c_strides, plan, call, &a, &b, first, fused, workspace,
                            &falls_back))
            break;
    }
    *added = fused && !falls_back;
    return !falls_back;
}

/* For c alone: own kernels need no more, and the library takes what lies there anew. */
static bool make_room(hki_cuda_stream *stream, multiplication *self)
{
    self->c = hki_cuda_workspace(stream, self->c_bytes);
    return self->c != NULL;
}

void hki_cuda_multiply_matrices(hki_cuda_stream *stream, multiplication *self)
{
    const hki_tensor *bias = self->bias;
    const bool is_float = hki_dtype_is_real(self->dtype);
    const int64_t rows = self->batch.count * self->a.rows, columns = self->b.columns;
    bool added = false;
    if (rows == 0 || columns == 0)
        return;
    if (self->c_bytes && !make_room(stream, self))
        return;
    simplify(self);
    join_rows(self);
    if (self->a.columns == 0) /* sums of nothing; the factors have no memory */
        hki_cuda_ok(stream,
                    cudaMemsetAsync(self->c, 0,
                                    (size_t)(rows * columns) * hki_dtype_bytes(result_of(self)),
                                    hki_cuda_stream_handle(stream)),
                    "cudaMemsetAsync");
    else if (!is_float || !multiply_by_library(stream, self, &added))
        hki_cuda_multiply(stream, self->dtype, &self->batch, &self->a, &self->b, self->c);
    if (bias && !added)
        hki_cuda_add_bias(stream, result_of(self), self->c, (const int64_t[]){rows, columns, 1},
                          bias->data, bias->strides[0]);
}

/* ---- operators ----------------------------------------------------------------------------------------- */

/* A vector is a row on the left and a column on the right. */
void hki_cuda_matmul(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *a = &call->in[0], *b = &call->in[1], *c = &call->out[0];
    const int a_ndim = a->ndim > 1 ? 2 : 1, b_ndim = b->ndim > 1 ? 2 : 1;
    multiplication self = {.dtype = a->dtype, .c = c->data};
    set_batch(&self.batch, c->dims, c->ndim - (a_ndim == 2) - (b_ndim == 2));
    self.a = (hki_cuda_matrices){.data = a->data,
                                 .rows = a_ndim == 2 ? a->dims[a->ndim - 2] : 1,
                                 .columns = a->dims[a->ndim - 1],
                                 .row_stride = a_ndim == 2 ? a->strides[a->ndim - 2] : 0,
                                 .column_stride = a->strides[a->ndim - 1]};
    self.b = (hki_cuda_matrices){.data = b->data,
                                 .rows = b->dims[b->ndim - b_ndim],
                                 .columns = b_ndim == 2 ? b->dims[b->ndim - 1] : 1,
                                 .row_stride = b->strides[b->ndim - b_ndim],
                                 .column_stride = b_ndim == 2 ? b->strides[b->ndim - 1] : 0};
    set_batch_strides(&self.a, a, a_ndim, self.batch.ndim);
    set_batch_strides(&self.b, b, b_ndim, self.batch.ndim);
    hki_cuda_multiply_matrices(stream, &self);
}

/* All axes of x but the last two are a batch, which shares the weight. */
static multiplication linear_of(const hki_tensor *x, const hki_tensor *weight)
{
    const int x_ndim = x->ndim > 1 ? 2 : 1;
    multiplication self = {.dtype = x->dtype};
    set_batch(&self.batch, x->dims, x->ndim - x_ndim);
    self.a = (hki_cuda_matrices){.data = x->data,
                                 .rows = x_ndim == 2 ? x->dims[x->ndim - 2] : 1,
                                 .columns = x->dims[x->ndim - 1],
                                 .row_stride = x_ndim == 2 ? x->strides[x->ndim - 2] : 0,
                                 .column_stride = x->strides[x->ndim - 1]};
    self.b = (hki_cuda_matrices){.data = weight->data,
                                 .rows = weight->dims[1],
                                 .columns = weight->dims[0],
                                 .row_stride = weight->strides[1],
                                 .column_stride = weight->strides[0]};
    set_batch_strides(&self.a, x, x_ndim, self.batch.ndim);
    return self;
}

void hki_cuda_linear(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *bias = &call->in[2];
    multiplication self = linear_of(&call->in[0], &call->in[1]);
    self.c = call->out[0].data;
    self.bias = bias->ndim >= 0 ? bias : NULL;
    hki_cuda_multiply_matrices(stream, &self);
}

void *hki_cuda_linear_in_workspace(hki_cuda_stream *stream, const hki_tensor *x,
                                   const hki_tensor *weight, const hki_tensor *bias)
{
    multiplication self = linear_of(x, weight);
    const size_t size = (size_t)(self.batch.count * self.a.rows * self.b.columns);
    self.bias = bias;
    self.c_bytes = size * hki_dtype_bytes(self.dtype);
    hki_cuda_multiply_matrices(stream, &self);
    return self.c;
}
