/* Calls that are launched as one task, and recorded as one of CUDA's graphs: hki_recorder_class in device/device.h. What
 * the calls give to the stream of the queue for computing is captured, so kernels need not know. A graph has the addresses
 * that it was captured with, those of the stream's workspace and of what kernels report to included. */
#include "device/cuda/cuda_internal.h"

#include <stdlib.h>

typedef struct report {
    hki_cuda_describe_fn describe; /* NULL: no kernel of the call reports anything */
    int64_t argument;
} report;

struct hki_recorder {
    int call_count, current;
    bool is_recording, is_refused;
    hki_cuda_fault *faults; /* of each call, pinned; NULL before one is first wanted */
    report *reports;        /* of each call */
    int report_count;       /* that have `describe` */
};

struct hki_recording {
    cudaGraphExec_t graph;
    uint64_t workspace_number; /* the stream's, when it was captured */
};

static hki_cuda_stream *stream_of(hki_device *device)
{
    return &hki_cuda_device_of(device)->streams[HKI_QUEUE_COMPUTE];
}

/* ---- what kernels report -------------------------------------------------------------------------------------------- */

/* The task before has been settled. */
static void clear_reports(hki_recorder *self)
{
    for (int i = 0; self->faults && i < self->call_count; i++)
        self->faults[i] = (hki_cuda_fault){.index = UINT64_MAX};
}

static bool make_faults(hki_cuda_stream *stream, hki_recorder *self)
{
    void *data = NULL;
    size_t bytes = (size_t)self->call_count * sizeof *self->faults;
    if (!hki_cuda_ok(stream, cudaHostAlloc(&data, bytes, cudaHostAllocPortable),
                     "pinned memory for what kernels report"))
        return false;
    self->faults = data;
    clear_reports(self);
    return true;
}

hki_cuda_fault *hki_cuda_recorder_fault(hki_cuda_stream *stream, hki_cuda_describe_fn describe,
                                        int64_t argument)
{
    hki_recorder *self = stream->recorder;
    if (!self->faults && !make_faults(stream, self))
        return NULL;
    report *own = &self->reports[self->current];
    if (!own->describe)
        self->report_count++;
    own->describe = describe;
    own->argument = argument;
    return &self->faults[self->current];
}

bool hki_cuda_recorder_may_fail(const hki_recorder *recorder)
{
    return recorder->report_count > 0;
}

int hki_cuda_recorder_failed(const hki_recorder *recorder, char *text, size_t bytes)
{
    for (int i = 0; recorder->report_count > 0 && i < recorder->call_count; i++) {
        const report *each = &recorder->reports[i];
        if (each->describe && recorder->faults[i].index != UINT64_MAX) {
            each->describe(&recorder->faults[i], each->argument, text, bytes);
            return i;
        }
    }
    return -1;
}

/* ---- life ------------------------------------------------------------------------------------------------------------ */

static hki_recorder *create(hki_device *device, int call_count)
{
    (void)device;
    hki_recorder *self = calloc(1, sizeof *self);
    report *reports = calloc((size_t)call_count, sizeof *reports);
    if (!self || !reports) {
        free(self);
        free(reports);
        return NULL;
    }
    self->call_count = call_count;
    self->reports = reports;
    return self;
}

static void destroy(hki_device *device, hki_recorder *self)
{
    hki_cuda_device *its = hki_cuda_device_of(device);
    CUcontext before;
    if (self->faults) {
        hki_cuda_visit(its, &before);
        cudaFreeHost(self->faults);
        cudaGetLastError(); /* of a lost device */
        hki_cuda_leave(its, before);
    }
    free(self->reports);
    free(self);
}

/* ---- recording ------------------------------------------------------------------------------------------------------- */

bool hki_cuda_is_recording(const hki_cuda_stream *stream)
{
    return stream->recorder && stream->recorder->is_recording;
}

void hki_cuda_refuse_recording(hki_cuda_stream *stream)
{
    stream->recorder->is_refused = true;
}

int hki_cuda_current_call(const hki_cuda_stream *stream)
{
    return stream->recorder ? stream->recorder->current : 0;
}

static bool begin(hki_device *device, hki_recorder *self, bool records)
{
    /* Its task has begun before anything is captured. NULL: the device is lost, and nothing will be launched. */
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COMPUTE);
    self->current = 0;
    self->is_recording = self->is_refused = false;
    stream_of(device)->recorder = self;
    if (!stream)
        return true;
    stream->current->recorder = self;
    if (!records) {
        clear_reports(self);
        return true;
    }
    /* Relaxed: what other threads do to other streams is no business of the capture, and what this one does beside it,
     * such as asking whether the device is still there, is meant to happen now. */
    hki_cuda_capture_begin(stream);
    self->is_recording =
        cudaStreamBeginCapture(stream->handle, cudaStreamCaptureModeRelaxed) == cudaSuccess;
    if (!self->is_recording) {
        cudaGetLastError();
        hki_cuda_capture_end(stream);
        stream->recorder = NULL;
    }
    return self->is_recording;
}

static void call(hki_device *device, hki_recorder *self, int which)
{
    (void)device;
    self->current = which;
}

/* NULL: CUDA cannot, or there is no memory. */
static hki_recording *instantiate(const hki_cuda_stream *stream, cudaGraph_t captured)
{
    hki_recording *made = malloc(sizeof *made);
    if (made && cudaGraphInstantiate(&made->graph, captured, 0) == cudaSuccess) {
        made->workspace_number = stream->workspace_number;
        return made;
    }
    cudaGetLastError();
    free(made);
    return NULL;
}

static hki_recording *end(hki_device *device, hki_recorder *self)
{
    hki_cuda_stream *stream = stream_of(device);
    cudaGraph_t captured = NULL;
    hki_recording *made = NULL;
    bool was_recording = self->is_recording;
    self->is_recording = false;
    stream->recorder = NULL;
    if (!was_recording)
        return NULL;
    if (cudaStreamEndCapture(stream->handle, &captured) != cudaSuccess)
        captured = NULL;
    hki_cuda_capture_end(stream);
    if (captured && !self->is_refused)
        made = instantiate(stream, captured);
    if (captured)
        cudaGraphDestroy(captured);
    cudaGetLastError();
    return made;
}

static bool launch(hki_device *device, hki_recorder *self, hki_recording *recording)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COMPUTE);
    if (!stream) /* lost, as the task will be told */
        return true;
    if (recording->workspace_number != stream->workspace_number)
        return false;
    stream->current->recorder = self;
    clear_reports(self);
    hki_cuda_ok(stream, cudaGraphLaunch(recording->graph, stream->handle), "cudaGraphLaunch");
    return true;
}

static int reporting(const hki_recorder *recorder)
{
    return recorder->report_count;
}

static void drop(hki_device *device, hki_recording *recording)
{
    hki_cuda_device *its = hki_cuda_device_of(device);
    CUcontext before;
    hki_cuda_visit(its, &before);
    cudaGraphExecDestroy(recording->graph);
    cudaGetLastError();
    hki_cuda_leave(its, before);
    free(recording);
}

const hki_recorder_class hki_cuda_recorder_class = {.create = create,
                                                    .destroy = destroy,
                                                    .begin = begin,
                                                    .call = call,
                                                    .end = end,
                                                    .launch = launch,
                                                    .reporting = reporting,
                                                    .drop = drop};
