/* Calls that are launched as one task, and recorded as one of CUDA's graphs: hki_recorder_class in device/device.h. What
 * the calls give to the stream of the queue for computing is captured, so kernels need not know. A graph has the addresses
 * that it was captured with, those of the stream's workspace and of what kernels report to included. */
#include "device/cuda/cuda_board.h"
#include "device/cuda/cuda_internal.h"

#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 8 /* not settled, at most, whose reports have a place */ };

typedef struct report {
    hki_cuda_describe_fn describe; /* NULL before it is first launched or recorded */
    int64_t argument;
} report;

struct hki_recorder {
    int call_count, current;
    bool is_recording, is_refused;
    int check_count;
    int *checks;     /* their calls */
    report *reports; /* of each check */
    hki_cuda_fault
        *board; /* a fault for each check; the next three are NULL, too, where there is none */
    hki_cuda_fault *faults; /* pinned: of each launch, and one to be forgotten, each check's */
    int draw_count;
    int *draws;                     /* their calls */
    hki_random_place *places;       /* of this turn, by draw */
    hki_random_place *places_there; /* in the device's memory; NULL: there is no draw */
    unsigned launches;              /* with reports */
    _Atomic(int) unsettled;         /* of these */
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

static int check_of(const hki_recorder *self, int call)
{
    for (int i = 0; i < self->check_count; i++)
        if (self->checks[i] == call)
            return i;
    return -1;
}

hki_cuda_fault *hki_cuda_recorder_fault(hki_cuda_stream *stream, hki_cuda_describe_fn describe,
                                        int64_t argument)
{
    hki_recorder *self = stream->recorder;
    const int check = check_of(self, self->current);
    if (check < 0) {
        hki_cuda_note(stream, "a kernel that may fail", "its call was not said to be one");
        return NULL;
    }
    /* Once, since who settles a launch before may be reading it. */
    if (!self->reports[check].describe)
        self->reports[check] = (report){describe, argument};
    return &self->board[1 + check];
}

hki_cuda_guard hki_cuda_recorder_guard(const hki_cuda_stream *stream, uint64_t checks)
{
    return hki_cuda_guard_of(stream->recorder->board, checks);
}

static void spare(hki_device *device, hki_recorder *self, uint64_t checks)
{
    stream_of(device)->guard = hki_cuda_guard_of(self->board, checks);
}

/* Before its calls, and outside of any recording of them: whether what they are given turns out failed. */
static void meet_suspects(hki_cuda_stream *stream, hki_recorder *self)
{
    if (stream->suspects && self->board)
        hki_cuda_launch_raise(stream, hki_cuda_guard_of(stream->board, stream->suspects),
                              self->board, HKI_CHECK_OF_INPUTS);
    stream->guard = (hki_cuda_guard){.board = NULL};
}

/* Behind its calls: reports go to where this launch is settled from, and flags of the stream's board tell those behind. */
static void publish(hki_cuda_stream *stream, hki_recorder *self)
{
    hki_cuda_slot *slot = stream->current;
    if (!self->board || (stream->is_prechecked && !stream->suspects))
        return;
    hki_cuda_publication given = {.board = self->board,
                                  .to = self->faults + LAUNCHES * self->check_count,
                                  .first = 1,
                                  .count = self->check_count};
    given.onto = hki_cuda_stream_board(stream);
    if (!given.onto)
        return;
    if (!stream->is_prechecked) {
        slot->flags = hki_cuda_flags_take(stream, self->check_count);
        given.to = self->faults + self->launches++ % LAUNCHES * (unsigned)self->check_count;
        slot->recorder_faults = given.to;
        slot->is_unflagged = atomic_fetch_add(&self->unsettled, 1) + 1 >= LAUNCHES || !slot->flags;
    }
    given.flags = hki_cuda_guard_of(given.onto, slot->flags);
    hki_cuda_launch_publication(stream, &given);
}

static hk_code reported(hki_device *device, hki_recorder *self, const hki_ticket *ticket, int check,
                        char *text, size_t bytes)
{
    const hki_cuda_slot *slot = &stream_of(device)->slots[ticket->position & (HKI_CUDA_SLOTS - 1)];
    if (!ticket->position || !slot->has_ended || !slot->recorder_faults ||
        slot->recorder_faults[check].index == UINT64_MAX)
        return HK_OK;
    const report *which = &self->reports[check];
    return which->describe(&slot->recorder_faults[check], which->argument, text, bytes);
}

bool hki_cuda_recorder_settle(hki_recorder *self, hki_cuda_slot *slot)
{
    bool any = false;
    for (int i = 0; slot->has_ended && i < self->check_count; i++)
        any = any || slot->recorder_faults[i].index != UINT64_MAX;
    atomic_fetch_sub(&self->unsettled, 1);
    return any;
}

/* ---- life ------------------------------------------------------------------------------------------------------------ */

static void destroy(hki_device *device, hki_recorder *self)
{
    if (self->places_there)
        hki_cuda_release(device, self->places_there, 0);
    free(self->places);
    free(self->draws);
    if (self->board)
        hki_cuda_release(device, self->board, 0);
    if (self->faults)
        hki_cuda_release_pinned(device, self->faults, 0);
    free(self->reports);
    free(self->checks);
    free(self);
}

/* True also where the device is lost, and nothing will be launched. */
static bool make_board(hki_device *device, hki_recorder *self)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COMPUTE);
    const size_t count = (LAUNCHES + 1) * (size_t)self->check_count;
    if (!stream || !self->check_count)
        return true;
    self->faults = hki_cuda_allocate_pinned(device, count * sizeof *self->faults);
    self->board = self->faults ? hki_cuda_board_create(stream, self->check_count) : NULL;
    return self->board;
}

