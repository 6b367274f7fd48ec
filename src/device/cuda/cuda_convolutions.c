/* Why cuDNN's older functions, and not its graphs of operations, which NVIDIA recommends: a convolution in NCHW of float32
 * or float64 needs nothing that only graphs have, both lead to the same engines, and these functions say what matters
 * here in so many words: whether an algorithm's sums have a fixed order, how much workspace it takes, whether it uses
 * tensor cores. Their arguments are checked by the compiler; a graph's are arrays of untyped attributes, checked by
 * running them. cuDNN 9 keeps them; a fused relu or a layout with channels last would be the reason to change. */
#include "device/cuda/cuda_convolutions.h"

#include "base/choices.h"
#include "device/cuda/cuda_cache.h"
#include "device/cuda/cuda_convolution_rules.h"
#include "device/cuda/cuda_libraries.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Algorithms that want more than this part of the GPU's memory are left out: memory is for arrays. Transforms of large
 * kernels want a gigabyte, and are several times as fast as others. */
enum { WORKSPACE_PART = 32, MAX_ALGORITHMS = 16, TIMED_RUNS = 5 };
static const size_t least_workspace_bytes = (size_t)256 << 20; /* even so */

struct hki_cuda_convolution_plan {
    hki_cuda_convolution_kind kind;
    bool is_supported, is_f64, adds_bias, has_run, is_measured;
    cudnnTensorDescriptor_t x, y, bias; /* these are NULL until they are made */
    cudnnFilterDescriptor_t weight;
    cudnnConvolutionDescriptor_t convolution;
    int algorithm; /* of the kind's enumeration */
    cudnnMathType_t math;
    size_t workspace_bytes;
    hki_cuda_convolution problem;
};

typedef struct convolutions {
    const hki_cudnn *library; /* NULL until the handle is there */
    cudnnHandle_t handle;
    cudnnActivationDescriptor_t identity; /* for forward with a bias */
    size_t workspace_bytes;               /* at most */
    int refusals;                         /* to make these */
    hki_cuda_cache plans;
} convolutions;

enum { MAX_REFUSALS = 3 };

/* In functions that have a library and a stream. */
#define CALL(...) HKI_LIBRARY_CALL(cudnn, library, stream, __VA_ARGS__)

static void drop_plan(void *value, void *context)
{
    const hki_cuda_convolution_plan *plan = value;
    const hki_cudnn *library = ((const convolutions *)context)->library;
    cudnnTensorDescriptor_t tensors[] = {plan->x, plan->y, plan->bias};
    for (int i = 0; i < 3; i++)
        if (tensors[i])
            library->cudnnDestroyTensorDescriptor(tensors[i]);
    if (plan->weight)
        library->cudnnDestroyFilterDescriptor(plan->weight);
    if (plan->convolution)
        library->cudnnDestroyConvolutionDescriptor(plan->convolution);
}

static void convolutions_deinit(void *state)
{
    convolutions *self = state;
    if (!self->library)
        return;
    hki_cuda_cache_deinit(&self->plans);
    self->library->cudnnDestroyActivationDescriptor(self->identity);
    self->library->cudnnDestroy(self->handle);
}

static size_t workspace_limit(void)
{
    size_t free_bytes = 0, all_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
        cudaGetLastError();
    return all_bytes / WORKSPACE_PART > least_workspace_bytes ? all_bytes / WORKSPACE_PART
                                                              : least_workspace_bytes;
}

static bool start(convolutions *self, const hki_cudnn *library, hki_cuda_stream *stream)
{
    if (!CALL(cudnnCreate, &self->handle))
        return false;
    if (!CALL(cudnnSetStream, self->handle, hki_cuda_stream_handle(stream)) ||
        !CALL(cudnnCreateActivationDescriptor, &self->identity))
        goto destroy;
    if (!CALL(cudnnSetActivationDescriptor, self->identity, CUDNN_ACTIVATION_IDENTITY,
              CUDNN_NOT_PROPAGATE_NAN, 0))
        goto destroy_identity;
    self->library = library;
    self->workspace_bytes = workspace_limit();
    hki_cuda_cache_init(&self->plans, sizeof(hki_cuda_convolution),
                        sizeof(hki_cuda_convolution_plan), drop_plan, self);
    return true;
destroy_identity:
    library->cudnnDestroyActivationDescriptor(self->identity);
destroy:
    library->cudnnDestroy(self->handle);
    return false;
}

