/* Within the plug-in: NVIDIA's libraries for products, convolutions and sums over devices. They are opened when the
 * first call wants one, so that the plug-in loads without them: a machine needs those that it uses, and where one is
 * not there, kernels of Hocket's own do its work more slowly.
 *
 * Looked for by soname, of the major version whose headers the plug-in was built with: in the folders of
 * HOCKET_CUDA_LIBRARY_PATH (separated by colons), where the loader looks, in the toolkit's lib64 (CUDA_HOME, CUDA_PATH,
 * /usr/local/cuda), and where pip installs them: nvidia/<package>/lib beside the plug-in's package, then of the
 * environment that VIRTUAL_ENV or CONDA_PREFIX names, of each Python in PATH, of the user (~/.local). They stay open for
 * as long as the process lives.
 *
 * C only. Thread-safe; the first call blocks while the library is opened (a tenth of a second or more). */
#ifndef HOCKET_DEVICE_CUDA_LIBRARIES_H
#define HOCKET_DEVICE_CUDA_LIBRARIES_H

#include "device/cuda/cuda_stream.h"

#include <hocket/base.h>

#include <cublasLt.h>
#include <cudnn.h>
#include <nccl.h>
#include <stddef.h>

#define HKI_CUBLASLT_FUNCTIONS(F)                                                                  \
    F(cublasLtGetVersion)                                                                          \
    F(cublasLtGetStatusString)                                                                     \
    F(cublasLtCreate)                                                                              \
    F(cublasLtDestroy)                                                                             \
    F(cublasLtMatmulDescCreate)                                                                    \
    F(cublasLtMatmulDescDestroy)                                                                   \
    F(cublasLtMatmulDescSetAttribute)                                                              \
    F(cublasLtMatrixLayoutCreate)                                                                  \
    F(cublasLtMatrixLayoutDestroy)                                                                 \
    F(cublasLtMatrixLayoutSetAttribute)                                                            \
    F(cublasLtMatmulPreferenceCreate)                                                              \
    F(cublasLtMatmulPreferenceDestroy)                                                             \
    F(cublasLtMatmulPreferenceSetAttribute)                                                        \
    F(cublasLtMatmulAlgoGetHeuristic)                                                              \
    F(cublasLtMatmulAlgoConfigGetAttribute)                                                        \
    F(cublasLtMatmul)

#define HKI_CUDNN_FUNCTIONS(F)                                                                     \
    F(cudnnGetVersion)                                                                             \
    F(cudnnGetErrorString)                                                                         \
    F(cudnnCreate)                                                                                 \
    F(cudnnDestroy)                                                                                \
    F(cudnnSetStream)                                                                              \
    F(cudnnCreateTensorDescriptor)                                                                 \
    F(cudnnDestroyTensorDescriptor)                                                                \
    F(cudnnSetTensor4dDescriptor)                                                                  \
    F(cudnnCreateFilterDescriptor)                                                                 \
    F(cudnnDestroyFilterDescriptor)                                                                \
    F(cudnnSetFilter4dDescriptor)                                                                  \
    F(cudnnCreateActivationDescriptor)                                                             \
    F(cudnnDestroyActivationDescriptor)                                                            \
    F(cudnnSetActivationDescriptor)                                                                \
    F(cudnnCreateConvolutionDescriptor)                                                            \
    F(cudnnDestroyConvolutionDescriptor)                                                           \
    F(cudnnSetConvolution2dDescriptor)                                                             \
    F(cudnnSetConvolutionGroupCount)                                                               \
    F(cudnnSetConvolutionMathType)                                                                 \
    F(cudnnGetConvolutionForwardAlgorithm_v7)                                                      \
    F(cudnnGetConvolutionBackwardDataAlgorithm_v7)                                                 \
    F(cudnnGetConvolutionBackwardFilterAlgorithm_v7)                                               \
    F(cudnnConvolutionForward)                                                                     \
    F(cudnnConvolutionBiasActivationForward)                                                       \
    F(cudnnConvolutionBackwardData)                                                                \
    F(cudnnConvolutionBackwardFilter)

