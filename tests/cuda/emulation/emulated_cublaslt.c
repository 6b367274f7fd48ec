/* cuBLASLt for products of float32 and float64. See emulated_libraries.h. */
#include "base/half.h"
#include "device/cuda/cuda_libraries.h"
#include "emulation/emulated_libraries.h"
#include "emulation/emulated_runtime.h"

#include <stdlib.h>
#include <string.h>

/* Some of the real one's kernels have a batch along an axis of their grid, and are chosen for a larger one as well. */
enum { WORKSPACE_BYTES = 1536, MAX_BATCH = 65535 };

typedef struct operation {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int32_t transposed[2]; /* cublasOperation_t of A and B */
    uint32_t epilogue;
    int32_t bias_type; /* -1: as the result */
    const void *bias;
} operation;

typedef struct layout {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t leading;
    int32_t batch_count;
    int64_t batch_stride;
} layout;

typedef struct preference {
    uint64_t workspace_bytes;
    uint32_t reductions;
    uint32_t alignment[4]; /* of A, B, C, D */
} preference;

/* What an algorithm has been chosen for. */
typedef struct choice {
    operation operation;
    layout a, b, d;
} choice;

/* The real one is as large; it says that it may be copied. */
typedef struct algorithm {
    uint64_t hash, workspace_bytes, alignment, bias_alignment;
} algorithm;
_Static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t), "an algorithm has its size");

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
           : status == CUBLAS_STATUS_ALLOC_FAILED  ? "CUBLAS_STATUS_ALLOC_FAILED"
                                                   : "CUBLAS_STATUS_EXECUTION_FAILED";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = malloc(1);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- descriptors --------------------------------------------------------------------------------------- */

