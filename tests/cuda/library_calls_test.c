/* What the plug-in asks of cuBLASLt and cuDNN, in a stream of the test's own: that a problem is planned once, that as many
 * plans as may be are kept, that what they refuse is told from what goes wrong, and that alignments are promised no
 * better than they are. With the argument "missing": that there are none. */
#include "check.h"

#include "device/cuda/cuda_convolutions.h"
#include "device/cuda/cuda_libraries.h"
#include "device/cuda/cuda_products.h"
#include "emulation/emulated_runtime.h"

#include <stdlib.h>

/* ---- a stream ------------------------------------------------------------------------------------------ */

struct hki_cuda_stream {
    cudaStream_t handle;
    char noted[256]; /* the first error, or "" */
    void *kept[HKI_CUDA_KEPT_COUNT];
    void (*deinit[HKI_CUDA_KEPT_COUNT])(void *state);
};

cudaStream_t hki_cuda_stream_handle(const hki_cuda_stream *stream)
{
    return stream->handle;
}

bool hki_cuda_stream_allows_tf32(const hki_cuda_stream *stream)
{
    (void)stream;
    return false;
}

void *hki_cuda_stream_keep(hki_cuda_stream *stream, hki_cuda_kept which, size_t bytes,
                           void (*deinit)(void *state))
{
    if (!stream->kept[which])
        stream->kept[which] = calloc(1, bytes);
    stream->deinit[which] = deinit;
    return stream->kept[which];
}

void hki_cuda_stream_has_loaded(hki_cuda_stream *stream)
{
    (void)stream;
}

void hki_cuda_note(hki_cuda_stream *stream, const char *what, const char *text)
{
    if (!*stream->noted)
        snprintf(stream->noted, sizeof stream->noted, "%s: %s", what, text);
}

static void begin(hki_cuda_stream *stream)
{
    *stream = (hki_cuda_stream){.handle = NULL};
    CHECK(cudaStreamCreateWithFlags(&stream->handle, cudaStreamNonBlocking) == cudaSuccess);
}

static void end(hki_cuda_stream *stream)
{
    CHECK(cudaStreamSynchronize(stream->handle) == cudaSuccess);
    for (int i = 0; i < HKI_CUDA_KEPT_COUNT; i++)
        if (stream->kept[i]) {
            stream->deinit[i](stream->kept[i]);
            free(stream->kept[i]);
        }
    cudaStreamDestroy(stream->handle);
}

/* ---- products ------------------------------------------------------------------------------------------ */

static hki_cuda_product product(int64_t m, int64_t n, int64_t k)
{
    return (hki_cuda_product){.m = m,
                              .n = n,
                              .k = k,
                              .a_leading = k,
                              .b_leading = n,
                              .batch_count = 1,
                              .a_alignment = 16,
                              .b_alignment = 16,
                              .c_alignment = 16};
}

static void test_alignment(void)
{
    CHECK_EQ_I64(hki_cuda_alignment_of(0), 16);
    CHECK_EQ_I64(hki_cuda_alignment_of(4), 4);
    CHECK_EQ_I64(hki_cuda_alignment_of(4096), 16);
    CHECK_EQ_I64(hki_cuda_alignment_of(4096 | 24), 8);
}

static void test_plans(hki_cuda_stream *stream)
{
    bool failed = true;
    hki_cuda_product one = product(3, 4, 5), with_bias = one;
    const hki_cuda_product_plan *plan = hki_cuda_product_plan_for(stream, &one, &failed);
    CHECK(plan && !failed);
    CHECK(hki_cuda_product_plan_for(stream, &one, &failed) == plan);
    with_bias.has_bias = true;
    with_bias.bias_alignment = 4;
    CHECK(hki_cuda_product_plan_for(stream, &with_bias, &failed) != plan);
    /* float64 has no bias: a refusal, not an error. */
    with_bias.dtype = HK_F64;
    with_bias.bias_alignment = 8;
    CHECK(!hki_cuda_product_plan_for(stream, &with_bias, &failed) && !failed);
    CHECK(!hki_cuda_product_plan_for(stream, &with_bias, &failed) && !failed);
    one.batch_count = (int64_t)INT32_MAX + 1;
    CHECK(!hki_cuda_product_plan_for(stream, &one, &failed) && !failed);
    /* More than are kept; a leak would be found by the address sanitizer. */
    for (int64_t m = 1; m < 1000; m++) {
        const hki_cuda_product other = product(m, 2, 3);
        CHECK(hki_cuda_product_plan_for(stream, &other, &failed) && !failed);
    }
    CHECK_STR(stream->noted, "");
    /* Rows that overlap are no matrix: that is a mistake of the caller, and told. */
    hki_cuda_product wrong = product(3, 4, 5);
    wrong.a_leading = 4;
    CHECK(!hki_cuda_product_plan_for(stream, &wrong, &failed) && failed);
    CHECK_STR(stream->noted, "cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_INVALID_VALUE");
    *stream->noted = '\0';
}