/* With a handle; NULL where there is no library, or none is given; or after noting an error, then *failed. */
static convolutions *convolutions_of(hki_cuda_stream *stream, bool *failed)
{
    const hki_cudnn *library = hki_cuda_cudnn();
    convolutions *self = NULL;
    *failed = false;
    if (!library)
        return NULL;
    self = hki_cuda_stream_keep(stream, HKI_CUDA_CONVOLUTIONS, sizeof *self, convolutions_deinit);
    *failed = !self;
    if (!self || self->library)
        return self;
    if (self->refusals >= MAX_REFUSALS)
        return NULL;
    if (start(self, library, stream))
        return self;
    self->refusals++;
    *failed = !hki_cuda_falls_back(stream);
    return NULL;
}

/* ---- descriptors --------------------------------------------------------------------------------------- */

static bool make_tensor(const hki_cudnn *library, hki_cuda_stream *stream, bool f64, int n, int c,
                        const int32_t size[2], cudnnTensorDescriptor_t *made)
{
    return CALL(cudnnCreateTensorDescriptor, made) &&
           CALL(cudnnSetTensor4dDescriptor, *made, CUDNN_TENSOR_NCHW,
                f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, n, c, size[0], size[1]);
}

/* tf32 is what the default allows for float32. */
static cudnnMathType_t math_of(const hki_cuda_convolution *problem, hki_cuda_stream *stream)
{
    return problem->is_f64 || hki_cuda_stream_allows_tf32(stream) ? CUDNN_DEFAULT_MATH
                                                                  : CUDNN_FMA_MATH;
}

static bool describe(const hki_cudnn *library, hki_cuda_stream *stream,
                     const hki_cuda_convolution *problem, hki_cuda_convolution_plan *plan)
{
    static const int32_t one[2] = {1, 1};
    const hki_cuda_convolution *p = problem;
    const bool f64 = p->is_f64;
    const cudnnDataType_t type = f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    return make_tensor(library, stream, f64, p->samples, p->in_channels, p->in_size, &plan->x) &&
           make_tensor(library, stream, f64, p->samples, p->out_channels, p->out_size, &plan->y) &&
           make_tensor(library, stream, f64, 1, p->out_channels, one, &plan->bias) &&
           CALL(cudnnCreateFilterDescriptor, &plan->weight) &&
           CALL(cudnnSetFilter4dDescriptor, plan->weight, type, CUDNN_TENSOR_NCHW, p->out_channels,
                p->in_channels / p->groups, p->kernel[0], p->kernel[1]) &&
           CALL(cudnnCreateConvolutionDescriptor, &plan->convolution) &&
           CALL(cudnnSetConvolution2dDescriptor, plan->convolution, p->padding[0], p->padding[1],
                p->stride[0], p->stride[1], p->dilation[0], p->dilation[1], CUDNN_CROSS_CORRELATION,
                type) &&
           CALL(cudnnSetConvolutionGroupCount, plan->convolution, p->groups);
}

/* ---- algorithms ---------------------------------------------------------------------------------------- */

/* What the three kinds' answers have in common. */
typedef struct candidate {
    int algorithm;
    cudnnStatus_t status;
    size_t memory;
    cudnnDeterminism_t determinism;
    cudnnMathType_t math;
} candidate;

#define CANDIDATE(found)                                                                           \
    ((candidate){(int)(found).algo, (found).status, (found).memory, (found).determinism,           \
                 (found).mathType})