/* A copy of so many calls' numbers; NULL: no memory. */
static int *calls_of(const int *calls, int count)
{
    int *own = calloc((size_t)count + 1, sizeof *own);
    if (own && count)
        memcpy(own, calls, (size_t)count * sizeof *calls);
    return own;
}

static bool make_places(hki_device *device, hki_recorder *self)
{
    const size_t bytes = (size_t)self->draw_count * sizeof *self->places;
    if (bytes == 0)
        return true;
    self->places = calloc(1, bytes);
    self->places_there = hki_cuda_allocate(device, bytes);
    return self->places && self->places_there;
}

static hki_recorder *create(hki_device *device, int call_count, const int *checks, int check_count,
                            const int *draws, int draw_count)
{
    hki_recorder *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->call_count = call_count;
    self->check_count = check_count;
    self->draw_count = draw_count;
    self->reports = calloc((size_t)check_count + 1, sizeof *self->reports);
    self->checks = calls_of(checks, check_count);
    self->draws = calls_of(draws, draw_count);
    if (self->reports && self->checks && self->draws && make_board(device, self) &&
        make_places(device, self))
        return self;
    destroy(device, self);
    return NULL;
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

static void place(hki_device *device, hki_recorder *self, const hki_random_place *places)
{
    (void)device;
    if (self->draw_count)
        memcpy(self->places, places, (size_t)self->draw_count * sizeof *places);
}

const hki_random_place *hki_cuda_recorded_place(hki_cuda_stream *stream)
{
    const hki_recorder *self = stream->recorder;
    if (!hki_cuda_is_recording(stream))
        return NULL;
    for (int i = 0; i < self->draw_count; i++)
        if (self->draws[i] == self->current)
            return &self->places_there[i];
    hki_cuda_refuse_recording(stream);
    return NULL;
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
        meet_suspects(stream, self);
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
    stream->guard = (hki_cuda_guard){.board = NULL};
    if (!was_recording) {
        if (stream->current)
            publish(stream, self);
        return NULL;
    }
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
    meet_suspects(stream, self);
    hki_cuda_launch_random_places(stream, self->places_there, self->places, self->draw_count);
    hki_cuda_ok(stream, cudaGraphLaunch(recording->graph, stream->handle), "cudaGraphLaunch");
    publish(stream, self);
    return true;
}

static void drop(hki_device *device, hki_recording *recording)
{
    hki_cuda_device *its = hki_cuda_device_of(device);
    CUcontext before;
    hki_cuda_visit(its, &before);
    if (!hki_cuda_is_over())
        cudaGraphExecDestroy(recording->graph);
    hki_cuda_leave(its, before);
    free(recording);
}

const hki_recorder_class hki_cuda_recorder_class = {.create = create,
                                                    .destroy = destroy,
                                                    .place = place,
                                                    .begin = begin,
                                                    .call = call,
                                                    .end = end,
                                                    .launch = launch,
                                                    .spare = spare,
                                                    .reported = reported,
                                                    .drop = drop};