/* Slices that begin at any element; the same problem but for its alignment. */
static void test_launches(hki_cuda_stream *stream)
{
    enum { M = 3, N = 4, K = 5, ROOM = 64 };
    float host[ROOM], *device, *workspace;
    hki_cuda_product problem = product(M, N, K);
    bool failed;
    CHECK(cudaMalloc((void **)&device, 3 * sizeof host) == cudaSuccess);
    CHECK(cudaMalloc((void **)&workspace, 4096) == cudaSuccess);
    for (int i = 0; i < ROOM; i++)
        host[i] = 1;
    for (int i = 0; i < 2; i++)
        CHECK(cudaMemcpy(device + i * ROOM, host, sizeof host, cudaMemcpyHostToDevice) ==
              cudaSuccess);
    const hki_cuda_product_plan *plan = hki_cuda_product_plan_for(stream, &problem, &failed);
    float *a = device + 1, *b = device + ROOM, *c = device + 2 * ROOM;
    CHECK(!hki_cuda_product_launch(stream, plan, a, b, NULL, c, workspace));
    CHECK_STR(stream->noted, "cublasLtMatmul: CUBLAS_STATUS_INVALID_VALUE");
    *stream->noted = '\0';
    problem.a_alignment = hki_cuda_alignment_of((uintptr_t)a);
    CHECK_EQ_I64(problem.a_alignment, 4);
    plan = hki_cuda_product_plan_for(stream, &problem, &failed);
    CHECK(hki_cuda_product_workspace_bytes(plan) <= 4096);
    CHECK(hki_cuda_product_launch(stream, plan, a, b, NULL, c, workspace));
    CHECK(cudaStreamSynchronize(stream->handle) == cudaSuccess);
    CHECK(cudaMemcpy(host, c, M * N * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < M * N; i++)
        CHECK(host[i] == K);
    CHECK(!hki_cuda_product_launch(stream, plan, a, b, NULL, c, NULL)); /* no workspace */
    *stream->noted = '\0';
    cudaFree(device);
    cudaFree(workspace);
}

/* ---- convolutions -------------------------------------------------------------------------------------- */

static hki_cuda_convolution convolution(hki_cuda_convolution_kind kind, int32_t samples)
{
    return (hki_cuda_convolution){.kind = (int32_t)kind,
                                  .samples = samples,
                                  .in_channels = 2,
                                  .out_channels = 4,
                                  .in_size = {6, 5},
                                  .out_size = {4, 4},
                                  .kernel = {3, 2},
                                  .stride = {1, 1},
                                  .dilation = {1, 1}};
}

static void test_convolutions(hki_cuda_stream *stream)
{
    static const hki_cuda_convolution_kind kinds[] = {HKI_CUDA_FORWARD, HKI_CUDA_BACKWARD_DATA,
                                                      HKI_CUDA_BACKWARD_WEIGHT};
    bool failed = true;
    for (int i = 0; i < 3; i++) {
        hki_cuda_convolution problem = convolution(kinds[i], 2);
        hki_cuda_convolution_plan *plan = hki_cuda_convolution_plan_for(stream, &problem, &failed);
        CHECK(plan && !failed);
        CHECK(hki_cuda_convolution_workspace_bytes(plan) > 0);
        CHECK(!hki_cuda_convolution_adds_bias(plan));
        CHECK(hki_cuda_convolution_plan_for(stream, &problem, &failed) == plan);
        /* No memory: the one with less, which stays, and then no other. */
        const size_t bytes = hki_cuda_convolution_workspace_bytes(plan);
        CHECK(hki_cuda_convolution_use_less(stream, &problem, plan, &failed) && !failed);
        const size_t less = hki_cuda_convolution_workspace_bytes(plan);
        CHECK(0 < less && less < bytes);
        CHECK(!hki_cuda_convolution_use_less(stream, &problem, plan, &failed) && !failed);
        CHECK(hki_cuda_convolution_plan_for(stream, &problem, &failed) == plan);
        CHECK_EQ_I64((int64_t)hki_cuda_convolution_workspace_bytes(plan), (int64_t)less);
        problem.is_f64 = true;
        problem.dilation[0] = 2;
        problem.out_size[0] = 2;
        CHECK(!hki_cuda_convolution_plan_for(stream, &problem, &failed) && !failed);
        CHECK_STR(stream->noted, "");
        problem.out_size[0] = 3; /* a size that does not come out */
        CHECK(!hki_cuda_convolution_plan_for(stream, &problem, &failed) && failed);
        CHECK(strstr(stream->noted, "CUDNN_STATUS_BAD_PARAM") != NULL);
        *stream->noted = '\0';
    }
    hki_cuda_convolution with_bias = convolution(HKI_CUDA_FORWARD, 2);
    with_bias.has_bias = true;
    CHECK(
        hki_cuda_convolution_adds_bias(hki_cuda_convolution_plan_for(stream, &with_bias, &failed)));
    for (int32_t samples = 1; samples < 1000; samples++) {
        const hki_cuda_convolution other = convolution(HKI_CUDA_FORWARD, samples);
        CHECK(hki_cuda_convolution_plan_for(stream, &other, &failed) && !failed);
    }
    CHECK_STR(stream->noted, "");
}

/* ---- neither ------------------------------------------------------------------------------------------- */

static void test_missing(hki_cuda_stream *stream)
{
    const hki_cuda_product problem = product(3, 4, 5);
    const hki_cuda_convolution other = convolution(HKI_CUDA_FORWARD, 2);
    char text[512];
    bool failed = true;
    CHECK(!hki_cuda_product_plan_for(stream, &problem, &failed) && !failed);
    CHECK(!hki_cuda_convolution_plan_for(stream, &other, &failed) && !failed);
    CHECK_STR(stream->noted, "");
    hki_cuda_libraries_describe(text, sizeof text);
    CHECK_STR(text, "cuBLASLt: not found (libcublasLt.so.13)\n"
                    "cuDNN: not found (libcudnn.so.9)\n"
                    "NCCL: not found (libnccl.so.2)\n");
}

int main(int argc, char **argv)
{
    hki_cuda_stream stream;
    const bool missing = argc > 1 && !strcmp(argv[1], "missing");
    if (missing)
        setenv("HOCKET_EMULATED_CUDA_WITHOUT", "all", 1);
    begin(&stream);
    if (missing) {
        test_missing(&stream);
    } else {
        test_alignment();
        test_plans(&stream);
        test_launches(&stream);
        test_convolutions(&stream);
    }
    end(&stream);
    return check_result();
}