/* The library's answers, the fastest first by its own estimate. */
static cudnnStatus_t ask(const convolutions *self, const hki_cuda_convolution_plan *plan,
                         candidate *candidates, int *count)
{
    const hki_cudnn *library = self->library;
    cudnnConvolutionFwdAlgoPerf_t forward[MAX_ALGORITHMS];
    cudnnConvolutionBwdDataAlgoPerf_t data[MAX_ALGORITHMS];
    cudnnConvolutionBwdFilterAlgoPerf_t weight[MAX_ALGORITHMS];
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    *count = 0;
    switch (plan->kind) {
    case HKI_CUDA_FORWARD:
        status = library->cudnnGetConvolutionForwardAlgorithm_v7(
            self->handle, plan->x, plan->weight, plan->convolution, plan->y, MAX_ALGORITHMS, count,
            forward);
        for (int i = 0; i < *count; i++)
            candidates[i] = CANDIDATE(forward[i]);
        break;
    case HKI_CUDA_BACKWARD_DATA:
        status = library->cudnnGetConvolutionBackwardDataAlgorithm_v7(
            self->handle, plan->weight, plan->y, plan->convolution, plan->x, MAX_ALGORITHMS, count,
            data);
        for (int i = 0; i < *count; i++)
            candidates[i] = CANDIDATE(data[i]);
        break;
    case HKI_CUDA_BACKWARD_WEIGHT:
        status = library->cudnnGetConvolutionBackwardFilterAlgorithm_v7(
            self->handle, plan->x, plan->y, plan->convolution, plan->weight, MAX_ALGORITHMS, count,
            weight);
        for (int i = 0; i < *count; i++)
            candidates[i] = CANDIDATE(weight[i]);
        break;
    }
    return status;
}

static bool set_math(const convolutions *self, hki_cuda_stream *stream,
                     const hki_cuda_convolution_plan *plan, cudnnMathType_t math)
{
    const hki_cudnn *library = self->library;
    return CALL(cudnnSetConvolutionMathType, plan->convolution, math);
}

/* What the choice of an algorithm is kept under. */
static hki_choice_key key_of(const hki_cuda_convolution *p, bool tf32)
{
    static const char *const kinds[] = {"forward", "data", "filter"};
    hki_choice_key key = {.count = 13,
                          .numbers = {p->samples, p->in_channels, p->out_channels, p->in_size[0],
                                      p->in_size[1], p->kernel[0], p->kernel[1], p->stride[0],
                                      p->stride[1], p->padding[0], p->padding[1], p->dilation[0],
                                      p->dilation[1]}};
    if (p->groups > 1)
        key.numbers[key.count++] = p->groups;
    snprintf(key.name, sizeof key.name, "cuda.conv2d.%s.%s%s", kinds[p->kind],
             p->is_f64 ? "f64" : "f32", tf32 ? ".tf32" : "");
    return key;
}

static bool is_tf32(const hki_cuda_convolution *problem, hki_cuda_stream *stream)
{
    return !problem->is_f64 && hki_cuda_stream_allows_tf32(stream);
}

/* Of the library's answers those with sums of a fixed order, no less exact than allowed, with a workspace of at most so many
 * bytes, the fastest first by its own estimate. False: it refuses. */
static bool list(const convolutions *self, hki_cuda_stream *stream,
                 const hki_cuda_convolution_plan *plan, size_t most_bytes, candidate *candidates,
                 int *count)
{
    const hki_cudnn *library = self->library;
    const cudnnMathType_t math = math_of(&plan->problem, stream);
    int answers, kept = 0;
    *count = 0;
    if (!set_math(self, stream, plan, math) ||
        !hki_cudnn_ok(library, stream, ask(self, plan, candidates, &answers),
                      "cudnnGetConvolutionAlgorithm"))
        return false;
    for (int i = 0; i < answers; i++) {
        const candidate its = candidates[i];
        const bool rounds = its.math != CUDNN_DEFAULT_MATH && its.math != CUDNN_FMA_MATH;
        if (its.status == CUDNN_STATUS_SUCCESS && its.determinism == CUDNN_DETERMINISTIC &&
            its.math != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION && /* float32 to float16 */
            its.memory <= most_bytes && !(rounds && math == CUDNN_FMA_MATH)) {
            candidates[kept] = its;
            /* An algorithm and its kind of arithmetic belong together. */
            candidates[kept++].math = math == CUDNN_FMA_MATH ? math : its.math;
        }
    }
    *count = kept;
    return true;
}

static void word_of(int algorithm, char word[HKI_CHOICE_WORD_BYTES])
{
    snprintf(word, HKI_CHOICE_WORD_BYTES, "algorithm_%u", (unsigned)algorithm % 1000u);
}

static const char own_word[] = "own";

/* The one that was the fastest when it was measured, else the rule's, else the fastest by the library's estimate. NULL: own
 * kernels are to do it. */
