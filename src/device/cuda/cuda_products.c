#include "device/cuda/cuda_products.h"

#include "device/cuda/cuda_cache.h"
#include "device/cuda/cuda_libraries.h"

#include <limits.h>

/* What NVIDIA recommends for Hopper; more than most plans take. */
static const uint64_t workspace_limit_bytes = 32 << 20;

struct hki_cuda_product_plan {
    bool is_supported;
    bool is_f64;
    int algorithm_id;
    cublasLtMatmulDesc_t operation; /* these are NULL until they are made */
    cublasLtMatrixLayout_t left, right, result;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace_bytes;
};

typedef struct products {
    const hki_cublaslt *library; /* NULL until the handle is there */
    cublasLtHandle_t handle;
    int refusals; /* to make one */
    hki_cuda_cache plans;
} products;

enum { MAX_REFUSALS = 3 };

/* In functions that have a library and a stream. */
#define CALL(...) HKI_LIBRARY_CALL(cublaslt, library, stream, __VA_ARGS__)

static void drop_plan(void *value, void *context)
{
    const hki_cuda_product_plan *plan = value;
    const hki_cublaslt *library = ((const products *)context)->library;
    cublasLtMatrixLayout_t layouts[] = {plan->left, plan->right, plan->result};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            library->cublasLtMatrixLayoutDestroy(layouts[i]);
    if (plan->operation)
        library->cublasLtMatmulDescDestroy(plan->operation);
}

static void products_deinit(void *state)
{
    products *self = state;
    if (!self->library)
        return;
    hki_cuda_cache_deinit(&self->plans);
    self->library->cublasLtDestroy(self->handle);
}

/* With a handle; NULL where there is no library, or none is given; or after noting an error, then *failed. */
static products *products_of(hki_cuda_stream *stream, bool *failed)
{
    const hki_cublaslt *library = hki_cuda_cublaslt();
    products *self = NULL;
    if (!library)
        return NULL;
    self = hki_cuda_stream_keep(stream, HKI_CUDA_PRODUCTS, sizeof *self, products_deinit);
    *failed = !self;
    if (!self || self->library)
        return self;
    if (self->refusals >= MAX_REFUSALS)
        return NULL;
    if (!CALL(cublasLtCreate, &self->handle)) {
        self->refusals++;
        *failed = !hki_cuda_falls_back(stream);
        return NULL;
    }
    self->library = library;
    hki_cuda_cache_init(&self->plans, sizeof(hki_cuda_product), sizeof(hki_cuda_product_plan),
                        drop_plan, self);
    return self;
}

/* ---- plans --------------------------------------------------------------------------------------------- */

static cudaDataType type_of(int32_t dtype)
{
    return dtype == HK_F64    ? CUDA_R_64F
           : dtype == HK_F16  ? CUDA_R_16F
           : dtype == HK_BF16 ? CUDA_R_16BF
                              : CUDA_R_32F;
}

static cudaDataType result_type_of(int32_t dtype)
{
    return dtype == HK_F64 ? CUDA_R_64F : CUDA_R_32F;
}

/* A matrix by columns. */
static bool make_layout(const hki_cublaslt *library, hki_cuda_stream *stream,
                        const hki_cuda_product *product, cudaDataType type, int64_t rows,
                        int64_t columns, int64_t leading, int64_t batch_stride,
                        cublasLtMatrixLayout_t *layout)
{
    const int32_t batch_count = (int32_t)product->batch_count;
    if (!CALL(cublasLtMatrixLayoutCreate, layout, type, (uint64_t)rows, (uint64_t)columns, leading))
        return false;
    return batch_count == 1 ||
           (CALL(cublasLtMatrixLayoutSetAttribute, *layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                 &batch_count, sizeof batch_count) &&
            CALL(cublasLtMatrixLayoutSetAttribute, *layout,
                 CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride, sizeof batch_stride));
}

/* The same, of the operation or the preference that the function has. */
#define SET(attribute, value)                                                                      \
    CALL(cublasLtMatmulDescSetAttribute, operation, CUBLASLT_MATMUL_DESC_##attribute, &(value),    \
         sizeof(value))
#define PREFER(attribute, value)                                                                   \
    CALL(cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_##attribute,       \
         &(value), sizeof(value))

static bool make_operation(const hki_cublaslt *library, hki_cuda_stream *stream,
                           const hki_cuda_product *product, hki_cuda_product_plan *plan)
{
    const int32_t transposed = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const int32_t bias_type = (int32_t)result_type_of(product->dtype);
    /* Only its alignment is looked at before the launch. */
    const void *bias = (const void *)(uintptr_t)product->bias_alignment;
    const cublasComputeType_t compute =
        product->dtype == HK_F64 ? CUBLAS_COMPUTE_64F
        : product->dtype == HK_F32 && hki_cuda_stream_allows_tf32(stream)
            ? CUBLAS_COMPUTE_32F_FAST_TF32
            : CUBLAS_COMPUTE_32F;
    if (!CALL(cublasLtMatmulDescCreate, &plan->operation, compute, result_type_of(product->dtype)))
        return false;
    const cublasLtMatmulDesc_t operation = plan->operation;
    return (!product->b_transposed || SET(TRANSA, transposed)) &&
           (!product->a_transposed || SET(TRANSB, transposed)) &&
           (!product->has_bias ||
            (SET(EPILOGUE, epilogue) && SET(BIAS_DATA_TYPE, bias_type) && SET(BIAS_POINTER, bias)));
}

/* The library counts by columns, so that it is told of the transposed product: c' = b' a', where a matrix by rows is its
 * transposed one by columns as it lies. */
