/* What the plug-in asks of cuBLASLt and cuDNN, in a stream of the test's own: that a problem is planned once, that as many
 * plans as may be are kept, that own kernels do what they refuse, by whatever status, unless the GPU is lost, and that
 * alignments are promised no better than they are. With the argument "missing": that there are none; with "refusing" and
 * more arguments: that functions of those names refuse. */
#include "check.h"

#include "base/choices.h"
#include "device/cuda/cuda_convolution_rules.h"
#include "device/cuda/cuda_convolutions.h"
#include "device/cuda/cuda_libraries.h"
#include "device/cuda/cuda_products.h"
#include "emulation/emulated_runtime.h"

#include <cudnn.h>
#include <stdlib.h>

/* ---- a stream ------------------------------------------------------------------------------------------ */

struct hki_cuda_stream {
    cudaStream_t handle;
    char noted[256]; /* the first error, or "" */
    char refused[200], method[100];
    bool is_lost, measures;
    const char *choice;
    int noted_choices;
    char word[HKI_CHOICE_WORD_BYTES]; /* of the last one */
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

void hki_cuda_refuse(hki_cuda_stream *stream, const char *what, const char *text)
{
    snprintf(stream->refused, sizeof stream->refused, "%s: %s", what, text);
}

bool hki_cuda_falls_back(hki_cuda_stream *stream)
{
    if (stream->is_lost)
        hki_cuda_note(stream, "lost", stream->refused);
    return !stream->is_lost;
}

void hki_cuda_tell_method(hki_cuda_stream *stream, const char *method, int number)
{
    snprintf(stream->method, sizeof stream->method, "%s %d", method, number);
}

const char *hki_cuda_stream_choice(hki_cuda_stream *stream, const hki_choice_key *key)
{
    CHECK(!strncmp(key->name, "cuda.conv2d.", 12) && key->count <= HKI_CHOICE_NUMBERS - 2);
    return stream->choice;
}

bool hki_cuda_stream_measures(const hki_cuda_stream *stream)
{
    return stream->measures;
}

void hki_cuda_stream_note_choice(hki_cuda_stream *stream, const hki_choice_key *key,
                                 const char *word)
{
    CHECK(!strncmp(key->name, "cuda.conv2d.", 12));
    stream->noted_choices++;
    snprintf(stream->word, sizeof stream->word, "%s", word);
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
    hki_cuda_product_plan *plan = hki_cuda_product_plan_for(stream, &one, &failed);
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
    /* Rows that overlap are no matrix. */
    hki_cuda_product wrong = product(3, 4, 5);
    wrong.a_leading = 4;
    CHECK(!hki_cuda_product_plan_for(stream, &wrong, &failed) && !failed);
    CHECK_STR(stream->refused, "cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_INVALID_VALUE");
    CHECK_STR(stream->noted, "");
    stream->is_lost = true;
    wrong.m = 4;
    CHECK(!hki_cuda_product_plan_for(stream, &wrong, &failed) && failed);
    CHECK(*stream->noted);
    stream->is_lost = false;
    *stream->noted = '\0';
}

/* Slices that begin at any element; the same problem but for its alignment. */
static void test_launches(hki_cuda_stream *stream)
{
    enum { M = 3, N = 4, K = 5, ROOM = 64 };
    float host[ROOM], *device, *workspace;
    hki_cuda_product problem = product(M, N, K);
    bool failed, falls_back = false;
    CHECK(cudaMalloc((void **)&device, 3 * sizeof host) == cudaSuccess);
    CHECK(cudaMalloc((void **)&workspace, 4096) == cudaSuccess);
    for (int i = 0; i < ROOM; i++)
        host[i] = 1;
    for (int i = 0; i < 2; i++)
        CHECK(cudaMemcpy(device + i * ROOM, host, sizeof host, cudaMemcpyHostToDevice) ==
              cudaSuccess);
    hki_cuda_product_plan *plan = hki_cuda_product_plan_for(stream, &problem, &failed);
    float *a = device + 1, *b = device + ROOM, *c = device + 2 * ROOM;
    CHECK(!hki_cuda_product_launch(stream, plan, a, b, NULL, c, workspace, &falls_back));
    CHECK(falls_back);
    CHECK_STR(stream->refused, "cublasLtMatmul: CUBLAS_STATUS_INVALID_VALUE");
    CHECK(!hki_cuda_product_plan_for(stream, &problem, &failed) && !failed);
    problem.a_alignment = hki_cuda_alignment_of((uintptr_t)a);
    CHECK_EQ_I64(problem.a_alignment, 4);
    plan = hki_cuda_product_plan_for(stream, &problem, &failed);
    CHECK(hki_cuda_product_workspace_bytes(plan) <= 4096);
    CHECK(hki_cuda_product_launch(stream, plan, a, b, NULL, c, workspace, &falls_back));
    CHECK_STR(stream->method, "cuBLASLt, algorithm 17");
    CHECK(cudaStreamSynchronize(stream->handle) == cudaSuccess);
    CHECK(cudaMemcpy(host, c, M * N * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < M * N; i++)
        CHECK(host[i] == K);
    stream->is_lost = true; /* and no workspace */
    CHECK(!hki_cuda_product_launch(stream, plan, a, b, NULL, c, NULL, &falls_back));
    CHECK(!falls_back && *stream->noted);
    stream->is_lost = false;
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
                                  .groups = 1,
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
        hki_cuda_convolution problem = convolution(kinds[i], 8);
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
        hki_cuda_convolution grouped = problem;
        grouped.groups = 2;
        CHECK(hki_cuda_convolution_plan_for(stream, &grouped, &failed) && !failed);
        problem.is_f64 = true;
        problem.dilation[0] = 2;
        problem.out_size[0] = 2;
        CHECK(!hki_cuda_convolution_plan_for(stream, &problem, &failed) && !failed);
        CHECK_STR(stream->noted, "");
        problem.out_size[0] = 3; /* a size that does not come out */
        CHECK(!hki_cuda_convolution_plan_for(stream, &problem, &failed) && !failed);
        CHECK(strstr(stream->refused, "CUDNN_STATUS_BAD_PARAM") != NULL);
        CHECK_STR(stream->noted, "");
    }
    hki_cuda_convolution with_bias = convolution(HKI_CUDA_FORWARD, 8);
    with_bias.has_bias = true;
    CHECK(
        hki_cuda_convolution_adds_bias(hki_cuda_convolution_plan_for(stream, &with_bias, &failed)));
    for (int32_t samples = 5; samples < 1000; samples++) { /* fewer are done by own kernels */
        const hki_cuda_convolution other = convolution(HKI_CUDA_FORWARD, samples);
        CHECK(hki_cuda_convolution_plan_for(stream, &other, &failed) && !failed);
    }
    CHECK_STR(stream->noted, "");
}

/* Own kernels that take no time, or much. */
typedef struct own_kernels {
    int calls;
    void *memory; /* of BUSY_BYTES, or NULL */
} own_kernels;

enum { BUSY_BYTES = 1 << 22, BUSY_TIMES = 30 };

static void run_own(hki_cuda_stream *stream, void *context)
{
    own_kernels *self = context;
    self->calls++;
    for (int i = 0; self->memory && i < BUSY_TIMES; i++)
        cudaMemsetAsync(self->memory, i, BUSY_BYTES, stream->handle);
}

/* What was measured is taken, where the library has it; and what is measured is noted, once for a problem, while the run itself
 * goes on as before. */
static void test_choices(hki_cuda_stream *stream)
{
    bool failed;
    float *data;
    const hki_cuda_convolution problem = convolution(HKI_CUDA_FORWARD, 1001);
    hki_cuda_convolution chosen = convolution(HKI_CUDA_FORWARD, 1002), other = chosen;
    const size_t bytes = hki_cuda_convolution_workspace_bytes(
        hki_cuda_convolution_plan_for(stream, &problem, &failed));
    stream->choice = "algorithm_0"; /* IMPLICIT_GEMM, the emulation's one with a small workspace */
    CHECK(hki_cuda_convolution_workspace_bytes(
              hki_cuda_convolution_plan_for(stream, &chosen, &failed)) < bytes);
    stream->choice = "algorithm_6"; /* its sums have no fixed order */
    other.samples++;
    CHECK_EQ_I64((int64_t)hki_cuda_convolution_workspace_bytes(
                     hki_cuda_convolution_plan_for(stream, &other, &failed)),
                 (int64_t)bytes);
    stream->choice = "own";
    other.samples++;
    CHECK(!hki_cuda_convolution_plan_for(stream, &other, &failed) && !failed);
    stream->choice = NULL;
    stream->measures = true;
    CHECK(cudaMalloc((void **)&data, BUSY_BYTES) == cudaSuccess);
    for (int i = 0; i < 6; i++) {
        const hki_cuda_convolution small = convolution((hki_cuda_convolution_kind)(i / 2), 5 + i);
        own_kernels own = {0, i % 2 ? data : NULL};
        hki_cuda_convolution_plan *plan = hki_cuda_convolution_plan_for(stream, &small, &failed);
        const size_t before = hki_cuda_convolution_workspace_bytes(plan);
        for (int j = 0; j < 2; j++) {
            hki_cuda_convolution_measure(stream, plan, data, data + 4096, data + 8192, run_own,
                                         &own);
            CHECK(hki_cuda_convolution_launch(stream, plan, data, data + 4096, NULL, data + 8192,
                                              data + 65536));
        }
        CHECK(own.calls > 1);
        CHECK_EQ_I64(stream->noted_choices, i + 1);
        if (own.memory)
            CHECK(!strncmp(stream->word, "algorithm_", 10));
        else
            CHECK_STR(stream->word, "own");
        CHECK_EQ_I64((int64_t)hki_cuda_convolution_workspace_bytes(plan), (int64_t)before);
    }
    stream->measures = false;
    CHECK(cudaStreamSynchronize(stream->handle) == cudaSuccess);
    cudaFree(data);
    CHECK_STR(stream->noted, "");
}

/* Rules are for what the estimate is wrong about: float32 without tensor cores. A run that measures tries the library all the
 * same. */
static void test_rules(hki_cuda_stream *stream)
{
    bool failed;
    hki_cuda_convolution three = {.kind = HKI_CUDA_BACKWARD_DATA,
                                  .samples = 128,
                                  .in_channels = 64,
                                  .out_channels = 64,
                                  .groups = 1,
                                  .in_size = {24, 24},
                                  .out_size = {24, 24},
                                  .kernel = {3, 3},
                                  .stride = {1, 1},
                                  .padding = {1, 1},
                                  .dilation = {1, 1}};
    CHECK_EQ_I64(hki_cuda_convolution_rule(&three, false),
                 CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED);
    CHECK_EQ_I64(hki_cuda_convolution_rule(&three, true), HKI_CUDA_BY_ESTIMATE);
    hki_cuda_convolution other = three;
    other.is_f64 = true;
    CHECK_EQ_I64(hki_cuda_convolution_rule(&other, false), HKI_CUDA_BY_ESTIMATE);
    other = three;
    other.groups = 2;
    CHECK_EQ_I64(hki_cuda_convolution_rule(&other, false), HKI_CUDA_BY_ESTIMATE);
    other = three;
    other.dilation[1] = 2;
    CHECK_EQ_I64(hki_cuda_convolution_rule(&other, false), HKI_CUDA_BY_ESTIMATE);
    other = three;
    other.kind = HKI_CUDA_FORWARD;
    other.samples = 1;
    CHECK(hki_cuda_convolution_is_brief(&other));
    CHECK_EQ_I64(hki_cuda_convolution_rule(&other, true), HKI_CUDA_BY_OWN_KERNEL);
    other.out_channels = 2048; /* fills a GPU */
    CHECK(!hki_cuda_convolution_is_brief(&other));
    other = three;
    other.kind = HKI_CUDA_BACKWARD_WEIGHT;
    other.samples = 5;
    other.in_channels = 1;
    other.stride[0] = other.stride[1] = 2;
    other.out_size[0] = other.out_size[1] = 12;
    CHECK_EQ_I64(hki_cuda_convolution_rule(&other, false), HKI_CUDA_BY_OWN_KERNEL);
    CHECK(!hki_cuda_convolution_plan_for(stream, &other, &failed) && !failed);
    other.samples++;
    stream->measures = true;
    CHECK(hki_cuda_convolution_plan_for(stream, &other, &failed) && !failed);
    stream->measures = false;
    other.samples++;
    stream->choice = "algorithm_1"; /* which was measured to be faster */
    CHECK(hki_cuda_convolution_plan_for(stream, &other, &failed) && !failed);
    stream->choice = NULL;
}

/* ---- refusals ------------------------------------------------------------------------------------------- */

static bool falls_back_product(hki_cuda_stream *stream, float *data)
{
    bool failed, falls_back = false;
    const hki_cuda_product problem = product(3, 4, 5);
    hki_cuda_product_plan *plan = hki_cuda_product_plan_for(stream, &problem, &failed);
    CHECK(!failed);
    if (plan)
        hki_cuda_product_launch(stream, plan, data, data + 64, NULL, data + 128, data + 1024,
                                &falls_back);
    return !plan || falls_back;
}

static bool falls_back_convolution(hki_cuda_stream *stream, hki_cuda_convolution_kind kind,
                                   float *data)
{
    bool failed;
    const hki_cuda_convolution problem = convolution(kind, 1);
    hki_cuda_convolution_plan *plan = hki_cuda_convolution_plan_for(stream, &problem, &failed);
    CHECK(!failed);
    return !plan || !hki_cuda_convolution_launch(stream, plan, data, data + 256, NULL, data + 512,
                                                 data + 1024);
}

/* Each function, by a status that nobody has heard of, and by all that there are of `kind`. */
static void test_refusal(const char *function)
{
    static const int statuses[] = {1, 3, 7, 8, 11, 13, 14, 15, 1001, 2000, 3000, 4000, 5000, 9999};
    const bool is_product = !strncmp(function, "cublas", 6);
    char value[100];
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        hki_cuda_stream stream;
        float *data;
        snprintf(value, sizeof value, "%d,%s", statuses[i], function);
        setenv("HOCKET_EMULATED_CUDA_REFUSES", value, 1);
        begin(&stream);
        CHECK(cudaMalloc((void **)&data, 1 << 20) == cudaSuccess);
        bool falls_back = is_product && falls_back_product(&stream, data);
        for (int kind = 0; kind < 3 && !is_product; kind++)
            falls_back = falls_back_convolution(&stream, (hki_cuda_convolution_kind)kind, data) ||
                         falls_back;
        CHECK(falls_back);
        CHECK_STR(stream.noted, "");
        CHECK(*stream.refused);
        CHECK(cudaStreamSynchronize(stream.handle) == cudaSuccess);
        cudaFree(data);
        end(&stream);
    }
}

/* ---- neither ------------------------------------------------------------------------------------------- */

static void test_missing(hki_cuda_stream *stream)
{
    const hki_cuda_product problem = product(3, 4, 5);
    const hki_cuda_convolution other = convolution(HKI_CUDA_FORWARD, 8);
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
    if (argc > 2 && !strcmp(argv[1], "refusing")) { /* libraries are opened once in a process */
        test_refusal(argv[2]);
        return check_result();
    }
    if (missing)
        setenv("HOCKET_EMULATED_CUDA_WITHOUT", "all", 1);
    setenv("HOCKET_EMULATED_CUDA", "work=1", 1); /* what is measured is chosen by what it does */
    begin(&stream);
    if (missing) {
        test_missing(&stream);
    } else {
        test_alignment();
        test_plans(&stream);
        test_launches(&stream);
        test_convolutions(&stream);
        test_choices(&stream);
        test_rules(&stream);
    }
    end(&stream);
    return check_result();
}