static const candidate *pick(hki_cuda_stream *stream, const hki_cuda_convolution *problem,
                             const candidate *candidates, int count)
{
    const bool tf32 = is_tf32(problem, stream);
    const hki_choice_key key = key_of(problem, tf32);
    const char *chosen = hki_cuda_stream_choice(stream, &key);
    const int rule = hki_cuda_convolution_rule(problem, tf32);
    char word[HKI_CHOICE_WORD_BYTES];
    if (chosen ? !strcmp(chosen, own_word)
               : rule == HKI_CUDA_BY_OWN_KERNEL && !hki_cuda_stream_measures(stream))
        return NULL;
    for (int i = 0; i < count; i++) {
        word_of(candidates[i].algorithm, word);
        if (chosen ? !strcmp(word, chosen) : candidates[i].algorithm == rule)
            return &candidates[i];
    }
    return &candidates[0];
}

/* Chooses an algorithm; plan->is_supported says whether there is one. False: the library refuses. */
static bool choose(const convolutions *self, hki_cuda_stream *stream,
                   const hki_cuda_convolution *problem, size_t most_bytes,
                   hki_cuda_convolution_plan *plan)
{
    candidate candidates[MAX_ALGORITHMS];
    int count;
    plan->is_supported = false;
    plan->problem = *problem;
    if (!list(self, stream, plan, most_bytes, candidates, &count))
        return false;
    const candidate *its = count > 0 ? pick(stream, problem, candidates, count) : NULL;
    if (its) {
        if (!set_math(self, stream, plan, its->math))
            return false;
        plan->is_supported = true;
        plan->algorithm = its->algorithm;
        plan->math = its->math;
        plan->workspace_bytes = its->memory;
    }
    /* The one algorithm that may add a bias without an activation. */
    plan->adds_bias = plan->kind == HKI_CUDA_FORWARD && problem->has_bias &&
                      plan->algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    return true;
}