static bool make_layouts(const hki_cublaslt *library, hki_cuda_stream *stream,
                         const hki_cuda_product *product, hki_cuda_product_plan *plan)
{
    const int64_t m = product->m, n = product->n, k = product->k;
    const cudaDataType type = type_of(product->dtype);
    return make_layout(library, stream, product, type, product->b_transposed ? k : n,
                       product->b_transposed ? n : k, product->b_leading, product->b_batch_stride,
                       &plan->left) &&
           make_layout(library, stream, product, type, product->a_transposed ? m : k,
                       product->a_transposed ? k : m, product->a_leading, product->a_batch_stride,
                       &plan->right) &&
           make_layout(library, stream, product, result_type_of(product->dtype), n, m, n,
                       product->c_batch_stride, &plan->result);
}

/* -1: it does not say. */
static int algorithm_id(const hki_cublaslt *library, const cublasLtMatmulAlgo_t *algorithm)
{
    int32_t id = -1;
    size_t written;
    cublasStatus_t status = library->cublasLtMatmulAlgoConfigGetAttribute(
        algorithm, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written);
    return status == CUBLAS_STATUS_SUCCESS ? id : -1;
}

/* Asks for an algorithm; plan->is_supported says whether there is one. */
static bool choose(const products *self, hki_cuda_stream *stream, const hki_cuda_product *product,
                   hki_cuda_product_plan *plan)
{
    const hki_cublaslt *library = self->library;
    /* Parts of a sum over k are added in a step of their own, and never as they happen to be done. */
    const uint32_t sums = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const uint32_t left = (uint32_t)product->b_alignment, right = (uint32_t)product->a_alignment;
    const uint32_t result = (uint32_t)product->c_alignment;
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t found = {.state = CUBLAS_STATUS_NOT_SUPPORTED};
    int found_count = 0;
    bool done = false;
    if (!CALL(cublasLtMatmulPreferenceCreate, &preference))
        return false;
    if (!PREFER(MAX_WORKSPACE_BYTES, workspace_limit_bytes) ||
        !PREFER(REDUCTION_SCHEME_MASK, sums) || !PREFER(MIN_ALIGNMENT_A_BYTES, left) ||
        !PREFER(MIN_ALIGNMENT_B_BYTES, right) || !PREFER(MIN_ALIGNMENT_C_BYTES, result) ||
        !PREFER(MIN_ALIGNMENT_D_BYTES, result))
        goto destroy;
    cublasStatus_t status = library->cublasLtMatmulAlgoGetHeuristic(
        self->handle, plan->operation, plan->left, plan->right, plan->result, plan->result,
        preference, 1, &found, &found_count);
    done = hki_cublaslt_ok(library, stream, status, "cublasLtMatmulAlgoGetHeuristic");
    if (status == CUBLAS_STATUS_SUCCESS && found_count > 0 &&
        found.state == CUBLAS_STATUS_SUCCESS) {
        plan->is_supported = true;
        plan->algorithm = found.algo;
        plan->workspace_bytes = found.workspaceSize;
        plan->algorithm_id = algorithm_id(library, &found.algo);
    }
destroy:
    library->cublasLtMatmulPreferenceDestroy(preference);
    return done;
}

hki_cuda_product_plan *hki_cuda_product_plan_for(hki_cuda_stream *stream,
                                                 const hki_cuda_product *product, bool *failed)
{
    hki_cuda_product_plan *plan, made = {.is_f64 = product->dtype == HK_F64};
    *failed = false;
    if (product->batch_count > INT32_MAX)
        return NULL;
    products *self = products_of(stream, failed);
    if (!self)
        return NULL;
    plan = hki_cuda_cache_find(&self->plans, product);
    if (!plan) {
        if (!make_operation(self->library, stream, product, &made) ||
            !make_layouts(self->library, stream, product, &made) ||
            !choose(self, stream, product, &made)) {
            made.is_supported = false;
            if (!hki_cuda_falls_back(stream))
                goto fail;
        }
        plan = hki_cuda_cache_put(&self->plans, product);
        if (!plan) {
            hki_cuda_note(stream, "plan of a product", "out of host memory");
            goto fail;
        }
        *plan = made;
    }
    return plan->is_supported ? plan : NULL;
fail:
    drop_plan(&made, self);
    *failed = true;
    return NULL;
}

size_t hki_cuda_product_workspace_bytes(const hki_cuda_product_plan *plan)
{
    return plan->workspace_bytes;
}

bool hki_cuda_product_launch(hki_cuda_stream *stream, hki_cuda_product_plan *plan, const void *a,
                             const void *b, const void *bias, void *c, void *workspace,
                             bool *falls_back)
{
    const void *one = hki_library_scale(plan->is_f64, 1),
               *zero = hki_library_scale(plan->is_f64, 0);
    bool failed;
    const products *self = products_of(stream, &failed);
    const hki_cublaslt *library = self->library;
    const cublasLtMatmulDesc_t operation = plan->operation;
    if ((!bias || SET(BIAS_POINTER, bias)) &&
        CALL(cublasLtMatmul, self->handle, operation, one, b, plan->left, a, plan->right, zero, c,
             plan->result, c, plan->result, &plan->algorithm, workspace, plan->workspace_bytes,
             hki_cuda_stream_handle(stream))) {
        hki_cuda_tell_method(stream, "cuBLASLt, algorithm", plan->algorithm_id);
        return true;
    }
    plan->is_supported = !(*falls_back = hki_cuda_falls_back(stream));
    return false;
}