#define HKI_NCCL_FUNCTIONS(F)                                                                      \
    F(ncclGetVersion)                                                                              \
    F(ncclGetErrorString)                                                                          \
    F(ncclCommInitAll)                                                                             \
    F(ncclCommDestroy)                                                                             \
    F(ncclGetUniqueId)                                                                             \
    F(ncclCommInitRankConfig)                                                                      \
    F(ncclCommGetAsyncError)                                                                       \
    F(ncclCommAbort)                                                                               \
    F(ncclGroupStart)                                                                              \
    F(ncclGroupEnd)                                                                                \
    F(ncclAllReduce)                                                                               \
    F(ncclSend)                                                                                    \
    F(ncclRecv)

/* Each field has the type of the function that it is named after. */
#define HKI_LIBRARY_FIELD(name) __typeof__(name) *name;

typedef struct hki_cublaslt {
    HKI_CUBLASLT_FUNCTIONS(HKI_LIBRARY_FIELD)
} hki_cublaslt;

typedef struct hki_cudnn {
    HKI_CUDNN_FUNCTIONS(HKI_LIBRARY_FIELD)
} hki_cudnn;

typedef struct hki_nccl {
    HKI_NCCL_FUNCTIONS(HKI_LIBRARY_FIELD)
} hki_nccl;

/* hki_cudnn_ok and its kin: true for a library's status of success; else tells `report`, hki_cuda_note or hki_cuda_refuse,
 * the library's text for it. `what`: static text. */
#define HKI_LIBRARY_OK(kind, status_type, text_of, report)                                         \
    static inline bool hki_##kind##_ok(const hki_##kind *library, hki_cuda_stream *stream,         \
                                       status_type status, const char *what)                       \
    {                                                                                              \
        if (status)                                                                                \
            report(stream, what, library->text_of(status));                                        \
        return !status;                                                                            \
    }
HKI_LIBRARY_OK(cublaslt, cublasStatus_t, cublasLtGetStatusString, hki_cuda_refuse)
HKI_LIBRARY_OK(cudnn, cudnnStatus_t, cudnnGetErrorString, hki_cuda_refuse)
HKI_LIBRARY_OK(nccl, ncclResult_t, ncclGetErrorString, hki_cuda_note)
/* Calls a function of a library and asks that of it, by the function's name. */
#define HKI_LIBRARY_CALL(kind, library, stream, function, ...)                                     \
    hki_##kind##_ok(library, stream, (library)->function(__VA_ARGS__), #function)

/* The factor 0 or 1, of the type that a library wants it in: double for elements of that type, else float. */
static inline const void *hki_library_scale(bool f64, int factor)
{
    static const double doubles[] = {0, 1};
    static const float floats[] = {0, 1};
    return f64 ? (const void *)&doubles[factor] : &floats[factor];
}

/* What NCCL calls numbers that it adds; not of two bytes. */
static inline ncclDataType_t hki_nccl_type(hk_dtype dtype)
{
    switch (dtype) {
    case HK_F32:
        return ncclFloat32;
    case HK_F64:
        return ncclFloat64;
    case HK_I32:
        return ncclInt32;
    case HK_I64:
        return ncclInt64;
    case HK_U32:
        return ncclUint32;
    case HK_U64:
        return ncclUint64;
    default: /* of one byte */
        return ncclUint8;
    }
}

/* NULL: it is not there, or lacks a function: hki_cuda_libraries_describe says which. */
const hki_cublaslt *hki_cuda_cublaslt(void);
const hki_cudnn *hki_cuda_cudnn(void);
const hki_nccl *hki_cuda_nccl(void);

/* What the CUDA runtime has no like of: a function of the driver, which the runtime has opened. NULL: there is none of that
 * name. Touches no GPU. */
void *hki_cuda_driver_function(const char *name);

/* A line for each, "cuDNN 9.19.0 (/usr/lib/libcudnn.so.9)" or "NCCL: not found (libnccl.so.2)", cut off after
 * bytes - 1 characters. Opens all of them. */
void hki_cuda_libraries_describe(char *text, size_t bytes);

/* A handle of dlopen of the library with this soname, looked for as above; NULL: there is none that can be opened. */
void *hki_cuda_library_open(const char *soname);

#endif