hki_cuda_convolution_plan *hki_cuda_convolution_plan_for(hki_cuda_stream *stream,
                                                         const hki_cuda_convolution *problem,
                                                         bool *failed)
{
    hki_cuda_convolution_plan *plan,
        made = {.kind = (hki_cuda_convolution_kind)problem->kind, .is_f64 = problem->is_f64};
    convolutions *self = convolutions_of(stream, failed);
    if (!self)
        return NULL;
    plan = hki_cuda_cache_find(&self->plans, problem);
    if (!plan) {
        if (!describe(self->library, stream, problem, &made) ||
            !choose(self, stream, problem, self->workspace_bytes, &made)) {
            made.is_supported = false;
            if (!hki_cuda_falls_back(stream))
                goto fail;
        }
        plan = hki_cuda_cache_put(&self->plans, problem);
        if (!plan) {
            hki_cuda_note(stream, "plan of a convolution", "out of host memory");
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

bool hki_cuda_convolution_use_less(hki_cuda_stream *stream, const hki_cuda_convolution *problem,
                                   hki_cuda_convolution_plan *plan, bool *failed)
{
    hki_cuda_convolution_plan less = *plan;
    const convolutions *self = convolutions_of(stream, failed);
    if (!self || plan->workspace_bytes == 0)
        return false;
    if (!choose(self, stream, problem, plan->workspace_bytes - 1, &less)) {
        less.is_supported = false;
        *failed = !hki_cuda_falls_back(stream);
    }
    if (*failed || !less.is_supported)
        return false;
    *plan = less;
    return true;
}

size_t hki_cuda_convolution_workspace_bytes(const hki_cuda_convolution_plan *plan)
{
    return plan->workspace_bytes;
}

bool hki_cuda_convolution_adds_bias(const hki_cuda_convolution_plan *plan)
{
    return plan->adds_bias;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

/* Names of algorithms, in the order of the enumerations of cudnn_cnn.h. */
static const char *method_of(const hki_cuda_convolution_plan *plan)
{
    static const char *const names[3][8] = {
        [HKI_CUDA_FORWARD] = {"cuDNN, forward: IMPLICIT_GEMM",
                              "cuDNN, forward: IMPLICIT_PRECOMP_GEMM", "cuDNN, forward: GEMM",
                              "cuDNN, forward: DIRECT", "cuDNN, forward: FFT",
                              "cuDNN, forward: FFT_TILING", "cuDNN, forward: WINOGRAD",
                              "cuDNN, forward: WINOGRAD_NONFUSED"},
        [HKI_CUDA_BACKWARD_DATA] = {"cuDNN, data: 0", "cuDNN, data: 1", "cuDNN, data: FFT",
                                    "cuDNN, data: FFT_TILING", "cuDNN, data: WINOGRAD",
                                    "cuDNN, data: WINOGRAD_NONFUSED"},
        [HKI_CUDA_BACKWARD_WEIGHT] = {"cuDNN, filter: 0", "cuDNN, filter: 1", "cuDNN, filter: FFT",
                                      "cuDNN, filter: 3", "cuDNN, filter: WINOGRAD",
                                      "cuDNN, filter: WINOGRAD_NONFUSED",
                                      "cuDNN, filter: FFT_TILING"}};
    const char *name =
        plan->algorithm >= 0 && plan->algorithm < 8 ? names[plan->kind][plan->algorithm] : NULL;
    return name ? name : "cuDNN, algorithm";
}

/* The bias is added in the same pass, unless the library turns out not to; `y` stands for what else could be added,
 * times zero. */
static cudnnStatus_t run_forward(const convolutions *self, hki_cuda_convolution_plan *plan,
                                 const void *one, const void *zero, const void *x,
                                 const void *weight, const void *bias, void *y, void *workspace)
{
    const cudnnConvolutionFwdAlgo_t algorithm = (cudnnConvolutionFwdAlgo_t)plan->algorithm;
    if (plan->adds_bias) {
        cudnnStatus_t status = self->library->cudnnConvolutionBiasActivationForward(
            self->handle, one, plan->x, x, plan->weight, weight, plan->convolution, algorithm,
            workspace, plan->workspace_bytes, zero, plan->y, y, plan->bias, bias, self->identity,
            plan->y, y);
        if (status == CUDNN_STATUS_SUCCESS)
            return status;
        plan->adds_bias = false;
    }
    return self->library->cudnnConvolutionForward(self->handle, one, plan->x, x, plan->weight,
                                                  weight, plan->convolution, algorithm, workspace,
                                                  plan->workspace_bytes, zero, plan->y, y);
}

static cudnnStatus_t run(const convolutions *self, hki_cuda_convolution_plan *plan,
                         const void *first, const void *second, const void *bias, void *out,
                         void *workspace)
{
    const void *one = hki_library_scale(plan->is_f64, 1),
               *zero = hki_library_scale(plan->is_f64, 0);
    switch (plan->kind) {
    case HKI_CUDA_FORWARD:
        return run_forward(self, plan, one, zero, first, second, bias, out, workspace);
    case HKI_CUDA_BACKWARD_DATA:
        return self->library->cudnnConvolutionBackwardData(
            self->handle, one, plan->weight, second, plan->y, first, plan->convolution,
            (cudnnConvolutionBwdDataAlgo_t)plan->algorithm, workspace, plan->workspace_bytes, zero,
            plan->x, out);
    default:
        return self->library->cudnnConvolutionBackwardFilter(
            self->handle, one, plan->x, first, plan->y, second, plan->convolution,
            (cudnnConvolutionBwdFilterAlgo_t)plan->algorithm, workspace, plan->workspace_bytes,
            zero, plan->weight, out);
    }
}

/* ---- measuring, for the next run ------------------------------------------------------------------------- */

/* What a launch is given; of own kernels `own` and its context alone. */
typedef struct launch {
    const void *first, *second;
    void *out, *workspace;
    hki_cuda_convolve_fn own;
    void *context;
} launch;

/* One of `trial`, or of own kernels where that is NULL. */
static bool launch_once(const convolutions *self, hki_cuda_stream *stream,
                        hki_cuda_convolution_plan *trial, const launch *with)
{
    if (!trial) {
        with->own(stream, with->context);
        return true;
    }
    return run(self, trial, with->first, with->second, NULL, with->out, with->workspace) ==
           CUDNN_STATUS_SUCCESS;
}

/* Milliseconds of some runs, after one that warms up; INFINITY where it cannot be run. */
static float time_of(const convolutions *self, hki_cuda_stream *stream,
                     hki_cuda_convolution_plan *trial, const launch *with,
                     const cudaEvent_t events[2])
{
    const cudaStream_t in = hki_cuda_stream_handle(stream);
    float ms = INFINITY;
    for (int i = 0; i <= TIMED_RUNS; i++) {
        if (i == 1)
            cudaEventRecord(events[0], in);
        if (!launch_once(self, stream, trial, with))
            return INFINITY;
    }
    if (cudaEventRecord(events[1], in) != cudaSuccess ||
        cudaEventSynchronize(events[1]) != cudaSuccess ||
        cudaEventElapsedTime(&ms, events[0], events[1]) != cudaSuccess)
        ms = INFINITY;
    return ms;
}

/* The word of the fastest. False: there is none. */
static bool find_fastest(const convolutions *self, hki_cuda_stream *stream,
                         const hki_cuda_convolution_plan *plan, const launch *with,
                         const candidate *candidates, int count, const cudaEvent_t events[2],
                         char word[HKI_CHOICE_WORD_BYTES])
{
    float best = time_of(self, stream, NULL, with, events);
    bool found = best < INFINITY;
    snprintf(word, HKI_CHOICE_WORD_BYTES, "%s", own_word);
    for (int i = 0; i < count; i++) {
        hki_cuda_convolution_plan trial = *plan;
        trial.adds_bias = false;
        trial.algorithm = candidates[i].algorithm;
        trial.workspace_bytes = candidates[i].memory;
        if (!set_math(self, stream, &trial, candidates[i].math))
            continue;
        const float ms = time_of(self, stream, &trial, with, events);
        if (ms < best) {
            best = ms;
            found = true;
            word_of(candidates[i].algorithm, word);
        }
    }
    return found;
}

/* The workspace of algorithms is of the GPU's memory, and goes. */
void hki_cuda_convolution_measure(hki_cuda_stream *stream, hki_cuda_convolution_plan *plan,
                                  const void *first, const void *second, void *out,
                                  hki_cuda_convolve_fn own, void *context)
{
    launch with = {first, second, out, NULL, own, context};
    candidate candidates[MAX_ALGORITHMS];
    cudaEvent_t events[2] = {NULL, NULL};
    char word[HKI_CHOICE_WORD_BYTES];
    size_t most = 1;
    int count;
    bool failed;
    const convolutions *self;
    if (plan->is_measured || !hki_cuda_stream_measures(stream))
        return;
    self = convolutions_of(stream, &failed);
    plan->is_measured = true;
    if (!list(self, stream, plan, self->workspace_bytes, candidates, &count))
        return;
    for (int i = 0; i < count; i++)
        most = candidates[i].memory > most ? candidates[i].memory : most;
    bool made = cudaMalloc(&with.workspace, most) == cudaSuccess;
    for (int i = 0; i < 2 && made; i++)
        made = cudaEventCreate(&events[i]) == cudaSuccess;
    if (made && find_fastest(self, stream, plan, &with, candidates, count, events, word)) {
        const hki_choice_key key = key_of(&plan->problem, is_tf32(&plan->problem, stream));
        hki_cuda_stream_note_choice(stream, &key, word);
    }
    for (int i = 0; i < 2; i++)
        if (events[i])
            cudaEventDestroy(events[i]);
    cudaFree(with.workspace);
    cudaGetLastError();
    set_math(self, stream, plan, plan->math);
}

/* ---- launches, for good ---------------------------------------------------------------------------------- */

bool hki_cuda_convolution_launch(hki_cuda_stream *stream, hki_cuda_convolution_plan *plan,
                                 const void *first, const void *second, const void *bias, void *out,
                                 void *workspace)
{
    bool failed;
    const convolutions *self = convolutions_of(stream, &failed);
    const cudnnStatus_t status = run(self, plan, first, second, bias, out, workspace);
    if (!plan->has_run)
        hki_cuda_stream_has_loaded(stream); /* cuDNN opens its parts one by one */
    plan->has_run = true;
    if (hki_cudnn_ok(self->library, stream, status, "a convolution by cuDNN"))
        hki_cuda_tell_method(stream, method_of(plan), plan->algorithm);
    else
        plan->is_supported = !hki_cuda_falls_back(stream);
    return plan->is_supported;
}
