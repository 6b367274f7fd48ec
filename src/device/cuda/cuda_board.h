/* Within the plug-in: boards, on which kernels report, and whose flags those behind them ask; and where draws of a recording
 * begin. C and CUDA C++. */
#ifndef HOCKET_DEVICE_CUDA_BOARD_H
#define HOCKET_DEVICE_CUDA_BOARD_H

#include "device/cuda/cuda_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bits of a guard's board. */
static inline hki_cuda_guard hki_cuda_guard_of(const hki_cuda_fault *board, uint64_t flags)
{
    const hki_cuda_guard guard = {flags ? board : NULL, (uint32_t)flags, 0, (uint32_t)(flags >> 32),
                                  0};
    return guard;
}

/* A board of so many faults behind the first: nothing has been reported. */
void hki_cuda_launch_board(hki_cuda_stream *stream, hki_cuda_fault *board, int count);

/* What faults `first` … have been told goes to as many in pinned memory, and they are as fresh ones again. */
typedef struct hki_cuda_publication {
    hki_cuda_fault *board;
    hki_cuda_fault *to; /* [count] */
    int first, count;   /* first: from 1 */
    /* NULL: the board's flags stay; else they go down, and of the `flags` of this board, the lowest of which is that of the
     * first fault, those go up that belong to the ones reported to. */
    hki_cuda_fault *onto;
    hki_cuda_guard flags;
} hki_cuda_publication;
void hki_cuda_launch_publication(hki_cuda_stream *stream, const hki_cuda_publication *publication);

/* Flags go down. */
void hki_cuda_launch_lower(hki_cuda_stream *stream, hki_cuda_fault *board, uint64_t flags);
/* A flag of `board` goes up where the guard says so. */
void hki_cuda_launch_raise(hki_cuda_stream *stream, hki_cuda_guard guard, hki_cuda_fault *board,
                           int flag);

/* Copies places to the device's memory, where kernels of a recording read where their random numbers begin this time. */
void hki_cuda_launch_random_places(hki_cuda_stream *stream, hki_random_place *to,
                                   const hki_random_place *from, int count);

#ifdef __cplusplus
}
#endif

#endif
