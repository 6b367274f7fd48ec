/* Within the plug-in: where random numbers that a recorded call draws begin, which is elsewhere at each replay. They lie in
 * the device's memory, and its kernels read them there. C and CUDA C++. */
#ifndef HOCKET_DEVICE_CUDA_RANDOM_PLACES_H
#define HOCKET_DEVICE_CUDA_RANDOM_PLACES_H

#include "device/cuda/cuda_stream.h"
#include "device/random_place.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copies them to the device's memory, in the stream's order. */
void hki_cuda_launch_random_places(hki_cuda_stream *stream, hki_random_place *to,
                                   const hki_random_place *from, int count);

/* Where the call that is being recorded will find its place, in the device's memory. NULL: nothing is being recorded, and its
 * options have the place; or the recording has been refused, for the call is no draw of the recorder. */
const hki_random_place *hki_cuda_recorded_place(hki_cuda_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
