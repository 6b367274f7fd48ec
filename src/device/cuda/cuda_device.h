/* Within the plug-in: a GPU, or a part of one, as a device of the library.
 *
 * Nothing of it is made, no context either, before the device is first used. A device that cannot be made then, or whose
 * context CUDA gives up, is *lost*: nothing is launched on it any more, and every task fails by what happened.
 * Thread-safe but for what is said of streams in cuda_stream.h. */
#ifndef HOCKET_DEVICE_CUDA_DEVICE_H
#define HOCKET_DEVICE_CUDA_DEVICE_H

#include "device/cuda/cuda_plugin.h"
#include "device/cuda/cuda_stream.h"

/* All of the class but what needs kernels: run_call, copy_tensor and sum, which who opens the plug-in adds. */
extern const hki_device_class hki_cuda_device_class;

/* As hki_cuda_plugin.device_init, with the class that the device gets; `host` and `class` live on. */
bool hki_cuda_device_init(hki_device *device, const hki_device_class *class, int gpu,
                          const hki_cuda_options *options, const hki_cuda_host *host, char *problem,
                          size_t bytes);
/* As hki_cuda_plugin.probe. */
void hki_cuda_probe(hki_cuda_machine *machine);

/* While a process exits, what CUDA has registered for that ends it, and calls of it may do anything from then on. True
 * before that comes to be called, and for ever after; so nothing is called then that this has not been asked before. */
bool hki_cuda_is_over(void);
/* Called behind CUDA's first call, for the one above; more calls do nothing. */
void hki_cuda_watch_exit(void);

const hki_cuda_host *hki_cuda_host_of(const hki_device *device);
int hki_cuda_gpu_of(const hki_device *device);

/* The queue's stream, for what a task of it launches now, with the device current in this thread. NULL when the device
 * is lost: there is nothing to do then, the task fails when it is settled. Called by the thread of the queue. */
hki_cuda_stream *hki_cuda_stream_begin(hki_device *device, hki_queue_kind queue);
hki_device *hki_cuda_stream_device(const hki_cuda_stream *stream);

#endif