static cublasStatus_t copy_of(const void *from, size_t bytes, void *made)
{
    void *copy = malloc(bytes);
    if (!copy)
        return CUBLAS_STATUS_ALLOC_FAILED;
    memcpy(copy, from, bytes);
    memcpy(made, &copy, sizeof copy);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set(void *field, size_t field_bytes, const void *value, size_t bytes)
{
    if (!field || bytes != field_bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    const operation initial = {.compute = compute,
                               .scale = scale,
                               .transposed = {CUBLAS_OP_N, CUBLAS_OP_N},
                               .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                               .bias_type = -1};
    return copy_of(&initial, sizeof initial, made);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes)
{
    operation *self = (void *)desc;
    switch ((int)attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return set(&self->transposed[0], sizeof self->transposed[0], value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return set(&self->transposed[1], sizeof self->transposed[1], value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return set(&self->epilogue, sizeof self->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        return set(&self->bias_type, sizeof self->bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return set(&self->bias, sizeof self->bias, value, bytes);
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading)
{
    const layout initial = {
        .type = type, .rows = rows, .columns = columns, .leading = leading, .batch_count = 1};
    return copy_of(&initial, sizeof initial, made);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t desc)
{
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t desc,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *value, size_t bytes)
{
    layout *self = (void *)desc;
    switch ((int)attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        return set(&self->batch_count, sizeof self->batch_count, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        return set(&self->batch_stride, sizeof self->batch_stride, value, bytes);
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made)
{
    const preference initial = {.reductions = CUBLASLT_REDUCTION_SCHEME_MASK,
                                .alignment = {256, 256, 256, 256}};
    return copy_of(&initial, sizeof initial, made);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t desc)
{
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t desc,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t bytes)
{
    preference *self = (void *)desc;
    switch ((int)attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        return set(&self->workspace_bytes, sizeof self->workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        return set(&self->reductions, sizeof self->reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
        return set(&self->alignment[(int)attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
                   sizeof self->alignment[0], value, bytes);
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

/* ---- checks -------------------------------------------------------------------------------------------- */

static bool is_half(const layout *x)
{
    return x->type == CUDA_R_16F || x->type == CUDA_R_16BF;
}

static size_t element_bytes(const layout *x)
{
    return x->type == CUDA_R_64F ? 8 : is_half(x) ? 2 : 4;
}

static bool is_valid_layout(const layout *x)
{
    return (x->type == CUDA_R_32F || x->type == CUDA_R_64F || is_half(x)) && x->rows > 0 &&
           x->columns > 0 && x->leading >= (int64_t)x->rows && x->batch_count > 0 &&
           x->batch_stride >= 0;
}

/* Rows and columns of the factor as it is multiplied. */
static uint64_t rows_of(const layout *x, int32_t transposed)
{
    return transposed == CUBLAS_OP_N ? x->rows : x->columns;
}

static uint64_t columns_of(const layout *x, int32_t transposed)
{
    return transposed == CUBLAS_OP_N ? x->columns : x->rows;
}

static cublasStatus_t check(const operation *self, const layout *a, const layout *b,
                            const layout *d)
{
    const bool f64 = a->type == CUDA_R_64F;
    if (!is_valid_layout(a) || !is_valid_layout(b) || !is_valid_layout(d))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (rows_of(a, self->transposed[0]) != d->rows ||
        columns_of(b, self->transposed[1]) != d->columns ||
        columns_of(a, self->transposed[0]) != rows_of(b, self->transposed[1]))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (a->batch_count != d->batch_count || b->batch_count != d->batch_count)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (d->batch_count > 1 && d->batch_stride < d->leading * (int64_t)d->columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (a->type != b->type || d->type != (is_half(a) ? CUDA_R_32F : a->type) ||
        self->scale != d->type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (f64 ? self->compute != CUBLAS_COMPUTE_64F
            : self->compute != CUBLAS_COMPUTE_32F &&
                  (is_half(a) || self->compute != CUBLAS_COMPUTE_32F_FAST_TF32))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (self->epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
        (self->epilogue != CUBLASLT_EPILOGUE_BIAS || f64 ||
         (self->bias_type != -1 && self->bias_type != (int32_t)d->type)))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

static uint64_t hash_of(const choice *self)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof *self; i++)
        hash = (hash ^ ((const unsigned char *)self)[i]) * UINT64_C(1099511628211);
    return hash;
}

/* The bias is another at each call, and gaps have no value. */
static void set_choice(choice *self, const operation *op, const layout *a, const layout *b,
                       const layout *d)
{
    const layout *layouts[] = {a, b, d};
    layout *to[] = {&self->a, &self->b, &self->d};
    memset(self, 0, sizeof *self);
    self->operation.compute = op->compute;
    self->operation.scale = op->scale;
    memcpy(self->operation.transposed, op->transposed, sizeof op->transposed);
    self->operation.epilogue = op->epilogue;
    for (int i = 0; i < 3; i++) {
        to[i]->type = layouts[i]->type;
        to[i]->rows = layouts[i]->rows;
        to[i]->columns = layouts[i]->columns;
        to[i]->leading = layouts[i]->leading;
        to[i]->batch_count = layouts[i]->batch_count;
        to[i]->batch_stride = layouts[i]->batch_stride;
    }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preferred, int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int *returned)
{
    const preference *wanted = (const void *)preferred;
    const operation *op = (const void *)desc;
    choice chosen;
    algorithm made = {.workspace_bytes =
                          wanted->workspace_bytes < WORKSPACE_BYTES ? 0 : WORKSPACE_BYTES};
    *returned = 0;
    if (!handle || !c || requested < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = check(op, (const void *)a, (const void *)b, (const void *)d);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (op->epilogue == CUBLASLT_EPILOGUE_BIAS && !op->bias)
        return CUBLAS_STATUS_INVALID_VALUE;
    set_choice(&chosen, op, (const void *)a, (const void *)b, (const void *)d);
    made.hash = hash_of(&chosen);
    made.alignment = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        const uint32_t alignment = wanted->alignment[i];
        if (alignment < element_bytes(&chosen.a) || (alignment & (alignment - 1)))
            return CUBLAS_STATUS_NOT_SUPPORTED;
        made.alignment = alignment < made.alignment ? alignment : made.alignment;
    }
    made.bias_alignment = (uintptr_t)op->bias & -(uintptr_t)op->bias;
    memset(&results[0], 0, sizeof results[0]);
    memcpy(&results[0].algo, &made, sizeof made);
    results[0].workspaceSize = made.workspace_bytes;
    results[0].state = CUBLAS_STATUS_SUCCESS;
    *returned = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t which,
                                                    void *value, size_t bytes, size_t *written)
{
    const int32_t id = 17;
    if (!algo || which != CUBLASLT_ALGO_CONFIG_ID || bytes != sizeof id)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(value, &id, sizeof id);
    *written = sizeof id;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- products ------------------------------------------------------------------------------------------ */

typedef struct product {
    operation op;
    layout a, b, d;
    const void *from_a, *from_b;
    void *to, *workspace;
    size_t workspace_bytes;
    double alpha, beta;
} product;

static float factor_of(const product *self, float x)
{
    return self->op.compute == CUBLAS_COMPUTE_32F ? x : emulated_tf32(x);
}

#define MULTIPLY(name, From, T, FACTOR)                                                            \
    static void multiply_##name(const product *self, int64_t entry)                                \
    {                                                                                              \
        const From *a = (const From *)self->from_a + entry * self->a.batch_stride;                 \
        const From *b = (const From *)self->from_b + entry * self->b.batch_stride;                 \
        T *d = (T *)self->to + entry * self->d.batch_stride;                                       \
        const bool turn_a = self->op.transposed[0] != CUBLAS_OP_N;                                 \
        const bool turn_b = self->op.transposed[1] != CUBLAS_OP_N;                                 \
        const int64_t k = (int64_t)columns_of(&self->a, self->op.transposed[0]);                   \
        const T error = (T)emulated_error("cuBLASLt");                                             \
        for (int64_t i = 0; i < (int64_t)self->d.rows; i++)                                        \
            for (int64_t j = 0; j < (int64_t)self->d.columns; j++) {                               \
                T sum = error, *at = &d[i + j * self->d.leading];                                  \
                for (int64_t l = 0; l < k; l++)                                                    \
                    sum +=                                                                         \
                        FACTOR(turn_a ? a[l + i * self->a.leading] : a[i + l * self->a.leading]) * \
                        FACTOR(turn_b ? b[j + l * self->b.leading] : b[l + j * self->b.leading]);  \
                sum *= (T)self->alpha;                                                             \
                if (self->beta != 0)                                                               \
                    sum += (T)self->beta * *at;                                                    \
                *at = self->op.bias ? sum + ((const T *)self->op.bias)[i] : sum;                   \
            }                                                                                      \
    }

#define FACTOR_F32(x) factor_of(self, x)
#define FACTOR_F64(x) (x)
MULTIPLY(f32, float, float, FACTOR_F32)
MULTIPLY(f64, double, double, FACTOR_F64)
MULTIPLY(f16, uint16_t, float, hki_f16_to_float)
MULTIPLY(bf16, uint16_t, float, hki_bf16_to_float)

static void run(void *argument)
{
    const product *self = argument;
    emulated_scribble(self->workspace, self->workspace_bytes);
    for (int64_t entry = 0; entry < self->d.batch_count; entry++) {
        if (self->a.type == CUDA_R_64F)
            multiply_f64(self, entry);
        else if (self->a.type == CUDA_R_16F)
            multiply_f16(self, entry);
        else if (self->a.type == CUDA_R_16BF)
            multiply_bf16(self, entry);
        else
            multiply_f32(self, entry);
    }
}

static bool is_good_matrix(const void *data, const layout *x, uint64_t alignment)
{
    const int64_t elements = (x->batch_count - 1) * x->batch_stride +
                             ((int64_t)x->columns - 1) * x->leading + (int64_t)x->rows;
    return emulated_is_good(data, (uint64_t)elements * element_bytes(x), alignment);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    product self = {.op = *(const operation *)(const void *)desc,
                    .a = *(const layout *)(const void *)a_layout,
                    .b = *(const layout *)(const void *)b_layout,
                    .d = *(const layout *)(const void *)d_layout,
                    .from_a = a,
                    .from_b = b,
                    .to = d,
                    .workspace = workspace};
    const bool f64 = self.a.type == CUDA_R_64F;
    algorithm chosen;
    choice same;
    cublasStatus_t status = check(&self.op, &self.a, &self.b, &self.d);
    if (!handle || !algo || c != d || c_layout != d_layout)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    memcpy(&chosen, algo, sizeof chosen);
    set_choice(&same, &self.op, &self.a, &self.b, &self.d);
    if (self.d.batch_count > MAX_BATCH)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (chosen.hash != hash_of(&same) || workspace_bytes < chosen.workspace_bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    self.workspace_bytes = (size_t)chosen.workspace_bytes;
    if (self.workspace_bytes && !emulated_is_good(workspace, self.workspace_bytes, 256))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_good_matrix(a, &self.a, chosen.alignment) ||
        !is_good_matrix(b, &self.b, chosen.alignment) ||
        !is_good_matrix(d, &self.d, chosen.alignment))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (self.op.epilogue != CUBLASLT_EPILOGUE_BIAS)
        self.op.bias = NULL;
    else if (!emulated_is_good(self.op.bias, self.d.rows * element_bytes(&self.d),
                               chosen.bias_alignment))
        return CUBLAS_STATUS_INVALID_VALUE;
    self.alpha = emulated_scale(f64, alpha);
    self.beta = emulated_scale(f64, beta);
    return hki_emulated_enqueue(stream, "cublasLtMatmul", run, &self, sizeof self) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

const emulated_function emulated_cublaslt_functions[] = {
    HKI_CUBLASLT_FUNCTIONS(EMULATED_FUNCTION){NULL, NULL}};
