#include "device/cuda/cuda_products.h"

#include "device/cuda/cuda_cache.h"
#include "device/cuda/cuda_libraries.h"

#include <limits.h>

/* What NVIDIA recommends for Hopper; more than most plans take. */
static const uint64_t workspace_limit_bytes = 32 << 20;

struct hki_cuda_product_plan {
    bool is_supported;
    bool is_f64;
    cublasLtMatmulDesc_t operation; /* these are NULL until they are made */
    cublasLtMatrixLayout_t left, right, result;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace_bytes;
};

typedef struct products {
    const hki_cublaslt *library; /* NULL until the handle is there */
    cublasLtHandle_t handle;
    hki_cuda_cache plans;
} products;

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

/* Notes the first error; true when there is none. */
static bool ok(const hki_cublaslt *library, hki_cuda_stream *stream, cublasStatus_t status,
               const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return true;
    hki_cuda_note(stream, what, library->cublasLtGetStatusString(status));
    return false;
}

/* With a handle; NULL where there is no library, or after noting an error. */
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
    if (!ok(library, stream, library->cublasLtCreate(&self->handle), "cublasLtCreate")) {
        *failed = true;
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
static bool make_layout(const products *self, hki_cuda_stream *stream,
                        const hki_cuda_product *product, cudaDataType type, int64_t rows,
                        int64_t columns, int64_t leading, int64_t batch_stride,
                        cublasLtMatrixLayout_t *layout)
{
    const hki_cublaslt *library = self->library;
    const int32_t batch_count = (int32_t)product->batch_count;
    if (!ok(library, stream,
            library->cublasLtMatrixLayoutCreate(layout, type, (uint64_t)rows, (uint64_t)columns,
                                                leading),
            "cublasLtMatrixLayoutCreate"))
        return false;
    return batch_count == 1 ||
           (ok(library, stream,
               library->cublasLtMatrixLayoutSetAttribute(
                   *layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch_count, sizeof batch_count),
               "cublasLtMatrixLayoutSetAttribute") &&
            ok(library, stream,
               library->cublasLtMatrixLayoutSetAttribute(
                   *layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                   sizeof batch_stride),
               "cublasLtMatrixLayoutSetAttribute"));
}

static bool set(const products *self, hki_cuda_stream *stream, cublasLtMatmulDesc_t operation,
                cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes)
{
    return ok(self->library, stream,
              self->library->cublasLtMatmulDescSetAttribute(operation, attribute, value, bytes),
              "cublasLtMatmulDescSetAttribute");
}

static bool make_operation(const products *self, hki_cuda_stream *stream,
                           const hki_cuda_product *product, hki_cuda_product_plan *plan)
{
    const hki_cublaslt *library = self->library;
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
    if (!ok(library, stream,
            library->cublasLtMatmulDescCreate(&plan->operation, compute,
                                              result_type_of(product->dtype)),
            "cublasLtMatmulDescCreate"))
        return false;
    return (!product->b_transposed ||
            set(self, stream, plan->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                sizeof transposed)) &&
           (!product->a_transposed ||
            set(self, stream, plan->operation, CUBLASLT_MATMUL_DESC_TRANSB, &transposed,
                sizeof transposed)) &&
           (!product->has_bias ||
            (set(self, stream, plan->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                 sizeof epilogue) &&
             set(self, stream, plan->operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type,
                 sizeof bias_type) &&
             set(self, stream, plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                 sizeof bias)));
}

/* The library counts by columns, so that it is told of the transposed product: c' = b' a', where a matrix by rows is its
 * transposed one by columns as it lies. */
static bool make_layouts(const products *self, hki_cuda_stream *stream,
                         const hki_cuda_product *product, hki_cuda_product_plan *plan)
{
    const int64_t m = product->m, n = product->n, k = product->k;
    const cudaDataType type = type_of(product->dtype);
    return make_layout(self, stream, product, type, product->b_transposed ? k : n,
                       product->b_transposed ? n : k, product->b_leading, product->b_batch_stride,
                       &plan->left) &&
           make_layout(self, stream, product, type, product->a_transposed ? m : k,
                       product->a_transposed ? k : m, product->a_leading, product->a_batch_stride,
                       &plan->right) &&
           make_layout(self, stream, product, result_type_of(product->dtype), n, m, n,
                       product->c_batch_stride, &plan->result);
}

static bool prefer(const products *self, hki_cuda_stream *stream,
                   cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name,
                   const void *value, size_t bytes)
{
    return ok(self->library, stream,
              self->library->cublasLtMatmulPreferenceSetAttribute(preference, name, value, bytes),
              "cublasLtMatmulPreferenceSetAttribute");
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
    if (!ok(library, stream, library->cublasLtMatmulPreferenceCreate(&preference),
            "cublasLtMatmulPreferenceCreate"))
        return false;
    if (!prefer(self, stream, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                &workspace_limit_bytes, sizeof workspace_limit_bytes) ||
        !prefer(self, stream, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &sums,
                sizeof sums) ||
        !prefer(self, stream, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &left,
                sizeof left) ||
        !prefer(self, stream, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &right,
                sizeof right) ||
        !prefer(self, stream, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &result,
                sizeof result) ||
        !prefer(self, stream, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &result,
                sizeof result))
        goto destroy;
    cublasStatus_t status = library->cublasLtMatmulAlgoGetHeuristic(
        self->handle, plan->operation, plan->left, plan->right, plan->result, plan->result,
        preference, 1, &found, &found_count);
    done = status == CUBLAS_STATUS_NOT_SUPPORTED ||
           ok(library, stream, status, "cublasLtMatmulAlgoGetHeuristic");
    if (status == CUBLAS_STATUS_SUCCESS && found_count > 0 &&
        found.state == CUBLAS_STATUS_SUCCESS) {
        plan->is_supported = true;
        plan->algorithm = found.algo;
        plan->workspace_bytes = found.workspaceSize;
    }
destroy:
    library->cublasLtMatmulPreferenceDestroy(preference);
    return done;
}

const hki_cuda_product_plan *hki_cuda_product_plan_for(hki_cuda_stream *stream,
                                                       const hki_cuda_product *product,
                                                       bool *failed)
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
        if (!make_operation(self, stream, product, &made) ||
            !make_layouts(self, stream, product, &made) || !choose(self, stream, product, &made))
            goto fail;
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

bool hki_cuda_product_launch(hki_cuda_stream *stream, const hki_cuda_product_plan *plan,
                             const void *a, const void *b, const void *bias, void *c,
                             void *workspace)
{
    static const float one_f32 = 1, zero_f32 = 0;
    static const double one_f64 = 1, zero_f64 = 0;
    const void *one = plan->is_f64 ? (const void *)&one_f64 : &one_f32;
    const void *zero = plan->is_f64 ? (const void *)&zero_f64 : &zero_f32;
    bool failed;
    const products *self = products_of(stream, &failed);
    if (bias &&
        !set(self, stream, plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias))
        return false;
    return ok(self->library, stream,
              self->library->cublasLtMatmul(self->handle, plan->operation, one, b, plan->left, a,
                                            plan->right, zero, c, plan->result, c, plan->result,
                                            &plan->algorithm, workspace, plan->workspace_bytes,
                                            hki_cuda_stream_handle(stream)),
              "cublasLtMatmul");
}
