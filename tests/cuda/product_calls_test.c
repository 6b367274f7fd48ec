/* Into how many calls of cuBLASLt a batch of products goes: one for each entry along its shorter axes, wherever those lie. What
 * cuda_matmul.c calls is stood in for. */
#include "check.h"

#include "device/cuda/cuda_products.h"
#include "op/cuda/cuda_calls.h"
#include "op/matmul/cuda_matmul.h"

enum { MOST = 64 };

static struct {
    int launches;
    hki_cuda_product product; /* of the last plan */
    int64_t a[MOST], c[MOST]; /* where each launch begins, in elements */
} seen;
static float first[1024], result[1024]; /* addresses alone */

/* ---- what is stood in for -------------------------------------------------------------------------------- */

hki_cuda_product_plan *hki_cuda_product_plan_for(hki_cuda_stream *stream,
                                                 const hki_cuda_product *product, bool *failed)
{
    (void)stream;
    seen.product = *product;
    *failed = false;
    return (hki_cuda_product_plan *)(void *)&seen;
}

size_t hki_cuda_product_workspace_bytes(const hki_cuda_product_plan *plan)
{
    (void)plan;
    return 0;
}

bool hki_cuda_product_launch(hki_cuda_stream *stream, hki_cuda_product_plan *plan, const void *a,
                             const void *b, const void *bias, void *c, void *workspace,
                             bool *falls_back)
{
    (void)stream, (void)plan, (void)b, (void)bias, (void)workspace, (void)falls_back;
    if (seen.launches < MOST) {
        seen.a[seen.launches] = (const float *)a - first;
        seen.c[seen.launches] = (float *)c - result;
    }
    seen.launches++;
    return true;
}

void *hki_cuda_workspace(hki_cuda_stream *stream, size_t bytes)
{
    (void)stream, (void)bytes;
    CHECK(false);
    return NULL;
}

bool hki_cuda_ok(hki_cuda_stream *stream, cudaError_t error, const char *what)
{
    (void)stream, (void)what;
    return error == cudaSuccess;
}

cudaStream_t hki_cuda_stream_handle(const hki_cuda_stream *stream)
{
    (void)stream;
    return NULL;
}

void hki_cuda_copy_tensor(hki_cuda_stream *stream, const hki_tensor *from, const hki_tensor *to)
{
    (void)stream, (void)from, (void)to;
    CHECK(false);
}

void hki_cuda_add_bias(hki_cuda_stream *stream, hk_dtype dtype, void *y, const int64_t dims[3],
                       const void *bias, int64_t stride)
{
    (void)stream, (void)dtype, (void)y, (void)dims, (void)bias, (void)stride;
    CHECK(false);
}

void hki_cuda_multiply(hki_cuda_stream *stream, hk_dtype dtype, const hki_cuda_batch *batch,
                       const hki_cuda_matrices *a, const hki_cuda_matrices *b, void *c)
{
    (void)stream, (void)dtype, (void)batch, (void)a, (void)b, (void)c;
    CHECK(false);
}

/* ---- batches ------------------------------------------------------------------------------------------------ */

enum { ROWS = 5, DEPTH = 4 };

/* (samples, heads, rows, depth) of memory in the order samples, rows, heads, depth, as attention has it. */
static hki_cuda_matrices heads_of(int64_t heads)
{
    return (hki_cuda_matrices){.data = first,
                               .rows = ROWS,
                               .columns = DEPTH,
                               .row_stride = heads * DEPTH,
                               .column_stride = 1,
                               .batch_strides = {ROWS * heads * DEPTH, DEPTH}};
}

static void multiply(int64_t samples, int64_t heads)
{
    hki_cuda_multiplication product = {
        .dtype = HK_F32,
        .batch = {.ndim = 2, .count = samples * heads, .dims = {samples, heads}},
        .a = heads_of(heads),
        .b = heads_of(heads),
        .c = result};
    product.b.rows = DEPTH; /* its transposed one */
    product.b.columns = ROWS;
    product.b.row_stride = 1;
    product.b.column_stride = heads * DEPTH;
    seen.launches = 0;
    hki_cuda_multiply_matrices(NULL, &product);
}

static void test_heads(void)
{
    multiply(7, 3);
    CHECK_EQ_I64(seen.launches, 3);
    CHECK_EQ_I64(seen.product.batch_count, 7);
    CHECK_EQ_I64(seen.product.a_batch_stride, ROWS * 3 * DEPTH);
    CHECK_EQ_I64(seen.product.c_batch_stride, 3 * ROWS * ROWS);
    for (int head = 0; head < 3; head++) {
        CHECK_EQ_I64(seen.a[head], head * DEPTH);
        CHECK_EQ_I64(seen.c[head], head * ROWS * ROWS);
    }
    multiply(2, 9);
    CHECK_EQ_I64(seen.launches, 2);
    CHECK_EQ_I64(seen.product.batch_count, 9);
    CHECK_EQ_I64(seen.product.c_batch_stride, ROWS * ROWS);
    CHECK_EQ_I64(seen.c[1], 9 * ROWS * ROWS);
}

/* Axes along which both factors lie evenly are one. */
static void test_even(void)
{
    multiply(6, 1);
    CHECK_EQ_I64(seen.launches, 1);
    CHECK_EQ_I64(seen.product.batch_count, 6);
}

int main(void)
{
    test_heads();
    test_even();
    return check_result();
}
